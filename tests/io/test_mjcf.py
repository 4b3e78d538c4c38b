"""MJCF files against MuJoCo itself, which has another M, another bias and other speeds of free joints.

MuJoCo's free joint has the velocity of the body's origin in the world's axes, then the angular velocity in the body's;
ours has the body-fixed twist (w, v).  With R the rotation of the body and T = [0 R; I 0],

    v_theirs = T v_ours,   a_theirs = T a_ours + (R (w×v), 0),   τ_ours = Tᵀ τ_theirs,   M_ours = Tᵀ M_theirs T.   (1)
"""

from __future__ import annotations

import sys
import sysconfig
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import liegeo as lg
from liegeo import dynamics
from liegeo import model as lm
from liegeo.errors import InputError, ModelError
from liegeo.io import foreign
from liegeo.io.mjcf import read_mjcf
from liegeo.io.urdf import read_urdf
from liegeo.lie import SO3, SO3Q

mujoco = pytest.importorskip("mujoco")

TOLERANCE = 1e-9

# Several joints on a body with anchors and references, springs, armature, a servo, inertias that are turned.
MIXED = """
<mujoco model="mixed">
  <compiler angle="degree" eulerseq="xyz"/>
  <option gravity="0.3 -1 -9.81"><flag contact="disable"/></option>
  <default><joint armature="0.01" damping="0.1"/></default>
  <worldbody>
    <body name="cart" pos="0 0 0.5" euler="10 20 30">
      <joint name="x" type="slide" axis="1 0 0.2" ref="0.3" stiffness="4" springref="0.1"/>
      <joint name="yaw" type="hinge" axis="0 0 1" pos="0.1 0.2 0" ref="25"/>
      <joint name="roll" type="hinge" axis="1 0 0" pos="0 -0.1 0.1" stiffness="2" springref="40"/>
      <geom type="box" size="0.2 0.1 0.05" density="800" rgba="1 0 0 1"/>
      <site name="top" pos="0 0 0.05" euler="0 0 90"/>
      <body name="arm" pos="0.3 0 0" quat="0.9 0.1 0.2 -0.3">
        <joint name="out" type="slide" axis="0 1 1" stiffness="3"/>
        <joint name="ball" type="ball" pos="-0.1 0 0" stiffness="1.5"/>
        <geom type="capsule" fromto="0 0 0 0.4 0.1 0" size="0.03"/>
        <body name="tool" pos="0.4 0.1 0">
          <joint name="twist" type="hinge" axis="0 1 1"/>
          <inertial pos="0.02 0.01 0" mass="0.4" fullinertia="0.002 0.003 0.004 0.0003 -0.0002 0.0001"/>
          <geom type="sphere" size="0.04" mass="0" group="3"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="push" joint="x" gear="3" ctrllimited="true" ctrlrange="-2 2"/>
    <position name="servo" joint="roll" kp="7" kv="0.4" gear="2"/>
    <general name="strong" joint="twist" gainprm="5" gear="-2" forcelimited="true" forcerange="-4 4"/>
  </actuator>
</mujoco>
"""

# Floating bodies, one with a branch on it, beside one that stands still.
FLOATING = """
<mujoco model="floating">
  <option><flag contact="disable"/></option>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="post" pos="1 1 0"><geom type="cylinder" size="0.1 0.5"/></body>
    <body name="hull" pos="0 0 1" quat="0.8 0.2 -0.4 0.4">
      <freejoint name="hull"/>
      <geom type="ellipsoid" size="0.3 0.2 0.1" pos="0.05 0 0"/>
      <body name="leg" pos="0.2 0.1 0">
        <joint name="hip" axis="1 0 0" damping="0.05"/>
        <geom type="capsule" size="0.03 0.1" pos="0 0 -0.1"/>
        <body name="shank" pos="0 0 -0.2">
          <joint name="knee" axis="0 1 0" armature="0.02"/>
          <geom type="capsule" size="0.02 0.1" pos="0 0 -0.1"/>
        </body>
      </body>
    </body>
    <body name="stone" pos="2 0 0.5">
      <joint name="fly" type="free" damping="0.3"/>
      <geom type="box" size="0.1 0.2 0.3"/>
    </body>
  </worldbody>
</mujoco>
"""

