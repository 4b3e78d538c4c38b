"""Component-mode synthesis beside one global finite-element model: time and frequencies, to 100,000 degrees of freedom.

    pip install '.[fe]' && python tools/bench/synthesis.py [--sizes N …] [--json FILE] [--quick]

The thesis [M01, VI-2-5] counts operations of skyline solvers, and expects a tenfold gain of synthesis at 10,000 degrees
of freedom for a platform with eight appendages, if these have equal shares.  Here both sides run, on the structure of
that study: a platform of 30 × 1.5 × 1.5 m with a fifth of the degrees of freedom, and eight panels of 6 m with a tenth
each, all of solid elements (hex8); 30 modes of the platform and six static shapes for each of its eight interfaces, 10
modes of each panel; the 24 lowest modes of the structure, which floats in space, six of them rigid.

Both sides begin with M and K of components and have the same solvers: a shift, one factorisation, Lanczos's method.
The global side factorises by Cholesky's method in a band and by SuperLU with minimum degree, and its time is that of
the faster; SciPy has no sparse Cholesky with nested dissection, which would help the global side more.  Putting the
global matrices together is not counted.  Synthesis is counted in stages: reductions of the platform and of one panel or
of eight, records of the bodies with all that large motions need, and modes of the tree.

Ratios are time of the global side by time of synthesis, above 1 where synthesis is faster: with eight panels that are
`equal`, and so reduced once; with eight that are `different`; and for panels that are `turned`, when nothing is reduced
again and only the modes of the tree are computed.  `error` is the largest of the 18 elastic frequencies.
"""

from __future__ import annotations

import argparse
import json
import os
import sysconfig
import time
from itertools import product
from pathlib import Path

# One thread for everybody: what is compared are algorithms.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import scipy
import scipy.sparse as sp
from rich.console import Console
from rich.table import Table

import liegeo as lg
from liegeo import flex
from liegeo import model as lm
from liegeo.analysis.modes import modes as modes_of
from liegeo.flex import modes, solid
from liegeo.lie import SO3

MATERIAL = {"E": 7.2e10, "nu": 0.33, "rho": 2700.0}
SIZES, QUICK = (1_000, 3_000, 10_000, 30_000, 100_000), (1_000,)
LENGTH, SIDE, THICKNESS, PANEL, CHORD = 30.0, 1.5, 0.1, 6.0, 1.5
STATIONS, SIGNS = (0.125, 0.375, 0.625, 0.875), (1.0, -1.0)
PLATFORM_MODES, PANEL_MODES, WANTED = 30, 10, 24


def tied(fe, name, where):
    """The nodes at these places as one with six directions."""
    return fe.rigid_link(name, [fe.names[i] for i in np.flatnonzero(where(np.asarray(fe.positions)))])


def components(size):
    """The platform and a panel, and where panels are: name of the node, side."""
    # cells along the platform for c across it: 3 (c + 1)² (n + 1) is a fifth of the size
    across = max(2, round((0.2 * size / 60.0) ** (1.0 / 3.0)))
    along = 4 * max(2, round((0.2 * size / (3.0 * (across + 1) ** 2) - 1.0) / 4.0))
    platform = solid.block(LENGTH, SIDE, SIDE, along, across, across, **MATERIAL, kind="hex8", name="platform")
    cell = LENGTH / along
    places = []
    for station, sign in product(STATIONS, SIGNS):
        x, node = station * LENGTH, f"{station:g}{'+' if sign > 0.0 else '-'}"
        platform = tied(
            platform,
            node,
            lambda p, x=x, sign=sign: (np.abs(p[:, 0] - x) < 1.01 * cell) & (np.abs(p[:, 1] - sign * SIDE / 2) < 1e-9),
        )
        places.append((node, sign))
    wide = max(2, round(np.sqrt(0.1 * size / 6.0 / 4.0)))
    long = max(2, round(0.1 * size / (6.0 * (wide + 1))) - 1)
    panel = solid.block(PANEL, CHORD, THICKNESS, long, wide, 1, **MATERIAL, kind="hex8", name="panel")
    return platform, tied(panel, "root", lambda p: p[:, 0] < 1e-9), places


def turn_of(sign):
    """From a panel's axes to the platform's: it stands on the side."""
    return SO3.exp([0.0, 0.0, sign * np.pi / 2.0])


def whole(platform, panel, places):
    """One finite-element model of all, each panel's root being a node of the platform."""
    positions, dofs, T = [np.asarray(platform.positions)], [np.asarray(platform.dofs)], []
    root = np.array([panel.dof("root", d) for d in range(6)])
    others = np.setdiff1d(np.arange(panel.n), root)
    n = platform.n + len(places) * len(others)
    T.append(sp.eye_array(platform.n, n, format="csc"))
    own = np.asarray(panel.dofs)
    # the direction of each degree of freedom, in the platform's axes: nodes of solids have three, all moving
    for k, (node, sign) in enumerate(places):
        R = turn_of(sign)
        start = platform.n + k * len(others)
        column = np.empty(panel.n, dtype=np.int64)
        column[root] = [platform.dof(node, d) for d in range(6)]
        column[others] = start + np.arange(len(others))
        # rows of one node and kind are neighbours: u = Rᵀ U of three
        triples = np.arange(panel.n).reshape(-1, 3)
        rows = np.repeat(triples.ravel(), 3)
        columns = np.repeat(column[triples], 3, axis=0).ravel()
        T.append(sp.csc_array((np.tile(R.T.ravel(), len(triples)), (rows, columns)), shape=(panel.n, n)))
        at = np.asarray(platform.positions)[platform.node(node)]
        kept = np.unique(own[others, 0])
        moved = at + (np.asarray(panel.positions)[kept] - np.asarray(panel.positions)[panel.node("root")]) @ R.T
        first = sum(map(len, positions))
        positions.append(moved)
        dofs.append(np.stack([first + np.searchsorted(kept, own[others, 0]), own[others, 1]], axis=1))
    parts = [platform, *[panel] * len(places)]
    M = sum(t.T @ part.mass @ t for t, part in zip(T, parts, strict=True))
    K = sum(t.T @ part.stiffness @ t for t, part in zip(T, parts, strict=True))
    return flex.FEModel(
        positions=np.concatenate(positions),
        dofs=np.concatenate(dofs),
        mass=M,
        stiffness=K,
        name="whole",
        known_positive=True,
    )


