"""Tables of named columns in files: CSV, NumPy's npz, Parquet.  A file appears whole or not at all.

A table is a structured array, as fmpy has it: the first column is `time`, and others are float64 too, or whole numbers,
truth values and text, which FMUs may have.  CSV has a row of names, and numbers that read back exactly: whole numbers
without a point, True and False, text in quotes.  npz has an array for each column, and whatever else is given; Parquet
has units too.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import InputError, LiegeoError
from liegeo.model.names import implied_unit

Array = NDArray[Any]

# Key in npz files of what is known about the table, as JSON.
META = "meta"
SUFFIXES = (".csv", ".npz", ".parquet")


def make_table(columns: Mapping[str, Array]) -> Array:
    """Return a structured array of columns of one length; each keeps its type, see `_kind`."""
    n = len(next(iter(columns.values())))
    table = np.empty(n, dtype=[(name, _kind(np.asarray(values))) for name, values in columns.items()])
    for name, values in columns.items():
        table[name] = values
    return table


def _kind(values: Array) -> Any:
    """Return the type of a column: float64, int32 (FMI's whole numbers), bool, or text as long as the longest."""
    if values.dtype == np.int32 or values.dtype.kind in "bU":
        return values.dtype
    if values.dtype.kind == "O" and all(isinstance(value, str) for value in values):
        return f"U{max(map(len, values), default=1) or 1}"
    return np.float64


def write_whole(path: str | os.PathLike[str], write: Callable[[BinaryIO], object]) -> Path:
    """Let `write` fill a new file beside `path`, then put it in its place; if anything fails, nothing has changed."""
    path = Path(path)
    remove_stale(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        _remove(temporary)
        if isinstance(error, (FileNotFoundError, NotADirectoryError)) and not path.parent.is_dir():
            raise InputError(f"cannot write {path}: there is no folder {path.parent}. Create it first.") from None
        if isinstance(error, OSError) and error.errno is not None:
            # The message of the system would name the temporary file.
            raise OSError(error.errno, f"cannot write: {error.strerror}", str(path)) from None
        raise
    return path


def remove_stale(path: str | os.PathLike[str]) -> None:
    """Remove what processes that are no more left of files that were to become this one."""
    path = Path(path)
    for file in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        found = re.fullmatch(r"(\d+)-[0-9a-f]{8}", file.name.removeprefix(f".{path.name}.").removesuffix(".tmp"))
        if found is not None and not _is_alive(int(found[1])):
            _remove(file)


def _is_alive(process: int) -> bool:
    if os.name == "nt":
        # there, asking would end it
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        # it is somebody else's
        return True
    return True


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        # Where it could not be created either; the error that led here is the one to tell.
        return


def write_csv(path: str | os.PathLike[str], table: Array, units: Mapping[str, str] | None = None) -> Path:
    """Names, then a row a sample, each number as short as it can be to read back exactly.

    A unit stands behind a name only where it is another than the name says: `hinge.angle [deg]`.
    """
    names = table.dtype.names or ()
    for name in names:
        if any(letter in name for letter in ',"\n\r'):
            raise InputError(
                f"to_csv: the name {name!r} has a comma, a quote or a new line, which readers of CSV would split.\n"
                "  Rename the joint or body, or write npz or Parquet."
            )

    def write(file: BinaryIO) -> None:
        file.write((",".join(_headings(names, units or {})) + "\n").encode())
        for row in table.tolist():
            file.write((",".join(map(_cell, row)) + "\n").encode())

    return write_whole(path, write)


def _cell(value: Any) -> str:
    return '"' + value.replace('"', '""') + '"' if isinstance(value, str) else repr(value)


def _headings(names: Sequence[str], units: Mapping[str, str]) -> list[str]:
    out = []
    for name in names:
        unit, implied = units.get(name, ""), implied_unit(name, names)
        other = unit and implied and _plain(unit) != _plain(implied)
        out.append(f"{name} [{unit}]" if other else name)
    return out


def _plain(unit: str) -> str:
    """A unit without the signs of products and powers, which FMUs write in ways of their own: N.m, rad/s2."""
    return re.sub(r"[*·.^]", "", unit).replace("²", "2").replace("³", "3")


def write_npz(path: str | os.PathLike[str], table: Array, more: Mapping[str, Array], meta: Mapping[str, Any]) -> Path:
    """Columns by name, other arrays by theirs, and what is known about them as JSON; no pickles."""
    columns = {name: table[name] for name in table.dtype.names or ()}
    about = np.array(json.dumps({**meta, "columns": list(columns)}, ensure_ascii=False))
    arrays: dict[str, Any] = {**columns, **more, META: about}
    return write_whole(path, lambda file: np.savez(file, **arrays))


def write_parquet(path: str | os.PathLike[str], table: Array, meta: Mapping[str, Any]) -> Path:
    """Columns with their units, from `meta`, in the metadata of their fields."""
    pa, parquet = _pyarrow("to_parquet")
    names = table.dtype.names or ()
    kinds = {"f": pa.float64(), "i": pa.int32(), "b": pa.bool_(), "U": pa.string()}
    fields = [
        pa.field(name, kinds[table.dtype[name].kind], nullable=False, metadata={"unit": meta["units"][name]})
        for name in names
    ]
    schema = pa.schema(fields, metadata={"liegeo": json.dumps(meta, ensure_ascii=False)})
    columns = [pa.array(np.ascontiguousarray(table[name])) for name in names]
    made = pa.Table.from_arrays(columns, schema=schema)
    return write_whole(path, lambda file: parquet.write_table(made, file))


def read_table(path: str | os.PathLike[str]) -> Array:
    """The structured array that a Result wrote to a .csv, .npz or .parquet file."""
    path = Path(path)
    suffix = suffix_of("read_table", path)
    with _reading("read_table", path):
        if suffix == ".csv":
            return _read_csv(path)
        return _read_npz(path) if suffix == ".npz" else _read_parquet(path)


@contextlib.contextmanager
def _reading(who: str, path: Path) -> Iterator[None]:
    """Turn what NumPy, zip and pyarrow say about a file that is no table into an InputError."""
    try:
        yield
    except (LiegeoError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except Exception as error:
        raise InputError(f"{who}: {path} is not a table in {path.suffix[1:].lower()} format: {error}") from None


def convert_table(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> Path:
    """Write the table in one file to another, of the kind that its suffix says."""
    return write_table(target, read_table(source), read_units(source), Path(source).stem)


def write_table(
    path: str | os.PathLike[str], table: Array, units: Mapping[str, str] | None = None, model: str = ""
) -> Path:
    """Write a table of the kind that the suffix says."""
    suffix = suffix_of("write_table", Path(path))
    meta = {"model": model, "units": dict.fromkeys(table.dtype.names or (), "") | dict(units or {})}
    if suffix == ".csv":
        return write_csv(path, table, units)
    return write_npz(path, table, {}, meta) if suffix == ".npz" else write_parquet(path, table, meta)


def read_units(path: str | os.PathLike[str]) -> dict[str, str]:
    """By column, "" where the file does not say; CSV says it by the names of its columns, and behind some of them."""
    path = Path(path)
    suffix = suffix_of("read_units", path)
    with _reading("read_units", path):
        if suffix == ".npz":
            with path.open("rb") as content, np.load(content, allow_pickle=False) as archive:
                units = json.loads(str(archive[META])).get("units", {})
                return {str(name): str(unit) for name, unit in units.items()}
        if suffix == ".parquet":
            fields = _pyarrow("read_table")[1].read_schema(path)
            return {field.name: (field.metadata or {}).get(b"unit", b"").decode() for field in fields}
        with path.open(encoding="utf-8", newline="") as file:
            found = _read_headings(file.readline())
        names = [name for name, _ in found]
        return {name: unit or implied_unit(name, names) for name, unit in found}


def suffix_of(who: str, path: Path) -> str:
    """One of SUFFIXES, or an error that lists them."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{who}: {path.name} ends in '{path.suffix}', expected one of {', '.join(SUFFIXES)}.")
    return suffix


def _read_csv(path: Path) -> Array:
    with path.open(encoding="utf-8", newline="") as file:
        names = [name for name, _ in _read_headings(file.readline())]
        text = file.read()
    rows = _rows(text) if '"' in text else [line.split(",") for line in text.splitlines() if line.strip()]
    for k, row in enumerate(rows):
        if len(row) != len(names):
            raise InputError(f"read_table: {path}, row {k + 1} has {len(row)} numbers, expected {len(names)}.")
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return make_table({name: _read_column(name, cells) for name, cells in zip(names, columns, strict=True)})


# A cell, in quotes or not, and what ends it.
_CELL = re.compile(r'("(?:[^"]|"")*"|[^",\r\n]*)(,|\r?\n|\Z)')


def _rows(text: str) -> list[list[str]]:
    """Return the cells of each row, also where text in quotes has commas and new lines."""
    out: list[list[str]] = []
    place, row = 0, []
    while place < len(text):
        found = _CELL.match(text, place)
        if found is None:
            raise ValueError(f"a quote that does not end, in row {len(out) + 1}")
        place = found.end()
        row.append(found[1])
        if found[2] != ",":
            out += [row] if row != [""] else []
            row = []
    return out


def _read_column(name: str, cells: Sequence[str]) -> Array:
    """Return a column as `_cell` wrote it; that of time is of floats, however it is written."""
    first = cells[0] if cells else ""
    if first.startswith('"'):
        if not all(cell.startswith('"') for cell in cells):
            raise ValueError(f"column '{name}' has cells with and without quotes")
        return np.array([cell[1:-1].replace('""', '"') for cell in cells])
    if first in ("True", "False") and set(cells) <= {"True", "False"}:
        return np.array([cell == "True" for cell in cells])
    if name != "time" and all(re.fullmatch(r"[+-]?[0-9]{1,10}", cell) for cell in cells) and cells:
        whole = np.array([int(cell) for cell in cells])
        if whole.min() >= -(2**31) and whole.max() < 2**31:
            return whole.astype(np.int32)
    return np.array([float(cell) for cell in cells])


def _read_headings(line: str) -> list[tuple[str, str]]:
    """Names of columns, and the units that stand behind them, if any do."""
    split = [re.fullmatch(r'"?(.*?)(?: \[([^\[\]]*)\])?"?', cell) for cell in line.rstrip("\r\n").split(",")]
    return [(found[1], found[2] or "") for found in split if found is not None]


def _read_npz(path: Path) -> Array:
    with path.open("rb") as content, np.load(content, allow_pickle=False) as archive:
        if META not in archive:
            raise InputError(f"read_table: {path} has no entry '{META}', so liegeo did not write it.")
        return make_table({name: archive[name] for name in json.loads(str(archive[META]))["columns"]})


def _read_parquet(path: Path) -> Array:
    _, parquet = _pyarrow("read_table")
    table = parquet.read_table(path)
    return make_table({name: table[name].to_numpy() for name in table.column_names})


def _pyarrow(who: str) -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(
            f"{who}: Parquet files need pyarrow, which is not installed.\n"
            "  Install it with: pip install pyarrow    (or: pip install 'liegeo[parquet]'); CSV and npz need nothing."
        ) from None
    return pyarrow, pyarrow.parquet
