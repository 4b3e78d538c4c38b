"""What became of kernels, kept on disk: an entry is either right or not found.

Numba's own cache looks only at the file that holds a function.  A kernel that calls another file's kernel has that
one's code inside it, so after an edit below it would silently run the old mathematics; and two processes that
fill one index at the same moment can exchange their entries.  Here the name of a cache file is a digest of everything
that went into it (all kernel sources, Numba, processor, function, options, argument types), and writing is one atomic
rename.  What went into it and cannot be told, or will be another in the next process, is not kept.

Entries are pickles and machine code: who can write one runs code as whoever loads it, and a digest keeps nobody from
writing another.  So folders are made for their owner alone (0700), and an entry is loaded only if it and its folder
belong to this user and nobody else may write to them; otherwise kernels are compiled, and one message says so.
Windows has no such owners and modes: there the folder must be one's own, as the default one is.

Set LIEGEO_CACHE_DIR to choose the folder.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import re
import shutil
import stat
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType, NoneType
from typing import Any, NamedTuple

import numba
import numpy as np
from filelock import FileLock, Timeout
from numba import types
from numba.core.event import trigger_event
from platformdirs import user_cache_path

# Packages whose machine code can end up inside a kernel; missing ones are skipped.  They import with `from`.
COMPILED_PACKAGES = ("lie", "kernels", "integrate", "machine")
# What every kernel depends on.
_OURS = ("liegeo._cache", "liegeo._jit", "liegeo._jit_entries", "liegeo._jit_plain")

# What these hold is known from their versions, or from `source_stamp`.
_KNOWN = frozenset({"liegeo", "llvmlite", "math", "cmath", "numba", "numpy", "scipy"})
# Values that are what they look like.
_CONSTANTS = (bool, int, float, complex, str, bytes, NoneType, np.generic, np.dtype, types.Type)

# A folder of an older version of the sources that nobody has used for this long is deleted.
_KEEP_SECONDS = 14 * 24 * 3600

#: Numba's name for the event that it waits for another process, which compiles what is needed here too.
WAITING = "liegeo:waiting"

# Length of the digest that stands before the content of a cache file.
_SEAL = hashlib.sha256().digest_size


@functools.cache
def cache_folder(module: str) -> Path:
    """The folder of this version of a module's kernels; `liegeo` may be deleted there at any time."""
    root = Path(os.environ.get("LIEGEO_CACHE_DIR") or user_cache_path("liegeo")) / "kernels"
    folder = root / source_stamp(module)
    # as new: `_delete_unused` takes what nobody reads
    with contextlib.suppress(OSError):
        os.utime(folder)
    return folder


def is_cold(module: str) -> bool:
    """Nothing of this version of a module's kernels has been compiled on this machine."""
    return not numba.config.DISABLE_JIT and not cache_folder(module).exists()


@functools.cache
def source_stamp(module: str) -> str:
    """A digest of the text of every source file that can end up inside a kernel of this module.

    Of one of ours these are what it imports, and what that imports; of anybody else's, all.
    """
    sources = _sources()
    found, wanted = set(_OURS), [module] if module in sources else list(sources)
    while wanted:
        name = wanted.pop()
        if name in sources and name not in found:
            found.add(name)
            wanted += sources[name].imports
    digest = hashlib.sha256()
    for name in sorted(found):
        digest.update(f"{name}\0{sources[name].digest}\0".encode())
    return digest.hexdigest()[:16]


class _Source(NamedTuple):
    """A digest of the text of a module, and the names of ours that it may import."""

    digest: str
    imports: list[str]


@functools.cache
def _sources() -> dict[str, _Source]:
    """Return every module whose machine code can end up inside a kernel."""
    package = Path(__file__).parent
    files = [package / f"{name.removeprefix('liegeo.')}.py" for name in _OURS]
    for folder in COMPILED_PACKAGES:
        files += sorted((package / folder).rglob("*.py"))
    names = (("liegeo", *file.relative_to(package).with_suffix("").parts) for file in files)
    out = {}
    for name, file in zip(names, files, strict=True):
        text = file.read_bytes()
        digest = hashlib.sha256(text).hexdigest()
        out[".".join(name).removesuffix(".__init__")] = _Source(digest, _imports(text.decode("utf-8")))
    return out


