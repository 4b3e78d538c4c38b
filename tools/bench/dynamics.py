"""Forward dynamics beside Pinocchio and MuJoCo, in one run, as ratios; cost against size; operations; overheads.

    pip install '.[bench]' && python tools/bench/dynamics.py [--json FILE] [--quick]

(a) One call from Python for serial chains of revolute joints and for robots of example-robot-data.  Ours is the kernel
    as a user's loop would call it, Pinocchio's is `pin.aba` with its data made beforehand, MuJoCo's is
    `mj_fwdPosition … mj_fwdAcceleration` without constraints, for those robots that it reads.  All must agree.  Floor:
    not slower than Pinocchio; goal: twice as fast from 16 bodies on.
(b) Time against the number of flexible bodies, with 5, 10 and 15 modes, and the exponent of its growth (goal ≤ 1.05),
    for chains of equal links, whose data stand in memory once, and of links that are all different, whose data outgrow
    the processor's caches; composite bodies and a dense solve beside them where that is not absurd.
(c) Floating-point operations: the very kernels run as plain Python on numbers that count.  First the two sweeps over a
    chain of flexible bodies beside [JR90, table 1], which is about (7.10)–(7.12) of ruthless models with free–free
    modes, then every phase of a call.  What is executed counts, also where a factor happens to be zero, but for changes
    of sign and products with the constants 0, 1 and −1, which are shown as trivial.  A division counts as one; sine,
    cosine and root are shown as functions.  One overestimate: terms of the series of an exponential that nobody uses
    count in `poses` and `velocities`, though the compiler drops them.
    Last what a core achieves: operations by time, as a share of loops of fused multiply-adds, one number at a time and
    vectorised, which are compiled with the same options and timed in the same run.
(d) Seconds to compile the kernels from an empty cache, and to load them from a full one; what a call costs where there
    is next to nothing to compute: one body, beside an empty kernel with the same arguments and the checked function.
"""

from __future__ import annotations

import argparse
import itertools
import json
import operator
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import ClassVar

# One thread for everybody: BLAS's own would compete with what is measured.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pinocchio as pin
from rich.console import Console
from rich.table import Table
from rich.text import Text

from liegeo import dynamics
from liegeo import model as lm
from liegeo._jit import kernel
from liegeo.kernels import articulated, composite, elements, inertia, inverse, kinematics
from liegeo.kernels import layout as at
from liegeo.lie import SE3


def weigh(I, F, q, v, W):
    for i in range(I[at.N_BODIES]):
        inertia.body_inertia(I, F, i, q, True, W)
        inertia.body_bias(I, F, i, q, v, W)


def articulate(I, F, W):
    for i in range(I[at.N_BODIES] - 1, -1, -1):
        articulated.articulate(I, F, i, 0.0, 0.0, False, W, True, W)


def gather(I, F, W, out):
    for i in range(I[at.N_BODIES] - 1, -1, -1):
        articulated.gather(I, F, i, out, True, True, W)


# What `articulated.forward_dynamics` does; part (c) counts phase by phase.
PHASES = (
    ("poses", lambda I, F, q, v, u, W, out: kinematics.poses(I, F, q, W)),
    ("velocities", lambda I, F, q, v, u, W, out: kinematics.velocities(I, F, q, v, W)),
    ("inertias, biases", lambda I, F, q, v, u, W, out: weigh(I, F, q, v, W)),
    ("load", lambda I, F, q, v, u, W, out: elements.load(I, F, q, v, u, out)),
    ("articulate", lambda I, F, q, v, u, W, out: articulate(I, F, W)),
    ("gather", lambda I, F, q, v, u, W, out: gather(I, F, W, out)),
    ("scatter", lambda I, F, q, v, u, W, out: articulated.scatter(I, F, u[at.gravity(I) :], True, W, out)),
)
ALL_PHASES = tuple(label for label, _ in PHASES)
# Those that the paper counts: [JR90, (7.10), (7.11), (7.12)].
PAPER_PHASES = ("articulate", "gather", "scatter")
# [JR90, table 1]: products and additions by modes and bodies.  In our scan, 19591 is the one number off a straight line
# in the number of bodies; 19959 would be on it.
PAPER_BODIES = (3, 6, 9)
PAPER_TABLE = {
    5: ((5223, 4195), (12591, 10075), (19591, 15955)),
    10: ((11432, 9677), (27611, 23315), (43790, 36953)),
    15: ((18587, 16287), (44846, 39225), (71105, 62163)),
}
# What counts as an operation in a sum or a ratio.
OPERATIONS = ("products", "additions", "divisions")

