"""Force elements and wheels that a person writes down.

A place is "body" (its frame), "body.name" (a frame or node on it), or a pair of a body and a position or pose in it;
the body may be "world".  An element with inputs adds them, under its name, to what drives the model.

Adding an element: a dataclass here and in ALL_FORCES, its kind in kernels/layout.py, its force in kernels/elements.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo.errors import ModelError
from liegeo.kernels import layout
from liegeo.lie import Group, R
from liegeo.model.body import Body
from liegeo.model.checks import Sealed, as_array, as_number, as_whole
from liegeo.model.joints import Joint, unit

Place = str | tuple[str, ArrayLike]

WORLD_AXES, BODY_AXES = "world", "body"


def _not_negative(who: str, value: float) -> None:
    number = as_number(who, value)
    if not np.isfinite(number) or number < 0.0:
        raise ModelError(f"{who} is {value!r}, must be ≥ 0.")


@dataclass(frozen=True, eq=False, kw_only=True)
class Force(Sealed):
    """What all force elements have."""

    name: str
    n_inputs: ClassVar[int] = 0

    @property
    def n_states(self) -> int:
        """Number of its first-order states."""
        return 0

    @property
    def who(self) -> str:
        return f"{type(self).__name__} '{self.name}'"

    def kind(self) -> int:
        """How the kernels know it."""
        raise ModelError(f"{self.who}: is abstract; use one of {', '.join(f.__name__ for f in ALL_FORCES)}.")

    def places(self) -> tuple[Place, ...]:
        """The frames that it acts on."""
        return ()

    def data(self) -> list[float]:
        """Its numbers, as the kernels read them."""
        return []


@dataclass(frozen=True, eq=False, kw_only=True)
class PointForce(Force):
    """A force and a torque on a frame, in the axes of the world or of the frame (`axes="body"`).

    Its input, six numbers (torque, force), is added to what is given here.
    """

    at: Place
    force: ArrayLike = (0.0, 0.0, 0.0)
    torque: ArrayLike = (0.0, 0.0, 0.0)
    axes: str = WORLD_AXES
    n_inputs: ClassVar[int] = 6

    def __post_init__(self) -> None:
        object.__setattr__(self, "force", as_array(f"{self.who}: force", self.force, (3,)))
        object.__setattr__(self, "torque", as_array(f"{self.who}: torque", self.torque, (3,)))
        if self.axes not in (WORLD_AXES, BODY_AXES):
            raise ModelError(f"{self.who}: axes is {self.axes!r}, expected '{WORLD_AXES}' or '{BODY_AXES}'.")

    def kind(self) -> int:
        return layout.LOAD_WORLD if self.axes == WORLD_AXES else layout.LOAD_BODY

    def places(self) -> tuple[Place, ...]:
        return (self.at,)

    def data(self) -> list[float]:
        return [*np.asarray(self.torque), *np.asarray(self.force)]


@dataclass(frozen=True, eq=False, kw_only=True)
class SpringDamper(Force):
    """A spring and a damper in parallel along the line from frame `a` to frame `b`, `length` long when it is free."""

    a: Place
    b: Place
    stiffness: float = 0.0
    damping: float = 0.0
    length: float = 0.0

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping", "length"):
            _not_negative(f"{self.who}: {name}", getattr(self, name))

    def kind(self) -> int:
        return layout.SPRING

    def places(self) -> tuple[Place, ...]:
        return (self.a, self.b)

    def data(self) -> list[float]:
        return [self.stiffness, self.damping, self.length]


@dataclass(frozen=True, eq=False, kw_only=True)
class Bushing(Force):
    """Springs and dampers between two frames in all six directions, at rest when the frames coincide.

    Stiffness and damping are six numbers, rotation first, along the axes of `a`; exact for large rotations below π.
    """

    a: Place
    b: Place
    stiffness: ArrayLike = (0.0,) * 6
    damping: ArrayLike = (0.0,) * 6

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping"):
            values = as_array(f"{self.who}: {name}", getattr(self, name), (6,))
            object.__setattr__(self, name, values)
            _not_negative(f"{self.who}: {name}", float(values.min()))

    def kind(self) -> int:
        return layout.BUSHING

    def places(self) -> tuple[Place, ...]:
        return (self.a, self.b)

    def data(self) -> list[float]:
        return [*np.asarray(self.stiffness), *np.asarray(self.damping)]


@dataclass(frozen=True, eq=False, kw_only=True)
class JointForce(Force):
    """What elements have that act on speed number `speed` of a joint."""

    joint: str
    speed: int = 0

    def __post_init__(self) -> None:
        if as_whole(self.speed) is None:
            raise ModelError(f"{self.who}: speed is {self.speed!r}, expected a whole number, 0 for the first.")


@dataclass(frozen=True, eq=False, kw_only=True)
class Actuator(JointForce):
    """A motor on speed number `speed` of a joint: its input, kept within ±`limit`, times `gear`.

    `inertia` is that of the rotor, before the gear: the joint's armature grows by gear² times it.  With a `lag`, a time
    constant T, the motor follows its input as T ẋ = input − x, and x takes the place of the input: a first-order state.
    """

    gear: float = 1.0
    limit: float = np.inf
    inertia: float = 0.0
    lag: float = 0.0
    n_inputs: ClassVar[int] = 1

    @property
    def n_states(self) -> int:
        return 1 if self.lag else 0

    def __post_init__(self) -> None:
        super().__post_init__()
        _not_negative(f"{self.who}: inertia", self.inertia)
        _not_negative(f"{self.who}: lag", self.lag)
        gear, limit = (as_number(f"{self.who}: {name}", getattr(self, name)) for name in ("gear", "limit"))
        if not np.isfinite(gear) or gear == 0.0:
            raise ModelError(f"{self.who}: gear is {self.gear!r}, expected a number that is not zero.")
        if not limit > 0.0:
            raise ModelError(f"{self.who}: limit is {self.limit!r}, must be > 0.")


@dataclass(frozen=True, eq=False, kw_only=True)
class BristleFriction(JointForce):
    """Friction with a memory on speed number `speed` of a joint: the LuGre model [CO95] (kernels/states.py).

    Bristles of the given `stiffness` and `damping` bend before they slide, so that the joint sticks: below the `static`
    force (or torque) it moves back elastically.  Beyond, the force falls to `coulomb` over speeds of about `stribeck`,
    and `viscous` times the speed is added.  The deflection of the bristles is a first-order state.
    """

    coulomb: float
    stiffness: float
    static: float | None = None
    stribeck: float = 0.01
    damping: float = 0.0
    viscous: float = 0.0

    @property
    def n_states(self) -> int:
        return 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("coulomb", "stiffness", "stribeck"):
            if not 0.0 < as_number(f"{self.who}: {name}", getattr(self, name)) < np.inf:
                raise ModelError(f"{self.who}: {name} is {getattr(self, name)!r}, must be > 0.")
        for name in ("damping", "viscous"):
            _not_negative(f"{self.who}: {name}", getattr(self, name))
        if self.static is not None and not self.coulomb <= as_number(f"{self.who}: static", self.static) < np.inf:
            raise ModelError(
                f"{self.who}: static is {self.static!r}, must be at least coulomb, which is {self.coulomb:g}."
            )

    def data(self) -> list[float]:
        static = self.coulomb if self.static is None else self.static
        return [self.stiffness, self.damping, self.viscous, self.coulomb, static, self.stribeck]


ALL_FORCES: tuple[type[Force], ...] = (PointForce, SpringDamper, Bushing, Actuator, BristleFriction)


@dataclass(frozen=True, eq=False, kw_only=True)
class WheelJoint(Joint):
    """What a Wheel becomes: a rotation that its body's symmetry hides."""

    axis: ArrayLike = (0.0, 0.0, 1.0)
    kind: ClassVar[int] = layout.WHEEL

    def screws(self) -> NDArray[np.float64]:
        return np.concatenate([unit(f"wheel '{self.name}': axis", self.axis), np.zeros(3)])[np.newaxis]

    def group(self) -> Group | None:
        return R(1)


