"""What constraints ask of a motion: residuals, rates, and the wrenches that hold them.

With frames A and B, X = X_AB, the twist of B relative to A, in B, and its rate are

    V = V_B − Ad(X⁻¹) V_A,        V̇ = V̇_B − Ad(X⁻¹) V̇_A + ad(V) Ad(X⁻¹) V_A.                                      (1)

A row of a constraint is a form c on V: c·V = 0 along every motion that it allows, so that λ c is a wrench on B, in B,
and −AdT(X⁻¹) λ c one on A.  The derivative of c·V is c·V̇ + d, with d = ċ·V, which each kind gives:

cut joint       c ⟂ S(s), the joint's subspace; residual c·log(X_J(s)⁻¹ X) with the coordinates s nearest to X, so
                that the logarithm is zero on the constraint and never near its branch; d = −c·Ṡṡ, ṡ = S⁺V.     (2)
distance        r = p_AB, L = |r|, n = r/L: residual L − L₀, c = (0, n), d = n·(w×u) + (u·u − L̇²)/L in B.       (3)
point           residual t·r for directions t of A (a line: two, a plane: one); c = (0, t), d = t·(w×u) in B.   (4)
rolling         a disc or ball of radius R about B on the plane of A with the normal n: the point of contact is at ρ
                from the centre, ρ = −R m/|m|, m = n − (n·a)a, a the disc's axis (a ball: m = n).  Its velocity
                u + w×ρ is zero along n and along two directions of the plane: c = (ρ×t, t),
                d = t·(w×u) + t·(w×ρ̇).  Only the first has a residual, n·r − R|m|; the others are not integrable. (5)
coupling        Σ c_i q_i − c₀ between coordinates of joints: gears, racks.                                    (6)
motion          coordinates of a joint follow inputs: value, rate and acceleration.  On a group the residual is the
                logarithm of target⁻¹ q.                                                                       (7)
user            a function writes φ, ċ·v and the rows of ∂φ/∂q.
weld            while its switch is on, B stays at the pose X₀ in A that it had then: φ = log(X₀⁻¹ X), c = e_k.    (8)
hold            while its switch σ is on, a speed is zero: φ̇ = σ v_j, and no φ, as it stays where it is.          (9)

The switch of (8) and (9) is zero for a row that is off, which then has J = 0 and is left out as one that holds nothing.
With σ = 1 + e in (9), the correction M dv = Jᵀμ, J dv = −φ̇ of loops.closing is Newton's impact, J v⁺ = −e J v.

Kinds (6), (7), (9) and a user's act on speeds; their rows have no wrenches.  Adding a kind: its number in layout.py,
its branch in `evaluate`, a dataclass in liegeo/model/constraints.py.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import call_address, index, kernel
from liegeo.kernels import layout as at
from liegeo.kernels.elements import place_frames, push
from liegeo.kernels.joints import joint_pose, joint_subspace, subspace_rate
from liegeo.kernels.lines import relative
from liegeo.kernels.nodes import node_rate
from liegeo.kernels.spatial import (
    bracket,
    dot,
    plus,
    put,
    rotate_back,
    six,
    sum_columns,
    times,
    twist_outward,
    wrench_inward,
)
from liegeo.lie import quaternion, se2, se3q
from liegeo.lie.se3 import log_translation
from liegeo.lie.series import arctan2
from liegeo.lie.so3 import cross, log_entries

# Parts of the scratch of a cut joint: X, X_J, coordinates, their change, S, normal matrix.
_X, _XJ, _S, _DS, _SUB, _NORMAL = at.CUT_X, at.CUT_XJ, at.CUT_S, at.CUT_DS, at.CUT_SUB, at.CUT_NORMAL
_ITERATIONS = 30


@kernel(forceinline=False)
def evaluate(I, F, q, v, u, W):
    """Wrenches, residuals, rates and d of every row, after `velocities`; frames are placed."""
    if I[at.N_FRAMES] > 0:
        place_frames(I, F, q, v, W)
    m, o, scratch = I[at.N_ROWS], index(I[at.ROWS_W]), at.constraint_parts(I)[5]
    for i in range(I[at.N_CONSTRAINTS]):
        c = index(I[at.CONSTRAINTS]) + i * at.CONSTRAINT_SIZE
        kind, row = I[c + at.C_KIND], index(I[c + at.C_ROW])
        if kind == at.COUPLING:
            _coupling(I, F, c, q, v, o, m, row, W)
            continue
        if kind == at.MOTION:
            _motion(I, F, c, q, v, u, o, m, row, W)
            continue
        if kind == at.USER:
            _user(I, c, q, v, o, m, row, scratch, W)
            continue
        if kind == at.HOLD:
            _hold(I, c, v, u, o, m, row, W)
            continue
        x, y = index(I[index(I[c + at.C_A]) + at.FRAME_W]), index(I[index(I[c + at.C_B]) + at.FRAME_W])
        _, V = _between(W, x, y, scratch + _X)
        if kind == at.CUT:
            _cut(I, F, c, V, o, m, row, scratch, W)
        elif kind == at.DISTANCE:
            _distance(I, F, c, V, o, m, row, scratch, W)
        elif kind == at.POINT:
            _point(I, F, c, V, o, m, row, scratch, W)
        elif kind == at.WELD:
            _weld(I, c, u, o, m, row, scratch, W)
        else:
            _rolling(I, F, c, V, o, m, row, scratch, W)
        for k in range(row, row + I[c + at.C_N]):
            on_B = six(W, o + 6 * k)
            put(W, o + at.ON_A * m + 6 * k, times(-1.0, wrench_inward(W, scratch + _X, on_B)))
            W[o + at.RATE * m + k] = dot(on_B, V)


@kernel
def _between(W, x, y, o):
    """Ad(X⁻¹) V_A and V of (1), for the frames with scratch at x and y; X stands at W[o] then."""
    R, p = relative(W, x, y)
    for k in range(9):
        W[o + k] = R[k]
    for k in range(3):
        W[o + 9 + k] = p[k]
    V_A = twist_outward(W, o, six(W, x + at.V_F))
    return V_A, plus(six(W, y + at.V_F), times(-1.0, V_A))


@kernel
def _set(W, o, m, k, phi, rate, curve):
    W[o + at.PHI * m + k] = phi
    W[o + at.RATE * m + k] = rate
    W[o + at.CURVE * m + k] = curve


@kernel(forceinline=False)
def _coupling(I, F, c, q, v, o, m, row, W):
    """(6): at C_MORE the number of terms, then coordinate and speed of each; at C_F the offset, then the factors."""
    c, o, row = index(c), index(o), index(row)
    terms, f = index(I[c + at.C_MORE]), index(I[c + at.C_F])
    phi, rate = -F[f] + 0.0 * q[0], 0.0 * v[0]
    for k in range(I[terms]):
        factor = F[f + 1 + k]
        phi += factor * q[index(I[terms + 1 + 2 * k])]
        rate += factor * v[index(I[terms + 2 + 2 * k])]
    _set(W, o, m, row, phi, rate, 0.0 * phi)


@kernel(forceinline=False)
def _motion(I, F, c, q, v, u, o, m, row, W):
    """(7): at C_A the row of the joint's body; C_MORE is the first of its speeds."""
    c, o, row = index(c), index(o), index(row)
    b, first, n, x = index(I[c + at.C_A]), index(I[c + at.C_MORE]), I[c + at.C_N], index(I[c + at.C_U])
    kind, jq, jv = I[b + at.KIND], index(I[b + at.JQ]) + first, index(I[b + at.JV]) + first
    given = n
    if kind == at.SPHERICAL:
        given = 4
        a, b0, d = quaternion.difference_entries(u[x : x + 4], q[jq : jq + 4])
        e = (a, b0, d, 0.0 * a, 0.0 * a, 0.0 * a)
    elif kind == at.FREE:
        given = 7
        e = se3q.difference_entries(u[x : x + 7], q[jq : jq + 7])
    elif kind == at.PLANAR:
        a, b0, d = se2.difference_entries(u[x : x + 3], q[jq : jq + 3])
        e = (a, b0, d, 0.0 * a, 0.0 * a, 0.0 * a)
    else:
        zero = 0.0 * q[jq]
        e = (zero, zero, zero, zero, zero, zero)
    added = not (kind == at.SPHERICAL or kind == at.FREE or kind == at.PLANAR)
    for k in range(n):
        phi = q[jq + k] - u[x + k] if added else e[k]
        _set(W, o, m, row + k, phi, v[jv + k] - u[x + given + k], -u[x + given + n + k])


