"""modelDescription.xml of FMI 3.0 from the variables of an FMU, and the terminals of FMUs of both versions.

Vectors are arrays (vectors.py).  The value reference that follows those of all scalars is that of the time, which is a
variable in FMI 3.0.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from fmu_export.description import (
    add_experiment,
    add_log_categories,
    add_types,
    add_units,
    as_bytes,
    number,
    type_name,
)
from fmu_export.quantity_types import base_unit, unit_name
from fmu_export.variables import INDICATOR, INPUT, INTEGRATOR, OUTPUT, PARAMETER, RATE, REAL, STATE, ExportedVariable
from fmu_export.vectors import ELEMENTS, ScalarRun, variables3
from liegeo._version import __version__


def description3(
    name: str,
    identifier: str,
    token: str,
    text: str,
    variables: Sequence[ExportedVariable],
    dependencies: Mapping[str, Sequence[str]],
    motions: Sequence[str],
    *,
    start: float,
    stop: float,
    interval: float,
    tolerance: float | None,
    origin: Mapping[str, str] | None = None,
) -> bytes:
    """Return the document; arguments are those of `description`."""
    listed = variables3(variables)
    root = Element(
        "fmiModelDescription",
        {
            "fmiVersion": "3.0",
            "modelName": name,
            "instantiationToken": token,
            **({"description": text} if text else {}),
            **(origin or {}),
            "generationTool": f"liegeo {__version__}",
            # structured names are of ASCII
            "variableNamingConvention": "structured" if all(v.name.isascii() for v in variables) else "flat",
        },
    )
    abilities = {
        "modelIdentifier": identifier,
        "needsExecutionTool": "false",
        "canBeInstantiatedOnlyOncePerProcess": "false",
        "canGetAndSetFMUState": "true",
        "canSerializeFMUState": "true",
        "providesDirectionalDerivatives": "true",
        "providesAdjointDerivatives": "true",
        "providesPerElementDependencies": "false",
    }
    # quaternions and loops are looked at where an integrator's step ends
    own = {"needsCompletedIntegratorStep": "true", "providesEvaluateDiscreteStates": "false"}
    SubElement(root, "ModelExchange", {**abilities, **own})
    SubElement(
        root,
        "CoSimulation",
        {
            **abilities,
            "canHandleVariableCommunicationStepSize": "true",
            "maxOutputDerivativeOrder": "1",
            "providesIntermediateUpdate": "true",
            "canReturnEarlyAfterIntermediateUpdate": "true",
            # where a host wishes so, or handles events: times at which inputs inside the model jump
            "mightReturnEarlyFromDoStep": "true",
            "hasEventMode": "true",
        },
    )
    add_units(root, variables, ["s"])
    add_types(root, variables, 3)
    add_log_categories(root)
    add_experiment(root, start, stop, interval, tolerance)
    into = SubElement(root, "ModelVariables")
    states = {run.scalars[0].key: run.first for run in listed if run.scalars[0].role == STATE}
    for run in listed:
        _variable(into, run, states)
    about_time = {"causality": "independent", "variability": "continuous", "unit": "s", "description": "time"}
    SubElement(into, "Float64", {"name": _free("time", listed), "valueReference": str(len(variables)), **about_time})
    _structure(root, listed, dependencies, motions)
    return as_bytes(root)


def _free(name: str, listed: Sequence[ScalarRun]) -> str:
    """Return a name that no variable has."""
    taken = {run.name for run in listed}
    while name in taken:
        name += "_"
    return name


def _variable(into: Element, run: ScalarRun, states: Mapping[tuple[Any, ...], int]) -> None:
    """Add a variable; `states` are references of states by what the variables of their derivatives know them by."""
    variable = run.scalars[0]
    attributes = {
        "name": run.name,
        "valueReference": str(run.first),
        **({"description": run.description} if run.description else {}),
        "causality": variable.causality,
        "variability": variable.variability,
        **({"initial": variable.initial} if variable.initial is not None else {}),
    }
    if variable.type != REAL:
        element = SubElement(into, "String", attributes)
        if variable.start is not None:
            SubElement(element, "Start", {"value": str(variable.start)})
        return
    if variable.causality == OUTPUT:
        attributes["intermediateUpdate"] = "true"
    if variable.role == RATE:
        attributes["derivative"] = str(states[variable.key])
    if type_name(variable):
        attributes["declaredType"] = type_name(variable)
    if variable.unit:
        attributes["unit"] = unit_name(variable.unit)
    for key, value in (("min", variable.minimum), ("max", variable.maximum), ("nominal", variable.nominal)):
        if value is not None:
            attributes[key] = number(variable.in_unit(value))
    starts = [each.in_unit(each.start) for each in run.scalars if isinstance(each.start, float | int)]
    if starts:
        attributes["start"] = " ".join(map(number, starts))
    element = SubElement(into, "Float64", attributes)
    if run.parts:
        SubElement(SubElement(element, "Annotations"), "Annotation", {"type": ELEMENTS}).text = " ".join(run.parts)
    if run.is_vector:
        SubElement(element, "Dimension", {"start": str(len(run.scalars))})


def _structure(
    root: Element, listed: Sequence[ScalarRun], dependencies: Mapping[str, Sequence[str]], motions: Sequence[str]
) -> None:
    """A vector depends on what one of its elements depends on."""
    structure = SubElement(root, "ModelStructure")
    reference = {variable.name: run.first for run in listed for variable in run.scalars}
    first = [(run, run.scalars[0]) for run in listed]
    shown = [run for run, variable in first if variable.causality == OUTPUT]
    # how it integrates says nothing of where it begins
    known = [run.first for run, variable in first if variable.causality == PARAMETER and variable.role != INTEGRATOR]
    at_start = {*known, *(reference[name] for name in motions)}
    states = {run.first for run, variable in first if variable.role == STATE}
    rates = [run.first for run, variable in first if variable.role == RATE]
    inputs = {run.first: {reference[name] for each in run.scalars for name in dependencies[each.name]} for run in shown}
    for run in shown:
        _unknown(structure, "Output", run.first, inputs[run.first] | states)
    for rate in rates:
        _unknown(structure, "ContinuousStateDerivative", rate)
    for run in shown:
        _unknown(structure, "InitialUnknown", run.first, inputs[run.first] | at_start)
    for place in sorted({*states, *rates}):
        _unknown(structure, "InitialUnknown", place)
    for run, variable in first:
        if variable.role == INDICATOR:
            _unknown(structure, "EventIndicator", run.first)


def _unknown(structure: Element, tag: str, reference: int, dependencies: Collection[int] | None = None) -> None:
    """Add an unknown; without dependencies it depends on all that is known."""
    depends = {} if dependencies is None else {"dependencies": " ".join(map(str, sorted(dependencies)))}
    SubElement(structure, tag, {"valueReference": str(reference), **depends})


# ---- terminals

# Members of a flange beside what drives it, and of a frame: last parts of the names of variables.
_FLANGE = ("angle", "position", "speed")
_FRAME = ("position", "quaternion", "velocity", "angular_velocity")


def terminals(variables: Sequence[ExportedVariable], drives: Mapping[str, str], fmi: int) -> bytes | None:
    """Return terminalsAndIcons.xml; None if there are no terminals.

    FMI 2.0.4 has terminals as FMI 3.0 defines them, with scalars as members: `position.x` in place of `position`.

    A flange is a driven joint: its torque or force, an input, with its angle or position and speed, outputs; `drives`
    are, by name of what takes an input, the joint that it drives.  A frame is a body or a place on one with a position
    among the outputs, together with its quaternion and velocities as far as they are outputs.
    """
    listed = variables3(variables)
    out: list[Element] = []
    outputs = {run.name: run for run in listed if run.scalars[0].causality == OUTPUT}
    for run in listed:
        owner, _, what = run.name.rpartition(".")
        if run.scalars[0].causality == INPUT and what in ("tau", "input") and owner in drives and not run.is_vector:
            members = _members(drives[owner], _FLANGE, outputs, fmi)
            _, powers = base_unit(run.scalars[0].unit)
            drive = (run.name, "torque" if powers.get("m") == 2 else "force")
            out += [_terminal(f"{owner}.flange", "flange", [drive, *members], drives[owner])] if members else []
    for name, run in outputs.items():
        owner, _, what = name.rpartition(".")
        if what == "position" and run.is_vector:
            out.append(_terminal(f"{owner}.frame", "frame", _members(owner, _FRAME, outputs, fmi), owner))
    if not out:
        return None
    root = Element("fmiTerminalsAndIcons", {"fmiVersion": "3.0"})
    SubElement(root, "Terminals").extend(out)
    return as_bytes(root)


def _members(owner: str, parts: Sequence[str], outputs: Mapping[str, ScalarRun], fmi: int) -> list[tuple[str, str]]:
    """Return variables and the names that they have as members, as far as they are outputs."""
    found = [outputs[f"{owner}.{part}"] for part in parts if f"{owner}.{part}" in outputs]
    names = [run.name for run in found] if fmi == 3 else [each.name for run in found for each in run.scalars]
    return [(name, name.removeprefix(f"{owner}.")) for name in names]


def _terminal(name: str, kind: str, members: Sequence[tuple[str, str]], of: str) -> Element:
    about = {"terminalKind": f"liegeo.{kind}", "description": f"{kind} of {of}"}
    terminal = Element("Terminal", {"name": name, "matchingRule": "bus", **about})
    for variable, member in members:
        attributes = {"variableName": variable, "memberName": member, "variableKind": "signal"}
        SubElement(terminal, "TerminalMemberVariable", attributes)
    return terminal
