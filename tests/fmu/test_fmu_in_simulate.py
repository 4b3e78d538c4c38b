"""An FMU as a controller inside `simulate`: against a Python function, of FMI 2.0 and 3.0, and for model exchange.

The FMUs are written in C and compiled here: a PD controller whose output depends on its inputs at once, and a lag.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import fmpy
import numpy as np
import pytest
from typer.testing import CliRunner

import fmu_export
import liegeo as lg
from fmu_export.exchange_solver import ExchangeSolver
from liegeo import cli
from liegeo import model as lm
from liegeo.errors import InputError, ModelError, ModelFileError, SimulationError

sys.path.insert(0, str(Path(__file__).parents[1] / "cosim"))
import c_fmus

T = 0.01


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    folder = tmp_path_factory.mktemp("c_fmus")
    return lambda name, fmi=2: c_fmus.build(name, folder, fmi)


def cart():
    bodies = [lg.Body("cart", mass=2.0, inertia=(1.0, 1.0, 1.0))]
    joints = [lm.Prismatic(name="x", parent="world", child="cart", axis=(1.0, 0.0, 0.0))]
    return lm.Tree(bodies, joints, gravity=(0.0, 0.0, 0.0)).compile()


def run(controllers, end=0.5, **more):
    model = cart()
    start = model.state(q={"x": 1.0})
    return lg.simulate(model, start, end, controllers=controllers, method="rkmk-4", step=T, progress=False, **more)


PD = {"inputs": {"y": "x.position", "v": "x.speed"}, "outputs": {"x": "u"}}


@pytest.mark.parametrize("fmi", [2, 3])
def test_a_controller_that_depends_on_its_inputs_at_once_is_a_function(build, fmi):
    fmu = fmu_export.controller(build("pd", fmi), T, parameters={"kp": 30.0, "kd": 7.0}, delay=0.3 * T, **PD)
    found = run([fmu])
    law = lg.Sampled(lambda t, y: -30.0 * y[0] - 7.0 * y[1], T, ["x.position", "x.speed"], ["x"], delay=0.3 * T)
    expected = run([law])
    assert np.abs(found.q - expected.q).max() < 1e-13
    assert np.abs(found["x.tau"] - expected["x.tau"]).max() < 1e-12
    assert np.ptp(expected.q) > 0.3
    # an instance of its own for each run
    assert run([fmu]).q.tobytes() == found.q.tobytes()


def lagging(tau, k):
    """The exact lag of a held input."""

    def lag(t, y, memory):
        if memory[2] == 0.0:
            memory[2] = 1.0
        else:
            memory[0] = memory[1] + (memory[0] - memory[1]) * np.exp(-T / tau)
        memory[1] = k * y[0]
        return memory[0]

    return lg.Sampled(lag, T, ["x.position"], ["x"], memory=3)


@pytest.mark.parametrize("fmi", [2, 3])
def test_a_controller_with_a_state_is_stepped_with_the_inputs_that_it_had(build, fmi):
    """A lag T y' = k u − y of a held input: y⁺ = k u + (y − k u) exp(−h/T); its solver takes small steps."""
    tau = 0.05
    fmu = fmu_export.controller(
        build("lag", fmi), T, inputs={"u": "x.position"}, outputs={"x": "y"}, parameters={"T": tau, "k": -40.0}
    )

    found, expected = run([fmu]), run([lagging(tau, -40.0)])
    assert np.ptp(expected.q) > 0.3
    assert np.abs(found.q - expected.q).max() < 1e-6


@pytest.mark.parametrize("fmi", [2, 3])
def test_an_fmu_for_model_exchange_gets_a_solver(build, fmi):
    """The same lag, T y' = u − y, beside an oscillator that drives nothing."""
    tau = 0.05
    fmu = fmu_export.controller(
        build("oscillator", fmi),
        T,
        inputs={"u": "x.position"},
        outputs={"x": "lagged"},
        parameters={"T": tau},
        kind="model exchange",
        solver=ExchangeSolver(tolerance=1e-10),
    )
    found = run([fmu])
    assert np.ptp(found["x.tau"]) > 0.5
    assert np.abs(found.q - run([lagging(tau, 1.0)]).q).max() < 1e-8


def test_values_are_in_the_units_of_the_fmu(build):
    in_mm = fmu_export.controller(build("pd_mm"), T, parameters={"kp": 0.03, "kd": 7.0}, **PD)
    law = lg.Sampled(lambda t, y: -30.0 * y[0] - 7.0 * y[1], T, ["x.position", "x.speed"], ["x"])
    assert np.abs(run([in_mm]).q - run([law]).q).max() < 1e-12


def test_a_resumed_run_has_the_same_bits(pendulum, build, tmp_path):
    """With an FMU that can write its state: a pendulum of ours, driven by the cart and pulling it."""
    variables = [v.name for v in fmpy.read_model_description(str(pendulum)).modelVariables if v.causality == "input"]
    fmu = fmu_export.controller(pendulum, T, inputs={variables[0]: "x.position"}, outputs={"x": "hinge.angle"})
    whole = run([fmu], 12.0)
    assert np.ptp(whole["x.tau"]) > 0.5
    copies = []

    def keep(_):
        if (tmp_path / "run").exists() and not copies:
            copies.append(shutil.copy(tmp_path / "run", tmp_path / "copy"))

    run([fmu], 12.0, checkpoint=tmp_path / "run", checkpoint_every=0.0, watch=keep)
    assert copies
    resumed = run([fmu], 12.0, checkpoint=tmp_path / "copy")
    assert resumed.q.tobytes() == whole.q.tobytes()
    assert resumed.u.tobytes() == whole.u.tobytes()
    lag = fmu_export.controller(build("lag"), T, inputs={"u": "x.position"}, outputs={"x": "y"})
    with pytest.raises(InputError, match=r"checkpoint: FMU 'lag' \(lag.fmu\) cannot write its state"):
        run([lag], checkpoint=tmp_path / "other")