@kernel(forceinline=False)
def _hold(I, c, v, u, o, m, row, W):
    """(9): C_U is the place of its switch, C_MORE the first of its speeds."""
    c, o, row = index(c), index(o), index(row)
    switch, jv = u[index(I[c + at.C_U])], index(I[index(I[c + at.C_A]) + at.JV]) + index(I[c + at.C_MORE])
    zero = 0.0 * v[jv]
    for k in range(index(I[c + at.C_N])):
        W[o + 6 * (row + k)] = 1.0 + zero if switch.real != 0.0 else zero
        _set(W, o, m, row + k, zero, v[jv + k] * switch.real, zero)


@kernel(forceinline=False)
def _weld(I, c, u, o, m, row, scratch, W):
    """(8): at C_U its switch, the quaternion and the position of X₀."""
    c, o, row, scratch = index(c), index(o), index(row), index(scratch)
    x = index(I[c + at.C_U])
    zero = 0.0 * W[scratch + _X]
    on = u[x].real != 0.0
    phi = zero, zero, zero, zero, zero, zero
    if on:
        R = quaternion.matrix_entries(u[x + 1], u[x + 2], u[x + 3], u[x + 4])
        for k in range(9):
            W[scratch + _XJ + k] = R[k]
        for k in range(3):
            W[scratch + _XJ + 9 + k] = u[x + 5 + k]
        phi = _log_between(W, scratch + _XJ, scratch + _X)
    for k in range(6):
        for j in range(6):
            W[o + 6 * (row + k) + j] = 1.0 + zero if on and j == k else zero
        _set(W, o, m, row + k, phi[k], zero, zero)


