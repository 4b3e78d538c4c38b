"""Nastran: GRID and DMIG of a bulk data file, or GRID with matrices in OUTPUT4.

DMIG holds the matrices of a reduced model, as EXTSEOUT or PARAM,EXTOUT,DMIGPCH punch them (KAAX, MAAX).  OUTPUT4 holds
them without saying what each row is: all six directions of all grid points by number, as in KGG and MGG, or a table
`dofs` says it.  The matrices are taken as they are; elements and constraints of the deck are not assembled.

Grid points may be placed in rectangular systems (CORD2R); their directions must be those of the basic system (CD = 0).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from liegeo._lazy import late
from liegeo.errors import ModelError
from liegeo.flex.fe import FEModel
from liegeo.flex.readers import _common, op4
from liegeo.flex.readers._common import Array, PathLike
from liegeo.model.checks import suggest

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = late("scipy.sparse")

_DEPTH = 8
_OTHER_SYSTEMS = ("CORD1R", "CORD1C", "CORD1S", "CORD2C", "CORD2S", "CORD3G", "CORD3R")


def read(
    path: PathLike,
    *,
    matrices: PathLike | None = None,
    stiffness: str | None = None,
    mass: str | None = None,
    dofs: PathLike | None = None,
    name: str | None = None,
    free: bool = True,
) -> FEModel:
    """A model with the grid points of a bulk data file.

    Its matrices are DMIG entries of that file or of another one (`matrices`, a .pch or .bdf file), or in OUTPUT4
    (`matrices`, an .op4 file).  `stiffness` and `mass` are their names, KAAX and MAAX or, in OUTPUT4, KGG and MGG if
    not given.  `dofs` is for OUTPUT4: a CSV table node, direction with what each row is.  `free=False` also takes a
    model that is held.
    """
    file = Path(path)
    cards = list(_cards(file, 0))
    places = _grids(cards, file)
    source = Path(matrices) if matrices is not None else file
    if source.suffix.lower() == ".op4":
        found, K, M = _from_op4(source, stiffness or "KGG", mass or "MGG", places, dofs)
    else:
        if dofs is not None:
            raise ModelError(f"{source}: DMIG says what each row is, expected no dofs.")
        both = cards if source == file else list(_cards(source, 0))
        found, K, M = _from_dmig(both, source, stiffness or "KAAX", mass or "MAAX", places)
    listed = [(node, _common.direction(d)) for node, d in found]
    return _common.finish(name or file.stem, places, listed, M, K, free)


# --- bulk data


@dataclass(frozen=True)
class Card:
    """An entry of the bulk data: where it starts, its name, and its fields without the continuation marks."""

    where: str
    name: str
    fields: list[str]

    def field(self, k: int) -> str:
        return self.fields[k] if k < len(self.fields) else ""

    def integer(self, k: int, default: int | None = None) -> int:
        word = self.field(k)
        return default if not word and default is not None else _common.integer(f"{self.where}: field {k + 2}", word)

    def real(self, k: int, default: float | None = None) -> float:
        word = self.field(k)
        return default if not word and default is not None else _common.real(f"{self.where}: field {k + 2}", word)


def _lines(path: Path, depth: int) -> Iterator[tuple[str, str]]:
    """Lines of the bulk data with their places, without comments, and with included files."""
    if depth > _DEPTH:
        raise ModelError(f"{path}: is included {depth} files deep, expected at most {_DEPTH}; does it include itself?")
    found = _common.text(path, whole=False)
    lines = found.split("\n")
    begin = next((k for k, line in enumerate(lines) if re.match(r"\s*BEGIN\s+(BULK|SUPER|$)", line, re.I)), None)
    for number, raw in enumerate(lines, 1):
        line = raw.partition("$")[0].expandtabs(8).rstrip()
        where = f"{path}, line {number}"
        if not line or (begin is not None and number <= begin + 1):
            continue
        if line.upper().startswith("ENDDATA"):
            return
        if number == len(lines):
            raise ModelError(f"{where}: has no end of line, as in a file that was cut short.")
        if line.upper().startswith("INCLUDE"):
            name = re.fullmatch(r"INCLUDE\s+(?:'([^']+)'|\"([^\"]+)\"|([^'\"\s]+))\s*", line, re.I)
            if name is None:
                raise ModelError(f"{where}: '{line}' is not INCLUDE 'file' on one line.")
            yield from _lines(path.parent / (name[1] or name[2] or name[3]), depth + 1)
            continue
        yield where, line
    # punched and included files have no end; a deck has one
    if depth == 0 and (begin is not None or any(re.match(r"\s*(SOL|CEND)\b", line, re.I) for line in lines)):
        raise ModelError(f"{path}: ends without ENDDATA, as a file that was cut short.")


def _cards(path: Path, depth: int) -> Iterator[Card]:
    """Entries in small (8), large (16) or free fields, with their continuations."""
    where, name, fields = "", "", [""]
    for place, line in _lines(path, depth):
        if "," in line:
            words = [w.strip() for w in line.split(",")]
            large = "*" in words[0]
            words = [words[0], *words[1:9]]
        else:
            head = line[:8].strip()
            large = "*" in head
            width, count = (16, 4) if large else (8, 8)
            words = [head, *(line[8 + width * k : 8 + width * (k + 1)].strip() for k in range(count))]
        padded = words[1:] + [""] * ((4 if large else 8) - len(words[1:]))
        if words[0] and words[0][0] not in "+*":
            if name:
                yield Card(where, name, fields)
            where, name, fields = place, words[0].rstrip("*").strip().upper(), padded
        elif not name:
            raise ModelError(f"{place}: a continuation of nothing, expected an entry.")
        else:
            fields = fields + padded
    if name:
        yield Card(where, name, fields)


def _grids(cards: list[Card], path: Path) -> dict[int, Array]:
    """Positions of grid points by number, in the basic system."""
    systems: dict[int, Card] = {}
    for card in cards:
        if card.name in ("CORD2R", *_OTHER_SYSTEMS):
            systems[card.integer(0)] = card
    default = next((c for c in cards if c.name == "GRDSET"), Card("", "GRDSET", []))
    out: dict[int, Array] = {}
    for card in (c for c in cards if c.name == "GRID"):
        number = card.integer(0)
        where = f"{card.where}: GRID {number}"
        placed = card.integer(1, default.integer(1, 0))
        turned = card.integer(5, default.integer(5, 0))
        if turned != 0:
            raise ModelError(
                f"{where}: its directions are those of system {turned} (CD), expected 0. Write the model with CD = 0."
            )
        place = np.array([card.real(k, 0.0) for k in (2, 3, 4)])
        R, origin = _system(placed, systems, where, 0)
        place = origin + R @ place
        if number in out and (out[number] != place).any():
            raise ModelError(f"{where}: is given a second time, at another place.")
        out[number] = place
    if not out:
        raise ModelError(f"{path}: holds no GRID, expected grid points.")
    return out


def _system(number: int, systems: dict[int, Card], where: str, depth: int) -> tuple[Array, Array]:
    """Axes and origin of a coordinate system, in the basic one."""
    if number == 0:
        return np.eye(3), np.zeros(3)
    if number not in systems:
        raise ModelError(f"{where}: refers to the coordinate system {number}, which is not there.")
    card = systems[number]
    if card.name != "CORD2R":
        raise ModelError(
            f"{where}: is placed in a {card.name}, which is not read, expected CORD2R or the basic system."
        )
    if depth > len(systems):
        raise ModelError(f"{card.where}: coordinate systems refer to each other in a ring.")
    R, origin = _system(card.integer(1, 0), systems, where, depth + 1)
    a, b, c = (np.array([card.real(k + i, 0.0) for i in range(3)]) for k in (2, 5, 8))
    z, y = b - a, np.cross(b - a, c - a)
    if not np.linalg.norm(z) > 0.0 or not np.linalg.norm(y) > 0.0:
        raise ModelError(f"{card.where}: the three points of CORD2R {number} lie on one line.")
    z, y = z / np.linalg.norm(z), y / np.linalg.norm(y)
    return R @ np.column_stack([np.cross(y, z), y, z]), origin + R @ a


# --- matrices

Rows = list[tuple[int, int]]
Found = tuple[Rows, "sp.csc_array", "sp.csc_array"]
Entries = tuple[Rows, Rows, list[float], int]


def _from_dmig(cards: list[Card], path: Path, stiffness: str, mass: str, places: dict[int, Array]) -> Found:
    entries = [_dmig(cards, path, name, places) for name in (stiffness, mass)]
    found = sorted({pair for rows, columns, _, _ in entries for pair in rows + columns})
    index = {pair: k for k, pair in enumerate(found)}
    out = []
    for name, (rows, columns, values, form) in zip((stiffness, mass), entries, strict=True):
        i, j = [index[p] for p in rows], [index[p] for p in columns]
        matrix = _common.symmetric(path, i, j, values, len(found), f"DMIG {name}")
        if form == 1:
            # all entries are given; what has no partner is not symmetric
            matrix = sp.csc_array((values, (i, j)), shape=matrix.shape)
        else:
            both = set(zip(i, j, strict=True)) & {(b, a) for a, b in zip(i, j, strict=True) if a != b}
            if both:
                (node, d), (other, e) = (found[k] for k in min(both))
                raise ModelError(
                    f"{path}: DMIG {name} is symmetric (form 6), but holds the entry of {node}, {d} and {other}, {e} "
                    "on both sides of the diagonal, expected one."
                )
        out.append(matrix)
    return found, out[0], out[1]


def _dmig(cards: list[Card], path: Path, name: str, places: dict[int, Array]) -> Entries:
    """Rows, columns and values of one matrix, and its form: 6 has one triangle, 1 all entries."""
    all_cards = [c for c in cards if c.name == "DMIG"]
    mine = [c for c in all_cards if c.field(0).upper() == name.upper()]
    if not mine:
        known = sorted({c.field(0).upper() for c in all_cards})
        raise ModelError(f"{path}: has no DMIG '{name}'.{suggest(name, known)}")
    header = next((c for c in mine if c.field(1) == "0"), None)
    if header is None:
        raise ModelError(f"{mine[0].where}: DMIG {name} has no header (a zero in field 3).")
    form, kind = header.integer(2), header.integer(3)
    if form not in (1, 6):
        raise ModelError(f"{header.where}: DMIG {name} has form {form}, expected 1 (square) or 6 (symmetric).")
    if kind not in (1, 2):
        raise ModelError(f"{header.where}: DMIG {name} has type {kind}, expected 1 or 2 (real).")
    rows, columns, values = [], [], []
    for card in mine:
        if card is header:
            continue
        column = _point(card, 1, places)
        groups = range(4, len(card.fields), 4)
        filled = [k for k in groups if any(card.fields[k : k + 4])]
        if not filled:
            raise ModelError(f"{card.where}: a column of DMIG {name} without entries.")
        for k in filled:
            rows.append(_point(card, k, places))
            columns.append(column)
            values.append(card.real(k + 2))
            if card.field(k + 3) and card.real(k + 3) != 0.0:
                raise ModelError(f"{card.where}: DMIG {name} holds an imaginary part, expected real numbers.")
    if not rows:
        raise ModelError(f"{header.where}: DMIG {name} has no columns.")
    return rows, columns, values, form


def _point(card: Card, k: int, places: dict[int, Array]) -> tuple[int, int]:
    """Grid point and direction, 1–6."""
    node, d = card.integer(k), card.integer(k + 1, 0)
    if node not in places:
        raise ModelError(f"{card.where}: DMIG {card.field(0)} refers to point {node}, which is no GRID of the file.")
    if not 1 <= d <= 6:
        raise ModelError(f"{card.where}: direction {d} of point {node}, expected 1 to 6.")
    return node, d


def _from_op4(path: Path, stiffness: str, mass: str, places: dict[int, Array], dofs: PathLike | None) -> Found:
    there = op4.read(path)
    K, M = (_named(path, there, name) for name in (stiffness, mass))
    if K.shape != M.shape:
        raise ModelError(f"{path}: {mass} has shape {M.shape}, expected {K.shape} as {stiffness}.")
    n = K.shape[0]
    if dofs is None:
        if n != 6 * len(places):
            raise ModelError(
                f"{path}: {stiffness} has {n} rows for {len(places)} grid points, expected 6 for each. Give dofs=, a "
                "table that says what each row is."
            )
        # what has neither mass nor stiffness is there only to make six
        K, M = sp.csc_array(K), sp.csc_array(M)
        kept = np.flatnonzero((abs(K).sum(axis=1) + abs(M).sum(axis=1)) > 0.0)
        rows = [(node, d) for node in sorted(places) for d in range(1, 7)]
        return [rows[k] for k in kept], K[kept][:, kept], M[kept][:, kept]
    listed = []
    for where, words in _common.csv_rows(Path(dofs), ("node", "direction")):
        node, d = _common.integer(where, words[0]), _common.fe_direction(where, words[1])
        if node not in places:
            raise ModelError(f"{where}: node {node} is no GRID of the file.")
        listed.append((node, d))
    if len(listed) != n:
        raise ModelError(f"{dofs}: lists {len(listed)} rows, but {stiffness} of {path} has {n}.")
    return listed, sp.csc_array(K), sp.csc_array(M)


def _named(path: Path, there: op4.Matrices, name: str) -> sp.coo_array:
    if name.upper() not in there:
        raise ModelError(f"{path}: has no matrix '{name}'.{suggest(name.upper(), list(there))}")
    matrix = there[name.upper()]
    if matrix.shape[0] != matrix.shape[1]:
        raise ModelError(f"{path}: {name} has shape {matrix.shape}, expected a square matrix.")
    return matrix


READER = _common.Reader(
    "nastran",
    (".bdf", ".nas", ".dat", ".pch"),
    "Nastran: GRID and DMIG of a bulk data file, or matrices in OUTPUT4",
    read,
)
