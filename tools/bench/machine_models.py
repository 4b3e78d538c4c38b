"""What machines.py measures: spheres in a box, a quadruped from a URDF file, and an arm with all that a machine has."""

from __future__ import annotations

import dataclasses
import warnings
import xml.etree.ElementTree as ET
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import liegeo as lg
from liegeo import model as lm
from liegeo.io.urdf import read_urdf

ROOT = Path(__file__).parents[2]

# ---- a quadruped that stands and bows: twelve joints with friction, limits and PD control, feet as spheres

FRICTION = 0.8
#: Angles of hip, thigh and calf of each leg, how far they move, and the height in which it begins.
STAND, BOW, HEIGHT = np.tile([0.0, 0.8, -1.6], 4), np.tile([0.0, 0.15, -0.3], 4), 0.32
#: Of the PD control: N·m/rad, N·m·s/rad, and the sampling period.
KP, KD, PERIOD = 100.0, 2.0, 2e-3
EFFORTS = np.tile([23.7, 23.7, 35.55], 4)
LEGS = tuple(f"{leg}_{part}_joint" for leg in ("FR", "FL", "RR", "RL") for part in ("hip", "thigh", "calf"))


def torques(t: float, angles: Any, speeds: Any) -> Any:
    """Return the torques of all joints of the quadruped, as its computer gives them."""
    wanted = STAND + BOW * np.sin(4.0 * np.pi * t)
    return np.clip(KP * (wanted - angles) - KD * speeds, -EFFORTS, EFFORTS)


def quadruped_file() -> Path | None:
    """Return the URDF file of Unitree's Go1 in example-robot-data, beside Pinocchio; None if it is not there."""
    spec = find_spec("pinocchio")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parents[4] / "share/example-robot-data/robots/go1_description/urdf/go1.urdf"
    return path if path.exists() else None


def quadruped_text(path: Path, floating: bool) -> str:
    """Return the file without its shapes but the feet, with the trunk as its root, for MuJoCo on a floating joint."""
    root = ET.parse(path).getroot()
    for link in root.findall("link"):
        shapes = [*link.findall("visual"), *link.findall("collision")]
        for shape in shapes:
            if shape.tag == "visual" or not str(link.get("name")).endswith("_foot"):
                link.remove(shape)
        if link.get("name") == "base":
            root.remove(link)
    for each in (*root.findall("transmission"), *root.findall("gazebo"), *root.findall("joint")):
        parent = each.find("parent")
        if each.tag != "joint" or (parent is not None and parent.get("link") == "base"):
            root.remove(each)
    if floating:
        ET.SubElement(root, "link", name="ground")
        joint = ET.SubElement(root, "joint", name="root", type="floating")
        ET.SubElement(joint, "parent", link="ground")
        ET.SubElement(joint, "child", link="trunk")
        ET.SubElement(ET.SubElement(root, "mujoco"), "compiler", discardvisual="true", fusestatic="true")
    return ET.tostring(root, encoding="unicode")


def quadruped(path: Path, folder: Path) -> tuple[Any, Any, Any]:
    """Return our model, the state in which it begins, and its controller."""
    file = folder / "quadruped.urdf"
    file.write_text(quadruped_text(path, False), encoding="utf-8")
    # friction is full above 2 cm/s, so that explicit methods may have steps of 0.2 ms
    material = {"stiffness": 5e4, "exponent": 1.0, "dissipation": 2.0, "friction": FRICTION, "slip_speed": 0.02}
    with warnings.catch_warnings():
        # links do not touch one another: neither do MuJoCo's, which have no shapes but feet
        warnings.simplefilter("ignore")
        tree = read_urdf(file, base="free", actuators=True, contact=material, friction_speed=0.05)
    model = tree.compile()
    start = model.state(q={"root_joint": (1, 0, 0, 0, 0, 0, HEIGHT)} | dict(zip(LEGS, STAND, strict=True)))
    computer = lg.Sampled(
        lambda t, y: torques(t, y[:12], y[12:]),
        period=PERIOD,
        measure=[f"{name}.{what}" for what in ("angle", "speed") for name in LEGS],
        outputs=[f"{name}_motor" for name in LEGS],
    )
    return model, start, computer


def mujoco_quadruped(path: Path, step: float) -> Any:
    """Return MuJoCo's model of the same file, on a plane."""
    import mujoco

    spec = mujoco.MjSpec.from_string(quadruped_text(path, True))
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 1])
    for geom in spec.geoms:
        geom.friction, geom.condim = [FRICTION, 0, 0], 3
    spec.option.timestep = step
    return spec.compile()


