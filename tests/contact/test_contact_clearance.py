"""A slider-crank with play between its pin and its bearing, beside Lagrange's equations."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.clearance import SliderCrank

import liegeo as lg
from liegeo import model as lm

SPEED = 2.0 * np.pi * 5000.0 / 60.0


def machine(m):
    """Return the machine as a tree, whose pin is a ball in a bore."""
    across = m.flywheel - 0.25 * m.crank_mass * m.crank**2
    bodies = [
        lg.Body("crank", mass=m.crank_mass, com=(0.5 * m.crank, 0, 0), inertia=(across, across, across)),
        lg.Body("rod", mass=m.rod_mass, com=(0.5 * m.rod, 0, 0), inertia=(1e-5, m.rod_inertia, m.rod_inertia)),
        lg.Body("slider", mass=m.slider_mass, inertia=(1e-4, 1e-4, 1e-4)),
    ]
    joints = [
        lm.Revolute(name="shaft", parent="world", child="crank", axis=(0, 0, 1)),
        lm.Revolute(name="crank pin", parent="crank", child="rod", at=(m.crank, 0, 0), axis=(0, 0, 1)),
        lm.Prismatic(name="guide", parent="world", child="slider", axis=(1, 0, 0)),
    ]
    names = ("stiffness", "exponent", "dissipation", "friction", "slip_speed")
    play = lm.Contact(
        name="play",
        a=lm.BoreSurface(name="bearing", at="slider", radius=m.bearing),
        b=lm.SphereSurface(name="pin", at=("rod", (m.rod, 0, 0)), radius=m.pin),
        **{name: getattr(m, name) for name in names},
    )
    return lg.Tree(bodies, joints, gravity=(0, -m.gravity, 0), forces=[play]).compile()


def both(m, times):
    """Return our run and, from the oracle, q, v and depths at these times, from the pin in the bearing's middle."""
    q, v = m.start(0.0, SPEED)
    model = machine(m)
    start = model.state(
        q={"shaft": q[0], "crank pin": q[1] - q[0], "guide": q[2]},
        v={"shaft": v[0], "crank pin": v[1] - v[0], "guide": v[2]},
    )
    run = lg.simulate(
        model, start, t_end=times[-1], method="rkmk-54", rtol=1e-10, atol=1e-12, output=times, progress=False
    )
    q, v = m.run(q, v, times)
    depth = np.array([m.contact(a, b)[2] for a, b in zip(q, v, strict=True)])
    return run, q, v, depth


@pytest.mark.parametrize(
    ("change", "position", "speed", "impacts"),
    [
        # a soft bearing without loss, from which the pin leaves again and again; errors grow with each impact
        ({"stiffness": 2e7, "dissipation": 0.0, "friction": 0.0}, 1e-8, 1e-4, 2),
        # steel in steel as in [FAC06], K = 4/(3 (σ_a + σ_b)) √(R r/(R − r))
        ({"stiffness": 6.6e10}, 1e-9, 1e-5, 4),
        # bronze
        pytest.param({"stiffness": 1e9, "friction": 0.02, "dissipation": 0.1}, 1e-9, 1e-5, 4, marks=pytest.mark.slow),
    ],
    ids=["soft", "steel", "bronze"],
)
def test_a_slider_crank_with_play_moves_as_lagranges_equations_say(change, position, speed, impacts):
    times = np.linspace(0.0, 0.024, 4801)
    m = SliderCrank(**change)
    run, q, v, depth = both(m, times)
    assert ((depth[1:] > 0.0) & (depth[:-1] <= 0.0)).sum() >= impacts
    assert np.abs(run["guide.position"] - q[:, 2]).max() < position
    assert np.abs(run["guide.speed"] - v[:, 2]).max() < speed
    assert np.abs(run["play.gap"] + depth).max() < position
    assert np.abs(run["shaft.angle"] - q[:, 0]).max() < 100.0 * position
    assert abs(run.info.energy.defect) < 1e-6 * run.info.energy.start


