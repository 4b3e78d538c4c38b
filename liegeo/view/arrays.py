"""Arrays on their way to the page: one run of bytes, and where each array stands in it."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

# What the page calls a number, and what NumPy does; all little-endian.
_TYPES = {"f4": "<f4", "f8": "<f8", "u4": "<u4"}
_ALIGNED = 8


class Arrays:
    """Collects arrays; equal ones are kept once, as those of a chain of equal links are."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._length = 0
        self._places: dict[bytes, int] = {}

    def put(self, values: ArrayLike, kind: str = "f4") -> dict[str, Any]:
        """How the page finds it: its offset in bytes, its shape and its type."""
        array = np.ascontiguousarray(values, dtype=_TYPES[kind])
        content = array.tobytes()
        key = hashlib.sha256(content).digest()
        if key not in self._places:
            self._places[key] = self._length
            padded = content + bytes(-len(content) % _ALIGNED)
            self._pieces.append(padded)
            self._length += len(padded)
        return {"at": self._places[key], "shape": list(array.shape), "type": kind}

    def content(self) -> bytes:
        return b"".join(self._pieces)
