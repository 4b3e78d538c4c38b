"""Joints: pose X_JD(q) and motion subspace S, so that the twist of D relative to J, in D, is S v.

Speeds are body-fixed, so S is constant but for a chain of screws, X_JD = exp(S₁q₁) … exp(S_n q_n):

    S_k(q) = Ad(Y_k⁻¹) S_k,    Y_k = exp(S_{k+1}q_{k+1}) … exp(S_n q_n),                (1)
    Ṡ v = −Σ_k ad(U_k) S_k(q) v_k,    U_k = Σ_{l>k} S_l(q) v_l.                         (2)

A wheel is a revolute joint whose body looks the same at every angle: its frame D stays with J, S is the axis, and its
coordinate, the angle, moves nothing.

Revolute and prismatic joints are chains of one screw; universal, cylindrical, helical and user-given ones are chains
too.  Adding a joint: docs/extending.md.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import kernel
from liegeo.kernels import layout as at
from liegeo.kernels.spatial import bracket, plus, put, six, times, twist_outward
from liegeo.lie.quaternion import matrix_entries
from liegeo.lie.se3 import exp_translation
from liegeo.lie.so3 import exp_entries


@kernel
def joint_pose(kind, F, s, nv, q, jq, out, o):
    """Write X_JD at out[o]: rotation row by row, then position.  The screws are at F[s]."""
    if kind == at.REVOLUTE:
        _rotation_about(F[s], F[s + 1], F[s + 2], q[jq], out, o)
        out[o + 9], out[o + 10], out[o + 11] = 0.0, 0.0, 0.0
        return
    _identity(out, o)
    if kind == at.PRISMATIC:
        for i in range(3):
            out[o + 9 + i] = F[s + 3 + i] * q[jq]
    elif kind == at.SCREW_CHAIN:
        for k in range(nv):
            _multiply_exp(out, o, times(q[jq + k], six(F, s + 6 * k)))
    elif kind == at.SPHERICAL:
        _rotation_of(q, jq, out, o)
    elif kind == at.PLANAR:
        _rotation_about(0.0, 0.0, 1.0, q[jq], out, o)
        out[o + 9], out[o + 10] = q[jq + 1], q[jq + 2]
    elif kind == at.FREE:
        _rotation_of(q, jq, out, o)
        for i in range(3):
            out[o + 9 + i] = q[jq + 4 + i]


@kernel
def joint_subspace(kind, F, s, nv, q, jq, out, o, scratch, t):
    """Write the columns of S at out[o]; `scratch` takes a pose at t."""
    for k in range(6 * nv):
        out[o + k] = F[s + k]
    if kind != at.SCREW_CHAIN or nv == 1:
        return
    # Y of (1), from the last screw to the first: out of order, so each Y is made anew (nv ≤ 6)
    for k in range(nv - 1):
        _identity(scratch, t)
        for l in range(k + 1, nv):
            _multiply_exp(scratch, t, times(q[jq + l], six(F, s + 6 * l)))
        put(out, o + 6 * k, twist_outward(scratch, t, six(F, s + 6 * k)))


@kernel
def subspace_rate(S, o, nv, v, jv):
    """Ṡ v of (2) for a chain of screws, from the columns at S[o]."""
    z = 0.0 * v[jv]
    U = (z, z, z, z, z, z)
    rate = U
    for k in range(nv - 1, -1, -1):
        part = times(v[jv + k], six(S, o + 6 * k))
        rate = plus(rate, times(-1.0, bracket(U, part)))
        U = plus(U, part)
    return rate


@kernel
def turn_about(axis, angle, X, x, out, o):
    """out = X turned about its own axis 0, 1 or 2, for poses at X[x] and out[o]: two columns change."""
    c, s = np.cos(angle), np.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    for r in range(3):
        m, k = x + 3 * r, o + 3 * r
        a, b = X[m + i], X[m + j]
        out[k + axis] = X[m + axis]
        out[k + i] = c * a + s * b
        out[k + j] = c * b - s * a
        out[o + 9 + r] = X[x + 9 + r]


@kernel
def _identity(out, o):
    for k in range(12):
        out[o + k] = 0.0
    out[o] = out[o + 4] = out[o + 8] = 1.0


@kernel
def _rotation_about(x, y, z, angle, out, o):
    """Rodrigues for a unit axis."""
    c, s = np.cos(angle), np.sin(angle)
    d = 1.0 - c
    out[o], out[o + 1], out[o + 2] = c + d * x * x, d * x * y - s * z, d * x * z + s * y
    out[o + 3], out[o + 4], out[o + 5] = d * x * y + s * z, c + d * y * y, d * y * z - s * x
    out[o + 6], out[o + 7], out[o + 8] = d * x * z - s * y, d * y * z + s * x, c + d * z * z


@kernel
def _rotation_of(q, i, out, o):
    """Rotation matrix of the unit quaternion at q[i]."""
    R = matrix_entries(q[i], q[i + 1], q[i + 2], q[i + 3])
    for k in range(9):
        out[o + k] = R[k]


@kernel
def _multiply_exp(X, o, S):
    """X ← X exp(S), the pose at X[o], in place."""
    a, b, c, d, e, f = S
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = exp_entries(a, b, c)
    t0, t1, t2 = exp_translation(a, b, c, d, e, f)
    for i in range(3):
        k = o + 3 * i
        x, y, z = X[k], X[k + 1], X[k + 2]
        X[k], X[k + 1], X[k + 2] = (
            x * r00 + y * r10 + z * r20,
            x * r01 + y * r11 + z * r21,
            x * r02 + y * r12 + z * r22,
        )
        X[o + 9 + i] += x * t0 + y * t1 + z * t2
