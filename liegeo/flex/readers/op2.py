"""Nastran's OUTPUT2: real modes, to compare with.  They are no FE model: mass and stiffness are not in them.

A file is a chain of Fortran records.  A record of one word is a key; a positive key says how many words follow.

    3, date, 7, label, 2, version, −1, 0                   once, at the beginning
    2, name, −1, 7, trailer                                a table, with parts k = 2, 3, … of it:
        −k, 1, kind, then (n, n words) as often as needed
        0 after the last part                              the table ends; another 0, or nothing more: the file ends

Matrices stand between tables in the same chain, but their records are a word longer than their keys say.  What is not
wanted is passed over by the lengths of records alone.

In OUGV1 and BOUGV1 parts come in pairs: 146 words that say what it is, and eight words for each grid point: number × 10
and a device, type, three displacements, three rotations.  Pairs that are no real modes, such as displacements, are left
out; of modes only SORT1 and real numbers are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from liegeo.errors import ModelError
from liegeo.flex.readers import _common
from liegeo.flex.readers._common import Array, PathLike

_TABLES = ("OUGV1", "BOUGV1", "OUG1")
_EIGENVECTORS, _REAL_MODES = 7, 2
_HEAD, _WIDE = 146, 8


@dataclass(frozen=True)
class NastranModes:
    """Grid points, eigenvalues ω², and shapes (modes × points × 6, rotation first, in each point's own directions)."""

    points: tuple[int, ...]
    eigenvalues: Array
    shapes: Array


def modes(path: PathLike, subcase: int | None = None) -> NastranModes:
    """The real modes of a file; `subcase` chooses, if it has several."""
    file = Path(path)
    found: dict[int, list[tuple[float, list[int], Array]]] = {}
    tables = []
    for name, parts in _tables(file):
        tables.append(name)
        if not parts:
            continue
        where = f"{file}: table {name}"
        if len(parts) % 2 != 1:
            raise ModelError(f"{where} has {len(parts)} parts, expected a head and pairs.")
        for head, body in zip(parts[1::2], parts[2::2], strict=True):
            if not _is_mode(where, head):
                continue
            case, value, points, shape = _mode(where, head, body)
            found.setdefault(case, []).append((value, points, shape))
    if not found:
        there = ", ".join(dict.fromkeys(tables)) or "no table"
        raise ModelError(f"{file}: has no modes, only {there}; expected real modes in OUGV1 or BOUGV1.")
    if subcase is None and len(found) > 1:
        raise ModelError(f"{file}: has modes of subcases {', '.join(map(str, found))}, expected one. Give subcase=.")
    case = next(iter(found)) if subcase is None else subcase
    if case not in found:
        raise ModelError(f"{file}: has no subcase {case}, only {', '.join(map(str, found))}.")
    first = found[case][0][1]
    if any(points != first for _, points, _ in found[case]):
        raise ModelError(f"{file}: modes of subcase {case} are at different grid points.")
    return NastranModes(
        tuple(first), np.array([v for v, _, _ in found[case]]), np.array([s for _, _, s in found[case]])
    )


@dataclass(frozen=True)
class _Part:
    """Words of a part, as integers and as reals."""

    integers: np.ndarray[tuple[int], np.dtype[np.int64]]
    reals: Array


def _is_mode(where: str, head: _Part) -> bool:
    """Whether a pair of parts holds a real mode, and not displacements, loads or complex modes."""
    if len(head.integers) != _HEAD:
        raise ModelError(f"{where}: a head of {len(head.integers)} words, expected {_HEAD}.")
    analysis, table = int(head.integers[0]) // 10, int(head.integers[1])
    return analysis == _REAL_MODES and table == _EIGENVECTORS


def _mode(where: str, head: _Part, body: _Part) -> tuple[int, float, list[int], Array]:
    """Subcase, eigenvalue, points and shape."""
    case, form, wide = (int(head.integers[k]) for k in (3, 8, 9))
    if form != 1 or wide != _WIDE:
        raise ModelError(
            f"{where}: holds modes in format {form} with {wide} words for each point, expected 1 and {_WIDE}: real "
            "modes in SORT1."
        )
    if len(body.integers) % _WIDE or not len(body.integers):
        raise ModelError(f"{where}: a mode of {len(body.integers)} words, expected {_WIDE} for each grid point.")
    points = (body.integers.reshape(-1, _WIDE)[:, 0] // 10).tolist()
    shape = body.reals.reshape(-1, _WIDE)[:, [5, 6, 7, 2, 3, 4]]
    value = float(head.reals[5])
    if not np.isfinite(shape).all() or not np.isfinite(value):
        raise ModelError(f"{where}: a mode holds a number that is not finite.")
    return case, value, points, shape


def _tables(path: Path) -> Iterator[tuple[str, list[_Part]]]:
    """Yield the names of tables and matrices, and the parts of the tables that can hold modes."""
    records = _Records(path)
    if records.peek() == 3:
        for key in (3, 7, 2):
            records.expect(key)
            records.words(key)
        records.expect(-1)
        records.expect(0)
    # some programs leave out the last key, so that the end of a table may be that of the file
    while not records.ended and (key := records.key()) != 0:
        if key != 2:
            raise ModelError(f"{records.where}: the key {key}, expected 2 (a table) or 0 (the end).")
        name = records.words(2).strip().decode("latin-1").replace(" ", "")
        records.expect(-1)
        records.expect(7)
        records.words(7)
        parts: list[_Part] = []
        part = -2
        while (key := records.key()) != 0:
            if key != part:
                raise ModelError(f"{records.where}: the key {key} in table {name}, expected {part} or 0.")
            part -= 1
            records.expect(1)
            records.key()
            if records.peek() == 0:
                continue
            pieces: list[bytes] = []
            while (count := records.peek()) > 0:
                records.key()
                if name in _TABLES:
                    pieces.append(records.words(count))
                else:
                    records.skip()
            if name in _TABLES:
                data = b"".join(pieces)
                integers = np.frombuffer(data, records.integer).astype(np.int64)
                # words that are integers look like numbers that are none
                with np.errstate(invalid="ignore"):
                    parts.append(_Part(integers, np.frombuffer(data, records.real).astype(np.float64)))
        yield name, parts


class _Records:
    """The records of a file, one after another."""

    def __init__(self, path: Path) -> None:
        self.path, self.data, self.at, self.number = path, _common.content(path), 0, 0
        for order in "<>":
            size = int(np.frombuffer(self.data, f"{order}i4", 1)[0]) if len(self.data) >= 4 else 0
            if size in (4, 8):
                self.order, self.size = order, size
                break
        else:
            raise ModelError(f"{path}, record 1: is not a key of 4 or 8 bytes, expected a file of OUTPUT2.")
        self.integer, self.real = np.dtype(f"{self.order}i{self.size}"), np.dtype(f"{self.order}f{self.size}")

    @property
    def where(self) -> str:
        return f"{self.path}, record {self.number}"

    @property
    def ended(self) -> bool:
        """Whether there is no further record."""
        return self.at == len(self.data)

    def skip(self) -> None:
        """Pass over a record of any length."""
        self._record()

    def _record(self) -> bytes:
        self.number += 1
        if self.at + 4 > len(self.data):
            raise ModelError(f"{self.where}: the file ends, expected a record.")
        length = int(np.frombuffer(self.data, f"{self.order}i4", 1, self.at)[0])
        end = self.at + 8 + length
        if length < 0 or end > len(self.data) or self.data[self.at : self.at + 4] != self.data[end - 4 : end]:
            raise ModelError(f"{self.where}: has {length} bytes, but does not end there.")
        body = self.data[self.at + 4 : end - 4]
        self.at = end
        return body

    def words(self, count: int) -> bytes:
        """A record of this many words."""
        body = self._record()
        if len(body) != count * self.size:
            raise ModelError(f"{self.where}: has {len(body)} bytes, expected {count} words of {self.size}.")
        return body

    def key(self) -> int:
        return int(np.frombuffer(self.words(1), self.integer)[0])

    def peek(self) -> int:
        """The next key, without taking it."""
        at, number = self.at, self.number
        key = self.key()
        self.at, self.number = at, number
        return key

    def expect(self, wanted: int) -> None:
        key = self.key()
        if key != wanted:
            raise ModelError(f"{self.where}: the key {key}, expected {wanted}.")
