"""Times at which what drives a system jumps or has a kink: steps end there, and methods start anew.

Between two of them lies a piece, on which all is smooth.  Where kernels are asked at the end of one, they are to answer
for the left side, and where the next one begins, for the right side: the first two numbers of F are the first and the
last time of the piece, and kernels take no time beyond.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from liegeo._jit import kernel

Array = NDArray[np.float64]

# Times that differ by less than this share of themselves are the same.
_SAME_TIME = 1e-12


@kernel
def _number_before(B, t):
    """Return how many breaks there are up to t; what differs by round-off is the same time."""
    low, high = 0, B.shape[1]
    while low < high:
        middle = (low + high) // 2
        if t + _SAME_TIME * abs(t) < B[0, middle]:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def piece(B, t):
    """Return where the piece begins and ends that goes on from t."""
    k = _number_before(B, t)
    return B[0, k - 1] if k > 0 else -np.inf, B[0, k] if k < B.shape[1] else np.inf


@kernel
def begins(B, t):
    """Return whether a piece begins at t, but for round-off."""
    return abs(piece(B, t)[0] - t) <= _SAME_TIME * abs(t)


@kernel
def limit(B, F, t):
    """Tell the kernels with the numbers F which piece goes on from t."""
    if B.shape[1] > 0:
        k = _number_before(B, t)
        F[0] = B[0, k - 1] if k > 0 else -np.inf
        F[1] = B[1, k] if k < B.shape[1] else np.inf


@dataclass(frozen=True)
class Breaks:
    """Breaks, as rising times; `table` is how kernels have them: the times, and the last number before each."""

    times: tuple[float, ...] = ()
    table: Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        times = np.array(self.times, dtype=np.float64)
        object.__setattr__(self, "table", np.stack([times, np.nextafter(times, -np.inf)]))

    def limit(self, F: Array, t: float) -> None:
        """Tell the kernels with the numbers F, read-only for everybody else, which piece goes on from t."""
        if self.times:
            F.setflags(write=True)
            limit(self.table, F, t)
            F.setflags(write=False)

    def lift(self, F: Array) -> None:
        """Let the kernels with the numbers F take any time."""
        if self.times:
            F.setflags(write=True)
            F[0], F[1] = -np.inf, np.inf
            F.setflags(write=False)
