"""How large the error of a macro step may be, so that the error of the whole run is what was asked for.

Two solutions run side by side: the fine one, which is kept, takes each macro step as two halves, the coarse one takes
it whole.  The error of a method of order p has an expansion in the step size, also where steps vary, so the error of
the fine solution is, relative to nominal value plus size and as the largest over all real outputs [SW76]

    E = |y_coarse − y_fine| / (2ᵖ − 1).                                                                      (1)

It holds what the system did to the errors of all steps so far: fading, growing, cancelling.  A third step, whole and
from the state of the fine solution, gives by the same formula the error ℓ that one step adds:

    ℓ = |y_whole − y_fine| / (2ᵖ − 1),    S = Σ ℓ.                                                           (2)

The share E / S says what becomes of errors.  Where they live for ever it stays at some gain; where they fade it falls
as time goes on.  Over a window, the last half or more of the time gone by, let P be the largest E, ρ the mean of ℓ per
time, and q = P / S divided by the largest share of the whole run.  Errors then live for about

    T = P / ρ / (1 − q)².                                                                                    (3)

If errors fade as e^(−t/T₁) and show with a gain g, E settles at g ρ T₁ while q tends to zero, and T tends to g T₁.  If
nothing fades, q = 1 and T is infinite; the square keeps T long while that is not yet clear.  With the tolerance ε and
the length L of the run, a step from t to t + h (counted from the start) may add

    ℓ ≤ ε max( (√((t + h) / L) − √(t / L)) / G,  h / T ) / O,                                                (4)

G = P / S, at least 1, and O = P / ε, at least 1 and at most 5.  The first term adds up to ε if
nothing fades.  It allows half of the tolerance in the first quarter of the run, because where errors fade most of
them are made early, before anybody can know; for p = 2 that costs 13 % more steps than an even share.  The second
term makes E settle at ε.  O makes up for what was spent too early.

Where an output jumps within a step, ℓ falls with h only, as what is allowed does, so that no step would do.  A step is
accepted all the same if a shorter one is not much nearer to what is allowed, and it adds little to the tolerance.

Where nothing moves, steps may grow until the coarse solution is unstable while the fine one is not.  It then begins
anew from the fine one, the next step is halved, and the error so far is carried on and fades with T.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# By how much of the estimated size the next step is shorter, and bounds for the change from one step to the next.
_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 2.5
# Bound of O in (4).
_MOST_OVERSPENT = 5.0
# The coarse solution is taken as unstable if E doubles in a step and is above the tolerance, or if it is higher than
# ever, above so many tolerances, and grew by so many times what the last step can have added.
_HIGH, _UNEXPLAINED = 1.5, 20.0

# A step is across a jump if the ratio of its error to what is allowed is still above this part of that of a longer
# one, where it falls by 1/5 or more for a step that is 1/5 as long; and how much of the tolerance a jump may cost.
_STILL, _JUMP = 0.5, 0.01


@dataclass
class _Block:
    """A stretch of the run: when it began, S there, and the largest E."""

    begin: float = 0.0
    sum: float = 0.0
    error: float = 0.0


class ErrorControl:
    """What is known of the errors of a run; `error` is E now, `largest` its maximum so far."""

    def __init__(self, tolerance: float, start: float, end: float, order: int) -> None:
        self.tolerance, self.start, self.length, self.order = tolerance, start, end - start, order
        self.error = self.largest = 0.0
        self.lifetime = math.inf
        self._t = start
        # E of coarse solutions that were given up, S, the last ℓ, and the largest share
        self._carried = self._sum = self._last = 0.0
        self._top = 1.0
        # the window is these two, each as long as all before it
        self._blocks = _Block(), _Block()

    def allowed(self, t: float, h: float) -> float:
        """Return the error ℓ that a step from t by h may add, by (4)."""
        peak = self._peak()
        gain = max(1.0, peak / self._sum) if self._sum > 0.0 else 1.0
        overspent = min(_MOST_OVERSPENT, max(1.0, peak / self.tolerance))
        gone = max(t - self.start, 0.0)
        planned = math.sqrt((gone + h) / self.length) - math.sqrt(gone / self.length)
        return self.tolerance * max(planned / gain, h / self.lifetime) / overspent

    def factor(self, ratio: float) -> float:
        """Return by how much the next step is longer, if the error was this multiple of what was allowed.

        ℓ grows as h^(p + 1), and what is allowed about as h.
        """
        if ratio == 0.0:
            return _GROW
        return min(_GROW, max(_SHRINK, _SAFETY * ratio ** (-1.0 / self.order)))

    def is_jump(self, error: float, ratio: float, before: float) -> bool:
        """Return whether a step is across a jump, and short enough.

        `before` is the ratio of the last step that was refused, in this step or in one that was shortened by it.
        """
        return ratio > _STILL * before and error <= _JUMP * self.tolerance

    def add(self, error: float) -> None:
        """Take note of the error ℓ of a step that was accepted."""
        self._last = error
        self._sum += error

    def measure(self, t: float, error: float) -> bool:
        """Take note of E at t, by (1); return False if the coarse solution is of no use and must begin anew."""
        self._carried *= self._fading(t)
        error += self._carried
        sudden = error > max(self.tolerance, 2.0 * self.error)
        high = error > max(_HIGH * self.tolerance, self.largest)
        if sudden or (high and error - self.error > _UNEXPLAINED * self._top * self._last):
            self.begin_anew(t)
            return False
        self._t, self.error = t, error
        self.largest = max(self.largest, error)
        if self._sum > 0.0:
            self._learn(t - self.start)
        return True

    def begin_anew(self, t: float) -> None:
        """Take note that the coarse solution begins anew at t, from the fine one."""
        self._carried = self.error = self.error * self._fading(t)
        self._t = t

    def _fading(self, t: float) -> float:
        return math.exp((self._t - t) / self.lifetime)

    def _peak(self) -> float:
        """Return P, the largest E in the window."""
        return max(block.error for block in self._blocks)

    def _learn(self, gone: float) -> None:
        """Estimate how long errors live, by (3)."""
        self._top = max(self._top, self.error / self._sum)
        first, last = self._blocks
        if gone > 2.0 * last.begin:
            first, last = self._blocks = last, _Block(gone, self._sum)
        last.error = max(last.error, self.error)
        peak = self._peak()
        q = peak / self._sum / self._top
        spent = self._sum - first.sum
        if spent > 0.0 and peak > 0.0:
            lived = peak * (gone - first.begin) / spent
            self.lifetime = lived / (1.0 - q) ** 2 if q < 1.0 else math.inf
