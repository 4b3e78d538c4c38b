"""Tables in files: read back exactly, by us and by others; and a write that fails changes nothing."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import sys
import tempfile
from pathlib import Path

import fmpy.util
import numpy as np
import pytest
import runs

import liegeo as lg
from liegeo import model as lm
from liegeo.errors import InputError
from liegeo.model.names import implied_unit
from liegeo.results import RunInfo, read_table, read_units, tables


@pytest.fixture(scope="module")
def pendulum():
    return runs.pendulum(n=31)


def same(a, b):
    return a.dtype == b.dtype and np.array_equal(a, b)


@pytest.mark.parametrize("suffix", tables.SUFFIXES)
@pytest.mark.parametrize("names", [None, "*.angle", ["energy", "bob.tip.position"]], ids=["table", "one", "several"])
def test_files_read_back_exactly(pendulum, tmp_path, suffix, names):
    path = pendulum.to(tmp_path / f"run{suffix}", names)
    expected = pendulum.table if names is None else pendulum.select(*([names] if isinstance(names, str) else names))
    assert path == tmp_path / f"run{suffix}"
    assert same(read_table(path), expected)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_every_column_survives_every_format(tmp_path):
    tree = runs.uniform(runs.every_joint(), n=3, step=0.1)
    for suffix in tables.SUFFIXES:
        assert same(read_table(tree.to(tmp_path / f"run{suffix}")), tree.table)


def test_numbers_that_are_hard_to_write(pendulum, tmp_path):
    q = np.array([0.1, -0.0, 5e-324, 1.7976931348623157e308, 1 / 3, np.nan, np.inf])[:, np.newaxis]
    result = runs.run(pendulum.model, np.arange(7.0), q, q)
    for suffix in tables.SUFFIXES:
        read = read_table(result.to(tmp_path / f"run{suffix}"))
        assert read["hinge.angle"].tobytes() == q.tobytes()


def test_csv_for_numpy_and_fmpy(pendulum, tmp_path):
    path = pendulum.to_csv(tmp_path / "run.csv")
    assert path.read_text(encoding="utf-8").splitlines()[0] == "time,hinge.angle,hinge.speed,motor.input"
    by_numpy = np.genfromtxt(path, delimiter=",", names=True, deletechars="")
    assert same(by_numpy, pendulum.table)
    assert same(fmpy.util.read_csv(path), pendulum.table)
    assert np.array_equal(fmpy.util.read_csv(path, ["motor.input"])["motor.input"], pendulum["motor.input"])
    fmpy.util.write_csv(tmp_path / "theirs.csv", pendulum.table)
    assert same(read_table(tmp_path / "theirs.csv"), pendulum.table)


def test_npz_holds_the_trajectory_and_how_it_came_about(pendulum, tmp_path):
    info = RunInfo("rkmk-54", 10, 1, 0.25, False, "the hinge broke", events=(object(),))
    result = dataclasses.replace(pendulum, info=info)
    with np.load(result.to_npz(tmp_path / "run.npz", "energy"), allow_pickle=False) as archive:
        assert archive.files == ["time", "energy", "t", "q", "v", "u", "meta"]
        for name in "tqvu":
            assert np.array_equal(archive[name], getattr(pendulum, name))
        meta = json.loads(str(archive["meta"]))
    assert meta == {
        "model": "pendulum",
        "method": "rkmk-54",
        "steps": 10,
        "rejected": 1,
        "seconds": 0.25,
        "finished": False,
        "message": "the hinge broke",
        "energy": None,
        "local_errors": None,
        "accuracy": None,
        "newton": None,
        "happened": [],
        "units": {"time": "s", "energy": "J"},
        "columns": ["time", "energy"],
    }


def test_parquet_holds_units(pendulum, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    schema = parquet.read_schema(pendulum.to_parquet(tmp_path / "run.parquet"))
    assert schema.field("hinge.speed").metadata == {b"unit": b"rad/s"}
    assert json.loads(schema.metadata[b"liegeo"])["model"] == "pendulum"


def test_without_pyarrow(pendulum, tmp_path, monkeypatch):
    path = pendulum.to_parquet(tmp_path / "run.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        InputError, match=r"to_parquet: Parquet files need pyarrow.*\n  Install it with: pip install pyarrow"
    ):
        pendulum.to(path)
    with pytest.raises(InputError, match="read_table: Parquet files need pyarrow"):
        read_table(path)


def test_names_that_csv_cannot_hold(tmp_path):
    body = lg.Body("b", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model = lg.Tree([body], [lm.Revolute(name="left, right", parent="world", child="b")]).compile()
    result = runs.run(model, np.zeros(1), np.zeros((1, 1)), np.zeros((1, 1)))
    with pytest.raises(InputError, match=r"to_csv: the name 'left, right\.angle' has a comma"):
        result.to_csv(tmp_path / "run.csv")
    assert same(read_table(result.to_npz(tmp_path / "run.npz")), result.table)


def test_files_that_are_no_tables(tmp_path):
    with pytest.raises(InputError, match=r"to: run\.xlsx ends in '\.xlsx', expected one of \.csv, \.npz, \.parquet"):
        runs.pendulum(n=2).to(tmp_path / "run.xlsx")
    with pytest.raises(InputError, match=r"read_table: run\.txt ends in '\.txt'"):
        read_table("run.txt")
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv")
    for suffix in tables.SUFFIXES:
        (tmp_path / f"bad{suffix}").write_text("time,angle\n0.0,one\n", encoding="utf-8")
        with pytest.raises(InputError, match=rf"bad\{suffix} is not a table in {suffix[1:]} format"):
            read_table(tmp_path / f"bad{suffix}")
    (tmp_path / "short.csv").write_text("time,angle\n0.0,1.0\n2.0\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"short\.csv, row 2 has 1 numbers, expected 2"):
        read_table(tmp_path / "short.csv")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(InputError, match=r"other\.npz has no entry 'meta', so liegeo did not write it"):
        read_table(tmp_path / "other.npz")


# ---- writes that fail


@contextlib.contextmanager
def full_disk(size):
    """No file of this process may grow beyond `size` bytes."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


