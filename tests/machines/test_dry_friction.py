"""Dry friction: blocks that slide, stop and stick, beside closed forms; bristles hold without creep."""

from __future__ import annotations

import numpy as np
import pytest

import liegeo as lg
from liegeo import model as lm
from liegeo.errors import InputError

G, MU = 9.81, 0.5


def block(angle, friction):
    """A block of 1 kg on a slope, which slides along it."""
    body = lm.Body("block", mass=1.0, inertia=(1, 1, 1))
    slope = lm.Prismatic(name="slide", parent="world", child="block", axis=(1, 0, 0))
    return lm.Tree([body], [slope], gravity=(G * np.sin(angle), 0, -G * np.cos(angle)), forces=[friction]).compile()


def dry(angle, **more):
    return block(angle, lm.DryFriction(name="friction", joint="slide", coulomb=MU * G * np.cos(angle), **more))


@pytest.mark.parametrize("method", ["generalised-alpha-0.8", "lie-bdf-2", "rosenbrock-3"])
def test_a_block_slides_stops_and_creeps_as_the_smoothing_says(method):
    model = dry(0.3, smoothing=1e-5)
    out = lg.simulate(model, model.state(v={"slide": 0.7}), 2.0, method=method, step=1e-3, progress=False)
    stop = 0.7**2 / 2.0 / (G * (MU * np.cos(0.3) - np.sin(0.3)))
    # tanh⁻¹ (tan α/μ) times the smoothing
    creep = 1e-5 * np.arctanh(np.tan(0.3) / MU)
    assert np.isclose(out["slide.speed"][-1], creep, rtol=1e-6)
    assert np.isclose(out["slide.position"][-1], stop, atol=2e-4)
    assert np.isclose(out.info.energy.dissipated, out.info.energy.start - out.info.energy.end, rtol=2e-3)
    out = lg.simulate(dry(0.6, smoothing=1e-5), t_end=1.0, method=method, step=1e-3, progress=False)
    assert np.isclose(out["slide.position"][-1], 0.5 * G * (np.sin(0.6) - MU * np.cos(0.6)), rtol=5e-3)


def test_stribeck_friction_falls_from_static_to_coulomb():
    model = dry(0.0, static=8.0, stribeck=0.1, viscous=2.0)
    for v in (0.02, 0.1, 0.5):
        level = MU * G + (8.0 - MU * G) * np.exp(-((v / 0.1) ** 2))
        assert np.isclose(-lg.forward_dynamics(model, model.state(v={"slide": v}))[0], level + 2.0 * v, rtol=1e-12)


def test_a_linear_model_asks_what_becomes_of_friction_at_rest():
    """Dry friction, and losses of a gear, hold at rest what a linear model would move: that has to be said."""
    model = dry(0.0, viscous=0.5)
    with pytest.raises(InputError, match=r"joint 'slide' stands still, where Coulomb friction holds"):
        lg.linearise(model, model.state(), [], [])
    free = lg.linearise(model, model.state(), [], [], friction="leave out")
    # the viscous part stays: 0.5 N s/m on 1 kg
    assert np.allclose(np.sort(np.linalg.eigvals(free.A).real), [-0.5, 0.0])
    moving = lg.linearise(model, model.state(v={"slide": 1.0}), [], [])
    assert np.allclose(np.sort(np.linalg.eigvals(moving.A).real), [-0.5, 0.0])
    discs = [lm.Body(name, mass=1.0, inertia=(1, 1, 1)) for name in ("rotor", "disc")]
    joints = [lm.Revolute(name=f"to {b.name}", parent="world", child=b.name, axis=(1, 0, 0)) for b in discs]
    gear = lm.GearTrain(name="gear", joint="to disc", motor="to rotor", ratio=2.0, stiffness=100.0, efficiency=0.8)
    lossy = lm.Tree(discs, joints, forces=[gear]).compile()
    with pytest.raises(InputError, match=r"joint 'to disc' stands still"):
        lg.linearise(lossy, lossy.state(), [], [])
    found = lg.linearise(lossy, lossy.state(), [], [], friction="leave out")
    assert np.isclose(np.abs(np.linalg.eigvals(found.A)).max(), np.sqrt(100.0 * 1.25))


def test_bristles_hold_a_block_on_a_slope_for_a_hundred_seconds():
    """tan 0.45 = 0.483 < μ: once the bristles are bent, it does not move by 1e-9 m in 100 s."""
    angle = 0.45
    bristles = lm.BristleFriction(
        name="friction", joint="slide", coulomb=MU * G * np.cos(angle), stiffness=1e5, damping=300.0, viscous=0.1
    )
    model = block(angle, bristles)
    out = lg.simulate(model, t_end=105.0, method="lie-bdf-2", step=1e-3, output=5.0, progress=False)
    assert np.ptp(out["slide.position"][1:]) < 1e-9
    assert np.allclose(out["friction.friction"][1:], G * np.sin(angle), rtol=1e-9)


def test_a_block_on_a_belt_sticks_and_slips_with_the_period_of_the_closed_form():
    """Spring k on a block m, belt with v₀, static F_S and sliding F_C: the block sticks until k x = F_S, then swings.

    From x = F_S/k and v₀ it swings about F_C/k with ω = √(k/m) until its speed is v₀ again, at x = (2 F_C − F_S)/k,
    after 2 (π − arctan(v₀ ω m/(F_S − F_C)))/ω; then it sticks for 2 (F_S − F_C)/(k v₀).
    """
    F_S, F_C, k, m, v0 = 3.0, 2.0, 100.0, 1.0, 0.1
    bodies = [lm.Body("belt", mass=1e9, inertia=(1, 1, 1)), lm.Body("block", mass=m, inertia=(1, 1, 1))]
    joints = [
        lm.Prismatic(name="drive", parent="world", child="belt", axis=(1, 0, 0)),
        lm.Prismatic(name="slip", parent="belt", child="block", axis=(1, 0, 0)),
    ]
    forces = [
        lm.DryFriction(name="friction", joint="slip", coulomb=F_C, static=F_S, stribeck=1e-3, smoothing=1e-5),
        lm.Bushing(name="spring", a="world", b="block", stiffness=(0, 0, 0, k, 0, 0)),
    ]
    model = lm.Tree(bodies, joints, forces=forces, gravity=(0, 0, 0)).compile()
    out = lg.simulate(
        model, model.state(v={"drive": v0}), 5.0, method="lie-bdf-2", step=2e-4, output="steps", progress=False
    )
    x = out["drive.position"] + out["slip.position"]
    sticks = np.abs(out["slip.speed"]) < 1e-4
    leaves = np.flatnonzero(sticks[:-1] & ~sticks[1:])
    omega = np.sqrt(k / m)
    slipping = 2.0 * (np.pi - np.arctan2(v0 * omega * m, F_S - F_C)) / omega
    sticking = 2.0 * (F_S - F_C) / (k * v0)
    assert len(leaves) >= 6
    assert np.allclose(x[leaves], F_S / k, rtol=0.02)
    assert np.allclose(np.diff(out.t[leaves]), slipping + sticking, rtol=0.02)
