"""Steps across singular positions, for methods that choose their steps and remember nothing but the field.

Near a singular position of a mechanism with loops, accelerations are mostly round-off.  In steps across the level
position of ten four-bars the estimated error grew about as 1/h² where h was short, stages being at distances that are
shares of h; this was measured, from three starts, and not derived.
Steps with a stage too near to it fail, shorter steps come nearer, and none leads across, although the motion
is smooth there.  Where such steps end is the time t_s of the singular position.  With the stages of a step at t + c_i h
and g the middle of the widest gap between the c_i, steps from

    t = t_s − g h,      h = h_max, 0.7 h_max, 0.7² h_max, …,                                                       (1)

keep their stages as far from it as a step of the length h can; h_max is the longest step of late.  The method's error
falls as h^q (stepping.py (2)), that of round-off grows: the first h for which their sum is within the tolerance
is taken.  If there is none, the tolerance is below what round-off allows at that position.

How to come to (1) again: two notes are kept of the motion so far, of which the older one was made at least _WINDOW of
the longest steps since then ago, if the motion has lasted so long.  Steps from the last note before (1) lead there, as
they did before.  A note is made where _WINDOW of the longest steps have passed since the one before, and takes the
place of the older one.  Notes are part of what a stepper remembers (`crossing_rows`): a saved state has them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo._jit import index, kernel
from liegeo.integrate.explicit import copy
from liegeo.integrate.stepping import (
    BEFORE,
    ERRORS,
    FAILED,
    FINISHED,
    FULL,
    MADE,
    STATUS,
    STEP,
    STEPS,
    STOP,
    TIME,
)
from liegeo.status import INPUT_FAILED, WANTED

Kernel = Callable[..., Any]
Array = NDArray[np.float64]

# There may be a singular position if steps became shorter than this share of the longest; the lengths that are tried.
_CRAWL, _SHORTER, _LENGTHS = 1e-2, 0.7, 24
# In the longest steps: how far notes are apart.  At most so many steps lead from a note to (1).
_WINDOW, _MOST_AGAIN = 8.0, 4096
#: How many steps wait to be returned while they may still be replaced.
HELD = 4096

# The places of `past`: how many notes there are, the length of the last step, and two notes, the older one first,
_KNOWN, _LAST, _NOTES = 0, 1, 2
# each a time, the step to be tried next there, the error before, and the longest step since; then element and field.
_AT, _NEXT, _ERROR, _LONGEST, _HEAD = 0, 1, 2, 3, 4

# What steps are made for: to go on, to come to (1) again, and to get across.
_ON, _AGAIN, _ACROSS = range(3)


def crossing_rows(dim: int, numbers: int) -> int:
    """Return how many rows of K hold the notes, where an element has so many numbers; scratch has as many."""
    return math.ceil((_NOTES + 2 * (_HEAD + numbers + dim)) / dim) if dim else 0


@kernel
def _put(y, f, numbers, first):
    """Write an element and its field into `numbers` from the place `first` on."""
    for k in range(y.size):
        numbers.flat[first + k] = y.flat[k]
    for k in range(f.shape[0]):
        numbers.flat[first + y.size + k] = f[k]


@kernel
def _take(numbers, first, y, f):
    """Read what `_put` wrote."""
    for k in range(y.size):
        y.flat[k] = numbers.flat[first + k]
    for k in range(f.shape[0]):
        f[k] = numbers.flat[first + y.size + k]


@kernel
def _note(control, y, f, past, number):
    """Make the note of this number, from which nothing has moved yet."""
    o = index(_NOTES + number * (_HEAD + y.size + f.shape[0]))
    past.flat[o + _AT], past.flat[o + _NEXT], past.flat[o + _ERROR] = control[TIME], control[STEP], control[BEFORE]
    past.flat[o + _LONGEST] = 0.0
    _put(y, f, past, o + _HEAD)


@kernel
def remember(control, size, y, f, past):
    """Remember that a step of this size led to y with the field f, if `past` has any rows."""
    if past.shape[0] == 0:
        return
    n = _HEAD + y.size + f.shape[0]
    known, size = index(int(past.flat[_KNOWN])), abs(size)
    past.flat[_LAST] = size
    for k in range(known):
        o = index(_NOTES + k * n)
        past.flat[o + _LONGEST] = max(past.flat[o + _LONGEST], size)
    newest = index(_NOTES + (known - 1) * n)
    if abs(control[TIME] - past.flat[newest + _AT]) >= _WINDOW * past.flat[_NOTES + _LONGEST]:
        if known == 2:
            for k in range(n):
                past.flat[_NOTES + k] = past.flat[newest + k]
        past.flat[_KNOWN] = 2.0
        _note(control, y, f, past, 1)


@kernel
def crawls(past):
    """Return whether steps became so short that they may lead to a singular position."""
    return past.shape[0] > 0 and 0.0 < past.flat[_LAST] <= _CRAWL * past.flat[_NOTES + _LONGEST]


@kernel
def _middle(coefficients):
    """Return g of (1); sums of the rows of `coefficients` are the c_i."""
    stages, widest, middle = coefficients.shape[2], 0.0, 0.5
    for i in range(stages):
        here, gap = 0.0, np.inf
        for k in range(stages):
            here += coefficients[i, 0, k]
        for j in range(stages):
            there = 0.0
            for k in range(stages):
                there += coefficients[j, 0, k]
            if there > here:
                gap = min(gap, there - here)
        if widest < gap < np.inf:
            widest, middle = gap, here + 0.5 * gap
    return middle


@kernel
def _note_before(past, n, forward, t):
    """Return where the last note before the time t stands in `past`, or −1."""
    for k in range(int(past.flat[_KNOWN]) - 1, -1, -1):
        if forward * (t - past.flat[_NOTES + k * n + _AT]) > 0.0:
            return _NOTES + k * n
    return -1


def crossing_steps(steps: Kernel, compiled: bool) -> Kernel:
    """Return a loop with the arguments of stepping.chosen_steps, and with steps across singular positions.

    `steps` is what that makes with `remember`.  The first of the `memory` rows of K is the field, the others are notes;
    as many rows of scratch follow, and those of the method.  Where steps were replaced, the times in T go back: rows
    that are later than one behind them hold no more (`in_force`), and Q is zero where the term is not known.
    """

    def loop(layout, I, F, coefficients, power, memory, control, y, W, K, u, Y, end, scale, most, T, E, G, Q):
        past, size = K[1:memory], y.size + K.shape[1]
        kept, own = K[memory : 2 * memory - 1], K[2 * memory - 1 :]
        copy(K[0], own[0])
        if memory > 1 and past.flat[_KNOWN] == 0.0:
            past.flat[_KNOWN] = 1.0
            _note(control, y, own[0], past, 0)
        made, aim, length = 0, _ON, 0
        # where steps came to an end, and (1); with what goes on there
        singular = stop = step = before = errors = count = why = 0.0
        begin = step_there = before_there = 0.0
        forward, longest, middle = 1.0, 0.0, 0.5
        while True:
            o, most_now, noted = T.shape[0], 1, 0
            if aim == _ON:
                o, most_now, noted = min(made, T.shape[0]), most - made, past.shape[0]
            elif aim == _AGAIN:
                most_now = _MOST_AGAIN
            t, e, g, q, p = T[o:], E[o:], G[o:], Q[o:], past[:noted]
            status = steps(
                layout, I, F, coefficients, power, 1, control, y, W, own, u, Y, end, scale, most_now, t, e, g, q, p
            )
            more, tried = int(control[MADE]), False
            if aim == _ON:
                made += more
                why = control[STATUS]
                if status != FAILED or why in (INPUT_FAILED, WANTED) or not crawls(past):
                    break
                if 0 < T.shape[0] < made + 2:
                    # a way across takes two rows: the next call has them
                    status = FULL
                    break
                singular, stop, step, before = control[TIME], control[STOP], control[STEP], control[BEFORE]
                errors, count = control[ERRORS], control[STEPS]
                forward = 1.0 if stop > singular else -1.0
                longest, middle, length, tried = past.flat[_NOTES + _LONGEST], _middle(coefficients), 0, True
                _put(y, own[0], kept, 0)
            elif aim == _AGAIN and status == FINISHED:
                _put(y, own[0], kept, size)
                begin, step_there, before_there = control[TIME], control[STEP], control[BEFORE]
                control[STEP], control[BEFORE] = forward * longest * _SHORTER**length, 1.0
                control[STOP], control[ERRORS] = stop, errors
                aim = _ACROSS
                continue
            elif aim == _ACROSS and more == 1 and forward * (control[TIME] - singular) > 0.0:
                # notes of what was replaced would be of another motion
                n = _HEAD + size
                if past.flat[_KNOWN] == 2.0 and forward * (past.flat[_NOTES + n + _AT] - begin) > 0.0:
                    past.flat[_KNOWN] = 1.0
                remember(control, control[TIME] - begin, y, own[0], past)
                if T.shape[0] > 0:
                    T[made], T[made + 1] = begin, control[TIME]
                    _take(kept, size, E[made], G[made])
                    copy(y, E[made + 1])
                    copy(own[0], G[made + 1])
                    if Q.shape[0] > 0:
                        # of a step to (1) from the one before nobody knows the term
                        Q[made] = 0.0
                        copy(own[own.shape[0] - 2], Q[made + 1])
                made += 2
                control[STEPS] = count + 2.0
                aim = _ON
                if status == FULL and made < most:
                    continue
                break
            elif aim == _ACROSS and (status != FAILED or (control[STATUS] not in (INPUT_FAILED, WANTED))):
                _take(kept, size, y, own[0])
                control[TIME], control[STEP], control[BEFORE] = begin, step_there, before_there
                length, tried = length + 1, True
            if tried:
                # the next of (1) behind a note, or behind where the last step across began
                found = -1
                while aim == _ON and length < _LENGTHS:
                    found = _note_before(
                        past, _HEAD + size, forward, singular - middle * forward * longest * _SHORTER**length
                    )
                    if found >= 0:
                        control[TIME], control[STEP] = past.flat[found + _AT], past.flat[found + _NEXT]
                        control[BEFORE] = past.flat[found + _ERROR]
                        _take(past, found + _HEAD, y, own[0])
                        break
                    length += 1
                if length < _LENGTHS:
                    control[STOP] = singular - middle * forward * longest * _SHORTER**length
                    aim = _AGAIN
                    continue
            # there is no way across: what asks for more than this loop can give is told at once
            if control[STATUS] not in (INPUT_FAILED, WANTED):
                control[STATUS] = why
            _take(kept, 0, y, own[0])
            control[TIME], control[STOP], control[STEP], control[BEFORE] = singular, stop, step, before
            control[ERRORS], control[STEPS] = errors, count
            status = FAILED
            break
        copy(own[0], K[0])
        control[MADE] = made
        return status

    return kernel(loop, name="integrate.crossing_steps", nogil=True) if compiled else loop


def in_force(t: Array) -> NDArray[np.bool_]:
    """Return which of the times of a loop's steps, behind that where it began, later ones have not replaced."""
    forward = 1.0 if t[-1] >= t[0] else -1.0
    later = np.minimum.accumulate((forward * t)[::-1])[::-1]
    return np.append(True, (forward * t[1:] > forward * t[0]) & (forward * t[1:] < np.append(later[2:], np.inf)))
