"""Sampled controllers of a machine (kernels/blocks.py): communication steps are cut where they sample.

Their state C is a part of X, so that whoever copies X has it, and the outputs in force are constant inputs in D.  A
sample at a communication point is taken where the next step begins, with the inputs that are set by then.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, invoke, kernel
from liegeo._memory import matrix_at
from liegeo.integrate import breaks, stepping
from liegeo.kernels import blocks, events
from liegeo.kernels import layout as at
from liegeo.kernels.motion import drive
from liegeo.machine.events import FAILURE, act
from liegeo.machine.record import (
    BEFORE,
    BLOCKS,
    DATA_MEASURED,
    DIM,
    ELEMENT,
    FIRST,
    GAINS,
    LOOP,
    MEASURE,
    N_SAMPLED,
    NOT_SAMPLED,
    PLAN_MEASURED,
    PROJECT,
    ROWS_2,
    SAMPLED,
    STEP_FAILED,
    W_SHOWN,
    Z_MEASURED,
    D,
    S,
    X,
    breaks_of,
    constants,
    control_of,
    layout_of,
    model_of_record,
    places_in_state,
    split,
    vector,
    whole,
)

# What `sample` returns where there is nothing to do.
NOTHING = -1
# So many events may follow from one another at one instant.
_MOST_ROUNDS = 1000


@kernel(inline="always")
def state_of_controllers(R):
    """Return C."""
    start = places_in_state(R)[4] + 3
    return vector(R, X)[start : start + index(R[N_SAMPLED])]


@kernel(forceinline=False)
def begin_sampling(R, t):
    """Let controllers begin, with the first samples at t or next after it."""
    if R[N_SAMPLED] == 0:
        return
    C, first = state_of_controllers(R), constants(R, SAMPLED)
    for k in range(C.shape[0]):
        C[k] = first[k]
    blocks.begin(whole(R, BLOCKS), constants(R, GAINS), C, t)
    blocks.hold(whole(R, BLOCKS), C, vector(R, D), at.D_U)


@kernel(forceinline=False)
def hold_outputs(R):
    """Let the drive have the outputs in force, as a state says that was put into X."""
    if R[N_SAMPLED] > 0:
        blocks.hold(whole(R, BLOCKS), state_of_controllers(R), vector(R, D), at.D_U)


@kernel(forceinline=False)
def next_sample(R, end):
    """Return when controllers have something to do next; `end` if that is not before it, but for round-off."""
    if R[N_SAMPLED] == 0:
        return end
    B, P, C = whole(R, BLOCKS), constants(R, GAINS), state_of_controllers(R)
    if B[blocks.N_EVENTS] > 0:
        end = events.next_time(B, P, C, control_of(R)[stepping.TIME], end)
    return blocks.next_time(B, P, C, end)


@kernel(forceinline=False)
def sample(R):
    """Do what controllers and events have to do at the time in `control`; return 0, NOTHING, or why it failed.

    Whoever calls this lets the method start anew, if there was anything.
    """
    why = _sample(R)
    if why <= 0 and whole(R, BLOCKS)[blocks.N_EVENTS] > 0:
        happened = _let_happen(R)
        if happened != NOTHING:
            why = happened
    return why


@kernel(forceinline=False)
def _let_happen(R):
    """Let events happen that are due; return as `sample`."""
    B, P, C, control, D_ = whole(R, BLOCKS), constants(R, GAINS), state_of_controllers(R), control_of(R), vector(R, D)
    I, _ = model_of_record(R)
    t, dim, m, y = control[stepping.TIME], index(R[DIM]), index(I[at.N_ROWS]), places_in_state(R)[6]
    n = index(R[ELEMENT + 1])
    breaks.limit(breaks_of(R), D_, t)
    why = NOTHING
    for _ in range(_MOST_ROUNDS):
        happened = act(
            (R[LOOP], R[MEASURE], R[PROJECT]), B, P, C, whole(R, PLAN_MEASURED), constants(R, DATA_MEASURED),
            vector(R, Z_MEASURED), vector(R, W_SHOWN), whole(R, S), D_, t, matrix_at(R[X] + 8 * y, (1, n)),
            layout_of(R), matrix_at(R[ROWS_2], (2, dim // 2)), vector(R, ELEMENT), vector(R, FIRST)[: m + 2],
            vector(R, BEFORE),
        )  # fmt: skip
        if happened < 0:
            control[stepping.STATUS] = FAILURE - happened
            return STEP_FAILED
        if happened == 0:
            if why == 0:
                # equal steps are counted from here
                control[stepping.ORIGIN], control[stepping.BEFORE] = np.nan, 1.0
            return why
        why = 0
    control[stepping.STATUS] = B[blocks.N_CONTROLLERS]
    return NOT_SAMPLED


@kernel(forceinline=False)
def _sample(R):
    """Do what controllers have to do; return as `sample`."""
    B, P, C, control = whole(R, BLOCKS), constants(R, GAINS), state_of_controllers(R), control_of(R)
    t = control[stepping.TIME]
    if not blocks.is_due(B, P, C, t):
        return NOTHING
    D_ = vector(R, D)
    # on the right side of jumps that are here
    breaks.limit(breaks_of(R), D_, t)
    n = index(B[blocks.N_MEASURED])
    if n > 0:
        I, F = model_of_record(R)
        W_ = vector(R, W_SHOWN)
        q, w = split(R)
        status = drive(whole(R, S), constants(R, D), t, q, w, W_)
        if status == 0:
            o = index(I[at.N_WORK])
            u = W_[o : o + index(I[at.N_U])]
            z = vector(R, Z_MEASURED)
            arguments = whole(R, PLAN_MEASURED), constants(R, DATA_MEASURED), I, F, t, q, w, u, W_, z, C[:n]
            status = invoke(R[MEASURE], arguments)
        if status != 0:
            control[stepping.STATUS] = status
            return STEP_FAILED
    failed = blocks.fire(B, P, C, t, D_, at.D_U)
    if failed != 0:
        control[stepping.STATUS] = failed - 1
        return NOT_SAMPLED
    # equal steps are counted from here
    control[stepping.ORIGIN], control[stepping.BEFORE] = np.nan, 1.0
    return 0
