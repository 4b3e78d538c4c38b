"""Laws by formulas, ropes and stops of ball joints in both kinds of FMU: the bits of one are those of the other."""

from __future__ import annotations

import fmpy
import numpy as np
import pytest

import fmu_export
import liegeo as lg
from tests.fmu.test_fmu_native import run, same

pytestmark = pytest.mark.foreign

FILE = """
liegeo: 1
name: winch
parameters:
  k: {value: 20 N*m/rad, min: 1}
  T: 100 ms
  r: 10 cm
bodies:
  winch: {kind: rigid, mass: 1 kg, inertia: [0.2, 0.2, 0.2]}
  load: {kind: rigid, mass: 2 kg, inertia: [0.1, 0.1, 0.1], frames: {eye: [0, 0, 10 cm]}}
  bob: {kind: rigid, mass: 1 kg, com: [0, 0, -20 cm], inertia: [0.1, 0.1, 0.1]}
joints:
  drum: {kind: revolute, parent: world, child: winch, at: [0, 0, 2], axis: [0, 1, 0]}
  lift: {kind: prismatic, parent: world, child: load, axis: [0, 0, 1], damping: 20}
  ball: {kind: spherical, parent: load, child: bob}
forces:
  rope:
    {kind: rope, a: winch, via: [{body: world, at: [1, 0, 2]}], b: load.eye, stiffness: 2 kN/m, damping: 30 N*s/m,
     length: 3.1 m, drum: drum, radius: $(r)}
  brake:
    kind: law
    joint: drum
    force: $(-k*s - 0.5*ds*abs(ds) + z + if(s - 0.1, -k*(s - 0.1), 0.1*sin(3*t)))
    rates: {z: $((u - z)/T)}
    signals: [u]
    potential: $(k/2*s^2)
  line: {kind: line_law, a: world, b: load.eye, force: "$(-2*max(0, s - 0.1) - 0.1*ds)"}
  stop: {kind: ball_stop, joint: ball, axis: [0, 0, 1], swing: 10 deg, lower: -0.1, upper: 0.2, stiffness: 30}
initial: {q: {drum: 0.2}, v: {ball: [1, -2, 1.5]}}
experiment: {end: 1 s, output: 10 ms, step: 1 ms, method: generalised-alpha-0.8}
fmu:
  inputs: {brake: }
  outputs:
    {drum.angle: , lift.position: , rope.tension: , brake.force: , brake.z: , line.force: , stop.swing: , stop.twist: ,
     stop.moment: , energy: }
  parameters: {k: {variability: tunable}, T: , r: }
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return the model file, and both FMUs: (native, with Python inside)."""
    folder = tmp_path_factory.mktemp("laws")
    file = folder / "winch.yaml"
    file.write_text(FILE)
    kinds = (("native", {"native": True, "platforms": ["linux64"]}), ("python", {}))
    return file, *(fmu_export.build(file, folder / f"{kind}.fmu", **more) for kind, more in kinds)


def test_native_fmus_have_the_bits_of_those_with_python(built):
    _, native, python = built
    for given in ({}, {"brake.input.u": 1.5}, {"k": 35.0, "T": 0.05, "r": 0.12, "brake.input.u": -1.0}):
        a, b = (run(fmu, step=0.01, steps=60, start_values=given) for fmu in (native, python))
        assert same(a, b)
        assert np.ptp(a["stop.swing"]) > 0.1
        assert np.ptp(a["rope.tension"]) > 1.0


def test_fmus_are_what_simulate_does(built):
    file, native, _ = built
    found = run(native, step=0.01, steps=60, start_values={"brake.input.u": 1.5})
    out = lg.load(file).simulate(progress=False, t_end=0.6, inputs={"brake": 1.5})
    for name in ("drum.angle", "lift.position", "rope.tension", "brake.z", "stop.swing"):
        theirs = np.interp(found["time"], out.t, out[name])
        assert np.allclose(found[name], theirs, rtol=1e-6, atol=1e-6 * np.abs(theirs).max())


def test_formulas_take_the_parameters_of_the_file(built):
    file, native, _ = built
    assert not fmu_export.constants_of(file)
    names = {v.name for v in fmpy.read_model_description(str(native)).modelVariables}
    assert {"k", "T", "r", "brake.input.u"} <= names
    assert not any(name.startswith("brake.t") for name in names)
