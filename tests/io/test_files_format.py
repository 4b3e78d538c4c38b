"""What Python can say a file can say, with the same bits: classes, sources of flexible bodies, published systems."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest
from examples import SENSORS as EXAMPLES_OF_SENSORS
from examples import force_fields, joint_example
from loops import mechanisms, published

import liegeo as lg
from liegeo import flex
from liegeo import model as lm
from liegeo.errors import ModelFileError
from liegeo.flex import readers, sid, solid
from liegeo.io import forms
from liegeo.io.flexible import BODY_FORMS, SECTION_FORMS
from liegeo.io.mechanism import Initial, Mechanism
from liegeo.model.forces import place_fields
from liegeo.model.shapes import Skin

TESTS = Path(__file__).parents[1]

X = np.eye(4)
X[:3, :3] = [[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]]
X[:3, 3] = [0.1, 0.2, -0.3]


def same(a, b):
    """Whether two compiled models are equal to the bit."""
    return np.array_equal(a.fingerprint, b.fingerprint) and a.floats.tobytes() == b.floats.tobytes()


def load(folder, text, **options):
    file = folder / "model.yaml"
    file.write_text(text, encoding="utf-8")
    return lg.load(file, **options)


# ---- classes

JOINT = {
    "name": "j",
    "parent": "a",
    "child": "b",
    "at": X,
    "child_at": "f",
    "stiffness": 3.0,
    "damping": 0.1,
    "armature": 0.2,
    "friction": 0.3,
    "friction_speed": 0.01,
}
# By class: every field, none as usual.
JOINTS = {cls: joint_example(cls).fields for cls in lm.ALL_JOINTS}
FRAMES = {"a": "a.f", "b": ("world", (1.0, 2.0, 3.0))}
CONSTRAINTS = {
    lm.Distance: {**FRAMES, "length": 1.5},
    lm.PointOnLine: {**FRAMES, "axis": (0.0, 0.6, 0.8)},
    lm.PointOnPlane: {**FRAMES, "normal": (0.0, 0.6, 0.8)},
    lm.Rolling: {**FRAMES, "radius": 0.5, "shape": "ball", "axis": (0.0, 0.6, 0.8), "normal": (0.6, 0.0, 0.8)},
    lm.Coupling: {"terms": {"i": 2.0, "j": -0.5}, "offset": 0.25},
    lm.Gear: {"a": "i", "b": "j", "ratio": -3.0, "offset": 0.1},
    lm.Rack: {"pinion": "i", "rack": "j", "radius": 0.2, "offset": 0.1},
    lm.Motion: {"joint": "j", "law": ([0.0, 0.5, 1.0], [0.0, 0.3, -0.1]), "coordinate": 0},
    lm.Lock: {"joint": "j", "speed": 0, "engaged": True, "commanded": True},
    lm.RigidStop: {"joint": "j", "speed": 0, "lower": -0.5, "upper": 0.5, "restitution": 0.3, "rest_speed": 0.01},
    lm.Weld: {**FRAMES, "engaged": True, "commanded": True},
}
PLACES = {1: [("a", X)], 2: FRAMES.values()}
FORCES = {
    cls: force_fields(cls, *PLACES.get(len(place_fields(cls)), ()), joint="j", other="i") for cls in lm.ALL_FORCES
}
MEASURED = {"at": ("a", X), **FRAMES, "joint": "j"}
SENSORS = {
    cls: {**own, **{f.name: MEASURED[f.name] for f in dataclasses.fields(cls) if f.name in MEASURED}}
    for cls, own in EXAMPLES_OF_SENSORS.items()
}
SHAPES = {
    lm.Box: {"size": (1, 2, 3)},
    lm.Sphere: {"radius": 0.5},
    lm.Cylinder: {"radius": 0.5, "length": 2.0},
    lm.Mesh: {"vertices": ((0, 0, 0), (1, 0, 0), (0, 1, 0)), "triangles": ((0, 1, 2),)},
}


def tree(joint=None, **more):
    bodies = [
        lg.Body("a", mass=1.1, com=(0.1, -0.0, 0.3), inertia=(0.3, 0.4, 0.5, 0.01, 0.02, 0.03), frames={"f": X}),
        lg.Body("b", mass=1.0 / 3.0, inertia=(0.1, 0.1, 0.1), frames={"f": (0.1, 0.2, 1.0 / 7.0)}),
    ]
    first = lm.Revolute(name="i", parent="world", child="a", axis=(1.0, 0.0, 0.0))
    second = joint or lm.Revolute(name="j", parent="a", child="b", axis=(0.0, 1.0, 0.0))
    return lg.Tree(bodies, [first, second], gravity=(0.1, 0.2, -9.8), name="two", **more)


def again(folder, tree):
    loaded = lg.load(lg.save(tree, folder / "again.yaml"))
    assert same(tree.compile(), loaded.compile())
    return loaded.tree


@pytest.mark.parametrize(("samples", "classes"), [
    (JOINTS, lm.ALL_JOINTS),
    (CONSTRAINTS, [c for c in lm.ALL_CONSTRAINTS if c is not lm.Custom]),
    (FORCES, lm.ALL_FORCES),
    (SENSORS, lm.ALL_SENSORS),
    (SHAPES, lm.ALL_SHAPES),
])  # fmt: skip
def test_no_class_and_no_field_is_without_a_form(samples, classes):
    assert set(samples) == set(classes)
    known = {
        **forms.JOINT_FORMS,
        **forms.CONSTRAINT_FORMS,
        **forms.FORCE_FORMS,
        **forms.SHAPE_FORMS,
        **forms.SENSOR_FORMS,
    }
    usual = {**JOINT, "at": X, "color": "red"}
    for cls, fields in samples.items():
        written = {f.name for f in dataclasses.fields(cls) if f.init and f.name != "name"}
        assert set(known[forms.kind_of(cls)].model_fields) - {"kind"} == written
        assert written <= set(fields) | set(usual), "a field that no test writes"
        assert all(field.description for field in known[forms.kind_of(cls)].model_fields.values())


@pytest.mark.parametrize("cls", JOINTS)
def test_joints_come_back(cls, tmp_path):
    fields = {**JOINT, **JOINTS[cls]}
    if cls is lm.Fixed:
        fields |= dict.fromkeys(("stiffness", "damping", "armature", "friction"), 0.0)
    (_, joint) = again(tmp_path, tree(cls(**fields))).joints
    for field in dataclasses.fields(cls):
        assert np.array_equal(getattr(joint, field.name), fields[field.name]), field.name


@pytest.mark.parametrize("cls", [c for c in JOINTS if c is not lm.Free])
def test_joints_that_close_loops_come_back(cls, tmp_path):
    fields = {key: value for key, value in JOINTS[cls].items() if key not in ("rest", "stiffness")}
    cut = cls(name="cut", parent="b", child="world", at="f", child_at=(1.0, 2.0, 3.0), **fields)
    assert type(again(tmp_path, tree(loops=[cut])).loops[0]) is cls


def test_events_come_back(tmp_path):
    lock = lm.Lock(name="brake", joint="j")
    given = {
        "signal": "j.angle",
        "value": 0.5,
        "direction": "rising",
        "set": {"i": 2.0},
        "engage": ("brake",),
        "once": True,
    }
    one, other = lm.Trigger(name="one", **given), lm.Trigger(name="other", signal="time", release=["brake"])
    found = again(tmp_path, tree(loops=[lock], events=[one, other])).events
    for event, expected in zip(found, (one, other), strict=True):
        for field in dataclasses.fields(lm.Trigger):
            assert getattr(event, field.name) == getattr(expected, field.name)


@pytest.mark.parametrize("cls", CONSTRAINTS)
def test_constraints_come_back(cls, tmp_path):
    (loop,) = again(tmp_path, tree(loops=[cls(name="loop", **CONSTRAINTS[cls])])).loops
    if cls is lm.Motion:
        times, values = loop.law
        assert (times.tolist(), values.tolist()) == CONSTRAINTS[cls]["law"]
        assert (loop.joint, loop.coordinate) == ("j", 0)


@pytest.mark.parametrize("cls", FORCES)
def test_forces_come_back(cls, tmp_path):
    (force,) = again(tmp_path, tree(forces=[cls(name="force", **FORCES[cls])])).forces
    assert type(force) is cls


# gauges sit between nodes of flexible bodies: tests/io/test_files_sensors.py
@pytest.mark.parametrize("cls", [cls for cls in SENSORS if cls is not lm.StrainGauge])
def test_sensors_come_back(cls, tmp_path):
    (sensor,) = again(tmp_path, tree(sensors=[cls(name="sensor", **SENSORS[cls])])).sensors
    assert type(sensor) is cls
    for field in dataclasses.fields(cls):
        expected = {**SENSORS[cls], "name": "sensor"}[field.name]
        found = getattr(sensor, field.name)
        if isinstance(expected, tuple) and isinstance(expected[0], str):
            assert found[0] == expected[0]
            found, expected = found[1], expected[1]
        assert found == expected if isinstance(expected, str) else np.array_equal(found, expected), field.name


@pytest.mark.parametrize("cls", SHAPES)
def test_shapes_come_back(cls, tmp_path):
    body = lg.Body(
        "a", mass=1.0, inertia=(1, 1, 1), shapes=[cls(at=X, color="#ff8800", **SHAPES[cls]), cls(**SHAPES[cls])]
    )
    system = lg.Tree([body], [lm.Free(name="base", parent="world", child="a")])
    for old, new in zip(body.shapes, again(tmp_path, system).bodies[0].shapes, strict=True):
        assert type(new) is cls
        for field in dataclasses.fields(cls):
            assert np.array_equal(getattr(new, field.name), getattr(old, field.name)), field.name


def test_wheels_and_options_of_the_tree_come_back(tmp_path):
    wheel = lm.Wheel(
        name="w",
        body="b",
        inertia=0.01,
        axis=(0, 1, 0),
        at="f",
        mass=0.5,
        transverse=0.02,
        damping=0.001,
        friction=0.003,
    )
    assert {f.name for f in dataclasses.fields(lm.Wheel)} == {*forms.WHEEL_FORM.model_fields, "name"}
    (new,) = again(tmp_path, tree(wheels=[wheel], fidelity="ruthless", modal_inverse="explicit")).wheels
    assert all(np.array_equal(getattr(new, f.name), getattr(wheel, f.name)) for f in dataclasses.fields(wheel))
    saved = lg.load(tmp_path / "again.yaml")
    assert (saved.tree.fidelity, saved.tree.modal_inverse) == ("ruthless", "explicit")


def test_every_field_of_a_flexible_body_comes_back(tmp_path):
    fe = flex.beam(1.0, flex.circle(0.02), flex.Material(7e10, 2700.0, 0.3), 4)
    reduction = flex.reduce(fe, ["0", "4"], n_modes=1, root="0")
    body = flex.flexible_body(reduction, "boom", ["2", "4"], damping=0.01, stiffening=True, frames={"f": X})
    n = body.n_modes
    skin = Skin(np.eye(3), np.arange(9.0 * n).reshape(3, 3, n), [[0, 1, 2]])
    body = dataclasses.replace(body, shapes=[lm.Sphere(radius=1.0)], skin=skin)
    assert {f.name for f in dataclasses.fields(body)} == {*BODY_FORMS["record"].model_fields} - {"kind"} | {"name"}
    system = lg.Tree([body], [lm.Revolute(name="hinge", parent="world", child="boom", child_at="0")])
    new = again(tmp_path, system).bodies[0]
    for field in dataclasses.fields(body):
        old_value, new_value = getattr(body, field.name), getattr(new, field.name)
        if field.name == "nodes":
            assert list(old_value) == list(new_value)
            for name, node in old_value.items():
                for part in ("pose", "modes", "second"):
                    assert np.array_equal(getattr(node, part), getattr(new_value[name], part))
        elif field.name == "skin":
            assert all(
                np.array_equal(getattr(skin, p), getattr(new_value, p)) for p in ("vertices", "modes", "triangles")
            )
        elif field.name not in ("shapes", "frames"):
            assert np.array_equal(old_value, new_value), field.name


def test_a_rigid_record_comes_back(tmp_path):
    """Matrices of no modes have lost their shape in a file."""
    fe = flex.beam(1.0, flex.circle(0.02), flex.Material(7e10, 2700.0, 0.3), 2)
    body = flex.flexible_body(flex.reduce(fe, (), "free-interface", n_modes=0), "rod", ["2"])
    again(tmp_path, lg.Tree([body], [lm.Free(name="base", parent="world", child="rod")]))


# ---- sources of flexible bodies

HEAD = """
liegeo: 1
materials:
  steel: {E: 210 GPa, nu: 0.3, rho: 7850 kg/m^3}
  soft: {E: 1 GPa, G: 400 MPa, rho: 1000}
