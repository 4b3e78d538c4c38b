"""The face of an FMU that pythonfmu's native library calls, behind the guard library (fmu_export/guard).

It derives from no class of pythonfmu: the library looks for a class called Fmi2Slave among the bases, calls its methods
by name, and that is all.  What is known of the library (0.7.0) and shapes what is written here:

- An exception that leaves a method makes it release its references to instance, class and log once too often, and the
  host dies of it later.  So nothing leaves: `_guarded` answers something harmless, and the guard logs the traceback.
- It has no status but those of exceptions.  Statuses go through the block that is shared with the guard (block.py).
- fmi2Reset makes a new object of the class, which the guard shows the block again.
- Messages are passed on after a call; the last one is also in the block, for the variable `message`.
- Where a call fails, the block says why, and the guard makes the message.

The guard has checked what it can: calls come in an order that the standard allows, references are those of variables
of the right type that may be read or written, numbers are finite.  Values of Real variables are in an array that it
reads and writes itself: inputs come that way (`changed`), and outputs are asked for only where they are not `fresh`.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import math
import threading
import traceback
from collections.abc import Callable, Collection, Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from fmu_export.block import CHANNEL, MAGIC, Ask, Block, Mode, VariableKind
from fmu_export.machine import Machine, y_in
from fmu_export.saved_state import SavedState
from fmu_export.sources import sources_digest
from fmu_export.variables import (
    DESCRIPTION,
    FILE,
    GRAVITY,
    INDICATOR,
    INITIAL,
    INPUT,
    INTEGRATOR,
    MESSAGE,
    OUTPUT,
    PARAMETER,
    RATE,
    REAL,
    STATE,
    ExportedVariable,
    Settings,
)
from fmu_export.words import text
from liegeo.errors import InputError, LiegeoError
from liegeo.io import load
from liegeo.io.mechanism import Mechanism

Array = NDArray[np.float64]
T = TypeVar("T")

OK, WARNING, DISCARD, ERROR = 0, 1, 2, 3
_CATEGORIES = {OK: "logAll", WARNING: "logStatusWarning", DISCARD: "logStatusDiscard", ERROR: "logStatusError"}
# What DESCRIPTION was called in FMUs that were built earlier.
_OLD_DESCRIPTION = "unit.json"
# Different sets of parameters for which the built mechanism is kept.
_KEPT = 16

# What a step that failed tries once more, as shares of what internal steps had done: next to a singular position other
# internal steps, which have to end there, may fail where those did not.
_SHARES_OF_A_STEP = (1.0, 1.0 - 1e-6, 1.0 - 1e-4, 0.99, 0.9)


class LogMessage(NamedTuple):
    """What the native library reads of a message."""

    status: int
    category: str
    msg: str


class Fmi2Slave:
    """What the native library looks for by name."""


class ExportedModel:
    """What all instances of an FMU share: its variables, and the mechanisms that were built for sets of parameters."""

    def __init__(self, resources: Path) -> None:
        file = resources / DESCRIPTION
        described = json.loads((file if file.exists() else resources / _OLD_DESCRIPTION).read_text("utf-8"))
        self.guid: str = described["guid"]
        self.identity: str = described["identity"]
        self.model: str = described["model"]
        self.variables = [ExportedVariable.from_dict(each) for each in described["variables"]]
        self.start: float = described["start"]
        self.stop: float = described["stop"]
        # the inputs of prescribed motions, whose rates are inputs too
        self.motions: list[str] = described["motions"]
        by_role: dict[str, list[int]] = {}
        for reference, variable in enumerate(self.variables):
            by_role.setdefault(variable.role, []).append(reference)
        self.inputs = by_role.get(INPUT, [])
        self.outputs = by_role.get(OUTPUT, [])
        # those that a native FMU has too, those of the file, and those of type String that can be set
        self.shared = [k for k, v in enumerate(self.variables) if v.role != FILE]
        self.of_file = by_role.get(FILE, [])
        self.settings = [k for k, v in enumerate(self.variables) if v.causality == PARAMETER and v.type != REAL]
        self.places = [int(self.variables[k].key[0]) for k in self.inputs]
        self.columns = [(self.variables[k].key[0], int(self.variables[k].key[1])) for k in self.outputs]
        self.factors = np.array([self.variables[k].factor for k in self.outputs])
        self.scaled = bool((self.factors != 1.0).any())
        self.input_factors = np.array([self.variables[k].factor for k in self.inputs])
        self.inputs_scaled = bool((self.input_factors != 1.0).any())
        # variables of a role follow each other
        self.input_part, self.output_part = (
            slice(part[0], part[-1] + 1) if part else slice(0, 0) for part in (self.inputs, self.outputs)
        )
        self.kinds = np.array([variable_kind(variable, self.motions) for variable in self.variables], dtype=np.uint16)
        self.names = (ctypes.c_char_p * len(self.variables))(*(_for_c(variable.name) for variable in self.variables))
        self._built: dict[tuple[tuple[str, float], ...], Mechanism] = {}

    def mechanism(self, given: Mapping[str, float], resources: Path) -> Mechanism:
        """The mechanism with these values of the file's parameters; the file is in an instance's own folder."""
        key = tuple(sorted(given.items()))
        if key not in self._built:
            if len(self._built) >= _KEPT:
                self._built.pop(next(iter(self._built)))
            self._built[key] = load(resources / self.model, set=dict(given))
        return self._built[key]


# By GUID, which stands for the content: hosts unpack one FMU into many folders.
_EXPORTED: dict[str, ExportedModel] = {}
# The FMUs, with methods, of which this process has compiled everything that steps call.
_WARM: set[tuple[str, str]] = set()
# What went wrong with the bytes of a state, by thread: there is no instance to tell.
_BYTES = threading.local()


def _for_c(text: str) -> bytes:
    """Return a text as UTF-8, and what cannot be written so in another way: as it is, it would kill the host."""
    return text.encode("utf-8", "backslashreplace").replace(b"\0", b" ")


def variable_kind(variable: ExportedVariable, motions: Collection[str]) -> VariableKind:
    kind = VariableKind.REAL if variable.type == REAL else VariableKind.STRING
    if variable.causality == INPUT:
        kind |= VariableKind.INPUT
    if variable.causality == PARAMETER:
        kind |= VariableKind.PARAMETER
    if variable.variability == "tunable":
        kind |= VariableKind.TUNABLE
    if variable.role in (INITIAL, GRAVITY, INTEGRATOR):
        # what is not set follows from the model
        kind |= VariableKind.DIRECT
    if variable.role == OUTPUT:
        kind |= VariableKind.OUTPUT | (
            VariableKind.DIRECT if variable.key[0][0] in ("t", "q", "v", "u", "x") else VariableKind.COMPUTED
        )
    if variable.role == MESSAGE:
        kind |= VariableKind.MESSAGE
    if variable.role == STATE:
        kind |= VariableKind.STATE
    if variable.role == RATE:
        kind |= VariableKind.RATE
    if variable.role == INDICATOR:
        kind |= VariableKind.INDICATOR
    if variable.name in motions:
        kind |= VariableKind.MOTION
    return kind


def _guarded(instead: Callable[..., T]) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Nothing leaves a method; if something would, the answer is `instead` of its arguments."""

    def decorate(method: Callable[..., T]) -> Callable[..., T]:
        @functools.wraps(method)
        def guarded(self: Any, *arguments: Any) -> T:
            try:
                return method(self, *arguments)
            except BaseException as error:
                self._answer(ERROR, error)
                return instead(*arguments)

        return guarded

    return decorate


