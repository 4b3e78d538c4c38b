"""The picture in docs/modes.md: Campbell's diagram of a rotor in two bearings.

    python tools/figures/modes.py

writes docs/figures/campbell.png.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import liegeo as lg
from liegeo import model as lm
from liegeo.analysis import locus

BEARINGS = {"left": ((0.0, 0.0, -0.3), 4e5), "right": ((0.0, 0.0, 0.25), 7e5)}


def rotor() -> lm.Model:
    """Return a rotor whose bearing is carried by two slides and two hinges, so that coordinates do not turn."""
    bodies = [lg.Body(name) for name in ("cart_x", "cart_y", "ring_x", "ring_y")]
    bodies.append(lg.Body("rotor", mass=8.0, inertia=(0.2, 0.2, 0.12)))
    joints = [
        lm.Prismatic(name="x", parent="world", child="cart_x", axis=(1, 0, 0)),
        lm.Prismatic(name="y", parent="cart_x", child="cart_y", axis=(0, 1, 0)),
        lm.Revolute(name="tilt_x", parent="cart_y", child="ring_x", axis=(1, 0, 0)),
        lm.Revolute(name="tilt_y", parent="ring_x", child="ring_y", axis=(0, 1, 0)),
        lm.Revolute(name="spin", parent="ring_y", child="rotor", axis=(0, 0, 1)),
    ]
    bearings = [
        lm.Bushing(name=name, a=("world", place), b=("ring_y", place), stiffness=(0, 0, 0, k, k, 0))
        for name, (place, k) in BEARINGS.items()
    ]
    return lg.Tree(bodies, joints, forces=bearings, gravity=(0, 0, 0), name="rotor in two bearings").compile()


def main() -> None:
    found = locus(rotor(), "spin.speed", np.linspace(0.0, 800.0, 41))
    found.plot(Path(__file__).parents[2] / "docs" / "figures" / "campbell.png")


if __name__ == "__main__":
    main()
