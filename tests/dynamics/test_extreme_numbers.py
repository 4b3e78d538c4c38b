"""Numbers out of range are refused where they are given: every number of every public dataclass of liegeo.model.

The property: with 1e308, −1e308, inf or nan in any one place there is a liegeo error, or every number of the answer is
finite.  The largest numbers that are accepted (1e60) obey it as well, and do not warn of an overflow.
"""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from examples import SENSORS, force_fields, joint_example

import liegeo as lg
from liegeo import dynamics, flex
from liegeo import model as lm
from liegeo.errors import InputError, LiegeoError
from liegeo.model.checks import LARGEST

EXTREME = (1e308, -1e308, np.inf, -np.inf, np.nan, LARGEST, -LARGEST)
N = 2


def rigid(name="a", **more):
    return lm.Body(name, mass=1.0, inertia=(0.2, 0.2, 0.2), **more)


def pieces():
    tip = 0.1 * np.arange(6.0 * N).reshape(6, N) + np.eye(6)[:, 2:4]
    return [
        lm.LumpedNode(np.zeros((6, N)), mass=1.0, inertia=(0.1, 0.1, 0.1), name="root"),
        lm.LumpedNode(tip, (1.0, 0.0, 0.0), 1.0, (0.1, 0.0, 0.0), (0.1, 0.1, 0.1), name="tip"),
    ]


def bending():
    return lm.FlexibleBody.from_nodes("a", pieces(), 100.0 * np.eye(N))


def on(joint="hinge", child="a", parent="world"):
    return lm.Revolute(name=joint, parent=parent, child=child, axis=(0.0, 1.0, 0.0))


def of_body(body):
    return lm.Tree([body], [on(child=body.name)])


def of_joint(joint):
    return lm.Tree([rigid()], [joint])


def of_force(force):
    second = lm.Prismatic(name="slide", parent="a", child="b", axis=(1.0, 0.0, 0.0))
    return lm.Tree([rigid(), rigid("b")], [on(), second], forces=[force])


def of_loop(loop):
    second = lm.Prismatic(name="slide", parent="a", child="b", axis=(1.0, 0.0, 0.0))
    return lm.Tree([rigid(), rigid("b")], [on(), second], loops=[loop])


def of_node(node):
    made = bending()
    record = {f.name: getattr(made, f.name) for f in dataclasses.fields(made)}
    return of_body(lm.FlexibleBody(**{**record, "nodes": {"tip": node}}))


def of_piece(piece):
    return of_body(lm.FlexibleBody.from_nodes("a", [pieces()[0], piece], 100.0 * np.eye(N)))


def of_skin(skin):
    made = bending()
    record = {f.name: getattr(made, f.name) for f in dataclasses.fields(made)}
    return of_body(lm.FlexibleBody(**{**record, "skin": skin}))


