"""What a communication step of an FMU costs beside the same step in the process, in one run.

    python tools/bench/fmu.py [--json FILE] [--quick]

A chain of eight rods with four motors, 4 inputs and 16 outputs: set + doStep + get, one internal step of rkmk-4 each.

- in process: `integrate.Stepper.reach`, no inputs and no outputs: what the FMU cannot do without;
- FMU: FMI's functions called with arrays made beforehand, as a master in C does; outputs are joint angles and speeds,
  or positions, velocities and accelerations of frames and energies, which take passes over the tree;
- through fmpy: its methods, which make arrays from lists at each call;
- native: the same without Python inside (`--native`; its library is compiled by the first run), as a share of the
  FMU with Python inside, goal ≤ 0.2 through fmpy, of which fmpy's own methods alone take more; `liegeo fmu build`
  from a full cache in a process of its own, goal ≤ 2 s, also of flexible models; sizes of its parts, goal ≤ 2 MB per
  platform (`--platform` adds others than linux64); the memory of a host in C, goal ≤ 20 MB; doStep from C
  (fmu_host.c) beside the same communication step of the machine in this process, called from compiled code, goal
  ≤ 1.1; two threads with an instance each beside one, goal ≥ 1.8 times the throughput; `--cold`: how long the library
  takes from an empty cache;
- nothing: an FMU of pythonfmu that does nothing, for the same variables: what the library and fmpy themselves cost.

Memory: ten instances of an FMU of three beams with 144 modes, whose model has about 1 MB of numbers, in this process.

Overhead is an FMU's time less that of the step in the process, each the best of several rounds; goal: ≤ 15 µs for 20
variables.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from rich.console import Console
from rich.table import Table

import fmu_export
import liegeo as lg
from fmu_export.host import Instance, Unpacked
from fmu_export.machine import Machine, Settings
from fmu_export.native.library import library
from liegeo._jit import kernel
from liegeo.integrate import RKMK4, Problem, Stepper
from liegeo.machine import steps as machine_steps
from liegeo.motion import system

GOAL, STEP, RODS, MOTORS = 15.0, 1e-3, 8, 4

ROD = "{kind: rigid, mass: 1, inertia: [0.1, 0.1, 0.01], com: [0, 0, -0.5], frames: {end: [0, 0, -1]}}"
COORDINATES = [f"j{k}.{what}" for what in ("angle", "speed") for k in range(RODS)]
FRAMES = [
    *(f"r{RODS - 1}.end.{what}" for what in ("position", "velocity", "acceleration")),
    *(f"r{k}.end.position" for k in (1, 2)),
    "energy",
]

NOTHING = """
import sys
from pythonfmu import Fmi2Causality, Fmi2Slave, Real
sys.__dict__.setdefault("_nothing_keep", []).append(globals())

