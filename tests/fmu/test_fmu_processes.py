"""FMUs in processes of their own: states that travel, many instances, random walks, hosts without liegeo or Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import fmpy
import pytest

import fmu_export
from fmu_export.host import Unpacked

pytestmark = pytest.mark.foreign

HERE = Path(__file__).parent


def in_a_process(text, *arguments, check=True):
    """Run a script in a process of its own; what it wrote."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), str(HERE)])}
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", text, *map(str, arguments)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert not check or done.returncode == 0, done.stderr[-3000:]
    return done


def test_a_state_goes_on_in_another_process(pendulum, folder):
    """The bytes of a state, taken to a new process: the same bits."""
    script = """
import sys
from pathlib import Path
from fmu_export.host import Instance, Unpacked
file, data, first = sys.argv[1], Path(sys.argv[2]), sys.argv[3] == "first"
with Unpacked(file) as unpacked, Instance(unpacked) as fmu:
    motor, out = fmu.references(["motor.input"]), fmu.references(["hinge.angle", "hinge.speed", "energy"])
    if first:
        fmu.initialise(0.0, 2.0, {"length": 1.3, "integrator.method": "generalised-alpha-0.8"})
        for k in range(9):
            fmu.setReal(motor, [0.1 * k])
            fmu.step(0.01 * k, 0.01)
        state = fmu.getFMUstate()
        data.write_bytes(fmu.serializeFMUstate(state))
    else:
        state = fmu.deSerializeFMUstate(data.read_bytes())
        fmu.setFMUstate(state)
    fmu.freeFMUstate(state)
    for k in range(9, 20):
        fmu.setReal(motor, [0.1 * k])
        fmu.step(0.01 * k, 0.01)
    print(*map(float.hex, fmu.getReal(out)))
"""
    file = folder / "state.bin"
    first = in_a_process(script, pendulum, file, "first").stdout
    second = in_a_process(script, pendulum, file, "second").stdout
    assert first == second
    assert len(first.split()) == 3


def test_two_hundred_instances(pendulum, arms):
    """Made, used and freed, half of them at once; a process that ends well."""
    script = """
import sys
from fmu_export.host import Instance, Unpacked
with Unpacked(sys.argv[1]) as one, Unpacked(sys.argv[2]) as two:
    for _ in range(2):
        alive = [Instance(one if k % 2 else two, f"FMU {k}") for k in range(100)]
        for k, fmu in enumerate(alive):
            fmu.initialise(0.0)
            assert fmu.step(0.0, 0.01) == 0
            fmu.reset()
            fmu.initialise(0.0)
            assert fmu.step(0.0, 0.01) == 0
        names = [["hinge.angle" if k % 2 else "a.angle"] for k in range(100)]
        angles = {fmu.getReal(fmu.references(name))[0] for fmu, name in zip(alive, names)}
        assert len(angles) == 2, angles
        for fmu in alive:
            fmu.__exit__()
print("done", sum("liegeo_fmu_" in path for path in sys.path))
"""
    assert in_a_process(script, pendulum, arms).stdout == "done 0\n"


@pytest.mark.parametrize(
    ("which", "calls"), [("pendulum", 10_000), pytest.param("arms", 2_000, marks=pytest.mark.slow)]
)
def test_random_walk(which, calls, request):
    fmu = request.getfixturevalue(which)
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(HERE / "walk.py"), str(fmu), str(calls), "4"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_bundled_sources_are_enough(pendulum):
    """A Python without liegeo, two runs one after the other, each unpacked elsewhere and deleted."""
    script = """
import importlib.metadata, re, sys, zipfile
root = sys.argv[2]
# an environment may lie in the folder of the project
sys.path[:] = [path for path in sys.path if path and ("site-packages" in path or not path.startswith(root))]
import fmpy
# what liegeo needs but the FMU does not say is not there; only the host itself has fmpy, which needs lxml, and
# Numba brings its own llvmlite
name = lambda line: re.match(r"[\\w-]+", line)[0].lower()
said = {name(line) for line in zipfile.ZipFile(sys.argv[1]).read("resources/requirements.txt").decode().split()}
all_of_it = {name(line) for line in importlib.metadata.requires("liegeo") if ";" not in line}
absent = all_of_it - said - {"fmpy", "lxml", "llvmlite"}
assert {"rich", "matplotlib"} <= absent
modules = {m for m, owners in importlib.metadata.packages_distributions().items() if absent & {*map(str.lower, owners)}}
class Absent:
    def find_spec(self, module, path=None, target=None):
        if module.partition(".")[0] in modules:
            raise ImportError(f"{module} is nothing that the FMU says it needs")
sys.meta_path.insert(0, Absent())
assert not modules & set(sys.modules)
ends = [fmpy.simulate_fmu(sys.argv[1], stop_time=0.3)["hinge.angle"][-1] for _ in range(3)]
import liegeo
assert not liegeo.__file__.startswith(root), liegeo.__file__
assert len(set(ends)) == 1
print(ends[0].hex())
"""
    first = in_a_process(script, pendulum, HERE.parents[1]).stdout.strip()
    assert float.fromhex(first) == fmu_export.run(pendulum, 0.3)["hinge.angle"][-1]


