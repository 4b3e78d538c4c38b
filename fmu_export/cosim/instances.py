"""One running FMU: fmpy's low-level calls with statuses, buffers that are made once, and nothing left behind.

Messages of an FMU go to the logger `liegeo.cosim.NAME`, with its category in front.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fmu_export.cosim.fmu_file import CosimVariable, Description, Value, check_whole
from liegeo.archives import Archive
from liegeo.errors import InputError, LiegeoError

Array = NDArray[Any]

_OK, _WARNING, _DISCARD, _ERROR, _FATAL = range(5)
_STATUS = ("OK", "warning", "discard", "error", "fatal", "pending")
_LEVELS = (logging.INFO, logging.WARNING, logging.WARNING, logging.ERROR, logging.CRITICAL, logging.INFO)
_LAST_SUCCESSFUL_TIME, _TERMINATED = 2, 3
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
        if status >= _WARNING and name in _said:
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


class Reals:
    """Real variables of an FMU in a fixed order, with buffers for the calls; `values` is a view of the buffer."""

    def __init__(self, variables: Sequence[CosimVariable]) -> None:
        n = len(variables)
        self.n = n
        self.references = (ctypes.c_uint * n)(*[v.reference for v in variables])
        self.buffer = (ctypes.c_double * n)()
        self.values: Array = np.ctypeslib.as_array(self.buffer) if n else np.empty(0)


class CosimSlave:
    """An instance of an FMU.  `close` it on every way out: terminated, all states freed, the instance freed."""

    def __init__(self, name: str, description: Description, folders: Folders, ear: Ear, debug: bool = False) -> None:
        from fmpy.fmi2 import FMU2Slave

        self.name = name
        self.description = description
        self.t = 0.0
        self._states: list[Any] = []
        self._running = False
        self._worst = _OK
        self._fmu: Any = None
        _said[name] = []
        here = Path.cwd()
        try:
            folder = folders.unpacked(description)
            fmu = FMU2Slave(
                guid=description.guid,
                modelIdentifier=description.identifier,
                unzipDirectory=str(folder),
                instanceName=name,
            )
        except Exception as error:  # fmpy raises bare exceptions: no library for this system, symbols missing
            # fmpy goes into the folder of the library, and does not come back if loading fails
            os.chdir(here)
            raise FMUError(
                f"FMU '{name}': '{description.file.name}' cannot be loaded: {error}\n"
                "  It needs a library for this system in its folder binaries, and what that library needs in turn."
            ) from None
        try:
            fmu.instantiate(callbacks=ear.callbacks, loggingOn=debug)
        except Exception:  # fmpy raises a bare exception for a null pointer
            fmu.freeLibrary()
            raise FMUError(
                f"FMU '{name}': '{description.file.name}' gave no instance.{self.heard()}\n"
                f"  Switch on logging of '{LOGGER}.{name}' with debug=True to see why."
            ) from None
        self._fmu = fmu
        f = fmu._functions
        self._component = fmu.component
        self._do_step, self._get, self._set = f["fmi2DoStep"], f["fmi2GetReal"], f["fmi2SetReal"]
        self._rates = f["fmi2SetRealInputDerivatives"]

    # ---- statuses

    def heard(self, most: int = 5) -> str:
        """What the FMU said last since it was asked, as the end of a message."""
        said, _said[self.name] = _said.get(self.name, [])[-most:], []
        return f" It said: {'; '.join(dict.fromkeys(said))}." if said else ""

    def _note(self, status: int) -> int:
        """Remember the worst; a step that is pending is one that this master cannot go on with."""
        self._worst = max(self._worst, status if status <= _FATAL else _ERROR)
        return status

    def _check(self, status: int, what: str, more: str = "") -> None:
        if self._note(status) > _WARNING:
            word = _STATUS[status] if status < len(_STATUS) else str(status)
            raise FMUError(f"FMU '{self.name}': {what} ended with status {word}{more}.{self.heard()}")

    def _call(self, what: str, *arguments: Any) -> None:
        self._check(self._fmu._functions[what](self._component, *arguments), what)

    # ---- life

    def setup(self, start: float, stop: float, tolerance: float | None) -> None:
        self.t = start
        self._call("fmi2SetupExperiment", tolerance is not None, tolerance or 0.0, start, True, stop)

    def enter_initialisation(self) -> None:
        self._call("fmi2EnterInitializationMode")

    def exit_initialisation(self) -> None:
        self._call("fmi2ExitInitializationMode")
        self._running = True

    def close(self) -> None:
        """May be called twice; raises nothing, so that the others are closed too.

        After an error an FMU is not terminated but freed, and after fatal nothing of it is called (FMI 2.0.4, 4.2.4);
        its library stays too, because to unload it is to call it.
        """
        if self._fmu is None:
            return
        fmu, self._fmu = self._fmu, None
        functions = fmu._functions
        for state in self._states:
            if self._worst < _FATAL:
                self._note(functions["fmi2FreeFMUstate"](self._component, ctypes.byref(state)))
        self._states.clear()
        if self._running and self._worst < _ERROR:
            self._note(functions["fmi2Terminate"](self._component))
        if self._worst < _FATAL:
            functions["fmi2FreeInstance"](self._component)
            fmu.freeLibrary()
        _said.pop(self.name, None)

    # ---- values

    def get_reals(self, reals: Reals) -> None:
        if reals.n:
            status = self._get(self._component, reals.references, reals.n, reals.buffer)
            if status > _WARNING:
                self._check(status, "fmi2GetReal")

    def set_reals(self, reals: Reals) -> None:
        if reals.n:
            status = self._set(self._component, reals.references, reals.n, reals.buffer)
            if status > _WARNING:
                self._check(status, f"fmi2SetReal of {reals.values.tolist()} at t = {self.t:.9g} s")

    def set_rates(self, reals: Reals, rates: Array) -> None:
        """First derivatives of inputs that were just set."""
        if reals.n:
            orders = (ctypes.c_int * reals.n)(*([1] * reals.n))
            values = (ctypes.c_double * reals.n)(*rates)
            status = self._rates(self._component, reals.references, reals.n, orders, values)
            self._check(status, "fmi2SetRealInputDerivatives")

    def get(self, variable: CosimVariable) -> Value:
        reference = (ctypes.c_uint * 1)(variable.reference)
        if variable.type == "String":
            text = (ctypes.c_char_p * 1)()
            self._call("fmi2GetString", reference, 1, text)
            return (text[0] or b"").decode("utf-8", "replace")
        if variable.type == "Real":
            real = (ctypes.c_double * 1)()
            self._call("fmi2GetReal", reference, 1, real)
            return float(real[0])
        whole = (ctypes.c_int * 1)()
        self._call(f"fmi2Get{variable.type}", reference, 1, whole)
        return bool(whole[0]) if variable.type == "Boolean" else int(whole[0])

    def set(self, variable: CosimVariable, value: Value) -> None:
        reference = (ctypes.c_uint * 1)(variable.reference)
        if variable.type == "String":
            buffer: Any = (ctypes.c_char_p * 1)(str(value).encode())
        elif variable.type == "Real":
            buffer = (ctypes.c_double * 1)(float(value))
        else:
            whole = int(value)
            try:
                check_whole(whole)
            except InputError as error:
                raise FMUError(f"FMU '{self.name}': '{variable.name}' {error}.") from None
            buffer = (ctypes.c_int * 1)(whole)
        status = self._fmu._functions[f"fmi2Set{variable.type}"](self._component, reference, 1, buffer)
        self._check(status, f"fmi2Set{variable.type} of '{variable.name}' to {value!r}")

    def set_all(self, values: Mapping[str, Value]) -> None:
        for name, value in values.items():
            self.set(self.description.variables[name], value)

    # ---- steps

    def step(self, t: float, h: float, final: bool) -> float | None:
        """Take a step; None if it was taken, or else the time that was reached.

        `final` says that no earlier state will be asked for.
        """
        status = self._do_step(self._component, t, h, final)
        if status == _DISCARD:
            return self._reached(t)
        if status > _WARNING:
            self._check(status, f"fmi2DoStep from t = {t:.9g} s by {h:.6g} s")
        self.t = t + h
        return None

    def _reached(self, t: float) -> float:
        reached = ctypes.c_double(t)
        status = self._fmu._functions["fmi2GetRealStatus"](
            self._component, _LAST_SUCCESSFUL_TIME, ctypes.byref(reached)
        )
        return max(t, float(reached.value)) if self._note(status) <= _WARNING else t

    def wants_to_end(self) -> bool:
        """Whether a discarded step was discarded because the FMU ends the run."""
        flag = ctypes.c_int(0)
        status = self._fmu._functions["fmi2GetBooleanStatus"](self._component, _TERMINATED, ctypes.byref(flag))
        return self._note(status) <= _WARNING and bool(flag.value)

    # ---- states

    def save(self, into: Any = None) -> Any:
        """The state, to give to `restore`; an old one is written over."""
        if not self.description.saves_state:
            raise InputError(f"FMU '{self.name}': '{self.description.file.name}' cannot save its state.")
        state = into[0] if into is not None else ctypes.c_void_p()
        self._call("fmi2GetFMUstate", ctypes.byref(state))
        if into is None:
            self._states.append(state)
        return state, self.t

    def restore(self, saved: Any) -> None:
        state, self.t = saved
        self._call("fmi2SetFMUstate", state)

    def free(self, saved: Any) -> None:
        state, _ = saved
        self._states = [known for known in self._states if known is not state]
        self._call("fmi2FreeFMUstate", ctypes.byref(state))
