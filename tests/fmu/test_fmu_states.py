"""States of FMUs: exact rollback, bytes, and states that are refused."""

from __future__ import annotations

import ctypes
import math
from pathlib import Path

import pytest

from fmu_export.host import ERROR, OK, Instance, Unpacked

HERE = Path(__file__).parent


def test_rollback_is_exact_for_all_kinds_of_memory(pendulum):
    for method in ("rkmk-4", "rkmk-54", "generalised-alpha-0.8", "adaptive-alpha-0.8", "lie-bdf-2"):
        with Unpacked(pendulum) as unpacked, Instance(unpacked) as fmu:
            fmu.initialise(0.0, 2.0, {"integrator.method": method, "integrator.extrapolation": "linear"})
            out, motor = fmu.references(["hinge.angle", "hinge.speed", "energy"]), fmu.references(["motor.input"])

            def drive(first, fmu=fmu, out=out, motor=motor):
                rows = []
                for k in range(first, first + 7):
                    fmu.setReal(motor, [math.sin(k)])
                    assert fmu.step(0.01 * k, 0.01) == OK
                    rows.append(fmu.getReal(out))
                return rows

            drive(0)
            state = fmu.getFMUstate()
            data = fmu.serializeFMUstate(state)
            first = drive(7)
            fmu.setFMUstate(state)
            assert drive(7) == first
            fmu.freeFMUstate(state)
            other = fmu.deSerializeFMUstate(data)
            fmu.reset()
            fmu.setFMUstate(other)
            fmu.freeFMUstate(other)
            assert drive(7) == first


def test_start_values_are_shown_as_they_were(pendulum):
    """Those that were not set follow from the model where the FMU begins, also in an instance that begins later."""
    with Unpacked(pendulum) as unpacked, Instance(unpacked) as one, Instance(unpacked) as two:
        parameters = [v.valueReference for v in one.description.modelVariables if v.causality == "parameter"]
        parameters = [k for k in parameters if one.description.modelVariables[k].type == "Real"]
        one.initialise(0.0, 2.0, {"length": 1.3})
        at_start = one.getReal(parameters)
        assert one.getReal(one.references(["initial.hinge.angle"])) == [pytest.approx(math.radians(30))]
        assert one.step(0.0, 0.5) == OK
        assert one.getReal(parameters) == at_start
        data = one.serializeFMUstate(one.getFMUstate())
        two.setFMUstate(two.deSerializeFMUstate(data))
        assert two.getReal(parameters) == at_start


def test_wrong_states_are_refused(instance, arms):
    """They end the run, as every error does, until a state is put back."""
    instance.initialise(0.0)
    state = instance.getFMUstate()
    data = instance.serializeFMUstate(state)
    for bad, words in (
        (b"rubbish", "are not the state of an FMU"),
        (b"liegeo-state-5\n{", "are not the state of an FMU"),
        (data[:100], "are not the state of an FMU"),
        (data[:-8], "their number is not that of a state"),
        (data + b"12345678", "their number is not that of a state"),
    ):
        assert instance.status("deSerializeFMUstate", bad) == ERROR
        assert words in instance.messages[-1][2]
        assert instance.step(0.0, 0.01) == ERROR
        instance.setFMUstate(state)
    assert instance.step(0.0, 0.01) == OK
    pointer = ctypes.c_void_p(state.value)
    instance.freeFMUstate(state)
    # freed, and never made
    for wrong in (pointer, ctypes.c_void_p(12345), ctypes.c_void_p()):
        assert instance.status("setFMUstate", wrong) == ERROR
        assert "it was freed, or never made" in instance.messages[-1][2]
    with Unpacked(arms) as unpacked, Instance(unpacked) as other:
        state = other.deSerializeFMUstate(data)
        assert other.status("setFMUstate", state) == ERROR
        assert "the state is of an FMU of another model" in other.messages[-1][2]
        buffer = (ctypes.c_char * 8)()
        assert other.dll.fmi2SerializeFMUstate(ctypes.c_void_p(other.component), state, buffer, 8) == ERROR
        assert "there is room for 8 bytes" in other.messages[-1][2]
        other.freeFMUstate(state)


def test_states_go_into_those_that_there_are(instance):
    """A state that is given is written over, and what is left when an instance is freed goes with it."""
    instance.initialise(0.0)
    state = instance.getFMUstate()
    first = state.value
    assert instance.step(0.0, 0.01) == OK
    assert instance.dll.fmi2GetFMUstate(ctypes.c_void_p(instance.component), ctypes.byref(state)) == OK
    assert state.value == first
    angle = instance.getReal([1])
    assert instance.step(0.01, 0.01) == OK
    instance.setFMUstate(state)
    assert instance.getReal([1]) == angle
    wild = ctypes.c_void_p(77)
    assert instance.dll.fmi2GetFMUstate(ctypes.c_void_p(instance.component), ctypes.byref(wild)) == ERROR
    # nothing to free
    instance.freeFMUstate(ctypes.c_void_p())
