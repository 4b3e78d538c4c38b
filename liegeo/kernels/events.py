"""Events that change a motion: when they happen, what they set, and impacts on rigid stops.

**A trigger** watches a number s that is measured, and acts when s − c changes its sign,

    side = 1 where s ≥ c, −1 elsewhere;    it acts where `side` turns to 1 (rising), to −1 (falling), or both.     (1)

The side is a part of the state: at one instant events follow one another until no side is another than remembered.

**A rigid stop** of a coordinate with limits is in one of four modes, which the state has: free; at rest at its upper
or lower limit, where its hold (kernels/constraints.py (9)) is on; or leaving, where it lies at a limit and goes away.
With the gap g ≥ 0 to the nearer limit, the speed c = −ġ, and the pressure p = ∓λ of the limit (upper: −),

    free, leaving   g < 0 and c > 0: impact, J v⁺ = −e J v, e = 0 and then at rest if c ≤ rest_speed,              (2)
    at rest         p < 0: leaving.                                                                              (3)

All stops that meet at one instant, and those at rest, take part in one momentum balance M (v⁺ − v) = Jᵀμ; one that
would pull, p(μ) < 0, is left out, and it is solved anew.  Bounces that follow each other faster and faster (Zeno) end
by (2) at the latest after ln(c/rest_speed)/ln(1/e) impacts, and what is left of them is shorter than
2 rest_speed/(a (1 − e)), a the acceleration toward the stop.

**Where** in a step an event is: the method repeats the step from its start, h θ long, until the function

    f(θ) = ±(s − c), or g, or p                                                                                    (4)

of the end of that step has changed sign between two θ that differ by no more than round-off of the time, by false
position with Illinois' halving, and the step ends at the later one: the state there is one that the method itself made.
Just behind an impact g(0) = 0 is no event: then g/θ takes the place of g, which is −c h at θ = 0, and of a ballistic
flight is linear in θ.  A gap that closes and opens within one step is looked for where Hermite's cubic through its ends
says that it does.  Another number that passes a value and comes back within one step is not seen.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, kernel
from liegeo.kernels import blocks
from liegeo.kernels.layout_table import Kinds, Table

EVENT_ROW = Table("Event", "B", "B[EVENTS] + i * EVENT_SIZE")
E_KIND = EVENT_ROW.add("E_KIND", 1, "its kind (EVENT_KINDS)")
E_SIGNAL = EVENT_ROW.add("E_SIGNAL", 1, "where in C the number stands that it watches; of a stop, its coordinate")
E_SPEED = EVENT_ROW.add("E_SPEED", 1, "of a stop: where in C its speed stands")
E_FORCE = EVENT_ROW.add("E_FORCE", 1, "of a stop: where in C its multiplier stands")
E_P = EVENT_ROW.add("E_P", 1, "where its numbers stand in P: value; of a stop lower, upper, restitution, rest speed")
E_STATE = EVENT_ROW.add("E_STATE", 1, "where its state begins in C (EVENT_STATE)")
E_DIRECTION = EVENT_ROW.add("E_DIRECTION", 1, "1 rising, -1 falling, 0 both")
E_ONCE = EVENT_ROW.add("E_ONCE", 1, "1 if only the first time counts")
E_ACTIONS = EVENT_ROW.add("E_ACTIONS", 1, "where its actions begin in B")
E_N_ACTIONS = EVENT_ROW.add("E_N_ACTIONS", 1, "how many it has")
E_SWITCH = EVENT_ROW.add("E_SWITCH", 1, "of a stop: where its switch stands in C")
E_Q = EVENT_ROW.add("E_Q", 1, "of a stop: where its coordinate stands in y")
E_V = EVENT_ROW.add("E_V", 1, "of a stop: where its speed stands in y")
E_ROW = EVENT_ROW.add("E_ROW", 1, "of a stop: its row of the constraints")
EVENT_SIZE = EVENT_ROW.end

EVENT_KINDS = Kinds("Events", "B[e + E_KIND]")
TRIGGER = EVENT_KINDS.add("TRIGGER", "(1)")
AT_TIME = EVENT_KINDS.add("AT_TIME", "(1), of the time: steps end there")
STOP = EVENT_KINDS.add("STOP", "(2), (3)")

EVENT_STATE = Table("State of an event", "C", "B[e + E_STATE]")
SIDE = EVENT_STATE.add("SIDE", 1, "side of (1), 0 before the first measurement; of a stop its mode")
COUNT = EVENT_STATE.add("COUNT", 1, "how often it happened")
START = EVENT_STATE.add("START", 1, "f of (4) where a step begins; of an impact, the limit that it is on")
LOW = EVENT_STATE.add("LOW", 1, "f at the earlier θ")
HIGH = EVENT_STATE.add("HIGH", 1, "f at the later θ")
SLOPE = EVENT_STATE.add("SLOPE", 1, "of a stop that has just been left: how fast its gap grows; else 0")
RATE = EVENT_STATE.add("RATE", 1, "of a stop: how fast its gap grows where a step begins")
STATE_SIZE = EVENT_STATE.end

ACTION_ROW = Table("Action", "B", "B[e + E_ACTIONS] + i * ACTION_SIZE")
A_KIND = ACTION_ROW.add("A_KIND", 1, "0: set a number; 1: a weld engages")
A_HELD = ACTION_ROW.add("A_HELD", 1, "where in C what is set begins")
A_FROM = ACTION_ROW.add("A_FROM", 1, "where its value stands in P; of a weld, its row in I")
ACTION_SIZE = ACTION_ROW.end
SET, CAPTURE = 0, 1

# Modes of stops: those at rest are the sides of their limits.
FREE, AT_UPPER, AT_LOWER, LEAVING = 0.0, 1.0, -1.0, 2.0
# A gap that is none, as a share of the limit, or of 1; and a pull that is round-off, as a share of the largest impulse.
_NO_GAP, _NO_PULL = 1e-11, 1e-10
# The margin of event indicators, as a share of the limit, or of 1.
_MARGIN = 1e-9

# All of them, by name.
TABLES = {name: value for name, value in list(globals().items()) if isinstance(value, Table)}
KINDS = {name: value for name, value in list(globals().items()) if isinstance(value, Kinds)}


@kernel(inline="always")
def row_of(B, i):
    return index(B[blocks.EVENTS]) + EVENT_SIZE * index(i)


@kernel
def next_time(B, P, C, t, end):
    """Return the first time behind t at which a trigger of the time acts; `end` if that is not before it."""
    for i in range(B[blocks.N_EVENTS]):
        e = row_of(B, i)
        if B[e + E_KIND] == AT_TIME:
            when = P[index(B[e + E_P])]
            if t < when < end:
                end = when
    return end


@kernel
def limit_of(B, P, C, e):
    """Return the nearer limit of a stop, and its side: 1 upper, −1 lower; of one at rest that at which it rests."""
    p, q, mode = index(B[e + E_P]), C[index(B[e + E_SIGNAL])], C[index(B[e + E_STATE])]
    if mode == AT_UPPER or (mode != AT_LOWER and P[p + 1] - q <= q - P[p]):
        return P[p + 1], 1.0
    return P[p], -1.0


@kernel
def value(B, P, C, e):
    """Return f of (4), which becomes negative, or zero if it rises, where the event is."""
    s, x = C[index(B[e + E_SIGNAL])], index(B[e + E_STATE])
    if B[e + E_KIND] != STOP:
        g = s - P[index(B[e + E_P])]
        return -g if C[x] <= 0.0 else g
    limit, side = limit_of(B, P, C, e)
    if C[x] == AT_UPPER or C[x] == AT_LOWER:
        return -side * C[index(B[e + E_FORCE])]
    return side * (limit - s)


@kernel
def indicator(B, P, C, e):
    """Return f of (4) as an event indicator of FMI, which is positive up to the event; 1 where none is to come.

    A stop that is left begins at a margin above zero, so that meeting it again is a change, however soon.
    """
    f, x = value(B, P, C, e), index(B[e + E_STATE])
    if B[e + E_KIND] == STOP:
        limit, _ = limit_of(B, P, C, e)
        return f + _MARGIN * (1.0 + abs(limit)) if C[x] == FREE or C[x] == LEAVING else f
    if B[e + E_KIND] == AT_TIME or (B[e + E_ONCE] != 0 and C[x + COUNT] > 0.0):
        return 1.0
    return f


@kernel
def has_happened(B, C, e, f):
    """Whether f of (4) says so."""
    if B[e + E_KIND] == STOP:
        return f < 0.0
    x, d = index(B[e + E_STATE]), B[e + E_DIRECTION]
    side = C[x]
    if side == 0.0 or (B[e + E_ONCE] != 0 and C[x + COUNT] > 0.0):
        return False
    if side < 0.0:
        return d >= 0 and f <= 0.0
    return d <= 0 and f < 0.0


@kernel
def begin_step(B, P, C):
    """Keep f where a step begins; learn sides that changed in a direction that is not asked for."""
    for i in range(B[blocks.N_EVENTS]):
        e = row_of(B, i)
        x = index(B[e + E_STATE])
        C[x + SLOPE] = 0.0
        if B[e + E_KIND] != STOP:
            C[x] = 1.0 if C[index(B[e + E_SIGNAL])] >= P[index(B[e + E_P])] else -1.0
            C[x + START] = value(B, P, C, e)
            continue
        f = C[x + START] = value(B, P, C, e)
        limit, side = limit_of(B, P, C, e)
        C[x + RATE] = -side * C[index(B[e + E_SPEED])]
        if (C[x] == FREE or C[x] == LEAVING) and f <= _NO_GAP * (1.0 + abs(limit)):
            C[x + SLOPE] = max(0.0, C[x + RATE])


@kernel
def dip(B, P, C, h):
    """Return where in a step h a stop may be met although its gap is positive at both ends; 0 if none is.

    It is where Hermite's cubic through gaps and their rates has its minimum, if that is negative.
    """
    for i in range(B[blocks.N_EVENTS]):
        e = row_of(B, i)
        x = index(B[e + E_STATE])
        if B[e + E_KIND] != STOP or not (C[x] == FREE or C[x] == LEAVING) or not C[x + RATE] < 0.0:
            continue
        _, side = limit_of(B, P, C, e)
        f, r, g, s = C[x + START], h * C[x + RATE], value(B, P, C, e), -h * side * C[index(B[e + E_SPEED])]
        if not s > 0.0:
            continue
        # of the slope r + b θ + a θ², negative at 0 and positive at 1
        c2, c3 = 3.0 * (g - f) - 2.0 * r - s, 2.0 * (f - g) + r + s
        a, b = 3.0 * c3, 2.0 * c2
        share = -2.0 * r / (b + np.sqrt(max(0.0, b * b - 4.0 * a * r)))
        if 0.0 < share < 1.0 and f + share * (r + share * (c2 + share * c3)) < 0.0:
            return share
    return 0.0


@kernel
def happens(B, P, C):
    """Whether any event is between where a step began and what is measured now."""
    for i in range(B[blocks.N_EVENTS]):
        e = row_of(B, i)
        if has_happened(B, C, e, value(B, P, C, e)):
            return True
    return False


@kernel
def keep_bracket(B, P, C, share, h, first, late):
    """Keep f, or f/θ, as LOW or, if `late`, as HIGH, at θ = `share`; at `first` those where the step begins."""
    for i in range(B[blocks.N_EVENTS]):
        e = row_of(B, i)
        x = index(B[e + E_STATE])
        slope = C[x + SLOPE] * h
        if first:
            C[x + LOW] = slope if slope > 0.0 else C[x + START]
            continue
        f = value(B, P, C, e)
        C[x + (HIGH if late else LOW)] = f / share if slope > 0.0 else f


@kernel
def root(B, P, C, low, high, weight_low, weight_high):
    """Return where false position has the first root of those that are between two θ."""
    found = high
    for i in range(B[blocks.N_EVENTS]):
        e = row_of(B, i)
        x = index(B[e + E_STATE])
        a, b = C[x + LOW] * weight_low, C[x + HIGH] * weight_high
        if has_happened(B, C, e, C[x + HIGH]) and a > b:
            found = min(found, low + (high - low) * max(0.0, a) / (a - b))
    return found


@kernel
def learn(B, P, C, i):
    """(1): learn the side of a trigger; return whether it acts."""
    e = row_of(B, i)
    x = index(B[e + E_STATE])
    side = 1.0 if C[index(B[e + E_SIGNAL])] >= P[index(B[e + E_P])] else -1.0
    before = C[x]
    C[x] = side
    if before == 0.0 or side == before or side * B[e + E_DIRECTION] < 0.0:
        return False
    if B[e + E_ONCE] != 0 and C[x + COUNT] > 0.0:
        return False
    C[x + COUNT] += 1.0
    return True


@kernel(forceinline=False)
def find_impacts(B, P, C, y):
    """(2), (3): let stops be released, or take part in an impact: the switch is then 1 + e, or 1 if it comes to rest.

    Return how many were released, and how many take part in an impact.  SIDE keeps the mode that was before.
    """
    released = meeting = 0
    for i in range(B[blocks.N_EVENTS]):
        e = row_of(B, i)
        if B[e + E_KIND] != STOP:
            continue
        p, x, switch = index(B[e + E_P]), index(B[e + E_STATE]), index(B[e + E_SWITCH])
        f = value(B, P, C, e)
        C[x + START] = 0.0
        if C[x] == AT_UPPER or C[x] == AT_LOWER:
            if f < 0.0:
                _settle(B, P, e, C[x], y)
                C[x], C[switch] = LEAVING, 0.0
                C[x + COUNT] += 1.0
                released += 1
            continue
        limit, side = limit_of(B, P, C, e)
        c = side * C[index(B[e + E_SPEED])]
        if f > _NO_GAP * (1.0 + abs(limit)):
            C[x] = FREE
        elif c > 0.0 or (c == 0.0 and C[x] == FREE):
            C[switch] = 1.0 + P[p + 2] if c > P[p + 3] else 1.0
            C[x + START] = side
            # whoever looks for events coarsely comes from beyond, where nothing may be
            y[index(B[e + E_Q])] = limit
            meeting += 1
    return released, meeting


@kernel(forceinline=False)
def pulled(B, C, W, multipliers):
    """Leave out stops that would pull, whose impulses stand at W[multipliers]; return how many."""
    largest, out = 0.0, 0
    for i in range(B[blocks.N_EVENTS]):
        e = row_of(B, i)
        if B[e + E_KIND] == STOP:
            largest = max(largest, abs(W[index(multipliers) + index(B[e + E_ROW])]))
    for i in range(B[blocks.N_EVENTS]):
        e = row_of(B, i)
        if B[e + E_KIND] != STOP:
            continue
        x, switch = index(B[e + E_STATE]), index(B[e + E_SWITCH])
        side = C[x + START] if C[x + START] != 0.0 else C[x]
        impulse = W[index(multipliers) + index(B[e + E_ROW])]
        if C[switch] != 0.0 and -side * impulse < -_NO_PULL * largest:
            if C[x + START] == 0.0:
                C[x] = LEAVING
                C[x + COUNT] += 1.0
            C[x + START] = C[switch] = 0.0
            out += 1
    return out


@kernel(forceinline=False)
def end_impacts(B, P, C, y):
    """Let stops that met be free again, or rest; their coordinates are at the limits.  Return how many there were."""
    met = 0
    for i in range(B[blocks.N_EVENTS]):
        e = row_of(B, i)
        x, switch = index(B[e + E_STATE]), index(B[e + E_SWITCH])
        if B[e + E_KIND] != STOP or C[x + START] == 0.0:
            continue
        side, rests = C[x + START], C[switch] == 1.0
        speed = y[index(B[e + E_V])]
        _settle(B, P, e, side, y)
        if not rests:
            y[index(B[e + E_V])] = speed
        C[x], C[switch] = (side, 1.0) if rests else (FREE, 0.0)
        C[x + COUNT] += 1.0
        met += 1
    return met


@kernel
def _settle(B, P, e, side, y):
    """Put a coordinate to its limit and let it stand still, both but for round-off so already.

    Otherwise the sign of round-off would decide whether a stop is met again.
    """
    p = index(B[e + E_P])
    y[index(B[e + E_V])] = 0.0
    y[index(B[e + E_Q])] = P[p + 1] if side > 0.0 else P[p]
