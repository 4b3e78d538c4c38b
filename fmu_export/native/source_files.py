"""The folder `sources` of a native FMU: everything as C, for machines whose own compiler makes the library.

    fmi2.c … system.c       the FMI layer, as it is in fmu_export/guard
    kernel_*.c, kernels.h   kernels in C (liegeo/_jit_c.py): those that the model can use
    table.c                 the kernels by name
    data.c                  the data file, as an array: the library opens no file
    names.h                 names: every file begins with it
    buildDescription.xml    files and options, as FMI 3.0 describes them
    README.md               the same for people

Several FMUs may be linked into one program: everything that a linker sees begins with the FMU's name, and so do FMI's
functions, unless FMI2_OVERRIDE_FUNCTION_PREFIX is defined, as FMI's own headers have it (FMI3_… alike).  dSPACE's
importer calls them by these names and defines no macro; fmpy compiles libraries and defines none either, for FMI 2.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

import fmpy

from fmu_export.description import as_bytes
from fmu_export.native import kernels
from fmu_export.native.data import header, kernels_of
from fmu_export.native.library import HEADERS, PARTS, SOURCES
from liegeo import _jit_c
from liegeo._jit_export import c_code, with_jumps

#: Options for GCC and Clang with which the bits are those of every processor without fused multiply-add.
OPTIONS = "-std=gnu11 -O2 -ffp-contract=off -fno-math-errno"
_OVERRIDE = {2: "FMI2_OVERRIDE_FUNCTION_PREFIX", 3: "FMI3_OVERRIDE_FUNCTION_PREFIX"}

_README = """\
# Sources of the FMU {identifier}

All that the FMU is made of, as C11, for processors that store the lowest byte of a number first, with pointers of 32
or 64 bits. It needs the C library (calloc, free, memcpy, memset) and the mathematical library, and opens no file:
`data.c` holds the model. A step takes no memory, no lock and no call of the system, as long as logging is off.

As a library that tools load, with the names that FMI gives its functions:

    {command}

fmpy makes one by the same options, which it takes from the environment:

    CFLAGS="-ffp-contract=off -D{override}=1" LDFLAGS="-Wl,--no-as-needed -lm" \\
        fmpy compile {identifier}.fmu

To link it into a program, with other FMUs beside it, leave out `-shared` and `-D{override}=1`:
everything that a linker sees then begins with `{identifier}_`, FMI's functions too.

