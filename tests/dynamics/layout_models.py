"""Small models that together have every kind of row that layout.py knows."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import trees
from examples import force_fields
from scipy.interpolate import PPoly

from liegeo import model as lm
from liegeo.io import expressions, units
from liegeo.io.signals import Signal
from liegeo.model import elimination_plan

sys.path.append(str(Path(__file__).parents[1] / "loops"))

import closed


def _forces(rng, bodies, one, other):
    """Every force element, and two elements with states on the joint `one`."""
    _, forces = trees.add_forces(rng, bodies)
    places = [("b0", (0.1, 0.2, 0.3)), ("world", (1.0, 2.0, 3.0))]
    # friction by load wants a joint of its own (aligned)
    listed = (lm.PointForce, lm.SpringDamper, lm.Bushing, lm.Actuator, lm.BristleFriction, lm.JointFriction)
    others = [cls for cls in lm.ALL_FORCES if cls not in listed]
    drums = [f"j{i}" for i, body in enumerate(bodies) if len(body["joint"].get("screws", ())) == 1][:1]
    ropes = {"a": places[0], "b": places[1], "stiffness": 10.0, "length": 0.5}
    return [
        *(lm.Rope(name="winch", drum=drum, radius=0.1, **ropes) for drum in drums),
        *forces,
        *(cls(name=cls.__name__, **_fields(cls, *places, joint=one, other=other)) for cls in others),
        lm.Actuator(name="motor", joint=one, gear=2.0, limit=3.0, inertia=0.1),
        lm.Actuator(name="slow motor", joint=one, lag=0.1),
        lm.BristleFriction(name="bristles", joint=one, coulomb=1.0, static=1.5, stiffness=10.0, damping=1.0),
    ]


def _fields(cls, *places, **joints):
    """Fields of an example; limits of a ball joint so narrow that it is beyond them."""
    found = force_fields(cls, *places, **joints)
    return {**found, "turn": 1e-6} if cls is lm.BallStop else found


def _describe(rng, joints, n_modes=3, flexible=0.6):
    """A tree with one body for each of these joints."""
    bodies = []
    for name in joints:
        (body,) = trees.describe(rng, 1, joints=(name,), n_modes=n_modes, flexible=flexible)
        body["parent"] = int(rng.integers(-1, len(bodies))) if bodies else -1
        if body["parent"] >= 0 and bodies[body["parent"]]["n_modes"]:
            body["at_node"] = int(rng.integers(1, 5))
            body["at"] = trees._node(bodies[body["parent"]]["pieces"][body["at_node"]])
        bodies.append(body)
    return bodies


def _moving(bodies, n=0):
    """Joint number n of those that have a speed which is added."""
    return [f"j{i}" for i, body in enumerate(bodies) if len(body["joint"].get("screws", ())) > 0][n]


def tree(seed, *, wheels=2, n_modes=3, joints=trees.JOINTS, flexible=0.6, states=True, **options):
    """A tree with every kind of joint and force element; without `states`, none that has a first-order state."""
    rng = np.random.default_rng(seed)
    bodies = _describe(rng, joints, n_modes, flexible)
    for body in bodies[::2]:
        if body["n_modes"]:
            body["K"] = body["K"] + 1.0
    forces = _forces(rng, bodies, _moving(bodies), _moving(bodies, 1))
    forces = [force for force in forces if states or force.n_states == 0]
    trees.add_wheels(rng, bodies, wheels)
    return bodies, trees.build(bodies, forces=forces, **options)


def _stiffened(made):
    """The same with terms of second order at every node."""
    rng, bodies = np.random.default_rng(7), []
    for body in made.bodies:
        if isinstance(body, lm.FlexibleBody):
            nodes = {
                name: replace(node, second=0.01 * _symmetric(rng, body.n_modes)) for name, node in body.nodes.items()
            }
            body = replace(body, nodes=nodes)
        bodies.append(body)
    return replace(made, bodies=bodies)


def _symmetric(rng, n):
    G = rng.normal(size=(6, n, n))
    return G + G.transpose(0, 2, 1)


def aligned():
    """A hinge about an axis of its body, and a slide, both with friction, of which one kind sticks."""
    bodies = [lm.Body("link", 1.0, (0.1, 0.2, 0.0), (0.1, 0.2, 0.3)), lm.Body("block", 1.0, inertia=(0.1, 0.1, 0.1))]
    joints = [
        lm.Revolute(name="hinge", parent="world", child="link", axis=(0, 0, 1), friction=0.3),
        lm.Prismatic(name="slide", parent="link", child="block", axis=(1, 0, 0), friction=0.1),
    ]
    forces = [
        lm.DryFriction(name="on hinge", joint="hinge", coulomb=0.2, smoothing=0.0),
        lm.JointFriction(name="on slide", joint="slide", coefficient=0.2, length=0.3),
    ]
    return lm.Tree(bodies, joints, forces=forces).compile()


def looped(own=True):
    """A tree with every kind of constraint; one of them is a user's `own`."""
    rng, bodies, model, state = closed.random_tree(61, 7)
    joint = _moving(bodies)
    other = _moving(bodies, 1)
    loops = [closed.cut(rng, bodies, model, state, name, -1, 6, f"cut {name}") for name in ("Revolute", "Universal")]
    loops += [closed.cut(rng, bodies, model, state, name, 2, 5, f"cut {name}") for name in ("Spherical", "Helical")]
    for label, kind, more in (
        ("rod", lm.Distance, {"length": 1.0}),
        ("line", lm.PointOnLine, {}),
        ("plane", lm.PointOnPlane, {}),
        ("disc", lm.Rolling, {"radius": 0.3, "axis": (1.0, 2.0, 0.5)}),
    ):
        a, b, _ = closed.frames(rng, bodies, model, state, 1, 4)
        loops.append(kind(name=label, a=a, b=b, **more))
    loops += [
        lm.Coupling(name="coupling", terms={joint: 1.0, other: -2.0}),
        lm.Motion(name="prescribed", joint=other, coordinate=0),
        lm.Custom(name="own", function=lambda model, state: np.sin(state.q[:2]), n=2),
    ]
    forces = _forces(rng, bodies, joint, other)
    return trees.build(bodies, forces=forces, loops=loops if own else loops[4:-1]).compile()


