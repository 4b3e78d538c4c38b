"""Machines beside MuJoCo, in one run, as ratios.

    pip install '.[bench,mjcf]' && python tools/bench/machines.py [--json FILE] [--quick]

(1) 200 spheres, 10 cm wide and 0.5 kg each, fall into a box of five planes, 60 cm wide, and come to rest.  For one
    simulated second: seconds of the processor, the largest depth to which something sinks into something else, and how
    many pairs touch at the end.

    What differs.  MuJoCo's contact is a constraint: each step solves an optimisation problem for all contacts together,
    with friction inside a cone, so that its step may be long, and a pile that rests costs as much as one that falls.
    Ours is a force law: each evaluation costs as much as the contacts that there are, and the step has to resolve the
    time of contact, some milliseconds here; ten times the stiffness takes steps a third as long.  MuJoCo has its usual
    softness, with which spheres sink in deeper than ours do.  Restitution is 0.5 at 1 m/s in ours; MuJoCo's comes from
    its time constant.  Both regularise friction: ours below 1 mm/s, so that a pile creeps for ever, and MuJoCo's by the
    softness of its constraint.  Ours also accounts for energy.

(2) A quadruped (Unitree's Go1, from the URDF file of example-robot-data beside Pinocchio, which both programs read)
    stands and bows for two seconds on a plane: 12 joints with limits, dry friction and damping, feet as spheres, and PD
    control that a function of Python samples at 500 Hz for both.

    What differs.  As in (1): MuJoCo's contact and its friction of joints are constraints, solved together in each step
    of 2 ms; ours are force laws, friction of feet is full above 20 mm/s and that of joints above 50 mrad/s.  Explicit
    methods have to resolve these slopes, so that their steps are a tenth of MuJoCo's; implicit ones solve for them.
    MuJoCo's feet sink in by their softness (the height of the trunk says how far), ours by 0.6 mm.  Where a run of ours
    is sampled, Python takes a tenth of a millisecond per sample besides, and energy is accounted for.

(3) The arm of models/flexible_arm.yaml, two flexible links on three joints, in one simulated second with equal steps:
    alone, and with all that a machine has, added one behind the other.  The goal is 1.5 times the arm alone with all of
    it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sysconfig
import tempfile
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

# One thread for everybody: BLAS's own would compete with what is measured.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import llvmlite.binding
import machine_models as machines
import numpy as np
from rich.console import Console
from rich.table import Table

import liegeo as lg
from liegeo import model as lm

RADIUS, MASS, HALF, FRICTION = 0.05, 0.5, 0.3, 0.3
SIDES = (
    ((0, 0, 1), (0, 0, 0)),
    *(((x, y, 0), (-HALF * x, -HALF * y, 0)) for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1))),
)
OURS = (("rkmk-4", 1e-3), ("rkmk-2", 5e-4))
# Step, cone and solver.
MUJOCO = ((2e-3, "pyramidal", "Newton"), (2e-3, "elliptic", "Newton"), (2e-3, "pyramidal", "CG"))


def places(n):
    """Return where the spheres begin: layers of 25, a little beside a grid."""
    k = np.arange(n)
    grid = np.stack([(k % 5 - 2) * 0.11, (k // 5 % 5 - 2) * 0.11, 0.06 + 0.12 * (k // 25)], axis=1)
    return grid + np.random.default_rng(0).uniform(-0.004, 0.004, (n, 3))


def ours(n):
    """Return our model of n spheres, and the state in which they begin."""
    inertia = 0.4 * MASS * RADIUS**2
    bodies = [lg.Body(f"s{i}", mass=MASS, inertia=(inertia,) * 3) for i in range(n)]
    joints = [lm.Free(name=f"move{i}", parent="world", child=f"s{i}") for i in range(n)]
    surfaces = [lm.SphereSurface(name=f"skin{i}", at=f"s{i}", radius=RADIUS) for i in range(n)]
    for k, (normal, p) in enumerate(SIDES):
        z = np.array(normal, dtype=np.float64)
        x = np.roll(z, 1)
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = np.stack([x, np.cross(z, x), z], axis=1), p
        surfaces.append(lm.PlaneSurface(name=f"side{k}", at=("world", X)))
    material = {"stiffness": 2e4, "exponent": 1.0, "restitution": 0.5, "impact_speed": 1.0, "friction": FRICTION}
    model = lg.Tree(bodies, joints, forces=[lm.Contacts(name="pile", among=surfaces, **material)]).compile()
    q = np.zeros((n, 7))
    q[:, 0], q[:, 4:] = 1.0, places(n)
    return model, model.state(q=q.ravel())


def time_ours(n, t_end):
    """Return for each method: seconds, largest depth, number of pairs at the end, and how energy was accounted for."""
    model, state = ours(n)
    out = []
    for method, step in OURS:
        options = {"method": method, "step": step, "progress": False}
        # what is compiled in the first run is not timed
        lg.simulate(model, state, t_end=4 * step, **options)
        begin = time.process_time()
        run = lg.simulate(model, state, t_end=t_end, output=np.linspace(0.0, t_end, 101), **options)
        seconds = time.process_time() - begin
        row = {"method": method, "step": step, "seconds": seconds, "depth": float(run["pile.depth"].max())}
        out.append(row | {"pairs": int(run["pile.touching"][-1]), "defect": float(run.info.energy.defect)})
    return out


def scene(n):
    """Return the same as MJCF."""
    planes = "".join(
        f'<geom type="plane" size="1 1 1" pos="{p[0]} {p[1]} {p[2]}" zaxis="{z[0]} {z[1]} {z[2]}" '
        f'friction="{FRICTION} 0 0"/>'
        for z, p in SIDES
    )
    spheres = "".join(
        f'<body pos="{x} {y} {z}"><freejoint/><geom type="sphere" size="{RADIUS}" mass="{MASS}" condim="3" '
        f'friction="{FRICTION} 0 0"/></body>'
        for x, y, z in places(n)
    )
    return f"<mujoco><worldbody>{planes}{spheres}</worldbody></mujoco>"


def time_mujoco(n, t_end):
    """Return for each setting: seconds, largest depth and number of pairs at the end."""
    import mujoco

    out = []
    for step, cone, solver in MUJOCO:
        model = mujoco.MjModel.from_xml_string(scene(n))
        model.opt.timestep = step
        model.opt.cone = {"pyramidal": mujoco.mjtCone.mjCONE_PYRAMIDAL, "elliptic": mujoco.mjtCone.mjCONE_ELLIPTIC}[
            cone
        ]
        model.opt.solver = {"Newton": mujoco.mjtSolver.mjSOL_NEWTON, "CG": mujoco.mjtSolver.mjSOL_CG}[solver]
        data, depth, seconds = mujoco.MjData(model), 0.0, 0.0
        for _ in range(round(t_end / step)):
            begin = time.process_time()
            mujoco.mj_step(model, data)
            seconds += time.process_time() - begin
            depth = max(depth, -float(np.min(data.contact.dist, initial=0.0)))
        row = {"method": f"MuJoCo, {solver}, {cone}", "step": step, "seconds": seconds, "depth": depth}
        out.append(row | {"pairs": int(np.sum(data.contact.dist < 0.0))})
    return out


# Methods for the quadruped: name, step, tolerances.
WALKERS = (
    ("rkmk-4", {"step": 2e-4}),
    ("rkmk-2", {"step": 2e-4}),
    ("lie-bdf-2", {"step": 2e-3}),
    ("rosenbrock-32", {"rtol": 1e-3, "atol": 1e-4}),
)


def best_of(times, run):
    """Return the fewest seconds of the processor in several runs, and what the last one returned."""
    seconds = []
    for _ in range(times):
        begin = time.process_time()
        out = run()
        seconds.append(time.process_time() - begin)
    return min(seconds), out


def time_quadruped(t_end, times):
    """Return seconds, the height of the trunk and how many feet touch at the end; an empty list without the file."""
    path = machines.quadruped_file()
    if path is None:
        return []
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        model, start, computer = machines.quadruped(path, Path(folder))
    for method, options in WALKERS:
        every = {"method": method, "controllers": [computer], "output": 0.02, "progress": False, **options}
        # what is compiled in the first run is not timed
        lg.simulate(model, start, 0.01, **every)
        seconds, run = best_of(times, lambda every=every: lg.simulate(model, start, t_end, **every))
        feet = sum(int(run[f"{c.name}.gap"][-1] < 0.0) for c in model.tree.forces if isinstance(c, lm.Contact))
        row = {"method": method, "step": options.get("step", t_end / run.info.steps), "seconds": seconds}
        rows.append(row | {"height": float(run["root_joint.position"][-1, 2]), "feet": feet})
    if find_spec("mujoco") is None:
        return rows
    import mujoco

    for step in (2e-3, 1e-3):
        theirs, every = machines.mujoco_quadruped(path, step), round(machines.PERIOD / step)
        data = mujoco.MjData(theirs)

        def walk(theirs=theirs, data=data, every=every, step=step):
            mujoco.mj_resetData(theirs, data)
            data.qpos[2], data.qpos[7:] = machines.HEIGHT, machines.STAND
            for k in range(round(t_end / step)):
                if k % every == 0:
                    data.qfrc_applied[6:] = machines.torques(data.time, data.qpos[7:], data.qvel[6:])
                mujoco.mj_step(theirs, data)

        seconds, _ = best_of(times, walk)
        row = {"method": "MuJoCo, Newton, pyramidal", "step": step, "seconds": seconds}
        rows.append(row | {"height": float(data.qpos[2]), "feet": int(data.ncon)})
    return rows


def time_arm(t_end, times):
    """Return for each stage of the arm: seconds, and what Newton's method did."""
    rows = []
    for stage, name in enumerate(machines.STAGES):
        model, start, inputs = machines.arm(stage)
        every = {"inputs": inputs, "method": "lie-bdf-2", "step": 1e-3, "output": 0.01, "progress": False}
        lg.simulate(model, start, 2e-3, **every)
        seconds, run = best_of(times, lambda: lg.simulate(model, start, t_end, **every))  # noqa: B023
        newton = run.info.newton
        row = {"stage": name, "freedoms": model.nv, "seconds": seconds, "steps": int(run.info.steps)}
        rows.append(row | {"newton": str(newton)})
    return rows