ROBOTS = {
    "panda": ("panda_description/urdf/panda.urdf", False),
    "ur5": ("ur_description/urdf/ur5_robot.urdf", False),
    "anymal": ("anymal_b_simple_description/robots/anymal.urdf", True),
    "talos": ("talos_data/robots/talos_full_v2.urdf", True),
}
COMPILE = """
import time, numpy as np
from liegeo import model as lm, dynamics
m = lm.Tree([lm.Body("a", 1.0, (0, 0, 1), (1, 1, 1))], [lm.Revolute(name="j", parent="world", child="a")]).compile()
t = time.perf_counter(); dynamics.forward_dynamics(m, m.state()); print(time.perf_counter() - t)
"""


def best(*functions, seconds=0.4):
    """The best time of one call of each function, in turns, so that all see the same machine."""
    counts = []
    for function in functions:
        start = time.perf_counter()
        function()
        counts.append(max(3, int(0.01 / max(time.perf_counter() - start, 1e-7))))
    result = [np.inf] * len(functions)
    end = time.perf_counter() + seconds * len(functions)
    while time.perf_counter() < end:
        for i, (function, n) in enumerate(zip(functions, counts, strict=True)):
            # first without the clock: the others have used the caches since, and megabytes settle in the outer one
            # only after several calls, as they do in a simulation
            for _ in range(min(n, 8)):
                function()
            start = time.perf_counter()
            for _ in range(n):
                function()
            result[i] = min(result[i], (time.perf_counter() - start) / n)
    return result


@kernel(forceinline=False)
def nothing(I, F, q, v, tau, W, out):
    return 0


@kernel(forceinline=False)
def multiply_add(n, x, y):
    """20 n operations: ten sums that do not wait for each other, in registers, which no compiler vectorises."""
    a = b = c = d = e = f = g = h = i = j = x
    for _ in range(n):
        a, b, c, d, e = a * x + y, b * x + y, c * x + y, d * x + y, e * x + y
        f, g, h, i, j = f * x + y, g * x + y, h * x + y, i * x + y, j * x + y
    return a + b + c + d + e + f + g + h + i + j


@kernel(forceinline=False)
def multiply_add_vectorised(n, x, y, z):
    """16 n operations for each number in z, side by side."""
    for _ in range(n):
        for i in range(z.size):
            s = z[i]
            for _ in range(8):
                s = s * x + y
            z[i] = s


def call(function, model, *vectors):
    """Return a call without checks, on arrays made beforehand; of three vectors the last is what drives the model."""
    work, out = model.workspace(), np.empty(model.nv)
    if len(vectors) == 3:
        vectors = *vectors[:2], model.drive("tau", vectors[2], None, 0.0)
    arguments = (model.ints, model.floats, *(np.array(x) for x in vectors), work, out)
    function(*arguments)
    return lambda: function(*arguments)


