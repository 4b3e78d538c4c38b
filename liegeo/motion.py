"""A model as a mechanical system for integrate: `system(model, inputs)`, and what drives it.

Inputs are given by name: a joint ("elbow", or "elbow.torque", "elbow.force") for its generalised forces, a force
element ("motor") for its inputs.  Each may be

- a number, or one number a component: constant;
- a pair (times, values): straight lines between, held before and after;
- a piecewise polynomial or spline of SciPy (PPoly, CubicSpline, Akima1DInterpolator, BSpline …), held before and after;
- a function of (t), or of (t, state), which steps call through Python; expressions of model files are functions of (t)
  that have `programs` (model/programs.py), which kernels run themselves.

or all together one function of (t, state) that returns a mapping of names to values.

Where inputs jump, steps end: tables show where they do, and a function says so by an attribute `breaks`, a list of
times, as those of model files with `pieces` have it.  At such a time a function returns the value after the jump.

A Motion in the tree's `loops` has value, rate and acceleration as its inputs, and takes under its name, or as its own
`law`, a number (it stays there), samples (a cubic spline through them), a spline (whose derivatives are taken), or a
function of (t) that returns all three.
"""

from __future__ import annotations

import contextlib
import ctypes
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo._jit import DRIVE_FUNCTION
from liegeo._memory import address_of
from liegeo.errors import InputError
from liegeo.integrate import Dynamics, System
from liegeo.integrate.breaks import Breaks
from liegeo.integrate.problems import with_states
from liegeo.kernels import layout as at
from liegeo.kernels import motion
from liegeo.model.checks import numbers_of, suggest
from liegeo.model.constraints import MODE, Lock, Motion
from liegeo.model.diagnosis import diagnose
from liegeo.model.forces import Force, JointForce
from liegeo.model.laws import as_spline, is_sampled, read_law, read_samples
from liegeo.model.model import Model, State, once_per_model
from liegeo.model.programs import TIME, Program, no_value
from liegeo.recorded import floats, is_recording, joined, largest, length_of, recorded_in, room, root, share

Array = NDArray[np.float64]

DYNAMICS = Dynamics(
    motion.acceleration,
    motion.residual,
    motion.momentum,
    motion.slope,
    motion.factorise,
    motion.substitute,
    motion.resistance,
    motion.energy,
    factorise_next=motion.factorise_next,
    along=motion.along,
    local_tangents=motion.local_tangents,
    displacement=motion.displacement,
    switches=motion.switches,
    grips=motion.grips,
)

CONSTRAINED = DYNAMICS._replace(
    acceleration=motion.constrained_acceleration,
    residual=motion.constrained_residual,
    factorise=motion.constrained_factorise,
    factorise_next=motion.constrained_factorise_next,
    closing=motion.closing,
    correct=motion.correct,
    release=motion.release,
    along=motion.constrained_along,
)

_ENDINGS = (".torque", ".force", ".input")

# More kinks than these, as of measured samples, are not worth a step each; what is less than this share is no jump.
_MOST_KINKS, _SMALL = 64, 1e-9

# Calls of functions that are noted while a method is chosen, and the share by which answers may differ.
_MOST_RECORDED, _SAME_ANSWER = 200, 1e-9

# Arrays that are known by their address: steps use about a dozen.
_VIEWS = 64


def system(model: Model, inputs: Any = None) -> System:
    """The model, driven by `inputs`, as a mechanical system."""
    return Drive(model, inputs).system


def driven_by(model: Model, state: State, inputs: Any) -> Array:
    """Return generalised forces and inputs at a state, by name or function as `simulate` takes them.

    A plain vector is of the inputs of force elements alone, as functions of `dynamics` take it.
    """
    if inputs is None or callable(inputs) or isinstance(inputs, Mapping):
        return Drive(model, inputs).values(state.t, state.q, state.w)
    return model.drive("tau", None, inputs, state.t, state.x)[: model.nv + model.nu].astype(np.float64)


