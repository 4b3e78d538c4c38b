"""FMUs that behave as those of other tools do: they end runs, discard steps, are slow, hang and crash."""

from __future__ import annotations

import math
import subprocess
import sys

import cosim_fixtures
import numpy as np
import pytest

import fmu_export
from fmu_export.cosim import FMU, CosimSystem
from fmu_export.cosim.instances import FMUError
from fmu_export.cosim.master import Master
from liegeo.errors import InputError, ModelError

built = cosim_fixtures.built


def impacts(height: float, g: float, e: float, slow: float) -> list[float]:
    """The times at which a ball hits the ground, until it is slower than that: a fall, then flights of 2 v / g."""
    t, v = math.sqrt(2.0 * height / g), e * math.sqrt(2.0 * g * height)
    out = [t]
    while v >= slow:
        t += 2.0 * v / g
        v *= e
        out.append(t)
    return out


def test_an_fmu_ends_the_run_at_the_end_of_a_step(built):
    """Discard, Terminated, and LastSuccessfulTime where the step ends: the run was repeated for ever."""
    result = CosimSystem({"stair": FMU(built("stair"))}).simulate(20.0, 0.2)
    assert not result.info.finished
    assert result.info.message == "ended by FMU 'stair' at t = 10 s"
    assert [(e.kind, e.what) for e in result.info.events] == [("end", "stair")]
    assert result.t[-1] == pytest.approx(10.0, abs=1e-12)
    assert len(result) == 51
    np.testing.assert_array_equal(result["stair.level"], 1.0 + np.floor(result.t + 1e-9))


@pytest.mark.parametrize("name", ["stair", "stair_stateless"])
@pytest.mark.parametrize("rollback", [True, False])
def test_an_fmu_ends_the_run_within_a_step(built, name, rollback):
    """With others that come to the same time, whether it can go back or not."""
    fmus = {"stair": FMU(built(name)), "lag": FMU(built("lag"))}
    result = CosimSystem(fmus, ["stair.level -> lag.u"]).simulate(20.0, 0.3, rollback=rollback)
    assert result.info.message.startswith("ended by FMU 'stair' at t = 10 s")
    # without states the lag, which steps first, has gone too far
    assert result.t[-1] == pytest.approx(10.0 if rollback else 9.9, abs=1e-12)
    assert result["stair.level"][-1] == (11.0 if rollback else 10.0)
    if not rollback:
        assert "results end at t = 9.9 s, because rollback is off" in result.info.message


def test_an_fmu_of_fixed_step_ends_the_run_within_a_step(built):
    """On its own it stays where it is."""
    result = CosimSystem({"stair": FMU(built("stair_fixed"))}).simulate(21.0, 0.3)
    assert result.info.message == "ended by FMU 'stair' at t = 10 s"
    assert result.t[-1] == 10.0
    assert result["stair.level"][-1] == 11.0


@pytest.mark.parametrize("options", [
    {"algorithm": "gauss-seidel"}, {"iterations": 2}, {"tolerance": 1e-3}, {"extrapolation": "linear"},
    {"algorithm": "gauss-seidel", "extrapolation": "linear"}
])  # fmt: skip
@pytest.mark.parametrize("step", [0.2, 0.3])
def test_every_algorithm_ends_where_an_fmu_ends_the_run(built, options, step):
    fmus = {"stair": FMU(built("stair")), "lag": FMU(built("lag")), "gain": FMU(built("gain"))}
    wires = ["stair.level -> gain.u", "gain.y -> lag.u"]
    result = CosimSystem(fmus, wires).simulate(20.0, step, **options)
    assert result.info.message == "ended by FMU 'stair' at t = 10 s"
    assert result.t[-1] == pytest.approx(10.0, abs=1e-12)
    assert result["gain.y"][-1] == 11.0


