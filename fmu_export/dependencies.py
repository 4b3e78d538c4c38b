"""Which outputs depend on which inputs at once, at a communication point: found by trying.

Every input enters accelerations linearly (but for limits of motors), so a change of an input at a general state shows
all that depends on it; states that are special, such as symmetric ones, are left by random moves.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fmu_export.machine import Machine
from fmu_export.variables import INPUT, OUTPUT, Variable
from liegeo.assembly import assemble
from liegeo.errors import LiegeoError
from liegeo.kernels import layout as at
from liegeo.model.model import State

# How far random states are from the first: joints, and by state, modes; halvings where that is too far.
_DISTANCE, _MODAL, _HALVINGS = 0.3, (1e-6, 1e-3, 1e-2), 8
# Changes of inputs, and the share of an output and of the largest change that is none.
_CHANGES, _NOTHING = (1e-3, -1e-3, 1e2, -1e2), 1e-11


def dependencies(machine: Machine, variables: Sequence[Variable]) -> dict[str, list[str]]:
    """By output: the inputs that it depends on."""
    inputs = [variable.name for variable in variables if variable.role == INPUT]
    outputs = [variable.name for variable in variables if variable.role == OUTPUT]
    saved = machine.snapshot()
    found = np.zeros((len(outputs), len(inputs)), dtype=bool)
    random = np.random.default_rng(8)
    try:
        found |= _changes(machine)
        for modal in _MODAL:
            machine.restore(saved)
            _move(machine, random, modal)
            # far from where it begins a model may have no accelerations
            with contextlib.suppress(LiegeoError):
                found |= _changes(machine)
    finally:
        machine.restore(saved)
    return {name: [inputs[j] for j in np.flatnonzero(row)] for name, row in zip(outputs, found, strict=True)}


def _changes(machine: Machine) -> NDArray[np.bool_]:
    """Which outputs change with which inputs in this state."""
    before = machine.values().copy()
    found = np.zeros((len(before), len(machine.w)), dtype=bool)
    kept = machine.w.copy()
    for j in range(len(machine.w)):
        # small ones pass the limits of motors, large ones stand out from round-off
        for delta in _CHANGES:
            machine.w[j] = kept[j] + delta
            change = np.nan_to_num(np.abs(machine.values() - before))
            found[:, j] |= change > _NOTHING * (np.abs(before) + change.max(initial=0.0))
        machine.w[j] = kept[j]
    return found


def _move(machine: Machine, random: np.random.Generator, modal: float) -> None:
    """To another state, on the constraints if there are any; if that cannot be, it stays."""
    model = machine.model
    group = model.group
    if group is None:
        return
    y, nq = machine.stepper.y, model.nq
    shift = random.uniform(-_DISTANCE, _DISTANCE, (2, model.nv))
    for body in range(len(model.bodies)):
        # what is a small angle at a joint may tear a stiff body apart
        shift[:, model.modal_slice(body, at.EV)] *= modal
    for _ in range(_HALVINGS):
        state = State(group.retract(y[:nq].copy(), shift[0]), y[nq:] + shift[1], machine.t)
        try:
            if model.rows:
                state = assemble(model, state, inputs=machine.drive)
        except LiegeoError:
            # not so far, then
            shift *= 0.5
            continue
        y[:nq], y[nq:] = state.q, state.v
        return