@kernel(forceinline=False)
def capture(I, c, W, out):
    """Write the switch of a weld that is on, and the pose that B has in A, after `place_frames`."""
    c, scratch = index(c), at.constraint_parts(I)[5]
    x, y = index(I[index(I[c + at.C_A]) + at.FRAME_W]), index(I[index(I[c + at.C_B]) + at.FRAME_W])
    _between(W, x, y, scratch + _X)
    s = scratch + _X
    out[0] = 1.0
    out[1], out[2], out[3], out[4] = quaternion.from_entries(
        W[s], W[s + 1], W[s + 2], W[s + 3], W[s + 4], W[s + 5], W[s + 6], W[s + 7], W[s + 8]
    )
    for k in range(3):
        out[5 + k] = W[s + 9 + k]


@kernel(forceinline=False)
def _user(I, c, q, v, o, m, row, scratch, W):
    """The function at C_MORE writes φ (n), d (n), rows of ∂φ/∂q (n × nv) into the scratch, where they stay."""
    c, o, row, scratch = index(c), index(o), index(row), index(scratch)
    n, nv = I[c + at.C_N], I[at.N_V]
    s = scratch + index(I[c + at.C_F])
    if call_address(I[c + at.C_MORE], 0.0, q, v, W[s : s + n * (nv + 2)]) != 0:
        for k in range(n):
            W[s + k] = np.nan
    for k in range(n):
        rate = 0.0 * v[0]
        for j in range(nv):
            rate += W[s + 2 * n + k * nv + j] * v[j]
        _set(W, o, m, row + k, W[s + k], rate, W[s + n + k])


@kernel(forceinline=False)
def _distance(I, F, c, V, o, m, row, scratch, W):
    c, o, row, scratch = index(c), index(o), index(row), index(scratch)
    p0, p1, p2 = W[scratch + 9], W[scratch + 10], W[scratch + 11]
    n0, n1, n2 = rotate_back(W, scratch, p0, p1, p2)
    length = np.sqrt(p0 * p0 + p1 * p1 + p2 * p2)
    if length.real > 0.0:
        n0, n1, n2 = n0 / length, n1 / length, n2 / length
    w0, w1, w2, u0, u1, u2 = V
    zero = 0.0 * length
    put(W, o + 6 * row, (zero, zero, zero, n0, n1, n2))
    x0, x1, x2 = cross(w0, w1, w2, u0, u1, u2)
    rate = n0 * u0 + n1 * u1 + n2 * u2
    curve = n0 * x0 + n1 * x1 + n2 * x2
    if length.real > 0.0:
        curve += (u0 * u0 + u1 * u1 + u2 * u2 - rate * rate) / length
    _set(W, o, m, row, length - F[index(I[c + at.C_F])], rate, curve)


