"""Joints that a person writes down.  Each is a Lie group for its coordinates and a set of screws for its speeds.

Adding one: docs/extending.md.  Model files, their schema, results and messages know it from what the class says about
its fields and columns (about.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo.errors import Field, ModelError, Owner
from liegeo.kernels import layout
from liegeo.lie import SE2, SE3Q, SO3Q, Group, R
from liegeo.model import notebook
from liegeo.model.about import ANGLE, MOVE, PLACE, POSITION, ROTATION, TURN, XY, Part, about, classes_of, counted
from liegeo.model.checks import Sealed, as_array, as_number, as_numbers
from liegeo.recorded import finite, length_of, values_of

Array = NDArray[np.float64]


def unit(field: Field, value: ArrayLike) -> Array:
    """Return a direction, made one long."""
    axis = as_array(field, value, (3,))
    length = length_of(axis)
    if length == 0.0:
        raise ModelError(field.fault(value, "expected a direction", finding="is zero"))
    return axis / length


@dataclass(frozen=True, eq=False, kw_only=True)
class Joint(Sealed):
    """What all joints have.

    The joint sits at `at` on the parent and at `child_at` on the child: a position or pose in the body's frame, or the
    name of a frame or node.  `parent` may be "world".  `stiffness`, `damping`, `friction` and `armature` are numbers,
    or one number a speed.  Friction is Coulomb's, smoothed to friction·tanh(v/friction_speed).

    Springs store ½ Σ stiffness·e², with e the joint's position seen from `rest`: q − rest, and for Spherical, Planar
    and Free joints log(rest⁻¹ q), which jumps at half a turn.  `rest` is a position of the joint as it stands in q, for
    these three a quaternion, (angle, x, y), or quaternion and position; 0, the default, is the zero position.
    """

    name: str
    parent: str = field(metadata=about("name", "the body that carries it, or world"))
    child: str = field(metadata=about("name", "the body that it carries"))
    at: str | ArrayLike | None = field(
        default=None, metadata=about("where", "where it sits on the parent: a frame or node, a position, or a pose")
    )
    child_at: str | ArrayLike | None = field(default=None, metadata=about("where", "where it sits on the child"))
    stiffness: ArrayLike = field(default=0.0, metadata=about("per speed", "of springs that pull it to `rest`"))
    damping: ArrayLike = field(default=0.0, metadata=about("per speed", "viscous"))
    rest: ArrayLike = field(default=0.0, metadata=about("coordinates", "where its springs are slack"))
    armature: ArrayLike = field(
        default=0.0, metadata=about("per speed", "inertia of what turns with it, a rotor behind its gear")
    )
    friction: ArrayLike = field(default=0.0, metadata=about("per speed", "Coulomb's, smoothed below friction_speed"))
    friction_speed: float = field(
        default=1e-3,
        metadata=about("angular_speed or speed", "where friction has three quarters of its value"),
    )

    kind: ClassVar[int] = layout.SCREW_CHAIN
    # Columns of its coordinates and of its speeds in results; None: they are numbered.
    coordinates: ClassVar[tuple[Part, ...] | None] = None
    speeds: ClassVar[tuple[Part, ...] | None] = None
    # Whether coordinates are an element of a group, composed and not added.
    composed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if type(self) is Joint:
            names = ", ".join(j.__name__ for j in ALL_JOINTS)
            raise ModelError(self.owner.fault(f"is abstract; use one of {names}"))

    @property
    def owner(self) -> Owner:
        """Return what its faults belong to."""
        return Owner("joint", self.name, more=f" ({self.parent} → {self.child})")

    def _repr_html_(self) -> str:
        return notebook.joint_html(self)

    def screws(self) -> Array:
        """Columns of S at q = 0, as rows: (speeds, 6)."""
        return np.zeros((0, 6))

    def group(self) -> Group | None:
        """The group of its coordinates; None if it has none."""
        n = len(self.screws())
        return R(n) if n else None


@dataclass(frozen=True, eq=False, kw_only=True)
class Fixed(Joint):
    """No freedom."""

    kind: ClassVar[int] = layout.FIXED
    coordinates: ClassVar[tuple[Part, ...] | None] = ()
    speeds: ClassVar[tuple[Part, ...] | None] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Revolute(Joint):
    """Rotation about `axis`."""

    axis: ArrayLike = field(default=(0.0, 0.0, 1.0), metadata=about("direction", "of rotation"))
    kind: ClassVar[int] = layout.REVOLUTE
    coordinates: ClassVar[tuple[Part, ...] | None] = (ANGLE,)
    speeds: ClassVar[tuple[Part, ...] | None] = (Part("speed", "angular velocity"),)

    def screws(self) -> Array:
        return np.concatenate([unit(self.owner.field("axis"), self.axis), np.zeros(3)])[np.newaxis]


@dataclass(frozen=True, eq=False, kw_only=True)
class Prismatic(Joint):
    """Translation along `axis`."""

    axis: ArrayLike = field(default=(0.0, 0.0, 1.0), metadata=about("direction", "of translation"))
    kind: ClassVar[int] = layout.PRISMATIC
    coordinates: ClassVar[tuple[Part, ...] | None] = (POSITION,)
    speeds: ClassVar[tuple[Part, ...] | None] = (Part("speed", "velocity"),)

    def screws(self) -> Array:
        return np.concatenate([np.zeros(3), unit(self.owner.field("axis"), self.axis)])[np.newaxis]


@dataclass(frozen=True, eq=False, kw_only=True)
class Helical(Joint):
    """Rotation about `axis` that advances `pitch` metres per radian."""

    axis: ArrayLike = field(default=(0.0, 0.0, 1.0), metadata=about("direction", "of the thread"))
    pitch: float = field(default=0.0, metadata=about("length", "how far it advances per radian"))
    coordinates: ClassVar[tuple[Part, ...] | None] = (ANGLE,)
    speeds: ClassVar[tuple[Part, ...] | None] = (Part("speed", "angular velocity"),)

    def screws(self) -> Array:
        axis = unit(self.owner.field("axis"), self.axis)
        field = self.owner.field("pitch")
        pitch = as_number(field, self.pitch)
        if not finite(pitch):
            raise ModelError(field.fault(self.pitch, "expected a finite number of metres per radian"))
        return np.concatenate([axis, pitch * axis])[np.newaxis]


@dataclass(frozen=True, eq=False, kw_only=True)
class Cylindrical(Joint):
    """Rotation about `axis`, then translation along it."""

    axis: ArrayLike = field(default=(0.0, 0.0, 1.0), metadata=about("direction", "of rotation and translation"))
    coordinates: ClassVar[tuple[Part, ...] | None] = (ANGLE, POSITION)
    speeds: ClassVar[tuple[Part, ...] | None] = (
        Part("angular_velocity", "angular velocity"),
        Part("velocity", "velocity"),
    )

    def screws(self) -> Array:
        axis, zero = unit(self.owner.field("axis"), self.axis), np.zeros(3)
        return np.array([[*axis, *zero], [*zero, *axis]])


@dataclass(frozen=True, eq=False, kw_only=True)
class Universal(Joint):
    """Rotation about the first axis, fixed to the parent, then about the second, fixed to the child."""

    axes: ArrayLike = field(
        default=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
        metadata=about("number", "the first on the parent, the second on the child", shape=(2, 3)),
    )
    coordinates: ClassVar[tuple[Part, ...] | None] = (counted("angle", "angle", 2),)
    speeds: ClassVar[tuple[Part, ...] | None] = (counted("speed", "angular velocity", 2),)

    def screws(self) -> Array:
        field = self.owner.field("axes")
        axes = as_array(field, self.axes, (2, 3))
        first, second = (
            unit(self.owner.field("axes", k, words=f"{order} axis"), axes[k])
            for k, order in enumerate(("first", "second"))
        )
        if length_of(np.cross(first, second)) < 1e-6:
            fault = field.fault(
                self.axes, "expected different directions", finding="are parallel", subject="its two axes"
            )
            raise ModelError(fault)
        return np.array([[*first, 0, 0, 0], [*second, 0, 0, 0]])


@dataclass(frozen=True, eq=False, kw_only=True)
class Spherical(Joint):
    """Any rotation; coordinates are a quaternion, speeds the body-fixed angular velocity."""

    kind: ClassVar[int] = layout.SPHERICAL
    coordinates: ClassVar[tuple[Part, ...] | None] = (ROTATION,)
    speeds: ClassVar[tuple[Part, ...] | None] = (TURN,)
    composed: ClassVar[bool] = True

    def screws(self) -> Array:
        return np.eye(6)[:3]

    def group(self) -> Group | None:
        return SO3Q


@dataclass(frozen=True, eq=False, kw_only=True)
class Planar(Joint):
    """Motion in the joint's x–y plane; coordinates (angle, x, y), speeds body-fixed."""

    kind: ClassVar[int] = layout.PLANAR
    coordinates: ClassVar[tuple[Part, ...] | None] = (ANGLE, Part("position", "position", XY))
    speeds: ClassVar[tuple[Part, ...] | None] = (
        Part("angular_velocity", "angular velocity"),
        Part("velocity", "velocity", XY),
    )
    composed: ClassVar[bool] = True

    def screws(self) -> Array:
        return np.eye(6)[[2, 3, 4]]

    def group(self) -> Group | None:
        return SE2


