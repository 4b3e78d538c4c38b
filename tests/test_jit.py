"""The on-disk cache of compiled kernels: found again, never wrong, never in the way."""

from __future__ import annotations

import ast
import ctypes
import hashlib
import json
import math
import os
import pickle
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import ClassVar

import numba
import numpy as np
import pytest
from filelock import FileLock
from numba.core.event import install_recorder

import liegeo
from liegeo import _cache, _jit
from liegeo._jit import call_address, kernel

ROOT = Path(liegeo.__file__).parents[1]
DAY = 24 * 3600

compiled_only = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled, so nothing is cached")

# Compiles one loop and the kernels in it, and says how often Numba compiled and what came out.
CHILD = """
import hashlib
import json
from numba.core.event import install_recorder
with install_recorder("numba:compile") as recorder:
    from liegeo.lie import R
    result = R(2).compose([1.0, 2.0], [30.0, 40.0]).tolist()
print(json.dumps({"compiled": sum(event.is_start for _, event in recorder.buffer), "result": result}))
"""
RESULT = [31.0, 42.0]


def environment(cache, root=ROOT, **others):
    return {**os.environ, "LIEGEO_CACHE_DIR": str(cache), "PYTHONPATH": str(root), **others}


def run(cache, root=ROOT, **others):
    """What CHILD says in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CHILD],
        env=environment(cache, root, **others),
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def entries(cache):
    """Every file below the cache, with the time at which it was written."""
    return {path: path.stat().st_mtime_ns for path in Path(cache).rglob("*") if path.is_file()}


# ------------------------------------------------------------ between processes


@compiled_only
def test_a_second_process_compiles_nothing(tmp_path):
    first = run(tmp_path)
    assert first["compiled"] > 0
    assert first["result"] == RESULT
    written = entries(tmp_path)
    assert written
    assert {path.suffix for path in written} == {".entry", ".lowered"}
    stamps = {_cache.source_stamp(f"liegeo.lie.{module}") for module in ("batch", "rn")}
    assert {path.parent.relative_to(tmp_path / "kernels").as_posix() for path in written} <= stamps

    assert run(tmp_path) == {"compiled": 0, "result": RESULT}
    assert entries(tmp_path) == written


def on_a_terminal(cache):
    """What CHILD writes to stderr when that is a terminal."""
    import pty

    master, terminal = pty.openpty()
    child = [sys.executable, "-c", CHILD]
    subprocess.run(child, env=environment(cache), cwd=ROOT, stdout=subprocess.PIPE, stderr=terminal, check=True)
    os.close(terminal)
    said = b""
    try:
        while more := os.read(master, 4096):
            said += more
    except OSError:
        # how Linux says that nobody has the other end any more
        pass
    os.close(master)
    return said.decode().replace("\r\n", "\n")


@compiled_only
@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_the_first_run_says_once_that_it_compiles_and_only_to_a_person(tmp_path):
    assert on_a_terminal(tmp_path / "a") == (
        "liegeo: compiling kernels for this machine, half a minute or more; from then on they come from a cache.\n"
    )
    assert on_a_terminal(tmp_path / "a") == ""
    done = subprocess.run(
        [sys.executable, "-c", CHILD], env=environment(tmp_path / "b"), cwd=ROOT, capture_output=True, check=True
    )
    assert json.loads(done.stdout)["compiled"] > 0
    assert done.stderr == b""


@pytest.mark.foreign
@compiled_only
def test_two_processes_fill_the_cache_at_once(tmp_path):
    children = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD], env=environment(tmp_path), cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    said = [child.communicate(timeout=300)[0] for child in children]
    assert [child.returncode for child in children] == [0, 0]
    assert [json.loads(out)["result"] for out in said] == [RESULT] * 2
    # and neither made what the other did: as many entries as one alone makes
    assert {path.suffix for path in entries(tmp_path)} == {".entry", ".lowered"}
    assert sum(json.loads(out)["compiled"] for out in said) == run(tmp_path / "alone")["compiled"]
    assert run(tmp_path) == {"compiled": 0, "result": RESULT}


@compiled_only
def test_a_folder_that_cannot_be_made_costs_time_only(tmp_path):
    """Below a regular file no folder can be made, by root either; a read-only home looks the same from here."""
    file = tmp_path / "file"
    file.write_text("in the way")
    for _ in range(2):
        said = run(file / "cache")
        assert said["result"] == RESULT
        assert said["compiled"] > 0
    assert entries(tmp_path).keys() == {file}
    assert file.read_text() == "in the way"


@pytest.mark.foreign
@compiled_only
def test_an_edit_below_is_compiled_anew(tmp_path):
    """The loop is in batch.py, its kernel in rn.py: the loop's machine code has that of the kernel inside it."""
    copy, cache = tmp_path / "copy", tmp_path / "cache"
    shutil.copytree(ROOT / "liegeo", copy / "liegeo", ignore=shutil.ignore_patterns("__pycache__"))
    assert run(cache, copy)["result"] == RESULT
    before = entries(cache)

    rn = copy / "liegeo/lie/rn.py"
    text = rn.read_text(encoding="utf-8")
    assert "out[i] = a[i] + b[i]" in text
    rn.write_text(text.replace("out[i] = a[i] + b[i]", "out[i] = a[i] - b[i]"), encoding="utf-8")
    assert run(cache, copy)["result"] == [-29.0, -38.0]

    rn.write_text(text, encoding="utf-8")
    assert run(cache, copy) == {"compiled": 0, "result": RESULT}
    after = entries(cache)
    assert before.items() <= after.items()
    assert len(after) == 2 * len(before)


