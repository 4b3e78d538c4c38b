"""Generalised-α for mechanical systems with constraints φ(t, q) = 0 (or φ̇ = J v + … = 0, if not integrable).

    M(q) v̇ = f(t, q, v) + Jᵀλ,        J v = the rate of φ at fixed time.                                            (1)

Unknowns of a step are x = v̇₁ and λ₁, in the notation of stiff.py (1): v₁ = … + c_v x, Δ = … + c_q x.  With
S = M + c_v D + c_q K and the residual r = M v̇ − f − Jᵀλ, a correction of Newton's method is

    S dx = −r + Jᵀ dλ,      J dx = −φ/c_q (if there is a φ; −φ̇/c_v)                     index 3 [BCA12]              (2)
    S dx = −r + Jᵀ dλ,      J dx = −φ̇/c_v                                              index 2, stabilised:         (3)
    S dΔ = Jᵀ dη,           J dΔ = −φ − c_q J dx,    Δ = … + c_q x + dΔ.

(2) leaves speeds off the constraints by O(h²).  In (3) [GGL85] a second set of multipliers
η moves positions onto theirs, so that both levels hold at the end of the step.  Saddle points are solved by the system
(`correct`): for trees in O(N) a row.

S has the tangents of friction too (l of newton.py), and lacks forces between frames, the geometry, Jᵀλ.  Where
corrections shrink too slowly with an S from where they are, the true derivative S + E takes its place, with
E x = (derivative along x, newton.py (9)) − S x.  With C(r) the dx of (2) or (3), and C₀(r) that with zero right-hand
sides for J dx,

    dx = C(−r − E dx),   hence   (I + C₀E) dx = C(−r),                                                              (4)

a dense matrix of n columns, each one derivative and one call of `correct`; dλ comes with C(−r − E dx).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from liegeo._jit import kernel
from liegeo._memory import flat
from liegeo.integrate import sticking, stiff
from liegeo.integrate.explicit import Operations, projected
from liegeo.integrate.newton import (
    BASE,
    BEGIN,
    CHANGED,
    DENSE_FACTORISATIONS,
    DONE,
    EPSILON,
    EXTRA,
    FACTORISATIONS,
    GRIP,
    HELD,
    ITERATIONS,
    LOCAL,
    MATRIX,
    RECORD,
    RESIDUAL,
    ROUND_OFF,
    SEEN,
    SLACK,
    TOO_SLOW,
    X,
    factorise_dense,
    held,
    judge,
    magnitude,
    make_place,
    make_review,
    motion,
    scratch,
    split,
    substitute_dense,
    tally,
    weighed,
)
from liegeo.status import NO_CONVERGENCE

Kernel = Callable[..., Any]

# Corrections in all; the matrix is that of the first guess, until it is too slow.
_ITERATIONS = 40
# Corrections by the true derivative that grow by more than this lead away.
_WORSE = 2.0
# Corrections of Δ and h v, as shares of the sizes of coordinates, that after all those are good enough.
_NEARLY = 1e-6


def _remainder(group: Operations, dynamics: Any, compiled: bool) -> Kernel:
    """Return what multiplies E of (4) by the vector in u[1, :nv], into the first half of row BEGIN; a status."""
    dexp, along, momentum, resistance = group.dexp_right_apply, dynamics.along, dynamics.momentum, dynamics.resistance

    def remainder(layout, I, F, t, cv, cq, y, A, K, u, out):
        nq, nv = split(K, y)
        s = scratch(nv)
        q, v, row, extra = out[:nq], out[nq:], K[s + BEGIN], K[s + EXTRA]
        for k in range(nv):
            u[1, nv + k] = cv * u[1, k]
        dexp(layout, u[0], u[1], extra)
        for k in range(nv):
            extra[k] *= cq
        status = along(I, F, t, q, v, K[s + X, :nv], extra[:nv], extra[nv:], u[1, :nv], A, row[:nv])
        if status != 0:
            return status
        momentum(I, F, q, u[1, :nv], A, row[nv:])
        resistance(I, F, cv, cq, u[1, :nv], extra[:nv])
        for k in range(nv):
            row[k] -= row[nv + k] + extra[k] + K[s + LOCAL, k] * u[1, k]
        return 0

    return kernel(remainder, name="integrate.remainder", forceinline=False) if compiled else remainder


def _couple(remainder: Kernel, dynamics: Any, compiled: bool) -> Kernel:
    """Return what forms I + C₀E of (4) at x and factorises it; a status."""
    correct = dynamics.correct

    def couple(layout, I, F, t, cv, cq, y, A, B, K, u, out):
        _, nv = split(K, y)
        s = scratch(nv)
        tally(K, s + RECORD, DENSE_FACTORISATIONS)
        M = flat(K[MATRIX:])
        for j in range(nv):
            for k in range(nv):
                u[1, k] = 0.0
            u[1, j] = 1.0
            status = remainder(layout, I, F, t, cv, cq, y, A, K, u, out)
            if status != 0:
                return status
            correct(I, F, K[s + BEGIN, :nv], 0.0, 0.0, 0.0, 0.0, A, B, K[s + EXTRA, nv:])
            for i in range(nv):
                M[nv * i + j] = K[s + EXTRA, nv + i] + (1.0 if i == j else 0.0)
        return 0 if factorise_dense(M, nv) else NO_CONVERGENCE

    return kernel(couple, name="integrate.couple", forceinline=False) if compiled else couple


def _correction(stabilised: bool, remainder: Kernel, dynamics: Any, compiled: bool) -> Kernel:
    """Return what corrects x, multipliers and, by (3), the base of Δ, from the residual in its row.

    It returns a status and the size of the correction in Δ and h v, weighed as in newton.py (12).
    """
    correct = dynamics.correct

    def correction(exact, layout, I, F, t, h, cv, cq, inverse, y, A, B, K, u, out):
        _, nv = split(K, y)
        s = scratch(nv)
        tally(K, s + RECORD, ITERATIONS)
        r, dx = K[s + RESIDUAL, :nv], K[s + RESIDUAL, nv:]
        # what J dx is made of φ, of φ̇, and of φ̇ where there is no φ
        a, b, c = (0.0, -1.0 / cv, -1.0 / cv) if stabilised else (-1.0 / cq, 0.0, -1.0 / cv)
        for k in range(nv):
            r[k] *= -1.0
        if exact:
            correct(I, F, r, a, b, c, 0.0, A, B, dx)
            substitute_dense(flat(K[MATRIX:]), nv, dx, u[1, :nv])
            status = remainder(layout, I, F, t, cv, cq, y, A, K, u, out)
            if status != 0:
                return status, 0.0
            for k in range(nv):
                r[k] -= K[s + BEGIN, k]
        correct(I, F, r, a, b, c, 1.0, A, B, dx)
        for k in range(nv):
            u[1, k] = u[1, nv + k] = 0.0
        if stabilised:
            # −φ − c_q J dx, with J dx = −φ̇/c_v; what has no φ has no say in positions
            correct(I, F, u[1, nv:], -1.0, cq / cv, 0.0, 0.0, A, B, u[1, :nv])
        for k in range(nv):
            K[s + X, k] += dx[k]
            K[s + BASE, k] += u[1, k]
            u[1, k] += cq * dx[k]
        return 0, max(weighed(u[1, :nv], inverse), abs(h * cv) * weighed(dx, inverse))

    return kernel(correction, name="integrate.correction", forceinline=False) if compiled else correction


@kernel
def anew(K, s, nv):
    """Put the base of Δ back where it was: another set of speeds sticks."""
    for k in range(nv):
        K[s + BASE, k] = K[s + BASE, nv + k]


def _newton(stabilised: bool, group: Operations, dynamics: Any, compiled: bool) -> Kernel:
    """Return what newton.Newton.make does, for (2) or (3)."""
    residual, factorise_next, local, release = (
        *(dynamics.residual, dynamics.factorise_next),
        *(dynamics.local_tangents, dynamics.release),
    )
    place, remainder = make_place(group, compiled), _remainder(group, dynamics, compiled)
    couple, correction = (
        _couple(remainder, dynamics, compiled),
        _correction(stabilised, remainder, dynamics, compiled),
    )
    review, grips = make_review(place, dynamics, compiled), dynamics.grips
    slow, patience = stiff.NEWTON.slow, stiff.NEWTON.patience

    def solve(layout, I, F, t, h, cv, cq, two_step, tolerance, absolute, inverse, y, W, K, u, out):
        nq, nv = split(K, y)
        s, half = scratch(nv), W.shape[0] // 2
        A, B = W[:half], W[half:]
        least = absolute + 10.0 * EPSILON * magnitude(layout, y, inverse)
        release(I, A)
        n = grips(I, F, A, 0.0, K[s + GRIP, nv:])
        K[s + RECORD + HELD, 1] = n
        sticking.begin(n, y[nq:], h, inverse, True, K[s + GRIP], K[s + SEEN], K[s + SLACK])
        ready, before, since, exact, fresh = False, 0.0, 0, False, False
        for k in range(nv):
            K[s + BASE, nv + k] = K[s + BASE, k]
        for _ in range(_ITERATIONS):
            place(layout, h, cv, cq, two_step, y, K, u, out)
            status = residual(I, F, t, out[:nq], out[nq:], K[s + X, :nv], A, K[s + RESIDUAL, :nv])
            if n > 0:
                sticking.strike_out(K[s + GRIP], K[s + RESIDUAL, :nv], K[s + SEEN])
            if status == 0 and not ready:
                tally(K, s + RECORD, FACTORISATIONS)
                local(I, F, out[:nq], out[nq:], cv, cq, 0.0, K[s + LOCAL, :nv])
                if n > 0:
                    sticking.hold(K[s + GRIP], K[s + LOCAL, :nv])
                status = factorise_next(I, F, out[:nq], cv, cq, K[s + LOCAL, :nv], B)
                if status == 0 and exact:
                    status = couple(layout, I, F, t, cv, cq, y, A, B, K, u, out)
                ready, since = True, 0
            if status != 0:
                return status
            bound = tolerance * motion(h, y[nq:], u[0], inverse) + least
            status, size = correction(exact, layout, I, F, t, h, cv, cq, inverse, y, A, B, K, u, out)
            if status != 0:
                return status
            if not size < 1e100:
                return NO_CONVERGENCE
            verdict, rate = judge(size, before, since, bound, 1.0, 0.0, 0.0 if exact else ROUND_OFF, slow, patience)
            before, since = size, since + 1
            if (
                n > 0
                and verdict != DONE
                and sticking.turned(cv, K[s + GRIP], K[s + SEEN], K[s + SLACK], K[s + X, nv:], K[s + X, :nv])
            ):
                ready = False
                anew(K, s, nv)
                continue
            if verdict == DONE:
                place(layout, h, cv, cq, two_step, y, K, u, out)
                if n > 0:
                    status = review(layout, I, F, t, h, cv, cq, two_step, y, A, K, u, out)
                    if status != 0:
                        return status
                    if K[s + RECORD + CHANGED, 1] > 0.0:
                        ready = False
                        anew(K, s, nv)
                        continue
                return 0
            if verdict == TOO_SLOW:
                # the matrix from here; if one from nearby was no good the true one, from where Δ = 0 (newton.py)
                if exact and rate > _WORSE:
                    return NO_CONVERGENCE
                if fresh and not exact:
                    release(I, A)
                    for k in range(nv):
                        K[s + BASE, k] = K[s + BASE, nv + k]
                        K[s + X, k] = -K[s + BASE, k] / cq
                ready, exact, fresh = False, exact or fresh, True
        # next to a singular position corrections are round-off times a large number, and the projection cleans up
        if before <= _NEARLY:
            place(layout, h, cv, cq, two_step, y, K, u, out)
            return 0
        return NO_CONVERGENCE

    return kernel(solve, name="integrate.newton_closed", forceinline=False) if compiled else solve


def generalised_alpha(group: Operations, dynamics: Any, compiled: bool) -> Kernel:
    """stiff.generalised_alpha by (3)."""
    step = stiff.whole_alpha(group, dynamics, compiled, functools.partial(_newton, True))
    return stiff.in_parts(_at_rest(projected(step, group, dynamics, compiled), compiled), stiff.keep_memory, compiled)


def _at_rest(step: Kernel, compiled: bool, before: int = 0) -> Kernel:
    """Return a step that leaves what sticks exactly at rest, whatever a projection made of that.

    `before` is how many rows of K stand before those of Newton's method.
    """

    def still(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        status = step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out)
        nq, nv = split(K, y)
        s = before + scratch(nv)
        if status == 0 and held(K, s):
            sticking.come_to_rest(K[s + GRIP], K[s + SLACK], out[nq:])
        return status

    return kernel(still, name="integrate.still") if compiled else still


def index_3(group: Operations, dynamics: Any, compiled: bool) -> Kernel:
    """stiff.generalised_alpha by (2)."""
    step = stiff.whole_alpha(group, dynamics, compiled, functools.partial(_newton, False))
    return stiff.in_parts(step, stiff.keep_memory, compiled)


def adaptive_alpha(group: Operations, dynamics: Any, compiled: bool) -> Kernel:
    """stiff.adaptive_alpha by (3)."""
    step = stiff.adaptive_alpha(group, dynamics, compiled, functools.partial(_newton, True))
    return _at_rest(projected(step, group, dynamics, compiled), compiled, stiff.ADAPTIVE_MEMORY)
