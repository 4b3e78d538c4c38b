"""Types of the keys of a model file: how each is read, what is said if it cannot be, and its JSON schema.

A reader takes a plain value (number, text, truth value, list, mapping, or the Quantity that an expression gave) and
returns what the Python classes take; an InputError says what the value is and what was expected.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, create_model

from liegeo.errors import InputError
from liegeo.io import units
from liegeo.io.expressions import Expression
from liegeo.io.units import ANGLE, LENGTH, NUMBER, Dimension, Quantity
from liegeo.lie import SO3, SO3Q
from liegeo.model.checks import LARGEST, pose_of, suggest
from liegeo.recorded import Recorded, explain, finite, length_of, plain_or_recorded, settled

Schema = dict[str, Any]

_WITH_UNIT = r"^(\$\(.+\)|[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*[A-Za-z%°µ].*)$"
# One schema with two types, not two schemas: editors then show what is said about a key.
QUANTITY_SCHEMA: Schema = {"type": ["number", "string"], "pattern": _WITH_UNIT}
EXPRESSION = r"^\$\(.+\)$"


class Form(BaseModel):
    """What a mapping in a model file may hold.  Keys that it does not know are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, protected_namespaces=())

    def given(self, *but: str) -> dict[str, Any]:
        """What the file says, without what it leaves to defaults."""
        return {name: getattr(self, name) for name in self.model_fields_set if name != "kind" and name not in but}

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


class Key(NamedTuple):
    """A key of a form: its type, what is said about it, and what it is if it is not given (…: it must be)."""

    type: Any
    says: str
    default: Any = ...


def mapping(title: str, says: str, base: type[Form] = Form, /, **keys: Key) -> type[Form]:
    """A form."""
    fields: dict[str, Any] = {
        name: (key.type, Field(key.default, description=_says(key))) for name, key in keys.items()
    }
    made_form: type[Form] = create_model(title, __base__=base, __doc__=says, **fields)
    return made_form


def _says(key: Key) -> str:
    """What is said about a key, and which numbers it takes."""
    metadata = getattr(key.type, "__metadata__", ())
    schemas = [m.json_schema or {} for m in metadata if isinstance(m, WithJsonSchema)]
    return "; ".join(part for part in (key.says, *(schema.get("description") for schema in schemas)) if part)


def show(value: Any) -> str:
    """A value in a message, as a person would write it."""
    if isinstance(value, Quantity):
        return f"'{value.text}'" if value.text else f"{value.value:g}"
    if isinstance(value, Expression):
        return f"'{value.text}'"
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "empty"
    if isinstance(value, dict):
        return f"a mapping with {', '.join(map(str, value))}"[:80] if value else "an empty mapping"
    if isinstance(value, list | tuple):
        inner = ", ".join(show(x) for x in value[:7])
        return f"[{inner}{', …' if len(value) > 7 else ''}]"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:76]}…'"


def made(reader: Callable[..., Any], schema: Schema) -> Any:
    """A type from how it is read and what an editor is told."""
    return Annotated[Any, BeforeValidator(reader), WithJsonSchema(schema)]


# ---- numbers


def read_number(value: Any, wanted: Sequence[Dimension]) -> float:
    """A finite number in SI, of one of these dimensions; of any at all if there are none."""
    expected = " or ".join(map(str, wanted)) if wanted else "a number"
    given = value
    if isinstance(value, Expression):
        raise InputError(f"is '{value.text}', which changes with t; only laws and inputs may")
    if isinstance(value, str):
        given = _text_number(value, expected)
    if isinstance(given, Quantity):
        return _bounded(value, _in_unit(value, given, wanted))
    if isinstance(given, bool) or not isinstance(given, int | float | Recorded):
        raise InputError(f"is {show(value)}, expected {expected}")
    if not finite(given):
        raise InputError(f"is {given}, expected a finite number")
    return _bounded(value, _number(given))


def _bounded(value: Any, found: float) -> float:
    """Products of a few numbers must not overflow."""
    large = abs(found) > LARGEST
    explain(found, lambda: f"{show(value)} is {{}}, expected a number below {LARGEST:g}.")
    if large:
        raise InputError(f"is {show(value)}, expected a number below {LARGEST:g}")
    return found


def _number(value: Any) -> Any:
    """Return a number as a float, and as it is if it is recorded (liegeo/recorded.py)."""
    return value if isinstance(value, Recorded) else float(value)


