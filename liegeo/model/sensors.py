"""Sensors that a person writes down: what is measured of a motion, where, and how well.

A sensor is a named output: its columns are columns of results, outputs of FMUs and of linear models.  What it measures
is found by the kernels of liegeo/kernels/sensing.py, whose equations it follows.  Without a `period` a sensor shows
what it measures at every instant; with one it samples, and what is seen of it is the chain (7) there: noise, range,
resolution, delay.

**Strain.**  A gauge is glued on a fibre from the section at node `a` to the section at node `b` of a flexible body, at
the place r from both nodes.  Sections move by u and turn by θ, both linear in the modal coordinates, so that with
n = (p_b − p_a)/L, L = |p_b − p_a|, in the axes of the body and without deformation, its mean strain is

    ε = n·[(u_b + θ_b × r) − (u_a + θ_a × r)]/L = Σ s_k η_k.                                                    (1)

In a straight beam, whose plane sections stay plane, that is the mean of N/EA − z w″ … over the gauge, for beams with
and without shear flexibility and for any taper, as ∫ κ dx = θ_b − θ_a.  With r = 0 it is the relative displacement of
two nodes of any finite-element model over their distance.

Adding a sensor: a class here, its task in kernels/sensing.py, its plan in liegeo/observer.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo.errors import Field, ModelError, Owner
from liegeo.kernels import sensing
from liegeo.lie import SO3
from liegeo.model.about import POSITION_OF_JOINT, XYZ, Part, about, about_fields, classes_of
from liegeo.model.body import Body, FlexibleBody, Node, place_on
from liegeo.model.checks import Sealed, as_array, as_bounded, as_number, as_whole, split_name, suggest
from liegeo.model.forces import Place, place_fields
from liegeo.model.joints import Joint

Array = NDArray[Any]
Bodies = Mapping[str, Body | FlexibleBody]

_WORLD = "world"
#: Kind of a column that is the rate of a joint's coordinate.
SPEED_OF_JOINT = "speed of the joint"
# A seed is a word of kernels/sensing.py.
_SEEDS = 2**32
# A sensor remembers the samples that are on their way; more of them are a mistake in a unit.
_MOST_ON_THEIR_WAY = 100_000
# Which of its numbers a sensor may have, in the order of their use.
_CHAIN = ("noise", "noise_density", "range", "resolution")


class FoundPlace(NamedTuple):
    """A place that was found: its body, None for the world, and a pose on it, or a node that deforms."""

    owner: str
    body: Body | FlexibleBody | None
    where: Any


def find_place(place: Any, field: Field, bodies: Bodies) -> FoundPlace:
    """Return what a place means, or raise a ModelError that names the field."""
    if isinstance(place, str):
        owner, rest = split_name(place, {**bodies, _WORLD: None})
        where: Any = rest or None
        where_field = field
    elif isinstance(place, Sequence) and len(place) == 2 and isinstance(place[0], str):
        owner, where = place
        where_field = field._replace(path=(*field.path, 1), words=field.name)
    else:
        raise ModelError(field.fault(place, 'expected "body", "body.frame", or a body and a position or pose in it'))
    if owner != _WORLD and owner not in bodies:
        known = suggest(owner, [*bodies, _WORLD])
        raise ModelError(field.fault(owner, "", known, finding="is not a body of the tree", subject=f"'{owner}'"))
    body = None if owner == _WORLD else bodies[owner]
    return FoundPlace(owner, body, place_on(body, where, where_field))


@dataclass(frozen=True, eq=False, kw_only=True)
class Sensor(Sealed):
    """What all sensors have: with a `period` they sample, at `offset` + k `period` in time."""

    name: str
    period: float | None = field(
        default=None, metadata=about("time", "between samples; it measures at every instant if not given")
    )
    offset: float = field(default=0.0, metadata=about("time", "when it samples first; earlier and later by periods"))
    delay: float = field(default=0.0, metadata=about("time", "after which a sample is seen"))
    seed: int = field(
        default=0, metadata=about("whole", "of its noise: the same seed and the same name give the same noise")
    )
    # Its columns in results.
    shows: ClassVar[tuple[Part, ...]] = ()

    @property
    def owner(self) -> Owner:
        """Return what its faults belong to."""
        return Owner("sensor", self.name, type(self).__name__)

    @property
    def size(self) -> int:
        """How many numbers it shows."""
        return sum(len(part.components) for part in self.shows)

    @property
    def samples(self) -> bool:
        """Whether it samples."""
        return self.period is not None

    @property
    def interval(self) -> float:
        """Return the time between samples, 0 if it does not sample."""
        return 0.0 if self.period is None else float(self.period)

    @property
    def stream(self) -> int:
        """Return the stream of its first number, so that sensors with one seed have different noise."""
        return int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:4], "little")

    def __post_init__(self) -> None:
        own = self.owner.field
        if self.period is not None:
            as_bounded(own("period"), self.period, strictly=True)
        as_number(own("offset"), self.offset)
        if not np.isfinite(float(self.offset)):
            raise ModelError(own("offset").fault(self.offset, "must be finite"))
        as_bounded(own("delay"), self.delay)
        seed = as_whole(self.seed)
        if seed is None or not 0 <= seed < _SEEDS:
            raise ModelError(own("seed").fault(self.seed, f"expected a whole number from 0 to {_SEEDS - 1}"))
        if self.delay > 0.0 and not self.samples:
            raise ModelError(
                own("delay").fault(
                    self.delay,
                    "but the sensor has no period",
                    "What is delayed are samples. Give the time between samples as `period`.",
                )
            )
        if self.samples and self.delay > _MOST_ON_THEIR_WAY * self.interval:
            raise ModelError(
                own("delay").fault(self.delay, f"expected at most {_MOST_ON_THEIR_WAY} periods. Check its unit")
            )
        for name in _CHAIN:
            if hasattr(self, name):
                self._check_chain(name)
        if self._numbers("noise").any() and self._numbers("noise_density").any():
            raise ModelError(
                own("noise_density").fault(
                    self.noise_density,  # type: ignore[attr-defined]
                    "but the sensor has `noise` too",
                    "Give the standard deviation of a sample, or the spectral density, not both.",
                )
            )

    def _check_chain(self, name: str) -> None:
        """Check noise, range or resolution: numbers ≥ 0, and noise only where there are samples."""
        own, value = self.owner.field, getattr(self, name)
        entries = np.ravel(np.asarray(value, dtype=object))
        # sensors whose numbers have several units have a number for each
        shape, wanted = np.shape(value), about_fields(type(self))[name].shape
        usual = np.inf if name == "range" else 0.0
        if shape != wanted and not (shape == () and value == usual):
            raise ModelError(
                own(name).fault(value, f"expected {'one number' if not wanted else f'{wanted[0]} numbers'}")
            )
        for k, entry in enumerate(entries):
            place = own(name, k) if shape else own(name)
            number = as_number(place, entry)
            positive = name == "range"
            if (not number > 0.0) if positive else (not 0.0 <= number < np.inf):
                raise ModelError(place.fault(entry, "must be > 0" if positive else "must be ≥ 0 and finite"))
        if name.startswith("noise") and not self.samples and any(float(entry) > 0.0 for entry in entries):
            raise ModelError(
                own(name).fault(
                    value,
                    "but the sensor has no period",
                    "White noise at every instant has no finite variance, and no method can integrate it.\n"
                    "Give the time between samples as `period`.",
                )
            )

    def _numbers(self, name: str) -> Array:
        """Return noise, range or resolution for each of its numbers."""
        usual = np.inf if name == "range" else 0.0
        return np.broadcast_to(np.asarray(getattr(self, name, usual), dtype=np.float64), (self.size,))

    def chain(self) -> Array:
        """Return for each of its numbers the standard deviation of its noise, its range and its resolution.

        A spectral density S, one-sided and in units per √Hz, is that of white noise up to half the rate of the samples:
        σ² = S²/(2 T).
        """
        sigma = self._numbers("noise")
        if self.samples:
            sigma = sigma + self._numbers("noise_density") / np.sqrt(2.0 * self.interval)
        return np.stack([sigma, self._numbers("range"), self._numbers("resolution")], axis=1)

    def check(self, bodies: Bodies, joints: Mapping[str, Joint]) -> None:
        """Raise a ModelError if a place or joint that it refers to is not there."""
        for name in place_fields(self):
            find_place(getattr(self, name), self.owner.field(name), bodies)

    def joint_of(self, joints: Mapping[str, Joint]) -> Joint:
        """Return the joint that it measures, or raise a ModelError."""
        name = self.joint  # type: ignore[attr-defined]
        if name not in joints:
            subject, near = f"its joint '{name}'", suggest(name, list(joints))
            fault = self.owner.field("joint").fault(
                name, "", near, finding="is not a joint of the tree", subject=subject
            )
            raise ModelError(fault)
        return joints[name]


@dataclass(frozen=True, eq=False, kw_only=True)
class Accelerometer(Sensor):
    """The specific force at a frame, in its own axes: its acceleration less gravity, as (0, 0, g) at rest with z up."""

    at: Place = field(metadata=about("place", "the frame that it is fixed to"))
    noise: float = field(default=0.0, metadata=about("acceleration", "standard deviation of each sample"))
    noise_density: float = field(
        default=0.0, metadata=about("number", "in place of noise: its spectral density in m/s² per √Hz, one-sided")
    )
    range: float = field(default=np.inf, metadata=about("acceleration", "what it shows is kept within ± this"))
    resolution: float = field(default=0.0, metadata=about("acceleration", "what it shows is a multiple of this"))
    shows: ClassVar[tuple[Part, ...]] = (Part("specific_force", "specific force", XYZ),)


@dataclass(frozen=True, eq=False, kw_only=True)
class Gyro(Sensor):
    """The angular velocity of a frame relative to the world, in its own axes."""

    at: Place = field(metadata=about("place", "the frame that it is fixed to"))
    noise: float = field(default=0.0, metadata=about("angular_speed", "standard deviation of each sample"))
    noise_density: float = field(
        default=0.0, metadata=about("number", "in place of noise: its spectral density in rad/s per √Hz, one-sided")
    )
    range: float = field(default=np.inf, metadata=about("angular_speed", "what it shows is kept within ± this"))
    resolution: float = field(default=0.0, metadata=about("angular_speed", "what it shows is a multiple of this"))
    shows: ClassVar[tuple[Part, ...]] = (Part("angular_velocity", "angular velocity", XYZ),)


@dataclass(frozen=True, eq=False, kw_only=True)
class Inclinometer(Sensor):
    """The direction of gravity in the axes of a frame: a unit vector, zero without gravity."""

    at: Place = field(metadata=about("place", "the frame that it is fixed to"))
    noise: float = field(default=0.0, metadata=about("number", "standard deviation of each sample"))
    noise_density: float = field(
        default=0.0, metadata=about("number", "in place of noise: its spectral density per √Hz, one-sided")
    )
    range: float = field(default=np.inf, metadata=about("number", "what it shows is kept within ± this"))
    resolution: float = field(default=0.0, metadata=about("number", "what it shows is a multiple of this"))
    shows: ClassVar[tuple[Part, ...]] = (Part("gravity", "direction", XYZ),)


@dataclass(frozen=True, eq=False, kw_only=True)
class Encoder(Sensor):
    """A coordinate of a joint: an angle or a position.  An encoder of n counts per turn has a resolution of 2π/n."""

    joint: str = field(metadata=about("name", "the joint that it measures"))
    coordinate: int = field(default=0, metadata=about("whole", "which of its coordinates, from 0"))
    noise: float = field(default=0.0, metadata=about("angle or length", "standard deviation of each sample"))
    noise_density: float = field(
        default=0.0, metadata=about("number", "in place of noise: its spectral density in rad or m per √Hz, one-sided")
    )
    range: float = field(default=np.inf, metadata=about("angle or length", "what it shows is kept within ± this"))
    resolution: float = field(default=0.0, metadata=about("angle or length", "one count: it shows multiples of this"))
    shows: ClassVar[tuple[Part, ...]] = (Part("angle", POSITION_OF_JOINT),)

    def check(self, bodies: Bodies, joints: Mapping[str, Joint]) -> None:
        _check_coordinate(self, self.joint_of(joints), "coordinate", self.coordinate)


@dataclass(frozen=True, eq=False, kw_only=True)
class Tachometer(Sensor):
    """A speed of a joint."""

    joint: str = field(metadata=about("name", "the joint that it measures"))
    speed: int = field(default=0, metadata=about("whole", "which of its speeds, from 0"))
    noise: float = field(default=0.0, metadata=about("angular_speed or speed", "standard deviation of each sample"))
    noise_density: float = field(
        default=0.0, metadata=about("number", "in place of noise: its spectral density in rad/s or m/s per √Hz")
    )
    range: float = field(
        default=np.inf, metadata=about("angular_speed or speed", "what it shows is kept within ± this")
    )
    resolution: float = field(
        default=0.0, metadata=about("angular_speed or speed", "what it shows is a multiple of this")
    )
    shows: ClassVar[tuple[Part, ...]] = (Part("speed", SPEED_OF_JOINT),)

    def check(self, bodies: Bodies, joints: Mapping[str, Joint]) -> None:
        _check_coordinate(self, self.joint_of(joints), "speed", self.speed)


def _check_coordinate(sensor: Encoder | Tachometer, joint: Joint, what: str, number: Any) -> None:
    """Raise if a joint has no such coordinate or speed, or has coordinates that are no numbers one by one."""
    field, n = sensor.owner.field(what), len(joint.screws())
    k = as_whole(number)
    if k is None or not 0 <= k < n:
        expected = f"expected 0 to {n - 1}" if n > 1 else "expected 0" if n else "but the joint does not move"
        raise ModelError(field.fault(number, f"{expected}: joint '{joint.name}' has {n} speed{'s' * (n != 1)}"))
    if what == "coordinate" and joint.composed:
        raise ModelError(
            sensor.owner.field("joint").fault(
                joint.name,
                "whose coordinates are an element of a group",
                "Use RelativeMotion between the frames of the joint, or an Inclinometer.",
                finding=f"is '{joint.name}'",
            )
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class StrainGauge(Sensor):
    """The mean strain of a fibre between two nodes of a flexible body, tension positive; (1) of sensors.py.

    `fibre` is where the fibre is, from the nodes and in the axes of the body: half the height of the section for one on
    the upper side.  The gauge shows what the modes of the body know: loads at interfaces of a Craig–Bampton reduction
    are exact, others as exact as its modes.
    """

    a: Place = field(metadata=about("place", "the node at which the fibre begins"))
    b: Place = field(metadata=about("place", "the node at which it ends"))
    fibre: ArrayLike = field(
        default=(0.0, 0.0, 0.0), metadata=about("length", "from the nodes to the fibre, in the body's axes", shape=(3,))
    )
    noise: float = field(default=0.0, metadata=about("number", "standard deviation of each sample"))
    noise_density: float = field(
        default=0.0, metadata=about("number", "in place of noise: its spectral density per √Hz, one-sided")
    )
    range: float = field(default=np.inf, metadata=about("number", "what it shows is kept within ± this"))
    resolution: float = field(default=0.0, metadata=about("number", "what it shows is a multiple of this"))
    shows: ClassVar[tuple[Part, ...]] = (Part("strain", "strain"),)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "fibre", as_array(self.owner.field("fibre"), self.fibre, (3,)))

    def check(self, bodies: Bodies, joints: Mapping[str, Joint]) -> None:
        self.shares(bodies)

    def _node(self, name: str, bodies: Bodies) -> tuple[str, Node]:
        """Return the body and the node that a field names; the node at a root does not move, but is one."""
        place, field = getattr(self, name), self.owner.field(name)
        found = find_place(place, field, bodies)
        rest = split_name(place, bodies)[1] if isinstance(place, str) else place[1]
        nodes = found.body.nodes if isinstance(found.body, FlexibleBody) else {}
        if not isinstance(rest, str) or rest not in nodes:
            advice = "A gauge sits between nodes of a flexible body; name them as 'body.node'."
            raise ModelError(field.fault(place, "which is no node of a flexible body", advice))
        return found.owner, nodes[rest]

    def shares(self, bodies: Bodies) -> tuple[str, Array]:
        """Return the body, and s of (1): the strain for each modal coordinate being 1."""
        (owner, a), (other, b) = (self._node(name, bodies) for name in ("a", "b"))
        if owner != other:
            expected = f"but `a` is on '{owner}'; expected two nodes of one body"
            raise ModelError(self.owner.field("b").fault(self.b, expected, finding=f"is on '{other}'"))
        way = np.asarray(b.pose)[:3, 3] - np.asarray(a.pose)[:3, 3]
        length = np.sqrt(way @ way)
        if not length > 0.0:
            raise ModelError(self.owner.field("b").fault(self.b, "where `a` is", "A gauge needs a length."))
        moved = np.asarray(b.modes) - np.asarray(a.modes)
        # u + θ × r
        return owner, (way / length) @ (moved[3:] - SO3.hat(np.asarray(self.fibre)) @ moved[:3]) / length


@dataclass(frozen=True, eq=False, kw_only=True)
class ForceTorque(Sensor):
    """What a joint transmits: the wrench that its parent exerts on its child, driving torques included.

    It is shown about the origin and in the axes of the frame `at`, the child's own if none is given.  A sensor at a cut
    within a body is one in a fixed joint between its two pieces.
    """

    joint: str = field(metadata=about("name", "the joint that it sits in"))
    at: Place | None = field(
        default=None, metadata=about("place", "about whose origin and in whose axes; the child's frame if not given")
    )
    noise: ArrayLike = field(
        default=0.0, metadata=about("torque and force", "standard deviation of each sample, moment first", shape=(6,))
    )
    noise_density: ArrayLike = field(
        default=0.0,
        metadata=about("number", "in place of noise: six spectral densities in N m and N per √Hz", shape=(6,)),
    )
    range: ArrayLike = field(
        default=np.inf, metadata=about("torque and force", "what it shows is kept within ± this", shape=(6,))
    )
    resolution: ArrayLike = field(
        default=0.0, metadata=about("torque and force", "what it shows are multiples of this", shape=(6,))
    )
    shows: ClassVar[tuple[Part, ...]] = (Part("moment", "moment", XYZ), Part("force", "force", XYZ))

    def check(self, bodies: Bodies, joints: Mapping[str, Joint]) -> None:
        self.joint_of(joints)
        if self.at is not None:
            find_place(self.at, self.owner.field("at"), bodies)


@dataclass(frozen=True, eq=False, kw_only=True)
class DistanceSensor(Sensor):
    """The distance of two frames, and its rate.  Noise, range and resolution are those of the distance."""

    a: Place = field(metadata=about("place", "one end"))
    b: Place = field(metadata=about("place", "the other end"))
    noise: float = field(default=0.0, metadata=about("length", "standard deviation of each sample of the distance"))
    noise_density: float = field(
        default=0.0, metadata=about("number", "in place of noise: its spectral density in m per √Hz, one-sided")
    )
    range: float = field(default=np.inf, metadata=about("length", "the largest distance that it shows"))
    resolution: float = field(default=0.0, metadata=about("length", "the distance is shown as a multiple of this"))
    shows: ClassVar[tuple[Part, ...]] = (Part("distance", "length"), Part("rate", "velocity"))

    def _numbers(self, name: str) -> Array:
        own = super()._numbers(name)
        return np.array([own[0], np.inf if name == "range" else 0.0])


@dataclass(frozen=True, eq=False, kw_only=True)
class RelativeMotion(Sensor):
    """The motion of frame `b` as it is seen from frame `a`, in the axes of `a`.

    Position; rotation vector from the axes of `a` to those of `b`, of length π at most; velocity, which is the rate of
    the position; angular velocity.
    """

    a: Place = field(metadata=about("place", "the frame from which it is seen, in whose axes"))
    b: Place = field(metadata=about("place", "the frame that is seen"))
    shows: ClassVar[tuple[Part, ...]] = (
        Part("position", "position", XYZ),
        Part("rotation", "angle", XYZ),
        Part("velocity", "velocity", XYZ),
        Part("angular_velocity", "angular velocity", XYZ),
    )


ALL_SENSORS = classes_of(__name__, Sensor)


class Sampling(NamedTuple):
    """The sensors of a tree that sample, as kernels/sensing.py knows them: whole numbers, settings, and sizes."""

    sensors: tuple[Sensor, ...]
    rows: NDArray[np.int64]
    settings: NDArray[np.float64]
    width: int
    memory: int

    @classmethod
    def of(cls, sensors: Sequence[Sensor]) -> Sampling:
        """Return all that sample, whose numbers stand one behind another in a row."""
        sampling = tuple(sensor for sensor in sensors if sensor.samples)
        ends = np.cumsum([0, *(sensor.size for sensor in sampling)]).tolist()
        return cls._of((sensor, column, 0, sensor.size) for sensor, column in zip(sampling, ends, strict=False))

    @classmethod
    def of_columns(cls, sensors: Sequence[Sensor], columns: Sequence[tuple[tuple[str, ...], int]]) -> Sampling:
        """Return those of the columns of a row (a source and a number in it) that sensors sample, one by one."""
        sampling = {sensor.name: sensor for sensor in sensors if sensor.samples}
        return cls._of(
            (sampling[source[1]], column, number, 1)
            for column, (source, number) in enumerate(columns)
            if source[0] == "sensor" and source[1] in sampling
        )

    @classmethod
    def _of(cls, parts: Iterable[tuple[Sensor, int, int, int]]) -> Sampling:
        """Of sensors with the column of the row, the first of their numbers, and how many."""
        rows: list[int] = []
        settings: list[float] = []
        sampling, width, memory = [], 0, 0
        for sensor, column, first, n in parts:
            period, delay = sensor.interval, float(sensor.delay)
            depth = int(np.ceil(delay / period - 1e-9)) + 1
            stream = (sensor.stream + first) % _SEEDS
            rows += [n, column, len(settings), depth, memory, sensor.seed, stream]
            settings += [float(sensor.offset), period, delay, *sensor.chain()[first : first + n].ravel()]
            sampling.append(sensor)
            width, memory = max(width, column + n), memory + depth * n
        return cls(tuple(sampling), np.array(rows, dtype=np.int64), np.array(settings), width, memory)

    def instants(self, start: float, end: float) -> NDArray[np.float64]:
        """Return all instants from start to end, and the start itself, in order; those that are one but for round-off
        only once."""
        found = [np.array([start])]
        for sensor in self.sensors:
            period, offset = sensor.interval, float(sensor.offset)
            first, last = np.ceil((start - offset) / period - _SAME), np.floor((end - offset) / period + _SAME)
            found.append(offset + np.arange(first, last + 1.0) * period)
        near = _SAME * min((sensor.interval for sensor in self.sensors), default=1.0)
        every = np.sort(np.concatenate(found))
        # steps that are round-off are none
        every = np.where(every > end - near, end, np.where(every < start + near, start, every))
        return np.asarray(every[np.concatenate([[True], np.diff(every) > near])])

    def how_many(self, start: float, end: float) -> float:
        """Return about how many instants there are."""
        return sum((end - start) / sensor.interval for sensor in self.sensors)


_SAME = sensing._SAME
