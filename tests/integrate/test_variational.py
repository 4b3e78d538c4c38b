"""Variational and symplectic methods: what they promise, for every method that promises it."""

from __future__ import annotations

import numpy as np
import pytest
import systems

from liegeo import integrate as li
from liegeo.errors import InputError
from liegeo.integrate import variational
from liegeo.lie import S1, SE2, SE3Q, SO3Q, Product, R

SYMPLECTIC, MOMENTUM = systems.having("symplectic"), systems.having("momentum")


def test_systems_obey_lagrange():
    """d/dt (M v) − adT(v) M v = s and s = ∂L/∂q, by differences: otherwise the tests below mean nothing."""
    e = 1e-6
    for name, (system, q, v) in systems.SYSTEMS.items():
        group, kernels, v = system.group, system.dynamics, np.array(v)
        data, W = (system.ints, system.floats), np.full(system.work, np.nan)
        a, s = np.empty(group.dim), np.empty(group.dim)
        kernels.acceleration(*data, 0.3, np.array(q), v, W, a)
        kernels.slope(*data, 0.3, np.array(q), v, W, s)
        p, ahead, behind = (systems.momentum_of(system, group.retract(q, x * v), v + x * a) for x in (0.0, e, -e))
        assert (ahead - behind) / (2 * e) - group.adT_apply(v, p) == pytest.approx(s, abs=1e-8)
        if name != "driven top":
            assert s == pytest.approx([slope_along(system, q, v, x) for x in np.eye(group.dim)], abs=1e-8)


def slope_along(system, q, v, x, e=1e-6):
    def lagrangian(place):
        return v @ systems.momentum_of(system, place, v) - systems.energy_of(system, np.concatenate([place, v]))

    return (lagrangian(system.group.retract(q, e * x)) - lagrangian(system.group.retract(q, -e * x))) / (2 * e)


@pytest.mark.parametrize("name", ["heavy top", "hanging body", "slider", "double pendulum"])
@pytest.mark.parametrize("method", [li.VariationalExp, li.VariationalCayley], ids=systems.named)
def test_discrete_euler_lagrange_equations(name, method):
    """Three places in turn make the sum of two discrete Lagrangians stationary in the middle one, by differences."""
    h, e = 0.05, 1e-5
    system, q, v = systems.SYSTEMS[name]
    group, nv = system.group, system.group.dim
    places = li.solve(li.Problem.of(system, q, v, 2 * h), method, 2).y[:, :-nv]
    inverse = group.log if method is li.VariationalExp else group.cayinv

    def action(a, b):
        xi = inverse(group.compose(group.inverse(a), b)) / h
        kinetic = sum(0.5 * xi @ systems.momentum_of(system, x, xi) for x in (a, b))
        potential = sum(systems.energy_of(system, np.concatenate([x, 0 * xi])) for x in (a, b))
        return 0.5 * h * (kinetic - potential)

    for x in np.eye(nv):
        moved = [group.retract(places[1], s * e * x) for s in (1, -1)]
        ends = [action(places[0], m) + action(m, places[2]) for m in moved]
        # each action has a slope of the size of a momentum, about 1: round-off is 1e-16/e
        assert ends[0] - ends[1] == pytest.approx(0.0, abs=2 * e * 1e-9)


def mass_matrix(system, q):
    return np.array([systems.momentum_of(system, q, x) for x in np.eye(system.group.dim)])


