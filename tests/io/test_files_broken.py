"""Broken model files: each gives the message a person needs, soon, in little memory, and nothing is run or read.

Beside each file stands what is said about it.  These texts were read one by one: whoever changes one reads it again.
"""

from __future__ import annotations

import os
import sys
import time
import tracemalloc
from pathlib import Path

import pytest

import liegeo as lg
from liegeo.errors import ModelFileError

FOLDER = Path(__file__).parent / "broken"
FILES = sorted(FOLDER.glob("*.yaml"))
SECONDS, BYTES = 2.0, 60_000_000
# What no model file may lead to.
FORBIDDEN = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "socket.connect",
    "exec",
    "compile",
)

_events: list[tuple[str, object]] | None = None


def _listen(event, arguments):
    if _events is not None and (event in FORBIDDEN or event == "open"):
        _events.append((event, arguments[0] if arguments else None))


sys.addaudithook(_listen)


@pytest.fixture(scope="module", autouse=True)
def _everything_is_imported():
    """All once before: what is loaded when it is first needed opens and runs files of Python, and kernels."""
    lg.load(Path(__file__).parents[2] / "models/flexible_arm.yaml")
    for file in FILES:
        with pytest.raises(ModelFileError):
            lg.load(file)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_broken_file_says_what_to_do(path):
    global _events
    tracemalloc.start()
    began = time.perf_counter()
    _events = []
    try:
        with pytest.raises(ModelFileError) as caught:
            lg.load(path)
    finally:
        events, _events = _events, None
        took, (_, peak) = time.perf_counter() - began, tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert f"{caught.value}\n" == path.with_suffix(".txt").read_text("utf-8")
    assert took < SECONDS
    assert peak < BYTES
    for event, what in events:
        assert event == "open", (event, what)
        assert Path(os.fsdecode(what)).resolve().is_relative_to(FOLDER), f"{what} was opened"
    assert not list(FOLDER.glob("executed*"))
    assert not Path("executed").exists()


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_every_problem_has_a_place_in_the_file(path):
    with pytest.raises(ModelFileError) as caught:
        lg.load(path)
    lines = path.read_bytes().splitlines() or [b""]
    for problem in caught.value.problems:
        assert problem.file == path.name
        assert 1 <= problem.line <= len(lines)
        assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1
        assert problem.message.rstrip()[-1] in ".?"


def test_there_are_no_texts_without_a_file():
    assert {p.stem for p in FOLDER.glob("*.txt")} == {p.stem for p in FILES}


BODY = (
    "liegeo: 1\nbodies:\n  arm: {{kind: sid, file: {}}}\njoints:\n  base: {{kind: free, parent: world, child: arm}}\n"
)


def test_a_link_does_not_lead_out_of_the_folder(tmp_path):
    (tmp_path / "secret.sid").write_text("secret\n", "utf-8")
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "link.sid").symlink_to(tmp_path / "secret.sid")
    (folder / "folder").symlink_to(tmp_path)
    for name in ("link.sid", "folder/secret.sid"):
        file = folder / "arm.yaml"
        file.write_text(BODY.format(name), "utf-8")
        with pytest.raises(ModelFileError, match="which leads out of the folder of the model; copy the file into it"):
            lg.load(file)


def test_an_include_does_not_lead_out_of_the_folder(tmp_path):
    (tmp_path / "secret.bdf").write_text("GRID,1,,0.,0.,0.\n", "utf-8")
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "plate.bdf").write_text("INCLUDE '../secret.bdf'\n", "utf-8")
    file = folder / "plate.yaml"
    text = "liegeo: 1\nbodies:\n  plate: {kind: fe, file: plate.bdf, modes: {count: 1}}\n"
    file.write_text(text + "joints:\n  base: {kind: free, parent: world, child: plate}\n", "utf-8")
    with pytest.raises(ModelFileError, match="is not in the folder of the model, from which alone files are read"):
        lg.load(file)


def test_other_files_of_a_reader_stay_in_the_folder_too(tmp_path):
    file = tmp_path / "plate.yaml"
    (tmp_path / "k.mtx").write_text("%%MatrixMarket matrix coordinate real symmetric\n", "utf-8")
    text = "liegeo: 1\nbodies:\n  plate:\n    kind: fe\n    file: k.mtx\n    modes: {count: 1}\n"
    text += "    options: {mass: /etc/passwd, nodes: ../x.csv}\n"
    file.write_text(text + "joints:\n  base: {kind: free, parent: world, child: plate}\n", "utf-8")
    with pytest.raises(ModelFileError, match=r"options.mass is '/etc/passwd', expected a file in the folder"):
        lg.load(file)


def test_files_that_are_not_there_or_too_large(tmp_path, monkeypatch):
    with pytest.raises(ModelFileError, match=r"nowhere\.yaml: cannot be read: No such file or directory"):
        lg.load(tmp_path / "nowhere.yaml")
    file = tmp_path / "large.yaml"
    file.write_text("liegeo: 1\n", "utf-8")
    monkeypatch.setattr("liegeo.io.source.LARGEST", 5)
    with pytest.raises(
        ModelFileError, match="the file has 10 bytes, expected at most 5; put large data into FE or SID"
    ):
        lg.load(file)
