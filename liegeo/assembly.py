"""Consistent states of trees with loops: assembly by Newton's method on the group.

From a rough guess, q ← q ⊕ s dq with the smallest dq that closes the linearised loops, J dq = −φ: all joints count
alike, so that a long chain moves as a whole (in the metric of M its light end would do all the moving), modes the less
the stiffer they are.  The share s of a correction is halved until the residuals shrink.  Coordinates that are kept do
not move at all.  Speeds then follow in one step, being linear: the smallest change in the metric M + βK.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo import dynamics
from liegeo.errors import AssemblyError, DynamicsError, InputError
from liegeo.kernels import layout as at
from liegeo.kernels import loops
from liegeo.model.body import FlexibleBody
from liegeo.model.model import Model, State
from liegeo.model.standin import HasModel, as_model, as_state
from liegeo.motion import Drive

Array = NDArray[np.float64]

# Seconds squared, by which a mode of angular frequency ω counts 1 + βω² times: one of a hertz hardly moves.
_BETA = 1e2
_ITERATIONS, _LONGEST, _HALVINGS = 200, 0.5, 12
# Directions in which the loops move less than this share of the others are none.
_RANK = 1e-9
# Residuals in metres and radians that count as closed, and as much too far for a state that is said to be consistent.
CLOSED, OPEN = 1e-12, 1e-6
# Residuals that an assembled state may have, where round-off leaves more than CLOSED; corrections of one that is near.
_ASSEMBLED, _PROJECTIONS = 1e-9, 10


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
    kept = model.lock(speeds=keep) if isinstance(keep, Mapping) else model.lock(*keep)
    closer, weights = Closer(kept, inputs, _BETA), _weights(kept)
    q, v = np.array(start.q, dtype=np.float64), np.array(start.v, dtype=np.float64)
    lacking = closer.measure(q, v, start.t)
    for _ in range(_ITERATIONS):
        if closer.size(lacking) <= CLOSED:
            break
        try:
            J = dynamics.constraint_jacobian(model, replace(start, q=q, v=np.zeros(model.nv))) * weights
        except DynamicsError:
            J = np.full(1, np.nan)
        if not (np.isfinite(J).all() and np.isfinite(lacking).all()):
            raise AssemblyError(
                f"the loops of '{model.tree.name}' cannot be measured near this state: its numbers are too large."
            )
        step = -weights * np.linalg.lstsq(J, lacking, rcond=_RANK)[0]
        length = float(np.abs(step).max(initial=0.0))
        share = min(1.0, _LONGEST / length) if length else 0.0
        for _ in range(_HALVINGS):
            there = closer.moved(q, share * step)
            left = closer.measure(there, v, start.t)
            if closer.size(left) < closer.size(lacking):
                break
            share *= 0.5
        else:
            break
        q, lacking = there, left
    if closer.size(lacking) > _ASSEMBLED:
        raise AssemblyError(_cannot(model, lacking, keep))
    lacking = closer.measure(q, v, start.t)
    v = v + closer.dv
    closer.measure(q, v, start.t)
    slow = closer.rates
    if np.abs(slow).max(initial=0.0) > 1e-9 * max(1.0, float(np.abs(v).max(initial=0.0))):
        raise AssemblyError(
            f"the speeds of '{model.tree.name}' cannot obey its loops: {_worst(model, slow, '/s')}.\n"
            "  Keep fewer joints, or change what is prescribed."
        )
    return replace(start, q=q, v=v)


def _weights(model: Model) -> Array:
    """How far each coordinate goes for its share of a correction: 1 for joints, less for modes, 0 for what is kept."""
    weights = np.where(model.locked, 0.0, 1.0)
    for i in range(len(model.bodies)):
        body = model.body(i)
        if isinstance(body, FlexibleBody) and body.n_modes:
            stiffness = np.diag(np.asarray(body.K)) / np.diag(np.asarray(body.M_e))
            weights[model.modal_slice(i, at.EV)] = 1.0 / np.sqrt(1.0 + _BETA * stiffness)
    return weights


class Closer:
    """How far states of a model are from its constraints, and the corrections towards them."""

    def __init__(self, model: Model, inputs: Any = None, beta: float = 0.0) -> None:
        self.model, self._beta = model, beta
        self._drive = inputs if isinstance(inputs, Drive) else Drive(model, inputs)
        self._work = model.workspace()
        self.dq, self.dv, self.rates = np.zeros(model.nv), np.zeros(model.nv), np.zeros(len(model.rows))

    def measure(self, q: Array, v: Array, t: float) -> Array:
        """Residuals; `dq`, `dv` become the corrections, `rates` the rates."""
        # constraints know nothing of first-order states
        u = self._drive.vector(float(t), q, np.append(v, np.zeros(self.model.nx)))
        model = self.model
        status = loops.closing(model.ints, model.floats, q, v, u, self._beta, self._work, self.dq, self.dv)
        model.check_custom()
        if status:
            raise AssemblyError(model.failure(status))
        self.rates = self._work[model.row_slice(at.RATE)].copy()
        return self._work[model.row_slice(at.PHI)].copy()

    def moved(self, q: Array, dq: Array) -> Array:
        assert self.model.group is not None
        return self.model.group.retract(q, dq)

    @staticmethod
    def size(residuals: Array) -> float:
        largest = float(np.abs(residuals).max(initial=0.0))
        return largest if np.isfinite(largest) else np.inf


def check_closed(model: Model, state: State, inputs: Any) -> None:
    """Whether a state that somebody gave obeys the constraints, nearly."""
    closer = Closer(model, inputs)
    residuals = closer.measure(state.q, state.v, state.t)
    for values, unit, what in ((residuals, "", "positions"), (closer.rates, "/s", "speeds")):
        if not np.abs(values).max(initial=0.0) <= OPEN:
            raise InputError(
                f"the {what} of the state do not obey the loops of '{model.tree.name}': "
                f"{_worst(model, values, unit)}.\n"
                "  Take lg.assemble(model, state, keep=[…]), which gives the nearest state that does."
            )


def project(model: Model, state: State, inputs: Any = None, *, check: bool = True) -> State:
    """The state nearest to one that nearly obeys the constraints; without `check`, also where none was found."""
    closer = Closer(model, inputs)
    q, v = np.array(state.q, dtype=np.float64), np.array(state.v, dtype=np.float64)
    residuals = first = closer.measure(q, v, state.t)
    for _ in range(_PROJECTIONS):
        if closer.size(residuals) <= CLOSED:
            break
        q = closer.moved(q, closer.dq)
        residuals = closer.measure(q, v, state.t)
    if check and closer.size(residuals) > _ASSEMBLED:
        # the gap where it began, as what is left after steps that went astray says nothing
        raise AssemblyError(
            f"the loops of '{model.tree.name}' cannot be closed near this state: {_worst(model, first, '')}.\n"
            "  Check lengths, frames and what is prescribed, or go there in smaller steps."
        )
    return replace(state, q=q, v=v + closer.dv)


def _worst(model: Model, values: Array, unit: str) -> str:
    """By loop, the row that is furthest from zero, the worst loop first; at most three."""
    found: dict[str, tuple[float, str]] = {}
    for (loop, what), value in zip(model.rows, np.nan_to_num(np.abs(values), nan=np.inf), strict=True):
        if value > found.get(loop, (0.0, ""))[0]:
            found[loop] = float(value), what
    order = sorted(found.items(), key=lambda item: -item[1][0])[:3]
    return "; ".join(f"loop '{loop}' is off by {size:.3g}{_unit(what, unit)} ({what})" for loop, (size, what) in order)


def _unit(what: str, per: str) -> str:
    """Of a row's residual, by its name; of screws, couplings and functions nobody knows."""
    if what.startswith("rotation"):
        return f" rad{per}"
    return f" m{per}" if what.startswith(("translation", "across", "distance", "normal", "slip")) else ""


def _cannot(model: Model, residuals: Array, keep: Any) -> str:
    kept = f" while {', '.join(keep)} stay{'s' if len(keep) == 1 else ''}" if len(keep) else ""
    return (
        f"'{model.tree.name}' cannot be assembled{kept}: {_worst(model, residuals, '')}.\n"
        "  Check lengths and frames, start from a state nearer to the one wanted, or keep fewer joints."
    )