def defect_of_two_form(system, q, v, method, h, e=1e-4):
    """|DΦᵀ Ω DΦ − Ω| of a step Φ, with variations (σ, δp), δq = q σ.

    The canonical form dθ, θ = p·σ, is (σ, π), (σ', π') ↦ π·σ' − π'·σ − p·[σ, σ'] on left-trivialised variations.
    """
    group, n = system.group, system.group.dim

    def step(q, p):
        stepper = li.Stepper(li.Problem.of(system, q, np.linalg.solve(mass_matrix(system, q), p), 1.0), method)
        assert stepper.step(h, 1) == 0
        return stepper.y[:-n].copy(), systems.momentum_of(system, stepper.y[:-n], stepper.y[-n:])

    def form(p):
        eye = np.eye(n)
        bracket = np.array([[p @ group.ad_apply(a, b) for b in eye] for a in eye])
        return np.block([[-bracket, -eye], [eye, np.zeros((n, n))]])

    p = systems.momentum_of(system, q, v)
    q_1, p_1 = step(np.asarray(q), p)
    columns = []
    for x in np.eye(2 * n):
        (qa, pa), (qb, pb) = (step(group.retract(q, s * e * x[:n]), p + s * e * x[n:]) for s in (1, -1))
        sigma = group.difference(qa, q_1) - group.difference(qb, q_1)
        columns.append(np.concatenate([sigma, pa - pb]) / (2 * e))
    D = np.array(columns).T
    return np.abs(D.T @ form(p_1) @ D - form(p)).max()


@pytest.mark.parametrize("name", ["heavy top", "hanging body", "slider", "double pendulum"])
@pytest.mark.parametrize("method", SYMPLECTIC, ids=systems.named)
def test_the_canonical_two_form_is_kept(name, method):
    """To the accuracy of the differences: e² = 1e-8 times third derivatives, which scale with h."""
    assert defect_of_two_form(*systems.SYSTEMS[name], method, 0.05) < 1e-8


@pytest.mark.parametrize("method", [li.RKMK4, li.Verlet, li.ImplicitMidpoint], ids=systems.named)
def test_other_methods_do_not_keep_it(method):
    """Nor does Verlet's on a group that does not commute: what the test above is for."""
    assert defect_of_two_form(*systems.SYSTEMS["heavy top"], method, 0.2) > 1e-6


def kept(name):
    """Components of the momentum in the world that a system's symmetry keeps."""
    return {"heavy top": [2], "orbiting body": [0, 1, 2], "hanging body": [2]}.get(name, slice(None))


@pytest.mark.parametrize("name", ["free body", "heavy top", "floating body", "slider"])
@pytest.mark.parametrize("method", MOMENTUM, ids=systems.named)
def test_momentum_is_kept_to_round_off(name, method):
    """Angular momentum of a free body, about the vertical of a heavy top, all six numbers of free bodies."""
    check_momentum(name, method)


@pytest.mark.parametrize("name", ["orbiting body", "hanging body"])
@pytest.mark.parametrize("method", SYMPLECTIC, ids=systems.named)
def test_momentum_of_any_symmetry(name, method):
    check_momentum(name, method)


def check_momentum(name, method):
    steps = 2000
    run = li.solve(systems.problem_of(name, 0.02 * steps), method, steps, save=20)
    found = systems.spatial_momentum(systems.SYSTEMS[name][0], run.y)[:, kept(name)]
    # each part of a step may be wrong by some units in the last place
    assert np.abs(found - found[0]).max() < 1e-13 * steps


def test_other_methods_do_not_keep_momentum():
    for method in (li.Verlet, li.RKMK4):
        run = li.solve(systems.problem_of("slider", 40.0), method, 2000, save=20)
        found = systems.spatial_momentum(systems.slider, run.y)
        assert np.abs(found - found[0]).max() > 1e-7


def energy_errors(name, method, h, steps, save):
    run = li.solve(systems.problem_of(name, h * steps), method, steps, save=save)
    values = systems.energy_of(systems.SYSTEMS[name][0], run.y)
    return values[1:] - values[0]


@pytest.mark.parametrize("name", ["lagrange top", "double pendulum"])
@pytest.mark.parametrize("method", SYMPLECTIC, ids=systems.named)
def test_the_error_of_energy_scales_with_the_order(name, method):
    h = 0.04 if method.order < 6 else 0.08
    coarse, fine = (np.abs(energy_errors(name, method, h / k, 100 * k, 100)).max() for k in (1, 2))
    assert np.log2(coarse / fine) == pytest.approx(method.order, abs=0.3)


