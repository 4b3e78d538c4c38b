"""Checkpoints of a run: one file, always whole, of one run and no other.

A file is a zip archive of arrays (NumPy's npz, no pickles) behind the digest of its bytes.  It is written beside its
place and renamed, so that whenever a process is killed there is the new file, or the old one, or none.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import InputError
from liegeo.results.tables import remove_stale, write_whole

Array = NDArray[Any]

# The number changes when what is kept, or where it stands, does.
_MARKS = b"liegeo checkpoint "
_MARK = _MARKS + b"4\n"
_SEAL = hashlib.sha256().digest_size
_IDENTITY = "identity"
# Writing should take at most this share of the time.
_SHARE = 0.05


def digest(*arrays: Array) -> str:
    """A short text that changes when a bit of the arrays does."""
    sha = hashlib.sha256()
    for array in arrays:
        sha.update(f"{array.dtype} {array.shape} ".encode() + np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()[:16]


class Checkpoint:
    """The file of one run, which `identity` tells from others; due every so many seconds."""

    def __init__(self, path: Path, identity: dict[str, Any], seconds: float) -> None:
        if not seconds >= 0.0:
            raise InputError(f"checkpoint_every is {seconds!r}, expected a time in seconds ≥ 0.")
        self.path = path
        remove_stale(path)
        self._identity = identity
        self._seconds = seconds
        self._last = time.perf_counter()
        self._took = 0.0

    def is_due(self) -> bool:
        return time.perf_counter() - self._last >= max(self._seconds, self._took / _SHARE)

    def write(self, content: dict[str, Array]) -> None:
        began = time.perf_counter()
        buffer = io.BytesIO()
        arrays: dict[str, Any] = {**content, _IDENTITY: np.array(json.dumps(self._identity))}
        np.savez(buffer, **arrays)
        payload = buffer.getvalue()
        write_whole(self.path, lambda file: file.write(_MARK + hashlib.sha256(payload).digest() + payload))
        self._last = time.perf_counter()
        self._took = self._last - began

    def read(self) -> dict[str, Array] | None:
        """What was written, or None if there is nothing; an error if it is of another run, or damaged."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        start = len(_MARK)
        if content.startswith(_MARKS) and content[:start] != _MARK:
            raise InputError(
                f"checkpoint {self.path} was written by another version of liegeo, which keeps other things.\n"
                "  Delete it, or go on with that version."
            )
        seal, payload = content[start : start + _SEAL], content[start + _SEAL :]
        if content[:start] != _MARK or hashlib.sha256(payload).digest() != seal:
            raise InputError(f"checkpoint {self.path} is not a checkpoint of liegeo, or is damaged. Delete it.")
        try:
            with np.load(io.BytesIO(payload), allow_pickle=False) as archive:
                # of an entry that is no array NumPy gives the bytes
                arrays = {name: np.asarray(archive[name]) for name in archive.files}
            strange = [name for name, array in arrays.items() if array.dtype.kind not in "biufcU"]
            if strange:
                raise ValueError(f"its entry '{strange[0]}' is no array")
            identity = dict(json.loads(str(arrays.pop(_IDENTITY))))
        except Exception as error:  # zip, NumPy and JSON have many of their own
            raise InputError(f"checkpoint {self.path} cannot be read: {error}. Delete it.") from None
        other = [key for key, value in self._identity.items() if identity.get(key) != value]
        if other:
            raise InputError(
                f"checkpoint {self.path} is of another run: {', '.join(other)} differ.\n"
                "  Delete it, give another file, or repeat the call that it is of."
            )
        return arrays

    def delete(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.path.unlink()
