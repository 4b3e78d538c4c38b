"""How liegeo compiles: one decorator, `kernel`, and the on-disk cache behind it.

Numba makes machine code, and a wrapper for Python, of every function that it meets, and optimises a small one anew in
each that it is inlined into.  Here a kernel that others call is *lowered* only, to LLVM's language; where Python calls
one, or asks for its address, it becomes an *entry*: optimised once with all that it took in, and translated.  That
takes two thirds of the time, and gave code that is as fast or faster.

Numba's own cache looks only at the file that holds a function.  A kernel that calls another file's kernel has that
one's code inside it, so after an edit below it would silently run the old mathematics; and two processes that
fill one index at the same moment can exchange their entries.  Here the name of a cache file is a digest of everything
that went into it (all kernel sources, Numba, processor, function, argument types): an entry is either right or not
found, and writing is one atomic rename.

Set LIEGEO_CACHE_DIR to choose the folder, NUMBA_DISABLE_JIT=1 to run every kernel as plain Python.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import functools
import gc
import hashlib
import importlib
import os
import pickle
import re
import shutil
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType, NoneType
from typing import Any

import numba
import numpy as np
from filelock import FileLock, Timeout
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils, typing
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, compile_result
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import ForceLiteralArg
from numba.core.event import trigger_event
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature
from numba.extending import intrinsic
from platformdirs import user_cache_path

# Packages whose machine code can end up inside a kernel; missing ones are skipped.  They import with `from`.
COMPILED_PACKAGES = ("lie", "kernels", "integrate")

# What these hold is known from their versions, or from `source_stamp`.
_KNOWN = frozenset({"liegeo", "llvmlite", "math", "cmath", "numba", "numpy", "scipy"})
# Values that are what they look like.
_CONSTANTS = (bool, int, float, complex, str, bytes, NoneType, np.generic, np.dtype, types.Type)

# A folder of an older version of the sources that nobody has used for this long is deleted.
_KEEP_SECONDS = 14 * 24 * 3600

# What `invoke` returns if a user's kernel raised an exception.
KERNEL_RAISED = -4

_DOUBLES = ctypes.POINTER(ctypes.c_double)
#: int f(double t, const double *q, const double *v, double *u): fills what drives a motion, returns 0 if all is well.
DRIVE_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, _DOUBLES, _DOUBLES, _DOUBLES)

# What `index` promises: far beyond any memory, and a thousand of them do not overflow.
_LARGEST_OFFSET = 1 << 40

#: Numba's name for the event that it waits for another process, which compiles what is needed here too.
WAITING = "liegeo:waiting"

# Length of the digest that stands before the content of a cache file.
_SEAL = hashlib.sha256().digest_size

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
    dispatcher._cache = _ContentCache(function, name or "")
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


@functools.cache
def cache_folder(module: str) -> Path:
    """The folder of this version of a module's kernels; `liegeo` may be deleted there at any time."""
    root = Path(os.environ.get("LIEGEO_CACHE_DIR") or user_cache_path("liegeo")) / "kernels"
    folder = root / source_stamp(module)
    # as new: `_delete_unused` takes what nobody reads
    with contextlib.suppress(OSError):
        os.utime(folder)
    return folder


def is_cold(module: str) -> bool:
    """Nothing of this version of a module's kernels has been compiled on this machine."""
    return not numba.config.DISABLE_JIT and not cache_folder(module).exists()


@functools.cache
def source_stamp(module: str) -> str:
    """A digest of the text of every source file that can end up inside a kernel of this module.

    Of one of ours these are what it imports, and what that imports; of anybody else's, all.
    """
    texts = _sources()
    found, wanted = {"liegeo._jit"}, [module] if module in texts else list(texts)
    while wanted:
        name = wanted.pop()
        if name in texts and name not in found:
            found.add(name)
            wanted += _imports(texts[name])
    digest = hashlib.sha256()
    for name in sorted(found):
        digest.update(f"{name}\0{texts[name]}\0".encode())
    return digest.hexdigest()[:16]


@functools.cache
def _sources() -> dict[str, str]:
    """The text of every module whose machine code can end up inside a kernel."""
    package = Path(__file__).parent
    files = [Path(__file__)]
    for folder in COMPILED_PACKAGES:
        files += sorted((package / folder).rglob("*.py"))
    names = (("liegeo", *file.relative_to(package).with_suffix("").parts) for file in files)
    return {
        ".".join(name).removesuffix(".__init__"): file.read_text("utf-8")
        for name, file in zip(names, files, strict=True)
    }


