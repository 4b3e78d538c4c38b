"""The calculator: the same numbers whatever ran before and however vectors lie in memory, and no wrong ones.

That the numbers are right is tested with the functions of `liegeo.dynamics` (test_dynamics.py, test_forces.py), which
call a calculator.  What is left is all that a calculator adds: scratch that stays, a quick path, names, threads.
"""

from __future__ import annotations

import inspect
import threading

import numba
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import liegeo as lg
from liegeo import dynamics
from liegeo import model as lm
from liegeo.calculator import Calculator
from liegeo.errors import DynamicsError, InputError
from liegeo.kernels import checked
from liegeo.model.model import Row

FUNCTIONS = {
    name: function
    for name, function in vars(dynamics).items()
    if inspect.isfunction(function) and function.__module__ == dynamics.__name__ and not name.startswith("_")
}


def machine(loop: bool = True) -> lm.Model:
    """Links on hinges and a ball, a motor with a lag, wind on the tip; one hinge is locked, a rod closes a loop."""
    links = [
        lm.Body(f"link_{k}", 1.0 + k, (0.3, 0.05, 0.0), (0.02, 0.1, 0.11), frames={"tip": (0.6, 0.0, 0.0)})
        for k in range(4)
    ]
    kinds = (lm.Revolute, lm.Spherical, lm.Revolute, lm.Revolute)
    joints = [
        kind(
            name=f"j{k}",
            parent="world" if k == 0 else f"link_{k - 1}",
            at=None if k == 0 else "tip",
            child=f"link_{k}",
            damping=0.1,
            **({} if kind is lm.Spherical else {"axis": np.eye(3)[k % 3]}),
        )
        for k, kind in enumerate(kinds)
    ]
    forces = [
        lm.Actuator(name="motor", joint="j0", gear=2.0, lag=0.1),
        lm.PointForce(name="wind", at="link_3.tip"),
    ]
    rod = lm.Distance(name="rod", a=("world", (0.0, 2.0, 0.0)), b="link_3.tip", length=2.0)
    return lm.Tree(links, joints, forces=forces, loops=[rod] if loop else []).compile().lock("j2")


@pytest.fixture(scope="module", params=[False, True], ids=["open", "loop"])
def case(request):
    model = machine(request.param)
    rng = np.random.default_rng(5)
    state = model.state(
        model.group.exp(0.4 * rng.normal(size=model.nv)), rng.normal(size=model.nv), 0.2, {"motor": 0.7}
    )
    return model, state, rng.normal(size=model.nv), rng.normal(size=model.nu)


def arguments_of(name, model, tau, inputs):
    """Return what a function takes beside the model and the state."""
    known = {"tau": tau, "a": tau, "r": tau, "inputs": inputs, "frame": "link_2.tip"}
    return {p: known[p] for p in inspect.signature(FUNCTIONS[name]).parameters if p in known}


def call(calc, name, state, given):
    """Call a method with the part of a state that it asks for."""
    method = getattr(calc, name)
    parameters = inspect.signature(method).parameters
    parts = {"q": state.q, "v": state.v, "t": state.t, "x": state.x}
    return method(**{p: parts[p] for p in parameters if p in parts}, **given)


def flat(answer):
    if isinstance(answer, dict):
        return np.concatenate([flat(part) for part in answer.values()]) if answer else np.zeros(0)
    if isinstance(answer, tuple):
        return np.concatenate([flat(part) for part in answer if not isinstance(part, Row)] or [np.zeros(0)])
    return np.ravel(answer)


