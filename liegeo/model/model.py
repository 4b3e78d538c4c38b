"""A compiled model: names for people, flat read-only arrays for kernels; and its state."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo.errors import Fault, Field, InputError, Owner
from liegeo.kernels import layout as at
from liegeo.lie import Group, Product, R
from liegeo.model import notebook
from liegeo.model.body import Body, FlexibleBody, Node
from liegeo.model.checks import LARGEST, array_of, as_numbers, as_whole, check_size, numbers_of, split_name, suggest
from liegeo.model.grammar import TIME
from liegeo.model.laws import MotionLaw, laws_of
from liegeo.model.names import Names
from liegeo.model.state import Index as Index
from liegeo.model.state import State as State
from liegeo.recorded import floats, joined, room, values_of
from liegeo.status import NOT_FINITE, WORDS, block

if TYPE_CHECKING:
    from liegeo.calculator import Calculator
    from liegeo.model.custom import CustomRows
    from liegeo.model.tree import Tree

Array = NDArray[Any]
T = TypeVar("T")


class Row(NamedTuple):
    """One row of a constraint: whose it is, and what it keeps from moving."""

    loop: str
    what: str


class _Calculators(threading.local):
    """The calculators of `liegeo.dynamics`, whose scratch two threads must not share.

    Nor may a call that is made in the middle of another one, by the function of a Custom constraint: `depth` is the
    number of such functions that run in this thread, and each depth has a calculator.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.found: dict[int, Calculator] = {}


def once_per_model(function: Callable[[Model], T]) -> Callable[[Model], T]:
    """Return the function, which is called once for each model: a model never changes."""
    found: weakref.WeakKeyDictionary[Model, T] = weakref.WeakKeyDictionary()

    @functools.wraps(function)
    def remembered(model: Model) -> T:
        if model not in found:
            found[model] = function(model)
        return found[model]

    return remembered


