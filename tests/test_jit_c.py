"""Kernels in C: each instruction means what LLVM means by it, whose own machine code is the oracle."""

from __future__ import annotations

import ctypes
import itertools
import math
import shutil
import struct
import subprocess
import sys

import pytest
from llvmlite import binding

from liegeo import _jit_c
from liegeo.errors import InputError

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("cc") is None, reason="no C compiler"
)

REAL = (0.0, -0.0, 1.5, -2.75, 1e300, 5e-324, -5e-324, math.inf, -math.inf, math.nan, 3.0)
WHOLE = (0, 1, 2, 7, 63, 1 << 31, (1 << 32) - 5, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)

# By name: body of i64 f(i64 %a, i64 %b), or of f(double %a, double %b).
OF_WHOLE = {
    **{op: f"%r = {op} i64 %a, %b" for op in ("add", "sub", "mul", "and", "or", "xor")},
    "add_nsw": "%r = add nuw nsw i64 %a, -3",
    **{op: f"%n = and i64 %b, 63\n  %r = {op} i64 %a, %n" for op in ("shl", "lshr", "ashr")},
    **{op: f"%n = or i64 %b, 6\n  %r = {op} i64 %a, %n" for op in ("udiv", "urem")},
    # a divisor of −1 may overflow
    **{op: f"%n = and i64 %b, 255\n  %m = or i64 %n, 4\n  %r = {op} i64 %a, %m" for op in ("sdiv", "srem")},
    **{
        f"icmp_{how}": f"%c = icmp {how} i64 %a, %b\n  %r = zext i1 %c to i64"
        for how in ("eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle")
    },
    "icmp_i32": "%x = trunc i64 %a to i32\n  %y = trunc i64 %b to i32\n  %c = icmp samesign slt i32 %x, %y\n"
    "  %r = zext i1 %c to i64",
    "add_i32": "%x = trunc i64 %a to i32\n  %y = add i32 %x, 5\n  %r = zext i32 %y to i64",
    "sub_i8": "%x = trunc i64 %a to i8\n  %y = sub i8 %x, 9\n  %r = zext i8 %y to i64",
    "ashr_i8": "%x = trunc i64 %a to i8\n  %y = ashr i8 %x, 3\n  %r = sext i8 %y to i64",
    "sext_i1": "%c = icmp slt i64 %a, %b\n  %r = sext i1 %c to i64",
    "not": "%c = icmp slt i64 %a, %b\n  %n = xor i1 %c, true\n  %r = zext i1 %n to i64",
    "both": "%c = icmp slt i64 %a, %b\n  %d = icmp ult i64 %a, 5\n  %n = and i1 %c, %d\n  %r = zext i1 %n to i64",
    "select": "%c = icmp slt i64 %a, 7\n  %r = select i1 %c, i64 %b, i64 -1",
    **{f"{name}": f"%r = call i64 @llvm.{name}.i64(i64 %a, i64 %b)" for name in ("smin", "smax", "umin", "umax")},
    "abs": "%r = call i64 @llvm.abs.i64(i64 %a, i1 false)",
    "struct": "%p = alloca { i64, [2 x double], i64 }, align 8\n  %q = getelementptr inbounds i8, ptr %p, i64 24\n"
    "  store i64 %a, ptr %p, align 8\n  store i64 %b, ptr %q, align 8\n  %x = load i64, ptr %q, align 8\n"
    "  %y = load i64, ptr %p, align 8\n  %r = sub i64 %x, %y",
    "sitofp": "%x = sitofp i64 %a to double\n  %r = bitcast double %x to i64",
    "uitofp": "%x = uitofp i64 %a to double\n  %r = bitcast double %x to i64",
    "freeze": "%r = freeze i64 %a",
    "memory": "%p = alloca [4 x i64], align 8\n  %q = getelementptr inbounds i8, ptr %p, i64 16\n"
    "  store i64 %a, ptr %q, align 8\n  %i = and i64 %b, 0\n  %e = add i64 %i, 2\n"
    "  %o = getelementptr i64, ptr %p, i64 %e\n  %r = load i64, ptr %o, align 8",
    "backwards": "%p = alloca [4 x i64], align 8\n  %q = getelementptr i8, ptr %p, i64 24\n"
    "  store i64 %a, ptr %p, align 8\n  %o = getelementptr i64, ptr %q, i64 -3\n  %r = load i64, ptr %o, align 8",
    "pointers": "%p = alloca i64, align 8\n  %q = alloca ptr, align 8\n  store i64 %a, ptr %p, align 8\n"
    "  store ptr %p, ptr %q, align 8\n  %w = load i64, ptr %q, align 8\n  %t = inttoptr i64 %w to ptr\n"
    "  %u = load ptr, ptr %q, align 8\n  %c = icmp eq ptr %t, %u\n  %v = load i64, ptr %t, align 8\n"
    "  %z = zext i1 %c to i64\n  %n = icmp eq ptr %u, null\n  %y = zext i1 %n to i64\n  %x = add i64 %v, %z\n"
    "  %r = sub i64 %x, %y",
    "bytes": "%p = alloca i64, align 8\n  store i64 %a, ptr %p, align 8\n  %q = getelementptr i8, ptr %p, i64 1\n"
    "  %v = load i8, ptr %q, align 1\n  %r = zext i8 %v to i64",
    "filled": "%p = alloca [2 x i64], align 8\n  store i64 %b, ptr %p, align 8\n"
    "  call void @llvm.memset.p0.i64(ptr nonnull align 8 %p, i8 3, i64 5, i1 false)\n  %r = load i64, ptr %p, align 8",
    "copied": "%p = alloca [2 x i64], align 8\n  %q = alloca [2 x i64], align 8\n  store i64 %a, ptr %p, align 8\n"
    "  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %q, ptr align 8 %p, i64 8, i1 false)\n"
    "  %r = load i64, ptr %q, align 8",
    # phi that take each other's place, and one that keeps its own
    "swapped": "br label %loop\nloop:\n  %x = phi i64 [ %a, %entry ], [ %y, %loop ]\n"
    "  %y = phi i64 [ %b, %entry ], [ %x, %loop ]\n  %k = phi i64 [ 0, %entry ], [ %m, %loop ]\n"
    "  %same = phi i64 [ %a, %entry ], [ %same, %loop ]\n  %m = add i64 %k, 1\n  %c = icmp eq i64 %m, 3\n"
    "  br i1 %c, label %done, label %loop\ndone:\n  %s = mul i64 %x, 3\n"
    "  %t = add i64 %s, %y\n  %r = xor i64 %t, %same",
    # blocks that stand before those that they come from
    "disordered": "%x = add i64 %a, 1\n  br label %later\nearlier:\n  %z = mul i64 %y, 3\n  br label %done\n"
    "later:\n  %y = sub i64 %x, %b\n  br label %earlier\nnever:\n  br label %done\n"
    "done:\n  %r = phi i64 [ %z, %earlier ], [ 9, %never ]",
    "switch": "switch i64 %a, label %other [\n    i64 0, label %zero\n    i64 -1, label %done\n"
    "    i64 7, label %done\n  ]\n"
    "zero:\n  br label %done\nother:\n  br label %done\n"
    "done:\n  %r = phi i64 [ 10, %zero ], [ %b, %other ], [ 30, %entry ], [ 30, %entry ]",
    "call": "%r = call i64 @inner(i64 %a, i64 %b)",
    "address": "%f = ptrtoint ptr @inner to i64\n  %g = inttoptr i64 %f to ptr\n  %r = call i64 %g(i64 %a, i64 %b)",
    "table": "%i = and i64 %a, 3\n  %p = getelementptr i64, ptr @numbers, i64 %i\n  %r = load i64, ptr %p, align 8",
}
OF_REAL = {
    **{op: f"%x = {op} contract double %a, %b\n  %r = bitcast double %x to i64" for op in ("fadd", "fsub", "fmul")},
    **{op: f"%x = {op} double %a, %b\n  %r = bitcast double %x to i64" for op in ("fdiv", "frem")},
    "fneg": "%x = fneg double %a\n  %r = bitcast double %x to i64",
    **{
        f"fcmp_{how}": f"%c = fcmp contract {how} double %a, %b\n  %r = zext i1 %c to i64"
        for how in ("oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno")
    },
    "constant": "%x = fmul double %a, 0x3FD5555555555555\n  %y = fadd double %x, -1.250000e+00\n"
    "  %r = bitcast double %y to i64",
    "infinite": "%c = fcmp olt double %a, 0x7FF0000000000000\n  %r = zext i1 %c to i64",
    **{
        name: f"%x = call contract double @llvm.{name}.f64(double %a)\n  %r = bitcast double %x to i64"
        for name in ("fabs", "floor", "ceil", "trunc", "sqrt")
    },
    "copysign": "%x = call double @llvm.copysign.f64(double %a, double %b)\n  %r = bitcast double %x to i64",
    # each class alone, and finite numbers
    **{
        f"class_{mask}": f"%c = call i1 @llvm.is.fpclass.f64(double %a, i32 {mask})\n  %r = zext i1 %c to i64"
        for mask in (*(1 << k for k in range(1, 10)), 504)
    },
    "fptosi": "%s = call double @llvm.copysign.f64(double 1.250000e+02, double %a)\n  %r = fptosi double %s to i64",
    "punned": "%p = alloca { double, double }, align 8\n  %q = getelementptr { double, double }, ptr %p, i64 0\n"
    "  store double %a, ptr %q, align 8\n  %r = load i64, ptr %q, align 8",
    "system": "%x = call double @atan2(double %a, double %b)\n  %r = bitcast double %x to i64",
}

