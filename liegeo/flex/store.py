"""Reductions that are made once: a store by content, in memory and on disk.

What takes the time of a flexible body is to factorise its stiffness and to find its normal modes.  The store knows a
reduction by a digest of all that these depend on: positions and directions of the degrees of freedom, M and K, the mode
set with its options, and the sources that compute it.  So identical components (the panels of a spacecraft, the links
of an arm) are reduced once whatever they are called, a component is not reduced again because it is attached elsewhere
or turned, and the next process finds it on disk.  A component whose matrices differ in one bit is another one.

Model files go through the store of this process (`liegeo/io/flexible.py`), and with them the command line and FMUs with
Python inside.  `reduce` itself keeps nothing.

On disk an entry is a file with the shapes as they were found, under the same rules as compiled kernels (`_cache.py`):
in a folder for its owner alone, written to a temporary name and renamed, sealed with a digest of its content.  A file
that is damaged, cut off or another's counts as missing: the component is reduced again.  Nothing in a file is executed.
When the folder holds more than `most_bytes`, the entries that were not used for the longest time are deleted.
Components of fewer than 200 degrees of freedom are not kept on disk: reducing them takes as long as reading a file.

LIEGEO_CACHE_DIR chooses the folder, in which the store is `reductions`.  LIEGEO_REDUCTIONS says how much it may hold:
a number of megabytes (default 500), or `off`, with which nothing is read from disk or written to it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import io
import math
import os
import platform
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from liegeo._cache import private_file
from liegeo._lazy import late
from liegeo.errors import InputError
from liegeo.flex.fe import FEModel
from liegeo.flex.modes import Choice, Component, Reduction, Shapes, _Options, check_nodes

if TYPE_CHECKING:
    import scipy
    import scipy.sparse as sp
else:
    scipy = late("scipy")
    sp = late("scipy.sparse")

Array = NDArray[np.float64]

SWITCH = "LIEGEO_REDUCTIONS"
_MEGABYTE = 1_000_000
_DEFAULT_BYTES = 500 * _MEGABYTE
# Smaller components are reduced faster than a file is found and read.
_SMALLEST = 200
# A temporary file that is older than this belongs to a process that was killed.
_ABANDONED_SECONDS = 3600.0
# Sources on which the shapes of given matrices depend.
_SOURCES = ("modes.py", "fe.py", "store.py")


@functools.cache
def _stamp() -> str:
    """Return a digest of what shapes depend on beside the component: our sources, and the libraries that solve."""
    digest = hashlib.sha256()
    for name in _SOURCES:
        digest.update((Path(__file__).parent / name).read_bytes())
    digest.update(f"{np.__version__} {scipy.__version__} {platform.machine()}".encode())
    return digest.hexdigest()[:16]


def _bytes_allowed() -> int:
    """Return how many bytes the store may hold on disk, 0 for none, from the environment."""
    given = os.environ.get(SWITCH, "").strip()
    if not given:
        return _DEFAULT_BYTES
    if given.lower() == "off":
        return 0
    try:
        megabytes = float(given)
    except ValueError:
        megabytes = math.nan
    if not 0.0 <= megabytes < math.inf:
        raise InputError(
            f"environment variable {SWITCH} is '{given}', expected a number of megabytes ≥ 0, or off.\n"
            "  Unset it to keep up to 500 MB of reductions on disk."
        )
    return int(megabytes * _MEGABYTE)


class ReductionStore:
    """Reductions by content: the last `most_kept` in memory, and on disk up to `most_bytes`.

    `folder` is where they are kept on disk, and `most_bytes` 0 keeps none there; by default both are as the
    environment says (see above).  One store serves several threads.
    """

    def __init__(self, folder: Path | None = None, *, most_bytes: int | None = None, most_kept: int = 32) -> None:
        for name, value in (("most_bytes", most_bytes), ("most_kept", most_kept)):
            if value is not None and value < 0:
                raise InputError(f"ReductionStore: {name} is {value}, must be ≥ 0.")
        self._folder, self._most_bytes, self._most_kept = folder, most_bytes, most_kept
        self._kept: OrderedDict[bytes, Reduction] = OrderedDict()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        where = f"up to {self.most_bytes / _MEGABYTE:.4g} MB in {self.folder}" if self.most_bytes else "none on disk"
        return f"<store of reductions: {len(self)} in memory, {where}>"

    def __len__(self) -> int:
        """How many are in memory; one that was asked for by two keys counts twice."""
        return len(self._kept)

    @property
    def folder(self) -> Path:
        """Return the folder of this version of the sources."""
        if self._folder is not None:
            return self._folder / _stamp()
        return Path(os.environ.get("LIEGEO_CACHE_DIR") or user_cache_path("liegeo")) / "reductions" / _stamp()

    @property
    def most_bytes(self) -> int:
        """Return how much may be on disk."""
        return _bytes_allowed() if self._most_bytes is None else self._most_bytes

    def reduce(
        self,
        fe: FEModel,
        interfaces: Mapping[str, Sequence[int]] | Sequence[str] = (),
        method: str = "craig-bampton",
        *,
        n_modes: int | None = None,
        max_frequency: float | None = None,
        effective_mass: float | None = None,
        root: str | None = None,
        fixed: Mapping[str, Sequence[int]] | Sequence[str] = (),
        imaginary: str | None = None,
        loads: Mapping[str, Any] | None = None,
    ) -> Reduction:
        """Return what `liegeo.flex.reduce` gives with the same arguments, from the store if it is there."""
        check_nodes(fe, interfaces=interfaces, fixed=fixed, loads=loads or (), imaginary=(imaginary,), root=(root,))
        component = Component(fe, interfaces, fixed)
        choose = Choice(n_modes, max_frequency, effective_mass)
        options = _Options(root, imaginary, dict(loads or {}))
        key = _digest(component, method, choose, options)

        def make() -> Reduction:
            found = self._read(key, fe.n)
            if found is None:
                found = component.shapes(method, choose, options)
                self._write(key, found, fe.n)
            made = component.orthonormal(method, root, found)
            # several bodies will have them
            for array in (made.shapes, made.frequencies, found.dynamic, found.static, found.frequencies):
                array.setflags(write=False)
            return made

        reduction = self.remembered(key, make)
        return reduction if reduction.fe is fe else dataclasses.replace(reduction, fe=fe)

    def remembered(self, key: bytes, make: Callable[[], Reduction]) -> Reduction:
        """Return what is in memory under this key, or make it; the oldest beyond `most_kept` are forgotten."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
        found = make()
        with self._lock:
            self._kept[key] = found
            while len(self._kept) > self._most_kept:
                self._kept.popitem(last=False)
        return found

    def forget(self) -> None:
        """Forget what is in memory; what is on disk stays."""
        with self._lock:
            self._kept.clear()

    def _path(self, key: bytes) -> Path:
        return self.folder / f"{key.hex()}.arrays"

    def _read(self, key: bytes, n: int) -> Shapes | None:
        """Return the shapes on disk, None if there are none that can be trusted."""
        if not self.most_bytes or n < _SMALLEST:
            return None
        path = self._path(key)
        content = private_file(path)
        if content is None:
            return None
        # what was written whole was written by `_write`; who wrote something else into it gets a component reduced anew
        try:
            file = io.BytesIO(content)
            found = Shapes(*(np.lib.format.read_array(file, allow_pickle=False) for _ in dataclasses.fields(Shapes)))
        except (ValueError, OSError, EOFError):
            return None
        if found.dynamic.shape != (n, len(found.frequencies)) or found.static.shape[:1] != (n,):
            return None
        with contextlib.suppress(OSError):
            # as new, the file and its folder: the oldest are deleted first
            os.utime(path)
            os.utime(path.parent)
        return found

    def _write(self, key: bytes, found: Shapes, n: int) -> None:
        """Keep shapes on disk, unless they alone would take more than a quarter of the room."""
        most = self.most_bytes
        size = sum(part.nbytes for part in (found.dynamic, found.static))
        if n < _SMALLEST or 4 * size > most:
            return
        content = io.BytesIO()
        for each in dataclasses.fields(Shapes):
            np.lib.format.write_array(content, getattr(found, each.name), allow_pickle=False)
        path = self._path(key)
        private_file(path, content.getvalue())
        _make_room(path.parent, most)


