"""An FMU in this process, through fmpy: unpacked, instantiated, its messages kept, freed in the end."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from liegeo.archives import unpacked
from liegeo.errors import InputError, SimulationError

OK, WARNING, DISCARD, ERROR, FATAL = range(5)
DESCRIPTION = "modelDescription.xml"
_LAST_SUCCESSFUL_TIME, _TERMINATED = 2, 3
_WORDS = ("ok", "warning", "discard", "error", "fatal")
#: Where all that FMUs say can be read, for what a message leaves out.
LOGGER = "liegeo.fmu"


class Unpacked:
    """The files of an FMU in a folder of their own, for as long as the `with` lasts."""

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self.file = Path(file)

    def __enter__(self) -> Self:
        # what is no FMU for co-simulation is refused before it is unpacked
        self.description = described(self.file)
        with contextlib.ExitStack() as stack:
            self.folder = stack.enter_context(unpacked(self.file, "FMU"))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()


class Found(Unpacked):
    """The files of an FMU in a folder that somebody else unpacked, and removes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.folder = folder

    def __enter__(self) -> Self:
        self.description = _parsed(self.folder, self.folder.name)
        return self

    def __exit__(self, *error: object) -> None:
        return None


def described(file: str | os.PathLike[str]) -> Any:
    """Return fmpy's description of an FMU; no other member of the archive is unpacked."""
    with unpacked(file, "FMU", [DESCRIPTION]) as folder:
        return _parsed(folder, Path(file).name)


def _parsed(folder: Path, name: str) -> Any:
    from fmpy import read_model_description

    try:
        found = read_model_description(folder, validate=False)
    except Exception as error:  # no XML, a wrong attribute: fmpy raises what it meets
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(f"'{name}' is no FMU: {lines[0].rstrip('.')}.") from None
    if found.fmiVersion != "2.0":
        raise InputError(
            f"'{name}' is of FMI {found.fmiVersion}, expected 2.0; export it again as a co-simulation FMU of FMI 2.0."
        )
    if found.coSimulation is None:
        raise InputError(
            f"'{name}' is for model exchange only, expected co-simulation; export it again as an FMU with a solver."
        )
    identifier = found.coSimulation.modelIdentifier or ""
    if not identifier.isprintable() or not identifier.strip(". ") or any(sign in identifier for sign in "/\\:"):
        raise InputError(f"'{name}' is no FMU: its modelIdentifier is {identifier!r}, expected the name of a library.")
    for key in ("modelName", "guid"):
        if getattr(found, key) is None:
            raise InputError(f"'{name}' is no FMU: its description has no {key}.")
    for variable in found.modelVariables:
        if not variable.name or not isinstance(variable.valueReference, int) or variable.valueReference < 0:
            raise InputError(
                f"'{name}' is no FMU: a variable has the name {variable.name!r} and the value reference "
                f"{variable.valueReference!r}, expected a name and a number."
            )
    return found


def _function(variable: Any) -> str:
    """Return what FMI calls the type in the names of its functions."""
    return "Integer" if variable.type == "Enumeration" else str(variable.type)


class Instance:
    """An instance of an unpacked FMU: FMI's functions by their names, with statuses; `messages` is its log."""

    def __init__(self, unpacked: Unpacked, name: str = "fmu", *, verbose: bool = True) -> None:
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
            raise SimulationError(f"FMU '{described.modelName}' cannot be loaded: {error}", None) from None
        # kept alive as long as the instance, which calls it
        self._callbacks = fmi2.fmi2CallbackFunctions()
        self._callbacks.logger = fmi2.fmi2CallbackLoggerTYPE(self._note)
        self._callbacks.allocateMemory = fmi2.fmi2CallbackAllocateMemoryTYPE(fmi2.calloc)
        self._callbacks.freeMemory = fmi2.fmi2CallbackFreeMemoryTYPE(fmi2.free)
        self._alive = False
        try:
            self._fmu.instantiate(callbacks=self._callbacks, loggingOn=verbose)
        except Exception:
            raise SimulationError(f"FMU '{described.modelName}' cannot be instantiated.{self.said()}", None) from None
        self._alive = True

    def _note(self, environment: Any, name: Any, status: int, category: Any, message: Any) -> None:
        with contextlib.suppress(Exception):
            # a format of printf, says the standard
            text = (message or b"").decode("utf-8", "replace").replace("%%", "%")
            self.messages.append((status, (category or b"").decode(), text))
            logging.getLogger(LOGGER).debug("%s: %s", _WORDS[status], text)

    def said(self) -> str:
        """The messages that are worth a line each; where in the FMU they came from is for those who read logs."""
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
            model = self.description.modelName
            raise SimulationError(f"FMU '{model}' cannot be initialised: {error}{self.said()}", None) from None

    def write(self, name: str, value: Any) -> None:
        """Set a variable; an enumeration is an Integer to FMI's functions."""
        variable = self.by_name[name]
        getattr(self._fmu, f"set{_function(variable)}")([variable.valueReference], [value])

    def read(self, names: Iterable[str]) -> list[Any]:
        """Return the values of variables of any type: all reals in one call, others one by one."""
        variables = [self.by_name[name] for name in names]
        reals = [v.valueReference for v in variables if v.type == "Real"]
        numbers = iter(self._fmu.getReal(reals) if reals else ())
        return [next(numbers) if v.type == "Real" else self._read_other(v) for v in variables]

    def _read_other(self, variable: Any) -> Any:
        (value,) = getattr(self._fmu, f"get{_function(variable)}")([variable.valueReference])
        if variable.type == "String":
            return (value or b"").decode("utf-8", "replace")
        return bool(value) if variable.type == "Boolean" else int(value)

    def status(self, function: str, *arguments: Any) -> int:
        """The status that a function gives, whatever it is; a warning is as good as OK."""
        from fmpy.fmi1 import FMICallException

        try:
            getattr(self._fmu, function)(*arguments)
        except FMICallException as error:
            return int(error.status)
        return OK

    def step(self, t: float, size: float) -> int:
        """Take a step; return the status, whatever it is."""
        return self.status("doStep", t, size)

    def discarded(self, t: float) -> tuple[float, bool]:
        """Return how far a discarded step from t got, and whether the FMU ends the run there (FMI 2.0.4, 4.2.2)."""
        from fmpy.fmi1 import FMICallException

        reached, ends = t, False
        with contextlib.suppress(FMICallException):
            reached = max(t, float(self._fmu.getRealStatus(_LAST_SUCCESSFUL_TIME)))
        with contextlib.suppress(FMICallException):
            ends = bool(self._fmu.getBooleanStatus(_TERMINATED))
        return reached, ends
