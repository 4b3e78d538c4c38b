"""URDF files: thirty robots against Pinocchio, every type of joint, flexible links, and files that are wrong."""

from __future__ import annotations

import dataclasses
import sysconfig
import warnings
from pathlib import Path

import numpy as np
import pytest

import liegeo as lg
from liegeo import dynamics, flex
from liegeo import model as lm
from liegeo.errors import InputError, ModelError
from liegeo.io import foreign, urdf
from liegeo.io.urdf import FlexibleLink, JointLimits, joint_limits, read_urdf
from liegeo.lie import SE3, SO3

pytest.importorskip("yourdfpy")

HERE = Path(__file__).parent / "data_urdf"
ROBOTS = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots"
TOLERANCE = 1e-10

FILES = (
    "a1_description/urdf/a1.urdf",
    "alex_description/urdf/alex_sake_hands.urdf",
    "allegro_hand_description/urdf/allegro_right_hand.urdf",
    "anymal_b_simple_description/robots/anymal-kinova.urdf",
    "anymal_c_simple_description/urdf/anymal.urdf",
    "asr_twodof_description/urdf/TwoDofs.urdf",
    "b1_description/urdf/b1-z1.urdf",
    "baxter_description/urdf/baxter.urdf",
    "bolt_description/robots/bolt.urdf",
    "centauro_description/urdf/centauro.urdf",
    "double_pendulum_description/urdf/double_pendulum_continuous.urdf",
    "finger_edu_description/robots/finger_edu.urdf",
    "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf",
    "go2_description/urdf/go2.urdf",
    "hextilt_description/urdf/hextilt_flying_arm_5.urdf",
    "human_description/robots/human.urdf",
    "hyq_description/robots/hyq_no_sensors.urdf",
    "icub_description/robots/icub.urdf",
    "iris_description/robots/iris.urdf",
    "kinova_description/robots/kinova.urdf",
    "laikago_description/urdf/laikago.urdf",
    "panda_description/urdf/panda.urdf",
    "pr2_description/urdf/pr2.urdf",
    "simple_humanoid_description/urdf/simple_humanoid.urdf",
    "so_arm_description/urdf/so100.urdf",
    "solo_description/robots/solo12.urdf",
    "talos_data/robots/talos_full_v2.urdf",
    "tiago_description/robots/tiago_dual.urdf",
    "tiago_pro_description/robots/tiago_pro.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "xarm_description/urdf/xarm7.urdf",
    "z1_description/urdf/z1.urdf",
)


