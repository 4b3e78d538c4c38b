"""What rolls and slides, beside closed forms, and Euler's disk beside its equations (tests/oracles/rolling_disk.py)."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import rolling_disk

import liegeo as lg
from liegeo import model as lm

G = 9.81


@pytest.mark.parametrize("material", [{"slip_speed": 1e-5}, {"breakaway": 1e-5}], ids=["slides", "sticks"])
@pytest.mark.parametrize(
    ("share", "surface", "more"),
    [
        (0.4, lm.SphereSurface, {}),
        (0.5, lm.CylinderSurface, {"length": 0.02}),
        (0.5, lm.CapsuleSurface, {"length": 0.2}),
        (1.0, lm.CylinderSurface, {"length": 0.02}),
    ],
    ids=["ball", "disk", "rod", "hoop"],
)
def test_what_slides_rolls_after_the_time_of_the_closed_form(share, surface, more, material):
    """With J = β m R²: it slides with −μ g until t = v₀ β/((1 + β) μ g), and rolls with v₀/(1 + β)."""
    mu, v0, radius, mass, k = 0.2, 1.0, 0.05, 0.4, 1e7
    inertia = share * mass * radius**2
    body = lg.Body("wheel", mass=mass, inertia=(0.7 * inertia, 0.7 * inertia, inertia))
    # its axis z lies along y of the world
    lie = np.array([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]])
    skin = surface(name="skin", at="wheel", radius=radius, **more)
    contact = lm.Contact(
        name="c",
        a=lm.PlaneSurface(name="floor", at="world"),
        b=skin,
        stiffness=k,
        exponent=1.0,
        dissipation=10.0,
        friction=mu,
        **material,
    )
    place = np.eye(4)
    place[:3, :3] = lie
    model = lg.Tree([body], [lm.Free(name="move", parent="world", child="wheel", at=place)], forces=[contact]).compile()
    # in the axes of the place: up is −y there, because y of the place points down
    up = lie.T @ (0.0, 0.0, 1.0)
    sunk = mass * G / (k * contact.points)
    start = model.state(q={"move": (1, 0, 0, 0, *((radius - sunk) * up))}, v={"move": (0, 0, 0, v0, 0, 0)})
    slide = v0 * share / ((1.0 + share) * mu * G)
    times = np.linspace(0.0, 2.0 * slide, 4001)
    options = {"method": "rosenbrock-32", "rtol": 1e-7, "atol": 1e-9, "progress": False}
    run = lg.simulate(model, start, t_end=times[-1], output=times, **options)
    speed = run["wheel.velocity"][:, 0]
    # the axis z of the body is y of the world: the angular velocity about it, in the world
    slip = speed - radius * run["wheel.angular_velocity"][:, 1]
    sliding = times < slide - 2e-3
    assert np.abs(speed[sliding] - (v0 - mu * G * times[sliding])).max() < 2e-4
    # within what bristles bend, or what friction is short of μ N near rest
    assert abs(times[slip < 2e-3][0] - slide) < 2e-3
    assert abs(speed[-1] - v0 / (1.0 + share)) < 1e-3
    assert np.abs(slip[times > slide + 0.02]).max() < 1e-3


def disk(lever, t_end, n, **friction):
    """Return the tilt α and the angle φ of the point of contact of a disk that begins in its steady motion."""
    a, mass, alpha = 0.1, 0.4, 0.5
    body = lg.Body("disk", mass=mass, inertia=(0.25 * mass * a * a, 0.25 * mass * a * a, 0.5 * mass * a * a))
    contact = lm.Contact(
        name="c",
        a=lm.PlaneSurface(name="floor", at="world"),
        # as flat as a cylinder can be
        b=lm.CylinderSurface(name="rim", at="disk", radius=a, length=0.004 * a),
        stiffness=1e6,
        exponent=1.0,
        dissipation=5.0,
        friction=1.0,
        rolling=lever,
        turning_speed=1e-2,
        **friction,
    )
    model = lg.Tree([body], [lm.Free(name="move", parent="world", child="disk")], forces=[contact]).compile()
    rate = rolling_disk.steady(alpha, a) * np.sin(alpha)
    height = a * np.sin(alpha) - mass * G / 2e6
    start = model.state(
        q={"move": (np.cos(alpha / 2), np.sin(alpha / 2), 0, 0, 0, 0, height)}, v={"move": (0, rate, 0, 0, 0, 0)}
    )
    times = np.linspace(0.0, t_end, n)
    run = lg.simulate(model, start, t_end=t_end, method="rkmk-54", rtol=1e-7, atol=1e-9, output=times, progress=False)
    arm = run["c.point"] - run["move.position"]
    turned = np.unwrap(np.arctan2(arm[:, 1], arm[:, 0]))
    other = rolling_disk.run(alpha, a, mass, lever, 1e-2, times)
    return times, np.arcsin(run["move.position"][:, 2] / a), turned - turned[0], *other


FRICTION = pytest.mark.parametrize("friction", [{"slip_speed": 1e-4}, {"breakaway": 1e-5}], ids=["slides", "sticks"])


@FRICTION
def test_eulers_disk_without_losses_goes_round_for_ever(friction):
    times, alpha, turned, _, _ = disk(0.0, 1.0, 501, **friction)
    assert np.abs(alpha - 0.5).max() < 1e-4
    assert abs(turned[-1] / (rolling_disk.steady(0.5, 0.1) * times[-1]) - 1.0) < 1e-4


@FRICTION
def test_eulers_disk_spins_up_towards_its_end(friction):
    """With rolling resistance of the lever ρ it sinks, ever faster: near its end √α and 1/φ̇ fall by straight lines.

    From the balance of power with the middle at rest, 1/φ̇ = ρ (t_f − t)/(3 a) and √α = 2 ρ √(g/a) (t_f − t)/(3 a); the
    middle is not quite at rest, so that these two are trends only, and the equations are the measure.
    """
    a, lever = 0.1, 2e-3
    times, alpha, turned, other, round_ = disk(lever, 4.5, 4501, **friction)
    # the rim bulges by 1/500 of the radius, which a disk that lies flatter than a tenth feels
    steep = other > 0.1
    assert np.abs(alpha - other)[steep].max() < 3e-4
    assert np.abs(turned - round_)[steep].max() < 1e-3 * round_[steep][-1]
    assert np.abs(alpha - other).max() < 1e-3
    rate = np.gradient(turned, times)
    assert rate[-1] > 6.0 * rate[0]
    late = (alpha < 0.3) & (alpha > 0.03)
    slope = np.polyfit(times[late], 1.0 / rate[late], 1)[0]
    assert abs(slope / (-lever / (3.0 * a)) - 1.0) < 0.2
    slope = np.polyfit(times[late], np.sqrt(alpha[late]), 1)[0]
    assert abs(slope / (-2.0 * lever / (3.0 * a) * np.sqrt(G / a)) - 1.0) < 0.1
