"""Variational integrators on groups, for mechanical systems: kernels for one step.

The discrete Lagrangian, with τ = exp or the Cayley map [BM09, MW01]:

    L_d(q₀, q₁) = ½h (L(q₀, ξ) + L(q₁, ξ)),        q₁ = q₀ τ(hξ).                                                 (1)

With variations δq = q σ,  h δξ = dτ_right(hξ)⁻¹ σ₁ − dτ_left(hξ)⁻¹ σ₀.  With P = ½ (M(q₀) + M(q₁)) ξ and the slope
s = ∂L/∂q + forces at fixed ξ (the discrete Lagrange–d'Alembert principle), −∂L_d/∂q₀ and ∂L_d/∂q₁ are

    p₀ = dτ_left(hξ)⁻ᵀ P − ½h s(t, q₀, ξ),                                                                        (2)
    p₁ = dτ_right(hξ)⁻ᵀ P + ½h s(t + h, q₁, ξ),        p = M(q) v.                                                (3)

(2) is solved for ξ, (3) gives v₁.  Without forces the step is symplectic and keeps the momentum of every symmetry of
L, exactly; it is symmetric, of order two, and explicit in the potential: like Verlet's, stable for hω < 2.  On SE(3)
the iteration for (2) wants h|v| not much larger than the body, with v its speed in W.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from liegeo._jit import kernel
from liegeo.integrate.explicit import Operations
from liegeo.integrate.iteration import LIMIT, REMEMBERED, accelerate, lost_speed, settled
from liegeo.lie.group import collect
from liegeo.lie.product import FACTORS, KIND, VECTOR
from liegeo.status import NO_CONVERGENCE

Kernel = Callable[..., Any]

# Rows of K: ξ, p₀, P, s, the residual of (2); then six for the matrices of the factors; then those of `accelerate`.
XI, P_0, P_MEAN, SLOPE, RESIDUAL, BLOCK, STEPS = 0, 1, 2, 3, 4, 5, 11
ROWS = STEPS + REMEMBERED


def transposed(operation: str) -> Kernel:
    """(layout, V, F, block, out): out = D(V)ᵀ F, with a differential D of a product, factor by factor.

    The matrix of a factor goes into its own columns of `block`, which has six rows; ℝⁿ, of any size, needs none.
    """
    _, k1, k2, k3, k4 = (collect(*sources)[operation] for _, sources in FACTORS)

    @kernel(name=f"integrate.{operation}_transposed", forceinline=False)
    def apply(layout, V, F, block, out):
        for row in range(layout.shape[0]):
            kind, a, b = layout[row, KIND], layout[row, VECTOR], layout[row, VECTOR + 1]
            if kind == 0:
                for j in range(a, b):
                    out[j] = F[j]
                continue
            if kind == 1:
                k1(V[a:b], block[:, a:b])
            elif kind == 2:
                k2(V[a:b], block[:, a:b])
            elif kind == 3:
                k3(V[a:b], block[:, a:b])
            else:
                k4(V[a:b], block[:, a:b])
            for j in range(a, b):
                out[j] = 0.0
                for i in range(b - a):
                    out[j] += block[i, j] * F[a + i]

    return apply


def move_by_exp(group: Operations, compiled: bool) -> Kernel:
    """(layout, q, u, X, out): out = q exp(u)."""
    retract = group.retract

    def move(layout, q, u, X, out):
        retract(layout, q, u, out)

    return kernel(move, name="integrate.move_by_exp") if compiled else move


def move_by_cay(group: Operations, compiled: bool) -> Kernel:
    """(layout, q, u, X, out): X = cay(u), out = q X."""
    cay, compose = group.cay, group.compose

    def move(layout, q, u, X, out):
        cay(layout, u, X)
        compose(layout, q, X, out)

    return kernel(move, name="integrate.move_by_cay") if compiled else move


_dexpinv_left_T, _dexpinv_right_T = transposed("dexpinv_left"), transposed("dexpinv_right")
_dcayinv_left_T, _dcayinv_right_T = transposed("dcayinv_left"), transposed("dcayinv_right")


def variational_exp(group: Operations, system: Any, compiled: bool) -> Kernel:
    """(2) and (3) with τ = exp, as a step; K has ROWS rows."""
    return _variational(move_by_exp(group, compiled), _dexpinv_left_T, _dexpinv_right_T, system, compiled)


def variational_cayley(group: Operations, system: Any, compiled: bool) -> Kernel:
    """(2) and (3) with τ = cay, as a step; K has ROWS rows."""
    return _variational(move_by_cay(group, compiled), _dcayinv_left_T, _dcayinv_right_T, system, compiled)


def _variational(move: Kernel, left_T: Kernel, right_T: Kernel, system: Any, compiled: bool) -> Kernel:
    momentum, slope, factorise, substitute = system.momentum, system.slope, system.factorise, system.substitute

    def step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        nv = K.shape[1] // 2
        nq = y.shape[0] - nv
        half = W.shape[0] // 2
        W, B = W[:half], W[half:]
        # the last row of the layout is that of the speeds
        rows = layout[: layout.shape[0] - 1]
        q, q_1, xi, turn = y[:nq], out[:nq], K[XI, :nv], u[0, :nv]
        p_0, mean, s, residual, block = (
            K[P_0, :nv],
            K[P_MEAN, :nv],
            K[SLOPE, :nv],
            K[RESIDUAL, :nv],
            K[BLOCK:STEPS, :nv],
        )
        status = momentum(I, F, q, y[nq:], W, p_0)
        if status != 0:
            return status
        for d in range(nv):
            xi[d] = y[nq + d]
        # damping helps the iteration only while M + αD is sure to be positive
        alpha = 0.5 * h if h > 0.0 else 0.0
        floor, before, found, known = lost_speed(y, nq, h), 0.0, False, 0
        # the derivative of (2) is M(q₀) up to terms that are smaller by hξ
        status = factorise(I, F, q, alpha, 0.0, B)
        if status != 0:
            return status
        for k in range(LIMIT + 1):
            for d in range(nv):
                turn[d] = h * xi[d]
            move(rows, q, turn, Y[:nq], q_1)
            status = momentum(I, F, q, xi, W, mean)
            if status == 0:
                status = momentum(I, F, q_1, xi, W, residual)
            if status != 0:
                return status
            for d in range(nv):
                mean[d] = 0.5 * (mean[d] + residual[d])
            if found:
                break
            left_T(rows, turn, mean, block, residual)
            status = slope(I, F, t, q, xi, W, s)
            if status != 0:
                return status
            for d in range(nv):
                residual[d] = p_0[d] + 0.5 * h * s[d] - residual[d]
            substitute(I, F, residual, B, s)
            known = accelerate(known, K[STEPS:ROWS], s, residual)
            change, size = 0.0, 0.0
            for d in range(nv):
                xi[d] += s[d]
                change, size = max(change, abs(s[d])), max(size, abs(xi[d]))
            found = settled(k, change, before, size, floor)
            before = change
        if not found:
            return NO_CONVERGENCE
        right_T(rows, turn, mean, block, residual)
        status = slope(I, F, t + h, q_1, xi, W, s)
        if status != 0:
            return status
        for d in range(nv):
            residual[d] += 0.5 * h * s[d]
        status = factorise(I, F, q_1, 0.0, 0.0, W)
        if status == 0:
            status = substitute(I, F, residual, W, out[nq:])
        return status

    return kernel(step, name="integrate.variational") if compiled else step
