"""Archives of whatever origin, read within bounds: zip files (FMUs, SSP archives) and gzip files.

No other module opens one.  An archive is refused, with a message, if it is damaged, encrypted or compressed in another
way than FMI and SSP allow; if it has a member whose name could lead out of a folder or means two things; and if it
unpacks to more than a machine can be expected to hold:

- members: at most MEMBERS;
- bytes: at most BYTES in all;
- ratio: where it unpacks to more than FREE bytes, at most RATIO times the size of the file.  Deflate packs nothing by
  more than about 1030; libraries and text come to 2 … 20.

The environment variable LIEGEO_UNPACK_LIMIT, a number of megabytes, takes the place of the last two.

    with Archive("arm.fmu", "FMU") as archive:
        text = archive.read("modelDescription.xml")
    with unpacked("arm.fmu", "FMU") as folder:
        ...
"""

from __future__ import annotations

import contextlib
import gzip
import io
import math
import os
import re
import secrets
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Self

from liegeo.errors import InputError

MEMBERS = 20_000
BYTES = 2 * 2**30
FREE = 64 * 2**20
RATIO = 200
#: The largest member that is read on its own, into memory or by a parser.
READ = 256 * 2**20
LIMIT = "LIEGEO_UNPACK_LIMIT"

_PIECE = 2**20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 1
_LONGEST_NAME, _LONGEST_PATH = 255, 1000
# All members of an archive of ours have one time, so that the same content gives the same bytes.
_TIME = (1980, 1, 1, 0, 0, 0)

FilePath = str | os.PathLike[str]


