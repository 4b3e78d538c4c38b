"""Dry friction with the exact law: what sticks does not move, what slides stops and breaks away when it should."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from test_random_machines import machine

import liegeo as lg
from liegeo import model as lm
from liegeo.errors import InputError, ModelError

G, MU = 9.81, 0.5
METHODS = ["generalised-alpha-0.8", "midpoint-alpha-0.8", "lie-bdf-2"]


def block(angle, **more):
    """A block of 1 kg on a slope, with friction by the normal force that it has there."""
    body = lm.Body("block", mass=1.0, inertia=(1, 1, 1))
    slope = lm.Prismatic(name="slide", parent="world", child="block", axis=(1, 0, 0))
    friction = lm.DryFriction(name="friction", joint="slide", coulomb=MU * G * np.cos(angle), smoothing=0.0, **more)
    return lm.Tree([body], [slope], gravity=(G * np.sin(angle), 0, -G * np.cos(angle)), forces=[friction]).compile()


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("step", [1e-3, 5e-3])
def test_a_block_below_the_friction_angle_does_not_move_in_a_hundred_seconds(method, step):
    """tan 0.45 = 0.483 < μ.  What sticks is at rest to the last bit, so that no number is left to grow."""
    model = block(0.45)
    out = lg.simulate(model, t_end=100.0, method=method, step=step, output=5.0, progress=False)
    assert (out["slide.position"] == 0.0).all()
    assert (out["slide.speed"] == 0.0).all()
    assert np.allclose(out["friction.friction"], G * np.sin(0.45), rtol=1e-14)


@pytest.mark.parametrize("method", METHODS)
def test_a_block_slides_stops_and_stays(method):
    """The step in which it stops is cut into 64, and the speed that is left there is v = a h/64: v h is 2e-8 m."""
    model, h = block(0.3), 1e-3
    out = lg.simulate(model, model.state(v={"slide": 0.7}), 2.0, method=method, step=h, output="steps", progress=False)
    deceleration = G * (MU * np.cos(0.3) - np.sin(0.3))
    rests = out.t > 0.7 / deceleration + h
    assert np.abs(out["slide.position"][rests] - 0.7**2 / 2.0 / deceleration).max() < deceleration * h * h / 64.0 * 16.0
    assert np.ptp(out["slide.position"][rests]) == 0.0
    assert (out["slide.speed"][rests] == 0.0).all()
    # friction is full where it slides, and what the slope asks for where it rests
    level = np.where(rests, G * np.sin(0.3), MU * G * np.cos(0.3))
    apart = np.abs(out.t - 0.7 / deceleration) > 2.0 * h
    assert np.allclose(out["friction.friction"][apart], level[apart], rtol=1e-12)
    assert np.isclose(out.info.energy.dissipated, out.info.energy.start - out.info.energy.end, rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_the_first_instant_has_its_friction(method):
    """A run that starts at rest begins with what friction leaves: constant, so that steps are exact."""
    model = block(0.6)
    out = lg.simulate(model, t_end=0.5, method=method, step=1e-2, progress=False)
    assert np.isclose(out["friction.friction"][0], MU * G * np.cos(0.6), rtol=1e-12)
    found, exact = out["slide.position"][-1], 0.125 * G * (np.sin(0.6) - MU * np.cos(0.6))
    # BDF2 begins with a step of its own and is of second order there; the others are exact for a constant acceleration
    assert np.isclose(found, exact, rtol=1e-3 if method == "lie-bdf-2" else 1e-12)


def test_static_friction_holds_up_to_its_limit_and_not_before_it():
    """A force that grows as 10 N/s breaks a block away at 8 N, though it slides with 4.9 N: within one step."""
    body = lm.Body("block", mass=1.0, inertia=(1, 1, 1))
    slide = lm.Prismatic(name="slide", parent="world", child="block", axis=(1, 0, 0))
    friction = lm.DryFriction(name="friction", joint="slide", coulomb=4.9, static=8.0, stribeck=1e-2, smoothing=0.0)
    model = lm.Tree([body], [slide], gravity=(0, 0, 0), forces=[friction]).compile()
    for method in METHODS:
        run = {"method": method, "step": 1e-3, "output": "steps", "progress": False}
        out = lg.simulate(model, t_end=1.0, inputs={"slide.force": lambda t: 10.0 * t}, **run)
        leaves = out.t[np.flatnonzero(out["slide.speed"])[0]]
        assert 0.8 - 1e-12 < leaves <= 0.8 + 2e-3
        assert np.allclose(out["friction.friction"][out.t < 0.8], 10.0 * out.t[out.t < 0.8], rtol=0, atol=1e-12)


def belt(k, m, F_S, F_C, v0):
    """A block on a belt, drawn back by a spring, and its motion in closed form: a dictionary and a function of t.

    It sticks until k x = F_S, then swings about F_C/k with ω = √(k/m) from there and from v₀ until its speed is v₀
    again, and sticks for 2 (F_S − F_C)/(k v₀).
    """
    bodies = [lm.Body("belt", mass=1e9, inertia=(1, 1, 1)), lm.Body("block", mass=m, inertia=(1, 1, 1))]
    joints = [
        lm.Prismatic(name="drive", parent="world", child="belt", axis=(1, 0, 0)),
        lm.Prismatic(name="slip", parent="belt", child="block", axis=(1, 0, 0)),
    ]
    forces = [
        # a curve of Stribeck's so steep that nothing of it is left at the first speed behind rest
        lm.DryFriction(name="friction", joint="slip", coulomb=F_C, static=F_S, stribeck=1e-9, smoothing=0.0),
        lm.Bushing(name="spring", a="world", b="block", stiffness=(0, 0, 0, k, 0, 0)),
    ]
    model = lm.Tree(bodies, joints, forces=forces, gravity=(0, 0, 0)).compile()
    omega, first = np.sqrt(k / m), F_S / k / v0
    slips = 2.0 * (np.pi - np.arctan2(v0 * omega * m, F_S - F_C)) / omega
    sticks = 2.0 * (F_S - F_C) / (k * v0)

    def place(t):
        c = np.mod(t - first, slips + sticks)
        swing = F_C / k + (F_S - F_C) / k * np.cos(omega * c) + v0 / omega * np.sin(omega * c)
        return np.where(t < first, v0 * t, np.where(c < slips, swing, (2.0 * F_C - F_S) / k + v0 * (c - slips)))

    return model, place, first + np.arange(20) * (slips + sticks)


@pytest.mark.parametrize(("method", "bound"), [(METHODS[0], 2e-5), (METHODS[1], 2e-4), (METHODS[2], 2e-5)])
def test_a_block_on_a_belt_sticks_and_slips_as_the_closed_form_says(method, bound):
    """Eight cycles: each has an error of h²/64 times a speed of 0.1 m/s or so at both of its ends, and one of h² ω².

    Amplitudes are 0.014 m.  Forces between the ends of a step are found in the middle of a cut step, a step later.
    """
    model, place, leaves = belt(100.0, 1.0, 3.0, 2.0, 0.1)
    state = model.state(v={"drive": 0.1})
    out = lg.simulate(model, state, 5.0, method=method, step=1e-3, output="steps", progress=False)
    x = out["drive.position"] + out["slip.position"]
    assert np.abs(x - place(out.t)).max() < bound
    stuck = out["slip.speed"] == 0.0
    left = out.t[np.flatnonzero(stuck[:-1] & ~stuck[1:])]
    assert len(left) == (leaves < 5.0).sum()
    assert np.abs(left - leaves[: len(left)]).max() < 2e-3


def test_the_program_chooses_a_method_that_sticks_and_others_say_so():
    model = block(0.3)
    out = lg.simulate(model, model.state(v={"slide": 0.7}), 1.0, progress=False)
    assert out.info.method == "adaptive-alpha-0.8"
    assert out["slide.speed"][-1] == 0.0
    assert np.isclose(out["slide.position"][-1], 0.7**2 / 2.0 / (G * (MU * np.cos(0.3) - np.sin(0.3))), rtol=1e-3)
    for method in ("rkmk-4", "rosenbrock-3", "verlet", "adaptive-midpoint-0.6"):
        step = None if method.startswith("adaptive") else 1e-3
        with pytest.raises(InputError, match=r"element 'friction' has the exact law of dry friction"):
            lg.simulate(model, t_end=1.0, method=method, step=step, progress=False)
    twice = lm.DryFriction(name="more", joint="slide", coulomb=1.0, smoothing=0.0)
    tree = lm.Tree(model.tree.all_bodies, model.tree.joints, forces=[*model.tree.forces, twice])
    with pytest.raises(
        ModelError, match=r"DryFriction 'more': is exact friction .*, as 'friction' is on the same speed"
    ):
        tree.compile()


def arm(friction, **more):
    """Two links, and exact friction of these torques in their hinges."""
    links = [lm.Body(f"b{k}", mass=1.0, com=(0.25, 0, 0), inertia=(0.01, 0.02, 0.02)) for k in range(len(friction))]
    joints, parent = [], "world"
    for k in range(len(friction)):
        at = (0.5, 0, 0) if k else (0, 0, 0)
        joints.append(lm.Revolute(name=f"j{k}", parent=parent, child=f"b{k}", at=at, axis=(0, 1, 0)))
        parent = f"b{k}"
    forces = [
        lm.DryFriction(name=f"f{k}", joint=f"j{k}", coulomb=value, smoothing=0.0, **more)
        for k, value in enumerate(friction)
    ]
    return lm.Tree(links, joints, forces=forces).compile()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("friction", "step"), [((2.0, 1.0), 1e-3), ((1.0,), 5e-3)])
def test_arms_with_friction_come_to_rest_and_stay(method, friction, step):
    """No step fails, energy grows by no more than an error of second order, what came to rest holds its load."""
    model = arm(friction)
    out = lg.simulate(model, t_end=6.0, method=method, step=step, output="steps", progress=False)
    assert out.info.finished
    size = np.ptp(out["energy"])
    assert np.diff(out["energy"]).max() < 20.0 * step**2 * size
    for k in range(len(friction)):
        assert out[f"j{k}.speed"][-1] == 0.0
        assert abs(out[f"f{k}.friction"][-1]) <= friction[k]
    rest = model.state(q=out.q[-1])
    assert np.abs(lg.forward_dynamics(model, rest)).max() < 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_machines_at_random_with_the_exact_law(method):
    """The machines of test_random_machines.py, with exact friction in the place of smooth: no step of 1 ms fails."""
    for seed in range(10):
        model, state, inputs = machine(seed, True, exact=True)
        out = lg.simulate(model, state, 0.3, inputs=inputs, method=method, step=1e-3, output="steps", progress=False)
        assert out.info.finished, (seed, out.info.message)


def four_bar(friction):
    """A four-bar mechanism, a quarter of a turn from where it would hang, with exact friction in three hinges."""

    def rod(name, length):
        across = length**3 / 12
        return lm.Body(name, length, (length / 2, 0, 0), (0.01, across, across), frames={"end": (length, 0, 0)})

    joints = [
        lm.Revolute(name="crank", parent="world", child="a"),
        lm.Revolute(name="knee", parent="a", child="b", at="end"),
        lm.Revolute(name="rocker", parent="world", child="c", at=(2.0, 0, 0)),
    ]
    cut = lm.Revolute(name="cut", parent="b", child="c", at="end", child_at="end")
    forces = [
        lm.DryFriction(name=f"on {name}", joint=name, coulomb=value, static=1.2 * value, smoothing=0.0)
        for name, value in friction.items()
    ]
    bodies = [rod("a", 1.0), rod("b", 2.0), rod("c", 1.5)]
    model = lm.Tree(bodies, joints, loops=[cut], forces=forces, gravity=(0, -G, 0)).compile()
    return model, lg.assemble(model, model.state(q={"crank": 1.2, "knee": -1.0, "rocker": 1.5}), keep=["crank"])


@pytest.mark.parametrize("method", ["generalised-alpha-0.8", "adaptive-alpha-0.8"])
def test_a_mechanism_with_more_friction_than_motions_holds_and_moves(method):
    """One motion, friction in three hinges: which of them holds what is not determined, the motion is.

    8.28 N m at the crank hold it; with a quarter of that it swings.  A hinge without friction is at rest as nearly as
    constraints are solved: to round-off at fixed steps, to a share of the accuracy where steps are chosen.
    """
    bound = 1e-12 if method[0] == "g" else 1e-6
    run = {"method": method, "output": "steps", "progress": False} | ({"step": 1e-3} if method[0] == "g" else {})
    for friction in ({"crank": 7.0}, {"crank": 10.0, "rocker": 10.0, "knee": 20.0}, {"knee": 7.0, "rocker": 7.0}):
        model, state = four_bar(friction)
        out = lg.simulate(model, state, 1.0, **run)
        assert np.ptp(out.q, axis=0).max() < bound
        assert (
            np.abs([out[f"on {name}.friction"][-1] for name in friction]) <= 1.2 * np.array([*friction.values()])
        ).all()
    model, state = four_bar({"crank": 2.0, "rocker": 3.0, "knee": 1.0})
    out = lg.simulate(model, state, 3.0, **run)
    size = np.ptp(out["energy"])
    assert np.ptp(out["crank.angle"]) > 4.0
    assert np.diff(out["energy"]).max() < 1e-9 * size
    assert abs(out.info.energy.defect) < 1e-3 * size


def test_forces_at_rest_solve_the_complementarity_problem():
    """Ten links at rest: v̇ = 0 and |f| ≤ F, or f = F against v̇, with inverse dynamics of the arm without friction."""
    rng = np.random.default_rng(3)
    friction = 10.0 ** rng.uniform(-1.0, 2.5, 10)
    model, smooth = arm(friction), arm(np.zeros(10))
    state = model.state(q=rng.uniform(-1.0, 1.0, 10))
    a = lg.forward_dynamics(model, state)
    f = -lg.inverse_dynamics(smooth, smooth.state(q=state.q), a)
    holds = np.abs(a) < 1e-9
    assert 0 < holds.sum() < 10
    assert (np.abs(f[holds]) <= friction[holds] * (1.0 + 1e-9)).all()
    assert np.allclose(f[~holds], (np.sign(a) * friction)[~holds], rtol=1e-9)


# ---- friction by load

RADIUS, COEFFICIENT = 0.05, 0.3


def pendulum(**more):
    """A rod on a hinge with friction by load: mass 2 kg, centre at 0.5 m, inertia 0.05 kg m² about it."""
    rod = lm.Body("rod", mass=2.0, com=(0.5, 0, 0), inertia=(0.01, 0.05, 0.05))
    hinge = lm.Revolute(name="hinge", parent="world", child="rod", axis=(0, -1, 0))
    friction = lm.JointFriction(name="friction", joint="hinge", coefficient=COEFFICIENT, radius=RADIUS, **more)
    return lm.Tree([rod], [hinge], forces=[friction]).compile()


def by_hand(q, w, side):
    """Acceleration of the pendulum, by Newton's law for its centre and bisection for the force N on its bearing."""

    def missing(a):
        x = 0.5 * (-np.sin(q) * a - np.cos(q) * w * w)
        z = 0.5 * (np.cos(q) * a - np.sin(q) * w * w)
        load = 2.0 * np.hypot(x, z + G)
        return (0.05 + 2.0 * 0.25) * a + 2.0 * G * 0.5 * np.cos(q) + side * COEFFICIENT * RADIUS * load

    return brentq(missing, -1e3, 1e3, xtol=1e-13)


