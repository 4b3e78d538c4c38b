"""Sampled controllers of a run: from what a person wrote to the arrays of kernels/blocks.py, and their calls.

`Plan` is what controllers are on a model: which columns they measure, their rows B and numbers P, and their state C at
the start, which holds all that they remember, so that copying it saves it.  `Controllers` are those of one run of
`liegeo.simulate`; FMUs run the same plan inside their machine (liegeo/machine/controls.py).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo._jit import DRIVE_FUNCTION, address, provide
from liegeo.account import Account
from liegeo.assembly import project_samples
from liegeo.checkpoints import digest
from liegeo.errors import InputError, ModelError, Owner
from liegeo.happenings import Happenings
from liegeo.integrate import Stepper, Trajectory, stepping
from liegeo.integrate.calls import loop_arguments
from liegeo.kernels import blocks as at
from liegeo.kernels import events as kernel_events
from liegeo.kernels import layout, projection
from liegeo.machine import events as machine_events
from liegeo.machine import record
from liegeo.model.checks import as_numbers, suggest
from liegeo.model.constraints import Motion
from liegeo.model.controllers import Controller, Sampled, signals_of
from liegeo.model.failure_words import ENDLESS, NOT_FINITE_OUTPUT
from liegeo.model.model import Model
from liegeo.model.names import Column
from liegeo.motion import Drive
from liegeo.observer import Observer
from liegeo.recorded import floats, settled
from liegeo.results.result import Happened
from liegeo.status import explain

Array = NDArray[np.float64]

# Samples in a run: nobody waits for more.
_MOST_SAMPLES = 1e9
_WAITING = "it decides how many results of a controller wait for their delay"
_START = "it is what a controller begins with"
# So many events may follow from one another at one instant.
_MOST_ROUNDS = 1000


class Plan:
    """Controllers on a model."""

    def __init__(
        self,
        model: Model,
        controllers: Sequence[Controller | Sampled],
        place: Callable[[str], slice],
        driven: Mapping[str, slice],
    ) -> None:
        """`place` tells where in u a name stands, and `driven` which names something else drives."""
        self.model, self.controllers = model, tuple(map(_with_function, controllers))
        self.error: BaseException | None = None
        self.names = _names_of(self.controllers)
        #: Functions that a run has for itself, as FMUs, with `close`, `save`, `load` and `refused`.
        self.runs: dict[str, Any] = {}
        self._place, self._driven = place, driven
        self._rows: list[list[int]] = []
        self._more: list[int] = []
        self._numbers: list[Any] = []
        self._callbacks: list[Any] = []
        self._owners: dict[int, str] = {}
        columns = [self._columns(k, each) for k, each in enumerate(self.controllers)]
        self.events = Happenings(self)
        measured = [column for its in [*columns, self.events.columns] for column in its]
        self.columns = [(column.source, column.place) for column in measured]
        self.observer = Observer(model, list(dict.fromkeys(source for source, _ in self.columns)), self.columns)
        #: The state of the controllers; what is measured stands first.
        self._state: list[Any] = [0.0] * len(measured)
        self._more_at = at.PLAN_END + at.CONTROLLER_SIZE * len(self.controllers)
        self._signals: list[dict[str, int]] = []
        first = 0
        for each, its in zip(self.controllers, columns, strict=True):
            self._signals.append(self._place_signals(each, first))
            first += len(its)
        first = 0
        for k, (each, its) in enumerate(zip(self.controllers, columns, strict=True)):
            self._rows.append(self._row(k, each, first, len(its)))
            first += len(its)
        header = len(self.controllers), len(measured), *self.events.place(first)
        rows = [number for row in self._rows for number in row]
        self.ints = np.array([*header, *rows, *self._more], dtype=np.int64)
        self.floats = floats([*self._numbers, 0.0])
        self.start = np.array([float(x) for x in settled([*self._state, 0.0], _START)])
        self.ints.setflags(write=False)
        self.floats.setflags(write=False)
        #: Where in u the outputs stand.
        self.places = np.array(sorted(self._owners), dtype=np.int64)

    @property
    def active(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.controllers or self.events.names)

    @property
    def owners(self) -> Mapping[int, str]:
        """Return by place in u the controller that drives it."""
        return self._owners

    @property
    def functions(self) -> list[str]:
        """Names of controllers that are functions of Python."""
        return [name for name, each in zip(self.names, self.controllers, strict=True) if isinstance(each, Sampled)]

    @property
    def identity(self) -> NDArray[np.int64]:
        """Return the rows without addresses, which change from run to run."""
        out = self.ints.copy()
        for k in range(len(self.controllers)):
            out[at.PLAN_END + k * at.CONTROLLER_SIZE + at.CALL] = 0
        return out

    # ---- what is measured

    def _columns(self, k: int, each: Controller | Sampled) -> list[Column]:
        names = self.model.names
        if isinstance(each, Sampled):
            every = [column for name in each.measure for column in self._found(k, ("measure",), name)]
            return [names.column(column) for column in every]
        own = {name: f"{each.name}.{name}" for name in each.inputs}
        out = []
        for local, name in {**each.measure, **own}.items():
            found = self._found(k, ("measure", local), name)
            if len(found) != 1:
                finding, advice = f"is '{name}', {len(found)} numbers, expected one", f"Name a component: {found[0]}."
                raise self._wrong(k, ("measure", local), finding, advice)
            out.append(names.column(found[0]))
        return out

    def _found(self, k: int, path: tuple[str, ...], name: str) -> tuple[str, ...]:
        try:
            return self.model.names.find(name, "model")
        except InputError as error:
            finding, _, advice = str(error).removeprefix(f"model: '{name}' ").partition("\n")
            finding, dot, near = finding.partition(".")
            raise self._wrong(
                k, path, f"names '{name}', which {finding}", near + "\n" + advice if dot else ""
            ) from None

    def _wrong(self, k: int, path: tuple[str, ...], finding: str, advice: str = "") -> InputError | ModelError:
        """Return what is wrong with a field of controller k: of a model's as a fault, which files show at its place."""
        fault = Owner("controller", self.names[k]).field(*path).fault(finding=finding, advice=advice)
        return ModelError(fault) if isinstance(self.controllers[k], Controller) else InputError(str(fault))

    # ---- where things stand

    def _reserve(self, values: Sequence[Any]) -> int:
        """Return where these numbers stand in C at the start."""
        start = len(self._state)
        self._state += values
        return start

    def _put(self, values: Sequence[Any]) -> int:
        """Return where these numbers stand in P."""
        start = len(self._numbers)
        self._numbers += values
        return start

    def _put_ints(self, values: Sequence[int]) -> int:
        """Return where these whole numbers stand in B."""
        start = self._more_at + len(self._more)
        self._more += values
        return start

    def _place_signals(self, each: Controller | Sampled, first: int) -> dict[str, int]:
        """Return by name where the signals of a controller stand in C, of which it measures those from `first` on."""
        if isinstance(each, Sampled):
            return {}
        names = [*each.measure, *each.inputs]
        out = {name: first + k for k, name in enumerate(names)}
        for name, block in each.blocks.items():
            its = signals_of(name, block)
            start = self._reserve([0.0] * len(its))
            out |= {signal: start + k for k, signal in enumerate(its)}
        return out

    def _signal(self, k: int, name: str, *path: str) -> int:
        """Return where a signal stands in C, as controller k calls it."""
        own = self._signals[k]
        if name in own:
            return own[name]
        other, _, rest = name.partition(".")
        known = {n: signals for n, signals in zip(self.names, self._signals, strict=True) if signals}
        if rest and other in known and rest in known[other]:
            return known[other][rest]
        every = [*own, *(f"{n}.{signal}" for n, signals in known.items() if n != self.names[k] for signal in signals)]
        raise self._wrong(k, path, f"takes '{name}', which is no signal", suggest(name, every))

    def _row(self, k: int, each: Controller | Sampled, first: int, n: int) -> list[int]:
        row = [0] * at.CONTROLLER_SIZE
        row[at.TIMING] = self._put([each.period, each.offset, each.delay])
        row[at.COUNTS] = self._reserve([0.0, 0.0])
        if isinstance(each, Controller):
            row[at.N_BLOCKS], row[at.BLOCKS] = len(each.blocks), self._blocks(k, each)
            given = {name: [value] if isinstance(value, str) else list(value) for name, value in each.outputs.items()}
            sources = {
                name: [self._signal(k, signal, "outputs", name) for signal in signals]
                for name, signals in given.items()
            }
            initial = {name: each.initial.get(name, 0.0) for name in sources}
        else:
            sources, initial = self._function(k, each, row, first, n)
        places: list[int] = []
        start: list[float] = []
        for name, wanted in sources.items():
            place = self._output(k, name)
            if len(wanted) != place.stop - place.start:
                finding = f"has {len(wanted)} signals, expected {place.stop - place.start}, one for each number"
                raise self._wrong(k, ("outputs", name), finding)
            for u, source in zip(range(place.start, place.stop), wanted, strict=True):
                places += [source, u]
                self._owners[u] = self.names[k]
            start += _initial(self.names[k], name, initial[name], len(wanted))
        delay, period = settled([each.delay, each.period], _WAITING)
        pending = 1 + int(np.ceil(delay / period))
        row[at.N_HELD], row[at.OUTPUTS] = len(start), self._put_ints(places)
        row[at.HELD] = self._reserve(start)
        row[at.N_QUEUE], row[at.QUEUE] = pending, self._reserve([0.0] * (pending * len(start)))
        return row

    def _output(self, k: int, name: str) -> slice:
        """Return where in u an output of controller k stands, if nothing else drives that."""
        path = ("outputs", name) if isinstance(self.controllers[k], Controller) else ("outputs",)
        try:
            place = self._place(name)
        except InputError as error:
            finding, _, near = str(error).partition(" is ")[2].partition(".")
            raise self._wrong(k, path, f"names '{name}', which is {finding}", near) from None
        if any(loop.name == name.removesuffix(".input") and isinstance(loop, Motion) for loop in self.model.tree.loops):
            finding = f"names '{name}', a prescribed motion, which cannot jump from sample to sample"
            raise self._wrong(k, path, finding, "Drive a force element or the generalised force of a joint.")
        for other, its in self._driven.items():
            if its.start < place.stop and place.start < its.stop:
                finding = f"names '{name}', which inputs['{other}'] drives too"
                raise self._wrong(k, path, finding, "Leave one of them out.")
        taken = next((self._owners[u] for u in range(place.start, place.stop) if u in self._owners), None)
        if taken is not None:
            finding = f"names '{name}', which controller '{taken}' drives too"
            raise self._wrong(k, path, finding, "Let one controller drive it, with the sum of both.")
        return place

    def _blocks(self, k: int, each: Controller) -> int:
        rows: list[int] = []
        for name, block in each.blocks.items():
            inputs = [self._signal(k, signal, "blocks", name, key) for key, signal in block.wires()]
            rows += [0] * at.BLOCK_SIZE
            row = len(rows) - at.BLOCK_SIZE
            rows[row + at.BLOCK_KIND] = block.kind
            rows[row + at.BLOCK_OUT] = self._signals[k][signals_of(name, block)[0]]
            rows[row + at.BLOCK_N_OUT] = block.n_outputs
            rows[row + at.BLOCK_IN], rows[row + at.BLOCK_N_IN] = self._put_ints(inputs), len(inputs)
            rows[row + at.BLOCK_P] = self._put(block.data(each.period))
            rows[row + at.BLOCK_X] = self._reserve(block.memory())
            rows[row + at.BLOCK_N] = block.size
        return self._put_ints(rows)

    def _function(
        self, k: int, each: Sampled, row: list[int], first: int, n: int
    ) -> tuple[dict[str, list[int]], dict[str, Any]]:
        """Write the row of a function; return where its results stand, and what is in force before, by output."""
        memory = np.asarray(each.memory)
        widths = {name: self._width(k, name) for name in each.outputs}
        total = sum(widths.values())
        row[at.MEASURED], row[at.N_OWN] = first, n
        row[at.MEMORY], row[at.N_MEMORY] = self._reserve([*memory]), len(memory)
        row[at.RESULTS], row[at.N_RESULTS] = self._reserve([0.0] * total), total
        callback = DRIVE_FUNCTION(self._caller(self.names[k], each, n, len(memory), total))
        self._callbacks.append(callback)
        row[at.CALL] = ctypes.cast(callback, ctypes.c_void_p).value or 0
        initial = np.broadcast_to(_initial(self.names[k], "initial", each.initial, total), (total,))
        sources, starts, start = {}, {}, 0
        for name, width in widths.items():
            sources[name] = [row[at.RESULTS] + start + d for d in range(width)]
            starts[name] = initial[start : start + width]
            start += width
        return sources, starts

    def _width(self, k: int, name: str) -> int:
        place = self._output(k, name)
        return place.stop - place.start

    def _caller(self, who: str, each: Sampled, n: int, n_memory: int, n_results: int) -> Callable[..., int]:
        """Return what the kernel calls; an exception must not pass through compiled code, so it waits in `error`."""
        with_memory, function = each.takes_memory, each.function
        make = getattr(function, "for_run", None)
        if make is not None:
            function = make()
            self.runs[who] = function

        def call(t: float, y: Any, x: Any, out: Any) -> int:
            try:
                measured = _view(y, n).copy()
                memory, results = _view(x, n_memory), _view(out, n_results)
                answer = function(t, measured, memory) if with_memory else function(t, measured)
                found = as_numbers(answer)
                if found is None or found.shape not in ((n_results,), *(((),) if n_results == 1 else ())):
                    raise InputError(
                        f"controller '{who}' returned {answer!r} at t = {t:.6g} s, expected "
                        f"{'a number' if n_results == 1 else f'{n_results} numbers'}, one for each output."
                    )
                results[:] = found
            except BaseException as error:
                self.error = error
                return 1
            return 0

        return call


