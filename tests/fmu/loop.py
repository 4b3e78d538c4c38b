"""A mechanism and a controller in a loop, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fmu_export.host import OK, Instance, Unpacked


def closed_loop(plant: Path, controller: Path, h: float, steps: int) -> np.ndarray:
    """Jacobi: both step with what the other showed where the step began."""
    with (
        Unpacked(plant) as one,
        Unpacked(controller) as two,
        Instance(one, "plant") as arm,
        Instance(two, "controller") as control,
    ):
        arm.initialise(0.0, steps * h)
        control.initialise(0.0, steps * h, {"kp": 60.0, "kd": 8.0, "reference": 1.0})
        shown, motor = arm.references(["hinge.angle", "hinge.speed"]), arm.references(["motor.input"])
        measured, torque = control.references(["angle", "speed"]), control.references(["torque"])
        rows = []
        for k in range(steps):
            seen = arm.getReal(shown)
            rows.append(seen[0])
            control.setReal(measured, seen)
            arm.setReal(motor, control.getReal(torque))
            assert arm.step(k * h, h) == OK
            assert control.step(k * h, h) == OK
        return np.array([*rows, arm.getReal(shown)[0]])
