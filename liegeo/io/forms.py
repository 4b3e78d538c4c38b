"""The forms of bodies, joints, loops, forces, wheels and shapes: derived from the dataclasses of liegeo.model.

The classes say what their fields are (model/about.py); here these words become types.  Adding a joint, a constraint, a
force element or a shape takes nothing here, unless a field is of a kind that none was before.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from pydantic import ValidationInfo

from liegeo.errors import InputError, ModelError, Owner
from liegeo.io import units
from liegeo.io.fields import (
    DIRECTION,
    EXPRESSION,
    FLAG,
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
    read_name,
    read_number,
    read_pose,
    show,
    vector,
    whole,
)
from liegeo.io.signals import SIGNAL
from liegeo.io.units import Dimension
from liegeo.lie import SE3Q, SO3Q
from liegeo.model import constraints, contacts, controllers, drives, events, forces, joints, sensors, shapes
from liegeo.model.about import About, about_fields
from liegeo.model.body import Body
from liegeo.model.checks import suggest
from liegeo.model.formulas import Formula
from liegeo.recorded import plain_or_recorded

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


# By kind of a column: its dimension.
DIMENSIONS: Mapping[str, Dimension] = {
    "input": units.NUMBER,
    "voltage": units.VOLTAGE,
    "current": units.CURRENT,
    "pressure": units.PRESSURE,
    "angle": units.ANGLE,
    "position": units.LENGTH,
    "quaternion": units.NUMBER,
    "moment": units.TORQUE,
    "force": units.FORCE,
    "bristle": units.NUMBER,
}


def turning(screws: Any) -> list[bool]:
    """By speed: whether it turns or slides."""
    return [bool(np.any(screw[:3])) for screw in np.atleast_2d(screws) if len(screw) == 6]


def per_speed(screws: Any, what: str) -> list[Dimension]:
    return [_PER_SPEED[what][0 if turns else 1] for turns in turning(screws)]


def coordinates(joint: joints.Joint | type[joints.Joint], screws: Any) -> list[Dimension]:
    """Return what each coordinate is, by the columns that the class names; quaternions are plain numbers."""
    if joint.coordinates is None:
        return per_speed(screws, "position")
    return [DIMENSIONS[part.kind] for part in joint.coordinates for _ in part.components]


def read_each(value: Any, wanted: Sequence[Dimension], who: str) -> Any:
    """One number for all, or a list with one for each."""
    if isinstance(value, list):
        if len(value) != len(wanted):
            raise InputError(
                f"is {show(value)} with {len(value)} entries, expected one number, or {len(wanted)}: {who}"
            )
        return plain_or_recorded([read_number(x, [d]) for x, d in zip(value, wanted, strict=True)])
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


def _speeds(cls: type[joints.Joint], what: str) -> Any:
    """Return the type of a property that each speed of a joint has."""

    def read(value: Any, info: ValidationInfo) -> Any:
        return read_each(value, per_speed(_screws(cls, info), what), "one per speed")

    turns, slides = _PER_SPEED[what]
    said = f"one number for all speeds, or one per speed, in {turns.unit} if it turns, {slides.unit} if it slides"
    return made(read, {"type": ["number", "string", "array"], "items": QUANTITY_SCHEMA, "description": said})


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


_TRIANGLES = made(
    _read_triangles,
    {"type": "array", "items": {"type": "array", "items": {"type": "integer"}, "minItems": 3, "maxItems": 3}},
)
FRAMES = Key(by_name(POSE), about_fields(Body)["frames"].says)


def _read_pairs(value: Any) -> Any:
    expected = "a list of pairs [position or speed, force or torque]"
    if not isinstance(value, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
        raise InputError(f"is {show(value)}, expected {expected}")
    places, forces_ = (units.ANGLE, units.LENGTH, units.ANGULAR_SPEED, units.SPEED), (units.TORQUE, units.FORCE)
    pairs = [[read_number(place, places), read_number(force, forces_)] for place, force in value]
    return plain_or_recorded(pairs)


_PAIR = {"type": "array", "minItems": 2, "maxItems": 2, "items": QUANTITY_SCHEMA}
_PAIRS = made(_read_pairs, {"type": "array", "minItems": 2, "items": _PAIR})

#: The word that stands for all surfaces of a file.
ALL = "all"


def _read_surfaces(value: Any) -> Any:
    if value == ALL:
        return value
    if not isinstance(value, list):
        raise InputError(f"is {show(value)}, expected a list of names of surfaces, or {ALL}")
    return [read_name(name) for name in value]


_SURFACES = made(_read_surfaces, {"anyOf": [{"const": ALL}, {"type": "array", "items": {"type": "string"}}]})


def _read_formula(value: Any) -> Any:
    """A formula that `parameters.substituted` made of an expression, or a number."""
    if isinstance(value, Formula):
        return value
    if isinstance(value, str):
        raise InputError(f"is {show(value)}, expected a formula such as $(-20 * s - 0.5 * ds), or a number")
    return read_number(value, [])


_FORMULA_SCHEMA = {"type": ["number", "string"], "pattern": EXPRESSION}
_FORMULA = made(_read_formula, _FORMULA_SCHEMA)

# By kind of a field (model/about.py) that is no physical dimension: its type.
_KINDS: Mapping[str, Any] = {
    "name": NAME,
    "text": TEXT,
    "place": PLACE,
    "places": list_of(PLACE),
    # of a surface: contacts name it
    "surface": NAME,
    "surfaces": _SURFACES,
    "where": WHERE,
    "pose": POSE,
    "poses by name": FRAMES.type,
    "direction": DIRECTION,
    "inertia matrix": INERTIA,
    "whole": whole(),
    "any": number(),
    "numbers by name": by_name(number()),
    "triangles": _TRIANGLES,
    "signal": SIGNAL,
    "yes or no": FLAG,
    "pairs": _PAIRS,
    "names": list_of(NAME),
    "formula": _FORMULA,
    "formulas by name": by_name(_FORMULA),
}


def _type_of(cls: type, name: str, said: About) -> Any:
    """Return the type of a key from what the field of a class says about itself."""
    if said.kind == "per speed":
        return _speeds(cls, name)
    if said.kind == "coordinates":
        return _rest(cls)
    if said.kind == "choice":
        return choice(*said.choices)
    if said.kind in _KINDS:
        return _KINDS[said.kind]
    both = said.kind.split(" and ")
    wanted: list[Any] = [
        getattr(units, word.upper(), None) for word in (both if len(both) > 1 else said.kind.split(" or "))
    ]
    if not all(isinstance(dimension, Dimension) for dimension in wanted):
        known = [*_KINDS, *(n.lower() for n, value in vars(units).items() if isinstance(value, Dimension))]
        finding, near = f"is of kind '{said.kind}'", suggest(said.kind, known)
        field = Owner("class", cls.__name__).field(name)
        raise ModelError(field.fault(said.kind, "which is no kind of field", near, finding=finding))
    if len(both) > 1:
        return _six(*wanted)
    if said.shape == (3,):
        return vector(*wanted)
    return array(*wanted, *said.shape) if said.shape else number(*wanted)


def kind_of(cls: type) -> str:
    """PointOnLine → point_on_line, PID → pid."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()


