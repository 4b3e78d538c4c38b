"""Every model in models/ as a unit: valid, and the same motion as `liegeo.simulate`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fmu_export
import fmu_export.inspection
import liegeo as lg
from fmu_export.package import settings_of
from fmu_export.variables import input_places, motion_inputs, structured
from liegeo.results.names import names_of

# Those that are quick, and have a rotation, flexible bodies, inputs and loops among them.
QUICK = ("double_pendulum", "heavy_top", "flexible_arm", "bricard")
MODELS = [
    pytest.param(path, id=path.stem, marks=() if path.stem in QUICK else pytest.mark.slow)
    for path in sorted((Path(__file__).parents[2] / "models").glob("*.yaml"))
]
STEPS = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("units")


@pytest.mark.parametrize("path", MODELS)
def test_validates(path, folder):
    unit = fmu_export.build(path, folder / f"{path.stem}.fmu")
    report = fmu_export.validate(unit)
    assert report.ok, report


def held(mechanism, unit):
    """The start values of the inputs, as `simulate` takes them and as a unit does; motions at rest where they are."""
    model = mechanism.compile()
    variables = {v["name"]: v for v in fmu_export.inspection.variables_of(unit) if v["role"] == "input"}
    by_place = {v["key"][0]: (name, v["start"]) for name, v in variables.items()}
    motions = motion_inputs(model)
    simulated, driven = {}, {}
    for name, part in input_places(model).items():
        if part.start not in by_place:
            continue
        values = np.array([by_place[place][1] for place in range(part.start, part.stop)])
        if name in motions:
            n = motions[name][1]
            values[n:] = 0.0
            simulated[name] = values[:n]
        else:
            simulated[name] = values
        driven |= {by_place[part.start + k][0]: float(value) for k, value in enumerate(values)}
    return {**mechanism.experiment.inputs, **simulated}, driven


@pytest.mark.parametrize("path", MODELS)
def test_moves_as_simulated(path, folder):
    """With inputs that are held, fixed steps and three communication steps: to the bit."""
    mechanism = lg.load(path)
    experiment = mechanism.experiment
    # a power of two: master and `simulate` then mean the same times, to the bit
    h = 2.0 ** np.floor(np.log2((experiment.end - experiment.start) / 2000.0))
    unit = fmu_export.build(path, folder / f"{path.stem}_fixed.fmu", step=h)
    settings = settings_of(mechanism, h, None)
    inputs, driven = held(mechanism, unit)
    end = experiment.start + STEPS * h
    expected = mechanism.simulate(
        t_end=end, inputs=inputs, method=settings.method, step=h, output="steps", every=1, rtol=1e-4, atol=1e-4
    )
    names = names_of(mechanism.compile())
    column = {structured(name): name for name in [*names.table, *names.more]}
    factor = {v["name"]: v.get("factor", 1.0) for v in fmu_export.inspection.variables_of(unit)}
    for per_step in (1, 3, 10):
        table = fmu_export.run(unit, end, interval=per_step * h, inputs=driven)
        assert len(table) == STEPS // per_step + 1
        for name in table.dtype.names[1:]:
            wanted = expected[column[name]][::per_step] / factor[name]
            if names.column(column[name]).source in (("q",), ("v",)):
                np.testing.assert_array_equal(table[name], wanted, err_msg=name)
            else:
                # computed in another order than by results, from the same bits
                scale = max(1.0, float(np.abs(wanted).max()))
                np.testing.assert_allclose(table[name], wanted, rtol=0.0, atol=1e-11 * scale, err_msg=name)
