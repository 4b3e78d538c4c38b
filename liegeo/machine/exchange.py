"""A machine that somebody else integrates: its states and their rates (FMI 2.0, model exchange).

The states are z = (q, v, x); coordinates ξ of first-order states (integrate/problems.py (2)), on which nothing depends,
are none.  Inputs are plain values at the present time; of a prescribed motion value, rate and acceleration.

**Quaternions** are four states each, which an integrator in a vector space lets drift from length 1.  The y in X keeps
what the integrator gave, and all is computed of q̂ = q/|q|.  With the angular velocity ω in the body, the rate

    q̇ = |q| ½ q̂ ω = ½ q ω      gives  d|q|/dt = 0  and  d q̂/dt = ½ q̂ ω,                                          (1)

so that the direction of q moves rightly whatever its length.  **Loops** hold in v̇ alone, so that φ and φ̇ drift too.
After an integrator's step `completed` says whether drift,

    | |q| − 1 | > DRIFT,   or a projection (kernels/projection.py) would change y by more than DRIFT max(1, |y|),   (2)

asks for an event, and `event` then makes quaternions rotations and projects.  **State events** are those of
kernels/events.py: `indicators` says where they are, and `event` lets them act.  **Time events** are the breaks of the
drive, the samples of controllers, which `event` takes, triggers of the time, and the instants at which sensors sample,
or at which a sample is seen (kernels/sensing.py): up to an event kernels answer for the piece of time before it, after
`event` for the one that begins there (integrate/breaks.py).

**Derivatives** of ż and of outputs along (δz, δu) are exact to round-off, by slopes.py (1), |q| and q̂ included.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, kernel
from liegeo.integrate import breaks, stepping
from liegeo.kernels import events as at_events
from liegeo.kernels import sensing
from liegeo.kernels.motion import configuration_rate
from liegeo.machine import events, showing, slopes
from liegeo.machine.controls import next_sample, sample, state_of_controllers
from liegeo.machine.record import (
    BLOCKS,
    DATA_MEASURED,
    GAINS,
    MEASURE,
    N_INPUTS,
    N_SAMPLED,
    PLACES,
    PLAN_MEASURED,
    PROJECT,
    QUATERNIONS,
    SAVED,
    SENSOR_SETTINGS,
    SENSORS,
    SHOWN,
    TIME,
    W_SHOWN,
    Z_MEASURED,
    D,
    S,
    X,
    breaks_of,
    constants,
    control_of,
    model_of_record,
    split,
    vector,
    whole,
    y_of,
)
from liegeo.machine.steps import follow, set_coefficients

#: The drift (2) that is left to an integrator.
DRIFT = 1e-6
# Changes by an event that are round-off, as a share of the largest number of a state, or of 1.
_ROUND_OFF = 1e-12


@kernel(inline="always")
def _length(y, o):
    return np.sqrt(y[o] * y[o] + y[o + 1] * y[o + 1] + y[o + 2] * y[o + 2] + y[o + 3] * y[o + 3])


@kernel(forceinline=False)
def _straighten(R):
    """Keep y in SAVED, and make its quaternions rotations."""
    y, saved, quaternions = y_of(R), vector(R, SAVED), whole(R, QUATERNIONS)
    for k in range(y.shape[0]):
        saved[k] = y[k]
    for k in range(quaternions.shape[0]):
        o = index(quaternions[k])
        size = _length(y, o)
        for d in range(4):
            y[o + d] /= size


@kernel(forceinline=False)
def _put_back(R):
    """Put back the y that `_straighten` kept."""
    y, saved = y_of(R), vector(R, SAVED)
    for k in range(y.shape[0]):
        y[k] = saved[k]


@kernel(forceinline=False)
def _moved(R):
    """Return by how much y differs from what `_straighten` kept, as a share of its largest number, or of 1."""
    y, saved = y_of(R), vector(R, SAVED)
    most, largest = 0.0, 1.0
    for k in range(y.shape[0]):
        most = max(most, abs(y[k] - saved[k]))
        largest = max(largest, abs(saved[k]))
    return most / largest


@kernel(forceinline=False)
def read_states(R, z):
    """Write z; return 0."""
    q, w = split(R)
    for k in range(q.shape[0]):
        z[k] = q[k]
    for k in range(w.shape[0]):
        z[q.shape[0] + k] = w[k]
    return 0


@kernel(forceinline=False)
def write_states(R, z):
    """Take the states of an integrator; return 0."""
    q, w = split(R)
    for k in range(q.shape[0]):
        q[k] = z[k]
    for k in range(w.shape[0]):
        w[k] = z[q.shape[0] + k]
    return 0


@kernel(forceinline=False)
def _rates(R, out):
    """Write ż; return a status."""
    I, _ = model_of_record(R)
    quaternions, saved = whole(R, QUATERNIONS), vector(R, SAVED)
    q, w = split(R)
    nq = q.shape[0]
    _straighten(R)
    for k in range(out.shape[0]):
        out[k] = 0.0
    configuration_rate(I, q, w, out[:nq])
    for k in range(quaternions.shape[0]):
        o = index(quaternions[k])
        size = _length(saved, o)
        for d in range(4):
            # (1)
            out[o + d] *= size
    status = slopes.accelerations(R, out[nq:])
    _put_back(R)
    return status


@kernel(nogil=True, forceinline=False)
def rates(R, out):
    """Write ż at the present time, states and inputs; return 0 or NOT_SHOWN."""
    return showing.failed_to_show(R, _rates(R, out))


@kernel(nogil=True, forceinline=False)
def indicators(R, out):
    """Write the event indicators (kernels/events.py) at the present time, states and inputs; return as `rates`."""
    B, P, C, t = whole(R, BLOCKS), constants(R, GAINS), state_of_controllers(R), vector(R, X)[TIME]
    set_coefficients(R, t, False)
    _straighten(R)
    plan = whole(R, PLAN_MEASURED), constants(R, DATA_MEASURED)
    work, z = vector(R, W_SHOWN), vector(R, Z_MEASURED)
    status = events.measure(R[MEASURE], B, C, whole(R, S), vector(R, D), *plan, t, y_of(R), work, z)
    _put_back(R)
    for i in range(out.shape[0]):
        out[i] = at_events.indicator(B, P, C, at_events.row_of(B, i))
    return showing.failed_to_show(R, status)


@kernel(nogil=True, forceinline=False)
def show_exchanged(R, computed):
    """Do what `show` does, with quaternions as rotations."""
    _straighten(R)
    why = showing.show(R, computed)
    _put_back(R)
    return why


@kernel(nogil=True, forceinline=False)
def completed(R, found):
    """An integrator's step ended: write to found[0] whether (2) asks for an event; return as `show`."""
    quaternions, y = whole(R, QUATERNIONS), y_of(R)
    found[0] = 0.0
    for k in range(quaternions.shape[0]):
        if not abs(_length(y, index(quaternions[k])) - 1.0) <= DRIFT:
            found[0] = 1.0
    _straighten(R)
    why = showing.turn(R)
    if R[PROJECT] != 0:
        t = vector(R, X)[TIME]
        set_coefficients(R, t, False)
        # what cannot be closed is told by the event
        if follow(R, t) != 0 or not _moved(R) <= DRIFT:
            found[0] = 1.0
    _put_back(R)
    return why


