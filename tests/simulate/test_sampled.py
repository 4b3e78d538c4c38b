"""Sampled controllers in `simulate`: against a run per sample, against discrete closed forms, resumed, and refused."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from scipy.signal import cont2discrete

import liegeo as lg
from liegeo import model as lm
from liegeo.errors import InputError, ModelError, SimulationError
from liegeo.integrate import METHODS, Problem, Stepper
from liegeo.integrate.methods import check_method
from liegeo.motion import Drive

PERIOD = 1e-3


def cart(mass=2.0):
    bodies = [lg.Body("cart", mass=mass, inertia=(1.0, 1.0, 1.0))]
    joints = [lm.Prismatic(name="x", parent="world", child="cart", axis=(1.0, 0.0, 0.0))]
    return lm.Tree(bodies, joints, gravity=(0.0, 0.0, 0.0)).compile()


def arm(**more):
    bodies = [lg.Body(name, mass=1.0, com=(0, 0, -0.3), inertia=(0.05, 0.05, 0.01)) for name in ("upper", "lower")]
    joints = [
        lm.Revolute(name="shoulder", parent="world", child="upper", axis=(0, 1, 0)),
        lm.Revolute(
            name="elbow", parent="upper", child="lower", at=(0, 0, -0.6), axis=(0, 1, 0), stiffness=2.0, damping=0.05
        ),
    ]
    forces = [lm.Actuator(name="motor", joint="shoulder", limit=20.0)]
    return lm.Tree(bodies, joints, forces=forces, **more).compile()


def law(angle, speed):
    """The controller of the arm: a quantised angle, and a limited torque."""
    counts = np.floor(angle / 1e-4 + 0.5) * 1e-4
    return float(np.clip(60.0 * (0.255 - counts) - 4.0 * speed, -8.0, 8.0))


def sampled(**more):
    return lg.Sampled(lambda t, y: law(*y), PERIOD, ["shoulder.angle", "shoulder.speed"], ["motor"], **more)


START = {"q": {"shoulder": 0.1, "elbow": -0.2}, "v": {"shoulder": 0.3}}


# ---- against a run per sample


@pytest.mark.parametrize("name", list(METHODS))
def test_a_sampled_loop_is_a_run_per_sample(name):
    """Methods of fixed step: a loop of `simulate` calls.  Others, which go on with the step that they had, and which
    `simulate` gives no first step: a stepper per sample that begins with that."""
    model, method, samples = arm(), METHODS[name], 6
    state = model.state(**START)
    try:
        check_method(Problem.of(Drive(model).system, state.q, state.w, 1.0), method)
    except InputError:
        pytest.skip("the method does not suit the model")
    chosen = {"rtol": 1e-7, "atol": 1e-9} if method.adaptive else {"step": 0.4 * PERIOD}
    run = lg.simulate(
        model, state, samples * PERIOD, controllers=[sampled()], method=method, output="steps", progress=False, **chosen
    )
    assert len(np.unique(run["motor.input"])) == samples
    step, inside = None, None
    for k in range(samples):
        end, torque = (k + 1) * PERIOD, law(state.q[0], state.v[0])
        if not method.adaptive:
            state = lg.simulate(
                model, state, end, inputs={"motor": torque}, method=method, progress=False, **chosen
            ).end
            continue
        problem = Problem.of(
            Drive(model, {"motor": torque}).system, state.q, state.w, samples * PERIOD, t_start=state.t
        )
        if step is None:
            # the first step of the run was chosen before the first sample
            free = Problem.of(Drive(model).system, state.q, state.w, samples * PERIOD)
            step = Stepper(free, method, **chosen).control[1]
        inside = Stepper(problem, method, first_step=step, **chosen)
        while inside.advance(end)[1]:
            pass
        step, state = inside.control[1], model.unpack(inside.y, end)
    assert np.abs(run.end.q - state.q).max() < 1e-12
    assert np.abs(run.end.v - state.v).max() < 1e-12


@pytest.mark.parametrize("delay", [0.0, 0.003, 0.01, 0.017, 0.02])
@pytest.mark.parametrize("offset", [0.0, 0.004])
def test_a_double_integrator_under_sampled_pd_has_its_discrete_dynamics(delay, offset):
    """Exact between events: x⁺ = Φ(h) x + Γ(h) u with SciPy's Φ and Γ; results in force from t_k + δ on."""
    T, end, mass = 0.01, 0.3, 2.0
    gains = np.array([-40.0, -9.0])
    run = lg.simulate(
        cart(mass),
        cart(mass).state(q={"x": 1.0}, v={"x": -0.5}),
        end,
        controllers=[lg.Sampled(lambda t, y: gains @ y, T, ["x.position", "x.speed"], ["x"], delay, offset)],
        method="rkmk-4",
        step=T,
        progress=False,
    )
    A, B = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0 / mass]])
    whole = [(round(offset + k * T, 12), k, "sample") for k in range(30)]
    results = [(round(offset + k * T + delay, 12), k, "result") for k in range(30)]
    x, held, t, taken = np.array([1.0, -0.5]), 0.0, 0.0, {}
    for when, k, what in sorted([*whole, *results], key=lambda each: (each[0], each[2] == "result")):
        if when >= end:
            break
        if when > t:
            Phi, Gamma, *_ = cont2discrete((A, B, np.eye(2), np.zeros((2, 1))), when - t)
            x, t = Phi @ x + Gamma[:, 0] * held, when
        if what == "sample":
            taken[k] = float(gains @ x)
        else:
            held = taken[k]
    Phi, Gamma, *_ = cont2discrete((A, B, np.eye(2), np.zeros((2, 1))), end - t)
    x = Phi @ x + Gamma[:, 0] * held
    assert np.abs(x - [1.0, -0.5]).max() > 0.1
    assert np.abs(np.array([run.end.q[0], run.end.v[0]]) - x).max() < 1e-13


