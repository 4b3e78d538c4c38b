"""What can be seen of a state: poses and twists of bodies and frames, Jacobians, energies, momentum.

A frame F belongs to a body and is either constant in it or one of its nodes.  All functions run after `poses` (and,
where they say so, `velocities` and `inertias`) on the same workspace.
"""

from __future__ import annotations

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.kernels.elements import element_energy, place_frames, spring_energy
from liegeo.kernels.spatial import (
    add,
    compose,
    dot,
    inertia_apply,
    plus,
    rotate,
    six,
    sum_columns,
    twist_outward,
    wrench_inward,
)
from liegeo.kernels.states import state_energy


@kernel(forceinline=False)
def jacobian(I, W, body, X, Pi, scratch, out):
    """out (6 × nv): twist of the frame relative to the world, in its own axes, is out v.  After `poses`.

    X: pose of the frame in its body (12).  Pi: its modes, six numbers a mode, in the frame.  scratch: 24.
    """
    out[:, :] = 0.0
    for k in range(12):
        scratch[k] = X[k]
    i = body
    b, _, _ = at.rows(body)
    for j in range(index(I[b + at.NM])):
        for r in range(6):
            out[r, index(I[b + at.EV]) + j] = Pi[6 * j + r]
    while i >= 0:
        b, _, w = at.rows(i)
        _put_columns(W, w + at.SUB, index(I[b + at.NV]), scratch, out, index(I[b + at.JV]), 1.0)
        n = index(I[b + at.NM])
        if I[b + at.OFFSET] == at.DEFORMING:
            _put_columns(W, index(I[b + at.FLEX]) + at.PID * n, n, scratch, out, index(I[b + at.EV]), -1.0)
        parent = I[b + at.PARENT]
        if parent < 0:
            return
        # from here on the frame is seen from N, then from P
        compose(W, w + at.R_NB, scratch, 0, scratch, 12)
        for k in range(12):
            scratch[k] = scratch[12 + k]
        if I[b + at.PARENT_NODE] >= 0:
            pb, _, _ = at.rows(parent)
            c = index(I[b + at.CARRIER])
            _put_columns(W, c + at.CARRIER_PI, index(I[pb + at.NM]), scratch, out, index(I[pb + at.EV]), 1.0)
            compose(W, c, scratch, 0, scratch, 12)
            for k in range(12):
                scratch[k] = scratch[12 + k]
        i = parent


@kernel
def _put_columns(W, o, n, X, out, column, sign):
    """Add twists (columns at W[o], in a frame in which F has the pose at X[0]) as columns in F."""
    for k in range(n):
        a = twist_outward(X, 0, six(W, o + 6 * k))
        for r in range(6):
            out[r, column + k] += sign * a[r]


@kernel(forceinline=False, apart=True)
def energies(I, F, q, v, u, W, world, out):
    """out = kinetic, gravitational, elastic energy; then momentum about the world's origin (6), mass, centre (3).

    After `poses`, `velocities`, `inertias` and `world_poses` (into `world`).  Elastic is what modes, joints, springs
    and bushings store.
    """
    for k in range(13):
        out[k] = 0.0
    g0, g1, g2 = at.gravity(I, u)
    if I[at.N_ELEMENTS] > 0:
        place_frames(I, F, q, v, W)
        out[2] = element_energy(I, F, W)
    for i in range(I[at.N_BODIES]):
        b, f, w = at.rows(i)
        n, ev, eq = index(I[b + at.NM]), index(I[b + at.EV]), index(I[b + at.EQ])
        jq, jv = index(I[b + at.JQ]), index(I[b + at.JV])
        V = six(W, w + at.VEL)
        H = inertia_apply(W, w + at.INE, V)
        out[0] += 0.5 * dot(H, V)
        if n > 0:
            x = index(I[b + at.FLEX])
            modal = sum_columns(W, x + at.PRF * n, n, v, ev)
            out[0] += dot(modal, V)
            H = plus(H, modal)
            stiffness, row = at.modal_matrices(I, b)[3], x + at.PFF * n
            for k in range(n):
                for l in range(k):
                    out[0] += v[ev + k] * W[row + l] * v[ev + l]
                out[0] += 0.5 * v[ev + k] * W[row + k] * v[ev + k]
                row += k + 1
                for l in range(n):
                    out[2] += 0.5 * q[eq + k] * F[stiffness + n * k + l] * q[eq + l]
        for k in range(index(I[b + at.NV])):
            out[0] += 0.5 * F[f + at.ARMATURE + k] * v[jv + k] * v[jv + k]
            if F[f + at.STIFFNESS + k] != 0.0 and I[b + at.PASSIVE] != at.ON_GROUP:
                e = q[jq + k] - F[f + at.REST + k]
                out[2] += 0.5 * F[f + at.STIFFNESS + k] * e * e
        if I[b + at.PASSIVE] == at.ON_GROUP:
            out[2] += spring_energy(I, F, b, f, q)
        # first moment, from H = ĉ, seen from the world
        P, m = w + at.INE, W[w + at.INE + 15]
        c0, c1, c2 = rotate(world, 12 * i, W[P + 13], W[P + 8], W[P + 9])
        c0, c1, c2 = c0 + m * world[12 * i + 9], c1 + m * world[12 * i + 10], c2 + m * world[12 * i + 11]
        out[1] -= g0 * c0 + g1 * c1 + g2 * c2
        add(out, 3, wrench_inward(world, 12 * i, H))
        out[9] += m
        out[10] += c0
        out[11] += c1
        out[12] += c2
    if I[at.N_STATES] > 0:
        out[2] += state_energy(I, F, u)
    if out[9].real > 0.0:
        for k in range(3):
            out[10 + k] /= out[9]
