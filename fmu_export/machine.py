"""A mechanism that moves under inputs from outside, communication step by communication step.

It is what an FMU does, without FMI.  Inputs are piecewise polynomials of the kernels (kernels/motion.py): each has a
table of one piece, whose three coefficients are written anew where a communication step begins,

    u(t) = c₀ + c₁ (t − t₀) + c₂ (t − t₀)²,                                                                      (1)

c₀ alone if inputs are held; with linear extrapolation c₁ is the slope since the communication point before.  Slopes
that are given for a step are taken instead.  A prescribed motion takes its rate and half its acceleration as c₁ and c₂,
so that value, rate and acceleration agree within a step.

From one communication point to the next the machine advances as `liegeo.simulate` does (integrate/stepper.py), with
the same bits: a method of fixed step makes the fewest equal steps that are not longer than `step`, others choose their
steps, and go on with the one that they would have tried next.  Where an
input jumps, a method's memory is of another motion, and it starts anew; that is also what `liegeo.simulate` does with a
run that begins there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmu_export.outputs import Outputs
from fmu_export.variables import LINEAR, Settings, motion_inputs, structured
from liegeo.assembly import assemble, project
from liegeo.errors import AssemblyError, InputError, LiegeoError, SimulationError
from liegeo.integrate import METHODS, Problem, Stepper
from liegeo.integrate.stepping import FAILED, FULL
from liegeo.io.mechanism import Mechanism
from liegeo.kernels import layout as at
from liegeo.kernels import motion
from liegeo.kernels.states import state_rates
from liegeo.model.checks import suggest
from liegeo.model.constraints import Motion
from liegeo.model.model import Model, State
from liegeo.motion import Drive

Array = NDArray[np.float64]

# Coefficients of an input (1), highest first, as the kernels read them.
_ORDER = 3
# Accepted steps in one call of the compiled loop, and at most in a communication step.
_AT_ONCE, _MOST_STEPS = 64, 10_000_000
# By how much the length of a quaternion may differ from 1, if somebody wrote it with few digits.
_UNIT = 1e-2
# By how much the length of a quaternion differs from 1 by round-off.
_ROUND_OFF = 4.0 * np.finfo(np.float64).eps


class Driven(Drive):
    """What drives a model, with tables (1) at these places of u."""

    def __init__(self, model: Model, inputs: Mapping[str, Any], places: Sequence[int]) -> None:
        self._places = list(places)
        super().__init__(model, inputs)

    def _pack(self, tables: list[tuple[int, Array]]) -> tuple[NDArray[np.int64], Array]:
        mine = [(place, np.array([1.0, _ORDER, 0.0, np.inf, *[0.0] * _ORDER])) for place in self._places]
        others = [(place, table) for place, table in tables if place not in self._places]
        # behind the last table nothing stands, so that ours are the last numbers of D
        return super()._pack([*others, *mine])

    @property
    def only_outside(self) -> bool:
        """Whether nothing but constants and the inputs from outside drives the model."""
        return self._callback is None and int(self.system.ints[at.S_TABLES]) == len(self._places)


class Machine:
    """A mechanism, its integrator, its inputs and what is to be computed of it."""

    def __init__(
        self,
        mechanism: Mechanism,
        settings: Settings,
        places: Sequence[int],
        columns: Sequence[tuple[tuple[str, ...], int]],
        *,
        inputs: Array,
        initial: Mapping[tuple[str, int], float],
        gravity: Mapping[int, float],
        start: float,
        stop: float | None,
        y: Array | None = None,
    ) -> None:
        """`y`, if given, is the state (q, v, x) at the start; otherwise it is what the mechanism and `initial` say."""
        _check(settings)
        self.settings = settings
        self.model = mechanism.compile()
        self.places = np.array(places, dtype=np.int64)
        others = _not_at(self.model, mechanism.experiment.inputs, set(places))
        self.drive = Driven(self.model, others, places)
        self.w = np.array(inputs, dtype=np.float64)
        self._motions = _rows_of_motions(self.model, places)
        self._t0 = float(start)
        # the inputs one communication point earlier: time, values; and where the inputs now end
        self._before = np.full(len(places) + 1, np.nan)
        self._end = self.w.copy()
        self._c = self._new_coefficients(self._t0)
        self._floats = [_writable(self.drive.system.floats)]
        for axis, value in gravity.items():
            self._put_gravity(axis, value)
        self._tables = [self._rows_of_tables(F) for F in self._floats]
        self._set_coefficients(self._t0)
        state = self._state(mechanism, initial, float(start)) if y is None else self.model.unpack(y, float(start))
        self.stepper = self._stepper(state, stop)
        self._floats.append(_writable(self.stepper._F))
        self._tables.append(self._rows_of_tables(self._floats[-1]))
        self._set_coefficients(self._t0)
        self.t = float(start)
        # where the last internal step ended that succeeded, if a communication step did not
        self.reached = self.t
        self._nq, self._only_outside = self.model.nq, self.drive.only_outside
        # where speeds begin in y, and states in u
        self._first_speed, self._first_state = self.model.nq + self.model.nx, self.model.nv + self.model.nu
        self._jumps = bool(self.drive.system.breaks.times)
        self._fixed = not METHODS[settings.method].adaptive
        # inputs that are constant within a step
        self._held = settings.extrapolation != LINEAR and not self._motions
        # whether the last step began with slopes that were given for it
        self._sloped = False
        self._W = np.empty(self.drive.system.work)
        self._u = self._W[int(self.model.ints[at.N_WORK]) :][: len(self.drive.constants)]
        self.outputs = Outputs(self.model, columns)
        self._signs = self.outputs.signs(*self._point()) if self.outputs.has_quaternions else np.zeros(0)

    # ---- where it begins

    def _stepper(self, state: State, stop: float | None) -> Stepper:
        start, settings = float(state.t), self.settings
        end = start + 1.0 if stop is None or not stop > start else float(stop)
        problem = Problem.of(self.drive.system, state.q, state.w, end, t_start=start, name=self.model.tree.name)
        method, step, rtol, atol = METHODS[settings.method], settings.step, settings.rtol, settings.atol
        stepper = Stepper(problem, method, step=step, rtol=rtol, atol=atol, fenced=False)
        stepper.renew = self._renewed
        return stepper

    @property
    def steps(self) -> int:
        """How many internal steps were made."""
        return self.stepper.steps

    def _state(self, mechanism: Mechanism, initial: Mapping[tuple[str, int], float], start: float) -> State:
        model = self.model
        state = mechanism.initial.state(model, start)
        parts = {"q": state.q.copy(), "v": state.v.copy(), "x": state.x.copy()}
        for (letter, place), value in initial.items():
            parts[letter][place] = value
        _normalise(model, parts["q"], {place for letter, place in initial if letter == "q"})
        state = model.state(**parts, t=start)
        if not model.rows:
            return state
        keep, driven = mechanism.initial.keep, _driven_joints(model, self.places.tolist())
        try:
            closed = assemble(model, state, keep=keep, inputs=self.drive)
        except AssemblyError:
            if not driven & set(keep):
                raise
            # what is driven from outside goes where its inputs say
            if isinstance(keep, Mapping):
                keep = {name: speeds for name, speeds in keep.items() if name not in driven}
            else:
                keep = [name for name in keep if name not in driven]
            closed = assemble(model, state, keep=keep, inputs=self.drive)
        return project(model, closed, self.drive)

    # ---- inputs

    def _set_coefficients(self, t: float) -> None:
        """(1) from here, into every array that kernels read."""
        self._t0 = t
        for rows in self._tables:
            rows[:, 0] = t
            rows[:, 2:] = self._c

    def _rows_of_tables(self, F: Array) -> Array:
        """Our tables: a row each, of where it begins, where it ends, and the coefficients."""
        n = len(self.places)
        return F[len(F) - n * (2 + _ORDER) :].reshape(n, 2 + _ORDER)

    def _new_coefficients(self, t: float, slopes: Array | None = None) -> Array:
        c = np.zeros((len(self.places), _ORDER))
        c[:, 2] = self.w
        if self.settings.extrapolation == LINEAR and self._before[0] < t:
            c[:, 1] = (self.w - self._before[1:]) / (t - self._before[0])
        if slopes is not None:
            # with a slope, a second derivative that was not given is none
            given = ~np.isnan(slopes).all(axis=1)
            c[given, 1], c[given, 0] = np.nan_to_num(slopes[given]).T * [[1.0], [0.5]]
        for value, rate, acceleration in self._motions:
            c[value, 1], c[value, 0] = self.w[rate], 0.5 * self.w[acceleration]
            c[rate, 1], c[rate, 0] = self.w[acceleration], 0.0
            c[acceleration, 1] = 0.0
        return c

    def set_gravity(self, axis: int, value: float) -> None:
        """Accelerations jump: a method starts anew."""
        self._put_gravity(axis, value)
        self._restart()

    @property
    def gravity(self) -> Array:
        """The acceleration of gravity, which an FMU may change while it runs; a view."""
        return self.drive.constants[-3:]

    def _put_gravity(self, axis: int, value: float) -> None:
        """Write gravity wherever u is constant: in the drive, and in what kernels read of it."""
        self.gravity[axis] = value
        for D in self._floats:
            D[at.D_U + len(self.drive.constants) - 3 + axis] = value

    def go_on_from(self, other: Machine) -> None:
        """Take over from a machine of the same structure with other numbers: its state, and gravity as it is here."""
        mine, its = self.model, other.model
        if len(mine.floats) != len(its.floats) or not np.array_equal(mine.fingerprint, its.fingerprint):
            raise InputError("the new value changes what the model consists of; that cannot be while it moves.")
        self.restore({**other.snapshot(), "gravity": self.gravity.copy()})
        if mine.rows:
            self._follow(self.t)
        self._restart()

    def _restart(self) -> None:
        """Forget what a method remembers of a motion under other inputs."""
        self.stepper.restart(self.t)

    # ---- motion

    def step(self, t: float, size: float, slopes: Array | None = None) -> None:
        """From t to t + size; if that cannot be done, back to where it began, with a SimulationError.

        `slopes` are first and second derivatives of the inputs in this step, a row each; NaN where none is given.
        `reached` is how far internal steps got, if they did not get to the end.
        """
        stepper = self.stepper
        # arrays that are replaced, not written to, need no copy
        saved, mine = stepper.save(), (self._c, self._before, self._end, self.t, self._t0, self._sloped)
        self.t = self.reached = t
        jumps = self.w.tobytes() != self._end.tobytes()
        sloped, self._sloped = self._sloped, slopes is not None
        try:
            # held inputs that stay as they are need no new coefficients
            if jumps or not self._held or sloped or self._sloped:
                self._begin(t, size, jumps, slopes, self._held and not (sloped or self._sloped))
            self._advance(t, t + size)
            self.model.check_custom()
        except (LiegeoError, ArithmeticError):
            stepper.load(saved)
            self._c, self._before, self._end, self.t, t0, self._sloped = mine
            self._set_coefficients(t0)
            self._limit_outputs(t)
            raise
        self.t = t + size
        if self.outputs.has_quaternions:
            self._signs = self.outputs.signs(*self._point(), self._signs)

    def _begin(self, t: float, size: float, jumps: bool, slopes: Array | None, held: bool) -> None:
        """The inputs of a communication step; a method that remembers others starts anew."""
        if held:
            self._c, self._end = self._c.copy(), self.w.copy()
            self._c[:, 2] = self._end
            for rows in self._tables:
                rows[:, 4] = self._end
        else:
            self._c = self._new_coefficients(t, slopes)
            self._set_coefficients(t)
            self._before = np.array([t, *self.w])
            self._end = self._c[:, 2] + size * (self._c[:, 1] + size * self._c[:, 0])
        if jumps and self._motions:
            self._follow(t)
        if jumps:
            self._restart()

    def _follow(self, t: float) -> None:
        """Prescribed motions have been set: the state follows, as the constraints want it."""
        self.stepper.y[:] = project(self.model, self.model.unpack(self.stepper.y, t), self.drive).y

    def _advance(self, t: float, end: float) -> None:
        """Go from t to `end`."""
        stepper = self.stepper
        if self._fixed and end - t > _MOST_STEPS * self.settings.step:
            n = (end - t) / self.settings.step
            raise SimulationError(
                f"step: {n:.6g} internal steps of {self.settings.step:g} s in one of {end - t:g} s are too many.", None
            )
        stepper.t = t
        status, calls = stepper.reach(end, _AT_ONCE), 1
        while status == FULL:
            status, calls = stepper.reach(end, _AT_ONCE), calls + 1
            if calls * _AT_ONCE > _MOST_STEPS:
                raise self._failed(stepper.t, "the step became too small")
        if status == FAILED:
            raise self._failed(stepper.t, stepper.why)
        if self._jumps:
            self._limit_outputs(end)

    def _renewed(self, t: float, y: Array) -> Array:
        """Return the state behind a jump of what is prescribed: there may be other speeds."""
        self._limit_outputs(t)
        return project(self.model, self.model.unpack(y, t), self.drive).y if self.model.rows else y

    def _limit_outputs(self, t: float) -> None:
        """Tell the kernels of outputs between which jumps of the FMU's own inputs the time t lies."""
        self.drive.system.breaks.limit(self.drive.system.floats, t)

    def _failed(self, t: float, why: str) -> SimulationError:
        self.reached = max(t, self.t)
        try:
            self.model.check_custom()
        except Exception as error:
            why = f"{why}: {error}"
        raised, self.drive.error = self.drive.error, None
        return SimulationError(f"at t = {t:.6g} s: {why if raised is None else raised}", None)

    # ---- what is seen of it

    def _point(self) -> tuple[float, Array, Array, Array]:
        """t, q, v and u with the inputs as they are now."""
        y, nq = self.stepper.y, self._nq
        if self._only_outside:
            self._u[:] = self.drive.constants
            self._u[self._first_state : -3] = y[self._first_speed + self.model.nv :]
        else:
            system = self.drive.system
            status = motion.drive(system.ints, system.floats, self.t, y[:nq], y[self._first_speed :], self._W)
            if status:
                raise self._failed(self.t, str(self.model.failure(status)))
        self._u[self.places] = self.w
        return self.t, y[:nq], y[self._first_speed :], self._u

    def values(self, computed: bool = True) -> Array:
        """The outputs; without `computed`, only those that are coordinates, speeds or inputs are up to date."""
        return self.outputs.values(*self._point(), self._signs, computed)

    def values_at(self, t: float, q: Array, v: Array, w: Array) -> Array:
        """The outputs at another point, near the one where it is."""
        y, nq = self.stepper.y, self._nq
        kept = self.t, y.copy(), self.w.copy()
        try:
            self.t, y[:nq], y[self._first_speed :], self.w[:] = t, q, v, w
            point = self._point()
            signs = self.outputs.signs(*point, self._signs) if self.outputs.has_quaternions else self._signs
            return self.outputs.values(*point, signs).copy()
        finally:
            self.t, y[:], self.w[:] = kept

    def accelerations(self) -> Array:
        """Return v̇ and ẋ, with the inputs as they are now."""
        t, q, v, u = self._point()
        rates = np.empty(self.model.nx)
        state_rates(self.model.ints, self.model.floats, v, u, rates)
        return np.concatenate([self.outputs.accelerations(t, q, v, u), rates])

    def input_rates(self) -> Array:
        """The rates of the inputs (1) where the last step ended."""
        return self._c[:, 1] + 2.0 * (self.t - self._t0) * self._c[:, 0]

    # ---- all there is

    def snapshot(self) -> dict[str, Array]:
        """Put back, it gives the same bits again."""
        y, memory, control = self.stepper.save()
        return {
            "y": y,
            "memory": memory,
            "control": control,
            "w": self.w.copy(),
            "before": self._before,
            "end": self._end,
            "c": self._c,
            "signs": self._signs,
            "times": np.array([self.t, self._t0]),
            "gravity": self.gravity.copy(),
        }

    def restore(self, saved: Mapping[str, Array]) -> None:
        self.stepper.load([saved[name] for name in ("y", "memory", "control")])
        self.w[:], self._before, self._end = saved["w"], np.array(saved["before"]), np.array(saved["end"])
        self._c = np.array(saved["c"]).reshape(len(self.places), _ORDER)
        self._sloped = self._held and bool(self._c[:, :2].any())
        self._signs = np.array(saved["signs"])
        self.t, t0 = (float(x) for x in saved["times"])
        for axis, value in enumerate(saved["gravity"]):
            self._put_gravity(axis, float(value))
        self._set_coefficients(t0)
        self._limit_outputs(self.t)


