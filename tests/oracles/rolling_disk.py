"""A thin disk that rolls on a plane without sliding, with rolling resistance: Euler's disk.  It never imports liegeo.

Axes that follow the point of contact: t along the tangent of the rim, which is level, r from the point of contact to
the middle, n = t × r normal to the disk, which is tilted by α.  The disk turns with ω = (α̇, p, w), its axes with
(α̇, p, s), p = φ̇ sin α, s = p cot α, φ̇ being the rate at which the point of contact goes round.  It rolls, so that
v = a (−w, 0, α̇).  The balances of momentum and of angular momentum about the middle give, with I = m a²/4,

    I α̈ + p (2 I w − s I) = −m a (a (α̈ + p w) + g cos α) + M_t,
    I ṗ + α̇ (s I − 2 I w) = M_r,        2 I ẇ = m a² (p α̇ − ẇ) + M_n,
    N = m g + m a (cos α (α̈ + p w) − sin α (s w + α̇²)),      M = −ρ N ω_h/√(|ω_h|² + w_s²),

ω_h being the level part of ω.  Without M, w = 0 and a middle at rest are a steady motion with φ̇² = 4 g/(a sin α).
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp


def steady(alpha, radius, g=9.81):
    """Return φ̇ of the steady motion whose middle is at rest."""
    return 2.0 * np.sqrt(g / (radius * np.sin(alpha)))


def run(alpha, radius, mass, lever, turning_speed, times, g=9.81):
    """Return α and φ of a disk that begins in the steady motion."""
    a, inertia = radius, 0.25 * mass * radius**2

    def rates(t, y):
        tilt, rate, p, w, _ = y
        sin, cos = np.sin(tilt), np.cos(tilt)
        s = p * cos / sin
        up = np.array([0.0, sin, cos])
        omega = np.array([rate, p, w])
        level = omega - (omega @ up) * up
        resist = -lever * level / np.sqrt(level @ level + turning_speed**2)
        # N is static + a m cos α · α̈
        static = mass * g + mass * a * (cos * p * w - sin * (s * w + rate**2))
        known = -p * (2.0 * w - s) * inertia - mass * a * (a * p * w + g * cos) + resist[0] * static
        faster = known / (inertia + mass * a * a - resist[0] * mass * a * cos)
        moment = resist * (static + mass * a * cos * faster)
        return [
            rate,
            faster,
            (moment[1] - rate * (s - 2.0 * w) * inertia) / inertia,
            (moment[2] + mass * a * a * p * rate) / (2.0 * inertia + mass * a * a),
            p / sin,
        ]

    first = [alpha, 0.0, steady(alpha, a, g) * np.sin(alpha), 0.0, 0.0]
    found = solve_ivp(rates, (times[0], times[-1]), first, "DOP853", times, rtol=1e-11, atol=1e-13)
    return found.y[0], found.y[4]
