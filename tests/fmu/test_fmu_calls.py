"""Calls that go wrong: every one has the status that the standard wants, and a message."""

from __future__ import annotations

import ctypes
import math
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from fmpy import fmi2
from fmpy.fmi2 import fmi2LastSuccessfulTime, fmi2Terminated
from fmus import (
    PENDULUM,
    mechanism_fmu,
)

import fmu_export
from fmu_export import package, slave
from fmu_export.host import DISCARD, ERROR, OK, WARNING, Instance, Unpacked
from liegeo.errors import SimulationError

HERE = Path(__file__).parent


# A slide pulls a rod by a bar, until both are straight at x = 2 m; farther it cannot go.
PULLED = """
liegeo: 1
name: pulled
bodies:
  rod: {kind: rigid, mass: 1, inertia: [0.1, 0.1, 0.1], com: [0, 0, -0.5], frames: {end: [0, 0, -1]}}
  slide: {kind: rigid, mass: 1, inertia: [1, 1, 1]}
joints:
  hinge: {kind: revolute, parent: world, child: rod, axis: [0, 1, 0]}
  rail: {kind: prismatic, parent: world, child: slide, axis: [1, 0, 0]}
loops:
  pull: {kind: motion, joint: rail}
  bar: {kind: distance, a: rod.end, b: slide, length: 1}
initial: {q: {hinge: -30 deg, rail: 1}}
experiment: {end: 2 s, output: 10 ms, method: generalised-alpha-0.8, step: 1 ms}
fmu: {inputs: {pull: {start: 1}}, outputs: {hinge.angle: , rail.position: }}
"""


def test_statuses(instance):
    """Errors end a run, until a state is put back; values that cannot be are not taken, and the run goes on."""
    said = instance.messages
    assert instance.step(0.0, 0.01) == ERROR
    assert "fmi2DoStep: it is not allowed now: the FMU is instantiated" in said[-1][2]
    # after an error only this, freeing, reading and states
    assert instance.status("setupExperiment") == ERROR
    assert "the FMU is in the state that follows an error" in said[-1][2]
    instance.reset()
    instance.initialise(0.0, 2.0)
    motor = instance.references(["motor.input"])
    assert instance.step(0.0, 0.01) == OK
    for value in (math.nan, math.inf):
        assert instance.status("setReal", motor, [value]) == DISCARD
        assert f"motor.input: the value is {value}, expected a finite number" in said[-1][2]
        assert instance.getReal(motor) == [0.0]
    assert instance.status("setReal", instance.references(["gravity.z"]), [math.nan]) == DISCARD
    assert instance.step(0.01, 0.01) == OK
    state, before = instance.getFMUstate(), instance.getReal([1, 2])
    for function, arguments, words in (
        ("doStep", (0.02, 0.0), "expected a finite time and a size > 0"),
        ("doStep", (0.02, -1.0), "expected a finite time and a size > 0"),
        ("doStep", (0.02, math.nan), "expected a finite time and a size > 0"),
        ("doStep", (math.inf, 0.01), "expected a finite time and a size > 0"),
        ("doStep", (0.5, 0.01), "but the FMU is at"),
        ("doStep", (0.02, 1e-300), "nothing beside the time"),
        ("doStep", (0.02, 5.0), "said that the run ends at 2 s"),
        ("setReal", (instance.references(["length"]), [3.0]), "length is fixed, and the FMU is initialised"),
        ("setReal", (instance.references(["hinge.angle"]), [1.0]), "hinge.angle is a variable that cannot be set"),
        ("setString", (instance.references(["integrator.method"]), ["rkmk-4"]), "integrator.method is fixed"),
        ("setReal", ([9999], [1.0]), "valueReference 9999 is no Real"),
        ("getReal", ([2**32 - 1],), "valueReference 4294967295 is no Real"),
        ("getReal", (instance.references(["message"]),), "is no Real"),
        ("getInteger", ([0],), "is no Integer"),
        ("getBoolean", ([0],), "is no Boolean"),
        ("getString", ([0],), "is no String"),
        ("setInteger", ([0], [1]), "is no Integer"),
        ("setBoolean", ([0], [True]), "is no Boolean"),
        ("setupExperiment", (), "it is not allowed now: the FMU is initialised"),
        ("enterInitializationMode", (), "the FMU is initialised"),
        ("exitInitializationMode", (), "the FMU is initialised"),
        ("cancelStep", (), "the FMU is initialised"),
        ("getDirectionalDerivative", ([0], [0], [1.0]), "motor.input is no output"),
        ("getDirectionalDerivative", ([1], [1], [1.0]), "hinge.angle is not known where the FMU is initialised"),
        ("getDirectionalDerivative", ([1], [0], [math.nan]), "expected a finite number"),
        ("getRealOutputDerivatives", ([0], [1]), "valueReference 0 is no output"),
        ("getRealOutputDerivatives", ([1], [2]), "hinge.angle: the order is 2, expected 1."),
        ("setRealInputDerivatives", ([1], [1], [1.0]), "valueReference 1 is no input"),
        ("setRealInputDerivatives", ([0], [0], [1.0]), "motor.input: the order is 0, expected 1 or more"),
    ):
        assert instance.status(function, *arguments) == ERROR, (function, arguments)
        assert words in said[-1][2]
        assert said[-1][:2] == (ERROR, "logStatusError")
        # reading is for finding out why
        assert instance.getReal([1, 2]) == before
        assert instance.step(0.02, 0.01) == ERROR
        instance.setFMUstate(state)
    assert instance.step(0.02, 0.01) == OK
    instance.terminate()
    assert instance.step(0.03, 0.01) == ERROR
    assert "the FMU is terminated" in said[-1][2]


