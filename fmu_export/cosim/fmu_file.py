"""What a master needs to know of an FMU: variables with types, units and dependencies, and what it can do.

An array of FMI 3.0 is taken apart into its elements, as FMI 2.0 has them: `x[0]`, `m[1,2]`, row by row.  FMUs of ours
say in an annotation how FMI 2.0 calls the elements of a vector, `position.x`, so that a system of FMUs that names
these does not depend on the version.
"""

from __future__ import annotations

import functools
import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from fmu_export.cosim.measures import Measure, from_base, from_name
from fmu_export.vectors import ELEMENTS
from liegeo.archives import unpacked
from liegeo.errors import InputError

Value = float | int | bool | str
#: What a master passes on, sets and records.  FMI 3.0 has Binary and Clock besides.
TYPES = ("Real", "Integer", "Boolean", "String")
#: Which of its functions an FMU is run by.
CO_SIMULATION, MODEL_EXCHANGE = "co-simulation", "model exchange"
KINDS = (CO_SIMULATION, MODEL_EXCHANGE)
DESCRIPTION = "modelDescription.xml"
# Arrays of more elements are not taken apart: what has them are tables, which nobody wires one by one.
LARGEST_ARRAY = 4096

# What whole numbers each type can be, and the type of functions by the type of a variable.
_WHOLE = {"Integer": (-(2**31), 2**31 - 1)} | {
    f"{sign}Int{bits}": (0, 2**bits - 1) if sign else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    for bits in (8, 16, 32, 64)
    for sign in ("", "U")
}
_LARGEST_FLOAT32 = 3.4028234663852886e38


def check_whole(value: int, function: str = "Integer") -> None:
    """Refuse a whole number that a type of FMI cannot be; in C it would be cut to the bits that it has."""
    least, most = _WHOLE[function]
    if not least <= value <= most:
        bits = (most - least).bit_length()
        raise InputError(f"is {value}, expected a whole number from {least} to {most} ({bits} bits)")


def check_real(value: float, function: str) -> None:
    """Refuse a number that is finite, and would not be in an FMU's type."""
    if function == "Float32" and abs(value) > _LARGEST_FLOAT32:
        raise InputError(f"is {value:g}, expected a number within ±{_LARGEST_FLOAT32:.7g} (Float32)")


@dataclass(frozen=True)
class CosimVariable:
    """A variable of an FMU, or an element of an array.

    `type` is one of TYPES, or what a master cannot pass on: an enumeration is an integer whose `items` have names.
    `function` is the type in the names of FMI's functions.  An element stands at place `element` of `size` elements
    that have one reference.
    """

    name: str
    reference: int
    type: str
    causality: str
    variability: str
    measure: Measure | None = None
    unit: str = ""
    nominal: float = 1.0
    start: str | None = None
    initial: str | None = None
    items: tuple[tuple[str, int], ...] = ()
    function: str = "Real"
    element: int = 0
    size: int = 1

    @property
    def settable(self) -> bool:
        """Whether it takes a value before initialisation."""
        if self.variability == "constant":
            return False
        return self.causality in ("parameter", "input") or self.initial in ("exact", "approx")


@dataclass(frozen=True)
class Description:
    """An FMU as it is run: `kind` is one of KINDS, and flags are those of that kind."""

    file: Path
    fmi: int
    kind: str
    model_name: str
    identifier: str
    guid: str
    variables: Mapping[str, CosimVariable]
    # outputs to the inputs that they depend on at once, while running and at the start
    direct: Mapping[str, frozenset[str]]
    direct_at_start: Mapping[str, frozenset[str]]
    # outputs of which the FMU says what they depend on
    listed: frozenset[str]
    variable_steps: bool
    interpolates: bool
    saves_state: bool
    serialises: bool
    directional: bool
    rates_of_outputs: bool
    only_once: bool
    step: float | None
    start: float | None
    stop: float | None
    tolerance: float | None
    # of model exchange: how many states and event indicators, and whether steps of the solver are told
    states: int = 0
    indicators: int = 0
    tells_steps: bool = False
    # names of derivatives, in the order of the states, and those of the states
    rates: tuple[str, ...] = ()
    states_of_rates: tuple[str, ...] = ()

    @functools.cached_property
    def arrays(self) -> Mapping[int, Sequence[CosimVariable]]:
        """Return the elements of arrays by the reference that they share."""
        found: dict[int, dict[int, CosimVariable]] = {}
        for variable in self.variables.values():
            if variable.size > 1:
                found.setdefault(variable.reference, {})[variable.element] = variable
        return {reference: [elements[k] for k in sorted(elements)] for reference, elements in found.items()}