sections:
  strip: {kind: rectangle, width_y: 4 mm, height_z: 40 mm}
  rod: {kind: circle, diameter: 2 cm}
  pipe: {kind: tube, outer: 40 mm, inner: 36 mm}
  girder: {kind: i_beam, width_y: 0.1, height_z: 0.2, flange: 8 mm, web: 5 mm}
  own: {kind: integrals, A: 1 cm^2, Iy: 1e-8, Iz: 2e-8, J: 3e-8, Ip: 4e-8, Asy: 0.5 cm^2, Asz: 0.6 cm^2}
joints:
  base: {kind: free, parent: world, child: body, child_at: NODE}
bodies:
  body:
"""
STEEL = flex.Material(210e9, 7850.0, 0.3)
SOFT = flex.Material(1e9, 1000.0, G=4e8)


def body_of(folder, text, node="null"):
    head = HEAD.replace(", child_at: NODE", "" if node == "null" else f", child_at: {node}")
    return load(folder, head + "\n".join(f"    {line}" for line in text.strip().splitlines())).tree.bodies[0]


def equal(a, b):
    names = ("mass", "moment", "inertia", "C_t", "C_r0", "C_r1", "J_1", "J_2", "M_e", "K", "D", "C_t1")
    assert all(np.array_equal(getattr(a, n), getattr(b, n)) for n in names)
    assert set(a.nodes) == set(b.nodes)
    assert all(np.array_equal(a.nodes[n].modes, b.nodes[n].modes) for n in a.nodes)
    assert {n: X.tolist() for n, X in a.frames.items()} == {n: X.tolist() for n, X in b.frames.items()}


@pytest.mark.parametrize(("name", "section"), [
    ("strip", flex.rectangle(0.004, 0.04)),
    ("rod", flex.circle(0.02)),
    ("pipe", flex.tube(0.04, 0.036)),
    ("girder", flex.i_beam(0.1, 0.2, 0.008, 0.005)),
    ("own", flex.Section(1e-4, 1e-8, 2e-8, 3e-8, 4e-8, 5e-5, 6e-5)),
    ("[pipe, rod]", (flex.tube(0.04, 0.036), flex.circle(0.02))),
])  # fmt: skip
def test_beams(tmp_path, name, section):
    assert set(SECTION_FORMS) == {"rectangle", "circle", "tube", "i_beam", "integrals"}
    text = f"""
