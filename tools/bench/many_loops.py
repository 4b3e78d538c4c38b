"""Mechanisms with many loops, beside Exudyn: how the cost of a step grows with their number.

    pip install '.[bench]' && python tools/bench/many_loops.py [--json FILE] [--quick] [--case NAME]

windows   a row of four-bars side by side, whose loops close at the ground and touch their neighbours only
mast      a chain of scissors that stands up: each loop closes on a bar of the chain, which is twice as long
trunk     a chain of links with a four-bar on every second one
truss     a cantilever of flexible beams: a bay has a chord below, a post and a chord above, and closes by a weld
chain     a hanging chain with a ball at every fourth link that holds it to the ground: loops with long ways in common

Microseconds of the processor per step of 1 ms, ours by RKMK4 with projection and by generalised-α of stabilised index
2.  Exudyn does the windows with its sparse solver, index 2 or generalised-α, whichever is quicker, in the plane (bodies
with three coordinates) and in space.  All must agree about where the last post is.  "together": ours with all rows in
one dense matrix, up to as many loops as that is bearable for.  Exponents are fitted from 20 loops on; the goal is 1.15
where loops are local.

What is missing is said and left out.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import numpy as np
from loops import FEW, STEP, Table, advance, exudyn_settings, import_exudyn, microseconds, processor_seconds, quaternion
from rich.console import Console

import liegeo as lg
from liegeo import flex, integrate, motion
from liegeo import model as lm
from liegeo.kernels import layout as at
from liegeo.model import elimination_plan

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "loops"))
import mechanisms

METHODS = {"RKMK4": integrate.RKMK4, "α, index 2": integrate.generalised_alpha(tolerance=1e-4)}
# Explicit steps of 1 ms do not follow the beams of the truss.
STIFF = {"α, index 2": METHODS["α, index 2"]}
SIZES, GOAL, LOCAL_FROM, LARGEST_TOGETHER = (1, 10, 20, 40, 80, 160, 320, 640), 1.15, 20, 80
SOLVERS = ("TrapezoidalIndex2", "GeneralizedAlpha")
SAME = 1e-3


def rod(name, length=1.0):
    J = length**2 / 12
    return lg.Body(name, mass=1.0, com=(length / 2, 0, 0), inertia=(1e-4, J, J), frames=ends(length))


def ends(length):
    return {"middle": (length / 2, 0, 0), "end": (length, 0, 0)}


def mast(n, angle=0.3):
    """Scissors on top of each other, standing on a hinge and on a foot that slides, and rising."""
    bodies, joints, loops = [], [], []
    q, v = {}, {}
    for k in range(n):
        bodies += [rod(f"a{k}"), rod(f"b{k}")]
        below = ("world", None) if k == 0 else (f"b{k - 1}", "end")
        joints.append(lm.Revolute(name=f"foot{k}", parent=below[0], child=f"a{k}", at=below[1]))
        joints.append(lm.Revolute(name=f"cross{k}", parent=f"a{k}", child=f"b{k}", at="middle", child_at="middle"))
        turned, rate = np.pi - 2 * angle, -2.0
        q |= {f"foot{k}": angle if k == 0 else -turned, f"cross{k}": turned}
        v |= {f"foot{k}": 1.0 if k == 0 else -rate, f"cross{k}": rate}
        if k == 0:
            loops.append(lm.PointOnLine(name="slide", a="world", b="b0", axis=(1, 0, 0)))
        else:
            loops.append(lm.Revolute(name=f"loop{k}", parent=f"a{k - 1}", child=f"b{k}", at="end"))
    tree = lm.Tree(bodies, joints, loops=loops, gravity=(0, -9.81, 0), name="mast")
    model = tree.compile()
    speed = 1.0 / n
    return model, model.state(q=q, v={name: speed * x for name, x in v.items()})


def trunk(n):
    """2 n links in a chain, hanging, each second one with a four-bar of three rods of which it is the ground."""
    bodies, joints, loops = [], [], []
    q = {}
    for k in range(2 * n):
        bodies.append(rod(f"link{k}"))
        before = ("world", None) if k == 0 else (f"link{k - 1}", "end")
        joints.append(lm.Revolute(name=f"trunk{k}", parent=before[0], child=f"link{k}", at=before[1]))
        q[f"trunk{k}"] = -1.5 if k == 0 else 0.02 * (-1) ** k
        if k % 2:
            bodies += [rod(f"crank{k}", 0.5), rod(f"coupler{k}", 1.0), rod(f"rocker{k}", 0.5)]
            joints += [
                lm.Revolute(name=f"hip{k}", parent=f"link{k}", child=f"crank{k}"),
                lm.Revolute(name=f"knee{k}", parent=f"crank{k}", child=f"coupler{k}", at="end"),
                lm.Revolute(name=f"pivot{k}", parent=f"link{k}", child=f"rocker{k}", at="end"),
            ]
            loops.append(
                lm.Revolute(name=f"loop{k}", parent=f"coupler{k}", child=f"rocker{k}", at="end", child_at="end")
            )
            q |= {f"hip{k}": 1.2, f"knee{k}": -1.2, f"pivot{k}": 1.2}
    model = lm.Tree(bodies, joints, loops=loops, gravity=(0, -9.81, 0), name="trunk").compile()
    return model, model.state(q=q)


@functools.cache
def beam():
    """A metre of aluminium with three modes in the plane and stretching, between its ends."""
    section = flex.Section(A=1e-3, Iy=1e-7, Iz=1e-7, J=2e-7)
    fe = flex.beam(1.0, section, flex.Material(E=7e10, rho=2700.0, nu=0.3), 4, name="beam")
    last = str(4)
    reduction = flex.reduce(fe, {"0": range(6), last: range(6)}, n_modes=0, root="0")
    return reduction, last


def truss(n):
    """n bays of beams with the modes of their ends, welded together, held at one end; weight acts on it."""
    reduction, last = beam()
    bodies, joints, loops = [], [], []
    up = np.array([[0.0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    down = np.linalg.inv(up)

    def weld(name, parent, at, turn):
        bodies.append(flex.flexible_body(reduction, name, ["0", last]))
        if parent == "world":
            return joints.append(lm.Fixed(name=f"to {name}", parent=parent, child=name, at=at, child_at="0"))
        bodies.append(lg.Body(f"corner of {name}", mass=0.01, inertia=(1e-5, 1e-5, 1e-5), frames={"turned": turn}))
        joints.append(lm.Fixed(name=f"at {name}", parent=parent, child=f"corner of {name}", at=at))
        return joints.append(
            lm.Fixed(name=f"to {name}", parent=f"corner of {name}", child=name, at="turned", child_at="0")
        )

    top = np.eye(4)
    top[1, 3] = 1.0
    for k in range(n):
        weld(f"below{k}", *(("world", None) if k == 0 else (f"below{k - 1}", last)), np.eye(4))
        weld(f"post{k}", f"below{k}", last, up)
        weld(f"above{k}", *(("world", top) if k == 0 else (f"post{k - 1}", last)), down)
        bodies.append(lg.Body(f"end{k}", mass=0.01, inertia=(1e-5, 1e-5, 1e-5), frames={"turned": up}))
        joints.append(lm.Fixed(name=f"end of {k}", parent=f"above{k}", child=f"end{k}", at=last))
        loops.append(lm.Fixed(name=f"loop{k}", parent=f"end{k}", child=f"post{k}", at="turned", child_at=last))
    model = lm.Tree(bodies, joints, loops=loops, gravity=(0, -9.81, 0), name="truss").compile()
    return model, model.state()


def chain(n):
    """4 n links of a hanging chain, each fourth one held to the ground by a rod of a fixed length."""
    bodies, joints, loops, q = [], [], [], {}
    for k in range(4 * n):
        bodies.append(rod(f"link{k}", 0.25))
        before = ("world", None) if k == 0 else (f"link{k - 1}", "end")
        joints.append(lm.Revolute(name=f"joint{k}", parent=before[0], child=f"link{k}", at=before[1]))
        q[f"joint{k}"] = -0.3 if k == 0 else 0.3 * (-1) ** (k + 1) * 2
        if k % 4 == 3:
            loops.append(lm.Distance(name=f"rod{k}", a=("world", (0.25 * k, 2.0, 0.0)), b=f"link{k}.end", length=2.0))
    tree = lm.Tree(bodies, joints, gravity=(0, -9.81, 0), name="chain").compile()
    state = tree.state(q=q)
    found = []
    for loop in loops:
        X = lg.dynamics.frame_pose(tree, state, loop.b)
        found.append(replace(loop, length=float(np.linalg.norm(X[:3, 3] - np.array(loop.a[1])))))
    return replace(tree.tree, loops=found).compile(), state


CASES = {
    "windows": (mechanisms.ladder, METHODS),
    "mast": (mast, METHODS),
    "trunk": (trunk, METHODS),
    "truss": (truss, STIFF),
    "chain": (chain, METHODS),
}


def best(*functions, seconds=0.2):
    """Return the best time of the processor for one call of each function, in turns."""
    result = [np.inf] * len(functions)
    for function in functions:
        function()
    end = time.perf_counter() + seconds * len(functions)
    while time.perf_counter() < end:
        for i, function in enumerate(functions):
            # once without the clock: the others have used the caches since
            function()
            result[i] = min(result[i], processor_seconds(function))
    return result


def stepper_of(model, state, method):
    """Return a function that makes a few steps from the state, and the coordinates at their end."""
    problem = integrate.Problem.of(motion.system(model), state.q, state.v, STEP * FEW)
    stepper = integrate.Stepper(problem, method)
    start, memory = np.array(problem.start), stepper.memory.copy()
    return functools.partial(advance, stepper, start, memory, STEP, FEW)


def exudyn_windows(n, plane):
    """The row of windows in Exudyn, and the sensor of the tip of its last post."""
    exu, item = import_exudyn()
    system = exu.SystemContainer().AddSystem()
    ground = system.AddObject(item.ObjectGround())
    half = 0.5

    def body(x, y, angle, u, w):
        if plane:
            place = {"referenceCoordinates": [x, y, angle], "initialVelocities": [*u, w]}
            number = system.AddObject(
                item.ObjectRigidBody2D(
                    nodeNumber=system.AddNode(item.NodeRigidBody2D(**place)), mass=1.0, inertia=1 / 12
                )
            )
        else:
            c, s = np.cos(angle), np.sin(angle)
            turned = quaternion(np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]))
            # rates of Euler parameters: half the quaternion times the speed
            a, _, _, d = turned
            rates = [-0.5 * d * w, 0.0, 0.0, 0.5 * a * w]
            node = system.AddNode(
                item.NodeRigidBodyEP(referenceCoordinates=[x, y, 0.0, *turned], initialVelocities=[*u, 0.0, *rates])
            )
            J = [1e-4, 1 / 12, 1 / 12, 0.0, 0.0, 0.0]
            number = system.AddObject(item.ObjectRigidBody(nodeNumber=node, mass=1.0, inertia=J))
        mass = system.AddMarker(item.MarkerBodyMass(bodyNumber=number))
        system.AddLoad(item.LoadMassProportional(markerNumber=mass, loadVector=[0.0, -9.81, 0.0]))
        return number

    def hinge(a, at_a, b, at_b, closes=False):
        kind = item.MarkerBodyPosition if plane else item.MarkerBodyRigid
        markers = [
            system.AddMarker(kind(bodyNumber=number, localPosition=[*where, 0.0][:3]))
            for number, where in ((a, at_a), (b, at_b))
        ]
        if closes and not plane:
            # what else a hinge holds is redundant, which its solver does not take
            system.AddObject(item.ObjectJointGeneric(markerNumbers=markers, constrainedAxes=[1, 1, 0, 0, 0, 0]))
            return
        system.AddObject((item.ObjectJointRevolute2D if plane else item.ObjectJointRevoluteZ)(markerNumbers=markers))

    before = None
    for k in range(n + 1):
        post = body(k, half, np.pi / 2, [half, 0.0], -1.0)
        hinge(ground, [k, 0.0], post, [-half, 0.0])
        if before is not None:
            hinge(before, [half, 0.0], post, [half, 0.0], closes=True)
        if k < n:
            before = body(k + half, 1.0, 0.0, [1.0, 0.0], 0.0)
            hinge(post, [half, 0.0], before, [-half, 0.0])
    tip = system.AddMarker(item.MarkerBodyRigid(bodyNumber=post, localPosition=[half, 0.0, 0.0]))
    system.Assemble()
    return exu, system, tip


def exudyn_steps(n, plane, method):
    """Return a function that makes the same steps, and where the tip of the last post then is."""
    exu, system, tip = exudyn_windows(n, plane)
    settings = exudyn_settings(exu, STEP * FEW * 10, FEW * 10, "EigenSparse")

    def go():
        system.SolveDynamic(settings, solverType=getattr(exu.DynamicSolverType, method))

    go()
    where = np.array(system.GetMarkerOutput(tip, exu.OutputVariableType.Position, exu.ConfigurationType.Current))
    return go, where


def row_of(name, n, seconds, with_exudyn):
    """One case and size: its numbers, and seconds a step by name."""
    make, methods = CASES[name]
    model, state = make(n)
    steps = {label: stepper_of(model, state, method) for label, method in methods.items()}
    ends = {label: go().copy() for label, go in steps.items()}
    apart = bool(model.ints[at.ELIMINATION])
    if n <= LARGEST_TOGETHER and name != "truss":
        with mock.patch.object(elimination_plan, "FROM_ROWS", 10**9):
            together, _ = make(n)
        for label, method in methods.items():
            steps[f"{label}, together"] = stepper_of(together, state, method)
    found = dict(zip(steps, best(*steps.values(), seconds=seconds), strict=True))
    found = {label: t / FEW for label, t in found.items()}
    if name == "windows" and with_exudyn:
        exact = integrate.solve(
            integrate.Problem.of(motion.system(model), state.q, state.v, STEP * FEW * 10), integrate.RKMK4, FEW * 10
        ).y[-1]
        post = lg.dynamics.frame_pose(model, lm.State(exact[: model.nq], exact[model.nq :]), f"post{n}.end")[:3, 3]
        for kind, plane in (("plane", True), ("space", False)):
            times = []
            for method in SOLVERS:
                try:
                    go, where = exudyn_steps(n, plane, method)
                except Exception as error:
                    print(f"Exudyn, {kind}, {method}: {str(error).splitlines()[0]}", file=sys.stderr)
                    continue
                if np.abs(where[:2] - post[:2]).max() > SAME:
                    print(f"Exudyn, {kind}, {method}, {n}: another motion, {where} and {post}", file=sys.stderr)
                    continue
                times.append(best(go, seconds=seconds)[0] / (FEW * 10))
            if times:
                found[f"Exudyn, {kind}"] = min(times)
    return {
        "case": name,
        "n": n,
        "bodies": len(model.bodies),
        "rows": len(model.rows),
        "one by one": apart,
        "differ": float(max(np.abs(ends[a] - ends[b]).max() for a in ends for b in ends)),
        "seconds": found,
    }


def exponents(rows):
    """By case and name, p of seconds ~ nᵖ from 20 loops on."""
    out = {}
    for case in dict.fromkeys(row["case"] for row in rows):
        mine = [row for row in rows if row["case"] == case and row["n"] >= LOCAL_FROM]
        out[case] = {}
        for label in dict.fromkeys(label for row in mine for label in row["seconds"]):
            pairs = [(row["n"], row["seconds"][label]) for row in mine if label in row["seconds"]]
            if len(pairs) > 1:
                n, t = zip(*pairs, strict=True)
                out[case][label] = float(np.polyfit(np.log(n), np.log(t), 1)[0])
    return out


def show(console, rows, fitted):
    for case in fitted:
        mine = [row for row in rows if row["case"] == case]
        labels = list(dict.fromkeys(label for row in mine for label in row["seconds"]))
        table = Table("loops", "bodies", "rows", "eliminated", *(f"{label} µs" for label in labels))
        for row in mine:
            cells = [microseconds(row["seconds"][x]) if x in row["seconds"] else "" for x in labels]
            how = "one by one" if row["one by one"] else "together"
            table.add_row(*(str(row[x]) for x in ("n", "bodies", "rows")), how, *cells)
        found = fitted[case]
        console.print(case, highlight=False)
        table.add_row("exponent", "", "", "", *(f"{found[x]:.2f}" if x in found else "" for x in labels))
        console.print(table)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument("--case", choices=CASES, action="append", help="only these")
    options = parser.parse_args(argv)
    with_exudyn = find_spec("exudyn") is not None
    if not with_exudyn:
        print("exudyn is not installed: left out.")
    sizes, seconds = ((1, 3), 0.02) if options.quick else (SIZES, 0.3)
    largest = {"truss": 160, "chain": 80}
    rows = [
        row_of(name, n, seconds, with_exudyn)
        for name in options.case or CASES
        for n in sizes
        if n <= largest.get(name, sizes[-1])
    ]
    fitted = exponents(rows)
    console = Console(width=max(Console().width, 170))
    show(console, rows, fitted or {name: {} for name in CASES})
    if options.json:
        options.json.write_text(json.dumps({"rows": rows, "exponents": fitted}, indent=1))


if __name__ == "__main__":
    main()
