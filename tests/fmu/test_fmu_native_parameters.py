"""Parameters of the model file in native FMUs.

The oracles are the FMU with Python inside, which loads the model file anew, to the bit, and `simulate` of that model.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import fmpy
import numpy as np
import pytest

import fmu_export
import liegeo as lg
from fmu_export.host import ERROR, Instance, Unpacked
from tests.fmu.fmus import PENDULUM
from tests.fmu.test_fmu_native import Driven, moved, run, same

MODELS = sorted(Path("models").glob("*.yaml"))
pytestmark = pytest.mark.foreign


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return a function that builds both FMUs of a model once: (native, with Python inside)."""
    folder, known = tmp_path_factory.mktemp("parameters"), {}

    def build(name, file=None):
        if name not in known:
            model = file or f"models/{name}.yaml"
            known[name] = [
                fmu_export.build(model, folder / f"{name}_{kind}.fmu", **more)
                for kind, more in (("native", {"native": True, "platforms": ["linux64"]}), ("python", {}))
            ]
        return known[name]

    return build


def parameters_of(fmu):
    """Return the parameters of the model file, by name, as the description has them."""
    always = ("gravity.", "initial.", "integrator.")
    found = fmpy.read_model_description(str(fmu)).modelVariables
    return {v.name: v for v in found if v.causality == "parameter" and not v.name.startswith(always)}


def other(variable):
    """Return an admissible value near that of a parameter."""
    value = float(variable.start)
    return 1.013 * value if value else 0.05


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_every_parameter_has_the_bits_of_the_fmu_with_python(built, model):
    native, python = built(model.stem)
    offered, constants = parameters_of(native), fmu_export.constants_of(model)
    theirs = parameters_of(python)
    assert set(offered) | set(constants) == set(theirs)
    assert not set(offered) & set(constants)
    for name, variable in offered.items():
        for field in ("variability", "min", "max", "unit", "description", "start", "quantity"):
            assert getattr(variable, field) == getattr(theirs[name], field)
    description = fmpy.read_model_description(str(native))
    step = float(description.defaultExperiment.stepSize)
    inputs = [v.name for v in description.modelVariables if v.causality == "input"]
    # some are at rest until they are driven
    at_rest = not moved(run(native, step=step, steps=5))
    driven = {name: 0.01 * (k + 1) for k, name in enumerate(inputs)} if at_rest else {}
    usual = run(native, step=step, steps=5, start_values=driven)
    values = {name: other(variable) for name, variable in offered.items()}
    # all together, and each alone
    for given in [values, *({name: value} for name, value in values.items())]:
        a, b = (run(fmu, step=step, steps=5, start_values={**driven, **given}) for fmu in (native, python))
        assert same(a, b)
    # the speed of this one is in a law, in the place of which an FMU has inputs
    if values and model.stem != "fls13_spin_up":
        assert moved(usual)
        assert not same(run(native, step=step, steps=5, start_values={**driven, **values}), usual)


TUNABLE = """
liegeo: 1
parameters:
  length: {value: 0.5 m, min: 0.1 m}
  mass: {value: 1 kg, min: 0.1 kg, max: 5 kg}
  c: {value: 0.05, min: 0}
  k: 20 N/m
  g_0: 9.81 m/s^2
  amplitude: 0.3 N*m
  angle: 20 deg
gravity: [0, 0, $(-g_0)]
bodies:
  rod:
    kind: rigid
    mass: $(mass)
    com: [0, 0.01, $(-length / 2)]
    inertia: [$(mass * length^2 / 12), $(mass * length^2 / 12), 1e-3]
    frames: {end: {position: [0, 0, $(-length)], rotation: {axis: [0, 1, 0], angle: $(angle)}}}
joints:
  hinge:
    {kind: revolute, parent: world, child: rod, axis: [0, 1, 0], damping: $(c), friction: $(c), friction_speed: 0.1}
forces:
  spring: {kind: spring_damper, a: world, b: rod.end, stiffness: $(k), length: $(2 * length)}
  motor: {kind: actuator, joint: hinge, gear: 2, limit: $(5 * amplitude)}
initial: {q: {hinge: 1}}
experiment: {end: 1 s, output: 10 ms, step: 1 ms, inputs: {hinge: "$(amplitude * sin(3 * t))"}}
fmu:
  inputs: {motor: }
  outputs: {hinge.angle: , hinge.speed: , rod.end.position: , rod.end.quaternion: , energy: , spring.tension: }
  parameters:
    mass: {variability: tunable}
    length: {variability: tunable}
    c: {variability: tunable}
    k: {variability: tunable}
    g_0: {variability: tunable}
    amplitude: {variability: tunable}
    joints.hinge.friction_speed: {variability: tunable}
    angle:
"""


