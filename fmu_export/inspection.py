"""What is in an FMU, and a run of it."""

from __future__ import annotations

import bisect
import json
import logging
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fmu_export import arguments
from fmu_export.arguments import Seconds
from fmu_export.cosim.fmu_file import MODEL_EXCHANGE, TYPES, CosimVariable, described
from fmu_export.cosim.wiring import column_of
from fmu_export.exchange_solver import ExchangeSolver
from fmu_export.fmi_calls import DISCARD, OK, WARNING, Reals
from fmu_export.host import LOGGER, Instance, Unpacked
from liegeo.archives import Archive
from liegeo.errors import InputError, SimulationError
from liegeo.model.checks import suggest
from liegeo.model.names import matches
from liegeo.results.tables import make_table

if TYPE_CHECKING:
    from fmu_export.pacing import Pace

Array = NDArray[Any]

_NEEDS = "resources/requirements.txt"


@dataclass(frozen=True)
class FMUInfo:
    """What the description of an FMU says, and what it needs."""

    name: str
    identifier: str
    guid: str
    description: str
    tool: str
    start: float
    stop: float | None
    interval: float | None
    capabilities: Mapping[str, bool]
    platforms: tuple[str, ...]
    requirements: tuple[str, ...]
    size: int
    #: By causality: name, unit, start value and description of each variable.
    variables: Mapping[str, list[tuple[str, str, Any, str]]] = field(repr=False)
    #: The version of FMI, and what the FMU is for, the usual kind first: that has the capabilities.
    fmi: str = "2.0"
    kinds: tuple[str, ...] = ("co-simulation",)

    def __str__(self) -> str:
        able = ", ".join(name for name, value in self.capabilities.items() if value)
        lines = [
            f"{self.name} ({self.identifier}), {self.size / 1024:.0f} KiB, by {self.tool}",
            f"  FMI        {self.fmi}, for {' and '.join(self.kinds)}",
            f"  GUID       {self.guid}",
            f"  experiment {self.start:g} s to {self.stop:g} s" if self.stop is not None else "  experiment: none",
            f"  interval   {self.interval:g} s" if self.interval is not None else "  interval: none",
            f"  can        {able or 'nothing beside the standard'}",
            f"  platforms  {', '.join(self.platforms)}",
        ]
        if self.requirements:
            lines.append(f"  needs      {', '.join(self.requirements)}")
        for causality, listed in self.variables.items():
            lines.append(f"{causality}s:" if listed else f"{causality}s: none")
            width = max((len(name) for name, *_ in listed), default=0)
            for name, unit, start, text in listed:
                value = "" if start is None else f"= {start}"
                lines.append(f"  {name:<{width}}  {value} {f'[{unit}]' if unit else ''}  {text}".rstrip())
        return "\n".join(lines)


def info(file: str | os.PathLike[str]) -> FMUInfo:
    """What is in an FMU of FMI 2.0 or 3.0, ours or not."""
    parsed = described(file)
    found, usual = parsed.found, parsed.kinds[0]
    with Archive(file, "FMU") as archive:
        experiment = found.defaultExperiment
        needs = archive.read(_NEEDS).decode("utf-8", "replace") if _NEEDS in archive.names else ""
        split = [name.split("/") for name in archive.names]
        platforms = sorted({parts[1] for parts in split if parts[0] == "binaries" and len(parts) > 2})
        listed: dict[str, list[tuple[str, str, Any, str]]] = {"input": [], "output": [], "parameter": []}
        for variable in found.modelVariables:
            if variable.causality in listed:
                listed[variable.causality].append(
                    (_shaped(variable), variable.unit or "", variable.start, variable.description or "")
                )
        flags = parsed.interface(usual)
        able = {
            name: bool(getattr(flags, name, False))
            for name in (
                "canHandleVariableCommunicationStepSize",
                "canInterpolateInputs",
                "canGetAndSetFMUstate",
                "canSerializeFMUstate",
            )
        }
        return FMUInfo(
            found.modelName,
            flags.modelIdentifier,
            found.guid,
            found.description or "",
            found.generationTool or "",
            _float(experiment, "startTime") or 0.0,
            _float(experiment, "stopTime"),
            _float(experiment, "stepSize"),
            able | {"providesDirectionalDerivative": parsed.directional[usual]},
            tuple(platforms),
            tuple(needs.split()),
            Path(file).stat().st_size,
            listed,
            found.fmiVersion,
            parsed.kinds,
        )