class Nothing(Fmi2Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        for k in range(20):
            setattr(self, f"x{k}", 0.0)
            causality = Fmi2Causality.input if k < 4 else Fmi2Causality.output
            self.register_variable(Real(f"x{k}", causality=causality))

    def do_step(self, t, size):
        return True

    def terminate(self):
        pass
"""


def model_file(folder: Path, name: str, outputs: list[str]) -> Path:
    bodies = "\n".join(f"  r{k}: {ROD}" for k in range(RODS))
    joints = "\n".join(
        f"  j{k}: {{kind: revolute, parent: {f'r{k - 1}' if k else 'world'}, child: r{k}, axis: [0, 1, 0]"
        + (", at: end}" if k else "}")
        for k in range(RODS)
    )
    motors = "\n".join(f"  m{k}: {{kind: actuator, joint: j{k}}}" for k in range(MOTORS))
    shown = "\n".join(f"    {each}:" for each in outputs)
    text = (
        f"liegeo: 1\nname: {name}\nbodies:\n{bodies}\njoints:\n{joints}\nforces:\n{motors}\n"
        f"initial: {{q: {{j0: 0.3}}}}\nexperiment: {{method: rkmk-4, step: {STEP}, end: 1000}}\n"
        f"fmu:\n  outputs:\n{shown}\n"
    )
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def measured(calls: dict[str, Callable[[int], None]], steps: int, repeats: int) -> dict[str, list[float]]:
    """Microseconds a call, round by round; rounds take turns, so that what else the machine does falls on all."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            before = time.perf_counter()
            for k in range(steps):
                call(k)
            found[name].append((time.perf_counter() - before) / steps * 1e6)
    return found


class Driven:
    """An FMU under a master that makes its arrays once."""

    def __init__(self, file: Path, n_inputs: int, n_outputs: int) -> None:
        self.unpacked = Unpacked(file).__enter__()
        self.fmu = Instance(self.unpacked)
        variables = self.fmu.description.modelVariables
        self.inputs = [v.valueReference for v in variables if v.causality == "input"][:n_inputs]
        self.outputs = [v.valueReference for v in variables if v.causality == "output"][:n_outputs]
        self.fmu.initialise(0.0, 1e6)
        fmu: Any = self.fmu._fmu
        self.component, library = fmu.component, fmu.dll
        self.into = (ctypes.c_uint * len(self.inputs))(*self.inputs)
        self.out = (ctypes.c_uint * len(self.outputs))(*self.outputs)
        self.given, self.found = (ctypes.c_double * len(self.inputs))(), (ctypes.c_double * len(self.outputs))()
        self.t = 0.0
        self.set, self.step, self.get = library.fmi2SetReal, library.fmi2DoStep, library.fmi2GetReal
        size = ctypes.c_size_t
        self.step.argtypes = [ctypes.c_void_p, ctypes.c_double, ctypes.c_double, ctypes.c_int]
        for function in (self.set, self.get):
            function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, size, ctypes.c_void_p]

    def plain(self, k: int) -> None:
        for j in range(len(self.inputs)):
            self.given[j] = math.sin(0.1 * k + j)
        status = self.set(self.component, self.into, len(self.into), self.given)
        status += self.step(self.component, self.t, STEP, 1)
        self.t += STEP
        status += self.get(self.component, self.out, len(self.out), self.found)
        if status:
            raise SystemExit(f"the FMU failed: {self.fmu.said()}")

    def through_fmpy(self, k: int) -> None:
        self.fmu.setReal(self.inputs, [math.sin(0.1 * k + j) for j in range(len(self.inputs))])
        self.fmu.doStep(self.t, STEP)
        self.t += STEP
        self.fmu.getReal(self.outputs)

    def close(self) -> None:
        self.fmu.__exit__()
        self.unpacked.__exit__()


def in_process(path: Path) -> Callable[[int], None]:
    mechanism = lg.load(path)
    state = mechanism.state()
    problem = Problem.of(system(mechanism.compile(), {"m0": 1.0}), state.q, state.v, 1.0)
    stepper = Stepper(problem, RKMK4, step=STEP, fenced=False)

    def call(k: int) -> None:
        stepper.t = k * STEP
        stepper.reach((k + 1) * STEP, 1)

    return call


@kernel(nogil=True)
def communicate_often(R: Any, t: float, n: int) -> int:
    for k in range(n):
        if machine_steps.communicate(R, t + k * STEP, STEP) != 0:
            return 1
    return 0


def machine_alone(path: Path, steps: int) -> float:
    """Nanoseconds of a communication step in this process, called from compiled code; the best of several rounds."""
    settings = Settings(step=STEP, rtol=1e-6, atol=1e-6, method="rkmk-4", extrapolation="hold")
    nothing: dict[Any, float] = {}
    machine = Machine(
        *(lg.load(path), settings, range(MOTORS), []),
        **{"inputs": np.zeros(MOTORS), "initial": nothing, "gravity": nothing, "start": 0.0, "stop": 1e6},
    )
    best, t = math.inf, 0.0
    for _ in range(8):
        before = time.perf_counter()
        if communicate_often(machine._R, t, steps):
            raise SystemExit("the machine failed")
        best, t = min(best, (time.perf_counter() - before) / steps * 1e9), t + steps * STEP
    return best


def memory(folder: Path, instances: int = 10) -> dict[str, float]:
    """MB of the model's numbers, and what the process has grown by after one and after all instances (Linux)."""
    n = 30
    beam = f"kind: beam, material: m, section: s, elements: {n}, modes: {{interfaces: [0, {n}], root: 0, count: 48}}"
    bodies = "\n".join(f"  b{k}: {{{beam}, length: {1 + 0.1 * k}, nodes: [{n}]}}" for k in range(3))
    joints = "\n".join(
        f"  j{k}: {{kind: revolute, parent: {f'b{k - 1}' if k else 'world'}, child: b{k}, axis: [0, 1, 0]"
        + (f", at: {n}}}" if k else "}")
        for k in range(3)
    )
    path = folder / "beams.yaml"
    path.write_text(
        "liegeo: 1\nname: beams\nmaterials: {m: {E: 70 GPa, nu: 0.3, rho: 2700}}\n"
        f"sections: {{s: {{kind: tube, outer: 20 mm, inner: 17 mm}}}}\nbodies:\n{bodies}\njoints:\n{joints}\n"
        "experiment: {method: generalised-alpha-0.8, step: 0.001, end: 1}\nfmu: {outputs: {j0.angle: {}}}\n",
        encoding="utf-8",
    )
    numbers = lg.load(path).compile().floats.nbytes / 2**20
    with Unpacked(fmu_export.build(path, folder / "beams.fmu")) as unpacked:
        before, grown, alive = resident(), [], []
        for k in range(instances):
            alive.append(Instance(unpacked, f"instance {k}"))
            alive[-1].initialise(0.0, 1.0)
            alive[-1].step(0.0, 1e-3)
            grown.append(resident() - before)
        for instance in alive:
            instance.__exit__()
    return {"numbers": numbers, "one": grown[0], "all": grown[-1]}