POINTS = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
JOINT = {
    "name": "j",
    "parent": "world",
    "child": "a",
    "at": (0.1, 0.2, 0.3),
    "child_at": (0.3, 0.2, 0.1),
    "stiffness": 1.0,
    "damping": 1.0,
    "armature": 0.1,
    "friction": 0.1,
}
# What an example is made of, and the tree that it is part of.
EXAMPLES = {
    lm.Body: (of_body, {"name": "a", "mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": (0.2, 0.2, 0.2)}),
    lm.FlexibleBody: (of_body, None),
    lm.LumpedNode: (of_piece, None),
    lm.Node: (of_node, {"pose": (1.0, 0.0, 0.0), "modes": 0.1 * np.ones((6, N)), "second": np.ones((6, N, N))}),
    lm.PointForce: (of_force, {"name": "f", "at": "a", "force": (1.0, 2.0, 3.0), "torque": (1.0, 2.0, 3.0)}),
    lm.SpringDamper: (
        of_force,
        {"name": "f", "a": ("world", (0.0, 0.0, 1.0)), "b": "a", "stiffness": 1.0, "damping": 1.0, "length": 0.5},
    ),
    lm.Bushing: (of_force, {"name": "f", "a": "world", "b": "a", "stiffness": np.ones(6), "damping": np.ones(6)}),
    lm.Actuator: (of_force, {"name": "f", "joint": "hinge", "gear": 2.0, "limit": 3.0, "inertia": 0.1, "lag": 0.1}),
    lm.BristleFriction: (
        of_force,
        {
            "name": "f",
            "joint": "hinge",
            "coulomb": 1.0,
            "stiffness": 10.0,
            "static": 1.5,
            "stribeck": 0.1,
            "damping": 0.2,
            "viscous": 0.1,
        },
    ),
    lm.Wheel: (
        lambda wheel: lm.Tree([rigid()], [on()], wheels=[wheel]),
        {
            "name": "w",
            "body": "a",
            "inertia": 0.3,
            "axis": (0.6, 0.0, 0.8),
            "at": (0.1, 0.2, 0.3),
            "mass": 0.1,
            "transverse": 0.2,
            "damping": 0.1,
            "friction": 0.1,
        },
    ),
    lm.Fixed: (of_joint, {"name": "j", "parent": "world", "child": "a", "at": (0.1, 0.2, 0.3)}),
    lm.Revolute: (of_joint, {**JOINT, "axis": (0.0, 0.6, 0.8), "rest": 0.1}),
    lm.Prismatic: (of_joint, {**JOINT, "axis": (0.0, 0.6, 0.8)}),
    lm.Helical: (of_joint, {**JOINT, "axis": (0.0, 0.6, 0.8), "pitch": 0.1}),
    lm.Cylindrical: (of_joint, {**JOINT, "axis": (0.0, 0.6, 0.8)}),
    lm.Universal: (of_joint, {**JOINT, "axes": ((1.0, 0.1, 0.0), (0.0, 1.0, 0.0))}),
    lm.Spherical: (of_joint, {**JOINT, "rest": (1.0, 0.0, 0.0, 0.0)}),
    lm.Planar: (of_joint, {**JOINT, "rest": (0.1, 0.2, 0.3)}),
    lm.Free: (of_joint, {**JOINT, "rest": (1.0, 0.0, 0.0, 0.0, 0.1, 0.2, 0.3)}),
    lm.Screws: (of_joint, {**JOINT, "subspace": ((0.0, 1.0, 0.0, 0.1, 0.0, 0.0),)}),
    lm.Distance: (of_loop, {"name": "l", "a": ("world", (0.0, 0.0, 1.0)), "b": "b", "length": 1.0}),
    lm.PointOnLine: (of_loop, {"name": "l", "a": "world", "b": "b", "axis": (1.0, 0.2, 0.0)}),
    lm.PointOnPlane: (of_loop, {"name": "l", "a": "world", "b": "b", "normal": (1.0, 0.2, 0.0)}),
    lm.Rolling: (
        of_loop,
        {"name": "l", "a": ("world", (0.0, 0.0, -1.0)), "b": "b", "radius": 1.0, "axis": (0.0, 1.0, 0.1)},
    ),
    lm.Coupling: (of_loop, {"name": "l", "terms": {"hinge": 1.0, "slide": 2.0}, "offset": 0.1}),
    lm.Gear: (of_loop, {"name": "l", "a": "hinge", "b": "slide", "ratio": 2.0, "offset": 0.1}),
    lm.Rack: (of_loop, {"name": "l", "pinion": "hinge", "rack": "slide", "radius": 0.1, "offset": 0.1}),
    lm.Motion: (of_loop, {"name": "l", "joint": "hinge", "law": 0.2}),
    lm.Lock: (of_loop, {"name": "l", "joint": "hinge"}),
    lm.Weld: (of_loop, {"name": "l", "a": "world", "b": "b"}),
    lm.RigidStop: (
        of_loop,
        {"name": "l", "joint": "hinge", "lower": -0.5, "upper": 0.5, "restitution": 0.5, "rest_speed": 1e-3},
    ),
    lm.Trigger: (
        lambda trigger: lm.Tree([rigid()], [on()], loops=[lm.Lock(name="l", joint="hinge")], events=[trigger]),
        {"name": "e", "signal": "hinge.angle", "value": 0.2, "engage": ["l"]},
    ),
    lm.Box: (lambda s: of_body(rigid(shapes=[s])), {"at": (0.1, 0.0, 0.0), "size": (1.0, 2.0, 3.0)}),
    lm.Sphere: (lambda s: of_body(rigid(shapes=[s])), {"at": (0.1, 0.0, 0.0), "radius": 1.0}),
    lm.Cylinder: (lambda s: of_body(rigid(shapes=[s])), {"radius": 1.0, "length": 2.0}),
    lm.Mesh: (lambda s: of_body(rigid(shapes=[s])), {"vertices": POINTS, "triangles": [[0, 1, 2]]}),
    lm.Skin: (of_skin, {"vertices": POINTS, "modes": np.ones((3, 3, N)), "triangles": [[0, 1, 2]]}),
    lm.Tree: (lambda t: t, {"bodies": [rigid()], "joints": [on()], "gravity": (0.0, 0.0, -9.81)}),
}
# What has no entry here has one in tests/examples.py.
EXAMPLES |= {
    cls: (of_joint, {**JOINT, **joint_example(cls).fields}) for cls in lm.ALL_JOINTS if cls not in EXAMPLES
} | {
    cls: (of_force, {"name": "f", **force_fields(cls, ("world", (0.0, 0.0, 1.0)), "a", joint="hinge", other="slide")})
    for cls in lm.ALL_FORCES
    if cls not in EXAMPLES
}
# What may be infinite: that there is none.
INFINITE = {
    (lm.Actuator, "limit[0]=inf"),
    (lm.Motor, "limit[0]=inf"),
    (lm.BallStop, "lower[0]=-inf"),
    (lm.BallStop, "upper[0]=inf"),
    (lm.RigidStop, "lower[0]=-inf"),
    (lm.RigidStop, "upper[0]=inf"),
    (lm.Stop, "lower[0]=-inf"),
    (lm.Stop, "upper[0]=inf"),
}


