"""Consistent states of trees with loops.

`assemble` brings a rough guess to the loops (kernels/assembly.py has the method and its equations), `project` a state
that nearly obeys them (kernels/projection.py); `check_closed` refuses one that does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo._memory import address_of
from liegeo.errors import AssemblyError, InputError
from liegeo.kernels import assembly as kernels
from liegeo.kernels import layout as at
from liegeo.kernels import projection
from liegeo.machine import blame
from liegeo.model.body import FlexibleBody
from liegeo.model.failure_words import loop_of_row, message
from liegeo.model.model import Model, State, once_per_model
from liegeo.model.standin import HasModel, as_model, as_state
from liegeo.motion import Drive
from liegeo.status import INPUT_FAILED, LOOPS_OPEN, LOOPS_TOO_LARGE, SPEEDS_DISOBEY

Array = NDArray[np.float64]

# Residuals in metres and radians that are much too far for a state that is said to be consistent.
OPEN = 1e-6


def assemble(
    model: Model | HasModel,
    state: State | None = None,
    *,
    keep: Sequence[str] | Mapping[str, Sequence[int]] = (),
    inputs: Any = None,
) -> State:
    """The state nearest to this one (the zero position, if none is given) that obeys all constraints, and its speeds.

    Joints in `keep`, or the speeds of them given by index, stay where they are and as fast as they are.  `inputs` are
    those of `simulate`: prescribed motions are taken at the state's time.
    """
    state, model = as_state(model, state), as_model(model, "assemble")
    start = model.state() if state is None else state
    if not model.rows:
        return start
    model.check(start, "assemble")
    drive = inputs if isinstance(inputs, Drive) else Drive(model, inputs)
    system = drive.system
    # the locked model lives as long as the call
    _locked, ints, weights = held(model, drive, keep)
    y, lacking = start.y.astype(np.float64), np.zeros(len(model.rows))
    scratch = np.full(kernels.scratch_size(model.ints), np.nan)
    status = kernels.assemble(
        ints, system.floats, system.state_group.layout, float(start.t), y, weights, _work(drive), scratch, lacking
    )
    model.check_custom()
    if status:
        raise assembly_error(model, drive, status, lacking, keep)
    q, v, _ = model.parts(y)
    return replace(start, q=q.copy(), v=v.copy())


def held(model: Model, drive: Drive, keep: Any) -> tuple[Model, NDArray[np.int64], Array]:
    """Return a model in which what is kept is locked, the same drive of it, and the weights of its coordinates."""
    locked = model.lock(speeds=keep) if isinstance(keep, Mapping) else model.lock(*keep)
    ints = drive.system.ints.copy()
    ints[at.S_I] = address_of(locked.ints)
    ints.setflags(write=False)
    return locked, ints, np.where(locked.locked, 0.0, _weights(model))


def assembly_error(model: Model, drive: Drive, status: int, lacking: Array, keep: Any) -> BaseException:
    """Return what a status of kernels.assemble means."""
    if status == INPUT_FAILED:
        return drive.error or InputError(str(model.failure(status)))
    if status not in (LOOPS_OPEN, SPEEDS_DISOBEY, LOOPS_TOO_LARGE):
        return AssemblyError(model.failure(status))
    arguments = model.ints, status, lacking, loop_of_row(model)
    return AssemblyError(message(model, blame.add_unassembled, *arguments, keep=keep))


@once_per_model
def _weights(model: Model) -> Array:
    """Return how far each coordinate goes for its share of a correction: 1 for joints, less for modes."""
    weights = np.ones(model.nv)
    for i in range(len(model.bodies)):
        body = model.body(i)
        if isinstance(body, FlexibleBody) and body.n_modes:
            stiffness = np.diag(np.asarray(body.K)) / np.diag(np.asarray(body.M_e))
            weights[model.modal_slice(i, at.EV)] = 1.0 / np.sqrt(1.0 + kernels.BETA * stiffness)
    return weights


def _work(drive: Drive) -> Array:
    """Return scratch for the kernels of a motion, without multipliers."""
    work = np.full(drive.system.work, np.nan)
    work[drive.model.row_slice(at.LAMBDA)] = 0.0
    return work


def check_closed(model: Model, state: State, inputs: Any) -> None:
    """Whether a state that somebody gave obeys the constraints, nearly."""
    drive = inputs if isinstance(inputs, Drive) else Drive(model, inputs)
    system, work = drive.system, _work(drive)
    status = kernels.residuals(
        system.ints, system.floats, float(state.t), state.y[: model.nq + model.nx], state.w, work
    )
    model.check_custom()
    if status:
        raise drive.error or InputError(str(model.failure(status)))
    residuals, rates = work[model.row_slice(at.PHI)], work[model.row_slice(at.RATE)]
    for values, unit, what in ((residuals, blame.UNIT, "positions"), (rates, blame.PER_SECOND, "speeds")):
        if not np.abs(values).max(initial=0.0) <= OPEN:
            worst = message(model, blame.add_worst, model.ints, values, loop_of_row(model), unit)
            raise InputError(
                f"the {what} of the state do not obey the loops of '{model.tree.name}': {worst}.\n"
                "  Take lg.assemble(model, state, keep=[…]), which gives the nearest state that does."
            )


def project(model: Model, state: State, inputs: Any = None) -> State:
    """Return the state nearest to one that nearly obeys the constraints."""
    drive = inputs if isinstance(inputs, Drive) else Drive(model, inputs)
    y, first, left = _projected(model, np.array([state.t]), state.y[np.newaxis], drive)
    if left[0] > kernels.ASSEMBLED:
        # the gap where it began, as what is left after steps that went astray says nothing
        raise AssemblyError(cannot_be_closed(model, first))
    q, v, _ = model.parts(y[0])
    return replace(state, q=q, v=v)


def cannot_be_closed(model: Model, residuals: Array) -> str:
    """Return that loops with these residuals cannot be closed, in words."""
    return message(model, blame.add_open, model.ints, residuals, loop_of_row(model))


def project_samples(model: Model, t: Array, y: Array, drive: Drive) -> Array:
    """Return the states (State.y) nearest to those in the rows of y that obey the constraints.

    Where there is none, the row is as near as Newton's method came.
    """
    return _projected(model, t, y, drive)[0]


def _projected(model: Model, t: Array, y: Array, drive: Drive) -> tuple[Array, Array, Array]:
    """Return states on the constraints, residuals of the last one as it was, and what is left of those of each."""
    system = drive.system
    out, first, left = np.array(y, dtype=np.float64), np.zeros(len(model.rows)), np.zeros(len(t))
    group = system.state_group
    scratch = np.empty((2, system.group.dim)), np.empty(group.element_shape)
    times = np.ascontiguousarray(t, dtype=np.float64)
    status = projection.project_samples(
        system.ints, system.floats, group.layout, times, out, _work(drive), *scratch, first, left
    )
    model.check_custom()
    if status:
        raise drive.error or AssemblyError(model.failure(status))
    return out, first, left
