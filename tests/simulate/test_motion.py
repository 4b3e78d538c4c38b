"""A tree as a mechanical system: its kernels against dense dynamics, and what drives it."""

from __future__ import annotations

import dataclasses
import gc
import weakref

import numba
import numpy as np
import pytest
import scipy.interpolate

import liegeo as lg
from liegeo import dynamics, integrate
from liegeo import model as lm
from liegeo.errors import InputError
from liegeo.integrate import Dynamics
from liegeo.integrate.calls import data_of
from liegeo.kernels import layout
from liegeo.model.model import State
from liegeo.motion import Drive, system
from models import crane, flexible_chain, pendulum


def every_group():
    """A tree whose joints have every group, with springs, dampers, armature and a force."""
    body = {"mass": 1.3, "com": (0.2, -0.1, 0.3), "inertia": (0.2, 0.25, 0.3)}
    bodies = [lg.Body(name, **body, frames={"far": (0.4, 0.1, 0.2)}) for name in "abcde"]
    joints = [
        lm.Free(name="base", parent="world", child="a"),
        lm.Spherical(name="ball", parent="a", child="b", at="far", damping=0.1),
        lm.Planar(name="table", parent="b", child="c", at="far"),
        lm.Cylindrical(name="bolt", parent="c", child="d", axis=(0, 0.6, 0.8), stiffness=3.0, armature=0.1),
        lm.Universal(name="cross", parent="d", child="e", at="far"),
    ]
    spring = lm.SpringDamper(name="spring", a="a.far", b="e.far", stiffness=20.0, damping=0.5, length=0.3)
    return lg.Tree(bodies, joints, name="every", forces=[spring]).compile()


MODELS = {"every group": every_group, "flexible": lambda: flexible_chain(2)}


def some_state(model, seed=0):
    """Modes bend by a thousandth: more would be forces of thousands of tonnes in the stiff ones."""
    rng = np.random.default_rng(seed)
    scale = np.ones(model.nv)
    for i in range(len(model.bodies)):
        scale[model.modal_slice(i, layout.EV)] = 1e-3
    return State(model.group.exp(0.2 * scale * rng.normal(size=model.nv)), 0.5 * scale * rng.normal(size=model.nv), 0.3)


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param]()


def kernel(model, name, *arguments, inputs=None, size=None):
    s = system(model, inputs)
    out = np.empty(model.nv if size is None else size)
    assert getattr(s.dynamics, name)(s.ints, s.floats, *arguments, np.full(s.work, np.nan), out) == 0
    return out


def test_momentum_is_mass_times_speed(model):
    state = some_state(model)
    expected = dynamics.mass_matrix(model, state) @ state.v
    assert kernel(model, "momentum", state.q, state.v) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_slope_is_the_derivative_of_the_lagrangian(model):
    """Along the group, by complex step of the energies; what dissipates is added by hand."""
    state = some_state(model)
    slope = np.empty(model.nv)
    for k in range(model.nv):
        e = np.zeros(model.nv, complex)
        e[k] = 1e-40j
        moved = State(model.group.retract(state.q.astype(complex), e), state.v.astype(complex))
        found = dynamics.balance(model, moved)
        slope[k] = (found.kinetic - found.gravitational - found.elastic).imag / 1e-40
    # what dissipates: the forces of the model less those of the same without dampers
    tree, dissipative = model.tree, 0.0
    if tree.forces:
        joints = [dataclasses.replace(joint, damping=0.0) for joint in tree.joints]
        forces = [dataclasses.replace(force, damping=0.0) for force in tree.forces]
        bare = lg.Tree(tree.bodies, joints, name="bare", forces=forces).compile()
        dissipative = dynamics.inverse_dynamics(bare, state) - dynamics.inverse_dynamics(model, state)
    expected = slope + dissipative
    assert kernel(model, "slope", 0.0, state.q, state.v) == pytest.approx(expected, rel=1e-11, abs=1e-10)


def test_slope_obeys_the_equation_of_motion(model):
    """d/dt (M v) − adT(v) M v = s along the true motion, the derivative by central differences."""
    # modes of 2700 Hz want small steps
    state, h = some_state(model, 3), 1e-7
    a = lg.forward_dynamics(model, state)

    def momentum(t):
        q = model.group.retract(state.q, t * state.v + 0.5 * t * t * a)
        return dynamics.mass_matrix(model, State(q, state.v)) @ (state.v + t * a)

    rate = (momentum(h) - momentum(-h)) / (2 * h)
    coadjoint = model.group.adT_apply(state.v, momentum(0.0))
    s = kernel(model, "slope", 0.0, state.q, state.v)
    scale = np.abs(rate).max() + 1.0
    assert np.abs(rate - coadjoint - s).max() < 2e-5 * scale


