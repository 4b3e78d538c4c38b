"""Why a step could not be made or loops could not be closed: what is to blame, and which words say so.

A message is a list of pieces in an array: how many numbers there are, then two per piece, the number of a text or a
value, and how many digits a value has (TEXT: it is a text; ALL: as many as it needs).  Whoever has the texts of a model
(liegeo/model/failure_words.py) puts the pieces together: nothing is decided there.

A force with the stiffness K_e and the damping D_e by itself moves the mechanism at the rates

    √ρ(M⁻¹K_e)   and   ρ(M⁻¹D_e),      ρ the largest absolute eigenvalue,                                          (1)

which, times the step, decide whether a step is hard.  ρ(A) is the mean growth of |Aᵏx| from one power to the next over
_POWERS powers, after as many that are not counted; vectors do, so that nothing is as large as a matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from liegeo._jit import index, kernel
from liegeo._memory import ints_at
from liegeo.integrate.calls import STUBS
from liegeo.kernels import articulated, loops
from liegeo.kernels import layout as at
from liegeo.kernels.motion import model_of
from liegeo.status import GROWS, INPUT_FAILED, LOOPS_OPEN, LOOPS_TOO_LARGE, NO_CONVERGENCE, SPEEDS_DISOBEY

Kernel = Callable[..., Any]

_acceleration, _residual, _along = STUBS.acceleration, cast("Kernel", STUBS.residual), cast("Kernel", STUBS.along)

#: What stands in the place of a number of digits.
TEXT, ALL = 0, 17
#: How many numbers pieces take at most.
PIECES = 128

#: Texts that all models have, by name; {} stands where pieces of their own come, {name} is that of the mechanism.
FIXED = {
    "AT": "at t = {} s: ",
    "GROWS": GROWS,
    "TOO_MANY": "step: {} internal steps of {} s in one of {} s are too many.",
    "COLON": ": ",
    "COMMA": ", ",
    "SEMICOLON": "; ",
    "AND": " and ",
    "SINGULAR": "the position is singular, where constraints depend on each other: ",
    "AND_MORE": " and {} more",
    "ELSEWHERE": ".\n  Begin elsewhere, change a length a little, or leave out what repeats another constraint",
    "STIFFEST": "the stiffest force there is ",
    "STIFFEST_TWO": "the stiffest forces there are ",
    "RATE": " ({} 1/s)",
    "RESOLVE": ".\n  Steps of {} s resolve it; or make it softer, or take a constraint in its place",
    "PUSHES": "the constraint that pushes most there is ",
    "ACCELERATES": "the largest acceleration there is that of ",
    "OPEN": "the loops of '{name}' cannot be closed near this state: {}.\n"
    "  Check lengths, frames and what is prescribed, or go there in smaller steps.",
    "UNASSEMBLED": "'{name}' cannot be assembled{kept}: {}.\n"
    "  Check lengths and frames, start from a state nearer to the one wanted, or keep fewer joints.",
    "SPEEDS": "the speeds of '{name}' cannot obey its loops: {}.\n  Keep fewer joints, or change what is prescribed.",
    "TOO_LARGE": "the loops of '{name}' cannot be measured near this state: its numbers are too large.",
    "QUATERNION": "[{}, {}, {}, {}], of length {}, but a rotation has length 1.\n"
    "  Set all four components, w, x, y and z.",
    "TOO_SHORT": "step: at t = {} s internal steps are only {} s long, and would be far too many.\n"
    "  Something moves too fast for this method and tolerance, or the model is no longer valid there.\n"
    "  Look at the motion up to there; then try another integrator.method, a larger integrator.rtol, or shorter\n"
    "  communication steps.",
}
# The number of the first part of each.
_FIRST = {}
_parts = 0
for _name, _text in FIXED.items():
    _FIRST[_name] = _parts
    _parts += _text.count("{}") + 1
_firsts = list(_FIRST.values())
AT, _GROWS, TOO_MANY, COLON, _COMMA, _SEMICOLON, _AND, _SINGULAR, _AND_MORE, _ELSEWHERE = _firsts[:10]
_STIFFEST, _STIFFEST_TWO, _RATE, _RESOLVE, _PUSHES, _ACCELERATES = _firsts[10:16]
_OPEN, _UNASSEMBLED, _SPEEDS, _TOO_LARGE, QUATERNION, TOO_SHORT = _firsts[16:]
#: Behind them stand those of a model: of steps by status, of mechanics by status, from LOWEST on; of each row of
#: constraints what its loop is off by, the unit of it, that of its rate, the row, its loop; of each joint its spring,
#: damper and friction; of each force element and each speed its name; then those of quaternions.
N_FIXED, LOWEST = _parts, -16
# What there is of each row of constraints.
_OFF_BY, UNIT, PER_SECOND, _ROW, _LOOP, _BEHIND_ROWS = range(6)

# A state so many times as large as the one that a run began with, and as 1, has blown up.
_BLOWN_UP = 1e6
# A row of which the rows before leave less than this share depends on them, or will in a moment: the square of a sine.
_DEPENDENT = 1e-6
# Forces that are so many times less stiff than the stiffest are not worth a word; rows and loops that are named.
_LESS_STIFF, _ROWS_NAMED, _LOOPS_NAMED = 100.0, 4, 3
# How many powers count; growth outside of these bounds is none.
_POWERS, _LEAST = 30, 1e-300
_SPRING, _DAMPER, _FRICTION, _BY_PLACE, _BY_SPEED = range(5)


def blame_size(I: NDArray[np.int64], S_size: int) -> int:
    """Return how many numbers of scratch `diagnose` uses, with an S of this size."""
    return 5 * int(I[at.N_V] + I[at.N_X]) + 4 * int(I[at.N_ROWS]) + int(I[at.N_U]) + len(I) + S_size


@kernel
def add(pieces, value, digits):
    """Add a piece; one for which there is no room is left out."""
    n = index(int(pieces[0]))
    if n + 3 <= pieces.shape[0]:
        pieces[n + 1], pieces[n + 2] = value, digits
        pieces[0] = n + 2


@kernel
def _by_status(I, status, mechanics):
    """Return the number of the text of a status: as a step says it, or as mechanics does."""
    return N_FIXED + (2 * index(I[at.N_BODIES]) + 1 - LOWEST) * (1 if mechanics else 0) + status - LOWEST


@kernel
def _of_rows(I, which):
    """Return the number of the first of the texts of rows."""
    return N_FIXED + 2 * (2 * index(I[at.N_BODIES]) + 1 - LOWEST) + which * index(I[at.N_ROWS])


@kernel
def of_quaternions(I):
    """Return the number of the first text of quaternions."""
    return _of_speeds(I) + index(I[at.N_V])


@kernel
def _of_elements(I):
    return _of_rows(I, _BEHIND_ROWS) + 3 * index(I[at.N_BODIES])


@kernel
def _of_speeds(I):
    return _of_elements(I) + index(I[at.N_ELEMENTS])


@kernel(forceinline=False)
def add_failure(I, status, pieces):
    """Add what a status of the kernels of a tree means."""
    add(pieces, _by_status(I, status, True), TEXT)


@kernel(forceinline=False)
def add_worst(I, values, loop_of_row, unit, pieces):
    """Add by loop the row that is furthest from zero, the worst loop first; `unit` is UNIT, or PER_SECOND of rates."""
    m, last, before, named = values.shape[0], -1, np.inf, 0
    while named < _LOOPS_NAMED:
        found, worst = -1, 0.0
        for r in range(m):
            size = abs(values[r]) if values[r] == values[r] else np.inf
            # the largest of its loop, of which the first counts, and behind what was named
            largest = True
            for o in range(m):
                if loop_of_row[o] == loop_of_row[r] and o != r:
                    other = abs(values[o]) if values[o] == values[o] else np.inf
                    largest &= other < size or (other == size and o > r)
            later = size < before or (size == before and r > last)
            if largest and later and size > worst:
                found, worst = r, size
        if found < 0:
            return
        if named > 0:
            add(pieces, _SEMICOLON, TEXT)
        add(pieces, _of_rows(I, _OFF_BY) + found, TEXT)
        add(pieces, worst, 3)
        add(pieces, _of_rows(I, unit) + found, TEXT)
        last, before, named = found, worst, named + 1


@kernel(forceinline=False)
def add_open(I, values, loop_of_row, pieces):
    """Add that loops with these residuals cannot be closed."""
    add(pieces, _OPEN, TEXT)
    add_worst(I, values, loop_of_row, UNIT, pieces)
    add(pieces, _OPEN + 1, TEXT)


@kernel(forceinline=False)
def add_unassembled(I, status, lacking, loop_of_row, pieces):
    """Add what a status of assembly.assemble means."""
    if status == LOOPS_TOO_LARGE:
        add(pieces, _TOO_LARGE, TEXT)
    elif status in (LOOPS_OPEN, SPEEDS_DISOBEY):
        text, unit = (_UNASSEMBLED, UNIT) if status == LOOPS_OPEN else (_SPEEDS, PER_SECOND)
        add(pieces, text, TEXT)
        add_worst(I, lacking, loop_of_row, unit, pieces)
        add(pieces, text + 1, TEXT)
    else:
        add_failure(I, status, pieces)


@kernel(forceinline=False)
def add_step_failed(I, status, y, began, pieces):
    """Add why a step from y failed with this status, in a motion that began with `began`.

    If y is far larger than that, it is the reason whatever the status: what has blown up is singular too.  Return
    whether more can be said: what `add_culprit` adds belongs behind it, after COLON.
    """
    size, largest = 0.0, 1.0
    for k in range(y.shape[0]):
        size = max(size, abs(y[k])) if y[k] == y[k] else np.inf
        largest = max(largest, abs(began[k]))
    if status not in (0, INPUT_FAILED) and not size <= _BLOWN_UP * largest:
        add(pieces, _GROWS, TEXT)
        add(pieces, size, 6)
        add(pieces, _GROWS + 1, TEXT)
        add(pieces, largest, 6)
        add(pieces, _GROWS + 2, TEXT)
        return False
    add(pieces, _by_status(I, status, False), TEXT)
    return status == NO_CONVERGENCE


@kernel(forceinline=False)
def add_culprit(S, D, y, began, loop_of_row, W, scratch, address, pieces):
    """Add what is to blame at y, where the equations of a step could not be solved; return 0.

    These are constraints that depend on each other at y and did not where the motion began; else the stiffest forces;
    else the constraint that pushes most; else what accelerates most.  S leads to all kernels of the system.  `scratch`
    (`blame_size`) stands at `address`.
    """
    I, F = model_of(S)
    nq, n = index(I[at.N_Q]), index(I[at.N_V]) + index(I[at.N_X])
    m = index(I[at.N_ROWS])
    q, w = y[:nq], y[y.shape[0] - n :]
    V, rest = scratch[: 5 * n], scratch[5 * n :]
    kept, u, copies = rest[: 4 * m], rest[4 * m : 4 * m + index(I[at.N_U])], rest[4 * m + index(I[at.N_U]) :]
    if m > 0 and _add_dependent(I, F, q, began[:nq], u, W, V, kept, pieces):
        return 0
    _clear(I, W)
    place = address + 8 * (5 * n + 4 * m + index(I[at.N_U]))
    if _add_stiffest(S, D, I, F, q, w, W, V, copies, place, pieces):
        return 0
    _clear(I, W)
    rates = V[:n]
    if _acceleration(S, D, 0.0, q, w, W, rates) != 0:
        return 0
    for k in range(n):
        if not abs(rates[k]) < np.inf:
            return 0
    if m > 0:
        _add_pushing(S, D, I, F, q, w, loop_of_row, W, V, kept[:m], pieces)
        return 0
    largest = 0
    for k in range(index(I[at.N_V])):
        if abs(rates[k]) > abs(rates[largest]):
            largest = k
    if I[at.N_V] > 0:
        add(pieces, _ACCELERATES, TEXT)
        add(pieces, _of_speeds(I) + largest, TEXT)
        add(pieces, _COMMA, TEXT)
        add(pieces, rates[largest], 3)
    return 0


@kernel
def _clear(I, W):
    """Set multipliers to zero."""
    o, m = index(I[at.ROWS_W]), index(I[at.N_ROWS])
    for k in range(m):
        W[o + at.LAMBDA * m + k] = 0.0


@kernel(forceinline=False)
def _pivots(I, F, q, u, W, V, out, whole):
    """Write what is left of each row when its turn comes in the factorisation of A = J M⁻¹ Jᵀ, and A's diagonal."""
    m, nv = index(I[at.N_ROWS]), index(I[at.N_V])
    zero, dq, dv = V[:nv], V[nv : 2 * nv], V[2 * nv : 3 * nv]
    for k in range(nv):
        zero[k] = 0.0
    for k in range(u.shape[0]):
        u[k] = 0.0
    _clear(I, W)
    if loops.closing(I, F, q, zero, u, 0.0, W, dq, dv) == 0:
        loops.pivots(I, W, out, whole)
        return
    for k in range(m):
        out[k], whole[k] = 0.0, 1.0