kind: beam
length: 200 cm
material: steel
section: {name}
elements: 6
theory: timoshenko
rotary: false
up: [0, 1, 1]
modes: {{method: attachment, interfaces: {{0: [rx, ry, rz, x, y, z], 6: [y, z]}}, max_frequency: 200 Hz, root: 0}}
nodes: [3, 6]
damping: {{alpha: 0.1, beta: 1 ms, ratio: 2 %}}
stiffening: true
frames: {{eye: [0, 0, 1]}}
"""
    fe = flex.beam(2.0, section, STEEL, 6, kind="timoshenko", rotary=False, up=(0, 1, 1))
    reduction = flex.reduce(fe, {"0": range(6), "6": (4, 5)}, "attachment", max_frequency=200.0, root="0")
    damping = flex.Damping(alpha=0.1, beta=1e-3, ratio=0.02)
    equal(
        body_of(tmp_path, text, "0"),
        flex.flexible_body(reduction, "body", ["3", "6"], damping=damping, stiffening=True, frames={"eye": (0, 0, 1)}),
    )


def test_frames_of_beams(tmp_path):
    text = """
kind: frame
material: soft
points: {foot: [0, 0, 0], head: [0, 0, 2], arm: [1, 0, 2]}
beams:
  mast: {from: foot, to: head, section: pipe, elements: 3}
  boom: {from: head, to: arm, section: [pipe, rod], material: steel, theory: timoshenko, up: [0, 1, 0], rotary: false}
