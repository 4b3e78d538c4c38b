"""The energy–momentum method: energy to the tolerance of its solver; momentum is in test_variational.py."""

from __future__ import annotations

import numpy as np
import pytest
import systems

import liegeo as lg
from liegeo import integrate as li
from liegeo import model as lm
from liegeo import motion
from liegeo.errors import InputError

ENERGY = systems.having("energy")
CONSERVATIVE = [name for name in systems.SYSTEMS if name not in ("driven top", "falling body")]


def energies(name, method, h, steps, save):
    run = li.solve(systems.problem_of(name, h * steps), method, steps, save=save)
    return systems.energy_of(systems.SYSTEMS[name][0], run.y)


@pytest.mark.parametrize("name", CONSERVATIVE)
@pytest.mark.parametrize("method", ENERGY, ids=systems.named)
def test_energy_is_kept_to_round_off(name, method):
    """With steps that are not small: h = 0.05."""
    steps = 2000
    values = energies(name, method, 0.05, steps, 20)
    assert np.abs(values - values[0]).max() < 1e-15 * steps * (1.0 + abs(values[0]))


@pytest.mark.parametrize("name", ["heavy top", "slider", "double pendulum"])
def test_energy_over_many_steps(name):
    """A random walk of round-off, not more: 10⁵ steps of 1e-16 each way, and as much for what is systematic in them."""
    values = energies(name, li.EnergyMomentum, 0.02, 100_000, 100)
    assert np.abs(values - values[0]).max() < 1e-11


def test_other_methods_do_not_keep_it():
    for method in (li.Verlet, li.VariationalCayley, li.RKMK4):
        values = energies("heavy top", method, 0.05, 2000, 20)
        assert np.abs(values - values[0]).max() > 1e-6


def test_what_is_exact_without_help():
    """Constant M and a potential linear in the matrix: the momentum about the vertical, which λ would disturb, is kept.

    A spring needs λ, and the price is a momentum that is right to the order of the method only.
    """
    errors = {}
    for name in ("heavy top", "falling body", "orbiting body"):
        run = li.solve(systems.problem_of(name, 4.0), li.EnergyMomentum, 200, save=20)
        found = systems.spatial_momentum(systems.SYSTEMS[name][0], run.y)[:, 2]
        errors[name] = np.abs(found - found[0]).max()
    assert errors["heavy top"] < 1e-12
    assert errors["falling body"] < 1e-11
    assert 1e-8 < errors["orbiting body"] < 1e-3


def test_energy_in_gravity():
    """A falling body's energy is the difference of numbers that grow."""
    run = li.solve(systems.problem_of("falling body", 8.0), li.EnergyMomentum, 800, save=20)
    values = systems.energy_of(systems.falling_body, run.y)
    nv = 6
    kinetic = 0.5 * np.array([s[-nv:] @ systems.momentum_of(systems.falling_body, s[:-nv], s[-nv:]) for s in run.y])
    assert np.abs(values - values[0]).max() < 1e-14 * 800 * kinetic.max()


def test_joints_that_stop():
    """A free body whose slider rests in balance, or starts from rest: ξ · d vanishes, energy and momentum stay."""
    system, q, v = systems.SYSTEMS["slider"]
    for speed, place in ((0.0, 0.3), (0.0, 0.7), (1e-7, 0.3), (-1e-12, 0.5)):
        for spin in (np.zeros(6), np.array(v[:6])):
            problem = li.Problem.of(system, [*q[:7], place], [*spin, speed], 10.0)
            run = li.solve(problem, li.EnergyMomentum, 500, save=500)
            values, momenta = systems.energy_of(system, run.y), systems.spatial_momentum(system, run.y)
            assert np.abs(values - values[0]).max() < 1e-11
            assert np.abs(momenta - momenta[0]).max() < 1e-11


def test_brake_orbits():
    """A double pendulum that starts from rest, again and again: all speeds vanish together."""
    for angles in ([0.3, 0.2], [2.5, -1.0], [3.0, 3.0]):
        problem = li.Problem.of(systems.double_pendulum, angles, [0.0, 0.0], 10.0)
        run = li.solve(problem, li.EnergyMomentum, 500, save=500)
        values = systems.energy_of(systems.double_pendulum, run.y)
        assert np.abs(values - values[0]).max() < 1e-12


def test_what_is_not_conservative_is_refused():
    with pytest.raises(
        InputError, match=r"problem 'driven top': method energy-momentum is for conservative systems, .* at a rate of"
    ):
        li.Stepper(systems.problem_of("driven top"), li.EnergyMomentum)
    # at rest, where damping shows only once it moves
    damped = systems.make(systems.TOP, systems.ATTITUDE, [1.0, 1.3, 0.7, 2.0, 0.0, 1e-3])
    with pytest.raises(InputError, match="It would hold the energy against them"):
        li.Stepper(li.Problem.of(damped, systems.Q0, np.zeros(3), 1.0), li.EnergyMomentum4)


def test_a_joint_that_nearly_rests_on_a_spinning_base_is_left_alone():
    """Exact: on a ball that spins, a ball on a hinge through both centres keeps its relative speed, here 1e-10 rad/s.

    The energy of that speed is far below round-off of the energy of the spin, so (3) cannot tell it: with λ as large as
    the quotient of two such numbers the speed became 1e-6 rad/s.
    """
    bodies = [lg.Body(name, mass=mass, inertia=(mass,) * 3) for name, mass in (("bus", 1.0), ("wheel", 0.1))]
    joints = [
        lm.Free(name="free", parent="world", child="bus"),
        lm.Revolute(name="hinge", parent="bus", child="wheel", axis=(0.48, 0.6, 0.64)),
    ]
    model = lg.Tree(bodies, joints, gravity=(0, 0, 0)).compile()
    state = model.state(v={"free": (3.1, -4.7, 7.3, 0, 0, 0), "hinge": 1e-10})
    run = li.solve(li.Problem.of(motion.system(model), state.q, state.v, 1.0), li.EnergyMomentum, 100)
    assert run.y[:, -1] / 1e-10 == pytest.approx(1.0, rel=0.01)