@kernel(forceinline=False)
def _add_dependent(I, F, q, began, u, W, V, kept, pieces):
    """Add the rows of constraints that depend on others at q, and do not at `began`; return whether there are any."""
    m = index(I[at.N_ROWS])
    then, whole, now, diagonal = kept[:m], kept[m : 2 * m], kept[2 * m : 3 * m], kept[3 * m :]
    _pivots(I, F, began, u, W, V, then, whole)
    for k in range(m):
        # a row that shrinks to nothing has nothing of its own either
        whole[k] = _DEPENDENT * (whole[k] if whole[k] > 0.0 else 1.0)
    _pivots(I, F, q, u, W, V, now, diagonal)
    n = 0
    for k in range(m):
        if now[k] <= whole[k] and then[k] > whole[k]:
            n += 1
            if n <= _ROWS_NAMED:
                add(pieces, _SINGULAR if n == 1 else _COMMA, TEXT)
                add(pieces, _of_rows(I, _ROW) + k, TEXT)
    if n > _ROWS_NAMED:
        add(pieces, _AND_MORE, TEXT)
        add(pieces, n - _ROWS_NAMED, 6)
        add(pieces, _AND_MORE + 1, TEXT)
    if n > 0:
        add(pieces, _ELSEWHERE, TEXT)
    return n > 0


