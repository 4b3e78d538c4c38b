"""Events that change a motion: rigid stops, locks, welds and triggers, against closed forms and SciPy.

Times of events come from steps of the method itself, so that they are exact where the method is (ballistic flight), and
converge with its order elsewhere.
"""

from __future__ import annotations

import contextlib
import sys

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import liegeo as lg
from liegeo import cli
from liegeo.errors import InputError, ModelError, ModelFileError, SimulationError
from liegeo.model import Actuator

G = 9.81
METHODS = (("rkmk-54", None), ("adaptive-alpha-0.8", None), ("rkmk-4", 0.01), ("generalised-alpha-0.8", 0.01))
MORE = (("midpoint", 0.01), ("rkmk-32", None), ("crouch-grossman-4", 0.01))


def slide(name, parent="world", child="ball", axis=(0, 0, 1), **more):
    return lg.Prismatic(name=name, parent=parent, child=child, axis=axis, **more)


def point(name, mass=2.0):
    return lg.Body(name=name, mass=mass, inertia=0.1 * np.eye(3))


def bar(name, mass=1.0, length=1.0):
    inertia = np.diag([mass * length**2 / 12.0] * 2 + [1e-3])
    return lg.Body(name=name, mass=mass, com=(0, 0, -length / 2), inertia=inertia, frames={"end": (0, 0, -length)})


def hinge(name, parent, child, **more):
    return lg.Revolute(name=name, parent=parent, child=child, axis=(0, 1, 0), **more)


def ball(e=0.5, rest=1e-6, forces=(), events=(), **more):
    floor = lg.RigidStop(name="floor", joint="z", lower=0.0, restitution=e, rest_speed=rest)
    return lg.Tree([point("ball")], [slide("z")], loops=[floor], forces=forces, events=events, **more).compile()


def run(model, state, end, method=("rkmk-54", None), **more):
    return lg.simulate(model, state, end, method=method[0], step=method[1], progress=False, **more)


# ---- rigid stops


@pytest.mark.parametrize("method", [*METHODS, *(pytest.param(m, marks=pytest.mark.slow) for m in MORE)])
def test_a_ball_bounces_as_in_the_closed_form(method):
    """Impact k is at t₀ (1 + 2e + … + 2eᵏ), and what is left of an energy E is e² E; it rests at t₀ (1 + e)/(1 − e)."""
    e, model = 0.5, ball()
    found = run(model, model.state(q={"z": 1.0}), 3.0, method)
    t0 = np.sqrt(2.0 / G)
    n = len(found.events)
    expected = t0 * (1.0 + 2.0 * np.cumsum([0.0, *e ** np.arange(1.0, n)]))
    # ballistic flight: every method is exact but for first-order ones, and round-off adds up over the impacts
    assert np.abs([event.t for event in found.events] - expected).max() < 1e-11
    # the last impact is slower than rest_speed, and takes all that is left
    start = 2.0 * G
    lost = [-start * e ** (2 * k) * (1.0 - e**2) for k in range(n - 1)]
    assert np.abs([event.energy for event in found.events[:-1]] - np.array(lost)).max() < 1e-11 * start
    assert n == 1 + int(np.ceil(np.log(np.sqrt(2.0 * G) / 1e-6) / np.log(1.0 / e)))
    assert t0 * (1.0 + e) / (1.0 - e) - found.events[-1].t < 2e-6 / (G * (1.0 - e))
    assert abs(found["z.position"][-1]) < 1e-12
    assert abs(found["z.speed"][-1]) < 1e-12
    assert found["floor.mode"][-1] == 1.0
    assert found["floor.tau"][-1] == pytest.approx(2.0 * G, rel=1e-12)
    # of the whole run nothing is missing but what a step of the method loses
    assert abs(found.info.energy.defect) < 1e-9 * start
    assert found.info.energy.dissipated == pytest.approx(start, rel=1e-9)


