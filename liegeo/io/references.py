"""Names that a document refers to but that are nowhere in it.

What is built finds these too, but only where everything before went well: this looks at the document alone, so that a
misspelt name is reported together with mistakes of other kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any

from liegeo.errors import Path_
from liegeo.io.fields import show
from liegeo.model.checks import suggest
from liegeo.model.compiler import WORLD

# Section, key, and where the name should be.
_REFERENCES = (
    ("bodies", "material", "materials"),
    ("bodies", "section", "sections"),
    ("joints", "parent", "bodies and world"),
    ("joints", "child", "bodies"),
    ("loops", "parent", "bodies and world"),
    ("loops", "child", "bodies and world"),
    ("loops", "joint", "joints"),
    ("loops", "pinion", "joints"),
    ("loops", "rack", "joints"),
    ("forces", "joint", "joints"),
    ("sensors", "joint", "joints"),
    ("wheels", "body", "bodies"),
)


def unknown(data: Any, wanted: Callable[[Path_], bool] = lambda path: True) -> Iterator[tuple[Path_, str]]:
    """Yield paths of names that lead nowhere, and what to say about them; only those that are wanted."""
    there = _names(data)
    for path, name, where in _lost(data, {key: set(names) for key, names in there.items()}):
        if wanted(path):
            close = suggest(name, there[where])
            if where == "moving":
                yield path, f"names {show(name)}, which has nothing that moves.{close}"
            else:
                yield path, f"is {show(name)}, which is none of the {where.partition(' ')[0]}.{close}"


def _lost(data: Any, there: Mapping[str, Container[str]]) -> Iterator[tuple[Path_, str, str]]:
    """Yield paths of names that lead nowhere, the names, and where they should be."""
    for section, key, where in _REFERENCES:
        for name, entry in entries(data, section).items():
            value = entry.get(key) if isinstance(entry, dict) else None
            if isinstance(value, str) and not value.startswith("$") and value not in there[where]:
                yield (section, name, key), value, where
    initial = data.get("initial") if isinstance(data, dict) else None
    for key in ("q", "v"):
        for name in entries(initial, key):
            if name not in there["moving"]:
                yield ("initial", key, name), name, "moving"


def entries(data: Any, section: str) -> dict[str, Any]:
    """Return the entries of a section by name; none if it is no mapping."""
    found = data.get(section) if isinstance(data, dict) else None
    return found if isinstance(found, dict) else {}


def _names(data: Any) -> dict[str, list[str]]:
    bodies, inner = [], []
    for name, entry in entries(data, "bodies").items():
        pieces = entry.get("pieces") if isinstance(entry, dict) else None
        if pieces is None:
            bodies.append(name)
        else:
            # how many there are may be an expression: none of the first hundred is unknown
            names = [f"{name}_{k + 1}" for k in range(pieces if isinstance(pieces, int) and pieces < 100 else 100)]
            bodies += names
            inner += [f"{name}_{k + 1}-{name}_{k + 2}" for k in range(len(names) - 1)]
    joints = [*entries(data, "joints"), *inner, *entries(data, "wheels")]
    return {
        "materials": list(entries(data, "materials")),
        "sections": list(entries(data, "sections")),
        "bodies": bodies,
        "bodies and world": [*bodies, WORLD],
        "joints": joints,
        "wheels": list(entries(data, "wheels")),
        "moving": [*joints, *entries(data, "wheels"), *bodies],
    }
