"""[FLS13, section 5] against independent solutions: tests/references/fls13_*.csv.

Bounds are about twice what is met; how far the references stand is in their heads.
"""

from __future__ import annotations

import numpy as np
import published as mechanisms
import pytest

import liegeo as lg
from liegeo import dynamics
from liegeo.statics import equilibrium


def until(table, end):
    rows = table["t"] < end + 1e-9
    return {name: column[rows] for name, column in table.items()}


def check(curves, table, **bounds):
    """Shares of the peaks of the table."""
    found = mechanisms.differences(curves, table)
    assert found.keys() == bounds.keys()
    for name, bound in bounds.items():
        assert found[name] < bound, f"{name}: {found}"


# ---- 5.1


def test_pendulum():
    """The first half of a second: four bodies of second order."""
    table = until(mechanisms.reference("fls13_pendulum"), 0.5)
    model = mechanisms.pendulum(4, n_elements=4, n_modes=1, stiffening=True)
    run = lg.simulate(model, t_end=0.5, output=table["t"], method="rkmk-54", rtol=1e-5, atol=1e-6)
    check(mechanisms.pendulum_curves(run), table, root_angle=2e-4, swing_angle=1e-2, tip_offset=1e-2)
    assert np.abs(run["energy"] - run["energy"][0]).max() < 1e-6


@pytest.mark.slow
def test_pendulum_over_two_seconds():
    """Thirty-four periods of its first mode; a hundredth of a radian of phase is a hundredth of the peak."""
    table = mechanisms.reference("fls13_pendulum")
    model = mechanisms.pendulum(8, n_elements=4, n_modes=1, stiffening=True)
    run = lg.simulate(model, t_end=2.0, output=table["t"], method="rkmk-54", rtol=1e-5, atol=1e-6)
    check(mechanisms.pendulum_curves(run), table, root_angle=3e-5, swing_angle=7e-3, tip_offset=7e-3)


# ---- 5.2


@pytest.mark.parametrize("reading", mechanisms.READINGS)
def test_slider_crank_while_it_is_driven(reading):
    table = until(mechanisms.reference(f"fls13_slider_crank_{reading}"), 0.3)
    model = mechanisms.slider_crank(reading, **mechanisms.one_body_each(n_modes=4))
    torque = {"hinge": mechanisms.TORQUE}
    run = lg.simulate(model, t_end=0.3, inputs=torque, output=table["t"], method="rkmk-4", step=2.5e-5)
    check(mechanisms.slider_crank_curves([run]), table, slider=2e-6, rod_midpoint=3e-3, crank_angle=1e-4)
    end = run["rod_1.12.position"]
    assert np.abs(end[:, 1]).max() < 1e-13


@pytest.mark.slow
@pytest.mark.parametrize("reading", mechanisms.READINGS)
def test_slider_crank(reading):
    """The torque's end sets off high modes: of the rod's bending the references then know 3e-3 (printed) and 1e-3."""
    table = mechanisms.reference(f"fls13_slider_crank_{reading}")
    given, step, late = mechanisms.SLIDER_CRANKS[reading]
    model = mechanisms.slider_crank(reading, **given)
    curves = mechanisms.slider_crank_curves(mechanisms.slider_crank_runs(model, table["t"], method="rkmk-4", step=step))
    early = mechanisms.differences(curves, table, mechanisms.TORQUE_ENDS)
    assert early["slider"] < 1e-6
    assert early["rod_midpoint"] < 5e-4
    check(curves, table, slider=2e-4, rod_midpoint=late, crank_angle=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("reading", "late"), [("printed", 4e-2), ("literature", 1e-2)])
def test_slider_crank_with_the_modes_of_the_paper(reading, late):
    table = mechanisms.reference(f"fls13_slider_crank_{reading}")
    model = mechanisms.slider_crank(reading, **mechanisms.modes_of_the_paper(reading))
    curves = mechanisms.slider_crank_curves(mechanisms.slider_crank_runs(model, table["t"], method="rkmk-4", step=2e-5))
    early = mechanisms.differences(curves, table, mechanisms.TORQUE_ENDS)
    assert early["slider"] < 1e-5
    assert early["rod_midpoint"] < 2e-3
    check(curves, table, slider=2e-4, rod_midpoint=late, crank_angle=2e-3)


# ---- 5.3


def spin(omega, gravity=False, **options):
    model = mechanisms.spinning_beam(omega, gravity, **options)
    table = mechanisms.reference(f"fls13_spin_up_{omega}{'_gravity' if gravity else ''}")
    state = equilibrium(model) if gravity else None
    run = lg.simulate(model, state, t_end=20.0, output=table["t"], rtol=1e-6, atol=1e-7)
    assert np.abs(run["hub.angle"] - [mechanisms.spin_up(t, omega)[0] for t in run.t]).max() < 1e-9
    return mechanisms.spinning_curves(run, omega), table


@pytest.mark.slow
@pytest.mark.parametrize(("omega", "gravity"), [(2, False), (4, False), (10, False), (2, True), (4, True), (10, True)])
def test_spin_up_of_several_bodies_with_geometric_terms(omega, gravity):
    curves, table = spin(omega, gravity, how="both", n_bodies=8)
    bounds = {"lateral": 6e-4, "radial": 8e-4}
    if gravity:
        check(curves, table, **bounds, vertical=5e-4)
    else:
        vertical = curves.pop("vertical")
        assert np.abs(vertical).max() < 1e-9
        check(curves, table, **bounds)


@pytest.mark.slow
@pytest.mark.parametrize(("omega", "bound"), [(2, 8e-4), (4, 2.5e-3), (10, 8e-3)])
def test_spin_up_of_one_body_with_geometric_terms(omega, bound):
    curves, table = spin(omega, how="stiffening", n_elements=16, n_modes=8)
    curves.pop("vertical")
    check(curves, table, lateral=bound, radial=bound)


@pytest.mark.slow
def test_substructuring_converges_with_the_square_of_the_length_of_its_bodies():
    errors = []
    for n_bodies in (8, 16, 32):
        curves, table = spin(4, how="substructure", n_bodies=n_bodies, n_elements=2)
        errors.append(mechanisms.differences(curves, table)["lateral"])
    assert errors[-1] < 2e-3
    assert np.log2(np.array(errors[:-1]) / errors[1:]) == pytest.approx(2.0, abs=0.35)


@pytest.mark.slow
@pytest.mark.parametrize(("omega", "bound"), [(2, 1e-3), (4, 2e-3), (10, 8e-3)])
def test_spin_up_of_thirty_two_bodies(omega, bound):
    curves, table = spin(omega, True, how="substructure", n_bodies=32, n_elements=2)
    check(curves, table, lateral=bound, radial=bound, vertical=bound)


def test_static_equilibrium_hangs_where_an_elastica_does():
    """The references start there too: 1.72399 m below, 0.21548 m nearer; sixteen bodies."""
    model = mechanisms.spinning_beam(4, True, how="both", n_bodies=16)
    state = equilibrium(model)
    assert np.abs(dynamics.inverse_dynamics(model, state)[1:]).max() < 1e-6
    tip = dynamics.frame_pose(model, state, f"{model.bodies[-1]}.4")[:3, 3]
    table = mechanisms.reference("fls13_spin_up_4_gravity")
    assert tip[0] - 8.0 == pytest.approx(table["radial"][0], rel=1e-3)
    assert tip[1] == pytest.approx(table["vertical"][0], rel=5e-4)