class ParsedFMU(NamedTuple):
    """A modelDescription.xml: fmpy's object of it, and what that leaves out.

    `elements` are, by array, how FMI 2.0 calls its elements, if the FMU says so, `texts` the start values of arrays of
    text; `directional` says by kind whether there are directional derivatives.
    """

    found: Any
    elements: Mapping[str, tuple[str, ...]]
    texts: Mapping[str, tuple[str, ...]]
    directional: Mapping[str, bool]

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds by which the FMU can be run, the usual one first."""
        both = zip(KINDS, (self.found.coSimulation, self.found.modelExchange), strict=True)
        return tuple(kind for kind, interface in both if interface is not None)

    def interface(self, kind: str) -> Any:
        """Return fmpy's object of the flags of a kind."""
        return self.found.coSimulation if kind == CO_SIMULATION else self.found.modelExchange


def described(file: str | os.PathLike[str]) -> ParsedFMU:
    """Return the description of an FMU; no other member of the archive is unpacked."""
    with unpacked(file, "FMU", [DESCRIPTION]) as folder:
        return described_in(folder, Path(file).name)


def described_in(folder: Path, name: str) -> ParsedFMU:
    """Return the description of an unpacked FMU; `name` is how messages call it."""
    from fmpy import read_model_description

    try:
        found = read_model_description(folder, validate=False)
    except Exception as error:  # no XML, a wrong attribute: fmpy raises what it meets
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(f"'{name}' is no FMU: {lines[0].rstrip('.')}.") from None
    if found.fmiVersion not in ("2.0", "3.0"):
        raise InputError(f"'{name}' is of FMI {found.fmiVersion}, expected 2.0 or 3.0; export it again.")
    if found.coSimulation is None and found.modelExchange is None:
        raise InputError(
            f"'{name}' is neither for co-simulation nor for model exchange; export it again as one of the two."
        )
    for interface in (found.coSimulation, found.modelExchange):
        identifier = "" if interface is None else interface.modelIdentifier or ""
        wrong = not identifier.isprintable() or not identifier.strip(". ") or any(sign in identifier for sign in "/\\:")
        if interface is not None and wrong:
            raise InputError(
                f"'{name}' is no FMU: its modelIdentifier is {identifier!r}, expected the name of a library."
            )
    token = "guid" if found.fmiVersion == "2.0" else "instantiationToken"
    for key, called in (("modelName", "modelName"), ("guid", token)):
        if getattr(found, key) is None:
            raise InputError(f"'{name}' is no FMU: its description has no {called}.")
    for variable in found.modelVariables:
        if not variable.name or not isinstance(variable.valueReference, int) or variable.valueReference < 0:
            raise InputError(
                f"'{name}' is no FMU: a variable has the name {variable.name!r} and the value reference "
                f"{variable.valueReference!r}, expected a name and a number."
            )
    return ParsedFMU(found, *_left_out(folder / DESCRIPTION))


def _left_out(file: Path) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]], dict[str, bool]]:
    """Return what fmpy does not read: annotations and texts of arrays, and FMI 3.0's name of a flag."""
    from lxml import etree

    root = etree.parse(str(file)).getroot()
    elements = {
        variable.get("name", ""): tuple((annotation.text or "").split())
        for variable in root.iterfind("ModelVariables/*")
        for annotation in variable.iterfind("Annotations/Annotation")
        if annotation.get("type") == ELEMENTS
    }
    texts = {
        variable.get("name", ""): tuple(start.get("value", "") for start in variable.iterfind("Start"))
        for variable in root.iterfind("ModelVariables/String")
    }
    directional = {}
    flags = ("providesDirectionalDerivative", "providesDirectionalDerivatives")
    for kind, tag in zip(KINDS, ("CoSimulation", "ModelExchange"), strict=True):
        interface = root.find(tag)
        said = {} if interface is None else interface.attrib
        directional[kind] = any(said.get(flag) in ("true", "1") for flag in flags)
    return elements, texts, directional


