"""Nodes of flexible bodies: poses on SE(3) and their differentials.

With θ = Φ_r η, p = p₀ + Φ_t η (modes in the body's axes), the node's pose in its body is X_BN = (exp(θ̂) R₀, p).  With
A = dexp_left(θ), s = A θ̇ its angular velocity and ṗ = Φ_t η̇,

    twist of N relative to B in N:   Π_N η̇ = (Rᵀ A Φ_r η̇, Rᵀ Φ_t η̇),                            (1)
    and its rate without η̈:          (Rᵀ Ȧ θ̇, −Rᵀ (s×ṗ)),                                      (2)
    the same twist in B, at B:       Π_B η̇ = (A Φ_r η̇, Φ_t η̇ − (A Φ_r η̇)×p),                    (3)
    and its rate without η̈:          (Ȧ θ̇, −(Ȧ θ̇)×p − s×ṗ).                                   (4)

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


@kernel(forceinline=False)
def node_pose(I, F, node, full, q, eq, out, o):
    """Write X_BN at out[o]: rotation row by row, then position."""
    node, eq, o = index(node), index(eq), index(o)
    f, n = index(I[node + at.NODE_F]), I[node + at.NODE_NM]
    for k in range(9):
        out[o + k] = F[f + at.NODE_R + k]
    for k in range(3):
        out[o + 9 + k] = F[f + at.NODE_P + k]
    if not full:
        return
    a, b, c = _sum_modes(F, f + at.NODE_MODES, n, q, eq)
    e00, e01, e02, e10, e11, e12, e20, e21, e22 = exp_entries(a, b, c)
    for k in range(3):
        x, y, z = F[f + at.NODE_R + k], F[f + at.NODE_R + 3 + k], F[f + at.NODE_R + 6 + k]
        out[o + k] = e00 * x + e01 * y + e02 * z
        out[o + 3 + k] = e10 * x + e11 * y + e12 * z
        out[o + 6 + k] = e20 * x + e21 * y + e22 * z
    a, b, c = _sum_modes(F, f + at.NODE_MODES + 3 * n, n, q, eq)
    out[o + 9] += a
    out[o + 10] += b
    out[o + 11] += c


@kernel(forceinline=False)
def node_modes(I, F, node, full, q, eq, X, x, in_body, out, o):
    """Write the columns of Π_N (1), or of Π_B (3) if `in_body`, at out[o]; the node's pose is at X[x]."""
    node, eq, x, o = index(node), index(eq), index(x), index(o)
    f, n = index(I[node + at.NODE_F]), I[node + at.NODE_NM]
    r = f + at.NODE_MODES
    t = r + 3 * n
    if not full and not in_body:
        for k in range(6 * n):
            out[o + k] = F[t + 3 * n + k]
        return
    a, b, c = 0.0 * q[eq], 0.0 * q[eq], 0.0 * q[eq]
    if full:
        a, b, c = _sum_modes(F, r, n, q, eq)
    df, dg, _, _, _, _ = dexp_coefficients(a * a + b * b + c * c)
    for k in range(n):
        w0, w1, w2 = quadratic_apply(a, b, c, df, dg, F[r + k], F[r + n + k], F[r + 2 * n + k])
        v0, v1, v2 = F[t + k], F[t + n + k], F[t + 2 * n + k]
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
    f, n = index(I[node + at.NODE_F]), I[node + at.NODE_NM]
    r = f + at.NODE_MODES
    a, b, c = _sum_modes(F, r, n, q, eq)
    d0, d1, d2 = _sum_modes(F, r, n, v, ev)
    p0, p1, p2 = _sum_modes(F, r + 3 * n, n, v, ev)
    df, dg, df1, dg1, _, _ = dexp_coefficients(a * a + b * b + c * c)
    s0, s1, s2 = quadratic_apply(a, b, c, df, dg, d0, d1, d2)
    w0, w1, w2 = quadratic_d_apply(a, b, c, d0, d1, d2, df, dg, df1, dg1, d0, d1, d2)
    c0, c1, c2 = cross(s0, s1, s2, p0, p1, p2)
    if in_body:
        e0, e1, e2 = cross(w0, w1, w2, X[x + 9], X[x + 10], X[x + 11])
        return w0, w1, w2, -e0 - c0, -e1 - c1, -e2 - c2
    w0, w1, w2 = rotate_back(X, x, w0, w1, w2)
    v0, v1, v2 = rotate_back(X, x, -c0, -c1, -c2)
    return w0, w1, w2, v0, v1, v2
