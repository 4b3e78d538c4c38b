"""How fast the Lie groups are, beside SciPy's Rotation and RigidTransform, in the same run and on one thread.

    python tools/bench/lie.py [--size N] [--repeats N] [--json FILE]

Measured, for SO3, SO3Q, SE3 and SE3Q:

- a batch of a million: exponential, logarithm, adjoint action on a twist, composition, action on a point.
  The goal: each at least three times as fast as SciPy;
- the same calls with a single element, which is what a call from Python costs;
- compiling SE3.exp and SE3.log into an empty cache, and loading them from it, each in a new process.

Each library starts from its own form, made before the clock starts: Rotation holds quaternions, RigidTransform 4×4
matrices, ours what the group's name says.  Only exp and log of SO3, whose point is matrices, end and begin with
matrices on both sides; what else SO3 does, it does with 72 bytes an element to Rotation's 32, and memory sets the pace.
Both check their input: SciPy in its constructors, we in every call.  SciPy has no adjoint action.  For a rotation that
is its action on a vector; for a pose the fastest we could make of its public parts, with rotation and position taken
out before the clock starts: `apply` twice, a cross product and a sum.

SciPy has two implementations: one for batches with one axis, another, at times faster, for more.  The better counts.
The two sides of a row must agree to 1e-9 before they are timed.  They take turns, and the best time of each counts.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

# Libraries count their threads when they are loaded, hence before the imports below.
# ruff: noqa: E402
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import llvmlite.binding
import numba
import numpy as np
import scipy
from rich.console import Console
from rich.table import Table
from rich.text import Text
from scipy.spatial.transform import RigidTransform, Rotation

import liegeo
from liegeo.lie import SE3, SE3Q, SO3, SO3Q

GOAL = 3.0

# What a new process does to report the seconds of its first calls.
FIRST_CALLS = """
import json, time
import numpy as np
from liegeo.lie import SE3
seconds = {}
for name, argument in (("exp", np.zeros(6)), ("log", np.eye(4))):
    start = time.perf_counter()
    getattr(SE3, name)(argument)
    seconds[name] = time.perf_counter() - start
print(json.dumps(seconds))
"""

Pair = tuple[str, Callable[[], Any], Callable[[], Any]]


def rotation_pairs(G: Any, shape: tuple[int, ...], rng: np.random.Generator) -> Iterator[Pair]:
    """Name, our call, SciPy's call."""
    X, Y, p = G.random(shape, rng=rng), G.random(shape, rng=rng), rng.uniform(-1.0, 1.0, (*shape, 3))
    A, B, w = G.to_scipy(X), G.to_scipy(Y), G.log(X)
    if G is SO3:
        yield "exp", lambda: G.exp(w), lambda: Rotation.from_rotvec(w).as_matrix()
        yield "log", lambda: G.log(X), lambda: Rotation.from_matrix(X).as_rotvec()
    else:
        yield "exp", lambda: G.exp(w), lambda: Rotation.from_rotvec(w)
        yield "log", lambda: G.log(X), A.as_rotvec
    yield "Ad_apply", lambda: G.Ad_apply(X, p), lambda: A.apply(p)
    yield "compose", lambda: G.compose(X, Y), lambda: A * B
    yield "act", lambda: G.act(X, p), lambda: A.apply(p)


def pose_pairs(G: Any, shape: tuple[int, ...], rng: np.random.Generator) -> Iterator[Pair]:
    """Name, our call, SciPy's call."""
    X, Y, p = G.random(shape, rng=rng), G.random(shape, rng=rng), rng.uniform(-1.0, 1.0, (*shape, 3))
    A, B, V = G.to_scipy(X), G.to_scipy(Y), G.log(X)
    rotation, position = A.rotation, A.translation

    def adjoint() -> Any:
        """(R w, R v + p × R w)."""
        out = np.empty_like(V)
        out[..., :3] = rotation.apply(V[..., :3])
        np.add(rotation.apply(V[..., 3:]), np.cross(position, out[..., :3]), out=out[..., 3:])
        return out

    yield "exp", lambda: G.exp(V), lambda: RigidTransform.from_exp_coords(V)
    yield "log", lambda: G.log(X), A.as_exp_coords
    yield "Ad_apply", lambda: G.Ad_apply(X, V), adjoint
    yield "compose", lambda: G.compose(X, Y), lambda: A * B
    yield "act", lambda: G.act(X, p), lambda: A.apply(p)


