"""Fuzzers of model files: YAML, URDF and MJCF.  A file with something changed is refused by name, or makes a model.

`test_every_value_of_every_model` replaces each value of the shipped models, at every depth, by things of another kind
and by numbers that are too large; the others change the text of files at random.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fuzzing
import numpy as np
import pytest
import yaml

import liegeo as lg
from liegeo import dynamics
from liegeo.io import source
from liegeo.io.build import build

MODELS = fuzzing.ROOT / "models"
# Those whose finite elements take long are in the long run only.
QUICK = ("double_pendulum", "heavy_top", "bricard", "sy16_four_bar", "fls13_pendulum_sid")
# Things of another kind than whatever was there, and numbers out of range.
WRONG: tuple[Any, ...] = (
    *([{}], [], {}, {"x": 1}, 5, -1.5, "x", "", None, True),
    *(1e308, -1e308, float("inf"), float("nan"), "1e308 m"),
)
_NAMED = ("bodies", "joints", "forces", "loops", "wheels", "materials", "sections", "parameters")
_BY_NAME = ("q", "v", "inputs", "outputs", "parameters")


@functools.cache
def document(name: str) -> Any:
    return source.read(MODELS / f"{name}.yaml").data


def paths(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a document; of lists the first two entries."""
    yield path
    if isinstance(data, dict):
        for key, value in data.items():
            yield from paths(value, (*path, key))
    elif isinstance(data, list):
        for key, value in enumerate(data[:2]):
            yield from paths(value, (*path, key))