# Kernels of somebody else's: one that others jump to, one with an array too large to be part of the code, one with a
# function of C.
THEIRS = """
import ctypes, sys
import numpy as np
import numba
from liegeo._jit import call_address, kernel

large = np.arange(400_000.0)
floor = ctypes.CDLL(None).floor
floor.restype, floor.argtypes = ctypes.c_double, [ctypes.c_double]

@kernel(apart=True, forceinline=False)
def inner(x):
    return 2.0 * x

@kernel
def middle(x):
    return inner(x) + 1.0

@kernel
def outer(x):
    return middle(x) + inner(x)

@kernel
def look_up(i):
    return large[i]

@kernel
def around(i):
    return look_up(i) + 1.0

@kernel
def down(x):
    return floor(x)

@numba.njit
def plain(x):
    return middle(x)

@numba.njit(cache=True)
def kept(x):
    return middle(x)

sys.stdout.write(str([globals()[name](3) for name in sys.argv[1].split()]))
"""


@pytest.mark.foreign
@compiled_only
def test_what_stands_apart_is_there_when_somebody_jumps_to_it(tmp_path):
    """Whoever comes first, from source and from the cache, in kernels and in functions of Numba's own decorator."""
    (tmp_path / "theirs.py").write_text(THEIRS)
    for cache in ("one", "two"):
        for names, wanted in (
            ("outer", "[13.0]"),
            ("middle outer inner", "[7.0, 13.0, 6.0]"),
            ("plain", "[7.0]"),
            ("outer", "[13.0]"),
        ):
            assert _theirs(tmp_path, cache, names) == wanted
    # Numba's own cache knows no jumps, and must not keep this
    for _ in range(2):
        assert _theirs(tmp_path, "two", "kept") == "[7.0]"
    _theirs(tmp_path, "three", "middle")
    # `inner` alone has its product in it
    entry = {path.name.split("-")[0]: path.read_bytes() for path in (tmp_path / "three").rglob("*.entry")}
    assert entry.keys() == {"theirs.inner", "theirs.middle"}
    assert b"liegeo.theirs.inner-" in entry["theirs.middle"]


@pytest.mark.foreign
@compiled_only
@pytest.mark.parametrize("name", ["look_up", "around", "down"])
def test_places_in_memory_are_not_kept(tmp_path, name):
    """They are others in the next process."""
    (tmp_path / "theirs.py").write_text(THEIRS)
    wanted = {"look_up": "[3.0]", "around": "[4.0]", "down": "[3.0]"}[name]
    for _ in range(2):
        assert _theirs(tmp_path, "cache", name) == wanted
    assert not [path for path in entries(tmp_path / "cache") if path.suffix in (".entry", ".lowered")]


