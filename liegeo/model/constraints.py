"""Constraints that a person writes down beside the joints of the tree, in `Tree(loops=[…])`.

A joint in that list is a cut joint: it closes a loop between two bodies of the tree, or a body and the world, and what
it leaves free stays free.  The others are below.  Places are as for force elements (forces.py).

Adding one: a dataclass here and in ALL_CONSTRAINTS, its kind in kernels/layout.py, its rows in kernels/constraints.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo.errors import ModelError
from liegeo.kernels import layout
from liegeo.model.checks import Sealed, as_array, as_number, as_whole
from liegeo.model.forces import Place
from liegeo.model.joints import unit

Array = NDArray[np.float64]

DISC, BALL = "disc", "ball"


@dataclass(frozen=True, eq=False, kw_only=True)
class Constraint(Sealed):
    """What all constraints have."""

    name: str

    @property
    def who(self) -> str:
        return f"{type(self).__name__} '{self.name}'"

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of its rows: what each keeps from moving."""
        raise ModelError(
            f"{self.who}: is abstract; use one of {', '.join(c.__name__ for c in ALL_CONSTRAINTS)}, or a joint."
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class FrameConstraint(Constraint):
    """Between frames `a` and `b`."""

    a: Place
    b: Place
    kind: ClassVar[int]

    def data(self) -> list[float]:
        """Its numbers, as the kernels read them."""
        return []


@dataclass(frozen=True, eq=False, kw_only=True)
class Distance(FrameConstraint):
    """The origins of `a` and `b` stay `length` apart: a massless rod with balls at its ends."""

    length: float
    kind: ClassVar[int] = layout.DISTANCE

    def __post_init__(self) -> None:
        length = as_number(f"{self.who}: length", self.length)
        if not np.isfinite(length) or length <= 0.0:
            raise ModelError(
                f"{self.who}: length is {self.length!r}, must be > 0.\n"
                "  Frames that coincide are held by a Spherical joint in `loops`."
            )

    @property
    def rows(self) -> tuple[str, ...]:
        return ("distance",)

    def data(self) -> list[float]:
        return [self.length]


@dataclass(frozen=True, eq=False, kw_only=True)
class PointOnLine(FrameConstraint):
    """The origin of `b` stays on the line through that of `a` along `axis`, in the axes of `a`."""

    axis: ArrayLike = (0.0, 0.0, 1.0)
    kind: ClassVar[int] = layout.POINT

    @property
    def rows(self) -> tuple[str, ...]:
        return ("across 1", "across 2")

    def data(self) -> list[float]:
        return [float(x) for t in _across(unit(f"{self.who}: axis", self.axis)) for x in t]


@dataclass(frozen=True, eq=False, kw_only=True)
class PointOnPlane(FrameConstraint):
    """The origin of `b` stays in the plane through that of `a` with this `normal`, in the axes of `a`."""

    normal: ArrayLike = (0.0, 0.0, 1.0)
    kind: ClassVar[int] = layout.POINT

    @property
    def rows(self) -> tuple[str, ...]:
        return ("normal",)

    def data(self) -> list[float]:
        return [float(x) for x in unit(f"{self.who}: normal", self.normal)]


@dataclass(frozen=True, eq=False, kw_only=True)
class Rolling(FrameConstraint):
    """A disc or ball about `b` rolls without slip on the plane of `a` with this `normal`.

    The disc turns about `axis`, in the axes of `b`, and touches with its sharp rim; lying flat it touches nowhere.  It
    stays in contact: look at the force along the normal to see whether it would lift off.
    """

    radius: float
    shape: str = DISC
    axis: ArrayLike = (0.0, 0.0, 1.0)
    normal: ArrayLike = (0.0, 0.0, 1.0)
    kind: ClassVar[int] = layout.ROLLING

    def __post_init__(self) -> None:
        radius = as_number(f"{self.who}: radius", self.radius)
        if not np.isfinite(radius) or radius <= 0.0:
            raise ModelError(f"{self.who}: radius is {self.radius!r}, must be > 0.")
        if self.shape not in (DISC, BALL):
            raise ModelError(f"{self.who}: shape is {self.shape!r}, expected '{DISC}' or '{BALL}'.")

    @property
    def rows(self) -> tuple[str, ...]:
        return ("normal", "slip 1", "slip 2")

    def data(self) -> list[float]:
        normal = unit(f"{self.who}: normal", self.normal)
        axis = unit(f"{self.who}: axis", self.axis)
        return [self.radius, float(self.shape == DISC), *axis, *normal, *np.ravel(_across(normal))]


@dataclass(frozen=True, eq=False, kw_only=True)
class Coupling(Constraint):
    """Σ factor · coordinate = offset, over coordinates of joints: "joint", or "joint.1" for another than the first."""

    terms: Mapping[str, float]
    offset: float = 0.0

    def __post_init__(self) -> None:
        if not np.isfinite(as_number(f"{self.who}: offset", self.offset)):
            raise ModelError(f"{self.who}: offset is {self.offset!r}, expected a finite number.")
        if not self.factors():
            raise ModelError(f"{self.who}: has no terms, expected joints with their factors.")
        for joint, factor in self.factors().items():
            number = as_number(f"{self.who}: the factor of '{joint}'", factor)
            if not np.isfinite(number) or number == 0.0:
                raise ModelError(f"{self.who}: the factor of '{joint}' is {factor!r}, expected one that is not zero.")

    def factors(self) -> Mapping[str, float]:
        return self.terms

    @property
    def rows(self) -> tuple[str, ...]:
        return ("coupling",)


@dataclass(frozen=True, eq=False, kw_only=True)
class Gear(Coupling):
    """Joint `b` turns `ratio` times as fast as joint `a` (negative: the other way round), `offset` ahead of it."""

    a: str
    b: str
    ratio: float
    terms: Mapping[str, float] = field(default_factory=dict, init=False, repr=False)

    def factors(self) -> Mapping[str, float]:
        return {self.b: 1.0, self.a: -as_number(f"{self.who}: ratio", self.ratio)}


@dataclass(frozen=True, eq=False, kw_only=True)
class Rack(Coupling):
    """The sliding joint `rack` moves `radius` metres a radian of the turning joint `pinion`."""

    pinion: str
    rack: str
    radius: float
    terms: Mapping[str, float] = field(default_factory=dict, init=False, repr=False)

    def factors(self) -> Mapping[str, float]:
        return {self.rack: 1.0, self.pinion: -as_number(f"{self.who}: radius", self.radius)}


@dataclass(frozen=True, eq=False, kw_only=True)
class Motion(Constraint):
    """Coordinates of a joint follow a law in time; what that takes is an output.

    All of them, or only number `coordinate`.  Its inputs are value, rate and acceleration, as they stand in q and v;
    `law` is what drives it unless `simulate` is given other inputs under its name: anything that has two derivatives
    (liegeo/motion.py), or a function of time that returns all three.
    """

    joint: str
    law: Any = None
    coordinate: int | None = None

    def __post_init__(self) -> None:
        if self.coordinate is not None and as_whole(self.coordinate) is None:
            raise ModelError(
                f"{self.who}: coordinate is {self.coordinate!r}, expected a whole number, 0 for the first, or None."
            )

    @property
    def rows(self) -> tuple[str, ...]:
        return ("motion",)


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
            raise ModelError(f"{self.who}: n is {self.n!r}, expected a whole number ≥ 1.")
        if not callable(self.function):
            raise ModelError(f"{self.who}: function is {self.function!r}, expected a function of (model, state).")

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
    Custom,
)


def _across(axis: Array) -> tuple[Array, Array]:
    """Two directions that make a right-handed system with a unit vector."""
    start = np.eye(3)[int(np.argmin(np.abs(axis)))]
    first = as_array("across", np.cross(axis, start), (3,))
    first = first / np.linalg.norm(first)
    return first, np.cross(axis, first)
