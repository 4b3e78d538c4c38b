"""Inverse dynamics, O(N): [JR90, (4.2)], [SY16, (12)–(17)] on trees.

Base to tip A from (3) of kinematics.py; tip to base, at each body with the forces of its children added,

    f_r = M_rr A + M_rf η̈ + b_r,      f_f = M_rfᵀ A + M_e η̈ + b_f,                                (1)
    τ = Sᵀ f_r + armature v̇ + what spring, damper and friction oppose,      T_f = f_f − Π_dᵀ f_r,   (2)
    to the parent: AdT(X_BN) f_r, and through a deforming node [Π_Nᵀ; AdT(X_NP)] of it.            (3)

f_r, left at FOR, is the force that the joint exerts on the body, at B.
"""

from __future__ import annotations

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.kernels.articulated import clear, from_parent, give_force
from liegeo.kernels.elements import actuator_force, add_resistance, apply_elements
from liegeo.kernels.inertia import biases, inertias
from liegeo.kernels.kinematics import poses, velocities
from liegeo.kernels.spatial import add, dot, inertia_apply, plus, put, six, sum_columns, times, wrench_inward


@kernel(forceinline=False)
def inverse_dynamics(I, F, q, v, a, W, out):
    """out = the generalised forces that give the accelerations a, beside the inputs, which stand behind them in a."""
    poses(I, F, q, W)
    velocities(I, F, q, v, W)
    inertias(I, F, q, False, W)
    biases(I, F, q, v, W)
    if I[at.N_ELEMENTS] > 0:
        apply_elements(I, F, q, v, a, W)
    accelerations(I, F, a, 1.0, W)
    forces(I, F, q, v, a, W, out)


@kernel(forceinline=False)
def accelerations(I, F, a, gravity, W):
    """A at ACC for given v̇; gravity is an acceleration of the base, `gravity` (0 or 1) times."""
    for i in range(I[at.N_BODIES]):
        b, _, w = at.rows(i)
        A = plus(from_parent(I, F, b, w, a, gravity, W), six(W, w + at.BIAS))
        jv = index(I[b + at.JV])
        for k in range(I[b + at.NV]):
            A = plus(A, times(a[jv + k], six(W, w + at.SUB + 6 * k)))
        if I[b + at.OFFSET] == at.DEFORMING:
            n, ev = I[b + at.NM], index(I[b + at.EV])
            A = plus(A, times(-1.0, sum_columns(W, index(I[b + at.FLEX]) + at.PID * n, n, a, ev)))
        put(W, w + at.ACC, A)


@kernel(forceinline=False)
def forces(I, F, q, v, a, W, out):
    """(1)–(3), after `accelerations` and `biases`."""
    _collect(I, F, a, W, out)
    for i in range(I[at.N_BODIES]):
        b, f, _ = at.rows(i)
        if I[b + at.PASSIVE] != 0:
            add_resistance(I, F, b, f, q, v, 1.0, out)
    for i in range(I[at.N_ACTUATORS]):
        k = index(I[at.ACTUATORS]) + i * at.ACTUATOR_SIZE
        out[index(I[k + at.ACTUATED])] -= actuator_force(I, F, k, a)


@kernel(forceinline=False)
def momentum(I, F, q, v, W, out):
    """out = M(q) v: (1)–(3) with v for v̇ and no bias."""
    poses(I, F, q, W)
    inertias(I, F, q, False, W)
    clear(I, W)
    accelerations(I, F, v, 0.0, W)
    _collect(I, F, v, W, out)


@kernel(forceinline=False)
def _collect(I, F, a, W, out):
    """(1)–(3) without the joints' own resistance."""
    for i in range(I[at.N_BODIES] - 1, -1, -1):
        b, f, w = at.rows(i)
        z = plus(six(W, w + at.FOR), inertia_apply(W, w + at.INE, six(W, w + at.ACC)))
        if I[b + at.NM] > 0:
            z = _modal_forces(I, b, w, z, a, W, out)
        put(W, w + at.FOR, z)
        jv = index(I[b + at.JV])
        for k in range(I[b + at.NV]):
            out[jv + k] = dot(six(W, w + at.SUB + 6 * k), z) + F[f + at.ARMATURE + k] * a[jv + k]
        parent = I[b + at.PARENT]
        if parent >= 0:
            _, _, p = at.rows(parent)
            z = wrench_inward(W, w + at.R_NB, z)
            if I[b + at.PARENT_NODE] >= 0:
                give_force(I, b, p, z, W)
            else:
                add(W, p + at.FOR, z)


@kernel(forceinline=False)
def _modal_forces(I, b, w, z, a, W, out):
    """f_r with the share of η̈; T_f of (2) into `out`."""
    b, w = index(b), index(w)
    n, x, ev = I[b + at.NM], index(I[b + at.FLEX]), index(I[b + at.EV])
    A = six(W, w + at.ACC)
    z = plus(z, sum_columns(W, x + at.PRF * n, n, a, ev))
    for k in range(n):
        t = W[x + at.ZF * n + k] + dot(six(W, x + at.PRF * n + 6 * k), A)
        for l in range(n):
            t += W[x + at.PFF * n + n * k + l] * a[ev + l]
        if I[b + at.OFFSET] == at.DEFORMING:
            t -= dot(six(W, x + at.PID * n + 6 * k), z)
        out[ev + k] = t
    return z