def test_friction_by_load_is_that_of_the_reaction():
    model = pendulum()
    for q, w in ((0.3, 1.0), (-2.0, -4.0), (1.5, 6.0)):
        state = model.state(q={"hinge": q}, v={"hinge": w})
        assert np.isclose(lg.forward_dynamics(model, state)[0], by_hand(q, w, np.sign(w)), rtol=1e-11)
        # there and back: inverse dynamics knows it too
        a = lg.forward_dynamics(model, state)
        assert abs(lg.inverse_dynamics(model, state, a)[0]) < 1e-11
        load = np.linalg.norm(lg.dynamics.joint_forces(model, state)["hinge"][3:])
        found = lg.simulate(model, state, w and 1e-9, method="lie-bdf-2", step=1e-9, progress=False)[
            "friction.friction"
        ]
        assert np.isclose(found[0], np.sign(w) * COEFFICIENT * RADIUS * load, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_pendulum_in_a_bearing_swings_as_by_hand(method):
    """The error is of second order in the step: friction is that of the reaction in the very step."""
    model = pendulum()
    exact = solve_ivp(lambda t, y: [y[1], by_hand(*y, -1.0)], (0.0, 0.4), [0.3, -1.0], rtol=1e-11, atol=1e-12).y[0, -1]
    errors = []
    for step in (2e-3, 1e-3):
        start = model.state(q={"hinge": 0.3}, v={"hinge": -1.0})
        out = lg.simulate(model, start, 0.4, method=method, step=step, progress=False)
        errors.append(abs(out["hinge.angle"][-1] - exact))
    assert errors[1] < 2e-5
    assert 3.5 < errors[0] / errors[1] < 4.5
    # and it comes to rest where friction holds it: sin of the angle is at most μ r/l, the circle of friction
    out = lg.simulate(model, model.state(q={"hinge": 0.3}), 30.0, method=method, step=2e-3, progress=False)
    assert out["hinge.speed"][-1] == 0.0
    assert abs(out["hinge.angle"][-1] + np.pi / 2) < COEFFICIENT * RADIUS / 0.5
    assert np.isclose(out["friction.friction"][-1], -2.0 * G * 0.5 * np.cos(out["hinge.angle"][-1]), rtol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_a_block_in_a_slot_slides_by_the_force_across_it(method):
    """On a slope α it slides with g (sin α − μ cos α), and does not move below the angle of friction."""
    body = lm.Body("block", mass=3.0, inertia=(1, 1, 1))
    slot = lm.Prismatic(name="slot", parent="world", child="block", axis=(1, 0, 0))
    friction = lm.JointFriction(name="friction", joint="slot", coefficient=MU)
    for angle in (0.45, 0.6):
        gravity = (G * np.sin(angle), 0, -G * np.cos(angle))
        model = lm.Tree([body], [slot], gravity=gravity, forces=[friction]).compile()
        out = lg.simulate(model, t_end=1.0, method=method, step=5e-3, progress=False)
        exact = max(0.5 * G * (np.sin(angle) - MU * np.cos(angle)), 0.0)
        # BDF2 begins with a step of its own
        assert np.isclose(out["slot.position"][-1], exact, rtol=1e-3 if method == "lie-bdf-2" else 1e-10)
        assert np.isclose(out["friction.friction"][-1], 3.0 * G * min(np.sin(angle), MU * np.cos(angle)), rtol=1e-10)


def test_moments_count_by_the_length_of_the_guide():
    """A load beside a vertical guide jams if the guide is short, however heavy it is."""
    body = lm.Body("block", mass=1.0, com=(0.4, 0, 0), inertia=(1, 1, 1))
    guide = lm.Prismatic(name="guide", parent="world", child="block", axis=(0, 0, 1))
    for length, holds in ((0.2, True), (2.0, False)):
        friction = lm.JointFriction(name="friction", joint="guide", coefficient=0.3, length=length)
        model = lm.Tree([body], [guide], forces=[friction]).compile()
        # the moment m g 0.4 m makes 2 · 0.4/length of its weight across the guide, if it rests
        assert holds == (0.3 * 2.0 * 0.4 / length > 1.0)
        # where it falls it falls freely: its guide has nothing to bear then
        assert np.isclose(lg.forward_dynamics(model, model.state())[0], 0.0 if holds else -G, atol=1e-9)


def test_what_friction_by_load_needs_is_said():
    body = lm.Body("rod", mass=1.0, inertia=(1, 1, 1))
    hinge = lm.Revolute(name="hinge", parent="world", child="rod")
    for joint, more in ((hinge, {}), (lm.Prismatic(name="hinge", parent="world", child="rod"), {"radius": 0.1})):
        friction = lm.JointFriction(name="f", joint="hinge", coefficient=0.2, **more)
        tree = lm.Tree([body], [joint], forces=[friction])
        with pytest.raises(
            ModelError, match=r"expected a Revolute joint, and then a radius, or a Prismatic one without"
        ):
            tree.compile()
    for more, words in (
        ({"static": 0.1}, "static is 0.1, must be at least coefficient, which is 0.2"),
        ({"axial_radius": 0.1}, "axial_radius is 0.1, expected a radius beside it"),
        ({"length": 0.0}, "length is 0, must be > 0"),
        ({"radius": 0.0}, "radius is 0, must be > 0"),
    ):
        with pytest.raises(ModelError, match=words):
            lm.JointFriction(name="f", joint="hinge", coefficient=0.2, **more)


def test_a_linear_model_asks_what_becomes_of_exact_friction_at_rest():
    model = block(0.3, viscous=0.5)
    with pytest.raises(InputError, match=r"joint 'slide' stands still, where Coulomb friction holds"):
        lg.linearise(model, model.state(), [], [])
    with pytest.raises(InputError, match=r"the law of friction is exact: no tangent at rest"):
        lg.linearise(model, model.state(), [], [], friction="tangent")
    free = lg.linearise(model, model.state(), [], [], friction="leave out")
    assert np.allclose(np.sort(np.linalg.eigvals(free.A).real), [-0.5, 0.0])
