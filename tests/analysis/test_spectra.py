"""Random vibration and shock: closed forms and independent integrations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import liegeo as lg
from liegeo import model as lm
from liegeo.analysis import BaseMotion, FrequencyResponse, driven_model, frequency_grid, noise_rms, shock_response
from liegeo.analysis.spectra import noise_covariance
from liegeo.errors import InputError


def oscillator(omega=20.0, zeta=0.03, n=1):
    """Carts of 1 kg on springs and dampers in a row, as a linear model from the support's acceleration."""
    carts = [lg.Body(f"m{k}", mass=1.0) for k in range(n)]
    slides = [
        lm.Prismatic(
            name=f"s{k}", parent=f"m{k - 1}" if k else "world", child=f"m{k}", axis=(1, 0, 0),
            stiffness=omega**2, damping=2.0 * zeta * omega,
        )
        for k in range(n)
    ]  # fmt: skip
    model = lg.Tree(carts, slides, gravity=(0, 0, 0)).compile()
    outputs = [name for k in range(n) for name in (f"s{k}.position", f"m{k}.acceleration.x")]
    return driven_model(model, inputs=BaseMotion(axis="x"), outputs=outputs)


def test_an_oscillator_under_white_noise():
    """σ² = S/(8 ζ ω³) of the relative displacement, π f Q S/2 (1 + 4 ζ²) of the absolute acceleration, Q = 1/(2 ζ)."""
    omega, zeta, S = 20.0, 0.03, 0.7
    linear = oscillator(omega, zeta)
    found = noise_rms(linear, S)
    f = omega / (2.0 * np.pi)
    assert found["s0.position"] ** 2 == pytest.approx(S / (8.0 * zeta * omega**3), rel=1e-12)
    expected = 0.5 * np.pi * f / (2.0 * zeta) * S * (1.0 + 4.0 * zeta**2)
    assert found["m0.acceleration.x"] ** 2 == pytest.approx(expected, rel=1e-12)
    # the same by trapezoids over frequencies that crowd at the peak
    grid = frequency_grid(linear, 1e-3, 1e4)
    spectrum = FrequencyResponse.of(linear, grid).psd(S)
    np.testing.assert_allclose(spectrum.rms(), list(found.values()), rtol=2e-3)
    assert (np.diff(grid) > 0.0).all()
    assert grid[0] == 1e-3
    away = np.abs(frequency_grid(oscillator(omega, 0.0), 1e-3, 1e4) / f - 1.0)
    assert 1e-5 < away.min() < 1e-4
    np.testing.assert_allclose(spectrum["s0.position"].max(), S / (2.0 * zeta * omega**2) ** 2, rtol=1e-2)


def test_noise_in_a_band_is_its_integral():
    """Against quadrature of |H|², with feed-through and two dependent inputs."""
    linear = oscillator(n=2)
    grounds = lg.Tree(
        [lg.Body("m", mass=2.0)],
        [lm.Prismatic(name="s", parent="world", child="m", axis=(1, 0, 0), stiffness=50.0, damping=1.0)],
        forces=[lm.Actuator(name="motor", joint="s", lag=0.05)],
        gravity=(0, 0, 0),
    ).compile()
    driven = driven_model(grounds, inputs=["motor", "s"], outputs=["s.position", "s.acceleration"])
    assert driven.D.any()
    density = np.array([[1.0, 0.3], [0.3, 0.5]])
    for each, S, band in ((linear, 2.0, (0.5, 4.0)), (driven, density, (0.3, 2.0)), (driven, density, (0.0, 1.0))):
        found = noise_covariance(each, S, band)
        matrix = S * np.eye(len(each.inputs)) if np.ndim(S) == 0 else S
        for i in range(len(each.outputs)):

            def integrand(f, i=i, each=each, matrix=matrix):
                h = each.frequency_response(f)[0, i]
                return float((h @ matrix @ h.conj()).real)

            places = [p for p in np.abs(each.poles) / (2 * np.pi) if band[0] < p < band[1]]
            expected = quad(integrand, *band, points=places, epsabs=0.0, epsrel=1e-11, limit=400)[0]
            assert found[i, i] == pytest.approx(expected, rel=1e-9)
    # bands add up to all frequencies
    parts = sum(noise_covariance(linear, 1.0, band) for band in ((0.0, 3.0), (3.0, 1e3), (1e3, 1e7)))
    np.testing.assert_allclose(parts, noise_covariance(linear), rtol=1e-6, atol=1e-12)


