"""Stiff methods: the damping that was asked for, stability, the dense matrix when the recursion's is not good enough.

Orders, bits and agreement of compiled and plain code are tested for every method in test_explicit and test_symmetric.
"""

from __future__ import annotations

import numpy as np
import pytest

import liegeo as lg
from liegeo import integrate as li
from liegeo import model as lm
from liegeo._jit import kernel
from liegeo.errors import InputError, IntegrationError
from liegeo.integrate import newton, stepping, stiff, tableau
from liegeo.lie import Product, R
from liegeo.motion import system

# ---- oscillators v̇ = −k q − d v − c q³, one a pair (k, d, c) in F; I[0] says whether the solver is told of k and d


@kernel
def acceleration(I, F, t, q, v, W, out):
    for i in range(q.shape[0]):
        out[i] = -F[3 * i] * q[i] - F[3 * i + 1] * v[i] - F[3 * i + 2] * q[i] ** 3
    return 0


@kernel
def residual(I, F, t, q, v, a, W, out):
    for i in range(q.shape[0]):
        out[i] = a[i] + F[3 * i] * q[i] + F[3 * i + 1] * v[i] + F[3 * i + 2] * q[i] ** 3
    return 0


@kernel
def momentum(I, F, q, v, W, out):
    for i in range(q.shape[0]):
        out[i] = v[i]
    return 0


@kernel
def factorise(I, F, q, alpha, beta, W):
    for i in range(q.shape[0]):
        W[i] = 1.0 + I[0] * (alpha * F[3 * i + 1] + beta * F[3 * i])
    return 0


@kernel
def substitute(I, F, r, W, out):
    for i in range(r.shape[0]):
        out[i] = r[i] / W[i]
    return 0


@kernel
def resistance(I, F, alpha, beta, x, out):
    for i in range(x.shape[0]):
        out[i] = I[0] * (alpha * F[3 * i + 1] + beta * F[3 * i]) * x[i]
    return 0


DYNAMICS = li.Dynamics(
    acceleration, residual, momentum, factorise=factorise, substitute=substitute, resistance=resistance
)


def oscillators(*data, told=True, t_end=1.0, q=1.0, v=0.0):
    n = len(data)
    system = li.System(Product({"q": R(n)}), DYNAMICS, np.array([int(told)]), np.ravel(data).astype(float), work=2 * n)
    return li.Problem.of(system, np.full(n, q), np.full(n, v), t_end, name="oscillators")


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.5, 0.8, 0.95, 1.0])
def test_generalised_alpha_damps_as_asked(rho):
    """The map of one step, observed on unit vectors of (q, v, v̇, a), has the spectral radius ρ for a stiff spring."""
    problem, h = oscillators((1e10, 0.0, 0.0)), 1.0
    scale, columns = np.array([1.0, 1.0, 1e10, 1e10]), []
    for k in range(4):
        stepper = li.Stepper(problem, li.generalised_alpha(rho, 1e-14))
        x = scale * np.eye(4)[k]
        stepper.y[:], stepper.memory[0], stepper.memory[1, 0] = x[:2], x[2:], 1.0
        assert stepper.step(h, 1) == 0
        columns.append(np.concatenate([stepper.y, stepper.memory[0]]) / scale)
    # equal roots make the radius a cube root of round-off
    assert np.abs(np.linalg.eigvals(np.transpose(columns))).max() == pytest.approx(rho, abs=1e-3 if rho else 2e-3)


@pytest.mark.parametrize("rho", [0.0, 0.6, 1.0])
def test_forces_between_are_mean_forces_in_linear_systems(rho):
    """(1′) of stiff.py is (1) there, for slow and for fast oscillations, damped or not."""
    problem = oscillators((1.0, 0.0, 0.0), (100.0, 3.0, 0.0), (1e6, 0.0, 0.0), t_end=2.0)
    mean, between = (li.solve(problem, make(rho, 1e-12), 50).y for make in (li.generalised_alpha, li.midpoint_alpha))
    assert np.abs(mean - between)[:, :3].max() < 1e-9


