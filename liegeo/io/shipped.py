"""The models that come with liegeo: in the package where it is installed, in `models/` of the repository otherwise."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import BinaryIO

from liegeo.errors import InputError
from liegeo.model.checks import suggest
from liegeo.results.tables import write_whole

_PACKAGE = Path(__file__).parents[1]
# Where files that models name are, beside them.
_DATA = "data"


def folder() -> Path:
    """Where the model files are."""
    installed = _PACKAGE / "models"
    return installed if installed.is_dir() else _PACKAGE.parent / "models"


def paths() -> dict[str, Path]:
    """Model files by name."""
    return {file.stem: file for file in sorted(folder().glob("*.yaml"))}


def find(name: str) -> Path:
    """The file of a model by name."""
    known = paths()
    if name not in known:
        raise InputError(f"'{name}' is no model that comes with liegeo.{suggest(name, list(known))}")
    return known[name]


def titles() -> dict[str, str]:
    """By name: the first sentence of each file's description."""
    from liegeo.io.source import read

    out = {}
    for name, path in paths().items():
        content = read(path).data
        text = str(content.get("description", "")).strip() if isinstance(content, dict) else ""
        out[name] = " ".join(text.split(". ")[0].split())
    return out


def copy(name: str, target: Path) -> tuple[Path, ...]:
    """Write a copy of a model file, and of the data that it names, never over another file; what was written."""
    source = find(name)
    text = source.read_text("utf-8")
    # Editors find the schema where `liegeo schema` was written to, not in this repository.
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith("# yaml-language-server:")]
    content = {target: "".join(lines).encode()}
    for stem in dict.fromkeys(re.findall(rf"\b{_DATA}/(\w+)", text)):
        # programs keep what belongs together under one name
        for file in sorted((source.parent / _DATA).glob(f"{stem}.*")):
            content[target.parent / _DATA / file.name] = file.read_bytes()
    for file in content:
        if file.exists():
            raise InputError(f"{file} is there already; give another name, or remove it first.")
    for file, written in content.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, functools.partial(_write, written))
    return tuple(content)


def _write(content: bytes, file: BinaryIO) -> None:
    file.write(content)
