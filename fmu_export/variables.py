"""The variables of an FMU: one description, which every kind of FMU shares.

Names are those of results (liegeo/model/names.py), written as FMI's structured names: a part that is no identifier
stands in quotes.  Numbers inside are SI; a variable whose unit the model file chose has a `factor`, SI per unit.

What a model file's `fmu` section leaves out:  inputs are all force elements, wheels, and prescribed motions without a
law;  outputs are coordinates and speeds of joints, positions of frames, energies, sensors;  parameters are all of the
file.
Always there are gravity, the initial coordinates and speeds of joints and modes, and the integrator.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fmu_export.quantity_types import Sizes, base_unit, quantity_of, unit_name
from liegeo.errors import InputError
from liegeo.io import mechanism as files
from liegeo.io import units
from liegeo.io.mechanism import Interface, Mechanism
from liegeo.model.about import about, about_fields
from liegeo.model.checks import suggest
from liegeo.model.constraints import Motion
from liegeo.model.forces import Actuator
from liegeo.model.model import Model
from liegeo.model.names import UNITS, Column, matches

REAL, STRING = "Real", "String"
INPUT, OUTPUT, PARAMETER, LOCAL = "input", "output", "parameter", "local"
HOLD, LINEAR = "hold", "linear"
# Roles of variables that are parameters.
FILE, INITIAL, GRAVITY, INTEGRATOR = "file", "initial", "gravity", "integrator"
MESSAGE = "message"
# Roles of variables that only native FMUs have, for model exchange: continuous states and their derivatives.
STATE, RATE, INDICATOR = "state", "rate", "indicator"
# those of model exchange alone
EXCHANGED = (STATE, RATE, INDICATOR)
#: The file in the resources of an FMU that describes its variables.
DESCRIPTION = "variables.json"

_AXES = ("x", "y", "z")
# What variables are, by role, for those who read messages.
_KINDS = {
    INPUT: "an input",
    OUTPUT: "an output",
    FILE: "a parameter of the file",
    INITIAL: "a start value",
    GRAVITY: "gravity, which every FMU has",
    INTEGRATOR: "a setting of the integrator, which every FMU has",
    MESSAGE: "the last message, which every FMU has",
    STATE: "a continuous state",
    RATE: "the derivative of a continuous state",
    INDICATOR: "an event indicator",
}
# The inputs of a prescribed motion.
_OF_MOTION = ("value", "rate", "acceleration")
_WILDCARD = re.compile(r"[*?\[]")
_NOMINAL_PATTERN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class ExportedVariable:
    """A scalar variable.

    `role` says what it stands for, and `key` which one: of an input its place in u, of an output the source and place
    of its column, of a parameter its name in the model file, of an initial value letter and place, and so on.
    """

    name: str
    role: str
    key: tuple[Any, ...]
    causality: str
    variability: str
    type: str = REAL
    start: float | str | None = None
    unit: str = ""
    quantity: str = ""
    factor: float = 1.0
    minimum: float | None = None
    maximum: float | None = None
    nominal: float | None = None
    description: str = ""

    @property
    def initial(self) -> str | None:
        if self.causality == INPUT:
            return None
        return "exact" if self.causality == PARAMETER else "calculated"

    def in_unit(self, value: float) -> float:
        """A value in SI in the variable's unit; without the round-off of the conversion, where 30 deg was meant."""
        found = value / self.factor
        short = float(f"{found:.15g}")
        return short if short * self.factor == value else found

    def as_dict(self) -> dict[str, Any]:
        """What is not as usual, as plain data."""
        usual = {field.name: field.default for field in dataclasses.fields(self)}
        return {name: value for name, value in vars(self).items() if value != usual[name]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ExportedVariable:
        return cls(**{**data, "key": _as_tuple(data["key"])})


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Settings:
    """How an FMU integrates, by itself: each field is a variable `integrator.…`, of what `about` says."""

    method: str = field(metadata=about("text", "method of liegeo.integrate, by name"))
    step: float = field(metadata=about("time", "longest internal step of methods of fixed step"))
    rtol: float = field(metadata=about("number", "relative tolerance of methods that choose their steps"))
    atol: float = field(metadata=about("number", "absolute tolerance of methods that choose their steps"))
    extrapolation: str = field(
        default=HOLD, metadata=about("text", "what inputs do within a communication step: hold, or linear")
    )


def structured(name: str) -> str:
    """A name of a result as a structured name of FMI: parts that are no identifiers go into quotes."""
    out = []
    for part in name.split("."):
        plain, bracket, rest = part.partition("[")
        if not _NOMINAL_PATTERN.fullmatch(plain):
            plain = "'" + plain.replace("\\", "\\\\").replace("'", "\\'") + "'"
        out.append(plain + bracket + rest)
    return ".".join(out)


def variables(
    mechanism: Mechanism, settings: Settings, paths: Mapping[str, str] | None = None
) -> list[ExportedVariable]:
    """All variables of the FMU of a mechanism, inputs first; `paths` as `exposed` gives them."""
    model, interface = mechanism.compile(), mechanism.fmu
    found = [*_inputs(mechanism, model, interface)]
    taken = {variable.name for variable in found}
    found += [variable for variable in _outputs(model, interface) if variable.name not in taken]
    found += _parameters(mechanism, interface, paths or {})
    found += _built_in(mechanism, model, settings)
    unique: dict[str, ExportedVariable] = {}
    for variable in _apart(found):
        other = unique.setdefault(variable.name, variable)
        if other is not variable:
            raise InputError(
                f"fmu: two variables would be called '{variable.name}': {_KINDS[other.role]} and "
                f"{_KINDS[variable.role]}.\n"
                "  Give one of them another name in the model file, or leave one out of what its fmu section names."
            )
    sizes = Sizes(model, mechanism.state())
    return [_sized(variable, sizes) for variable in unique.values()]


def _apart(found: Sequence[ExportedVariable]) -> list[ExportedVariable]:
    """The variables, in which no parameter of the file is a structure too.

    Where a body is called like a parameter, `load` would be a number and hold `load.position.x`; the parameter is then
    called `load.value`, whichever of the others a kind of FMU has.
    """
    out = list(found)
    for k, variable in enumerate(out):
        while variable.role == FILE and any(other.name.startswith(f"{variable.name}.") for other in out):
            out[k] = variable = dataclasses.replace(variable, name=f"{variable.name}.value")
    return out


def _sized(variable: ExportedVariable, sizes: Sizes) -> ExportedVariable:
    """The variable with its usual size, if it moves and nobody said one: the limit of a motor, or what Sizes says."""
    if variable.role not in (INPUT, OUTPUT, INITIAL) or variable.nominal is not None:
        return variable
    if variable.role == INPUT and variable.maximum is not None and variable.minimum == -variable.maximum != 0.0:
        return dataclasses.replace(variable, nominal=variable.maximum)
    return dataclasses.replace(variable, nominal=sizes.nominal(variable.unit))


# ---- inputs


def with_starts(mechanism: Mechanism) -> Mechanism:
    """The mechanism in which prescribed motions that nothing else gives begin where the fmu section says.

    Models with loops may not be assembled from elsewhere.
    """
    model, inputs = mechanism.compile(), mechanism.experiment.inputs
    motions = motion_inputs(model)
    known = list(input_places(model))
    starts = {
        name: np.full(motions[name][1], said.start)
        for name, said in _by_name("inputs", mechanism.fmu.inputs, known)
        if name in motions and said.start is not None and not {name, f"{name}.input"} & inputs.keys()
    }
    if not starts:
        return mechanism
    return dataclasses.replace(
        mechanism, experiment=dataclasses.replace(mechanism.experiment, inputs={**inputs, **starts})
    )


def _inputs(mechanism: Mechanism, model: Model, interface: Interface) -> Iterator[ExportedVariable]:
    from liegeo.motion import Drive

    places = input_places(model)
    given = interface.inputs or dict.fromkeys(_usual_inputs(model), files.Variable())
    state = mechanism.state()
    values = Drive(model, dict(mechanism.experiment.inputs)).values(state.t, state.q, state.w)
    columns = {column.place: column for column in _columns_of_u(model)}
    motions = motion_inputs(model)
    controlled = _controlled(model)
    limits = {force.name: force.limit for force in model.tree.forces if isinstance(force, Actuator)}
    for name, said in _by_name("inputs", given, places):
        part = places[name]
        if part.start in controlled:
            if name in interface.inputs:
                raise InputError(
                    f"fmu: inputs: '{name}' is driven by controller '{controlled[part.start]}'.\n"
                    "  Leave it out; what the controller takes from outside is an input of the FMU."
                )
            continue
        # of a motion, value, rate and acceleration: what is said is about its value
        of_each = motions[name][1] if name in motions else part.stop - part.start
        for place in range(part.start, part.stop):
            column, (order, k) = columns[place], divmod(place - part.start, of_each)
            own = column.name
            if name in motions:
                own = f"{name}.{_OF_MOTION[order]}" + (f"[{k}]" if of_each > 1 else "")
            here = _derivative(said, order)
            start = float(values[place] if here.start is None else here.start)
            if order:
                # it stands still until somebody moves it: with a rate it would go on and jump back at each step
                start = 0.0
            # beyond it a motor does no more; a start value beyond it, which would be no valid one, is left alone
            limit = limits.get(name, np.inf)
            low, high = (-limit, limit) if abs(start) <= limit < np.inf else (None, None)
            yield _described(
                ExportedVariable(
                    structured(own),
                    INPUT,
                    (place,),
                    INPUT,
                    "continuous",
                    start=start,
                    minimum=low,
                    maximum=high,
                ),
                here,
                column.unit,
                f"{column.kind} of {name}",
            )


def _controlled(model: Model) -> Mapping[int, str]:
    """Return by place in u the controller that drives it."""
    from liegeo.motion import Drive
    from liegeo.sampled import Plan

    controllers = model.tree.controllers
    inside = next((each.name for each in controllers if each.fmu is not None), "")
    if inside:
        raise InputError(
            f"fmu: controller '{inside}' is an FMU, which cannot run inside another.\n"
            "  Run both with `liegeo cosim`, or write the controller as blocks."
        )
    return Plan(model, controllers, Drive(model)._place, {}).owners


def _derivative(said: files.Variable, order: int) -> files.Variable:
    """What is said about a variable, for its first or second derivative by time."""
    if order == 0:
        return said
    unit = None if said.unit is None else said.unit + ("/s" if order == 1 else "/s^2")
    text = None if said.description is None else f"{said.description}, its {_OF_MOTION[order]}"
    return files.Variable(unit, text)


def input_places(model: Model) -> dict[str, slice]:
    """By name of what takes inputs: where they stand in u.  Motions on groups are not among them: see `motions`."""
    speeds = model.group.v if model.group is not None else {}
    driven = {name: p for name, p in model.inputs.items() if name not in model.times}
    known = {name: slice(model.nv + p.start, model.nv + p.stop) for name, p in driven.items()}
    motions = {loop.name for loop in model.tree.loops if isinstance(loop, Motion)}
    return {
        **speeds,
        **{name: p for name, p in known.items() if name not in motions or name in motion_inputs(model)},
    }


def motion_inputs(model: Model) -> dict[str, tuple[slice, int]]:
    """By prescribed motion whose value is plain numbers: where its inputs stand in u, and how many values it has.

    Values, rates and accelerations follow each other.  The coordinates of a spherical joint are no plain numbers, and
    have more values than rates.
    """
    out = {}
    for loop in model.tree.loops:
        if isinstance(loop, Motion):
            place = model.inputs[loop.name]
            joint = next(joint for joint in model.tree.all_joints if joint.name == loop.joint)
            n = 1 if loop.coordinate is not None else len(joint.screws())
            if place.stop - place.start == 3 * n:
                out[loop.name] = (slice(model.nv + place.start, model.nv + place.stop), n)
    return out


def _usual_inputs(model: Model) -> list[str]:
    driven = {getattr(force, "joint", None) for force in model.tree.forces}
    with_law = {loop.name for loop in model.tree.loops if isinstance(loop, Motion) and loop.law is not None}
    known = input_places(model)
    wheels = [wheel.name for wheel in model.tree.wheels if wheel.name not in driven]
    return [name for name in [*model.inputs, *wheels] if name in known and name not in with_law]


def _columns_of_u(model: Model) -> list[Column]:
    names = model.names
    return [column for column in [*names.table.values(), *names.more.values()] if column.source == ("u",)]


# ---- outputs


def _outputs(model: Model, interface: Interface) -> Iterator[ExportedVariable]:
    names = model.names
    given = interface.outputs or dict.fromkeys(_usual_outputs(model), files.Variable())
    for name, said in _nearest(given, lambda pattern: names.match([pattern])):
        column = names.column(name)
        if column.source == ("t",):
            continue
        low, high = _bounds(column)
        variable = ExportedVariable(
            structured(name), OUTPUT, (column.source, column.place), OUTPUT, "continuous", minimum=low, maximum=high
        )
        yield _described(variable, said, column.unit, column.kind)


def _usual_outputs(model: Model) -> list[str]:
    table = [name for name, column in model.names.table.items() if column.source in (("q",), ("v",))]
    joints = tuple(f"{name}." for name in model.joints)
    coordinates = [name for name in table if name.startswith(joints)]
    frames = [f"{body.name}.{frame}.position" for body in model.tree.bodies for frame in body.frames]
    measured = [column.name for column in model.names.more.values() if column.source[0] == "sensor"]
    return [*coordinates, *frames, "energy", "energy.kinetic", "energy.gravitational", "energy.elastic", *measured]


def _bounds(column: Column) -> tuple[float | None, float | None]:
    return (-1.0, 1.0) if column.kind == "quaternion" else (None, None)


# ---- parameters


def _parameters(mechanism: Mechanism, interface: Interface, paths: Mapping[str, str]) -> Iterator[ExportedVariable]:
    known = {**{name: name for name in mechanism.declared if name not in paths.values()}, **paths}
    given = interface.parameters or dict.fromkeys(known, files.Variable())
    given = {pattern: said for pattern, said in given.items() if pattern != "gravity" or pattern in known}
    for name, said in _by_name("parameters", given, known):
        parameter = mechanism.declared[known[name]]
        variable = ExportedVariable(
            structured(name),
            FILE,
            (known[name],),
            PARAMETER,
            said.variability or "fixed",
            start=float(parameter.value if said.start is None else said.start),
            minimum=parameter.minimum,
            maximum=parameter.maximum,
        )
        yield _described(variable, said, parameter.unit, parameter.description or f"parameter {name} of the model")


def _built_in(mechanism: Mechanism, model: Model, settings: Settings) -> Iterator[ExportedVariable]:
    for k, axis in enumerate(_AXES):
        yield ExportedVariable(
            f"gravity.{axis}",
            GRAVITY,
            (k,),
            PARAMETER,
            "tunable",
            start=float(np.asarray(mechanism.tree.gravity)[k]),
            unit="m/s²",
            quantity=quantity_of("m/s²"),
            description=f"gravity along the world's {axis}",
        )
    state = mechanism.state()
    for name, column in model.names.table.items():
        if column.source in (("q",), ("v",), ("x",)):
            letter = column.source[0]
            value = getattr(state, letter)[column.place]
            yield ExportedVariable(
                f"initial.{structured(name)}",
                INITIAL,
                (letter, column.place),
                PARAMETER,
                "fixed",
                start=float(value),
                unit=column.unit,
                quantity=quantity_of(column.unit),
                description=f"{column.kind} at the start",
            )
    said = about_fields(Settings)
    # numbers first
    for name in sorted(said, key=lambda name: said[name].kind == "text"):
        common = (f"integrator.{name}", INTEGRATOR, (name,), PARAMETER, "fixed")
        value, text = getattr(settings, name), said[name].says
        if said[name].kind == "text":
            yield ExportedVariable(*common, STRING, start=str(value), description=text)
        else:
            unit = getattr(units, said[name].kind.upper()).unit
            quantity = quantity_of(unit)
            yield ExportedVariable(
                *common, start=float(value), unit=unit, quantity=quantity, minimum=0.0, description=text
            )
    yield ExportedVariable(
        "message", MESSAGE, (), LOCAL, "discrete", STRING, description="what was last said in the log"
    )


# ---- what a file says about variables


def _by_name(
    what: str, given: Mapping[str, files.Variable], known: Iterable[str]
) -> Iterator[tuple[str, files.Variable]]:
    """Each known name that a pattern stands for, once, with what is said about it."""
    names = list(known)

    def named(pattern: str) -> list[str]:
        found = [pattern] if pattern in names else matches(pattern, names)
        # a list is known by its elements
        found = found or [name for name in names if name.startswith(f"{pattern}[")]
        if not found:
            raise InputError(f"fmu: {what}: '{pattern}' is none of the model's {what}.{suggest(pattern, names)}")
        return found

    return _nearest(given, named)


def _nearest(
    given: Mapping[str, files.Variable], named: Callable[[str], Iterable[str]]
) -> Iterator[tuple[str, files.Variable]]:
    """Each name once, with what is said where it is named most closely: itself, in a group, by a wildcard."""
    found: dict[str, tuple[int, files.Variable]] = {}
    for pattern, said in given.items():
        for name in named(pattern):
            distance = 0 if name == pattern else 2 if _WILDCARD.search(pattern) else 1
            if name not in found or distance < found[name][0]:
                found[name] = distance, said
    return ((name, said) for name, (_, said) in found.items())


def _described(variable: ExportedVariable, said: files.Variable, unit: str, description: str) -> ExportedVariable:
    """The variable with what the model file says about it."""
    factor = 1.0
    if said.unit is not None:
        factor, powers = base_unit(said.unit)
        _, own = base_unit(unit) if unit else (1.0, {})
        # an angle may be called a number
        if {**powers, "rad": 0} != {**own, "rad": 0} and unit:
            raise InputError(f"fmu: '{variable.name}' is in {unit}, which is not measured in '{said.unit}'.")
    return dataclasses.replace(
        variable,
        unit=unit if said.unit is None else said.unit,
        quantity=quantity_of(unit or said.unit or ""),
        factor=factor,
        minimum=variable.minimum if said.min is None else said.min,
        maximum=variable.maximum if said.max is None else said.max,
        nominal=variable.nominal if said.nominal is None else said.nominal,
        description=description if said.description is None else said.description,
    )


# ---- numbers of a document as parameters


def exposed(
    given: Mapping[str, Any], declared: Iterable[str], patterns: Iterable[str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """A document in which numbers that `fmu.parameters` names by path have become parameters, beside those declared.

    Returns it, and by path (`bodies.hub.mass`, `bodies.hub.com[0]`) the name that the parameter has in the document.
    """
    document = _unshared(given)
    declared, paths = list(declared), {".".join(keys): keys for keys in _leaves(document)}
    wanted: dict[str, None] = {}
    for pattern in patterns:
        if pattern in declared or matches(pattern, declared) or pattern == "gravity":
            continue
        if pattern in paths:
            wanted[pattern] = None
        else:
            wanted.update({path: None for path in matches(pattern, paths) if _is_number(_at(document, paths[path]))})
    group = "exposed"
    while group in (document.get("parameters") or {}):
        group += "_"
    names: dict[str, str] = {}
    made: dict[str, Any] = {}
    for path in wanted:
        *above, last = paths[path]
        here = _at(document, above)
        value = here[last]
        if not _is_number(value):
            raise InputError(
                f"fmu: parameters: '{path}' is {value!r} in the file, expected a number, with a unit or without, or a "
                "list of them.\n  If it is an expression, name the parameters in it."
            )
        if isinstance(value, list):
            for k, each in enumerate(value):
                names[f"{path}[{k}]"] = f"{group}.p{len(made)}"
                value[k], made[f"p{len(made)}"] = f"$({group}.p{len(made)})", {"value": each}
        else:
            names[path] = f"{group}.p{len(made)}"
            here[last], made[f"p{len(made)}"] = f"$({group}.p{len(made)})", {"value": value}
    if made:
        document["parameters"] = {**(document.get("parameters") or {}), group: made}
    return document, names


def _unshared(value: Any) -> Any:
    """A copy in which nothing stands twice: what YAML's aliases share, a path must not change elsewhere."""
    if isinstance(value, Mapping):
        return {key: _unshared(each) for key, each in value.items()}
    return [_unshared(each) for each in value] if isinstance(value, list) else value


def _leaves(data: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The keys that lead to each value; names may have dots in them."""
    for key, value in data.items():
        here = (*above, key)
        if isinstance(value, dict) and here != ("parameters",):
            yield from _leaves(value, here)
        elif not isinstance(value, dict):
            yield here


def _at(document: Any, keys: Iterable[str]) -> Any:
    for key in keys:
        document = document[key]
    return document


def _is_number(value: Any) -> bool:
    """A number, text with a unit, or a list of them."""
    if isinstance(value, list):
        return bool(value) and all(not isinstance(each, list) and _is_number(each) for each in value)
    if isinstance(value, str):
        try:
            return units.parse(value) is not None
        except InputError:
            return False
    return isinstance(value, int | float) and not isinstance(value, bool)


def units_of(found: Sequence[ExportedVariable]) -> list[str]:
    """The units that occur, each once, in the order of their first variable."""
    return list(dict.fromkeys(variable.unit for variable in found if variable.unit))


__all__ = [
    "DESCRIPTION",
    "UNITS",
    "ExportedVariable",
    "Settings",
    "base_unit",
    "exposed",
    "structured",
    "unit_name",
    "units_of",
    "variables",
]
