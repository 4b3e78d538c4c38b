"""Loops beside Pinocchio and Exudyn, in one run, as ratios; how the cost grows with bodies and with loops.

    pip install '.[bench]' && python tools/bench/loops.py [--json FILE] [--quick]

A chain of N rods, each 0.3 m long, on hinges about y and z in turn, bent at random and held where its end then is: by a
ball, by a hinge, or welded; and by two balls, the other one in the middle.

(a) One call of forward dynamics with constraints, from Python and in a compiled loop, at a state that obeys them.
    Pinocchio's are `constraintDynamics` (sparse Cholesky factors of the KKT matrix), which must agree to 1e-8, and
    `lcaba` (articulated bodies with loops, linear in N, but only as exact as its proximal iteration: how exact is
    shown), with CONTACT_3D for a ball and CONTACT_6D for a weld.  It has no constraint of a hinge: its chain has one
    more hinge, at the support, and the last rod is cut lengthwise into two of half the inertia, one on each of the
    hinges beside it, which are welded together.  That is the same mechanism with one more body.
(b) Microseconds a step from rest, all with the same step of 1 ms: ours by RKMK4 with projection, by generalised-α of
    stabilised index 2 and of index 3; Exudyn's with its fast module, modified Newton, no output, the quickest of its
    linear solvers and of generalised-α (index 3) and TrapezoidalIndex2, once with rigid bodies and joints, once with
    minimal coordinates (`ObjectKinematicTree`) and balls as supports.  All must have the same motion; errors are to
    RKMK4 with half the step, as a share of the way of a point.  Seconds of the processor.
(c) Exponents of growth with N, from 16 bodies on.  Goal: no more than 1.1.
(d) A chain of 64 rods held in 1 to 16 places by balls: a call of forward dynamics and a step of RKMK4.
(e) Four-bars side by side, of which three of five rows each are redundant: the number of rows grows with N.
(f) Where the time of a call goes, for a chain with one ball.

What is missing is said and left out.  Settings have the names of Exudyn 1.13.  Mechanisms with up to 640 loops are in
many_loops.py.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import platform
import sys
import sysconfig
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

# One thread for everybody: BLAS's own would compete with what is measured.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import llvmlite.binding
import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.spatial.transform import Rotation

import liegeo as lg
from liegeo import dynamics, integrate, motion
from liegeo import model as lm
from liegeo._jit import kernel
from liegeo.kernels import articulated, constraints, loops
from liegeo.kernels import layout as at

LENGTH, MASS, INERTIA = 0.3, 1.0, (1e-3, 8e-3, 7e-3)
GRAVITY = (0.0, 0.0, -9.81)
# Few steps where only time is asked for: what is short is less often disturbed.
STEP, STEPS, FEW = 1e-3, 100, 10
# Accelerations to Pinocchio's, exact and proximal; a point of the chain at the end, as a share of how far it has moved.
AGREE, NEARLY, SAME_MOTION = 1e-8, 1e-5, 1e-3
GOAL = 1.1

# Newton's tolerances mean different things: with ours and Exudyn's (1e-5) the error of the step is far larger.
METHODS = {
    "RKMK4": integrate.RKMK4,
    "α, index 2": integrate.generalised_alpha(tolerance=1e-4),
    "α, index 3": integrate.index_3_alpha(tolerance=1e-4),
}
THEIR_METHODS = ("GeneralizedAlpha", "TrapezoidalIndex2")
# Dense solvers are slower from 16 bodies on, by far from 32 on.
THEIR_SOLVERS = {"bodies": ("EigenSparse", "EigenDense"), "tree": ("EigenDense", "EXUdense")}
LARGEST_DENSE = 16
# Of a call, in this order; what it does beside is adding rows, and calls.
PHASES = {
    "tree alone": kernel(lambda I, F, q, v, u, W, out: articulated.forward_dynamics(I, F, q, v, u, W, out)),
    "rows": kernel(lambda I, F, q, v, u, W, out: constraints.evaluate(I, F, q, v, u, W)),
    "accelerations": kernel(
        lambda I, F, q, v, u, W, out: constraints.accelerated(I, F, q, v, out, u[at.gravity(I) :], W)
    ),
    "J M⁻¹ Jᵀ": kernel(lambda I, F, q, v, u, W, out: loops.operational_inertia(I, F, W)),
    "multipliers": kernel(lambda I, F, q, v, u, W, out: loops.multipliers(I, W)),
    "scatter": kernel(lambda I, F, q, v, u, W, out: articulated.scatter(I, F, u[at.gravity(I) :], False, W, out)),
}


def looped(function):
    """n calls from compiled code."""

    def repeat(n, I, F, q, v, u, W, out):
        for _ in range(n):
            function(I, F, q, v, u, W, out)

    return kernel(repeat, name="bench.repeat", forceinline=False)


def best(*functions, seconds=0.2):
    """The best time of one call of each function, in turns, so that all see the same machine."""
    counts = []
    for function in functions:
        function()
        start = time.perf_counter()
        function()
        counts.append(max(1, int(0.002 / max(time.perf_counter() - start, 1e-7))))
    result = [np.inf] * len(functions)
    end = time.perf_counter() + seconds * len(functions)
    while time.perf_counter() < end:
        for i, (function, n) in enumerate(zip(functions, counts, strict=True)):
            # once without the clock: the others have used the caches since
            function()
            start = time.perf_counter()
            for _ in range(n):
                function()
            result[i] = min(result[i], (time.perf_counter() - start) / n)
    return result


def processor_seconds(function):
    start = time.process_time()
    function()
    return time.process_time() - start


def exponent(sizes, seconds):
    """p of seconds ~ sizesᵖ, from 16 bodies on if there are two such sizes."""
    pairs = [(n, t) for n, t in zip(sizes, seconds, strict=True) if t is not None]
    large = [pair for pair in pairs if pair[0] >= 16]
    n, t = zip(*(large if len(large) > 1 else pairs), strict=True)
    return float(np.polyfit(np.log(n), np.log(t), 1)[0])


def advance(stepper, start, memory, h, steps):
    """Always from the start; where the steps end."""
    stepper.y[:], stepper.memory[:] = start, memory
    if stepper.step(h, steps, 0.0):
        raise SystemExit(f"{stepper.problem.name}: our step failed")
    return stepper.y


class Chain:
    """The chain, the places where it is held (bodies whose ends they are, and how), and its state."""

    def __init__(self, n, how="ball", held=None, seed=0):
        rng = np.random.default_rng(seed)
        self.n, self.how, self.held = n, how, [n - 1] if held is None else held
        self.axes = [np.array([0.0, 1.0, 0.0]) if i % 2 else np.array([0.0, 0.0, 1.0]) for i in range(n + 1)]
        q, v = 0.4 * rng.normal(size=n), rng.normal(size=n)
        tree = self._tree(())
        self.poses = dynamics.body_poses(tree, tree.state(q))
        kinds = {"ball": lm.Spherical, "hinge": lm.Revolute, "weld": lm.Fixed}
        cuts = []
        for i in self.held:
            axis = {"axis": self.axes[i + 1]} if how == "hinge" else {}
            place = {"parent": "world", "at": self.end_pose(i), "child": f"b{i}", "child_at": "end"}
            cuts.append(kinds[how](name=f"held{i}", **place, **axis))
        self.model = self._tree(cuts)
        self.rest = lg.assemble(self.model, self.model.state(q))
        self.moving = lg.assemble(self.model, self.model.state(q, v))

    def end_pose(self, i):
        X = self.poses[f"b{i}"].copy()
        X[:3, 3] += LENGTH * X[:3, 0]
        return X

    def _tree(self, cuts):
        rod = {"mass": MASS, "com": (LENGTH / 2, 0, 0), "inertia": INERTIA, "frames": {"end": (LENGTH, 0, 0)}}
        bodies = [lg.Body(f"b{i}", **rod) for i in range(self.n)]
        parents = [("world", None), *((f"b{i}", "end") for i in range(self.n - 1))]
        joints = [
            lm.Revolute(name=f"j{i}", parent=parent, at=at, child=f"b{i}", axis=self.axes[i])
            for i, (parent, at) in enumerate(parents)
        ]
        return lg.Tree(bodies, joints, loops=cuts, gravity=GRAVITY, name=f"chain of {self.n}").compile()

    # ---- one call

    def arguments(self):
        """What the kernels take, made once."""
        model, state = self.model, self.moving
        q, v, u = (np.array(x, dtype=float) for x in (state.q, state.v, model.drive("tau", None, None, 0.0)))
        return model.ints, model.floats, q, v, u, model.workspace(), np.empty(model.nv)

    def pinocchio(self):
        """Functions without arguments that return accelerations; see (a) in the text above."""
        import pinocchio as pin

        model, parent, kinds = pin.Model(), 0, (pin.JointModelRZ(), pin.JointModelRY())
        model.gravity.linear = np.array(GRAVITY)
        whole = pin.Inertia(MASS, np.array([LENGTH / 2, 0, 0]), np.diag(INERTIA))
        half = pin.Inertia(MASS / 2, np.array([LENGTH / 2, 0, 0]), np.diag(INERTIA) / 2)
        halved = self.how == "hinge"
        to_end = pin.SE3(np.eye(3), np.array([LENGTH, 0.0, 0.0]))
        for i in range(self.n):
            parent = model.addJoint(parent, kinds[i % 2], to_end if i else pin.SE3.Identity(), f"j{i}")
            model.appendBodyToJoint(parent, half if halved and i in self.held else whole, pin.SE3.Identity())
        places, q, v = [], list(self.moving.q), list(self.moving.v)
        data = model.createData()
        pin.forwardKinematics(model, data, np.array(q), np.array(v))
        for i in self.held:
            X = self.end_pose(i)
            X = pin.SE3(X[:3, :3], X[:3, 3])
            if halved:
                support = model.addJoint(0, kinds[(i + 1) % 2], X, f"held{i}")
                model.appendBodyToJoint(support, half, to_end.inverse())
                q.append(0.0)
                v.append(float(self.axes[i + 1] @ data.v[i + 1].angular))
                places.append((i + 1, to_end, support, pin.SE3.Identity()))
            else:
                places.append((i + 1, to_end, 0, X))
        contact = pin.ContactType.CONTACT_3D if self.how == "ball" else pin.ContactType.CONTACT_6D
        models = pin.StdVec_RigidConstraintModel()
        for place in places:
            models.append(pin.RigidConstraintModel(contact, model, *place, pin.ReferenceFrame.LOCAL))
        q, v, tau = np.array(q), np.array(v), np.zeros(model.nv)

        def made(function, prepare, *settings):
            data, datas = model.createData(), pin.StdVec_RigidConstraintData()
            for one in models:
                datas.append(one.createData())
            prepare(data, datas)
            return lambda: function(model, data, q, v, tau, models, datas, *settings)

        # exact: no regularisation, one iteration
        exact = pin.ProximalSettings(1e-12, 0.0, 1)
        out = {
            "constraintDynamics": made(
                pin.constraintDynamics, lambda d, e: pin.initConstraintDynamics(model, d, models, e), exact
            )
        }
        if hasattr(pin, "lcaba"):
            order = lambda d, _: pin.computeJointMinimalOrdering(model, d, models)  # noqa: E731
            # the μ that its documentation names; more iterations change nothing
            out["lcaba"] = made(pin.lcaba, order, pin.ProximalSettings(1e-14, 1e-6, 2))
        return out

    # ---- steps

    def watched(self):
        """The body whose end is compared: halfway to the first support."""
        return (self.held[0] + 1) // 2 - 1

    def ours(self, method, h, steps):
        """A function that makes the steps from rest, and returns where the end that is watched then is."""
        problem = integrate.Problem.of(motion.system(self.model), self.rest.q, self.rest.v, h * steps)
        stepper, start = integrate.Stepper(problem, method), np.array(problem.start)
        go = functools.partial(advance, stepper, start, stepper.memory.copy(), h, steps)

        def end():
            state = lm.State(go()[: self.n].copy(), np.zeros(self.n))
            return dynamics.frame_pose(self.model, state, f"b{self.watched()}.end")[:3, 3]

        return go, end

    def exudyn_bodies(self):
        """Rigid bodies with joints: the system, and the marker that is watched."""
        exu, item = import_exudyn()
        system = exu.SystemContainer().AddSystem()
        ground = system.AddObject(item.ObjectGround())
        # the frame of a body at its centre of mass is quicker
        root, tip = [-LENGTH / 2, 0.0, 0.0], [LENGTH / 2, 0.0, 0.0]
        before, bodies = (ground, [0.0] * 3, np.eye(3)), []

        def hinge(one, body, place, axis):
            """Between a place (body, point, rotation) and a point of a body, about an axis of the latter."""
            # z to the axis
            turned = np.eye(3) if axis[2] else np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
            markers = []
            for number, p, R in (one, (body, place, np.eye(3))):
                X = np.eye(4)
                X[:3, :3], X[:3, 3] = R @ turned, p
                markers.append(system.AddMarker(item.MarkerBodyRigid(bodyNumber=number, localHT=X)))
            system.AddObject(item.ObjectJointRevoluteZ(markerNumbers=markers))

        for i in range(self.n):
            X = self.poses[f"b{i}"]
            start = [*(X[:3, 3] + LENGTH / 2 * X[:3, 0]), *quaternion(X[:3, :3])]
            node = system.AddNode(item.NodeRigidBodyEP(referenceCoordinates=start, initialVelocities=[0.0] * 7))
            inertia = [*INERTIA, 0.0, 0.0, 0.0]
            body = system.AddObject(item.ObjectRigidBody(nodeNumber=node, mass=MASS, inertia=inertia))
            mass = system.AddMarker(item.MarkerBodyMass(bodyNumber=body))
            system.AddLoad(item.LoadMassProportional(markerNumber=mass, loadVector=list(GRAVITY)))
            hinge(before, body, root, self.axes[i])
            before = body, tip, np.eye(3)
            bodies.append(body)
        ends = [system.AddMarker(item.MarkerBodyRigid(bodyNumber=body, localPosition=tip)) for body in bodies]
        for i in self.held:
            X = self.end_pose(i)
            if self.how == "hinge":
                hinge((ground, X[:3, 3], X[:3, :3]), bodies[i], tip, self.axes[i + 1])
            else:
                support = system.AddMarker(item.MarkerBodyRigid(bodyNumber=ground, localPosition=X[:3, 3]))
                system.AddObject(item.SphericalJoint(markerNumbers=[support, ends[i]]))
        system.Assemble()
        return system, ends[self.watched()]

    def exudyn_tree(self):
        """Minimal coordinates, and a ball for each support."""
        exu, item = import_exudyn()
        system = exu.SystemContainer().AddSystem()
        nothing = [0.0] * self.n
        node = system.AddNode(
            item.NodeGenericODE2(
                referenceCoordinates=nothing,
                initialCoordinates=self.rest.q.tolist(),
                initialCoordinates_t=nothing,
                numberOfODE2Coordinates=self.n,
            )
        )
        kinds = exu.JointType.RevoluteZ, exu.JointType.RevoluteY
        tree = system.AddObject(
            item.ObjectKinematicTree(
                nodeNumber=node,
                jointTypes=[kinds[i % 2] for i in range(self.n)],
                linkParents=list(range(-1, self.n - 1)),
                jointTransformations=exu.Matrix3DList([np.eye(3)] * self.n),
                jointOffsets=exu.Vector3DList([np.array([LENGTH if i else 0.0, 0, 0]) for i in range(self.n)]),
                linkInertiasCOM=exu.Matrix3DList([np.diag(INERTIA)] * self.n),
                linkCOMs=exu.Vector3DList([np.array([LENGTH / 2, 0, 0])] * self.n),
                linkMasses=[MASS] * self.n,
                gravity=list(GRAVITY),
            )
        )
        ground = system.AddObject(item.ObjectGround())

        def end(i):
            place = {"objectNumber": tree, "linkNumber": i, "localPosition": [LENGTH, 0, 0]}
            return system.AddMarker(item.MarkerKinematicTreeRigid(**place))

        for i in self.held:
            support = system.AddMarker(item.MarkerBodyRigid(bodyNumber=ground, localPosition=self.end_pose(i)[:3, 3]))
            system.AddObject(item.SphericalJoint(markerNumbers=[support, end(i)]))
        watched = end(self.watched())
        system.Assemble()
        return system, watched

    def exudyn(self, made, method, solver, h, steps):
        """As `ours`."""
        exu, _ = import_exudyn()
        system, watched = made
        settings = exudyn_settings(exu, h * steps, steps, solver)

        def go():
            system.SolveDynamic(settings, solverType=getattr(exu.DynamicSolverType, method))

        def end():
            go()
            kinds = exu.OutputVariableType.Position, exu.ConfigurationType.Current
            return np.array(system.GetMarkerOutput(watched, *kinds))

        return go, end


def quaternion(R):
    """Of a rotation, its scalar part first."""
    x, y, z, w = Rotation.from_matrix(R).as_quat()
    return w, x, y, z


def import_exudyn():
    """The fast module, without range checks, if the processor allows it, and what makes its items."""
    # to be said before the import
    sys.exudynFast = True
    import exudyn
    from exudyn import itemInterface

    return exudyn, itemInterface


def exudyn_settings(exu, t_end, n, solver):
    settings = exu.SimulationSettings()
    settings.timeIntegration.endTime, settings.timeIntegration.numberOfSteps = t_end, n
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.timeIntegration.newton.relativeTolerance = 1e-5
    settings.timeIntegration.verboseMode = 0
    settings.show.statistics = settings.show.computationTime = False
    settings.solution.file.write = False
    settings.linearSolver.solverType = getattr(exu.LinearSolverType, solver)
    settings.parallel.numberOfThreads = 1
    return settings


# ---- parts


def cases(n):
    """By name, how a chain of n is held and where."""
    return {"ball": ("ball", None), "hinge": ("hinge", None), "2 balls": ("ball", [n // 2 - 1, n - 1])}


def part_a(sizes, seconds, with_pinocchio):
    """Rows of a case, a size, its rows and, by name, seconds; errors of those that are not exact."""
    rows, every, in_loop, repeats = [], [], looped(loops.forward_dynamics), 20
    for n in sizes:
        for name, (how, held) in (cases(n) | {"weld": ("weld", None)}).items():
            chain = Chain(n, how, held)
            arguments = chain.arguments()
            loops.forward_dynamics(*arguments)
            accelerations = arguments[-1].copy()
            calls = {
                "call": functools.partial(loops.forward_dynamics, *arguments),
                "in a loop": functools.partial(in_loop, repeats, *arguments),
                "tree alone": functools.partial(articulated.forward_dynamics, *chain.arguments()),
            }
            errors = {}
            for label, function in chain.pinocchio().items() if with_pinocchio else ():
                errors[label] = float(np.linalg.norm(function()[:n] - accelerations) / np.linalg.norm(accelerations))
                if not errors[label] < (NEARLY if label == "lcaba" else AGREE):
                    raise SystemExit(f"chain of {n}, {name}: {label} differs by {errors[label]:.1e}")
                calls[label] = function
            rows.append({"case": name, "n": n, "rows": len(chain.model.rows), "errors": errors})
            every.append(calls)
    # all sizes in turns, so that a slow spell of the machine does not bend the line
    times = iter(best(*(function for calls in every for function in calls.values()), seconds=seconds))
    for row, calls in zip(rows, every, strict=True):
        row["seconds"] = {label: next(times) for label in calls}
        row["seconds"]["in a loop"] /= repeats
    return rows


def part_b(sizes, rounds, with_exudyn):
    """Rows of a case, a size and, by name, seconds a step and errors; what was the quickest of Exudyn's."""
    rows, every = [], []
    for n in sizes:
        for name, (how, held) in cases(n).items():
            chain, runs, quickest = Chain(n, how, held), {}, {}
            for label, method in METHODS.items():
                runs[label] = chain.ours(method, STEP, STEPS)
            if with_exudyn:
                made = {"bodies": chain.exudyn_bodies()} | ({"tree": chain.exudyn_tree()} if how == "ball" else {})
                for kind, system in made.items():
                    solvers = THEIR_SOLVERS[kind][: None if kind == "tree" or n <= LARGEST_DENSE else 1]
                    trials = {
                        choice: chain.exudyn(system, *choice, STEP, STEPS)
                        for choice in itertools.product(THEIR_METHODS, solvers)
                    }
                    choice = min(trials, key=lambda c: min(processor_seconds(trials[c][0]) for _ in range(2)))
                    runs[f"Exudyn, {kind}"], quickest[kind] = trials[choice], ", ".join(choice)
            # compiled now
            known = chain.ours(integrate.RKMK4, STEP / 2, 2 * STEPS)[1]()
            path = np.linalg.norm(known - chain.end_pose(chain.watched())[:3, 3])
            errors = {label: float(np.linalg.norm(end() - known) / path) for label, (_, end) in runs.items()}
            for label, error in errors.items():
                if not error < SAME_MOTION:
                    raise SystemExit(f"chain of {n}, {name}: {label} ends {error:.1e} of its path elsewhere")
            seconds = dict.fromkeys(runs, np.inf)
            rows.append({"case": name, "n": n, "seconds": seconds, "errors": errors, "quickest": quickest})
            every.append(runs)
    # all in turns, as above
    for _, (row, runs) in itertools.product(range(rounds), list(zip(rows, every, strict=True))):
        for label, (go, _) in runs.items():
            # as Exudyn's take longer, ours are given a few attempts
            for _ in range(1 if label.startswith("Exudyn") else 5):
                row["seconds"][label] = min(row["seconds"][label], processor_seconds(go) / STEPS)
    return rows


