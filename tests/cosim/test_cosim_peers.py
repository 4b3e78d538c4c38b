"""The same SSP file under other masters: libcosim (OSP), Ecos and fmpy's simulate_ssp.

All three are Jacobi masters with held inputs that read outputs right after a step: our `feedthrough=False`.  They
differ in what they do before the first step: libcosim initialises as we do; Ecos exchanges values once, so a
controller without memory starts from the start value of its input; fmpy exchanges nothing, ignores parameters, and sets
all inputs to zero.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import cosim_fixtures
import numpy as np
import pytest
from arms import TIP, arm_system
from scipy.linalg import expm

from fmu_export.cosim import System, Unit, save_system

built = cosim_fixtures.built

RUN = Path(__file__).with_name("peer_run.py")
WIRES = ("plant.x -> control.y", "plant.v -> control.v", "control.u -> plant.force")


def run_peer(who, module, file, h, n, unit, variable, tmp_path):
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed: pip install 'liegeo[cosim-peers]'")
    variables = file[0].descriptions[unit].variables
    out = tmp_path / f"{who}.npy"
    # tbb from PyPI puts its libraries where no linker looks
    libraries = [
        sysconfig.get_config_var("LIBDIR") or "",
        str(Path(sys.prefix) / "lib"),
        os.environ.get("LD_LIBRARY_PATH", ""),
    ]
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, libraries))}
    command = [sys.executable, str(RUN), who, str(file[1]), repr(h), str(n), unit, variable]
    done = subprocess.run(
        [*command, str(variables[variable].reference), str(out)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    if "libtbb" in done.stderr:
        pytest.skip("ecospy finds no libtbb.so.12: pip install tbb")
    assert done.returncode == 0, done.stderr[-2000:]
    return np.load(out)


@pytest.fixture
def written(built, tmp_path):
    """A system and its SSP file."""

    def make(units, connections):
        made = System({name: Unit(built(kind), start) for name, (kind, start) in units.items()}, connections)
        return made, save_system(made, tmp_path / "system.ssp")

    return make


@pytest.fixture
def loop(written):
    """With conversion from m to mm, which is a transformation in the file."""
    return written({"plant": ("mass", {"x0": 0.1}), "control": ("pd_mm", {"r": 500.0, "kp": 0.008})}, WIRES)


@pytest.mark.parametrize("h", [0.02, 0.01])
def test_libcosim_gives_the_same_numbers(loop, tmp_path, h):
    theirs = run_peer("libcosim", "libcosimpy", loop, h, 100, "plant", "x", tmp_path)
    ours = loop[0].simulate(100 * h, h, feedthrough=False)["plant.x"][1:]
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-14)


def test_ecos_gives_the_same_numbers_where_nothing_feeds_through(written, tmp_path):
    units = {"a": ("lag", {"y0": 1.0}), "b": ("lag", {"T": 0.3}), "c": ("lag", {"T": 0.2})}
    ring = written(units, ["a.y -> b.u", "b.y -> c.u", "c.y -> a.u"])
    theirs = run_peer("ecos", "ecospy", ring, 0.01, 100, "c", "y", tmp_path)
    ours = ring[0].simulate(1.0, 0.01, feedthrough=False)["c.y"][1:]
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-14)


def test_ecos_differs_by_its_first_step_where_a_controller_feeds_through(loop, tmp_path):
    """The first force comes from y = 0 instead of 0.1 m: 0.8 N for one step, an error that falls with the step."""
    gaps = []
    for h, n in ((0.02, 100), (0.01, 200)):
        theirs = run_peer("ecos", "ecospy", loop, h, n, "plant", "x", tmp_path)
        ours = loop[0].simulate(n * h, h, feedthrough=False)["plant.x"][1:]
        gaps.append(np.max(np.abs(theirs - ours)))
    assert 1.7 < gaps[0] / gaps[1] < 2.4
    assert gaps[1] < 2.5e-3


def test_fmpy_differs_by_its_first_step(written, tmp_path):
    """A square wave on a mass at rest: nothing is exchanged before the first step, so the first force is zero."""
    system = written({"clock": ("clock", {}), "plant": ("mass", {})}, ["clock.wave -> plant.force"])
    theirs = run_peer("fmpy", "fmpy", system, 0.01, 100, "plant", "x", tmp_path)
    ours = system[0].simulate(1.0, 0.01, feedthrough=False)["plant.x"][1:]
    # what 1 N in the first step leaves: m = 1, d = 0.5, k = 4
    whole = expm(0.01 * np.array([[0.0, 1.0, 0.0], [-4.0, -0.5, 1.0], [0.0, 0.0, 0.0]]))
    missing = [(np.linalg.matrix_power(whole[:2, :2], k) @ whole[:2, 2])[0] for k in range(100)]
    np.testing.assert_allclose(ours - theirs, missing, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("who", "module"), [("libcosim", "libcosimpy"), ("ecos", "ecospy")])
def test_flexible_arm_under_other_masters(tmp_path, who, module):
    """Our unit, built with pythonfmu, and controllers in C."""
    made = arm_system(tmp_path, "pd")
    file = made, save_system(made, tmp_path / "arm.ssp")
    theirs = run_peer(who, module, file, 0.0025, 40, "arm", TIP, tmp_path)
    ours = made.simulate(0.1, 0.0025, feedthrough=False)[f"arm.{TIP}"][1:]
    assert np.ptp(ours) > 1e-3
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-11)
