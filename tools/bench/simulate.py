"""Simulations beside Exudyn and Pinocchio, in one run, as ratios; what the first run costs.

    pip install '.[bench,fe]' && python tools/bench/simulate.py [--json FILE] [--quick]

(a) A chain of 4 and of 16 flexible links, released from rest along x: each 0.5 m long, 20 mm (y) × 4 mm (z), of
    aluminium, without damping, reduced after Craig and Bampton with 6 static and 2 dynamic modes, hinges about y.
    Seconds for one simulated second, and how far the tip is at one instant, its end, from where the same model is with
    a far smaller step (ours 25 µs, Exudyn's 250 µs), so that what a beam and a solid differ by is no error; with 4
    links also from what is known, which must be near too.  Each row is the best of as many attempts.
    Ours are beams, one call of `lg.simulate`.  Exudyn's are `ObjectFFRFreducedOrder`, of solid elements
    whose ends are rigid, with its fast module, modified Newton, no output, and of its linear solvers the quickest at
    5 ms; both its methods, with Euler parameters and with rotation vectors.  For both, steps and Newton's tolerance go
    up to where the tip is no longer near enough.
    A ratio is to the quickest of ours that is at least as accurate as the row.  Seconds are given by the clock and of
    the processor; ratios are of the latter: a long run shares the processor with whatever else there is, and the best
    of short ones does not.
    Goals: 50 times faster than Exudyn at the same accuracy with 4 links, more with 16; 20 times faster than real time.
(b) Microseconds a step of the same Runge–Kutta method of order 4 on rigid chains of hinges: ours, compiled (RKMK4, many
    steps in a call); Pinocchio's `aba` and `integrate` in a loop of Python; and Exudyn's minimal coordinates
    (`ObjectKinematicTree`, RK44).  All must end in the same place.  Beside Pinocchio's step stand four bare calls of
    `aba`, which is what no loop around it can beat.  Seconds of the processor.  Goal: ahead at every size.
(c) Seconds from the start of a process to the end of its first simulation of the chain of 4 links, with an empty and
    with a full cache of compiled code: import, model, a run with a fixed step, then one with the default method.

Exudyn's links need scikit-fem; what is missing is said and left out.  Settings have the names of Exudyn 1.13.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

# One thread for everybody: BLAS's own would compete with what is measured.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.table import Table

import liegeo as lg
from liegeo import flex, integrate, motion
from liegeo import model as lm
from liegeo.errors import SimulationError
from liegeo.flex import solid
from liegeo.lie import SO3

LENGTH, WIDTH, HEIGHT = 0.5, 0.02, 0.004
E, NU, RHO = 70e9, 0.3, 2700.0
GRAVITY = (0.0, 0.0, -9.81)
N_ELEMENTS = 8
# Where the tip of 4 links is after 1 s, x and z, and how near is near enough for every number of links.
KNOWN, ACCURACY = (-1.7404, -0.9553), 2e-4
# Times as fast as Exudyn, and as real time.
GOALS = (50.0, 20.0)

# Newton's tolerances mean different things.  Exudyn's relative one is the loosest power of ten that moves the tip of 4
# links by less than 1e-5 at 5 ms, and ten times that; ours, which is of a step, goes from its default to 2e-3.  What
# they move the tip by is counted in the row's error.
ALPHA, THEIR_TOLERANCES = integrate.generalised_alpha(tolerance=1e-4), (1e-5, 1e-4)
OURS = {
    "default": {},
    "step=1 ms": {"step": 1e-3},
    "step=5 ms": {"step": 5e-3},
    "1 ms, tolerance 1e-4": {"step": 1e-3, "method": ALPHA},
    "2.5 ms, tolerance 1e-4": {"step": 2.5e-3, "method": ALPHA},
    "4 ms, tolerance 1e-4": {"step": 4e-3, "method": ALPHA},
    "5 ms, tolerance 1e-4": {"step": 5e-3, "method": ALPHA},
    **{
        f"{1e3 * step:g} ms, midpoint, ρ {rho:g}, tolerance {tolerance:g}": {
            "step": step,
            "method": integrate.midpoint_alpha(rho, tolerance),
        }
        for rho, step, tolerance in (
            *((0.8, *more) for more in itertools.product((5e-3, 6e-3), (1e-3, 2e-3))),
            *((0.6, *more) for more in itertools.product((5e-3, 6e-3, 7e-3), (1e-3, 2e-3))),
        )
    },
}
OUR_REFERENCE, THEIR_REFERENCE = 2.5e-5, 2.5e-4
THEIR_STEPS = (1e-3, 2.5e-3, 4e-3, 5e-3, 6e-3, 8e-3)
THEIR_METHODS = {"generalised-α": "GeneralizedAlpha", "trapezoidal": "TrapezoidalIndex2"}
THEIR_ROTATIONS = {"Euler parameters": "RotationEulerParameters", "rotation vector": "RotationRotationVector"}
THEIR_SOLVERS = ("EigenSparse", "EigenDense", "EXUdense")

FIRST = """
import sys, time
start = time.perf_counter()
sys.path.insert(0, sys.argv[1])
import liegeo as lg, simulate
laps = [time.perf_counter()]
model = simulate.chain(4)
laps.append(time.perf_counter())
for arguments in ({"step": 5e-3}, {}):
    lg.simulate(model, t_end=1.0, progress=False, **arguments)
    laps.append(time.perf_counter())
