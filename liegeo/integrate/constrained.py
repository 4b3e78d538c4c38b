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

S lacks what D and K lack: forces between frames, friction, the geometry, Jᵀλ.  Where corrections shrink too slowly
with an S from where they are, the true derivative S + E takes its place, E x = (derivative along x, stiff.py (9)) − Sx.
With C(r) the dx of (2) or (3), and C₀(r) that with zero right-hand sides for J dx,

    dx = C(−r − E dx),   hence   (I + C₀E) dx = C(−r),                                                              (4)

a dense matrix of n columns, each one derivative and one call of `correct`; dλ comes with C(−r − E dx).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from liegeo._jit import kernel
from liegeo.integrate import stiff
from liegeo.integrate.explicit import Operations, projected
from liegeo.status import NO_CONVERGENCE

Kernel = Callable[..., Any]

# Corrections in all; the matrix is that of the first guess, until it is too slow.
_ITERATIONS = 40
# Corrections by the true derivative that grow by more than this lead away.
_WORSE = 2.0
# Corrections of Δ and h v after all those that are good enough.
_NEARLY = 1e-6


def _newton(stabilised: bool, group: Operations, dynamics: Any, compiled: bool) -> Kernel:
    """What stiff._newton makes, for (2) or (3): solves for x from a first guess in its row, out is the new state."""
    retract, dexp = group.retract, group.dexp_right_apply
    residual, factorise = dynamics.residual, dynamics.factorise
    correct, release = dynamics.correct, dynamics.release
    along, momentum, resistance = dynamics.along, dynamics.momentum, dynamics.resistance

    def place(layout, cv, cq, y, K, u, out):
        """The state that belongs to x."""
        nv = K.shape[1] // 2
        nq = y.shape[0] - nv
        x, base, _, _ = stiff.scratch_rows(nv)
        for k in range(nv):
            u[0, k] = K[base, k] + cq * K[x, k]
            u[0, nv + k] = K[x, nv + k] + cv * K[x, k] - y[nq + k]
        retract(layout, y, u[0], out)

    if compiled:
        place = kernel(place, name="integrate.place_closed", forceinline=False)

    def remainder(layout, I, F, t, cv, cq, y, A, K, u, out):
        """E times the vector in u[1, :nv], into the first half of a row; a status."""
        nv = K.shape[1] // 2
        nq = y.shape[0] - nv
        x, _, _, extra = stiff.scratch_rows(nv)
        q, v, row = out[:nq], out[nq:], K[x + 4]
        for k in range(nv):
            u[1, nv + k] = cv * u[1, k]
        dexp(layout, u[0], u[1], K[extra])
        for k in range(nv):
            K[extra, k] *= cq
        status = along(I, F, t, q, v, K[x, :nv], K[extra, :nv], K[extra, nv:], u[1, :nv], A, row[:nv])
        if status != 0:
            return status
        momentum(I, F, q, u[1, :nv], A, row[nv:])
        resistance(I, F, cv, cq, u[1, :nv], K[extra, :nv])
        for k in range(nv):
            row[k] -= row[nv + k] + K[extra, k]
        return 0

    if compiled:
        remainder = kernel(remainder, name="integrate.remainder", forceinline=False)

    def couple(layout, I, F, t, cv, cq, y, A, B, K, u, out):
        """I + C₀E of (4) at x, factorised; a status."""
        nv = K.shape[1] // 2
        x, _, _, extra = stiff.scratch_rows(nv)
        M = K[stiff.MATRIX :].reshape((K.shape[0] - stiff.MATRIX) * K.shape[1])
        for j in range(nv):
            for k in range(nv):
                u[1, k] = 0.0
            u[1, j] = 1.0
            status = remainder(layout, I, F, t, cv, cq, y, A, K, u, out)
            if status != 0:
                return status
            correct(I, F, K[x + 4, :nv], 0.0, 0.0, 0.0, 0.0, A, B, K[extra, nv:])
            for i in range(nv):
                M[nv * i + j] = K[extra, nv + i] + (1.0 if i == j else 0.0)
        return 0 if stiff.factorise_dense(M, nv) else NO_CONVERGENCE

    if compiled:
        couple = kernel(couple, name="integrate.couple", forceinline=False)

    def solve(layout, I, F, t, h, cv, cq, two_step, tolerance, y, W, K, u, out):
        nv = K.shape[1] // 2
        nq, half = y.shape[0] - nv, W.shape[0] // 2
        A, B = W[:half], W[half:]
        x, base, r, _ = stiff.scratch_rows(nv)
        M = K[stiff.MATRIX :].reshape((K.shape[0] - stiff.MATRIX) * K.shape[1])
        # what J dx is made of φ, of φ̇, and of φ̇ where there is no φ
        a, b, c = (0.0, -1.0 / cv, -1.0 / cv) if stabilised else (-1.0 / cq, 0.0, -1.0 / cv)
        release(I, A)
        ready, before, since, exact, fresh = False, 0.0, 0, False, False
        for k in range(nv):
            K[base, nv + k] = K[base, k]
        for _ in range(_ITERATIONS):
            place(layout, cv, cq, y, K, u, out)
            status = residual(I, F, t, out[:nq], out[nq:], K[x, :nv], A, K[r, :nv])
            if status == 0 and not ready:
                status = factorise(I, F, out[:nq], cv, cq, B)
                if status == 0 and exact:
                    status = couple(layout, I, F, t, cv, cq, y, A, B, K, u, out)
                ready, since = True, 0
            if status != 0:
                return status
            for k in range(nv):
                K[r, k] *= -1.0
            if exact:
                correct(I, F, K[r, :nv], a, b, c, 0.0, A, B, K[r, nv:])
                stiff.substitute_dense(M, nv, K[r, nv:], u[1, :nv])
                status = remainder(layout, I, F, t, cv, cq, y, A, K, u, out)
                if status != 0:
                    return status
                for k in range(nv):
                    K[r, k] -= K[x + 4, k]
            correct(I, F, K[r, :nv], a, b, c, 1.0, A, B, K[r, nv:])
            for k in range(nv):
                u[1, k] = u[1, nv + k] = 0.0
            if stabilised:
                # −φ − c_q J dx, with J dx = −φ̇/c_v; what has no φ has no say in positions
                correct(I, F, u[1, nv:], -1.0, cq / cv, 0.0, 0.0, A, B, u[1, :nv])
            size = 0.0
            for k in range(nv):
                K[x, k] += K[r, nv + k]
                K[base, k] += u[1, k]
                size = max(size, abs(cq * K[r, nv + k] + u[1, k]), abs(h * cv * K[r, nv + k]))
            if not size < 1e100:
                return NO_CONVERGENCE
            verdict, rate = stiff.judge(size, before, since, tolerance, 1.0)
            before, since = size, since + 1
            if verdict == stiff.DONE:
                place(layout, cv, cq, y, K, u, out)
                return 0
            if verdict == stiff.TOO_SLOW:
                # the matrix from here; if one from nearby was no good the true one, from where Δ = 0 (stiff.py)
                if exact and rate > _WORSE:
                    return NO_CONVERGENCE
                if fresh and not exact:
                    release(I, A)
                    for k in range(nv):
                        K[base, k] = K[base, nv + k]
                        K[x, k] = -K[base, k] / cq
                ready, exact, fresh = False, exact or fresh, True
        # next to a singular position corrections are round-off times a large number, and the projection cleans up
        if before <= _NEARLY:
            place(layout, cv, cq, y, K, u, out)
            return 0
        return NO_CONVERGENCE

    return kernel(solve, name="integrate.newton_closed", forceinline=False) if compiled else solve


def generalised_alpha(group: Operations, dynamics: Any, compiled: bool) -> Kernel:
    """stiff.generalised_alpha by (3)."""
    step = stiff.whole_alpha(group, dynamics, compiled, functools.partial(_newton, True))
    return stiff.in_parts(projected(step, group, dynamics, compiled), stiff.keep_memory, compiled)


def index_3(group: Operations, dynamics: Any, compiled: bool) -> Kernel:
    """stiff.generalised_alpha by (2)."""
    step = stiff.whole_alpha(group, dynamics, compiled, functools.partial(_newton, False))
    return stiff.in_parts(step, stiff.keep_memory, compiled)


def adaptive_alpha(group: Operations, dynamics: Any, compiled: bool) -> Kernel:
    """stiff.adaptive_alpha by (3)."""
    step = stiff.adaptive_alpha(group, dynamics, compiled, functools.partial(_newton, True))
    return projected(step, group, dynamics, compiled)
