"""S¹, the rotations of the plane, as one number, the angle: kernels.

The angle counts turns, so that plots and springs see it continuous; angles that differ by 2π are the same element, and
`log` takes the principal value in (−π, π].  The group is commutative: every dexp is 1.
"""

from __future__ import annotations

import math

import numpy as np

from liegeo._jit import kernel
from liegeo.lie.series import arctan2

_PI = math.pi
_TURN = 2.0 * math.pi


@kernel
def principal(angle):
    """The angle modulo 2π in (−π, π]; unchanged if it is there already."""
    a = angle.real
    if -_PI < a <= _PI:
        return angle
    r = np.fmod(a, _TURN)
    if r > _PI:
        r -= _TURN
    elif r <= -_PI:
        r += _TURN
    # angle − a keeps the imaginary part of a complex step
    return (angle - a) + r


# ---------------------------------------------------------------- the algebra


@kernel
def hat(v, out):
    """out = w J, J = [0 −1; 1 0]."""
    out[0, 0], out[0, 1] = 0.0, -v[0]
    out[1, 0], out[1, 1] = v[0], 0.0


@kernel
def vee(m, out):
    """Inverse of hat."""
    out[0] = 0.5 * (m[1, 0] - m[0, 1])


@kernel
def hat_defect(m):
    """How far m is from a matrix that hat makes; NaN if not finite."""
    off = abs(m[0, 1].real + m[1, 0].real) + abs(m[0, 0].real) + abs(m[1, 1].real)
    return off / (1.0 + abs(m[0, 1].real))


@kernel
def dcay_left(v, out):
    """out = 1/(1 + ¼w²)."""
    out[0, 0] = 1.0 / (1.0 + 0.25 * v[0] * v[0])


@kernel
def dcay_right(v, out):
    """out = 1/(1 + ¼w²)."""
    dcay_left(v, out)


@kernel
def dcayinv_left(v, out):
    """out = 1 + ¼w²."""
    out[0, 0] = 1.0 + 0.25 * v[0] * v[0]


@kernel
def dcayinv_right(v, out):
    """out = 1 + ¼w²."""
    dcayinv_left(v, out)


# ---------------------------------------------------------------- the group


@kernel
def act(g, p_B, out):
    """out = R(g) p_B.  out may be p_B."""
    c, s = np.cos(g[0]), np.sin(g[0])
    x, y = c * p_B[0] - s * p_B[1], s * p_B[0] + c * p_B[1]
    out[0], out[1] = x, y


@kernel
def log(g, out):
    """out = the angle in (−π, π]."""
    out[0] = principal(g[0])


@kernel
def cay(v, out):
    """out = 2 atan ½w."""
    out[0] = 2.0 * arctan2(0.5 * v[0], 1.0)


@kernel
def cayinv(g, out):
    """out = 2 tan ½g; infinite at π."""
    out[0] = 2.0 * np.sin(0.5 * g[0]) / np.cos(0.5 * g[0])


@kernel
def difference(q, p, out):
    """out = q ⊖ p, in (−π, π]."""
    out[0] = principal(q[0] - p[0])


@kernel
def distance(q, p, out):
    """out[0] = |q ⊖ p|."""
    d = principal(q[0] - p[0])
    out[0] = np.sqrt(d * d)


@kernel
def interpolate(p, q, t, out):
    """out = p ⊕ t (q ⊖ p): along the shorter arc."""
    out[0] = p[0] + t * principal(q[0] - p[0])


@kernel
def matrix(g, out):
    """out = the 2×2 rotation matrix."""
    c, s = np.cos(g[0]), np.sin(g[0])
    out[0, 0], out[0, 1] = c, -s
    out[1, 0], out[1, 1] = s, c


@kernel
def from_matrix(m, out):
    """Inverse of `matrix`, with the angle in (−π, π]."""
    out[0] = arctan2(m[1, 0], m[0, 0])


@kernel
def matrix_defect(m):
    """How far m is from a rotation matrix; NaN if not finite."""
    c, s = m[0, 0].real, m[1, 0].real
    return abs(c * c + s * s - 1.0) + abs(m[0, 1].real + s) + abs(m[1, 1].real - c)


@kernel
def project(g, out):
    """out = the angle in (−π, π]."""
    out[0] = principal(g[0])
