"""Adaptive methods: tolerances reached, steps that follow the solution, dense output, events."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import systems
from scipy.special import ellipj, ellipk

from liegeo import integrate as li
from liegeo.errors import InputError, IntegrationError
from liegeo.integrate import tableau
from liegeo.lie import SO3, SO3Q, Product, R

J = np.array([1.0, 2.0, 3.0])


@numba.njit
def free_body(t, y, out):
    """Attitude and body momentum of a free rigid body: y = (quaternion, p), ṗ = p×w."""
    for a in range(3):
        out[a] = y[4 + a] / J[a]
    out[3] = y[5] * out[2] - y[6] * out[1]
    out[4] = y[6] * out[0] - y[4] * out[2]
    out[5] = y[4] * out[1] - y[5] * out[0]


BODY = Product({"attitude": SO3Q, "momentum": R(3)})
P0 = np.array([1.0, 0.0, 2.4])


def exact_momentum(t):
    """Jacobi's solution for J₁ < J₂ < J₃ with p₂(0) = 0 and 2EJ₂ < |p|²: dn, sn, cn about the axis of most inertia."""
    w = P0 / J
    J1, J2, J3 = J
    energy, square = w @ P0, P0 @ P0
    rate = np.sqrt((J3 - J2) * (square - energy * J1) / (J1 * J2 * J3))
    m = (J2 - J1) * (energy * J3 - square) / ((J3 - J2) * (square - energy * J1))
    sn, cn, dn, _ = ellipj(rate * np.asarray(t), m)
    amplitude = np.sqrt((energy * J3 - square) / (J2 * (J3 - J2)))
    return np.stack([P0[0] * cn, J2 * amplitude * sn, P0[2] * dn], axis=-1), 4 * ellipk(m) / rate


PROBLEM = li.Problem(BODY, free_body, [1.0, 0.0, 0.0, 0.0, *P0], 10.0, name="free body")


def test_jacobi_solves_euler():
    """The closed form obeys Euler's equations: otherwise the tests below mean nothing."""
    t, h = 0.7, 1e-6
    p = exact_momentum(t)[0]
    slope = (exact_momentum(t + h)[0] - exact_momentum(t - h)[0]) / (2 * h)
    assert slope == pytest.approx(np.cross(p, p / J), abs=1e-8)


# not order three at 1e-12, which would take 10⁵ steps
CASES = [(li.DormandPrince54, 10.0**-k) for k in (3, 5, 7, 9, 12)] + [
    (li.BogackiShampine32, 10.0**-k) for k in (3, 5, 7, 9)
]


@pytest.mark.parametrize(("method", "tolerance"), CASES)
def test_tolerances_are_reached(method, tolerance):
    """The error at the end is within a hundred tolerances after ten seconds; momentum in space is kept as well."""
    run = li.solve_adaptive(PROBLEM, method, rtol=tolerance, atol=tolerance)
    error = np.abs(run.end[4:] - exact_momentum(10.0)[0]).max()
    assert error < 10 * tolerance * 10.0
    assert error < 1e-12 or error > 1e-3 * tolerance
    space = SO3Q.act(run.y[:, :4], run.y[:, 4:])
    assert np.abs(space - P0).max() < 100 * tolerance
    assert np.abs(np.linalg.norm(run.y[:, :4], axis=1) - 1.0).max() < 1e-12


def test_steps_shrink_where_the_field_is_fast_and_rejections_are_counted():
    def spike(t, y):
        return np.array([1.0 / (1e-3 + (t - 0.5) ** 2)])

    run = li.solve_adaptive(li.Problem(R(1), spike, [0.0], 1.0), rtol=1e-8, atol=1e-10, first_step=0.4)
    steps = np.diff(run.t)
    assert steps[np.abs(run.t[:-1] - 0.5) < 0.02].max() < 0.2 * steps.max()
    assert run.rejected > 0
    exact = 2 * np.arctan(0.5 / np.sqrt(1e-3)) / np.sqrt(1e-3)
    assert run.end[0] == pytest.approx(exact, rel=1e-7)


