"""The face of a unit that pythonfmu's native library calls.

It derives from no class of pythonfmu: the library looks for a class called Fmi2Slave among the bases, calls its methods
by name, and that is all.  What is known of the library (0.7.0) and shapes what is written here:

- An exception that leaves a method makes it release its references to instance, class and log once too often, and the
  host dies of it later.  So nothing leaves: `_guarded` logs the traceback and answers something harmless.
- The status of everything but doStep is then always fmi2OK; that of doStep is fmi2OK or, for False, fmi2Discard with
  the beginning of the step as the last successful time.  So a call that the standard forbids is refused, logged as an
  error, and told by the next doStep, which is discarded and leaves the unit where it was.
- fmi2Reset makes a new object of the class.
- Messages are passed on after a call, and only if the host has switched logging on: the last one is also the value of
  the variable `message`.
"""

from __future__ import annotations

import _ctypes
import contextlib
import ctypes
import functools
import json
import math
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fmu_export.machine import Machine
from fmu_export.sources import sources_digest
from fmu_export.variables import (
    FILE,
    GRAVITY,
    INITIAL,
    INPUT,
    INTEGRATOR,
    MESSAGE,
    OUTPUT,
    REAL,
    STRING,
    Settings,
    Variable,
)
from liegeo.errors import InputError, LiegeoError
from liegeo.io import load
from liegeo.io.mechanism import Mechanism

T = TypeVar("T")

OK, WARNING, DISCARD, ERROR = 0, 1, 2, 3
_CATEGORIES = {OK: "logAll", WARNING: "logStatusWarning", DISCARD: "logStatusDiscard", ERROR: "logStatusError"}

INSTANTIATED, INITIALISING, STEPPING, TERMINATED, BROKEN = (
    "instantiated",
    "in initialisation mode",
    "initialised",
    "terminated",
    "not initialised, because that failed",
)
#: The file in the resources that has the description of the variables.
DESCRIPTION = "unit.json"
_MAGIC = b"liegeo-state-1\n"
# What masters may differ by in what they call the time, as a share of it and of the step.
_SAME_TIME = 1e-9
# Different sets of parameters for which the built mechanism is kept.
_KEPT = 16


class LogMessage(NamedTuple):
    """What the native library reads of a message."""

    status: int
    category: str
    msg: str


class Fmi2Slave:
    """What the native library looks for by name."""


class Unit:
    """What all instances of a unit share: its variables, and the mechanisms that were built for sets of parameters."""

    def __init__(self, resources: Path) -> None:
        described = json.loads((resources / DESCRIPTION).read_text("utf-8"))
        self.guid: str = described["guid"]
        self.model: str = described["model"]
        self.variables = [Variable.from_dict(each) for each in described["variables"]]
        self.start: float = described["start"]
        self.stop: float = described["stop"]
        by_role: dict[str, list[int]] = {}
        for reference, variable in enumerate(self.variables):
            by_role.setdefault(variable.role, []).append(reference)
        self.inputs = by_role.get(INPUT, [])
        self.outputs = by_role.get(OUTPUT, [])
        self.places = [int(self.variables[k].key[0]) for k in self.inputs]
        self.columns = [(self.variables[k].key[0], int(self.variables[k].key[1])) for k in self.outputs]
        self.factors = np.array([self.variables[k].factor for k in self.outputs])
        self.scaled = bool((self.factors != 1.0).any())
        self._built: dict[tuple[tuple[str, float], ...], Mechanism] = {}

    def mechanism(self, given: Mapping[str, float], resources: Path) -> Mechanism:
        """The mechanism with these values of the file's parameters; the file is in an instance's own folder."""
        key = tuple(sorted(given.items()))
        if key not in self._built:
            if len(self._built) >= _KEPT:
                self._built.pop(next(iter(self._built)))
            self._built[key] = load(resources / self.model, set=dict(given))
        return self._built[key]


# By GUID, which stands for the content: hosts unpack one unit into many folders.
_UNITS: dict[str, Unit] = {}
# Libraries that stay loaded, by path.
_PINNED: set[str] = set()
# The units of which this process has compiled everything.
_WARM: set[str] = set()


