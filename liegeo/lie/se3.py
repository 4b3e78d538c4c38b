"""SE(3) as 4×4 homogeneous matrices, twists V = (w, v) and wrenches F = (n, f), angular part first: kernels.

The adjoint operators, [SY16, (1)–(4)], with X = (R, p):

    Ad(X) = [R 0; p̂R R],     AdT(X) = Ad(X)ᵀ,                           (1)
    ad(V) = [ŵ 0; v̂ ŵ],      adT(V) = ad(V)ᵀ.                           (2)

SE(3) is the tangent bundle of SO(3): replacing w by w + εv, ε² = 0, in a function on so(3) gives the one on se(3).
With A(w) any of the differentials of so3.py and DA, D²A its derivatives there,

    exp(V) = (exp(ŵ), A(w) v),              A the left dexp,             (3)
    𝒜(V) = [A(w) 0; DA(w)[v] A(w)],                                     (4)
    D𝒜(V)[U] = [DA(w)[u_w] 0; D²A(w)[v, u_w] + DA(w)[u_v]  DA(w)[u_w]]. (5)

The Cayley map is that of the homogeneous matrix, (I − ½V̂)⁻¹(I + ½V̂), which does not come from (4):

    cay(V) = (cay(w), E v),  E = (I − ½ŵ)⁻¹ = a (I + ½ŵ + ¼w wᵀ),  a = 1/(1 + ¼x),      (6)
    dcay = [D 0; ½v̂D E],  D = a (I + ½ŵ);      dcay⁻¹ = [D⁻¹ 0; −½(I − ½ŵ)v̂ I − ½ŵ]     (7)

on the left; on the right the same at −V.  The algebra here serves se3q.py as well.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import kernel
from liegeo.lie import so3
from liegeo.lie.series import dexp_coefficients, dexpinv_coefficients, stumpff
from liegeo.lie.so3 import cross, put, quadratic, quadratic_apply, quadratic_d, quadratic_d_apply, quadratic_dd

# ---------------------------------------------------------------- scalars in, scalars out


@kernel
def exp_translation(w0, w1, w2, v0, v1, v2):
    """A(w) v of (3)."""
    f, g, _, _, _, _ = dexp_coefficients(w0 * w0 + w1 * w1 + w2 * w2)
    return quadratic_apply(w0, w1, w2, f, g, v0, v1, v2)


@kernel
def log_translation(w0, w1, w2, p0, p1, p2):
    """A(w)⁻¹ p: undoes `exp_translation`."""
    g, _, _ = dexpinv_coefficients(w0 * w0 + w1 * w1 + w2 * w2)
    return quadratic_apply(w0, w1, w2, -0.5, g, p0, p1, p2)


@kernel
def cay_translation(w0, w1, w2, v0, v1, v2):
    """E v of (6)."""
    a = 1.0 / (1.0 + 0.25 * (w0 * w0 + w1 * w1 + w2 * w2))
    b = 0.25 * (w0 * v0 + w1 * v1 + w2 * v2)
    c0, c1, c2 = cross(w0, w1, w2, v0, v1, v2)
    return a * (v0 + 0.5 * c0 + b * w0), a * (v1 + 0.5 * c1 + b * w1), a * (v2 + 0.5 * c2 + b * w2)


@kernel
def cayinv_translation(w0, w1, w2, p0, p1, p2):
    """(I − ½ŵ) p: undoes `cay_translation`."""
    c0, c1, c2 = cross(w0, w1, w2, p0, p1, p2)
    return p0 - 0.5 * c0, p1 - 0.5 * c1, p2 - 0.5 * c2


# ---------------------------------------------------------------- the algebra, shared with se3q.py


@kernel
def hat(V, out):
    """out = [ŵ v; 0 0]."""
    so3.hat(V, out)
    for i in range(3):
        out[i, 3] = V[3 + i]
    for j in range(4):
        out[3, j] = 0.0


@kernel
def vee(m, out):
    """Inverse of hat."""
    so3.vee(m, out)
    for i in range(3):
        out[3 + i] = m[i, 3]


@kernel
def hat_defect(m):
    """How far m is from a matrix that hat makes; NaN if not finite."""
    off = so3.hat_defect(m)
    for j in range(4):
        off += abs(m[3, j].real)
    return off + not_finite(m[0, 3], m[1, 3], m[2, 3])


@kernel
def not_finite(a, b, c):
    """0 if all are finite, otherwise NaN."""
    return (a.real - a.real) + (b.real - b.real) + (c.real - c.real)


@kernel
def _put_hat(out, i, j, side, k0, k1, k2):
    z = 0.0 * k0
    put(out, i, j, side, (k0, k1, k2, z, z, z, z, z, z))


@kernel
def _put_zero(out, i, j):
    for a in range(3):
        for b in range(3):
            out[i + a, j + b] = 0.0


@kernel
def ad(V, out):
    """out = ad(V), (2)."""
    _put_hat(out, 0, 0, 1.0, V[0], V[1], V[2])
    _put_zero(out, 0, 3)
    _put_hat(out, 3, 0, 1.0, V[3], V[4], V[5])
    _put_hat(out, 3, 3, 1.0, V[0], V[1], V[2])


@kernel
def adT(V, out):
    """out = ad(V)ᵀ, (2)."""
    _put_hat(out, 0, 0, -1.0, V[0], V[1], V[2])
    _put_hat(out, 0, 3, -1.0, V[3], V[4], V[5])
    _put_zero(out, 3, 0)
    _put_hat(out, 3, 3, -1.0, V[0], V[1], V[2])


@kernel
def ad_apply(V, U, out):
    """out = ad(V) U = (w×u_w, v×u_w + w×u_v)."""
    a0, a1, a2 = cross(V[0], V[1], V[2], U[0], U[1], U[2])
    b0, b1, b2 = cross(V[3], V[4], V[5], U[0], U[1], U[2])
    c0, c1, c2 = cross(V[0], V[1], V[2], U[3], U[4], U[5])
    out[0], out[1], out[2] = a0, a1, a2
    out[3], out[4], out[5] = b0 + c0, b1 + c1, b2 + c2


@kernel
def adT_apply(V, F, out):
    """Dual of the small adjoint: out = ad(V)ᵀ F.

    Defined by  F · ad(V)U = adT(V)F · U  for every twist U.
    With V = (w, v), F = (n, f):  out = (−w×n − v×f, −w×f).
    [SY16, (4)]; Featherstone's crf(V) is −adT(V).
    """
    a0, a1, a2 = cross(F[0], F[1], F[2], V[0], V[1], V[2])
    b0, b1, b2 = cross(F[3], F[4], F[5], V[3], V[4], V[5])
    c0, c1, c2 = cross(F[3], F[4], F[5], V[0], V[1], V[2])
    out[0], out[1], out[2] = a0 + b0, a1 + b1, a2 + b2
    out[3], out[4], out[5] = c0, c1, c2


@kernel
def _put_blocks(out, side, diagonal, coupling):
    """[A 0; B A] with the skew parts times `side`, as in (4) and (5)."""
    put(out, 0, 0, side, diagonal)
    _put_zero(out, 0, 3)
    put(out, 3, 0, side, coupling)
    put(out, 3, 3, side, diagonal)


@kernel
def _dexp(V, side, out):
    f, g, f1, g1, _, _ = dexp_coefficients(V[0] * V[0] + V[1] * V[1] + V[2] * V[2])
    A = quadratic(V[0], V[1], V[2], 1.0, f, g)
    B = quadratic_d(V[0], V[1], V[2], V[3], V[4], V[5], f, g, f1, g1)
    _put_blocks(out, side, A, B)


@kernel
def _dexpinv(V, side, out):
    g, g1, _ = dexpinv_coefficients(V[0] * V[0] + V[1] * V[1] + V[2] * V[2])
    A = quadratic(V[0], V[1], V[2], 1.0, -0.5, g)
    B = quadratic_d(V[0], V[1], V[2], V[3], V[4], V[5], -0.5, g, 0.0, g1)
    _put_blocks(out, side, A, B)


@kernel
def dexp_left(V, out):
    """out = dexp_left(V):  D exp(V)[U] exp(V)⁻¹ = hat(dexp_left(V) U), (4)."""
    _dexp(V, 1.0, out)


@kernel
def dexp_right(V, out):
    """out = dexp_right(V):  exp(V)⁻¹ D exp(V)[U] = hat(dexp_right(V) U), (4)."""
    _dexp(V, -1.0, out)


@kernel
def dexpinv_left(V, out):
    """out = dexp_left(V)⁻¹; singular at |w| = 2π, 4π, …"""
    _dexpinv(V, 1.0, out)


@kernel
def dexpinv_right(V, out):
    """out = dexp_right(V)⁻¹; singular at |w| = 2π, 4π, …"""
    _dexpinv(V, -1.0, out)


@kernel
def _blocks_apply(V, f, g, f1, g1, U, out):
    """[A 0; B A] U of (4)."""
    w0, w1, w2 = V[0], V[1], V[2]
    a0, a1, a2 = quadratic_apply(w0, w1, w2, f, g, U[0], U[1], U[2])
    b0, b1, b2 = quadratic_d_apply(w0, w1, w2, V[3], V[4], V[5], f, g, f1, g1, U[0], U[1], U[2])
    c0, c1, c2 = quadratic_apply(w0, w1, w2, f, g, U[3], U[4], U[5])
    out[0], out[1], out[2] = a0, a1, a2
    out[3], out[4], out[5] = b0 + c0, b1 + c1, b2 + c2


@kernel
def _dexp_apply(V, side, U, out):
    f, g, f1, g1, _, _ = dexp_coefficients(V[0] * V[0] + V[1] * V[1] + V[2] * V[2])
    _blocks_apply(V, side * f, g, side * f1, g1, U, out)


@kernel
def _dexpinv_apply(V, side, U, out):
    g, g1, _ = dexpinv_coefficients(V[0] * V[0] + V[1] * V[1] + V[2] * V[2])
    _blocks_apply(V, -0.5 * side, g, 0.0, g1, U, out)


@kernel
def dexp_left_apply(V, U, out):
    """out = dexp_left(V) U."""
    _dexp_apply(V, 1.0, U, out)


@kernel
def dexp_right_apply(V, U, out):
    """out = dexp_right(V) U."""
    _dexp_apply(V, -1.0, U, out)


@kernel
def dexpinv_left_apply(V, U, out):
    """out = dexp_left(V)⁻¹ U."""
    _dexpinv_apply(V, 1.0, U, out)


@kernel
def dexpinv_right_apply(V, U, out):
    """out = dexp_right(V)⁻¹ U."""
    _dexpinv_apply(V, -1.0, U, out)


@kernel
def _add(a, b):
    return (
        a[0] + b[0],
        a[1] + b[1],
        a[2] + b[2],
        a[3] + b[3],
        a[4] + b[4],
        a[5] + b[5],
        a[6] + b[6],
        a[7] + b[7],
        a[8] + b[8],
    )


@kernel
def _d_blocks(V, U, side, f, g, f1, g1, f2, g2, out):
    """(5)."""
    w0, w1, w2, v0, v1, v2 = V[0], V[1], V[2], V[3], V[4], V[5]
    A = quadratic_d(w0, w1, w2, U[0], U[1], U[2], f, g, f1, g1)
    B = _add(
        quadratic_dd(w0, w1, w2, v0, v1, v2, U[0], U[1], U[2], f1, g, g1, f2, g2),
        quadratic_d(w0, w1, w2, U[3], U[4], U[5], f, g, f1, g1),
    )
    _put_blocks(out, side, A, B)


@kernel
def _ddexp(V, U, side, out):
    f, g, f1, g1, f2, g2 = dexp_coefficients(V[0] * V[0] + V[1] * V[1] + V[2] * V[2])
    _d_blocks(V, U, side, f, g, f1, g1, f2, g2, out)


@kernel
def _ddexpinv(V, U, side, out):
    g, g1, g2 = dexpinv_coefficients(V[0] * V[0] + V[1] * V[1] + V[2] * V[2])
    _d_blocks(V, U, side, -0.5, g, 0.0, g1, 0.0, g2, out)


@kernel
def ddexp_left(V, U, out):
    """out = d/ds dexp_left(V + s U) at s = 0, (5)."""
    _ddexp(V, U, 1.0, out)


@kernel
def ddexp_right(V, U, out):
    """out = d/ds dexp_right(V + s U) at s = 0, (5)."""
    _ddexp(V, U, -1.0, out)


@kernel
def ddexpinv_left(V, U, out):
    """out = d/ds dexp_left(V + s U)⁻¹ at s = 0, (5)."""
    _ddexpinv(V, U, 1.0, out)


@kernel
def ddexpinv_right(V, U, out):
    """out = d/ds dexp_right(V + s U)⁻¹ at s = 0, (5)."""
    _ddexpinv(V, U, -1.0, out)


@kernel
def _put_hat_times(out, i, j, factor, v0, v1, v2):
    """Write factor·v̂ times the 3×3 block at the top left of `out` at rows i…, columns j…"""
    for b in range(3):
        c0, c1, c2 = cross(v0, v1, v2, out[0, b], out[1, b], out[2, b])
        out[i, j + b], out[i + 1, j + b], out[i + 2, j + b] = factor * c0, factor * c1, factor * c2


@kernel
def _dcay(V, side, out):
    w0, w1, w2 = V[0], V[1], V[2]
    a = 1.0 / (1.0 + 0.25 * (w0 * w0 + w1 * w1 + w2 * w2))
    put(out, 0, 0, side, quadratic(w0, w1, w2, a, 0.5 * a, 0.0 * a))
    _put_zero(out, 0, 3)
    _put_hat_times(out, 3, 0, 0.5 * side, V[3], V[4], V[5])
    # a (I + ½ŵ + ¼w wᵀ) = I + ½a ŵ + ¼a ŵ²
    put(out, 3, 3, side, quadratic(w0, w1, w2, 1.0, 0.5 * a, 0.25 * a))


@kernel
def _dcayinv(V, side, out):
    w0, w1, w2 = V[0], V[1], V[2]
    # The coupling block −½(I − ½ŵ)v̂, column by column: v̂ eⱼ is minus column j of the hat matrix's transpose.
    _put_hat(out, 3, 0, -0.5 * side, V[3], V[4], V[5])
    for j in range(3):
        b0, b1, b2 = out[3, j], out[4, j], out[5, j]
        c0, c1, c2 = cross(w0, w1, w2, b0, b1, b2)
        out[3, j], out[4, j], out[5, j] = b0 - 0.5 * side * c0, b1 - 0.5 * side * c1, b2 - 0.5 * side * c2
    _put_zero(out, 0, 3)
    put(out, 3, 3, side, quadratic(w0, w1, w2, 1.0, -0.5, 0.0))
    h = 1.0 + 0.25 * (w0 * w0 + w1 * w1 + w2 * w2)
    put(out, 0, 0, side, quadratic(w0, w1, w2, h, -0.5, 0.25))


@kernel
def dcay_left(V, out):
    """out = dcay_left(V):  D cay(V)[U] cay(V)⁻¹ = hat(dcay_left(V) U), (7)."""
    _dcay(V, 1.0, out)


@kernel
def dcay_right(V, out):
    """out = dcay_right(V):  cay(V)⁻¹ D cay(V)[U] = hat(dcay_right(V) U), (7)."""
    _dcay(V, -1.0, out)


@kernel
def dcayinv_left(V, out):
    """out = dcay_left(V)⁻¹, (7)."""
    _dcayinv(V, 1.0, out)


@kernel
def dcayinv_right(V, out):
    """out = dcay_right(V)⁻¹, (7)."""
    _dcayinv(V, -1.0, out)


# ---------------------------------------------------------------- the group


@kernel
def _close(out):
    """The last row of a homogeneous matrix."""
    out[3, 0], out[3, 1], out[3, 2], out[3, 3] = 0.0, 0.0, 0.0, 1.0


@kernel
def _put_exp(out, w0, w1, w2, v0, v1, v2):
    """(3), rotation and translation from one evaluation of the series."""
    _, c1, c2, c3, _, _, _, _, _, _ = stumpff(w0 * w0 + w1 * w1 + w2 * w2)
    so3.put_rows(out, so3.rodrigues(w0, w1, w2, c1, c2))
    out[0, 3], out[1, 3], out[2, 3] = quadratic_apply(w0, w1, w2, c2, c3, v0, v1, v2)
    _close(out)


@kernel
def identity(out):
    so3.identity(out)
    out[0, 3], out[1, 3], out[2, 3] = 0.0, 0.0, 0.0
    _close(out)


@kernel
def compose(X_AB, X_BC, out):
    """out = X_AC = X_AB X_BC."""
    so3.compose(X_AB, X_BC, out)
    for i in range(3):
        out[i, 3] = X_AB[i, 0] * X_BC[0, 3] + X_AB[i, 1] * X_BC[1, 3] + X_AB[i, 2] * X_BC[2, 3] + X_AB[i, 3]
    _close(out)


@kernel
def inverse(X_AB, out):
    """out = X_BA = (Rᵀ, −Rᵀp)."""
    so3.inverse(X_AB, out)
    for i in range(3):
        out[i, 3] = -(X_AB[0, i] * X_AB[0, 3] + X_AB[1, i] * X_AB[1, 3] + X_AB[2, i] * X_AB[2, 3])
    _close(out)


@kernel
def act(X_AB, p_B, out):
    """out = p_A = R p_B + p."""
    for i in range(3):
        out[i] = X_AB[i, 0] * p_B[0] + X_AB[i, 1] * p_B[1] + X_AB[i, 2] * p_B[2] + X_AB[i, 3]


@kernel
def exp(V, out):
    """out = exp(V), (3)."""
    _put_exp(out, V[0], V[1], V[2], V[3], V[4], V[5])


@kernel
def log(X, out):
    """out = V with exp(V) = X and |w| ≤ π; at π the one whose first non-zero component is positive."""
    so3.log(X, out)
    out[3], out[4], out[5] = log_translation(out[0], out[1], out[2], X[0, 3], X[1, 3], X[2, 3])


@kernel
def Ad(X_AB, out):
    """out = Ad(X_AB), (1):  V_A = Ad(X_AB) V_B."""
    p0, p1, p2 = X_AB[0, 3], X_AB[1, 3], X_AB[2, 3]
    for j in range(3):
        a, b, c = X_AB[0, j], X_AB[1, j], X_AB[2, j]
        out[0, j], out[1, j], out[2, j] = a, b, c
        out[3, 3 + j], out[4, 3 + j], out[5, 3 + j] = a, b, c
        out[3, j], out[4, j], out[5, j] = cross(p0, p1, p2, a, b, c)
    _put_zero(out, 0, 3)


@kernel
def AdT(X_AB, out):
    """out = Ad(X_AB)ᵀ, (1):  F_B = AdT(X_AB) F_A."""
    p0, p1, p2 = X_AB[0, 3], X_AB[1, 3], X_AB[2, 3]
    for j in range(3):
        a, b, c = X_AB[0, j], X_AB[1, j], X_AB[2, j]
        out[j, 0], out[j, 1], out[j, 2] = a, b, c
        out[3 + j, 3], out[3 + j, 4], out[3 + j, 5] = a, b, c
        out[j, 3], out[j, 4], out[j, 5] = cross(p0, p1, p2, a, b, c)
    _put_zero(out, 3, 0)


@kernel
def Ad_apply(X_AB, V_B, out):
    """out = V_A = Ad(X_AB) V_B = (R w, R v + p×R w)."""
    for i in range(3):
        out[i] = X_AB[i, 0] * V_B[0] + X_AB[i, 1] * V_B[1] + X_AB[i, 2] * V_B[2]
        out[3 + i] = X_AB[i, 0] * V_B[3] + X_AB[i, 1] * V_B[4] + X_AB[i, 2] * V_B[5]
    c0, c1, c2 = cross(X_AB[0, 3], X_AB[1, 3], X_AB[2, 3], out[0], out[1], out[2])
    out[3] += c0
    out[4] += c1
    out[5] += c2


@kernel
def AdT_apply(X_AB, F_A, out):
    """out = F_B = AdT(X_AB) F_A = (Rᵀ(n − p×f), Rᵀf)."""
    c0, c1, c2 = cross(X_AB[0, 3], X_AB[1, 3], X_AB[2, 3], F_A[3], F_A[4], F_A[5])
    n0, n1, n2 = F_A[0] - c0, F_A[1] - c1, F_A[2] - c2
    for i in range(3):
        out[i] = X_AB[0, i] * n0 + X_AB[1, i] * n1 + X_AB[2, i] * n2
        out[3 + i] = X_AB[0, i] * F_A[3] + X_AB[1, i] * F_A[4] + X_AB[2, i] * F_A[5]


@kernel
def cay(V, out):
    """out = cay(V), (6)."""
    so3.cay(V, out)
    out[0, 3], out[1, 3], out[2, 3] = cay_translation(V[0], V[1], V[2], V[3], V[4], V[5])
    _close(out)


@kernel
def cayinv(X, out):
    """out = V with cay(V) = X; infinite for a rotation by π."""
    so3.cayinv(X, out)
    out[3], out[4], out[5] = cayinv_translation(out[0], out[1], out[2], X[0, 3], X[1, 3], X[2, 3])


@kernel
def retract(X, V, out):
    """out = X ⊕ V = X exp(V)."""
    exp(V, out)
    so3.multiply_left(X, out)
    for i in range(3):
        out[i, 3] += X[i, 3]


@kernel
def difference_entries(P, Q):
    """log(P⁻¹ Q) as six scalars."""
    w0, w1, w2 = so3.difference_entries(P, Q)
    d0, d1, d2 = Q[0, 3] - P[0, 3], Q[1, 3] - P[1, 3], Q[2, 3] - P[2, 3]
    p0 = P[0, 0] * d0 + P[1, 0] * d1 + P[2, 0] * d2
    p1 = P[0, 1] * d0 + P[1, 1] * d1 + P[2, 1] * d2
    p2 = P[0, 2] * d0 + P[1, 2] * d1 + P[2, 2] * d2
    v0, v1, v2 = log_translation(w0, w1, w2, p0, p1, p2)
    return w0, w1, w2, v0, v1, v2


@kernel
def difference(Q, P, out):
    """out = Q ⊖ P = log(P⁻¹ Q), so that P ⊕ (Q ⊖ P) = Q."""
    out[0], out[1], out[2], out[3], out[4], out[5] = difference_entries(P, Q)


@kernel
def distance(Q, P, out):
    """out[0] = |Q ⊖ P|, one radian counting as one metre."""
    a, b, c, d, e, f = difference_entries(P, Q)
    out[0] = np.sqrt(a * a + b * b + c * c + d * d + e * e + f * f)


@kernel
def interpolate(P, Q, t, out):
    """out = P ⊕ t (Q ⊖ P): the screw motion from P (t = 0) to Q (t = 1)."""
    a, b, c, d, e, f = difference_entries(P, Q)
    a, b, c = t * a, t * b, t * c
    _put_exp(out, a, b, c, t * d, t * e, t * f)
    so3.multiply_left(P, out)
    for i in range(3):
        out[i, 3] += P[i, 3]


@kernel
def matrix(X, out):
    """out = X: the matrix that represents the element."""
    for i in range(4):
        for j in range(4):
            out[i, j] = X[i, j]


@kernel
def from_matrix(m, out):
    """Inverse of `matrix`."""
    matrix(m, out)


@kernel
def project(m, out):
    """out = the pose whose rotation is nearest to that of m, and whose position is that of m.  out may be m."""
    p0, p1, p2 = m[0, 3], m[1, 3], m[2, 3]
    so3.project(m, out)
    out[0, 3], out[1, 3], out[2, 3] = p0, p1, p2
    _close(out)


@kernel
def matrix_defect(m):
    """How far m is from a homogeneous matrix; NaN if not finite."""
    last_row = abs(m[3, 0].real) + abs(m[3, 1].real) + abs(m[3, 2].real) + abs(m[3, 3].real - 1.0)
    return so3.matrix_defect(m) + last_row + not_finite(m[0, 3], m[1, 3], m[2, 3])


@kernel
def defect(X):
    """How far the stored numbers are from a group element."""
    return matrix_defect(X)