def test_functions_and_methods_have_the_same_names():
    methods = {name for name in vars(Calculator) if not name.startswith("_")}
    assert set(FUNCTIONS) <= methods
    assert methods - set(FUNCTIONS) == {"outputs"}
    for name, function in FUNCTIONS.items():
        theirs = [p for p in inspect.signature(function).parameters if p not in ("model", "state", "method")]
        mine = inspect.signature(getattr(Calculator, name)).parameters
        assert [p for p in mine if p in theirs] == theirs, name


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_result_depends_on_the_arguments_alone(case, name):
    model, state, tau, inputs = case
    given = arguments_of(name, model, tau, inputs)
    first = flat(call(model.calculator(), name, state, given))
    used, moved = model.calculator(), model.state(v=np.ones(model.nv), t=1.0)
    for other in FUNCTIONS:
        call(used, other, moved, arguments_of(other, model, -3.0 * tau, 2.0 * inputs))
    used.real.work[:] = np.nan
    assert_array_equal(flat(call(used, name, state, given)), first)
    assert_array_equal(flat(call(used, name, state, given)), first)
    assert_array_equal(flat(FUNCTIONS[name](model, state, **given)), first)


def variants(x):
    """Return the numbers of a vector in every form in which a person may have them."""
    frozen, gaps = x.copy(), np.zeros((len(x), 3))
    frozen.setflags(write=False)
    gaps[:, 1] = x
    return {
        "list": x.tolist(),
        "read-only": frozen,
        "with gaps": gaps[:, 1],
        "backward": x[::-1].copy()[::-1],
        "of objects with a shape": np.ma.array(x),
        "big-endian": x.astype(">f8"),
    }


def test_vectors_may_lie_in_memory_in_any_way(case):
    model, state, tau, inputs = case
    calc = model.calculator()
    expected = calc.forward_dynamics(state.q, state.v, tau, inputs, x=state.x)
    before = {} if numba.config.DISABLE_JIT else dict(checked.forward_dynamics.entries)
    for kind in variants(tau):
        q, v, f, u, x = (variants(part)[kind] for part in (state.q, state.v, tau, inputs, state.x))
        assert_array_equal(calc.forward_dynamics(q, v, f, u, x=x), expected, err_msg=kind)
        assert_array_equal(calc.forward_dynamics(state.q, v, tau, u, x=state.x), expected, err_msg=kind)
    # and nothing was compiled for them
    assert before == ({} if numba.config.DISABLE_JIT else checked.forward_dynamics.entries)
    named = {name: tau[place] for name, place in model.group.v.items()}
    driven = {name: inputs[place] for name, place in model.inputs.items()}
    assert_array_equal(calc.forward_dynamics(state.q, state.v, named, driven, x=state.x), expected)


def test_whole_numbers_and_complex_ones(case):
    model, state, tau, _ = case
    calc = model.calculator()
    whole = np.arange(model.nv)
    assert_array_equal(
        calc.inverse_dynamics(state.q, whole, whole), calc.inverse_dynamics(state.q, 1.0 * whole, 1.0 * whole)
    )
    step = 1e-40
    slope = calc.inverse_dynamics(state.q, state.v, tau + 1j * step * np.eye(model.nv)[1]).imag / step
    M = calc.mass_matrix(state.q)
    np.testing.assert_allclose(slope, M[1], rtol=1e-12, atol=1e-13)
    with pytest.raises(InputError, match=r"out is an array of float64 with shape \(\d+,\), expected .* of complex128"):
        calc.inverse_dynamics(state.q, state.v, tau + 0j, out=np.empty(model.nv))


def test_results_are_new_or_where_one_wants_them(case):
    model, state, tau, _ = case
    calc = model.calculator()
    shown = calc.outputs(["link_3.tip.position"])
    for function, arguments in (
        (calc.forward_dynamics, (state.q, state.v, tau)),
        (calc.inverse_dynamics, (state.q, state.v, tau)),
        (calc.mass_matrix, (state.q,)),
        (shown, (state.q, state.v)),
    ):
        one, two = function(*arguments), function(*arguments)
        assert not np.shares_memory(one, two)
        out = np.full_like(one, np.nan)
        assert function(*arguments, out=out) is out
        assert_array_equal(out, one)
        for wrong in (np.empty(1), np.empty(one.shape, np.float32), np.empty((*one.shape, 2))[..., 0], [0.0], one[:0]):
            with pytest.raises(
                InputError, match=r"calculator: out is .*, expected a contiguous, writable array of float"
            ):
                function(*arguments, out=wrong)
    # an argument may be the place of the result
    f = tau.copy()
    assert_array_equal(calc.forward_dynamics(state.q, state.v, f, out=f), calc.forward_dynamics(state.q, state.v, tau))


