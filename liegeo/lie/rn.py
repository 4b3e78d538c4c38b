"""ℝⁿ under addition, any n: kernels.

Commutative and flat: exp is the identity map, every differential is the identity matrix.  S¹ takes from here what does
not see that its angles close on themselves.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import kernel

# ---------------------------------------------------------------- the algebra


@kernel
def hat(v, out):
    """out = [0 v; 0 0], the homogeneous matrix of a velocity of translation."""
    n = v.shape[0]
    for i in range(n + 1):
        for j in range(n + 1):
            out[i, j] = 0.0
    for i in range(n):
        out[i, n] = v[i]


@kernel
def vee(m, out):
    """Inverse of hat."""
    n = out.shape[0]
    for i in range(n):
        out[i] = m[i, n]


@kernel
def hat_defect(m):
    """How far m is from a matrix that hat makes; NaN if not finite."""
    return _off_matrix(m, 0.0)


@kernel
def _off_matrix(m, diagonal):
    """Σ|m − diagonal I| outside the last column's first n entries; NaN if not finite."""
    n = m.shape[0] - 1
    off = 0.0
    for i in range(n + 1):
        for j in range(n + 1):
            if i < n and j == n:
                off += m[i, j].real - m[i, j].real
            else:
                off += abs(m[i, j].real - (diagonal if i == j else 0.0))
    return off


@kernel
def zero_matrix(v, out):
    """out = 0: ad of a commutative group, and its dual."""
    for i in range(v.shape[0]):
        for j in range(v.shape[0]):
            out[i, j] = 0.0


@kernel
def identity_matrix(v, out):
    """out = I: Ad of a commutative group, its dual, and every differential of exp."""
    for i in range(v.shape[0]):
        for j in range(v.shape[0]):
            out[i, j] = 1.0 if i == j else 0.0


@kernel
def zero_of_two(v, u, out):
    """out = 0, vector or matrix: brackets, and derivatives of the differentials."""
    out[...] = 0.0


@kernel
def second_of_two(g, v, out):
    """out = v: adjoint actions, and differentials on a vector."""
    for i in range(v.shape[0]):
        out[i] = v[i]


ad = adT = zero_matrix
ad_apply = adT_apply = zero_of_two
dexp_left = dexp_right = dexpinv_left = dexpinv_right = identity_matrix
dexp_left_apply = dexp_right_apply = dexpinv_left_apply = dexpinv_right_apply = second_of_two
ddexp_left = ddexp_right = ddexpinv_left = ddexpinv_right = zero_of_two
dcay_left = dcay_right = dcayinv_left = dcayinv_right = identity_matrix
Ad = AdT = identity_matrix
Ad_apply = AdT_apply = second_of_two

# ---------------------------------------------------------------- the group


@kernel
def identity(out):
    for i in range(out.shape[0]):
        out[i] = 0.0


@kernel
def add(a, b, out):
    """out = a + b.  out may be a or b."""
    for i in range(a.shape[0]):
        out[i] = a[i] + b[i]


@kernel
def copy(a, out):
    """out = a."""
    for i in range(a.shape[0]):
        out[i] = a[i]


compose = act = retract = add
exp = log = cay = cayinv = project = copy


@kernel
def inverse(a, out):
    """out = −a.  out may be a."""
    for i in range(a.shape[0]):
        out[i] = -a[i]


@kernel
def difference(q, p, out):
    """out = q − p.  out may be q or p."""
    for i in range(q.shape[0]):
        out[i] = q[i] - p[i]


@kernel
def distance(q, p, out):
    """out[0] = |q − p|."""
    total = 0.0 * q[0] if q.shape[0] > 0 else 0.0 * out[0]
    for i in range(q.shape[0]):
        total += (q[i] - p[i]) * (q[i] - p[i])
    out[0] = np.sqrt(total)


@kernel
def interpolate(p, q, t, out):
    """out = p + t (q − p).  out may be p or q."""
    for i in range(p.shape[0]):
        out[i] = p[i] + t * (q[i] - p[i])


@kernel
def matrix(a, out):
    """out = the homogeneous matrix of the translation."""
    hat(a, out)
    for i in range(a.shape[0] + 1):
        out[i, i] = 1.0


@kernel
def from_matrix(m, out):
    """Inverse of `matrix`."""
    vee(m, out)


@kernel
def matrix_defect(m):
    """How far m is from the matrix of a translation; NaN if not finite."""
    return _off_matrix(m, 1.0)


@kernel
def defect(a):
    """Zero: every finite vector is an element; NaN if not finite."""
    off = 0.0
    for i in range(a.shape[0]):
        off += a[i].real - a[i].real
    return off