def test_what_is_held_is_in_results_and_in_the_account_of_energy():
    model = cart()
    run = lg.simulate(
        model,
        model.state(q={"x": 1.0}),
        0.1,
        controllers=[lg.Sampled(lambda t, y: -40.0 * y[0] - 5.0 * y[1], 0.01, ["x.position", "x.speed"], ["x"], 0.005)],
        method="rkmk-4",
        step=0.005,
        output=0.0025,
        progress=False,
    )
    force = run["x.tau"]
    assert (force[:2] == 0.0).all()
    for k in range(2, 40, 4):
        assert len(set(force[k : k + 4])) == 1
    at_samples = -40.0 * run["x.position"][0:36:4] - 5.0 * run["x.speed"][0:36:4]
    assert np.abs(force[2:38:4] - at_samples).max() < 1e-12
    assert abs(run.info.energy.defect) < 1e-12
    assert abs(run.info.energy.work) > 1.0


# ---- how often


@pytest.mark.parametrize("options", [{}, {"method": "rkmk-54"}, {"step": 3e-4}, {"method": "rkmk-4", "step": 1e-3}])
def test_a_controller_is_called_once_per_sample(options):
    """Also where the method is chosen by trial; times are k T, without round-off that adds up."""
    calls = []

    def controller(t, y, memory):
        calls.append(t)
        memory[0] += 1.0
        return -memory[0] * 1e-3

    model = arm()
    lg.simulate(
        model,
        model.state(**START),
        0.05,
        controllers=[lg.Sampled(controller, PERIOD, ["shoulder.angle"], ["motor"], memory=1)],
        progress=False,
        **options,
    )
    assert calls == [k * PERIOD for k in range(50)]


def test_samples_are_counted_from_the_origin_of_time():
    """A run from 1.0005 s samples at whole milliseconds; one that ends at a sample leaves it to the next."""
    calls, model = [], cart()
    controller = lg.Sampled(lambda t, y: calls.append(t) or 0.0, PERIOD, [], ["x"])
    first = lg.simulate(model, model.state(t=1.0005), 1.003, controllers=[controller], progress=False)
    assert calls == [1001 * PERIOD, 1002 * PERIOD]
    lg.simulate(model, first.end, 1.005, controllers=[controller], progress=False)
    assert calls == [k * PERIOD for k in range(1001, 1005)]


def test_two_controllers_measure_at_once_and_run_in_their_order():
    model, seen = cart(), []

    def slow(t, y):
        seen.append(("slow", t, y[0]))
        return 1.0 + t

    def fast(t, y):
        seen.append(("fast", t, y[0]))
        return 0.0

    bodies = [lg.Body("a", mass=1.0, inertia=(1, 1, 1)), lg.Body("b", mass=1.0, inertia=(1, 1, 1))]
    joints = [lm.Prismatic(name=n, parent="world", child=n[-1], axis=(1, 0, 0)) for n in ("to_a", "to_b")]
    model = lm.Tree(bodies, joints).compile()
    both = [lg.Sampled(slow, 0.02, ["to_a.acceleration"], ["to_a"]), lg.Sampled(fast, 0.01, ["to_a.tau"], ["to_b"])]
    lg.simulate(model, model.state(), 0.05, controllers=both, method="rkmk-4", step=0.01, progress=False)
    # both see at t what was held before t
    found = [(name, round(t, 3), round(float(y), 12)) for name, t, y in seen]
    assert found == [
        ("slow", 0.0, 0.0),
        ("fast", 0.0, 0.0),
        ("fast", 0.01, 1.0),
        ("slow", 0.02, 1.0),
        ("fast", 0.02, 1.0),
        ("fast", 0.03, 1.02),
        ("slow", 0.04, 1.02),
        ("fast", 0.04, 1.02),
    ]


