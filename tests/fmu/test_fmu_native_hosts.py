"""Native FMUs under hosts of others, and under calls in any order."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fmu.hosts import HOSTS, four_hosts

import fmu_export

pytestmark = pytest.mark.foreign

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def native(tmp_path_factory):
    """Return a function that builds the native FMU of a model."""
    folder = tmp_path_factory.mktemp("native_hosts")
    return lambda name: fmu_export.build(
        f"models/{name}.yaml", folder / f"{name}.fmu", native=True, platforms=["linux64"]
    )


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="libcosim and Ecos are tested on Linux, x86-64"
)
@pytest.mark.parametrize(
    ("model", "variable"), [("double_pendulum", "lower.end.position.z"), ("flexible_arm", "elbow.angle")]
)
def test_four_hosts_have_the_same_bits(native, tmp_path, model, variable):
    # multiples of 1/128 s are exact in all ways to compute them, and in the nanoseconds of libcosim
    found = four_hosts(native(model), variable, 2.0**-7, 64, tmp_path)
    first = found.pop(HOSTS[0])
    assert np.ptp(first) > 1e-3
    for name, values in found.items():
        assert values.tobytes() == first.tobytes(), name


@pytest.mark.parametrize(("model", "calls"), [("double_pendulum", 30_000), ("sy16_four_bar", 5_000)])
def test_random_walk(native, model, calls):
    """As the FMU with Python inside (test_fmu_processes.py)."""
    command = [sys.executable, "-X", "faulthandler", str(HERE / "walk.py"), str(native(model)), str(calls), "4"]
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