def _guarded(instead: Callable[..., T]) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Nothing leaves a method; if something would, the answer is `instead` of its arguments."""

    def decorate(method: Callable[..., T]) -> Callable[..., T]:
        @functools.wraps(method)
        def guarded(self: Any, *arguments: Any) -> T:
            try:
                return method(self, *arguments)
            except BaseException as error:
                self._refuse(f"{method.__name__}: {error}", traceback.format_exc())
                return instead(*arguments)

        return guarded

    return decorate


class Slave(Fmi2Slave):
    """An instance of a unit.  The script of a unit derives from it and says which unit it is."""

    guid = sources = ""

    def __init__(self, **given: Any) -> None:
        self.log_queue: list[LogMessage] = []
        self._message = ""
        # What the next doStep has to tell, and the inputs that are no numbers.
        self._refused = ""
        self._wrong: dict[int, float] = {}
        self._mode = INSTANTIATED
        self._resources = Path(given["resources"])
        _let_go(self._resources)
        if self.guid not in _UNITS:
            _UNITS[self.guid] = Unit(self._resources)
        self.unit = _UNITS[self.guid]
        variables = self.unit.variables
        self._now: list[Any] = [
            (math.nan if variable.type == REAL else "") if variable.start is None else _as_written(variable)
            for variable in variables
        ]
        # Parameters that were set, in SI, by reference.
        self._set: dict[int, Any] = {}
        self._start, self._stop = self.unit.start, self.unit.stop
        self._tolerance: float | None = None
        self._machine: Machine | None = None
        self._current = self._complete = False
        self._reads: dict[tuple[int, ...], bool] = {}
        self._writes: dict[tuple[int, ...], Any] = {}
        try:
            self._warm_up()
        except BaseException as error:
            # The first object may fail: the library then has nothing to clean up.  A later one, of fmi2Reset, must not.
            if self.guid not in _WARM:
                raise RuntimeError(f"unit {self.unit.model}: {error}\n{traceback.format_exc()}") from None
            self._refuse(f"reset: {error}", traceback.format_exc())
            self._mode = BROKEN
        _WARM.add(self.guid)
        if self.sources != sources_digest():
            self._log(WARNING, "the unit was made with other sources of liegeo than this process has loaded.")

    def _warm_up(self) -> None:
        """Compile, or fetch from the cache, everything that a step will call; once for all instances of a unit."""
        if self.guid in _WARM:
            return
        machine = self._make()
        machine.values()
        size = 1e-6 * min(1.0, machine.settings.step)
        try:
            machine.step(machine.t, size)
        except LiegeoError as error:
            self._log(WARNING, f"a first step from the default initial state fails: {error}")
        machine.values()

    # ---- the log

    def _get_log_queue(self) -> list[LogMessage]:
        return self.log_queue

    def _log(self, status: int, text: str, category: str = "") -> None:
        self._message = text
        # the library reads UTF-8, and what cannot be written so would kill the host
        clean = text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", " ")
        # a host may take it for a format of printf
        clean = clean.replace("%", " per cent")
        self.log_queue.append(LogMessage(status, category or _CATEGORIES[status], clean))

    def _refuse(self, text: str, details: str = "") -> None:
        """Note something that the standard calls an error."""
        self._log(ERROR, f"{text}\n{details}".rstrip())
        self._message = text
        self._refused = self._refused or text

    # ---- life

    @_guarded(lambda *_: None)
    def setup_experiment(self, start: float, stop: float | None = None, tolerance: float | None = None) -> None:
        if self._mode != INSTANTIATED:
            return self._refuse(f"setupExperiment: the unit is {self._mode}, expected a new one.")
        if not math.isfinite(start) or (stop is not None and math.isnan(stop)):
            return self._refuse(f"setupExperiment: from {start} to {stop}, expected finite times.")
        self._start = float(start)
        if stop is not None and math.isfinite(stop):
            self._stop = float(stop)
        if tolerance is not None and 0.0 < tolerance < 1.0:
            self._tolerance = float(tolerance)
        self._machine = None
        return None

    @_guarded(lambda *_: None)
    def enter_initialization_mode(self) -> None:
        if self._mode != INSTANTIATED:
            return self._refuse(f"enterInitializationMode: the unit is {self._mode}, expected a new one.")
        self._mode = INITIALISING
        return None

    @_guarded(lambda *_: None)
    def exit_initialization_mode(self) -> None:
        if self._mode != INITIALISING:
            return self._refuse(f"exitInitializationMode: the unit is {self._mode}.")
        self._mode = BROKEN
        self._initialised()
        self._refresh(True)
        self._mode = STEPPING
        self._log(OK, f"initialised at t = {self._start:g} s: {self._machine_now().settings}")
        return None

    @_guarded(lambda *_: None)
    def terminate(self) -> None:
        if self._mode != STEPPING:
            return self._refuse(f"terminate: the unit is {self._mode}.")
        self._mode = TERMINATED
        return None

    @_guarded(lambda *_: False)
    def do_step(self, t: float, size: float) -> bool:
        why = self._why_not(t, size)
        if why:
            return self._discard(why)
        machine = self._machine_now()
        self._current = self._complete = False
        try:
            # the master's time, so that nothing drifts
            machine.step(t, size)
        except LiegeoError as error:
            self._log(DISCARD, f"doStep from {t:g} s, {size:g} s long, is discarded: {error}")
            return False
        except Exception as error:
            self._log(DISCARD, f"doStep from {t:g} s, {size:g} s long: {error}\n{traceback.format_exc()}")
            return False
        return True

    def _discard(self, why: str) -> bool:
        self._log(DISCARD, f"doStep is discarded: {why}")
        return False

    def _why_not(self, t: float, size: float) -> str:
        if self._mode != STEPPING:
            return f"the unit is {self._mode}."
        if self._refused:
            why, self._refused = self._refused, ""
            return f"before it, this went wrong: {why}"
        if self._wrong:
            reference, value = next(iter(self._wrong.items()))
            return f"input {self.unit.variables[reference].name} is {value}, expected a finite number."
        if not (math.isfinite(t) and math.isfinite(size) and size > 0.0):
            return f"from {t} s, {size} s long; expected a finite time and a size > 0."
        here = self._machine_now().t
        if abs(t - here) > _SAME_TIME * max(abs(here), abs(size)):
            return f"from {t:.17g} s, but the unit is at {here:.17g} s."
        if t + size == t:
            return f"{size:g} s are nothing beside the time, {t:g} s."
        return ""

    # ---- the machine

    def _settings(self) -> Settings:
        start = {variable.key[0]: variable.start for variable in self.unit.variables if variable.role == INTEGRATOR}
        given = {**start, **self._of_role(INTEGRATOR)}
        if self._tolerance is not None and "rtol" not in self._of_role(INTEGRATOR):
            given["rtol"] = self._tolerance
        return Settings(**given)

    def _of_role(self, role: str) -> dict[Any, Any]:
        """By key, the parameters of a role that were set."""
        out = {}
        for reference, value in self._set.items():
            variable = self.unit.variables[reference]
            if variable.role == role:
                out[variable.key if role == INITIAL else variable.key[0]] = value
        return out

    def _make(self, y: Any = None) -> Machine:
        unit = self.unit
        inputs = [self._now[k] * unit.variables[k].factor for k in unit.inputs]
        return Machine(
            unit.mechanism(self._of_role(FILE), self._resources),
            self._settings(),
            unit.places,
            unit.columns,
            inputs=np.array(inputs, dtype=np.float64),
            initial=self._of_role(INITIAL),
            gravity=self._of_role(GRAVITY),
            start=self._start,
            stop=self._stop,
            y=y,
        )

    def _initialised(self) -> Machine:
        """The machine where it begins; made anew while parameters and inputs may still change it."""
        if self._machine is None:
            self._machine = self._make()
            self._show_parameters()
        return self._machine

    def _machine_now(self) -> Machine:
        if self._machine is None:
            raise InputError("the unit is not initialised.")
        return self._machine

    def _show_parameters(self) -> None:
        """Parameters that follow from others: what is not set is as the model has it."""
        machine = self._machine_now()
        nq, y = machine.model.nq, machine.stepper.y
        for reference, variable in enumerate(self.unit.variables):
            if reference in self._set:
                continue
            if variable.role == INITIAL:
                letter, place = variable.key
                self._now[reference] = float(y[place if letter == "q" else nq + place]) / variable.factor
            elif variable.role == INTEGRATOR:
                self._now[reference] = getattr(machine.settings, variable.key[0])

    def _refresh(self, computed: bool) -> None:
        """The values of outputs, those that take time only if they are asked for."""
        machine = self._initialised() if self._mode in (INSTANTIATED, INITIALISING) else self._machine_now()
        values = machine.values(computed)
        if self.unit.scaled:
            values = values / self.unit.factors
        if self.unit.outputs:
            # they follow each other
            first = self.unit.outputs[0]
            self._now[first : first + len(self.unit.outputs)] = values.tolist()
        self._current, self._complete = True, computed

    # ---- reading

    @_guarded(lambda references: [math.nan] * len(references))
    def get_real(self, references: list[int]) -> list[float]:
        key = tuple(references)
        kind = self._reads.get(key)
        if kind is None:
            kind = self._plan_read(key)
        if kind and not self._complete:
            self._try_refresh(True)
        elif not self._current:
            self._try_refresh(False)
        now = self._now
        return [now[k] for k in references]

    def _try_refresh(self, computed: bool) -> None:
        try:
            self._refresh(computed)
        except BaseException as error:
            for reference in self.unit.outputs:
                self._now[reference] = math.nan
            self._refuse(f"outputs cannot be computed: {error}", traceback.format_exc())
            self._current = self._complete = True

    def _plan_read(self, references: tuple[int, ...]) -> bool:
        """Whether something among these takes a computation."""
        variables = self.unit.variables
        direct = ("t", "q", "v", "u")
        for reference in references:
            if not 0 <= reference < len(variables) or variables[reference].type != REAL:
                raise InputError(f"valueReference {reference % 2**32} is no Real.")
        found = any(variables[k].role == OUTPUT and variables[k].key[0][0] not in direct for k in references)
        if len(self._reads) < 1000:
            self._reads[references] = found
        return found

    @_guarded(lambda references: [0] * len(references))
    def get_integer(self, references: list[int]) -> list[int]:
        if references:
            raise InputError(f"valueReference {references[0] % 2**32} is no Integer: there are none.")
        return []

    @_guarded(lambda references: [False] * len(references))
    def get_boolean(self, references: list[int]) -> list[bool]:
        if references:
            raise InputError(f"valueReference {references[0] % 2**32} is no Boolean: there are none.")
        return []

    @_guarded(lambda references: [""] * len(references))
    def get_string(self, references: list[int]) -> list[str]:
        variables, out = self.unit.variables, []
        for reference in references:
            if not 0 <= reference < len(variables) or variables[reference].type != STRING:
                raise InputError(f"valueReference {reference % 2**32} is no String.")
            text = self._message if variables[reference].role == MESSAGE else str(self._now[reference])
            out.append(text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", " "))
        return out

    # ---- writing

    @_guarded(lambda *_: None)
    def set_real(self, references: list[int], values: list[float]) -> None:
        key = tuple(references)
        plan = self._writes.get(key)
        if plan is None:
            plan = self._plan_write(key)
        if plan is not False and self._mode == STEPPING and not self._wrong:
            total = sum(values)
            if total - total == 0.0:
                rows, factors = plan
                self._machine_now().w[rows] = values if factors is None else np.array(values) * factors
                now = self._now
                for reference, value in zip(references, values, strict=True):
                    now[reference] = value
                self._current = self._complete = False
                return
        for reference, value in zip(references, values, strict=True):
            self._write(reference, value, REAL)

    def _plan_write(self, references: tuple[int, ...]) -> Any:
        """Of references that are all inputs: where they stand among the inputs, and their factors, if they have any.

        Otherwise False.
        """
        where = {reference: k for k, reference in enumerate(self.unit.inputs)}
        plan: Any = False
        if references and all(reference in where for reference in references):
            rows: Any = np.array([where[reference] for reference in references])
            if rows.tolist() == list(range(len(self.unit.inputs))):
                rows = slice(None)
            factors = np.array([self.unit.variables[reference].factor for reference in references])
            plan = rows, factors if (factors != 1.0).any() else None
        if len(self._writes) < 1000:
            self._writes[references] = plan
        return plan

    def _write(self, reference: int, value: Any, kind: str) -> None:
        variables = self.unit.variables
        if not 0 <= reference < len(variables) or variables[reference].type != kind:
            return self._refuse(f"set: valueReference {reference % 2**32} is no {kind}.")
        variable = variables[reference]
        if self._mode in (TERMINATED, BROKEN):
            return self._refuse(f"set {variable.name}: the unit is {self._mode}.")
        if variable.causality not in (INPUT, "parameter"):
            return self._refuse(f"set {variable.name}: it is an {variable.causality} and cannot be set.")
        if kind == REAL and not math.isfinite(value):
            if variable.causality == INPUT:
                self._wrong[reference] = value
                return self._log(ERROR, f"set {variable.name}: the value is {value}, expected a finite number.")
            return self._refuse(f"set {variable.name}: the value is {value}, expected a finite number.")
        if variable.causality == INPUT:
            self._write_input(reference, variable, value)
        elif self._mode == STEPPING and variable.variability != "tunable":
            return self._refuse(f"set {variable.name}: it is fixed, and the unit is {self._mode}.")
        else:
            self._write_parameter(reference, variable, value)
        self._current = self._complete = False
        return None

    def _write_input(self, reference: int, variable: Variable, value: float) -> None:
        self._wrong.pop(reference, None)
        self._now[reference] = value
        if self._mode == STEPPING:
            self._machine_now().w[self.unit.inputs.index(reference)] = value * variable.factor
        else:
            self._machine = None

    def _write_parameter(self, reference: int, variable: Variable, value: Any) -> None:
        before, shown = dict(self._set), self._now[reference]
        self._now[reference] = value
        self._set[reference] = value * variable.factor if variable.type == REAL else value
        if self._mode != STEPPING:
            self._machine = None
        elif variable.role == GRAVITY:
            self._machine_now().set_gravity(variable.key[0], self._set[reference])
        else:
            try:
                self._machine_now().set_model(self.unit.mechanism(self._of_role(FILE), self._resources))
            except LiegeoError as error:
                self._set, self._now[reference] = before, shown
                self._refuse(f"set {variable.name}: {error}")

    @_guarded(lambda *_: None)
    def set_integer(self, references: list[int], values: list[int]) -> None:
        for reference, value in zip(references, values, strict=True):
            self._write(reference, value, "Integer")

    @_guarded(lambda *_: None)
    def set_boolean(self, references: list[int], values: list[bool]) -> None:
        for reference, value in zip(references, values, strict=True):
            self._write(reference, value, "Boolean")

    @_guarded(lambda *_: None)
    def set_string(self, references: list[int], values: list[str | None]) -> None:
        for reference, value in zip(references, values, strict=True):
            self._write(reference, value or "", STRING)

    # ---- state

    @_guarded(lambda *_: {"wrong": "it was not saved, because that failed"})
    def _get_fmu_state(self) -> dict[str, Any]:
        return {
            "guid": self.guid,
            "mode": self._mode,
            "set": dict(self._set),
            "now": {k: self._now[k] for k in self.unit.inputs},
            "experiment": [self._start, self._stop, self._tolerance],
            "wrong_inputs": dict(self._wrong),
            "machine": None if self._machine is None else self._machine.snapshot(),
        }

    @_guarded(lambda *_: None)
    def _set_fmu_state(self, state: Mapping[str, Any]) -> None:
        if "wrong" in state:
            return self._refuse(f"setFMUstate: {state['wrong']}.")
        if state["guid"] != self.guid:
            return self._refuse(f"setFMUstate: the state is of unit {state['guid']}, this one is {self.guid}.")
        # by the same parameters and times it is the same machine
        same = (
            self._machine is not None
            and self._set == state["set"]
            and state["experiment"] == [self._start, self._stop, self._tolerance]
        )
        self._set = dict(state["set"])
        self._start, self._stop, self._tolerance = state["experiment"]
        for reference, value in self._set.items():
            variable = self.unit.variables[reference]
            self._now[reference] = value / variable.factor if variable.type == REAL else value
        for reference, value in state["now"].items():
            self._now[reference] = value
        if state["machine"] is None:
            self._machine = None
        else:
            if not same:
                self._machine = self._make(np.array(state["machine"]["y"]))
                self._show_parameters()
            self._machine_now().restore(state["machine"])
        self._wrong, self._refused = dict(state["wrong_inputs"]), ""
        self._mode = state["mode"]
        self._current = self._complete = False
        return None

    @staticmethod
    def _fmu_state_to_bytes(state: Mapping[str, Any]) -> bytes:
        return state_to_bytes(state)

    @staticmethod
    def _fmu_state_from_bytes(data: bytes) -> dict[str, Any]:
        return state_from_bytes(data)


def _let_go(resources: Path) -> None:
    """Have pythonfmu's library release the object that keeps Python running while that object is alive.

    On Linux the library would do so after its static objects are destroyed: a use after free, where the library is
    unloaded or the process ends, of which some processes die.  In a Python process the object has nothing to do, and is
    released now.  In another host it owns the interpreter, so it is released when the process ends, before anything is
    destroyed; and the library stays loaded until then, because numpy does not survive a second start of Python.
    """
    if not sys.platform.startswith("linux"):
        return
    for file in (resources.parent / "binaries" / "linux64").glob("*.so"):
        with contextlib.suppress(OSError, AttributeError):
            # the one that is loaded, or none; a process that began as Python has a command line of Python
            mode = os.RTLD_NOLOAD | os.RTLD_NOW | (0 if sys.orig_argv else os.RTLD_NODELETE)
            library = ctypes.CDLL(str(file), mode=mode)
            if sys.orig_argv:
                library.finalizePythonInterpreter()
            elif str(file) not in _PINNED:
                _PINNED.add(str(file))
                address = ctypes.cast(library.finalizePythonInterpreter, ctypes.c_void_p)
                ctypes.CDLL(None).__cxa_atexit(address, None, None)
            _ctypes.dlclose(library._handle)


def _as_written(variable: Variable) -> Any:
    return variable.start / variable.factor if isinstance(variable.start, float) else variable.start


def state_to_bytes(state: Mapping[str, Any]) -> bytes:
    """A state as bytes: the same on every machine, and the same bits of every number."""
    try:
        if "wrong" in state:
            return _MAGIC + json.dumps({"wrong": state["wrong"]}).encode()
        arrays = state["machine"] or {}
        head = {
            **{key: state[key] for key in ("guid", "mode", "experiment")},
            **{key: list(state[key].items()) for key in ("set", "now", "wrong_inputs")},
            "arrays": [[name, list(array.shape)] for name, array in arrays.items()],
            "machine": state["machine"] is not None,
        }
        numbers = b"".join(np.ascontiguousarray(array, dtype="<f8").tobytes() for array in arrays.values())
        # json writes numbers so that they come back to the bit
        return _MAGIC + json.dumps(head).encode() + b"\n" + numbers
    except BaseException as error:  # nothing may leave
        return _MAGIC + json.dumps({"wrong": f"it could not be written: {error}"}).encode() + b"\n"


def state_from_bytes(data: bytes) -> dict[str, Any]:
    """A state from bytes; if they are none, one that setFMUstate refuses."""
    try:
        if not data.startswith(_MAGIC):
            raise InputError("the bytes are not the state of a unit of liegeo")
        text, _, numbers = data[len(_MAGIC) :].partition(b"\n")
        head = json.loads(text)
        if "wrong" in head:
            return {"wrong": str(head["wrong"])}
        arrays, place = {}, 0
        for name, shape in head.pop("arrays"):
            n = int(np.prod(shape)) * 8
            if place + n > len(numbers):
                raise InputError("the bytes end too early")
            arrays[name] = np.frombuffer(numbers[place : place + n], dtype="<f8").astype(np.float64).reshape(shape)
            place += n
        if place != len(numbers):
            raise InputError("there are more bytes than a state has")
        for key in ("set", "now", "wrong_inputs"):
            head[key] = {int(reference): value for reference, value in head[key]}
        return {**head, "machine": arrays if head["machine"] else None}
    except BaseException as error:  # nothing may leave
        return {"wrong": f"the bytes cannot be read: {error}"}
