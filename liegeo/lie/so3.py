"""SO(3) as 3×3 rotation matrices: kernels.

Twists are rotation vectors w (3), x = w·w = θ².  Every differential on SO(3) has the form

    A(w) = h I + f ŵ + g ŵ²,      ŵ² = w wᵀ − x I,                      (1)

with h, f, g functions of x alone.  With x_v = 2 w·v and ŵv̂ + v̂ŵ = w vᵀ + v wᵀ − x_v I its derivatives (h = 1) are

    DA[v]    = f′x_v ŵ + f v̂ + g′x_v ŵ² + g (ŵv̂ + v̂ŵ),                  (2)
    D²A[v,u] = (f″x_v x_u + f′x_uv) ŵ + f′(x_v û + x_u v̂) + (g″x_v x_u + g′x_uv) ŵ²
               + g′x_v (ŵû + ûŵ) + g′x_u (ŵv̂ + v̂ŵ) + g (ûv̂ + v̂û),       (3)

x_uv = 2 u·v.  f multiplies skew parts only and g symmetric parts only, so the left differential becomes the right one
when the skew part changes sign.  SE(3) is the tangent bundle of SO(3), so (2) and (3) are also the coupling blocks of
its differentials (se3.py).

Matrices travel between helpers as nine scalars "k s": the skew part's vector k₀ k₁ k₂ and the symmetric part
s₀₀ s₁₁ s₂₂ s₀₁ s₀₂ s₁₂.  `out` must not alias an input unless the docstring allows it.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import kernel
from liegeo.lie import quaternion
from liegeo.lie.series import dexp_coefficients, dexpinv_coefficients, half_angle

# ---------------------------------------------------------------- scalars in, scalars out


@kernel
def cross(a0, a1, a2, b0, b1, b2):
    return a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0


@kernel
def rodrigues(w0, w1, w2, c1, c2):
    """I + c₁ ŵ + c₂ ŵ², row by row."""
    k0, k1, k2 = c1 * w0, c1 * w1, c1 * w2
    s01, s02, s12 = c2 * w0 * w1, c2 * w0 * w2, c2 * w1 * w2
    return (
        1.0 - c2 * (w1 * w1 + w2 * w2),
        s01 - k2,
        s02 + k1,
        s01 + k2,
        1.0 - c2 * (w0 * w0 + w2 * w2),
        s12 - k0,
        s02 - k1,
        s12 + k0,
        1.0 - c2 * (w0 * w0 + w1 * w1),
    )


@kernel
def exp_entries(w0, w1, w2):
    """exp(ŵ): c₁ = 2 cos ½θ sin ½θ/θ, c₂ = 2 (sin ½θ/θ)²."""
    c, s = half_angle(w0 * w0 + w1 * w1 + w2 * w2)
    return rodrigues(w0, w1, w2, 2.0 * c * s, 2.0 * s * s)


@kernel
def put_rows(out, R):
    """Write nine entries into the first three rows and columns of `out`."""
    out[0, 0], out[0, 1], out[0, 2] = R[0], R[1], R[2]
    out[1, 0], out[1, 1], out[1, 2] = R[3], R[4], R[5]
    out[2, 0], out[2, 1], out[2, 2] = R[6], R[7], R[8]


@kernel
def log_entries(r00, r01, r02, r10, r11, r12, r20, r21, r22):
    """Rotation vector, |w| ≤ π, through the quaternion, which is well conditioned at every angle."""
    a, b, c, d = quaternion.from_entries(r00, r01, r02, r10, r11, r12, r20, r21, r22)
    return quaternion.log_entries(a, b, c, d)


@kernel
def quadratic(w0, w1, w2, h, f, g):
    """k s of (1)."""
    gx = g * (w0 * w0 + w1 * w1 + w2 * w2)
    return (
        f * w0,
        f * w1,
        f * w2,
        h - gx + g * w0 * w0,
        h - gx + g * w1 * w1,
        h - gx + g * w2 * w2,
        g * w0 * w1,
        g * w0 * w2,
        g * w1 * w2,
    )


@kernel
def quadratic_d(w0, w1, w2, v0, v1, v2, f, g, f1, g1):
    """k s of (2)."""
    x = w0 * w0 + w1 * w1 + w2 * w2
    xv = 2.0 * (w0 * v0 + w1 * v1 + w2 * v2)
    a = f1 * xv
    b = g1 * xv
    d = b * x + g * xv
    return (
        a * w0 + f * v0,
        a * w1 + f * v1,
        a * w2 + f * v2,
        (b * w0 + 2.0 * g * v0) * w0 - d,
        (b * w1 + 2.0 * g * v1) * w1 - d,
        (b * w2 + 2.0 * g * v2) * w2 - d,
        b * w0 * w1 + g * (w0 * v1 + v0 * w1),
        b * w0 * w2 + g * (w0 * v2 + v0 * w2),
        b * w1 * w2 + g * (w1 * v2 + v1 * w2),
    )


@kernel
def quadratic_dd(w0, w1, w2, v0, v1, v2, u0, u1, u2, f1, g, g1, f2, g2):
    """k s of (3)."""
    x = w0 * w0 + w1 * w1 + w2 * w2
    xv = 2.0 * (w0 * v0 + w1 * v1 + w2 * v2)
    xu = 2.0 * (w0 * u0 + w1 * u1 + w2 * u2)
    xuv = 2.0 * (u0 * v0 + u1 * v1 + u2 * v2)
    a = f2 * xv * xu + f1 * xuv
    b = g2 * xv * xu + g1 * xuv
    # All terms g′x_v(ŵû + ûŵ) + g′x_u(ŵv̂ + v̂ŵ) at once: w yᵀ + y wᵀ − 2 (w·y) I
    y0 = g1 * (xv * u0 + xu * v0)
    y1 = g1 * (xv * u1 + xu * v1)
    y2 = g1 * (xv * u2 + xu * v2)
    d = b * x + 2.0 * (w0 * y0 + w1 * y1 + w2 * y2) + g * xuv
    return (
        a * w0 + f1 * (xv * u0 + xu * v0),
        a * w1 + f1 * (xv * u1 + xu * v1),
        a * w2 + f1 * (xv * u2 + xu * v2),
        (b * w0 + 2.0 * y0) * w0 + 2.0 * g * u0 * v0 - d,
        (b * w1 + 2.0 * y1) * w1 + 2.0 * g * u1 * v1 - d,
        (b * w2 + 2.0 * y2) * w2 + 2.0 * g * u2 * v2 - d,
        b * w0 * w1 + w0 * y1 + y0 * w1 + g * (u0 * v1 + v0 * u1),
        b * w0 * w2 + w0 * y2 + y0 * w2 + g * (u0 * v2 + v0 * u2),
        b * w1 * w2 + w1 * y2 + y1 * w2 + g * (u1 * v2 + v1 * u2),
    )


@kernel
def quadratic_apply(w0, w1, w2, f, g, u0, u1, u2):
    """(1) with h = 1 on a vector: u + f w×u + g w×(w×u)."""
    a0, a1, a2 = cross(w0, w1, w2, u0, u1, u2)
    b0, b1, b2 = cross(w0, w1, w2, a0, a1, a2)
    return u0 + f * a0 + g * b0, u1 + f * a1 + g * b1, u2 + f * a2 + g * b2


@kernel
def quadratic_d_apply(w0, w1, w2, v0, v1, v2, f, g, f1, g1, u0, u1, u2):
    """(2) on a vector u."""
    xv = 2.0 * (w0 * v0 + w1 * v1 + w2 * v2)
    a0, a1, a2 = cross(w0, w1, w2, u0, u1, u2)
    b0, b1, b2 = cross(v0, v1, v2, u0, u1, u2)
    # w×(g′x_v w×u + g v×u) + v×(g w×u) + f′x_v w×u + f v×u
    p0, p1, p2 = g1 * xv * a0 + g * b0, g1 * xv * a1 + g * b1, g1 * xv * a2 + g * b2
    c0, c1, c2 = cross(w0, w1, w2, p0, p1, p2)
    e0, e1, e2 = cross(v0, v1, v2, a0, a1, a2)
    return (
        c0 + g * e0 + f1 * xv * a0 + f * b0,
        c1 + g * e1 + f1 * xv * a1 + f * b1,
        c2 + g * e2 + f1 * xv * a2 + f * b2,
    )


@kernel
def put(out, i, j, side, ks):
    """Write the matrix "k s" at rows i…, columns j… of `out`, its skew part times `side`."""
    k0, k1, k2 = side * ks[0], side * ks[1], side * ks[2]
    out[i, j] = ks[3]
    out[i, j + 1] = ks[6] - k2
    out[i, j + 2] = ks[7] + k1
    out[i + 1, j] = ks[6] + k2
    out[i + 1, j + 1] = ks[4]
    out[i + 1, j + 2] = ks[8] - k0
    out[i + 2, j] = ks[7] - k1
    out[i + 2, j + 1] = ks[8] + k0
    out[i + 2, j + 2] = ks[5]


# ---------------------------------------------------------------- the algebra, shared with the quaternions


@kernel
def hat(w, out):
    """out = ŵ, the matrix with ŵ u = w×u."""
    out[0, 0] = 0.0
    out[0, 1] = -w[2]
    out[0, 2] = w[1]
    out[1, 0] = w[2]
    out[1, 1] = 0.0
    out[1, 2] = -w[0]
    out[2, 0] = -w[1]
    out[2, 1] = w[0]
    out[2, 2] = 0.0


@kernel
def vee(m, out):
    """Inverse of hat, from the skew part of m."""
    out[0] = 0.5 * (m[2, 1] - m[1, 2])
    out[1] = 0.5 * (m[0, 2] - m[2, 0])
    out[2] = 0.5 * (m[1, 0] - m[0, 1])


@kernel
def ad(w, out):
    """out = ad(w) = ŵ."""
    hat(w, out)


@kernel
def adT(w, out):
    """out = ad(w)ᵀ = −ŵ."""
    out[0, 0] = 0.0
    out[0, 1] = w[2]
    out[0, 2] = -w[1]
    out[1, 0] = -w[2]
    out[1, 1] = 0.0
    out[1, 2] = w[0]
    out[2, 0] = w[1]
    out[2, 1] = -w[0]
    out[2, 2] = 0.0


@kernel
def ad_apply(w, u, out):
    """out = ad(w) u = w×u."""
    out[0], out[1], out[2] = cross(w[0], w[1], w[2], u[0], u[1], u[2])


@kernel
def adT_apply(w, n, out):
    """out = ad(w)ᵀ n = −w×n = n×w."""
    out[0], out[1], out[2] = cross(n[0], n[1], n[2], w[0], w[1], w[2])


@kernel
def _dexp(w, side, out):
    f, g, _, _, _, _ = dexp_coefficients(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    put(out, 0, 0, side, quadratic(w[0], w[1], w[2], 1.0, f, g))


@kernel
def _dexpinv(w, side, out):
    g, _, _ = dexpinv_coefficients(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    put(out, 0, 0, side, quadratic(w[0], w[1], w[2], 1.0, -0.5, g))


@kernel
def dexp_left(w, out):
    """out = dexp_left(w):  D exp(w)[u] exp(w)⁻¹ = hat(dexp_left(w) u)."""
    _dexp(w, 1.0, out)


@kernel
def dexp_right(w, out):
    """out = dexp_right(w):  exp(w)⁻¹ D exp(w)[u] = hat(dexp_right(w) u)."""
    _dexp(w, -1.0, out)


@kernel
def dexpinv_left(w, out):
    """out = dexp_left(w)⁻¹; singular at |w| = 2π, 4π, …"""
    _dexpinv(w, 1.0, out)


@kernel
def dexpinv_right(w, out):
    """out = dexp_right(w)⁻¹; singular at |w| = 2π, 4π, …"""
    _dexpinv(w, -1.0, out)


@kernel
def _dexp_apply(w, side, u, out):
    f, g, _, _, _, _ = dexp_coefficients(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    out[0], out[1], out[2] = quadratic_apply(w[0], w[1], w[2], side * f, g, u[0], u[1], u[2])


@kernel
def _dexpinv_apply(w, side, u, out):
    g, _, _ = dexpinv_coefficients(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    out[0], out[1], out[2] = quadratic_apply(w[0], w[1], w[2], -0.5 * side, g, u[0], u[1], u[2])


@kernel
def dexp_left_apply(w, u, out):
    """out = dexp_left(w) u."""
    _dexp_apply(w, 1.0, u, out)


@kernel
def dexp_right_apply(w, u, out):
    """out = dexp_right(w) u."""
    _dexp_apply(w, -1.0, u, out)


@kernel
def dexpinv_left_apply(w, u, out):
    """out = dexp_left(w)⁻¹ u."""
    _dexpinv_apply(w, 1.0, u, out)


@kernel
def dexpinv_right_apply(w, u, out):
    """out = dexp_right(w)⁻¹ u."""
    _dexpinv_apply(w, -1.0, u, out)


@kernel
def _ddexp(w, u, side, out):
    f, g, f1, g1, _, _ = dexp_coefficients(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    put(out, 0, 0, side, quadratic_d(w[0], w[1], w[2], u[0], u[1], u[2], f, g, f1, g1))


@kernel
def _ddexpinv(w, u, side, out):
    g, g1, _ = dexpinv_coefficients(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    put(out, 0, 0, side, quadratic_d(w[0], w[1], w[2], u[0], u[1], u[2], -0.5, g, 0.0, g1))


@kernel
def ddexp_left(w, u, out):
    """out = d/ds dexp_left(w + s u) at s = 0, (2)."""
    _ddexp(w, u, 1.0, out)


@kernel
def ddexp_right(w, u, out):
    """out = d/ds dexp_right(w + s u) at s = 0, (2)."""
    _ddexp(w, u, -1.0, out)


@kernel
def ddexpinv_left(w, u, out):
    """out = d/ds dexp_left(w + s u)⁻¹ at s = 0, (2)."""
    _ddexpinv(w, u, 1.0, out)


@kernel
def ddexpinv_right(w, u, out):
    """out = d/ds dexp_right(w + s u)⁻¹ at s = 0, (2)."""
    _ddexpinv(w, u, -1.0, out)


@kernel
def _dcay(w, side, out):
    a = 1.0 / (1.0 + 0.25 * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]))
    put(out, 0, 0, side, quadratic(w[0], w[1], w[2], a, 0.5 * a, 0.0 * a))


@kernel
def _dcayinv(w, side, out):
    h = 1.0 + 0.25 * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    put(out, 0, 0, side, quadratic(w[0], w[1], w[2], h, -0.5, 0.25))


@kernel
def dcay_left(w, out):
    """out = dcay_left(w):  D cay(w)[u] cay(w)⁻¹ = hat(dcay_left(w) u),  = (I + ½ŵ)/(1 + ¼x)."""
    _dcay(w, 1.0, out)


@kernel
def dcay_right(w, out):
    """out = dcay_right(w):  cay(w)⁻¹ D cay(w)[u] = hat(dcay_right(w) u)."""
    _dcay(w, -1.0, out)


@kernel
def dcayinv_left(w, out):
    """out = dcay_left(w)⁻¹ = I − ½ŵ + ¼ w wᵀ."""
    _dcayinv(w, 1.0, out)


@kernel
def dcayinv_right(w, out):
    """out = dcay_right(w)⁻¹ = I + ½ŵ + ¼ w wᵀ."""
    _dcayinv(w, -1.0, out)


@kernel
def hat_defect(m):
    """How far m is from skew: Σ|m + mᵀ|, as a fraction of the size of m where that exceeds 1; NaN if not finite."""
    off, size = 0.0, 1.0
    for i in range(3):
        for j in range(i, 3):
            off += abs(m[i, j].real + m[j, i].real)
            size += abs(m[i, j].real)
    return off / size


# ---------------------------------------------------------------- the group


@kernel
def identity(out):
    for i in range(3):
        for j in range(3):
            out[i, j] = 1.0 if i == j else 0.0


@kernel
def compose(R_AB, R_BC, out):
    """out = R_AB R_BC."""
    for i in range(3):
        for j in range(3):
            out[i, j] = R_AB[i, 0] * R_BC[0, j] + R_AB[i, 1] * R_BC[1, j] + R_AB[i, 2] * R_BC[2, j]


@kernel
def inverse(R_AB, out):
    """out = R_ABᵀ."""
    for i in range(3):
        for j in range(3):
            out[i, j] = R_AB[j, i]


@kernel
def act(R_AB, p_B, out):
    """out = R_AB p_B."""
    for i in range(3):
        out[i] = R_AB[i, 0] * p_B[0] + R_AB[i, 1] * p_B[1] + R_AB[i, 2] * p_B[2]


@kernel
def exp(w, out):
    """out = exp(ŵ)."""
    put_rows(out, exp_entries(w[0], w[1], w[2]))


@kernel
def log(R, out):
    """out = w with exp(ŵ) = R and |w| ≤ π; at π the one whose first non-zero component is positive."""
    out[0], out[1], out[2] = log_entries(
        R[0, 0], R[0, 1], R[0, 2], R[1, 0], R[1, 1], R[1, 2], R[2, 0], R[2, 1], R[2, 2]
    )


@kernel
def Ad(R_AB, out):
    """out = Ad(R) = R."""
    for i in range(3):
        for j in range(3):
            out[i, j] = R_AB[i, j]


@kernel
def AdT(R_AB, out):
    """out = Ad(R)ᵀ = Rᵀ."""
    inverse(R_AB, out)


@kernel
def Ad_apply(R_AB, w_B, out):
    """out = Ad(R_AB) w_B = R_AB w_B."""
    act(R_AB, w_B, out)


@kernel
def AdT_apply(R_AB, n_A, out):
    """out = Ad(R_AB)ᵀ n_A = R_ABᵀ n_A."""
    for i in range(3):
        out[i] = R_AB[0, i] * n_A[0] + R_AB[1, i] * n_A[1] + R_AB[2, i] * n_A[2]


@kernel
def cay(w, out):
    """out = (I − ½ŵ)⁻¹ (I + ½ŵ) = I + a ŵ + ½a ŵ², a = 1/(1 + ¼x)."""
    a = 1.0 / (1.0 + 0.25 * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]))
    put(out, 0, 0, 1.0, quadratic(w[0], w[1], w[2], 1.0 + 0.0 * a, a, 0.5 * a))


@kernel
def cayinv(R, out):
    """out = w with cay(w) = R; infinite for a rotation by π."""
    a, b, c, d = quaternion.from_entries(
        R[0, 0], R[0, 1], R[0, 2], R[1, 0], R[1, 1], R[1, 2], R[2, 0], R[2, 1], R[2, 2]
    )
    out[0], out[1], out[2] = 2.0 * b / a, 2.0 * c / a, 2.0 * d / a


@kernel
def multiply_left(R_AB, out):
    """out ← R_AB out, in place, on the first three rows of any number of columns."""
    for j in range(out.shape[1]):
        a, b, c = out[0, j], out[1, j], out[2, j]
        for i in range(3):
            out[i, j] = R_AB[i, 0] * a + R_AB[i, 1] * b + R_AB[i, 2] * c


@kernel
def retract(R, w, out):
    """out = R ⊕ w = R exp(ŵ)."""
    exp(w, out)
    multiply_left(R, out)


@kernel
def difference_entries(P, Q):
    """log(PᵀQ) from the first three rows and columns of P and Q."""
    return log_entries(
        P[0, 0] * Q[0, 0] + P[1, 0] * Q[1, 0] + P[2, 0] * Q[2, 0],
        P[0, 0] * Q[0, 1] + P[1, 0] * Q[1, 1] + P[2, 0] * Q[2, 1],
        P[0, 0] * Q[0, 2] + P[1, 0] * Q[1, 2] + P[2, 0] * Q[2, 2],
        P[0, 1] * Q[0, 0] + P[1, 1] * Q[1, 0] + P[2, 1] * Q[2, 0],
        P[0, 1] * Q[0, 1] + P[1, 1] * Q[1, 1] + P[2, 1] * Q[2, 1],
        P[0, 1] * Q[0, 2] + P[1, 1] * Q[1, 2] + P[2, 1] * Q[2, 2],
        P[0, 2] * Q[0, 0] + P[1, 2] * Q[1, 0] + P[2, 2] * Q[2, 0],
        P[0, 2] * Q[0, 1] + P[1, 2] * Q[1, 1] + P[2, 2] * Q[2, 1],
        P[0, 2] * Q[0, 2] + P[1, 2] * Q[1, 2] + P[2, 2] * Q[2, 2],
    )


@kernel
def difference(Q, P, out):
    """out = Q ⊖ P = log(P⁻¹ Q), so that P ⊕ (Q ⊖ P) = Q."""
    out[0], out[1], out[2] = difference_entries(P, Q)


@kernel
def distance(Q, P, out):
    """out[0] = |Q ⊖ P|, the angle between them."""
    a, b, c = difference_entries(P, Q)
    out[0] = np.sqrt(a * a + b * b + c * c)


@kernel
def interpolate(P, Q, t, out):
    """out = P ⊕ t (Q ⊖ P)."""
    a, b, c = difference_entries(P, Q)
    put_rows(out, exp_entries(t * a, t * b, t * c))
    multiply_left(P, out)


@kernel
def matrix(R, out):
    """out = R: the matrix that represents the element."""
    Ad(R, out)


@kernel
def from_matrix(m, out):
    """Inverse of `matrix`."""
    Ad(m, out)


@kernel
def project(m, out):
    """out = the rotation nearest to m (polar decomposition by Newton's iteration); needs det m > 0.  out may be m."""
    scale = 0.0
    for i in range(3):
        for j in range(3):
            scale = max(scale, abs(m[i, j].real))
    for i in range(3):
        for j in range(3):
            out[i, j] = m[i, j] / scale
    for _ in range(60):
        c00 = out[1, 1] * out[2, 2] - out[1, 2] * out[2, 1]
        c01 = out[1, 2] * out[2, 0] - out[1, 0] * out[2, 2]
        c02 = out[1, 0] * out[2, 1] - out[1, 1] * out[2, 0]
        c10 = out[2, 1] * out[0, 2] - out[2, 2] * out[0, 1]
        c11 = out[2, 2] * out[0, 0] - out[2, 0] * out[0, 2]
        c12 = out[2, 0] * out[0, 1] - out[2, 1] * out[0, 0]
        c20 = out[0, 1] * out[1, 2] - out[0, 2] * out[1, 1]
        c21 = out[0, 2] * out[1, 0] - out[0, 0] * out[1, 2]
        c22 = out[0, 0] * out[1, 1] - out[0, 1] * out[1, 0]
        det = out[0, 0] * c00 + out[0, 1] * c01 + out[0, 2] * c02
        # Halving the distance to the rotation in every step from afar; the scale makes the first steps large ones.
        s = det.real ** (-1.0 / 3.0) if abs(det.real - 1.0) > 0.1 else 1.0
        change = 0.0
        for i in range(3):
            for j in range(3):
                if i == 0:
                    c = c00 if j == 0 else (c01 if j == 1 else c02)
                elif i == 1:
                    c = c10 if j == 0 else (c11 if j == 1 else c12)
                else:
                    c = c20 if j == 0 else (c21 if j == 1 else c22)
                new = 0.5 * (s * out[i, j] + c / (s * det))
                change = max(change, abs(new - out[i, j]))
                out[i, j] = new
        if change < 1e-15:
            break


@kernel
def matrix_defect(m):
    """How far m is from a rotation; NaN if not finite.

    A rotation's first two columns a, b are orthonormal and its third is a×b, which excludes reflections:
    | |a|² − 1 | + | |b|² − 1 | + |a·b| + Σ|c − a×b|.
    """
    a0, a1, a2 = m[0, 0].real, m[1, 0].real, m[2, 0].real
    b0, b1, b2 = m[0, 1].real, m[1, 1].real, m[2, 1].real
    c0, c1, c2 = cross(a0, a1, a2, b0, b1, b2)
    return (
        abs(a0 * a0 + a1 * a1 + a2 * a2 - 1.0)
        + abs(b0 * b0 + b1 * b1 + b2 * b2 - 1.0)
        + abs(a0 * b0 + a1 * b1 + a2 * b2)
        + abs(m[0, 2].real - c0)
        + abs(m[1, 2].real - c1)
        + abs(m[2, 2].real - c2)
    )


@kernel
def defect(R):
    """How far the stored numbers are from a group element."""
    return matrix_defect(R)
