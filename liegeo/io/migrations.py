"""Older files: one function for each version of a format, which changes a document of that version to the next one.

    def _fmus_were_units(source: Source) -> None:
        source.rename(("units",), "fmus")

A format is the tuple of its migrations: the first one leads from version 1 to version 2, and so on, so that the newest
version is one more than there are migrations.  A migration changes a Source, whose values and places change together:
problems of an older file are reported at its own lines, and under the keys that it has.

docs/extending.md has a recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from liegeo.io.source import Source

Migration = Callable[[Source], None]

#: Of model files.
MODEL_MIGRATIONS: tuple[Migration, ...] = ()


def newest(migrations: Sequence[Migration]) -> int:
    """Return the version to which all migrations together lead."""
    return 1 + len(migrations)


def migrate(source: Source, key: str, migrations: Sequence[Migration]) -> None:
    """Change a document to the newest version of its format; `key` is the one that holds its version.

    A document without a version, or with one that there is not, stays as it is: who checks it says so.
    """
    if not isinstance(source.data, dict):
        return
    version = source.data.get(key)
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        return
    for step in migrations[version - 1 :]:
        step(source)
        source.replace((key,), source.data[key] + 1)
