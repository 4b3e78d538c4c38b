"""Kernels as object code for other machines, with no Python in it: what the libraries of native FMUs are linked from.

Kernels are lowered as for this process (`_jit_entries.py`) and optimised one by one, or, for a target that is `small`,
all together; all kernels of a library are linked as LLVM's code and translated once per target by a target machine of
LLVM's own.  Numba's object code would not do: it uses the large code model, and its wrappers need CPython.  In an
object only the kernels are visible, by names for C; what they jump to has one too (`jumps`).  Functions that several
kernels have a copy of stand there once: each is named by a digest of its code and of all that it calls, and LLVM's
linker keeps one of a name.

A kernel follows Numba's calling convention, in C:

    int32_t kernel(result *, excinfo **, arguments …)

an array of one dimension being seven arguments: 0, 0, number of items, size of an item, address, shape, stride; with
more dimensions shape and strides have as many numbers each.  The status returned is 0 if no exception was raised, and
our kernels raise none.

For machines that only their own compiler knows, a kernel is written as C (`_jit_c.py`), with the same name and the same
convention.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from llvmlite import binding
from numba import config
from numba.core.compiler_lock import global_compiler_lock

from liegeo import _jit_c
from liegeo._jit_entries import _Kernel, kernel_named

#: What tells objects from those that another version of this file made.
STAMP = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]


class Target(NamedTuple):
    """A machine to translate for: a short name, LLVM's triple and its name of the processor.

    `like` is the one that code is optimised for, if that is another: then results have the same bits on both.  Code
    that is `small` takes functions in where LLVM finds that worth while, not wherever this process does: of a processor
    that cannot fuse products and sums the bits are the same either way.
    """

    name: str
    triple: str
    cpu: str
    like: Target | None = None
    small: bool = False


# What kernels are optimised for that are written as C: a processor with neither vectors nor fused multiply-add.
_C = Target("c", "x86_64-unknown-linux-gnu", "x86-64")


class Wanted(NamedTuple):
    """A kernel with the types of its arguments, and the name that C knows it by."""

    kernel: Any
    arguments: tuple[Any, ...]
    name: str


def with_jumps(wanted: Iterable[Wanted]) -> Iterator[Wanted]:
    """Return these kernels and, each once, all those that stand apart and that they jump to."""
    left, seen = list(wanted), set()
    while left:
        one = left.pop(0)
        if one.name in seen:
            continue
        seen.add(one.name)
        yield one
        lowered = one.kernel._lower(one.arguments, keep=True)
        for module, name, arguments in sorted(lowered.library.jumps, key=repr):
            other = kernel_named(module, name)
            left.append(Wanted(other, arguments, _symbol(other, arguments)))


def object_code(wanted: Iterable[Wanted], target: Target, prefix: str = "") -> bytes:
    """Return kernels as one object file for a target: ELF, COFF or Mach-O; all names begin with `prefix`."""
    machine, whole = _machine(target), None
    for one in wanted:
        module = binding.parse_bitcode(prepared(one, target, prefix))
        module.triple, module.data_layout = target.triple, str(machine.target_data)
        if whole is None:
            whole = module
        else:
            whole.link_in(module)
    if whole is None:
        raise ValueError("there are no kernels to translate.")
    for function in whole.functions:
        if function.linkage == binding.Linkage.linkonce_odr:
            function.linkage = "internal"
        if not function.is_declaration:
            # nobody unwinds the stack of kernels, which raise nothing: no tables for that
            function.add_function_attribute("nounwind")
    if target.small:
        _make_small(whole, machine)
    return bytes(machine.emit_object(whole))


def _make_small(whole: Any, machine: Any) -> None:
    """Optimise all kernels as one program, for size."""
    for function in whole.functions:
        if not function.is_declaration:
            function.add_function_attribute("optsize")
    options = binding.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = False
    options.loop_unrolling = options.loop_interleaving = False
    builder = binding.create_pass_builder(machine, options)
    passes = builder.getModulePassManager()
    passes.add_merge_functions_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(whole, builder)


def prepared(wanted: Wanted, target: Target, prefix: str = "") -> bytes:
    """Return a kernel as LLVM's bitcode, optimised for a target or for the one that it is like.

    What will be small is optimised later, with all other kernels.
    """
    model = target.like or target
    make = _separate if model.small else _optimise
    return _kept(wanted, f"bitcode-{model.name}-{prefix}", lambda: make(wanted, model, prefix))


def c_code(wanted: Wanted) -> str:
    """Return a kernel as a file of C, which includes kernels.h (_jit_c.HEADER)."""
    return _kept(wanted, f"c-{_jit_c.STAMP}-", lambda: _write_in_c(wanted)).decode()


def _kept(wanted: Wanted, what: str, make: Callable[[], bytes]) -> bytes:
    """Return what the cache has of a kernel, or what is made now."""
    kernel, arguments, name = wanted
    context, kind = kernel.targetctx, f"{what}{name}-{STAMP}"
    found = kernel._cache.load(arguments, context, kind)
    if found is not None:
        return bytes(found[0])
    with global_compiler_lock:
        content = make()
    kernel._cache.save(arguments, context.codegen(), kind, (content,))
    return content


def _write_in_c(wanted: Wanted) -> bytes:
    module = binding.parse_bitcode(_optimise(wanted, _C, "", scalar=True))
    return _jit_c.translate(str(module), wanted.name).encode()


def _optimise(wanted: Wanted, model: Target, prefix: str, scalar: bool = False) -> bytes:
    """Return a kernel as LLVM's bitcode, optimised for a target, which others that are like it share.

    `scalar`: without vectors, and with loops as they are, for a compiler that sees the code afterwards.
    """
    lowered = _lowered(wanted)
    module = binding.parse_bitcode(lowered.library._final_module.as_bitcode())
    module.triple, module.data_layout = model.triple, str(_machine(model).target_data)
    # As for this process: where functions are inlined decides which products and sums become one operation, and so the
    # last bits of results.
    options = binding.create_pipeline_tuning_options(speed_level=int(config.OPT))
    options.loop_vectorization, options.slp_vectorization = bool(config.LOOP_VECTORIZE), bool(config.SLP_VECTORIZE)
    if scalar:
        options.loop_vectorization = options.slp_vectorization = False
        options.loop_unrolling = options.loop_interleaving = False
    builder = binding.create_pass_builder(_machine(model), options)
    builder.getModulePassManager().run(module, builder)
    return _with_names(module, wanted, lowered, prefix, builder)


def _separate(wanted: Wanted, model: Target, prefix: str) -> bytes:
    """Return a kernel as LLVM's bitcode, not optimised, with all that it calls as functions of their own."""
    lowered = _lowered(wanted)
    # Numba's own functions last: LLVM leaves out of those what nobody has asked for yet
    first, *others = sorted(map(binding.parse_bitcode, lowered.library.parts.values()), key=_is_taken_on_demand)
    for other in others:
        first.link_in(other)
    # what must be taken in elsewhere need not be here
    module = binding.parse_assembly(re.sub(r"\balwaysinline\b", "nounwind", str(first)))
    module.triple, module.data_layout = model.triple, str(_machine(model).target_data)
    builder = binding.create_pass_builder(_machine(model), binding.create_pipeline_tuning_options())
    return _with_names(module, wanted, lowered, prefix, builder)


