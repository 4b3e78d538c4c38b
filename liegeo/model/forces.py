"""Force elements and wheels that a person writes down.

A place is "body" (its frame), "body.name" (a frame or node on it), or a pair of a body and a position or pose in it;
the body may be "world".  An element with inputs adds them, under its name, to what drives the model.

Adding an element: docs/extending.md.  Model files, their schema and results know it from what the class says about its
fields, inputs, states and what it exerts (about.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo.errors import Field, ModelError, Owner
from liegeo.kernels import layout
from liegeo.lie import Group, R
from liegeo.model.about import OF_JOINT, POSITION_OF_JOINT, XYZ, Part, about, classes_of
from liegeo.model.body import Body
from liegeo.model.checks import Sealed, as_array, as_bounded, as_number, as_whole, is_zero, noted
from liegeo.model.joints import Joint, Revolute, unit
from liegeo.recorded import finite

Place = str | tuple[str, ArrayLike]

WORLD_AXES, BODY_AXES = "world", "body"


def place_fields(part: Any) -> tuple[str, ...]:
    """Return the names of the fields of a force element or constraint that are places."""
    return tuple(each.name for each in fields(part) if each.type == "Place")


@dataclass(frozen=True, eq=False, kw_only=True)
class Force(Sealed):
    """What all force elements have."""

    name: str
    n_inputs: ClassVar[int] = 0
    # Columns of its inputs in results; None: they are numbered.
    inputs: ClassVar[tuple[Part, ...] | None] = None
    # Columns of its first-order states.
    states: ClassVar[tuple[Part, ...]] = ()
    # Columns of what it exerts: the numbers that its law shows (kernels/elements.py, kernels/joint_elements.py).
    exerts: ClassVar[tuple[Part, ...]] = ()
    # How the 3-D page draws it between its frames `a` and `b`: "spring", "rod", or not at all.
    line: ClassVar[str] = ""

    @property
    def n_states(self) -> int:
        """Number of its first-order states."""
        return sum(len(part.components) for part in self.states)

    @property
    def state_size(self) -> float:
        """Return what is a usual size of its first-order states, by which errors are measured."""
        return 1.0

    @property
    def owner(self) -> Owner:
        """Return what its faults belong to."""
        return Owner("force", self.name, type(self).__name__)

    def kind(self) -> int:
        """How the kernels know it."""
        names = ", ".join(f.__name__ for f in ALL_FORCES)
        raise ModelError(self.owner.fault(f"is abstract; use one of {names}"))

    def places(self) -> tuple[Place, ...]:
        """Return the frames that it acts on."""
        return tuple(getattr(self, name) for name in place_fields(self))

    def data(self) -> list[float]:
        """Its numbers, as the kernels read them."""
        return []


@dataclass(frozen=True, eq=False, kw_only=True)
class PointForce(Force):
    """A force and a torque on a frame, in the axes of the world or of the frame (`axes="body"`).

    Its input, six numbers (torque, force), is added to what is given here.
    """

    at: Place = field(metadata=about("place", "the frame that it acts on"))
    force: ArrayLike = field(
        default=(0.0, 0.0, 0.0), metadata=about("force", "constant; its input is added", shape=(3,))
    )
    torque: ArrayLike = field(
        default=(0.0, 0.0, 0.0), metadata=about("torque", "constant; its input is added", shape=(3,))
    )
    axes: str = field(
        default=WORLD_AXES, metadata=about("choice", "in whose axes they are", choices=(WORLD_AXES, BODY_AXES))
    )
    n_inputs: ClassVar[int] = 6
    inputs: ClassVar[tuple[Part, ...] | None] = (
        Part("input.torque", "moment", XYZ),
        Part("input.force", "force", XYZ),
    )
    # Constant and input together, in `axes`.
    exerts: ClassVar[tuple[Part, ...]] = (Part("torque", "moment", XYZ), Part("force", "force", XYZ))

    def __post_init__(self) -> None:
        for name in ("force", "torque"):
            object.__setattr__(self, name, as_array(self.owner.field(name), getattr(self, name), (3,)))
        if self.axes not in (WORLD_AXES, BODY_AXES):
            raise ModelError(self.owner.field("axes").fault(self.axes, f"expected '{WORLD_AXES}' or '{BODY_AXES}'"))

    def kind(self) -> int:
        return layout.LOAD_WORLD if self.axes == WORLD_AXES else layout.LOAD_BODY

    def data(self) -> list[float]:
        return [*np.asarray(self.torque), *np.asarray(self.force)]


@dataclass(frozen=True, eq=False, kw_only=True)
class SpringDamper(Force):
    """A spring and a damper in parallel along the line from frame `a` to frame `b`, `length` long when it is free."""

    a: Place = field(metadata=about("place", "one end"))
    b: Place = field(metadata=about("place", "the other end"))
    stiffness: float = field(default=0.0, metadata=about("stiffness", "of the spring"))
    damping: float = field(default=0.0, metadata=about("damping", "of the damper"))
    length: float = field(default=0.0, metadata=about("length", "when it is free"))
    exerts: ClassVar[tuple[Part, ...]] = (Part("tension", "force"), Part("length", "length"), Part("rate", "velocity"))
    line: ClassVar[str] = "spring"

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping", "length"):
            as_bounded(self.owner.field(name), getattr(self, name))

    def kind(self) -> int:
        return layout.SPRING

    def data(self) -> list[float]:
        return [self.stiffness, self.damping, self.length]


@dataclass(frozen=True, eq=False, kw_only=True)
class Bushing(Force):
    """Springs and dampers between two frames in all six directions, at rest when the frames coincide.

    Stiffness and damping are six numbers, rotation first, along the axes of `a`; exact for large rotations below π.
    """

    a: Place = field(metadata=about("place", "the frame whose axes are used"))
    b: Place = field(metadata=about("place", "the other frame"))
    stiffness: ArrayLike = field(
        default=(0.0,) * 6,
        metadata=about(
            "turning_stiffness and stiffness", "three against turning, three against displacement", shape=(6,)
        ),
    )
    damping: ArrayLike = field(
        default=(0.0,) * 6, metadata=about("turning_damping and damping", "the same six for rates", shape=(6,))
    )
    # On `b`, at its origin and in the axes of `a`.
    exerts: ClassVar[tuple[Part, ...]] = (Part("moment", "moment", XYZ), Part("force", "force", XYZ))

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping"):
            values = as_array(self.owner.field(name), getattr(self, name), (6,))
            object.__setattr__(self, name, values)
            for k, value in enumerate(values):
                as_bounded(self.owner.field(name, k), value)

    def kind(self) -> int:
        return layout.BUSHING

    def data(self) -> list[float]:
        return [*np.asarray(self.stiffness), *np.asarray(self.damping)]


@dataclass(frozen=True, eq=False, kw_only=True)
class JointForce(Force):
    """What elements have that act on speed number `speed` of a joint."""

    joint: str = field(metadata=about("name", "the joint that it acts on"))
    speed: int = field(default=0, metadata=about("whole", "which of its speeds, from 0"))
    # Whether it depends on the coordinate too, which must then be one that the speed is the rate of.
    sees_position: ClassVar[bool] = False

    def terms(self) -> tuple[tuple[str, int, float], ...]:
        """Return the motion that it sees: joints, numbers of their speeds, and factors."""
        return ((self.joint, self.speed, 1.0),)

    def joint_field(self, joint: str) -> Field:
        """Return the field that names one of its joints."""
        return self.owner.field("joint")

    @property
    def has_row(self) -> bool:
        """Whether it has a law in kernels/joint_elements.py."""
        return True

    @property
    def n_pieces(self) -> int:
        """How many pieces the table among its data has."""
        return 0

    @property
    def holds(self) -> bool:
        """Whether it is dry friction with the exact law: what its joint holds at rest is a multiplier."""
        return False

    @property
    def has_multiplier(self) -> bool:
        """Whether its force is found with the accelerations (kernels/dry_friction.py)."""
        return self.holds

    @property
    def armature(self) -> float:
        """What it adds to the inertia of its speed."""
        return 0.0

    def __post_init__(self) -> None:
        if as_whole(self.speed) is None:
            raise ModelError(self.owner.field("speed").fault(self.speed, "expected a whole number, 0 for the first"))


@dataclass(frozen=True, eq=False, kw_only=True)
class Actuator(JointForce):
    """A motor on speed number `speed` of a joint: its input, kept within ±`limit`, times `gear`.

    `inertia` is that of the rotor, before the gear: the joint's armature grows by gear² times it.  With a `lag`, a time
    constant T, the motor follows its input as T ẋ = input − x, and x takes the place of the input: a first-order state.
    """

    gear: float = field(default=1.0, metadata=about("number or length", "what its input is multiplied by"))
    limit: float = field(default=np.inf, metadata=about("torque or force", "of its input, both ways"))
    inertia: float = field(default=0.0, metadata=about("inertia or mass", "of its rotor, before the gear"))
    lag: float = field(
        default=0.0, metadata=about("time", "the time constant with which it follows its input; 0: at once")
    )
    n_inputs: ClassVar[int] = 1
    inputs: ClassVar[tuple[Part, ...] | None] = (Part("input", OF_JOINT),)
    # What it gives in the place of its input, if it has a lag.
    states: ClassVar[tuple[Part, ...]] = (Part("output", OF_JOINT),)
    # Behind limit and gear.
    exerts: ClassVar[tuple[Part, ...]] = (Part("torque", OF_JOINT), Part("power", "power"))

    @property
    def n_states(self) -> int:
        return int(self.lag > 0.0)

    @property
    def has_row(self) -> bool:
        return self.n_states > 0

    @property
    def armature(self) -> float:
        return self.gear**2 * self.inertia

    @property
    def state_size(self) -> float:
        return self.limit if finite(self.limit) else 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        own = self.owner.field
        as_bounded(own("inertia"), self.inertia)
        as_bounded(own("lag"), self.lag)
        gear, limit = (as_number(own(name), getattr(self, name)) for name in ("gear", "limit"))
        not_zero = "expected a number that is not zero"
        if not finite(gear) or is_zero(own("gear"), gear, not_zero):
            raise ModelError(own("gear").fault(self.gear, not_zero))
        positive = limit > 0.0
        noted(own("limit"), limit, "must be > 0")
        if not positive:
            raise ModelError(own("limit").fault(self.limit, "must be > 0"))

    def kind(self) -> int:
        """How the kernels know its lag."""
        return layout.LAG

    def data(self) -> list[float]:
        return [self.lag]


@dataclass(frozen=True, eq=False, kw_only=True)
class BristleFriction(JointForce):
    """Friction with a memory on speed number `speed` of a joint: the LuGre model [CO95] (kernels/joint_elements.py).

    Bristles of the given `stiffness` and `damping` bend before they slide, so that the joint sticks: below the `static`
    force (or torque) it moves back elastically.  Beyond, the force falls to `coulomb` over speeds of about `stribeck`,
    and `viscous` times the speed is added.  The deflection of the bristles is a first-order state.
    """

    coulomb: float = field(metadata=about("torque or force", "the friction when it slides"))
    stiffness: float = field(
        metadata=about("turning_stiffness or stiffness", "of the bristles, which bend before they slide")
    )
    static: float | None = field(
        default=None, metadata=about("torque or force", "the friction at which it breaks away; coulomb if not given")
    )
    stribeck: float = field(
        default=0.01, metadata=about("angular_speed or speed", "the speed over which static falls to coulomb")
    )
    damping: float = field(default=0.0, metadata=about("turning_damping or damping", "of the bristles"))
    viscous: float = field(
        default=0.0, metadata=about("turning_damping or damping", "the friction per speed, added to the rest")
    )
    # How far the bristles are bent.
    states: ClassVar[tuple[Part, ...]] = (Part("bristle", POSITION_OF_JOINT),)
    # What it opposes to the motion: positive against a positive speed.
    exerts: ClassVar[tuple[Part, ...]] = (Part("friction", OF_JOINT),)

    @property
    def state_size(self) -> float:
        return self.coulomb / self.stiffness

    def __post_init__(self) -> None:
        super().__post_init__()
        own = self.owner.field
        for name in ("coulomb", "stiffness", "stribeck"):
            as_bounded(own(name), getattr(self, name), strictly=True)
        for name in ("damping", "viscous"):
            as_bounded(own(name), getattr(self, name))
        expected = f"must be at least coulomb, which is {self.coulomb:g}"
        below = self.static is not None and as_bounded(own("static"), self.static) < self.coulomb
        noted(own("static"), self.static, expected)
        if below:
            raise ModelError(own("static").fault(self.static, expected))

    def kind(self) -> int:
        return layout.LUGRE

    def data(self) -> list[float]:
        static = self.coulomb if self.static is None else self.static
        return [self.stiffness, self.damping, self.viscous, self.coulomb, static, self.stribeck]


ALL_FORCES = classes_of(__name__, Force, without=(JointForce,))


@dataclass(frozen=True, eq=False, kw_only=True)
class WheelJoint(Joint):
    """What a Wheel becomes: a rotation that its body's symmetry hides."""

    axis: ArrayLike = field(default=(0.0, 0.0, 1.0), metadata=about("direction", "of rotation"))
    kind: ClassVar[int] = layout.WHEEL
    coordinates: ClassVar[tuple[Part, ...] | None] = Revolute.coordinates
    speeds: ClassVar[tuple[Part, ...] | None] = Revolute.speeds

    @property
    def owner(self) -> Owner:
        return Owner("wheel", self.name)

    def screws(self) -> NDArray[np.float64]:
        return np.concatenate([unit(self.owner.field("axis"), self.axis), np.zeros(3)])[np.newaxis]

    def group(self) -> Group | None:
        return R(1)


