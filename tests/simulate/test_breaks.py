"""Inputs that jump: a step ends there, whatever the method, and what it remembers does not cross.

A sled under a force that is constant from jump to jump has a position of second degree between them: every method of
order two or more is exact to round-off if, and only if, no step crosses a jump and each side of it is asked for itself.
"""

import numpy as np
import pytest
from scipy.interpolate import PPoly

import liegeo as lg
import liegeo.model as lm
from fmu_export.machine import Machine
from fmu_export.variables import Settings
from liegeo.integrate import ALL_ADAPTIVE, ALL_INTEGRATORS, RKMK4, Problem, solve
from liegeo.motion import Drive

JUMPS, FORCES, END = (0.337, 0.7110001), (2.0, -3.0, 0.5), 1.0
SLED = """
liegeo: 1
name: sled
gravity: [0, 0, 0]
bodies:
  sled: {kind: rigid, mass: 1 kg, inertia: [1, 1, 1]}
joints:
  rail: {kind: prismatic, parent: world, child: sled, axis: [1, 0, 0]}
forces:
  motor: {kind: actuator, joint: rail}
experiment:
  end: 1 s
  inputs:
    motor:
      pieces:
        - {until: 0.337 s, value: 2 N}
        - {until: 0.7110001 s, value: -3 N}
        - {value: 0.5 N}
"""


def exact(t):
    """Position and speed: the sum of ½ a Δt² over the pieces."""
    x = v = 0.0
    for force, start, end in zip(FORCES, (0.0, *JUMPS), (*JUMPS, np.inf), strict=True):
        h = min(max(t - start, 0.0), end - start)
        x, v = x + v * h + 0.5 * force * h * h, v + force * h
    return x, v


def switched(t):
    return FORCES[sum(t >= jump for jump in JUMPS)]


switched.breaks = JUMPS
STEPS = PPoly(np.array([FORCES]), [0.0, *JUMPS, 2.0])


@pytest.fixture(scope="module")
def sled(tmp_path_factory):
    path = tmp_path_factory.mktemp("sled") / "sled.yaml"
    path.write_text(SLED, "utf-8")
    return lg.load(path)


@pytest.mark.parametrize("method", [*ALL_ADAPTIVE, *ALL_INTEGRATORS], ids=lambda m: m.name)
def test_every_method_ends_a_step_at_a_jump(sled, method):
    if method.order < 2 or method.properties & {"energy", "linear"}:
        pytest.skip("not exact for a constant force, or not for systems with inputs")
    options = {"rtol": 1e-7, "atol": 1e-9} if method.adaptive else {"step": 0.01}
    run = sled.simulate(method=method, output=[0.0, 0.2, *JUMPS, 0.9, END], progress=False, **options)
    found = np.stack([run["rail.position"], run["rail.speed"]], axis=1)
    bound = 1e-9 if method.name != "adaptive-alpha-0.8" else 1e-6
    assert found == pytest.approx(np.array([exact(t) for t in run.t]), abs=bound)


def test_steps_of_a_given_size_cross_jumps(sled):
    """`solve` makes just the steps that it is asked for: one across a jump is wrong by what the jump does in it."""
    model = sled.compile()
    state = model.state()
    problem = Problem.of(Drive(model, {"motor": switched}).system, state.q, state.w, END)
    run = solve(problem, RKMK4, 1000)
    assert run.end == pytest.approx(exact(END), abs=5e-3)
    assert abs(run.end[1] - exact(END)[1]) > 1e-6


@pytest.mark.parametrize("signal", [switched, STEPS], ids=["function", "table"])
@pytest.mark.parametrize("options", [{"method": "rkmk-54", "rtol": 1e-3}, {"method": "rkmk-4", "step": 0.2}])
def test_jumps_are_declared_from_python_too(sled, signal, options):
    run = sled.simulate(inputs={"motor": signal}, output="steps", progress=False, **options)
    assert set(JUMPS) <= set(run.t)
    assert run["rail.position"][-1] == pytest.approx(exact(END)[0], abs=1e-12)


def test_a_function_of_all_inputs_declares_its_jumps(sled):
    def everything(t, state):
        return {"motor": switched(t)}

    everything.breaks = list(JUMPS)
    run = sled.simulate(inputs=everything, progress=False, method="rkmk-54")
    assert run["rail.position"][-1] == pytest.approx(exact(END)[0], abs=1e-12)


@pytest.mark.parametrize("given", ["now", [np.inf], 3.0])
def test_breaks_that_are_no_times(sled, given):
    def wrong(t):
        return 0.0

    wrong.breaks = given
    with pytest.raises(lg.errors.InputError, match="its attribute `breaks` is"):
        sled.simulate(inputs={"motor": wrong})


