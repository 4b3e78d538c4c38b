"""The controller of `liegeo demo`, as a plain script for pythonfmu: it knows nothing of liegeo and needs nothing of it.

`pythonfmu build -f demo_controller.py` makes an FMU of it, as does `liegeo demo`.  Joints follow a path there and back
with the least jerk; beside what the path itself takes, springs and dampers in the control law hold them on it:

    τ = b(s) + J s̈ + K (s − q) + D (ṡ − q̇),                                                           (1)

b(s) being the torque that holds the arm's weight, between its values at both ends, J the inertia seen by the joint.
The outputs are torques of motors, before their gears.
"""

from __future__ import annotations

from pythonfmu import Fmi2Causality, Fmi2Slave, Fmi2Variability, Real

JOINTS = ("yaw", "shoulder", "elbow")
# How long a swing takes, and how long the arm stays, in seconds.
MOVING, RESTING = 0.9, 1.1
# By name: what each joint is told.
SETTINGS = {
    "start": "angle where it starts",
    "swing": "by how much it turns",
    "weight": "torque that holds it where it starts",
    "weight_there": "torque that holds it at the other end",
    "inertia": "that it moves",
    "stiffness": "of the control law",
    "damping": "of the control law",
    "gear": "turns of the motor for one of the joint",
}


def path(t: float) -> tuple[float, float, float]:
    """How much of the swing is done, its rate and acceleration."""
    back = t >= MOVING + RESTING
    s = min((t - (MOVING + RESTING) * back) / MOVING, 1.0)
    value = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    rate = 30.0 * s**2 * (1.0 - s) ** 2 / MOVING
    acceleration = 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / MOVING**2
    return (1.0 - value, -rate, -acceleration) if back else (value, rate, acceleration)


def torque(told: dict[str, float], t: float, angle: float, speed: float) -> float:
    """(1), of one joint's motor."""
    value, rate, acceleration = path(t)
    swing = told["swing"]
    weight = told["weight"] + value * (told["weight_there"] - told["weight"])
    needed = weight + told["inertia"] * acceleration * swing
    error = told["start"] + value * swing - angle
    return (needed + told["stiffness"] * error + told["damping"] * (rate * swing - speed)) / told["gear"]


class ArmController(Fmi2Slave):  # type: ignore[misc]
    """Inputs ‹joint›_angle and ‹joint›_speed, outputs ‹joint›_torque, parameters ‹joint›_‹setting›."""

    description = "Swings an arm of three joints there and back."

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        for joint in JOINTS:
            for name in ("angle", "speed"):
                self._add(f"{joint}_{name}", Fmi2Causality.input, Fmi2Variability.continuous)
            self._add(f"{joint}_torque", Fmi2Causality.output, Fmi2Variability.continuous)
            for name in SETTINGS:
                self._add(f"{joint}_{name}", Fmi2Causality.parameter, Fmi2Variability.tunable)

    def _add(self, name: str, causality: Fmi2Causality, variability: Fmi2Variability) -> None:
        setattr(self, name, 1.0 if name.endswith("_gear") else 0.0)
        self.register_variable(Real(name, causality=causality, variability=variability))

    def _compute(self, t: float) -> None:
        for joint in JOINTS:
            told = {name: getattr(self, f"{joint}_{name}") for name in SETTINGS}
            found = torque(told, t, getattr(self, f"{joint}_angle"), getattr(self, f"{joint}_speed"))
            setattr(self, f"{joint}_torque", found)

    def exit_initialization_mode(self) -> None:
        self._compute(0.0)

    def do_step(self, current_time: float, step_size: float) -> bool:
        self._compute(current_time + step_size)
        return True
