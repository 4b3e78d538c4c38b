"""The machine of an FMU in Python: a mechanism, its inputs and outputs, as the record that liegeo/machine.py moves.

From one communication point to the next it advances as `liegeo.simulate` does, with the same bits: a method of fixed
step makes the fewest equal steps that are not longer than `step`, others choose their steps, and go on with the one
that they would have tried next.  Where an input jumps, a method's memory is of another motion, and it starts anew; that
is also what `liegeo.simulate` does with a run that begins there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from fmu_export.variables import LINEAR, Settings, motion_inputs, structured
from fmu_export.words import text
from liegeo._jit import address, provide
from liegeo.assembly import held
from liegeo.errors import AssemblyError, DynamicsError, InputError, LiegeoError, SimulationError
from liegeo.integrate import METHODS, Method, Problem, Stepper, stepping
from liegeo.integrate.calls import SIZE as N_ADDRESSES
from liegeo.integrate.calls import all_kernels, loop_arguments, with_derivatives
from liegeo.io.mechanism import Mechanism
from liegeo.kernels import assembly as assembling
from liegeo.kernels import blocks, observe, projection
from liegeo.kernels import layout as at
from liegeo.machine import answers, blame, record, showing, slopes, steps
from liegeo.model.constraints import Motion
from liegeo.model.failure_words import loop_of_row, put_together, texts
from liegeo.model.model import Model, State
from liegeo.model.sensors import Sampling
from liegeo.motion import Drive
from liegeo.observer import Observer
from liegeo.sampled import Plan
from liegeo.status import INPUT_FAILED, NO_CONVERGENCE, WANTED

Array = NDArray[np.float64]


class Driven(Drive):
    """What drives a model, with tables (liegeo/machine.py (1)) at these places of u."""

    def __init__(self, model: Model, inputs: Mapping[str, Any], places: Sequence[int]) -> None:
        self._places = list(places)
        super().__init__(model, inputs)

    def _pack(self, tables: list[tuple[int, Array]]) -> tuple[NDArray[np.int64], Array]:
        mine = [(place, np.array([1.0, record.DEGREE, 0.0, np.inf, *[0.0] * record.DEGREE])) for place in self._places]
        others = [(place, table) for place, table in tables if place not in self._places]
        # behind the last table nothing stands, so that ours are the last numbers of D
        return super()._pack([*others, *mine])


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
        self._plan_controllers(others)
        t = float(start)
        raw = self._wished(mechanism, initial, t) if y is None else self.model.unpack(y, t)
        end = start + 1.0 if stop is None or not stop > start else float(stop)
        #: The state (q, ξ, v, x) that somebody wishes to begin with, or begins with.
        self.wished = raw.y
        self.stepper = self._stepper(_with_rotations(self.model, raw), end)
        self._observe(columns)
        weight = self.drive.constants[-3:]
        for axis, value in gravity.items():
            weight[axis] = value
        keep = mechanism.initial.keep
        self._lay_out(np.asarray(inputs, dtype=np.float64), weight, keep)
        if y is None:
            self._check_start(steps.place(self._R, float(start)))
        self._check_shown(steps.start(self._R, float(start), end))

    # ---- where it begins

    def _plan_controllers(self, others: Mapping[str, Any]) -> None:
        """Make the plan of the controllers, and let the drive have what is in force before their first results."""
        driven = {name: self.drive._place(name) for name in others}
        self._controllers = Plan(self.model, self.model.tree.controllers, self.drive._place, driven)
        if not self._controllers.active:
            return
        self._controllers.events.begin(self.drive, self._controllers.start)
        floats = self.drive.system.floats
        floats.setflags(write=True)
        blocks.hold(self._controllers.ints, self._controllers.start, floats, at.D_U)
        floats.setflags(write=False)

    def _stepper(self, state: State, end: float) -> Stepper:
        settings = self.settings
        problem = Problem.of(
            self.drive.system, state.q, state.w, end, t_start=float(state.t), name=self.model.tree.name
        )
        method, step, rtol, atol = METHODS[settings.method], settings.step, settings.rtol, settings.atol
        stepper = Stepper(problem, method, step=step, rtol=rtol, atol=atol, fenced=False)
        # one set of numbers drives steps and outputs
        stepper._F = self.drive.system.floats
        return stepper

    def _observe(self, columns: Sequence[tuple[tuple[str, ...], int]]) -> None:
        """Make the plans of what is shown: outputs, accelerations, and quaternions of frames for their signs."""
        model, sources = self.model, list(dict.fromkeys(source for source, _ in columns))
        self._columns = columns
        self._outputs = Observer(model, sources, columns)
        self._rates = Observer(model, [("a",)])
        turned = [source for source in sources if source[0] == "frame" and source[2] == "quaternion"]
        self._turns = Observer(model, turned)
        self._shown = np.full(len(columns), np.nan)

    def _lay_out(self, inputs: Array, weight: Array, keep: Any) -> None:
        """Lay out the state and the record; `keep` is what stays where it is while loops are closed."""
        stepper, system, model, places = self.stepper, self.drive.system, self.model, self.places
        group = system.state_group
        rows, kept = stepper.method.scratch(group.dim, len(stepper.y))
        # q and −q are the same rotation: where the quaternions of frames stand
        shown, alone = (
            np.array([k for source in self._turns.places for k in _range(observer.places[source])], dtype=np.int64)
            for observer in (self._outputs, self._turns)
        )
        longest = float(stepper.control[stepping.LONGEST])
        plan = self._controllers
        n_sampled = len(plan.start) if plan.active else 0
        sampling = Sampling.of_columns(model.tree.sensors, self._columns)
        sampled = n_sampled, sampling.memory
        part = record.parts(len(places), len(shown), len(stepper.y), group.dim, rows, *sampled)
        self.n_state = part["K"].start + kept * group.dim
        X = self._X = np.zeros(part["K"].stop)
        X[part["w"]], X[part["gravity"]], X[part["y"]] = inputs, weight, self.wished
        self.w, self.gravity, stepper.y, stepper.control = (X[part[name]] for name in ("w", "gravity", "y", "control"))
        stepper._scratch.K = X[part["K"]].reshape(rows, group.dim)
        self._part = part
        method, settings = stepper.method, self.settings
        of_method = method_numbers(method)
        numbers = (
            *(settings.step, settings.rtol, settings.atol, method.exponent),
            *(of_method["POWER"], of_method["SHARE"], longest),
        )
        n_rows, work = len(model.rows), system.work
        self._arrays: dict[str, NDArray[Any]] = {
            "S": stepper._I,
            **self._kept(keep),
            "PLACES": places,
            "QUATERNIONS": np.array(sorted(quaternions(model)), dtype=np.int64),
            "MOTIONS": np.array(_rows_of_motions(model, places.tolist()), dtype=np.int64).reshape(-1, 3),
            "TURNED": shown,
            "TURNED_ALONE": alone,
            "PLAN": self._outputs.plan,
            "KNOWN": self._outputs.known,
            "PLAN_RATES": self._rates.plan,
            "PLAN_TURNS": self._turns.plan,
            "D": self.drive.system.floats,
            "DATA": self._outputs.data,
            "DATA_TURNS": self._turns.data,
            "DATA_RATES": self._rates.data,
            "SETTINGS": np.array(numbers),
            "BREAKS": system.breaks.table,
            "X": X,
            "SAVED": np.zeros(self.n_state),
            "SLOPES": np.full(2 * len(places), np.nan),
            "W": stepper._scratch.W,
            "W_SHOWN": np.full(max(work, len(model.workspace())), np.nan),
            "ROWS_2": stepper._rows,
            "ELEMENT": stepper._Y,
            "END": stepper._end,
            "SCALE": stepper._scale,
            "Z": self._outputs.numbers(),
            "Z_TURNS": self._turns.numbers(),
            "Z_RATES": self._rates.numbers(),
            "SHOWN": self._shown,
            "SLOPE": np.full(self._slope_size(), np.nan),
            "FIRST": np.zeros(n_rows + 2),
            "BEGAN": np.zeros(len(stepper.y)),
            "PIECES": np.zeros(blame.PIECES),
            "BLAMED": np.zeros(blame.blame_size(model.ints, len(system.ints) + N_ADDRESSES)),
            "LOOP_OF_ROW": loop_of_row(model),
            "ASSEMBLY": np.full(assembling.scratch_size(model.ints) if n_rows else 0, np.nan),
            "BLOCKS": plan.ints,
            "GAINS": plan.floats,
            "SAMPLED": plan.start,
            "BEFORE": np.zeros(self.n_state if plan.events.names else 0),
            "PLAN_MEASURED": plan.observer.plan,
            "DATA_MEASURED": plan.observer.data,
            "Z_MEASURED": plan.observer.numbers(),
            "SENSORS": sampling.rows,
            "SENSOR_SETTINGS": sampling.settings,
            "MEASURED": np.full(len(self._shown), np.nan),
            "LAYOUT": stepper._layout,
            "COEFFICIENTS": np.ascontiguousarray(stepper._coefficients).copy(),
        }
        stepper._coefficients = self._arrays["COEFFICIENTS"]
        self._slopes = self._arrays["SLOPES"].reshape(-1, 2)
        self._numbers = {
            **self._code(),
            **dict.fromkeys(("SHOW_COMPLEX", "SHOW_RATES_COMPLEX", "BLAME"), 0),
            "N_INPUTS": len(places),
            "N_MOTIONS": len(self._arrays["MOTIONS"]),
            "N_OUTPUTS": len(self._shown),
            "ROWS": rows,
            "KEPT": kept,
            "DIM": group.dim,
            "N_STATE": self.n_state,
            "ADAPTIVE": int(method.adaptive),
            "LINEAR": int(settings.extrapolation == LINEAR),
            "ORDER": method.order,
            "TOLERANCE_AT": int(of_method["TOLERANCE_AT"]),
            "N_SAMPLED": n_sampled,
            "N_SAMPLES": sampling.memory,
        }
        self._R = record.record(self._numbers, self._arrays)
        called = quaternions(model)
        #: The texts of messages.
        initial = [f"initial.{structured(called[place])}" for place in sorted(called)]
        self.texts = texts(model, keep, initial, plan.names)

    def _slope_size(self) -> int:
        model = self.model
        n_work, n_u = int(model.ints[at.N_WORK]), int(model.ints[at.N_U])
        n_z = max(self._outputs.size, self._rates.size)
        return slopes.scratch_size(n_work, n_u, model.nq, model.nv + model.nx, n_z, len(self._shown))

    def _kept(self, keep: Any) -> dict[str, NDArray[Any]]:
        """Return what drives models in which what is kept is locked, and the weights of their coordinates.

        Where a joint that is kept is driven from outside, there is a second one, in which it is not kept.
        """
        model, none = self.model, np.zeros(0)
        self._locked = []
        if not model.rows:
            nothing = np.zeros(0, np.int64)
            return {"S_KEPT": nothing, "S_FREE": nothing, "WEIGHTS": none, "WEIGHTS_FREE": none}
        out: dict[str, NDArray[Any]] = {}
        driven = _driven_joints(model, self.places.tolist()) & set(keep)
        for ending, kept in (("KEPT", keep), ("FREE", _without(keep, driven) if driven else None)):
            weights = "WEIGHTS" if ending == "KEPT" else "WEIGHTS_FREE"
            if kept is None:
                out[f"S_{ending}"], out[weights] = np.zeros(0, np.int64), none
                continue
            locked, out[f"S_{ending}"], out[weights] = held(model, self.drive, kept)
            self._locked.append(locked)
        return out

    def _code(self) -> dict[str, int]:
        """Return the addresses of the kernels that a step calls."""
        stepper, model = self.stepper, self.model
        shape = stepper.problem.group.element_shape
        wanted = {
            "LOOP": (stepper._loop, loop_arguments(stepper._layout, stepper._coefficients, shape)),
            "FIELD": (stepper._given, record.FIELD_ARGUMENTS),
            "SHOW": (self._outputs.kernel, record.SHOW_ARGUMENTS),
            "SHOW_KNOWN": (observe.show, record.SHOW_ARGUMENTS),
            "SHOW_TURNS": (self._turns.kernel, record.SHOW_ARGUMENTS),
            "SHOW_RATES": (self._rates.kernel, record.SHOW_ARGUMENTS),
        }
        if self._controllers.observer.width:
            wanted["MEASURE"] = (self._controllers.observer.kernel, record.SHOW_ARGUMENTS)
        if model.rows:
            wanted["PROJECT"] = (projection.project_samples, record.PROJECT_ARGUMENTS)
            wanted["ASSEMBLE"] = (assembling.assemble, record.ASSEMBLE_ARGUMENTS)
        # what a host may ask for between steps is there before the first
        between = (steps.restored, steps.take_back, steps.put_coefficients)
        later = [*((kernel, (record.RECORD,)) for kernel in between), (steps.restart, (record.RECORD, types.float64))]
        later.append((answers.explain, (record.RECORD, types.int64, types.float64)))
        provide([*wanted.values(), *later])
        return {name: address(*each)[0] for name, each in wanted.items()}

    @property
    def steps(self) -> int:
        """How many internal steps were made."""
        return self.stepper.steps

    @property
    def t(self) -> float:
        """The time of the last communication point."""
        return float(self._X[record.TIME])

    @property
    def reached(self) -> float:
        """Where the last internal step ended that succeeded, if a communication step did not."""
        return float(self._X[record.REACHED])

    def _wished(self, mechanism: Mechanism, initial: Mapping[tuple[str, int], float], start: float) -> State:
        """Return the state that the file and `initial` wish to begin with; its loops may be open."""
        state = mechanism.wished(self.model, start)
        if not initial:
            return state
        parts = {"q": state.q.copy(), "v": state.v.copy(), "x": state.x.copy()}
        for (letter, place), value in initial.items():
            parts[letter][place] = value
        return replace(state, q=parts["q"], v=parts["v"], x=parts["x"])

    def _check_start(self, why: int) -> None:
        """Raise what is wrong with the state that a motion is to begin with."""
        self.model.check_custom()
        if why == record.NOT_ASSEMBLED:
            raise self._input_error() or AssemblyError(self._message(why))
        if why == record.NO_ROTATION:
            raise InputError(self._message(why))
        self._check_step(why)

    # ---- inputs

    def set_gravity(self, axis: int, value: float) -> None:
        """Accelerations jump: a method starts anew."""
        self.gravity[axis] = value
        steps.put_coefficients(self._R)
        self._restart()

    def go_on_from(self, other: Machine) -> None:
        """Take over from a machine of the same structure with other numbers: its state, and gravity as it is here."""
        mine, its = self.model, other.model
        same = len(mine.floats) == len(its.floats) and self.n_state == other.n_state
        if not same or not np.array_equal(mine.fingerprint, its.fingerprint):
            raise InputError("the new value changes what the model consists of; that cannot be while it moves.")
        weight = self.gravity.copy()
        self.restore(other.snapshot())
        self.gravity[:] = weight
        steps.put_coefficients(self._R)
        if mine.rows:
            self._check_step(steps.follow(self._R, self.t))
        self._restart()

    def _restart(self) -> None:
        """Forget what a method remembers of a motion under other inputs."""
        steps.restart(self._R, self.t)

    # ---- motion

    def step(self, t: float, size: float, slopes: Array | None = None) -> None:
        """From t to t + size; if that cannot be done, back to where it began, with a SimulationError.

        `slopes` are first and second derivatives of the inputs in this step, a row each; NaN where none is given.
        `reached` is how far internal steps got, if they did not get to the end.
        """
        self._slopes[:] = np.nan if slopes is None else slopes
        why = steps.communicate(self._R, t, size)
        if why == record.STEP_FAILED and self.stepper.control[stepping.STATUS] == WANTED:
            steps.take_back(self._R)
            self._with_derivatives()
            why = steps.communicate(self._R, t, size)
        try:
            self._check_step(why, size)
            self.model.check_custom()
        except (LiegeoError, ArithmeticError):
            steps.take_back(self._R)
            raise

    @property
    def motions(self) -> NDArray[np.int64]:
        """Where value, rate and acceleration of each prescribed motion stand in the inputs."""
        return self._arrays["MOTIONS"]

    def follow_inputs(self, w: Array) -> None:
        """Take inputs, and let what is prescribed follow them from here on; the state is as it was."""
        self.w[:] = w
        steps.set_coefficients(self._R, self.t, False)

    def _with_derivatives(self) -> None:
        """Compile what a step asked for."""
        self._lead_to(with_derivatives(self.stepper._I, self.drive.system))

    def _check_step(self, why: int, size: float = 0.0) -> None:
        """Raise SimulationError if a step could not be made."""
        if why == record.OPEN_LOOPS:
            raise AssemblyError(self._message(why))
        if why == record.NOT_SHOWN:
            self._check_shown(why)
        elif why in (record.TOO_MANY, record.TOO_SHORT):
            raise SimulationError(self._message(why, size), None)
        elif why:
            raise self._failed(max(self.reached, self.stepper.t), why)

    def _failed(self, t: float, why: int) -> SimulationError:
        words = self._message(why)
        try:
            self.model.check_custom()
        except Exception as error:
            words = f"{words}: {error}"
        raised = self._input_error()
        return SimulationError(words if raised is None else text("AT", t, raised), None)

    def _input_error(self) -> BaseException | None:
        """Return what a function of an input raised, once."""
        raised, self.drive.error = self.drive.error, None
        return raised

    def _message(self, why: int, size: float = 0.0) -> str:
        """Return what an answer of the machine means."""
        if why == record.STEP_FAILED and self.stepper.control[stepping.STATUS] == NO_CONVERGENCE:
            # compiled where it is asked for the first time: few FMUs ever ask
            self._numbers["BLAME"] = address(blame.add_culprit, record.BLAME_ARGUMENTS)[0]
            self._lead_to(all_kernels(self.drive.system))
        answers.explain(self._R, why, size)
        return put_together(self._arrays["PIECES"], self.texts)

    def _lead_to(self, S: NDArray[np.int64]) -> None:
        """Let steps find the kernels of the system in S."""
        self.stepper._I = self._arrays["S"] = S
        self._R = record.record(self._numbers, self._arrays)

    # ---- what is seen of it

    def _check_shown(self, why: int) -> None:
        if why == record.NOT_SHOWN:
            if self.stepper.control[stepping.STATUS] == INPUT_FAILED:
                raise self._failed(self.t, why)
            raise DynamicsError(self._message(why))

    def values(self, computed: bool = True) -> Array:
        """The outputs; without `computed`, only those that are coordinates, speeds or inputs are up to date."""
        self._check_shown(showing.show(self._R, int(computed)))
        return self._shown

    def values_at(self, t: float, q: Array, v: Array, w: Array) -> Array:
        """The outputs at another point, near the one where it is."""
        kept, y = self._X.copy(), self.stepper.y
        nq = self.model.nq
        try:
            self._X[record.TIME], y[:nq], y[nq + self.model.nx :], self.w[:] = t, q, v, w
            self._check_shown(showing.turn(self._R))
            return self.values().copy()
        finally:
            self._X[:] = kept

    def _with_slopes(self) -> None:
        """Compile, where they are first asked for, the kernels that show outputs with complex numbers."""
        if self._numbers["SHOW_COMPLEX"]:
            return
        wanted = {
            "SHOW_COMPLEX": (self._outputs.kernel, record.COMPLEX_SHOW_ARGUMENTS),
            "SHOW_RATES_COMPLEX": (self._rates.kernel, record.COMPLEX_SHOW_ARGUMENTS),
        }
        provide(wanted.values())
        self._numbers |= {name: address(*each)[0] for name, each in wanted.items()}
        self._R = record.record(self._numbers, self._arrays)

    def along_inputs(self, direction: Array) -> Array:
        """Return the derivatives of the outputs along a direction in the inputs."""
        self._with_slopes()
        self._check_shown(slopes.along_inputs(self._R, np.ascontiguousarray(direction, dtype=np.float64)))
        return self._shown.copy()

    def along_motion(self) -> Array:
        """Return the rates of the outputs."""
        self._with_slopes()
        self._check_shown(slopes.along_motion(self._R))
        return self._shown.copy()

    # ---- all there is

    def snapshot(self) -> Array:
        """Return the state; put back, it gives the same bits again."""
        return self._X[: self.n_state].copy()

    def restore(self, saved: Array) -> None:
        """Put back what `snapshot` returned."""
        self._X[: self.n_state] = saved
        self._arrays["BEGAN"][:] = self.stepper.y
        steps.restored(self._R)


def _range(place: slice) -> range:
    return range(place.start, place.stop)


def _check(settings: Settings) -> None:
    if settings.method not in METHODS:
        raise InputError(text("NO_METHOD", settings.method))
    for name in ("step", "rtol", "atol"):
        value = getattr(settings, name)
        if not np.isfinite(value) or not value > 0.0:
            raise InputError(text("NOT_POSITIVE", name, value))
    if settings.extrapolation not in ("hold", "linear"):
        raise InputError(text("NO_EXTRAPOLATION", settings.extrapolation))


def y_in(model: Model, places: Sequence[int], columns: Sequence[tuple[tuple[str, ...], int]], saved: Array) -> Array:
    """Return y in the state of a machine (`Machine.snapshot`)."""
    plan = Plan(model, model.tree.controllers, Drive(model)._place, {})
    n_sampled = len(plan.start) if plan.active else 0
    turned = {source for source, _ in columns if source[0] == "frame" and source[2] == "quaternion"}
    n = model.nq + model.nv + 2 * model.nx
    n_samples = Sampling.of_columns(model.tree.sensors, columns).memory
    part = record.parts(len(places), 4 * len(turned), n, 0, 0, n_sampled, n_samples)["y"]
    if len(saved) < part.stop:
        raise InputError("the state has too few numbers for this model.")
    return saved[part].copy()


def method_numbers(method: Method) -> dict[str, float]:
    """Return what the machine knows of a method beside its table."""
    # of plain numbers of a method that chooses its steps the last is the share of the tolerance that it solves to
    plain = method.adaptive and isinstance(method.table, tuple) and len(method.table) > 0
    table = method.table if isinstance(method.table, tuple) else ()
    return {
        "POWER": 1.0 + (method.order if method.lower is None else method.lower),
        "SHARE": float(table[-1]) if plain else 0.0,
        "TOLERANCE_AT": len(table) - 1 if plain else -1,
    }


def quaternions(model: Model) -> dict[int, str]:
    """Return by its first place in q what is a quaternion, by name."""
    found: dict[str, int] = {}
    for name, column in model.names.table.items():
        if column.source == ("q",) and column.kind == "quaternion":
            owner = name.rpartition(".")[0]
            found[owner] = min(column.place, found.get(owner, column.place))
    return {place: name for name, place in found.items()}


def _with_rotations(model: Model, state: State) -> State:
    """Return the state with quaternions of length 1, whatever they were."""
    q = state.q.copy()
    for place in quaternions(model):
        length = float(np.linalg.norm(q[place : place + 4]))
        q[place : place + 4] = q[place : place + 4] / length if length > 0.0 else (1.0, 0.0, 0.0, 0.0)
    return replace(state, q=q)


def _without(keep: Any, names: set[str]) -> Any:
    """Return what is kept, but for these joints."""
    if isinstance(keep, Mapping):
        return {name: speeds for name, speeds in keep.items() if name not in names}
    return [name for name in keep if name not in names]


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