@pytest.mark.parametrize("method", ["rkmk-4", "generalised-alpha-0.8", "rkmk-54"])
def test_nothing_is_compiled_or_loaded_in_a_step(pendulum, folder, method):
    """Kernels are there where initialisation ends, or a state is put back, also those of a method that was chosen."""
    script = """
import sys
from pathlib import Path
from numba.core import event
from liegeo import _jit_entries
from fmu_export.host import Instance, Unpacked
packed, method, file, how = *sys.argv[1:3], Path(sys.argv[3]), sys.argv[4]
loaded, load = [], _jit_entries._Kernel._load_entry
def noted(self, args):
    loaded.append(self.py_func.__name__)
    return load(self, args)
_jit_entries._Kernel._load_entry = noted
with Unpacked(packed) as unpacked, Instance(unpacked) as fmu, event.install_recorder("numba:compile") as compiled:
    if how == "first":
        fmu.initialise(0.0, 2.0, {"integrator.method": method})
    else:
        fmu.setFMUstate(fmu.deSerializeFMUstate(file.read_bytes()))
    assert loaded, "the kernels are those of another cache"
    loaded.clear(), compiled.buffer.clear()
    for k in range(3):
        fmu.setReal(fmu.references(["motor.input"]), [0.1 * k])
        assert fmu.step(0.01 * k, 0.01) == 0, fmu.said()
        fmu.getReal(fmu.references(["hinge.angle", "energy", "rod.bob.position.x"]))
        if k == 0 and how == "first":
            state = fmu.getFMUstate()
            fmu.setFMUstate(state)
    print(loaded, [e.data for _, e in compiled.buffer])
    if how == "first":
        fmu.reset()
        fmu.initialise(0.0, 2.0, {"integrator.method": method})
        file.write_bytes(fmu.serializeFMUstate(fmu.getFMUstate()))
"""
    for how in ("first", "put back"):
        assert in_a_process(script, pendulum, method, folder / f"{method}.bin", how).stdout == "[] []\n"


def test_two_models_of_one_name_alive_together(folder):
    """Both called `model`, in turn step by step, and rebuilt and run again: each is itself, the process ends well."""
    script = """
import sys
from pathlib import Path
import fmu_export
from fmu_export.host import Instance, Unpacked
from fmus import PENDULUM, mechanism_fmu
folder = Path(sys.argv[1])
def made(mass):
    where = folder / str(mass)
    where.mkdir(exist_ok=True)
    return mechanism_fmu(where, "model", PENDULUM.replace("2 kg", f"{mass} kg"))
def energies(instances):
    for fmu in instances:
        fmu.initialise(0.0)
    for k in range(20):
        for fmu in instances:
            assert fmu.step(0.01 * k, 0.01) == 0
    return [fmu.getReal(fmu.references(["energy"]))[0] for fmu in instances]
with Unpacked(made(2)) as light, Unpacked(made(9)) as heavy:
    with Instance(light) as one, Instance(heavy) as two, Instance(light) as three:
        together = energies([one, two, three])
    alone = []
    for unpacked in (light, heavy):
        with Instance(unpacked) as fmu:
            alone += energies([fmu])
assert together == [*alone, alone[0]] and alone[0] != alone[1]
ends = []
for mass in ("2", "4", "2"):
    file = mechanism_fmu(folder, "again", PENDULUM.replace("2 kg", f"{mass} kg"))
    ends.append(fmu_export.run(file, 0.2)["energy"][-1])
assert ends[0] == ends[2] == alone[0] and ends[1] != ends[0]
print("done")
"""
    assert in_a_process(script, folder).stdout == "done\n"