masses:
  arm: {mass: 500 g, inertia: [1e-3, 1e-3, 1e-3], com: [0, 0, -0.1]}
modes: {method: loaded-interface, effective_mass: 50 %, loads: {head: LOAD}}
nodes: [arm, mast.1]
damping: 1 %
""".replace("LOAD", str(np.eye(6).tolist()))
    frame = flex.Frame(SOFT, "body")
    for name, place in {"foot": (0, 0, 0), "head": (0, 0, 2), "arm": (1, 0, 2)}.items():
        frame.node(name, place)
    frame.beam("foot", "head", flex.tube(0.04, 0.036), 3, name="mast")
    taper = (flex.tube(0.04, 0.036), flex.circle(0.02))
    frame.beam("head", "arm", taper, kind="timoshenko", up=(0, 1, 0), rotary=False, material=STEEL, name="boom")
    frame.mass("arm", 0.5, (1e-3, 1e-3, 1e-3), (0, 0, -0.1))
    reduction = flex.reduce(frame.model(), (), "loaded-interface", effective_mass=0.5, loads={"head": np.eye(6)})
    equal(body_of(tmp_path, text), flex.flexible_body(reduction, "body", ["arm", "mast.1"], damping=0.01))


def test_damping_may_be_a_list_and_a_matrix(tmp_path):
    text = """
