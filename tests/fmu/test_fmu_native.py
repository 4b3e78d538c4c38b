"""Native FMUs: the same machine with no Python on the target.

The oracle is the FMU of the same model with Python inside, to the bit: both run the same kernels, compiled in another
way.  That those are right is shown elsewhere (test_fmu_models.py compares FMUs with `simulate`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import fmpy
import numpy as np
import pytest
from fmpy.fmi2 import FMU2Slave

import fmu_export
import liegeo as lg
from fmu_export.native import kernels
from fmu_export.native.library import PLATFORMS, library
from liegeo._jit_export import with_jumps
from liegeo.errors import InputError, ModelError
from liegeo.integrate import METHODS
from liegeo.model import Motion

MODELS = sorted(Path("models").glob("*.yaml"))
# Compiling a library takes one to two minutes from an empty cache.
pytestmark = pytest.mark.foreign

# All that kernels and the C of the FMI layer may take from the system, on Linux.
ALLOWED = {
    *("atan2", "ceil", "cos", "cosh", "exp", "fmod", "hypot", "log", "pow", "sin", "sincos", "sinh", "tan", "tanh"),
    *("calloc", "free", "fopen", "fclose", "fread", "memcpy", "memset", "strlen"),
}


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Return a function that builds both FMUs of a model once: (native, with Python inside)."""
    folder, known = tmp_path_factory.mktemp("native"), {}

    def build(name, **options):
        key = (name, *sorted(options.items()))
        if key not in known:
            stem = f"{name}_{len(known)}"
            made = [
                fmu_export.build(f"models/{name}.yaml", folder / f"{stem}_{kind}.fmu", **more, **options)
                for kind, more in (("native", {"native": True, "platforms": ["linux64"]}), ("python", {}))
            ]
            known[key] = made
        return known[key]

    return build


def run(fmu, *, step, steps=20, start_values=None, inputs=None):
    """Return all outputs at communication points."""
    arguments = {"start_values": start_values or {}, "input": inputs}
    return fmpy.simulate_fmu(str(fmu), output_interval=step, stop_time=steps * step, **arguments)


def moved(result):
    """Return whether an output changes."""
    return any(np.ptp(result[name]) > 0.0 for name in result.dtype.names[1:])


def same(a, b):
    """Return whether two results have the same bits."""
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_a_native_fmu_has_the_bits_of_the_one_with_python(built, model):
    native, python = built(model.stem)
    description = fmpy.read_model_description(str(native))
    step, stop = (float(getattr(description.defaultExperiment, name)) for name in ("stepSize", "stopTime"))
    inputs = [v.name for v in description.modelVariables if v.causality == "input"]
    # some are at rest until they are driven
    driven = {name: 0.001 * (k + 1) for k, name in enumerate(inputs)}
    start = {} if moved(run(native, step=step)) else driven
    for share in (1.0, 3.7, 10.0):
        size = min(share * step, stop / 20.0)
        a, b = (run(fmu, step=size, start_values=start) for fmu in (native, python))
        assert len(a) == 21
        assert same(a, b)
    # otherwise equal bits would say nothing
    assert moved(a)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_in_the_library(built, method):
    native, python = built("double_pendulum")
    start = {"integrator.method": method, "integrator.step": 1e-3}
    if method.startswith("magnus"):
        # for linear problems only: refused by both
        answers = []
        for fmu in (native, python):
            with pytest.raises(Exception, match="failed with status") as caught:
                run(fmu, step=0.01, start_values=start)
            answers.append(str(caught.value))
        assert answers[0] == answers[1]
    else:
        assert same(*(run(fmu, step=0.01, start_values=start) for fmu in (native, python)))


@pytest.mark.parametrize("method", ["generalised-alpha-0.8", "adaptive-alpha-0.8", "rkmk-54", "rkmk-4"])
@pytest.mark.parametrize("model", ["sy16_four_bar", "flexible_arm"])
def test_stiff_methods_and_loops(built, model, method):
    start = {"integrator.method": method, "integrator.step": 1e-4}
    assert same(*(run(fmu, step=1e-3, steps=10, start_values=start) for fmu in built(model)))


