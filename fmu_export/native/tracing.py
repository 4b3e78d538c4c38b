"""Parameters of the model file in a native FMU: a program from them to the numbers of the machine.

The model file is read, compiled and driven once more, with recorded numbers (liegeo/recorded.py) in place of the
parameters that the FMU offers.  What comes of them in F, in the drive, in the data of observers, in the sizes of
Newton's method, in the state at the start and in gravity is the program's outputs; what a comparison decided on the way
is its guards.  The program is then run at other values, beside the model that is loaded with these: a parameter for
which they differ is a constant, and is said to be one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmu_export.machine import Machine
from fmu_export.words import TEXTS
from liegeo.errors import LiegeoError
from liegeo.integrate.methods import Method
from liegeo.integrate.newton import places_of_sizes
from liegeo.machine import record
from liegeo.machine.tuning import OF_MODEL
from liegeo.recorded import OperationRecorder, Recorded, Straight, recorded_in, recording, straight

Array = NDArray[Any]

#: Makes the machine of the model with these values of parameters.
Make = Callable[[Mapping[str, Any]], Machine]

# Outputs that are no arrays of the record: the numbers F, and 1/σ of Newton's method, whose place the method says.
MODEL, SIZES = "F", "1/σ"
# Points at which a program is tried, and how far they are, as shares of each value; a closer one if there is no model.
_POINTS, _DISTANCES = 2, (0.02, 1e-4)
#: By how much, as a share, a number may differ from that of the model that is loaded.
TOLERANCE = 1e-12
_DIFFERS = "a program gives other numbers than the model file does"
#: The same of a model that begins at rest, which Newton's method finds when the model is loaded.
AT_REST = "the position in which the model comes to rest depends on it"


@dataclass(frozen=True)
class Settable:
    """What can be set, by a program, and why other parameters are constants; the machine that the program is for."""

    program: Straight
    constants: dict[str, str]
    machine: Machine


def settable(
    machine: Machine, names: Sequence[str], values: Mapping[str, float], make: Make, differs: str = _DIFFERS
) -> Settable:
    """Return the program of the parameters that are offered; `values` are the model's, `machine` is made of these.

    `differs` is why a parameter is a constant with which the program gives other numbers than the loaded model has.
    """
    constants: dict[str, str] = {}
    while True:
        left = [name for name in names if name not in constants]
        program, found, made = _traced(left, values, make, constants)
        constants |= found
        if _same_layout(machine, made):
            # it has the bits of the FMU with Python inside where nothing is set
            made = machine
        wrong = _wrong(program, made, values, make, differs)
        if not wrong:
            ordered = {name: constants[name] for name in names if name in constants}
            return Settable(program, ordered, made)
        constants |= wrong


def _traced(
    names: Sequence[str], values: Mapping[str, float], make: Make, known: Mapping[str, str]
) -> tuple[Straight, dict[str, str], Machine]:
    """Return the program, what became a constant and why, and the machine of recorded numbers."""
    try:
        return _recorded(names, values, make)
    except Exception as error:
        # what asks for no float and cannot be recorded: alone, each parameter shows whether it is the one
        found = {}
        for name in names if len(names) > 1 else ():
            try:
                _recorded([name], values, make)
            except Exception as own:
                found[name] = f"it cannot be recorded: {own}"
        found = found or dict.fromkeys(names, f"it cannot be recorded: {error}")
        program, more, made = _recorded([name for name in names if name not in found], values, make)
        return program, {**found, **more}, made


def _recorded(
    names: Sequence[str], values: Mapping[str, float], make: Make
) -> tuple[Straight, dict[str, str], Machine]:
    with recording() as recorder:
        made = make({name: recorder.parameter(name, values[name]) for name in names})
        outputs = _outputs(recorder, made)
    return straight(recorder, outputs, TEXTS["OTHER_BRANCH"]), dict(recorder.constants), made


def _outputs(recorder: OperationRecorder, machine: Machine) -> dict[Any, Mapping[int, Recorded]]:
    drive = machine.drive
    out: dict[Any, Mapping[int, Recorded]] = {MODEL: recorder.noted(machine.model.floats)}
    for name in record.FLOATS:
        if name in machine._arrays:
            out[name] = recorder.noted(machine._arrays[name])
    out["WISHED"] = recorder.noted(machine.wished)
    first = len(drive.constants) - 3
    weight = {k - first: x for k, x in recorder.noted(drive.constants).items() if k >= first}
    out["WEIGHT"] = weight
    if drive.system.sizes is not None:
        inverse = 1.0 / recorded_in(drive.system.sizes)
        out[SIZES] = {k: x for k, x in enumerate(inverse) if isinstance(x, Recorded)}
    return out


def _arrays(machine: Machine) -> dict[Any, Array]:
    """Return all numbers of a machine that may depend on parameters, by the names of outputs."""
    drive = machine.drive
    sizes = np.ones(0) if drive.system.sizes is None else 1.0 / np.asarray(drive.system.sizes)
    constant = ("D", "DATA", "DATA_TURNS", "DATA_RATES", "BREAKS", "WEIGHTS", "WEIGHTS_FREE", "GAINS", "DATA_MEASURED")
    return {
        MODEL: machine.model.floats,
        **{name: machine._arrays[name] for name in constant},
        "WISHED": machine.wished,
        "WEIGHT": drive.constants[-3:],
        SIZES: sizes,
    }


def _same_layout(a: Machine, b: Machine) -> bool:
    """Return whether two machines differ in real numbers alone."""
    whole = [name for name in record.INTS if name in a._arrays and not name.startswith("S")]
    return (
        np.array_equal(a.model.fingerprint, b.model.fingerprint)
        and np.array_equal(a.drive.data[0], b.drive.data[0])
        and all(np.array_equal(a._arrays[name], b._arrays[name]) for name in whole)
        and all(np.shape(x) == np.shape(y) for x, y in zip(_arrays(a).values(), _arrays(b).values(), strict=True))
        and a.drive.system.dynamics == b.drive.system.dynamics
        and a.drive.system.coupled == b.drive.system.coupled
    )


# ---- whether a program is right


def _wrong(
    program: Straight, machine: Machine, values: Mapping[str, float], make: Make, differs: str
) -> dict[str, str]:
    """Return the parameters for which the program does not give the numbers of the model that is loaded, and why."""
    rng = np.random.default_rng(1)
    names = list(program.names)
    for _ in range(_POINTS if names else 0):
        if not _agrees(program, machine, _point(rng, names, values), make, rng):
            found = {}
            for name in names:
                if not _agrees(program, machine, _point(rng, [name], values), make, rng):
                    found[name] = differs
            return found or dict.fromkeys(names, differs)
    return {}


def _point(
    rng: np.random.Generator, names: Sequence[str], values: Mapping[str, float]
) -> dict[str, tuple[float, float]]:
    """Return by name a value and a direction to go from it."""
    return {name: (values[name], rng.uniform(-1.0, 1.0) * (abs(values[name]) or 1.0)) for name in names}


def _agrees(
    program: Straight,
    machine: Machine,
    point: Mapping[str, tuple[float, float]],
    make: Make,
    rng: np.random.Generator,
) -> bool:
    """Return whether program and model agree near a point, as near as both have numbers there."""
    for distance in (each for share in _DISTANCES for each in (share, -share)):
        given = {name: value + distance * direction for name, (value, direction) in point.items()}
        refused, found = program.run(given)
        if refused:
            continue
        try:
            other = make(given)
        except LiegeoError:
            continue
        return _numbers_agree(machine, found, other)
    # neither direction is admissible for all together: for each alone it is
    return (
        all(_agrees(program, machine, {name: at}, make, rng) for name, at in point.items()) if len(point) > 1 else False
    )


def _numbers_agree(machine: Machine, found: Mapping[Any, Mapping[int, float]], other: Machine) -> bool:
    here, there = _arrays(machine), _arrays(other)
    for name, array in here.items():
        expected, mine = np.ravel(there[name]), np.array(np.ravel(array), dtype=np.float64)
        if expected.shape != mine.shape:
            # what nothing shares or leaves out here may be shared there
            return False
        before = np.abs(mine)
        for place, value in found.get(name, {}).items():
            mine[place] = value
        infinite = np.isinf(mine) & (mine == expected)
        near = np.abs(np.where(infinite, 0.0, mine) - np.where(infinite, 0.0, expected))
        size = np.maximum(np.maximum(np.abs(mine), np.abs(expected)), before)
        if not (infinite | (near <= TOLERANCE * size)).all():
            return False
    return True


# ---- what stands in the data file


def program_numbers(program: Straight) -> NDArray[np.int64]:
    """Return the program as liegeo/machine/tuning.py reads it; nothing, if it has no parameters."""
    if not program.names:
        return np.zeros(0, np.int64)
    outputs = [
        (OF_MODEL if name == MODEL else record.PLACES_OF_RECORD[name], place, register)
        for name, rows in program.outputs.items()
        if name != SIZES
        for place, register in rows
    ]
    first = len(program.registers) - len(program.lines)
    head = [len(program.lines), len(program.guards), len(outputs), first]
    rows = [*program.lines, *((kind, a, b) for kind, a, b, _ in program.guards), *outputs]
    return np.array([*head, *(number for row in rows for number in row)], dtype=np.int64)


def sized_numbers(program: Straight, method: Method, machine: Machine) -> NDArray[np.int64]:
    """Return where 1/σ stand among the coefficients of a method, and the registers that have them."""
    coefficients = method.coefficients()
    rows = program.outputs.get(SIZES, [])
    if not method.mechanical or coefficients.size == 0 or not rows:
        return np.zeros(0, np.int64)
    places = places_of_sizes(coefficients, machine.drive.system.group.dim)
    return np.array([number for k, register in rows for number in (places[k], register)], dtype=np.int64)


def written(program: Straight) -> list[str]:
    """Return the arrays of the record that the program writes."""
    return [name for name in program.outputs if name not in (MODEL, SIZES)]
