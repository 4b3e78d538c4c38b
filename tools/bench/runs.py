"""What simulations cost beside another checkout of liegeo, in one run, as ratios.

    python tools/bench/runs.py FOLDER [--json FILE] [--quick]

FOLDER is the other checkout: `git worktree add ../before COMMIT` makes one.  Long runs with two samples show the steps;
short ones show what a run costs beside its steps.  Each checkout runs in processes of its own, in turns, and the best
processor time of all counts.  A motion that only one of them has is an error; goal of a change that is not about speed:
no ratio above 1.03.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from beside import in_turns
from rich.console import Console
from rich.table import Table

import liegeo as lg
from liegeo import flex, integrate
from liegeo import model as lm

GENERALISED_ALPHA = "generalised-alpha-0.8"


def rigid_chain(n):
    """Return a chain of n links that hang on hinges."""
    links = [lm.Body(f"b{k}", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01)) for k in range(n)]
    parents = ["world", *(f"b{k}" for k in range(n - 1))]
    hinges = [
        lm.Revolute(name=f"j{k}", parent=parents[k], child=f"b{k}", at=(0, 0, -1.0 if k else 0.0), axis=(0, 1, 0))
        for k in range(n)
    ]
    return lm.Tree(links, hinges).compile()


def flexible_chain(n):
    """Return the chain of simulate.py with n flexible links."""
    beam = flex.beam(1.0, flex.rectangle(0.02, 0.01), flex.Material(E=70e9, rho=2700.0, nu=0.3), 8)
    modes = flex.reduce(beam, interfaces=["0", "8"], root="0", n_modes=2)
    links = [flex.flexible_body(modes, f"link{i}", nodes=["8"]) for i in range(n)]
    ends = [("world", None), *((f"link{i}", "8") for i in range(n - 1))]
    hinges = [
        lm.Revolute(name=f"hinge{i}", parent=parent, at=at, child=f"link{i}", child_at="0", axis=(0, 1, 0))
        for i, (parent, at) in enumerate(ends)
    ]
    return lm.Tree(links, hinges, gravity=(0, 0, -9.81)).compile()


def from_file(name):
    """Return a model of models/, its state, and what its experiment drives it by."""
    mechanism = lg.load(Path("models") / f"{name}.yaml")
    return mechanism.compile(), mechanism.state(), dict(mechanism.experiment.inputs)


def cases(quick):
    """Return what to time, by name: functions of no arguments."""
    two, seven = rigid_chain(2), rigid_chain(7)
    start = two.state(q={"j0": 0.3}, v={"j1": 1.0})
    seven_start = seven.state(q={f"j{k}": 0.3 for k in range(7)})
    chain, (arm, arm_start, inputs) = flexible_chain(4), from_file("flexible_arm")
    chosen = {"method": "rkmk-54", "rtol": 1e-8, "atol": 1e-10}
    alpha = {"method": integrate.midpoint_alpha(0.6, 2e-3), "step": 5e-3}
    found = {
        "short: 2 links, 50 steps of rkmk-4": (two, start, 0.05, {"method": "rkmk-4", "step": 1e-3}),
        "short: 2 links, chosen steps, 0.3 s": (two, start, 0.3, chosen),
        "short: 2 links, 50 steps of generalised-α": (two, start, 0.05, {"method": GENERALISED_ALPHA, "step": 1e-3}),
        "7 links, rkmk-4": (seven, seven_start, 3.0, {"method": "rkmk-4", "step": 1e-3}),
        "flexible arm, generalised-α": (arm, arm_start, 3.0, {"method": GENERALISED_ALPHA, "step": 1e-3}),
        "flexible arm, lie-bdf-2": (arm, arm_start, 3.0, {"method": "lie-bdf-2", "step": 1e-3}),
        "flexible arm, driven, generalised-α": (
            *(arm, arm_start, 3.0),
            {"method": GENERALISED_ALPHA, "step": 1e-3, "inputs": inputs},
        ),
        "flexible arm, rosenbrock-3": (arm, arm_start, 1.0, {"method": "rosenbrock-3", "step": 1e-3}),
        "4 flexible links, midpoint-α at 5 ms": (chain, chain.state(), 1.0, alpha),
    }
    for name, t_end, step in (("bricard", 2.0, 1e-3), ("andrews_squeezer", 0.03, 1e-5), ("sy16_four_bar", 0.5, 1e-3)):
        model, state, laws = from_file(name)
        for method in ("rkmk-4", GENERALISED_ALPHA):
            if name == "sy16_four_bar" and method == "rkmk-4":
                continue
            found[f"{name}, {method}"] = (model, state, t_end, {"method": method, "step": step, "inputs": laws})
    if quick:
        found = dict(list(found.items())[:2])
    return {name: _run(*given) for name, given in found.items()}


def _run(model, state, t_end, arguments):
    return lambda: lg.simulate(model, state, t_end=t_end, output=[0.0, t_end], progress=False, **arguments)


def times(quick):
    """Return the best processor time of each run."""
    found, seconds = {}, 0.1 if quick else 1.0
    for name, run in cases(quick).items():
        run()
        best, end = float("inf"), time.perf_counter() + seconds
        while time.perf_counter() < end:
            start = time.process_time()
            run()
            best = min(best, time.process_time() - start)
        found[name] = best
    return found


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", help="another checkout of liegeo")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--quick", action="store_true", help="two short runs")
    parser.add_argument("--times", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.times:
        print(json.dumps(times(options.quick)))
        return
    if not options.folder:
        parser.error("name the folder of another checkout of liegeo: git worktree add ../before COMMIT makes one")
    arguments = ["--times", *(["--quick"] if options.quick else [])]
    this, other = in_turns(Path(__file__), arguments, options.folder, 1 if options.quick else 3)
    table, figures = Table("run", "ms", "other ms", "ratio"), {}
    for name, seconds in this.items():
        figures[name] = {"seconds": seconds, "other": other[name], "ratio": seconds / other[name]}
        table.add_row(name, f"{1e3 * seconds:.3f}", f"{1e3 * other[name]:.3f}", f"{seconds / other[name]:.3f}")
    Console(width=max(Console().width, 100)).print(table)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
