"""Recorded numbers and their programs.  The oracle is the model that is loaded with the values: `load(set=…)`."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import liegeo as lg
from liegeo import recorded
from liegeo.errors import LiegeoError
from liegeo.lie import SE3, SO3
from liegeo.motion import Drive
from liegeo.recorded import Recorded, recording, straight

# Two are quick and have most kinds of parameters between them.
_QUICK = ("crane", "st21_spacecraft")
MODELS = [
    pytest.param(path, marks=() if path.stem in _QUICK else pytest.mark.slow)
    for path in sorted(Path("models").glob("*.yaml"))
]


def arrays(mechanism):
    """Return what depends on parameters: F, D, sizes and the state at the start."""
    model = mechanism.compile()
    drive = Drive(model, dict(mechanism.experiment.inputs))
    state = mechanism.initial.state(model, mechanism.experiment.start)
    return {"F": model.floats, "D": drive.system.floats, "sizes": drive.system.sizes, "y": state.y}


def traced(path, names, **values):
    """Return the program from parameters to these arrays, why others are constants, and the arrays."""
    plain = lg.load(path)
    with recording() as recorder:
        given = {name: recorder.parameter(name, values.get(name, plain.parameters[name])) for name in names}
        made = arrays(lg.load(path, set=given))
        wanted = {name: recorder.noted(array) for name, array in made.items()}
    return straight(recorder, wanted, "another branch"), recorder.constants, made


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_a_program_gives_the_numbers_of_the_loaded_model(path):
    plain = lg.load(path)
    program, constants, made = traced(path, list(plain.declared))
    assert set(program.names) | set(constants) == set(plain.declared)
    for name, array in arrays(plain).items():
        assert array.tobytes() == made[name].tobytes()
    rng, changed = np.random.default_rng(0), 0
    for name in program.names:
        value = float(plain.parameters[name])
        # what is zero may not become negative
        given = {name: value + 0.01 * rng.uniform(-1.0, 1.0) * abs(value) if value else 0.01 * rng.uniform()}
        refused, found = program.run(given)
        assert not refused
        for key, expected in arrays(lg.load(path, set=given)).items():
            mine = made[key].copy()
            for place, number in found.get(key, {}).items():
                mine[place] = number
            assert mine == pytest.approx(expected, rel=1e-12, abs=1e-300)
            changed += not np.array_equal(mine, made[key])
    assert changed or not program.names


def test_what_makes_modes_is_a_constant_with_a_reason():
    program, constants, _ = traced("models/crane.yaml", list(lg.load("models/crane.yaml").declared))
    assert {name for name, why in constants.items() if why == recorded.MODES} == {
        *("boom.length", "boom.foot", "boom.head", "boom.wall"),
    }
    assert constants["wait"] == "it is a time at which a signal jumps"
    assert "rope.stiffness" in program.names


def test_several_parameters_meet_in_one_entry_and_dependent_ones_may_be_set():
    path = "models/sy16_four_bar.yaml"
    program, _, made = traced(path, ["link3.mass", "link3.inertia", "link3.length"])
    for given in (
        {"link3.mass": 0.6},
        {"link3.mass": 0.6, "link3.inertia": 6e-3},
        {"link3.mass": 0.6, "link3.length": 0.4},
    ):
        _, found = program.run(given)
        expected = arrays(lg.load(path, set=given))["F"]
        assert all(expected[place] == pytest.approx(value, rel=1e-13) for place, value in found["F"].items())
        assert not np.array_equal(expected, made["F"])


def test_what_a_model_refuses_a_program_refuses_in_its_words():
    program, _, _ = traced("models/heavy_top.yaml", ["mass", "arm", "inertia.axial"])
    assert program.run({"mass": -1.0})[0] == "set: mass is {}, must be ≥ 1 g."
    assert "triangle inequality" in program.run({"inertia.axial": 1.0})[0]
    for wrong in ({"mass": -1.0}, {"inertia.axial": 1.0}):
        with pytest.raises(LiegeoError):
            lg.load("models/heavy_top.yaml", set=wrong)
    assert program.run({"mass": 2.0})[0] == ""


def test_zero_is_no_structure(tmp_path):
    """A damping of 0, a joint that stands nowhere else: the model that is recorded leaves nothing out."""
    file = tmp_path / "model.yaml"
    file.write_text(
        "liegeo: 1\nparameters: {c: 0 N*m*s/rad, x: 0 m}\n"
        "bodies: {rod: {kind: rigid, mass: 1, com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.01]}}\n"
        "joints: {hinge: {kind: revolute, parent: world, child: rod, at: [$(x), 0, 0], child_at: [$(x), 0, 0],\n"
        "  axis: [0, 1, 0], damping: $(c)}}\n"
    )
    with recording() as recorder:
        given = {name: recorder.parameter(name, 0.0) for name in ("c", "x")}
        general = lg.load(file, set=given).compile()
    expected = lg.load(file, set={"c": 0.3, "x": 0.2}).compile()
    assert np.array_equal(general.ints, expected.ints)
    assert not np.array_equal(general.ints, lg.load(file).compile().ints)
    _, found = straight(recorder, {"F": recorder.noted(general.floats)}, "").run({"c": 0.3, "x": 0.2})
    F = general.floats.copy()
    F[list(found["F"])] = list(found["F"].values())
    assert pytest.approx(expected.floats, rel=1e-13, abs=1e-300) == F


def test_groups_with_recorded_numbers():
    rng = np.random.default_rng(0)
    for angle in (1e-9, 0.7, 2.9):
        w = rng.normal(size=3)
        w *= angle / np.linalg.norm(w)
        X = SE3.random(rng=1)
        with recording() as recorder:
            W = np.array([recorder.parameter(f"w{k}", x) for k, x in enumerate(w)])
            Y = X.astype(object)
            Y[0, 3] = recorder.parameter("x", X[0, 3])
            assert recorded.values_of(SO3.exp(W)) == pytest.approx(SO3.exp(w), abs=1e-15)
            assert recorded.values_of(SE3.inverse(Y)) == pytest.approx(SE3.inverse(X), abs=1e-15)
            assert recorded.values_of(SE3.Ad_apply(Y, np.eye(6)[:2])) == pytest.approx(
                SE3.Ad_apply(X, np.eye(6)[:2]), abs=1e-15
            )
            # no branch of a series is a guard
            assert not recorder.guards


def test_what_needs_a_float_makes_a_constant():
    with recording() as recorder:
        a, b = recorder.parameter("a", 2.0), recorder.parameter("b", 3.0)
        assert not isinstance(a, float)
        np.array([a * b], dtype=np.float64)
        c = recorder.parameter("c", 4.0)
        array = recorded.floats([a, c, c * 2.0])
    assert set(recorder.constants) == {"a", "b"}
    program = straight(recorder, {"x": recorder.noted(array)}, "")
    assert program.names == ("c",)
    assert program.run({"c": 5.0})[1] == {"x": {1: 5.0, 2: 10.0}}


def test_operations_and_guards():
    with recording() as recorder:
        x = recorder.parameter("x", 0.5)
        results = {
            "plus": 1.0 + x - 2.0,
            "times": 3.0 * x / 0.1,
            "over": 1.0 / x,
            "power": x**3,
            "sine": np.sin(x),
            "root": x.sqrt() + abs(-x) + x.exp() + x.log() + x.cos() + x.tan(),
            "least": recorded.smallest([x, 0.7]),
            "most": recorded.largest([0.1, x, 0.2]),
            "share": recorded.share(1.0, x),
        }
        assert x < 1.0
        recorded.explain(x, lambda: "is {}, must be < 1")
        same = x * 3.0
    assert results["times"].recorder is recorder
    # common expressions are computed once, and what changes nothing is left out
    assert same.line == recorder.apply(recorded.MULTIPLY, x, 3.0).line
    assert (x + 0.0).line == (x * 1.0).line == x.line
    assert not isinstance(x * 0.0, Recorded)
    program = straight(recorder, {name: {0: each} for name, each in results.items()}, "")
    for value in (0.5, 0.9, 0.3):
        refused, found = program.run({"x": value})
        assert not refused
        expected = {
            "plus": 1.0 + value - 2.0,
            "times": 3.0 * value / 0.1,
            "over": 1.0 / value,
            "power": value**3,
            "sine": math.sin(value),
            "root": math.sqrt(value) + value + math.exp(value) + math.log(value) + math.cos(value) + math.tan(value),
            "least": min(value, 0.7),
            "most": max(0.1, value, 0.2),
            "share": 1.0 / value,
        }
        assert {name: row[0] for name, row in found.items()} == pytest.approx(expected, rel=1e-15)
    assert program.run({"x": 1.5})[0] == "is {}, must be < 1"
    assert program.run({"x": 0.0})[1]["share"] == {0: 0.0}
