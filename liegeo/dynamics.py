"""Checked entry points to the recursive dynamics: inputs are checked once, kernels do the rest.

Vectors in the algebra (speeds, accelerations, forces) and inputs may be given in full or by name.  In a loop, the
kernels behind these functions can be called without checks: `kernels.articulated.forward_dynamics(model.ints,
model.floats, q, v, u, workspace, out)`, with `workspace = model.workspace()` and
`u = model.drive("tau", tau, inputs, state.t, state.x)`.

Prescribed motions that `inputs` do not name follow their laws at the time of the state, as they do in `simulate`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from liegeo import operators
from liegeo.errors import DynamicsError, InputError
from liegeo.kernels import articulated, composite, constraints, inverse, kinematics, loops, observe
from liegeo.kernels import layout as at
from liegeo.model.model import Model, Row, State
from liegeo.observer import Source, observer_of
from liegeo.status import NOT_FINITE

Array = NDArray[Any]
P = ParamSpec("P")
T = TypeVar("T")

# The step of a complex-step derivative: so small that its square vanishes beside anything.
_STEP = 1e-40


def _finite(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function of (model, state, …) raise DynamicsError where its answer is not finite."""

    @functools.wraps(function)
    def checked(*args: P.args, **options: P.kwargs) -> T:
        answer = function(*args, **options)
        if not _is_finite(answer):
            raise _not_finite(f"the answer of {function.__name__}")
        return answer

    return checked


def _not_finite(what: str) -> DynamicsError:
    return DynamicsError(
        f"dynamics: {what} is not finite: numbers of the state, of the model or of its inputs are so large\n"
        "  that their products overflow, or there is no solution in this position."
    )


def _is_finite(answer: Any) -> bool:
    if isinstance(answer, np.ndarray):
        return bool(np.isfinite(answer).all())
    if isinstance(answer, dict):
        return all(_is_finite(part) for part in answer.values())
    return all(_is_finite(part) for part in answer) if isinstance(answer, tuple) else bool(np.isfinite(answer))


@_finite
def forward_dynamics(
    model: Model, state: State, tau: Any = None, inputs: Any = None, method: str = "articulated"
) -> Array:
    """Accelerations v̇ under the generalised forces tau and the inputs of the force elements; loops stay closed.

    `method` is "articulated" (articulated bodies, O(N)), "direct" (the same as [JR90] first writes it, in plain NumPy,
    to read and to check: liegeo/operators.py) or "composite" (mass matrix and dense solve, O(N³)).
    """
    if method == "direct":
        if model.rows:
            raise InputError('method "direct" knows no loops; use "articulated" or "composite".')
        return operators.forward_dynamics(model, state, tau, inputs)
    if method == "composite":
        return _composite(model, state, tau, inputs)
    if method != "articulated":
        raise InputError(f"method is {method!r}, expected one of articulated, direct, composite.")
    (q, v, u), work, out = _prepare(model, state, _drive(model, "tau", tau, inputs, state))
    _accelerate(model, q, v, u, work, out)
    return out


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


@_finite
def inverse_dynamics(model: Model, state: State, a: Any = None, inputs: Any = None) -> Array:
    """Generalised forces that, beside the inputs, give the accelerations a (none given: zero, so it is the bias).

    Of the tree: what loops would carry is not subtracted.
    """
    (q, v, acceleration), work, out = _prepare(model, state, _drive(model, "a", a, inputs, state))
    inverse.inverse_dynamics(model.ints, model.floats, q, v, acceleration, work, out)
    return out


@_finite
def mass_matrix(model: Model, state: State) -> Array:
    """M(q), by composite bodies."""
    model.check(state)
    (q, *_), work, _ = _prepare(model, state)
    out = np.empty((model.nv, model.nv), q.dtype)
    composite.mass_matrix(model.ints, model.floats, q, work, out)
    return out


@_finite
def mass_matrix_inverse(model: Model, state: State) -> Array:
    """M(q)⁻¹ without M: the innovations factors [JR90, (6.6)], made once and applied to every unit vector.

    Rows and columns of locked speeds are zero.
    """
    model.check(state)
    (q, *_), work, _ = _prepare(model, state)
    _check(model, articulated.factorise(model.ints, model.floats, q, 0.0, 0.0, work))
    out, unit = np.empty((model.nv, model.nv), q.dtype), np.eye(model.nv, dtype=q.dtype)
    for row, r in zip(out, unit, strict=True):
        articulated.substitute(model.ints, model.floats, r, work, row)
    return out


