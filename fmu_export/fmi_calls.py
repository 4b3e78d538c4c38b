"""FMI's functions by what they do, with statuses: one interface, and a class for each version of FMI behind it.

Who runs an FMU calls these methods and need not know its version, nor whether it is for co-simulation or for model
exchange: exchange_solver.py makes the one of the other.  After each call `called` is the name of the function, for
messages.  Values go through buffers that are made once (`Reals`), or one by one (`VariableAccess`).
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fmu_export.cosim.fmu_file import MODEL_EXCHANGE, CosimVariable, Description, Value, check_real, check_whole

Array = NDArray[Any]
#: What an FMU says: status, category, message.
Hear = Callable[[int, bytes | None, bytes | None], None]

OK, WARNING, DISCARD, ERROR, FATAL = range(5)
_LAST_SUCCESSFUL_TIME, _TERMINATED = 2, 3
# How often an FMU of FMI 3.0 may return early from one step, which it may not do at all.
_MOST_RETURNS = 1000


class UpdatedStates(NamedTuple):
    """What an update of discrete states gives: whether another one is needed, the run ends, or states changed."""

    status: int
    again: bool = False
    ends: bool = False
    nominals_changed: bool = False
    values_changed: bool = False
    next_time: float | None = None


class FMUCalls(ABC):
    """The functions of an instance.  `reached` and `ends` tell of the last step that was not simply taken."""

    prefix = ""
    #: Types of FMI to types of C.
    ctypes: dict[str, Any]

    def __init__(self, fmu: Any) -> None:
        self.fmu = fmu
        self.called = ""
        self.reached, self.ends = 0.0, False

    def call(self, function: str, *arguments: Any) -> int:
        """Return the status of a function of FMI, whose name is given without the version."""
        self.called = self.prefix + function
        return int(self.fmu._functions[self.called](self.fmu.component, *arguments))

    # ---- life

    @abstractmethod
    def instantiate(self, logging: bool, hear: Hear, callbacks: Any = None) -> None:
        """Make the instance; an exception if there is none.  `callbacks` are those of FMI 2.0, instead of `hear`."""

    @abstractmethod
    def set_up(self, start: float, stop: float | None, tolerance: float | None) -> int:
        """Say when the run begins and ends."""

    @abstractmethod
    def enter_initialisation(self) -> int:
        """Enter initialisation mode."""

    def exit_initialisation(self) -> int:
        """Leave initialisation mode."""
        return self.call("ExitInitializationMode")

    def terminate(self) -> int:
        """End the run."""
        return self.call("Terminate")

    def reset(self) -> int:
        """Make the instance as new."""
        return self.call("Reset")

    def free(self) -> None:
        """Free the instance and unload the library."""
        self.called = f"{self.prefix}FreeInstance"
        self.fmu._functions[self.called](self.fmu.component)
        self.unload()

    def unload(self) -> None:
        """Unload the library, of which there is no instance."""
        self.fmu.freeLibrary()

    # ---- values

    @abstractmethod
    def get(self, function: str, references: Any, n: int, buffer: Any, n_values: int) -> int:
        """Read n variables, which have n_values values, into a buffer."""

    @abstractmethod
    def set(self, function: str, references: Any, n: int, buffer: Any, n_values: int) -> int:
        """Write n variables, which have n_values values, from a buffer."""

    def set_rates(self, reals: Reals, rates: Array) -> int:
        """Say how inputs that were just set change in the next step (FMI 2.0)."""
        raise NotImplementedError

    @abstractmethod
    def output_rates(self, references: Sequence[int], n_values: int) -> tuple[int, Array]:
        """Return the status and the first derivatives of outputs."""

    @abstractmethod
    def directional(
        self, unknowns: Sequence[int], knowns: Sequence[int], seed: Sequence[float], n_values: int
    ) -> tuple[int, Array]:
        """Return the status and the derivatives of unknowns along a direction of knowns."""

    # ---- steps

    @abstractmethod
    def do_step(self, t: float, h: float, final: bool) -> int:
        """Take a step; `final` says that no earlier state will be asked for.

        `reached` is then how far the FMU got, if the step was discarded, and `ends` whether it ends the run there.
        """

    # ---- states

    @property
    @abstractmethod
    def _state(self) -> str:
        """What names of functions call a state."""

    def save(self, state: Any) -> int:
        """Save the state into a pointer."""
        return self.call(f"Get{self._state}", ctypes.byref(state))

    def restore(self, state: Any) -> int:
        """Go back to a saved state."""
        return self.call(f"Set{self._state}", state)

    def free_state(self, state: Any) -> int:
        """Free a saved state."""
        return self.call(f"Free{self._state}", ctypes.byref(state))

    @abstractmethod
    def to_bytes(self, state: Any) -> tuple[int, bytes]:
        """Return the status and a saved state as bytes."""

    @abstractmethod
    def from_bytes(self, data: bytes, state: Any) -> int:
        """Make a saved state from bytes, into a pointer."""

    # ---- model exchange

    def set_time(self, t: float) -> int:
        """Say what time it is."""
        return self.call("SetTime", t)

    def set_states(self, buffer: Any, n: int) -> int:
        """Write the continuous states."""
        return self.call("SetContinuousStates", buffer, n)

    def get_states(self, buffer: Any, n: int) -> int:
        """Read the continuous states."""
        return self.call("GetContinuousStates", buffer, n)

    @abstractmethod
    def get_rates(self, buffer: Any, n: int) -> int:
        """Read the derivatives of the continuous states."""

    def get_nominals(self, buffer: Any, n: int) -> int:
        """Read the nominal values of the continuous states."""
        return self.call("GetNominalsOfContinuousStates", buffer, n)

    def get_indicators(self, buffer: Any, n: int) -> int:
        """Read the event indicators."""
        return self.call("GetEventIndicators", buffer, n)

    def complete_step(self, final: bool) -> tuple[int, bool, bool]:
        """Tell the end of a step of the solver; return the status, whether there is an event, and whether it ends."""
        flag = self.ctypes["Boolean"]
        event, ends = flag(), flag()
        status = self.call("CompletedIntegratorStep", final, ctypes.byref(event), ctypes.byref(ends))
        return status, bool(event.value), bool(ends.value)

    def enter_events(self) -> int:
        """Enter event mode."""
        return self.call("EnterEventMode")

    def enter_continuous(self) -> int:
        """Enter continuous-time mode."""
        return self.call("EnterContinuousTimeMode")

    @abstractmethod
    def update_states(self) -> UpdatedStates:
        """Update discrete states in event mode."""


class FMI2Calls(FMUCalls):
    """FMI 2.0."""

    prefix = "fmi2"
    ctypes = {  # noqa: RUF012
        "Real": ctypes.c_double, "Integer": ctypes.c_int, "Boolean": ctypes.c_int, "String": ctypes.c_char_p,
    }  # fmt: skip

    def instantiate(self, logging: bool, hear: Hear, callbacks: Any = None) -> None:
        from fmpy import calloc, fmi2, free

        if callbacks is None:
            callbacks = fmi2.fmi2CallbackFunctions()
            callbacks.logger = fmi2.fmi2CallbackLoggerTYPE(lambda _, name, status, *said: hear(status, *said))
            callbacks.allocateMemory = fmi2.fmi2CallbackAllocateMemoryTYPE(calloc)
            callbacks.freeMemory = fmi2.fmi2CallbackFreeMemoryTYPE(free)
        # fmpy keeps them as long as the instance, which calls them
        self.fmu.instantiate(callbacks=callbacks, loggingOn=logging)

    def set_up(self, start: float, stop: float | None, tolerance: float | None) -> int:
        return self.call(
            "SetupExperiment", tolerance is not None, tolerance or 0.0, start, stop is not None, stop or 0.0
        )

    def enter_initialisation(self) -> int:
        return self.call("EnterInitializationMode")

    def get(self, function: str, references: Any, n: int, buffer: Any, n_values: int) -> int:
        return self.call(f"Get{function}", references, n, buffer)

    def set(self, function: str, references: Any, n: int, buffer: Any, n_values: int) -> int:
        return self.call(f"Set{function}", references, n, buffer)

    def set_rates(self, reals: Reals, rates: Array) -> int:
        orders, values = (ctypes.c_int * reals.n)(*([1] * reals.n)), (ctypes.c_double * reals.n)(*rates)
        return self.call("SetRealInputDerivatives", reals.each, reals.n, orders, values)

    def output_rates(self, references: Sequence[int], n_values: int) -> tuple[int, Array]:
        n, found = len(references), (ctypes.c_double * n_values)()
        orders = (ctypes.c_int * n)(*([1] * n))
        return self.call("GetRealOutputDerivatives", _references(references), n, orders, found), np.array(found)

    def directional(
        self, unknowns: Sequence[int], knowns: Sequence[int], seed: Sequence[float], n_values: int
    ) -> tuple[int, Array]:
        of, by, found = _references(unknowns), _references(knowns), (ctypes.c_double * n_values)()
        along = (ctypes.c_double * len(seed))(*seed)
        status = self.call("GetDirectionalDerivative", of, len(unknowns), by, len(knowns), along, found)
        return status, np.array(found)

    def do_step(self, t: float, h: float, final: bool) -> int:
        status = self.call("DoStep", t, h, final)
        self.reached, self.ends = t + h, False
        if status == DISCARD:
            reached, ends = ctypes.c_double(t), ctypes.c_int(0)
            told = self.call("GetRealStatus", _LAST_SUCCESSFUL_TIME, ctypes.byref(reached)) <= WARNING
            self.reached = max(t, reached.value) if told else t
            told = self.call("GetBooleanStatus", _TERMINATED, ctypes.byref(ends)) <= WARNING
            self.ends = told and bool(ends.value)
        self.called = "fmi2DoStep"
        return status

    @property
    def _state(self) -> str:
        return "FMUstate"

    def to_bytes(self, state: Any) -> tuple[int, bytes]:
        return _to_bytes(self, "SerializedFMUstateSize", "SerializeFMUstate", state, ctypes.c_char)

    def from_bytes(self, data: bytes, state: Any) -> int:
        buffer = (ctypes.c_char * len(data)).from_buffer_copy(data)
        return self.call("DeSerializeFMUstate", buffer, len(data), ctypes.byref(state))

    def get_rates(self, buffer: Any, n: int) -> int:
        return self.call("GetDerivatives", buffer, n)

    def update_states(self) -> UpdatedStates:
        from fmpy.fmi2 import fmi2EventInfo

        told = fmi2EventInfo()
        status = self.call("NewDiscreteStates", ctypes.byref(told))
        return UpdatedStates(
            status, bool(told.newDiscreteStatesNeeded), bool(told.terminateSimulation),
            bool(told.nominalsOfContinuousStatesChanged), bool(told.valuesOfContinuousStatesChanged),
            float(told.nextEventTime) if told.nextEventTimeDefined else None,
        )  # fmt: skip


class FMI3Calls(FMUCalls):
    """FMI 3.0.  Event mode of co-simulation is not used, nor early return: an FMU handles its events in its steps."""

    prefix = "fmi3"
    ctypes = {  # noqa: RUF012
        "Float32": ctypes.c_float, "Float64": ctypes.c_double, "Int8": ctypes.c_int8, "UInt8": ctypes.c_uint8,
        "Int16": ctypes.c_int16, "UInt16": ctypes.c_uint16, "Int32": ctypes.c_int32, "UInt32": ctypes.c_uint32,
        "Int64": ctypes.c_int64, "UInt64": ctypes.c_uint64, "Boolean": ctypes.c_bool, "String": ctypes.c_char_p,
    }  # fmt: skip

    def instantiate(self, logging: bool, hear: Hear, callbacks: Any = None) -> None:
        self.fmu.instantiate(loggingOn=logging, logMessage=lambda _, status, *said: hear(status, *said))

    def set_up(self, start: float, stop: float | None, tolerance: float | None) -> int:
        self._experiment = _times(start, stop, tolerance)
        return OK

    def enter_initialisation(self) -> int:
        return self.call("EnterInitializationMode", *self._experiment)

    def get(self, function: str, references: Any, n: int, buffer: Any, n_values: int) -> int:
        return self.call(f"Get{function}", references, n, buffer, n_values)

    def set(self, function: str, references: Any, n: int, buffer: Any, n_values: int) -> int:
        return self.call(f"Set{function}", references, n, buffer, n_values)

    def output_rates(self, references: Sequence[int], n_values: int) -> tuple[int, Array]:
        n, found = len(references), (ctypes.c_double * n_values)()
        orders = (ctypes.c_int32 * n)(*([1] * n))
        return self.call("GetOutputDerivatives", _references(references), n, orders, found, n_values), np.array(found)

    def directional(
        self, unknowns: Sequence[int], knowns: Sequence[int], seed: Sequence[float], n_values: int
    ) -> tuple[int, Array]:
        of, by, found = _references(unknowns), _references(knowns), (ctypes.c_double * n_values)()
        along = (ctypes.c_double * len(seed))(*seed)
        status = self.call(
            "GetDirectionalDerivative", of, len(unknowns), by, len(knowns), along, len(seed), found, n_values
        )
        return status, np.array(found)

    def do_step(self, t: float, h: float, final: bool) -> int:
        flags = [ctypes.c_bool() for _ in range(3)]
        reached = ctypes.c_double(t)
        end, begin, status = t + h, t, OK
        for _ in range(_MOST_RETURNS):
            told = self.call("DoStep", begin, h, final, *map(ctypes.byref, flags), ctypes.byref(reached))
            status, (_, ends, early) = max(status, told), (flag.value for flag in flags)
            self.ends = bool(ends) and status <= DISCARD
            gone = reached.value > begin and math.isfinite(reached.value)
            if status > WARNING or ends or not early or not gone or reached.value >= end:
                break
            # what returns early although it may not is taken on to the end
            begin, h = reached.value, end - reached.value
        early = status <= WARNING and bool(flags[2].value) and reached.value < end
        self.reached = max(t, reached.value) if status == DISCARD or self.ends or early else end
        return DISCARD if status <= WARNING and (self.ends or early) else status

    @property
    def _state(self) -> str:
        return "FMUState"

    def to_bytes(self, state: Any) -> tuple[int, bytes]:
        return _to_bytes(self, "SerializedFMUStateSize", "SerializeFMUState", state, ctypes.c_uint8)

    def from_bytes(self, data: bytes, state: Any) -> int:
        buffer = (ctypes.c_uint8 * len(data)).from_buffer_copy(data)
        return self.call("DeserializeFMUState", buffer, len(data), ctypes.byref(state))

    def get_rates(self, buffer: Any, n: int) -> int:
        return self.call("GetContinuousStateDerivatives", buffer, n)

    def update_states(self) -> UpdatedStates:
        flags, when = [ctypes.c_bool() for _ in range(5)], ctypes.c_double()
        status = self.call("UpdateDiscreteStates", *map(ctypes.byref, flags), ctypes.byref(when))
        again, ends, nominals, values, timed = (bool(flag.value) for flag in flags)
        return UpdatedStates(status, again, ends, nominals, values, when.value if timed else None)


def _times(start: float, stop: float | None, tolerance: float | None) -> tuple[Any, ...]:
    return tolerance is not None, tolerance or 0.0, start, stop is not None, stop or 0.0


def _references(references: Sequence[int]) -> Any:
    return (ctypes.c_uint * len(references))(*references)


def _to_bytes(calls: FMUCalls, size_of: str, write: str, state: Any, byte: Any) -> tuple[int, bytes]:
    size = ctypes.c_size_t()
    status = calls.call(size_of, state, ctypes.byref(size))
    if status > WARNING:
        return status, b""
    buffer = (byte * size.value)()
    return calls.call(write, state, buffer, size.value), bytes(buffer)


def load(description: Description, folder: Path, name: str) -> FMUCalls:
    """Return the functions of an unpacked FMU, of which there is no instance yet; fmpy raises bare exceptions."""
    from fmpy import fmi2, fmi3

    exchange = description.kind == MODEL_EXCHANGE
    calls: type[FMUCalls] = FMI2Calls
    made = fmi2.FMU2Model if exchange else fmi2.FMU2Slave
    if description.fmi == 3:
        calls, made = FMI3Calls, fmi3.FMU3Model if exchange else fmi3.FMU3Slave
    here = Path.cwd()
    try:
        return calls(
            made(
                guid=description.guid,
                modelIdentifier=description.identifier,
                unzipDirectory=str(folder),
                instanceName=name,
            )
        )
    except Exception:
        # fmpy goes into the folder of the library, and does not come back if loading fails
        os.chdir(here)
        raise


# ---- values


class Places:
    """Where variables are among the values of all elements of their arrays, reference after reference."""

    def __init__(self, variables: Sequence[CosimVariable]) -> None:
        sizes = {v.reference: v.size for v in variables}
        starts = dict(zip(sizes, itertools.accumulate(sizes.values(), initial=0), strict=False))
        self.n, self.n_values = len(sizes), sum(sizes.values())
        self.references = list(sizes)
        self.places = np.array([starts[v.reference] + v.element for v in variables], dtype=np.int64)


class _RealPart(Places):
    """Real variables of one type in a buffer: whole arrays, though perhaps not all elements of one are asked for."""

    def __init__(self, variables: Sequence[CosimVariable], into: Array, ctype: Any) -> None:
        super().__init__(variables)
        self.function, self.into = variables[0].function, into
        self.pointer = _references(self.references)
        self.buffer = (ctype * self.n_values)()
        self.numbers = np.ctypeslib.as_array(self.buffer)
        self.is_whole = len(set(self.places.tolist())) == self.n_values


class Reals:
    """Real variables of an FMU in a fixed order, with buffers for the calls; `values` are those of the variables."""

    def __init__(self, variables: Sequence[CosimVariable]) -> None:
        self.n = len(variables)
        self.variables = tuple(variables)
        self.each = _references([v.reference for v in variables])
        self.values: Array = np.zeros(self.n)
        self.parts: list[_RealPart] = []
        for function in dict.fromkeys(v.function for v in variables):
            mine = [k for k, v in enumerate(variables) if v.function == function]
            ctype = ctypes.c_float if function == "Float32" else ctypes.c_double
            self.parts.append(_RealPart([variables[k] for k in mine], np.array(mine), ctype))
        # most often the buffer has just these values, in this order
        self.is_plain = len(self.parts) == 1 and np.array_equal(self.parts[0].places, np.arange(self.parts[0].n_values))
        if self.is_plain and self.parts[0].numbers.dtype == np.float64:
            self.values = self.parts[0].numbers
        else:
            self.is_plain = False


class VariableAccess:
    """Values of an instance's variables, through arrays where they are elements of one."""

    def __init__(self, calls: FMUCalls, description: Description) -> None:
        self.calls, self.description = calls, description
        # before initialisation arrays cannot be read, so that what was set is kept here
        self.is_readable = False
        self._kept: dict[int, list[Any]] = {}

    def get_reals(self, reals: Reals) -> int:
        """Read variables into their `values`; return the status."""
        worst = OK
        for part in reals.parts:
            status = self.calls.get(part.function, part.pointer, part.n, part.buffer, part.n_values)
            if status > WARNING:
                return status
            worst = max(worst, status)
            if not reals.is_plain:
                reals.values[part.into] = part.numbers[part.places]
        return worst

    def set_reals(self, reals: Reals) -> int:
        """Write variables from their `values`; return the status."""
        worst = OK
        for part in reals.parts:
            if not part.is_whole:
                status = self._fill(part)
                if status > WARNING:
                    return status
            if not reals.is_plain:
                part.numbers[part.places] = reals.values[part.into]
            status = self.calls.set(part.function, part.pointer, part.n, part.buffer, part.n_values)
            if status > WARNING:
                return status
            worst = max(worst, status)
        return worst

    def _fill(self, part: _RealPart) -> int:
        """Read what arrays have in elements that are not to be set."""
        return self.calls.get(part.function, part.pointer, part.n, part.buffer, part.n_values)

    def get(self, variable: CosimVariable) -> tuple[int, Value]:
        """Return the status and the value of one variable."""
        status, found = self._array(variable)
        value = found[variable.element]
        if variable.type == "String":
            return status, (value or b"").decode("utf-8", "replace")
        return status, {"Real": float, "Boolean": bool}.get(variable.type, int)(value)

    def _array(self, variable: CosimVariable) -> tuple[int, Any]:
        """Return the status and the buffer of a variable, which has all elements of its array."""
        buffer = (self.calls.ctypes[variable.function] * variable.size)()
        reference = _references([variable.reference])
        return self.calls.get(variable.function, reference, 1, buffer, variable.size), buffer

    def set(self, variable: CosimVariable, value: Value) -> int:
        """Write one variable; return the status.  InputError if its type cannot hold the value."""
        given: Any = value
        if variable.type == "String":
            given = str(value).encode()
        elif variable.type == "Integer":
            given = int(value)
            check_whole(given, variable.function)
        elif variable.type == "Real":
            given = float(value)
            check_real(given, variable.function)
        ctype = self.calls.ctypes[variable.function]
        buffer = (ctype * variable.size)()
        if variable.size > 1:
            status = self._others(variable, buffer)
            if status > WARNING:
                return status
        buffer[variable.element] = given
        if not self.is_readable:
            self._kept[variable.reference] = list(buffer)
        return self.calls.set(variable.function, _references([variable.reference]), 1, buffer, variable.size)

    def _others(self, variable: CosimVariable, buffer: Any) -> int:
        """Fill a buffer with what the elements of an array are now."""
        if self.is_readable:
            status, found = self._array(variable)
            buffer[:] = found[:]
            return status
        kept = self._kept.get(variable.reference)
        buffer[:] = (
            kept if kept is not None else [self._start(each) for each in self.description.arrays[variable.reference]]
        )
        return OK

    @staticmethod
    def _start(variable: CosimVariable) -> Any:
        """Return the start value of an element, as its description has it."""
        if variable.type == "String":
            return (variable.start or "").encode()
        with contextlib.suppress(ValueError):
            if variable.type == "Boolean":
                return variable.start in ("true", "1")
            return (float if variable.type == "Real" else int)(variable.start or 0)
        return 0
