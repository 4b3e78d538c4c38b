"""Laws by formulas: elements on joints whose force, rates of states and energies are programs (programs.py).

With the position s, the speed ṡ, the time t, states x and an input c, formulas give

    F(s, ṡ, t, x, c),      ẋ = r(s, ṡ, t, x, c),      P(s, x),     L(s, ṡ, t, x, c):                          (1)

the force F on the joint in the direction of s, which is −f of joint_elements.py; the potential P, the energy that the
element stores; and L, the power that it dissipates.  What the balance (2) of joint_elements.py then leaves,

    R = f ṡ − Ṗ,      Ṗ = ∂P/∂s ṡ + ∂P/∂x ẋ,                                                             (2)

is dissipated, or if L is given or the law is active (it takes t or an input), R − L is work that it takes away:

    gained = L − R,      dissipated = L.                                                                          (3)

Derivatives of P come from the same program, which carries rates along.  Tangents by s and ṡ come, as those of all
elements, by complex steps through the law; |a|, min, max and if branch on real parts, and tell which way they went, so
that implicit steps end where a formula goes another way.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, kernel
from liegeo._local import local_array
from liegeo.kernels import layout as at
from liegeo.kernels.programs import run_program

#: Variables of a law in their order: position, speed, time, input, and two states; what belongs to its numbers.
S, SPEED, TIME, INPUT, STATE = range(5)
N_VARIABLES = STATE + 2
#: Its programs in their order.
FORCE, RATE, POTENTIAL, LOSS = 0, 1, 3, 4
N_PROGRAMS = 5

_local = local_array(3 * (N_VARIABLES + at.N_REGISTERS))


@kernel
def _number(F, f, program, law, V, zero):
    """Return value and rate of one of the programs of a law, and the ways that it took; zero if there is none.

    What has no finite value is not a number.
    """
    row = f + at.LAW_PROGRAMS + 2 * program
    steps = int(F[row + 1])
    if steps == 0:
        return zero, zero, 0
    begin = f + at.LAW_STEPS
    s, c = index(begin + int(F[row])), index(begin + int(F[f + at.LAW_CONSTANTS]))
    registers = 3 * N_VARIABLES
    status, seen = run_program(F, s, steps, F, c, 0.0, law, V, 0, V, registers)
    if status != 0:
        return zero + np.nan, zero + np.nan, seen
    return V[registers], V[registers + 1], seen


@kernel(forceinline=False)
def law_by_formulas(F, f, m, x, c):
    """Return what laws of joint_elements.py return, for m = (s, ṡ, t); the last number shown is the way it took."""
    zero = 0.0 * (m[0] + m[1] + m[2] + x[0] + x[1] + c)
    V = _local(zero)
    given = (m[0] + zero, m[1] + zero, m[2] + zero, c + zero, x[0] + zero, x[1] + zero)
    for k in range(N_VARIABLES):
        V[3 * k], V[3 * k + 1], V[3 * k + 2] = given[k], zero, zero
    push, _, seen = _number(F, f, FORCE, False, V, zero)
    first, _, way = _number(F, f, RATE, False, V, zero)
    seen = 3 * seen + way
    second, _, way = _number(F, f, RATE + 1, False, V, zero)
    seen = 3 * seen + way
    lost, _, _ = _number(F, f, LOSS, False, V, zero)
    V[3 * S + 1] = m[1]
    V[3 * STATE + 1], V[3 * STATE + 4] = first, second
    stored, rate, _ = _number(F, f, POTENTIAL, True, V, zero)
    rest = -push * m[1] - rate
    gained = zero
    if F[f + at.LAW_ACTIVE] != 0.0:
        gained = lost - rest
    else:
        lost = rest
    return -push, zero, (first, second), stored, lost, gained, (push, push * m[1], zero, zero + (seen % _EXACT))


# Whole numbers below this are exact.
_EXACT = 1 << 50