def built_by_command(path: Path, to: Path, **environment: str) -> float:
    """Seconds that `liegeo fmu build --native` takes for linux64, its imports included."""
    words = ["fmu", "build", str(path), "--native", "--platform", "linux64", "-q", "-o", str(to)]
    command = [sys.executable, "-c", "from liegeo.cli import main; main()", *words]
    before = time.perf_counter()
    subprocess.run(command, check=True, env={**os.environ, **environment})
    return time.perf_counter() - before


def native_facts(folder: Path, path: Path, steps: int) -> dict[str, float]:
    """Seconds to build from a full cache; MB of its parts and of a host in C; nanoseconds of a step; two threads."""
    file = fmu_export.build(path, folder / "facts.fmu", native=True, platforms=["linux64"])
    models = Path(__file__).parents[2] / "models"
    found = {
        f"build of {each.stem}": min(built_by_command(each, folder / "built.fmu") for _ in range(2))
        for each in (path, *(models / f"{name}.yaml" for name in ("flexible_arm", "m01_platform")))
    }
    with zipfile.ZipFile(file) as archive:
        member = next(each.filename for each in archive.infolist() if each.filename.endswith(".so"))
        found["data"] = archive.getinfo("resources/machine.bin").file_size / 1e6
        archive.extractall(folder / "facts")
        guid = re.search(r'guid="([^"]*)"', archive.read("modelDescription.xml").decode())
    host, timer = folder / "host", folder / "timer"
    sources = {
        host: Path(__file__).parents[2] / "tests" / "fmu" / "native_host.c",
        timer: Path(__file__).with_name("fmu_host.c"),
    }
    compiler = [sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-linux-gnu.2.17", "-O1"]
    for program, source in sources.items():
        subprocess.run([*compiler, str(source), "-o", str(program), "-ldl", "-lpthread"], check=True)
    resources = (folder / "facts" / "resources").as_uri()
    place = [str(folder / "facts" / member), resources, guid[1] if guid else ""]
    words = [*place, "2000", str(STEP), "0", "4"]
    subprocess.run([str(host), *words], check=True, stdout=subprocess.DEVNULL)
    # of all children so far the largest: the compiler is measured apart
    script = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=-3); " + (
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", script, str(host), *words], check=True, capture_output=True, text=True
    )
    found["host"] = float(answer.stdout)
    references = [str(MOTORS), *map(str, range(MOTORS)), "16", *map(str, range(MOTORS, MOTORS + 16))]
    # in turns, so that what else the machine does falls on both
    rounds = []
    for _ in range(3):
        alone = machine_alone(path, steps)
        command = [str(timer), *place, str(steps), str(STEP), "2", *references]
        answer = subprocess.run(command, check=True, capture_output=True, text=True)
        rounds.append([alone, *map(float, answer.stdout.split())])
    found["machine"], found["step"], found["all"], together = (min(column) for column in zip(*rounds, strict=True))
    found["two threads"] = 2.0 / together
    return found


def size_of(platform: str) -> tuple[float, float]:
    """MB of a library, as it is and packed in an archive."""
    content = library(platform)
    return len(content) / 1e6, len(zlib.compress(content, 6)) / 1e6


def cold(path: Path, folder: Path) -> float:
    """Seconds of the first build of all, with all cores."""
    return built_by_command(path, folder / "cold.fmu", LIEGEO_CACHE_DIR=str(folder / "cache"))


