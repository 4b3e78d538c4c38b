"""Inverse dynamics, O(N): [JR90, (4.2)], [SY16, (12)–(17)] on trees.

Base to tip A from (3) of kinematics.py, and with it what moves each body alone,

    f_r = M_rr A + M_rf η̈ + b_r,      f_f = M_rfᵀ A + M_e η̈ + b_f;                                (1)

tip to base, at each body with the forces of its children added,

    τ = Sᵀ f_r + armature v̇ + what spring, damper and friction oppose,      T_f = f_f − Π_dᵀ f_r,   (2)
    to the parent: AdT(X_BN) f_r, and through a deforming node [Π_Nᵀ; AdT(X_NP)] of it.            (3)

f_r, left at FOR, is the force that the joint exerts on the body, at B.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.kernels.articulated import clear, from_parent, give_force
from liegeo.kernels.elements import actuator_force, add_resistance, apply_elements
from liegeo.kernels.inertia import body_bias, body_inertia
from liegeo.kernels.joint_elements import add_joint_element_forces
from liegeo.kernels.kinematics import body_pose, body_velocity
from liegeo.kernels.spatial import add, dot, inertia_apply, plus, put, six, sum_columns, times, wrench_inward


@kernel(forceinline=False, apart=True)
def inverse_dynamics(I, F, q, v, a, W, out):
    """out = the generalised forces that give the accelerations a, beside the inputs, which stand behind them in a.

    The inertia of each body by itself stays in W, for articulated.factorise_next.
    """
    gravity = a[at.gravity(I) :]
    # Body by body, not pass by pass: what is read of a body is still in the cache for what follows.
    for i in range(I[at.N_BODIES]):
        body_pose(I, F, i, q, False, W)
        body_velocity(I, F, i, q, v, W)
        body_inertia(I, F, i, q, False, W)
        body_bias(I, F, i, q, v, W)
        body_acceleration(I, F, i, a, gravity, W)
        _move_body(I, i, a, W)
    if I[at.N_ELEMENTS] > 0:
        apply_elements(I, F, q, v, a, W)
    _balance(I, F, q, v, a, W, out)


@kernel(forceinline=False)
def forces(I, F, q, v, a, W, out):
    """(1)–(3), after `accelerations` and `biases`."""
    move_bodies(I, a, W)
    _balance(I, F, q, v, a, W, out)


@kernel(forceinline=False)
def _balance(I, F, q, v, a, W, out):
    """(2) and (3)."""
    _collect(I, F, a, W, out)
    for i in range(I[at.N_BODIES]):
        b, f, _ = at.rows(i)
        if I[b + at.PASSIVE] != 0:
            add_resistance(I, F, b, f, q, v, 1.0, out)
    for i in range(I[at.N_ACTUATORS]):
        k = index(I[at.ACTUATORS]) + i * at.ACTUATOR_SIZE
        out[index(I[k + at.ACTUATED])] -= actuator_force(I, F, k, a)
    if I[at.N_JOINT_ELEMENTS] > 0:
        add_joint_element_forces(I, F, q, v, a, 1.0, out)


@kernel(forceinline=False, apart=True)
def accelerations(I, F, a, gravity, W):
    """`body_acceleration` of every body, after `poses` and `velocities`."""
    for i in range(I[at.N_BODIES]):
        body_acceleration(I, F, i, a, gravity, W)


@kernel
def body_acceleration(I, F, i, a, gravity, W):
    """A at ACC for given v̇; gravity (three numbers) is an acceleration of the base."""
    b, _, w = at.rows(i)
    A = plus(from_parent(I, F, b, w, a, gravity, W), six(W, w + at.BIAS))
    jv = index(I[b + at.JV])
    for k in range(index(I[b + at.NV])):
        A = plus(A, times(a[jv + k], six(W, w + at.SUB + 6 * k)))
    if I[b + at.OFFSET] == at.DEFORMING:
        n, ev = index(I[b + at.NM]), index(I[b + at.EV])
        A = plus(A, times(-1.0, sum_columns(W, index(I[b + at.FLEX]) + at.PID * n, n, a, ev)))
    put(W, w + at.ACC, A)


@kernel(forceinline=False)
def momentum(I, F, q, v, W, out):
    """out = M(q) v: (1)–(3) with v for v̇ and no bias."""
    for i in range(I[at.N_BODIES]):
        body_pose(I, F, i, q, False, W)
        body_inertia(I, F, i, q, False, W)
    clear(I, W)
    for i in range(I[at.N_BODIES]):
        body_acceleration(I, F, i, v, at.NO_GRAVITY, W)
        _move_body(I, i, v, W)
    _collect(I, F, v, W, out)


@kernel(forceinline=False)
def displacement(I, F, q, e, W, out):
    """out[0], out[1] = the largest √(eᵀ M_i e / m_i) of a body i, and its largest rotation, under a small change e.

    A of (1) with e for v̇ and no bias is the displacement of the body's frame, and eᵀ M_i e = ∫ |displacement|² dm.
    A body without mass counts by its origin.
    """
    for i in range(I[at.N_BODIES]):
        body_pose(I, F, i, q, False, W)
        body_inertia(I, F, i, q, False, W)
    clear(I, W)
    far, turn = 0.0, 0.0
    for i in range(I[at.N_BODIES]):
        body_acceleration(I, F, i, e, at.NO_GRAVITY, W)
        b, _, w = at.rows(i)
        A = six(W, w + at.ACC)
        m = W[w + at.INE + 15]
        square = dot(inertia_apply(W, w + at.INE, A), A)
        n = index(I[b + at.NM])
        if n > 0:
            x, ev = index(I[b + at.FLEX]), index(I[b + at.EV])
            row = x + at.PFF * n
            square += 2.0 * dot(sum_columns(W, x + at.PRF * n, n, e, ev), A)
            for k in range(n):
                for l in range(k):
                    square += 2.0 * e[ev + k] * W[row + l] * e[ev + l]
                square += e[ev + k] * W[row + k] * e[ev + k]
                row += k + 1
        square = square / m if m > 0.0 else A[3] * A[3] + A[4] * A[4] + A[5] * A[5]
        # a number that is not one must not be lost in a comparison
        far = far if square <= far else square
        rotation = A[0] * A[0] + A[1] * A[1] + A[2] * A[2]
        turn = turn if rotation <= turn else rotation
    out[0], out[1] = np.sqrt(far), np.sqrt(turn)


@kernel(forceinline=False)
def move_bodies(I, a, W):
    """(1) for every body, after `accelerations` and `biases`."""
    for i in range(I[at.N_BODIES]):
        _move_body(I, i, a, W)


@kernel
def _move_body(I, i, a, W):
    """(1), added to the biases at FOR and ZF."""
    b, _, w = at.rows(i)
    A = six(W, w + at.ACC)
    z = plus(six(W, w + at.FOR), inertia_apply(W, w + at.INE, A))
    n = index(I[b + at.NM])
    if n > 0:
        x, ev = index(I[b + at.FLEX]), index(I[b + at.EV])
        zf, prf, row = x + at.ZF * n, x + at.PRF * n, x + at.PFF * n
        z = plus(z, sum_columns(W, prf, n, a, ev))
        for k in range(n):
            t = W[zf + k] + dot(six(W, prf + 6 * k), A)
            for l in range(k):
                t += W[row + l] * a[ev + l]
                W[zf + l] += W[row + l] * a[ev + k]
            W[zf + k] = t + W[row + k] * a[ev + k]
            row += k + 1
    put(W, w + at.FOR, z)


@kernel(forceinline=False)
def _collect(I, F, a, W, out):
    """(2) and (3) without the joints' own resistance."""
    for i in range(I[at.N_BODIES] - 1, -1, -1):
        b, f, w = at.rows(i)
        z = six(W, w + at.FOR)
        n, x, ev = index(I[b + at.NM]), index(I[b + at.FLEX]), index(I[b + at.EV])
        for k in range(n):
            out[ev + k] = W[x + at.ZF * n + k]
        if I[b + at.OFFSET] == at.DEFORMING:
            for k in range(n):
                out[ev + k] -= dot(six(W, x + at.PID * n + 6 * k), z)
        jv = index(I[b + at.JV])
        for k in range(index(I[b + at.NV])):
            out[jv + k] = dot(six(W, w + at.SUB + 6 * k), z) + F[f + at.ARMATURE + k] * a[jv + k]
        parent = I[b + at.PARENT]
        if parent >= 0:
            _, _, p = at.rows(parent)
            z = wrench_inward(W, w + at.R_NB, z)
            if I[b + at.PARENT_NODE] >= 0:
                give_force(I, b, p, z, W)
            else:
                add(W, p + at.FOR, z)
