"""Native FMUs of both versions of FMI under what imports FMUs here: `validate`, `run` and the master."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fmu_export
from fmu_export.cosim import FMU, Connection, CosimSystem, Linear
from fmu_export.exchange_solver import ExchangeSolver

pytestmark = pytest.mark.foreign
# Reactions of the mast, of which 298 rows are redundant, are the smallest ones, found by conjugate gradients: their
# derivatives are known to 1e-3, which its validation tells (docs/loops.md).
MODELS = sorted(path for path in (Path(__file__).parents[2] / "models").glob("*.yaml") if path.stem != "scissor_mast")
TIGHT = {"integrator.method": "rkmk-54", "integrator.rtol": 1e-10, "integrator.atol": 1e-10}


@pytest.fixture(scope="module")
def native(tmp_path_factory):
    """Return a function that builds the native FMU of a model once for each version of FMI."""
    folder = tmp_path_factory.mktemp("native")

    def build(name, fmi):
        file = folder / f"{name}_{fmi}.fmu"
        if not file.exists():
            fmu_export.build(f"models/{name}.yaml", file, native=True, platforms=["linux64"], fmi=fmi)
        return file

    return build


@pytest.mark.parametrize("fmi", [2, 3])
@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_every_model_validates(native, model, fmi):
    """Co-simulation and model exchange, driven."""
    report = fmu_export.validate(native(model.stem, fmi), isolated=False)
    assert report.ok, report
    assert {"dependencies", "rollback", "serialisation", "derivatives of outputs"} <= set(report.checks)
    exchange = {f"model exchange: {check}" for check in ("dependencies", "directional derivatives", "rollback")}
    assert exchange <= set(report.checks)


def test_a_system_takes_the_fmu_of_either_version(native):
    """Names of elements are those of FMI 2.0, and numbers have the same bits."""
    wires = [Connection("arm.top.speed", "arm.top.tau", Linear(-0.5))]
    results = [
        CosimSystem({"arm": FMU(native("double_pendulum", fmi), {"initial.top.angle": "40 deg"})}, wires).simulate(
            0.5, 0.01, algorithm="gauss-seidel"
        )
        for fmi in (2, 3)
    ]
    assert "arm.lower.end.position.x" in results[0].names
    assert results[0].names == results[1].names
    assert results[0].table.tobytes() == results[1].table.tobytes()
    assert np.ptp(results[0]["arm.lower.end.position.x"]) > 0.1
    tables = [fmu_export.run(native("double_pendulum", fmi), 0.2, values={"gravity.z": -1.0}) for fmi in (2, 3)]
    assert tables[0].tobytes() == tables[1].tobytes()


@pytest.mark.parametrize("method", ["rk-54", "radau-5"])
def test_model_exchange_agrees_with_co_simulation(native, method):
    """A chain that swings freely, and a mechanism with a loop."""
    for name, fmi in (("double_pendulum", 3), ("sy16_four_bar", 2)):
        fmu = native(name, fmi)
        own = fmu_export.run(fmu, 0.2, values=TIGHT)
        solver = ExchangeSolver(method, 1e-9)
        other = fmu_export.run(fmu, 0.2, kind="model exchange", solver=solver)
        for column in own.dtype.names:
            size = 1.0 + np.abs(own[column]).max()
            np.testing.assert_allclose(other[column], own[column], rtol=0, atol=1e-5 * size, err_msg=column)