def rigid_chain(n, rng):
    """The same chain for us, for Pinocchio and, as XML, for MuJoCo."""
    bodies, joints, theirs, parent = [], [], pin.Model(), 0
    xml = []
    for i in range(n):
        A = rng.normal(size=(3, 3))
        J = 0.1 * (np.trace(A @ A.T) * np.eye(3) - A @ A.T)
        mass, com, X, axis = rng.uniform(0.5, 2.0), 0.2 * rng.normal(size=3), SE3.random(rng=rng), np.eye(3)[i % 3]
        bodies.append(lm.Body(f"b{i}", mass, com, J))
        carrier = "world" if i == 0 else f"b{i - 1}"
        joints.append(lm.Revolute(name=f"j{i}", parent=carrier, child=f"b{i}", at=X, axis=axis))
        kind = (pin.JointModelRX(), pin.JointModelRY(), pin.JointModelRZ())[i % 3]
        parent = theirs.addJoint(parent, kind, pin.SE3(X[:3, :3], X[:3, 3]), f"j{i}")
        theirs.appendBodyToJoint(parent, pin.Inertia(mass, com, J), pin.SE3.Identity())
        quaternion = pin.Quaternion(X[:3, :3])
        pose = f'pos="{_text(X[:3, 3])}" quat="{_text([quaternion.w, quaternion.x, quaternion.y, quaternion.z])}"'
        full = _text([J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]])
        xml.append(
            f'<body {pose}><joint type="hinge" axis="{_text(axis)}"/>'
            f'<inertial pos="{_text(com)}" mass="{mass:.17g}" fullinertia="{full}"/>'
        )
    option = '<option gravity="0 0 -9.81"><flag contact="disable" constraint="disable"/></option>'
    text = f'<mujoco><compiler angle="radian"/>{option}<worldbody>{"".join(xml)}{"</body>" * n}</worldbody></mujoco>'
    return lm.Tree(bodies, joints).compile(), theirs, text


def _text(values):
    return " ".join(f"{v:.17g}" for v in values)


def mujoco_chain(text, q, v, tau):
    """MuJoCo's call and its data; None without MuJoCo."""
    try:
        import mujoco
    except ImportError:
        return None
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, tau
    return mujoco_call(model, data), data


def mujoco_robot(file, floating, ours, state, tau):
    """MuJoCo's call, and how to read its accelerations as ours; None without MuJoCo, or if it refuses the robot."""
    try:
        import mujoco_robots
    except ImportError:
        return None
    try:
        robot = mujoco_robots.Robot(mujoco_robots.load(file, floating), ours, state)
    except ValueError:
        return None
    robot.data.qfrc_applied[:] = np.linalg.solve(robot.T.T, tau)
    forward = mujoco_call(robot.theirs, robot.data)
    return forward, np.linalg.solve(robot.T, robot.data.qacc_smooth - robot.shift)


def mujoco_call(model, data):
    import mujoco

    def forward():
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        mujoco.mj_fwdActuation(model, data)
        mujoco.mj_fwdAcceleration(model, data)

    forward()
    return forward


def check_results(who, results, reference):
    for name, result in results.items():
        error = np.linalg.norm(result - reference) / np.linalg.norm(reference)
        if error > 1e-8:
            raise SystemExit(f"{who}: {name} differs from Pinocchio by {error:.1e}")


def part_a(rng, sizes, seconds):
    rows = []
    for n in sizes:
        ours, theirs, text = rigid_chain(n, rng)
        q, v, tau = rng.normal(size=(3, n))
        data = theirs.createData()
        mine = call(articulated.forward_dynamics, ours, q, v, tau)
        reference = pin.aba(theirs, data, q, v, tau)
        other = mujoco_chain(text, q, v, tau)
        results = {"liegeo": np.empty(n)}
        u = ours.drive("tau", tau, None, 0.0)
        articulated.forward_dynamics(ours.ints, ours.floats, q, v, u, ours.workspace(), results["liegeo"])
        peers = [lambda: pin.aba(theirs, data, q, v, tau)]  # noqa: B023
        if other is not None:
            peers.append(other[0])
            results["MuJoCo"] = other[1].qacc_smooth
        check_results(f"chain of {n}", results, reference)
        times = best(mine, *peers, seconds=seconds)
        rows.append((f"chain of {n}", *times, *[None] * (3 - len(times))))
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "dynamics"))
    import robots

    for name, (file, floating) in ROBOTS.items():
        theirs = robots.load(file, floating)
        ours = robots.translate(theirs)
        q, v, state = robots.random_state(theirs, ours, rng)
        tau, data = rng.normal(size=theirs.nv), theirs.createData()
        mine = call(articulated.forward_dynamics, ours, state.q, state.v, robots.speeds(theirs, tau))
        peers = [lambda: pin.aba(theirs, data, q, v, tau)]  # noqa: B023
        reference = robots.speeds(theirs, pin.aba(theirs, data, q, v, tau))
        results = {"liegeo": dynamics.forward_dynamics(ours, state, robots.speeds(theirs, tau))}
        other = mujoco_robot(file, floating, ours, state, robots.speeds(theirs, tau))
        if other is not None:
            peers.append(other[0])
            results["MuJoCo"] = other[1]
        check_results(name, results, reference)
        times = best(mine, *peers, seconds=seconds)
        rows.append((name, *times, *[None] * (3 - len(times))))
    return rows