def quietly(path, **options):
    """Without the warnings about names, and the stops of joints, which other tests look at."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return read_urdf(path, meshes=False, **{"limits": False} | options)


# ---- against Pinocchio


class Pair:
    """A robot in one random state, read by both, with the maps between their vectors, joint by joint and by name."""

    def __init__(self, path: Path, base: str, mimic: bool = False) -> None:
        pin = pytest.importorskip("pinocchio", reason="it has no wheels for Windows")
        flyer = (pin.JointModelFreeFlyer(),) if base == "free" else ()
        self.pin = pin
        self.theirs = theirs = pin.buildModelFromUrdf(str(path), *flyer, mimic=mimic)
        self.tree = quietly(path, base=base, mimic=mimic)
        self.ours = self.tree.compile()
        rng = np.random.default_rng(0)
        self.q = pin.integrate(theirs, pin.neutral(theirs), rng.uniform(-1.0, 1.0, theirs.nv))
        self.v, self.tau, self.a = rng.normal(size=(3, theirs.nv))
        # ours = T @ theirs
        self.T = np.zeros((self.ours.nv, theirs.nv))
        q = self.ours.group.identity() if self.ours.group else np.zeros(0)
        for i in range(1, theirs.njoints):
            name, joint = self._joint(theirs.names[i]), theirs.joints[i]
            if joint.nv == 0:
                continue
            x, k = self.q[joint.idx_q : joint.idx_q + joint.nq], joint.idx_v
            place, v = self.ours.group.q[name], self.ours.group.v[name]
            kind = joint.shortname()
            if kind == "JointModelFreeFlyer":
                q[place] = [x[6], *x[3:6], *x[:3]]
                self.T[v, k : k + 6] = np.roll(np.eye(6), 3, axis=0)
            elif kind == "JointModelPlanar":
                q[place] = [np.arctan2(x[3], x[2]), *x[:2]]
                self.T[v, k : k + 3] = np.roll(np.eye(3), 1, axis=0)
            else:
                q[place] = np.arctan2(x[1], x[0]) if joint.nq == 2 else x
                self.T[v, k] = 1.0
        for _ in self.tree.loops:
            # a chain of followers is at most as long as there are followers
            for loop in self.tree.loops:
                (follower, _), *leaders = loop.terms.items()
                q[self.ours.group.q[follower]] = loop.offset - sum(f * q[self.ours.group.q[n]] for n, f in leaders)
                row = self.ours.group.v[follower]
                self.T[row] = -sum(f * self.T[self.ours.group.v[n]] for n, f in leaders)
        self.state = self.ours.state(q, self.T @ self.v)
        self.data = theirs.createData()
        # What the file's damping and friction do: Pinocchio reads them, and leaves them out.
        self.losses = theirs.damping * self.v + theirs.friction * np.tanh(self.v / 1e-3)

    def _joint(self, name: str) -> str:
        return next(n for n in (name, f"{name}_joint", name.replace(".", "_")) if n in self.ours.joints)

    def mass_matrix(self):
        upper = np.triu(self.pin.crba(self.theirs, self.data, self.q))
        return upper + np.triu(upper, 1).T + np.diag(self.theirs.armature)


def close(a, b):
    return np.linalg.norm(a - b) <= TOLERANCE * np.linalg.norm(b)


def all_robots():
    return [pytest.param((file, base), id=f"{Path(file).stem}-{base}") for file in FILES for base in ("fixed", "free")]


@pytest.fixture(scope="module", params=all_robots())
def pair(request):
    if not ROBOTS.is_dir():
        pytest.skip("example-robot-data is not installed: it has no wheels for Windows")
    file, base = request.param
    return Pair(ROBOTS / file, base)


def test_the_same_speeds(pair):
    assert pair.ours.nv == pair.theirs.nv
    assert pytest.approx(np.eye(pair.ours.nv)) == pair.T @ pair.T.T


def test_forward_dynamics(pair):
    a = pair.pin.aba(pair.theirs, pair.data, pair.q, pair.v, pair.tau - pair.losses)
    assert close(dynamics.forward_dynamics(pair.ours, pair.state, pair.T @ pair.tau), pair.T @ a)


def test_inverse_dynamics(pair):
    tau = pair.pin.rnea(pair.theirs, pair.data, pair.q, pair.v, pair.a) + pair.theirs.armature * pair.a
    ours = dynamics.inverse_dynamics(pair.ours, pair.state, pair.T @ pair.a)
    assert close(ours, pair.T @ (tau + pair.losses))


def test_mass_matrix(pair):
    assert close(dynamics.mass_matrix(pair.ours, pair.state), pair.T @ pair.mass_matrix() @ pair.T.T)


def test_frames(pair):
    """Every link of the file is where Pinocchio has it, as a body or as a frame on one."""
    pair.pin.framesForwardKinematics(pair.theirs, pair.data, pair.q)
    ours = {body.name: body.name for body in pair.tree.bodies}
    ours |= {name: f"{body.name}.{name}" for body in pair.tree.bodies for name in body.frames}
    links = [frame for frame in pair.theirs.frames if frame.type == pair.pin.FrameType.BODY]
    assert len(links) >= len(ours)
    for frame in links:
        name = frame.name.replace(".", "_")
        if name == "world":
            name = "world_link"
            if name not in ours:
                continue
        X = dynamics.frame_pose(pair.ours, pair.state, ours[name])
        expected = pair.data.oMf[pair.theirs.getFrameId(frame.name, pair.pin.FrameType.BODY)].homogeneous
        assert pytest.approx(expected, abs=1e-10) == X


# Not Talos: Pinocchio reads its joints in an order in which some follow one that is not there yet.
MIMICS = tuple(file for file in FILES if Path(file).stem in ("baxter", "panda", "pr2", "tiago_pro"))


@pytest.mark.parametrize("file", [*MIMICS, None], ids=lambda f: Path(f or "kinds.urdf").stem)
def test_mimic_joints(file):
    """Pinocchio eliminates joints that follow, ours are held.  Its aba knows no followers, so M a = τ − h."""
    if file and not ROBOTS.is_dir():
        pytest.skip("example-robot-data is not installed: it has no wheels for Windows")
    pair = Pair(ROBOTS / file if file else HERE / "kinds.urdf", "fixed", mimic=True)
    pin, followers = pair.pin, len(pair.tree.loops)
    assert followers > 0
    assert pair.ours.nv - pair.theirs.nv == followers
    assert dynamics.constraint_values(pair.ours, pair.state).residual == pytest.approx(np.zeros(followers), abs=1e-14)
    # What damping and friction do, on followers too: their speeds are ours.
    losses = np.zeros(pair.ours.nv)
    for joint in pair.tree.joints:
        if joint.name in (pair.ours.group.v if pair.ours.group else {}):
            v = pair.state.v[pair.ours.group.v[joint.name]]
            losses[pair.ours.group.v[joint.name]] = joint.damping * v + joint.friction * np.tanh(v / 1e-3)
    tau = np.random.default_rng(3).normal(size=pair.ours.nv)
    h = pin.rnea(pair.theirs, pair.data, pair.q, pair.v, np.zeros(pair.theirs.nv))
    expected = np.linalg.solve(pair.mass_matrix(), pair.T.T @ (tau - losses) - h)
    # Multipliers are found from the difference of large accelerations of light fingers.
    ours = dynamics.forward_dynamics(pair.ours, pair.state, tau)
    assert np.linalg.norm(ours - pair.T @ expected) <= 1e-9 * np.linalg.norm(expected)


# ---- every type of joint


@pytest.fixture
def kinds():
    return quietly(HERE / "kinds.urdf")


def test_every_type_of_joint(kinds):
    by_name = {joint.name: type(joint) for joint in kinds.joints}
    assert by_name == {
        "root_joint": lm.Fixed,
        "plane": lm.Planar,
        "arm_joint": lm.Revolute,
        "slider": lm.Prismatic,
        "spinner": lm.Revolute,
        "finger_joint": lm.Revolute,
        "tether": lm.Free,
    }
    arm = next(joint for joint in kinds.joints if joint.name == "arm_joint")
    assert (arm.damping, arm.friction) == (0.2, 0.1)
    (loop,) = kinds.loops
    assert (loop.terms, loop.offset) == ({"finger_joint": 1.0, "arm_joint": 0.5}, 0.25)
    assert kinds.compile().nv == 3 + 1 + 1 + 1 + 1 + 6


@pytest.mark.parametrize("base", ["fixed", "free"])
def test_planar_and_floating_joints_against_pinocchio(base):
    pair = Pair(HERE / "kinds.urdf", base)
    test_the_same_speeds(pair)
    test_forward_dynamics(pair)
    test_inverse_dynamics(pair)
    test_mass_matrix(pair)
    test_frames(pair)


@pytest.mark.parametrize("axis", [(0.0, 1.0, 0.0), (1.0, -2.0, 0.5), (0.0, 0.0, -1.0), (0.0, 0.0, 3.0)])
def test_a_planar_joint_moves_across_its_axis(axis, tmp_path):
    """Pinocchio takes z whatever the file says, so: displacements are perpendicular to the axis, rotations about it."""
    text = (HERE / "kinds.urdf").read_text()
    words = " ".join(map(str, axis))
    old = '<child link="plate"/><axis xyz="0 0 1"/>'
    assert old in text
    (tmp_path / "turned.urdf").write_text(text.replace(old, f'<child link="plate"/><axis xyz="{words}"/>'))
    model = quietly(tmp_path / "turned.urdf").compile()
    here, there = model.state(), model.state(q={"plane": (0.7, 0.3, -0.2)})
    X_0, X_1 = (dynamics.frame_pose(model, state, "plate") for state in (here, there))
    moved = SE3.inverse(X_0) @ X_1
    direction = np.asarray(axis) / np.linalg.norm(axis)
    assert SO3.log(moved[:3, :3]) == pytest.approx(0.7 * direction, abs=1e-14)
    assert direction @ moved[:3, 3] == pytest.approx(0.0, abs=1e-15)
    assert np.linalg.norm(moved[:3, 3]) == pytest.approx(np.hypot(0.3, 0.2), rel=1e-14)
    # q = 0 is the origin that the file gives, whatever the axis
    assert pytest.approx(dynamics.frame_pose(quietly(HERE / "kinds.urdf").compile(), here, "plate"), abs=1e-15) == X_0


def test_names_that_a_tree_cannot_have_are_changed_and_told():
    with pytest.warns(UserWarning, match=r"link 'tool\.0' is 'tool_0', joint 'arm' is 'arm_joint'\.") as caught:
        tree = read_urdf(HERE / "kinds.urdf")
    assert len(caught) == 1
    assert "tool_0" in next(body for body in tree.bodies if body.name == "arm").frames


def test_names_that_clash_twice_are_numbered():
    names = foreign.UniqueNames()
    assert [names.take("a", "joint") for _ in range(3)] == ["a", "a_joint", "a_joint_2"]
    assert names.take("world", "link") == "world_link"


def test_shapes_and_colours(kinds):
    by_name = {body.name: body for body in kinds.bodies}
    (box,) = by_name["base"].shapes
    assert (list(box.size), box.color) == ([0.4, 0.3, 0.2], "#ff0000")
    (cylinder,) = by_name["plate"].shapes
    assert (cylinder.radius, cylinder.length, cylinder.color) == (0.1, 0.3, "#0000ff80")
    assert cylinder.at == pytest.approx(SE3.exp([1.0, 0, 0, 0, 0, 0]) + np.eye(4)[:, 2:3] * [0, 0, 0, 0.1])
    (ball,) = by_name["arm"].shapes
    assert (ball.radius, ball.color) == (0.05, None)


def test_limits_become_stops():
    """Below the lower limit a joint is pushed back as MuJoCo's default would: J/T² times the depth, T = 0.02 s."""
    tree = quietly(HERE / "two_link.urdf", limits=True)
    stops = {force.name: force for force in tree.forces}
    limits = joint_limits(HERE / "two_link.urdf")
    assert set(stops) == {f"{name}_stops" for name, limit in limits.items() if limit.lower < limit.upper}
    model = tree.compile()
    free = quietly(HERE / "two_link.urdf").compile()
    M = lg.mass_matrix(free, free.state())
    for k, (name, limit) in enumerate(limits.items()):
        inertia = 1.0 / np.linalg.inv(M)[k, k]
        q = {name: limit.lower - 0.01}
        stopped, unstopped = (lg.inverse_dynamics(m, m.state(q=q), np.zeros(m.nv)) for m in (model, free))
        pushes = np.where(np.arange(model.nv) == k, 0.01 * inertia / 0.02**2, 0.0)
        # what a stop pushes, nobody else need
        assert np.allclose(unstopped - stopped, pushes, rtol=1e-9, atol=1e-9)


