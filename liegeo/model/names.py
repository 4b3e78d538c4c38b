"""What the columns of a result are called, and in which unit they are: the one place that decides it.

A column is `owner.quantity`, then its component: `.x .y .z` along axes (`.w` first in a quaternion), `[k]` where things
are only counted.  Its owner is a joint, a body, a frame or node on one ("boom.tip"), a force element, or nobody
("energy").  An angle is `.angle`, a length `.position`, a rotation `.quaternion`; the rate of the one coordinate of a
joint is `.speed`, rates of several are `.angular_velocity` and `.velocity`.

What belongs to a joint is in its own axes, as q and v hold it; what belongs to a body, frame or node is in the world's.
The columns of a joint, and those of a force element's inputs and of what it exerts, are said by its class
(model/about.py); coordinates and inputs of which it says nothing are numbered.
"""

from __future__ import annotations

import difflib
import fnmatch
import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from liegeo.errors import InputError
from liegeo.kernels import layout as at
from liegeo.kernels import observe
from liegeo.kernels.layout_table import Numbers
from liegeo.model import constraints, contacts, drives, forces, joints, sensors
from liegeo.model.about import OF_JOINT, POSITION_OF_JOINT, WXYZ, XYZ, Part, counted
from liegeo.model.body import FlexibleBody
from liegeo.model.checks import split_name

if TYPE_CHECKING:
    from liegeo.model.model import Model

#: What a number comes from: ("q",), or a quantity that liegeo/observer.py computes.
Source = tuple[str, ...]

#: From the kind of a column to its unit.  Modes and screws are scaled as their author likes: they have none.
UNITS: Mapping[str, str] = MappingProxyType(
    {
        "time": "s",
        "angle": "rad",
        "angular velocity": "rad/s",
        "angular acceleration": "rad/s²",
        "position": "m",
        "deflection": "m",
        "velocity": "m/s",
        "acceleration": "m/s²",
        "quaternion": "",
        "coordinate": "",
        "rate of coordinate": "",
        "acceleration of coordinate": "",
        "generalised force": "",
        "modal coordinate": "",
        "modal speed": "",
        "modal acceleration": "",
        "modal force": "",
        "force": "N",
        "moment": "N·m",
        "input": "",
        "energy": "J",
        "power": "W",
        "voltage": "V",
        "current": "A",
        "pressure": "Pa",
        "flow": "m³/s",
        "length": "m",
        "momentum": "N·s",
        "angular momentum": "N·m·s",
        "specific force": "m/s²",
        "direction": "",
        "strain": "",
        "count": "",
        # roots of energies
        "bristle": "",
    }
)

# By kind of a speed: the kinds of its acceleration and of the force that works on it.
_DUAL = {
    "angular velocity": ("angular acceleration", "moment"),
    "velocity": ("acceleration", "force"),
    "rate of coordinate": ("acceleration of coordinate", "generalised force"),
    "modal speed": ("modal acceleration", "modal force"),
}
# By kind of a speed: the kind of what changes with it.
_POSITION_OF = {"angular velocity": "angle", "velocity": "position", "rate of coordinate": "coordinate"}


# Where a reader finds all names: with a model, with a result.
_LISTS = ("model.names.table and model.names.more", "result.names and result.more")
_WILD = ("'*.angle'", "result.select('*.angle')")


class Column(NamedTuple):
    """One number a sample: number `place` of what its source, an array or a computation, gives."""

    name: str
    kind: str
    source: Source
    place: int

    @property
    def unit(self) -> str:
        return UNITS[self.kind]


# What a joint opposes to its motion, by the numbers of its body that it comes from.
_OPPOSED = {
    "resistance": (at.STIFFNESS, at.DAMPING),
    "spring": (at.STIFFNESS,),
    "damper": (at.DAMPING,),
    "friction": (at.FRICTION,),
}

# By how many numbers a quantity has: its components.
_COMPONENTS = {1: ("",), 3: XYZ, 4: WXYZ}


def _columns_of(numbers: Numbers, bends: bool = False) -> tuple[Part, ...]:
    """Return the columns that observers find, as kernels/observe.py names them."""
    return tuple(
        Part(name, shown.kind, _COMPONENTS[shown.size])
        for name, shown in numbers.parts.items()
        if shown.kind and shown.bends == bends
    )


