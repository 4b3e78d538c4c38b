"""How long `liegeo --help` takes, beside an empty Python and what loading everything costs; and the demo.

    python tools/bench/start.py [--repeat N] [--quick]

Each figure is the shortest of N starts of a process.  Goal: `liegeo --help` in less than 0.3 s.  Then `liegeo demo`
with an empty cache of kernels, and with a full one (not with --quick).  Goal: less than a minute, on two cores.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MODEL = Path(__file__).parents[2] / "models" / "double_pendulum.yaml"
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import liegeo": ["-c", "import liegeo"],
    "liegeo --help": ["-m", "liegeo.cli", "--help"],
    "liegeo simulate --help": ["-m", "liegeo.cli", "simulate", "--help"],
    "liegeo check MODEL": ["-m", "liegeo.cli", "check", str(MODEL)],
    "import numpy, scipy, numba": ["-c", "import numpy, scipy.sparse.linalg, numba"],
}


def shortest(arguments: list[str], repeat: int) -> float:
    """Seconds of the quickest of several starts."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
        best = min(best, time.perf_counter() - start)
    return best


def main(repeat: int = 7, quick: bool = False) -> dict[str, float]:
    found = {}
    for name, arguments in COMMANDS.items():
        found[name] = shortest(arguments, repeat)
        print(f"{name:28} {1e3 * found[name]:7.0f} ms", flush=True)
    if quick:
        return found
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "LIEGEO_CACHE_DIR": folder}
        demo = [sys.executable, "-m", "liegeo.cli", "demo", "--quiet", "--folder", f"{folder}/demo"]
        for name in ("liegeo demo, the first", "liegeo demo, then"):
            start = time.perf_counter()
            subprocess.run(demo, env=environment, stdout=subprocess.DEVNULL, check=True)
            found[name] = time.perf_counter() - start
            print(f"{name:28} {found[name]:7.1f} s", flush=True)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    main(given.repeat, given.quick)