def test_what_is_wrong_names_the_fmu(build, tmp_path):
    pd = build("pd")
    with pytest.raises(InputError, match=r"FMU 'pd' \(pd.fmu\): 'ys' is no input. Did you mean 'y'"):
        fmu_export.controller(pd, T, inputs={"ys": "x.position"}, outputs={"x": "u"})
    with pytest.raises(InputError, match=r"FMU 'pd' \(pd.fmu\): 'y' is no output"):
        fmu_export.controller(pd, T, inputs={}, outputs={"x": "y"})
    with pytest.raises(InputError, match=r"parameters: 'kq' cannot be set.\n  There are: kp, kd"):
        fmu_export.controller(pd, T, inputs={}, outputs={"x": "u"}, parameters={"kq": 1.0})
    with pytest.raises(InputError, match=r"'ticks' is of type Integer, expected real numbers"):
        fmu_export.controller(build("clock"), T, inputs={}, outputs={"x": "ticks"})
    with pytest.raises(InputError, match=r"runs in a simulation only"):
        fmu_export.controller(pd, T, **PD).function(0.0, np.zeros(2))
    stops = fmu_export.controller(build("clock"), T, inputs={}, outputs={"x": "wave"}, parameters={"last": 0.2})
    with pytest.raises(SimulationError, match=r"at t = 0.\d+ s: FMU 'clock' \(clock.fmu\) (discarded its step|ended)"):
        run([stops])


FILE = """
liegeo: 1
gravity: [0, 0, 0]
bodies: {cart: {kind: rigid, mass: 2 kg, inertia: [1, 1, 1]}}
joints: {x: {kind: prismatic, parent: world, child: cart, axis: [1, 0, 0]}}
controllers:
  servo:
    period: 10 ms
    delay: 3 ms
    fmu: {file: pd.fmu, parameters: {kp: 30, kd: 7}}
    inputs: {r: position}
    measure: {y: x.position, v: x.speed}
    outputs: {x: u}
    initial: {x: 0}
initial: {q: {x: 1}}
experiment: {end: 0.5, method: rkmk-4, step: 10 ms, inputs: {servo.r: 0.25}}
"""


@pytest.fixture
def file(build, tmp_path):
    shutil.copy(build("pd"), tmp_path / "pd.fmu")
    (tmp_path / "cart.yaml").write_text(FILE)
    return tmp_path / "cart.yaml"


def test_a_model_file_names_the_fmu(file, tmp_path):
    mechanism = lg.load(file)
    law = lg.Sampled(lambda t, y: 30.0 * (0.25 - y[0]) - 7.0 * y[1], T, ["x.position", "x.speed"], ["x"], delay=0.3 * T)
    found = mechanism.simulate(progress=False)
    assert np.abs(found.q - run([law]).q).max() < 1e-12
    assert (found["servo.r"] == 0.25).all()
    done = CliRunner().invoke(cli.app, ["simulate", str(file), "-o", str(tmp_path / "run.csv")])
    assert done.exit_code == 0, done.output
    assert lg.read_table(tmp_path / "run.csv")["x.position"][-1] == pytest.approx(found["x.position"][-1], abs=1e-12)
    lg.save(mechanism.tree, tmp_path / "again.yaml")
    again = lg.load(tmp_path / "again.yaml").tree.controllers[0]
    assert again.fmu == {"file": str(tmp_path / "pd.fmu"), "parameters": {"kp": 30, "kd": 7}}
    with pytest.raises(InputError, match=r"fmu: controller 'servo' is an FMU, which cannot run inside another"):
        fmu_export.build(file, tmp_path / "cart.fmu")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("file: pd.fmu", "file: dp.fmu", r"cart.yaml:10:11: .*'dp.fmu', which is not a file"),
        ("file: pd.fmu", "flie: pd.fmu", r"cart.yaml:10:.*flie"),
        (
            "kp: 30",
            "kq: 30",
            r"cart.yaml:7:3: controllers.servo does not fit: FMU 'servo' \(pd.fmu\): parameters: 'kq' cannot be set",
        ),
        ("outputs: {x: u}", "outputs: {x: w}", r"cart.yaml:7:3: .*'w' is no output"),
        ("outputs: {x: u}", "outputs: {x: [u]}", r"cart.yaml:13:15: .*expected the name of one output of the FMU"),
        ("y: x.position", "y: x.positon", r"controller 'servo': measure names 'x.positon'"),
        ("inputs: {r: position}", "blocks: {a: {kind: sum, of: []}}", r"blocks stand beside an FMU"),
    ],
)
def test_a_wrong_fmu_in_a_file_is_shown_at_its_place(file, old, new, message):
    file.write_text(FILE.replace(old, new))
    with pytest.raises(ModelFileError, match=message):
        lg.load(file)


def test_an_fmu_of_a_controller_is_checked():
    with pytest.raises(ModelError, match=r"controller 'c': fmu\['fiel'\] is no key of an FMU, expected file, kind"):
        lg.Controller(name="c", period=1.0, fmu={"file": "a.fmu", "fiel": 1})
    with pytest.raises(ModelError, match=r"controller 'c': fmu\['file'\] is None, expected the path of an FMU"):
        lg.Controller(name="c", period=1.0, fmu={})
