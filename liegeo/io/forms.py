"""The forms of bodies, joints, loops, forces, wheels and shapes: derived from the dataclasses of liegeo.model.

SPECS says of every field of every class what it is and how it is described; classes inherit what their parents say.
Adding a joint, a constraint, a force element or a shape: its own new fields here, nothing else.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import ValidationInfo

from liegeo.errors import InputError
from liegeo.io import units
from liegeo.io.fields import (
    DIRECTION,
    INERTIA,
    NAME,
    PLACE,
    POSE,
    QUANTITY_SCHEMA,
    TEXT,
    WHERE,
    Form,
    Key,
    array,
    by_name,
    choice,
    is_pose,
    list_of,
    made,
    mapping,
    number,
    one_of,
    read_array,
    read_number,
    read_pose,
    show,
    vector,
    whole,
)
from liegeo.io.signals import SIGNAL
from liegeo.io.units import Dimension
from liegeo.lie import SE3Q, SO3Q
from liegeo.model import constraints, forces, joints, shapes
from liegeo.model.body import Body, LumpedNode, Node


class Depends(NamedTuple):
    """A type that depends on the class whose field it is."""

    of: Callable[[type], Any]


# ---- what belongs to the speeds of a joint

# By property: of a speed that turns, of one that slides.
_PER_SPEED: Mapping[str, tuple[Dimension, Dimension]] = {
    "stiffness": (units.TURNING_STIFFNESS, units.STIFFNESS),
    "damping": (units.TURNING_DAMPING, units.DAMPING),
    "armature": (units.INERTIA, units.MASS),
    "friction": (units.TORQUE, units.FORCE),
    "speed": (units.ANGULAR_SPEED, units.SPEED),
    "position": (units.ANGLE, units.LENGTH),
    "force": (units.TORQUE, units.FORCE),
}


def turning(screws: Any) -> list[bool]:
    """By speed: whether it turns or slides."""
    return [bool(np.any(screw[:3])) for screw in np.atleast_2d(screws) if len(screw) == 6]


def per_speed(screws: Any, what: str) -> list[Dimension]:
    return [_PER_SPEED[what][0 if turns else 1] for turns in turning(screws)]


def coordinates(joint: joints.Joint | type[joints.Joint], screws: Any) -> list[Dimension]:
    """By coordinate: what it is.  Quaternions are plain numbers."""
    kind = joint if isinstance(joint, type) else type(joint)
    rotation = [units.NUMBER] * 4
    if issubclass(kind, joints.Spherical):
        return rotation
    return [*rotation, *[units.LENGTH] * 3] if issubclass(kind, joints.Free) else per_speed(screws, "position")


def read_each(value: Any, wanted: Sequence[Dimension], who: str) -> Any:
    """One number for all, or a list with one for each."""
    if isinstance(value, list):
        if len(value) != len(wanted):
            raise InputError(
                f"is {show(value)} with {len(value)} entries, expected one number, or {len(wanted)}: {who}"
            )
        return np.array([read_number(x, [d]) for x, d in zip(value, wanted, strict=True)])
    return read_number(value, list(dict.fromkeys(wanted)) if len(set(wanted)) == 1 else wanted[:0])


def read_coordinates(value: Any, cls: type[joints.Joint], wanted: Sequence[Dimension]) -> Any:
    """A position of a joint, as in q: numbers, or a pose where it is a rotation or a motion in space."""
    if is_pose(value) and issubclass(cls, joints.Spherical | joints.Free):
        X = read_pose(value)
        if issubclass(cls, joints.Spherical):
            if np.any(X[:3, 3]):
                raise InputError(f"is {show(value)}, but a spherical joint has no position; give rotation alone")
            return SO3Q.from_matrix(X[:3, :3])
        return SE3Q.from_matrix(X)
    return read_all(value, wanted, "coordinates")


def read_all(value: Any, wanted: Sequence[Dimension], what: str) -> Any:
    """One number where one is wanted, otherwise a list."""
    if len(wanted) == 1 and not isinstance(value, list):
        return read_number(value, wanted)
    if not isinstance(value, list) or len(value) != len(wanted):
        raise InputError(f"is {show(value)}, expected a list of {len(wanted)} {what}")
    return read_each(value, wanted, what)


def _screws(cls: type[joints.Joint], info: ValidationInfo) -> Any:
    """Of a joint whose form is being read; those of one's own are read first."""
    if "subspace" in info.data:
        return info.data["subspace"]
    return cls(name="", parent="", child="").screws()


