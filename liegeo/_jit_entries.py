"""Kernels by a pipeline of our own on Numba's parts: what `_jit.py` uses wherever this Numba allows it.

Numba makes machine code, and a wrapper for Python, of every function that it meets, and optimises a small one anew in
each that it is inlined into.  Here a kernel that others call is *lowered* only, to LLVM's language; where Python calls
one, or asks for its address, it becomes an *entry*: optimised once with all that it took in, and translated.  A large
one that several others call stands *apart*: they jump to its entry.  All that takes less than half the time, and gave
code that is as fast or faster.

An entry comes back from the cache as machine code alone.  Numba would also parse its LLVM code, and load all that it
needs to compile, which takes half a second: none of that is needed to run.

This is the only module that uses names which Numba calls its own, beyond the few in `_jit.py`.  `PRIVATE` lists them;
where one is missing, `_jit.py` takes `_jit_plain.py` in place of this module.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import hashlib
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from filelock import Timeout
from llvmlite import binding, ir
from numba.core import typing
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen, JitEngine
from numba.core.compiler import Compiler, CompileResult, compile_result
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUContext
from numba.core.errors import ForceLiteralArg
from numba.core.event import trigger_event
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.sigutils import normalize_signature

from liegeo._cache import KernelCache

#: By class, the names that this module uses: methods, and attributes that the class sets when it is made.
PRIVATE = (
    (
        JITCodeLibrary,
        "_codegen _dynamic_globals _ensure_finalized _final_module _finalize_dynamic_globals _finalize_final_module "
        "_finalized _get_compiled_object _get_module_for_linking _linking_libraries _optimize_final_module "
        "_reload_init _set_compiled_object create_ir_module enable_object_caching get_pointer_to_function",
    ),
    (JITCPUCodegen, "_engine _module_pass_manager magic_tuple set_env"),
    (JitEngine, "_defined_symbols"),
    (CompileResult, "_find_referenced_environments"),
    (CPUContext, "codegen create_cpython_wrapper declare_function get_executable insert_user_function refresh"),
    (CPUDispatcher, "_cache_hits _compiler _compiling_counter _insert nopython_signatures overloads"),
)
# no nrt: arrays are borrowed, never counted.  Numba would otherwise touch an atomic counter at every slice, which made
# loops over small kernels five times slower; and a kernel that allocates now fails to compile, as our rules want.
# forceinline: passing a small array costs more than what most kernels do with it.  Large ones say forceinline=False.
_OPTIONS: dict[str, Any] = {"nopython": True, "boundscheck": None, "_nrt": False, "forceinline": True}


def missing() -> list[str]:
    """Return the names of `PRIVATE` that this Numba does not have."""
    return [f"{owner.__name__}.{name}" for owner, names in PRIVATE for name in names.split() if not _has(owner, name)]


def _has(owner: type, name: str) -> bool:
    if hasattr(owner, name):
        return True
    codes = (getattr(member, "__code__", None) for base in owner.__mro__ for member in vars(base).values())
    return any(name in code.co_names for code in codes if code is not None)


def compile_kernel(function: Callable[..., Any], name: str, apart: bool, options: dict[str, Any]) -> Any:
    """Return `function` as a kernel; see `_jit.kernel`."""
    # Numba asks twice, and makes it anew each time: a tenth of what loading all kernels takes
    function.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    dispatcher = _Kernel(function, targetoptions=_OPTIONS | options)
    dispatcher._cache = KernelCache(function, name, f"{apart} {sorted(options.items(), key=str)}")
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


def compiled(function: Any, arguments: tuple[Any, ...]) -> Any:
    """Return what a kernel, or a function of numba.njit, became for these types."""
    function.compile(arguments)
    return function.entries[arguments] if isinstance(function, _Kernel) else function.overloads[arguments]


# What Numba's own cache looks for in code that it must not keep; only the beginning counts.
_NOT_TO_BE_KEPT = "numba.dynamic.globals.of.a.jump"

# Kernels that machine code jumps to: module, name and argument types of each.
_Jumps = frozenset[tuple[str, str, tuple[Any, ...]]]


class _Lowered(JITCodeLibrary):
    """A kernel in LLVM's language, with all that it calls, for others to take in: no machine code."""

    jumps: _Jumps = frozenset()
    # Whether places in the memory of this process are built into it: of a large array, or of a function of C.
    fixed: bool = False
    # This function and all that it calls as they are before anything is inlined: LLVM's bitcode by its digest.
    parts: Mapping[bytes, bytes] = MappingProxyType({})

    def finalize(self) -> None:
        # before the passes, which turn them into plain numbers
        self._finalize_dynamic_globals()
        self.fixed = bool(self._dynamic_globals)
        parts = _by_digest(self._final_module)
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self.jumps |= getattr(library, "jumps", frozenset())
            self.fixed |= bool(getattr(library, "fixed", False) or library._dynamic_globals)
            module = library._get_module_for_linking()
            parts |= getattr(library, "parts", None) or _by_digest(module)
            self._final_module.link_in(module, preserve=True)
        self.parts = parts
        # inlines what must be, and cleans up a little, so that what is taken in by many is small
        passes, builder = self._codegen._module_pass_manager(
            loop_vectorize=False, slp_vectorize=False, opt=0, cost="cheap"
        )
        passes.run(self._final_module, builder)
        self._finalized = True


