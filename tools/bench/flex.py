"""Flexible bodies: a rotating beam beside the literature and Exudyn; a large solid reduced; time to make a body.

    pip install '.[bench,fe]' && python tools/bench/flex.py [--json FILE] [--quick]

(a) A uniform cantilever on a hub of radius 0 that turns with a constant speed: the first two frequencies out of the
    plane of rotation (flap) and in it (lag), in √(EI/ρAL⁴), by spin λ in the same unit, and errors against the
    literature.  Length 100 times the thickness; 20 modes of the clamped beam, whatever it is made of: 20 beam elements,
    or 40 solid ones (hex20, no lateral contraction), which Exudyn gets as positions, mass and stiffness.  It makes its
    own modes of them (`ComputeHurtyCraigBamptonModes`) and its reduced body (`ObjectFFRFreducedOrder`).
    Both are linearised in the rotating state: ours by exact derivatives about the stretched blade, Exudyn's by
    `ComputeLinearizedSystem`, whose rows and columns of the body's frame are left out, because the hub prescribes it
    (its stretch does not matter: its forces are linear in the modal coordinates).
    Expected: with stiffening below 1 %; without, and in Exudyn, flap does not rise and lag diverges from λ = 3.5 on.
(b) A bar of 10 × 10 × N solid elements with 100,000 degrees of freedom, its ends tied to two nodes, reduced after Craig
    and Bampton with 10 modes: seconds of each stage, and the peak of memory of the process that does nothing else.
    Goal: 60 s and 2 GB.  As a check, the first frequency against a thin beam's.
(c) Milliseconds to make the record of a flexible body from a reduction, without and with stiffening: a beam of 40
    elements, 20 modes.

Solids need scikit-fem, the comparison needs Exudyn; what is missing is said and left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import time
from importlib.util import find_spec
from pathlib import Path

# One thread for everybody: BLAS's own would compete with what is measured.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy
import scipy.sparse as sp
from rich.console import Console
from rich.table import Table

from liegeo import dynamics, flex
from liegeo import model as lm
from liegeo.flex import solid

E, RHO = 7.0e10, 2700.0
LENGTH, THICKNESS = 1.0, 0.01
# √(EI/ρAL⁴) of the square section
UNIT = np.sqrt(E * THICKNESS**2 / 12.0 / RHO) / LENGTH**2
# Flap, by spin: Wright et al. (1982), recomputed by two methods.  Lag is √(flap² − λ²).
LITERATURE = {0.0: (3.516015, 22.034492), 6.0: (7.360373, 26.809082), 12.0: (13.170151, 37.603112)}
WHAT = ("flap 1", "flap 2", "lag 1", "lag 2")
N_MODES = 20
# Seconds and bytes of part (b).
GOAL = (60.0, 2e9)


def literature(spin):
    """The four numbers of `WHAT`, or None."""
    flap = np.array(LITERATURE.get(spin, ()))
    return [*flap, *np.sqrt(flap**2 - spin**2)] if len(flap) else None


def sorted_frequencies(spin, K, D, tip_y, tip_z):
    """Of η̈ + D η̇ + K η = 0, the four numbers of `WHAT`; a negative one is the speed with which a shape grows.

    Flap or lag by how the tip moves, along z or y; without spin both are the same, and shapes in any direction.
    """
    n = len(K)
    values, vectors = np.linalg.eig(np.block([[np.zeros((n, n)), np.eye(n)], [-K, -D]]))
    found = []
    for value, vector in zip(values, vectors.T, strict=True):
        oscillates = abs(value.imag) > abs(value.real)
        if value.imag > 0.0 if oscillates else value.real > 0.0:
            is_lag = abs(tip_y @ vector[:n]) > abs(tip_z @ vector[:n])
            found.append((float(value.imag if oscillates else -value.real) / UNIT, is_lag))
    found.sort()
    if spin == 0.0:
        return [found[i][0] for i in (0, 2, 1, 3)]
    return [x for wanted in (False, True) for x in [x for x, is_lag in found if is_lag == wanted][:2]]


def thin_solid(n):
    return solid.block(LENGTH, THICKNESS, THICKNESS, n, 1, 1, E=E, nu=0.0, rho=RHO)


def end(fe, x):
    """Indices of the nodes in this plane."""
    return np.flatnonzero(np.abs(fe.positions[:, 0] - x) < 1e-9)


def names(fe, nodes):
    return [fe.names[i] for i in nodes]


def blade(made, stiffening):
    """Of a reduction with the nodes 'root' and 'tip': frequencies as a function of the spin."""
    body = flex.flexible_body(made, "blade", ["tip"], stiffening=stiffening)
    hub = lm.Revolute(name="hub", parent="world", child="blade", child_at="root", axis=(0, 0, 1))
    model = lm.Tree([body], [hub], gravity=(0, 0, 0)).compile().lock("hub")
    tip = np.asarray(body.nodes["tip"].modes)

    def frequencies(spin):
        eta, speed = np.zeros(made.n_modes), {"hub": spin * UNIT}
        # Newton for the stretched blade
        for _ in range(6):
            state = model.state({"blade": eta}, speed)
            d = dynamics.forward_derivatives(model, state)
            eta = eta - np.linalg.solve(d.q[1:, 1:], dynamics.forward_dynamics(model, state)[1:])
        d = dynamics.forward_derivatives(model, model.state({"blade": eta}, speed))
        return sorted_frequencies(spin, -d.q[1:, 1:], -d.v[1:, 1:], tip[4], tip[5])

    return frequencies


def exudyn_blade(fe):
    """The same of Exudyn's reduced body."""
    import exudyn as exu
    from exudyn.FEM import FEMinterface, ObjectFFRFreducedOrderInterface

    fem = FEMinterface()
    fem.nodes = {"Position": np.array(fe.positions)}
    fem.massMatrix, fem.stiffnessMatrix = sp.csr_matrix(fe.mass), sp.csr_matrix(fe.stiffness)
    fem.ComputeHurtyCraigBamptonModes([end(fe, 0.0).tolist()], N_MODES)
    shapes = ObjectFFRFreducedOrderInterface(fem)
    tip = shapes.modeBasis.reshape(-1, 3, N_MODES)[end(fe, LENGTH)].mean(axis=0)

    def frequencies(spin):
        system = exu.SystemContainer().AddSystem()
        made = shapes.AddObjectFFRFreducedOrder(system, initialAngularVelocity=[0, 0, spin * UNIT])
        system.Assemble()
        modal = system.GetNodeODE2Index(made["nGenericODE2"])
        M, K, D = (x[modal:, modal:] for x in system.ComputeLinearizedSystem()[:3])
        return sorted_frequencies(spin, np.linalg.solve(M, K), np.linalg.solve(M, D), tip[1], tip[2])

    return frequencies


