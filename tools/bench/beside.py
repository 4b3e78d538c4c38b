"""The same measurement in this checkout of liegeo and in another one, in turns, so that both see the same machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parents[2]


def in_turns(script, arguments, folder, rounds):
    """Return the best times of this checkout and of the one in `folder`, by name.

    `script`, started with `arguments`, prints a JSON object of times by name; each round starts it once per checkout.
    """
    best = [{}, {}]
    for _ in range(rounds):
        for times, root in zip(best, (HERE, Path(folder).resolve()), strict=True):
            run = [sys.executable, str(script), *map(str, arguments)]
            environment = {**os.environ, "PYTHONPATH": str(root)}
            done = subprocess.run(run, env=environment, capture_output=True, encoding="utf-8", check=True, cwd=root)
            for key, value in json.loads(done.stdout).items():
                times[key] = min(value, times.get(key, float("inf")))
    return best