def test_limits_are_listed():
    assert joint_limits(HERE / "kinds.urdf") == {
        "spinner": JointLimits(velocity=9.0, effort=3.0),
        "arm_joint": JointLimits(-1.0, 2.0, 3.0, 20.0),
        "slider": JointLimits(0.0, 0.3, 1.0, 0.0),
        "finger_joint": JointLimits(-1.0, 1.0, 1.0, 1.0),
    }


def test_actuators():
    """One for each joint with one speed that follows no other; an effort of 0 means that nobody knew."""
    tree = quietly(HERE / "kinds.urdf", actuators=True)
    assert {f.name: (f.joint, f.limit) for f in tree.forces} == {
        "arm_joint_motor": ("arm_joint", 20.0),
        "slider_motor": ("slider", np.inf),
        "spinner_motor": ("spinner", 3.0),
    }
    model = tree.compile()
    a = dynamics.forward_dynamics(model, model.state(), inputs={"arm_joint_motor": 3.0})
    assert a == pytest.approx(dynamics.forward_dynamics(model, model.state(), tau={"arm_joint": 3.0}), rel=1e-14)
    free = quietly(HERE / "kinds.urdf", actuators=True, mimic=False)
    assert "finger_joint_motor" in {f.name for f in free.forces}


def test_fixed_joints_may_stay():
    """Merged or not, it is the same robot."""
    rng = np.random.default_rng(4)
    merged, kept = (quietly(HERE / "kinds.urdf", base="free", merge_fixed=m).compile() for m in (True, False))
    assert [name for name in kept.joints if name not in merged.joints] == ["mount"]
    q = {name: rng.normal() for name in ("arm_joint", "slider", "spinner")}
    v = rng.normal(size=merged.nv)
    a, b = (
        dynamics.forward_dynamics(m, m.state({**q, "finger_joint": 0.25 - 0.5 * q["arm_joint"]}, v))
        for m in (merged, kept)
    )
    assert a == pytest.approx(b, rel=1e-10)


