"""The data file of a native FMU: all that its library needs to know of a model, as arrays and texts.

It begins with MAGIC and its length; then stand places and sizes, in bytes, of the sections (SECTIONS), and the sections
themselves.  ROWS say how a machine's record (liegeo/machine/record.py) is made, six whole numbers each:

    place in R, how, a, n₀, n₁, n₂

`how` is NUMBER (the number a), CODE (the kernel by the name number a), SHARED or COPIED (the array at a of BLOB, for
all instances together or for each of its own), or FRESH (an array of zeros); n are the sizes of arrays.
METHODS have rows of their own, which follow those of the machine.  C finds all numbers here by names: `header`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmu_export.machine import Machine, method_numbers
from fmu_export.native import kernels
from fmu_export.native.tracing import program_numbers, sized_numbers, written
from fmu_export.slave import variable_kind
from fmu_export.variables import (
    EXCHANGED,
    FILE,
    GRAVITY,
    INDICATOR,
    INITIAL,
    INPUT,
    INTEGRATOR,
    MESSAGE,
    OUTPUT,
    RATE,
    REAL,
    STATE,
    ExportedVariable,
)
from fmu_export.vectors import runs
from fmu_export.words import TEXTS
from liegeo.errors import InputError
from liegeo.integrate import METHODS, stepping
from liegeo.integrate.calls import SIZE as N_ADDRESSES
from liegeo.integrate.methods import Method, check_method
from liegeo.integrate.newton import with_sizes
from liegeo.integrate.stepper import compile_loop
from liegeo.kernels import layout as at
from liegeo.kernels import observe
from liegeo.machine import blame, record
from liegeo.recorded import Straight

MAGIC = b"liegeo-machine-1"

SECTIONS = (
    *("GUID", "IDENTITY", "NUMBERS", "NAMES", "KINDS", "RUNS", "VALUES", "FACTORS", "ROLES", "KEYS", "STRINGS"),
    *("MODEL", "CODES", "DYNAMICS", "ROWS", "METHODS", "METHOD_ROWS", "MESSAGES"),
    *("WORDS", "BLOB", "NOMINALS", "OWN", "REFUSED", "REFUSALS"),
)
HOW = ("NUMBER", "CODE", "SHARED", "COPIED", "FRESH")
ROLES = (
    "OTHER",
    "AN_INPUT",
    "AN_OUTPUT",
    "WEIGHT",
    "WISH",
    "STEP",
    "RTOL",
    "ATOL",
    "METHOD",
    "EXTRAPOLATION",
    "A_STATE",
    "A_RATE",
    "AN_INDICATOR",
    "OF_FILE",
)
NUMBERS = (
    "START",
    "STOP",
    "N_INPUTS",
    "N_STRINGS",
    "AT_GRAVITY",
    "AT_CONTROL",
    "AT_Y",
    "N_ELEMENT",
    "N_METHODS",
    "N_STATES",
    "N_SAVED",
    "N_INDICATORS",
)
# Numbers of the record that belong to a model.
_COUNTS = ("N_INPUTS", "N_MOTIONS", "N_OUTPUTS", "DIM", "N_SAMPLED", "N_SAMPLES")
#: Numbers of a method: the first of its rows, how many it has, and whether it can be used; else what its name says.
_METHOD = 3


class _Blob:
    """Arrays one after another."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._known: dict[tuple[str, bytes], int] = {}
        self._size = 0

    def add(self, array: NDArray[Any]) -> int:
        """Return where the array stands; equal ones stand there once."""
        content = np.ascontiguousarray(array).tobytes()
        key = (str(array.dtype), content)
        if key not in self._known:
            self._known[key] = self._size
            self._parts.append(content)
            self._size += len(content)
        return self._known[key]

    def content(self) -> bytes:
        return b"".join(self._parts)