def test_kinks_of_few_samples_are_ends_of_steps_and_of_many_are_not(sled):
    few = (np.array([0.0, 0.3, 1.0]), np.array([0.0, 1.0, -1.0]))
    many = (np.linspace(0.0, 1.0, 1001), np.sin(np.linspace(0.0, 300.0, 1001)))
    assert Drive(sled.compile(), {"motor": few}).system.breaks.times == (0.0, 0.3, 1.0)
    assert Drive(sled.compile(), {"motor": many}).system.breaks.times == ()
    smooth = PPoly(np.array([[1.0, 1.0], [0.0, 2.0], [0.0, 1.0]]), [0.0, 1.0, 2.0])
    assert Drive(sled.compile(), {"motor": smooth}).system.breaks.times == (2.0,)


def test_a_prescribed_speed_jumps():
    """Where a law has a kink its joint is hit: the speed after it is the law's, the rest keeps its own."""

    def law(t):
        return (t, 1.0, 0.0) if t < 0.35 else (0.35 - 2.0 * (t - 0.35), -2.0, 0.0)

    law.breaks = [0.35]
    tree = lm.Tree(
        [lm.Body("cart", mass=1.0, inertia=np.eye(3)), lm.Body("load", mass=2.0, inertia=np.eye(3))],
        [
            lm.Prismatic(name="a", parent="world", child="cart", axis=(1, 0, 0)),
            lm.Prismatic(name="b", parent="cart", child="load", axis=(1, 0, 0)),
        ],
        gravity=(0.0, 0.0, 0.0),
        loops=[lm.Motion(name="m", joint="a", law=law)],
    )
    model = tree.compile()
    for options in (
        {"method": "rkmk-54"},
        {"method": "rkmk-4", "step": 0.1},
        {"step": 0.1},
        {"method": "adaptive-alpha-0.8"},
    ):
        run = lg.simulate(model, lg.assemble(model), 1.0, output="steps", progress=False, **options)
        assert run["a.speed"][-1] == pytest.approx(-2.0, abs=1e-9)
        assert run["a.position"][-1] == pytest.approx(0.35 - 1.3, abs=1e-9)
        # no force along the rail acts on the load
        assert run["a.position"][-1] + run["b.position"][-1] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("options", [{"method": "rkmk-54"}, {"method": "generalised-alpha-0.8", "step": 1e-3}])
def test_a_checkpoint_knows_on_which_side_of_a_jump_it_is(sled, tmp_path, options):
    """Ctrl-C in each piece of the run; what goes on has the bits of a run that was never interrupted."""
    untouched = sled.simulate(inputs={"motor": switched}, progress=False, **options)
    for when in (0.1, 0.5, 0.9):

        def interrupt(t, when=when):
            if t > when:
                raise KeyboardInterrupt
            return switched(t)

        interrupt.breaks = JUMPS
        path = tmp_path / "sled.checkpoint"
        assert not sled.simulate(inputs={"motor": interrupt}, checkpoint=path, progress=False, **options).info.finished
        run = sled.simulate(inputs={"motor": switched}, checkpoint=path, progress=False, **options)
        assert run.q.tobytes() == untouched.q.tobytes()


@pytest.mark.parametrize("method", ["rkmk-54", "rkmk-4", "generalised-alpha-0.8", "adaptive-alpha-0.8"])
@pytest.mark.parametrize("size", [0.05, 0.337, 1.0])
def test_an_fmu_ends_steps_at_the_jumps_of_its_own_inputs(sled, method, size):
    """Communication steps that cross jumps, and such that end at one."""
    settings = Settings(method, 0.01, rtol=1e-7, atol=1e-9, extrapolation="hold")
    machine = Machine(
        sled, settings, [], [], inputs=np.zeros(0), initial={}, gravity={}, start=0.0, stop=END
    )  # fmt: skip
    saved = machine.snapshot()
    for _ in range(2):
        n = int(END / size)
        for k in range(n):
            machine.step(k * size, size)
        if n * size < END:
            machine.step(n * size, END - n * size)
        bound = 1e-9 if method != "adaptive-alpha-0.8" else 1e-6
        assert machine.stepper.y == pytest.approx(exact(END), abs=bound)
        # back to the beginning, on the other side of the jumps
        machine.restore(saved)


def test_a_fixed_step_fmu_has_the_bits_of_simulate_across_jumps(sled):
    """A jump on the grid of internal steps: the same steps, counted from the jump."""
    settings = Settings("rkmk-4", 0.0337, rtol=1e-7, atol=1e-9, extrapolation="hold")
    machine = Machine(sled, settings, [], [], inputs=np.zeros(0), initial={}, gravity={}, start=0.0, stop=END)
    for k in range(2):
        machine.step(k * 0.337, 0.337)
    run = sled.simulate(t_end=0.674, method="rkmk-4", step=0.0337, progress=False)
    assert machine.stepper.y.tobytes() == np.concatenate([run.q[-1], run.v[-1]]).tobytes()
