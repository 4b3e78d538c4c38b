"""What an FMU shows: columns of results (liegeo/results/names.py) at one point of time, quickly.

All that is asked for stands in one vector: time, q, v, u, accelerations, energies and momenta, and a row for each
frame; a column is a place in it.  Only the passes that something needs are made, and all but forward dynamics in one
call of compiled code, because each call from Python costs as much as a pass over a small tree.  What is left, reactions
and what loops exert, is a question to results.quantities.Observer, which also says what all the rest has to be.

The twist of a frame F on a body B, with X_BF = (R, p), its modes Π and η̇, and its rate,

    V_F = Ad(X_BF)⁻¹ V_B + Πη̇,      V̇_F = Ad(X_BF)⁻¹ V̇_B + Πη̈ + Π̇η̇ + ad(V_F) Πη̇.                              (1)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo._jit import kernel
from liegeo.errors import DynamicsError
from liegeo.kernels import articulated, inertia, inverse, kinematics, loops, nodes, observe
from liegeo.kernels import layout as at
from liegeo.kernels.spatial import compose, plus, put, rotate, six, sum_columns, twist_outward
from liegeo.lie import SO3Q
from liegeo.lie.so3 import cross, log_entries
from liegeo.model.body import Node
from liegeo.model.model import Model
from liegeo.results.quantities import Observer, not_implemented

Array = NDArray[Any]
Source = tuple[str, ...]

# Places in a row of a frame: rotation, position, twist in its own axes, then rates of motion in the world's, and how
# far a node is from where it is undeformed, in the axes of its body.
# Each has three components.
_ROW = {"position": 9, "twist.angular": 12, "twist.linear": 15, "angular_velocity": 18, "velocity": 21}
_RATES = {"angular_acceleration": 24, "acceleration": 27}
_BENDING = {"deflection": 30, "tilt": 33}
_ROW_SIZE = 36
# Places among the numbers of kernels.observe.energies, to which the sum of the energies is added.
_BALANCE = {
    "energy.kinetic": 0,
    "energy.gravitational": 1,
    "energy.elastic": 2,
    "momentum.angular": 3,
    "momentum.linear": 6,
    "center": 10,
    "energy": 13,
}
# How many numbers of these there are; of others one.
_BALANCE_WIDTH = {"momentum.angular": 3, "momentum.linear": 3, "center": 3}
_BALANCE_SIZE = 14

# The plan, whole numbers that say what is to be done: these, then a row for each frame, rows of nodes as
# kernels/nodes.py reads them, and for each column where it goes in the answer and where it stands in the vector.
_TODO, _N_FRAMES, _FRAME_ROWS, _N_COLUMNS, _COLUMNS, _A, _BALANCE_AT, _FRAMES_AT, _HEADER = range(9)
# What is to be done, as bits: poses and twists of bodies and frames, their rates, energies and momenta.
_MOVE, _RATE, _WEIGH = 1, 2, 4
# A row of a frame: its body, where its node stands in the plan (-1 if it does not deform) and its modes in q and v,
# whether deflection and tilt are asked for, and where its own numbers begin.
_BODY, _NODE, _EQ, _EV, _BENT, _SCRATCH, _FRAME_SIZE = range(7)
# Its own numbers: pose in its body, twist relative to it and what (1) adds to V̇_F, pose of the undeformed node, Π.
_X, _BENDING_RATE, _MODAL_RATE, _REST, _PI = 0, 12, 18, 24, 36


@kernel(forceinline=False)
def _observe(plan, data, I, F, t, q, v, u, W, world, scratch, z, out):  # type: ignore[no-untyped-def]
    """The vector z but for accelerations, which stand in it, and of it the columns, into `out`.

    `data` has the numbers of nodes; of `scratch` the constant parts are there.
    """
    todo, nq, nv = plan[_TODO], q.shape[0], I[at.N_V]
    z[0] = t
    for k in range(nq):
        z[1 + k] = q[k]
    for k in range(nv):
        z[1 + nq + k] = v[k]
    for k in range(u.shape[0]):
        z[1 + nq + nv + k] = u[k]
    a = z[plan[_A] : plan[_A] + nv]
    if todo & _MOVE:
        kinematics.poses(I, F, q, W)
        kinematics.velocities(I, F, q, v, W)
        kinematics.world_poses(I, W, world, 0)
        if todo & _RATE:
            inverse.accelerations(I, F, a, at.NO_GRAVITY, W)
    for k in range(plan[_N_FRAMES]):
        _observe_frame(plan, plan[_FRAME_ROWS] + k * _FRAME_SIZE, data, q, v, a, W, world, scratch, z, k)
    if todo & _WEIGH:
        o = plan[_BALANCE_AT]
        inertia.inertias(I, F, q, W)
        observe.energies(I, F, q, v, u, W, world, z[o : o + 13])
        z[o + 13] = z[o] + z[o + 1] + z[o + 2]
    for k in range(plan[_N_COLUMNS]):
        c = plan[_COLUMNS] + 2 * k
        out[plan[c]] = z[plan[c + 1]]
    return 0


@kernel
def _observe_frame(plan, f, data, q, v, a, W, world, scratch, z, k):  # type: ignore[no-untyped-def]
    """The row of frame k, whose row in the plan begins at f."""
    node, eq, ev, s = plan[f + _NODE], plan[f + _EQ], plan[f + _EV], plan[f + _SCRATCH]
    rates = plan[_TODO] & _RATE
    if node >= 0:
        nodes.node_pose(plan, data, node, True, q, eq, scratch, s + _X)
        nodes.node_modes(plan, data, node, True, q, eq, scratch, s + _X, False, scratch, s + _PI)
        n = plan[node + at.NODE_NM]
        put(scratch, s + _BENDING_RATE, sum_columns(scratch, s + _PI, n, v, ev))
        if rates:
            rate = nodes.node_rate(plan, data, node, q, eq, v, ev, scratch, s + _X, False)
            put(scratch, s + _MODAL_RATE, plus(sum_columns(scratch, s + _PI, n, a, ev), rate))
    o = plan[_FRAMES_AT] + _ROW_SIZE * k
    w, x = plan[f + _BODY] * at.WORK_SIZE, 12 * plan[f + _BODY]
    compose(world, x, scratch, s + _X, z, o)
    bending = six(scratch, s + _BENDING_RATE)
    V = plus(twist_outward(scratch, s + _X, six(W, w + at.VEL)), bending)
    put(z, o + 12, V)
    _turn(z, o, o + 12, o + 18)
    _turn(z, o, o + 15, o + 21)
    if rates:
        A = plus(twist_outward(scratch, s + _X, six(W, w + at.ACC)), six(scratch, s + _MODAL_RATE))
        b0, b1, b2, b3, b4, b5 = bending
        w0, w1, w2, v0, v1, v2 = V
        # the acceleration of the origin is V̇ + ω×v
        c0, c1, c2 = cross(w0, w1, w2, b0, b1, b2)
        d0, d1, d2 = cross(v0, v1, v2, b0, b1, b2)
        e0, e1, e2 = cross(w0, w1, w2, b3 + v0, b4 + v1, b5 + v2)
        put(z, o + 24, plus(A, (c0, c1, c2, d0 + e0, d1 + e1, d2 + e2)))
        _turn(z, o, o + 24, o + 24)
        _turn(z, o, o + 27, o + 27)
    if plan[f + _BENT] != 0:
        for i in range(3):
            z[o + 30 + i] = scratch[s + _X + 9 + i] - scratch[s + _REST + 9 + i]
        # a row of R times R₀ᵀ is R₀ times the row
        r, x = s + _REST, s + _X
        r00, r01, r02 = rotate(scratch, r, scratch[x], scratch[x + 1], scratch[x + 2])
        r10, r11, r12 = rotate(scratch, r, scratch[x + 3], scratch[x + 4], scratch[x + 5])
        r20, r21, r22 = rotate(scratch, r, scratch[x + 6], scratch[x + 7], scratch[x + 8])
        z[o + 33], z[o + 34], z[o + 35] = log_entries(r00, r01, r02, r10, r11, r12, r20, r21, r22)


@kernel
def _turn(z, R, source, into):  # type: ignore[no-untyped-def]
    """z[into …] = R z[source …], with the rotation at z[R]."""
    z[into], z[into + 1], z[into + 2] = rotate(z, R, z[source], z[source + 1], z[source + 2])


class _Frames:
    """What `_observe` reads of frames: their rows of the plan, with those of nodes, numbers of nodes, and scratch."""

    def __init__(self, model: Model, places: Sequence[str], bent: set[str]) -> None:
        self.ints: list[int] = []
        self.data: list[float] = []
        self.scratch: list[float] = []
        nodes_at = _HEADER + _FRAME_SIZE * len(places)
        node_rows: list[int] = []
        for place in places:
            body, where = model.frame(place)
            node, n, q, v = -1, 0, 0, 0
            if isinstance(where, Node):
                n, node = model.body(body).n_modes, nodes_at + len(node_rows)
                q, v = (model.modal_slice(body, what).start for what in (at.EQ, at.EV))
                pose, second = np.asarray(where.pose), where.second
                first = len(self.data) + 12 + 6 * n
                node_rows += [len(self.data), n, -1 if second is None else first]
                self.data += [*_twelve(pose), *np.asarray(where.modes).ravel()]
                self.data += [] if second is None else [*np.asarray(second).ravel()]
            else:
                pose = where
            self.ints += [body, node, q, v, place in bent, len(self.scratch)]
            self.scratch += [*_twelve(pose), *[0.0] * 12, *_twelve(pose), *[0.0] * (6 * n)]
        self.ints += node_rows


def _twelve(X: Array) -> list[float]:
    """A pose as kernels have it."""
    return [*X[:3, :3].ravel(), *X[:3, 3]]


class Outputs:
    """Columns of a model, each the source and the place that results have for it."""

    def __init__(self, model: Model, columns: Sequence[tuple[Source, int]]) -> None:
        self.model = model
        nq, nv, nu, nx = model.nq, model.nv, model.nu, model.nx
        sources = list(dict.fromkeys(source for source, _ in columns))
        framed = [source for source in sources if source[0] == "frame"]
        places = list(dict.fromkeys(source[1] for source in framed))
        # where the parts of the vector begin
        sizes = {"t": 1, "q": nq, "v": nv, "u": nv + nu, "x": nx, "gravity": 3, "a": nv, "balance": _BALANCE_SIZE}
        starts = dict(zip([*sizes, "frame"], np.cumsum([0, *sizes.values()]).tolist(), strict=True))
        self._z = np.full(starts["frame"] + _ROW_SIZE * len(places), np.nan)
        self._a = self._z[starts["a"] : starts["a"] + nv]
        self._rows = self._z[starts["frame"] :].reshape(-1, _ROW_SIZE)
        self._quaternions = [source for source in framed if source[2] == "quaternion"]
        self._turned = np.array([places.index(source[1]) for source in self._quaternions], dtype=np.int64)
        self._asked = [source for source in sources if source[0] in ("joint", "loop")]
        direct, turned, asked = [], [], []
        for k, (source, place) in enumerate(columns):
            if source in self._asked:
                asked.append((k, source, place))
            elif source in self._quaternions:
                turned.append((k, self._quaternions.index(source), place))
            else:
                direct.append((k, self._place(source, place, starts, places)))
        self._turned_into, *self._turned_from = (np.array([t[k] for t in turned], dtype=np.int64) for k in range(3))
        self._answers = asked
        rates = any(source[2] in _RATES for source in framed)
        weigh = any(source[0] == "balance" for source in sources)
        self._accelerate = rates or ("a",) in sources
        frames = _Frames(model, places, {source[1] for source in framed if source[2] in _BENDING})
        header = [0, len(places), _HEADER, len(direct), _HEADER + len(frames.ints)]
        header += [starts["a"], starts["balance"], starts["frame"]]
        plan = np.array([*header, *frames.ints, *(number for pair in direct for number in pair)], dtype=np.int64)
        todo = (_MOVE if weigh or places else 0) | (_RATE if rates else 0) | (_WEIGH if weigh else 0)
        # all of it; poses of frames alone; what stands in the vector without being computed
        self._all, self._poses, self._known = plan.copy(), plan.copy(), plan.copy()
        self._all[_TODO], self._poses[_TODO], self._known[_N_FRAMES] = todo, _MOVE, 0
        self._data, self._scratch = np.array(frames.data), np.array(frames.scratch)
        for constant in (self._all, self._poses, self._known, self._data):
            # to kernels of the same type as I and F, for which what they call is compiled anyway
            constant.setflags(write=False)
        self._values = np.full(len(columns), np.nan)
        self._W, self._world = model.workspace(), np.empty(12 * (len(model.bodies) + 1))
        self._forward = loops.forward_dynamics if model.rows else articulated.forward_dynamics

    @staticmethod
    def _place(source: Source, place: int, starts: dict[str, int], places: list[str]) -> int:
        if source[0] == "balance":
            start, width = _BALANCE.get(source[1]), _BALANCE_WIDTH.get(source[1], 1)
            first = starts["balance"]
        elif source[0] == "frame":
            start, width = {**_ROW, **_RATES, **_BENDING}.get(source[2]), 3
            first = starts["frame"] + _ROW_SIZE * places.index(source[1])
        else:
            order = [*starts]
            start, first = (0 if source[0] in starts else None), starts.get(source[0], 0)
            width = starts[order[order.index(source[0]) + 1]] - first if start is not None else 0
        if start is None or place >= width:
            raise not_implemented(source)
        return first + start + place

    @property
    def has_quaternions(self) -> bool:
        """Whether there are rotations of frames, of which q and −q are the same."""
        return bool(self._quaternions)

    def signs(self, t: float, q: Array, v: Array, u: Array, before: Array | None = None) -> Array:
        """The quaternions of frames with the signs that continue those of the point before, one after another."""
        self._observe(self._poses, t, q, v, u)
        now = np.array(SO3Q.from_matrix(self._rows[self._turned, :9].reshape(-1, 3, 3)))
        if before is not None:
            now[np.sum(now * before.reshape(now.shape), axis=1) < 0.0] *= -1.0
        return now

    def values(self, t: float, q: Array, v: Array, u: Array, signs: Array, computed: bool = True) -> Array:
        """All columns; without `computed`, those that are computed are what they were."""
        if not computed:
            self._observe(self._known, t, q, v, u)
            return self._values
        if self._accelerate:
            self.accelerations(t, q, v, u)
        self._observe(self._all, t, q, v, u)
        if self._quaternions:
            self._values[self._turned_into] = signs.reshape(-1, 4)[tuple(self._turned_from)]
        if self._asked:
            found = Observer(self.model, np.array([t]), q[np.newaxis], v[np.newaxis], u[np.newaxis]).answer(self._asked)
            for k, source, place in self._answers:
                if place >= found[source].shape[1]:
                    raise not_implemented(source)
                self._values[k] = found[source][0, place]
        return self._values

    def accelerations(self, t: float, q: Array, v: Array, u: Array) -> Array:
        """v̇; a view that the next call overwrites."""
        model = self.model
        status = self._forward(model.ints, model.floats, q, v, u, self._W, self._a)
        if status:
            raise DynamicsError(f"at t = {t:.6g} s: {model.failure(status)}")
        return self._a

    def _observe(self, plan: NDArray[np.int64], t: float, q: Array, v: Array, u: Array) -> None:
        model, numbers = self.model, (self._world, self._scratch, self._z, self._values)
        _observe(plan, self._data, model.ints, model.floats, t, q, v, u, self._W, *numbers)
