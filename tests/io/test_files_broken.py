"""Broken model files: each gives the message a person needs, soon, in little memory, and nothing is run or read.

Beside each file stands what is said about it.  These texts were read one by one: whoever changes one reads it again.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
import tracemalloc
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import liegeo as lg
from liegeo.errors import ModelFileError
from liegeo.io import source

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
    said = str(caught.value).replace(str(path), path.name)
    assert f"{said}\n" == path.with_suffix(".txt").read_text("utf-8")
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
        assert problem.file == str(path)
        assert 1 <= problem.line <= len(lines)
        assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1
        assert problem.message.rstrip()[-1] in ".?…"


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


# ---- nothing but ModelFileError comes out, whatever goes in

WHOLE = """
liegeo: 1
parameters: {length: {value: 1 m, min: 1 mm}, n: 2}
materials: {m: {E: 1 GPa, rho: 1000, nu: 0.3}}
sections: {s: {kind: tube, outer: 2 cm, inner: 1 cm}}
bodies:
  a: {kind: rigid, mass: 1, inertia: [1, 1, 1], frames: {f: [0, 0, $(length)]}, shapes: [{kind: box, size: [1, 1, 1]}]}
  b: {kind: beam, length: $(length), material: m, section: s, elements: $(n), modes: {count: 1, root: 0}}
  c: {kind: lumped, nodes: {p: {mass: 1, inertia: [1, 1, 1], modes: [[1], [0], [0], [0], [0], [1]]}}, stiffness: [[1]]}
joints:
  ja: {kind: spherical, parent: world, child: a, stiffness: 3, rest: [1, 0, 0, 0]}
  jb: {kind: universal, parent: a, child: b, at: f, child_at: 0, damping: [1, 2]}
  jc: {kind: screws, subspace: [[0, 0, 1, 0, 0, 0]], parent: world, child: c}
loops:
  la: {kind: distance, a: b, b: {body: world, at: [0, 0, 5]}, length: 5 m}
  lb: {kind: coupling, terms: {jc: 1, jb.1: 2}}
  lc: {kind: motion, joint: jc, law: $(sin(t))}
forces:
  fa: {kind: bushing, a: a, b: world, stiffness: [1, 2, 3, 4, 5, 6]}
  fb: {kind: actuator, joint: jc}
  fc: {kind: point_force, at: a.f}
wheels: {w: {body: a, inertia: 1}}
initial: {q: {jc: 1, ja: {rotation: {rpy: [1, 2, 3]}}}, v: {w: 30 rpm}, keep: [jc]}
experiment:
  end: 1 s
  inputs:
    fb: {time: [0, 1], value: [0, 1]}
    fc: [0, 0, 0, 0, 0, $(t)]
    lc: {pieces: [{until: 1, value: 0}, {value: $(t)}]}
fmu: {inputs: {fb: {unit: N*m}}, outputs: {"*": }, parameters: {length: }}
"""
WORDS = ["", "~", "true", "0", "-1", "1.5", "1e308", ".nan", "x", "$(", "$()", "$(t)", "$(1/0)", "${a}", "1 m", "5 %"]
WORDS += ["world", "../x", "/etc/passwd", "a.b.c", "'*'", "[]", "{}", "[[]]", "[1]", "[1, 2, 3]", "[0, 0, 0]"]
WORDS += ["[[1, 2], [3]]", "{kind: rigid}", "{kind: [3]}", "{position: [0, 0, 0]}", "{rotation: {}}", "{pieces: 3}"]
WORDS += ["{time: [0], value: [0]}", "{file: ., value: a}", "{body: a, at: }", "{value: 3}", '"\\0"', "é", "[$(t)]"]
WORDS += ["2 Hz", "1 degC", "*x", "&x 1", "!y z"]


def only_model_file_errors(folder, text):
    file = folder / "any.yaml"
    file.write_text(text, "utf-8")
    with contextlib.suppress(ModelFileError):
        lg.load(file)


def test_the_whole_of_it_is_right(tmp_path):
    (tmp_path / "whole.yaml").write_text(WHOLE, "utf-8")
    assert len(lg.load(tmp_path / "whole.yaml").tree.loops) == 3
    jsonschema.Draft202012Validator(lg.io.schema()).validate(source.parse(WHOLE, "whole.yaml").data)


SEEN_BY_EDITORS = ("unknown_key", "unknown_kind", "no_kind", "short_axis", "yes_and_no", "list_of_bodies", "no_bodies")
SEEN_BY_EDITORS += ("half_an_element", "newer_version", "unknown_method", "unknown_mode_set", "unknown_direction")


@pytest.mark.parametrize("name", SEEN_BY_EDITORS)
def test_editors_see_what_is_wrong_with_the_form(name):
    validator = jsonschema.Draft202012Validator(lg.io.schema())
    assert not validator.is_valid(source.read(FOLDER / f"{name}.yaml").data)


def test_every_key_of_the_schema_is_described():
    """What an editor shows beside a key."""
    schema = lg.io.schema()
    for name, definition in {"the document": schema, **schema["$defs"]}.items():
        for key, value in definition.get("properties", {}).items():
            assert value.get("description"), f"{name}: {key}"


@settings(max_examples=150)
@given(st.data())
def test_any_value_may_be_anything(tmp_path_factory, data):
    places = [m.span() for m in re.finditer(r"(?<=: )[^\s,{}\[\]]+|(?<=\[)[^\s,{}\[\]]+|\[[^\[\]]*\]|\w+(?=: )", WHOLE)]
    start, end = data.draw(st.sampled_from(places))
    word = data.draw(st.sampled_from(WORDS))
    only_model_file_errors(tmp_path_factory.getbasetemp(), WHOLE[:start] + word + WHOLE[end:])


@settings(max_examples=100)
@given(st.integers(0, len(WHOLE) - 1), st.integers(0, 30), st.text(max_size=3))
def test_any_text_may_be_cut_out_and_put_in(tmp_path_factory, start, length, instead):
    text = WHOLE[:start] + instead + WHOLE[start + length :]
    only_model_file_errors(tmp_path_factory.getbasetemp(), text.encode("utf-8", "ignore").decode("utf-8"))