def _theirs(folder, cache, names):
    # a module of its own name, which can be imported by it
    code = "import sys; sys.path.insert(0, sys.argv[2]); import theirs"
    done = subprocess.run(
        [sys.executable, "-c", code, names, str(folder)],
        env=environment(folder / cache),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# ------------------------------------------------------------ numba.njit in the place of our own pipeline

# What a kernel can be and do, small: in both compilers the same.
EVERYTHING = """
import ctypes, sys
import numba
import numpy as np
from numba import types
from liegeo import _jit
from liegeo._jit import (
    DRIVE_FUNCTION, address, call_address, entry, fetch, index, invoke, invoke_number, kernel, provide
)

@kernel(apart=True, forceinline=False)
def inner(x, out):
    out[0] = 2.0 * x / (x - x)
    return 7

@kernel(inline="always")
def second(x):
    return x[1:]

@kernel(nogil=True)
def outer(I, x, out):
    fetch(x, 0)
    status = inner(x[index(I[0])], second(out))
    out[0] = invoke_number(I[1], (x, 3.0)) + invoke(I[2], (x, 1.0))
    return 10 * status + call_address(I[3], 0.5, x, x, out[2:])

@kernel
def number(x, y):
    return x[0] + y

@numba.njit
def theirs(x, y):
    if y > 0.0:
        raise ValueError("no")
    return 1

@DRIVE_FUNCTION
def drive(t, q, v, u):
    u[0] = t + q[0] + v[1]
    return 5

V, T = types.Array(types.float64, 1, "C"), types.float64
provide([(number, (V, T))])
places = [address(f, (V, T)) for f in (number, theirs)]
assert [kind for _, kind in places] == [T, types.int64]
I = np.array([1, *(place for place, _ in places), ctypes.cast(drive, ctypes.c_void_p).value])
out = np.zeros(3)
assert outer(I, np.array([4.0, 5.0]), out) == 75
gaps = np.arange(4.0)[2::-1]
gaps.setflags(write=False)
called = entry(number, gaps, 1.0)
assert (called(gaps, 3.0), called(np.array([4.0, 5.0]), 3.0)) == (5.0, 7.0)
sys.stdout.write(f"{_jit._compiler.__name__} {out.tolist()}")
"""


@compiled_only
@pytest.mark.parametrize("compiler", ["entries", "plain"])
def test_each_compiler_knows_all_that_kernels_do(tmp_path, compiler):
    """Twice: from source, and from the cache."""
    script = tmp_path / "everything.py"
    script.write_text(EVERYTHING)
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-W", "error", str(script)],
            env=environment(tmp_path / "cache", LIEGEO_JIT=compiler),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        # a kernel that raised is -4; division by zero is inf
        assert done.stdout == f"liegeo._jit_{compiler} [3.0, inf, 9.5]"


@compiled_only
def test_plain_numba_keeps_what_it_compiles_in_files_of_its_own(tmp_path):
    first = run(tmp_path, LIEGEO_JIT="plain")
    assert first["compiled"] > 0
    assert first["result"] == RESULT
    assert {path.suffix for path in entries(tmp_path)} == {".plain"}
    assert run(tmp_path, LIEGEO_JIT="plain") == {"compiled": 0, "result": RESULT}
    assert run(tmp_path)["compiled"] > 0
    assert {path.suffix for path in entries(tmp_path)} == {".plain", ".entry", ".lowered"}


MISSING = {
    # which our cache uses too: nothing is kept
    "a method": ("del codegen.CPUCodegen.magic_tuple", "JITCPUCodegen.magic_tuple"),
    "a module's name": ("del registry.CPUDispatcher", "cannot import name 'CPUDispatcher'"),
}


@compiled_only
@pytest.mark.parametrize(("change", "name"), MISSING.values(), ids=MISSING)
def test_where_numba_lacks_a_private_name_kernels_are_compiled_all_the_same(tmp_path, change, name):
    code = f"import numba\nfrom numba.core import codegen, registry\n{change}\n{CHILD}"
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment(tmp_path), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["result"] == RESULT
        assert done.stderr.count("RuntimeWarning: liegeo: Numba") == 1
        assert f"lacks what liegeo's own pipeline uses ({name}" in done.stderr
        assert "Nothing has to be done. LIEGEO_JIT=plain says so without this warning" in done.stderr


@compiled_only
def test_a_newer_numba_is_used_with_a_warning_unless_somebody_chose(monkeypatch):
    monkeypatch.setattr(_jit, "NEWEST_TESTED", (0, 61))
    monkeypatch.delenv("LIEGEO_JIT", raising=False)
    with pytest.warns(RuntimeWarning, match=r"is newer than 0\.61, .* compiled by plain numba\.njit") as caught:
        assert _jit._choose_compiler().__name__ == "liegeo._jit_plain"
    assert len(caught) == 1
    # -W error: these say nothing
    for setting in ("plain", "entries"):
        monkeypatch.setenv("LIEGEO_JIT", setting)
        assert _jit._choose_compiler().__name__ == f"liegeo._jit_{setting}"
    monkeypatch.setattr(_jit, "NEWEST_TESTED", tuple(numba.version_info.short))
    monkeypatch.setenv("LIEGEO_JIT", "")
    assert _jit._choose_compiler().__name__ == "liegeo._jit_entries"


@compiled_only
def test_every_private_name_is_in_the_list():
    """What `_jit_entries.py` takes from Numba's objects with a leading underscore, and what `PRIVATE` says."""
    from liegeo import _jit_entries

    text = Path(_jit_entries.__file__).read_text(encoding="utf-8")
    tree = ast.parse(text)
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    listed = {name for _, names in _jit_entries.PRIVATE for name in names.split()}
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr.startswith("_")}
    dunder = {name for name in used if name.startswith("__")}
    # of a kernel its cache, of an argument type its number, of a named tuple its way to change
    assert used - dunder - own - listed == {"_cache", "_code", "_replace"}
    assert not _jit_entries.missing()