def _view(pointer: Any, n: int) -> Array:
    return np.ctypeslib.as_array(pointer, shape=(n,)) if n else np.zeros(0)


def _initial(who: str, name: str, value: Any, n: int) -> list[float]:
    found = as_numbers(value)
    if found is None or found.shape not in ((), (n,)):
        raise InputError(f"controller '{who}': initial of '{name}' is {value!r}, expected a number or {n} numbers.")
    return [float(x) for x in np.broadcast_to(settled(found, _START), (n,))]


def _with_function(controller: Any) -> Any:
    """Return a controller as it is, or, if it has an FMU, as a function that calls it."""
    if not isinstance(controller, Controller) or controller.fmu is None:
        return controller
    # the one seam through which liegeo loads fmu_export: only models whose controllers are FMUs need it
    from fmu_export import sampled_fmu

    own = {name: f"{controller.name}.{name}" for name in controller.inputs}
    return sampled_fmu.controller(
        controller.fmu["file"],
        controller.period,
        inputs={**controller.measure, **own},
        outputs={name: str(wired) for name, wired in controller.outputs.items()},
        parameters=controller.fmu.get("parameters"),
        kind=controller.fmu.get("kind", ""),
        delay=controller.delay,
        offset=controller.offset,
        initial=np.array([float(controller.initial.get(name, 0.0)) for name in controller.outputs]),
        name=controller.name,
    )