@_finite
def joint_forces(model: Model, state: State, tau: Any = None, inputs: Any = None) -> dict[str, Array]:
    """Return by joint the wrench that it exerts on its child, at the child's frame and in its axes."""
    observed = _observe(model, state, tuple(("joint", name) for name in model.joints), tau, inputs)
    return dict(zip(model.joints, observed, strict=True))


class ConstraintValues(NamedTuple):
    """Of every row of the constraints (model.rows): residual, its rate and its acceleration; zero where they hold."""

    residual: Array
    rate: Array
    acceleration: Array


@_finite
def constraint_values(model: Model, state: State, inputs: Any = None, a: Any = None) -> ConstraintValues:
    """How far a state, and accelerations a (none given: zero), are from obeying the constraints."""
    (q, v, u), work, _ = _prepare(model, state, _drive(model, "a", a, inputs, state))
    _check_real(model, work)
    I, F = model.ints, model.floats
    kinematics.poses(I, F, q, work)
    kinematics.velocities(I, F, q, v, work)
    gravity = tuple(u[-3:])
    inverse.accelerations(I, F, u[: model.nv], gravity, work)
    constraints.evaluate(I, F, q, v, u, work)
    model.check_custom()
    constraints.accelerated(I, F, q, v, u[: model.nv], gravity, work)
    return ConstraintValues(*(work[model.row_slice(column)].copy() for column in (at.PHI, at.RATE, at.RIGHT)))


@_finite
def constraint_jacobian(model: Model, state: State) -> Array:
    """J, one row a constraint's row: J v is the rate of the residuals, but for what moves by itself."""
    model.check(state)
    rest = replace(state, v=np.zeros(model.nv))
    at_rest = constraint_values(model, rest).acceleration
    columns = [constraint_values(model, rest, a=e).acceleration - at_rest for e in np.eye(model.nv)]
    return np.stack(columns, axis=1) if columns else np.zeros((len(model.rows), 0))


@_finite
def loop_forces(model: Model, state: State, tau: Any = None, inputs: Any = None) -> dict[str, Array]:
    """Return by loop what it exerts, the smallest where constraints are redundant.

    Of one between frames the wrench (moment, force) on its child or `b`, at that frame and in its axes; of others one
    generalised force a row, such as the torque that a Motion takes.
    """
    names = [loop.name for loop in model.tree.loops]
    observed = _observe(model, state, tuple(("loop", name) for name in names), tau, inputs)
    return dict(zip(names, observed, strict=True))


def redundant_rows(model: Model, state: State) -> tuple[Row, ...]:
    """Rows of the constraints that the others hold already, here; which ones of several that say the same is chance."""
    (q, v, u), work, a = _prepare(model, state, _drive(model, "tau", None, None, state))
    if not model.rows:
        return ()
    _accelerate(model, q, v, u, work, a)
    kept = {int(k) for k in work[model.row_slice(at.ORDER)].real if k >= 0.0}
    return tuple(row for k, row in enumerate(model.rows) if k not in kept)


@_finite
def lock_forces(model: Model, state: State, tau: Any = None, inputs: Any = None) -> Array:
    """The generalised force that holds each locked speed, beside `tau`; zero where nothing is locked."""
    (needed,) = _observe(model, state, (("required",),), tau, inputs)
    return np.where(model.locked, needed - model.speeds("tau", tau), 0.0)


@_finite
def solve(model: Model, state: State, r: Any, alpha: float = 0.0, beta: float = 0.0) -> Array:
    """(M + αD + βK)⁻¹ r in O(N), without forming M: D and K are the damping and stiffness of modes and joints.

    α = β = 0 is the inverse of the mass matrix times a vector; implicit integrators need the rest.
    """
    for name, factor in (("alpha", alpha), ("beta", beta)):
        if not np.isfinite(factor):
            raise InputError(f"solve: {name} is {factor!r}, expected a finite number.")
    model.check(state)
    (q, _, right), work, out = _prepare(model, state, model.speeds("r", r))
    _check(model, articulated.solve(model.ints, model.floats, q, right, float(alpha), float(beta), work, out))
    return out


