"""Which outputs depend on which inputs at once, at a communication point: found by trying.

Every input enters accelerations linearly (but for limits of motors), so a change of an input at a general state shows
all that depends on it; states that are special, such as symmetric ones, are left by random moves.

A change that is tiny beside those of other outputs may be round-off, or the acceleration of a heavy body.  It is a
dependency if it is proportional to the input, by the same factor in states that are nearly the same: round-off differs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fmu_export.machine import Machine
from fmu_export.variables import INPUT, OUTPUT, ExportedVariable
from liegeo.assembly import assemble
from liegeo.errors import LiegeoError
from liegeo.kernels import layout as at

# How far random states are from the first: joints, and by state, modes; halvings where that is too far.
_DISTANCE, _MODAL, _HALVINGS = 0.3, (1e-6, 1e-3, 1e-2), 8
# Changes of inputs, and the share of an output and of the largest change that is none.
_CHANGES, _NOTHING = (1e-3, -1e-3, 1e2, -1e2), 1e-11
# The share of the largest change below which nothing is looked for; shares of a change, no powers of two, by which
# round-off does not scale; how far states are that are nearly the same, and how much factors may differ there.
_FAINTEST, _SHARES, _NEARLY, _ALIKE = 1e-15, (1.0, 0.37, -0.59), 1e-5, 1e-3


def dependencies(machine: Machine, variables: Sequence[ExportedVariable]) -> dict[str, list[str]]:
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
        faint = np.zeros(len(before), dtype=bool)
        # small ones pass the limits of motors, large ones stand out from round-off
        for delta in _CHANGES:
            machine.w[j] = kept[j] + delta
            change = np.nan_to_num(np.abs(machine.values() - before))
            found[:, j] |= change > _NOTHING * (np.abs(before) + change.max(initial=0.0))
            faint |= change > _FAINTEST * change.max(initial=0.0)
        machine.w[j] = kept[j]
        if (faint & ~found[:, j]).any():
            found[:, j] |= faint & _proportional(machine, j)
    return found


def _proportional(machine: Machine, j: int) -> NDArray[np.bool_]:
    """Which outputs change in proportion to an input, and alike in a state that is nearly the same."""
    model, t, w = machine.model, machine.t, machine.w
    y = machine.stepper.y.copy()
    here, w_start = y[: model.nq], model.nq + model.nx
    shift = np.random.default_rng(j).uniform(-_NEARLY, _NEARLY, model.nv)
    for body in range(len(model.bodies)):
        shift[model.modal_slice(body, at.EV)] *= _MODAL[0]
    places = [here, here if model.group is None else model.group.retract(here.copy(), shift)]
    found = np.zeros(len(machine.values()), dtype=bool)
    for size in _CHANGES[::2]:
        factors = []
        for q in places:
            before = machine.values_at(t, q, y[w_start:], w)
            for share in _SHARES:
                changed = w.copy()
                changed[j] += share * size
                factors.append((machine.values_at(t, q, y[w_start:], changed) - before) / (share * size))
        largest = np.abs(factors).max(axis=0)
        found |= (largest > 0.0) & (np.ptp(factors, axis=0) <= _ALIKE * largest)
    return found


def _move(machine: Machine, random: np.random.Generator, modal: float) -> None:
    """To another state, on the constraints if there are any; if that cannot be, it stays."""
    model = machine.model
    group = model.group
    if group is None:
        return
    y, w = machine.stepper.y, machine.w.copy()
    shift = random.uniform(-_DISTANCE, _DISTANCE, (2, model.nv))
    # value, rate and acceleration of what is prescribed from outside
    driven = random.uniform(-_DISTANCE, _DISTANCE, machine.motions.shape)
    for body in range(len(model.bodies)):
        # what is a small angle at a joint may tear a stiff body apart
        shift[:, model.modal_slice(body, at.EV)] *= modal
    for _ in range(_HALVINGS):
        moved = w.copy()
        moved[machine.motions] += driven
        machine.follow_inputs(moved)
        there = model.unpack(y, machine.t)
        state = replace(there, q=group.retract(there.q, shift[0]), v=there.v + shift[1])
        try:
            if model.rows:
                state = assemble(model, state, inputs=machine.drive)
        except LiegeoError:
            # not so far, then
            shift *= 0.5
            driven *= 0.5
            continue
        y[:] = state.y
        return
    machine.follow_inputs(w)