def _text_number(text: str, expected: str) -> Quantity:
    if text.startswith("${"):
        raise InputError(f"is '{text}'; parameters are written $(name), with round brackets")
    try:
        found = units.parse(text)
    except InputError as error:
        said, _, hint = str(error).partition("; did you mean")
        raise InputError(
            f"is '{text}', which {said}; expected {expected}{f'. Did you mean{hint}' if hint else ''}"
        ) from None
    if found is None:
        raise InputError(
            f"is {show(text)}, expected {expected}{', such as 0.02 or 20 mm' if expected == str(LENGTH) else ''}"
        )
    return found


def _in_unit(value: Any, given: Quantity, wanted: Sequence[Dimension]) -> float:
    if not wanted:
        return _number(given.value)
    if given.uses is not None and len(wanted) == 1:
        given.uses.append(wanted[0])
    said = []
    for dimension in wanted:
        try:
            return _number(given.to(dimension))
        except InputError as error:
            said.append(str(error))
    if len(wanted) == 1:
        raise InputError(f"is {show(value)}, which {said[0]}")
    assert given.powers is not None
    raise InputError(
        f"is {show(value)}, which is {units.named(given.powers)}, expected {' or '.join(map(str, wanted))}"
    )


def _units_schema(wanted: Sequence[Dimension]) -> Schema:
    unit = " or ".join(d.unit for d in wanted if d.unit)
    said = f"a number in {unit}, or with a unit" if unit else "a number" if wanted else "a number, of any dimension"
    return QUANTITY_SCHEMA | {"description": said}


def number(*wanted: Dimension) -> Any:
    """A number of one of these dimensions; without any, of whatever dimension."""
    return made(lambda value: read_number(value, wanted), _units_schema(wanted))


def read_whole(value: Any, most: int) -> int:
    """A whole number that is not so large that it would fill the memory."""
    given = value.value if isinstance(value, Quantity) and value.powers in (None, units.NONE) else value
    given = settled(given, "it is a whole number, on which the structure of the model depends")
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given) or given != int(given):
        raise InputError(f"is {show(value)}, expected a whole number")
    if abs(given) > most:
        raise InputError(f"is {show(value)}, expected at most {most}")
    return int(given)


def whole(most: int = 1000, least: int | None = None) -> Any:
    """Return the type of a whole number between bounds."""

    def read(value: Any) -> int:
        found = read_whole(value, most)
        if least is not None and found < least:
            raise InputError(f"is {show(value)}, must be ≥ {least}")
        return found

    schema = {"type": ["integer", "string"], "maximum": most, "pattern": EXPRESSION}
    return made(read, schema if least is None else schema | {"minimum": least})


def read_array(value: Any, wanted: Sequence[Dimension], shape: tuple[int | None, ...], what: str) -> np.ndarray:
    """Numbers in lists of this shape; None stands for any length."""

    def rows(given: Any, depth: int) -> Any:
        if depth == len(shape):
            return given if type(given) is float and abs(given) <= LARGEST else read_number(given, wanted)
        if not isinstance(given, list | tuple):
            raise InputError(f"is {show(value)}, expected {what}")
        if shape[depth] is not None and len(given) != shape[depth]:
            raise InputError(f"is {show(value)} with {len(given)} entries, expected {what}")
        return [rows(x, depth + 1) for x in given]

    try:
        return plain_or_recorded(rows(value, 0))
    except InputError:
        raise
    except ValueError:
        raise InputError(f"has rows of different lengths, expected {what}") from None


def _array_schema(inner: Schema, shape: Sequence[int | None]) -> Schema:
    for n in reversed(shape):
        inner = {"type": "array", "items": inner} | ({} if n is None else {"minItems": n, "maxItems": n})
    return inner


def array(wanted: Dimension, *shape: int | None, what: str = "") -> Any:
    """Lists of numbers."""
    said = what or f"{' × '.join('n' if n is None else str(n) for n in shape)} numbers"
    said += f" in {wanted.unit}" if wanted.unit else ""
    schema = _array_schema(QUANTITY_SCHEMA, shape) | {"description": said}
    return made(lambda value: read_array(value, [wanted], shape, said), schema)


def vector(wanted: Dimension) -> Any:
    return array(wanted, 3, what="three numbers")


