"""Stiff forces between frames, friction, singular positions: thinned grids of tools/bench/stiff.py, and true tangents.

What is compared: `along` of a system with differences of its residual that know nothing of complex steps, for every
class of forces; runs with what energy allows; messages with what went wrong.
"""

from __future__ import annotations

import dataclasses
import importlib.util
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from examples import force_fields

import liegeo as lg
import liegeo.integrate as li
from liegeo import dynamics, motion
from liegeo import model as lm
from liegeo.errors import IntegrationError
from liegeo.integrate.calls import data_of
from liegeo.integrate.explicit import NO_CONVERGENCE
from liegeo.integrate.stepper import FINISHED, FULL, Stepper
from liegeo.integrate.trajectory import join
from liegeo.model.drives import ALL_FORCES
from liegeo.status import NOT_FINITE, explain

_path = Path(__file__).parents[2] / "tools" / "bench" / "stiff.py"
_spec = importlib.util.spec_from_file_location("bench_stiff", _path)
bench = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(bench)


# ---- grids


@pytest.mark.parametrize("name", [pytest.param("springs", marks=pytest.mark.slow), "loops", "friction"])
def test_no_setting_of_the_grid_fails(name):
    assert {setting: why for setting, why in bench.GRIDS[name](quick=True) if why} == {}


def test_generalised_alpha_overshoots_as_its_linear_theory_says():
    """From rest, with a spring that holds the mechanism fast: the energy E_first of the grid's rule 2, and no more."""
    case = bench.loop(0.0, 1e10)
    _, model, state = case
    h, steps = 1e-2, 50
    problem = li.Problem.of(motion.system(model), state.q, state.v, h * steps)
    run = li.solve(problem, li.GeneralisedAlpha, steps)
    kinetic = max(float(dynamics.balance(model, model.unpack(y)).kinetic) for y in run.y)
    first = bench.hold(case)[3]
    assert kinetic == pytest.approx(0.5 * (bench.overshoot(li.GeneralisedAlpha) * h) ** 2 * first, rel=0.02)
    # ¼ (1 − ρ)² h a is the first speed
    v = model.unpack(run.y[1]).v
    expected = 0.5 * (0.25 * 0.2**2 * h) ** 2 * first
    assert 0.5 * v @ dynamics.mass_matrix(model, state) @ v == pytest.approx(expected, rel=0.02)


def test_parts_of_a_step_do_not_add_up_errors():
    """Rods on springs of 1e10 N/m fall from rest and gain 0.3 mJ of the 1.1 J that move; they gained 1.3 mJ."""
    _, model, state = bench.rods(1e10, moving=False)
    run = li.solve(li.Problem.of(motion.system(model), state.q, state.w, 0.2), li.Rosenbrock3, 200, save=50)
    balances = [dynamics.balance(model, model.unpack(y)) for y in run.y]
    assert max(b.kinetic + b.gravitational for b in balances) - balances[0].energy < 5e-4


def test_ten_four_bars_pass_their_level_position():
    """At tolerances where corrections next to it are round-off times a large number."""
    case = bench.ladder(10)
    for rtol in (1e-9, 1e-10):
        assert bench.adaptive(case, li.DormandPrince54, rtol, 3.0) == ""


@pytest.mark.parametrize("at_once", [16, 512])
@pytest.mark.parametrize("degrees", [75, 33])
def test_singular_positions_are_crossed_by_a_step_with_stages_far_away(degrees, at_once):
    """Ten four-bars from where steps became shorter and shorter and ended; also if few steps are made per call.

    The least error of a step across the level position is 2e-10 at worst: more than that must be possible.
    """
    _, model, state = bench.ladder(10, np.radians(degrees))
    problem = li.Problem.of(motion.system(model), state.q, state.v, 3.0)
    stepper = Stepper(problem, li.DormandPrince54, rtol=3e-10, atol=3e-13)
    pieces, status = [], FULL
    while status == FULL:
        piece, status = stepper.advance(most=at_once)
        pieces.append(piece)
    run = join(pieces)
    assert status == FINISHED
    assert (np.diff(run.t) > 0).all()
    energies = [float(dynamics.balance(model, model.unpack(y)).energy) for y in run.y]
    assert np.ptp(energies) < 1e-7 * (max(energies) - min(0.0, *energies) + 100.0)
    # one rod of a four-bar turns like the other: no branch to where they cross
    angles = run.y[:, :11]
    assert np.abs(angles - angles[:, :1]).max() < 1e-5
    # and between the steps, also those that begin before what a call has returned
    middle = 0.5 * (run.t[1:] + run.t[:-1])
    between = run(middle)
    fine = li.solve_adaptive(problem, li.DormandPrince54, rtol=1e-8, atol=1e-11)(middle)
    assert np.abs(between - fine).max() < 1e-4