kind: beam
length: 1 m
material: steel
section: rod
elements: 2
modes: {method: free-interface, count: 2}
damping: DAMPING
"""
    fe = flex.beam(1.0, flex.circle(0.02), STEEL, 2)
    reduction = flex.reduce(fe, (), "free-interface", n_modes=2)
    for given, damping in {
        "[1 %, 2 %]": flex.Damping(ratio=[0.01, 0.02]),
        "{ratio: [1 %, 2 %]}": flex.Damping(ratio=[0.01, 0.02]),
        "{matrix: [[1, 0.5], [0.5, 2]]}": flex.Damping(matrix=[[1.0, 0.5], [0.5, 2.0]]),
    }.items():
        found = body_of(tmp_path, text.replace("DAMPING", given))
        equal(found, flex.flexible_body(reduction, "body", damping=damping))


def test_files_of_finite_element_programs(tmp_path):
    for file in (TESTS / "flex/data/calculix").glob("short*"):
        shutil.copy(file, tmp_path)
    (tmp_path / "nastran").mkdir()
    shutil.copy(TESTS / "flex/data/nastran/small.bdf", tmp_path / "nastran")
    fe = readers.read(tmp_path / "short.inp")
    x = fe.positions[:, 0]
    ends = [[name for name, place in zip(fe.names, x, strict=True) if place == end] for end in (x.min(), x.max())]
    tied = fe.rigid_link("root", ends[0]).average("tip", ends[1], (1.0, 2.0, 3.0))
    reduction = flex.reduce(tied, ["root"], n_modes=2, root="root")
    text = f"""
kind: fe
file: short.inp
options: {{free: true, dofs: short.dof}}
links:
  root: {{kind: rigid, nodes: {[int(n) for n in ends[0]]}}}
  tip: {{kind: average, nodes: {[int(n) for n in ends[1]]}, position: [1, 2, 3]}}