print([b - a for a, b in zip([start, *laps], laps)])
"""
LAPS = ("import", "model", "fixed step", "default method")


def timed(function, *arguments):
    """Seconds by the clock and of the processor, and the result."""
    start = time.perf_counter(), time.process_time()
    result = function(*arguments)
    return np.array([time.perf_counter() - start[0], time.process_time() - start[1]]), result


# ---- (a)


def chain(n):
    """The chain of n links."""
    aluminium = flex.Material(E=E, rho=RHO, nu=NU)
    beam = flex.beam(LENGTH, flex.rectangle(WIDTH, HEIGHT), aluminium, N_ELEMENTS)
    tip = str(N_ELEMENTS)
    modes = flex.reduce(beam, interfaces=["0", tip], root="0", n_modes=2)
    links = [flex.flexible_body(modes, f"link{i}", nodes=[tip]) for i in range(n)]
    parents = [("world", None), *((f"link{i}", tip) for i in range(n - 1))]
    hinges = [
        lm.Revolute(name=f"hinge{i}", parent=parent, at=at, child=f"link{i}", child_at="0", axis=(0, 1, 0))
        for i, (parent, at) in enumerate(parents)
    ]
    return lm.Tree(links, hinges, name=f"chain of {n}", gravity=GRAVITY).compile()


def run(model, **arguments):
    """Where the tip is after 1 s, x and z."""
    result = lg.simulate(model, t_end=1.0, output=[1.0], progress=False, **arguments)
    return result[f"link{len(model.bodies) - 1}.{N_ELEMENTS}.position"][-1, [0, 2]]


def run_or_fail(model, **arguments):
    """The same, or None if a step cannot be taken."""
    try:
        return run(model, **arguments)
    except SimulationError:
        return None


def flexible_chain(n_links):
    """The tip's x and z at 1 s, and the seconds for one simulated second, kernels compiled: (x, z, seconds)."""
    model = chain(n_links)
    arguments = {"method": integrate.midpoint_alpha(0.6, 2e-3), "step": 5e-3}
    x, z = run(model, **arguments)
    seconds = min(float(timed(functools.partial(run, model, **arguments))[0][0]) for _ in range(10))
    return float(x), float(z), seconds


def import_exudyn():
    """The fast module, without range checks, if the processor allows it, and what makes its items."""
    # to be said before the import
    sys.exudynFast = True
    import exudyn
    from exudyn import itemInterface

    return exudyn, itemInterface


