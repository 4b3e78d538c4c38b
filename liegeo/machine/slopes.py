"""Derivatives of what a machine shows, along inputs and motion (record.py (2), (3)) and states, exact to round-off.

The kernels that show outputs and accelerations take complex numbers as they take real ones, and decide by real parts:
at limits of motors, in friction, in the pivots of loops.  Between kinks they are analytic functions f of x, so that

    d/de f(x + e δ) = Im f(x + iεδ)/ε + O(ε²),      ε = 1e-40,                                                    (1)

where nothing is subtracted, and ε² is nothing beside 1.  At a kink it is the slope of the side that the kernels choose.
Along a motion q moves by iεq̇, which is q ⊕ iεv but for ε².

What drives a model from inside, u(t), does not take complex numbers: its rate, which (3) needs and nothing else, is a
difference of fourth order of u alone.  It has no error for tables, which are polynomials of at most the third degree.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, invoke, kernel
from liegeo.kernels import layout as at
from liegeo.kernels.contact import contact_rates
from liegeo.kernels.joint_elements import state_rates
from liegeo.kernels.motion import configuration_rate, drive
from liegeo.machine.record import (
    DATA,
    DATA_RATES,
    DEGREE,
    INPUTS,
    N_INPUTS,
    N_OUTPUTS,
    ORIGIN,
    PLACES,
    PLAN,
    PLAN_RATES,
    SETTINGS,
    SHOW_COMPLEX,
    SHOW_RATES,
    SHOW_RATES_COMPLEX,
    SHOWN,
    SLOPE,
    STEP,
    TIME,
    TURNED,
    W_SHOWN,
    Z_RATES,
    D,
    S,
    X,
    Z,
    constants,
    model_of_record,
    places_in_state,
    split,
    vector,
    whole,
)
from liegeo.machine.showing import failed_to_show, hold_still, point, show_plan

#: The step ε of (1).
EPSILON = 1e-40
# Between the times of a difference of u, as a share of an internal step.
_OF_STEP = 0.05


@kernel(inline="always")
def numbers(R):
    """Return SLOPE as complex numbers."""
    return vector(R, SLOPE).view(np.complex128)


@kernel
def places(R):
    """Return where stand in SLOPE, behind a workspace: u, q, the speeds with the states x, z, what is shown; the end.

    Behind the end, which counts complex numbers, stand the rates of u, which are real.
    """
    I, _ = model_of_record(R)
    u = index(I[at.N_WORK])
    q = u + index(I[at.N_U])
    w = q + index(I[at.N_Q])
    nw = index(I[at.N_V]) + index(I[at.N_X])
    z = w + nw
    shown = z + max(index(R[Z + 1]), index(R[Z_RATES + 1]))
    return u, q, w, z, shown, shown + max(index(R[N_OUTPUTS]), index(I[at.N_Q]) + nw)


def scratch_size(n_work: int, n_u: int, n_q: int, n_w: int, n_z: int, n_outputs: int) -> int:
    """Return how many real numbers SLOPE has, an even number; n_z is the size of the longer z."""
    return 2 * (n_work + n_u + n_q + n_w + n_z + max(n_outputs, n_q + n_w)) + n_u + n_u % 2


@kernel(forceinline=False)
def begin(R):
    """Put u, q and the speeds as they are into SLOPE; return a status."""
    X_, C = vector(R, X), numbers(R)
    u_, q_, w_, z_, _, _ = places(R)
    q, w = split(R)
    status = point(R, X_[TIME], q, w, X_[INPUTS : places_in_state(R)[0]])
    if status != 0:
        return status
    W_ = vector(R, W_SHOWN)
    for k in range(q_ - u_):
        C[u_ + k] = W_[u_ + k]
    for k in range(w_ - q_):
        C[q_ + k] = q[k]
    for k in range(z_ - w_):
        C[w_ + k] = w[k]
    return 0


@kernel(inline="always")
def change(C, k, slope):
    """Let number k of SLOPE move with this slope, from where it is."""
    C[k] += 1j * EPSILON * slope


@kernel(forceinline=False)
def _show(R, code, plan, data, t, n):
    """Show, with complex numbers, what a plan names where SLOPE is; return a status."""
    I, F = model_of_record(R)
    C, X_, states = numbers(R), vector(R, X), at.first_state(I)
    u_, q_, w_, z_, shown, _ = places(R)
    _, _, _, signs, _, _, _, _, _ = places_in_state(R)
    nv = index(I[at.N_V])
    for k in range(z_ - w_ - nv):
        C[u_ + states + k] = C[w_ + nv + k]
    turned = whole(R, TURNED)
    for k in range(turned.shape[0]):
        C[z_ + index(turned[k])] = X_[signs + k]
    arguments = (
        whole(R, plan),
        constants(R, data),
        I,
        F,
        t,
        C[q_:w_],
        C[w_:z_],
        C[u_:q_],
        C[:q_],
        C[z_:shown],
        C[shown : shown + n],
    )
    return invoke(R[code], arguments)


@kernel(forceinline=False)
def shown_along(R, rate, out):
    """Write the slopes of the outputs where SLOPE moves, and the time with this rate; return a status."""
    C, shown = numbers(R), places(R)[4]
    t = vector(R, X)[TIME] + 1j * EPSILON * rate
    status = _show(R, SHOW_COMPLEX, PLAN, DATA, t, out.shape[0])
    for k in range(out.shape[0]):
        out[k] = C[shown + k].imag / EPSILON
    return status


@kernel(forceinline=False)
def accelerated_along(R, out):
    """Write the slopes of v̇ and ẋ where SLOPE moves; return a status."""
    I, F = model_of_record(R)
    C, nv = numbers(R), index(I[at.N_V])
    u, q, w, z, shown, _ = places(R)
    status = _show(R, SHOW_RATES_COMPLEX, PLAN_RATES, DATA_RATES, vector(R, X)[TIME] + 0j, nv)
    if I[at.N_X] > 0:
        state_rates(I, F, C[q:w], C[w:z], C[u:q], C[shown + nv :])
        if I[at.N_STICKING] > 0:
            contact_rates(I, F, C[u:q], C[:q], C[shown + nv :])
    for k in range(out.shape[0]):
        out[k] = C[shown + k].imag / EPSILON
    return status


@kernel(nogil=True, forceinline=False)
def along_inputs(R, directions):
    """Write (2) for a direction in the inputs, one number per input, to SHOWN; return 0 or NOT_SHOWN."""
    C, of_inputs, u = numbers(R), whole(R, PLACES), places(R)[0]
    status = begin(R)
    if status == 0:
        for k in range(index(R[N_INPUTS])):
            change(C, u + index(of_inputs[k]), directions[k])
        status = shown_along(R, 0.0, vector(R, SHOWN))
        hold_still(R)
    return failed_to_show(R, status)


@kernel(nogil=True, forceinline=False)
def along_motion(R):
    """Write (3), the rates of the outputs, to SHOWN; return 0 or NOT_SHOWN."""
    I, _ = model_of_record(R)
    X_, C, of_inputs, out = vector(R, X), numbers(R), whole(R, PLACES), vector(R, SHOWN)
    _, _, c, _, _, _, _, _, _ = places_in_state(R)
    u_, q_, w_, z_, shown, end = places(R)
    q, w = split(R)
    # before anything is shown there is room for numbers
    rates, a = vector(R, SLOPE)[2 * end :], vector(R, SLOPE)[2 * shown : 2 * shown + w.shape[0]]
    status = _drive_rates(R, _OF_STEP * constants(R, SETTINGS)[STEP], rates)
    for k in range(index(R[N_INPUTS])):
        place = c + DEGREE * k
        rates[index(of_inputs[k])] = X_[place + 1] + 2.0 * (X_[TIME] - X_[ORIGIN]) * X_[place]
    if status == 0:
        status = accelerations(R, a)
    if status == 0:
        status = begin(R)
    if status == 0:
        configuration_rate(I, q, w, C[q_:w_])
        for k in range(w_ - q_):
            C[q_ + k] = q[k] + 1j * EPSILON * C[q_ + k].real
        for k in range(z_ - w_):
            change(C, w_ + k, a[k])
        for k in range(q_ - u_):
            change(C, u_ + k, rates[k])
        status = shown_along(R, 1.0, out)
        hold_still(R)
    return failed_to_show(R, status)


@kernel(forceinline=False)
def _drive_rates(R, h, out):
    """Write the rates of what drives from inside, by times that are h apart or less; return a status."""
    I, _ = model_of_record(R)
    S_, D_, W_ = whole(R, S), constants(R, D), vector(R, W_SHOWN)
    q, w = split(R)
    n, o, status = index(I[at.N_U]), index(I[at.N_WORK]), 0
    for k in range(n):
        out[k] = 0.0
    if S_[at.S_TABLES] == R[N_INPUTS] and S_[at.S_PROGRAMS] == 0 and S_[at.S_CALL] == 0:
        return 0
    first, last = D_[at.D_FIRST], D_[at.D_LAST]
    t, h = min(max(vector(R, X)[TIME], first), last), min(h, 0.125 * (last - first))
    # to both sides, or where that leaves the piece or the values that an expression has, to one
    for side in (2, 4, 0):
        start = t - side * h
        if start < first or start + 4.0 * h > last:
            continue
        for k in range(n):
            out[k] = 0.0
        status = 0
        for j in range(5):
            if status == 0:
                status = drive(S_, D_, start + j * h, q, w, W_)
            factor = _difference(side, j) / h
            for k in range(n):
                out[k] += factor * W_[o + k]
        if status == 0:
            return 0
    return status


@kernel
def _difference(side, j):
    """Return the share of point j of five in the slope at one of them."""
    if side == 2:
        return (1.0, -8.0, 0.0, 8.0, -1.0)[j] / 12.0
    first = (-25.0, 48.0, -36.0, 16.0, -3.0)
    return first[j] / 12.0 if side == 0 else -first[4 - j] / 12.0


@kernel(forceinline=False)
def accelerations(R, out):
    """Write v̇ and ẋ, with the inputs as they are now; return a status."""
    X_ = vector(R, X)
    I, F = model_of_record(R)
    q, w = split(R)
    inputs = X_[INPUTS : places_in_state(R)[0]]
    nv = index(I[at.N_V])
    status = show_plan(R, SHOW_RATES, PLAN_RATES, DATA_RATES, vector(R, Z_RATES), X_[TIME], q, w, inputs, out[:nv])
    if I[at.N_X] > 0:
        W_ = vector(R, W_SHOWN)
        state_rates(I, F, q, w, W_[index(I[at.N_WORK]) :], out[nv:])
        if I[at.N_STICKING] > 0:
            contact_rates(I, F, W_[index(I[at.N_WORK]) :], W_, out[nv:])
    return status