def flexible_chain(n, n_modes, rng, free=False, equal=False):
    """Bodies of six lumped nodes with random modes, cantilever or free–free, all equal or not, joined by hinges."""
    bodies, joints, pieces = [], [], None
    for i in range(n):
        pieces = (
            pieces
            if equal and pieces
            else [
                lm.LumpedNode(
                    modes=0.1 * rng.normal(size=(6, n_modes)) * (free or k > 0),
                    position=(0.2 * k, 0, 0),
                    mass=0.3,
                    inertia=(0.01, 0.01, 0.01),
                    name=f"n{k}",
                )
                for k in range(6)
            ]
        )
        bodies.append(lm.FlexibleBody.from_nodes(f"b{i}", pieces, 1e3 * np.eye(n_modes)))
        carrier, at = ("world", None) if i == 0 else (f"b{i - 1}", "n5")
        joints.append(lm.Revolute(name=f"j{i}", parent=carrier, child=f"b{i}", at=at, child_at="n0", axis=(0, 1, 0)))
    return joints, bodies


def part_b(rng, sizes, seconds):
    rows = []
    for fidelity, equal in itertools.product(("full", "ruthless"), (True, False)):
        for n_modes in (5, 10, 15):
            functions, dense = [], {}
            for n in sizes:
                joints, bodies = flexible_chain(n, n_modes, rng, equal=equal)
                model = lm.Tree(bodies, joints, fidelity=fidelity).compile()
                q, v, tau = 0.01 * rng.normal(size=(3, model.nv))
                functions.append(call(articulated.forward_dynamics, model, q, v, tau))
                if n <= 32:
                    dense[n] = composite_solve(model, q, v, tau)
            # all sizes in turns, so that a slow spell of the machine does not bend the line
            found = best(*functions, *dense.values(), seconds=seconds)
            composite_times = dict(zip(dense, found[len(sizes) :], strict=True))
            times = [
                (n, t, composite_times[n]) if n in composite_times else (n, t)
                for n, t in zip(sizes, found, strict=False)
            ]
            slope = np.polyfit(np.log([t[0] for t in times]), np.log([t[1] for t in times]), 1)[0]
            rows.append((fidelity, n_modes, slope, times, "equal" if equal else "all different"))
    return rows


def composite_solve(model, q, v, tau):
    """[JR90, section 5]: mass matrix, bias, dense solve."""
    M, work, bias = np.empty((model.nv, model.nv)), model.workspace(), np.empty(model.nv)
    zero = model.drive("a", None, None, 0.0)

    def solve():
        composite.mass_matrix(model.ints, model.floats, q, work, M)
        inverse.inverse_dynamics(model.ints, model.floats, q, v, zero, work, bias)
        return np.linalg.solve(M, tau - bias)

    return solve


def _counted(label, function, swapped=False):
    """The method of `Number` for an operator."""

    def method(self, other):
        if isinstance(other, Number):
            other, trivial = other.value, False
        else:
            trivial = label == "products" and other in (-1.0, 0.0, 1.0)
        Number.counts["trivial" if trivial else label] += 1
        return Number(function(other, self.value) if swapped else function(self.value, other))

    return method


def _counted_function(function):
    def method(self):
        Number.counts["functions"] += 1
        return Number(function(self.value))

    return method