MODULE = """
@numbers = private unnamed_addr constant [4 x i64] [i64 5, i64 -6, i64 7, i64 8], align 8
@.const.picklebuf.1 = internal constant {{ ptr, i32 }} {{ ptr null, i32 3 }}

define i64 @{name}({kind} %a, {kind} %b) {{
entry:
  {body}
  ret i64 %r
}}

define internal i64 @inner(i64 %a, i64 %b) {{
entry:
  %c = icmp slt i64 %a, %b
  br i1 %c, label %less, label %more
less:
  ret i64 %b
more:
  %x = sub i64 %a, %b
  ret i64 %x
}}

declare double @atan2(double, double)
declare double @llvm.copysign.f64(double, double)
declare i1 @llvm.is.fpclass.f64(double, i32 immarg)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1 immarg)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1 immarg)
"""
UNARY = ("fabs", "floor", "ceil", "trunc", "sqrt")
MODULE += "".join(f"declare double @llvm.{name}.f64(double)\n" for name in UNARY)
MODULE += "".join(f"declare i64 @llvm.{name}.i64(i64, i64)\n" for name in ("smin", "smax", "umin", "umax"))
MODULE += "declare i64 @llvm.abs.i64(i64, i1)\n"

CASES = [("i64", name, body) for name, body in OF_WHOLE.items()]
CASES += [("double", name, body) for name, body in OF_REAL.items()]