class Exudyn:
    """Its chain of n links."""

    def __init__(self, n, rotation):
        exu, item = import_exudyn()
        self.exu, self.system = exu, exu.SystemContainer().AddSystem()
        shapes, ends = self._link()
        shapes.rigidBodyNodeType = getattr(exu.NodeType, rotation)
        self.tip = self.system.AddMarker(item.MarkerBodyRigid(bodyNumber=self.system.AddObject(item.ObjectGround())))
        for i in range(n):
            made = shapes.AddObjectFFRFreducedOrder(self.system, positionRef=[LENGTH * i, 0, 0], gravity=list(GRAVITY))
            body = made["oFFRFreducedOrder"]
            root, tip = (
                self.system.AddMarker(
                    item.MarkerSuperElementRigid(
                        bodyNumber=body, meshNodeNumbers=nodes, weightingFactors=np.full(len(nodes), 1.0 / len(nodes))
                    )
                )
                for nodes in ends
            )
            # all but the rotation about y
            axes = [1, 1, 1, 1, 0, 1]
            self.system.AddObject(item.GenericJoint(markerNumbers=[self.tip, root], constrainedAxes=axes))
            self.tip = tip
        self.system.Assemble()

    @staticmethod
    @functools.cache
    def _link():
        """Shapes of a link, and the nodes of its ends; the coarsest mesh that has converged is the quickest."""
        from exudyn.FEM import FEMinterface, ObjectFFRFreducedOrderInterface

        fe = solid.block(LENGTH, WIDTH, HEIGHT, N_ELEMENTS, 1, 1, E=E, nu=NU, rho=RHO)
        fem = FEMinterface()
        fem.nodes = {"Position": np.array(fe.positions)}
        fem.massMatrix, fem.stiffnessMatrix = sp.csr_matrix(fe.mass), sp.csr_matrix(fe.stiffness)
        ends = [np.flatnonzero(np.abs(fe.positions[:, 0] - x) < 1e-9) for x in (0.0, LENGTH)]
        # static modes of the second end only: the first carries the body's frame
        fem.ComputeHurtyCraigBamptonModes([nodes.tolist() for nodes in ends], 2)
        return ObjectFFRFreducedOrderInterface(fem), ends

    def run(self, method, step, solver, tolerance=THEIR_TOLERANCES[0]):
        """Where the tip is after 1 s, x and z, or None if a step cannot be taken; always from the start."""
        settings = exudyn_settings(self.exu, 1.0, round(1.0 / step), solver)
        settings.timeIntegration.newton.relativeTolerance = tolerance
        try:
            self.system.SolveDynamic(settings, solverType=getattr(self.exu.DynamicSolverType, method))
        except self.exu.SolverError:
            return None
        kinds = self.exu.OutputVariableType.Position, self.exu.ConfigurationType.Current
        return self.system.GetMarkerOutput(self.tip, *kinds)[[0, 2]]


def exudyn_settings(exu, t_end, n, solver):
    settings = exu.SimulationSettings()
    settings.timeIntegration.endTime, settings.timeIntegration.numberOfSteps = t_end, n
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.timeIntegration.explicit.computeEndOfStepAccelerations = False
    settings.timeIntegration.verboseMode = 0
    settings.show.statistics = settings.show.computationTime = False
    settings.solution.file.write = False
    settings.linearSolver.solverType = getattr(exu.LinearSolverType, solver)
    settings.parallel.numberOfThreads = 1
    return settings


def compare_chains(n, steps, solvers, reference, rounds, with_exudyn):
    """The references' tips, and rows of who, settings, tip, error, error to KNOWN, seconds, ratio.

    Exudyn runs with each of `steps`, the best of `solvers`, and a reference of that step.
    """
    model = chain(n)
    references = {"liegeo": run(model, step=OUR_REFERENCE)}
    runs = {("liegeo", name): functools.partial(run_or_fail, model, **arguments) for name, arguments in OURS.items()}
    if with_exudyn:
        systems = {name: Exudyn(n, kind) for name, kind in THEIR_ROTATIONS.items()}
        for rotation, (name, method) in itertools.product(systems, THEIR_METHODS.items()):
            trials = {solver: timed(systems[rotation].run, method, 5e-3, solver)[0][1] for solver in solvers}
            solver = min(trials, key=trials.get)
            for step, tolerance in itertools.product(steps, THEIR_TOLERANCES):
                if tolerance > THEIR_TOLERANCES[0] and step < 5e-3:
                    continue
                label = f"{1e3 * step:g} ms, {name}, {rotation}, {solver}, tolerance {tolerance:g}"
                runs["Exudyn", label] = functools.partial(systems[rotation].run, method, step, solver, tolerance)
        references["Exudyn"] = systems["rotation vector"].run("TrapezoidalIndex2", reference, "EigenSparse", 1e-8)
    # compiled now
    tips = {key: function() for key, function in runs.items() if key[0] == "liegeo"}
    seconds = dict.fromkeys(runs, np.array([np.inf, np.inf]))
    # in turns, so that all see the same machine
    for _, (key, function) in itertools.product(range(rounds), runs.items()):
        took, tips[key] = timed(function)
        seconds[key] = np.minimum(seconds[key], took)
    rows = []
    for (who, label), tip in tips.items():
        clock, processor = seconds[who, label].tolist()
        row = {"who": who, "settings": label, "clock": clock, "seconds": processor, "tip": None, "error": None}
        if tip is not None:
            row |= {"tip": tip.tolist(), "error": float(np.abs(tip - references[who]).max())}
            if n == 4:
                row["to_known"] = float(np.abs(tip - KNOWN).max())
        rows.append(row)
    for row in rows:
        row["ratio"] = ratio(row, rows)
    return {"references": {who: tip.tolist() for who, tip in references.items()}, "rows": rows}