class Number:
    """A number that counts what is done with it."""

    __slots__ = ("value",)
    counts: ClassVar[Counter] = Counter()

    def __init__(self, value):
        self.value = float(value)

    __add__ = _counted("additions", operator.add)
    __radd__ = _counted("additions", operator.add, swapped=True)
    __sub__ = _counted("additions", operator.sub)
    __rsub__ = _counted("additions", operator.sub, swapped=True)
    __mul__ = _counted("products", operator.mul)
    __rmul__ = _counted("products", operator.mul, swapped=True)
    __truediv__ = _counted("divisions", operator.truediv)
    __rtruediv__ = _counted("divisions", operator.truediv, swapped=True)
    # NumPy's functions call these.
    sin, cos, sqrt = _counted_function(np.sin), _counted_function(np.cos), _counted_function(np.sqrt)

    def __neg__(self):
        Number.counts["trivial"] += 1
        return Number(-self.value)

    def __eq__(self, other):
        return self.value == float(other)

    __hash__ = None

    def __float__(self):
        return self.value

    @property
    def real(self):
        return self.value


class Memory(np.ndarray):
    """An array of `Number`: also a constant that is stored comes back as one, because a compiler would not know it."""

    def __new__(cls, values):
        return np.array([Number(x) for x in values], dtype=object).view(cls)

    def __setitem__(self, place, value):
        super().__setitem__(place, Number(value) if isinstance(value, int | float) else value)


def chain(bodies, modes, fidelity, free, rng):
    """The model that a case of part (c) names; rigid without modes."""
    if modes == 0:
        return rigid_chain(bodies, rng)[0]
    joints, parts = flexible_chain(bodies, modes, rng, free)
    return lm.Tree(parts, joints, fidelity=fidelity).compile()


def count(case):
    """Operations of forward dynamics and of each phase for one case, run as plain Python."""
    rng = np.random.default_rng(0)
    model = chain(*case, rng)
    vectors = 0.01 * rng.normal(size=(3, model.nv))
    result, accelerations = {}, []
    for phases in ([("whole", articulated.forward_dynamics)], PHASES):
        # a new workspace of NaN, so that the phases find nothing of the whole
        q, v, tau = vectors
        numbers = (model.floats, q, v, model.drive("tau", tau, None, 0.0), model.workspace(), np.empty(model.nv))
        arguments = [model.ints, *map(Memory, numbers)]
        for label, phase in phases:
            Number.counts.clear()
            phase(*arguments)
            result[label] = dict(Number.counts)
        accelerations.append(arguments[-1].astype(float))
    if not np.allclose(*accelerations, rtol=1e-9, atol=0.0):
        raise SystemExit("PHASES in tools/bench/dynamics.py are not what forward_dynamics does")
    return result


def count_all(cases):
    """By case, the counts of a process without compiler."""
    run = [sys.executable, __file__, "--count", json.dumps(cases)]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(run, env=environment, stdout=subprocess.PIPE, check=True)
    return dict(zip(cases, json.loads(done.stdout), strict=True))


def total(counts, labels, kinds=OPERATIONS):
    """A sum over phases and kinds of operations."""
    return sum(counts[label].get(kind, 0) for label in labels for kind in kinds)


def part_c(rng, modes, lengths, seconds):
    sizes = [(n, m) for m in modes for n in PAPER_BODIES]
    cases = [(n, 0, "full", False) for n in PAPER_BODIES]
    cases += [(n, m, fidelity, False) for fidelity in ("ruthless", "full") for n, m in sizes]
    cases += [(n, m, "ruthless", True) for n, m in sizes]
    rigid, flexible = lengths
    timed = [(rigid, 0, "full", False), (flexible, 10, "ruthless", False), (flexible, 10, "full", False)]
    counts = count_all(cases + timed)
    return {
        "paper": compare_with_paper(counts, modes),
        "phases": [phases_of_a_body(counts, *kind) for kind in dict.fromkeys(case[1:] for case in cases)],
        "speeds": achieved({case: total(counts[case], ["whole"]) for case in timed}, rng, seconds),
    }


