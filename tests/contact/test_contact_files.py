"""Contacts from model files, URDF and MJCF, in FMUs and on the 3-D page."""

from __future__ import annotations

import numpy as np
import pytest

import liegeo as lg
from liegeo import model as lm
from liegeo.errors import InputError, ModelError, ModelFileError
from liegeo.io.urdf import read_urdf
from liegeo.view.arrays import Arrays
from liegeo.view.scene import Scene

FILE = """
liegeo: 1
parameters: {mu: 0.3, k: 100 kN/m}
bodies:
  block: {kind: rigid, mass: 1 kg, inertia: [0.01, 0.01, 0.01]}
  ball: {kind: rigid, mass: 0.5 kg, inertia: [5.e-4, 5.e-4, 5.e-4]}
joints:
  block_free: {kind: free, parent: world, child: block}
  ball_free: {kind: free, parent: world, child: ball}
surfaces:
  floor: {kind: plane, at: world}
  ground: {kind: profile, at: world, points: [[-1, 0], [0, 0], [1, 5 cm]]}
  box: {kind: box, at: block, size: [20 cm, 0.2, 0.1]}
  skin: {kind: sphere, at: ball, radius: 5 cm}
forces:
  grip: {kind: contact, a: box, b: floor, stiffness: $(k), exponent: 1, friction: $(mu), breakaway: 50 um}
  hill: {kind: contact, a: ground, b: skin, modulus: 1 GPa, restitution: 0.5, impact_speed: 1 m/s}
  knock: {kind: contact, a: box, b: skin, stiffness: $(k), dissipation: 0.5 s/m, friction: $(mu)}
  pile: {kind: contacts, among: [floor, skin], stiffness: 50 kN/m, exponent: 1, depth: 1 cm}
initial:
  q: {block_free: [1, 0, 0, 0, 0, 0, 0.049], ball_free: [1, 0, 0, 0, 0.03, 0.02, 0.15]}
  v: {block_free: [0, 0, 0, 0.3, 0, 0], ball_free: [0, 3, 0, 0.2, 0, 0]}
  x: {grip: [0.01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]}
experiment: {end: 0.2 s, method: rkmk-4, step: 0.2 ms}
fmu:
  outputs: {grip.gap: , grip.normal: , knock.force.*: , pile.touching: , pile.skin.force.*: , ball.position.*: }
  parameters: {mu: {variability: tunable}, k: }
"""


@pytest.fixture
def mechanism(tmp_path):
    file = tmp_path / "knock.yaml"
    file.write_text(FILE, encoding="utf-8")
    return lg.load(file)


def test_files_say_what_python_says(mechanism, tmp_path):
    grip, hill, knock, pile = mechanism.tree.forces
    assert isinstance(grip, lm.Contact)
    assert isinstance(pile, lm.Contacts)
    assert grip.a is knock.a
    assert [s.name for s in pile.among] == ["floor", "skin"]
    assert hill.a.points.tolist() == [[-1, 0], [0, 0], [1, 0.05]]
    state = mechanism.state()
    assert state.x[0] == 0.01
    # a force on b, the floor, points down though the kernels have the floor first
    model = mechanism.compile()
    seen = model.calculator().outputs(["grip.force", "grip.normal"])(state.q, state.v, x=state.x)
    assert seen[2] == -seen[3] < 0.0
    for system in (mechanism, mechanism.tree):
        lg.save(system, tmp_path / "again.yaml")
        again = lg.load(tmp_path / "again.yaml").compile()
        assert np.array_equal(again.ints, model.ints)
        assert np.array_equal(again.floats, model.floats)


def test_all_surfaces_of_a_file_may_touch(tmp_path):
    file = tmp_path / "all.yaml"
    text = (
        FILE.replace("[floor, skin], stiffness", "all, stiffness").replace("  ground:", "  #").replace("  hill:", "  #")
    )
    file.write_text(text, encoding="utf-8")
    assert [s.name for s in lg.load(file).tree.forces[-1].among] == ["floor", "box", "skin"]


