"""Which outputs depend on which inputs at once, at a communication point: found by trying.

Every input enters accelerations linearly (but for limits of motors), so a change of an input at a general state shows
all that depends on it; states that are special, such as symmetric ones, are left by random moves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fmu_export.machine import Machine
from fmu_export.variables import INPUT, OUTPUT, Variable
from liegeo.assembly import assemble
from liegeo.errors import LiegeoError
from liegeo.kernels import layout as at
from liegeo.model.model import State

# Random states; how far they are from the first; what counts as a change, beside the largest change there is.
_STATES, _DISTANCE, _NOTHING = 3, 0.3, 1e-9


def dependencies(machine: Machine, variables: Sequence[Variable]) -> dict[str, list[str]]:
    """By output: the inputs that it depends on."""
    inputs = [variable.name for variable in variables if variable.role == INPUT]
    outputs = [variable.name for variable in variables if variable.role == OUTPUT]
    saved = machine.snapshot()
    found = np.zeros((len(outputs), len(inputs)), dtype=bool)
    random = np.random.default_rng(8)
    try:
        for trial in range(_STATES + 1):
            machine.restore(saved)
            if trial:
                _move(machine, random)
            try:
                found |= _changes(machine)
            except LiegeoError:
                # far from where it begins a model may have no accelerations
                if not trial:
                    raise
    finally:
        machine.restore(saved)
    return {name: [inputs[j] for j in np.flatnonzero(row)] for name, row in zip(outputs, found, strict=True)}


def _changes(machine: Machine) -> NDArray[np.bool_]:
    """Which outputs change with which inputs in this state."""
    n = len(machine.w)
    before = machine.values().copy()
    change = np.zeros((len(before), n))
    kept = machine.w.copy()
    for j in range(n):
        # small against limits of motors, large against round-off
        for delta in (1e-3, -1e-3):
            machine.w[j] = kept[j] + delta
            difference = np.abs(machine.values() - before)
            change[:, j] = np.maximum(change[:, j], np.nan_to_num(difference))
        machine.w[j] = kept[j]
    scale = np.maximum(np.abs(before), 1.0)
    return change > _NOTHING * 1e-3 * scale[:, np.newaxis]


def _move(machine: Machine, random: np.random.Generator) -> None:
    """To another state, on the constraints if there are any; if that cannot be, it stays."""
    model = machine.model
    group = model.group
    if group is None:
        return
    y, nq, nv = machine.stepper.y, model.nq, model.nv
    shift = random.uniform(-_DISTANCE, _DISTANCE, (2, nv))
    for body in range(len(model.bodies)):
        # modes move little: what is a small angle at a joint would tear a stiff body apart
        shift[:, model.modal_slice(body, at.EV)] *= 1e-6
    state = State(group.retract(y[:nq].copy(), shift[0]), y[nq:] + shift[1], machine.t)
    try:
        if model.rows:
            state = assemble(model, state, inputs=machine.drive)
    except LiegeoError:
        return
    y[:nq], y[nq:] = state.q, state.v
