"""The tables of layout.py as a page for people, docs/layout.md, and as a header for C.

python -m liegeo.kernels.layout_text docs/layout.md       writes the page anew
python -m liegeo.kernels.layout_text layout.h             writes the header
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from liegeo.kernels import blocks
from liegeo.kernels import layout as at
from liegeo.kernels.access import ACCESS
from liegeo.kernels.layout_table import LayoutField, Table

_ARRAYS = {
    "I": "I: whole numbers of a model",
    "F": "F: numbers of a model",
    "W": "W: scratch",
    "u": "u: what drives a model",
    "S": "S: whole numbers of one motion",
    "D": "D: numbers of one motion",
}
_OF_BLOCKS = """The tables are in `liegeo/kernels/blocks.py`; `liegeo/sampled.py` writes them. P has their numbers,
and C is the state of the controllers: what is measured, signals, and for each its counts, memory, outputs in force and
results that wait for their delay."""
_MADE = """Made from the tables in `liegeo/kernels/layout.py` and `liegeo/kernels/access.py` by
`python -m liegeo.kernels.layout_text docs/layout.md`: do not edit."""


def page() -> str:
    """Return the text of docs/layout.md."""
    frames = (at.__doc__ or "").split("\n\n", 1)[1].strip()
    lines = ["# What stands where in the arrays", "", _MADE, "", _code_blocks(frames), ""]
    lines += [
        "Functions write and read W; a reader is one that reads what another function, or an earlier call, left there. "
        "Of the other arrays the readers are modules of kernels; modules above the kernels read them too.",
        "",
    ]
    for array, title in _ARRAYS.items():
        lines += [f"## {title}", ""]
        for name, table in at.TABLES.items():
            if table.array == array:
                lines += _table(name, table)
    lines += ["## B: whole numbers of sampled controllers", "", _OF_BLOCKS, ""]
    for name, table in blocks.TABLES.items():
        lines += _plain_table(name, table)
    lines += ["## Kinds", ""]
    for name, kinds in {**at.KINDS, **blocks.KINDS}.items():
        lines += [f"### {kinds.name}: `{name}`, at `{kinds.field}`", "", "| value | name | meaning |", "|---|---|---|"]
        lines += [f"| {value} | `{kind}` | {meaning} |" for value, (kind, meaning) in enumerate(kinds.values)]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _code_blocks(text: str) -> str:
    """Indented lines of a docstring as a block of plain text."""
    return re.sub(r"((?:^ {4}.*\n?)+)", lambda m: f"```text\n{m[1].rstrip()}\n```\n", text, flags=re.MULTILINE)


def _table(name: str, table: Table) -> list[str]:
    unit = f"; numbers in the columns offset and size are times {table.unit}" if table.unit else ""
    same = "; equal ones are kept once" if table.shared else ""
    lines = [f"### {table.name}: `{name}`", "", f"In {table.array}, from `{table.begins}`{unit}{same}.", ""]
    lines += ["| field | offset | size | meaning | written by | read by |", "|---|---|---|---|---|---|"]
    for field in table.fields:
        access = ACCESS[name][field.name]
        offset = "" if field.offset is None else str(field.offset)
        size = str(field.size).replace("*", "·").replace("//", "/")
        who = " | ".join(_by_module(names) for names in access)
        lines.append(f"| `{field.name}` | {offset} | {size} | {field.meaning} | {who} |")
    lines.append("")
    for alias in table.aliases:
        lines += [f"`{alias.name}` = {', '.join(f'`{name}`' for name in alias.of)}: {alias.reason}.", ""]
    return lines


def _plain_table(name: str, table: Table) -> list[str]:
    """Return a table of which one module writes, and one reads."""
    lines = [f"### {table.name}: `{name}`", "", f"In {table.array}, from `{table.begins}`.", ""]
    lines += ["| field | offset | size | meaning |", "|---|---|---|---|"]
    lines += [f"| `{field.name}` | {field.offset} | {field.size} | {field.meaning} |" for field in table.fields]
    return [*lines, ""]


def _by_module(names: tuple[str, ...]) -> str:
    """Functions after the name of their module, which is said once."""
    modules: dict[str, list[str]] = {}
    for name in names:
        module, _, function = name.rpartition(".")
        modules.setdefault(module, []).append(function)
    return "; ".join(
        f"{module}: {', '.join(found)}" if module else ", ".join(found) for module, found in modules.items()
    )


def header() -> str:
    """Return a header for C with every offset and size.

    LG_NAME is an offset, in the unit of its table, or a macro of the symbols that it depends on; LG_NAME_SIZE is the
    size of a field in numbers, LG_TABLE_SIZE that of a row.  Fields without a constant in layout.py are called
    LG_TABLE_NAME.
    """
    lines = ["/* Made by liegeo.kernels.layout_text.header(): do not edit. */", "#ifndef LIEGEO_LAYOUT_H"]
    lines += ["#define LIEGEO_LAYOUT_H", "", "#define LG_MAX(a, b) ((a) > (b) ? (a) : (b))", ""]
    for name, table in at.TABLES.items():
        unit = f", offsets times {table.unit}" if table.unit else ""
        lines.append(f"/* {table.name}: {table.array} from {table.begins}{unit} */")
        before: list[str] = []
        for field in table.fields:
            macro, size = macro_name(name, field), _expression(table, field)
            offset = str(field.offset) if field.offset is not None else " + ".join(before)
            lines.append(f"{_define(macro, offset)} /* {field.meaning} */")
            lines.append(_define(f"{macro}_SIZE", size))
            before.append(size)
        lines.append(_define(f"LG_{name}_SIZE", " + ".join(before)))
        for alias in table.aliases:
            if hasattr(at, alias.name):
                lines.append(_define(f"LG_{alias.name}", str(getattr(at, alias.name))))
        lines.append("")
    for kinds in at.KINDS.values():
        lines.append(f"/* {kinds.name}: {kinds.field} */")
        lines += [f"{_define(f'LG_{kind}', str(k))} /* {text} */" for k, (kind, text) in enumerate(kinds.values)]
        lines.append("")
    return "\n".join([*lines, "#endif", ""])


def macro_name(table: str, field: LayoutField) -> str:
    """Return how C calls a field of the table with this name."""
    constant = field.offset is not None and hasattr(at, field.name)
    return f"LG_{field.name}" if constant else f"LG_{table}_{field.name}"


def _expression(table: Table, field: LayoutField) -> str:
    """The size of a field, in numbers, for C."""
    if isinstance(field.size, int):
        return f"{field.size} * {table.unit}" if table.unit else str(field.size)
    return field.size.replace("//", "/").replace("max(", "LG_MAX(")


def symbols(expression: str) -> list[str]:
    """Return the symbols of an expression, in alphabetical order: the arguments of its macro."""
    return sorted({name for name in re.findall(r"[A-Za-z_]\w*", expression) if name != "LG_MAX"})


def _define(name: str, expression: str) -> str:
    found = symbols(expression)
    for symbol in found:
        expression = re.sub(rf"\b{symbol}\b", f"({symbol})", expression)
    arguments = f"({', '.join(found)})" if found else ""
    return f"#define {name}{arguments} {expression if expression.isdecimal() else f'({expression})'}"


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.write_text(header() if target.suffix == ".h" else page(), "utf-8")
