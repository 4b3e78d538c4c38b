"""The library of native FMUs: kernels and the C of the FMI layer, linked by zig, one file per platform.

It comes with liegeo, if a release has it (tools/build/native.py), or is made when it is first needed and kept in the
cache of kernels: a library per version of the sources.  Processors
of the x86 family have it twice inside, with fused multiply-add and without, and the one that fits is chosen when an
instance is made: both results are right, and those of the first are this process's, to the bit.  The second is made
for size.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from fmu_export.native import kernels
from fmu_export.native.data import header
from liegeo._cache import cache_folder, private_file, source_stamp
from liegeo._jit_export import STAMP, Target, Wanted, object_code, prepared, with_jumps
from liegeo.errors import InputError

SOURCES = Path(__file__).parents[1] / "guard"
#: Libraries that a release brings along.
SHIPPED = Path(__file__).parent / "libraries"
PARTS = (
    *("native.c", "native_data.c", "native_record.c", "native_words.c", "native_parameters.c", "native_program.c"),
    *("native_state.c", "native_exchange.c", "fmi2.c", "exchange.c", "variables.c", "fmi3.c", "exchange3.c"),
    *("variables3.c", "start_values.c", "life.c", "words.c", "number.c", "system.c"),
)
HEADERS = ("fmu.h", "faces.h", "native.h", "number.h", "system.h")


class KindOfCode(NamedTuple):
    """An object in a library: the target, and what the names of its kernels begin with."""

    target: Target
    prefix: str


class Slice(NamedTuple):
    """A library for one processor: its folder in FMI 3.0, zig's target, the kinds of objects, options of the link."""

    folder3: str
    zig: str
    parts: tuple[KindOfCode, ...]
    options: tuple[str, ...] = ()


class Platform(NamedTuple):
    """A file of an FMU: its folder in FMI 2.0 and ending, and its slices; of more than one it is a universal file."""

    folder: str
    ending: str
    slices: tuple[Slice, ...]


_LINUX = "x86_64-unknown-linux-gnu"
# With fused multiply-add, and without for processors of before 2013: what all others are optimised like.
_V3, _V1 = Target("linux64-v3", _LINUX, "x86-64-v3"), Target("linux64-v1", _LINUX, "x86-64", small=True)
_ELF = ("-fPIC", "-Wl,-Bsymbolic", "-Wl,--gc-sections", "-Wl,-z,defs", "-lm")


def _like_linux(name: str, triple: str) -> tuple[KindOfCode, ...]:
    """Return both kinds of code for another system on processors of the x86 family."""
    kinds = ((_V3, "x86-64-v3", "v3"), (_V1, "x86-64", "v1"))
    return tuple(
        KindOfCode(Target(f"{name}-{kind}", triple, cpu, like, like.small), f"{kind}_") for like, cpu, kind in kinds
    )


def _like_v3(name: str, triple: str, cpu: str) -> tuple[KindOfCode, ...]:
    """Return the one kind of code for ARM, which has fused multiply-add."""
    return (KindOfCode(Target(name, triple, cpu, _V3), "v3_"),)


PLATFORMS = {
    "linux64": Platform(
        "linux64",
        ".so",
        (Slice("x86_64-linux", "x86_64-linux-gnu.2.17", (KindOfCode(_V3, "v3_"), KindOfCode(_V1, "v1_")), _ELF),),
    ),
    "win64": Platform(
        "win64",
        ".dll",
        (
            Slice(
                "x86_64-windows",
                "x86_64-windows-gnu",
                _like_linux("win64", "x86_64-w64-windows-gnu"),
                (
                    *("-nostdlib", "-fno-builtin", "-lkernel32"),
                    *("-lapi-ms-win-crt-math-l1-1-0", "-lapi-ms-win-crt-private-l1-1-0"),
                ),
            ),
        ),
    ),
    # FMI 2.0 has one folder for both processors
    "darwin64": Platform(
        "darwin64",
        ".dylib",
        (
            Slice("x86_64-darwin", "x86_64-macos.11.0", _like_linux("macos", "x86_64-apple-macosx11.0.0")),
            Slice(
                "aarch64-darwin", "aarch64-macos.11.0", _like_v3("macos-arm64", "arm64-apple-macosx11.0.0", "apple-m1")
            ),
        ),
    ),
    "aarch64-linux": Platform(
        "aarch64-linux",
        ".so",
        (
            Slice(
                "aarch64-linux",
                "aarch64-linux-gnu.2.17",
                _like_v3("aarch64-linux", "aarch64-unknown-linux-gnu", "generic"),
                _ELF,
            ),
        ),
    ),
}