# A four-bar linkage closed by <connect>, a plate that is welded to it, and a joint that follows another.
CLOSED = """
<mujoco model="closed">
  <option><flag contact="disable"/></option>
  <worldbody>
    <body name="crank" pos="0 0 0">
      <joint name="a" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.02"/>
      <body name="rod" pos="0 0 0.3">
        <joint name="b" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0.6 0 0.1" size="0.02"/>
        <body name="rocker" pos="0.6 0 0.1">
          <joint name="c" axis="0 1 0"/>
          <geom type="capsule" fromto="0 0 0 0.1 0 -0.4" size="0.02"/>
        </body>
      </body>
    </body>
    <body name="plate" pos="0 0.2 0.3" euler="0 0 30">
      <freejoint/>
      <geom type="box" size="0.1 0.1 0.01"/>
    </body>
    <body name="leader" pos="0 1 0"><joint name="lead" axis="1 0 0" ref="20"/><geom size="0.1" pos="0 0 0.2"/></body>
    <body name="follower" pos="0 2 0">
      <joint name="follow" axis="0 1 0" ref="-10"/>
      <geom size="0.1" pos="0.1 0 0.2"/>
    </body>
    <body name="held" pos="0 3 0"><joint name="hold" axis="0 1 0"/><geom size="0.1" pos="0.1 0 0.2"/></body>
  </worldbody>
  <equality>
    <connect name="pin" body1="rocker" anchor="0.1 0 -0.4"/>
    <weld name="bolt" body1="rod" body2="plate" anchor="0.05 0.02 0"/>
    <joint name="gear" joint1="follow" joint2="lead" polycoef="0.1 -2 0 0 0"/>
    <joint name="stop" joint1="hold" polycoef="0.2 0 0 0 0"/>
    <connect name="idle" body1="held" anchor="0 0 0" active="false"/>
  </equality>
</mujoco>
"""


def write(folder, text, name="model.xml"):
    path = folder / name
    path.write_text(text)
    return path


