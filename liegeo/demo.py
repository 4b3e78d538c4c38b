"""What `liegeo demo` does: the flexible arm of models/flexible_arm.yaml, swung to and fro by a controller.

Twice: in one process, the controller a function; and by co-simulation, the arm and the controller each an FMU,
which exchange angles and torques at every communication step.  The control law is in demo_controller.py.
"""

from __future__ import annotations

import dataclasses
import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from liegeo import demo_controller, dynamics, reports
from liegeo._cache import is_cold
from liegeo.errors import InputError
from liegeo.io import Mechanism, load, save, shipped
from liegeo.model.forces import Actuator
from liegeo.model.model import Model, State
from liegeo.results import Result
from liegeo.results.tables import write_whole
from liegeo.statics import equilibrium
from liegeo.view import write_page

if TYPE_CHECKING:
    from fmu_export.cosim import CosimResult

Array = NDArray[np.float64]

MODEL = "flexible_arm"
TIP = "payload.tip"
# Where the joints go from the initial state, in rad.
SWING = {"yaw": np.radians(110.0), "shoulder": np.radians(15.0), "elbow": np.radians(-25.0)}
END = 2 * (demo_controller.MOVING + demo_controller.RESTING)
# Of integration and of communication alike.  FMUs answer one step late: at 2 ms the light elbow would tremble.
STEP = 1e-3
# Of the controlled joints, in rad/s, and how much of critical damping they have.
BANDWIDTH, DAMPING = 8.0, 0.8

INTRODUCTION = """\
[bold]A flexible robot arm under a controller[/bold]
Two links of thin aluminium tube, three motors, half a kilogram to carry: it swings round, stops, and swings back.
"""

WHAT_NEXT = """
[bold]Next[/bold]
  open {page} in a browser: play, slow down, magnify the bending
  liegeo new arm                    the arm's model file: make a wall thinner
  liegeo simulate arm.yaml          its own experiment, without a controller
  liegeo view arm.yaml              see it live
  liegeo modes arm.yaml --lock '*'  its natural frequencies, with its joints held
  liegeo fmu build arm.yaml         an FMU for any FMI tool"""


@dataclass(frozen=True)
class Demo:
    """What was made: both runs, how the first one went, sentences about them, files."""

    run: Result
    fmus: CosimResult
    data: dict[str, Any]
    sentences: tuple[str, ...]
    files: tuple[Path, ...]
    page: Path


class SwingController:
    """The control law for a model and its start: as a function of time and state, and as values for the FMU."""

    def __init__(self, model: Model, start: State) -> None:
        group = model.group
        assert group is not None
        self.motors = {f.joint: f for f in model.tree.forces if isinstance(f, Actuator) and f.joint in SWING}
        self.at_q = [group.q[joint].start for joint in self.motors]
        self.at_v = [group.v[joint].start for joint in self.motors]
        self.told = self._settings(model, start)

    def _settings(self, model: Model, start: State) -> dict[str, dict[str, float]]:
        """By joint: what demo_controller.SETTINGS lists."""
        there = start.q.copy()
        there[self.at_q] += [SWING[joint] for joint in self.motors]
        away = equilibrium(model, dataclasses.replace(start, q=there), hold=list(SWING))
        weights = [dynamics.inverse_dynamics(model, state)[self.at_v] for state in (start, away)]
        # what each feels of its own acceleration; a column of the mass matrix, whose kernels nothing else here needs
        pushed = [dynamics.inverse_dynamics(model, start, a) for a in np.eye(model.nv)[self.at_v]]
        inertia = [f[k] - weights[0][i] for i, (k, f) in enumerate(zip(self.at_v, pushed, strict=True))]
        return {
            joint: {
                "start": float(start.q[self.at_q[k]]),
                "swing": float(SWING[joint]),
                "weight": float(weights[0][k]),
                "weight_there": float(weights[1][k]),
                "inertia": float(inertia[k]),
                "stiffness": float(inertia[k]) * BANDWIDTH**2,
                "damping": 2.0 * DAMPING * float(inertia[k]) * BANDWIDTH,
                "gear": float(motor.gear),
            }
            for k, (joint, motor) in enumerate(self.motors.items())
        }

    def reference(self, t: float) -> Array:
        """Where the joints should be."""
        value = demo_controller.path(t)[0]
        return np.array([told["start"] + value * told["swing"] for told in self.told.values()])

    def __call__(self, t: float, state: State) -> dict[str, float]:
        found = {}
        for k, (joint, motor) in enumerate(self.motors.items()):
            angle, speed = float(state.q[self.at_q[k]]), float(state.v[self.at_v[k]])
            found[motor.name] = demo_controller.torque(self.told[joint], t, angle, speed)
        return found


