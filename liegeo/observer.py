"""Which numbers of a state are to be seen, as a plan for the kernels: the one observer of liegeo.

Results, the outputs of FMUs, the 3-D page and `dynamics` ask for *sources*; each has its place in a vector z:

    ("t",) ("q",) ("v",) ("u",) ("x",) ("a",)     time, coordinates, speeds, forces and inputs, states, accelerations
    ("required",)                                 generalised forces that the motion takes beside inputs and loops
    ("frame", "boom.tip", part)                   of a body, frame or node: FRAME_PARTS
    ("joint", name)                               what the joint exerts on its child, at the child and in its axes
    ("resistance", name), ("friction", name)      what spring and damper, or Coulomb friction, of a joint oppose
    ("loop", name)                                what a loop exerts, the smallest where constraints are redundant
    ("force", name, part)                         of a force element: the parts of what its class `exerts`
    ("balance", part)                             of the whole model: BALANCE_PARTS

Adding a quantity: its source here, its numbers in kernels/observe.py, its name and unit in model/names.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import DynamicsError
from liegeo.kernels import checked, observe
from liegeo.kernels import layout as at
from liegeo.model import forces
from liegeo.model.body import Node
from liegeo.model.constraints import FrameConstraint
from liegeo.model.joints import Joint
from liegeo.model.model import Model
from liegeo.model.names import Source

Array = NDArray[Any]
_Parts = Mapping[str, tuple[int, int]]

#: By part of a frame: where it begins among the numbers of the frame, and how many it has.
FRAME_PARTS: _Parts = MappingProxyType(
    {
        "pose": (0, 12),
        "position": (9, 3),
        "quaternion": (observe.QUATERNION, 4),
        "twist": (observe.TWIST, 6),
        "twist.angular": (observe.TWIST, 3),
        "twist.linear": (observe.TWIST + 3, 3),
        "rate": (observe.RATE, 6),
        "angular_velocity": (observe.VELOCITIES, 3),
        "velocity": (observe.VELOCITIES + 3, 3),
        "angular_acceleration": (observe.ACCELERATIONS, 3),
        "acceleration": (observe.ACCELERATIONS + 3, 3),
        "deflection": (observe.BENDING, 3),
        "tilt": (observe.BENDING + 3, 3),
    }
)
_POSES = ("pose", "position", "quaternion", "deflection", "tilt")
_RATES = ("rate", "angular_acceleration", "acceleration")

#: The same of the whole model.
BALANCE_PARTS: _Parts = MappingProxyType(
    {
        "energy": (observe.ENERGY, 1),
        "energy.kinetic": (0, 1),
        "energy.gravitational": (1, 1),
        "energy.elastic": (2, 1),
        "momentum.angular": (3, 3),
        "momentum.linear": (6, 3),
        "mass": (observe.MASS, 1),
        "center": (observe.CENTER, 3),
        "all": (0, observe.BALANCE_SIZE),
    }
)

# By force element: the task that finds what its class says that it exerts, and how many numbers that task finds.
_TASK_OF: Mapping[type[forces.Force], tuple[int, int]] = MappingProxyType(
    {
        forces.SpringDamper: (observe.TENSION, 3),
        forces.Bushing: (observe.WRENCH_OF_BUSHING, 6),
        forces.PointForce: (observe.WRENCH_OF_LOAD, 6),
        forces.Actuator: (observe.MOTOR, 2),
        forces.BristleFriction: (observe.BRISTLES, 1),
    }
)
# The rows in which the kernels find an element: where they begin, and how long one is.
_ROWS_OF = {forces.Actuator: (at.ACTUATORS, at.ACTUATOR_SIZE), forces.BristleFriction: (at.STATES, at.STATE_SIZE)}


#: How many observers a model keeps: one for each frame of a large structure would hold as much as the model.
MOST_KEPT = 64


def not_implemented(source: Source) -> DynamicsError:
    """Return the error for a quantity that has a name and a unit, and nothing that computes it."""
    return DynamicsError(f"result: nothing computes the quantity '{'.'.join(source[1:] or source)}'.")


class Observer:
    """A plan for `sources` of a model; it never changes, and threads may share it.

    `places` says where each source stands in the vector z; `columns`, pairs of a source and a number in it, are what
    rows hold (all numbers of all sources, if not given).  Without `solve`, accelerations are not computed: the caller
    puts them into z.
    """

    def __init__(
        self,
        model: Model,
        sources: Iterable[Source],
        columns: Sequence[tuple[Source, int]] | None = None,
        solve: bool = True,
    ) -> None:
        self.model = model
        self._joints = {name: i for i, name in enumerate(model.joints)}
        self._tasks: dict[Source, list[int]] = {}
        self._node_rows: list[int] = []
        self._data: list[float] = []
        self._passes, self._solve = 0, False
        nq, nv, n_u = model.nq, model.nv, int(model.ints[at.N_U])
        fixed = {"t": 1, "q": nq, "v": nv, "u": n_u, "a": n_u, "required": nv, "balance": observe.BALANCE_SIZE}
        self._fixed = dict(zip([*fixed, "world"], np.cumsum([0, *fixed.values()]).tolist(), strict=True))
        self._end = self._fixed["world"] + 12 * (len(model.bodies) + 1)
        self.places = {source: self._place(source) for source in dict.fromkeys(sources)}
        if columns is None:
            picked = [k for place in self.places.values() for k in range(place.start, place.stop)]
        else:
            picked = [self._column(source, k) for source, k in columns]
        self.width, self.size = len(picked), self._end
        self.plan, self.data = self._lay_out(picked), np.array(self._data)
        # z as it is, with what is known anyway: no task, no pass
        self.known = self.plan.copy()
        self.known[[observe.PASSES, observe.N_TASKS]] = 0
        for constant in (self.plan, self.known, self.data):
            # to kernels of the same type as I and F, for which what they call is compiled anyway
            constant.setflags(write=False)
        # Whether it computes accelerations.
        self.solves = self._solve and solve
        if not self.solves:
            self._one, self._many, self.checked = observe.show, observe.show_samples, checked.show
        elif model.rows:
            self._one, self._many = observe.solved_loops, observe.solved_loops_samples
            self.checked = checked.solved_loops
        else:
            self._one, self._many, self.checked = observe.solved, observe.solved_samples, checked.solved

    # ---- what kernels are called with

    def numbers(self, dtype: Any = np.float64) -> Array:
        """Return a vector z for calls one after another."""
        return np.full(self.size, np.nan, dtype)

    def accelerations(self, z: Array) -> Array:
        """Return the accelerations in z, a view."""
        start = self._fixed["a"]
        return z[start : start + self.model.nv]

    def observe(self, t: float, q: Array, v: Array, u: Array, work: Array, z: Array, out: Array) -> int:
        """Fill z, and the row `out`; returns the status of forward dynamics.  u may be empty if nothing needs it."""
        model = self.model
        return int(self._one(self.plan, self.data, model.ints, model.floats, t, q, v, u, work, z, out))

    def show_known(self, t: float, q: Array, v: Array, u: Array, work: Array, z: Array, out: Array) -> None:
        """Renew what needs no computation; all else in the row is what it was."""
        model = self.model
        observe.show(self.known, self.data, model.ints, model.floats, t, q, v, u, work, z, out)

    def samples(self, t: Array, q: Array, v: Array, u: Array) -> tuple[int, Array]:
        """Return how many samples could be observed, and a row for each; u as the kernels have it."""
        model = self.model
        out = np.empty((len(t), self.width))
        arrays = (np.array(x, dtype=np.float64, order="C") for x in (t, q, v, u))
        work, z = model.workspace(), self.numbers()
        done = self._many(self.plan, self.data, model.ints, model.floats, *arrays, work, z, out)
        model.check_custom()
        return int(done), out

    # ---- the plan

    def _lay_out(self, picked: Sequence[int]) -> NDArray[np.int64]:
        tasks = list(self._tasks.values())
        nodes_at = observe.PLAN_HEADER + observe.TASK_SIZE * len(tasks)
        for task in tasks:
            if task[observe.KIND] == observe.FRAME and task[observe.NODE] >= 0:
                task[observe.NODE] += nodes_at
        header = [0] * observe.PLAN_HEADER
        header[observe.PASSES] = self._passes
        header[observe.N_TASKS], header[observe.TASKS] = len(tasks), observe.PLAN_HEADER
        header[observe.N_COLUMNS], header[observe.COLUMNS] = len(picked), nodes_at + len(self._node_rows)
        for place, name in (
            (observe.A, "a"),
            (observe.REQUIRED, "required"),
            (observe.BALANCE, "balance"),
            (observe.WORLD, "world"),
        ):
            header[place] = self._fixed[name]
        rows = [number for task in tasks for number in task]
        return np.array([*header, *rows, *self._node_rows, *picked], dtype=np.int64)

    def _column(self, source: Source, k: int) -> int:
        place = self.places[source]
        if not 0 <= k < place.stop - place.start:
            raise not_implemented(source)
        return place.start + k

    def _place(self, source: Source) -> slice:
        """Return where a source stands in z, and see to it that it is found."""
        what, *rest = source
        model = self.model
        if what == "frame" and rest[1] in FRAME_PARTS:
            return self._frame(source)
        if what == "balance" and rest[0] in BALANCE_PARTS:
            self._passes |= observe.POSES | observe.TWISTS | observe.WEIGH
            return self._within(self._fixed["balance"], BALANCE_PARTS[rest[0]])
        if what == "force":
            return self._force(source)
        if what == "joint" and rest[0] in self._joints:
            self._passes |= observe.REACT
            self._solve = True
            return self._task(source, observe.REACTION, self._joints[rest[0]], 6)
        if what in ("resistance", "friction") and rest[0] in self._joints:
            kind, i = observe.RESISTANCE if what == "resistance" else observe.FRICTION, self._joints[rest[0]]
            return self._task(source, kind, i, int(model.ints[at.HEADER + i * at.BODY_I_SIZE + at.NV]))
        if what == "loop":
            return self._loop(source)
        nv, nu = model.nv, model.nu
        vectors = {"t": 1, "q": model.nq, "v": nv, "u": nv + nu, "x": model.nx, "a": nv, "required": nv}
        if rest or what not in vectors:
            raise not_implemented(source)
        self._solve |= what in ("a", "required")
        self._passes |= observe.REACT if what == "required" else 0
        start = self._fixed["u"] + nv + nu if what == "x" else self._fixed[what]
        return slice(start, start + vectors[what])

    @staticmethod
    def _within(start: int, part: tuple[int, int]) -> slice:
        return slice(start + part[0], start + part[0] + part[1])

    def _task(self, key: Source, kind: int, owner: int, size: int) -> slice:
        """Return where the numbers of a task stand in z; the same key is the same task."""
        if key not in self._tasks:
            self._tasks[key] = [kind, self._end, owner, -1, 0, 0, 0]
            self._end += size
        start = self._tasks[key][observe.PLACE]
        return slice(start, start + size)

    def _frame(self, source: Source) -> slice:
        _, name, part = source
        body, where = self.model.frame(name)
        if part in ("deflection", "tilt") and not isinstance(where, Node):
            raise not_implemented(source)
        self._passes |= observe.POSES
        self._passes |= 0 if part in _POSES else observe.TWISTS
        if part in _RATES:
            self._passes |= observe.RATES
            self._solve = True
        key = ("frame", name)
        if key not in self._tasks:
            n = self.model.body(body).n_modes if isinstance(where, Node) else 0
            self._task(key, observe.FRAME, body, observe.MODES + 6 * n)
            self._tasks[key][observe.NODE :] = [-1, 0, 0, len(self._data)]
            if isinstance(where, Node):
                q, v = (self.model.modal_slice(body, column).start for column in (at.EQ, at.EV))
                self._tasks[key][observe.NODE :] = [len(self._node_rows), q, v, len(self._data)]
                first = len(self._data) + at.NODE_MODES + 6 * n
                self._node_rows += [len(self._data), n, -1 if where.second is None else first]
            self._data += self._numbers_of(where)
        return self._within(self._tasks[key][observe.PLACE], FRAME_PARTS[part])

    @staticmethod
    def _numbers_of(where: Array | Node) -> list[float]:
        """Return a pose, or a node's data as kernels/nodes.py reads them, which begin with its undeformed pose."""
        X = np.asarray(where.pose) if isinstance(where, Node) else where
        pose = [*X[:3, :3].ravel(), *X[:3, 3]]
        if not isinstance(where, Node):
            return pose
        second = [] if where.second is None else [*np.asarray(where.second).ravel()]
        return [*pose, *np.asarray(where.modes).ravel(), *second]

    def _loop(self, source: Source) -> slice:
        names = [loop.name for loop in self.model.tree.loops]
        if source[1] not in names:
            raise not_implemented(source)
        loop = self.model.tree.loops[names.index(source[1])]
        row = int(self.model.ints[at.CONSTRAINTS]) + names.index(source[1]) * at.CONSTRAINT_SIZE
        size = 6 if isinstance(loop, Joint | FrameConstraint) else int(self.model.ints[row + at.C_N])
        self._solve = True
        return self._task(source, observe.LOOP, row, size)

    def _force(self, source: Source) -> slice:
        _, name, wanted = source
        force = next((force for force in self.model.tree.forces if force.name == name), None)
        if force is None or type(force) not in _TASK_OF:
            raise not_implemented(source)
        kind, size = _TASK_OF[type(force)]
        parts, end = {}, 0
        for part in force.exerts:
            parts[part.name] = (end, len(part.components))
            end += len(part.components)
        # parts that do not fit the numbers of the task would be others' numbers
        if wanted not in parts or end != size:
            raise not_implemented(source)
        first, length = _ROWS_OF.get(type(force), (at.ELEMENTS, at.ELEMENT_SIZE))
        alike = [other for other in self.model.tree.forces if _has_row(other, first)]
        row = int(self.model.ints[first]) + length * alike.index(force)
        if kind in (observe.TENSION, observe.WRENCH_OF_BUSHING):
            self._passes |= observe.POSES | observe.TWISTS | observe.ELEMENTS
        return self._within(self._task(source[:2], kind, row, size).start, parts[wanted])


def _has_row(force: forces.Force, table: int) -> bool:
    """Whether a force element has a row in a table of the kernels."""
    if table == at.ACTUATORS:
        return isinstance(force, forces.Actuator)
    if table == at.STATES:
        return force.n_states > 0
    return not isinstance(force, forces.JointForce)


def observer_of(
    model: Model, sources: tuple[Source, ...], columns: tuple[tuple[Source, int], ...] | None = None, solve: bool = True
) -> Observer:
    """Return an observer; a model keeps those that were asked for last."""
    key, kept = (sources, columns, solve), model.observers
    found: Observer | None = kept.get(key)
    if found is None:
        if len(kept) >= MOST_KEPT:
            kept.clear()
        found = kept[key] = Observer(model, sources, columns, solve)
    return found
