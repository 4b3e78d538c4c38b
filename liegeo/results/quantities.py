"""What can be computed of a trajectory when it is asked for: motion of bodies and frames, reactions, balances.

Each question is one pass of the kernels over all samples, and what a pass finds is kept: poses and twists of the bodies
in question together, then their accelerations, so that more names of the same body cost nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo import dynamics
from liegeo.errors import DynamicsError
from liegeo.kernels import articulated, inertia, inverse, kinematics, loops, observe
from liegeo.kernels import layout as at
from liegeo.lie import SO3, SO3Q
from liegeo.model.body import Node
from liegeo.model.model import Model, State
from liegeo.results.names import Source

Array = NDArray[Any]

# Columns of what is kept of a body or frame: rotation row by row, position, twist, rate of the twist.
_R, _P, _W, _V, _RATE = slice(0, 9), slice(9, 12), slice(12, 15), slice(15, 18), slice(18, 24)
_MOTION, _WITH_RATE = 18, 24
# Parts of frames that need accelerations.
_NEED_RATE = ("acceleration", "angular_acceleration")
# Axes behind each axis, and before it.
_NEXT, _LAST = [1, 2, 0], [2, 0, 1]
# Columns of kernels.observe.energies; "energy" is the sum of its three.
_BALANCE = {
    "energy": slice(0, 3),
    "energy.kinetic": slice(0, 1),
    "energy.gravitational": slice(1, 2),
    "energy.elastic": slice(2, 3),
    "momentum.angular": slice(3, 6),
    "momentum.linear": slice(6, 9),
    "center": slice(10, 13),
}


class Observer:
    """Answers questions about n samples of t, q, v and u of the kernels, by the sources of liegeo.results.names."""

    def __init__(self, model: Model, t: Array, q: Array, v: Array, u: Array) -> None:
        self.model, self.t, self.q, self.v, self.u = model, t, q, v, u
        self._bodies: dict[int, Array] = {}
        self._frames: dict[str, Array] = {}
        self._wrenches: dict[str, Array] = {}

    def answer(self, sources: Iterable[Source]) -> dict[Source, Array]:
        """By source: an array (n, k); one pass serves all bodies among them, and one all joints."""
        wanted = list(dict.fromkeys(sources))
        frames = [s for s in wanted if s[0] == "frame"]
        # Those with rates first: what is found with them serves the others.
        for rates in (True, False):
            places = dict.fromkeys(s[1] for s in frames if (s[2] in _NEED_RATE) == rates)
            self._move_bodies({self.model.frame(place)[0] for place in places}, rates)
            for place in places:
                self._frame_motion(place, rates)
        self._load_joints([s[1] for s in wanted if s[0] == "joint"])
        return {source: self._answer(source) for source in wanted}

    def _answer(self, source: Source) -> Array:
        what, *rest = source
        if what == "frame":
            return self._frame_part(*rest)
        if what == "joint":
            return self._wrenches[rest[0]]
        if what == "loop":
            return self._loops[rest[0]]
        if what == "balance":
            if rest[0] not in _BALANCE:
                raise not_implemented(source)
            found = self._balance[:, _BALANCE[rest[0]]]
            return found.sum(axis=1, keepdims=True) if rest[0] == "energy" else found
        if what == "a":
            return self.accelerations
        states = self.u[:, self.model.nv + self.model.nu : -3]
        arrays = {"t": self.t[:, np.newaxis], "q": self.q, "v": self.v, "u": self.u, "x": states}
        if what not in arrays:
            raise not_implemented(source)
        return arrays[what]

    @property
    def accelerations(self) -> Array:
        """v̇ of every sample."""
        return self._solved[0]

    @property
    def _loops(self) -> dict[str, Array]:
        """By loop: what it exerts, as dynamics.loop_forces has it."""
        return self._solved[2]

    @functools.cached_property
    def _solved(self) -> tuple[Array, Array, dict[str, Array]]:
        """v̇ and multipliers of every sample, and what the loops exert."""
        model, work = self.model, self.model.workspace()
        out, a = np.empty((len(self.t), model.nv)), np.empty(model.nv)
        multipliers, exerted = np.zeros((len(self.t), len(model.rows))), []
        forward_dynamics = loops.forward_dynamics if model.rows else articulated.forward_dynamics
        for k, (q, v, u) in enumerate(self._samples()):
            status = forward_dynamics(model.ints, model.floats, q, v, u, work, a)
            if status:
                raise DynamicsError(f"result, at t = {self.t[k]:.6g} s: {model.failure(status)}")
            out[k] = a
            if model.rows:
                multipliers[k] = dynamics._smallest_multipliers(model, work)
                exerted.append(dynamics._loop_forces(model, work, multipliers[k]))
        names = [loop.name for loop in model.tree.loops]
        return out, multipliers, {name: np.stack([forces[name] for forces in exerted]) for name in names}

    @functools.cached_property
    def _balance(self) -> Array:
        model, work = self.model, self.model.workspace()
        I, F, world = model.ints, model.floats, self._world()
        out, row = np.empty((len(self.t), 13)), np.empty(13)
        for k, (q, v, u) in enumerate(self._samples()):
            kinematics.poses(I, F, q, work)
            kinematics.velocities(I, F, q, v, work)
            inertia.inertias(I, F, q, work)
            kinematics.world_poses(I, work, world, 0)
            observe.energies(I, F, q, v, u, work, world, row)
            out[k] = row
        return out

    def _load_joints(self, names: list[str]) -> None:
        """Wrenches of the joints not known yet, as dynamics.joint_forces has them."""
        missing = [name for name in names if name not in self._wrenches]
        if not missing:
            return
        model, work = self.model, self.model.workspace()
        places = _rows([model.joints.index(name) for name in missing], at.FOR)
        out, forces = np.empty((len(self.t), len(missing), 6)), np.empty(model.nv)
        given = np.empty(self.u.shape[1])
        inverse_dynamics = loops.inverse_dynamics if model.rows else inverse.inverse_dynamics
        for k, (q, v, u) in enumerate(self._samples()):
            given[: model.nv], given[model.nv :] = self.accelerations[k], u[model.nv :]
            work[model.row_slice(at.LAMBDA)] = self._solved[1][k]
            inverse_dynamics(model.ints, model.floats, q, v, given, work, forces)
            out[k] = work[places]
        self._wrenches.update((name, out[:, j]) for j, name in enumerate(missing))

    def _move_bodies(self, indices: set[int], rates: bool) -> None:
        """Poses and twists of the bodies not known yet; with `rates`, the rates of the twists too."""
        width = _WITH_RATE if rates else _MOTION
        missing = sorted(i for i in indices if i not in self._bodies or self._bodies[i].shape[1] < width)
        if not missing:
            return
        model, work, world = self.model, self.model.workspace(), self._world()
        I, F = model.ints, model.floats
        poses = np.array([range(12 * i, 12 * i + 12) for i in missing])
        twists, accelerations = _rows(missing, at.VEL), _rows(missing, at.ACC)
        out, a = np.empty((len(self.t), len(missing), width)), np.empty(model.nv)
        for k, (q, v, _) in enumerate(self._samples()):
            kinematics.poses(I, F, q, work)
            kinematics.velocities(I, F, q, v, work)
            kinematics.world_poses(I, work, world, 0)
            out[k, :, :12], out[k, :, 12:18] = world[poses], work[twists]
            if rates:
                a[:] = self.accelerations[k]
                inverse.accelerations(I, F, a, at.NO_GRAVITY, work)
                out[k, :, 18:] = work[accelerations]
        self._bodies.update((i, out[:, j]) for j, i in enumerate(missing))

    def _frame_part(self, place: str, part: str) -> Array:
        motion = self._frame_motion(place, part in _NEED_RATE)
        R_WF, w, v = motion[:, _R].reshape(-1, 3, 3), motion[:, _W], motion[:, _V]
        match part:
            case "position":
                return motion[:, _P]
            case "quaternion":
                return _without_jumps(SO3Q.from_matrix(R_WF))
            case "twist.angular":
                return w
            case "twist.linear":
                return v
            case "velocity":
                return _turn(R_WF, v)
            case "angular_velocity":
                return _turn(R_WF, w)
            case "acceleration":
                return _turn(R_WF, motion[:, _RATE][:, 3:] + _cross(w, v))
            case "angular_acceleration":
                return _turn(R_WF, motion[:, _RATE][:, :3])
            case "deflection" | "tilt":
                return self._bending(place, part, motion)
        raise not_implemented(("frame", place, part))

    def _bending(self, place: str, part: str, motion: Array) -> Array:
        """How far a node is from where it is undeformed: displacement, or rotation vector, in its body's axes."""
        i, node = self.model.frame(place)
        assert isinstance(node, Node)
        body, X_BN = self._bodies[i], np.asarray(node.pose)
        R_BW = body[:, _R].reshape(-1, 3, 3).transpose(0, 2, 1)
        if part == "deflection":
            return _turn(R_BW, motion[:, _P] - body[:, _P]) - X_BN[:3, 3]
        return SO3.log(R_BW @ motion[:, _R].reshape(-1, 3, 3) @ X_BN[:3, :3].T)

    def _frame_motion(self, place: str, rates: bool) -> Array:
        """Pose, twist and, with `rates`, its rate, of a body, frame or node; equations as in dynamics.frame_motion."""
        i, where = self.model.frame(place)
        body = self._bodies[i]
        if isinstance(where, np.ndarray) and np.array_equal(where, np.eye(4)):
            return body
        known = self._frames.get(place)
        if known is not None and (known.shape[1] == _WITH_RATE or not rates):
            return known
        n = len(self.t)
        X_BF, bending, modal_rate = np.empty((n, 12)), np.zeros((n, 6)), np.zeros((n, 6))
        if isinstance(where, np.ndarray):
            X_BF[:, _R], X_BF[:, _P] = where[:3, :3].ravel(), where[:3, 3]
        else:
            modal = self.model.modal_slice(i, at.EV)
            for k, (q, v, _) in enumerate(self._samples()):
                _, X_BF[k], modes, bias = dynamics._frame(self.model, State(q, v), place)
                Pi_F = modes.reshape(-1, 6).T
                bending[k] = Pi_F @ v[modal]
                if rates:
                    modal_rate[k] = Pi_F @ self.accelerations[k, modal] + bias
        out = np.empty((n, _WITH_RATE if rates else _MOTION))
        R_WB, R_BF, p_BF = body[:, _R].reshape(-1, 3, 3), X_BF[:, _R].reshape(-1, 3, 3), X_BF[:, _P]
        out[:, _R] = (R_WB @ R_BF).reshape(-1, 9)
        out[:, _P] = body[:, _P] + _turn(R_WB, p_BF)
        out[:, 12:18] = _outward(R_BF, p_BF, body[:, 12:18]) + bending
        if rates:
            w, v = out[:, _W], out[:, _V]
            brackets = [_cross(w, bending[:, :3]), _cross(v, bending[:, :3]) + _cross(w, bending[:, 3:])]
            out[:, _RATE] = _outward(R_BF, p_BF, body[:, _RATE]) + modal_rate + np.concatenate(brackets, axis=1)
        self._frames[place] = out
        return out

    def _samples(self) -> Iterator[tuple[Array, Array, Array]]:
        """q, v, u of one sample after another, in arrays that are used again: kernels want theirs writable."""
        q, v, u = (np.empty(x.shape[1]) for x in (self.q, self.v, self.u))
        for k in range(len(self.t)):
            q[:], v[:], u[:] = self.q[k], self.v[k], self.u[k]
            yield q, v, u

    def _world(self) -> Array:
        return np.empty(12 * (len(self.model.bodies) + 1))


