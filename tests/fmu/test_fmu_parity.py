"""Both kinds of FMU under the same calls: the same statuses, values to the bit, states and words.

The oracle of each kind is the other; that the kernels which both run are right is shown elsewhere.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from pathlib import Path

import fmpy
import numpy as np
import pytest
from fmu.fmus import PRESCRIBED, pendulum_file

import fmu_export
import liegeo as lg
from fmu_export.host import DISCARD, ERROR, OK, Instance, Unpacked
from fmu_export.machine import Machine
from liegeo import model as lm

pytestmark = pytest.mark.foreign

HERE = Path(__file__).parent

# A point mass on a slide that turns: nothing resists a turn where it is in the middle.
SLIDE = """
liegeo: 1
name: slide
bodies:
  arm: {kind: rigid, mass: 0}
  bob: {kind: rigid, mass: 1 kg}
joints:
  turn: {kind: revolute, parent: world, child: arm, axis: [0, 1, 0]}
  slide: {kind: prismatic, parent: arm, child: bob, axis: [1, 0, 0]}
initial: {q: {slide: 1 m}}
experiment: {end: 1 s, output: 10 ms, method: rkmk-4, step: 1 ms}
"""

# First-order states, inputs that are an expression of the time and a table, quaternions, friction, a spring.
MIXED = """
liegeo: 1
name: mixed
bodies:
  rod: {kind: rigid, mass: 1 kg, com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.01], frames: {end: [0, 0, -1]}}
  top: {kind: rigid, mass: 1 kg, com: [0, 0, 0.2], inertia: [0.02, 0.02, 0.01], frames: {tip: [0, 0, 0.4]}}
joints:
  hinge: {kind: revolute, parent: world, child: rod, axis: [0, 1, 0], friction: 0.1 N*m}
  ball: {kind: spherical, parent: rod, child: top, at: end}
forces:
  drive: {kind: actuator, joint: hinge, lag: 20 ms}
  seal: {kind: bristle_friction, joint: hinge, coulomb: 0.1 N*m, stiffness: 80 N*m/rad}
  push: {kind: point_force, at: top.tip, force: [0, 0, 0]}
  gust: {kind: point_force, at: rod.end, force: [0, 0, 0]}
  spring: {kind: spring_damper, a: {body: world, at: [0.3, 0.2, 0]}, b: top.tip, stiffness: 100 N/m, length: 1 m}
initial: {q: {hinge: 30 deg}, x: {drive: 0.2 N*m}}
experiment:
  end: 2 s
  output: 10 ms
  step: 1 ms
  method: generalised-alpha-0.8
  inputs:
    gust: {time: [0, 0.05, 1], value: [[0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0]]}
    hinge: $(0.2 * sin(5 * t))
fmu:
  inputs: {drive: , push: }
  outputs: {hinge.angle: , "ball.*": , "top.tip.*": , "drive.*": , "seal.*": , energy: }