def part_a(spins, elements):
    """Rows of a spin, the literature or None, and by name of the source: the four numbers of `WHAT`."""
    material = flex.Material(E=E, rho=RHO, nu=0.0)
    section = flex.rectangle(THICKNESS, THICKNESS)
    rod = flex.beam(LENGTH, section, material, 20, rotary=False)
    rod = rod._with(names=["root", *rod.names[1:-1], "tip"])
    made = flex.reduce(rod, ["root"], "fixed-interface", n_modes=N_MODES, root="root")
    sources = {"beam, stiffened": blade(made, True), "beam, not": blade(made, False)}
    if find_spec("skfem"):
        fe = thin_solid(elements)
        tied = fe.rigid_link("root", names(fe, end(fe, 0.0)))
        tied = tied.average("tip", names(fe, end(fe, LENGTH)))
        made = flex.reduce(tied, ["root"], "fixed-interface", n_modes=N_MODES, root="root")
        sources["solid, stiffened"] = blade(made, True)
        if find_spec("exudyn"):
            sources["solid, Exudyn"] = exudyn_blade(fe)
    return [(spin, literature(spin), {name: f(spin) for name, f in sources.items()}) for spin in spins]


def reduce_solid(kind, cells, across):
    """What one row of part (b) says: run in a process of its own."""
    try:
        import resource
    except ImportError:  # Windows
        resource = None
    laps = {}
    start = time.perf_counter()

    def lap(name):
        nonlocal start
        now = time.perf_counter()
        # kilobytes, but bytes on a Mac; at least the peak of the process that started this one, which is small
        unit = 1 if sys.platform == "darwin" else 1024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit if resource else float("nan")
        laps[name] = (now - start, peak)
        start = now

    width, length = 0.1, 0.1 * cells / across
    fe = solid.block(length, width, width, cells, across, across, E=E, rho=RHO, kind=kind)
    n = fe.n
    lap("elements")
    for name, x in (("root", 0.0), ("tip", length)):
        fe = fe.rigid_link(name, names(fe, end(fe, x)))
    lap("links")
    made = flex.reduce(fe, ["root", "tip"], "craig-bampton", n_modes=10, root="root")
    lap("reduction")
    flex.flexible_body(made, "bar", ["tip"])
    lap("body")
    thin = LITERATURE[0.0][0] / (2 * np.pi) * np.sqrt(E * width**2 / 12.0 / RHO) / length**2
    return {"kind": kind, "dofs": n, "first_to_thin_beam": made.frequencies[0] / thin, "laps": laps}