BAD = {
    "nan": lambda x: np.where(np.arange(len(x)) == 0, np.nan, x),
    "infinite": lambda x: np.where(np.arange(len(x)) == 0, np.inf, x),
    "too large": lambda x: np.where(np.arange(len(x)) == 0, 1e61, x),
    "short": lambda x: x[:-1],
    "a matrix": lambda x: x[:, np.newaxis],
    "text": lambda x: np.array(["a"] * len(x)),
    "ragged": lambda x: [[0.0], [1.0, 2.0]],
}


@pytest.mark.parametrize("what", ["q", "v", "tau", "inputs", "x"])
@pytest.mark.parametrize("how", BAD)
def test_messages_are_those_of_the_functions(case, what, how):
    model, state, tau, inputs = case
    good = {"q": state.q, "v": state.v, "tau": tau, "inputs": inputs, "x": state.x}
    bad = good | {what: BAD[how](good[what])}
    calc = model.calculator()
    with pytest.raises(InputError) as mine:
        calc.forward_dynamics(**bad)
    with pytest.raises(InputError) as theirs:
        dynamics.forward_dynamics(model, lm.State(bad["q"], bad["v"], 0.0, bad["x"]), bad["tau"], bad["inputs"])
    assert str(mine.value) == str(theirs.value)
    assert what in str(mine.value) or "coordinates of shape" in str(mine.value)
    # a refused call leaves nothing behind
    assert_array_equal(calc.forward_dynamics(**good), model.calculator().forward_dynamics(**good))


@np.errstate(over="ignore", invalid="ignore")
def test_results_that_overflow_are_errors():
    """1e50 N·m accelerate 1e-290 kg·m² too much; five numbers of 1e60 can be multiplied."""
    light = lm.Body("light", 1e-290, inertia=(1e-290,) * 3)
    calc = lm.Tree([light], [lm.Revolute(name="hinge", parent="world", child="light")]).compile().calculator()
    with pytest.raises(DynamicsError, match="the answer of forward_dynamics is not finite"):
        calc.forward_dynamics(np.zeros(1), np.zeros(1), np.array([1e50]))
    with pytest.raises(DynamicsError, match="the answer of joint_forces is not finite"):
        calc.joint_forces(np.zeros(1), np.zeros(1), np.array([1e50]))
    with pytest.raises(DynamicsError, match="the answer of outputs is not finite"):
        calc.outputs("hinge.acceleration")(np.zeros(1), np.zeros(1), np.array([1e50]))
    heavy = lm.Body("heavy", 1e60, (1e60, 0, 0), (1e60,) * 3)
    joints = [lm.Revolute(name="hinge", parent="world", child="heavy", axis=(0, 0, 1), armature=1e60)]
    calc = lm.Tree([heavy], joints).compile().calculator()
    q, v = np.zeros(1), np.array([1e60])
    assert calc.inverse_dynamics(q, v, v) > 1e230
    assert calc.mass_matrix(q) > 1e170


def test_a_singular_matrix_is_named():
    light = lm.Body("light", 0.0)
    model = lm.Tree([light], [lm.Revolute(name="hinge", parent="world", child="light")]).compile()
    with pytest.raises(DynamicsError, match=r"joint 'hinge'.*the inertia that it moves is not positive"):
        model.calculator().forward_dynamics(np.zeros(1), np.zeros(1))


# ---- outputs


def test_outputs_are_columns_of_results():
    model = machine(loop=True)
    rng = np.random.default_rng(2)
    q, v = model.group.exp(0.3 * rng.normal(size=model.nv)), rng.normal(size=model.nv)
    u, x = rng.normal(size=model.nv + model.nu), rng.normal(size=model.nx)
    run = lg.Result(model, np.array([0.4]), q[None], v[None], u[None], lg.results.RunInfo("none", 0), x[None])
    every = [*model.names.table, *model.names.more]
    outputs = model.calculator().outputs(every)
    assert outputs.names == tuple(every)
    assert outputs.units == tuple(model.names.column(name).unit for name in every)
    row = outputs(q, v, u[: model.nv], u[model.nv :], t=0.4, x=x)
    np.testing.assert_allclose(row, [run[name][0] for name in every], rtol=1e-13, atol=1e-13)


