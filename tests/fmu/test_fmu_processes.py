"""Units in processes of their own: states that travel, many instances, random walks, hosts without liegeo or Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import fmpy
import pytest
from units import ARMS, mechanism_unit

import fmu_export
from fmu_export.host import Unpacked

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("units")


@pytest.fixture(scope="module")
def pendulum(folder):
    return mechanism_unit(folder)


@pytest.fixture(scope="module")
def arms(folder):
    return mechanism_unit(folder, "arms", ARMS)


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
unit, data, first = sys.argv[1], Path(sys.argv[2]), sys.argv[3] == "first"
with Unpacked(unit) as unpacked, Instance(unpacked) as fmu:
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
        alive = [Instance(one if k % 2 else two, f"unit {k}") for k in range(100)]
        for k, unit in enumerate(alive):
            unit.initialise(0.0)
            assert unit.step(0.0, 0.01) == 0
            unit.reset()
            unit.initialise(0.0)
            assert unit.step(0.0, 0.01) == 0
        names = [["hinge.angle" if k % 2 else "a.angle"] for k in range(100)]
        angles = {unit.getReal(unit.references(name))[0] for unit, name in zip(alive, names)}
        assert len(angles) == 2, angles
        for unit in alive:
            unit.__exit__()
print("done", sum("liegeo_fmu_" in path for path in sys.path))
"""
    assert in_a_process(script, pendulum, arms).stdout == "done 0\n"


@pytest.mark.parametrize(
    ("which", "calls"), [("pendulum", 10_000), pytest.param("arms", 2_000, marks=pytest.mark.slow)]
)
def test_random_walk(which, calls, request):
    unit = request.getfixturevalue(which)
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(HERE / "walk.py"), str(unit), str(calls), "4"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_bundled_sources_are_enough(pendulum):
    """A Python without liegeo, two runs one after the other, each unpacked elsewhere and deleted."""
    script = """
import sys
root = sys.argv[2]
# an environment may lie in the folder of the project
sys.path[:] = [path for path in sys.path if path and ("site-packages" in path or not path.startswith(root))]
import fmpy
ends = [fmpy.simulate_fmu(sys.argv[1], stop_time=0.3)["hinge.angle"][-1] for _ in range(3)]
import liegeo
assert not liegeo.__file__.startswith(root), liegeo.__file__
assert len(set(ends)) == 1
print(ends[0].hex())
"""
    first = in_a_process(script, pendulum, HERE.parents[1]).stdout.strip()
    assert float.fromhex(first) == fmu_export.run(pendulum, 0.3)["hinge.angle"][-1]


def test_a_host_that_is_no_python(pendulum, folder):
    """In C, with libpython loaded before, as docs/fmu.md says; the library loaded and unloaded twice."""
    library = Path(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or "none")
    compiler = shutil.which("cc")
    if not sys.platform.startswith("linux") or compiler is None or not library.is_file() or library.suffix == ".a":
        pytest.skip("no C compiler, or a Python without its shared library")
    headers = Path(fmpy.__file__).parent / "c-code"
    host = folder / "host"
    subprocess.run([compiler, f"-I{headers}", "-o", str(host), str(HERE / "host.c"), "-ldl"], check=True)
    with Unpacked(pendulum) as unpacked:
        environment = {
            **os.environ,
            "LD_PRELOAD": str(library),
            "PYTHONHOME": sys.base_prefix,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path.endswith("site-packages")),
        }
        done = subprocess.run(
            [str(host), str(unpacked.folder), "pendulum"], env=environment, capture_output=True, text=True
        )
    assert done.returncode == 0, done.stderr
    expected = fmu_export.run(pendulum, 1.0, interval=0.01, inputs={"motor.input": 0.5})["hinge.angle"][-1]
    assert [float(line) for line in done.stdout.split()] == [pytest.approx(expected, abs=1e-13)] * 2
