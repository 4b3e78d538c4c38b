"""Which numbers of a state are to be seen, as a plan for the kernels: the one observer of liegeo.

Results, the outputs of FMUs, the 3-D page and `dynamics` ask for *sources*; each has its place in a vector z:

    ("t",) ("q",) ("v",) ("u",) ("x",) ("a",)     time, coordinates, speeds, forces and inputs, states, accelerations
    ("required",)                                 generalised forces that the motion takes beside inputs and loops
    ("frame", "boom.tip", part)                   of a body, frame or node: FRAME_NUMBERS of kernels/observe.py
    ("joint", name)                               what the joint exerts on its child, at the child and in its axes
    ("resistance", name), ("friction", name)      what spring and damper, or Coulomb friction, of a joint oppose
    ("spring", name), ("damper", name)            what they oppose, one by one
    ("loop", name)                                what a loop exerts, the smallest where constraints are redundant
    ("coupling", name)                            what a gear, rack or coupling exerts on each of its coordinates
    ("sensor", name)                              what a sensor measures at every instant (kernels/sensing.py)
    ("force", name, part)                         of a force element: the parts of what its class `exerts`
    ("balance", part)                             of the whole model: BALANCE_NUMBERS of kernels/observe.py

Adding a quantity: docs/extending.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import DynamicsError
from liegeo.kernels import checked, observe, sensing
from liegeo.kernels import layout as at
from liegeo.model import contacts, forces, sensors
from liegeo.model.body import Node
from liegeo.model.constraints import Coupling, FrameConstraint
from liegeo.model.joints import Joint
from liegeo.model.model import Model
from liegeo.model.names import Source
from liegeo.recorded import floats

Array = NDArray[Any]

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
        fixed = {"t": 1, "q": nq, "v": nv, "u": n_u, "a": n_u, "required": nv, "balance": observe.BALANCE_NUMBERS.size}
        self._fixed = dict(zip([*fixed, "world"], np.cumsum([0, *fixed.values()]).tolist(), strict=True))
        self._end = self._fixed["world"] + 12 * (len(model.bodies) + 1)
        self.places = {source: self._place(source) for source in dict.fromkeys(sources)}
        if columns is None:
            picked = [k for place in self.places.values() for k in range(place.start, place.stop)]
        else:
            picked = [self._column(source, k) for source, k in columns]
        self.width, self.size = len(picked), self._end
        self.plan, self.data = self._lay_out(picked), floats(self._data)
        # z as it is, with what is known anyway: no task, no pass
        self.known = self.plan.copy()
        self.known[[observe.PASSES, observe.N_TASKS]] = 0
        for constant in (self.plan, self.known, self.data):
            # to kernels of the same type as I and F, for which what they call is compiled anyway
            constant.setflags(write=False)
        # Whether it computes accelerations; and the kernel that shows one state.
        self.solves = self._solve and solve
        self.kernel: Any
        if not self.solves:
            self.kernel, self._many, self.checked = observe.show, observe.show_samples, checked.show
        elif model.rows:
            self.kernel, self._many = observe.solved_loops, observe.solved_loops_samples
            self.checked = checked.solved_loops
        else:
            self.kernel, self._many, self.checked = observe.solved, observe.solved_samples, checked.solved

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
        return int(self.kernel(self.plan, self.data, model.ints, model.floats, t, q, v, u, work, z, out))

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
        if what == "frame" and rest[1] in observe.FRAME_NUMBERS.parts:
            return self._frame(source)
        if what == "balance" and rest[0] in observe.BALANCE_NUMBERS.parts:
            self._passes |= observe.POSES | observe.TWISTS | observe.WEIGH
            shown = observe.BALANCE_NUMBERS.parts[rest[0]]
            return self._within(self._fixed["balance"], (shown.start, shown.size))
        if what == "force":
            return self._force(source)
        if what == "joint" and rest[0] in self._joints:
            self._passes |= observe.REACT
            self._solve = True
            return self._task(source, observe.REACTION, self._joints[rest[0]], 6)
        if what in _OF_JOINTS and rest[0] in self._joints:
            kind, i = _OF_JOINTS[what], self._joints[rest[0]]
            return self._task(source, kind, i, int(model.ints[at.HEADER + i * at.BODY_I_SIZE + at.NV]))
        if what == "loop":
            return self._loop(source)
        if what == "coupling":
            return self._coupling(source)
        if what == "sensor":
            return self._sensor(source)
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
        if observe.FRAME_NUMBERS.parts[part].bends and not isinstance(where, Node):
            raise not_implemented(source)
        return self._frame_on(("frame", name), body, where, part)

    def _frame_on(self, key: Source, body: int, where: Array | Node, part: str) -> slice:
        """Return where a part of the numbers of a frame on a body, or on the world (-1), stands."""
        shown = observe.FRAME_NUMBERS.parts[part]
        self._passes |= observe.POSES | shown.passes
        self._solve |= bool(shown.passes & observe.RATES)
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
        return self._within(self._tasks[key][observe.PLACE], (shown.start, shown.size))

    def _part_at(self, sensor: sensors.Sensor, field: str, part: str) -> int:
        """Return where a part of the numbers of a frame begins that a field of a sensor names."""
        place, model = getattr(sensor, field), self.model
        bodies = {model.body(i).name: model.body(i) for i in range(len(model.bodies))}
        found = sensors.find_place(place, sensor.owner.field(field), bodies)
        if found.body is None:
            return self._frame_on(("place", sensor.name, field), -1, found.where, part).start
        body = model.bodies.index(found.owner)
        if isinstance(place, str):
            return self._frame_on(("frame", place), body, model.frame(place)[1], part).start
        return self._frame_on(("place", sensor.name, field), body, found.where, part).start

    def _sensor(self, source: Source) -> slice:
        """Return where the numbers of a sensor stand, and see to it that what it measures is found before."""
        sensor = next((each for each in self.model.tree.sensors if each.name == source[1]), None)
        if sensor is None:
            raise not_implemented(source)
        numbers = self._sensed(sensor)
        if numbers is None:
            raise not_implemented(source)
        kind, a, b, c = numbers
        chain = sensor.chain()[:, 1:]
        n = 0 if sensor.samples or (np.isinf(chain[:, 0]).all() and not chain[:, 1].any()) else len(chain)
        found = self._task(source, kind, a, sensor.size)
        self._tasks[source][sensing.B :] = [b, c, n, len(self._data)]
        self._data += chain[:n].ravel().tolist()
        return found

    def _sensed(self, sensor: sensors.Sensor) -> tuple[int, int, int, int] | None:
        """Return the task of a sensor and its A, B and C (kernels/sensing.py)."""
        part = self._part_at
        if isinstance(sensor, sensors.Accelerometer):
            return sensing.SPECIFIC_FORCE, part(sensor, "at", "pose"), part(sensor, "at", "acceleration"), 0
        if isinstance(sensor, sensors.Gyro):
            return sensing.COPY, part(sensor, "at", "twist.angular"), 3, 0
        if isinstance(sensor, sensors.Inclinometer):
            # of gravity, which stands in u, they know as energies do
            return sensing.GRAVITY, part(sensor, "at", "pose"), 0, 0
        if isinstance(sensor, sensors.DistanceSensor | sensors.RelativeMotion):
            behind = part(sensor, "a", "angular_velocity") - part(sensor, "a", "pose")
            part(sensor, "b", "velocity")
            kind = sensing.SEPARATION if isinstance(sensor, sensors.DistanceSensor) else sensing.RELATIVE
            return kind, part(sensor, "a", "pose"), part(sensor, "b", "pose"), behind
        if isinstance(sensor, sensors.StrainGauge):
            bodies = {self.model.body(i).name: self.model.body(i) for i in range(len(self.model.bodies))}
            owner, shares = sensor.shares(bodies)
            eta = self._fixed["q"] + self.model.modal_slice(self.model.bodies.index(owner), at.EQ).start
            self._data += list(shares)
            return sensing.STRAIN, eta, len(shares), len(self._data) - len(shares)
        if isinstance(sensor, sensors.Encoder | sensors.Tachometer):
            row = at.HEADER + self._joints[sensor.joint] * at.BODY_I_SIZE
            if isinstance(sensor, sensors.Encoder):
                return sensing.COPY, self._fixed["q"] + int(self.model.ints[row + at.JQ]) + sensor.coordinate, 1, 0
            return sensing.COPY, self._fixed["v"] + int(self.model.ints[row + at.JV]) + sensor.speed, 1, 0
        if isinstance(sensor, sensors.ForceTorque):
            wrench = self._place(("joint", sensor.joint)).start
            child = self.model.bodies[self._joints[sensor.joint]]
            pose = self._frame(("frame", child, "pose")).start
            return sensing.WRENCH, wrench, pose, pose if sensor.at is None else part(sensor, "at", "pose")
        return None

    def _coupling(self, source: Source) -> slice:
        loop = next((loop for loop in self.model.tree.loops if loop.name == source[1]), None)
        if not isinstance(loop, Coupling):
            raise not_implemented(source)
        multiplier, factors = self._loop(("loop", loop.name)).start, list(loop.factors().values())
        found: slice = slice(0, 0)
        for k, factor in enumerate(factors):
            # one number each, which stand one behind another
            key = (*source, str(k))
            place = self._task(key, sensing.SCALED, multiplier, 1)
            self._tasks[key][sensing.B :] = [1, len(self._data), 0, 0]
            self._data.append(factor)
            found = slice(place.start if k == 0 else found.start, place.stop)
        return found

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
        parts, end = {}, 0
        for part in force.exerts if force is not None else ():
            parts[part.name] = (end, len(part.components))
            end += len(part.components)
        if force is None or wanted not in parts:
            raise not_implemented(source)
        kind, first, length, size = _task_of(force)
        # parts that do not fit the numbers of the task would be others' numbers
        if end > size:
            raise not_implemented(source)
        alike = [other for other in self.model.tree.forces if _has_row(other, first)]
        row = int(self.model.ints[first]) + length * alike.index(force)
        # what exact friction holds is known when accelerations are
        self._solve |= isinstance(force, forces.JointForce) and force.has_multiplier
        if kind in (observe.ELEMENT, observe.CONTACT, observe.CROWD):
            self._passes |= observe.POSES | observe.TWISTS | observe.ELEMENTS
        return self._within(self._task(source[:2], kind, row, size).start, parts[wanted])


# By source, the task that finds what a joint has of it.
_OF_JOINTS = {
    "resistance": observe.RESISTANCE,
    "friction": observe.FRICTION,
    "spring": observe.SPRING,
    "damper": observe.DAMPER,
}


def _task_of(force: forces.Force) -> tuple[int, int, int, int]:
    """Return the task that finds what an element exerts, its rows (first, length), and how many numbers it finds."""
    if isinstance(force, forces.Actuator):
        return observe.MOTOR, at.ACTUATORS, at.ACTUATOR_SIZE, 2
    if isinstance(force, forces.JointForce):
        return observe.ON_JOINTS, at.JOINT_ELEMENTS, at.JE_SIZE, 4
    if isinstance(force, contacts.Contact):
        return observe.CONTACT, at.ELEMENTS, at.ELEMENT_SIZE, 9
    if isinstance(force, contacts.Contacts):
        return observe.CROWD, at.ELEMENTS, at.ELEMENT_SIZE, 3 + 3 * len(force.among)
    return observe.ELEMENT, at.ELEMENTS, at.ELEMENT_SIZE, 6


def _has_row(force: forces.Force, table: int) -> bool:
    """Whether a force element has a row in a table of the kernels."""
    if table == at.ACTUATORS:
        return isinstance(force, forces.Actuator)
    if table == at.JOINT_ELEMENTS:
        return isinstance(force, forces.JointForce) and force.has_row
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
