"""Many runs of one model: `study` makes the members, runs them where that is fastest, and collects what they give."""

from __future__ import annotations

import hashlib
import html
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import InputError
from liegeo.io.mechanism import Mechanism
from liegeo.model.checks import suggest
from liegeo.results.progress import Progress, duration
from liegeo.results.tables import SUFFIXES, make_table, write_csv, write_whole
from liegeo.studies import executors
from liegeo.studies.designs import ALL_DISTRIBUTIONS, Design, make_design
from liegeo.studies.journal import Journal, MemberRow
from liegeo.studies.outputs import read_outputs
from liegeo.studies.task import Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[Any]


@dataclass(frozen=True, repr=False, eq=False)
class StudyResult:
    """The members of a study and what came of them: `study["tip"]` is a parameter or an output, one value per member.

    An output that keeps samples has a row per member.  Members that failed, or were not run, have NaN; `errors` says
    why they failed, by member.
    """

    name: str
    design: Design
    outputs: Mapping[str, Array]
    errors: Mapping[int, str]
    done: NDArray[np.bool_]
    units: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters, then the outputs."""
        return (*self.design.names, *self.outputs)

    @property
    def finished(self) -> bool:
        """Whether all members were run."""
        return bool(self.done.all())

    def __len__(self) -> int:
        return len(self.design)

    def __getitem__(self, name: str) -> Array:
        if name in self.outputs:
            return self.outputs[name].copy()
        if name in self.design.names:
            return self.design.values[:, self.design.names.index(name)].copy()
        raise InputError(
            f"study: '{name}' is no column, expected one of {', '.join(self.names)}.{suggest(str(name), self.names)}"
        )

    def __repr__(self) -> str:
        failed = f", {len(self.errors)} failed" if self.errors else ""
        left = f", {np.count_nonzero(~self.done)} not run" if not self.finished else ""
        made = f"{', '.join(self.design.names)} → {', '.join(self.outputs)}"
        return f"<study '{self.name}': {len(self)} members{failed}{left}; {made}>"

    def _repr_html_(self) -> str:
        rows = [(name, *(f"{x:.6g}" for x in self._summary(name))) for name in self.names if self[name].ndim == 1]
        head = "".join(f"<th>{text}</th>" for text in ("", "mean", "deviation", "least", "median", "largest"))
        body = "".join("<tr>" + "".join(f"<td>{html.escape(x)}</td>" for x in row) + "</tr>" for row in rows)
        return f"<p>{html.escape(repr(self)[1:-1])}</p><table><tr>{head}</tr>{body}</table>"

    def _summary(self, name: str) -> tuple[float, ...]:
        y = self[name]
        y = y[np.isfinite(y)]
        if not len(y):
            return (np.nan,) * 5
        return float(y.mean()), float(y.std()), float(y.min()), float(np.median(y)), float(y.max())

    def summary(self) -> dict[str, dict[str, float]]:
        """Return mean, standard deviation, least, median and largest value by column, of the members that were run."""
        words = ("mean", "deviation", "least", "median", "largest")
        return {name: dict(zip(words, self._summary(name), strict=True)) for name in self.names if self[name].ndim == 1}

    @property
    def table(self) -> Array:
        """Members, parameters, outputs that are numbers, and errors: a structured array, a row per member."""
        return make_table(
            {
                "member": np.arange(len(self), dtype=np.int32),
                **{name: self[name] for name in self.names if self[name].ndim == 1},
                "error": np.array([self.errors.get(k, "") for k in range(len(self))], dtype=object),
            }
        )

    def _columns(self) -> dict[str, Array]:
        table = self.table
        names = table.dtype.names or ()
        series = {name: values for name, values in self.outputs.items() if values.ndim == 2}
        return {**{name: table[name] for name in names[:-1]}, **series, "error": table["error"]}

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the table: Parquet or npz, with samples, or CSV, without."""
        path = Path(path)
        if path.suffix == ".csv":
            return write_csv(path, self.table, dict(self.units))
        columns: dict[str, Any] = self._columns()
        if path.suffix == ".npz":
            return write_whole(path, lambda file: np.savez(file, **columns))
        if path.suffix != ".parquet":
            raise InputError(f"study: '{path}' ends in '{path.suffix}', expected one of {', '.join(SUFFIXES)}.")
        try:
            import pyarrow as pa
            from pyarrow import parquet
        except ImportError:
            raise InputError(
                "study: Parquet needs pyarrow.\n  pip install 'liegeo[parquet]', or write npz or CSV."
            ) from None
        made = {name: pa.array(list(values) if values.ndim == 2 else values) for name, values in columns.items()}
        schema = pa.schema(
            [pa.field(name, each.type, metadata={"unit": self.units.get(name, "")}) for name, each in made.items()]
        )
        return write_whole(path, lambda file: parquet.write_table(pa.table(made, schema=schema), file))

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame with the members as its index."""
        pandas = _imported("pandas")
        return pandas.DataFrame({name: list(x) if x.ndim == 2 else x for name, x in self._columns().items()}).set_index(
            "member"
        )

    def to_xarray(self) -> Any:
        """Return the columns as an xarray Dataset over the dimension `member`; parameters are its coordinates."""
        xarray = _imported("xarray")
        data = {
            name: (("member", f"{name} sample")[: values.ndim], values, {"units": self.units.get(name, "")})
            for name, values in self._columns().items()
            if name not in (*self.design.names, "member")
        }
        coordinates = {name: ("member", self[name], {"units": self.units.get(name, "")}) for name in self.design.names}
        return xarray.Dataset(data, coords={"member": np.arange(len(self)), **coordinates})

    def plot(self, *names: str) -> Figure:
        """Return a picture: for each output its distribution, and how it depends on each parameter."""
        from liegeo.studies.pictures import picture

        return picture(self, names)


def _imported(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f"study: {name} is not installed.\n  pip install {name}") from None


def study(
    source: Mechanism | Callable[..., Any],
    vary: Mapping[str, Any],
    outputs: Any,
    *,
    design: str | None = None,
    members: int | None = None,
    seed: int = 0,
    levels: int = 5,
    name: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    executor: str | None = None,
    workers: int | None = None,
    scheduler: Any = None,
    progress: bool | None = None,
    **options: Any,
) -> StudyResult:
    """Run a mechanism with many values of its parameters; return the members and what came of them.

    - `source`: a mechanism from a model file, whose parameters vary, or a function of the values by name that returns
      a mechanism, a tree, a model, a model and its state, or the result of a run.
    - `vary`: by name of a parameter, or path in the model file, a list of values or a distribution (liegeo.studies has
      Uniform, Normal, LogNormal, Triangular): numbers in SI, or text with units.
    - `outputs`: by name, a column ("tip.position.z", which keeps all samples), a measure of one ("max(tip.position.z)",
      liegeo/studies/outputs.py), or a function of the Result.
    - `design`, `members`, `seed`, `levels`: how members are made (liegeo/studies/designs.py).
    - `name`: what the study is called; like the mechanism, if not given.
    - `folder`: where each member is noted when it is done.  The same call goes on from there after a kill, and runs no
      member again.
    - `executor`: "here", "threads", "processes", or "dask" with `scheduler`, the address of a Dask scheduler; chosen by
      how long the first member takes, if not given.  `workers`: how many; as many as there are cores, if not given.
      The results have the same bits.
    - `progress`: show a bar; None: if there is a terminal.  Other options are those of `liegeo.simulate`.

    A member whose run fails is a row with its error.  Ctrl-C returns what there is.
    """
    if not isinstance(source, Mechanism) and not callable(source):
        raise InputError(
            f"study: source is {source!r}, expected a mechanism from a model file, or a function that makes one."
        )
    plan, measures = make_design(vary, design, members, seed, levels), read_outputs(outputs)
    executors.check(executor, workers, scheduler)
    twice = [each.name for each in measures if each.name in plan.names]
    if twice:
        raise InputError(f"study: '{twice[0]}' is a parameter and an output; call the output otherwise.")
    task = Task.of(source, options, measures)
    _check_names(source, vary, plan)
    if name is None:
        name = source.name if isinstance(source, Mechanism) else getattr(source, "__name__", "study")
    collected = _Collected(name, plan, task)
    journal = None if folder is None else Journal(Path(folder), _identity(task, plan))
    try:
        for row in journal.rows() if journal is not None else ():
            collected.take(row)
        with Progress(float(len(plan)), name, progress, _said) as bar:
            try:
                for row in _run(task, plan, collected, executor, workers, scheduler):
                    if journal is not None:
                        journal.add(row)
                    collected.take(row)
                    bar.update(float(collected.n_done), len(collected.errors))
            except KeyboardInterrupt:
                pass
    finally:
        if journal is not None:
            journal.close()
    return collected.study()


def _said(done: float, failed: int, members: float, elapsed: float) -> str:
    """What stands beside the bar."""
    left = f" · {duration((members - done) * elapsed / done)} left" if done else ""
    return f"{done:.0f} of {members:.0f} members{f' · {failed} failed' if failed else ''}{left}"


def _run(
    task: Task, plan: Design, collected: _Collected, executor: str | None, workers: int | None, scheduler: Any
) -> Iterator[MemberRow]:
    """Run all members that are not done: two of them here, to see what is wrong with all and how long one takes."""
    left = np.flatnonzero(~collected.done)
    if not len(left):
        return
    began = time.perf_counter()
    first = int(left[0])
    # what is compiled and loaded once is no part of what a member takes
    yield from task.run([(first, plan.member(first))])
    seconds = time.perf_counter() - began
    if len(left) > 1:
        began = time.perf_counter()
        second = int(left[1])
        yield from task.run([(second, plan.member(second))])
        seconds = time.perf_counter() - began
    rest = left[2:]
    if not len(rest):
        return
    chosen = executors.choose(executor, workers, scheduler, seconds, len(rest), task)
    size = executors.chunk_size(seconds, len(rest), chosen.workers)
    chunks = ([(int(k), plan.member(int(k))) for k in rest[i : i + size]] for i in range(0, len(rest), size))
    for rows in chosen.run(task, chunks):
        yield from rows


class _Collected:
    """What is known of the members so far."""

    def __init__(self, name: str, plan: Design, task: Task) -> None:
        self.name, self.plan, self.task = name, plan, task
        self.done = np.zeros(len(plan), dtype=bool)
        self.errors: dict[int, str] = {}
        self.columns: dict[str, Array] = {measure.name: np.full(len(plan), np.nan) for measure in task.outputs}

    @property
    def n_done(self) -> int:
        return int(np.count_nonzero(self.done))

    def take(self, row: MemberRow) -> None:
        """Take a row; of a member that is known already there is nothing to take."""
        k = row.member
        if self.done[k]:
            return
        error = row.error or self._put(row)
        if error:
            self.errors[k] = error
            for values in self.columns.values():
                values[k] = np.nan
        self.done[k] = True

    def _put(self, row: MemberRow) -> str:
        """Write the values of a row; return what is wrong with them, if so."""
        for name, value in row.values.items():
            n = np.size(value) if np.ndim(value) else None
            column = self.columns[name]
            if n is not None and column.ndim == 1:
                if np.isfinite(column).any():
                    return f"output '{name}' has {n} numbers, and one in other members"
                self.columns[name] = column = np.full((len(self.plan), n), np.nan)
            if column.ndim == 2 and n != column.shape[1]:
                return f"output '{name}' has {n or 1} samples, and {column.shape[1]} in other members"
            column[row.member] = value
        return ""

    def study(self) -> StudyResult:
        units = self._units()
        for values in self.columns.values():
            values.setflags(write=False)
        errors = dict(sorted(self.errors.items()))
        return StudyResult(self.name, self.plan, dict(self.columns), errors, self.done.copy(), units)

    def _units(self) -> dict[str, str]:
        """Return the units of measure of columns, where they are known."""
        source = self.task.source
        if not isinstance(source, Mechanism):
            return {}
        names = source.compile().names
        found = {name: source.declared[name].unit for name in self.plan.names if name in source.declared}
        for measure in self.task.outputs:
            if isinstance(measure.given, str):
                found[measure.name] = measure.unit_of(names)
        return found


def _check_names(source: Any, vary: Mapping[str, Any], plan: Design) -> None:
    """Raise the error of a name that is no parameter, or of a unit of measure that does not fit."""
    if not isinstance(source, Mechanism):
        odd = [name for name in plan.names if not name.isidentifier()]
        if odd:
            raise InputError(
                f"study: '{odd[0]}' is no name of an argument, as the function that makes a mechanism needs."
            )
        return
    for k, name in enumerate(plan.names):
        given = vary[name]
        values = (
            [getattr(given, each.name) for each in fields(given)] if isinstance(given, ALL_DISTRIBUTIONS) else given
        )
        texts = [value for value in values if isinstance(value, str) and not value.rstrip().endswith("%")]
        if texts or name not in source.declared:
            source.changed({name: texts[0] if texts else float(plan.values[0, k])})


def _identity(task: Task, plan: Design) -> dict[str, Any]:
    """Return what must be the same for a study to go on."""
    source = task.source
    sha = hashlib.sha256()
    if isinstance(source, Mechanism):
        sha.update(json.dumps(source.document, sort_keys=True, default=repr).encode())
        for name, content in sorted(task.files.items()):
            sha.update(name.encode() + hashlib.sha256(content).digest())
    else:
        code = getattr(source, "__code__", None)
        sha.update(b"" if code is None else code.co_code + repr(code.co_consts).encode())
    points = hashlib.sha256(np.ascontiguousarray(plan.values).tobytes()).hexdigest()[:16]
    return {
        "model": sha.hexdigest()[:16],
        "parameters": list(plan.names),
        "members": f"{len(plan)} {points}",
        "outputs": [measure.identity for measure in task.outputs],
        "options": repr(sorted(task.options.items(), key=lambda item: item[0])),
    }
