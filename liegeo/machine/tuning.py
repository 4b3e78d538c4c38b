"""Other values of a model's parameters, without the model file: a straight-line program, as compiled code.

The program (liegeo/recorded.py) computes from registers, which begin with the parameters, the numbers of the model that
depend on them, and writes these to where they stand.  PROGRAM is

    number of lines, of guards, of outputs, and the register of the first line;
    of each line its operation and two registers; of each guard its kind and two registers;
    of each output an array, the place in it, and the register,

in which an array is its place in the record, or OF_MODEL for F.  SIZED has pairs of a place among the coefficients of
the method and a register.  Guards come first: where one does not hold nothing is written.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, kernel
from liegeo._memory import numbers_at
from liegeo.kernels import layout as at
from liegeo.lie.series import half_angle
from liegeo.machine.record import COEFFICIENTS, N_STATE, PROGRAM, REGISTERS, SAVED, SIZED, TIME, S, X, vector, whole
from liegeo.machine.steps import follow, restart, restored
from liegeo.recorded import (
    ABSOLUTE,
    ADD,
    BELOW,
    CHOOSE,
    COS,
    DIVIDE,
    EXP,
    HALF_COSINE,
    LOG,
    MINIMUM,
    MULTIPLY,
    NEGATIVE,
    POWER,
    SHARE,
    SIN,
    SQRT,
    SUBTRACT,
    TAN,
)

#: In the place of an array: the numbers F of the model.
OF_MODEL = -1
#: The sizes of the head of a program, and of each row.
HEAD, ROW = 4, 3
#: What `compute` returns where a number that comes of the parameters is not finite.
NO_NUMBER = -1


@kernel
def _of_two(kind, a, b):
    if kind == ADD:
        return a + b
    if kind == SUBTRACT:
        return a - b
    if kind == MULTIPLY:
        return a * b
    if kind == DIVIDE:
        return a / b
    if kind == POWER:
        return a**b
    if kind == MINIMUM:
        return b if b < a else a
    if kind == SHARE:
        return a / b if b > 0.0 else 0.0
    return b if b > a else a


@kernel
def _of_one(kind, a):
    if kind == NEGATIVE:
        return -a
    if kind == ABSOLUTE:
        return abs(a)
    if kind == SQRT:
        return np.sqrt(a)
    if kind == SIN:
        return np.sin(a)
    if kind == COS:
        return np.cos(a)
    if kind == TAN:
        return np.tan(a)
    if kind == EXP:
        return np.exp(a)
    if kind == LOG:
        return np.log(a)
    cosine, sine = half_angle(a)
    return cosine if kind == HALF_COSINE else sine


@kernel(forceinline=False)
def compute(R):
    """Let the numbers of the model follow its parameters; return 0, 1 + the number of a guard, or NO_NUMBER."""
    P, x, S_ = whole(R, PROGRAM), vector(R, REGISTERS), whole(R, S)
    if P.shape[0] == 0:
        return 0
    n, guards, outputs, first = index(P[0]), index(P[1]), index(P[2]), index(P[3])
    for k in range(n):
        row = HEAD + ROW * k
        kind, a, b = P[row], index(P[row + 1]), index(P[row + 2])
        if kind == CHOOSE:
            x[first + k] = x[a] if x[a + 1] != 0.0 else x[b]
        elif kind < NEGATIVE:
            x[first + k] = _of_two(kind, x[a], x[b])
        else:
            x[first + k] = _of_one(kind, x[a])
    begin = HEAD + ROW * n
    for k in range(guards):
        row = begin + ROW * k
        a, b = x[index(P[row + 1])], x[index(P[row + 2])]
        holds = a < b if P[row] == BELOW else a <= b
        if not holds:
            return 1 + k
    begin += ROW * guards
    for k in range(outputs):
        if not abs(x[index(P[begin + ROW * k + 2])]) < np.inf:
            return NO_NUMBER
    for k in range(outputs):
        row = begin + ROW * k
        place, value = index(P[row + 1]), x[index(P[row + 2])]
        if P[row] == OF_MODEL:
            numbers_at(S_[at.S_F], S_[at.S_NF])[place] = value
        else:
            vector(R, index(P[row]))[place] = value
    sized = whole(R, SIZED)
    for k in range(sized.shape[0] // 2):
        place = index(sized[2 * k])
        numbers_at(R[COEFFICIENTS], place + 1)[place] = x[index(sized[2 * k + 1])]
    return 0


@kernel(forceinline=False)
def go_on(R):
    """Go on with other parameters: return 0, or as `follow` why the state cannot, which is then what it was.

    The numbers of the model, and gravity in X, are those of the parameters already.
    """
    X_, saved = vector(R, X), vector(R, SAVED)
    for k in range(R[N_STATE]):
        saved[k] = X_[k]
    restored(R)
    why = follow(R, X_[TIME])
    if why != 0:
        for k in range(R[N_STATE]):
            X_[k] = saved[k]
        return why
    restart(R, X_[TIME])
    return 0
