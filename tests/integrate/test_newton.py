"""Newton's method of implicit steps: the same in all units, friction in the recursion's matrix, and its record."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import liegeo as lg
from liegeo import integrate as li
from liegeo import model as lm
from liegeo.integrate import explicit, newton
from liegeo.integrate.calls import data_of
from liegeo.lie import Product, R
from liegeo.motion import system

IMPLICIT = [li.GeneralisedAlpha, li.MidpointAlpha, li.LieBDF2]


# ---- units


def mechanism(length, mass, time):
    """A slider on a stiff rail with a rod on a hinge with friction, tied by a spring to a free body."""
    force, moment = mass * length / time**2, mass * length**2
    inertias = [np.array(J) * moment for J in ((0.1, 0.1, 0.1), (0.09, 0.09, 0.01), (0.01, 0.02, 0.015))]
    slider = lg.Body("slider", mass=2 * mass, inertia=inertias[0])
    tip = {"tip": (0, 0, -length)}
    rod = lg.Body("rod", mass=mass, com=(0, 0, -0.5 * length), inertia=inertias[1], frames=tip)
    top = lg.Body("top", mass=0.3 * mass, com=(0.05 * length, 0, 0), inertia=inertias[2])
    stiffness, damping = force / length, force * time / length
    joints = [
        lm.Prismatic(
            name="rail", parent="world", child="slider", axis=(1, 0, 0), stiffness=2e4 * stiffness, damping=3 * damping
        ),
        lm.Revolute(
            name="hinge",
            parent="slider",
            child="rod",
            axis=(0, 1, 0),
            friction=0.2 * force * length,
            friction_speed=1e-3 / time,
        ),
        lm.Free(name="loose", parent="world", child="top"),
    ]
    spring = lm.SpringDamper(
        name="spring", a="rod.tip", b="top", stiffness=3e3 * stiffness, damping=damping, length=0.4 * length
    )
    gravity = (0, 0, -9.81 * length / time**2)
    model = lg.Tree([slider, rod, top], joints, forces=[spring], gravity=gravity).compile()
    twist = np.array((0.3, 0.1, 0.2, 0.1 * length, 0, 0.2 * length)) / time
    place = (1, 0, 0, 0, 0.3 * length, 0.1 * length, -1.2 * length)
    q = {"rail": 0.1 * length, "hinge": 0.7, "loose": place}
    return model, model.state(q=q, v={"hinge": 1.0 / time, "loose": twist})


UNITS = [(1e-4, 1.0, 1.0), (1e4, 1.0, 1.0), (1e-6, 1e-15, 1e-2), (1e3, 1e6, 10.0)]


@pytest.mark.parametrize("method", [*IMPLICIT, li.Rosenbrock3], ids=lambda m: m.name)
def test_the_same_mechanism_in_other_units_moves_alike(method):
    """The micrometre, the kilometre, the gram: the same corrections, and the same motion but for round-off."""

    def run(length, mass, time):
        model, state = mechanism(length, mass, time)
        stepper = li.Stepper(li.Problem.of(system(model), state.q, state.v, 0.5 * time), method)
        assert stepper.step(5e-3 * time, 100) == 0
        q, v = np.array([length, *[1] * 5, *[length] * 3]), np.array([length, *[1] * 4, *[length] * 3])
        return stepper.y / np.concatenate([q, v / time]), stepper.newton

    y, record = run(1.0, 1.0, 1.0)
    for units in UNITS:
        other, its_record = run(*units)
        # digits that 3e3 N/m and steps of 5 ms leave of round-off after a hundred steps
        assert np.abs(other - y).max() < 1e-8, units
        assert its_record == record, units


@pytest.mark.parametrize("length", [1e-4, 1e4])
@pytest.mark.parametrize("method", IMPLICIT, ids=lambda m: m.name)
def test_order_two_in_any_unit_with_the_usual_tolerance(method, length):
    """What Newton's method leaves is a share of the motion within a step: short steps keep their order."""
    bodies = [
        lg.Body(name, mass=1.0, com=(0, 0, -0.5 * length), inertia=np.array((0.09, 0.08, 0.01)) * length**2)
        for name in ("swing", "sledge")
    ]
    joints = [
        lm.Revolute(name="hinge", parent="world", child="swing", axis=(0, 1, 0), damping=0.1 * length**2),
        lm.Prismatic(
            name="rail", parent="swing", child="sledge", at=(0, 0, -length), axis=(1, 0, 0), stiffness=30.0, damping=0.5
        ),
    ]
    model = lg.Tree(bodies, joints, gravity=(0, 0, -9.81 * length)).compile()
    state = model.state(q={"hinge": 0.5}, v={"hinge": 1.0, "rail": 0.3 * length})
    problem = li.Problem.of(system(model), state.q, state.v, 1.0)
    exact, scale = li.solve(problem, li.RKMK5, 4000, save=1).end, np.array([1, length, 1, length])
    errors = [np.abs((li.solve(problem, method, n, save=1).end - exact) / scale).max() for n in (2000, 4000, 8000)]
    assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx(2.0, abs=0.01)


