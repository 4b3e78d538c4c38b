"""Ropes over several points: pulleys in closed form, virtual work by complex steps of the length, and energy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import liegeo as lg
from liegeo import dynamics, flex
from liegeo import model as lm
from liegeo.errors import ModelError, ModelFileError
from liegeo.view.arrays import Arrays
from liegeo.view.scene import Scene

STEP = 1e-30
PULLEY = ("world", (0.5, 0.3, 1.0))
SCREW = np.array([0.6, 0.0, 0.8])


def tackle(has_rope=True):
    """An arm with a winch on it, whose rope runs over a hook and a fixed pulley to a load that floats."""
    bodies = [
        lm.Body("arm", mass=2.0, com=(0.1, 0.05, 0), inertia=(0.2, 0.3, 0.4), frames={"hook": (0.3, 0.1, 0.2)}),
        lm.Body("winch", mass=1.0, com=(0.05, 0.02, 0.01), inertia=(0.1, 0.2, 0.15)),
        lm.Body("load", mass=3.0, inertia=(0.2, 0.2, 0.3), frames={"eye": (0, 0, 0.1)}),
    ]
    joints = [
        lm.Revolute(name="shoulder", parent="world", child="arm", axis=(0, 1, 0)),
        lm.Revolute(
            name="drum", parent="arm", child="winch", at=(0.2, -0.1, 0.3), axis=SCREW, child_at=(0.03, 0.02, 0.1)
        ),
        lm.Free(name="float", parent="world", child="load"),
    ]
    given = {"stiffness": 500.0, "damping": 4.0, "length": 0.8, "drum": "drum", "radius": 0.1}
    rope = lm.Rope(name="rope", a="arm", via=["arm.hook", PULLEY], b="load.eye", **given)
    return lm.Tree(bodies, joints, forces=[rope] * has_rope, gravity=(0, 0, -1.0)).compile()


Q = {"shoulder": 0.3, "drum": 0.4, "float": (0.8, 0.0, 0.6, 0.0, 0.8, 0.2, -0.3)}
V = {"shoulder": -0.5, "drum": 1.0, "float": (0.1, 0.2, 0.3, 0.4, 0.5, 0.1)}


def extension(q, moved, radius=0.1, length=0.8):
    """Return e of a position, moved by small numbers (shoulder, drum, six of the load), from its own kinematics."""
    angle = q["shoulder"] + moved[0]
    c, s = np.cos(angle), np.sin(angle)
    R = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    hook = R @ np.array([0.3, 0.1, 0.2])
    w, x, y, z, *p = q["float"]
    turned = Rotation.from_quat((x, y, z, w)).as_matrix()
    small = np.cross(np.eye(3), -moved[2:5]).T
    eye = np.array(p) + turned @ (moved[5:8] + (np.eye(3) + small) @ np.array([0, 0, 0.1]))
    points = [np.zeros(3), hook, np.array(PULLEY[1]), eye]
    return (
        sum(np.sqrt(((b - a) ** 2).sum()) for a, b in itertools.pairwise(points))
        + radius * (q["drum"] + moved[1])
        - length
    )


def test_a_rope_exerts_what_virtual_work_says():
    """Q = −T ∂e/∂q, with the derivative of e by complex steps through kinematics that are written here."""
    with_rope, without = tackle(), tackle(has_rope=False)
    gradient = np.array([extension(Q, 1j * STEP * e).imag / STEP for e in np.eye(8)])
    state = with_rope.state(Q, V)
    rate = gradient @ state.v
    tension = 500.0 * extension(Q, np.zeros(8)) + 4.0 * rate
    assert tension > 100.0
    a = np.random.default_rng(1).normal(size=8)
    found = [dynamics.inverse_dynamics(each, each.state(Q, V), a) for each in (with_rope, without)]
    assert np.allclose(found[0] - found[1], tension * gradient, atol=1e-11 * tension)
    moved = [dynamics.forward_dynamics(each, each.state(Q, V)) for each in (with_rope, without)]
    M = dynamics.mass_matrix(without, without.state(Q, V))
    assert np.allclose(M @ (moved[0] - moved[1]), -tension * gradient, atol=1e-10 * tension)


@pytest.mark.parametrize("method", ["rkmk-4", "generalised-alpha-0.8", "rosenbrock-3", "lie-bdf-2"])
def test_energy_is_kept_while_it_slackens_and_tightens(method):
    model = tackle()
    state = model.state(Q, V)
    out = lg.simulate(model, state, 0.4, method=method, step=5e-4, output="steps", progress=False)
    assert out["rope.tension"].max() > 500.0
    assert out["rope.tension"].min() == 0.0
    start = dynamics.balance(model, state).energy
    end = dynamics.balance(model, out.end).energy
    # the account sums dissipated power by samples: of 170 J a share of the order of the step
    assert abs(end - start + out.info.energy.dissipated) < {"rkmk-4": 2e-3, "rosenbrock-3": 2e-3}.get(method, 0.5)
    assert end < start


def test_two_loads_on_a_pulley_have_the_acceleration_of_atwood():
    """(m₁ − m₂) g/(m₁ + m₂) for all times, if the rope begins with the extension of the constant tension."""
    m1, m2, g, k = 3.0, 2.0, 9.81, 1e4
    bodies = [lm.Body(name, mass=m, inertia=(1, 1, 1)) for name, m in (("one", m1), ("two", m2))]
    joints = [
        lm.Prismatic(name=f"z {b.name}", parent="world", child=b.name, at=(x, 0, 0), axis=(0, 0, 1))
        for b, x in zip(bodies, (-0.2, 0.2), strict=True)
    ]
    tension = 2.0 * m1 * m2 * g / (m1 + m2)
    via = [("world", (-0.2, 0, 2.0)), ("world", (0.2, 0, 2.0))]
    rope = lm.Rope(name="rope", a="one", via=via, b="two", stiffness=k, length=4.4 - tension / k)
    model = lm.Tree(bodies, joints, forces=[rope], gravity=(0, 0, -g)).compile()
    out = lg.simulate(model, model.state(), 0.5, method="rkmk-4", step=1e-3, output="steps", progress=False)
    a = (m1 - m2) * g / (m1 + m2)
    assert np.allclose(out["z one.position"], -0.5 * a * out.t**2, atol=1e-11)
    assert np.allclose(out["z two.position"], 0.5 * a * out.t**2, atol=1e-11)
    assert np.allclose(out["rope.tension"], tension, rtol=1e-10)
    assert np.allclose(out["rope.length"], 4.4, atol=1e-11)


def test_a_movable_pulley_halves_the_force_of_the_drum():
    """Tackle with two strands on the load: the drum holds it with half of its weight times the radius."""
    load = lm.Body("load", mass=4.0, inertia=(1, 1, 1))
    winch = lm.Body("winch", mass=1.0, inertia=(0.1, 0.1, 0.1))
    joints = [
        lm.Prismatic(name="lift", parent="world", child="load", axis=(0, 0, 1)),
        lm.Revolute(name="drum", parent="world", child="winch", at=(0, 0, 2.0), axis=(0, 1, 0)),
    ]
    rope = lm.Rope(
        name="rope",
        a=("world", (0, 0, 2.0)),
        via=["load"],
        b=("world", (0, 0, 2.0)),
        stiffness=1e5,
        length=4.0,
        drum="drum",
        radius=0.05,
    )
    model = lm.Tree([load, winch], joints, forces=[rope], gravity=(0, 0, -9.81)).compile()
    tension = 0.5 * 4.0 * 9.81
    state = model.state({"drum": tension / 1e5 / 0.05})
    torque = dynamics.inverse_dynamics(model, state, np.zeros(2))
    assert np.allclose(torque, [0.0, tension * 0.05], atol=1e-9)
    # one turn of the drum lifts the load by half of what is wound
    turned = model.state({"drum": 2 * np.pi + tension / 1e5 / 0.05, "lift": np.pi * 0.05})
    assert np.allclose(dynamics.inverse_dynamics(model, turned, np.zeros(2)), [0.0, tension * 0.05], atol=1e-9)


def test_a_drum_that_slides_winds_by_its_way():
    """A pneumatic muscle, say: the joint's position counts as it is."""
    slider = lm.Body("slider", mass=1.0, inertia=(1, 1, 1))
    load = lm.Body("load", mass=2.0, inertia=(1, 1, 1))
    joints = [
        lm.Prismatic(name="pull", parent="world", child="slider", axis=(1, 0, 0)),
        lm.Prismatic(name="lift", parent="world", child="load", axis=(0, 0, 1)),
    ]
    rope = lm.Rope(name="rope", a=("world", (0, 0, 3.0)), b="load", stiffness=1e3, damping=2.0, length=2.9, drum="pull")
    model = lm.Tree([slider, load], joints, forces=[rope], gravity=(0, 0, 0)).compile()
    state = model.state({"pull": 0.2}, {"pull": 0.5, "lift": 0.1})
    tension = 1e3 * 0.3 + 2.0 * (0.5 - 0.1)
    assert np.allclose(dynamics.forward_dynamics(model, state), [-tension, tension / 2.0])


