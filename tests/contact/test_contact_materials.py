"""What two materials do together: springs one behind the other, Hertz's two half spaces, friction of both."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

import liegeo as lg
from liegeo import model as lm

FLOOR = {"at": "world", "name": "floor"}
BALL = {"at": "ball", "name": "skin", "radius": 0.05}


def numbers(first, second, **material):
    """Return k, n, d, μ_S and μ_C of a ball on a floor."""
    contact = lm.Contact(
        name="c", a=lm.PlaneSurface(**FLOOR, **first), b=lm.SphereSurface(**BALL, **second), **material
    )
    return contact.data()[:5]


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.3])
def test_two_stiffnesses_are_springs_one_behind_the_other(exponent):
    k_a, k_b = 3e5, 8e5
    k, n, *_ = numbers({"stiffness": k_a}, {"stiffness": k_b}, exponent=exponent)
    assert n == exponent
    for depth in (1e-4, 3e-3):
        # the share of the depth at which both carry the same force
        first = brentq(lambda x, depth=depth: k_a * x**exponent - k_b * (depth - x) ** exponent, 0.0, depth, xtol=1e-16)
        assert abs(k * depth**exponent / (k_a * first**exponent) - 1.0) < 1e-9
    assert numbers({}, {"stiffness": k_b}, exponent=exponent)[0] == pytest.approx(k_b, rel=1e-12)
    # with a depth, as the stiffness of a contact has one
    same = numbers({}, {}, exponent=exponent, stiffness=k, depth=1e-3)[0]
    assert numbers({"stiffness": k_a}, {"stiffness": k_b}, exponent=exponent, depth=1e-3)[0] == pytest.approx(same)


def test_moduli_are_hertz():
    k = numbers({"modulus": 2e11}, {"modulus": 7e10})[0]
    assert k == pytest.approx(4.0 / 3.0 / (1.0 / 2e11 + 1.0 / 7e10) * np.sqrt(0.05), rel=1e-12)
    assert numbers({}, {"modulus": 7e10})[0] == numbers({}, {}, modulus=7e10)[0]


def test_each_side_loses_by_its_share_of_the_depth():
    """A hard side takes a hundredth of the depth, and of its dissipation."""
    _, _, d, *_ = numbers({"stiffness": 1e7, "dissipation": 9.0}, {"stiffness": 1e5, "dissipation": 1.0}, exponent=1.0)
    assert d == pytest.approx((9.0 * 1e-7 + 1.0 * 1e-5) / (1e-7 + 1e-5), rel=1e-12)
    equal = numbers({"modulus": 1e9, "dissipation": 0.3}, {"modulus": 1e9, "dissipation": 0.3})
    assert equal[2] == pytest.approx(0.3)


def test_friction_is_the_geometric_mean_and_a_contact_may_say_it_itself():
    ice, rubber = {"friction": 0.02}, {"friction": 0.8, "static": 0.9, "stiffness": 1e5}
    *_, static, friction = numbers(ice, rubber)
    assert friction == pytest.approx(np.sqrt(0.016))
    assert static == pytest.approx(np.sqrt(0.018))
    assert numbers({}, rubber)[3:] == [0.0, 0.0]
    assert numbers(ice, rubber, friction=0.5)[3:] == [0.5, 0.5]
    assert numbers(ice, rubber, stiffness=7.0)[0] == 7.0
    assert numbers({"dissipation": 2.0}, rubber, restitution=1.0, impact_speed=1.0)[2] == 0.0


FILE = """
liegeo: 1
parameters: {grip: 0.4}
bodies:
  block: {kind: rigid, mass: 1 kg, inertia: [0.01, 0.01, 0.01]}
joints:
  move: {kind: free, parent: world, child: block}
surfaces:
  road: {kind: plane, at: world, stiffness: 200 kN/m, dissipation: 5 s/m, friction: 0.9}
  tyre: {kind: box, at: block, size: [0.2, 0.2, 0.1], stiffness: 200 kN/m, dissipation: 5 s/m, friction: $(grip)}
forces:
  touch: {kind: contact, a: road, b: tyre, exponent: 1, breakaway: 10 um}
initial:
  q: {move: [1, 0, 0, 0, 0, 0, 0.05]}
  v: {move: [0, 0, 0, 2, 0, 0]}