def run(folder: Path, progress: bool | None = None) -> Demo:
    """Simulate and co-simulate, and write all that belongs to it into the folder."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--folder: {folder} is a file, expected a folder. Give another name.")
    folder.mkdir(parents=True, exist_ok=True)
    with _compiling_aside(), reports.compile_time() as compiled:
        mechanism = settled(folder / "arm.yaml")
        controller = SwingController(mechanism.compile(), mechanism.state())
        began = time.perf_counter()
        with reports.compile_time() as during:
            options = {"t_end": END, "output": 4 * STEP, "step": STEP, "progress": progress}
            result = mechanism.simulate(inputs=controller, **options)
        wall = time.perf_counter() - began
        data = reports.run_data(result, sum(during), wall)
        files = [
            folder / "arm.yaml",
            result.to_csv(folder / "arm.csv"),
            write_whole(folder / "arm.png", lambda file: file.write(_picture(result, controller))),
            _page(result, folder / "arm.html"),
        ]
        fmus, made = cosimulate(mechanism, controller, folder)
        sentences = _sentences(result, controller, fmus)
    return Demo(result, fmus, data | {"compile_seconds": sum(compiled)}, sentences, (*files, *made), files[-1])


def _page(result: Result, file: Path) -> Path:
    return write_page(result, file, traces=TIP, plots=["*.angle", "*_motor.input"], title="Flexible arm")


def is_first_run() -> bool:
    """Whether the kernels of a run have still to be compiled."""
    return is_cold("liegeo.kernels.motion")


@contextmanager
def _compiling_aside() -> Iterator[None]:
    """On the very first run, and with a core to spare: another process, which compiles for the run too.

    Each takes what the other is not at; what both need comes from the cache.
    """
    if not is_first_run() or (os.cpu_count() or 1) < 2:
        yield
        return
    code = f"from {__name__} import warm_up; warm_up()"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as aside:
        try:
            yield
        finally:
            aside.kill()


def warm_up() -> None:
    """One step of everything but what the demo begins with: compiles the kernels of the run and of the FMUs."""
    import fmu_export

    mechanism = load(shipped.find(MODEL))
    result = mechanism.simulate(t_end=STEP, step=STEP, inputs=lambda t, state: {}, progress=False)
    reports.run_data(result)
    deflection(result)
    with tempfile.TemporaryDirectory() as folder:
        _page(result, Path(folder) / "arm.html")
        fmu_export.run(fmu_export.build(mechanism, Path(folder) / "arm.fmu", step=STEP, interval=STEP), STEP)


def settled(file: Path) -> Mechanism:
    """Return the arm, written to a model file of its own, which starts at rest, as the weight has bent it."""
    given = load(shipped.find(MODEL))
    assert given.document is not None
    initial = {**given.document.get("initial", {}), "keep": list(SWING)}
    experiment = {**given.document["experiment"], "settle": True}
    document = {**given.document, "initial": initial, "experiment": experiment}
    return load(save(dataclasses.replace(given, document=document), file))


def cosimulate(mechanism: Mechanism, controller: SwingController, folder: Path) -> tuple[CosimResult, list[Path]]:
    """Make FMUs of the arm and of its controller, connect them, run them; the result, and what was written."""
    from pythonfmu.builder import FmuBuilder

    import fmu_export
    from fmu_export.cosim import FMU, Connection, CosimSystem, save_system

    arm = fmu_export.build(mechanism, folder / "arm.fmu", step=STEP, interval=STEP)
    script = Path(demo_controller.__file__)
    other = Path(FmuBuilder.build_FMU(script, dest=folder / "controller.fmu"))
    start = {f"{joint}_{name}": value for joint, told in controller.told.items() for name, value in told.items()}
    wires = []
    for joint, motor in controller.motors.items():
        wires += [
            Connection(f"arm.{joint}.angle", f"controller.{joint}_angle"),
            Connection(f"arm.{joint}.speed", f"controller.{joint}_speed"),
            Connection(f"controller.{joint}_torque", f"arm.{motor.name}.input"),
        ]
    system = CosimSystem({"arm": FMU(arm), "controller": FMU(other, start=start)}, wires, name="arm under a controller")
    file = save_system(system, folder / "system.yaml")
    result = system.simulate(END, STEP, progress=False)
    return result, [arm, other, file, result.to_csv(folder / "cosim.csv")]


def deflection(result: Result) -> Array:
    """How far the tip is from where a rigid arm would have it, in metres."""
    rigid = np.array([_rigid_tip(result.model, q) for q in result.q])
    return np.linalg.norm(result[f"{TIP}.position"] - rigid, axis=1)


def _rigid_tip(model: Model, q: Array) -> Array:
    """The tip with all modes at zero."""
    group = model.group
    assert group is not None
    straight = group.identity()
    for joint in model.joints:
        if joint in group.q:
            straight[group.q[joint]] = q[group.q[joint]]
    return dynamics.frame_pose(model, State(straight, np.zeros(model.nv)), TIP)[:3, 3]


def difference(result: Result, fmus: CosimResult) -> float:
    """The largest distance between the tips of both runs, in metres."""
    tip = np.stack([fmus[f"arm.{TIP}.position.{axis}"] for axis in "xyz"], axis=1)
    every = round(float(result.t[1] - result.t[0]) / float(fmus.t[1] - fmus.t[0]))
    return float(np.linalg.norm(tip[::every] - result[f"{TIP}.position"], axis=1).max())


def _sentences(result: Result, controller: SwingController, fmus: CosimResult) -> tuple[str, ...]:
    bending = deflection(result)
    reference = np.array([controller.reference(t) for t in result.t])
    missed = np.degrees(np.abs(result.q[:, controller.at_q] - reference).max())
    apart = difference(result, fmus)
    return (
        f"The tip bends by up to {1e3 * bending.max():.0f} mm, at the end by {1e3 * bending[-1]:.1f} mm: its weight.",
        f"The joints follow their path to {missed:.1f}°.",
        f"As two FMUs that meet every {1e3 * STEP:g} ms, {END / fmus.info.seconds:.2g} × real time, "
        f"the tip goes the same way to {1e3 * apart:.1f} mm.\n",
    )


def _picture(result: Result, controller: SwingController) -> bytes:
    from matplotlib.figure import Figure

    from liegeo.results.plots import COLORS

    figure = Figure(figsize=(8.0, 6.4), layout="constrained")
    angles, bend, torques = figure.subplots(3, 1, sharex=True)
    reference = np.degrees([controller.reference(t) for t in result.t])
    for k, (joint, motor) in enumerate(controller.motors.items()):
        color = COLORS[k]
        angles.plot(result.t, reference[:, k], color=color, linewidth=4.0, alpha=0.25)
        angles.plot(result.t, np.degrees(result.q[:, controller.at_q[k]]), color=color, label=joint, linewidth=1.2)
        torques.plot(result.t, result[f"{motor.name}.input"], color=color, label=motor.name, linewidth=1.2)
    bend.plot(result.t, 1e3 * deflection(result), color=COLORS[3], linewidth=1.2)
    for axis, label in (
        (angles, "joint angles [°]\nwide: their path"),
        (bend, "bending at the tip [mm]"),
        (torques, "torques of the motors [N m]"),
    ):
        axis.set_ylabel(label)
        axis.grid(True, color="0.9", linewidth=0.8)
        axis.set_axisbelow(True)
        axis.margins(x=0.0)
        axis.spines[["top", "right"]].set_visible(False)
    for axis in (angles, torques):
        axis.legend(loc="upper right", ncols=3, frameon=False, fontsize="small")
    torques.set_xlabel("time [s]")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    return buffer.getvalue()
