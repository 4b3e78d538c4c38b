"""Trees with many constraints: each loop is eliminated where it closes, inside the recursion, or in a sparse order.

    M v̇ = f + Jᵀλ,        J v̇ = b.                                                                                 (1)

A constraint closes at the body i beyond which it cannot be seen: the last one that carries all that the constraint
holds (the world, if it holds something to the ground).  Its rows do not depend on the motion of i itself, so what the
bodies outboard of i do decides whether a row is redundant, and its multiplier can be eliminated there.

Going inwards, body i has, beside P and z of articulated.py, of each row k that is still open its bias z_k under a unit
multiplier, and the rows have A = J M⁻¹ Jᵀ and r = b − J M⁻¹ f of the bodies outboard.  With A_i the acceleration of i,

    force on i:  P A_i + z + Σ z_k λ_k,        row k:  Σ A_kl λ_l − z_k·A_i = r_k.                                  (2)

A speed of a joint, with s, u and d of articulated.py (3), and likewise the modes, give each row                    (3)

    e_k = J_k − s·z_k,   z_k ← z_k + u e_k/d,   A_kl ← A_kl + e_k e_l/d,   r_k ← r_k − e_k ε/d,

which is (2) of loops.py one speed at a time.  A row c that closes is the pivot a = A_cc of (2):                    (4)

    P ← P + z_c z_cᵀ/a,   z ← z + z_c r_c/a,   z_k ← z_k − z_c A_ck/a,
    A_kl ← A_kl − A_kc A_cl/a,   r_k ← r_k − A_kc r_c/a,
    λ_c = (r_c + z_c·A_i − Σ A_ck λ_k)/a,      when A_i and the other multipliers are known.                        (5)

A loop of a few bodies on a long trunk is open on these few bodies only, so that N such loops cost O(N). Rows that close
at the world couple where they share bodies. They are eliminated in an order of minimum degree [GL89], found by
model/elimination_plan.py, with all index arrays, when the model is compiled. Where all loops have long ways in common,
A is dense and (4) is the Cholesky factorisation of loops.py. (To eliminate rows as soon as possible is the early
elimination of [SC24].)

The rows of one constraint take turns: the one with the largest share left of its own A_kk first.  A row of which no
more than _ROUND_OFF is left is redundant, since all rows that it could depend on are known by then: it gets λ = 0.  So
is one whose A_kk is round-off beside the bound that (3) has with |s||z_k| in place of s·z_k.                        (6)
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, kernel
from liegeo.kernels import articulated
from liegeo.kernels import elimination_table as plan
from liegeo.kernels import layout as at
from liegeo.kernels.spatial import add, dot, plus, put, six, subtract_square, sum_columns, times, wrench_inward

# A row of which no more than this share is left by the others is redundant, as in loops.py.
_ROUND_OFF = 1e-11
# Beside its bound so much larger a row is round-off as a whole: it holds what could not move anyway.
_NOTHING = 1e-24

# ---- the matrix


@kernel(forceinline=False)
def eliminate(I, F, alpha, beta, with_local, local, W):
    """(3) and (4) but for z and r, after poses, inertias and `evaluate`; returns as articulated.forward_dynamics."""
    p = index(I[at.ELIMINATION])
    start = index(I[p + plan.WORK])
    for k in range(I[p + plan.CLEARED]):
        W[start + k] = 0.0
    for i in range(I[at.N_BODIES] - 1, -1, -1):
        b, _, w = at.rows(i)
        stage = plan.stage_of(I, i)
        turning, moving = articulated.sizes(W, w)
        status = articulated.articulate_modes(I, F, i, alpha, beta, False, W)
        if status != 0:
            return status
        n_slots, n_closing = I[stage + plan.N_SLOTS], I[stage + plan.N_CLOSING]
        if n_slots > 0:
            for k in range(n_slots):
                _hold(I, F, b, index(I[stage + plan.SLOTS]) + k * plan.SLOT_SIZE, W)
            if I[b + at.NM] > 0:
                _modes(I, b, stage, W)
            for k in range(n_closing):
                _close(I, w + at.INE, index(I[stage + plan.CLOSING]) + k * plan.CLOSING_SIZE, W)
        status = articulated.articulate_joint(I, F, i, alpha, beta, with_local, local, False, turning, moving, W)
        if status != 0:
            return status
        if n_slots > n_closing:
            _joint(I, b, w, stage, W)
    stage = plan.stage_of(I, I[at.N_BODIES])
    for k in range(I[stage + plan.N_CLOSING]):
        _close(I, -1, index(I[stage + plan.CLOSING]) + k * plan.CLOSING_SIZE, W)
    return 0


@kernel(forceinline=False)
def _hold(I, F, b, s, W):
    """What a constraint holds at a body: wrenches in its frames to z_k, and to modes of those that bend; speeds."""
    b, s = index(b), index(s)
    holds = I[s + plan.SLOT_HOLDS]
    if holds == 0:
        return
    c, n, o, m = index(I[s + plan.SLOT_C]), I[s + plan.SLOT_N], index(I[at.ROWS_W]), I[at.N_ROWS]
    if holds & plan.BY_SPEEDS:
        for k in range(n):
            _hold_speeds(I, F, b, c, k, s, W)
        return
    first, z, modes, nm = (
        index(I[s + plan.SLOT_FIRST]),
        index(I[s + plan.SLOT_Z]),
        index(I[s + plan.SLOT_M]),
        index(I[b + at.NM]),
    )
    for side in range(2):
        if not holds >> side & 1:
            continue
        r, wrench = index(I[c + (at.C_B if side else at.C_A)]), o + 6 * first + (0 if side else at.ON_A * m)
        frame = index(I[r + at.FRAME_W])
        for k in range(n):
            force = six(W, wrench + 6 * k)
            add(W, z + 6 * k, times(-1.0, wrench_inward(W, frame + at.X_BF, force)))
            if I[r + at.FRAME_NODE] >= 0:
                for j in range(nm):
                    W[modes + nm * k + j] += dot(six(W, frame + at.PI_F + 6 * j), force)


@kernel(forceinline=False)
def _hold_speeds(I, F, b, c, k, s, W):
    """Put row k of a constraint on speeds, as far as it is about those of one body, into its slot."""
    b, c, s, kind, n = index(b), index(c), index(s), I[c + at.C_KIND], index(I[s + plan.SLOT_N])
    jv, nv, e = I[b + at.JV], I[b + at.NV], index(I[s + plan.SLOT_E]) + index(k)
    if kind == at.MOTION:
        W[e + n * (index(I[c + at.C_MORE]) + index(k))] = 1.0
    elif kind == at.HOLD:
        # zero while its switch is off
        on = index(I[at.ROWS_W]) + 6 * (index(I[c + at.C_ROW]) + index(k))
        W[e + n * (index(I[c + at.C_MORE]) + index(k))] = W[on]
    elif kind == at.COUPLING:
        terms, f = index(I[c + at.C_MORE]), index(I[c + at.C_F])
        for j in range(I[terms]):
            speed = I[terms + 2 + 2 * j] - jv
            if 0 <= speed < nv:
                W[e + n * index(speed)] += F[f + 1 + j]
    else:
        nm, modes = index(I[b + at.NM]), index(I[s + plan.SLOT_M])
        row = at.constraint_parts(I)[5] + index(I[c + at.C_F]) + 2 * n + index(k) * I[at.N_V]
        for j in range(nv):
            W[e + n * j] = W[row + index(jv) + j]
        for j in range(nm):
            W[modes + nm * k + j] = W[row + index(I[b + at.EV]) + j]


@kernel(forceinline=False)
def _modes(I, b, stage, W):
    """(3) for the modes of a body, (1) and (2) of articulated.py, and all its slots."""
    b, stage = index(b), index(stage)
    y, nm, whole, m = (
        index(I[b + at.FLEX]),
        index(I[b + at.NM]),
        index(I[index(I[at.ELIMINATION]) + plan.WORK]),
        I[at.N_ROWS],
    )
    n_slots, slots = I[stage + plan.N_SLOTS], index(I[stage + plan.SLOTS])
    for a in range(n_slots):
        s = slots + a * plan.SLOT_SIZE
        z, e, g = index(I[s + plan.SLOT_Z]), index(I[s + plan.SLOT_M]), index(I[s + plan.SLOT_G])
        for k in range(I[s + plan.SLOT_N]):
            z_k = six(W, z + 6 * k)
            if I[b + at.OFFSET] == at.DEFORMING:
                for j in range(nm):
                    W[e + j] += dot(six(W, y + at.PID * nm + 6 * j), z_k)
            for j in range(nm):
                W[g + j] = W[e + j]
            articulated.solve_modes(W, y + at.PFF * nm, nm, g)
            put(W, z + 6 * k, plus(z_k, sum_columns(W, y + at.GAIN * nm, nm, W, e)))
            own = 0.0 * W[e]
            for j in range(nm):
                own += W[e + j] * W[g + j]
            row = whole + index(I[s + plan.SLOT_FIRST]) + k
            W[row] += own
            W[row + m] += own
            e, g = e + nm, g + nm
    pair = index(I[stage + plan.ALL_PAIRS])
    for a in range(n_slots):
        s = slots + a * plan.SLOT_SIZE
        for c in range(a + 1):
            t = slots + c * plan.SLOT_SIZE
            _add_products(
                W, I[pair], I[s + plan.SLOT_M], I[s + plan.SLOT_N], I[t + plan.SLOT_G], I[t + plan.SLOT_N], nm
            )
            pair += 1


@kernel
def _add_products(W, block, x, rows, y, columns, n):
    """Add products of `rows` and of `columns` vectors of n numbers, one after another at W[x] and W[y], to a block."""
    block, x = index(block), index(x)
    for _ in range(rows):
        other = index(y)
        for j in range(columns):
            total = W[block + j]
            for k in range(n):
                total += W[x + k] * W[other + k]
            W[block + j] = total
            other += index(n)
        block, x = block + index(columns), x + index(n)


@kernel(forceinline=False)
def _joint(I, b, w, stage, W):
    """(3) for the speeds of the joint of a body and its open slots; z_k to the parent."""
    b, w, stage, m = index(b), index(w), index(stage), I[at.N_ROWS]
    nv, whole = index(I[b + at.NV]), index(I[index(I[at.ELIMINATION]) + plan.WORK])
    n_slots, n_closing, slots = I[stage + plan.N_SLOTS], I[stage + plan.N_CLOSING], index(I[stage + plan.SLOTS])
    parent = I[b + at.PARENT]
    for a in range(n_closing, n_slots):
        s = slots + a * plan.SLOT_SIZE
        n, z, e = index(I[s + plan.SLOT_N]), index(I[s + plan.SLOT_Z]), index(I[s + plan.SLOT_E])
        row = whole + index(I[s + plan.SLOT_FIRST])
        for k in range(n):
            z_k = six(W, z + 6 * k)
            for j in range(nv):
                direction, factor = six(W, w + at.SUB + 6 * j), W[w + at.FAC + j]
                direct = W[e + n * j + k]
                residual = direct - dot(direction, z_k)
                W[e + n * j + k] = residual
                W[row + k] += residual * residual * factor
                W[row + k + m] += factor.real * _most(direct, direction, z_k)
                z_k = plus(z_k, times(residual * factor, six(W, w + at.PSU + 6 * j)))
            if parent >= 0 and I[s + plan.SLOT_PARENT] > 0:
                _give(I, b, w, index(I[s + plan.SLOT_PARENT]), k, z_k, W)
    for j in range(nv):
        factor, pair = W[w + at.FAC + j], index(I[stage + plan.PAIRS])
        for a in range(n_closing, n_slots):
            s = slots + a * plan.SLOT_SIZE
            rows = index(I[s + plan.SLOT_N])
            x = index(I[s + plan.SLOT_E]) + rows * j
            for c in range(n_closing, a + 1):
                t = slots + c * plan.SLOT_SIZE
                columns = index(I[t + plan.SLOT_N])
                block, y = index(I[pair]), index(I[t + plan.SLOT_E]) + columns * j
                for k in range(rows):
                    scaled = factor * W[x + k]
                    if scaled != 0.0:
                        for l in range(columns):
                            W[block + l] += scaled * W[y + l]
                    block += columns
                pair += 1


@kernel
def _most(direct, s, z):
    """Return the square of what J_k − s·z_k is at most, in metres and radians alike, as all sizes of rows."""
    a, b, c, x, y, t = s
    n0, n1, n2, f0, f1, f2 = z
    motion = a * a + b * b + c * c + x * x + y * y + t * t
    wrench = n0 * n0 + n1 * n1 + n2 * n2 + f0 * f0 + f1 * f1 + f2 * f2
    return (direct * direct).real + motion.real * wrench.real


@kernel
def _give(I, b, w, t, k, z, W):
    """z_k through the joint to the slot of the parent with its row at t, as `gather` of articulated.py."""
    z = wrench_inward(W, w + at.R_NB, z)
    if I[b + at.PARENT_NODE] >= 0:
        carrier = index(I[b + at.CARRIER])
        pb, _, _ = at.rows(I[b + at.PARENT])
        nm = index(I[pb + at.NM])
        modes = index(I[t + plan.SLOT_M]) + nm * k
        for j in range(nm):
            W[modes + j] -= dot(six(W, carrier + at.CARRIER_PI + 6 * j), z)
        z = wrench_inward(W, carrier, z)
    add(W, index(I[t + plan.SLOT_Z]) + 6 * k, z)


@kernel(forceinline=False)
def _close(I, P, c, W):
    """(4) for the rows of a constraint at a body with its inertia at P, −1 for the world; pivots by (6).

    The panel becomes X with A = X Xᵀ, rows and columns of the constraint itself by turns: their order at ORDER, and at
    its end −1 − k for each row k that is redundant.  z_k of the constraint become those of these columns.
    """
    c = index(c)
    m, o, first, n, height = (
        I[at.N_ROWS],
        index(I[at.ROWS_W]),
        index(I[c + plan.FIRST]),
        index(I[c + plan.N]),
        I[c + plan.HEIGHT],
    )
    panel, z, order = index(I[c + plan.PANEL]), I[c + plan.OWN_Z], o + at.ORDER * m + index(I[c + plan.FIRST])
    for k in range(n):
        W[order + k] = first + k
    rank = 0
    while rank < n:
        best = _next(I, W, panel, order, rank, n)
        if best < 0:
            break
        _exchange(W, panel, n, height, rank, best)
        other = W[order + rank]
        W[order + rank], W[order + best] = W[order + best], other
        pivot = np.sqrt(W[panel + n * rank + rank])
        inverse = 1.0 / pivot
        W[panel + n * rank + rank] = pivot
        for k in range(rank + 1, height):
            W[panel + n * k + rank] *= inverse
        for k in range(rank + 1, height):
            factor = W[panel + n * k + rank]
            if factor != 0.0:
                for l in range(rank + 1, n):
                    W[panel + n * k + l] -= factor * W[panel + n * l + rank]
        if z >= 0:
            _turn_wrenches(W, index(z), panel, n, rank, best, inverse)
            subtract_square(W, index(P), six(W, index(z) + 6 * rank), -1.0)
        rank += 1
    for k in range(rank, n):
        W[order + k] = -1.0 - W[order + k]
    if rank > 0:
        _update(I, c, rank, W)


@kernel
def _next(I, W, panel, order, rank, n):
    """Return which row of a panel is next, of those from `rank` on, or −1 if nothing is left."""
    whole, m = index(I[index(I[at.ELIMINATION]) + plan.WORK]), I[at.N_ROWS]
    best, share = -1, _ROUND_OFF
    for k in range(rank, n):
        row = whole + index(int(W[order + k].real))
        own, left = W[row].real, W[panel + n * k + k].real
        if own > _NOTHING * W[row + m].real and left > share * own:
            best, share = k, left / own
    return best


@kernel
def _exchange(W, panel, n, height, i, j):
    """Exchange columns i and j of a panel, and rows i and j."""
    if i == j:
        return
    i, j = index(i), index(j)
    for k in range(height):
        x = W[panel + n * k + i]
        W[panel + n * k + i], W[panel + n * k + j] = W[panel + n * k + j], x
    for k in range(n):
        x = W[panel + n * i + k]
        W[panel + n * i + k], W[panel + n * j + k] = W[panel + n * j + k], x


@kernel
def _turn_wrenches(W, z, panel, n, rank, best, inverse):
    """z_k of the rows of a constraint, when the row at `best` is eliminated."""
    own, other = six(W, z + 6 * index(best)), six(W, z + 6 * rank)
    put(W, z + 6 * index(best), other)
    own = times(inverse, own)
    put(W, z + 6 * rank, own)
    for k in range(rank + 1, n):
        add(W, z + 6 * k, times(-W[panel + n * k + rank], own))


@kernel(forceinline=False)
def _update(I, c, rank, W):
    """(4) for z_k and A_kl of the other constraints."""
    c = index(c)
    n, z, n_after, after = index(I[c + plan.N]), I[c + plan.OWN_Z], I[c + plan.N_AFTER], index(I[c + plan.AFTER])
    pair = index(I[c + plan.AFTER_PAIRS])
    for a in range(n_after):
        s = after + a * plan.AFTER_SIZE
        x, rows = index(I[s + plan.AFTER_BLOCK]), index(I[s + plan.AFTER_N])
        if z >= 0:
            own = index(I[s + plan.AFTER_Z])
            for k in range(rows):
                z_k = six(W, own + 6 * k)
                for l in range(rank):
                    z_k = plus(z_k, times(-W[x + n * k + l], six(W, index(z) + 6 * l)))
                put(W, own + 6 * k, z_k)
        for d in range(a + 1):
            t = after + d * plan.AFTER_SIZE
            block, start, columns = index(I[pair]), index(I[t + plan.AFTER_BLOCK]), index(I[t + plan.AFTER_N])
            for k in range(rows):
                for l in range(columns):
                    total = W[block + l]
                    for r in range(rank):
                        total -= W[x + n * k + r] * W[start + n * l + r]
                    W[block + l] = total
                block += columns
            pair += 1


# ---- vectors


@kernel
def rank_of(I, W, c):
    """Return how many rows of a constraint that closes are not redundant."""
    c = index(c)
    order, n = index(I[at.ROWS_W]) + at.ORDER * I[at.N_ROWS] + index(I[c + plan.FIRST]), I[c + plan.N]
    rank = 0
    while rank < n and W[order + rank].real >= 0.0:
        rank += 1
    return rank


@kernel
def row_of(W, place):
    """Return the row whose number stands at a place of ORDER, redundant or not."""
    k = int(W[place].real)
    return index(k if k >= 0 else -1 - k)


@kernel(forceinline=False)
def inward(I, out, W):
    """(3) and (4) for z and r: ε of `out` at RES and EPS, X⁻¹ r at PIVOT; biases are at FOR and ZF, b at RIGHT."""
    m, o = I[at.N_ROWS], index(I[at.ROWS_W])
    right = o + at.RIGHT * m
    for i in range(I[at.N_BODIES] - 1, -1, -1):
        b, _, w = at.rows(i)
        stage = plan.stage_of(I, i)
        n_slots, n_closing, slots = I[stage + plan.N_SLOTS], I[stage + plan.N_CLOSING], index(I[stage + plan.SLOTS])
        z, nm = six(W, w + at.FOR), index(I[b + at.NM])
        if nm > 0:
            z = articulated.gather_modes(I, b, z, out, W)
            eps = index(I[b + at.FLEX]) + at.EPS * nm
            for a in range(n_slots):
                s = slots + a * plan.SLOT_SIZE
                e, row = index(I[s + plan.SLOT_M]), right + index(I[s + plan.SLOT_FIRST])
                for k in range(I[s + plan.SLOT_N]):
                    for j in range(nm):
                        W[row + k] -= W[e + j] * W[eps + j]
                    e += nm
        for k in range(n_closing):
            c = index(I[stage + plan.CLOSING]) + k * plan.CLOSING_SIZE
            rank, own = _reduce(I, c, W), index(I[c + plan.OWN_Z])
            y = o + at.PIVOT * m + index(I[c + plan.FIRST])
            for l in range(rank):
                z = plus(z, times(W[y + l], six(W, own + 6 * l)))
        jv = index(I[b + at.JV])
        for j in range(index(I[b + at.NV])):
            residual = out[jv + j] - dot(six(W, w + at.SUB + 6 * j), z)
            scaled = residual * W[w + at.FAC + j]
            W[w + at.RES + j] = residual
            z = plus(z, times(scaled, six(W, w + at.PSU + 6 * j)))
            for a in range(n_closing, n_slots):
                s = slots + a * plan.SLOT_SIZE
                n, row = index(I[s + plan.SLOT_N]), right + index(I[s + plan.SLOT_FIRST])
                e = index(I[s + plan.SLOT_E]) + n * j
                for k in range(n):
                    W[row + k] -= scaled * W[e + k]
        parent = I[b + at.PARENT]
        if parent >= 0:
            _, _, p = at.rows(parent)
            z = wrench_inward(W, w + at.R_NB, z)
            if I[b + at.PARENT_NODE] >= 0:
                articulated.give_force(I, b, p, z, W)
            else:
                add(W, p + at.FOR, z)
    stage = plan.stage_of(I, I[at.N_BODIES])
    for k in range(I[stage + plan.N_CLOSING]):
        _reduce(I, index(I[stage + plan.CLOSING]) + k * plan.CLOSING_SIZE, W)


@kernel(forceinline=False)
def _reduce(I, c, W):
    """(4) for r: of a constraint X⁻¹ r at PIVOT, what it leaves to others at RIGHT; returns its rank.

    Behind those at PIVOT, of each redundant row what is left of r.
    """
    c, m, o = index(c), I[at.N_ROWS], index(I[at.ROWS_W])
    first, n, panel = index(I[c + plan.FIRST]), index(I[c + plan.N]), index(I[c + plan.PANEL])
    right, y, order = o + at.RIGHT * m, o + at.PIVOT * m + first, o + at.ORDER * m + first
    rank = rank_of(I, W, c)
    for k in range(n):
        total = W[right + row_of(W, order + k)]
        for l in range(min(k, rank)):
            total -= W[panel + n * k + l] * W[y + l]
        W[y + k] = total / W[panel + n * k + k] if k < rank else total
    for a in range(I[c + plan.N_AFTER]):
        s = index(I[c + plan.AFTER]) + a * plan.AFTER_SIZE
        x, row = index(I[s + plan.AFTER_BLOCK]), right + index(I[s + plan.AFTER_FIRST])
        for k in range(I[s + plan.AFTER_N]):
            for l in range(rank):
                W[row + k] -= W[x + n * k + l] * W[y + l]
    return rank


@kernel(forceinline=False)
def outward(I, F, out, W):
    """(5), and (5) of articulated.py: accelerations into `out`, multipliers to LAMBDA, where redundant ones stand.

    Biases and gravity stay away.
    """
    m, o = I[at.N_ROWS], index(I[at.ROWS_W])
    multiplier = o + at.LAMBDA * m
    nothing = 0.0 * W[o]
    still = (nothing, nothing, nothing, nothing, nothing, nothing)
    stage = plan.stage_of(I, I[at.N_BODIES])
    for k in range(I[stage + plan.N_CLOSING] - 1, -1, -1):
        _expand(I, index(I[stage + plan.CLOSING]) + k * plan.CLOSING_SIZE, still, W)
    for i in range(I[at.N_BODIES]):
        b, _, w = at.rows(i)
        stage = plan.stage_of(I, i)
        n_slots, n_closing, slots = I[stage + plan.N_SLOTS], I[stage + plan.N_CLOSING], index(I[stage + plan.SLOTS])
        A = articulated.from_parent(I, F, b, w, out, at.NO_GRAVITY, W)
        jv = index(I[b + at.JV])
        for j in range(index(I[b + at.NV]) - 1, -1, -1):
            residual = W[w + at.RES + j] - dot(six(W, w + at.PSU + 6 * j), A)
            for a in range(n_closing, n_slots):
                s = slots + a * plan.SLOT_SIZE
                n, row = index(I[s + plan.SLOT_N]), multiplier + index(I[s + plan.SLOT_FIRST])
                e = index(I[s + plan.SLOT_E]) + n * j
                for k in range(n):
                    residual += W[e + k] * W[row + k]
            rate = residual * W[w + at.FAC + j]
            out[jv + j] = rate
            A = plus(A, times(rate, six(W, w + at.SUB + 6 * j)))
        for k in range(I[stage + plan.N_CLOSING] - 1, -1, -1):
            _expand(I, index(I[stage + plan.CLOSING]) + k * plan.CLOSING_SIZE, A, W)
        nm = index(I[b + at.NM])
        if nm > 0:
            y, ev = index(I[b + at.FLEX]), index(I[b + at.EV])
            for j in range(nm):
                out[ev + j] = W[y + at.EPS * nm + j] - dot(six(W, y + at.GAIN * nm + 6 * j), A)
            for a in range(n_slots):
                s = slots + a * plan.SLOT_SIZE
                g, row = index(I[s + plan.SLOT_G]), multiplier + index(I[s + plan.SLOT_FIRST])
                for k in range(I[s + plan.SLOT_N]):
                    for j in range(nm):
                        out[ev + j] += W[row + k] * W[g + j]
                    g += nm
            if I[b + at.OFFSET] == at.DEFORMING:
                A = plus(A, times(-1.0, sum_columns(W, y + at.PID * nm, nm, out, ev)))
        put(W, w + at.ACC, A)


@kernel(forceinline=False)
def _expand(I, c, A, W):
    """(5) for the rows of a constraint at a body with the acceleration A; multipliers of redundant rows stand."""
    c, m, o = index(c), I[at.N_ROWS], index(I[at.ROWS_W])
    first, n, panel, z = index(I[c + plan.FIRST]), index(I[c + plan.N]), index(I[c + plan.PANEL]), I[c + plan.OWN_Z]
    multiplier, y, order = o + at.LAMBDA * m, o + at.PIVOT * m + first, o + at.ORDER * m + first
    rank = rank_of(I, W, c)
    for l in range(rank - 1, -1, -1):
        total = W[y + l]
        if z >= 0:
            total += dot(six(W, index(z) + 6 * l), A)
        for k in range(l + 1, n):
            total -= W[panel + n * k + l] * W[multiplier + row_of(W, order + k)]
        for a in range(I[c + plan.N_AFTER]):
            s = index(I[c + plan.AFTER]) + a * plan.AFTER_SIZE
            x, row = index(I[s + plan.AFTER_BLOCK]), multiplier + index(I[s + plan.AFTER_FIRST])
            for k in range(I[s + plan.AFTER_N]):
                total -= W[x + n * k + l] * W[row + k]
        W[multiplier + row_of(W, order + l)] = total / W[panel + n * l + l]
