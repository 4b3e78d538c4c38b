"""Stops of ball joints: how far one frame may turn against another.

With R the rotation of frame B in the axes of A, the unit quaternion (w, v) of R with w ≥ 0, the angular velocity ω of
B relative to A in B, and an axis a, which is the same in both frames, three angles have limits:

    θ = 2 atan2(|v|, w),                             θ̇ = n·ω,      n = v/|v|,                                     (1)
    β = atan2(|c × a|, c·a),  c = Rᵀa,               β̇ = g·ω,      g = (c × a)/|c × a|,                           (2)
    ψ = 2 atan2(v·a, w),                             ψ̇ = h·ω,      h = (w (w a + a × v) + (v·a) v)/(w² + (v·a)²). (3)

θ is the angle of the whole rotation, which MuJoCo limits; β that between the axes of both frames, of which the limit is
a cone; ψ the twist about the axis.  (2) follows from cos β = a·Ra and (Ra)˙ = R(ω × a); (3) from ẇ = −½v·ω and
v̇ = ½(wω + v × ω).  A rotation is a swing, of the angle β about an axis across a, behind a twist of the angle ψ.

A limit that is δ exceeded has the force of stops, (7) of joint_elements.py, F = k δ max(0, 1 + χ δ̇), and gives B the
moment −F times the gradient of its angle, which has the power −F δ̇; A gets the opposite one.  Limits that are not
exceeded are not looked at: (1) has no axis at θ = 0, nor (2) at β = 0, nor (3) where β = π.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import kernel
from liegeo.kernels import layout as at
from liegeo.kernels.lines import ends, relative
from liegeo.kernels.spatial import rotate, rotate_back
from liegeo.lie import quaternion
from liegeo.lie.series import arctan2
from liegeo.lie.so3 import cross

# Below this w² + (v·a)² a rotation has no twist.
_NO_TWIST = 1e-12


@kernel
def _length(x, y, z):
    return np.sqrt(x * x + y * y + z * z)


@kernel
def _pressed(F, f, depth, gradient, w):
    """Return moment, stored energy and dissipated power of a limit that is exceeded by `depth`, with its gradient."""
    rate = gradient[0] * w[0] + gradient[1] * w[1] + gradient[2] * w[2]
    elastic = F[f + at.BALL_K] * depth
    force = elastic * (1.0 + F[f + at.BALL_CHI] * rate)
    if force.real < 0.0:
        force = 0.0 * force
    moment = (-force * gradient[0], -force * gradient[1], -force * gradient[2])
    return moment, 0.5 * elastic * depth, (force - elastic) * rate


@kernel
def _sum(sums, more):
    """Return sums of moments, stored energies and dissipated powers with one more."""
    (a, b, c), stored, lost = sums
    (x, y, z), also, too = more
    return (a + x, b + y, c + z), stored + also, lost + too


@kernel(forceinline=False)
def ball_stop(I, F, e, u, W):
    """Return what laws of elements.py return; it shows the moment on B in its axes, θ, β and ψ."""
    f, x, y = ends(I, e)
    R, _ = relative(W, x, y)
    a0, a1, a2 = F[f + at.BALL_AXIS], F[f + at.BALL_AXIS + 1], F[f + at.BALL_AXIS + 2]
    q, v0, v1, v2 = quaternion.from_entries(R[0], R[1], R[2], R[3], R[4], R[5], R[6], R[7], R[8])
    if q.real < 0.0:
        q, v0, v1, v2 = -q, -v0, -v1, -v2
    zero = 0.0 * q
    r0, r1, r2 = rotate_back(R, 0, W[x + at.V_F], W[x + at.V_F + 1], W[x + at.V_F + 2])
    w = (W[y + at.V_F] - r0, W[y + at.V_F + 1] - r1, W[y + at.V_F + 2] - r2)
    sums = ((zero, zero, zero), zero, zero)
    size = _length(v0, v1, v2)
    turn = 2.0 * arctan2(size, q)
    if turn.real > F[f + at.BALL_TURN]:
        gradient = (v0 / size, v1 / size, v2 / size)
        sums = _sum(sums, _pressed(F, f, turn - F[f + at.BALL_TURN], gradient, w))
    c0, c1, c2 = rotate_back(R, 0, a0 + zero, a1 + zero, a2 + zero)
    g0, g1, g2 = cross(c0, c1, c2, a0, a1, a2)
    sine = _length(g0, g1, g2)
    swing = arctan2(sine, c0 * a0 + c1 * a1 + c2 * a2)
    if swing.real > F[f + at.BALL_SWING] and sine.real > 0.0:
        gradient = (g0 / sine, g1 / sine, g2 / sine)
        sums = _sum(sums, _pressed(F, f, swing - F[f + at.BALL_SWING], gradient, w))
    p = v0 * a0 + v1 * a1 + v2 * a2
    bottom, twist = q * q + p * p, zero
    if bottom.real > _NO_TWIST:
        twist = 2.0 * arctan2(p, q)
        h0, h1, h2 = cross(a0, a1, a2, v0, v1, v2)
        sign = 1.0 if twist.real > F[f + at.BALL_UPPER] else -1.0
        depth = twist - F[f + at.BALL_UPPER] if sign > 0.0 else F[f + at.BALL_LOWER] - twist
        if depth.real > 0.0:
            h0, h1, h2 = q * (q * a0 + h0) + p * v0, q * (q * a1 + h1) + p * v1, q * (q * a2 + h2) + p * v2
            scale = sign / bottom
            sums = _sum(sums, _pressed(F, f, depth, (h0 * scale, h1 * scale, h2 * scale), w))
    (m0, m1, m2), stored, lost = sums
    n0, n1, n2 = rotate(R, 0, m0, m1, m2)
    on_a, on_b = (-n0, -n1, -n2, zero, zero, zero), (m0, m1, m2, zero, zero, zero)
    return on_a, on_b, stored, lost, zero, (m0, m1, m2, turn, swing, twist)


@kernel
def exceeded(F, f, turn, swing, twist):
    """Return a number for the limits of the stop with data F[f …] that these angles exceed."""
    side = int(twist.real > F[f + at.BALL_UPPER]) - int(twist.real < F[f + at.BALL_LOWER])
    return 2 * int(turn.real > F[f + at.BALL_TURN]) + int(swing.real > F[f + at.BALL_SWING]) + 4 * (side + 1)
