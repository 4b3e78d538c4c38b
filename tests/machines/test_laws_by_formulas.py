"""Laws by formulas beside the elements that they write anew, SciPy's integrators, and the balance that they keep."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import liegeo as lg
from liegeo import dynamics
from liegeo import model as lm
from liegeo.errors import InputError, ModelError, ModelFileError, SimulationError
from liegeo.kernels import joint_elements, laws_of_joints
from liegeo.kernels import layout as at
from liegeo.model.formulas import Formula
from liegeo.model.laws_of_joints import _packed

STEP = 1e-30


def slider(*forces, mass=2.0, gravity=0.0):
    """One body that slides along x."""
    body = lm.Body("block", mass=mass, inertia=(1, 1, 1))
    joint = lm.Prismatic(name="slide", parent="world", child="block", axis=(1, 0, 0))
    return lm.Tree([body], [joint], forces=list(forces), gravity=(gravity, 0, 0)).compile()


def floating(*forces):
    """A free body with a frame, near a point of the world."""
    body = lm.Body("block", mass=2.0, com=(0.05, 0, 0), inertia=(0.2, 0.3, 0.4), frames={"hook": (0.1, 0.2, 0.3)})
    joint = lm.Free(name="float", parent="world", child="block")
    return lm.Tree([body], [joint], forces=list(forces), gravity=(0, 0, -2.0)).compile()


def run(model, q=None, v=None, x=None, t_end=1.0, t=0.0, step=1e-3, method="rkmk-4", **options):
    state = model.state(q=q, v=v, x=x, t=t)
    return lg.simulate(model, state, t_end, method=method, step=step, output="steps", progress=False, **options)


# ---- formulas


def value(text, s=0.0, ds=0.0, t=0.0, kind=float):
    """Return a formula by the kernel that runs the force of a law."""
    program = Formula.read(text, ("s", "ds", "t")).program({"s": 0, "ds": 1, "t": 2})
    F = np.array(_packed([program, None, None, None, None], False))
    z = kind(0.0)
    with np.errstate(all="ignore"):
        return -joint_elements._law(at.LAW, F, 0, (s + z, ds + z, t + z), (z, z), z)[0]


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-20*s - 0.5*ds*abs(ds)", lambda s, v, t: -20 * s - 0.5 * v * abs(v)),
        ("s^3 - s^-2 + (-s)^5", lambda s, v, t: s**3 - s**-2 + (-s) ** 5),
        ("2^3*s + pi", lambda s, v, t: 8 * s + np.pi),
        ("min(s, ds, 0.1) + max(s, ds)", lambda s, v, t: min(s, v, 0.1) + max(s, v)),
        ("if(s - 0.2, 3*s, if(ds, ds^2, t))", lambda s, v, t: 3 * s if s > 0.2 else v**2 if v > 0 else t),
        ("tanh(10*ds)*exp(-s^2) + sqrt(abs(s)) ", lambda s, v, t: np.tanh(10 * v) * np.exp(-(s**2)) + abs(s) ** 0.5),
        (
            "log(1 + s^2)*cos(3*t) - tan(s)/sin(ds)",
            lambda s, v, t: np.log(1 + s * s) * np.cos(3 * t) - np.tan(s) / np.sin(v),
        ),
        ("30*tanh(30*s)", lambda s, v, t: 30 * np.tanh(30 * s)),
    ],
)
def test_formulas_have_the_value_and_tangents_of_python(text, expected):
    """Tangents by complex steps, beside central differences of the Python function."""
    for s, v, t in ((0.3, -0.7, 0.2), (-0.31, 0.4, 1.7), (1.3, 0.2, -0.4)):
        assert np.isclose(value(text, s, v, t), expected(s, v, t), rtol=1e-14)
        h = 1e-6
        for k in range(2):
            e = np.eye(3)[k]
            slope = value(text, *(np.array((s, v, t)) + 1j * STEP * e), kind=complex).imag / STEP
            difference = (expected(*((s, v, t) + h * e)) - expected(*((s, v, t) - h * e))) / (2 * h)
            assert np.isclose(slope, difference, rtol=1e-7, atol=1e-8)


@pytest.mark.kernels
def test_a_formula_without_a_finite_value_is_not_a_number():
    """As programs of the time have it: what comes of 1/(1/s) at 0 is not 0."""
    for text in ("1/(1/s)", "log(s)", "sqrt(s - 1)", "exp(1000 + s)"):
        assert np.isnan(value(text, 0.0))


def test_formulas_are_written_as_they_are_read():
    for text in (
        "-(s + 2)^2",
        "s - (ds - t)",
        "s/(ds*t)",
        "-s^2",
        "(-2)^3*s",
        "if(s, -ds, min(s, t, 1e-30))",
        "(s^2)^3",
    ):
        formula = Formula.read(text, ("s", "ds", "t"))
        again = Formula.read(str(formula), ("s", "ds", "t"))
        assert str(again) == str(formula)
        for s, v, t in ((0.3, -0.7, 0.2), (1.3, 0.2, -0.4)):
            assert value(str(formula), s, v, t) == value(text, s, v, t)


# ---- laws of joints


def test_a_law_is_the_element_that_it_writes_anew():
    joint = lm.Prismatic(name="slide", parent="world", child="block", axis=(1, 0, 0), stiffness=30.0, damping=0.7)
    body = lm.Body("block", mass=2.0, inertia=(1, 1, 1))
    usual = lm.Tree([body], [joint], gravity=(1.0, 0, 0)).compile()
    law = lm.Law(name="law", joint="slide", force="-30*s - 0.7*ds", potential="15*s^2")
    a, b = (run(model, {"slide": 0.3}, {"slide": 1.0}) for model in (usual, slider(law, gravity=1.0)))
    assert np.allclose(a["slide.position"], b["slide.position"], atol=1e-13)
    assert np.isclose(a.info.energy.dissipated, b.info.energy.dissipated, rtol=1e-10)
    assert np.allclose(b["law.force"], -30 * b["slide.position"] - 0.7 * b["slide.speed"])
    assert np.allclose(b["law.power"], b["law.force"] * b["slide.speed"])


EVERYTHING = {
    "force": "-20*s - 0.5*ds*abs(ds) + z + y*u*sin(t)",
    "rates": {"z": "(u - z)/0.1", "y": "-y + cos(3*s)"},
    "signals": ["u"],
    "potential": "10*s^2",
    "dissipation": "0.5*abs(ds)^3",
}


@pytest.mark.parametrize("method", ["rkmk-4", "generalised-alpha-0.8", "rosenbrock-3", "lie-bdf-2"])
def test_states_inputs_and_the_time_are_those_of_scipy(method):
    """All that a law can have, from t = 0.7 on, with every family of methods; bounds are by the order of each."""
    model = slider(lm.Law(name="law", joint="slide", **EVERYTHING))

    def rates(t, y):
        s, v, z, w = y
        u = 1.5 + 0.3 * t
        return [v, (-20 * s - 0.5 * v * abs(v) + z + w * u * np.sin(t)) / 2.0, (u - z) / 0.1, -w + np.cos(3 * s)]

    exact = solve_ivp(rates, (0.7, 2.2), [0.3, -0.2, 0.4, 0.1], rtol=1e-11, atol=1e-12, method="DOP853").y[:, -1]
    out = run(
        model,
        {"slide": 0.3},
        {"slide": -0.2},
        {"law": (0.4, 0.1)},
        2.2,
        0.7,
        2e-3,
        method,
        inputs={"law": lambda t: 1.5 + 0.3 * t},
    )
    found = [out[name][-1] for name in ("slide.position", "slide.speed", "law.z", "law.y")]
    assert np.allclose(found, exact, atol={"rkmk-4": 1e-9, "rosenbrock-3": 1e-7}.get(method, 2e-5))
    energy = out.info.energy
    assert energy.dissipated > 0.01
    assert abs(energy.defect) < 1e-4


def test_what_a_law_does_not_store_is_dissipated_or_work():
    """A passive law dissipates it, one that takes the time or an input does work but for its `dissipation`."""
    passive = lm.Law(name="law", joint="slide", force="-30*s - 0.7*ds", potential="15*s^2")
    timed = lm.Law(name="law", joint="slide", force="-30*s - 0.7*ds + 0*t", potential="15*s^2")
    known = lm.Law(name="law", joint="slide", force="-30*s - 0.7*ds + 0*t", potential="15*s^2", dissipation="0.7*ds^2")
    found = [run(slider(law), {"slide": 0.3}, {"slide": 1.0}).info.energy for law in (passive, timed, known)]
    lost = found[0].dissipated
    assert lost > 0.5
    assert np.isclose(found[1].work, -lost)
    assert found[1].dissipated == 0.0
    assert np.isclose(found[2].dissipated, lost)
    assert abs(found[2].work) < 1e-12
    assert all(abs(each.defect) < 1e-9 for each in found)


def test_a_spring_whose_end_moves_takes_work():
    """A potential of a state, as of the spring of an actuator: the work is that of the hand that moves the end."""
    law = lm.Law(
        name="law", joint="slide", force="-30*(s - x) + 0*t", rates={"x": "cos(3*s)"}, potential="15*(s - x)^2"
    )
    out = run(slider(law), step=2e-3)
    hand = np.trapezoid(-30 * (out["slide.position"] - out["law.x"]) * np.cos(3 * out["slide.position"]), out.t)
    assert np.isclose(out.info.energy.work, hand, rtol=1e-5)
    assert abs(out.info.energy.defect) < 1e-9


@pytest.mark.parametrize("method", ["generalised-alpha-0.8", "lie-bdf-2"])
def test_steps_end_where_a_formula_goes_another_way(method):
    """A hammer between stops so stiff that an impact lasts half a step, written as formulas: as the element `Stop`."""
    wall = "if(s - 0.05, -1e8*(s - 0.05)*max(0, 1 + 0.3*ds), if(-0.05 - s, 1e8*(-0.05 - s)*max(0, 1 - 0.3*ds), 0))"
    potential = "5e7*(max(0, s - 0.05)^2 + max(0, -0.05 - s)^2)"
    model = slider(lm.Law(name="wall", joint="slide", force=wall, potential=potential))
    out = run(model, v={"slide": 2.0}, t_end=0.3, method=method)
    energy = np.array([dynamics.balance(model, out.state(k)).energy for k in range(len(out.t))])
    assert abs(out["slide.position"]).max() < 0.0502
    assert energy.max() <= energy[0] * (1.0 + 1e-9)
    assert energy[-1] < 0.6 * energy[0]


def test_calculators_and_linear_models_know_laws():
    model = slider(lm.Law(name="law", joint="slide", **EVERYTHING))
    state = model.state({"slide": 0.3}, {"slide": -0.2}, 0.7, {"law": (0.4, 0.1)})
    found = dynamics.forward_dynamics(model, state, inputs={"law": 1.5})
    assert np.isclose(found[0], (-6.0 + 0.02 + 0.4 + 0.1 * 1.5 * np.sin(0.7)) / 2.0)
    assert np.isclose(dynamics.inverse_dynamics(model, state, found, {"law": 1.5})[0], 0.0, atol=1e-14)
    assert np.allclose(dynamics.state_rates(model, state, {"law": 1.5}), [11.0, -0.1 + np.cos(0.9)])
    passive = slider(lm.Law(name="law", joint="slide", force="-8*s^3 - 8*s - 0.4*ds"))
    linear = lg.linearise(passive, passive.state({"slide": 0.5}), friction="tangent")
    assert np.allclose(linear.A, [[0.0, 1.0], [-(24 * 0.25 + 8) / 2.0, -0.2]])


def test_models_with_laws_are_pickled():
    model = slider(lm.Law(name="law", joint="slide", **EVERYTHING))
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.floats, model.floats)
    assert again.times == ("law.t",)


# ---- along a line


def test_a_law_along_a_line_is_the_spring_that_it_writes_anew():
    usual = lm.SpringDamper(
        name="spring", a=("world", (0, 0, 1.0)), b="block.hook", stiffness=30.0, damping=0.5, length=0.4
    )
    law = lm.LineLaw(
        name="law", a=("world", (0, 0, 1.0)), b="block.hook", force="-30*(s - 0.4) - 0.5*ds", potential="15*(s - 0.4)^2"
    )
    speeds = {"float": (0.5, 1, 0.3, 0.1, 0.2, 0.3)}
    a, b = (run(floating(each), v=speeds, step=2e-3, method="generalised-alpha-0.8") for each in (usual, law))
    assert np.allclose(a.q, b.q, atol=1e-12)
    assert np.allclose(b["law.force"], -a["spring.tension"], atol=1e-9)
    assert np.allclose(b["law.length"], a["spring.length"], atol=1e-12)
    assert np.allclose(b["law.rate"], a["spring.rate"], atol=1e-9)
    assert np.isclose(a.info.energy.dissipated, b.info.energy.dissipated, rtol=1e-9)


@pytest.mark.parametrize("method", ["generalised-alpha-0.8", "rosenbrock-3", "lie-bdf-2"])
def test_states_of_laws_along_lines_are_moved_by_all_methods(method):
    """Explicit and implicit methods agree, and the balance closes."""
    law = lm.LineLaw(
        name="law",
        a=("world", (0, 0, 1.0)),
        b="block.hook",
        force="-20*(s - 0.4) - 0.5*ds*abs(ds) + z + u*sin(t)",
        rates={"z": "(u - z + y)/0.1", "y": "s - y"},
        signals=("u",),
        potential="10*(s - 0.4)^2",
    )
    options = {"v": {"float": (0.1, 1, 0.3, 0.1, 0.2, 0.3)}, "x": {"law": (0.4, 0.2)}, "t": 0.7, "t_end": 1.7}
    exact, out = (run(floating(law), step=2e-3, method=m, inputs={"law": 1.5}, **options) for m in ("rkmk-4", method))
    assert np.allclose(out.q[-1], exact.q[-1], atol=2e-5)
    assert np.allclose([out[f"law.{n}"][-1] for n in "zy"], [exact[f"law.{n}"][-1] for n in "zy"], atol=2e-5)
    assert abs(exact.info.energy.defect) < 1e-8
    assert abs(out.info.energy.defect) < 1e-3


def test_frames_that_coincide_have_no_law():
    law = lm.LineLaw(name="law", a="world", b="block", force="5")
    model = floating(law)
    still = floating()
    assert np.array_equal(*(dynamics.forward_dynamics(each, each.state()) for each in (model, still)))


# ---- files


FILE = """
liegeo: 1
parameters: {k: 20 N/m, c: 0.5, T: 100 ms, push: 1.5}
gravity: [0, 0, 0]
bodies: {block: {kind: rigid, mass: 2 kg, inertia: [1, 1, 1], frames: {hook: [0, 10 cm, 0]}}}
joints: {slide: {kind: prismatic, parent: world, child: block, axis: [1, 0, 0]}}
forces:
  law:
    kind: law
    joint: slide
    force: $(-k*s - c*ds*abs(ds) + z + u*sin(t))
    rates: {z: $((u - z)/T)}
    signals: [u]
    potential: $(k/2*s^2)
  line: {kind: line_law, a: world, b: block.hook, force: "$(if(s - 200 mm, -2*k*(s - 200 mm), 0))"}