class Derivatives(NamedTuple):
    """Partial derivatives, one column a direction; by q along the group, q ⊕ ε."""

    q: Array
    v: Array
    last: Array


@_finite
def forward_derivatives(model: Model, state: State, tau: Any = None, inputs: Any = None) -> Derivatives:
    """Of the accelerations by q, v and tau (which is M⁻¹): exact to round-off, by complex step."""
    return _derivatives(model, state, model.speeds("tau", tau), inputs, forward_dynamics)


@_finite
def inverse_derivatives(model: Model, state: State, a: Any = None, inputs: Any = None) -> Derivatives:
    """Of the generalised forces by q, v and a (which is M): exact to round-off, by complex step."""
    return _derivatives(model, state, model.speeds("a", a), inputs, inverse_dynamics)


def _derivatives(model: Model, state: State, last: Array, inputs: Any, function: Any) -> Derivatives:
    model.check(state)
    if model.group is None:
        empty = np.zeros((0, 0))
        return Derivatives(empty, empty, empty)
    steps = 1j * _STEP * np.eye(model.nv)
    moved = model.group.retract(state.q.astype(complex), steps)
    by_q = [function(model, replace(state, q=x), last, inputs).imag / _STEP for x in moved]
    by_v = [function(model, replace(state, v=state.v + e), last, inputs).imag / _STEP for e in steps]
    by_last = [function(model, state, last + e, inputs).imag / _STEP for e in steps]
    return Derivatives(*(np.stack(columns, axis=1) for columns in (by_q, by_v, by_last)))


class FrameMotion(NamedTuple):
    """Of a body or frame: its pose X_WF (4×4), its twist relative to the world, and the rate of that twist.

    Twist and rate are at and in the frame itself, angular part first; gravity is not in the rate.
    """

    pose: Array
    twist: Array
    rate: Array

    @property
    def acceleration(self) -> Array:
        """Of the frame's origin, in the world's axes."""
        w, v = self.twist[:3], self.twist[3:]
        return np.asarray(self.pose[:3, :3] @ (self.rate[3:] + np.cross(w, v)))


@_finite
def body_poses(model: Model, state: State) -> dict[str, Array]:
    """Return by body its pose X_WB, 4×4."""
    poses = _look(model, state, tuple(("frame", name, "pose") for name in model.bodies))
    return {name: _matrix(X) for name, X in zip(model.bodies, poses, strict=True)}


@_finite
def body_motions(model: Model, state: State, a: Any = None) -> dict[str, FrameMotion]:
    """Return by body pose, twist and its rate with the accelerations a (none given: zero)."""
    motions = _motions(model, state, model.bodies, a)
    return dict(zip(model.bodies, motions, strict=True))


@_finite
def frame_motion(model: Model, state: State, frame: str, a: Any = None) -> FrameMotion:
    """Return pose, twist and its rate of a body ("boom") or of a frame or node on it ("boom.tip")."""
    return _motions(model, state, (frame,), a)[0]


def _motions(model: Model, state: State, frames: Sequence[str], a: Any) -> list[FrameMotion]:
    sources = tuple(("frame", frame, part) for frame in frames for part in ("pose", "twist", "rate"))
    found = _look(model, state, sources, model.speeds("a", a))
    return [FrameMotion(_matrix(found[k]), found[k + 1], found[k + 2]) for k in range(0, len(found), 3)]


@_finite
def frame_pose(model: Model, state: State, frame: str) -> Array:
    """Return X_WF of a body ("boom") or of a frame or node on it ("boom.tip")."""
    return _matrix(_look(model, state, (("frame", frame, "pose"),))[0])