@kernel(nogil=True, forceinline=False)
def event(R, found):
    """Begin what follows an event at the present time; return 0, or as `follow` and `show`.

    found[0] gets whether the states changed, found[1] the time of the next event, infinity if there is none.
    """
    t = vector(R, X)[TIME]
    breaks.limit(breaks_of(R), vector(R, D), t)
    control_of(R)[stepping.TIME] = t
    set_coefficients(R, t, False)
    _straighten(R)
    why = follow(R, t)
    if why == 0 and R[N_SAMPLED] != 0:
        why = max(0, sample(R))
    changed = why == 0 and _moved(R) > _ROUND_OFF
    if why == 0:
        why = showing.sample(R, False)
    if not changed:
        _put_back(R)
    found[0] = 1.0 if changed else 0.0
    found[1] = next_sample(R, _event_after(R, t))
    return why if why != 0 else showing.turn(R)


@kernel
def _event_after(R, t):
    """Return the time of the next event behind t: where the drive jumps, and where what sensors show changes."""
    end = breaks.piece(breaks_of(R), t)[1]
    if R[SENSORS + 1] == 0:
        return end
    return sensing.change_before(whole(R, SENSORS), constants(R, SENSOR_SETTINGS), t, end)


@kernel(forceinline=False)
def next_event(R, found):
    """Write to found[0] when the first time event is behind the time that is there, infinity if there is none.

    Samples of controllers are no such events: a communication step takes them within.
    """
    found[0] = _event_after(R, found[0])
    return 0


@kernel(forceinline=False)
def _length_along(q, direction, o):
    """Return the length of the quaternion at o, as it changes along a direction (slopes.py (1))."""
    square = 0j
    for d in range(4):
        part = q[o + d] + 1j * slopes.EPSILON * direction[o + d]
        square += part * part
    return np.sqrt(square)


@kernel(nogil=True, forceinline=False)
def along(R, directions):
    """Write the derivatives along (δz, δu), which `directions` begins with; return 0 or NOT_SHOWN.

    Those of ż stand behind them, and those of the outputs in SHOWN.  `directions` has 2n + m numbers.
    """
    I, _ = model_of_record(R)
    C, places, quaternions = slopes.numbers(R), whole(R, PLACES), whole(R, QUATERNIONS)
    u, q, w, z, shown, _ = slopes.places(R)
    n, m, nq = z - q, index(R[N_INPUTS]), w - q
    here, _ = split(R)
    out = directions[n + m :]
    status = slopes.begin(R)
    if status != 0:
        return showing.failed_to_show(R, status)
    # q and w stand there one behind the other, as in z
    for k in range(n):
        slopes.change(C, q + k, directions[k])
    for k in range(m):
        slopes.change(C, u + index(places[k]), directions[n + k])
    for k in range(quaternions.shape[0]):
        o = index(quaternions[k])
        size = _length_along(here, directions, o)
        for d in range(4):
            C[q + o + d] /= size
    configuration_rate(I, C[q:w], C[w:z], C[shown : shown + nq])
    for k in range(quaternions.shape[0]):
        o = index(quaternions[k])
        size = _length_along(here, directions, o)
        for d in range(4):
            # (1)
            C[shown + o + d] *= size
    for k in range(nq):
        out[k] = C[shown + k].imag / slopes.EPSILON
    status = slopes.accelerated_along(R, out[nq:n])
    if status == 0:
        status = slopes.shown_along(R, 0.0, vector(R, SHOWN))
        showing.hold_still(R)
    return showing.failed_to_show(R, status)
