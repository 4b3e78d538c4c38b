"""Machines at random, with stops, friction and backlash: steps of a millisecond never fail, and energy never grows."""

from __future__ import annotations

import numpy as np
import pytest

import liegeo as lg
from liegeo import model as lm


def machine(seed, driven, exact=False):
    """A chain of one to four links on hinges, each with a geared motor, friction, stops and backlash at random.

    `exact`: the friction of the hinges has the exact law, and breaks away at one and a half times what it slides with.
    """
    rng = np.random.default_rng(seed)
    bodies, joints, forces = [], [], []
    parent = "world"
    for k in range(int(rng.integers(1, 5))):
        length = rng.uniform(0.2, 0.6)
        mass = rng.uniform(0.5, 5.0)
        across = mass * length**2 / 12.0
        bodies.append(lm.Body(f"link{k}", mass=mass, com=(length / 2, 0, 0), inertia=(0.1 * across, across, across)))
        axis = np.eye(3)[int(rng.integers(1, 3))]
        friction = rng.choice([0.0, 0.5, 2.0])
        if exact:
            law = {"coulomb": friction, "static": 1.5 * friction, "stribeck": 0.05, "smoothing": 0.0}
            forces.append(lm.DryFriction(name=f"friction{k}", joint=f"joint{k}", **law))
        at = (0.0, 0.0, 0.0) if parent == "world" else (length, 0.0, 0.0)
        joints.append(
            lm.Revolute(
                name=f"joint{k}",
                parent=parent,
                child=f"link{k}",
                at=at,
                axis=axis,
                friction=0.0 if exact else friction,
                friction_speed=10.0 ** rng.uniform(-4, -2),
                damping=rng.choice([0.0, 0.1]),
            )
        )
        stops = {"lower": -rng.uniform(0.0, 1.0), "upper": rng.uniform(0.05, 1.0)}
        forces.append(
            lm.Stop(
                name=f"stop{k}",
                joint=f"joint{k}",
                stiffness=10.0 ** rng.uniform(3, 7),
                dissipation=rng.uniform(0.0, 1.0),
                hertzian=bool(rng.integers(2)),
                **stops,
            )
        )
        bodies.append(lm.Body(f"rotor{k}", mass=0.1, inertia=(1e-4, 1e-4, 1e-4)))
        joints.append(lm.Revolute(name=f"shaft{k}", parent=parent, child=f"rotor{k}", at=at, axis=axis, damping=1e-5))
        forces.append(
            lm.GearTrain(
                name=f"gear{k}",
                joint=f"joint{k}",
                motor=f"shaft{k}",
                ratio=rng.choice([5.0, 50.0, -20.0]),
                stiffness=10.0 ** rng.uniform(2, 5),
                damping=rng.choice([0.0, 1.0]),
                backlash=rng.choice([0.0, 1e-3, 2e-2]),
                efficiency=rng.choice([1.0, 0.8]),
            )
        )
        if driven:
            forces.append(lm.Motor(name=f"motor{k}", joint=f"shaft{k}", constant=0.05, resistance=1.0))
        parent = f"link{k}"
    model = lm.Tree(bodies, joints, forces=forces, name=f"machine {seed}").compile()
    v = {joint.name: rng.normal() for joint in joints if joint.name.startswith("joint")}
    inputs = {f.name: rng.uniform(-20.0, 20.0) for f in forces if isinstance(f, lm.Motor)}
    return model, model.state(v=v), inputs


@pytest.mark.parametrize(
    "method", ["generalised-alpha-0.8", "lie-bdf-2", pytest.param("rosenbrock-3", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("first", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(20, 100, 20))])
def test_no_step_of_a_millisecond_fails(method, first):
    for seed in range(first, first + 20):
        model, state, inputs = machine(seed, True)
        out = lg.simulate(model, state, 0.3, inputs=inputs, method=method, step=1e-3, output="steps", progress=False)
        assert out.info.finished, (seed, out.info.message)
        for force in model.tree.forces:
            if isinstance(force, lm.Stop):
                assert (out[f"{force.name}.stop"] * out[f"{force.name}.depth"] >= 0.0).all()


@pytest.mark.parametrize("seed", range(200, 212))
def test_energy_never_grows_without_drive(seed):
    """With steps of the program's choice: kinetic, potential and stored energy together only fall, to the accuracy."""
    model, state, _ = machine(seed, False)
    out = lg.simulate(model, state, 0.5, rtol=1e-7, atol=1e-9, output=0.005, progress=False)
    size = np.ptp(out["energy.kinetic"]) + np.ptp(out["energy.gravitational"])
    assert np.diff(out["energy"]).max() < 1e-4 * size


def test_a_hinge_with_friction_takes_steps_of_five_milliseconds():
    rod = lm.Body("rod", mass=1.0, com=(0.3, 0, 0), inertia=(0.01, 0.05, 0.05))
    hinge = lm.Revolute(name="hinge", parent="world", child="rod", axis=(0, 1, 0), friction=1.0)
    model = lm.Tree([rod], [hinge]).compile()
    for method in ("generalised-alpha-0.8", "lie-bdf-2", "rosenbrock-3"):
        out = lg.simulate(model, t_end=5.0, method=method, step=5e-3, progress=False)
        assert out.info.finished
        assert abs(out["hinge.speed"][-1]) < 1e-2


def test_two_links_with_friction_take_steps_of_a_millisecond():
    links = [lm.Body(f"b{k}", mass=1.0, com=(0.25, 0, 0), inertia=(0.01, 0.02, 0.02)) for k in range(2)]
    joints = [
        lm.Revolute(name="j0", parent="world", child="b0", axis=(0, 1, 0), friction=2.0),
        lm.Revolute(name="j1", parent="b0", child="b1", at=(0.5, 0, 0), axis=(0, 1, 0), friction=1.0),
    ]
    model = lm.Tree(links, joints).compile()
    for method in ("generalised-alpha-0.8", "lie-bdf-2", "rosenbrock-3"):
        out = lg.simulate(model, t_end=3.0, method=method, step=1e-3, progress=False)
        assert out.info.finished