class Model:
    """What `Tree.compile` makes.  It never changes."""

    def __init__(
        self,
        tree: Tree,
        ints: NDArray[np.int64],
        floats: NDArray[np.float64],
        group: Product | None,
        inputs: Mapping[str, slice],
        rows: tuple[Row, ...] = (),
        states: Mapping[str, slice] = MappingProxyType({}),
    ) -> None:
        self.tree = tree
        # By name of a force element: where its first-order states stand in x.
        self.states = states
        # What each row of the constraints is.
        self.rows = rows
        # Functions of a user's own that the kernels call by their addresses in `ints` (custom.py).
        self.custom: tuple[CustomRows, ...] = ()
        self.group = group
        # By name of a force element: where its inputs stand among all inputs.
        self.inputs = inputs
        self.ints = ints
        self.floats = floats
        # Numbers of coordinates, speeds, first-order states and inputs.
        self.nq, self.nv, self.nx = (int(ints[place]) for place in (at.N_Q, at.N_V, at.N_X))
        self.nu = int(ints[at.N_U]) - self.nv - self.nx - 3
        ints.setflags(write=False)
        floats.setflags(write=False)
        joints = tree.all_joints
        self.bodies: tuple[str, ...] = tuple(joints[i].child for i in tree._order)
        self.joints: tuple[str, ...] = tuple(joints[i].name for i in tree._order)
        self._by_name = {body.name: body for body in tree.all_bodies}
        # Plans of what can be seen of it (liegeo/observer.py), which live as long as the model.
        self.observers: dict[Any, Any] = {}
        self.calculators = _Calculators()

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles keep the bits of the arrays; what cannot be sent to another process is made there."""
        return _restored, (self.tree, self.ints, self.floats, dict(self.inputs), self.rows, dict(self.states))

    @property
    def state_owners(self) -> tuple[str, ...]:
        """By first-order state the element that has it, for messages."""
        owners = {force.name: str(force.owner) for force in self.tree.forces}
        return tuple(owners[name] for name, place in self.states.items() for _ in range(place.stop - place.start))

    @functools.cached_property
    def times(self) -> tuple[str, ...]:
        """Names of inputs that are the time: of laws by formulas that take it."""
        taken = (f"{force.name}.{TIME}" for force in self.tree.forces if getattr(force, "takes_time", False))
        return tuple(name for name in taken if name in self.inputs)

    def __repr__(self) -> str:
        modes = sum(body.n_modes for body in self.tree.bodies)
        bodies = "1 body" if len(self.bodies) == 1 else f"{len(self.bodies)} bodies"
        of_them = f" ({modes} of them modes, {self.tree.fidelity})" if modes else ""
        loops = "1 loop" if len(self.tree.loops) == 1 else f"{len(self.tree.loops)} loops"
        held = f", {loops} with {len(self.rows)} constraint{'s' * (len(self.rows) > 1)}" if self.rows else ""
        return f"<model '{self.tree.name}': {bodies}, {self.nv} degrees of freedom{of_them}{held}>"

    def _repr_html_(self) -> str:
        return notebook.model_html(self)

    def body(self, i: int) -> Body | FlexibleBody:
        """The body with the index that the kernels use."""
        return self._by_name[self.bodies[i]]

    def frame(self, name: str) -> tuple[int, NDArray[np.float64] | Node]:
        """Index of the body and place on it of "body", "body.frame" or "body.node"."""
        owner, rest = split_name(name, self._by_name)
        if owner not in self._by_name:
            raise InputError(f"frame '{name}': '{owner}' is not a body of the model.{suggest(owner, self.bodies)}")
        i = self.bodies.index(owner)
        body = self.body(i)
        if not rest:
            return i, np.eye(4)
        nodes = dict(body.nodes) if isinstance(body, FlexibleBody) else {}
        if rest in body.frames:
            return i, np.asarray(body.frames[rest])
        if rest in nodes:
            return i, nodes[rest]
        raise InputError(
            f"frame '{name}': body '{owner}' has no frame or node '{rest}'.{suggest(rest, [*body.frames, *nodes])}"
        )

    @functools.cached_property
    def names(self) -> Names:
        """The columns of results by name, which are also the names of what a state holds and a calculator shows."""
        return Names(self)

    def index(self, name: str) -> Index:
        """Return where the numbers of a joint, flexible body, force element or motion stand in q, v, x and inputs.

        Names are those that `state` takes, and `initial` and `inputs` of model files.
        """
        q, v = ({}, {}) if self.group is None else (self.group.q, self.group.v)
        places = {"q": q, "v": v, "x": self.states, "inputs": self.inputs}
        found = {what: owners[name] for what, owners in places.items() if name in owners}
        if not found:
            known = list(dict.fromkeys([*q, *self.states, *self.inputs]))
            raise InputError(f"index: '{name}' has no coordinates, states or inputs.{suggest(str(name), known)}")
        return Index(name, **found)

    def calculator(self) -> Calculator:
        """Return a calculator: dynamics of this model for loops, with scratch of its own (liegeo/calculator.py)."""
        from liegeo.calculator import Calculator

        return Calculator(self)

    def modal_slice(self, i: int, column: int) -> slice:
        """Where the modes of body i stand in q (column EQ) or in v (EV)."""
        row = at.HEADER + i * at.BODY_I_SIZE
        start = int(self.ints[row + column])
        return slice(start, start + int(self.ints[row + at.NM]))

    def lock(self, *joints: str, speeds: Mapping[str, Sequence[int]] | None = None) -> Model:
        """The same model with the speeds of these joints locked, or only those given by index; nothing is recompiled.

        A locked speed does not accelerate; what holds it is in `dynamics.lock_forces`.  `lock()` frees everything.
        """
        if speeds is not None and not isinstance(speeds, Mapping):
            raise InputError(f"lock: speeds is {speeds!r}, expected a mapping of joints to indices of speeds.")
        some: Mapping[str, Sequence[int]] = {} if speeds is None else speeds
        ints = self.ints.copy()
        ints[at.HEADER + at.LOCKED : at.HEADER + len(self.bodies) * at.BODY_I_SIZE : at.BODY_I_SIZE] = 0
        for name in (*joints, *some):
            if name not in self.joints:
                raise InputError(f"lock: '{name}' is not a joint of the model.{suggest(str(name), self.joints)}")
            row = at.HEADER + self.joints.index(name) * at.BODY_I_SIZE
            n = int(ints[row + at.NV])
            for k in range(n) if name in joints else _indices(name, some[name]):
                if not 0 <= k < n:
                    there = f"expected 0 to {n - 1}" if n else "it has none at all"
                    raise InputError(f"lock: joint '{name}' has no speed {k}, {there}.")
                ints[row + at.LOCKED] |= 1 << k
        model = Model(self.tree, ints, self.floats, self.group, self.inputs, self.rows, self.states)
        model.custom = self.custom
        return model

    def check_custom(self) -> None:
        """Raise what a constraint's function raised while kernels, which cannot, called it."""
        for rows in self.custom:
            rows.check()

    @property
    def fingerprint(self) -> NDArray[np.int64]:
        """`ints` without addresses, which change from process to process."""
        ints = self.ints.copy()
        for rows in self.custom:
            ints[rows.place] = 0
        return ints

    @property
    def locked(self) -> NDArray[np.bool_]:
        """Which speeds are locked."""
        out = np.zeros(self.nv, dtype=bool)
        for i in range(len(self.bodies)):
            row = at.HEADER + i * at.BODY_I_SIZE
            for k in range(int(self.ints[row + at.NV])):
                out[int(self.ints[row + at.JV]) + k] = self.ints[row + at.LOCKED] >> k & 1
        return out

    @property
    def locks(self) -> dict[str, list[int]]:
        """By joint, the speeds that are locked: `other.lock(speeds=model.locks)` locks the same of another model."""
        return self.speeds_where(self.locked)

    def speeds_where(self, marked: NDArray[np.bool_]) -> dict[str, list[int]]:
        """Return by joint the speeds that are marked, as `lock` takes them."""
        places = {} if self.group is None else self.group.v
        found = {name: np.flatnonzero(marked[places[name]]).tolist() for name in self.joints if name in places}
        return {name: numbers for name, numbers in found.items() if numbers}

    def failure(self, status: int) -> Fault:
        """Return what a status of the kernels of the tree means, other than 0 (liegeo/status.py)."""
        if status == NOT_FINITE:
            return Owner(repr(self)).fault(
                "the inertia in this state is not a finite number",
                advice="Coordinates or modes are too large: the motion has blown up, or the state is wrong.",
            )
        if status < 0:
            return Owner(repr(self)).fault(WORDS[status])
        i, modes = block(status)
        name = self.bodies[i]
        stiffened = [b.name for b in self.tree.bodies if isinstance(b, FlexibleBody) and np.any(np.asarray(b.C_t1))]
        more = (
            f"\nWith terms of second order (stiffening, masses beside their nodes), as of '{stiffened[0]}', bending"
            "\ncan do that too: give stiffening to fewer modes, as in stiffening=4, or make the body of several"
            "\npieces (liegeo.flex.substructure)."
            if stiffened
            else ""
        )
        if modes:
            return self.body(i).owner.fault(
                "the mass of its modes is not positive when its joint is held",
                advice="A combination of its modes moves it as a rigid body, or repeats another one. "
                f"Leave one of them out.{more}",
            )
        joint = next(j for j in self.tree.all_joints if j.name == self.joints[i])
        return joint.owner.fault(
            "the inertia that it moves is not positive",
            advice=f"If the bodies outboard have none in its direction, give '{name}' mass and moments of inertia,\n"
            "give the joint an armature, or make it Fixed. If axes of the joint line up in this position, make it\n"
            f"Spherical. If modes repeat the joint's motion, leave one of them out.{more}",
        )

    def workspace(self, dtype: Any = np.float64) -> Array:
        """Scratch for the kernels: meaningless between calls, but for multipliers, which are zero at first."""
        work = np.full(int(self.ints[at.N_WORK]), np.nan, dtype)
        work[self.row_slice(at.LAMBDA)] = 0.0
        return work

    def row_slice(self, column: int) -> slice:
        """Where what belongs to the rows of the constraints stands in a workspace."""
        start, m = int(self.ints[at.ROWS_W]), len(self.rows)
        return slice(start + column * m, start + (column + 1) * m)

    def state(self, q: Any = None, v: Any = None, t: float = 0.0, x: Any = None) -> State:
        """Return a state from full vectors, or from values by name; what is not named is at rest in the zero position.

        `x` are the first-order states of force elements, zero if not given.
        """
        time = as_numbers(t)
        if time is None or time.shape != () or not np.isfinite(time):
            raise InputError(f"t is {t!r}, expected a finite number of seconds.")
        check_size(Field(None, ("t",)), time, InputError)
        return State(self.configuration(q), self.speeds("v", v), float(time), self._states(x), self)

    def unpack(self, y: Array, t: float = 0.0) -> State:
        """Return the state whose numbers are y (State.y), in arrays of its own."""
        q, v, x = self.parts(y)
        return State(q.copy(), v.copy(), float(t), x.copy(), self)

    def parts(self, y: Array) -> tuple[Array, Array, Array]:
        """Return views of q, v and x in the numbers y of a state, or of many states, a row each."""
        nq, nv, nx = self.nq, self.nv, self.nx
        start = nq + nx
        return y[..., :nq], y[..., start : start + nv], y[..., start + nv :]

    def check(self, state: Any, who: str = "dynamics") -> None:
        """That this is a state of this model, in finite numbers."""
        if not isinstance(state, State):
            raise InputError(f"{who}: state is {state!r}, expected a State: model.state(…).")
        q, v, x = (array_of(part) for part in (state.q, state.v, state.x))
        if q.shape != (self.nq,) or v.shape != (self.nv,):
            raise InputError(
                f"{who}: the state has coordinates of shape {q.shape} and speeds of shape {v.shape}, expected "
                f"({self.nq},) and ({self.nv},): it is of another model.\n  Make it by model.state(…)."
            )
        if x.shape != (self.nx,):
            raise InputError(
                f"{who}: the state has first-order states x of shape {x.shape}, expected ({self.nx},): those of "
                f"{', '.join(self.state_owners) or 'no element'}.\n  Make it by model.state(…)."
            )
        for name, array in (("q", q), ("v", v), *((("x", x),) if self.nx else ())):
            if array.dtype.kind not in "fiuc":
                raise InputError(f"{who}: the state's {name} is {array!r}, expected numbers.")
            # one comparison for all, as this is called with every state: false for nan as well
            if not np.vdot(array, array).real <= LARGEST**2:
                check_size(Owner(who).field(words=f"the state's {name}"), array, InputError)
                place = int(np.argmin(np.isfinite(array)))
                if not np.isfinite(array[place]):
                    raise InputError(f"{who}: the state's {name}[{place}] is {array[place]}, expected finite numbers.")

    @functools.cached_property
    def _zero(self) -> Array:
        return np.zeros(0) if self.group is None else self.group.identity()

    def configuration(self, given: Any) -> Array:
        """Return coordinates from a full vector or from values by name; quaternions are brought to length one."""
        if given is None:
            return self._zero.copy()
        if isinstance(given, Mapping):
            numbers, q = {}, self._zero.copy()
            for name, value in given.items():
                place = self._slice("q", self.group.q if self.group is not None else {}, name)
                numbers[name] = numbers_of("q", name, value, place)
                q[place] = values_of(numbers[name])
            recorded = {name: found for name, found in numbers.items() if found.dtype.kind == "O"}
            if recorded and self.group is not None:
                return self._recorded(q, recorded)
        else:
            q = self._vector("q", given, self.nq)
        return self.group.retract(q, np.zeros(self.nv)) if self.group is not None and q.dtype.kind == "f" else q

    def _recorded(self, q: Array, given: Mapping[str, Array]) -> Array:
        """Return coordinates of which some are recorded."""
        assert self.group is not None
        out = self.group.retract(q, np.zeros(self.nv)).astype(object)
        for name, numbers in given.items():
            factor = self.group.factors[name]
            # to coordinates that are plain numbers nothing is added
            out[self.group.q[name]] = numbers if factor.family == "R" else factor.retract(numbers, np.zeros(factor.dim))
        return floats(out)

    def speeds(self, what: str, given: Any) -> Array:
        """A vector in the algebra (speeds, accelerations, forces) from a full vector or from values by name."""
        if given is None or isinstance(given, Mapping):
            v = room(self.nv)
            for name, value in (given or {}).items():
                place = self._slice(what, self.group.v if self.group is not None else {}, name)
                v[place] = numbers_of(what, name, value, place)
            return floats(v) if v.dtype.kind == "O" else v
        return self._vector(what, given, self.nv)

    def drive(self, what: str, vector: Any, inputs: Any, t: float, x: Any = None) -> Array:
        """Return what the kernels call u: a vector in the algebra (forces or accelerations), inputs, states, gravity.

        Prescribed motions that `inputs`, a mapping or None, do not name follow their laws at the time t.  States are
        zero if none are given.
        """
        states = np.zeros(self.nx) if x is None else np.asarray(x)
        return joined([self.speeds(what, vector), self._inputs(inputs, t), states, self.tree.gravity])

    def drives(self, u: Array, x: Array) -> Array:
        """Return what the kernels call u from generalised forces with inputs, and states, a row per sample."""
        return np.concatenate([u, x, np.broadcast_to(self.tree.gravity, (len(u), 3))], axis=1)

    def _states(self, given: Any) -> Array:
        if given is None or isinstance(given, Mapping):
            x = room(self.nx)
            for name, value in (given or {}).items():
                if name not in self.states:
                    raise InputError(
                        f"x: '{name}' is no element with first-order states.{suggest(name, list(self.states))}"
                    )
                x[self.states[name]] = numbers_of("x", name, value, self.states[name])
            return floats(x) if x.dtype.kind == "O" else x
        return self._vector("x", given, self.nx)

    @functools.cached_property
    def laws(self) -> tuple[MotionLaw, ...]:
        """The laws of prescribed motions, which hold where no inputs are named."""
        return laws_of(self)

    def _inputs(self, given: Any, t: float) -> Array:
        if given is None or isinstance(given, Mapping):
            values = room(self.nu)
            for law in self.laws:
                if not given or law.name not in given:
                    values[law.place] = law(t)
            for name in self.times:
                values[self.inputs[name]] = t
            for name, value in (given or {}).items():
                if name not in self.inputs:
                    raise InputError(
                        f"inputs: '{name}' is no force element with inputs.{suggest(name, list(self.inputs))}"
                    )
                values[self.inputs[name]] = numbers_of("inputs", name, value, self.inputs[name])
            return values
        return self._vector("inputs", given, self.nu)

    def _slice(self, what: str, places: Mapping[str, slice], name: str) -> slice:
        if name not in places:
            raise InputError(f"{what}: '{name}' has no degrees of freedom in this model.{suggest(name, list(places))}")
        return places[name]

    def _vector(self, what: str, given: ArrayLike, n: int) -> Array:
        array = array_of(given)
        if array.dtype.kind not in "fiuc":
            wanted = "one number" if n == 1 else f"{n} numbers"
            raise InputError(f"{what} is {given!r}, expected {wanted}, or a mapping of names to values.")
        if array.shape != (n,):
            raise InputError(f"{what} has shape {array.shape}, expected ({n},), or a mapping of names to values.")
        if not np.isfinite(array).all():
            raise InputError(f"{what}[{int(np.argmin(np.isfinite(array)))}] is not finite.")
        check_size(Field(None, (what,)), array, InputError)
        return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _indices(joint: str, given: Any) -> list[int]:
    """Which speeds of a joint are meant."""
    try:
        found = [as_whole(k) for k in given]
    except TypeError:
        found = [None]
    whole = [k for k in found if k is not None]
    if len(whole) < len(found):
        raise InputError(f"lock: speeds['{joint}'] is {given!r}, expected a list of whole numbers, as in [0].")
    return whole


def group_of(tree: Tree) -> Product | None:
    """The group of all coordinates, in the order of q: of every joint, and of the modes of the body that it moves."""
    joints, bodies = tree.all_joints, {body.name: body for body in tree.all_bodies}
    factors: dict[str, Group] = {}
    for joint in (joints[i] for i in tree._order):
        if (group := joint.group()) is not None:
            factors[joint.name] = group
        if n := bodies[joint.child].n_modes:
            factors[joint.child] = R(n)
    return Product(factors) if factors else None


def _restored(
    tree: Tree,
    ints: NDArray[np.int64],
    floats: NDArray[np.float64],
    inputs: Mapping[str, slice],
    rows: tuple[Row, ...],
    states: Mapping[str, slice],
) -> Model:
    """A model from its pickle."""
    from liegeo.model.custom import connect

    model = Model(tree, ints, floats, group_of(tree), inputs, rows, states)
    connect(model)
    return model