"""


def both(source, folder, **options):
    """Return the FMUs of a model: (native, with Python inside)."""
    kinds = (("native", {"native": True, "platforms": ["linux64"]}), ("python", {}))
    return [fmu_export.build(source, folder / f"{kind}.fmu", **more, **options) for kind, more in kinds]


def ladder(n, angle):
    """n four-bars in a row, and the start values with which all rods fall from this angle through one line."""

    def rod(name):
        return lg.Body(name, mass=1.0, com=(0.5, 0, 0), inertia=(1e-4, 1 / 12, 1 / 12), frames={"end": (1, 0, 0)})

    posts, beams = [f"post{k}" for k in range(n + 1)], [f"beam{k}" for k in range(n)]
    joints = [lm.Revolute(name=f"foot{k}", parent="world", child=posts[k], at=(k, 0, 0)) for k in range(n + 1)]
    joints += [lm.Revolute(name=f"top{k}", parent=posts[k], child=beams[k], at="end") for k in range(n)]
    loops = [
        lm.Revolute(name=f"loop{k}", parent=beams[k], child=posts[k + 1], at="end", child_at="end") for k in range(n)
    ]
    tree = lm.Tree([rod(name) for name in (*posts, *beams)], joints, loops=loops, gravity=(0, -9.81, 0))
    signs = {f"foot{k}": 1.0 for k in range(n + 1)} | {f"top{k}": -1.0 for k in range(n)}
    start = {f"initial.{name}.angle": sign * angle for name, sign in signs.items()}
    return tree, start | {f"initial.{name}.speed": -sign for name, sign in signs.items()}


def heard(fmu, values, sizes, inputs=()):
    """Return statuses, values of all outputs, where a step that failed got to, and what was said."""
    found = []
    with Unpacked(fmu) as unpacked, Instance(unpacked, "one", verbose=False) as one:
        for name, value in values.items():
            one.write(name, value)
        tolerance = 3e-10 if "integrator.rtol" not in values else None
        one.setupExperiment(tolerance=tolerance, startTime=0.0, stopTime=1000.0)
        statuses = [one.status("enterInitializationMode"), one.status("exitInitializationMode")]
        outputs = [v.valueReference for v in one.description.modelVariables if v.causality == "output"]
        t = 0.0
        for size in sizes if statuses[-1] == OK else ():
            for name, value in inputs:
                statuses.append(one.status("setReal", one.references([name]), [value]))
            statuses.append(one.step(t, size))
            t += size
            if statuses[-1] != OK:
                found.append(one.discarded())
                break
            found.append(one.getReal(outputs))
        words = [(status, category, text.partition("\nTraceback (")[0]) for status, category, text in one.messages]
    return statuses, found, words


def test_singular_positions_are_crossed_in_both(tmp_path):
    """Ten four-bars fall through the position where all rods lie on a line; also with few steps per communication."""
    tree, start = ladder(10, np.radians(75))
    fmus = both(tree, tmp_path)
    for size in (0.1, 0.01):
        sizes = [size] * round(1.5 / size)
        a, b = (heard(fmu, {**start, "integrator.method": "rkmk-54"}, sizes) for fmu in fmus)
        assert a == b
        assert set(a[0]) == {OK}
        # to the other side
        assert a[1][-1][0] < -0.5
    # a state from the way to the singular position goes on in the other kind to the bit
    found = []
    with Unpacked(fmus[0]) as one, Unpacked(fmus[1]) as other, Instance(one, "a") as a, Instance(other, "b") as b:
        for each in (a, b):
            each.initialise(0.0, 10.0, {**start, "integrator.method": "rkmk-54", "integrator.rtol": 3e-10})
        for k in range(30):
            assert a.step(0.01 * k, 0.01) == OK
        state = a.getFMUstate()
        data = a.serializeFMUstate(state)
        a.freeFMUstate(state)
        put = b.deSerializeFMUstate(data)
        b.setFMUstate(put)
        b.freeFMUstate(put)
        for each in (a, b):
            references = [v.valueReference for v in each.description.modelVariables if v.causality == "output"]
            for k in range(30, 60):
                assert each.step(0.01 * k, 0.01) == OK
            found.append(each.getReal(references))
    assert found[0] == found[1]
    assert found[0][0] < 0.0


def test_failures_have_the_same_words(tmp_path):
    """What is to blame is named in both, from the same texts."""
    tree, start = ladder(10, np.radians(75))
    exact = {"integrator.method": "rkmk-54", "integrator.rtol": 1e-13, "integrator.atol": 1e-16}
    few = {"integrator.step": 1e-11}
    odd = {name: value for name, value in start.items() if name.startswith("initial.foot")}
    rotation = {
        f"initial.ball.quaternion.{name}": value for name, value in (("w", 0.3), ("x", 1e-5), ("y", -2.0), ("z", 0.1))
    }
    cases = [
        (tree, "ladder", {**start, **exact}, [0.5] * 4, (), DISCARD, "the position is singular, where constraints"),
        (tree, "ladder", odd, [0.1], (), ERROR, "'tree' cannot be assembled: loop '"),
        (tree, "ladder", {**start, **few, "integrator.method": "rkmk-4"}, [1.0], (), DISCARD, "are too many"),
        (SLIDE, "slide", {"initial.slide.position": 0.0}, [0.01], (), DISCARD, "joint 'turn'"),
        (MIXED, "mixed", {}, [0.01] * 3, [("push.input.force.x", np.nan)], DISCARD, "push.input.force.x"),
        (MIXED, "mixed", rotation, [0.01], (), ERROR, "[0.3, 1e-05, -2.0, 0.1], of length 2.02485"),
        (
            MIXED,
            "mixed",
            {"integrator.method": "rkmk-4", "integrator.step": 0.5},
            [0.5] * 40,
            (),
            DISCARD,
            "grows without",
        ),
        (
            stiff(),
            "rods",
            {"integrator.method": "energy-momentum", "integrator.step": 0.01},
            [0.1],
            (),
            DISCARD,
            "the stiffest f",
        ),
    ]
    made = {}
    for source, name, values, sizes, inputs, status, words in cases:
        if name not in made:
            folder = tmp_path / name
            folder.mkdir()
            made[name] = both(pendulum_file(folder, name, source) if isinstance(source, str) else source, folder)
        a, b = (heard(fmu, values, sizes, inputs) for fmu in made[name])
        assert a == b, name
        assert status in a[0], name
        assert words in "\n".join(text for _, _, text in a[2]), (name, a[2])


def test_a_step_that_asks_for_derivatives(tmp_path, monkeypatch):
    """The FMU with Python inside compiles them then; in a native one they are there, and the bits are the same."""
    asked, ask = [], Machine._with_derivatives
    monkeypatch.setattr(Machine, "_with_derivatives", lambda machine: (asked.append(machine), ask(machine)))
    settings, sizes = {"integrator.method": "lie-bdf-2", "integrator.step": 0.01}, [0.02] * 10
    a, b = (heard(fmu, settings, sizes) for fmu in both(stiff(1e6), tmp_path))
    assert a == b
    assert set(a[0]) == {OK}
    assert asked


def stiff(stiffness=1e10):
    """Two rods on ball joints, held by springs, in motion."""
    rods = [
        lg.Body(k, mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 1 / 12, 1 / 12), frames={"end": (1, 0, 0)}) for k in "ab"
    ]
    joints = [
        lm.Spherical(name="one", parent="world", child="a"),
        lm.Spherical(name="two", parent="a", child="b", at="end"),
    ]
    springs = [
        lm.SpringDamper(name=f"spring_{k}", a=("world", (0.3, 1.0, 0.5)), b=f"{k}.end", stiffness=stiffness, length=1.2)
        for k in "ab"
    ]
    return lg.Tree(rods, joints, forces=springs)


DRIVEN = """
liegeo: 1
name: driven
parameters: {amplitude: 0.5, fast: 0}
bodies:
  base: {kind: rigid, mass: 3, com: [0, 0, 0.1], inertia: [0.1, 0.1, 0.1], frames: {e: [0.5, 0, 0]}}
  rod: {kind: rigid, mass: 1, com: [0.2, 0, 0.05], inertia: [0.01, 0.02, 0.03], frames: {tip: [0.6, 0, 0]}}
  cart: {kind: rigid, mass: 2, inertia: [0.1, 0.1, 0.1]}