def test_sizes_have_the_units_of_coordinates():
    for length, mass, time in UNITS:
        sizes, before = (system(mechanism(*u)[0]).sizes for u in ((length, mass, time), (1.0, 1.0, 1.0)))
        assert sizes / before == pytest.approx([length, *[1] * 4, *[length] * 3])
    assert system(mechanism(1.0, 1.0, 1.0)[0]).sizes[1] == 1.0


# ---- friction


def chain(n, friction):
    bodies = [lg.Body(f"b{i}", mass=1.0, com=(0, 0, -0.5), inertia=(0.09, 0.09, 0.01)) for i in range(n)]
    joints = [
        lm.Revolute(
            name=f"j{i}",
            parent=f"b{i - 1}" if i else "world",
            child=f"b{i}",
            at=(0, 0, -1.0 if i else 0.0),
            axis=(0, 1, 0),
            friction=friction,
        )
        for i in range(n)
    ]
    model = lg.Tree(bodies, joints).compile()
    return model, model.state(q={"j0": 1.0}, v={"j0": 2.0})


@pytest.mark.parametrize("friction", [1.0, 10.0, 100.0])
def test_joints_that_stick_need_no_dense_matrix(friction):
    """A chain of 32 links, most of which stick, slip and stick again: O(N), with few more matrices than steps."""
    model, state = chain(32, friction)
    stepper = li.Stepper(li.Problem.of(system(model), state.q, state.v, 0.5), li.GeneralisedAlpha)
    assert stepper.step(1e-3, 500) == 0
    record = stepper.newton
    assert record.dense_factorisations == 0
    assert record.cuts == 0
    assert record.factorisations < 2 * 500
    assert record.iterations < 5 * 500


def test_tangents_of_friction_are_in_the_matrix():
    """S from a solve with every unit vector is the derivative of the residual less what the geometry adds: at v = 0."""
    model, _ = chain(3, 2.0)
    s = system(model)
    I, F, W = data_of(s, 1, frozenset({"residual", "factorise_next", "substitute", "local_tangents", "momentum"}))
    kernels, speeds = s.dynamics, np.array([0.0, 4e-4, -2e-3])
    q, local, out = np.array([0.3, -0.2, 0.5]), np.empty(3), np.empty(3)
    assert kernels.local_tangents(I, F, q, speeds, 0.01, 0.0, 0.0, local) == 0
    # by differences of T tanh(v/v_s), v_s = 1e-3, written down anew
    e = 1e-9
    slopes = (2.0 * np.tanh((speeds + e) / 1e-3) - 2.0 * np.tanh((speeds - e) / 1e-3)) / (2 * e)
    assert local == pytest.approx(0.01 * slopes, rel=1e-6)
    M = np.empty((3, 3))
    for row, unit in zip(M, np.eye(3), strict=True):
        kernels.momentum(I, F, q, unit, W, row)
    kernels.residual(I, F, 0.0, q, speeds, np.zeros(3), W, out)
    assert kernels.factorise_next(I, F, q, 0.01, 1e-4, local, W) == 0
    r = np.array([1.0, -2.0, 0.5])
    kernels.substitute(I, F, r, W, out)
    assert (M + np.diag(local)) @ out == pytest.approx(r, abs=1e-9)
    # the secant from rest
    assert kernels.local_tangents(I, F, q, speeds, 0.01, 0.0, 1.0, local) == 0
    assert local[1:] == pytest.approx(0.01 * 2.0 * np.tanh(speeds[1:] / 1e-3) / speeds[1:], rel=1e-12)
    assert local[0] == pytest.approx(0.01 * 2.0 / 1e-3)


# ---- the record