def _speeds(what: str) -> Any:
    """A type that depends on the class of the joint."""

    def of(cls: type[joints.Joint]) -> Any:
        def read(value: Any, info: ValidationInfo) -> Any:
            return read_each(value, per_speed(_screws(cls, info), what), "one a speed")

        turns, slides = _PER_SPEED[what]
        said = f"one number for all speeds, or one a speed, in {turns.unit} if it turns, {slides.unit} if it slides"
        return made(read, {"type": ["number", "string", "array"], "items": QUANTITY_SCHEMA, "description": said})

    return Depends(of)


def _rest(cls: type[joints.Joint]) -> Any:
    def read(value: Any, info: ValidationInfo) -> Any:
        if value == 0 and not isinstance(value, bool):
            return 0.0
        return read_coordinates(value, cls, coordinates(cls, _screws(cls, info)))

    return made(
        read, {"type": ["number", "string", "array", "object"], "description": "a position of the joint, as in q"}
    )


# ---- what the fields are


def _six(turns: Dimension, slides: Dimension) -> Any:
    wanted = [turns] * 3 + [slides] * 3
    said = f"six numbers, three in {turns.unit} and three in {slides.unit}"

    def read(value: Any) -> Any:
        if not isinstance(value, list) or len(value) != 6:
            raise InputError(f"is {show(value)}, expected {said}")
        return read_each(value, wanted, said)

    return made(read, {"type": "array", "items": QUANTITY_SCHEMA, "minItems": 6, "maxItems": 6, "description": said})


def _read_triangles(value: Any) -> Any:
    found = read_array(value, [units.NUMBER], (None, 3), "rows of three whole numbers")
    if not np.array_equal(found, np.round(found)):
        raise InputError(f"is {show(value)}, expected rows of three whole numbers")
    return found.astype(np.int64)


def number_array(*shape: int | None) -> Any:
    """Plain numbers: of things that modes are part of, which are scaled as their author likes."""
    return array(units.NUMBER, *shape)


_POSITIVE_LENGTH = number(units.LENGTH)
_PLAIN = number(units.NUMBER)
_TRIANGLES = made(
    _read_triangles,
    {"type": "array", "items": {"type": "array", "items": {"type": "integer"}, "minItems": 3, "maxItems": 3}},
)
FRAMES = Key(by_name(POSE), "frames fixed to the body, by name: positions or poses")

