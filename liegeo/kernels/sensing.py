"""What sensors measure of a state, and what they make of it: the tasks of observe.py that find it, and samples.

With the rotation R of the frame of a sensor, the acceleration a of its origin, gravity g, and of frames a and b their
rotation R_a, position p_a, angular velocity ω_a and velocity v_a, all in the axes of the world,

    accelerometer (specific force)                    Rᵀ (a − g)                                                (1)
    inclinometer (direction of gravity)               Rᵀ g/|g|,   0 without gravity                             (2)
    distance of b from a, and its rate                d = |p_b − p_a|,   (p_b − p_a)·(v_b − v_a)/d               (3)
    motion of b seen from a, in the axes of a         R_aᵀ (p_b − p_a),   log (R_aᵀ R_b),
                                                      R_aᵀ (v_b − v_a − ω_a × (p_b − p_a)),   R_aᵀ (ω_b − ω_a)   (4)
    wrench (m, f) of a joint at C, moved to F         f_F = R_Fᵀ f,   m_F = R_Fᵀ (m − (p_F − p_C) × f)           (5)
    strain of a fibre between two nodes               ε = Σ s_k η_k;  s_k in liegeo/model/sensors.py (1)         (6)

(1) to (5) are rigid-body kinematics and statics in the form of [SY16]; accelerations of frames that bend come from
observe.py (1), (2).

**Samples.**  A sensor with a period T samples at t_k = t₀ + k T.  A sample goes through the chain

    value → + σ n_k → kept within ±range → to the nearest multiple of the resolution,                           (7)

and is seen from t_k + delay until the next one is.  n_k is a normal number that depends on seed, stream and k alone,
not on what was evaluated before: Threefry-2x32 with 20 rounds [SM11], a bijection of two words of 32 bits made of
sums, rotations and exclusive or, turns the counter (k mod 2³², k div 2³²) under the key (seed, stream) into two words,
which become a normal number by Box and Muller's formula [BM58],

    n = √(−2 ln u₁) cos 2π u₂,      u_i = (word_i + ½)/2³².                                                     (8)

Words are whole numbers of 64 bits of which the upper half stays zero, so that nothing overflows and plain Python gives
the same words as compiled code.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.kernels.spatial import rotate, rotate_back
from liegeo.lie.so3 import cross, log_entries

# ---- Tasks of a plan (observe.py): kind, where the numbers begin in z, then A, B, C, how many numbers are conditioned,
# and where range and resolution of each of them stand in `data`.
KIND, PLACE, A, B, C, N_CONDITIONED, CONDITIONS = range(7)
FIRST = 16
# Numbers of z as they are (A: from where, B: how many); (1) (A: R, B: a); (2) (A: R); (3) and (4) (A, B: poses, C: how
# far behind them are velocities); (5) (A: wrench, B: pose of C, C: pose of F); (6) (A: η in z, B: how many, C: s in
# data); numbers of z times factors (A: from where, B: how many, C: factors in data)
COPY, SPECIFIC_FORCE, GRAVITY, SEPARATION, RELATIVE, WRENCH, STRAIN, SCALED = (FIRST + k for k in range(8))

_WORD = 0xFFFFFFFF
_TWO_32 = 4294967296.0
# [SM11]: the parity of the key, and by how many bits a word is rotated in each of eight rounds.
_PARITY = 0x1BD11BDA
_ROUNDS = 20


@kernel(forceinline=False)
def sense(plan, r, data, I, u, z):
    """Find the numbers of the sensor with task row r; frames and reactions that it needs stand in z."""
    r = index(r)
    kind, o, a, b, c = plan[r + KIND], index(plan[r + PLACE]), index(plan[r + A]), plan[r + B], plan[r + C]
    if kind == COPY:
        for k in range(b):
            z[o + k] = z[a + k]
    elif kind == SCALED:
        for k in range(b):
            z[o + k] = z[a + k] * data[index(c) + k]
    elif kind == SPECIFIC_FORCE:
        g = at.gravity(I)
        g0, g1, g2 = u[g], u[g + 1], u[g + 2]
        b = index(b)
        z[o], z[o + 1], z[o + 2] = rotate_back(z, a, z[b] - g0, z[b + 1] - g1, z[b + 2] - g2)
    elif kind == GRAVITY:
        g = at.gravity(I)
        g0, g1, g2 = u[g], u[g + 1], u[g + 2]
        size = np.sqrt(g0 * g0 + g1 * g1 + g2 * g2)
        if size.real > 0.0:
            g0, g1, g2 = g0 / size, g1 / size, g2 / size
        z[o], z[o + 1], z[o + 2] = rotate_back(z, a, g0, g1, g2)
    elif kind == SEPARATION:
        _separation(z, o, a, index(b), index(c))
    elif kind == RELATIVE:
        _relative(z, o, a, index(b), index(c))
    elif kind == WRENCH:
        _wrench(z, o, a, index(b), index(c))
    else:
        z[o] = 0.0
        for k in range(b):
            z[o] += data[index(c) + k] * z[a + k]
    for k in range(plan[r + N_CONDITIONED]):
        d = index(plan[r + CONDITIONS]) + 2 * k
        x = z[o + k].real
        kept = conditioned(x, data[d], data[d + 1])
        # a derivative passes through what is rounded, not through what is at the end of the range
        if x > data[d] or x < -data[d]:
            z[o + k] = 0.0 * z[o + k] + kept
        else:
            z[o + k] += kept - x


@kernel
def _separation(z, o, a, b, velocity):
    """(3)."""
    d0, d1, d2 = z[b + 9] - z[a + 9], z[b + 10] - z[a + 10], z[b + 11] - z[a + 11]
    # linear velocities stand behind angular ones
    v, w = b + velocity + 3, a + velocity + 3
    size = np.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
    z[o] = size
    z[o + 1] = 0.0 * size
    if size.real > 0.0:
        z[o + 1] = (d0 * (z[v] - z[w]) + d1 * (z[v + 1] - z[w + 1]) + d2 * (z[v + 2] - z[w + 2])) / size


@kernel
def _relative(z, o, a, b, velocity):
    """(4)."""
    d0, d1, d2 = z[b + 9] - z[a + 9], z[b + 10] - z[a + 10], z[b + 11] - z[a + 11]
    w, v = a + velocity, b + velocity
    c0, c1, c2 = cross(z[w], z[w + 1], z[w + 2], d0, d1, d2)
    z[o], z[o + 1], z[o + 2] = rotate_back(z, a, d0, d1, d2)
    # a column of R_aᵀ R_b is R_aᵀ times the column of R_b
    r00, r10, r20 = rotate_back(z, a, z[b], z[b + 3], z[b + 6])
    r01, r11, r21 = rotate_back(z, a, z[b + 1], z[b + 4], z[b + 7])
    r02, r12, r22 = rotate_back(z, a, z[b + 2], z[b + 5], z[b + 8])
    z[o + 3], z[o + 4], z[o + 5] = log_entries(r00, r01, r02, r10, r11, r12, r20, r21, r22)
    z[o + 6], z[o + 7], z[o + 8] = rotate_back(
        z, a, z[v + 3] - z[w + 3] - c0, z[v + 4] - z[w + 4] - c1, z[v + 5] - z[w + 5] - c2
    )
    z[o + 9], z[o + 10], z[o + 11] = rotate_back(z, a, z[v] - z[w], z[v + 1] - z[w + 1], z[v + 2] - z[w + 2])


@kernel
def _wrench(z, o, wrench, c, f):
    """(5)."""
    m0, m1, m2 = rotate(z, c, z[wrench], z[wrench + 1], z[wrench + 2])
    f0, f1, f2 = rotate(z, c, z[wrench + 3], z[wrench + 4], z[wrench + 5])
    t0, t1, t2 = cross(z[f + 9] - z[c + 9], z[f + 10] - z[c + 10], z[f + 11] - z[c + 11], f0, f1, f2)
    z[o], z[o + 1], z[o + 2] = rotate_back(z, f, m0 - t0, m1 - t1, m2 - t2)
    z[o + 3], z[o + 4], z[o + 5] = rotate_back(z, f, f0, f1, f2)


@kernel
def conditioned(x, limit, resolution):
    """Return a real number kept within ±limit, and to the nearest multiple of the resolution if that is above 0.

    The largest multiple within the range is the last that is shown.
    """
    x = min(max(x, -limit), limit)
    if resolution > 0.0:
        n = _floor(x / resolution + 0.5)
        most = _floor(limit / resolution * (1.0 + 1e-12))
        x = resolution * min(max(n, -most), most)
    return x


@kernel
def _floor(x):
    """The largest whole number up to x, by the function of the system that steps need anyway."""
    return -np.ceil(-x)


# ---- noise


@kernel
def threefry(counter, more, seed, stream):
    """Return two words of 32 bits for a counter of two words under a key of two: Threefry-2x32, 20 rounds [SM11]."""
    third = _PARITY ^ seed ^ stream
    x, y = (counter + seed) & _WORD, (more + stream) & _WORD
    for k in range(_ROUNDS):
        turn = _rotation(k % 8)
        x = (x + y) & _WORD
        y = ((y << turn) & _WORD) | (y >> (32 - turn))
        y ^= x
        if k % 4 == 3:
            n = k // 4 + 1
            # words of the key go round
            x = (x + _key(n % 3, seed, stream, third)) & _WORD
            y = (y + _key((n + 1) % 3, seed, stream, third) + n) & _WORD
    return x, y


@kernel
def _rotation(k):
    if k < 4:
        return (13 if k == 0 else 15) if k < 2 else (26 if k == 2 else 6)
    return (17 if k == 4 else 29) if k < 6 else (16 if k == 6 else 24)


@kernel
def _key(k, first, second, third):
    if k == 0:
        return first
    return second if k == 1 else third


@kernel
def normal(k, seed, stream):
    """Return number k of a stream of normal numbers with mean 0 and variance 1, (8)."""
    # of numbers below zero, as of instants before t₀, the words of their complement
    one, two = threefry(k & _WORD, (k >> 32) & _WORD, seed, stream)
    return np.sqrt(-2.0 * np.log((one + 0.5) / _TWO_32)) * np.cos(2.0 * np.pi * ((two + 0.5) / _TWO_32))


# ---- samples

# What is known of a sensor with samples.  In `settings`: t₀, T, delay, and of each number that it shows σ, range and
# resolution.  In `sensors`: how many numbers it shows, where they begin in the row of all of them, where it begins in
# `settings`, how many samples it remembers, where they begin in the memory, its seed, the stream of its first number.
START, PERIOD, DELAY, NUMBERS = range(4)
WIDTH, COLUMN, SETTINGS, DEPTH, MEMORY, SEED, STREAM = range(7)
SENSOR_SIZE = 7
SIGMA, LIMIT, STEP = range(3)
# By how much of a period times differ that mean the same instant.
_SAME = 1e-9


@kernel
def number_at(t, start, period):
    """Return the number of the last instant t_k that is not behind t, but for round-off."""
    return np.int64(_floor((t - start) / period + _SAME))


@kernel(forceinline=False)
def instant_before(sensors, settings, t, end):
    """Return the first instant of any sensor behind t, but for round-off, or `end`, if that comes before or with it."""
    found = end
    for i in range(sensors.shape[0] // SENSOR_SIZE):
        s = index(sensors[i * SENSOR_SIZE + SETTINGS])
        found = _earlier(t, settings[s + START], settings[s + PERIOD], end, found)
    return found


@kernel(forceinline=False)
def change_before(sensors, settings, t, end):
    """Return the first instant behind t at which a sensor samples, or at which a sample is seen, or `end` before it."""
    found = instant_before(sensors, settings, t, end)
    for i in range(sensors.shape[0] // SENSOR_SIZE):
        s = index(sensors[i * SENSOR_SIZE + SETTINGS])
        found = _earlier(t, settings[s + START] + settings[s + DELAY], settings[s + PERIOD], end, found)
    return found


@kernel
def _earlier(t, start, period, end, found):
    """Return the first instant behind t of those that begin at `start`, if it comes before what was found."""
    instant = start + (number_at(t, start, period) + 1) * period
    return instant if instant < found and instant < end - _SAME * period else found


@kernel(forceinline=False)
def due(sensors, settings, t):
    """Return whether a sensor samples at t, but for round-off."""
    found = False
    for i in range(sensors.shape[0] // SENSOR_SIZE):
        s = index(sensors[i * SENSOR_SIZE + SETTINGS])
        found |= _is_instant(t, settings[s + START], settings[s + PERIOD])
    return found


@kernel
def _is_instant(t, start, period):
    return abs(start + number_at(t, start, period) * period - t) <= 2.0 * _SAME * period


@kernel(forceinline=False)
def sampled(sensors, settings, i, k, row, out, o):
    """Write sample k of sensor i, from the row of what all sensors measure, to out[o …], through (7)."""
    e = i * SENSOR_SIZE
    s, column, o = index(sensors[e + SETTINGS]), index(sensors[e + COLUMN]), index(o)
    for j in range(sensors[e + WIDTH]):
        p = s + NUMBERS + 3 * j
        x = row[column + j]
        if settings[p + SIGMA] > 0.0:
            x += settings[p + SIGMA] * normal(k, sensors[e + SEED], (sensors[e + STREAM] + j) & _WORD)
        out[o + j] = conditioned(x, settings[p + LIMIT], settings[p + STEP])


@kernel(forceinline=False)
def remember(sensors, settings, t, first, row, memory):
    """Put what sensors sample at t into their memories: those that have an instant there, or all where `first` is set.

    Where a motion begins, all of a memory is filled with the first sample, as if nothing had moved before.
    """
    for i in range(sensors.shape[0] // SENSOR_SIZE):
        e = i * SENSOR_SIZE
        s, n, depth = index(sensors[e + SETTINGS]), index(sensors[e + WIDTH]), index(sensors[e + DEPTH])
        k = number_at(t, settings[s + START], settings[s + PERIOD])
        if not (first or _is_instant(t, settings[s + START], settings[s + PERIOD])):
            continue
        place = index(sensors[e + MEMORY]) + n * slot(k, depth)
        sampled(sensors, settings, i, k, row, memory, place)
        if first:
            for j in range(depth):
                other = index(sensors[e + MEMORY]) + n * j
                for d in range(n):
                    memory[other + d] = memory[place + d]


@kernel
def slot(k, depth):
    """Return k modulo the depth of a memory, from 0."""
    return index((k % depth + depth) % depth)


@kernel(forceinline=False)
def seen(sensors, settings, t, memory, out):
    """Write the numbers of all sensors that are seen at t into `out`, from their memories."""
    for i in range(sensors.shape[0] // SENSOR_SIZE):
        e = i * SENSOR_SIZE
        s, n, depth = index(sensors[e + SETTINGS]), index(sensors[e + WIDTH]), index(sensors[e + DEPTH])
        k = number_at(t - settings[s + DELAY], settings[s + START], settings[s + PERIOD])
        place = index(sensors[e + MEMORY]) + n * slot(k, depth)
        for j in range(n):
            out[index(sensors[e + COLUMN]) + j] = memory[place + j]


@kernel(forceinline=False, nogil=True)
def held(sensors, settings, i, began, instants, rows, times, out):
    """Write what sensor i shows at `times` into `out` (a row each), from `rows` of what all measure at `instants`.

    `began` is when the motion began, whose first sample is seen until another one is; instants rise strictly.
    """
    e = i * SENSOR_SIZE
    s, n = index(sensors[e + SETTINGS]), index(sensors[e + WIDTH])
    t0, period, delay = settings[s + START], settings[s + PERIOD], settings[s + DELAY]
    first = number_at(began, t0, period)
    j, last = 0, first - 1
    for m in range(times.shape[0]):
        k = number_at(times[m] - delay, t0, period)
        k = max(k, first)
        if m > 0 and k == last:
            for d in range(n):
                out[m, d] = out[m - 1, d]
            continue
        if k < last:
            j = 0
        t = max(t0 + k * period, began)
        while j < instants.shape[0] - 1 and instants[j] < t - 2.0 * _SAME * period:
            j += 1
        sampled(sensors, settings, i, k, rows[j], out[m], 0)
        last = k
