"""The same SSP file under other masters: libcosim (OSP), Ecos and fmpy's simulate_ssp; an FMU as a block of PathSim.

The first three are Jacobi masters with held inputs that read outputs right after a step: our `feedthrough=False`.  They
differ in what they do before the first step: libcosim initialises as we do; Ecos exchanges values once, so a
controller without memory starts from the start value of its input; fmpy exchanges nothing, ignores parameters, and sets
all inputs to zero.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import sysconfig
from pathlib import Path

import cosim_fixtures
import numpy as np
import pytest
from arms import TIP, arm_system
from fmu.fmus import compiled_controller, mechanism_fmu
from scipy.linalg import expm

from fmu_export.cosim import FMU, CosimSystem, save_system

pytestmark = pytest.mark.foreign

built = cosim_fixtures.built

RUN = Path(__file__).with_name("peer_run.py")
WIRES = ("plant.x -> control.y", "plant.v -> control.v", "control.u -> plant.force")


# libcosimpy and tbb have wheels for this; so pyproject.toml has them in the extra `test` there, and only there
native_peers = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="libcosim and Ecos are tested on Linux, x86-64"
)


def run_peer(who, file, h, n, fmu, variable, reference, tmp_path):
    """What another master makes of an output, in a process of its own."""
    out = tmp_path / f"{who}.npy"
    # tbb from PyPI puts its libraries where no linker looks
    libraries = [
        sysconfig.get_config_var("LIBDIR") or "",
        str(Path(sys.prefix) / "lib"),
        os.environ.get("LD_LIBRARY_PATH", ""),
    ]
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, libraries))}
    command = [sys.executable, str(RUN), who, str(file), repr(h), str(n), fmu, variable, str(reference), str(out)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return np.load(out)


def run_system(who, written, h, n, fmu, variable, tmp_path):
    system, file = written
    reference = system.descriptions[fmu].variables[variable].reference
    return run_peer(who, file, h, n, fmu, variable, reference, tmp_path)


@pytest.fixture
def written(built, tmp_path):
    """A system and its SSP file."""

    def make(fmus, connections):
        made = CosimSystem({name: FMU(built(kind), start) for name, (kind, start) in fmus.items()}, connections)
        return made, save_system(made, tmp_path / "system.ssp")

    return make


@pytest.fixture
def loop(written):
    """With conversion from m to mm, which is a transformation in the file."""
    return written({"plant": ("mass", {"x0": 0.1}), "control": ("pd_mm", {"r": 500.0, "kp": 0.008})}, WIRES)


@native_peers
@pytest.mark.parametrize("h", [0.02, 0.01])
def test_libcosim_gives_the_same_numbers(loop, tmp_path, h):
    theirs = run_system("libcosim", loop, h, 100, "plant", "x", tmp_path)
    ours = loop[0].simulate(100 * h, h, feedthrough=False)["plant.x"][1:]
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-14)


@native_peers
def test_ecos_gives_the_same_numbers_where_nothing_feeds_through(written, tmp_path):
    fmus = {"a": ("lag", {"y0": 1.0}), "b": ("lag", {"T": 0.3}), "c": ("lag", {"T": 0.2})}
    ring = written(fmus, ["a.y -> b.u", "b.y -> c.u", "c.y -> a.u"])
    theirs = run_system("ecos", ring, 0.01, 100, "c", "y", tmp_path)
    ours = ring[0].simulate(1.0, 0.01, feedthrough=False)["c.y"][1:]
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-14)


@native_peers
def test_ecos_differs_by_its_first_step_where_a_controller_feeds_through(loop, tmp_path):
    """The first force comes from y = 0 instead of 0.1 m: 0.8 N for one step, an error that falls with the step."""
    gaps = []
    for h, n in ((0.02, 100), (0.01, 200)):
        theirs = run_system("ecos", loop, h, n, "plant", "x", tmp_path)
        ours = loop[0].simulate(n * h, h, feedthrough=False)["plant.x"][1:]
        gaps.append(np.max(np.abs(theirs - ours)))
    assert 1.7 < gaps[0] / gaps[1] < 2.4
    assert gaps[1] < 2.5e-3


def test_fmpy_differs_by_its_first_step(written, tmp_path):
    """A square wave on a mass at rest: nothing is exchanged before the first step, so the first force is zero."""
    system = written({"clock": ("clock", {}), "plant": ("mass", {})}, ["clock.wave -> plant.force"])
    theirs = run_system("fmpy", system, 0.01, 100, "plant", "x", tmp_path)
    ours = system[0].simulate(1.0, 0.01, feedthrough=False)["plant.x"][1:]
    # what 1 N in the first step leaves: m = 1, d = 0.5, k = 4
    whole = expm(0.01 * np.array([[0.0, 1.0, 0.0], [-4.0, -0.5, 1.0], [0.0, 0.0, 0.0]]))
    missing = [(np.linalg.matrix_power(whole[:2, :2], k) @ whole[:2, 2])[0] for k in range(100)]
    np.testing.assert_allclose(ours - theirs, missing, rtol=0, atol=1e-12)


@native_peers
@pytest.mark.slow
@pytest.mark.parametrize("who", ["libcosim", "ecos"])
def test_flexible_arm_under_other_masters(tmp_path, who):
    """Our FMU, built with pythonfmu, and controllers in C."""
    made = arm_system(tmp_path, "pd")
    file = made, save_system(made, tmp_path / "arm.ssp")
    theirs = run_system(who, file, 0.0025, 40, "arm", TIP, tmp_path)
    ours = made.simulate(0.1, 0.0025, feedthrough=False)[f"arm.{TIP}"][1:]
    assert np.ptp(ours) > 1e-3
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-11)


def test_an_fmu_is_a_block_of_pathsim(tmp_path):
    """A pendulum of ours under a controller made of PathSim's blocks, against ours under one in C."""
    plant, controller = mechanism_fmu(tmp_path), compiled_controller(tmp_path)
    theirs = run_peer("pathsim", plant, 0.01, 100, "motor.input", "hinge.angle", 0, tmp_path)
    control = FMU(controller, {"kp": 60.0, "kd": 8.0, "reference": 1.0})
    wires = ["arm.hinge.angle -> pd.angle", "arm.hinge.speed -> pd.speed", "pd.torque -> arm.motor.input"]
    ours = CosimSystem({"arm": FMU(plant), "pd": control}, wires).simulate(1.0, 0.01)["arm.hinge.angle"][1:]
    assert np.ptp(ours) > 0.2
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-13)
