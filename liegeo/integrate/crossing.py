"""Steps across singular positions, for methods that choose their steps and remember nothing but the field.

Near a singular position of a mechanism with loops, accelerations are mostly round-off.  In steps across the level
position of ten four-bars the estimated error grew about as 1/h² where h was short, stages being at distances that are
shares of h; this was measured, from three starts, and not derived.
Steps with a stage too near to it fail, shorter steps come nearer, and none leads across, although the motion
is smooth there.  Where such steps end is the time t_s of the singular position.  With the stages of a step at t + c_i h
and g the middle of the widest gap between the c_i, steps from

    t = t_s − g h,      h = h_max, 0.7 h_max, 0.7² h_max, …,                                                       (1)

keep their stages as far from it as a step of the length h can; h_max is the longest step so far.  The method's error
falls as h^q (stepping.py (2)), that of round-off grows: the first h for which their sum is within the tolerance
is taken.  If there is none, the tolerance is below what round-off allows at that position.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from liegeo.integrate import stepping
from liegeo.integrate.stepping import FULL

if TYPE_CHECKING:
    from liegeo.integrate.stepper import Stepper

Array = NDArray[np.float64]

# There may be a singular position if steps became shorter than this share of the longest; the lengths that are tried.
_CRAWL, _SHORTER, _LENGTHS = 1e-2, 0.7, 24
# How many steps of earlier calls are remembered; so many steps wait to be replaced.
_REMEMBERED, HELD = 512, 4096


class SingularCrossing:
    """The steps by which a stepper came to where it is, and the way across if they lead to a singular position."""

    def __init__(self, stepper: Stepper, coefficients: Array, remember: bool) -> None:
        """`coefficients` begin with those of the stages; `remember` steps of earlier calls too."""
        self._stepper, self._remember = stepper, remember
        nodes = np.sort(coefficients[: coefficients.shape[2], 0].sum(axis=1))
        widest = int(np.argmax(np.diff(nodes)))
        self._middle = 0.5 * (nodes[widest] + nodes[widest + 1])
        # times, states and fields, call by call
        self._past: list[Sequence[Array]] = []

    def begin(self) -> None:
        """Forget steps of earlier calls that are not needed, or did not lead here: a state may have been put back."""
        stepper = self._stepper
        goes_on = self._past and self._past[-1][0][-1] == stepper.t and (self._past[-1][1][-1] == stepper.y).all()
        if not (self._remember and goes_on):
            self._past = [(np.array([stepper.t]), stepper.y[np.newaxis].copy(), stepper.memory[:1].copy())]
        while sum(len(piece[0]) for piece in self._past[1:]) > _REMEMBERED:
            del self._past[0]

    def end(self, *steps: Array) -> None:
        """Remember times, states and fields of steps that were made."""
        if len(steps[0]):
            self._past.append(steps)

    def forget(self) -> None:
        """Remember nothing: the motion begins anew."""
        self._past = []

    def _sizes(self, times: Array) -> Array:
        return np.abs(np.diff(np.concatenate([*(piece[0] for piece in self._past), times])))

    def crawls(self, times: Array) -> bool:
        """Return whether steps to these times became so short that they may lead to a singular position."""
        sizes = self._sizes(times)
        return len(sizes) > 1 and bool(sizes[-1] <= _CRAWL * sizes.max())

    def cross(self, n: int, ends: Sequence[Array]) -> tuple[int, int] | None:
        """Step across a singular position (1) if the steps so far, n of them in `ends`, lead to one.

        Return how many steps there are then in `ends`, and the status; None if there is no way across.
        """
        if not self.crawls(ends[0][:n]):
            return None
        stepper, control = self._stepper, self._stepper.control
        pieces = [*self._past, [end[:n] for end in ends[:3]]]
        t, y, f = (np.concatenate([piece[k] for piece in pieces]) for k in range(3))
        here, kept, singular = (stepper.y.copy(), stepper.memory[0].copy()), control.copy(), stepper.t
        forward = 1.0 if control[stepping.STOP] > singular else -1.0
        # what leads to (1), and the step across
        two = [np.empty((min(2, len(end)), *end.shape[1:])) for end in ends]
        for h in forward * self._sizes(ends[0][:n]).max() * _SHORTER ** np.arange(_LENGTHS):
            begin = singular - self._middle * h
            before = int(np.searchsorted(forward * t, forward * begin)) - 1
            if before < 0:
                continue
            stepper.y[...], stepper.memory[0] = y[before], f[before]
            stepper.t = t[before]
            control[stepping.STEP], control[stepping.BEFORE] = begin - t[before], 1.0
            made, status = stepper.call(1, *(end[:1] for end in two))
            if made == 1 and status == FULL and abs(stepper.t - begin) < 1e-9 * abs(h):
                control[stepping.STEP], control[stepping.BEFORE] = h, 1.0
                more, status = stepper.call(1, *(end[1:] for end in two))
                if more == 1 and forward * (stepper.t - singular) > 0.0:
                    there = self._replace(forward, begin, n, ends, two)
                    control[stepping.STEPS] = kept[stepping.STEPS] - n + there
                    return there, status
            control[stepping.ERRORS], control[stepping.STEPS] = kept[stepping.ERRORS], kept[stepping.STEPS]
        kept[stepping.REJECTED] = control[stepping.REJECTED]
        (stepper.y[...], stepper.memory[0]), control[:] = here, kept
        return None

    def _replace(self, forward: float, begin: float, n: int, ends: Sequence[Array], two: Sequence[Array]) -> int:
        """Replace steps that lead to a singular position by the one that leads to `begin` and the one across.

        Return how many steps there are then in `ends`.
        """
        kept = int(np.searchsorted(forward * ends[0][:n], forward * begin))
        if forward * begin > forward * self._past[-1][0][-1]:
            for end, new in zip(ends, two, strict=True):
                end[kept : kept + len(new)] = new
            return kept + 2
        # it began before steps that were returned already; what stands between is then the cubic of trajectory.py
        for end, new in zip(ends[:3], two[:3], strict=True):
            end[0] = new[1]
        ends[3][:1] = 0.0
        return 1
