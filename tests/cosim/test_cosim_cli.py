"""`liegeo cosim` and `liegeo fmu run`, as a person types them."""

from __future__ import annotations

from pathlib import Path

import cosim_fixtures
import numpy as np
import pytest
import test_cli
from fmu.fmus import PENDULUM, mechanism_fmu

import fmu_export
from fmu_export.cosim import FMU, CosimSystem, load_system, master
from liegeo import cli, read_table
from liegeo.results import read_units

built = cosim_fixtures.built
folder = cosim_fixtures.folder
liegeo = test_cli.liegeo
MODELS = Path(__file__).parents[2] / "models"

LOOP = """\
cosim: 2
name: loop
fmus:
  plant: {fmu: mass.fmu, start: {x0: 0.1}}
  control: {fmu: pd_mm.fmu, start: {r: 500, kp: 0.008}}
connections: [plant.x -> control.y, plant.v -> control.v, control.u -> plant.force]
experiment: {end: 1 s, step: 20 ms}
"""


@pytest.fixture
def loop(folder, liegeo):
    return folder(LOOP, "mass", "pd_mm")


@pytest.mark.parametrize(
    ("typed", "options"),
    [
        ((), {}),
        (("--algorithm", "gauss-seidel"), {"algorithm": "gauss-seidel"}),
        (("--extrapolation", "linear", "--step", "10 ms"), {"extrapolation": "linear", "step": 0.01}),
        (("--iterations", "2", "--end", "500 ms"), {"iterations": 2, "end": 0.5}),
        (("--tolerance", "1e-2"), {"tolerance": 1e-2}),
        (("--set", "control.r=0.3 m", "--set", "plant.x0=20 cm"), {"set": {"control.r": 300.0, "plant.x0": 0.2}}),
        (("--set", "control.r=300"), {"set": {"control.r": 300.0}}),
    ],
)
def test_what_is_typed_is_what_runs(liegeo, loop, tmp_path, typed, options):
    code, out, err = liegeo("cosim", "system.yaml", "-o", "run.npz", *typed)
    assert (code, err) == (0, "")
    expected = load_system(loop).simulate(**options)
    np.testing.assert_array_equal(read_table(tmp_path / "run.npz"), expected.table)
    assert out.startswith(f"loop: {len(expected)} points to t = {expected.t[-1]:.6g} s, 4 columns\n")


def test_how_it_went_is_told(liegeo, loop, tmp_path):
    loop.write_text(LOOP.replace("20 ms}", "20 ms, events: [222 ms, {when: plant.x, crosses: 0.2, stop: true}]}"))
    options = "--algorithm", "gauss-seidel", "--iterations", "2", "--plot", "loop.png", "-c", "plant.*"
    code, out, _ = liegeo("cosim", "system.yaml", *options)
    assert code == 0
    assert "  gauss-seidel (plant, control): " in out
    assert "repetitions of steps, the last changed " in out
    assert "  events: instant at 0.222 s, crossing plant.x at 0.3" in out
    assert "'plant.x' reached 0.2 at t = 0.3" in out
    assert out.endswith("wrote system.csv\nwrote loop.png\n")
    assert (tmp_path / "loop.png").stat().st_size > 5000
    assert "relative error by Richardson: 0.00" in liegeo("cosim", "system.yaml", "--tolerance", "1e-2")[1]
    loop.write_text(LOOP)
    assert liegeo("cosim", "system.yaml", "-q") == (0, "", "")


def test_an_archive_for_other_masters(liegeo, loop, tmp_path):
    typed = "--step", "10 ms", "--algorithm", "gauss-seidel", "--set", "plant.x0=50 mm"
    assert liegeo("cosim", "system.yaml", "--save", "loop.ssp", *typed) == (0, "wrote loop.ssp\n", "")
    assert not (tmp_path / "system.csv").exists()
    assert (
        liegeo("cosim", "loop.ssp", "-q", "-o", "a.npz")[0] == liegeo("cosim", "system.yaml", "-o", "b.npz", *typed)[0]
    )
    np.testing.assert_array_equal(read_table(tmp_path / "a.npz"), read_table(tmp_path / "b.npz"))


