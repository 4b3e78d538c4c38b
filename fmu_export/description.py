"""modelDescription.xml of FMI 2.0 from the variables of an FMU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from fmu_export.quantity_types import DISPLAY, base_unit, unit_name
from fmu_export.variables import INDICATOR, INTEGRATOR, OUTPUT, PARAMETER, RATE, REAL, STATE, ExportedVariable, units_of
from liegeo._version import __version__

LOG_CATEGORIES = {
    "logStatusWarning": "what a user should know",
    "logStatusDiscard": "why a step was discarded",
    "logStatusError": "calls that were refused, with tracebacks",
    "logAll": "all messages, also what went well",
}


def description(
    name: str,
    identifier: str,
    guid: str,
    text: str,
    variables: Sequence[ExportedVariable],
    dependencies: Mapping[str, Sequence[str]],
    motions: Sequence[str],
    *,
    start: float,
    stop: float,
    interval: float,
    tolerance: float | None,
    needs_tool: bool,
    origin: Mapping[str, str] | None = None,
    source_files: Sequence[str] = (),
) -> bytes:
    """The document.

    `dependencies` are, by output, the inputs that it depends on at once; `motions` are inputs that move the state where
    the FMU begins, so that everything depends on them there.  `needs_tool`: whether it takes more than its own
    libraries to run.  `origin` are author, version, copyright and license, those that are known.  `source_files` are
    what a compiler is given of the folder `sources`, if there is one.
    """
    root = Element(
        "fmiModelDescription",
        {
            "fmiVersion": "2.0",
            "modelName": name,
            "guid": guid,
            **({"description": text} if text else {}),
            **(origin or {}),
            "generationTool": f"liegeo {__version__}",
            # structured names are of ASCII
            "variableNamingConvention": "structured" if all(v.name.isascii() for v in variables) else "flat",
            "numberOfEventIndicators": str(sum(variable.role == INDICATOR for variable in variables)),
        },
    )
    # with states the FMU is for model exchange too
    states = {variable.key: k + 1 for k, variable in enumerate(variables) if variable.role == STATE}
    if any(variable.role == RATE for variable in variables):
        exchange = SubElement(
            root,
            "ModelExchange",
            {
                "modelIdentifier": identifier,
                "needsExecutionTool": "true" if needs_tool else "false",
                "completedIntegratorStepNotNeeded": "false",
                "canBeInstantiatedOnlyOncePerProcess": "false",
                "canNotUseMemoryManagementFunctions": "true",
                "canGetAndSetFMUstate": "true",
                "canSerializeFMUstate": "true",
                "providesDirectionalDerivative": "true",
            },
        )
        _add_sources(exchange, source_files)
    cosimulation = SubElement(
        root,
        "CoSimulation",
        {
            "modelIdentifier": identifier,
            "needsExecutionTool": "true" if needs_tool else "false",
            "canHandleVariableCommunicationStepSize": "true",
            "canInterpolateInputs": "true",
            "maxOutputDerivativeOrder": "1",
            "canRunAsynchronuously": "false",
            "canBeInstantiatedOnlyOncePerProcess": "false",
            "canNotUseMemoryManagementFunctions": "true",
            "canGetAndSetFMUstate": "true",
            "canSerializeFMUstate": "true",
            "providesDirectionalDerivative": "true",
        },
    )
    _add_sources(cosimulation, source_files)
    add_units(root, variables)
    add_types(root, variables, 2)
    add_log_categories(root)
    add_experiment(root, start, stop, interval, tolerance)
    listed = SubElement(root, "ModelVariables")
    for reference, variable in enumerate(variables):
        _variable(listed, reference, variable, states.get(variable.key) if variable.role == RATE else None)
    _structure(root, variables, dependencies, motions)
    return as_bytes(root)


def _add_sources(kind: Element, names: Sequence[str]) -> None:
    """Add to a kind of FMU which files a compiler is given."""
    if names:
        listed = SubElement(kind, "SourceFiles")
        for name in names:
            SubElement(listed, "File", {"name": name})


def as_bytes(root: Element) -> bytes:
    """Return a document as the content of a file."""
    ElementTree.indent(root)
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "utf-8") + b"\n"


def add_log_categories(root: Element) -> None:
    """Add what messages are sorted by."""
    categories = SubElement(root, "LogCategories")
    for category, what in LOG_CATEGORIES.items():
        SubElement(categories, "Category", {"name": category, "description": what})


def add_experiment(root: Element, start: float, stop: float, interval: float, tolerance: float | None) -> None:
    """Add the times that masters take if they are told nothing."""
    experiment = {"startTime": number(start), "stopTime": number(stop), "stepSize": number(interval)}
    SubElement(root, "DefaultExperiment", experiment | ({} if tolerance is None else {"tolerance": number(tolerance)}))


def add_units(root: Element, variables: Sequence[ExportedVariable], more: Sequence[str] = ()) -> None:
    """Add the units of variables, and more."""
    known = [*units_of(variables), *more]
    if not known:
        return
    definitions = SubElement(root, "UnitDefinitions")
    done: set[str] = set()
    for text in known:
        # N*m of a file and N·m of a result have one name
        if unit_name(text) in done:
            continue
        done.add(unit_name(text))
        factor, powers = base_unit(text)
        unit = SubElement(definitions, "Unit", {"name": unit_name(text)})
        base = {key: str(powers[key]) for key in ("kg", "m", "s", "A", "K", "mol", "cd", "rad") if powers.get(key)}
        SubElement(unit, "BaseUnit", base | ({} if factor == 1.0 else {"factor": number(factor)}))
        if unit_name(text) in DISPLAY:
            shown, scale = DISPLAY[unit_name(text)]
            SubElement(unit, "DisplayUnit", {"name": shown, "factor": number(scale)})


def type_name(variable: ExportedVariable) -> str:
    """Return the name of a variable's type: its quantity, and the unit if that is not SI's; "" if it has none."""
    if not variable.quantity or not variable.unit:
        return ""
    return variable.quantity + ("" if variable.factor == 1.0 else f"_{unit_name(variable.unit)}")


def add_types(root: Element, variables: Sequence[ExportedVariable], fmi: int) -> None:
    """Add a type per quantity and unit, which says how the quantity is called and shown, in a version of FMI."""
    known = {type_name(variable): variable for variable in reversed(variables) if type_name(variable)}
    if not known:
        return
    definitions = SubElement(root, "TypeDefinitions")
    for name in sorted(known):
        unit = unit_name(known[name].unit)
        shown = {"displayUnit": DISPLAY[unit][0]} if unit in DISPLAY else {}
        about = {"quantity": known[name].quantity, "unit": unit, **shown}
        if fmi == 3:
            SubElement(definitions, "Float64Type", {"name": name, **about})
        else:
            SubElement(SubElement(definitions, "SimpleType", {"name": name}), "Real", about)


def _variable(listed: Element, reference: int, variable: ExportedVariable, state: int | None) -> None:
    """Add a variable; `state` is the index of that of which it is the derivative."""
    attributes = {
        "name": variable.name,
        "valueReference": str(reference),
        **({"description": variable.description} if variable.description else {}),
        "causality": variable.causality,
        "variability": variable.variability,
        **({"initial": variable.initial} if variable.initial is not None else {}),
    }
    of_type: dict[str, str] = {}
    if variable.type == REAL:
        if type_name(variable):
            of_type["declaredType"] = type_name(variable)
        if variable.unit:
            of_type["unit"] = unit_name(variable.unit)
        for key, value in (("min", variable.minimum), ("max", variable.maximum), ("nominal", variable.nominal)):
            if value is not None:
                of_type[key] = number(variable.in_unit(value))
    if state is not None:
        of_type["derivative"] = str(state)
    if isinstance(variable.start, str):
        of_type["start"] = variable.start
    elif variable.start is not None:
        of_type["start"] = number(variable.in_unit(variable.start))
    SubElement(SubElement(listed, "ScalarVariable", attributes), variable.type, of_type)


def _structure(
    root: Element,
    variables: Sequence[ExportedVariable],
    dependencies: Mapping[str, Sequence[str]],
    motions: Sequence[str],
) -> None:
    structure = SubElement(root, "ModelStructure")
    index = {variable.name: k + 1 for k, variable in enumerate(variables)}
    shown = [variable for variable in variables if variable.causality == OUTPUT]
    exchanged = [variable for variable in variables if variable.role in (STATE, RATE)]
    if not shown and not exchanged:
        return
    outputs = SubElement(structure, "Outputs") if shown else structure
    if exchanged:
        derivatives = SubElement(structure, "Derivatives")
        for variable in exchanged:
            if variable.role == RATE:
                # of all states and inputs, if nothing is said
                SubElement(derivatives, "Unknown", {"index": str(index[variable.name])})
    at_start = SubElement(structure, "InitialUnknowns")
    states = [index[variable.name] for variable in exchanged if variable.role == STATE]
    # how it integrates says nothing of where it begins
    known = [variable for variable in variables if variable.causality == PARAMETER and variable.role != INTEGRATOR]
    parameters = [index[variable.name] for variable in known]
    for variable in shown:
        inputs = sorted(index[name] for name in dependencies[variable.name])
        where = str(index[variable.name])
        SubElement(outputs, "Unknown", {"index": where, "dependencies": " ".join(map(str, [*inputs, *states]))})
        at_once = sorted({*inputs, *(index[name] for name in motions), *parameters})
        SubElement(at_start, "Unknown", {"index": where, "dependencies": " ".join(map(str, at_once))})
    for variable in exchanged:
        SubElement(at_start, "Unknown", {"index": str(index[variable.name])})


def number(value: float) -> str:
    """Return a number as XML has it, to the bit."""
    return repr(float(value))
