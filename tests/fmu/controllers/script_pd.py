"""The PD controller of pd/ once more, for pythonfmu: a plain script, as its users write them."""

import sys

from pythonfmu import Fmi2Causality, Fmi2Slave, Fmi2Variability, Real

# pythonfmu 0.7 releases a reference to this dict that it does not own, once per instance.
sys.__dict__.setdefault("_script_pd_keep", []).append(globals())


class ScriptPd(Fmi2Slave):
    """torque = bias + kp (reference - angle) - kd speed, within ±limit; computed where the step begins."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.reference = self.angle = self.speed = self.torque = self.bias = 0.0
        self.kp, self.kd, self.limit = 10.0, 1.0, 100.0
        for name in ("reference", "angle", "speed"):
            self.register_variable(Real(name, causality=Fmi2Causality.input))
        self.register_variable(Real("torque", causality=Fmi2Causality.output, getter=self.control))
        for name in ("kp", "kd", "bias", "limit"):
            tunable = Fmi2Variability.tunable
            self.register_variable(Real(name, causality=Fmi2Causality.parameter, variability=tunable))

    def control(self):
        u = self.bias + self.kp * (self.reference - self.angle) - self.kd * self.speed
        return min(max(u, -self.limit), self.limit)

    def do_step(self, current_time, step_size):
        return True