def test_plain_python_needs_no_cache(tmp_path):
    assert run(tmp_path, NUMBA_DISABLE_JIT="1") == {"compiled": 0, "result": RESULT}
    assert not entries(tmp_path)


# ------------------------------------------------------------ within one process: a new dispatcher is a new reader


def double(x):
    return 2.0 * x


def quotient(x, y):
    return x / y


def is_itself(x):
    return x == x


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache of our own."""
    folder = tmp_path / "kernels" / "0123456789abcdef"
    monkeypatch.setattr(_cache, "cache_folder", lambda module: folder)
    return folder


def hits(dispatcher):
    return sum(dispatcher.stats.cache_hits.values())


@compiled_only
def test_one_file_for_each_type(folder):
    first = kernel(double)
    assert (first(1.5), first(1.5j), first(2.5)) == (3.0, 3.0j, 5.0)
    assert (hits(first), len(entries(folder))) == (0, 2)
    second = kernel(double)
    assert (second(1.5), second(1.5j)) == (3.0, 3.0j)
    assert (hits(second), len(entries(folder))) == (2, 2)


DAMAGED = {
    "empty": lambda good: b"",
    "half": lambda good: good[: len(good) // 2],
    "one byte short": lambda good: good[:-1],
    "zeros": lambda good: bytes(len(good)),
    "text": lambda good: b"this is not machine code\n",
    "one bit": lambda good: good[:-9] + bytes([good[-9] ^ 1]) + good[-8:],
    # pickle answers garbage with almost any exception
    "another pickle": lambda good: pickle.dumps(3),
    "a pickle of text that is none": lambda good: b"\x80\x04\x8c\x01\xff.",
    "a number that is none": lambda good: b"I12x\n.",
}


@compiled_only
@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_compiled_anew(folder, damage):
    assert kernel(double)(1.5) == 3.0
    (file,) = entries(folder)
    file.write_bytes(damage(file.read_bytes()))
    again = kernel(double)
    assert again(1.5) == 3.0
    assert hits(again) == 0
    # and mended
    third = kernel(double)
    assert third(1.5) == 3.0
    assert hits(third) == 1


def write_folder(path, days):
    """A folder with something in it, last written to so many days ago."""
    path.mkdir(parents=True)
    (path / "entry.nbc").write_bytes(b"old")
    then = time.time() - days * DAY
    os.utime(path, (then, then))
    return path


@compiled_only
def test_old_folders_are_deleted(folder):
    old = write_folder(folder.parent / "fedcba9876543210", days=15)
    recent = write_folder(folder.parent / "00000000ffffffff", days=13)
    kernel(double)(1.5)
    assert not old.exists()
    assert (recent / "entry.nbc").read_bytes() == b"old"
    assert len(entries(folder)) == 1


@compiled_only
def test_folders_that_are_not_ours_stay(folder):
    """LIEGEO_CACHE_DIR may be anything, and may have a folder `kernels` already."""
    theirs = write_folder(folder.parent / "linux-6.1", days=400)
    kernel(double)(1.5)
    assert theirs.exists()


@compiled_only
def test_what_another_process_compiles_comes_last(folder):
    """Two kernels, of which somebody else is at the first: the second is made meanwhile, and then the first."""
    first, second = kernel(double), kernel(is_itself)
    arguments = (numba.float64,)
    theirs = FileLock(first._cache._path(arguments, first.targetctx.codegen(), "lock"))
    folder.mkdir(parents=True)
    with theirs:
        ours = threading.Thread(target=_jit.provide, args=([(first, arguments), (second, arguments)],))
        ours.start()
        while not second.entries:
            time.sleep(0.01)
        assert not first.entries
        assert ours.is_alive()
    ours.join(timeout=60.0)
    assert first.entries.keys() == second.entries.keys() == {arguments}
    # and nothing is left of the locks
    assert {path.suffix for path in entries(folder)} == {".entry"}


@compiled_only
def test_only_what_python_calls_becomes_machine_code(folder):
    inner = multiply_by(2.0, name="inner")

    @kernel(name="outer")
    def outer(x):
        return inner(x) + 1.0

    assert outer(3.0) == 7.0
    assert (len(inner.overloads), len(inner.entries)) == (1, 0)
    assert sorted(path.name.split("-")[0] + path.suffix for path in entries(folder)) == ["inner.lowered", "outer.entry"]
    # and if Python calls it after all, nothing is lowered again
    with install_recorder("numba:compile") as recorder:
        assert inner(3.0) == 6.0
    assert sum(event.is_start for _, event in recorder.buffer) == 1


@compiled_only
def test_a_lowered_kernel_comes_from_its_file(folder):
    def make():
        inner = multiply_by(2.0, name="inner")

        @kernel(name="outer")
        def outer(x):
            return inner(x) + 1.0

        return outer

    assert make()(3.0) == 7.0
    (file,) = (path for path in entries(folder) if path.suffix == ".entry")
    file.unlink()
    with install_recorder("numba:compile") as recorder:
        assert make()(3.0) == 7.0
    # the entry, and the outer one lowered for it
    assert sum(event.is_start for _, event in recorder.buffer) == 2


# ------------------------------------------------------------ whose it is

owners_only = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has no owners and modes of this kind")
_MESSAGE = "compiled kernels are not taken from there"


@pytest.fixture
def unwarned(monkeypatch):
    monkeypatch.setattr(_cache, "_warned", [])


@compiled_only
@owners_only
def test_folders_and_files_are_their_owners_alone(tmp_path, monkeypatch):
    folder = tmp_path / "new" / "kernels" / "0123456789abcdef"
    monkeypatch.setattr(_cache, "cache_folder", lambda module: folder)
    before = os.umask(0)
    try:
        kernel(double)(1.5)
    finally:
        os.umask(before)
    (file,) = entries(folder)
    assert file.stat().st_mode & 0o777 == 0o600
    assert [each.stat().st_mode & 0o777 for each in (folder, *folder.parents[:2])] == [0o700] * 3


UNTRUSTED = {
    "a folder that the group may write to": (lambda folder, file: folder.chmod(0o770), None),
    "a folder that all may write to": (lambda folder, file: folder.chmod(0o777), None),
    "a file that others may write to": (lambda folder, file: file.chmod(0o666), None),
    "another user": (lambda folder, file: None, 1),
}


@compiled_only
@owners_only
@pytest.mark.parametrize(("change", "user"), UNTRUSTED.values(), ids=UNTRUSTED)
def test_what_others_can_write_is_not_run(folder, unwarned, monkeypatch, capfd, change, user):
    assert kernel(double)(1.5) == 3.0
    (file,) = entries(folder)
    change(folder, file)
    if user is not None:
        own = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: own + user)
    # an entry that would show if it were loaded: pickles can call anything
    payload = pickle.dumps(_Marker())
    file.write_bytes(hashlib.sha256(payload).digest() + payload)
    first, second = kernel(double), kernel(is_itself)
    assert first(1.5) == 3.0
    assert second(1.5)
    assert not _Marker.calls
    assert (hits(first), hits(second)) == (0, 0)
    assert capfd.readouterr().err.count(_MESSAGE) == 1


class _Marker:
    """What leaves a mark where it is unpickled."""

    calls: ClassVar[list[int]] = []

    def __reduce__(self):
        return _mark, ()


def _mark():
    _Marker.calls.append(1)
    return ()


@compiled_only
@owners_only
def test_a_folder_that_others_may_read_is_good(folder, unwarned, capfd):
    folder.mkdir(parents=True, mode=0o755)
    assert kernel(double)(1.5) == 3.0
    again = kernel(double)
    assert again(1.5) == 3.0
    assert hits(again) == 1
    assert _MESSAGE not in capfd.readouterr().err


@compiled_only
@owners_only
def test_a_linked_folder_of_ones_own_is_good(tmp_path, monkeypatch, unwarned, capfd):
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setattr(_cache, "cache_folder", lambda module: tmp_path / "link" / "kernels" / "0123456789abcdef")
    kernel(double)(1.5)
    again = kernel(double)
    again(1.5)
    assert hits(again) == 1
    assert _MESSAGE not in capfd.readouterr().err


# ------------------------------------------------------------ where it is


def test_the_variable_chooses_the_folder(monkeypatch, tmp_path):
    locate = _cache.cache_folder.__wrapped__
    monkeypatch.setenv("LIEGEO_CACHE_DIR", str(tmp_path))
    stamp = _cache.source_stamp("liegeo.lie.so3")
    assert locate("liegeo.lie.so3") == tmp_path / "kernels" / stamp
    for unset in (lambda: monkeypatch.setenv("LIEGEO_CACHE_DIR", ""), lambda: monkeypatch.delenv("LIEGEO_CACHE_DIR")):
        unset()
        assert locate("liegeo.lie.so3") == _cache.user_cache_path("liegeo") / "kernels" / stamp


def test_stamp_sees_what_a_module_imports(monkeypatch, tmp_path):
    """Itself, what every kernel needs, what it imports and what that imports, however written; of a stranger all."""
    package = tmp_path / "liegeo"
    for folder in _cache.COMPILED_PACKAGES[:2]:
        (package / folder).mkdir(parents=True)
    texts = {
        "_cache.py": "c",
        "_jit.py": "j",
        "_jit_entries.py": "e",
        "_jit_plain.py": "p",
        "lie/__init__.py": "",
        "lie/a.py": "",
        "lie/b.py": "from liegeo.lie import (\n    a,\n)\n",
        "lie/c.py": "",
        "kernels/d.py": "from liegeo.lie.b import something\n",
        "kernels/e.py": "from liegeo.lie import c as short, nothing\n",
    }
    for name, text in texts.items():
        (package / name).write_text(text)
    monkeypatch.setattr(_cache, "__file__", str(package / "_cache.py"))
    modules = ("liegeo.lie.a", "liegeo.lie.b", "liegeo.kernels.d", "liegeo.kernels.e", "stranger")

    def stamps():
        _cache._sources.cache_clear()
        return [_cache.source_stamp.__wrapped__(module) for module in modules]

    def changed(name, text):
        before = stamps()
        (package / name).write_text(text)
        return [old != new for old, new in zip(before, stamps(), strict=True)]

    try:
        assert stamps() == stamps()
        assert len(set(stamps())) == len(modules)
        assert changed("cli.py", "no kernels here") == [False] * 5
        assert changed("_jit.py", "k") == [True] * 5
        for name in ("_cache.py", "_jit_entries.py", "_jit_plain.py"):
            assert changed(name, "k") == [True] * 5
        assert changed("lie/a.py", "new") == [True, True, True, False, True]
        assert changed("lie/c.py", "new") == [False, False, False, True, True]
        assert changed("kernels/d.py", "from liegeo.lie import c\n") == [False, False, True, False, True]
        assert changed("kernels/new.py", "new") == [False, False, False, False, True]
    finally:
        monkeypatch.undo()
        _cache._sources.cache_clear()


# ------------------------------------------------------------ the decorator


def multiply_by(factor, **options):
    @kernel(**options)
    def multiply(x):
        return factor * x

    return multiply


@compiled_only
def test_closures_are_told_apart_by_what_they_close_over(folder):
    """Twice, so that the second pair comes from the files of the first."""
    for expected_hits in (0, 1):
        for factor in (2.0, 3.0):
            multiply = multiply_by(factor)
            assert multiply(10.0) == 10.0 * factor
            assert hits(multiply) == expected_hits


@compiled_only
@pytest.mark.parametrize("numbers", [(np.int64(2), np.int64(3)), (np.float32(2), np.float32(3)), (2, True)])
def test_numbers_of_any_kind_are_told_apart(folder, numbers):
    assert [multiply_by(number)(10.0) for number in numbers] == [10.0 * float(number) for number in numbers]


@compiled_only
def test_what_nobody_knows_is_not_kept(folder):
    """Nor what calls it."""
    known, unknown = multiply_by(2.0), multiply_by(object())
    assert [f._cache.lasting for f in (known, call_to(known))] == [True, True]
    assert [f._cache.lasting for f in (unknown, call_to(unknown))] == [False, False]


@compiled_only
def test_modules_are_known_by_their_whole_name(folder):
    """mathmodel.py is not math."""
    results = []
    for number in (2.0, 3.0):
        scope = {"__name__": "mathmodel"}
        exec(f"def f(x):\n    return {number} * x\n", scope)
        results.append(call_to(numba.njit(scope["f"]))(1.0))
    assert results == [2.0, 3.0]


def call_to(function):
    @kernel(name="outer")
    def outer(x):
        return function(x)

    return outer


@compiled_only
def test_what_a_user_compiled_is_told_apart(folder):
    """Functions of Numba's own decorator, plain ones and arrays that a kernel closes over are part of what it is."""

    def wrap(function, offsets):
        @numba.njit
        def compiled(x):
            return function(x) + offsets[0]

        @kernel(name="wrap")
        def outer(x):
            return compiled(x)

        return outer

    @numba.njit
    def double(x):
        return 2.0 * x

    @numba.njit
    def triple(x):
        return 3.0 * x

    one, ten = np.array([1.0]), np.array([10.0])
    assert [wrap(f, offsets)(1.0) for f in (double, triple) for offsets in (one, ten)] == [3.0, 12.0, 4.0, 13.0]


