"""An FMU in this process: unpacked, instantiated, its messages kept, freed in the end."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from fmu_export.cosim.fmu_file import CosimVariable, Value, described, described_in, description_of, kind_of
from fmu_export.exchange_solver import ExchangeSolver, open_fmu
from fmu_export.fmi_calls import DISCARD, ERROR, FATAL, OK, WARNING, Places, Reals, VariableAccess
from liegeo.archives import unpacked
from liegeo.errors import InputError, SimulationError

__all__ = ["DISCARD", "ERROR", "FATAL", "LOGGER", "OK", "WARNING", "Found", "Instance", "Unpacked"]

_WORDS = ("ok", "warning", "discard", "error", "fatal")
#: Where all that FMUs say can be read, for what a message leaves out.
LOGGER = "liegeo.fmu"


class Unpacked:
    """The files of an FMU in a folder of their own, for as long as the `with` lasts; `description` is fmpy's."""

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self.file = Path(file)

    def __enter__(self) -> Self:
        # what is no FMU is refused before it is unpacked
        self.parsed = described(self.file)
        with contextlib.ExitStack() as stack:
            self.folder = stack.enter_context(unpacked(self.file, "FMU"))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @property
    def description(self) -> Any:
        return self.parsed.found


class Found(Unpacked):
    """The files of an FMU in a folder that somebody else unpacked, and removes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.folder = folder

    def __enter__(self) -> Self:
        self.parsed = described_in(self.folder, self.folder.name)
        return self

    def __exit__(self, *error: object) -> None:
        return None


class Instance:
    """An instance of an unpacked FMU, with statuses; `messages` is its log, `variables` are by name.

    What it does not have itself is a method of fmpy's object: FMI's functions by their names.
    """

    def __init__(
        self,
        unpacked: Unpacked,
        name: str = "fmu",
        *,
        verbose: bool = True,
        kind: str = "",
        solver: ExchangeSolver | None = None,
    ) -> None:
        self.description = unpacked.description
        kind = kind_of(unpacked.parsed, unpacked.file.name, kind)
        self.about = description_of(unpacked.file, unpacked.parsed, kind)
        self.variables = self.about.variables
        self.by_name = {variable.name: variable for variable in self.description.modelVariables}
        self.messages: list[tuple[int, str, str]] = []
        model = self.description.modelName
        try:
            self.calls = open_fmu(self.about, unpacked.folder, name, solver)
        except Exception as error:  # bare ones of fmpy: no library for this system, symbols missing
            raise SimulationError(f"FMU '{model}' cannot be loaded: {error}", None) from None
        self._fmu = self.calls.fmu
        self._values = VariableAccess(self.calls, self.about)
        self._alive = False
        try:
            self.calls.instantiate(verbose, self._note)
        except Exception:
            raise SimulationError(f"FMU '{model}' cannot be instantiated.{self.said()}", None) from None
        self._alive = True

    def _note(self, status: int, category: bytes | None, message: bytes | None) -> None:
        with contextlib.suppress(Exception):
            # a format of printf, says FMI 2.0
            text = (message or b"").decode("utf-8", "replace")
            text = text.replace("%%", "%") if self.about.fmi == 2 else text
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
            self.calls.free()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fmu, name)

    def references(self, names: Iterable[str]) -> list[int]:
        return [self.by_name[name].valueReference for name in names]

    def initialise(self, start: float, stop: float | None = None, values: dict[str, Any] | None = None) -> None:
        """Start values, the times of the experiment, initialisation mode and out of it."""
        try:
            for name, value in (values or {}).items():
                self.write(name, value)
            self._checked(self.calls.set_up(start, stop, None))
            self._checked(self.calls.enter_initialisation())
            self._values.is_readable = True
            self._checked(self.calls.exit_initialisation())
        except _CallError as error:
            model = self.description.modelName
            raise SimulationError(f"FMU '{model}' cannot be initialised: {error}{self.said()}", None) from None

    def _checked(self, status: int) -> None:
        if status > WARNING:
            word = _WORDS[status] if status < len(_WORDS) else str(status)
            raise _CallError(f"{self.calls.called} failed with status {status} ({word}).")

    def reset(self) -> int:
        """Make the instance as new."""
        self._values = VariableAccess(self.calls, self.about)
        return self.calls.reset()

    def write(self, name: str, value: Value) -> None:
        """Set a variable of any type; an error if it is not taken."""
        try:
            self._checked(self._values.set(self.variables[name], value))
        except InputError as error:
            raise InputError(f"'{name}' {error}.") from None

    def read(self, names: Iterable[str]) -> list[Value]:
        """Return the values of variables of any type: all reals in one call, others one by one."""
        variables = [self.variables[name] for name in names]
        reals = [v for v in variables if v.type == "Real"]
        numbers = iter(self.read_reals(Reals(reals)))
        return [next(numbers) if v.type == "Real" else self._read_other(v) for v in variables]

    def read_reals(self, reals: Reals) -> list[float]:
        """Return the values of real variables."""
        self._checked(self._values.get_reals(reals))
        found: list[float] = reals.values.tolist()
        return found

    def is_readable(self, reals: Reals) -> bool:
        """Return whether real variables can be read without as much as a warning."""
        return self._values.get_reals(reals) == OK

    def write_reals(self, reals: Reals, values: Iterable[float]) -> int:
        """Set real variables; return the status, whatever it is."""
        reals.values[:] = list(values)
        return self._values.set_reals(reals)

    def _read_other(self, variable: CosimVariable) -> Value:
        status, value = self._values.get(variable)
        self._checked(status)
        return value

    def status(self, function: str, *arguments: Any) -> int:
        """The status that a function of fmpy gives, whatever it is; a warning is as good as OK."""
        from fmpy.fmi1 import FMICallException

        try:
            getattr(self._fmu, function)(*arguments)
        except FMICallException as error:
            return int(error.status)
        return OK

    def step(self, t: float, size: float) -> int:
        """Take a step; return the status, whatever it is."""
        return self.calls.do_step(t, size, True)

    def discarded(self) -> tuple[float, bool]:
        """Return how far a discarded step got, and whether the FMU ends the run there (FMI 2.0.4, 4.2.2)."""
        return self.calls.reached, self.calls.ends

    def directional(self, unknowns: Sequence[CosimVariable], known: CosimVariable) -> Any:
        """Return the derivatives of real variables along one."""
        of, by = Places(unknowns), Places([known])
        seed = [float(k == known.element) for k in range(known.size)]
        status, found = self.calls.directional(of.references, by.references, seed, of.n_values)
        self._checked(status)
        return found[of.places]

    def output_rates(self, outputs: Sequence[CosimVariable]) -> Any:
        """Return the first derivatives of real outputs."""
        of = Places(outputs)
        status, found = self.calls.output_rates(of.references, of.n_values)
        self._checked(status)
        return found[of.places]

    # ---- states, which the caller frees

    def save(self) -> Any:
        """Return the state."""
        state = ctypes.c_void_p()
        self._checked(self.calls.save(state))
        return state

    def restore(self, state: Any) -> None:
        """Go back to a state."""
        self._checked(self.calls.restore(state))

    def forget(self, state: Any) -> None:
        """Free a state."""
        self._checked(self.calls.free_state(state))

    def to_bytes(self, state: Any) -> bytes:
        """Return a state as bytes."""
        status, data = self.calls.to_bytes(state)
        self._checked(status)
        return data

    def from_bytes(self, data: bytes) -> Any:
        """Return a state from bytes."""
        state = ctypes.c_void_p()
        self._checked(self.calls.from_bytes(data, state))
        return state


class _CallError(ArithmeticError):
    """A function of FMI gave a status that is none to go on with."""