def _check(settings: Settings) -> None:
    if settings.method not in METHODS:
        raise InputError(
            f"integrator.method is '{settings.method}', which there is not.{suggest(settings.method, list(METHODS))}"
        )
    for name in ("step", "rtol", "atol"):
        value = getattr(settings, name)
        if not np.isfinite(value) or not value > 0.0:
            raise InputError(f"integrator.{name} is {value!r}, must be > 0.")
    if settings.extrapolation not in ("hold", "linear"):
        raise InputError(f"integrator.extrapolation is '{settings.extrapolation}', expected hold or linear.")


def _normalise(model: Model, q: Array, given: set[int]) -> None:
    """Quaternions of which a component was given, to length 1: masters round them to a few digits."""
    found: dict[str, list[int]] = {}
    for name, column in model.names.table.items():
        if column.source == ("q",) and column.kind == "quaternion":
            found.setdefault(name.rpartition(".")[0], []).append(column.place)
    for name, places in found.items():
        length = float(np.linalg.norm(q[places]))
        if not given & set(places) or abs(length - 1.0) <= _ROUND_OFF:
            continue
        if not abs(length - 1.0) <= _UNIT:
            raise InputError(
                f"initial.{structured(name)} is {q[places].tolist()}, of length {length:.6g}, but a rotation has "
                "length 1.\n  Set all four components, w, x, y and z."
            )
        q[places] /= length


