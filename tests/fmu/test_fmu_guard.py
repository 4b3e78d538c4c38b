"""The guard library: what is in the files for both systems, and that C and Python mean the same by what they share."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import re
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from fmus import mechanism_fmu

import fmu_export
from fmu_export import block, package, slave
from fmu_export.host import Instance, Unpacked
from liegeo.errors import InputError, SimulationError

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
GUARD = ROOT / "fmu_export/guard"


def portable_executable(data):
    """The names that a 64-bit DLL exports, and the libraries that it imports."""
    (head,) = struct.unpack_from("<I", data, 0x3C)
    assert data[:2] == b"MZ"
    assert data[head : head + 4] == b"PE\0\0"
    machine, n_sections = struct.unpack_from("<HH", data, head + 4)
    assert machine == 0x8664
    (optional_size,) = struct.unpack_from("<H", data, head + 20)
    optional = head + 24
    exports, _, imports, _ = struct.unpack_from("<IIII", data, optional + 112)
    sections = [
        struct.unpack_from("<IIII", data, optional + optional_size + 40 * k + 8) for k in range(n_sections)
    ]  # virtual size, virtual address, raw size, raw address

    def place(address):
        start, raw = next((s[1], s[3]) for s in sections if s[1] <= address < s[1] + max(s[0], s[2]))
        return address - start + raw

    def text(address):
        begin = place(address)
        return data[begin : data.index(b"\0", begin)].decode()

    n_names, _, names = struct.unpack_from("<III", data, place(exports) + 24)
    exported = {text(struct.unpack_from("<I", data, place(names) + 4 * k)[0]) for k in range(n_names)}
    libraries, entry = set(), place(imports)
    while any(data[entry : entry + 20]):
        libraries.add(text(struct.unpack_from("<I", data, entry + 12)[0]))
        entry += 20
    return exported, libraries


def test_both_libraries_have_all_functions():
    """Those of the standard's header, as fmpy ships it; of co-simulation and of model exchange, which is refused."""
    import fmpy

    header = (Path(fmpy.__file__).parent / "c-code" / "fmi2FunctionTypes.h").read_text("utf-8")
    wanted = set(re.findall(r"\b(fmi2\w+)TYPE\s*\(", header)) - {"fmi2Component"}
    assert {"fmi2DoStep", "fmi2GetDirectionalDerivative", "fmi2NewDiscreteStates"} < wanted
    exported, libraries = portable_executable((GUARD / "win64/guard.dll").read_bytes())
    assert exported == wanted
    # no run-time library of C
    assert {name.lower() for name in libraries} == {"kernel32.dll"}
    data = (GUARD / "linux64/guard.so").read_bytes()
    assert data[:5] == b"\x7fELF\x02"
    names = set(data.split(b"\0"))
    assert {name.encode() for name in wanted} <= names
    # older than what pythonfmu's library needs
    versions = [tuple(map(int, v.split(b"."))) for v in re.findall(rb"\0GLIBC_([\d.]+)", data)]
    assert versions
    assert max(versions) <= (2, 17)


def test_what_is_shared_is_the_same():
    """Numbers and the order of fields, in C and in Python."""
    sources = (GUARD / "fmu.h").read_text("utf-8") + (GUARD / "python.c").read_text("utf-8")
    text = re.sub(r"/\*.*?\*/", "", sources, flags=re.DOTALL)
    fields = re.search(r"typedef struct \{([^}]*)\} Block;", text)[1]
    found = re.findall(r"(\w+)\s*[,;]", fields)
    assert found == [name for name, *_ in block.Block._fields_]
    enums = [re.findall(r"(\w+)(?: = (\d+))?", body) for body in re.findall(r"enum \{([^}]*)\};", text)]
    by_first = {names[0][0]: names for names in enums}
    modes = {name: int(value) for name, value in by_first["NEW"] if name != "DEAD"}
    assert modes == {mode.name: mode.value for mode in block.Mode}
    kinds = {name.removeprefix("IS_"): int(value) for name, value in by_first["IS_REAL"]}
    assert kinds == {kind.name: kind.value for kind in block.VariableKind}
    asks = {name: int(value) for name, value in [*by_first["REFRESH"], *by_first["HEARD"]]}
    assert asks == {ask.name: ask.value for ask in block.Ask}
    assert int(re.search(r"MAGIC (0x\w+)u", text)[1], 16) == block.MAGIC
    assert int(re.search(r"CHANNEL (0x\w+)u", text)[1], 16) == block.CHANNEL