def data_file(
    machine: Machine,
    variables: Sequence[ExportedVariable],
    motions: Sequence[str],
    identity: str,
    start: float,
    stop: float,
    program: Straight,
) -> Callable[[str], bytes]:
    """Return a function of the GUID that gives the file.

    `motions` are the inputs of prescribed motions, `program` makes numbers of the machine from parameters.
    """
    blob, codes = _Blob(), _Codes()
    model = machine.model
    arrays = {
        **machine._arrays,
        "PROGRAM": program_numbers(program),
        "REGISTERS": program.registers,
        "WISHED": machine.wished,
        "WEIGHT": np.array(machine.drive.constants[-3:]),
    }
    rows = [_row(name, "NUMBER", machine._numbers[name]) for name in _COUNTS]
    for name, kernel in _shown(machine).items():
        kind = "_complex" if name.endswith("COMPLEX") else ""
        rows.append(_row(name, "CODE", codes.number(f"show_{kernels.shown_by(kernel)}{kind}")))
    rows.append(_row("FIELD", "CODE", codes.number("field")))
    rows.append(_row("BLAME", "CODE", codes.number("blame")))
    if machine._controllers.observer.width:
        rows.append(
            _row("MEASURE", "CODE", codes.number(f"show_{kernels.shown_by(machine._controllers.observer.kernel)}"))
        )
    if model.rows:
        rows += [_row("PROJECT", "CODE", codes.number("project")), _row("ASSEMBLE", "CODE", codes.number("assemble"))]
    of_methods = {"X", "SAVED", "BEFORE", "W", "COEFFICIENTS", "SETTINGS", "SIZED"}
    for name in (*record.INTS, *record.FLOATS, *record.SHAPED):
        if name in of_methods:
            continue
        array, how = arrays[name], _how(name)
        content = _without_addresses(name, array)
        rows.append(_row(name, how, 0 if how == "FRESH" else blob.add(content), *array.shape, flat=name))
    methods: list[int] = []
    method_rows: list[list[int]] = []
    names: list[str] = []
    for method in METHODS.values():
        words = _refused(machine, method)
        names.append(method.name if not words else f"{method.name}\n{words}")
        its = [] if words else _rows_of_method(machine, method, blob, codes, program)
        methods += [len(method_rows), len(its), int(not words)]
        method_rows += its
    locked = [each.ints for each in machine._locked]
    fixed = [model.ints, *locked, *[None] * (2 - len(locked)), model.floats]
    places = [(-1, 0) if each is None else (blob.add(each), len(each)) for each in fixed]
    part, drive = machine._part, machine.drive
    # what the program writes, and instances share until it does
    own = [(-1, blob.add(model.floats), len(model.floats))]
    own += [
        (record.PLACES_OF_RECORD[name], blob.add(arrays[name]), arrays[name].size)
        for name in written(program)
        if _how(name) == "SHARED"
    ]
    numbers = {
        "START": start,
        "STOP": stop,
        "N_INPUTS": len(machine.places),
        "N_STRINGS": sum(variable.type != REAL for variable in variables),
        "AT_GRAVITY": part["gravity"].start,
        "AT_CONTROL": part["control"].start,
        "AT_Y": part["y"].start,
        "N_ELEMENT": len(machine.stepper.y),
        "N_METHODS": len(METHODS),
        "N_STATES": sum(variable.role == STATE for variable in variables),
        "N_SAVED": sum(variable.role not in EXCHANGED for variable in variables),
        "N_INDICATORS": sum(variable.role == INDICATOR for variable in variables),
    }
    sections = {
        "IDENTITY": identity.encode(),
        "NUMBERS": np.array([numbers[name] for name in NUMBERS]),
        "NAMES": _texts(variable.name for variable in variables),
        "KINDS": np.array([variable_kind(variable, motions) for variable in variables], dtype=np.uint16),
        "RUNS": np.array(runs(variables), dtype=np.uint16),
        "VALUES": np.array([_value(variable) for variable in variables]),
        "FACTORS": np.array([variable.factor for variable in variables]),
        "ROLES": np.array([ROLES.index(_role(variable)) for variable in variables], dtype=np.int64),
        "KEYS": np.array([_key(variable, machine, program) for variable in variables], dtype=np.int64),
        "STRINGS": _texts(str(variable.start or "") for variable in variables if variable.type != REAL),
        "MODEL": np.array(places, dtype=np.int64),
        "CODES": codes.content,
        "DYNAMICS": np.array(
            [codes.number(name) for name in kernels.dynamics_names(drive.system.dynamics)], dtype=np.int64
        ),
        "ROWS": np.array(rows, dtype=np.int64),
        "METHODS": np.array(methods, dtype=np.int64),
        "METHOD_ROWS": np.array(method_rows, dtype=np.int64),
        "MESSAGES": _texts(machine.texts),
        "WORDS": _texts([*TEXTS.values(), *names]),
        "BLOB": blob.content,
        "NOMINALS": np.array([variable.nominal for variable in variables if variable.role == STATE], dtype=np.float64),
        "OWN": np.array(own, dtype=np.int64),
        "REFUSED": np.array([shown for *_, shown in program.guards], dtype=np.int64),
        "REFUSALS": _texts(program.words),
    }
    return lambda guid: _packed({**sections, "GUID": guid.encode() + b"\0"})


