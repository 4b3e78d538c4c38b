"""What `liegeo demo` does: the flexible arm of models/flexible_arm.yaml, swung to and fro by a controller.

The controller follows a path of its joint angles, with what the path itself takes from the model's inverse dynamics
(weight and inertia of the arm as it is bent now), and the rest from springs and dampers in the control law:

    τ = ID(q, 0, q̈*) + K (q* − q) + D (q̇* − q̇).                                                     (1)

It sees the joints only, as most robots do: the links bend as they like, and damping has to calm them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo import dynamics, reports
from liegeo.analysis.statics import equilibrium
from liegeo.errors import InputError
from liegeo.io import load, shipped
from liegeo.model.forces import Actuator
from liegeo.model.model import Model, State
from liegeo.results import Result
from liegeo.results.tables import write_whole
from liegeo.view import write_page

Array = NDArray[np.float64]

MODEL = "flexible_arm"
TIP = "payload.tip"
# There and back: where the joints go from the initial state, in rad, how long a swing takes and how long they stay.
SWING = {"yaw": np.radians(110.0), "shoulder": np.radians(15.0), "elbow": np.radians(-25.0)}
MOVING, RESTING = 0.9, 1.1
END = 2 * (MOVING + RESTING)
# A fixed step: the controller is Python, and is called as seldom as it can be.
STEP = 2e-3
# Of the controlled joints, in rad/s, and how much of critical damping they have.
BANDWIDTH, DAMPING = 10.0, 0.8

INTRODUCTION = """\
[bold]A flexible robot arm under a controller[/bold]
Two links of thin aluminium tube, three motors, half a kilogram to carry: it swings round, stops, and swings back.
"""

WHAT_NEXT = """
[bold]Next[/bold]
  open {page} in a browser: play, slow down, magnify the bending
  liegeo new arm                  its model file: make a wall thinner
  liegeo simulate arm.yaml        its own experiment, without a controller
  liegeo view arm.yaml            see it live
  liegeo modes arm.yaml           its natural frequencies"""


@dataclass(frozen=True)
class Demo:
    """What was made: the run, how it went, sentences about it, files."""

    run: Result
    data: dict[str, Any]
    sentences: tuple[str, ...]
    files: tuple[Path, ...]
    page: Path


def path(t: float) -> tuple[float, float, float]:
    """How much of the swing is done, its rate and acceleration: there and back with the least jerk."""
    back = t >= MOVING + RESTING
    s = min((t - (MOVING + RESTING) * back) / MOVING, 1.0)
    value = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    rate = 30.0 * s**2 * (1.0 - s) ** 2 / MOVING
    acceleration = 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / MOVING**2
    return (1.0 - value, -rate, -acceleration) if back else (value, rate, acceleration)


class Controller:
    """(1), as a function of time and state that gives the inputs of the motors by name."""

    def __init__(self, model: Model, start: State) -> None:
        self.model = model
        group = model.group
        assert group is not None
        self.motors = {f.name: f for f in self.model.tree.forces if isinstance(f, Actuator) and f.joint in SWING}
        self.names = [motor.joint for motor in self.motors.values()]
        self.at_q = [group.q[name].start for name in self.names]
        self.at_v = [group.v[name].start for name in self.names]
        self.gears = np.array([motor.gear for motor in self.motors.values()])
        self.start = start.q[self.at_q]
        self.swing = np.array([SWING[name] for name in self.names])
        inertia = np.diag(dynamics.mass_matrix(self.model, start))[self.at_v]
        self.stiffness, self.damping = inertia * BANDWIDTH**2, 2.0 * DAMPING * inertia * BANDWIDTH

    def reference(self, t: float) -> tuple[Array, Array, Array]:
        """q*, its rate and acceleration."""
        value, rate, acceleration = path(t)
        return self.start + value * self.swing, rate * self.swing, acceleration * self.swing

    def __call__(self, t: float, state: State) -> Mapping[str, float]:
        q, v, a = self.reference(t)
        wanted = np.zeros(self.model.nv)
        wanted[self.at_v] = a
        still = State(state.q, np.zeros(self.model.nv), t)
        torque = dynamics.inverse_dynamics(self.model, still, wanted)[self.at_v]
        torque = torque + self.stiffness * (q - state.q[self.at_q]) + self.damping * (v - state.v[self.at_v])
        return dict(zip(self.motors, torque / self.gears, strict=True))


def run(folder: Path, progress: bool | None = None) -> Demo:
    """Simulate, and write data, a picture and a page into the folder; each file appears whole or not at all."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--folder: {folder} is a file, expected a folder. Give another name.")
    folder.mkdir(parents=True, exist_ok=True)
    mechanism = load(shipped.find(MODEL))
    with reports.compile_time() as compiled:
        # from rest, as the weight has bent it
        start = equilibrium(mechanism.compile(), mechanism.state(), hold=SWING)
        controller = Controller(mechanism.compile(), start)
        options = {"t_end": END, "output": END / 800, "step": STEP, "progress": progress}
        result = mechanism.simulate(state=start, inputs=controller, **options)
    files = (
        result.to_csv(folder / "arm.csv"),
        write_whole(folder / "arm.png", lambda file: file.write(_picture(result, controller))),
        write_page(result, folder / "arm.html", traces=TIP, plots=["*.angle", "*_motor.input"], title="Flexible arm"),
    )
    data = reports.run_data(result, sum(compiled))
    return Demo(result, data, _sentences(result, controller), files, files[-1])


def deflection(result: Result) -> Array:
    """How far the tip is from where a rigid arm would have it, in metres."""
    model = result.model
    tip = result[f"{TIP}.position"]
    rigid = np.array([_rigid_tip(model, q) for q in result.q])
    return np.linalg.norm(tip - rigid, axis=1)


def _rigid_tip(model: Model, q: Array) -> Array:
    """The tip with all modes at zero."""
    group = model.group
    assert group is not None
    straight = group.identity()
    for joint in model.joints:
        if joint in group.q:
            straight[group.q[joint]] = q[group.q[joint]]
    return dynamics.frame_pose(model, State(straight, np.zeros(model.nv)), TIP)[:3, 3]


def _sentences(result: Result, controller: Controller) -> tuple[str, ...]:
    bending = deflection(result)
    reference = np.array([controller.reference(t)[0] for t in result.t])
    missed = np.degrees(np.abs(result.q[:, controller.at_q] - reference).max())
    return (
        f"The tip bends by up to {1e3 * bending.max():.0f} mm, at the end by {1e3 * bending[-1]:.1f} mm: its weight.",
        f"The joints follow their path to {missed:.1f}°.\n",
    )


def _picture(result: Result, controller: Controller) -> bytes:
    import io

    from matplotlib.figure import Figure

    from liegeo.results.plots import COLORS

    figure = Figure(figsize=(8.0, 6.4), layout="constrained")
    angles, bend, torques = figure.subplots(3, 1, sharex=True)
    reference = np.degrees([controller.reference(t)[0] for t in result.t])
    for k, name in enumerate(controller.names):
        color = COLORS[k]
        angles.plot(result.t, reference[:, k], color=color, linewidth=4.0, alpha=0.25)
        angles.plot(result.t, np.degrees(result.q[:, controller.at_q[k]]), color=color, label=name, linewidth=1.2)
    for k, motor in enumerate(controller.motors):
        torques.plot(result.t, result[f"{motor}.input"], color=COLORS[k], label=motor, linewidth=1.2)
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