@pytest.mark.parametrize(("method", "power"), [(li.DormandPrince54, 5), (li.BogackiShampine32, 4)])
def test_dense_output(method, power):
    """Between steps the error falls with a power of the step; at the steps it is that of the steps."""
    errors = []
    for largest in (0.05, 0.025) if power == 5 else (0.004, 0.002):
        run = li.solve_adaptive(PROBLEM, method, rtol=1e-7, atol=1e-7, max_step=largest, first_step=largest)
        t = np.linspace(0.0, 10.0, 777)
        errors.append(np.abs(run(t)[:, 4:] - exact_momentum(t)[0]).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(power if power == 5 else 3, abs=0.3)
    assert run(run.t) == pytest.approx(run.y, abs=1e-12)
    with pytest.raises(InputError, match="asked for t outside of 0 to 10"):
        run(10.1)


def test_events_are_found_and_end_a_run():
    """p₂ passes zero every half period of Jacobi's functions."""
    period = exact_momentum(0.0)[1]
    zero = li.Event(lambda t, y: y[5])
    rising = li.Event(lambda t, y: y[5], direction=1)
    run = li.solve_adaptive(PROBLEM, rtol=1e-10, atol=1e-12, max_step=0.05, events=[zero, rising])
    expected = np.arange(1, 20) * period / 2
    expected = expected[expected < 10.0]
    assert run.events[0][0] == pytest.approx(expected, abs=1e-8)
    assert len(run.events[1][0]) in (len(expected) // 2, (len(expected) + 1) // 2)
    assert np.abs(run.events[0][1][:, 5]).max() < 1e-12
    stopped = li.solve_adaptive(
        PROBLEM, rtol=1e-10, atol=1e-12, max_step=0.05, events=[li.Event(lambda t, y: y[5], terminal=True)]
    )
    assert stopped.t[-1] == pytest.approx(period / 2, abs=1e-8)
    assert (np.diff(stopped.t) > 0).all()


@pytest.mark.parametrize("method", li.ALL_ADAPTIVE, ids=lambda method: method.name)
def test_the_field_of_a_trajectory_is_that_at_its_points(method):
    """The next step and dense output begin with it; of a driven system it depends on the time as well."""
    problem = systems.problem_of("driven top", 1.0)
    run = li.solve_adaptive(problem, method, rtol=1e-4, atol=1e-6)
    stepper = li.Stepper(problem, method, rtol=1e-4, atol=1e-6)
    expected = [stepper.field(float(t), y) for t, y in zip(run.t, run.y, strict=True)]
    # Generalised-α has v̇ from its equations, solved to a share of rtol, or, with forces between the ends of a step,
    # from the means of two steps: right to the square of a step.
    assert run.f == pytest.approx(np.array(expected), abs=3e-4 if method.name.startswith("adaptive") else 1e-6)


@pytest.mark.parametrize("ends", [(1.0, 3.0), (3.0, -1.0)], ids=["forward", "backward"])
def test_dense_output_up_to_a_terminal_event(ends):
    """Steps and dense output of order four are exact for a quartic, also in the part of a step that an event leaves."""

    def exact(t):
        return t**4 - 3.0 * t**2 + t

    problem = li.Problem(R(1), lambda t, y: np.array([4.0 * t**3 - 6.0 * t + 1.0]), [exact(ends[0])], ends[1], ends[0])
    event = li.Event(lambda t, y: t - 1.7, terminal=True)
    run = li.solve_adaptive(problem, first_step=0.3, events=[event])
    assert run.t[-1] == pytest.approx(1.7)
    t = np.linspace(run.t[0], run.t[-1], 101)
    assert run(t)[:, 0] == pytest.approx(exact(t), abs=1e-12)


def test_backwards_in_time():
    there = li.solve_adaptive(PROBLEM, rtol=1e-11, atol=1e-12)
    back = li.Problem(BODY, free_body, there.end, 0.0, t_start=10.0)
    assert li.solve_adaptive(back, rtol=1e-11, atol=1e-12).end == pytest.approx(PROBLEM.start, abs=1e-9)


def test_plain_fields_and_matrix_groups():
    problem = li.Problem(SO3, lambda t, X: X.T @ np.array([0.3, 1.0, -0.4]) / J, SO3.identity(), 3.0)
    fine = li.solve(problem, li.RKMK5, 2000, save=1).end
    run = li.solve_adaptive(problem, rtol=1e-10, atol=1e-10)
    assert run.end == pytest.approx(fine, abs=1e-8)


def test_messages():
    with pytest.raises(InputError, match=r"solve_adaptive: rtol is 0\.0, must be > 0"):
        li.solve_adaptive(PROBLEM, rtol=0.0)
    with pytest.raises(InputError, match=r"solve_adaptive: first_step is -1\.0, must be > 0"):
        li.solve_adaptive(PROBLEM, first_step=-1.0)
    explodes = li.Problem(R(1), lambda t, y: y**2, [1.0], 2.0, name="explodes")
    with (
        np.errstate(all="ignore"),
        pytest.raises(
            IntegrationError, match=r"rkmk-54: at t = 1, after .* steps, the step became too small"
        ) as raised,
    ):
        li.solve_adaptive(explodes)
    assert raised.value.trajectory.t[-1] == pytest.approx(1.0)
    with pytest.raises(InputError, match="expected two methods of falling order on the same stages"):
        tableau.Pair(tableau.KUTTA_4, tableau.KUTTA_3)
    rk4 = tableau.KUTTA_4
    with pytest.raises(InputError, match="pair 'kutta-4': its last stage is not the end of the step"):
        tableau.Pair(rk4, tableau.Butcher("first", 1, rk4.a, (1.0, 0.0, 0.0, 0.0)))
    still = li.solve_adaptive(li.Problem(R(1), lambda t, y: y, [1.0], 0.0))
    assert still.t.tolist() == [0.0]
    assert still(0.0).tolist() == [1.0]
    assert still([0.0, 0.0]).tolist() == [[1.0], [1.0]]
    with pytest.raises(InputError, match="asked for t outside of 0, its only point"):
        still(0.1)
    assert repr(li.DormandPrince54) == "<rkmk-54: order 5(4), adaptive>"