def test_what_noise_does_not_reach_stays_at_rest():
    """A cart across the rail, of nearly the same frequency, little damped; beside one whose pole is double."""
    slides = [
        lm.Prismatic(name="s", parent="world", child="m", axis=(1, 0, 0), stiffness=400.0, damping=0.04),
        lm.Prismatic(name="t", parent="m", child="n", axis=(0, 1, 0), stiffness=380.0, damping=0.03),
    ]
    model = lg.Tree([lg.Body("m", mass=1.0), lg.Body("n", mass=1.0)], slides, gravity=(0, 0, 0)).compile()
    linear = driven_model(model, inputs="s", outputs=["s.position", "t.position"])
    for band in (None, (1.0, 5.0)):
        found = noise_rms(linear, 1.0, band)
        assert found["t.position"] < 1e-12 * found["s.position"]
    # σ² = S/(8 ζ ω³) with ζ = 1, where eigenvectors are one
    critical = noise_rms(oscillator(zeta=1.0), 1.0)
    assert critical["s0.position"] ** 2 == pytest.approx(1.0 / (8.0 * 20.0**3), rel=1e-10)
    assert noise_rms(oscillator(zeta=1.0), 1.0, (0.0, 1e8))["s0.position"] == pytest.approx(critical["s0.position"])


def test_densities_of_inputs():
    """Tables in logarithmic scales, values per frequency, matrices."""
    linear = oscillator()
    f = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    response = FrequencyResponse.of(linear, f)
    squared = np.abs(response.values[:, :, 0]) ** 2
    table = [(2.0, 0.1), (8.0, 1.6)]
    for given, expected in (
        (0.5, 0.5),
        ({"support.x": 0.5}, 0.5),
        ({"support.x": f**2}, f**2),
        ({"support.x": table}, [0.0, 0.1, 0.4, 1.6, 0.0]),
        ([[0.5]], 0.5),
        (np.reshape(f, (5, 1, 1)), f),
    ):
        found = response.psd(given)
        np.testing.assert_allclose(found.values, squared * np.broadcast_to(expected, 5)[:, None], rtol=1e-12)
    assert repr(found) == "<spectral densities of 'tree': 2 outputs, 1 to 16 Hz>"
    assert "RMS in this range" in found._repr_html_()
    two = FrequencyResponse(f, np.ones((5, 1, 2)) * [1.0, 1j], ("a", "b"), ("y",), ("", ""), ("m",))
    # y = a + i b, with the cross density of a and b
    assert two.psd(np.array([[1.0, 0.4j], [-0.4j, 2.0]]))["y"] == pytest.approx(3.0 + 0.8)
    assert two.psd({"b": 2.0})["y"] == pytest.approx(2.0)


# ---- shock


def test_a_half_sine_has_its_closed_forms():
    """Undamped: largest absolute acceleration during the pulse, and after it, over r = f T' with T' = 2 T."""
    T, n = 0.02, 4000
    t = np.linspace(0.0, T, n + 1)
    pulse = np.sin(np.pi * t / T)
    frequencies = np.array([4.0, 10.0, 18.0, 40.0, 70.0, 130.0, 400.0])
    found = shock_response(pulse, T / n, frequencies, damping=0.0)
    for k, f in enumerate(frequencies):
        w, p = 2.0 * np.pi * f, np.pi / T
        # ẍ = w²/(w² − p²) (sin p t − p/w sin w t) while it lasts
        during = np.linspace(0.0, T, 200001)
        values = w**2 / (w**2 - p**2) * (np.sin(p * during) - p / w * np.sin(w * during))
        r = w / p
        residual = abs(2.0 * r / (1.0 - r**2) * np.cos(0.5 * np.pi * r))
        assert found.residual[k] == pytest.approx(residual, rel=1e-5, abs=1e-6)
        assert found.extreme[k] == pytest.approx(max(np.abs(values).max(), residual), rel=1e-5)
    # a stiff oscillator follows the support; a soft one feels the velocity that the pulse has, 2 T/π
    stiff = shock_response(pulse, T / n, [5e3], damping=0.05)
    assert stiff.extreme == pytest.approx([1.0], rel=2e-3)
    soft = shock_response(pulse, T / n, [0.05], damping=0.0, quantity="pseudo-velocity")
    assert soft.extreme == pytest.approx([2.0 * T / np.pi], rel=1e-4)