def test_a_link_called_world_is_the_world(tmp_path):
    text = (HERE / "two_link.urdf").read_text().replace('"base"', '"world"')
    (tmp_path / "w.urdf").write_text(text)
    tree = read_urdf(tmp_path / "w.urdf")
    assert {body.name for body in tree.bodies} == {"upper", "lower"}
    assert tree.joints[0].parent == "world"
    floating = quietly(tmp_path / "w.urdf", base="free")
    assert {body.name for body in floating.bodies} == {"world_link", "upper", "lower"}


def test_links_without_mass_at_the_end_are_told():
    if not ROBOTS.is_dir():
        pytest.skip("example-robot-data is not installed: it has no wheels for Windows")
    with pytest.warns(UserWarning, match=r"joints LHand, LFinger12, .* move links without mass"):
        tree = read_urdf(ROBOTS / "romeo_description/urdf/romeo.urdf", meshes=False, mimic=False)
    model = tree.compile()
    fingers = [name for name in model.joints if "Finger" in name or "Thumb" in name or "Hand" in name]
    assert np.isfinite(dynamics.forward_dynamics(model.lock(*fingers), model.state())).all()


# ---- meshes

OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"


def with_mesh(folder: Path, *meshes: str) -> Path:
    visuals = "".join(f"<visual><geometry>{mesh}</geometry></visual>" for mesh in meshes)
    path = folder / "robot.urdf"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"<robot name='r'><link name='a'>{visuals}</link></robot>")
    return path