def ratio(row, rows):
    """To the quickest of ours that is at least as accurate."""
    if row["error"] is None:
        return None
    ours = quickest(rows, "liegeo", row["error"])
    return None if ours is None else row["seconds"] / ours


def quickest(rows, who, error):
    """Seconds of the quickest row with at most this error, or None."""
    found = [r["seconds"] for r in rows if r["who"] == who and r["error"] is not None and r["error"] <= error]
    return min(found, default=None)


# ---- (b)


class RigidChain:
    """Links of 0.3 m on hinges about x, y, z in turn, each a little askew, from a random state at rest."""

    def __init__(self, n, rng):
        self.n, self.q = n, 0.3 * rng.normal(size=n)
        self.R = [SO3.exp(0.3 * rng.normal(size=3)) for _ in range(n)]
        self.p = [np.array([0.3 if i else 0.0, 0.0, 0.0]) for i in range(n)]
        self.mass, self.com = rng.uniform(0.5, 2.0, n), np.array([0.15, 0.0, 0.02])
        self.J = np.diag([0.01, 0.02, 0.03])

    def ours(self, h, steps):
        """A function that makes the steps from the start, and returns where they end."""
        bodies = [lm.Body(f"b{i}", self.mass[i], self.com, self.J) for i in range(self.n)]
        joints = []
        for i in range(self.n):
            X = np.eye(4)
            X[:3, :3], X[:3, 3] = self.R[i], self.p[i]
            carrier = f"b{i - 1}" if i else "world"
            joints.append(lm.Revolute(name=f"j{i}", parent=carrier, child=f"b{i}", at=X, axis=np.eye(3)[i % 3]))
        model = lm.Tree(bodies, joints, gravity=GRAVITY).compile()
        state = model.state(self.q)
        problem = integrate.Problem.of(motion.system(model), state.q, state.v, h * steps)
        stepper, start = integrate.Stepper(problem, integrate.RKMK4), np.array(problem.start)

        def go():
            stepper.y[:] = start
            if stepper.step(h, steps, 0.0):
                raise SystemExit(f"chain of {self.n}: our step failed")
            return stepper.y[: self.n].copy()

        return go

    def pinocchio(self, h, steps):
        """The same, and a bare call of aba."""
        import pinocchio as pin

        model, parent = pin.Model(), 0
        model.gravity.linear = np.array(GRAVITY)
        kinds = pin.JointModelRX(), pin.JointModelRY(), pin.JointModelRZ()
        for i in range(self.n):
            parent = model.addJoint(parent, kinds[i % 3], pin.SE3(self.R[i], self.p[i]), f"j{i}")
            model.appendBodyToJoint(parent, pin.Inertia(self.mass[i], self.com, self.J), pin.SE3.Identity())
        data, tau = model.createData(), np.zeros(self.n)
        aba, move = pin.aba, pin.integrate

        def go():
            q, v = self.q, np.zeros(self.n)
            for _ in range(steps):
                # aba returns the data's own vector
                a1 = aba(model, data, q, v, tau).copy()
                v2 = v + 0.5 * h * a1
                a2 = aba(model, data, move(model, q, 0.5 * h * v), v2, tau).copy()
                v3 = v + 0.5 * h * a2
                a3 = aba(model, data, move(model, q, 0.5 * h * v2), v3, tau).copy()
                v4 = v + h * a3
                a4 = aba(model, data, move(model, q, h * v3), v4, tau)
                q = move(model, q, h / 6.0 * (v + 2.0 * (v2 + v3) + v4))
                v = v + h / 6.0 * (a1 + 2.0 * (a2 + a3) + a4)
            return q

        def bare():
            for _ in range(4 * steps):
                aba(model, data, self.q, tau, tau)

        return go, bare

    def exudyn(self, h, steps, solver):
        exu, item = import_exudyn()
        system = exu.SystemContainer().AddSystem()
        nothing = [0.0] * self.n
        node = system.AddNode(
            item.NodeGenericODE2(
                referenceCoordinates=nothing,
                initialCoordinates=self.q.tolist(),
                initialCoordinates_t=nothing,
                numberOfODE2Coordinates=self.n,
            )
        )
        kinds = exu.JointType.RevoluteX, exu.JointType.RevoluteY, exu.JointType.RevoluteZ
        system.AddObject(
            item.ObjectKinematicTree(
                nodeNumber=node,
                jointTypes=[kinds[i % 3] for i in range(self.n)],
                linkParents=list(range(-1, self.n - 1)),
                jointTransformations=exu.Matrix3DList(self.R),
                jointOffsets=exu.Vector3DList(self.p),
                linkInertiasCOM=exu.Matrix3DList([self.J] * self.n),
                linkCOMs=exu.Vector3DList([self.com] * self.n),
                linkMasses=self.mass.tolist(),
                gravity=list(GRAVITY),
            )
        )
        system.Assemble()
        settings = exudyn_settings(exu, h * steps, steps, solver)

        def go():
            system.SolveDynamic(settings, solverType=exu.DynamicSolverType.RK44)
            kinds = exu.OutputVariableType.Coordinates, exu.ConfigurationType.Current
            return np.array(system.GetNodeOutput(node, *kinds))

        return go


