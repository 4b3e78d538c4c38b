"""What can be seen of a machine: its outputs, and the signs of the quaternions of frames."""

from __future__ import annotations

from liegeo._jit import index, invoke, kernel
from liegeo.integrate import stepping
from liegeo.kernels import layout as at
from liegeo.kernels import observe, sensing
from liegeo.kernels.motion import drive
from liegeo.machine.record import (
    DATA,
    DATA_TURNS,
    DEGREE,
    INPUTS,
    KNOWN,
    MEASURED,
    N_INPUTS,
    NOT_SHOWN,
    ORIGIN,
    PLACES,
    PLAN,
    PLAN_TURNS,
    SENSOR_SETTINGS,
    SENSORS,
    SHOW,
    SHOW_KNOWN,
    SHOW_TURNS,
    SHOWN,
    SLOPE,
    TIME,
    TURNED,
    TURNED_ALONE,
    W_SHOWN,
    Z_TURNS,
    D,
    S,
    X,
    Z,
    constants,
    control_of,
    model_of_record,
    places_in_state,
    samples_of,
    split,
    vector,
    whole,
)


@kernel(forceinline=False)
def point(R, t, q, w, inputs):
    """Write u, with these inputs, to its place in W_SHOWN; return a status."""
    I, _ = model_of_record(R)
    W_, places = vector(R, W_SHOWN), whole(R, PLACES)
    status = drive(whole(R, S), constants(R, D), t, q, w, W_)
    o = index(I[at.N_WORK])
    for k in range(index(R[N_INPUTS])):
        W_[o + index(places[k])] = inputs[k]
    return status


@kernel(forceinline=False)
def show_plan(R, code, plan, data, z, t, q, w, inputs, out):
    """Show what a plan names at a point; return a status."""
    status = point(R, t, q, w, inputs)
    if status != 0:
        return status
    I, F = model_of_record(R)
    W_ = vector(R, W_SHOWN)
    o = index(I[at.N_WORK])
    u = W_[o : o + index(I[at.N_U])]
    return invoke(R[code], (whole(R, plan), constants(R, data), I, F, t, q, w, u, W_, z, out))


@kernel
def known(plan, data, I, F, t, q, v, u, W, z, out):
    """Do what `observe.show` does, by a jump: a library then has its code once."""
    return observe.show(plan, data, I, F, t, q, v, u, W, z, out)


@kernel
def failed_to_show(R, status):
    """Return NOT_SHOWN with a status in `control`, or 0."""
    if status == 0:
        return 0
    control_of(R)[stepping.STATUS] = status
    return NOT_SHOWN


@kernel(forceinline=False)
def turns(R, t, q, w, inputs, signs):
    """Give the quaternions of frames the signs that continue those in `signs`; return a status."""
    n = index(R[TURNED + 1])
    if n == 0:
        return 0
    z = vector(R, Z_TURNS)
    places = whole(R, TURNED_ALONE)
    for k in range(n):
        z[index(places[k])] = signs[k]
    return show_plan(R, SHOW_TURNS, PLAN_TURNS, DATA_TURNS, z, t, q, w, inputs, signs)


@kernel(forceinline=False)
def turn(R):
    """Let the signs of quaternions follow the motion."""
    X_ = vector(R, X)
    before, _, _, signs, gravity, _, _, _, _ = places_in_state(R)
    q, w = split(R)
    return failed_to_show(R, turns(R, X_[TIME], q, w, X_[INPUTS:before], X_[signs:gravity]))


@kernel(forceinline=False)
def outputs(R, t, q, w, inputs, signs, out):
    """Write all outputs at a point; return a status."""
    z, places = vector(R, Z), whole(R, TURNED)
    for k in range(index(R[TURNED + 1])):
        z[index(places[k])] = signs[k]
    return show_plan(R, SHOW, PLAN, DATA, z, t, q, w, inputs, out)


@kernel(nogil=True, forceinline=False)
def show(R, computed):
    """Write the outputs to SHOWN; return 0 or NOT_SHOWN.

    All, if `computed` is 1; only coordinates, speeds and inputs, if it is 0.
    """
    X_, out = vector(R, X), vector(R, SHOWN)
    before, _, _, signs, gravity, _, _, _, _ = places_in_state(R)
    q, w = split(R)
    inputs = X_[INPUTS:before]
    if computed != 0:
        status = outputs(R, X_[TIME], q, w, inputs, X_[signs:gravity], out)
    else:
        z = vector(R, Z)
        status = show_plan(R, SHOW_KNOWN, KNOWN, DATA, z, X_[TIME], q, w, inputs, out)
    if R[SENSORS + 1] > 0:
        sensing.seen(whole(R, SENSORS), constants(R, SENSOR_SETTINGS), X_[TIME], samples_of(R), out)
    return failed_to_show(R, status)


@kernel(forceinline=False)
def sample(R, first):
    """Let sensors sample that have an instant where the motion is, or all where it begins; return 0 or NOT_SHOWN."""
    if R[SENSORS + 1] == 0:
        return 0
    sensors, settings, t = whole(R, SENSORS), constants(R, SENSOR_SETTINGS), control_of(R)[stepping.TIME]
    if not (first or sensing.due(sensors, settings, t)):
        return 0
    X_, kept, out = vector(R, X), vector(R, SLOPE), vector(R, MEASURED)
    _, _, c, signs, gravity, _, _, _, _ = places_in_state(R)
    q, w = split(R)
    n, since = index(R[N_INPUTS]), t - X_[ORIGIN]
    for k in range(n):
        place = c + DEGREE * k
        kept[k] = X_[place + 2] + since * (X_[place + 1] + since * X_[place])
    status = outputs(R, t, q, w, kept[:n], X_[signs:gravity], out)
    if status == 0:
        sensing.remember(sensors, settings, t, first, out, samples_of(R))
    return failed_to_show(R, status)


@kernel(forceinline=False)
def hold_still(R):
    """Write to SHOWN that outputs that sensors sample have no rates: they are held."""
    sensors, out = whole(R, SENSORS), vector(R, SHOWN)
    for i in range(sensors.shape[0] // sensing.SENSOR_SIZE):
        out[index(sensors[i * sensing.SENSOR_SIZE + sensing.COLUMN])] = 0.0


@kernel(nogil=True, forceinline=False)
def show_between(R, computed):
    """Do what `show` does, within a communication step: where an internal step ended, with inputs as they are there."""
    X_, kept = vector(R, X), vector(R, SLOPE)
    c, n = places_in_state(R)[2], index(R[N_INPUTS])
    t, began = control_of(R)[stepping.TIME], X_[TIME]
    since = t - X_[ORIGIN]
    for k in range(n):
        place = c + DEGREE * k
        kept[k] = X_[INPUTS + k]
        X_[INPUTS + k] = X_[place + 2] + since * (X_[place + 1] + since * X_[place])
    X_[TIME] = t
    why = show(R, computed)
    X_[TIME] = began
    for k in range(n):
        X_[INPUTS + k] = kept[k]
    return why
