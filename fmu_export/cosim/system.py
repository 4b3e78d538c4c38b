"""A system of FMUs: its members, connections between them, what is recorded, and the default experiment.

Everything is checked when a CosimSystem is made, against the descriptions inside the FMUs; no code of an FMU runs.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmu_export.cosim.fmu_file import (
    MODEL_EXCHANGE,
    TYPES,
    CosimVariable,
    Description,
    Value,
    check_real,
    check_whole,
    read_description,
)
from fmu_export.cosim.measures import Linear, conversion, in_measure
from fmu_export.exchange_solver import SOLVER_KEYS, ExchangeSolver
from liegeo.errors import InputError, ModelError
from liegeo.io import units
from liegeo.io.problems import ended
from liegeo.io.units import Quantity

if TYPE_CHECKING:
    from fmu_export.cosim.cosim_result import CosimResult

ALGORITHMS = ("jacobi", "gauss-seidel")
EXTRAPOLATIONS = ("hold", "linear")
DIRECTIONS = ("both", "up", "down")

# What goes from one FMU to another, for messages.
_PASSED_ON = "a number, a truth value or text, which are what a master passes on"

# A place in a system for messages: ("connections", 2), ("fmus", "arm", "start", "mass").
Place = tuple[str | int, ...]
Issue = tuple[Place, str]


@dataclass(frozen=True)
class FMU:
    """An FMU in a system: its file, values at the start, and each how many macro steps it communicates.

    Plain numbers in `start` are in the unit of the variable; text such as "20 mm" is converted.  `kind` is what it is
    run by, co-simulation where it has that, if not given; `solver` integrates one that is run by model exchange.
    """

    file: str | os.PathLike[str]
    start: Mapping[str, Any] = field(default_factory=dict)
    every: int = 1
    kind: str = ""
    solver: Mapping[str, Any] = field(default_factory=dict)

    @property
    def exchange_solver(self) -> ExchangeSolver:
        """Return the solver, with what is not given as it usually is."""
        return ExchangeSolver(**self.solver)


@dataclass(frozen=True)
class Connection:
    """`source` and `target` are "fmu.variable".  A transform replaces the conversion of units."""

    source: str
    target: str
    transform: Linear | None = None

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"


@dataclass(frozen=True)
class Crossing:
    """A state event: a variable passes a level, in its own unit or as text with one; `stop` ends the run there."""

    variable: str
    level: Any = 0.0
    direction: str = "both"
    stop: bool = False


@dataclass(frozen=True)
class CosimExperiment:
    """How a system is run; docs/cosim.md explains each.

    `step` is the macro step, or the first one where `tolerance` asks for steps of variable size.
    """

    start: float = 0.0
    end: float = 1.0
    step: float | None = None
    algorithm: str = "jacobi"
    order: tuple[str, ...] = ()
    extrapolation: str = "hold"
    iterations: int = 0
    feedthrough: bool = True
    tolerance: float | None = None
    min_step: float | None = None
    max_step: float | None = None
    instants: tuple[float, ...] = ()
    crossings: tuple[Crossing, ...] = ()

    def issues(self, prefix: Place = ("experiment",)) -> Iterator[Issue]:
        """What is wrong with it, whatever the system."""
        for key in ("start", "end", "step", "tolerance", "min_step", "max_step"):
            value = getattr(self, key)
            if value is not None and not math.isfinite(value):
                yield (*prefix, key), f"is {value}, expected a finite number"
            elif key not in ("start", "end") and value is not None and not value > 0.0:
                yield (*prefix, key), f"is {value:g}, must be > 0"
        if math.isfinite(self.start) and math.isfinite(self.end) and not self.end > self.start:
            yield (*prefix, "end"), f"is {self.end:g} s, must be after the start at {self.start:g} s"
        for key, allowed in (("algorithm", ALGORITHMS), ("extrapolation", EXTRAPOLATIONS)):
            if getattr(self, key) not in allowed:
                yield (*prefix, key), f"is '{getattr(self, key)}', expected {' or '.join(allowed)}"
        if isinstance(self.iterations, bool) or not isinstance(self.iterations, int) or self.iterations < 0:
            yield (*prefix, "iterations"), f"is {self.iterations!r}, expected how often a step is repeated: 0, 1, 2, …"
        if self.order and self.algorithm == "jacobi":
            yield (*prefix, "order"), "is given, but jacobi steps all FMUs from the same values; use gauss-seidel"
        for when in self.instants:
            if not math.isfinite(when):
                yield (*prefix, "instants"), f"has {when}, expected times"


def closest(name: str, names: Sequence[str]) -> str:
    """The end of a message about an unknown name."""
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f" Did you mean '{close[0]}'?"
    some = ", ".join(list(names)[:12]) + (", …" if len(names) > 12 else "")
    return f" There are: {some}." if names else ""


@dataclass(frozen=True)
class Link:
    """A connection, resolved: names of FMUs, their variables, and what happens to the value between them."""

    source: str
    output: CosimVariable
    target: str
    input: CosimVariable
    linear: Linear


class CosimSystem:
    """FMUs by name, connections between them, patterns of what is recorded, and the default experiment.

        system = CosimSystem({"plant": FMU("plant.fmu"), "control": FMU("pd.fmu", {"kp": 8})},
                        ["plant.x -> control.y", "control.u -> plant.force"])
        result = system.simulate(10.0, 1e-3)
        result["plant.x"]

    ModelError lists all that is wrong with it.  `folder` is where relative names of files are looked for.
    """

    def __init__(
        self,
        fmus: Mapping[str, FMU],
        connections: Sequence[str | Connection] = (),
        outputs: Sequence[str] = ("*",),
        experiment: CosimExperiment | None = None,
        *,
        name: str = "system",
        description: str = "",
        folder: str | os.PathLike[str] = ".",
    ) -> None:
        self.name = name
        self.description = description
        self.folder = Path(folder)
        self.fmus = dict(fmus)
        self.connections = tuple(c if isinstance(c, Connection) else parse_connection(c) for c in connections)
        self.outputs = tuple(outputs)
        self.experiment = experiment or CosimExperiment()
        self.descriptions: dict[str, Description] = {}
        self.starts: dict[str, dict[str, Value]] = {}
        self.links: tuple[Link, ...] = ()
        # what its files live in, if that is removed with it
        self.held: object = None
        self.issues = tuple(self._check())
        if self.issues:
            count = f"{len(self.issues)} problems:\n" if len(self.issues) > 1 else ""
            raise SystemIssuesError(
                f"system '{name}': {count}" + "\n".join(_told(issue) for issue in self.issues),
                self.issues,
            )

    def __repr__(self) -> str:
        return f"CosimSystem('{self.name}', {len(self.fmus)} FMUs, {len(self.connections)} connections)"

    # ---- checks

    def _check(self) -> Iterator[Issue]:
        if not self.fmus:
            yield ("fmus",), "is empty, expected at least one FMU"
        for name, fmu in self.fmus.items():
            yield from self._check_fmu(name, fmu)
        yield from self._check_once()
        yield from self._check_connections()
        yield from self._check_outputs()
        yield from self.experiment.issues()
        yield from self._check_experiment(self.experiment)

    def _check_fmu(self, name: str, fmu: FMU) -> Iterator[Issue]:
        here: Place = ("fmus", name)
        if not name or not name.isprintable() or any(c in name for c in " ,\"'>\t"):
            yield here, f"is called '{name}', expected a name without blanks, commas, quotes and >"
        if isinstance(fmu.every, bool) or not isinstance(fmu.every, int) or fmu.every < 1:
            yield (*here, "every"), f"is {fmu.every!r}, expected a number of macro steps: 1, 2, 3, …"
        try:
            found = read_description(self.folder / fmu.file, fmu.kind)
        except OSError as error:
            yield (*here, "fmu"), f"'{fmu.file}' cannot be read: {error.strerror}"
            return
        except InputError as error:
            yield (*here, "fmu"), str(error)
            return
        self.descriptions[name] = found
        yield from self._check_solver((*here, "solver"), fmu, found)
        self.starts[name] = {}
        for key, value in fmu.start.items():
            try:
                self.starts[name][key] = self._start(found, key, value)
            except InputError as error:
                yield (*here, "start", key), str(error)

    @staticmethod
    def _check_solver(here: Place, fmu: FMU, found: Description) -> Iterator[Issue]:
        if fmu.solver and found.kind != MODEL_EXCHANGE:
            more = "" if fmu.kind else f"; choose kind: {MODEL_EXCHANGE}, if the FMU has that"
            yield here, f"is given, but the FMU is run by {found.kind} and has its own{more}"
        unknown = [key for key in fmu.solver if key not in SOLVER_KEYS]
        for key in unknown:
            yield (*here, key), f"is no key here.{closest(key, SOLVER_KEYS)}"
        if not unknown:
            for key, said in fmu.exchange_solver.issues():
                yield (*here, key), said

    @staticmethod
    def _start(description: Description, key: str, value: Any) -> Value:
        variable = description.variables.get(key)
        if variable is None:
            elements = [n for n in description.variables if n.startswith((f"{key}[", f"{key}."))]
            if elements:
                raise InputError(
                    f"is an array of '{description.file.name}', expected an element, such as '{elements[0]}'"
                )
            settable = [n for n, v in description.variables.items() if v.settable]
            raise InputError(f"is no variable of '{description.file.name}'.{closest(key, settable)}")
        if variable.causality == "structuralParameter":
            raise InputError("is a structural parameter, on which sizes of arrays depend; it keeps its start value")
        if not variable.settable:
            what = "a constant" if variable.variability == "constant" else f"computed by the FMU ({variable.causality})"
            raise InputError(f"is {what}, expected a parameter, an input, or a variable with a start value")
        return value_of(variable, value)

    def _check_once(self) -> Iterator[Issue]:
        seen: dict[Path, str] = {}
        for name, found in self.descriptions.items():
            if found.only_once and found.file in seen:
                yield (
                    ("fmus", name, "fmu"),
                    f"'{found.file.name}' can be instantiated only once in a process, and '{seen[found.file]}' is it "
                    "already; use a copy of the file built with another model identifier",
                )
            seen[found.file] = name

    def _check_connections(self) -> Iterator[Issue]:
        links: list[Link] = []
        driven: dict[str, str] = {}
        for k, connection in enumerate(self.connections):
            try:
                link = self._link(connection)
            except InputError as error:
                yield ("connections", k), f"'{connection}' {error}"
                continue
            if link is None:
                continue
            if connection.target in driven:
                yield (
                    ("connections", k),
                    f"'{connection}' drives an input that '{driven[connection.target]}' drives already; an input takes "
                    "one connection",
                )
                continue
            driven[connection.target] = str(connection)
            links.append(link)
        self.links = tuple(links)

    def _link(self, connection: Connection) -> Link | None:
        """None if an FMU of it could not be read, which is told there."""
        ends = []
        for end, what in ((connection.source, "output"), (connection.target, "input")):
            fmu, name = self.split(end)
            if fmu not in self.descriptions:
                return None
            variables = self.descriptions[fmu].variables
            alike = [n for n, v in variables.items() if v.causality == what]
            if name not in variables:
                elements = [n for n in alike if n.startswith((f"{name}[", f"{name}."))]
                what_it_is = "an array, whose elements are connected one by one" if elements else "no variable"
                raise InputError(
                    f"names '{end}', which is {what_it_is} of FMU '{fmu}'.{closest(name, elements or alike)}"
                )
            variable = variables[name]
            allowed = ("output", "local", "calculatedParameter") if what == "output" else ("input",)
            if variable.causality not in allowed:
                raise InputError(
                    f"names '{end}', which is of causality {variable.causality}, expected an {what}."
                    f"{closest(name, alike)}"
                )
            if variable.type not in TYPES:
                raise InputError(f"names '{end}', which is of type {variable.type}, expected {_PASSED_ON}")
            ends.append((fmu, variable))
        (source, output), (target, input_) = ends
        if output.type != input_.type and (output.type, input_.type) != ("Integer", "Real"):
            raise InputError(f"connects a {output.type} to a {input_.type}; types must be alike")
        if connection.transform is not None:
            if input_.type != "Real":
                raise InputError(f"has a factor, but connects variables of type {input_.type}, expected Real")
            linear = connection.transform
        else:
            linear = conversion(output.measure, input_.measure) if output.type == input_.type == "Real" else Linear()
        return Link(source, output, target, input_, linear)

    def split(self, name: str) -> tuple[str, str]:
        """`fmu.variable` to both: names of FMUs may have dots, those of variables often do."""
        places = [k for k, letter in enumerate(name) if letter == "."]
        for k in reversed(places):
            if name[:k] in self.fmus:
                return name[:k], name[k + 1 :]
        if not places:
            raise InputError(f"names '{name}', expected fmu.variable")
        fmu = name[: places[0]]
        raise InputError(f"names '{name}', but there is no FMU '{fmu}'.{closest(fmu, list(self.fmus))}")

    @property
    def variables(self) -> dict[str, CosimVariable]:
        """All variables of all FMUs, as `fmu.variable`."""
        return {f"{fmu}.{name}": v for fmu, found in self.descriptions.items() for name, v in found.variables.items()}

    def variable(self, name: str) -> tuple[str, CosimVariable]:
        """The FMU and the variable that `fmu.variable` is."""
        fmu, rest = self.split(name)
        variables = self.descriptions[fmu].variables
        if rest not in variables:
            raise InputError(
                f"names '{name}', but there is no variable '{rest}' in FMU '{fmu}'.{closest(rest, list(variables))}"
            )
        return fmu, variables[rest]

    def _check_outputs(self) -> Iterator[Issue]:
        known = list(self.variables)
        for k, pattern in enumerate(self.outputs):
            variable = self.variables.get(pattern)
            if variable is not None and variable.type not in TYPES:
                yield ("outputs", k), f"'{pattern}' is of type {variable.type}, expected {_PASSED_ON}"
            elif len(self.descriptions) == len(self.fmus) and not self.recorded([pattern]):
                yield ("outputs", k), f"'{pattern}' matches no variable.{closest(pattern, known)}"

    def recorded(self, patterns: Sequence[str] | None = None) -> dict[str, tuple[str, CosimVariable]]:
        """Return the columns of results, in the order of FMUs: a pattern takes outputs, a full name anything.

        A pattern that matches no output takes inputs, parameters and local variables.  Text is recorded where its full
        name is given, or a pattern that matches nothing else.
        """
        from liegeo.model.names import matches

        asked = self.outputs if patterns is None else patterns
        every = {
            f"{fmu}.{name}": (fmu, v)
            for fmu, found in self.descriptions.items()
            for name, v in found.variables.items()
            if v.type in TYPES
        }
        numbers = [name for name, (_, v) in every.items() if v.type != "String"]
        outputs = [name for name in numbers if every[name][1].causality == "output"]
        texts = [name for name, (_, v) in every.items() if v.type == "String"]
        wanted: set[str] = set()
        for pattern in asked:
            if pattern in every:
                wanted.add(pattern)
            else:
                wanted.update(matches(pattern, outputs) or matches(pattern, numbers) or matches(pattern, texts))
        return {name: entry for name, entry in every.items() if name in wanted}

    def _check_experiment(self, experiment: CosimExperiment, prefix: Place = ("experiment",)) -> Iterator[Issue]:
        for name in experiment.order:
            if name not in self.fmus:
                yield (*prefix, "order"), f"names '{name}', which is no FMU.{closest(name, list(self.fmus))}"
        missing = [name for name in self.fmus if name not in experiment.order]
        if experiment.order and missing:
            yield (*prefix, "order"), f"leaves out {', '.join(missing)}; name every FMU once"
        if len(set(experiment.order)) < len(experiment.order):
            yield (*prefix, "order"), "names an FMU twice"
        slow = [name for name, fmu in self.fmus.items() if fmu.every != 1]
        for key in ("tolerance", "iterations"):
            if slow and getattr(experiment, key):
                yield (
                    (*prefix, key),
                    f"is given, but {', '.join(slow)} communicate at a multiple of the step; steps that are repeated "
                    "need one step for all: leave 'every' out",
                )
        need = [key for key in ("tolerance", "iterations", "crossings") if getattr(experiment, key)]
        stateless = [name for name, found in self.descriptions.items() if not found.saves_state]
        for key in need:
            if stateless:
                yield (
                    (*prefix, key),
                    f"needs FMUs that can go back to an earlier state, but {', '.join(stateless)} cannot "
                    "(canGetAndSetFMUstate is false)",
                )
        stiff = [name for name, found in self.descriptions.items() if not found.variable_steps]
        uneven = [key for key in ("tolerance", "crossings", "instants") if getattr(experiment, key)]
        for key in uneven:
            if stiff:
                yield (
                    (*prefix, key),
                    f"needs steps of different size, but {', '.join(stiff)} cannot take them "
                    "(canHandleVariableCommunicationStepSize is false)",
                )
        if stiff and experiment.step and math.isfinite(experiment.end - experiment.start):
            count = (experiment.end - experiment.start) / experiment.step
            worst = max(self.fmus[name].every for name in stiff)
            if abs(count / worst - round(count / worst)) > 1e-6:
                yield (
                    (*prefix, "end"),
                    f"is {count:.6g} steps after the start, but {', '.join(stiff)} take whole steps only "
                    f"(canHandleVariableCommunicationStepSize is false); expected a multiple of {worst}",
                )
        for k, crossing in enumerate(experiment.crossings):
            yield from self._check_crossing(crossing, (*prefix, "crossings", k))

    def _check_crossing(self, crossing: Crossing, here: Place) -> Iterator[Issue]:
        if crossing.direction not in DIRECTIONS:
            yield here, f"has the direction '{crossing.direction}', expected {', '.join(DIRECTIONS)}"
        try:
            fmu, _ = self.split(crossing.variable)
            if fmu not in self.descriptions:
                return
            _, variable = self.variable(crossing.variable)
            if variable.type != "Real":
                raise InputError(f"names '{crossing.variable}', which is of type {variable.type}, expected Real")
            value_of(variable, crossing.level)
        except InputError as error:
            yield here, str(error)

    # ---- running

    def simulate(
        self,
        end: float | None = None,
        step: float | None = None,
        *,
        set: Mapping[str, Any] | None = None,  # noqa: A002
        progress: bool | None = None,
        debug: bool = False,
        rollback: bool = True,
        **options: Any,
    ) -> CosimResult:
        """Run it: the default experiment, and whatever is given instead.

        `options` are the other fields of CosimExperiment; `set` gives start values as {"fmu.variable": value}.
        `progress` shows a bar (None: if there is a terminal).  `debug` lets FMUs log everything.  Without `rollback`
        no states are kept for steps that an FMU may discard.  SimulationError if it fails, with the result so far.
        """
        from fmu_export.cosim.master import Master

        system = self.with_start(set) if set else self
        return Master(system, system.planned(end, step, **options), debug, rollback).run(progress)

    def planned(self, end: float | None = None, step: float | None = None, **options: Any) -> CosimExperiment:
        """The experiment that `simulate` with these options would run, checked."""
        known = {f.name for f in fields(CosimExperiment)}
        for key in options:
            if key not in known:
                raise InputError(f"simulate: there is no option '{key}'.{closest(key, sorted(known))}")
        given = {**options, "end": end, "step": step}
        made = replace(self.experiment, **{key: value for key, value in given.items() if value is not None})
        made = replace(made, order=tuple(made.order), instants=tuple(made.instants), crossings=tuple(made.crossings))
        if made.step is None:
            steps = [found.step for found in self.descriptions.values() if found.step is not None]
            made = replace(made, step=min(steps) if steps else (made.end - made.start) / 1000.0)
        issues = [*made.issues(()), *self._check_experiment(made, ())]
        if issues:
            raise InputError("simulate: " + "\n  ".join(_told(issue) for issue in dict.fromkeys(issues)))
        return made

    def with_start(self, values: Mapping[str, Any]) -> CosimSystem:
        """The same with other start values, as {"fmu.variable": value}."""
        changed = dict(self.fmus)
        for name, value in values.items():
            try:
                fmu, variable = self.split(name)
            except InputError as error:
                raise InputError(f"set: {error}.") from None
            changed[fmu] = replace(changed[fmu], start={**changed[fmu].start, variable: value})
        return self.changed(fmus=changed)

    def changed(self, **changes: Any) -> CosimSystem:
        """The same with other FMUs, connections, outputs, experiment, name or description."""
        given: dict[str, Any] = {
            key: getattr(self, key) for key in ("fmus", "connections", "outputs", "experiment", "name", "description")
        }
        made = CosimSystem(**{**given, "folder": self.folder, **changes})
        made.held = self.held
        return made

    @functools.cached_property
    def loops(self) -> tuple[tuple[str, ...], ...]:
        """Algebraic loops while running, each as the outputs on it."""
        from fmu_export.cosim.graph import evaluation

        return tuple(tuple(group.names) for group in evaluation(self, at_start=False) if group.is_loop)


class SystemIssuesError(ModelError):
    """All that is wrong with a system: `issues` are places and messages."""

    def __init__(self, message: str, issues: Sequence[Issue]) -> None:
        super().__init__(message)
        self.issues = tuple(issues)


def _told(issue: Issue) -> str:
    from liegeo.io.source import dotted

    place, text = issue
    return f"{dotted(place)} {ended(text)}"


def parse_connection(text: str) -> Connection:
    """`fmu.output -> fmu.input`."""
    ends = [part.strip() for part in text.split("->")]
    if len(ends) != 2 or not all(ends):
        raise InputError(f"'{text}' is no connection, expected fmu.output -> fmu.input")
    return Connection(ends[0], ends[1])


def value_of(variable: CosimVariable, value: Any) -> Value:
    """A value of a file or a person as the variable takes it."""
    if variable.type not in TYPES:
        raise InputError(f"is {value!r}, but the variable is of type {variable.type}, which takes no value here")
    if variable.type == "String":
        if not isinstance(value, str):
            raise InputError(f"is {value!r}, expected text")
        return value
    if variable.type == "Boolean":
        if not isinstance(value, bool):
            raise InputError(f"is {value!r}, expected true or false")
        return value
    if variable.type == "Integer":
        items = dict(variable.items)
        if isinstance(value, str) and value in items:
            return items[value]
        if isinstance(value, bool) or not isinstance(value, int):
            said = f" or one of {', '.join(items)}" if items else ""
            raise InputError(f"is {value!r}, expected a whole number{said}")
        check_whole(value, variable.function)
        return value
    number = _real(variable, value)
    check_real(number, variable.function)
    return number


def from_text(variable: CosimVariable, text: str) -> Value:
    """What was typed, as the variable takes it: plain numbers are in its unit, others are converted."""
    value: Any = text
    if variable.type == "Boolean":
        value = {"true": True, "false": False}.get(text, text)
    elif variable.type in ("Integer", "Real"):
        with contextlib.suppress(ValueError):
            value = int(text) if variable.type == "Integer" else float(text)
    return value_of(variable, value)


def _real(variable: CosimVariable, value: Any) -> float:
    given = value
    if isinstance(value, str):
        try:
            given = units.parse(value)
        except InputError as error:
            raise InputError(f"is '{value}', which {error}") from None
    if isinstance(given, int | float) and not isinstance(given, bool):
        given = Quantity(given)
    if not isinstance(given, Quantity) or not math.isfinite(given.value):
        said = f" in {variable.unit}, or with a unit" if variable.unit else ""
        raise InputError(f"is {value!r}, expected a finite number{said}")
    try:
        return in_measure(given, variable.measure)
    except InputError as error:
        raise InputError(f"is {value!r}, which {error}") from None