def not_implemented(source: Source) -> DynamicsError:
    """Return the error for a quantity that has a name and a unit, and nothing that computes it."""
    return DynamicsError(f"result: nothing computes the quantity '{'.'.join(source[1:] or source)}'.")


def _rows(bodies: list[int], column: int) -> NDArray[np.int64]:
    """Where six numbers of each of these bodies stand in the workspace."""
    return np.array([range(i * at.WORK_SIZE + column, i * at.WORK_SIZE + column + 6) for i in bodies])


def _turn(R: Array, p: Array) -> Array:
    """R p, sample by sample."""
    return np.asarray(np.einsum("nij,nj->ni", R, p))


def _outward(R_BF: Array, p_BF: Array, V: Array) -> Array:
    """Ad(X_BF)⁻¹ V, sample by sample."""
    R_FB = R_BF.transpose(0, 2, 1)
    return np.concatenate([_turn(R_FB, V[:, :3]), _turn(R_FB, V[:, 3:] + _cross(V[:, :3], p_BF))], axis=1)


def _cross(a: Array, b: Array) -> Array:
    """a × b, sample by sample; NumPy's own takes ten times as long for few samples."""
    return a[:, _NEXT] * b[:, _LAST] - a[:, _LAST] * b[:, _NEXT]


def _without_jumps(quaternions: Array) -> Array:
    """The same rotations with the sign that continues the sample before: q and −q are one rotation."""
    turned = np.sum(quaternions[1:] * quaternions[:-1], axis=1) < 0.0
    signs = np.where(np.concatenate([[False], np.logical_xor.accumulate(turned)]), -1.0, 1.0)
    return np.asarray(signs[:, np.newaxis] * quaternions)
