"""The library of native FMUs for macOS.  No machine here can run it: its structure is read."""

from __future__ import annotations

import struct

import pytest

from fmu_export.native.library import library

pytestmark = pytest.mark.foreign

# Kinds of processors, load commands and flags of symbols of Mach-O files (mach/machine.h, mach-o/loader.h, nlist.h).
X86_64, ARM64 = 0x01000007, 0x0100000C
SYMBOLS, NEEDED, SIGNATURE = 0x2, 0xC, 0x1D
EXTERNAL, OF_DEBUGGERS, DEFINED = 0x01, 0xE0, 0x0E

# All that kernels and the C of the FMI layer may take from the system.
ALLOWED = {
    *("atan2", "ceil", "cos", "cosh", "exp", "fmod", "hypot", "log", "pow", "sin", "sinh", "tan", "tanh"),
    *("calloc", "free", "fopen", "fclose", "fread", "memcpy", "memset", "strlen", "bzero", "__bzero"),
    # sine and cosine together; what loads libraries; what fills memory with a number of eight bytes
    *("__sincos_stret", "dyld_stub_binder", "memset_pattern16"),
}


def text(content, start):
    return content[start : content.index(b"\0", start)].decode()


def slices(content):
    """Return the slices of a universal file, by kind of processor."""
    magic, n = struct.unpack_from(">II", content)
    assert magic == 0xCAFEBABE
    out = {}
    for k in range(n):
        processor, _, start, size, alignment = struct.unpack_from(">iiIII", content, 8 + 20 * k)
        assert start % (1 << alignment) == 0
        out[processor] = content[start : start + size]
    assert start + size == len(content)
    return out


def commands(content):
    """Return the load commands of a slice: what they are, and where they stand."""
    _, _, _, _, n, *_ = struct.unpack_from("<8I", content)
    place = 32
    for _ in range(n):
        what, size = struct.unpack_from("<II", content, place)
        yield what, place
        place += size


def symbols(content, place):
    """Return the names of external symbols that are not defined, and of those that are."""
    first, n, texts, _ = struct.unpack_from("<4I", content, place + 8)
    undefined, defined = set(), set()
    for k in range(n):
        name, kind, *_ = struct.unpack_from("<IBBHQ", content, first + 16 * k)
        if kind & EXTERNAL and not kind & OF_DEBUGGERS:
            (defined if kind & DEFINED else undefined).add(text(content, texts + name).removeprefix("_"))
    return undefined, defined


@pytest.fixture(scope="module")
def universal():
    return slices(library("darwin64"))


@pytest.mark.parametrize("processor", [X86_64, ARM64])
def test_it_needs_the_system_library_only_and_shows_fmi_only(universal, processor):
    content = universal[processor]
    magic, own, _, kind, *_ = struct.unpack_from("<8I", content)
    assert (magic, own, kind) == (0xFEEDFACF, processor, 6)
    found = list(commands(content))
    needed = [text(content, at + struct.unpack_from("<I", content, at + 8)[0]) for what, at in found if what == NEEDED]
    assert needed == ["/usr/lib/libSystem.B.dylib"]
    undefined, defined = symbols(content, next(at for what, at in found if what == SYMBOLS))
    assert undefined <= ALLOWED
    shown = {name for name in defined if not name.startswith("_")}
    assert {"fmi2Instantiate", "fmi2DoStep"} <= shown
    assert all(name.startswith("fmi") for name in shown)


def test_code_for_arm_is_signed(universal):
    """Without a signature the system refuses to run it; one that names nobody is enough."""
    assert SIGNATURE in dict(commands(universal[ARM64]))