def test_what_is_the_same_time(pendulum):
    """But for round-off and a millionth of the step, a step begins where the last one ended, also after ten days.

    The end of the run may be a thousandth of a step away.
    """
    with Unpacked(pendulum) as unpacked, Instance(unpacked) as fmu:
        start, h = 864_000.0, 1e-3
        fmu.initialise(start, start + 1.0)
        assert fmu.step(start, h) == OK
        state = fmu.getFMUstate()
        for t, status in (
            (start + h, OK),
            (math.nextafter(start + h, math.inf), OK),
            (start + h * (1.0 + 1e-7), OK),
            (start + 1.1 * h, ERROR),
            (start + 0.9 * h, ERROR),
            (start + h - 1e-5, ERROR),
        ):
            assert fmu.step(t, h) == status, t
            fmu.setFMUstate(state)
        assert fmu.step(start + h, 1.0 - h + 2e-3) == ERROR
        assert "said that the run ends at" in fmu.messages[-1][2]


def test_what_masters_in_c_can_do_wrong(pendulum):
    """NULL for arguments, functions of model exchange, a wrong GUID: errors, and nothing else."""
    with Unpacked(pendulum) as unpacked, Instance(unpacked) as fmu:
        fmu.initialise(0.0, 2.0)
        state = fmu.getFMUstate()
        library, component, one = fmu.dll, ctypes.c_void_p(fmu.component), (ctypes.c_uint * 1)(0)
        calls = {
            "GetReal": (one, 1, None),
            "SetReal": (None, 1, one),
            "GetString": (one, 1, None),
            "SetString": (None, 1, None),
            "GetInteger": (None, 1, None),
            "GetFMUstate": (None,),
            "SerializedFMUstateSize": (state, None),
            "SerializeFMUstate": (state, None, 8),
            "DeSerializeFMUstate": (None, 8, None),
            "GetDirectionalDerivative": (one, 1, one, 1, None, None),
            "SetRealInputDerivatives": (one, 1, None, None),
            "GetRealOutputDerivatives": (one, 1, None, None),
            "GetRealStatus": (2, None),
            "SetDebugLogging": (1, 1, None),
        }
        for name, arguments in calls.items():
            assert library[f"fmi2{name}"](component, *arguments) == ERROR, name
            assert " is NULL" in fmu.messages[-1][2]
            assert library[f"fmi2{name}"](None, *arguments) == ERROR
            fmu.setFMUstate(state)
        # no references are none
        assert library.fmi2GetReal(component, None, 0, None) == OK
        assert library.fmi2SetReal(component, None, 0, None) == OK
        for name in ("EnterEventMode", "NewDiscreteStates", "SetTime", "GetDerivatives", "GetContinuousStates"):
            assert library[f"fmi2{name}"](component, None, 0) == ERROR
            assert "belongs to model exchange" in fmu.messages[-1][2]
        library.fmi2FreeInstance(None)
        fmu.setFMUstate(state)
        names = (ctypes.c_char_p * 2)(b"logStatusError", b"logNonsense")
        assert library.fmi2SetDebugLogging(component, 1, 2, names) == WARNING
        assert "there is no category 'logNonsense'" in fmu.messages[-1][2]
        for what in ("guid", "kind"):
            wrong = fmi2.FMU2Slave(
                guid="{0}" if what == "guid" else unpacked.description.guid,
                unzipDirectory=str(unpacked.folder),
                modelIdentifier="pendulum",
                instanceName="wrong",
            )
            heard = []
            callbacks = fmi2.fmi2CallbackFunctions()
            callbacks.logger = fmi2.fmi2CallbackLoggerTYPE(lambda *words, heard=heard: heard.append(words[4]))
            place = (unpacked.folder / "resources").as_uri().encode()
            kind = 0 if what == "kind" else 1
            found = wrong.dll.fmi2Instantiate(b"x", kind, wrong.guid.encode(), place, ctypes.byref(callbacks), 0, 0)
            assert not found
            assert (b"the GUID is '{0}'" if what == "guid" else b"for co-simulation, not") in heard[-1]


