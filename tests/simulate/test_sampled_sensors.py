"""Sensors that sample: exact at their instants, held between them, with noise by seed, name and number alone.

The generator is compared with the known answers that its authors publish; what becomes of its words with statistics
whose bounds are four standard errors.
"""

from __future__ import annotations

import numpy as np
import pytest

import liegeo as lg
from liegeo import model as lm
from liegeo.errors import InputError
from liegeo.integrate import Event
from liegeo.kernels import sensing
from liegeo.model.sensors import Sampling
from liegeo.results import Result, RunInfo

# Random123's kat_vectors of threefry2x32 with 20 rounds: counter, key, words.
KNOWN = [
    ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_threefry_has_its_known_answers(counter, key, words):
    assert sensing.threefry(*counter, *key) == words


def numbers(n=20_000, seed=1, stream=2, first=0):
    return np.array([sensing.normal(first + k, seed, stream) for k in range(n)])


def test_noise_is_normal_and_white():
    """Mean, variance, fourth moment, share beyond 1σ and 2σ, and correlations at lags up to 20, within 4σ each."""
    x, n = numbers(), 20_000
    assert abs(x.mean()) < 4 / np.sqrt(n)
    assert abs(x.var() - 1.0) < 4 * np.sqrt(2 / n)
    assert abs((x**4).mean() - 3.0) < 4 * np.sqrt(96 / n)
    for bound, share in ((1.0, 0.317311), (2.0, 0.0455003), (3.0, 0.0026998)):
        assert abs((np.abs(x) > bound).mean() - share) < 4 * np.sqrt(share * (1 - share) / n)
    for lag in range(1, 21):
        assert abs((x[lag:] * x[:-lag]).mean()) < 4 / np.sqrt(n - lag)
    assert abs((x[1:] ** 2 * x[:-1] ** 2).mean() - 1.0) < 4 * np.sqrt(8 / n)


def test_seeds_and_streams_have_noise_of_their_own():
    x = numbers(4000)
    for other in (
        numbers(4000, seed=2),
        numbers(4000, stream=3),
        numbers(4000, first=4000),
        numbers(4000, first=-5000),
    ):
        assert abs((x * other).mean()) < 4 / np.sqrt(4000)
    assert np.array_equal(x[1000:1010], numbers(10, first=1000))


def spinning(*sensors, speed=3.0):
    """A disc that spins evenly: its angle is `speed` times the time."""
    disc = lg.Body("disc", mass=1.0, inertia=(1, 1, 1))
    joint = lg.Revolute(name="axle", parent="world", child="disc", axis=(0, 0, 1))
    model = lg.Tree([disc], [joint], sensors=sensors).compile()
    return model, model.state(v={"axle": speed})


@pytest.mark.parametrize("method", [None, "rkmk-4", "generalised-alpha-0.8", "adaptive-alpha-0.8"])
def test_samples_are_held_and_seen_after_their_delay(method):
    """At t one sees 3 t_k, with the last t_k = 3 ms + k 10 ms ≤ t − 25 ms, and before the first the start."""
    period, offset, delay = 0.01, 0.003, 0.025
    sensors = [
        lm.Encoder(name=n, joint="axle", period=period, offset=offset, delay=d) for n, d in (("a", 0.0), ("b", delay))
    ]
    model, state = spinning(*sensors)
    times = np.array([0.0, 0.001, 0.003, 0.0031, 0.0129, 0.013, 0.0279, 0.028, 0.0381, 0.05, 0.2])
    step = 0.007 if method in ("rkmk-4", "generalised-alpha-0.8") else None
    run = lg.simulate(model, state, 0.2, method=method, step=step, output=times, progress=False)
    for name, late in (("a", 0.0), ("b", delay)):
        k = np.floor((times - late - offset) / period + 1e-6)
        expected = np.where(k < 0, 0.0, 3.0 * (offset + k * period))
        np.testing.assert_allclose(run[f"{name}.angle"], expected, rtol=1e-12, atol=1e-15)


def test_samples_do_not_depend_on_how_times_are_computed():
    """0.1 is no multiple of 0.001 in binary, nor are sums of steps: none is missed, none is taken twice."""
    model, state = spinning(lm.Encoder(name="enc", joint="axle", period=1e-3))
    times = np.concatenate([[0.0], np.cumsum(np.full(100, 1e-3))])
    run = lg.simulate(model, state, float(times[-1]), output=times, progress=False)
    np.testing.assert_allclose(run["enc.angle"], 3e-3 * np.arange(101), atol=1e-12)


def test_a_run_that_begins_between_instants_begins_with_a_sample():
    """From 0.0125 s on: the start is seen until the instant 0.02 s, also where a delay has not passed yet."""
    model, state = spinning(lm.Encoder(name="enc", joint="axle", period=0.01, delay=0.01))
    late = model.state(q={"axle": 5.0}, v={"axle": 3.0}, t=0.0125)
    run = lg.simulate(model, late, 0.05, output=[0.0125, 0.025, 0.0299, 0.03, 0.0401], progress=False)
    np.testing.assert_allclose(run["enc.angle"], [5.0, 5.0, 5.0, 5.0225, 5.0525], rtol=1e-12)
    del state


def test_noise_range_and_resolution_follow_each_other():
    """round(clip(value + σ n_k)) with n_k by hand; components have streams of their own."""
    sensor = lm.Gyro(name="gyro", at="disc", period=0.01, noise=0.8, range=3.5, resolution=0.25, seed=7)
    model, state = spinning(sensor)
    run = lg.simulate(model, state, 1.0, output=0.01, progress=False)
    n = np.array([[sensing.normal(k, 7, sensor.stream + axis) for axis in range(3)] for k in range(101)])
    raw = np.array([0.0, 0.0, 3.0]) + 0.8 * n
    expected = np.floor(np.clip(raw, -3.5, 3.5) / 0.25 + 0.5) * 0.25
    np.testing.assert_allclose(run["gyro.angular_velocity"], expected, atol=1e-12)
    assert (expected[:, 2] == 3.5).any()


@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_a_spectral_density_is_that_of_the_samples(factor):
    """σ² = S²/(2 T): over a band of half the rate, one-sided, the power S² adds up to the variance."""
    period = 1e-3 * factor
    sensor = lm.Gyro(name="gyro", at="disc", period=period, noise_density=0.02)
    model, state = spinning(sensor)
    run = lg.simulate(model, state, 2.0, output=period, progress=False)
    x = run["gyro.angular_velocity"][:-1, 0]
    variance = 0.02**2 / (2 * period)
    assert abs(x.var() - variance) < 4 * variance * np.sqrt(2 / len(x))
    power = 2.0 * period * np.abs(np.fft.rfft(x)) ** 2 / len(x)
    assert abs(power[1:-1].mean() - 0.02**2) < 4 * 0.02**2 / np.sqrt(len(power))


def pendulum(*sensors):
    rod = lg.Body("rod", mass=2.0, com=(0, 0, -0.7), inertia=(0.1, 0.1, 0.01), frames={"tip": (0, 0, -1.5)})
    hinge = lg.Revolute(name="hinge", parent="world", child="rod", axis=(0, 1, 0))
    model = lg.Tree([rod], [hinge], sensors=sensors).compile()
    return model, model.state(q={"hinge": 1.2})


def test_noise_is_the_same_whatever_the_method_and_the_output():
    """What remains beside a sensor without noise has the same numbers to the accuracy of the runs."""
    kwargs = {"at": "rod.tip", "period": 5e-3}
    model, state = pendulum(
        lm.Accelerometer(name="imu", noise=0.3, seed=5, **kwargs), lm.Accelerometer(name="true", **kwargs)
    )
    found = []
    for options in (
        {"rtol": 1e-9, "output": 5e-3},
        {"method": "rkmk-4", "step": 1e-3, "output": 5e-3},
        {"method": "adaptive-alpha-0.8", "output": np.arange(61) * 5e-3},
        {"method": "generalised-alpha-0.8", "step": 7e-3, "output": 1e-3},
    ):
        run = lg.simulate(model, state, 0.3, progress=False, **options)
        noise = run["imu.specific_force"] - run["true.specific_force"]
        found.append(noise[:: (len(noise) - 1) // 60])
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=1e-13)
    assert 0.2 < found[0].std() < 0.4
    other, state = pendulum(lm.Accelerometer(name="imu", noise=0.3, seed=6, **kwargs))
    again = lg.simulate(other, state, 0.3, rtol=1e-9, output=5e-3, progress=False)
    assert (
        np.abs(
            again["imu.specific_force"]
            - lg.simulate(model, state, 0.3, rtol=1e-9, output=5e-3, progress=False)["imu.specific_force"]
        ).max()
        > 0.1
    )


def test_samples_are_as_exact_as_the_method():
    """Steps end at instants that no step would meet otherwise: errors are those of steps, not of what lies between."""
    model, state = pendulum(
        lm.Accelerometer(name="imu", at="rod.tip", period=0.0137), lm.Encoder(name="enc", joint="hinge", period=0.0137)
    )
    times = 0.0137 * np.arange(50)
    fine = lg.simulate(
        model, state, times[-1], rtol=1e-13, atol=1e-14, method="rkmk-54", max_step=1e-3, output=times, progress=False
    )
    run = lg.simulate(
        model,
        state,
        times[-1],
        rtol=1e-10,
        atol=1e-12,
        method="rkmk-54",
        output=[0.0, *(times[1:-1] + 0.005), times[-1]],
        progress=False,
    )
    np.testing.assert_allclose(run["enc.angle"], fine["hinge.angle"], atol=1e-9)
    bare = pendulum()[0]
    plain = lm.Accelerometer(name="imu", at="rod.tip")
    continuous = lg.simulate(
        pendulum(plain)[0],
        state,
        times[-1],
        rtol=1e-13,
        atol=1e-14,
        method="rkmk-54",
        max_step=1e-3,
        output=times,
        progress=False,
    )
    np.testing.assert_allclose(run["imu.specific_force"], continuous["imu.specific_force"], atol=1e-8)
    assert bare.tree.sensors == ()


def test_a_run_goes_on_from_its_checkpoint_with_its_samples(tmp_path):
    model, state = pendulum(lm.Accelerometer(name="imu", at="rod.tip", period=2e-3, noise=0.1))
    options = {"method": "rkmk-4", "step": 1e-3, "output": 1e-2, "progress": False}
    whole = lg.simulate(model, state, 6.0, **options)
    calls = []

    def stop(result):
        calls.append(len(result))
        if len(calls) == 3:
            raise KeyboardInterrupt

    path = tmp_path / "run.checkpoint"
    part = lg.simulate(model, state, 6.0, checkpoint=path, checkpoint_every=0.0, watch=stop, **options)
    assert not part.info.finished
    assert path.exists()
    again = lg.simulate(model, state, 6.0, checkpoint=path, **options)
    assert np.array_equal(again["imu.specific_force"], whole["imu.specific_force"])
    assert np.array_equal(again.q, whole.q)
    assert again.info.energy.defect == pytest.approx(whole.info.energy.defect, abs=1e-9)
    assert again.info.steps == whole.info.steps


def test_an_event_ends_a_run_with_samples():
    model, state = spinning(lm.Encoder(name="enc", joint="axle", period=0.01))
    event = Event(lambda t, s: s.q[0] - 0.1, terminal=True)
    run = lg.simulate(model, state, 1.0, output="steps", events=[event], progress=False)
    assert run.t[-1] == pytest.approx(0.1 / 3.0)
    assert run["enc.angle"][-1] == pytest.approx(0.09)
    assert run.sensed.t[-1] == pytest.approx(0.03)


def test_a_result_without_samples_says_so():
    model, state = spinning(lm.Encoder(name="enc", joint="axle", period=0.01))
    result = Result(model, np.array([0.0]), state.q[None], state.v[None], np.zeros((1, 1)), RunInfo("none", 0))
    with pytest.raises(
        InputError, match=r"Encoder 'enc' samples every 0.01 s, and this result has no states at its in"
    ):
        result["enc.angle"]
    assert result["axle.angle"] == 0.0


def test_too_many_instants_are_refused():
    model, state = spinning(lm.Encoder(name="enc", joint="axle", period=1e-9))
    with pytest.raises(
        InputError, match=r"(?s)sensors sample 1e\+09 times in this run, expected .* shortest period, 1e-09 s"
    ):
        lg.simulate(model, state, 1.0, progress=False)


def test_models_without_samples_take_the_steps_they_took():
    plain, state = spinning(lm.Encoder(name="enc", joint="axle", resolution=0.1))
    run = lg.simulate(plain, state, 1.0, progress=False)
    assert run.sensed is None
    assert run.info.steps == lg.simulate(spinning()[0], state, 1.0, progress=False).info.steps
    assert Sampling.of(plain.tree.sensors).sensors == ()


def test_instants_of_several_sensors_are_in_order_and_once():
    sensors = [lm.Encoder(name=n, joint="axle", period=p, offset=o) for n, p, o in (("a", 0.1, 0.0), ("b", 0.3, 0.05))]
    found = Sampling.of(sensors).instants(0.0, 0.7)
    np.testing.assert_allclose(found, [0.0, 0.05, 0.1, 0.2, 0.3, 0.35, 0.4, 0.5, 0.6, 0.65, 0.7], atol=1e-15)
    assert found[-1] == 0.7


@pytest.mark.parametrize("period", [1e-3, 4e-3, 0.0137, 1e-2])
@pytest.mark.parametrize("method", ["rkmk-4", "generalised-alpha-0.8", None])
def test_the_account_of_energy_knows_where_steps_go_on(method, period):
    """With dissipation: whatever the instants, the defect is that of a run without sensors, or less."""
    rod = lg.Body("rod", mass=2.0, com=(0, 0, -0.7), inertia=(0.1, 0.1, 0.01))
    hinge = lg.Revolute(name="hinge", parent="world", child="rod", axis=(0, 1, 0), damping=0.7)
    step = None if method is None else 4e-3
    found = []
    for sensors in ([], [lm.Encoder(name="enc", joint="hinge", period=period)]):
        model = lg.Tree([rod], [hinge], sensors=sensors).compile()
        start = model.state(q={"hinge": 1.2})
        run = lg.simulate(model, start, 1.0, method=method, step=step, rtol=None if method else 1e-8, progress=False)
        found.append((run.info.energy, run.info.steps))
    (plain, n_plain), (sampled, n_sampled) = found
    assert plain.dissipated > 1.0
    assert abs(sampled.defect) <= 1.05 * abs(plain.defect) + 1e-11
    assert n_sampled >= n_plain
    if method is not None and period == 4e-3:
        assert sampled.dissipated == pytest.approx(plain.dissipated, rel=1e-14)
        assert n_sampled == n_plain


@pytest.mark.parametrize("method", [None, "rkmk-4", "generalised-alpha-0.8"])
def test_an_input_that_jumps_at_an_instant_is_seen_behind_the_jump(method):
    """As the column without samples shows it; steps begin anew there, and instants that follow are met."""
    cart = lg.Body("cart", mass=2.0, inertia=(1, 1, 1))
    rail = lg.Prismatic(name="rail", parent="world", child="cart", axis=(1, 0, 0))
    sensors = [
        lm.Accelerometer(name="imu", at="cart", period=0.1),
        lm.Accelerometer(name="plain", at="cart"),
        lm.Encoder(name="enc", joint="rail", period=0.05),
    ]
    model = lg.Tree([cart], [rail], gravity=(0, 0, 0), sensors=sensors).compile()

    def push(t):
        return 3.0 if t >= 0.2 else 0.0

    push.breaks = [0.2]
    step = None if method is None else 0.03
    times = 0.05 * np.arange(11)
    run = lg.simulate(
        model, model.state(), 0.5, inputs={"rail": push}, method=method, step=step, output=times, progress=False
    )
    expected = np.where(times >= 0.2 - 1e-9, 1.5, 0.0)
    np.testing.assert_allclose(run["plain.specific_force.x"], expected, atol=1e-9)
    np.testing.assert_allclose(run["imu.specific_force.x"], expected, atol=1e-9)
    np.testing.assert_allclose(run["enc.position"], run["rail.position"], atol=1e-12)
    assert run["rail.position"][-1] == pytest.approx(0.75 * 0.3**2, rel=1e-3)
    assert abs(run.info.energy.defect) < 1e-3


def test_stops_and_changes_of_several_sensors():
    """By hand: instants 0, 0.1 … and 0.05, 0.35 …; the second is seen 0.12 later; round-off makes no stop."""
    sensors = [
        lm.Encoder(name="a", joint="axle", period=0.1),
        lm.Encoder(name="b", joint="axle", period=0.3, offset=0.05, delay=0.12),
    ]
    sampling = Sampling.of(sensors)
    rows, settings = sampling.rows, sampling.settings
    for t, end, stop, change in (
        (0.0, 1.0, 0.05, 0.05),
        (0.05, 1.0, 0.1, 0.1),
        (0.1, 1.0, 0.2, 0.17),
        (0.1 + 1e-14, 1.0, 0.2, 0.17),
        (0.1 - 1e-14, 1.0, 0.2, 0.17),
        (0.1, 0.15, 0.15, 0.15),
        (0.1, 0.2 + 1e-13, 0.2 + 1e-13, 0.17),
        (0.17, 1.0, 0.2, 0.2),
        (-0.21, 1.0, -0.2, -0.2),
        (-0.14, 1.0, -0.1, -0.13),
    ):
        assert sensing.instant_before(rows, settings, t, end) == pytest.approx(stop, abs=1e-15)
        assert sensing.change_before(rows, settings, t, end) == pytest.approx(change, abs=1e-15)
    assert [sensing.due(rows, settings, t) for t in (0.0, 0.05, 0.1 - 1e-13, 0.1001, 0.17)] == [True] * 3 + [False] * 2
    # of two samples on their way, the one that was seen last, and the one before
    assert sampling.rows.reshape(2, -1)[:, sensing.DEPTH].tolist() == [1, 2]
    assert [sensing.slot(k, 3) for k in (-4, -3, -1, 0, 2, 3)] == [2, 0, 2, 0, 2, 0]


def test_memories_keep_what_is_on_its_way():
    """A sensor of two numbers with three samples on their way: each is seen when its delay has passed."""
    sensor = lm.DistanceSensor(name="d", a="world", b="disc", period=0.1, delay=0.25)
    sampling = Sampling.of([sensor])
    memory, seen = np.full(sampling.memory, np.nan), np.zeros(2)
    for k in range(20):
        t, row = 0.1 * k, np.array([1.0 * k, -1.0 * k])
        sensing.remember(sampling.rows, sampling.settings, t, k == 0, row, memory)
        for later in (0.0, 0.049, 0.051, 0.099):
            sensing.seen(sampling.rows, sampling.settings, t + later, memory, seen)
            expected = max(0, k - 3 + (later > 0.05))
            assert seen.tolist() == [expected, -expected], (k, later)


def test_the_number_of_a_sample_has_two_words():
    """Behind 2³² samples noise does not begin again; (8) by hand from the words."""
    k = 3 * 2**32 + 17
    one, two = sensing.threefry(17, 3, 5, 6)
    expected = np.sqrt(-2 * np.log((one + 0.5) / 2**32)) * np.cos(2 * np.pi * (two + 0.5) / 2**32)
    assert sensing.normal(k, 5, 6) == pytest.approx(expected, rel=1e-14)
    assert sensing.normal(17, 5, 6) != sensing.normal(k, 5, 6)


def test_what_is_held_does_not_depend_on_the_order_of_the_times():
    sensor = lm.Encoder(name="enc", joint="axle", period=0.1, noise=0.3)
    sampling = Sampling.of([sensor])
    instants = 0.1 * np.arange(11)
    rows, times = np.sin(instants)[:, np.newaxis].copy(), np.linspace(0.0, 1.0, 23)
    ways = []
    for order in (times, times[::-1].copy()):
        out = np.empty((len(order), 1))
        sensing.held(sampling.rows, sampling.settings, 0, 0.0, instants, rows, order, out)
        ways.append(out[:, 0])
    assert np.array_equal(ways[0], ways[1][::-1])
    assert len(np.unique(ways[0])) == 11
