"""The rules of model exchange (FMI 2.0.4, 3.2.3), with something simple in C inside (inside.c)."""

from __future__ import annotations

import ctypes

import pytest
from test_fmu_inside import DISCARD, ERROR, GAIN, INPUT, OK, Fmu, library, pytestmark  # noqa: F401

EVENT, CONTINUOUS = "in event mode", "in continuous-time mode"


@pytest.fixture
def fmu(library, tmp_path):  # noqa: F811
    (tmp_path / "here").write_text("x")
    fmu = Fmu(library, str(tmp_path).encode(), kind=0)
    assert fmu.component
    yield fmu
    library.fmi2FreeInstance(fmu.component)


def numbers(*values):
    return (ctypes.c_double * len(values))(*values), ctypes.c_size_t(len(values))


class EventInfo(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_int * 5), ("next", ctypes.c_double))


def event(fmu):
    info = EventInfo()
    assert fmu.call("NewDiscreteStates", ctypes.byref(info)) == OK
    return list(info.flags), info.next


def test_a_run(fmu):
    fmu.initialise()
    assert event(fmu) == ([0, 0, 0, 0, 1], 1.0)
    assert fmu.call("EnterContinuousTimeMode") == OK
    assert fmu.call("SetReal", *fmu.set(INPUT, 3.0)) == OK
    assert fmu.call("SetTime", ctypes.c_double(2.0)) == OK
    assert fmu.call("SetContinuousStates", *numbers(12.0)) == OK
    found = numbers(0.0)
    for function, value in (
        ("GetDerivatives", 3.0),
        ("GetContinuousStates", 12.0),
        ("GetNominalsOfContinuousStates", 2.0),
    ):
        assert fmu.call(function, *found) == OK
        assert found[0][0] == value
    assert fmu.call("GetEventIndicators", None, ctypes.c_size_t(0)) == OK
    asks, ends = ctypes.c_int(7), ctypes.c_int(7)
    assert fmu.call("CompletedIntegratorStep", 1, ctypes.byref(asks), ctypes.byref(ends)) == OK
    assert (asks.value, ends.value) == (1, 0)
    assert fmu.call("EnterEventMode") == OK
    assert event(fmu) == ([0, 0, 0, 1, 0], 0.0)
    assert fmu.call("GetContinuousStates", *found) == OK
    assert found[0][0] == 6.0
    assert fmu.call("Terminate") == OK


@pytest.mark.parametrize(
    ("continuous", "function", "arguments", "text"),
    [
        (False, "EnterContinuousTimeMode", (), None),
        (True, "EnterEventMode", (), None),
        (False, "SetContinuousStates", numbers(1.0), f"it is not allowed now: the FMU is {EVENT}."),
        (True, "NewDiscreteStates", (None,), f"it is not allowed now: the FMU is {CONTINUOUS}."),
        (False, "NewDiscreteStates", (None,), "eventInfo is NULL."),
        (True, "EnterContinuousTimeMode", (), f"it is not allowed now: the FMU is {CONTINUOUS}."),
        (False, "CompletedIntegratorStep", (1, None, None), f"it is not allowed now: the FMU is {EVENT}."),
        (True, "CompletedIntegratorStep", (1, None, None), "enterEventMode is NULL."),
        (True, "GetDerivatives", numbers(1.0, 2.0), "nx is 2, expected 1."),
        (True, "GetDerivatives", (None, ctypes.c_size_t(1)), "derivatives is NULL."),
        (True, "GetEventIndicators", numbers(1.0), "ni is 1, expected 0."),
        (
            True,
            "DoStep",
            (ctypes.c_double(0.0), ctypes.c_double(1.0), 1),
            f"it is not allowed now: the FMU is {CONTINUOUS}.",
        ),
        (False, "ExitInitializationMode", (), f"it is not allowed now: the FMU is {EVENT}."),
    ],
)
def test_calls_out_of_order(fmu, continuous, function, arguments, text):
    fmu.initialise()
    if continuous:
        assert fmu.call("EnterContinuousTimeMode") == OK
    if text is None:
        assert fmu.call(function, *arguments) == OK
    else:
        fmu.refused(ERROR, text, function, *arguments)


def test_what_is_discarded(fmu):
    fmu.initialise()
    assert fmu.call("EnterContinuousTimeMode") == OK
    fmu.refused(DISCARD, "x[0] is nan, expected a finite number.", "SetContinuousStates", *numbers(float("nan")))
    assert fmu.call("SetContinuousStates", *numbers(-1.0)) == OK
    fmu.refused(DISCARD, "an integral < 0.", "GetDerivatives", *numbers(0.0))
    # and it goes on
    assert fmu.call("SetContinuousStates", *numbers(1.0)) == OK
    assert fmu.call("GetDerivatives", *numbers(0.0)) == OK


def test_tunable_parameters_are_for_event_mode(fmu):
    fmu.initialise()
    assert fmu.call("SetReal", *fmu.set(GAIN, 2.0)) == OK
    assert fmu.call("EnterContinuousTimeMode") == OK
    text = f"gain can be set in event mode only, and the FMU is {CONTINUOUS}."
    fmu.refused(ERROR, text, "SetReal", *fmu.set(GAIN, 3.0))


def test_an_instance_for_co_simulation(library, tmp_path):  # noqa: F811
    (tmp_path / "here").write_text("x")
    fmu = Fmu(library, str(tmp_path).encode())
    fmu.initialise()
    text = "it belongs to model exchange, and the FMU is for co-simulation."
    fmu.refused(ERROR, text, "GetDerivatives", *numbers(0.0))
    library.fmi2FreeInstance(fmu.component)