def test_forces_between_are_nearer_where_they_grow_with_speed():
    """v̇ = −v²: f′f′f = −4v⁴ and f″(f, f) = −2v⁴, errors go as f′f′f + f″(f, f) and f′f′f − ½ f″(f, f): 2 to 1."""

    def drag(I, F, t, q, v, W, out):
        out[:] = -(v**2)
        return 0

    def drag_residual(I, F, t, q, v, a, W, out):
        out[:] = a + v**2
        return 0

    def unit(I, F, q, alpha, beta, W):
        return 0

    def same(I, F, r, W, out):
        out[:] = r
        return 0

    def none(I, F, alpha, beta, x, out):
        out[:] = 0.0
        return 0

    plain = li.Dynamics(drag, drag_residual, factorise=unit, substitute=same, resistance=none)
    system = li.System(Product({"q": R(1)}), plain, np.zeros(0, np.int64), np.zeros(0), work=0)
    problem = li.Problem.of(system, [0.0], [1.0], 1.0)
    speeds = [li.solve(problem, make(1.0, 1e-12), 50).end[1] for make in (li.generalised_alpha, li.midpoint_alpha)]
    errors = [speed - 0.5 for speed in speeds]
    assert abs(errors[0]) > 1e-6
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.02)


@pytest.mark.parametrize("make", [li.generalised_alpha, li.midpoint_alpha])
def test_one_correction_is_mostly_enough(make):
    """A pendulum that pulls at a stiff spring: (3) of stiff.py foresees its motion, and earlier steps tell the rate."""
    K, calls = np.array([0.0, 1e6]), [0]

    def pull(q):
        return np.array([np.sin(q[0]), -1e3 * np.cos(q[0])])

    def motion(I, F, t, q, v, W, out):
        out[:] = -K * q - pull(q)
        return 0

    def motion_residual(I, F, t, q, v, a, W, out):
        calls[0] += 1
        out[:] = a + K * q + pull(q)
        return 0

    def matrix(I, F, q, alpha, beta, W):
        W[:2] = 1.0 + beta * K
        return 0

    def divide(I, F, r, W, out):
        out[:] = r / W[:2]
        return 0

    def stiffness(I, F, alpha, beta, x, out):
        out[:] = beta * K * x
        return 0

    plain = li.Dynamics(motion, motion_residual, factorise=matrix, substitute=divide, resistance=stiffness)
    system = li.System(Product({"q": R(2)}), plain, np.zeros(0, np.int64), np.zeros(0), work=4)
    problem = li.Problem.of(system, [2.0, 0.0], [0.0, 0.0], 5.0)
    exact = li.solve(problem, make(0.6, 1e-13), 250).y
    calls[0] = 0
    quick = li.solve(problem, make(0.6, 2e-3), 250).y
    assert calls[0] < 1.3 * 250
    assert np.abs(quick - exact)[:, :2].max() < 1e-5


@pytest.mark.parametrize("rho", [0.2, 0.6, 1.0])
def test_amplification_is_that_of_the_recurrence(rho):
    """At any hω: long runs decay with the spectral radius of the recurrence, written down independently."""
    am, af, gamma, beta, *_ = stiff.spectral(rho)
    for z in (0.1, 1.0, 10.0):
        # unknowns (q, hv, h²v̇, h²a): A x₁ = B x₀ by stiff.py (1), k h² = z²
        A = np.array([[1, 0, 0, -beta], [0, 1, 0, -gamma], [z * z, 0, 1, 0], [0, 0, -(1 - af), 1 - am]])
        B = np.array([[1, 1, 0, 0.5 - beta], [0, 1, 0, 1 - gamma], [0, 0, 0, 0], [0, 0, af, -am]])
        radius = np.abs(np.linalg.eigvals(np.linalg.solve(A, B))).max()
        assert radius <= 1.0 + 1e-9
        y = li.solve(oscillators((z * z, 0.0, 0.0), t_end=400.0), li.generalised_alpha(rho), 400).y[:, 0]
        first, second = np.abs(y[100:200]).max(), np.abs(y[300:]).max()
        assert np.log(second / first) / 200 == pytest.approx(np.log(radius), abs=0.01)


