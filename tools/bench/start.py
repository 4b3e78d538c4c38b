"""How long commands take with a full cache of kernels, beside an empty Python and what loading NumPy and Numba costs.

    python tools/bench/start.py [--repeat N] [--quick] [--old FOLDER]

Each figure is the smallest of N processor times of a process, taken in turns with all others, and its ratio to that of
`import numpy, numba`.  Goals: `liegeo --help` in less than 0.3 s, `liegeo simulate` of a short run at most 3 times.
--old is another working copy, whose commands are run by its own Python (FOLDER/.venv) and take their turns too.

Then `liegeo demo` with an empty cache of kernels, and with a full one (not with --quick): seconds that pass.  Goal:
less than a minute, on two cores.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MODEL = Path(__file__).parents[2] / "models" / "double_pendulum.yaml"
UNIT = "import numpy, numba"
PYTHON = {"python -c pass": ["-c", "pass"], UNIT: ["-c", UNIT]}
COMMANDS = {
    "import liegeo": ["-c", "import liegeo"],
    "liegeo --help": ["-m", "liegeo.cli", "--help"],
    "liegeo simulate --help": ["-m", "liegeo.cli", "simulate", "--help"],
    "liegeo check MODEL": ["-m", "liegeo.cli", "check", str(MODEL)],
    "liegeo info MODEL": ["-m", "liegeo.cli", "info", str(MODEL)],
    "liegeo simulate MODEL": ["-m", "liegeo.cli", "simulate", str(MODEL)],
}


def processor_time(python: str, arguments: list[str], folder: str) -> float:
    """Return the processor time of a process; Python may keep its byte code, as it does for people."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([python, *arguments], cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(repeat: int, old: Path | None) -> dict[str, float]:
    """Return the smallest processor time of each command, after one run that fills caches."""
    jobs = {name: (sys.executable, arguments) for name, arguments in (PYTHON | COMMANDS).items()}
    if old is not None:
        python = str(old.resolve() / ".venv" / "bin" / "python")
        jobs |= {f"{name}, old": (python, arguments) for name, arguments in COMMANDS.items()}
    found = dict.fromkeys(jobs, float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(repeat + 1):
            for name, (python, arguments) in jobs.items():
                seconds = processor_time(python, arguments, folder)
                if turn:
                    found[name] = min(found[name], seconds)
    return found


def main(repeat: int = 7, quick: bool = False, old: Path | None = None) -> dict[str, float]:
    found = measured(repeat, old)
    for name, seconds in found.items():
        print(f"{name:28} {1e3 * seconds:7.0f} ms {seconds / found[UNIT]:7.2f}", flush=True)
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
    parser.add_argument("--old", type=Path)
    given = parser.parse_args()
    main(given.repeat, given.quick, given.old)
