"""Pictures of columns over time and over frequency.

Figures are made without pyplot, so nothing pops up and nothing stays in memory; a notebook shows them.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from liegeo.errors import InputError
from liegeo.results.tables import write_whole

Array = NDArray[Any]

FORMATS = (".png", ".pdf", ".svg")
# Okabe and Ito's colours, which colour-blind people can tell apart, without the yellow that paper swallows.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
_DASHES = ("-", "--", ":", "-.")
_WIDTH, _HEIGHT, _ROW = 7.4, 1.2, 1.9


@dataclass(frozen=True)
class Curve:
    """One column: what it is called, what kind of thing it is, in which unit, and its points."""

    name: str
    kind: str
    unit: str
    x: Array
    y: Array


class Picture(Figure):
    """A figure that a notebook shows without pyplot."""

    def _repr_png_(self) -> bytes:
        return _render(self, ".png")


def draw(
    curves: Sequence[Curve], *, file: str | os.PathLike[str] | None = None, ax: Axes | None = None, title: str | None
) -> Figure:
    """Curves over time: one axis a kind of quantity, in the order in which the kinds appear."""
    panels = [(_heading(group), group) for group in _by_kind(curves)]
    return _draw(panels, "time [s]", _lines, file, ax, title)


def draw_spectra(
    curves: Sequence[Curve], *, file: str | os.PathLike[str] | None = None, ax: Axes | None = None, title: str | None
) -> Figure:
    """Amplitudes over frequency, both logarithmic: one axis a kind of quantity."""
    panels = [(f"amplitude of\n{_heading(group)}", group) for group in _by_kind(curves)]
    return _draw(panels, "frequency [Hz]", _log_lines, file, ax, title)


def draw_runs(
    runs: Mapping[str, Sequence[Curve]],
    *,
    file: str | os.PathLike[str] | None = None,
    title: str | None,
    logarithmic: bool = False,
) -> Figure:
    """The same columns of several runs: one axis a column, one colour a run; dashes show a run under another.

    Over time, or, if logarithmic, amplitudes over frequency.
    """
    by_column: dict[str, list[tuple[int, Curve]]] = {}
    for k, curves in enumerate(runs.values()):
        for curve in curves:
            by_column.setdefault(curve.name, []).append((k, curve))
    figure, axes = _figure(len(by_column), title, legend_rows=1)
    lines: dict[int, Any] = {}
    for axis, numbered in zip(axes, by_column.values(), strict=True):
        for k, curve in numbered:
            (lines[k],) = axis.plot(curve.x, curve.y, **_style(k, dashed=True))
        if logarithmic:
            _scale(axis, [curve for _, curve in numbered])
        _tidy(axis, _heading([numbered[0][1]]))
    axes[-1].set_xlabel("frequency [Hz]" if logarithmic else "time [s]")
    figure.legend([lines[k] for k in sorted(lines)], list(runs), loc="outside upper right", ncols=5, frameon=False)
    return finish(figure, file)


def _draw(
    panels: Sequence[tuple[str, Sequence[Curve]]],
    x_label: str,
    lines: Callable[[Axes, Sequence[Curve], Sequence[str]], None],
    file: str | os.PathLike[str] | None,
    ax: Axes | None,
    title: str | None,
) -> Figure:
    if ax is not None and len(panels) > 1:
        kinds = ", ".join(group[0].kind for _, group in panels)
        raise InputError(
            f"plot: ax holds one kind of quantity, but {len(panels)} are asked for: {kinds}.\n"
            "  Leave ax out to get an axis for each, or ask for one kind."
        )
    if ax is not None:
        axes, figure = [ax], ax.get_figure(root=True)
        assert figure is not None
        if title:
            ax.set_title(title)
    else:
        figure, axes = _figure(len(panels), title)
    for axis, (heading, group) in zip(axes, panels, strict=True):
        labels = _labels(group)
        lines(axis, group, labels)
        _tidy(axis, heading)
        if len(group) > 1:
            # Beside the axis, so that it never hides a curve.
            columns = 1 + (len(group) - 1) // 14
            axis.legend(
                loc="upper left", bbox_to_anchor=(1.0, 1.03), frameon=False, fontsize="small", ncols=columns,
                handlelength=1.4, borderaxespad=0.4,
            )  # fmt: skip
    axes[-1].set_xlabel(x_label)
    return finish(figure, file)


def _figure(rows: int, title: str | None, legend_rows: int = 0) -> tuple[Figure, list[Axes]]:
    figure = Picture(figsize=(_WIDTH, _HEIGHT + 0.3 * legend_rows + _ROW * rows), layout="constrained")
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
    if title:
        figure.suptitle(title, fontsize="medium")
    figure.align_ylabels(axes)
    return figure, list(axes)


def _lines(axis: Axes, curves: Sequence[Curve], labels: Sequence[str]) -> None:
    for k, (curve, label) in enumerate(zip(curves, labels, strict=True)):
        axis.plot(curve.x, curve.y, label=label, **_style(k))


def _log_lines(axis: Axes, curves: Sequence[Curve], labels: Sequence[str]) -> None:
    _lines(axis, curves, labels)
    _scale(axis, curves)


def _scale(axis: Axes, curves: Sequence[Curve]) -> None:
    """Both logarithmic."""
    axis.set_xscale("log")
    top = max(float(curve.y.max()) for curve in curves)
    if top > 0.0:
        axis.set_yscale("log")
        # Six decades: what is below is the window's leakage and round-off.
        lowest = min(float(curve.y.min()) for curve in curves)
        axis.set_ylim(bottom=max(lowest, 1e-6 * top) / 1.5, top=2.0 * top)


def _style(k: int, dashed: bool = False) -> dict[str, Any]:
    turn = k if dashed else k // len(COLORS)
    return {"color": COLORS[k % len(COLORS)], "linestyle": _DASHES[turn % len(_DASHES)], "linewidth": 1.4}


def _tidy(axis: Axes, heading: str) -> None:
    axis.set_ylabel(heading)
    axis.grid(True, color="0.9", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.margins(x=0.0)
    axis.spines[["top", "right"]].set_visible(False)
    if axis.get_yscale() == "linear":
        axis.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10], min_n_ticks=3))
        axis.ticklabel_format(axis="y", style="sci", scilimits=(-3, 4), useMathText=True)


def finish(figure: Figure, file: str | os.PathLike[str] | None) -> Figure:
    if file is not None:
        suffix = Path(file).suffix.lower()
        if suffix not in FORMATS:
            raise InputError(f"plot: file {Path(file).name} ends in '{suffix}', expected one of {', '.join(FORMATS)}.")
        picture = _render(figure, suffix)
        write_whole(file, lambda out: out.write(picture))
    return figure


def _render(figure: Figure, suffix: str) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=suffix[1:], dpi=150)
    return buffer.getvalue()


def _by_kind(curves: Sequence[Curve]) -> list[list[Curve]]:
    """An axis has one unit: speeds of what turns and of what slides are two kinds."""
    groups: dict[tuple[str, str], list[Curve]] = {}
    for curve in curves:
        groups.setdefault((curve.kind, curve.unit), []).append(curve)
    return list(groups.values())


def _stem(names: Sequence[str]) -> str:
    """The quantity whose components all these are; "" if they are not of one; a single name as a whole."""
    if len(names) == 1:
        return names[0]
    stems = {re.sub(r"(\.[^.\[\]]*|\[\d+\])$", "", name) for name in names}
    stem = stems.pop()
    return "" if stems or stem in names else stem


def _heading(curves: Sequence[Curve]) -> str:
    """Of an axis: the quantity that its curves are components of, or else their kind; and the unit."""
    what = _stem([curve.name for curve in curves]) or curves[0].kind
    return f"{what} [{curves[0].unit}]" if curves[0].unit else what


def _labels(curves: Sequence[Curve]) -> list[str]:
    names = [curve.name for curve in curves]
    stem = _stem(names)
    return [name.removeprefix(stem).lstrip(".") or name for name in names]
