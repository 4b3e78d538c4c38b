"""The figure of docs/cosim.md: the flexible arm as a unit under PD controllers in C.

    pip install '.[test]' && python tools/figures/cosim.py [--out FOLDER]

Above: angles and tip of the loop of units, over the same loop in one process.  Below: the largest difference between
the two over the macro step, for each algorithm; printed with the observed orders and seconds.  Some two minutes.
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

sys.path.append(str(Path(__file__).parents[2] / "tests"))
sys.path.append(str(Path(__file__).parents[2] / "tests" / "cosim"))

from arms import JOINTS, TIP, arm_system, one_process

ROOT = Path(__file__).parents[2]
COLORS = {"yaw": "#0072B2", "shoulder": "#D55E00", "elbow": "#009E73"}
BEHIND = {"color": "#999999", "linewidth": 3.0, "solid_capstyle": "round"}
END, SPACING = 1.0, 0.01
STEPS = (0.005, 0.0025, 0.00125, 0.000625)
RUNS = {
    "Jacobi, outputs one step late (feedthrough: false)": {"feedthrough": False},
    "Jacobi": {},
    "Jacobi, linear inputs": {"extrapolation": "linear"},
    "Jacobi, 2 iterations": {"iterations": 2},
}


def draw(alone, shown, errors) -> Figure:
    figure = Figure(figsize=(7.4, 5.6), layout="constrained")
    (angles, tip), (orders, off) = figure.subplots(2, 2)
    for joint in JOINTS:
        angles.plot(alone.t, np.degrees(alone[f"{joint}.angle"]), **BEHIND)
        angles.plot(shown.t, np.degrees(shown[f"arm.{joint}.angle"]), color=COLORS[joint], linewidth=0.9, label=joint)
    angles.set(xlabel="t / s", ylabel="joint angles / deg")
    angles.legend(frameon=False, fontsize=8)
    tip.plot(alone.t, alone[TIP], label="in one process", **BEHIND)
    tip.plot(shown.t, shown[f"arm.{TIP}"], color="black", linewidth=0.9, label="units, h = 2.5 ms")
    tip.set(xlabel="t / s", ylabel="height of the tip / m")
    tip.legend(frameon=False, fontsize=8)
    for mark, (name, found) in zip("osv^", errors.items(), strict=True):
        orders.loglog([1e3 * h for h in STEPS], found, marker=mark, markersize=4, linewidth=0.9, label=name)
    orders.set(xlabel="macro step / ms", ylabel="largest error of the tip / m")
    orders.set_xticks([1e3 * h for h in STEPS], [f"{1e3 * h:g}" for h in STEPS])
    orders.minorticks_off()
    off.set_axis_off()
    off.legend(*orders.get_legend_handles_labels(), frameon=False, fontsize=8, loc="center left")
    for axis in (angles, tip, orders):
        axis.spines[["top", "right"]].set_visible(False)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures")
    out = parser.parse_args().out
    alone = one_process(END, SPACING)
    errors: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        system = arm_system(Path(folder), "pd")
        for name, options in RUNS.items():
            seconds = []
            for h in STEPS:
                found = system.simulate(END, h, progress=False, **options)
                gap = np.abs(found[f"arm.{TIP}"][:: round(SPACING / h)] - alone[TIP])
                errors.setdefault(name, []).append(float(np.max(gap)))
                seconds.append(found.info.seconds)
                if h == 0.0025 and not options:
                    shown = found
            slopes = np.log2(np.divide(errors[name][:-1], errors[name][1:]))
            print(f"{name:52}", *(f"{e:.1e}" for e in errors[name]), " orders", *(f"{s:.2f}" for s in slopes),
                  " seconds", *(f"{s:.1f}" for s in seconds), flush=True)  # fmt: skip
    draw(alone, shown, errors).savefig(out / "cosim.png", dpi=150)


if __name__ == "__main__":
    main()
