"""Springs of joints whose coordinates are composed, not added: Spherical, Planar, Free."""

from __future__ import annotations

import numpy as np
import pytest

from liegeo import dynamics
from liegeo import model as lm
from liegeo.lie import SE3, SO3Q

STEP = 1e-30
STIFFNESS = np.array([3.0, 5.0, 2.0, 40.0, 70.0, 90.0])
JOINTS = (lm.Spherical, lm.Planar, lm.Free)


def block(joint, forces=(), at=None, child_at=None, **more):
    """A body on one joint, without gravity."""
    body = lm.Body("block", mass=2.0, com=(0.1, -0.2, 0.3), inertia=(0.3, 0.2, 0.25))
    made = joint(name="j", parent="world", child="block", at=at, child_at=child_at, **more)
    return lm.Tree([body], [made], gravity=(0, 0, 0), forces=forces).compile()


def sprung(joint, rng, **more):
    """A model with springs of different stiffness, slack in a random position."""
    n = len(joint(name="j", parent="world", child="block").screws())
    rest = joint(name="j", parent="world", child="block").group().exp(rng.normal(size=n))
    return block(joint, stiffness=STIFFNESS[:n], rest=rest, **more), rest


def gradient(model, state):
    """The derivative of the energy along every speed."""
    ends = [model.group.retract(state.q.astype(complex), 1j * STEP * e) for e in np.eye(model.nv)]
    return np.array([dynamics.balance(model, lm.State(q, 0.0 * state.v)).elastic.imag / STEP for q in ends])


@pytest.mark.parametrize("joint", JOINTS)
@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-4, 0.1, 1.0, 2.9])
def test_the_force_is_the_derivative_of_the_energy(joint, size):
    """Near rest, at any distance, and close to half a turn from it; standing still only the springs act."""
    rng = np.random.default_rng(1)
    model, rest = sprung(joint, rng)
    e = rng.normal(size=model.nv)
    turned = e[:1] if joint is lm.Planar else e[:3]
    e *= size / np.linalg.norm(turned)
    state = model.state(model.group.retract(rest, e))
    energy = 0.5 * np.sum(STIFFNESS[: model.nv] * e**2)
    assert dynamics.balance(model, state).elastic == pytest.approx(energy, rel=1e-6, abs=1e-28)
    force = dynamics.inverse_dynamics(model, state)
    # The positions themselves are rounded.
    assert force == pytest.approx(gradient(model, state), rel=1e-11, abs=1e-13)
    tau = rng.normal(size=model.nv)
    a = dynamics.forward_dynamics(model, state, tau)
    assert dynamics.inverse_dynamics(model, state, a) == pytest.approx(tau, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("joint", JOINTS)
def test_at_rest_the_derivative_of_the_force_is_the_diagonal_of_stiffness(joint):
    """So that the block M + αD + βK has there what it should have."""
    model, rest = sprung(joint, np.random.default_rng(2))
    state = model.state(rest)
    K = np.diag(STIFFNESS[: model.nv])
    assert dynamics.inverse_dynamics(model, state) == pytest.approx(np.zeros(model.nv), abs=1e-13)
    assert dynamics.inverse_derivatives(model, state).q == pytest.approx(K, rel=1e-12, abs=1e-12)
    r = np.arange(1.0, model.nv + 1)
    x = dynamics.solve(model, state, r, beta=0.3)
    assert (dynamics.mass_matrix(model, state) + 0.3 * K) @ x == pytest.approx(r, rel=1e-12)


@pytest.mark.parametrize("rest", [0.0, SO3Q.exp([0.4, -0.3, 0.6])])
def test_springs_of_a_ball_are_those_of_a_bushing(rest):
    """Any three stiffnesses: both store ½θᵀKθ with θ = log of the rotation from rest."""
    rng = np.random.default_rng(3)
    at, child_at = SE3.random(rng=rng), SE3.random(rng=rng)
    ball = block(lm.Spherical, at=at, child_at=child_at, stiffness=(4.0, 1.0, 9.0), rest=rest)
    slack = np.eye(4)
    slack[:3, :3] = SO3Q.matrix(rest) if np.ndim(rest) else np.eye(3)
    bushing = lm.Bushing(name="b", a=("world", at @ slack), b=("block", child_at), stiffness=(4.0, 1.0, 9.0, 0, 0, 0))
    held = block(lm.Spherical, [bushing], at=at, child_at=child_at)
    q, v = SO3Q.exp(rng.normal(size=3)), rng.normal(size=3)
    a, b = (dynamics.forward_dynamics(m, m.state(q, v)) for m in (ball, held))
    assert a == pytest.approx(b, rel=1e-12)
    energies = [dynamics.balance(m, m.state(q, v)).energy for m in (ball, held)]
    assert energies[0] == pytest.approx(energies[1], rel=1e-13)


def test_turning_springs_of_a_free_joint_are_those_of_a_bushing():
    """Without springs for the position the two coincide; with them one measures along the screw, the other straight."""
    rng = np.random.default_rng(4)
    turning = (4.0, 1.0, 9.0, 0, 0, 0)
    free = block(lm.Free, stiffness=turning)
    held = block(lm.Free, [lm.Bushing(name="b", a="world", b="block", stiffness=turning)])
    q, v = free.group.exp(rng.normal(size=6)), rng.normal(size=6)
    a, b = (dynamics.forward_dynamics(m, m.state(q, v)) for m in (free, held))
    assert a == pytest.approx(b, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("joint", JOINTS)
def test_energy_is_conserved_and_dampers_take_the_rest(joint):
    """dE/dt = −damping·v², by complex step along the motion, far from rest and turning fast."""
    rng = np.random.default_rng(5)
    model, _ = sprung(joint, rng, damping=0.7)
    state = model.state(model.group.exp(rng.normal(size=model.nv)), 3.0 * rng.normal(size=model.nv))
    a = dynamics.forward_dynamics(model, state)
    q = model.group.retract(state.q.astype(complex), 1j * STEP * state.v)
    power = dynamics.balance(model, lm.State(q, state.v + 1j * STEP * a)).energy.imag / STEP
    assert power == pytest.approx(-0.7 * np.sum(state.v**2), rel=1e-12)


def test_a_locked_speed_feels_its_spring():
    rng = np.random.default_rng(6)
    model, _ = sprung(lm.Free, rng)
    state = model.state(model.group.exp(rng.normal(size=6)))
    held = model.lock(speeds={"j": [1, 4]})
    a = dynamics.forward_dynamics(held, state)
    assert (a[[1, 4]] == 0.0).all()
    expected = dynamics.mass_matrix(model, state) @ a + gradient(model, state)
    assert dynamics.lock_forces(held, state) == pytest.approx(np.where(held.locked, expected, 0.0), abs=1e-11)
    assert expected[~held.locked] == pytest.approx(np.zeros(4), abs=1e-11)


def test_both_quaternions_of_a_rotation_are_the_same_rest():
    rng = np.random.default_rng(7)
    q, rest = SO3Q.random(rng=rng), SO3Q.random(rng=rng)
    models = [block(lm.Spherical, stiffness=STIFFNESS[:3], rest=r) for r in (rest, -rest)]
    a, b = (dynamics.inverse_dynamics(m, m.state(q)) for m in models)
    assert a == pytest.approx(b, rel=1e-13)