def test_texts_that_are_none(pendulum):
    """Bytes that are not UTF-8, and all that is: one, two, three and four bytes long."""
    with Unpacked(pendulum) as unpacked, Instance(unpacked, "ü 🙂") as fmu:
        library, component = fmu.dll, ctypes.c_void_p(fmu.component)
        (method,) = fmu.references(["integrator.method"])
        one = (ctypes.c_uint * 1)(method)
        for text in ("a", "ü", "€", "🙂", "\u07ff\u0800\uffff\U00010000\U0010ffff", ""):
            given = (ctypes.c_char_p * 1)(text.encode())
            assert library.fmi2SetString(component, one, 1, given) == OK, text
        state = fmu.getFMUstate()
        for data in (
            *(
                b"\xff",
                b"\x80",
                b"\xc3",
                b"\xc0\x80",
                b"\xe2\x82",
                b"\xe0\x80\x80",
                b"\xed\xa0\x80",
                b"a\xf0\x8f\xbf\xbf",
            ),
            *(b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xf0\x9f\x99", b"\xe2\x28\xa1"),
        ):
            with pytest.raises(UnicodeDecodeError):
                data.decode()
            assert library.fmi2SetString(component, one, 1, (ctypes.c_char_p * 1)(data)) == ERROR, data
            assert "integrator.method: the text is not UTF-8" in fmu.messages[-1][2]
            fmu.setFMUstate(state)


def test_the_log(pendulum):
    """Warnings and errors always; the rest where logging is on; of categories, those that were chosen."""
    with Unpacked(pendulum) as unpacked:
        for verbose in (False, True):
            with Instance(unpacked, verbose=verbose) as fmu:
                fmu.initialise(0.0)
                assert fmu.status("getReal", [9999]) == ERROR
                assert [text[0] for text in fmu.messages] == ([OK, ERROR] if verbose else [ERROR])
        with Instance(unpacked) as fmu:
            fmu.setDebugLogging(True, ["logStatusDiscard"])
            fmu.initialise(0.0)
            assert fmu.status("setReal", [0], [math.nan]) == DISCARD
            assert fmu.status("getReal", [9999]) == ERROR
            assert [text[0] for text in fmu.messages] == [DISCARD]
            # the category of all messages is that of all messages
            fmu.messages.clear()
            fmu.setDebugLogging(True, ["logAll"])
            fmu.reset()
            fmu.initialise(0.0)
            assert fmu.status("setReal", [0], [math.nan]) == DISCARD
            assert fmu.status("getReal", [9999]) == ERROR
            assert [text[0] for text in fmu.messages] == [OK, DISCARD, ERROR]
            fmu.setDebugLogging(True, [])
            fmu.reset()
            # what a host may take for a format is written as one
            fmu.status("setString", fmu.references(["integrator.method"]), ["100 %s"])
            with pytest.raises(SimulationError, match="'100 %s'"):
                fmu.initialise(0.0)


def test_uris_of_resources(pendulum, tmp_path):
    """As masters write them: one slash or three, with a host, percent signs for what is not ASCII; or a path."""
    with Unpacked(pendulum) as unpacked:
        place = tmp_path / "ä folder #1"
        shutil.copytree(unpacked.folder, place)
        uri = (place / "resources").as_uri()
        bare = uri.removeprefix("file://")
        for given in (uri, f"file:{bare}", f"file://localhost{bare}", f"FILE:{bare}", str(place / "resources")):
            fmu = fmi2.FMU2Slave(
                guid=unpacked.description.guid,
                unzipDirectory=str(place),
                modelIdentifier="pendulum",
                instanceName="fmu",
            )
            callbacks = fmi2.fmi2CallbackFunctions()
            callbacks.logger = fmi2.fmi2CallbackLoggerTYPE(lambda *_: None)
            instantiate = fmu.dll.fmi2Instantiate
            instantiate.restype = ctypes.c_void_p
            found = instantiate(b"x", 1, fmu.guid.encode(), given.encode(), ctypes.byref(callbacks), 0, 0)
            assert found, given
            fmu.dll.fmi2FreeInstance(ctypes.c_void_p(found))


def test_statuses_of_steps(instance):
    """Nothing is ever pending, and an FMU does not end a run."""
    instance.initialise(0.0, 2.0)
    assert instance.getRealStatus(fmi2LastSuccessfulTime) == 0.0
    assert instance.step(0.0, 0.25) == OK
    assert instance.getRealStatus(fmi2LastSuccessfulTime) == 0.25
    assert instance.getBooleanStatus(fmi2Terminated) == 0
    component, value = ctypes.c_void_p(instance.component), (ctypes.c_double * 1)()
    for name in ("GetStatus", "GetIntegerStatus", "GetStringStatus", "GetRealStatus", "GetBooleanStatus"):
        assert instance.dll[f"fmi2{name}"](component, 0, value) == DISCARD
        assert "there is nothing to tell" in instance.messages[-1][2]
    # discarded, and gone on
    assert instance.step(0.25, 0.25) == OK


def test_an_absurd_input_is_discarded(instance):
    """The master goes back, gives another input and goes on; without going back it cannot."""
    instance.initialise(0.0, 2.0)
    out, motor = instance.references(["hinge.angle", "hinge.speed"]), instance.references(["motor.input"])
    assert instance.step(0.0, 0.01) == OK
    state, before = instance.getFMUstate(), instance.getReal(out)
    instance.setReal(motor, [1e300])
    assert instance.step(0.01, 0.01) == DISCARD
    assert "is discarded: at t = " in instance.messages[-1][2]
    assert "Traceback" in instance.messages[-1][2]
    assert instance.getReal(out) == before
    assert instance.getRealStatus(fmi2LastSuccessfulTime) == 0.01
    assert instance.step(0.01, 0.01) == ERROR
    assert "the FMU is where a step was discarded" in instance.messages[-1][2]
    instance.setFMUstate(state)
    instance.setReal(motor, [0.0])
    assert instance.step(0.01, 0.01) == OK


@pytest.mark.parametrize("method", ["generalised-alpha-0.8", "adaptive-alpha-0.8"])
def test_a_step_that_fails_on_the_way(folder, method):
    """The FMU stops where internal steps succeeded last, and says where that is; a step to there succeeds."""
    fmu = mechanism_fmu(folder, "pulled", PULLED)
    pull = {"pull.value": 1.0, "pull.rate": 1.0, "pull.acceleration": 0.0}
    with Unpacked(fmu) as unpacked, Instance(unpacked) as instance:
        out, into = instance.references(["hinge.angle", "rail.position"]), instance.references(pull)
        instance.initialise(0.0, 2.0, {"integrator.method": method, **pull})
        assert instance.step(0.0, 0.0625) == OK
        instance.setReal(into, [1.0625, 1.0, 0.0])
        state = instance.getFMUstate()
        assert instance.step(0.0625, 1.5) == DISCARD
        reached = instance.getRealStatus(fmi2LastSuccessfulTime)
        here = instance.getReal(out)
        # where they are straight
        assert 0.9 < reached < 1.01
        assert here[1] == pytest.approx(1.0 + reached, abs=1e-6)
        instance.setFMUstate(state)
        assert instance.getRealStatus(fmi2LastSuccessfulTime) == 0.0625
        assert instance.step(0.0625, reached - 0.0625) == OK
        assert instance.getReal(out) == here
        assert instance.getRealStatus(fmi2LastSuccessfulTime) == reached


def test_the_tolerance_of_the_host(pendulum):
    """Both tolerances go with it, in the ratio that they have; those that are set stay."""
    wanted = ["integrator.rtol", "integrator.atol"]
    with Unpacked(pendulum) as unpacked, Instance(unpacked) as fmu:
        refs = fmu.references(wanted)
        for tolerance, given, expected in (
            (None, {}, [1e-6, 1e-8]),
            (1e-4, {}, [1e-4, 1e-6]),
            (1e-8, {}, [1e-8, 1e-10]),
            (1e-8, {"integrator.atol": 1e-3}, [1e-8, 1e-3]),
            (1e-8, {"integrator.rtol": 1e-3}, [1e-3, 1e-8]),
        ):
            fmu.setupExperiment(tolerance=tolerance, startTime=0.0)
            for name, value in given.items():
                fmu.write(name, value)
            fmu.enterInitializationMode()
            fmu.exitInitializationMode()
            assert fmu.getReal(refs) == [pytest.approx(x, rel=1e-15) for x in expected]
            fmu.reset()


def test_what_nobody_expected(instance, monkeypatch):
    """An exception that is no failure of a step is an error, with its traceback; a state before goes on."""
    instance.initialise(0.0, 2.0)
    state = instance.getFMUstate()

    def step(*given):
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(slave.Machine, "step", step)
        assert instance.step(0.0, 0.01) == ERROR
    assert "fmi2DoStep: the disk is full" in instance.messages[-1][2]
    assert "Traceback" in instance.messages[-1][2]
    instance.setFMUstate(state)

    def silent(*given):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(slave.Machine, "step", silent)
        assert instance.step(0.0, 0.01) == ERROR
    assert instance.messages[-1][2].startswith("fmi2DoStep: MemoryError\n")
    instance.setFMUstate(state)
    assert instance.step(0.0, 0.01) == OK


def test_wrong_parameters_are_told(pendulum):
    for values, words in (
        ({"length": -1.0}, "must be ≥ 1 mm"),
        ({"integrator.method": "eulr"}, "integrator.method is 'eulr'"),
        ({"integrator.step": 0.0}, "integrator.step is 0, must be > 0"),
        ({"integrator.extrapolation": "cubic"}, "expected hold or linear"),
        ({"integrator.method": "magnus-4"}, "linear"),
    ):
        with pytest.raises(SimulationError, match="cannot be initialised: fmi2ExitInitializationMode") as caught:
            fmu_export.run(pendulum, 0.1, values=values)
        assert words in str(caught.value)


def test_quaternions_that_are_none(arms):
    zero = {f"initial.b.quaternion.{c}": 0.0 for c in "wxyz"}
    with pytest.raises(SimulationError, match=r"initial\.b\.quaternion is \[0\.0, .* of length 0, but a rotation"):
        fmu_export.run(arms, 0.1, interval=0.01, values=zero)


@pytest.mark.parametrize("digits", [4, 8])
def test_quaternions_of_few_digits(arms, digits):
    exact, rounded = (
        {"initial.b.quaternion.w": value, "initial.b.quaternion.y": value}
        for value in (math.sqrt(0.5), round(math.sqrt(0.5), digits))
    )
    first, second = (fmu_export.run(arms, 0.1, interval=0.01, values=values) for values in (exact, rounded))
    for name in first.dtype.names:
        np.testing.assert_allclose(second[name], first[name], rtol=0, atol=1e-12)


def test_quaternions_of_frames_do_not_jump(arms):
    table = fmu_export.run(arms, 1.0, interval=0.01, values={"initial.b.angular_velocity.y": 20.0})
    quaternions = np.stack([table[f"'the tip'.quaternion.{c}"] for c in "wxyz"], axis=1)
    assert np.abs(np.diff(quaternions, axis=0)).max() < 0.2
    assert quaternions[:, 0].min() < -0.5


def test_too_many_steps(pendulum, caplog):
    """The message says what went wrong, and the log where."""
    with caplog.at_level("DEBUG", "liegeo.fmu"), pytest.raises(SimulationError, match="are too many") as caught:
        fmu_export.run(pendulum, 1.0, interval=1.0, values={"integrator.step": 1e-9})
    assert "Traceback" not in str(caught.value)
    assert any("Traceback" in record.getMessage() for record in caplog.records)


def test_the_last_message_is_a_variable(pendulum):
    with Unpacked(pendulum) as unpacked, Instance(unpacked) as fmu:
        fmu.initialise(0.0)
        assert fmu.status("setReal", [9999], [1.0]) == ERROR
        (text,) = fmu.getString(fmu.references(["message"]))
        assert b"valueReference 9999 is no Real" in text


def test_what_an_fmu_needs_is_checked(folder, monkeypatch, capfd):
    needs = [("no-such-package", "1.0", "2.0"), ("numpy", "99.0", "100.0")]
    monkeypatch.setattr(package, "_requirements", lambda bundle: needs)
    fmu = mechanism_fmu(folder, "needy")
    with Unpacked(fmu) as unpacked, pytest.raises(SimulationError, match="cannot be instantiated") as caught:
        Instance(unpacked)
    for text in (str(caught.value), capfd.readouterr().err):
        assert "no-such-package>=1.0,<2.0 (there is none), numpy>=99.0,<100.0 (there is " in text


def test_an_fmu_that_is_damaged(folder, pendulum):
    """It is not instantiated, and says why; the host goes on."""
    damaged = folder / "damaged.fmu"
    whole = mechanism_fmu(folder, "whole", PENDULUM.replace("2 kg", "3 kg"))
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(damaged, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, data.replace(b"axis", b"axes") if name.endswith("model.yaml") else data)
    for _ in range(3):
        with Unpacked(damaged) as unpacked, pytest.raises(SimulationError, match="axes is no key here"):
            Instance(unpacked)
    assert len(fmu_export.run(pendulum, 0.1)) == 11


def test_reading_what_is_not_initialised(pendulum):
    with Unpacked(pendulum) as unpacked, Instance(unpacked) as fmu:
        with pytest.raises(SimulationError, match="must be ≥ 1 mm"):
            fmu.initialise(0.0, 1.0, {"length": -1.0})
        assert fmu.status("getReal", fmu.references(["hinge.angle"])) == ERROR
        assert "the FMU is not initialised" in fmu.messages[-1][2]
        # parameters are what they were set to
        assert fmu.getReal(fmu.references(["length"])) == [-1.0]
        assert fmu.status("setReal", fmu.references(["motor.input"]), [1.0]) == ERROR
        assert "the FMU is in the state that follows an error" in fmu.messages[-1][2]
        fmu.reset()
        fmu.initialise(0.0, 1.0)
        assert fmu.step(0.0, 0.01) == OK
