"""Nodes of flexible bodies: poses on SE(3) and their differentials.

With θ = Φ_r η + ½ηG_rη, p = p₀ + Φ_t η + ½ηG_tη (modes in the body's axes; G, of second order, comes from stiffening by
loads at the node and is mostly absent), the node's pose in its body is X_BN = (exp(θ̂) R₀, p).  With the columns
Φ(η) = Φ + Gη, A = dexp_left(θ), s = A θ̇ its angular velocity, θ̇ = Φ_r(η)η̇, ṗ = Φ_t(η)η̇ and g = η̇Gη̇,

    twist of N relative to B in N:   Π_N η̇ = (Rᵀ s, Rᵀ ṗ),                                          (1)
    and its rate without η̈:          (Rᵀ (Ȧ θ̇ + A g_r), Rᵀ (g_t − s×ṗ)),                           (2)
    the same twist in B, at B:       Π_B η̇ = (s, ṗ − s×p),                                          (3)
    and its rate without η̈:          (Ȧ θ̇ + A g_r, g_t − (Ȧ θ̇ + A g_r)×p − s×ṗ).                  (4)

A model that is linearised ruthlessly [JR90, (8.1)] has θ = 0, p = p₀ and no rates.
"""

from __future__ import annotations

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.kernels.spatial import rotate_back
from liegeo.lie.series import dexp_coefficients
from liegeo.lie.so3 import cross, exp_entries, quadratic_apply, quadratic_d_apply


@kernel
def _sum_modes(F, o, n, x, i):
    """Φ x for the 3 × n modes at F[o] and the n numbers at x[i]."""
    a, b, c = 0.0 * x[i], 0.0 * x[i], 0.0 * x[i]
    for k in range(n):
        a += F[o + k] * x[i + k]
        b += F[o + n + k] * x[i + k]
        c += F[o + 2 * n + k] * x[i + k]
    return a, b, c


@kernel
def _sum_second(F, g, n, x, i, y, j):
    """xGy for the 3 × n × n numbers at F[g]; zero if g is negative."""
    a, b, c = 0.0 * x[i], 0.0 * x[i], 0.0 * x[i]
    if g >= 0:
        for l in range(n):
            d0, d1, d2 = _sum_modes_of(F, g, n, l, y, j)
            a += d0 * x[i + l]
            b += d1 * x[i + l]
            c += d2 * x[i + l]
    return a, b, c


@kernel
def _sum_modes_of(F, g, n, l, y, j):
    """Row l of G times y, along the three axes."""
    a, b, c = 0.0 * y[j], 0.0 * y[j], 0.0 * y[j]
    for k in range(n):
        a += F[g + n * l + k] * y[j + k]
        b += F[g + n * n + n * l + k] * y[j + k]
        c += F[g + 2 * n * n + n * l + k] * y[j + k]
    return a, b, c


@kernel
def _data(I, node):
    """Offsets in F: pose, rotational modes, translational modes, G_r and G_t (negative if there is none); and n."""
    f, n, g = index(I[node + at.NODE_F]), index(I[node + at.NODE_NM]), I[node + at.NODE_SECOND]
    r = f + at.NODE_MODES
    return f, r, r + 3 * n, g, g + 3 * n * n if g >= 0 else -1, n


@kernel(forceinline=False)
def node_pose(I, F, node, full, q, eq, out, o):
    """Write X_BN at out[o]: rotation row by row, then position."""
    node, eq, o = index(node), index(eq), index(o)
    f, r, t, g_r, g_t, n = _data(I, node)
    for k in range(9):
        out[o + k] = F[f + at.NODE_R + k]
    for k in range(3):
        out[o + 9 + k] = F[f + at.NODE_P + k]
    if not full:
        return
    a, b, c = _sum_modes(F, r, n, q, eq)
    d0, d1, d2 = _sum_second(F, g_r, n, q, eq, q, eq)
    e00, e01, e02, e10, e11, e12, e20, e21, e22 = exp_entries(a + 0.5 * d0, b + 0.5 * d1, c + 0.5 * d2)
    for k in range(3):
        x, y, z = F[f + at.NODE_R + k], F[f + at.NODE_R + 3 + k], F[f + at.NODE_R + 6 + k]
        out[o + k] = e00 * x + e01 * y + e02 * z
        out[o + 3 + k] = e10 * x + e11 * y + e12 * z
        out[o + 6 + k] = e20 * x + e21 * y + e22 * z
    a, b, c = _sum_modes(F, t, n, q, eq)
    d0, d1, d2 = _sum_second(F, g_t, n, q, eq, q, eq)
    out[o + 9] += a + 0.5 * d0
    out[o + 10] += b + 0.5 * d1
    out[o + 11] += c + 0.5 * d2