def test_parameters_inputs_and_initial_values(built):
    native, python = built("flexible_arm")
    description = fmpy.read_model_description(str(native))
    names = [v.name for v in description.modelVariables]
    assert not any(v.name == "upper.length" for v in description.modelVariables)
    angle = next(name for name in names if name.startswith("initial.") and name.endswith("angle"))
    motor = next(v.name for v in description.modelVariables if v.causality == "input")
    start = {"gravity.z": -3.0, angle: 0.4}
    inputs = np.array([(0.0, 0.1), (0.05, -0.1), (0.1, 0.3)], dtype=[("time", float), (motor, float)])
    a, b = (run(fmu, step=0.01, steps=10, start_values=start, inputs=inputs) for fmu in (native, python))
    assert same(a, b)
    assert not same(a, run(native, step=0.01, steps=10))


class Driven:
    """An instance that a test drives call by call."""

    def __init__(self, fmu, folder, **start):
        # not over a library that is in use
        self.folder = folder if folder.exists() else Path(fmpy.extract(str(fmu), unzipdir=str(folder)))
        self.description = fmpy.read_model_description(str(fmu))
        identifier = self.description.coSimulation.modelIdentifier
        self.slave = FMU2Slave(
            guid=self.description.guid,
            unzipDirectory=str(self.folder),
            modelIdentifier=identifier,
            instanceName=identifier,
        )
        self.heard = []
        self.slave.instantiate()
        self.slave.setupExperiment(startTime=0.0)
        self.references = {v.name: v.valueReference for v in self.description.modelVariables}
        for name, value in start.items():
            self.slave.setReal([self.references[name]], [value])
        self.slave.enterInitializationMode()
        self.slave.exitInitializationMode()
        self.outputs = [v.valueReference for v in self.description.modelVariables if v.causality == "output"]
        self.outputs = [k for k in self.outputs if self.description.modelVariables[k].type == "Real"]

    def step(self, t, size):
        self.slave.doStep(t, size)
        return self.slave.getReal(self.outputs)

    def saved(self):
        state = self.slave.getFMUState()
        try:
            return self.slave.serializeFMUState(state)
        finally:
            self.slave.freeFMUState(state)

    def put_back(self, data):
        state = self.slave.deserializeFMUState(data)
        self.slave.setFMUState(state)
        self.slave.freeFMUState(state)

    def end(self):
        self.slave.terminate()
        self.slave.freeInstance()


@pytest.mark.parametrize("model", [path.stem for path in MODELS])
def test_a_state_saved_in_one_goes_on_in_the_other(built, model, tmp_path):
    native, python = built(model)
    size = float(fmpy.read_model_description(str(native)).defaultExperiment.stepSize)
    for k, (first, second) in enumerate(((native, python), (python, native))):
        one, other = Driven(first, tmp_path / f"{k}a"), Driven(second, tmp_path / f"{k}b")
        try:
            for n in range(5):
                one.step(n * size, size)
            data = one.saved()
            expected = [one.step(n * size, size) for n in range(5, 10)]
            other.put_back(data)
            assert other.saved() == data
            assert [other.step(n * size, size) for n in range(5, 10)] == expected
        finally:
            one.end()
            other.end()


def test_a_state_of_another_model_is_refused(built, tmp_path):
    one, other = Driven(built("double_pendulum")[0], tmp_path / "a"), Driven(built("heavy_top")[0], tmp_path / "b")
    try:
        data = one.saved()
        for wrong in (data, data[:-1], b"", b"x" * 200, data[:100], data + b"\0"):
            with pytest.raises(Exception, match="failed with status 3"):
                other.put_back(wrong)
    finally:
        one.end()
        other.slave.freeInstance()


def test_derivatives_of_outputs(built, tmp_path):
    """Rates of outputs, and derivatives along inputs, are those of the FMU with Python inside."""
    made = [Driven(fmu, tmp_path / str(k)) for k, fmu in enumerate(built("double_pendulum"))]
    try:
        found = []
        for one in made:
            one.step(0.0, 0.01)
            torque = [v.valueReference for v in one.description.modelVariables if v.causality == "input"]
            names = [one.references[v.name] for v in one.description.modelVariables if v.name.endswith(".speed")]
            names = [k for k in names if k in one.outputs]
            along = one.slave.getDirectionalDerivative(one.outputs, torque, [1.0])
            rates = one.slave.getRealOutputDerivatives(names, [1] * len(names))
            found.append((list(along), [float(x) for x in rates]))
        assert found[0] == found[1]
        assert any(found[0][1])
    finally:
        for one in made:
            one.end()