GROUPS = ((SO3, rotation_pairs), (SO3Q, rotation_pairs), (SE3, pose_pairs), (SE3Q, pose_pairs))


def require_agreement(G: Any, operation: str, ours: Any, theirs: Any) -> None:
    if operation in ("exp", "compose"):
        ours, theirs = G.matrix(ours), theirs if isinstance(theirs, np.ndarray) else theirs.as_matrix()
    gap = np.abs(ours - theirs).max()
    if not gap < 1e-9:
        raise SystemExit(f"{G.name}.{operation}: liegeo and SciPy differ by {gap:.1e}; there is nothing to compare.")


def best_times(calls: Sequence[Callable[[], Any]], repeats: int, loops: int) -> list[float]:
    """Seconds a call, the calls taking turns."""
    best = [float("inf")] * len(calls)
    for _ in range(repeats):
        for i, call in enumerate(calls):
            start = time.perf_counter()
            for _ in range(loops):
                call()
            best[i] = min(best[i], (time.perf_counter() - start) / loops)
    return best


def measure(shapes: Sequence[tuple[int, ...]], repeats: int, loops: int) -> list[dict[str, Any]]:
    """A row for every group and operation, in nanoseconds an element: ours in the first shape, SciPy's in its best."""
    rows = []
    for G, pairs in GROUPS:
        for same in zip(*(pairs(G, shape, np.random.default_rng(0)) for shape in shapes), strict=True):
            operation, ours, theirs = same[0]
            require_agreement(G, operation, ours(), theirs())
            seconds = best_times([ours, *(pair[2] for pair in same)], repeats, loops)
            mine, scipys = (1e9 * t / math.prod(shapes[0]) for t in (seconds[0], min(seconds[1:])))
            row = {"group": G.name, "operation": operation, "liegeo_ns": mine, "scipy_ns": scipys}
            rows.append({**row, "ratio": scipys / mine})
    return rows


def first_calls() -> dict[str, dict[str, float]]:
    """Seconds of the first SE3.exp and SE3.log of a process: compiled, then loaded."""
    with tempfile.TemporaryDirectory() as cache:
        root = str(Path(liegeo.__file__).parents[1])
        environment = {**os.environ, "LIEGEO_CACHE_DIR": cache, "PYTHONPATH": root}
        command = [sys.executable, "-c", FIRST_CALLS]
        runs = [subprocess.run(command, env=environment, check=True, capture_output=True) for _ in range(2)]
    return dict(zip(("compile", "load"), (json.loads(run.stdout) for run in runs), strict=True))


def table(title: str, rows: list[dict[str, Any]], goal: float | None) -> Table:
    result = Table("group", "operation", "liegeo, ns", "SciPy, ns", "ratio", title=title)
    for row in rows:
        if result.rows and row["operation"] == rows[0]["operation"]:
            result.add_section()
        style = None if goal is None else "green" if row["ratio"] >= goal else "red"
        numbers = (f"{row[key]:,.1f}" for key in ("liegeo_ns", "scipy_ns"))
        result.add_row(row["group"], row["operation"], *numbers, Text(f"{row['ratio']:.1f}", style or ""))
    for column in result.columns[2:]:
        column.justify = "right"
    return result


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", type=int, default=1_000_000, metavar="N", help="elements of a batch")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="turns, of which the best counts")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here too")
    options = parser.parse_args(argv)
    if min(options.size, options.repeats) < 1:
        parser.error("--size and --repeats must be at least 1")

    versions = {"python": platform.python_version(), **{m.__name__: m.__version__ for m in (np, scipy, numba, liegeo)}}
    processor = f"{llvmlite.binding.get_host_cpu_name()} ({platform.machine()})"
    console = Console()
    console.print(", ".join(f"{name} {version}" for name, version in versions.items()) + f"; {processor}; one thread")
    batch = measure([(options.size,), (1, options.size)], options.repeats, max(1, 200_000 // options.size))
    console.print(table(f"a batch of {options.size:,}: an element (goal: a ratio of {GOAL:g})", batch, GOAL))
    single = measure([()], options.repeats, 1000)
    console.print(table("a single element: a call from Python", single, None))
    start = first_calls()
    for what, seconds in start.items():
        console.print(f"first call, {what}: " + ", ".join(f"SE3.{n} {1e3 * s:.0f} ms" for n, s in seconds.items()))
    if options.json:
        everything = {"versions": versions, "processor": processor, "size": options.size, "start": start}
        options.json.write_text(json.dumps({**everything, "batch": batch, "single": single}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