def test_mistakes_are_reported_where_they_stand(tmp_path):
    for old, new, words in (
        ("b: floor", "b: flor", r"forces.grip.b is 'flor', which is none of the surfaces. Did you mean 'floor'\?"),
        ("at: ball,", "at: bal,", "surfaces.skin.at is on 'bal', which is not a body. Did you mean 'ball'"),
        ("[floor, skin]", "[floor, sink]", "forces.pile.among has 'sink', which is none of the surfaces"),
        ("a: ground, b: skin", "a: ground, b: floor", "has a profile and a plane, which cannot touch"),
        ("impact_speed: 1 m/s", "friction: 0.1", "hill': impact_speed is missing, expected both restitution"),
        (
            ", modulus: 1 GPa",
            "",
            "has neither stiffness nor modulus, nor has surface 'ground' or surface 'skin', expected one of them",
        ),
    ):
        file = tmp_path / "wrong.yaml"
        assert old in FILE
        file.write_text(FILE.replace(old, new), encoding="utf-8")
        with pytest.raises(ModelFileError, match=words):
            lg.load(file)


def test_materials_that_make_no_sense_are_refused():
    floor, ball = lm.PlaneSurface(name="floor", at="world"), lm.SphereSurface(name="ball", at="b", radius=0.1)
    box, point = lm.BoxSurface(name="box", at="b", size=(1, 1, 1)), lm.SphereSurface(name="point", at="b", radius=0)
    for pair, material, words in (
        ((floor, ball), {"stiffness": 1.0, "modulus": 1.0}, "has both stiffness and modulus"),
        ((floor, ball), {"modulus": 1.0, "exponent": 1.0}, "expected 1.5, that of Hertz"),
        ((floor, ball), {"stiffness": 1.0, "static": 0.1, "friction": 0.2}, "must be at least friction"),
        ((floor, ball), {"stiffness": 1.0, "breakaway": 1e-4}, "expected a coefficient > 0"),
        ((floor, ball), {"stiffness": 1.0, "dissipation": 1, "restitution": 0.5, "impact_speed": 1}, "expected none"),
        ((floor, "ball"), {"stiffness": 1.0}, "expected a surface, as SphereSurface"),
    ):
        with pytest.raises(ModelError, match=words):
            lm.Contact(name="c", a=pair[0], b=pair[1], **material)
    for pair in ((floor, box), (floor, point)):
        tree = lg.Tree(
            [lg.Body("b", mass=1.0, inertia=(1, 1, 1))],
            [lm.Free(name="j", parent="world", child="b")],
            forces=[lm.Contact(name="c", a=pair[0], b=pair[1], modulus=1e9)],
        )
        with pytest.raises(ModelError, match=r"(?s)modulus.*has no radius to act on.*Give stiffness"):
            tree.compile()
    with pytest.raises(ModelError, match=r"length is 1e-06, must be at least 0.004 times its radius"):
        lm.CylinderSurface(name="leaf", at="b", radius=1.0, length=1e-6)
    with pytest.raises(ModelError, match="must be > 1, the x before it"):
        lm.ProfileSurface(name="hill", at="b", points=[(0, 0), (1, 0), (1, 1)])


def test_the_page_shows_surfaces_and_forces(mechanism):
    run = mechanism.simulate(t_end=0.02, progress=False)
    scene = Scene(run.model, arrays := Arrays(), arrows="*.force")
    shown = scene.description()
    assert {arrow["name"]: arrow["anchor"]["body"] for arrow in shown["arrows"] if "reaction" not in arrow["name"]} == {
        "grip.force": 0,
        "hill.force": 1,
        "knock.force": 1,
    }
    assert [part["kind"] for part in shown["bodies"][0]["parts"]] == ["box"]
    assert [part["kind"] for part in shown["bodies"][1]["parts"]] == ["sphere"]
    assert [part["kind"] for part in shown["world"]] == ["box", "mesh"]
    # b is the floor, so that the arrow is on a, and the other way round
    k = next(k for k, arrow in enumerate(scene.arrows) if arrow.name == "grip.force")
    assert scene.frames(run, np.arange(len(run.t)), arrays)["vectors"] is not None
    assert scene.arrows[k].axes == "world"


URDF = """
<robot name="pad"><link name="base"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
</inertial><collision><origin xyz="0 0 0.1"/><geometry><box size="0.2 0.2 0.1"/></geometry></collision></link>
<link name="foot"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><sphere radius="0.05"/></geometry></collision>
<collision><geometry><mesh filename="none.stl"/></geometry></collision></link>
<joint name="ankle" type="revolute"><parent link="base"/><child link="foot"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>
"""