def test_the_record_of_a_run():
    model, state = chain(2, 0.0)
    stepper = li.Stepper(li.Problem.of(system(model), state.q, state.v, 1.0), li.GeneralisedAlpha)
    assert stepper.newton == newton.NewtonRecord()
    stepper.step(1e-3, 10)
    first = stepper.newton
    assert first.factorisations == 10
    assert 10 <= first.iterations <= 30
    assert first.dense_factorisations == first.cuts == 0
    # it is no part of the memory, which a jump of the inputs clears
    stepper.restart(stepper.t)
    assert stepper.newton == first
    del stepper.newton
    assert stepper.newton == newton.NewtonRecord()
    assert first + newton.NewtonRecord(1, 2, 3, 4) == newton.NewtonRecord(first.iterations + 1, 12, 3, 4)


def test_records_of_other_steppers():
    model, state = chain(2, 0.0)
    problem = li.Problem.of(system(model), state.q, state.v, 0.1)
    adaptive = li.Stepper(problem, li.AdaptiveAlpha, rtol=1e-4, atol=1e-6)
    adaptive.advance(most=10)
    assert adaptive.newton.factorisations >= 10
    del adaptive.newton
    assert adaptive.newton == newton.NewtonRecord()
    # methods without Newton's have an empty one
    explicit = li.Stepper(problem, li.RKMK4)
    explicit.step(1e-3, 1)
    assert explicit.newton == newton.NewtonRecord()
    body = lg.Body("rod", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    hinge = lm.Revolute(name="hinge", parent="world", child="rod", axis=(0, -1, 0))
    closed = lg.Tree([body], [hinge], loops=[lm.Motion(name="law", joint="hinge", law=0.0)]).compile()
    start = closed.state()
    held = li.Stepper(li.Problem.of(system(closed), start.q, start.v, 1.0), li.GeneralisedAlpha)
    assert held.step(1e-2, 5) == 0
    assert held.newton.factorisations >= 5


def test_what_is_stiff_between_frames_is_dense():
    """A spring that the recursion does not know of, hω = 1700."""
    rod = lg.Body("rod", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1), frames={"tip": (1.0, 0, 0)})
    hinge = lm.Revolute(name="hinge", parent="world", child="rod", axis=(0, -1, 0))
    spring = lm.SpringDamper(name="spring", a="rod.tip", b=("world", (1.0, 0, -0.5)), stiffness=1e10, length=0.5)
    model = lg.Tree([rod], [hinge], forces=[spring]).compile()
    stepper = li.Stepper(li.Problem.of(system(model), [0.01], [0.0], 1.0), li.GeneralisedAlpha)
    assert stepper.step(1e-2, 10) == 0
    assert stepper.newton.dense_factorisations > 0


def test_what_round_off_moves_with_a_dense_matrix():
    """(11) on ℝ³: 10 ε |S⁻¹ (|S| σ)| by NumPy, for a matrix whose last column and row are the largest."""
    S = np.array([[2.0, -1.0, 30.0], [0.5, 3.0, -40.0], [-20.0, 10.0, 700.0]])
    sizes = np.array([1.0, 0.5, 2.0])

    def along(I, F, t, q, v, a, dq, dv, da, W, out):
        # that of a residual S (a + v + q): a, v and q change by 1, cv and cq times the same
        out[:] = S @ (da + dv + dq)
        return 0

    cv, cq = 0.5, 0.25
    states = Product({"q": R(3), "v": R(3)})
    kernels = SimpleNamespace(along=along, residual=None, local_tangents=None)
    differentiate = newton._differentiate(explicit.operations(states), None, kernels, compiled=False)
    K, u, y = np.full((newton.rows(3), 6), 7.0), np.zeros((2, 6)), np.array([0.1, 0.2, 0.3, 0.0, 0.0, 0.0])
    # no speed has set-valued friction
    K[newton.scratch(3) + newton.RECORD + newton.HELD, 1] = 0.0
    I, F, W = np.zeros(1, np.int64), np.zeros(1), np.zeros(1)
    status, floor = differentiate(states.layout, I, F, 0.0, 0.1, cv, cq, False, 1.0 / sizes, y, W, K, u, y)
    whole = (1.0 + cv + cq) * S
    expected = np.linalg.solve(whole, np.abs(whole) @ sizes) / sizes
    assert status == 0
    assert floor / (10 * np.finfo(float).eps) == pytest.approx(np.abs(expected).max(), rel=1e-12)