joints:
  yaw: {kind: revolute, parent: world, child: base}
  flap: {kind: revolute, parent: base, child: rod, at: e, axis: [0, 1, 0], stiffness: 5}
  rail: {kind: prismatic, parent: world, child: cart, axis: [1, 0, 0]}
loops:
  drive: {kind: motion, joint: yaw, law: $(amplitude * sin(3 * t))}
forces:
  push: {kind: actuator, joint: rail}
  shake: {kind: actuator, joint: flap}
experiment:
  end: 2 s
  output: 10 ms
  method: rkmk-54
  inputs:
    push: {pieces: [{until: 0.5 s, value: $(sin(5 * t))}, {value: -1}]}
    shake: $(fast * sin(1e9 * t))
fmu: {inputs: {%s: }, outputs: {"*": }}
"""


@pytest.mark.parametrize("start", [0.0, 0.25, 0.5, 0.75])
def test_a_run_may_begin_on_any_side_of_a_jump(start, tmp_path):
    """The FMU is made for runs from 0 on; an input inside it jumps at 0.5 s."""
    file = pendulum_file(tmp_path, "driven", DRIVEN % "rail")
    expected = 0.5 * math.sin(3.0 * start)
    rows = []
    for fmu in both(file, tmp_path):
        found = fmpy.simulate_fmu(str(fmu), start_time=start, stop_time=start + 0.6, output_interval=0.05)
        assert found["yaw.angle"][0] == pytest.approx(expected, abs=1e-12)
        rows.append(found.tobytes())
    assert rows[0] == rows[1]


def test_steps_that_would_take_for_ever_are_discarded(tmp_path):
    """A motor that shakes with 1e9 rad/s: whoever waits for the step hears why, and where the FMU stands."""
    file = pendulum_file(tmp_path, "driven", DRIVEN % "rail")
    said = []
    for fmu in both(file, tmp_path):
        with Unpacked(fmu) as unpacked, Instance(unpacked) as one:
            one.initialise(0.0, 2.0, {"fast": 1e3})
            assert one.step(0.0, 0.5) == DISCARD
            reached, ends = one.discarded()
            assert 0.0 < reached < 1e-3
            assert not ends
            said.append(one.messages[-1][2].partition("\nTraceback (")[0])
    assert said[0] == said[1]
    assert re.search(r"at t = \S+ s internal steps are only \S+ s long, and would be far too many", said[0])


def test_outputs_depend_on_an_acceleration_that_is_prescribed_from_outside(tmp_path):
    """The body's frame moves across the axis where the joint is turned, which it is not where it begins."""
    fmu, _ = both(pendulum_file(tmp_path, "driven", DRIVEN % "drive"), tmp_path)
    described = fmpy.read_model_description(str(fmu))
    depends = {unknown.variable.name: {v.name for v in unknown.dependencies} for unknown in described.outputs}
    assert "drive.acceleration" in depends["base.e.acceleration.x"]
    # nobody drives it: it stays
    starts = {v.name: float(v.start) for v in described.modelVariables if v.causality == "input"}
    assert starts == {"drive.value": 0.0, "drive.rate": 0.0, "drive.acceleration": 0.0}


@pytest.mark.parametrize(
    ("model", "calls"),
    [("double_pendulum", 3000), ("sy16_four_bar", 600), ("flexible_arm", 600), (PRESCRIBED, 1500), (MIXED, 1500)],
    ids=["tree", "loop", "flexible", "prescribed", "mixed"],
)
def test_the_same_random_calls(model, calls, tmp_path):
    source = pendulum_file(tmp_path, "walked", model) if "\n" in model else f"models/{model}.yaml"
    command = [sys.executable, "-X", "faulthandler", str(HERE / "pair.py"), *map(str, both(source, tmp_path))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path.cwd()), str(HERE)])}
    done = subprocess.run([*command, str(calls), "7"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
