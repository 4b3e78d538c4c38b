"""What all readers share: text that may be cut short, tables of numbers, triangles, and the last check of a model."""

from __future__ import annotations

import contextlib
import csv
import inspect
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from liegeo._lazy import late
from liegeo.archives import ArchiveError, gunzip
from liegeo.errors import ModelError
from liegeo.flex.fe import FEModel

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = late("scipy.sparse")

Array = NDArray[np.float64]
PathLike = str | Path


@dataclass(frozen=True)
class Reader:
    """A format: its name, the suffixes of its files, and how to read them.  `mine` decides between equal suffixes."""

    name: str
    suffixes: tuple[str, ...]
    description: str
    read: Callable[..., FEModel]
    mine: Callable[[Path], bool] = lambda path: True

    @property
    def file_options(self) -> tuple[str, ...]:
        """Return the options of `read` that are files themselves: those whose type is PathLike."""
        _, *options = inspect.signature(self.read).parameters.values()
        return tuple(option.name for option in options if "PathLike" in str(option.annotation))


# A rigid motion may load a row of K by this part of what its entries would do one by one; files have few digits.
_FREE = 1e-4
# Rounding can leave an entry, of this part of the largest one, where its partner is zero.
_NOTHING = 1e-9
_LETTERS = ("rotation about x", "rotation about y", "rotation about z", "x", "y", "z")


def direction(fe: int) -> int:
    """liegeo's direction of a direction of FE programs: they number 1–3 for displacement, 4–6 for rotation."""
    return (fe + 2) % 6


# The folder that files may not be read from outside of, if there is one, and what was read; readers follow INCLUDE.
_FOLDER: ContextVar[tuple[Path, list[Path]] | None] = ContextVar("folder", default=None)


@contextlib.contextmanager
def within(folder: Path) -> Iterator[list[Path]]:
    """Refuse to read what is not in this folder, wherever a file points to; gives the list of what was read."""
    opened: list[Path] = []
    token = _FOLDER.set((folder.resolve(), opened))
    try:
        yield opened
    finally:
        _FOLDER.reset(token)


def content(path: Path) -> bytes:
    """The bytes of a file, unpacked if its name ends in .gz."""
    allowed = _FOLDER.get()
    if allowed is not None:
        folder, opened = allowed
        if not path.resolve().is_relative_to(folder):
            raise ModelError(f"{path}: is not in the folder of the model, from which alone files are read.")
        opened.append(path)
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            # a pipe would be waited for
            raise ModelError(f"{path}: is not a file.")
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}.") from None
    if path.suffix.lower() != ".gz":
        return data
    try:
        return gunzip(data, path.name)
    except ArchiveError as error:
        raise ModelError(f"{path}: {error.problem}") from None


def text(path: Path, whole: bool = True, encoding: str = "utf-8") -> str:
    """The text of a file.  If `whole`, its last line must have an end, or a number in it could be cut short.

    In "latin-1" every byte is a character, zeros too, for formats that leave what they like in names.
    """
    try:
        found = content(path).decode(encoding).replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ModelError(f"{path}: byte {error.start} is not text, expected a text file.") from None
    if "\0" in found and encoding == "utf-8":
        raise ModelError(f"{path}: byte {found.index(chr(0))} is zero, expected a text file.")
    if whole and not found.endswith("\n"):
        line = found.count("\n") + 1
        raise ModelError(f"{path}, line {line}: has no end of line, as in a file that was cut short.")
    return found


def sibling(path: Path, suffix: str) -> Path:
    """The file beside this one with another suffix, or that file with .gz."""
    base = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    plain = base.with_suffix(suffix)
    packed = plain.with_name(plain.name + ".gz")
    return packed if packed.exists() and not plain.exists() else plain


def stem(path: Path) -> str:
    """The name of a file without its suffixes."""
    return Path(path.stem).stem if path.suffix.lower() == ".gz" else path.stem


def real(where: str, value: str) -> float:
    """A finite number, also with Fortran's exponents: 1.5D+3, and Nastran's 1.5+3."""
    word = value.strip().upper().replace("D", "E")
    body = word.lstrip("+-")
    if "E" not in body:
        for sign in "+-":
            head, found, tail = body.partition(sign)
            if found and tail.isdigit():
                body = f"{head}E{sign}{tail}"
                break
        word = ("-" if word.startswith("-") else "") + body
    try:
        number = float(word) if "_" not in word else float("nan")
    except ValueError:
        number = float("nan")
    if not np.isfinite(number):
        raise ModelError(f"{where}: '{value.strip()}' is not a finite number.")
    return number


def integer(where: str, value: str) -> int:
    """A whole number."""
    word = value.strip()
    if not re.fullmatch(r"[+-]?[0-9]{1,15}", word):
        raise ModelError(f"{where}: '{word}' is not a whole number.")
    return int(word)


def table(path: Path, found: str, columns: Sequence[str], separator: str | None = None) -> Array:
    """Lines of numbers, all columns whole except the last one; the error names the first bad line."""
    if not found.strip():
        raise ModelError(f"{path}: is empty, expected lines of {', '.join(columns)}.")
    try:
        values = np.loadtxt(io.StringIO(found), delimiter=separator, comments=None, ndmin=2)
    except ValueError:
        return _slow_table(path, found, columns, separator)
    whole = values[:, :-1]
    right = values.shape[1] == len(columns) and np.isfinite(values).all() and (np.abs(whole) < 1e15).all()
    if not right or (whole != np.round(whole)).any():
        return _slow_table(path, found, columns, separator)
    return np.asarray(values, dtype=np.float64)


