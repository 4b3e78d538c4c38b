"""Expressions of time as programs of the kernels, beside jets in Python, and mpmath."""

from __future__ import annotations

import math
import pickle

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import liegeo as lg
from fmu_export.machine import Machine
from fmu_export.variables import Settings
from liegeo.errors import InputError, SimulationError
from liegeo.integrate import Event
from liegeo.io import expressions, load, shipped, units
from liegeo.io.jets import FUNCTIONS, Jet, as_jet
from liegeo.io.signals import Signal
from liegeo.kernels import layout as at
from liegeo.kernels.programs import run_programs
from liegeo.model import programs
from liegeo.model.constraints import Motion
from liegeo.motion import Drive
from liegeo.status import INPUT_FAILED

NAMES = {kind: name for name, kind in (*programs.FUNCTIONS.items(), *programs.OPERATORS.items())}
# One expression per operation, with all of its operands of the time.
EACH = {
    at.OP_CONSTANT: "2.5 + 0 * t",
    at.OP_TIME: "t",
    at.OP_NEGATIVE: "-t",
    at.OP_ADD: "t^2 + sin(t)",
    at.OP_SUBTRACT: "t^2 - sin(t)",
    at.OP_MULTIPLY: "t^3 * sin(t)",
    at.OP_DIVIDE: "(1 + t^3) / (2 + sin(t))",
    at.OP_POWER: "(1 + t^2)^-3 + t^0 + t^1 + sin(t)^2 + t^12",
    at.OP_SQRT: "sqrt(1 + t^3)",
    at.OP_ABS: "abs(sin(3 * t)) * t",
    at.OP_SIN: "sin(2 * t^2)",
    at.OP_COS: "cos(2 * t^2)",
    at.OP_TAN: "tan(t^2 / 5)",
    at.OP_EXP: "exp(-2 * t^2)",
    at.OP_LOG: "log(2 + t^2)",
    at.OP_MIN: "min(t^2, 1 / (1 + t), 3 - t)",
    at.OP_MAX: "max(t^2, 1 / (1 + t), 3 - t)",
    at.OP_TANH: "tanh(t^2 - 2)",
    at.OP_IF: "if(sin(4 * t), t^2, 1 / (1 + t)) + if(t - 5, 3, t * t)",
}


def of_time(text):
    return expressions.function_of_time(expressions.parse(f"$({text})"), lambda name: None, units.NUMBER)


def run(program, t, law):
    """Return the status of a program, and value, rate and acceleration (as far as asked for), by the kernel."""
    n = 1 if law else 0
    row = [0, n, at.S_ROWS + at.PROGRAM_SIZE, len(program.steps), 0, len(program.constants)]
    S = np.zeros(at.S_ROWS, dtype=np.int64)
    S[at.S_PROGRAMS] = 1
    S = np.concatenate([S, row, np.array(program.steps).ravel()])
    D, W = np.array(program.constants), np.full(3 + 3 * at.N_REGISTERS, np.nan)
    for array in (S, D):
        array.setflags(write=False)
    with np.errstate(all="ignore"):
        status = int(run_programs(S, D, t, W, 0, 3))
    return status, W[: 1 + 2 * n]


def by_jets(function, t, law):
    """The same by Python; None where it fails."""
    signal = Signal([function], law)
    try:
        return np.ravel(np.asarray(signal(t), dtype=float))
    except InputError:
        return None


