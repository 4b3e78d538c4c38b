"""What a run gives: columns by name, files, pictures; and the bar that shows how far it is."""

from __future__ import annotations

from liegeo.results.result import Result, RunInfo, Spectrum, plot_runs, read_table

__all__ = ["Result", "RunInfo", "Spectrum", "plot_runs", "read_table"]