def test_rosenbrock_makes_no_energy_with_a_stiff_spring():
    """0.4 J became 1.5e5 J, and the run was `finished`."""
    _, model, state = bench.rods(1e6, moving=True)
    problem = li.Problem.of(motion.system(model), state.q, state.v, 0.5)
    run = li.solve(problem, li.Rosenbrock3, 50)
    energies = [dynamics.balance(model, lm.State(y[: model.nq], y[model.nq :])).energy for y in run.y]
    assert max(energies) <= 1.05 * energies[0]


def test_methods_agree_on_a_stiff_spring():
    """With steps that are short enough: what is cut, damped or dense is still the same motion."""
    _, model, state = bench.rods(1e5, moving=True)
    problem = li.Problem.of(motion.system(model), state.q, state.v, 0.05)
    fine = li.solve(problem, li.RKMK4, 2000, save=1).end
    for method in bench.FIXED:
        end = li.solve(problem, method, 2000, save=1).end
        assert np.abs(end[: model.nq] - fine[: model.nq]).max() < 1e-4, method.name


def test_adaptive_methods_agree_on_a_stiff_spring():
    """Begun with a step that is far too long, for which an implicit method asks for the tangents of the spring."""
    _, model, state = bench.rods(1e5, moving=True)
    problem = li.Problem.of(motion.system(model), state.q, state.v, 0.05)
    fine = li.solve(problem, li.RKMK4, 2000, save=1).end
    for method in li.ALL_ADAPTIVE:
        end = li.solve_adaptive(problem, method, rtol=1e-6, atol=1e-9, first_step=0.05).end
        assert np.abs(end[: model.nq] - fine[: model.nq]).max() < 1e-5, method.name


def test_friction_in_a_hinge_ends_in_rest_by_every_method():
    """Exact: a disc with friction torque T and inertia J stops after J w / T, without turning back."""
    body = lg.Body("disc", mass=1.0, inertia=(0.5, 0.5, 0.5))
    hinge = lm.Revolute(name="hinge", parent="world", child="disc", friction=1.0)
    model = lg.Tree([body], [hinge], gravity=(0, 0, 0)).compile()
    state = model.state(v={"hinge": 1.0})
    problem = li.Problem.of(motion.system(model), state.q, state.v, 1.0)
    for method in bench.FIXED:
        run = li.solve(problem, method, 200)
        # it slows down by T/J = 2 rad/s² until t = 0.5, after 0.25 rad
        assert run.end[0] == pytest.approx(0.25, abs=5e-3), method.name
        assert abs(run.end[1]) < 1e-6, method.name


# ---- tangents


def _with_every_force():
    """A tree with one element of each class between bodies that are not in special positions."""
    bodies = [
        lg.Body(name, mass=1.0, com=(0.3, 0.1, -0.2), inertia=(0.2, 0.3, 0.25), frames={"tip": (0.7, 0.2, -0.1)})
        for name in ("a", "b", "c", "d")
    ]
    joints = [
        lm.Spherical(name="ja", parent="world", child="a", stiffness=3.0),
        lm.Revolute(
            name="jb", parent="a", child="b", at="tip", axis=(0, 1, 0), friction=0.4, damping=0.2, stiffness=2.0
        ),
        lm.Free(name="jc", parent="world", child="c"),
        lm.Prismatic(name="jd", parent="b", child="d", axis=(0, 0, 1)),
    ]
    forces = {
        lm.PointForce: lm.PointForce(name="load", at="b.tip", force=(1.0, -2.0, 0.5), torque=(0.3, 0.1, -0.2)),
        lm.SpringDamper: lm.SpringDamper(name="spring", a="a.tip", b="c.tip", stiffness=40.0, damping=2.0, length=0.4),
        lm.Bushing: lm.Bushing(
            name="bushing", a="b", b="c", stiffness=(1.0, 2.0, 3.0, 30.0, 20.0, 10.0), damping=(0.1, 0.2, 0.3, 1, 2, 3)
        ),
        lm.Actuator: lm.Actuator(name="motor", joint="jb", gear=3.0, limit=2.0),
        lm.BristleFriction: lm.BristleFriction(
            name="brake", joint="jb", coulomb=1.0, static=1.4, stribeck=1e-3, stiffness=500.0, damping=3.0, viscous=0.1
        ),
    }
    for cls in ALL_FORCES:
        if cls not in forces:
            forces[cls] = cls(name=cls.__name__, **force_fields(cls, "a.tip", "c.tip", joint="jb", other="jd"))
    return bodies, joints, forces


