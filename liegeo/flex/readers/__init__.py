"""Finite-element data of other programs, read into one FEModel.

A format is one module with a function `read(path, ...) -> FEModel` and a READER that describes it, and a line in
ALL_READERS.  Readers execute nothing from a file, and refuse what is cut short, inconsistent, or would be understood
only in part.

Directions in files are those of FE programs: 1–3 for displacement, 4–6 for rotation.  Units are those of the file, and
must be SI for liegeo.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

from liegeo.errors import ModelError
from liegeo.flex.fe import FEModel
from liegeo.flex.readers import op2 as op2
from liegeo.flex.readers._common import Reader as Reader
from liegeo.flex.readers._common import within as within

# The first that has the suffix and says that the file is its own.
ALL_READERS: tuple[Reader, ...] = tuple(
    importlib.import_module(f"{__name__}.{module}").READER
    for module in (
        "matrix_market",
        "calculix",
        "abaqus",
        "nastran",
    )
)


def read(path: str | Path, **options: Any) -> FEModel:
    """A model from a file, by its suffix and, where two formats share it, by what it holds.

    `options` are those of the reader: `help(liegeo.flex.readers.nastran.read)`.
    """
    file = Path(path)
    reader = reader_of(file)
    try:
        inspect.signature(reader.read).bind(file, **options)
    except TypeError as error:
        raise ModelError(
            f"{file}: is read by {reader.name}: {error}.\n  Its options are "
            f"{', '.join(list(inspect.signature(reader.read).parameters)[1:])}."
        ) from None
    return reader.read(file, **options)


def reader_of(file: Path) -> Reader:
    """Return the reader of a file."""
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
    return reader