def check_no_drift(method, steps):
    """No trend: the first and the last tenth agree, and the largest error is not in the end."""
    errors = energy_errors("lagrange top", method, 0.05, steps, 2000)
    first, last, largest = errors[:200], errors[-200:], np.abs(errors).max()
    assert abs(first.mean() - last.mean()) < 0.1 * largest
    assert np.abs(last).max() < 1.1 * np.abs(first).max()
    return largest


@pytest.mark.parametrize("method", SYMPLECTIC, ids=systems.named)
def test_energy_does_not_drift(method):
    assert 1e-9 < check_no_drift(method, 100_000 if method.order == 2 else 20_000) < 3e-2


@pytest.mark.slow
@pytest.mark.parametrize("method", SYMPLECTIC, ids=systems.named)
def test_energy_does_not_drift_over_a_million_steps(method):
    check_no_drift(method, 1_000_000)


def test_other_methods_drift():
    """A method of order four that is better at first."""
    errors = energy_errors("lagrange top", li.RKMK4, 0.05, 20_000, 20)
    assert abs(errors[-1]) > 10 * abs(errors[0])


def test_a_fast_body():
    """It flies sixteen times its size in a step, and turns: the matrix alone would not do for the iteration."""
    problem = li.Problem.of(systems.floating_body, [*systems.Q0, 0.0, 0.0, 0.0], [*systems.W0, 600.0, -500.0, 0.0], 2.0)
    for method in (li.VariationalExp, li.VariationalCayley):
        run = li.solve(problem, method, 100)
        found = systems.spatial_momentum(systems.floating_body, run.y)
        # 1600 m away, where a linear momentum of 1200 N s has an arm of that length
        assert found == pytest.approx(np.broadcast_to(found[0], found.shape), abs=1e-12 * 1600.0 * 1200.0)


def test_forces_do_work():
    """Damping alone: the rate at which energy is lost is that of the motion, to the order of the method."""
    damped = systems.make(systems.TOP, systems.ATTITUDE, [1.0, 1.3, 0.7, 2.0, 0.0, 0.3])
    problem = li.Problem.of(damped, systems.Q0, systems.W0, 5.0)
    fine = systems.energy_of(damped, li.solve(problem, li.RKMK5, 2000, save=1).end)
    losses = [systems.energy_of(damped, li.solve(problem, li.VariationalCayley, n, save=1).end) for n in (100, 200)]
    assert (losses[0] - fine) / (losses[1] - fine) == pytest.approx(4.0, rel=0.1)


@pytest.mark.kernels
@pytest.mark.parametrize("operation", ["dexpinv_left", "dexpinv_right", "dcayinv_left", "dcayinv_right"])
def test_transposed_differentials_of_products(operation):
    group = Product({"a": SO3Q, "b": R(4), "c": SE3Q, "d": S1, "e": SE2, "f": SO3Q})
    rng = np.random.default_rng(0)
    V, F = rng.normal(size=group.dim), rng.normal(size=group.dim)
    out, block = np.full(group.dim, np.nan), np.full((6, group.dim), np.nan)
    variational.transposed(operation)(group.layout, V, F, block, out)
    assert out == pytest.approx(getattr(group, operation)(V).T @ F, abs=1e-14)


def test_messages():
    bare = li.Dynamics(systems.DYNAMICS.acceleration, momentum=systems.DYNAMICS.momentum)
    system = li.System(systems.ATTITUDE, bare, systems.free_body.ints, systems.free_body.floats, systems.free_body.work)
    problem = li.Problem.of(system, systems.Q0, systems.W0, 1.0)
    with pytest.raises(InputError, match="needs kernels that the system does not have: factorise, slope, substitute"):
        li.Stepper(problem, li.VariationalExp)
    with pytest.raises(InputError, match="does not have: energy, factorise, slope, substitute"):
        li.Stepper(problem, li.EnergyMomentum)
    field = li.Problem(SO3Q, lambda t, y: np.zeros(3), systems.Q0, 1.0, name="p")
    with pytest.raises(InputError, match="problem 'p': method variational-exp is for mechanical systems"):
        li.Stepper(field, li.VariationalExp)
    assert repr(li.VariationalExp) == "<variational-exp: order 2, momentum, symmetric, symplectic>"