def report(found: dict[str, float]) -> Table:
    """Return figures of native FMUs beside their goals."""
    table = Table("native FMUs", "", "goal")
    table.add_row("set + doStep + get, share of Python's", f"{found['share of Python']:.2f}", "")
    table.add_row("the same through fmpy", f"{found['share of Python, through fmpy']:.2f}", "≤ 0.2")
    table.add_row("doStep from C, times the machine's step", f"{found['step'] / found['machine']:.2f}", "≤ 1.1")
    table.add_row("doStep from C", f"{found['step'] / 1e3:.2f} µs", "")
    table.add_row("set + doStep + get from C", f"{found['all'] / 1e3:.2f} µs", "")
    table.add_row("two threads, times the steps of one", f"{found['two threads']:.2f}", "≥ 1.8")
    for name, value in found.items():
        if name.startswith("build of "):
            table.add_row(f"liegeo fmu {name}", f"{value:.2f} s", "≤ 2 s")
        if name.startswith("library "):
            table.add_row(name, f"{value:.2f} MB, packed {found[f'packed {name}']:.2f} MB", "≤ 2 MB")
    table.add_row("data file", f"{found['data']:.2f} MB", "")
    table.add_row("a host in C, resident", f"{found['host']:.1f} MB", "≤ 20 MB")
    if "cold" in found:
        table.add_row("first build, empty cache", f"{found['cold']:.0f} s", "")
    return table


def resident() -> float:
    """MB of memory that this process has."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the numbers there")
    parser.add_argument("--quick", action="store_true", help="few repeats")
    parser.add_argument("--native", action="store_true", help="also native FMUs (Linux)")
    parser.add_argument("--platform", action="append", default=[], help="with --native: the size of another library")
    parser.add_argument("--cold", action="store_true", help="with --native: compile the library from an empty cache")
    arguments = parser.parse_args()
    steps, repeats = (100, 3) if arguments.quick else (500, 15)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shown = {"coordinates": COORDINATES, "frames": FRAMES}
        paths = {each: model_file(folder, each, outputs) for each, outputs in shown.items()}
        calls, fmus = {"in process": in_process(paths["coordinates"])}, {}
        kinds: dict[str, dict[str, Any]] = {"FMU": {}}
        if arguments.native:
            kinds["native FMU"] = {"native": True, "platforms": ["linux64"]}
        for kind, options in kinds.items():
            for each, path in paths.items():
                for way in ("", ", through fmpy"):
                    file = fmu_export.build(path, folder / f"{each}_{len(fmus)}.fmu", **options)
                    fmu = fmus[f"{kind}, {each}{way}"] = Driven(file, 4, 16)
                    calls[f"{kind}, {each}{way}"] = fmu.through_fmpy if way else fmu.plain
        script = folder / "nothing.py"
        script.write_text(NOTHING, encoding="utf-8")
        from pythonfmu.builder import FmuBuilder

        nothing = Path(FmuBuilder.build_FMU(script, dest=folder / "nothing.fmu"))
        for way in ("", ", through fmpy"):
            fmu = fmus[f"nothing{way}"] = Driven(nothing, 4, 16)
            calls[f"nothing{way}"] = fmu.through_fmpy if way else fmu.plain
        times = measured(calls, steps, repeats)
        rows: dict[str, dict[str, float]] = {
            each: {
                "variables": len(fmus[each].inputs) + len(fmus[each].outputs) if each in fmus else 0,
                "best": float(np.min(rounds)),
                "median": float(np.median(rounds)),
            }
            for each, rounds in times.items()
        }
        for fmu in fmus.values():
            fmu.close()
        sizes = memory(folder) if Path("/proc/self/statm").exists() else {}
        natively = native_facts(folder, paths["coordinates"], 20 * steps) if arguments.native else {}
        for platform in ("linux64", *arguments.platform) if arguments.native else ():
            name = f"library {platform}"
            natively[name], natively[f"packed {name}"] = size_of(platform)
        if arguments.native and arguments.cold:
            natively["cold"] = cold(paths["coordinates"], folder)
    table = Table(title="set + doStep + get, µs")
    for heading in ("", "variables", "best", "median", "overhead, best", f"goal ≤ {GOAL:g}"):
        table.add_column(heading, justify="right")
    for each, row in rows.items():
        row["overhead"] = row["best"] - rows["in process"]["best"]
        met = "" if not each.startswith("FMU") else ("met" if row["overhead"] <= GOAL else "missed")
        numbers = [f"{row[key]:.1f}" for key in ("best", "median", "overhead")]
        table.add_row(each, f"{row['variables']:.0f}", *numbers, met)
    Console(width=100).print(table)
    if sizes:
        Console(width=100).print(
            f"model of {sizes['numbers']:.2f} MB: one instance takes {sizes['one']:.1f} MB, ten {sizes['all']:.1f} MB"
        )
        rows["memory"] = sizes
    if natively:
        natively |= {
            f"share of Python{way}": rows[f"native FMU, coordinates{way}"]["best"]
            / rows[f"FMU, coordinates{way}"]["best"]
            for way in ("", ", through fmpy")
        }
        Console(width=100).print(report(natively))
        rows["native"] = natively
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
