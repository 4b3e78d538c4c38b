"""Dynamics of a model in a state, as functions: checked, with new arrays as results.

Each calls the method of the same name of a `Calculator` (liegeo/calculator.py, which also says what the arguments are)
with the numbers of the state; a model keeps one calculator per thread.  `model` may be a Mechanism, as `lg.load`
returns it.  In a loop over vectors q and v, `calc = model.calculator()` saves making states.

Prescribed motions that `inputs` do not name follow their laws at the time of the state, as they do in `simulate`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo import operators
from liegeo.calculator import Balance as Balance
from liegeo.calculator import Calculator, finite
from liegeo.calculator import ConstraintValues as ConstraintValues
from liegeo.calculator import Derivatives as Derivatives
from liegeo.calculator import FrameMotion as FrameMotion
from liegeo.calculator import Hybrid as Hybrid
from liegeo.errors import DynamicsError, InputError
from liegeo.model.model import Model, Row
from liegeo.model.standin import HasModel, as_model
from liegeo.model.state import State
from liegeo.status import LARGEST

Array = NDArray[Any]


def forward_dynamics(
    model: Model | HasModel, state: State, tau: Any = None, inputs: Any = None, method: str = "articulated"
) -> Array:
    """Return the accelerations v̇ under generalised forces and the inputs of force elements; loops stay closed.

    `method` is "articulated" (articulated bodies, O(N)), "direct" (the same as [JR90] first writes it, in plain NumPy,
    to read and to check: liegeo/operators.py) or "composite" (mass matrix and dense solve, O(N³)).
    """
    calc = _calculator(model, state)
    if method == "articulated":
        return calc.forward_dynamics(state.q, state.v, tau, inputs, t=state.t, x=state.x)
    if method == "direct":
        if calc.model.rows:
            raise InputError('method "direct" knows no loops; use "articulated" or "composite".')
        return finite(operators.forward_dynamics(calc.model, state, tau, inputs), "forward_dynamics")
    if method == "composite":
        return finite(_composite(calc.model, state, tau, inputs), "forward_dynamics")
    raise InputError(f"method is {method!r}, expected one of articulated, direct, composite.")


def _composite(model: Model, state: State, tau: Any, inputs: Any) -> Array:
    """[JR90, section 5]: M v̇ = τ − bias, without the rows and columns of locked speeds; with loops, (1) of loops.py."""
    free = ~model.locked
    M = mass_matrix(model, state)[np.ix_(free, free)]
    rest = (model.speeds("tau", tau) - inverse_dynamics(model, state, inputs=inputs))[free]
    out = np.zeros(model.nv, np.result_type(M, rest))
    try:
        out[free] = np.linalg.solve(M, rest)
        if model.rows:
            J = constraint_jacobian(model, state)[:, free]
            lacking = constraint_values(model, state, inputs, out).acceleration
            held = np.linalg.solve(M, J.T)
            out[free] -= held @ np.linalg.lstsq(J @ held, lacking, rcond=1e-11)[0]
    except np.linalg.LinAlgError:
        raise DynamicsError(
            f"the mass matrix of {model!r} is singular: some speed moves no inertia.\n"
            '  Method "articulated" names the joint or body.'
        ) from None
    return out


def inverse_dynamics(model: Model | HasModel, state: State, a: Any = None, inputs: Any = None) -> Array:
    """Return the generalised forces that, beside the inputs, give the accelerations a (zeros give the bias).

    They are those of the tree: what loops would carry is not subtracted.
    """
    return _calculator(model, state).inverse_dynamics(state.q, state.v, a, inputs, t=state.t, x=state.x)


def mass_matrix(model: Model | HasModel, state: State) -> Array:
    """Return M(q), by composite bodies."""
    return _of_position(model, state).mass_matrix(state.q)


def mass_matrix_inverse(model: Model | HasModel, state: State) -> Array:
    """Return M(q)⁻¹ without M: the innovations factors [JR90, (6.6)], made once and applied to every unit vector.

    Rows and columns of locked speeds are zero.
    """
    return _of_position(model, state).mass_matrix_inverse(state.q)


def solve(model: Model | HasModel, state: State, r: Any, alpha: float = 0.0, beta: float = 0.0) -> Array:
    """Return (M + αD + βK)⁻¹ r in O(N), without forming M: D and K are damping and stiffness of modes and joints.

    α = β = 0 is the inverse of the mass matrix times a vector; implicit integrators need the rest.
    """
    return _of_position(model, state).solve(state.q, r, alpha, beta)


def forward_derivatives(model: Model | HasModel, state: State, tau: Any = None, inputs: Any = None) -> Derivatives:
    """Return the derivatives of the accelerations with respect to q, v and tau (the last is M⁻¹), by complex steps."""
    return _calculator(model, state).forward_derivatives(state.q, state.v, tau, inputs, t=state.t, x=state.x)


def inverse_derivatives(model: Model | HasModel, state: State, a: Any = None, inputs: Any = None) -> Derivatives:
    """Return the derivatives of the generalised forces with respect to q, v and a (the last is M), by complex steps."""
    return _calculator(model, state).inverse_derivatives(state.q, state.v, a, inputs, t=state.t, x=state.x)


def state_rates(model: Model | HasModel, state: State, inputs: Any = None) -> Array:
    """Return the rates ẋ of the first-order states of elements."""
    return _calculator(model, state).state_rates(state.q, state.v, state.x, inputs, t=state.t)


def constraint_values(model: Model | HasModel, state: State, inputs: Any = None, a: Any = None) -> ConstraintValues:
    """Return how far a state, and accelerations a (zeros, if none are given), are from obeying the constraints."""
    return _calculator(model, state).constraint_values(state.q, state.v, inputs, a, t=state.t, x=state.x)


def constraint_jacobian(model: Model | HasModel, state: State) -> Array:
    """Return J, one row per row of the constraints: J v is the rate of the residuals, but for what laws move."""
    return _of_position(model, state).constraint_jacobian(state.q, t=state.t, x=state.x)


def redundant_rows(model: Model | HasModel, state: State) -> tuple[Row, ...]:
    """Return the rows of the constraints that the others hold already, here.

    Which ones of several that say the same is chance.
    """
    return _calculator(model, state).redundant_rows(state.q, state.v, t=state.t, x=state.x)


def joint_forces(model: Model | HasModel, state: State, tau: Any = None, inputs: Any = None) -> dict[str, Array]:
    """Return by joint the wrench that it exerts on its child, at the child's frame and in its axes."""
    return _calculator(model, state).joint_forces(state.q, state.v, tau, inputs, t=state.t, x=state.x)