def _shaped(variable: Any) -> str:
    """Return the name of a variable, with its dimensions if it is an array: `A[2 x 3]`."""
    return variable.name + (f"[{' x '.join(map(str, variable.shape))}]" if variable.shape else "")


def _float(experiment: Any, name: str) -> float | None:
    value = getattr(experiment, name, None)
    try:
        return None if value is None else float(value)
    except ValueError:
        raise InputError(f"the FMU's {name} is '{value}', expected a number.") from None


def run(
    file: str | os.PathLike[str],
    t_end: Seconds | None = None,
    *,
    start: Seconds | None = None,
    interval: Seconds | None = None,
    values: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    outputs: Sequence[str] = ("*",),
    kind: str = "",
    solver: ExchangeSolver | None = None,
    pace: Pace | None = None,
) -> Array:
    """The outputs of an FMU at every communication point, as a structured array whose first field is `time`.

    - `t_end`, `start`, `interval`: if not given, those of the FMU's default experiment.  The last step is shorter if
      they do not fit.
    - `values`: parameters and start values, by name.
    - `inputs`: by name a number, a pair (times, values) with straight lines between, or a function of t; each is
      evaluated where a communication step begins.  Inputs that are no real numbers are held between times.
    - `outputs`: names or wildcards.  Columns have the types of their variables; text is recorded where it is named.
    - `pace`: hears where each communication step begins and ends; `fmu_export.realtime` makes one that waits.
    - `kind`: "co-simulation" or "model exchange"; if not given, co-simulation where the FMU has that.
    - `solver`: what integrates an FMU that is run by model exchange; it handles events within steps.

    Times are in seconds, other numbers in the unit of their variable; text may have a unit, "20 ms".

    An FMU may end the run: then the last row is where it did, and the log `liegeo.fmu` has a warning.

    A step that fails, or an input that is not taken, ends it with a SimulationError, whose `result` is what there is so
    far.
    """
    for key, said in (solver or ExchangeSolver()).issues():
        raise InputError(f"run: solver.{key} {said}.")
    with Unpacked(file) as unpacked, Instance(unpacked, kind=kind, solver=solver) as instance:
        if solver is not None and instance.about.kind != MODEL_EXCHANGE:
            raise InputError(f"run: solver is given, but the FMU is run by {instance.about.kind} and has its own.")
        experiment = unpacked.description.defaultExperiment
        begin = _chosen("start", start, _float(experiment, "startTime") or 0.0)
        end = _chosen("t_end", t_end, _float(experiment, "stopTime"))
        step = _chosen("interval", interval, _float(experiment, "stepSize"))
        if not (end >= begin and step > 0.0):
            raise InputError(f"run: from {begin:g} to {end:g} s in steps of {step:g} s; expected rising times.")
        shown = _shown(instance, outputs)
        variables = instance.variables
        driven = {name: _signal(name, given, variables) for name, given in (inputs or {}).items()}
        first: dict[str, Any] = {}
        for name, given in (values or {}).items():
            _known(variables, name, ("parameter", "input"))
            first[name] = arguments.value(f"run: {name}", variables[name], given)
        first |= {name: signal(begin) for name, signal in driven.items()}
        instance.initialise(begin, end, first)
        # the last step is shorter where they do not end together; round-off is no step
        n = max(1, math.ceil((end - begin) / step - 1e-6)) if end > begin else 0
        reals = [name for name in driven if variables[name].type == "Real"]
        others = [name for name in driven if name not in reals]
        into = Reals([variables[name] for name in reals])
        rows = [(begin, *instance.read(shown))]
        for k in range(n):
            t = begin + k * step
            size = min(step, end - t) if k == n - 1 else step
            if pace is not None:
                pace.begin(t, size)
            status = instance.write_reals(into, [driven[name](t) for name in reals]) if reals else OK
            for name in others:
                instance.write(name, driven[name](t))
            if status in (OK, WARNING):
                status = instance.step(t, size)
            reached, ends = instance.discarded() if status == DISCARD else (t, False)
            if ends:
                who = f"FMU '{unpacked.description.modelName}' ended the run at t = {reached:.9g} s"
                logging.getLogger(LOGGER).warning("%s.%s", who, instance.said())
                rows += [(reached, *instance.read(shown))] if reached > t else []
                break
            if status not in (OK, WARNING):
                raise SimulationError(
                    f"FMU '{unpacked.description.modelName}': the step from {t:.6g} s failed.{instance.said()}",
                    _table(instance, shown, rows),
                )
            rows.append((t + size, *instance.read(shown)))
            if pace is not None:
                pace.end()
        instance.calls.terminate()
        return _table(instance, shown, rows)


