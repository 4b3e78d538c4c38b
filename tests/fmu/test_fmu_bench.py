"""The benchmark of FMUs runs and says something."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.foreign

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_bench(tmp_path):
    file = tmp_path / "fmu.json"
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/bench/fmu.py"), "--quick", "--native", "--json", str(file)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert "set + doStep + get" in done.stdout
    numbers = json.loads(file.read_text("utf-8"))
    assert numbers["FMU, coordinates"]["variables"] == numbers["FMU, frames"]["variables"] == 20
    memory, native = numbers.pop("memory"), numbers.pop("native")
    assert 0.0 < native["packed library linux64"] < native["library linux64"]
    assert native["host"] < 20.0
    # Ten instances share the model: the nine after the first need less than nine models. What the first brings with it
    # (kernels, modules) is not of interest here, and resident memory may also shrink meanwhile.
    assert memory["numbers"] > 0.0
    assert memory["all"] - memory["one"] < 9.0 * memory["numbers"]
    assert all(0.0 < row["best"] <= row["median"] for row in numbers.values())
