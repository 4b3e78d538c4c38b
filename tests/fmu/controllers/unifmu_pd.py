"""The PD controller of pd/ once more, for unifmu: the model.py that its runtime loads in a process of its own."""

from fmi2 import Fmi2FMU, Fmi2Status


class Model(Fmi2FMU):
    """torque = bias + kp (reference - angle) - kd speed, within ±limit."""

    def __init__(self, reference_to_attr=None):
        super().__init__(reference_to_attr)
        self.reference = self.angle = self.speed = self.bias = 0.0
        self.kp, self.kd, self.limit = 10.0, 1.0, 100.0

    @property
    def torque(self):
        u = self.bias + self.kp * (self.reference - self.angle) - self.kd * self.speed
        return min(max(u, -self.limit), self.limit)

    def do_step(self, current_time, step_size, no_step_prior):
        return Fmi2Status.ok
