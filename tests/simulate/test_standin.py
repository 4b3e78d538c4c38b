"""A mechanism, as `lg.load` returns it, in place of a model."""

from __future__ import annotations

import dataclasses

import pytest
from numpy.testing import assert_array_equal

import liegeo as lg
from liegeo import dynamics
from liegeo.analysis.modes import modes
from liegeo.errors import InputError
from liegeo.io import shipped
from liegeo.io.mechanism import Initial
from liegeo.statics import equilibrium

FOUR_BAR, PENDULUM = "sy16_four_bar.yaml", "double_pendulum.yaml"


@pytest.fixture(scope="module")
def pendulum():
    return lg.load(shipped.folder() / PENDULUM)


def test_simulate_runs_the_experiment_of_a_mechanism(pendulum):
    expected = pendulum.simulate(t_end=0.2)
    for run in (
        lg.simulate(pendulum, t_end=0.2),
        lg.simulate(model=pendulum, t_end=0.2),
        lg.simulate(pendulum, None, 0.2),
        lg.simulate(pendulum, pendulum.state(), 0.2),
    ):
        assert_array_equal(run.t, expected.t)
        assert_array_equal(run.q, expected.q)
    # what is given replaces what the file says, the rest stays
    other = lg.simulate(pendulum, t_end=0.2, output=0.1)
    assert_array_equal(other.t, [0.0, 0.1, 0.2])
    assert other.q[0].tolist() == pendulum.state().q.tolist()
    whole = lg.simulate(pendulum)
    assert whole.t[-1] == pendulum.experiment.end


def test_dynamics_take_a_mechanism(pendulum):
    model, state = pendulum.compile(), pendulum.state()
    assert_array_equal(lg.forward_dynamics(pendulum, state), lg.forward_dynamics(model, state))
    assert_array_equal(lg.mass_matrix(pendulum, state), lg.mass_matrix(model, state))
    assert dynamics.balance(pendulum, state).energy == dynamics.balance(model, state).energy


def test_a_mechanism_brings_its_state(pendulum):
    four_bar = lg.load(shipped.folder() / FOUR_BAR)
    assert_array_equal(lg.assemble(four_bar).q, four_bar.state().q)
    assert_array_equal(modes(pendulum).eigenvalues, modes(pendulum.compile(), pendulum.state()).eigenvalues)
    tilted = dataclasses.replace(pendulum, initial=Initial(q={"top": 0.2}))
    assert_array_equal(equilibrium(tilted).q, equilibrium(tilted.compile(), tilted.state()).q)


def test_a_page_shows_a_mechanism_where_it_begins(pendulum, tmp_path):
    pages = [
        lg.view.write_page(what, tmp_path / f"{k}.html", state=state).read_bytes()
        for k, (what, state) in enumerate([(pendulum, None), (pendulum.compile(), pendulum.state())])
    ]
    assert pages[0] == pages[1]


@pytest.mark.parametrize("function", [lg.simulate, lg.forward_dynamics, lg.assemble, modes, equilibrium])
def test_what_is_no_model(pendulum, function):
    state = pendulum.state()
    with pytest.raises(InputError, match=r"model is <tree .*expected a compiled Model.\n  Call compile\(\) on it."):
        function(pendulum.tree, state)
    with pytest.raises(
        InputError, match=r"model is 'arm.yaml', expected a compiled Model, or a Mechanism as liegeo.load"
    ):
        function("arm.yaml", state)