def compare_with_paper(counts, modes):
    """Rows of a name, a number of modes and, by number of bodies and for a body: products, additions, divisions."""
    rows = []
    for m in modes:
        table = [(*pair, 0) for pair in PAPER_TABLE[m]]
        rows.append(("[JR90] table 1", m, *table, one_more(table)))
        rows.append(("[JR90] section 8.2", m, None, None, None, (*paper_body(m), 0)))
        for name, free in (("cantilever", False), ("free–free", True)):
            chains = [counts[n, m, "ruthless", free] for n in PAPER_BODIES]
            ours = [[total(c, PAPER_PHASES, [kind]) for kind in OPERATIONS] for c in chains]
            rows.append((name, m, *ours, one_more(ours)))
    return rows


def one_more(by_bodies):
    """What one more body costs, from the two shorter chains: PAPER_TABLE says why not the longest."""
    return [(b - a) / (PAPER_BODIES[1] - PAPER_BODIES[0]) for a, b in zip(by_bodies[0], by_bodies[1], strict=True)]


def paper_body(n):
    """Products and additions for a body with n modes by the formulas of [JR90, section 8.2]."""
    if n <= 7:
        products = 5 * n**3 / 6 + 25 * n**2 / 2 + 764 * n / 3 + 180
        additions = 5 * n**3 / 6 + 21 * n**2 / 2 + 548 * n / 3 + 164
    else:
        products = 12 * n**2 + 255 * n + 572
        additions = 13 * n**2 + 182 * n + 445
    # (7.11), then (7.12)
    return products + (n**2 + 25 * n + 49) + (18 * n + 52), additions + (n**2 + 24 * n + 50) + (19 * n + 42)


def phases_of_a_body(counts, modes, fidelity, free):
    """Name, modes, operations of one more body in each phase, its sines and such, its trivial products."""
    chains = [counts[n, modes, fidelity, free] for n in PAPER_BODIES]
    every = [[total(c, [label]) for label in ALL_PHASES] for c in chains]
    beside = [[total(c, ALL_PHASES, [kind]) for kind in ("functions", "trivial")] for c in chains]
    name = f"{fidelity}, {'free–free' if free else 'cantilever'}" if modes else "rigid"
    return name, modes, one_more(every), *one_more(beside)


def achieved(operations, rng, seconds):
    """Rows of a name, operations and seconds; the first two are what a core can do."""
    z = np.ones(256)
    loops = [lambda: multiply_add_vectorised(1000, 0.5, 0.1, z), lambda: multiply_add(20_000, 0.5, 0.1)]
    rows = [["multiply-adds, vectorised", 16_000 * z.size], ["multiply-adds, one by one", 400_000]]
    functions = []
    for loop in loops:
        # compiled now, so that `best` sees how long a call takes
        loop()
    for (bodies, modes, fidelity, free), n in operations.items():
        model = chain(bodies, modes, fidelity, free, rng)
        functions.append(call(articulated.forward_dynamics, model, *0.01 * rng.normal(size=(3, model.nv))))
        rows.append([f"{bodies} flexible bodies, {modes} modes, {fidelity}" if modes else f"{bodies} rigid bodies", n])
    return [(*row, t) for row, t in zip(rows, best(*loops, *functions, seconds=seconds), strict=True)]


def part_d(rng, seconds):
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "LIEGEO_CACHE_DIR": folder}
        run = [sys.executable, "-c", COMPILE]
        starts = [float(subprocess.run(run, env=environment, capture_output=True, check=True).stdout) for _ in range(2)]
    model = rigid_chain(1, rng)[0]
    q, v, tau = rng.normal(size=(3, 1))
    state = model.state(q, v)
    times = best(
        call(nothing, model, q, v, tau),
        call(articulated.forward_dynamics, model, q, v, tau),
        lambda: dynamics.forward_dynamics(model, state, tau),
        seconds=seconds,
    )
    return starts, dict(zip(("empty kernel", "kernel", "checked function"), times, strict=True))