@pytest.mark.parametrize("kind", [*ALL_FORCES, "rolling loop"], ids=lambda kind: getattr(kind, "__name__", kind))
def test_tangents_are_derivatives_of_the_residual(kind):
    """By central differences along random directions: what they leave out is of the order of their step squared."""
    bodies, joints, forces = _with_every_force()
    loops = []
    if kind == "rolling loop":
        loops = [lm.Distance(name="rod", a="b.tip", b="c", length=1.0)]
    model = lg.Tree(bodies, joints, forces=[forces[kind]] if kind in forces else [], loops=loops).compile()
    rng = np.random.default_rng(3)
    system = motion.system(model)
    names = frozenset({"residual", "along", "acceleration"})
    I, F, W = data_of(system, 1, names)
    kernels = system.dynamics
    q = model.group.exp(0.3 * rng.normal(size=model.nv))
    n = model.nv + model.nx
    v, a, dq, dv, da = (rng.normal(size=size) for size in (n, n, model.nv, n, n))
    v[model.nv :] *= 1e-3
    # friction is felt around its own small speed
    v[3] = 0.4e-3
    dv[3] = 1e-3
    W[model.row_slice(lm.model.at.LAMBDA)] = 0.7
    out, ends, h = np.empty(n), np.empty((2, n)), 1e-5
    assert kernels.along(I, F, 0.0, q, v, a, dq, dv, da, W, out) == 0
    for end, s in zip(ends, (h, -h), strict=True):
        moved = model.group.retract(q, s * dq)
        assert kernels.residual(I, F, 0.0, moved, v + s * dv, a + s * da, W, end) == 0
    slope = (ends[0] - ends[1]) / (2 * h)
    assert np.abs(out - slope).max() < 1e-6 * np.abs(slope).max()


def counting(model, state, t_end):
    """A problem, and how often each kernel of its system has been called."""
    system, calls = motion.system(model), Counter()

    def counted(name, function):
        def call(*arguments):
            calls[name] += 1
            return function(*arguments)

        return call if function is not None else None

    # all of them, so that the step around them is plain Python
    kernels = li.Dynamics(*(counted(*item) for item in system.dynamics._asdict().items()))
    return li.Problem.of(dataclasses.replace(system, dynamics=kernels), state.q, state.v, t_end), calls


@pytest.mark.kernels
@pytest.mark.parametrize("case", ["tree", "loop"])
def test_with_true_tangents_few_corrections_are_enough(case):
    """From rest, Newton's method converges quadratically: three corrections from 1e-2 to round-off.

    As many may be lost before with a matrix of D and K only, and as many on the way to where quadratic begins.
    """
    _, model, state = bench.rods(1e8, moving=False) if case == "tree" else bench.loop(0.0, 1e8)
    problem, calls = counting(model, state, 0.02)
    li.solve(problem, li.GeneralisedAlpha, 2, save=1)
    assert calls["along"] >= model.nv
    assert calls["residual"] <= 2 * 9, calls


@pytest.mark.kernels
def test_what_rests_is_not_imprecise():
    """A step of rosenbrock-3 from rest has no error, and is not cut: the start, three stages and the end."""
    _, model, _ = bench.hinges(1.0, 2)
    problem, calls = counting(model, model.state(), 0.01)
    run = li.solve(problem, li.Rosenbrock3, 1, save=1)
    assert np.abs(run.end).max() < 1e-15
    assert calls["acceleration"] == 5


