"""The state of an FMU as bytes: the same of an FMU with Python inside and of a native one (guard/native_state.c).

    "liegeo-state-7", 16 bytes; what tells the model from others (identity.py), 64 bytes;
    mode, whether inputs changed, number of variables n, of numbers of the machine (0: none), of bytes of texts;
    start, stop, tolerance, time;
    n values of variables, and whether each was set; first and second derivatives of inputs for the next step, NaN where
    none is given; the machine's numbers (liegeo/machine/record.py, X);
    texts, each with a zero behind it: variables of type String that can be set; of each parameter of the model file
    that was set its name, and as 32 digits its value in SI and as it is shown; an empty one.

All numbers are doubles, little end first.  Parameters of the file are not among the variables, because some are
constants of a native FMU, and outputs, which follow from the rest, are zero.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fmu_export.words import TEXTS, text
from liegeo.errors import InputError

Array = NDArray[np.float64]

_MAGIC = b"liegeo-state-7\n\0"
_IDENTITY = 64
_VALUES = re.compile(r"[0-9a-f]{32}")
# Numbers of the head, and of those how many are whole.
_HEAD = 9


class SavedState(NamedTuple):
    """All that an FMU needs to go on as from here, to the bit."""

    identity: str
    mode: int
    changed: int
    #: Start, stop, tolerance and time.
    times: Array
    values: Array
    was_set: Array
    slopes: Array
    #: The numbers of the machine; none if there is no machine.
    machine: Array
    strings: tuple[str, ...]
    #: By name, the parameters of the model file that were set, in SI and as they are shown.
    file: dict[str, tuple[float, float]]

    def to_bytes(self) -> bytes:
        """Return the bytes."""
        texts = b"".join(each.encode() + b"\0" for each in self.strings)
        for name, value in self.file.items():
            texts += name.encode() + b"\0" + struct.pack(">2d", *value).hex().encode() + b"\0"
        texts += b"\0"
        head = [self.mode, self.changed, len(self.values), len(self.machine), len(texts)]
        numbers = np.concatenate([head, self.times, self.values, self.was_set, self.slopes, self.machine])
        return _MAGIC + self.identity.encode() + numbers.astype("<f8").tobytes() + texts

    @classmethod
    def from_bytes(cls, data: bytes) -> SavedState:
        """Return the state; InputError if the bytes are none."""
        start = len(_MAGIC) + _IDENTITY
        if not data.startswith(_MAGIC) or len(data) < start + 8 * _HEAD:
            raise InputError(text("NO_STATE", TEXTS["NO_BEGINNING"]))
        head = np.frombuffer(data, dtype="<f8", count=_HEAD, offset=start).astype(np.float64)
        mode, changed, n, moved, n_text = head[:5]
        body = len(data) - start - n_text
        slopes = (body / 8 - _HEAD - 2 * n - moved) if np.isfinite(head[:5]).all() else -1.0
        if slopes < 0.0 or slopes % 2 or n < 0.0 or moved < 0.0 or n_text < 1.0 or data[-1:] != b"\0":
            raise InputError(text("NO_STATE", TEXTS["OTHER_SIZE"]))
        numbers = np.frombuffer(data, dtype="<f8", count=int(body) // 8, offset=start).astype(np.float64)
        ends = np.cumsum([_HEAD, int(n), int(n), int(slopes)])
        values, was_set, given, machine = np.split(numbers, ends)[1:]
        # numbers in the place of texts: bytes that were cut off by a whole number of slopes.  No text is empty
        texts = data[len(data) - int(n_text) : -1].decode("utf-8", "replace").split("\0")
        if texts[-1] or not all(texts[:-1]):
            raise InputError(text("NO_STATE", TEXTS["OTHER_SIZE"]))
        # values have digits alone; what stands before them and their names are settings
        first = len(texts) - 1
        while first >= 2 and _VALUES.fullmatch(texts[first - 1]):
            first -= 2
        read = {name: struct.unpack(">2d", bytes.fromhex(digits)) for name, digits in _pairs(texts[first:-1])}
        return cls(
            data[len(_MAGIC) : start].decode("ascii"),
            int(mode),
            int(changed),
            head[5:],
            values,
            was_set,
            given,
            machine,
            tuple(texts[:first]),
            {name: (float(si), float(shown)) for name, (si, shown) in read.items()},
        )


def _pairs(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    return zip(texts[::2], texts[1::2], strict=True)
