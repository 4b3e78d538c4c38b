"""Runs an SSP file under another master and writes the numbers of one output: a process of its own for each.

python peer_run.py libcosim|ecos|fmpy FILE.ssp STEP COUNT FMU VARIABLE REFERENCE OUT.npy
python peer_run.py pathsim FILE.fmu STEP COUNT INPUT VARIABLE 0 OUT.npy
"""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile

import numpy as np


def libcosim(file: str, h: float, n: int, fmu: str, variable: str, reference: int) -> list[float]:
    """Values at h, 2h, …; the first value is not observed."""
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimObserver import CosimObserver

    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(file) as archive:
            archive.extractall(folder)
        execution = CosimExecution.from_ssp_file(folder, step_size=round(h * 1e9))
        observer = CosimObserver.create_last_value()
        execution.add_observer(observer)
        slave = execution.slave_index_from_instance_name(fmu)
        out = []
        for _ in range(n):
            execution.step()
            out.append(observer.last_real_values(slave, [reference])[0])
        return out


def ecos(file: str, h: float, n: int, fmu: str, variable: str, reference: int) -> list[float]:
    from ecospy import EcosSimulation

    with EcosSimulation(step_size=h, ssp_path=file) as simulation:
        simulation.init(parameter_set="initialValues")
        out = []
        for _ in range(n):
            simulation.step()
            out.append(simulation.get_real(f"{fmu}::{variable}"))
        simulation.terminate()
        return out


def fmpy(file: str, h: float, n: int, fmu: str, variable: str, reference: int) -> list[float]:
    """Rows carry the time at the beginning of their step and values from its end."""
    from fmpy.ssp.simulation import simulate_ssp

    return list(simulate_ssp(file, stop_time=(n - 0.5) * h, step_size=h)[f"{fmu}.{variable}"])


def pathsim(file: str, h: float, n: int, torque: str, angle: str, reference: int) -> list[float]:
    """The FMU as a block, its angle under a controller of amplifiers and an adder: 60 (1 − angle) − 8 speed."""
    from pathsim import Connection, Simulation
    from pathsim.blocks import Adder, Amplifier, Constant
    from pathsim_fmi import CoSimulationFMU

    arm = CoSimulationFMU(file, "arm", dt=h)
    wanted, stiffness, damping, total = Constant(60.0), Amplifier(-60.0), Amplifier(-8.0), Adder()
    wires = [
        Connection(arm[angle], stiffness[0]),
        Connection(arm[angle.replace("angle", "speed")], damping[0]),
        *(Connection(part[0], total[k]) for k, part in enumerate((wanted, stiffness, damping))),
        Connection(total[0], arm[torque]),
    ]
    simulation = Simulation([arm, wanted, stiffness, damping, total], wires, dt=h, log=False)
    out = []
    for _ in range(n):
        # it steps the FMU to the end of its own step at once
        simulation.timestep(h)
        out.append(float(arm.outputs[angle]))
    return out


if __name__ == "__main__":
    who, file, h, n, fmu, variable, reference, out = sys.argv[1:]
    values = globals()[who](file, float(h), int(n), fmu, variable, int(reference))
    np.save(out, np.array(values))
    # under ecos some runs crash when the process ends, for a reason that we did not find; results are written by then
    os._exit(0)