@pytest.mark.parametrize("quantity", ["acceleration", "displacement", "pseudo-velocity", "pseudo-acceleration"])
def test_a_damped_spectrum_against_time_integration(quantity):
    rng = np.random.default_rng(5)
    dt = 0.004
    history = np.cumsum(rng.normal(size=60)) * np.hanning(60)
    times = dt * np.arange(60)
    frequencies, zeta = np.array([3.0, 17.0, 60.0, 210.0]), 0.04
    together = shock_response(history, dt, frequencies, damping=zeta, quantity=quantity)
    for k, f in enumerate(frequencies):
        # one frequency has no more pieces than it needs
        found = shock_response(history, dt, f, damping=zeta, quantity=quantity)
        np.testing.assert_allclose(together.extreme[k], found.extreme[0], rtol=1e-6)
        w = 2.0 * np.pi * f
        # piece by piece, so that no corner is inside a step
        state, values, after = np.zeros(2), [], []
        ends = [*itertools.pairwise(times), (times[-1], times[-1] + 1.0 / f)]
        for a, b in ends:
            last = a >= times[-1]

            def rate(t, y, last=last, w=w):
                support = 0.0 if last else np.interp(t, times, history)
                return [y[1], -2.0 * zeta * w * y[1] - w * w * y[0] - support]

            run = solve_ivp(rate, (a, b), state, rtol=1e-10, atol=1e-13, dense_output=True)
            z, v = run.sol(np.linspace(a, b, 2000))
            shown = {"acceleration": -2.0 * zeta * w * v - w * w * z, "displacement": z, "pseudo-velocity": w * z}
            (after if last else values).append(shown.get(quantity, w * w * z))
            state = run.y[:, -1]
        everything = np.concatenate([*values, *after])
        assert found.largest[0] == pytest.approx(everything.max(), rel=3e-6)
        assert found.smallest[0] == pytest.approx(everything.min(), rel=3e-6)
        assert found.residual[0] == pytest.approx(np.abs(after[0]).max(), rel=3e-6)


def test_a_shock_of_a_mechanism_is_that_of_its_spectrum():
    """A cart on a support that is shaken: its simulated acceleration reaches what the spectrum says."""
    dt, n = 0.005, 200
    times = dt * np.arange(n + 1)
    history = np.sin(40.0 * times) * np.exp(-3.0 * times) * (1.0 - times)

    class Support:
        """The place of a support with this acceleration, by steps in which it is a straight line."""

        def __init__(self):
            h, a = dt, history
            rate = np.concatenate([[0.0], np.cumsum(0.5 * h * (a[1:] + a[:-1]))])
            place = np.concatenate([[0.0], np.cumsum(h * rate[:-1] + h * h * (a[:-1] / 3.0 + a[1:] / 6.0))])
            self.rate, self.place = rate, place

        def __call__(self, t):
            k = min(int(t / dt), n - 1)
            s, a, b = t - k * dt, history[k], (history[k + 1] - history[k]) / dt
            rate = self.rate[k] + a * s + 0.5 * b * s * s
            return self.place[k] + self.rate[k] * s + 0.5 * a * s * s + b * s**3 / 6.0, rate, a + b * s

    frequency, zeta = 5.0, 0.05
    w = 2.0 * np.pi * frequency
    joints = [
        lm.Prismatic(name="rail", parent="world", child="plate", axis=(1, 0, 0)),
        lm.Prismatic(name="s", parent="plate", child="m", axis=(1, 0, 0), stiffness=w * w, damping=2.0 * zeta * w),
    ]
    law = lm.Motion(name="drive", joint="rail", law=Support())
    model = lg.Tree(
        [lg.Body("plate", mass=1.0), lg.Body("m", mass=1.0)], joints, loops=[law], gravity=(0, 0, 0)
    ).compile()
    run = lg.simulate(model, t_end=1.0, output=1e-3, method="rkmk-4", step=1e-3, progress=False)
    found = shock_response(history, dt, [frequency], damping=zeta)
    assert found.extreme[0] == pytest.approx(np.abs(run["m.acceleration.x"]).max(), rel=2e-3)


