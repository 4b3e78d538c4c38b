"""The library of native FMUs: kernels and the C of the FMI layer, linked by zig, one file per platform.

It is made when it is first needed and kept in the cache of kernels: a library per version of the sources.  Processors
of the x86 family have it twice inside, with fused multiply-add and without, and the one that fits is chosen when an
instance is made: both results are right, and those of the first are this process's, to the bit.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from fmu_export.native import kernels
from fmu_export.native.data import header
from liegeo._cache import cache_folder, private_file
from liegeo._jit_export import STAMP, Target, Wanted, object_code, with_jumps
from liegeo.errors import InputError

_SOURCES = Path(__file__).parents[1] / "guard"
_PARTS = (
    *("native.c", "native_data.c", "native_record.c", "native_words.c", "native_parameters.c", "native_state.c"),
    *("fmi2.c", "fmi3.c", "life.c", "variables.c", "variables3.c", "words.c", "number.c", "system.c"),
)
_HEADERS = ("fmu.h", "faces.h", "native.h", "number.h", "system.h")


class KindOfCode(NamedTuple):
    """Objects of one kind in a library: the target, and what their names begin with."""

    target: Target
    prefix: str


class Platform(NamedTuple):
    """A file of an FMU: its folder in FMI 2.0 and in 3.0, its ending, zig's target, and the kinds of objects in it."""

    folder: str
    folder3: str
    ending: str
    zig: str
    parts: tuple[KindOfCode, ...]
    options: tuple[str, ...] = ()


_LINUX = "x86_64-unknown-linux-gnu"
# With fused multiply-add and without: what all others are optimised like.
_V3, _V1 = Target("linux64-v3", _LINUX, "x86-64-v3"), Target("linux64-v1", _LINUX, "x86-64")
_WINDOWS = "x86_64-w64-windows-gnu"

PLATFORMS = {
    "linux64": Platform(
        "linux64",
        "x86_64-linux",
        ".so",
        "x86_64-linux-gnu.2.17",
        (KindOfCode(_V3, "v3_"), KindOfCode(_V1, "v1_")),
        ("-fPIC", "-Wl,-Bsymbolic", "-Wl,--gc-sections", "-Wl,-z,defs", "-lm"),
    ),
    "aarch64-linux": Platform(
        "aarch64-linux",
        "aarch64-linux",
        ".so",
        "aarch64-linux-gnu.2.17",
        (KindOfCode(Target("aarch64-linux", "aarch64-unknown-linux-gnu", "generic", _V3), "v3_"),),
        ("-fPIC", "-Wl,-Bsymbolic", "-Wl,--gc-sections", "-Wl,-z,defs", "-lm"),
    ),
    "win64": Platform(
        "win64",
        "x86_64-windows",
        ".dll",
        "x86_64-windows-gnu",
        (
            KindOfCode(Target("win64-v3", _WINDOWS, "x86-64-v3", _V3), "v3_"),
            KindOfCode(Target("win64-v1", _WINDOWS, "x86-64", _V1), "v1_"),
        ),
        (
            *("-nostdlib", "-fno-builtin", "-lkernel32"),
            *("-lapi-ms-win-crt-math-l1-1-0", "-lapi-ms-win-crt-private-l1-1-0"),
        ),
    ),
}

