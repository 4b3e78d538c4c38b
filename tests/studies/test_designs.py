"""Members of studies: how designs cover the range of parameters, and what is no design."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from liegeo.errors import InputError
from liegeo.studies import LogNormal, Normal, Triangular, Uniform, make_design

# SciPy's distributions are independent of ours.
PEERS = {
    Uniform(2.0, 5.0): stats.uniform(2.0, 3.0),
    Normal(-1.0, 0.5): stats.norm(-1.0, 0.5),
    Normal(10.0, "5 %"): stats.norm(10.0, 0.5),
    LogNormal(3.0, 0.4): stats.lognorm(0.4, scale=3.0),
    Triangular(1.0, 2.0, 4.0): stats.triang(1 / 3, 1.0, 3.0),
    Triangular(1.0, 1.0, 4.0): stats.triang(0.0, 1.0, 3.0),
}


@pytest.mark.parametrize("given", PEERS, ids=repr)
def test_quantiles_are_those_of_scipy(given):
    p = np.linspace(1e-9, 1.0 - 1e-9, 401)
    np.testing.assert_allclose(given.quantile(p), PEERS[given].ppf(p), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("design", ["latin-hypercube", "sobol"])
def test_each_share_of_each_parameter_has_one_member(design):
    """That is what a Latin hypercube is; Sobol points have it where their number is a power of two."""
    plan = make_design({"a": Uniform(0.0, 1.0), "b": Uniform(-2.0, 2.0)}, design, 64, seed=5)
    for k, (low, high) in enumerate([(0.0, 1.0), (-2.0, 2.0)]):
        shares = np.floor((plan.values[:, k] - low) / (high - low) * 64).astype(int)
        assert sorted(shares) == list(range(64))


def test_sobol_points_integrate_a_smooth_function_better_than_random_ones():
    """∫ over the unit square of cos(a) cos(b) is sin(1)²; 256 points: about 1/256 beside 1/16."""
    errors = {}
    for design in ("sobol", "random"):
        found = []
        for seed in range(8):
            plan = make_design({"a": Uniform(0, 1), "b": Uniform(0, 1)}, design, 256, seed=seed)
            found.append(np.cos(plan.values).prod(axis=1).mean() - np.sin(1.0) ** 2)
        errors[design] = np.sqrt(np.mean(np.square(found)))
    assert errors["sobol"] < 0.2 * errors["random"]


def test_draws_depend_on_the_seed_alone():
    vary = {"a": Normal("1 kg", "5 %"), "b": [1.0, 2.0, 5.0]}
    one, same, other = (make_design(vary, "random", 50, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.values, same.values)
    assert not np.array_equal(one.values, other.values)
    assert set(one.values[:, 1]) == {1.0, 2.0, 5.0}


def test_a_grid_has_every_combination_and_a_list_has_one_value_each():
    grid = make_design({"a": [1, 2], "b": ["10 mm", "20 mm", "30 mm"]})
    assert grid.member(5) == {"a": 2.0, "b": 0.03}
    assert len(grid) == 6
    quantiles = make_design({"a": Uniform(0, 1)}, "grid", levels=4)
    np.testing.assert_allclose(quantiles.values[:, 0], [0.125, 0.375, 0.625, 0.875])
    listed = make_design({"a": [1, 2], "b": [5, 6]}, "list")
    assert [listed.member(k) for k in range(2)] == [{"a": 1.0, "b": 5.0}, {"a": 2.0, "b": 6.0}]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Uniform(2.0, 1.0), r"Uniform: low is 2.0, must be less than high, which is 1.0"),
        (lambda: Uniform("1 kg", "2 m"), r"Uniform: low is '1 kg' and high is '2 m', expected units of one kind"),
        (lambda: Uniform("one", 2.0), r"Uniform: low is 'one', expected a number, with a unit if it has one"),
        (lambda: Uniform("1 kgg", 2.0), r"Uniform: low is '1 kgg': .*kgg"),
        (lambda: Uniform(0.0, np.inf), r"Uniform: high is inf, expected a finite number"),
        (lambda: Uniform(None, 1.0), r"Uniform: low is None, expected a number, or text such as '2 kg'"),
        (lambda: Normal(1.0, 0.0), r"Normal: deviation is 0.0, must be > 0"),
        (lambda: LogNormal(-1.0, 0.1), r"LogNormal: median is -1.0, must be > 0"),
        (lambda: LogNormal(1.0, -0.1), r"LogNormal: deviation is -0.1, must be > 0"),
        (lambda: Triangular(1.0, 5.0, 4.0), r"Triangular has low 1.0, mode 5.0, high 4.0, expected low ≤ mode ≤ high"),
        (lambda: make_design({}), r"vary is {}, expected values or a distribution for at least one parameter"),
        (lambda: make_design({"a": 3.0}), r"'a' has 3.0, expected a list of values or a distribution \(Uniform"),
        (lambda: make_design({"a": []}), r"'a' has no values, expected at least one"),
        (lambda: make_design({"a": ["1 m", "1 s"]}), r"'a' has \['1 m', '1 s'\], expected units of one kind"),
        (lambda: make_design({"a": [1]}, "sobl"), r"design is 'sobl', expected one of list, grid.*mean 'sobol'"),
        (lambda: make_design({"a": [1]}, "random"), r"'random' draws members; say how many, as in members=200"),
        (lambda: make_design({"a": [1]}, "grid", 5), r"members is 5, but the design 'grid' has as many as its values"),
        (lambda: make_design({"a": [1]}, "random", 0), r"members is 0, expected a whole number ≥ 1"),
        (lambda: make_design({"a": [1]}, "random", 1, seed=-1), r"seed is -1, expected a whole number ≥ 0"),
        (lambda: make_design({"a": [1]}, "random", 10**9), r"there are 1000000000 members, expected at most 10000000"),
        (lambda: make_design({"a": Uniform(0, 1)}, "list"), r"'a' has a distribution, but the design 'list' needs"),
        (lambda: make_design({"a": [1], "b": [1, 2]}, "list"), r"one value per member, but there are 'a' 1, 'b' 2"),
    ],
)
def test_what_is_no_design_is_refused_by_name(make, message):
    with pytest.raises(InputError, match=message):
        make()