def test_a_step_that_fails_is_discarded_with_the_same_words(built, tmp_path):
    """A step that is far too long blows up; both say so, and where they got to."""
    heard = []
    for fmu in built("flexible_arm"):
        settings = ["--set", "integrator.method=rkmk-4", "--set", "integrator.step=0.01"]
        program = [sys.executable, "-c", "from liegeo.cli import main; main()"]
        command = [
            *program,
            "fmu",
            "run",
            str(fmu),
            "--end",
            "0.5",
            "--interval",
            "0.05",
            "-o",
            str(tmp_path / "run.csv"),
        ]
        result = subprocess.run([*command, *settings], capture_output=True, text=True)
        heard.append(re.findall(r"at t = .*|the solution grows.*", result.stdout + result.stderr))
        assert result.returncode
    assert heard[0]
    assert heard[0] == heard[1]


def test_what_is_python_is_refused_by_name(tmp_path):
    body = lg.Body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    hinge = lg.Revolute(name="hinge", parent="world", child="rod", axis=(0, 1, 0))
    loop = Motion(name="drive", joint="hinge", law=lambda t: (0.1 * t, 0.1, 0.0))
    tree = lg.Tree([body], [hinge], loops=[loop])
    with pytest.raises(ModelError, match=r"'drive'.*a function"):
        fmu_export.build(tree, tmp_path / "x.fmu", native=True, platforms=["linux64"])
    assert not (tmp_path / "x.fmu").exists()
    with pytest.raises(InputError, match="no platform 'amiga'"):
        fmu_export.build("models/double_pendulum.yaml", tmp_path / "x.fmu", native=True, platforms=["amiga"])


@pytest.mark.parametrize("platform", ["linux64", "aarch64-linux"])
def test_nothing_but_libc_and_libm(tmp_path, platform):
    (tmp_path / "a.so").write_bytes(library(platform))

    def read(what):
        command = ["readelf", what, "-W", str(tmp_path / "a.so")]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    symbols = [line.split()[4:] for line in read("--dyn-syms").splitlines() if re.match(r"\s*\d+:", line)]
    # binding, visibility, section, name
    undefined = {name[0].partition("@")[0] for _, _, section, *name in symbols if section == "UND" and name}
    # weak ones, which only profilers and transactional memory define
    undefined -= {"__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable"}
    assert undefined
    assert undefined <= ALLOWED
    versions = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([\d.]+)", read("--version-info"))}
    assert max(versions) <= (2, 17)
    # hosts see FMI's functions and nothing else
    defined = {name[0] for _, _, section, *name in symbols if section != "UND" and name}
    assert defined
    assert all(name.startswith(("fmi2", "fmi3")) for name in defined)
    assert set(re.findall(r"NEEDED.*\[(.*)\]", read("-d"))) <= {
        *("libc.so.6", "libm.so.6", "ld-linux-aarch64.so.1", "ld-linux-x86-64.so.2")
    }


def test_all_kernels_are_there():
    """Every method on every kind of system that it can be used on, and what it jumps to."""
    names = [one.name for one in with_jumps(kernels.wanted().values())]
    assert len(names) == len(set(names)) > 60
    assert {f"entry_{name}" for name in kernels.ENTRIES} <= set(names)


