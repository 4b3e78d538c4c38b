"""Accelerometer, gyro, force and torque sensors against MuJoCo's, on a mechanism in space with sites in any pose.

Both measure a − g, and the force and torque that the parent exerts on the child, at the site and in its axes.
"""

from __future__ import annotations

import numpy as np
import pytest

import liegeo as lg
from liegeo import model as lm
from liegeo.lie import SE3, SO3

mujoco = pytest.importorskip("mujoco")

SITES = {
    "base": SE3.exp(np.array([0.3, -0.5, 0.7, 0.0, 0.0, 0.0])) + np.pad([[0.1], [0.2], [-0.1]], ((0, 1), (3, 0))),
    "arm": SE3.exp(np.array([-0.8, 0.2, 0.1, 0.0, 0.0, 0.0])) + np.pad([[0.3], [-0.1], [0.2]], ((0, 1), (3, 0))),
    "hand": SE3.exp(np.array([0.5, 0.9, -0.4, 0.0, 0.0, 0.0])) + np.pad([[0.0], [0.1], [0.4]], ((0, 1), (3, 0))),
}
BODIES = {
    "base": {"mass": 3.0, "com": (0.1, 0.0, -0.2), "inertia": (0.3, 0.4, 0.5)},
    "arm": {"mass": 2.0, "com": (0.2, 0.1, 0.3), "inertia": (0.2, 0.1, 0.25)},
    "hand": {"mass": 0.7, "com": (0.0, -0.1, 0.1), "inertia": (0.02, 0.03, 0.04)},
}
AT = {"arm": (0.2, 0.1, 0.5), "hand": (0.0, 0.3, 0.4)}
AXES = {"arm": (0.6, 0.0, 0.8), "hand": (0.0, 0.8, 0.6)}


def theirs():
    def body(name, joint, inner=""):
        X, given = SITES[name], BODIES[name]
        w = SO3.log(X[:3, :3])
        angle = np.linalg.norm(w)
        quat = [np.cos(angle / 2), *(np.sin(angle / 2) * w / angle)]
        site = f'<site name="{name}" pos="{row(X[:3, 3])}" quat="{row(quat)}"/>'
        inertial = f'<inertial pos="{row(given["com"])}" mass="{given["mass"]}" diaginertia="{row(given["inertia"])}"/>'
        return f'<body name="{name}" pos="{row(AT.get(name, (0, 0, 0)))}">{inertial}{joint}{site}{inner}</body>'

    def row(numbers):
        return " ".join(repr(float(x)) for x in numbers)

    def hinge(name):
        return f'<joint name="{name}" type="hinge" axis="{row(AXES[name])}" damping="0.3"/>'

    tree = body("base", '<freejoint name="base"/>', body("arm", hinge("arm"), body("hand", hinge("hand"))))
    kinds = ("accelerometer", "gyro", "force", "torque")
    sensors = "".join(f'<{kind} name="{name}_{kind}" site="{name}"/>' for name in SITES for kind in kinds)
    motors = "".join(f'<motor name="{name}" joint="{name}"/>' for name in AXES)
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option gravity="0.5 -1 -9.81"/><worldbody>{tree}</worldbody>'
        f"<actuator>{motors}</actuator><sensor>{sensors}</sensor></mujoco>"
    )


def ours():
    bodies = [lg.Body(name, frames={"site": SITES[name]}, **given) for name, given in BODIES.items()]
    joints = [
        lg.Free(name="base_joint", parent="world", child="base"),
        lg.Revolute(name="arm_joint", parent="base", child="arm", at=AT["arm"], axis=AXES["arm"], damping=0.3),
        lg.Revolute(name="hand_joint", parent="arm", child="hand", at=AT["hand"], axis=AXES["hand"], damping=0.3),
    ]
    sensors = []
    for name in BODIES:
        at = f"{name}.site"
        sensors += [lm.Accelerometer(name=f"{name}_accelerometer", at=at), lm.Gyro(name=f"{name}_gyro", at=at)]
        sensors.append(lm.ForceTorque(name=f"{name}_cell", joint=f"{name}_joint", at=at))
    motors = [lm.Actuator(name=f"{name}_motor", joint=f"{name}_joint") for name in AXES]
    return lg.Tree(bodies, joints, gravity=(0.5, -1.0, -9.81), sensors=sensors, forces=motors).compile()


@pytest.mark.parametrize("seed", range(4))
def test_sensors_agree_with_mujoco(seed):
    rng = np.random.default_rng(seed)
    model, their_model = ours(), theirs()
    data = mujoco.MjData(their_model)
    quaternion = rng.normal(size=4)
    quaternion /= np.linalg.norm(quaternion)
    position, angles = rng.normal(size=3), rng.normal(size=2)
    spin, velocity, rates, drive = rng.normal(size=3), rng.normal(size=3), rng.normal(size=2), rng.normal(size=2)
    # theirs: velocity of the base in the world, spin in the body
    w, x, y, z = quaternion
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    data.qpos[:] = [*position, *quaternion, *angles]
    data.qvel[:] = [*(R @ velocity), *spin, *rates]
    data.ctrl[:] = drive
    mujoco.mj_forward(their_model, data)
    state = model.state(
        q={"base_joint": [*quaternion, *position], "arm_joint": angles[0], "hand_joint": angles[1]},
        v={"base_joint": [*spin, *velocity], "arm_joint": rates[0], "hand_joint": rates[1]},
    )
    calc = model.calculator()

    def shown(name):
        return calc.outputs(name)(state.q, state.v, inputs=drive)

    for name in BODIES:
        pairs = {
            "accelerometer": shown(f"{name}_accelerometer.specific_force"),
            "gyro": shown(f"{name}_gyro.angular_velocity"),
            "force": shown(f"{name}_cell.force"),
            "torque": shown(f"{name}_cell.moment"),
        }
        for kind, found in pairs.items():
            expected = data.sensor(f"{name}_{kind}").data
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=f"{name} {kind}")
    assert np.abs(data.sensor("hand_force").data).max() > 0.1