def test_a_sampled_controller_may_stand_among_the_inputs():
    model = arm()
    common = {"method": "rkmk-4", "step": PERIOD, "progress": False}
    one = lg.simulate(model, model.state(**START), 0.02, controllers=[sampled()], **common)
    free = lg.Sampled(lambda t, y: law(*y), PERIOD, ["shoulder.angle", "shoulder.speed"])
    other = lg.simulate(model, model.state(**START), 0.02, inputs={"motor": free, "elbow": 0.0}, **common)
    assert one.q.tobytes() == other.q.tobytes()


# ---- killed and resumed


@pytest.mark.parametrize("options", [{"method": "generalised-alpha-0.8", "step": 4e-4}, {"method": "rkmk-54"}, {}])
def test_a_resumed_run_has_the_same_bits(tmp_path, options):
    model = arm()

    def integral(t, y, memory):
        memory[0] += PERIOD * (0.4 - y[0])
        return law(*y) + 30.0 * memory[0]

    controller = lg.Sampled(
        integral, PERIOD, ["shoulder.angle", "shoulder.speed"], ["motor"], delay=1.4 * PERIOD, memory=1
    )
    arguments = {"controllers": [controller], "progress": False, "output": 7e-4, **options}
    whole = lg.simulate(model, model.state(**START), 0.4, **arguments)
    copy, file, kept = tmp_path / "copy", tmp_path / "run", []

    def keep(_):
        if file.exists() and not kept:
            shutil.copy(file, copy)
            kept.append(True)

    lg.simulate(model, model.state(**START), 0.4, checkpoint=file, checkpoint_every=0.0, watch=keep, **arguments)
    assert kept
    assert not file.exists()
    resumed = lg.simulate(model, model.state(**START), 0.4, checkpoint=copy, **arguments)
    for name in ("t", "q", "v", "u"):
        assert getattr(resumed, name).tobytes() == getattr(whole, name).tobytes()
    assert resumed.info.steps == whole.info.steps


def test_a_checkpoint_of_other_controllers_is_refused(tmp_path):
    model, file = arm(), tmp_path / "run"
    common = {"method": "rkmk-4", "step": PERIOD, "progress": False, "checkpoint": file, "checkpoint_every": 0.0}
    copies = []
    keep = lambda _: copies.append(shutil.copy(file, tmp_path / "copy")) if file.exists() else None  # noqa: E731
    lg.simulate(model, model.state(**START), 1.0, controllers=[sampled()], watch=keep, **common)
    assert copies
    with pytest.raises(InputError, match=r"is of another run: controllers differ"):
        lg.simulate(
            model,
            model.state(**START),
            1.0,
            controllers=[sampled(delay=1e-4)],
            **{**common, "checkpoint": tmp_path / "copy"},
        )


# ---- functions that remember their calls


def test_a_function_with_a_memory_is_noticed_with_a_method_that_is_given():
    model, sums = arm(), [0.0]

    def integral(t, state):
        sums[0] += 1e-3 * (0.4 - state.q[0])
        return sums[0]

    with pytest.raises(InputError, match=r"inputs\['motor'\] has a memory(.|\n)*lg.Sampled\(function, period"):
        lg.simulate(model, model.state(**START), 1.0, inputs={"motor": integral}, method="rkmk-54", progress=False)


# ---- what is wrong is named