class Drive:
    """What drives a model.  `error` is what a user's function raised, if it did, or that an expression has no value."""

    def __init__(self, model: Model, inputs: Any = None) -> None:
        if model.group is None:
            raise InputError(
                f"{model!r} has no degrees of freedom: nothing can move.\n  Give it a joint that is not fixed."
            )
        self.model = model
        self.error: BaseException | None = None
        self._functions: list[tuple[slice, str, Callable[..., Any], bool]] = []
        self._whole: Callable[..., Any] | None = None
        # where in u the result stands, how far behind it rate and acceleration of a law do (0 of others), the program
        self._programs: list[tuple[int, int, Program]] = []
        # the error of a program, if that is the last
        self._told: BaseException | None = None
        # calls of functions, while they are recorded: t, q, v and what they wrote into u; where they write
        self._record: list[tuple[float, Array, Array, Array]] | None = None
        self._most = 0
        self._answered: list[slice] = []
        constants = recorded_in(model.drive("tau", None, np.zeros(model.nu), 0.0))
        constants = constants.astype(object) if is_recording() else constants
        tables: list[tuple[int, Array]] = []
        self._declared: list[float] = _declared("inputs", inputs)
        given = {} if callable(inputs) else dict(_as_mapping(inputs))
        if callable(inputs):
            self._whole = inputs
        for loop in model.tree.loops:
            if isinstance(loop, Motion):
                self._prescribe(loop, given.pop(loop.name, loop.law), constants, tables)
            elif isinstance(loop, Lock) and loop.engaged:
                constants[self._place(f"{loop.name}.{MODE}")] = 1.0
        for name, value in given.items():
            self._add(name, value, constants, tables)
        for name in model.times:
            if name not in given:
                self._programs.append((self._place(name).start, 0, TIME))
        self.constants = floats(constants)
        self._callback = None
        if self._functions or self._whole is not None:
            self._callback = DRIVE_FUNCTION(self._call)
        self._tell = DRIVE_FUNCTION(self._note_failure) if self._programs else None
        self._views: dict[tuple[int, int], Array] = {}
        ints, packed = self._pack(tables)
        n_work, n_u = (int(model.ints[place]) for place in (at.N_WORK, at.N_U))
        work = motion.work_size(n_work, n_u, model.nv, model.nx, model.nq, len(model.bodies))
        dynamics, constrained = (CONSTRAINED, True) if model.rows else (DYNAMICS, False)
        if not _has_tangents(model):
            dynamics = dynamics._replace(local_tangents=None)
        if not _has_switches(model):
            dynamics = dynamics._replace(switches=None)
        if not any(_holds(force) for force in model.tree.forces):
            dynamics = dynamics._replace(grips=None)
        if model.custom:
            # functions of a user's own take no complex numbers: the geometry of their forces stays out
            dynamics = dynamics._replace(along=motion.along)
        breaks = Breaks(self._find_breaks(tables))
        self.system = System(
            with_states(model.group, model.nx),
            dynamics,
            ints,
            packed,
            work,
            lambda status: str(model.failure(status)),
            constrained,
            coupled=_is_coupled(model),
            diagnose=self._diagnose,
            breaks=breaks,
            states=model.state_owners,
            sticking=tuple(f"element '{force.name}'" for force in model.tree.forces if _holds(force)),
            sizes=_sizes(model),
            keep=(model.ints, model.floats, model.custom, self._callback, self._tell),
        )

    def _find_breaks(self, tables: list[tuple[int, Array]]) -> tuple[float, ...]:
        """Return the times at which inputs jump, as functions declare it and tables show, and few enough kinks."""
        jumps, kinks = set(self._declared), set()
        for _, table in tables:
            found = _breaks_of(table)
            jumps |= found[0]
            kinks |= found[1]
        return tuple(sorted(jumps | kinks if len(kinks) <= _MOST_KINKS else jumps))

    @contextlib.contextmanager
    def recorded(self, most: int = _MOST_RECORDED) -> Iterator[None]:
        """Note what functions answer within, and ask again at the end: InputError if an answer is another.

        Methods ask functions at times of their own choice, again and again, and the choice of a method does so before
        the run: what a function remembers of calls makes such a run wrong.
        """
        self._record, self._most = [], most
        try:
            yield
            if self.error is None:
                self._ask_again()
        finally:
            self._record = None
            # the run may end before the time at which an expression has no value
            if self.error is self._told:
                self.error = None

    def _ask_again(self) -> None:
        record = self._record or []
        self._record = None
        for t, q, v, before in record:
            u = np.zeros(len(self.constants))
            self._answer(t, self._state(t, q, v), u)
            other = np.flatnonzero(np.abs(u - before) > _SAME_ANSWER * (1.0 + np.abs(before)))
            if len(other):
                owner = next((name for place, name, _, _ in self._functions if other[0] in _range(place)), None)
                who = "inputs" if owner is None else f"inputs['{owner}']"
                raise InputError(
                    f"simulate: {who} has a memory: at t = {t:.6g} s and in the same state it returned "
                    f"{before[other[0]]:.6g}, and later {u[other[0]]:.6g}.\n"
                    "  Methods call functions at times of their own choice, again and again, and where the method is\n"
                    "  chosen, ahead of the run. Let it depend on t and state alone; a controller that samples, or\n"
                    "  has a memory, is lg.Sampled(function, period, …): docs/controllers.md."
                )

    @property
    def functions(self) -> list[str]:
        """Names of the inputs that are functions of a user's own: of what those do nobody knows."""
        return [*(["all"] if self._whole is not None else []), *(name for _, name, _, _ in self._functions)]

    @property
    def data(self) -> tuple[NDArray[np.int64], Array]:
        """Constants, tables and programs as kernels read them, without addresses, which change from run to run."""
        return self.system.ints[at.S_TABLES :], self.system.floats

    def samples(self, t: Array, y: Array) -> Array:
        """Return generalised forces and inputs at these times and states (State.y), a row each."""
        out, work = np.empty((len(t), self.model.nv + self.model.nu)), np.empty(self.system.work)
        times, states = np.ascontiguousarray(t), np.ascontiguousarray(y)
        status = motion.drive_samples(self.system.ints, self.system.floats, times, states, work, out)
        if status:
            raise self.error or InputError(str(self.model.failure(status)))
        return out

    def values(self, t: float, q: Array, w: Array) -> Array:
        """Return generalised forces and inputs at one time, configuration and speeds with states, w = (v, x)."""
        return self.vector(t, q, w)[: self.model.nv + self.model.nu]

    def vector(self, t: float, q: Array, w: Array) -> Array:
        """Return all of what the kernels call u: the same, then states and gravity."""
        work = np.empty(self.system.work)
        status = motion.drive(self.system.ints, self.system.floats, t, np.asarray(q), np.asarray(w), work)
        if status:
            raise self.error or InputError(str(self.model.failure(status)))
        start = int(self.model.ints[at.N_WORK])
        return work[start : start + len(self.constants)].copy()

    def varies(self, place: int) -> bool:
        """Return whether a number of u changes by itself, and is no constant."""
        S = self.system.ints
        tables = {int(S[at.S_ROWS + at.TABLE_SIZE * k + at.TABLE_U]) for k in range(int(S[at.S_TABLES]))}
        programs = {start + j for start, n, _ in self._programs for j in (0, n, 2 * n)}
        functions = {k for part, _, _, _ in self._functions for k in _range(part)}
        return self._whole is not None or place in tables | programs | functions

    def _state(self, t: float, q: Array, w: Array) -> State:
        """Return a state of its own from configuration and speeds with states."""
        nv = self.model.nv
        return State(q.copy(), w[:nv].copy(), t, w[nv:].copy(), self.model)

    def _diagnose(self, y: Array, start: Array) -> str:
        return diagnose(self.system, self.model, y, start)

    def _pack(self, tables: list[tuple[int, Array]]) -> tuple[NDArray[np.int64], Array]:
        """Return the arrays S and D of layout.py."""
        I, F = self.model.ints, self.model.floats
        parts, rows = [np.array([-np.inf, np.inf]), self.constants], []
        size = at.D_U + len(self.constants)
        places = []
        for _, _, program in self._programs:
            places.append(size)
            parts.append(np.array(program.constants))
            size += len(program.constants)
        # tables stand last: FMUs write theirs anew
        for place, table in tables:
            rows += [place, size, *_shape(table)]
            parts.append(table[2:])
            size += len(table) - 2
        steps: list[int] = []
        begin = at.S_ROWS + len(rows) + at.PROGRAM_SIZE * len(self._programs)
        for (place, n, program), start in zip(self._programs, places, strict=True):
            rows += [place, n, begin + len(steps), len(program.steps), start, len(program.constants)]
            steps += [number for step in program.steps for number in step]
        functions = [
            0 if f is None else ctypes.cast(f, ctypes.c_void_p).value or 0 for f in (self._callback, self._tell)
        ]
        header = [address_of(I), len(I), address_of(F), len(F), *functions, len(tables), len(self._programs)]
        ints = np.array([*header, *rows, *steps], dtype=np.int64)
        packed = joined(parts)
        ints.setflags(write=False)
        packed.setflags(write=False)
        return ints, packed

    def _add(self, name: str, value: Any, constants: Array, tables: list[tuple[int, Array]]) -> None:
        place = self._place(name)
        n = place.stop - place.start
        who = f"inputs['{name}']"
        spline = as_spline(value)
        if spline is not None:
            columns = np.reshape(spline.c, (*spline.c.shape[:2], -1))
            if columns.shape[2] != n:
                raise InputError(f"{who} is a spline with {columns.shape[2]} components, expected {n}.")
            tables += [(place.start + k, _table(spline.x, columns[:, :, k])) for k in range(n)]
        elif callable(value):
            self._declared += _declared(who, value)
            if not self._add_programs(place.start, n, value):
                self._functions.append((place, name, value, _takes_state(who, value)))
        elif is_sampled(value):
            times, values = read_samples(who, value, n)
            slopes = np.diff(values, axis=0) / np.diff(times)[:, np.newaxis]
            tables += [(place.start + k, _table(times, np.stack([slopes[:, k], values[:-1, k]]))) for k in range(n)]
        else:
            constants[place] = numbers_of("inputs", name, value, place)

    def _prescribe(self, loop: Motion, given: Any, constants: Array, tables: list[tuple[int, Array]]) -> None:
        """Add value, rate and acceleration of a Motion."""
        law, place = read_law(self.model, loop, given), self._place(loop.name)
        spline = as_spline(law.content)
        if spline is not None:
            for order in range(3):
                piece = spline.derivative(order) if order else spline
                columns = np.reshape(piece.c, (*piece.c.shape[:2], -1))
                for k in range(law.n):
                    x, c = (piece.x, columns[:, :, k]) if not order else _at_rest_outside(piece.x, columns[:, :, k])
                    tables.append((place.start + law.n * order + k, _table(x, c)))
        elif isinstance(law.content, np.ndarray):
            constants[place] = law.content
        else:
            self._declared += _declared(f"inputs['{loop.name}']", given)
            if place.stop - place.start != 3 * law.n or not self._add_programs(place.start, law.n, given, law=True):
                self._functions.append((place, loop.name, law.content, False))

    def _add_programs(self, start: int, n: int, function: Any, law: bool = False) -> bool:
        """Add a function by its programs, one per component; return False if it has none, or not what is asked for."""
        programs = getattr(function, "programs", ())
        known = isinstance(programs, tuple) and all(isinstance(program, Program) for program in programs)
        if not known or len(programs) != n or getattr(function, "law", False) != law:
            return False
        self._programs += [(start + k, n if law else 0, program) for k, program in enumerate(programs)]
        return True

    def _place(self, name: str) -> slice:
        """Where in u a name stands."""
        model = self.model
        group = model.group
        short = next((name.removesuffix(end) for end in _ENDINGS if name.endswith(end)), name)
        for candidate in (name, short):
            if candidate in model.inputs:
                part = model.inputs[candidate]
                return slice(model.nv + part.start, model.nv + part.stop)
            if group is not None and candidate in group.v:
                return group.v[candidate]
        known = [*model.inputs, *(group.v if group is not None else {})]
        raise InputError(f"inputs: '{name}' is no joint and no force element with inputs.{suggest(name, known)}")

    def _call(self, t: float, q: Any, v: Any, u: Any) -> int:
        """What the kernels call; an exception must not pass through compiled code, so it waits in `error`."""
        model = self.model
        if self.error is not None:
            return 1
        try:
            out, w = self._view(u, len(self.constants)), self._view(v, model.nv + model.nx)
            state = self._state(t, self._view(q, model.nq), w)
            if self._record is not None and len(self._record) < self._most:
                answer, here = np.zeros(len(out)), (state.q.copy(), w.copy())
                self._answer(t, state, answer)
                for place in self._answered:
                    out[place] = answer[place]
                self._record.append((t, *here, answer))
            else:
                self._answer(t, state, out)
        except BaseException as error:
            self.error = error
            return 1
        return 0

    def _note_failure(self, t: float, q: Any, v: Any, u: Any) -> int:
        """What the kernels call where a program has no finite value."""
        if self.error is None or self.error is self._told:
            self.error = self._told = no_value(t)
        return 0

    def _answer(self, t: float, state: State, out: Array) -> None:
        """Ask the functions, and write what they answer into u."""
        self._answered = []
        if self._whole is not None:
            for name, value in self._whole(t, state).items():
                place = self._place(name)
                out[place] = numbers_of("inputs", name, value, place)
                self._answered.append(place)
        for place, name, function, takes_state in self._functions:
            value = function(t, state) if takes_state else function(t)
            out[place] = numbers_of("inputs", name, value, place)
            self._answered.append(place)

    def _view(self, pointer: Any, n: int) -> Array:
        """The array behind a pointer.  Steps use few, which are kept; whoever asks between them brings new ones."""
        address = ctypes.cast(pointer, ctypes.c_void_p).value or 0
        if (address, n) not in self._views:
            if n == 0:
                return np.zeros(0)
            if len(self._views) >= _VIEWS:
                self._views.clear()
            self._views[address, n] = np.ctypeslib.as_array(pointer, shape=(n,))
        return self._views[address, n]