def test_residual_of_the_true_acceleration_is_zero(model):
    state = some_state(model)
    a = kernel(model, "acceleration", 0.3, state.q, state.v)
    assert a == pytest.approx(lg.forward_dynamics(model, state), rel=1e-12, abs=1e-12)
    force = np.abs(dynamics.mass_matrix(model, state) @ a).max()
    assert np.abs(kernel(model, "residual", 0.3, state.q, state.v, a)).max() < 1e-11 * force


def test_locked_speeds_have_no_residual(model):
    locked = model.lock(model.joints[0])
    state = some_state(locked)
    a = kernel(locked, "acceleration", 0.0, state.q, state.v)
    force = np.abs(dynamics.mass_matrix(locked, state) @ a).max()
    assert np.abs(kernel(locked, "residual", 0.0, state.q, state.v, a)).max() < 1e-9 * force
    s, out = system(locked), np.empty(locked.nv)
    s.dynamics.resistance(s.ints, s.floats, 1.0, 1.0, np.ones(locked.nv), out)
    assert not out[locked.locked].any()


def test_energy(model):
    state = some_state(model)
    s = system(model)
    energy = s.dynamics.energy(s.ints, s.floats, 0.0, state.q, state.v, np.full(s.work, np.nan))
    assert energy == pytest.approx(dynamics.balance(model, state).energy, rel=1e-13)


def test_resistance_is_what_the_solve_adds(model):
    """(M + αD + βK) x from `momentum` and `resistance`, back through `factorise` and `substitute`."""
    state, x = some_state(model), np.random.default_rng(1).normal(size=model.nv)
    s = system(model)
    added = np.empty(model.nv)
    s.dynamics.resistance(s.ints, s.floats, 0.3, 0.7, x, added)
    r = kernel(model, "momentum", state.q, x) + added
    W, back = np.full(s.work, np.nan), np.empty(model.nv)
    assert s.dynamics.factorise(s.ints, s.floats, state.q, 0.3, 0.7, W) == 0
    s.dynamics.substitute(s.ints, s.floats, r, W, back)
    assert back == pytest.approx(x, rel=1e-9, abs=1e-9)


def test_a_residual_leaves_half_of_the_matrix(model):
    """`factorise_next` after `residual` in the same scratch, to the last bit as `factorise` in fresh scratch."""
    state, r = some_state(model), np.random.default_rng(2).normal(size=model.nv)
    s = system(model)
    solutions = []
    for name in ("factorise", "factorise_next"):
        W, out = np.full(s.work, np.nan), np.empty(model.nv)
        if name == "factorise_next":
            assert s.dynamics.residual(s.ints, s.floats, 0.3, state.q, state.v, r, W, out) == 0
        local = () if name == "factorise" else (np.zeros(model.nv),)
        assert getattr(s.dynamics, name)(s.ints, s.floats, state.q, 0.3, 0.7, *local, W) == 0
        s.dynamics.substitute(s.ints, s.floats, r, W, out)
        solutions.append(out)
    assert (solutions[0] == solutions[1]).all()


# ---- what drives it


def driven(model, inputs, t, state=None):
    state = state or model.state()
    return Drive(model, inputs).values(t, state.q, state.v)


def test_numbers_samples_splines_and_functions_drive():
    model = crane()
    t = np.linspace(0.0, 2.0, 9)
    spline = scipy.interpolate.CubicSpline(t, np.stack([np.sin(t), np.cos(t)], axis=1))
    u = driven(model, {"motor": 2.5, "hook": spline, "luff.torque": lambda t: 3 * t}, 0.7)
    assert u == pytest.approx([2.1, *spline(0.7), 2.5], rel=1e-14)
    line = (np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, -2.0]))
    for when, value in ((-1.0, 0.0), (0.25, 0.5), (1.0, 2.0), (2.0, 0.0), (9.0, -2.0)):
        assert driven(model, {"luff": line}, when)[0] == pytest.approx(value)
    b = scipy.interpolate.make_interp_spline(t, np.sin(t), k=5)
    assert driven(model, {"motor.input": b}, 1.1)[3] == pytest.approx(b(1.1), rel=1e-13)
    assert driven(model, {"motor.input": b}, 5.0)[3] == pytest.approx(b(2.0), rel=1e-13)


def test_functions_of_the_state_drive():
    model = crane()
    state = model.state(q={"luff": 0.4}, v={"luff": 2.0}, t=1.0)
    u = driven(model, {"luff": lambda t, x: -3.0 * x.v[0] + t, "motor": lambda t, x: x.q[0]}, 1.0, state)
    assert u == pytest.approx([-5.0, 0.0, 0.0, 0.4])
    together = driven(model, lambda t, x: {"luff": x.v[0], "hook.torque": [t, 2 * t]}, 1.0, state)
    assert together == pytest.approx([2.0, 1.0, 2.0, 0.0])