@pytest.fixture
def both(built, tmp_path):
    """Return running instances of both FMUs of one model with tunable parameters."""
    file = tmp_path / "tunable.yaml"
    file.write_text(TUNABLE)
    made = [Driven(fmu, tmp_path / str(k)) for k, fmu in enumerate(built("tunable", file))]
    yield made
    for one in made:
        # from whatever state a test leaves it in
        one.slave.freeInstance()


def close(a, b):
    """Return whether outputs agree to 1e-12 of the largest."""
    return np.allclose(a, b, rtol=1e-12, atol=1e-12 * max(1.0, np.abs(b).max()))


def test_tunable_parameters_change_a_motion_that_goes_on(both):
    t, seen = 0.0, []
    changes = [{"mass": 1.3}, {"length": 0.6}, {"c": 0.2}, {"k": 31.0, "g_0": 3.7}, {"amplitude": 0.1}, {"c": 0.01}]
    # a number of the file that is named by its path
    changes.append({"joints.hinge.friction_speed": 0.3})
    for given in changes:
        for one in both:
            one.slave.setReal([one.references[name] for name in given], list(given.values()))
        for _ in range(3):
            rows = [one.step(t, 0.01) for one in both]
            assert close(rows[0], rows[1])
            t += 0.01
        seen.append(rows[0])
    assert len({tuple(row) for row in seen}) == len(changes)
    # what a running model cannot take is discarded, in the words of the other, and nothing is set
    for one in both:
        before = one.slave.getReal(one.outputs)
        for name, value in (("mass", -1.0), ("mass", 7.0), ("length", 0.0)):
            with pytest.raises(Exception, match="failed with status 2"):
                one.slave.setReal([one.references[name]], [value])
        with pytest.raises(Exception, match="failed with status 3"):
            one.slave.setReal([one.references["angle"]], [0.1])
        assert one.slave.getReal([one.references["mass"]]) == [1.3]
        assert one.slave.getReal(one.outputs) == before


def test_set_parameters_are_part_of_the_state(both):
    native, python = both
    for one in both:
        one.slave.setReal([one.references["mass"], one.references["c"]], [1.7, 0.1])
    for first, second in ((native, python), (python, native)):
        for n in range(3):
            first.step(n * 0.01, 0.01)
        data = first.saved()
        expected = [first.step(n * 0.01, 0.01) for n in range(3, 6)]
        second.slave.setReal([second.references["mass"], second.references["k"]], [3.0, 5.0])
        second.put_back(data)
        assert second.saved() == data
        assert second.slave.getReal([second.references["mass"], second.references["k"]]) == [1.7, 20.0]
        found = [second.step(n * 0.01, 0.01) for n in range(3, 6)]
        assert all(close(a, b) for a, b in zip(found, expected, strict=True))
        first.put_back(data)
        assert [first.step(n * 0.01, 0.01) for n in range(3, 6)] == expected
        first.put_back(first.saved())
        break


def test_reset_gives_the_values_of_the_file_back(both):
    native, _ = both
    usual = [native.step(k * 0.01, 0.01) for k in range(3)]
    native.slave.setReal([native.references["mass"]], [2.0])
    assert native.step(0.03, 0.01)
    native.slave.reset()
    native.slave.setupExperiment(startTime=0.0)
    native.slave.enterInitializationMode()
    native.slave.exitInitializationMode()
    assert [native.step(k * 0.01, 0.01) for k in range(3)] == usual


def test_simulate_of_the_changed_model_is_the_same_motion(built, tmp_path):
    file = tmp_path / "tunable.yaml"
    file.write_text(TUNABLE)
    native, _ = built("tunable", file)
    given = {"mass": 1.4, "length": 0.55, "c": 0.3, "angle": 0.5}
    found = run(native, step=0.01, steps=20, start_values=given)
    expected = lg.load(file, set=given).simulate(t_end=0.2, output=0.01)
    for name in ("hinge.angle", "hinge.speed", "rod.end.position.x", "rod.end.quaternion.w", "spring.tension"):
        assert found[name] == pytest.approx(expected[name], rel=1e-9, abs=1e-9)


