"""Steps of fixed size through impacts that last less than a step: energy never grows."""

from __future__ import annotations

import numpy as np
import pytest

import liegeo as lg
from liegeo import model as lm


@pytest.mark.parametrize("method", ["generalised-alpha-0.8", "lie-bdf-2", "rosenbrock-3"])
def test_a_hard_ball_bounces_with_steps_of_a_millisecond_and_gains_nothing(method):
    """1e9 N/m: an impact lasts 0.1 ms.  Without parts of steps generalised-α left it with 1.6 times its energy."""
    ball = lm.Body("ball", mass=1.0, inertia=(0.01, 0.01, 0.01))
    free = lm.Free(name="free", parent="world", child="ball")
    touch = lm.Contact(
        name="touch",
        a=lm.SphereSurface(name="sphere", at="ball", radius=0.1),
        b=lm.PlaneSurface(name="floor", at="world"),
        stiffness=1e9,
        dissipation=0.2,
        friction=0.3,
    )
    model = lm.Tree([ball], [free], forces=[touch]).compile()
    state = model.state(q={"free": [1, 0, 0, 0, 0, 0, 1.0]}, v={"free": [0, 0, 0, 1.0, 0, 0]})
    run = lg.simulate(model, state, 2.0, method=method, step=1e-3, output="steps", progress=False)
    energy = run["energy"]
    assert energy.max() <= energy[0] * (1.0 + 1e-9)
    assert energy[-1] < 0.5 * energy[0]
    assert run["touch.gap"].min() > -1e-3
    # it never pulls, and friction stays inside the cone
    assert (run["touch.normal"] >= 0.0).all()
    assert np.all(run["touch.friction"] <= 0.3 * run["touch.normal"] * (1.0 + 1e-9) + 1e-12)
