"""Derivatives of the outputs of a machine, along its inputs and along its motion: record.py (2), (3)."""

from __future__ import annotations

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.kernels.states import state_rates
from liegeo.lie.product import KERNELS
from liegeo.machine.record import (
    CHANGED,
    DATA_RATES,
    DEGREE,
    DIM,
    ELEMENT,
    INPUTS,
    N_INPUTS,
    N_OUTPUTS,
    ORIGIN,
    PLAN_RATES,
    SETTINGS,
    SHOW_RATES,
    SHOWN,
    STEP,
    TIME,
    TURNED,
    W_SHOWN,
    Z_RATES,
    X,
    constants,
    layout_of,
    model_of_record,
    places_in_state,
    split,
    vector,
)
from liegeo.machine.showing import failed_to_show, outputs, show_plan, turns

_retract = KERNELS["retract"]

# Changes of inputs as a share of them, or of 1, in (2): small, so that motors do not reach their limits, and large, so
# that round-off is small; the share that the two slopes of an output may differ by, if there is no limit between them;
# and the round-off of an output, as a share of it.
_SMALL, _LARGE, _STRAIGHT, _ROUND_OFF = 1e-5, 1e-2, 1e-6, 1e-12
# How far the fastest coordinate moves in (3), in rad or m.
_OF_MOTION = 1e-3


@kernel(inline="always")
def _scratch_of_changes(R):
    """Return where stand in CHANGED, behind six rows of outputs: q with ξ, speeds, inputs, rates of both, signs."""
    dim, n = index(R[DIM]) // 2, index(R[N_INPUTS])
    q = 6 * index(R[N_OUTPUTS])
    w = q + index(R[ELEMENT + 1]) - dim
    inputs = w + dim
    a = inputs + n
    direction = a + dim
    signs = direction + n
    moved = signs + index(R[TURNED + 1])
    return q, w, inputs, a, direction, signs, moved


def changed_size(n_outputs: int, n_element: int, dim: int, n_inputs: int, n_signs: int) -> int:
    """Return how many numbers CHANGED has."""
    return 6 * n_outputs + n_element + 2 * n_inputs + n_signs + dim


@kernel(forceinline=False)
def _shifted(R, moves, e, row):
    """Write the outputs at e of (2), or of (3) if it `moves`, into a row of CHANGED; return a status."""
    X_, C = vector(R, X), vector(R, CHANGED)
    _, _, _, signs, gravity, _, y, _, _ = places_in_state(R)
    q_, w_, inputs, a, direction, turned, end = _scratch_of_changes(R)
    dim, n, n_out = index(R[DIM]) // 2, index(R[N_INPUTS]), index(R[N_OUTPUTS])
    out = C[row * n_out : (row + 1) * n_out]
    for k in range(n):
        C[inputs + k] = X_[INPUTS + k] + e * C[direction + k]
    if not moves:
        q, w = split(R)
        return outputs(R, X_[TIME], q, w, C[inputs:a], X_[signs:gravity], out)
    I, _ = model_of_record(R)
    first = y + index(R[ELEMENT + 1]) - dim
    for k in range(dim):
        C[end + k] = e * X_[first + k]
        C[w_ + k] = X_[first + k] + e * C[a + k]
    layout = layout_of(R)
    _retract(layout[: layout.shape[0] - 1], X_[y:first], C[end : end + dim], C[q_:w_])
    for k in range(gravity - signs):
        C[turned + k] = X_[signs + k]
    t, q, w = X_[TIME] + e, C[q_ : q_ + index(I[at.N_Q])], C[w_:inputs]
    status = turns(R, t, q, w, C[inputs:a], C[turned:end])
    return status if status != 0 else outputs(R, t, q, w, C[inputs:a], C[turned:end], out)


