"""Communication steps of a machine: its inputs (record.py (1)), and its motion from one point to the next."""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, invoke, kernel
from liegeo._memory import block_at, matrix_at, numbers_at
from liegeo.integrate import breaks, stepping
from liegeo.integrate.stepping import EVENT, FAILED, FINISHED, FULL, JUMP
from liegeo.kernels import blocks, sensing
from liegeo.kernels import layout as at
from liegeo.lie.product import KERNELS
from liegeo.machine.controls import (
    NOTHING,
    begin_sampling,
    hold_outputs,
    next_sample,
    sample,
    state_of_controllers,
)
from liegeo.machine.events import watched
from liegeo.machine.record import (
    ADAPTIVE,
    ASSEMBLE,
    ASSEMBLY,
    ATOL,
    BEFORE,
    BEGAN,
    BLOCKS,
    COEFFICIENTS,
    DATA_MEASURED,
    DEGREE,
    DIM,
    ELEMENT,
    END,
    EXPONENT,
    FIELD,
    FIRST,
    GAINS,
    GOES_ON,
    INPUTS,
    KEPT,
    LINEAR,
    LONGEST,
    LOOP,
    MEASURE,
    MOTIONS,
    N_INPUTS,
    N_MOTIONS,
    N_SAMPLED,
    N_STATE,
    NO_ROTATION,
    NOT_ASSEMBLED,
    OPEN_LOOPS,
    ORDER,
    ORIGIN,
    PLAN_MEASURED,
    POWER,
    PROJECT,
    QUATERNIONS,
    REACHED,
    ROWS,
    ROWS_2,
    RTOL,
    S_FREE,
    S_KEPT,
    SAVED,
    SCALE,
    SENSOR_SETTINGS,
    SENSORS,
    SETTINGS,
    SHARE,
    SLOPED,
    SLOPES,
    STEP,
    STEP_FAILED,
    TIME,
    TOLERANCE_AT,
    TOO_MANY,
    TOO_SHORT,
    TURNED,
    W_SHOWN,
    WEIGHTS,
    WEIGHTS_FREE,
    Z_MEASURED,
    D,
    S,
    W,
    X,
    breaks_of,
    constants,
    control_of,
    layout_of,
    model_of_record,
    places_in_state,
    vector,
    whole,
    y_of,
)
from liegeo.machine.showing import sample as sense
from liegeo.machine.showing import turn

_retract = KERNELS["retract"]

_MOST_STEPS = 10_000_000
# Of a method that chooses its steps, so that a host that waits hears why: how many a communication step may have, and
# how many more it may need as long as the last one; looked at after so many.
_MOST_CHOSEN, _MOST_TO_COME, _LOOKED_AFTER = 50_000, 1e6, 1_000
# By how much the length of a quaternion may differ from 1, if somebody wrote it with few digits; and by round-off.
_ROTATION, _ROUND_OFF = 1e-2, 4.0 * float(np.finfo(np.float64).eps)
# Residuals that a state may have that follows what is prescribed.
_CLOSED = 1e-9


@kernel(forceinline=False)
def put_coefficients(R):
    """Write (1), gravity and the piece of time into D, as X has them."""
    X_, D_ = vector(R, X), vector(R, D)
    _, _, c, _, gravity, _, _, _, _ = places_in_state(R)
    n, size = index(R[N_INPUTS]), 2 + DEGREE
    first = D_.shape[0] - n * size
    for k in range(n):
        D_[first + k * size] = X_[ORIGIN]
        for d in range(DEGREE):
            D_[first + k * size + 2 + d] = X_[c + DEGREE * k + d]
    I, _ = model_of_record(R)
    for d in range(3):
        D_[at.D_U + index(I[at.N_U]) - 3 + d] = X_[gravity + d]