def _names_of(controllers: Sequence[Controller | Sampled]) -> list[str]:
    """Return a name for each: its own, or that of its function, counted where there are several."""
    names: list[str] = []
    for each in controllers:
        if not isinstance(each, Controller | Sampled):
            raise InputError(f"controllers: {each!r} is no controller, expected lg.Sampled(…) or lg.Controller(…).")
        name = each.owner.name or "controller"
        if name in names and (isinstance(each, Controller) or each.name):
            raise InputError(f"controllers: there are two with the name '{name}'.")
        k = 2
        unique = name
        while unique in names:
            unique, k = f"{name}_{k}", k + 1
        names.append(unique)
    return names


class Controllers:
    """The controllers of one run: where they are, and what they held so far."""

    def __init__(self, model: Model, drive: Drive, controllers: Sequence[Controller | Sampled], inputs: Any) -> None:
        given = dict(inputs) if isinstance(inputs, Mapping) else {}
        driven = {name: drive._place(name) for name in given}
        self.plan = Plan(model, controllers, drive._place, driven)
        self.model, self.drive = model, drive
        self.plan.events.begin(drive, self.plan.start)
        self.state = self.plan.start.copy()
        # u, of which only the places of outputs are of use
        self._u = drive.constants.copy()
        self._work = np.full(max(drive.system.work, len(model.workspace())), np.nan)
        self._z = self.plan.observer.numbers()
        #: Events so far: time, name, and the energy that the model got by all that happened at that instant.
        self.happened: list[Happened] = []
        # scratch of events: what a step began with
        self.saved = np.zeros(0)
        self._addresses = (0, 0, 0)
        self._now = -np.inf
        #: When outputs changed, and what they were from then on; the first is before the run.
        self.times: list[float] = [-np.inf]
        self.values: list[Array] = []
        self._shortest = min((float(each.period) for each in controllers), default=0.0)
        at.hold(self.plan.ints, self.state, self._u, 0)
        self._tell(())
        self.values.append(self._u[self.plan.places].copy())

    def begin(self, t: float, end: float) -> None:
        """Let the first samples be those at t, or next after it."""
        for name, each in zip(self.plan.names, self.plan.controllers, strict=True):
            n = (end - t) / float(each.period)
            if n > _MOST_SAMPLES:
                raise InputError(
                    f"simulate: controller '{name}' samples {n:.3g} times in this run, expected at most "
                    f"{_MOST_SAMPLES:g}.\n  Check the unit of its period, which is {float(each.period):g} s."
                )
        at.begin(self.plan.ints, self.plan.floats, self.state, t)

    def next(self, end: float) -> float:
        """Return when something is to be done next, or `end` if that is not before it."""
        plan = self.plan
        end = kernel_events.next_time(plan.ints, plan.floats, self.state, self._now, end)
        return float(at.next_time(plan.ints, plan.floats, self.state, end))

    def watch(self, stepper: Stepper) -> None:
        """Let the steps of a stepper end at events, if there are any."""
        plan = self.plan
        if not plan.events.names:
            return
        plan.events.check_start(self.state, stepper.y)
        size = len(stepper.y) + len(stepper.control) + stepper.memory.size
        self.saved = np.zeros(size)
        shape = stepper.problem.group.element_shape
        wanted = [
            (stepper._loop, loop_arguments(stepper._layout, stepper._coefficients, shape)),
            (plan.observer.kernel, record.SHOW_ARGUMENTS),
            *([(projection.project_samples, record.PROJECT_ARGUMENTS)] if self.model.rows else []),
        ]
        provide(wanted)
        found = [address(*each)[0] for each in wanted]
        self._addresses = (found[0], found[1], found[2] if len(found) > 2 else 0)
        self._scratch = (
            np.empty((2, stepper.problem.system.group.dim)),  # type: ignore[union-attr]
            *(np.empty(stepper.problem.group.element_shape), np.zeros(len(self.model.rows) + 2), stepper.y.copy()),
        )

        def watched(*arguments: Any) -> int:
            measured = plan.observer.plan, plan.observer.data, self._z, self._work
            rows = plan.ints, plan.floats, self.state
            return int(machine_events.watched(self._addresses, *rows, *measured, self.saved, *arguments))

        stepper.watcher = watched

    def counts(self, piece: Trajectory, before: list[tuple[float, float]]) -> list[tuple[float, float]]:
        """Return since when equal steps of a piece were counted that ended at an event, and their size."""
        last = float(piece.t[-2]), float(piece.t[-1] - piece.t[-2])
        if len(piece.t) == 2:
            return [last]
        n = len(piece.y[0])
        return [*before[:-1], (float(self.saved[n + stepping.ORIGIN]), float(self.saved[n + stepping.STEP])), last]

    def fire(self, stepper: Stepper, account: Account) -> str:
        """Do what is due where a stepper is; return why that cannot be done, or nothing."""
        self._now = stepper.t
        why = self._sample(stepper, (account.floats,))
        return why or self._let_happen(stepper, account)

    def _let_happen(self, stepper: Stepper, account: Account) -> str:
        """Let events happen that are due, until there are none; return why that cannot be done, or nothing."""
        plan, t = self.plan, stepper.t
        if stepper.watcher is None:
            return ""
        start, before = stepper.y.copy(), plan.events.counts(self.state)
        y, D, drive = stepper.y[np.newaxis], stepper._F, self.drive
        layout_of = drive.system.state_group.layout
        for _ in range(_MOST_ROUNDS):
            drive.system.breaks.limit(D, t)
            D.setflags(write=True)
            rows = self._addresses, plan.ints, plan.floats, self.state, plan.observer.plan, plan.observer.data
            n = int(machine_events.act(*rows, self._z, self._work, stepper._I, D, t, y, layout_of, *self._scratch))
            D.setflags(write=False)
            if n < 0:
                return f"events cannot act: {explain(drive.system, machine_events.FAILURE - n)}"
            if n == 0:
                break
        else:
            return ENDLESS
        counts = plan.events.counts(self.state) - before
        if not counts.any():
            return ""
        at.hold(plan.ints, self.state, self._u, 0)
        self._note(stepper, (account.floats,))
        energy = account.happened(start, stepper.y)
        for name, times in zip(plan.events.names, counts, strict=True):
            self.happened += [Happened(t, name, energy)] * int(times)
        return ""

    def _sample(self, stepper: Stepper, floats: Sequence[Array]) -> str:
        """Let controllers sample; return why that cannot be done, or nothing.

        `floats` are other copies of the numbers of the drive.
        """
        t, plan, model = stepper.t, self.plan, self.model
        if not at.is_due(plan.ints, plan.floats, self.state, t):
            return ""
        nq = model.nq
        q, w = stepper.y[:nq], stepper.y[nq + model.nx :]
        if plan.observer.width:
            # on the right side of jumps that are here
            system = self.drive.system
            system.breaks.limit(system.floats, t)
            try:
                u = self.drive.vector(t, q, w)
            except BaseException as error:
                self.drive.error = self.drive.error or error
                return "an input cannot be computed"
            finally:
                system.breaks.lift(system.floats)
            n = plan.observer.width
            row = self.state[:n]
            status = plan.observer.observe(t, q.copy(), w.copy(), u, self._work, self._z, row)
            if status:
                return f"what is measured cannot be computed: {explain(system, status)}"
        failed = at.fire(plan.ints, plan.floats, self.state, t, self._u, 0)
        if failed:
            if plan.error is not None:
                self.drive.error = plan.error
            return NOT_FINITE_OUTPUT.format(plan.names[failed - 1])
        self._note(stepper, floats)
        return ""

    def _note(self, stepper: Stepper, floats: Sequence[Array]) -> None:
        """What is held has changed: tell whoever has a copy."""
        t = stepper.t
        self._tell((stepper._F, *floats))
        values = self._u[self.plan.places].copy()
        self.times.append(t)
        self.values.append(values)
        # as behind a jump of inputs: the method remembers nothing, and equal steps are counted from here
        stepper.control[stepping.ORIGIN], stepper.control[stepping.BEFORE] = np.nan, 1.0
        stepper.restart(t)

    def _tell(self, floats: Sequence[Array]) -> None:
        """Write the outputs in force to where kernels look for constant inputs."""
        places = layout.D_U + self.plan.places
        for each in (self.drive.system.floats, *floats):
            each.setflags(write=True)
            each[places] = self._u[self.plan.places]
            each.setflags(write=False)

    def held(self, t: Array, u: Array) -> None:
        """Write into u, a row for each time, what was held then; at a sample what holds behind it."""
        k = np.searchsorted(np.array(self.times), t + at.SAME_SAMPLE * self._shortest, side="right") - 1
        u[:, self.plan.places] = np.array(self.values)[k]

    def projected(self, t: Array, y: Array) -> Array:
        """Return samples on the constraints that were on at their times."""
        if not self.plan.events.names:
            return project_samples(self.model, t, y, self.drive)
        out, here, places = y.copy(), self._u.copy(), self.plan.places
        k = np.searchsorted(np.array(self.times), t, side="right") - 1
        try:
            for row in np.unique(k):
                self._u[places] = self.values[row]
                self._tell(())
                out[k == row] = project_samples(self.model, t[k == row], y[k == row], self.drive)
        finally:
            self._u[:] = here
            self._tell(())
        return out

    # ---- what a checkpoint has

    @property
    def identity(self) -> list[str]:
        """Return what must be the same for a run to go on from a checkpoint; what functions do nobody knows."""
        plan = self.plan
        functions = [getattr(each.function, "identity", "") for each in plan.controllers if isinstance(each, Sampled)]
        return [*plan.names, *functions, digest(plan.identity, plan.floats, plan.start)]

    def save(self) -> dict[str, Array]:
        """Return all there is."""
        values = np.array(self.values).reshape(len(self.times), -1)
        content = {"sampled": self.state.copy(), "held_t": np.array(self.times), "held_u": values}
        names = self.plan.events.names
        content["happened"] = np.array([(t, names.index(name), energy) for t, name, energy in self.happened]).reshape(
            -1, 3
        )
        for k, run in enumerate(self.plan.runs.values()):
            content[f"sampled_{k}"] = np.frombuffer(run.save(), np.uint8)
        return content

    def load(self, saved: Mapping[str, Array], floats: Sequence[Array]) -> None:
        """Put back what `save` returned."""
        self.state[:] = saved["sampled"]
        self.times = [float(t) for t in saved["held_t"]]
        self.values = list(saved["held_u"])
        names = self.plan.events.names
        self.happened = [Happened(t, names[int(k)], energy) for t, k, energy in saved["happened"].tolist()]
        at.hold(self.plan.ints, self.state, self._u, 0)
        self._tell(floats)
        for k, run in enumerate(self.plan.runs.values()):
            run.load(saved[f"sampled_{k}"].tobytes())

    def check_saved(self) -> None:
        """Raise an error if something of a run cannot be written into a checkpoint."""
        for run in self.plan.runs.values():
            why = run.refused()
            if why:
                raise InputError(f"simulate: checkpoint: {why}")

    def close(self) -> None:
        """End what controllers run beside this program."""
        for run in self.plan.runs.values():
            run.close()


__all__ = ["Controllers", "Plan"]