def test_a_function_of_the_state_equals_the_same_forces_in_the_joint():
    """A damper written as an input, and one in the model."""
    state = some_state(pendulum())
    by_hand = kernel(pendulum(), "acceleration", 0.0, state.q, state.v, inputs={"hinge": lambda t, x: -0.7 * x.v[0]})
    assert by_hand == pytest.approx(lg.forward_dynamics(pendulum(damping=0.7), state), rel=1e-14)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"luf": 1.0}, r"inputs: 'luf' is no joint and no force element with inputs\. Did you mean 'luff'\?"),
        ({"hook": 1.0}, r"inputs\['hook'\] has shape \(\), expected \(2,\)"),
        ({"luff": np.nan}, r"inputs\['luff'\] is nan, expected finite numbers"),
        ({"luff": (np.array([0.0, 0.0]), np.array([1.0, 2.0]))}, r"times must rise strictly"),
        ({"luff": (np.array([0.0]), np.array([1.0]))}, r"1 times and values of shape \(1,\), expected at least 2"),
        (
            {"hook": (np.array([0.0, 1.0]), np.array([1.0, 2.0]))},
            r"expected at least 2 times and values of shape \(2, 2\)",
        ),
        ({"hook": scipy.interpolate.CubicSpline([0, 1, 2], [0, 1, 4])}, r"a spline with 1 components, expected 2"),
        ({"luff": lambda a, b, c: 0}, r"a function of 3 arguments, expected \(t\) or \(t, state\)"),
        (3.0, r"inputs is 3\.0, expected a mapping of names to values, or a function of \(t, state\)"),
    ],
)
def test_messages_about_inputs(inputs, message):
    with pytest.raises(InputError, match=message):
        Drive(crane(), inputs)


def test_what_a_function_raises_is_raised():
    def fails(t):
        raise KeyError("gone")

    with pytest.raises(KeyError, match="gone"):
        driven(crane(), {"luff": fails}, 0.0)
    with pytest.raises(InputError, match=r"inputs\['hook'\] has shape \(3,\), expected \(2,\)"):
        driven(crane(), {"hook": lambda t: [1, 2, 3]}, 0.0)


def test_a_model_that_cannot_move():
    stone = lg.Tree([lg.Body("stone", mass=1.0)], [lm.Fixed(name="glue", parent="world", child="stone")]).compile()
    with pytest.raises(InputError, match="has no degrees of freedom: nothing can move"):
        system(stone)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="only compiled kernels have addresses")
def test_data_carry_only_the_addresses_that_are_used():
    """A system is compiled for what a method calls, and for no more."""
    s = system(pendulum())
    ints, _, _ = data_of(s, used=frozenset({"acceleration"}))
    addresses = ints[-len(Dynamics._fields) :]
    assert addresses[0] != 0
    assert not addresses[1:].any()


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
@pytest.mark.parametrize("method", [integrate.RKMK4, integrate.generalised_alpha(0.8)], ids=str)
def test_a_loop_is_compiled_for_what_it_is_called_with(method):
    """Stepper asks for it beside the kernels of the system; for other types it would be compiled a second time."""
    model = pendulum()
    state = model.state()
    stepper = integrate.Stepper(integrate.Problem.of(system(model), state.q, state.v, 1.0), method)
    before = set(stepper._loop.entries)
    stepper.step(1e-3, 2)
    assert len(before) == 1
    assert set(stepper._loop.entries) == before


def test_what_was_seen_once_is_not_kept_for_ever():
    """Samples are asked for in arrays of their own: as many as there are."""
    drive = Drive(crane(), {"luff": np.sin})
    kept = [np.zeros(drive.model.nq) for _ in range(500)]
    for k, q in enumerate(kept):
        assert drive.values(0.1 * k, q, np.zeros(drive.model.nv))[0] == np.sin(0.1 * k)
    assert len(drive._views) <= 64


def test_a_system_keeps_its_own_arrays():
    """A stepper reads them; whoever made them may write them."""
    s = system(pendulum())
    mine = dataclasses.replace(s, ints=s.ints.copy(), floats=s.floats.copy())
    data_of(mine)
    assert mine.ints.flags.writeable
    assert mine.floats.flags.writeable
    plain = Dynamics(lambda I, F, t, q, v, W, out: 0)
    ours = dataclasses.replace(s, dynamics=plain, ints=s.ints.copy())
    data_of(ours)
    assert ours.ints.flags.writeable


def test_a_system_keeps_alive_what_its_addresses_point_to():
    """Even one whose functions for messages know nothing of the model."""

    def make():
        model = pendulum()
        made = Drive(model).system
        numbers = weakref.ref(model.ints), weakref.ref(model.floats)
        return dataclasses.replace(made, explain=str, diagnose=lambda y, start: ""), numbers

    made, numbers = make()
    gc.collect()
    assert all(reference() is not None for reference in numbers)
    del made
    gc.collect()
    assert not any(reference() is not None for reference in numbers)
