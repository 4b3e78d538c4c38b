"""A wheel that carries the library of native FMUs: who installs it builds FMUs without a compiler."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from fmu_export.native import library as native
from liegeo.errors import InputError

ROOT = Path(__file__).parents[2]

_BUILD = """
import importlib.util, sys
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "ziglang" else real(name, *rest)
import fmu_export, fmu_export.native.library as native
assert native.__file__.startswith(sys.argv[1]), native.__file__
def compiled(*anything):
    raise SystemExit("it was compiled")
native._link = compiled
fmu_export.build(sys.argv[2], sys.argv[3], native=True, platforms=["linux64"])
"""


@pytest.fixture
def tool(monkeypatch):
    """tools/build/native.py, as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "tools/build"))
    sys.modules.pop("native", None)
    import native as tool

    yield tool
    sys.modules.pop("native", None)


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    """Libraries that come with liegeo are looked for in a folder of the test's, and nothing is compiled."""
    monkeypatch.setattr(native, "SHIPPED", tmp_path)
    monkeypatch.setattr(native, "private_file", lambda path, content=None: None)
    monkeypatch.setattr(native, "_link", lambda target, progress: b"made now")
    return tmp_path


def test_a_library_that_comes_with_liegeo_is_taken(elsewhere):
    assert native.library("linux64") == b"made now"
    (elsewhere / native.shipped_name("linux64")).write_bytes(b"shipped")
    assert native.library("linux64") == b"shipped"
    assert native.library("win64") == b"made now"


def test_one_of_other_sources_is_not(elsewhere, monkeypatch):
    (elsewhere / native.shipped_name("linux64")).write_bytes(b"shipped")
    for name, changed in (("header", lambda: "other"), ("source_stamp", lambda module: "other"), ("STAMP", "other")):
        with monkeypatch.context() as patch:
            patch.setattr(native, name, changed)
            assert native.library("linux64") == b"made now"
    # another Numba compiles other code, but the library fits
    with monkeypatch.context() as patch:
        patch.setattr(native.importlib.metadata, "version", lambda package: "other")
        assert native.library("linux64") == b"shipped"


def test_the_tool_takes_away_libraries_of_other_sources(tool, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(tool, "library", lambda name, progress: progress(1, 1) or name.encode())
    (tmp_path / "linux64-0123.so").write_bytes(b"old")
    kept = tmp_path / native.shipped_name("win64")
    kept.write_bytes(b"of these sources")
    assert tool.make_libraries(["linux64"], tmp_path) == [tmp_path / native.shipped_name("linux64")]
    assert sorted(tmp_path.iterdir()) == sorted([kept, tmp_path / native.shipped_name("linux64")])
    assert "linux64: 1 of 1" in capsys.readouterr().out


def test_the_tool_says_what_is_missing(tool, monkeypatch):
    def refused(platforms):
        raise InputError("native FMU: the Python package ziglang is not installed.")

    monkeypatch.setattr(tool, "make_libraries", refused)
    with pytest.raises(SystemExit, match="ziglang is not installed"):
        tool.main(["--platform", "linux64"])


@pytest.mark.foreign
def test_an_installed_wheel_builds_without_a_compiler(tool, tmp_path):
    """The wheel is made of a copy, so that these sources stay as they are."""
    name = native.shipped_name("linux64")
    content = native.library("linux64")
    copy = tmp_path / "sources"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for each in filter(None, listed.decode().split("\0")):
        if (ROOT / each).is_file():
            (copy / each).parent.mkdir(parents=True, exist_ok=True)
            (copy / each).write_bytes((ROOT / each).read_bytes())
    (copy / "fmu_export/native/libraries").mkdir()
    (copy / "fmu_export/native/libraries" / name).write_bytes(content)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path / "dist"), str(copy)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").iterdir()
    # libraries are data: the wheel is for every platform
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read(f"fmu_export/native/libraries/{name}") == content
        archive.extractall(tmp_path / "site")
    made = tmp_path / "x.fmu"
    command = [
        sys.executable,
        "-c",
        _BUILD,
        str(tmp_path / "site"),
        str(ROOT / "models/double_pendulum.yaml"),
        str(made),
    ]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(made) as archive:
        assert archive.read("binaries/linux64/double_pendulum.so") == content
