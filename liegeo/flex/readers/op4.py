"""Nastran's OUTPUT4: real matrices, text or binary, dense or sparse, either byte order, either word length.

Files often hold more than is wanted: complex matrices, triangular factors, one matrix for each superelement under the
same name.  A file is searched for heads; a matrix is parsed, and refused, only when it is asked for.

A matrix is a header (columns, rows, form, type, name), its non-zero columns, and a column after the last one.

    dense          column, first row, words; values
    sparse         column, 0, words; then strings of values, each with its own head:
      rows < 0     length + 1, first row            ("big" matrices)
      otherwise    65536 (length + 1) + first row

Lengths count words: a double has two of 32 bits.  In binary files each of these is a Fortran record with its length
before and after it.  In text the values stand in lines after their head, with a point in each number and none in a
head; some programs count values there, others words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from liegeo._lazy import late
from liegeo.errors import ModelError
from liegeo.flex.readers import _common
from liegeo.flex.readers._common import Array

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = late("scipy.sparse")

# Rows from which on all sparse matrices are "big".
_BIG = 65536
# The format of a text file whose head has none.
_FORMAT = "5E16.9"


@dataclass
class _Matrix:
    """A matrix while it is read."""

    where: str
    name: str
    rows: int
    columns: int
    big: bool
    words: int  # words of 32 bits (or 64) in a value
    entries: list[tuple[int, int, Array]] = field(default_factory=list)  # column, first row, values
    last: int = 0

    def column(self, where: str, number: int) -> None:
        if number <= self.last:
            raise ModelError(f"{where}: column {number} of {self.name} after column {self.last}, expected ascending.")
        self.last = number

    def put(self, where: str, column: int, row: int, values: Array) -> None:
        if row < 1 or row + len(values) - 1 > self.rows or not len(values):
            raise ModelError(
                f"{where}: rows {row} to {row + len(values) - 1} in column {column} of {self.name}, "
                f"which has rows 1 to {self.rows}."
            )
        if not np.isfinite(values).all():
            raise ModelError(f"{where}: column {column} of {self.name} holds a number that is not finite.")
        self.entries.append((column, row, values))

    def string(self, where: str, head: tuple[int, ...]) -> tuple[int, int]:
        """First row and words of a string."""
        row, length = (head[1], head[0] - 1) if self.big else (head[0] % 65536, head[0] // 65536 - 1)
        if length < 1 or row < 1:
            raise ModelError(f"{where}: a string of {length} words from row {row} of {self.name}, expected more.")
        return row, length

    def finished(self) -> sp.coo_array:
        """The matrix; not by columns, of which a wrong head may promise more than there is memory for."""
        values = [v for _, _, v in self.entries]
        i = [np.arange(row - 1, row - 1 + len(v)) for _, row, v in self.entries]
        j = [np.full(len(v), column - 1) for column, _, v in self.entries]
        if not values:
            return sp.coo_array((self.rows, self.columns))
        shape = (self.rows, self.columns)
        return sp.coo_array((np.concatenate(values), (np.concatenate(i), np.concatenate(j))), shape=shape)


@dataclass(frozen=True)
class _Place:
    """Where a matrix stands in a file: its head, and how to read it from there."""

    where: str
    name: str
    parse: Callable[[], _Matrix]


class Matrices(Mapping[str, "sp.coo_array"]):
    """The matrices of a file by name, in capitals.

    A matrix is parsed when it is asked for, and only then refused: others in the file may be complex, have a form that
    is not read, or share a name.  What is wrong with the file itself (it is cut short) counts for every matrix in it.
    """

    def __init__(self, places: list[_Place], damage: ModelError | None) -> None:
        self._places: dict[str, list[_Place]] = {}
        for place in places:
            self._places.setdefault(place.name, []).append(place)
        self._damage = damage
        self._parsed: dict[str, sp.coo_array] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, name: str) -> sp.coo_array:
        if name not in self._parsed:
            places = self._places.get(name, ())
            if len(places) > 1:
                raise ModelError(
                    f"{places[1].where}: a second matrix {name}, expected each name once. Write the one that is wanted "
                    "to a file of its own, or under another name."
                )
            found = [place.parse().finished() for place in places]
            if self._damage is not None:
                raise self._damage
            # there is at most one
            self._parsed.update((name, matrix) for matrix in found)
        return self._parsed[name]


def read(path: Path) -> Matrices:
    """Return the matrices of a file by name; each is parsed when it is asked for."""
    data = _common.content(path)
    if len(data) < 16:
        raise ModelError(f"{path}: has {len(data)} bytes, expected a matrix of OUTPUT4.")
    binary = bool(set(data[:16]) & {*range(9), *range(14, 32)})
    return Matrices(*(_find_binary(path, data) if binary else _find_text(path)))


def _begin(where: str, head: tuple[int, ...], name: str, words: int) -> _Matrix:
    columns, rows, form, kind = head
    if kind not in (1, 2):
        raise ModelError(f"{where}: matrix '{name}' has type {kind}, expected 1 or 2 (real).")
    if form not in (1, 2, 6):
        raise ModelError(f"{where}: matrix '{name}' has form {form}, expected 1 (square), 2 or 6 (symmetric).")
    if columns < 1 or rows == 0:
        raise ModelError(f"{where}: '{name}' with {rows} rows and {columns} columns is not the head of a matrix.")
    big = rows < 0 or rows >= _BIG
    return _Matrix(where, name, abs(rows), columns, big, words if kind == 2 else 1)


# --- text


def _find_text(path: Path) -> tuple[list[_Place], ModelError | None]:
    """Return where the matrices of a text file begin: at lines of whole numbers with a word behind them."""
    lines = _common.text(path, encoding="latin-1").split("\n")[:-1]
    heads = [k for k, line in enumerate(lines) if _is_head(line)]
    first = next((k for k, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise ModelError(f"{path}: is empty, expected a matrix of OUTPUT4.")
    if not heads or heads[0] != first:
        raise ModelError(f"{path}, line {first + 1}: '{lines[first].strip()[:40]}' is not the head of a matrix.")
    places = [
        _text_place(path, lines, start, stop) for start, stop in zip(heads, [*heads[1:], len(lines)], strict=True)
    ]
    return places, _text_damage(path, lines, heads[-1])


def _is_head(line: str) -> bool:
    """Whether a line has four whole numbers, then a name and perhaps a format; lines of values have points there."""
    return bool(re.match(r"[ \d+-]{32}", line)) and any(letter.isalpha() for letter in line[32:])


def _wide(line: str) -> int:
    """The width of the first two numbers of a head."""
    return 16 if line.rstrip().endswith("|I16") else 8


def _text_place(path: Path, lines: list[str], start: int, stop: int) -> _Place:
    line = lines[start]
    where, end = f"{path}, line {start + 1}", 2 * _wide(line) + 16
    name = _clean(line[end : end + 8])

    def parse() -> _Matrix:
        wide = _wide(line)
        spans = [(0, wide), (wide, 2 * wide), (2 * wide, 2 * wide + 8), (2 * wide + 8, 2 * wide + 16)]
        head = tuple(_common.integer(f"{where}: head of a matrix", line[a:b]) for a, b in spans)
        written = line[end + 8 :].strip().removesuffix("|I16").upper() or _FORMAT
        form = re.fullmatch(r"(?:1P,)?\s*(\d+)[ED](\d+)\.(\d+)", written)
        if form is None or not int(form[2]):
            raise ModelError(f"{where}: '{line[end + 8 :].strip()}' is not a format such as 1P,3E23.16.")
        matrix = _begin(where, head, name, 2)
        _text_columns(path, lines[:stop], start + 1, matrix, int(form[2]))
        return matrix

    return _Place(where, name, parse)


def _text_damage(path: Path, lines: list[str], start: int) -> ModelError | None:
    """Return an error if the last matrix of a file lacks its end, a column after the last one."""
    wide = _wide(lines[start])
    columns = re.match(r" *(\d+)", lines[start][:wide])
    last = next((line for line in reversed(lines[start + 1 :]) if line.strip() and "." not in line), "")
    column = re.match(r" *(\d+)", last[:wide])
    if columns is not None and column is not None and int(column[1]) > int(columns[1]):
        return None
    name = _clean(lines[start][2 * wide + 16 : 2 * wide + 24])
    return ModelError(f"{path}: the file ends within {name}, its last matrix, as a file that was cut short.")


def _clean(name: str) -> str:
    """The name of a matrix without what fills it up, in capitals."""
    return name.replace("\0", " ").strip().upper()


def _text_columns(path: Path, lines: list[str], k: int, matrix: _Matrix, width: int) -> int:
    """The columns of a matrix; the line after its last one."""
    while True:
        where = f"{path}, line {k + 1}"
        column, row, words = _heads(where, lines, k, 3, matrix)
        k += 1
        if column > matrix.columns:
            return _values(path, lines, k, width)[1]
        matrix.column(where, column)
        if row > 0:
            values, k = _values(path, lines, k, width)
            _check_count(where, len(values), words, matrix)
            matrix.put(where, column, row, values)
            continue
        while words > 0:
            where = f"{path}, line {k + 1}"
            head = _heads(where, lines, k, 2 if matrix.big else 1, matrix)
            first, length = matrix.string(where, head)
            values, k = _values(path, lines, k + 1, width)
            _check_count(where, len(values), length, matrix)
            matrix.put(where, column, first, values)
            words -= length + len(head)


def _heads(where: str, lines: list[str], k: int, count: int, matrix: _Matrix) -> tuple[int, ...]:
    if k >= len(lines):
        raise ModelError(f"{where}: the file ends within {matrix.name}, after column {matrix.last}.")
    words = lines[k].split()
    if len(words) != count:
        # numbers of eight digits touch each other
        words = [lines[k][8 * i : 8 * i + 8] for i in range(count)]
    return tuple(_common.integer(f"{where}: head in {matrix.name}", w) for w in words)


def _values(path: Path, lines: list[str], k: int, width: int) -> tuple[Array, int]:
    """Values in the lines from k on, and the line after them."""
    out = []
    while k < len(lines) and "." in lines[k] and not re.search(r"[ED]\d+\.\d+", lines[k].upper()):
        line = lines[k].rstrip()
        if len(line) % width:
            raise ModelError(f"{path}, line {k + 1}: {len(line)} characters, expected numbers of {width} each.")
        out += [_common.real(f"{path}, line {k + 1}", line[a : a + width]) for a in range(0, len(line), width)]
        k += 1
    return np.array(out), k


def _check_count(where: str, found: int, words: int, matrix: _Matrix) -> None:
    if found not in (words, words / matrix.words):
        raise ModelError(f"{where}: {found} numbers follow in {matrix.name}, expected {words} words of them.")


# --- binary


class _Records:
    """The Fortran records of a file from a place on."""

    def __init__(self, path: Path, data: bytes, order: str, at: int = 0, number: int = 0) -> None:
        self.path, self.data, self.order, self.at, self.number = path, data, order, at, number

    def next(self) -> tuple[str, bytes]:
        """Return the place of the next record for messages, and what it holds."""
        data, at = self.data, self.at
        self.number += 1
        where = f"{self.path}, record {self.number}"
        if at + 4 > len(data):
            raise ModelError(f"{where}: the file ends, expected a record.")
        length = int(np.frombuffer(data, f"{self.order}i4", 1, at)[0])
        if length < 0 or at + 8 + length > len(data):
            raise ModelError(f"{where}: has {length} bytes, but the file ends after {len(data) - at - 4}.")
        if data[at : at + 4] != data[at + 4 + length : at + 8 + length]:
            raise ModelError(f"{where}: its length, {length} bytes, is not repeated after it.")
        self.at += 8 + length
        return where, data[at + 4 : at + 4 + length]


def _find_binary(path: Path, data: bytes) -> tuple[list[_Place], ModelError | None]:
    """Return where the matrices of a binary file begin, and what keeps one from finding more."""
    order, wide = _layout(path, data)
    places: list[_Place] = []
    records = _Records(path, data, order)
    try:
        while records.at < len(data):
            where, body = records.next()
            if len(body) != 6 * wide:
                raise ModelError(f"{where}: has {len(body)} bytes, expected the head of a matrix, {6 * wide}.")
            places.append(_binary_place(records, where, body, wide))
            columns = int(np.frombuffer(body, f"{order}i{wide}", 1)[0])
            while _column_head(*records.next(), order, wide)[0] <= columns:
                pass
    except ModelError as error:
        return places, error
    return places, None


def _column_head(where: str, body: bytes, order: str, wide: int) -> tuple[int, int, int]:
    """Return column, first row and words."""
    if len(body) < 3 * wide:
        raise ModelError(f"{where}: has {len(body)} bytes, expected the head of a column, {3 * wide}.")
    column, row, words = (int(x) for x in np.frombuffer(body, f"{order}i{wide}", 3))
    return column, row, words


def _binary_place(records: _Records, where: str, body: bytes, wide: int) -> _Place:
    order, start, number = records.order, records.at, records.number
    integer = np.dtype(f"{order}i{wide}")
    name = _clean(body[4 * wide :].decode("latin-1"))
    if wide == 8:
        # characters come in words, four in each with four spaces, or eight
        name = name.replace(" ", "")

    def parse() -> _Matrix:
        head = tuple(int(x) for x in np.frombuffer(body, integer, 4))
        matrix = _begin(where, head, name, 2 if wide == 4 else 1)
        real = np.dtype(f"{order}f{wide if head[3] == 1 else 8}")
        own = _Records(records.path, records.data, order, start, number)
        while True:
            place, content = own.next()
            column, row, words = _column_head(place, content, order, wide)
            if column > matrix.columns:
                return matrix
            matrix.column(place, column)
            if len(content) != (3 + words) * wide:
                raise ModelError(f"{place}: has {len(content)} bytes, expected {3 * wide} and {words} words.")
            _binary_column(place, content[3 * wide :], matrix, column, row, integer, real)

    return _Place(where, name, parse)


def _binary_column(
    where: str,
    body: bytes,
    matrix: _Matrix,
    column: int,
    row: int,
    integer: np.dtype[np.int64],
    real: np.dtype[np.float64],
) -> None:
    if row > 0:
        if len(body) % real.itemsize:
            raise ModelError(f"{where}: {len(body)} bytes of values in {matrix.name}, expected {real.itemsize} each.")
        matrix.put(where, column, row, np.frombuffer(body, real).astype(np.float64))
        return
    at, count = 0, 2 if matrix.big else 1
    while at < len(body):
        if at + count * integer.itemsize > len(body):
            raise ModelError(f"{where}: ends within the head of a string of {matrix.name}.")
        first, length = matrix.string(where, tuple(int(x) for x in np.frombuffer(body, integer, count, at)))
        at += count * integer.itemsize
        stop = at + length * integer.itemsize
        if stop > len(body) or (stop - at) % real.itemsize:
            raise ModelError(f"{where}: a string of {length} words in {matrix.name} does not fit the record.")
        matrix.put(where, column, first, np.frombuffer(body[at:stop], real).astype(np.float64))
        at = stop


def _layout(path: Path, data: bytes) -> tuple[str, int]:
    """Byte order and word length: the first record is the head of a matrix, six words."""
    for order in "<>":
        length = int(np.frombuffer(data, f"{order}i4", 1)[0])
        if length in (24, 48):
            return order, length // 6
    raise ModelError(f"{path}, record 1: does not have 24 or 48 bytes, expected the head of a matrix of OUTPUT4.")