@pytest.mark.parametrize("method", [m for m in li.ALL_INTEGRATORS if "stiff" in m.properties], ids=lambda m: m.name)
def test_stiff_methods_are_stable(method):
    """Slow and fast side by side: the fast one does not grow, the slow one is right."""
    run = li.solve(oscillators((1.0, 0.0, 0.0), (1e10, 0.0, 0.0), (1.0, 1e6, 0.0), q=1.0), method, 100)
    assert run.y[-1, 0] == pytest.approx(np.cos(1.0), abs=1e-3)
    assert np.abs(run.y[:, 1]).max() < 1.5
    assert run.y[-1, 2] == pytest.approx(1.0, abs=0.02)
    explicit = li.Stepper(oscillators((1e10, 0.0, 0.0)), li.RKMK4)
    explicit.step(0.01, 100)
    assert not np.abs(explicit.y).max() < 1e10


@pytest.mark.parametrize("method", [li.GeneralisedAlpha, li.MidpointAlpha, li.LieBDF2], ids=lambda m: m.name)
def test_a_stiffness_that_the_solver_is_not_told_of(method):
    """The iteration would diverge (hω = 1000); the dense matrix takes over and gives what the other gives."""
    data = ((1e10, 0.0, 0.0), (1.0, 0.0, 0.0), (4e9, 1e4, 0.0))
    known, unknown = (li.solve(oscillators(*data, told=told), method, 100).y[:, :3] for told in (True, False))
    # the first step moves by 2, within a hundredth of the tolerance, 1e-7; what is left of its error fades
    assert np.abs(known - unknown).max() < 2e-7


def test_bdf_2_keeps_its_order_where_the_step_changes():
    """Stops at which a step of 0.02 does not end, as an FMU has them; q = cos t is known."""
    stops, errors = np.cumsum([0.113, 0.041, 0.127, 0.053] * 8), []
    for step in (0.02, 0.01):
        stepper = li.Stepper(oscillators((1.0, 0.0, 0.0), q=1.0, v=0.0, t_end=stops[-1]), li.LieBDF2, step=step)
        for stop in stops:
            assert stepper.reach(stop, 64) == stepping.FINISHED
        errors.append(abs(stepper.y[0] - np.cos(stops[-1])))
    # (2) with the w and v of a step of other length is wrong by a share of the step
    assert errors[0] < 2e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.3)


def test_a_matrix_that_is_stale_is_made_anew():
    """A spring that hardens a millionfold as it moves."""
    problem = oscillators((1.0, 0.0, 1e6), told=False, q=0.0, v=3.0, t_end=2.0)
    rough = li.solve(problem, li.GeneralisedAlpha, 8000, save=1).end
    fine = li.solve(problem, li.RKMK4, 40000, save=1).end
    assert rough[0] == pytest.approx(fine[0], abs=5e-4)


@pytest.mark.parametrize("others", [(), ((1.0, 0.0, 0.0),)], ids=["alone", "before others"])
def test_equations_without_a_solution_are_an_error(others):
    """A force that is not a number."""
    problem = oscillators((np.nan, 0.0, 0.0), *others)
    with pytest.raises(IntegrationError, match=r"generalised-alpha-0\.8: after t = 0, the solution is not finite"):
        li.solve(problem, li.GeneralisedAlpha, 10)


@pytest.mark.parametrize("method", [li.AdaptiveAlpha, li.Rosenbrock32], ids=lambda m: m.name)
def test_adaptive_stiff_methods_step_over_what_is_fast(method):
    """A fast damped motion dies out; then steps are as long as the slow one allows."""
    problem = oscillators((1.0, 0.0, 0.0), (1e8, 1e5, 0.0), t_end=5.0)
    run = li.solve_adaptive(problem, method, rtol=1e-4, atol=1e-4)
    assert run.y[-1, 0] == pytest.approx(np.cos(5.0), abs=2e-3)
    assert len(run.t) < 2500
    assert np.diff(run.t).max() > 100 * np.diff(run.t).min()