modes: {{interfaces: [root], count: 2, root: root}}
nodes: [tip]
"""
    equal(body_of(tmp_path, text, "root"), flex.flexible_body(reduction, "body", ["tip"]))
    grid = readers.read(tmp_path / "nastran/small.bdf")
    free = flex.reduce(grid, (), "free-interface", n_modes=2)
    text = "kind: fe\nfile: nastran/small.bdf\noptions: {stiffness: KAAX}\nmodes: {method: free-interface, count: 2}\n"
    equal(body_of(tmp_path, text), flex.flexible_body(free, "body"))


def test_blocks_and_meshes_of_solid_elements(tmp_path):
    block = solid.block(1.0, 0.1, 0.2, 3, 1, 1, E=210e9, nu=0.3, rho=7850.0, kind="hex8", name="body")
    left = [n for n in block.names if n.startswith("0,")]
    reduction = flex.reduce(block.rigid_link("root", left), ["root"], n_modes=1, root="root")
    text = """
kind: block
size: [1, 0.1, 0.2]
elements: [3, 1, 1]
element: hex8
material: steel
links: {root: {kind: rigid, nodes: ["0,*"]}}
modes: {interfaces: [root], count: 1, root: root}
"""
    equal(body_of(tmp_path, text, "root"), flex.flexible_body(reduction, "body"))
    meshio = pytest.importorskip("meshio")
    points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0], [1, 1, 1]]
    cells = [("tetra", [[0, 1, 2, 3], [1, 2, 3, 4]])]
    meshio.write(tmp_path / "two.vtk", meshio.Mesh(points, cells))
    mesh = solid.read(tmp_path / "two.vtk", 210e9, 0.3, 7850.0)
    tied = mesh.rigid_link("root", ["0", "1", "2"])
    text = """
kind: solid
file: two.vtk
material: steel
links: {root: {kind: rigid, nodes: [0, 1, 2]}}
modes: {interfaces: [root], count: 1, root: root}
"""
    reduction = flex.reduce(tied, ["root"], n_modes=1, root="root")
    equal(body_of(tmp_path, text, "root"), flex.flexible_body(reduction, "body"))


def test_sid_files(tmp_path):
    shutil.copy(TESTS / "flex/data/sid/two_masses.SID_FEM", tmp_path / "arm.sid")
    made = sid.to_flexible_body(sid.read_sid(tmp_path / "arm.sid"), "body", tolerance=1e-5)
    text = "kind: sid\nfile: arm.sid\ntolerance: 1e-5\nframes: {eye: [0, 0, 1]}\nshapes: [{kind: sphere, radius: 1}]\n"
    found = body_of(tmp_path, text)
    assert [type(shape) for shape in found.shapes] == [lm.Sphere]
    equal(found, dataclasses.replace(made, frames={**made.frames, "eye": (0, 0, 1)}))


def test_lumped_bodies(tmp_path):
    rng = np.random.default_rng(3)
    modes = rng.normal(size=(2, 6, 2)).tolist()
    text = f"""
kind: lumped
nodes:
  one: {{position: [1, 0, 0], mass: 1 kg, com: [0, 0, 0.1], inertia: [1, 1, 1], modes: {modes[0]}}}
  two: {{position: [2, 0, 0], mass: 2 kg, modes: {modes[1]}}}
stiffness: [[100, 0], [0, 200]]
damping: [[1, 0], [0, 1]]
frames: {{eye: [0, 0, 1]}}
"""
    pieces = [
        lm.LumpedNode(modes[0], (1, 0, 0), 1.0, (0, 0, 0.1), (1, 1, 1), "one"),
        lm.LumpedNode(modes[1], (2, 0, 0), 2.0, name="two"),
    ]
    made = lg.FlexibleBody.from_nodes("body", pieces, np.diag([100.0, 200.0]), np.eye(2), {"eye": (0, 0, 1)})
    equal(body_of(tmp_path, text), made)


# ---- published systems

ROUND = "{{kind: integrals, A: {A}, Iy: {I}, Iz: {I}, J: $(2 * {I})}}"


def test_stiffening_of_the_softest_modes(tmp_path):
    text = """\
