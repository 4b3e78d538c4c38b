"""Forward dynamics beside Pinocchio and MuJoCo, in one run, as ratios; cost against size; compile time.

    pip install '.[bench]' && python tools/bench/dynamics.py [--json FILE] [--quick]

(a) One call from Python for serial chains of revolute joints and for robots of example-robot-data.  Ours is the kernel
    as a user's loop would call it, Pinocchio's is `pin.aba` with its data made beforehand, MuJoCo's is
    `mj_fwdPosition … mj_fwdAcceleration` without constraints.  Floor: not slower than Pinocchio; goal: twice as fast
    from 16 bodies on.
(b) Time against the number of flexible bodies, with 5, 10 and 15 modes, and the exponent of its growth (goal ≤ 1.05);
    composite bodies and a dense solve beside it where that is not absurd.
(c) Seconds to compile the kernels from an empty cache, and to load them from a full one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

# One thread for everybody: BLAS's own would compete with what is measured.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pinocchio as pin
from rich.console import Console
from rich.table import Table

from liegeo import model as lm
from liegeo.kernels import articulated, composite, inverse
from liegeo.lie import SE3

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
        counts.append(max(1, int(0.01 / max(time.perf_counter() - start, 1e-7))))
    result = [np.inf] * len(functions)
    end = time.perf_counter() + seconds * len(functions)
    while time.perf_counter() < end:
        for i, (function, n) in enumerate(zip(functions, counts, strict=True)):
            start = time.perf_counter()
            for _ in range(n):
                function()
            result[i] = min(result[i], (time.perf_counter() - start) / n)
    return result


def call(function, model, *vectors):
    """A call without checks, on arrays made beforehand."""
    work, out = model.workspace(), np.empty(model.nv)
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


def mujoco_call(text, q, v, tau):
    """MuJoCo's call and its data; None without MuJoCo."""
    try:
        import mujoco
    except ImportError:
        return None
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, tau

    def forward():
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        mujoco.mj_fwdActuation(model, data)
        mujoco.mj_fwdAcceleration(model, data)

    forward()
    return forward, data


def part_a(rng, sizes):
    rows = []
    for n in sizes:
        ours, theirs, text = rigid_chain(n, rng)
        q, v, tau = rng.normal(size=(3, n))
        data = theirs.createData()
        mine = call(articulated.forward_dynamics, ours, q, v, tau)
        reference = pin.aba(theirs, data, q, v, tau)
        other = mujoco_call(text, q, v, tau)
        results = {"liegeo": np.empty(n)}
        articulated.forward_dynamics(ours.ints, ours.floats, q, v, tau, ours.workspace(), results["liegeo"])
        peers = [lambda: pin.aba(theirs, data, q, v, tau)]  # noqa: B023
        if other is not None:
            peers.append(other[0])
            results["MuJoCo"] = other[1].qacc_smooth
        for name, result in results.items():
            error = np.linalg.norm(result - reference) / np.linalg.norm(reference)
            if error > 1e-8:
                raise SystemExit(f"chain of {n}: {name} differs from Pinocchio by {error:.1e}")
        times = best(mine, *peers)
        rows.append((f"chain of {n}", *times, *[None] * (3 - len(times))))
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "dynamics"))
    import robots

    for name, (file, floating) in ROBOTS.items():
        theirs = robots.load(file, floating)
        ours = robots.translate(theirs)
        q, v, state = robots.random_state(theirs, ours, rng)
        tau, data = rng.normal(size=theirs.nv), theirs.createData()
        mine = call(articulated.forward_dynamics, ours, state.q, state.v, robots.speeds(theirs, tau))
        rows.append((name, *best(mine, lambda: pin.aba(theirs, data, q, v, tau)), None))  # noqa: B023
    return rows