def _address(function: Any) -> int:
    """Return where a function of C is in memory; 0 if there is none."""
    return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0


def _range(place: slice) -> range:
    return range(place.start, place.stop)


def _declared(who: str, function: Any) -> list[float]:
    """Return the times at which a function says that it jumps: its attribute `breaks`, if it has one."""
    given = getattr(function, "breaks", ()) if callable(function) else ()
    try:
        times = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        times = np.array(np.nan)
    if times.ndim != 1 or not np.isfinite(times).all():
        raise InputError(f"{who}: its attribute `breaks` is {given!r}, expected a list of finite times.")
    return [float(t) for t in times]


def _breaks_of(table: Array) -> tuple[set[float], set[float]]:
    """Return the times at which a table jumps, and those at which its slope does; before and after it is constant."""
    pieces, order = _shape(table)
    x, c = table[2 : 3 + pieces], table[3 + pieces :].reshape(pieces, order)
    polynomials = [np.poly1d(row) for row in c]
    ends = np.array(
        [[p(0.0), p(h), p.deriv()(0.0), p.deriv()(h)] for p, h in zip(polynomials, np.diff(x), strict=True)]
    )
    value, slope = np.abs(ends[:, :2]).max(initial=0.0), np.abs(ends[:, 2:]).max(initial=0.0)
    jumps = x[1:-1][np.abs(ends[1:, 0] - ends[:-1, 1]) > _SMALL * value]
    left, right = np.append(0.0, ends[:, 3]), np.append(ends[:, 2], 0.0)
    kinks = x[np.abs(right - left) > _SMALL * slope]
    return set(jumps.tolist()), set(kinks.tolist())