def _slow_table(path: Path, found: str, columns: Sequence[str], separator: str | None) -> Array:
    out = []
    for number, line in enumerate(found.splitlines(), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        words = line.split(separator)
        if len(words) != len(columns):
            raise ModelError(f"{where}: holds {len(words)} numbers, expected {len(columns)}: {', '.join(columns)}.")
        out.append([*(float(integer(where, w)) for w in words[:-1]), real(where, words[-1])])
    return np.array(out)


def fe_direction(where: str, word: str) -> int:
    d = integer(where, word)
    if not 1 <= d <= 6:
        raise ModelError(f"{where}: direction {d}, expected 1–3 for displacement or 4–6 for rotation.")
    return d


def csv_rows(path: Path, columns: tuple[str, ...]) -> list[tuple[str, list[str]]]:
    """Rows with their places; the header may be missing, but not another one."""
    out = []
    try:
        table = list(csv.reader(io.StringIO(text(path)), strict=True))
    except csv.Error as error:
        raise ModelError(f"{path}: is not a CSV file: {error}.") from None
    for k, row in enumerate(table, 1):
        words = [w.strip() for w in row]
        if not any(words) or (k == 1 and tuple(w.lower() for w in words) == columns):
            continue
        if len(words) != len(columns) or not words[0]:
            raise ModelError(f"{path}, line {k}: {words}, expected {', '.join(columns)}.")
        out.append((f"{path}, line {k}", words))
    if not out:
        raise ModelError(f"{path}: is empty, expected lines of {', '.join(columns)}.")
    return out


def symmetric(path: Path, rows: Any, columns: Any, values: Any, n: int, what: str) -> sp.csc_array:
    """A symmetric matrix from entries of one triangle, in any mixture, or from all entries."""
    i, j = np.asarray(rows, dtype=np.int64), np.asarray(columns, dtype=np.int64)
    v = np.asarray(values, dtype=np.float64)
    keys = i * n + j
    order = np.argsort(keys, kind="stable")
    twice = np.flatnonzero(np.diff(keys[order]) == 0)
    if len(twice):
        raise ModelError(f"{path}: {what} holds entry {order[twice[0] + 1] + 1} a second time, expected each once.")
    off = i != j
    paired = np.isin(j * n + i, keys) & off
    alone = off & ~paired & (np.abs(v) > _NOTHING * np.abs(v).max())
    if paired.any() and alone.any():
        raise ModelError(
            f"{path}: {what} is neither a triangle nor whole: entry {np.flatnonzero(alone)[0] + 1} has no partner on "
            "the other side of the diagonal, others do. The file is cut short, or not symmetric."
        )
    if not paired.any():
        i, j, v = np.concatenate([i, j[off]]), np.concatenate([j, i[off]]), np.concatenate([v, v[off]])
    return sp.csc_array((v, (i, j)), shape=(n, n))


def finish(
    name: str,
    positions: Mapping[int, Array] | Mapping[str, Array],
    dofs: Sequence[tuple[Any, int]],
    mass: Any,
    stiffness: Any,
    free: bool,
) -> FEModel:
    """The model of those nodes that have degrees of freedom (node, liegeo's direction)."""
    used = dict.fromkeys(node for node, _ in dofs)
    index = {node: k for k, node in enumerate(used)}
    model = FEModel(
        positions=np.array([positions[node] for node in used]).reshape(-1, 3),
        dofs=[(index[node], d) for node, d in dofs],
        mass=mass,
        stiffness=stiffness,
        names=[str(node) for node in used],
        name=name,
    )
    if free:
        check_free(model)
    return model


def check_free(model: FEModel) -> None:
    """That nothing holds the model, and that it has the same mass in all directions.

    Boundary conditions, nodes or directions in another order, other axes and lost entries all show here.
    """
    who = f"FE model '{model.name}'"
    rigid = model.rigid
    K = sp.csr_array(model.stiffness)
    # all rotations, or all displacements, at once: what one of them should do may be nothing but rounding
    size = np.repeat(np.abs(rigid).reshape(-1, 2, 3).sum(axis=2), 3, axis=1)
    load, scale = np.abs(K @ rigid), abs(K) @ size
    # rows without stiffness, as of a rod across its axis, may hold what rounding left of it
    for rows in (model.dofs[:, 1] < 3, model.dofs[:, 1] >= 3):
        scale[rows] = np.maximum(scale[rows], _NOTHING * scale[rows].max(axis=0, initial=0.0))
    ratio = np.divide(load, scale, out=np.zeros_like(load), where=scale > 0.0)
    if ratio.size and ratio.max() > _FREE:
        row, motion = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
        node, d = np.asarray(model.dofs)[row]
        moved = _LETTERS[motion] if motion < 3 else f"displacement along {_LETTERS[motion]}"
        raise ModelError(
            f"{who}: is not free: a rigid {moved} loads node '{model.names[node]}' ({_LETTERS[d]}) with "
            f"{ratio.max():.2g} of its stiffness, expected less than {_FREE:g}.\n"
            "  Boundary conditions or springs hold it, matrices and nodes do not belong together, or entries are "
            "missing.\n  Export it free; or give free=False, if it is meant to be held."
        )
    masses = np.diag(model.inertia)[3:]
    if masses.max() - masses.min() > _FREE * masses.max():
        raise ModelError(
            f"{who}: its mass is {masses[0]:.6g} along x, {masses[1]:.6g} along y, {masses[2]:.6g} along z, expected "
            "the same.\n  Entries of the mass matrix are missing, or directions are held. Give free=False, if it is "
            "meant so."
        )