def part_c(*tables):
    """By table, case and name: the exponent."""
    out = []
    for rows in tables:
        found = {}
        for case in dict.fromkeys(row["case"] for row in rows):
            mine = [row for row in rows if row["case"] == case]
            sizes = [row["n"] for row in mine]
            found[case] = {
                label: exponent(sizes, [row["seconds"][label] for row in mine]) for label in mine[0]["seconds"]
            }
        out.append(found)
    return out


def part_d(n, counts, seconds):
    """Rows of a number of loops, its rows, seconds of a call and of a step."""
    rows = []
    for m in counts:
        chain = Chain(n, "ball", [n * (k + 1) // m - 1 for k in range(m)])
        step, _ = chain.ours(integrate.RKMK4, STEP, FEW)
        call = functools.partial(loops.forward_dynamics, *chain.arguments())
        times = best(call, step, seconds=seconds)
        rows.append((m, len(chain.model.rows), times[0], times[1] / FEW))
    return rows


def part_e(counts, seconds):
    """Rows of a number of windows, bodies, rows of constraints, redundant ones, and seconds a step by method."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "loops"))
    import mechanisms

    rows = []
    for n in counts:
        model, state = mechanisms.ladder(n)
        problem = integrate.Problem.of(motion.system(model), state.q, state.v, STEP * STEPS)
        steps = {}
        for label, method in METHODS.items():
            stepper = integrate.Stepper(problem, method)
            steps[label] = functools.partial(
                advance, stepper, np.array(problem.start), stepper.memory.copy(), STEP, FEW
            )
        times = best(*steps.values(), seconds=seconds)
        redundant = len(dynamics.redundant_rows(model, state))
        found = {label: t / FEW for label, t in zip(steps, times, strict=True)}
        rows.append((n, len(model.bodies), len(model.rows), redundant, found))
    return rows


def part_f(sizes, seconds):
    """Rows of a size and, by phase, seconds."""
    rows, repeats = [], 50
    functions = {"all": looped(loops.forward_dynamics)} | {label: looped(phase) for label, phase in PHASES.items()}
    for n in sizes:
        arguments = Chain(n).arguments()
        # each finds what a whole call left
        calls = []
        for function in functions.values():
            mine = tuple(x.copy() for x in arguments)
            loops.forward_dynamics(*mine)
            calls.append(functools.partial(function, repeats, *mine))
        times = best(*calls, seconds=seconds)
        rows.append((n, {label: t / repeats for label, t in zip(functions, times, strict=True)}))
    return rows


# ---- tables


def microseconds(t):
    return f"{1e6 * t:.2f}" if t < 1e-4 else f"{1e6 * t:.0f}"


def show_a(console, rows, exponents):
    peers = [label for label in rows[0]["seconds"] if label in rows[0]["errors"]]
    columns = ("tree alone", "call", "in a loop")
    heads = [c for label in peers for c in (f"{label} µs", "ratio", "differs by")]
    table = Table("(a) one call", "bodies", "rows", *(f"{c} µs" for c in columns), *heads)
    for case in exponents:
        for row in rows:
            if row["case"] != case:
                continue
            t = row["seconds"]
            cells = [microseconds(t[c]) for c in columns]
            for label in peers:
                cells += [microseconds(t[label]), f"{t[label] / t['call']:.2f}", f"{row['errors'][label]:.0e}"]
            table.add_row(case, str(row["n"]), str(row["rows"]), *cells)
        p = exponents[case]
        cells = [f"{p[c]:.2f}" for c in columns] + [c for label in peers for c in (f"{p[label]:.2f}", "", "")]
        table.add_row("exponent", "", "", *cells, end_section=True)
    console.print(table)


def show_b(console, rows, exponents):
    ours = list(METHODS)
    peers = [label for label in rows[0]["seconds"] if label not in METHODS]
    heads = [c for label in peers for c in (f"{label} µs", "to index 2", "error")]
    table = Table("(b) one step", "bodies", *(c for label in ours for c in (f"{label} µs", "error")), *heads)
    for case in exponents:
        for row in rows:
            if row["case"] != case:
                continue
            t, e = row["seconds"], row["errors"]
            cells = [c for label in ours for c in (microseconds(t[label]), f"{e[label]:.0e}")]
            for label in peers:
                there = label in t
                cells += (
                    [microseconds(t[label]), f"{t[label] / t['α, index 2']:.1f}", f"{e[label]:.0e}"]
                    if there
                    else [""] * 3
                )
            table.add_row(case, str(row["n"]), *cells)
        p = exponents[case]
        cells = [c for label in ours for c in (f"{p[label]:.2f}", "")]
        cells += [c for label in peers for c in (f"{p[label]:.2f}" if label in p else "", "", "")]
        table.add_row("exponent", "", *cells, end_section=True)
    console.print(table)
    for kind in THEIR_SOLVERS if peers else ():
        chosen = sorted({row["quickest"][kind] for row in rows if kind in row["quickest"]})
        console.print(f"Exudyn, {kind}: {'; '.join(chosen)}", highlight=False)


def show_c(console, exponents):
    worst = max(p[label] for found in exponents for p in found.values() for label in p if label in OURS)
    verdict = "met" if worst <= GOAL else "missed"
    console.print(f"(c) the largest of our exponents is {worst:.2f} (goal {GOAL:g} {verdict})", highlight=False)


OURS = ("call", "in a loop", *METHODS)


def show_rest(console, n, d, e, f):
    table = Table(f"(d) {n} bodies: loops", "rows", "call µs", "µs a row", "step µs")
    for m, rows, call, step in d:
        table.add_row(str(m), str(rows), *map(microseconds, (call, call / rows, step)))
    console.print(table)
    table = Table("(e) four-bars", "bodies", "rows", "redundant", *(f"{label} µs a step" for label in METHODS))
    for windows, bodies, rows, redundant, times in e:
        table.add_row(*map(str, (windows, bodies, rows, redundant)), *map(microseconds, times.values()))
    table.add_row(
        "exponent", "", "", "", *(f"{exponent([r[1] for r in e], [r[4][m] for r in e]):.2f}" for m in METHODS)
    )
    console.print(table)
    table = Table("(f) one ball: bodies", *(f"{label} µs" for label in f[0][1]))
    for bodies, times in f:
        table.add_row(str(bodies), *map(microseconds, times.values()))
    console.print(table)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    options = parser.parse_args(argv)
    peers = {"pin": "pinocchio", "exudyn": "exudyn"}
    missing = [name for name, module in peers.items() if not find_spec(module)]
    there = [name for name in peers if name not in missing]
    versions = {"python": sysconfig.get_python_version()}
    versions |= {name: version(name) for name in ("numpy", "numba", *there)}
    processor = f"{llvmlite.binding.get_host_cpu_name()} ({platform.machine()})"
    sizes = (8, 12) if options.quick else (8, 16, 32, 64, 128)
    seconds, rounds = (0.02, 1) if options.quick else (0.2, 4)
    n, counts, windows = (8, (1, 2), (1, 2)) if options.quick else (64, (1, 2, 4, 8, 16), (1, 2, 5, 10, 20, 40))
    a = part_a(sizes, seconds, "pin" in there)
    b = part_b(sizes, rounds, "exudyn" in there)
    c = part_c(a, b)
    d, e, f = part_d(n, counts, seconds), part_e(windows, seconds), part_f(sizes, seconds)

    # Wide enough for the widest table, also when the output goes to a file.
    console = Console(width=max(Console().width, 170))
    words = ", ".join(f"{name} {number}" for name, number in versions.items())
    console.print(f"{words}; {processor}; one thread", highlight=False)
    for name in missing:
        console.print(f"{name} is not installed: left out.", highlight=False)
    show_a(console, a, c[0])
    show_b(console, b, c[1])
    show_c(console, c)
    show_rest(console, n, d, e, f)
    if options.json:
        figures = {"versions": versions, "processor": processor, "calls": a, "steps": b, "exponents": c}
        figures |= {"loops": d, "ladder": e, "phases": f}
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