DIRECTION = array(NUMBER, 3, what="three numbers, a direction")


def _read_inertia(value: Any) -> np.ndarray:
    what = "xx, yy, zz, or xx, yy, zz, xy, xz, yz, or a 3 × 3 matrix, in kg*m^2"
    if isinstance(value, list) and value and isinstance(value[0], list):
        return read_array(value, [units.INERTIA], (3, 3), what)
    if isinstance(value, list) and len(value) in (3, 6):
        return read_array(value, [units.INERTIA], (len(value),), what)
    raise InputError(f"is {show(value)}, expected {what}")


_INERTIA_SCHEMA: Schema = {
    "type": "array",
    "items": {"type": ["number", "string", "array"]},
    "minItems": 3,
    "maxItems": 6,
    "description": "xx, yy, zz, or xx, yy, zz, xy, xz, yz, or a 3 × 3 matrix, in kg*m^2",
}
INERTIA = made(_read_inertia, _INERTIA_SCHEMA)


# ---- words


def _read_flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"is {show(value)}, expected true or false")
    return value


FLAG = made(_read_flag, {"type": "boolean"})


def _read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"is {show(value)}, expected text; put it in quotes")
    return value


TEXT = made(_read_text, {"type": "string"})


def read_name(value: Any) -> str:
    """A name; nodes are often called by numbers, so these are names too."""
    if isinstance(value, Quantity) and value.powers is None and float(value.value).is_integer():
        value = int(value.value)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise InputError(
            f"is {show(value)}, expected a name" + ("; put it in quotes" if isinstance(value, bool | float) else "")
        )
    if not value.strip() or value != value.strip() or not value.isprintable() or len(value) > 200:
        raise InputError(f"is {show(value)}, expected a name: printable, without spaces around it, not longer than 200")
    if value.startswith(("$(", "${")):
        raise InputError(f"is {show(value)}, expected a name; only numbers are computed")
    return value


_NAME_SCHEMA: Schema = {"type": ["string", "integer"], "minLength": 1}
NAME = made(read_name, _NAME_SCHEMA)
KEY = Annotated[str, BeforeValidator(read_name)]


def choice(*words: str) -> Any:
    def read(value: Any) -> str:
        if value not in words:
            close = suggest(value, words) if isinstance(value, str) else ""
            if len(words) < 5 or "Did you mean" not in close:
                raise InputError(f"is {show(value)}, expected {', '.join(words[:-1])} or {words[-1]}")
            raise InputError(f"is {show(value)}, which there is not.{close}")
        return str(value)

    return made(read, {"enum": list(words)})


# ---- places


def _read_rotation(value: Any) -> np.ndarray:
    """A rotation matrix."""
    if not isinstance(value, dict) or set(value) not in ({"axis", "angle"}, {"quaternion"}, {"rpy"}):
        raise InputError(f"has the rotation {show(value)}, expected axis and angle, quaternion, or rpy")
    if "axis" in value:
        axis = read_array(value["axis"], [NUMBER], (3,), "three numbers, a direction")
        length = length_of(axis)
        if length == 0.0:
            raise InputError("has a rotation about the axis [0, 0, 0], expected a direction")
        return np.asarray(SO3.exp(axis / length * read_number(value["angle"], [ANGLE])))
    if "rpy" in value:
        roll, pitch, yaw = read_array(value["rpy"], [ANGLE], (3,), "roll, pitch and yaw")
        parts = [SO3.exp(angle * axis) for angle, axis in zip((yaw, pitch, roll), np.eye(3)[::-1], strict=True)]
        return np.asarray(parts[0] @ parts[1] @ parts[2])
    quaternion = read_array(value["quaternion"], [NUMBER], (4,), "four numbers w, x, y, z")
    length = length_of(quaternion)
    off = abs(length - 1.0) > 1e-3
    explain(length, lambda: "a quaternion has the norm {}, expected 1.")
    if off:
        raise InputError(f"has a quaternion of norm {length:.6g}, expected 1")
    return np.asarray(SO3Q.matrix(quaternion / length))


_POSE = "a position of three numbers in m, a mapping with position and rotation, or a 4 × 4 matrix"