def _make_room(folder: Path, most: int) -> None:
    """Delete the entries that were not used for the longest time, until the rest takes no more than `most` bytes.

    Other processes may do the same at the same moment: what is gone already is as good as deleted.
    """
    entries = []
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            with contextlib.suppress(OSError):
                found = path.stat()
                if path.suffix == ".tmp":
                    if time.time() - found.st_mtime > _ABANDONED_SECONDS:
                        path.unlink()
                elif path.suffix == ".arrays":
                    entries.append((found.st_mtime, found.st_size, path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= most:
            return
        with contextlib.suppress(OSError):
            path.unlink()
        total -= size


def _digest(component: Component, method: str, choose: Choice, options: _Options) -> bytes:
    """Return a digest of all that the shapes of a component depend on, which its names do not belong to."""
    fe = component.fe
    digest = hashlib.sha256(f"{method} {choose!r}".encode())
    for matrix in (fe.mass, fe.stiffness):
        _add_matrix(digest, matrix)
    for array in (fe.positions, fe.dofs, component.C, component.B):
        _add(digest, np.asarray(array))
    if options.root is not None:
        position, motion = fe.place(options.root)
        digest.update(b"root")
        _add(digest, np.asarray(position, dtype=np.float64))
        _add_matrix(digest, motion)
    if options.imaginary is not None:
        digest.update(f"imaginary {fe.node(options.imaginary)}".encode())
    for name, inertia in options.loads.items():
        digest.update(f"load {fe.node(name)}".encode())
        _add(digest, np.asarray(inertia, dtype=np.float64))
    return digest.digest()


def _add_matrix(digest: Any, matrix: Any) -> None:
    # entries in one order, whatever made them
    csc = sp.csc_array(matrix)
    csc.sort_indices()
    for array in (np.asarray(csc.shape), csc.indptr, csc.indices, csc.data):
        _add(digest, np.asarray(array))


def _add(digest: Any, array: NDArray[Any]) -> None:
    wide = array.astype(np.float64 if array.dtype.kind == "f" else np.int64, copy=False)
    digest.update(f"{wide.dtype.kind}{wide.shape}".encode())
    digest.update(np.ascontiguousarray(wide).data)