def flexible_chain(n, n_modes, rng):
    """Bodies of six lumped nodes with random modes, cantilever, joined by hinges."""
    bodies, joints = [], []
    for i in range(n):
        pieces = [
            lm.LumpedNode(
                modes=0.1 * rng.normal(size=(6, n_modes)) * (k > 0),
                position=(0.2 * k, 0, 0),
                mass=0.3,
                inertia=(0.01, 0.01, 0.01),
                name=f"n{k}",
            )
            for k in range(6)
        ]
        bodies.append(lm.FlexibleBody.from_nodes(f"b{i}", pieces, 1e3 * np.eye(n_modes)))
        carrier, at = ("world", None) if i == 0 else (f"b{i - 1}", "n5")
        joints.append(lm.Revolute(name=f"j{i}", parent=carrier, child=f"b{i}", at=at, child_at="n0", axis=(0, 1, 0)))
    return joints, bodies


def part_b(rng, sizes):
    rows = []
    for fidelity in ("full", "ruthless"):
        for n_modes in (5, 10, 15):
            times = []
            for n in sizes:
                joints, bodies = flexible_chain(n, n_modes, rng)
                model = lm.Tree(bodies, joints, fidelity=fidelity).compile()
                q, v, tau = 0.01 * rng.normal(size=(3, model.nv))
                functions = [call(articulated.forward_dynamics, model, q, v, tau)]
                if n <= 32:
                    functions.append(composite_solve(model, q, v, tau))
                times.append((n, *best(*functions, seconds=0.2)))
            slope = np.polyfit(np.log([t[0] for t in times]), np.log([t[1] for t in times]), 1)[0]
            rows.append((fidelity, n_modes, slope, times))
    return rows


def composite_solve(model, q, v, tau):
    """[JR90, section 5]: mass matrix, bias, dense solve."""
    M, work, zero, bias = np.empty((model.nv, model.nv)), model.workspace(), np.zeros(model.nv), np.empty(model.nv)

    def solve():
        composite.mass_matrix(model.ints, model.floats, q, work, M)
        inverse.inverse_dynamics(model.ints, model.floats, q, v, zero, work, bias)
        return np.linalg.solve(M, tau - bias)

    return solve


def part_c():
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "LIEGEO_CACHE_DIR": folder}
        run = [sys.executable, "-c", COMPILE]
        return [float(subprocess.run(run, env=environment, capture_output=True, check=True).stdout) for _ in range(2)]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    options = parser.parse_args(argv)
    rng = np.random.default_rng(0)
    a = part_a(rng, (4, 7) if options.quick else (4, 7, 16, 64, 256))
    b = part_b(rng, (4, 8) if options.quick else (8, 16, 32, 64, 128, 256, 512))
    c = part_c()

    console = Console()
    console.print(f"Python {sysconfig.get_python_version()}, numpy {np.__version__}, Pinocchio {pin.__version__}")
    table = Table("(a) rigid, one call", "liegeo µs", "Pinocchio µs", "ratio", "MuJoCo µs", "ratio")
    for name, mine, theirs, other in a:
        last = (f"{1e6 * other:.2f}", f"{other / mine:.2f}") if other else ("", "")
        table.add_row(name, f"{1e6 * mine:.2f}", f"{1e6 * theirs:.2f}", f"{theirs / mine:.2f}", *last)
    console.print(table)
    table = Table("(b) flexible", "modes", "growth exponent", "µs a body, smallest", "largest", "composite: ratio")
    for fidelity, n_modes, slope, times in b:
        small, large = times[0], times[-1]
        dense = [t[2] / t[1] for t in times if len(t) > 2][-1]
        per_body = (f"{1e6 * t[1] / t[0]:.2f}" for t in (small, large))
        table.add_row(fidelity, str(n_modes), f"{slope:.3f}", *per_body, f"{dense:.1f}")
    console.print(table)
    console.print(f"(c) forward dynamics: {c[0]:.1f} s to compile from an empty cache, {c[1]:.2f} s to load")
    if options.json:
        options.json.write_text(json.dumps({"rigid": a, "flexible": b, "compile": c}, indent=1))


if __name__ == "__main__":
    main()