def read_pose(value: Any) -> np.ndarray:
    """A position (3) or a pose (4 × 4)."""
    if isinstance(value, dict):
        strange = sorted(set(value) - {"position", "rotation"})
        if strange or not value:
            raise InputError(f"has the key '{strange[0] if strange else ''}', expected position and rotation")
        R = _read_rotation(value["rotation"]) if "rotation" in value else np.eye(3)
        p = np.zeros(3)
        if "position" in value:
            p = read_array(value["position"], [LENGTH], (3,), "a position of three numbers in m")
        return pose_of(R, p)
    if isinstance(value, list) and value and isinstance(value[0], list):
        return read_array(value, [NUMBER, LENGTH], (4, 4), _POSE)
    return read_array(value, [LENGTH], (3,), _POSE)


def is_pose(value: Any) -> bool:
    return isinstance(value, dict) and bool(set(value) & {"position", "rotation"})


_ROTATION_SCHEMA: Schema = {
    "description": "axis and angle; a quaternion w, x, y, z; or roll, pitch and yaw about fixed axes",
    "oneOf": [
        {
            "type": "object",
            "properties": {"axis": _array_schema(_units_schema([NUMBER]), (3,)), "angle": _units_schema([ANGLE])},
            "required": ["axis", "angle"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"quaternion": _array_schema(_units_schema([NUMBER]), (4,))},
            "required": ["quaternion"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"rpy": _array_schema(_units_schema([ANGLE]), (3,))},
            "required": ["rpy"],
            "additionalProperties": False,
        },
    ],
}
POSE_MAPPING: Schema = {
    "type": "object",
    "properties": {
        "position": _array_schema(_units_schema([LENGTH]), (3,)) | {"description": "in metres, or with units"},
        "rotation": _ROTATION_SCHEMA,
    },
    "additionalProperties": False,
}
POSE_SCHEMA: Schema = {
    "anyOf": [
        _array_schema(_units_schema([LENGTH]), (3,)),
        _array_schema(_units_schema([NUMBER]), (4, 4)),
        POSE_MAPPING,
    ]
}
POSE = made(read_pose, POSE_SCHEMA)


def _read_where(value: Any) -> Any:
    """A place on a known body: a name of a frame or node, or a pose."""
    if isinstance(value, str | int) or (isinstance(value, Quantity) and value.powers is None):
        return read_name(value)
    return read_pose(value)


WHERE_SCHEMA: Schema = {"anyOf": [_NAME_SCHEMA, *POSE_SCHEMA["anyOf"]]}
WHERE = made(_read_where, WHERE_SCHEMA)


# The keys of a place that is a mapping, in the order in which Python has them in a pair.
PLACE_KEYS = ("body", "at")


def _read_place(value: Any) -> Any:
    """A place on any body: `body`, `body.frame`, or a body and a place on it."""
    if isinstance(value, dict):
        if "body" not in value or set(value) - set(PLACE_KEYS):
            raise InputError(f"is {show(value)}, expected body and at")
        body = read_name(value["body"])
        return (body, _read_where(value["at"])) if "at" in value else (body, None)
    if not isinstance(value, str):
        raise InputError(f"is {show(value)}, expected body.frame, or a mapping with body and at")
    return read_name(value)


PLACE_SCHEMA: Schema = {
    "anyOf": [
        {"type": "string", "description": "body, or body.frame"},
        {
            "type": "object",
            "properties": {"body": {"type": "string", "description": "its name, or world"}, "at": WHERE_SCHEMA},
            "required": ["body"],
            "additionalProperties": False,
        },
    ]
}
PLACE = made(_read_place, PLACE_SCHEMA)

# What the published schema refers to by name.
SHARED: dict[str, Schema] = {
    "place": PLACE_SCHEMA,
    "where": WHERE_SCHEMA,
    "pose": POSE_SCHEMA,
    "position and rotation": POSE_MAPPING,
    "rotation": _ROTATION_SCHEMA,
    "name": _NAME_SCHEMA,
    "quantity": QUANTITY_SCHEMA,
}


def by_name(of: Any) -> Any:
    """A mapping of names to these."""
    return dict[KEY, of]


def list_of(of: Any) -> Any:
    return list[of]


def union(types: Iterable[Any]) -> Any:
    return functools.reduce(operator.or_, types)


def one_of(*forms: type[Form]) -> Any:
    """A mapping that says by its `kind` which of these forms it has."""
    return Annotated[union(forms), Field(discriminator="kind")]
