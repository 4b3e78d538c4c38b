"""The picture in docs/frequency.md: response of the flexible arm, direct and modal.

    python tools/figures/frequency.py

writes docs/figures/frequency_modal.png.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import liegeo as lg
from liegeo.analysis import Load, driven_model, equilibrium, frequency_grid, frequency_response
from liegeo.analysis.response_plots import bode
from liegeo.io import shipped

JOINTS = ("yaw", "shoulder", "elbow")


def main() -> None:
    arm = lg.load(shipped.find("flexible_arm"))
    model = arm.compile().lock(*JOINTS)
    rest = equilibrium(model, arm.state(), hold=JOINTS)
    asked = model, rest, Load(at="upper.4", force=(0, 0, 1)), "upper.4.position.z"
    f = frequency_grid(driven_model(*asked), 0.5, 60.0, 400)
    found = {
        "direct": frequency_response(*asked, frequencies=f),
        "modal": frequency_response(*asked, frequencies=f, method="modal"),
        "modal, no correction": frequency_response(*asked, frequencies=f, method="modal", residual=False),
    }
    figure = bode(found)
    for axis in figure.axes:
        axis.set_xscale("linear")
        axis.set_xlim(0.0, np.max(f))
    figure.savefig(Path(__file__).parents[2] / "docs" / "figures" / "frequency_modal.png", dpi=110)


if __name__ == "__main__":
    main()