initial: {q: {slide: 0.3 m}, v: {slide: -0.2}, x: {law: 0.4}}
experiment: {end: 1, method: rkmk-4, step: 10 ms, inputs: {law: $(push)}}
"""


def test_files_say_laws_with_parameters_and_units(tmp_path):
    file = tmp_path / "law.yaml"
    file.write_text(FILE)
    mechanism = lg.load(file)
    model, state = mechanism.compile(), mechanism.state()
    length = np.hypot(0.3, 0.1)
    expected = -6.0 + 0.5 * 0.04 + 0.4 - 40.0 * (length - 0.2) * 0.3 / length
    assert np.isclose(dynamics.forward_dynamics(model, state, inputs={"law": 1.5})[0], expected / 2.0)
    softer = lg.load(file, set={"k": 10.0})
    assert np.isclose(
        dynamics.forward_dynamics(softer.compile(), state, inputs={"law": 1.5})[0],
        (expected + 3.0 + 20.0 * (length - 0.2) * 0.3 / length) / 2.0,
    )
    # by their documents, and number by number
    for k, saved in enumerate((mechanism, mechanism.tree)):
        again = lg.load(lg.save(saved, tmp_path / f"again{k}.yaml"))
        assert np.array_equal(again.compile().floats, model.floats)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (
            "-k*s -",
            "-k*w -",
            "law.yaml:11:5: forces.law.force is '$(-k*w - c*ds*abs(ds) + z + u*sin(t))', which uses 'w'",
        ),
        ("$((u - z)/T)", "$(u -)", "law.yaml:12:13: forces.law.rates.z is '$(u -)', which has an end"),
        ("$(k/2*s^2)", "$(ds^2)", "law.yaml:14:5: Law 'law': potential uses 'ds', which is none of its variables s, z"),
        ("$(k/2*s^2)", "k/2*s^2", "law.yaml:14:5: forces.law.potential is 'k/2*s^2', expected a formula"),
        ("$(k/2*s^2)", "$(k/2", "law.yaml:14:5: forces.law.potential is '$(k/2', which does not end with its ')'"),
        ("$(k/2*s^2)", "$((k + 1 kg)*s)", "is '$((k + 1 kg)*s)', which adds "),
        ("$(k/2*s^2)", "$(s^z)", "has a power that changes"),
        ("$(k/2*s^2)", "$(if(s, 1))", "gives if 2 numbers, expected three"),
        ("[u]", "[u, w]", "law.yaml:13:5: Law 'law': signals is ['u', 'w'], expected at most 1 input"),
        ("[u]", "[s]", "law.yaml:13:5: Law 'law': signals names 's', expected a name of letters"),
        (
            "{z: $((u - z)/T)}",
            "{z: 1, a: 1, b: 2}",
            "law.yaml:12:5: Law 'law': rates is ['z', 'a', 'b'], expected at most 2",
        ),
    ],
)
def test_what_is_wrong_with_a_law_is_said_at_its_place(tmp_path, old, new, text):
    file = tmp_path / "law.yaml"
    file.write_text(FILE.replace(old, new))
    with pytest.raises(ModelFileError) as caught:
        lg.load(file)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"force": "-20 N*s"}, "force has the number '20 N', expected numbers in SI, without units"),
        ({"force": "1/0*s"}, "force has the part '1.0 / 0.0', which has no finite value"),
        ({"force": "s^0.5"}, "force has a power that is no whole number from -12 to 12"),
        ({"force": "sin(s, ds)"}, "force gives sin 2 numbers, expected 1"),
        ({"force": None}, "force is None, expected a formula such as"),
        ({"force": "s", "rates": ["z"]}, "rates is ['z'], expected a mapping of states to formulas"),
        ({"force": "s", "rates": {"2": "s"}}, "rates names '2', expected a name of letters"),
        ({"force": "s", "signals": "u"}, "signals is 'u', expected a list of names"),
        ({"force": "s", "size": 0.0}, "size is 0, must be > 0"),
        ({"force": "+".join(["s*(s + 1)"] * 30)}, ""),
    ],
)
def test_what_is_wrong_with_a_law_in_python_is_said(fields, text):
    if not text:
        lm.Law(name="law", joint="slide", **fields)
        return
    with pytest.raises(ModelError) as caught:
        lm.Law(name="law", joint="slide", **fields)
    assert f"Law 'law': {text}" in str(caught.value) or f"force 'law': {text}" in str(caught.value)


def test_a_law_of_a_ball_joint_has_no_position():
    body = lm.Body("ball", mass=1.0, inertia=(1, 1, 1))
    joint = lm.Spherical(name="wrist", parent="world", child="ball")
    law = lm.Law(name="law", joint="wrist", speed=1, force="-2*ds")
    model = lm.Tree([body], [joint], forces=[law], gravity=(0, 0, 0)).compile()
    assert np.allclose(dynamics.forward_dynamics(model, model.state(v={"wrist": (0, 0.5, 0)})), [0, -1.0, 0])
    with pytest.raises(ModelError, match="is the rate of no coordinate"):
        lm.Tree([body], [joint], forces=[lm.Law(name="law", joint="wrist", force="-2*s")]).compile()


def test_a_law_without_a_value_stops_the_run_with_a_message():
    model = slider(lm.Law(name="law", joint="slide", force="log(0.5 - s)"))
    with pytest.raises(SimulationError):
        run(model, v={"slide": 1.0})


def test_the_number_of_variables_is_that_of_the_kernel():
    assert laws_of_joints.N_VARIABLES == laws_of_joints.STATE + 2
    assert at.LAW_DATA.field("LAW_PROGRAMS").size == 2 * laws_of_joints.N_PROGRAMS


def test_formulas_have_a_bounded_size():
    with pytest.raises(InputError, match="characters, expected at most 400"):
        Formula.read("s" + "+1" * 300, ("s",))