def test_which_systems_are_coupled():
    bodies, joints, forces = _with_every_force()
    plain = [lm.Revolute(name=j.name, parent=j.parent, child=j.child, at=j.at) for j in joints]
    for kind, element in forces.items():
        model = lg.Tree(bodies, plain, forces=[element]).compile()
        assert motion.system(model).coupled == (kind not in (lm.PointForce, lm.Actuator)), kind
    assert motion.system(bench.hinges(1.0, 1)[1]).coupled
    assert not motion.system(bench.hinges(0.0, 1)[1]).coupled


# ---- messages


def test_a_blow_up_is_not_taken_for_missing_inertia():
    """RKMK4 with a step that is far too long for its spring."""
    _, model, state = bench.rods(1e8, moving=True)
    problem = li.Problem.of(motion.system(model), state.q, state.v, 1.0)
    with pytest.raises(IntegrationError) as caught:
        li.solve(problem, li.RKMK4, 100)
    assert "inertia that it moves" not in str(caught.value)
    assert any(words in str(caught.value) for words in ("grows without bound", "not finite"))


def test_numbers_that_overflow_are_not_missing_inertia():
    assert "not a finite number" in str(bench.hinges(0.0, 1)[1].failure(NOT_FINITE))


def test_rows_that_became_dependent_are_named():
    """Where all rods of a four-bar lie on a line."""
    _, model, state = bench.ladder(1)
    system = motion.system(model)
    level = np.concatenate([model.state().q, state.v])
    start = np.concatenate([state.q, state.v])
    words = explain(system, NO_CONVERGENCE, level, start)
    assert "the position is singular, where constraints depend on each other" in words
    assert "of loop 'loop0'" in words


def test_a_tolerance_below_round_off_at_a_singular_position():
    """The least error of a step across it is some 1e-11; what is asked for is less."""
    _, model, state = bench.ladder(10)
    problem = li.Problem.of(motion.system(model), state.q, state.v, 1.0)
    words = "the position is singular, where constraints depend on each other: translation x of loop 'loop0'"
    with pytest.raises(IntegrationError, match=words) as caught:
        li.solve_adaptive(problem, rtol=1e-12, atol=1e-15)
    # what there is ends next to the level position, on the same side
    angles = caught.value.trajectory.end[:11]
    assert (angles > 0.0).all()
    assert (angles < 0.1).all()


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (bench.rods(1e6, moving=True), "the stiffest forces there are spring 'spring_b' ("),
        (bench.loop(0.0, 1e8), "the stiffest force there is spring 'spring' ("),
        (bench.hinges(1.0, 1), "the stiffest force there is the friction of joint 'j0' ("),
        (bench.loop(0.0, 0.0), "the constraint that pushes most there is 'cut'"),
        (bench.hinges(0.0, 1), "the largest acceleration there is that of 'j0', "),
    ],
    ids=["springs", "spring in a loop", "friction", "constraint", "nothing stiff"],
)
def test_what_made_a_step_fail_is_named(case, words):
    _, model, state = case
    y = np.concatenate([state.q, state.v])
    assert explain(motion.system(model), NO_CONVERGENCE, y, y).startswith(
        f"the equations of a step could not be solved: {words}"
    )


def test_rates_of_stiff_forces():
    """A disc, J = 0.5 kg m²: a spring of 200 N m/rad, a damper of 30 N m s and friction of 1 N m at 1 mrad/s."""
    disc = lg.Body("disc", mass=1.0, inertia=(0.5, 0.5, 0.5))
    for more, who, rate in (
        ({"stiffness": 200.0}, "spring", "20"),
        ({"damping": 30.0}, "damper", "60"),
        ({"friction": 1.0}, "friction", "2e+03"),
    ):
        hinge = lm.Revolute(name="hinge", parent="world", child="disc", **more)
        model = lg.Tree([disc], [hinge]).compile()
        y = np.array([0.1, 2.0])
        assert f"the {who} of joint 'hinge' ({rate} 1/s)" in motion.system(model).diagnose(y, y)
