"""What a call from Python costs: a calculator and the checked functions beside Pinocchio, in one run, as ratios.

    pip install '.[bench]' && python tools/bench/calls.py [--json FILE] [--quick] [--beside FOLDER]

For the robots of example-robot-data with six to nine joints and a chain of seven.  Pinocchio's calls (`pin.aba`,
`pin.rnea`, `pin.crba`, `pin.framesForwardKinematics`) write into data that was made before and return them; ours return
new arrays, and have looked at the numbers of arguments and results.  All must agree.  Goals: a calculator's forward
dynamics at most 1.0 times `pin.aba`, the checked function at most 3 times; `frame_pose` at most 1.5 times the checked
forward dynamics.

`--beside` names another checkout of liegeo, whose checked functions are timed in processes of their own, in turns with
processes of this one.  Times are the best of many rounds.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from pathlib import Path

# One thread for everybody: BLAS's own would compete with what is measured.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pinocchio as pin
from beside import HERE, in_turns
from rich.console import Console
from rich.table import Table

import liegeo as lg
from liegeo import dynamics

sys.path.append(str(HERE / "tests" / "dynamics"))
# this folder's, and that of the tests
bench, robots = (importlib.import_module(name) for name in ("dynamics", "robots"))

ROBOTS = ("ur5", "panda", "chain of 7")
# By row: what ours is compared with.
PEERS = {
    "calculator: forward_dynamics": "pin.aba",
    "calculator: forward_dynamics, out=": "pin.aba",
    "checked: forward_dynamics": "pin.aba",
    "calculator: inverse_dynamics": "pin.rnea",
    "checked: inverse_dynamics": "pin.rnea",
    "calculator: mass_matrix": "pin.crba",
    "checked: mass_matrix": "pin.crba",
    "calculator: frame_pose": "checked: forward_dynamics",
    "checked: frame_pose": "checked: forward_dynamics",
    "calculator: outputs, a position": "pin.framesForwardKinematics",
}


def case(name):
    """Return both models, our state and the vectors q, v and tau, which are the same for both."""
    rng = np.random.default_rng(1)
    if name in bench.ROBOTS:
        theirs = robots.load(*bench.ROBOTS[name])
        ours = robots.translate(theirs)
        q, v, state = robots.random_state(theirs, ours, rng)
    else:
        ours, theirs, _ = bench.rigid_chain(int(name.rpartition(" ")[2]), rng)
        q, v = rng.normal(size=(2, theirs.nv))
        state = ours.state(q, v)
    return ours, theirs, state, q, v, rng.normal(size=theirs.nv)


def checked_calls(name):
    """Return the checked functions, which older checkouts have too."""
    model, _, state, _, _, tau = case(name)
    frame = model.bodies[-1]
    return {
        "checked: forward_dynamics": lambda: lg.forward_dynamics(model, state, tau),
        "checked: inverse_dynamics": lambda: dynamics.inverse_dynamics(model, state, tau),
        "checked: mass_matrix": lambda: dynamics.mass_matrix(model, state),
        "checked: frame_pose": lambda: dynamics.frame_pose(model, state, frame),
    }


def all_calls(name):
    """Return all calls by name; stop if their results differ."""
    model, theirs, _, q, v, tau = case(name)
    data, calc, frame, out = theirs.createData(), model.calculator(), model.bodies[-1], np.empty(model.nv)
    position = calc.outputs(f"{frame}.position")
    calls = checked_calls(name) | {
        "pin.aba": lambda: pin.aba(theirs, data, q, v, tau),
        "pin.rnea": lambda: pin.rnea(theirs, data, q, v, tau),
        "pin.crba": lambda: pin.crba(theirs, data, q),
        "pin.framesForwardKinematics": lambda: pin.framesForwardKinematics(theirs, data, q),
        "calculator: forward_dynamics": lambda: calc.forward_dynamics(q, v, tau),
        "calculator: forward_dynamics, out=": lambda: calc.forward_dynamics(q, v, tau, out=out),
        "calculator: inverse_dynamics": lambda: calc.inverse_dynamics(q, v, tau),
        "calculator: mass_matrix": lambda: calc.mass_matrix(q),
        "calculator: frame_pose": lambda: calc.frame_pose(q, frame),
        "calculator: outputs, a position": lambda: position(q, v),
    }
    for ours, peer in PEERS.items():
        if peer in ("pin.aba", "pin.rnea", "pin.crba"):
            bench.check_results(f"{name}, {ours}", {"liegeo": calls[ours]()}, np.array(calls[peer]()))
    pin.forwardKinematics(theirs, data, q)
    bench.check_results(name, {"frame_pose": calls["checked: frame_pose"]()}, data.oMi[theirs.njoints - 1].homogeneous)
    bench.check_results(name, {"outputs": position(q, v)}, data.oMi[theirs.njoints - 1].translation)
    return calls


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--quick", action="store_true", help="one robot, shorter")
    parser.add_argument("--beside", help="another checkout of liegeo")
    parser.add_argument("--checked", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.checked:
        found = {}
        for name in ROBOTS:
            calls = checked_calls(name)
            times = bench.best(*calls.values(), seconds=options.checked)
            found |= {f"{name}, {call}": t for call, t in zip(calls, times, strict=True)}
        print(json.dumps(found))
        return
    names, seconds = (ROBOTS[:1], 0.05) if options.quick else (ROBOTS, 0.4)
    console, figures = Console(width=max(Console().width, 120)), {}
    for name in names:
        calls = all_calls(name)
        times = dict(zip(calls, bench.best(*calls.values(), seconds=seconds), strict=True))
        table = Table(name, "µs", "beside", "µs", "ratio")
        for ours, peer in PEERS.items():
            ratio = times[ours] / times[peer]
            figures[f"{name}, {ours}"] = {"seconds": times[ours], "peer": times[peer], "ratio": ratio}
            table.add_row(ours, f"{1e6 * times[ours]:.2f}", peer, f"{1e6 * times[peer]:.2f}", f"{ratio:.2f}")
        console.print(table)
    if options.beside:
        this, other = in_turns(Path(__file__), ["--checked", 0.5 * seconds], options.beside, 3)
        table = Table("this checkout beside the other", "µs", "other µs", "ratio")
        for key, t in this.items():
            figures[f"{key}, beside"] = {"seconds": t, "peer": other[key], "ratio": t / other[key]}
            table.add_row(key, f"{1e6 * t:.2f}", f"{1e6 * other[key]:.2f}", f"{t / other[key]:.2f}")
        console.print(table)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