def kind_of(parsed: ParsedFMU, name: str, kind: str = "") -> str:
    """Return the kind by which an FMU is run: the one that is asked for, or else co-simulation where it has that."""
    if kind and kind not in KINDS:
        raise InputError(f"'{kind}' is no kind of FMU, expected {' or '.join(KINDS)}.")
    if kind and kind not in parsed.kinds:
        raise InputError(f"'{name}' is for {parsed.kinds[0]} only, expected {kind}; choose the kind that it has.")
    return kind or parsed.kinds[0]


def read_description(file: str | os.PathLike[str], kind: str = "") -> Description:
    """Return the FMU in a file; InputError if it is none that a master can run.  `kind` is one of KINDS, or any."""
    path = Path(file)
    status = path.stat()
    return _read(path.resolve(), kind, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=64)
def _read(path: Path, kind: str, modified: int, size: int) -> Description:
    """`modified` and `size` are there for the cache: another file of that name is read anew."""
    parsed = described(path)
    return description_of(path, parsed, kind_of(parsed, path.name, kind))


def description_of(file: Path, parsed: ParsedFMU, kind: str) -> Description:
    """Return what is known of an FMU that is run by a kind."""
    try:
        return _description(file, parsed, kind)
    except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
        # numbers that are none, and the like, which fmpy lets pass
        raise InputError(f"'{file.name}' is no FMU: {error}.") from None


def _description(path: Path, parsed: ParsedFMU, kind: str) -> Description:
    found, flags = parsed.found, parsed.interface(kind)
    exchange, fmi = kind == MODEL_EXCHANGE, int(found.fmiVersion[0])
    measures = {unit.name: from_base(unit.name, unit.baseUnit) for unit in found.unitDefinitions}
    parts = {
        v.name: list(_scalars(_variable(v, measures, fmi), v, parsed))
        for v in found.modelVariables
        if v.causality != "independent"
    }
    variables: dict[str, CosimVariable] = {}
    for scalars in parts.values():
        for scalar in scalars:
            if scalar.name in variables and max(scalar.size, variables[scalar.name].size) > 1:
                raise ValueError(f"two of its variables have the name '{scalar.name}'")
            variables[scalar.name] = scalar
    names = {name: [scalar.name for scalar in scalars] for name, scalars in parts.items()}
    direct = _dependencies(found.outputs, variables, names)
    experiment = found.defaultExperiment
    return Description(
        file=path,
        fmi=fmi,
        kind=kind,
        model_name=found.modelName,
        identifier=flags.modelIdentifier,
        guid=found.guid,
        variables=variables,
        direct=direct,
        # many tools leave InitialUnknowns out
        direct_at_start={**direct, **_dependencies(found.initialUnknowns, variables, names, listed=True)},
        listed=frozenset(
            name
            for unknown in found.outputs
            if unknown.dependencies is not None
            for name in names.get(unknown.variable.name, ())
        ),
        variable_steps=exchange or bool(flags.canHandleVariableCommunicationStepSize),
        # FMI 3.0 has no function that takes rates of inputs
        interpolates=exchange or (fmi == 2 and bool(flags.canInterpolateInputs)),
        saves_state=bool(flags.canGetAndSetFMUstate),
        serialises=bool(flags.canGetAndSetFMUstate and flags.canSerializeFMUstate),
        directional=parsed.directional[kind],
        rates_of_outputs=not exchange and (flags.maxOutputDerivativeOrder or 0) > 0,
        only_once=bool(flags.canBeInstantiatedOnlyOncePerProcess),
        step=_positive(experiment, "stepSize"),
        start=_finite(experiment, "startTime"),
        stop=_positive(experiment, "stopTime"),
        tolerance=_positive(experiment, "tolerance"),
        states=found.numberOfContinuousStates,
        indicators=found.numberOfEventIndicators,
        tells_steps=exchange and bool(flags.needsCompletedIntegratorStep),
        rates=tuple(name for unknown in found.derivatives for name in names.get(unknown.variable.name, ())),
        states_of_rates=tuple(
            name
            for unknown in found.derivatives
            if unknown.variable.derivative is not None
            for name in names.get(unknown.variable.derivative.name, ())
        ),
    )


