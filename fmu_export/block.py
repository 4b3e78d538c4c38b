"""What a slave shares with the guard library in front of it; fmu_export/guard/fmu.h has the same."""

from __future__ import annotations

import ctypes
from enum import IntEnum, IntFlag

MAGIC = 0x6C69656765690002
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
    #: of native FMUs for model exchange, in place of STEPPING
    EVENT = 128
    CONTINUOUS = 256
    #: of native FMUs of FMI 3.0, while a host hears of an internal step
    BETWEEN = 512
    #: of native FMUs of FMI 3.0, where a host handles an event in co-simulation
    HANDLING = 1024


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
    MESSAGE = 256
    #: an input of a prescribed motion, whose rate and acceleration are inputs too
    MOTION = 512
    #: of native FMUs, for model exchange: continuous states and their derivatives
    STATE = 1024
    RATE = 2048
    INDICATOR = 4096


class Ask(IntEnum):
    """What the guard wants of the slave."""

    REFRESH = 1
    COMPLETE = 2
    DIRECTIONAL = 3
    OUTPUT_RATES = 4
    INPUT_RATES = 5
    STATES = 6  # of native FMUs only: others have no variables that are states
    HEARD = 7


_REFERENCES = ctypes.POINTER(ctypes.c_uint32)
_REALS = ctypes.POINTER(ctypes.c_double)


class Block(ctypes.Structure):
    """Texts and arrays up to `names` are the slave's; what follows them are arguments, valid while a call lasts."""

    _fields_ = (
        ("magic", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("status", ctypes.c_int32),
        ("mode", ctypes.c_int32),
        ("fresh", ctypes.c_int32),
        ("asked", ctypes.c_int32),
        ("changed", ctypes.c_int32),
        ("time", ctypes.c_double),
        ("start", ctypes.c_double),
        ("stop", ctypes.c_double),
        ("tolerance", ctypes.c_double),
        ("guid", ctypes.c_char_p),
        ("message", ctypes.c_char_p),
        ("why", ctypes.c_char_p),
        ("details", ctypes.c_char_p),
        ("n", ctypes.c_uint64),
        ("values", ctypes.c_void_p),
        ("kinds", ctypes.c_void_p),
        ("names", ctypes.POINTER(ctypes.c_char_p)),
        ("references", _REFERENCES),
        ("known", _REFERENCES),
        ("n_references", ctypes.c_uint64),
        ("n_known", ctypes.c_uint64),
        ("orders", ctypes.POINTER(ctypes.c_int32)),
        ("given", _REALS),
        ("out", _REALS),
    )
