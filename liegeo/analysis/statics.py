"""Equilibria: where a model stays at rest, by Newton's method on the group.

With some coordinates held, the others move until no force is left in them: f(q) = ID(q, 0, 0) = 0 in these rows, and

    q ← q ⊕ ε,    (∂f/∂q) ε = −f.                                                                  (1)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from liegeo import dynamics
from liegeo.errors import AssemblyError, InputError
from liegeo.model.checks import suggest
from liegeo.model.model import Model, State

_MOST, _TOLERANCE = 50, 1e-10


def equilibrium(model: Model, state: State | None = None, hold: Iterable[str] = (), inputs: Any = None) -> State:
    """The state at rest near the given one, with the named joints (or bodies' modes) held where they are.

    Of trees; what holds them is left out of the balance: their torques come from dynamics.inverse_dynamics.
    """
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
    for _ in range(_MOST):
        here = State(q, rest, state.t)
        force = dynamics.inverse_dynamics(model, here, inputs=inputs)[free]
        slope = dynamics.inverse_derivatives(model, here, inputs=inputs).q[np.ix_(free, free)]
        step = np.zeros(model.nv)
        try:
            step[free] = -np.linalg.solve(slope, force)
        except np.linalg.LinAlgError:
            break
        q = model.group.retract(q, step)
        if np.abs(step).max(initial=0.0) < _TOLERANCE:
            return State(q, rest, state.t)
    worst = int(np.argmax(np.abs(force)))
    raise AssemblyError(
        f"equilibrium: found none near this state; the largest force that is left is {force[worst]:.3g}.\n"
        "  Begin nearer to it, or hold what can move without a spring or weight against it."
    )