@pytest.mark.parametrize("suffix", tables.SUFFIXES)
def test_a_disk_that_is_full_halfway_leaves_the_old_file(tmp_path, suffix):
    result = runs.pendulum(n=3000)
    path = result.to(tmp_path / f"run{suffix}", "hinge.angle")
    old = path.read_bytes()
    with full_disk(20_000), pytest.raises(OSError, match=rf"cannot write: File too large: '.*run\{suffix}'"):
        result.to(path, "*")
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_exception_halfway_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "run.csv"
    path.write_text("old", encoding="utf-8")

    def write(file):
        file.write(b"half")
        raise error("stop")

    with pytest.raises(error, match="stop"):
        tables.write_whole(path, write)
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_does_not_exist(pendulum, tmp_path):
    with pytest.raises(InputError, match=r"cannot write .*run\.csv: there is no folder .*nowhere\. Create it first"):
        pendulum.to_csv(tmp_path / "nowhere" / "run.csv")
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"there is no folder .*file\. Create it first"):
        pendulum.to_csv(tmp_path / "file" / "run.csv")


def test_a_folder_where_the_file_should_be(pendulum, tmp_path):
    (tmp_path / "run.csv").mkdir()
    with pytest.raises(IsADirectoryError, match=r"cannot write: Is a directory: '.*run\.csv'"):
        pendulum.to_csv(tmp_path / "run.csv")
    assert [file.name for file in tmp_path.iterdir()] == ["run.csv"]


@pytest.mark.skipif(sys.platform == "win32", reason="rights work differently")
def test_a_folder_that_cannot_be_written(pendulum):
    # Not tmp_path, which is closed to everybody else: root may write anywhere, so it tries as somebody else.
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        if root:
            os.seteuid(65534)
        try:
            with pytest.raises(PermissionError, match=r"cannot write: Permission denied: '.*run\.csv'"):
                pendulum.to_csv(Path(folder) / "run.csv")
        finally:
            if root:
                os.seteuid(0)
            Path(folder).chmod(0o755)
        assert list(Path(folder).iterdir()) == []


def test_files_have_the_usual_rights(pendulum, tmp_path):
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    assert pendulum.to_csv(tmp_path / "run.csv").stat().st_mode == ordinary.stat().st_mode


@pytest.mark.parametrize("suffix", tables.SUFFIXES)
def test_units_are_read_back(pendulum, tmp_path, suffix):
    file = pendulum.to(tmp_path / f"run{suffix}", ["hinge.angle", "hinge.speed", "energy", "bob.tip.velocity"])
    assert read_units(file) == {
        "time": "s", "hinge.angle": "rad", "hinge.speed": "rad/s", "energy": "J", "bob.tip.velocity.x": "m/s",
        "bob.tip.velocity.y": "m/s", "bob.tip.velocity.z": "m/s",
    }  # fmt: skip


def test_csv_says_units_that_are_not_what_a_name_says(pendulum, tmp_path):
    table = pendulum.select("hinge.angle")
    file = tables.write_table(tmp_path / "a.csv", table, {"time": "s", "hinge.angle": "deg"})
    assert file.read_text().splitlines()[0] == "time,hinge.angle [deg]"
    assert same(read_table(file), table)
    assert read_units(file) == {"time": "s", "hinge.angle": "deg"}
    file = tables.convert_table(file, tmp_path / "b.npz")
    assert read_units(file)["hinge.angle"] == "deg"


@pytest.mark.parametrize("name", [path.stem for path in (Path(__file__).parents[2] / "models").glob("*.yaml")])
def test_what_a_name_says_of_its_unit_is_true(name):
    model = lg.load(Path(__file__).parents[2] / "models" / f"{name}.yaml").compile()
    names = model.names
    for columns in (names.table, names.more):
        for column in columns.values():
            assert implied_unit(column.name, columns) in ("", column.unit), column.name
    assert implied_unit("slide.speed", ["slide.position"]) == "m/s"
    assert implied_unit("slide.speed", []) == ""
    assert implied_unit("motor.input", ["motor.input"]) == ""