def _not_saved(*_: Any) -> SavedState | str:
    """Return what takes the place of a state."""
    return "it was not saved, because that failed."


class Slave(Fmi2Slave):
    """An instance of an FMU.  The script of an FMU derives from it and says which FMU it is."""

    guid = sources = ""

    def __init__(self, **given: Any) -> None:
        self.log_queue: list[LogMessage] = []
        # Texts of the block, by field: it has only their addresses.
        self._texts: dict[str, bytes] = {}
        # one of its own, until the guard shows the shared one
        self._block = Block(mode=Mode.NEW, start=math.nan, stop=math.nan, tolerance=math.nan)
        self._resources = Path(given["resources"])
        if self.guid not in _EXPORTED:
            _EXPORTED[self.guid] = ExportedModel(self._resources)
        exported = self.exported = _EXPORTED[self.guid]
        # never replaced, because the guard has their addresses
        self._values = np.array([_as_number(variable) for variable in exported.variables], dtype=np.float64)
        self._kinds = exported.kinds
        self._strings = {k: str(v.start or "") for k, v in enumerate(exported.variables) if v.type != REAL}
        # Parameters that were set, in SI, by reference.
        self._set: dict[int, Any] = {}
        # First and second derivatives of inputs that the next step begins with, in SI; NaN where none is given.
        self._slopes: Array | None = None
        self._machine: Machine | None = None
        usual = self.guid, self._settings().method
        try:
            self._warm_up()
        except BaseException as error:
            # The first object may fail: the library then has nothing to clean up.  A later one, of fmi2Reset, must not.
            if usual not in _WARM:
                raise RuntimeError(f"FMU {exported.model}: {_words(error)}\n{traceback.format_exc()}") from None
            self._log(WARNING, f"reset: {_words(error)}\n{traceback.format_exc()}")
        _WARM.add(usual)
        if self.sources != sources_digest():
            self._log(WARNING, "the FMU was made with other sources of liegeo than this process has loaded.")

    def _warm_up(self, y: Array | None = None) -> None:
        """Compile, or fetch from the cache, everything that a step will call; once for all instances of an FMU.

        That is where the first is made; for another method where initialisation ends, or a state with it is put back.
        """
        key = self.guid, self._settings().method
        if key in _WARM:
            return
        machine = self._make(y)
        machine.values()
        size = 1e-6 * min(1.0, machine.settings.step)
        try:
            machine.step(machine.t, size)
        except (LiegeoError, ArithmeticError) as error:
            # later a step itself says so
            if y is None:
                self._log(WARNING, f"a first step from the default initial state fails: {error}")
        machine.values()
        _WARM.add(key)

    # ---- the log

    def _get_log_queue(self) -> list[LogMessage]:
        return self.log_queue

    def _log(self, status: int, text: str) -> None:
        """Into the log, and into the variable `message`."""
        self._show("message", text)
        self.log_queue.append(LogMessage(status, _CATEGORIES[status], _for_c(text).decode("utf-8")))

    def _answer(self, status: int, why: str | BaseException) -> None:
        """Give the call that is being made a status, and say why; the guard makes the message."""
        self._block.status = status
        if isinstance(why, BaseException):
            self._show("details", "".join(traceback.format_exception(why)).rstrip())
            why = _words(why)
        self._show("why", why)

    def _show(self, field: str, text: str) -> None:
        """Write a text of the block."""
        self._texts[field] = _for_c(text)
        setattr(self._block, field, self._texts[field])

    # ---- what the guard asks for

    def set_integer(self, references: list[int], values: list[int]) -> None:
        """The address of the shared block, in two halves; the status in it is an error until all is well here."""
        try:
            low, high = (value % 2**32 for value in values)
            block = Block.from_address(high << 32 | low)
            if block.magic != MAGIC or block.size != ctypes.sizeof(Block):
                raise InputError("the FMU's library and its sources in Python do not belong together: make it anew.")
            block.n, block.names = len(self._values), self.exported.names
            block.values, block.kinds = self._values.ctypes.data, self._kinds.ctypes.data
            block.message = self._texts.get("message")
            self._block = block
            self._show("guid", self.guid)
            block.status = OK
        except BaseException as error:  # nothing may leave
            # not in the block: it may be another one than we think
            self._log(ERROR, _words(error))

    @_guarded(lambda references: [0] * len(references))
    def get_integer(self, references: list[int]) -> list[int]:
        """Something for the guard; arguments and answers are in the block."""
        ask = references[0] - CHANNEL
        if ask == Ask.COMPLETE:
            self._refresh(True)
        elif ask == Ask.REFRESH:
            self._refresh(False)
        elif ask == Ask.DIRECTIONAL:
            self._directional()
        elif ask == Ask.OUTPUT_RATES:
            rates = self._moving().along_motion() / self.exported.factors
            self._give(rates)
        elif ask == Ask.INPUT_RATES:
            self._take_slopes()
        elif ask == Ask.HEARD:
            wrong, _BYTES.wrong = getattr(_BYTES, "wrong", ""), ""
            if wrong:
                self._answer(ERROR, wrong)
        return [0]

    # ---- life

    def setup_experiment(self, start: float, stop: float | None = None, tolerance: float | None = None) -> None:
        """The library calls it as initialisation begins; the guard has put the times into the block."""

    @_guarded(lambda *_: None)
    def enter_initialization_mode(self) -> None:
        self._machine = None

    @_guarded(lambda *_: None)
    def exit_initialization_mode(self) -> None:
        self._refresh(True)
        machine = self._moving()
        self._warm_up(machine.stepper.y.copy())
        self._block.time = machine.t
        self._log(OK, text("INITIALISED", machine.t, *astuple(machine.settings)))

    def terminate(self) -> None:
        """There is nothing to do."""

    @_guarded(lambda *_: True)
    def do_step(self, t: float, size: float) -> bool:
        block, machine = self._block, self._moving()
        # outputs that the host read after the step before it will read again
        asked, block.asked, block.fresh = block.asked, 0, 0
        # they are those of one step
        slopes, self._slopes = self._slopes, None
        try:
            # the master's time, so that nothing drifts
            machine.step(t, size, slopes)
        except (LiegeoError, ArithmeticError) as error:
            self._stop_early(t, size, slopes, error)
        else:
            block.time = t + size
            if asked:
                self._show_early(asked == 2)
        return True

    def _stop_early(self, t: float, size: float, slopes: Array | None, error: Exception) -> None:
        """A step failed: go as far as internal steps succeed, and say how far that is."""
        machine = self._machine_now()
        got = machine.reached - t
        for share in _SHARES_OF_A_STEP if 0.0 < got < size else ():
            with contextlib.suppress(Exception):
                machine.step(t, share * got, slopes)
                break
        self._block.time = machine.t
        self._answer(DISCARD, error)

    def _show_early(self, computed: bool) -> None:
        """The outputs, before they are asked for; if that fails, whoever asks will know."""
        try:
            self._refresh(computed)
        except Exception:
            self._block.fresh = 0

    # ---- the machine

    def _settings(self) -> Settings:
        start: dict[str, Any] = {v.key[0]: v.start for v in self.exported.variables if v.role == INTEGRATOR}
        given = self._of_role(INTEGRATOR)
        if 0.0 < self._block.tolerance < 1.0 and "rtol" not in given:
            # the host has one tolerance, so the other goes with it
            ratio = self._block.tolerance / start["rtol"]
            given = {"rtol": self._block.tolerance, "atol": start["atol"] * ratio, **given}
        return Settings(**{**start, **given})

    def _of_role(self, role: str) -> dict[Any, Any]:
        """By key, the parameters of a role that were set."""
        out = {}
        for reference, value in self._set.items():
            variable = self.exported.variables[reference]
            if variable.role == role:
                out[variable.key if role == INITIAL else variable.key[0]] = value
        return out

    def _make(self, y: Any = None) -> Machine:
        exported, block = self.exported, self._block
        return Machine(
            exported.mechanism(self._of_role(FILE), self._resources),
            self._settings(),
            exported.places,
            exported.columns,
            inputs=self._values[exported.input_part] * exported.input_factors,
            initial=self._of_role(INITIAL),
            gravity=self._of_role(GRAVITY),
            start=block.start if math.isfinite(block.start) else exported.start,
            stop=block.stop if math.isfinite(block.stop) else exported.stop,
            y=y,
        )

    def _machine_now(self) -> Machine:
        if self._machine is None:
            raise InputError(text("NOT_INITIALISED"))
        return self._machine

    def _moving(self) -> Machine:
        """The machine with the inputs as they are; made anew while parameters and inputs may still change it."""
        block, exported = self._block, self.exported
        if block.mode <= Mode.INITIALISING:
            if block.changed or self._machine is None:
                self._machine = self._make()
                self._show_parameters()
        elif block.changed:
            w = self._machine_now().w
            w[:] = self._values[exported.input_part]
            if exported.inputs_scaled:
                w *= exported.input_factors
        block.changed = 0
        return self._machine_now()

    def _show_parameters(self) -> None:
        """Parameters that follow from others: what is not set is as the model has it."""
        machine = self._machine_now()
        state = machine.model.unpack(machine.stepper.y)
        for reference, variable in enumerate(self.exported.variables):
            if reference in self._set:
                continue
            if variable.role == INITIAL:
                letter, place = variable.key
                self._values[reference] = float(getattr(state, letter)[place]) / variable.factor
            elif variable.role == INTEGRATOR:
                shown = getattr(machine.settings, variable.key[0])
                if variable.type == REAL:
                    self._values[reference] = shown
                else:
                    self._strings[reference] = shown
        self._show_gravity()

    def _show_gravity(self) -> None:
        """What is not set is as the model has it, whose parameters may say it."""
        gravity = self._machine_now().gravity
        for reference, variable in enumerate(self.exported.variables):
            if variable.role == GRAVITY and reference not in self._set:
                self._values[reference] = gravity[variable.key[0]]

    def _refresh(self, computed: bool) -> None:
        """The values of outputs, those that take time only if they are asked for."""
        exported = self.exported
        values = self._moving().values(computed)
        self._values[exported.output_part] = values / exported.factors if exported.scaled else values
        self._block.fresh = 2 if computed else 1

    # ---- derivatives

    def _give(self, outputs: Array) -> None:
        """Numbers for outputs, to where the host wants those that it asks for."""
        block = self._block
        first = self.exported.output_part.start
        for k, reference in enumerate(block.references[: block.n_references]):
            block.out[k] = outputs[reference - first]

    def _directional(self) -> None:
        block, exported = self._block, self.exported
        seeds: dict[int, float] = {}
        for reference, seed in zip(block.known[: block.n_known], block.given[: block.n_known], strict=True):
            seeds[reference] = seeds.get(reference, 0.0) + seed
        direction = np.array([seeds.get(reference, 0.0) for reference in exported.inputs]) * exported.input_factors
        self._give(self._moving().along_inputs(direction) / exported.factors)

    def _take_slopes(self) -> None:
        block, exported = self._block, self.exported
        n = block.n_references
        slopes = np.full((len(exported.inputs), 2), np.nan) if self._slopes is None else self._slopes
        for reference, order, value in zip(block.references[:n], block.orders[:n], block.given[:n], strict=True):
            # the guard tells of those that are not used
            if order <= 2 and not exported.kinds[reference] & VariableKind.MOTION:
                row = exported.inputs.index(reference)
                slopes[row, order - 1] = value * exported.input_factors[row]
                self._slopes = slopes

    # ---- strings and parameters

    @_guarded(lambda references: [""] * len(references))
    def get_string(self, references: list[int]) -> list[str]:
        """The guard itself answers with the last message."""
        return [_for_c(self._strings[reference]).decode("utf-8") for reference in references]

    @_guarded(lambda *_: None)
    def set_string(self, references: list[int], values: list[str]) -> None:
        for reference, value in zip(references, values, strict=True):
            self._strings[reference] = self._set[reference] = value
        self._machine = None

    @_guarded(lambda *_: None)
    def set_real(self, references: list[int], values: list[float]) -> None:
        """Parameters, all or none; if they are taken, the guard writes their values, and inputs set with them."""
        variables = self.exported.variables
        before = dict(self._set)
        for reference, value in zip(references, values, strict=True):
            if variables[reference].causality == PARAMETER:
                self._set[reference] = value * variables[reference].factor
        if self._block.mode == Mode.STEPPING:
            try:
                self._tune({variables[reference].role for reference in references})
            except LiegeoError as error:
                self._set = before
                self._answer(DISCARD, error)
        else:
            self._machine = None

    def _tune(self, roles: set[str]) -> None:
        """Go on with other values of tunable parameters."""
        machine = self._machine_now()
        if FILE in roles:
            # A new machine, as one that a state is put back into has: outputs and laws may hold numbers of the model.
            made = self._make(machine.stepper.y.copy())
            made.go_on_from(machine)
            self._machine = made
            self._show_gravity()
        elif GRAVITY in roles:
            for axis, value in self._of_role(GRAVITY).items():
                machine.set_gravity(axis, value)

    # ---- state

    @_guarded(_not_saved)
    def _get_fmu_state(self) -> SavedState | str:
        block = self._block
        if Mode.STEPPING <= block.mode < Mode.BROKEN:
            self._moving()
        exported, n = self.exported, len(self.exported.inputs)
        slopes = np.full((n, 2), np.nan) if self._slopes is None else self._slopes
        variables, shared = exported.variables, exported.shared
        values = [0.0 if variables[k].role == OUTPUT or variables[k].type != REAL else self._values[k] for k in shared]
        return SavedState(
            exported.identity,
            int(block.mode),
            int(block.changed),
            np.array([block.start, block.stop, block.tolerance, block.time]),
            np.array(values),
            np.array([k in self._set for k in shared], dtype=np.float64),
            slopes.ravel().copy(),
            np.zeros(0) if self._machine is None else self._machine.snapshot(),
            tuple(self._strings[k] for k in exported.settings),
            {variables[k].name: (self._set[k], float(self._values[k])) for k in exported.of_file if k in self._set},
        )

    @_guarded(lambda *_: None)
    def _set_fmu_state(self, state: SavedState | str) -> None:
        block, exported = self._block, self.exported
        if isinstance(state, str):
            raise InputError(state)
        if state.identity != exported.identity or len(state.values) != len(exported.shared):
            raise InputError(text("OTHER_FMU"))
        if state.mode & (Mode.EVENT | Mode.CONTINUOUS | Mode.HANDLING):
            raise InputError(text("OTHER_TYPE"))
        by_name = {exported.variables[k].name: k for k in exported.of_file}
        if not set(state.file) <= set(by_name) or len(state.strings) != len(exported.settings):
            raise InputError(text("OTHER_FMU"))
        given: dict[int, Any] = {
            k: float(value) * exported.variables[k].factor
            for k, value, was_set in zip(exported.shared, state.values, state.was_set, strict=True)
            if was_set and exported.variables[k].type == REAL
        }
        given |= {by_name[name]: si for name, (si, _) in state.file.items()}
        is_set = dict(zip(exported.shared, state.was_set, strict=True))
        given |= {k: each for k, each in zip(exported.settings, state.strings, strict=True) if is_set[k]}
        experiment = np.array([block.start, block.stop, block.tolerance])
        # by the same parameters and times it is the same machine
        same = (
            self._machine is not None
            and self._set == given
            and np.array_equal(experiment, state.times[:3], equal_nan=True)
        )
        self._set = given
        block.start, block.stop, block.tolerance, block.time = state.times.tolist()
        for k, each in zip(exported.settings, state.strings, strict=True):
            self._strings[k] = each
        for k, value in zip(exported.shared, state.values, strict=True):
            if exported.variables[k].role != OUTPUT and exported.variables[k].type == REAL:
                self._values[k] = value
        for k in exported.of_file:
            self._values[k] = state.file.get(exported.variables[k].name, (0.0, _as_number(exported.variables[k])))[1]
        self._slopes = None if np.isnan(state.slopes).all() else state.slopes.reshape(-1, 2).copy()
        if not len(state.machine):
            self._machine = None
        else:
            if not same:
                model = exported.mechanism(self._of_role(FILE), self._resources).compile()
                y = y_in(model, exported.places, exported.columns, state.machine)
                self._machine = self._make(y)
                self._warm_up(y)
            self._machine_now().restore(state.machine)
        block.mode, block.changed, block.fresh = state.mode, state.changed, 0

    @staticmethod
    def _fmu_state_to_bytes(state: SavedState | str) -> bytes:
        try:
            if isinstance(state, str):
                raise InputError(state)
            return state.to_bytes()
        except BaseException as error:  # nothing may leave
            _BYTES.wrong = f"the state cannot be written: {error}"
            return b""

    @staticmethod
    def _fmu_state_from_bytes(data: bytes) -> SavedState | str:
        """Return a state; if the bytes are none, words, which setFMUstate refuses."""
        try:
            return SavedState.from_bytes(data)
        except InputError as error:
            _BYTES.wrong = str(error)
        except BaseException as error:  # nothing may leave
            _BYTES.wrong = text("NO_STATE", error)
        return str(_BYTES.wrong)


def _words(error: BaseException) -> str:
    """What an exception says; some say nothing."""
    return str(error) or type(error).__name__


def _as_number(variable: ExportedVariable) -> float:
    return math.nan if not isinstance(variable.start, float | int) else variable.in_unit(variable.start)