def _imports(text: str) -> list[str]:
    """The names of ours that a source may import: modules, and things inside them, which are no modules."""
    out = []
    for base, names in re.findall(r"^\s*from (liegeo[\w.]*) import (\([^)]*\)|.*)$", text, re.MULTILINE):
        out += [base, *(f"{base}.{name}" for name in re.findall(r"\w+", names))]
    return out


def _identity(function: Callable[..., Any], above: tuple[Any, ...] = ()) -> str | None:
    """A digest of what a function is: its code, the constants it uses, and the functions it calls or closes over.

    `source_stamp` covers our own files; this covers a user's functions, and factories that make several from one text.
    `above` are the functions that led here, so that one that calls itself comes to an end.  None if the function uses
    something of which nobody knows whether it will be the same tomorrow.
    """
    code = function.__code__
    above = (*above, function)
    parts = [function.__module__, function.__qualname__, str(code.co_firstlineno), _text(code)]
    values = [cell.cell_contents for cell in function.__closure__ or ()]
    for name in code.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType) and not _is_known(value.__name__):
            values += [getattr(value, attribute, None) for attribute in code.co_names]
        else:
            values.append(value)
    for value in values:
        part = _mark(value, above)
        if part is None:
            return None
        parts.append(part)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _mark(value: Any, above: tuple[Any, ...]) -> str | None:
    """What tells a value that a function uses from others; None if nothing does."""
    cache = getattr(value, "_cache", None)
    if isinstance(cache, _ContentCache):
        return cache.identity if cache.lasting else None
    # of a function that Numba compiled, or that makes code for it, the one that was written
    written = getattr(value, "py_func", getattr(value, "_defn", value))
    if isinstance(written, FunctionType):
        return "" if written in above or _is_known(written.__module__) else _identity(written, above)
    if isinstance(value, tuple):
        marks = [_mark(item, above) for item in value]
        return None if None in marks else f"{type(value).__name__} {marks}"
    if isinstance(value, np.ndarray):
        # Numba builds arrays from outside into the code, as constants
        return f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, _CONSTANTS):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, ModuleType | type | BuiltinFunctionType | np.ufunc):
        return str(value.__name__)
    return None


def _text(code: CodeType) -> str:
    """What a function was compiled to by Python, with those inside it."""
    inside = (_text(c) if isinstance(c, CodeType) else f"{type(c).__name__} {c!r}" for c in code.co_consts)
    return " ".join([code.co_code.hex(), *code.co_names, *inside])


def _is_known(module: str | None) -> bool:
    """Whether `source_stamp`, or the version of a package, says what a module holds."""
    return (module or "").split(".")[0] in _KNOWN


@functools.cache
def announce() -> None:
    """Say once why nothing seems to happen."""
    if sys.stderr is not None:
        sys.stderr.write(
            "liegeo: compiling kernels for this machine, half a minute or more; from then on they come from a cache.\n"
        )
        sys.stderr.flush()


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
        self._cache = _ContentCache(py_func, "")
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
        entry = self._cache.load_entry(args, self.targetctx)
        if entry is not None:
            self._cache_hits[args] += 1
        return entry

    def _compiling(self, args: tuple[Any, ...]) -> Any:
        return trigger_event("numba:compile", data={"dispatcher": self, "args": args, "return_type": None})

    def _lower(self, args: tuple[Any, ...], keep: bool) -> CompileResult:
        """This function in LLVM's language for these types; `keep` it on disk too."""
        with global_compiler_lock, self._compiling_counter:
            if args not in self.overloads:
                lowered = self._cache.load_lowered(args, self.targetctx)
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
                        self._cache.save_lowered(args, lowered)
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


