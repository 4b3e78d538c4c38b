"""The flexible arm of models/ as an FMU, PD controllers of several tools for its joints, and all in one process."""

from __future__ import annotations

from pathlib import Path

from fmu.fmus import compiled_controller, script_controller, unifmu_controller

import fmu_export
import liegeo
from fmu_export.cosim import FMU, CosimSystem

MODEL = Path(__file__).parents[2] / "models" / "flexible_arm.yaml"
JOINTS = {
    "yaw": {"reference": 0.2, "kp": 0.4, "kd": 0.05},
    "shoulder": {"reference": 0.9, "kp": 0.4, "kd": 0.05, "bias": 0.2121},
    "elbow": {"reference": -1.2, "kp": 0.2, "kd": 0.02, "bias": 0.1092},
}
# so exact that only the exchange of values is left as an error
ARM = {"integrator.method": "rkmk-54", "integrator.rtol": 1e-9, "integrator.atol": 1e-9}
TIP = "payload.tip.position.z"


def arm_system(folder: Path, *kinds: str) -> CosimSystem:
    """The arm and a controller a joint, all of one kind, or one kind each; built where they are not in the folder."""
    makers = {"pd": compiled_controller, "script_pd": script_controller, "unifmu_pd": unifmu_controller}
    if not (folder / "arm.fmu").exists():
        fmu_export.build(MODEL, folder / "arm.fmu")
    fmus, wires = {"arm": FMU("arm.fmu", ARM)}, []
    for joint, kind in zip(JOINTS, kinds * (3 // len(kinds)), strict=True):
        if not (folder / f"{kind}.fmu").exists():
            makers[kind](folder)
        fmus[joint] = FMU(f"{kind}.fmu", JOINTS[joint])
        wires += [f"arm.{joint}.angle -> {joint}.angle", f"arm.{joint}.speed -> {joint}.speed"]
        wires += [f"{joint}.torque -> arm.{joint}_motor.input"]
    return CosimSystem(fmus, wires, folder=folder, name="arm")


def one_process(end: float, spacing: float = 0.01) -> liegeo.Result:
    """The same control law as a function of the state."""
    mechanism = liegeo.load(MODEL)
    group = mechanism.compile().group

    def control(t, state):
        out = {}
        for joint, given in JOINTS.items():
            angle, speed = state.q[group.q[joint].start], state.v[group.v[joint].start]
            pull = given["kp"] * (given["reference"] - angle) - given["kd"] * speed
            out[f"{joint}_motor"] = given.get("bias", 0.0) + pull
        return out

    return mechanism.simulate(
        t_end=end, inputs=control, method="rkmk-54", rtol=1e-9, atol=1e-9, output=spacing, progress=False
    )
