"""loops.py where constraints are eliminated one by one, by elimination.py: for models that have a plan for it.

Smallest multipliers: let B be what makes redundant rows of the others, J_R = B J_C.  All multipliers that do the same
are λ_C − Bᵀμ, μ, and the smallest has                                                                              (1)

    (1 + B Bᵀ) μ = B λ_C,

solved by conjugate gradients.  With f = 0, (3) and (4) of b_C leave −B b_C at the redundant rows, and (5) of λ_R = μ
gives λ_C = −Bᵀμ.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, kernel
from liegeo.kernels import articulated, constraints, elimination
from liegeo.kernels import elimination_table as plan
from liegeo.kernels import layout as at
from liegeo.kernels.elements import apply_elements, load
from liegeo.kernels.inertia import biases, inertias
from liegeo.kernels.inverse import accelerations, move_bodies
from liegeo.kernels.kinematics import poses, velocities

# When (1) is solved: the squares of what is left, and the most products with B.
_SOLVED, _MOST = 1e-32, 400
# The inertia of a mode that stays, beside those of at least one.
_FIXED = 1e40


@kernel(forceinline=False, apart=True)
def forward_dynamics(I, F, q, v, u, W, out):
    """out = v̇; multipliers at LAMBDA.  Returns as articulated.forward_dynamics.

    Biases are those of the motion with v̇ = 0, by which b of elimination.py (1) is what J v̇ lacks.
    """
    gravity = u[at.gravity(I) :]
    for j in range(I[at.N_V]):
        out[j] = 0.0
    poses(I, F, q, W)
    velocities(I, F, q, v, W)
    inertias(I, F, q, W)
    biases(I, F, q, v, W)
    if I[at.N_ELEMENTS] > 0:
        apply_elements(I, F, q, v, u, W)
    accelerations(I, F, out, gravity, W)
    move_bodies(I, out, W)
    constraints.evaluate(I, F, q, v, u, W)
    constraints.accelerated(I, F, q, v, out, gravity, W)
    m, o = I[at.N_ROWS], index(I[at.ROWS_W])
    for k in range(m):
        W[o + at.RIGHT * m + k] *= -1.0
    load(I, F, q, v, u, out)
    status = elimination.eliminate(I, F, 0.0, 0.0, False, W, W)
    if status == 0:
        _release_rows(I, W)
        elimination.inward(I, out, W)
        elimination.outward(I, F, out, W)
    return status


@kernel(forceinline=False)
def closing(I, F, q, v, u, beta, W, dq, dv):
    """loops.closing."""
    poses(I, F, q, W)
    velocities(I, F, q, v, W)
    constraints.evaluate(I, F, q, v, u, W)
    inertias(I, F, q, W)
    status = elimination.eliminate(I, F, 0.0, beta, False, W, W)
    if status == 0:
        _correction(I, F, at.PHI, W, dq)
        _correction(I, F, at.RATE, W, dv)
    return status


@kernel(forceinline=False)
def nearest(I, F, q, v, u, weights, local, W, dq):
    """dq = −w²∘Jᵀ(J w² Jᵀ)⁻¹ φ: (1) of assembly.py.  φ stays at PHI; returns as articulated.forward_dynamics.

    It is the correction of bodies without mass whose speeds have the inertia 1/w²; `local` (nv) is scratch.
    """
    poses(I, F, q, W)
    velocities(I, F, q, v, W)
    constraints.evaluate(I, F, q, v, u, W)
    for i in range(I[at.N_BODIES]):
        _weigh(I, F, i, weights, local, W)
    status = elimination.eliminate(I, F, 0.0, 0.0, True, local, W)
    if status == 0:
        _correction(I, F, at.PHI, W, dq)
    return status


@kernel
def _weigh(I, F, i, weights, local, W):
    """Replace the inertia of body i by that of its speeds, 1/w²; what has the weight zero does not move."""
    b, f, w = at.rows(i)
    for k in range(21):
        W[w + at.INE + k] = 0.0
    W[w + at.SIZE] = W[w + at.SIZE + 1] = 0.0
    jv, ev, n = index(I[b + at.JV]), index(I[b + at.EV]), index(I[b + at.NM])
    for k in range(index(I[b + at.NV])):
        square = weights[jv + k] * weights[jv + k]
        local[jv + k] = (1.0 / square if square > 0.0 else np.inf) - F[f + at.ARMATURE + k]
    if n > 0:
        y = index(I[b + at.FLEX])
        for k in range(6 * n):
            W[y + at.PRF * n + k] = 0.0
        for k in range(at.triangle(n)):
            W[y + at.PFF * n + k] = 0.0
        for k in range(n):
            square = weights[ev + k] * weights[ev + k]
            W[y + at.PFF * n + index(at.triangle(k)) + k] = 1.0 / square if square > 0.0 else _FIXED


@kernel(forceinline=False)
def factorise(I, F, q, alpha, beta, W):
    """loops.factorise."""
    articulated.place_inertias(I, F, q, W)
    # what rows hold does not depend on speeds, and on no inputs but switches: any numbers serve for the others
    constraints.evaluate(I, F, q, W, W[index(I[at.N_WORK]) :], W)
    return elimination.eliminate(I, F, alpha, beta, False, W, W)


@kernel(forceinline=False)
def factorise_next(I, F, q, alpha, beta, local, W):
    """loops.factorise_next."""
    articulated.place_inertias(I, F, q, W)
    constraints.evaluate(I, F, q, W, W[index(I[at.N_WORK]) :], W)
    return elimination.eliminate(I, F, alpha, beta, True, local, W)


@kernel(forceinline=False)
def solve(I, F, r, W, out):
    """out = x with S x = r + Jᵀμ, J x = b, for b at RIGHT, which is used up; μ at LAMBDA."""
    articulated.clear(I, W)
    _release_rows(I, W)
    for k in range(I[at.N_V]):
        out[k] = r[k]
    elimination.inward(I, out, W)
    elimination.outward(I, F, out, W)


@kernel
def _release_rows(I, W):
    m, o = I[at.N_ROWS], index(I[at.ROWS_W])
    for k in range(m):
        W[o + at.LAMBDA * m + k] = 0.0


@kernel(forceinline=False)
def _correction(I, F, what, W, out):
    """out = −M⁻¹Jᵀ A⁻¹ b, b being the numbers at `what`."""
    m, o = I[at.N_ROWS], index(I[at.ROWS_W])
    articulated.clear(I, W)
    _release_rows(I, W)
    for k in range(m):
        W[o + at.RIGHT * m + k] = -W[o + index(what) * m + k]
    for j in range(I[at.N_V]):
        out[j] = 0.0
    elimination.inward(I, out, W)
    elimination.outward(I, F, out, W)


# ---- redundant rows


@kernel
def _spread(I, W, what, scale, redundant):
    """Put `scale` times the numbers at `what`, one per row, to RIGHT; zero where rows are redundant, or where not."""
    m, o = I[at.N_ROWS], index(I[at.ROWS_W])
    for k in range(m):
        W[o + at.RIGHT * m + k] = 0.0
    for k in range(m):
        row = elimination.row_of(W, o + at.ORDER * m + k)
        if (W[o + at.ORDER * m + k].real < 0.0) == redundant:
            W[o + at.RIGHT * m + row] = scale * W[what + row]


@kernel(forceinline=False)
def _make_of_others(I, W, x, out, vector):
    """(1): B x of the rows that are not redundant, to the others of `out`; both are places in W."""
    m, o = I[at.N_ROWS], index(I[at.ROWS_W])
    articulated.clear(I, W)
    _spread(I, W, x, -1.0, False)
    for j in range(I[at.N_V]):
        W[vector + j] = 0.0
    elimination.inward(I, W[vector : vector + index(I[at.N_V])], W)
    for k in range(m):
        row = elimination.row_of(W, o + at.ORDER * m + k)
        W[out + row] = W[o + at.PIVOT * m + k] if W[o + at.ORDER * m + k].real < 0.0 else 0.0 * W[o]


@kernel(forceinline=False)
def _make_of_redundant(I, F, W, mu, out, vector):
    """(1): −Bᵀμ at the rows of `out` that are not redundant, μ at the others."""
    m, o = I[at.N_ROWS], index(I[at.ROWS_W])
    _spread(I, W, mu, 1.0, True)
    for k in range(m):
        W[o + at.LAMBDA * m + k] = W[o + at.RIGHT * m + k]
        W[o + at.PIVOT * m + k] = 0.0
    for i in range(I[at.N_BODIES]):
        b, _, w = at.rows(i)
        for j in range(index(I[b + at.NV])):
            W[w + at.RES + j] = 0.0
        for j in range(index(I[b + at.NM])):
            W[index(I[b + at.FLEX]) + at.EPS * I[b + at.NM] + j] = 0.0
    elimination.outward(I, F, W[vector : vector + index(I[at.N_V])], W)
    for k in range(m):
        W[out + k] = W[o + at.LAMBDA * m + k]


@kernel
def _product(W, x, y, m):
    total = 0.0 * W[x]
    for k in range(m):
        total += W[x + k] * W[y + k]
    return total


@kernel(forceinline=False)
def smallest_multipliers(I, F, W):
    """loops.smallest_multipliers, by (1)."""
    m, o = index(I[at.N_ROWS]), index(I[at.ROWS_W])
    redundant = 0
    for k in range(m):
        redundant += 1 if W[o + at.ORDER * m + k].real < 0.0 else 0
    if redundant == 0:
        return
    # the multipliers, μ, what is left of (1), the direction, and its product, which takes the place of RIGHT's
    kept = index(I[index(I[at.ELIMINATION]) + plan.VECTORS])
    mu, left, along = kept + m, kept + 2 * m, kept + 3 * m
    product, vector = kept + 4 * m, kept + 5 * m
    for k in range(m):
        W[kept + k], W[mu + k] = W[o + at.LAMBDA * m + k], 0.0
    _make_of_others(I, W, kept, left, vector)
    for k in range(m):
        W[along + k] = W[left + k]
    size = start = _product(W, left, left, m)
    for _ in range(_MOST):
        if size.real <= _SOLVED * start.real and abs(size.imag) <= _SOLVED * abs(start.imag):
            break
        _make_of_redundant(I, F, W, along, product, vector)
        # Bᵀp without its sign, and B of it
        _make_of_others(I, W, product, product, vector)
        for k in range(m):
            W[product + k] = W[along + k] - W[product + k]
        step = size / _product(W, along, product, m)
        for k in range(m):
            W[mu + k] += step * W[along + k]
            W[left + k] -= step * W[product + k]
        before = size
        size = _product(W, left, left, m)
        for k in range(m):
            W[along + k] = W[left + k] + size / before * W[along + k]
    _make_of_redundant(I, F, W, mu, product, vector)
    for k in range(m):
        W[o + at.LAMBDA * m + k] = W[kept + k] + W[product + k]


@kernel
def pivots(I, W, left, whole):
    """Write what is left of each row when its turn comes, zero if it is redundant, and its A_kk as a whole."""
    m, o, start = I[at.N_ROWS], index(I[at.ROWS_W]), index(I[index(I[at.ELIMINATION]) + plan.WORK])
    for k in range(m):
        left[k], whole[k] = 0.0, W[start + k]
    for i in range(I[at.N_BODIES] + 1):
        stage = plan.stage_of(I, i)
        for j in range(I[stage + plan.N_CLOSING]):
            c = index(I[stage + plan.CLOSING]) + j * plan.CLOSING_SIZE
            n = index(I[c + plan.N])
            for k in range(elimination.rank_of(I, W, c)):
                pivot = W[index(I[c + plan.PANEL]) + (n + 1) * k]
                left[elimination.row_of(W, o + at.ORDER * m + index(I[c + plan.FIRST]) + k)] = pivot * pivot
