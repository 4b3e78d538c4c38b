"""Nodes of an input deck of Abaqus or CalculiX: *NODE blocks, *INCLUDE, and nothing that would move them unnoticed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from liegeo.errors import ModelError
from liegeo.flex.readers._common import Array, integer, real, text

# What would give nodes another place, or their directions other axes.
_REFUSED = {
    "TRANSFORM": "turns the directions of nodes, which is not read. Write the deck in one global frame.",
    "SYSTEM": "gives nodes in other axes, which is not read. Write the deck in one global frame.",
    "NMAP": "moves nodes, which is not read. Write the deck in one global frame.",
}
_DEPTH = 8


def nodes(path: Path, refused: Mapping[str, str] | None = None) -> dict[int, Array]:
    """Return positions by node number.

    `refused` are further keywords of a program, or the first words of their lines ("MPC MEANROT"), with what they do.
    """
    refused = _REFUSED | dict(refused or {})
    out: dict[int, Array] = {}
    block, instances, instance = "", 0, ""
    for where, line in _lines(path, 0):
        if line.startswith("*"):
            block, options = _keyword(line)
            if block in refused:
                raise ModelError(f"{where}: *{block} {refused[block]}")
            if block == "NODE" and options.get("SYSTEM", "R") != "R":
                raise ModelError(f"{where}: nodes in SYSTEM={options['SYSTEM']}, expected R (Cartesian).")
            if block == "NODE" and "INPUT" in options:
                raise ModelError(f"{where}: *NODE with INPUT is not read, expected *INCLUDE or the lines themselves.")
            if block == "INSTANCE":
                instances, instance = instances + 1, where
                if instances > 1:
                    raise ModelError(
                        f"{where}: a second *INSTANCE, with which node numbers are not unique. Write the deck without "
                        "parts and assemblies."
                    )
        elif block == "INSTANCE":
            raise ModelError(f"{where}: the instance of {instance} is moved, which is not read. Write a flat deck.")
        elif (kind := f"{block} {line.split(',')[0].strip().upper()}") in refused:
            raise ModelError(f"{where}: *{kind} {refused[kind]}")
        elif block == "NODE":
            words = line.rstrip(",").split(",")
            if not 4 <= len(words) <= 7:
                raise ModelError(f"{where}: a node of {len(words)} numbers, expected number, x, y, z.")
            number = integer(where, words[0])
            place = np.array([real(where, w) for w in words[1:4]])
            if number in out and (out[number] != place).any():
                raise ModelError(f"{where}: node {number} is given a second time, at another place.")
            out[number] = place
    if not out:
        raise ModelError(f"{path}: holds no *NODE block, expected one.")
    return out


def _keyword(line: str) -> tuple[str, dict[str, str]]:
    """*NODE, NSET=a → NODE, {NSET: A}; without spaces, in capitals."""
    words = [w.strip() for w in line[1:].split(",") if w.strip()]
    options = {}
    for word in words[1:]:
        key, _, value = word.partition("=")
        options[key.strip().upper().replace(" ", "")] = value.strip().strip('"').upper()
    return (" ".join(words[0].upper().split()) if words else ""), options


def _lines(path: Path, depth: int) -> Iterator[tuple[str, str]]:
    """Lines with their places, without comments, and with included files."""
    if depth > _DEPTH:
        raise ModelError(f"{path}: is included {depth} files deep, expected at most {_DEPTH}; does it include itself?")
    found = text(path, whole=False)
    lines = found.split("\n")
    held = ""
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        where = f"{path}, line {number}"
        if not line or line.startswith("**"):
            continue
        if number == len(lines) and not line.startswith("*"):
            raise ModelError(f"{where}: has no end of line, as in a file that was cut short.")
        if held or line.startswith("*"):
            # a keyword line that ends in a comma goes on
            held += line
            if line.endswith(","):
                continue
            line, held = held, ""
        if line.upper().replace(" ", "").startswith("*INCLUDE,"):
            file = line.partition("=")[2].strip().strip('"')
            if not file:
                raise ModelError(f"{where}: *INCLUDE without a file, expected INPUT=file.")
            yield from _lines(path.parent / file, depth + 1)
            continue
        yield where, line
