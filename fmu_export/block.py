"""What a slave shares with the guard library in front of it; fmu_export/guard/guard.c has the same."""

from __future__ import annotations

import ctypes
from enum import IntEnum, IntFlag

MAGIC = 0x6C69656765690001
#: The references by which the guard speaks to the slave; those of variables are small.
CHANNEL = 0x7E000000


class Mode(IntFlag):
    """Where an FMU is in the standard's state machine (FMI 2.0.4, 4.2.4)."""

    NEW = 1
    INITIALISING = 2
    STEPPING = 4
    FAILED = 8
    TERMINATED = 16
    BROKEN = 32


WORDS = {
    Mode.NEW: "instantiated",
    Mode.INITIALISING: "in initialisation mode",
    Mode.STEPPING: "initialised",
    Mode.FAILED: "where a step was discarded",
    Mode.TERMINATED: "terminated",
    Mode.BROKEN: "in the state that follows an error",
}


class VariableKind(IntFlag):
    """What may be done with a variable, and what its value takes."""

    REAL = 1
    STRING = 2
    INPUT = 4
    PARAMETER = 8
    TUNABLE = 16
    DIRECT = 32
    COMPUTED = 64
    OUTPUT = 128


class Ask(IntEnum):
    """What the guard wants of the slave."""

    REFUSE = 0
    REFRESH = 1
    COMPLETE = 2
    DIRECTIONAL = 3
    OUTPUT_RATES = 4
    INPUT_RATES = 5
    HEARD = 6


_REFERENCES = ctypes.POINTER(ctypes.c_uint32)
_REALS = ctypes.POINTER(ctypes.c_double)


class Block(ctypes.Structure):
    """`values` and `kinds` are arrays of the slave's; what follows them are arguments, valid while a call lasts."""

    _fields_ = (
        ("magic", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("status", ctypes.c_int32),
        ("mode", ctypes.c_int32),
        ("fresh", ctypes.c_int32),
        ("asked", ctypes.c_int32),
        ("changed", ctypes.c_int32),
        ("reason", ctypes.c_int32),
        ("reference", ctypes.c_uint64),
        ("function", ctypes.c_char_p),
        ("what", ctypes.c_char_p),
        ("x", ctypes.c_double),
        ("y", ctypes.c_double),
        ("time", ctypes.c_double),
        ("start", ctypes.c_double),
        ("stop", ctypes.c_double),
        ("tolerance", ctypes.c_double),
        ("guid", ctypes.c_char_p),
        ("n", ctypes.c_uint64),
        ("values", ctypes.c_void_p),
        ("kinds", ctypes.c_void_p),
        ("references", _REFERENCES),
        ("known", _REFERENCES),
        ("n_references", ctypes.c_uint64),
        ("n_known", ctypes.c_uint64),
        ("orders", ctypes.POINTER(ctypes.c_int32)),
        ("given", _REALS),
        ("out", _REALS),
    )


# By the number of a reason, from 1: what was wrong with a call.  {name} is the variable, {what} an argument, a type or
# a category, {mode} words.
REASONS = (
    "it is not allowed now: the FMU is {mode}.",
    "{what} is NULL.",
    "valueReference {reference} is no {what}.",
    "{name} is a variable that cannot be set.",
    "{name} is fixed, and the FMU is {mode}.",
    "{name}: the value is {x}, expected a finite number.",
    "from {x} to {y}, expected finite times that rise.",
    "from {x} s, {y} s long; expected a finite time and a size > 0.",
    "from {x:.17g} s, but the FMU is at {y:.17g} s.",
    "{y:g} s are nothing beside the time, {x:g} s.",
    "the step ends at {x:.17g} s, but fmi2SetupExperiment said that the run ends at {y:.17g} s.",
    "there is nothing to tell: no step is pending, and the FMU has no such status.",
    "the state is none of this instance's: it was freed, or never made.",
    "there is room for {x:.0f} bytes, but the state takes {y:.0f}.",
    "{name}: the order is {x:.0f}, expected {orders}.",
    "{name} is not known where the FMU is {mode}: expected inputs, and parameters while initialising.",
    "{name} is no output.",
    "there is no category '{what}'.",
    "it belongs to model exchange, and the FMU is for co-simulation.",
    "{name}: the text is not UTF-8.",
)
