"""What structure-preserving methods keep on trees: momentum of free ones, energy, over many steps."""

from __future__ import annotations

import numpy as np
import pytest

import liegeo as lg
from liegeo import integrate as li
from liegeo import model as lm
from liegeo.errors import InputError
from liegeo.motion import system
from models import flexible_chain


@pytest.fixture(scope="module")
def floating():
    """A satellite without weight: a body, an arm on a ball, a panel on a hinge with a spring, a wheel."""
    hub = lg.Body("hub", mass=3.0, com=(0.05, 0.0, 0.02), inertia=(0.4, 0.5, 0.6))
    arm = lg.Body("arm", mass=0.8, com=(0.3, 0.0, 0.0), inertia=(0.02, 0.1, 0.1))
    panel = lg.Body("panel", mass=0.5, com=(0.0, 0.4, 0.0), inertia=(0.08, 0.02, 0.09))
    joints = [
        lm.Free(name="base", parent="world", child="hub"),
        lm.Spherical(name="ball", parent="hub", child="arm", at=(0.3, 0.0, 0.0)),
        lm.Revolute(name="hinge", parent="hub", child="panel", at=(0.0, 0.3, 0.0), axis=(1, 0, 0), stiffness=2.0),
    ]
    wheel = lm.Wheel(name="wheel", body="hub", axis=(0, 0, 1), inertia=0.03)
    return lg.Tree([hub, arm, panel], joints, name="floating", wheels=[wheel], gravity=(0, 0, 0)).compile()


def start(model):
    v = {"base": [0.3, -0.2, 0.5, 0.1, 0.0, -0.2], "ball": [0.4, 0.8, -0.3], "hinge": 0.7, "wheel": 20.0}
    return model.state(q={"hinge": 0.3}, v=v)


METHODS = [method for method in li.ALL_INTEGRATORS if "momentum" in method.properties]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_momentum_of_a_free_tree_is_kept(floating, method):
    run = lg.simulate(floating, start(floating), t_end=5.0, method=method, step=0.01, output="steps")
    for name in ("momentum.angular", "momentum.linear"):
        assert np.abs(run[name] - run[name][0]).max() < 2e-11
    assert np.ptp(run["energy.kinetic"]) > 0.02


@pytest.mark.parametrize("method", [m for m in li.ALL_INTEGRATORS if "energy" in m.properties], ids=lambda m: m.name)
def test_energy_of_a_free_tree_is_kept(floating, method):
    run = lg.simulate(floating, start(floating), t_end=5.0, method=method, step=0.01, output="steps")
    assert np.abs(run["energy"] - run["energy"][0]).max() < 1e-11 * abs(run["energy"][0])


def test_a_variational_method_bounds_the_energy_error_by_the_square_of_the_step(floating):
    errors = []
    for step in (0.02, 0.01):
        run = lg.simulate(floating, start(floating), t_end=20.0, method="variational-exp", step=step, output=0.1)
        errors.append(np.abs(run["energy"] - run["energy"][0]).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.3)
    plain = lg.simulate(floating, start(floating), t_end=20.0, method="rkmk-2", step=0.01, output=0.1)
    first, last = (np.abs(plain["energy"] - plain["energy"][0])[part].max() for part in (slice(0, 50), slice(150, 200)))
    assert last > 2 * first


def test_a_flexible_tree_moves_by_a_variational_method():
    """Steps that resolve the fastest mode: the same tip as generalised-α, and a bounded energy error."""
    model = flexible_chain(1)
    run = lg.simulate(model, t_end=0.1, method="variational-exp", step=2e-5, output=1e-3)
    other = lg.simulate(model, t_end=0.1, step=2e-5, output=1e-3)
    assert run["link0.8.position"] == pytest.approx(other["link0.8.position"], abs=1e-6)
    assert np.abs(run["energy"]).max() < 1e-4 * np.abs(run["energy.gravitational"]).max()


def test_an_energy_method_refuses_a_driven_tree(floating):
    with pytest.raises(InputError, match="method energy-momentum is for conservative systems"):
        lg.simulate(floating, start(floating), 1.0, method="energy-momentum", step=0.01, inputs={"hinge": 3.0})


@pytest.mark.slow
def test_many_steps(floating):
    """Energy bounded, first and last tenth alike; tests/integrate has a million steps of a top."""
    problem = li.Problem.of(system(floating), start(floating).q, start(floating).v, 1e3)
    run = li.solve(problem, li.VariationalExp, 100_000, save=1000)
    energies = np.array([_energy(problem, y) for y in run.y])
    change = np.abs(energies - energies[0])
    assert change[-100:].max() < 2.0 * change[:100].max()
    assert abs(energies[-100:].mean() - energies[:100].mean()) < 0.3 * change[:100].max()


def _energy(problem, y):
    s = problem.system
    nq = len(y) - s.group.dim
    return s.dynamics.energy(s.ints, s.floats, 0.0, y[:nq].copy(), y[nq:].copy(), np.full(s.work, np.nan))