def test_outputs_by_wildcard_and_by_a_single_name():
    calc = machine().calculator()
    assert calc.outputs("link_3.tip.position").names == tuple(f"link_3.tip.position.{c}" for c in "xyz")
    assert calc.outputs(["*.angle"]).names == ("j0.angle", "j2.angle", "j3.angle")
    assert repr(calc.outputs("j0.angle")).startswith("<outputs of <model")
    assert repr(calc) == f"<calculator of {calc.model!r}>"


def test_unknown_outputs():
    calc = machine().calculator()
    with pytest.raises(InputError, match=r"outputs: 'j0.angel' is neither .* Did you mean 'j0.angle'\?\n.*model.names"):
        calc.outputs(["j0.angel"])
    with pytest.raises(InputError, match=r"outputs: 'j0' has several quantities.*: j0.angle, .*\n.*'j0\.\*'"):
        calc.outputs(["j0"])
    with pytest.raises(InputError, match=r"outputs: nothing matches '\*.colour'.\n  Names are in model.names"):
        calc.outputs(["*.colour"])
    with pytest.raises(InputError, match="outputs: 3 is not a name"):
        calc.outputs([3])


def test_signs_of_quaternions_do_not_depend_on_calls_before():
    body = lm.Body("body", 1.0, inertia=(0.1, 0.1, 0.1))
    model = lm.Tree([body], [lm.Revolute(name="hinge", parent="world", child="body", axis=(0, 0, 1))]).compile()
    shown = model.calculator().outputs("body.quaternion")
    rest = np.zeros(1)
    angles = np.linspace(0.0, 4.0 * np.pi, 25)
    there = [shown(np.array([angle]), rest) for angle in angles]
    back = [shown(np.array([angle]), rest) for angle in angles[::-1]][::-1]
    assert_array_equal(there, back)


# ---- threads


def test_every_thread_has_a_calculator_of_its_own():
    model = machine(loop=False)
    rng = np.random.default_rng(3)
    states = [model.state(model.group.exp(rng.normal(size=model.nv)), rng.normal(size=model.nv)) for _ in range(4)]
    expected = [dynamics.forward_dynamics(model, state) for state in states]
    wrong, used, ready = [], [], threading.Barrier(len(states))

    def work(state, answer):
        ready.wait()
        wrong.extend(k for k in range(300) if (dynamics.forward_dynamics(model, state) != answer).any())
        used.append(model.calculators.found[0])

    threads = [threading.Thread(target=work, args=pair) for pair in zip(states, expected, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len({id(calc) for calc in [*used, model.calculators.found[0]]}) == len(states) + 1
    assert not any(np.shares_memory(a.real.work, b.real.work) for a in used for b in used if a is not b)


def test_a_constraint_of_ones_own_may_ask_for_dynamics_of_its_model():
    """Its function is called in the middle of forward dynamics, whose scratch it must not touch."""

    def on_line(model, state):
        dynamics.mass_matrix(model, state)
        return dynamics.frame_pose(model, state, "link_3.tip")[1, 3] - 0.2

    tree = machine(loop=False).tree
    parts = {"forces": tree.forces, "name": tree.name}
    free = lm.Tree(tree.bodies, tree.joints, **parts, loops=[lm.Custom(name="line", function=on_line)]).compile()
    point = lm.Tree(
        tree.bodies, tree.joints, **parts, loops=[lm.Custom(name="line", function=lambda m, s: _height(m, s))]
    )
    rng = np.random.default_rng(8)
    state = free.state(free.group.exp(0.3 * rng.normal(size=free.nv)))
    np.testing.assert_allclose(
        dynamics.forward_dynamics(free, state), dynamics.forward_dynamics(point.compile(), state), rtol=1e-9, atol=1e-9
    )


def _height(model, state):
    """The same without touching anything of the model."""
    return model.calculator().frame_pose(state.q, "link_3.tip")[1, 3] - 0.2