@pytest.mark.parametrize("options", [{"step": 0.013}, {"step": 0.2}, {"step": 0.1, "tolerance": 1e-4}])
def test_a_ball_bounces_and_ends_the_run(built, options):
    """At the times of the closed form, and nowhere behind the last of them."""
    times = impacts(1.0, 9.81, 0.7, 1.0)
    result = CosimSystem({"ball": FMU(built("ball"))}).simulate(10.0, **options)
    assert result.info.message == f"ended by FMU 'ball' at t = {times[-1]:.9g} s. It said: the ball lies still."
    assert result.t[-1] == pytest.approx(times[-1], abs=1e-9)
    found = [e.time for e in result.info.events]
    np.testing.assert_allclose(found, times, rtol=0.0, atol=1e-9)
    assert result["ball.bounces"][-1] == len(times)
    assert result["ball.h"].min() >= -1e-12


def test_a_slow_fmu(built):
    result = CosimSystem({"slow": FMU(built("slow"), {"pause": 3.0})}).simulate(0.1, 0.01)
    np.testing.assert_allclose(result["slow.y"], result.t, rtol=0.0, atol=1e-12)
    assert result.info.seconds > 0.03


@pytest.mark.parametrize("name", ["endless", "crash"])
def test_fmus_that_are_bad_only_where_they_are_treated_badly(built, name):
    result = CosimSystem({"fmu": FMU(built(name))}).simulate(0.1, 0.01)
    np.testing.assert_allclose(result["fmu.y"], result.t, rtol=0.0, atol=1e-12)


def test_one_fmu_on_its_own_may_end_the_run(built, caplog):
    """At the end of a step and within one; the table ends there too."""
    for interval, said in ((0.2, 51), (0.3, 35)):
        table = fmu_export.run(built("stair"), 20.0, interval=interval)
        assert len(table) == said
        assert table["time"][-1] == pytest.approx(10.0, abs=1e-12)
        assert "FMU 'stair' ended the run at t = 10 s." in caplog.text
        assert table["level"][-1] == 11.0


# ---- all types


TYPED = {
    "real_in": 0.1 + 0.2, "int_in": -2147483648, "choice_in": 2, "bool_in": True, "text_in": 'a "b", c;\nd é',
}  # fmt: skip


def test_values_of_all_types_come_back_as_they_are(built, tmp_path):
    """Through two FMUs, into the table and into files: numbers, whole numbers, truth values, text."""
    from liegeo.results import read_table

    wires = [f"one.{kind}_out -> two.{kind}_in" for kind in ("real", "int", "choice", "bool", "text")]
    outputs = ["two.*", "two.text_out", "one.text_in"]
    system = CosimSystem({"one": FMU(built("feedthrough"), TYPED), "two": FMU(built("feedthrough"))}, wires, outputs)
    result = system.simulate(0.1, 0.01)
    for name, value in TYPED.items():
        column = result[f"two.{name.removesuffix('_in')}_out"]
        assert column.tolist() == [value] * 11
    kinds = {name: result.dtype[f"two.{name}_out"].kind for name in ("real", "int", "choice", "bool", "text")}
    assert kinds == {"real": "f", "int": "i", "choice": "i", "bool": "b", "text": "U"}
    for suffix in ("csv", "npz", "parquet"):
        table = read_table(getattr(result, f"to_{suffix}")(tmp_path / f"a.{suffix}"))
        assert table.dtype == result.dtype, suffix
        assert table.tolist() == result.table.tolist(), suffix
    # text is not drawn
    with pytest.raises(InputError, match=r"plot: no column matches 'two\.text_out'"):
        result.plot("two.text_out", file=tmp_path / "a.svg")
    result.plot(file=tmp_path / "a.svg")


def test_one_fmu_on_its_own_takes_all_types(built):
    inputs = {**TYPED, "int_in": ([0.0, 0.05], [1, 7]), "bool_in": lambda t: t > 0.04}
    table = fmu_export.run(built("feedthrough"), 0.1, interval=0.01, inputs=inputs, outputs=("*", "text_out"))
    assert set(table["text_out"].tolist()) == {TYPED["text_in"]}
    # inputs of the beginning of each step
    assert table["int_out"].tolist() == [1] * 6 + [7] * 5
    assert table["bool_out"].tolist() == [False] * 6 + [True] * 5
    assert table["int_out"].dtype.kind == "i"
    with pytest.raises(InputError, match=r"run: input 'int_in' has 2 times and 1 values, expected one value for each"):
        fmu_export.run(built("feedthrough"), 0.1, inputs={"int_in": ([0.0, 0.05], [1])})


