"""Rotations, twists, wrenches and inertias inside flat rows: the arithmetic of the passes, without small matrices.

A rotation is nine numbers of an array from an offset, row by row; a pose is a rotation and three more.  Twists and
wrenches travel as tuples of six, which the compiler keeps in registers.  With (R, p) the pose of B in N,

    V_B = Ad(X_BN) V_N = (Rᵀw, Rᵀ(v + w×p)),      F_N = AdT(X_BN) F_B = (R n + p×R f, R f).    (1)

An inertia P = [J H; Hᵀ M], J and M symmetric, is 21 numbers: J (xx yy zz xy xz yz), H (row by row), M (as J).  The
congruence AdT(X_BN) P Ad(X_BN) is a rotation of each block, then the shift

    H ← H + p̂ M,      J ← J − H_old p̂ + p̂ H_newᵀ.                                             (2)
"""

from __future__ import annotations

from liegeo._jit import fetch, kernel
from liegeo.lie.so3 import cross


@kernel
def rotate(R, o, x, y, z):
    """R (x, y, z)."""
    return (
        R[o] * x + R[o + 1] * y + R[o + 2] * z,
        R[o + 3] * x + R[o + 4] * y + R[o + 5] * z,
        R[o + 6] * x + R[o + 7] * y + R[o + 8] * z,
    )


@kernel
def rotate_back(R, o, x, y, z):
    """Rᵀ (x, y, z)."""
    return (
        R[o] * x + R[o + 3] * y + R[o + 6] * z,
        R[o + 1] * x + R[o + 4] * y + R[o + 7] * z,
        R[o + 2] * x + R[o + 5] * y + R[o + 8] * z,
    )


@kernel
def six(W, o):
    """The six numbers at W[o]."""
    return W[o], W[o + 1], W[o + 2], W[o + 3], W[o + 4], W[o + 5]


@kernel
def put(W, o, a):
    """W[o …] = a."""
    W[o], W[o + 1], W[o + 2], W[o + 3], W[o + 4], W[o + 5] = a


@kernel
def add(W, o, a):
    """W[o …] += a."""
    W[o] += a[0]
    W[o + 1] += a[1]
    W[o + 2] += a[2]
    W[o + 3] += a[3]
    W[o + 4] += a[4]
    W[o + 5] += a[5]


@kernel
def plus(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]


@kernel
def times(s, a):
    return s * a[0], s * a[1], s * a[2], s * a[3], s * a[4], s * a[5]


@kernel
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]


@kernel
def sum_columns(W, o, n, x, i):
    """The 6 × n columns at W[o] times the n numbers at x[i]."""
    z = 0.0 * x[i]
    a = (z, z, z, z, z, z)
    for k in range(n):
        a = plus(a, times(x[i + k], six(W, o + 6 * k)))
    return a


@kernel
def fetch_ahead(F, o, n, ahead):
    """Ask for what stands `ahead` of the n numbers at F[o], unless that is 0.

    Processors foresee that reading goes on, but only once it has begun and only to the end of a page: a long chain
    whose bodies are all different waits several times a body.  Asked for all at once it does not come in time; asked
    for beside the sums over the same place of the body before, it does.
    """
    if ahead != 0:
        for a in range(0, n, 8):
            fetch(F, o + ahead + a)


@kernel
def sum_rows(F, o, m, n, x, i, out, k, ahead):
    """out[k + a] = Σ_l x[i + l] F[o + m l + a] for a < m: the n rows of m numbers at F[o], times x; see `fetch_ahead`.

    Along the rows, so that the compiler makes several numbers at once; two rows together, to write half as often.
    """
    rows, y = F[o : o + m * n], out[k : k + m]
    for a in range(m):
        y[a] = x[i] * rows[a] if n % 2 == 1 else 0.0
    for l in range(n % 2, n, 2):
        c, d = x[i + l], x[i + l + 1]
        first, second = rows[m * l : m * l + m], rows[m * l + m : m * l + 2 * m]
        fetch_ahead(F, o + m * l, 2 * m, ahead)
        for a in range(m):
            y[a] += c * first[a] + d * second[a]


