"""System files: YAML, read with places for messages and written back; docs/cosim.md describes the format.

All problems of a file are told together, each with its line.  Nothing is executed, and FMUs are looked for in the
folder of the file only.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from fmu_export.cosim.fmu_file import KINDS, Description, read_description
from fmu_export.cosim.measures import Linear
from fmu_export.cosim.system import (
    ALGORITHMS,
    DIRECTIONS,
    EXTRAPOLATIONS,
    FMU,
    Connection,
    CosimExperiment,
    CosimSystem,
    Crossing,
    Place,
    SystemIssuesError,
    closest,
    parse_connection,
)
from fmu_export.exchange_solver import SOLVER_KEYS
from liegeo.errors import FileProblem, InputError, ModelFileError

if TYPE_CHECKING:
    from liegeo.io.source import Source


def _fmus_were_units(source: Source) -> None:
    """Version 2 calls the section of the FMUs `fmus`."""
    source.rename(("units",), "fmus")


# What leads from each version of the format to the next: liegeo/io/migrations.py.
MIGRATIONS = (_fmus_were_units,)
VERSION = 1 + len(MIGRATIONS)
SUFFIXES = (".yaml", ".yml", ".ssp")


def load_system(path: str | os.PathLike[str]) -> CosimSystem:
    """The system in a YAML or an SSP file, or a ModelFileError with all that is wrong with it."""
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix == ".ssp":
        from fmu_export.ssp import read_ssp

        return read_ssp(file)
    if suffix not in SUFFIXES:
        raise InputError(f"load_system: '{file.name}' ends in '{file.suffix}', expected one of {', '.join(SUFFIXES)}.")
    return _Reader(file).system()


def save_system(system: CosimSystem, path: str | os.PathLike[str]) -> Path:
    """Write a system as YAML, or as SSP with its FMUs inside.  FMUs of a YAML file must be in its folder."""
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix == ".ssp":
        from fmu_export.ssp import write_ssp

        return write_ssp(system, file)
    if suffix not in SUFFIXES:
        raise InputError(f"save_system: '{file.name}' ends in '{file.suffix}', expected one of {', '.join(SUFFIXES)}.")
    import yaml

    from liegeo.results.tables import write_whole

    text = yaml.safe_dump(_document(system, file.parent), sort_keys=False, allow_unicode=True, width=120)

    def write(out: BinaryIO) -> None:
        out.write(text.encode())

    return write_whole(file, write)


# ---- writing


def _document(system: CosimSystem, folder: Path) -> dict[str, Any]:
    out: dict[str, Any] = {"cosim": VERSION, "name": system.name}
    if system.description:
        out["description"] = system.description
    out["fmus"] = {name: _fmu_entry(name, fmu, system, folder) for name, fmu in system.fmus.items()}
    if system.connections:
        out["connections"] = [_connection(connection) for connection in system.connections]
    out["outputs"] = list(system.outputs)
    out["experiment"] = _experiment(system.experiment)
    return out


def _fmu_entry(name: str, fmu: FMU, system: CosimSystem, folder: Path) -> dict[str, Any]:
    file = system.descriptions[name].file
    if not file.is_relative_to(folder.resolve()):
        raise InputError(
            f"save_system: FMU '{name}' is {file.name} in another folder than the file to write; "
            "copy the FMU beside it, or write an .ssp, which holds its FMUs."
        )
    out: dict[str, Any] = {"fmu": file.relative_to(folder.resolve()).as_posix()}
    if fmu.start:
        out["start"] = dict(fmu.start)
    if fmu.every != 1:
        out["every"] = fmu.every
    if fmu.kind:
        out["kind"] = fmu.kind
    if fmu.solver:
        out["solver"] = dict(fmu.solver)
    return out


def _connection(connection: Connection) -> Any:
    if connection.transform is None:
        return str(connection)
    out: dict[str, Any] = {"from": connection.source, "to": connection.target, "factor": connection.transform.factor}
    return {**out, "offset": connection.transform.offset} if connection.transform.offset else out


def _experiment(experiment: CosimExperiment) -> dict[str, Any]:
    plain = CosimExperiment()
    out = {
        key: getattr(experiment, key)
        for key in CosimExperiment.__dataclass_fields__
        if key not in ("instants", "crossings", "order") and getattr(experiment, key) != getattr(plain, key)
    }
    out["end"] = experiment.end
    if experiment.order:
        out["order"] = list(experiment.order)
    events: list[Any] = list(experiment.instants)
    for crossing in experiment.crossings:
        entry: dict[str, Any] = {"when": crossing.variable, "crosses": crossing.level}
        if crossing.direction != "both":
            entry["direction"] = crossing.direction
        if crossing.stop:
            entry["stop"] = True
        events.append(entry)
    return {**out, "events": events} if events else out


# ---- reading

_TOP = ("cosim", "name", "description", "fmus", "connections", "outputs", "experiment")
_FMU = ("fmu", "start", "every", "kind", "solver")
_CONNECTION = ("from", "to", "factor", "offset")
_EVENT = ("when", "crosses", "direction", "stop")
_TIMES = ("start", "end", "step", "min_step", "max_step")
_EXPERIMENT = (*_TIMES, "algorithm", "order", "extrapolation", "iterations", "feedthrough", "tolerance", "events")


class _Reader:
    """From a document to a CosimSystem, collecting problems on the way."""

    def __init__(self, path: Path) -> None:
        from liegeo.io import source
        from liegeo.io.build import folder_file
        from liegeo.io.migrations import migrate

        self.path = path
        self.source = source.read(path)
        migrate(self.source, "cosim", MIGRATIONS)
        self.file = folder_file(path.parent)
        self.problems: list[FileProblem] = []
        # by crossing its place in the list of events, and FMUs whose file is a problem of its own
        self.crossing_places: list[int] = []
        self.unreadable: set[str] = set()

    def say(self, place: Place, message: str) -> None:
        from liegeo.io.problems import ended

        self.problems.append(self.source.problem(place, ended(message)))

    def take(self, place: Place, read: Callable[[], Any], default: Any = None) -> Any:
        """What `read` gives; if it cannot, a problem at this place, and the default."""
        try:
            return read()
        except InputError as error:
            self.say(place, str(error))
            return default

    def mapping(self, value: Any, place: Place, known: tuple[str, ...] | None = None) -> dict[str, Any]:
        """With no keys but the known ones."""
        from liegeo.io.fields import show

        if value is None:
            return {}
        if not isinstance(value, dict):
            self.say(place, f"is {show(value)}, expected a mapping (key: value)")
            return {}
        for key in value:
            if known is not None and key not in known:
                self.say((*place, key), f"is no key here.{closest(key, known)}")
        return {key: entry for key, entry in value.items() if known is None or key in known}

    def listed(self, value: Any, place: Place) -> list[Any]:
        from liegeo.io.fields import show

        if value is None:
            return []
        if not isinstance(value, list):
            self.say(place, f"is {show(value)}, expected a list")
            return []
        return value

    def system(self) -> CosimSystem:
        if isinstance(self.source.data, dict) and "liegeo" in self.source.data and "cosim" not in self.source.data:
            self.say((), "is the file of a model, expected a system of FMUs; make an FMU of it with liegeo fmu build")
            raise ModelFileError(self.problems)
        data = self.mapping(self.source.data, (), _TOP)
        if data.get("cosim") != VERSION or isinstance(data.get("cosim"), bool):
            from liegeo.io.fields import show

            said = f"is {show(data['cosim'])}" if "cosim" in data else "is missing"
            self.say(("cosim",), f"{said}, expected 1 to {VERSION}, the version of the format")
        name = self.text(data.get("name", self.path.stem), ("name",))
        description = self.text(data.get("description", ""), ("description",))
        fmus = self.fmus(data.get("fmus"))
        places, connections = self.connections(data.get("connections"))
        outputs = [
            self.text(entry, ("outputs", k)) for k, entry in enumerate(self.listed(data.get("outputs"), ("outputs",)))
        ]
        experiment = self.with_times(self.experiment(data.get("experiment")), data.get("experiment"), fmus)
        made = None
        try:
            made = CosimSystem(
                fmus, connections, outputs or ("*",), experiment,
                name=name, description=description, folder=self.path.parent,
            )  # fmt: skip
        except SystemIssuesError as error:
            for place, message in error.issues:
                if place[0] == "connections" and len(place) > 1:
                    place = ("connections", places[int(place[1])])
                told = place[0] == "fmus" and place[-1] == "fmu" and place[1] in self.unreadable
                if not told and (place != ("fmus",) or "fmus" not in data):
                    self.say(self._event_place(place), message)
        if self.problems or made is None:
            found = sorted(dict.fromkeys(self.problems), key=lambda problem: (problem.line, problem.column))
            raise ModelFileError(found)
        return made

    def _event_place(self, place: Place) -> Place:
        """Where in the file what the experiment has as crossings and instants is."""
        if place[:2] == ("experiment", "crossings") and len(place) > 2:
            return ("experiment", "events", self.crossing_places[int(place[2])])
        return ("experiment", "events") if place[-1] in ("crossings", "instants") else place

    def text(self, value: Any, place: Place) -> str:
        from liegeo.io.fields import show

        if not isinstance(value, str):
            self.say(place, f"is {show(value)}, expected text; put it in quotes")
            return str(value)
        return value

    def fmus(self, value: Any) -> dict[str, FMU]:
        out: dict[str, FMU] = {}
        for name, entry in self.mapping(value, ("fmus",)).items():
            place: Place = ("fmus", name)
            keys = self.mapping({"fmu": entry} if isinstance(entry, str) else entry, place, _FMU)
            found = None
            if "fmu" in keys:
                file = self.text(keys["fmu"], (*place, "fmu"))
                found = self.take((*place, "fmu"), partial(self.file, file))
            else:
                self.say((*place, "fmu"), "is missing, expected the name of a file")
            start = self.mapping(keys.get("start"), (*place, "start"))
            more = {
                "every": keys.get("every", 1),
                "kind": self.kind(keys.get("kind", ""), (*place, "kind")),
                "solver": self.solver(keys.get("solver"), (*place, "solver")),
            }
            if found is None:
                # it stays an FMU, so that what names it is no problem too
                self.unreadable.add(name)
                out[name] = FMU("", start, **more)
            else:
                out[name] = FMU(found.relative_to(self.path.parent.resolve()), start, **more)
        return out

    def kind(self, value: Any, place: Place) -> str:
        from liegeo.io.fields import show

        if value in ("", *KINDS):
            return str(value)
        self.say(place, f"is {show(value)}, expected {' or '.join(KINDS)}")
        return ""

    def solver(self, value: Any, place: Place) -> dict[str, Any]:
        """Keys of an ExchangeSolver, with times in seconds; the system checks what they are."""
        from liegeo.io.fields import read_number
        from liegeo.io.units import NUMBER, TIME

        given = self.mapping(value, place, SOLVER_KEYS)
        for key, dimension in (("tolerance", NUMBER), ("max_step", TIME)):
            if key in given:
                found = self.take((*place, key), partial(read_number, given.pop(key), [dimension]))
                given |= {} if found is None else {key: found}
        return given

    def connections(self, value: Any) -> tuple[list[int], list[Connection]]:
        """And where each is in the list."""
        places, out = [], []
        for k, entry in enumerate(self.listed(value, ("connections",))):
            made = self.take(("connections", k), partial(self.connection, entry, k))
            if made is not None:
                places.append(k)
                out.append(made)
        return places, out

    def connection(self, entry: Any, k: int) -> Connection | None:
        from liegeo.io.fields import read_number, show
        from liegeo.io.units import NUMBER

        if isinstance(entry, str):
            return parse_connection(entry)
        if not isinstance(entry, dict):
            raise InputError(f"is {show(entry)}, expected fmu.output -> fmu.input")
        keys = self.mapping(entry, ("connections", k), _CONNECTION)
        missing = [key for key in ("from", "to") if key not in keys]
        if missing:
            raise InputError(f"has no '{missing[0]}', expected from and to")
        source, target = (self.text(keys[key], ("connections", k, key)) for key in ("from", "to"))
        transform = None
        if "factor" in keys or "offset" in keys:
            numbers = {key: read_number(keys[key], [NUMBER]) for key in ("factor", "offset") if key in keys}
            transform = Linear(numbers.get("factor", 1.0), numbers.get("offset", 0.0))
        return Connection(source, target, transform)

    def experiment(self, value: Any) -> CosimExperiment:
        from liegeo.io.fields import read_number, show
        from liegeo.io.units import NUMBER, TIME

        place: Place = ("experiment",)
        if isinstance(value, dict) and "memory" in value:
            self.say(
                (*place, "memory"), "is no longer needed, because the master measures how long errors live; delete it"
            )
            value = {key: entry for key, entry in value.items() if key != "memory"}
        given = self.mapping(value, place, _EXPERIMENT)
        out: dict[str, Any] = {}
        for key in (*_TIMES, "tolerance"):
            if key in given:
                dimension = NUMBER if key == "tolerance" else TIME
                found = self.take((*place, key), partial(read_number, given[key], [dimension]))
                out |= {} if found is None else {key: found}
        for key, allowed in (("algorithm", ALGORITHMS), ("extrapolation", EXTRAPOLATIONS)):
            if key in given and given[key] not in allowed:
                self.say((*place, key), f"is {show(given[key])}, expected {' or '.join(allowed)}")
            elif key in given:
                out[key] = given[key]
        if "feedthrough" in given and not isinstance(given["feedthrough"], bool):
            self.say((*place, "feedthrough"), f"is {show(given['feedthrough'])}, expected true or false")
        out |= {key: given[key] for key in ("feedthrough", "iterations") if key in given}
        if "order" in given:
            out["order"] = tuple(
                self.text(name, (*place, "order", k))
                for k, name in enumerate(self.listed(given["order"], (*place, "order")))
            )
        instants: list[float] = []
        crossings: list[Crossing] = []
        for k, entry in enumerate(self.listed(given.get("events"), (*place, "events"))):
            here = (*place, "events", k)
            if isinstance(entry, dict):
                made = self.crossing(entry, here)
                if made is not None:
                    crossings.append(made)
                    self.crossing_places.append(k)
            else:
                when = self.take(here, partial(read_number, entry, [TIME]))
                instants += [when] if when is not None else []
        return CosimExperiment(**out, instants=tuple(instants), crossings=tuple(crossings))

    def with_times(self, experiment: CosimExperiment, given: Any, fmus: Mapping[str, FMU]) -> CosimExperiment:
        """With what the file leaves out from the experiments of the FMUs: where they begin, where the last ends."""
        said = given if isinstance(given, dict) else {}
        found: dict[str, Description] = {}
        for name, fmu in fmus.items():
            # what cannot be read is told by the system
            with contextlib.suppress(InputError, OSError):
                found[name] = read_description(self.path.parent / fmu.file, fmu.kind)
        starts = {name: fmu.start for name, fmu in found.items() if fmu.start is not None}
        if "start" not in said and len(set(starts.values())) > 1:
            told = ", ".join(f"{name} at {start:g} s" for name, start in starts.items())
            self.say(("experiment", "start"), f"is not given, and the FMUs begin at different times: {told}; give one")
        elif "start" not in said and starts:
            experiment = replace(experiment, start=next(iter(starts.values())))
        stops = [fmu.stop for fmu in found.values() if fmu.stop is not None]
        if "end" not in said and stops and max(stops) > experiment.start:
            experiment = replace(experiment, end=max(stops))
        return experiment

    def crossing(self, entry: Mapping[str, Any], place: Place) -> Crossing | None:
        from liegeo.io.fields import show

        keys = self.mapping(entry, place, _EVENT)
        if "when" not in keys:
            self.say(place, "has no 'when', expected fmu.variable, or a time instead of the mapping")
            return None
        direction, stop = keys.get("direction", "both"), keys.get("stop", False)
        if direction not in DIRECTIONS:
            self.say((*place, "direction"), f"is {show(direction)}, expected {', '.join(DIRECTIONS)}")
            return None
        if not isinstance(stop, bool):
            self.say((*place, "stop"), f"is {show(stop)}, expected true or false")
            return None
        return Crossing(self.text(keys["when"], (*place, "when")), keys.get("crosses", 0.0), direction, stop)
