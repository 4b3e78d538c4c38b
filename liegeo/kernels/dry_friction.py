"""Dry friction with the exact, set-valued law: what holds joints whose speed is zero.

The friction f that opposes the speed v of a joint, with the level g(v) of joint_elements.py (4) and g(0) = F_S, is

    f = g(v) sign v   where v ≠ 0,        |f| ≤ F_S   where v = 0.                                                (1)

The state itself says which joints stick: those whose speed is 0.0, not nearly so.  Implicit steps
(integrate/sticking.py) write this number where friction holds, so that checkpoints and states of FMUs need nothing
else.  At such a state f follows from what the joint is about to do: it sticks on, v̇ = 0, or breaks away in the
direction in which it is pushed,

    v̇ = 0, |f| ≤ F_S      or      f = F_S sign v̇.                                                                 (2)

Accelerations are affine in the multipliers f of all joints that stick, with G the inverse of the mass matrix (with
loops: under their constraints) at these speeds,

    v̇ = v̇₀ − G f,                                                                                               (3)

so (2) is a linear complementarity problem with bounds.  `hold` forms v̇₀ and G by forward dynamics, one for each joint
that sticks, and solves it by an active set: it lets all stick, releases the one that holds the most beyond its limit,
and takes one back that would then move against its friction, until (2) holds.  G is positive semidefinite, and where it
is singular, in a loop with more friction than motions, the smallest pivots get no force.  The multipliers are numbers
of u, from which laws take them.

**Friction by load** (joint_elements.py (15)) has levels μ R that depend on the wrench that the joint carries, and so on
the accelerations that friction changes.  The wrench is that of inverse dynamics, so in an implicit step friction is
added to its result, row by row, and R is that of the very state and accelerations which the step solves for.  Where
accelerations are asked for, loads are iterated: forward dynamics with the friction f(R), inverse dynamics, and R anew,

    R ← R(v̇(f(R))),                                                                                              (4)

which shrinks an error by about μ times what the friction of one joint changes in the load of another, until nothing
changes but round-off.  If nothing comes of that, no friction is in balance with its load: a mechanism that jams.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, kernel
from liegeo.kernels import articulated, inverse, loops
from liegeo.kernels import layout as at
from liegeo.kernels.joint_elements import (
    held_by,
    is_exact,
    is_loaded,
    joint_element,
    limit_at_rest,
    load_of,
    loaded_level,
)
from liegeo.status import NO_CONVERGENCE

# What is beyond a limit, as a share of it, and pivots that are zero, as a share of what they were.
_BEYOND, _SINGULAR = 1e-12, 1e-10
# Iterations (4), and the share of the largest load that is round-off.
_ITERATIONS, _LOAD = 200, 1e-13
# A load that holds anything, before any is known.
_ANY = 1e9


@kernel
def _moves(I, k):
    """Return whether speed k is not locked."""
    for i in range(I[at.N_BODIES]):
        b, _, _ = at.rows(i)
        j = k - I[b + at.JV]
        if I[b + at.LOCKED] != 0 and 0 <= j < I[b + at.NV] and I[b + at.LOCKED] >> j & 1:
            return False
    return True


@kernel(forceinline=False)
def grips(I, F, W, behind, out):
    """Write for each speed the largest force with which exact friction holds it, −1 if there is none; return how many.

    Speeds that are locked have none.  Unless it is called `behind` inverse dynamics, friction by load holds anything.
    """
    n = 0
    for k in range(out.shape[0]):
        out[k] = -1.0
    for i in range(I[at.N_JOINT_ELEMENTS]):
        r = joint_element(I, i)
        if is_exact(I, F, r):
            k, _ = held_by(I, r)
            if _moves(I, k):
                load = np.inf
                if behind and is_loaded(I, r):
                    load = load_of(I, F, r, W)
                out[k] = limit_at_rest(I, F, r, load) if is_loaded(I, r) else limit_at_rest(I, F, r, 0.0)
                n += 1
    return n


@kernel(forceinline=False)
def let_go(I, F, u):
    """Set the multipliers to zero: those of other accelerations, which are given now."""
    for i in range(I[at.N_JOINT_ELEMENTS]):
        r = joint_element(I, i)
        if is_exact(I, F, r) or is_loaded(I, r):
            _, slot = held_by(I, r)
            u[slot] = 0.0


@kernel(forceinline=False)
def add_loaded(I, F, v, W, out):
    """Add friction by load to the forces that inverse dynamics has just found, but what holds joints at rest."""
    for i in range(I[at.N_JOINT_ELEMENTS]):
        r = joint_element(I, i)
        if is_loaded(I, r):
            k, _ = held_by(I, r)
            out[k] += loaded_level(I, F, r, v[k], load_of(I, F, r, W))


@kernel(forceinline=False)
def sides(I, F, v):
    """Return a number that changes where a joint with exact friction begins or ceases to stick."""
    seen = 0
    for i in range(I[at.N_JOINT_ELEMENTS]):
        r = joint_element(I, i)
        if is_exact(I, F, r):
            k, _ = held_by(I, r)
            x = v[k]
            seen = 3 * seen + int(x > 0.0) - int(x < 0.0)
    return seen


@kernel
def _gather(I, F, v, u, W):
    """Give elements whose joint moves their force; list the others in HELD_SPEED, HELD_SLOT and HELD_LIMIT.

    Return how many the others are.
    """
    o, h, n, e = index(I[at.HELD_W]), index(I[at.N_HELD]), 0, 0
    loads = o + at.HELD_G * h + h * h + h * (h + 1)
    for i in range(I[at.N_JOINT_ELEMENTS]):
        r = joint_element(I, i)
        if not is_exact(I, F, r) and not is_loaded(I, r):
            continue
        (k, slot), load = held_by(I, r), W[loads + e]
        e += 1
        u[slot] = 0.0
        if is_loaded(I, r) and load.real < _ANY:
            u[slot] = loaded_level(I, F, r, v[k], load)
        if v[k].real == 0.0 and is_exact(I, F, r) and _moves(I, k):
            limit = limit_at_rest(I, F, r, load)
            if limit.real > 0.0:
                W[o + at.HELD_SPEED * h + n], W[o + at.HELD_SLOT * h + n] = k, slot
                W[o + at.HELD_LIMIT * h + n], W[o + at.HELD_SIDE * h + n] = limit, 0.0
                n += 1
    return n


@kernel
def _weigh(I, F, W):
    """Find the loads behind inverse dynamics; return by how much the largest has changed, and how large it is."""
    o, h, e = index(I[at.HELD_W]), index(I[at.N_HELD]), 0
    loads, change, size = o + at.HELD_G * h + h * h + h * (h + 1), 0.0, 0.0
    for i in range(I[at.N_JOINT_ELEMENTS]):
        r = joint_element(I, i)
        if not is_exact(I, F, r) and not is_loaded(I, r):
            continue
        if is_loaded(I, r):
            load = load_of(I, F, r, W)
            change = max(change, abs((load - W[loads + e]).real))
            size = max(size, load.real)
            W[loads + e] = load
        e += 1
    return change, size


@kernel
def _number(x):
    """Return a number of W as a place."""
    return index(int(x.real))


@kernel(forceinline=False)
def _balance(I, n, W):
    """Find the forces in HELD_FORCE of those of n that stick, by (3) with v̇ = 0; the others have theirs."""
    o, h = index(I[at.HELD_W]), index(I[at.N_HELD])
    force, side, G = o + at.HELD_FORCE * h, o + at.HELD_SIDE * h, o + at.HELD_G * h
    P = G + h * h
    m = n + 1
    for i in range(n):
        sticks = W[side + i].real == 0.0
        right = W[o + at.HELD_FREE * h + i]
        for j in range(n):
            g = W[G + n * i + j]
            if W[side + j].real != 0.0:
                right -= g * W[force + j]
                g *= 0.0
            W[P + m * i + j] = g
        W[P + m * i + n] = right
        if not sticks:
            for j in range(n):
                W[P + m * i + j] *= 0.0
            W[P + m * i + i] += 1.0
            W[P + m * i + n] = W[force + i]
    # symmetric and semidefinite: no pivoting, and what has no pivot has no force
    for k in range(n):
        whole = W[G + n * k + k].real if W[side + k].real == 0.0 else 1.0
        pivot = W[P + m * k + k]
        if pivot.real <= _SINGULAR * whole:
            for i in range(n):
                W[P + m * i + k] *= 0.0
            for j in range(m):
                W[P + m * k + j] *= 0.0
            continue
        for i in range(n):
            if i != k and W[P + m * i + k] != 0.0:
                ratio = W[P + m * i + k] / pivot
                for j in range(k, m):
                    W[P + m * i + j] -= ratio * W[P + m * k + j]
    for k in range(n):
        pivot = W[P + m * k + k]
        W[force + k] = W[P + m * k + n] / pivot if pivot.real != 0.0 else 0.0 * pivot


@kernel(forceinline=False)
def _change(I, n, W):
    """Release the joint that holds the most beyond its limit, or take one back; return whether there was one."""
    o, h = index(I[at.HELD_W]), index(I[at.N_HELD])
    free, force, side = o + at.HELD_FREE * h, o + at.HELD_FORCE * h, o + at.HELD_SIDE * h
    G, worst, most = o + at.HELD_G * h, -1, 1.0 + _BEYOND
    for i in range(n):
        size = abs(W[force + i].real)
        if W[side + i].real == 0.0 and size > most:
            worst, most = i, size
    if worst >= 0:
        W[side + worst] = 1.0 if W[force + worst].real > 0.0 else -1.0
        W[force + worst] = W[side + worst]
        return True
    for i in range(n):
        if W[side + i].real == 0.0:
            continue
        rate, size = W[free + i].real, abs(W[free + i].real)
        for j in range(n):
            part = (W[G + n * i + j] * W[force + j]).real
            rate, size = rate - part, size + abs(part)
        if rate * W[side + i].real < -_SINGULAR * size:
            W[side + i] = 0.0
            return True
    return False


def _make_stick(forward_dynamics, name):
    """(I, F, q, v, u, W): write the multipliers of (2) into u, with the loads that there are."""

    @kernel(forceinline=False, name=name)
    def stick(I, F, q, v, u, W):
        n = _gather(I, F, v, u, W)
        if n == 0:
            return 0
        o, h, nv = index(I[at.HELD_W]), index(I[at.N_HELD]), index(I[at.N_V])
        speed, slot, limit = o + at.HELD_SPEED * h, o + at.HELD_SLOT * h, o + at.HELD_LIMIT * h
        free, force, G = o + at.HELD_FREE * h, o + at.HELD_FORCE * h, o + at.HELD_G * h
        a = G + h * h + h * (h + 1) + h
        for j in range(n + 1):
            if j > 0:
                u[_number(W[slot + j - 1])] = W[limit + j - 1]
            status = forward_dynamics(I, F, q, v, u, W, W[a : a + nv])
            if j > 0:
                u[_number(W[slot + j - 1])] = 0.0
            if status != 0:
                return status
            for i in range(n):
                x = W[a + _number(W[speed + i])]
                if j == 0:
                    W[free + i] = x
                else:
                    W[G + n * i + j - 1] = W[free + i] - x
        # rows by their limits too, so that G is symmetric
        for i in range(n):
            W[free + i] *= W[limit + i]
            W[force + i] = 0.0
            for j in range(n):
                W[G + n * i + j] *= W[limit + i]
        for _ in range(4 * n + 4):
            _balance(I, n, W)
            if not _change(I, n, W):
                break
        for i in range(n):
            x = W[force + i]
            # a mechanism that cannot decide gets what its friction can give
            if x.real > 1.0:
                x = 0.0 * x + 1.0
            elif x.real < -1.0:
                x = 0.0 * x - 1.0
            u[_number(W[slot + i])] = x * W[limit + i]
        return 0

    return stick


def _make_hold(forward_dynamics, inverse_dynamics, stick, name):
    """(I, F, q, v, u, W): write the multipliers of (2) into u, with loads by (4).

    It returns as articulated.forward_dynamics, or NO_CONVERGENCE.
    """

    @kernel(forceinline=False, name=name)
    def hold(I, F, q, v, u, W):
        o, h, nv, n_u = index(I[at.HELD_W]), index(I[at.N_HELD]), index(I[at.N_V]), index(I[at.N_U])
        loads, loaded = o + at.HELD_G * h + h * h + h * (h + 1), False
        a = loads + h
        for e in range(h):
            # what is at rest is first held, and then by no more than its load allows
            W[loads + e] = 0.0 * v[0] + _ANY
        for i in range(I[at.N_JOINT_ELEMENTS]):
            loaded |= is_loaded(I, joint_element(I, i))
        last, largest = _ITERATIONS, 0.0
        for k in range(_ITERATIONS):
            status = stick(I, F, q, v, u, W)
            if status != 0 or not loaded:
                return status
            status = forward_dynamics(I, F, q, v, u, W, W[a : a + nv])
            if status != 0:
                return status
            for d in range(nv, n_u):
                W[a + nv + d] = u[d]
            for d in range(nv):
                W[a + nv + d] = W[a + d]
            inverse_dynamics(I, F, q, v, W[a + nv : a + nv + n_u], W, W[a : a + nv])
            change, size = _weigh(I, F, W)
            # derivatives converge as loads do, a little later
            largest = max(largest, size)
            if change <= _LOAD * largest:
                last = min(last, k + 3)
            if k >= last:
                return stick(I, F, q, v, u, W)
        return NO_CONVERGENCE

    return hold


# Trees without loops need not wait until those are compiled.
stick = _make_stick(articulated.forward_dynamics, "dry_friction.stick")
stick_loops = _make_stick(loops.forward_dynamics, "dry_friction.stick_loops")
hold = _make_hold(articulated.forward_dynamics, inverse.inverse_dynamics, stick, "dry_friction.hold")
hold_loops = _make_hold(loops.forward_dynamics, loops.inverse_dynamics, stick_loops, "dry_friction.hold_loops")