def test_instances_that_are_forgotten(pendulum, arms):
    """Neither freed nor terminated, with states: the process ends well all the same."""
    script = """
import sys
from fmu_export.host import Instance, Unpacked
kept = []
for file in sys.argv[1:]:
    unpacked = Unpacked(file).__enter__()
    for k in range(20):
        fmu = Instance(unpacked, f"FMU {k}")
        fmu.initialise(0.0)
        kept.append((fmu, fmu.getFMUstate()))
        assert fmu.step(0.0, 0.01) == 0
print("done")
"""
    assert in_a_process(script, pendulum, arms).stdout == "done\n"


def test_instances_in_threads(pendulum):
    """Made, driven and freed at the same time: they do not disturb each other."""
    script = """
import ctypes, sys
from concurrent.futures import ThreadPoolExecutor
from fmpy import fmi2
from fmu_export.host import Instance, Unpacked
with Unpacked(sys.argv[1]) as unpacked, Instance(unpacked) as first:
    library, guid = first.dll, unpacked.description.guid.encode()
    library.fmi2Instantiate.restype = ctypes.c_void_p
    place = (unpacked.folder / "resources").as_uri().encode()
    def drive(k):
        heard = []
        callbacks = fmi2.fmi2CallbackFunctions()
        callbacks.logger = fmi2.fmi2CallbackLoggerTYPE(lambda *words: heard.append(words[2]))
        fmu = ctypes.c_void_p(library.fmi2Instantiate(b"x", 1, guid, place, ctypes.byref(callbacks), 0, 0))
        assert fmu.value
        real, one, value = ctypes.c_double, (ctypes.c_uint * 1)(1), (ctypes.c_double * 1)()
        assert library.fmi2SetupExperiment(fmu, 0, real(0), real(0), 0, real(0)) == 0
        assert library.fmi2EnterInitializationMode(fmu) == library.fmi2ExitInitializationMode(fmu) == 0
        for j in range(20):
            assert library.fmi2DoStep(fmu, real(0.01 * j), real(0.01), 1) == 0
            assert library.fmi2GetReal(fmu, one, 1, value) == 0
        if k % 3 == 0:
            one[0] = 9999
            assert library.fmi2GetReal(fmu, one, 1, value) == 3 and heard == [3]
        library.fmi2FreeInstance(fmu)
        return value[0]
    with ThreadPoolExecutor(8) as pool:
        print(len(set(pool.map(drive, range(200)))))
"""
    assert in_a_process(script, pendulum).stdout == "1\n"


def test_a_library_that_is_unloaded_and_loaded_again(pendulum):
    """By a host that is Python, from one folder and from another with the same file names."""
    script = """
import sys
from fmu_export.host import Instance, Unpacked
ends = set()
for _ in range(3):
    with Unpacked(sys.argv[1]) as one, Unpacked(sys.argv[1]) as two:
        for _ in range(3):
            with Instance(one) as first, Instance(two) as second:
                for fmu in (first, second):
                    fmu.initialise(0.0)
                    assert fmu.step(0.0, 0.1) == 0
                    ends.add(fmu.getReal([1])[0])
lines = list(open("/proc/self/maps")) if sys.platform == "linux" else []
loaded = {line.split()[5] for line in lines if "liegeo_fmu_" in line}
print(len(ends), sum("pendulum.so" in file for file in loaded), len(loaded) <= 1)
"""
    # of pythonfmu's, the first one stays: it has symbols of C++ that must be unique in a process
    assert in_a_process(script, pendulum).stdout == "1 0 True\n"