def disturbed(program, t, law, rng):
    """The same by Python, with a little noise in every step: how far round-off can go."""
    registers = {}
    for step in program.steps:
        name = NAMES.get(step.kind)
        if step.kind == at.OP_CONSTANT:
            x = program.constants[step.a]
        elif step.kind == at.OP_TIME:
            x = Jet(t, 1.0) if law else t
        elif step.kind == at.OP_NEGATIVE:
            x = -registers[step.a]
        elif step.kind == at.OP_POWER:
            x = registers[step.a] ** step.b
        elif name in FUNCTIONS:
            operands = [step.a, step.b] if name in ("min", "max") else [step.a]
            operands = [step.out, step.a, step.b] if name == "if" else operands
            x = FUNCTIONS[name](*(registers[k] for k in operands))
        else:
            x = expressions._OPERATORS[name](registers[step.a], registers[step.b])
        noise = 1.0 + 1e-15 * rng.uniform(-1.0, 1.0, 3)
        x = as_jet(x)
        x = Jet(x.x * noise[0], x.d * noise[1], x.dd * noise[2])
        registers[step.out] = x if law else x.x
    return np.array([registers[0].x, registers[0].d, registers[0].dd]) if law else np.array([registers[0]])


def check(function, t, law, rng=None):
    """The kernel's answer is that of jets: to 1e-13, and where terms cancel, to what round-off can do."""
    status, found = run(function.program, t, law)
    expected = by_jets(function, t, law)
    if expected is None:
        assert status == INPUT_FAILED
        return
    assert status == 0
    allowed = 1e-13 * np.abs(expected)
    if rng is not None:
        noisy = [np.abs(disturbed(function.program, t, law, rng) - expected) for _ in range(8)]
        allowed = allowed + 8.0 * np.max(noisy, axis=0)
    assert (np.abs(found - expected) <= allowed + 1e-300).all(), (found, expected)


# ---- operations


@pytest.mark.kernels
def test_every_operation_is_tried():
    # laws of forces have variables: tests/machines/test_laws_by_formulas.py
    moves = {at.OP_UNTIL, at.OP_SKIP, at.OP_VARIABLE}
    assert set(EACH) | moves == set(range(len(at.OPERATION_KINDS.values)))
    for kind, text in EACH.items():
        assert kind in {step.kind for step in of_time(text).program.steps}
    assert set(programs.FUNCTIONS) == set(expressions.FUNCTIONS)
    assert set(programs.OPERATORS) == set(expressions._OPERATORS)


@pytest.mark.kernels
@pytest.mark.parametrize("law", [False, True])
@pytest.mark.parametrize("text", EACH.values())
def test_operations_are_those_of_jets(text, law):
    function, rng = of_time(text), np.random.default_rng(0)
    for t in (0.0, 0.3, 0.9, 1.7, 2.6):
        check(function, t, law, rng)


def by_mpmath(text):
    names = {name: getattr(mpmath, {"abs": "fabs", "log": "log"}.get(name, name), None) for name in FUNCTIONS}
    names |= {"min": min, "max": max, "if_": lambda x, a, b: a if x > 0 else b}
    return eval(f"lambda t: {text.replace('^', '**').replace('if(', 'if_(')}", names)


@pytest.mark.kernels
@pytest.mark.parametrize("text", EACH.values())
def test_derivatives_are_those_of_mpmath(text):
    function, program = by_mpmath(text), of_time(text).program
    for t in (0.3, 0.9, 1.7):
        with mpmath.workdps(60):
            exact = [float(mpmath.diff(function, mpmath.mpf(t), order)) for order in range(3)]
        status, found = run(program, t, law=True)
        assert status == 0
        assert found == pytest.approx(exact, rel=1e-13, abs=1e-14)


def has_extremes(program, t):
    """Whether a step has a result so large or small that jets or the kernel may overflow and the other does not."""
    for k, step in enumerate(program.steps):
        last = programs.Step(step.kind, 0, step.a, step.b)
        status, (x,) = run(programs.Program((*program.steps[:k], last), program.constants), t, law=False)
        if status or abs(x) > 1e50 or 0.0 < abs(x) < 1e-50:
            return True
    return False


LEAVES = st.sampled_from(["t", "t", "t", "0.7", "2", "3.25", "0.001", "50"])


