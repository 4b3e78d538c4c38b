"""All methods: observed orders where nothing commutes, the group kept.  Explicit ones: compiled and plain alike."""

from __future__ import annotations

from types import SimpleNamespace

import numba
import numpy as np
import pytest
import systems

from liegeo import integrate as li
from liegeo import model as lm
from liegeo.errors import InputError, IntegrationError
from liegeo.integrate import explicit, stepping, tableau
from liegeo.lie import SE3, SO3, SO3Q, Product, R
from liegeo.motion import system

J = np.array([1.0, 2.0, 3.5])
H = np.array([0.8, -0.5, 1.1])


@numba.njit
def top(t, X, out):
    """A free asymmetric body under a torque that depends on time and attitude: nothing commutes, nothing is linear."""
    for a in range(3):
        out[a] = (X[0, a] * H[0] + X[1, a] * H[1] + X[2, a] * H[2]) / J[a] + 0.3 * np.sin(t + a) * X[a, 0]


def screw(t, X):
    """The same in plain Python on SE(3), with a translation that depends on the place."""
    w = X[:3, :3].T @ H / J
    return np.concatenate([w, X[:3, :3].T @ np.array([np.cos(t), X[0, 3], -X[1, 3]]) + 0.2 * w])


@numba.njit
def body_on_a_product(t, y, out):
    """Attitude as a quaternion and body momentum: Euler's equations, y = (w, x, y, z, p)."""
    for a in range(3):
        out[a] = y[4 + a] / J[a]
    out[3] = y[5] * out[2] - y[6] * out[1]
    out[4] = y[6] * out[0] - y[4] * out[2]
    out[5] = y[4] * out[1] - y[5] * out[0] + 0.1 * np.sin(t) * y[0]


PROBLEMS = {
    "top": li.Problem(SO3, top, SO3.exp([0.3, -0.2, 0.5]), 2.0, name="top"),
    "screw": li.Problem(SE3, screw, SE3.exp([0.3, -0.2, 0.5, 1.0, 0.0, -1.0]), 1.5, name="screw"),
    "product": li.Problem(
        Product({"attitude": SO3Q, "momentum": R(3)}),
        body_on_a_product,
        [1.0, 0.0, 0.0, 0.0, *H],
        2.0,
        name="product",
    ),
}


ALL_PROBLEMS = PROBLEMS | systems.LINEAR | {name: systems.problem_of(name) for name in systems.SYSTEMS}


def problems_for(method):
    """Names of the problems that a method is tried on: linear ones, mechanical ones, or fields."""
    if "linear" in method.properties:
        return list(systems.LINEAR)
    return systems.names_for(method) if method.mechanical else list(PROBLEMS)


CASES = [(name, method) for method in li.ALL_INTEGRATORS for name in problems_for(method)]


@pytest.fixture(scope="module")
def references():
    """Each problem by the fifth-order method with many steps, checked by the other family."""
    found = {}
    for name, problem in ALL_PROBLEMS.items():
        steps = 400 if name == "screw" else 2000
        found[name] = li.solve(problem, li.RKMK5, steps, save=1).end
        other = li.solve(problem, li.CF5, steps, save=1).end
        assert float(problem.group.distance(found[name], other)) < 1e-11
    return found


@pytest.mark.parametrize(("name", "method"), CASES, ids=lambda x: getattr(x, "name", x))
def test_observed_order(name, method, references):
    """The slope of the error against the step is the declared order within 0.15."""
    problem = ALL_PROBLEMS[name]
    steps = np.array({5: [24, 36, 54], 6: [16, 24, 36]}.get(method.order, [40, 60, 90]))
    errors = [
        float(problem.group.distance(li.solve(problem, method, int(n), save=1).end, references[name])) for n in steps
    ]
    slope = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slope == pytest.approx(method.order, abs=0.15)


PAIRS = [(name, m) for m in li.ALL_ADAPTIVE for name in (("slider", "driven top") if m.mechanical else PROBLEMS)]


@pytest.mark.parametrize(("name", "method"), PAIRS, ids=lambda x: getattr(x, "name", x))
def test_observed_order_of_pairs(name, method, references):
    """The same for methods that choose their steps, if every step is taken, whatever its error, and has one length."""
    problem = ALL_PROBLEMS[name]
    steps = np.array([24, 36, 54] if method.order == 5 else [40, 60, 90])
    errors = []
    for n in steps:
        h = problem.t_end / n
        stepper = li.Stepper(problem, method, rtol=1e-9, atol=1e-9, first_step=h, max_step=h)
        # rtol and atol of the steps; what a method solves is solved as it would be
        stepper.control[[stepping.RTOL, stepping.ATOL]] = 1e6
        piece, _ = stepper.advance(most=200)
        assert stepper.t == problem.t_end
        assert len(piece.t) in (n + 1, n + 2)
        errors.append(float(problem.group.distance(stepper.y, references[name])))
    slope = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slope == pytest.approx(method.order, abs=0.15)


