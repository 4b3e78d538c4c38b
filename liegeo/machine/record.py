"""A mechanism that moves from one communication point to the next, as compiled code over one record of addresses.

It is what an FMU does between two calls of its host, without FMI.  `fmu_export/machine.py` calls these kernels from
Python, and a native FMU calls the same ones from C: nothing else knows how a communication step is made.

**Inputs** are piecewise polynomials of the drive (kernels/motion.py): each has a table of one piece, the last numbers
of D, whose coefficients are written anew where a communication step begins,

    u(t) = c₀ + c₁ (t − t₀) + c₂ (t − t₀)²,                                                                      (1)

c₀ alone if inputs are held; with linear extrapolation c₁ is the slope since the communication point before.  Slopes
that are given for a step are taken instead.  A prescribed motion takes its rate and half its acceleration as c₁ and c₂,
so that value, rate and acceleration agree within a step.  Where an input jumps, a method's memory is of another motion:
it starts anew, and what is prescribed is followed by a projection (kernels/projection.py).

**Derivatives of outputs** g(t, q, v, u), with accelerations a(t, q, v, u) in it, at a communication point:

    along inputs   d/de g(t, q, v, u + e δ)                                                                      (2)
    along motion   d/de g(t + e, q ⊕ e v, v + e a, u + e u̇)                                                      (3)

at e = 0, exact to round-off, by the same kernels with complex numbers (slopes.py).

**The record** R holds addresses of kernels, numbers, and arrays as (address, size) pairs; the places are named below.
**The state** is one array X: put back, it gives the same bits again.  Its parts follow each other:

    times t, t₀, `reached`, whether slopes were given | inputs w | inputs of the point before, with their time |
    where inputs end | coefficients (1) | signs of quaternions | gravity | controllers |
    samples of sensors (kernels/sensing.py) | control (stepping.py) | y | memory

and behind them stands the rest of the method's scratch K, whose first rows are the memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from liegeo._jit import index, kernel
from liegeo._memory import address_of, floats_at, ints_at, matrix_at, numbers_at, table_at
from liegeo.integrate import stepping
from liegeo.kernels import layout as at

# ---- the places of R
# addresses of kernels: the loop of the method, the field, what shows outputs, accelerations and the quaternions of
# frames, the projection and the assembly, what shows outputs and accelerations with complex numbers, what finds the
# culprit of a step that failed, and what measures for controllers; 0 where there is none
CODE = (
    *("LOOP", "FIELD", "SHOW", "SHOW_KNOWN", "SHOW_RATES", "SHOW_TURNS", "PROJECT", "ASSEMBLE"),
    *("SHOW_COMPLEX", "SHOW_RATES_COMPLEX", "BLAME", "MEASURE"),
)
# numbers: of inputs, of prescribed values among them, of outputs; rows of K, and how many are kept; of speeds in the
# state group; of what the state consists of; whether the method chooses its steps, whether inputs are extrapolated;
# length of the state of controllers, 0 without any; of samples that sensors remember
NUMBERS = (
    *("N_INPUTS", "N_MOTIONS", "N_OUTPUTS", "ROWS", "KEPT", "DIM", "N_STATE"),
    *("ADAPTIVE", "LINEAR", "ORDER", "TOLERANCE_AT", "N_SAMPLED", "N_SAMPLES"),
)
# arrays, an address and a size each: whole numbers, then real ones
INTS = (
    *("S", "S_KEPT", "S_FREE", "PLACES", "MOTIONS", "QUATERNIONS", "TURNED", "TURNED_ALONE"),
    *("PLAN", "KNOWN", "PLAN_RATES", "PLAN_TURNS", "LOOP_OF_ROW", "PROGRAM", "SIZED", "BLOCKS", "PLAN_MEASURED"),
    "SENSORS",
)
FLOATS = (
    *("D", "DATA", "DATA_TURNS", "DATA_RATES", "SETTINGS", "BREAKS", "X", "SAVED", "SLOPES", "W", "W_SHOWN", "ROWS_2"),
    *("ELEMENT", "END", "SCALE", "Z", "Z_TURNS", "Z_RATES", "SHOWN", "SLOPE", "FIRST"),
    *("WEIGHTS", "WEIGHTS_FREE", "ASSEMBLY", "BEGAN", "PIECES", "BLAMED", "REGISTERS", "WISHED", "WEIGHT"),
    *("GAINS", "SAMPLED", "DATA_MEASURED", "Z_MEASURED"),
    "BEFORE",
    *("SENSOR_SETTINGS", "MEASURED"),
)
# arrays of more dimensions: an address and the sizes
SHAPED = {"LAYOUT": 2, "COEFFICIENTS": 3}


def _numbered() -> dict[str, int]:
    places: dict[str, int] = {}
    for name in (*CODE, *NUMBERS):
        places[name] = len(places)
    end = len(places)
    for name in (*INTS, *FLOATS):
        places[name], end = end, end + 2
    for name, n in SHAPED.items():
        places[name], end = end, end + 1 + n
    places["SIZE"] = end
    return places


#: By name, the places of R.
PLACES_OF_RECORD = _numbered()
LOOP, FIELD, SHOW, SHOW_KNOWN, SHOW_RATES, SHOW_TURNS, PROJECT, ASSEMBLE, SHOW_COMPLEX, SHOW_RATES_COMPLEX = (
    PLACES_OF_RECORD[name] for name in CODE[:10]
)
BLAME, MEASURE = (PLACES_OF_RECORD[name] for name in CODE[10:])
(
    N_INPUTS,
    N_MOTIONS,
    N_OUTPUTS,
    ROWS,
    KEPT,
    DIM,
    N_STATE,
    ADAPTIVE,
    LINEAR,
    ORDER,
    TOLERANCE_AT,
    N_SAMPLED,
    N_SAMPLES,
) = (PLACES_OF_RECORD[name] for name in NUMBERS)
S, S_KEPT, S_FREE, PLACES, MOTIONS, QUATERNIONS, TURNED, TURNED_ALONE, PLAN, KNOWN, PLAN_RATES, PLAN_TURNS = (
    PLACES_OF_RECORD[name] for name in INTS[:12]
)
# of rows the loop that they belong to; and what follows the parameters of the model (tuning.py): a program, its
# registers, the state (q, ξ, v, x) that somebody wishes to begin with, and gravity as the model has it, which only
# native FMUs have
LOOP_OF_ROW, PROGRAM, SIZED = (PLACES_OF_RECORD[name] for name in INTS[12:15])
# of sampled controllers the rows, numbers, and the state at the start (kernels/blocks.py), and the plan of what they
# measure
BLOCKS, PLAN_MEASURED = (PLACES_OF_RECORD[name] for name in ("BLOCKS", "PLAN_MEASURED"))
GAINS, SAMPLED, DATA_MEASURED, Z_MEASURED = (PLACES_OF_RECORD[name] for name in FLOATS[30:34])
# outputs that sensors sample, each a row of kernels/sensing.py, their numbers, and what is measured, as outputs stand
SENSORS, SENSOR_SETTINGS, MEASURED = (PLACES_OF_RECORD[name] for name in ("SENSORS", "SENSOR_SETTINGS", "MEASURED"))
# what an internal step began with, where it may have to be repeated because of an event (machine/events.py)
BEFORE = PLACES_OF_RECORD["BEFORE"]
D, DATA, DATA_TURNS, DATA_RATES, SETTINGS, BREAKS, X, SAVED, SLOPES, W, W_SHOWN, ROWS_2 = (
    PLACES_OF_RECORD[name] for name in FLOATS[:12]
)
ELEMENT, END, SCALE, Z, Z_TURNS, Z_RATES, SHOWN, SLOPE, FIRST, WEIGHTS, WEIGHTS_FREE, ASSEMBLY = (
    PLACES_OF_RECORD[name] for name in FLOATS[12:24]
)
# y where the motion began, the pieces of a message, and scratch for it (answers.py); what a program needs
BEGAN, PIECES, BLAMED, REGISTERS, WISHED, WEIGHT = (PLACES_OF_RECORD[name] for name in FLOATS[24:30])
LAYOUT, COEFFICIENTS, RECORD_SIZE = (PLACES_OF_RECORD[name] for name in (*SHAPED, "SIZE"))


def record(numbers: Mapping[str, int], arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
    """Return a record of addresses and numbers, and of arrays, which the caller keeps alive."""
    R = np.zeros(RECORD_SIZE, np.int64)
    for name, value in numbers.items():
        R[PLACES_OF_RECORD[name]] = value
    for name, array in arrays.items():
        place = PLACES_OF_RECORD[name]
        R[place] = address_of(array)
        R[place + 1 : place + 1 + SHAPED.get(name, 1)] = array.shape if name in SHAPED else array.size
    R.setflags(write=False)
    return R


# ---- how the kernels in R see their arguments
_I1, _F1 = (types.Array(kind, 1, "C", readonly=True) for kind in (types.int64, types.float64))
_V1, _V2 = (types.Array(types.float64, ndim, "C") for ndim in (1, 2))
#: The record itself.
RECORD = _I1
FIELD_ARGUMENTS = (_I1, _F1, types.float64, _V1, _V1, _V1)
SHOW_ARGUMENTS = (_I1, _F1, _I1, _F1, types.float64, *[_V1] * 6)
COMPLEX_SHOW_ARGUMENTS = (_I1, _F1, _I1, _F1, types.complex128, *[types.Array(types.complex128, 1, "C")] * 6)
ASSEMBLE_ARGUMENTS = (_I1, _F1, types.Array(types.int64, 2, "C", readonly=True), types.float64, *[_V1] * 5)
BLAME_ARGUMENTS = (_I1, _F1, _V1, _V1, _I1, _V1, _V1, types.int64, _V1)
PROJECT_ARGUMENTS = (_I1, _F1, types.Array(types.int64, 2, "C", readonly=True), _V1, _V2, _V1, _V2, *[_V1] * 3)

# ---- the places of X
TIME, ORIGIN, REACHED, SLOPED = range(4)
INPUTS = 4
# Coefficients of an input (1), highest first, as the kernels read them.
DEGREE = 3
# ---- the places of SETTINGS: step, tolerances, the exponent of stepping.py (3), the power of (2) there, the share of
# the tolerance that a method solves its equations to, and the longest step that a method may choose
STEP, RTOL, ATOL, EXPONENT, POWER, SHARE, LONGEST = range(7)

# ---- what `communicate` and others return, beside 0 and statuses of steps in `control`
#: A step could not be made; too many would be; loops cannot be closed; outputs cannot be computed; a mechanism cannot
#: be assembled; a quaternion is far from length 1.  STATUS says why, or which.  Chosen steps are too short to get on.
#: A controller, number STATUS, gave an output that is not finite.
STEP_FAILED, TOO_MANY, OPEN_LOOPS, NOT_SHOWN, NOT_ASSEMBLED, NO_ROTATION, TOO_SHORT, NOT_SAMPLED = range(1, 9)
#: What `stride` returns beside those where a communication step is not at its end.
GOES_ON = -1


def parts(
    n_inputs: int, n_signs: int, n_element: int, dim: int, rows: int, n_sampled: int = 0, n_samples: int = 0
) -> dict[str, slice]:
    """Return where the parts of X stand, by name."""
    sizes = {
        "times": INPUTS,
        "w": n_inputs,
        "before": n_inputs + 1,
        "end": n_inputs,
        "c": DEGREE * n_inputs,
        "signs": n_signs,
        "gravity": 3,
        "sampled": n_sampled,
        "samples": n_samples,
        "control": stepping.CONTROL_SIZE,
        "y": n_element,
        "K": rows * dim,
    }
    ends = np.cumsum([0, *sizes.values()]).tolist()
    return {name: slice(a, b) for name, a, b in zip(sizes, ends[:-1], ends[1:], strict=True)}


@kernel(inline="always")
def vector(R, place):
    """Return an array of real numbers that the record names."""
    return numbers_at(R[place], R[place + 1])


@kernel(inline="always")
def constants(R, place):
    """Return a read-only array of real numbers."""
    return floats_at(R[place], R[place + 1])


@kernel(inline="always")
def whole(R, place):
    """Return a read-only array of whole numbers."""
    return ints_at(R[place], R[place + 1])


@kernel(inline="always")
def breaks_of(R):
    return matrix_at(R[BREAKS], (2, R[BREAKS + 1] // 2))


@kernel(inline="always")
def layout_of(R):
    return table_at(R[LAYOUT], (R[LAYOUT + 1], R[LAYOUT + 2]))


@kernel
def places_in_state(R):
    """Return where stand in X: before, end, c, signs, gravity, control, y, K; and its end."""
    n, dim = index(R[N_INPUTS]), index(R[DIM])
    before = INPUTS + n
    end = before + n + 1
    c = end + n
    signs = c + DEGREE * n
    gravity = signs + index(R[TURNED + 1])
    control = gravity + 3 + index(R[N_SAMPLED]) + index(R[N_SAMPLES])
    y = control + stepping.CONTROL_SIZE
    K = y + index(R[ELEMENT + 1])
    return before, end, c, signs, gravity, control, y, K, K + index(R[ROWS]) * dim


@kernel(inline="always")
def samples_of(R):
    """Return the samples that sensors remember."""
    first = places_in_state(R)[4] + 3 + index(R[N_SAMPLED])
    return vector(R, X)[first : first + index(R[N_SAMPLES])]


@kernel(inline="always")
def control_of(R):
    at_control = places_in_state(R)[5]
    return vector(R, X)[at_control : at_control + stepping.CONTROL_SIZE]


@kernel(inline="always")
def y_of(R):
    _, _, _, _, _, _, y, K, _ = places_in_state(R)
    return vector(R, X)[y:K]


@kernel(inline="always")
def split(R):
    """Return q, and the speeds with the states x, in y."""
    I, _ = model_of_record(R)
    y = y_of(R)
    return y[: index(I[at.N_Q])], y[index(I[at.N_Q]) + index(I[at.N_X]) :]


@kernel(inline="always")
def model_of_record(R):
    S_ = whole(R, S)
    return ints_at(S_[at.S_I], S_[at.S_NI]), floats_at(S_[at.S_F], S_[at.S_NF])
