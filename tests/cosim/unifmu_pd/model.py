"""The PD controller of tests/fmu/controllers once more, for unifmu: runs in a Python process of its own."""

from fmi2 import Fmi2FMU, Fmi2Status


class Model(Fmi2FMU):
    """torque = bias + kp (reference - angle) - kd speed, within ±limit; outputs are what the last step left."""

    def __init__(self, reference_to_attr=None) -> None:
        super().__init__(reference_to_attr)
        self.reference = self.angle = self.speed = self.torque = self.bias = 0.0
        self.kp, self.kd, self.limit = 10.0, 1.0, 100.0

    def _control(self):
        u = self.bias + self.kp * (self.reference - self.angle) - self.kd * self.speed
        self.torque = min(max(u, -self.limit), self.limit)

    def exit_initialization_mode(self):
        self._control()
        return Fmi2Status.ok

    def do_step(self, current_time, step_size, no_step_prior):
        self._control()
        return Fmi2Status.ok