@kernel(forceinline=False)
def _force(S, D, I, F, q, w, kind, place, J, W, x, V, out):
    """Write K_e x or D_e x of one force into `out`; return 0, or a status.

    Of a joint's own force `place` is the body; of an element where its row stands, and J the copy of I that S leads to.
    """
    nv, n = index(I[at.N_V]), index(I[at.N_V]) + index(I[at.N_X])
    for k in range(nv):
        out[k] = 0.0
    if kind <= _FRICTION:
        b, f, _ = at.rows(place)
        first = index(I[b + at.JV])
        for k in range(index(I[b + at.NV])):
            number = F[f + at.STIFFNESS + k]
            if kind == _DAMPER:
                number = F[f + at.DAMPING + k]
            elif kind == _FRICTION:
                number = F[f + at.FRICTION + k]
                # where there is none, its speed need not be a number
                number = number / F[f + at.FRICTION_SPEED] if number != 0.0 else 0.0
            out[first + k] = number * x[first + k]
        return 0
    zero, with_it, without = V[:n], V[n : 2 * n], V[2 * n : 3 * n]
    for k in range(n):
        zero[k] = 0.0
    for n_elements in range(2):
        J[at.N_ELEMENTS], J[at.ELEMENTS] = n_elements, place
        r = with_it if n_elements == 1 else without
        if kind == _BY_PLACE:
            status = _along(S, D, 0.0, q, w, zero, x, zero, zero, W, r)
        else:
            status = _along(S, D, 0.0, q, w, zero, zero, x, zero, W, r)
        if status != 0:
            return status
    for k in range(nv):
        out[k] = with_it[k] - without[k]
    return 0