@kernel
def sum_blocks(F, o, n, x, i, out, k, ahead):
    """out[k + 6 l …] = Σ_m x[i + m] B_lm, six numbers each: B is symmetric in l and m, at F[o] is its lower triangle.

    Half the memory of the whole.  Two rows l together: what they give to the sums before them is written once, what
    they get from them stays in registers.
    """
    y = out[k : k + 6 * n]
    if n % 2 == 1:
        put(y, 0, times(x[i], six(F, o)))
    for l in range(n % 2, n, 2):
        start, e, g = o + 3 * l * (l + 1), x[i + l], x[i + l + 1]
        upper, lower = F[start : start + 6 * l + 6], F[start + 6 * l + 6 : start + 12 * l + 18]
        fetch_ahead(F, start, 12 * l + 18, ahead)
        before, d = y[: 6 * l], 6 * l
        for a in range(6 * l):
            before[a] += e * upper[a] + g * lower[a]
        a0, a1, a2, a3, a4, a5 = plus(times(e, six(upper, d)), times(g, six(lower, d)))
        b0, b1, b2, b3, b4, b5 = plus(times(e, six(lower, d)), times(g, six(lower, d + 6)))
        # by numbers: with tuples it is 5 % slower with ten modes
        for m in range(l):
            c, r = x[i + m], 6 * m
            a0 += c * upper[r]
            a1 += c * upper[r + 1]
            a2 += c * upper[r + 2]
            a3 += c * upper[r + 3]
            a4 += c * upper[r + 4]
            a5 += c * upper[r + 5]
            b0 += c * lower[r]
            b1 += c * lower[r + 1]
            b2 += c * lower[r + 2]
            b3 += c * lower[r + 3]
            b4 += c * lower[r + 4]
            b5 += c * lower[r + 5]
        put(y, d, (a0, a1, a2, a3, a4, a5))
        put(y, d + 6, (b0, b1, b2, b3, b4, b5))


@kernel
def twist_outward(X, o, V):
    """V_B of (1); the pose is at X[o]."""
    w0, w1, w2, v0, v1, v2 = V
    c0, c1, c2 = cross(w0, w1, w2, X[o + 9], X[o + 10], X[o + 11])
    a0, a1, a2 = rotate_back(X, o, w0, w1, w2)
    b0, b1, b2 = rotate_back(X, o, v0 + c0, v1 + c1, v2 + c2)
    return a0, a1, a2, b0, b1, b2


@kernel
def wrench_inward(X, o, F_B):
    """F_N of (1)."""
    n0, n1, n2, f0, f1, f2 = F_B
    a0, a1, a2 = rotate(X, o, n0, n1, n2)
    b0, b1, b2 = rotate(X, o, f0, f1, f2)
    c0, c1, c2 = cross(X[o + 9], X[o + 10], X[o + 11], b0, b1, b2)
    return a0 + c0, a1 + c1, a2 + c2, b0, b1, b2


@kernel
def compose(X, o, Y, i, out, k):
    """out = X Y for poses of 9 + 3 numbers at offsets o, i, k; out must not overlap the others."""
    for r in range(3):
        a, b, c = X[o + 3 * r], X[o + 3 * r + 1], X[o + 3 * r + 2]
        for s in range(3):
            out[k + 3 * r + s] = a * Y[i + s] + b * Y[i + 3 + s] + c * Y[i + 6 + s]
        out[k + 9 + r] = a * Y[i + 9] + b * Y[i + 10] + c * Y[i + 11] + X[o + 9 + r]


@kernel
def bracket(V, U):
    """ad(V) U = (w_V×w_U, v_V×w_U + w_V×v_U)."""
    w0, w1, w2, v0, v1, v2 = U
    a0, a1, a2 = cross(V[0], V[1], V[2], w0, w1, w2)
    b0, b1, b2 = cross(V[3], V[4], V[5], w0, w1, w2)
    c0, c1, c2 = cross(V[0], V[1], V[2], v0, v1, v2)
    return a0, a1, a2, b0 + c0, b1 + c1, b2 + c2