class _Codes:
    """Names of kernels, numbered where they are first asked for."""

    def __init__(self) -> None:
        self._names: dict[str, int] = {}

    def number(self, name: str) -> int:
        """Return the number of a name; −1 of none."""
        return self._names.setdefault(name, len(self._names)) if name else -1

    def content(self) -> bytes:
        return _texts(self._names)


def _texts(texts: Iterable[str]) -> bytes:
    return b"".join(text.encode() + b"\0" for text in texts)


def _packed(sections: Mapping[str, Any]) -> bytes:
    start = len(MAGIC) + 8 + 16 * len(SECTIONS)
    places, parts, end = [], [], start
    for name in SECTIONS:
        given = sections[name]() if callable(sections[name]) else sections[name]
        content = given if isinstance(given, bytes) else np.ascontiguousarray(given).tobytes()
        places += [end, len(content)]
        padded = content + bytes(-len(content) % 8)
        parts.append(padded)
        end += len(padded)
    return MAGIC + struct.pack(f"<q{len(places)}q", end, *places) + b"".join(parts)


def kernels_of(content: bytes) -> list[str]:
    """Return the names of the kernels that a data file names."""
    start, size = struct.unpack_from("<2q", content, len(MAGIC) + 8 + 16 * SECTIONS.index("CODES"))
    return content[start : start + size].decode().split("\0")[:-1]


def _shown(machine: Machine) -> dict[str, Any]:
    """Return the kernels that show what a record names."""
    return {
        "SHOW": machine._outputs.kernel,
        "SHOW_KNOWN": observe.show,
        "SHOW_RATES": machine._rates.kernel,
        "SHOW_TURNS": machine._turns.kernel,
        "SHOW_COMPLEX": machine._outputs.kernel,
        "SHOW_RATES_COMPLEX": machine._rates.kernel,
    }


_OWN = ("S", "S_KEPT", "S_FREE", "D", "REGISTERS", "WISHED", "WEIGHT")
_CONSTANT = (
    *("DATA", "DATA_TURNS", "DATA_RATES", "BREAKS", "WEIGHTS", "WEIGHTS_FREE"),
    *("GAINS", "SAMPLED", "DATA_MEASURED", "SENSOR_SETTINGS"),
)


def _how(name: str) -> str:
    if name in _OWN:
        return "COPIED"
    return "SHARED" if name in (*record.INTS, *record.SHAPED, *_CONSTANT) else "FRESH"


def _without_addresses(name: str, array: NDArray[Any]) -> NDArray[Any]:
    if not name.startswith("S") or name not in _OWN:
        return array
    out = array.copy()
    out[: at.S_TABLES] = 0
    if name == "S":
        out[len(out) - N_ADDRESSES :] = 0
    return out


def _row(name: str, how: str, a: int, *sizes: int, flat: str = "") -> list[int]:
    shape = list(sizes)
    if flat and flat not in record.SHAPED:
        shape = [int(np.prod(shape, dtype=np.int64))]
    return [record.PLACES_OF_RECORD[name], HOW.index(how), a, *(*shape, 0, 0, 0)[:3]]


def _refused(machine: Machine, method: Method) -> str:
    """Return why a method cannot be used on the model; nothing if it can."""
    try:
        check_method(machine.stepper.problem, method)
    except InputError as error:
        return str(error)
    if "linear" in method.properties:
        # check_method lets it pass for models that have no coordinates
        return f"method {method.name} is for linear equations, and native FMUs lack it. Take another, such as rkmk-4."
    return ""


