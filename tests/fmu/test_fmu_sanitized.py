"""The C of native FMUs with sanitizers for memory and for undefined behaviour, under calls in any order.

Kernels are those of the library, which LLVM made: sanitizers see what the C does with memory, and what goes to kernels.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import fmpy
import pytest

import fmu_export
from fmu_export.native import kernels
from fmu_export.native import library as native
from fmu_export.native.data import header

HERE = Path(__file__).parent
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g1"]


def runtime(name):
    """Return the file of a library of sanitizers, or "" if there is none."""
    found = subprocess.run(
        [shutil.which("cc"), f"-print-file-name={name}"], capture_output=True, text=True
    ).stdout.strip()
    return found if Path(found).is_absolute() else ""


pytestmark = [
    pytest.mark.foreign,
    pytest.mark.skipif(
        not sys.platform.startswith("linux") or shutil.which("cc") is None or not runtime("libasan.so"),
        reason="no C compiler with sanitizers",
    ),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The library for Linux, its C compiled by the system with sanitizers."""
    here = tmp_path_factory.mktemp("sanitized")
    platform = native.PLATFORMS["linux64"]
    (slice_,) = platform.slices
    native._make_objects(platform, here, lambda done, of: None)
    (here / "machine.h").write_text(header(), encoding="utf-8")
    (here / "kernels.c").write_text(native._table(slice_, list(kernels.wanted().values())), encoding="utf-8")
    sources = [str(native.SOURCES / name) for name in native.PARTS]
    # objects of kernels are arrays of characters to the table
    options = [*SANITIZERS, "-std=gnu11", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-w"]
    command = [shutil.which("cc"), *options, f"-I{native.SOURCES}", f"-I{here}", *sources, str(here / "kernels.c")]
    made = here / "library.so"
    subprocess.run([*command, *map(str, here.glob("*.o")), "-o", str(made), "-lm"], check=True)
    return made.read_bytes()


def sanitized(fmu, library):
    """Put the library into an FMU."""
    with zipfile.ZipFile(fmu) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    name = next(name for name in content if name.endswith(".so"))
    assert b"__asan_init" in library
    with zipfile.ZipFile(fmu, "w") as archive:
        for each, text in (content | {name: library}).items():
            archive.writestr(each, text)
    return fmu


@pytest.mark.parametrize(("model", "calls"), [("double_pendulum", 20_000), ("sy16_four_bar", 2_000)])
def test_a_random_walk_in_fmi_2(library, tmp_path, model, calls):
    """Statuses are those of the standard too (walk.py)."""
    fmu = tmp_path / "x.fmu"
    fmu_export.build(f"models/{model}.yaml", fmu, native=True, platforms=["linux64"])
    sanitized(fmu, library)
    command = [sys.executable, str(HERE / "walk.py"), str(fmu), str(calls), "5"]
    preloaded = " ".join(runtime(name) for name in ("libasan.so", "libubsan.so"))
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path.cwd()),
        "LD_PRELOAD": preloaded,
        # Python itself is not free of leaks, and its memory is not ours to watch
        "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONMALLOC": "malloc",
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.mark.parametrize(("model", "calls"), [("double_pendulum", 100_000), ("sy16_four_bar", 5_000)])
def test_any_calls_in_fmi_3(library, tmp_path, model, calls):
    """With leaks looked for: whatever was called, what was freed is gone."""
    fmu = tmp_path / "x.fmu"
    fmu_export.build(f"models/{model}.yaml", fmu, native=True, fmi=3, platforms=["linux64"])
    sanitized(fmu, library)
    host, folder = tmp_path / "fuzz3", tmp_path / "fmu"
    command = [shutil.which("cc"), *SANITIZERS, "-O1", "-Wall", "-Wextra", str(HERE / "fuzz3.c"), "-o", str(host)]
    subprocess.run([*command, "-ldl"], check=True)
    fmpy.extract(str(fmu), unzipdir=str(folder))
    description = fmpy.read_model_description(str(fmu))
    listed = description.modelVariables
    given, shown = (
        next(v.valueReference for v in listed if v.causality == which and v.type == "Float64")
        for which in ("input", "output")
    )
    (made,) = folder.glob("binaries/*/*.so")
    words = [str(made), f"{folder / 'resources'}/", description.instantiationToken, str(calls), "7"]
    words += [str(given), str(shown), str(max(v.valueReference for v in listed))]
    done = subprocess.run([str(host), *words], capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr[-4000:])
    ok, _, _, wrong, fatal, heard = map(int, done.stdout.split())
    # it got somewhere, and was refused much
    assert ok > calls // 20
    assert wrong > calls // 20
    assert heard
    assert not fatal
