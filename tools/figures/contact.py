"""The picture in docs/contact.md: impacts lose the less the slower they are; a ball slides, then rolls; a block sticks.

    python tools/figures/contact.py

writes docs/figures/contact.png.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import liegeo as lg
from liegeo import model as lm

G, RADIUS = 9.81, 0.05


def ball(**material) -> lm.Model:
    """Return a ball above a floor."""
    body = lg.Body("ball", mass=0.4, inertia=(0.4 * 0.4 * RADIUS**2,) * 3)
    floor = lm.PlaneSurface(name="floor", at="world")
    skin = lm.SphereSurface(name="skin", at="ball", radius=RADIUS)
    contact = lm.Contact(name="touch", a=floor, b=skin, stiffness=1e7, **material)
    return lg.Tree([body], [lm.Free(name="move", parent="world", child="ball")], forces=[contact]).compile()


def main() -> None:
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12.0, 3.4), layout="constrained")
    for e in (0.9, 0.7, 0.5):
        model = ball(restitution=e, impact_speed=3.0)
        start = model.state(q={"move": (1, 0, 0, 0, 0, 0, 0.5)})
        run = lg.simulate(model, start, t_end=2.0, output=np.linspace(0, 2, 2001), progress=False)
        left.plot(run.t, run["move.position.z"], label=f"e = {e} at 3 m/s")
    left.set(xlabel="t in s", ylabel="height of the centre in m")
    left.legend()
    mu, v0 = 0.2, 1.0
    model = ball(friction=mu, slip_speed=1e-5, dissipation=1.0)
    start = model.state(
        q={"move": (1, 0, 0, 0, 0, 0, RADIUS - (0.4 * G / 1e7) ** (2 / 3))}, v={"move": (0, 0, 0, v0, 0, 0)}
    )
    run = lg.simulate(model, start, t_end=0.25, output=np.linspace(0, 0.25, 501), progress=False)
    middle.plot(run.t, run["ball.velocity"][:, 0], label="speed")
    middle.plot(run.t, RADIUS * run["ball.angular_velocity"][:, 1], label="radius × angular velocity")
    middle.axvline(2.0 * v0 / (7.0 * mu * G), color="0.6", lw=1, ls=":")
    middle.set(xlabel="t in s", ylabel="m/s", title="2 v₀/(7 μ g)")
    middle.legend()
    for name, material in (("with bristles", {"breakaway": 1e-5}), ("without", {"slip_speed": 1e-3})):
        body = lg.Body("block", mass=1.0, inertia=(0.01, 0.01, 0.01))
        slope = lm.PlaneSurface(name="slope", at="world")
        box = lm.BoxSurface(name="box", at="block", size=(0.2, 0.2, 0.1))
        contact = lm.Contact(
            name="grip", a=slope, b=box, stiffness=2e5, exponent=1.0, dissipation=5.0, friction=0.4, **material
        )
        gravity = (G * np.sin(0.3), 0.0, -G * np.cos(0.3))
        joints = [lm.Free(name="move", parent="world", child="block")]
        model = lg.Tree([body], joints, gravity=gravity, forces=[contact]).compile()
        start = model.state(q={"move": (1, 0, 0, 0, 0, 0, 0.05 - G * np.cos(0.3) / 8e5)})
        run = lg.simulate(
            model, start, t_end=1.0, method="rosenbrock-32", output=np.linspace(0, 1, 201), progress=False
        )
        right.semilogy(run.t[1:], 1e3 * run["move.position.x"][1:], label=name)
    right.set(xlabel="t in s", ylabel="mm down a slope of 0.3 rad, μ = 0.4")
    right.legend()
    figure.savefig(Path(__file__).parents[2] / "docs" / "figures" / "contact.png", dpi=110)


if __name__ == "__main__":
    main()