SPECS: Mapping[type, Mapping[str, Key]] = {
    joints.Joint: {
        "parent": Key(NAME, "the body that carries it, or world"),
        "child": Key(NAME, "the body that it carries"),
        "at": Key(WHERE, "where it sits on the parent: a frame or node, a position, or a pose"),
        "child_at": Key(WHERE, "where it sits on the child"),
        "stiffness": Key(_speeds("stiffness"), "of springs that pull it to `rest`"),
        "damping": Key(_speeds("damping"), "viscous"),
        "rest": Key(Depends(_rest), "where its springs are slack"),
        "armature": Key(_speeds("armature"), "inertia of what turns with it, a rotor behind its gear"),
        "friction": Key(_speeds("friction"), "Coulomb's, smoothed below friction_speed"),
        "friction_speed": Key(
            number(units.ANGULAR_SPEED, units.SPEED), "where friction has three quarters of its value"
        ),
    },
    joints.Fixed: {},
    joints.Revolute: {"axis": Key(DIRECTION, "of rotation")},
    joints.Prismatic: {"axis": Key(DIRECTION, "of translation")},
    joints.Helical: {
        "axis": Key(DIRECTION, "of the thread"),
        "pitch": Key(_POSITIVE_LENGTH, "how far it advances a radian"),
    },
    joints.Cylindrical: {"axis": Key(DIRECTION, "of rotation and translation")},
    joints.Universal: {"axes": Key(array(units.NUMBER, 2, 3), "the first on the parent, the second on the child")},
    joints.Spherical: {},
    joints.Planar: {},
    joints.Free: {},
    joints.Screws: {"subspace": Key(array(units.NUMBER, None, 6), "one to six screws, rotation first")},
    constraints.Constraint: {},
    constraints.FrameConstraint: {
        "a": Key(PLACE, "the first frame: body, body.frame, or a mapping with body and at"),
        "b": Key(PLACE, "the second frame"),
    },
    constraints.Distance: {"length": Key(_POSITIVE_LENGTH, "how far the frames stay apart")},
    constraints.PointOnLine: {"axis": Key(DIRECTION, "of the line, in the axes of a")},
    constraints.PointOnPlane: {"normal": Key(DIRECTION, "of the plane, in the axes of a")},
    constraints.Rolling: {
        "radius": Key(_POSITIVE_LENGTH, "of the disc or ball"),
        "shape": Key(choice(constraints.DISC, constraints.BALL), "what rolls"),
        "axis": Key(DIRECTION, "of the disc, in the axes of b"),
        "normal": Key(DIRECTION, "of the plane, in the axes of a"),
    },
    constraints.Coupling: {
        "terms": Key(by_name(number()), "factors by joint, or joint.1 for another coordinate than the first"),
        "offset": Key(number(), "what the sum of factors times coordinates stays at"),
    },
    constraints.Gear: {
        "a": Key(NAME, "the joint that drives"),
        "b": Key(NAME, "the joint that is driven"),
        "ratio": Key(_PLAIN, "how many times as fast b turns as a; negative: the other way round"),
    },
    constraints.Rack: {
        "pinion": Key(NAME, "the joint that turns"),
        "rack": Key(NAME, "the joint that slides"),
        "radius": Key(_POSITIVE_LENGTH, "of the pinion"),
    },
    constraints.Motion: {
        "joint": Key(NAME, "the joint that is moved"),
        "law": Key(SIGNAL, "its position in time"),
        "coordinate": Key(whole(), "only this coordinate, from 0"),
    },
    forces.Force: {},
    forces.PointForce: {
        "at": Key(PLACE, "the frame that it acts on"),
        "force": Key(vector(units.FORCE), "constant; its input is added"),
        "torque": Key(vector(units.TORQUE), "constant; its input is added"),
        "axes": Key(choice(forces.WORLD_AXES, forces.BODY_AXES), "in whose axes they are"),
    },
    forces.SpringDamper: {
        "a": Key(PLACE, "one end"),
        "b": Key(PLACE, "the other end"),
        "stiffness": Key(number(units.STIFFNESS), "of the spring"),
        "damping": Key(number(units.DAMPING), "of the damper"),
        "length": Key(_POSITIVE_LENGTH, "when it is free"),
    },
    forces.Bushing: {
        "a": Key(PLACE, "the frame whose axes are used"),
        "b": Key(PLACE, "the other frame"),
        "stiffness": Key(
            _six(units.TURNING_STIFFNESS, units.STIFFNESS), "three against turning, three against displacement"
        ),
        "damping": Key(_six(units.TURNING_DAMPING, units.DAMPING), "the same six for rates"),
    },
    forces.Actuator: {
        "joint": Key(NAME, "the joint that it drives"),
        "speed": Key(whole(), "which of its speeds, from 0"),
        "gear": Key(number(units.NUMBER, units.LENGTH), "what its input is multiplied by"),
        "limit": Key(number(units.TORQUE, units.FORCE), "of its input, both ways"),
        "inertia": Key(number(units.INERTIA, units.MASS), "of its rotor, before the gear"),
        "lag": Key(number(units.TIME), "the time constant with which it follows its input; 0: at once"),
    },
    forces.BristleFriction: {
        "joint": Key(NAME, "the joint in which it acts"),
        "speed": Key(whole(), "which of its speeds, from 0"),
        "coulomb": Key(number(units.TORQUE, units.FORCE), "the friction when it slides"),
        "stiffness": Key(number(units.TURNING_STIFFNESS, units.STIFFNESS), "of the bristles, before they slide"),
        "static": Key(number(units.TORQUE, units.FORCE), "the friction at which it breaks away; coulomb if not given"),
        "stribeck": Key(number(units.ANGULAR_SPEED, units.SPEED), "the speed over which static falls to coulomb"),
        "damping": Key(number(units.TURNING_DAMPING, units.DAMPING), "of the bristles"),
        "viscous": Key(number(units.TURNING_DAMPING, units.DAMPING), "the friction per speed, added to the rest"),
    },
    forces.Wheel: {
        "body": Key(NAME, "the body that it is built into"),
        "inertia": Key(number(units.INERTIA), "about its axis"),
        "axis": Key(DIRECTION, "in the axes where it sits"),
        "at": Key(WHERE, "a frame or node of the body, a position, or a pose"),
        "mass": Key(number(units.MASS), "added to the body's"),
        "transverse": Key(number(units.INERTIA), "across its axis; half of inertia if not given; may be 0"),
        "damping": Key(number(units.TURNING_DAMPING), "of its bearing"),
        "friction": Key(number(units.TORQUE), "of its bearing, Coulomb's"),
    },
    shapes.Shape: {
        "at": Key(POSE, "where on the body: a position or a pose"),
        "color": Key(TEXT, "as CSS writes it: a name, or #rrggbb"),
    },
    shapes.Box: {"size": Key(vector(units.LENGTH), "lengths along x, y and z")},
    shapes.Sphere: {"radius": Key(_POSITIVE_LENGTH, "of the ball")},
    shapes.Cylinder: {
        "radius": Key(_POSITIVE_LENGTH, "of the cylinder"),
        "length": Key(_POSITIVE_LENGTH, "along z"),
    },
    shapes.Mesh: {
        "vertices": Key(array(units.LENGTH, None, 3), "points"),
        "triangles": Key(_TRIANGLES, "rows of three numbers of vertices, from 0"),
    },
    Body: {
        "mass": Key(number(units.MASS), "of the body"),
        "com": Key(vector(units.LENGTH), "centre of mass, in the body's frame"),
        "inertia": Key(INERTIA, "about the centre of mass, in the body's axes"),
        "frames": FRAMES,
    },
    LumpedNode: {
        "modes": Key(number_array(6, None), "six rows, rotation first, a column a mode"),
        "position": Key(vector(units.LENGTH), "in the body's frame"),
        "mass": Key(number(units.MASS), "of the piece"),
        "com": Key(vector(units.LENGTH), "from the node to the piece's centre of mass"),
        "inertia": Key(INERTIA, "about that centre, in the body's axes"),
    },
    Node: {
        "pose": Key(POSE, "undeformed"),
        "modes": Key(number_array(6, None), "six rows, rotation first, a column a mode"),
        "second": Key(number_array(6, None, None), "what the deformation moves in second order"),
    },
    shapes.Skin: {
        "vertices": Key(array(units.LENGTH, None, 3), "points"),
        "modes": Key(number_array(None, 3, None), "how modes move the vertices"),
        "triangles": Key(_TRIANGLES, "rows of three numbers of vertices, from 0"),
    },
}


