"""Kernels as C: LLVM's language, as optimised for a kernel without vectors, written in C11.

For machines that only their own compiler knows: the sources of native FMUs.  The language of kernels is small, loads
and stores, sums and products, branches and calls, on numbers of 64 bits, and each instruction becomes a statement.
What is not known here is refused by name, never passed over.

- Values are assigned once, where they are computed; values of phi are declared where the function begins, and assigned
  on the edge that leads to their block.
- Whole numbers are unsigned, so that sums may overflow as they may in LLVM; what is signed is converted for one
  operation.
- A pointer in memory takes eight bytes, as Numba lays out its arrays, also where the machine's own are shorter.
- Memory is accessed with types that may alias, because kernels read numbers of either kind from the same places.
- Every product and every sum is a statement of its own.  A compiler that is told not to contract (`-ffp-contract=off`)
  then gives the bits that processors without fused multiply-add give.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Callable, Mapping
from pathlib import Path

from liegeo.errors import InputError

#: What tells files of C from those that another version of this file made.
STAMP = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]

#: What all files of kernels include.
HEADER = """\
/* Kernels of liegeo as C, made from LLVM's language (liegeo/_jit_c.py): what all of them use. */
#ifndef KERNELS_H
#define KERNELS_H

#include "names.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The numbers of a model are stored with the lowest byte first, and kernels read parts of them. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "liegeo's kernels need a processor that stores the lowest byte of a number first"
#endif

/* Places in memory hold whole numbers and real ones by turns. */
#if defined(__GNUC__)
#define MAY_ALIAS __attribute__((__may_alias__))
#define UNUSED __attribute__((__unused__))
#else
#define MAY_ALIAS
#define UNUSED
#endif
typedef double MAY_ALIAS MemoryOfReal;
typedef uint64_t MAY_ALIAS MemoryOf64;
typedef uint32_t MAY_ALIAS MemoryOf32;
typedef uint16_t MAY_ALIAS MemoryOf16;
typedef uint8_t MemoryOf8;

#define AT(type, place) (*(type *)(void *)(place))
#define POINTER(number) ((char *)(uintptr_t)(number))
#define NUMBER_OF(pointer) ((uint64_t)(uintptr_t)(pointer))
#define SIGNED(number) ((int64_t)(number))

/* what Numba names an exception by: nobody reads it */
UNUSED static char an_exception[8];

#define FIRST_IF(name, type, compared) \\
    UNUSED static inline uint64_t name(uint64_t a, uint64_t b) { return (type)a compared (type)b ? a : b; }
FIRST_IF(smin, int64_t, <)
FIRST_IF(smax, int64_t, >)
FIRST_IF(umin, uint64_t, <)
FIRST_IF(umax, uint64_t, >)

UNUSED static inline uint64_t absolute(uint64_t a, int never_smallest)
{
    (void)never_smallest;
    return a >> 63 ? 0 - a : a;
}

UNUSED static inline double real_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

UNUSED static inline uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Whether a number is of one of LLVM's classes: a bit each for NaN that signals, NaN, and from -infinity to infinity
 * normal numbers, those that are not, and zeros. */
UNUSED static inline uint8_t is_of_class(double x, uint32_t classes)
{
    uint64_t bits = bits_of(x), exponent = bits >> 52 & 0x7ff, rest = bits << 12;
    int below = (int)(bits >> 63), place;
    if (exponent == 0x7ff)
        place = rest ? (int)(rest >> 63) : below ? 2 : 9;
    else if (exponent)
        place = below ? 3 : 8;
    else
        place = rest ? (below ? 4 : 7) : below ? 5 : 6;
    return classes >> place & 1;
}

