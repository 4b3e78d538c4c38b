"""An FMU as a sampled controller, or as a force, inside `liegeo.simulate`.

    servo = fmu_export.controller("servo.fmu", 1e-3, inputs={"angle": "hinge.angle"}, outputs={"motor": "torque"})
    lg.simulate(model, state, 2.0, controllers=[servo])

At its first sample the FMU is made and initialised with what is measured there.  At each later one it takes a step to
that time, with the inputs that it had, gets what is measured then, and its outputs are read: an output that depends on
inputs at once has no delay, others are those of the states that the step gave.  This is what the master of
`fmu_export.cosim` does with an FMU.  It may be for co-simulation or model exchange, of FMI 2.0 or 3.0.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fmu_export.cosim.fmu_file import CosimVariable, Description, Value, read_description
from fmu_export.cosim.instances import CosimSlave, Ear, FMUError, Folders
from fmu_export.exchange_solver import ExchangeSolver
from fmu_export.fmi_calls import Reals
from liegeo.errors import InputError
from liegeo.model.checks import suggest
from liegeo.model.controllers import Sampled

Array = NDArray[np.float64]


def controller(
    file: str | Path,
    period: float,
    *,
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
    parameters: Mapping[str, Value] | None = None,
    kind: str = "",
    solver: ExchangeSolver | None = None,
    delay: float = 0.0,
    offset: float = 0.0,
    initial: float | Array = 0.0,
    name: str = "",
) -> Sampled:
    """Return an FMU as a controller of `liegeo.simulate`, whose communication step is `period`.

    `inputs` say by input of the FMU which column of results it gets, `outputs` by input of the model which output of
    the FMU drives it; values are changed from SI to the units that the FMU declares, and back.  `parameters` are values
    before initialisation, in the FMU's own units.  `kind` and `solver` are for FMUs for model exchange.
    """
    name = name or Path(file).stem
    found = read_description(file, kind)
    function = _FMUFunction(name, found, tuple(inputs), tuple(outputs.values()), dict(parameters or {}), solver)
    measure, driven = tuple(inputs.values()), tuple(outputs)
    return Sampled(function, period, measure, driven, delay=delay, offset=offset, initial=initial, name=name)


class _FMUFunction:
    """The function of a controller that is an FMU; each run of it is an instance of its own."""

    def __init__(
        self,
        name: str,
        description: Description,
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
        parameters: dict[str, Value],
        solver: ExchangeSolver | None,
    ) -> None:
        self.name, self.description, self.parameters, self.solver = name, description, parameters, solver
        self.inputs = [self._real(each, "input") for each in inputs]
        self.outputs = [self._real(each, "output") for each in outputs]
        settable = [each for each, variable in description.variables.items() if variable.settable]
        for each in parameters:
            if each not in settable:
                raise InputError(f"{self._who}: parameters: '{each}' cannot be set.{suggest(each, settable)}")

    @property
    def identity(self) -> str:
        """Return what tells it from others."""
        return f"{self.description.guid} {self.parameters}"

    @property
    def _who(self) -> str:
        return f"FMU '{self.name}' ({self.description.file.name})"

    def _real(self, name: str, causality: str) -> CosimVariable:
        known = [each for each, variable in self.description.variables.items() if variable.causality == causality]
        if name not in known:
            raise InputError(f"{self._who}: '{name}' is no {causality}.{suggest(name, known)}")
        variable = self.description.variables[name]
        if variable.type != "Real":
            raise InputError(f"{self._who}: '{name}' is of type {variable.type}, expected real numbers.")
        return variable

    def __call__(self, t: float, y: Array) -> Array:
        raise InputError(f"{self._who} runs in a simulation only: give it to simulate(controllers=[…]).")

    def for_run(self) -> _FMURun:
        """Return what one run calls."""
        return _FMURun(self)


class _FMURun:
    """An instance of the FMU; made at the first sample."""

    def __init__(self, function: _FMUFunction) -> None:
        self.of = function
        self._stack = ExitStack()
        self._slave: CosimSlave | None = None
        self._start = self._t = 0.0
        self._in, self._out = Reals(function.inputs), Reals(function.outputs)
        self._measured = np.zeros(len(function.inputs))

    def __call__(self, t: float, y: Array) -> Array:
        if self._slave is None:
            slave = self._made(t, y)
        else:
            slave = self._slave
            reached = slave.step(self._t, t - self._t, False)
            if reached is not None:
                why = "ended the run" if slave.wants_to_end() else "discarded its step"
                raise FMUError(
                    f"{self.of._who} {why} at t = {reached:.9g} s, on the way to the sample at {t:.9g} s."
                    f"{slave.heard()}"
                )
            self._set(slave, y)
        self._t = t
        slave.get_reals(self._out)
        return np.array([_to_si(v, x) for v, x in zip(self.of.outputs, self._out.values, strict=True)])

    def _made(self, t: float, y: Array) -> CosimSlave:
        folders = Folders()
        self._stack.callback(folders.close)
        ear = self._stack.enter_context(Ear())
        of = self.of
        slave = CosimSlave(of.name, of.description, folders, ear, solver=of.solver)
        self._stack.callback(slave.close)
        slave.set_all(of.parameters)
        slave.setup(t, None, None)
        slave.enter_initialisation()
        self._set(slave, y)
        slave.exit_initialisation()
        self._set(slave, y)
        self._slave, self._start, self._t = slave, t, t
        return slave

    def _set(self, slave: CosimSlave, y: Array) -> None:
        self._measured[:] = y
        self._in.values[:] = [_from_si(v, x) for v, x in zip(self.of.inputs, y, strict=True)]
        slave.set_reals(self._in)

    def close(self) -> None:
        """End the run of the FMU."""
        self._slave = None
        self._stack.close()

    # ---- what a checkpoint has

    def refused(self) -> str:
        """Return why there can be no checkpoint, or nothing."""
        if self.of.description.serialises:
            return ""
        return f"{self.of._who} cannot write its state, which a checkpoint needs; leave the checkpoint out."

    def save(self) -> bytes:
        """Return all there is."""
        if self._slave is None:
            return b""
        state, _ = saved = self._slave.save()
        status, data = self._slave.calls.to_bytes(state)
        self._slave.free(saved)
        self._slave.note(status)
        return struct.pack(f"<{2 + len(self._measured)}d", self._start, self._t, *self._measured) + data

    def load(self, data: bytes) -> None:
        """Put back what `save` returned."""
        if not data:
            return
        head = struct.calcsize(f"<{2 + len(self._measured)}d")
        start, t, *measured = struct.unpack(f"<{2 + len(self._measured)}d", data[:head])
        slave = self._made(start, np.array(measured))
        state = ctypes.c_void_p()
        slave.note(slave.calls.from_bytes(data[head:], state))
        slave.restore((state, t))
        slave.note(slave.calls.free_state(state))
        self._t = t


def _from_si(variable: CosimVariable, value: float) -> float:
    measure = variable.measure
    return value if measure is None else (value - measure.offset) / measure.factor


def _to_si(variable: CosimVariable, value: float) -> float:
    measure = variable.measure
    return value if measure is None else measure.factor * value + measure.offset