def module_of(kind, name, body):
    return str(binding.parse_assembly(MODULE.format(name=f"f_{name}", kind=kind, body=body)))


@pytest.fixture(scope="module")
def in_c(tmp_path_factory):
    folder = tmp_path_factory.mktemp("in_c")
    (folder / "kernels.h").write_text(_jit_c.HEADER)
    (folder / "names.h").write_text("")
    for kind, name, body in CASES:
        text = _jit_c.translate(module_of(kind, name, body), f"f_{name}")
        assert _jit_c.declaration(text).startswith(f"uint64_t f_{name}(")
        (folder / f"{name}.c").write_text(text)
    options = ["-std=c11", "-O1", "-ffp-contract=off", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    # a module has more functions and names than a case needs
    unused = [f"-Wno-unused-{what}" for what in ("function", "variable", "const-variable", "parameter")]
    files = [str(folder / f"{name}.c") for _, name, _ in CASES]
    subprocess.run([shutil.which("cc"), *options, *unused, *files, "-o", str(folder / "all.so"), "-lm"], check=True)
    return ctypes.CDLL(str(folder / "all.so"))


@pytest.fixture(scope="module")
def by_llvm():
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(opt=0)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
    for kind, name, body in CASES:
        engine.add_module(binding.parse_assembly(module_of(kind, name, body)))
    engine.finalize_object()
    return engine


def bits_alike(name, a, b):
    """Return whether results are the same; of NaN any will do where it is computed."""
    if a == b:
        return True
    numbers = [struct.unpack("<d", struct.pack("<Q", x))[0] for x in (a, b)]
    return name in OF_REAL and name not in ("fneg", "fabs", "copysign", "punned") and all(map(math.isnan, numbers))


@pytest.mark.parametrize(("kind", "name"), [case[:2] for case in CASES])
def test_an_instruction(in_c, by_llvm, kind, name):
    number = ctypes.c_uint64 if kind == "i64" else ctypes.c_double
    ours = in_c[f"f_{name}"]
    ours.restype, ours.argtypes = ctypes.c_uint64, (number, number)
    theirs = ctypes.CFUNCTYPE(ctypes.c_uint64, number, number)(by_llvm.get_function_address(f"f_{name}"))
    for a, b in itertools.product(WHOLE if kind == "i64" else REAL, repeat=2):
        assert bits_alike(name, ours(a, b), theirs(a, b)), (a, b)


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("%p = alloca i64, align 8\n  %r = atomicrmw add ptr %p, i64 %a seq_cst, align 8", "atomicrmw"),
        (
            "%v = insertelement <2 x i64> poison, i64 %a, i64 0\n  %r = extractelement <2 x i64> %v, i64 0",
            "insertelement",
        ),
        ("%r = call i64 @llvm.ctpop.i64(i64 %a)", "llvm.ctpop.i64"),
        ("%x = zext i64 %a to i128\n  %r = trunc i128 %x to i64", "i128"),
        ("%p = alloca i64, i64 %a, align 8\n  %r = load i64, ptr %p, align 8", "alloca"),
    ],
)
def test_what_is_not_known_is_refused(body, line):
    text = MODULE.format(name="f", kind="i64", body=body) + "declare i64 @llvm.ctpop.i64(i64)\n"
    with pytest.raises(InputError, match=rf"cannot be written in C yet \(liegeo/_jit_c\.py\).*{line}"):
        _jit_c.translate(str(binding.parse_assembly(text)), "f")


def test_a_constant_that_is_no_array_is_refused():
    text = "@x = internal constant double 1.0\n" + MODULE.format(name="f", kind="i64", body="%r = add i64 %a, %b")
    with pytest.raises(InputError, match=r"cannot be written in C yet.*@x = internal constant double"):
        _jit_c.translate(str(binding.parse_assembly(text)), "f")