def form(cls: type, kind: str | None = None, more: Mapping[str, Any] | None = None) -> type[Form]:
    """Return the form of a dataclass: a key for each of its fields but `name`, which is the key of the mapping.

    `more` are types of fields that are forms themselves.
    """
    fields = {field.name: field for field in dataclasses.fields(cls)}
    keys: dict[str, Key] = {}
    if kind is not None:
        keys["kind"] = Key(Literal[kind], _first_line(cls))
    for name, said in about_fields(cls).items():
        required = fields[name].default is dataclasses.MISSING and fields[name].default_factory is dataclasses.MISSING
        typed = (more or {}).get(name) or _type_of(cls, name, said)
        keys[name] = Key(typed, said.says, ... if required else None)
    return mapping(cls.__name__, _first_line(cls), **keys)


def _first_line(cls: type) -> str:
    return str(cls.__doc__).partition("\n")[0]


def forms(classes: Iterable[type]) -> dict[str, type[Form]]:
    return {kind_of(cls): form(cls, kind_of(cls)) for cls in classes}


SHAPE_FORMS = forms(shapes.ALL_SHAPES)
JOINT_FORMS = forms(joints.ALL_JOINTS)
CONSTRAINT_FORMS = forms(c for c in constraints.ALL_CONSTRAINTS if c is not constraints.Custom)
SHAPES = list_of(one_of(*SHAPE_FORMS.values()))
BODY_FORM = form(Body, "rigid", {"shapes": SHAPES})
FORCE_FORMS = forms((*drives.ALL_FORCES, *contacts.ALL_CONTACTS))
SENSOR_FORMS = forms(sensors.ALL_SENSORS)
SURFACE_FORMS = {contacts.surface_kind(cls): form(cls, contacts.surface_kind(cls)) for cls in contacts.ALL_SURFACES}
WHEEL_FORM = form(forces.Wheel)


def _read_signals(value: Any) -> Any:
    """One signal, or a list of them."""
    return [read_name(each) for each in value] if isinstance(value, list) else read_name(value)


def _read_held(value: Any) -> Any:
    """A number of whatever dimension, or a list of them."""
    return [read_number(each, []) for each in value] if isinstance(value, list) else read_number(value, [])


EVENT_FORM = form(events.Trigger)
BLOCK_FORMS = forms(controllers.ALL_BLOCKS)
_PARAMETER = made(lambda value: value, {"type": ["number", "string", "boolean"]})
FMU_SOURCE = mapping(
    "FMU of a controller",
    "An FMU that computes in place of blocks.",
    file=Key(TEXT, "an FMU in the folder of the model"),
    kind=Key(choice("co-simulation", "model exchange"), "by which it is run; co-simulation where it has that", None),
    parameters=Key(by_name(_PARAMETER), "values before initialisation, in the units of the FMU", {}),
)
CONTROLLER_FORM = form(
    controllers.Controller,
    None,
    {
        "measure": by_name(TEXT),
        "inputs": by_name(choice(*controllers.INPUT_KINDS)),
        "blocks": by_name(one_of(*BLOCK_FORMS.values())),
        "outputs": by_name(made(_read_signals, {"type": ["string", "array"], "items": {"type": "string"}})),
        "fmu": FMU_SOURCE,
        "initial": by_name(made(_read_held, {"type": ["number", "string", "array"], "items": QUANTITY_SCHEMA})),
    },
)
#: By kind of an input of a controller: its dimension.
SIGNAL_DIMENSIONS: Mapping[str, Dimension] = {
    "input": units.NUMBER,
    "angle": units.ANGLE,
    "position": units.LENGTH,
    "angular velocity": units.ANGULAR_SPEED,
    "velocity": units.SPEED,
    "moment": units.TORQUE,
    "force": units.FORCE,
}
