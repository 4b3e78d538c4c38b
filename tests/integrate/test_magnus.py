"""Magnus methods for Ẏ = Y A(t); their orders are in test_explicit.py."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import systems

from liegeo import integrate as li
from liegeo.errors import InputError
from liegeo.integrate import magnus
from liegeo.lie import SE3, SO3, Product, R


@pytest.mark.parametrize(("make", "rows"), [(magnus.magnus_4, 2), (magnus.magnus_6, 5)])
def test_with_the_signs_of_the_literature_the_order_is_lost(make, rows):
    """The series of Ż = A Z on Ẏ = Y A is of order two: the sign of the bracket is not a matter of taste."""

    def other_side(group, field, compiled):
        def bracket(layout, u, v, out):
            group.ad_apply(layout, v, u, out)

        return make(SimpleNamespace(retract=group.retract, ad_apply=bracket), field, False)

    def plain(t, X):
        out = np.empty(3)
        systems.turning.py_func(t, X, out)
        return out

    problem = li.Problem(SO3, plain, SO3.identity(), 2.0)
    fine = li.solve(problem, li.Magnus6, 200, save=1).end
    wrong = li.Method("wrong", 4, other_side, rows=rows)
    errors = [float(SO3.distance(li.solve(problem, wrong, n, save=1).end, fine)) for n in (20, 40)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_what_commutes_is_integrated_as_gauss_does():
    """A(t) = f(t) B has the solution exp(B ∫f): exact for polynomials of degree 3 and 5."""
    axis = np.array([0.3, -0.5, 0.2, 1.0, 0.4, -0.6])
    for method, degree in ((li.Magnus4, 3), (li.Magnus6, 5)):
        problem = li.Problem(SE3, lambda t, X, d=degree: (1.0 + t**d) * axis, SE3.identity(), 1.5)
        exact = SE3.exp((1.5 + 1.5 ** (degree + 1) / (degree + 1)) * axis)
        assert li.solve(problem, method, 1).end == pytest.approx(exact, abs=1e-13)


def test_a_field_that_depends_on_the_element_is_refused():
    for group, field, start in (
        (SO3, lambda t, X: X[0] * (1.0 + t), SO3.identity()),
        (R(2), lambda t, y: np.array([1.0, 1e-6 * y[0]]), [0.0, 0.0]),
        # zero at the start, and seen later
        (SO3, lambda t, X: np.array([1.0, t * X[0, 1], 0.0]), SO3.identity()),
    ):
        problem = li.Problem(group, field, start, 1.0, name="p")
        with pytest.raises(InputError, match=r"problem 'p': method magnus-4 is for linear equations .* depends on Y"):
            li.Stepper(problem, li.Magnus4)
    with pytest.raises(InputError, match=r"problem 'heavy top': method magnus-6 is for linear"):
        li.solve(systems.problem_of("heavy top"), li.Magnus6, 10)


def test_products():
    """Factors that do not see each other: each as it is alone."""

    def both(t, y):
        return np.array([1.0 + t, np.cos(t), np.sin(t), t])

    def one(t, y):
        return both(t, y)[1:]

    product = Product({"x": R(1), "body": systems.SO3Q})
    end = li.solve(li.Problem(product, both, product.identity(), 1.0), li.Magnus6, 20, save=1).end
    alone = li.solve(li.Problem(systems.SO3Q, one, [1.0, 0.0, 0.0, 0.0], 1.0), li.Magnus6, 20, save=1).end
    assert end == pytest.approx([1.5, *alone], abs=1e-14)
