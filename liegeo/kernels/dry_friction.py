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
"""

from __future__ import annotations

from liegeo._jit import index, kernel
from liegeo.kernels import articulated, loops
from liegeo.kernels import layout as at
from liegeo.kernels.joint_elements import held_by, is_exact, joint_element

# What is beyond a limit, as a share of it, and pivots that are zero, as a share of what they were.
_BEYOND, _SINGULAR = 1e-12, 1e-10


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
def grips(I, F, out):
    """Write for each speed the largest force with which exact friction holds it, −1 if there is none; return how many.

    Speeds that are locked have none.
    """
    n = 0
    for k in range(out.shape[0]):
        out[k] = -1.0
    for i in range(I[at.N_JOINT_ELEMENTS]):
        r = joint_element(I, i)
        if is_exact(I, F, r):
            k, _, limit = held_by(I, F, r)
            if _moves(I, k):
                out[k] = limit
                n += 1
    return n


@kernel(forceinline=False)
def sides(I, F, v):
    """Return a number that changes where a joint with exact friction begins or ceases to stick."""
    seen = 0
    for i in range(I[at.N_JOINT_ELEMENTS]):
        r = joint_element(I, i)
        if is_exact(I, F, r):
            k, _, _ = held_by(I, F, r)
            x = v[k]
            seen = 3 * seen + int(x > 0.0) - int(x < 0.0)
    return seen


@kernel
def _gather(I, F, v, u, W):
    """List the elements whose joint is at rest in HELD_SPEED, HELD_SLOT, HELD_LIMIT; return how many there are."""
    o, h, n = index(I[at.HELD_W]), index(I[at.N_HELD]), 0
    for i in range(I[at.N_JOINT_ELEMENTS]):
        r = joint_element(I, i)
        if not is_exact(I, F, r):
            continue
        k, slot, limit = held_by(I, F, r)
        u[slot] = 0.0
        if v[k].real == 0.0 and limit > 0.0 and _moves(I, k):
            W[o + at.HELD_SPEED * h + n], W[o + at.HELD_SLOT * h + n] = k, slot
            W[o + at.HELD_LIMIT * h + n], W[o + at.HELD_SIDE * h + n] = limit, 0.0
            n += 1
    return n


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


def _make_hold(forward_dynamics, name):
    """(I, F, q, v, u, W): write the multipliers of (2) into u; returns as articulated.forward_dynamics."""

    @kernel(forceinline=False, name=name)
    def hold(I, F, q, v, u, W):
        n = _gather(I, F, v, u, W)
        if n == 0:
            return 0
        o, h, nv = index(I[at.HELD_W]), index(I[at.N_HELD]), index(I[at.N_V])
        speed, slot, limit = o + at.HELD_SPEED * h, o + at.HELD_SLOT * h, o + at.HELD_LIMIT * h
        free, force, G = o + at.HELD_FREE * h, o + at.HELD_FORCE * h, o + at.HELD_G * h
        a = G + h * h + h * (h + 1)
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

    return hold


# Trees without loops need not wait until those are compiled.
hold = _make_hold(articulated.forward_dynamics, "dry_friction.hold")
hold_loops = _make_hold(loops.forward_dynamics, "dry_friction.hold_loops")