@_finite
def frame_jacobian(model: Model, state: State, frame: str) -> Array:
    """Return J, 6 × nv: the twist of the frame relative to the world, at and in itself, is J v."""
    sources = (("frame", frame, "pose"), ("frame", frame, "twist"))
    model.check(state)
    (q, v), work, _ = _prepare(model, state)
    observer = observer_of(model, sources)
    z, out = observer.numbers(q.dtype), np.empty((6, model.nv), q.dtype)
    observer.observe(float(state.t), q, v, q[:0], work, z, z[:0])
    i, place = model.frame(frame)
    X, modes = np.split(z[observer.places[sources[0]].start + observe.X_BF :], [12])
    if isinstance(place, np.ndarray):
        # it moves with its body, which may deform elsewhere
        modes = np.zeros(6 * model.body(i).n_modes, q.dtype)
    observe.jacobian(model.ints, work, i, X, modes, np.empty(24, q.dtype), out)
    return out


class Balance(NamedTuple):
    """Energies in J, momentum (angular about the world's origin, linear), mass and centre of mass."""

    kinetic: Any
    gravitational: Any
    elastic: Any
    momentum: Array
    mass: Any
    center: Array

    @property
    def energy(self) -> Any:
        return self.kinetic + self.gravitational + self.elastic


@_finite
def balance(model: Model, state: State) -> Balance:
    """Return energy, momentum and centre of mass of the whole model."""
    (out,) = _observe(model, state, (("balance", "all"),), None, np.zeros(model.nu))
    return Balance(out[0], out[1], out[2], out[3:9], out[observe.MASS], out[observe.CENTER : observe.CENTER + 3])


def _observe(model: Model, state: State, sources: tuple[Source, ...], tau: Any, inputs: Any) -> list[Array]:
    """Return sources of a state under `tau` and `inputs`, with the accelerations that they give."""
    (q, v, u), work, _ = _prepare(model, state, _drive(model, "tau", tau, inputs, state))
    observer = observer_of(model, sources)
    if observer.solves:
        _check_real(model, work)
    z = observer.numbers(q.dtype)
    status = observer.observe(float(state.t), q, v, u, work, z, z[:0])
    model.check_custom()
    _check(model, status)
    return [z[place] for place in observer.places.values()]


def _look(model: Model, state: State, sources: tuple[Source, ...], a: Array | None = None) -> list[Array]:
    """Return sources that no force enters, with the accelerations a."""
    model.check(state)
    (q, v, *given), work, _ = _prepare(model, state, *(() if a is None else (a,)))
    observer = observer_of(model, sources, solve=False)
    z = observer.numbers(q.dtype)
    if given:
        observer.accelerations(z)[:] = given[0]
    observer.observe(float(state.t), q, v, q[:0], work, z, z[:0])
    return [z[place] for place in observer.places.values()]


def _drive(model: Model, what: str, vector: Any, inputs: Any, state: State) -> Array:
    """Return what the kernels call u, in this state."""
    model.check(state)
    return model.drive(what, vector, inputs, float(state.t), state.x)


def _prepare(model: Model, state: State, *more: Array) -> tuple[list[Array], Array, Array]:
    """Return q, v and more arrays as arrays of one type, a workspace, and a vector for the result.

    The state has been checked: `_drive` does so.
    """
    given = (state.q, state.v, *more)
    dtype = np.result_type(*given, np.float64)
    return [np.ascontiguousarray(x, dtype) for x in given], model.workspace(dtype), np.empty(model.nv, dtype)


def _accelerate(model: Model, q: Array, v: Array, u: Array, work: Array, out: Array) -> None:
    _check_real(model, work)
    # models without loops need not wait until those are compiled
    kernel = loops.forward_dynamics if model.rows else articulated.forward_dynamics
    status = kernel(model.ints, model.floats, q, v, u, work, out)
    model.check_custom()
    _check(model, status)


def _check_real(model: Model, work: Array) -> None:
    if model.custom and work.dtype.kind == "c":
        raise InputError(f"{model!r} has a Custom constraint, which kernels cannot call with complex numbers.")


def _check(model: Model, status: int) -> None:
    if status:
        # pivots that are not numbers say nothing about inertia
        raise _not_finite("a matrix") if status == NOT_FINITE else DynamicsError(model.failure(status))


def _matrix(X: Array) -> Array:
    M = np.eye(4, dtype=X.dtype)
    M[:3, :3], M[:3, 3] = X[:9].reshape(3, 3), X[9:12]
    return M