def test_a_library_of_another_version():
    fmu = slave.Slave.__new__(slave.Slave)
    fmu.log_queue, fmu._texts, fmu._block = [], {}, block.Block()
    for magic, size in ((1, 0), (0, 8)):
        # as the library hands it over
        other = block.Block(magic=block.MAGIC - magic, size=ctypes.sizeof(block.Block) + size, status=slave.ERROR)
        address = ctypes.addressof(other)
        fmu.set_integer([0, 1], [address & 0xFFFFFFFF, address >> 32])
        assert "do not belong together: make it anew" in fmu.log_queue.pop().msg
        assert other.status == slave.ERROR
        assert not other.n


def test_a_state_that_cannot_be_written():
    assert slave.Slave._fmu_state_to_bytes("it was not saved") == b""
    assert slave._BYTES.wrong == "the state cannot be written: it was not saved"
    slave._BYTES.wrong = ""


def test_a_tree_that_was_never_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(package, "_GUARD", tmp_path)
    with pytest.raises(InputError, match=r"the library of FMUs for linux64 is missing.*\n.*pip install -e \."):
        mechanism_fmu(tmp_path)
    assert not list(tmp_path.glob("*.fmu"))


def test_libraries_of_an_fmu(tmp_path):
    fmu = mechanism_fmu(tmp_path, "x")
    with zipfile.ZipFile(fmu) as archive:
        names = {name for name in archive.namelist() if name.startswith("binaries/")}
        assert archive.read("binaries/linux64/x.so") == (GUARD / "linux64/guard.so").read_bytes()
    assert names == {
        *("binaries/linux64/x.so", "binaries/linux64/pythonfmu-export.so"),
        *("binaries/win64/x.dll", "binaries/win64/pythonfmu-export.dll"),
    }


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the library for Linux is damaged")
def test_without_the_library_of_pythonfmu(tmp_path):
    fmu = mechanism_fmu(tmp_path, "x")
    with Unpacked(fmu) as unpacked:
        (unpacked.folder / "binaries/linux64/pythonfmu-export.so").unlink()
        with pytest.raises(SimulationError, match=r"error: .*pythonfmu-export\.so"):
            Instance(unpacked)
    assert len(fmu_export.run(fmu, 0.1)) == 11


_LOCATIONS = """
import ctypes, sys
from fmpy import fmi2
from fmu_export.host import Unpacked

def note(environment, name, status, category, message):
    messages.append((status, message.decode()))

messages = []
with Unpacked(sys.argv[1]) as unpacked:
    described = unpacked.description
    fmu = fmi2.FMU2Slave(guid=described.guid, unzipDirectory=str(unpacked.folder), instanceName="x",
                         modelIdentifier=described.coSimulation.modelIdentifier)
    callbacks = fmi2.fmi2CallbackFunctions()
    callbacks.logger = fmi2.fmi2CallbackLoggerTYPE(note)
    resources = unpacked.folder / "resources"
    name = (resources / "slavemodule.txt").read_text()

    def instance(location):
        messages.clear()
        return fmu.fmi2Instantiate(b"x", fmi2.fmi2CoSimulation, described.guid.encode(), location,
                                   ctypes.byref(callbacks), 0, 0)

    def refused(location):
        assert not instance(location), location
        (message,) = messages
        assert message[0] == 3 and message[1].startswith("fmi2Instantiate: fmuResourceLocation is "), message

    for location in (None, b"", b"file:", b"file://", b"file:///", b"/nowhere", b"file:///nowhere/resources", b".",
                     b"http://localhost/resources", b"fileX" + str(resources).encode(), b"file:///%", b"urn:x", b"C:",
                     (unpacked.folder / "modelDescription.xml").as_uri().encode(), unpacked.folder.as_uri().encode(),
                     b"ftp:/" + resources.as_uri()[7:].encode(), b"x" * 100_000):
        refused(location)
    for text in ("", "other", "\\n", "../" * 300):
        (resources / "slavemodule.txt").write_text(text)
        refused(resources.as_uri().encode())
    (resources / "slavemodule.txt").write_text(name)
    for location in (resources.as_uri(), "FILE://localhost" + resources.as_uri()[7:], str(resources)):
        component = instance(location.encode())
        assert component, messages
        fmu.fmi2FreeInstance(component)
print("all refused")
"""


