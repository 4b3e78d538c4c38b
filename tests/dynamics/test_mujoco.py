"""Rigid trees against MuJoCo on real robots: a second package, which reads the URDF by itself.

MuJoCo's free joint has the velocity of the body's origin in the world's axes, then the angular velocity in the body's;
ours has the body-fixed twist (w, v).  With R the rotation of the body and T = [0 R; I 0],

    v_theirs = T v_ours,   a_theirs = T a_ours + (R (w×v), 0),   τ_ours = Tᵀ τ_theirs,   M_ours = Tᵀ M_theirs T.   (1)
"""

from __future__ import annotations

import xml.etree.ElementTree as ET

import mujoco
import numpy as np
import pytest

from liegeo import dynamics
from liegeo.lie import SO3Q

pytest.importorskip("pinocchio", reason="it reads our side of the robots, and has no wheels for Windows")
robots = pytest.importorskip("robots")

# Not ANYmal: its URDF has a link with an inertia of rank one, which MuJoCo refuses.
ROBOTS = (
    ("panda_description/urdf/panda.urdf", False),
    ("ur_description/urdf/ur5_robot.urdf", False),
    ("a1_description/urdf/a1.urdf", True),
)
# MuJoCo keeps principal moments and a quaternion instead of a matrix of inertia: that costs a few roundings, no more.
TOLERANCE = 1e-12


def load(file: str, floating: bool) -> mujoco.MjModel:
    """MuJoCo's own reading of the URDF, without shapes, friction and coupled joints, as Pinocchio's `load` has it."""
    urdf = ET.parse(robots.FOLDER / file).getroot()
    for parent in urdf.iter():
        for child in list(parent):
            if child.tag in ("visual", "collision", "dynamics", "mimic"):
                parent.remove(child)
    options = {"discardvisual": "true", "fusestatic": "false", "balanceinertia": "false"}
    ET.SubElement(ET.SubElement(urdf, "mujoco"), "compiler", options)
    spec = mujoco.MjSpec.from_string(ET.tostring(urdf, encoding="unicode"))
    if floating:
        spec.worldbody.first_body().add_freejoint()
    model = spec.compile()
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    return model


class Robot:
    """One robot in one random state, on both sides, with the maps of (1) between them."""

    def __init__(self, file: str, floating: bool) -> None:
        source = robots.load(file, floating)
        self.ours, self.theirs = robots.translate(source), load(file, floating)
        _, _, self.state = robots.random_state(source, self.ours, np.random.default_rng(0))
        self.data = mujoco.MjData(self.theirs)
        n = self.ours.nv
        # theirs = T @ ours, joint by joint and by name; `shift` is what accelerations have beside.
        self.T, self.shift = np.zeros((n, n)), np.zeros(n)
        for i in range(self.theirs.njnt):
            joint = self.theirs.joint(i)
            name = joint.name or "root_joint"
            q, v = self.ours.group.q[name], self.ours.group.v[name]
            to_q, to_v = self.theirs.jnt_qposadr[i], self.theirs.jnt_dofadr[i]
            if joint.type[0] == mujoco.mjtJoint.mjJNT_FREE:
                quaternion, position = np.split(self.state.q[q], [4])
                w, u = np.split(self.state.v[v], 2)
                R = SO3Q.matrix(quaternion)
                self.data.qpos[to_q : to_q + 7] = [*position, *quaternion]
                self.T[to_v : to_v + 3, v.start + 3 : v.stop] = R
                self.T[to_v + 3 : to_v + 6, v.start : v.start + 3] = np.eye(3)
                self.shift[to_v : to_v + 3] = R @ np.cross(w, u)
            else:
                self.data.qpos[to_q] = self.state.q[q].item()
                self.T[to_v, v] = 1.0
        self.data.qvel[:] = self.T @ self.state.v


@pytest.fixture(scope="module", params=ROBOTS, ids=lambda r: r[0].split("/")[-1])
def robot(request):
    return Robot(*request.param)


def close(a, b):
    return np.linalg.norm(a - b) <= TOLERANCE * np.linalg.norm(b)


def test_the_same_robot(robot):
    model = robot.theirs
    assert model.nv == robot.ours.nv == np.linalg.matrix_rank(robot.T)
    assert not np.any([model.dof_armature, model.dof_damping, model.dof_frictionloss])
    assert model.opt.gravity == pytest.approx(robot.ours.tree.gravity)


def test_forward_dynamics(robot):
    tau = np.random.default_rng(1).normal(size=robot.ours.nv)
    robot.data.qfrc_applied[:] = np.linalg.solve(robot.T.T, tau)
    mujoco.mj_fwdPosition(robot.theirs, robot.data)
    mujoco.mj_fwdVelocity(robot.theirs, robot.data)
    mujoco.mj_fwdActuation(robot.theirs, robot.data)
    mujoco.mj_fwdAcceleration(robot.theirs, robot.data)
    ours = dynamics.forward_dynamics(robot.ours, robot.state, tau)
    assert close(robot.T @ ours + robot.shift, robot.data.qacc_smooth)


def test_inverse_dynamics(robot):
    a = np.random.default_rng(2).normal(size=robot.ours.nv)
    robot.data.qacc[:] = robot.T @ a + robot.shift
    mujoco.mj_fwdPosition(robot.theirs, robot.data)
    mujoco.mj_fwdVelocity(robot.theirs, robot.data)
    theirs = np.empty(robot.ours.nv)
    mujoco.mj_rne(robot.theirs, robot.data, 1, theirs)
    assert close(dynamics.inverse_dynamics(robot.ours, robot.state, a), robot.T.T @ theirs)


def test_mass_matrix(robot):
    mujoco.mj_fwdPosition(robot.theirs, robot.data)
    # Column by column with mj_mulM, as the arguments of mj_fullM depend on the version.
    M = np.empty((robot.ours.nv, robot.ours.nv))
    for row, unit in zip(M, np.eye(robot.ours.nv), strict=True):
        mujoco.mj_mulM(robot.theirs, robot.data, row, unit)
    assert close(dynamics.mass_matrix(robot.ours, robot.state), robot.T.T @ M @ robot.T)