def _grown(inner):
    two = st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda x: f"({x[0]} {x[1]} {x[2]})")
    one = st.tuples(st.sampled_from(sorted(set(FUNCTIONS) - {"min", "max"})), inner).map(lambda x: f"{x[0]}({x[1]})")
    power = st.tuples(inner, st.integers(-4, 5)).map(lambda x: f"({x[0]})^{x[1]}")
    many = st.tuples(st.sampled_from(["min", "max"]), st.lists(inner, min_size=1, max_size=3))
    return two | one | power | many.map(lambda x: f"{x[0]}({', '.join(x[1])})") | inner.map(lambda x: f"-{x}")


@pytest.mark.kernels
@settings(max_examples=300, deadline=None)
@given(st.recursive(LEAVES, _grown, max_leaves=25), st.floats(-2.0, 5.0), st.booleans())
def test_random_expressions_are_those_of_jets(text, t, law):
    assume(len(text) <= 380)
    try:
        function = of_time(text)
    except InputError:
        assume(False)
    if (by_jets(function, t, law) is None) != (run(function.program, t, law)[0] == INPUT_FAILED):
        assert has_extremes(function.program, t)
        return
    try:
        check(function, t, law, np.random.default_rng(0))
    except (ArithmeticError, ValueError):
        # with noise, no value
        assume(False)


# ---- registers, pieces, constants


@pytest.mark.kernels
def test_an_expression_of_any_length_has_enough_registers():
    """The worst that 400 characters can say: a balanced tree."""
    level = ["t"] * 64
    while len(level) > 1:
        level = [f"({a}/{b})" for a, b in zip(level[::2], level[1::2], strict=True)]
    function = of_time(level[0])
    assert len(level[0]) < 400
    assert function.program.registers == 7
    check(function, 1.3, law=True, rng=np.random.default_rng(0))
    # 200 operands, on either side
    for text in ("/".join(["t"] * 199), "t-(" * 29 + "t" + ")" * 29):
        function = of_time(text)
        assert function.program.registers == 2
        check(function, 1.3, law=True, rng=np.random.default_rng(0))


@pytest.mark.kernels
def test_a_program_that_needs_too_many_registers_is_refused():
    program = programs.TIME
    for _ in range(7):
        program = programs.combined(at.OP_ADD, program, program)
    assert run(program, 0.5, law=False)[1] == [64.0]
    with pytest.raises(InputError, match="needs 9 numbers at once, expected at most 8; make it shorter"):
        programs.combined(at.OP_ADD, program, program)


@pytest.mark.kernels
def test_parts_without_the_time_are_constants():
    function = of_time("2 * pi / 3 * t + sqrt(4) - max(1, 2, 3)^2")
    # (2π/3) t + 2 − 9
    assert [step.kind for step in function.program.steps].count(at.OP_CONSTANT) == 3
    assert {step.kind for step in function.program.steps} == {
        at.OP_CONSTANT, at.OP_TIME, at.OP_MULTIPLY, at.OP_ADD, at.OP_SUBTRACT,
    }  # fmt: skip
    # the root of a constant 0 has no derivative that counts
    check(of_time("sqrt(0) + t"), 0.5, law=True)


def piecewise(*texts):
    """The texts one after another, until t = 1, 2 …"""
    pieces = [of_time(text) for text in texts]
    ends = [float(k + 1) for k in range(len(pieces) - 1)]
    return ends, pieces, programs.switched(ends, [piece.program for piece in pieces])


@pytest.mark.kernels
@pytest.mark.parametrize("law", [False, True])
def test_pieces_switch_where_they_end(law):
    ends, pieces, program = piecewise("log(1 - t/1.5) + 3 * t^2", "7", "sqrt(t - 2 + 1) / (t - 1.5)", "t^2 * 5")
    for t in (-1.0, 0.0, np.nextafter(1.0, 0.0), 1.0, np.nextafter(1.0, 2.0), 1.9, 2.0, 2.5, 3.0, 1e3):
        which = sum(t >= end for end in ends)
        status, found = run(program, t, law)
        assert status == 0
        assert (found == run(pieces[which].program, t, law)[1]).all()
        check(expressions.OfTime(pieces[which].function, program), t, law, None)