@once_per_model
def _sizes(model: Model) -> Array:
    """Return what is large in the unit of each coordinate: 1 rad, the length of the mechanism, or, of a mode, the
    amplitude at which it has the kinetic energy of the whole mechanism moved by that length in the same time.

    The length is the largest distance within a body: of its joint, its centre of mass, its nodes and its frames, or its
    radius of gyration, or the free length of a spring.  All numbers change with the units in the same way as motions.
    """
    I, F = model.ints, recorded_in(model.floats)
    lengths, masses = [0.0], [0.0]
    for i in range(len(model.bodies)):
        b, f, _ = at.rows(i)
        mass = F[f + at.MASS]
        lengths += [length_of(F[f + p : f + p + 3]) for p in (at.X_NJ_P, at.X_DB_P)]
        masses.append(mass)
        lengths.append(share(length_of(F[f + at.MOMENT : f + at.MOMENT + 3]), mass))
        trace = F[f + at.INERTIA : f + at.INERTIA + 3].sum()
        lengths.append(root(share(largest([0.0, trace]), mass)))
        for node in (I[b + at.PARENT_NODE], I[b + at.OWN_NODE]):
            if node >= 0:
                place = I[node + at.NODE_F] + at.NODE_P
                lengths.append(length_of(F[place : place + 3]))
    for k in range(I[at.N_FRAMES]):
        place = I[I[at.FRAMES] + k * at.FRAME_SIZE + at.FRAME_F] + 9
        lengths.append(length_of(F[place : place + 3]))
    length = largest(lengths) or 1.0
    out = room(model.nv + model.nx)
    out[:] = 1.0
    for i in range(len(model.bodies)):
        b, _, _ = at.rows(i)
        jv, nv, n, ev = (int(I[b + k]) for k in (at.JV, at.NV, at.NM, at.EV))
        screws = F[I[b + at.SCREWS] : I[b + at.SCREWS] + 6 * nv].reshape(nv, 6)
        out[jv : jv + nv][~screws[:, :3].astype(bool).any(axis=1)] = length
        if n:
            place = at.modal_matrices(I, b)[2]
            modal = np.array([float(F[place + at.triangle(k) + k]) for k in range(n)])
            shares = [sum(masses) / max(m, 1e-300) if m > 0.0 else 1.0 for m in modal]
            out[ev : ev + n] = [length * root(share) for share in shares]
    for force in model.tree.forces:
        if force.name in model.states:
            place = model.states[force.name]
            out[model.nv + place.start : model.nv + place.stop] = force.state_size
    return floats(out)