def _imports(text: str) -> list[str]:
    """The names of ours that a source may import: modules, and things inside them, which are no modules."""
    out: list[str] = []
    # most lines are something else
    if "liegeo" not in text:
        return out
    for base, names in re.findall(r"^[ \t]*from (liegeo[\w.]*) import (\([^)]*\)|.*)$", text, re.MULTILINE):
        out += [base, *(f"{base}.{name}" for name in re.findall(r"\w+", names))]
    return out


def _identity(function: Callable[..., Any], above: tuple[Any, ...] = ()) -> str | None:
    """A digest of what a function is: its code, the constants it uses, and the functions it calls or closes over.

    `source_stamp` covers our own files; this covers a user's functions, and factories that make several from one text.
    `above` are the functions that led here, so that one that calls itself comes to an end.  None if the function uses
    something of which nobody knows whether it will be the same tomorrow.
    """
    code = function.__code__
    above = (*above, function)
    parts = [function.__module__, function.__qualname__, str(code.co_firstlineno), _text(code)]
    values = [cell.cell_contents for cell in function.__closure__ or ()]
    # what stands in the modules of ours that hold kernels, `source_stamp` knows
    for name in () if function.__module__ in _sources() else code.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType) and not _is_known(value.__name__):
            values += [getattr(value, attribute, None) for attribute in code.co_names]
        else:
            values.append(value)
    for value in values:
        part = _mark(value, above)
        if part is None:
            return None
        parts.append(part)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _mark(value: Any, above: tuple[Any, ...]) -> str | None:
    """What tells a value that a function uses from others; None if nothing does."""
    cache = getattr(value, "_cache", None)
    if isinstance(cache, KernelCache):
        return cache.identity if cache.lasting else None
    # of a function that Numba compiled, or that makes code for it, the one that was written
    written = getattr(value, "py_func", getattr(value, "_defn", value))
    if isinstance(written, FunctionType):
        return "" if written in above or _is_known(written.__module__) else _identity(written, above)
    if isinstance(value, tuple):
        marks = [_mark(item, above) for item in value]
        return None if None in marks else f"{type(value).__name__} {marks}"
    if isinstance(value, np.ndarray):
        # Numba builds arrays from outside into the code, as constants
        return f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, _CONSTANTS):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, ModuleType | type | BuiltinFunctionType | np.ufunc):
        return str(value.__name__)
    return None


def _text(code: CodeType) -> str:
    """What a function was compiled to by Python, with those inside it."""
    inside = (_text(c) if isinstance(c, CodeType) else f"{type(c).__name__} {c!r}" for c in code.co_consts)
    return " ".join([code.co_code.hex(), *code.co_names, *inside])


def _is_known(module: str | None) -> bool:
    """Whether `source_stamp`, or the version of a package, says what a module holds."""
    return (module or "").split(".")[0] in _KNOWN


@functools.cache
def announce() -> None:
    """Say once why nothing seems to happen."""
    if sys.stderr is not None:
        sys.stderr.write(
            "liegeo: compiling kernels for this machine, half a minute or more; from then on they come from a cache.\n"
        )
        sys.stderr.flush()


