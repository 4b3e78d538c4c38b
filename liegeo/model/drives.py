"""Elements on coordinates of joints that make a machine of a mechanism: stops, gears, motors, cylinders, belts, curves.

Their equations stand in kernels/joint_elements.py, their states and columns here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from liegeo.errors import Field, ModelError
from liegeo.kernels import layout
from liegeo.model.about import OF_JOINT, POSITION_OF_JOINT, Part, about, classes_of
from liegeo.model.ball_stops import ALL_BALL_STOPS
from liegeo.model.checks import as_array, as_bounded, as_number, as_numbers, is_zero, noted
from liegeo.model.forces import ALL_FORCES as OTHERS
from liegeo.model.forces import Force, JointForce
from liegeo.model.laws_of_joints import ALL_LAWS
from liegeo.model.ropes import ALL_ROPES
from liegeo.recorded import finite, floats

#: Deflections and speeds over which losses set in, as shares of what is given or usual.
_ONSET, _SLOW = 0.1, 1e-3


def _not_zero(own: Field, value: Any) -> float:
    """Return a finite number that is not zero, or raise a ModelError."""
    number, expected = as_number(own, value), "expected a number that is not zero"
    if not finite(number) or is_zero(own, number, expected):
        raise ModelError(own.fault(value, expected))
    return number


def _share(own: Field, value: Any) -> float:
    """Return a number above 0 and at most 1, or raise a ModelError."""
    number, expected = as_bounded(own, value, strictly=True), "must be > 0 and at most 1"
    noted(own, number, expected)
    if number > 1.0:
        raise ModelError(own.fault(value, expected))
    return number


def _positive(own: Field, value: Any) -> None:
    """Raise a ModelError if a number is not above 0; it may be inf."""
    number, expected = as_number(own, value), "must be > 0"
    noted(own, number, expected)
    if not number > 0.0:
        raise ModelError(own.fault(value, expected))


def _flag(own: Field, value: Any) -> None:
    """Raise a ModelError if a value is neither true nor false."""
    if not isinstance(value, bool | np.bool_):
        raise ModelError(own.fault(value, "expected True or False"))


@dataclass(frozen=True, eq=False, kw_only=True)
class DryFriction(JointForce):
    """Coulomb, Stribeck and viscous friction of one speed of a joint: kernels/joint_elements.py (14).

    The sign of the friction changes over the speed `smoothing`, so that a joint under load creeps with a share of it.
    With `smoothing` 0 the law is exact: what holds a joint at rest is any force up to `static`, and nothing moves.
    Implicit methods solve it (kernels/dry_friction.py); others refuse it.
    """

    coulomb: float = field(metadata=about("torque or force", "the friction when it slides"))
    static: float | None = field(
        default=None, metadata=about("torque or force", "the friction at which it breaks away; coulomb if not given")
    )
    stribeck: float = field(
        default=0.01, metadata=about("angular_speed or speed", "the speed over which static falls to coulomb")
    )
    viscous: float = field(
        default=0.0, metadata=about("turning_damping or damping", "the friction per speed, added to the rest")
    )
    smoothing: float = field(
        default=1e-3,
        metadata=about("angular_speed or speed", "the speed over which its sign changes; 0: the exact law"),
    )
    # What it opposes to the motion: positive against a positive speed.
    exerts: ClassVar[tuple[Part, ...]] = (Part("friction", OF_JOINT),)

    def __post_init__(self) -> None:
        super().__post_init__()
        own = self.owner.field
        as_bounded(own("stribeck"), self.stribeck, strictly=True)
        for name in ("coulomb", "viscous", "smoothing"):
            as_bounded(own(name), getattr(self, name))
        is_zero(own("smoothing"), self.smoothing, "must stay above 0, because the exact law needs a multiplier")
        expected = f"must be at least coulomb, which is {self.coulomb:g}"
        below = self.static is not None and as_bounded(own("static"), self.static) < self.coulomb
        noted(own("static"), self.static, expected)
        if below:
            raise ModelError(own("static").fault(self.static, expected))

    @property
    def holds(self) -> bool:
        return not self.smoothing > 0.0

    def kind(self) -> int:
        return layout.DRY_FRICTION

    def data(self) -> list[float]:
        static = self.coulomb if self.static is None else self.static
        return [self.coulomb, static, self.stribeck, self.viscous, self.smoothing]


@dataclass(frozen=True, eq=False, kw_only=True)
class JointFriction(JointForce):
    """Friction of a revolute or prismatic joint by the load that it carries: kernels/joint_elements.py (15).

    A hinge has a `radius`, that of its bearings; their distance is `length`, and `axial_radius` that of its thrust
    bearing.  A slide has none; `length` is that of its guide.  Without a length moments do not count.  The law is exact
    (DryFriction) unless a `smoothing` is given.
    """

    coefficient: float = field(metadata=about("number", "of friction, when it slides"))
    static: float | None = field(
        default=None, metadata=about("number", "the coefficient at which it breaks away; coefficient if not given")
    )
    stribeck: float = field(
        default=0.01, metadata=about("angular_speed or speed", "the speed over which static falls to coefficient")
    )
    viscous: float = field(
        default=0.0, metadata=about("turning_damping or damping", "the friction per speed, added to the rest")
    )
    radius: float | None = field(default=None, metadata=about("length", "of the bearings of a hinge; a slide has none"))
    axial_radius: float | None = field(
        default=None, metadata=about("length", "of the thrust bearing of a hinge; radius if not given")
    )
    length: float = field(
        default=np.inf, metadata=about("length", "between two bearings, or of a guide; inf: moments do not count")
    )
    smoothing: float = field(
        default=0.0, metadata=about("angular_speed or speed", "the speed over which its sign changes; 0: the exact law")
    )
    exerts: ClassVar[tuple[Part, ...]] = (Part("friction", OF_JOINT),)

    def __post_init__(self) -> None:
        super().__post_init__()
        own = self.owner.field
        as_bounded(own("stribeck"), self.stribeck, strictly=True)
        _positive(own("length"), self.length)
        for name in ("coefficient", "viscous", "smoothing"):
            as_bounded(own(name), getattr(self, name))
        is_zero(own("smoothing"), self.smoothing, "must stay above 0, because the exact law is another one")
        for name in ("radius", "axial_radius"):
            if getattr(self, name) is not None:
                as_bounded(own(name), getattr(self, name), strictly=name == "radius")
        if self.axial_radius is not None and self.radius is None:
            raise ModelError(own("axial_radius").fault(self.axial_radius, "expected a radius beside it"))
        expected = f"must be at least coefficient, which is {self.coefficient:g}"
        below = self.static is not None and as_bounded(own("static"), self.static) < self.coefficient
        noted(own("static"), self.static, expected)
        if below:
            raise ModelError(own("static").fault(self.static, expected))

    @property
    def holds(self) -> bool:
        return not self.smoothing > 0.0

    @property
    def has_multiplier(self) -> bool:
        return True

    @property
    def turns(self) -> bool:
        """Whether it is meant for a hinge."""
        return self.radius is not None

    def kind(self) -> int:
        return layout.LOADED_FRICTION

    def data(self) -> list[float]:
        static = self.coefficient if self.static is None else self.static
        law = [self.coefficient, static, self.stribeck, self.viscous, self.smoothing]
        arm = 2.0 / self.length if finite(self.length) else 0.0
        if self.radius is None:
            return [*law, 1.0, 0.0, arm, arm]
        return [
            *law,
            self.radius,
            self.radius if self.axial_radius is None else self.axial_radius,
            self.radius * arm,
            0.0,
        ]


@dataclass(frozen=True, eq=False, kw_only=True)
class Stop(JointForce):
    """End stops of one coordinate of a joint, at `lower` and `upper`: contacts that push and never pull.

    The force grows with the depth (`hertzian`: with its power 3/2) and with the speed at which the stop is pressed,
    by the share `dissipation` per unit of speed (Hunt and Crossley); kernels/joint_elements.py (7), (8).
    """

    lower: float = field(default=-np.inf, metadata=about("angle or length", "where it begins below; none if not given"))
    upper: float = field(default=np.inf, metadata=about("angle or length", "where it begins above; none if not given"))
    stiffness: float = field(metadata=about("turning_stiffness or stiffness or number", "force per depth of the stop"))
    dissipation: float = field(
        default=0.0, metadata=about("time or slowness", "share by which the force grows per speed of the impact")
    )
    hertzian: bool = field(default=False, metadata=about("yes or no", "whether the force grows with depth^(3/2)"))
    sees_position: ClassVar[bool] = True
    # Positive at the upper stop.
    exerts: ClassVar[tuple[Part, ...]] = (Part("stop", OF_JOINT), Part("depth", POSITION_OF_JOINT))

    def __post_init__(self) -> None:
        super().__post_init__()
        own = self.owner.field
        as_bounded(own("stiffness"), self.stiffness, strictly=True)
        as_bounded(own("dissipation"), self.dissipation)
        _flag(own("hertzian"), self.hertzian)
        lower, upper = as_number(own("lower"), self.lower), as_number(own("upper"), self.upper)
        expected = f"must be above lower, which is {self.lower!r}"
        noted(own("upper"), upper, expected)
        if not lower < upper:
            raise ModelError(own("upper").fault(self.upper, expected))
        if not finite(lower) and not finite(upper):
            raise ModelError(self.owner.fault("has neither lower nor upper", "expected at least one of them"))

    def kind(self) -> int:
        return layout.STOP

    def data(self) -> list[float]:
        return [self.lower, self.upper, self.stiffness, self.dissipation, float(self.hertzian)]


@dataclass(frozen=True, eq=False, kw_only=True)
class OnTwoJoints(JointForce):
    """What elements have that act on two joints."""

    sees_position: ClassVar[bool] = True

    # The field that names the other joint.
    other: ClassVar[str] = ""

    @property
    def factors(self) -> tuple[float, float]:
        """The factors of the coordinates of `joint` and of the other joint."""
        return 1.0, -1.0

    def terms(self) -> tuple[tuple[str, int, float], ...]:
        own, others = self.factors
        return (self.joint, self.speed, own), (getattr(self, self.other), 0, others)

    def joint_field(self, joint: str) -> Field:
        return self.owner.field("joint" if joint == self.joint else self.other)

    def __post_init__(self) -> None:
        super().__post_init__()
        if getattr(self, self.other) == self.joint:
            expected = "expected another joint than the field 'joint' names"
            raise ModelError(self.owner.field(self.other).fault(self.joint, expected))


@dataclass(frozen=True, eq=False, kw_only=True)
class GearTrain(OnTwoJoints):
    """An elastic gear between a `motor` and the `joint` that it drives, with backlash and losses.

    The motor turns `ratio` times as far as the joint.  Stiffness, damping and `backlash` (the whole gap) are on the
    side of the joint; with the `efficiency` below 1 a share of the torque is lost; kernels/joint_elements.py (9), (10).
    """

    other: ClassVar[str] = "motor"
    motor: str = field(metadata=about("name", "the joint of the motor"))
    ratio: float = field(metadata=about("number or length", "turns of the motor per turn, or length, of the joint"))
    stiffness: float = field(metadata=about("turning_stiffness or stiffness or number", "on the side of the joint"))
    damping: float = field(
        default=0.0, metadata=about("turning_damping or damping or number", "on the side of the joint")
    )
    backlash: float = field(default=0.0, metadata=about("angle or length", "the gap, on the side of the joint"))
    onset: float | None = field(
        default=None,
        metadata=about("angle or length", "deflection where damping sets in; a tenth of the backlash if not given"),
    )
    efficiency: float = field(default=1.0, metadata=about("number", "share of the power that goes through"))
    slow: float = field(
        default=_SLOW, metadata=about("angular_speed or speed", "speed of the joint below which losses fade")
    )
    # Against the motion of the joint; how far it leads the motor; what is dissipated.
    exerts: ClassVar[tuple[Part, ...]] = (
        Part("torque", OF_JOINT),
        Part("deflection", POSITION_OF_JOINT),
        Part("loss", "power"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        own = self.owner.field
        _not_zero(own("ratio"), self.ratio)
        for name in ("damping", "backlash"):
            as_bounded(own(name), getattr(self, name))
        as_bounded(own("stiffness"), self.stiffness, strictly=True)
        if self.onset is not None:
            as_bounded(own("onset"), self.onset, strictly=True)
        _share(own("efficiency"), self.efficiency)
        as_bounded(own("slow"), self.slow, strictly=True)

    @property
    def factors(self) -> tuple[float, float]:
        return 1.0, -1.0 / self.ratio

    def kind(self) -> int:
        return layout.GEAR_TRAIN

    def data(self) -> list[float]:
        onset = _ONSET * self.backlash if self.onset is None else self.onset
        return [self.stiffness, self.damping, 0.5 * self.backlash, onset, self.efficiency, self.slow]


@dataclass(frozen=True, eq=False, kw_only=True)
class Motor(JointForce):
    """A direct-current motor on a joint, driven by a voltage: kernels/joint_elements.py (11).

    Its input is the voltage, kept within ±`limit`.  The torque on the joint is `gear` times `constant` times the
    current; the same factor times the speed of the joint is the voltage that the motor induces.  `inertia` is that of
    the rotor, before the gear.  With an `inductance` the current is a first-order state.
    """

    constant: float = field(metadata=about("torque_constant or force_constant", "torque, or force, per current"))
    resistance: float = field(metadata=about("resistance", "of its winding"))
    inductance: float = field(default=0.0, metadata=about("inductance", "of its winding; 0: the current is no state"))
    limit: float = field(default=np.inf, metadata=about("voltage", "the largest voltage, both ways"))
    gear: float = field(
        default=1.0, metadata=about("number or rate_per_length", "turns of the motor per turn of the joint")
    )
    inertia: float = field(default=0.0, metadata=about("inertia or mass", "of its rotor, before the gear"))
    n_inputs: ClassVar[int] = 1
    inputs: ClassVar[tuple[Part, ...] | None] = (Part("input", "voltage"),)
    states: ClassVar[tuple[Part, ...]] = (Part("winding", "current"),)
    exerts: ClassVar[tuple[Part, ...]] = (
        Part("torque", OF_JOINT),
        Part("current", "current"),
        Part("voltage", "voltage"),
        Part("power", "power"),
    )

    @property
    def n_states(self) -> int:
        return int(self.inductance > 0.0)

    @property
    def state_size(self) -> float:
        return self.limit / self.resistance if finite(self.limit) else 1.0

    @property
    def armature(self) -> float:
        return self.gear**2 * self.inertia

    def __post_init__(self) -> None:
        super().__post_init__()
        own = self.owner.field
        for name in ("constant", "gear"):
            _not_zero(own(name), getattr(self, name))
        as_bounded(own("resistance"), self.resistance, strictly=True)
        for name in ("inductance", "inertia"):
            as_bounded(own(name), getattr(self, name))
        limit = as_number(own("limit"), self.limit)
        noted(own("limit"), limit, "must be > 0")
        if not limit > 0.0:
            raise ModelError(own("limit").fault(self.limit, "must be > 0"))

    def kind(self) -> int:
        return layout.ELECTRIC_MOTOR

    def data(self) -> list[float]:
        return [self.resistance, self.inductance, self.gear * self.constant, self.limit]


@dataclass(frozen=True, eq=False, kw_only=True)
class HydraulicCylinder(JointForce):
    """A cylinder along a sliding joint, with a valve that its input opens, from −1 to 1.

    Equations: kernels/joint_elements.py (12).  The coordinate of the joint is how far the piston is out, from 0 to
    `stroke`: give the joint stops.  Pressures in both chambers are first-order states.
    """

    area: float = field(metadata=about("area", "of the piston"))
    rod_area: float = field(default=0.0, metadata=about("area", "of the rod, which the piston lacks on its side"))
    stroke: float = field(metadata=about("length", "how far the piston goes"))
    dead_volume: float = field(metadata=about("volume", "of oil beside the piston's, in each chamber"))
    supply: float = field(metadata=about("pressure", "of the pump"))
    tank: float = field(default=0.0, metadata=about("pressure", "of the tank"))
    flow: float = field(metadata=about("flow", "through an open edge of the valve at the pressure `drop`"))
    drop: float = field(metadata=about("pressure", "at an open edge of the valve, where the flow is `flow`"))
    bulk_modulus: float = field(default=1.4e9, metadata=about("pressure", "of the oil"))
    leakage: float = field(default=0.0, metadata=about("leakage", "flow past the piston per pressure"))
    sees_position: ClassVar[bool] = True
    n_inputs: ClassVar[int] = 1
    inputs: ClassVar[tuple[Part, ...] | None] = (Part("input", "input"),)
    states: ClassVar[tuple[Part, ...]] = (Part("chamber", "pressure", ("_a", "_b")),)
    # On the joint, outward if positive; pressures; flow into the chamber that pushes outward.
    exerts: ClassVar[tuple[Part, ...]] = (
        Part("push", OF_JOINT),
        Part("pressure_a", "pressure"),
        Part("pressure_b", "pressure"),
        Part("flow", "flow"),
    )

    @property
    def state_size(self) -> float:
        return self.supply

    def __post_init__(self) -> None:
        super().__post_init__()
        own = self.owner.field
        for name in ("area", "stroke", "dead_volume", "supply", "flow", "drop", "bulk_modulus"):
            as_bounded(own(name), getattr(self, name), strictly=True)
        for name in ("rod_area", "tank", "leakage"):
            as_bounded(own(name), getattr(self, name))
        expected = f"must be less than area, which is {self.area:g}"
        noted(own("rod_area"), self.rod_area, expected)
        if not self.rod_area < self.area:
            raise ModelError(own("rod_area").fault(self.rod_area, expected))

    def kind(self) -> int:
        return layout.CYLINDER

    def data(self) -> list[float]:
        areas = [self.area, self.area - self.rod_area, self.stroke, self.dead_volume, self.bulk_modulus]
        return [*areas, self.supply, self.tank, self.flow, self.drop, self.leakage]


@dataclass(frozen=True, eq=False, kw_only=True)
class Belt(OnTwoJoints):
    """A belt from a pulley on `joint` to one on `driven`, with two strands that only pull.

    Equations: kernels/joint_elements.py (13).  A belt that crosses turns the other pulley backward: give it a negative
    radius.
    """

    other: ClassVar[str] = "driven"
    driven: str = field(metadata=about("name", "the joint of the other pulley"))
    radius: float = field(metadata=about("length or number", "of the pulley on the joint; 1 if the joint slides"))
    driven_radius: float = field(metadata=about("length or number", "of the other pulley"))
    stiffness: float = field(metadata=about("stiffness", "of each strand"))
    damping: float = field(default=0.0, metadata=about("damping", "of each strand"))
    pretension: float = field(default=0.0, metadata=about("force", "of both strands at rest"))
    exerts: ClassVar[tuple[Part, ...]] = (Part("tight", "force"), Part("slack", "force"))

    def __post_init__(self) -> None:
        super().__post_init__()
        own = self.owner.field
        for name in ("radius", "driven_radius"):
            _not_zero(own(name), getattr(self, name))
        as_bounded(own("stiffness"), self.stiffness, strictly=True)
        for name in ("damping", "pretension"):
            as_bounded(own(name), getattr(self, name))

    @property
    def factors(self) -> tuple[float, float]:
        return self.radius, -self.driven_radius

    def kind(self) -> int:
        return layout.BELT

    def data(self) -> list[float]:
        return [self.stiffness, self.damping, self.pretension]


@dataclass(frozen=True, eq=False, kw_only=True)
class Cable(OnTwoJoints):
    """A rope from a drum on `joint` to what it moves, `driven`, which only pulls: kernels/joint_elements.py (13).

    It is wound up by radius · q of the joint and paid out by driven_radius · q of the other (1 for a joint that
    slides), and pulls where the difference is more than `slack`.
    """

    other: ClassVar[str] = "driven"
    driven: str = field(metadata=about("name", "the joint of what it moves"))
    radius: float = field(metadata=about("length or number", "of the drum on the joint; 1 if the joint slides"))
    driven_radius: float = field(default=1.0, metadata=about("length or number", "of the other drum; 1 if it slides"))
    stiffness: float = field(metadata=about("stiffness", "of the rope"))
    damping: float = field(default=0.0, metadata=about("damping", "of the rope"))
    slack: float = field(default=0.0, metadata=about("length", "where it begins to pull"))
    exerts: ClassVar[tuple[Part, ...]] = (Part("tension", "force"),)

    def __post_init__(self) -> None:
        super().__post_init__()
        own = self.owner.field
        for name in ("radius", "driven_radius"):
            _not_zero(own(name), getattr(self, name))
        as_bounded(own("stiffness"), self.stiffness, strictly=True)
        as_bounded(own("damping"), self.damping)
        if not finite(as_number(own("slack"), self.slack)):
            raise ModelError(own("slack").fault(self.slack, "expected a finite number"))

    @property
    def factors(self) -> tuple[float, float]:
        return self.radius, -self.driven_radius

    def kind(self) -> int:
        return layout.CABLE

    def data(self) -> list[float]:
        return [self.stiffness, self.damping, self.slack]


POSITION, SPEED = "position", "speed"


@dataclass(frozen=True, eq=False, kw_only=True)
class ForceCurve(JointForce):
    """A force, or torque, by a table of the position or of the speed of a joint: measured springs, dampers, friction.

    `table` has pairs (position or speed, force against it), the first numbers rising.  Between them it is a cubic that
    is as monotonic as the pairs are (`smooth`), or straight; beyond them it goes on straight.
    """

    table: ArrayLike = field(metadata=about("pairs", "pairs of a position or speed, and a force"))
    over: str = field(default=POSITION, metadata=about("choice", "what the table is over", choices=(POSITION, SPEED)))
    smooth: bool = field(default=True, metadata=about("yes or no", "whether it is smooth between the pairs"))
    exerts: ClassVar[tuple[Part, ...]] = (Part("force", OF_JOINT),)

    @property
    def sees_position(self) -> bool:  # type: ignore[override]
        return self.over == POSITION

    @property
    def n_pieces(self) -> int:
        return len(np.asarray(self.table)) - 1

    def __post_init__(self) -> None:
        super().__post_init__()
        own = self.owner.field
        if self.over not in (POSITION, SPEED):
            raise ModelError(own("over").fault(self.over, f"expected '{POSITION}' or '{SPEED}'"))
        _flag(own("smooth"), self.smooth)
        found = as_numbers(self.table)
        if found is None or found.ndim != 2 or found.shape[1] != 2 or len(found) < 2:
            raise ModelError(own("table").fault(self.table, "expected at least two pairs of numbers"))
        table = as_array(own("table"), found, found.shape)
        object.__setattr__(self, "table", table)
        steps = np.diff(floats(table[:, 0]))
        if (steps <= 0.0).any():
            k = int(np.argmin(steps > 0.0)) + 1
            expected = f"must be above the one before, {float(table[k - 1, 0]):g}"
            raise ModelError(own("table", k).fault(float(table[k, 0]), expected))

    def kind(self) -> int:
        return layout.CURVE_OF_POSITION if self.over == POSITION else layout.CURVE_OF_SPEED

    def data(self) -> list[float]:
        from scipy.interpolate import PchipInterpolator, PPoly

        table = floats(np.asarray(self.table))
        x, y = table[:, 0], table[:, 1]
        if self.smooth and len(x) > 2:
            c = PchipInterpolator(x, y).c
        else:
            c = np.array([0.0 * y[1:], 0.0 * y[1:], np.diff(y) / np.diff(x), y[:-1]])
        integral = PPoly(c, x).antiderivative()
        sums = integral(x) - (integral(0.0) if x[0] <= 0.0 <= x[-1] else 0.0)
        return [float(len(x) - 1), *x, *c.T.ravel(), *sums]


_OWN = classes_of(__name__, Force, without=(OnTwoJoints,))
ALL_FORCES: tuple[type[Force], ...] = (*OTHERS, *_OWN, *ALL_LAWS, *ALL_ROPES, *ALL_BALL_STOPS)
