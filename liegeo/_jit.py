"""How liegeo compiles: one decorator, `kernel`; what comes of it is kept on disk by _cache.py.

Numba makes machine code, and a wrapper for Python, of every function that it meets, and optimises a small one anew in
each that it is inlined into.  Here a kernel that others call is *lowered* only, to LLVM's language; where Python calls
one, or asks for its address, it becomes an *entry*: optimised once with all that it took in, and translated.  A large
one that several others call stands *apart*: they jump to its entry.  All that takes less than half the time, and gave
code that is as fast or faster.

Set NUMBA_DISABLE_JIT=1 to run every kernel as plain Python.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import functools
import gc
import importlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numba
from filelock import Timeout
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils, typing
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, compile_result
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import ForceLiteralArg
from numba.core.event import trigger_event
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature
from numba.extending import intrinsic

from liegeo._cache import KernelCache

# What `invoke` returns if a user's kernel raised an exception.
KERNEL_RAISED = -4

_DOUBLES = ctypes.POINTER(ctypes.c_double)
#: int f(double t, const double *q, const double *v, double *u): fills what drives a motion, returns 0 if all is well.
DRIVE_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, _DOUBLES, _DOUBLES, _DOUBLES)

# What `index` promises: far beyond any memory, and a thousand of them do not overflow.
_LARGEST_OFFSET = 1 << 40

# contract: a*b + c may become one fused instruction.  No other freedom: NaN, infinities and signs stay exact.
# numpy error model: a division by zero gives inf, as the rules for kernels allow no exceptions.
# no nrt: arrays are borrowed, never counted.  Numba would otherwise touch an atomic counter at every slice, which made
# loops over small kernels five times slower; and a kernel that allocates now fails to compile, as our rules want.
# forceinline: passing a small array costs more than what most kernels do with it.  Large ones say forceinline=False.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}, "_nrt": False, "forceinline": True}


def kernel(
    function: Callable[..., Any] | None = None, *, name: str | None = None, apart: bool = False, **options: Any
) -> Any:
    """Compile `function` for the types it is called with, once, and keep the result on disk.

    `name` labels the cache file of a function made by a factory.  `apart`: other kernels do not take its code in but
    jump to its entry, so that a large one is not translated again for each; it must stand in its module under its name.
    Other options go to Numba: `forceinline=False` for a large or rarely called kernel, `inline="always"` for one that
    returns a slice.
    """
    if function is None:
        return functools.partial(kernel, name=name, apart=apart, **options)
    if numba.config.DISABLE_JIT:
        return function
    dispatcher = _Kernel(function, targetoptions={"nopython": True, "boundscheck": None} | _OPTIONS | options)
    dispatcher._cache = KernelCache(function, name or "", f"{apart} {sorted(options.items())}")
    dispatcher.apart = apart
    return dispatcher


def provide(wanted: Iterable[tuple[Any, tuple[Any, ...]]]) -> None:
    """Compile kernels for argument types, those first that no other process is compiling."""
    later = []
    with global_compiler_lock:
        for function, arguments in wanted:
            if isinstance(function, _Kernel):
                try:
                    function.provide(arguments, patience=0.0)
                except Timeout:
                    later.append((function, arguments))
        for function, arguments in later:
            function.provide(arguments)


def address(function: Any, arguments: tuple[Any, ...]) -> tuple[int, Any]:
    """Where the machine code of a kernel for these types is, and the type of what it returns."""
    function.compile(arguments)
    entry = function.entries[arguments] if isinstance(function, _Kernel) else function.overloads[arguments]
    place = entry.library.get_pointer_to_function(entry.fndesc.llvm_func_name)
    return int(place), types.unliteral(entry.signature.return_type)


invoke: Any
invoke_number: Any

if numba.config.DISABLE_JIT:

    def index(i: Any) -> Any:
        """i; see below."""
        return i

    def fetch(array: Any, i: Any) -> None:
        """Nothing; see below."""

    # Only compiled kernels have addresses.
    invoke = invoke_number = None

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
                unpacked = cgutils.unpack_tuple(builder, pack, len(kinds))
                function = builder.inttoptr(place, context.call_conv.get_function_type(result, kinds).as_pointer())
                status, value = context.call_conv.call_function(builder, function, result, kinds, unpacked)
                return builder.select(status.is_ok, value, ir.Constant(value.type, KERNEL_RAISED))

            return result(types.int64, arguments), generate

        return invoke

    invoke, invoke_number = _make_invoke(types.int64), _make_invoke(types.float64)


# What Numba's own cache looks for in code that it must not keep; only the beginning counts.
_NOT_TO_BE_KEPT = "numba.dynamic.globals.of.a.jump"

# Kernels that machine code jumps to: module, name and argument types of each.
_Jumps = frozenset[tuple[str, str, tuple[Any, ...]]]


class _Lowered(JITCodeLibrary):
    """A kernel in LLVM's language, with all that it calls, for others to take in: no machine code."""

    jumps: _Jumps = frozenset()
    # Whether places in the memory of this process are built into it: of a large array, or of a function of C.
    fixed: bool = False

    def finalize(self) -> None:
        # before the passes, which turn them into plain numbers
        self._finalize_dynamic_globals()
        self.fixed = bool(self._dynamic_globals)
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self.jumps |= getattr(library, "jumps", frozenset())
            self.fixed |= bool(getattr(library, "fixed", False) or library._dynamic_globals)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        # inlines what must be, and cleans up a little, so that what is taken in by many is small
        passes, builder = self._codegen._module_pass_manager(
            loop_vectorize=False, slp_vectorize=False, opt=0, cost="cheap"
        )
        passes.run(self._final_module, builder)
        self._finalized = True