def replaced(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    out = copy.copy(data)
    out[path[0]] = replaced(data[path[0]], path[1:], value)
    return out


def role(data: Any, path: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a place is for: names of bodies and others do not matter, kinds do."""
    out: list[Any] = []
    here = data
    for depth, key in enumerate(path):
        named = (depth == 1 and path[0] in _NAMED) or (depth == 2 and path[1] in _BY_NAME)
        out.append((here.get("kind") if isinstance(here, dict) else None, "*" if named else key))
        here = here[key]
    return tuple(out)


@functools.cache
def places(names: tuple[str, ...]) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    """Model and path of one place for each role, in all models."""
    found: dict[tuple[Any, ...], tuple[str, tuple[Any, ...]]] = {}
    for name in names:
        data = document(name)
        for path in paths(data):
            found.setdefault(role(data, path), (name, path))
    return tuple(found.values())


def check(mechanism: Any) -> None:
    """What was read can be used: the model's numbers are finite, and so is its motion, or an error says why not."""
    model = mechanism.compile()
    # the limit of an actuator may be infinite
    assert not np.isnan(model.floats).any()
    if model.nv < 30 and not model.rows:
        assert np.isfinite(dynamics.forward_dynamics(model, mechanism.state())).all()


def load_document(data: Any, name: str) -> None:
    text = yaml.dump(data, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper))
    check(build(source.parse(text, "model.yaml"), MODELS / f"{name}.yaml", {}))


def wrong_values(seed: int, folder: Path, names: tuple[str, ...] = QUICK) -> None:
    """The case of this number: a place, and what stands there instead."""
    there = places(names)
    name, path = there[seed // len(WRONG) % len(there)]
    load_document(replaced(document(name), path, WRONG[seed % len(WRONG)]), name)


def wrong_values_everywhere(seed: int, folder: Path) -> None:
    """As `wrong_values`, in all models and at two places at once."""
    rng = random.Random(seed)
    name = rng.choice(sorted(path.stem for path in MODELS.glob("*.yaml")))
    data = document(name)
    for _ in range(rng.choice((1, 2))):
        path = rng.choice(list(paths(data)))
        data = replaced(data, path, rng.choice(WRONG))
    load_document(data, name)


WORDS = (
    *("$(", ")", "$(a)", "$(t)", "${a}", "1e999", "-1e308", "0x10", "1_000", ".inf", ".nan", "~", "null", "true"),
    *("&a", "*a", "<<", "!!python/object:os.system", "---", "...", "? ", ": ", "- ", "[", "]", "{", "}", "#", "|", ">"),
    *("'", '"', "\t", "\0", "\x1b[31m", "é", "\u202e", "𝄞", "a" * 300, "9" * 400, "mm", "deg", "world", "kind", "file"),
    *("../x", "/dev/zero", "$(1 / 0)", "$(2 ^ 12 ^ 12)", "$(" + "(" * 50 + "1" + ")" * 50 + ")", "{x: [{}]}", "[[]]"),
)


def mangled(text: str, rng: random.Random, words: tuple[str, ...]) -> str:
    """A text with a few changes: pieces cut out, doubled, exchanged, or replaced by words that may have a meaning."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        a = rng.randrange(len(text) + 1)
        b = min(len(text), a + rng.choice((0, 1, 3, 20, 200)))
        how = rng.randrange(5)
        if how == 0:
            text = text[:a] + text[b:]
        elif how == 1:
            text = text[:b] + text[a:b] * rng.choice((1, 3)) + text[b:]
        elif how == 2:
            text = text[:a] + rng.choice(words) + text[b:]
        elif how == 3:
            tokens = list(re.finditer(r"[\w.$()+-]+", text))
            if tokens:
                token = rng.choice(tokens)
                text = text[: token.start()] + rng.choice(words) + text[token.end() :]
        else:
            tokens = list(re.finditer(r"[\w.$()+-]+", text))
            if len(tokens) > 1:
                one, two = rng.sample(tokens, 2)
                text = text[: one.start()] + two[0] + text[one.end() :]
    return text


def yaml_text(seed: int, folder: Path) -> None:
    """A shipped model with its text changed."""
    rng = random.Random(seed)
    name = rng.choice(QUICK)
    file = MODELS / f"{name}.yaml"
    text = mangled(file.read_text("utf-8"), rng, WORDS)
    changed = folder / "model.yaml"
    changed.write_bytes(text.encode("utf-8", "surrogatepass"))
    check(build(source.read(changed), file, {}))


ROBOTS = tuple(sorted((fuzzing.ROOT / "tests/io/data_urdf").rglob("*.urdf")))
XML = (
    *("<", ">", "</", "/>", "<!DOCTYPE x [<!ENTITY a 'b'>]>", "&a;", "&#0;", "&#x1b;", "<![CDATA[", "]]>", "<?x?>"),
    *("nan", "inf", "-1e308", "1e308", "1 2", "0 0 0", "", "x", "1e400", "--", "'", '"', "\0", "é", "9" * 400, "-1"),
    *("<link name='a'/>", "<joint/>", "fixed", "floating", "revolute", "package://../../x", "file:///etc/passwd"),
)


def urdf_text(seed: int, folder: Path) -> None:
    """A robot of the tests with its text changed."""
    rng = random.Random(seed)
    text = mangled(rng.choice(ROBOTS).read_text("utf-8"), rng, XML)
    file = folder / "robot.urdf"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    check(lg.load(file))


MJCF = """<mujoco model="arm">
  <compiler angle="degree"/>
  <option gravity="0 0 -9.81"/>
  <default><joint damping="0.1"/><geom rgba="1 0 0 1"/></default>
  <worldbody>
    <body name="upper" pos="0 0 1" euler="10 0 0">
      <joint name="shoulder" type="hinge" axis="0 1 0" range="-90 90" stiffness="2"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.04" density="1000"/>
      <body name="lower" pos="0 0 -0.5" quat="1 0 0 0">
        <joint name="elbow" type="ball" armature="0.01"/>
        <inertial pos="0 0 -0.2" mass="1.5" diaginertia="0.1 0.1 0.01"/>
        <site name="tip" pos="0 0 -0.4"/>
        <geom type="box" size="0.1 0.1 0.2"/>
      </body>
    </body>
    <body name="ball"><freejoint/><geom type="sphere" size="0.1" mass="2"/></body>
  </worldbody>
  <actuator><motor joint="shoulder" gear="20" ctrlrange="-1 1"/></actuator>
</mujoco>
"""


def mjcf_text(seed: int, folder: Path) -> None:
    """A small robot for MuJoCo with its text changed."""
    file = folder / "robot.xml"
    file.write_bytes(mangled(MJCF, random.Random(seed), XML).encode("utf-8", "surrogatepass"))
    # where MuJoCo writes what it warns of
    with contextlib.chdir(folder):
        check(lg.load(file))


def has_mujoco() -> bool:
    try:
        import mujoco  # noqa: F401
    except ImportError:
        return False
    return True


FUZZERS = {
    "wrong_values": wrong_values,
    "wrong_values_everywhere": wrong_values_everywhere,
    "yaml_text": yaml_text,
    "urdf_text": urdf_text,
    "mjcf_text": mjcf_text,
}


def test_every_value_of_every_model(tmp_path):
    """A list, a mapping, a number, text, nothing, a truth value, 1e308, inf and nan in place of each value."""
    failures = []
    cases = len(places(QUICK)) * len(WRONG)
    # a prime, so that with every place other wrong values are tried; the long run tries all
    for seed in range(0, cases, 29):
        try:
            fuzzing.hold("wrong_values", wrong_values, seed, tmp_path)
        except fuzzing.FuzzError as failure:
            failures.append(str(failure))
    assert not failures, "\n".join(failures[:10])


def test_every_number_of_every_model(tmp_path):
    """Each number once, by 1e308, −1e308, infinity or nan in turn."""
    failures, extreme = [], [k for k, value in enumerate(WRONG) if isinstance(value, float) and abs(value) != 1.5]
    there = places(QUICK)
    for k, (name, path) in enumerate(there):
        value = document(name)
        for key in path:
            value = value[key]
        if isinstance(value, dict | list | bool) or value is None:
            continue
        seed = k * len(WRONG) + extreme[k % len(extreme)]
        try:
            fuzzing.hold("wrong_values", wrong_values, seed, tmp_path)
        except fuzzing.FuzzError as failure:
            failures.append(str(failure))
    assert not failures, "\n".join(failures[:10])


def test_a_table_with_numbers_out_of_range(tmp_path):
    (tmp_path / "torque.csv").write_text("time,value\n0,1\n1,1e308\n")
    text = (MODELS / "double_pendulum.yaml").read_text("utf-8")
    joint = next(iter(document("double_pendulum")["joints"]))
    data = {
        **yaml.safe_load(text),
        "experiment": {"end": 1, "inputs": {joint: {"file": "torque.csv", "value": "value"}}},
    }
    (tmp_path / "model.yaml").write_text(yaml.safe_dump(data))
    with pytest.raises(lg.errors.ModelFileError, match=r"has the number 1e\+308, expected numbers below 1e\+60"):
        lg.load(tmp_path / "model.yaml")


@pytest.mark.parametrize("seed", [28319234, 28319346, 28320086])
def test_what_a_long_run_found_in_urdf(seed, tmp_path):
    """Element names that are not ASCII, which became another document; masses and places of 1e308."""
    fuzzing.hold("urdf_text", urdf_text, seed, tmp_path)


@pytest.mark.parametrize("seed", [697130771, 697131945, 697132915, 697133516, 697133906])
def test_what_a_long_run_found_in_mjcf(seed, tmp_path):
    """Numbers that MuJoCo lets pass: nan in places and colours, 1e308."""
    pytest.importorskip("mujoco")
    fuzzing.hold("mjcf_text", mjcf_text, seed, tmp_path)


@pytest.mark.parametrize(
    ("fuzzer", "seeds"),
    [("yaml_text", 150), ("urdf_text", 150), ("mjcf_text", 60)],
)
def test_texts_that_are_changed(fuzzer, seeds, tmp_path):
    if fuzzer == "mjcf_text" and not has_mujoco():
        pytest.skip("MJCF is read by mujoco, which is not installed")
    read = [fuzzing.hold(fuzzer, FUZZERS[fuzzer], seed, tmp_path) for seed in range(seeds)]
    # some changes do not matter, some do: otherwise the fuzzer shows nothing
    assert any(read)
    assert not all(read)
    shutil.rmtree(tmp_path)
