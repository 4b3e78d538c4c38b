"""The picture of docs/control_design.md, made with the code of that page.

    python tools/figures/control_design.py

writes docs/figures/control_design.png.
"""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import numpy as np

from liegeo.results.plots import COLORS, Picture

DOCS = Path(__file__).parents[2] / "docs"


def main() -> None:
    text = (DOCS / "control_design.md").read_text(encoding="utf-8")
    page: dict[str, Any] = {}
    exec("".join(example.source for example in doctest.DocTestParser().get_examples(text)), page)
    T, steps = page["T"], page["steps"]
    linear = page["Linear"](page["offset"])
    expected = steps(linear.measure, linear.go_on, page["n"])
    # the same without the notches, for a fifth of a second
    page["controller"] = page["feedback"]
    bare = page["Simulated"](page["start"])
    shaken = steps(bare.measure, bare.go_on, 41)
    figure = Picture(figsize=(7.4, 4.6), layout="constrained")
    for k, (axis, joint) in enumerate(zip(figure.subplots(2, 1, sharex=True), page["joints"], strict=True)):
        t = T * np.arange(page["n"])
        axis.plot(t[:41], np.degrees(shaken[:, k]), color="0.6", linewidth=1.0, label="without notches")
        axis.plot(t, np.degrees(page["in_process"][:, k]), color=COLORS[0], linewidth=1.4, label="non-linear model")
        axis.plot(t, np.degrees(expected[:, k]), "--", color=COLORS[1], linewidth=1.4, label="linear model")
        dots = slice(None, None, 10)
        axis.plot(t[dots], np.degrees(page["by_fmu"][dots, k]), ".", color=COLORS[6], markersize=4, label="FMU")
        axis.set_ylabel(f"{joint} off [deg]")
        axis.grid(True, color="0.9", linewidth=0.8)
        axis.spines[["top", "right"]].set_visible(False)
        axis.margins(x=0.0)
    figure.axes[0].legend(frameon=False, fontsize="small")
    figure.axes[-1].set_xlabel("time [s]")
    figure.savefig(DOCS / "figures" / "control_design.png", dpi=110)


if __name__ == "__main__":
    main()