def test_meshes_are_found_beside_the_file_and_in_packages(tmp_path, monkeypatch):
    for folder in ("robot/meshes", "elsewhere/meshes", "ros/third/meshes"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "t.obj").write_text(OBJ)
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "ros"))
    path = with_mesh(
        tmp_path / "robot/urdf",
        "<mesh filename='../meshes/t.obj' scale='2 3 4'/>",
        "<mesh filename='package://robot/meshes/t.obj' scale='0.5'/>",
        "<mesh filename='package://other/meshes/t.obj'/>",
        "<mesh filename='package://third/meshes/t.obj'/>",
        "<mesh filename='../meshes/t.obj' scale='-1 1 1'/>",
    )
    (body,) = read_urdf(path, packages={"other": tmp_path / "elsewhere"}).bodies
    tops = [shape.vertices.max(axis=0).tolist() for shape in body.shapes]
    assert tops == [[2.0, 3.0, 4.0], [0.5] * 3, [1.0] * 3, [1.0] * 3, [0.0, 1.0, 1.0]]
    assert all(len(shape.triangles) == 4 for shape in body.shapes)
    volumes = [np.linalg.det(shape.vertices[shape.triangles]).sum() / 6.0 for shape in body.shapes]
    assert volumes == pytest.approx([4.0, 1 / 48, 1 / 6, 1 / 6, 1 / 6])


def test_what_cannot_be_shown_is_left_out_in_one_warning(tmp_path):
    (tmp_path / "bad.stl").write_bytes(b"solid nothing here")
    # Only "package" means a folder here.
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes/b.stl").write_bytes(b"solid nothing here")
    path = with_mesh(
        tmp_path,
        "<mesh filename='package://nowhere/a.stl'/>",
        "<mesh filename='https://meshes/b.stl'/>",
        "<mesh filename='bad.stl'/>",
        "<box size='0 1 1'/>",
        "<capsule radius='1' length='2'/>",
        "<sphere radius='0.5'/>",
    )
    with pytest.warns(UserWarning, match="not everything was taken over") as caught:
        (body,) = read_urdf(path).bodies
    (message,) = [str(w.message) for w in caught]
    assert "mesh 'package://nowhere/a.stl' was not found" in message
    assert "mesh 'https://meshes/b.stl' was not found" in message
    assert "mesh 'bad.stl' " in message
    assert "link 'a': Box: size[0] is 0, must be > 0" in message
    assert "a visual of link 'a' is <capsule>" in message
    assert [type(shape) for shape in body.shapes] == [lm.Sphere]


# ---- flexible links

SECTION = flex.rectangle(0.02, 0.02)


def beam(E=70e9, length=1.0, n_modes=2):
    fe = flex.beam(length, SECTION, flex.Material(E=E, rho=2700.0, nu=0.3), 10)
    reduction = flex.reduce(fe, interfaces=["0", "10"], root="0", n_modes=n_modes)
    return flex.flexible_body(reduction, "anything", nodes=["10"])


def two_link(flexible):
    return quietly(HERE / "two_link.urdf", flexible={"upper": flexible}).compile()


def test_a_flexible_link_has_the_places_of_the_rigid_one():
    rigid = quietly(HERE / "two_link.urdf", merge_fixed=False).compile()
    soft = two_link(FlexibleLink(beam(), {"camera_mount": "10"}))
    assert soft.nv == rigid.nv + beam().n_modes
    q = {"shoulder": 0.4, "elbow": -0.7}
    for frame in ("upper", "lower", "camera"):
        expected = dynamics.frame_pose(rigid, rigid.state(q), frame)
        assert dynamics.frame_pose(soft, soft.state(q), frame) == pytest.approx(expected, abs=1e-14)
    # the arm is rigid: the camera stays above the node, in its turned axes
    bent = soft.state({**q, "upper": 1e-2 * np.ones(beam().n_modes)})
    tip = dynamics.frame_pose(soft, bent, "upper.10")
    camera = tip @ SE3.exp([0, 0, 0, 0, 0, 0.03])
    assert np.linalg.norm(SO3.log(tip[:3, :3])) > 1e-3
    assert dynamics.frame_pose(soft, bent, "camera") == pytest.approx(camera, abs=1e-14)


def slow_frequencies(model):
    """The two lowest frequencies about the state in which everything hangs at rest, in rad/s."""
    q = model.state({"shoulder": np.pi / 2 - 0.3}).q
    for _ in range(6):
        q = q - np.linalg.solve(
            dynamics.forward_derivatives(model, model.state(q)).q, dynamics.forward_dynamics(model, model.state(q))
        )
    assert np.abs(dynamics.inverse_dynamics(model, model.state(q))).max() < 1e-9
    return np.sqrt(np.sort(np.linalg.eigvals(-dynamics.forward_derivatives(model, model.state(q)).q).real)[:2])


