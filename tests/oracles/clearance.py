"""A planar slider-crank whose pin has play in the slider's bearing, by Lagrange's equations: it never imports liegeo.

Coordinates are the angle θ of the crank, the angle φ of the rod and the place x of the slider.  The pin is a circle of
the radius r at the end of the rod, the bearing a circle of the radius R in the slider.  With e from the bearing's
middle to the pin's, δ = |e| − (R − r) is how deep they are in one another.  There the pin feels

    N = k δⁿ max(0, 1 + d δ̇)    against e,    and    −μ N v/√(v² + v_s²)    against the speed v of sliding,

at the point in the middle of the overlap.  [FAC06] has such a machine, with Hertz's stiffness of two cylinders in one
another and with the dissipation of Lankarani and Nikravesh.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp


@dataclass(frozen=True)
class SliderCrank:
    """The machine of [FAC06], with a flywheel on its crank."""

    crank: float = 0.05
    rod: float = 0.12
    crank_mass: float = 0.3
    #: about the pivot of the crank, with the flywheel
    flywheel: float = 0.02
    rod_mass: float = 0.21
    rod_inertia: float = 2.5e-4
    slider_mass: float = 0.14
    bearing: float = 10e-3
    pin: float = 9.5e-3
    stiffness: float = 1e7
    exponent: float = 1.5
    dissipation: float = 0.3
    friction: float = 0.1
    slip_speed: float = 1e-2
    gravity: float = 9.81

    def contact(self, q, v):
        """Return force on the pin, its moment about the pin's middle, and the depth, positive where they touch."""
        theta, phi, x = q
        a, b = self.crank, self.rod
        pin = a * np.array([np.cos(theta), np.sin(theta)]) + b * np.array([np.cos(phi), np.sin(phi)])
        rate = a * v[0] * np.array([-np.sin(theta), np.cos(theta)]) + b * v[1] * np.array([-np.sin(phi), np.cos(phi)])
        e, rate = pin - (x, 0.0), rate - (v[2], 0.0)
        off = np.hypot(*e)
        depth = off - (self.bearing - self.pin)
        if depth <= 0.0:
            return np.zeros(2), 0.0, depth
        out = e / off
        arm = out * (self.pin - 0.5 * depth)
        # of the points of both at the middle of the overlap
        sliding = rate + v[1] * np.array([-arm[1], arm[0]])
        along = np.array([-out[1], out[0]])
        deeper, slip = sliding @ out, sliding @ along
        normal = max(0.0, self.stiffness * depth**self.exponent * (1.0 + self.dissipation * deeper))
        force = -normal * out - self.friction * normal * slip / np.hypot(slip, self.slip_speed) * along
        return force, arm[0] * force[1] - arm[1] * force[0], depth

    def accelerations(self, q, v):
        """Return θ̈, φ̈ and ẍ."""
        a, b, m = self.crank, self.rod, self.rod_mass
        force, moment, _ = self.contact(q, v)
        to_crank = np.array([-np.sin(q[0]), np.cos(q[0])])
        to_rod = np.array([-np.sin(q[1]), np.cos(q[1])])
        mixed = 0.5 * m * a * b * np.cos(q[0] - q[1])
        swing = 0.5 * m * a * b * np.sin(q[0] - q[1])
        M = np.array([[self.flywheel + m * a * a, mixed], [mixed, self.rod_inertia + 0.25 * m * b * b]])
        weight = -self.gravity * np.array([(0.5 * self.crank_mass + m) * a * np.cos(q[0]), 0.5 * m * b * np.cos(q[1])])
        pushed = np.array([a * to_crank @ force, b * to_rod @ force + moment])
        gyro = np.array([-swing * v[1] ** 2, swing * v[0] ** 2])
        return np.append(np.linalg.solve(M, pushed + weight + gyro), -force[0] / self.slider_mass)

    def start(self, theta, speed):
        """Return coordinates and speeds with the pin in the middle of the bearing and at rest in it."""
        phi = -np.arcsin(self.crank / self.rod * np.sin(theta))
        turning = -self.crank * np.cos(theta) * speed / (self.rod * np.cos(phi))
        x = self.crank * np.cos(theta) + self.rod * np.cos(phi)
        rate = -self.crank * np.sin(theta) * speed - self.rod * np.sin(phi) * turning
        return np.array([theta, phi, x]), np.array([speed, turning, rate])

    def run(self, q, v, times):
        """Return q and v at these times."""

        def rates(t, y):
            return np.append(y[3:], self.accelerations(y[:3], y[3:]))

        # no step may jump over an impact
        found = solve_ivp(
            rates, (times[0], times[-1]), np.append(q, v), "DOP853", times, rtol=1e-11, atol=1e-13, max_step=2e-5
        )
        return found.y[:3].T, found.y[3:].T