def _writable(array: Array) -> Array:
    """A view to write through; the array itself stays read-only, which is what kernels are compiled for."""
    array.setflags(write=True)
    view = array[:]
    array.setflags(write=False)
    return view


def _not_at(model: Model, inputs: Mapping[str, Any], places: set[int]) -> dict[str, Any]:
    """The signals of an experiment that drive something else; motions that are driven from outside follow no law."""
    plain = Drive(model)
    others = {
        name: signal
        for name, signal in inputs.items()
        if not places & set(range(plain._place(name).start, plain._place(name).stop))
    }
    outside = {name: np.zeros(n) for name, (part, n) in motion_inputs(model).items() if part.start in places}
    return {**others, **outside}


def _driven_joints(model: Model, places: Sequence[int]) -> set[str]:
    """The joints whose motion is prescribed from outside."""
    motions = motion_inputs(model)
    laws = [loop for loop in model.tree.loops if isinstance(loop, Motion) and loop.name in motions]
    return {loop.joint for loop in laws if motions[loop.name][0].start in places}


def _rows_of_motions(model: Model, places: Sequence[int]) -> list[tuple[int, int, int]]:
    """By prescribed value among the inputs: which of them are value, rate and acceleration."""
    row = {place: k for k, place in enumerate(places)}
    return [
        (row[part.start + k], row[part.start + n + k], row[part.start + 2 * n + k])
        for part, n in motion_inputs(model).values()
        for k in range(n)
        if part.start in row
    ]
