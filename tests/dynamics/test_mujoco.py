"""Rigid trees against MuJoCo on real robots: a second package, which reads the URDF by itself."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from liegeo import dynamics

pytest.importorskip("pinocchio", reason="it reads our side of the robots, and has no wheels for Windows")
robots = pytest.importorskip("robots")
mujoco_robots = pytest.importorskip("mujoco_robots")

# Not ANYmal: its URDF has a link with an inertia of rank one, which MuJoCo refuses.
ROBOTS = (
    ("panda_description/urdf/panda.urdf", False),
    ("ur_description/urdf/ur5_robot.urdf", False),
    ("a1_description/urdf/a1.urdf", True),
)
# MuJoCo keeps principal moments and a quaternion instead of a matrix of inertia: that costs a few roundings, no more.
TOLERANCE = 1e-12


@pytest.fixture(scope="module", params=ROBOTS, ids=lambda r: r[0].split("/")[-1])
def robot(request):
    source = robots.load(*request.param)
    ours = robots.translate(source)
    state = robots.random_state(source, ours, np.random.default_rng(0))[2]
    return mujoco_robots.Robot(mujoco_robots.load(*request.param), ours, state)


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


def test_reaction_forces(robot):
    """At every joint; theirs are at the centre of mass of the whole robot, in the world's axes."""
    tau = np.random.default_rng(3).normal(size=robot.ours.nv)
    ours = dynamics.joint_forces(robot.ours, robot.state, tau)
    model, data = robot.theirs, robot.data
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fwdVelocity(model, data)
    data.qacc[:] = robot.T @ dynamics.forward_dynamics(robot.ours, robot.state, tau) + robot.shift
    mujoco.mj_rnePostConstraint(model, data)
    scale = max(np.linalg.norm(wrench) for wrench in ours.values())
    for i in range(model.njnt):
        body = model.jnt_bodyid[i]
        torque, force = np.split(data.cfrc_int[body], 2)
        R, arm = data.xmat[body].reshape(3, 3), data.subtree_com[model.body_rootid[body]] - data.xpos[body]
        expected = np.concatenate([R.T @ (torque + np.cross(arm, force)), R.T @ force])
        assert np.linalg.norm(ours[model.joint(i).name or "root_joint"] - expected) <= 1e-10 * scale