def of_sensor(sensor):
    second = lm.Prismatic(name="slide", parent="a", child="b", axis=(1.0, 0.0, 0.0))
    return lm.Tree([rigid(), rigid("b")], [on(), second], sensors=[sensor])


PLACES = {"at": ("a", (0.1, 0.2, 0.3)), "a": "a", "b": "b", "joint": "hinge"}
EXAMPLES |= {
    cls: (
        of_sensor,
        {"name": "s", **own, **{f.name: PLACES[f.name] for f in dataclasses.fields(cls) if f.name in PLACES}},
    )
    for cls, own in SENSORS.items()
    # tests/simulate has those of beams
    if cls is not lm.StrainGauge
}


def of_surface(surface):
    """A contact of the surface on the first body with what it can touch."""
    ball = lm.SphereSurface(name="ball", at="b", radius=0.3)
    plane = lm.PlaneSurface(name="plane", at=("b", (0.0, 0.0, 0.5)))
    ground = lm.PlaneSurface | lm.ProfileSurface | lm.BoreSurface | lm.SocketSurface
    second = ball if isinstance(surface, ground) else plane
    return of_force(lm.Contact(name="touch", a=surface, b=second, stiffness=1e4, dissipation=0.3, friction=0.2))


EXAMPLES |= {
    cls: (of_surface, {"name": "s", "at": ("a", (0.1, 0.2, 0.3)), **own})
    for cls, own in {
        lm.PlaneSurface: {},
        lm.SphereSurface: {"radius": 0.3},
        lm.CapsuleSurface: {"radius": 0.2, "length": 0.5},
        lm.BoxSurface: {"size": (0.5, 0.6, 0.7)},
        lm.CylinderSurface: {"radius": 0.3, "length": 0.5},
        lm.ProfileSurface: {"points": [(-1.0, 0.0), (-0.3, 0.1), (0.4, 0.2), (1.0, 0.0)]},
        lm.BoreSurface: {"radius": 0.4},
        lm.SocketSurface: {"radius": 0.4},
    }.items()
}
TOUCHING = {
    "a": lm.SphereSurface(name="one", at="a", radius=0.5),
    "b": lm.SphereSurface(name="other", at=("b", (0.2, 0.0, 0.0)), radius=0.5),
}
MATERIAL = {
    **{"stiffness": 1e4, "exponent": 1.5, "dissipation": 0.3, "friction": 0.3, "static": 0.5, "stribeck": 0.02},
    **{"slip_speed": 1e-3, "rolling": 0.01, "spinning": 0.02, "turning_speed": 1e-2},
}
EXAMPLES |= {
    lm.Contact: (of_force, {"name": "touch", **TOUCHING, **MATERIAL}),
    lm.Contacts: (of_force, {"name": "crowd", "among": tuple(TOUCHING.values()), **MATERIAL}),
}
# They have no number that a person gives, or none that the model has (tests/simulate/test_blocks.py).
WITHOUT = {lm.Joint, lm.Force, lm.Constraint, lm.Shape, lm.Sensor, lm.Model, lm.State, lm.Custom, lm.StrainGauge}
WITHOUT |= {lm.ContactSurface}
WITHOUT |= {lm.Controller, lm.Sampled, lm.ControlBlock, *lm.ALL_BLOCKS}


def test_every_dataclass_has_an_example():
    public = {value for name, value in vars(lm).items() if isinstance(value, type)}
    classes = {each for each in public if inspect.isclass(each) and dataclasses.is_dataclass(each)}
    assert classes <= set(EXAMPLES) | WITHOUT