def part_b(sizes):
    rows = []
    for size in sizes:
        run = [sys.executable, __file__, "--solid", json.dumps(size)]
        rows.append(json.loads(subprocess.run(run, stdout=subprocess.PIPE, check=True).stdout))
    return rows


def part_c(repeats):
    """Seconds of the best call."""
    fe = flex.beam(LENGTH, flex.rectangle(THICKNESS, THICKNESS), flex.Material(E=E, rho=RHO, nu=0.33), 40)
    made = flex.reduce(fe, ["0"], "fixed-interface", n_modes=N_MODES, root="0")
    best = {}
    for name, stiffening in (("without", False), ("with", True)):
        for _ in range(repeats):
            start = time.perf_counter()
            flex.flexible_body(made, "b", ["40"], stiffening=stiffening)
            best[name] = min(best.get(name, np.inf), time.perf_counter() - start)
    return best


def show_a(console, rows):
    sources = list(rows[0][2])
    table = Table("(a) λ", "", "literature", *(c for name in sources for c in (name, "error")))
    for spin, known, found in rows:
        for i, what in enumerate(WHAT):
            cells = []
            for name in sources:
                x = found[name][i]
                error = "" if known is None else f"{100 * (x / known[i] - 1):+.2f} %" if x > 0.0 else "—"
                cells += [f"{x:.4f}" if x > 0.0 else "diverges", error]
            table.add_row(
                f"{spin:g}" if i == 0 else "",
                what,
                "" if known is None else f"{known[i]:.4f}",
                *cells,
                end_section=i == len(WHAT) - 1,
            )
    console.print(table)
    for name in sources:
        pairs = [pair for _, known, found in rows if known for pair in zip(found[name], known, strict=True)]
        error = max(abs(x / y - 1) for x, y in pairs if x > 0.0)
        diverging = sum(x <= 0.0 for _, _, found in rows for x in found[name])
        console.print(f"{name}: errors up to {100 * error:.2f} %, {diverging} diverge", highlight=False)


def show_b(console, rows):
    stages = list(rows[0]["laps"])
    table = Table("(b) bar", "degrees of freedom", *(f"{s} s" for s in stages), "all s", "peak MB", "goal", "f₁/thin")
    for row in rows:
        times, peaks = zip(*row["laps"].values(), strict=True)
        met = sum(times) <= GOAL[0] and not peaks[-1] > GOAL[1]
        table.add_row(
            row["kind"],
            f"{row['dofs']:,}",
            *(f"{t:.1f}" for t in times),
            f"{sum(times):.1f}",
            f"{1e-6 * peaks[-1]:.0f}",
            "met" if met else "missed",
            f"{row['first_to_thin_beam']:.3f}",
        )
    console.print(table)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    # what part (b) runs in a process of its own
    parser.add_argument("--solid", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.solid:
        print(json.dumps(reduce_solid(*options.solid)))
        return
    has_solids = find_spec("skfem") is not None
    versions = {"python": sysconfig.get_python_version(), "numpy": np.__version__, "scipy": scipy.__version__}
    if find_spec("exudyn"):
        import exudyn

        versions["exudyn"] = exudyn.__version__
    a = part_a(tuple(LITERATURE) if options.quick else tuple(np.arange(0.0, 13.0, 2.0)), 20 if options.quick else 40)
    sizes = [("hex8", 20, 4)] if options.quick else [("hex8", 275, 10), ("hex20", 72, 10)]
    b = part_b(sizes) if has_solids else []
    c = part_c(2 if options.quick else 20)

    # Wide enough for the widest table, also when the output goes to a file.
    console = Console(width=max(Console().width, 130))
    console.print(", ".join(f"{name} {version}" for name, version in versions.items()), highlight=False)
    if "exudyn" not in versions:
        console.print("Exudyn is not installed: no comparison.")
    if not has_solids:
        console.print("scikit-fem is not installed: no solids.")
    show_a(console, a)
    if b:
        show_b(console, b)
    table = Table("(c) flexible body of a beam", "ms")
    for name, seconds in c.items():
        table.add_row(f"{name} stiffening", f"{1e3 * seconds:.2f}")
    console.print(table)
    if options.json:
        figures = {"versions": versions, "rotating": a, "solid": b, "body": c}
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