def test_as_a_person_types_it(tmp_path):
    """Parameters that are constants are listed, and the archive has what was asked for."""
    program = [sys.executable, "-c", "from liegeo.cli import main; main()", "fmu", "build", "models/flexible_arm.yaml"]
    file = tmp_path / "arm.fmu"
    words = ["--native", "--fmi", "3", "--platform", "linux64", "-o", str(file)]
    done = subprocess.run([*program, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    listed = " ".join(done.stdout.split())
    assert "constant in this FMU, because" in listed
    assert "upper.length" in listed
    assert "payload.mass" not in listed
    with zipfile.ZipFile(file) as archive:
        assert "binaries/x86_64-linux/flexible_arm.so" in archive.namelist()
        assert b'fmiVersion="3.0"' in archive.read("modelDescription.xml")
    done = subprocess.run([*program, "--native", "--no-bundle"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "a native FMU has no liegeo inside" in done.stderr


def test_nominals_of_states_stand_at_their_states(built):
    """Behind a quaternion there is a number more in q than in v."""
    about = fmpy.read_model_description(str(built("st21_spacecraft")[0]))
    nominal = {v.name: float(v.nominal) for v in about.modelVariables if v.name.startswith("state.")}
    assert nominal["state.orbit.quaternion.w"] == nominal["state.gimbal.angle[0]"] == 1.0
    assert nominal["state.orbit.position.x"] == nominal["state.orbit.velocity.x"] > 1.0
    assert nominal["state.left.eta[0]"] == nominal["state.left.etad[0]"] > 1.0


def test_the_archive_has_no_sources(built):
    native, _ = built("crane")
    with zipfile.ZipFile(native) as archive:
        names = archive.namelist()
        more = ["resources/machine.bin", "terminalsAndIcons/terminalsAndIcons.xml"]
        assert sorted(names) == ["binaries/linux64/crane.so", "modelDescription.xml", *more]
        assert b'needsExecutionTool="false"' in archive.read("modelDescription.xml")
    assert not fmu_export.validate(native).problems


def hosted(folder, command, fmu, platform="linux64", **options):
    """Return what a host in C prints of a native FMU."""
    unpacked = Path(fmpy.extract(str(fmu), unzipdir=str(folder / "fmu")))
    description = fmpy.read_model_description(str(fmu))
    ending = PLATFORMS[platform].ending
    file = unpacked / "binaries" / platform / f"{description.coSimulation.modelIdentifier}{ending}"
    given = next(v.valueReference for v in description.modelVariables if v.causality == "input")
    shown = next(v.valueReference for v in description.modelVariables if v.causality == "output")
    resources = (unpacked / "resources").as_uri() if platform != "win64" else str(unpacked / "resources")
    arguments = [str(file), resources, description.guid, "60", "0.01", str(given), str(shown)]
    found = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=300, **options)
    assert found.returncode == 0, found.stderr
    lines = found.stdout.split()
    assert len(lines) == 60
    return lines


def compiled(folder, target, *options):
    """Return the host, compiled by zig."""
    made = folder / f"host_{target}"
    command = [
        sys.executable,
        "-m",
        "ziglang",
        "cc",
        "-target",
        target,
        "-O1",
        "tests/fmu/native_host.c",
        "-o",
        str(made),
    ]
    subprocess.run([*command, *options], check=True)
    return made


@pytest.fixture(scope="session")
def python_bits(built, tmp_path_factory):
    """Return what the host should print: the outputs of the FMU with Python inside."""
    _, fmu = built("double_pendulum")
    one = Driven(fmu, tmp_path_factory.mktemp("python_bits") / "fmu")
    given = next(v.valueReference for v in one.description.modelVariables if v.causality == "input")
    out = []
    for k in range(60):
        one.slave.setReal([given], [(k % 7) / 70.0])
        out.append(float(one.step(k * 0.01, 0.01)[0]))
    one.end()
    return out


def test_a_host_in_c_with_an_empty_environment(built, python_bits, tmp_path):
    host = compiled(tmp_path, "x86_64-linux-gnu.2.17", "-ldl")
    printed = hosted(tmp_path, ["env", "-i", str(host)], built("double_pendulum")[0])
    assert [float.fromhex(x) for x in printed] == python_bits


def test_a_host_in_c_needs_little_memory(built, tmp_path):
    host = compiled(tmp_path, "x86_64-linux-gnu.2.17", "-ldl")
    native, _ = built("flexible_arm")
    unpacked = Path(fmpy.extract(str(native), unzipdir=str(tmp_path / "fmu")))
    description = fmpy.read_model_description(str(native))
    (library,) = unpacked.glob("binaries/linux64/*.so")
    shown = next(v.valueReference for v in description.modelVariables if v.causality == "output")
    words = [str(library), (unpacked / "resources").as_uri(), description.guid, "10", "0.001", "-1", str(shown)]
    done = subprocess.run([str(host), *words], env={"SHOW_MEMORY": "1"}, capture_output=True, text=True, check=True)
    # in kB: all of the process, with the pages of the library that it touched
    assert int(done.stderr) < 20_000


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_valgrind_finds_nothing(built, tmp_path):
    host = compiled(tmp_path, "x86_64-linux-gnu.2.17", "-ldl")
    watch = ["valgrind", "-q", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"]
    hosted(tmp_path, [*watch, str(host)], built("sy16_four_bar")[0])


@pytest.mark.skipif(shutil.which("qemu-x86_64") is None, reason="qemu-user is not installed")
def test_an_old_processor(built, python_bits, tmp_path):
    """Without fused multiply-add: other last bits, and no illegal instruction."""
    host = compiled(tmp_path, "x86_64-linux-gnu.2.17", "-ldl")
    printed = hosted(tmp_path, ["qemu-x86_64", "-cpu", "Nehalem", str(host)], built("double_pendulum")[0])
    assert [float.fromhex(x) for x in printed] == pytest.approx(python_bits, rel=1e-9)


@pytest.mark.skipif(shutil.which("qemu-aarch64") is None, reason="qemu-user is not installed")
@pytest.mark.skipif(not Path("/usr/aarch64-linux-gnu").exists(), reason="libc6-arm64-cross is not installed")
def test_an_arm_processor_gives_the_same_bits(python_bits, tmp_path):
    made = tmp_path / "arm.fmu"
    fmu_export.build("models/double_pendulum.yaml", made, native=True, platforms=["aarch64-linux"])
    host = compiled(tmp_path, "aarch64-linux-gnu.2.31", "-ldl")
    printed = hosted(tmp_path, ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", str(host)], made, "aarch64-linux")
    assert [float.fromhex(x) for x in printed] == python_bits


@pytest.mark.skipif(shutil.which("wine") is None, reason="wine is not installed")
def test_windows(python_bits, tmp_path):
    """Under wine: the mathematical library is another, so last bits may be others."""
    made = tmp_path / "windows.fmu"
    fmu_export.build("models/double_pendulum.yaml", made, native=True, platforms=["win64"])
    host = compiled(tmp_path, "x86_64-windows-gnu")
    environment = {**os.environ, "WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all"}
    printed = hosted(tmp_path, ["wine", str(host)], made, "win64", env=environment)
    assert [float.fromhex(x) for x in printed] == pytest.approx(python_bits, rel=1e-9)
    with zipfile.ZipFile(made) as archive:
        content = archive.read("binaries/win64/double_pendulum.dll")
    imported = set(re.findall(rb"[\w-]+\.dll", content, re.IGNORECASE))
    assert imported <= {b"KERNEL32.dll", b"api-ms-win-crt-math-l1-1-0.dll", b"library.dll"}


def test_many_instances_and_steps(built, tmp_path):
    """A thousand instances at once, and many steps, in little memory."""
    script = (
        "import resource, sys\n"
        "from tests.fmu.test_fmu_native import Driven\n"
        "from pathlib import Path\n"
        "def memory(): return int(open('/proc/self/statm').read().split()[1]) * 4096 / 1e6\n"
        "one = Driven(sys.argv[1], Path(sys.argv[2]))\n"
        "k = 0\n"
        "def go(n):\n"
        "    global k\n"
        "    for _ in range(n):\n"
        "        one.slave.doStep(k * 1e-3, 1e-3); k += 1\n"
        "go(1000); before = memory(); go(100_000); grown = memory() - before\n"
        "many = [Driven(sys.argv[1], Path(sys.argv[2])) for _ in range(1000)]\n"
        "for each in many: each.step(0.0, 1e-3)\n"
        "print(grown, memory() - before)\n"
        "for each in [one, *many]: each.end()\n"
    )
    command = [sys.executable, "-c", script, str(built("double_pendulum")[0]), str(tmp_path / "fmu")]
    found = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(Path.cwd())})
    assert found.returncode == 0, found.stderr
    grown, all_of_them = map(float, found.stdout.split())
    assert grown < 1.0
    assert all_of_them < 300.0


def test_a_thousand_instances_made_and_freed(built, tmp_path):
    """One after another, each with a step and a saved state: nothing stays."""
    script = (
        "import sys\n"
        "from tests.fmu.test_fmu_native import Driven\n"
        "from pathlib import Path\n"
        "def memory(): return int(open('/proc/self/statm').read().split()[1]) * 4096 / 1e6\n"
        "first = Driven(sys.argv[1], Path(sys.argv[2]))\n"
        "slave = first.slave\n"
        "def go(n):\n"
        "    for _ in range(n):\n"
        "        slave.fmi2FreeInstance(slave.component); slave.instantiate()\n"
        "        first.slave.setupExperiment(startTime=0.0)\n"
        "        first.slave.enterInitializationMode(); first.slave.exitInitializationMode()\n"
        "        first.step(0.0, 1e-3); first.put_back(first.saved())\n"
        "go(100); before = memory(); go(1000); print(memory() - before)\n"
        "first.end()\n"
    )
    command = [sys.executable, "-c", script, str(built("double_pendulum")[0]), str(tmp_path / "fmu")]
    found = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(Path.cwd())})
    assert found.returncode == 0, found.stderr
    assert float(found.stdout) < 1.0