@pytest.fixture(scope="module")
def branch():
    """A body that bends on a ball joint, on its tip a rigid one on two axes, and its end by RKMK5."""
    rng = np.random.default_rng(1)
    nodes = [
        lm.LumpedNode(
            name=f"n{k}",
            position=(0.25 * k, 0.0, 0.0),
            modes=0.4 * rng.normal(size=(6, 2)) * (k > 0),
            mass=0.5,
            com=(0.0, 0.0, 0.0),
            inertia=(0.02, 0.03, 0.04),
        )
        for k in range(3)
    ]
    beam = lm.FlexibleBody.from_nodes("beam", nodes, np.diag([40.0, 90.0]))
    load = lm.Body("load", mass=0.4, com=(0.0, 0.1, -0.2), inertia=(0.03, 0.02, 0.01))
    joints = [
        lm.Spherical(name="ball", parent="world", child="beam", child_at="n0"),
        lm.Universal(name="hook", parent="beam", child="load", at="n2"),
    ]
    model = lm.Tree([beam, load], joints, name="branch").compile()
    q = model.group.exp(0.2 * rng.normal(size=model.nv))
    problem = li.Problem.of(system(model), q, 0.8 * rng.normal(size=model.nv), 0.3, name="branch")
    end = li.solve(problem, li.RKMK5, 2000, save=1).end
    assert float(problem.group.distance(end, li.solve(problem, li.CF5, 2000, save=1).end)) < 1e-11
    return problem, end


@pytest.mark.parametrize("method", systems.MECHANICAL, ids=systems.named)
def test_observed_order_on_a_tree(method, branch):
    """A tree that bends and turns about all axes, as a mechanical system."""
    problem, end = branch
    steps = np.array([24, 36, 54] if method.order == 6 else [60, 90, 135])
    errors = [float(problem.group.distance(li.solve(problem, method, int(n), save=1).end, end)) for n in steps]
    slope = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slope == pytest.approx(method.order, abs=0.15)


def test_without_dexpinv_the_order_is_lost(references):
    """What the order test is for: Kutta's method in the algebra without dexp⁻¹ is of order two."""

    def make(group, field, compiled):
        def forget(layout, u, f, out):
            out[:] = f

        return li.RKMK4.make(SimpleNamespace(retract=group.retract, dexpinv_right_apply=forget), field, False)

    naive = li.Method("naive", 4, make, tableau.KUTTA_4)
    problem = PROBLEMS["screw"]
    errors = [float(SE3.distance(li.solve(problem, naive, n, save=1).end, references["screw"])) for n in (20, 40)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.3)


@pytest.mark.parametrize("method", li.ALL_INTEGRATORS, ids=lambda m: m.name)
def test_results_stay_on_the_group(method):
    problem = ALL_PROBLEMS[problems_for(method)[0]]
    run = li.solve(problem, method, 1000, save=4)
    if method.mechanical:
        # a composition takes up to nine times as many steps
        assert np.abs(np.linalg.norm(run.y[:, :4], axis=1) - 1.0).max() < 5e-13
    else:
        assert np.abs(run.y.transpose(0, 2, 1) @ run.y - np.eye(3)).max() < 1e-13
    assert run.t == pytest.approx(np.linspace(0.0, problem.t_end, 5))


def test_compiled_and_plain_fields_give_the_same_numbers():
    def plain(t, X):
        out = np.empty(3)
        top.py_func(t, X, out)
        return out

    problem = PROBLEMS["top"]
    same = li.Problem(SO3, plain, problem.start, problem.t_end)
    for method in (li.RKMK4, li.CF4):
        a, b = (li.solve(p, method, 50).y for p in (problem, same))
        assert np.abs(a - b).max() < 1e-14


def test_a_constant_field_is_exact():
    """One exponential, whatever the method; a mechanical one has no field that could be constant."""
    problem = li.Problem(SE3, lambda t, X: np.array([0.3, 0.2, -0.4, 1.0, 2.0, 3.0]), SE3.identity(), 2.0)
    for method in (method for method in li.ALL_INTEGRATORS if not method.mechanical):
        end = li.solve(problem, method, 3, save=1).end
        assert end == pytest.approx(SE3.exp([0.6, 0.4, -0.8, 2.0, 4.0, 6.0]), abs=1e-13)