@kernel(forceinline=False)
def _point(I, F, c, V, o, m, row, scratch, W):
    """Its data: directions in A, three numbers each."""
    c, o, row, scratch = index(c), index(o), index(row), index(scratch)
    f = index(I[c + at.C_F])
    w0, w1, w2, u0, u1, u2 = V
    x0, x1, x2 = cross(w0, w1, w2, u0, u1, u2)
    for k in range(I[c + at.C_N]):
        t = f + 3 * k
        t0, t1, t2 = rotate_back(W, scratch, F[t], F[t + 1], F[t + 2])
        phi = F[t] * W[scratch + 9] + F[t + 1] * W[scratch + 10] + F[t + 2] * W[scratch + 11]
        zero = 0.0 * phi
        put(W, o + 6 * (row + k), (zero, zero, zero, t0, t1, t2))
        _set(W, o, m, row + k, phi, zero, t0 * x0 + t1 * x1 + t2 * x2)


@kernel(forceinline=False)
def _rolling(I, F, c, V, o, m, row, scratch, W):
    """Its data: radius, 1 for a disc or 0 for a ball, the disc's axis in B, then the normal and two more in A."""
    c, o, row, scratch = index(c), index(o), index(row), index(scratch)
    f = index(I[c + at.C_F])
    radius, disc = F[f], F[f + 1]
    a0, a1, a2 = disc * F[f + 2], disc * F[f + 3], disc * F[f + 4]
    w0, w1, w2, u0, u1, u2 = V
    # in B: the normal and its rate −w×n, m and ṁ, the direction m/|m| and its rate
    n0, n1, n2 = rotate_back(W, scratch, F[f + 5], F[f + 6], F[f + 7])
    r0, r1, r2 = cross(n0, n1, n2, w0, w1, w2)
    tilt, tilt_rate = n0 * a0 + n1 * a1 + n2 * a2, r0 * a0 + r1 * a1 + r2 * a2
    m0, m1, m2 = n0 - tilt * a0, n1 - tilt * a1, n2 - tilt * a2
    s = np.sqrt(m0 * m0 + m1 * m1 + m2 * m2)
    m0, m1, m2 = m0 / s, m1 / s, m2 / s
    d0, d1, d2 = r0 - tilt_rate * a0, r1 - tilt_rate * a1, r2 - tilt_rate * a2
    along = m0 * d0 + m1 * d1 + m2 * d2
    d0, d1, d2 = (d0 - along * m0) / s, (d1 - along * m1) / s, (d2 - along * m2) / s
    # ρ in B, and R_ABᵀ of its rate in A, which is ρ̇_B + w×ρ
    p0, p1, p2 = -radius * m0, -radius * m1, -radius * m2
    x0, x1, x2 = cross(w0, w1, w2, p0, p1, p2)
    q0, q1, q2 = x0 - radius * d0, x1 - radius * d1, x2 - radius * d2
    x0, x1, x2 = cross(w0, w1, w2, q0, q1, q2)
    y0, y1, y2 = cross(w0, w1, w2, u0, u1, u2)
    height = F[f + 5] * W[scratch + 9] + F[f + 6] * W[scratch + 10] + F[f + 7] * W[scratch + 11]
    for k in range(3):
        t = f + 5 + 3 * k
        t0, t1, t2 = rotate_back(W, scratch, F[t], F[t + 1], F[t + 2])
        c0, c1, c2 = cross(p0, p1, p2, t0, t1, t2)
        put(W, o + 6 * (row + k), (c0, c1, c2, t0, t1, t2))
        curve = t0 * (x0 + y0) + t1 * (x1 + y1) + t2 * (x2 + y2)
        _set(W, o, m, row + k, height - radius * s if k == 0 else 0.0 * s, 0.0 * s, curve)


# ---- cut joints


