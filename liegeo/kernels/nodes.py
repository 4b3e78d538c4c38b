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
from liegeo.kernels.spatial import put, rotate_back
from liegeo.lie.series import dexp_coefficients
from liegeo.lie.so3 import cross, exp_entries, quadratic_apply, quadratic_d_apply, rodrigues


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


@kernel
def _rotation(F, r, g_r, n, q, eq):
    """θ."""
    a, b, c = _sum_modes(F, r, n, q, eq)
    d0, d1, d2 = _sum_second(F, g_r, n, q, eq, q, eq)
    return a + 0.5 * d0, b + 0.5 * d1, c + 0.5 * d2


@kernel(forceinline=False)
def node_pose(I, F, node, full, q, eq, out, o):
    """Write X_BN at out[o]: rotation row by row, then position."""
    node, eq, o = index(node), index(eq), index(o)
    f, r, _, g_r, _, n = _data(I, node)
    if not full:
        for k in range(at.NODE_MODES):
            out[o + k] = F[f + k]
        return
    a, b, c = _rotation(F, r, g_r, n, q, eq)
    _put_pose(I, F, node, exp_entries(a, b, c), q, eq, out, o)


@kernel
def _put_pose(I, F, node, R, q, eq, out, o):
    """X_BN at out[o], with R = exp(θ̂)."""
    f, _, t, _, g_t, n = _data(I, node)
    for k in range(3):
        x, y, z = F[f + at.NODE_R + k], F[f + at.NODE_R + 3 + k], F[f + at.NODE_R + 6 + k]
        out[o + k] = R[0] * x + R[1] * y + R[2] * z
        out[o + 3 + k] = R[3] * x + R[4] * y + R[5] * z
        out[o + 6 + k] = R[6] * x + R[7] * y + R[8] * z
    a, b, c = _sum_modes(F, t, n, q, eq)
    d0, d1, d2 = _sum_second(F, g_t, n, q, eq, q, eq)
    out[o + 9] = F[f + at.NODE_P] + a + 0.5 * d0
    out[o + 10] = F[f + at.NODE_P + 1] + b + 0.5 * d1
    out[o + 11] = F[f + at.NODE_P + 2] + c + 0.5 * d2


@kernel(forceinline=False)
def node_modes(I, F, node, full, q, eq, X, x, in_body, out, o):
    """Write the columns of Π_N (1), or of Π_B (3) if `in_body`, at out[o]; the node's pose is at X[x]."""
    node, eq, x, o = index(node), index(eq), index(x), index(o)
    _, r, _, g_r, _, n = _data(I, node)
    zero = 0.0 * q[eq]
    theta = _rotation(F, r, g_r, n, q, eq) if full else (zero, zero, zero)
    df, dg, _, _, _, _ = dexp_coefficients(theta[0] * theta[0] + theta[1] * theta[1] + theta[2] * theta[2])
    _put_modes(I, F, node, full, theta, df, dg, q, eq, X, x, in_body, out, o)


@kernel
def _put_modes(I, F, node, full, theta, df, dg, q, eq, X, x, in_body, out, o):
    """The columns of Π_N or Π_B, with A = I + df θ̂ + dg θ̂²; of those of Π_N the upper half by RᵀA at once."""
    _, r, t, g_r, g_t, n = _data(I, node)
    a, b, c = theta
    a00, a01, a02, a10, a11, a12, a20, a21, a22 = rodrigues(a, b, c, df, dg)
    if not in_body:
        a00, a10, a20 = rotate_back(X, x, a00, a10, a20)
        a01, a11, a21 = rotate_back(X, x, a01, a11, a21)
        a02, a12, a22 = rotate_back(X, x, a02, a12, a22)
    for k in range(n):
        w0, w1, w2 = 0.0 * a + F[r + k], 0.0 * a + F[r + n + k], 0.0 * a + F[r + 2 * n + k]
        v0, v1, v2 = 0.0 * a + F[t + k], 0.0 * a + F[t + n + k], 0.0 * a + F[t + 2 * n + k]
        if full and g_r >= 0:
            d0, d1, d2 = _sum_modes_of(F, g_r, n, k, q, eq)
            w0, w1, w2 = w0 + d0, w1 + d1, w2 + d2
            d0, d1, d2 = _sum_modes_of(F, g_t, n, k, q, eq)
            v0, v1, v2 = v0 + d0, v1 + d1, v2 + d2
        w0, w1, w2 = (
            a00 * w0 + a01 * w1 + a02 * w2,
            a10 * w0 + a11 * w1 + a12 * w2,
            a20 * w0 + a21 * w1 + a22 * w2,
        )
        i = o + 6 * k
        if in_body:
            c0, c1, c2 = cross(w0, w1, w2, X[x + 9], X[x + 10], X[x + 11])
            put(out, i, (w0, w1, w2, v0 - c0, v1 - c1, v2 - c2))
        else:
            v0, v1, v2 = rotate_back(X, x, v0, v1, v2)
            put(out, i, (w0, w1, w2, v0, v1, v2))


