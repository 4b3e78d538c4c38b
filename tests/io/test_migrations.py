"""Older files: migrations change values and places together, so that problems are shown in the words of the file."""

from __future__ import annotations

import pytest

import liegeo as lg
from liegeo.errors import ModelFileError
from liegeo.io import build, document, migrations, source

TEXT = """\
liegeo: 1
bodies:
  rod: {kind: rigid, weight: 1 kg, com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.01]}
  disc: {kind: rigid, weight: 2 kg, inertia: [0.1, 0.1, 0.1]}
joints:
  hinge: {kind: revolute, parent: world, child: rod, axis: [0, 1, 0]}
  pin: {kind: turning, parent: rod, child: disc}
experiment: {end: 2 s, legacy: true}
"""


def weight_is_mass(old):
    """A key of every entry of a section."""
    for body in old.entries(("bodies",)):
        old.rename((*body, "weight"), "mass")


def turning_is_revolute(old):
    """A value, and a key that is not needed any more."""
    for joint in old.entries(("joints",)):
        if old.data["joints"][joint[1]]["kind"] == "turning":
            old.replace((*joint, "kind"), "revolute")
    old.remove(("experiment", "legacy"))


@pytest.fixture
def third_version(monkeypatch):
    """A format that has changed twice."""
    steps = (weight_is_mass, turning_is_revolute)
    monkeypatch.setattr(build, "MODEL_MIGRATIONS", steps)
    monkeypatch.setattr(document, "VERSION", migrations.newest(steps))


def write(folder, text):
    path = folder / "old.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def problems(path):
    with pytest.raises(ModelFileError) as caught:
        lg.load(path)
    return [str(problem).replace(str(path.parent), "") for problem in caught.value.problems]


@pytest.mark.usefixtures("third_version")
def test_an_older_file_is_the_same_system(tmp_path):
    mechanism = lg.load(write(tmp_path, TEXT))
    assert [body.mass for body in mechanism.tree.bodies] == [1.0, 2.0]
    assert isinstance(mechanism.tree.joints[1], lg.Revolute)
    assert mechanism.document["liegeo"] == 3
    assert mechanism.document["bodies"]["rod"]["mass"] == "1 kg"
    # and again, from what the mechanism keeps
    assert mechanism.changed({"bodies.rod.mass": 3.0}).tree.bodies[0].mass == 3.0
    second = TEXT.replace("liegeo: 1", "liegeo: 2").replace("weight", "mass")
    assert [body.mass for body in lg.load(write(tmp_path, second)).tree.bodies] == [1.0, 2.0]


@pytest.mark.usefixtures("third_version")
def test_problems_are_shown_at_the_lines_and_keys_of_the_file(tmp_path):
    wrong = TEXT.replace("weight: 1 kg", "weight: 1 m").replace("weight: 2 kg", "weight: -2 kg")
    first, second = problems(write(tmp_path, wrong))
    assert first.startswith("/old.yaml:3:22: bodies.rod.weight is '1 m', which is a length")
    # the sentence of a class has the class's own word
    assert second.startswith("/old.yaml:4:23: body 'disc': mass is '-2 kg', must be")
    (found,) = problems(write(tmp_path, TEXT.replace("kind: turning", "kind: turning, axis: up")))
    assert found.startswith("/old.yaml:7:24: joints.pin.axis is 'up'")
    both = TEXT.replace("weight: 2 kg", "weight: 2 kg, mass: 3 kg")
    (found,) = problems(write(tmp_path, both))
    expected = "bodies.disc.weight is the older name of 'mass', which the file has too; keep one of them."
    assert found == f"/old.yaml:4:23: {expected}"


@pytest.mark.usefixtures("third_version")
@pytest.mark.parametrize("version", ["4", "0", "-1", "true", "one", "1.5", "[1]"])
def test_other_versions_are_refused(tmp_path, version):
    found = problems(write(tmp_path, TEXT.replace("liegeo: 1", f"liegeo: {version}")))
    assert any(line.startswith("/old.yaml:1:1: liegeo is ") and "expected 1 to 3" in line for line in found), found


def test_changes_leave_alone_what_is_not_there():
    old = source.parse("a: {b: 1, c: [2, 3]}\nd: 4\n", "text")
    old.rename(("x",), "y")
    old.rename(("d", "e"), "f")
    old.remove(("a", "x"))
    old.remove(("d", "e"))
    old.replace(("a", "x"), 5)
    old.replace(("a", "c"), 5)
    assert old.entries(("x", "y")) == []
    assert old.data == {"a": {"b": 1, "c": [2, 3]}, "d": 4}
    migrations.migrate(old, "version", (weight_is_mass,))
    migrations.migrate(source.parse("[1, 2]", "text"), "version", (weight_is_mass,))
    assert old.data == {"a": {"b": 1, "c": [2, 3]}, "d": 4}


def test_a_renamed_key_keeps_its_place_in_the_order():
    old = source.parse("a: 1\nb: {c: 2}\nd: 3\n", "text")
    old.rename(("b",), "x")
    old.rename(("x", "c"), "y")
    old.rename(("x", "y"), "z")
    assert list(old.data) == ["a", "x", "d"]
    assert old.place(("x", "z")) == (2, 5)
    assert old.dotted(("x", "z")) == "b.c"
    assert old.dotted(("d", 0, "x")) == "d[0].x"


def test_what_an_alias_shares_is_renamed_once():
    old = source.parse("a: &same {weight: 1}\nb: *same\n", "text")
    for entry in old.entries(()):
        old.rename((*entry, "weight"), "mass")
    assert old.data == {"a": {"mass": 1}, "b": {"mass": 1}}