@once_per_model
def _has_tangents(model: Model) -> bool:
    """Return whether forces depend on one speed, or one coordinate, in a way that (M + αD + βK) does not know."""
    I = model.ints
    local = [I[r + at.JE_N_TERMS] == 1 and I[r + at.JE_N_X] == 0 for r in _joint_elements(model)]
    return _has_friction(model) or any(local)


def _joint_elements(model: Model) -> list[int]:
    """Return the rows of elements that act on joints."""
    return [int(model.ints[at.JOINT_ELEMENTS]) + k * at.JE_SIZE for k in range(int(model.ints[at.N_JOINT_ELEMENTS]))]


def _holds(force: Force) -> bool:
    """Return whether an element is dry friction with the exact law."""
    return isinstance(force, JointForce) and force.holds


def _has_switches(model: Model) -> bool:
    """Return whether there are elements that push or pull in one direction only.

    Those of a crowd are not asked: that costs as much as their forces.
    """
    I = model.ints
    kinds = [int(I[r + at.JE_KIND]) for r in _joint_elements(model)]
    elements = range(int(I[at.ELEMENTS]), int(I[at.ELEMENTS] + I[at.N_ELEMENTS] * at.ELEMENT_SIZE), at.ELEMENT_SIZE)
    one_sided = (at.CONTACT, at.LINE_LAW, at.ROPE, at.BALL_STOP)
    touching = any(I[e + at.ELEMENT_KIND] in one_sided for e in elements)
    kinked = any(kind in (at.STOP, at.GEAR_TRAIN, at.CABLE, at.BELT, at.LAW) for kind in kinds)
    return touching or kinked or bool(I[at.N_HELD])