def test_ropes_bend_flexible_bodies():
    """Forces on nodes that deform, by virtual work of the length between poses, and the balance of energy."""
    beam = flex.beam(0.5, flex.rectangle(0.02, 0.004), flex.Material(7e10, 2700.0, 0.3), 8)
    modes = flex.reduce(beam, interfaces=["0", "8"], root="0", n_modes=2)
    body = flex.flexible_body(modes, "boom", nodes=["8"])
    mast = lm.Revolute(name="mast", parent="world", child="boom", child_at="0", axis=(0, 1, 0))
    tip = "boom.8"
    rope = lm.Rope(
        name="rope", a=("world", (-0.2, 0.1, 0.5)), via=[tip], b=("world", (0.3, 0, -0.6)), stiffness=800.0, length=1.0
    )
    model = lm.Tree([body], [mast], forces=[rope], gravity=(0, 0, 0)).compile()
    rng = np.random.default_rng(2)
    q = 0.003 * rng.normal(size=model.nq)
    points = [np.array([-0.2, 0.1, 0.5]), None, np.array([0.3, 0, -0.6])]

    def energy(q):
        points[1] = dynamics.frame_pose(model, model.state(q), tip)[:3, 3]
        length = sum(np.linalg.norm(y - x) for x, y in itertools.pairwise(points))
        return 0.5 * 800.0 * (length - 1.0) ** 2

    free = lm.Tree([body], [mast], gravity=(0, 0, 0)).compile()
    zero = np.zeros(model.nv)
    found = [dynamics.inverse_dynamics(each, each.state(q), zero) for each in (model, free)]
    h = 1e-6
    slope = [(energy(q + h * e) - energy(q - h * e)) / (2 * h) for e in np.eye(model.nq)]
    assert np.allclose(found[0] - found[1], slope, rtol=1e-6, atol=1e-5)
    elastic = [dynamics.balance(each, each.state(q)).elastic for each in (model, free)]
    assert np.isclose(elastic[0] - elastic[1], energy(q))