class _ContentCache:
    """What became of one function, each in a file named by a digest of what it was made from."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._module = function.__module__
        identity = _identity(function)
        #: whether a later process can know that it is the same
        self.lasting = identity is not None
        self.identity = f"{source_stamp(self._module)} {identity or uuid.uuid4().hex}"
        self._label = (name or f"{function.__module__}.{function.__qualname__}").replace("<locals>", "")

    @property
    def cache_path(self) -> str:
        """For Numba's statistics."""
        return str(cache_folder(self._module))

    def load_entry(self, args: tuple[Any, ...], context: Any) -> CompileResult | None:
        found = self._load(args, context, "entry")
        if found is None:
            return None
        jumps, parts = found
        _provide_jumps(jumps)
        return CompileResult._rebuild(context, *parts)

    def load_lowered(self, args: tuple[Any, ...], context: Any) -> CompileResult | None:
        parts = self._load(args, context, "lowered")
        if parts is None:
            return None
        bitcode, jumps, fndesc, environment, signature = parts
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

    @contextlib.contextmanager
    def alone(self, args: tuple[Any, ...], context: Any, patience: float) -> Iterator[None]:
        """Of all processes only one is in here, for one entry: two would compile the same."""
        path = self._path(args, context.codegen(), "lock")
        lock = FileLock(path)
        try:
            _make_folder(path.parent)
            with trigger_event(WAITING):
                lock.acquire(timeout=patience, poll_interval=0.02)
        except Timeout:
            raise
        except (OSError, NotImplementedError):
            # A folder that cannot be written, a disk without locks: then both compile.
            yield
            return
        try:
            yield
        finally:
            lock.release()
            # who waits for it has it open, and does not mind
            with contextlib.suppress(OSError):
                path.unlink()

    def save_lowered(self, args: tuple[Any, ...], lowered: CompileResult) -> None:
        lowered.library._ensure_finalized()
        if lowered.library.fixed:
            return
        # of no more use, and not to be pickled
        lowered.fndesc.typemap = lowered.fndesc.calltypes = None
        library = lowered.library
        parts = (
            library._final_module.as_bitcode(),
            library.jumps,
            lowered.fndesc,
            lowered.environment,
            lowered.signature,
        )
        self.save(args, lowered.codegen, "lowered", parts)

    def _load(self, args: tuple[Any, ...], context: Any, kind: str) -> tuple[Any, ...] | None:
        context.refresh()
        if not self.lasting:
            return None
        try:
            content = self._path(args, context.codegen(), kind).read_bytes()
        except OSError:
            if sys.stderr is not None and sys.stderr.isatty():
                announce()
            return None
        seal, payload = content[:_SEAL], content[_SEAL:]
        # Nothing is unpickled, let alone run, that is not what was written.
        if hashlib.sha256(payload).digest() != seal:
            return None
        return tuple(pickle.loads(payload))

    def save(self, args: tuple[Any, ...], codegen: Any, kind: str, parts: tuple[Any, ...]) -> None:
        if not self.lasting:
            return
        path = self._path(args, codegen, kind)
        temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
        try:
            _make_folder(path.parent)
            payload = dumps(parts)
            temporary.write_bytes(hashlib.sha256(payload).digest() + payload)
            temporary.replace(path)
        except OSError:
            # A read-only home or a full disk costs a compilation next time, not a result now.
            with contextlib.suppress(OSError):
                temporary.unlink()

    def symbol(self, args: tuple[Any, ...], codegen: Any) -> str:
        """The name by which machine code finds the entry, the same in every process."""
        return f"liegeo.{self._label}-{self._digest(args, codegen)}"

    def _path(self, args: tuple[Any, ...], codegen: Any, kind: str) -> Path:
        return cache_folder(self._module) / f"{self._label}-{self._digest(args, codegen)}.{kind}"

    def _digest(self, args: tuple[Any, ...], codegen: Any) -> str:
        parts = (self.identity, repr(args), repr(codegen.magic_tuple()), numba.__version__, sys.version, str(_OPTIONS))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def _make_folder(folder: Path) -> None:
    if not folder.exists():
        _delete_unused(folder.parent)
        folder.mkdir(parents=True, exist_ok=True)


def _delete_unused(root: Path) -> None:
    """Delete the folders of other versions of the sources that nobody used for a fortnight."""
    if not root.exists():
        return
    for folder in root.iterdir():
        # LIEGEO_CACHE_DIR may hold other people's folders: only names that `source_stamp` makes are ours.
        if (
            re.fullmatch("[0-9a-f]{16}", folder.name)
            and folder.is_dir()
            and time.time() - folder.stat().st_mtime > _KEEP_SECONDS
        ):
            shutil.rmtree(folder, ignore_errors=True)
