"""What a unit shows: columns of results (liegeo/results/names.py) at one point of time, quickly.

All that is asked for stands in one vector: time, q, v, u, accelerations, energies and momenta, and a row for each
frame; a column is a place in it.  Only the passes that something needs are made.  What is left, reactions and what
loops exert, is a question to results.quantities.Observer, which also says what all the rest has to be.

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
from liegeo.lie import SO3, SO3Q
from liegeo.model.body import Node
from liegeo.model.model import Model
from liegeo.results.quantities import Observer

Array = NDArray[Any]
Source = tuple[str, ...]

# Places in a row of a frame: rotation, position, twist in its own axes, then rates of motion in the world's, and how
# far a node is from where it is undeformed, in the axes of its body.
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
_BALANCE_SIZE = 14


@kernel
def _fill_rows(bodies, X, bending, modal, world, W, rates, out):  # type: ignore[no-untyped-def]
    """Rows of frames (1), from the poses and twists of their bodies; with `rates`, from those of the twists too."""
    for k in range(bodies.shape[0]):
        b = bodies[k]
        o, x, vel, acc = _ROW_SIZE * k, 12 * b, b * at.WORK_SIZE + at.VEL, b * at.WORK_SIZE + at.ACC
        for i in range(3):
            out[o + 9 + i] = world[x + 9 + i]
            for j in range(3):
                out[o + 9 + i] += world[x + 3 * i + j] * X[k, 9 + j]
                out[o + 3 * i + j] = 0.0
                for l in range(3):
                    out[o + 3 * i + j] += world[x + 3 * i + l] * X[k, 3 * l + j]
        px, py, pz = X[k, 9], X[k, 10], X[k, 11]
        for half in range(2 if rates else 1):
            source = acc if half else vel
            w0, w1, w2 = W[source], W[source + 1], W[source + 2]
            u0 = W[source + 3] + w1 * pz - w2 * py
            u1 = W[source + 4] + w2 * px - w0 * pz
            u2 = W[source + 5] + w0 * py - w1 * px
            into = o + (24 if half else 12)
            for i in range(3):
                out[into + i] = X[k, i] * w0 + X[k, 3 + i] * w1 + X[k, 6 + i] * w2
                out[into + 3 + i] = X[k, i] * u0 + X[k, 3 + i] * u1 + X[k, 6 + i] * u2
                out[into + i] += modal[k, i] if half else bending[k, i]
                out[into + 3 + i] += modal[k, 3 + i] if half else bending[k, 3 + i]
        w0, w1, w2 = out[o + 12], out[o + 13], out[o + 14]
        v0, v1, v2 = out[o + 15], out[o + 16], out[o + 17]
        if rates:
            b0, b1, b2 = bending[k, 0], bending[k, 1], bending[k, 2]
            c0, c1, c2 = bending[k, 3], bending[k, 4], bending[k, 5]
            out[o + 24] += w1 * b2 - w2 * b1
            out[o + 25] += w2 * b0 - w0 * b2
            out[o + 26] += w0 * b1 - w1 * b0
            # the acceleration of the origin is V̇ + ω×v
            out[o + 27] += v1 * b2 - v2 * b1 + w1 * c2 - w2 * c1 + w1 * v2 - w2 * v1
            out[o + 28] += v2 * b0 - v0 * b2 + w2 * c0 - w0 * c2 + w2 * v0 - w0 * v2
            out[o + 29] += v0 * b1 - v1 * b0 + w0 * c1 - w1 * c0 + w0 * v1 - w1 * v0
        for part in range(4 if rates else 2):
            into = o + 18 + 3 * part
            source = o + (12 + 3 * part if part < 2 else into - o)
            a, b_, c = out[source], out[source + 1], out[source + 2]
            for i in range(3):
                out[into + i] = out[o + 3 * i] * a + out[o + 3 * i + 1] * b_ + out[o + 3 * i + 2] * c
    return 0


class _Frame:
    """A frame on a body: fixed, or a node with its data as kernels/nodes.py reads them."""

    def __init__(self, model: Model, place: str, X: Array, bending: Array, modal: Array) -> None:
        self.body, where = model.frame(place)
        self.X, self.bending, self.modal = X, bending, modal
        self.node = isinstance(where, Node)
        if not isinstance(where, Node):
            X[:9], X[9:] = where[:3, :3].ravel(), where[:3, 3]
            return
        self.n = model.body(self.body).n_modes
        self.q, self.v = model.modal_slice(self.body, at.EQ), model.modal_slice(self.body, at.EV)
        shape, pose = np.asarray(where.modes), np.asarray(where.pose)
        second = np.zeros(0) if where.second is None else np.asarray(where.second).ravel()
        self.floats = np.concatenate([pose[:3, :3].ravel(), pose[:3, 3], shape.ravel(), second])
        first = -1 if where.second is None else len(self.floats) - len(second)
        self.ints = np.array([0, self.n, first], dtype=np.int64)
        self.pose = pose
        self.modes = np.zeros(6 * self.n)

    def bend(self, q: Array, v: Array, a: Array | None) -> None:
        """Where the node is, and how it moves on its body; with accelerations, the rate of that too."""
        eta, speed = np.ascontiguousarray(q[self.q]), np.ascontiguousarray(v[self.v])
        nodes.node_pose(self.ints, self.floats, 0, True, eta, 0, self.X, 0)
        nodes.node_modes(self.ints, self.floats, 0, True, eta, 0, self.X, 0, False, self.modes, 0)
        Pi = self.modes.reshape(-1, 6)
        self.bending[:] = speed @ Pi
        if a is not None:
            self.modal[:] = a[self.v] @ Pi
            self.modal += nodes.node_rate(self.ints, self.floats, 0, eta, 0, speed, 0, self.X, 0, False)

    def away(self, row: Array) -> None:
        """Displacement and rotation vector of the node, from where it is undeformed."""
        row[30:33] = self.X[9:] - self.pose[:3, 3]
        row[33:36] = SO3.log(self.X[:9].reshape(3, 3) @ self.pose[:3, :3].T)


class Outputs:
    """Columns of a model, each the source and the place that results have for it."""

    def __init__(self, model: Model, columns: Sequence[tuple[Source, int]]) -> None:
        self.model = model
        nq, nv, nu = self._nq, self._nv, _ = model.nq, model.nv, model.nu
        sources = list(dict.fromkeys(source for source, _ in columns))
        places = list(dict.fromkeys(source[1] for source in sources if source[0] == "frame"))
        # where the parts of the vector begin
        sizes = {"t": 1, "q": nq, "v": nv, "u": nv + nu, "a": nv, "balance": _BALANCE_SIZE}
        starts = dict(zip([*sizes, "frame"], np.cumsum([0, *sizes.values()]).tolist(), strict=True))
        self._z = np.full(starts["frame"] + _ROW_SIZE * len(places), np.nan)
        self._a = self._z[starts["a"] : starts["a"] + nv]
        self._balance = self._z[starts["balance"] : starts["frame"]]
        self._rows = self._z[starts["frame"] :]
        self._motion = self._z[: starts["a"]]
        n = len(places)
        self._X, self._bending, self._modal = np.zeros((n, 12)), np.zeros((n, 6)), np.zeros((n, 6))
        kept = zip(places, self._X, self._bending, self._modal, strict=True)
        self._frames = [_Frame(model, *each) for each in kept]
        self._nodes = [frame for frame in self._frames if frame.node]
        self._bodies = np.array([frame.body for frame in self._frames], dtype=np.int64)
        self._quaternions = [source for source in sources if source[0] == "frame" and source[2] == "quaternion"]
        self._turned = np.array([places.index(source[1]) for source in self._quaternions], dtype=np.int64)
        self._asked = [source for source in sources if source[0] in ("joint", "loop")]
        self._rates = any(source[0] == "frame" and source[2] in _RATES for source in sources)
        bent = {source[1] for source in sources if source[0] == "frame" and source[2] in _BENDING}
        rows = self._rows.reshape(-1, _ROW_SIZE)
        self._bent = [(frame, row) for p, frame, row in zip(places, self._frames, rows, strict=True) if p in bent]
        self._accelerate = self._rates or ("a",) in sources
        self._weigh = any(source[0] == "balance" for source in sources)
        direct, turned, asked = [], [], []
        for k, (source, place) in enumerate(columns):
            if source in self._asked:
                asked.append((k, source, place))
            elif source in self._quaternions:
                turned.append((k, self._quaternions.index(source), place))
            else:
                direct.append((k, self._place(source, place, starts, places)))
        self._into, self._from = (np.array([pair[k] for pair in direct], dtype=np.int64) for k in range(2))
        self._turned_into, *self._turned_from = (np.array([t[k] for t in turned], dtype=np.int64) for k in range(3))
        self._answers = asked
        self._values = np.full(len(columns), np.nan)
        self._W, self._world = model.workspace(), np.empty(12 * (len(model.bodies) + 1))
        self._forward = loops.forward_dynamics if model.rows else articulated.forward_dynamics

    @staticmethod
    def _place(source: Source, place: int, starts: dict[str, int], places: list[str]) -> int:
        if source[0] == "balance":
            return starts["balance"] + _BALANCE[source[1]] + place
        if source[0] == "frame":
            return (
                starts["frame"]
                + _ROW_SIZE * places.index(source[1])
                + {**_ROW, **_RATES, **_BENDING}[source[2]]
                + place
            )
        return starts[source[0]] + place

    @property
    def has_quaternions(self) -> bool:
        """Whether there are rotations of frames, of which q and −q are the same."""
        return bool(self._quaternions)

    def signs(self, t: float, q: Array, v: Array, u: Array, before: Array | None = None) -> Array:
        """The quaternions of frames with the signs that continue those of the point before, one after another."""
        self._move(q, v, None)
        matrices = self._rows.reshape(-1, _ROW_SIZE)[self._turned, :9].reshape(-1, 3, 3)
        now = np.array(SO3Q.from_matrix(matrices))
        if before is not None:
            now[np.sum(now * before.reshape(now.shape), axis=1) < 0.0] *= -1.0
        return now

    def values(self, t: float, q: Array, v: Array, u: Array, signs: Array, computed: bool = True) -> Array:
        """All columns; without `computed`, those that are computed are what they were."""
        z, nq, nv = self._motion, self._nq, self._nv
        z[0] = t
        z[1 : 1 + nq] = q
        z[1 + nq : 1 + nq + nv] = v
        z[1 + nq + nv :] = u
        if computed:
            self._compute(t, q, v, u)
        self._values[self._into] = self._z[self._from]
        if computed and self._quaternions:
            which, place = self._turned_from
            self._values[self._turned_into] = signs.reshape(-1, 4)[which, place]
        return self._values

    def accelerations(self, t: float, q: Array, v: Array, u: Array) -> Array:
        """v̇; a view that the next call overwrites."""
        model = self.model
        status = self._forward(model.ints, model.floats, q, v, u, self._W, self._a)
        if status:
            raise DynamicsError(f"at t = {t:.6g} s: {model.singular((status - 1) // 2, modes=status % 2 == 0)}")
        return self._a

    def _compute(self, t: float, q: Array, v: Array, u: Array) -> None:
        model, W = self.model, self._W
        I, F = model.ints, model.floats
        if self._accelerate:
            self.accelerations(t, q, v, u)
        if self._weigh or self._frames:
            self._move(q, v, self._a if self._rates else None)
        for frame, row in self._bent:
            frame.away(row)
        if self._weigh:
            balance = self._balance
            inertia.inertias(I, F, q, False, W)
            observe.energies(I, F, q, v, W, self._world, balance)
            balance[13] = balance[0] + balance[1] + balance[2]
        if self._asked:
            found = Observer(model, np.array([t]), q[np.newaxis], v[np.newaxis], u[np.newaxis]).answer(self._asked)
            for k, source, place in self._answers:
                self._values[k] = found[source][0, place]

    def _move(self, q: Array, v: Array, a: Array | None) -> None:
        """Poses and twists of bodies, and the rows of frames."""
        model, W = self.model, self._W
        I, F = model.ints, model.floats
        kinematics.poses(I, F, q, W)
        kinematics.velocities(I, F, q, v, W)
        kinematics.world_poses(I, W, self._world, 0)
        if not self._frames:
            return
        if a is not None:
            inverse.accelerations(I, F, a, 0.0, W)
        for frame in self._nodes:
            frame.bend(q, v, a)
        _fill_rows(self._bodies, self._X, self._bending, self._modal, self._world, W, a is not None, self._rows)
