"""Calculator: dynamics of one model, call after call, with scratch of its own.

    calc = model.calculator()
    a = calc.forward_dynamics(q, v, tau)
    tip = calc.outputs(["boom.tip.position", "luff.reaction.moment"])
    row = tip(q, v, tau)

A calculator resolves names and allocates scratch once.  A call then looks at the types and shapes of its arguments in
Python, and at their numbers in compiled code (kernels/checked.py): for a robot that costs less than its dynamics.
Vectors of real numbers are taken as they are; all else (lists, values by name, complex numbers,
prescribed motions with laws) goes through `Model.check` and `Model.drive`, which also make the messages.

Arguments of all methods, and of `liegeo.dynamics`, which calls them with the numbers of a State:

- `q`, `v`: coordinates and speeds, full vectors.  `t`: the time, at which laws of prescribed motions are evaluated.
- `tau`, `a`: generalised forces, accelerations; a full vector, values by name, or None for zeros.
- `inputs`: of force elements and prescribed motions, likewise; motions that are not named follow their laws.
- `x`: first-order states of force elements; zeros if None.
- `out`: an array for the result; without it every result is a new array.

A result depends on the arguments alone.  Two threads must not use one calculator at the same time.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from liegeo._jit import entry
from liegeo.errors import DynamicsError, InputError
from liegeo.kernels import (
    articulated,
    checked,
    constraints,
    contact,
    elements,
    inverse,
    joint_elements,
    kinematics,
    loops,
    observe,
)
from liegeo.kernels import layout as at
from liegeo.model.checks import numbers_of, suggest
from liegeo.model.model import Model, Row, State
from liegeo.model.names import Source
from liegeo.observer import MOST_KEPT, Observer, observer_of
from liegeo.status import BAD_ARGUMENT, BAD_RESULT, NOT_FINITE

Array = NDArray[Any]
Out = Array | None

# The step of a complex-step derivative: so small that its square vanishes beside anything.
_STEP = 1e-40
# NumPy has one object for this type: a comparison by identity is enough, and quick.
_FLOAT = np.dtype(np.float64)
# The first three rows of a pose as a matrix, among the numbers of a source "pose": rotation, then position.
_ROWS = (0, 1, 2, 9, 3, 4, 5, 10, 6, 7, 8, 11)


class ConstraintValues(NamedTuple):
    """Of every row of the constraints (model.rows): residual, its rate and its acceleration; zero where they hold."""

    residual: Array
    rate: Array
    acceleration: Array


class Derivatives(NamedTuple):
    """Partial derivatives, one column per direction; with respect to q along the group, q ⊕ ε."""

    q: Array
    v: Array
    last: Array


class Hybrid(NamedTuple):
    """Accelerations of all speeds, and the generalised forces that those need which are given, zero at the others."""

    a: Array
    forces: Array


class FrameMotion(NamedTuple):
    """Of a body or frame: its pose X_WF (4×4), its twist relative to the world, and the rate of that twist.

    Twist and rate are at and in the frame itself, angular part first; gravity is not in the rate.
    """

    pose: Array
    twist: Array
    rate: Array

    @property
    def acceleration(self) -> Array:
        """The acceleration of the frame's origin, in the world's axes."""
        w, v = self.twist[:3], self.twist[3:]
        return np.asarray(self.pose[:3, :3] @ (self.rate[3:] + np.cross(w, v)))


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


class _Memory:
    """Scratch for numbers of one type, real or complex, and compiled code that works there."""

    def __init__(self, model: Model, dtype: Any) -> None:
        self.model, self.dtype = model, np.dtype(dtype)
        self.work = model.workspace(dtype)
        # q, v and u of a call (kernels/checked.py (1)): with no inputs and states of zero, or with those of the call.
        u = model.drive("tau", None, np.zeros(model.nu), 0.0)
        self.rest = np.concatenate([np.zeros(model.nq + model.nv), u]).astype(dtype)
        self.driven = self.rest.copy()
        # Kernels are compiled for vectors of this kind, which stands for all kinds: with gaps, not to be written.
        self._any = np.zeros((2, 2), dtype)[:, 0]
        self._any.setflags(write=False)

    def call(self, kernel: Any) -> Any:
        """Return a kernel of checked.py as a function of (S, q, v, f, out)."""
        constants = self.model.ints, self.model.floats, self.work
        return functools.partial(entry(kernel, *constants, self.rest, *[self._any] * 3, self.rest), *constants)

    def show(self, observer: Observer, z: Array) -> Any:
        """Return an observer as a function of (S, t, q, v, f, out)."""
        constants = observer.plan, observer.data, self.model.ints, self.model.floats, self.work, z
        compiled = entry(observer.checked, *constants, self.rest, 0.0, *[self._any] * 3, self.rest)
        return functools.partial(compiled, *constants)

    # models without loops need not wait until those are compiled
    @functools.cached_property
    def forward_dynamics(self) -> Any:
        return self.call(checked.forward_dynamics_loops if self.model.rows else checked.forward_dynamics)

    @functools.cached_property
    def inverse_dynamics(self) -> Any:
        return self.call(checked.inverse_dynamics)

    @functools.cached_property
    def mass_matrix(self) -> Any:
        return self.call(checked.mass_matrix)

    @functools.cached_property
    def arguments(self) -> Any:
        return self.call(checked.arguments)


class _Plan:
    """An observer, and what the row of a call begins as; by memory, numbers z and compiled code for calls there."""

    def __init__(self, observer: Observer) -> None:
        self.observer, self.row = observer, np.empty(observer.width)
        self._shown: dict[_Memory, tuple[Array, Any]] = {}

    def shown(self, memory: _Memory) -> tuple[Array, Any]:
        """Return the numbers z, and the observer as a function of (S, t, q, v, f, out)."""
        found = self._shown.get(memory)
        if found is None:
            z = self.observer.numbers(memory.dtype)
            found = self._shown[memory] = z, memory.show(self.observer, z)
        return found


class OutputFunction:
    """Columns of a model (`names`) as a function of its state and of what drives it; made by `Calculator.outputs`."""

    def __init__(self, calculator: Calculator, names: Sequence[str]) -> None:
        model = calculator.model
        self.names = tuple(model.names.match(names, "outputs"))
        columns = [model.names.column(name) for name in self.names]
        self.units = tuple(column.unit for column in columns)
        picked = [(column.source, column.place) for column in columns]
        self._plan = _Plan(Observer(model, [source for source, _ in picked], picked))
        self._calculator = calculator

    def __repr__(self) -> str:
        return f"<outputs of {self._calculator.model!r}: {', '.join(self.names)}>"

    def __call__(
        self, q: Any, v: Any, tau: Any = None, inputs: Any = None, *, t: float = 0.0, x: Any = None, out: Out = None
    ) -> Array:
        """Return one number for each of `names`."""
        return self._calculator._observe("outputs", self._plan, (q, v, tau, inputs, t, x), out=out)[0]


class Calculator:
    """Dynamics of one model for calls in a loop; see the head of liegeo/calculator.py for the arguments."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._shape_q, self._shape_v = (model.nq,), (model.nv,)
        self._shape_x, self._shape_inputs = (model.nx,), (model.nu,)
        self._none, self._no_inputs = np.zeros(model.nv), np.zeros(model.nu)
        self.real = _Memory(model, np.float64)
        self._rest, self._driven = self.real.rest, self.real.driven
        self._has_laws, self._has_custom = bool(model.laws), bool(model.custom)
        self._plans: dict[Any, _Plan] = {}

    def __repr__(self) -> str:
        return f"<calculator of {self.model!r}>"

    # ---- vectors and matrices

    def forward_dynamics(
        self, q: Any, v: Any, tau: Any = None, inputs: Any = None, *, t: float = 0.0, x: Any = None, out: Out = None
    ) -> Array:
        """Return the accelerations v̇ under generalised forces and inputs, by articulated bodies; loops stay closed."""
        q, v, f, numbers, memory = self._arguments(q, v, "tau", tau, inputs, t, x)
        if self._has_custom:
            self._check_real(memory)
        a = np.empty(self._shape_v, memory.dtype) if out is None else self._into(out, self._shape_v, memory)
        status = memory.forward_dynamics(numbers, q, v, f, a)
        if status or self._has_custom:
            self._check(status, "forward_dynamics", "tau", numbers)
        return a

    def inverse_dynamics(
        self, q: Any, v: Any, a: Any = None, inputs: Any = None, *, t: float = 0.0, x: Any = None, out: Out = None
    ) -> Array:
        """Return the generalised forces that, beside the inputs, give the accelerations a (zeros give the bias).

        They are those of the tree: what loops would carry is not subtracted.
        """
        q, v, f, numbers, memory = self._arguments(q, v, "a", a, inputs, t, x)
        tau = np.empty(self._shape_v, memory.dtype) if out is None else self._into(out, self._shape_v, memory)
        status = memory.inverse_dynamics(numbers, q, v, f, tau)
        if status:
            self._check(status, "inverse_dynamics", "a", numbers)
        return tau

    def mass_matrix(self, q: Any, *, out: Out = None) -> Array:
        """Return M(q), by composite bodies."""
        q, v, f, numbers, memory = self._arguments(q, self._none, "a", None, self._no_inputs, 0.0, None)
        shape = self._shape_v * 2
        M = np.empty(shape, memory.dtype) if out is None else self._into(out, shape, memory)
        status = memory.mass_matrix(numbers, q, v, f, M.reshape(-1))
        if status:
            self._check(status, "mass_matrix", "a", numbers)
        return M

    def mass_matrix_inverse(self, q: Any) -> Array:
        """Return M(q)⁻¹ without M: the innovations factors [JR90, (6.6)], made once and applied to every unit vector.

        Rows and columns of locked speeds are zero.
        """
        I, F = self.model.ints, self.model.floats
        q, _, _, work = self._verified(q, self._none)
        self._check(articulated.factorise(I, F, q, 0.0, 0.0, work))
        out = np.empty(self._shape_v * 2, work.dtype)
        for row, r in zip(out, np.eye(self.model.nv, dtype=work.dtype), strict=True):
            articulated.substitute(I, F, r, work, row)
        return finite(out, "mass_matrix_inverse")

    def solve(self, q: Any, r: Any, alpha: float = 0.0, beta: float = 0.0) -> Array:
        """Return (M + αD + βK)⁻¹ r in O(N), without forming M: D and K are damping and stiffness of modes and joints.

        α = β = 0 is the inverse of the mass matrix times a vector; implicit integrators need the rest.
        """
        for name, factor in (("alpha", alpha), ("beta", beta)):
            if not np.isfinite(factor):
                raise InputError(f"solve: {name} is {factor!r}, expected a finite number.")
        I, F = self.model.ints, self.model.floats
        q, _, u, work = self._verified(q, self._none, "r", r)
        out = np.empty(self._shape_v, work.dtype)
        self._check(articulated.solve(I, F, q, u[: self.model.nv], float(alpha), float(beta), work, out))
        return finite(out, "solve")

    def forward_derivatives(
        self, q: Any, v: Any, tau: Any = None, inputs: Any = None, *, t: float = 0.0, x: Any = None
    ) -> Derivatives:
        """Return the derivatives of the accelerations with respect to q, v and tau (the last is M⁻¹).

        They are exact to round-off, by complex steps.
        """
        return self._derivatives(self.forward_dynamics, q, v, self.model.speeds("tau", tau), inputs, t, x)

    def inverse_derivatives(
        self, q: Any, v: Any, a: Any = None, inputs: Any = None, *, t: float = 0.0, x: Any = None
    ) -> Derivatives:
        """Return the derivatives of the generalised forces with respect to q, v and a (the last is M).

        They are exact to round-off, by complex steps.
        """
        return self._derivatives(self.inverse_dynamics, q, v, self.model.speeds("a", a), inputs, t, x)

    def _derivatives(self, function: Any, q: Any, v: Any, last: Array, inputs: Any, t: float, x: Any) -> Derivatives:
        q, v, *_ = (part.copy() for part in self._verified(q, v, t=t, x=x))
        if self.model.group is None:
            empty = np.zeros((0, 0))
            return Derivatives(empty, empty, empty)
        steps = 1j * _STEP * np.eye(self.model.nv)
        moved = self.model.group.retract(q.astype(complex), steps)
        by_q = [function(y, v, last, inputs, t=t, x=x).imag / _STEP for y in moved]
        by_v = [function(q, v + e, last, inputs, t=t, x=x).imag / _STEP for e in steps]
        by_last = [function(q, v, last + e, inputs, t=t, x=x).imag / _STEP for e in steps]
        name = function.__name__.replace("dynamics", "derivatives")
        return Derivatives(*(finite(np.stack(columns, axis=1), name) for columns in (by_q, by_v, by_last)))

    def state_rates(self, q: Any, v: Any, x: Any, inputs: Any = None, *, t: float = 0.0) -> Array:
        """Return the rates ẋ of the first-order states of elements."""
        I, F = self.model.ints, self.model.floats
        q, v, u, work = self._verified(q, v, "tau", None, inputs, t, x)
        out = np.zeros(self.model.nx, u.dtype)
        if self.model.nx:
            joint_elements.state_rates(I, F, q, v, u, out)
        if I[at.N_STICKING] > 0:
            kinematics.poses(I, F, q, work)
            kinematics.velocities(I, F, q, v, work)
            elements.place_frames(I, F, q, v, work)
            contact.contact_rates(I, F, u, work, out)
        return finite(out, "state_rates")

    # ---- constraints

    def constraint_values(
        self, q: Any, v: Any, inputs: Any = None, a: Any = None, *, t: float = 0.0, x: Any = None
    ) -> ConstraintValues:
        """Return how far a state, and accelerations a, are from obeying the constraints."""
        q, v, u, work = self._verified(q, v, "a", a, inputs, t, x)
        I, F, nv = self.model.ints, self.model.floats, self.model.nv
        self._check_real(self._memory(work.dtype))
        kinematics.poses(I, F, q, work)
        kinematics.velocities(I, F, q, v, work)
        gravity = tuple(u[-3:])
        inverse.accelerations(I, F, u[:nv], gravity, work)
        constraints.evaluate(I, F, q, v, u, work)
        self.model.check_custom()
        constraints.accelerated(I, F, q, v, u[:nv], gravity, work)
        columns = (work[self.model.row_slice(column)].copy() for column in (at.PHI, at.RATE, at.RIGHT))
        return ConstraintValues(*(finite(column, "constraint_values") for column in columns))

    def constraint_jacobian(self, q: Any, *, t: float = 0.0, x: Any = None) -> Array:
        """Return J, one row per row of the constraints: J v is the rate of the residuals, but for what laws move."""
        q, v, u, work = self._verified(q, self._none, t=t, x=x)
        self._check_real(self._memory(work.dtype))
        J = np.empty((len(self.model.rows), self.model.nv), work.dtype)
        loops.jacobian(self.model.ints, self.model.floats, q, u, work, *np.empty((2, *v.shape), v.dtype), J.reshape(-1))
        self.model.check_custom()
        return finite(J, "constraint_jacobian")

    def redundant_rows(self, q: Any, v: Any, *, t: float = 0.0, x: Any = None) -> tuple[Row, ...]:
        """Return the rows of the constraints that the others hold already, here.

        Which ones of several that say the same is chance.
        """
        if not self.model.rows:
            self._verified(q, v, t=t, x=x)
            return ()
        work = self._memory(self.forward_dynamics(q, v, t=t, x=x).dtype).work
        kept = {int(k) for k in work[self.model.row_slice(at.ORDER)].real if k >= 0.0}
        return tuple(row for k, row in enumerate(self.model.rows) if k not in kept)

    # ---- what can be seen of a state

    def outputs(self, names: Iterable[str]) -> OutputFunction:
        """Return a function of (q, v, tau, inputs) that gives columns of a result, by name or wildcard."""
        return OutputFunction(self, [names] if isinstance(names, str) else list(names))

    def joint_forces(
        self, q: Any, v: Any, tau: Any = None, inputs: Any = None, *, t: float = 0.0, x: Any = None
    ) -> dict[str, Array]:
        """Return by joint the wrench that it exerts on its child, at the child's frame and in its axes."""
        return self._by_owner("joint", self.model.joints, (q, v, tau, inputs, t, x))

    def loop_forces(
        self, q: Any, v: Any, tau: Any = None, inputs: Any = None, *, t: float = 0.0, x: Any = None
    ) -> dict[str, Array]:
        """Return by loop what it exerts, the smallest where constraints are redundant.

        Of one between frames it is the wrench (moment, force) on its child or `b`, at that frame and in its axes; of
        others one generalised force per row, such as the torque that a Motion takes.
        """
        return self._by_owner("loop", [loop.name for loop in self.model.tree.loops], (q, v, tau, inputs, t, x))

    def _by_owner(self, kind: str, names: Sequence[str], arguments: tuple[Any, ...]) -> dict[str, Array]:
        plan = self._plan(kind, [(kind, name) for name in names])
        row, _ = self._observe(f"{kind}_forces", plan, arguments)
        return dict(zip(names, _split(row, plan.observer), strict=True))

    def lock_forces(
        self, q: Any, v: Any, tau: Any = None, inputs: Any = None, *, t: float = 0.0, x: Any = None
    ) -> Array:
        """Return the generalised force that holds each locked speed, beside `tau`; zero where nothing is locked."""
        needed, _ = self._observe("lock_forces", self._plan("required", [("required",)]), (q, v, tau, inputs, t, x))
        return np.where(self.model.locked, needed - self.model.speeds("tau", tau), 0.0)

    def hybrid_dynamics(
        self,
        q: Any,
        v: Any,
        accelerations: Mapping[str, Any] | None = None,
        tau: Any = None,
        inputs: Any = None,
        *,
        t: float = 0.0,
        x: Any = None,
    ) -> Hybrid:
        """Return the motion in which some joints have given accelerations, and all others and all modes are free.

        Locked speeds count as given, with zero.  With the given accelerations in a₀, and 0 at the free speeds f,

            a = a₀ + M_ff⁻¹ (τ − ID(a₀))_f,      forces = (ID(a) − τ)_g,                                          (1)

        where ID is inverse dynamics beside the inputs, and M_ff⁻¹ is `solve` of the model with the given speeds g
        locked: O(N), flexible bodies included.  Loops add Jᵀλ, with J a as they ask for.
        """
        full = self.model
        given, a = full.locked.copy(), np.zeros(full.nv)
        places = {} if full.group is None else full.group.v
        for joint, value in (accelerations or {}).items():
            if joint not in full.joints or joint not in places:
                moving = [name for name in full.joints if name in places]
                raise InputError(f"hybrid_dynamics: '{joint}' is not a joint that moves.{suggest(str(joint), moving)}")
            a[places[joint]] = numbers_of("accelerations", joint, value, places[joint])
            given[places[joint]] = True
        free, held = Calculator(full.lock()), Calculator(full.lock(speeds=full.speeds_where(given)))
        driven, at_time = full.speeds("tau", tau), {"t": t, "x": x}
        a = a + held.solve(q, driven - free.inverse_dynamics(q, v, a, inputs, **at_time))
        loads = np.zeros(full.nv)
        if full.rows:
            J = free.constraint_jacobian(q)
            lacking = free.constraint_values(q, v, inputs, a, **at_time).acceleration
            spread = np.stack([held.solve(q, row) for row in J], axis=1)
            loads = J.T @ np.linalg.lstsq(J @ spread, lacking, rcond=1e-11)[0]
            a = a - held.solve(q, loads)
        forces = free.inverse_dynamics(q, v, a, inputs, **at_time) + loads - driven
        return Hybrid(finite(a, "hybrid_dynamics"), np.where(given, forces, 0.0))

    def balance(self, q: Any, v: Any, *, x: Any = None) -> Balance:
        """Return energy, momentum and centre of mass of the whole model."""
        plan = self._plan("balance", [("balance", "all")])
        out, _ = self._observe("balance", plan, (q, v, None, self._no_inputs, 0.0, x))
        return Balance(out[0], out[1], out[2], out[3:9], out[observe.MASS], out[observe.CENTER : observe.CENTER + 3])

    def frame_pose(self, q: Any, frame: str) -> Array:
        """Return X_WF, 4×4, of a body ("boom") or of a frame or node on it ("boom.tip")."""
        plan = self._plans.get(("pose", frame))
        if plan is None:
            plan = self._plan(("pose", frame), [("frame", frame, "pose")], _ROWS, solve=False)
            # the last row of a pose is always the same
            plan.row = np.eye(4).reshape(-1)
        row, _ = self._observe("frame_pose", plan, (q, self._none, None, self._no_inputs, 0.0, None))
        return row.reshape(4, 4)

    def body_poses(self, q: Any) -> dict[str, Array]:
        """Return by body its pose X_WB, 4×4."""
        bodies = self.model.bodies
        plan = self._plan("poses", [("frame", name, "pose") for name in bodies], solve=False)
        row, _ = self._observe("body_poses", plan, (q, self._none, None, self._no_inputs, 0.0, None))
        return {name: _matrix(X) for name, X in zip(bodies, row.reshape(-1, 12), strict=True)}

    def frame_motion(self, q: Any, v: Any, frame: str, a: Any = None) -> FrameMotion:
        """Return pose, twist and its rate, with the accelerations a, of a body or of a frame or node on it."""
        return self._motions("frame_motion", frame, (frame,), q, v, a)[0]

    def body_motions(self, q: Any, v: Any, a: Any = None) -> dict[str, FrameMotion]:
        """Return by body its pose, its twist and the rate of that with the accelerations a."""
        bodies = self.model.bodies
        return dict(zip(bodies, self._motions("body_motions", None, bodies, q, v, a), strict=True))

    def _motions(self, who: str, key: Any, frames: Sequence[str], q: Any, v: Any, a: Any) -> list[FrameMotion]:
        sources = [("frame", frame, part) for frame in frames for part in ("pose", "twist", "rate")]
        plan = self._plan(("motion", key), sources, solve=False)
        row, _ = self._observe(who, plan, (q, v, a, self._no_inputs, 0.0, None), what="a")
        found = _split(row, plan.observer)
        return [FrameMotion(_matrix(found[k]), found[k + 1], found[k + 2]) for k in range(0, len(found), 3)]

    def frame_jacobian(self, q: Any, frame: str) -> Array:
        """Return J, 6 × nv: the twist of the frame relative to the world, at and in itself, is J v."""
        # the pass over the twists also finds the modes of a node
        sources = [("frame", frame, "pose"), ("frame", frame, "twist")]
        plan = self._plan(("jacobian", frame), sources, solve=False)
        row, z = self._observe("frame_jacobian", plan, (q, self._none, None, self._no_inputs, 0.0, None))
        i, place = self.model.frame(frame)
        start = plan.observer.places[sources[0]].start + observe.X_BF
        X, modes = np.split(z[start:], [12])
        if isinstance(place, np.ndarray):
            # it moves with its body, which may deform elsewhere
            modes = np.zeros(6 * self.model.body(i).n_modes, row.dtype)
        out = np.empty((6, self.model.nv), row.dtype)
        observe.jacobian(self.model.ints, self._memory(row.dtype).work, i, X, modes, np.empty(24, row.dtype), out)
        return finite(out, "frame_jacobian")

    def _plan(
        self, key: Any, sources: Sequence[Source], picked: Sequence[int] | None = None, solve: bool = True
    ) -> _Plan:
        """Return the plan for sources, of which only the `picked` numbers are shown; it is kept under its key."""
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= MOST_KEPT:
                self._plans.clear()
            columns = None if picked is None else tuple((source, k) for source in sources for k in picked)
            found = self._plans[key] = _Plan(observer_of(self.model, tuple(sources), columns, solve))
        return found

    def _observe(
        self, who: str, plan: _Plan, given: tuple[Any, ...], *, what: str = "tau", out: Out = None
    ) -> tuple[Array, Array]:
        """Return the row of a plan, and the numbers z that it was taken from, for (q, v, tau, inputs, t, x).

        A plan that does not solve for accelerations takes them, `what` is "a", in place of tau.
        """
        q, v, f, inputs, t, x = given
        q, v, f, numbers, memory = self._arguments(q, v, what, f, inputs, t, x)
        if plan.observer.solves:
            self._check_real(memory)
        z, show = plan.shown(memory)
        row = plan.row.astype(memory.dtype) if out is None else self._into(out, plan.row.shape, memory)
        status = show(numbers, float(t), q, v, f, row)
        if status or self._has_custom:
            self._check(status, who, what, numbers)
        return row, z

    # ---- arguments and failures

    def _arguments(
        self, q: Any, v: Any, what: str, f: Any, inputs: Any, t: float, x: Any
    ) -> tuple[Array, Array, Array, Array, _Memory]:
        """Return q, v, f and S (kernels/checked.py) as kernels take them, their numbers unseen, and where to work."""
        if f is None:
            f = self._none
        if (
            q.__class__ is v.__class__ is f.__class__ is np.ndarray
            and q.dtype is v.dtype is f.dtype is _FLOAT
            and q.shape == self._shape_q
            and v.shape == f.shape == self._shape_v
        ):
            if inputs is None and x is None and not self._has_laws:
                return q, v, f, self._rest, self.real
            numbers = self._drive(inputs, x)
            if numbers is not None:
                return q, v, f, numbers, self.real
        return self._convert(q, v, what, f, inputs, t, x)

    def _drive(self, inputs: Any, x: Any) -> Array | None:
        """Return S with inputs and states in their places; None if they are not plain vectors, or laws fill them."""
        if inputs is None:
            if self._has_laws:
                return None
            inputs = self._no_inputs
        elif not _plain(inputs, self._shape_inputs):
            return None
        if x is not None and not _plain(x, self._shape_x):
            return None
        if inputs is self._no_inputs and (x is None or not self.model.nx):
            return self._rest
        n = len(self._driven) - 3 - self.model.nx
        self._driven[n - self.model.nu : n] = inputs
        self._driven[n:-3] = 0.0 if x is None else x
        return self._driven

    def _convert(
        self, q: Any, v: Any, what: str, f: Any, inputs: Any, t: float, x: Any
    ) -> tuple[Array, Array, Array, Array, _Memory]:
        """Return the same from whatever a person gives, or raise an InputError."""
        model = self.model
        state = State(q, v, float(t), np.zeros(model.nx) if x is None else x)
        model.check(state)
        u = model.drive(what, f, inputs, state.t, state.x)
        dtype = np.result_type(np.asarray(q), np.asarray(v), u, np.float64)
        memory = self._memory(dtype)
        memory.driven[model.nq + model.nv :] = u
        q, v, f = (np.asarray(part, dtype) for part in (q, v, u[: model.nv]))
        return q, v, f, memory.driven, memory

    def _verified(
        self, q: Any, v: Any, what: str = "a", f: Any = None, inputs: Any = None, t: float = 0.0, x: Any = None
    ) -> tuple[Array, Array, Array, Array]:
        """Return q, v and u, views of the calculator's own memory whose numbers have been looked at, and scratch."""
        q, v, f, numbers, memory = self._arguments(q, v, what, f, inputs, t, x)
        status = memory.arguments(numbers, q, v, f, memory.work[:0])
        if status:
            self._check(status, "", what, numbers)
        return *self._parts(numbers), memory.work

    def _parts(self, numbers: Array) -> tuple[Array, Array, Array]:
        """Return q, v and u in S."""
        nq, n = self.model.nq, self.model.nq + self.model.nv
        return numbers[:nq], numbers[nq:n], numbers[n:]

    def _memory(self, dtype: Any) -> _Memory:
        return self.real if dtype == _FLOAT else self._complex_memory

    @functools.cached_property
    def _complex_memory(self) -> _Memory:
        return _Memory(self.model, np.complex128)

    def _into(self, out: Any, shape: tuple[int, ...], memory: _Memory) -> Array:
        """Return `out`, if a result can be written to it."""
        if isinstance(out, np.ndarray) and out.shape == shape and out.dtype == memory.dtype and out.flags.carray:
            return out
        got = f"an array of {out.dtype} with shape {out.shape}" if isinstance(out, np.ndarray) else repr(out)
        raise InputError(
            f"calculator: out is {got}, expected a contiguous, writable array of {memory.dtype} with shape {shape}."
        )

    def _check_real(self, memory: _Memory) -> None:
        if self._has_custom and memory.dtype.kind == "c":
            raise InputError(f"{self.model!r} has a Custom constraint, which kernels cannot call with complex numbers.")

    def _check(self, status: int, who: str = "", what: str = "", numbers: Array | None = None) -> None:
        """Raise what a status means of a call with S; `what` names the beginning of its u."""
        model = self.model
        model.check_custom()
        if status == 0:
            return
        if status == BAD_ARGUMENT and numbers is not None:
            q, v, u = self._parts(numbers)
            forces, inputs, x, _ = np.split(u, np.cumsum([model.nv, model.nu, model.nx]))
            model.check(State(q, v, 0.0, x))
            model.drive(what, forces, inputs, 0.0, x)
        if status == BAD_RESULT:
            raise _not_finite(f"the answer of {who}")
        # pivots that are not numbers say nothing about inertia
        raise _not_finite("a matrix") if status == NOT_FINITE else DynamicsError(model.failure(status))


def _plain(array: Any, shape: tuple[int, ...]) -> bool:
    """Return whether an array can be copied as it is."""
    return array.__class__ is np.ndarray and array.dtype is _FLOAT and array.shape == shape


def _not_finite(what: str) -> DynamicsError:
    return DynamicsError(
        f"dynamics: {what} is not finite: numbers of the state, of the model or of its inputs are so large\n"
        "  that their products overflow, or there is no solution in this position."
    )


def finite(result: Array, who: str) -> Array:
    """Return a result, or raise a DynamicsError where it is not finite."""
    if not np.isfinite(result).all():
        raise _not_finite(f"the answer of {who}")
    return result


def _split(row: Array, observer: Observer) -> list[Array]:
    """Return the numbers of each source of an observer that shows all of them."""
    ends = np.cumsum([0, *(place.stop - place.start for place in observer.places.values())])
    return [row[start:end] for start, end in itertools.pairwise(ends)]


def _matrix(X: Array) -> Array:
    M = np.eye(4, dtype=X.dtype)
    M[:3, :3], M[:3, 3] = X[:9].reshape(3, 3), X[9:12]
    return M
