"""Ten modes of a large model: sparse, as `modes(number=10)` finds them, beside the dense matrices of the linear model.

    python tools/bench/modes.py [--sizes 300 1000 5000] [--dense-up-to 1000] [--quick]

Two models for each number of coordinates: a hanging chain of hinges, whose stiffness is all geometric, and a row of
flexible beams with ten modes and six static shapes each, on hinges with springs.  Each figure is one run in a process
of its own: the time of `modes` with kernels compiled and the model made, and how much more memory the process took at
most.  The frequencies of both ways are compared: where mass matrices are badly conditioned, as that of the row of beams
is, it is the dense way that loses digits.  5000 coordinates take it several minutes and 5 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import liegeo as lg
from liegeo import flex
from liegeo.analysis import large
from liegeo.analysis.modes import modes

NUMBER = 10


def chain(n: int) -> Any:
    """Return a chain of n links that hangs."""
    bodies = [lg.Body(f"b{k}", mass=1.0 / n, com=(0, 0, -1.0 / n)) for k in range(n)]
    joints = [
        lg.Revolute(
            name=f"j{k}",
            parent=f"b{k - 1}" if k else "world",
            child=f"b{k}",
            at=(0, 0, -1.0 / n if k else 0.0),
            axis=(0, 1, 0),
        )
        for k in range(n)
    ]
    return lg.Tree(bodies, joints, name="chain").compile()


def beams(n: int) -> Any:
    """Return a row of beams on hinges, n coordinates together."""
    aluminium = flex.Material(E=7e10, rho=2700.0, nu=0.33)
    fe = flex.beam(1.0, flex.rectangle(0.03, 0.02), aluminium, n_elements=6)
    beam = flex.reduce(fe, ["6"], n_modes=10, root="0")
    count = round(n / 17)
    bodies = [flex.flexible_body(beam, f"b{k}", ["6"]) for k in range(count)]
    joints = [
        lg.Revolute(
            name=f"j{k}",
            parent=f"b{k - 1}" if k else "world",
            child=f"b{k}",
            at="6" if k else (0, 0, 0),
            axis=(0, 1, 0),
            stiffness=1e4,
        )
        for k in range(count)
    ]
    return lg.Tree(bodies, joints, name="beams", gravity=(0, 0, 0)).compile()


MODELS = {"chain": chain, "beams": beams}


def measure(name: str, n: int, dense: bool) -> dict[str, Any]:
    """Return seconds, megabytes and frequencies of one way."""
    if not dense:
        # what is compiled, or read from the cache, is not part of it
        modes(MODELS[name](large.LARGE + 34), number=NUMBER)
    else:
        large.LARGE = 10**9
        modes(MODELS[name](44), number=NUMBER)
    model = MODELS[name](n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    found = modes(model, number=NUMBER)
    seconds = time.perf_counter() - began
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024.0
    assert (found._linear is not None) == dense
    return {"n": model.nv, "seconds": seconds, "megabytes": more, "frequencies": found.frequencies.tolist()}


def alone(name: str, n: int, dense: bool) -> dict[str, Any]:
    """Do the same in a process of its own."""
    arguments = [sys.executable, __file__, "--one", name, str(n), "dense" if dense else "sparse"]
    done = subprocess.run(arguments, capture_output=True, encoding="utf-8", check=True)
    return dict(json.loads(done.stdout))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[300, 1000, 5000])
    parser.add_argument(
        "--dense-up-to", type=int, default=1000, help="coordinates up to which the dense way is measured"
    )
    parser.add_argument("--quick", action="store_true", help="300 coordinates only")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, n, way = options.one
        print(json.dumps(measure(name, int(n), way == "dense")))
        return
    print(f"{NUMBER} modes: seconds and MB, sparse and dense, and time and memory of dense by sparse")
    for n in [300] if options.quick else options.sizes:
        for name in MODELS:
            sparse = alone(name, n, False)
            line = f"{name:6} {sparse['n']:5}  sparse {sparse['seconds']:7.2f} s {sparse['megabytes']:6.0f} MB"
            if n <= options.dense_up_to:
                dense = alone(name, n, True)
                ratio, memory = (dense[key] / max(sparse[key], 1e-3) for key in ("seconds", "megabytes"))
                off = float(np.max(np.abs(np.divide(sparse["frequencies"], dense["frequencies"]) - 1.0)))
                line += f"  dense {dense['seconds']:7.2f} s {dense['megabytes']:6.0f} MB"
                line += f"  {ratio:5.1f} times the time, {memory:5.1f} times the memory; frequencies to {off:.0e}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