def touching():
    """Bodies among which there are contacts of every kind, with and without bristles, and a crowd with cubes."""
    rng, n = np.random.default_rng(11), 18
    bodies = [lm.Body(f"b{i}", 1.0, (0.02, 0.0, 0.01), (0.1, 0.2, 0.25)) for i in range(n)]
    joints = [lm.Free(name=f"j{i}", parent="world", child=f"b{i}") for i in range(n)]
    floor = lm.PlaneSurface(name="floor", at=("world", (0, 0, -0.3)))
    ground = lm.ProfileSurface(name="ground", at="world", points=[(-1, 0), (0, -0.2), (0.5, 0.1), (1, 0)])
    balls = [lm.SphereSurface(name=f"ball {i}", at=f"b{i}", radius=float(rng.uniform(0.1, 0.4))) for i in range(n)]
    rods = [lm.CapsuleSurface(name=f"rod {i}", at=f"b{i}", radius=0.2, length=0.5) for i in range(3)]
    box = lm.BoxSurface(name="box", at="b3", size=(0.5, 0.6, 0.7))
    can = lm.CylinderSurface(name="can", at="b4", radius=0.3, length=0.5)
    pairs = [(floor, balls[0]), (floor, rods[0]), (floor, box), (floor, can), (balls[1], balls[2]), (rods[1], balls[0])]
    pairs += [
        (rods[1], rods[2]),
        (box, balls[5]),
        (can, balls[6]),
        (ground, balls[7]),
        (ground, rods[2]),
        (ground, box),
        (lm.BoreSurface(name="bore", at="b5", radius=0.5), rods[0]),
        (lm.SocketSurface(name="socket", at="b6", radius=0.5), box),
    ]
    material = {"stiffness": 100.0, "dissipation": 0.1, "friction": 0.3, "static": 0.4}
    forces: list[lm.Force] = [
        lm.Contact(name=f"c{k}", a=a, b=b, rolling=0.01, breakaway=0.01 * (k % 2), **material)
        for k, (a, b) in enumerate(pairs)
    ]
    forces += [
        lm.Contacts(name="crowd", among=[floor, ground, *balls, rods[0]], **material),
        lm.Actuator(name="motor", joint="hinge", gear=2.0, lag=0.1),
    ]
    bodies.append(lm.Body("link", 1.0, (0.1, 0.2, 0.0), (0.1, 0.2, 0.3)))
    joints.append(lm.Revolute(name="hinge", parent="b0", child="link", axis=(0, 0, 1), friction=0.3))
    return lm.Tree(bodies, joints, forces=forces).compile()


def models():
    """Return all of them by name."""
    out = {"full": tree(1)[1].compile()}
    bodies, made = tree(3, states=False)
    out["locked"] = made.compile().lock(_moving(bodies))
    out["stiffened"] = _stiffened(tree(4, wheels=0)[1]).compile()
    out["rigid"] = tree(5, flexible=0.0)[1].compile()
    chain = ("Revolute", "Revolute", "Universal", "Free")
    for inverse in ("explicit", "identity"):
        out[f"ruthless {inverse}"] = tree(6, fidelity="ruthless", modal_inverse=inverse)[1].compile()
        out[f"ruthless chain {inverse}"] = tree(
            8, joints=chain, flexible=1.0, wheels=0, fidelity="ruthless", modal_inverse=inverse
        )[1].compile()
    out["aligned"], out["touching"] = aligned(), touching()
    out["looped"], out["looped, none of a user's"] = looped(), looped(own=False)
    with mock.patch.multiple(elimination_plan, FROM_ROWS=1, _WORTH=np.inf):
        out["looped, one by one"] = looped()
    return out


def motion_of(model, seed=0):
    """Return random q, v and u."""
    rng = np.random.default_rng(seed)
    q = model.group.exp(0.4 * rng.normal(size=model.nv))
    u = 0.3 * rng.normal(size=int(model.nv + model.nu + model.nx + 3))
    return q, rng.normal(size=model.nv), u


def inputs_of(model):
    """Return inputs for a drive: a table, a program that has no value at t = -1, and a function."""
    inputs = {}
    if "motor" in model.inputs:
        inputs["motor"] = PPoly(np.array([[1.0, 0.5], [0.2, 0.1]]), [0.0, 0.5, 1.0])
    if "slow motor" in model.inputs:
        text = expressions.parse("$(2 + log(t + 0.5)^2)")
        inputs["slow motor"] = Signal([expressions.function_of_time(text, lambda name: None, units.NUMBER)])
    if "prescribed" in model.inputs:
        inputs["prescribed"] = lambda t: (0.1, 0.2, 0.3)
    return inputs