@kernel(forceinline=False)
def _largest_eigenvalue(S, D, I, F, q, w, kind, place, J, W, V):
    """Return ρ of (1) for one force; 0 if there is none, or it cannot be found."""
    nv, n = index(I[at.N_V]), index(I[at.N_V]) + index(I[at.N_X])
    x, force, rest = V[:n], V[n : 2 * n], V[2 * n :]
    for k in range(n):
        # no direction of a mechanism is likely to be at right angles to this one
        x[k] = 1.0 + 0.1 * (k % 7) if k < nv else 0.0
    growth = 0.0
    for power in range(2 * _POWERS):
        if _force(S, D, I, F, q, w, kind, place, J, W, x, rest, force) != 0:
            return 0.0
        if articulated.solve(I, F, q, force[:nv], 0.0, 0.0, W, x[:nv]) != 0:
            return 0.0
        size = 0.0
        for k in range(nv):
            size = max(size, abs(x[k])) if x[k] == x[k] else np.inf
        # bounds, and not infinity: of that LLVM makes an instruction that C does not have
        if not _LEAST < size < 1.0 / _LEAST:
            return 0.0
        for k in range(nv):
            x[k] /= size
        if power >= _POWERS:
            growth += np.log(size)
    return np.exp(growth / _POWERS)