class Rotor(Body):
    """The rotor of a Wheel: some of its transverse inertia may be counted with the body that carries it.

    So its moments need not be those of a distribution of mass, which only the sum with the carrier is.  The equations
    of motion hold all the same: a rotor that is balanced has, at every angle, the same energy
    ½ b |w|² + ½ (J − b)(a·w)² + J Ω a·w + ½ J Ω²; b (1 − aaᵀ) may stand here or in the inertia of the carrier.
    """

    def _check_inertia(self) -> None:
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
    body: str = field(metadata=about("name", "the body that it is built into"))
    inertia: float = field(metadata=about("inertia", "about its axis"))
    axis: ArrayLike = field(default=(0.0, 0.0, 1.0), metadata=about("direction", "in the axes where it sits"))
    at: str | ArrayLike | None = field(
        default=None, metadata=about("where", "a frame or node of the body, a position, or a pose")
    )
    mass: float = field(default=0.0, metadata=about("mass", "added to the body's"))
    transverse: float | None = field(
        default=None, metadata=about("inertia", "across its axis; half of inertia if not given; may be 0")
    )
    damping: float = field(default=0.0, metadata=about("turning_damping", "of its bearing"))
    friction: float = field(default=0.0, metadata=about("torque", "of its bearing, Coulomb's"))

    def __post_init__(self) -> None:
        as_bounded(self.owner.field("inertia"), self.inertia, strictly=True)
        as_bounded(self.owner.field("mass"), self.mass)
        if self.transverse is not None:
            as_bounded(self.owner.field("transverse"), self.transverse)

    @property
    def owner(self) -> Owner:
        """Return what its faults belong to."""
        return Owner("wheel", self.name)

    def rotor(self) -> Body:
        """Return the rotor as a body of its own."""
        axis = unit(self.owner.field("axis"), self.axis)
        across = 0.5 * self.inertia if self.transverse is None else self.transverse
        inertia = across * np.eye(3) + (self.inertia - across) * np.outer(axis, axis)
        return Rotor(f"{self.name}/rotor", mass=self.mass, inertia=inertia)

    def joint(self) -> Joint:
        given: dict[str, Any] = {"damping": self.damping, "friction": self.friction}
        return WheelJoint(
            name=self.name, parent=self.body, child=f"{self.name}/rotor", at=self.at, axis=self.axis, **given
        )