@compiled_only
def test_a_group_of_ones_own_with_a_known_name_runs_its_own_kernels(folder):
    """The loop over a batch is one text for all groups: what it closes over tells it apart."""
    from liegeo.lie import Group, R

    kernels = {**R(2).kernels, "compose": R(2).kernels["difference"]}
    group = Group("R(2)", dim=2, element=(2,), point=2, matrix=3, kernels=kernels, random=lambda *_: None)
    assert R(2).compose([1.0, 2.0], [3.0, 5.0]).tolist() == [4.0, 7.0]
    assert group.compose([1.0, 2.0], [3.0, 5.0]).tolist() == [-2.0, -3.0]


@compiled_only
def test_division_by_zero_is_no_exception(folder):
    divide = kernel(quotient)
    assert divide(1.0, 0.0) == math.inf
    assert math.isnan(divide(0.0, 0.0))
    assert divide(1.0, -0.0) == -math.inf


def wait(flag, most, place, x):
    # a call of what LLVM cannot see into, so that flag is read anew
    for i in range(most):
        if flag[0] != 0.0:
            return i
        call_address(place, 0.0, x, x, x)
    return most


@compiled_only
@pytest.mark.skipif(sys.platform == "win32", reason="a function of C that takes any arguments")
def test_other_threads_run_while_a_kernel_runs_that_says_so(folder):
    """One thread waits inside a kernel for another; if that had to wait too, the kernel would count to its end."""
    most, flag, x = 100_000_000, np.zeros(1), np.zeros(1)
    nothing = ctypes.cast(ctypes.CDLL(None).getppid, ctypes.c_void_p).value
    waiting = kernel(wait, nogil=True)
    waiting(np.ones(1), 1, nothing, x)
    inside = threading.Event()
    found = []

    def start():
        inside.set()
        found.append(waiting(flag, most, nothing, x))

    thread = threading.Thread(target=start)
    thread.start()
    inside.wait()
    flag[0] = 1.0
    thread.join()
    assert found[0] < most


@compiled_only
def test_nan_is_not_optimised_away(folder):
    assert not kernel(is_itself)(math.nan)
    assert kernel(is_itself)(math.inf)


@pytest.mark.skipif(not numba.config.DISABLE_JIT, reason="about plain Python")
def test_plain_python_leaves_functions_as_they_are():
    assert kernel(double) is double
    assert multiply_by(2.0)(3.0) == 6.0


@compiled_only
def test_an_edit_of_a_kernel_elsewhere_is_compiled_anew(folder, tmp_path):
    """A user's own kernel, or a script's: same name, same line, other mathematics."""
    results = []
    for number in (2.0, 3.0):
        scope = {"__name__": "theirs"}
        exec(compile(f"def f(x):\n    return {number} * x\n", tmp_path / "theirs.py", "exec"), scope)
        results.append(kernel(scope["f"])(1.0))
    assert results == [2.0, 3.0]