def show_quadruped(console, t_end, rows):
    table = Table(f"(2) quadruped, {t_end:g} s", "step ms", "s", "ratio", "× real time", "height mm", "feet")
    for row in rows:
        seconds = row["seconds"]
        table.add_row(
            *(row["method"], f"{1e3 * row['step']:.2g}", f"{seconds:.3g}", f"{seconds / rows[0]['seconds']:.2f}"),
            *(f"{t_end / seconds:.2g}", f"{1e3 * row['height']:.1f}", str(row["feet"])),
        )
    console.print(table)


def show_arm(console, t_end, rows):
    table = Table(f"(3) arm, {t_end:g} s, lie-bdf-2, 1 ms", "freedoms", "ms", "ratio", "Newton's method")
    for row in rows:
        ratio = row["seconds"] / rows[0]["seconds"]
        table.add_row(row["stage"], str(row["freedoms"]), f"{1e3 * row['seconds']:.3g}", f"{ratio:.2f}", row["newton"])
    console.print(table)


def show(console, n, t_end, rows):
    table = Table(f"(1) {n} spheres, {t_end:g} s", "step ms", "s", "ratio", "× real time", "depth mm", "pairs")
    first = rows[0]["seconds"]
    for row in rows:
        seconds = row["seconds"]
        table.add_row(
            *(row["method"], f"{1e3 * row['step']:g}", f"{seconds:.3g}", f"{seconds / first:.2f}"),
            *(f"{t_end / seconds:.2g}", f"{1e3 * row['depth']:.2g}", str(row["pairs"])),
        )
    console.print(table)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--quick", action="store_true", help="few spheres only")
    options = parser.parse_args(argv)
    n, t_end, times = (30, 0.2, 1) if options.quick else (200, 1.0, 3)
    peer = find_spec("mujoco") is not None
    rows = time_ours(n, t_end) + (time_mujoco(n, t_end) if peer else [])
    versions = {"python": sysconfig.get_python_version()}
    versions |= {name: version(name) for name in ("numpy", "numba", *(["mujoco"] if peer else []))}
    processor = f"{llvmlite.binding.get_host_cpu_name()} ({platform.machine()})"
    console = Console(width=max(Console().width, 120))
    console.print(
        ", ".join(f"{name} {v}" for name, v in versions.items()) + f"; {processor}; one thread", highlight=False
    )
    if not peer:
        console.print("mujoco is not installed: left out.", highlight=False)
    show(console, n, t_end, rows)
    walks, arms = time_quadruped(2.0 * t_end, times), time_arm(t_end, times)
    if walks:
        show_quadruped(console, 2.0 * t_end, walks)
    else:
        console.print("pin, with example-robot-data, is not installed: (2) is left out.", highlight=False)
    show_arm(console, t_end, arms)
    if options.json:
        numbers = {"versions": versions, "processor": processor, "spheres": rows}
        options.json.write_text(json.dumps(numbers | {"quadruped": walks, "arm": arms}, indent=1))


if __name__ == "__main__":
    main()