experiment: {end: 0.2 s, method: rosenbrock-32}
"""


def test_files_have_materials_of_surfaces_and_their_parameters(tmp_path):
    (tmp_path / "road.yaml").write_text(FILE, encoding="utf-8")
    mechanism = lg.load(tmp_path / "road.yaml")
    run = mechanism.simulate(progress=False)
    late = run.t > 0.05
    slope = np.polyfit(run.t[late], run["block.velocity"][late, 0], 1)[0]
    # while it still bounces a little on its corners
    assert abs(slope + 9.81 * np.sqrt(0.36)) < 0.05
    lg.save(mechanism, tmp_path / "again.yaml")
    assert np.array_equal(lg.load(tmp_path / "again.yaml").compile().floats, mechanism.compile().floats)


MORE = """
liegeo: 1
parameters: {grip: 0.4, k: 200 kN/m}
bodies:
  ring: {kind: rigid, mass: 1 kg, inertia: [0.01, 0.01, 0.01]}
  pin: {kind: rigid, mass: 0.2 kg, inertia: [1.e-3, 1.e-3, 1.e-3]}
  ball: {kind: rigid, mass: 0.3 kg, inertia: [3.e-4, 3.e-4, 3.e-4]}
joints:
  turn: {kind: revolute, parent: world, child: ring, axis: [0, 1, 0]}
  pin_free: {kind: free, parent: world, child: pin}
  ball_free: {kind: free, parent: world, child: ball}
surfaces:
  hole:
    kind: bore
    at: {body: ring, at: {rotation: {rpy: [90 deg, 0, 0]}}}
    radius: 30 mm
    stiffness: $(k)
    friction: $(grip)
  shaft:
    kind: capsule
    at: {body: pin, at: {rotation: {rpy: [90 deg, 0, 0]}}}
    radius: 29 mm
    length: 40 mm
    stiffness: $(2 * k)
    friction: 0.3
  cup: {kind: socket, at: {body: world, at: [0.5, 0, 0]}, radius: 0.1, stiffness: $(k)}
  hills: {kind: profile, at: world, points: [[0, -0.05], [0.5, -0.09], [1, -0.05]], stiffness: $(k), friction: 0.5}
  skin: {kind: sphere, at: ball, radius: 50 mm, dissipation: 0.5 s/m, friction: $(grip)}
forces:
  bearing: {kind: contact, a: hole, b: shaft, dissipation: 1 s/m}
  heap: {kind: contacts, among: [hills, cup, skin]}
initial:
  q: {ball_free: [1, 0, 0, 0, 0.52, 0.01, 0.0]}
  v: {turn: 20, pin_free: [0, 0.5, 0, 0, 0, 0]}
experiment: {end: 0.1 s, method: rkmk-4, step: 0.1 ms, output: 1 ms}
fmu:
  outputs: {bearing.normal: , bearing.friction: , heap.touching: , heap.skin.force.*: , ball.position.*: }
  parameters: {grip: {variability: tunable}, k: }
"""


def test_files_have_what_is_hollow(tmp_path):
    (tmp_path / "hollow.yaml").write_text(MORE, encoding="utf-8")
    mechanism = lg.load(tmp_path / "hollow.yaml")
    bearing, heap = mechanism.tree.forces
    assert isinstance(bearing.a, lm.BoreSurface)
    assert isinstance(heap.among[1], lm.SocketSurface)
    run = mechanism.simulate(progress=False)
    assert run["heap.touching"].max() >= 1.0
    assert run["bearing.normal"].max() > 0.2 * 9.81
    lg.save(mechanism, tmp_path / "again.yaml")
    assert np.array_equal(lg.load(tmp_path / "again.yaml").compile().floats, mechanism.compile().floats)


@pytest.mark.foreign
def test_both_kinds_of_fmu_combine_materials_alike(tmp_path):
    fmpy = pytest.importorskip("fmpy")
    import fmu_export

    (tmp_path / "hollow.yaml").write_text(MORE, encoding="utf-8")
    files = [
        fmu_export.build(tmp_path / "hollow.yaml", tmp_path / "python.fmu"),
        fmu_export.build(tmp_path / "hollow.yaml", tmp_path / "native.fmu", native=True, platforms=["linux64"]),
    ]
    seen = []
    for values in ({}, {"grip": 0.9, "k": 1e5}):
        both = [fmpy.simulate_fmu(str(f), start_values=values, output_interval=1e-3, stop_time=0.1) for f in files]
        assert both[0].tobytes() == both[1].tobytes()
        seen.append(both[0])
    assert seen[0].tobytes() != seen[1].tobytes()
