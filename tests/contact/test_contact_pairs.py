"""Every pair of surfaces: power and energy agree exactly, momentum is kept, distances are those of many points."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from contact import pairs
from scipy.optimize import minimize

import liegeo as lg
from liegeo import dynamics
from liegeo import model as lm
from liegeo.errors import ModelError
from liegeo.kernels import elements, kinematics
from liegeo.kernels import layout as at
from liegeo.lie import SE3Q
from liegeo.model.contacts import PAIRS, partners

STEP = 1e-40
MATERIALS = {"slides": pairs.SLIDING, "sticks": pairs.STICKING}


def energy_along(model, state):
    """Return stored energy and its rate along the motion, and the dissipated power, by a complex step in time."""
    I, F = model.ints, model.floats
    q = model.group.retract(state.q.astype(complex), 1j * STEP * state.v)
    u, work = np.zeros(int(I[at.N_U]), complex), np.zeros(len(model.workspace()), complex)
    first = at.first_state(I)
    u[first : first + model.nx] = state.x + 1j * STEP * dynamics.state_rates(model, state)
    v = state.v.astype(complex)
    kinematics.poses(I, F, q, work)
    kinematics.velocities(I, F, q, v, work)
    elements.place_frames(I, F, q, v, work)
    stored = elements.element_energy(I, F, u, work)
    return stored.real, stored.imag / STEP, elements.element_powers(I, F, u, work)[1].real


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("material", MATERIALS)
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "-".join(cls.__name__ for cls in pair))
def test_power_is_the_rate_of_energy_and_what_is_dissipated(pair, material, turned):
    first, second = reversed(pair) if turned else pair
    rng = np.random.default_rng(3)
    model = pairs.tree(
        first, second, **MATERIALS[material], exponent=[1.0, 1.5, 2.2][len(pair[1].__name__) % 3]
    ).compile()
    without = pairs.tree(first, second).compile()
    hits = 0
    for _ in range(25):
        state = pairs.near(model, rng)
        stored, rate, dissipated = energy_along(model, state)
        force = lg.inverse_dynamics(without, without.state(q=state.q, v=state.v), np.zeros(12)) - lg.inverse_dynamics(
            model, state, np.zeros(12)
        )
        power = force @ state.v
        scale = 1.0 + abs(power) + np.abs(force).max()
        assert abs(power + rate + dissipated) < 1e-11 * scale
        assert dissipated >= -1e-12 * scale
        hits += stored > 0.0 and bool(np.any(force))
        # action and reaction: momentum and angular momentum of both together
        acceleration = lg.forward_dynamics(model, state)
        free = lg.forward_dynamics(without, without.state(q=state.q, v=state.v))
        change = momentum_of(without, state.q, acceleration - free)
        assert np.abs(change).max() < 1e-10 * scale
    assert hits > 8


def momentum_of(model, q, v):
    """Return angular and linear momentum about the origin of the world, with these speeds."""
    return dynamics.balance(model, model.state(q=q, v=v)).momentum


def inside(cls, p):
    """Return how far points (n × 3) are outside of a surface of SIZES, as a level of a function; ≤ 0 inside."""
    x, y, z = np.abs(p[..., 0]), np.abs(p[..., 1]), np.abs(p[..., 2])
    if cls is lm.SphereSurface:
        return np.linalg.norm(p, axis=-1) - 0.3
    if cls is lm.CapsuleSurface:
        return np.hypot(np.hypot(x, y), np.maximum(z - 0.25, 0.0)) - 0.2
    if cls is lm.BoxSurface:
        return np.max([x - 0.25, y - 0.3, z - 0.35], axis=0)
    if cls is lm.CylinderSurface:
        return np.maximum(np.hypot(x, y) - 0.3, z - 0.25)
    if cls is lm.PlaneSurface:
        return p[..., 2]
    if cls is lm.BoreSurface:
        return 0.6 - np.hypot(x, y)
    if cls is lm.SocketSurface:
        return 0.7 - np.linalg.norm(p, axis=-1)
    line = np.array(pairs.PROFILE)
    return p[..., 2] - np.interp(p[..., 0], line[:, 0], line[:, 1])


@pytest.mark.parametrize("cls", pairs.SIZES, ids=lambda cls: cls.__name__)
def test_distance_of_a_point_is_that_to_the_nearest_point_of_the_surface(cls):
    """A tiny ball beside the surface: the gap is the distance to the surface, found by search from many starts."""
    place = lambda body: (body, np.eye(4))  # noqa: E731
    ball = lm.SphereSurface(name="ball", at=place("b"), radius=1e-9)
    ground = cls(name="ground", at=place("a"), **pairs.SIZES[cls])
    tree = lg.Tree(pairs.BODIES, pairs.JOINTS, forces=[lm.Contact(name="touch", a=ground, b=ball, stiffness=1.0)])
    model = tree.compile()
    rng = np.random.default_rng(5)
    for _ in range(15):
        p = rng.uniform(-0.8, 0.8, 3)
        q = model.group.identity()
        q[11:14] = p
        gap = model.calculator().outputs("touch.gap")(q, np.zeros(12))[0]
        assert (gap < 0.0) == (inside(cls, p) < 0.0)
        if gap < 0.0:
            continue
        # nobody on the surface is nearer, and somebody is as near
        grid = p + (gap + 1e-9) * _directions() * 0.999
        assert (inside(cls, grid) > 0.0).all()
        near = _directions()[np.argsort(inside(cls, p + gap * _directions()))[:3]]
        found = min(_lowest(cls, p, 1.001 * gap, n) for n in near)
        assert found < 0.0


def _lowest(cls, p, distance, n):
    """Return how deep in the surface a point at this distance from p can be, beginning in the direction n."""
    return minimize(lambda n: inside(cls, p + distance * n / np.linalg.norm(n)), n, method="Nelder-Mead").fun


def _directions():
    rng = np.random.default_rng(0)
    n = rng.normal(size=(4000, 3))
    return n / np.linalg.norm(n, axis=1)[:, np.newaxis]


def test_capsules_touch_where_their_axes_are_nearest():
    rng = np.random.default_rng(7)
    model = pairs.tree(lm.CapsuleSurface, lm.CapsuleSurface, friction=0.0).compile()
    gap = model.calculator().outputs("touch.gap")
    share = np.linspace(-0.25, 0.25, 1001)
    for _ in range(20):
        state = pairs.near(model, rng)
        lines = []
        for k in (0, 7):
            X = SE3Q.matrix(state.q[k : k + 7]) @ np.asarray(pairs.surface(lm.CapsuleSurface, "a").at[1])
            lines.append(X[:3, 3] + share[:, np.newaxis] * X[:3, 2])
        nearest = np.linalg.norm(lines[0][:, np.newaxis] - lines[1], axis=2).min()
        assert abs(gap(state.q, state.v)[0] - (nearest - 0.4)) < 2e-3


def test_a_tilted_cylinder_stands_on_the_lowest_point_of_its_rim():
    model = lg.Tree(
        [pairs.BODIES[0]],
        [pairs.JOINTS[0]],
        forces=[
            lm.Contact(
                name="touch",
                a=lm.PlaneSurface(name="floor", at="world"),
                b=lm.CylinderSurface(name="can", at="a", radius=0.3, length=0.5),
                stiffness=1.0,
            )
        ],
    ).compile()
    seen = model.calculator().outputs(["touch.gap", "touch.point"])
    for tilt in (0.02, 0.3, 1.0, 1.5):
        q = np.array([np.cos(tilt / 2), np.sin(tilt / 2), 0, 0, 0, 0, 0.6])
        row = seen(q, np.zeros(6))
        assert abs(row[0] - (0.6 - 0.25 * np.cos(tilt) - 0.3 * np.sin(tilt))) < 0.3 * 0.002
        assert abs(row[2] - (0.25 * np.sin(tilt) - 0.3 * np.cos(tilt))) < 0.3 * 0.06


def test_pairs_that_cannot_touch_are_refused_by_name():
    for first, second in itertools.product(pairs.SIZES, repeat=2):
        if (first, second) in PAIRS or (second, first) in PAIRS:
            continue
        with pytest.raises(ModelError, match=r"Contact 'touch': has a \w+ and a \w+, which cannot touch, expected a"):
            pairs.tree(first, second, friction=0.1)
    assert partners(lm.BoxSurface) == "expected a box with plane, sphere, profile, bore, socket"
