"""SE(2) as three numbers, angle θ then position (x, y); twists (w, v_x, v_y): kernels.

The angle counts turns; elements that differ by 2π are the same, and `log` takes the principal value in (−π, π].
SE(2) is SE(3) restricted to rotations about z and shifts in the plane, so its differentials come from the same
coefficients.  With J = [0 −1; 1 0], x = w² and A₂ = (1 − g x) I + f w J,

    𝒜(V) = [1 0; b A₂],    b = f (v_y, −v_x) + g w (v_x, v_y).           (1)
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import kernel
from liegeo.lie import rn, s1
from liegeo.lie.s1 import principal
from liegeo.lie.series import arctan2, dexp_coefficients, dexpinv_coefficients

# ---------------------------------------------------------------- scalars in, scalars out


@kernel
def rotate(angle, x, y):
    c, s = np.cos(angle), np.sin(angle)
    return c * x - s * y, s * x + c * y


@kernel
def exp_translation(w, x, y):
    """A₂ (x, y) of (1), left dexp."""
    f, g, _, _, _, _ = dexp_coefficients(w * w)
    a, b = 1.0 - g * w * w, f * w
    return a * x - b * y, b * x + a * y


@kernel
def log_translation(w, x, y):
    """A₂⁻¹ (x, y): undoes `exp_translation`."""
    g, _, _ = dexpinv_coefficients(w * w)
    a, b = 1.0 - g * w * w, -0.5 * w
    return a * x - b * y, b * x + a * y


# ---------------------------------------------------------------- the algebra


@kernel
def hat(V, out):
    """out = [w J v; 0 0]."""
    out[0, 0], out[0, 1], out[0, 2] = 0.0, -V[0], V[1]
    out[1, 0], out[1, 1], out[1, 2] = V[0], 0.0, V[2]
    out[2, 0], out[2, 1], out[2, 2] = 0.0, 0.0, 0.0


@kernel
def vee(m, out):
    """Inverse of hat."""
    out[0], out[1], out[2] = 0.5 * (m[1, 0] - m[0, 1]), m[0, 2], m[1, 2]


@kernel
def hat_defect(m):
    """How far m is from a matrix that hat makes; NaN if not finite."""
    off = abs(m[2, 0].real) + abs(m[2, 1].real) + abs(m[2, 2].real)
    return s1.hat_defect(m) + off + (m[0, 2].real - m[0, 2].real) + (m[1, 2].real - m[1, 2].real)


@kernel
def ad(V, out):
    """out = [0 0; (v_y, −v_x) w J]."""
    out[0, 0], out[0, 1], out[0, 2] = 0.0, 0.0, 0.0
    out[1, 0], out[1, 1], out[1, 2] = V[2], 0.0, -V[0]
    out[2, 0], out[2, 1], out[2, 2] = -V[1], V[0], 0.0


@kernel
def adT(V, out):
    """out = ad(V)ᵀ."""
    out[0, 0], out[0, 1], out[0, 2] = 0.0, V[2], -V[1]
    out[1, 0], out[1, 1], out[1, 2] = 0.0, 0.0, V[0]
    out[2, 0], out[2, 1], out[2, 2] = 0.0, -V[0], 0.0


@kernel
def ad_apply(V, U, out):
    """out = ad(V) U."""
    a, b = V[2] * U[0] - V[0] * U[2], V[0] * U[1] - V[1] * U[0]
    out[0], out[1], out[2] = 0.0, a, b


@kernel
def adT_apply(V, F, out):
    """out = ad(V)ᵀ F."""
    a, b, c = V[2] * F[1] - V[1] * F[2], V[0] * F[2], -V[0] * F[1]
    out[0], out[1], out[2] = a, b, c


@kernel
def _put(V, f, g, out):
    """(1)."""
    a, b = 1.0 - g * V[0] * V[0], f * V[0]
    out[0, 0], out[0, 1], out[0, 2] = 1.0, 0.0, 0.0
    out[1, 0], out[1, 1], out[1, 2] = f * V[2] + g * V[0] * V[1], a, -b
    out[2, 0], out[2, 1], out[2, 2] = -f * V[1] + g * V[0] * V[2], b, a


@kernel
def _apply(V, f, g, U, out):
    a, b = 1.0 - g * V[0] * V[0], f * V[0]
    x = (f * V[2] + g * V[0] * V[1]) * U[0] + a * U[1] - b * U[2]
    y = (-f * V[1] + g * V[0] * V[2]) * U[0] + b * U[1] + a * U[2]
    out[0], out[1], out[2] = U[0], x, y


@kernel
def _put_d(V, U, f, g, f1, g1, out):
    """Derivative of (1) in the direction U: f, g and w change with w, v with v."""
    w, dw = V[0], U[0]
    df, dg = 2.0 * w * dw * f1, 2.0 * w * dw * g1
    da, db = -dg * w * w - 2.0 * g * w * dw, df * w + f * dw
    dgw = dg * w + g * dw
    out[0, 0], out[0, 1], out[0, 2] = 0.0, 0.0, 0.0
    out[1, 0], out[1, 1], out[1, 2] = df * V[2] + f * U[2] + dgw * V[1] + g * w * U[1], da, -db
    out[2, 0], out[2, 1], out[2, 2] = -df * V[1] - f * U[1] + dgw * V[2] + g * w * U[2], db, da


@kernel
def dexp_left(V, out):
    """out = dexp_left(V)."""
    f, g, _, _, _, _ = dexp_coefficients(V[0] * V[0])
    _put(V, f, g, out)


@kernel
def dexp_right(V, out):
    """out = dexp_right(V)."""
    f, g, _, _, _, _ = dexp_coefficients(V[0] * V[0])
    _put(V, -f, g, out)


@kernel
def dexpinv_left(V, out):
    """out = dexp_left(V)⁻¹; singular at w = ±2π, ±4π, …"""
    g, _, _ = dexpinv_coefficients(V[0] * V[0])
    _put(V, -0.5, g, out)


@kernel
def dexpinv_right(V, out):
    """out = dexp_right(V)⁻¹; singular at w = ±2π, ±4π, …"""
    g, _, _ = dexpinv_coefficients(V[0] * V[0])
    _put(V, 0.5, g, out)


@kernel
def dexp_left_apply(V, U, out):
    """out = dexp_left(V) U."""
    f, g, _, _, _, _ = dexp_coefficients(V[0] * V[0])
    _apply(V, f, g, U, out)


@kernel
def dexp_right_apply(V, U, out):
    """out = dexp_right(V) U."""
    f, g, _, _, _, _ = dexp_coefficients(V[0] * V[0])
    _apply(V, -f, g, U, out)


@kernel
def dexpinv_left_apply(V, U, out):
    """out = dexp_left(V)⁻¹ U."""
    g, _, _ = dexpinv_coefficients(V[0] * V[0])
    _apply(V, -0.5, g, U, out)


@kernel
def dexpinv_right_apply(V, U, out):
    """out = dexp_right(V)⁻¹ U."""
    g, _, _ = dexpinv_coefficients(V[0] * V[0])
    _apply(V, 0.5, g, U, out)


@kernel
def ddexp_left(V, U, out):
    """out = d/ds dexp_left(V + s U) at s = 0."""
    f, g, f1, g1, _, _ = dexp_coefficients(V[0] * V[0])
    _put_d(V, U, f, g, f1, g1, out)


@kernel
def ddexp_right(V, U, out):
    """out = d/ds dexp_right(V + s U) at s = 0."""
    f, g, f1, g1, _, _ = dexp_coefficients(V[0] * V[0])
    _put_d(V, U, -f, g, -f1, g1, out)


@kernel
def ddexpinv_left(V, U, out):
    """out = d/ds dexp_left(V + s U)⁻¹ at s = 0."""
    g, g1, _ = dexpinv_coefficients(V[0] * V[0])
    _put_d(V, U, -0.5, g, 0.0, g1, out)


@kernel
def ddexpinv_right(V, U, out):
    """out = d/ds dexp_right(V + s U)⁻¹ at s = 0."""
    g, g1, _ = dexpinv_coefficients(V[0] * V[0])
    _put_d(V, U, 0.5, g, 0.0, g1, out)


@kernel
def _dcay(V, side, out):
    """[SE(3), (7)] in the plane: a (1 0; ½(v_y, −v_x) I + ½w J)."""
    a = 1.0 / (1.0 + 0.25 * V[0] * V[0])
    h = 0.5 * side * a
    out[0, 0], out[0, 1], out[0, 2] = a, 0.0, 0.0
    out[1, 0], out[1, 1], out[1, 2] = h * V[2], a, -h * V[0]
    out[2, 0], out[2, 1], out[2, 2] = -h * V[1], h * V[0], a


@kernel
def _dcayinv(V, side, out):
    h = 0.5 * side
    out[0, 0], out[0, 1], out[0, 2] = 1.0 + 0.25 * V[0] * V[0], 0.0, 0.0
    # −½(I − ½wJ)(v_y, −v_x)
    out[1, 0], out[1, 1], out[1, 2] = -h * (V[2] - h * V[0] * V[1]), 1.0, h * V[0]
    out[2, 0], out[2, 1], out[2, 2] = h * (V[1] + h * V[0] * V[2]), -h * V[0], 1.0


@kernel
def dcay_left(V, out):
    """out = dcay_left(V)."""
    _dcay(V, 1.0, out)


@kernel
def dcay_right(V, out):
    """out = dcay_right(V)."""
    _dcay(V, -1.0, out)


@kernel
def dcayinv_left(V, out):
    """out = dcay_left(V)⁻¹."""
    _dcayinv(V, 1.0, out)


@kernel
def dcayinv_right(V, out):
    """out = dcay_right(V)⁻¹."""
    _dcayinv(V, -1.0, out)


# ---------------------------------------------------------------- the group


@kernel
def identity(out):
    out[0], out[1], out[2] = 0.0, 0.0, 0.0


@kernel
def compose(X_AB, X_BC, out):
    """out = X_AC = X_AB X_BC."""
    x, y = rotate(X_AB[0], X_BC[1], X_BC[2])
    out[0], out[1], out[2] = X_AB[0] + X_BC[0], X_AB[1] + x, X_AB[2] + y


@kernel
def inverse(X_AB, out):
    """out = X_BA."""
    x, y = rotate(-X_AB[0], X_AB[1], X_AB[2])
    out[0], out[1], out[2] = -X_AB[0], -x, -y


@kernel
def act(X_AB, p_B, out):
    """out = p_A = R p_B + p."""
    x, y = rotate(X_AB[0], p_B[0], p_B[1])
    out[0], out[1] = X_AB[1] + x, X_AB[2] + y


@kernel
def exp(V, out):
    """out = exp(V)."""
    x, y = exp_translation(V[0], V[1], V[2])
    out[0], out[1], out[2] = V[0], x, y


@kernel
def log(X, out):
    """out = V with exp(V) = X and −π < w ≤ π."""
    w = principal(X[0])
    x, y = log_translation(w, X[1], X[2])
    out[0], out[1], out[2] = w, x, y


@kernel
def Ad(X_AB, out):
    """out = Ad(X_AB) = [1 0; (y, −x) R]."""
    c, s = np.cos(X_AB[0]), np.sin(X_AB[0])
    out[0, 0], out[0, 1], out[0, 2] = 1.0, 0.0, 0.0
    out[1, 0], out[1, 1], out[1, 2] = X_AB[2], c, -s
    out[2, 0], out[2, 1], out[2, 2] = -X_AB[1], s, c


@kernel
def AdT(X_AB, out):
    """out = Ad(X_AB)ᵀ."""
    c, s = np.cos(X_AB[0]), np.sin(X_AB[0])
    out[0, 0], out[0, 1], out[0, 2] = 1.0, X_AB[2], -X_AB[1]
    out[1, 0], out[1, 1], out[1, 2] = 0.0, c, s
    out[2, 0], out[2, 1], out[2, 2] = 0.0, -s, c


@kernel
def Ad_apply(X_AB, V_B, out):
    """out = V_A = Ad(X_AB) V_B."""
    x, y = rotate(X_AB[0], V_B[1], V_B[2])
    a, b = X_AB[2] * V_B[0] + x, y - X_AB[1] * V_B[0]
    out[0], out[1], out[2] = V_B[0], a, b


@kernel
def AdT_apply(X_AB, F_A, out):
    """out = F_B = Ad(X_AB)ᵀ F_A."""
    x, y = rotate(-X_AB[0], F_A[1], F_A[2])
    out[0], out[1], out[2] = F_A[0] + X_AB[2] * F_A[1] - X_AB[1] * F_A[2], x, y


@kernel
def cay(V, out):
    """out = cay(V) = (2 atan ½w, (I − ½wJ)⁻¹ v)."""
    h = 0.5 * V[0]
    a = 1.0 / (1.0 + h * h)
    x, y = a * (V[1] - h * V[2]), a * (V[2] + h * V[1])
    out[0], out[1], out[2] = 2.0 * arctan2(h, 1.0), x, y


@kernel
def cayinv(X, out):
    """out = V with cay(V) = X; infinite for a rotation by π."""
    c, s = np.cos(0.5 * X[0]), np.sin(0.5 * X[0])
    h = s / c
    x, y = X[1] + h * X[2], X[2] - h * X[1]
    out[0], out[1], out[2] = 2.0 * h, x, y


@kernel
def _retract_entries(X, w, vx, vy, out):
    a, b = exp_translation(w, vx, vy)
    x, y = rotate(X[0], a, b)
    out[0], out[1], out[2] = X[0] + w, X[1] + x, X[2] + y


@kernel
def retract(X, V, out):
    """out = X ⊕ V = X exp(V)."""
    _retract_entries(X, V[0], V[1], V[2], out)


@kernel
def difference_entries(P, Q):
    """log(P⁻¹ Q) as three scalars."""
    w = principal(Q[0] - P[0])
    a, b = rotate(-P[0], Q[1] - P[1], Q[2] - P[2])
    x, y = log_translation(w, a, b)
    return w, x, y


@kernel
def difference(Q, P, out):
    """out = Q ⊖ P = log(P⁻¹ Q), so that P ⊕ (Q ⊖ P) = Q."""
    out[0], out[1], out[2] = difference_entries(P, Q)


@kernel
def distance(Q, P, out):
    """out[0] = |Q ⊖ P|, one radian counting as one metre."""
    a, b, c = difference_entries(P, Q)
    out[0] = np.sqrt(a * a + b * b + c * c)


@kernel
def interpolate(P, Q, t, out):
    """out = P ⊕ t (Q ⊖ P)."""
    a, b, c = difference_entries(P, Q)
    _retract_entries(P, t * a, t * b, t * c, out)


@kernel
def matrix(X, out):
    """out = the 3×3 homogeneous matrix."""
    c, s = np.cos(X[0]), np.sin(X[0])
    out[0, 0], out[0, 1], out[0, 2] = c, -s, X[1]
    out[1, 0], out[1, 1], out[1, 2] = s, c, X[2]
    out[2, 0], out[2, 1], out[2, 2] = 0.0, 0.0, 1.0


@kernel
def from_matrix(m, out):
    """Inverse of `matrix`, with the angle in (−π, π]."""
    out[0], out[1], out[2] = arctan2(m[1, 0], m[0, 0]), m[0, 2], m[1, 2]


@kernel
def matrix_defect(m):
    """How far m is from a homogeneous matrix; NaN if not finite."""
    off = abs(m[2, 0].real) + abs(m[2, 1].real) + abs(m[2, 2].real - 1.0)
    return s1.matrix_defect(m) + off + (m[0, 2].real - m[0, 2].real) + (m[1, 2].real - m[1, 2].real)


@kernel
def project(X, out):
    """out = X with its angle in (−π, π]."""
    out[0], out[1], out[2] = principal(X[0]), X[1], X[2]


@kernel
def defect(X):
    """Zero: every three finite numbers are an element; NaN if not finite."""
    return rn.defect(X)