def _is_taken_on_demand(module: Any) -> bool:
    return all(f.is_declaration or f.linkage == binding.Linkage.linkonce_odr for f in module.functions)


def _lowered(wanted: Wanted) -> Any:
    """Return a kernel in LLVM's language."""
    lowered = wanted.kernel._lower(wanted.arguments, keep=True)
    lowered.library._ensure_finalized()
    if lowered.library.fixed:
        raise ValueError(f"kernel {wanted.name} has addresses of this process built in, and cannot leave it.")
    return lowered


def _with_names(module: Any, wanted: Wanted, lowered: Any, prefix: str, builder: Any) -> bytes:
    """Return a module as bitcode in which the kernel, and what it jumps to, have the names that C knows."""
    for part in [*module.functions, *module.global_variables]:
        if not part.is_declaration:
            part.linkage = "internal"
    entry = module.get_function(lowered.fndesc.llvm_func_name)
    entry.linkage, entry.visibility, entry.name = "external", "hidden", prefix + wanted.name
    for other, name, arguments in lowered.library.jumps:
        callee = kernel_named(other, name)
        symbol = callee._cache.symbol(arguments, lowered.codegen)
        if callee is not wanted.kernel:
            module.get_function(symbol).name = prefix + _symbol(callee, arguments)
    # what was inlined everywhere
    rest = binding.create_new_module_pass_manager()
    rest.add_global_dead_code_eliminate_pass()
    rest.run(module, builder)
    _name_by_content(module, {prefix + wanted.name})
    return bytes(module.as_bitcode())


def _name_by_content(module: Any, kept: set[str]) -> None:
    """Name each function but those of `kept` by a digest of its code, its attributes and all that it refers to."""
    text = str(module)
    attributes = dict(re.findall(r"^attributes #(\d+) = (.*)$", text, re.MULTILINE))
    parts = {part.name: part for part in [*module.functions, *module.global_variables] if not part.is_declaration}
    digests: dict[str, str] = {}

    def content(name: str) -> str:
        if name not in parts or name in kept:
            return name
        if name not in digests:
            # a function that calls itself is told from others by its name
            digests[name] = name
            # metadata are numbered by module, and say nothing of what is computed
            code = re.sub(r",? ![\w.]+ ![\w]+", "", str(parts[name]))
            code = re.sub(r"#(\d+)", lambda found: attributes[found[1]], code)
            code = re.sub(r'@("[^"]*"|[\w.$-]+)', lambda found: "@" + content(found[1].strip('"')), code)
            digests[name] = hashlib.sha256(code.replace(name, "").encode()).hexdigest()[:24]
        return digests[name]

    for function in module.functions:
        if not function.is_declaration and function.name not in kept:
            content(function.name)
    for function in module.functions:
        if function.name in digests and digests[function.name] != function.name:
            function.linkage, function.visibility = "linkonce_odr", "hidden"
            function.name = f"liegeo_{digests[function.name]}"


@functools.cache
def _machine(target: Target) -> Any:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    found = binding.Target.from_triple(target.triple)
    return found.create_target_machine(cpu=target.cpu, opt=3, reloc="pic", codemodel="default")


def _symbol(kernel: _Kernel, arguments: tuple[Any, ...]) -> str:
    """Return a name for C that stands for a kernel with these types."""
    symbol = kernel._cache.symbol(arguments, kernel.targetctx.codegen())
    return re.sub(r"\W", "_", symbol, flags=re.ASCII)


__all__ = ["Target", "Wanted", "c_code", "object_code", "prepared", "with_jumps"]