def part_b(rng, sizes, rounds, peers):
    """Rows of a size and, by name, seconds a step."""
    rows = []
    for n in sizes:
        links = RigidChain(n, rng)
        h, steps = 1e-3, max(20, 4000 // n)
        runs = {"liegeo": links.ours(h, steps)}
        if "pin" in peers:
            runs["Pinocchio"], runs["4 × aba"] = links.pinocchio(h, steps)
        if "exudyn" in peers:
            trials = [links.exudyn(h, steps, solver) for solver in THEIR_SOLVERS]
            runs["Exudyn"] = min(trials, key=lambda function: timed(function)[0][1])
        ends = {name: function() for name, function in runs.items()}  # compiled now
        for name, end in ends.items():
            error = 0.0 if end is None else float(np.abs(end - ends["liegeo"]).max())
            if not error < 1e-6:
                raise SystemExit(f"chain of {n}: {name} ends {error:.1e} rad from ours")
        seconds = dict.fromkeys(runs, np.inf)
        for _, (name, function) in itertools.product(range(rounds), runs.items()):
            seconds[name] = min(seconds[name], float(timed(function)[0][1]) / steps)
        rows.append((n, seconds))
    return rows


# ---- (c)


def part_c():
    """With an empty and a full cache: seconds of each of LAPS, and of the whole process."""
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "LIEGEO_CACHE_DIR": folder}
        command = [sys.executable, "-c", FIRST, str(Path(__file__).parent)]
        for name in ("empty cache", "full cache"):
            call = functools.partial(subprocess.run, command, env=environment, stdout=subprocess.PIPE, check=True)
            took, done = timed(call)
            rows[name] = dict(zip(LAPS, json.loads(done.stdout), strict=True)) | {"process": float(took[0])}
    return rows


# ---- tables


