"""Set-valued friction in implicit steps: which speeds stick, and which slide in which direction.

The friction f of a speed v_k with the level g, g(0) = F, is g(v_k) sign v_k, or any force within ±F where v_k = 0
(kernels/dry_friction.py (1)).  Newton's method solves a step with a set of speeds that stick, the active set.  These
are no unknowns: x_k is what makes v_k zero, row k of the residual is struck out, and what it was is −f.  All others
slide in a direction s_k, with the friction of just that sign, whatever an iterate's v_k is.  The set changes

- after a correction that turns a speed, v_k s_k < 0: it sticks;
- where the iteration has converged, and not before, if |f| > F: it slides in the direction of f.

The first rule may act on any iterate, because what it does is tested by the second.  The second may not: the friction
of an iterate that has not converged may be beyond F where that of the solution is not, and if F is more than what it
slides with, the step would then find a motion that is a solution too.  So a joint that can stick does, and breaks away
where what it has to hold is more than F and not by the tolerance of Newton's method.  There is no speed of
regularisation.

In a mechanism with loops more joints may stick than it has motions, and what each of them holds is then not determined.
There one of those at rest sticks, and the others are taken to slide with full friction though they do not move, which
(1) of kernels/dry_friction.py allows; of those that turn against their friction only one at a time sticks.  So what
sticks is never more than what moves without it.

Where a step ends, speeds that stick are exactly zero, 0.0, which is how the next one knows them, and accelerations that
a method remembers are zero too: what sticks does not move.  In methods with forces between the ends of a step (stiff.py
(1′)) friction acts there; what is left of the speed at the end, a share ρ of what it was, is taken away.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from liegeo._jit import kernel

Kernel = Callable[..., Any]

# What `newton` keeps of each speed: 0 without such friction, STICKS, or the direction in which it slides.
STICKS = 2.0
# A speed of which only the sign counts; what is below the second number is no more than that.
_SIGN, _ONLY_SIGN = 1e-300, 1e-290
# How often a speed may change between sticking and sliding in one step, and the entry of a matrix that holds it.
_MOST_CHANGES, _LOCK = 12.0, 1e30
_EPSILON = 2.220446049250313e-16
# Speeds times h, as shares of the sizes of coordinates, that are zero in a mechanism whose loops hold them.
_SLACK = 1e3 * _EPSILON


@kernel
def begin(n, v, h, inverse, closed, grip, seen, slack):
    """Write which of the speeds stick where a step begins, behind `grips` (limits in the second half of `grip`).

    In a system that is `closed` one of those at rest does, that which can hold the most.
    """
    nv, strongest = v.shape[0], -1
    for k in range(nv):
        grip[k] = seen[nv + k] = slack[k] = 0.0
        if n > 0 and grip[nv + k] >= 0.0:
            grip[k] = 1.0 if v[k] > 0.0 else -1.0 if v[k] < 0.0 else STICKS
            if closed:
                slack[k] = _SLACK / (abs(h) * inverse[k])
            if grip[k] == STICKS and (strongest < 0 or grip[nv + k] > grip[nv + strongest]):
                strongest = k
    for k in range(nv):
        if closed and grip[k] == STICKS and k != strongest:
            grip[k] = 1.0


@kernel
def stay(cv, grip, start, x):
    """Let v = start + cv x be zero where it sticks."""
    for k in range(x.shape[0]):
        if grip[k] == STICKS:
            x[k] = -start[k] / cv


@kernel
def direct(grip, before, v, gain):
    """Write the speeds with which friction is found: zero, or of the direction in which they slide."""
    for k in range(v.shape[0]):
        if grip[k] == STICKS:
            v[k], gain[k] = 0.0, -before[k]
        elif grip[k] != 0.0 and v[k] * grip[k] < _SIGN:
            v[k] = grip[k] * _SIGN


@kernel
def strike_out(grip, residual, seen):
    """Note the friction of speeds that stick, which their rows of the residual show, and strike these out."""
    for k in range(residual.shape[0]):
        if grip[k] == STICKS:
            seen[k] = -residual[k]
            residual[k] = 0.0


@kernel
def hold(grip, local):
    """Hold what sticks in the matrix of a recursion, and leave out that friction falls where speed grows.

    With the slope of Stribeck's curve the matrix may be indefinite, and corrections by it lead to where friction is
    largest.  Without it they lead away from there, to one of the two solutions.
    """
    for k in range(local.shape[0]):
        if grip[k] == STICKS:
            local[k] = _LOCK
        elif grip[k] != 0.0:
            local[k] = max(local[k], 0.0)


@kernel
def hold_dense(grip, local, M):
    """Do the same in a dense matrix, of which `local` is a part."""
    nv = local.shape[0]
    for k in range(nv):
        if grip[k] == STICKS:
            for j in range(nv):
                M[nv * k + j] = 1.0 if j == k else 0.0
        elif grip[k] != 0.0:
            M[nv * k + k] -= min(local[k], 0.0)


@kernel
def turned(cv, grip, seen, slack, start, x):
    """Let stick what has turned; return whether there was any.  In a closed system it is one at a time."""
    nv, found = x.shape[0], False
    for k in range(nv):
        if grip[k] != 0.0 and grip[k] != STICKS:
            part = cv * x[k]
            round_off = 4.0 * _EPSILON * (abs(start[k]) + abs(part)) + slack[k]
            if (start[k] + part) * grip[k] < -round_off:
                grip[k], found = STICKS, True
                seen[nv + k] += 1.0
                if slack[k] > 0.0:
                    return True
    return found


@kernel
def released(grip, seen):
    """Let slide what holds more than it can; return whether there was any."""
    nv, found = seen.shape[0] // 2, False
    for k in range(nv):
        if grip[k] == STICKS and abs(seen[k]) > grip[nv + k] * (1.0 + 4.0 * _EPSILON):
            grip[k], found = 1.0 if seen[k] > 0.0 else -1.0, True
            seen[nv + k] += 1.0
    return found


@kernel
def restless(seen):
    """Return whether a speed has changed too often: the step has to be shorter."""
    nv, most = seen.shape[0] // 2, 0.0
    for k in range(nv):
        most = max(most, seen[nv + k])
    return most > _MOST_CHANGES


@kernel
def come_to_rest(grip, slack, v):
    """Write zero for speeds that stick at the end of a step, and for those that would have turned."""
    for k in range(v.shape[0]):
        if grip[k] != 0.0 and (grip[k] == STICKS or v[k] * grip[k] < max(_ONLY_SIGN, slack[k])):
            v[k] = 0.0


@kernel
def forget(grip, v, memory):
    """Write zero into what a method remembers of speeds that stick."""
    for k in range(v.shape[0]):
        if grip[k] != 0.0 and v[k] == 0.0:
            memory[k] = 0.0


@kernel
def side(v):
    """Return 1, 0 or −1: whether a speed is positive, zero or negative."""
    return int(v > 0.0) - int(v < 0.0)