@kernel(forceinline=False)
def set_coefficients(R, t, sloped):
    """Find (1) for a communication step that begins at t."""
    X_, slopes = vector(R, X), vector(R, SLOPES)
    before, _, c, _, _, _, _, _, _ = places_in_state(R)
    n = index(R[N_INPUTS])
    X_[ORIGIN] = t
    since = t - X_[before]
    for k in range(n):
        place = c + DEGREE * k
        X_[place] = X_[place + 1] = 0.0
        X_[place + 2] = X_[INPUTS + k]
        if R[LINEAR] != 0 and X_[before] < t:
            X_[place + 1] = (X_[INPUTS + k] - X_[before + 1 + k]) / since
        if sloped:
            first, second = slopes[2 * k], slopes[2 * k + 1]
            # with a slope, a second derivative that was not given is none
            if first == first or second == second:
                X_[place + 1] = first if first == first else 0.0
                X_[place] = 0.5 * second if second == second else 0.0
    motions = whole(R, MOTIONS)
    for i in range(index(R[N_MOTIONS])):
        value, rate, acceleration = (
            index(motions[3 * i]),
            index(motions[3 * i + 1]),
            index(motions[3 * i + 2]),
        )
        X_[c + DEGREE * value + 1] = X_[INPUTS + rate]
        X_[c + DEGREE * value] = 0.5 * X_[INPUTS + acceleration]
        X_[c + DEGREE * rate + 1], X_[c + DEGREE * rate] = X_[INPUTS + acceleration], 0.0
        X_[c + DEGREE * acceleration + 1] = 0.0
    put_coefficients(R)


@kernel
def _jumps(R):
    """Return whether inputs are not where those of the last step ended."""
    X_ = vector(R, X)
    end = places_in_state(R)[1]
    jumps = False
    for k in range(index(R[N_INPUTS])):
        jumps |= X_[INPUTS + k] != X_[end + k]
    return jumps


@kernel(forceinline=False)
def begin(R, t, size):
    """Keep the state, and begin a communication step with its inputs; return as `follow`."""
    X_, saved = vector(R, X), vector(R, SAVED)
    for k in range(R[N_STATE]):
        saved[k] = X_[k]
    X_[TIME] = X_[REACHED] = t
    why = _set_inputs(R, t, size)
    control_of(R)[stepping.TIME] = t
    return why


@kernel(forceinline=False)
def _set_inputs(R, t, size):
    """Set the inputs of a communication step; return 0, or why the state cannot follow what is prescribed."""
    X_, slopes = vector(R, X), vector(R, SLOPES)
    before, end, c, _, _, _, _, _, _ = places_in_state(R)
    n, sloped, was = index(R[N_INPUTS]), False, X_[SLOPED] != 0.0
    for k in range(2 * n):
        sloped |= slopes[k] == slopes[k]
    jumps = _jumps(R)
    X_[SLOPED] = 1.0 if sloped else 0.0
    held = R[LINEAR] == 0 and R[N_MOTIONS] == 0
    if held and not (jumps or sloped or was):
        # held inputs that stay as they are need no new coefficients
        return 0
    if held and not (sloped or was):
        for k in range(n):
            X_[c + DEGREE * k + 2] = X_[end + k] = X_[INPUTS + k]
        put_coefficients(R)
    else:
        set_coefficients(R, t, sloped)
        X_[before] = t
        for k in range(n):
            X_[before + 1 + k] = X_[INPUTS + k]
            place = c + DEGREE * k
            X_[end + k] = X_[place + 2] + size * (X_[place + 1] + size * X_[place])
    status = 0
    if jumps and R[N_MOTIONS] > 0:
        status = follow(R, t)
    if jumps:
        restart(R, t)
    return status


