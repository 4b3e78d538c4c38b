"""Constraints that a person writes down beside the joints of the tree, in `Tree(loops=[…])`.

A joint in that list is a cut joint: it closes a loop between two bodies of the tree, or a body and the world, and what
it leaves free stays free.  The others are below.  Places are as for force elements (forces.py).

Adding one: a dataclass here and in ALL_CONSTRAINTS, its kind in kernels/layout.py, its rows in kernels/constraints.py.
Model files and their schema know it from what the class says about its fields (about.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo.errors import Fault, Field, ModelError, Owner
from liegeo.kernels import layout
from liegeo.model.about import about
from liegeo.model.checks import Sealed, as_bounded, as_number, as_whole, is_zero, noted
from liegeo.model.forces import Place
from liegeo.model.joints import unit
from liegeo.recorded import finite, length_of, values_of

Array = NDArray[np.float64]

DISC, BALL = "disc", "ball"


@dataclass(frozen=True, eq=False, kw_only=True)
class Constraint(Sealed):
    """What all constraints have."""

    name: str

    @property
    def owner(self) -> Owner:
        """Return what its faults belong to."""
        return Owner("constraint", self.name, type(self).__name__)

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of its rows: what each keeps from moving."""
        names = ", ".join(c.__name__ for c in ALL_CONSTRAINTS)
        raise ModelError(self.owner.fault(f"is abstract; use one of {names}, or a joint"))


@dataclass(frozen=True, eq=False, kw_only=True)
class FrameConstraint(Constraint):
    """Between frames `a` and `b`."""

    a: Place = field(metadata=about("place", "the first frame: body, body.frame, or a mapping with body and at"))
    b: Place = field(metadata=about("place", "the second frame"))
    kind: ClassVar[int]

    def data(self) -> list[float]:
        """Its numbers, as the kernels read them."""
        return []


@dataclass(frozen=True, eq=False, kw_only=True)
class Distance(FrameConstraint):
    """The origins of `a` and `b` stay `length` apart: a massless rod with balls at its ends."""

    length: float = field(metadata=about("length", "how far the frames stay apart"))
    kind: ClassVar[int] = layout.DISTANCE

    def __post_init__(self) -> None:
        own = self.owner.field("length")
        length = as_number(own, self.length)
        short = length <= 0.0
        noted(own, length, "must be > 0")
        if not finite(length) or short:
            advice = "Frames that coincide are held by a Spherical joint in `loops`."
            raise ModelError(own.fault(self.length, "must be > 0", advice))

    @property
    def rows(self) -> tuple[str, ...]:
        return ("distance",)

    def data(self) -> list[float]:
        return [self.length]


@dataclass(frozen=True, eq=False, kw_only=True)
class PointOnLine(FrameConstraint):
    """The origin of `b` stays on the line through that of `a` along `axis`, in the axes of `a`."""

    axis: ArrayLike = field(default=(0.0, 0.0, 1.0), metadata=about("direction", "of the line, in the axes of a"))
    kind: ClassVar[int] = layout.POINT

    @property
    def rows(self) -> tuple[str, ...]:
        return ("across 1", "across 2")

    def data(self) -> list[float]:
        return [x for t in _across(unit(self.owner.field("axis"), self.axis)) for x in t]


@dataclass(frozen=True, eq=False, kw_only=True)
class PointOnPlane(FrameConstraint):
    """The origin of `b` stays in the plane through that of `a` with this `normal`, in the axes of `a`."""

    normal: ArrayLike = field(default=(0.0, 0.0, 1.0), metadata=about("direction", "of the plane, in the axes of a"))
    kind: ClassVar[int] = layout.POINT

    @property
    def rows(self) -> tuple[str, ...]:
        return ("normal",)

    def data(self) -> list[float]:
        return [*unit(self.owner.field("normal"), self.normal)]


@dataclass(frozen=True, eq=False, kw_only=True)
class Rolling(FrameConstraint):
    """A disc or ball about `b` rolls without slip on the plane of `a` with this `normal`.

    The disc turns about `axis`, in the axes of `b`, and touches with its sharp rim; lying flat it touches nowhere.  It
    stays in contact: look at the force along the normal to see whether it would lift off.
    """

    radius: float = field(metadata=about("length", "of the disc or ball"))
    shape: str = field(default=DISC, metadata=about("choice", "what rolls", choices=(DISC, BALL)))
    axis: ArrayLike = field(default=(0.0, 0.0, 1.0), metadata=about("direction", "of the disc, in the axes of b"))
    normal: ArrayLike = field(default=(0.0, 0.0, 1.0), metadata=about("direction", "of the plane, in the axes of a"))
    kind: ClassVar[int] = layout.ROLLING

    def __post_init__(self) -> None:
        as_bounded(self.owner.field("radius"), self.radius, strictly=True)
        if self.shape not in (DISC, BALL):
            raise ModelError(self.owner.field("shape").fault(self.shape, f"expected '{DISC}' or '{BALL}'"))

    @property
    def rows(self) -> tuple[str, ...]:
        return ("normal", "slip 1", "slip 2")

    def data(self) -> list[float]:
        normal = unit(self.owner.field("normal"), self.normal)
        axis = unit(self.owner.field("axis"), self.axis)
        return [self.radius, float(self.shape == DISC), *axis, *normal, *np.ravel(_across(normal))]