def test_what_there_is_is_kept_where_a_run_fails(liegeo, folder, tmp_path):
    folder("cosim: 1\nfmus: {c: {fmu: clock.fmu, start: {broken: 0.42}}}\nexperiment: {step: 0.1}\n", "clock")
    code, out, err = liegeo("cosim", "system.yaml")
    assert code == 3
    assert "wrote system.csv" in out
    # once, and not where in the FMU it came from
    assert (out + err).count("the clock is broken") == 1
    assert "ended with status error. It said: the clock is broken." in err
    assert "Traceback" not in err
    assert read_table(tmp_path / "system.csv")["time"][-1] == pytest.approx(0.4)


def test_warnings_of_fmus_are_shown(liegeo, folder):
    folder("cosim: 1\nfmus: {c: {fmu: clock.fmu, start: {last: 0.42}}}\nexperiment: {step: 0.1}\n", "clock")
    code, out, err = liegeo("cosim", "system.yaml")
    assert (code, err) == (0, "c: [logStatusDiscard] that was the last tick\n")
    assert "ended by FMU 'c' at t = 0.42 s. It said: that was the last tick." in out
    # not all of them
    code, _, err = liegeo("cosim", "system.yaml", "--set", "c.stuck=0.33", "--step", "100 ms")
    assert code == 3
    assert err.count("c: [logStatusDiscard] out of springs\n") == 10
    assert "… and more warnings\nError: " in err


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("--set", "plant.x0=1 kg"), "--set plant.x0 is '1 kg', which is a mass, expected something in 'm'"),
        (("--set", "plant.x00=1"), "fmus.plant.start.x00 is no variable of 'mass.fmu'. Did you mean 'x0'?"),
        (("--set", "plan.x0=1"), "set: names 'plan.x0', but there is no FMU 'plan'. Did you mean 'plant'?"),
        (("--extrapolation", "cubic"), "extrapolation is 'cubic', expected hold or linear"),
        (("--iterations", "-1"), "iterations is -1, expected how often a step is repeated"),
        (("--tolerance", "0"), "tolerance is 0, must be > 0"),
        (("--save", "loop.zip"), "'loop.zip' ends in '.zip', expected one of .yaml, .yml, .ssp"),
        (("-o", "nix/run.csv"), "--to: cannot write nix/run.csv: there is no folder nix. Create it first."),
        (("-c", "nix", "--plot", "p.png"), "--column: no column matches 'nix'. There are: plant.x, plant.v, "),
        (("-o", "run.xls"), "--to: run.xls ends in '.xls', expected one of .csv, .npz, .parquet"),
    ],
)
def test_what_cannot_be_is_told_before_anything_runs(liegeo, loop, tmp_path, monkeypatch, typed, said):
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(master.Master, "run", lambda *_, **__: pytest.fail("it runs"))
    code, out, err = liegeo("cosim", "system.yaml", *typed)
    assert (code, out) == (1, "")
    assert err.startswith("Error: ")
    assert said in err
    assert sorted(tmp_path.iterdir()) == before


def test_values_are_in_the_units_of_their_variables(liegeo, tmp_path):
    """A length that the FMU has in millimetres, a moment in kN·m, a word, and what is no length."""
    text = "fmu: {parameters: {length: {unit: mm}}, inputs: {motor: {unit: kN*m}}}\n"
    fmu = mechanism_fmu(tmp_path, "swing", PENDULUM + text)
    given = "--set", "length=0.5 m", "--set", "integrator.method=rkmk-3", "--input", "motor.input=3 N*m"
    code, _, err = liegeo("fmu", "run", "swing.fmu", "--end", "0.2", "-o", "run.npz", *given)
    assert (code, err) == (0, "")
    values = {"length": 500.0, "integrator.method": "rkmk-3"}
    expected = fmu_export.run(fmu, 0.2, values=values, inputs={"motor.input": 0.003})
    np.testing.assert_array_equal(read_table(tmp_path / "run.npz"), expected)
    code, _, err = liegeo("fmu", "run", "swing.fmu", "--set", "length=3 kg")
    assert code == 1
    assert "--set length is '3 kg', which is a mass, expected something in 'mm'" in err
    # without an end of its own a run ends where the FMUs' experiment does
    (tmp_path / "alone.yaml").write_text("cosim: 1\nfmus: {swing: {fmu: swing.fmu}}\n")
    assert liegeo("cosim", "alone.yaml")[1].startswith("alone: 201 points to t = 2 s, ")
    assert "is no input of the FMU" in liegeo("fmu", "run", "swing.fmu", "--input", "moter.input=1")[2]


