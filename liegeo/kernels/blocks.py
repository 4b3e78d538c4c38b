"""Sampled controllers: when they sample, what their blocks compute, and what they hold between samples.

Sample k of a controller with the period T and the offset o is at the time

    t_k = o + k T,      k whole,                                                                                (1)

and what it computes there is in force from t_k + δ on, δ its delay, up to where the next result is.  Times are counted
in k, so that round-off does not add up; times that differ by less than T/10⁹ are the same.  At one time all quantities
are measured first, with the outputs that were held before; then each controller, in the order of the list, puts into
force what is due, and samples if it is to.

With the sampling period T, blocks compute, from inputs u (n of them) and memory x,

    sum          y = a + Σ f_i u_i,                     product      y = Π u_i,                                 (2)
    saturation   y = min(max(u, low), high),            quantiser    y = q ⌊u/q + ½⌋,                           (3)
    table        y linear between points, held outside, previous     y = x, then x ← u,                         (4)
    low pass     x ← x + (1 − exp(−T/τ)) (u − x), y = x, exact for an input that is held; x = u at first,       (5)
    state space  y = C x + D u, then x ← A x + B u,                                                             (6)

and a PID controller of setpoint r and measurement m ([AM08, section 10.5], with a filter of the derivative):

    D = (F D⁻ + k_d ((c r − m) − (c r − m)⁻)) / (F + T),                                                        (7)
    v = k_p (b r − m) + I + D,      y = min(max(v, low), high),                                                 (8)
    I ← I + T (k_i (r − m) + (y − v)/T_t),                                                                      (9)

⁻ for the sample before, D = 0 at the first one; the last term of (9), with the tracking time T_t (0: it is left out),
keeps the integral from winding up while y is limited.

A controller may be a C function in place of blocks: that of (t, measured, memory, results).
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import call_address, index, kernel
from liegeo.kernels.layout_table import Kinds, Table

# Times that differ by less than this share of a period are the same; and by round-off of large times.
SAME_SAMPLE, _ROUND_OFF = 1e-9, 4.0 * float(np.finfo(np.float64).eps)

# ---- what stands where.  B: whole numbers, P: numbers, both of the model; C: the state of the controllers.
# These tables are apart from layout.py, because an edit there compiles every kernel anew.

PLAN_HEADER = Table("Controllers", "B", "0")
N_CONTROLLERS = PLAN_HEADER.add("N_CONTROLLERS", 1, "number of controllers")
N_MEASURED = PLAN_HEADER.add("N_MEASURED", 1, "how many numbers are measured: the first of C")
EVENTS = PLAN_HEADER.add("EVENTS", 1, "where the rows of events begin in B (kernels/events.py)")
N_EVENTS = PLAN_HEADER.add("N_EVENTS", 1, "how many there are")
SET_BY_EVENTS = PLAN_HEADER.add("SET_BY_EVENTS", 1, "where what events set begins in B: place in C, and in u")
N_SET = PLAN_HEADER.add("N_SET", 1, "how many there are")
PLAN_END = PLAN_HEADER.end

CONTROLLER_ROW = Table("Controller", "B", "PLAN_END + i * CONTROLLER_SIZE")
TIMING = CONTROLLER_ROW.add("TIMING", 1, "where period, offset and delay stand in P")
COUNTS = CONTROLLER_ROW.add("COUNTS", 1, "where the numbers of the next sample and of the next result stand in C")
HELD = CONTROLLER_ROW.add("HELD", 1, "where the outputs in force begin in C")
QUEUE = CONTROLLER_ROW.add("QUEUE", 1, "where results that are not in force yet begin in C")
N_QUEUE = CONTROLLER_ROW.add("N_QUEUE", 1, "how many of them there may be")
OUTPUTS = CONTROLLER_ROW.add("OUTPUTS", 1, "where its outputs begin in B: each a place in C, and one in u")
N_HELD = CONTROLLER_ROW.add("N_HELD", 1, "number of outputs")
BLOCKS = CONTROLLER_ROW.add("BLOCKS", 1, "where its blocks begin in B")
N_BLOCKS = CONTROLLER_ROW.add("N_BLOCKS", 1, "number of blocks")
CALL = CONTROLLER_ROW.add("CALL", 1, "address of a function in place of blocks, or 0")
MEASURED = CONTROLLER_ROW.add("MEASURED", 1, "where what such a function measures begins in C")
N_OWN = CONTROLLER_ROW.add("N_OWN", 1, "how many numbers that is")
MEMORY = CONTROLLER_ROW.add("MEMORY", 1, "where its memory begins in C")
N_MEMORY = CONTROLLER_ROW.add("N_MEMORY", 1, "length of its memory")
RESULTS = CONTROLLER_ROW.add("RESULTS", 1, "where its results begin in C")
N_RESULTS = CONTROLLER_ROW.add("N_RESULTS", 1, "number of its results")
CONTROLLER_SIZE = CONTROLLER_ROW.end

BLOCK_ROW = Table("Block", "B", "B[c + BLOCKS] + i * BLOCK_SIZE")
BLOCK_KIND = BLOCK_ROW.add("BLOCK_KIND", 1, "its kind (BLOCK_KINDS)")
BLOCK_OUT = BLOCK_ROW.add("BLOCK_OUT", 1, "where its outputs begin in C")
BLOCK_N_OUT = BLOCK_ROW.add("BLOCK_N_OUT", 1, "number of outputs")
BLOCK_IN = BLOCK_ROW.add("BLOCK_IN", 1, "where the places of its inputs in C begin in B")
BLOCK_N_IN = BLOCK_ROW.add("BLOCK_N_IN", 1, "number of inputs")
BLOCK_P = BLOCK_ROW.add("BLOCK_P", 1, "where its numbers begin in P")
BLOCK_X = BLOCK_ROW.add("BLOCK_X", 1, "where its memory begins in C")
BLOCK_N = BLOCK_ROW.add("BLOCK_N", 1, "number of points of a table, or of states")
BLOCK_SIZE = BLOCK_ROW.end

BLOCK_KINDS = Kinds("Blocks", "B[b + BLOCK_KIND]")
SUM = BLOCK_KINDS.add("SUM", "(2): a, then the factors")
PRODUCT = BLOCK_KINDS.add("PRODUCT", "(2)")
SATURATION = BLOCK_KINDS.add("SATURATION", "(3): low, high")
QUANTISER = BLOCK_KINDS.add("QUANTISER", "(3): q")
TABLE = BLOCK_KINDS.add("TABLE", "(4): places, then values")
PREVIOUS = BLOCK_KINDS.add("PREVIOUS", "(4)")
LOW_PASS = BLOCK_KINDS.add("LOW_PASS", "(5): τ; memory: x, and whether it has begun")
STATE_SPACE = BLOCK_KINDS.add("STATE_SPACE", "(6): A, B, C, D row by row; memory: x, and as many numbers of scratch")
PID = BLOCK_KINDS.add(
    "PID", "(7) to (9): k_p, k_i, k_d, F, b, c, low, high, T_t; memory: I, D, (c r − m)⁻, and whether it has begun"
)

# All of them, by name.
TABLES = {name: value for name, value in list(globals().items()) if isinstance(value, Table)}
KINDS = {name: value for name, value in list(globals().items()) if isinstance(value, Kinds)}


@kernel
def _row(i):
    return PLAN_END + CONTROLLER_SIZE * index(i)


@kernel
def _is_due(P, p, when, t):
    """Return whether a time is t or before it, but for round-off."""
    return when <= t + SAME_SAMPLE * P[p] + _ROUND_OFF * abs(t)


@kernel(forceinline=False)
def begin(B, P, C, t):
    """Let the first samples be those at t or, if there is none, the next ones."""
    for i in range(B[0]):
        row = _row(i)
        p, counts = index(B[row + TIMING]), index(B[row + COUNTS])
        k = np.ceil((t - P[p + 1]) / P[p] - SAME_SAMPLE)
        C[counts] = C[counts + 1] = k
    return 0


@kernel(forceinline=False)
def next_time(B, P, C, end):
    """Return when something is to be done next; `end` if that is not before it, but for round-off."""
    first = end
    for i in range(B[0]):
        row = _row(i)
        p, counts = index(B[row + TIMING]), index(B[row + COUNTS])
        when = P[p + 1] + C[counts] * P[p]
        if C[counts + 1] < C[counts]:
            when = min(when, P[p + 1] + C[counts + 1] * P[p] + P[p + 2])
        if when < first and not _is_due(P, p, end, when):
            first = when
    return first


@kernel(forceinline=False)
def is_due(B, P, C, t):
    """Return whether there is anything to do at t."""
    for i in range(B[0]):
        row = _row(i)
        p, counts = index(B[row + TIMING]), index(B[row + COUNTS])
        if _is_due(P, p, P[p + 1] + C[counts] * P[p], t):
            return True
        if C[counts + 1] < C[counts] and _is_due(P, p, P[p + 1] + C[counts + 1] * P[p] + P[p + 2], t):
            return True
    return False


@kernel(forceinline=False)
def fire(B, P, C, t, D, u):
    """Do what is due at t, of which the first numbers of C are what is measured there.

    Outputs that come into force are written into D, from u on.  Return 0, or 1 + i if controller i failed, or gave a
    result that is not finite.
    """
    for i in range(B[0]):
        row = _row(i)
        p, counts = index(B[row + TIMING]), index(B[row + COUNTS])
        _put_into_force(B, P, C, row, t, D, u)
        when = P[p + 1] + C[counts] * P[p]
        if not _is_due(P, p, when, t):
            continue
        status = 0
        if B[row + CALL] != 0:
            y, x, r = index(B[row + MEASURED]), index(B[row + MEMORY]), index(B[row + RESULTS])
            own, memory, results = (
                C[y : y + B[row + N_OWN]],
                C[x : x + B[row + N_MEMORY]],
                C[r : r + B[row + N_RESULTS]],
            )
            status = call_address(B[row + CALL], when, own, memory, results)
        else:
            _run(B, P, C, row, P[p])
        n, out = index(B[row + N_HELD]), index(B[row + OUTPUTS])
        slot = index(B[row + QUEUE]) + n * index(int(C[counts] % B[row + N_QUEUE]))
        for k in range(n):
            value = C[index(B[out + 2 * k])]
            if not abs(value) < np.inf:
                status = 1
            C[slot + k] = value
        if status != 0:
            return i + 1
        C[counts] += 1.0
        _put_into_force(B, P, C, row, t, D, u)
    return 0


@kernel
def _put_into_force(B, P, C, row, t, D, u):
    """Let the results of a controller that are due take the place of those before."""
    p, counts = index(B[row + TIMING]), index(B[row + COUNTS])
    n, held = index(B[row + N_HELD]), index(B[row + HELD])
    while C[counts + 1] < C[counts] and _is_due(P, p, P[p + 1] + C[counts + 1] * P[p] + P[p + 2], t):
        slot = index(B[row + QUEUE]) + n * index(int(C[counts + 1] % B[row + N_QUEUE]))
        for k in range(n):
            C[held + k] = C[slot + k]
        C[counts + 1] += 1.0
        _hold(B, C, row, D, u)


@kernel
def _hold(B, C, row, D, u):
    held, out = index(B[row + HELD]), index(B[row + OUTPUTS])
    for k in range(B[row + N_HELD]):
        D[index(u) + index(B[out + 2 * k + 1])] = C[held + k]


@kernel(forceinline=False)
def hold(B, C, D, u):
    """Write the outputs in force into D, from u on."""
    for i in range(B[0]):
        _hold(B, C, _row(i), D, u)
    hold_set(B, C, D, u)
    return 0


@kernel(forceinline=False)
def hold_set(B, C, D, u):
    """Write what events have set into D, from u on."""
    pairs = index(B[SET_BY_EVENTS])
    for k in range(B[N_SET]):
        D[index(u) + index(B[pairs + 2 * k + 1])] = C[index(B[pairs + 2 * k])]


@kernel
def _run(B, P, C, row, T):
    """Run the blocks of a controller, and then what they remember of others."""
    first, n = index(B[row + BLOCKS]), B[row + N_BLOCKS]
    for i in range(n):
        _block(B, P, C, first + BLOCK_SIZE * index(i), T)
    for i in range(n):
        b = first + BLOCK_SIZE * index(i)
        if B[b + BLOCK_KIND] == PREVIOUS:
            C[index(B[b + BLOCK_X])] = C[index(B[index(B[b + BLOCK_IN])])]


@kernel(forceinline=False)
def _block(B, P, C, b, T):
    kind, out, p, x = B[b + BLOCK_KIND], index(B[b + BLOCK_OUT]), index(B[b + BLOCK_P]), index(B[b + BLOCK_X])
    inputs, n = index(B[b + BLOCK_IN]), index(B[b + BLOCK_N_IN])
    u = C[index(B[inputs])] if n > 0 else 0.0
    if kind == SUM:
        y = P[p]
        for k in range(n):
            y += P[p + 1 + k] * C[index(B[inputs + k])]
        C[out] = y
    elif kind == PRODUCT:
        y = 1.0
        for k in range(n):
            y *= C[index(B[inputs + k])]
        C[out] = y
    elif kind == SATURATION:
        C[out] = min(max(u, P[p]), P[p + 1])
    elif kind == QUANTISER:
        C[out] = -P[p] * np.ceil(-(u / P[p] + 0.5))
    elif kind == TABLE:
        C[out] = _look_up(P, p, index(B[b + BLOCK_N]), u)
    elif kind == PREVIOUS:
        C[out] = C[x]
    elif kind == LOW_PASS:
        if C[x + 1] == 0.0:
            C[x], C[x + 1] = u, 1.0
        else:
            C[x] += (1.0 - np.exp(-T / P[p])) * (u - C[x])
        C[out] = C[x]
    elif kind == STATE_SPACE:
        _state_space(B, P, C, b)
    elif kind == PID:
        _pid(P, C, p, x, u, C[index(B[inputs + 1])], T, out)


@kernel
def _look_up(P, p, n, u):
    """(4), the table at P[p]: n places, then n values."""
    if u <= P[p]:
        return P[p + n]
    if u >= P[p + n - 1]:
        return P[p + 2 * n - 1]
    low, high = 0, n - 1
    while high - low > 1:
        middle = (low + high) // 2
        if u >= P[p + middle]:
            low = middle
        else:
            high = middle
    share = (u - P[p + low]) / (P[p + low + 1] - P[p + low])
    return P[p + n + low] + share * (P[p + n + low + 1] - P[p + n + low])


@kernel
def _state_space(B, P, C, b):
    """(6)."""
    out, p, x = index(B[b + BLOCK_OUT]), index(B[b + BLOCK_P]), index(B[b + BLOCK_X])
    inputs, m, r, n = (
        index(B[b + BLOCK_IN]),
        index(B[b + BLOCK_N_IN]),
        index(B[b + BLOCK_N_OUT]),
        index(B[b + BLOCK_N]),
    )
    in_b = p + n * n
    in_c = in_b + n * m
    in_d = in_c + r * n
    for i in range(r):
        y = 0.0
        for k in range(n):
            y += P[in_c + n * i + k] * C[x + k]
        for k in range(m):
            y += P[in_d + m * i + k] * C[index(B[inputs + k])]
        C[out + i] = y
    for i in range(n):
        y = 0.0
        for k in range(n):
            y += P[p + n * i + k] * C[x + k]
        for k in range(m):
            y += P[in_b + m * i + k] * C[index(B[inputs + k])]
        C[x + n + i] = y
    for i in range(n):
        C[x + i] = C[x + n + i]


@kernel
def _pid(P, C, p, x, r, m, T, out):
    """(7) to (9)."""
    kp, ki, kd, F, b, c, low, high, tracking = (
        P[p],
        P[p + 1],
        P[p + 2],
        P[p + 3],
        P[p + 4],
        P[p + 5],
        P[p + 6],
        P[p + 7],
        P[p + 8],
    )
    now = c * r - m
    if C[x + 3] == 0.0:
        C[x + 2], C[x + 3] = now, 1.0
    C[x + 1] = (F * C[x + 1] + kd * (now - C[x + 2])) / (F + T)
    C[x + 2] = now
    v = kp * (b * r - m) + C[x] + C[x + 1]
    y = min(max(v, low), high)
    back = (y - v) / tracking if tracking > 0.0 else 0.0
    C[x] += T * (ki * (r - m) + back)
    C[out] = y
