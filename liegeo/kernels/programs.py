"""Expressions of the time, or of variables, as programs: steps that combine registers, run by one kernel.

A step takes its operands from registers and writes one (layout.py, STEP_ROW, OPERATION_KINDS); model/programs.py makes
programs.  A register is a value x, and, where somebody asks for them, its derivatives in time.  These follow

    f(a)˙ = f′ȧ,                    f(a)¨ = f″ȧ² + f′ä,                                                           (1)
    (ab)˙ = ȧb + aḃ,                (ab)¨ = äb + 2ȧḃ + ab̈,                                                        (2)
    q = a/b:  q̇ = (ȧ − qḃ)/b,       q̈ = (ä − 2q̇ḃ − qb̈)/b,                                                         (3)

the last from a = qb by (2).  A program has no value where any of its steps has none that is finite: what comes of
1/(1/t) at t = 0 is not 0.

Programs of the time drive a model; their steps are whole numbers in S and their constants stand in D.  Programs of laws
(kernels/laws_of_joints.py) have both in F, and variables beside: values and rates of what a law depends on, real or
complex.  Where a program goes one of several ways, by |a|, min, max or if, it notes which.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.status import INPUT_FAILED

# Beyond it tanh is ±1 but for less than round-off.
_SURE = 20.0
# Ways that a program took are counted below twice this.
_MANY = 1 << 40


@kernel(forceinline=False, apart=True)
def run_programs(S, D, t, W, u, registers):
    """Run all programs of the drive (S, D) at t; u and the registers begin at these places of W.

    Returns 0, or INPUT_FAILED where one has no finite value.
    """
    first = at.S_ROWS + at.TABLE_SIZE * index(S[at.S_TABLES])
    for i in range(S[at.S_PROGRAMS]):
        row = first + at.PROGRAM_SIZE * i
        place, n = u + index(S[row + at.PROGRAM_U]), index(S[row + at.PROGRAM_N])
        s, steps, c = index(S[row + at.PROGRAM_S]), S[row + at.PROGRAM_STEPS], index(S[row + at.PROGRAM_D])
        status, _ = run_program(S, s, steps, D, c, t, n > 0, W, registers, W, registers)
        if status != 0:
            return INPUT_FAILED
        W[place] = W[registers]
        if n > 0:
            W[place + n] = W[registers + 1]
            W[place + 2 * n] = W[registers + 2]
    return 0


@kernel
def run_program(P, s, steps, D, c, t, law, V, variables, W, registers):
    """Run one program, with derivatives if it is a law; its result is in register 0.

    Its steps begin at P[s], its constants at D[c], its variables (value, rate, acceleration of each) at V[variables]
    and its registers at W[registers].  Returns 0 or INPUT_FAILED, and a number for the ways that it took.
    """
    k = seen = 0
    while k < steps:
        step = s + at.STEP_SIZE * index(k)
        kind, a, b = int(P[step + at.STEP_KIND]), int(P[step + at.STEP_A]), int(P[step + at.STEP_B])
        k += 1
        if kind == at.OP_SKIP or (kind == at.OP_UNTIL and t >= D[c + index(a)]):
            k += b
        if kind == at.OP_SKIP or kind == at.OP_UNTIL:
            continue
        out = registers + 3 * index(int(P[step + at.STEP_OUT]))
        i = registers + 3 * index(a)
        if kind == at.OP_CONSTANT:
            W[out], W[out + 1], W[out + 2] = D[c + index(a)], 0.0, 0.0
        elif kind == at.OP_TIME:
            W[out], W[out + 1], W[out + 2] = t, 1.0, 0.0
        elif kind == at.OP_VARIABLE:
            v = variables + 3 * index(a)
            W[out], W[out + 1], W[out + 2] = V[v], V[v + 1], V[v + 2]
        elif kind == at.OP_IF:
            seen = 2 * (seen % _MANY) + int(W[out].real > 0.0)
            chosen = i if W[out].real > 0.0 else registers + 3 * index(b)
            W[out], W[out + 1], W[out + 2] = W[chosen], W[chosen + 1], W[chosen + 2]
        elif (kind >= at.OP_ADD and kind <= at.OP_DIVIDE) or kind == at.OP_MIN or kind == at.OP_MAX:
            # b is a register here; that of a power is an exponent, which may be negative
            j = registers + 3 * index(b)
            if kind == at.OP_MIN or kind == at.OP_MAX:
                seen = 2 * (seen % _MANY) + int(W[i].real < W[j].real)
            W[out], W[out + 1], W[out + 2] = _combined(kind, law, W, i, j)
        else:
            if kind == at.OP_ABS:
                seen = 2 * (seen % _MANY) + int(W[i].real < 0.0)
            W[out], W[out + 1], W[out + 2] = _changed(kind, b, law, W, i)
        # not a number is not below infinity either
        if not (abs(W[out].real) < np.inf and abs(W[out + 1].real) < np.inf and abs(W[out + 2].real) < np.inf):
            return INPUT_FAILED, seen
    return 0, seen


@kernel
def _combined(kind, law, W, i, j):
    """Return what comes of the registers at W[i] and W[j], by (2) and (3); derivatives are zero if it is no law."""
    a, b = W[i], W[j]
    zero = 0.0 * a
    da = db = dda = ddb = zero
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
            return q, zero, zero
        dq = (da - q * db) / b
        return q, dq, (dda - 2.0 * dq * db - q * ddb) / b
    if (kind == at.OP_MIN and b.real < a.real) or (kind == at.OP_MAX and b.real > a.real):
        return b, db, ddb
    return a, da, dda


@kernel
def _changed(kind, n, law, W, i):
    """Return a function of the register at W[i], by (1); derivatives are zero if it is no law."""
    x = W[i]
    # f, f′ and f″; a law alone needs the last two, which may be infinite where f is not
    zero = 0.0 * x
    f, first, second = x, zero + 1.0, zero
    if kind == at.OP_NEGATIVE:
        f, first = -x, zero - 1.0
    elif kind == at.OP_ABS:
        f, first = (x, zero + 1.0) if x.real >= 0.0 else (-x, zero - 1.0)
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
        f, first = _power(x, n), zero
        if law and n != 0:
            first = power * _power(x, n - 1)
            if n != 1:
                second = power * (power - 1.0) * _power(x, n - 2)
    elif kind == at.OP_TANH:
        f = smooth_sign(x)
        first = 1.0 - f * f
        second = -2.0 * f * first
    if not law:
        return f, zero, zero
    dx = W[i + 1]
    return f, first * dx, second * dx * dx + first * W[i + 2]


@kernel
def _power(x, n):
    """Return x to a whole power, by products: the power of a complex number loses small imaginary parts where x < 0."""
    m = n if n >= 0 else -n
    f = 0.0 * x + 1.0
    for _ in range(m):
        f = f * x
    return f if n >= 0 else 1.0 / f


@kernel
def smooth_sign(x):
    """tanh x; of complex numbers too, where the one of the library overflows."""
    if x.real > _SURE:
        return 0.0 * x + 1.0
    if x.real < -_SURE:
        return 0.0 * x - 1.0
    return np.tanh(x)
