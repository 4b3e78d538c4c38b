"""How much faster two threads run two simulations of one model than one thread does, with the same bits.

    python tools/bench/threads.py [--repeat N] [--quick]

The loop over steps releases the GIL (`nogil` in liegeo/_jit.py).  Goal: at least 1.8 times the throughput of one
thread, on a machine with two cores and nothing else to do.  Each figure is the best of N, taken in turns.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import liegeo as lg
from liegeo.model.model import State


def chain(n: int) -> Any:
    """Return a model of n links, joined by hinges about axes in turns."""
    bodies = [lg.Body(f"link{i}", mass=1.0, com=(0.0, 0.0, -0.5), inertia=(0.1, 0.1, 0.01)) for i in range(n)]
    axes = ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
    hinges = [
        lg.Revolute(
            name=f"hinge{i}",
            parent=f"link{i - 1}" if i else "world",
            at=(0.0, 0.0, -1.0) if i else None,
            child=f"link{i}",
            axis=axes[i % 2],
            damping=0.1,
        )
        for i in range(n)
    ]
    return lg.Tree(bodies, hinges, name="chain").compile()


def run(model: Any, start: float, seconds: float) -> Any:
    """Simulate from a position of its own."""
    q = np.full(model.nq, start)
    return lg.simulate(model, State(q, np.zeros(model.nv)), seconds, method="rkmk-4", step=1e-4)


def timed(model: Any, starts: tuple[float, ...], seconds: float) -> tuple[float, list[Any]]:
    """Return how long simulations take, each in a thread of its own, and what they find."""
    found: dict[float, Any] = {}

    def one(start: float) -> None:
        found[start] = run(model, start, seconds)

    threads = [threading.Thread(target=one, args=(start,)) for start in starts]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began, [found[start] for start in starts]


def main(repeat: int = 5, quick: bool = False) -> float:
    model, seconds, starts = chain(8), 0.2 if quick else 10.0, (0.3, 0.7)
    alone = [run(model, start, seconds) for start in starts]
    best_one = best_two = float("inf")
    for _ in range(repeat):
        # each thread after the other's end, and both at once
        one = sum(timed(model, (start,), seconds)[0] for start in starts)
        two, together = timed(model, starts, seconds)
        best_one, best_two = min(best_one, one), min(best_two, two)
        for before, now in zip(alone, together, strict=True):
            if before.q.tobytes() != now.q.tobytes() or before.v.tobytes() != now.v.tobytes():
                raise SystemExit("two threads give other bits than one")
    print(f"two simulations, one after the other {best_one:8.3f} s", flush=True)
    print(f"two simulations, in two threads      {best_two:8.3f} s")
    print(f"throughput                           {best_one / best_two:8.2f} times that of one thread; same bits")
    return best_one / best_two


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    main(given.repeat, given.quick)
