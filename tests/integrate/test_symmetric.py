"""Symmetric methods and compositions: a step back undoes a step, for every method that says so."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import systems

from liegeo import integrate as li
from liegeo.errors import InputError, IntegrationError
from liegeo.integrate import iteration, symmetric
from liegeo.lie import SO3, R
from liegeo.status import NO_CONVERGENCE, NOT_FINITE


def field(t, X):
    return np.array([X[0, 0], np.cos(t) * X[1, 2], 1.0 + X[2, 1]])


def problem_for(method):
    if "linear" in method.properties:
        return systems.LINEAR["screwing"]
    return systems.problem_of("slider") if method.mechanical else li.Problem(SO3, field, SO3.exp([0.3, 0.2, 0.1]), 1.0)


def there_and_back(problem, method, h):
    stepper = li.Stepper(problem, method)
    assert stepper.step(h, 3, 0.2) == 0
    away = stepper.y.copy()
    assert stepper.step(-h, 3) == 0
    return float(problem.group.distance(stepper.y, problem.start)), float(problem.group.distance(away, problem.start))


@pytest.mark.parametrize("method", systems.having("symmetric"), ids=systems.named)
def test_a_step_back_undoes_a_step(method):
    back, away = there_and_back(problem_for(method), method, 0.05)
    assert back < 1e-13
    assert away > 0.05


def test_other_methods_do_not_come_back():
    """What the test above is for."""
    for method in (li.RKMK4, li.CF3):
        assert there_and_back(systems.problem_of("slider"), method, 0.05)[0] > 1e-9


@pytest.mark.parametrize(
    "method", [m for m in systems.having("symmetric") if "linear" not in m.properties], ids=systems.named
)
@pytest.mark.parametrize("name", ["heavy top", "slider", "double pendulum"])
def test_with_reversed_speeds_a_motion_returns(name, method):
    problem = systems.problem_of(name)
    nv = problem.system.group.dim
    stepper = li.Stepper(problem, method)
    assert stepper.step(0.02, 50) == 0
    stepper.y[-nv:] *= -1.0
    assert stepper.step(0.02, 50) == 0
    stepper.y[-nv:] *= -1.0
    assert float(problem.group.distance(stepper.y, problem.start)) < 1e-11


@pytest.mark.kernels
@pytest.mark.parametrize("method", systems.MECHANICAL, ids=systems.named)
@pytest.mark.parametrize("name", ["hanging body", "slider", "double pendulum"])
def test_compiled_and_plain_systems_give_the_same_numbers(name, method):
    system, q, v = systems.SYSTEMS[name]
    plain = li.System(system.group, systems.PLAIN, system.ints, system.floats, system.work)
    ends = [li.solve(li.Problem.of(each, q, v, 0.1), method, 2).end for each in (system, plain)]
    assert ends[0] == pytest.approx(ends[1], abs=1e-13)


@pytest.mark.parametrize("method", systems.MECHANICAL, ids=systems.named)
def test_nothing_is_left_in_the_scratch(method):
    """Steps after each other, and each with fresh scratch full of NaN, but for its memory, have the same bits."""
    problem = systems.problem_of("slider")
    together = li.Stepper(problem, method)
    memory = together.memory.copy()
    together.step(0.01, 3)
    y = problem.start
    for k in range(3):
        alone = li.Stepper(problem, method)
        alone.y[:] = y
        alone._scratch.K[:] = np.nan
        alone.memory[:] = memory
        alone.step(0.01, 1, 0.01 * k)
        y, memory = alone.y, alone.memory.copy()
    assert (together.y == y).all()


def test_verlet_needs_few_accelerations():
    """Where they do not depend on speed: one to solve for v½, one to see that it is solved, one at the end."""
    calls = []

    def acceleration(I, F, t, q, v, W, out):
        calls.append(t)
        out[:] = -np.sin(q)
        return 0

    system = li.System(li.problems.Product({"q": R(2)}), li.Dynamics(acceleration))
    li.solve(li.Problem.of(system, [0.3, 1.0], [0.0, 0.1], 1.0), li.Verlet, 4)
    assert len(calls) == 3 * 4


def test_a_system_that_fails_is_heard():
    def acceleration(I, F, t, q, v, W, out):
        out[:] = 0.0
        return 7 if t > 0.5 else 0

    system = li.System(li.problems.Product({"q": R(1)}), li.Dynamics(acceleration))
    problem = li.Problem.of(system, [0.3], [0.5], 1.0, name="p")
    for method in (li.Verlet, li.Verlet4, li.Midpoint4):
        with pytest.raises(IntegrationError, match="the system failed with status 7") as error:
            li.solve(problem, method, 10)
        # a composition that fails in its middle leaves the state where the last good step ended
        run = error.value.trajectory
        assert run.y[:, 0] == pytest.approx(0.3 + 0.5 * run.t)


def test_an_iteration_that_cannot_converge_is_an_error():
    stiff = li.Problem(R(1), lambda t, y: -1e3 * np.tanh(y), [1.0], 1.0, name="stiff")
    with pytest.raises(IntegrationError, match="midpoint: after t = 0, the equations of a step could not be solved"):
        li.solve(stiff, li.ImplicitMidpoint, 10)
    damped = systems.make(systems.TOP, systems.ATTITUDE, [1.0, 1.3, 0.7, 2.0, 0.0, 50.0])
    problem = li.Problem.of(damped, systems.Q0, systems.W0, 1.0)
    # it runs away so fast that numbers may overflow before it gives up
    assert li.Stepper(problem, li.Verlet).step(0.1, 1) in (NO_CONVERGENCE, NOT_FINITE)
    # the same damping, and a matrix that knows nothing of it: Broyden's method learns it
    assert li.Stepper(problem, li.VariationalExp).step(0.1, 1) == 0


def test_at_rest_it_stays():
    """A body that hangs in balance: round-off alone neither moves it nor confuses the iterations."""
    system = systems.hanging_body
    length = 0.7 + 1.5 * 2.0 / 3.0
    problem = li.Problem.of(system, [*systems.Q0, 0.0, 0.0, -length], np.zeros(6), 10.0)
    for method in systems.MECHANICAL:
        end = li.solve(problem, method, 100, save=1).end
        assert float(problem.group.distance(end, problem.start)) < 1e-12


# ---- compositions


def test_weights_check_themselves():
    assert [len(symmetric.words(n)) for n in range(9)] == [1, 1, 1, 2, 3, 5, 8, 13, 21]
    for weights, order in ((symmetric.YOSHIDA_4, 4), (symmetric.SUZUKI_4, 4), (symmetric.KAHAN_LI_6, 6)):
        assert symmetric.composition_defect(weights, order) < 1e-14
        assert symmetric.composition_defect(weights, order + 2) > 1e-3
    # sums of odd powers are not enough: this order of the same weights has none of the brackets right
    shuffled = tuple(symmetric.KAHAN_LI_6[i] for i in (1, 0, 2, 3, 4, 5, 6, 8, 7))
    assert sum(w**3 for w in shuffled) == pytest.approx(0.0, abs=1e-15)
    assert sum(w**5 for w in shuffled) == pytest.approx(0.0, abs=1e-15)
    with pytest.raises(InputError, match="composition 'c': misses a condition of order 6 by"):
        li.composition(li.Verlet, shuffled, "c", 6)
    with pytest.raises(InputError, match=r"composition 'c': weights are \(0.4, 0.6\), must be the same read backwards"):
        li.composition(li.Verlet, (0.4, 0.6), "c", 2)
    with pytest.raises(InputError, match="composition 'c': rkmk-4 is not a symmetric method without memory"):
        li.composition(li.RKMK4, symmetric.YOSHIDA_4, "c", 4)


def test_a_composition_of_ones_own():
    """The triple jump of the triple jump: order six; its properties are those of the method."""
    four = li.composition(li.VariationalExp, symmetric.YOSHIDA_4, "four", 4)
    six = li.Method(
        "six",
        6,
        symmetric.composed(four.make, four.rows, symmetric.triple_jump(6)),
        rows=four.rows + 3,
        mechanical=True,
        workspaces=four.workspaces,
    )
    assert four.properties == li.VariationalExp.properties
    problem = systems.problem_of("heavy top", 0.5)
    fine = li.solve(problem, li.RKMK5, 4000, save=1).end
    for method, steps in ((four, (60, 90)), (six, (20, 30))):
        errors = [float(problem.group.distance(li.solve(problem, method, n, save=1).end, fine)) for n in steps]
        assert np.log(errors[0] / errors[1]) / np.log(1.5) == pytest.approx(method.order, abs=0.15)


@pytest.mark.parametrize(("change", "declared"), [({"workspaces": 1}, "workspaces is 1"), ({"rows": 3}, "rows is 3")])
def test_a_step_that_needs_more_than_its_method_declares_is_found_out(change, declared):
    """Its scratch has a fence: no other memory is damaged, and the message says what to raise."""
    small = dataclasses.replace(li.VariationalExp, **change)
    with pytest.raises(InputError, match=rf"(?s)'variational-exp': its step wrote \d+ numbers beyond .* {declared}"):
        li.solve(systems.problem_of("heavy top", 0.5), small, 20)


# ---- iterations


@pytest.mark.kernels
def test_broyden_learns_what_the_matrix_does_not_know():
    """r = b − (A + N) x with an N larger than A: plain iteration runs away, Broyden's needs 2n steps at most.

    Scaled by units that differ by 10⁶ the steps are the same ones.
    """
    rng = np.random.default_rng(1)
    n = 4
    root, N, b = rng.normal(size=(n, n)), rng.normal(size=(n, n)), rng.normal(size=n)
    A = root @ root.T + np.eye(n)
    ends = []
    for units in (np.ones(n), np.array([1.0, 1e3, 1e-3, 1.0])):
        S = np.diag(units)
        left, full, right = S @ A @ S, S @ (A + 2.0 * N) @ S, S @ b
        x, B, known = np.zeros(n), np.full((iteration.REMEMBERED, 2 * n), np.nan), 0
        sizes = []
        for _ in range(2 * n + 1):
            r = right - full @ x
            sizes.append(np.linalg.norm(r / units))
            z = np.linalg.solve(left, r)
            known = iteration.accelerate(known, B, z, r)
            x += z
        assert sizes[-1] < 1e-9 * sizes[0]
        assert left @ z == pytest.approx(r, abs=1e-9 * np.abs(right).max())
        ends.append(S @ x)
    assert ends[0] == pytest.approx(ends[1], abs=1e-9)


@pytest.mark.kernels
def test_when_an_iteration_is_over():
    assert iteration.settled(0, 0.0, 0.0, 1.0, 0.0)
    assert not iteration.settled(0, 1e-15, 0.0, 1.0, 0.0)
    # the next change would be 1e-18
    assert iteration.settled(3, 1e-12, 1e-6, 1.0, 0.0)
    assert not iteration.settled(3, 1e-6, 1e-3, 1.0, 0.0)
    # it shrinks no more: near round-off, early and late, and far from it
    assert iteration.settled(3, 2e-14, 1e-14, 1.0, 0.0)
    assert not iteration.settled(3, 2e-12, 1e-12, 1.0, 0.0)
    assert iteration.settled(30, 2e-12, 1e-12, 1.0, 0.0)
    assert iteration.settled(3, 2e-9, 1e-9, 1.0, 1e-8)
    assert not iteration.settled(30, 2e-3, 1e-3, 1.0, 0.0)