def fields_of(cls):
    """What an example of a class is made of."""
    given = EXAMPLES[cls][1]
    if given is not None:
        return given
    made = bending() if cls is lm.FlexibleBody else pieces()[1]
    return {f.name: getattr(made, f.name) for f in dataclasses.fields(made) if getattr(made, f.name) is not None}


def with_extremes(given) -> Iterator[tuple[str, dict]]:
    """The same fields with one number changed: of an array the first and the last entry."""
    for name, value in given.items():
        if isinstance(value, dict) and all(isinstance(x, float) for x in value.values()):
            for key in value:
                for extreme in EXTREME:
                    yield f"{name}[{key}]={extreme}", {**given, name: {**value, key: extreme}}
            continue
        if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
            for extreme in EXTREME:
                yield f"{name}={extreme}", {**given, name: (value[0], (extreme, 0.0, 0.0))}
            continue
        try:
            array = np.array(value, dtype=float)
        except (TypeError, ValueError):
            continue
        for place in sorted({0, array.size - 1} if array.size else set()):
            for extreme in EXTREME:
                changed = array.copy()
                changed.flat[place] = extreme
                yield f"{name}[{place}]={extreme}", {**given, name: changed if array.ndim else float(changed)}


def answer(tree) -> Iterator[np.ndarray]:
    """Numbers that the model makes."""
    model = tree.compile()
    state = model.state(v=np.full(model.nv, 0.1))
    yield model.floats
    yield dynamics.forward_dynamics(model, state)
    yield dynamics.balance(model, state).momentum


@pytest.mark.parametrize("cls", EXAMPLES, ids=lambda cls: cls.__name__)
def test_a_number_out_of_range_is_an_error_or_finite(cls):
    within, given = EXAMPLES[cls][0], fields_of(cls)
    # the example itself is sound, or nothing is shown
    assert all(np.isfinite(part).all() for part in answer(within(cls(**given))))
    raw, wrong = [], []
    for what, changed in with_extremes(given):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                finite = all(np.isfinite(part).all() for part in answer(within(cls(**changed))))
            except LiegeoError:
                continue
            except Exception as error:
                raw.append(f"{what}: {type(error).__name__}: {error}")
                continue
        if not finite and (cls, what) not in INFINITE:
            wrong.append(what)
    assert not raw
    assert not wrong


@pytest.mark.parametrize("value", EXTREME)
def test_states_inputs_and_times(value):
    model = of_body(rigid()).compile()
    for call in (
        lambda: model.state(q=[value]),
        lambda: model.state(q={"hinge": value}),
        lambda: model.state(v=[value]),
        lambda: model.state(t=value),
        lambda: dynamics.forward_dynamics(model, model.state(), [value]),
        lambda: dynamics.forward_dynamics(model, lm.State(np.zeros(1), np.array([value]))),
        lambda: lg.simulate(model, model.state(), 0.1, step=value),
        lambda: lg.simulate(model, model.state(), 0.1, rtol=value),
        lambda: lg.simulate(model, model.state(), 0.1, atol=value),
        lambda: lg.simulate(model, model.state(), 0.1, max_step=value),
        lambda: lg.simulate(model, model.state(), 0.1, output=value),
        lambda: lg.simulate(model, model.state(), 0.1, inputs={"hinge": value}),
        lambda: flex.circle(value),
        lambda: flex.rectangle(value, 1.0),
        lambda: flex.Material(value, 1.0, 0.3),
        lambda: flex.Material(1.0, value, 0.3),
    ):
        try:
            found = call()
        except LiegeoError:
            continue
        if isinstance(found, np.ndarray):
            assert np.isfinite(found).all()
        if isinstance(found, lg.Result):
            assert np.isfinite(found["hinge.angle"]).all()


@pytest.mark.parametrize("given", [{"step": 1e-308}, {"rtol": np.inf}, {"atol": np.nan}, {"max_step": np.nan}])
def test_options_of_a_run_that_would_never_end_are_refused(given):
    model = of_body(rigid()).compile()
    with pytest.raises(InputError, match=rf"simulate: {next(iter(given))} is "):
        lg.simulate(model, model.state(), 0.1, **given)


@pytest.mark.parametrize("value", [x for x in EXTREME if abs(x) != LARGEST])
def test_an_end_out_of_range_is_refused(value):
    model = of_body(rigid()).compile()
    with pytest.raises(LiegeoError, match=r"t_end is"):
        lg.simulate(model, model.state(), value)