def test_resources_that_are_not_there(tmp_path):
    """pythonfmu's library takes the host with it when it does not find its script."""
    fmu = mechanism_fmu(tmp_path, "x")
    command = [sys.executable, "-c", _LOCATIONS, str(fmu)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (run.returncode, run.stdout) == (0, "all refused\n"), run.stderr


def test_without_ziglang(tmp_path, monkeypatch):
    """One sentence, before anything is compiled."""
    monkeypatch.syspath_prepend(str(ROOT / "tools/build"))
    import guard

    monkeypatch.setattr(guard.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit) as stopped:
        guard.compile_guard(tmp_path)
    assert re.fullmatch(r"liegeo cannot be built: [^\n]*ziglang[^\n]*pip install 'ziglang>=0.13'", stopped.value.code)


def test_a_source_that_does_not_compile(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools/build"))
    import guard

    monkeypatch.setattr(guard.sys, "executable", shutil.which("false"))
    with pytest.raises(SystemExit, match=r"zig did not compile fmu_export/guard for linux64/guard\.so"):
        guard.compile_guard(tmp_path)


def test_a_library_that_is_none(tmp_path):
    """Told, and the working directory is what it was."""
    fmu, here = mechanism_fmu(tmp_path, "x"), Path.cwd()
    with Unpacked(fmu) as unpacked:
        for library in unpacked.folder.glob("binaries/*/x.*"):
            library.write_bytes(b"rubbish")
        with pytest.raises(SimulationError, match="FMU 'pendulum' cannot be loaded: "):
            Instance(unpacked)
    assert Path.cwd() == here


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="ziglang is not installed")
def test_the_same_source_gives_the_same_bytes(tmp_path, monkeypatch):
    """And what is installed is of this source."""
    monkeypatch.syspath_prepend(str(ROOT / "tools/build"))
    import guard

    (tmp_path / "fmu_export/guard").mkdir(parents=True)
    for source in (*GUARD.glob("*.c"), *GUARD.glob("*.h")):
        shutil.copy(source, tmp_path / "fmu_export/guard")
    guard.compile_guard(tmp_path)
    for name in ("linux64/guard.so", "win64/guard.dll"):
        assert (tmp_path / "fmu_export/guard" / name).read_bytes() == (GUARD / name).read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("wine") is None, reason="wine is not installed")
@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="ziglang is not installed")
def test_the_library_for_windows(tmp_path):
    """Under wine, with a host in C and something simple in place of pythonfmu's library."""
    cache = {"ZIG_GLOBAL_CACHE_DIR": str(tmp_path / "zig"), "ZIG_LOCAL_CACHE_DIR": str(tmp_path / "zig")}
    common = [
        "cc",
        "-target",
        "x86_64-windows-gnu",
        "-nostdlib",
        "-O1",
        "-fno-builtin",
        "-Wno-deprecated-non-prototype",
    ]
    place = tmp_path / "ünit folder"
    place.mkdir()
    for source, made, options in (("inner", "pythonfmu-export.dll", ["-shared"]), ("host", "host.exe", ["-lkernel32"])):
        files = [str(HERE / "windows" / f"{source}.c"), "-o", str(place / made)]
        command = [sys.executable, "-m", "ziglang", *common, *files, *options]
        subprocess.run(command, env={**os.environ, **cache}, check=True)
    shutil.copy(GUARD / "win64/guard.dll", place / "fmu.dll")
    environment = {**os.environ, "WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all"}
    run = functools.partial(subprocess.run, cwd=place, env=environment, capture_output=True, timeout=300)
    assert run(["wine", "host.exe", "fmu.dll"]).returncode == 0
    # the host says what is wrong, and the FMU does not come up without the other library
    assert run(["wine", "host.exe", "none.dll"]).returncode == 1
    (place / "pythonfmu-export.dll").unlink()
    assert run(["wine", "host.exe", "fmu.dll"]).returncode == 4
