"""What is to blame where no step could be made: rows of constraints, stiff forces, or what else is special there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo._memory import address_of
from liegeo.integrate import System
from liegeo.kernels import articulated, inverse, loops, motion
from liegeo.kernels import layout as at
from liegeo.model.forces import JointForce
from liegeo.model.model import Model, Row, State

Array = NDArray[np.float64]


def diagnose(system: System, model: Model, y: Array, start: Array) -> str:
    """Return what is to blame at y, where no step could be made, in words.

    These are constraints that depend on each other at y and not at the start; else the stiffest forces; else the
    constraint that pushes most; else what accelerates most.
    """
    state = model.unpack(y)
    if model.rows:
        names = [f"{row.what} of loop '{row.loop}'" for row in _dependent(model, state.q, start[: model.nq])]
        if names:
            more = f" and {len(names) - 4} more" if len(names) > 4 else ""
            return (
                f"the position is singular, where constraints depend on each other: {', '.join(names[:4])}{more}.\n"
                "  Begin elsewhere, change a length a little, or leave out what repeats another constraint"
            )
    stiffest = _stiffest_forces(system, model, state)
    if stiffest:
        return (
            f"{_the_stiffest(stiffest)}.\n"
            f"  Steps of {1.0 / stiffest[0][1]:.1g} s resolve it; or make it softer, or take a constraint in its place"
        )
    held = _held_by(system, model, state)
    return f"the constraint that pushes most there is '{held}'" if held else _largest_acceleration(system, model, state)


def _accelerations(system: System, state: State, work: Array) -> Array | None:
    """Return v̇, or nothing if there are none; multipliers stay in `work`."""
    rates = np.empty(len(state.w))
    status = system.dynamics.acceleration(system.ints, system.floats, 0.0, state.q, state.w, work, rates)
    return rates if status == 0 and np.isfinite(rates).all() else None


def _largest_acceleration(system: System, model: Model, state: State) -> str:
    """Return which joint or body accelerates most, in words."""
    rates = _accelerations(system, state, _work(system, model))
    if rates is None:
        return ""
    place = int(np.argmax(np.abs(rates[: model.nv])))
    name = next((name for name, part in system.group.v.items() if part.start <= place < part.stop), "")
    return f"the largest acceleration there is that of '{name}', {rates[place]:.3g}"


# Forces that are so many times less stiff than the stiffest are not worth a word; and no more than this many are.
_LESS_STIFF, _MOST_NAMED = 100.0, 2


def _the_stiffest(forces: list[tuple[str, float]]) -> str:
    named = [f"{who} ({rate:.2g} 1/s)" for who, rate in forces[:_MOST_NAMED] if _LESS_STIFF * rate >= forces[0][1]]
    return f"the stiffest {'forces there are' if len(named) > 1 else 'force there is'} {' and '.join(named)}"


def _stiffest_forces(system: System, model: Model, state: State) -> list[tuple[str, float]]:
    """Return forces of joints and elements by name with their rates, the largest first.

    A force with the stiffness K_e and the damping D_e by itself moves the mechanism at the rates √λ(M⁻¹K_e) and
    λ(M⁻¹D_e): times the step, that is what decides whether a step is hard.
    """
    I, F, free = model.ints, model.floats, ~model.locked
    mass = _columns(lambda e, out: inverse.momentum(I, F, state.q, e, model.workspace(), out), model.nv)
    if not np.isfinite(mass).all() or not free.any():
        return []
    mobility = np.linalg.pinv(mass[np.ix_(free, free)])

    def rate(K: Array, D: Array) -> float:
        largest = [float(np.abs(np.linalg.eigvals(mobility @ A[np.ix_(free, free)])).max()) for A in (K, D)]
        return max(np.sqrt(largest[0]), largest[1])

    found: list[tuple[str, float]] = []
    for i, joint in enumerate(model.joints):
        b, f, _ = at.rows(i)
        part = slice(int(I[b + at.JV]), int(I[b + at.JV] + I[b + at.NV]))
        stiffness, damping, friction = (
            F[f + k : f + k + I[b + at.NV]] for k in (at.STIFFNESS, at.DAMPING, at.FRICTION)
        )
        steep = friction / F[f + at.FRICTION_SPEED] if friction.any() else friction
        zero = np.zeros(model.nv)
        for who, k, d in (("spring", stiffness, 0.0), ("damper", 0.0, damping), ("friction", 0.0, steep)):
            if np.any(k) or np.any(d):
                K, D = zero.copy(), zero.copy()
                K[part], D[part] = k, d
                found.append((f"the {who} of joint '{joint}'", rate(np.diag(K), np.diag(D))))
    forces = [force for force in model.tree.forces if not isinstance(force, JointForce)]
    for k, force in enumerate(forces):
        row = int(I[at.ELEMENTS]) + k * at.ELEMENT_SIZE
        kind = int(I[row + at.ELEMENT_KIND])
        if kind in (at.LOAD_WORLD, at.LOAD_BODY):
            continue
        only, without = I.copy(), I.copy()
        only[at.N_ELEMENTS], only[at.ELEMENTS], without[at.N_ELEMENTS] = 1, row, 0
        K, D = (
            _tangent(system, model, state, only, which) - _tangent(system, model, state, without, which)
            for which in (0, 1)
        )
        if np.isfinite(K).all() and np.isfinite(D).all():
            found.append((f"{at.ELEMENT_KINDS.values[kind][0].lower()} '{force.name}'", rate(K, D)))
    return sorted((item for item in found if item[1] > 0.0), key=lambda item: -item[1])


def _held_by(system: System, model: Model, state: State) -> str:
    """Return the name of the constraint whose forces accelerate the mechanism most."""
    if not model.rows:
        return ""
    kernels, W = system.dynamics, _work(system, model)
    rates, r = _accelerations(system, state, W), np.empty((2, len(state.w)))
    if rates is None or kernels.residual is None:
        return ""
    place = model.row_slice(at.LAMBDA)
    whole, pushes = W[place].copy(), {}
    for name in dict.fromkeys(row.loop for row in model.rows):
        for k, mine in enumerate((True, False)):
            W[place] = np.where([row.loop == name for row in model.rows], whole if mine else 0.0, whole)
            kernels.residual(system.ints, system.floats, 0.0, state.q, state.w, rates, W, r[k])
        push = np.empty(model.nv)
        work = _work(system, model)
        if articulated.solve(model.ints, model.floats, state.q, (r[1] - r[0])[: model.nv], 0.0, 0.0, work, push) == 0:
            pushes[name] = float(np.abs(push).max())
    return max(pushes, key=lambda name: pushes[name]) if pushes else ""


def _work(system: System, model: Model) -> Array:
    """Return scratch for the kernels of a system, without multipliers."""
    work = np.full(system.work, np.nan)
    work[model.row_slice(at.LAMBDA)] = 0.0
    return work


def _columns(function: Callable[[Array, Array], Any], n: int) -> Array:
    """Return the matrix of a linear function(x, out)."""
    out = np.empty((n, n))
    for e, row in zip(np.eye(n), out, strict=True):
        function(e, row)
    return out.T


def _tangent(system: System, model: Model, state: State, I: NDArray[np.int64], which: int) -> Array:
    """Return the derivative of the residual with respect to q (which = 0) or v (1), with the whole numbers I."""
    zero, W, found = np.zeros(len(state.w)), _work(system, model), np.empty(len(state.w))
    ints = system.ints.copy()
    ints[at.S_I] = address_of(I)
    ints.setflags(write=False)

    def column(e: Array, out: Array) -> None:
        direction = np.append(e, np.zeros(model.nx))
        dq, dv = (direction, zero) if which == 0 else (zero, direction)
        status = motion.along(ints, system.floats, 0.0, state.q, state.w, zero, dq, dv, zero, W, found)
        out[:] = np.nan if status else found[: model.nv]

    return _columns(column, model.nv)


# A row of which the rows before leave less than this share depends on them, or will in a moment: the square of a sine.
_DEPENDENT = 1e-6


def _dependent(model: Model, q: Array, start: Array) -> list[Row]:
    """Return the rows of constraints that depend on others at q, and do not at `start`."""

    def pivots(q: Array) -> tuple[Array, Array]:
        """What is left of each row when its turn comes in the factorisation of A = J M⁻¹ Jᵀ, and the diagonal of A."""
        W, v, d = model.workspace(), np.zeros(model.nv), np.empty((2, model.nv))
        m = len(model.rows)
        u = model.drive("tau", None, np.zeros(model.nu), 0.0)
        if loops.closing(model.ints, model.floats, q, v, u, 0.0, W, d[0], d[1]) != 0:
            return np.zeros(m), np.ones(m)
        l = int(at.constraint_parts(model.ints)[1])
        L, out = W[l : l + m * m].reshape(m, m), np.zeros(m)
        for r, k in enumerate(W[model.row_slice(at.ORDER)].astype(int)):
            if k >= 0:
                out[k] = L[k, r] ** 2
        return out, (L**2).sum(axis=1)

    then, whole = pivots(start)
    # a row that shrinks to nothing has nothing of its own either
    least = _DEPENDENT * np.where(whole > 0.0, whole, 1.0)
    lost = (pivots(q)[0] <= least) & (then > least)
    return [row for row, gone in zip(model.rows, lost, strict=True) if gone]