_COMMON = (
    *("-std=gnu11", "-O2", "-g0", "-s", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra"),
    *("-fno-unwind-tables", "-fno-asynchronous-unwind-tables"),
)


def library(platform: str, progress: Callable[[int, int], None] | None = None) -> bytes:
    """Return the library for a platform, from the cache or made now; `progress` hears of parts done, of so many."""
    if platform not in PLATFORMS:
        raise InputError(f"native FMU: there is no platform '{platform}'; there are {', '.join(PLATFORMS)}.")
    target = PLATFORMS[platform]
    with contextlib.suppress(OSError):
        return (SHIPPED / shipped_name(platform)).read_bytes()
    kept = cache_folder("fmu_export.native") / f"{platform}-{_digest(target)}{target.ending}"
    found = private_file(kept)
    if found is None:
        found = _link(target, progress or (lambda done, of: None))
        private_file(kept, found)
    return found


def shipped_name(platform: str) -> str:
    """Return the name of a library that comes with these sources.

    Numba's version is left out: who installs a release may have another one than made it, whose last bits may differ.
    """
    target = PLATFORMS[platform]
    return f"{platform}-{_hash(source_stamp('fmu_export.native'), _digest_of_sources(target))}{target.ending}"


def _digest(platform: Platform) -> str:
    """Return what tells a library from others of the same kernels."""
    return _hash(_digest_of_sources(platform), _versions())


def _digest_of_sources(platform: Platform) -> str:
    return _hash(
        str(platform), header(), _kernels_stamp(), *((SOURCES / name).read_text("utf-8") for name in (*PARTS, *HEADERS))
    )


def _kernels_stamp() -> str:
    """Return what tells objects from others of the same kernels and versions."""
    return _hash(STAMP, Path(kernels.__file__).read_text("utf-8"))


def _versions() -> str:
    return str([importlib.metadata.version(package) for package in ("numba", "llvmlite")])


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def _link(platform: Platform, progress: Callable[[int, int], None]) -> bytes:
    if importlib.util.find_spec("ziglang") is None:
        raise InputError(
            "native FMU: the Python package ziglang, which links libraries, is not installed.\n"
            "  Install it: pip install 'liegeo[native]'. It is needed once per version of liegeo and platform."
        )
    with tempfile.TemporaryDirectory(prefix="liegeo_native_") as folder:
        here = Path(folder)
        _make_objects(platform, here, progress)
        (here / "machine.h").write_text(header(), encoding="utf-8")
        made = [_link_slice(platform, slice_, here) for slice_ in platform.slices]
        return made[0] if len(made) == 1 else _universal(made)


def _link_slice(platform: Platform, slice_: Slice, here: Path) -> bytes:
    made, table = here / f"library{platform.ending}", here / "kernels.c"
    table.write_text(_table(slice_, list(kernels.wanted().values())), encoding="utf-8")
    objects = [_object_file(part, here) for part in slice_.parts]
    command = [
        *(sys.executable, "-m", "ziglang", "cc", *_COMMON, "-target", slice_.zig, f"-I{SOURCES}", f"-I{here}"),
        *(str(SOURCES / name) for name in PARTS),
        *(str(table), *map(str, objects), "-o", str(made), *slice_.options),
    ]
    environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(here), "ZIG_LOCAL_CACHE_DIR": str(here)}
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    if run.returncode:
        raise InputError(f"native FMU: zig did not link the library for {slice_.zig}:\n{run.stderr[-4000:]}")
    return made.read_bytes()


def _universal(slices: Sequence[bytes]) -> bytes:
    """Return a universal file of macOS: a header with kind of processor, place, size and alignment of each slice."""
    page = 14
    header_, content = struct.pack(">II", 0xCAFEBABE, len(slices)), b""
    start = 1 << page
    for one in slices:
        content += bytes(-len(content) % (1 << page))
        processor, variant = struct.unpack("<ii", one[4:12])
        header_ += struct.pack(">iiIII", processor, variant, start + len(content), len(one), page)
        content += one
    return header_ + bytes(start - len(header_)) + content