@kernel(forceinline=False)
def node_rate(I, F, node, q, eq, v, ev, X, x, in_body):
    """(2), or (4) if `in_body`."""
    node, eq, ev, x = index(node), index(eq), index(ev), index(x)
    _, r, _, g_r, _, n = _data(I, node)
    a, b, c = _rotation(F, r, g_r, n, q, eq)
    df, dg, df1, dg1, _, _ = dexp_coefficients(a * a + b * b + c * c)
    return _rate(I, F, node, (a, b, c), (df, dg, df1, dg1), q, eq, v, ev, X, x, in_body)


@kernel
def _rate(I, F, node, theta, coefficients, q, eq, v, ev, X, x, in_body):
    """The same, with coefficients of A and of its derivative."""
    _, r, t, g_r, g_t, n = _data(I, node)
    a, b, c = theta
    df, dg, df1, dg1 = coefficients
    d0, d1, d2 = _sum_modes(F, r, n, v, ev)
    p0, p1, p2 = _sum_modes(F, t, n, v, ev)
    zero = 0.0 * v[ev]
    h0, h1, h2, k0, k1, k2 = zero, zero, zero, zero, zero, zero  # g_r and g_t
    if g_r >= 0:
        e0, e1, e2 = _sum_second(F, g_r, n, v, ev, q, eq)
        d0, d1, d2 = d0 + e0, d1 + e1, d2 + e2
        e0, e1, e2 = _sum_second(F, g_t, n, v, ev, q, eq)
        p0, p1, p2 = p0 + e0, p1 + e1, p2 + e2
        h0, h1, h2 = _sum_second(F, g_r, n, v, ev, v, ev)
        k0, k1, k2 = _sum_second(F, g_t, n, v, ev, v, ev)
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


@kernel
def carrier(I, F, node, q, eq, W, o):
    """X_BN, θ, what `carrier_rate` needs, and Π_N of a node that carries a joint, at W[o] as in layout.py."""
    node, eq, o = index(node), index(eq), index(o)
    _, r, _, g_r, _, n = _data(I, node)
    a, b, c = _rotation(F, r, g_r, n, q, eq)
    x = a * a + b * b + c * c
    df, dg, df1, dg1, _, _ = dexp_coefficients(x)
    # exp(θ̂) = I + c₁ θ̂ + c₂ θ̂², where c₂ is df, and c₁ = 1 − x c₃, where c₃ is dg
    _put_pose(I, F, node, rodrigues(a, b, c, 1.0 - x * dg, df), q, eq, W, o)
    _put_modes(I, F, node, True, (a, b, c), df, dg, q, eq, W, o, False, W, o + at.CARRIER_PI)
    i = o + at.CARRIER_PI + 6 * n
    put(W, i, (a, b, c, df, dg, df1))
    W[i + 6] = dg1


@kernel
def carrier_rate(I, F, node, q, eq, v, ev, W, o):
    """(2) after `carrier`."""
    node, eq, ev, o = index(node), index(eq), index(ev), index(o)
    i = o + at.CARRIER_PI + 6 * index(I[node + at.NODE_NM])
    theta, coefficients = (W[i], W[i + 1], W[i + 2]), (W[i + 3], W[i + 4], W[i + 5], W[i + 6])
    return _rate(I, F, node, theta, coefficients, q, eq, v, ev, W, o, False)
