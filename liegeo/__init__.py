"""Lie-group simulation of rigid and flexible multibody systems.

Submodules load when they are first used, so that `import liegeo` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

from liegeo._version import __version__

_SUBMODULES = ("errors", "lie")

__all__ = ["__version__", *_SUBMODULES]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"liegeo.{name}")
    raise AttributeError(f"module 'liegeo' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_SUBMODULES])
