"""The mass matrix by composite bodies, [JR90, (5.5)] on trees.

R(k), the inertia of a body with everything outboard of it frozen, is built tip to base; the columns X = R ℋᵀ of its
speeds are forces at B, which go inward through every ancestor and leave there the rows of the mass matrix.
"""

from __future__ import annotations

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.kernels.articulated import give_inertia, modal_block
from liegeo.kernels.inertia import inertias
from liegeo.kernels.kinematics import poses
from liegeo.kernels.spatial import add_inertia_inward, dot, inertia_apply, six, wrench_inward


@kernel(forceinline=False)
def mass_matrix(I, F, q, W, out):
    """out = M(q), both triangles."""
    poses(I, F, q, W)
    inertias(I, F, q, W)
    out[:, :] = 0.0
    for i in range(I[at.N_BODIES] - 1, -1, -1):
        b, f, w = at.rows(i)
        jv, n = index(I[b + at.JV]), index(I[b + at.NM])
        for k in range(index(I[b + at.NV])):
            _rows(I, W, i, jv + k, inertia_apply(W, w + at.INE, six(W, w + at.SUB + 6 * k)), out)
            out[jv + k, jv + k] += F[f + at.ARMATURE + k]
        if n > 0:
            # The force at B of a unit modal acceleration is a column of μ, the modal force one of D_f.
            modal_block(I, b, w, W)
            x, ev = index(I[b + at.FLEX]), index(I[b + at.EV])
            row = x + at.PFF * n
            for k in range(n):
                for l in range(k + 1):
                    out[ev + l, ev + k] = out[ev + k, ev + l] = W[row + l]
                row += k + 1
                _rows(I, W, i, ev + k, six(W, x + at.MU * n + 6 * k), out)
        parent = I[b + at.PARENT]
        if parent >= 0:
            pb, _, p = at.rows(parent)
            if I[b + at.PARENT_NODE] >= 0:
                give_inertia(I, b, w, pb, p, W)
            else:
                add_inertia_inward(W, w + at.R_NB, W, w + at.INE, W, p + at.INE)


@kernel(forceinline=False)
def _rows(I, W, i, column, force, out):
    """Rows of one column from body i to the base; the force is at B of body i."""
    column = index(column)
    while True:
        b, _, w = at.rows(i)
        for k in range(index(I[b + at.NV])):
            row = index(I[b + at.JV]) + k
            out[row, column] = out[column, row] = dot(six(W, w + at.SUB + 6 * k), force)
        parent = I[b + at.PARENT]
        if parent < 0:
            return
        force_N = wrench_inward(W, w + at.R_NB, force)
        force = force_N
        k = index(I[b + at.CARRIER])
        if I[b + at.PARENT_NODE] >= 0:
            force = wrench_inward(W, k, force_N)
        pb, _, _ = at.rows(parent)
        n, ev = index(I[pb + at.NM]), index(I[pb + at.EV])
        pid = index(I[pb + at.FLEX]) + at.PID * n
        for j in range(n):
            t = 0.0 * force[0]
            if I[b + at.PARENT_NODE] >= 0:
                t += dot(six(W, k + at.CARRIER_PI + 6 * j), force_N)
            if I[pb + at.OFFSET] == at.DEFORMING:
                t -= dot(six(W, pid + 6 * j), force)
            out[ev + j, column] = out[column, ev + j] = t
        i = parent