def test_urdf_collisions_touch_the_ground(tmp_path):
    file = tmp_path / "pad.urdf"
    file.write_text(URDF, encoding="utf-8")
    assert not read_urdf(file, base="free", limits=False).forces
    with pytest.warns(UserWarning, match=r"(?s)collision shapes that touch nothing: link 'foot' \(mesh\).*one another"):
        tree = read_urdf(file, base="free", limits=False, contact={"stiffness": 1e5, "friction": 0.8})
    assert [(force.name, type(force.b).__name__, force.friction) for force in tree.forces] == [
        ("ground_base", "BoxSurface", 0.8),
        ("ground_foot", "SphereSurface", 0.8),
    ]
    assert tree.forces[0].b.at[1][2, 3] == 0.1
    tree.compile()
    with pytest.raises(InputError, match=r"contact has 'stifness', which is no property of a contact. Did you mean"):
        read_urdf(file, contact={"stifness": 1.0})
    with pytest.raises(InputError, match=r"contact is 5, expected a mapping"):
        read_urdf(file, contact=5)


MJCF = """
<mujoco><default><geom friction="0.8 0.01 0.001"/></default><worldbody>
<geom name="floor" type="plane" size="5 5 1"/><geom name="wall" type="box" size=".1 .1 .1" pos="1 0 .1"/>
<body name="torso" pos="0 0 .5"><freejoint name="root"/><geom name="trunk" type="box" size=".2 .1 .05" mass="5"/>
<body name="leg" pos=".2 0 0"><joint name="hip" axis="0 1 0"/>
<geom name="thigh" type="capsule" fromto="0 0 0 0 0 -.2" size=".02" mass="1"/>
<body name="foot" pos="0 0 -.2"><joint name="knee" axis="0 1 0"/>
<geom name="sole" type="sphere" size=".03" mass=".2" condim="6" friction="1.5 0.02 0.003"/>
<geom name="egg" type="ellipsoid" size=".03 .02 .01" mass=".1"/>
<geom name="ghost" size=".1" mass=".1" contype="0" conaffinity="0"/>
</body></body></body></worldbody><contact><exclude body1="torso" body2="foot"/></contact></mujoco>
"""


def test_mjcf_geoms_touch_as_in_mujoco(tmp_path):
    pytest.importorskip("mujoco")
    from liegeo.io.mjcf import read_mjcf

    file = tmp_path / "leg.xml"
    file.write_text(MJCF, encoding="utf-8")
    words = (
        r"(?s)geom 'egg' \(ellipsoid\) passes through everything.*box 'wall' and box 'trunk', box 'wall' and capsule"
    )
    with pytest.warns(UserWarning, match=words):
        tree = read_mjcf(file, contact={"stiffness": 1e5, "dissipation": 0.5})
    found = {force.name: (force.friction, force.spinning, force.rolling) for force in tree.forces}
    assert found == {
        "floor_trunk": (0.8, 0.0, 0.0),
        "floor_thigh": (0.8, 0.0, 0.0),
        "floor_sole": (1.5, 0.02, 0.003),
        "wall_sole": (1.5, 0.02, 0.003),
    }
    tree.compile()


@pytest.mark.foreign
def test_both_kinds_of_fmu_have_the_bits_of_simulate(mechanism):
    fmpy = pytest.importorskip("fmpy")
    import fmu_export

    folder = mechanism.path.parent
    run = mechanism.simulate(t_end=0.1, output=np.linspace(0.0, 0.1, 101), progress=False)
    files = [
        fmu_export.build(mechanism.path, folder / "python.fmu"),
        fmu_export.build(mechanism.path, folder / "native.fmu", native=True, platforms=["linux64"]),
    ]
    seen = [fmpy.simulate_fmu(str(file), output_interval=1e-3, stop_time=0.1) for file in files]
    assert seen[0].tobytes() == seen[1].tobytes()
    for name in seen[0].dtype.names[1:]:
        assert np.abs(seen[0][name] - run[name]).max() < 1e-12 * (1.0 + np.abs(run[name]).max())
    tuned = [fmpy.simulate_fmu(str(f), stop_time=0.1, start_values={"mu": 0.5, "k": 2e5}) for f in files]
    assert tuned[0].tobytes() == tuned[1].tobytes()