@kernel(forceinline=False)
def node_modes(I, F, node, full, q, eq, X, x, in_body, out, o):
    """Write the columns of Π_N (1), or of Π_B (3) if `in_body`, at out[o]; the node's pose is at X[x]."""
    node, eq, x, o = index(node), index(eq), index(x), index(o)
    _, r, t, g_r, g_t, n = _data(I, node)
    a, b, c = 0.0 * q[eq], 0.0 * q[eq], 0.0 * q[eq]
    if full:
        a, b, c = _sum_modes(F, r, n, q, eq)
        d0, d1, d2 = _sum_second(F, g_r, n, q, eq, q, eq)
        a, b, c = a + 0.5 * d0, b + 0.5 * d1, c + 0.5 * d2
    df, dg, _, _, _, _ = dexp_coefficients(a * a + b * b + c * c)
    for k in range(n):
        w0, w1, w2 = 0.0 * a + F[r + k], 0.0 * a + F[r + n + k], 0.0 * a + F[r + 2 * n + k]
        v0, v1, v2 = 0.0 * a + F[t + k], 0.0 * a + F[t + n + k], 0.0 * a + F[t + 2 * n + k]
        if full and g_r >= 0:
            d0, d1, d2 = _sum_modes_of(F, g_r, n, k, q, eq)
            w0, w1, w2 = w0 + d0, w1 + d1, w2 + d2
            d0, d1, d2 = _sum_modes_of(F, g_t, n, k, q, eq)
            v0, v1, v2 = v0 + d0, v1 + d1, v2 + d2
        w0, w1, w2 = quadratic_apply(a, b, c, df, dg, w0, w1, w2)
        i = o + 6 * k
        if in_body:
            c0, c1, c2 = cross(w0, w1, w2, X[x + 9], X[x + 10], X[x + 11])
            out[i], out[i + 1], out[i + 2] = w0, w1, w2
            out[i + 3], out[i + 4], out[i + 5] = v0 - c0, v1 - c1, v2 - c2
        else:
            out[i], out[i + 1], out[i + 2] = rotate_back(X, x, w0, w1, w2)
            out[i + 3], out[i + 4], out[i + 5] = rotate_back(X, x, v0, v1, v2)


@kernel(forceinline=False)
def node_rate(I, F, node, q, eq, v, ev, X, x, in_body):
    """(2), or (4) if `in_body`."""
    node, eq, ev, x = index(node), index(eq), index(ev), index(x)
    _, r, t, g_r, g_t, n = _data(I, node)
    a, b, c = _sum_modes(F, r, n, q, eq)
    d0, d1, d2 = _sum_modes(F, r, n, v, ev)
    p0, p1, p2 = _sum_modes(F, t, n, v, ev)
    zero = 0.0 * v[ev]
    h0, h1, h2, k0, k1, k2 = zero, zero, zero, zero, zero, zero  # g_r and g_t
    if g_r >= 0:
        e0, e1, e2 = _sum_second(F, g_r, n, q, eq, q, eq)
        a, b, c = a + 0.5 * e0, b + 0.5 * e1, c + 0.5 * e2
        e0, e1, e2 = _sum_second(F, g_r, n, v, ev, q, eq)
        d0, d1, d2 = d0 + e0, d1 + e1, d2 + e2
        e0, e1, e2 = _sum_second(F, g_t, n, v, ev, q, eq)
        p0, p1, p2 = p0 + e0, p1 + e1, p2 + e2
        h0, h1, h2 = _sum_second(F, g_r, n, v, ev, v, ev)
        k0, k1, k2 = _sum_second(F, g_t, n, v, ev, v, ev)
    df, dg, df1, dg1, _, _ = dexp_coefficients(a * a + b * b + c * c)
    s0, s1, s2 = quadratic_apply(a, b, c, df, dg, d0, d1, d2)
    w0, w1, w2 = quadratic_d_apply(a, b, c, d0, d1, d2, df, dg, df1, dg1, d0, d1, d2)
    h0, h1, h2 = quadratic_apply(a, b, c, df, dg, h0, h1, h2)
    w0, w1, w2 = w0 + h0, w1 + h1, w2 + h2
    c0, c1, c2 = cross(s0, s1, s2, p0, p1, p2)
    v0, v1, v2 = k0 - c0, k1 - c1, k2 - c2
    if in_body:
        e0, e1, e2 = cross(w0, w1, w2, X[x + 9], X[x + 10], X[x + 11])
        return w0, w1, w2, v0 - e0, v1 - e1, v2 - e2
    w0, w1, w2 = rotate_back(X, x, w0, w1, w2)
    v0, v1, v2 = rotate_back(X, x, v0, v1, v2)
    return w0, w1, w2, v0, v1, v2
