"""SO(3) as unit quaternions [w, x, y, z], scalar first: kernels.

q and −q are the same rotation: `log` and everything built on it take the representative with w ≥ 0.
The algebra (hat, ad, dexp, …) is that of so3.py; only what touches the four numbers is here.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import kernel
from liegeo.lie.series import arctan2, half_angle

# ---------------------------------------------------------------- scalars in, scalars out


@kernel
def multiply(a0, a1, a2, a3, b0, b1, b2, b3):
    """Hamilton's product."""
    return (
        a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3,
        a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2,
        a0 * b2 - a1 * b3 + a2 * b0 + a3 * b1,
        a0 * b3 + a1 * b2 - a2 * b1 + a3 * b0,
    )


@kernel
def rotate(a, b, c, d, x, y, z):
    """R(q) p = p + 2a (u×p) + 2 u×(u×p), u = (b, c, d)."""
    e, f, g = 2.0 * (c * z - d * y), 2.0 * (d * x - b * z), 2.0 * (b * y - c * x)
    return x + a * e + c * g - d * f, y + a * f + d * e - b * g, z + a * g + b * f - c * e


@kernel
def exp_entries(w0, w1, w2):
    """(cos ½θ, sin ½θ/θ w)."""
    c, s = half_angle(w0 * w0 + w1 * w1 + w2 * w2)
    return c, s * w0, s * w1, s * w2


@kernel
def log_entries(a, b, c, d):
    """w = 2 atan(n/a)/n (b, c, d), n = |(b, c, d)|, for the representative with a ≥ 0.

    At a = 0 exactly (a rotation by π) the axis whose first non-zero component is positive.
    """
    flip = a.real < 0.0
    if a.real == 0.0:
        first = b.real if b.real != 0.0 else (c.real if c.real != 0.0 else d.real)
        flip = first < 0.0
    if flip:
        a, b, c, d = -a, -b, -c, -d
    n2 = b * b + c * c + d * d
    if n2.real < 1e-6 * (a * a).real:
        r2 = n2 / (a * a)
        s = 2.0 / a * (1.0 - r2 * (1.0 / 3.0 - r2 * 0.2))
    else:
        n = np.sqrt(n2)
        s = 2.0 * arctan2(n, a) / n
    return s * b, s * c, s * d


@kernel
def from_entries(r00, r01, r02, r10, r11, r12, r20, r21, r22):
    """Quaternion of a rotation matrix (Shepperd): the largest component, found from the diagonal, gives the others."""
    trace = r00 + r11 + r22
    if trace.real >= r00.real and trace.real >= r11.real and trace.real >= r22.real:
        m = 1.0 + trace
        s = 0.5 / np.sqrt(m)
        return s * m, s * (r21 - r12), s * (r02 - r20), s * (r10 - r01)
    if r00.real >= r11.real and r00.real >= r22.real:
        m = 1.0 + r00 - r11 - r22
        s = 0.5 / np.sqrt(m)
        return s * (r21 - r12), s * m, s * (r01 + r10), s * (r02 + r20)
    if r11.real >= r22.real:
        m = 1.0 - r00 + r11 - r22
        s = 0.5 / np.sqrt(m)
        return s * (r02 - r20), s * (r01 + r10), s * m, s * (r12 + r21)
    m = 1.0 - r00 - r11 + r22
    s = 0.5 / np.sqrt(m)
    return s * (r10 - r01), s * (r02 + r20), s * (r12 + r21), s * m


@kernel
def matrix_entries(a, b, c, d):
    """The rotation matrix, row by row."""
    bb, cc, dd = 2.0 * b * b, 2.0 * c * c, 2.0 * d * d
    bc, bd, cd = 2.0 * b * c, 2.0 * b * d, 2.0 * c * d
    ab, ac, ad = 2.0 * a * b, 2.0 * a * c, 2.0 * a * d
    return 1.0 - cc - dd, bc - ad, bd + ac, bc + ad, 1.0 - bb - dd, cd - ab, bd - ac, cd + ab, 1.0 - bb - cc


@kernel
def put_matrix(a, b, c, d, out):
    """Write the rotation matrix into the first three rows and columns of `out`."""
    R = matrix_entries(a, b, c, d)
    out[0, 0], out[0, 1], out[0, 2] = R[0], R[1], R[2]
    out[1, 0], out[1, 1], out[1, 2] = R[3], R[4], R[5]
    out[2, 0], out[2, 1], out[2, 2] = R[6], R[7], R[8]


@kernel
def difference_entries(p, q):
    """log(p⁻¹ q) of the first four numbers of p and q."""
    a, b, c, d = multiply(p[0], -p[1], -p[2], -p[3], q[0], q[1], q[2], q[3])
    return log_entries(a, b, c, d)


# ---------------------------------------------------------------- the group


@kernel
def identity(out):
    out[0], out[1], out[2], out[3] = 1.0, 0.0, 0.0, 0.0