def _rows_of_method(machine: Machine, method: Method, blob: _Blob, codes: _Codes, program: Straight) -> list[list[int]]:
    system, group = machine.drive.system, machine.stepper.problem.group
    coefficients = with_sizes(method, method.coefficients(), system)
    rows, kept = method.scratch(group.dim, len(machine.stepper.y))
    sizes = len(machine.places), len(machine._arrays["TURNED"]), len(machine.stepper.y), group.dim, rows
    part = record.parts(*sizes, machine._numbers["N_SAMPLED"], machine._numbers["N_SAMPLES"])
    loop, _ = compile_loop(machine.stepper.problem, method)
    numbers = method_numbers(method)
    sized = sized_numbers(program, method, machine)
    n_state = part["K"].start + kept * group.dim
    settings = np.array([0.0, 0.0, 0.0, method.exponent, numbers["POWER"], numbers["SHARE"], np.inf])
    return [
        _row("LOOP", "CODE", codes.number(kernels.loop_name(loop))),
        *(_row(name, "NUMBER", value) for name, value in (("ROWS", rows), ("KEPT", kept), ("N_STATE", n_state))),
        _row("ADAPTIVE", "NUMBER", int(method.adaptive)),
        _row("ORDER", "NUMBER", method.order),
        _row("TOLERANCE_AT", "NUMBER", int(numbers["TOLERANCE_AT"])),
        _row("X", "FRESH", 0, part["K"].stop),
        _row("SAVED", "FRESH", 0, n_state),
        _row("BEFORE", "FRESH", 0, n_state if machine._controllers.events.names else 0),
        _row("W", "FRESH", 0, method.workspaces * system.work),
        _row("SETTINGS", "COPIED", blob.add(settings), len(settings)),
        _row("COEFFICIENTS", "COPIED", blob.add(coefficients), *coefficients.shape),
        _row("SIZED", "SHARED", blob.add(sized), len(sized)),
    ]


def _value(variable: ExportedVariable) -> float:
    return float("nan") if not isinstance(variable.start, float | int) else variable.in_unit(variable.start)


def _role(variable: ExportedVariable) -> str:
    simple = {
        INPUT: "AN_INPUT",
        OUTPUT: "AN_OUTPUT",
        STATE: "A_STATE",
        RATE: "A_RATE",
        INDICATOR: "AN_INDICATOR",
        GRAVITY: "WEIGHT",
        INITIAL: "WISH",
        FILE: "OF_FILE",
        MESSAGE: "OTHER",
    }
    if variable.role == INTEGRATOR:
        return str(variable.key[0]).upper()
    return simple[variable.role]


def _key(variable: ExportedVariable, machine: Machine, program: Straight) -> int:
    """Return where what a variable stands for is: in y, among the registers of the program, or a number of it."""
    if variable.role == FILE:
        return 2 * program.names.index(variable.key[0])
    if variable.role == INITIAL:
        model, (letter, place) = machine.model, variable.key
        first = {"q": 0, "v": model.nq + model.nx, "x": model.nq + model.nx + model.nv}
        return first[letter] + int(place)
    return int(variable.key[0]) if variable.role in (GRAVITY, *EXCHANGED) else 0


def header() -> str:
    """Return a C header with the names of all numbers that Python and C share."""
    groups: list[tuple[str, Mapping[str, int]]] = [
        ("R_", record.PLACES_OF_RECORD),
        ("", {f"SECTION_{name}": k for k, name in enumerate(SECTIONS)}),
        ("", {f"HOW_{name}": k for k, name in enumerate(HOW)}),
        ("", {f"ROLE_{name}": k for k, name in enumerate(ROLES)}),
        ("", {f"NUMBER_{name}": k for k, name in enumerate(NUMBERS)}),
        ("", {f"TEXT_{name}": k for k, name in enumerate(TEXTS)} | {"N_TEXTS": len(TEXTS)}),
        ("ENTRY_", {name.upper(): k for k, name in enumerate(kernels.ENTRIES)}),
        ("", {"N_ENTRIES": len(kernels.ENTRIES)}),
        ("X_", {"TIME": record.TIME, "REACHED": record.REACHED, "INPUTS": record.INPUTS}),
        ("SETTING_", {"STEP": record.STEP, "RTOL": record.RTOL, "ATOL": record.ATOL}),
        ("DRIVE_", {name: getattr(at, name) for name in ("S_I", "S_NI", "S_F", "S_NF")}),
        ("CONTROL_", {"TIME": stepping.TIME}),
        ("WHY_", {name: getattr(record, name) for name in ("STEP_FAILED", "GOES_ON")}),
        ("PIECE_", {"TEXT": blame.TEXT, "ALL": blame.ALL}),
        ("", {"N_SECTIONS": len(SECTIONS), "N_ADDRESSES": N_ADDRESSES, "METHOD_NUMBERS": _METHOD}),
    ]
    lines = ["/* Made by fmu_export/native/data.py: what Python and C share. */"]
    for prefix, names in groups:
        lines.append("enum { " + ", ".join(f"{prefix}{name} = {value}" for name, value in names.items()) + " };")
    entries = ", ".join(f'"entry_{name}"' for name in kernels.ENTRIES)
    lines.append(f"#define ENTRY_NAMES {entries}")
    lines.append(f'#define DATA_MAGIC "{MAGIC.decode()}"')
    return "\n".join(lines) + "\n"