class _Entry(JITCodeLibrary):
    """Machine code of a kernel and all that it took in."""

    def _optimize_final_module(self) -> None:
        # Once: Numba does it twice, so that it finds reference counts to remove in between, and here are none.
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)


class _Lowering(Compiler):
    """Numba's pipeline, up to LLVM's language."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        self.state.library = _Lowered(self.state.targetctx.codegen(), func.__qualname__)
        flags = self.state.flags
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        return super().compile_extra(func)


class _Kernel(CPUDispatcher):
    """A function with what became of it: by argument types, `overloads` lowered, and `entries` for Python."""

    def __init__(self, py_func: Callable[..., Any], *others: Any, **options: Any) -> None:
        super().__init__(py_func, *others, **options, pipeline_class=_Lowering)
        self._cache = KernelCache(py_func)
        self.apart = False
        self.entries: dict[tuple[Any, ...], CompileResult] = {}

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """For Numba: another kernel calls this one."""
        signature, args = self._compiler.fold_argument_types(args, kws)
        lowered = self._lower(tuple(args), keep=True)
        # now, for if it is not one of ours nobody provides them later
        _provide_jumps(lowered.library.jumps)
        if self.apart:
            self.provide(tuple(args))
        name = self.py_func.__name__
        template = typing.make_concrete_template(f"CallTemplate({name})", name, self.nopython_signatures)
        return template, signature, args, {}

    def compile(self, sig: Any) -> Any:
        """For Numba: what Python can call; and for `address`."""
        args = tuple(normalize_signature(sig)[0])
        with global_compiler_lock:
            self.provide(args)
            return self.entries[args].entry_point

    def provide(self, args: tuple[Any, ...], patience: float = -1.0) -> None:
        """Load or make the entry for these types; Timeout if another process is at it for more seconds than that."""
        if args in self.entries:
            return
        entry = self._load_entry(args)
        if entry is None:
            with self._cache.alone(args, self.targetctx, patience):
                # again, for another process may have been at it
                entry = self._load_entry(args) or self._make_entry(args)
        self.entries[args] = entry
        self._insert([a._code for a in args], entry.entry_point, False)
        if self.apart:
            place = entry.library.get_pointer_to_function(entry.fndesc.llvm_func_name)
            binding.add_symbol(self._cache.symbol(args, entry.codegen), place)

    def _load_entry(self, args: tuple[Any, ...]) -> CompileResult | None:
        found = self._cache.load(args, self.targetctx, "entry")
        if found is None:
            return None
        jumps, parts = found
        _provide_jumps(jumps)
        self._cache_hits[args] += 1
        return CompileResult._rebuild(self.targetctx, *parts)

    def _load_lowered(self, args: tuple[Any, ...]) -> CompileResult | None:
        context = self.targetctx
        found = self._cache.load(args, context, "lowered")
        if found is None:
            return None
        bitcode, jumps, fndesc, environment, signature = found
        library = _Lowered(context.codegen(), fndesc.qualname)
        library.jumps = jumps
        library._final_module = binding.parse_bitcode(bitcode)
        library._finalized = True
        return compile_result(
            typing_context=context.typing_context,
            target_context=context,
            library=library,
            fndesc=fndesc,
            environment=environment,
            signature=signature,
            objectmode=False,
        )

    def _save_lowered(self, args: tuple[Any, ...], lowered: CompileResult) -> None:
        library, fndesc = lowered.library, lowered.fndesc
        library._ensure_finalized()
        if library.fixed:
            return
        # of no more use, and not to be pickled
        fndesc.typemap = fndesc.calltypes = None
        parts = library._final_module.as_bitcode(), library.jumps, fndesc, lowered.environment, lowered.signature
        self._cache.save(args, lowered.codegen, "lowered", parts)

    def _compiling(self, args: tuple[Any, ...]) -> Any:
        return trigger_event("numba:compile", data={"dispatcher": self, "args": args, "return_type": None})

    def _lower(self, args: tuple[Any, ...], keep: bool) -> CompileResult:
        """This function in LLVM's language for these types; `keep` it on disk too."""
        with global_compiler_lock, self._compiling_counter:
            if args not in self.overloads:
                lowered = self._load_lowered(args)
                if lowered is None:
                    try:
                        with self._compiling(args):
                            lowered = self._compiler.compile(args, None)
                    except ForceLiteralArg as error:
                        # of Numba's protocol
                        raise error.bind_fold_arguments(  # pragma: no cover
                            lambda args, kws: self._compiler.fold_argument_types(args, kws)[1]
                        ) from None
                    if keep:
                        self._save_lowered(args, lowered)
                # what Numba knows a callee by; its own is the function that Python calls
                lowered = lowered._replace(entry_point=object())
                self.overloads[args] = lowered
                seen = self._seen_from_outside(args, lowered) if self.apart else (lowered.fndesc, lowered.library)
                self.targetctx.insert_user_function(lowered.entry_point, seen[0], [seen[1]])
            return self.overloads[args]

    def _seen_from_outside(self, args: tuple[Any, ...], lowered: CompileResult) -> tuple[Any, _Lowered]:
        """What others know of one that stands apart: the name of a symbol, and what is needed so that it is there."""
        fndesc = copy.copy(lowered.fndesc)
        fndesc.mangled_name, fndesc.inline = self._cache.symbol(args, lowered.codegen), False
        library = _Lowered(lowered.codegen, fndesc.mangled_name)
        module = library.create_ir_module(fndesc.mangled_name)
        self.targetctx.declare_function(module, fndesc)
        # for callers that Numba compiles and would keep: its cache knows no jumps
        mark = ir.GlobalVariable(module, ir.IntType(8), _NOT_TO_BE_KEPT)
        mark.linkage, mark.initializer = "weak", ir.Constant(ir.IntType(8), 0)
        library._final_module, library._finalized = binding.parse_assembly(str(module)), True
        library.jumps = frozenset({(self.py_func.__module__, self.py_func.__name__, args)})
        return fndesc, library

    def _make_entry(self, args: tuple[Any, ...]) -> CompileResult:
        """Lower, optimise, translate, wrap for Python, and keep."""
        with self._compiling(args), _no_collection():
            lowered = self._lower(args, keep=self.apart)
            _provide_jumps(lowered.library.jumps)
            entry = self._wrap(lowered)
        if not lowered.library.fixed:
            self._cache.save(args, entry.codegen, "entry", (lowered.library.jumps, entry._reduce()))
        return entry

    def _wrap(self, lowered: CompileResult) -> CompileResult:
        """Machine code that Python can call."""
        context, fndesc, environment = self.targetctx, lowered.fndesc, lowered.environment
        library = _Entry(context.codegen(), fndesc.qualname)
        library.enable_object_caching()
        lowered.library._ensure_finalized()
        library._reload_init.update(lowered.library._reload_init)
        library._final_module.link_in(lowered.library._final_module, preserve=True)
        nogil = bool(self.targetoptions.get("nogil"))
        context.create_cpython_wrapper(library, fndesc, environment, call_helper=None, release_gil=nogil)
        entry = lowered._replace(library=library, entry_point=context.get_executable(library, fndesc, environment))
        for referenced in entry._find_referenced_environments():
            library.codegen.set_env(referenced.env_name, referenced)
        return entry


def _provide_jumps(jumps: _Jumps) -> None:
    """Before machine code is loaded, what it jumps to must be there."""
    for module, name, args in jumps:
        getattr(importlib.import_module(module), name).provide(args)


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Without looking for garbage, which Numba makes little of: a tenth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
