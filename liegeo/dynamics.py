"""Checked entry points to the recursive dynamics: inputs are checked once, kernels do the rest.

Vectors in the algebra (speeds, accelerations, forces) may be given in full or by name.  In a loop, the kernels behind
these functions can be called without checks: `kernels.articulated.forward_dynamics(model.ints, model.floats, q, v, tau,
workspace, out)`, with `workspace = model.workspace()`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import DynamicsError
from liegeo.kernels import articulated, composite, inertia, inverse, kinematics, nodes, observe
from liegeo.kernels import layout as at
from liegeo.model.model import Model, State

Array = NDArray[Any]

# The step of a complex-step derivative: so small that its square vanishes beside anything.
_STEP = 1e-40


def forward_dynamics(model: Model, state: State, tau: Any = None) -> Array:
    """Accelerations v̇ under the generalised forces tau, by articulated bodies in O(N)."""
    (q, v, force), work, out = _prepare(model, state, model.speeds("tau", tau))
    _solve(model, q, v, force, work, out)
    return out


def inverse_dynamics(model: Model, state: State, a: Any = None) -> Array:
    """Generalised forces that give the accelerations a (none given: zero, so the result is the bias vector)."""
    (q, v, acceleration), work, out = _prepare(model, state, model.speeds("a", a))
    inverse.inverse_dynamics(model.ints, model.floats, q, v, acceleration, work, out)
    return out


def mass_matrix(model: Model, state: State) -> Array:
    """M(q), by composite bodies."""
    (q, *_), work, _ = _prepare(model, state)
    out = np.empty((model.nv, model.nv), q.dtype)
    composite.mass_matrix(model.ints, model.floats, q, work, out)
    return out


def joint_forces(model: Model, state: State, tau: Any = None) -> dict[str, Array]:
    """By joint: the wrench (moment, force) that it exerts on its child, at the child's frame and in its axes.

    Constraint forces and the joint's own forces together, in the motion that `tau` gives.
    """
    (q, v, force), work, a = _prepare(model, state, model.speeds("tau", tau))
    _solve(model, q, v, force, work, a)
    inverse.inverse_dynamics(model.ints, model.floats, q, v, a, work, np.empty_like(a))
    rows = work[: len(model.bodies) * at.WORK_SIZE].reshape(-1, at.WORK_SIZE)
    return {name: row[at.FOR : at.FOR + 6].copy() for name, row in zip(model.joints, rows, strict=True)}


def lock_forces(model: Model, state: State, tau: Any = None) -> Array:
    """The generalised force that holds each locked speed, beside `tau`; zero where nothing is locked."""
    force = model.speeds("tau", tau)
    a = forward_dynamics(model, state, force)
    needed = inverse_dynamics(model, state, a) - force
    return np.where(model.locked, needed, 0.0)


def solve(model: Model, state: State, r: Any, alpha: float = 0.0, beta: float = 0.0) -> Array:
    """(M + αD + βK)⁻¹ r in O(N), without forming M: D and K are the damping and stiffness of modes and joints.

    α = β = 0 is the inverse of the mass matrix times a vector; implicit integrators need the rest.
    """
    (q, _, right), work, out = _prepare(model, state, model.speeds("r", r))
    status = articulated.solve(model.ints, model.floats, q, right, float(alpha), float(beta), work, out)
    if status:
        raise DynamicsError(_singular(model, status - 1))
    return out


class Derivatives(NamedTuple):
    """Partial derivatives, one column a direction; by q along the group, q ⊕ ε."""

    q: Array
    v: Array
    last: Array


def forward_derivatives(model: Model, state: State, tau: Any = None) -> Derivatives:
    """Of the accelerations by q, v and tau (which is M⁻¹): exact to round-off, by complex step."""
    return _derivatives(model, state, model.speeds("tau", tau), forward_dynamics)


def inverse_derivatives(model: Model, state: State, a: Any = None) -> Derivatives:
    """Of the generalised forces by q, v and a (which is M): exact to round-off, by complex step."""
    return _derivatives(model, state, model.speeds("a", a), inverse_dynamics)


def _derivatives(model: Model, state: State, last: Array, function: Any) -> Derivatives:
    if model.group is None:
        empty = np.zeros((0, 0))
        return Derivatives(empty, empty, empty)
    steps = 1j * _STEP * np.eye(model.nv)
    moved = model.group.retract(state.q.astype(complex), steps)
    by_q = [function(model, State(x, state.v), last).imag / _STEP for x in moved]
    by_v = [function(model, State(state.q, state.v + e), last).imag / _STEP for e in steps]
    by_last = [function(model, state, last + e).imag / _STEP for e in steps]
    return Derivatives(*(np.stack(columns, axis=1) for columns in (by_q, by_v, by_last)))


def body_poses(model: Model, state: State) -> dict[str, Array]:
    """By body: its pose X_WB, 4×4."""
    (q, *_), work, _ = _prepare(model, state)
    kinematics.poses(model.ints, model.floats, q, work)
    world = _world(model, work)
    return {name: _matrix(world[12 * i : 12 * i + 12]) for i, name in enumerate(model.bodies)}


def frame_pose(model: Model, state: State, frame: str) -> Array:
    """X_WF of a body ("boom") or of a frame or node on it ("boom.tip")."""
    i, X, _ = _frame(model, state, frame)
    poses = list(body_poses(model, state).values())
    return np.asarray(poses[i] @ _matrix(X))


def frame_jacobian(model: Model, state: State, frame: str) -> Array:
    """6 × nv: the twist of the frame relative to the world, at and in itself, is this times v."""
    i, X, modes = _frame(model, state, frame)
    (q, *_), work, _ = _prepare(model, state)
    kinematics.poses(model.ints, model.floats, q, work)
    out = np.empty((6, model.nv), q.dtype)
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


def balance(model: Model, state: State) -> Balance:
    """Energy, momentum and centre of mass of the whole model."""
    (q, v, *_), work, _ = _prepare(model, state)
    I, F = model.ints, model.floats
    kinematics.poses(I, F, q, work)
    kinematics.velocities(I, F, q, v, work)
    inertia.inertias(I, F, q, work)
    out = np.empty(13, q.dtype)
    observe.energies(I, F, q, v, work, _world(model, work), out)
    return Balance(out[0], out[1], out[2], out[3:9], out[9], out[10:13])


def _prepare(model: Model, state: State, *more: Array) -> tuple[list[Array], Array, Array]:
    """q, v and what else there is as arrays of one type, a workspace and a vector for the result."""
    given = (state.q, state.v, *more)
    dtype = np.result_type(*given, np.float64)
    return [np.ascontiguousarray(x, dtype) for x in given], model.workspace(dtype), np.empty(model.nv, dtype)


def _solve(model: Model, q: Array, v: Array, force: Array, work: Array, out: Array) -> None:
    status = articulated.forward_dynamics(model.ints, model.floats, q, v, force, work, out)
    if status:
        raise DynamicsError(_singular(model, status - 1))


def _singular(model: Model, i: int) -> str:
    joint = next(j for j in model.tree.joints if j.name == model.joints[i])
    return (
        f"{joint.who}: the inertia that it moves is not positive.\n"
        f"  The bodies outboard have none in its direction. Give '{model.bodies[i]}' mass and moments of inertia, "
        "give the joint an armature, or make it Fixed."
    )


def _world(model: Model, work: Array) -> Array:
    world = np.empty(12 * (len(model.bodies) + 1), work.dtype)
    observe.world_poses(model.ints, model.floats, work, world)
    return world


def _matrix(X: Array) -> Array:
    M = np.eye(4, dtype=X.dtype)
    M[:3, :3], M[:3, 3] = X[:9].reshape(3, 3), X[9:12]
    return M


def _frame(model: Model, state: State, frame: str) -> tuple[int, Array, Array]:
    """Index of the body, pose of the frame in it (12 numbers) and its modes in the frame (6 numbers a mode)."""
    i, place = model.frame(frame)
    n = model.body(i).n_modes
    dtype = np.result_type(state.q, np.float64)
    modes = np.zeros(6 * n, dtype)
    X = np.empty(12, dtype)
    if isinstance(place, np.ndarray):
        X[:9], X[9:] = place[:3, :3].ravel(), place[:3, 3]
        return i, X, modes
    # A node's data, laid out as the kernels know it, for a node that perhaps carries no joint.
    shape = np.asarray(place.modes)
    pose = np.asarray(place.pose)
    floats = np.concatenate([pose[:3, :3].ravel(), pose[:3, 3], shape.ravel()])
    ints = np.array([0, n], dtype=np.int64)
    eta = np.ascontiguousarray(state.q[model.modal_slice(i)], dtype)
    full = bool(model.ints[at.FULL])
    nodes.node_pose(ints, floats, 0, full, eta, 0, X, 0)
    nodes.node_modes(ints, floats, 0, full, eta, 0, X, 0, False, modes, 0)
    return i, X, modes