def _by_digest(module: Any) -> dict[bytes, bytes]:
    content = module.as_bitcode()
    return {hashlib.sha256(content).digest(): content}


class _Entry(JITCodeLibrary):
    """Machine code of a kernel and all that it took in."""

    def _optimize_final_module(self) -> None:
        # Once: Numba does it twice, so that it finds reference counts to remove in between, and here are none.
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)

    def load(self, machine_code: bytes, symbols: Iterable[str]) -> None:
        """Take machine code that defines `symbols`; LLVM asks for it when it translates the empty module."""
        self.enable_object_caching()
        self._set_compiled_object(machine_code)
        self._finalize_final_module()
        self._codegen._engine._defined_symbols.update(symbols)


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
        context = self.targetctx
        found = self._cache.load(args, context, "entry")
        if found is None:
            return None
        jumps, machine_code, counts, reload_init, fndesc, environment, signature, environments = found
        for function in reload_init:
            function()
        _provide_jumps(jumps)
        if counts:
            rtsys.initialize(context)
        library = _Entry(context.codegen(), fndesc.qualname)
        library.load(machine_code, (fndesc.llvm_func_name, fndesc.llvm_cpython_wrapper_name))
        self._cache_hits[args] += 1
        entry = _result(context, library, fndesc, environment, signature)
        return _executable(entry, environments)

    def _load_lowered(self, args: tuple[Any, ...]) -> CompileResult | None:
        context = self.targetctx
        found = self._cache.load(args, context, "lowered")
        if found is None:
            return None
        bitcode, parts, jumps, fndesc, environment, signature = found
        library = _Lowered(context.codegen(), fndesc.qualname)
        library.jumps, library.parts = jumps, parts
        library._final_module = binding.parse_bitcode(bitcode)
        library._finalized = True
        return _result(context, library, fndesc, environment, signature)

    def _save_lowered(self, args: tuple[Any, ...], lowered: CompileResult) -> None:
        library, fndesc = lowered.library, lowered.fndesc
        library._ensure_finalized()
        if library.fixed:
            return
        # of no more use, and not to be pickled
        fndesc.typemap = fndesc.calltypes = None
        code = library._final_module.as_bitcode(), library.parts, library.jumps
        self._cache.save(args, lowered.codegen, "lowered", (*code, fndesc, lowered.environment, lowered.signature))

    def _compiling(self, args: tuple[Any, ...]) -> Any:
        return trigger_event("numba:compile", data={"dispatcher": self, "args": args, "return_type": None})

    def _lower(self, args: tuple[Any, ...], keep: bool) -> CompileResult:
        """This function in LLVM's language for these types; `keep` it on disk too."""
        with global_compiler_lock, self._compiling_counter:
            if args not in self.overloads:
                self.targetctx.refresh()
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
            library, fndesc = lowered.library, entry.fndesc
            # of no more use, and not to be pickled
            fndesc.typemap = fndesc.calltypes = None
            # a function of numba.njit that a kernel calls may count references
            counts = any(function.name.startswith("NRT_") for function in entry.library._final_module.functions)
            code = entry.library._get_compiled_object(), counts, tuple(library._reload_init)
            parts = fndesc, entry.environment, entry.signature, tuple(entry._find_referenced_environments())
            self._cache.save(args, entry.codegen, "entry", (library.jumps, *code, *parts))
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
        entry = lowered._replace(library=library)
        return _executable(entry, entry._find_referenced_environments())


def _result(context: Any, library: Any, fndesc: Any, environment: Any, signature: Any) -> CompileResult:
    """Return in Numba's form what a kernel became."""
    return compile_result(
        typing_context=context.typing_context,
        target_context=context,
        library=library,
        fndesc=fndesc,
        environment=environment,
        signature=signature,
        objectmode=False,
    )


def _executable(entry: CompileResult, environments: Iterable[Any]) -> CompileResult:
    """Return an entry with the function that Python calls."""
    function = entry.target_context.get_executable(entry.library, entry.fndesc, entry.environment)
    for referenced in environments:
        entry.codegen.set_env(referenced.env_name, referenced)
    return entry._replace(entry_point=function)


def _provide_jumps(jumps: _Jumps) -> None:
    """Before machine code is loaded, what it jumps to must be there."""
    for module, name, args in jumps:
        kernel_named(module, name).provide(args)


def kernel_named(module: str, name: str) -> Any:
    """Return a kernel that stands apart, by where it stands."""
    return getattr(importlib.import_module(module), name)


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