def files(platform: str, content: bytes, fmi: int) -> dict[str, bytes]:
    """Return by folder what the library of a platform is in an FMU; FMI 3.0 has a folder per processor."""
    target = PLATFORMS[platform]
    if fmi == 2:
        return {target.folder: content}
    if len(target.slices) == 1:
        return {target.slices[0].folder3: content}
    places = [struct.unpack_from(">II", content, 16 + 20 * k) for k in range(len(target.slices))]
    return {each.folder3: content[a : a + n] for each, (a, n) in zip(target.slices, places, strict=True)}


def _make_objects(platform: Platform, folder: Path, progress: Callable[[int, int], None]) -> None:
    """Write an object for each kind of code into the folder; kernels that were prepared before are in the cache."""
    kernels_of, objects = len(_to_prepare(platform)), len(_parts(platform))
    workers = os.cpu_count() or 1
    done = 0

    def heard() -> None:
        nonlocal done
        done += 1
        progress(done, kernels_of + objects)

    for stage in (_prepare_share, _translate_share):
        # other processes do their shares beside this one; what they cannot, this one does
        command = [sys.executable, "-m", "fmu_export.native.library", stage.__name__, platform.folder, str(folder)]
        others = [
            subprocess.Popen([*command, str(k), str(workers)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for k in range(1, workers)
        ]
        try:
            stage(platform, folder, 0, workers, heard)
            for k, other in enumerate(others, 1):
                other.wait()
                stage(platform, folder, k, workers, heard)
        finally:
            for other in others:
                other.kill()
                other.wait()


def _parts(platform: Platform) -> list[KindOfCode]:
    return [part for each in platform.slices for part in each.parts]


def _to_prepare(platform: Platform) -> list[tuple[KindOfCode, str]]:
    """Return the kernels to prepare, each with a kind of code that needs it so; kinds that are alike share them."""
    models = {(part.target.like or part.target, part.prefix): part for part in _parts(platform)}
    return [(part, name) for part in models.values() for name in _by_name()]


def _object_file(part: KindOfCode, folder: Path) -> Path:
    return folder / f"{part.target.name}.o"


def _prepare_share(platform: Platform, folder: Path, worker: int, workers: int, heard: Callable[[], None]) -> None:
    """Put every so-manieth kernel into the cache."""
    for part, name in _to_prepare(platform)[worker::workers]:
        prepared(_by_name()[name], part.target, part.prefix)
        heard()


def _translate_share(platform: Platform, folder: Path, worker: int, workers: int, heard: Callable[[], None]) -> None:
    """Write every so-manieth object, if it is not there."""
    for part in _parts(platform)[worker::workers]:
        file = _object_file(part, folder)
        if not file.exists():
            unfinished = file.with_suffix(f".{os.getpid()}.tmp")
            unfinished.write_bytes(_object(part))
            unfinished.replace(file)
        heard()


@functools.cache
def _by_name() -> dict[str, Wanted]:
    """Return all kernels of a library, with those that they jump to."""
    return {one.name: one for one in with_jumps(kernels.wanted().values())}


def _table(slice_: Slice, wanted: Sequence[Wanted]) -> str:
    """Return the C source of the tables of kernels, one per kind of objects, by name."""
    lines = ['#include "native.h"']
    for part in slice_.parts:
        lines += [f"extern char {part.prefix}{one.name}[];" for one in wanted]
        rows = "".join(f'    {{"{one.name}", {part.prefix}{one.name}}},\n' for one in wanted)
        lines.append(f"static const Kernel {part.prefix}kernels[] = {{\n{rows}    {{0, 0}}}};")
    tables = ", ".join(f"{part.prefix}kernels" for part in slice_.parts)
    lines.append(f"const Kernel *const kernels[] = {{{tables}}};")
    lines.append(f"const int kinds_of_code = {len(slice_.parts)};")
    return "\n".join(lines) + "\n"


def _object(part: KindOfCode) -> bytes:
    """Return all kernels as an object, from the cache or translated now."""
    digest = _hash(str(part), _kernels_stamp(), _versions())
    kept = cache_folder("fmu_export.native") / f"{part.target.name}-{digest}.o"
    found = private_file(kept)
    if found is None:
        found = object_code(_by_name().values(), part.target, part.prefix)
        private_file(kept, found)
    return found


def _work_beside(stage: str, platform: str, folder: str, worker: str, workers: str) -> None:
    """Do a share of a stage, for a process that links a library."""
    of_stage = {share.__name__: share for share in (_prepare_share, _translate_share)}[stage]
    of_stage(PLATFORMS[platform], Path(folder), int(worker), int(workers), lambda: None)


if __name__ == "__main__":
    _work_beside(*sys.argv[1:])
