"""What the fields of the classes of a model are, and what their columns are called: said once, on the class.

Readers of model files, the schema, results and messages collect it from there.  A field says it by its metadata,

    radius: float = field(metadata=about("length", "of the disc or ball"))

and the columns of a joint stand in its `coordinates` and `speeds`, those of a force element in `inputs`, `states` and
`exerts`.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from liegeo.errors import ModelError, Owner

T = TypeVar("T")
_KEY = "liegeo"


class About(NamedTuple):
    """What a field is.

    `kind` is a physical dimension (`length`, `torque`: the names in liegeo/io/units.py), several of which may do
    (`torque or force`), or a word of liegeo/io/forms.py (`direction`, `place`).  `says` describes the field in a few
    words.  `shape` is that of an array, None standing for any length; `choices` are the words that it may be.
    """

    kind: str
    says: str
    shape: tuple[int | None, ...] = ()
    choices: tuple[str, ...] = ()


def about(
    kind: str, says: str, *, shape: tuple[int | None, ...] = (), choices: tuple[str, ...] = ()
) -> Mapping[str, Any]:
    """Return the metadata of a dataclass field; see About."""
    return {_KEY: About(kind, says, shape, choices)}


def about_fields(cls: type) -> dict[str, About]:
    """Return what the fields of a class are that a person gives, without its name; its own before inherited ones.

    Raise a ModelError that names the class and the field if one says nothing.
    """
    fields = {f.name: f for f in dataclasses.fields(cls) if f.init and f.name != "name"}
    own_first = [name for base in cls.__mro__ for name in vars(base).get("__annotations__", ()) if name in fields]
    found = {}
    for name in dict.fromkeys(own_first):
        said = fields[name].metadata.get(_KEY)
        if said is None:
            advice = 'Write it as field(…, metadata=about("length", "of the rod")): see liegeo/model/about.py.'
            expected, finding = "expected a physical dimension and a description", "says nothing about itself"
            field = Owner("class", cls.__name__).field(name)
            raise ModelError(field.fault(None, expected, advice, finding=finding))
        found[name] = said
    return found


def classes_of(module: str, base: type[T], without: Iterable[type] = ()) -> tuple[type[T], ...]:
    """Return the classes that a module defines below `base`, in their order, but for those that are only bases."""
    defined = (value for value in vars(sys.modules[module]).values() if isinstance(value, type))
    return tuple(
        cls for cls in defined if issubclass(cls, base) and cls.__module__ == module and cls not in (base, *without)
    )


class Part(NamedTuple):
    """Columns that stand together: a quantity, its kind, and its components (one without a name: a scalar)."""

    name: str
    kind: str
    components: tuple[str, ...] = ("",)


def counted(name: str, kind: str, n: int) -> Part:
    """Return a quantity of n numbered components."""
    return Part(name, kind, tuple(f"[{k}]" for k in range(n)))


XY, XYZ, WXYZ = (".x", ".y"), (".x", ".y", ".z"), (".w", ".x", ".y", ".z")
ANGLE, POSITION = Part("angle", "angle"), Part("position", "position")
TURN, MOVE = Part("angular_velocity", "angular velocity", XYZ), Part("velocity", "velocity", XYZ)
# Kinds that depend on the joint on which an element acts: a force or a torque; a position or an angle.
OF_JOINT, POSITION_OF_JOINT = "of the joint", "position of the joint"
ROTATION, PLACE = Part("quaternion", "quaternion", WXYZ), Part("position", "position", XYZ)
