"""Names that a document refers to but that are nowhere in it.

What is built finds these too, but only where everything before went well: this looks at the document alone, so that a
misspelt name is reported together with mistakes of other kinds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from liegeo.io.source import Path_
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
    ("wheels", "body", "bodies"),
)


def unknown(data: Any) -> Iterator[tuple[Path_, str]]:
    """Paths of names that lead nowhere, and what to say about them."""
    there = _names(data)
    for section, key, where in _REFERENCES:
        for name, entry in _entries(data, section).items():
            value = entry.get(key) if isinstance(entry, dict) else None
            if isinstance(value, str) and not value.startswith("$") and value not in there[where]:
                kind = where.partition(" ")[0]
                yield (section, name, key), f"is '{value}', which is none of the {kind}.{suggest(value, there[where])}"
    initial = data.get("initial") if isinstance(data, dict) else None
    moving = [*there["joints"], *there["wheels"], *there["bodies"]]
    for key in ("q", "v"):
        for name in _entries(initial, key):
            if name not in moving:
                yield ("initial", key, name), f"names '{name}', which has nothing that moves.{suggest(name, moving)}"


def _entries(data: Any, section: str) -> dict[str, Any]:
    found = data.get(section) if isinstance(data, dict) else None
    return found if isinstance(found, dict) else {}


def _names(data: Any) -> dict[str, list[str]]:
    bodies, inner = [], []
    for name, entry in _entries(data, "bodies").items():
        pieces = entry.get("pieces") if isinstance(entry, dict) else None
        if pieces is None:
            bodies.append(name)
        else:
            # how many there are may be an expression: none of the first hundred is unknown
            names = [f"{name}_{k + 1}" for k in range(pieces if isinstance(pieces, int) and pieces < 100 else 100)]
            bodies += names
            inner += [f"{name}_{k + 1}-{name}_{k + 2}" for k in range(len(names) - 1)]
    joints = [*_entries(data, "joints"), *inner, *_entries(data, "wheels")]
    return {
        "materials": list(_entries(data, "materials")),
        "sections": list(_entries(data, "sections")),
        "bodies": bodies,
        "bodies and world": [*bodies, WORLD],
        "joints": joints,
        "wheels": list(_entries(data, "wheels")),
    }
