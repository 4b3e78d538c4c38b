"""FMUs of sources: what a compiler of the system makes of them, and what their steps do not do.

The oracle is the library that LLVM made, on a processor without fused multiply-add, to the bit.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import fmpy
import numpy as np
import pytest

import fmu_export
from fmu_export.native.source_files import command, compiled
from liegeo.errors import InputError

pytestmark = [
    pytest.mark.foreign,
    pytest.mark.skipif(
        not sys.platform.startswith("linux") or shutil.which("cc") is None, reason="compiles and runs on Linux"
    ),
]

HERE = Path(__file__).parent
MODEL = "models/double_pendulum.yaml"
STEPS, SIZE = 60, 0.01


def unpacked(fmu, folder):
    """Return what a host needs to know of an FMU."""
    fmpy.extract(str(fmu), unzipdir=str(folder))
    description = fmpy.read_model_description(str(fmu), validate=False)
    known = {v.name: v for v in description.modelVariables}
    inputs = [v.valueReference for v in description.modelVariables if v.causality == "input"]
    return SimpleNamespace(
        folder=folder,
        resources=(folder / "resources").as_uri(),
        guid=description.guid,
        inputs=inputs,
        known=known,
        method=known["integrator.method"].valueReference,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("source")


@pytest.fixture(scope="module")
def source(folder):
    """The FMU of sources, and the library that the documented command makes of it, with the system's compiler alone."""
    fmu = fmu_export.build(MODEL, folder / "source.fmu", native=True, source=True)
    made = unpacked(fmu, folder / "unpacked")
    made.fmu, made.sources = fmu, made.folder / "sources"
    readme = (made.sources / "README.md").read_text("utf-8")
    line = re.search(r"^    (cc .*)$", readme, re.MULTILINE)[1]
    assert line == command("double_pendulum", 2)
    strict = "-Wall -Wextra -Werror -Wno-unused-variable -Wno-unused-parameter"
    # files of their own, so that all processors are used
    objects = f"ls *.c | xargs -P 0 -n 4 {line.split(' -shared')[0]} {strict} -DFMI2_OVERRIDE_FUNCTION_PREFIX=1 -c"
    path = {"PATH": "/usr/bin:/bin"}
    subprocess.run(["sh", "-c", objects], cwd=made.sources, env=path, check=True)
    link = line.replace("*.c", "*.o")
    subprocess.run(["sh", "-c", link], cwd=made.sources, env=path, check=True)
    made.library = made.sources / "double_pendulum.so"
    return made


@pytest.fixture(scope="module")
def binary(folder):
    """The FMU of the library that LLVM made."""
    fmu = fmu_export.build(MODEL, folder / "binary.fmu", native=True, platforms=["linux64"])
    made = unpacked(fmu, folder / "binary")
    made.library = made.folder / "binaries/linux64/double_pendulum.so"
    return made


@pytest.fixture(scope="module")
def hosts(folder):
    """The host that prints bits, and the one whose steps can do nothing but compute."""
    made = SimpleNamespace(plain=folder / "plain", strict=folder / "strict")
    for name, file in (("native_host.c", made.plain), ("strict_host.c", made.strict)):
        options = ["-O1", "-Wall", "-Wextra", "-Wno-pedantic", "-rdynamic"]
        subprocess.run([shutil.which("cc"), *options, str(HERE / name), "-o", str(file), "-ldl"], check=True)
    return made