# What can be computed: of every body, frame and node; of nodes that deform, in the axes of their body; of every joint;
# of the whole model.
FRAMES, BENDING = _columns_of(observe.FRAME_NUMBERS), _columns_of(observe.FRAME_NUMBERS, bends=True)
REACTION = (Part("reaction.moment", "moment", XYZ), Part("reaction.force", "force", XYZ))
BALANCE = _columns_of(observe.BALANCE_NUMBERS)


# Kinds of joints that turn and of joints that slide.
_KINDS_OF_JOINT = {OF_JOINT: ("moment", "force"), POSITION_OF_JOINT: ("angle", "position")}
# By quantity, whoever owns it, and component: all units that it may have.
_UNITS_OF: dict[tuple[str, str], set[str]] = {}
for _part in (
    *(part for joint in joints.ALL_JOINTS for part in (*(joint.coordinates or ()), *(joint.speeds or ()))),
    *(
        part
        for force in (*drives.ALL_FORCES, *contacts.ALL_CONTACTS)
        for given in (*(force.inputs if isinstance(force.inputs, tuple) else ()), *force.exerts)
        for part in (given._replace(kind=kind) for kind in _KINDS_OF_JOINT.get(given.kind, (given.kind,)))
    ),
    *(part for sensor in sensors.ALL_SENSORS for part in sensor.shows if part.kind in UNITS),
    *(*FRAMES, *BENDING, *REACTION, *BALANCE),
):
    for _component in _part.components:
        _UNITS_OF.setdefault((_part.name, _component), set()).add(UNITS[_part.kind])


def implied_unit(column: str, columns: Iterable[str]) -> str:
    """The unit that a column of a table has by its name alone, "" if that leaves it open.

    The speed of a joint is in rad/s if the table has its angle, in m/s if it has its position.
    """
    if column == "time":
        return UNITS["time"]
    quantity = re.sub(r"(\.[xyzw]|\[\d+\])$", "", column)
    component = column.removeprefix(quantity)
    owner, _, last = quantity.rpartition(".")
    for name in (f"{owner.rpartition('.')[2]}.{last}", last):
        if len(found := _UNITS_OF.get((name, component), set())) == 1:
            return next(iter(found))
    if last == "speed":
        beside = {re.sub(r"\[\d+\]$", "", name) for name in columns}
        return "rad/s" if f"{owner}.angle" in beside else "m/s" if f"{owner}.position" in beside else ""
    return ""


class _Columns:
    """Columns in order, the groups that they form, and the names of whole quantities."""

    def __init__(self) -> None:
        self.by_name: dict[str, Column] = {}
        self.groups: dict[str, list[str]] = {}
        self.quantities: list[str] = []

    def add(self, owner: str, part: Part, source: Source, start: int = 0, kinds: Sequence[str] = ()) -> int:
        """Consecutive columns of one source, `kinds` where they differ; returns the index behind the last one."""
        dot = f"{owner}." if owner else ""
        names = [f"{dot}{part.name}{component}" for component in part.components]
        for k, (name, kind) in enumerate(zip(names, kinds or [part.kind] * len(names), strict=True)):
            self.by_name.setdefault(name, Column(name, kind, source, start + k))
        if part.components != ("",):
            self.groups[f"{dot}{part.name}"] = names
        # "reaction.force" is half of "reaction"
        whole = part.name.rpartition(".")[0]
        if whole and f"{dot}{whole}" not in self.by_name:
            self.groups.setdefault(f"{dot}{whole}", []).extend(names)
        self.quantities.append(f"{dot}{part.name}")
        return start + len(names)


