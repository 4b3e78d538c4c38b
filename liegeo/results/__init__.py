"""What a run gives: columns by name, files, pictures; and the bar that shows how far it is."""

from __future__ import annotations

from liegeo.results.result import Result, RunInfo, Spectrum, plot_runs, plot_tables, read_table, read_units
from liegeo.results.tables import convert_table

__all__ = ["Result", "RunInfo", "Spectrum", "convert_table", "plot_runs", "plot_tables", "read_table", "read_units"]