@kernel(forceinline=False)
def _add_stiffest(S, D, I, F, q, w, W, V, copies, address, pieces):
    """Add the stiffest forces with their rates (1); return whether there are any."""
    n_ints = I.shape[0]
    ints = copies.view(np.int64)
    J, S_ = ints[:n_ints], ints[n_ints : n_ints + S.shape[0]]
    for k in range(n_ints):
        J[k] = I[k]
    for k in range(S.shape[0]):
        S_[k] = S[k]
    S_[at.S_I] = address
    led = ints_at(address + 8 * n_ints, S.shape[0])
    # the two largest rates, and the texts of their forces
    first = second = 0.0
    who = other = -1
    bodies, elements = index(I[at.N_BODIES]), index(I[at.N_ELEMENTS])
    for k in range(3 * bodies + elements):
        if k < 3 * bodies:
            rate = _largest_eigenvalue(led, D, I, F, q, w, k % 3, k // 3, J, W, V)
            rate = np.sqrt(rate) if k % 3 == _SPRING else rate
            text = _of_rows(I, _BEHIND_ROWS) + k
        else:
            row = index(I[at.ELEMENTS]) + (k - 3 * bodies) * at.ELEMENT_SIZE
            kind = I[row + at.ELEMENT_KIND]
            if kind in (at.LOAD_WORLD, at.LOAD_BODY):
                continue
            rate = max(
                np.sqrt(_largest_eigenvalue(led, D, I, F, q, w, _BY_PLACE, row, J, W, V)),
                _largest_eigenvalue(led, D, I, F, q, w, _BY_SPEED, row, J, W, V),
            )
            text = _of_elements(I) + k - 3 * bodies
        if rate > first:
            second, other = first, who
            first, who = rate, text
        elif rate > second:
            second, other = rate, text
    if who < 0:
        return False
    both = other >= 0 and _LESS_STIFF * second >= first
    add(pieces, _STIFFEST_TWO if both else _STIFFEST, TEXT)
    add(pieces, who, TEXT)
    add(pieces, _RATE, TEXT)
    add(pieces, first, 2)
    add(pieces, _RATE + 1, TEXT)
    if both:
        add(pieces, _AND, TEXT)
        add(pieces, other, TEXT)
        add(pieces, _RATE, TEXT)
        add(pieces, second, 2)
        add(pieces, _RATE + 1, TEXT)
    add(pieces, _RESOLVE, TEXT)
    add(pieces, 1.0 / first, 1)
    add(pieces, _RESOLVE + 1, TEXT)
    return True


@kernel(forceinline=False)
def _add_pushing(S, D, I, F, q, w, loop_of_row, W, V, whole, pieces):
    """Add the constraint whose forces accelerate the mechanism most; the first numbers of V are accelerations."""
    n, nv, m, o = index(I[at.N_V]) + index(I[at.N_X]), index(I[at.N_V]), index(I[at.N_ROWS]), index(I[at.ROWS_W])
    rates, with_it, without, push = V[:n], V[n : 2 * n], V[2 * n : 3 * n], V[3 * n : 4 * n]
    l, found, most = o + at.LAMBDA * m, -1, -1.0
    for k in range(m):
        whole[k] = W[l + k]
    for r in range(m):
        if r > 0 and loop_of_row[r] == loop_of_row[r - 1]:
            continue
        for mine in range(2):
            for k in range(m):
                W[l + k] = 0.0 if mine == 1 and loop_of_row[k] == loop_of_row[r] else whole[k]
            if _residual(S, D, 0.0, q, w, rates, W, without if mine == 1 else with_it) != 0:
                return
        for k in range(nv):
            without[k] -= with_it[k]
        if articulated.solve(I, F, q, without[:nv], 0.0, 0.0, W, push[:nv]) != 0:
            continue
        size = 0.0
        for k in range(nv):
            size = max(size, abs(push[k]))
        if size > most:
            found, most = r, size
    if found >= 0:
        add(pieces, _PUSHES, TEXT)
        add(pieces, _of_rows(I, _LOOP) + found, TEXT)


@kernel(forceinline=False)
def add_no_rotation(I, number, q, pieces):
    """Add that the quaternion of this number, the four numbers q, is no rotation."""
    add(pieces, of_quaternions(I) + number, TEXT)
    size = 0.0
    for k in range(4):
        add(pieces, QUATERNION + k, TEXT)
        add(pieces, q[k], ALL)
        size += q[k] * q[k]
    add(pieces, QUATERNION + 4, TEXT)
    add(pieces, np.sqrt(size), 6)
    add(pieces, QUATERNION + 5, TEXT)