def loop_forces(model: Model | HasModel, state: State, tau: Any = None, inputs: Any = None) -> dict[str, Array]:
    """Return by loop what it exerts, the smallest where constraints are redundant.

    Of one between frames it is the wrench (moment, force) on its child or `b`, at that frame and in its axes; of others
    one generalised force per row, such as the torque that a Motion takes.
    """
    return _calculator(model, state).loop_forces(state.q, state.v, tau, inputs, t=state.t, x=state.x)


def lock_forces(model: Model | HasModel, state: State, tau: Any = None, inputs: Any = None) -> Array:
    """Return the generalised force that holds each locked speed, beside `tau`; zero where nothing is locked."""
    return _calculator(model, state).lock_forces(state.q, state.v, tau, inputs, t=state.t, x=state.x)


def hybrid_dynamics(
    model: Model | HasModel,
    state: State,
    accelerations: Mapping[str, Any] | None = None,
    tau: Any = None,
    inputs: Any = None,
) -> Hybrid:
    """Return the motion in which some joints have given accelerations, by joint, and all others and all modes are free.

    Locked speeds count as given, with zero.  It takes O(N), flexible bodies included; loops stay closed.
    """
    calc = _calculator(model, state)
    return calc.hybrid_dynamics(state.q, state.v, accelerations, tau, inputs, t=state.t, x=state.x)


def balance(model: Model | HasModel, state: State) -> Balance:
    """Return energy, momentum and centre of mass of the whole model."""
    return _calculator(model, state).balance(state.q, state.v, x=state.x)


def body_poses(model: Model | HasModel, state: State) -> dict[str, Array]:
    """Return by body its pose X_WB, 4×4."""
    return _of_position(model, state).body_poses(state.q)


def body_motions(model: Model | HasModel, state: State, a: Any = None) -> dict[str, FrameMotion]:
    """Return by body pose, twist and its rate with the accelerations a (zeros, if none are given)."""
    return _calculator(model, state).body_motions(state.q, state.v, a)


def frame_motion(model: Model | HasModel, state: State, frame: str, a: Any = None) -> FrameMotion:
    """Return pose, twist and its rate of a body ("boom") or of a frame or node on it ("boom.tip")."""
    return _calculator(model, state).frame_motion(state.q, state.v, frame, a)


def frame_pose(model: Model | HasModel, state: State, frame: str) -> Array:
    """Return X_WF, 4×4, of a body ("boom") or of a frame or node on it ("boom.tip")."""
    return _of_position(model, state).frame_pose(state.q, frame)


def frame_jacobian(model: Model | HasModel, state: State, frame: str) -> Array:
    """Return J, 6 × nv: the twist of the frame relative to the world, at and in itself, is J v."""
    return _of_position(model, state).frame_jacobian(state.q, frame)


def _calculator(given: Model | HasModel, state: State) -> Calculator:
    """Return the calculator of a model in this thread; raise an InputError if the state cannot be one of the model."""
    model = given if given.__class__ is Model else as_model(given, "dynamics")
    if (
        not isinstance(state, State)
        or getattr(state.v, "shape", None) != (model.nv,)
        or getattr(state.x, "shape", None) != (model.nx,)
    ):
        model.check(state)
    kept = model.calculators
    found = kept.found.get(kept.depth)
    if found is None:
        found = kept.found[kept.depth] = Calculator(model)
    return found


def _of_position(given: Model | HasModel, state: State) -> Calculator:
    """Return the calculator for what depends on q alone; speeds that are not finite are refused all the same."""
    calc, v = _calculator(given, state), state.v
    # one comparison for all numbers, false for nan as well
    if calc.model.nx or v.dtype != np.float64 or not v.dot(v) <= LARGEST**2:
        calc.model.check(state)
    return calc