@pytest.mark.kernels
@pytest.mark.parametrize(("text", "t", "law", "fails"), [
    ("1 / t", 0.0, False, True),
    ("1 / (1 / t)", 0.0, False, True),
    ("log(t)", 0.0, False, True),
    ("log(t)", -1.0, False, True),
    ("sqrt(t)", -1.0, False, True),
    ("sqrt(t)", 0.0, False, False),
    ("sqrt(t)", 0.0, True, True),
    ("min(log(t), 1)", 0.0, False, True),
    ("exp(t)", 1e3, False, True),
    ("exp(t)", -1e3, False, False),
    ("t^-1", 0.0, False, True),
    ("t^0 + t^1", 0.0, True, False),
    ("sin(t)", math.nan, False, True),
])  # fmt: skip
def test_no_finite_value_is_a_status(text, t, law, fails):
    function = of_time(text)
    assert run(function.program, t, law)[0] == (INPUT_FAILED if fails else 0)
    assert (by_jets(function, t, law) is None) == fails


# ---- what drives a model

ROD = """
liegeo: 1
name: rod
bodies: {arm: {kind: rigid, mass: 1 kg, com: [0, 0, -0.5 m], inertia: [0.1, 0.1, 0.01]}}
joints: {hinge: {kind: revolute, parent: world, child: arm, axis: [0, 1, 0]}}
"""
TORQUE = ROD + "experiment: {end: 2 s, inputs: {hinge: %s}}\n"
LAW = ROD + "loops: {drive: {kind: motion, joint: hinge, law: %s}}\nexperiment: {end: 2 s}\n"


def loaded(tmp_path, text):
    path = tmp_path / "rod.yaml"
    path.write_text(text, "utf-8")
    return load(path)


def opaque(signal):
    """The same signal as a function that nobody knows anything of but its jumps."""

    def function(t):
        return signal(t)

    function.breaks = signal.breaks
    return function


def callbacks(mechanism):
    """Inputs that are Python functions, laws included."""
    laws = {loop.name: loop.law for loop in mechanism.tree.loops if isinstance(loop, Motion)}
    signals = {**laws, **mechanism.experiment.inputs}
    return {name: opaque(x) if isinstance(x, Signal) else x for name, x in signals.items() if x is not None}


@pytest.mark.kernels
def test_expressions_are_no_functions(tmp_path):
    mechanism = loaded(tmp_path, TORQUE % "$(1 + t)")
    drive = Drive(mechanism.compile(), mechanism.experiment.inputs)
    assert (drive.functions, drive._callback) == ([], None)
    assert drive.system.ints[[at.S_CALL, at.S_PROGRAMS]].tolist() == [0, 1]
    assert Drive(mechanism.compile(), callbacks(mechanism)).functions == ["hinge"]
    state = mechanism.state()
    assert drive.values(0.5, state.q, state.w) == [1.5]
    # tables stand behind programs in D, and programs behind tables in S
    table = {**mechanism.experiment.inputs, "hinge.torque": ([0.0, 1.0], [1.0, 3.0])}
    assert Drive(mechanism.compile(), table).values(0.5, state.q, state.w) == [1.5]


@pytest.mark.kernels
def test_what_a_program_does_is_part_of_what_a_checkpoint_knows(tmp_path):
    def data(text):
        mechanism = loaded(tmp_path, TORQUE % text)
        return [x.tobytes() for x in Drive(mechanism.compile(), mechanism.experiment.inputs).data]

    assert data("$(1 + t)") == data("$(1 + t)")
    assert data("$(1 + t)") != data("$(1 + 2 * t)")
    assert data("$(1 + t)") != data("$(1 - t)")


@pytest.mark.kernels
def test_programs_can_be_pickled(tmp_path):
    mechanism = loaded(tmp_path, LAW % "{pieces: [{until: 1 s, value: $(t^2)}, {value: 1}]}")
    (loop,) = pickle.loads(pickle.dumps(mechanism.tree)).loops
    assert loop.law.programs == mechanism.tree.loops[0].law.programs
    assert loop.law(0.5) == [0.25, 1.0, 2.0]


