"""Equilibria: where a model stays at rest, by Newton's method on the group.

With some coordinates held, the others move until no force is left in them: f(q) = ID(q, 0, 0) = 0 in these rows, and

    q ← q ⊕ ε,    (∂f/∂q) ε = −f.                                                                  (1)

∂f/∂q by central differences: it only says where to go, f says where we are, and the kernels of the exact derivatives
would have to be compiled first, which takes longer than all the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo import dynamics
from liegeo.errors import AssemblyError, InputError
from liegeo.model.checks import suggest
from liegeo.model.model import Model, State
from liegeo.model.standin import HasModel, as_model, as_state

Array = NDArray[np.float64]

_MOST, _TOLERANCE = 50, 1e-10
# Of the differences: their error, its square and 1e-16 over it, is far below what Newton's method needs.
_NEAR = 1e-5


def equilibrium(
    model: Model | HasModel, state: State | None = None, hold: Iterable[str] = (), inputs: Any = None
) -> State:
    """The state at rest near the given one, with the named joints (or bodies' modes) held where they are.

    Of trees; what holds them is left out of the balance: their torques come from dynamics.inverse_dynamics.
    """
    state, model = as_state(model, state), as_model(model, "equilibrium")
    if model.rows:
        raise InputError(f"equilibrium: {model!r} has loops, expected a tree.")
    if model.group is None:
        return model.state()
    state = model.state() if state is None else state
    free = np.ones(model.nv, dtype=bool)
    for name in hold:
        if name not in model.group.v:
            raise InputError(
                f"equilibrium: '{name}', which is to be held, has no degrees of freedom."
                f"{suggest(name, list(model.group.v))}"
            )
        free[model.group.v[name]] = False
    q, rest = state.q, np.zeros(model.nv)

    def balance(q: Array) -> Array:
        return dynamics.inverse_dynamics(model, replace(state, q=q, v=rest), inputs=inputs)[free]

    near = _NEAR * np.eye(model.nv)[free]
    for _ in range(_MOST):
        force = balance(q)
        if not np.any(force):
            # nothing pulls, as in a spacecraft at rest, whose slope says nothing about where to go
            return replace(state, q=q, v=rest)
        around = [balance(model.group.retract(q, e)) - balance(model.group.retract(q, -e)) for e in near]
        slope = np.array(around).T / (2.0 * _NEAR)
        step = np.zeros(model.nv)
        try:
            step[free] = -np.linalg.solve(slope, force)
        except np.linalg.LinAlgError:
            break
        q = model.group.retract(q, step)
        if np.abs(step).max(initial=0.0) < _TOLERANCE:
            return replace(state, q=q, v=rest)
    worst = int(np.argmax(np.abs(force)))
    raise AssemblyError(
        f"equilibrium: found none near this state; the largest force that is left is {force[worst]:.3g}.\n"
        "  Begin nearer to it, or hold what can move without a spring or weight against it."
    )
