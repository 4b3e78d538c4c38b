"""Pictures of studies: a panel a case, a colour a method.  Figures are plain objects; no state is kept anywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from liegeo.analysis.loci import Locus
    from liegeo.analysis.results import DriftStudy, OrderStudy, WorkPrecision

# Okabe and Ito's colours, which the colour-blind can tell apart; black comes last.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999933", "#882255", "#000000")
_MARKERS = "osD^vP*Xh"
_GUIDE = "#b8b8b8"
_COLUMNS = 3


def orders(study: OrderStudy) -> Figure:
    """Error against step; below each fitted part a dashed line with the declared slope."""
    cases = [*dict.fromkeys(row.case for row in study.rows)]
    styles = _styles([*dict.fromkeys(row.method for row in study.rows)])
    figure, panels = _panels(cases)
    for case, axes in zip(cases, panels, strict=True):
        _loglog(axes, "step / s", "error")
        marked: set[int] = set()
        for order in (order for order in study.orders if order.case == case):
            rows = [row for row in study.of(case, order.method) if row.error > 0.0]
            axes.plot([abs(row.step) for row in rows], [row.error for row in rows], **styles[order.method])
            if order.declared not in marked and order.used:
                _slope(axes, [row for row in rows if row.steps in order.used], order.declared)
                marked.add(order.declared)
    _legend(figure, styles, study.title)
    return figure


def work(study: WorkPrecision) -> Figure:
    """CPU time, on the left, and evaluations of the field, on the right, against error: a row a case."""
    cases = [*dict.fromkeys(row.case for row in study.rows)]
    styles = _styles([*dict.fromkeys(row.method for row in study.rows)])
    figure, panels = _panels([case for case in cases for _ in range(2)], columns=2)
    for k, axes in enumerate(panels):
        name, label = (("seconds", "CPU time / s"), ("evaluations", "evaluations of the field"))[k % 2]
        _loglog(axes, "error", label)
        axes.invert_xaxis()
        for method, style in styles.items():
            rows = [row for row in study.of(cases[k // 2], method) if row.error > 0.0 and getattr(row, name) > 0.0]
            axes.plot([row.error for row in rows], [getattr(row, name) for row in rows], **style)
    _legend(figure, styles, study.title)
    return figure


def drifts(study: DriftStudy) -> Figure:
    """|Change| of each invariant over time: a panel an invariant and case."""
    keys = list(dict.fromkeys((case, invariant) for case, _, invariant in study.series))
    methods = list(dict.fromkeys(method for _, method, _ in study.series))
    styles = _styles(methods, marker=False)
    figure, panels = _panels([f"{case}: {invariant}" for case, invariant in keys])
    for (case, invariant), axes in zip(keys, panels, strict=True):
        axes.set_yscale("log")
        axes.set_xlabel("t / s")
        axes.set_ylabel("|change|")
        largest = 0.0
        for method in methods:
            if (case, method, invariant) not in study.series:
                continue
            t, change = study.series[case, method, invariant]
            # exact zeros have no logarithm
            size = np.where(change == 0.0, np.nan, np.abs(change))
            axes.plot(t, size, **styles[method])
            largest = max(largest, float(np.nanmax(size, initial=0.0)))
        _decent(axes)
        if largest == 0.0:
            axes.set_yscale("linear")
            axes.text(0.5, 0.5, "no change at all", transform=axes.transAxes, ha="center", color="#666666")
            axes.set_yticks([])
    _legend(figure, styles, study.title)
    return figure


def _panels(titles: Sequence[str], columns: int = _COLUMNS) -> tuple[Figure, list[Axes]]:
    """Panels row by row."""
    columns = min(columns, max(1, len(titles)))
    rows = max(1, math.ceil(len(titles) / columns))
    figure = Figure(figsize=(4.3 * columns + 0.4, 3.3 * rows + 0.9), layout="constrained")
    panels: list[Axes] = []
    for i, title in enumerate(titles):
        axes = figure.add_subplot(rows, columns, i + 1)
        axes.set_title(title, fontsize=10, loc="left")
        panels.append(axes)
    return figure, panels


def _styles(methods: Sequence[str], marker: bool = True) -> dict[str, dict[str, Any]]:
    """Colours and markers turn at different rates, so that no two of many methods look alike."""
    styles: dict[str, dict[str, Any]] = {}
    for i, name in enumerate(methods):
        turn = i // len(_COLOURS)
        style: dict[str, Any] = {"color": _COLOURS[i % len(_COLOURS)], "ls": ("-", "--", ":")[turn % 3], "lw": 1.3}
        if marker:
            style |= {"marker": _MARKERS[(i + turn) % len(_MARKERS)], "markersize": 4.5, "markeredgewidth": 0.0}
        styles[name] = style
    return styles


def _loglog(axes: Axes, x: str, y: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(NullFormatter())
        axis.set_major_locator(LogLocator(numticks=8))
    _decent(axes)


def _decent(axes: Axes) -> None:
    axes.grid(True, which="major", color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8, which="both", length=2.5)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _slope(axes: Axes, rows: Sequence[Any], order: int) -> None:
    """A dashed line of this slope, a little below these runs, with the order at its fine end."""
    x = np.array([abs(rows[-1].step), abs(rows[0].step)])
    # through the middle of the runs, in the sense of logarithms, then down by a factor of three
    middle = [math.exp(np.mean([math.log(value) for value in values])) for values in _columns(rows)]
    y = middle[1] / 3.0 * (x / middle[0]) ** order
    axes.plot(x, y, color=_GUIDE, linewidth=1.0, linestyle=(0, (4, 2)), zorder=0.5)
    center = float(x.prod() ** 0.5), float(y.prod() ** 0.5)
    axes.annotate(str(order), center, (1, -1), textcoords="offset points", fontsize=8, color="#808080", va="top")


def _columns(rows: Sequence[Any]) -> tuple[list[float], list[float]]:
    return [abs(row.step) for row in rows], [row.error for row in rows]


def _legend(figure: Figure, styles: dict[str, dict[str, Any]], title: str) -> None:
    handles = [Line2D([], [], label=name, **style) for name, style in styles.items()]
    figure.suptitle(title, fontsize=12, x=0.01, ha="left")
    if handles:
        columns = min(6, len(handles))
        figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, fontsize=9)


# ---- modes over a parameter


def campbell(found: Locus, orders: Sequence[float]) -> Figure:
    """Draw frequencies, and damping below if there is any, over the parameter; dashed lines at orders of a speed."""
    damping = 100.0 * found.damping
    damped = bool(np.nanmax(np.abs(damping), initial=0.0) > 1e-6)
    figure = Figure(figsize=(7.4, 6.4 if damped else 4.4), layout="constrained")
    panels = figure.subplots(2 if damped else 1, 1, sharex=True, squeeze=False, height_ratios=[2, 1] if damped else [1])
    upper = panels[0, 0]
    dashes = {"": "-", "forward whirl": "-", "backward whirl": "-.", "no whirl": ":"}
    drawn: set[str] = set()
    for k, frequencies in enumerate(found.frequencies.T):
        # by what a branch does most of the way
        mean = float(np.mean(np.sign(found.whirl[:, k])))
        way = "forward whirl" if mean > 0.5 else "backward whirl" if mean < -0.5 else "no whirl"
        way = way if found.whirl.any() else ""
        drawn.add(way)
        style: dict[str, Any] = {"color": _COLOURS[k % len(_COLOURS)], "lw": 1.4, "ls": dashes[way]}
        upper.plot(found.values, frequencies, **style)
        if damped:
            panels[1, 0].plot(found.values, damping[:, k], **style)
    if found.whirl.any():
        handles = [Line2D([], [], color="#444444", ls=dashes[way], lw=1.2, label=way) for way in sorted(drawn)]
        upper.legend(handles=handles, frameon=False, fontsize=8, loc="upper left")
    upper.set_ylabel("frequency / Hz")
    top = float(np.nanmax(found.frequencies, initial=0.0)) or 1.0
    upper.set_ylim(0.0, 1.06 * top)
    upper.set_xlim(*sorted((found.values[0], found.values[-1])))
    if np.ptp(found.speed) > 0.0:
        for order in orders:
            line = order * found.speed / (2.0 * np.pi)
            upper.plot(found.values, line, color=_GUIDE, linewidth=1.0, linestyle=(0, (4, 2)), zorder=0.5)
            inside = np.flatnonzero(line <= top)
            if len(inside):
                last = inside[np.argmax(line[inside])]
                place = (found.values[last], line[last])
                upper.annotate(f"{order:g}×", place, (-3, 3), textcoords="offset points", fontsize=8,
                               color="#808080", ha="right")  # fmt: skip
    if damped:
        panels[1, 0].set_ylabel("damping / %")
        panels[1, 0].axhline(0.0, color=_GUIDE, lw=0.8, zorder=0.5)
    unit = " / (rad/s)" if np.array_equal(np.abs(found.values), found.speed) else ""
    panels[-1, 0].set_xlabel(found.parameter + unit)
    for axes in panels[:, 0]:
        _decent(axes)
    seen = f", {found.frame} frame" if found.speed.any() else ""
    figure.suptitle(f"{found.name}{seen}", fontsize=12, x=0.01, ha="left")
    return figure


def roots(found: Locus) -> Figure:
    """Draw branches in the plane of eigenvalues, with a cross where each begins and a dot where it ends."""
    figure = Figure(figsize=(6.4, 5.6), layout="constrained")
    axes = figure.add_subplot()
    for k, branch in enumerate(found.eigenvalues.T):
        there = branch[~np.isnan(branch)]
        colour = _COLOURS[k % len(_COLOURS)]
        axes.plot(there.real, there.imag, color=colour, lw=1.4)
        axes.plot(there.real[:1], there.imag[:1], "x", color=colour, markersize=6)
        axes.plot(there.real[-1:], there.imag[-1:], "o", color=colour, markersize=4.5)
    axes.axvline(0.0, color=_GUIDE, lw=1.0, zorder=0.5)
    axes.set_xlabel("real part / (1/s)")
    axes.set_ylabel("imaginary part / (rad/s)")
    # a spectrum without damping is a line, not a cloud of round-off
    widest = float(np.nanmax(np.abs(found.eigenvalues.real), initial=0.0))
    highest = float(np.nanmax(np.abs(found.eigenvalues), initial=0.0)) or 1.0
    if widest < 1e-6 * highest:
        axes.set_xlim(-0.01 * highest, 0.01 * highest)
    _decent(axes)
    title = f"{found.name}: {found.parameter} from {found.values[0]:.6g} (×) to {found.values[-1]:.6g} (•)"
    figure.suptitle(title, fontsize=12, x=0.01, ha="left")
    return figure
