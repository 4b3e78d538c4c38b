"""How liegeo compiles: one decorator, `kernel`; what comes of it is kept on disk by `_cache.py`.

Kernels are compiled by one of two modules, which is chosen when liegeo is imported:

- `_jit_entries.py` is a pipeline of our own, which compiles several times faster.  It uses parts of Numba that another
  version may change, so it is taken only up to NEWEST_TESTED, and only if no name that it uses is missing.
- `_jit_plain.py` is numba.njit: the same results to round-off.

Set LIEGEO_JIT=plain to choose numba.njit, and LIEGEO_JIT=entries to try our own pipeline on a newer Numba, as one does
before raising NEWEST_TESTED.  Set NUMBA_DISABLE_JIT=1 to run every kernel as plain Python.

Both compilers, and the functions below that make LLVM code, use these names of Numba that its documentation does not
promise: `overloads`; `entry_point`, `library.get_pointer_to_function`, `fndesc.llvm_func_name`, `signature` of what was
compiled; `make_array`, `call_conv`, `get_dummy_value` of the target context.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from liegeo.errors import InputError

# What `invoke` returns if a user's kernel raised an exception.
KERNEL_RAISED = -4

_DOUBLES = ctypes.POINTER(ctypes.c_double)
#: int f(double t, const double *q, const double *v, double *u): fills what drives a motion, returns 0 if all is well.
DRIVE_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, _DOUBLES, _DOUBLES, _DOUBLES)

#: The environment variable that chooses a compiler, and the newest Numba that `_jit_entries.py` was tested with.
SETTING, NEWEST_TESTED = "LIEGEO_JIT", (0, 68)

# What `index` promises: far beyond any memory, and a thousand of them do not overflow.
_LARGEST_OFFSET = 1 << 40

# contract: a*b + c may become one fused instruction.  No other freedom: NaN, infinities and signs stay exact.
# numpy error model: a division by zero gives inf, as the rules for kernels allow no exceptions.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}}


def _choose_compiler() -> Any:
    """Return the module that compiles kernels, with a warning if that is not our own pipeline and nobody chose so."""
    setting = os.environ.get(SETTING, "")
    if setting not in ("", "plain", "entries"):
        raise InputError(
            f"{SETTING} is '{setting}', expected 'plain' (numba.njit), 'entries' (liegeo's own pipeline) or nothing."
        )
    reason = ""
    if setting == "" and tuple(numba.version_info.short) > NEWEST_TESTED:
        newest = ".".join(map(str, NEWEST_TESTED))
        reason = f"Numba {numba.__version__} is newer than {newest}, the newest that liegeo was tested with"
    elif setting != "plain":
        try:
            entries = importlib.import_module("liegeo._jit_entries")
            missing = entries.missing()
        except ImportError as error:
            missing = [str(error)]
        if not missing:
            return entries
        reason = f"Numba {numba.__version__} lacks what liegeo's own pipeline uses ({', '.join(missing)})"
    if reason:
        warnings.warn(
            f"liegeo: {reason}. Kernels are compiled by plain numba.njit: results are the same to round-off, the first "
            f"run takes two to three times as long.\n  Nothing has to be done. {SETTING}=plain says so without this "
            f"warning; a Numba up to {'.'.join(map(str, NEWEST_TESTED))} compiles faster.",
            RuntimeWarning,
            stacklevel=2,
        )
    return importlib.import_module("liegeo._jit_plain")


_compiler: Any = None if numba.config.DISABLE_JIT else _choose_compiler()


def kernel(
    function: Callable[..., Any] | None = None, *, name: str | None = None, apart: bool = False, **options: Any
) -> Any:
    """Compile `function` for the types it is called with, once, and keep the result on disk.

    `name` labels the cache file of a function made by a factory.  `apart`: other kernels do not take its code in but
    jump to its entry, so that a large one is not translated again for each; it must stand in its module under its name.
    Other options go to Numba: `forceinline=False` for a large or rarely called kernel, `inline="always"` for one that
    returns a slice, `nogil=True` for what Python calls: other threads run meanwhile.  That costs 50 ns.
    """
    if function is None:
        return functools.partial(kernel, name=name, apart=apart, **options)
    if numba.config.DISABLE_JIT:
        return function
    return _compiler.compile_kernel(function, name or "", apart, _OPTIONS | options)


def provide(wanted: Iterable[tuple[Any, tuple[Any, ...]]]) -> None:
    """Compile kernels for argument types."""
    if not numba.config.DISABLE_JIT:
        _compiler.provide(wanted)


def address(function: Any, arguments: tuple[Any, ...]) -> tuple[int, Any]:
    """Return where the machine code of a kernel for these types is, for `invoke`, and the type of what it returns."""
    if numba.config.DISABLE_JIT:
        if function not in _PLAIN:
            _PLAIN.append(function)
        return _PLAIN.index(function) + 1, types.int64
    entry = _compiler.compiled(function, arguments)
    place = entry.library.get_pointer_to_function(entry.fndesc.llvm_func_name)
    return int(place), types.unliteral(entry.signature.return_type)


def entry(function: Any, *examples: Any) -> Any:
    """Return the compiled code of a kernel for arguments of the types of `examples`, as a function for Python.

    It saves the search for the types of arguments, 0.3 µs for eight arrays, and trusts its caller: arguments of other
    types would be read as if they were of these.
    """
    if numba.config.DISABLE_JIT:
        return function
    return _compiler.compiled(function, tuple(numba.typeof(example) for example in examples)).entry_point


invoke: Any
invoke_number: Any
# Kernels as plain Python: their addresses are places in this list, from 1.
_PLAIN: list[Any] = []

if numba.config.DISABLE_JIT:

    def index(i: Any) -> Any:
        """i; see below."""
        return i

    def fetch(array: Any, i: Any) -> None:
        """Nothing; see below."""

    def invoke(address: Any, arguments: Any) -> Any:
        """What the kernel returns that has this address; see below."""
        return _PLAIN[int(address) - 1](*arguments)

    invoke_number = invoke

    def call_address(address: Any, t: Any, q: Any, v: Any, u: Any) -> Any:
        """The C function at `address`; see below."""
        pointers = [ctypes.cast(x.ctypes.data, ctypes.POINTER(ctypes.c_double)) for x in (q, v, u)]
        return DRIVE_FUNCTION(int(address))(t, *pointers)

else:

    @intrinsic  # type: ignore[untyped-decorator]
    def index(typing_context: Any, i: Any) -> Any:
        """i, and the promise that it is an offset or a number of things: from 0 to _LARGEST_OFFSET.

        Numba lets every index count from the end, at the price of a comparison that also hides from LLVM what does not
        overlap.  Told that an offset is not negative, LLVM drops both: forward dynamics became a quarter faster.  That
        it has a bound makes sums of offsets, and small multiples of them, not negative either.
        """

        def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
            (value,) = arguments
            assume = builder.module.declare_intrinsic(
                "llvm.assume", (), ir.FunctionType(ir.VoidType(), [ir.IntType(1)])
            )
            builder.call(assume, [builder.icmp_unsigned("<", value, ir.Constant(value.type, _LARGEST_OFFSET))])
            return value

        return types.intp(types.intp), generate

    @intrinsic  # type: ignore[untyped-decorator]
    def fetch(typing_context: Any, array: Any, i: Any) -> Any:
        """Ask for the cache line of array[i], which will be read soon; it may lie behind the array's end."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            values, i = arguments
            data = context.make_array(signature.args[0])(context, builder, values).data
            place = builder.bitcast(builder.gep(data, [i]), ir.IntType(8).as_pointer())
            number = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
            ask = builder.module.declare_intrinsic("llvm.prefetch", (place.type,), kind)
            # to read, into the innermost cache, data
            builder.call(ask, [place, number(0), number(3), number(1)])
            return context.get_dummy_value()

        return types.void(array, types.intp), generate

    @intrinsic  # type: ignore[untyped-decorator]
    def call_address(typing_context: Any, address: Any, t: Any, q: Any, v: Any, u: Any) -> Any:
        """The status that the C function at `address`, of the type DRIVE_FUNCTION, returns for t and three arrays.

        The address is a number at run time, so a kernel that calls a user's function is compiled once, and cached.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place, time, *arrays = arguments
            pointers = [
                context.make_array(kind)(context, builder, array).data
                for kind, array in zip(signature.args[2:], arrays, strict=True)
            ]
            kind = ir.FunctionType(ir.IntType(32), [ir.DoubleType(), *(pointer.type for pointer in pointers)])
            function = builder.inttoptr(place, kind.as_pointer())
            return builder.sext(builder.call(function, [time, *pointers]), ir.IntType(64))

        return types.int64(types.int64, types.float64, q, v, u), generate

    def _make_invoke(result: Any) -> Any:
        @intrinsic  # type: ignore[untyped-decorator]
        def invoke(typing_context: Any, address: Any, arguments: Any) -> Any:
            """What the compiled kernel at `address` returns for a tuple of arguments: a status, or a number.

            Arrays are passed as they are: the kernel must have been compiled for contiguous ones of the same type.
            """

            def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                place, pack = values
                kinds = tuple(signature.args[1])
                unpacked = [builder.extract_value(pack, k) for k in range(len(kinds))]
                function = builder.inttoptr(place, context.call_conv.get_function_type(result, kinds).as_pointer())
                status, value = context.call_conv.call_function(builder, function, result, kinds, unpacked)
                return builder.select(status.is_ok, value, ir.Constant(value.type, KERNEL_RAISED))

            return result(types.int64, arguments), generate

        return invoke

    invoke, invoke_number = _make_invoke(types.int64), _make_invoke(types.float64)