@pytest.mark.slow
def test_without_play_the_slider_goes_where_that_of_a_pin_joint_goes():
    """It can be no farther away than the play and the depth, and three times less play brings it nearer."""
    times = np.linspace(0.0, 0.024, 601)
    apart = []
    for play in (3e-4, 1e-4, 3e-5):
        m = SliderCrank(stiffness=6.6e10, pin=10e-3 - play)
        q, v = m.start(0.0, SPEED)
        model = machine(m)
        start = model.state(
            q={"shaft": q[0], "crank pin": q[1] - q[0], "guide": q[2]},
            v={"shaft": v[0], "crank pin": v[1] - v[0], "guide": v[2]},
        )
        run = lg.simulate(model, start, t_end=0.024, rtol=1e-7, atol=1e-9, output=times, progress=False)
        theta = run["shaft.angle"]
        joined = m.crank * np.cos(theta) + np.sqrt(m.rod**2 - (m.crank * np.sin(theta)) ** 2)
        apart.append(np.abs(run["guide.position"] - joined).max())
        tilt = np.sqrt(1.0 - (m.crank / m.rod) ** 2)
        assert 0.3 * play < apart[-1] < 1.1 * (play - run["play.gap"].min()) / tilt
    assert apart[0] > 2.0 * apart[1] > 4.0 * apart[2]


@pytest.mark.slow
def test_a_pin_lies_in_its_turning_bearing_at_the_angle_of_friction():
    """A pin that cannot turn, under its weight: N and μ N together hold it, so that it lies at atan μ beside the lowest
    point; the bearing is slowed down by μ N (R + depth/2), with N = m g cos(atan μ).  (Beside that place it swings for
    ever: friction that does not change its direction takes nothing from the pin.)"""
    mu, mass, radius, hole, inertia = 0.2, 10.0, 0.02, 0.0202, 0.5
    bodies = [
        lg.Body("slide", mass=0.0, inertia=(0, 0, 0)),
        lg.Body("pin", mass=mass, inertia=(1e-3, 1e-3, 1e-3)),
        lg.Body("ring", mass=1.0, inertia=(inertia, inertia, inertia)),
    ]
    joints = [
        lm.Prismatic(name="x", parent="world", child="slide", axis=(1, 0, 0)),
        lm.Prismatic(name="y", parent="slide", child="pin", axis=(0, 1, 0)),
        lm.Revolute(name="turn", parent="world", child="ring", axis=(0, 0, 1)),
    ]
    contact = lm.Contact(
        name="bearing",
        a=lm.BoreSurface(name="bore", at="ring", radius=hole),
        b=lm.CapsuleSurface(name="journal", at="pin", radius=radius, length=0.04),
        stiffness=1e8,
        exponent=1.0,
        dissipation=50.0,
        friction=mu,
        slip_speed=1e-4,
    )
    model = lg.Tree(bodies, joints, gravity=(0, -9.81, 0), forces=[contact]).compile()
    angle = np.arctan(mu)
    # both ends of the capsule carry half of it
    away = hole - radius + mass * 9.81 * np.cos(angle) / 2e8
    start = model.state(q={"x": away * np.sin(angle), "y": -away * np.cos(angle)}, v={"turn": 20.0})
    run = lg.simulate(model, start, t_end=1.0, method="rosenbrock-32", rtol=1e-7, atol=1e-9, progress=False)
    x, y = run["x.position"][-1], run["y.position"][-1]
    assert abs(x / -y - mu) < 1e-3 * mu
    assert abs(run["bearing.normal"][-1] - mass * 9.81 / np.sqrt(1.0 + mu**2)) < 1e-3 * mass * 9.81
    late = run.t > 0.5
    slowing = np.polyfit(run.t[late], run["turn.speed"][late], 1)[0]
    depth = np.hypot(x, y) - (hole - radius)
    expected = -mu * mass * 9.81 / np.sqrt(1.0 + mu**2) * (hole + 0.5 * depth) / inertia
    assert abs(slowing / expected - 1.0) < 1e-3