@kernel
def inertia_apply(P, o, V):
    """P V."""
    w0, w1, w2, v0, v1, v2 = V
    xx, yy, zz, xy, xz, yz = P[o], P[o + 1], P[o + 2], P[o + 3], P[o + 4], P[o + 5]
    h = o + 6
    m = o + 15
    n0 = xx * w0 + xy * w1 + xz * w2 + P[h] * v0 + P[h + 1] * v1 + P[h + 2] * v2
    n1 = xy * w0 + yy * w1 + yz * w2 + P[h + 3] * v0 + P[h + 4] * v1 + P[h + 5] * v2
    n2 = xz * w0 + yz * w1 + zz * w2 + P[h + 6] * v0 + P[h + 7] * v1 + P[h + 8] * v2
    f0 = P[h] * w0 + P[h + 3] * w1 + P[h + 6] * w2 + P[m] * v0 + P[m + 3] * v1 + P[m + 4] * v2
    f1 = P[h + 1] * w0 + P[h + 4] * w1 + P[h + 7] * w2 + P[m + 3] * v0 + P[m + 1] * v1 + P[m + 5] * v2
    f2 = P[h + 2] * w0 + P[h + 5] * w1 + P[h + 8] * w2 + P[m + 4] * v0 + P[m + 5] * v1 + P[m + 2] * v2
    return n0, n1, n2, f0, f1, f2


@kernel
def inertia_column(P, o, axis):
    """P V for the unit rotation about axis 0, 1 or 2: a column of [J; Hᵀ]."""
    h = o + 6 + 3 * axis
    i = 0 if axis == 0 else 2 + axis
    j = 3 if axis == 0 else (1 if axis == 1 else 5)
    k = 4 if axis == 0 else (5 if axis == 1 else 2)
    return P[o + i], P[o + j], P[o + k], P[h], P[h + 1], P[h + 2]


@kernel
def rigid_apply(m, c, J, o, V):
    """The rigid inertia with mass m, first moment c and J at J[o]: (J w + c×v, m v + w×c)."""
    w0, w1, w2, v0, v1, v2 = V
    c0, c1, c2 = c
    a0, a1, a2 = cross(c0, c1, c2, v0, v1, v2)
    b0, b1, b2 = cross(w0, w1, w2, c0, c1, c2)
    return (
        J[o] * w0 + J[o + 3] * w1 + J[o + 4] * w2 + a0,
        J[o + 3] * w0 + J[o + 1] * w1 + J[o + 5] * w2 + a1,
        J[o + 4] * w0 + J[o + 5] * w1 + J[o + 2] * w2 + a2,
        m * v0 + b0,
        m * v1 + b1,
        m * v2 + b2,
    )


@kernel
def put_rigid(P, o, m, c, J, i):
    """Write the rigid inertia (m, c, J at J[i]) as 21 numbers at P[o]."""
    c0, c1, c2 = c
    for k in range(6):
        P[o + k] = J[i + k]
    h = o + 6
    P[h], P[h + 1], P[h + 2] = 0.0, -c2, c1
    P[h + 3], P[h + 4], P[h + 5] = c2, 0.0, -c0
    P[h + 6], P[h + 7], P[h + 8] = -c1, c0, 0.0
    s = o + 15
    P[s], P[s + 1], P[s + 2], P[s + 3], P[s + 4], P[s + 5] = m, m, m, 0.0, 0.0, 0.0


@kernel
def _rotate_symmetric(R, o, xx, yy, zz, xy, xz, yz):
    """R S Rᵀ."""
    a, b, c = R[o], R[o + 1], R[o + 2]
    d, e, f = R[o + 3], R[o + 4], R[o + 5]
    g, h, i = R[o + 6], R[o + 7], R[o + 8]
    a0, a1, a2 = a * xx + b * xy + c * xz, a * xy + b * yy + c * yz, a * xz + b * yz + c * zz
    d0, d1, d2 = d * xx + e * xy + f * xz, d * xy + e * yy + f * yz, d * xz + e * yz + f * zz
    g0, g1, g2 = g * xx + h * xy + i * xz, g * xy + h * yy + i * yz, g * xz + h * yz + i * zz
    return (
        a0 * a + a1 * b + a2 * c,
        d0 * d + d1 * e + d2 * f,
        g0 * g + g1 * h + g2 * i,
        a0 * d + a1 * e + a2 * f,
        a0 * g + a1 * h + a2 * i,
        d0 * g + d1 * h + d2 * i,
    )


