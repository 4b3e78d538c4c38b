"""Closed loops with controllers from other tools."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fmus import (
    compiled_controller,
    script_controller,
    unifmu_controller,
)
from loop import closed_loop

import liegeo as lg

HERE = Path(__file__).parent


@pytest.fixture(scope="module", params=["C", "pythonfmu", pytest.param("unifmu", marks=pytest.mark.slow)])
def controller(request, folder):
    if request.param == "unifmu":
        pytest.importorskip("unifmu")
        pytest.importorskip("grpc")
        return unifmu_controller(folder)
    return compiled_controller(folder) if request.param == "C" else script_controller(folder)


def test_closed_loop(controller, pendulum, folder):
    """With a controller in C, as a script, or in a process of its own: the loop, to the order of the macro step."""
    mechanism = lg.load(folder / "pendulum.yaml")
    law = lambda t, state: min(max(60.0 * (1.0 - state.q[0]) - 8.0 * state.v[0], -100.0), 100.0)  # noqa: E731
    exact = mechanism.simulate(t_end=1.0, inputs={"motor": law}, step=2.0**-11)["hinge.angle"][-1]
    errors = [abs(closed_loop(pendulum, controller, h, round(1 / h))[-1] - exact) for h in (2.0**-6, 2.0**-7, 2.0**-8)]
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.3)
    assert errors[1] / errors[2] == pytest.approx(2.0, abs=0.2)
    assert errors[2] < 1e-2


def test_closed_loop_is_that_of_one_process(pendulum, folder):
    """Sampled as the master samples: to the bit."""
    controller = compiled_controller(folder)
    found = closed_loop(pendulum, controller, 2.0**-7, 64)
    mechanism = lg.load(folder / "pendulum.yaml")
    model, state, expected = mechanism.compile(), mechanism.state(), []
    for k in range(64):
        expected.append(state.q[0])
        torque = min(max(60.0 * (1.0 - state.q[0]) - 8.0 * state.v[0], -100.0), 100.0)
        piece = lg.simulate(
            model, state, (k + 1) * 2.0**-7, inputs={"motor": torque}, method="rkmk-4", step=1e-3, output="steps"
        )
        state = lg.model.State(piece.q[-1], piece.v[-1], piece.t[-1])
    np.testing.assert_allclose(found, [*expected, state.q[0]], rtol=0, atol=1e-14)