def test_units_of_columns_are_in_every_kind_of_file(liegeo, tmp_path):
    """Degrees read back as degrees; a unit that the name says already does not stand in CSV."""
    outputs = "{hinge.angle: {unit: deg}, hinge.speed: {unit: deg/s}, hinge.acceleration: }"
    mechanism_fmu(tmp_path, "swing", PENDULUM + f"fmu: {{outputs: {outputs}}}\n")
    expected = {"time": "s", "hinge.angle": "deg", "hinge.speed": "deg/s"}
    for file in ("r.csv", "r.npz", "r.parquet"):
        assert liegeo("fmu", "run", "swing.fmu", "--end", "0.02", "-o", file)[0] == 0
        found = read_units(tmp_path / file)
        assert {name: found[name] for name in expected} == expected
    first = (tmp_path / "r.csv").read_text().splitlines()[0]
    assert first == "time,hinge.angle [deg],hinge.speed [deg/s],hinge.acceleration"
    result = CosimSystem({"a": FMU(tmp_path / "swing.fmu")}).simulate(0.02)
    assert read_units(result.to_csv(tmp_path / "c.csv"))["a.hinge.angle"] == "deg"


def test_parameters_keep_the_radian_and_take_the_units_of_their_keys(liegeo, tmp_path):
    """What mixes up turns and radians is refused; a mass that the file has as a plain number takes grams."""
    text = PENDULUM.replace("30 deg", "$(ang)").replace("0.1 N*m*s/rad", "0.1")
    text = text.replace("com: [0, 0,", "com: [0, $(side),").replace(
        "parameters:\n",
        "parameters:\n  ang: 30 deg\n  w: 10 rad/s\n  k: 3 N*m/rad\n  f: 5 Hz\n  v: $(w * length)\n  side: 0\n",
    )
    asked = "{ang: , w: , k: , f: , v: , side: , bodies.rod.inertia: , joints.hinge.damping: , experiment.step: }"
    fmu = mechanism_fmu(tmp_path, "swing", text + f"fmu: {{parameters: {asked}}}\n")
    found = {name: unit for name, unit, *_ in fmu_export.info(fmu).variables["parameter"]}
    expected = {"ang": "rad", "w": "rad/s", "k": "N.m/rad", "f": "Hz", "v": "m/s", "side": "m"}
    expected |= {"bodies.rod.inertia[0]": "kg.m2", "joints.hinge.damping": "N.m.s/rad", "experiment.step": "s"}
    assert {name: found[name] for name in expected} == expected
    run = "fmu", "run", "swing.fmu", "--end", "0.02", "-o", "r.csv", "--set"
    for wrong in ("w=5 Hz", "f=5 rad/s"):
        code, _, err = liegeo(*run, wrong)
        assert (code, "mixes up turns and radians" in err) == (1, True)
    assert liegeo(*run, "bodies.rod.inertia[0]=150 kg*cm^2")[0] == 0
    assert liegeo(*run, "ang=90 deg")[0] == 0
    assert read_table(tmp_path / "r.csv")["hinge.angle"][0] == pytest.approx(np.pi / 2)