liegeo: 1
materials: {steel: {E: 210 GPa, nu: 0.3, rho: 7850}}
sections: {rod: {kind: circle, diameter: 20 mm}}
bodies:
  rod:
    {kind: beam, length: 1, material: steel, section: rod, elements: 4, modes: {root: 0, count: 6}, stiffening: LEVEL}
joints: {hinge: {kind: revolute, parent: world, child: rod}}
"""

    def second_order(level):
        body = load(tmp_path, text.replace("LEVEL", level)).tree.bodies[0]
        return np.flatnonzero(np.abs(body.C_t1).max(axis=(0, 1)))

    assert len(second_order("false")) == 0
    assert list(second_order("3")) == [0, 1, 2]
    assert len(second_order("true")) > 3
    for level, said in (
        ("0", "is 0, expected true, false, or a number of modes"),
        ("99", "stiffening is 99, expected"),
    ):
        with pytest.raises(ModelFileError, match=said):
            second_order(level)


def pieces(name, beam, n, elements=4, count=0, stiffening="false", root=0, held="rx, ry, z", free="rz, x, y"):
    """What published.pieces makes."""
    return f"""
  {name}:
    kind: beam
    length: {beam.length!r}
    material: {name}
    section: {name}
    elements: {elements}
    rotary: false
    pieces: {n}
    modes:
      interfaces: {{0: [{free}], {elements}: [{free}]}}
      fixed: {{"*": [{held}]}}
      root: {root}
      count: {count}
    nodes: [0, {elements // 2}, {elements}]
    stiffening: {stiffening}
"""


def head(gravity, **beams):
    text = f"liegeo: 1\ngravity: {gravity}\nmaterials:\n"
    text += "".join(f"  {n}: {{E: {b.E!r}, rho: {b.rho!r}, nu: {b.nu!r}}}\n" for n, b in beams.items()) + "sections:\n"
    for name, beam in beams.items():
        text += f"  {name}: {ROUND.format(A=repr(float(beam.A)), I=repr(float(beam.section.Iy)))}\n"
    return text


def test_the_pendulum_of_fls13(tmp_path):
    text = head([0, -9.81, 0], rod=published.PENDULUM) + "bodies:" + pieces("rod", published.PENDULUM, 4)
    text += "joints:\n  hinge: {kind: revolute, parent: world, child: rod_1, child_at: 0}\n"
    assert same(load(tmp_path, text).compile(), published.pendulum())


def test_the_slider_crank_of_fls13(tmp_path):
    E_rod, E_crank, rho = published.READINGS["printed"]
    A = np.pi * 0.005**2
    crank, rod = published.Beam(0.152, A, E_crank, rho), published.Beam(0.304, A, E_rod, rho)
    options = {"count": 1, "stiffening": "true"}
    text = head([0, 0, 0], crank=crank, rod=rod) + "bodies:"
    text += pieces("crank", crank, 6, **options) + pieces("rod", rod, 4, **options)
    text += """
joints:
  hinge: {kind: revolute, parent: world, child: crank_1, child_at: 0}
  pin: {kind: revolute, parent: crank_6, child: rod_1, at: 4, child_at: 0}
loops:
  slider: {kind: point_on_plane, a: world, b: rod_4.4, normal: [0, 1, 0]}
experiment:
  end: 1.6 s
  inputs: {hinge: {pieces: [{until: 0.7 s, value: $(0.01 * (1 - exp(-t / 0.167)))}, {value: 0}]}}
"""
    mechanism = load(tmp_path, text)
    assert same(mechanism.compile(), published.slider_crank("printed", **published.SLIDER_CRANKS["printed"][0]))
    torque = mechanism.experiment.inputs["hinge"]
    for t in (0.0, 0.1, 0.69):
        assert torque(t) == pytest.approx(published.torque(t), rel=1e-14, abs=1e-18)
    assert torque(0.71) == 0.0


def test_the_spin_up_of_fls13(tmp_path):
    text = head([0, 0, 0], beam=published.SPINNING) + "parameters: {omega: 2, T: 15}\nbodies:"
    text += pieces("beam", published.SPINNING, 1, stiffening="true", held="rx", free="ry, rz, x, y, z")
    text += """
joints:
  hub: {kind: revolute, parent: world, child: beam_1, child_at: 0, axis: [0, 1, 0], armature: 100 kg*m^2}
loops:
  drive:
    kind: motion
    joint: hub
    law:
      pieces:
        - {until: $(T), value: $(omega / T * (t^2 / 2 + (T / (2 * pi))^2 * (cos(2 * pi * t / T) - 1)))}
        - {value: $(omega * (t - T / 2))}
"""
    mechanism = load(tmp_path, text)
    assert same(mechanism.compile(), published.spinning_beam(2.0, how="stiffening"))
    (drive,) = mechanism.tree.loops
    for t in (0.0, 0.3, 7.0, 14.9, 15.0, 20.0):
        # the law is a difference of numbers that are nearly equal at first
        np.testing.assert_allclose(drive.law(t), published.spin_up(t, 2.0), rtol=1e-12, atol=1e-14)
    run = mechanism.simulate(t_end=0.2, output=0.1)
    assert run["hub.angle"][-1] == pytest.approx(published.spin_up(0.2, 2.0)[0], abs=1e-9)


def test_the_ring(tmp_path):
    text = head([0, 0, 0], arc=published.RING) + "parameters: {turn: 45 deg}\nbodies:\n"
    text += "  arc_1: &arc\n    kind: frame\n    material: arc\n    points:\n"
    for j, phi in enumerate(np.linspace(0.0, np.pi / 4, 5)):
        text += f"      {j}: {[float(np.sin(phi)), float(1 - np.cos(phi)), 0.0]}\n"
    text += "    beams:\n"
    text += "".join(f"      {j}-{j + 1}: {{from: {j}, to: {j + 1}, section: arc}}\n" for j in range(4))
    text += "    modes: {interfaces: [0, 4], root: 0, count: 0}\n    nodes: [1, 2, 3, 4]\n"
    text += "".join(f"  arc_{k}: *arc\n" for k in range(2, 9))
    text += "joints:\n  base: {kind: free, parent: world, child: arc_1, at: [0, -1, 0]}\n"
    seat = "at: 4, child_at: {rotation: {axis: [0, 0, 1], angle: $(-turn)}}"
    for k in range(1, 8):
        text += f"  arc_{k}-arc_{k + 1}: {{kind: fixed, parent: arc_{k}, child: arc_{k + 1}, {seat}}}\n"
    text += f"loops:\n  arc_8-arc_1: {{kind: fixed, parent: arc_8, child: arc_1, {seat}}}\n"
    found, expected = load(tmp_path, text).compile(), published.ring()
    # a rotation by an angle is the exponential here, cosines there
    np.testing.assert_allclose(
        published.ring_frequencies(found)[6:], published.ring_frequencies(expected)[6:], rtol=1e-6
    )


SYSTEMS = {
    "four_bar": lambda: published.four_bar()[0],
    "ring": published.ring,
    "andrews": lambda: mechanisms.andrews()[1],
    "ladder": lambda: mechanisms.ladder(3)[0],
    "bricard": lambda: mechanisms.bricard()[0],
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_systems_built_in_python_come_back(tmp_path, name):
    again(tmp_path, SYSTEMS[name]().tree)


def test_an_assembled_start(tmp_path):
    model, expected = published.four_bar(flexible=False)
    given = Mechanism(tree=model.tree, initial=Initial(q={"A": 1.4, "B": -1.0, "D": published.START}, keep=["D"]))
    state = lg.load(lg.save(given, tmp_path / "four_bar.yaml")).state()
    assert state.q.tobytes() == expected.q.tobytes()
