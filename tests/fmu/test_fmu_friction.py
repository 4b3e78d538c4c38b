"""Friction with the exact law in FMUs of both kinds, which stick, break away, and go back to saved states."""

from __future__ import annotations

import fmpy
import numpy as np
import pytest
from fmpy.fmi2 import FMU2Slave

import fmu_export
import liegeo as lg

FILE = """
liegeo: 1
name: sled
parameters: {grip: 4 N}
bodies: {block: {kind: rigid, mass: 1 kg, inertia: [0.1, 0.1, 0.1]}}
joints: {slide: {kind: prismatic, parent: world, child: block, axis: [1, 0, 0]}}
forces:
  friction: {kind: dry_friction, joint: slide, coulomb: $(grip), static: 6 N, stribeck: 1 cm/s, smoothing: 0 m/s}
  push: {kind: actuator, joint: slide}
initial: {v: {slide: 0.3}}
experiment: {end: 2 s, output: 10 ms, method: lie-bdf-2, step: 1 ms}
fmu:
  inputs: {push: }
  parameters: {grip: }
  outputs: {slide.position: , slide.speed: , friction.friction: }
"""


def push(t):
    """It stops by itself, holds 5 N, breaks away at 7 N, and stops again."""
    return 0.0 if t < 0.6 or t > 1.2 else 5.0 if t < 0.9 else 7.0


@pytest.fixture(scope="module", params=[False, True], ids=["python", "native"])
def fmu(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sled")
    (folder / "sled.yaml").write_text(FILE, encoding="utf-8")
    return fmu_export.build(folder / "sled.yaml", folder / "sled.fmu", native=request.param)


@pytest.mark.foreign
def test_an_fmu_sticks_as_simulate_does(fmu, tmp_path):
    described = fmpy.read_model_description(fmu)
    assert described.modelExchange is None
    place = {v.name: v.valueReference for v in described.modelVariables}
    (pushed,) = (v.valueReference for v in described.modelVariables if v.causality == "input")
    names = ["slide.position", "slide.speed", "friction.friction"]
    slave = FMU2Slave(
        guid=described.guid,
        unzipDirectory=fmpy.extract(fmu, tmp_path),
        modelIdentifier=described.coSimulation.modelIdentifier,
        instanceName="sled",
    )
    slave.instantiate()
    slave.setupExperiment(startTime=0.0)
    slave.enterInitializationMode()
    slave.exitInitializationMode()
    rows, h, saved = [], 0.01, None
    for k in range(200):
        if k == 100:
            saved = slave.getFMUState(), len(rows)
        slave.setReal([pushed], [push(k * h + 1e-9)])
        slave.doStep(k * h, h)
        rows.append(slave.getReal([place[name] for name in names]))
    slave.setFMUState(saved[0])
    again = []
    for k in range(100, 200):
        slave.setReal([pushed], [push(k * h + 1e-9)])
        slave.doStep(k * h, h)
        again.append(slave.getReal([place[name] for name in names]))
    assert again == rows[100:]
    slave.terminate()
    slave.freeInstance()
    rows = np.array(rows)
    (tmp_path / "sled.yaml").write_text(FILE, encoding="utf-8")
    mechanism, state, expected = lg.load(tmp_path / "sled.yaml"), None, []
    for begin, end in ((0.0, 0.6), (0.6, 0.9), (0.9, 1.2), (1.2, 2.0)):
        # the method of an FMU starts anew where an input jumps, and so does a run
        state = state or mechanism.state()
        run = lg.simulate(
            mechanism.compile(),
            state,
            end,
            inputs={"push": push(begin + 1e-9)},
            method="lie-bdf-2",
            step=1e-3,
            output=0.01,
            progress=False,
        )
        expected += [[run[name][k] for name in names] for k in range(1, len(run.t))]
        state = lg.model.State(run.q[-1], run.v[-1], run.t[-1])
    assert np.allclose(rows, expected, rtol=0, atol=1e-12)
    t = h * (1.0 + np.arange(200))
    holds = (t > 0.605) & (t < 0.9)
    assert (rows[holds, 1] == 0.0).all()
    assert np.allclose(rows[holds, 2], 5.0, rtol=1e-14)
    assert (rows[(t > 0.92) & (t < 1.2), 1] > 0.0).all()
    assert rows[-1, 1] == 0.0
