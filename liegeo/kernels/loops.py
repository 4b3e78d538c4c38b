"""Trees with constraints, O(N) for each of their m rows: the operational inertia without the mass matrix.

    M v̇ = f + Jᵀλ,        J v̇ + γ = 0.                                                                          (1)

With the innovations factors [JR90, (6.6)], M⁻¹ = (I − ℋΨK)ᵀ D⁻¹ (I − ℋΨK), the rows e_k = (I − ℋΨK) J_kᵀ are one pass
of `gather` each, from the bodies that the row holds to the base and no further, and [JR90, section 9]

    A = J M⁻¹ Jᵀ,   A_kl = e_kᵀ D⁻¹ e_l;        A λ = −(J v̇₀ + γ),   M v̇₀ = f;                                   (2)
    v̇ = v̇₀ + M⁻¹Jᵀλ: `scatter` with Σ λ_k e_k added to what `gather` left.                                      (3)

The same with M + αD + βK in place of M: the saddle-point systems of implicit methods.

A is positive semi-definite; where rows depend on each other it is factorised with pivots, A = L Lᵀ, L m × r, the row
with the largest share left of its own A_kk first, until no row has more than _ROUND_OFF left.  The rows that are left
are redundant: they get no multiplier, and what the others do holds them too.                                     (4)
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, kernel
from liegeo.kernels import articulated, constraints, sparse_loops
from liegeo.kernels import layout as at
from liegeo.kernels.elements import apply_elements
from liegeo.kernels.inertia import biases, inertias
from liegeo.kernels.inverse import accelerations, forces
from liegeo.kernels.kinematics import poses, velocities
from liegeo.kernels.spatial import dot, plus, put, six, sum_columns, times, wrench_inward

# A row of which no more than this share is left by the others is redundant: the square of a sine of 3e-6.
_ROUND_OFF = 1e-11
# Beside others so much larger a row is round-off as a whole: it holds what could not move anyway.
_NOTHING = 1e-24


@kernel
def _gravity(I, u):
    """Return the acceleration of gravity as numbers: with their place, steps of small loops took an eighth longer."""
    g = at.gravity(I)
    return u[g], u[g + 1], u[g + 2]


@kernel(forceinline=False, apart=True)
def forward_dynamics(I, F, q, v, u, W, out):
    """out = v̇ of (1); multipliers at LAMBDA.  Returns as articulated.forward_dynamics."""
    if I[at.ELIMINATION] > 0:
        return sparse_loops.forward_dynamics(I, F, q, v, u, W, out)
    status = articulated.forward_dynamics(I, F, q, v, u, W, out)
    if status == 0 and I[at.N_ROWS] > 0:
        constraints.evaluate(I, F, q, v, u, W)
        gravity = _gravity(I, u)
        constraints.accelerated(I, F, q, v, out, gravity, W)
        operational_inertia(I, F, W)
        m, o = I[at.N_ROWS], index(I[at.ROWS_W])
        for k in range(m):
            W[o + at.RIGHT * m + k] *= -1.0
        multipliers(I, W)
        _add_rows(I, W, out)
        articulated.scatter(I, F, gravity, False, W, out)
    return status


@kernel(forceinline=False, apart=True)
def inverse_dynamics(I, F, q, v, a, W, out):
    """inverse.inverse_dynamics, less Jᵀλ with the multipliers that stand at LAMBDA; residuals at PHI."""
    poses(I, F, q, W)
    velocities(I, F, q, v, W)
    biases(I, F, q, v, W)
    if I[at.N_ELEMENTS] > 0:
        apply_elements(I, F, q, v, a, W)
    constraints.evaluate(I, F, q, v, a, W)
    constraints.push_rows(I, W)
    accelerations(I, F, a, _gravity(I, a), W)
    forces(I, F, q, v, a, W, out)
    constraints.add_rows(I, F, -1.0, W, out)


@kernel(forceinline=False)
def closing(I, F, q, v, u, beta, W, dq, dv):
    """What q and v lack to obey the constraints, in the metric of M + βK: dq = −M⁻¹Jᵀ A⁻¹ φ, dv = −M⁻¹Jᵀ A⁻¹ φ̇.

    φ and φ̇ stay at PHI and RATE.  Returns as articulated.forward_dynamics.
    """
    if I[at.ELIMINATION] > 0:
        return sparse_loops.closing(I, F, q, v, u, beta, W, dq, dv)
    poses(I, F, q, W)
    velocities(I, F, q, v, W)
    constraints.evaluate(I, F, q, v, u, W)
    inertias(I, F, q, W)
    for i in range(I[at.N_BODIES] - 1, -1, -1):
        status = articulated.articulate(I, F, i, 0.0, beta, False, W, False, W)
        if status != 0:
            return status
    operational_inertia(I, F, W)
    correction(I, F, at.PHI, -1.0, W, dq)
    correction(I, F, at.RATE, -1.0, W, dv)
    return 0


@kernel(forceinline=False)
def jacobian(I, F, q, u, W, rest, a, out):
    """Write J of (1) into `out`, row by row: a column is J v̇ for one unit of v̇, at rest.

    `rest` and `a` (nv each) are scratch.  φ stays at PHI.
    """
    m, o, nv = index(I[at.N_ROWS]), index(I[at.ROWS_W]), index(I[at.N_V])
    for j in range(nv):
        rest[j] = a[j] = 0.0
    poses(I, F, q, W)
    velocities(I, F, q, rest, W)
    constraints.evaluate(I, F, q, rest, u, W)
    # at rest it is what laws move by themselves, which is no part of J
    for k in range(m):
        W[o + at.CURVE * m + k] = 0.0
    for j in range(nv):
        a[j] = 1.0
        accelerations(I, F, a, at.NO_GRAVITY, W)
        constraints.accelerated(I, F, q, rest, a, at.NO_GRAVITY, W)
        a[j] = 0.0
        for k in range(m):
            out[nv * k + j] = W[o + at.RIGHT * m + k]


@kernel(forceinline=False)
def factorise(I, F, q, alpha, beta, W):
    """articulated.factorise, and the rows of the constraints at q: prepares W for `correct`."""
    if I[at.ELIMINATION] > 0:
        return sparse_loops.factorise(I, F, q, alpha, beta, W)
    status = articulated.factorise(I, F, q, alpha, beta, W)
    if status == 0:
        _hold_rows(I, F, q, W)
    return status


@kernel(forceinline=False)
def factorise_next(I, F, q, alpha, beta, local, W):
    """Do the same with diag(local) added; nothing needs to stand in W."""
    if I[at.ELIMINATION] > 0:
        return sparse_loops.factorise_next(I, F, q, alpha, beta, local, W)
    articulated.place_inertias(I, F, q, W)
    status = articulated.factorise_next(I, F, q, alpha, beta, local, W)
    if status == 0:
        _hold_rows(I, F, q, W)
    return status


@kernel(forceinline=False)
def _hold_rows(I, F, q, W):
    """Find the rows of the constraints and their operational inertia, after a factorisation."""
    # what rows hold does not depend on speeds, and on no inputs but switches: any numbers serve for the others
    constraints.evaluate(I, F, q, W, W[index(I[at.N_WORK]) :], W)
    operational_inertia(I, F, W)


@kernel(forceinline=False)
def correct(I, F, r, a, b, c, adding, W, B, out):
    """out = x with S x = r + Jᵀμ, J x = a φ + b φ̇: S and J factorised in B, φ and φ̇ at PHI and RATE of W.

    Of rows that are not integrable, which have no φ, J x = c φ̇.
    `adding` times μ is added to the multipliers at LAMBDA of W.
    """
    m, o = I[at.N_ROWS], index(I[at.ROWS_W])
    for i in range(I[at.N_CONSTRAINTS]):
        row = index(I[at.CONSTRAINTS]) + i * at.CONSTRAINT_SIZE
        first = index(I[row + at.C_ROW])
        for k in range(first, first + I[row + at.C_N]):
            phi, rate = W[o + at.PHI * m + k], W[o + at.RATE * m + k]
            kind = I[row + at.C_KIND]
            free = kind == at.HOLD or (kind == at.ROLLING and k > first)
            B[o + at.RIGHT * m + k] = c * rate if free else a * phi + b * rate
    if I[at.ELIMINATION] > 0:
        sparse_loops.solve(I, F, r, B, out)
    else:
        _solve(I, F, r, B, out)
    if adding != 0.0:
        for k in range(m):
            W[o + at.LAMBDA * m + k] += adding * B[o + at.LAMBDA * m + k]
    return 0


@kernel(forceinline=False)
def _solve(I, F, r, B, out):
    """out = x with S x = r + Jᵀμ, J x = b, for b at RIGHT; μ at LAMBDA."""
    m, o, nv = I[at.N_ROWS], index(I[at.ROWS_W]), I[at.N_V]
    e = at.constraint_parts(I)[2]
    articulated.clear(I, B)
    for k in range(nv):
        out[k] = r[k]
    for i in range(I[at.N_BODIES] - 1, -1, -1):
        articulated.gather(I, F, i, out, False, False, B)
    # J S⁻¹ r = e_kᵀ D⁻¹ ε; `out` holds D⁻¹ ε until the end
    for i in range(I[at.N_BODIES]):
        d, _, w = at.rows(i)
        n, jv, ev = index(I[d + at.NM]), index(I[d + at.JV]), index(I[d + at.EV])
        for j in range(index(I[d + at.NV])):
            out[jv + j] = B[w + at.RES + j] * B[w + at.FAC + j]
        for j in range(n):
            out[ev + j] = B[index(I[d + at.FLEX]) + at.EPS * n + j]
    for k in range(m):
        low, high = _touched(I, B, k)
        B[o + at.RIGHT * m + k] -= _dot(B, e + nv * k + low, out, low, max(0, high - low))
    multipliers(I, B)
    _add_rows(I, B, out)
    articulated.scatter(I, F, at.NO_GRAVITY, False, B, out)


@kernel(forceinline=False)
def release(I, W):
    """No multipliers."""
    m, o = I[at.N_ROWS], index(I[at.ROWS_W])
    for k in range(m):
        W[o + at.LAMBDA * m + k] = 0.0
    return 0


@kernel(forceinline=False)
def correction(I, F, what, scale, W, out):
    """out = M⁻¹Jᵀ A⁻¹ b, b being `scale` times the numbers at `what`; after `operational_inertia`."""
    m, o = I[at.N_ROWS], index(I[at.ROWS_W])
    for k in range(m):
        W[o + at.RIGHT * m + k] = scale * W[o + index(what) * m + k]
    multipliers(I, W)
    articulated.clear(I, W)
    for i in range(I[at.N_BODIES]):
        b, _, w = at.rows(i)
        for k in range(index(I[b + at.NV])):
            W[w + at.RES + k] = 0.0
        for k in range(index(I[b + at.NM])):
            W[index(I[b + at.FLEX]) + at.EPS * I[b + at.NM] + k] = 0.0
    _add_rows(I, W, out)
    articulated.scatter(I, F, at.NO_GRAVITY, False, W, out)


@kernel(forceinline=False)
def _add_rows(I, W, out):
    """(3): Σ λ_k e_k to RES, Σ λ_k D⁻¹e_k to EPS; `out` is scratch."""
    m, o, nv = I[at.N_ROWS], index(I[at.ROWS_W]), I[at.N_V]
    _, _, e, g, _, _ = at.constraint_parts(I)
    for j in range(nv):
        out[j] = 0.0
    for k in range(m):
        low, high = _touched(I, W, k)
        _add(out, low, W[o + at.LAMBDA * m + k], W, e + nv * k + low, high - low)
    for i in range(I[at.N_BODIES]):
        b, _, w = at.rows(i)
        jv = index(I[b + at.JV])
        for j in range(index(I[b + at.NV])):
            W[w + at.RES + j] += out[jv + j]
        n = index(I[b + at.NM])
        eps = index(I[b + at.FLEX]) + at.EPS * n
        for k in range(m if n > 0 else 0):
            factor, y = W[o + at.LAMBDA * m + k], g + nv * k + index(I[b + at.EV])
            for j in range(n):
                W[eps + j] += factor * W[y + j]


@kernel
def _touched(I, W, k):
    """The first speed that row k touches and the one behind the last."""
    m, o = I[at.N_ROWS], index(I[at.ROWS_W])
    return index(int(W[o + at.LOW * m + k].real)), index(int(W[o + at.HIGH * m + k].real))


@kernel
def _dot(X, x, Y, y, n):
    """Of n numbers at X[x] and Y[y], in four sums that do not wait for each other."""
    x, y = index(x), index(y)
    a = b = c = d = 0.0 * X[0]
    for _ in range(n // 4):
        a += X[x] * Y[y]
        b += X[x + 1] * Y[y + 1]
        c += X[x + 2] * Y[y + 2]
        d += X[x + 3] * Y[y + 3]
        x, y = x + 4, y + 4
    for k in range(n % 4):
        a += X[x + k] * Y[y + k]
    return (a + b) + (c + d)


@kernel
def _add(X, x, factor, Y, y, n):
    """A multiple of the n numbers at Y[y] to those at X[x]."""
    x, y = index(x), index(y)
    for k in range(n):
        X[x + k] += factor * Y[y + k]


@kernel(forceinline=False)
def operational_inertia(I, F, W):
    """e, D⁻¹e, A of (2) and L of (4), after `articulate` of every body and `evaluate`."""
    m, nv, o = I[at.N_ROWS], I[at.N_V], index(I[at.ROWS_W])
    a, _, e, g, _, scratch = at.constraint_parts(I)
    for j in range(m * nv):
        W[e + j] = W[g + j] = 0.0
    for i in range(I[at.N_CONSTRAINTS]):
        c = index(I[at.CONSTRAINTS]) + i * at.CONSTRAINT_SIZE
        row = index(I[c + at.C_ROW])
        if I[c + at.C_KIND] < at.COUPLING:
            low, high = _gather_frames(I, c, e + nv * row, g + nv * row, scratch, W)
        for k in range(row, row + I[c + at.C_N]):
            if I[c + at.C_KIND] >= at.COUPLING:
                _begin(I, F, c, k - row, e + nv * k, scratch, W)
                low, high = _gather_row(I, e + nv * k, g + nv * k, W)
            W[o + at.LOW * m + k], W[o + at.HIGH * m + k] = low, high
    for k in range(m):
        low, high = _touched(I, W, k)
        for l in range(k + 1):
            first, last = _touched(I, W, l)
            first, last = max(low, first), min(high, last)
            total = 0.0 * W[e]
            # the rows of distant loops have no speeds in common
            if first < last:
                total = _dot(W, e + nv * k + first, W, g + nv * l + first, last - first)
            W[a + m * k + l] = W[a + m * l + k] = total
    _factorise(I, W)


@kernel(forceinline=False)
def _gather_frames(I, c, e, g, scratch, W):
    """(2), (3) of articulated.py for all rows of a constraint between frames, side by side, from frames to the base.

    Two wrenches a row wander inwards, each at a body, that of the outer body first, until they meet.  Returns the first
    of the speeds on the way and the one behind the last.
    """
    c, e, g, scratch = index(c), index(e), index(g), index(scratch)
    m, o, nv, n, row = I[at.N_ROWS], index(I[at.ROWS_W]), I[at.N_V], I[c + at.C_N], index(I[c + at.C_ROW])
    x, y = scratch, scratch + 36
    i = _hold(I, index(I[c + at.C_A]), o + at.ON_A * m + 6 * row, n, e, x, W)
    j = _hold(I, index(I[c + at.C_B]), o + 6 * row, n, e, y, W)
    low, high = nv, 0
    while i >= 0 or j >= 0:
        if i < j:
            i, j, x, y = j, i, y, x
        if i == j:
            for k in range(6 * n):
                W[x + k] += W[y + k]
            j = -1
        b, _, w = at.rows(i)
        low, high = _widen(I, b, low, high)
        for k in range(n):
            put(W, x + 6 * k, _inward(I, b, w, six(W, x + 6 * k), e + nv * k, g + nv * k, W))
        i = I[b + at.PARENT]
    return low, high


@kernel
def _hold(I, r, wrench, n, e, x, W):
    """The body of the frame with row r, −1 for the world; n wrenches at W[wrench] as its biases at W[x], modes in e."""
    body, frame = I[r + at.FRAME_BODY], index(I[r + at.FRAME_W])
    if body < 0:
        return body
    b, _, _ = at.rows(body)
    for k in range(n):
        force = six(W, wrench + 6 * k)
        put(W, x + 6 * k, times(-1.0, wrench_inward(W, frame + at.X_BF, force)))
        if I[r + at.FRAME_NODE] >= 0:
            for j in range(index(I[b + at.NM])):
                W[e + I[at.N_V] * k + index(I[b + at.EV]) + j] += dot(six(W, frame + at.PI_F + 6 * j), force)
    return body


@kernel
def _widen(I, b, low, high):
    """A range of speeds, and those of a body."""
    if I[b + at.NV] > 0:
        low, high = min(low, I[b + at.JV]), max(high, I[b + at.JV] + I[b + at.NV])
    if I[b + at.NM] > 0:
        low, high = min(low, I[b + at.EV]), max(high, I[b + at.EV] + I[b + at.NM])
    return low, high


@kernel
def _inward(I, b, w, z, e, g, W):
    """(2), (3) of articulated.py for one row at one body; returns what goes to the parent."""
    if I[b + at.NM] > 0:
        z = _gather_modes(I, b, z, e, g, W)
    jv = index(I[b + at.JV])
    for k in range(index(I[b + at.NV])):
        residual = W[e + jv + k] - dot(six(W, w + at.SUB + 6 * k), z)
        scaled = residual * W[w + at.FAC + k]
        W[e + jv + k] = residual
        W[g + jv + k] = scaled
        z = plus(z, times(scaled, six(W, w + at.PSU + 6 * k)))
    if I[b + at.PARENT] < 0:
        return z
    z = wrench_inward(W, w + at.R_NB, z)
    if I[b + at.PARENT_NODE] >= 0:
        carrier = index(I[b + at.CARRIER])
        pb, _, _ = at.rows(I[b + at.PARENT])
        for j in range(index(I[pb + at.NM])):
            W[e + index(I[pb + at.EV]) + j] -= dot(six(W, carrier + at.CARRIER_PI + 6 * j), z)
        z = wrench_inward(W, carrier, z)
    return z


@kernel(forceinline=False)
def _begin(I, F, c, k, e, scratch, W):
    """J_kᵀ of a constraint on speeds into the row at e; marks where it begins."""
    c, e, scratch, kind = index(c), index(e), index(scratch), I[c + at.C_KIND]
    marks = at.constraint_parts(I)[4]
    for i in range(I[at.N_BODIES]):
        W[marks + i] = 0.0
    if kind == at.USER:
        n, nv = I[c + at.C_N], I[at.N_V]
        s = scratch + index(I[c + at.C_F]) + 2 * n + k * nv
        for j in range(nv):
            W[e + j] = W[s + j]
        for i in range(I[at.N_BODIES]):
            _mark(W, marks, i)
    elif kind == at.MOTION:
        b = index(I[c + at.C_A])
        W[e + index(I[b + at.JV]) + index(I[c + at.C_MORE]) + k] = 1.0
        _mark(W, marks, (b - at.HEADER) // at.BODY_I_SIZE)
    elif kind == at.HOLD:
        b, on = index(I[c + at.C_A]), index(I[at.ROWS_W]) + 6 * (index(I[c + at.C_ROW]) + index(k))
        W[e + index(I[b + at.JV]) + index(I[c + at.C_MORE]) + k] = W[on]
        _mark(W, marks, (b - at.HEADER) // at.BODY_I_SIZE)
    else:
        terms, f = index(I[c + at.C_MORE]), index(I[c + at.C_F])
        for j in range(I[terms]):
            W[e + index(I[terms + 2 + 2 * j])] += F[f + 1 + j]
        for i in range(I[at.N_BODIES]):
            b, _, _ = at.rows(i)
            for j in range(index(I[b + at.NV])):
                if W[e + index(I[b + at.JV]) + j] != 0.0:
                    _mark(W, marks, i)
                    break


@kernel
def _mark(W, marks, i):
    """Body i takes part: its bias begins at zero."""
    _, _, w = at.rows(i)
    if W[marks + index(i)] == 0.0:
        W[marks + index(i)] = 1.0
        for j in range(6):
            W[w + at.FOR + j] = 0.0


@kernel(forceinline=False)
def _gather_row(I, e, g, W):
    """The same for one row, over the marked bodies and what carries them; wrenches stand at FOR."""
    e, g = index(e), index(g)
    marks = at.constraint_parts(I)[4]
    low, high = I[at.N_V], 0
    for i in range(I[at.N_BODIES] - 1, -1, -1):
        if W[marks + i] == 0.0:
            continue
        b, _, w = at.rows(i)
        low, high = _widen(I, b, low, high)
        z = _inward(I, b, w, six(W, w + at.FOR), e, g, W)
        parent = I[b + at.PARENT]
        if parent >= 0:
            _mark(W, marks, parent)
            _, _, p = at.rows(parent)
            for j in range(6):
                W[p + at.FOR + j] += z[j]
    return low, high


@kernel(forceinline=False)
def _gather_modes(I, b, z, e, g, W):
    """(2) of articulated.py: ε_f in the row at e, D_f⁻¹ ε_f in that at g; returns the new z."""
    b, e, g = index(b), index(e), index(g)
    n, ev, y = index(I[b + at.NM]), index(I[b + at.EV]), index(I[b + at.FLEX])
    if I[b + at.OFFSET] == at.DEFORMING:
        for k in range(n):
            W[e + ev + k] += dot(six(W, y + at.PID * n + 6 * k), z)
    for k in range(n):
        W[g + ev + k] = W[e + ev + k]
    articulated.solve_modes(W, y + at.PFF * n, n, g + ev)
    return plus(z, sum_columns(W, y + at.GAIN * n, n, W, e + ev))


@kernel(forceinline=False)
def _factorise(I, W):
    """(4): L in the rows of A, by the order of elimination; that order at ORDER, −1 behind the last.  Uses A up."""
    m, o = I[at.N_ROWS], index(I[at.ROWS_W])
    a, l, _, _, _, _ = at.constraint_parts(I)
    left, order, largest = o + at.PIVOT * m, o + at.ORDER * m, 0.0
    for k in range(m):
        largest = max(largest, W[a + m * k + k].real)
    for k in range(m):
        W[left + k] = W[a + m * k + k] if W[a + m * k + k].real > _NOTHING * largest else 0.0 * W[a + m * k + k]
        W[order + k] = -1.0
        for r in range(m):
            W[l + m * k + r] = 0.0
    for r in range(m):
        best, share = -1, _ROUND_OFF
        for k in range(m):
            whole = W[a + m * k + k].real
            if whole > 0.0 and W[left + k].real > share * whole:
                best, share = k, W[left + k].real / whole
        if best < 0:
            return
        # the row of A that is chosen becomes the column of L, and is taken out of the rows where it is not zero
        best = index(best)
        pivot, row, first, last = np.sqrt(W[left + best]), index(a + m * best), m, 0
        inverse = 1.0 / pivot
        W[order + r], W[left + best], W[l + m * best + r] = best, 0.0, pivot
        for k in range(m):
            # nothing is left of rows that were chosen, or that hold nothing that could move
            if W[left + k].real <= 0.0 or W[row + k] == 0.0:
                W[row + k] = 0.0
                continue
            W[row + k] *= inverse
            first, last = min(first, k), k + 1
        for k in range(index(first), last):
            factor, own = W[row + k], W[a + m * k + k]
            if factor == 0.0:
                continue
            W[l + m * k + r] = factor
            W[left + k] -= factor * factor
            _add(W, a + m * k + first, -factor, W, row + first, last - first)
            W[a + m * k + k] = own


@kernel
def chosen(I, W, r):
    """The row that was eliminated r-th, or −1."""
    m, o = I[at.N_ROWS], index(I[at.ROWS_W])
    return int(W[o + at.ORDER * m + r].real)


@kernel(forceinline=False)
def multipliers(I, W):
    """A λ = b for b at RIGHT, λ at LAMBDA; redundant rows get none."""
    m, o = I[at.N_ROWS], index(I[at.ROWS_W])
    _, l, _, _, _, _ = at.constraint_parts(I)
    x, y = o + at.LAMBDA * m, o + at.PIVOT * m
    rank = 0
    for k in range(m):
        W[x + k] = 0.0
    for r in range(m):
        k = chosen(I, W, r)
        if k < 0:
            break
        row = l + m * index(k)
        W[y + r] = (W[o + at.RIGHT * m + index(k)] - _dot(W, row, W, y, r)) / W[row + r]
        rank = r + 1
    for r in range(rank - 1, -1, -1):
        k = index(chosen(I, W, r))
        row = l + m * k
        W[x + k] = W[y + r] / W[row + r]
        _add(W, y, -W[x + k], W, row, r)


@kernel(forceinline=False)
def smallest_multipliers(I, F, W):
    """Replace λ at LAMBDA by the smallest multipliers that do the same, which give redundant rows their share.

    What λ does is L Lᵀ λ, so it may change in the null space of Lᵀ only, and the smallest is its share in the range of
    L,  L (LᵀL)⁻¹ Lᵀ λ.                                                                                           (5)
    LᵀL is factorised in the place of A, which (4) has used up.
    """
    if I[at.ELIMINATION] > 0:
        sparse_loops.smallest_multipliers(I, F, W)
        return
    m, o = I[at.N_ROWS], index(I[at.ROWS_W])
    a, l, _, _, _, _ = at.constraint_parts(I)
    x, y, n = o + at.LAMBDA * m, o + at.PIVOT * m, 0
    while n < m and chosen(I, W, n) >= 0:
        n += 1
    if n == m:
        return
    for r in range(n):
        W[y + r] = 0.0 * W[x]
        for k in range(m):
            W[y + r] += W[l + m * k + r] * W[x + k]
        for s in range(r + 1):
            total = 0.0 * W[x]
            for k in range(m):
                total += W[l + m * k + r] * W[l + m * k + s]
            # Cholesky's factor, row by row
            for k in range(s):
                total -= W[a + m * r + k] * W[a + m * s + k]
            W[a + m * r + s] = np.sqrt(total) if s == r else total / W[a + m * s + s]
        for k in range(r):
            W[y + r] -= W[a + m * r + k] * W[y + k]
        W[y + r] /= W[a + m * r + r]
    for r in range(n - 1, -1, -1):
        for k in range(r + 1, n):
            W[y + r] -= W[a + m * k + r] * W[y + k]
        W[y + r] /= W[a + m * r + r]
    for k in range(m):
        W[x + k] = 0.0 * W[x + k]
        for r in range(n):
            W[x + k] += W[l + m * k + r] * W[y + r]


@kernel(forceinline=False)
def pivots(I, W, left, whole):
    """Write what is left of each row when its turn comes in (4), zero if it is redundant, and its A_kk."""
    if I[at.ELIMINATION] > 0:
        sparse_loops.pivots(I, W, left, whole)
        return
    m, l = index(I[at.N_ROWS]), at.constraint_parts(I)[1]
    for k in range(m):
        left[k] = whole[k] = 0.0
    for r in range(m):
        k = chosen(I, W, r)
        if k >= 0:
            left[k] = W[l + index(k) * m + r] ** 2
    for k in range(m):
        for r in range(m):
            whole[k] += W[l + k * m + r] ** 2