@kernel(forceinline=False)
def _cut(I, F, c, V, o, m, row, scratch, W):
    """(2).  C_MORE is the joint's kind, C_U its number of speeds; data: screws, then the rows c unless they turn."""
    c, o, row, scratch = index(c), index(o), index(row), index(scratch)
    kind, nv, f, n = I[c + at.C_MORE], I[c + at.C_U], index(I[c + at.C_F]), I[c + at.C_N]
    e = _nearest(kind, F, f, nv, W, scratch)
    turning = kind == at.SCREW_CHAIN and nv > 1
    curve = times(0.0, V)
    if turning:
        complement(W, scratch + _SUB, nv, W, o + 6 * row, W, scratch + _NORMAL)
        _least_squares(W, scratch, nv, V)
        curve = times(-1.0, subspace_rate(W, scratch + _SUB, nv, W, scratch + _DS))
    else:
        for k in range(6 * n):
            W[o + 6 * row + k] = F[f + 6 * nv + k]
    for k in range(n):
        form = six(W, o + 6 * (row + k))
        _set(W, o, m, row + k, dot(form, e), 0.0 * e[0], dot(form, curve))


@kernel(forceinline=False)
def _nearest(kind, F, f, nv, W, scratch):
    """log(X_J(s)⁻¹ X) for the coordinates s of the joint nearest to X; S(s) stays in the scratch for a chain."""
    f, scratch = index(f), index(scratch)
    x, s = scratch + _X, scratch + _S
    p0, p1, p2 = W[x + 9], W[x + 10], W[x + 11]
    if kind == at.REVOLUTE or kind == at.SPHERICAL or kind == at.PLANAR:
        a, b, c, d = quaternion.from_entries(
            W[x], W[x + 1], W[x + 2], W[x + 3], W[x + 4], W[x + 5], W[x + 6], W[x + 7], W[x + 8]
        )
        if kind == at.REVOLUTE:
            W[s] = 2.0 * arctan2(F[f] * b + F[f + 1] * c + F[f + 2] * d, a)
        elif kind == at.SPHERICAL:
            W[s], W[s + 1], W[s + 2], W[s + 3] = a, b, c, d
        else:
            W[s], W[s + 1], W[s + 2] = 2.0 * arctan2(d, a), p0, p1
    elif kind == at.PRISMATIC:
        W[s] = F[f + 3] * p0 + F[f + 4] * p1 + F[f + 5] * p2
    elif kind == at.SCREW_CHAIN:
        for k in range(nv):
            W[s + k] = 0.0 * p0
        if nv == 1:
            # of a screw with a pitch the advance counts the turns
            w0, w1, w2, v0, v1, v2 = six(F, f)
            pitch = w0 * v0 + w1 * v1 + w2 * v2
            if abs(pitch) > 0.0:
                W[s] = (w0 * p0 + w1 * p1 + w2 * p2) / pitch
    joint_pose(kind, F, f, nv, W, s, W, scratch + _XJ)
    e = _log_between(W, scratch + _XJ, x)
    if kind != at.SCREW_CHAIN:
        return e
    for _ in range(_ITERATIONS):
        joint_subspace(kind, F, f, nv, W, s, W, scratch + _SUB, W, scratch + _NORMAL)
        _least_squares(W, scratch, nv, e)
        change = 0.0
        for k in range(nv):
            W[s + k] += W[scratch + _DS + k]
            change = max(change, abs(W[scratch + _DS + k]))
        joint_pose(kind, F, f, nv, W, s, W, scratch + _XJ)
        e = _log_between(W, scratch + _XJ, x)
        if change < 1e-13:
            break
    joint_subspace(kind, F, f, nv, W, s, W, scratch + _SUB, W, scratch + _NORMAL)
    return e


@kernel
def _log_between(W, x, y):
    """log(X⁻¹ Y) of the poses at W[x] and W[y]."""
    R, p = relative(W, x, y)
    a, b, c = log_entries(R[0], R[1], R[2], R[3], R[4], R[5], R[6], R[7], R[8])
    d, e, f = log_translation(a, b, c, p[0], p[1], p[2])
    return a, b, c, d, e, f


