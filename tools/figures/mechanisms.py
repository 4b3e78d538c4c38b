"""Figures and differences of docs/mechanisms.md: [FLS13, section 5], [SY16, section 3] and a ring.

    pip install '.[test]' && python tools/figures/mechanisms.py [case …] [--out FOLDER]

Cases are pendulum, slider_crank, spin_up, four_bar, ring; without names all of them, in some three minutes.  Models
are those of the tests (tests/loops/published.py), references those of tests/references.  Printed: for each run its
degrees of freedom, method, steps and seconds, and the largest difference of each curve as a share of the reference's
peak.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from matplotlib.figure import Figure

sys.path.append(str(Path(__file__).parents[2] / "tests" / "loops"))

import published as mechanisms

import liegeo as lg
from liegeo.statics import equilibrium

ROOT = Path(__file__).parents[2]
# Okabe and Ito's, which the colour-blind can tell apart
BLUE, ORANGE, GREEN, REFERENCE = "#0072B2", "#D55E00", "#009E73", "#999999"
LINE = {"linewidth": 0.9}
BEHIND = {"color": REFERENCE, "linewidth": 3.0, "solid_capstyle": "round"}


def report(what, runs, shares=None):
    """One line of the table."""
    info = [run.info for run in runs]
    steps, seconds = sum(i.steps for i in info), sum(i.seconds for i in info)
    methods = "/".join(dict.fromkeys(i.method for i in info))
    found = ", ".join(f"{name} {share:.1e}" for name, share in (shares or {}).items())
    print(f"{what:44} {runs[0].model.nv:4} dof  {methods:18} {steps:7} steps {seconds:6.1f} s  {found}", flush=True)


def panels(rows, columns, size):
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=8)
        axis.xaxis.label.set_fontsize(9)
        axis.yaxis.label.set_fontsize(9)
        axis.title.set_fontsize(9)
    return figure, axes


def label(axis, y, x="t / s", title=None):
    axis.set_xlabel(x, fontsize=9)
    axis.set_ylabel(y, fontsize=9)
    if title:
        axis.set_title(title, fontsize=9, loc="left")


def beside(axis, t, curve, table, name, scale=1.0, colour=BLUE, legend=("reference", "liegeo")):
    """The reference behind, ours in front."""
    axis.plot(table["t"], scale * table[name], label=legend[0], **BEHIND)
    axis.plot(t, scale * curve, color=colour, label=legend[1], **LINE)


def pendulum():
    table = mechanisms.reference("fls13_pendulum")
    tight = {"method": "rkmk-54", "rtol": 1e-5, "atol": 1e-6}
    model = mechanisms.pendulum(8, n_elements=4, n_modes=1, stiffening=True)
    run = lg.simulate(model, t_end=2.0, output=table["t"], **tight)
    curves = mechanisms.pendulum_curves(run)
    report("5.1 pendulum, 8 bodies, geometric terms", [run], mechanisms.differences(curves, table))
    for n, options in ((1, {"n_elements": 20, "n_modes": 6, "root": "10"}), (4, {"n_elements": 4, "n_modes": 1})):
        for stiffening in (True, False):
            model = mechanisms.pendulum(n, stiffening=stiffening, **options)
            other = lg.simulate(model, t_end=2.0, output=table["t"], **tight)
            shares = mechanisms.differences(mechanisms.pendulum_curves(other), table)
            bodies, terms = ("1 body" if n == 1 else f"{n} bodies"), ("geometric" if stiffening else "no geometric")
            report(f"5.1 pendulum, {bodies}, {terms} terms", [other], shares)
    figure, axes = panels(3, 1, (7.0, 5.6))
    rows = (("root_angle", "root angle / °"), ("swing_angle", "swing angle / °"), ("tip_offset", "tip offset / mm"))
    for axis, (name, y) in zip(axes[:, 0], rows, strict=True):
        beside(axis, run.t, curves[name], table, name, 1e3 if "mm" in y else np.degrees(1.0))
        label(axis, y)
    axes[0, 0].legend(frameon=False, fontsize=8, ncols=2)
    return figure


def slider_crank():
    figure, axes = panels(3, 2, (8.6, 6.0))
    for column, reading in zip(axes.T, mechanisms.READINGS, strict=True):
        table = mechanisms.reference(f"fls13_slider_crank_{reading}")
        given, step, _ = mechanisms.SLIDER_CRANKS[reading]
        model = mechanisms.slider_crank(reading, **given)
        runs = mechanisms.slider_crank_runs(model, table["t"], method="rkmk-4", step=step)
        curves = mechanisms.slider_crank_curves(runs)
        papers = mechanisms.slider_crank(reading, **mechanisms.modes_of_the_paper(reading))
        others = mechanisms.slider_crank_runs(papers, table["t"], method="rkmk-4", step=2e-5)
        for name, some in (("", runs), (", 15 and 10 modes", others)):
            for end, when in ((mechanisms.TORQUE_ENDS, "0.7 s"), (np.inf, "1.6 s")):
                shares = mechanisms.differences(mechanisms.slider_crank_curves(some), table, end)
                report(f"5.2 slider-crank, {reading}{name}, to {when}", some, shares)
        beside(column[0], table["t"], curves["slider"], table, "slider", 1e3)
        label(column[0], "slider / mm", title=f"Young's moduli: {reading}")
        beside(column[1], table["t"], curves["rod_midpoint"], table, "rod_midpoint", 1e3)
        label(column[1], "middle of the rod / mm")
        column[2].plot(table["t"], 1e3 * (curves["rod_midpoint"] - table["rod_midpoint"]), color=ORANGE, **LINE)
        label(column[2], "difference / mm")
        for axis in column:
            axis.axvline(mechanisms.TORQUE_ENDS, color="#cccccc", linewidth=0.8, zorder=0)
    axes[0, 0].legend(frameon=False, fontsize=8)
    return figure


HOW = {
    "32 bodies": {"how": "substructure", "n_bodies": 32, "n_elements": 2},
    "8 bodies with geometric terms": {"how": "both", "n_bodies": 8},
    "1 body with geometric terms": {"how": "stiffening", "n_elements": 16, "n_modes": 8},
}


def spin_up():
    figure, axes = panels(2, 3, (9.6, 5.2))
    for column, omega in zip(axes.T, (2, 4, 10), strict=True):
        for gravity in (False, True):
            table = mechanisms.reference(f"fls13_spin_up_{omega}{'_gravity' if gravity else ''}")
            curves = {}
            for how, options in HOW.items():
                model = mechanisms.spinning_beam(omega, gravity, **options)
                state = equilibrium(model) if gravity else None
                run = lg.simulate(model, state, t_end=20.0, output=table["t"], rtol=1e-6, atol=1e-7)
                curves[how] = mechanisms.spinning_curves(run, omega)
                where = f"5.3 {omega} rad/s{', gravity' if gravity else ''}, {how}"
                report(where, [run], mechanisms.differences(curves[how], table))
            axis, name = (column[1], "vertical") if gravity else (column[0], "lateral")
            axis.plot(table["t"], table[name], label="reference", **BEHIND)
            for (how, found), colour in zip(curves.items(), (BLUE, GREEN, ORANGE), strict=True):
                axis.plot(table["t"], found[name], color=colour, label=how, **LINE)
        label(column[0], "behind the rigid line / m", title=f"{omega} rad/s")
        label(column[1], "vertical, with gravity / m")
    axes[0, 0].legend(frameon=False, fontsize=7, loc="upper left")
    top = axes[0, 0].get_ylim()[1]
    axes[0, 0].set_ylim(top=1.45 * top)
    return figure


def four_bar():
    found = {}
    for flexible in (False, True):
        model, state = mechanisms.four_bar(flexible)
        runs = mechanisms.four_bar_runs(model, state, 5e-4, rtol=1e-6, atol=1e-7)
        found[flexible] = mechanisms.four_bar_curves(runs)
        report(f"four-bar, {'flexible' if flexible else 'rigid'}", runs)
    rigid, bent = found[False], found[True]
    figure, axes = panels(2, 2, (8.6, 5.4))
    units = {"position": "m", "velocity": "m/s", "acceleration": "m/s²"}
    for axis, (what, unit) in zip(axes.flat, units.items(), strict=False):
        axis.plot(rigid["t"], rigid[what][:, 0], label="all rigid", **BEHIND)
        axis.plot(bent["t"], bent[what][:, 0], color=BLUE, label="link 2 bends", **LINE)
        label(axis, f"{what} / ({unit})" if "/" in unit else f"{what} / {unit}", title="link 3, x")
        share = np.abs(bent[what] - rigid[what]).max() / np.ptp(rigid[what], axis=0).max()
        print(f"  {what}: flexible less rigid, at most {share:.1e} of the range")
    axes[0, 0].legend(frameon=False, fontsize=8)
    axis = axes[1, 1]
    frequency, amplitude = mechanisms.spectrum(bent["t"], (bent["acceleration"] - rigid["acceleration"])[:, 0])
    for k, pinned in enumerate(mechanisms.pinned_frequencies(mechanisms.LINK_2, 3)):
        name = "a beam between hinges" if k == 0 else None
        axis.axvline(pinned, color=ORANGE, linewidth=0.8, linestyle="--", label=name)
        near = np.abs(frequency - pinned) < 0.3 * pinned
        print(f"  peak at {frequency[near][amplitude[near].argmax()]:.1f} Hz; between hinges {pinned:.1f} Hz")
    axis.semilogy(frequency, amplitude, color=BLUE, **LINE)
    axis.set_xlim(0.0, 500.0)
    axis.set_ylim(bottom=1e-6)
    axis.legend(frameon=False, fontsize=8)
    label(axis, "amplitude / (m/s²)", "f / Hz", "what trembles in the acceleration")
    return figure


def ring():
    speed, beam, R = 50.0, mechanisms.RING, mechanisms.RING_RADIUS
    breathing = 2 * np.pi * R * np.sqrt(beam.rho / beam.E)
    grown, pull = beam.rho * R**3 * speed**2 / beam.E, beam.rho * beam.A * R**2 * speed**2
    figure, axes = panels(1, 2, (8.6, 2.8))
    for damping, colour, name in ((None, BLUE, "undamped"), (0.5, GREEN, "damped")):
        model = mechanisms.ring(8, 4, 9, mechanisms.PLANAR, damping=damping)
        state = mechanisms.spun(model, speed)
        run = lg.simulate(model, state, t_end=10 * breathing, output=breathing / 50, rtol=1e-7, atol=1e-9)
        growth, tension = mechanisms.growth(run) / grown, mechanisms.tension(run) / pull
        axes[0, 0].plot(run.t / breathing, growth, color=colour, label=name, **LINE)
        axes[0, 1].plot(run.t / breathing, tension, color=colour, **LINE)
        report(f"ring of 32 sides, {name}", [run], {"energy": np.ptp(run["energy"]) / run["energy"][0]})
        print(f"  at the end growth {growth[-1]:.4f}, tension {tension[-1]:.4f} of a thin ring's")
    for axis, y in zip(axes[0], ("growth / (ρR³Ω²/E)", "tension / (ρAR²Ω²)"), strict=True):
        axis.axhline(1.0, color=REFERENCE, linewidth=0.8, zorder=0)
        label(axis, y, "t / period of breathing")
    axes[0, 0].legend(frameon=False, fontsize=8, loc="upper right")
    axes[0, 0].set_ylim(top=2.6)
    return figure


CASES = {f.__name__: f for f in (pendulum, slider_crank, spin_up, four_bar, ring)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="case", help=f"of {', '.join(CASES)}; all if none is given")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures", help="folder of the figures")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.cases) - set(CASES))
    if unknown:
        parser.error(f"no case {', '.join(unknown)}; there are: {', '.join(CASES)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("error")
    for name in arguments.cases or CASES:
        CASES[name]().savefig(arguments.out / f"{name}.png", dpi=110)


if __name__ == "__main__":
    main()