def test_a_stiff_link_moves_like_the_rigid_one():
    """What flexibility changes falls as 1/E."""
    rigid = quietly(HERE / "two_link.urdf", merge_fixed=False).compile()
    expected = slow_frequencies(rigid)
    errors = [
        np.abs(slow_frequencies(two_link(FlexibleLink(beam(E), {"camera_mount": "10"}))) / expected - 1.0).max()
        for E in (70e9, 700e9, 7000e9)
    ]
    assert errors[0] < 1e-2
    assert errors[0] / errors[1] == pytest.approx(10.0, rel=0.05)
    assert errors[1] / errors[2] == pytest.approx(10.0, rel=0.05)


def test_a_stiff_link_swings_like_the_rigid_one():
    rigid = quietly(HERE / "two_link.urdf", merge_fixed=False).compile()
    stiff = two_link(FlexibleLink(beam(7e15), {"camera_mount": "10"}))
    runs = [
        lg.simulate(m, m.state({"shoulder": 0.5, "elbow": 0.3}), t_end=0.5, rtol=1e-7, atol=1e-8)
        for m in (rigid, stiff)
    ]
    a, b = ([run["shoulder.angle"][-1], run["elbow.angle"][-1]] for run in runs)
    assert a == pytest.approx(b, abs=1e-5)


def test_frequencies_of_a_flexible_link():
    """A clamped beam of one link alone: (1.8751)²√(EI/ρA)/L², and with the joint free 3.9266² instead."""
    model = two_link(FlexibleLink(beam(n_modes=8), {"camera_mount": "10"})).tree
    alone = lm.Tree(
        [body for body in model.bodies if body.name in ("base", "upper")],
        [joint for joint in model.joints if joint.name in ("root_joint", "shoulder")],
        gravity=(0, 0, 0),
    ).compile()
    wave = np.sqrt(70e9 * 0.02**4 / 12 / (2700.0 * 0.02**2))
    for held, root in ((True, 1.87510407), (False, 3.92660231)):
        m = alone.lock("shoulder") if held else alone
        d = dynamics.forward_derivatives(m, m.state())
        # In the plane of the joint; across it the link is always clamped.
        frequencies = np.sqrt(np.abs(np.linalg.eigvals(-d.q)))
        assert np.min(np.abs(frequencies / (root**2 * wave) - 1.0)) < 2e-3


def test_a_link_without_root_hangs_on_its_node():
    """Free–free modes move the frame's origin: the joint takes the node there."""
    fe = flex.beam(1.0, SECTION, flex.Material(E=70e9, rho=2700.0, nu=0.3), 10)
    body = flex.flexible_body(flex.reduce(fe, ["0", "10"], method="attachment", n_modes=2), "b", nodes=["0", "10"])
    tree = quietly(HERE / "two_link.urdf", flexible={"upper": FlexibleLink(body, {"camera_mount": "10"})})
    joint = next(joint for joint in tree.joints if joint.name == "shoulder")
    assert joint.child_at == "0"


def test_the_look_of_the_link_stays_unless_the_body_has_its_own():
    bare = dataclasses.replace(beam(), skin=None)
    dressed = dataclasses.replace(bare, shapes=[lm.Sphere(radius=1.0)])
    for body, shapes in ((bare, [lm.Box]), (dressed, [lm.Sphere]), (beam(), [])):
        tree = two_link(FlexibleLink(body, {"camera_mount": "10"})).tree
        upper = next(body for body in tree.bodies if body.name == "upper")
        assert [type(s) for s in upper.shapes] == shapes


@pytest.mark.parametrize(
    ("flexible", "message"),
    [
        ({"uper": beam()}, r"flexible has 'uper', which is not a link\. Did you mean 'upper'\?"),
        ({"upper": 3.0}, r"flexible\['upper'\] is float, expected a FlexibleBody or FlexibleLink"),
        ({"upper": FlexibleLink(beam(), {"elbo": "10"})}, r"a node for 'elbo', which is no joint .* 'elbow'\?"),
        ({"upper": FlexibleLink(beam(), {"elbow": "11"})}, r"lets node '11' carry joint 'elbow', but .* no such node"),
        ({"upper": FlexibleLink(beam(), {"shoulder": "10"})}, r"node '10' carry joint 'shoulder', but the node is 1 m"),
        (
            {"upper": beam(length=0.9)},
            r"line 27: joint 'elbow': sits at \(1, 0, 0\) .*, but the nearest node '10' is 0\.1 m away\.\n"
            r"  Reduce the body with a node there, or .*\n.*line 31: joint 'camera_mount': sits at \(1, 0, 0\.03\)",
        ),
        ({"upper": dataclasses.replace(beam(), nodes={})}, r"on the flexible link 'upper', but it has no nodes"),
    ],
)
def test_flexible_links_that_do_not_fit(flexible, message):
    with pytest.raises(ModelError, match=message):
        quietly(HERE / "two_link.urdf", flexible=flexible)