class Rotor(Body):
    """The rotor of a Wheel: some of its transverse inertia may be counted with the body that carries it.

    So its moments need not be those of a distribution of mass, which only the sum with the carrier is.  The equations
    of motion hold all the same: a rotor that is balanced has, at every angle, the same energy
    ½ b |w|² + ½ (J − b)(a·w)² + J Ω a·w + ½ J Ω²; b (1 − aaᵀ) may stand here or in the inertia of the carrier.
    """

    def _check_inertia(self, who: str) -> None:
        """Wheel has checked its numbers."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Wheel(Sealed):
    """A balanced rotor embedded in a body [ST21, (53)]: a reaction wheel, a flywheel, a gyroscope.

    It sits `at` a position, pose, frame or node of its body, the axis in the axes there, and turns with a speed of its
    own relative to the body; the generalised force under its name is the torque of its motor.  `inertia` is about the
    axis, `transverse` across it (a thin disc's half of it, if not given); these and `mass` are added to the body's.
    Data sheets often give the inertia about the axis only, the rest being part of the body's: then `transverse` is 0.
    Turning moves nothing, as the rotor looks the same at every angle.  On a node that bends its momentum turns with the
    node.
    """

    name: str
    body: str
    inertia: float
    axis: ArrayLike = (0.0, 0.0, 1.0)
    at: str | ArrayLike | None = None
    mass: float = 0.0
    transverse: float | None = None
    damping: float = 0.0
    friction: float = 0.0

    def __post_init__(self) -> None:
        who = f"wheel '{self.name}'"
        inertia = as_number(f"{who}: inertia", self.inertia)
        if not np.isfinite(inertia) or inertia <= 0.0:
            raise ModelError(f"{who}: inertia is {self.inertia!r}, must be > 0.")
        _not_negative(f"{who}: mass", self.mass)
        if self.transverse is not None:
            _not_negative(f"{who}: transverse", self.transverse)

    def rotor(self) -> Body:
        """Return the rotor as a body of its own."""
        axis = unit(f"wheel '{self.name}': axis", self.axis)
        across = 0.5 * self.inertia if self.transverse is None else self.transverse
        inertia = across * np.eye(3) + (self.inertia - across) * np.outer(axis, axis)
        return Rotor(f"{self.name}/rotor", mass=self.mass, inertia=inertia)

    def joint(self) -> Joint:
        given: dict[str, Any] = {"damping": self.damping, "friction": self.friction}
        return WheelJoint(
            name=self.name, parent=self.body, child=f"{self.name}/rotor", at=self.at, axis=self.axis, **given
        )
