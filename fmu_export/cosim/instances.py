"""One running FMU of a system: errors for statuses that are none to go on with, and nothing left behind.

Messages of an FMU go to the logger `liegeo.cosim.NAME`, with its category in front.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import shutil
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Self

from numpy.typing import NDArray

from fmu_export.cosim.fmu_file import CosimVariable, Description, Value
from fmu_export.exchange_solver import ExchangeSolver, open_fmu
from fmu_export.fmi_calls import DISCARD, ERROR, FATAL, OK, WARNING, FMUCalls, Reals, VariableAccess
from liegeo.archives import Archive
from liegeo.errors import InputError, LiegeoError

Array = NDArray[Any]

_STATUS = ("OK", "warning", "discard", "error", "fatal", "pending")
_LEVELS = (logging.INFO, logging.WARNING, logging.WARNING, logging.ERROR, logging.CRITICAL, logging.INFO)
LOGGER = "liegeo.cosim"


class FMUError(LiegeoError, ArithmeticError):
    """A call of an FMU failed: names the FMU, the function and its status, and what the FMU said."""


# What FMUs said since it was last asked for, by instance: the end of it belongs into the message of an error.
_said: dict[str, list[str]] = {}


def _hear(environment: Any, instance: bytes | None, status: int, category: bytes | None, message: bytes | None) -> None:
    """Called by FMUs.  Nothing may be raised into them."""
    try:
        name = (instance or b"").decode("utf-8", "replace")
        kind = (category or b"").decode("utf-8", "replace")
        text = (message or b"").decode("utf-8", "replace").rstrip()
        level = _LEVELS[status] if 0 <= status < len(_LEVELS) else logging.ERROR
        if status >= WARNING and name in _said:
            # where in the FMU it came from is for those who read logs
            brief = text.partition("\nTraceback (most recent call last)")[0].rstrip(". \n")
            _said[name] = [*_said[name][-4:], brief]
        logging.getLogger(f"{LOGGER}.{name}").log(level, "%s%s", f"[{kind}] " if kind else "", text)
    except Exception:
        return


class Ear:
    """Where FMUs speak to while there is one: `with Ear() as ear`, and ear.callbacks for fmi2Instantiate.

    The text of a message has C's variable arguments, which a native function of fmpy puts in.  That function knows one
    listener for all FMUs of the process, the last that was registered, and calls it even when it is gone: so ours is
    registered anew each time and never goes, and fmpy's own comes after it.
    """

    _kept: tuple[Any, ...] = ()

    def __enter__(self) -> Self:
        from fmpy import calloc, fmi1, fmi2, free

        if not Ear._kept:
            kind = fmi2.fmi2CallbackLoggerTYPE
            Ear._kept = (
                fmi2.fmi2CallbackFunctions(),
                kind(_hear),
                kind(fmi1.printLogMessage),
                fmi2.fmi2CallbackAllocateMemoryTYPE(calloc),
                fmi2.fmi2CallbackFreeMemoryTYPE(free),
            )
        self.callbacks, hear, _, self.callbacks.allocateMemory, self.callbacks.freeMemory = Ear._kept
        self._register(self.callbacks, hear)
        return self

    def __exit__(self, *error: object) -> None:
        from fmpy import fmi2

        self._register(fmi2.defaultCallbacks, Ear._kept[2])

    @staticmethod
    def _register(callbacks: Any, listener: Any) -> None:
        callbacks.logger = listener
        # there is none for every platform; messages then come with their % signs
        with contextlib.suppress(ImportError, OSError):
            from fmpy.logging import addLoggerProxy

            addLoggerProxy(ctypes.byref(callbacks))


class Folders:
    """FMUs unpacked into one temporary folder, each file once; all is removed at the end."""

    def __init__(self) -> None:
        self._root = Path(tempfile.mkdtemp(prefix="liegeo_cosim_"))
        self._by_file: dict[Path, Path] = {}

    def unpacked(self, description: Description) -> Path:
        if description.file not in self._by_file:
            target = self._root / f"{len(self._by_file)}"
            with Archive(description.file, "FMU") as archive:
                archive.extract(target)
            self._by_file[description.file] = target
        return self._by_file[description.file]

    def close(self) -> None:
        shutil.rmtree(self._root, ignore_errors=True)


class CosimSlave:
    """An instance of an FMU.  `close` it on every way out: terminated, all states freed, the instance freed."""

    def __init__(
        self,
        name: str,
        description: Description,
        folders: Folders,
        ear: Ear,
        debug: bool = False,
        solver: ExchangeSolver | None = None,
    ) -> None:
        self.name = name
        self.description = description
        self.t = 0.0
        self._states: list[Any] = []
        self._running = False
        self._worst = OK
        self._calls: FMUCalls | None = None
        _said[name] = []
        try:
            calls = open_fmu(description, folders.unpacked(description), name, solver)
        except Exception as error:  # fmpy raises bare exceptions: no library for this system, symbols missing
            raise FMUError(
                f"FMU '{name}': '{description.file.name}' cannot be loaded: {error}\n"
                "  It needs a library for this system in its folder binaries, and what that library needs in turn."
            ) from None
        try:
            calls.instantiate(debug, partial(_hear, None, name.encode()), ear.callbacks)
        except Exception:  # fmpy raises a bare exception for a null pointer
            calls.unload()
            raise FMUError(
                f"FMU '{name}': '{description.file.name}' gave no instance.{self.heard()}\n"
                f"  Switch on logging of '{LOGGER}.{name}' with debug=True to see why."
            ) from None
        self._calls = self.calls = calls
        self._values = VariableAccess(calls, description)

    # ---- statuses

    def heard(self, most: int = 5) -> str:
        """What the FMU said last since it was asked, as the end of a message."""
        said, _said[self.name] = _said.get(self.name, [])[-most:], []
        return f" It said: {'; '.join(dict.fromkeys(said))}." if said else ""

    def _note(self, status: int) -> int:
        """Remember the worst; a step that is pending is one that this master cannot go on with."""
        self._worst = max(self._worst, status if status <= FATAL else ERROR)
        return status

    def _check(self, status: int, more: str = "") -> None:
        """Raise an error if the function that was called last gave this status, and it is none to go on with."""
        if self._note(status) > WARNING:
            word = _STATUS[status] if status < len(_STATUS) else str(status)
            raise FMUError(f"FMU '{self.name}': {self.calls.called}{more} ended with status {word}.{self.heard()}")

    def note(self, status: int) -> None:
        """Raise an error if a function that was called beside this object gave this status."""
        self._check(status)

    # ---- life

    def setup(self, start: float, stop: float | None, tolerance: float | None) -> None:
        self.t = start
        self._check(self.calls.set_up(start, stop, tolerance))

    def enter_initialisation(self) -> None:
        self._check(self.calls.enter_initialisation())
        self._values.is_readable = True

    def exit_initialisation(self) -> None:
        self._check(self.calls.exit_initialisation())
        self._running = True

    def close(self) -> None:
        """May be called twice; raises nothing, so that the others are closed too.

        After an error an FMU is not terminated but freed, and after fatal nothing of it is called (FMI 2.0.4, 4.2.4;
        FMI 3.0, 2.2.5); its library stays too, because to unload it is to call it.
        """
        if self._calls is None:
            return
        calls, self._calls = self._calls, None
        for state in self._states:
            if self._worst < FATAL:
                self._note(calls.free_state(state))
        self._states.clear()
        if self._running and self._worst < ERROR:
            self._note(calls.terminate())
        if self._worst < FATAL:
            calls.free()
        _said.pop(self.name, None)

    # ---- values

    def get_reals(self, reals: Reals) -> None:
        if reals.n:
            status = self._values.get_reals(reals)
            if status > WARNING:
                self._check(status)

    def set_reals(self, reals: Reals) -> None:
        if reals.n:
            status = self._values.set_reals(reals)
            if status > WARNING:
                self._check(status, f" of {reals.values.tolist()} at t = {self.t:.9g} s")

    def set_rates(self, reals: Reals, rates: Array) -> None:
        """First derivatives of inputs that were just set."""
        if reals.n:
            self._check(self.calls.set_rates(reals, rates))

    def get(self, variable: CosimVariable) -> Value:
        status, value = self._values.get(variable)
        self._check(status)
        return value

    def set(self, variable: CosimVariable, value: Value) -> None:
        try:
            status = self._values.set(variable, value)
        except InputError as error:
            raise FMUError(f"FMU '{self.name}': '{variable.name}' {error}.") from None
        self._check(status, f" of '{variable.name}' to {value!r}")

    def set_all(self, values: Mapping[str, Value]) -> None:
        for name, value in values.items():
            self.set(self.description.variables[name], value)

    # ---- steps

    def step(self, t: float, h: float, final: bool) -> float | None:
        """Take a step; None if it was taken, or else the time that was reached.

        `final` says that no earlier state will be asked for.
        """
        status = self.calls.do_step(t, h, final)
        if status == DISCARD:
            return self.calls.reached
        if status > WARNING:
            self._check(status, f" from t = {t:.9g} s by {h:.6g} s")
        self.t = t + h
        return None

    def wants_to_end(self) -> bool:
        """Whether a discarded step was discarded because the FMU ends the run."""
        return self.calls.ends

    # ---- states

    def save(self, into: Any = None) -> Any:
        """The state, to give to `restore`; an old one is written over."""
        if not self.description.saves_state:
            raise InputError(f"FMU '{self.name}': '{self.description.file.name}' cannot save its state.")
        state = into[0] if into is not None else ctypes.c_void_p()
        self._check(self.calls.save(state))
        if into is None:
            self._states.append(state)
        return state, self.t

    def restore(self, saved: Any) -> None:
        state, self.t = saved
        self._check(self.calls.restore(state))

    def free(self, saved: Any) -> None:
        state, _ = saved
        self._states = [known for known in self._states if known is not state]
        self._check(self.calls.free_state(state))