@pytest.mark.kernels
def test_a_signal_that_is_not_what_is_asked_for_is_still_a_function(tmp_path):
    """Drive then words the error as it does for functions."""
    law = loaded(tmp_path, LAW % "$(t)").tree.loops[0].law
    model = loaded(tmp_path, TORQUE % "0").compile()
    drive = Drive(model, {"hinge": law})
    assert drive.functions == ["hinge"]
    state = model.state()
    with pytest.raises(InputError, match="hinge"):
        drive.values(0.0, state.q, state.w)


@pytest.mark.kernels
@pytest.mark.parametrize("text", [TORQUE, LAW])
def test_where_an_expression_has_no_value_the_time_is_said(tmp_path, text):
    mechanism = loaded(tmp_path, text % "$(sqrt(1 - t))")
    model, state = mechanism.compile(), mechanism.state()
    drive = Drive(model, mechanism.experiment.inputs)
    words = r"an expression of t in the model file has no finite value at t = %s s\."
    for t in ("1.5", "2"):
        with np.errstate(all="ignore"), pytest.raises(InputError, match=words % t):
            drive.values(float(t), state.q, state.w)
    assert np.isfinite(drive.values(0.5, state.q, state.w)).all()


@pytest.mark.kernels
def test_a_run_says_when_an_expression_had_no_value(tmp_path):
    mechanism = loaded(tmp_path, TORQUE % "$(1 / (t - 1))")
    model, state = mechanism.compile(), mechanism.state()
    inputs = mechanism.experiment.inputs
    words = r"at t = 0.75 s: an expression of t in the model file has no finite value at t = 1 s\."
    with np.errstate(all="ignore"), pytest.raises(SimulationError, match=words) as error:
        lg.simulate(model, state, 2.0, inputs=inputs, method="rkmk-4", step=0.25, progress=False)
    assert error.value.result.t[-1] == 0.75
    assert isinstance(error.value.__cause__, InputError)
    # a run that ends before is well, and so is what is seen of it
    result = lg.simulate(model, state, 0.75, inputs=inputs, method="rkmk-4", step=0.25, progress=False)
    assert result["hinge.tau"][-1] == pytest.approx(-4.0)


def test_a_trial_that_meets_no_value_does_not_spoil_the_run(tmp_path):
    """While a method is chosen it runs ahead; an event may end the run before the time without a value."""
    text = TORQUE.replace("axis: [0, 1, 0]", "axis: [0, 1, 0], damping: 0.1") % "$(sqrt(0.6 - t))"
    mechanism = loaded(tmp_path, text)
    model, state = mechanism.compile(), mechanism.state()
    soon = Event(lambda t, state: t - 0.5, terminal=True)
    result = lg.simulate(model, state, 2.0, inputs=mechanism.experiment.inputs, events=[soon], progress=False)
    assert result.t[-1] == pytest.approx(0.5)
    assert np.isfinite(result["hinge.tau"]).all()
    words = "an expression of t in the model file has no finite value at t = 0.6"
    with pytest.raises(SimulationError, match=words):
        lg.simulate(model, state, 2.0, inputs=mechanism.experiment.inputs, progress=False)


# ---- FMUs

ARM = """
liegeo: 1
name: arm
bodies:
  upper: {kind: rigid, mass: 1 kg, com: [0, 0, -0.5 m], inertia: [0.1, 0.1, 0.01]}
  lower: {kind: rigid, mass: 1 kg, com: [0, 0, -0.5 m], inertia: [0.1, 0.1, 0.01]}
joints:
  shoulder: {kind: revolute, parent: world, child: upper, axis: [0, 1, 0]}
  elbow: {kind: revolute, parent: upper, child: lower, at: [0, 0, -1 m], axis: [0, 1, 0]}
experiment: {end: 2 s, inputs: {shoulder: %s}}
"""


