"""One native FMU under four hosts: a program in C with an empty environment, fmpy, libcosim and Ecos.

Used by test_fmu_native_hosts.py and by tools/figures/fmu_hosts.py, which draws the picture of docs/hosts.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import fmpy
import numpy as np

from fmu_export.cosim import FMU, CosimSystem, save_system

HERE = Path(__file__).parent
HOSTS = ("a program in C", "fmpy", "libcosim", "Ecos")


def four_hosts(fmu: Path, variable: str, step: float, steps: int, folder: Path) -> dict[str, np.ndarray]:
    """Return an output at the ends of steps, by host; no input is set."""
    ssp = save_system(CosimSystem({"one": FMU(fmu)}, []), folder / "one.ssp")
    known = {v.name: v.valueReference for v in fmpy.read_model_description(str(fmu)).modelVariables}
    other = (str(ssp), repr(step), str(steps), "one", variable, str(known[variable]))
    found = (
        _in_c(fmu, known[variable], step, steps, folder),
        fmpy.simulate_fmu(str(fmu), stop_time=steps * step, output_interval=step, output=[variable])[variable][1:],
        _master("libcosim", other, folder),
        _master("ecos", other, folder),
    )
    return dict(zip(HOSTS, found, strict=True))


def _in_c(fmu: Path, reference: int, step: float, steps: int, folder: Path) -> np.ndarray:
    unpacked = Path(fmpy.extract(str(fmu), unzipdir=str(folder / "fmu")))
    description = fmpy.read_model_description(str(fmu))
    host = folder / "host"
    compiler = [sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-linux-gnu.2.17", "-O1"]
    subprocess.run([*compiler, str(HERE / "native_host.c"), "-o", str(host), "-ldl"], check=True)
    library = unpacked / "binaries" / "linux64" / f"{description.coSimulation.modelIdentifier}.so"
    words = [str(library), (unpacked / "resources").as_uri(), description.guid]
    command = ["env", "-i", str(host), *words, str(steps), repr(step), "-1", str(reference)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return np.array([float.fromhex(line) for line in done.stdout.split()])


def _master(who: str, arguments: tuple[str, ...], folder: Path) -> np.ndarray:
    out = folder / f"{who}.npy"
    # tbb from PyPI puts its libraries where no linker looks
    places = [sysconfig.get_config_var("LIBDIR") or "", str(Path(sys.prefix) / "lib")]
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join([*places, os.environ.get("LD_LIBRARY_PATH", "")])}
    script = HERE.parent / "cosim" / "peer_run.py"
    subprocess.run([sys.executable, str(script), who, *arguments, str(out)], check=True, env=environment, timeout=300)
    return np.asarray(np.load(out))