def _positive(experiment: Any, key: str) -> float | None:
    value = _finite(experiment, key)
    return value if value is not None and value > 0.0 else None


def _finite(experiment: Any, key: str) -> float | None:
    text = getattr(experiment, key, None)
    value = float(text) if text is not None else math.nan
    return value if math.isfinite(value) else None


def _variable(found: Any, measures: Mapping[str, Measure], fmi: int) -> CosimVariable:
    declared = found.declaredType
    unit = found.unit or (declared.unit if declared is not None else None) or ""
    nominal = found.nominal or (declared.nominal if declared is not None else None)
    measure = (measures.get(unit) or from_name(unit)) if unit else None
    items = tuple((item.name, int(item.value)) for item in declared.items) if declared is not None else ()
    function = found.type if found.type != "Enumeration" else "Integer" if fmi == 2 else "Int64"
    kind = "Integer" if function in _WHOLE else "Real" if function.startswith("Float") else function
    return CosimVariable(
        name=found.name,
        reference=found.valueReference,
        type=kind,
        causality=found.causality or "local",
        variability=found.variability or "continuous",
        measure=measure,
        unit=unit,
        nominal=abs(float(nominal)) if nominal and float(nominal) != 0.0 else 1.0,
        start=found.start,
        initial=found.initial,
        items=items,
        function=function,
    )


def _scalars(variable: CosimVariable, found: Any, parsed: ParsedFMU) -> Iterator[CosimVariable]:
    """Yield the elements of an array, row by row; a variable that is no array as it is."""
    shape = tuple(found.shape or ())
    if not shape:
        yield variable
        return
    if any(n < 0 for n in shape):
        raise ValueError(f"'{variable.name}' is no array: its dimensions are {shape}, expected none below 0")
    size = math.prod(shape)
    if size > LARGEST_ARRAY:
        yield replace(variable, type=f"array of {size} numbers", size=size)
        return
    starts = parsed.texts.get(found.name, ()) if variable.type == "String" else (variable.start or "").split()
    # one start value is that of all elements
    starts = [*starts] * size if len(starts) == 1 else starts
    called = parsed.elements.get(found.name, ())
    names = (
        [f"{variable.name}.{part}" for part in called]
        if shape == (len(called),)
        else [f"{variable.name}[{','.join(map(str, place))}]" for place in itertools.product(*map(range, shape))]
    )
    for k, name in enumerate(names):
        start = starts[k] if len(starts) == size else None
        yield replace(variable, name=name, start=start, element=k, size=size)


def _dependencies(
    unknowns: Any,
    variables: Mapping[str, CosimVariable],
    names: Mapping[str, Sequence[str]],
    listed: bool = False,
) -> dict[str, frozenset[str]]:
    """By output, of all or of those that are listed.

    A list of dependencies that is left out means that it may depend on every input, as the standard says.  An element
    of an array depends on what the array depends on.
    """
    inputs = frozenset(name for name, v in variables.items() if v.causality == "input")
    outputs = {name for name, v in variables.items() if v.causality == "output"}
    out = {} if listed else dict.fromkeys(outputs, inputs)
    for unknown in unknowns:
        for name in names.get(unknown.variable.name, ()):
            if name in outputs:
                on = unknown.dependencies
                every = () if on is None else (part for v in on for part in names.get(v.name, ()))
                out[name] = inputs if on is None else frozenset(every) & inputs
    return out