def machine(mechanism, torque):
    """An FMU of the arm, without FMI: the elbow is driven from outside."""
    settings = Settings("rkmk-4", 0.01, 1e-6, 1e-8, "hold")
    return Machine(
        mechanism, settings, [1], [], inputs=np.array([torque]), initial={}, gravity={}, start=0.0, stop=None
    )


def test_a_machine_runs_programs_beside_inputs_from_outside(tmp_path):
    mechanism = loaded(tmp_path, ARM % "{pieces: [{until: 0.25 s, value: $(3 * sin(4 * t))}, {value: $(-t)}]}")
    made = machine(mechanism, 0.7)
    assert (made.drive._callback, made.drive.functions) == (None, [])
    for k in range(5):
        made.step(0.1 * k, 0.1)
    made.values()
    u = made._arrays["W_SHOWN"][int(made.model.ints[at.N_WORK]) :]
    assert u[:2] == pytest.approx([-0.5, 0.7], rel=1e-15)
    inputs = {**mechanism.experiment.inputs, "elbow": 0.7}
    model = mechanism.compile()
    result = lg.simulate(
        model, mechanism.state(), 0.5, inputs=inputs, method="rkmk-4", step=0.01, output=0.1, progress=False
    )
    assert np.abs(made.stepper.y - np.concatenate([result.q[-1], result.v[-1]])).max() < 1e-13


def test_a_machine_says_when_an_expression_has_no_value(tmp_path):
    made = machine(loaded(tmp_path, ARM % "$(sqrt(0.3 - t))"), 0.0)
    made.step(0.0, 0.25)
    before = made.stepper.y.copy()
    words = "at t = 0.3 s: an expression of t in the model file has no finite value at t = 0.3"
    for _ in range(2):
        with pytest.raises(SimulationError, match=words):
            made.step(0.25, 0.25)
        assert (made.stepper.y == before).all()
    made.step(0.25, 0.04)
    assert np.isfinite(made.values()).all()


# ---- whole runs


def _with_programs():
    names = []
    for name in shipped.paths():
        mechanism = load(shipped.find(name))
        if Drive(mechanism.compile(), mechanism.experiment.inputs).system.ints[at.S_PROGRAMS]:
            names.append(name)
    return names


MODELS = (
    "calculix_link", "crane", "flexible_arm", "fls13_slider_crank", "fls13_spin_up", "jr90_manipulator",
    "m01_platform", "pick_and_place", "scissor_mast", "st21_spacecraft", "sy16_four_bar",
)  # fmt: skip


def test_all_shipped_models_with_programs_are_here():
    assert tuple(_with_programs()) == MODELS


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_runs_are_those_with_callbacks(name):
    mechanism = load(shipped.find(name))
    model, state, end = mechanism.compile(), mechanism.state(), mechanism.experiment.end
    inputs = callbacks(mechanism)
    mine, others = Drive(model, mechanism.experiment.inputs), Drive(model, inputs)
    assert mine.functions == []
    assert others.functions
    assert mine.system.breaks.times == others.system.breaks.times
    for t in np.append(np.linspace(0.0, end, 101), mine.system.breaks.times):
        expected = others.values(t, state.q, state.w)
        assert np.abs(mine.values(t, state.q, state.w) - expected).max() <= 1e-13 * (1.0 + np.abs(expected).max())
    h = end / 200
    runs = [
        lg.simulate(model, state, 40 * h, inputs=given, step=h, progress=False)
        for given in (mechanism.experiment.inputs, inputs)
    ]
    # most have the same bits; Newton's method leaves 4e-11 in the speeds of the crane's stiff modes after a jump
    for part, share in (("q", 1e-12), ("v", 1e-9), ("u", 1e-14)):
        a, b = (getattr(run, part) for run in runs)
        assert np.abs(a - b).max() <= share * (1.0 + np.abs(b).max()), part
