"""An energy–momentum method on groups, for conservative mechanical systems: the kernel of one step.

With X = cay(hξ) and p = M(q) v,

    ξ = ½ (v₀ + v₁),    q₁ = q₀ X,    p₁ = AdT(X) (p₀ + ½h (s₀ + λd₀)) + ½h (s₁ + λd₁),                           (1)

with the slope at either end for the pair of speeds: s_i = 2 s(q_i, ξ) − ½ (s(q_i, v₀) + s(q_i, v₁)), in which the part
of s that is quadratic in speed, ½ vᵀ(∂M)v, becomes ½ v₀ᵀ(∂M)v₁.

Momentum.  For a symmetry with the spatial generator η, s_i · Ad(q_i)⁻¹η = 0, so that with λ = 0 (1) keeps
p · Ad(q)⁻¹η exactly: the slopes act where they belong.

Energy.  Since Ad(X) ξ = ξ, and with T₁ − T₀ = ξ · (p₁ − p₀) − ½ v₀ᵀ(M₁ − M₀)v₁, (1) does the work

    T₁ − T₀ = ½h ξ · (s₀ + s₁) − ½ v₀ᵀ(M₁ − M₀)v₁ + ½h λ ξ · (d₀ + d₁).                                           (2)

If M is constant and V linear in the group's matrix (a heavy top, a rigid body in uniform gravity), then
q₁ − q₀ = ½h (q₀ + q₁) hat(ξ) makes ½h ξ · (s₀ + s₁) exactly V₀ − V₁, and λ = 0.  Otherwise the trapezoidal rule in (2)
is off by terms of third order in hξ, and λ, of the size of h², makes E(q₁, v₁) = E(q₀, v₀): with r the residual of (1)
at λ = 0, by (2),

    λ = −(E₁ − E₀ + ξ · r) / (½h ξ · (d₀ + d₁)).                                                                  (3)

d_i = M(q_i)ξ; if the first factor is SE(3), a free base, and there are others, the base's speeds count as zero in it,
and its own entries are zero: the momentum of a free tree is kept, and ξ · d_i > 0 unless all joints rest.  Where they
do, the error of (2) is smaller still, and λ is let go to zero.  On SE(3) the iteration wants h|v| not larger than the
body, with v its speed in W.

Cayley's map and the mean speed of rigid bodies: [SW91]; a scalar for the energy alone is the idea of [G96].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from liegeo._jit import kernel
from liegeo.integrate.explicit import Operations
from liegeo.integrate.iteration import LIMIT, REMEMBERED, accelerate, lost_speed, settled
from liegeo.integrate.variational import move_by_cay
from liegeo.lie.product import FACTORS, KIND, VECTOR
from liegeo.status import NO_CONVERGENCE

Kernel = Callable[..., Any]

# Rows of K: `OTHER` is ξ without the base, then p₁; `PUSH` is what AdT(X) acts on; then those of `accelerate`.
XI, P_0, S_0, S_1, D_0, D_1, OTHER, PUSH, RESIDUAL, STEPS = range(10)
ROWS = STEPS + REMEMBERED

_FREE = [name for name, _ in FACTORS].index("SE3Q")


def pair_slope(slope: Kernel, compiled: bool) -> Kernel:
    """(I, F, t, q, v_0, xi, v_1, W, part, out): s_i of (1), with `part` as scratch."""

    def pair(I, F, t, q, v_0, xi, v_1, W, part, out):
        for d in range(out.shape[0]):
            out[d] = 0.0
        for k in range(3):
            status = slope(I, F, t, q, v_0 if k == 0 else (v_1 if k == 1 else xi), W, part)
            if status != 0:
                return status
            for d in range(out.shape[0]):
                out[d] += (2.0 if k == 2 else -0.5) * part[d]
        return 0

    return kernel(pair, name="integrate.pair_slope", forceinline=False) if compiled else pair


def energy_momentum(group: Operations, system: Any, compiled: bool) -> Kernel:
    """(1) and (3) as a step, by iteration for ξ; K has ROWS rows."""
    momentum, energy, factorise, substitute = system.momentum, system.energy, system.factorise, system.substitute
    move, AdT, pair = move_by_cay(group, compiled), group.AdT_apply, pair_slope(system.slope, compiled)

    def step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        nv = K.shape[1] // 2
        nq = y.shape[0] - nv
        half = W.shape[0] // 2
        W, B = W[:half], W[half:]
        # the last row of the layout is that of the speeds
        rows = layout[: layout.shape[0] - 1]
        base = layout[0, VECTOR + 1] if rows.shape[0] > 1 and layout[0, KIND] == _FREE else 0
        q, v, X, q_1, v_1 = y[:nq], y[nq:], Y[:nq], out[:nq], out[nq:]
        xi, p_0, s_0, s_1, turn = K[XI, :nv], K[P_0, :nv], K[S_0, :nv], K[S_1, :nv], u[0, :nv]
        d_0, d_1, other, push, residual = K[D_0, :nv], K[D_1, :nv], K[OTHER, :nv], K[PUSH, :nv], K[RESIDUAL, :nv]
        status = momentum(I, F, q, v, W, p_0)
        if status != 0:
            return status
        energy_0 = energy(I, F, t, q, v, W)
        for d in range(nv):
            xi[d] = v[d]
        # damping helps the iteration only while M + αD is sure to be positive
        alpha = 0.5 * h if h > 0.0 else 0.0
        lost, before, found, known = lost_speed(y, nq, h), 0.0, False, 0
        # −∂r/∂ξ is 2 (M + ½hD + ¼h²K) up to terms that are smaller by hξ
        status = factorise(I, F, q, alpha, 0.25 * h * h, B)
        if status != 0:
            return status
        for k in range(LIMIT + 1):
            for d in range(nv):
                turn[d] = h * xi[d]
                v_1[d] = 2.0 * xi[d] - v[d]
            move(rows, q, turn, X, q_1)
            if found:
                return 0
            status = pair(I, F, t, q, v, xi, v_1, W, push, s_0)
            if status == 0:
                status = pair(I, F, t + h, q_1, v, xi, v_1, W, push, s_1)
            if status != 0:
                return status
            for d in range(nv):
                other[d] = 0.0 if d < base else xi[d]
            status = momentum(I, F, q, other, W, d_0)
            if status == 0:
                status = momentum(I, F, q_1, other, W, d_1)
            if status == 0:
                status = momentum(I, F, q_1, v_1, W, other)
            if status != 0:
                return status

            # the residual at λ = 0, then hλ by (3)
            for d in range(nv):
                push[d] = p_0[d] + 0.5 * h * s_0[d]
            AdT(rows, X, push, residual)
            energy_1 = energy(I, F, t + h, q_1, v_1, W)
            defect, power, whole, inner = energy_1 - energy_0, 0.0, 0.0, 0.0
            for d in range(nv):
                residual[d] += 0.5 * h * s_1[d] - other[d]
                defect += xi[d] * residual[d]
                whole += 0.5 * abs(xi[d] * (p_0[d] + other[d]))
                if d < base:
                    d_0[d] = d_1[d] = 0.0
                else:
                    power += 0.5 * xi[d] * (d_0[d] + d_1[d])
                    inner = max(inner, abs(xi[d]))
            # 1/power, but for joints so slow that they miss no energy that can be seen
            kappa = 1e-10 * whole
            gain = power / (power * power + kappa * kappa) if power > 1e-150 else 0.0
            scale = min(1.0, max(-1.0, -defect * gain))
            AdT(rows, X, d_0, push)
            for d in range(nv):
                residual[d] += 0.5 * scale * (push[d] + d_1[d])

            substitute(I, F, residual, B, push)
            known = accelerate(known, K[STEPS:ROWS], push, residual)
            change, size = 0.0, 0.0
            for d in range(nv):
                xi[d] += 0.5 * push[d]
                change, size = max(change, abs(0.5 * push[d])), max(size, abs(xi[d]))
            # round-off of the energies is all that (3) can see
            noise = 1e-15 * (abs(energy_0) + whole) * inner * gain
            found = settled(k, change, before, size, lost + noise)
            before = change
        return NO_CONVERGENCE

    return kernel(step, name="integrate.energy_momentum") if compiled else step