class Names:
    """The columns of a model by name: those of the table, and those that can be computed.

    `Model.names` keeps one per model, because listing hundreds of names takes as long as a short run.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._table = self._list_table()

    @property
    def table(self) -> Mapping[str, Column]:
        """Columns of the table, time first."""
        return self._table.by_name

    @property
    def more(self) -> Mapping[str, Column]:
        """Columns that are computed when asked for."""
        return self._computed.by_name

    @property
    def computable(self) -> tuple[str, ...]:
        """The quantities behind `more`, without their components."""
        return tuple(self._computed.quantities)

    @functools.cached_property
    def _computed(self) -> _Columns:
        return self._list_computed()

    @functools.cached_property
    def _groups(self) -> Mapping[str, list[str]]:
        return self._computed.groups | self._table.groups

    @functools.cached_property
    def _rank(self) -> Mapping[str, int]:
        """By column: its place among all of them."""
        return {name: k for k, name in enumerate(dict.fromkeys([*self.table, *self.more]))}

    def column(self, name: str) -> Column:
        return self.table[name] if name in self.table else self.more[name]

    def find(self, name: str, who: str = "result") -> tuple[str, ...]:
        """Return the columns that a name stands for: itself, or the components of a quantity."""
        if name in self.table:
            return (name,)
        if name in self._table.groups:
            return tuple(self._table.groups[name])
        if name in self.more:
            return (name,)
        if name in self._groups:
            return tuple(self._groups[name])
        raise InputError(self._unknown(name, who))

    def match(self, patterns: Iterable[str], who: str = "result") -> list[str]:
        """Return the columns behind names and wildcards (* and ?), each once, in the order of the patterns."""
        found: dict[str, None] = {}
        for pattern in patterns:
            if not isinstance(pattern, str):
                raise InputError(f"{who}: {pattern!r} is not a name, expected text such as 'hinge.angle' or '*.angle'.")
            wild = "*" in pattern or "?" in pattern
            found.update(dict.fromkeys(self._match(pattern, who) if wild else self.find(pattern, who)))
        return list(found)

    def _match(self, pattern: str, who: str) -> list[str]:
        columns = set(matches(pattern, self._rank))
        columns.update(name for group in matches(pattern, self._groups) for name in self._groups[group])
        if not columns:
            raise InputError(
                f"{who}: nothing matches '{pattern}'.\n"
                f"  Names are in {_LISTS[who == 'result']}; * stands for any text, ? for one letter."
            )
        return sorted(columns, key=self._rank.__getitem__)

    def _unknown(self, name: str, who: str) -> str:
        of_owner = [n for n in [*self._table.quantities, *self.computable] if n.startswith(f"{name}.")]
        if of_owner:
            shown = ", ".join(of_owner[:8]) + (", …" if len(of_owner) > 8 else "")
            return (
                f"{who}: '{name}' has several quantities, expected the name of one: {shown}.\n"
                f"  The wildcard '{name}.*' stands for all of them."
            )
        close = difflib.get_close_matches(name, [*self._groups, *self._rank], n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        return (
            f"{who}: '{name}' is neither a column nor can it be computed.{hint}\n"
            f"  Names are in {_LISTS[who == 'result']}; {_WILD[who == 'result']} finds them by wildcard."
        )

    def _joints(self) -> Iterator[joints.Joint]:
        by_name = {joint.name: joint for joint in self.model.tree.all_joints}
        return (by_name[name] for name in self.model.joints)

    def _flexible(self) -> Iterator[str]:
        return (body.name for body in map(self.model.body, range(len(self.model.bodies))) if body.n_modes)

    def _list_table(self) -> _Columns:
        out = _Columns()
        out.add("", Part("time", "time"), ("t",))
        group = self.model.group
        if group is not None:
            for joint in self._joints():
                for letter, parts in zip("qv", _parts(joint), strict=True):
                    place = getattr(group, letter).get(joint.name, slice(0, 0))
                    _check_columns(joint.name, parts, place.stop - place.start)
                    k = place.start
                    for part in parts:
                        k = out.add(joint.name, part, (letter,), k)
            for name in self._flexible():
                for letter, what, kind in (("q", "eta", "modal coordinate"), ("v", "etad", "modal speed")):
                    place = getattr(group, letter)[name]
                    out.add(name, counted(what, kind, place.stop - place.start), (letter,), place.start)
        for force in self.model.tree.forces:
            if force.n_inputs:
                k = self.model.nv + self.model.inputs[force.name].start
                _check_columns(force.name, self._inputs(force), force.n_inputs)
                for part in self._inputs(force):
                    k = out.add(force.name, part, ("u",), k)
            if force.n_states:
                _check_columns(force.name, force.states, force.n_states)
                k = self.model.states[force.name].start
                for part in force.states:
                    k = out.add(force.name, self._on_joint(force, part), ("x",), k)
        for controller in self.model.tree.controllers:
            for name, kind in controller.inputs.items():
                place = self.model.inputs[f"{controller.name}.{name}"].start
                out.add(controller.name, Part(name, kind), ("u",), self.model.nv + place)
        loops = {loop.name: loop for loop in self.model.tree.loops}
        for name, places in self.model.inputs.items():
            if name in loops:
                n, switch = places.stop - places.start, isinstance(loops[name], constraints.SWITCHED)
                part = Part("input", "input") if switch else counted("input", "input", n)
                out.add(
                    name, part, ("u",), self.model.nv + places.start, self._motion_kinds(name, len(part.components))
                )
        for loop in self.model.tree.loops:
            if isinstance(loop, constraints.SWITCHED):
                # of a weld the pose stands behind its switch, and nobody needs it
                place = self.model.inputs[f"{loop.name}.{constraints.MODE}"].start
                out.add(loop.name, Part(constraints.MODE, "count"), ("u",), self.model.nv + place)
        return out

    def _motion_kinds(self, name: str, n: int) -> list[str]:
        """Of a motion of plain coordinates: kinds of value, rate and acceleration.  Nothing for others."""
        loop = next(loop for loop in self.model.tree.loops if loop.name == name)
        if not isinstance(loop, constraints.Motion):
            return []
        joint = next(joint for joint in self._joints() if joint.name == loop.joint)
        values, rates = ([part.kind for part in parts for _ in part.components] for parts in _parts(joint))
        if loop.coordinate is not None:
            values, rates = (kinds[loop.coordinate : loop.coordinate + 1] for kinds in (values, rates))
        kinds = [*values, *rates, *(_DUAL[kind][0] for kind in rates)]
        return kinds if len(kinds) == n else []

    def _inputs(self, force: forces.Force) -> list[Part]:
        parts = (counted("input", "input", force.n_inputs),) if force.inputs is None else force.inputs
        return [self._on_joint(force, part) for part in parts]

    def _on_joint(self, force: forces.Force, part: Part) -> Part:
        """Return a part of a force element; a kind that depends on the joint on which it acts is that of the joint."""
        if part.kind not in (OF_JOINT, POSITION_OF_JOINT) or not isinstance(force, forces.JointForce):
            return part
        speed = _speed_kinds(next(j for j in self._joints() if j.name == force.joint))[force.speed]
        if part.kind == POSITION_OF_JOINT:
            return part._replace(kind=_POSITION_OF[speed])
        return part._replace(kind=_DUAL[speed][1])

    def _list_computed(self) -> _Columns:
        out = _Columns()
        for part in BALANCE:
            out.add("", part, ("balance", part.name))
        speeds = self.model.group.v if self.model.group is not None else {}
        for joint in self._joints():
            kinds = _speed_kinds(joint)
            if kinds:
                _add_rates(out, joint.name, "acceleration", kinds, speeds[joint.name].start, numbered=len(kinds) > 1)
            for k, part in enumerate(REACTION):
                out.add(joint.name, part, ("joint", joint.name), 3 * k)
            self._add_resistance(out, joint.name, kinds)
        for force in self.model.tree.forces:
            for part in force.exerts:
                out.add(force.name, self._exerted(force, part), ("force", force.name, part.name))
        for loop in self.model.tree.loops:
            self._add_loop(out, loop)
        for sensor in self.model.tree.sensors:
            k = 0
            for part in sensor.shows:
                k = out.add(sensor.name, self._sensed(sensor, part), ("sensor", sensor.name), k)
        for name in self._flexible():
            kinds = ["modal speed"] * (speeds[name].stop - speeds[name].start)
            _add_rates(out, name, "etadd", kinds, speeds[name].start, numbered=True)
        for body in self.model.tree.bodies:
            nodes = body.nodes if isinstance(body, FlexibleBody) else {}
            for place in ("", *dict.fromkeys([*body.frames, *nodes])):
                owner = f"{body.name}.{place}" if place else body.name
                bends = place in nodes and np.any(np.asarray(nodes[place].modes))
                for part in (*FRAMES, *(BENDING if bends else ())):
                    out.add(owner, part, ("frame", owner, part.name))
        return out

    def _add_resistance(self, out: _Columns, joint: str, speeds: Sequence[str]) -> None:
        """What a joint's spring and damper, and its friction, oppose to its motion, if it has any."""
        kinds = [_DUAL[speed][1] for speed in speeds]
        data = self.model.floats[self.model.joints.index(joint) * at.BODY_F_SIZE :]
        for what, starts in _OPPOSED.items():
            if any(data[start : start + len(kinds)].any() for start in starts):
                part = counted(what, kinds[0], len(kinds)) if len(kinds) > 1 else Part(what, kinds[0])
                out.add(joint, part, (what, joint), 0, kinds)

    def _sensed(self, sensor: sensors.Sensor, part: Part) -> Part:
        """Return a part of what a sensor shows; what a coordinate is depends on its joint."""
        if not isinstance(sensor, sensors.Encoder | sensors.Tachometer):
            return part
        joint = next(joint for joint in self._joints() if joint.name == sensor.joint)
        if isinstance(sensor, sensors.Tachometer):
            return part._replace(kind=_speed_kinds(joint)[sensor.speed])
        kind = [part.kind for part in _parts(joint)[0] for _ in part.components][sensor.coordinate]
        return Part(kind, kind)

    def _exerted(self, force: forces.Force, part: Part) -> Part:
        """Return a part of what a force element exerts; what is a torque on one joint is a force on another."""
        found = self._on_joint(force, part)
        straight = part.kind == OF_JOINT and part.name == "torque" and found.kind != "moment"
        return found._replace(name="force") if straight else found

    def _add_loop(self, out: _Columns, loop: joints.Joint | constraints.Constraint) -> None:
        """What a loop exerts: a wrench, what a motion takes, or its multipliers."""
        source = ("loop", loop.name)
        if isinstance(loop, joints.Joint | constraints.FrameConstraint):
            for k, part in enumerate(REACTION):
                out.add(loop.name, part, source, 3 * k)
        elif isinstance(loop, constraints.Lock | constraints.RigidStop):
            speeds = _speed_kinds(next(joint for joint in self._joints() if joint.name == loop.joint))
            kinds = [_DUAL[kind][1] for kind in (speeds if loop.speed is None else [speeds[loop.speed]])]
            part = counted("tau", kinds[0], len(kinds)) if len(kinds) > 1 else Part("tau", kinds[0])
            out.add(loop.name, part, source, 0, kinds)
        elif isinstance(loop, constraints.Motion):
            speeds = _speed_kinds(next(joint for joint in self._joints() if joint.name == loop.joint))
            kinds = [_DUAL[kind][1] for kind in (speeds if loop.coordinate is None else [speeds[loop.coordinate]])]
            part = counted("tau", kinds[0], len(kinds)) if len(kinds) > 1 else Part("tau", kinds[0])
            out.add(loop.name, part, source, 0, kinds)
        else:
            out.add(loop.name, counted("multiplier", "generalised force", len(loop.rows)), source)
            if isinstance(loop, constraints.Coupling):
                self._add_coupling(out, loop)

    def _add_coupling(self, out: _Columns, loop: constraints.Coupling) -> None:
        """What a gear, rack or coupling exerts on each coordinate: its multiplier times the factor."""
        by_name = {joint.name: joint for joint in self._joints()}
        for k, name in enumerate(loop.factors()):
            joint, number = split_name(name, by_name)
            kind = _DUAL[_speed_kinds(by_name[joint])[int(number or 0)]][1]
            # of a gear `a` and `b`, of others the names of the coordinates
            part = Part(f"tau.{loop.joint_field(name).path[-1]}", kind)
            out.add(loop.name, part, ("coupling", loop.name), k)