def show_c(console, c):
    table = Table("(c) operations of the sweeps", "modes", *(f"{n} bodies" for n in PAPER_BODIES), "one more", "ratio")
    for name, modes, *chains, body in c["paper"]:
        if name == "[JR90] table 1":
            reference = sum(body)
        row = (Text(name), str(modes), *map(_operations, chains), _operations(body), f"{sum(body) / reference:.2f}")
        table.add_row(*row, end_section=name == "free–free")
    console.print(table)
    left_out = ", ".join(label for label in ALL_PHASES if label not in PAPER_PHASES)
    console.print(
        f"m products, a additions, d divisions; ratio: to the table. Left out by us and by section 8.2: {left_out}.\n"
        "The table is above the formulas of its own section, for which the paper gives no reason."
    )
    table = Table("operations of one more body", "modes", *ALL_PHASES, "all", "functions", "trivial")
    for name, modes, phases, *beside in c["phases"]:
        table.add_row(name, str(modes), *(f"{x:.0f}" for x in (*phases, sum(phases), *beside)))
    console.print(table)
    vectorised, scalar = (operations / t for _, operations, t in c["speeds"][:2])
    table = Table("achieved", "operations", "µs", "GFlop/s", "of one by one", "of vectorised")
    for name, operations, t in c["speeds"]:
        speed = operations / t
        shares = (f"{100 * speed / scalar:.0f} %", f"{100 * speed / vectorised:.0f} %")
        table.add_row(name, f"{operations:,}", f"{1e6 * t:.1f}", f"{1e-9 * speed:.1f}", *shares)
    console.print(table)


def _operations(numbers):
    """12m + 10a + 1d."""
    return " + ".join(f"{n:.0f}{letter}" for n, letter in zip(numbers or (), "mad", strict=False) if n)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    # what part (c) runs in a process without compiler
    parser.add_argument("--count", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.count:
        print(json.dumps([count(case) for case in options.count]))
        return
    rng = np.random.default_rng(0)
    seconds = 0.05 if options.quick else 0.4
    a = part_a(rng, (4, 7) if options.quick else (4, 7, 16, 64, 256), seconds)
    b = part_b(rng, (4, 8) if options.quick else (8, 16, 32, 64, 128, 256, 512), 0.5 * seconds)
    c = part_c(rng, (5,), (16, 8), seconds) if options.quick else part_c(rng, tuple(PAPER_TABLE), (64, 32), seconds)
    starts, calls = part_d(rng, seconds)

    # Wide enough for the widest table, also when the output goes to a file.
    console = Console(width=max(Console().width, 130))
    console.print(f"Python {sysconfig.get_python_version()}, numpy {np.__version__}, Pinocchio {pin.__version__}")
    table = Table("(a) rigid, one call", "liegeo µs", "Pinocchio µs", "ratio", "MuJoCo µs", "ratio")
    for name, mine, theirs, other in a:
        last = (f"{1e6 * other:.2f}", f"{other / mine:.2f}") if other else ("", "")
        table.add_row(name, f"{1e6 * mine:.2f}", f"{1e6 * theirs:.2f}", f"{theirs / mine:.2f}", *last)
    console.print(table)
    table = Table(
        "(b) flexible", "bodies", "modes", "growth exponent", "µs a body, smallest", "largest", "composite: ratio"
    )
    for fidelity, n_modes, slope, times, bodies in b:
        small, large = times[0], times[-1]
        dense = [t[2] / t[1] for t in times if len(t) > 2][-1]
        per_body = (f"{1e6 * t[1] / t[0]:.2f}" for t in (small, large))
        table.add_row(fidelity, bodies, str(n_modes), f"{slope:.3f}", *per_body, f"{dense:.1f}")
    console.print(table)
    show_c(console, c)
    console.print(f"(d) forward dynamics: {starts[0]:.1f} s to compile from an empty cache, {starts[1]:.2f} s to load")
    table = Table("a call with one body", "µs")
    for name, t in calls.items():
        table.add_row(name, f"{1e6 * t:.2f}")
    console.print(table)
    if options.json:
        figures = {"rigid": a, "flexible": b, "operations": c, "compile": starts, "call": calls}
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