def test_a_parameter_out_of_its_bounds_fails_initialisation_with_the_words_of_the_model(built, capfd):
    for model, given, words in (
        ("double_pendulum", {"rod.mass": -1.0}, "rod.mass is -1"),
        ("heavy_top", {"inertia.axial": 1.0}, "break the triangle inequality"),
    ):
        for fmu in built(model):
            with pytest.raises(Exception, match=r"(?s)status 3|" + words):
                run(fmu, step=0.01, steps=2, start_values=given)
            with pytest.raises(lg.errors.LiegeoError, match=words) as caught:
                fmu_export.run(fmu, 0.02, values=given)
            # one thing is wrong, and it is said once and to the end
            assert len(re.findall(" is | break ", str(caught.value).partition("Mode: ")[2])) == 1
            if "triangle" in words:
                assert str(caught.value).endswith("Check units and signs.")


@pytest.fixture(scope="module")
def pendulums(tmp_path_factory):
    """Return FMUs of one pendulum by what they are, and how they are run."""
    folder = tmp_path_factory.mktemp("pendulums")
    file = folder / "pendulum.yaml"
    file.write_text(PENDULUM + "fmu: {outputs: {rod.bob.position: , hinge.acceleration: }}\n")
    native = {"native": True, "platforms": ["linux64"]}
    made = {
        "python": fmu_export.build(file, folder / "python.fmu"),
        "native": fmu_export.build(file, folder / "native.fmu", **native),
        "native3": fmu_export.build(file, folder / "native3.fmu", fmi=3, **native),
    }
    return {
        **{name: (fmu, "co-simulation") for name, fmu in made.items()},
        "exchange": (made["native"], "model exchange"),
    }


@pytest.mark.parametrize("kind", ["python", "native", "native3", "exchange"])
def test_derivatives_by_start_values(pendulums, kind):
    """In initialisation mode parameters and start values are known; position and acceleration in closed form."""
    fmu, how = pendulums[kind]
    with Unpacked(fmu) as unpacked, Instance(unpacked, kind=how) as one:
        out = [one.variables[name] for name in ("rod.bob.position.x", "rod.bob.position.z", "hinge.acceleration")]
        one.calls.set_up(0.0, 1.0, None)
        one.write("initial.hinge.angle", 0.4)
        one.write("length", 1.5)
        one.calls.enter_initialisation()
        found = {
            name: one.directional(out, one.variables[name])
            for name in ("length", "mass", "initial.hinge.angle", "gravity.z", "motor.input")
        }
        inertia, weight, arm, s, c = 2.0 * 1.5**2 + 0.01, 2.0 * 9.81, 1.5, math.sin(0.4), math.cos(0.4)
        # (J₀ + m l²) a = −m g l sin φ + τ
        force = -weight * arm * s
        expected = {
            "length": [-s, -c, -weight * s / inertia - force * 2.0 * 2.0 * arm / inertia**2],
            "mass": [0.0, 0.0, force / 2.0 / inertia - force * arm**2 / inertia**2],
            "initial.hinge.angle": [-arm * c, arm * s, -weight * arm * c / inertia],
            "gravity.z": [0.0, 0.0, 2.0 * arm * s / inertia],
            "motor.input": [0.0, 0.0, 1.0 / inertia],
        }
        for name, row in expected.items():
            np.testing.assert_allclose(found[name], row, rtol=0, atol=1e-8, err_msg=name)
        # asking changes nothing: what is not set still follows from the model
        assert one.read(["length", "initial.hinge.angle", "mass", "gravity.z"]) == [1.5, 0.4, 2.0, -9.81]
        one.write("length", -1.0)
        length = [one.variables["length"].reference]
        assert one.calls.directional([out[0].reference], length, [1.0], out[0].size)[0] == ERROR
        assert "must be ≥ 1 mm" in one.messages[-1][2]


def test_states_are_not_known_beside_start_values(pendulums):
    """They follow from them; apart, both are known."""
    fmu, how = pendulums["exchange"]
    with Unpacked(fmu) as unpacked, Instance(unpacked, kind=how) as one:
        state = next(name for name in one.variables if name.startswith("state.") and name.endswith("angle"))
        out, angle, length = ([one.variables[name].reference] for name in ("rod.bob.position.x", state, "length"))
        one.calls.set_up(0.0, 1.0, None)
        one.calls.enter_initialisation()
        status, (slope,) = one.calls.directional(out, angle, [1.0], 1)
        assert (status, slope) == (0, pytest.approx(-math.cos(math.pi / 6), rel=1e-12))
        assert one.calls.directional(out, angle + length, [1.0, 1.0], 1)[0] == ERROR
