"""Kernels by numba.njit, for `_jit.py` where our own pipeline cannot be used or LIEGEO_JIT=plain asks for it.

Every kernel is machine code of its own here, with a wrapper for Python, and is optimised again in each that calls it.
Results are the same to round-off: what is inlined elsewhere may be contracted to other fused instructions.  What is
used beyond Numba's documentation only saves time, and is left out where Numba has changed: two options (`_FASTER`), and
the cache (`_Kept`), without which every process compiles again.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable
from typing import Any

import numba

from liegeo._cache import KernelCache

# See `_jit_entries.py`.  Code without them is half as fast, and no other in its results.
_FASTER = {"_nrt": False, "forceinline": True}


def compile_kernel(function: Callable[..., Any], name: str, apart: bool, options: dict[str, Any]) -> Any:
    """Return `function` as a kernel; see `_jit.kernel`.  One that stands `apart` is like any other."""
    unknown = [key for key in _FASTER if not _is_option(key)]
    options = {key: value for key, value in (_FASTER | options).items() if key not in unknown}
    dispatcher = numba.njit(**options)(function)
    dispatcher._cache = _Kept(function, name, f"plain {sorted(options.items(), key=str)}")
    return dispatcher


@functools.cache
def _is_option(name: str) -> bool:
    """Whether this Numba has an option that its documentation does not promise."""
    try:
        from numba.core.options import DefaultOptions
    except ImportError:
        return False
    return hasattr(DefaultOptions, name)


def provide(wanted: Iterable[tuple[Any, tuple[Any, ...]]]) -> None:
    """Compile kernels for argument types; two processes that need the same both compile it."""
    for function, arguments in wanted:
        function.compile(arguments)


def compiled(function: Any, arguments: tuple[Any, ...]) -> Any:
    """Return what a kernel became for these types."""
    function.compile(arguments)
    return function.overloads[arguments]


class _Kept(KernelCache):
    """A cache as Numba expects one of a dispatcher.

    Numba's names below have not changed for many years.  Where one has, an exception says so, and nothing is kept.
    """

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return what was compiled for a signature, or None."""
        with contextlib.suppress(AttributeError, ImportError, TypeError, ValueError):
            from numba.core.compiler import CompileResult

            context.refresh()
            found = self.load(_arguments(signature), context, "plain")
            if found is not None:
                return CompileResult._rebuild(context, *found)
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was compiled for a signature."""
        with contextlib.suppress(AttributeError, ImportError, TypeError, ValueError):
            # places in the memory of this process, of large arrays or of functions of C, are others in the next
            if not result.library.has_dynamic_globals:
                self.save(_arguments(signature), result.codegen, "plain", result._reduce())


def _arguments(signature: Any) -> tuple[Any, ...]:
    return tuple(getattr(signature, "args", signature))