def _specs(cls: type) -> dict[str, Key]:
    """What a class and those that it inherits from say, its own first: they may decide how others are read."""
    found: dict[str, Key] = {}
    for base in cls.__mro__:
        found |= {name: spec for name, spec in SPECS.get(base, {}).items() if name not in found}
    return found


def kind_of(cls: type) -> str:
    """PointOnLine → point_on_line."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


def form(cls: type, kind: str | None = None, more: Mapping[str, Key] | None = None) -> type[Form]:
    """The form of a dataclass: a key for each of its fields but `name`, which is the key of the mapping."""
    specs = _specs(cls) | dict(more or {})
    known = {field.name: field for field in dataclasses.fields(cls) if field.init and field.name != "name"}
    keys: dict[str, Key] = {}
    if kind is not None:
        keys["kind"] = Key(Literal[kind], _first_line(cls))
    for name in sorted(known, key=lambda name: list(specs).index(name)):
        spec, field = specs[name], known[name]
        typed = spec.type.of(cls) if isinstance(spec.type, Depends) else spec.type
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        keys[name] = Key(typed, spec.says, ... if required else None)
    return mapping(cls.__name__, _first_line(cls), **keys)


def _first_line(cls: type) -> str:
    return str(cls.__doc__).partition("\n")[0]


def forms(classes: Iterable[type]) -> dict[str, type[Form]]:
    return {kind_of(cls): form(cls, kind_of(cls)) for cls in classes}


SHAPE_FORMS = forms(shapes.ALL_SHAPES)
JOINT_FORMS = forms(joints.ALL_JOINTS)
CONSTRAINT_FORMS = forms(c for c in constraints.ALL_CONSTRAINTS if c is not constraints.Custom)
SHAPES = Key(list_of(one_of(*SHAPE_FORMS.values())), "what it looks like")
BODY_FORM = form(Body, "rigid", {"shapes": SHAPES})
FORCE_FORMS = forms(forces.ALL_FORCES)
WHEEL_FORM = form(forces.Wheel)
