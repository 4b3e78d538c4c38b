"""SE(3) as seven numbers, unit quaternion [w, x, y, z] then position: kernels.

The storage of a free body inside a flat configuration vector.  The algebra (hat, ad, dexp, …) is that of se3.py.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import kernel
from liegeo.lie import quaternion, se3
from liegeo.lie.quaternion import rotate
from liegeo.lie.so3 import cross


@kernel
def identity(out):
    quaternion.identity(out)
    out[4], out[5], out[6] = 0.0, 0.0, 0.0


@kernel
def compose(X_AB, X_BC, out):
    """out = X_AC = X_AB X_BC."""
    a, b, c = rotate(X_AB[0], X_AB[1], X_AB[2], X_AB[3], X_BC[4], X_BC[5], X_BC[6])
    out[4], out[5], out[6] = X_AB[4] + a, X_AB[5] + b, X_AB[6] + c
    quaternion.compose(X_AB, X_BC, out)


@kernel
def inverse(X_AB, out):
    """out = X_BA."""
    a, b, c = rotate(X_AB[0], -X_AB[1], -X_AB[2], -X_AB[3], X_AB[4], X_AB[5], X_AB[6])
    quaternion.inverse(X_AB, out)
    out[4], out[5], out[6] = -a, -b, -c


@kernel
def act(X_AB, p_B, out):
    """out = p_A = R p_B + p."""
    a, b, c = rotate(X_AB[0], X_AB[1], X_AB[2], X_AB[3], p_B[0], p_B[1], p_B[2])
    out[0], out[1], out[2] = X_AB[4] + a, X_AB[5] + b, X_AB[6] + c


@kernel
def exp(V, out):
    """out = exp(V)."""
    quaternion.exp(V, out)
    out[4], out[5], out[6] = se3.exp_translation(V[0], V[1], V[2], V[3], V[4], V[5])


@kernel
def log(X, out):
    """out = V with exp(V) = X and |w| ≤ π; at π the one whose first non-zero component is positive."""
    quaternion.log(X, out)
    out[3], out[4], out[5] = se3.log_translation(out[0], out[1], out[2], X[4], X[5], X[6])


@kernel
def Ad(X_AB, out):
    """out = Ad(X_AB):  V_A = Ad(X_AB) V_B."""
    quaternion.matrix(X_AB, out)
    for j in range(3):
        a, b, c = out[0, j], out[1, j], out[2, j]
        out[3, 3 + j], out[4, 3 + j], out[5, 3 + j] = a, b, c
        out[3, j], out[4, j], out[5, j] = cross(X_AB[4], X_AB[5], X_AB[6], a, b, c)
        out[0, 3 + j], out[1, 3 + j], out[2, 3 + j] = 0.0, 0.0, 0.0


@kernel
def AdT(X_AB, out):
    """out = Ad(X_AB)ᵀ:  F_B = AdT(X_AB) F_A."""
    quaternion.AdT(X_AB, out)
    for j in range(3):
        a, b, c = out[j, 0], out[j, 1], out[j, 2]
        out[3 + j, 3], out[3 + j, 4], out[3 + j, 5] = a, b, c
        out[j, 3], out[j, 4], out[j, 5] = cross(X_AB[4], X_AB[5], X_AB[6], a, b, c)
        out[3 + j, 0], out[3 + j, 1], out[3 + j, 2] = 0.0, 0.0, 0.0


@kernel
def Ad_apply(X_AB, V_B, out):
    """out = V_A = Ad(X_AB) V_B = (R w, R v + p×R w)."""
    a0, a1, a2 = rotate(X_AB[0], X_AB[1], X_AB[2], X_AB[3], V_B[0], V_B[1], V_B[2])
    b0, b1, b2 = rotate(X_AB[0], X_AB[1], X_AB[2], X_AB[3], V_B[3], V_B[4], V_B[5])
    c0, c1, c2 = cross(X_AB[4], X_AB[5], X_AB[6], a0, a1, a2)
    out[0], out[1], out[2] = a0, a1, a2
    out[3], out[4], out[5] = b0 + c0, b1 + c1, b2 + c2


@kernel
def AdT_apply(X_AB, F_A, out):
    """out = F_B = AdT(X_AB) F_A = (Rᵀ(n − p×f), Rᵀf)."""
    c0, c1, c2 = cross(X_AB[4], X_AB[5], X_AB[6], F_A[3], F_A[4], F_A[5])
    n0, n1, n2 = rotate(X_AB[0], -X_AB[1], -X_AB[2], -X_AB[3], F_A[0] - c0, F_A[1] - c1, F_A[2] - c2)
    f0, f1, f2 = rotate(X_AB[0], -X_AB[1], -X_AB[2], -X_AB[3], F_A[3], F_A[4], F_A[5])
    out[0], out[1], out[2] = n0, n1, n2
    out[3], out[4], out[5] = f0, f1, f2


@kernel
def cay(V, out):
    """out = cay(V)."""
    quaternion.cay(V, out)
    out[4], out[5], out[6] = se3.cay_translation(V[0], V[1], V[2], V[3], V[4], V[5])


@kernel
def cayinv(X, out):
    """out = V with cay(V) = X; infinite for a rotation by π."""
    quaternion.cayinv(X, out)
    out[3], out[4], out[5] = se3.cayinv_translation(out[0], out[1], out[2], X[4], X[5], X[6])


@kernel
def _retract_entries(X, a, b, c, d, e, f, out):
    """out = X exp((a, b, c, d, e, f)).  out may be X."""
    t0, t1, t2 = se3.exp_translation(a, b, c, d, e, f)
    r0, r1, r2 = rotate(X[0], X[1], X[2], X[3], t0, t1, t2)
    out[4], out[5], out[6] = X[4] + r0, X[5] + r1, X[6] + r2
    e0, e1, e2, e3 = quaternion.exp_entries(a, b, c)
    out[0], out[1], out[2], out[3] = quaternion.multiply(X[0], X[1], X[2], X[3], e0, e1, e2, e3)


@kernel
def retract(X, V, out):
    """out = X ⊕ V = X exp(V).  out may be X."""
    _retract_entries(X, V[0], V[1], V[2], V[3], V[4], V[5], out)


@kernel
def difference_entries(P, Q):
    """log(P⁻¹ Q) as six scalars."""
    w0, w1, w2 = quaternion.difference_entries(P, Q)
    p0, p1, p2 = rotate(P[0], -P[1], -P[2], -P[3], Q[4] - P[4], Q[5] - P[5], Q[6] - P[6])
    v0, v1, v2 = se3.log_translation(w0, w1, w2, p0, p1, p2)
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
    _retract_entries(P, t * a, t * b, t * c, t * d, t * e, t * f, out)


@kernel
def matrix(X, out):
    """out = the 4×4 homogeneous matrix."""
    quaternion.matrix(X, out)
    out[0, 3], out[1, 3], out[2, 3] = X[4], X[5], X[6]
    out[3, 0], out[3, 1], out[3, 2], out[3, 3] = 0.0, 0.0, 0.0, 1.0


@kernel
def from_matrix(m, out):
    """Inverse of `matrix`."""
    quaternion.from_matrix(m, out)
    out[4], out[5], out[6] = m[0, 3], m[1, 3], m[2, 3]


@kernel
def project(X, out):
    """out = X with its quaternion normalised.  out may be X."""
    quaternion.project(X, out)
    out[4], out[5], out[6] = X[4], X[5], X[6]


@kernel
def defect(X):
    """How far the stored numbers are from a group element; NaN if not finite."""
    return quaternion.defect(X) + se3.not_finite(X[4], X[5], X[6])
