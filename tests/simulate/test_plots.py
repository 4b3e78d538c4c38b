"""Spectra against known amplitudes; pictures: what they hold, that they are files, that nothing stays behind."""

from __future__ import annotations

import sys

import matplotlib.figure
import numpy as np
import pytest
import runs

from liegeo import model as lm
from liegeo.errors import InputError
from liegeo.results import plot_runs, plot_tables, plots, read_table, read_units


@pytest.fixture(scope="module")
def pendulum():
    return runs.pendulum()


def waves(n, step=0.01, offset=3.0):
    """The pendulum's hinge as two sines, on the frequencies 5/(n·step) and 12/(n·step), and an offset."""
    model = runs.pendulum(n=2).model
    t = step * np.arange(n)
    angle = offset + 0.7 * np.sin(2 * np.pi * 5 * np.arange(n) / n) + 0.2 * np.cos(2 * np.pi * 12 * np.arange(n) / n)
    return runs.run(model, t, angle[:, None], -angle[:, None])


@pytest.mark.parametrize("n", [200, 201])
def test_a_spectrum_shows_amplitudes(n):
    frequency, amplitude = waves(n).spectrum("hinge.angle")
    assert frequency[1] == pytest.approx(1 / (0.01 * n))
    assert frequency.shape == amplitude.shape == (n // 2 + 1,)
    expected = np.zeros(n // 2 + 1)
    # A Hann window gives half of a line to each neighbour.
    expected[[4, 5, 6]] = 0.35, 0.7, 0.35
    expected[[11, 12, 13]] = 0.1, 0.2, 0.1
    np.testing.assert_allclose(amplitude, expected, atol=1e-12)


def test_a_wave_at_half_the_sampling_rate():
    model = runs.pendulum(n=2).model
    angle = (0.3 * (-1.0) ** np.arange(64))[:, None]
    amplitude = runs.run(model, 0.1 * np.arange(64), angle, angle).spectrum("hinge.angle").amplitude
    assert amplitude[-1] == pytest.approx(0.3)


def test_a_spectrum_of_a_vector_is_that_of_its_components(pendulum):
    both = pendulum.spectrum("bob.tip.position").amplitude
    assert both.shape == (101, 3)
    np.testing.assert_allclose(both[:, 2], pendulum.spectrum("bob.tip.position.z").amplitude, atol=1e-15)


def test_a_spectrum_needs_equal_steps(pendulum):
    t = pendulum.t.copy()
    t[-1] += 0.001
    result = runs.run(pendulum.model, t, pendulum.q, pendulum.v)
    for ask in (result.spectrum, result.plot_spectrum):
        with pytest.raises(InputError, match=r"samples are 0\.01 to 0\.011 s apart, expected equal steps"):
            ask("hinge.angle")
    with pytest.raises(InputError, match="spectrum: the result has 7 samples, expected at least 8"):
        runs.pendulum(n=7).spectrum("hinge.angle")


def drawn(axis):
    return {line.get_label(): line.get_ydata() for line in axis.get_lines()}


def test_one_axis_a_kind_of_quantity(pendulum):
    figure = pendulum.plot("hinge.angle", "hinge.speed", "bob.tip.position", "energy*", title="A pendulum")
    labels = [axis.get_ylabel() for axis in figure.axes]
    assert labels == ["hinge.angle [rad]", "hinge.speed [rad/s]", "bob.tip.position [m]", "energy [J]"]
    assert list(drawn(figure.axes[2])) == ["x", "y", "z"]
    assert list(drawn(figure.axes[3])) == ["energy", "energy.kinetic", "energy.gravitational", "energy.elastic"]
    assert np.array_equal(drawn(figure.axes[2])["z"], pendulum["bob.tip.position.z"])
    assert figure.axes[-1].get_xlabel() == "time [s]"
    assert figure.get_suptitle() == "A pendulum"
    assert [axis.get_legend() is None for axis in figure.axes] == [True, True, False, False]


def test_mixed_owners_share_an_axis_by_kind(pendulum):
    figure = pendulum.plot("bob.position.x", "bob.tip.position.x", "bob.quaternion.w")
    assert [axis.get_ylabel() for axis in figure.axes] == ["position [m]", "bob.quaternion.w"]
    assert list(drawn(figure.axes[0])) == ["bob.position.x", "bob.tip.position.x"]


def test_deflections_have_an_axis_of_their_own(tmp_path):
    """A beam whose one mode moves its end along z and tilts it about y."""
    end = lm.LumpedNode([[0], [-1.5], [0], [0], [0], [1]], name="end", mass=1.0, inertia=(1, 1, 1))
    beam = lm.FlexibleBody.from_nodes("beam", [end], [[100.0]])
    hinge = lm.Revolute(name="hinge", parent="world", child="beam")
    model = lm.Tree([beam], [hinge]).compile()
    t = np.linspace(0.0, 1.0, 21)
    q = np.stack([t, 0.01 * np.sin(5 * t)], axis=1)
    run = runs.run(model, t, q, np.zeros_like(q))
    figure = run.plot("beam.end.deflection", "*.tilt.y", file=tmp_path / "beam.png")
    assert [axis.get_ylabel() for axis in figure.axes] == ["beam.end.deflection [m]", "beam.end.tilt.y [rad]"]
    curves = drawn(figure.axes[0])
    np.testing.assert_allclose([curves[k] for k in "xyz"], [0 * t, 0 * t, q[:, 1]], atol=1e-15)
    (tilt,) = drawn(figure.axes[1]).values()
    np.testing.assert_allclose(tilt, -1.5 * q[:, 1], atol=1e-15)
    assert (tmp_path / "beam.png").read_bytes()[:4] == b"\x89PNG"


def test_nothing_named_draws_the_table(pendulum):
    assert sum(len(axis.get_lines()) for axis in pendulum.plot().axes) == len(pendulum.names) - 1


def test_many_curves_stay_apart():
    curves = [plots.Curve(f"boom.eta[{k}]", "modal coordinate", "", np.arange(3.0), np.zeros(3)) for k in range(20)]
    (axis,) = plots.draw(curves, title=None).axes
    assert axis.get_ylabel() == "boom.eta"
    assert len({(line.get_color(), line.get_linestyle()) for line in axis.get_lines()}) == 20


def test_runs_are_laid_over_each_other(pendulum):
    other = runs.run(pendulum.model, pendulum.t[:50], 2 * pendulum.q[:50], pendulum.v[:50])
    figure = plot_runs({"slow": pendulum, "fast": other}, "hinge.angle", "bob.tip.velocity")
    assert figure.axes[0].get_ylabel() == "hinge.angle [rad]"
    assert len(figure.axes) == 4
    first, second = figure.axes[0].get_lines()
    assert np.array_equal(second.get_ydata(), other["hinge.angle"])
    assert first.get_color() != second.get_color()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["slow", "fast"]


def test_runs_that_do_not_fit(pendulum):
    with pytest.raises(InputError, match="plot_runs: there are no runs"):
        plot_runs({}, "hinge.angle")
    with pytest.raises(InputError, match=r"plot_runs, run 'only': result: 'hinge\.angel' is neither"):
        plot_runs({"only": pendulum}, "hinge.angel")
    with pytest.raises(InputError, match="plot_runs, run 'only': plot_runs: nothing to draw"):
        plot_runs({"only": pendulum})


def test_spectra_are_drawn_over_frequency():
    figure = waves(200).plot_spectrum("hinge.angle")
    (axis,) = figure.axes
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("frequency [Hz]", "amplitude of\nhinge.angle [rad]")
    assert axis.get_ylim()[0] > 1e-7
    # A column that does not move has no logarithm.
    still = runs.run(runs.pendulum(n=2).model, np.arange(20.0), np.zeros((20, 1)), np.zeros((20, 1)))
    assert still.plot_spectrum("hinge.angle").axes[0].get_yscale() == "linear"


def test_axes_of_ones_own(pendulum):
    figure = matplotlib.figure.Figure()
    ax = figure.subplots()
    assert pendulum.plot("bob.tip.position", ax=ax, title="mine") is figure
    assert ax.get_title() == "mine"
    assert len(ax.get_lines()) == 3
    with pytest.raises(InputError, match="ax holds one kind of quantity, but 2 are asked for: angle, angular velocity"):
        pendulum.plot("hinge.angle", "hinge.speed", ax=ax)


def test_nothing_to_draw(pendulum):
    with pytest.raises(InputError, match=r"plot: nothing to draw, expected names such as 'hinge\.angle'"):
        pendulum.plot("time")
    with pytest.raises(InputError, match="plot_spectrum: nothing to draw"):
        pendulum.plot_spectrum()


@pytest.mark.parametrize(("suffix", "magic"), [(".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")])
def test_pictures_are_files(pendulum, tmp_path, suffix, magic):
    path = tmp_path / f"run{suffix}"
    pendulum.plot("hinge.angle", "energy*", file=path)
    assert path.read_bytes().startswith(magic)
    assert list(tmp_path.iterdir()) == [path]


def test_a_picture_in_another_format(pendulum, tmp_path):
    with pytest.raises(InputError, match=r"plot: file run\.bmp ends in '\.bmp', expected one of \.png, \.pdf, \.svg"):
        pendulum.plot("hinge.angle", file=tmp_path / "run.bmp")
    assert list(tmp_path.iterdir()) == []


def test_a_notebook_shows_it_and_pyplot_does_not_know_it(pendulum):
    figure = pendulum.plot("hinge.angle")
    assert figure._repr_png_().startswith(b"\x89PNG")
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or pyplot.get_fignums() == []


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".parquet"])
def test_tables_are_drawn_with_their_units(pendulum, tmp_path, suffix):
    file = pendulum.to(tmp_path / f"run{suffix}", ["hinge.*", "energy"])
    table, units = read_table(file), read_units(file)
    for figure in (plot_tables({"a": table}), plot_tables({"a": table}, units={"a": units})):
        assert [axis.get_ylabel() for axis in figure.axes][:2] == ["hinge.angle [rad]", "hinge.speed [rad/s]"]
        assert "energy [J]" in [axis.get_ylabel() for axis in figure.axes]
    figure = plot_tables({"a": table, "b": table}, "energy", units={"a": units, "b": units})
    assert figure.axes[0].get_ylabel() == "energy [J]"


def test_speeds_of_what_turns_and_what_slides_have_an_axis_each():
    names = ["time", "hinge.angle", "hinge.speed", "rail.position", "rail.speed"]
    table = np.ones(3, dtype=[(name, float) for name in names])
    figure = plot_tables({"run": table}, "*.speed")
    assert [axis.get_ylabel() for axis in figure.axes] == ["hinge.speed [rad/s]", "rail.speed [m/s]"]