`-ffp-contract=off` gives the same bits with every compiler. Without it, products and sums may become one fused
operation where the processor has one, and the last bits are others. Options such as `-ffast-math`, which change what
NaN and infinity mean, must not be used.
"""


def source_files(identifier: str, data: bytes, fmi: int) -> dict[str, bytes]:
    """Return the files of the folder `sources` by name: the FMI layer, kernels and the data of a model."""
    wanted = {f"entry_{name}" for name in kernels.ENTRIES} | set(kernels_of(data))
    listed = list(with_jumps(one for name, one in kernels.wanted().items() if name in wanted))
    in_c = {one.name: c_code(one) for one in listed}
    layer = {name: (SOURCES / name).read_text("utf-8") for name in (*PARTS, *HEADERS)}
    declared = [_jit_c.declaration(text) for text in in_c.values()]
    rows = [(one.name, one.name) for one in listed]
    files = {
        **{name: f'#include "names.h"\n{text}' if name in PARTS else text for name, text in layer.items()},
        **{f"kernel_{name}.c": text for name, text in in_c.items()},
        "kernels.h": _jit_c.HEADER,
        "machine.h": header(),
        "names.h": _names(identifier, [*layer.values(), *in_c.values()], fmi),
        "table.c": _table(rows, declared),
        "data.c": data_in_c(data).decode(),
        "README.md": _README.format(identifier=identifier, command=command(identifier, fmi), override=_OVERRIDE[fmi]),
    }
    files["buildDescription.xml"] = _build_description(identifier, compiled(files), fmi).decode()
    return {name: text.encode() for name, text in sorted(files.items())}


def compiled(files: Iterable[str]) -> list[str]:
    """Return which of the files a compiler is given, in order."""
    return sorted(name for name in files if name.endswith(".c"))


def command(identifier: str, fmi: int) -> str:
    """Return the command that makes a library, in the folder `sources`."""
    return f"cc {OPTIONS} -fPIC -fvisibility=hidden -shared -D{_OVERRIDE[fmi]}=1 *.c -o {identifier}.so -lm"


def _table(rows: Iterable[tuple[str, str]], declared: Iterable[str]) -> str:
    """Return the source of the table of kernels by name."""
    listed = "".join(f'    {{"{name}", (const void *){symbol}}},\n' for name, symbol in rows)
    return "\n".join(
        [
            '#include "names.h"',
            '#include "native.h"',
            "",
            *declared,
            "",
            f"static const Kernel all[] = {{\n{listed}    {{0, 0}}}};",
            "const Kernel *const kernels[] = {all};",
            "const int kinds_of_code = 1;",
            "",
        ]
    )


def data_in_c(data: bytes) -> bytes:
    """Return data.c: a data file as an array, which is aligned as its numbers are."""
    numbers = [int.from_bytes(data[k : k + 8], "little") for k in range(0, len(data), 8)]
    lines = (", ".join(f"0x{x:x}u" for x in numbers[k : k + 6]) for k in range(0, len(numbers), 6))
    text = [
        '#include "names.h"',
        '#include "native.h"',
        "",
        "const uint64_t machine_data[] = {",
        *(f"    {line}," for line in lines),
        "};",
        "const size_t size_of_machine_data = sizeof machine_data;",
        "",
    ]
    return "\n".join(text).encode()


# What system.c and native.c define where there is no C library.
_OF_THE_SYSTEM = {"memcpy", "memset", "sincos", "DllMainCRTStartup", "_fltused"}
# A function or an array that begins a line and is not static: what a linker sees.
_SHOWN = re.compile(r"^(?!static |extern |typedef |return |else )\w+(?: \w+)*[ *]+(\w+)(?:\(|\[| =)", re.MULTILINE)


def _names(identifier: str, texts: Iterable[str], fmi: int) -> str:
    """Return the header that gives each of a linker's names the FMU's name in front."""
    found = {name for text in texts for name in _SHOWN.findall(text)} - _OF_THE_SYSTEM
    found |= {"machine_data", "size_of_machine_data", "kernels", "kinds_of_code"}
    functions = {version: _functions(version) for version in (2, 3)}
    lines = ["/* Names for linkers: several FMUs may be in one program. */", "#ifndef NAMES_H", "#define NAMES_H", ""]
    lines += ["/* a library that somebody else compiles */", "#define SOURCE_FMU", ""]
    # no name in front of which the FMU's stands may be another one's: the preprocessor would go on with that
    front = f"{identifier}_"
    while any(name.startswith(front) for name in found):
        front += "_"
    lines += [f"#define {name} {front}{name}" for name in sorted(found - functions[2] - functions[3])]
    for version in (2, 3):
        prefix = f"FMI{version}_FUNCTION_PREFIX"
        override, actual = f"FMI{version}_OVERRIDE_FUNCTION_PREFIX", f"FMI{version}_ACTUAL_FUNCTION_PREFIX"
        lines += [
            "",
            f"/* FMI {version}.0: as its own header has it */",
            f"#ifndef {prefix}",
            f"#define {prefix} {identifier}_",
            "#endif",
            f"#if !defined({override}) && !defined({_OVERRIDE[fmi]}) && !defined({actual})",
            f"#define {actual} {prefix}",
            "#endif",
            f"#ifdef {actual}",
            f"#define FMI{version}_JOINED_AT_LAST(a, b) a##b",
            f"#define FMI{version}_JOINED(a, b) FMI{version}_JOINED_AT_LAST(a, b)",
            *(f"#define {name} FMI{version}_JOINED({actual}, {name})" for name in sorted(functions[version])),
            "#endif",
        ]
    return "\n".join([*lines, "", "#endif", ""])


def _functions(version: int) -> set[str]:
    """Return the names of all functions of a version of FMI, from the standard's header as fmpy has it."""
    text = (Path(fmpy.__file__).parent / "c-code" / f"fmi{version}FunctionTypes.h").read_text("utf-8")
    return set(re.findall(rf"\b(fmi{version}[A-Z]\w+)TYPE\s*\(", text))


def _build_description(identifier: str, files: Iterable[str], fmi: int) -> bytes:
    """Return the description of how a library for tools that load it is compiled."""
    root = Element("fmiBuildDescription", {"fmiVersion": "3.0"})
    made = SubElement(root, "BuildConfiguration", {"modelIdentifier": identifier})
    options = {"language": "C11", "compiler": "gcc", "compilerOptions": OPTIONS}
    listed = SubElement(made, "SourceFileSet", options)
    for name in files:
        SubElement(listed, "SourceFile", {"name": name})
    about = "FMI's functions have their own names, for a library that a tool loads; leave it out to link statically"
    definition = {"name": _OVERRIDE[fmi], "value": "1", "optional": "true", "description": about}
    SubElement(listed, "PreprocessorDefinition", definition)
    SubElement(made, "Library", {"name": "m", "external": "true", "description": "the mathematical library"})
    return as_bytes(root)


__all__ = ["OPTIONS", "command", "compiled", "data_in_c", "source_files"]