@kernel(forceinline=False)
def _least_squares(W, scratch, n, V):
    """S⁺ V at _DS, from the n columns at _SUB, by the normal equations: S is well conditioned or no joint."""
    scratch = index(scratch)
    S, N, x = scratch + _SUB, scratch + _NORMAL, scratch + _DS
    for i in range(n):
        W[x + i] = dot(six(W, S + 6 * i), V)
        for j in range(i + 1):
            W[N + 6 * i + j] = dot(six(W, S + 6 * i), six(W, S + 6 * j))
    for i in range(n):
        for j in range(i + 1):
            a = W[N + 6 * i + j]
            for k in range(j):
                a -= W[N + 6 * i + k] * W[N + 6 * j + k]
            W[N + 6 * i + j] = np.sqrt(a) if i == j else a / W[N + 6 * j + j]
        a = W[x + i]
        for k in range(i):
            a -= W[N + 6 * i + k] * W[x + k]
        W[x + i] = a / W[N + 6 * i + i]
    for i in range(n - 1, -1, -1):
        a = W[x + i]
        for k in range(i + 1, n):
            a -= W[N + 6 * k + i] * W[x + k]
        W[x + i] = a / W[N + 6 * i + i]


@kernel(forceinline=False)
def complement(S, o, n, out, i, Q, x):
    """Write 6 − n orthonormal rows ⟂ to the n columns at S[o] at out[i]: unit vectors, where they are.  Q: 36 at x."""
    o, i, x = index(o), index(i), index(x)
    for k in range(6):
        if k < n:
            a = six(S, o + 6 * k)
        else:
            # the unit vector that is furthest from all so far; the first of equals
            best, nearest, a = -1.0, 0, six(S, o)
            for j in range(6):
                left = 1.0
                for l in range(k):
                    left -= (Q[x + 6 * l + j] * Q[x + 6 * l + j]).real
                if left > best + 1e-9:
                    best, nearest = left, j
            zero = 0.0 * S[o]
            for j in range(6):
                Q[x + 6 * k + j] = zero
            Q[x + 6 * k + nearest] = 1.0 + zero
            a = six(Q, x + 6 * k)
        # twice is enough [Kahan]
        for _ in range(2):
            for l in range(k):
                b = six(Q, x + 6 * l)
                a = plus(a, times(-dot(a, b), b))
        a = times(1.0 / np.sqrt(dot(a, a)), a)
        put(Q, x + 6 * k, a)
        if k >= n:
            put(out, i + 6 * (k - n), a)


# ---- accelerations and forces


@kernel(forceinline=False)
def accelerated(I, F, q, v, a, gravity, W):
    """RIGHT = J v̇ + J̇ v (and what moves by itself), for v̇ = a and the accelerations A at ACC; after `evaluate`."""
    m, o, scratch = I[at.N_ROWS], index(I[at.ROWS_W]), at.constraint_parts(I)[5]
    for i in range(I[at.N_CONSTRAINTS]):
        c = index(I[at.CONSTRAINTS]) + i * at.CONSTRAINT_SIZE
        kind, row, n = I[c + at.C_KIND], index(I[c + at.C_ROW]), I[c + at.C_N]
        if kind >= at.COUPLING:
            for k in range(n):
                W[o + at.RIGHT * m + row + k] = W[o + at.CURVE * m + row + k] + along(I, F, c, k, a, scratch, W)
            continue
        x, y = index(I[c + at.C_A]), index(I[c + at.C_B])
        A, B = index(I[x + at.FRAME_W]), index(I[y + at.FRAME_W])
        V_A, V = _between(W, A, B, scratch + _X)
        rate_A = twist_outward(W, scratch + _X, frame_rate(I, F, x, q, v, a, gravity, W))
        rate = plus(plus(frame_rate(I, F, y, q, v, a, gravity, W), times(-1.0, rate_A)), bracket(V, V_A))
        for k in range(row, row + n):
            W[o + at.RIGHT * m + k] = W[o + at.CURVE * m + k] + dot(six(W, o + 6 * k), rate)


