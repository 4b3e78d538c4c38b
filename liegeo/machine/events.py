"""Events on the way (kernels/events.py): steps end where one is, and then it acts.

`watched` is a loop of steps around the loop of a method, for models with events only: `simulate` and communication
steps of FMUs call it alike.  `act` lets what is due at one instant happen, one round of it.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, invoke, kernel
from liegeo._memory import floats_at, ints_at
from liegeo.integrate import stepping
from liegeo.integrate.stepping import EVENT, FAILED, FINISHED, FULL
from liegeo.kernels import blocks, events
from liegeo.kernels import layout as at
from liegeo.kernels.constraints import capture
from liegeo.kernels.elements import place_frames
from liegeo.kernels.kinematics import poses, velocities
from liegeo.kernels.motion import drive

# Trial steps for one event, and internal steps in one of them.
_TRIALS, _MOST = 100, 10_000
# What `act` returns less a status: statuses are above −1000, and may be positive.
FAILURE = -1000
# The relative accuracy of the time of an event, as a share of the time and of the step.
_ROUND_OFF, _OF_STEP = 4.0 * float(np.finfo(np.float64).eps), 1e-14


@kernel(forceinline=False)
def measure(address, B, C, S, D, plan, data, t, y, W, z):
    """Write what is measured at a state to where C begins; return 0 or a status."""
    n = index(B[blocks.N_MEASURED])
    if n == 0:
        return 0
    I, F = ints_at(S[at.S_I], S[at.S_NI]), floats_at(S[at.S_F], S[at.S_NF])
    nq = index(I[at.N_Q])
    q, w = y[:nq], y[nq + index(I[at.N_X]) :]
    status = drive(S, D, t, q, w, W)
    if status != 0:
        return status
    o = index(I[at.N_WORK])
    return invoke(address, (plan, data, I, F, t, q, w, W[o : o + index(I[at.N_U])], W, z, C[:n]))


@kernel
def _keep(control, y, K, kept, saved):
    """Keep all that a step changes."""
    n, m = y.shape[0], control.shape[0]
    for k in range(n):
        saved[k] = y[k]
    for k in range(m):
        saved[n + k] = control[k]
    for r in range(index(kept)):
        for d in range(K.shape[1]):
            saved[n + m + r * K.shape[1] + d] = K[r, d]


@kernel
def _put_back(control, y, K, kept, saved):
    """Put back what `_keep` kept."""
    n, m = y.shape[0], control.shape[0]
    for k in range(n):
        y[k] = saved[k]
    for k in range(m):
        control[k] = saved[n + k]
    for r in range(index(kept)):
        for d in range(K.shape[1]):
            K[r, d] = saved[n + m + r * K.shape[1] + d]


@kernel(nogil=True, forceinline=False)
def watched(
    addresses, B, P, C, plan, data, z, W_shown, saved,
    layout, S, D, coefficients, power, kept, control, y, W, K, rows, element, end, scale, most, T, E, G, Q,
):  # fmt: skip
    """Make at most `most` steps; return EVENT behind the one at whose end there is one, else as the loop of the method.

    `addresses` are those of the loop and of what measures; `saved` is scratch for y, control and the memory.  The
    arguments from `layout` on are those of the loop (integrate/stepping.py).
    """
    made = 0
    status = measure(addresses[1], B, C, S, D, plan, data, control[stepping.TIME], y, W_shown, z)
    if status != 0:
        control[stepping.MADE], control[stepping.STATUS] = 0.0, status
        return FAILED
    last_t, last_g, last_q = T.shape[0], G.shape[0], Q.shape[0]
    how = FULL
    while how == FULL and made < most:
        events.begin_step(B, P, C)
        t = control[stepping.TIME]
        _keep(control, y, K, kept, saved)
        how = _steps(
            addresses, layout, S, D, coefficients, power, kept, control, y, W, K, rows, element, end, scale,
            1, T[min(made, last_t) :], E[min(made, last_t) :], G[min(made, last_g) :], Q[min(made, last_q) :],
        )  # fmt: skip
        if how == FAILED:
            break
        status = measure(addresses[1], B, C, S, D, plan, data, control[stepping.TIME], y, W_shown, z)
        h, low = control[stepping.TIME] - t, 0.0
        high = 0.0 if status != 0 else 1.0 if events.happens(B, P, C) else events.dip(B, P, C, h)
        if 0.0 < high < 1.0:
            how = _repeat(
                t + high * h, addresses, layout, S, D, coefficients, power, kept, control, y, W, K, rows, element,
                end, scale, _MOST, T[last_t:], E[last_t:], G[last_g:], Q[last_q:], saved,
            )  # fmt: skip
            if how != FAILED:
                status = measure(addresses[1], B, C, S, D, plan, data, control[stepping.TIME], y, W_shown, z)
                if status == 0 and not events.happens(B, P, C):
                    # it only came near
                    high = 0.0
                    how = _repeat(
                        t + h, addresses, layout, S, D, coefficients, power, kept, control, y, W, K, rows, element,
                        end, scale, 1, T[min(made, last_t) :], E[min(made, last_t) :], G[min(made, last_g) :],
                        Q[min(made, last_q) :], saved,
                    )  # fmt: skip
                    status = measure(addresses[1], B, C, S, D, plan, data, control[stepping.TIME], y, W_shown, z)
        if status == 0 and how != FAILED and high > 0.0:
            weight_low = weight_high = 1.0
            events.keep_bracket(B, P, C, 0.0, h, True, False)
            events.keep_bracket(B, P, C, high, h, False, True)
            slack = max(_ROUND_OFF * (abs(t) + abs(h)) / h, _OF_STEP)
            for trial in range(_TRIALS):
                if high - low <= slack:
                    break
                share = events.root(B, P, C, low, high, weight_low, weight_high)
                if trial % 8 == 7:
                    share = 0.5 * (low + high)
                # a little beyond the root, so that both ends of the bracket come to it
                share += 0.5 * slack if weight_high < 1.0 or trial == 0 else -0.5 * slack
                share = min(max(share, low + 0.5 * slack), high - 0.5 * slack)
                how = _repeat(
                    t + share * h, addresses, layout, S, D, coefficients, power, kept, control, y, W, K, rows, element,
                    end, scale, _MOST, T[last_t:], E[last_t:], G[last_g:], Q[last_q:], saved,
                )  # fmt: skip
                if how != FINISHED:
                    break
                status = measure(addresses[1], B, C, S, D, plan, data, control[stepping.TIME], y, W_shown, z)
                if status != 0:
                    break
                late = events.happens(B, P, C)
                if late:
                    # the other end has stayed twice: Illinois
                    weight_low, weight_high = 0.5 * weight_low if weight_high == 1.0 and trial > 0 else 1.0, 1.0
                    high = share
                else:
                    weight_high, weight_low = 0.5 * weight_high if weight_low == 1.0 and trial > 0 else 1.0, 1.0
                    low = share
                events.keep_bracket(B, P, C, share, h, False, late)
            if status == 0 and how != FAILED:
                how = _repeat(
                    t + high * h, addresses, layout, S, D, coefficients, power, kept, control, y, W, K, rows, element,
                    end, scale, 1, T[min(made, last_t) :], E[min(made, last_t) :], G[min(made, last_g) :],
                    Q[min(made, last_q) :], saved,
                )  # fmt: skip
                if how == FINISHED:
                    made += 1
                    control[stepping.MADE] = made
                    return EVENT
                if how == FULL:
                    status = measure(addresses[1], B, C, S, D, plan, data, control[stepping.TIME], y, W_shown, z)
                    if events.happens(B, P, C):
                        made += 1
                        control[stepping.MADE] = made
                        return EVENT
        if status != 0:
            control[stepping.STATUS] = status
            how = FAILED
        if how == FAILED:
            break
        made += 1
    control[stepping.MADE] = made
    return how


@kernel(forceinline=False)
def _steps(
    addresses, layout, S, D, coefficients, power, kept, control, y, W, K, rows, element, end, scale, most, T, E, G, Q
):
    """Run the loop of the method."""
    arguments = (
        layout, S, D, coefficients, power, kept, control, y, W, K, rows, element, end, scale, np.int64(most), T, E, G, Q
    )  # fmt: skip
    return invoke(addresses[0], arguments)


@kernel(forceinline=False)
def _repeat(
    t, addresses, layout, S, D, coefficients, power, kept, control, y, W, K, rows, element, end, scale, most, T, E, G,
    Q, saved,
):  # fmt: skip
    """Go from where a step began to t; return as the loop."""
    _put_back(control, y, K, kept, saved)
    control[stepping.STOP] = t
    control[stepping.PLANNED] = control[stepping.DONE]
    return _steps(
        addresses,
        layout,
        S,
        D,
        coefficients,
        power,
        kept,
        control,
        y,
        W,
        K,
        rows,
        element,
        end,
        scale,
        most,
        T,
        E,
        G,
        Q,
    )


@kernel(nogil=True, forceinline=False)
def act(
    addresses, B, P, C, plan, data, z, W, S, D, t, Y, layout, corrections, moved, first, before
):  # fmt: skip
    """Let what is due at t happen once; return how many events did, or FAILURE less a status.

    Y is a row with the state, and `addresses` end with that of projection.project_samples, or 0; `first` has two
    numbers more than there are rows of constraints, `before` as many as a state.  D gets what is set.  What follows
    from that is left to the next call.
    """
    y = Y[0]
    status = measure(addresses[1], B, C, S, D, plan, data, t, y, W, z)
    if status != 0:
        return FAILURE - status
    released, meeting = events.find_impacts(B, P, C, y)
    happened = released
    if meeting > 0:
        I = ints_at(S[at.S_I], S[at.S_NI])
        multipliers = index(I[at.ROWS_W]) + at.LAMBDA * I[at.N_ROWS]
        for k in range(y.shape[0]):
            before[k] = y[k]
        for _ in range(B[blocks.N_EVENTS] + 1):
            blocks.hold_set(B, C, D, at.D_U)
            for k in range(y.shape[0]):
                y[k] = before[k]
            status = _project(addresses[2], S, D, t, Y, W, layout, corrections, moved, first)
            if status != 0:
                return FAILURE - status
            if events.pulled(B, C, W, multipliers) == 0:
                break
        happened += events.end_impacts(B, P, C, y)
    if happened == 0:
        for i in range(B[blocks.N_EVENTS]):
            if B[events.row_of(B, i) + events.E_KIND] != events.STOP and events.learn(B, P, C, i):
                _perform(B, P, C, S, D, t, y, W, events.row_of(B, i))
                happened += 1
        if happened > 0:
            blocks.hold_set(B, C, D, at.D_U)
            status = _project(addresses[2], S, D, t, Y, W, layout, corrections, moved, first)
            if status != 0:
                return FAILURE - status
    blocks.hold_set(B, C, D, at.D_U)
    return happened


@kernel(forceinline=False)
def _perform(B, P, C, S, D, t, y, W, e):
    """Set what an event sets."""
    I, F = ints_at(S[at.S_I], S[at.S_NI]), floats_at(S[at.S_F], S[at.S_NF])
    for k in range(B[e + events.E_N_ACTIONS]):
        a = index(B[e + events.E_ACTIONS]) + events.ACTION_SIZE * index(k)
        held, source = index(B[a + events.A_HELD]), index(B[a + events.A_FROM])
        if B[a + events.A_KIND] == events.SET:
            C[held] = P[source]
        elif C[held] == 0.0:
            nq = index(I[at.N_Q])
            q, w = y[:nq], y[nq + index(I[at.N_X]) :]
            if drive(S, D, t, q, w, W) == 0:
                poses(I, F, q, W)
                velocities(I, F, q, w, W)
                place_frames(I, F, q, w, W)
                capture(I, source, W, C[held : held + 8])


@kernel(forceinline=False)
def _project(address, S, D, t, Y, W, layout, corrections, moved, first):
    """Bring a state to its constraints; return a status."""
    if address == 0:
        return 0
    I = ints_at(S[at.S_I], S[at.S_NI])
    m = index(I[at.N_ROWS])
    for k in range(m):
        W[index(I[at.ROWS_W]) + at.LAMBDA * m + k] = 0.0
    # the time and what is left stand behind the residuals
    first[m] = t
    arguments = (S, D, layout, first[m : m + 1], Y, W, corrections, moved, first[:m], first[m + 1 : m + 2])
    return invoke(address, arguments)
