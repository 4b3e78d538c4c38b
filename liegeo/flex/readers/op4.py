"""Nastran's OUTPUT4: real matrices, text or binary, dense or sparse, either byte order, either word length.

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
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from liegeo.errors import ModelError
from liegeo.flex.readers import _common
from liegeo.flex.readers._common import Array

# Rows from which on all sparse matrices are "big".
_BIG = 65536


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


def read(path: Path) -> dict[str, sp.coo_array]:
    """All matrices of a file by name, in capitals."""
    data = _common.content(path)
    if len(data) < 16:
        raise ModelError(f"{path}: has {len(data)} bytes, expected a matrix of OUTPUT4.")
    binary = bool(set(data[:16]) & {*range(9), *range(14, 32)})
    found = _binary(path, data) if binary else _text(path)
    out: dict[str, sp.coo_array] = {}
    for matrix in found:
        if matrix.name in out:
            raise ModelError(f"{matrix.where}: a second matrix {matrix.name}, expected each name once.")
        out[matrix.name] = matrix.finished()
    return out


def _begin(where: str, head: tuple[int, ...], name: str, words: int) -> _Matrix:
    columns, rows, form, kind = head
    if kind not in (1, 2):
        raise ModelError(f"{where}: matrix '{name}' has type {kind}, expected 1 or 2 (real).")
    if form not in (1, 2, 6):
        raise ModelError(f"{where}: matrix '{name}' has form {form}, expected 1 (square), 2 or 6 (symmetric).")
    if columns < 1 or rows == 0 or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise ModelError(f"{where}: '{name}' with {rows} rows and {columns} columns is not the head of a matrix.")
    big = rows < 0 or rows >= _BIG
    return _Matrix(where, name.upper(), abs(rows), columns, big, words if kind == 2 else 1)


# --- text


def _text(path: Path) -> list[_Matrix]:
    lines = _common.text(path).split("\n")[:-1]
    out, k = [], 0
    while k < len(lines):
        if not lines[k].strip():
            k += 1
            continue
        where = f"{path}, line {k + 1}"
        line = lines[k]
        wide = 16 if line.rstrip().endswith("|I16") else 8
        spans = [(0, wide), (wide, 2 * wide), (2 * wide, 2 * wide + 8), (2 * wide + 8, 2 * wide + 16)]
        head = tuple(_common.integer(f"{where}: head of a matrix", line[a:b]) for a, b in spans)
        end = 2 * wide + 16
        form = re.fullmatch(r"(?:1P,)?\s*(\d+)[ED](\d+)\.(\d+)", line[end + 8 :].strip().removesuffix("|I16").upper())
        if form is None:
            raise ModelError(f"{where}: '{line[end + 8 :].strip()}' is not a format such as 1P,3E23.16.")
        matrix = _begin(where, head, line[end : end + 8].strip(), 2)
        k = _text_columns(path, lines, k + 1, matrix, int(form[2]))
        out.append(matrix)
    if not out:
        raise ModelError(f"{path}: is empty, expected a matrix of OUTPUT4.")
    return out


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


def _binary(path: Path, data: bytes) -> list[_Matrix]:
    order, wide = _layout(path, data)
    integer, size = np.dtype(f"{order}i{wide}"), wide
    out, at, number = [], 0, 0

    def record() -> tuple[str, bytes]:
        nonlocal at, number
        number += 1
        where = f"{path}, record {number}"
        if at + 4 > len(data):
            raise ModelError(f"{where}: the file ends, expected a record.")
        length = int(np.frombuffer(data, f"{order}i4", 1, at)[0])
        if length < 0 or at + 8 + length > len(data):
            raise ModelError(f"{where}: has {length} bytes, but the file ends after {len(data) - at - 4}.")
        if data[at : at + 4] != data[at + 4 + length : at + 8 + length]:
            raise ModelError(f"{where}: its length, {length} bytes, is not repeated after it.")
        body = data[at + 4 : at + 4 + length]
        at += 8 + length
        return where, body

    while at < len(data):
        where, body = record()
        if len(body) != 4 * size + 2 * wide:
            raise ModelError(f"{where}: has {len(body)} bytes, expected the head of a matrix, {6 * wide}.")
        head = tuple(int(x) for x in np.frombuffer(body, integer, 4))
        name = body[4 * size :].decode("latin-1").strip()
        if wide == 8:
            # characters come in words, four in each with four spaces, or eight
            name = name.replace(" ", "")
        matrix = _begin(where, head, name, 2 if wide == 4 else 1)
        real = np.dtype(f"{order}f{wide if head[3] == 1 else 8}")
        while True:
            where, body = record()
            if len(body) < 3 * size:
                raise ModelError(f"{where}: has {len(body)} bytes, expected the head of a column, {3 * size}.")
            column, row, words = (int(x) for x in np.frombuffer(body, integer, 3))
            if column > matrix.columns:
                break
            matrix.column(where, column)
            if len(body) != (3 + words) * size:
                raise ModelError(f"{where}: has {len(body)} bytes, expected {3 * size} and {words} words.")
            _binary_column(where, body[3 * size :], matrix, column, row, integer, real)
        out.append(matrix)
    return out


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
