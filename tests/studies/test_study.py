"""Studies: the same bits wherever members run, failed members as rows, what is kept, tables, messages."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import liegeo as lg
from liegeo.errors import InputError, ModelFileError
from liegeo.studies import Normal, Uniform, study
from liegeo.studies.journal import Journal, MemberRow

sys.path.insert(0, str(Path(__file__).parent))
import members as made

MODEL = Path("models/double_pendulum.yaml")
OUTPUTS = {"height": "max(upper.end.position.z)", "energy": "final(energy)", "speed": "middle.speed"}
OPTIONS = {"t_end": 0.05, "method": "rkmk-4", "step": 1e-3, "output": 0.01}


@pytest.fixture(scope="module")
def double():
    return lg.load(MODEL)


@pytest.fixture(scope="module")
def spread(double):
    vary = {"rod.mass": Uniform("0.5 kg", "1.5 kg"), "rod.length": Normal("1 m", "5 %")}
    return study(double, vary, OUTPUTS, members=12, seed=3, executor="here", **OPTIONS)


def same(one, other):
    """Whether two studies have the same bits."""
    return one.names == other.names and all(one[name].tobytes() == other[name].tobytes() for name in one.names)


def test_each_member_is_the_run_that_one_would_make_by_hand(double, spread):
    for k in (0, 7):
        run = double.changed(spread.design.member(k)).simulate(progress=False, **OPTIONS)
        assert spread["height"][k] == run["upper.end.position.z"].max()
        assert spread["energy"][k] == run["energy"][-1]
        assert spread["speed"][k].tobytes() == run["middle.speed"].tobytes()
    assert spread.finished
    assert not spread.errors
    assert spread.units == {"rod.mass": "kg", "rod.length": "m", "height": "m", "energy": "J", "speed": "rad/s"}


def test_threads_give_the_same_bits(double, spread):
    vary = {"rod.mass": Uniform("0.5 kg", "1.5 kg"), "rod.length": Normal("1 m", "5 %")}
    assert same(spread, study(double, vary, OUTPUTS, members=12, seed=3, executor="threads", workers=2, **OPTIONS))


@pytest.mark.foreign
def test_processes_give_the_same_bits_and_need_no_guard_in_the_script(double, spread):
    vary = {"rod.mass": Uniform("0.5 kg", "1.5 kg"), "rod.length": Normal("1 m", "5 %")}
    assert same(spread, study(double, vary, OUTPUTS, members=12, seed=3, executor="processes", workers=2, **OPTIONS))


def test_a_member_that_fails_is_a_row_with_its_error(double):
    lengths = [1.0, 2.0, 3.0]
    found = study(made.wrong, {"length": lengths}, {"swing": made.swing}, executor="here", t_end=0.02)
    assert found.errors == {1: "RuntimeError: no pendulum is two metres long"}
    assert np.isnan(found["swing"]).tolist() == [False, True, False]
    found = study(double, {"rod.mass": [1.0, -1.0]}, "final(energy)", executor="here", **OPTIONS)
    assert "rod.mass is -1.0, must be ≥ 1 g" in found.errors[1]
    assert found.table["error"].tolist() == ["", found.errors[1]]


def test_measures_are_what_their_names_say(double):
    """Beside NumPy on the samples of the same run."""
    kinds = ("max", "min", "max_abs", "range", "initial", "final", "mean", "rms", "time_of_max", "settling_time")
    outputs = {kind: f"{kind}(middle.speed)" for kind in kinds}
    found = study(double, {"rod.mass": [1.0]}, {**outputs, "wide": "settling_time(middle.speed, 0.5)"}, **OPTIONS)
    run = double.changed({"rod.mass": 1.0}).simulate(progress=False, **OPTIONS)
    t, y = run.t, run["middle.speed"]
    weights = np.zeros(len(t))
    weights[1:] += 0.5 * np.diff(t)
    weights[:-1] += 0.5 * np.diff(t)
    settled = [t[k] for k in range(len(t)) if (np.abs(y[k:] - y[-1]) <= 0.02 * np.abs(y - y[-1]).max()).all()]
    wide = [t[k] for k in range(len(t)) if (np.abs(y[k:] - y[-1]) <= 0.5 * np.abs(y - y[-1]).max()).all()]
    expected = [y.max(), y.min(), np.abs(y).max(), np.ptp(y), y[0], y[-1], weights @ y / t[-1]]
    expected += [np.sqrt(weights @ y**2 / t[-1]), t[y.argmax()], settled[0], wide[0]]
    np.testing.assert_allclose([found[name][0] for name in (*kinds, "wide")], expected, rtol=1e-13)


def test_a_folder_keeps_members_and_forgets_what_was_cut_off(double, spread, tmp_path):
    """Cut after any number of bytes, the study goes on and has the same table; whole rows are not run again."""
    vary = {"rod.mass": Uniform("0.5 kg", "1.5 kg"), "rod.length": Normal("1 m", "5 %")}
    arguments = {"members": 12, "seed": 3, "executor": "here", "folder": tmp_path / "kept", **OPTIONS}
    study(double, vary, OUTPUTS, **arguments)
    log = tmp_path / "kept" / "rows.log"
    whole = log.read_bytes()
    ends = [0, *(k + 1 for k, byte in enumerate(whole) if byte == 10)]
    for cut in (0, 1, ends[3], ends[5] + 9, len(whole) - 1, len(whole)):
        log.write_bytes(whole[:cut])
        assert same(spread, study(double, vary, OUTPUTS, **arguments))
        kept = max(end for end in ends if end <= cut)
        assert log.read_bytes()[:kept] == whole[:kept]
        assert len(log.read_bytes()) == len(whole)
    damaged = bytearray(whole)
    damaged[ends[4] + 20] ^= 1
    log.write_bytes(damaged)
    assert same(spread, study(double, vary, OUTPUTS, **arguments))


def test_a_folder_of_another_study_is_left_alone(double, tmp_path):
    arguments = {"executor": "here", "folder": tmp_path / "kept", **OPTIONS}
    study(double, {"rod.mass": [1.0]}, "final(energy)", **arguments)
    before = (tmp_path / "kept" / "rows.log").read_bytes()
    for vary, outputs, more, what in (
        ({"rod.mass": [2.0]}, "final(energy)", {}, "members"),
        ({"rod.length": [1.0]}, "final(energy)", {}, "parameters"),
        ({"rod.mass": [1.0]}, "max(energy)", {}, "outputs"),
        ({"rod.mass": [1.0]}, "final(energy)", {"t_end": 0.1}, "options"),
    ):
        with pytest.raises(InputError, match=rf"is of another study: {what} differ"):
            study(double, vary, outputs, **{**arguments, **more})
    with pytest.raises(InputError, match="is of another study: model"):
        study(double.changed({"gravity": [0, 0, -5]}), {"rod.mass": [1.0]}, "final(energy)", **arguments)
    assert (tmp_path / "kept" / "rows.log").read_bytes() == before
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="has other files and no study"):
        Journal(tmp_path / "other", {})
    (tmp_path / "kept" / "study.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        study(double, {"rod.mass": [1.0]}, "final(energy)", **arguments)


def test_rows_are_read_back_to_the_bit(tmp_path):
    rows = [
        MemberRow(0, {"a": 0.1 + 0.2, "b": np.array([1e-310, -0.0, np.nan])}),
        MemberRow(1, {"a": np.inf, "b": np.array([])}),
        MemberRow(2, {}, "joint 'ä': no\nway"),
    ]
    journal = Journal(tmp_path / "log", {})
    for row in rows:
        journal.add(row)
    journal.close()
    for row, found in zip(rows, Journal(tmp_path / "log", {}).rows(), strict=True):
        assert (found.member, found.error) == (row.member, row.error)
        for name, value in row.values.items():
            assert np.asarray(found.values[name]).tobytes() == np.asarray(value).tobytes()


def test_tables_in_files_have_what_the_study_has(spread, tmp_path):
    from pyarrow import parquet

    table = parquet.read_table(spread.save(tmp_path / "spread.parquet"))
    assert table.schema.field("height").metadata == {b"unit": b"m"}
    assert table["height"].to_numpy().tobytes() == spread["height"].tobytes()
    assert np.stack(table["speed"].to_numpy()).tobytes() == spread["speed"].tobytes()
    with np.load(spread.save(tmp_path / "spread.npz")) as found:
        assert found["speed"].tobytes() == spread["speed"].tobytes()
        assert found["member"].tolist() == list(range(12))
    lines = spread.save(tmp_path / "spread.csv").read_text().splitlines()
    assert lines[0] == "member,rod.mass,rod.length,height,energy,error"
    assert float(lines[3].split(",")[3]) == spread["height"][2]
    with pytest.raises(InputError, match=r"'.*spread.txt' ends in '.txt', expected one of .csv, .npz, .parquet"):
        spread.save(tmp_path / "spread.txt")


def test_pandas_and_xarray_have_what_the_study_has(spread):
    frame = spread.to_pandas()
    assert frame["height"].to_numpy().tobytes() == spread["height"].tobytes()
    assert frame.index.name == "member"
    data = spread.to_xarray()
    assert data["speed"].dims == ("member", "speed sample")
    assert data["speed"].to_numpy().tobytes() == spread["speed"].tobytes()
    assert data["rod.mass"].attrs == {"units": "kg"}


def test_a_study_prints_and_draws_itself(spread, tmp_path):
    assert repr(spread) == "<study 'double pendulum': 12 members; rod.mass, rod.length → height, energy, speed>"
    assert "<table>" in spread._repr_html_()
    assert spread.summary()["height"]["largest"] == spread["height"].max()
    figure = spread.plot()
    assert len(figure.axes) == 9
    labels = [axis.get_ylabel() for axis in figure.axes]
    assert "height [m]" in labels
    with pytest.raises(InputError, match="'hight' is no output"):
        spread.plot("hight")
    with pytest.raises(InputError, match=r"'hight' is no column, expected one of .*Did you mean 'height'"):
        spread["hight"]


@pytest.mark.parametrize(
    ("vary", "outputs", "options", "message"),
    [
        ({"rod.masss": [1.0]}, "final(energy)", {}, r"rod.masss is no parameter of the file.*mean 'rod.mass'"),
        ({"rod.mass": ["1 m"]}, "final(energy)", {}, r"rod.mass is '1 m', a length, but the file has '1 kg'"),
        ({"rod.mass": [1.0]}, "finl(energy)", {}, r"'finl' is no measure.*Did you mean 'final'"),
        ({"rod.mass": [1.0]}, "max(energy, 3)", {}, r"is 'max\(energy, 3\)', but max takes no further number"),
        ({"rod.mass": [1.0]}, "settling_time(energy, few)", {}, r"expected a number behind the column"),
        ({"rod.mass": [1.0]}, "max(energy", {}, r"is 'max\(energy', expected a measure of a column"),
        ({"rod.mass": [1.0]}, {"e": 3}, {}, r"output 'e' is 3, expected a column"),
        ({"rod.mass": [1.0]}, "max(enrgy)", {}, r"output 'max\(enrgy\)': result: 'enrgy' is neither a column"),
        ({"rod.mass": [1.0]}, "upper.end.position", {}, r"has 3 components; name one, as upper.end.position.x"),
        ({"rod.mass": [1.0]}, {"e": lambda run: "text"}, {}, r"'e': the function returned .*, expected a number"),
        ({"rod.mass": [1.0]}, {}, {}, r"there are no outputs"),
        ({"rod.mass": [1.0]}, {"rod.mass": "final(energy)"}, {}, r"'rod.mass' is a parameter and an output"),
        ({"rod.mass": [1.0]}, "final(energy)", {"executor": "proceses"}, r"executor is 'proceses'.*mean 'processes'"),
        ({"rod.mass": [1.0]}, "final(energy)", {"executor": "dask"}, r"expected executor=\"dask\" with scheduler="),
        ({"rod.mass": [1.0]}, "final(energy)", {"workers": 0}, r"workers is 0, expected a whole number ≥ 1"),
    ],
)
def test_what_cannot_be_run_is_told_before_it_is_run(double, vary, outputs, options, message):
    with pytest.raises((InputError, ModelFileError), match=f"(?s){message}"):
        study(double, vary, outputs, **{**OPTIONS, **options})


def test_functions_that_make_mechanisms(double):
    """A model with its state, a tree, a mechanism and a result will do; something else is refused."""
    ways = {
        "state": made.pendulum,
        "tree": lambda length: made.pendulum(length)[0].tree,
        "mechanism": lambda length: double.changed({"rod.length": length}),
        "result": lambda length: lg.simulate(*made.pendulum(length), t_end=0.02, progress=False),
    }
    for way in ways.values():
        found = study(way, {"length": [1.0, 1.5]}, {"n": lambda run: len(run)}, executor="here", t_end=0.02)
        assert not found.errors
    with pytest.raises(InputError, match="the function returned 3, expected a mechanism"):
        study(lambda length: 3, {"length": [1.0]}, {"n": len})
    with pytest.raises(InputError, match=r"'rod.length' is no name of an argument"):
        study(made.pendulum, {"rod.length": [1.0]}, {"n": len})
    with pytest.raises(InputError, match=r"source is 3, expected a mechanism from a model file"):
        study(3, {"length": [1.0]}, {"n": len})
    with pytest.raises(InputError, match="cannot be sent to other processes"):
        study(ways["tree"], {"length": [1.0] * 4}, {"n": len}, executor="processes", t_end=0.02)


def test_outputs_of_different_lengths_are_an_error_of_their_member():
    lengths = iter([3, 4, 3])
    found = study(made.pendulum, {"length": [1.0, 2.0, 3.0]}, {"t": lambda run: run.t[: next(lengths)]}, t_end=0.02)
    assert found.errors == {1: "output 't' has 4 samples, and 3 in other members"}
    kinds = iter([1.0, [1.0, 2.0], 3.0])
    found = study(made.pendulum, {"length": [1.0, 2.0, 3.0]}, {"t": lambda run: next(kinds)}, t_end=0.02)
    assert found.errors == {1: "output 't' has 2 numbers, and one in other members"}


def test_a_payload_that_changes_leaves_the_flexible_bodies():
    arm = lg.load("models/flexible_arm.yaml")
    other = arm.changed({"payload.mass": "1 kg"})
    kept = [a is b for a, b in zip(arm.tree.bodies, other.tree.bodies, strict=True) if isinstance(a, lg.FlexibleBody)]
    assert kept
    assert all(kept)
    longer = arm.changed({"upper.length": "0.9 m"})
    names = [body.name for body, new in zip(arm.tree.bodies, longer.tree.bodies, strict=True) if body is new]
    assert "upper" not in names
    assert "lower" in names


@pytest.mark.foreign
def test_a_member_that_ends_its_process_is_a_row(monkeypatch, tmp_path):
    """It ends three, each of which took others with it, and these are run all the same."""
    lengths = [1.0, 1.1, 1.2, 3.0, 1.3, 1.4]
    found = study(made.deadly, {"length": lengths}, {"swing": made.swing}, executor="processes", workers=2, t_end=0.02)
    assert found.errors == {3: "the process that ran it ended 3 times, without an error of its own"}
    assert np.isfinite(found["swing"]).sum() == 5
    monkeypatch.setenv("LIEGEO_TEST_MARK", str(tmp_path / "mark"))
    found = study(made.deadly_once, {"length": lengths}, {"swing": made.swing}, executor="processes", t_end=0.02)
    assert (tmp_path / "mark").exists()
    assert not found.errors
