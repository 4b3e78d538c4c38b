"""The integers that kernels return, and what they mean: the only place that decodes them.

    0            all is well
    2i + 1       the inertia that the joint of body i moves is not positive (kernels/articulated.py)
    2i + 2       the mass of the modes of body i is not positive
    below zero   see the names here

Kernels import the names, so that a number stands in one file.  A system with kernels of its own may return any positive
number, and explains it itself (`System.explain`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from liegeo._jit import KERNEL_RAISED

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

NO_CONVERGENCE, INPUT_FAILED, NOT_FINITE = -1, -2, -3
# A kernel of the system that the method could do without: the system has none, or has not compiled it yet.
ABSENT, WANTED = -5, -7
# Of a call from Python: an argument has a number that is not finite or larger than LARGEST; a result is not finite.
BAD_ARGUMENT, BAD_RESULT = -8, -9
# Of assembly: loops stay open, the speeds cannot obey them, their numbers are too large to be measured.
LOOPS_OPEN, SPEEDS_DISOBEY, LOOPS_TOO_LARGE = -10, -11, -12
#: No number of mechanics is larger than this; products of five of them do not overflow.
LARGEST = 1e60

WORDS = {
    NO_CONVERGENCE: "the equations of a step could not be solved",
    INPUT_FAILED: "the input function failed",
    NOT_FINITE: "the solution is not finite",
    KERNEL_RAISED: "a kernel of the system raised an exception",
    LOOPS_OPEN: "the loops cannot be closed",
    SPEEDS_DISOBEY: "the speeds cannot obey the loops",
    LOOPS_TOO_LARGE: "the loops cannot be measured because numbers are too large",
}

#: What a step that became too small has for a reason, and a motion that has blown up.
TOO_SHORT = "the step became too small"
GROWS = (
    "the solution grows without bound (its largest number is {}, at the start {})\n"
    "  The step is too long for the method, or a force drives the system ever faster"
)

# A state so many times as large as the one that a run began with, and as 1, has blown up.
_BLOWN_UP = 1e6


class MassBlock(NamedTuple):
    """A block of the mass matrix that is not positive: the body, and whether the block is that of its modes."""

    body: int
    modes: bool

    @property
    def status(self) -> int:
        return 2 * self.body + (2 if self.modes else 1)


def block(status: int) -> MassBlock:
    """Return the block that a positive status of the kernels of a tree stands for."""
    return MassBlock((status - 1) // 2, status % 2 == 0)


def explain(system: Any, status: int, y: NDArray[np.float64] | None = None, start: ArrayLike | None = None) -> str:
    """Return what a status of a step means, with what the system says of y, where the last good step ended.

    If y is far larger than `start` that is the reason, whatever the status: a system that has blown up is singular too.
    """
    if y is not None and start is not None and status != INPUT_FAILED:
        size, largest = float(np.max(np.abs(y), initial=0.0)), float(np.max(np.abs(np.asarray(start)), initial=1.0))
        if not size <= _BLOWN_UP * largest:
            return GROWS.format(f"{size:g}", f"{largest:g}")
    more = ""
    if y is not None and system is not None and status == NO_CONVERGENCE:
        more = system.diagnose(y, y if start is None else np.asarray(start))
    if status in WORDS:
        return WORDS[status] + (f": {more}" if more else "")
    return str(system.explain(status)) if system is not None else "the field failed"
