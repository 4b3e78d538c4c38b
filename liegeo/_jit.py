"""How liegeo compiles: one decorator, `kernel`, and the on-disk cache behind it.

Numba's own cache looks only at the file that holds a function.  A kernel that calls another file's kernel has that
one's machine code inside it, so after an edit below it would silently run the old mathematics; and two processes that
fill one index at the same moment can exchange their entries.  Here the name of a cache file is a digest of everything
that went into it (all kernel sources, Numba, processor, function, argument types): an entry is either right or not
found, and writing is one atomic rename.

Numba also makes machine code and two wrappers of every function.  Most of ours are only ever called by others, into
which they are inlined, so a kernel is compiled in two stages: a *part*, which is LLVM's intermediate code with that of
all it calls, for the kernels around it; and the *whole*, optimised machine code with its wrappers, made from the part
when it is called from Python or its address is taken.  That took almost half off the time to the first result.

Set LIEGEO_CACHE_DIR to choose the folder, NUMBA_DISABLE_JIT=1 to run every kernel as plain Python.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import inspect
import os
import pickle
import re
import shutil
import sys
import time
import uuid
import weakref
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils, compiler, errors, sigutils
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.serialize import dumps
from numba.core.typing import make_concrete_template
from numba.extending import intrinsic
from platformdirs import user_cache_path

try:
    from numba.core.codegen import JITCodeLibrary
    from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
    from numba.core.registry import CPUDispatcher
except ImportError:
    JITCodeLibrary = _FunctionCompiler = CPUDispatcher = object

# Packages whose machine code can end up inside a kernel; missing ones are skipped.
COMPILED_PACKAGES = ("lie", "kernels", "integrate")

# What these hold is known from their versions, or from `source_stamp`.
_KNOWN = ("liegeo.", "llvmlite", "math", "cmath", "numba", "numpy", "scipy")

# A folder of an older version of the sources that nobody has used for this long is deleted.
_KEEP_SECONDS = 14 * 24 * 3600

# What `invoke` returns if a user's kernel raised an exception.
KERNEL_RAISED = -4

_DOUBLES = ctypes.POINTER(ctypes.c_double)
#: int f(double t, const double *q, const double *v, double *u): fills what drives a motion, returns 0 if all is well.
DRIVE_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, _DOUBLES, _DOUBLES, _DOUBLES)

# Length of the digest that stands before the content of a cache file.
_SEAL = hashlib.sha256().digest_size

# contract: a*b + c may become one fused instruction.  No other freedom: NaN, infinities and signs stay exact.
# numpy error model: a division by zero gives inf, as the rules for kernels allow no exceptions.
# no nrt: arrays are borrowed, never counted.  Numba would otherwise touch an atomic counter at every slice, which made
# loops over small kernels five times slower; and a kernel that allocates now fails to compile, as our rules want.
# forceinline: passing a small array costs more than what most kernels do with it.  Large ones say forceinline=False.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}, "_nrt": False, "forceinline": True}


def kernel(function: Callable[..., Any] | None = None, *, name: str | None = None, **options: Any) -> Any:
    """Compile `function` for the types it is called with, once, and keep the result on disk.

    `name` labels the cache file of a function made by a factory.  Other options go to Numba: `forceinline=False` for a
    large or rarely called kernel, `inline="always"` for one that returns a slice.
    """
    if function is None:
        return functools.partial(kernel, name=name, **options)
    if numba.config.DISABLE_JIT:
        return function
    options = _OPTIONS | options
    if _STAGES and not options.get("parallel") and not inspect.isgeneratorfunction(function):
        return _Kernel(function, targetoptions={"nopython": True, "boundscheck": None, **options}, name=name or "")
    dispatcher = numba.njit(**options)(function)
    # The public way, njit(cache=True), has no place for another cache class.
    dispatcher._cache = _ContentCache(function, name or "")
    return dispatcher


if numba.config.DISABLE_JIT:

    def index(i: Any) -> Any:
        """i; see below."""
        return i

    def invoke(address: Any, arguments: Any) -> Any:
        """Only compiled kernels have addresses."""
        raise NotImplementedError

    invoke_number = invoke

    def call_address(address: Any, t: Any, q: Any, v: Any, u: Any) -> Any:
        """The C function at `address`; see below."""
        pointers = [ctypes.cast(x.ctypes.data, ctypes.POINTER(ctypes.c_double)) for x in (q, v, u)]
        return DRIVE_FUNCTION(int(address))(t, *pointers)

else:

    @intrinsic  # type: ignore[untyped-decorator]
    def index(typing_context: Any, i: Any) -> Any:
        """i, and the promise that it is not negative.

        Numba lets every index count from the end, at the price of a comparison that also hides from LLVM what does not
        overlap.  Told that an offset is not negative, LLVM drops both: forward dynamics became a quarter faster.
        """

        def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
            (value,) = arguments
            assume = builder.module.declare_intrinsic(
                "llvm.assume", (), ir.FunctionType(ir.VoidType(), [ir.IntType(1)])
            )
            builder.call(assume, [builder.icmp_signed(">=", value, ir.Constant(value.type, 0))])
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
def cache_folder() -> Path:
    """The folder of this version of the sources; `liegeo` may be deleted there at any time."""
    root = Path(os.environ.get("LIEGEO_CACHE_DIR") or user_cache_path("liegeo")) / "kernels"
    return root / source_stamp()


@functools.cache
def source_stamp() -> str:
    """A digest of the text of every source file that can end up inside a kernel."""
    package = Path(__file__).parent
    digest = hashlib.sha256()
    files = [Path(__file__)]
    for folder in COMPILED_PACKAGES:
        files += sorted((package / folder).rglob("*.py"))
    for file in files:
        digest.update(file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _identity(function: Callable[..., Any], above: tuple[Any, ...] = ()) -> str:
    """A digest of what a function is: its code, the constants it uses, and the functions it calls or closes over.

    `source_stamp` covers our own files; this covers a user's functions, and factories that make several from one text.
    `above` are the functions that led here, so that one that calls itself comes to an end.
    """
    code = function.__code__
    above = (*above, function)
    parts = [function.__module__, function.__qualname__, str(code.co_firstlineno), code.co_code.hex()]
    parts.append(repr(code.co_consts))
    values = [cell.cell_contents for cell in function.__closure__ or ()]
    for name in code.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType) and not value.__name__.startswith(_KNOWN):
            values += [getattr(value, attribute, None) for attribute in code.co_names]
        else:
            values.append(value)
    for value in values:
        cache = getattr(value, "_cache", None)
        # of a function that Numba compiled, the one that was written
        written = getattr(value, "py_func", value)
        if isinstance(cache, _ContentCache):
            parts.append(cache.identity)
        elif isinstance(value, bool | int | float | complex | str | tuple):
            parts.append(repr(value))
        elif isinstance(value, np.ndarray):
            # Numba builds arrays from outside into the code, as constants
            parts.append(f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}")
        elif isinstance(written, FunctionType) and written not in above and not written.__module__.startswith(_KNOWN):
            parts.append(_identity(written, above))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class _ContentCache(_Cache):
    """One function's compiled overloads, each in a file named by a digest of what it was made from."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.identity = _identity(function)
        self._label = (name or f"{function.__module__}.{function.__qualname__}").replace("<locals>", "")
        self._enabled = True

    @property
    def cache_path(self) -> str:
        return str(cache_folder())

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        """Nothing is ever stale; Numba's interface wants the method."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        payload = self._read(self._path(sig, target_context.codegen(), "nbc"))
        return None if payload is None else CompileResult._rebuild(target_context, *pickle.loads(payload))

    def save_overload(self, sig: Any, data: Any) -> None:
        # An address is another one in the next process.
        if self._enabled and not data.library.has_dynamic_globals:
            self._write(self._path(sig, data.codegen, "nbc"), dumps(data._reduce()))

    def load_part(self, args: Any, target_context: Any) -> Any:
        payload = self._read(self._path(args, target_context.codegen(), "part"))
        if payload is None:
            return None
        name, bitcode, *rest = pickle.loads(payload)
        library = _PartLibrary(target_context.codegen(), name)
        library._final_module = binding.parse_bitcode(bitcode)
        library._finalized = True
        return _Part(library, *rest)

    def save_part(self, args: Any, part: _Part) -> None:
        library = part.library
        if self._enabled and not library.has_dynamic_globals and not library._reload_init:
            part.fndesc.typemap = part.fndesc.calltypes = None  # as Numba does: not needed any more
            content = (library.name, library._final_module.as_bitcode(), *part._replace(annotation="")[1:])
            self._write(self._path(args, library.codegen, "part"), dumps(content))

    def _read(self, path: Path) -> bytes | None:
        if not self._enabled:
            return None
        try:
            content = path.read_bytes()
        except OSError:
            return None
        seal, payload = content[:_SEAL], content[_SEAL:]
        # Nothing is unpickled, let alone run, that is not what was written.
        return payload if hashlib.sha256(payload).digest() == seal else None

    def _write(self, path: Path, payload: bytes) -> None:
        temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
        try:
            if not path.parent.exists():
                _delete_unused(path.parent.parent)
                path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(hashlib.sha256(payload).digest() + payload)
            temporary.replace(path)
        except OSError:
            # A read-only home or a full disk costs a compilation next time, not a result now.
            with contextlib.suppress(OSError):
                temporary.unlink()

    def _path(self, sig: Any, codegen: Any, kind: str) -> Path:
        parts = (self.identity, repr(sig), repr(codegen.magic_tuple()), numba.__version__, sys.version, str(_OPTIONS))
        digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
        return cache_folder() / f"{self._label}-{digest}.{kind}"


def _delete_unused(root: Path) -> None:
    """Delete the folders of other versions of the sources that were not written to for a fortnight."""
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


# Whether Numba has what the two stages are built on; if not, it compiles in its own way, which takes longer.
_STAGES = (
    CPUDispatcher is not object
    and {"no_cpython_wrapper", "no_cfunc_wrapper", "no_compile"} <= set(compiler.Flags.options)
    and "library" in inspect.signature(compiler.compile_extra).parameters
    and hasattr(compiler, "_make_subtarget")
    and all(hasattr(CPUDispatcher, name) for name in ("get_call_template", "get_overload", "is_compiling"))
    and all(hasattr(_FunctionCompiler, name) for name in ("_compile_core", "compile", "fold_argument_types"))
    and all(
        hasattr(JITCodeLibrary, name)
        for name in ("_optimize_final_module", "_get_module_for_linking", "_finalize_dynamic_globals")
    )
)


class _Part(NamedTuple):
    """What kernels around this one need of it."""

    library: Any
    fndesc: Any
    environment: Any
    signature: Any
    # Whether the code looks into its environment, where print and others keep Python objects.
    uses_environment: bool
    annotation: Any


class _PartLibrary(JITCodeLibrary):
    """The code of a function and of those it calls, once each: to be linked into others, not to be run."""

    # What parallel code needs at loading; older versions of Numba do not have it.
    _reload_init: Any = frozenset()

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init = {*self._reload_init, *getattr(library, "_reload_init", ())}
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


class _WholeLibrary(JITCodeLibrary):
    """Machine code."""

    def _optimize_final_module(self) -> None:
        # Numba comes here with callees that are optimised already; ours are not, and after a single run exp and log on
        # SE(3) took 1.45 and 1.25 times as long.
        for options in ({"loop_vectorize": False, "slp_vectorize": False}, {}):
            passes, builder = self._codegen._module_pass_manager(**options)
            passes.run(self._final_module, builder)


class _Flags(compiler.Flags):
    """Numba compares its flags 60 000 times for one large kernel, option by option."""

    _HASH = hash(compiler.Flags())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _Flags):
            return bool(self._values == other._values)
        return bool(super().__eq__(other))

    def __hash__(self) -> int:
        # of the names of all options, whatever their values: so does Numba
        return self._HASH


@functools.cache
def _announce() -> None:
    """Say once, on a terminal, why nothing seems to happen."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write("liegeo: compiling kernels for this machine; once, then they come from a cache.\n")


