"""Many surfaces: the broad phase finds what all pairs find, and nothing that it must not."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

import liegeo as lg
from liegeo import dynamics
from liegeo import model as lm
from liegeo.errors import ModelError
from liegeo.kernels import crowd

MATERIAL = {"stiffness": 1e5, "dissipation": 0.3, "friction": 0.4, "rolling": 1e-3}


def bodies_of(n):
    bodies = [lg.Body(f"b{i}", mass=1.0, inertia=(0.01,) * 3) for i in range(n)]
    return bodies, [lm.Free(name=f"j{i}", parent="world", child=f"b{i}") for i in range(n)]


def surfaces_of(n):
    """Return a floor, capsules and balls of several sizes."""
    floor = lm.PlaneSurface(name="floor", at="world")
    others = [
        lm.SphereSurface(name=f"s{i}", at=f"b{i}", radius=0.04 + 0.04 * (i % 3))
        if i % 4
        else lm.CapsuleSurface(name=f"s{i}", at=f"b{i}", radius=0.08, length=0.2)
        for i in range(n)
    ]
    return [floor, *others]


@pytest.mark.parametrize("n", [5, 40], ids=["few", "cubes"])
def test_a_crowd_is_all_of_its_pairs(n):
    assert (n + 1 <= crowd.FEW) == (n == 5)
    bodies, joints = bodies_of(n)
    surfaces = surfaces_of(n)
    pairs = [
        lm.Contact(name=f"c{k}", a=a, b=b, **MATERIAL) for k, (a, b) in enumerate(itertools.combinations(surfaces, 2))
    ]
    # far from the origin too, where numbers of cubes are large and negative
    one = lg.Tree(bodies, joints, forces=[lm.Contacts(name="all", among=surfaces, **MATERIAL)]).compile()
    other = lg.Tree(bodies, joints, forces=pairs).compile()
    rng = np.random.default_rng(1)
    for shift in (0.0, -37.0, 1e5):
        q = np.array(one.group.random(rng=rng)).reshape(n, 7)
        q[:, 4:] = rng.uniform(0.0, 0.2 * n ** (1 / 3), (n, 3)) - (0.0, 0.0, 0.03)
        q[:, 4] += shift
        v = rng.normal(size=6 * n)
        states = [model.state(q=q.ravel(), v=v) for model in (one, other)]
        a, b = (lg.forward_dynamics(model, state) for model, state in zip((one, other), states, strict=True))
        assert np.abs(b + 9.81).max() > 1e3
        assert np.abs(a - b).max() < 1e-9 * np.abs(b).max() * (1.0 + abs(shift))
        first, second = (dynamics.balance(m, s).elastic for m, s in zip((one, other), states, strict=True))
        assert abs(first - second) < 1e-9 * second
        shown = one.calculator().outputs(["all.touching", "all.depth", "all.s1.force"])(*(states[0].q, states[0].v))
        gaps = other.calculator().outputs([f"c{k}.gap" for k in range(len(pairs))])(states[1].q, states[1].v)
        assert shown[0] == (gaps < 0.0).sum() > 0
        assert abs(shown[1] + gaps.min()) < 1e-12
        force = np.zeros(3)
        for k, pair in enumerate(pairs):
            if "s1" in (pair.a.name, pair.b.name):
                seen = other.calculator().outputs(f"c{k}.force")(states[1].q, states[1].v)
                force += seen if pair.b.name == "s1" else -seen
        assert np.abs(shown[2:] - force).max() < 1e-8 * (1.0 + np.abs(force).max())


GROUNDS = {
    "hills": lm.ProfileSurface(name="ground", at="world", points=[(-1, 0.1), (0, 0), (0.3, 0.05), (0.6, -0.1), (1, 0)]),
    "tube": lm.BoreSurface(name="ground", at="world", radius=0.35),
    "bowl": lm.SocketSurface(name="ground", at="world", radius=0.35),
}


@pytest.mark.parametrize("n", [5, 20], ids=["few", "cubes"])
@pytest.mark.parametrize("ground", GROUNDS)
def test_a_crowd_of_different_materials_is_all_of_its_pairs(ground, n):
    """Balls and capsules on hills, in a tube and in a bowl; each is made of one of three materials."""
    bodies, joints = bodies_of(n)
    made = [
        {"stiffness": 2e5, "dissipation": 0.5, "friction": 0.2},
        {"stiffness": 1e5, "friction": 0.9, "static": 1.0},
        {},
    ]
    surfaces = [
        dataclasses.replace(each, **made[k % 3])
        for k, each in enumerate([dataclasses.replace(GROUNDS[ground], **made[0]), *surfaces_of(n)[1:]])
    ]
    # what is rigid is so beside what is not
    surfaces = [each if each.stiffness else dataclasses.replace(each, stiffness=5e5) for each in surfaces]
    common = {"rolling": 1e-3, "exponent": 1.2}
    pairs = [
        lm.Contact(name=f"c{k}", a=a, b=b, **common) for k, (a, b) in enumerate(itertools.combinations(surfaces, 2))
    ]
    one = lg.Tree(bodies, joints, forces=[lm.Contacts(name="all", among=surfaces, **common)]).compile()
    other = lg.Tree(bodies, joints, forces=pairs).compile()
    assert len({tuple(pair.data()[:5]) for pair in pairs}) > 3
    rng = np.random.default_rng(4)
    for _ in range(3):
        q = np.array(one.group.random(rng=rng)).reshape(n, 7)
        q[:, 4:] = rng.uniform(-0.25, 0.3, (n, 3))
        v = rng.normal(size=6 * n)
        states = [model.state(q=q.ravel(), v=v) for model in (one, other)]
        a, b = (lg.forward_dynamics(model, state) for model, state in zip((one, other), states, strict=True))
        assert np.abs(b + 9.81).max() > 1e2
        assert np.abs(a - b).max() < 1e-9 * np.abs(b).max()
        first, second = (dynamics.balance(m, s).elastic for m, s in zip((one, other), states, strict=True))
        assert abs(first - second) < 1e-9 * second


def test_hertz_in_a_crowd_knows_the_radius_of_each_ball():
    bodies, joints = bodies_of(3)
    balls = [lm.SphereSurface(name=f"s{k}", at=f"b{k}", radius=r, modulus=1e7) for k, r in enumerate((0.1, 0.2, 0.3))]
    floor = lm.PlaneSurface(name="floor", at="world", modulus=3e7)
    model = lg.Tree(bodies, joints, forces=[lm.Contacts(name="all", among=[floor, *balls])]).compile()
    depth, q = 1e-3, np.zeros((3, 7))
    q[:, 0], q[:, 4], q[:, 6] = 1.0, (0.0, 1.0, 2.0), np.array([0.1, 0.2, 0.3]) - depth
    seen = model.calculator().outputs([f"all.s{k}.force" for k in range(3)])(q.ravel(), np.zeros(18))
    # E* of 1e7 and 3e7 is 7.5e6
    expected = 4.0 / 3.0 * 7.5e6 * np.sqrt([0.1, 0.2, 0.3]) * depth**1.5
    assert np.abs(seen[2::3] - expected).max() < 1e-9 * expected.max()


def test_neighbours_and_surfaces_of_one_body_do_not_touch():
    bodies = [lg.Body(name, mass=1.0, inertia=(0.1, 0.1, 0.1)) for name in ("upper", "lower", "free")]
    joints = [
        lm.Revolute(name="shoulder", parent="world", child="upper", axis=(0, 1, 0)),
        lm.Revolute(name="elbow", parent="upper", child="lower", axis=(0, 1, 0)),
        lm.Free(name="move", parent="world", child="free"),
    ]
    where = (("world", "wall"), ("upper", "a"), ("upper", "b"), ("lower", "c"), ("free", "d"))
    surfaces = [lm.SphereSurface(name=name, at=body, radius=0.3) for body, name in where]
    crowd_ = lm.Contacts(name="all", among=surfaces, stiffness=1e3)
    model = lg.Tree(bodies, joints, forces=[crowd_]).compile()
    # everything is in one place: the wall with lower and free, upper's two with free, lower with free
    touching = model.calculator().outputs("all.touching")(model.state().q, np.zeros(model.nv))
    assert touching[0] == 5


def test_what_a_crowd_cannot_have_is_refused():
    _, surfaces = None, surfaces_of(2)
    box = [lm.BoxSurface(name=f"box {body}", at=body, size=(1, 1, 1)) for body in ("b0", "b1")]
    for among, more, words in (
        (surfaces[:1], {}, "expected at least two surfaces"),
        ([*surfaces, surfaces[1]], {}, "has a surface twice"),
        (box, {}, r"has a box \('box b0'\) and a box \('box b1'\), which cannot touch, expected a box with plane"),
        (surfaces, {"breakaway": 1e-4, "friction": 0.3}, "expected 0 where many surfaces touch"),
        ([*surfaces, 5], {}, "expected surfaces"),
    ):
        with pytest.raises(ModelError, match=f"(?s){words}"):
            lm.Contacts(name="all", among=among, stiffness=1e5, **more)


def test_a_pile_comes_to_rest_and_its_energy_falls():
    n = 27
    bodies, joints = bodies_of(n)
    floor = lm.PlaneSurface(name="floor", at="world")
    balls = [lm.SphereSurface(name=f"s{i}", at=f"b{i}", radius=0.05) for i in range(n)]
    material = {"stiffness": 5e4, "exponent": 1.0, "dissipation": 1.0, "friction": 0.5, "rolling": 0.02}
    model = lg.Tree(bodies, joints, forces=[lm.Contacts(name="all", among=[floor, *balls], **material)]).compile()
    q = np.zeros((n, 7))
    q[:, 0] = 1.0
    q[:, 4:] = [(0.104 * (i % 3), 0.104 * (i // 3 % 3), 0.06 + 0.11 * (i // 9)) for i in range(n)]
    q[:, 4:] += np.random.default_rng(2).uniform(-2e-3, 2e-3, (n, 3))
    run = lg.simulate(
        model,
        model.state(q=q.ravel()),
        t_end=3.0,
        method="rkmk-4",
        step=5e-4,
        output=np.linspace(0, 3, 601),
        progress=False,
    )
    energy = run["energy"]
    assert np.diff(energy).max() < 1e-6 * energy[0]
    assert run["all.depth"][-1] < 0.005
    assert abs(run["energy.kinetic"][-1]) < 0.05
    total = sum(run[f"all.s{i}.force"][-1, 2] for i in range(n))
    assert abs(total - n * 9.81) < 0.3 * n
