"""Expressions of the time as programs: steps that combine registers, run by one kernel.

A step takes its operands from registers and writes one (layout.py, STEP_ROW, OPERATION_KINDS); model/programs.py makes
programs.  A register is a value x, and, where a law of motion asks for them, its derivatives in time.  These follow

    f(a)˙ = f′ȧ,                    f(a)¨ = f″ȧ² + f′ä,                                                           (1)
    (ab)˙ = ȧb + aḃ,                (ab)¨ = äb + 2ȧḃ + ab̈,                                                        (2)
    q = a/b:  q̇ = (ȧ − qḃ)/b,       q̈ = (ä − 2q̇ḃ − qb̈)/b,                                                         (3)

the last from a = qb by (2).  A program has no value where any of its steps has none that is finite: what comes of
1/(1/t) at t = 0 is not 0.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.status import INPUT_FAILED


@kernel(forceinline=False, apart=True)
def run_programs(S, D, t, W, u, registers):
    """Run all programs of the drive (S, D) at t; u and the registers begin at these places of W.

    Returns 0, or INPUT_FAILED where one has no finite value.
    """
    first = at.S_ROWS + at.TABLE_SIZE * index(S[at.S_TABLES])
    for i in range(S[at.S_PROGRAMS]):
        row = first + at.PROGRAM_SIZE * i
        place, n = u + index(S[row + at.PROGRAM_U]), index(S[row + at.PROGRAM_N])
        if _run(S, D, row, t, n > 0, W, registers) != 0:
            return INPUT_FAILED
        W[place] = W[registers]
        if n > 0:
            W[place + n] = W[registers + 1]
            W[place + 2 * n] = W[registers + 2]
    return 0


@kernel
def _run(S, D, row, t, law, W, registers):
    """Run one program, with derivatives if it is a law; its result is in register 0.  Returns as `run_programs`."""
    s, steps, c = index(S[row + at.PROGRAM_S]), S[row + at.PROGRAM_STEPS], index(S[row + at.PROGRAM_D])
    k = 0
    while k < steps:
        step = s + at.STEP_SIZE * index(k)
        kind, a, b = S[step + at.STEP_KIND], S[step + at.STEP_A], S[step + at.STEP_B]
        k += 1
        if kind == at.OP_SKIP or (kind == at.OP_UNTIL and t >= D[c + index(a)]):
            k += b
        if kind == at.OP_SKIP or kind == at.OP_UNTIL:
            continue
        if kind == at.OP_CONSTANT:
            x, dx, ddx = D[c + index(a)], 0.0, 0.0
        elif kind == at.OP_TIME:
            x, dx, ddx = t, 1.0, 0.0
        elif (kind >= at.OP_ADD and kind <= at.OP_DIVIDE) or kind == at.OP_MIN or kind == at.OP_MAX:
            x, dx, ddx = _combined(kind, law, W, registers + 3 * index(a), registers + 3 * index(b))
        else:
            x, dx, ddx = _changed(kind, b, law, W, registers + 3 * index(a))
        # not a number is not below infinity either
        if not (abs(x) < np.inf and abs(dx) < np.inf and abs(ddx) < np.inf):
            return INPUT_FAILED
        out = registers + 3 * index(S[step + at.STEP_OUT])
        W[out], W[out + 1], W[out + 2] = x, dx, ddx
    return 0


@kernel
def _combined(kind, law, W, i, j):
    """Return what comes of the registers at W[i] and W[j], by (2) and (3); derivatives are zero if it is no law."""
    a, b, da, db, dda, ddb = W[i], W[j], 0.0, 0.0, 0.0, 0.0
    if law:
        da, db, dda, ddb = W[i + 1], W[j + 1], W[i + 2], W[j + 2]
    if kind == at.OP_ADD:
        return a + b, da + db, dda + ddb
    if kind == at.OP_SUBTRACT:
        return a - b, da - db, dda - ddb
    if kind == at.OP_MULTIPLY:
        return a * b, da * b + a * db, dda * b + 2.0 * da * db + a * ddb
    if kind == at.OP_DIVIDE:
        q = a / b
        if not law:
            return q, 0.0, 0.0
        dq = (da - q * db) / b
        return q, dq, (dda - 2.0 * dq * db - q * ddb) / b
    if (kind == at.OP_MIN and b < a) or (kind == at.OP_MAX and b > a):
        return b, db, ddb
    return a, da, dda


@kernel
def _changed(kind, n, law, W, i):
    """Return a function of the register at W[i], by (1); derivatives are zero if it is no law."""
    x = W[i]
    # f, f′ and f″; a law alone needs the last two, which may be infinite where f is not
    f, first, second = x, 1.0, 0.0
    if kind == at.OP_NEGATIVE:
        f, first = -x, -1.0
    elif kind == at.OP_ABS:
        f, first = (x, 1.0) if x >= 0.0 else (-x, -1.0)
    elif kind == at.OP_SIN:
        f = np.sin(x)
        if law:
            first, second = np.cos(x), -f
    elif kind == at.OP_COS:
        f = np.cos(x)
        if law:
            first, second = -np.sin(x), -f
    elif kind == at.OP_TAN:
        f = np.tan(x)
        first = 1.0 + f * f
        second = 2.0 * f * first
    elif kind == at.OP_EXP:
        f = first = second = np.exp(x)
    elif kind == at.OP_LOG:
        f = np.log(x)
        if law:
            first = 1.0 / x
            second = -first * first
    elif kind == at.OP_SQRT:
        f = np.sqrt(x)
        if law:
            first = 0.5 / f
            second = -0.5 * first / x
    elif kind == at.OP_POWER:
        power = float(n)
        f, first = x**power, 0.0
        if law and n != 0:
            first = power * x ** (power - 1.0)
            if n != 1:
                second = power * (power - 1.0) * x ** (power - 2.0)
    if not law:
        return f, 0.0, 0.0
    dx = W[i + 1]
    return f, first * dx, second * dx * dx + first * W[i + 2]
