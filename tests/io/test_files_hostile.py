"""Model files that nobody writes by hand, or only on a bad day: each gets problems with lines, and soon."""

from __future__ import annotations

import os
import pickle
import sys

import pytest

import liegeo as lg
from liegeo.errors import FileProblem, LiegeoError, ModelError, ModelFileError
from liegeo.io import document

HEAD = "liegeo: 1\n"
MODEL = (
    HEAD
    + "bodies:\n  a: {kind: rigid, mass: 1, inertia: [1, 1, 1]}\njoints:\n  j: {kind: free, parent: world, child: a}\n"
)


def problems(folder, text):
    """What is wrong with a file of this text."""
    file = folder / "model.yaml"
    file.write_text(text, "utf-8")
    with pytest.raises(ModelFileError) as caught:
        lg.load(file)
    assert all(problem.line >= 1 for problem in caught.value.problems)
    return caught.value


WRONG = ("[{}]", "[]", "[1, 2]", "5", "-1.5", "text", "true", '""', "{x: 1}", "{x: {y: 1}}", "{x: [1]}", "{1: 2}")


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("section", document.DocumentForm.model_fields)
def test_every_section_can_be_of_another_kind(tmp_path, section, wrong):
    """A list in place of a mapping is what beginners write."""
    if section in ("bodies", "joints", "liegeo"):
        text = MODEL.replace(f"{section}:", f"{section}: {wrong}\nother_{section}:", 1)
    else:
        text = MODEL + f"{section}: {wrong}\n"
    file = tmp_path / "model.yaml"
    file.write_text(text, "utf-8")
    try:
        lg.load(file)
    except ModelFileError as error:
        without = [problem for problem in error.problems if not problem.line]
        if without:
            pytest.fail(f"problems without a line: {without}")


def test_a_list_of_materials_is_said_to_be_one(tmp_path):
    error = problems(tmp_path, MODEL + "materials: [{}]\nsections: 5\n")
    assert [(p.line, p.path) for p in error.problems] == [(6, "materials"), (7, "sections")]
    assert "is [an empty mapping], expected a mapping" in error.problems[0].message
    assert "is 5, expected a mapping" in error.problems[1].message


@pytest.mark.parametrize("n", [500, 5000])
def test_parameters_may_lead_to_each_other_in_long_chains(tmp_path, n):
    """Each refers to the next one, which stands after it."""
    lines = [f"  p{k}: $(p{k + 1} + 1)" for k in range(n)]
    file = tmp_path / "model.yaml"
    file.write_text(MODEL + "\n".join(["parameters:", *lines, f"  p{n}: 0", ""]), "utf-8")
    assert lg.load(file).parameters["p0"] == n


@pytest.mark.parametrize("n", [2, 3, 600])
def test_a_ring_of_parameters_is_reported_once(tmp_path, n):
    lines = [f"  p{k}: $(p{(k + 1) % n})" for k in range(n)]
    error = problems(tmp_path, MODEL + "\n".join(["parameters:", *lines, ""]))
    (problem,) = error.problems
    assert "depends on itself: p0 → p1 → " in problem.message
    assert problem.path == f"parameters.p{n - 1}"
    assert len(problem.message) < 300


def test_a_parameter_that_depends_on_itself(tmp_path):
    error = problems(tmp_path, MODEL + "parameters:\n  a_1: $(a_1 + 1)\n")
    assert "depends on itself: a_1 → a_1" in str(error)