@pytest.fixture(scope="module")
def host(folder):
    """A host in C, and the environment in which it finds this Python by itself: it is the first on the path."""
    library = Path(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or "none")
    compiler = shutil.which("cc")
    if not sys.platform.startswith("linux") or compiler is None or not library.is_file() or library.suffix == ".a":
        pytest.skip("no C compiler, or a Python without its shared library")
    headers = Path(fmpy.__file__).parent / "c-code"
    program = folder / "host"
    subprocess.run([compiler, f"-I{headers}", "-o", str(program), str(HERE / "host.c"), "-ldl"], check=True)
    here = folder / "bin"
    here.mkdir()
    # a `python3` on the path that is the one of this process, whatever it is called; -E: nothing else leads there
    (here / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (here / "python3").chmod(0o755)
    unwanted = ("LD_PRELOAD", "LD_LIBRARY_PATH", "LIEGEO_LIBPYTHON")
    environment = {key: value for key, value in os.environ.items() if key not in unwanted}
    environment |= {
        "PATH": f"{here}{os.pathsep}{os.environ['PATH']}",
        "PYTHONHOME": sys.base_prefix,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path.endswith("site-packages")),
    }
    return program, environment, library


@pytest.mark.parametrize("how", ["freed", "forget", "named", "private", "environment"])
def test_a_host_that_is_no_python(pendulum, host, how):
    """In C, with nothing loaded before: the FMU finds libpython; the library is loaded and unloaded twice."""
    program, environment, library = host
    if how == "environment":
        # as after `. bin/activate`, with nothing else that leads there
        place = Path(sys.prefix, "bin")
        if sys.prefix == sys.base_prefix or not (place / "python3").exists():
            pytest.skip("this Python is in no virtual environment")
        environment = {k: v for k, v in environment.items() if k not in ("PYTHONHOME", "PYTHONPATH")}
        environment["PATH"] = f"{place}{os.pathsep}/usr/bin{os.pathsep}/bin"
    if how == "private":
        environment = {**environment, "PATH": "/nowhere", "HOST_LOADS": str(library)}
    if how == "named":
        environment = {**environment, "PATH": "/nowhere", "LIEGEO_LIBPYTHON": str(library)}
    with Unpacked(pendulum) as unpacked:
        arguments = [str(unpacked.folder), "pendulum", unpacked.description.guid, how]
        done = subprocess.run([str(program), *arguments], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("fmi2GetReal: valueReference 123456 is no Real.") == 2
    assert done.stderr.count("fmi2GetReal: it is not allowed now: the FMU is instantiated.") == 2
    expected = fmu_export.run(pendulum, 1.0, interval=0.01, inputs={"motor.input": 0.5})["hinge.angle"][-1]
    assert [float(line) for line in done.stdout.split()] == [pytest.approx(expected, abs=1e-13)] * 2


def test_a_host_without_any_python(pendulum, host):
    program, environment, _ = host
    with Unpacked(pendulum) as unpacked:
        arguments = [str(unpacked.folder), "pendulum", unpacked.description.guid]
        given = {**environment, "LIEGEO_LIBPYTHON": "/no/such/libpython.so"}
        done = subprocess.run([str(program), *arguments], env=given, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (3, "")
        assert "LIEGEO_LIBPYTHON does not name a shared library of Python" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("how", ["free", "forget"])
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_valgrind(pendulum, host, tmp_path, how):
    """No wrong access to memory by the guard or by pythonfmu's library behind it, also at exit, and no leak.

    What a host forgets is its own leak.  The slave is a tiny one: with numpy and numba it would take very long.
    """
    program, environment, _ = host
    log = tmp_path / "valgrind.log"
    with Unpacked(pendulum) as unpacked:
        shutil.copytree(unpacked.folder / "binaries", tmp_path / "binaries")
    resources = tmp_path / "resources"
    resources.mkdir()
    shutil.copy(HERE / "tiny.py", resources)
    shutil.copy(HERE.parents[1] / "fmu_export" / "block.py", resources)
    (resources / "slavemodule.txt").write_text("tiny")
    options = ["--num-callers=30", f"--leak-check={'full' if how == 'free' else 'no'}", f"--log-file={log}"]
    command = ["valgrind", *options, str(program), str(tmp_path), "pendulum", "any", how, "5"]
    done = subprocess.run(command, env={**environment, "PYTHONMALLOC": "malloc"}, capture_output=True, text=True)
    assert done.returncode == 0, (done.stderr, log.read_text()[-2000:])
    assert [float(line) for line in done.stdout.split()] == [pytest.approx(0.025)] * 2
    # what Python does inside has these libraries among its callers; what they do themselves has them on top
    errors = [block.splitlines()[:4] for block in re.split(r"==\d+== \n", log.read_text())]
    ours = [lines for lines in errors if any("pendulum.so" in x or "pythonfmu-export.so" in x for x in lines)]
    assert not ours, ours