def test_pictures(tmp_path):
    linear = oscillator()
    spectrum = FrequencyResponse.of(linear, frequency_grid(linear, 0.1, 50.0)).psd(0.7)
    spectrum.plot(tmp_path / "density.png", title="a cart on a shaken support")
    shock = shock_response(np.sin(np.linspace(0.0, np.pi, 200)), 1e-4, np.geomspace(1.0, 1000.0, 60))
    shock.plot(tmp_path / "shock.png", title="half a sine")
    assert repr(shock) == "<shock response spectrum: acceleration, damping 5 %, 1 to 1000 Hz>"
    assert all((tmp_path / f"{name}.png").stat().st_size > 5000 for name in ("density", "shock"))


# ---- what is refused


def test_wrong_densities():
    linear = oscillator()
    response = FrequencyResponse.of(linear, [1.0, 2.0])
    for given, message in (
        ({"ground": 1.0}, "density: 'ground' is none of the inputs"),
        (-1.0, "density of 'density' is -1.0, expected a number of at least 0, 2 of them"),
        ({"support.x": [1.0, 2.0, 3.0]}, "density of 'support.x' is .*, expected a number of at least 0, 2 of them"),
        ({"support.x": [(2.0, 1.0), (1.0, 1.0)]}, "a table has growing frequencies and densities, expected all > 0"),
        (np.ones((3, 3)), r"density has shape \(3, 3\), expected a number, values by name, \(1, 1\) or \(2, 1, 1\)"),
        ([[-1.0]], "density: a matrix is not Hermitian, or not positive, expected a matrix of densities"),
    ):
        with pytest.raises(InputError, match=message):
            response.psd(given)
    with pytest.raises(InputError, match=r"spectrum: 's0' is none of the outputs"):
        response.psd()["s0"]
    with pytest.raises(InputError, match=r"range is 0.0 to 1.0 Hz, expected 0 < first < last"):
        frequency_grid(linear, 0.0, 1.0)


def test_wrong_noise():
    linear = oscillator()
    with pytest.raises(InputError, match="noise_covariance: the linear model is one of discrete time"):
        noise_rms(linear.discrete(0.01))
    with pytest.raises(InputError, match=r"density has shape \(2,\), expected a number, \(1,\) or \(1, 1\)"):
        noise_rms(linear, [1.0, 2.0])
    with pytest.raises(InputError, match="density is not symmetric or not positive, expected a matrix of densities"):
        noise_rms(linear, [[-1.0]])
    with pytest.raises(InputError, match=r"the model has a pole at .* whose motion grows without bounds"):
        noise_rms(oscillator(zeta=0.0))
    with pytest.raises(
        InputError, match=r"band is \(3.0, 1.0\), expected two frequencies in Hz, the first one smaller"
    ):
        noise_rms(linear, 1.0, (3.0, 1.0))
    cart = lg.Tree(
        [lg.Body("m", mass=2.0)],
        [lm.Prismatic(name="s", parent="world", child="m", axis=(1, 0, 0), stiffness=5.0, damping=1.0)],
    ).compile()
    with pytest.raises(InputError, match=r"'s.acceleration' feels the inputs at once, so that its covariance"):
        noise_rms(driven_model(cart, inputs="s", outputs="s.acceleration"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"acceleration": [1.0]}, r"acceleration has shape \(1,\), expected two or more finite samples"),
        ({"period": 0.0}, "period is 0.0, expected a number of seconds > 0"),
        ({"frequencies": [0.0]}, r"frequencies are \[0.0\], expected numbers of Hz > 0"),
        ({"damping": 1.0}, r"damping is 1.0, expected a share of critical damping in \[0, 1\)"),
        ({"quantity": "jerk"}, "quantity is 'jerk', expected one of acceleration, displacement"),
    ],
)
def test_wrong_shocks(options, message):
    with pytest.raises(InputError, match=message):
        shock_response(**{"acceleration": [0.0, 1.0], "period": 0.1, "frequencies": [1.0]} | options)