@kernel(forceinline=False)
def _slope(R, moves, size, row):
    """Write the slope at e = 0 into a row of CHANGED, the fifth or sixth; where e has one side only, from that side.

    Return a status.
    """
    C, n = vector(R, CHANGED), index(R[N_OUTPUTS])
    out, status = row * n, 0
    for k in range(4):
        e = size if k < 2 else 2.0 * size
        if status == 0:
            status = _shifted(R, moves, e if k % 2 == 0 else -e, k)
    if status == 0:
        for i in range(n):
            f1, b1, f2, b2 = C[i], C[n + i], C[2 * n + i], C[3 * n + i]
            C[out + i] = (8.0 * (f1 - b1) - (f2 - b2)) / (12.0 * size)
        return 0
    status = _shifted(R, moves, 0.0, 0)
    for side in range(2):
        e = size if side == 0 else -size
        if status == 0:
            failed = _shifted(R, moves, e, 1)
            if failed == 0:
                failed = _shifted(R, moves, 2.0 * e, 2)
            if failed == 0:
                for i in range(n):
                    C[out + i] = (4.0 * C[n + i] - C[2 * n + i] - 3.0 * C[i]) / (2.0 * e)
                return 0
            if side == 1:
                status = failed
    return status


@kernel(nogil=True, forceinline=False)
def along_inputs(R, directions):
    """Write (2) for a direction in the inputs, one number per input, to SHOWN; return 0 or NOT_SHOWN."""
    X_, C, out = vector(R, X), vector(R, CHANGED), vector(R, SHOWN)
    direction = _scratch_of_changes(R)[4]
    n, n_out, largest, inputs = index(R[N_INPUTS]), index(R[N_OUTPUTS]), 0.0, 1.0
    for k in range(n):
        C[direction + k] = directions[k]
        largest = max(largest, abs(directions[k]))
        if directions[k] != 0.0:
            inputs = max(inputs, abs(X_[INPUTS + k]))
    if largest == 0.0:
        for i in range(n_out):
            out[i] = 0.0
        return 0
    size = inputs / largest
    status = _slope(R, False, _SMALL * size, 4)
    if status == 0:
        status = _slope(R, False, _LARGE * size, 5)
    if status == 0:
        status = _shifted(R, False, 0.0, 0)
    if status != 0:
        return failed_to_show(R, status)
    for i in range(n_out):
        near, far = C[4 * n_out + i], C[5 * n_out + i]
        # an output by itself: others may be larger by many orders
        unsure = _ROUND_OFF * abs(C[i]) / (_SMALL * size)
        out[i] = far if abs(far - near) <= _STRAIGHT * abs(near) + unsure else near
    return 0


@kernel(nogil=True, forceinline=False)
def along_motion(R):
    """Write (3), the rates of the outputs, to SHOWN; return 0 or NOT_SHOWN."""
    X_, C, out = vector(R, X), vector(R, CHANGED), vector(R, SHOWN)
    _, _, c, _, _, _, _, _, _ = places_in_state(R)
    _, _, _, a, direction, _, _ = _scratch_of_changes(R)
    status = accelerations(R, C[a:direction])
    if status != 0:
        return failed_to_show(R, status)
    for k in range(index(R[N_INPUTS])):
        place = c + DEGREE * k
        C[direction + k] = X_[place + 1] + 2.0 * (X_[TIME] - X_[ORIGIN]) * X_[place]
    _, w = split(R)
    fastest = 0.0
    for k in range(w.shape[0]):
        fastest = max(fastest, abs(w[k]))
    status = _slope(R, True, _OF_MOTION / (fastest + 1e-2 / constants(R, SETTINGS)[STEP]), 4)
    if status != 0:
        return failed_to_show(R, status)
    for i in range(index(R[N_OUTPUTS])):
        out[i] = C[4 * index(R[N_OUTPUTS]) + i]
    return 0


@kernel(forceinline=False)
def accelerations(R, out):
    """Write v̇ and ẋ, with the inputs as they are now; return a status."""
    X_ = vector(R, X)
    I, F = model_of_record(R)
    q, w = split(R)
    inputs = X_[INPUTS : places_in_state(R)[0]]
    nv = index(I[at.N_V])
    status = show_plan(R, SHOW_RATES, PLAN_RATES, DATA_RATES, vector(R, Z_RATES), X_[TIME], q, w, inputs, out[:nv])
    if I[at.N_STATES] > 0:
        state_rates(I, F, w, vector(R, W_SHOWN)[index(I[at.N_WORK]) :], out[nv:])
    return status
