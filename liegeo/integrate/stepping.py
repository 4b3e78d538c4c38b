"""Compiled loops over the steps of a method: of equal size, or of a size that the method chooses.

Both have the same arguments and the same `control`, so that whoever advances a motion need not know which one it is.

**Equal steps** from a time t to a stop are the fewest that are not longer than a given one.  They have just this size
where that fits but for the round-off of times, or the size of the steps before where that fits; and they are counted
from where steps of this size began, so that a motion does not depend on how the times of its stops are computed.

**Chosen steps**.  A step of explicit.py (1) with two sets of weights on the same stages gives u and û in the algebra;
e = u − û, which to leading order is also the logarithm of the difference of the two results, is weighed entry by entry,

    err = √(mean (e_i / (atol + rtol s_i))²),       s_i = |y_i| for a factor ℝⁿ, 1 for any other,                  (1)

so that angles count in radians.  The step is accepted if err ≤ 1; then, with q the lower order plus one, and the error
of the step before,

    h ← h · min(5, max(0.2, 0.9 err^(−0.7/q) err_before^(0.4/q))),                                                (2)

without the second factor after a rejection (Gustafsson's controller as Hairer and Wanner give it).

If the result that goes on is the one whose error is estimated, of order p, its error over the whole run goes as
tol^(p/(p+1)); such a method works with rtol^((p+1)/p), and with atol less by as much, so that what is asked for is what
comes out.                                                                                                        (3)

Instead of tolerances there may be a bound on the error of the whole motion of a mechanical system (`Bound`), A_p in
metres and A_r in radians.  With d_i(e) the root mean square displacement of the mass of body i that a small change e
of the coordinates causes, and φ_i(e) the rotation of the body, a step h of a run of the length T may lose h/T of it,

    ε ≤ max(h/T, 10⁻⁴),      ε = max_i max(d_i(e)/A_p, φ_i(e)/A_r).                                                (4)

Displacements, other than numbers, have cancelled what coordinates do against each other: where a hinge takes up the
rotation of the bent end that carries it, nothing moves.  m_i d_i² = eᵀ M_i e, M_i the body's part of the mass matrix.

e is the error of the result that goes on.  If that is of one order more than the one whose errors e_q and e_v in
coordinates and speeds are estimated, it is about e_q h/τ, with τ the time in which the motion changes; and errors of
speeds tell τ, as e_v is about e_q/τ.  So

    e = h e_v                                                                                                     (5)

then, which is also right where the motion is not smooth, and where a step is at its limit of stability: there τ is as
short as the step.  Either way ε/h goes as h^p with p the order of the method: errors add up to what is asked for, and p
takes the place of q in (2).  The least share lets a step pass where the motion has a kink that nobody declared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from liegeo._jit import kernel
from liegeo.integrate import breaks
from liegeo.integrate.explicit import copy, finite
from liegeo.status import ABSENT, INPUT_FAILED, NOT_FINITE, WANTED

Kernel = Callable[..., Any]

# What a call of a loop ended with: the stop is reached, there is more to do, or a step could not be made.
FINISHED, FULL, FAILED = range(3)
# What `aim` found besides: the motion goes on behind a jump, which is not passed yet.
JUMP = 3
# What a loop that looks for events (machine/events.py) ended with: there is one, which has not acted yet.
EVENT = 4

# The places of `control`, all numbers of a stepper but its y and its memory:
# the time, the step that comes next or goes on, and where steps are to stop;
TIME, STEP, STOP = 0, 1, 2
# the longest step, how many were made since the beginning, and the last status of a step;
LONGEST, STEPS, STATUS = 3, 4, 5
# the jump of the inputs behind which the motion goes on (problems.Breaks);
PASSED = 6
# of equal steps: when the first of them began, how many are made, and how many there will be;
ORIGIN, DONE, PLANNED = 7, 8, 9
# of chosen steps: the error before, tolerances, how many steps were rejected, the sum of the errors of all others;
BEFORE, RTOL, ATOL, REJECTED, ERRORS = 10, 11, 12, 13, 14
# T of (4), or 0 where (1) is used; the least share; 1 if (5) is used.  A_p and A_r are in `scale`.
SPAN, LEAST_SHARE, BY_SPEEDS = 15, 16, 17
# how many steps the last call of a loop made.
MADE = 18
CONTROL_SIZE = 19

# By how much times differ that mean the same: as a share of the times, and of a step.
_ROUND_OFF, _SAME_STEP = 4.0 * float(np.finfo(np.float64).eps), 1e-9
# Where a step fails altogether, other lengths are tried, as shares of it, before shorter and shorter ones: what is
# singular at a position is so for all steps that end next to it, and not for one that ends beyond.
OTHER_LENGTHS = (0.5, 0.3, 1.3, 0.1, 2.0, 0.03, 3.0)


@dataclass(frozen=True)
class Bound:
    """A bound on the error of the whole motion of a mechanical system (4).

    A_p in metres and A_r in radians, T in seconds.  `coordinates` is what an error in a coordinate may be for all of
    that, in the units of the coordinates.
    """

    position: float
    angle: float
    span: float
    coordinates: float


@kernel
def aim(control, B, end):
    """Let the steps that follow stop at `end`, or at the first of the breaks B before it.

    Return FULL if there are any, FINISHED if there are none, or JUMP: then whoever calls this brings the state to what
    holds behind the jump, lets the method start anew, and calls again.
    """
    t, stop = control[TIME], end
    control[STATUS] = control[REJECTED] = 0.0
    if B.shape[1] > 0 and end > t:
        first, stop = breaks.piece(B, t)
        if first != control[PASSED]:
            control[PASSED], control[BEFORE] = first, 1.0
            # equal steps are counted from here
            control[ORIGIN] = np.nan
            return JUMP
        # a jump at the end, but for round-off, is where the next call begins
        if stop >= end or (breaks.begins(B, end) and breaks.piece(B, end)[0] == stop):
            stop = end
    if stop != control[STOP]:
        control[STOP] = stop
        control[PLANNED] = control[DONE]
    return FINISHED if stop == t else FULL


@kernel
def first_step(control, order, field, whole):
    """Return a step over which the solution moves by a hundredth, or what the tolerance allows a crude method.

    `field` is the field where the motion begins, and `whole` how long it lasts.
    """
    span, speed = abs(whole), 0.0
    for d in range(field.shape[0]):
        speed += field[d] * field[d]
    share = (control[ATOL] + control[RTOL]) ** (1.0 / (order + 1.0)) * 0.1
    h = min(span, max(1e-12 * span, share / max(np.sqrt(speed), 1.0 / max(span, 1e-300))))
    return h if whole >= 0.0 else -h


@kernel
def plan(control):
    """Write how many equal steps, and of which size, lead from TIME to STOP; return whether that is a number."""
    t, longest = control[TIME], control[LONGEST]
    size = control[STOP] - t
    if not (0.0 < size < np.inf and longest > 0.0):
        return False
    unsure = min(_ROUND_OFF * (abs(t) + size), 1e-6 * size)
    n = max(1.0, np.ceil((size - max(_SAME_STEP * size, unsure)) / longest))
    h = longest
    if abs(n * h - size) > unsure:
        h = control[STEP] if abs(n * control[STEP] - size) <= unsure else size / n
    counted = control[ORIGIN] + control[DONE] * h
    if h != control[STEP] or not abs(t - counted) <= max(_SAME_STEP * h, _ROUND_OFF * abs(t)):
        control[STEP], control[ORIGIN], control[DONE] = h, t, 0.0
    control[PLANNED] = control[DONE] + n
    return True


def equal_steps(step: Kernel, compiled: bool) -> Kernel:
    """At most `most` equal steps to STOP in one call: FINISHED, FULL or FAILED; MADE is how many there were.

    `step` is (layout, I, F, coefficients, t, y, h, W, K, u, Y, out) -> status.  The first `memory` rows of K stay from
    step to step.  y is where steps start and becomes the end of the last good one.  T and E, unless they are empty, get
    the time and the state at the end of each.
    """

    def loop(layout, I, F, coefficients, power, memory, control, y, W, K, u, Y, end, scale, most, T, E, G, Q):
        control[MADE] = 0.0
        if control[DONE] >= control[PLANNED] and not plan(control):
            control[STATUS] = 0.0
            return FAILED
        n = 0
        while n < most and control[DONE] < control[PLANNED]:
            h = control[STEP]
            t = control[ORIGIN] + control[DONE] * h
            status = step(layout, I, F, coefficients, t, y, h, W, K, u, Y, end)
            if status == 0 and not finite(end):
                status = NOT_FINITE
            if status != 0:
                control[STATUS] = status
                return FAILED
            copy(end, y)
            control[DONE] += 1.0
            control[STEPS] += 1.0
            control[TIME] = control[ORIGIN] + control[DONE] * h
            if control[DONE] == control[PLANNED]:
                control[TIME] = control[STOP]
            if T.shape[0] > 0:
                T[n] = control[TIME]
                copy(y, E[n])
            n += 1
            control[MADE] = n
        return FINISHED if control[DONE] >= control[PLANNED] else FULL

    return kernel(loop, name="integrate.equal_steps", nogil=True) if compiled else loop


@kernel
def weigh(layout, y, rtol, atol, out):
    """atol + rtol s of (1): s = |y| for a factor ℝⁿ (kind 0), 1 for any other."""
    for d in range(out.shape[0]):
        out[d] = atol + rtol
    for row in range(layout.shape[0]):
        if layout[row, 0] == 0:
            for k in range(layout[row, 4] - layout[row, 3]):
                out[layout[row, 3] + k] = atol + rtol * abs(y.flat[layout[row, 1] + k])


@kernel
def growth(error, before, power, just_rejected):
    """Return the factor of (2) behind a step with this error, and one with the error `before`."""
    factor = 0.9 * max(error, 1e-10) ** (-0.7 / power)
    if just_rejected:
        factor = min(factor, 1.0)
    else:
        factor *= max(before, 1e-10) ** (0.4 / power)
    # a change that is not worth while would only cost the memory of a method its value
    if 1.0 <= factor <= 1.1:
        factor = 1.0
    return min(5.0, max(0.2, factor))


@kernel
def within(h, longest):
    """Return a step of h, but not longer than that."""
    if abs(h) > longest:
        return longest if h > 0.0 else -longest
    return h


def _nowhere(I, F, q, e, W, out):
    """Of a field that is no mechanical system nobody knows what it moves."""
    return ABSENT


def _error_of(displacement: Kernel | None, compiled: bool) -> Kernel:
    """The error of a step by (1) or (4): (layout, I, F, control, h, y, end, W, u, scale) -> (status, error, allowed).

    u[1] is the estimated error; the step may have `allowed` of what a run may lose, and `error` is relative to that.
    """
    if displacement is None:
        displacement = kernel(_nowhere, name="integrate.nowhere") if compiled else _nowhere

    def measure(layout, I, F, control, h, y, end, W, u, scale):
        if control[SPAN] > 0.0:
            nv = u.shape[1] // 2
            if control[BY_SPEEDS] > 0.0:
                for k in range(nv):
                    u[1, k] = h * u[1, nv + k]
            status = displacement(I, F, end[: end.shape[0] - nv], u[1, :nv], W, u[0])
            # a sum, because the larger of two numbers does not tell if one is not a number
            metres, radians = u[0, 0] / scale[0], u[0, 1] / scale[1]
            allowed = max(abs(h) / control[SPAN], control[LEAST_SHARE])
            return status, max(metres, radians) / allowed if metres + radians < np.inf else np.inf, allowed
        weigh(layout, y, control[RTOL], control[ATOL], scale)
        error = 0.0
        for d in range(u.shape[1]):
            error += (u[1, d] / scale[d]) ** 2
        return 0, np.sqrt(error / max(u.shape[1], 1)), 1.0

    return kernel(measure, name="integrate.error_of") if compiled else measure


@kernel
def _forget(control, size, y, field, past):
    """Remember nothing of a step."""


def chosen_steps(
    trial: Kernel, compiled: bool, displacement: Kernel | None = None, remember: Kernel | None = None
) -> Kernel:
    """The same with steps that the method chooses by (1), (2), or by (4).

    `trial` is a step that finds the field at its start in the first row of K, and leaves the estimated error in u[1].
    It remembers `memory` rows, the field among them: the first of K at its start, which it leaves alone, are the last
    at its end.  `power` is q of (2).  G and, unless it is empty, Q get the field and the term (2) of trajectory.py at
    the end of each step.  `displacement` is that of problems.Dynamics.

    With `remember`, (control, size, y, field, past), which is called after each step, the loop has one argument more,
    `past` (crossing.py).
    """
    error_of = _error_of(displacement, compiled)
    note = _forget if remember is None else remember

    def steps(layout, I, F, coefficients, power, memory, control, y, W, K, u, Y, end, scale, most, T, E, G, Q, past):
        stop, longest = control[STOP], control[LONGEST]
        n, just_rejected, last_row = 0, False, K.shape[0] - memory
        control[MADE] = 0.0
        if not abs(stop - control[TIME]) < np.inf:
            return FAILED
        # steps that failed one after another, and the length of the first of them
        failures, first = 0, 0.0
        while n < most:
            t, h = control[TIME], control[STEP]
            last = abs(h) >= abs(stop - t) * (1.0 - 1e-12)
            step = stop - t if last else h
            error, allowed = 0.0, 1.0
            status = trial(layout, I, F, coefficients, t, y, step, W, K, u, Y, end)
            if status == 0:
                status, error, allowed = error_of(layout, I, F, control, step, y, end, W, u, scale)
            if status == 0 and error <= 1.0 and finite(end) and finite(K[last_row]):
                copy(end, y)
                control[TIME] = stop if last else t + step
                for d in range(K.shape[1]):
                    for r in range(memory):
                        K[r, d] = K[last_row + r, d]
                if T.shape[0] > 0:
                    T[n] = control[TIME]
                    copy(y, E[n])
                    for d in range(K.shape[1]):
                        G[n, d] = K[0, d]
                        if Q.shape[0] > 0:
                            Q[n, d] = K[last_row - 1, d]
                n += 1
                control[MADE] = n
                control[STEPS] += 1.0
                control[ERRORS] += error * allowed
                if not last:
                    control[STEP] = within(step * growth(error, control[BEFORE], power, just_rejected), longest)
                control[BEFORE] = max(error, 1e-10)
                note(control, step, y, K[0], past)
                if last:
                    return FINISHED
                failures, just_rejected = 0, False
                continue
            control[REJECTED] += 1.0
            control[STATUS] = status
            if status in (INPUT_FAILED, WANTED):
                return FAILED
            # not finite counts as far too large
            h, just_rejected = step * 0.2, True
            if status == 0 and error < 1e300:
                h = step * max(0.2, 0.9 * error ** (-1.0 / power))
            if status != 0:
                if failures == 0:
                    first = step
                if failures < len(OTHER_LENGTHS):
                    h = within(first * OTHER_LENGTHS[failures], longest)
                elif failures == len(OTHER_LENGTHS):
                    h = first * 0.2 * OTHER_LENGTHS[len(OTHER_LENGTHS) - 2]
                failures += 1
            control[STEP] = h
            # nor does a step that is not a number ever become one
            if not abs(h) > 1e-15 * (abs(t) + abs(stop)):
                return FAILED
        return FULL

    if compiled:
        steps = kernel(steps, name="integrate.chosen_steps")
    if remember is not None:
        return steps

    def loop(layout, I, F, coefficients, power, memory, control, y, W, K, u, Y, end, scale, most, T, E, G, Q):
        return steps(
            layout, I, F, coefficients, power, memory, control, y, W, K, u, Y, end, scale, most, T, E, G, Q, K[:0]
        )

    return kernel(loop, name="integrate.all_chosen_steps", nogil=True) if compiled else loop