# ---- the flexible arm of models/flexible_arm.yaml, with and without what a machine has

RATIOS = {"yaw": 50.0, "shoulder": 50.0, "elbow": 30.0}
#: What is added, one behind the other.
STAGES = ("arm alone", "+ motors", "+ gears with backlash", "+ friction and stops", "+ sensors", "+ 1 kHz controller")


def arm(stage: int) -> tuple[Any, Any, dict[str, Any]]:
    """Return the model with the elements up to a stage, the state in which it begins, and its inputs.

    It is held and swung a little: with torques without its own motors, otherwise by voltages or by the controller.
    """
    mechanism = lg.load(ROOT / "models/flexible_arm.yaml")
    tree = mechanism.tree
    if stage == 0:
        return (
            mechanism.compile(),
            mechanism.state(),
            {"yaw_motor": 0.1, "shoulder_motor": 0.2121, "elbow_motor": 0.1092},
        )
    bodies, forces = list(tree.bodies), []
    rubs = RATIOS if stage > 2 else {}
    joints = [dataclasses.replace(joint, friction=1.0) if joint.name in rubs else joint for joint in tree.joints]
    places = {joint.name: joint for joint in tree.joints}
    q = {name: mechanism.state().q[mechanism.compile().group.q[name]] for name in RATIOS}
    for name, ratio in RATIOS.items():
        joint, shaft = places[name], f"{name} shaft"
        bodies.append(lm.Body(f"{name} rotor", mass=0.1, inertia=(2e-5, 2e-5, 2e-5)))
        joints.append(
            lm.Revolute(
                name=shaft, parent=joint.parent, child=f"{name} rotor", at=joint.at, axis=joint.axis, damping=1e-5
            )
        )
        q[shaft] = ratio * np.asarray(q[name])
        motor = {"constant": 0.05, "resistance": 0.5, "inductance": 3e-4, "limit": 48.0}
        forces.append(lm.Motor(name=f"{name} motor", joint=shaft, **motor))
        if stage > 1:
            teeth = {"stiffness": 2e4, "damping": 20.0, "backlash": np.radians(0.05), "efficiency": 0.85, "slow": 0.01}
            forces.append(lm.GearTrain(name=f"{name} gear", joint=name, motor=shaft, ratio=ratio, **teeth))
        if stage > 2:
            forces.append(
                lm.Stop(name=f"{name} stops", joint=name, lower=-2.5, upper=2.5, stiffness=2e4, dissipation=0.5)
            )
    change: dict[str, Any] = {"bodies": bodies, "joints": joints, "forces": forces}
    if stage > 3:
        count = {"resolution": 2.0 * np.pi / 4096.0, "period": 1e-3}
        change["sensors"] = [
            *(lm.Encoder(name=f"{name} encoder", joint=f"{name} shaft", **count) for name in RATIOS),
            lm.Accelerometer(name="tool acceleration", at="payload.tip"),
            lm.Gyro(name="tool turning", at="payload.tip"),
        ]
    inputs: dict[str, Any] = {"yaw motor": 1.0, "shoulder motor": 2.1, "elbow motor": 1.1}
    if stage > 4:
        change["controllers"] = [_servo()]
        start = {name: float(np.asarray(value).ravel()[0]) for name, value in q.items() if name in RATIOS}
        # numbers, because what Python computes within steps would be all that is measured
        inputs = {f"servo.to {name}": at + 0.02 for name, at in start.items()}
    model = dataclasses.replace(tree, **change).compile()
    return model, model.state(q=q), inputs


def _servo() -> Any:
    """Return three PID controllers on the motors, which see counts and give voltages 0.2 ms later."""
    blocks: dict[str, Any] = {}
    for name, ratio in RATIOS.items():
        blocks[f"{name} counts"] = lm.Quantiser(input=f"{name}", step=2.0 * np.pi / 4096.0)
        blocks[f"{name} target"] = lm.Gain(input=f"to {name}", gain=ratio)
        blocks[f"{name} volts"] = lm.PID(
            setpoint=f"{name} target",
            measured=f"{name} counts",
            kp=2.0,
            ki=10.0,
            kd=0.02,
            filter=2e-3,
            low=-48,
            high=48,
        )
    return lg.Controller(
        name="servo",
        period=1e-3,
        delay=2e-4,
        inputs={f"to {name}": "angle" for name in RATIOS},
        measure={name: f"{name} shaft.angle" for name in RATIOS},
        blocks=blocks,
        outputs={f"{name} motor": f"{name} volts" for name in RATIOS},
    )