def show_a(console, chains):
    for n, made in chains.items():
        rows = made["rows"]
        title = f"(a) {n} flexible links"
        known = ["to known"] if n == 4 else []
        table = Table(title, "settings", "x", "z", "error", *known, "s, clock", "s, processor", "ratio")
        last = None
        for row in rows:
            if last not in (None, row["who"]):
                table.add_section()
            last = row["who"]
            if row["error"] is None:
                table.add_row(row["who"], row["settings"], "a step fails")
                continue
            tip = (f"{x:.5f}" for x in row["tip"])
            errors = (f"{row[key]:.1e}" for key in ("error", "to_known") if key in row)
            times = (f"{row[key]:.4f}" for key in ("clock", "seconds"))
            relation = "" if row["ratio"] is None else f"{row['ratio']:.1f}"
            table.add_row(row["who"], row["settings"], *tip, *errors, *times, relation)
        console.print(table)
        tips = (f"{who} ({x:.5f}, {z:.5f})" for who, (x, z) in made["references"].items())
        console.print(f"references: {', '.join(tips)}", highlight=False)
        show_goals(console, n, rows)


def show_goals(console, n, rows):
    # with 4 links the tip is known: what counts must be near that too
    near = [row for row in rows if row["who"] != "liegeo" or row.get("to_known", 0.0) <= ACCURACY]
    ours, theirs = (quickest(near, who, ACCURACY) for who in ("liegeo", "Exudyn"))
    if ours is None:
        console.print(f"{n} links: none of ours is within {ACCURACY:g}", highlight=False)
        return
    words = [f"{n} links, error ≤ {ACCURACY:g}: {1.0 / ours:.0f} times real time ({verdict(1.0 / ours, GOALS[1])})"]
    if theirs is not None:
        words.append(f"{theirs / ours:.0f} times Exudyn's quickest ({verdict(theirs / ours, GOALS[0])})")
    console.print(", ".join(words), highlight=False)


def verdict(x, goal):
    return f"goal {goal:g} {'met' if x >= goal else 'missed'}"


def show_b(console, rows):
    names = [name for name in rows[0][1] if name != "liegeo"]
    table = Table("(b) rigid links", "liegeo µs a step", *(c for name in names for c in (f"{name} µs", "ratio")))
    for n, seconds in rows:
        mine = seconds["liegeo"]
        cells = (c for name in names for c in (f"{1e6 * seconds[name]:.1f}", f"{seconds[name] / mine:.2f}"))
        table.add_row(str(n), f"{1e6 * mine:.2f}", *cells)
    console.print(table)


def show_c(console, rows):
    table = Table("(c) first simulation, s", *LAPS, "process")
    for name, laps in rows.items():
        table.add_row(name, *(f"{seconds:.2f}" for seconds in laps.values()))
    console.print(table)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--quick", action="store_true", help="small sizes only, and not part (c)")
    options = parser.parse_args(argv)
    peers = {"pin": "pinocchio", "exudyn": "exudyn", "scikit-fem": "skfem"}
    missing = [name for name, module in peers.items() if not find_spec(module)]
    there = [name for name in peers if name not in missing]
    versions = {"python": sysconfig.get_python_version()}
    versions |= {name: version(name) for name in ("numpy", "numba", *there)}
    with_exudyn = "exudyn" in there and "scikit-fem" in there
    if options.quick:
        a = {4: compare_chains(4, (5e-3,), ("EigenSparse",), 1e-3, 1, with_exudyn)}
        b = part_b(np.random.default_rng(0), (4, 7), 1, there)
        c = {}
    else:
        how = THEIR_STEPS, THEIR_SOLVERS, THEIR_REFERENCE
        a = {n: compare_chains(n, *how, rounds, with_exudyn) for n, rounds in ((4, 3), (16, 2))}
        b = part_b(np.random.default_rng(0), (4, 7, 16, 64, 256), 5, there)
        c = part_c()

    # Wide enough for the widest table, also when the output goes to a file.
    console = Console(width=max(Console().width, 150))
    console.print(", ".join(f"{name} {number}" for name, number in versions.items()), highlight=False)
    for name in missing:
        console.print(f"{name} is not installed: left out.", highlight=False)
    show_a(console, a)
    show_b(console, b)
    if c:
        show_c(console, c)
    if options.json:
        figures = {"versions": versions, "flexible": a, "rigid": b, "first": c}
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
