"""Pictures of a study: the distribution of each output, and how it depends on each parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from liegeo.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDE, _HIGH = 2.6, 2.2


def picture(study: Any, names: Sequence[str]) -> Figure:
    """Return a row per output: its histogram, or its samples as bands, then a scatter plot over each parameter."""
    from matplotlib.figure import Figure

    outputs = list(names or study.outputs)
    for name in outputs:
        if name not in study.outputs:
            raise InputError(f"study: '{name}' is no output, expected one of {', '.join(study.outputs)}.")
    parameters = study.design.names
    columns = 1 + len(parameters)
    figure = Figure(figsize=(_WIDE * columns, _HIGH * len(outputs)), layout="constrained")
    axes = np.atleast_2d(np.asarray(figure.subplots(len(outputs), columns, sharey="row", squeeze=False)))
    for row, name in zip(axes, outputs, strict=True):
        values = study[name]
        if values.ndim == 2:
            _bands(row[0], values)
            values = values[:, -1]
        else:
            good = values[np.isfinite(values)]
            if len(good):
                row[0].hist(good, bins=min(40, max(5, int(np.sqrt(len(good))))), orientation="horizontal", color="0.6")
        row[0].set_ylabel(_label(study, name))
        for axis, parameter in zip(row[1:], parameters, strict=True):
            axis.plot(study[parameter], values, ".", markersize=3, alpha=0.6)
    for axis, parameter in zip(axes[-1][1:], parameters, strict=True):
        axis.set_xlabel(_label(study, parameter))
    return figure


def _bands(axis: Any, values: Any) -> None:
    """Draw the median of all members at each sample, and between which values 50 and 90 % of them are."""
    levels = np.nanpercentile(values, (5, 25, 50, 75, 95), axis=0)
    k = np.arange(values.shape[1])
    axis.fill_between(k, levels[0], levels[4], color="0.85")
    axis.fill_between(k, levels[1], levels[3], color="0.7")
    axis.plot(k, levels[2], color="0.2")
    axis.set_xlabel("sample")


def _label(study: Any, name: str) -> str:
    unit = study.units.get(name, "")
    return f"{name} [{unit}]" if unit else name