@once_per_model
def _has_friction(model: Model) -> bool:
    """Return whether a joint has friction."""
    F, rows = recorded_in(model.floats), [at.rows(i)[1] for i in range(len(model.bodies))]
    return any(bool(F[f + at.FRICTION : f + at.FRICTION_SPEED].any()) for f in rows)


@once_per_model
def _is_coupled(model: Model) -> bool:
    """Whether there are forces that may be stiff besides those of modes and joints that (M + αD + βK) knows.

    These are all elements but plain loads, friction, springs of joints whose coordinates are not added, and elements
    that act on joints.
    """
    I = model.ints
    on_group = any(I[at.rows(i)[0] + at.PASSIVE] == at.ON_GROUP for i in range(len(model.bodies)))
    if I[at.N_JOINT_ELEMENTS] or on_group or _has_friction(model):
        return True
    kinds = {int(I[I[at.ELEMENTS] + k * at.ELEMENT_SIZE + at.ELEMENT_KIND]) for k in range(I[at.N_ELEMENTS])}
    return bool(kinds - {at.LOAD_WORLD, at.LOAD_BODY})


def _as_mapping(inputs: Any) -> Mapping[str, Any]:
    if inputs is None:
        return {}
    if not isinstance(inputs, Mapping):
        raise InputError(f"inputs is {inputs!r}, expected a mapping of names to values, or a function of (t, state).")
    return inputs


def _takes_state(who: str, function: Callable[..., Any]) -> bool:
    """Whether it is a function of (t, state), not of (t) alone."""
    try:
        kinds = [p.kind for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    except (TypeError, ValueError):  # some compiled functions have no signature: take them as functions of time
        return False
    n = sum(kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD) for kind in kinds)
    if n not in (0, 1, 2):
        raise InputError(f"{who} is a function of {n} arguments, expected (t) or (t, state).")
    return n == 2


def _at_rest_outside(x: Array, c: Array) -> tuple[Array, Array]:
    """A derivative of a law that is held before and after: zero there."""
    zero = np.zeros((len(c), 1))
    return np.concatenate([[x[0] - 1.0], x, [x[-1] + 1.0]]), np.concatenate([zero, c, zero], axis=1)


def _table(places: Any, coefficients: Any) -> Array:
    """Pieces, coefficients a piece; then places and coefficients as kernels/motion.py reads them."""
    order, pieces = np.shape(coefficients)
    return np.concatenate([[pieces, order], places, np.transpose(coefficients).ravel()]).astype(np.float64)


def _shape(table: Array) -> tuple[int, int]:
    return int(table[0]), int(table[1])