def test_errors_name_the_controller():
    model = arm()
    state = model.state(**START)

    def run(controller, **more):
        lg.simulate(model, state, 0.01, controllers=[controller], method="rkmk-4", step=PERIOD, progress=False, **more)

    with pytest.raises(ModelError, match=r"controller 'servo': period is 0, must be > 0"):
        lg.Sampled(law, 0.0, name="servo")
    with pytest.raises(ModelError, match=r"controller 'servo': delay is -1, must be ≥ 0"):
        lg.Sampled(law, 1.0, delay=-1.0, name="servo")
    with pytest.raises(ModelError, match=r"controller 'law': delay is 20000, expected at most 10000 periods"):
        lg.Sampled(law, 1.0, delay=2e4)
    with pytest.raises(ModelError, match=r"controller 'servo': offset is nan, expected a finite time"):
        lg.Sampled(law, 1.0, offset=np.nan, name="servo")
    with pytest.raises(ModelError, match=r"function is 3, expected a function"):
        lg.Sampled(3, 1.0)
    with pytest.raises(ModelError, match=r"measure is 3, expected names"):
        lg.Sampled(law, 1.0, measure=3)
    with pytest.raises(ModelError, match=r"memory is -1, expected how many numbers"):
        lg.Sampled(law, 1.0, memory=-1)
    with pytest.raises(ModelError, match=r"initial is 'a', expected a finite number"):
        lg.Sampled(law, 1.0, initial="a")
    with pytest.raises(
        InputError, match=r"controller 'law': measure names 'sholder.angle', which is neither(.|\n)*Did you mean"
    ):
        run(lg.Sampled(law, PERIOD, ["sholder.angle"], ["motor"]))
    with pytest.raises(
        InputError, match=r"controller 'law': outputs names 'mator', which is no joint(.|\n)*Did you mean 'motor'"
    ):
        run(lg.Sampled(law, PERIOD, ["shoulder.angle"], ["mator"]))
    with pytest.raises(
        InputError, match=r"controller 'law': outputs names 'motor', which inputs\['motor'\] drives too"
    ):
        run(lg.Sampled(law, PERIOD, ["shoulder.angle"], ["motor"]), inputs={"motor": 1.0})
    with pytest.raises(InputError, match=r"outputs names 'motor', which controller 'a' drives too"):
        lg.simulate(model, state, 0.01, controllers=[sampled(name="a"), sampled(name="b")], progress=False)
    with pytest.raises(InputError, match=r"there are two with the name 'a'"):
        lg.simulate(model, state, 0.01, controllers=[sampled(name="a"), sampled(name="a")], progress=False)
    with pytest.raises(InputError, match=r"controllers: 3 is no controller"):
        run(3)
    with pytest.raises(InputError, match=r"inputs\['elbow'\] is a sampled controller with the outputs \['motor'\]"):
        lg.simulate(model, state, 0.01, inputs={"elbow": sampled()}, progress=False)
    with pytest.raises(InputError, match=r"initial of 'initial' is .* expected a number or 1 numbers"):
        run(lg.Sampled(law, PERIOD, [], ["motor"], initial=[1.0, 2.0]))
    with pytest.raises(
        SimulationError, match=r"at t = 0 s: controller '<lambda>' returned \[1, 2\] .* expected a number"
    ):
        run(lg.Sampled(lambda t, y: [1, 2], PERIOD, [], ["motor"]))
    with pytest.raises(SimulationError, match=r"at t = 0.003 s: controller 'bad' gave an output that is not a finite"):
        run(lg.Sampled(lambda t, y: np.nan if t > 0.0025 else 0.0, PERIOD, [], ["motor"], name="bad"))
    with pytest.raises(SimulationError, match=r"division by zero") as caught:
        run(lg.Sampled(lambda t, y: 1.0 / (0.0 if t > 0.0045 else 1.0), PERIOD, [], ["motor"]))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.result.t[-1] == pytest.approx(0.005)


def test_an_input_that_fails_where_a_controller_measures_ends_the_run():
    model = arm()

    def fails(t):
        if t > 0.0035:
            raise RuntimeError("no value there")
        return 0.0

    with pytest.raises(SimulationError, match=r"no value there") as caught:
        lg.simulate(
            model, model.state(), 0.01, inputs={"elbow": fails}, controllers=[sampled()],
            method="lie-euler", step=PERIOD, output="steps", progress=False,
        )  # fmt: skip
    assert caught.value.result.t[-1] == pytest.approx(0.004)


def test_ctrl_c_in_a_controller_returns_what_there_is():
    model = cart()

    def stops(t, y):
        if t > 0.0195:
            raise KeyboardInterrupt
        return 1.0

    controller = lg.Sampled(stops, PERIOD, [], ["x"])
    run = lg.simulate(model, model.state(), 1.0, controllers=[controller], progress=False)
    assert not run.info.finished
    assert run.t[-1] == pytest.approx(0.02, abs=2e-3)


def test_a_period_in_a_wrong_unit_is_noticed():
    model = arm()
    with pytest.raises(
        InputError, match=r"controller 'fast' samples 1e\+12 times in this run, expected at most 1e\+09"
    ):
        lg.simulate(model, model.state(), 1.0, controllers=[lg.Sampled(law, 1e-12, name="fast")], progress=False)


def test_a_prescribed_motion_is_no_output():
    tree = arm().tree
    model = lm.Tree(tree.bodies, tree.joints, loops=[lm.Motion(name="drive", joint="shoulder", law=0.0)]).compile()
    with pytest.raises(InputError, match=r"outputs names 'drive', a prescribed motion, which cannot jump"):
        lg.simulate(
            model,
            model.state(),
            0.01,
            controllers=[lg.Sampled(lambda t, y: 0.0, PERIOD, [], ["drive"])],
            progress=False,
        )
