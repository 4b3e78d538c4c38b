"""The figure of docs/cosim.md: the flexible arm as an FMU under PD controllers in C.

    pip install '.[test]' && python tools/figures/cosim.py [--out FOLDER]

Above: angles and tip of the loop of FMUs, over the same loop in one process.  Below: the largest difference between
the two over the macro step, for each algorithm, and for controllers of other tools; printed with the observed orders
and seconds.  Some two minutes.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from matplotlib.figure import Figure

# the fmu.py beside this file would hide tests/fmu
sys.path.remove(str(Path(__file__).resolve().parent))
sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "tests/cosim"))

from arms import JOINTS, TIP, arm_system, one_process

ROOT = Path(__file__).parents[2]
COLORS = {"yaw": "#0072B2", "shoulder": "#D55E00", "elbow": "#009E73"}
BEHIND = {"color": "#999999", "linewidth": 3.0, "solid_capstyle": "round"}
END, SPACING = 1.0, 0.01
STEPS = (0.005, 0.0025, 0.00125, 0.000625)
RUNS = {
    "Jacobi, one step late": {"feedthrough": False},
    "Jacobi": {},
    "Jacobi, linear inputs": {"extrapolation": "linear"},
    "Jacobi, 2 iterations": {"iterations": 2},
}
TOOLS = {"C, fmpy compile": "pd", "Python, pythonfmu": "script_pd", "Python, unifmu": "unifmu_pd"}


def draw(alone, shown, errors, by_tool) -> Figure:
    figure = Figure(figsize=(7.4, 6.2), layout="constrained")
    (angles, tip), (orders, tools) = figure.subplots(2, 2)
    for joint in JOINTS:
        angles.plot(alone.t, np.degrees(alone[f"{joint}.angle"]), **BEHIND)
        angles.plot(shown.t, np.degrees(shown[f"arm.{joint}.angle"]), color=COLORS[joint], linewidth=0.9, label=joint)
    angles.set(xlabel="t / s", ylabel="joint angles / deg")
    angles.legend(frameon=False, fontsize=8)
    tip.plot(alone.t, alone[TIP], label="in one process", **BEHIND)
    tip.plot(shown.t, shown[f"arm.{TIP}"], color="black", linewidth=0.9, label="FMUs, h = 2.5 ms")
    tip.set(xlabel="t / s", ylabel="height of the tip / m")
    tip.legend(frameon=False, fontsize=8)
    for axis, lines, title in ((orders, errors, "controllers in C"), (tools, by_tool, "Jacobi")):
        for mark, (name, found) in zip("osv^", lines.items(), strict=False):
            # one line may lie on another
            axis.loglog([1e3 * h for h in STEPS], found, marker=mark, linewidth=0.9, label=name, fillstyle="none")
        axis.set(xlabel="macro step / ms", ylabel="largest error of the tip / m", ylim=(3e-6, 6e-3))
        axis.set_xticks([1e3 * h for h in STEPS], [f"{1e3 * h:g}" for h in STEPS])
        axis.minorticks_off()
        axis.legend(frameon=False, fontsize=7, title=title, title_fontsize=8, loc="lower right")
    for axis in (angles, tip, orders, tools):
        axis.spines[["top", "right"]].set_visible(False)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures")
    out = parser.parse_args().out
    alone = one_process(END, SPACING)
    with tempfile.TemporaryDirectory() as folder:
        runs = {name: (arm_system(Path(folder), "pd"), options) for name, options in RUNS.items()}
        errors = {name: measured(name, alone, *run) for name, run in runs.items()}
        others = {name: arm_system(Path(folder), kind) for name, kind in TOOLS.items()}
        by_tool = {name: measured(name, alone, system, {}) for name, system in others.items()}
        shown = others["C, fmpy compile"].simulate(END, 0.0025, progress=False)
    draw(alone, shown, errors, by_tool).savefig(out / "cosim.png", dpi=150)


def measured(name, alone, system, options) -> list[float]:
    """The largest error of the tip by macro step."""
    errors, seconds = [], []
    for h in STEPS:
        found = system.simulate(END, h, progress=False, **options)
        gap = np.abs(found[f"arm.{TIP}"][:: round(SPACING / h)] - alone[TIP])
        errors.append(float(np.max(gap)))
        seconds.append(found.info.seconds)
    slopes = np.log2(np.divide(errors[:-1], errors[1:]))
    print(f"{name:40}", *(f"{e:.1e}" for e in errors), " orders", *(f"{s:.2f}" for s in slopes),
          " seconds", *(f"{s:.1f}" for s in seconds), flush=True)  # fmt: skip
    return errors


if __name__ == "__main__":
    main()