# ---- files that are wrong

LINK = "<link name='{}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link>"


def robot(*parts: str) -> str:
    return "<robot name='r'>\n" + "\n".join(parts) + "\n</robot>"


def joint(name="j", kind="revolute", parent="a", child="b", more=""):
    return f"<joint name='{name}' type='{kind}'><parent link='{parent}'/><child link='{child}'/>{more}</joint>"


A, B, C = (LINK.format(name) for name in "abc")
BAD = {
    "not xml": ("<robot><link", r"bad\.urdf, line 1: is not XML \(unclosed token\)"),
    "not a robot": ("<sdf/>", r"line 1: the outermost element is <sdf>, expected <robot>"),
    "xacro": (
        "<robot name='r' xmlns:xacro='http://www.ros.org/wiki/xacro'><xacro:include filename='x'/></robot>",
        r"holds xacro macros, expected a URDF\.\n  Expand them first",
    ),
    "no links": (robot(), r"robot 'r' has no links, expected at least one"),
    "nameless": (robot(A, "<link/>"), r"line 3: a link has no name"),
    "twice": (robot(A, A), r"line 3: link 'a' was there before, in line 2"),
    "type": (robot(A, B, joint(kind="ball")), r"line 4: joint 'j' is of type 'ball', expected one of revolute, "),
    "unknown parent": (robot(A, B, joint(parent="aa")), r"joint 'j': its parent 'aa' is not a link of the robot"),
    "no child": (robot(A, "<joint name='j' type='fixed'><parent link='a'/></joint>"), r"joint 'j' has no <child>"),
    "empty child": (robot(A, joint(child="")), r"joint 'j': <child> has no link, expected a name"),
    "number": (robot(A, B, joint(more="<origin xyz='0 x 0'/>")), r"<origin> has xyz='0 x 0', expected 3 numbers"),
    "count": (robot(A, B, joint(more="<origin rpy='0 0'/>")), r"joint 'j': <origin> has rpy='0 0', expected 3 numbers"),
    "infinite": (robot(A, B, joint(more="<origin xyz='0 inf 0'/>")), r"has xyz='0 inf 0', expected 3 numbers"),
    "nan": (robot(A, B, joint(more="<limit upper='nan'/>")), r"<limit> has upper='nan', expected a number"),
    "no mass": (
        robot("<link name='a'><inertial><inertia ixx='1' iyy='1' izz='1'/></inertial></link>"),
        "has no <mass>",
    ),
    "no izz": (
        robot("<link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1'/></inertial></link>"),
        r"link 'a': <inertia> has no izz, expected a number",
    ),
    "negative mass": (robot(A.replace("value='1'", "value='-1'")), r"line 2: body 'a': mass is -1, must be ≥ 0"),
    "triangle": (robot(A.replace("izz='1'", "izz='3'")), r"line 2: body 'a': .* break the triangle inequality"),
    "axis": (robot(A, B, joint(more="<axis xyz='0 0 0'/>")), r"joint 'j': its axis is zero, expected a direction"),
    "damping": (robot(A, B, joint(more="<dynamics damping='-2'/>")), r"joint 'j': its damping is -2, must be ≥ 0"),
    "two joints": (robot(A, B, joint(), joint("k")), r"line 5: link 'b': joints 'j' and 'k' lead into it"),
    "two roots": (robot(A, B), r"no joint leads into the links 'a' \(line 2\), 'b' \(line 3\), expected only one"),
    "ring": (
        robot(A, B, C, joint(parent="b", child="c"), joint("k", parent="c", child="b")),
        r"links carry each other in a ring: b → c → b; expected a tree",
    ),
    "mimic": (robot(A, B, joint(more="<mimic joint='k'/>")), r"joint 'j' mimics 'k', which is not a joint"),
    "mimic planar": (
        robot(A, B, C, joint(kind="planar"), joint("k", child="c", more="<mimic joint='j'/>")),
        r"joint 'k' mimics 'j', but 'j' is planar: expected revolute, ",
    ),
    "mimic itself": (robot(A, B, joint(more="<mimic joint='j'/>")), r"joints mimic each other in a ring: j → j"),
    "bomb": (
        "<!DOCTYPE r [<!ENTITY a 'aaaaaaaaaa'>"
        + "".join(f"<!ENTITY {y} '{10 * f'&{x};'}'>" for x, y in zip("abcdefghi", "bcdefghij", strict=True))
        + "]><robot name='&j;'/>",
        r"line 1: has a document type \(DOCTYPE\), expected plain XML",
    ),
    "deep": (
        "<robot>" + 300 * "<a>" + 300 * "</a>" + "</robot>",
        r"bad\.urdf, line 1: cannot be read as a URDF: .*depth",
    ),
    "file entity": (
        "<!DOCTYPE r [<!ENTITY a SYSTEM 'file:///etc/hostname'>]><robot name='&a;'/>",
        r"has a document type \(DOCTYPE\)",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_file_is_explained(case, tmp_path):
    text, message = BAD[case]
    (tmp_path / "bad.urdf").write_text(text)
    with pytest.raises(ModelError, match=message):
        read_urdf(tmp_path / "bad.urdf")


def test_a_long_chain_is_read_in_time_that_grows_with_it(tmp_path):
    """Twenty thousand links: a check that compares all with all would take minutes."""
    links = "".join(f"<link name='l{i}'/>" for i in range(20_000))
    chain = "".join(joint(f"j{i}", "fixed", f"l{i}", f"l{i + 1}") for i in range(19_999))
    (tmp_path / "long.urdf").write_text(robot(links, chain))
    (body,) = read_urdf(tmp_path / "long.urdf").bodies
    assert len(body.frames) == 19_999


def test_all_problems_are_told_together(tmp_path):
    (tmp_path / "bad.urdf").write_text(
        robot(A.replace("value='1'", "value='heavy'"), B, joint(kind="ball", more="<axis xyz='1 0'/>"))
    )
    with pytest.raises(ModelError) as caught:
        read_urdf(tmp_path / "bad.urdf")
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in lines] == [f"bad.urdf, line {n}" for n in (2, 4, 4)]


def test_problems_of_mimic_joints_do_not_matter_without_them(tmp_path):
    (tmp_path / "m.urdf").write_text(robot(A, B, joint(more="<mimic joint='k'/>")))
    assert read_urdf(tmp_path / "m.urdf", mimic=False).loops == ()


def test_followers_of_fixed_joints_and_of_none(tmp_path):
    parts = (joint("k", "fixed", "a", "c"), joint(more="<mimic joint='k' multiplier='3' offset='0.5'/>"))
    (tmp_path / "m.urdf").write_text(robot(A, B, C, *parts))
    (loop,) = read_urdf(tmp_path / "m.urdf").loops
    assert (loop.terms, loop.offset) == ({"j": 1.0}, 0.5)


def test_files_that_are_not_there_or_too_long(tmp_path, monkeypatch):
    with pytest.raises(
        InputError, match=r"nothing\.urdf': cannot be read \(No such file or directory\), expected a URDF"
    ):
        read_urdf(tmp_path / "nothing.urdf")
    monkeypatch.setattr(foreign, "MAX_BYTES", 2**10)
    with pytest.raises(ModelError, match=r"kinds\.urdf: has 0\.0 MiB, expected at most 0 MiB for a URDF"):
        read_urdf(HERE / "kinds.urdf")


def test_options_that_do_not_exist():
    with pytest.raises(InputError, match=r"base is 'flying', expected 'fixed' or 'free'"):
        read_urdf(HERE / "kinds.urdf", base="flying")


def test_without_the_parser_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "yourdfpy", None)
    with pytest.raises(InputError, match=r"the package 'yourdfpy' is missing\.\n  Install it with .*liegeo\[urdf\]"):
        read_urdf(HERE / "kinds.urdf")


