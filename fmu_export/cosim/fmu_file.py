"""What a master needs to know of an FMU: variables with types, units and dependencies, and what it can do."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fmu_export.cosim.measures import Measure, from_base, from_name
from fmu_export.host import described
from liegeo.errors import InputError

Value = float | int | bool | str
# How FMI calls the functions that get and set them.
TYPES = ("Real", "Integer", "Boolean", "String")

# The whole numbers of FMI 2.0, which have 32 bits.
_LEAST, _MOST = -(2**31), 2**31 - 1


def check_whole(value: int) -> None:
    """Refuse a whole number that an Integer of FMI 2.0 cannot be; in C it would be cut to 32 bits."""
    if not _LEAST <= value <= _MOST:
        raise InputError(f"is {value}, expected a whole number from {_LEAST} to {_MOST} (32 bits)")


@dataclass(frozen=True)
class CosimVariable:
    """A variable of an FMU.  `type` is one of TYPES: an enumeration is an integer whose `items` have names."""

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

    @property
    def settable(self) -> bool:
        """Whether it takes a value before initialisation."""
        if self.variability == "constant":
            return False
        return self.causality in ("parameter", "input") or self.initial in ("exact", "approx")


@dataclass(frozen=True)
class Description:
    """An FMU for co-simulation."""

    file: Path
    model_name: str
    identifier: str
    guid: str
    variables: Mapping[str, CosimVariable]
    # outputs to the inputs that they depend on at once, while running and at the start
    direct: Mapping[str, frozenset[str]]
    direct_at_start: Mapping[str, frozenset[str]]
    variable_steps: bool
    interpolates: bool
    saves_state: bool
    only_once: bool
    step: float | None
    start: float | None
    stop: float | None


def read_description(file: str | os.PathLike[str]) -> Description:
    """Of the FMU in a file; InputError if it is none that a master of FMI 2.0 co-simulation can run."""
    path = Path(file)
    status = path.stat()
    return _read(path.resolve(), status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=64)
def _read(path: Path, modified: int, size: int) -> Description:
    """`modified` and `size` are there for the cache: another file of that name is read anew."""
    found = described(path)
    try:
        return _description(path, found)
    except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
        # numbers that are none, and the like, which fmpy lets pass
        raise InputError(f"'{path.name}' is no FMU: {error}.") from None


def _description(path: Path, found: Any) -> Description:
    measures = {unit.name: from_base(unit.name, unit.baseUnit) for unit in found.unitDefinitions}
    variables = {v.name: _variable(v, measures) for v in found.modelVariables if v.causality != "independent"}
    flags = found.coSimulation
    direct = _dependencies(found.outputs, variables)
    experiment = found.defaultExperiment
    return Description(
        file=path,
        model_name=found.modelName,
        identifier=flags.modelIdentifier,
        guid=found.guid,
        variables=variables,
        direct=direct,
        # many tools leave InitialUnknowns out
        direct_at_start={**direct, **_dependencies(found.initialUnknowns, variables, listed=True)},
        variable_steps=bool(flags.canHandleVariableCommunicationStepSize),
        interpolates=bool(flags.canInterpolateInputs),
        saves_state=bool(flags.canGetAndSetFMUstate),
        only_once=bool(flags.canBeInstantiatedOnlyOncePerProcess),
        step=_positive(experiment, "stepSize"),
        start=_finite(experiment, "startTime"),
        stop=_positive(experiment, "stopTime"),
    )


def _positive(experiment: Any, key: str) -> float | None:
    value = _finite(experiment, key)
    return value if value is not None and value > 0.0 else None


def _finite(experiment: Any, key: str) -> float | None:
    text = getattr(experiment, key, None)
    value = float(text) if text is not None else math.nan
    return value if math.isfinite(value) else None


def _variable(found: Any, measures: Mapping[str, Measure]) -> CosimVariable:
    declared = found.declaredType
    unit = found.unit or (declared.unit if declared is not None else None) or ""
    nominal = found.nominal or (declared.nominal if declared is not None else None)
    measure = (measures.get(unit) or from_name(unit)) if unit else None
    items = tuple((item.name, int(item.value)) for item in declared.items) if declared is not None else ()
    return CosimVariable(
        name=found.name,
        reference=found.valueReference,
        type="Integer" if found.type == "Enumeration" else found.type,
        causality=found.causality or "local",
        variability=found.variability or "continuous",
        measure=measure,
        unit=unit,
        nominal=abs(float(nominal)) if nominal and float(nominal) != 0.0 else 1.0,
        start=found.start,
        initial=found.initial,
        items=items,
    )


def _dependencies(
    unknowns: Any, variables: Mapping[str, CosimVariable], listed: bool = False
) -> dict[str, frozenset[str]]:
    """By output, of all or of those that are listed.

    A list of dependencies that is left out means that it may depend on every input, as the standard says.
    """
    inputs = frozenset(name for name, v in variables.items() if v.causality == "input")
    outputs = {name for name, v in variables.items() if v.causality == "output"}
    out = {} if listed else dict.fromkeys(outputs, inputs)
    for unknown in unknowns:
        name = unknown.variable.name
        if name in outputs:
            on = unknown.dependencies
            out[name] = inputs if on is None else frozenset(v.name for v in on) & inputs
    return out