FILE = """
liegeo: 1
parameters: {k: 500 N/m, r: 10 cm}
bodies:
  load: {kind: rigid, mass: 2 kg, inertia: [1, 1, 1], frames: {eye: [0, 0, 10 cm]}}
  winch: {kind: rigid, mass: 1 kg, inertia: [1, 1, 1]}
joints:
  lift: {kind: prismatic, parent: world, child: load, axis: [0, 0, 1]}
  drum: {kind: revolute, parent: world, child: winch, axis: [0, 1, 0]}
forces:
  rope:
    kind: rope
    a: world
    via: [{body: world, at: [1, 0, 1]}, {body: world, at: [0, 0, 2]}]
    b: load.eye
    stiffness: $(k)
    damping: 3 N*s/m
    length: 2.5 m
    drum: drum
    radius: $(r)
"""


def test_files_know_ropes(tmp_path):
    file = tmp_path / "rope.yaml"
    file.write_text(FILE)
    mechanism = lg.load(file)
    model, state = mechanism.compile(), mechanism.compile().state({"drum": 0.3})
    tension = 500.0 * (2 * np.sqrt(2.0) + 1.9 + 0.03 - 2.5)
    torque = dynamics.inverse_dynamics(model, state, np.zeros(2))
    assert np.allclose(torque, [2.0 * 9.81 - tension, 0.1 * tension])
    for k, saved in enumerate((mechanism, mechanism.tree)):
        again = lg.load(lg.save(saved, tmp_path / f"again{k}.yaml"))
        assert np.array_equal(again.compile().floats, model.floats)
        assert np.array_equal(again.compile().ints, model.ints)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (
            "drum: drum",
            "drum: drun",
            "rope.yaml:19:5: Rope 'rope': 'drun' is not a joint of the tree. Did you",
        ),
        (
            "kind: revolute",
            "kind: universal",
            "is joint 'drum', a Universal, which has 2 speeds, expected one",
        ),
        ("{body: world, at: [0, 0, 2]}", "{body: word, at: [0, 0, 2]}", "is on 'word', which is not a body"),
        (
            "{body: world, at: [0, 0, 2]}",
            "load.ear",
            "rope.yaml:14:41: Rope 'rope': via[1] is 'ear'",
        ),
        ("via: [{", "via: [3, {", "rope.yaml:14:11: forces.rope.via[0] is 3, expected"),
        ("radius: $(r)", "radius: 0", "radius is 0, expected a number that is not zero"),
        ("length: 2.5 m", "length: -1", "length is -1, must be ≥ 0"),
    ],
)
def test_what_is_wrong_with_a_rope_is_said_at_its_place(tmp_path, old, new, text):
    file = tmp_path / "rope.yaml"
    changed = FILE.replace(old, new)
    if "universal" in changed:
        changed = changed.replace(", axis: [0, 1, 0]}\nforces", "}\nforces")
    file.write_text(changed)
    with pytest.raises(ModelFileError) as caught:
        lg.load(file)
    assert text in str(caught.value)


def test_what_is_wrong_with_a_rope_in_python_is_said():
    with pytest.raises(ModelError, match="via is 'a', expected a list of places"):
        lm.Rope(name="rope", a="world", via="a", b="world", stiffness=1.0, length=1.0)


def test_the_page_draws_every_piece():
    lines = Scene(tackle(), Arrays()).description()["lines"]
    assert [line["name"] for line in lines] == ["rope", "rope[1]", "rope[2]"]
    assert [line["kind"] for line in lines] == ["rod"] * 3
    assert [(line["a"]["body"], line["b"]["body"]) for line in lines] == [(0, 0), (0, -1), (-1, 2)]