def timed(laps, name, function):
    start = time.perf_counter()
    found = function()
    laps[name] = laps.get(name, 0.0) + time.perf_counter() - start
    return found


def global_side(fe):
    """Seconds by solver, and the elastic frequencies."""
    laps, found = {}, None
    usual = modes._BAND_SIZE, modes._BAND_WIDTH
    for name, limits in (("band", (usual[0], np.inf)), ("SuperLU", (0, usual[1]))):
        modes._BAND_SIZE, modes._BAND_WIDTH = limits
        held = flex.Component(fe).hold(np.zeros(0, dtype=np.int64))
        found, _ = timed(laps, name, lambda held=held: held.normal_modes(modes.Choice(WANTED - 6)))
    modes._BAND_SIZE, modes._BAND_WIDTH = usual
    return laps, found


def synthesis_side(platform, panel, places):
    """Seconds by stage, and the elastic frequencies."""
    laps = {}
    nodes = [node for node, _ in places]
    carrier = timed(laps, "platform", lambda: flex.reduce(platform, nodes, n_modes=PLATFORM_MODES))
    for stage in ["one panel", *["other panels"] * (len(places) - 1)]:
        made = timed(laps, stage, lambda: flex.reduce(panel, ["root"], root="root", n_modes=PANEL_MODES))

    def tree():
        bodies = [flex.flexible_body(carrier, "platform", nodes)]
        bodies += [flex.flexible_body(made, f"panel {node}") for node, _ in places]
        joints = [lm.Free(name="base", parent="world", child="platform")]
        for node, sign in places:
            X = np.eye(4)
            X[:3, :3] = turn_of(sign).T
            X[:3, 3] = np.asarray(panel.positions)[panel.node("root")]
            joints.append(lm.Fixed(name=node, parent="platform", child=f"panel {node}", at=node, child_at=X))
        return lg.Tree(bodies, joints, gravity=(0.0, 0.0, 0.0)).compile()

    model = timed(laps, "records", tree)
    found = timed(laps, "modes", lambda: modes_of(model)).frequencies
    return laps, found[found > 0.0]


def measure(size):
    platform, panel, places = components(size)
    fe = whole(platform, panel, places)
    stages, reduced = synthesis_side(platform, panel, places)
    solvers, full = global_side(fe)
    different = sum(stages.values())
    equal = different - stages["other panels"]
    fastest = min(solvers.values())
    error = float((reduced[: len(full)] / full - 1.0).max())
    if not -1e-6 < error < 0.1:
        raise SystemExit(f"{fe.n} degrees of freedom: synthesis is off by {100 * error:.2g} %: not the same structure")
    return {
        "dofs": fe.n,
        "platform": platform.n,
        "panel": panel.n,
        "global": solvers,
        "synthesis": stages,
        "ratio_equal": fastest / equal,
        "ratio_different": fastest / different,
        "ratio_turned": fastest / stages["modes"],
        "error": error,
    }


def show(console, rows):
    table = Table(
        "degrees of freedom",
        "global: band s",
        "SuperLU s",
        *(f"{stage} s" for stage in rows[0]["synthesis"]),
        "ratio, equal",
        "different",
        "turned",
        "error",
    )
    for row in rows:
        table.add_row(
            f"{row['dofs']:,}",
            *(f"{seconds:.2f}" for seconds in (*row["global"].values(), *row["synthesis"].values())),
            f"{row['ratio_equal']:.2f}",
            f"{row['ratio_different']:.2f}",
            f"{row['ratio_turned']:.2f}",
            f"{100 * row['error']:.2g} %",
        )
    console.print(table)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", metavar="N", help="degrees of freedom of the whole, about")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--quick", action="store_true", help="a small size only")
    options = parser.parse_args(argv)
    # compile, or load, what is compiled
    measure(QUICK[0])
    rows = [measure(size) for size in options.sizes or (QUICK if options.quick else SIZES)]
    versions = {"python": sysconfig.get_python_version(), "numpy": np.__version__, "scipy": scipy.__version__}
    console = Console(width=max(Console().width, 165))
    text = ", ".join(f"{name} {version}" for name, version in versions.items())
    load = f"; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors" if hasattr(os, "getloadavg") else ""
    console.print(text + load, highlight=False)
    show(console, rows)
    if options.json:
        options.json.write_text(json.dumps({"versions": versions, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