@kernel
def along(I, F, c, k, a, scratch, W):
    """Row k of a constraint on speeds, times a."""
    kind = I[c + at.C_KIND]
    total = 0.0 * a[0]
    if kind == at.HOLD:
        o, row = index(I[at.ROWS_W]), index(I[c + at.C_ROW])
        return W[o + 6 * (row + k)] * a[index(I[index(I[c + at.C_A]) + at.JV]) + index(I[c + at.C_MORE]) + k]
    if kind == at.MOTION:
        b = index(I[c + at.C_A])
        return total + a[index(I[b + at.JV]) + index(I[c + at.C_MORE]) + k]
    if kind == at.COUPLING:
        terms, f = index(I[c + at.C_MORE]), index(I[c + at.C_F])
        for j in range(I[terms]):
            total += F[f + 1 + j] * a[index(I[terms + 2 + 2 * j])]
        return total
    n, nv = I[c + at.C_N], I[at.N_V]
    s = scratch + index(I[c + at.C_F]) + 2 * n + k * nv
    for j in range(nv):
        total += W[s + j] * a[j]
    return total


@kernel(forceinline=False)
def frame_rate(I, F, r, q, v, a, gravity, W):
    """Rate of the twist of the frame with row r, with gravity as it is in ACC: (3) of kinematics.py for a frame."""
    r = index(r)
    body, x, node = I[r + at.FRAME_BODY], index(I[r + at.FRAME_W]), I[r + at.FRAME_NODE]
    if body < 0:
        zero = 0.0 * W[x]
        f0, f1, f2 = rotate_back(W, x + at.X_WF, -gravity[0], -gravity[1], -gravity[2])
        return zero, zero, zero, f0, f1, f2
    b, _, w = at.rows(body)
    rate = twist_outward(W, x + at.X_BF, six(W, w + at.ACC))
    if node >= 0:
        n, ev = index(I[b + at.NM]), index(I[b + at.EV])
        bending = sum_columns(W, x + at.PI_F, n, v, ev)
        rate = plus(rate, sum_columns(W, x + at.PI_F, n, a, ev))
        rate = plus(rate, bracket(six(W, x + at.V_F), bending))
        rate = plus(rate, node_rate(I, F, node, q, I[b + at.EQ], v, ev, W, x + at.X_BF, False))
    return rate


@kernel(forceinline=False)
def push_rows(I, W):
    """Jᵀλ of the rows with wrenches as forces on their bodies, (1) of elements.py, after `evaluate` and `biases`."""
    m, o = I[at.N_ROWS], index(I[at.ROWS_W])
    for i in range(I[at.N_CONSTRAINTS]):
        c = index(I[at.CONSTRAINTS]) + i * at.CONSTRAINT_SIZE
        if I[c + at.C_KIND] >= at.COUPLING:
            continue
        row = index(I[c + at.C_ROW])
        for k in range(row, row + I[c + at.C_N]):
            scale = W[o + at.LAMBDA * m + k]
            push(I, I[c + at.C_A], times(scale, six(W, o + at.ON_A * m + 6 * k)), W)
            push(I, I[c + at.C_B], times(scale, six(W, o + 6 * k)), W)


@kernel(forceinline=False)
def add_rows(I, F, sign, W, out):
    """Add ±Jᵀλ of the rows on speeds to generalised forces."""
    m, o, scratch, nv = I[at.N_ROWS], index(I[at.ROWS_W]), at.constraint_parts(I)[5], I[at.N_V]
    for i in range(I[at.N_CONSTRAINTS]):
        c = index(I[at.CONSTRAINTS]) + i * at.CONSTRAINT_SIZE
        kind, row, n = I[c + at.C_KIND], index(I[c + at.C_ROW]), I[c + at.C_N]
        if kind < at.COUPLING:
            continue
        for k in range(n):
            force = sign * W[o + at.LAMBDA * m + row + k]
            if kind == at.MOTION:
                out[index(I[index(I[c + at.C_A]) + at.JV]) + index(I[c + at.C_MORE]) + k] += force
            elif kind == at.HOLD:
                jv = index(I[index(I[c + at.C_A]) + at.JV]) + index(I[c + at.C_MORE])
                out[jv + k] += force * W[o + 6 * (row + k)]
            elif kind == at.COUPLING:
                terms, f = index(I[c + at.C_MORE]), index(I[c + at.C_F])
                for j in range(I[terms]):
                    out[index(I[terms + 2 + 2 * j])] += force * F[f + 1 + j]
            else:
                s = scratch + index(I[c + at.C_F]) + 2 * n + k * nv
                for j in range(nv):
                    out[j] += force * W[s + j]