def printed(host, made, *before, resources=None, output="lower.end.position.z"):
    """Return the output after each step."""
    words = [*before, str(host), str(made.library), made.resources if resources is None else resources, made.guid]
    words += [str(STEPS), repr(SIZE), str(made.inputs[0]), str(made.known[output].valueReference)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return np.array([float.fromhex(line) for line in done.stdout.split()])


@pytest.mark.skipif(shutil.which("qemu-x86_64") is None, reason="qemu-user is not installed")
def test_bits_of_a_processor_without_fused_operations(source, binary, hosts):
    """Both libraries, with the same functions of the mathematical library."""
    old = ("qemu-x86_64", "-cpu", "Nehalem")
    theirs, ours = printed(hosts.plain, binary, *old), printed(hosts.plain, source, *old)
    assert np.ptp(ours) > 1e-3
    assert ours.tobytes() == theirs.tobytes()


def test_without_a_file_and_an_environment(source, binary, hosts):
    """The folder of resources need not be there; other products are fused here, so that last bits differ."""
    ours = printed(hosts.plain, source, "env", "-i", resources="")
    np.testing.assert_allclose(ours, printed(hosts.plain, binary), rtol=1e-11)
    assert not (source.folder / "resources").exists()


def test_what_it_needs_of_the_system(source):
    undefined = subprocess.run(["nm", "-D", "-u", str(source.library)], capture_output=True, text=True, check=True)
    names = {line.split()[-1].partition("@")[0] for line in undefined.stdout.splitlines() if " U " in line}
    assert names <= {
        *(
            "atan",
            "atan2",
            "ceil",
            "cos",
            "cosh",
            "exp",
            "floor",
            "fmod",
            "hypot",
            "log",
            "pow",
            "sin",
            "sincos",
            "sinh",
        ),
        *("sqrt", "tan", "tanh", "trunc", "calloc", "free", "memcpy", "memset", "memmove", "strlen"),
    }
    shown = subprocess.run(
        ["nm", "-D", "--defined-only", str(source.library)], capture_output=True, text=True, check=True
    )
    assert {line.split()[-1][:4] for line in shown.stdout.splitlines()} == {"fmi2", "fmi3"}


def test_names_of_a_program_with_several_fmus(source, tmp_path):
    """Without the macro of FMI's headers all that a linker sees begins with the FMU's name."""
    files = [f for f in compiled(path.name for path in source.sources.iterdir()) if not f.startswith("kernel_")]
    files += ["kernel_entry_place.c", "kernel_field.c"]
    for macros, prefix in (([], "double_pendulum_"), (["-DFMI2_FUNCTION_PREFIX=other_"], "other_")):
        command = [
            shutil.which("cc"),
            "-std=c11",
            "-O0",
            "-c",
            *macros,
            *(str(source.sources / name) for name in files),
        ]
        subprocess.run(command, cwd=tmp_path, check=True)
        listed = subprocess.run(
            ["nm", "-g", "--defined-only", *map(str, tmp_path.glob("*.o"))], capture_output=True, text=True, check=True
        )
        names = [line.split()[-1] for line in listed.stdout.splitlines() if len(line.split()) == 3]
        assert f"{prefix}fmi2DoStep" in names
        assert all(name.startswith(("double_pendulum_", f"{prefix}fmi2")) for name in names), names


def test_fmpy_compiles_it(source, hosts, tmp_path):
    """A foreign importer, with the options that README.md has for it."""
    fmu = shutil.copy(source.fmu, tmp_path / "foreign.fmu")
    readme = (source.sources / "README.md").read_text("utf-8")
    found = re.search(r'CFLAGS="(.*?)" LDFLAGS="(.*?)" \\\n +fmpy compile double_pendulum\.fmu', readme)
    flags = {"CFLAGS": found[1], "LDFLAGS": found[2]}
    command = [sys.executable, "-m", "fmpy", "compile", str(fmu), "--configuration", "Debug"]
    subprocess.run(command, env={**os.environ, **flags}, check=True, capture_output=True)
    with zipfile.ZipFile(fmu) as archive:
        assert "binaries/linux64/double_pendulum.so" in archive.namelist()
    theirs = unpacked(fmu, tmp_path / "unpacked")
    theirs.library = theirs.folder / "binaries/linux64/double_pendulum.so"
    # not optimised, and the same bits
    assert printed(hosts.plain, theirs).tobytes() == printed(hosts.plain, source).tobytes()


def test_the_description_names_the_files(source):
    description = fmpy.read_model_description(str(source.fmu))
    expected = compiled(path.name for path in source.sources.iterdir())
    (configuration,) = description.buildConfigurations
    (files,) = configuration.sourceFileSets
    assert files.sourceFiles == expected
    text = (source.folder / "modelDescription.xml").read_text("utf-8")
    both = re.findall(r"<SourceFiles>(.*?)</SourceFiles>", text, re.DOTALL)
    assert [re.findall(r'<File name="(.*?)" />', each) for each in both] == [expected, expected]


def strictly(hosts, made, method, more=None, output="lower.end.position.z"):
    words = [str(hosts.strict), str(made.library), made.resources, made.guid, method, str(STEPS), repr(SIZE)]
    words += [str(made.inputs[0] if made.inputs else -1), str(made.known[output].valueReference), str(made.method)]
    return subprocess.run(words, capture_output=True, env=more or {})


@pytest.mark.parametrize(
    "method", ["rkmk-4", "rkmk-54", "generalised-alpha-0.8", "adaptive-alpha-0.8", "variational-exp"]
)
def test_a_step_takes_no_memory_and_calls_no_system(source, binary, hosts, method):
    for made in (source, binary):
        done = strictly(hosts, made, method)
        assert done.returncode == 0, done.stderr
        found = np.frombuffer(done.stdout)
        assert len(found) == STEPS
        assert np.ptp(found) > 1e-3


@pytest.mark.parametrize("method", ["generalised-alpha-0.8", "adaptive-alpha-0.8"])
def test_a_step_with_loops_takes_no_memory_and_calls_no_system(hosts, tmp_path, method):
    fmu = fmu_export.build("models/sy16_four_bar.yaml", tmp_path / "x.fmu", native=True, platforms=["linux64"])
    made = unpacked(fmu, tmp_path / "unpacked")
    made.library = made.folder / "binaries/linux64/sy16_four_bar.so"
    output = next(v.name for v in made.known.values() if v.causality == "output")
    done = strictly(hosts, made, method, output=output)
    assert done.returncode == 0, done.stderr
    assert len(np.frombuffer(done.stdout)) == STEPS


def test_the_strict_host_notices(source, hosts):
    """Otherwise the tests above would show nothing."""
    took = strictly(hosts, source, "rkmk-4", {"TAKE_MEMORY": "1"})
    assert took.returncode == 9
    assert b"malloc was called in a step" in took.stderr
    assert strictly(hosts, source, "rkmk-4", {"CALL_THE_SYSTEM": "1"}).returncode == -9


def test_fmi_3(tmp_path):
    fmu = fmu_export.build(MODEL, tmp_path / "x.fmu", native=True, source=True, fmi=3)
    description = fmpy.read_model_description(str(fmu))
    (files,) = description.buildConfigurations[0].sourceFileSets
    assert [each.name for each in files.preprocessorDefinitions] == ["FMI3_OVERRIDE_FUNCTION_PREFIX"]
    with zipfile.ZipFile(fmu) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path)
    assert {f"sources/{name}" for name in files.sourceFiles} <= set(names)
    assert not any(name.startswith(("binaries", "resources")) for name in names)
    layer = ["fmi3.c", "exchange3.c", "variables3.c"]
    for macros, prefix in (([], "double_pendulum_"), (["-DFMI3_OVERRIDE_FUNCTION_PREFIX"], "")):
        compiler = [shutil.which("cc"), "-std=c11", "-c", "-Werror", *macros, *layer]
        subprocess.run(compiler, cwd=tmp_path / "sources", check=True)
        shown = subprocess.run(["nm", "-g", "fmi3.o"], cwd=tmp_path / "sources", capture_output=True, text=True)
        assert f" T {prefix}fmi3DoStep\n" in shown.stdout