def quietly(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return read_mjcf(path, **{"limits": False} | options)


class Pair:
    """A model in one state, on both sides, with the maps of (1) between them."""

    def __init__(self, path, q=None, v=None) -> None:
        self.theirs = mujoco.MjModel.from_xml_path(str(path))
        self.data = mujoco.MjData(self.theirs)
        self.tree = quietly(path)
        self.ours = self.tree.compile()
        if q is None:
            rng = np.random.default_rng(0)
            q = self.ours.group.retract(self.ours.group.identity(), rng.uniform(-1, 1, self.ours.nv))
            v = rng.normal(size=self.ours.nv)
        self.state = self.ours.state(q, v)
        poses = dynamics.body_poses(self.ours, self.state)
        n = self.ours.nv
        self.T, self.shift = np.zeros((n, n)), np.zeros(n)
        joints = [joint for joint in self.tree.joints if not isinstance(joint, lm.Fixed)]
        for i in range(self.theirs.njnt):
            # Joints keep their order, whatever they are called.
            joint = joints[i]
            q_here, v_here = self.ours.group.q[joint.name], self.ours.group.v[joint.name]
            to_q, to_v = self.theirs.jnt_qposadr[i], self.theirs.jnt_dofadr[i]
            if isinstance(joint, lm.Free):
                X = poses[joint.child]
                w, u = np.split(self.state.v[v_here], 2)
                self.data.qpos[to_q : to_q + 3] = X[:3, 3]
                mujoco.mju_mat2Quat(self.data.qpos[to_q + 3 : to_q + 7], X[:3, :3].ravel())
                self.T[to_v : to_v + 3, v_here.start + 3 : v_here.stop] = X[:3, :3]
                self.T[to_v + 3 : to_v + 6, v_here.start : v_here.start + 3] = np.eye(3)
                self.shift[to_v : to_v + 3] = X[:3, :3] @ np.cross(w, u)
            else:
                size = q_here.stop - q_here.start
                self.data.qpos[to_q : to_q + size] = self.state.q[q_here]
                self.T[to_v : to_v + v_here.stop - v_here.start, v_here] = np.eye(v_here.stop - v_here.start)
        self.data.qvel[:] = self.T @ self.state.v

    def mass_matrix(self):
        M = np.empty((self.ours.nv, self.ours.nv))
        for row, unit in zip(M, np.eye(self.ours.nv), strict=True):
            mujoco.mj_mulM(self.theirs, self.data, row, unit)
        return M


def close(a, b):
    return np.linalg.norm(a - b) <= TOLERANCE * np.linalg.norm(b)


@pytest.fixture(params=[MIXED, FLOATING], ids=["mixed", "floating"])
def pair(request, tmp_path):
    return Pair(write(tmp_path, request.param))


def test_accelerations(pair):
    tau = np.random.default_rng(1).normal(size=pair.ours.nv)
    pair.data.qfrc_applied[:] = np.linalg.solve(pair.T.T, tau)
    controls = np.random.default_rng(2).uniform(-3.0, 3.0, pair.theirs.nu)
    pair.data.ctrl[:] = controls
    mujoco.mj_forward(pair.theirs, pair.data)
    inputs = {pair.theirs.actuator(i).name: u for i, u in enumerate(controls)}
    ours = dynamics.forward_dynamics(pair.ours, pair.state, tau, inputs)
    assert pair.ours.nv == pair.theirs.nv == np.linalg.matrix_rank(pair.T)
    assert close(pair.T @ ours + pair.shift, pair.data.qacc)


def test_mass_matrix(pair):
    mujoco.mj_forward(pair.theirs, pair.data)
    assert close(dynamics.mass_matrix(pair.ours, pair.state), pair.T.T @ pair.mass_matrix() @ pair.T)


def test_poses_of_bodies_and_sites(pair):
    mujoco.mj_forward(pair.theirs, pair.data)
    for i in range(1, pair.theirs.nbody):
        X = dynamics.frame_pose(pair.ours, pair.state, pair.theirs.body(i).name)
        assert X[:3, 3] == pytest.approx(pair.data.xpos[i], abs=1e-12)
        assert X[:3, :3].ravel() == pytest.approx(pair.data.xmat[i], abs=1e-12)
    for i in range(pair.theirs.nsite):
        site = pair.theirs.site(i)
        owner = pair.theirs.body(site.bodyid[0]).name
        X = dynamics.frame_pose(pair.ours, pair.state, f"{owner}.{site.name}")
        assert X[:3, 3] == pytest.approx(pair.data.site_xpos[i], abs=1e-12)
        assert X[:3, :3].ravel() == pytest.approx(pair.data.site_xmat[i], abs=1e-12)


def test_energy(pair):
    pair.theirs.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    mujoco.mj_forward(pair.theirs, pair.data)
    assert dynamics.balance(pair.ours, pair.state).kinetic == pytest.approx(pair.data.energy[1], rel=1e-10)


@pytest.mark.parametrize(
    "file",
    [
        "panda_description/urdf/panda.urdf",
        "talos_data/robots/talos_left_arm.urdf",
        "baxter_description/urdf/baxter.urdf",
    ],
)
def test_two_ways_to_one_robot(file, tmp_path):
    """MuJoCo reads URDF too, with damping and friction, newer versions with followers: both give the same motion."""
    pytest.importorskip("yourdfpy")
    source = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots" / file
    if not source.is_file():
        pytest.skip("example-robot-data is not installed: it has no wheels for Windows")
    urdf = ET.parse(source).getroot()
    for parent in urdf.iter():
        for child in list(parent):
            if child.tag in ("visual", "collision"):
                parent.remove(child)
    options = {"discardvisual": "true", "fusestatic": "false", "balanceinertia": "false"}
    ET.SubElement(ET.SubElement(urdf, "mujoco"), "compiler", options)
    path = write(tmp_path, ET.tostring(urdf, encoding="unicode"), "robot.urdf")
    a = quietly(path).compile()
    b = read_urdf(path, meshes=False, mimic=bool(a.rows), limits=False).compile()
    assert set(a.group.v) == set(b.group.v)
    assert len(a.rows) == len(b.rows)
    rng = np.random.default_rng(5)
    q, v, tau = ({name: rng.uniform(-1, 1) for name in b.group.v} for _ in range(3))
    for loop in b.tree.loops:
        (follower, _), (leader, factor) = loop.terms.items()
        q[follower], v[follower] = loop.offset - factor * q[leader], -factor * v[leader]
    results = [dynamics.forward_dynamics(m, m.state(q, v), tau) for m in (a, b)]
    first, second = ([x[m.group.v[name]].item() for name in b.group.v] for x, m in zip(results, (a, b), strict=True))
    # MuJoCo 3.3 finds the principal moments of light links to a few digits less.
    tolerance = TOLERANCE if int(mujoco.__version__.split(".")[0]) >= 4 else 1e-6
    assert np.linalg.norm(np.subtract(first, second)) <= tolerance * np.linalg.norm(second)


def test_equalities(tmp_path):
    """At rest M a = f + Jᵀλ, J a = 0, with MuJoCo's M, f and J; its own a is softer."""
    path = write(tmp_path, CLOSED)
    model = quietly(path).compile()
    lead = np.radians(35.0)
    follow = np.radians(-10.0) + 0.1 - 2.0 * (lead - np.radians(20.0))
    q = model.state({"lead": lead, "follow": follow, "hold": 0.2}).q
    pair = Pair(path, q, np.zeros(model.nv))
    residuals = dynamics.constraint_values(pair.ours, pair.state).residual
    assert len(residuals) == 3 + 6 + 1 + 1
    assert residuals == pytest.approx(np.zeros(11), abs=1e-12)
    pair.theirs.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    mujoco.mj_forward(pair.theirs, pair.data)
    n = pair.theirs.nv
    J = pair.data.efc_J.reshape(-1, n)
    assert np.abs(pair.data.efc_pos).max() < 1e-12
    f = pair.data.qfrc_passive - pair.data.qfrc_bias
    # The pin's row across the plane of the linkage, and what the loops have in common, are redundant.
    M = pair.mass_matrix()
    half = np.linalg.cholesky(np.linalg.inv(M))
    a = np.linalg.solve(M, f)
    a = a - half @ np.linalg.pinv(J @ half, rcond=1e-10) @ (J @ a)
    assert close(pair.T @ dynamics.forward_dynamics(pair.ours, pair.state), a)


def test_loops_are_what_they_are_called(tmp_path):
    tree = quietly(write(tmp_path, CLOSED))
    by_name = {loop.name: loop for loop in tree.loops}
    assert {name: type(loop) for name, loop in by_name.items()} == {
        "pin": lm.Spherical,
        "bolt": lm.Fixed,
        "gear": lm.Coupling,
        "stop": lm.Coupling,
    }
    assert by_name["gear"].terms == {"follow": 1.0, "lead": 2.0}
    assert by_name["gear"].offset == pytest.approx(np.radians(-10.0) + 0.1 + 2.0 * np.radians(20.0))
    assert (by_name["stop"].terms, by_name["stop"].offset) == ({"hold": 1.0}, pytest.approx(0.2))
    assert (by_name["pin"].parent, by_name["pin"].child) == ("world", "rocker")


def test_equalities_between_sites(tmp_path):
    bodies = "".join(
        f"<body name='{n}' pos='{i} 0 0'><joint name='{n}_hinge' axis='0 1 0'/><geom size='0.1' pos='0.2 0 0'/>"
        f"<site name='{n}_site' pos='{0.5 - i} 0 0' euler='0 0 {40 * i}'/></body>"
        for i, n in enumerate("ab")
    )
    text = f"<mujoco><worldbody>{bodies}</worldbody><equality>{{}}</equality></mujoco>"
    placed = np.eye(4)
    placed[:3, :3] = SO3.exp([0.0, 0.0, np.radians(40.0)])
    placed[0, 3] = -0.5
    for kind, expected in (("connect", lm.Spherical), ("weld", lm.Fixed)):
        tree = quietly(write(tmp_path, text.format(f"<{kind} name='e' site1='a_site' site2='b_site'/>")))
        (loop,) = tree.loops
        assert type(loop) is expected
        assert loop.at[:3, 3] == pytest.approx([0.5, 0, 0])
        assert loop.child_at == pytest.approx(placed)


def test_actuators_and_what_they_add(tmp_path):
    tree = quietly(write(tmp_path, MIXED))
    motors = {force.name: (force.joint, force.gear, force.limit) for force in tree.forces}
    assert motors == {"push": ("x", 3.0, 2.0), "servo": ("roll", 14.0, np.inf), "strong": ("twist", -10.0, 0.8)}
    roll = next(joint for joint in tree.joints if joint.name == "roll")
    assert roll.stiffness == pytest.approx(2.0 + 4 * 7.0)
    assert roll.rest == pytest.approx(2.0 * np.radians(40.0) / 30.0)
    assert roll.damping == pytest.approx(0.1 + 4 * 0.4)


def test_rotors_and_dampers_of_actuators(tmp_path):
    """Only newer versions have them: M and the passive force tell whether this one does."""
    text = MIXED.replace('gear="3" ctrl', 'gear="3" armature="0.2" damping="0.1" ctrl')
    try:
        mujoco.MjModel.from_xml_string(text)
    except ValueError:
        pytest.skip("this version of MuJoCo has no rotors of actuators")
    pair = Pair(write(tmp_path, text))
    test_mass_matrix(pair)
    test_accelerations(pair)


def test_friction_is_ours(tmp_path):
    text = MIXED.replace('name="yaw"', 'name="yaw" frictionloss="0.7"')
    tree = quietly(write(tmp_path, text), friction_speed=0.02)
    yaw = next(joint for joint in tree.joints if joint.name == "yaw")
    assert (yaw.friction, yaw.friction_speed) == (0.7, 0.02)


def test_shapes(tmp_path):
    tetrahedron = "0 0 0 1 0 0 0 1 0 0 0 1"
    text = (
        f"<mujoco><asset><mesh name='m' vertex='{tetrahedron}'/></asset><worldbody><body name='b'><freejoint/>"
        "<geom type='box' size='1 2 3' rgba='0 1 0 0.5'/><geom type='sphere' size='0.5'/>"
        "<geom type='capsule' size='0.1 0.4'/><geom type='mesh' mesh='m'/><geom type='sphere' size='1' group='3'/>"
        "</body></worldbody></mujoco>"
    )
    (body,) = quietly(write(tmp_path, text)).bodies
    kinds = [type(shape) for shape in body.shapes]
    assert kinds == [lm.Box, lm.Sphere, lm.Cylinder, lm.Sphere, lm.Sphere, lm.Mesh]
    assert (list(body.shapes[0].size), body.shapes[0].color) == ([2.0, 4.0, 6.0], "#00ff0080")
    assert [shape.at[2, 3] for shape in body.shapes[3:5]] == [-0.4, 0.4]
    mesh = body.shapes[-1]
    corners = mesh.vertices @ mesh.at[:3, :3].T + mesh.at[:3, 3]
    expected = np.reshape([float(x) for x in tetrahedron.split()], (4, 3))
    # MuJoCo keeps vertices in single precision.
    assert np.array(sorted(corners.round(5).tolist())) == pytest.approx(np.array(sorted(expected.tolist())), abs=1e-5)


def test_a_pendulum_rests_at_its_stop_where_mujoco_has_it(tmp_path):
    text = """<mujoco><option timestep="1e-4"/><worldbody><body name="arm"><joint name="hinge" axis="0 1 0"
      limited="true" range="-30 20"/>
      <geom type="capsule" size="0.03" fromto="0 0 0 0.4 0 0"/></body></worldbody></mujoco>"""
    path = write(tmp_path, text)
    theirs = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(theirs)
    for _ in range(20_000):
        mujoco.mj_step(theirs, data)
    model = quietly(path, limits=True).compile()
    out = lg.simulate(model, t_end=2.0, progress=False)
    assert out["hinge.angle"][-1] == pytest.approx(np.radians(20.0), abs=0.02)
    assert out["hinge.angle"][-1] == pytest.approx(data.qpos[0], abs=0.02)
    assert out["hinge_stops.depth"][-1] == pytest.approx(out["hinge.angle"][-1] - np.radians(20.0), abs=1e-12)


def test_what_is_left_out_is_told_in_one_warning(tmp_path):
    text = """<mujoco model="rich"><option density="1.2"/><worldbody>
      <geom name="floor" type="plane" size="1 1 1"/>
      <body name="a" gravcomp="1"><joint name="a" type="ball" limited="true" range="0 1"/>
        <geom name="egg" type="ellipsoid" size="1 1 2"/><site name="s"/></body>
      <body name="b.1"><joint name="b"/><geom size="0.1" pos="1 0 0"/><site name="t"/></body></worldbody>
      <tendon><spatial name="rope"><site site="s"/><site site="t"/></spatial></tendon>
      <actuator><motor name="pull" tendon="rope"/><motor name="idle" joint="b" gear="0"/>
        <motor name="one_way" joint="b" ctrllimited="true" ctrlrange="0 1"/>
        <position name="soft" joint="b" kp="2" forcelimited="true" forcerange="-3 3"/></actuator></mujoco>"""
    with pytest.warns(UserWarning, match=r"model 'rich' \(model\.xml\): not everything was taken over") as caught:
        tree = read_mjcf(write(tmp_path, text))
    (message,) = [str(w.message) for w in caught]
    for part in (
        "contacts: 3 geoms pass through each other",
        "tendon rope.",
        "gravity compensation of body a.",
        "the fluid of density 1.2",
        "shapes: geom 'egg' (ellipsoid).",
        "neither motors nor servos on hinges or slides: actuator 'pull', actuator 'idle' (gear 0, gain 1).",
        "bound the force of a servo: ctrlrange 0 to 1 of actuator 'one_way', forcerange -3 to 3 of actuator 'soft'.",
        "body 'b.1' is 'b_1'",
        "joint 'a' is 'a_joint'",
    ):
        assert part in message
    assert [force.name for force in tree.forces] == ["one_way", "soft", "a_joint_stops"]


def in_body(*inside, outside=""):
    return f"<mujoco><worldbody><body name='a'>{''.join(inside)}<geom size='0.1'/></body></worldbody>{outside}</mujoco>"


POLY = "<equality><joint name='e' joint1='j' joint2='k' polycoef='0 1 2 0 0'/></equality>"
BAD = {
    "not mjcf": ("<robot", r"model\.xml: MuJoCo does not compile it: "),
    "wrong": (in_body("<joint type='wheel'/>"), r"MuJoCo does not compile it: .*wheel"),
    "no bodies": ("<mujoco><worldbody/></mujoco>", r"model\.xml: has no bodies beside the world"),
    "free spring": (in_body("<joint name='f' type='free' stiffness='3'/>"), r"joint 'f' is free and has stiffness 3"),
    "free rotor": (in_body("<joint name='f' type='free' armature='2'/>"), r"joint 'f' is free and has armature 2"),
    "free friction": (in_body("<joint type='free' frictionloss='2'/>"), r"joint 0 is free and has frictionloss 2"),
    "cloth": (
        "<mujoco><worldbody><flexcomp name='f' type='grid' count='3 3 1' spacing='.1 .1 .1' dim='2' mass='1'/>"
        "</worldbody></mujoco>",
        r"has 1 elements <flex>, which a rigid tree cannot have",
    ),
    "mocap": (
        "<mujoco><worldbody><body name='a' mocap='true'><geom size='1'/></body></worldbody></mujoco>",
        r"body 'a': moved from outside \(mocap\)",
    ),
    "polynomial": (
        in_body("<joint name='j'/><joint name='k' axis='1 0 0'/>", outside=POLY),
        r"equality 'e' has polycoef 0 1 2 0 0, expected a linear relation",
    ),
    "tendons": (
        in_body(
            "<joint name='j'/>",
            outside="<tendon><fixed name='t'><joint joint='j' coef='1'/></fixed></tendon>"
            "<equality><tendon name='e' tendon1='t'/></equality>",
        ),
        r"equality 'e' is of type tendon, expected connect, weld or joint",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_refused(case, tmp_path):
    text, message = BAD[case]
    with pytest.raises(ModelError, match=message):
        quietly(write(tmp_path, text))


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("stiffness='1 2 3'", "joint 'j' has stiffness with more than one coefficient"),
        ("damping='1 2'", "joint 'j' has damping with more than one coefficient"),
        ("stiffness='3' springyield='0.1'", "joint 'j' has a spring that yields"),
    ],
)
def test_nonlinear_springs_are_refused(attribute, message, tmp_path):
    """Only newer versions have them."""
    text = in_body(f"<joint name='j' {attribute}/>")
    try:
        mujoco.MjModel.from_xml_string(text)
    except ValueError:
        pytest.skip("this version of MuJoCo has only linear springs and dampers")
    with pytest.raises(ModelError, match=message):
        quietly(write(tmp_path, text))


def test_all_refusals_together(tmp_path):
    with pytest.raises(ModelError) as caught:
        quietly(write(tmp_path, in_body("<joint name='f' type='free' stiffness='3' armature='2'/>")))
    assert str(caught.value).count("model.xml: joint 'f' is free and has") == 2


def test_files_that_are_not_there_or_too_long(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"none\.xml': cannot be read .*, expected an MJCF file"):
        read_mjcf(tmp_path / "none.xml")
    monkeypatch.setattr(foreign, "MAX_BYTES", 10)
    with pytest.raises(ModelError, match=r"expected at most 0 MiB for an MJCF"):
        read_mjcf(write(tmp_path, MIXED))


def test_without_mujoco_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(InputError, match=r"the package 'mujoco' is missing\.\n  Install it with .*liegeo\[mjcf\]"):
        read_mjcf(write(tmp_path, MIXED))


def test_a_free_joint_starts_where_the_file_puts_its_body(tmp_path):
    model = quietly(write(tmp_path, FLOATING)).compile()
    X = dynamics.frame_pose(model, model.state(), "hull")
    assert X[:3, 3].tolist() == [0.0, 0.0, 1.0]
    assert X[:3, :3] == pytest.approx(SO3Q.matrix(np.array([0.8, 0.2, -0.4, 0.4])), abs=1e-12)