def _check_columns(owner: str, parts: Sequence[Part], n: int) -> None:
    """That there is a name for each number of an owner, or its columns would be those of its neighbours."""
    named = sum(len(part.components) for part in parts)
    if named != n:
        raise InputError(f"result: '{owner}' has {n} numbers, but {named} names: correct the columns of its class.")


def matches(pattern: str, names: Iterable[str]) -> list[str]:
    """Those names that a pattern stands for; * is any text, ? one letter, and brackets are part of names."""
    fits = re.compile(fnmatch.translate(pattern.replace("[", "[[]"))).match
    return [name for name in names if fits(name)]


def _add_rates(out: _Columns, owner: str, name: str, speeds: Sequence[str], start: int, numbered: bool) -> None:
    """Accelerations and generalised forces of the owner's speeds: one number, or counted in their order."""
    for what, source, k in ((name, "a", 0), ("tau", "u", 1)):
        kinds = [_DUAL[speed][k] for speed in speeds]
        part = counted(what, kinds[0], len(kinds)) if numbered else Part(what, kinds[0])
        out.add(owner, part, (source,), start, kinds)


def _parts(joint: joints.Joint) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    n = len(joint.screws())
    if joint.coordinates is None or joint.speeds is None:
        return (counted("q", "coordinate", n),), (counted("v", "rate of coordinate", n),)
    return joint.coordinates, joint.speeds


def _speed_kinds(joint: joints.Joint) -> list[str]:
    return [part.kind for part in _parts(joint)[1] for _ in part.components]
