"""The picture in docs/hosts.md: one native FMU, four hosts, the same curve.

    python tools/figures/fmu_hosts.py

The flexible arm falls from its initial position; the hosts are those of tests/fmu/hosts.py.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

sys.path.append(str(Path(__file__).parents[2] / "tests" / "fmu"))

from hosts import four_hosts

import fmu_export

ROOT = Path(__file__).parents[2]
STEP, STEPS, VARIABLE = 2.0**-7, 160, "payload.tip.position.z"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = ROOT / "models" / "flexible_arm.yaml"
        fmu = fmu_export.build(model, folder / "arm.fmu", native=True, platforms=["linux64"])
        found = four_hosts(fmu, VARIABLE, STEP, STEPS, folder)
    first = next(iter(found.values()))
    if any(values.tobytes() != first.tobytes() for values in found.values()):
        raise SystemExit("the hosts differ: the picture would not be true")
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.subplots()
    t = STEP * np.arange(1, STEPS + 1)
    axes.plot(t, first, color="0.75", lw=1, zorder=1)
    for k, ((host, values), marker) in enumerate(zip(found.items(), "osD^", strict=True)):
        axes.plot(t[2 * k :: 8], values[2 * k :: 8], marker, ms=6, mfc="none", label=host)
    axes.set(xlabel="time in s", ylabel="height of the tip in m", title="one FMU, four hosts: the same bits")
    axes.legend(fontsize=9)
    figure.savefig(ROOT / "docs" / "figures" / "fmu_hosts.png", dpi=110)


if __name__ == "__main__":
    main()