def test_a_robot_without_a_name_is_called_as_its_file(tmp_path):
    (tmp_path / "crane.urdf").write_text(f"<robot>{A}</robot>")
    assert read_urdf(tmp_path / "crane.urdf").name == "crane"


def test_the_types_are_those_of_the_table():
    assert set(urdf._KINDS) == set(urdf.TYPES)


ODD = """<robot name="r">
 <link name="base"/>
 <link name="O'Brien &#252;">
  <inertial>
   <mass value="{mass}"/>
   <inertia ixx="{ixx}" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
  </inertial>
 </link>
 <joint name="it's" type="continuous">
  <parent link="base"/>
  <child link="O'Brien &#252;"/>
  <axis xyz="{axis}"/>
  <dynamics damping="{damping}" friction="{friction}"/>
 </joint>
</robot>
"""
RIGHT = {"mass": 1, "ixx": 1, "axis": "0 0 1", "damping": 0.1, "friction": 0.1}


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [("mass", -1, 5), ("ixx", 9, 6), ("ixx", -1, 6), ("axis", "0 0 0", 12), ("damping", -1, 13), ("friction", -1, 13)],
)
def test_numbers_that_a_class_refuses_have_the_line_of_their_tag(tmp_path, key, value, line):
    file = tmp_path / "odd.urdf"
    file.write_text(ODD.format(**RIGHT), "utf-8")
    read_urdf(file).compile()
    file.write_text(ODD.format(**{**RIGHT, key: value}), "utf-8")
    with pytest.raises(ModelError, match=rf"^odd\.urdf, line {line}: .*'(O'Brien ü|it's)'"):
        read_urdf(file)
