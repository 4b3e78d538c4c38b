"""Finite-element data of other programs, read into one FEModel.

A format is one file with a function `read(path, ...) -> FEModel`, and one entry in ALL_READERS.  Readers execute
nothing from a file, and refuse what is cut short, inconsistent, or would be understood only in part.

Directions in files are those of FE programs: 1–3 for displacement, 4–6 for rotation.  Units are those of the file, and
must be SI for liegeo.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from liegeo.errors import ModelError
from liegeo.flex.fe import FEModel
from liegeo.flex.readers import _common, abaqus, calculix, matrix_market, nastran, op2
from liegeo.flex.readers._common import within

__all__ = ["ALL_READERS", "Reader", "abaqus", "calculix", "matrix_market", "nastran", "op2", "read", "within"]


@dataclass(frozen=True)
class Reader:
    """A format: its name, the suffixes of its files, and how to read them.  `mine` decides between equal suffixes."""

    name: str
    suffixes: tuple[str, ...]
    description: str
    read: Callable[..., FEModel]
    mine: Callable[[Path], bool] = lambda path: True


def _is_matrix_market(path: Path) -> bool:
    return path.suffix.lower() != ".mtx" or _common.content(path).startswith(b"%%MatrixMarket")


def _is_calculix(path: Path) -> bool:
    return _common.sibling(path, ".sti").exists()


# The first that has the suffix and says that the file is its own.
ALL_READERS = (
    Reader(
        "matrix_market",
        (".mtx", ".npz"),
        "sparse M and K in Matrix Market or SciPy's .npz, nodes in CSV or .npz",
        matrix_market.read,
        _is_matrix_market,
    ),
    Reader(
        "calculix",
        (".inp", ".sti", ".mas", ".dof"),
        "CalculiX: .sti, .mas and .dof of SOLVER=MATRIXSTORAGE, nodes of the deck",
        calculix.read,
        _is_calculix,
    ),
    Reader(
        "abaqus",
        (".inp", ".mtx"),
        "Abaqus: text files of *MATRIX OUTPUT, nodes of the deck",
        abaqus.read,
    ),
    Reader(
        "nastran",
        (".bdf", ".nas", ".dat", ".pch"),
        "Nastran: GRID and DMIG of a bulk data file, or matrices in OUTPUT4",
        nastran.read,
    ),
)


def read(path: str | Path, **options: Any) -> FEModel:
    """A model from a file, by its suffix and, where two formats share it, by what it holds.

    `options` are those of the reader: `help(liegeo.flex.readers.nastran.read)`.
    """
    file = Path(path)
    suffix = Path(file.stem).suffix.lower() if file.suffix.lower() == ".gz" else file.suffix.lower()
    known = [reader for reader in ALL_READERS if suffix in reader.suffixes]
    if not known:
        listed = "\n".join(f"    {', '.join(r.suffixes)}: {r.description}" for r in ALL_READERS)
        raise ModelError(f"{file}: the suffix '{suffix}' belongs to no reader, expected one of\n{listed}")
    if not file.is_file():
        raise ModelError(f"{file}: is not a file.")
    reader = next((r for r in known if r.mine(file)), None)
    if reader is None:
        raise ModelError(
            f"{file}: is a {suffix} file, but not of {', '.join(r.name for r in known)}: what belongs to it is missing."
        )
    try:
        inspect.signature(reader.read).bind(file, **options)
    except TypeError as error:
        raise ModelError(
            f"{file}: is read by {reader.name}: {error}.\n  Its options are "
            f"{', '.join(list(inspect.signature(reader.read).parameters)[1:])}."
        ) from None
    return reader.read(file, **options)