def test_tableaus_check_themselves():
    assert [len(tableau.rooted_trees(n)) for n in range(1, 7)] == [1, 1, 2, 4, 9, 20]
    with pytest.raises(InputError, match=r"tableau 'wrong': misses a condition of order 2 by 0.1\."):
        tableau.Butcher("wrong", 2, ((), (0.6,)), (0.0, 1.0))
    with pytest.raises(InputError, match="tableau 'wrong': is not explicit"):
        tableau.Butcher("wrong", 1, ((0.5,),), (1.0,))
    with pytest.raises(InputError, match="method 'wrong': misses a condition of order 1"):
        tableau.Exponentials("wrong", 1, ((), ((0.9,),)))
    with pytest.raises(InputError, match="method 'wrong': is not explicit"):
        tableau.Exponentials("wrong", 1, (((1.0,),), ((1.0,),)))


EXPONENTIALS = [getattr(tableau, name) for name in ("EULER", "CG_3", "CG_4", "CF_2", "CF_3", "CF_4", "CF_5")]


@pytest.mark.parametrize("method", EXPONENTIALS, ids=lambda m: m.name)
def test_products_of_exponentials_have_the_order_that_they_declare_and_no_higher(method):
    assert tableau.Exponentials(method.name, method.order, method.stages)
    if method.order < tableau.CHECKED:
        with pytest.raises(InputError, match=f"misses a condition of order {method.order + 1} by"):
            tableau.Exponentials(method.name, method.order + 1, method.stages)


@pytest.mark.parametrize("method", [tableau.KUTTA_3, tableau.KUTTA_4], ids=lambda m: m.name)
def test_runge_kutta_as_crouch_grossman_has_order_two(method):
    """All sums of Kutta's coefficients are right, and yet its order is 2, as a slope shows; 3 and 4 are refused."""
    made = tableau.crouch_grossman("made", 2, method.a, method.b)
    for order in range(3, method.order + 1):
        with pytest.raises(
            InputError, match=f"method 'made': misses a condition of order 3 by .*, expected order {order}"
        ):
            tableau.crouch_grossman("made", order, method.a, method.b)
    # Crouch and Grossman's own extra condition of order three
    b, c = np.array(method.b), method.matrix.sum(axis=1)
    extra = b @ (b * c) + 2.0 * sum(b[i] * c[i] * b[j] for j in range(len(b)) for i in range(j)) - 1.0 / 3.0
    assert abs(extra) > 1e-3
    assert tableau.ordered_defects(made.coefficients, 3)[2] > 1e-3
    exact = li.solve(PROBLEMS["top"], li.RKMK4, 1280, save=1).end
    slope = slope_of(made, PROBLEMS["top"], exact)
    assert slope == pytest.approx(2.0, abs=0.15)


def slope_of(made, problem, exact):
    method = li.Method("made", made.order, explicit.exponentials, table=made)
    errors = [np.abs(li.solve(problem, method, n, save=1).end - exact).max() for n in (160, 320)]
    return np.log2(errors[0] / errors[1])


def test_forests_are_counted_by_catalan():
    sizes = tableau._forests(5).sizes
    assert [int(np.sum(sizes == n)) for n in range(6)] == [1, 1, 2, 5, 14, 42]


def test_messages():
    problem = PROBLEMS["top"]
    with pytest.raises(InputError, match="solve: steps is 0, expected a whole number ≥ 1"):
        li.solve(problem, li.RKMK4, 0)
    with pytest.raises(InputError, match=r"solve: save is 3, expected a divisor of steps \(10\)"):
        li.solve(problem, li.RKMK4, 10, save=3)
    with pytest.raises(InputError, match="problem 'p': field is 3, expected a function"):
        li.Problem(SO3, 3, SO3.identity(), 1.0, name="p")
    with pytest.raises(InputError, match="problem 'p': t_start and t_end must be finite"):
        li.Problem(SO3, top, SO3.identity(), np.inf, name="p")
    explodes = li.Problem(R(1), lambda t, y: y**2, [1.0], 2.0, name="explodes")
    with (
        np.errstate(all="ignore"),
        pytest.raises(IntegrationError, match=r"rkmk-4: after t = 1\.1, the solution grows without bound") as e,
    ):
        li.solve(explodes, li.RKMK4, 40, save=10)
    assert e.value.trajectory.t[-1] == pytest.approx(1.0)
    assert repr(li.RKMK4) == "<rkmk-4: order 4, 4 stages>"