class ArchiveError(InputError):
    """An archive cannot be read: `problem` is the message without the name of the file."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"'{name}' {problem}")
        self.problem = problem


def _megabytes(n: float) -> str:
    return f"{n / 2**20:,.0f} MB" if n >= 2**20 else f"{n:.0f} bytes"


def _allowed(size: int) -> float:
    """Return how many bytes a file of that size may unpack to."""
    text = os.environ.get(LIMIT, "").strip()
    if not text:
        return min(BYTES, max(FREE, RATIO * size))
    try:
        limit = float(text)
    except ValueError:
        limit = math.nan
    if not limit > 0.0:
        raise InputError(f"{LIMIT} is '{text}', expected a number of megabytes > 0.")
    return limit * 2**20


def _too_much(size: int) -> str:
    return (
        f"unpacks to more than {_megabytes(_allowed(size))}, from {_megabytes(size)}; expected less.\n"
        f"  If it is meant to be so large, allow it by the environment variable {LIMIT}, in megabytes."
    )


def _shown(name: str) -> str:
    """Return a name for a message: control characters escaped, the middle of a long one left out."""
    text = repr(name)
    return text if len(text) <= 90 else f"{text[:60]}…{text[-25:]}"


def _fault(name: str) -> str:
    """Return what is wrong with the name of a member; "" if nothing is."""
    parts = name.removesuffix("/").split("/")
    if not name.isprintable():
        return "characters that cannot be printed"
    if "\\" in name:
        return "a backslash, expected forward slashes"
    if name.startswith("/") or re.match(r"[A-Za-z]:", name):
        return "an absolute path, expected a relative one"
    if any(part in ("", ".", "..") for part in parts):
        return "an empty part, '.' or '..', expected names of folders"
    if ":" in name:
        return "a colon, expected a path without drives and devices"
    try:
        lengths = [len(part.encode()) for part in parts]
    except UnicodeEncodeError:
        return "characters that are not Unicode"
    if max(lengths) > _LONGEST_NAME or sum(lengths) + len(parts) > _LONGEST_PATH:
        return f"more than {_LONGEST_NAME} bytes in a part or {_LONGEST_PATH} in all"
    return ""


class Archive:
    """A zip file that was checked: every name, every size, every kind of member.  `what` is its kind, for messages."""

    def __init__(self, path: FilePath, what: str = "archive") -> None:
        self.path = Path(path)
        self._what = what
        self._stack = contextlib.ExitStack()
        try:
            with self._told():
                status = self.path.stat()
                if not stat.S_ISREG(status.st_mode):
                    raise self._refuse(f"is not a file, expected an {what}.")
                self._size = status.st_size
                self._zip = self._stack.enter_context(zipfile.ZipFile(self.path))
                self._check()
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Turn every error of zipfile and zlib into a message."""
        try:
            yield
        except InputError:
            raise
        except OSError as error:
            raise ArchiveError(self.path.name, f"cannot be read: {error.strerror or error}.") from None
        except zipfile.BadZipFile as error:
            raise ArchiveError(self.path.name, f"is no {self._what}: {_line(error)}.") from None
        except Exception as error:
            # of zlib, struct, codecs and zipfile, where the file says what no archive can mean
            raise ArchiveError(self.path.name, f"is damaged: {_line(error)}.") from None

    def _refuse(self, text: str) -> ArchiveError:
        return ArchiveError(self.path.name, text)

    def _check(self) -> None:
        listed = self._zip.infolist()
        if len(listed) > MEMBERS:
            raise self._refuse(f"has {len(listed)} members, expected at most {MEMBERS}.")
        self._members: dict[str, zipfile.ZipInfo] = {}
        total, allowed = 0, _allowed(self._size)
        for member in listed:
            # zipfile cuts names at a zero byte
            name = member.orig_filename
            if fault := _fault(name):
                raise self._refuse(f"has a member {_shown(name)}, which has {fault}.")
            mode = member.external_attr >> 16
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise self._refuse(f"has a member {_shown(name)}, which is a link or a device, expected files.")
            if member.flag_bits & _ENCRYPTED:
                raise self._refuse(f"has an encrypted member {_shown(name)}, expected one without a password.")
            if member.compress_type not in _METHODS:
                raise self._refuse(
                    f"has a member {_shown(name)} of compression method {member.compress_type}, "
                    "expected 0 (stored) or 8 (deflated)."
                )
            total += member.file_size
            if total > allowed:
                raise self._refuse(_too_much(self._size))
            if name in self._members:
                raise self._refuse(f"has two members {_shown(name)}, expected one.")
            self._members[name] = member
        files = {name for name in self._members if not name.endswith("/")}
        for name in self._members:
            parts = name.removesuffix("/").split("/")
            folders = parts if name.endswith("/") else parts[:-1]
            for k in range(1, len(folders) + 1):
                if (folder := "/".join(folders[:k])) in files:
                    raise self._refuse(f"has a member {_shown(folder)} that is a file and a folder, expected one.")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all files in it."""
        return tuple(name for name in self._members if not name.endswith("/"))

    def read(self, name: str) -> bytes:
        """Return the content of a member."""
        self._check_one(name)
        with self._told():
            return self._zip.read(self._members[name])

    def _check_one(self, name: str) -> None:
        if name not in self._members:
            raise self._refuse(f"has no {name}, expected an {self._what}.")
        size = self._members[name].file_size
        if size > READ:
            raise self._refuse(f"has {name} of {_megabytes(size)}, expected at most {_megabytes(READ)}.")

    def extract(self, folder: Path, names: Iterable[str] | None = None) -> None:
        """Write all files, or the small ones that are named, into a folder; if one fails, none is left there."""
        chosen = self.names if names is None else tuple(names)
        for name in chosen if names is not None else ():
            self._check_one(name)
        written: list[Path] = []
        try:
            for name in chosen:
                target = folder.joinpath(*name.split("/"))
                with self._told():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with self._zip.open(self._members[name]) as source, target.open("xb") as into:
                        written.append(target)
                        shutil.copyfileobj(source, into, _PIECE)
        except BaseException:
            for path in written:
                path.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def unpacked(path: FilePath, what: str, names: Iterable[str] | None = None) -> Iterator[Path]:
    """Unpack an archive, or those files of it, into a temporary folder; it is removed at the end."""
    with Archive(path, what) as archive:
        folder = Path(tempfile.mkdtemp(prefix="liegeo_"))
        try:
            archive.extract(folder, names)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def write_zip(path: FilePath, content: Mapping[str, bytes]) -> None:
    """Write an archive of these files, sorted; whole or not at all.  The same content gives the same bytes.

    Machine code, in `binaries`, gets by a fifth of the work no more than a twentieth larger, and is most of an FMU.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in sorted(content):
                entry = zipfile.ZipInfo(name, _TIME)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = (0o755 if name.startswith("binaries/") else 0o644) << 16
                archive.writestr(entry, content[name], compresslevel=6 if name.startswith("binaries/") else 9)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def gunzip(data: bytes, name: str) -> bytes:
    """Return what the bytes of a gzip file unpack to; `name` is the file's, for messages."""
    allowed, out = _allowed(len(data)), io.BytesIO()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as source:
            while piece := source.read(_PIECE):
                out.write(piece)
                if out.tell() > allowed:
                    raise ArchiveError(name, _too_much(len(data)))
    except (OSError, EOFError, zlib.error) as error:
        raise ArchiveError(name, f"is not a whole gzip file: {error}.") from None
    return out.getvalue()


def gzipped(data: bytes) -> bytes:
    """Return a gzip file of these bytes; the same bytes give the same file."""
    return gzip.compress(data, 6, mtime=0)