def test_rejections_leave_no_trace():
    """A trial does not depend on what was tried before it: after rejections a fresh stepper goes on alike."""
    problem = oscillators((1.0, 0.0, 1e4), (1e6, 0.0, 0.0), told=False, t_end=3.0)
    stepper = li.Stepper(problem, li.AdaptiveAlpha, rtol=1e-5, atol=1e-5, first_step=0.1)
    piece, _ = stepper.advance(most=10)
    assert piece.rejected > 0
    fresh = li.Stepper(problem, li.AdaptiveAlpha, rtol=1e-5, atol=1e-5)
    fresh.load(stepper.save())
    assert stepper.advance(most=20)[0].y.tobytes() == fresh.advance(most=20)[0].y.tobytes()


def test_dense_matrices():
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 20):
        A, r = rng.normal(size=(n, n)), rng.normal(size=n)
        M, x = np.concatenate([A.ravel(), np.zeros(n)]), np.empty(n)
        assert newton.factorise_dense(M, n)
        newton.substitute_dense(M, n, r, x)
        assert A @ x == pytest.approx(r, abs=1e-9)
    # a row of zeros is a speed that is locked, and a column of zeros a matrix that is singular
    M, x = np.array([2.0, 1.0, 0.0, 0.0, 0.0, 0.0]), np.empty(2)
    assert newton.factorise_dense(M, 2)
    newton.substitute_dense(M, 2, np.array([3.0, 0.0]), x)
    assert x.tolist() == [1.5, 0.0]
    assert not newton.factorise_dense(np.array([0.0, 1.0, 0.0, 1.0, 0.0, 0.0]), 2)


def test_messages():
    with pytest.raises(InputError, match=r"generalised-α: rho is 1\.1, expected a number from 0 to 1"):
        li.generalised_alpha(1.1)
    ros = tableau.ROSENBROCK_3
    with pytest.raises(InputError, match="method 'wrong': misses a condition of order 3 by"):
        tableau.Rosenbrock("wrong", 3, ros.a, ros.gamma, ros.lower, ros.lower)
    with pytest.raises(InputError, match="method 'wrong': a must be strictly lower"):
        tableau.Rosenbrock("wrong", 3, ros.a, ((1.0,), (0.0, 2.0)), ros.b, ros.lower)
    with pytest.raises(InputError, match="pair 'dormand-prince-54': between steps it misses order 4"):
        tableau.Pair(tableau.DORMAND_PRINCE_54.method, tableau.DORMAND_PRINCE_54.lower, (0.0,) * 7)
    assert repr(li.GeneralisedAlpha) == "<generalised-alpha-0.8: order 2, stiff>"
    assert repr(li.AdaptiveAlpha) == "<adaptive-alpha-0.8: order 2(2), adaptive, stiff>"


@pytest.mark.parametrize("method", [li.GeneralisedAlpha, li.MidpointAlpha, li.LieBDF2], ids=lambda m: m.name)
@pytest.mark.parametrize("stiffness", [1e5, 1e7, 1e10])
def test_springs_between_frames_far_too_stiff_for_the_step(method, stiffness):
    """hω from 5 to 1700, a spring that no matrix knows of, drawn by a hundredth: the rod stays where the spring is."""
    rod = lg.Body("rod", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1), frames={"tip": (1.0, 0, 0)})
    hinge = lm.Revolute(name="hinge", parent="world", child="rod", axis=(0, -1, 0))
    spring = lm.SpringDamper(name="spring", a="rod.tip", b=("world", (1.0, 0, -0.5)), stiffness=stiffness, length=0.5)
    model = lg.Tree([rod], [hinge], forces=[spring], name="spring").compile()
    run = li.solve(li.Problem.of(system(model), [0.01], [0.0], 1.0), method, 100)
    assert np.abs(run.y[:, 0]).max() < 0.015
    # what is too fast is damped
    assert np.abs(run.y[-20:, 0]).max() < (1e-3 if stiffness > 1e5 else 1e-2)