_COMMON = ("-std=gnu11", "-O2", "-g0", "-s", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra")


def library(platform: str, progress: Callable[[int, int], None] | None = None) -> bytes:
    """Return the library for a platform, from the cache or made now; `progress` hears of parts done, of so many."""
    if platform not in PLATFORMS:
        raise InputError(f"native FMU: there is no platform '{platform}'; there are {', '.join(PLATFORMS)}.")
    target = PLATFORMS[platform]
    kept = cache_folder("fmu_export.native") / f"{platform}-{_digest(target)}{target.ending}"
    found = private_file(kept)
    if found is None:
        found = _link(target, progress or (lambda done, of: None))
        private_file(kept, found)
    return found


def _digest(platform: Platform) -> str:
    """Return what tells a library from others of the same kernels."""
    digest = hashlib.sha256(f"{platform} {header()} {STAMP}".encode())
    for name in (*_PARTS, *_HEADERS):
        digest.update((_SOURCES / name).read_bytes())
    for package in ("numba", "llvmlite"):
        digest.update(importlib.metadata.version(package).encode())
    return digest.hexdigest()[:16]


def _link(platform: Platform, progress: Callable[[int, int], None]) -> bytes:
    if importlib.util.find_spec("ziglang") is None:
        raise InputError(
            "native FMU: the Python package ziglang, which links libraries, is not installed.\n"
            "  Install it: pip install 'liegeo[native]'. It is needed once per version of liegeo and platform."
        )
    with tempfile.TemporaryDirectory(prefix="liegeo_native_") as folder:
        here = Path(folder)
        files = _objects(platform, list(_by_name()), here, progress)
        (here / "machine.h").write_text(header(), encoding="utf-8")
        (here / "kernels.c").write_text(_table(platform, list(kernels.wanted().values())), encoding="utf-8")
        made = here / f"library{platform.ending}"
        command = [
            *(sys.executable, "-m", "ziglang", "cc", *_COMMON, "-target", platform.zig, f"-I{_SOURCES}", f"-I{here}"),
            *(str(_SOURCES / name) for name in _PARTS),
            *(str(here / "kernels.c"), *map(str, files), "-o", str(made), *platform.options),
        ]
        environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(here), "ZIG_LOCAL_CACHE_DIR": str(here)}
        run = subprocess.run(command, env=environment, capture_output=True, text=True)
        if run.returncode:
            raise InputError(f"native FMU: zig did not link the library for {platform.folder}:\n{run.stderr[-4000:]}")
        return made.read_bytes()


def _objects(
    platform: Platform, names: Sequence[str], folder: Path, progress: Callable[[int, int], None]
) -> list[Path]:
    """Write the objects of all kinds into a folder; what was translated before is in the cache."""
    work = _work(platform, names)
    files: dict[int, Path] = {}
    workers = os.cpu_count() or 1
    # Other processes fill the cache beside this one; if they cannot, this one does all.
    command = [sys.executable, "-m", "fmu_export.native.library", platform.folder]
    others = [
        subprocess.Popen([*command, str(k), str(workers)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for k in range(1, workers)
    ]
    try:
        # one's own share first, then what others did meanwhile, or did not
        for k in sorted(range(len(work)), key=lambda k: k % workers):
            if k % workers:
                for other in others:
                    other.wait()
            part, name = work[k]
            files[k] = folder / f"{part.prefix}{name}.o"
            files[k].write_bytes(object_code(_by_name()[name], part.target, part.prefix))
            progress(len(files), len(work))
    finally:
        for other in others:
            other.kill()
            other.wait()
    return [files[k] for k in range(len(work))]


def _work(platform: Platform, names: Sequence[str]) -> list[tuple[KindOfCode, str]]:
    return [(part, name) for part in platform.parts for name in names]


def _translate_share(platform: str, worker: int, workers: int) -> None:
    """Put every so-manieth object of a library into the cache: what a process beside the first does."""
    work = _work(PLATFORMS[platform], list(_by_name()))
    for part, name in work[worker::workers]:
        object_code(_by_name()[name], part.target, part.prefix)


@functools.cache
def _by_name() -> dict[str, Wanted]:
    """Return all kernels of a library, with those that they jump to."""
    return {one.name: one for one in with_jumps(kernels.wanted().values())}


def _table(platform: Platform, wanted: Sequence[Wanted]) -> str:
    """Return the C source of the tables of kernels, one per kind of objects, by name."""
    lines = ['#include "native.h"']
    for part in platform.parts:
        lines += [f"extern char {part.prefix}{one.name}[];" for one in wanted]
        rows = "".join(f'    {{"{one.name}", {part.prefix}{one.name}}},\n' for one in wanted)
        lines.append(f"static const Kernel {part.prefix}kernels[] = {{\n{rows}    {{0, 0}}}};")
    tables = ", ".join(f"{part.prefix}kernels" for part in platform.parts)
    lines.append(f"const Kernel *const kernels[] = {{{tables}}};")
    lines.append(f"const int kinds_of_code = {len(platform.parts)};")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    _translate_share(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