def _table(instance: Instance, shown: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Array:
    times, *columns = zip(*rows, strict=True)
    made = {"time": np.array(times)}
    for name, values in zip(shown, columns, strict=True):
        variable = instance.variables[name]
        made[name] = np.array(values) if variable.type == "Real" else column_of(variable, values)
    return make_table(made)


def _chosen(name: str, given: Seconds | None, usual: float | None) -> float:
    found = arguments.seconds(f"run: {name}", usual if given is None else given)
    if found is None:
        raise InputError(f"run: the FMU has no default {name}; give {name}=… in seconds.")
    return found


def _shown(instance: Instance, patterns: Sequence[str]) -> list[str]:
    """Return the names of outputs; text where its full name is given, or a pattern that matches nothing else."""
    outputs = [v for v in instance.variables.values() if v.causality == "output" and v.type in TYPES]
    known = [v.name for v in outputs]
    numbers, texts = ([v.name for v in outputs if (v.type == "String") == text] for text in (False, True))
    found: dict[str, None] = {}
    for pattern in patterns:
        hits = [pattern] if pattern in known else matches(pattern, numbers) or matches(pattern, texts)
        if not hits and known:
            raise InputError(f"run: '{pattern}' is no output of the FMU.{suggest(pattern, known)}")
        found.update(dict.fromkeys(hits))
    return list(found)


def _known(variables: Mapping[str, CosimVariable], name: str, causalities: Sequence[str]) -> None:
    known = [v.name for v in variables.values() if v.causality in causalities and v.type in TYPES]
    if name not in known:
        raise InputError(f"run: '{name}' is no {' or '.join(causalities)} of the FMU.{suggest(name, known)}")


def _signal(name: str, given: Any, variables: Mapping[str, CosimVariable]) -> Any:
    _known(variables, name, ("input",))
    variable, who = variables[name], f"run: input '{name}'"
    if callable(given):
        return lambda t: float(given(t)) if variable.type == "Real" else arguments.value(who, variable, given(t))
    if isinstance(given, tuple) and len(given) == 2 and variable.type != "Real":
        when, held = _held(who, variable, *given)
        return lambda t: held[max(0, bisect.bisect_right(when, t) - 1)]
    if isinstance(given, tuple) and len(given) == 2:
        try:
            times, numbers = (np.asarray(part, dtype=np.float64) for part in given)
        except (TypeError, ValueError) as error:
            raise InputError(f"run: input '{name}' has times or values that are no numbers: {error}.") from None
        if times.ndim != 1 or times.shape != numbers.shape or not len(times):
            said = f"times of shape {times.shape} and values of shape {numbers.shape}"
            raise InputError(f"run: input '{name}' has {said}, expected one value a time.")
        if not (np.isfinite(times).all() and np.isfinite(numbers).all()):
            raise InputError(f"run: input '{name}' has times or values that are not finite.")
        falls = np.flatnonzero(np.diff(times) < 0.0)
        if len(falls):
            before, after = times[falls[0] : falls[0] + 2]
            raise InputError(f"run: input '{name}' has the time {after:g} s after {before:g} s, expected rising times.")
        return lambda t: float(np.interp(t, times, numbers))
    value = arguments.value(who, variable, given)
    return lambda t: value


def _held(who: str, variable: CosimVariable, times: Any, values: Any) -> tuple[list[float], list[Any]]:
    """Return times and values of an input that is no real number, and is held from each time to the next."""
    try:
        when, given = [float(t) for t in times], list(values)
    except (TypeError, ValueError) as error:
        raise InputError(f"{who} has times or values that are none: {error}.") from None
    if len(when) != len(given) or not when or not all(map(math.isfinite, when)) or sorted(when) != when:
        raise InputError(
            f"{who} has {len(when)} times and {len(given)} values, expected one value for each rising time."
        )
    return when, [arguments.value(who, variable, value) for value in given]


def variables_of(file: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the variables of an FMU that liegeo made, as its resources describe them."""
    from fmu_export.variables import DESCRIPTION

    with Archive(file, "FMU") as archive:
        found: list[dict[str, Any]] = json.loads(archive.read(f"resources/{DESCRIPTION}"))["variables"]
    return found