def test_the_recursion_is_tried_again():
    """A spring that is stiff at first: later the dense matrix is left; a run that was saved before goes on alike."""
    visits = [0]

    def acceleration(I, F, t, q, v, W, out):
        out[:] = -(1e8 if t < 0.055 else 1.0) * q
        return 0

    def residual(I, F, t, q, v, a, W, out):
        acceleration(I, F, t, q, v, W, out)
        out[:] = a - out
        return 0

    def unit(I, F, q, alpha, beta, W):
        visits[0] += 1
        return 0

    def same(I, F, r, W, out):
        out[:] = r
        return 0

    def none(I, F, alpha, beta, x, out):
        out[:] = 0.0
        return 0

    plain = li.Dynamics(acceleration, residual, factorise=unit, substitute=same, resistance=none)
    spring = li.System(Product({"q": R(1)}), plain, np.zeros(0, np.int64), np.zeros(0), work=0)
    stepper = li.Stepper(li.Problem.of(spring, [0.1], [0.0], 10.0), li.generalised_alpha(0.8))
    assert stepper.step(0.01, 40) == 0
    assert stepper.memory[1, 1] > 0.0
    saved = stepper.save()
    visits[0] = 0
    assert stepper.step(0.01, 60) == 0
    assert stepper.memory[1, 1] == 0.0
    assert 5 < visits[0] < 60
    end = stepper.y.tobytes()
    stepper.load(saved)
    assert stepper.step(0.01, 60) == 0
    assert stepper.y.tobytes() == end


def test_tolerances_below_a_billionth_are_kept():
    """A pendulum, of whose stiffness the solver knows two thirds: corrections that still shrink are made."""
    K = 3e4

    def acceleration(I, F, t, q, v, W, out):
        out[:] = -K * np.sin(q)
        return 0

    def residual(I, F, t, q, v, a, W, out):
        out[:] = a + K * np.sin(q)
        return 0

    def matrix(I, F, q, alpha, beta, W):
        W[0] = 1.0 + beta * K * 0.45
        return 0

    def divide(I, F, r, W, out):
        out[:] = r / W[0]
        return 0

    def stiffness(I, F, alpha, beta, x, out):
        out[:] = beta * K * 0.45 * x
        return 0

    plain = li.Dynamics(acceleration, residual, factorise=matrix, substitute=divide, resistance=stiffness)
    known = li.System(Product({"q": R(1)}), plain, np.zeros(0, np.int64), np.zeros(0), work=2)
    words = [newton.judge(5e-10, 1e-9, 3, bound, 1.0, 0.0, 1e-9, 0.4, 10)[0] for bound in (1e-9, 1e-12)]
    assert words == [newton.DONE, newton.GO_ON]
    # shrinking no more, it is round-off
    assert newton.judge(0.95e-9, 1e-9, 3, 1e-12, 1.0, 0.0, 1e-9, 0.4, 10)[0] == newton.DONE
    problem = li.Problem.of(known, [1e-3], [0.0], 0.2)
    ends = [li.solve(problem, li.generalised_alpha(0.8, tolerance), 40, save=1).end[0] for tolerance in (1e-12, 1e-15)]
    assert abs(ends[0] - ends[1]) < 1e-10


def test_kernels_that_are_missing_are_named():
    """factorise_next, which factorise stands for, is nobody's concern."""
    plain = li.Dynamics(lambda *a: 0, residual=lambda *a: 0, substitute=lambda *a: 0, resistance=lambda *a: 0)
    bare = li.System(Product({"q": R(1)}), plain)
    with pytest.raises(InputError, match=r"the system does not have: factorise\.\n"):
        li.Stepper(li.Problem.of(bare, [0.0], [0.0], 1.0), li.GeneralisedAlpha)


def test_names_tell_tolerances_apart():
    makers = (li.generalised_alpha, li.midpoint_alpha, li.index_3_alpha)
    names = [make(0.8, tolerance).name for make in makers for tolerance in (1e-5, 1e-6)]
    assert len(set(names)) == len(names)
    assert names[:2] == ["generalised-alpha-0.8", "generalised-alpha-0.8-1e-06"]
