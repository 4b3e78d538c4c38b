"""The benchmarks run and say something; how fast anything is, they say themselves."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
OPERATIONS = {"exp", "log", "Ad_apply", "compose", "act"}


def bench(*arguments):
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "tools/bench/lie.py"), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_lie(tmp_path):
    file = tmp_path / "lie.json"
    done = bench("--size", 1000, "--repeats", 1, "--json", file)
    assert done.returncode == 0, done.stderr
    assert "a batch of 1,000:" in done.stdout

    numbers = json.loads(file.read_text(encoding="utf-8"))
    assert numbers["size"] == 1000
    assert {"numpy", "scipy", "numba"} <= numbers["versions"].keys()
    assert numbers["processor"]
    for name in ("batch", "single"):
        rows = {(row["group"], row["operation"]): row for row in numbers[name]}
        assert rows.keys() == {(group, each) for group in ("SO3", "SO3Q", "SE3", "SE3Q") for each in OPERATIONS}
        for row in rows.values():
            for key in ("liegeo_ns", "scipy_ns", "ratio"):
                assert 0.0 < row[key] < math.inf, row
    for seconds in numbers["start"].values():
        assert seconds.keys() == {"exp", "log"}
        assert min(seconds.values()) > 0.0


def test_sizes_are_checked():
    done = bench("--size", 0)
    assert done.returncode == 2
    assert "--size and --repeats must be at least 1" in done.stderr
