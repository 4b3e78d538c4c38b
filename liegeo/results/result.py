"""What a simulation returns: a trajectory, its columns by name, files and pictures of it."""

from __future__ import annotations

import functools
import html
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import InputError
from liegeo.integrate import NewtonRecord
from liegeo.model.checks import suggest
from liegeo.model.model import Model, State
from liegeo.model.names import Column, Names, implied_unit, matches
from liegeo.observer import not_implemented
from liegeo.results import tables
from liegeo.results.quantities import Quantities, Sensed
from liegeo.results.tables import read_table, read_units

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from liegeo.results.plots import Curve

__all__ = ["Result", "RunInfo", "Spectrum", "plot_runs", "plot_tables", "read_table", "read_units"]

Array = NDArray[Any]
FilePath = str | os.PathLike[str]

# Samples count as equally spaced if their steps differ by less than this part of a step.
_EQUAL = 1e-6
_FEWEST = 8


class EnergyAccount(NamedTuple):
    """Energies at both ends of a run, the work of its inputs, what was dissipated, and what is missing, in J.

    The defect would be zero without errors of integration (liegeo/account.py (1)).
    """

    start: float
    end: float
    work: float
    dissipated: float
    defect: float


@dataclass(frozen=True)
class RunInfo:
    """How a run went: method, steps taken and rejected, wall time in seconds, and why it ended early, if it did.

    `ctrl_c` is whether it was pressed, perhaps too late to end the run early.  Two figures tell how far the run can be
    trusted: `energy` is its account of energy, and `local_errors` is the sum of the estimated errors of all steps, in
    radians, or relative to a number of size 1; None of a method of fixed step, which estimates none.  Where steps were
    chosen by an accuracy, `accuracy` in metres and radians, it is in metres instead (integrate/stepping.py (4)).
    `newton` counts what Newton's method did, None if the method does not use it; a run that went on from a checkpoint
    counts from there.  `happened` are the events of the model (docs/events.md), in time, and `events` those that
    `simulate` was asked to look for.
    """

    method: str
    steps: int
    rejected: int = 0
    seconds: float = 0.0
    finished: bool = True
    message: str = ""
    events: tuple[Any, ...] = ()
    ctrl_c: bool = False
    energy: EnergyAccount | None = None
    local_errors: float | None = None
    accuracy: tuple[float, float] | None = None
    newton: NewtonRecord | None = None
    happened: tuple[Happened, ...] = ()

    def describe_errors(self) -> str:
        """Return the sum of the local errors in words, with what was asked for if that was an accuracy."""
        if self.local_errors is None:
            return "an unknown number"
        if self.accuracy is None:
            return f"{self.local_errors:.1g}"
        return f"{self.local_errors:.1g} m, at most {self.accuracy[0]:.1g} m asked for"


class Spectrum(NamedTuple):
    """Frequencies in Hz, and at each the amplitude of a sine, in the unit of the column."""

    frequency: Array
    amplitude: Array