class _Compiler(_FunctionCompiler):
    """Compiles one function, in two stages, and keeps its parts."""

    def __init__(self, given: Any, cache: _ContentCache) -> None:
        super().__init__(given.py_func, given.targetdescr, given.targetoptions, given.locals, given.pipeline_class)
        self.parts: dict[Any, _Part] = {}
        self.cache = cache

    def compile(self, args: Any, return_type: Any) -> Any:
        """The whole."""
        return self.whole(self.part(tuple(args), return_type))

    def part(self, args: Any, return_type: Any = None, save: bool = False) -> _Part:
        """The part for these arguments: known, from disk, or compiled."""
        part = self.parts.get(args)
        if part is None:
            context = self.targetdescr.target_context
            # those on disk return what they inferred
            part = self.cache.load_part(args, context) if return_type is None else None
            if part is None:
                part = self._compile_part(args, return_type)
                if save:
                    self.cache.save_part(args, part)
            if part.uses_environment:
                _define_environment(context, part)
            # What Numba takes as the name of a function is any object: its executable, which ours has not.
            context.insert_user_function(part.library, part.fndesc, [part.library])
            self.parts[args] = part
        return part

    def _compile_part(self, args: Any, return_type: Any) -> _Part:
        _announce()
        result = super().compile(args, return_type)
        library, name = result.library, result.fndesc.env_name
        # Where it declares its environment, the code names it once.
        uses_environment = str(library._final_module).count(name) > 1
        library.finalize()
        rest = (result.environment, result.signature, uses_environment, result.type_annotation)
        return _Part(library, result.fndesc, *rest)

    def whole(self, part: _Part) -> Any:
        flags = self._flags()
        context = compiler._make_subtarget(self.targetdescr.target_context, flags)
        library = _WholeLibrary(context.codegen(), part.library.name)
        library.enable_object_caching()
        library._reload_init = set(part.library._reload_init)
        library._final_module.link_in(part.library._final_module, preserve=True)
        arguments, result = part.signature.args, part.signature.return_type
        with context.push_code_library(library):
            wrapped = (library, part.fndesc, part.environment, None)
            context.create_cpython_wrapper(*wrapped, release_gil=flags.release_gil)
            # the conditions are Numba's
            if not any(isinstance(x, types.Omitted) for x in arguments) and not isinstance(result, types.Optional):
                context.create_cfunc_wrapper(*wrapped)
        entry = context.get_executable(library, part.fndesc, part.environment)
        return compiler.compile_result(
            typing_context=self.targetdescr.typing_context,
            target_context=context,
            entry_point=entry,
            type_annotation=part.annotation,
            signature=part.signature,
            objectmode=False,
            lifted=(),
            fndesc=part.fndesc,
            library=library,
            environment=part.environment,
            metadata={},
            reload_init=list(library._reload_init),
        )

    def _flags(self) -> Any:
        flags = compiler.Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        return _Flags(flags)

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        flags = self._flags()
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
        description = self.targetdescr
        library = _PartLibrary(description.target_context.codegen(), self.py_func.__qualname__)
        contexts = (description.typing_context, description.target_context)
        return compiler.compile_extra(
            *contexts, self.py_func, args, return_type, flags, self.locals, library, self.pipeline_class
        )