def test_with_libraries_too(tmp_path):
    made = []
    for name in ("a", "b"):
        fmu = tmp_path / f"{name}.fmu"
        made.append(fmu_export.build(MODEL, fmu, native=True, source=True, platforms=["linux64"]).read_bytes())
    # the same content gives the same bytes
    assert made[0] == made[1]
    with zipfile.ZipFile(tmp_path / "a.fmu") as archive:
        names = set(archive.namelist())
    assert {"binaries/linux64/double_pendulum.so", "resources/machine.bin", "sources/data.c"} <= names


def test_only_native_fmus_have_sources(tmp_path):
    with pytest.raises(InputError, match="source is True, expected native=True with it"):
        fmu_export.build(MODEL, tmp_path / "x.fmu", source=True)
    command = [
        sys.executable,
        "-c",
        "from liegeo.cli import main; main()",
        "fmu",
        "build",
        MODEL,
        "--source",
        "-o",
        str(tmp_path / "x.fmu"),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "add --native" in re.sub(r"[\s│]+", " ", done.stderr)
    assert not list(tmp_path.iterdir())


def test_kernels_that_a_model_cannot_use_are_left_out(source):
    names = {path.name for path in source.sources.glob("kernel_*.c")}
    assert "kernel_entry_communicate.c" in names
    # there are no loops in this model
    assert not any("loops" in name for name in names)


def test_no_name_in_front_makes_another_name(folder):
    """Of an FMU called tree: `along` and `tree_along` are both names of a linker's."""
    file = folder / "tree.yaml"
    file.write_text(re.sub(r"^name: .*$", "name: tree", Path(MODEL).read_text("utf-8"), flags=re.MULTILINE), "utf-8")
    fmu = fmu_export.build(file, folder / "tree.fmu", native=True, source=True)
    text = (unpacked(fmu, folder / "tree").folder / "sources/names.h").read_text("utf-8")
    given = dict(re.findall(r"^#define ((?!FMI)\w+) (\w+)$", text, re.MULTILINE))
    assert len(given) > 100
    assert not set(given) & set(given.values())
    assert len(set(given.values())) == len(given)
