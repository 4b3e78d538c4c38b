"""Names and modules that load when they are first used: `import liegeo` then costs nothing.

A package states its names twice, because editors and type checkers read source and do not run it:

    if TYPE_CHECKING:
        from liegeo.simulation import simulate as simulate
    else:
        __getattr__, __dir__, __all__ = attach(__name__, {"liegeo.simulation": ("simulate",)})

tests/test_public_names.py compares the two.

A module states in the same way a large library that few of its users need:

    if TYPE_CHECKING:
        import scipy.sparse as sp
    else:
        sp = late("scipy.sparse")
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def attach(
    package: str, names: Mapping[str, Iterable[str]], submodules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return __getattr__, __dir__ and __all__ of a package whose public `names` are listed by the module of each."""
    module_of = {name: module for module, held in names.items() for name in held}
    modules = tuple(submodules)
    public = sorted([*module_of, *modules])

    def get(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(module_of[name]), name)
        # found without this function from now on
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: public, public


def late(name: str) -> Any:
    """Return what stands for a module, and imports it when one of its attributes is first asked for."""
    return _Late(name)


class _Late:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(importlib.import_module(self._name), attribute)
        # found without this function from now on
        setattr(self, attribute, value)
        return value