def _is_own(found: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user, and nobody else may write to it."""
    if not hasattr(os, "geteuid"):
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _is_trusted(path: Path, found: os.stat_result) -> bool:
    """Whether what a file or folder of the cache holds may be run; if not, the user is told once."""
    if _is_own(found):
        return True
    _warn_of_others(str(path))
    return False


_warned: list[str] = []


def _warn_of_others(path: str) -> None:
    if _warned:
        return
    _warned.append(path)
    if sys.stderr is not None:
        sys.stderr.write(
            f"liegeo: {path} belongs to another user, or others may write to it: compiled kernels are not taken from "
            "there, and are compiled anew in every process.\n"
            "  Delete it, or set LIEGEO_CACHE_DIR to a folder of your own that only you can write to.\n"
        )
        sys.stderr.flush()


class KernelCache:
    """What became of one function, each in a file named by a digest of what it was made from."""

    def __init__(self, function: Callable[..., Any], name: str = "", options: str = "") -> None:
        self._module = function.__module__
        identity = _identity(function)
        #: whether a later process can know that it is the same
        self.lasting = identity is not None
        self.identity = f"{source_stamp(self._module)} {identity or uuid.uuid4().hex} {options}"
        self._label = (name or f"{function.__module__}.{function.__qualname__}").replace("<locals>", "")

    @property
    def cache_path(self) -> str:
        """For Numba's statistics."""
        return str(cache_folder(self._module))

    @contextlib.contextmanager
    def alone(self, args: tuple[Any, ...], context: Any, patience: float) -> Iterator[None]:
        """Of all processes only one is in here, for one entry: two would compile the same."""
        path = self._path(args, context.codegen(), "lock")
        lock = FileLock(path)
        try:
            locked = _make_folder(path.parent)
            if locked:
                with trigger_event(WAITING):
                    lock.acquire(timeout=patience, poll_interval=0.02)
        except Timeout:
            raise
        except (OSError, NotImplementedError):
            locked = False
        if not locked:
            # Somebody else's folder, one that cannot be written, a disk without locks: then both compile.
            yield
            return
        try:
            yield
        finally:
            lock.release()
            # who waits for it has it open, and does not mind
            with contextlib.suppress(OSError):
                path.unlink()

    def load(self, args: tuple[Any, ...], context: Any, kind: str) -> tuple[Any, ...] | None:
        """Return what was saved under these types and this kind, or None."""
        if not self.lasting:
            return None
        payload = private_file(self._path(args, context.codegen(), kind))
        if payload is None:
            if sys.stderr is not None and sys.stderr.isatty():
                announce()
            return None
        # Nothing is unpickled, let alone run, that is not what was written.
        return tuple(pickle.loads(payload))

    def save(self, args: tuple[Any, ...], codegen: Any, kind: str, parts: tuple[Any, ...]) -> None:
        """Keep what can be loaded again."""
        if not self.lasting:
            return
        # late, for what only loads does without
        from numba.core.serialize import dumps

        private_file(self._path(args, codegen, kind), dumps(parts))

    def symbol(self, args: tuple[Any, ...], codegen: Any) -> str:
        """The name by which machine code finds the entry, the same in every process."""
        return f"liegeo.{self._label}-{self._digest(args, codegen)}"

    def _path(self, args: tuple[Any, ...], codegen: Any, kind: str) -> Path:
        return cache_folder(self._module) / f"{self._label}-{self._digest(args, codegen)}.{kind}"

    def _digest(self, args: tuple[Any, ...], codegen: Any) -> str:
        parts = (self.identity, repr(args), repr(codegen.magic_tuple()), numba.__version__, sys.version)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def private_file(path: Path, content: bytes | None = None) -> bytes | None:
    """Return what a file of the cache holds, None if there is none to be trusted; or write it there."""
    seal = hashlib.sha256
    if content is None:
        try:
            with path.open("rb") as file:
                trusted = _is_trusted(path.parent, path.parent.stat()) and _is_trusted(path, os.fstat(file.fileno()))
                found = file.read() if trusted else b""
        except OSError:
            return None
        return found[_SEAL:] if found and seal(found[_SEAL:]).digest() == found[:_SEAL] else None
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
    with contextlib.suppress(OSError):
        if _make_folder(path.parent):
            try:
                with open(temporary, "xb", opener=_private) as file:
                    file.write(seal(content).digest() + content)
                temporary.replace(path)
            except OSError:
                # A read-only home or a full disk costs a compilation next time, not a result now.
                temporary.unlink(missing_ok=True)
    return content


def _private(path: str, flags: int) -> int:
    """Open a file that only its owner may read and write, whatever the umask."""
    return os.open(path, flags, 0o600)


def _make_folder(folder: Path) -> bool:
    """Make a folder for its owner alone, and those above it; False if it is there already and not to be trusted."""
    if not folder.exists():
        _delete_unused(folder.parent)
        missing = [folder, *(above for above in folder.parents if not above.exists())]
        for each in reversed(missing):
            each.mkdir(mode=0o700, exist_ok=True)
    return _is_trusted(folder, folder.stat())


def _delete_unused(root: Path) -> None:
    """Delete the folders of other versions of the sources that nobody used for a fortnight."""
    if not root.exists():
        return
    for folder in root.iterdir():
        # LIEGEO_CACHE_DIR may hold other people's folders: only names that `source_stamp` makes are ours.
        if (
            re.fullmatch("[0-9a-f]{16}", folder.name)
            and folder.is_dir()
            and time.time() - folder.stat().st_mtime > _KEEP_SECONDS
        ):
            shutil.rmtree(folder, ignore_errors=True)