def test_thousands_of_unknown_names_take_no_time(tmp_path):
    """Each is compared with all others, once; what a message shows has a bound."""
    n = 4000
    bodies = [f"  body_{k}: {{kind: rigid, mass: 1, inertia: [1, 1, 1]}}" for k in range(n)]
    joints = [f"  joint_{k}: {{kind: free, parent: world, child: bdoy_{k}}}" for k in range(n)]
    start = [f"    jiont_{k}: 1" for k in range(n)]
    error = problems(
        tmp_path, "\n".join(["liegeo: 1", "bodies:", *bodies, "joints:", *joints, "initial:", "  v:", *start, ""])
    )
    assert len(error.problems) >= n
    said = str(error)
    assert said.count("\n") < 200
    assert len(said) < 100_000
    assert any("Did you mean" in problem.message for problem in error.problems)
    assert said.endswith(f"… and {len(error.problems) - 50} more. Mend these first.")
    # in Python too
    parts = [lg.Body(f"body_{k}", 1.0, inertia=(1, 1, 1)) for k in range(n)]
    with pytest.raises(ModelError, match="Did you mean"):
        lg.Tree(parts, [lg.model.Free(name=f"j{k}", parent="world", child=f"bdoy_{k}") for k in range(n)])


CONTROL = "\x1b]0;owned\x07"


def test_control_characters_in_names_are_shown_as_escapes(tmp_path):
    name = '"\\e]0;owned\\a\\nmodel.yaml:1:1: all is well"'
    for text in (
        MODEL.replace("a: {kind", f"{name}: {{kind"),
        MODEL.replace("child: a", f"child: {name}"),
        MODEL + f"parameters:\n  {name}: 1\n",
        MODEL + f"{name}: 1\n",
        MODEL + f"initial:\n  q: {{{name}: 1}}\n",
        MODEL + f"experiment:\n  inputs: {{{name}: 1}}\n",
        MODEL + f"experiment: {{method: {name}}}\n",
        MODEL + f"fmu:\n  outputs: {{{name}: }}\n",
        MODEL + f"forces:\n  f: {{kind: {name}}}\n",
        MODEL + f"forces:\n  f: {{kind: point_force, at: {name}}}\n",
        MODEL.replace("liegeo: 1", f"liegeo: {name}"),
    ):
        error = problems(tmp_path, text)
        for said in (str(error), *map(str, error.problems)):
            assert "\x1b" not in said
            assert "\x07" not in said
            assert "\nmodel.yaml:1:1: all is well" not in said, said
        assert "owned" in str(error)


def test_no_error_of_liegeo_holds_control_characters():
    for error in (LiegeoError, ModelError):
        assert str(error(f"body '{CONTROL}'\n  is bad")) == "body '\\x1b]0;owned\\x07'\n  is bad"
    with pytest.raises(ModelError, match=r"\\x1b\]0;owned"):
        lg.Body(CONTROL, mass=-1.0)


def test_an_error_of_a_file_can_be_pickled():
    error = ModelFileError([FileProblem("x.yaml", 1, 2, "a", "is bad.")])
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.problems) == (str(error), error.problems)


FILE = HEAD + "bodies:\n  a: {{kind: sid, file: {}}}\njoints:\n  j: {{kind: free, parent: world, child: a}}\n"


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")
@pytest.mark.parametrize("kind", ["sid", "table"])
def test_files_that_are_none_are_problems_with_a_line(tmp_path, kind):
    (tmp_path / "loop_a").symlink_to("loop_b")
    (tmp_path / "loop_b").symlink_to("loop_a")
    (tmp_path / "self").symlink_to("self")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "nowhere").symlink_to("missing")
    for name in ("loop_a", "self", "self/x", "pipe", "folder", "nowhere", "x" * 5000, "x/" * 3000 + "y", "pipe/x"):
        if kind == "sid":
            text, line = FILE.format(name), 3
        else:
            text = MODEL + f"experiment:\n  inputs:\n    j: {{file: {name}, value: [a, b, c, d, e, f]}}\n"
            line = 8
        error = problems(tmp_path, text)
        assert error.problems[0].line == line
        assert "file" in str(error)
        assert len(str(error)) < 600


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")
@pytest.mark.parametrize("suffix", [".yaml", ".urdf", ".xml"])
def test_a_pipe_is_not_waited_for(tmp_path, suffix):
    os.mkfifo(tmp_path / f"model{suffix}")
    with pytest.raises(LiegeoError, match="is not a file"):
        lg.load(tmp_path / f"model{suffix}")
