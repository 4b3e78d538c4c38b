"""The log of a study: one line per member that was run, added when it is done, so that a killed study loses none.

A line is a checksum and a JSON object; a line that was cut off by a kill does not have its checksum, and counts as not
there.  Numbers are written so that they read back exactly, samples as the bytes of their numbers.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from liegeo.errors import InputError
from liegeo.results.tables import write_whole

# The number changes when what is kept does.
_FORMAT = 1
_ABOUT, _ROWS = "study.json", "rows.log"


@dataclass(frozen=True)
class MemberRow:
    """What came of one member: values by output, or the error that ended its run."""

    member: int
    values: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""


def _line(row: MemberRow) -> bytes:
    values = {
        name: base64.b64encode(np.asarray(value, dtype="<f8").tobytes()).decode() if np.ndim(value) else value
        for name, value in row.values.items()
    }
    content = json.dumps({"member": row.member, "values": values, "error": row.error}).encode()
    return b"%08x %s\n" % (binascii.crc32(content), content)


def _row(line: bytes) -> MemberRow | None:
    """Return what a line says; None if it is not whole."""
    if len(line) < 10 or not line.endswith(b"\n") or line[:8] != b"%08x" % binascii.crc32(line[9:-1]):
        return None
    found = json.loads(line[9:-1])
    values = {
        name: np.frombuffer(base64.b64decode(value), dtype="<f8") if isinstance(value, str) else float(value)
        for name, value in found["values"].items()
    }
    return MemberRow(found["member"], values, found["error"])


class Journal:
    """The folder of a study, open for adding rows; `identity` tells the study from others."""

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self.folder = folder
        about = {"format": _FORMAT, **identity}
        folder.mkdir(parents=True, exist_ok=True)
        known = folder / _ABOUT
        if known.exists():
            self._compare(known, about)
        elif any(folder.iterdir()):
            raise InputError(
                f"study: the folder {folder} has other files and no study. Name a new folder, or empty it."
            )
        else:
            write_whole(known, lambda file: file.write((json.dumps(about, indent=1) + "\n").encode()))
        self._file: BinaryIO | None = None

    def _compare(self, known: Path, about: Mapping[str, Any]) -> None:
        try:
            found = json.loads(known.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"study: {known} cannot be read: {error}. Delete the folder, or name another.") from None
        other = [key for key in about if not isinstance(found, dict) or found.get(key) != about[key]]
        if other:
            raise InputError(
                f"study: the folder {self.folder} is of another study: {', '.join(other)} differ.\n"
                "  Name another folder, delete this one, or repeat the call that it is of."
            )

    def rows(self) -> Iterator[MemberRow]:
        """Return the rows that are whole, and take away a last one that was cut off."""
        path = self.folder / _ROWS
        if not path.exists():
            return
        size, line = 0, b""
        with path.open("rb") as file:
            for line in file:
                size += len(line)
                row = _row(line)
                if row is not None:
                    yield row
        if not line.endswith(b"\n"):
            os.truncate(path, size - len(line))

    def add(self, row: MemberRow) -> None:
        """Add a row; it is kept even if this process is killed at once."""
        if self._file is None:
            self._file = (self.folder / _ROWS).open("ab")
        self._file.write(_line(row))
        self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
