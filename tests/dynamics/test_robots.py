"""Rigid trees against Pinocchio on real robots."""

from __future__ import annotations

import numpy as np
import pytest

from liegeo import dynamics
from liegeo.errors import DynamicsError

pin = pytest.importorskip("pinocchio")
robots = pytest.importorskip("robots")

ROBOTS = (
    ("panda_description/urdf/panda.urdf", False),
    ("ur_description/urdf/ur5_robot.urdf", False),
    ("ur_description/urdf/ur10_robot.urdf", False),
    ("kinova_description/robots/kinova.urdf", False),
    ("tiago_description/robots/tiago.urdf", False),
    ("xarm_description/urdf/xarm7.urdf", False),
    ("anymal_b_simple_description/robots/anymal.urdf", True),
    ("hyq_description/robots/hyq_no_sensors.urdf", True),
    ("solo_description/robots/solo12.urdf", True),
    ("a1_description/urdf/a1.urdf", True),
    ("talos_data/robots/talos_full_v2.urdf", True),
    ("icub_description/robots/icub.urdf", True),
    ("g1_description/urdf/g1_29dof_rev_1_0.urdf", True),
    ("simple_humanoid_description/urdf/simple_humanoid.urdf", True),
)


@pytest.fixture(scope="module", params=ROBOTS, ids=lambda r: r[0].split("/")[-1])
def robot(request):
    theirs = robots.load(*request.param)
    ours = robots.translate(theirs)
    return theirs, ours, *robots.random_state(theirs, ours, np.random.default_rng(0))


# A fixed arm, one with joints that turn without end, and a quadruped that floats; none has rotor inertias.
DERIVATIVES = (
    ("panda_description/urdf/panda.urdf", False),
    ("ur_description/urdf/ur5_robot.urdf", False),
    ("a1_description/urdf/a1.urdf", True),
)


def close(a, b, tolerance=1e-10):
    return np.linalg.norm(a - b) <= tolerance * np.linalg.norm(b)


def test_forward_dynamics(robot):
    theirs, ours, q, v, state = robot
    tau = np.random.default_rng(1).normal(size=theirs.nv)
    expected = pin.aba(theirs, theirs.createData(), q, v, tau)
    assert close(dynamics.forward_dynamics(ours, state, robots.speeds(theirs, tau)), robots.speeds(theirs, expected))


def test_inverse_dynamics(robot):
    theirs, ours, q, v, state = robot
    a = np.random.default_rng(2).normal(size=theirs.nv)
    # Pinocchio's rnea leaves out the armature.
    expected = pin.rnea(theirs, theirs.createData(), q, v, a) + theirs.armature * a
    assert close(dynamics.inverse_dynamics(ours, state, robots.speeds(theirs, a)), robots.speeds(theirs, expected))


def test_mass_matrix(robot):
    theirs, ours, q, _, state = robot
    upper = pin.crba(theirs, theirs.createData(), q)
    expected = np.triu(upper) + np.triu(upper, 1).T
    expected = robots.speeds(theirs, robots.speeds(theirs, expected).T)
    assert close(dynamics.mass_matrix(ours, state), expected)


def test_reaction_forces_and_poses(robot):
    theirs, ours, q, v, state = robot
    data = theirs.createData()
    tau = np.zeros(theirs.nv)
    a = pin.aba(theirs, data, q, v, tau)
    pin.rnea(theirs, data, q, v, a)
    forces, poses = dynamics.joint_forces(ours, state), dynamics.body_poses(ours, state)
    pin.forwardKinematics(theirs, data, q, v)
    scale = max(np.linalg.norm(data.f[i].vector) for i in range(1, theirs.njoints))
    for i in range(1, theirs.njoints):
        name = theirs.names[i]
        expected = np.concatenate([data.f[i].angular, data.f[i].linear])
        assert np.linalg.norm(forces[name] - expected) <= 1e-10 * scale
        assert poses[f"{name}/body"] == pytest.approx(data.oMi[i].homogeneous, abs=1e-12)


def test_energies_and_centre_of_mass(robot):
    theirs, ours, q, v, state = robot
    data = theirs.createData()
    balance = dynamics.balance(ours, state)
    # Pinocchio's kinetic energy leaves out the armature.
    kinetic = pin.computeKineticEnergy(theirs, data, q, v) + 0.5 * np.sum(theirs.armature * v * v)
    assert balance.kinetic == pytest.approx(kinetic, rel=1e-12)
    potential = pin.computePotentialEnergy(theirs, data, q)
    assert balance.gravitational == pytest.approx(potential, rel=1e-10, abs=1e-10)
    assert balance.center == pytest.approx(pin.centerOfMass(theirs, data, q), abs=1e-12)


def test_a_robot_with_weightless_fingers_is_explained():
    """Romeo's thumbs have no inertia at all; Pinocchio answers with NaN."""
    theirs = robots.load("romeo_description/urdf/romeo.urdf", True)
    ours = robots.translate(theirs)
    with pytest.raises(DynamicsError, match=r"joint 'RThumb3' .*: the inertia that it moves is not positive"):
        dynamics.forward_dynamics(ours, ours.state())


@pytest.mark.parametrize("file", DERIVATIVES, ids=lambda f: f[0].split("/")[-1])
def test_derivatives(file):
    """Of forward and inverse dynamics by configuration, speeds, and forces or accelerations."""
    theirs = robots.load(*file)
    ours = robots.translate(theirs)
    q, v, state = robots.random_state(theirs, ours, np.random.default_rng(4))
    tau = np.random.default_rng(5).normal(size=theirs.nv)
    data = theirs.createData()
    a = np.array(pin.aba(theirs, data, q, v, tau))

    def swapped(matrix):
        """Rows and columns as ours."""
        return robots.speeds(theirs, robots.speeds(theirs, np.array(matrix)).T).T

    forward = dynamics.forward_derivatives(ours, state, robots.speeds(theirs, tau))
    expected = pin.computeABADerivatives(theirs, data, q, v, tau)
    inverse = np.triu(expected[2]) + np.triu(expected[2], 1).T
    for mine, other in zip(forward, (*expected[:2], inverse), strict=True):
        assert np.linalg.norm(mine - swapped(other)) <= 1e-8 * np.linalg.norm(other)
    backward = dynamics.inverse_derivatives(ours, state, robots.speeds(theirs, a))
    # what it returns are views of the data, which must not be gone before them
    data = theirs.createData()
    expected = pin.computeRNEADerivatives(theirs, data, q, v, a)
    mass = np.triu(expected[2]) + np.triu(expected[2], 1).T
    for mine, other in zip(backward, (*expected[:2], mass), strict=True):
        assert np.linalg.norm(mine - swapped(other)) <= 1e-8 * np.linalg.norm(other)
