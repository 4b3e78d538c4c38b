"""A unit in this process, through fmpy: unpacked, instantiated, its messages kept, freed in the end."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from liegeo.errors import InputError, SimulationError

OK, WARNING, DISCARD, ERROR, FATAL = range(5)
_WORDS = ("ok", "warning", "discard", "error", "fatal")
#: Where all that units say can be read, for what a message leaves out.
LOGGER = "liegeo.fmu"


class Unpacked:
    """The files of a unit in a folder of their own, for as long as the `with` lasts."""

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self.file = Path(file)

    def __enter__(self) -> Self:
        import fmpy

        if not self.file.is_file():
            raise InputError(f"unit: '{self.file}' is not a file.")
        try:
            self.description = fmpy.read_model_description(str(self.file), validate=False)
        except Exception as error:
            raise InputError(f"unit: '{self.file}' cannot be read as an FMU: {error}") from None
        if self.description.fmiVersion != "2.0" or self.description.coSimulation is None:
            raise InputError(
                f"unit: '{self.file}' is FMI {self.description.fmiVersion}, expected FMI 2.0 for co-simulation."
            )
        self.folder = Path(tempfile.mkdtemp(prefix="liegeo_fmu_"))
        fmpy.extract(str(self.file), str(self.folder))
        return self

    def __exit__(self, *error: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


class Instance:
    """An instance of an unpacked unit: FMI's functions by their names, with statuses; `messages` is its log."""

    def __init__(self, unpacked: Unpacked, name: str = "unit", *, verbose: bool = True) -> None:
        from fmpy import fmi2

        described = unpacked.description
        self.description = described
        self.by_name = {variable.name: variable for variable in described.modelVariables}
        self.messages: list[tuple[int, str, str]] = []
        here = Path.cwd()
        try:
            self._fmu = fmi2.FMU2Slave(
                guid=described.guid,
                unzipDirectory=str(unpacked.folder),
                modelIdentifier=described.coSimulation.modelIdentifier,
                instanceName=name,
            )
        except Exception as error:  # bare ones of fmpy: no library for this system, symbols missing
            # fmpy goes into the folder of the library, and does not come back if loading fails
            os.chdir(here)
            raise SimulationError(f"unit '{described.modelName}' cannot be loaded: {error}", None) from None
        # kept alive as long as the instance, which calls it
        self._callbacks = fmi2.fmi2CallbackFunctions()
        self._callbacks.logger = fmi2.fmi2CallbackLoggerTYPE(self._note)
        self._callbacks.allocateMemory = fmi2.fmi2CallbackAllocateMemoryTYPE(fmi2.calloc)
        self._callbacks.freeMemory = fmi2.fmi2CallbackFreeMemoryTYPE(fmi2.free)
        self._alive = False
        try:
            self._fmu.instantiate(callbacks=self._callbacks, loggingOn=verbose)
        except Exception:
            raise SimulationError(f"unit '{described.modelName}' cannot be instantiated.{self.said()}", None) from None
        self._alive = True

    def _note(self, environment: Any, name: Any, status: int, category: Any, message: Any) -> None:
        with contextlib.suppress(Exception):
            # a format of printf, says the standard
            text = (message or b"").decode("utf-8", "replace").replace("%%", "%")
            self.messages.append((status, (category or b"").decode(), text))
            logging.getLogger(LOGGER).debug("%s: %s", _WORDS[status], text)

    def said(self) -> str:
        """The messages that are worth a line each; where in the unit they came from is for those who read logs."""
        worth = [(status, text.partition("\nTraceback (")[0]) for status, _, text in self.messages if status >= WARNING]
        return "".join(f"\n  {_WORDS[status]}: {text}" for status, text in worth)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._alive:
            self._alive = False
            self._fmu.freeInstance()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fmu, name)

    def references(self, names: Iterable[str]) -> list[int]:
        return [self.by_name[name].valueReference for name in names]

    def initialise(self, start: float, stop: float | None = None, values: dict[str, Any] | None = None) -> None:
        """Start values, setupExperiment, initialisation mode and out of it."""
        from fmpy.fmi1 import FMICallException

        try:
            for name, value in (values or {}).items():
                self.write(name, value)
            self._fmu.setupExperiment(startTime=start, stopTime=stop)
            self._fmu.enterInitializationMode()
            self._fmu.exitInitializationMode()
        except FMICallException as error:
            unit = self.description.modelName
            raise SimulationError(f"unit '{unit}' cannot be initialised: {error}{self.said()}", None) from None

    def write(self, name: str, value: Any) -> None:
        variable = self.by_name[name]
        getattr(self._fmu, f"set{variable.type}")([variable.valueReference], [value])

    def status(self, function: str, *arguments: Any) -> int:
        """The status that a function gives, whatever it is; a warning is as good as OK."""
        from fmpy.fmi1 import FMICallException

        try:
            getattr(self._fmu, function)(*arguments)
        except FMICallException as error:
            return int(error.status)
        return OK

    def step(self, t: float, size: float) -> int:
        """doStep; the status, whatever it is."""
        return self.status("doStep", t, size)