@kernel(forceinline=False)
def follow(R, t):
    """Bring the state to what is prescribed at t; return 0, OPEN_LOOPS, or STEP_FAILED with a status in `control`."""
    if R[PROJECT] == 0:
        return 0
    S_, D_, first = whole(R, S), constants(R, D), vector(R, FIRST)
    I, _ = model_of_record(R)
    W_, m, dim = vector(R, W_SHOWN), index(I[at.N_ROWS]), index(R[DIM])
    o = index(I[at.ROWS_W]) + at.LAMBDA * m
    for k in range(m):
        W_[o + k] = 0.0
    y = places_in_state(R)[6]
    n = index(R[ELEMENT + 1])
    # the time and what is left stand behind the residuals
    first[m] = t
    arguments = (
        S_,
        D_,
        layout_of(R),
        numbers_at(R[FIRST] + 8 * m, 1),
        matrix_at(R[X] + 8 * y, (1, n)),
        W_,
        matrix_at(R[ROWS_2], (2, dim // 2)),
        vector(R, ELEMENT),
        first[:m],
        numbers_at(R[FIRST] + 8 * (m + 1), 1),
    )
    status = invoke(R[PROJECT], arguments)
    if status != 0:
        control_of(R)[stepping.STATUS] = status
        return STEP_FAILED
    return OPEN_LOOPS if first[m + 1] > _CLOSED else 0


# ---- motion


@kernel(forceinline=False)
def restart(R, t):
    """Remember nothing of the motion so far; where the method needs the field and there is none, a step fails."""
    X_, D_ = vector(R, X), vector(R, D)
    breaks.limit(breaks_of(R), D_, t)
    K, dim = places_in_state(R)[7], index(R[DIM])
    for k in range(index(R[KEPT]) * dim):
        X_[K + k] = 0.0
    if R[ADAPTIVE] != 0 and _field(R, t) != 0:
        X_[K] = np.nan


@kernel
def _field(R, t):
    """Write the field at y into the first row of K."""
    K, dim = places_in_state(R)[7], index(R[DIM])
    field = vector(R, X)[K : K + dim]
    return invoke(R[FIELD], (whole(R, S), constants(R, D), t, y_of(R), vector(R, W), field))


@kernel(forceinline=False)
def place(R, t):
    """Make a state of the y in X, with which somebody wishes to begin; return 0, or why there is none.

    Quaternions become rotations.  A mechanism with loops is assembled: what is kept in S_KEPT stays, or, if that cannot
    be and there is an S_FREE, what is kept there.
    """
    y, quaternions, control = y_of(R), whole(R, QUATERNIONS), control_of(R)
    # what is prescribed counts where loops are closed, on the side of jumps where the motion begins
    breaks.limit(breaks_of(R), vector(R, D), t)
    set_coefficients(R, t, False)
    for k in range(quaternions.shape[0]):
        o = index(quaternions[k])
        size = np.sqrt(y[o] * y[o] + y[o + 1] * y[o + 1] + y[o + 2] * y[o + 2] + y[o + 3] * y[o + 3])
        if not abs(size - 1.0) <= _ROTATION:
            control[stepping.STATUS] = k
            return NO_ROTATION
        if abs(size - 1.0) > _ROUND_OFF:
            for d in range(4):
                y[o + d] /= size
    if R[ASSEMBLE] != 0:
        saved = vector(R, SAVED)
        for k in range(y.shape[0]):
            saved[k] = y[k]
        status = _assemble(R, t, S_KEPT, WEIGHTS)
        if status != 0 and R[S_FREE + 1] > 0:
            for k in range(y.shape[0]):
                y[k] = saved[k]
            status = _assemble(R, t, S_FREE, WEIGHTS_FREE)
        control[stepping.STATUS] = status
        why = follow(R, t) if status == 0 else NOT_ASSEMBLED
        if why != 0:
            return why
    scratch, moved = vector(R, ROWS_2), vector(R, ELEMENT)
    for k in range(index(R[DIM])):
        scratch[k] = 0.0
    _retract(layout_of(R), y, scratch[: index(R[DIM])], moved)
    for k in range(y.shape[0]):
        y[k] = moved[k]
    return 0


@kernel
def _assemble(R, t, ints, weights):
    """Assemble with what is kept in these whole numbers; return a status."""
    I, _ = model_of_record(R)
    arguments = (
        whole(R, ints),
        constants(R, D),
        layout_of(R),
        t,
        y_of(R),
        vector(R, weights),
        vector(R, W_SHOWN),
        vector(R, ASSEMBLY),
        vector(R, FIRST)[: index(I[at.N_ROWS])],
    )
    return invoke(R[ASSEMBLE], arguments)


@kernel(forceinline=False)
def start(R, t, stop):
    """Begin a motion at t with the y, w and gravity of X: all else in X follows; return as `show`.

    The motion is thought to end at `stop`, from which methods that choose their steps take the first.
    """
    X_, settings, began = vector(R, X), constants(R, SETTINGS), vector(R, BEGAN)
    before, end, _, signs, _, control, y, K, whole = places_in_state(R)
    for k in range(began.shape[0]):
        began[k] = X_[y + k]
    X_[TIME] = X_[REACHED] = t
    X_[SLOPED] = 0.0
    for k in range(before, before + 1 + index(R[N_INPUTS])):
        X_[k] = np.nan
    for k in range(index(R[N_INPUTS])):
        X_[end + k] = X_[INPUTS + k]
    for k in range(K, whole):
        X_[k] = 0.0
    set_coefficients(R, t, False)
    begin_sampling(R, t)
    c = X_[control : control + stepping.CONTROL_SIZE]
    for k in range(stepping.CONTROL_SIZE):
        c[k] = 0.0
    c[stepping.TIME], c[stepping.BEFORE] = t, 1.0
    c[stepping.PASSED] = breaks.piece(breaks_of(R), t)[0]
    if R[ADAPTIVE] != 0:
        rtol, atol = settings[RTOL], settings[ATOL]
        tighter = rtol ** (settings[EXPONENT] - 1.0)
        c[stepping.RTOL], c[stepping.ATOL] = tighter * rtol, tighter * atol
        if R[TOLERANCE_AT] >= 0:
            coefficients = numbers_at(R[COEFFICIENTS], R[TOLERANCE_AT] + 1)
            coefficients[index(R[TOLERANCE_AT])] = settings[SHARE] * (tighter * rtol + tighter * atol)
    restart(R, t)
    if R[ADAPTIVE] != 0:
        c[stepping.LONGEST] = settings[LONGEST]
        length = stop - t if stop > t else 1.0
        first = stepping.first_step(c, R[ORDER], X_[K : K + index(R[DIM])], length)
        c[stepping.STEP] = stepping.within(first, settings[LONGEST])
    else:
        c[stepping.LONGEST] = settings[STEP]
    for k in range(index(R[TURNED + 1])):
        # no sign goes before
        X_[signs + k] = np.nan
    why = turn(R)
    return sense(R, True) if why == 0 else why


@kernel(forceinline=False)
def _advance(R, end, most):
    """Do what `_advance_to` does, and let sensors sample on the way: steps end at their instants."""
    if R[SENSORS + 1] == 0:
        return _advance_to(R, end, most)
    control, why, stop = control_of(R), 0, -np.inf
    while why == 0 and stop < end:
        stop = sensing.instant_before(whole(R, SENSORS), constants(R, SENSOR_SETTINGS), control[stepping.TIME], end)
        why = _advance_to(R, stop, most)
        if why == 0:
            why = sense(R, False)
        if why == 0 and most == 1 and stop < end:
            why = GOES_ON
    return why


@kernel(forceinline=False)
def _advance_to(R, end, most):
    """Go from `control`'s time to `end`; return 0, or why not.

    With 1 as `most` internal steps, return GOES_ON behind it, or at a jump, before the end.
    """
    control, B = control_of(R), breaks_of(R)
    if R[ADAPTIVE] == 0 and end - control[stepping.TIME] > _MOST_STEPS * control[stepping.LONGEST]:
        return TOO_MANY
    status, made, until = FULL, 0.0, end
    while status == FULL:
        if R[N_SAMPLED] != 0:
            why = sample(R) if control[stepping.TIME] < end else NOTHING
            if why > 0:
                return why
            if why == 0:
                restart(R, control[stepping.TIME])
            until = next_sample(R, end)
        status = stepping.aim(control, B, until)
        if status == JUMP:
            t = control[stepping.TIME]
            breaks.limit(B, vector(R, D), t)
            why = follow(R, t)
            if why != 0:
                return why
            restart(R, t)
            status = stepping.aim(control, B, until)
        if status == FINISHED:
            return 0
        if R[ADAPTIVE] != 0:
            K = places_in_state(R)[7]
            if vector(R, X)[K] != vector(R, X)[K]:
                control[stepping.STATUS] = _field(R, control[stepping.TIME])
                if control[stepping.STATUS] != 0.0:
                    return STEP_FAILED
        status = _run(R, most)
        if status == FINISHED and control[stepping.STOP] != end:
            status = FULL
        elif status == FULL and most > 1:
            made += control[stepping.MADE]
            to_come = (end - control[stepping.TIME]) / control[stepping.STEP]
            if made > _MOST_CHOSEN or to_come > _MOST_TO_COME:
                return TOO_SHORT
        elif status == EVENT:
            # it acts where the next turn begins
            status = FULL
        if status == FULL and most == 1:
            return GOES_ON
    return STEP_FAILED if status == FAILED else 0


@kernel(forceinline=False)
def _run(R, most):
    """Run the loop of the method, which keeps nothing of what lies between."""
    _, _, _, _, _, _, _, K, _ = places_in_state(R)
    rows, dim, n = R[ROWS], R[DIM], R[ELEMENT + 1]
    shape = (R[COEFFICIENTS + 1], R[COEFFICIENTS + 2], R[COEFFICIENTS + 3])
    none = (np.int64(0), dim)
    arguments = (
        layout_of(R),
        whole(R, S),
        constants(R, D),
        block_at(R[COEFFICIENTS], shape),
        constants(R, SETTINGS)[POWER],
        R[KEPT],
        control_of(R),
        y_of(R),
        vector(R, W),
        matrix_at(R[X] + 8 * K, (rows, dim)),
        matrix_at(R[ROWS_2], (np.int64(2), dim)),
        vector(R, ELEMENT),
        vector(R, END),
        vector(R, SCALE),
        most,
        numbers_at(R[X], np.int64(0)),
        matrix_at(R[X], (np.int64(0), n)),
        matrix_at(R[X], none),
        matrix_at(R[X], none),
    )
    if R[N_SAMPLED] != 0 and whole(R, BLOCKS)[blocks.N_EVENTS] > 0:
        plan = whole(R, BLOCKS), constants(R, GAINS), state_of_controllers(R)
        measured = whole(R, PLAN_MEASURED), constants(R, DATA_MEASURED), vector(R, Z_MEASURED), vector(R, W_SHOWN)
        return watched((R[LOOP], R[MEASURE], R[PROJECT]), *plan, *measured, vector(R, BEFORE), *arguments)
    return invoke(R[LOOP], arguments)


@kernel(nogil=True, forceinline=False)
def communicate(R, t, size):
    """Go from t to t + size; return 0, or why that cannot be done: `take_back` then gives the state that was.

    SLOPES has the first and second derivatives of the inputs in this step, NaN where none is given.
    """
    why = begin(R, t, size)
    if why == 0:
        why = _advance(R, t + size, _LOOKED_AFTER if R[ADAPTIVE] != 0 else _MOST_STEPS)
    return finish(R, t + size) if why == 0 else why


@kernel(nogil=True, forceinline=False)
def stride(R, end):
    """Make an internal step of a communication step to `end` that `begin` began.

    Return 0 where it got to the end, GOES_ON if it did not, or why that cannot be done.  Where the end is reached, or
    where no more is wanted, `finish` or `stop` follows: strides give the bits of `communicate`.
    """
    return _advance(R, end, np.int64(1))


@kernel(forceinline=False)
def stop(R, t):
    """End a communication step at t, before its end; return as `show`."""
    X_ = vector(R, X)
    _, end, c, _, _, _, _, _, _ = places_in_state(R)
    for k in range(index(R[N_INPUTS])):
        place, since = c + DEGREE * k, t - X_[ORIGIN]
        X_[end + k] = X_[place + 2] + since * (X_[place + 1] + since * X_[place])
    X_[REACHED] = t
    return finish(R, t)


@kernel(forceinline=False)
def finish(R, t):
    """A communication step got to t: show what holds from there on; return as `show`."""
    breaks.limit(breaks_of(R), vector(R, D), t)
    vector(R, X)[TIME] = t
    return turn(R)


@kernel(forceinline=False)
def take_back(R):
    """Put the state back that a communication step began with; REACHED is how far its internal steps got."""
    X_, saved = vector(R, X), vector(R, SAVED)
    reached = max(control_of(R)[stepping.TIME], X_[REACHED])
    for k in range(R[N_STATE]):
        X_[k] = saved[k]
    restored(R)
    X_[REACHED] = reached


@kernel(forceinline=False)
def restored(R):
    """Let the drive follow a state that was put into X."""
    put_coefficients(R)
    hold_outputs(R)
    breaks.limit(breaks_of(R), vector(R, D), control_of(R)[stepping.TIME])