def test_a_run_begins_where_its_fmus_do(liegeo, tmp_path):
    """As `fmu run` does; FMUs that begin at different times leave it to the file."""
    text = PENDULUM.replace("end: 2 s", "start: 2 s, end: 2.1 s")
    mechanism_fmu(tmp_path, "late", text)
    mechanism_fmu(tmp_path, "early", PENDULUM)
    (tmp_path / "one.yaml").write_text("cosim: 1\nfmus: {a: {fmu: late.fmu}, b: {fmu: late.fmu}}\n")
    assert liegeo("cosim", "one.yaml")[0] == 0
    assert liegeo("fmu", "run", "late.fmu")[0] == 0
    times = read_table(tmp_path / "one.csv")["time"]
    np.testing.assert_allclose(times, read_table(tmp_path / "late.csv")["time"], rtol=1e-12)
    assert (times[0], times[-1], len(times)) == (2.0, 2.1, 11)
    both = "cosim: 1\nfmus: {a: {fmu: late.fmu}, b: {fmu: early.fmu}}\nexperiment: {step: 10 ms}\n"
    (tmp_path / "two.yaml").write_text(both)
    code, _, err = liegeo("cosim", "two.yaml")
    assert code == 1
    assert "is not given, and the FMUs begin at different times: a at 2 s, b at 0 s; give one." in err
    (tmp_path / "two.yaml").write_text(both.replace("{step", "{start: 2 s, end: 2.05 s, step"))
    assert liegeo("cosim", "two.yaml")[0] == 0
    assert read_table(tmp_path / "two.csv")["time"][0] == 2.0


def test_no_fmu_runs_without_a_folder_for_its_results(liegeo, tmp_path, monkeypatch):
    mechanism_fmu(tmp_path, "swing")
    monkeypatch.setattr(fmu_export, "run", lambda *_, **__: pytest.fail("it runs"))
    code, _, err = liegeo("fmu", "run", "swing.fmu", "-o", "nix/run.csv")
    assert (code, err) == (1, "Error: --to: cannot write nix/run.csv: there is no folder nix. Create it first.\n")


def test_what_there_is_is_kept_where_an_fmu_fails(liegeo, tmp_path):
    """Explicit steps that are too long for so much damping: the state overflows."""
    mechanism_fmu(tmp_path, "stiff", PENDULUM.replace("0.1 N*m*s/rad", "1e6 N*m*s/rad"), step=0.01)
    code, out, err = liegeo("fmu", "run", "stiff.fmu", "--interval", "10 ms")
    assert (code, out) == (3, "wrote stiff.csv\n")
    assert err.startswith("Error: FMU 'pendulum': the step from ")
    assert "is discarded: at t = " in err
    assert "Traceback" not in err
    assert 1 <= len(read_table(tmp_path / "stiff.csv")) < 201


def test_the_example_of_the_help(liegeo, tmp_path):
    """With the FMU that the example of `fmu build` makes, for a shorter time."""
    words = cli.fmu_run.__doc__.split("Example:")[1].split()
    fmu_export.build(MODELS / "flexible_arm.yaml", tmp_path / "arm.fmu")
    assert words[:4] == ["liegeo", "fmu", "run", "arm.fmu"]
    assert liegeo(*words[1:], "--end", "0.02")[::2] == (0, "")


def test_truth_values_whole_numbers_and_words(liegeo, folder, tmp_path):
    folder("cosim: 1\nfmus: {s: {fmu: sink.fmu}}\noutputs: ['*', s.n]\nexperiment: {end: 0.1, step: 0.1}\n", "sink")
    typed = "--set", "s.n=7", "--set", "s.flag=true", "--set", "s.text=word"
    assert liegeo("cosim", "system.yaml", *typed)[0] == 0
    table = read_table(tmp_path / "system.csv")
    assert (table["s.n"][0], table["s.sum"][0]) == (7.0, 107.0)
    for wrong, said in (("s.n=seven", "is 'seven', expected a whole number"), ("s.flag=yes", "expected true or false")):
        assert said in liegeo("cosim", "system.yaml", "--set", wrong)[2]
