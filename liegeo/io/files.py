"""Model files in YAML: docs/models.md describes the format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from liegeo.io import source
from liegeo.io.build import build
from liegeo.io.mechanism import Mechanism


def read_model(path: Path, set: Mapping[str, Any] | None = None) -> Mechanism:  # noqa: A002
    """The mechanism in a model file, or a ModelFileError with all that is wrong with it."""
    return build(source.read(path), path, dict(set or {}))
