"""A machine that somebody else integrates: its states and their rates (FMI 2.0, model exchange).

The states are z = (q, v, x); coordinates ξ of first-order states (integrate/problems.py (2)), on which nothing depends,
are none.  Inputs are plain values at the present time; of a prescribed motion value, rate and acceleration.

**Quaternions** are four states each, which an integrator in a vector space lets drift from length 1.  The y in X keeps
what the integrator gave, and all is computed of q̂ = q/|q|.  With the angular velocity ω in the body, the rate

    q̇ = |q| ½ q̂ ω = ½ q ω      gives  d|q|/dt = 0  and  d q̂/dt = ½ q̂ ω,                                          (1)

so that the direction of q moves rightly whatever its length.  **Loops** hold in v̇ alone, so that φ and φ̇ drift too.
After an integrator's step `completed` says whether drift,

    | |q| − 1 | > DRIFT,   or a projection (kernels/projection.py) would change y by more than DRIFT max(1, |y|),   (2)

asks for an event, and `event` then makes quaternions rotations and projects.  **Time events** are the breaks of the
drive: up to an event kernels answer for the piece of time before it, after `event` for the one that begins there
(integrate/breaks.py).

**Derivatives** of ż and of outputs along (δz, δu) are differences of fourth order, as in slopes.py.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, kernel
from liegeo.integrate import breaks, stepping
from liegeo.kernels.motion import configuration_rate
from liegeo.machine import showing
from liegeo.machine.record import (
    CHANGED,
    INPUTS,
    N_INPUTS,
    N_OUTPUTS,
    PROJECT,
    QUATERNIONS,
    SAVED,
    SHOWN,
    TIME,
    D,
    X,
    breaks_of,
    control_of,
    model_of_record,
    places_in_state,
    split,
    vector,
    whole,
    y_of,
)
from liegeo.machine.slopes import accelerations
from liegeo.machine.steps import follow, set_coefficients

#: The drift (2) that is left to an integrator.
DRIFT = 1e-6
# Changes by an event that are round-off, as a share of the largest number of a state, or of 1.
_ROUND_OFF = 1e-12
# How far states or inputs are changed for differences: a share of those that change, or of 1.
_CHANGE = 1e-4


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
    status = accelerations(R, out[nq:])
    _put_back(R)
    return status


@kernel(nogil=True, forceinline=False)
def rates(R, out):
    """Write ż at the present time, states and inputs; return 0 or NOT_SHOWN."""
    return showing.failed_to_show(R, _rates(R, out))


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
    changed = why == 0 and _moved(R) > _ROUND_OFF
    if not changed:
        _put_back(R)
    found[0] = 1.0 if changed else 0.0
    found[1] = breaks.piece(breaks_of(R), t)[1]
    return why if why != 0 else showing.turn(R)


@kernel(forceinline=False)
def _shifted(R, directions, e, row):
    """Write ż and the outputs at (z, u) + e (δz, δu) into a row behind the directions and one of CHANGED; a status."""
    X_, C = vector(R, X), vector(R, CHANGED)
    q, w = split(R)
    nq, n, m, n_out = q.shape[0], q.shape[0] + w.shape[0], index(R[N_INPUTS]), index(R[N_OUTPUTS])
    for k in range(nq):
        q[k] += e * directions[k]
    for k in range(w.shape[0]):
        w[k] += e * directions[nq + k]
    for k in range(m):
        X_[INPUTS + k] += e * directions[n + k]
    first = n + m + row * n
    status = _rates(R, directions[first : first + n])
    if status == 0:
        before, _, _, signs, gravity, _, _, _, _ = places_in_state(R)
        out = C[row * n_out : (row + 1) * n_out]
        _straighten(R)
        status = showing.outputs(R, X_[TIME], q, w, X_[INPUTS:before], X_[signs:gravity], out)
    return status


@kernel(nogil=True, forceinline=False)
def along(R, directions):
    """Write the derivatives along (δz, δu), which `directions` begins with; return 0 or NOT_SHOWN.

    Those of ż stand behind them, and those of the outputs in SHOWN.  `directions` has 6n + 2m numbers: n + m of the
    direction, four rows of ż, and room for (z, u).
    """
    X_, C, out = vector(R, X), vector(R, CHANGED), vector(R, SHOWN)
    q, w = split(R)
    n, m, n_out = q.shape[0] + w.shape[0], index(R[N_INPUTS]), index(R[N_OUTPUTS])
    kept = directions[5 * n + m :]
    read_states(R, kept)
    for k in range(m):
        kept[n + k] = X_[INPUTS + k]
    largest, size, status = 0.0, 1.0, 0
    for k in range(n + m):
        largest = max(largest, abs(directions[k]))
        if directions[k] != 0.0:
            size = max(size, abs(kept[k]))
    h = _CHANGE * size / largest if largest > 0.0 else 1.0
    for row in range(4):
        e = h if row < 2 else 2.0 * h
        if status == 0:
            status = _shifted(R, directions, e if row % 2 == 0 else -e, row)
        write_states(R, kept)
        for k in range(m):
            X_[INPUTS + k] = kept[n + k]
    if status != 0:
        return showing.failed_to_show(R, status)
    f = n + m
    for k in range(n):
        a, b, c, d = directions[f + k], directions[f + n + k], directions[f + 2 * n + k], directions[f + 3 * n + k]
        directions[f + k] = (8.0 * (a - b) - (c - d)) / (12.0 * h)
    for i in range(n_out):
        a, b, c, d = C[i], C[n_out + i], C[2 * n_out + i], C[3 * n_out + i]
        out[i] = (8.0 * (a - b) - (c - d)) / (12.0 * h)
    return 0