@kernel
def compose(p, q, out):
    """out = p q.  out may be p or q."""
    out[0], out[1], out[2], out[3] = multiply(p[0], p[1], p[2], p[3], q[0], q[1], q[2], q[3])


@kernel
def inverse(q, out):
    """out = the conjugate of q.  out may be q."""
    out[0], out[1], out[2], out[3] = q[0], -q[1], -q[2], -q[3]


@kernel
def act(q, p_B, out):
    """out = R(q) p_B.  out may be p_B."""
    out[0], out[1], out[2] = rotate(q[0], q[1], q[2], q[3], p_B[0], p_B[1], p_B[2])


@kernel
def exp(w, out):
    """out = exp(½w)."""
    out[0], out[1], out[2], out[3] = exp_entries(w[0], w[1], w[2])


@kernel
def log(q, out):
    """out = w with R(q) = exp(ŵ) and |w| ≤ π; at π the one whose first non-zero component is positive."""
    out[0], out[1], out[2] = log_entries(q[0], q[1], q[2], q[3])


@kernel
def Ad(q, out):
    """out = Ad(q) = R(q)."""
    put_matrix(q[0], q[1], q[2], q[3], out)


@kernel
def AdT(q, out):
    """out = Ad(q)ᵀ = R(q)ᵀ."""
    put_matrix(q[0], -q[1], -q[2], -q[3], out)


@kernel
def Ad_apply(q, w_B, out):
    """out = Ad(q) w_B = R(q) w_B.  out may be w_B."""
    act(q, w_B, out)


@kernel
def AdT_apply(q, n_A, out):
    """out = Ad(q)ᵀ n_A = R(q)ᵀ n_A.  out may be n_A."""
    out[0], out[1], out[2] = rotate(q[0], -q[1], -q[2], -q[3], n_A[0], n_A[1], n_A[2])


@kernel
def cay_entries(w0, w1, w2):
    """(1, ½w)/√(1 + ¼|w|²): a rotation by 2 atan(½|w|)."""
    s = 1.0 / np.sqrt(1.0 + 0.25 * (w0 * w0 + w1 * w1 + w2 * w2))
    return s, 0.5 * s * w0, 0.5 * s * w1, 0.5 * s * w2


@kernel
def cay(w, out):
    """out = the Cayley map of w."""
    out[0], out[1], out[2], out[3] = cay_entries(w[0], w[1], w[2])


@kernel
def cayinv(q, out):
    """out = w with cay(w) = q; infinite for a rotation by π."""
    out[0], out[1], out[2] = 2.0 * q[1] / q[0], 2.0 * q[2] / q[0], 2.0 * q[3] / q[0]


@kernel
def retract(q, w, out):
    """out = q ⊕ w = q exp(½w).  out may be q."""
    a, b, c, d = exp_entries(w[0], w[1], w[2])
    out[0], out[1], out[2], out[3] = multiply(q[0], q[1], q[2], q[3], a, b, c, d)


@kernel
def difference(q, p, out):
    """out = q ⊖ p = log(p⁻¹ q), so that p ⊕ (q ⊖ p) = ±q."""
    out[0], out[1], out[2] = difference_entries(p, q)


@kernel
def distance(q, p, out):
    """out[0] = |q ⊖ p|, the angle between them."""
    a, b, c = difference_entries(p, q)
    out[0] = np.sqrt(a * a + b * b + c * c)


@kernel
def interpolate(p, q, t, out):
    """out = p ⊕ t (q ⊖ p).  out may be p or q."""
    a, b, c = difference_entries(p, q)
    e0, e1, e2, e3 = exp_entries(t * a, t * b, t * c)
    out[0], out[1], out[2], out[3] = multiply(p[0], p[1], p[2], p[3], e0, e1, e2, e3)


@kernel
def matrix(q, out):
    """out = R(q): the matrix that represents the element."""
    put_matrix(q[0], q[1], q[2], q[3], out)


@kernel
def from_matrix(m, out):
    """out = the quaternion of a rotation matrix whose largest component is positive."""
    out[0], out[1], out[2], out[3] = from_entries(
        m[0, 0], m[0, 1], m[0, 2], m[1, 0], m[1, 1], m[1, 2], m[2, 0], m[2, 1], m[2, 2]
    )


@kernel
def project(q, out):
    """out = q/|q|.  out may be q."""
    # The scale keeps the squares of very large and very small numbers finite.
    scale = max(max(abs(q[0].real), abs(q[1].real)), max(abs(q[2].real), abs(q[3].real)))
    a, b, c, d = q[0] / scale, q[1] / scale, q[2] / scale, q[3] / scale
    s = 1.0 / np.sqrt(a * a + b * b + c * c + d * d)
    out[0], out[1], out[2], out[3] = s * a, s * b, s * c, s * d


@kernel
def defect(q):
    """How far the stored numbers are from a group element: ||q|² − 1|; NaN if not finite."""
    a, b, c, d = q[0].real, q[1].real, q[2].real, q[3].real
    return abs(a * a + b * b + c * c + d * d - 1.0)