@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
def test_rods_that_meet_keep_their_momentum(e):
    """Newton's law for two rods on a line: momentum stays, and ½ μ (1 − e²) c² is lost, μ the reduced mass."""
    rods = [point("left", 3.0), point("right", 1.0)]
    joints = [slide("x", child="left", axis=(1, 0, 0)), slide("gap", "left", "right", (1, 0, 0))]
    end = lg.RigidStop(name="end", joint="gap", lower=0.0, restitution=e)
    model = lg.Tree(rods, joints, loops=[end]).compile()
    # the right one stands still and the left one comes with 2 m/s
    found = run(model, model.state(q={"gap": 1.0}, v={"x": 2.0, "gap": -2.0}), 1.0, ("rkmk-4", 0.03))
    assert found.events[0].t == pytest.approx(0.5, abs=1e-14)
    left, right = found["x.speed"][-1], found["x.speed"][-1] + found["gap.speed"][-1]
    assert left == pytest.approx((3.0 - e) * 2.0 / 4.0, abs=1e-13)
    assert right == pytest.approx((1.0 + e) * 3.0 * 2.0 / 4.0, abs=1e-13)
    assert found.events[0].energy == pytest.approx(-0.5 * 0.75 * (1.0 - e**2) * 4.0, abs=1e-13)