#endif
"""

_NAME = r'(?:"[^"]*"|[-\w$.]+)'
_LOCAL = rf"%{_NAME}"
_FLAGS = r"(?:(?:contract|nnan|ninf|nsz|arcp|afn|nuw|nsw|exact|disjoint|samesign|nneg|inbounds|nusw|volatile) )*"

_TYPES = {"double": "double", "ptr": "char *", "i64": "uint64_t", "i32": "uint32_t", "i16": "uint16_t", "i8": "uint8_t"}
_TYPES["i1"] = "uint8_t"
_MEMORY = {"double": "MemoryOfReal", "ptr": "MemoryOf64", "i64": "MemoryOf64", "i32": "MemoryOf32"}
_MEMORY |= {"i16": "MemoryOf16", "i8": "MemoryOf8"}
_SIZES = {"double": 8, "ptr": 8, "i64": 8, "i32": 4, "i16": 2, "i8": 1, "i1": 1}
_WIDTHS = {"i64": 64, "i32": 32, "i16": 16, "i8": 8, "i1": 1}

_REAL_SIGNS = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/"}
_WHOLE_SIGNS = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", "shl": "<<", "lshr": ">>"}
_WHOLE_SIGNS |= {"udiv": "/", "urem": "%"}
_SIGNED_SIGNS = {"sdiv": "/", "srem": "%", "ashr": ">>"}
_COMPARED = {"eq": "==", "ne": "!=", "gt": ">", "ge": ">=", "lt": "<", "le": "<="}

#: LLVM's own functions, by name without types; what may be left out is None.
_INTRINSICS: dict[str, str | None] = {
    **{f"llvm.{name}": None for name in ("assume", "prefetch", "lifetime.start", "lifetime.end")},
    **{f"llvm.{name}": name for name in ("sqrt", "sin", "cos", "tan", "exp", "log", "pow", "floor", "ceil", "trunc")},
    **{f"llvm.{name}": name for name in ("fabs", "copysign", "fma", "rint", "atan2", "sinh", "cosh", "tanh", "atan")},
    **{f"llvm.{name}": name for name in ("smin", "smax", "umin", "umax")},
    "llvm.abs": "absolute",
    "llvm.is.fpclass": "is_of_class",
    "llvm.memset": "memset",
    "llvm.memcpy": "memcpy",
    "llvm.memmove": "memmove",
}
#: Functions of the system that kernels call; math.h declares them.
SYSTEM = frozenset(
    {
        *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "sin", "sinh", "tan", "tanh"),
        *("ceil", "copysign", "exp", "expm1", "fabs", "floor", "fmod", "hypot", "log", "log1p", "pow", "sqrt", "trunc"),
    }
)


def translate(module: str, entry: str) -> str:
    """Return a module of LLVM's language as a file of C; `entry` is the one function that others see.

    Names of other functions of the module begin with that of the entry, so that files can be compiled as one.
    """
    return _Module(module, entry).text()


def declaration(text: str) -> str:
    """Return the declaration of the function that others see of a file of C."""
    return text.split("\n", _AT_DECLARATION + 1)[_AT_DECLARATION]


# The line of a file where the declaration of its function stands.
_AT_DECLARATION = 2


class _Module:
    """A module in C: one function that others see, those that only it calls, and constants."""

    def __init__(self, text: str, entry: str) -> None:
        self.entry = entry
        self.names: dict[str, str] = {}
        self.globals: dict[str, str] = {}
        lines = text.splitlines()
        self.declared: list[str] = []
        self.constants: list[str] = []
        self.functions: list[tuple[str, list[str]]] = []
        k = 0
        while k < len(lines):
            line = lines[k]
            if line.startswith("define "):
                end = lines.index("}", k)
                self.functions.append((line, lines[k + 1 : end]))
                k = end
            elif line.startswith("declare "):
                self.declared.append(line)
            elif line.startswith("@"):
                self._constant(line)
            elif line.strip() and not line.startswith((";", "target ", "source_filename", "attributes ", "!", "$")):
                raise _unknown(entry, line)
            k += 1
        for head, _ in self.functions:
            name = _plain(_matched(rf"define .*?(@{_NAME})\(", head, entry)[1])
            self.names[name] = entry if name == entry else f"{entry}_{len(self.names)}"

    def _constant(self, line: str) -> None:
        """Note a global: a name of an exception, which nobody reads, or an array of numbers."""
        found = _matched(rf"(@{_NAME}) = (.*)", line, self.entry)
        name = _plain(found[1])
        if name.startswith(".const.pickle") or found[2].startswith(("weak global i8 0", "common ")):
            self.globals[name] = "an_exception"
            return
        array = re.match(r".*?constant \[(\d+) x (double|i64|i32|i8)\] \[(.*)\](?:,.*)?$", found[2])
        if array is None:
            raise _unknown(self.entry, line)
        known = self.globals[name] = f"{self.entry}_constant_{len(self.constants)}"
        values = ", ".join(_constant(*item.split(" ", 1)) for item in array[3].split(", "))
        self.constants.append(f"static const {_TYPES[array[2]]} {known}[{array[1]}] = {{{values}}};")

    def called(self, name: str) -> str:
        """Return how C names a function."""
        if name.startswith("llvm."):
            known = _INTRINSICS.get(re.sub(r"(\.(p0|i\d+|f64))+$", "", name), "")
            if known == "":
                raise _unknown(self.entry, name)
            return known or ""
        return self.names.get(name) or (name if name in SYSTEM else _c_name(name))

    def text(self) -> str:
        parts = [_Function(self, head, body) for head, body in self.functions]
        own = next(part for part in parts if part.name == self.entry)
        declared = {self._declaration(line) for line in self.declared}
        text = [
            '#include "kernels.h"',
            "",
            f"{own.declaration};",
            *sorted(line for line in declared if line),
            *(f"static {part.declaration};" for part in parts if part is not own),
            *self.constants,
        ]
        for part in parts:
            text += ["", ("" if part is own else "static ") + part.declaration, "{", *part.lines, "}"]
        return "\n".join(text) + "\n"

    def _declaration(self, line: str) -> str:
        found = _matched(rf"declare (.*?)(@{_NAME})\((.*?)\)(?: [^()]*)?$", line, self.entry)
        name = _plain(found[2])
        if name.startswith("llvm.") or name in SYSTEM:
            return ""
        kinds = [_first_type(part) for part in _split(found[3])]
        result = _type(found[1].split()[-1], line)
        return f"{_spaced(result)}{_c_name(name)}({', '.join(_type(kind, line) for kind in kinds)});"


class _Function:
    """A function of a module, in C."""

    def __init__(self, module: _Module, head: str, body: list[str]) -> None:
        self.module = module
        found = _matched(rf"define (.*?)(@{_NAME})\((.*)\)([^()]*|[^()]*\(.*\)[^()]*)\{{$", head, module.entry)
        self.name = module.names[_plain(found[2])]
        self.result = found[1].split()[-1]
        self.values: dict[str, str] = {}
        arguments = []
        for part in _split(found[3]):
            kind = _first_type(part)
            arguments.append(f"{_spaced(_type(kind, head))}{self._new(part.rsplit(' ', 1)[1])}")
        self.declaration = f"{_spaced(_type(self.result, head))}{self.name}({', '.join(arguments) or 'void'})"
        self.lines = self._body(_joined(body))

    def _new(self, name: str) -> str:
        self.values[name] = known = f"v{len(self.values)}"
        return known

    def _body(self, lines: list[str]) -> list[str]:
        found: dict[str, list[str]] = {}
        for line in lines:
            label = re.match(rf"({_NAME}):(?:\s+;.*)?$", line)
            if label:
                block = found.setdefault(f"%{label[1]}", [])
            elif not found:
                raise _unknown(self.name, line)
            else:
                block.append(line.strip())
        blocks = _in_order(found)
        self.labels = {name: f"b{k}" for k, name in enumerate(blocks)}
        # phi first: an edge may lead back
        self.edges: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
        declared: dict[str, list[str]] = {}
        phis: list[tuple[str, str, str, str]] = []
        for name, listed in blocks.items():
            for line in listed:
                phi = re.match(rf"({_LOCAL}) = phi {_FLAGS}(\S+) (\[.*\])", line)
                if phi:
                    declared.setdefault(_type(phi[2], line), []).append(self._new(phi[1]))
                    phis.append((name, phi[1], phi[2], phi[3]))
                else:
                    made = re.match(rf"({_LOCAL}) = ", line)
                    if made:
                        self._new(made[1])
        for name, value, kind, pairs in phis:
            for given, origin in re.findall(rf"\[ (.*?), ({_LOCAL}) \]", pairs):
                if origin not in blocks:
                    # nothing leads there
                    continue
                edge = self.edges.setdefault((origin, name), [])
                if not any(known == self.values[value] for known, *_ in edge):
                    edge.append((self.values[value], self._of(kind, given), kind))
        out = [f"    {_spaced(kind)}{name};" for kind, names in declared.items() for name in names]
        for k, (name, listed) in enumerate(blocks.items()):
            if k:
                out.append(f"{self.labels[name]}:;")
            for line in listed:
                if " = phi " not in line:
                    try:
                        out += [f"    {text}" for text in self._statement(line, name)]
                    except KeyError:
                        # a type that has no table above
                        raise _unknown(self.name, line) from None
        return out

    # ---- operands

    def _of(self, kind: str, text: str) -> str:
        """Return an operand of a type in C."""
        text = text.strip()
        if text.startswith("%"):
            return self.values[text]
        if text.startswith("@"):
            name = _plain(text)
            found = self.module.globals.get(name)
            return f"(char *){found}" if found else f"(char *)(uintptr_t)&{self.module.called(name)}"
        inner = re.match(r"getelementptr (?:\w+ )*\((.*)\)$", text)
        if inner:
            return f"({self._address(inner[1], text)})"
        return _constant(kind, text)

    def _address(self, text: str, line: str) -> str:
        """Return what getelementptr computes."""
        item, base, *offsets = _split(text)
        size, kind = _size(item, line), base.split(" ", 1)[0]
        if kind != "ptr" or len(offsets) != 1:
            raise _unknown(self.name, line)
        width, offset = offsets[0].split(" ", 1)
        place = self._of("ptr", base.split(" ", 1)[1])
        if re.fullmatch(r"-?\d+", offset):
            return f"{place} + {int(offset) * size}" if int(offset) >= 0 else f"{place} - {-int(offset) * size}"
        index = f"(int{_WIDTHS[width]}_t){self._of(width, offset)}"
        return f"{place} + {index}" if size == 1 else f"{place} + {size} * {index}"

    # ---- statements

    def _statement(self, line: str, block: str) -> list[str]:
        line = re.sub(r"(?:, !\S+ !\d+)+$", "", line)
        found = re.match(rf"(?:({_LOCAL}) = )?(?:(?:tail|musttail|notail) )?(\w+)(?: (.*))?$", line)
        if found is None:
            raise _unknown(self.name, line)
        target, what, rest = found[1], found[2], found[3] or ""
        maker: Callable[..., list[str]] | None = getattr(self, f"_on_{what}", None)
        if maker is not None:
            return maker(target, rest, line, block)
        value = self._value(what, rest, line)
        return [self._assigned(target, *value, line)]

    def _assigned(self, target: str, kind: str, expression: str, line: str) -> str:
        name = "char *const" if kind == "ptr" else f"const {_type(kind, line)}"
        return f"{name} {self.values[target]} = {expression};"

    def _value(self, what: str, rest: str, line: str) -> tuple[str, str]:
        """Return type and expression of an instruction that computes a number."""
        flags = f"{_FLAGS}(.*)"
        rest = re.match(flags, rest)[1]  # type: ignore[index]
        if what in _REAL_SIGNS or what in _WHOLE_SIGNS or what in _SIGNED_SIGNS or what == "frem":
            kind, both = rest.split(" ", 1)
            a, b = (self._of(kind, part) for part in _split(both))
            return kind, self._arithmetic(what, kind, a, b, line)
        if what == "fneg":
            kind, one = rest.split(" ", 1)
            return kind, f"-{self._of(kind, one)}"
        if what == "freeze":
            kind, one = rest.split(" ", 1)
            return kind, self._of(kind, one)
        if what in ("icmp", "fcmp"):
            how, kind, both = rest.split(" ", 2)
            a, b = (self._of(kind, part) for part in _split(both))
            return "i1", (_compared if what == "icmp" else _real_compared)(how, kind, a, b)
        if what == "select":
            (_, if_), (kind, a), (_, b) = (part.split(" ", 1) for part in _split(rest))
            return kind, f"{self._of('i1', if_)} ? {self._of(kind, a)} : {self._of(kind, b)}"
        if what == "load":
            kind, place, *_ = _split(rest)
            where = self._of("ptr", place.split(" ", 1)[1])
            if kind == "i1":
                raise _unknown(self.name, line)
            read = f"AT({_MEMORY[kind]}, {where})"
            return kind, f"POINTER({read})" if kind == "ptr" else read
        if what == "getelementptr":
            return "ptr", self._address(rest, line)
        converted = re.match(r"(\w+) (.*) to (\w+)$", rest)
        if converted:
            return converted[3], self._converted(
                what, converted[1], self._of(converted[1], converted[2]), converted[3], line
            )
        raise _unknown(self.name, line)

    def _arithmetic(self, what: str, kind: str, a: str, b: str, line: str) -> str:
        if what == "frem":
            return f"fmod({a}, {b})"
        if what in _REAL_SIGNS:
            return f"{a} {_REAL_SIGNS[what]} {b}"
        width = _WIDTHS[kind]
        if what in _SIGNED_SIGNS:
            if width < 8:
                raise _unknown(self.name, line)
            right = f"(int{width}_t){b}" if what != "ashr" else b
            return f"({_TYPES[kind]})((int{width}_t){a} {_SIGNED_SIGNS[what]} {right})"
        text = f"{a} {_WHOLE_SIGNS[what]} {b}"
        # C computes with at least the width of int
        return text if width >= 32 else f"({_TYPES[kind]})({text})" + ("" if width > 1 else " & 1")

    def _converted(self, what: str, kind: str, a: str, to: str, line: str) -> str:
        if what == "inttoptr":
            return f"POINTER({a})"
        if what == "ptrtoint":
            return f"({_TYPES[to]})NUMBER_OF({a})"
        if what == "bitcast" and {kind, to} == {"double", "i64"}:
            return f"{'bits_of' if kind == 'double' else 'real_of'}({a})"
        if what == "sitofp" and kind != "i1":
            return f"(double)(int{_WIDTHS[kind]}_t){a}"
        if what == "uitofp":
            return f"(double){a}"
        if what == "fptosi":
            return f"({_TYPES[to]})(int{_WIDTHS[to]}_t){a}"
        if what == "fptoui":
            return f"({_TYPES[to]}){a}"
        if what == "zext":
            return f"({_TYPES[to]}){a}"
        if what == "sext":
            signed = f"-(int{_WIDTHS[to]}_t)" if kind == "i1" else f"(int{_WIDTHS[to]}_t)(int{_WIDTHS[kind]}_t)"
            return f"({_TYPES[to]}){signed}{a}"
        if what == "trunc":
            return f"{a} & 1" if to == "i1" else f"({_TYPES[to]}){a}"
        raise _unknown(self.name, line)

    def _on_alloca(self, target: str, rest: str, line: str, block: str) -> list[str]:
        item, *more = _split(rest)
        if any(not part.startswith("align ") for part in more):
            raise _unknown(self.name, line)
        known = self.values[target]
        return [f"uint64_t {known}_[{-(-_size(item, line) // 8)}];", f"char *const {known} = (char *){known}_;"]

    def _on_store(self, target: str, rest: str, line: str, block: str) -> list[str]:
        value, place, *_ = _split(re.sub(r"^volatile ", "", rest))
        (kind, given), where = value.split(" ", 1), self._of("ptr", place.split(" ", 1)[1])
        text = self._of(kind, given)
        if kind == "i1":
            raise _unknown(self.name, line)
        return [f"AT({_MEMORY[kind]}, {where}) = {f'NUMBER_OF({text})' if kind == 'ptr' else text};"]

    def _on_call(self, target: str | None, rest: str, line: str, block: str) -> list[str]:
        attributes = rf"{_FLAGS}(?:\w+(?:\([^()]*\))? )*?"
        found = re.match(rf"{attributes}(double|void|ptr|i\d+) (@{_NAME}|{_LOCAL})\((.*)\)", rest)
        if found is None:
            raise _unknown(self.name, line)
        kind, callee, parts = found[1], found[2], _split(found[3])
        if callee.startswith("@llvm.mem"):
            parts = parts[:3]
        kinds = [_first_type(part) for part in parts]
        given = [self._of(k, _operand(part)) for k, part in zip(kinds, parts, strict=True)]
        if callee.startswith("@"):
            name = self.module.called(_plain(callee))
            if not name:
                return []
        else:
            types = ", ".join(_type(k, line) for k in kinds) or "void"
            name = f"(({_spaced(_type(kind, line))}(*)({types}))(uintptr_t){self.values[callee]})"
        if name in ("memset", "memcpy", "memmove"):
            given[2] = f"(size_t){given[2]}"
        text = f"{name}({', '.join(given)})"
        if target is None or kind == "void":
            return [f"{text};"]
        if name in ("smin", "smax", "umin", "umax", "absolute") and kind != "i64":
            raise _unknown(self.name, line)
        return [self._assigned(target, kind, text, line)]

    # ---- ends of blocks

    def _go(self, origin: str, to: str) -> list[str]:
        """Return the assignments of an edge, as if at once, and the jump."""
        edge = [each for each in self.edges.get((origin, to), []) if each[0] != each[1] and each[1] != _NOTHING]
        written = {known for known, *_ in edge}
        if any(given in written for _, given, _ in edge):
            first = [f"{_spaced(_type(kind, origin))}{known}_next = {given};" for known, given, kind in edge]
            then = [f"{known} = {known}_next;" for known, *_ in edge]
            return ["{", *(f"    {text}" for text in [*first, *then]), "}", f"goto {self.labels[to]};"]
        return [*(f"{known} = {given};" for known, given, _ in edge), f"goto {self.labels[to]};"]

    def _on_br(self, target: str, rest: str, line: str, block: str) -> list[str]:
        one = re.match(rf"label ({_LOCAL})$", rest)
        if one:
            return self._go(block, one[1])
        two = _matched(rf"i1 (\S+), label ({_LOCAL}), label ({_LOCAL})", rest, self.name)
        yes, no = (self._go(block, two[k]) for k in (2, 3))
        return [f"if ({self._of('i1', two[1])}) {{", *(f"    {text}" for text in yes), "}", *no]

    def _on_switch(self, target: str, rest: str, line: str, block: str) -> list[str]:
        found = _matched(rf"(i\d+) (\S+), label ({_LOCAL}) \[(.*)\]", rest, self.name)
        out = [f"switch ({self._of(found[1], found[2])}) {{"]
        for value, label in re.findall(rf"i\d+ (-?\d+), label ({_LOCAL})", found[4]):
            out += [f"case {_constant(found[1], value)}:", *(f"    {text}" for text in self._go(block, label))]
        return [*out, "default:", *(f"    {text}" for text in self._go(block, found[3])), "}"]

    def _on_ret(self, target: str, rest: str, line: str, block: str) -> list[str]:
        if rest == "void":
            return ["return;"]
        kind, value = rest.split(" ", 1)
        return [f"return {self._of(kind, value)};"]

    def _on_unreachable(self, target: str, rest: str, line: str, block: str) -> list[str]:
        return ["return;" if self.result == "void" else "return 0;"]


# A value that nobody reads.
_NOTHING = "0 /* any */"


def _c_name(name: str) -> str:
    return re.sub(r"\W", "_", name, flags=re.ASCII)


def _plain(name: str) -> str:
    """Return a name without its sign and quotation marks."""
    return name[1:].strip('"')


def _spaced(kind: str) -> str:
    return kind if kind.endswith("*") else f"{kind} "


def _type(kind: str, line: str) -> str:
    if kind == "void":
        return "void"
    if kind not in _TYPES:
        raise _unknown("", line)
    return _TYPES[kind]


def _size(kind: str, line: str) -> int:
    return _measures(kind, line)[0]


def _measures(kind: str, line: str) -> tuple[int, int]:
    """Return how many bytes a type takes, and how it is aligned: numbers by their own size."""
    array = re.fullmatch(r"\[(\d+) x (.*)\]", kind)
    if array:
        size, alignment = _measures(array[2], line)
        return int(array[1]) * size, alignment
    if kind.startswith("{ ") and kind.endswith(" }"):
        end, alignment = 0, 1
        for part in _split(kind[1:-1]):
            size, own = _measures(part, line)
            end, alignment = -(-end // own) * own + size, max(alignment, own)
        return -(-end // alignment) * alignment, alignment
    if kind not in _SIZES:
        raise _unknown("", line)
    return _SIZES[kind], _SIZES[kind]


def _constant(kind: str, text: str) -> str:
    """Return a constant of a type in C."""
    if text in ("undef", "poison"):
        return _NOTHING
    if kind == "ptr":
        if text == "null":
            return "(char *)0"
        raise _unknown("", text)
    if kind == "double":
        if text.startswith("0x"):
            return f"real_of({text}u)" if int(text, 16) >> 52 & 0x7FF == 0x7FF else _exact(int(text, 16))
        return float(text).hex()
    if text in ("true", "false"):
        return str(int(text == "true"))
    value = int(text) % (1 << _WIDTHS[kind])
    return f"{value}u" if _WIDTHS[kind] < 64 else f"UINT64_C({value})"


def _exact(bits: int) -> str:
    return struct.unpack("<d", struct.pack("<Q", bits))[0].hex()


def _compared(how: str, kind: str, a: str, b: str) -> str:
    sign = _COMPARED[how if how in ("eq", "ne") else how[1:]]
    if kind == "ptr":
        return f"NUMBER_OF({a}) {sign} NUMBER_OF({b})"
    if how[0] == "s":
        width = _WIDTHS[kind]
        if width < 8:
            raise _unknown("", f"{how} {kind} {a}, {b}")
        return f"(int{width}_t){a} {sign} (int{width}_t){b}"
    return f"{a} {sign} {b}"


def _real_compared(how: str, kind: str, a: str, b: str) -> str:
    """Return a comparison of real numbers; ordered ones are false where one is none, the others true."""
    if how in ("true", "false"):
        return str(int(how == "true"))
    either = f"{a} != {a} || {b} != {b}"
    if how == "uno":
        return either
    if how == "ord":
        return f"!({either})"
    if how == "one":
        return f"{a} < {b} || {a} > {b}"
    if how == "ueq":
        return f"!({a} < {b} || {a} > {b})"
    if how in ("oeq", "une"):
        return f"{a} {_COMPARED[how[1:]]} {b}"
    opposite = {"gt": "<=", "ge": "<", "lt": ">=", "le": ">"}
    return f"{a} {_COMPARED[how[1:]]} {b}" if how[0] == "o" else f"!({a} {opposite[how[1:]]} {b})"


def _split(text: str) -> list[str]:
    """Return the parts between commas that stand in no brackets and no quotation marks."""
    out, depth, start, quoted = [], 0, 0, False
    for k, sign in enumerate(text):
        if sign == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif sign in "([{<":
            depth += 1
        elif sign in ")]}>":
            depth -= 1
        elif sign == "," and not depth:
            out.append(text[start:k].strip())
            start = k + 1
    return [*out, text[start:].strip()] if text.strip() else []


def _first_type(part: str) -> str:
    return part.split(" ", 1)[0]


def _operand(part: str) -> str:
    """Return what stands behind the type and the attributes of an argument."""
    found = re.search(rf"({_LOCAL}|@{_NAME}|getelementptr .*|\S+)$", part)
    return found[1] if found else part


def _in_order(blocks: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the blocks that can be reached, each behind those that compute what it uses.

    Those are in its dominators, which come first where a search in depth leaves blocks, read backwards.
    """
    first = next(iter(blocks))
    left, seen = [], {first}
    path = [(first, iter(_successors(blocks[first])))]
    while path:
        name, rest = path[-1]
        following = next((other for other in rest if other not in seen), None)
        if following is None:
            left.append(name)
            path.pop()
        else:
            seen.add(following)
            path.append((following, iter(_successors(blocks[following]))))
    return {name: blocks[name] for name in reversed(left)}


def _successors(block: list[str]) -> list[str]:
    return re.findall(rf"label ({_LOCAL})", block[-1])


def _joined(lines: list[str]) -> list[str]:
    """Return lines in which a switch is one."""
    out: list[str] = []
    inside = False
    for line in lines:
        if not line.strip():
            continue
        if inside:
            out[-1] += " " + line.strip()
            inside = line.strip() != "]" and not line.strip().startswith("],")
        else:
            out.append(line)
            inside = line.strip().startswith("switch ") and line.rstrip().endswith("[")
    return out


def _matched(pattern: str, text: str, name: str) -> re.Match[str]:
    found = re.match(pattern, text.strip())
    if found is None:
        raise _unknown(name, text)
    return found


def _unknown(name: str, line: str) -> InputError:
    about = f"LLVM's line is: {line.strip()[:200]}"
    return InputError(f"native FMU: kernel {name} cannot be written in C yet (liegeo/_jit_c.py); {about}")


__all__ = ["HEADER", "STAMP", "SYSTEM", "declaration", "translate"]
