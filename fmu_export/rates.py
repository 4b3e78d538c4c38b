"""Derivatives of the outputs of a machine: along its inputs, and along its motion.

The outputs are g(t, q, v, u), with accelerations a(t, q, v, u) in it.  At a communication point

    along inputs   d/de g(t, q, v, u + e δ)                                                                      (1)
    along motion   d/de g(t + e, q ⊕ e v, v + e a, u + e u̇)                                                      (2)

at e = 0, by differences of fourth order.  Inputs enter accelerations linearly (but for limits of motors), so that (1)
has no error but round-off; in (2) coordinates and speeds are straight lines of e, whose slopes are exact too, and
other outputs have an error of fourth order in a change that is small beside the motion.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fmu_export.machine import Machine
from liegeo.errors import LiegeoError

Array = NDArray[np.float64]

# Changes of inputs as a share of them, or of 1: small, so that motors do not reach their limits, and large, so that
# round-off is small; the share that the two slopes of an output may differ by, if there is no limit between them; and
# the round-off of an output, as a share of it.
_SMALL, _LARGE, _STRAIGHT, _ROUND_OFF = 1e-5, 1e-2, 1e-6, 1e-12
# How far the fastest coordinate moves in (2), in rad or m.
_OF_MOTION = 1e-3


def slope(f: Callable[[float], Array], size: float) -> Array:
    """df/de at 0 from changes of e up to 2 `size`; where f is not defined on both sides, from one."""
    try:
        f1, b1, f2, b2 = (f(k * size) for k in (1.0, -1.0, 2.0, -2.0))
        return (8.0 * (f1 - b1) - (f2 - b2)) / (12.0 * size)
    except LiegeoError:
        middle = f(0.0)
        for side in (size, -size):
            try:
                return (4.0 * f(side) - f(2.0 * side) - 3.0 * middle) / (2.0 * side)
            except LiegeoError as error:
                last = error
        raise last from None


def along_inputs(machine: Machine, direction: Array) -> Array:
    """(1), for a direction in the inputs."""
    largest = np.abs(direction).max(initial=0.0)
    if not largest:
        return np.zeros(len(machine.values(False)))
    kept = machine.w.copy()
    size = max(1.0, np.abs(kept[direction != 0.0]).max()) / largest

    def outputs(e: float) -> Array:
        machine.w[:] = kept + e * direction
        return machine.values().copy()

    try:
        near, far = slope(outputs, _SMALL * size), slope(outputs, _LARGE * size)
        # an output by itself: others may be larger by many orders
        unsure = _ROUND_OFF * np.abs(outputs(0.0)) / (_SMALL * size)
        return np.where(np.abs(far - near) <= _STRAIGHT * np.abs(near) + unsure, far, near)
    finally:
        machine.w[:] = kept


def along_motion(machine: Machine) -> Array:
    """(2): the rates of the outputs."""
    t, w, nq = machine.t, machine.w.copy(), machine.model.nq
    q, v = machine.stepper.y[:nq].copy(), machine.stepper.y[nq + machine.model.nx :].copy()
    a, w_rate = machine.accelerations(), machine.input_rates()
    group = machine.model.group
    size = _OF_MOTION / (np.abs(v).max(initial=0.0) + 1e-2 / machine.settings.step)

    def outputs(e: float) -> Array:
        moved = q if group is None else group.retract(q.copy(), e * v[: machine.model.nv])
        return machine.values_at(t + e, moved, v + e * a, w + e * w_rate)

    return slope(outputs, size)