def test_two_that_meet_at_one_instant():
    """Two balls that fall side by side, and one that is thrown: each as if it were alone."""
    names = ("a", "b", "c")
    stops = [lg.RigidStop(name=f"floor_{k}", joint=k, lower=0.0, restitution=0.5, rest_speed=1e-3) for k in names]
    tree = lg.Tree([point(f"ball_{k}") for k in names], [slide(k, child=f"ball_{k}") for k in names], loops=stops)
    model = tree.compile()
    found = run(model, model.state(q=dict.fromkeys(names, 1.0), v={"c": 1.0}), 1.0)
    alone = run(one := ball(), one.state(q={"z": 1.0}), 1.0)
    for k in ("a", "b"):
        assert np.abs(found[f"{k}.position"] - alone["z.position"]).max() < 1e-12
        assert next(x.t for x in found.events if x.name == f"floor_{k}") == pytest.approx(np.sqrt(2.0 / G), abs=1e-14)
    first = (1.0 + np.sqrt(1.0 + 2.0 * G)) / G
    assert next(x.t for x in found.events if x.name == "floor_c") == pytest.approx(first, abs=1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_a_ball_at_rest_is_lifted_when_the_force_pulls(method):
    """With the force 10 t N it leaves the floor at m g = 10 t, and then z = (t − t₀)³ 10/(6 m)."""
    model = ball(0.0, forces=[Actuator(name="lift", joint="z")])
    inputs = {"lift": ([0.0, 10.0], [0.0, 100.0])}
    found = run(model, model.state(), 4.0, method, inputs=inputs)
    t0 = 2.0 * G / 10.0
    assert [event.name for event in found.events] == ["floor", "floor"]
    assert found.events[0].t == 0.0
    assert found.events[1].t == pytest.approx(t0, abs=1e-11)
    # methods of order two lose h² of the jerk
    assert found["z.position"][-1] == pytest.approx((4.0 - t0) ** 3 * 10.0 / 12.0, rel=3e-4)
    assert np.abs(found["z.position"][found.t < t0]).max() < 1e-13


def test_a_stop_that_is_met_and_left_within_one_step_is_met():
    """A mass on a spring swings 1e-4 m beyond its stop, for a tenth of a step; and 1e-4 m less, where nothing is."""
    for amplitude, impacts in ((1.0001, 1), (0.9999, 0)):
        stop = lg.RigidStop(name="stop", joint="z", upper=1.0, restitution=1.0)
        spring = slide("z", stiffness=2.0)
        model = lg.Tree([point("ball")], [spring], loops=[stop], gravity=(0, 0, 0)).compile()
        # from −1.0001 m, at half of a period; h is 0.1 s, and it is beyond for 0.03 s
        state = model.state(q={"z": -amplitude})
        found = run(model, state, 4.0, ("rkmk-4", 0.1))
        assert len(found.events) == impacts
        for event in found.events:
            assert event.t == pytest.approx(np.pi - np.arccos(1.0 / amplitude), abs=1e-4)
        assert found["z.position"].max() < 1.0 + 1e-9


def four_bar(e):
    bodies, stop = [bar(k) for k in ("a", "b", "c")], lg.RigidStop(name="stop", joint="h1", upper=0.3, restitution=e)
    joints = [
        hinge("h1", "world", "a"),
        hinge("h2", "a", "b", at="end"),
        hinge("h3", "world", "c", at=(1.0, 0, 0)),
    ]
    closing = hinge("close", "b", "c", at="end", child_at="end")
    return lg.Tree(bodies, joints, loops=[closing, stop]).compile()


@pytest.mark.parametrize("method", METHODS)
def test_a_stop_in_a_loop_keeps_it_closed(method):
    """A four-bar linkage meets its stop: the speed is reversed by e, all others follow, and the loop stays closed."""
    model = four_bar(0.5)
    start = lg.assemble(model, model.state(q={"h1": 0.1, "h2": -1.6, "h3": 0.1}, v={"h1": 2.0}), keep=["h1"])
    found = run(model, start, 0.4, method, output="steps")
    when = found.events[0].t
    k = int(np.searchsorted(found.t, when - 1e-12))
    before = found["h1.speed"][k]
    after = lg.simulate(
        model,
        lg.model.State(found.q[k], found.v[k], found.t[k]),
        when + 1e-7,
        method="rkmk-4",
        step=1e-8,
        progress=False,
    )
    assert after["h1.speed"][-1] == pytest.approx(-0.5 * before, rel=1e-4)
    # energies of the three bars: what a mechanism of one degree of freedom loses is 1 − e² of its kinetic energy
    kinetic = found["energy.kinetic"][k]
    assert found.events[0].energy == pytest.approx(-0.75 * kinetic, rel=1e-9)
    assert found["h1.angle"].max() < 0.3 + 1e-9
    check = lg.assembly.project(model, found.state(len(found) - 1))
    assert np.abs(check.q - found.q[-1]).max() < 1e-9


# ---- locks and welds


def double(loops=(), **more):
    bars = [bar("upper"), bar("lower")]
    joints = [hinge("shoulder", "world", "upper"), hinge("elbow", "upper", "lower", at="end")]
    return lg.Tree(bars, joints, loops=loops, **more).compile()


@pytest.mark.parametrize("method", METHODS)
def test_a_lock_of_a_hinge_keeps_the_angular_momentum_about_the_other(method):
    """ω = (M₁₁ v₁ + M₁₂ v₂)/M₁₁: the angular momentum about the shoulder over the inertia of the stiff arm."""
    brake = lg.Lock(name="brake", joint="elbow")
    grab = lg.Trigger(name="grab", signal="time", value=0.37, engage=["brake"])
    model = double([brake], events=[grab])
    start = model.state(q={"shoulder": 0.4, "elbow": 0.7}, v={"shoulder": 1.0, "elbow": -3.0})
    # the step of equal ones does not lead there
    found = run(model, start, 0.8, method, output=[0.0, 0.3699999999, 0.370000001, 0.5, 0.8])
    assert [(event.name, event.t) for event in found.events] == [("grab", 0.37)]
    M = lg.mass_matrix(model, found.state(2))
    v = found.v[1]
    assert found.v[2, 0] == pytest.approx((M[0] @ v) / M[0, 0], rel=1e-7)
    # the coordinate stays where it was, to the last bit but round-off
    assert abs(found["elbow.angle"][-1] - found["elbow.angle"][2]) < 1e-13
    assert np.abs(found["elbow.speed"][2:]).max() < 1e-12
    assert found.events[0].energy < 0.0
    assert found["brake.mode"].tolist() == [0.0, 0.0, 1.0, 1.0, 1.0]


def test_a_lock_is_released_and_holds_a_ball_joint():
    """The lock of a spherical joint holds three speeds; released, it moves on as from rest."""
    lock = lg.Lock(name="grip", joint="ball", engaged=True)
    free = lg.Trigger(name="free", signal="time", value=0.5, release=["grip"])
    arm = lg.Body(name="arm", mass=1.0, com=(0.3, 0.1, -0.4), inertia=np.diag([0.2, 0.3, 0.1]))
    joint = lg.Spherical(name="ball", parent="world", child="arm")
    model = lg.Tree([arm], [joint], loops=[lock], events=[free]).compile()
    found = run(model, model.state(), 1.0, ("rkmk-4", 0.003))
    held = found.t <= 0.5
    assert np.abs(found.q[held] - found.q[0]).max() < 1e-15
    plain = lg.Tree([arm], [joint]).compile()
    alone = run(plain, plain.state(), 0.5, ("rkmk-54", None), rtol=1e-11, atol=1e-13)
    assert np.abs(found.v[-1] - alone.v[-1]).max() < 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_a_body_is_caught_in_flight(method):
    """Two tumbling bodies are welded: linear and angular momentum stay to round-off, and so does the relative pose."""
    rng = np.random.default_rng(3)
    bodies = [
        lg.Body(name=k, mass=m, com=c, inertia=np.diag([0.4, 0.5, 0.3]) * m, frames={"hook": (0.1, 0.2, 0.3)})
        for k, m, c in (("ship", 4.0, (0.1, 0.0, 0.2)), ("probe", 1.5, (0.0, 0.2, 0.0)))
    ]
    joints = [lg.Free(name=f"{b.name}_flight", parent="world", child=b.name) for b in bodies]
    grip = lg.Weld(name="grip", a="ship.hook", b="probe.hook")
    catch = lg.Trigger(name="catch", signal="time", value=0.21, engage=["grip"])
    model = lg.Tree(bodies, joints, gravity=(0, 0, 0), loops=[grip], events=[catch]).compile()
    v = {f"{b.name}_flight": rng.normal(size=6) for b in bodies}
    start = model.state(q={"probe_flight": [1, 0, 0, 0, 1.0, 0.5, 0.2]}, v=v)
    options = {} if method[1] else {"rtol": 1e-7, "atol": 1e-9}
    found = run(model, start, 0.5, method, output=[0.0, 0.209999999999, 0.2100000000001, 0.4, 0.5], **options)
    before, after = lg.dynamics.balance(model, found.state(1)), lg.dynamics.balance(model, found.state(2))
    # about the origin of the world, both of them
    assert np.abs(np.asarray(after.momentum) - np.asarray(before.momentum)).max() < 1e-11
    assert found.events[0].energy < 0.0

    def apart(k):
        poses = [np.eye(4), np.eye(4)]
        state = found.state(k)
        for i, name in enumerate(("ship.hook", "probe.hook")):
            poses[i] = lg.dynamics.frame_pose(model, state, name)
        return np.linalg.inv(poses[0]) @ poses[1]

    for k in (3, 4):
        assert np.abs(apart(k) - apart(2)).max() < 1e-10
    assert np.abs(apart(1) - apart(0)).max() > 0.05


def test_an_engaged_lock_holds_in_dynamics_and_linear_models_too():
    """As the elbow were fixed: accelerations, and the frequency of the stiff arm; without inputs for switches."""
    model = double([lg.Lock(name="brake", joint="elbow", engaged=True)])
    state = model.state(q={"shoulder": 0.3, "elbow": 0.5})
    a = lg.forward_dynamics(model, state)
    M, free = lg.mass_matrix(model, state), double()
    bias = lg.inverse_dynamics(free, free.state(q={"shoulder": 0.3, "elbow": 0.5}))
    assert a == pytest.approx([-bias[0] / M[0, 0], 0.0], abs=1e-12)
    off = lg.forward_dynamics(model, state, inputs={"brake.mode": 0.0})
    assert off == pytest.approx(np.linalg.solve(M, -bias))
    assert lg.linearise(model, model.state()).inputs == ()
    found = run(model, state, 1.0, ("rkmk-4", 0.01))
    assert np.ptp(found["elbow.angle"]) < 1e-13


# ---- triggers


def test_an_input_is_set_where_a_coordinate_passes_a_value():
    """A motor that drives an arm is switched off at 1 rad and brakes at 2: angle and time in closed form."""
    arm = lg.Body(name="arm", mass=1.0, inertia=np.eye(3) * 0.5)
    model = lg.Tree(
        [arm],
        [hinge("axle", "world", "arm")],
        forces=[Actuator(name="motor", joint="axle")],
        events=[
            lg.Trigger(name="off", signal="axle.angle", value=1.0, direction="rising", set={"motor": 0.0}),
            lg.Trigger(
                name="brake", signal="axle.angle", value=2.0, direction="rising", set={"motor": -2.0}, once=True
            ),
        ],
        gravity=(0, 0, 0),
    ).compile()
    for method in (("rkmk-54", None), ("rkmk-4", 0.07), ("generalised-alpha-0.8", 0.07)):
        found = run(model, model.state(), 2.5, method, inputs={"motor": 1.0})
        # ½ 2 t² = 1; with 2 rad/s on to 2 rad; then −4 rad/s²
        assert [event.name for event in found.events] == ["off", "brake"]
        assert found.events[0].t == pytest.approx(1.0, abs=1e-13)
        assert found.events[1].t == pytest.approx(1.5, abs=1e-13)
        assert found["axle.angle"][-1] == pytest.approx(2.0 + 2.0 - 2.0, abs=1e-11)
        assert found["motor.input"][[0, 602, -1]].tolist() == [1.0, -2.0, -2.0]


def test_times_converge_with_the_order_of_the_method():
    """A pendulum passes its lowest point: the time of a switch has the order of the method, 4."""
    model = double(events=[lg.Trigger(name="low", signal="shoulder.angle", set={"shoulder": 0.0}, once=True)])
    start = model.state(q={"shoulder": 1.2, "elbow": 0.3})
    exact = run(model, start, 1.0, ("rkmk-54", None), rtol=1e-13, atol=1e-13).events[0].t
    errors = [abs(run(model, start, 1.0, ("rkmk-4", h)).events[0].t - exact) for h in (0.02, 0.01, 0.005)]
    slopes = np.log2(np.divide(errors[:-1], errors[1:]))
    # the next term of the error is still there
    assert np.abs(slopes - 4.0).max() < 0.5


def test_scipy_finds_the_same():
    """A mass on a spring with a rigid stop, gravity, and a motor that an event reverses, beside solve_ivp."""
    stop = lg.RigidStop(name="stop", joint="z", lower=-0.5, restitution=0.7)
    turn = lg.Trigger(name="turn", signal="z.speed", value=1.0, direction="rising", set={"push": -5.0})
    tree = lg.Tree(
        [point("ball")], [slide("z", stiffness=50.0, damping=0.3)], loops=[stop], events=[turn],
        forces=[Actuator(name="push", joint="z")],
    )  # fmt: skip
    model = tree.compile()
    state = model.state(q={"z": 0.4})
    found = run(model, state, 3.0, ("rkmk-54", None), rtol=1e-12, atol=1e-13, inputs={"push": 5.0}, output=0.1)

    push, t, y, times = 5.0, 0.0, [0.4, 0.0], []
    while t < 3.0 - 1e-12:

        def rate(_, y, push=push):
            return [y[1], (push - 50.0 * y[0] - 0.3 * y[1]) / 2.0 - G]

        def meets(_, y):
            return y[0] + 0.5

        def fast(_, y):
            return y[1] - 1.0

        meets.terminal = fast.terminal = True
        meets.direction, fast.direction = -1, 1
        part = solve_ivp(rate, (t, 3.0), y, events=[meets, fast], rtol=1e-12, atol=1e-13)
        t, y = part.t[-1], part.y[:, -1].copy()
        if len(part.t_events[0]):
            times.append(("stop", t))
            before, y[1] = y[1], -0.7 * y[1]
            if before < 1.0 <= y[1]:
                times.append(("turn", t))
                push = -5.0
        elif len(part.t_events[1]):
            times.append(("turn", t))
            push = -5.0
            y[1] = 1.0 + 1e-15
    assert [event.name for event in found.events] == [name for name, _ in times]
    # each impact hands the error of its time to the next flight
    assert np.abs([event.t for event in found.events] - np.array([when for _, when in times])).max() < 1e-9
    assert found["z.position"][-1] == pytest.approx(y[0], abs=1e-9)


def test_a_command_switches_a_lock():
    """An input that jumps at 0.3 and 0.6 s, or a controller that gives it: on from one half upwards."""
    model = double([lg.Lock(name="brake", joint="elbow", commanded=True)])

    def command(t):
        return 1.0 if 0.3 <= t < 0.6 else 0.0

    command.breaks = [0.3, 0.6]
    start = model.state(q={"shoulder": 0.4}, v={"elbow": 2.0})
    fine = {"output": 0.01, "rtol": 1e-11, "atol": 1e-12}
    found = run(model, start, 1.0, inputs={"brake": command}, **fine)
    assert [(event.name, event.t) for event in found.events] == [("brake", 0.3), ("brake", 0.6)]
    held = (found.t > 0.3 + 1e-9) & (found.t < 0.6 - 1e-9)
    assert np.ptp(found["elbow.angle"][held]) < 1e-13
    assert np.ptp(found["elbow.angle"][~held]) > 0.1
    assert found["brake.tau"][held].min() != 0.0
    sampled = lg.Sampled(lambda t, y: command(t + 1e-9), 0.1, (), ("brake",))
    other = run(model, start, 1.0, controllers=[sampled], **fine)
    assert np.abs(other["elbow.angle"] - found["elbow.angle"]).max() < 1e-9


def test_a_run_goes_on_from_a_checkpoint(tmp_path):
    """Interrupted between two impacts, with the same bits."""
    model = ball(0.9, 1e-3)
    start, whole = model.state(q={"z": 1.0}), None
    whole = run(model, start, 3.0, ("rkmk-4", 0.001))

    class EnoughError(Exception):
        pass

    def watch(result):
        if result.t[-1] > 1.0:
            raise EnoughError

    file = tmp_path / "run"
    with pytest.raises(EnoughError):
        run(model, start, 3.0, ("rkmk-4", 0.001), checkpoint=file, checkpoint_every=0.0, watch=watch)
    again = run(model, start, 3.0, ("rkmk-4", 0.001), checkpoint=file)
    assert again.q.tobytes() == whole.q.tobytes()
    assert again.events == whole.events


# ---- what is wrong


def test_events_without_end_are_an_error():
    ping = lg.Trigger(name="ping", signal="motor.input", value=0.5, direction="rising", set={"motor": 0.0})
    pong = lg.Trigger(name="pong", signal="motor.input", value=0.5, direction="falling", set={"motor": 1.0})
    tree = lg.Tree([point("ball")], [slide("z")], forces=[Actuator(name="motor", joint="z")], events=[ping, pong])
    go = lg.Trigger(name="go", signal="time", value=0.1, set={"motor": 1.0})
    model = lg.Tree(tree.bodies, tree.joints, forces=tree.forces, events=[ping, pong, go]).compile()
    with pytest.raises(SimulationError, match="events follow from one another without end"):
        run(model, model.state(), 1.0)


@pytest.mark.parametrize(
    ("trigger", "text"),
    [
        ({"signal": "z.sped", "set": {"z": 1.0}}, "'z.sped' is neither a column nor can it be computed"),
        ({"signal": "ball.position", "set": {"z": 1.0}}, "'ball.position' is 3 numbers, expected one"),
        ({"signal": "time", "engage": ["flor"]}, "'flor' is no lock or weld among the loops"),
        ({"signal": "time", "set": {"flor": 1.0}}, "'flor' is no joint and no force element"),
        ({"signal": "time", "set": {"floor.mode": 1.0}}, "'floor.mode' cannot be set"),
        ({"signal": "time", "set": {"free": 1.0}}, "'free' has 6 numbers, expected one"),
    ],
)
def test_what_is_wrong_with_a_trigger(trigger, text):
    bodies = [point("ball"), point("other")]
    joints = [slide("z"), lg.Free(name="free", parent="world", child="other")]
    floor = lg.RigidStop(name="floor", joint="z", lower=0.0)
    model = lg.Tree(bodies, joints, loops=[floor], events=[lg.Trigger(name="t", **trigger)]).compile()
    with pytest.raises(ModelError, match=text):
        run(model, model.state(), 1.0)


def test_what_is_wrong_with_a_run():
    model = ball()
    with pytest.raises(
        InputError, match="joint 'z' is at -1 at the start, expected 0 to inf, the limits of rigid stop"
    ):
        run(model, model.state(q={"z": -1.0}), 1.0)
    stop = lg.RigidStop(name="s", joint="ball", lower=0.0)
    joint = lg.Spherical(name="ball", parent="world", child="arm")
    with pytest.raises(ModelError, match="a speed of joint 'ball' is one of a group"):
        lg.Tree([point("arm")], [joint], loops=[stop]).compile()
    off = lg.Trigger(name="off", signal="time", value=0.5, set={"motor": 0.0})
    motor = Actuator(name="motor", joint="z")
    model = lg.Tree([point("ball")], [slide("z")], forces=[motor], events=[off]).compile()
    with pytest.raises(ModelError, match="'motor' is driven by something that changes in time"):
        run(model, model.state(), 1.0, inputs={"motor": lambda t: t})
    law = lg.Sampled(lambda t, y: 0.0, 0.1, (), ("motor",), name="law")
    with pytest.raises(InputError, match="event 'off' sets what controller 'law' drives"):
        run(model, model.state(), 1.0, controllers=[law])


# ---- files and the command line


FILE = """
liegeo: 1
name: ball
bodies: {ball: {kind: rigid, mass: 2 kg, inertia: [0.1, 0.1, 0.1]}}
joints: {z: {kind: prismatic, parent: world, child: ball, axis: [0, 0, 1]}}
forces: {motor: {kind: actuator, joint: z}}
loops: {floor: {kind: rigid_stop, joint: z, lower: 0 m, restitution: 0.5, rest_speed: 1 mm/s}}
events: {lift: {signal: time, value: 2, set: {motor: 30}}}
initial: {q: {z: 1 m}}
experiment: {end: 2.5 s}
"""


def test_a_model_file_and_the_command_line(tmp_path, capsys, monkeypatch):
    """The file gives the run of the same model in Python, and the summary counts events."""
    file = tmp_path / "ball.yaml"
    file.write_text(FILE)
    motor = Actuator(name="motor", joint="z")
    model = ball(0.5, 1e-3, [motor], [lg.Trigger(name="lift", signal="time", value=2.0, set={"motor": 30.0})])
    found, run_ = lg.load(file).simulate(progress=False), run(model, model.state(q={"z": 1.0}), 2.5, (None, None))
    assert found.q.tobytes() == run_.q.tobytes()
    assert found.events == run_.events
    monkeypatch.chdir(tmp_path)
    said = {}
    for command in ("simulate", "info"):
        monkeypatch.setattr(sys, "argv", ["liegeo", command, str(file)])
        with contextlib.suppress(SystemExit):
            cli.main()
        said[command] = capsys.readouterr().out
    assert f"floor {len(found.events) - 1}, lift 1" in said["simulate"]
    assert "event where time passes 2" in said["info"]


def test_a_trigger_that_leads_nowhere_is_reported_where_it_stands(tmp_path):
    file = tmp_path / "wrong.yaml"
    file.write_text(FILE.replace("signal: time", "signal: z.angel"))
    with pytest.raises(ModelFileError, match=r"wrong\.yaml:8:17: event 'lift': 'z\.angel' is neither a column"):
        lg.load(file)