class _Kernel(CPUDispatcher):
    """Numba's dispatcher, which gives parts to functions that call it; its `overloads` are whole ones."""

    def __init__(self, function: Any, *given: Any, name: str = "", **options: Any) -> None:
        super().__init__(function, *given, **options)
        self._cache = _ContentCache(function, name)
        self._compiler: Any = _Compiler(self._compiler, self._cache)
        weakref.finalize(self, _forget, self.targetctx, self._compiler.parts).atexit = False

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What Numba asks where a call is compiled."""
        if not self._can_compile:
            return super().get_call_template(args, kws)
        pysig, args = self._compiler.fold_argument_types(args, kws)
        with global_compiler_lock, self._compiling_counter:
            try:
                part = self._compiler.part(tuple(args), save=True)
            except errors.ForceLiteralArg as error:
                fold = self._compiler.fold_argument_types
                raise error.bind_fold_arguments(lambda args, kws: fold(args, kws)[1]) from None
        name = self.py_func.__name__
        return make_concrete_template(name, key=name, signatures=[part.signature]), pysig, args, {}

    def get_overload(self, sig: Any) -> Any:
        """Under which name Numba finds the code of a call."""
        part = self._compiler.parts.get(tuple(sigutils.normalize_signature(sig)[0]))
        return part.library if part is not None else super().get_overload(sig)


def _define_environment(context: Any, part: _Part) -> None:
    """Give a part's environment a place, which all functions share that the part is linked into."""
    library = context.codegen().create_library(part.fndesc.env_name)
    module = library.create_ir_module(part.fndesc.env_name)
    context.declare_env_global(module, part.fndesc.env_name)
    library.add_ir_module(module)
    library.finalize()
    library.codegen.set_env(part.fndesc.env_name, part.environment)


def _forget(context: Any, parts: dict[Any, _Part]) -> None:
    """Numba's tables must not keep the code of a kernel that is gone."""
    for part in parts.values():
        with contextlib.suppress(KeyError):
            context.remove_user_function(part.library)