class Happened(NamedTuple):
    """An event: its time, its name, and what energy the model got by all events of that instant (J)."""

    t: float
    name: str
    energy: float


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """Samples of a run: times t (n), configurations q (n × nq), speeds v (n × nv), u (n × (nv + nu)), which is the
    generalised forces and then the inputs, and first-order states x (n × nx).

    `result["hinge.angle"]` is a column, `result["boom.tip.position"]` three of them, computed when first asked for and
    kept.  `names` are the columns of `table`, `more` is what can be computed; liegeo/model/names.py has the rule.
    `sensed` are the states at the instants at which sensors sampled, if there are any.
    """

    model: Model
    t: Array
    q: Array
    v: Array
    u: Array
    info: RunInfo
    x: Array = field(default_factory=lambda: np.zeros((0, 0)))
    sensed: Sensed | None = None

    def __post_init__(self) -> None:
        n = np.shape(self.t)[0] if np.ndim(self.t) == 1 else 0
        if n == 0:
            raise InputError(f"Result: t has shape {np.shape(self.t)}, expected (n,) with n ≥ 1.")
        nq, nv, nu, nx = self.model.nq, self.model.nv, self.model.nu, self.model.nx
        if not nx:
            object.__setattr__(self, "x", np.zeros((n, 0)))
        for name, shape in (("t", (n,)), ("q", (n, nq)), ("v", (n, nv)), ("u", (n, nv + nu)), ("x", (n, nx))):
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != shape:
                raise InputError(f"Result: {name} has shape {array.shape}, expected {shape} for {self.model!r}.")
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def events(self) -> tuple[Happened, ...]:
        """Return the events of the model that happened, in time."""
        return self.info.happened

    # ---- columns

    @property
    def _names(self) -> Names:
        return self.model.names

    @functools.cached_property
    def _quantities(self) -> Quantities:
        return Quantities(self.model, self.t, self.q, self.v, self.u, self.x, self.sensed)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table."""
        return tuple(self._names.table)

    @property
    def more(self) -> tuple[str, ...]:
        """What can be computed beside the table; of vectors also each component: `tip.position.x`."""
        return self._names.computable

    @functools.cached_property
    def table(self) -> Array:
        """Time, coordinates and speeds of joints and modes, and inputs: a structured array of float64."""
        return self._tabulate(self.names)

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, name: str) -> Array:
        """A column (n,), or the components of a quantity (n, k): an array of its own."""
        if not isinstance(name, str):
            raise InputError(
                f"result: {name!r} is not a name, expected text such as 'time'; states are in result.state(i)."
            )
        found = self._names.find(name)
        columns = self._columns(found)
        return columns[name].copy() if found == (name,) else np.stack(list(columns.values()), axis=1)

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and bool(self._names.find(name))
        except InputError:
            return False

    def select(self, *patterns: str) -> Array:
        """Time and the columns behind names and wildcards, as a structured array: `select("*.angle", "energy*")`.

        * stands for any text and ? for one letter, in names of columns or of quantities, computed ones included.
        """
        return self._tabulate(self._match(patterns))

    def unit(self, name: str) -> str:
        """The unit of a column or quantity, "" if it has none; of mixed ones (a twist) all units in order."""
        return ", ".join(dict.fromkeys(self._names.column(column).unit for column in self._names.find(name)))

    def _match(self, patterns: Iterable[str]) -> list[str]:
        """Without time."""
        return [name for name in self._names.match(patterns) if name != "time"]

    def _columns(self, names: Iterable[str]) -> dict[str, Array]:
        columns = [self._names.column(name) for name in names]
        answers = self._quantities.answer(column.source for column in columns)
        for column in columns:
            if column.place >= answers[column.source].shape[1]:
                raise not_implemented((*column.source, column.name))
        return {column.name: answers[column.source][:, column.place] for column in columns}

    def _tabulate(self, names: Iterable[str]) -> Array:
        table = tables.make_table(self._columns(dict.fromkeys(["time", *names])))
        table.setflags(write=False)
        return table

    # ---- states

    def state(self, i: int) -> State:
        """The state at sample i; −1 is the last."""
        n = len(self)
        if not -n <= i < n:
            raise InputError(f"result.state: sample {i} of {n}, expected {-n} to {n - 1}.")
        return State(self.q[i].copy(), self.v[i].copy(), float(self.t[i]), self.x[i].copy(), self.model)

    @property
    def end(self) -> State:
        """The last state, from which a run can go on."""
        return self.state(-1)

    # ---- for people

    def _facts(self) -> dict[str, str]:
        info, span = self.info, float(self.t[-1] - self.t[0])
        samples = "1 sample" if len(self) == 1 else f"{len(self)} samples"
        rejected = f" ({info.rejected} rejected)" if info.rejected else ""
        speed = f", {abs(span) / info.seconds:.3g} × real time" if info.seconds > 0.0 else ""
        return {
            "model": self.model.tree.name,
            "time": f"{self.t[0]:.6g} to {self.t[-1]:.6g} s, {samples}",
            "method": f"{info.method}, {info.steps} steps{rejected}",
            **({"newton": str(info.newton)} if info.newton else {}),
            "took": f"{info.seconds:.3g} s{speed}",
            **({"error": error} if (error := self._error()) else {}),
            **({} if info.finished else {"stopped early": info.message}),
        }

    @functools.cached_property
    def energy_scale(self) -> float:
        """What a defect of energy is compared with: the largest kinetic energy of a sample, and the work, in J."""
        kinetic = float(np.abs(self["energy.kinetic"]).max())
        account = self.info.energy
        return kinetic if account is None else max(kinetic, abs(account.work), abs(account.dissipated))

    def _error(self) -> str:
        """Return the two figures of RunInfo in words, "" if there are none."""
        account, local = self.info.energy, self.info.local_errors
        parts = []
        if account is not None and np.isfinite(account.defect):
            share = f" ({abs(account.defect) / self.energy_scale:.1g} of {self.energy_scale:.3g} J)"
            parts.append(f"energy {account.defect:.2g} J off{share if self.energy_scale > 0.0 else ''}")
        if local is not None:
            parts.append(f"errors of steps add up to {self.info.describe_errors()}")
        return ", ".join(parts)

    def __repr__(self) -> str:
        facts = self._facts()
        early = f"\n  stopped early: {self.info.message}" if not self.info.finished else ""
        error = f"; {facts['error']}" if "error" in facts else ""
        return f"<result of '{facts['model']}': {facts['time']}; {facts['method']} in {facts['took']}{error}{early}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(key)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for key, value in self._facts().items()
        )
        return f"<table>{rows}</table>"

    # ---- files

    def to(self, path: FilePath, names: str | Sequence[str] | None = None) -> Path:
        """Write a .csv, .npz or .parquet file."""
        suffix = tables.suffix_of("to", Path(path))
        write = {".csv": self.to_csv, ".npz": self.to_npz, ".parquet": self.to_parquet}
        return write[suffix](path, names)

    def to_csv(self, path: FilePath, names: str | Sequence[str] | None = None) -> Path:
        """Write the table, or time and the columns behind `names` and wildcards; numbers read back exactly."""
        return tables.write_csv(path, self._chosen(names))

    def to_npz(self, path: FilePath, names: str | Sequence[str] | None = None) -> Path:
        """Write the same columns, t, q, v, u, and how the run went, as JSON in `meta`."""
        table = self._chosen(names)
        return tables.write_npz(path, table, {"t": self.t, "q": self.q, "v": self.v, "u": self.u}, self._meta(table))

    def to_parquet(self, path: FilePath, names: str | Sequence[str] | None = None) -> Path:
        """Write the same columns, with units; needs pyarrow."""
        table = self._chosen(names)
        return tables.write_parquet(path, table, self._meta(table))

    def _chosen(self, names: str | Sequence[str] | None) -> Array:
        if names is None:
            return self.table
        return self.select(names) if isinstance(names, str) else self.select(*names)

    def _meta(self, table: Array) -> dict[str, Any]:
        info = {key: value for key, value in asdict(self.info).items() if key not in ("events", "ctrl_c")}
        units = {name: self._names.column(name).unit for name in table.dtype.names or ()}
        return {"model": self.model.tree.name, **info, "units": units}

    # ---- pictures

    def plot(
        self, *names: str, file: FilePath | None = None, ax: Axes | None = None, title: str | None = None
    ) -> Figure:
        """A figure of columns over time, names or wildcards, one axis a kind of quantity; all of the table if none.

        `file` (.png, .pdf, .svg) also writes it; `ax` draws into axes that you have.
        """
        from liegeo.results import plots

        return plots.draw(self._curves("plot", names or self.names), file=file, ax=ax, title=title)

    def view(self, file: FilePath, **options: Any) -> Path:
        """Write a 3-D page, one HTML file that plays the run; options are those of liegeo.view.write_page."""
        from liegeo.view import write_page

        return write_page(self, file, **options)

    def spectrum(self, name: str) -> Spectrum:
        """Amplitudes of a column (or of each component of a quantity) over frequency.

        The mean is taken out and a Hann window w put on; the amplitude is 2|Σ wₖxₖe^(−iωk)|/Σwₖ, so a sine whose
        frequency is one of those listed has a peak as high as its amplitude; between two, it is up to 15 % lower.
        """
        return _spectrum(self.t, self[name])

    def plot_spectrum(
        self, *names: str, file: FilePath | None = None, ax: Axes | None = None, title: str | None = None
    ) -> Figure:
        """A figure of `spectrum` for columns, names or wildcards, one axis a kind of quantity."""
        from liegeo.results import plots

        return plots.draw_spectra(_spectra(self._curves("plot_spectrum", names)), file=file, ax=ax, title=title)

    def _curves(self, who: str, names: Sequence[str]) -> list[Curve]:
        from liegeo.results import plots

        chosen = self._match(names)
        if not chosen:
            raise InputError(f"{who}: nothing to draw, expected names such as 'hinge.angle' or '*.angle'.")
        columns: list[Column] = [self._names.column(name) for name in chosen]
        values = self._columns(chosen)
        return [plots.Curve(c.name, c.kind, c.unit, self.t, values[c.name]) for c in columns]


def _spectrum(t: Array, x: Array) -> Spectrum:
    """Of columns (n) or (n × k), as Result.spectrum says."""
    n, step = len(x), _equal_step(t)
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(n) / n)
    shape = (n,) + (1,) * (x.ndim - 1)
    transform = np.fft.rfft((x - x.mean(axis=0)) * window.reshape(shape), axis=0)
    amplitude = 2.0 * np.abs(transform) / window.sum()
    # These two stand for one complex wave, not for a pair.
    amplitude[0] *= 0.5
    if n % 2 == 0:
        amplitude[-1] *= 0.5
    return Spectrum(np.fft.rfftfreq(n, step), amplitude)


def _equal_step(t: Array) -> float:
    if len(t) < _FEWEST:
        raise InputError(f"spectrum: the result has {len(t)} samples, expected at least {_FEWEST}.")
    steps = np.diff(t)
    mean = float(steps.mean())
    if not np.abs(steps - mean).max() <= _EQUAL * abs(mean):
        raise InputError(
            f"spectrum: samples are {steps.min():.6g} to {steps.max():.6g} s apart, expected equal steps.\n"
            "  Simulate with outputs at equal steps."
        )
    return mean


def _spectra(curves: Sequence[Curve]) -> list[Curve]:
    """Curves over frequency, without frequency 0, whose amplitude is zero: the scale is logarithmic."""
    from liegeo.results import plots

    out = []
    for curve in curves:
        found = _spectrum(curve.x, curve.y)
        out.append(plots.Curve(curve.name, curve.kind, curve.unit, found.frequency[1:], found.amplitude[1:]))
    return out


def plot_tables(
    given: Mapping[str, Array],
    *names: str,
    file: FilePath | None = None,
    title: str | None = None,
    spectrum: bool = False,
    units: Mapping[str, Mapping[str, str]] | None = None,
) -> Figure:
    """A figure of columns of tables, by label, as `read_table` gives them: over time, or amplitudes over frequency.

    Names and wildcards are those of columns; all of them if none.  Of one table it has an axis a kind of quantity, of
    several an axis a column.  `units`, by label, are those that `read_units` gives; without, they come from the names.
    """
    from liegeo.results import plots

    known = units or {}
    curves = {label: _table_curves(label, table, names or ("*",), known.get(label)) for label, table in given.items()}
    if not curves:
        raise InputError("plot_tables: there are no tables, expected a mapping of labels to structured arrays.")
    if spectrum:
        curves = {label: _spectra(found) for label, found in curves.items()}
    if len(curves) == 1:
        (found,) = curves.values()
        return (plots.draw_spectra if spectrum else plots.draw)(found, file=file, title=title)
    return plots.draw_runs(curves, file=file, title=title, logarithmic=spectrum)


def _table_curves(label: str, table: Array, patterns: Sequence[str], units: Mapping[str, str] | None) -> list[Curve]:
    from liegeo.results import plots

    columns = [name for name in table.dtype.names or () if name != "time"]
    if units is None:
        units = {name: implied_unit(name, columns) for name in columns}
    if "time" not in (table.dtype.names or ()):
        raise InputError(f"plot, '{label}': there is no column 'time', which is what others are drawn over.")
    found: dict[str, None] = {}
    for pattern in patterns:
        matching = matches(pattern, columns)
        if not matching:
            raise InputError(
                f"plot, '{label}': no column matches '{pattern}'.{suggest(pattern, columns)}\n"
                "  * stands for any text, ? for one letter.  What is computed is chosen when simulating: "
                f"liegeo simulate MODEL -c {pattern}"
            )
        found.update(dict.fromkeys(matching))
    return [plots.Curve(name, _kind(name), units.get(name, ""), table["time"], table[name]) for name in found]


def _kind(column: str) -> str:
    """Of a column without units: the quantity that it is called after, without owner and component."""
    parts = column.split("[")[0].split(".")
    return parts[-2] if len(parts) > 2 and parts[-1] in ("x", "y", "z", "w") else parts[-1]


def plot_runs(
    runs: Mapping[str, Result], *names: str, file: FilePath | None = None, title: str | None = None
) -> Figure:
    """A figure of the same columns of several runs, by label: one axis a column, one colour a run."""
    from liegeo.results import plots

    if not runs:
        raise InputError("plot_runs: there are no runs, expected a mapping of labels to results.")
    curves = {}
    for label, run in runs.items():
        try:
            curves[label] = run._curves("plot_runs", names)
        except InputError as error:
            raise InputError(f"plot_runs, run '{label}': {error}") from None
    return plots.draw_runs(curves, file=file, title=title)