@dataclass(frozen=True, eq=False, kw_only=True)
class Coupling(Constraint):
    """Σ factor · coordinate = offset, over coordinates of joints: "joint", or "joint.1" for another than the first."""

    terms: Mapping[str, float] = field(
        metadata=about("numbers by name", "factors by joint, or joint.1 for another coordinate than the first")
    )
    offset: float = field(default=0.0, metadata=about("any", "what the sum of factors times coordinates stays at"))

    def __post_init__(self) -> None:
        offset = self.owner.field("offset")
        if not finite(as_number(offset, self.offset)):
            raise ModelError(offset.fault(self.offset, "expected a finite number"))
        if not self.factors():
            expected = "expected joints with their factors"
            raise ModelError(Fault(self.owner, ("terms",), self.terms, "has no terms", expected))
        for joint, factor in self.factors().items():
            part = self.factor_field(joint)
            number = as_number(part, factor)
            expected = "expected a number that is not zero"
            if not finite(number) or is_zero(part, number, expected):
                given = factor if part.path[0] == "terms" else getattr(self, str(part.path[0]))
                raise ModelError(part.fault(given, expected))

    def factors(self) -> Mapping[str, float]:
        """Return the factors of the coordinates, by the names of these."""
        return self.terms

    def joint_field(self, name: str) -> Field:
        """Return the field that names this coordinate."""
        return self.owner.field("terms", name, words="terms")

    def factor_field(self, name: str) -> Field:
        """Return the field that has the factor of this coordinate."""
        return self.owner.field("terms", name, words=f"the factor of '{name}'")

    @property
    def rows(self) -> tuple[str, ...]:
        return ("coupling",)


@dataclass(frozen=True, eq=False, kw_only=True)
class Gear(Coupling):
    """Joint `b` turns `ratio` times as fast as joint `a` (negative: the other way round), `offset` ahead of it."""

    a: str = field(metadata=about("name", "the joint that drives"))
    b: str = field(metadata=about("name", "the joint that is driven"))
    ratio: float = field(metadata=about("number", "how many times as fast b turns as a; negative: the other way round"))
    terms: Mapping[str, float] = field(default_factory=dict, init=False, repr=False)

    def factors(self) -> Mapping[str, float]:
        return {self.b: 1.0, self.a: -as_number(self.owner.field("ratio"), self.ratio)}

    def joint_field(self, name: str) -> Field:
        return self.owner.field("a" if name == self.a else "b")

    def factor_field(self, name: str) -> Field:
        return self.owner.field("ratio")


@dataclass(frozen=True, eq=False, kw_only=True)
class Rack(Coupling):
    """The sliding joint `rack` moves `radius` metres per radian of the turning joint `pinion`."""

    pinion: str = field(metadata=about("name", "the joint that turns"))
    rack: str = field(metadata=about("name", "the joint that slides"))
    radius: float = field(metadata=about("length", "of the pinion"))
    terms: Mapping[str, float] = field(default_factory=dict, init=False, repr=False)

    def factors(self) -> Mapping[str, float]:
        return {self.rack: 1.0, self.pinion: -as_number(self.owner.field("radius"), self.radius)}

    def joint_field(self, name: str) -> Field:
        return self.owner.field("pinion" if name == self.pinion else "rack")

    def factor_field(self, name: str) -> Field:
        return self.owner.field("radius")


@dataclass(frozen=True, eq=False, kw_only=True)
class Motion(Constraint):
    """Coordinates of a joint follow a law in time; what that takes is an output.

    All of them, or only number `coordinate`.  Its inputs are value, rate and acceleration, as they stand in q and v;
    `law` is what drives it unless `simulate` is given other inputs under its name: anything that has two derivatives
    (liegeo/motion.py), or a function of time that returns all three.
    """

    joint: str = field(metadata=about("name", "the joint that is moved"))
    law: Any = field(default=None, metadata=about("signal", "its position in time"))
    coordinate: int | None = field(default=None, metadata=about("whole", "only this coordinate, from 0"))

    def __post_init__(self) -> None:
        if self.coordinate is not None and as_whole(self.coordinate) is None:
            expected = "expected a whole number, 0 for the first, or None"
            raise ModelError(self.owner.field("coordinate").fault(self.coordinate, expected))

    @property
    def rows(self) -> tuple[str, ...]:
        return ("motion",)


