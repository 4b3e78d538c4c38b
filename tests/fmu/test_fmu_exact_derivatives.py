"""Derivatives of the machine of FMUs along states, inputs and motion, which are exact to round-off.

The oracle are differences of what the machine shows, extrapolated (Romberg): of those that shrinking steps give, the
one that agrees best with its neighbours, by which its own error is known too.
"""

from __future__ import annotations

import numpy as np
import pytest

from fmu_export.machine import Machine
from fmu_export.package import _describe, _mechanism
from liegeo.machine import exchange, slopes

LAG = """
liegeo: 1
name: lag
bodies:
  rod: {kind: rigid, mass: 2, com: [0, 0, -1], inertia: [0.1, 0.1, 0.1]}
joints:
  hinge:
    {kind: revolute, parent: world, child: rod, axis: [0, 1, 0], friction: 0.3 N*m, friction_speed: 0.5 rad/s}
forces:
  motor: {kind: actuator, joint: hinge, lag: 50 ms, limit: 20 N*m}
initial: {q: {hinge: 0.5}, v: {hinge: 0.4}}
experiment:
  end: 1 s
  method: rkmk-4
  step: 1 ms
  inputs: {hinge: $(3 * sin(7 * t))}
fmu: {inputs: {motor: }, outputs: {hinge.angle: , hinge.speed: , hinge.acceleration: , hinge.reaction: }}
"""
# By name, how far coordinates are moved at first: a thousandth of a radian tears a stiff beam apart.
FIRST = {
    "lag": 1e-2,
    "heavy_top": 1e-2,
    "crane": 1e-2,
    "sy16_four_bar": 1e-5,
    "flexible_arm": 1e-5,
    "st21_spacecraft": 1e-3,
}


def machine(name: str, folder) -> Machine:
    path = f"models/{name}.yaml"
    if name == "lag":
        path = folder / "lag.yaml"
        path.write_text(LAG, encoding="utf-8")
    made = _describe(_mechanism(path, None), folder / "described", None, None).machine
    made._with_slopes()
    return made


def romberg(function, h, levels=6):
    """Return the derivative of a function at 0, and its error."""
    rows, best, error = [], None, None
    for k in range(levels):
        e = h / 2**k
        row = [(function(e) - function(-e)) / (2.0 * e)]
        for j in range(1, k + 1):
            row.append(row[-1] + (row[-1] - rows[-1][j - 1]) / (4.0**j - 1.0))
            apart = np.maximum(abs(row[j] - row[j - 1]), abs(row[j] - rows[-1][j - 1]))
            if best is None:
                best, error = row[j], apart
            best, error = np.where(apart < error, row[j], best), np.minimum(apart, error)
        rows.append(row)
    return best, error


@pytest.mark.parametrize("name", FIRST)
def test_along_states_and_inputs(name, tmp_path):
    """Of ż and of all outputs, along a random direction: off the loops, and with quaternions of any length."""
    (tmp_path / "described").mkdir()
    made = machine(name, tmp_path)
    R, m = made._R, len(made.places)
    n = len(made.stepper.y) - made.model.nx
    random = np.random.default_rng(1)
    made.w[:] = random.normal(size=m)
    z, u, direction = np.zeros(n), made.w.copy(), random.normal(size=n + m)
    exchange.read_states(R, z)
    for place in made._arrays["QUATERNIONS"]:
        z[place : place + 4] *= 1.3

    def shown(e):
        exchange.write_states(R, z + e * direction[:n])
        made.w[:] = u + e * direction[n:]
        rates = np.zeros(n)
        assert exchange.rates(R, rates) == 0
        assert exchange.show_exchanged(R, 1) == 0
        return np.concatenate([rates, made._shown])

    before = shown(0.0)
    expected, error = romberg(shown, FIRST[name])
    shown(0.0)
    room = np.concatenate([direction, np.zeros(n)])
    assert exchange.along(R, room) == 0
    found = np.concatenate([room[n + m :], made._shown])
    largest = np.abs(expected).max()
    assert error.max() <= 1e-9 * largest
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * largest)
    # asking changes nothing
    np.testing.assert_array_equal(shown(0.0), before)


def test_differences_tend_to_the_derivative(tmp_path):
    """With the square of the change, until round-off is larger: what differences alone could not reach."""
    (tmp_path / "described").mkdir()
    made = machine("heavy_top", tmp_path)
    R, n = made._R, len(made.stepper.y)
    z, direction = np.zeros(n), np.random.default_rng(2).normal(size=n)
    exchange.read_states(R, z)
    room = np.concatenate([direction, np.zeros(n)])
    assert exchange.along(R, room) == 0
    exact, errors = room[n:], []
    changes = 10.0 ** -np.arange(1, 11)
    for e in changes:
        rows = []
        for side in (e, -e):
            exchange.write_states(R, z + side * direction)
            rows.append(np.zeros(n))
            assert exchange.rates(R, rows[-1]) == 0
        errors.append(np.abs((rows[0] - rows[1]) / (2.0 * e) - exact).max() / np.abs(exact).max())
    slope = np.diff(np.log10(errors[:4])) / np.diff(np.log10(changes[:4]))
    np.testing.assert_allclose(slope, 2.0, atol=0.1)
    assert min(errors) > 1e-13
    assert errors[-1] > 10.0 * min(errors)


@pytest.mark.parametrize("name", ["lag", "heavy_top", "sy16_four_bar", "st21_spacecraft"])
def test_along_the_motion(name, tmp_path):
    """Against outputs before and behind on a tangent of the motion; inputs have slopes, expressions run on."""
    (tmp_path / "described").mkdir()
    made = machine(name, tmp_path)
    slopes_of_inputs = np.full((len(made.places), 2), np.nan)
    slopes_of_inputs[:, 0] = 0.7
    made.step(made.t, 0.01, slopes_of_inputs)
    model, t, y, w = made.model, made.t, made.stepper.y.copy(), made.w.copy()
    q, speeds = y[: model.nq], y[model.nq + model.nx :]
    # where the step ended inputs have moved on
    end = w + 0.7 * 0.01
    made.w[:] = end
    rates = np.zeros(len(speeds))
    assert slopes.accelerations(made._R, rates) == 0

    def shown(e):
        moved = model.group.retract(q.copy(), e * speeds[: model.nv])
        return made.values_at(t + e, moved, speeds + e * rates, end + 0.7 * e)

    expected, error = romberg(shown, 1e-2)
    found = made.along_motion()
    largest = np.abs(expected).max()
    assert error.max() <= 1e-8 * largest
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * largest)


def test_along_the_motion_at_a_jump(tmp_path):
    """What drives from inside has the slope of the piece that goes on, also where that is shorter than a step."""
    (tmp_path / "described").mkdir()
    path = tmp_path / "lag.yaml"
    pieces = "{pieces: [{until: 0.1 s, value: $(2 * t)}, {until: 0.1004 s, value: $(1 - 5 * t)}, {value: 0}]}"
    text = LAG.replace("$(3 * sin(7 * t))", pieces).replace("outputs: {", "outputs: {hinge.tau: , ")
    path.write_text(text, encoding="utf-8")
    made = _describe(_mechanism(path, None), tmp_path / "described", None, None).machine
    for end, slope in ((0.05, 2.0), (0.1, -5.0), (0.1002, -5.0), (0.1004, 0.0)):
        made.step(made.t, end - made.t)
        assert made.along_motion()[0] == pytest.approx(slope, abs=1e-9)