@dataclass(frozen=True, eq=False, kw_only=True)
class Free(Joint):
    """Any motion; coordinates are a quaternion and a position, speeds the body-fixed twist."""

    kind: ClassVar[int] = layout.FREE
    coordinates: ClassVar[tuple[Part, ...] | None] = (ROTATION, PLACE)
    speeds: ClassVar[tuple[Part, ...] | None] = (TURN, MOVE)
    composed: ClassVar[bool] = True

    def screws(self) -> Array:
        return np.eye(6)

    def group(self) -> Group | None:
        return SE3Q


@dataclass(frozen=True, eq=False, kw_only=True)
class Screws(Joint):
    """A subspace of one's own: one to six screws (w, v), applied one after another."""

    subspace: ArrayLike = field(
        default=((0.0, 0.0, 1.0, 0.0, 0.0, 0.0),),
        metadata=about("number", "one to six screws, rotation first", shape=(None, 6)),
    )

    def screws(self) -> Array:
        given, field = as_numbers(self.subspace), self.owner.field("subspace")
        if given is None:
            raise ModelError(field.fault(self.subspace, "expected one to six rows of six numbers"))
        if given.ndim != 2 or given.shape[1] != 6 or not 1 <= len(given) <= 6:
            found = f"has shape {given.shape}"
            raise ModelError(field.fault(self.subspace, "expected (n, 6) with n from 1 to 6", finding=found))
        given = as_array(field, given, given.shape)
        if np.linalg.matrix_rank(values_of(given)) < len(given):
            found, subject = "depend on each other", "the screws of its subspace"
            raise ModelError(field.fault(self.subspace, finding=found, subject=subject))
        return given


ALL_JOINTS = classes_of(__name__, Joint)
