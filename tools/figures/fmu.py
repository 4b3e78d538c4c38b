"""The picture in docs/fmu.md: a pendulum of ours and a controller in C, closed in a loop.

    python tools/figures/fmu.py

Jacobi: in each macro step both FMUs go on with what the other one showed where the step began.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

sys.path.append(str(Path(__file__).parents[2] / "tests" / "fmu"))

from fmus import compiled_controller, mechanism_fmu, pendulum_file
from loop import closed_loop

import liegeo as lg

ROOT = Path(__file__).parents[2]


def law(t: float, state: lg.model.State) -> float:
    return float(min(max(60.0 * (1.0 - state.q[0]) - 8.0 * state.v[0], -100.0), 100.0))


def main() -> None:
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fmu, controller = mechanism_fmu(folder), compiled_controller(folder)
        mechanism = lg.load(pendulum_file(folder))
        exact = mechanism.simulate(t_end=1.5, inputs={"motor": law}, step=2.0**-11, output=2.0**-9)
        left.plot(exact.t, exact["hinge.angle"], "k", lw=1, label="one process, continuous")
        sizes, errors = 2.0 ** -np.arange(4, 10), []
        for h in sizes:
            n = round(1.5 / h)
            found = closed_loop(fmu, controller, h, n)
            if h in (2.0**-4, 2.0**-5, 2.0**-7):
                left.plot(h * np.arange(n + 1), found, ".-", ms=3, lw=0.8, label=f"two FMUs, H = 1/{1 / h:.0f} s")
            errors.append(np.abs(found - np.interp(h * np.arange(n + 1), exact.t, exact["hinge.angle"])).max())
    left.set(xlabel="time in s", ylabel="angle in rad")
    left.legend(fontsize=8)
    right.loglog(sizes, errors, "o-", ms=4)
    right.loglog(sizes, errors[-1] * sizes / sizes[-1], "k:", label="first order")
    right.set_xscale("log", base=2)
    right.set(xlabel="macro step in s", ylabel="largest error in rad")
    right.legend(fontsize=8)
    figure.savefig(ROOT / "docs" / "figures" / "fmu_loop.png", dpi=110)


if __name__ == "__main__":
    main()