@kernel
def add_inertia_inward(X, x, P, o, out, k):
    """out += AdT(X_BN) P Ad(X_BN), (2): the inertia at P[o] of B, seen in N, added to that at out[k]."""
    J0, J1, J2, J3, J4, J5 = _rotate_symmetric(X, x, P[o], P[o + 1], P[o + 2], P[o + 3], P[o + 4], P[o + 5])
    m = o + 15
    m0, m1, m2, m3, m4, m5 = _rotate_symmetric(X, x, P[m], P[m + 1], P[m + 2], P[m + 3], P[m + 4], P[m + 5])
    h = o + 6
    # H Rᵀ, row by row, then R (H Rᵀ), column by column
    t00, t01, t02 = rotate(X, x, P[h], P[h + 1], P[h + 2])
    t10, t11, t12 = rotate(X, x, P[h + 3], P[h + 4], P[h + 5])
    t20, t21, t22 = rotate(X, x, P[h + 6], P[h + 7], P[h + 8])
    a00, a10, a20 = rotate(X, x, t00, t10, t20)
    a01, a11, a21 = rotate(X, x, t01, t11, t21)
    a02, a12, a22 = rotate(X, x, t02, t12, t22)
    p0, p1, p2 = X[x + 9], X[x + 10], X[x + 11]
    # columns of p̂ M
    c00, c10, c20 = cross(p0, p1, p2, m0, m3, m4)
    c01, c11, c21 = cross(p0, p1, p2, m3, m1, m5)
    c02, c12, c22 = cross(p0, p1, p2, m4, m5, m2)
    b00, b01, b02 = a00 + c00, a01 + c01, a02 + c02
    b10, b11, b12 = a10 + c10, a11 + c11, a12 + c12
    b20, b21, b22 = a20 + c20, a21 + c21, a22 + c22
    # (−A p̂)[i, j] + (p̂ Bᵀ)[i, j], A the old and B the new H; −A p̂ has rows p×(row of A)
    out[k] += J0 + (p1 * a02 - p2 * a01) + (p1 * b02 - p2 * b01)
    out[k + 1] += J1 + (p2 * a10 - p0 * a12) + (p2 * b10 - p0 * b12)
    out[k + 2] += J2 + (p0 * a21 - p1 * a20) + (p0 * b21 - p1 * b20)
    out[k + 3] += J3 + (p2 * a00 - p0 * a02) + (p1 * b12 - p2 * b11)
    out[k + 4] += J4 + (p0 * a01 - p1 * a00) + (p1 * b22 - p2 * b21)
    out[k + 5] += J5 + (p0 * a11 - p1 * a10) + (p2 * b20 - p0 * b22)
    q = k + 6
    out[q] += b00
    out[q + 1] += b01
    out[q + 2] += b02
    out[q + 3] += b10
    out[q + 4] += b11
    out[q + 5] += b12
    out[q + 6] += b20
    out[q + 7] += b21
    out[q + 8] += b22
    s = k + 15
    out[s] += m0
    out[s + 1] += m1
    out[s + 2] += m2
    out[s + 3] += m3
    out[s + 4] += m4
    out[s + 5] += m5


@kernel
def subtract_square(P, o, U, s):
    """P ← P − s U Uᵀ."""
    n0, n1, n2, f0, f1, f2 = U
    a0, a1, a2, b0, b1, b2 = s * n0, s * n1, s * n2, s * f0, s * f1, s * f2
    P[o] -= a0 * n0
    P[o + 1] -= a1 * n1
    P[o + 2] -= a2 * n2
    P[o + 3] -= a0 * n1
    P[o + 4] -= a0 * n2
    P[o + 5] -= a1 * n2
    h = o + 6
    P[h] -= a0 * f0
    P[h + 1] -= a0 * f1
    P[h + 2] -= a0 * f2
    P[h + 3] -= a1 * f0
    P[h + 4] -= a1 * f1
    P[h + 5] -= a1 * f2
    P[h + 6] -= a2 * f0
    P[h + 7] -= a2 * f1
    P[h + 8] -= a2 * f2
    m = o + 15
    P[m] -= b0 * f0
    P[m + 1] -= b1 * f1
    P[m + 2] -= b2 * f2
    P[m + 3] -= b0 * f1
    P[m + 4] -= b0 * f2
    P[m + 5] -= b1 * f2
