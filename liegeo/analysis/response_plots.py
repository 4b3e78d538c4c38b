"""Pictures of frequency responses: Bode, Nyquist, poles and zeros, densities and shock response spectra.

Figures are made without pyplot, as those of results/plots.py, whose colours and formats they have.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from liegeo.analysis.frequency import FrequencyResponse
from liegeo.analysis.linear import LinearModel
from liegeo.errors import InputError
from liegeo.results.plots import COLORS, Picture, finish

if TYPE_CHECKING:
    from liegeo.analysis.spectra import ShockSpectrum, SpectralDensity

File = str | os.PathLike[str] | None
_DASHES = ("-", "--", ":", "-.")
# More curves than that cannot be told apart.
_MOST = 24


def bode(responses: Mapping[str, FrequencyResponse], *, file: File = None, title: str | None = None) -> Figure:
    """Draw amplitudes and phases of responses by label: a colour for each pair of output and input, dashes by label.

    Outputs of different units have axes of their own for the amplitude.
    """
    if not responses:
        raise InputError("bode: there are no responses, expected one or more by label.")
    first = next(iter(responses.values()))
    pairs = [(output, given) for output in first.outputs for given in first.inputs]
    _check_count("bode", len(pairs))
    units = list(dict.fromkeys(first.unit(*_index(first, pair)) for pair in pairs))
    figure = Picture(figsize=(7.4, 1.4 + 2.3 * (len(units) + 1)), layout="constrained")
    axes = figure.subplots(len(units) + 1, 1, sharex=True, squeeze=False)[:, 0]
    for turn, (label, response) in enumerate(responses.items()):
        for k, pair in enumerate(pairs):
            if pair[0] not in response.outputs or pair[1] not in response.inputs:
                raise InputError(
                    f"bode: '{label}' has no response of '{pair[0]}' to '{pair[1]}', expected the same pairs."
                )
            y = response[pair]
            color, dash = (turn, turn) if len(pairs) == 1 else (k, turn + k // len(COLORS))
            style: dict[str, Any] = {
                "color": COLORS[color % len(COLORS)],
                "linestyle": _DASHES[dash % len(_DASHES)],
                "linewidth": 1.4,
            }
            name = _name(pair, response) + (f", {label}" if label else "")
            axis = axes[units.index(first.unit(*_index(first, pair)))]
            axis.plot(response.frequencies, np.abs(y), label=name, **style)
            axes[-1].plot(response.frequencies, np.degrees(np.unwrap(np.angle(y))), **style)
    for axis, unit in zip(axes, units, strict=False):
        axis.set_yscale("log")
        axis.set_ylabel(f"amplitude [{unit}]" if unit else "amplitude")
        _legend(axis)
    axes[-1].set_ylabel("phase [deg]")
    low, high = axes[-1].get_ylim()
    axes[-1].yaxis.set_major_locator(MultipleLocator(90.0 * max(1, round((high - low) / 540.0))))
    axes[-1].set_xlabel("frequency [Hz]")
    for axis in axes:
        if (first.frequencies > 0.0).all() and len(first.frequencies) > 1:
            axis.set_xscale("log")
        _tidy(axis)
    figure.align_ylabels(axes)
    return _done(figure, file, title)


def nyquist(response: FrequencyResponse, *, file: File = None, title: str | None = None) -> Figure:
    """Draw responses in the complex plane, a curve for each pair of output and input, a dot where it begins."""
    pairs = [(output, given) for output in response.outputs for given in response.inputs]
    _check_count("nyquist", len(pairs))
    units = list(dict.fromkeys(response.unit(*_index(response, pair)) for pair in pairs))
    figure = Picture(figsize=(5.2 * len(units) + 1.0, 5.0), layout="constrained")
    axes = figure.subplots(1, len(units), squeeze=False)[0]
    for k, pair in enumerate(pairs):
        y, axis = response[pair], axes[units.index(response.unit(*_index(response, pair)))]
        (line,) = axis.plot(
            y.real,
            y.imag,
            color=COLORS[k % len(COLORS)],
            linewidth=1.4,
            label=_name(pair, response),
            linestyle=_DASHES[k // len(COLORS) % len(_DASHES)],
        )
        axis.plot(y.real[:1], y.imag[:1], "o", color=line.get_color(), markersize=4)
    for axis, unit in zip(axes, units, strict=True):
        axis.axhline(0.0, color="0.6", linewidth=0.8)
        axis.axvline(0.0, color="0.6", linewidth=0.8)
        axis.set_aspect("equal", adjustable="datalim")
        axis.set_xlabel(f"real part [{unit}]" if unit else "real part")
        axis.set_ylabel(f"imaginary part [{unit}]" if unit else "imaginary part")
        axis.ticklabel_format(style="sci", scilimits=(-3, 4), useMathText=True)
        _legend(axis)
        _tidy(axis)
    return _done(figure, file, title)


def poles_and_zeros(linear: LinearModel, *, file: File = None, title: str | None = None) -> Figure:
    """Draw poles (crosses) and transmission zeros (circles) of a linear model with as many inputs as outputs."""
    figure = Picture(figsize=(6.2, 5.0), layout="constrained")
    axis = figure.subplots()
    # in Hz, so that they stand where a Bode plot has its peaks and notches
    scale = 1.0 if linear.period else 2.0 * np.pi
    for points, mark, label in ((linear.poles, "x", "poles"), (linear.zeros(), "o", "zeros")):
        color = COLORS[0] if mark == "x" else COLORS[1]
        axis.plot(
            points.real / scale,
            points.imag / scale,
            mark,
            color=color,
            label=label,
            markersize=7,
            markerfacecolor="none",
            markeredgewidth=1.4,
        )
    axis.axhline(0.0, color="0.6", linewidth=0.8)
    axis.axvline(0.0, color="0.6", linewidth=0.8)
    unit = "" if linear.period else " / 2π [Hz]"
    axis.set_xlabel(f"real part{unit}")
    axis.set_ylabel(f"imaginary part{unit}")
    _tidy(axis)
    axis.legend(frameon=False, fontsize="small")
    return _done(figure, file, title)


def densities(spectrum: SpectralDensity, *, file: File = None, title: str | None = None) -> Figure:
    """Draw spectral densities, an axis for each unit, with RMS values in the legend."""
    units = list(dict.fromkeys(spectrum.units))
    _check_count("densities", len(spectrum.outputs))
    figure = Picture(figsize=(7.4, 1.2 + 2.4 * len(units)), layout="constrained")
    axes = figure.subplots(len(units), 1, sharex=True, squeeze=False)[:, 0]
    for k, (name, unit, rms) in enumerate(zip(spectrum.outputs, spectrum.units, spectrum.rms(), strict=True)):
        axes[units.index(unit)].plot(
            spectrum.frequencies, spectrum.values[:, k], color=COLORS[k % len(COLORS)], linewidth=1.4,
            label=f"{name}: RMS {rms:.3g} {unit}".rstrip(),
        )  # fmt: skip
    for axis, unit in zip(axes, units, strict=True):
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_ylabel(
            f"density [({unit})²/Hz]" if {*unit} & {*"/·"} else f"density [{unit}²/Hz]" if unit else "density [1/Hz]"
        )
        _legend(axis)
        _tidy(axis)
    axes[-1].set_xlabel("frequency [Hz]")
    return _done(figure, file, title)


def shock(spectrum: ShockSpectrum, *, file: File = None, title: str | None = None) -> Figure:
    """Draw a shock response spectrum: largest, smallest (as a size) and residual."""
    figure = Picture(figsize=(7.4, 4.0), layout="constrained")
    axis = figure.subplots()
    curves = (
        (spectrum.largest, "largest"),
        (-spectrum.smallest, "smallest, as a size"),
        (spectrum.residual, "after it"),
    )
    for k, (values, label) in enumerate(curves):
        axis.plot(
            spectrum.frequencies,
            np.where(values > 0.0, values, np.nan),
            color=COLORS[k],
            label=label,
            linestyle=_DASHES[k],
            linewidth=1.4,
        )
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("frequency of the oscillator [Hz]")
    axis.set_ylabel(spectrum.quantity)
    _tidy(axis)
    axis.legend(frameon=False, fontsize="small", title=f"damping {100 * spectrum.damping:g} %")
    return _done(figure, file, title)


def _check_count(who: str, n: int) -> None:
    if not 0 < n <= _MOST:
        raise InputError(f"{who}: there are {n} curves, expected 1 to {_MOST}.\n  Ask for fewer inputs or outputs.")


def _index(response: FrequencyResponse, pair: tuple[str, str]) -> tuple[int, int]:
    return response.outputs.index(pair[0]), response.inputs.index(pair[1])


def _name(pair: tuple[str, str], response: FrequencyResponse) -> str:
    return f"{pair[0]} / {pair[1]}" if len(response.inputs) > 1 else pair[0]


def _legend(axis: Axes) -> None:
    axis.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.03), handlelength=1.6)


def _tidy(axis: Axes) -> None:
    axis.grid(True, color="0.9", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)


def _done(figure: Figure, file: File, title: str | None) -> Figure:
    if title:
        figure.suptitle(title, fontsize="medium")
    return finish(figure, file)


__all__ = ["bode", "densities", "nyquist", "poles_and_zeros", "shock"]