@pytest.mark.parametrize("value", [4294967303, 2**31, -(2**31) - 1, 10**30])
def test_whole_numbers_that_do_not_fit(built, tmp_path, value):
    """FMI's integers have 32 bits: 4294967303 was 7 inside the FMU."""
    said = rf"int_in'? is {value}, expected a whole number from -2147483648 to 2147483647 \(32 bits\)"
    with pytest.raises(ModelError, match=rf"fmus\.a\.start\.{said}"):
        CosimSystem({"a": FMU(built("feedthrough"), {"int_in": value})})
    plain = CosimSystem({"a": FMU(built("feedthrough"))})
    with pytest.raises(ModelError, match=said):
        plain.simulate(0.1, set={"a.int_in": value})
    for given in (
        {"values": {"int_in": value}},
        {"inputs": {"int_in": value}},
        {"inputs": {"int_in": ([0.0], [value])}},
    ):
        with pytest.raises(InputError, match=said):
            fmu_export.run(built("feedthrough"), 0.1, **given)
    # whoever comes past all that
    with Master(plain, plain.planned(0.1)).open() as master, pytest.raises(FMUError, match=f"FMU 'a': '{said}"):
        master.ports[0].slave.set(plain.variable("a.int_in")[1], value)


# ---- the validator


def test_validation_survives_an_fmu_that_does_not_return(built):
    """The call that hangs is a problem, and the checks after it are done all the same."""
    report = fmu_export.validate(built("endless"), illegal=0.5)
    assert report.problems == ["illegal calls: a step of NaN s did not return within 0.5 s."]
    assert report.checks[-1] == "illegal calls"


def test_validation_survives_an_fmu_that_crashes(built, tmp_path):
    report = fmu_export.validate(built("crash"))
    assert report.problems == ["illegal calls: a step of NaN s ended the process by SIGSEGV."]


def test_validation_on_the_command_line(built):
    command = [sys.executable, "-m", "liegeo.cli", "fmu", "validate", str(built("crash")), "--timeout", "60"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.returncode == 1, run.stderr
    assert "problem: illegal calls: a step of NaN s ended the process by SIGSEGV." in run.stdout


def test_validation_stops_where_an_fmu_hangs_in_a_legal_call(built):
    """It would hang in each check."""
    report = fmu_export.validate(built("slow"), timeout=1e-3)
    assert report.problems == ["dependencies did not return within 0.001 s."]
    assert report.notes[0].startswith("not checked after that: rollback, reset, determinism, illegal calls: ")


@pytest.mark.parametrize("name", ["ball", "stair", "feedthrough", "slow"])
def test_validation_of_fmus_as_they_should_be(built, name):
    report = fmu_export.validate(built(name))
    assert report.ok, report
    assert report.checks == ["description", "dependencies", "rollback", "reset", "determinism", "illegal calls"]


@pytest.mark.parametrize("name", ["ball", "stair"])
def test_validation_notes_a_legal_end(built, name, tmp_path):
    """Steps so long that the FMU discards one."""
    import zipfile

    with zipfile.ZipFile(built(name)) as old, zipfile.ZipFile(tmp_path / "long.fmu", "w") as new:
        for member in old.namelist():
            new.writestr(member, old.read(member).replace(b'stepSize="0.01"', b'stepSize="3.5"'))
    report = fmu_export.validate(tmp_path / "long.fmu")
    assert report.ok, report
    said = "discarded the step from 0 s at 0.451524 s" if name == "ball" else "ended the run from 7 s at 10 s"
    assert report.notes == [f"the FMU {said}, and was driven up to there."]


def test_limits_of_validation(built):
    with pytest.raises(InputError, match=r"validate: timeout is 0\.0, expected a time > 0"):
        fmu_export.validate(built("slow"), timeout=0.0)
