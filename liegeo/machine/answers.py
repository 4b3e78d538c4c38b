"""What an answer of a machine other than 0 means, as pieces of a message (blame.py)."""

from __future__ import annotations

from liegeo._jit import index, invoke, kernel
from liegeo.integrate import stepping
from liegeo.kernels import layout as at
from liegeo.machine.blame import (
    AT,
    COLON,
    TEXT,
    TOO_MANY,
    TOO_SHORT,
    add,
    add_failure,
    add_no_rotation,
    add_open,
    add_step_failed,
    add_unassembled,
    of_quaternions,
)
from liegeo.machine.record import (
    BEGAN,
    BLAME,
    BLAMED,
    FIRST,
    LOOP_OF_ROW,
    NO_ROTATION,
    NOT_ASSEMBLED,
    NOT_SAMPLED,
    NOT_SHOWN,
    OPEN_LOOPS,
    PIECES,
    QUATERNIONS,
    REACHED,
    SETTINGS,
    STEP,
    TIME,
    W_SHOWN,
    D,
    S,
    X,
    constants,
    control_of,
    model_of_record,
    vector,
    whole,
    y_of,
)
from liegeo.machine.record import TOO_MANY as TOO_MANY_STEPS
from liegeo.machine.record import TOO_SHORT as TOO_SHORT_STEPS


@kernel(forceinline=False)
def explain(R, why, size):
    """Write into PIECES what the answer `why` means, before the state is taken back; `size` is that of a step.

    BLAME, where there is one, is asked what made the equations of a step unsolvable; S must then lead to all kernels of
    the system.
    """
    I, _ = model_of_record(R)
    X_, control, y, pieces = vector(R, X), control_of(R), y_of(R), vector(R, PIECES)
    status, loops = int(control[stepping.STATUS]), whole(R, LOOP_OF_ROW)
    lacking = vector(R, FIRST)[: index(I[at.N_ROWS])]
    pieces[0] = 0.0
    if why == TOO_MANY_STEPS:
        step = constants(R, SETTINGS)[STEP]
        add(pieces, TOO_MANY, TEXT)
        add(pieces, size / step, 6)
        add(pieces, TOO_MANY + 1, TEXT)
        add(pieces, step, 6)
        add(pieces, TOO_MANY + 2, TEXT)
        add(pieces, size, 6)
        add(pieces, TOO_MANY + 3, TEXT)
    elif why == TOO_SHORT_STEPS:
        add(pieces, TOO_SHORT, TEXT)
        add(pieces, control[stepping.TIME], 6)
        add(pieces, TOO_SHORT + 1, TEXT)
        add(pieces, control[stepping.STEP], 6)
        add(pieces, TOO_SHORT + 2, TEXT)
    elif why == OPEN_LOOPS:
        add_open(I, lacking, loops, pieces)
    elif why == NOT_ASSEMBLED:
        add_unassembled(I, status, lacking, loops, pieces)
    elif why == NO_ROTATION:
        place = index(whole(R, QUATERNIONS)[status])
        add_no_rotation(I, status, y[place : place + 4], pieces)
    else:
        add(pieces, AT, TEXT)
        add(pieces, X_[TIME] if why == NOT_SHOWN else max(X_[REACHED], control[stepping.TIME]), 6)
        add(pieces, AT + 1, TEXT)
        if why == NOT_SHOWN:
            add_failure(I, status, pieces)
        elif why == NOT_SAMPLED:
            add(pieces, of_quaternions(I) + whole(R, QUATERNIONS).shape[0] + status, TEXT)
        else:
            began = vector(R, BEGAN)
            if add_step_failed(I, status, y, began, pieces) and R[BLAME] != 0:
                n = pieces[0]
                add(pieces, COLON, TEXT)
                work, scratch = vector(R, W_SHOWN), vector(R, BLAMED)
                arguments = (whole(R, S), constants(R, D), y, began, loops, work, scratch, R[BLAMED], pieces)
                invoke(R[BLAME], arguments)
                if pieces[0] == n + 2.0:
                    # nobody is
                    pieces[0] = n
    return 0