@dataclass(frozen=True, eq=False, kw_only=True)
class Lock(Constraint):
    """A brake: while it is on, a joint stays where it is.

    Speeds jump when it engages, so that J v = 0 and only the brake's impulse has acted (docs/events.md).  Triggers
    switch it, or, if it is `commanded`, an input of its name, which is on from one half upwards.
    """

    joint: str = field(metadata=about("name", "the joint that is held"))
    speed: int | None = field(default=None, metadata=about("whole", "only this speed, from 0"))
    engaged: bool = field(default=False, metadata=about("yes or no", "whether it is on at the start"))
    commanded: bool = field(default=False, metadata=about("yes or no", "whether an input of its name switches it"))

    def __post_init__(self) -> None:
        if self.speed is not None and as_whole(self.speed) is None:
            expected = "expected a whole number, 0 for the first, or None"
            raise ModelError(self.owner.field("speed").fault(self.speed, expected))
        _check_switch(self)

    @property
    def rows(self) -> tuple[str, ...]:
        return ("lock",)


@dataclass(frozen=True, eq=False, kw_only=True)
class RigidStop(Constraint):
    """Limits of a coordinate that do not yield: J v⁺ = −e J v where it meets one, with restitution e (docs/events.md).

    An impact at less than `rest_speed` ends in rest: the coordinate stays at its limit until something pulls it away.
    """

    joint: str = field(metadata=about("name", "the joint that is limited"))
    speed: int = field(default=0, metadata=about("whole", "which of its speeds, from 0"))
    lower: float = field(default=-np.inf, metadata=about("angle or length", "its lower limit; none if not given"))
    upper: float = field(default=np.inf, metadata=about("angle or length", "its upper limit; none if not given"))
    restitution: float = field(default=0.0, metadata=about("number", "the share of its speed that is left, 0 to 1"))
    rest_speed: float = field(default=1e-4, metadata=about("angular_speed or speed", "of an impact that ends in rest"))

    def __post_init__(self) -> None:
        own = self.owner.field
        if isinstance(self.speed, bool) or as_whole(self.speed) is None:
            raise ModelError(own("speed").fault(self.speed, "expected a whole number, 0 for the first"))
        lower, upper = as_number(own("lower"), self.lower), as_number(own("upper"), self.upper)
        if not lower < upper:
            raise ModelError(own("upper").fault(self.upper, f"must be above lower, which is {self.lower!r}"))
        if not (finite(lower) or finite(upper)):
            raise ModelError(self.owner.fault("has no limit", "expected lower, upper, or both"))
        e = as_number(own("restitution"), self.restitution)
        if not 0.0 <= e <= 1.0:
            raise ModelError(own("restitution").fault(self.restitution, "expected a number from 0 to 1"))
        as_bounded(own("rest_speed"), self.rest_speed, strictly=True)

    @property
    def rows(self) -> tuple[str, ...]:
        return ("stop",)


@dataclass(frozen=True, eq=False, kw_only=True)
class Weld(FrameConstraint):
    """A gripper: while it is on, frame `b` stays at the pose in `a` that it had when it engaged.

    Momentum is kept when it engages, and it is switched, as that of a Lock.
    """

    engaged: bool = field(default=False, metadata=about("yes or no", "whether it is on at the start"))
    commanded: bool = field(default=False, metadata=about("yes or no", "whether an input of its name switches it"))
    kind: ClassVar[int] = layout.WELD

    def __post_init__(self) -> None:
        _check_switch(self)

    @property
    def rows(self) -> tuple[str, ...]:
        return tuple(f"{what} {axis}" for what in ("rotation", "translation") for axis in "xyz")


#: Constraints that are switched, and what their switches are called in inputs and results.
SWITCHED, MODE = (Lock, RigidStop, Weld), "mode"


@dataclass(frozen=True, eq=False, kw_only=True)
class Custom(Constraint):
    """A constraint of one's own: `function(model, state)` returns `n` residuals, zero where it holds.

    It is a function of the configuration alone, called with complex states for its derivatives, so written with NumPy
    and liegeo.dynamics, without abs, real or norm.
    """

    function: Callable[..., Any]
    n: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.n, bool) or not isinstance(self.n, int) or self.n < 1:
            raise ModelError(self.owner.field("n").fault(self.n, "expected a whole number ≥ 1"))
        if not callable(self.function):
            raise ModelError(self.owner.field("function").fault(self.function, "expected a function of (model, state)"))

    @property
    def rows(self) -> tuple[str, ...]:
        return tuple(f"residual {k}" for k in range(self.n))


ALL_CONSTRAINTS: tuple[type[Constraint], ...] = (
    Distance,
    PointOnLine,
    PointOnPlane,
    Rolling,
    Coupling,
    Gear,
    Rack,
    Motion,
    Lock,
    RigidStop,
    Weld,
    Custom,
)


def _check_switch(part: Lock | Weld) -> None:
    for key in ("engaged", "commanded"):
        if not isinstance(getattr(part, key), bool):
            raise ModelError(part.owner.field(key).fault(getattr(part, key), "expected True or False"))


def _across(axis: Array) -> tuple[Array, Array]:
    """Two directions that make a right-handed system with a unit vector."""
    start = np.eye(3)[int(np.argmin(np.abs(values_of(axis))))]
    first = np.cross(axis, start)
    first = first / length_of(first)
    return first, np.cross(axis, first)
