"""The page without a browser: what it holds, against liegeo's own numbers; looks of bodies; messages."""

from __future__ import annotations

import base64
import gzip
import json
import re
import subprocess
import sys
from importlib import resources

import numpy as np
import pytest
import scenes

import liegeo as lg
from liegeo import dynamics
from liegeo.errors import InputError
from liegeo.model.body import FlexibleBody, LumpedNode
from liegeo.model.constraints import Distance, Rolling
from liegeo.model.joints import Fixed, Free, Revolute
from liegeo.model.shapes import Shape
from liegeo.view import write_page
from liegeo.view.arrays import Arrays
from liegeo.view.looks import Looks
from liegeo.view.scene import Scene, speed_for


class Page:
    """A page as its own script reads it."""

    def __init__(self, path):
        self.text = path.read_text(encoding="utf-8")
        scene = re.search(r'<script type="application/json" id="scene">(.*?)</script>', self.text, re.S)
        numbers = re.search(r'<script type="text/plain" id="numbers">(.*?)</script>', self.text, re.S)
        self.settings = json.loads(scene[1])
        self.numbers = gzip.decompress(base64.b64decode(numbers[1]))
        self.runs = self.settings["runs"]

    def get(self, reference):
        count = int(np.prod(reference["shape"]))
        values = np.frombuffer(self.numbers, "<" + reference["type"], count, reference["at"])
        return values.reshape(reference["shape"]).astype(np.float64)

    def frames(self, what, run=0):
        return self.get(self.runs[run]["frames"][what])


def _page(what, folder, **options):
    return Page(write_page(what, folder / "page.html", **options))


@pytest.mark.parametrize("make", [scenes.pendulum, scenes.chain, scenes.slider_crank, scenes.satellite, scenes.driven])
def test_frames_are_the_poses_of_the_run(make, tmp_path):
    run = make()
    page = _page(run, tmp_path)
    np.testing.assert_array_equal(page.frames("t"), run.t)
    names = [body["name"] for body in page.runs[0]["bodies"]]
    for i in (0, len(run) // 2, -1):
        for b, (name, X) in enumerate(dynamics.body_poses(run.model, run.state(i)).items()):
            assert names[b] == name
            x, y, z, w = page.frames("quaternion")[i, b]
            np.testing.assert_allclose(page.frames("position")[i, b], X[:3, 3], atol=1e-6)
            axis = np.array([x, y, z])
            turned = (w * w - axis @ axis) * np.eye(3) + 2 * np.outer(axis, axis) + 2 * w * lg.lie.SO3.hat(axis)
            np.testing.assert_allclose(turned, X[:3, :3], atol=1e-6)


def test_modes_wheels_and_plots_are_those_of_the_run(tmp_path):
    run = scenes.satellite()
    page = _page(run, tmp_path, plots=["wheel.speed", "energy.kinetic"])
    eta = np.concatenate([run["right.eta"], run["left.eta"]], axis=1)
    np.testing.assert_allclose(page.frames("eta"), eta, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(page.frames("spin")[:, 0], run["wheel.angle"], rtol=1e-6)
    assert page.runs[0]["plots"] == [{"name": "wheel.speed", "unit": "rad/s"}, {"name": "energy.kinetic", "unit": "J"}]
    np.testing.assert_allclose(page.frames("plotted")[:, 1], run["energy.kinetic"], rtol=1e-6)


def test_arrows_are_the_forces_of_the_run(tmp_path):
    run = scenes.slider_crank()
    names = ["pin.reaction", "wrist.reaction.force", "motor.input", "push.*", "twist.input.torque", "main.tau"]
    page = _page(run, tmp_path, arrows=names)
    found = {arrow["name"]: (arrow, page.frames("vectors")[:, k]) for k, arrow in enumerate(page.runs[0]["arrows"])}
    assert list(found) == [
        "pin.reaction.force",
        "pin.reaction.moment",
        "wrist.reaction.force",
        "motor.input",
        "push.input.force",
        "push.input.torque",
        "twist.input.torque",
        "main.tau",
    ]
    kinds = {name: arrow["kind"] for name, (arrow, _) in found.items()}
    assert kinds["motor.input"] == kinds["pin.reaction.moment"] == "moment"
    force = run["pin.reaction.force"]
    np.testing.assert_allclose(found["pin.reaction.force"][1], force, rtol=1e-6, atol=1e-6)
    # A hinge carries no moment about its axis, seen at the hinge, which is not where the rod's frame is.
    moment = found["pin.reaction.moment"][1]
    np.testing.assert_allclose(moment, run["pin.reaction.moment"] - np.cross([-0.05, 0, 0], force), atol=1e-5)
    assert np.abs(run["pin.reaction.moment"][:, 1]).max() > 0.01
    assert np.abs(moment[:, 1]).max() < 1e-5
    np.testing.assert_allclose(found["wrist.reaction.force"][1], run["wrist.reaction.force"], rtol=1e-5, atol=1e-5)
    # The input is limited to 1, and the gear doubles it, about −y.
    np.testing.assert_allclose(found["motor.input"][1], np.broadcast_to([0, -2, 0], (len(run), 3)), atol=1e-7)
    np.testing.assert_allclose(found["push.input.force"][1][:, 0], -8.0)
    np.testing.assert_allclose(found["twist.input.torque"][1][:, 1], 0.1)
    assert found["push.input.force"][0]["axes"] == "world"
    assert found["twist.input.torque"][0]["axes"] == "frame"
    assert not found["main.tau"][1].any()


def test_a_prescribed_motion_has_an_arrow(tmp_path):
    run = scenes.driven()
    page = _page(run, tmp_path, arrows="law.tau")
    np.testing.assert_allclose(page.frames("vectors")[:, 0, 2], run["law.tau"], rtol=1e-5, atol=1e-6)


def test_joints_and_lines_are_marked(tmp_path):
    page = _page(scenes.slider_crank(), tmp_path)
    kinds = {joint["name"]: joint["kind"] for joint in page.runs[0]["joints"]}
    assert kinds == {"main": "hinge", "pin": "hinge", "guide": "slide", "wrist": "hinge"}
    assert [(line["name"], line["kind"]) for line in page.runs[0]["lines"]] == [("spring", "spring")]
    assert {j["name"]: j["kind"] for j in _page(scenes.driven(), tmp_path).runs[0]["joints"]}["hook"] == "ball"


def test_a_model_is_shown_at_rest_or_in_a_state(tmp_path):
    model = scenes.pendulum().model
    page = _page(model, tmp_path)
    assert page.frames("t").tolist() == [0.0]
    state = model.state(q={"shoulder": 1.0})
    moved = _page(model, tmp_path, state=state)
    X = dynamics.body_poses(model, state)["lower"]
    np.testing.assert_allclose(moved.frames("position")[0, 1], X[:3, 3], atol=1e-6)
    # A model with loops is assembled first.
    closed = _page(scenes.slider_crank().model, tmp_path)
    start = lg.assemble(scenes.slider_crank().model)
    X = dynamics.body_poses(scenes.slider_crank().model, start)["slider"]
    np.testing.assert_allclose(closed.frames("position")[0, 2], X[:3, 3], atol=1e-6)


def test_runs_are_laid_over_each_other(tmp_path):
    run = scenes.pendulum()
    other = lg.simulate(run.model, run.model.state(q={"shoulder": 1.9}), 1.0, output=0.1, progress=False)
    page = _page({"one": run, "two": other}, tmp_path)
    assert [shown["label"] for shown in page.runs] == ["one", "two"]
    assert page.frames("t", 1)[-1] == pytest.approx(1.0)
    assert [shown["label"] for shown in _page([run, other], tmp_path).runs] == ["run 1", "run 2"]


def test_long_runs_are_thinned(tmp_path):
    run = scenes.pendulum()
    t = _page(run, tmp_path, max_frames=20).frames("t")
    assert len(t) == 20
    assert t[[0, -1]].tolist() == run.t[[0, -1]].tolist()
    np.testing.assert_allclose(np.diff(t), 3.0 / 19, atol=0.021)
    scene = Scene(run.model, Arrays())
    uneven = np.concatenate([np.linspace(0, 0.01, 5000), np.linspace(0.1, 10.0, 5000)])
    chosen = scene.choose(uneven, 100)
    assert len(chosen) < 101
    assert np.diff(uneven[chosen]).max() < 0.25
    # No page is larger than a few megabytes, however many frames are asked for.
    assert len(scene.choose(np.arange(1e6), 10**6)) * scene.bytes_of_frame() <= 2_000_000


def test_positions_far_away_keep_their_digits(tmp_path):
    model = lg.Tree(
        [lg.Body("probe", 1.0, inertia=(1, 1, 1))], [Free(name="f", parent="world", child="probe")]
    ).compile()
    place = (7.0e6, 1.23456789, 0.0)
    page = _page(model, tmp_path, state=model.state(q={"f": (1, 0, 0, 0, *place)}))
    assert page.runs[0]["frames"]["position"]["type"] == "f8"
    np.testing.assert_allclose(page.frames("position")[0, 0], place, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("seconds", "speed"), [(0.0, 1.0), (0.004, 0.001), (0.4, 0.1), (5.0, 1.0), (300.0, 10.0)])
def test_a_run_is_played_at_a_speed_that_one_can_follow(seconds, speed):
    assert speed_for(seconds) == speed


def test_a_page_is_one_file_that_asks_for_nothing(tmp_path):
    page = _page(scenes.pendulum(), tmp_path, title="</script><b>R&D</b>")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert "connect-src 'none'" in page.text
    assert "default-src 'none'" in page.text
    assert page.settings["title"] == "</script><b>R&D</b>"
    assert "<title>&lt;/script&gt;&lt;b&gt;R&amp;D&lt;/b&gt;</title>" in page.text
    # the script's own markup aside, there is nothing that loads anything
    markup = re.sub(r"<script.*?</script>", "", page.text, flags=re.S)
    assert not re.search(r"(src|href)=\"(?!data:,)", markup)
    assert "{{" not in markup


def test_a_typical_page_is_small(tmp_path):
    model = scenes.chain().model
    run = lg.simulate(model, model.state(q={"joint1": -0.3}), 2.0, progress=False)
    assert len(run) == 1001
    empty = len(_page(model, tmp_path).text)
    assert len(_page(run, tmp_path, traces="*", plots="*.angle").text) - empty < 500_000
    assert empty < 1_000_000


def test_the_same_run_gives_the_same_page(tmp_path):
    run = scenes.chain()
    assert _page(run, tmp_path, traces="payload").text == _page(run, tmp_path, traces="payload").text


def test_result_has_a_page_of_its_own(tmp_path):
    path = scenes.pendulum().view(tmp_path / "p.html", traces="lower.tip")
    assert Page(path).runs[0]["traces"][0]["name"] == "lower.tip"


def test_three_js_is_complete_and_of_the_version_that_is_written_down():
    folder = resources.files("liegeo.view").joinpath("page", "three")
    version = re.search(r"three\.js 0\.(\d+)\.\d+", folder.joinpath("README.md").read_text(encoding="utf-8"))
    core = folder.joinpath("three.core.js").read_text(encoding="utf-8")
    assert f"const REVISION = '{version[1]}'" in core
    assert "MIT License" in folder.joinpath("LICENSE").read_text(encoding="utf-8")
    # the one relative import, which a page cannot have, is the one that is replaced
    module = folder.joinpath("three.module.js").read_text(encoding="utf-8")
    assert set(re.findall(r"from '(\..*?)'", module)) == {"./three.core.js"}


def test_importing_liegeo_imports_no_viewer():
    code = "import sys, liegeo; from liegeo.results import Result; sys.exit('liegeo.view' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---------------------------------------------------------------- looks


def _parts(tree):
    model = tree.compile()
    looks = Looks(model, Arrays())
    return {name: looks.parts(i) for i, name in enumerate(model.bodies)}, looks


def test_a_body_without_shapes_is_the_box_of_its_inertia_and_rods_to_its_joints():
    a, b, c, m = 0.5, 0.3, 0.2, 2.0
    inertia = m / 12 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    body = lg.Body("crate", m, com=(0, 0, 1.0), inertia=inertia)
    parts, _ = _parts(lg.Tree([body], [Revolute(name="r", parent="world", child="crate", axis=(1, 0, 0))]))
    box, rod = parts["crate"]
    assert sorted(box["size"]) == pytest.approx(sorted([a, b, c]))
    assert box["pose"][:3] == pytest.approx([0, 0, 1.0])
    assert rod["kind"] == "cylinder"
    assert rod["length"] == pytest.approx(1.0)
    assert rod["pose"][:3] == pytest.approx([0, 0, 0.5])


def test_point_masses_are_balls_and_massless_bodies_rods():
    parts, _ = _parts(scenes.driven().model.tree)
    assert [part["kind"] for part in parts["ball"]] == ["cylinder", "sphere"]
    assert [part["kind"] for part in parts["arm"]] == ["cylinder"]
    lonely, looks = _parts(lg.Tree([lg.Body("dot", 1.0)], [Free(name="f", parent="world", child="dot")]))
    assert [part["kind"] for part in lonely["dot"]] == ["sphere"]
    assert looks.size == 1.0


def test_wheels_are_discs_of_their_inertia():
    parts, looks = _parts(scenes.satellite().model.tree)
    (disc,) = parts["wheel/rotor"]
    assert disc["kind"] == "wheel"
    assert 0.5 * 5.0 * disc["radius"] ** 2 == pytest.approx(0.05)
    assert looks.color(3) == "#8d949e"


@pytest.mark.parametrize(("shape", "kind"), [("disc", "wheel"), ("ball", "sphere")])
def test_what_rolls_looks_round(shape, kind):
    coin = lg.Body("coin", 1.0, inertia=(0.01, 0.01, 0.02))
    free = Free(name="f", parent="world", child="coin")
    rolling = Rolling(name="contact", a="world", b="coin", radius=0.2, shape=shape)
    parts, _ = _parts(lg.Tree([coin], [free], loops=[rolling]))
    assert [(part["kind"], part["radius"]) for part in parts["coin"]] == [(kind, 0.2)]


def test_a_rod_is_drawn_where_a_distance_is_kept(tmp_path):
    bob = lg.Body("bob", 1.0, inertia=(0.01,) * 3)
    tree = lg.Tree(
        [bob],
        [Free(name="f", parent="world", child="bob")],
        loops=[Distance(name="rod", a="world", b="bob", length=1.0)],
    )
    page = _page(tree.compile(), tmp_path, state=tree.compile().state(q={"f": (1, 0, 0, 0, 0, 0, -1.0)}))
    assert page.runs[0]["lines"][0]["kind"] == "rod"


def test_flexible_bodies_without_a_skin_are_rods_between_their_nodes():
    modes = np.zeros((3, 6, 1))
    modes[1, 5], modes[2, 5], modes[2, 1] = 0.3, 1.0, -0.8
    nodes = [LumpedNode(modes[k], (x, 0, 0), mass=1.0, name=str(k)) for k, x in enumerate((0.0, 0.5, 1.2))]
    body = FlexibleBody.from_nodes("boom", nodes, stiffness=[[10.0]])
    assert body.skin is None
    model = lg.Tree([body], [Fixed(name="clamp", parent="world", child="boom")]).compile()
    arrays = Arrays()
    skin = Looks(model, arrays).skin(0)
    data = arrays.content()

    def get(reference):
        n = int(np.prod(reference["shape"]))
        return np.frombuffer(data, "<" + reference["type"], n, reference["at"]).reshape(reference["shape"])

    vertices, moved = get(skin["vertices"]), get(skin["modes"]).reshape(-1, 3)
    assert np.ptp(vertices[:, 0]) == pytest.approx(1.2)
    tip = np.abs(vertices[:, 0] - 1.2) < 1e-6
    np.testing.assert_allclose(moved[tip][:, 2], 1.0, atol=1e-6)
    np.testing.assert_allclose(moved[tip][:, 0], -0.8 * vertices[tip][:, 2], atol=1e-6)
    assert not np.allclose(moved[np.abs(vertices[:, 0] - 0.5) < 1e-6][:, 2], 0.0)


def test_equal_skins_are_sent_once():
    arrays = Arrays()
    first = arrays.put(np.arange(5.0))
    assert arrays.put(np.arange(5.0)) == first
    second = arrays.put([1, 2, 3], "u4")
    assert second["at"] % 8 == 0
    assert len(arrays.content()) == second["at"] + 16


# ---------------------------------------------------------------- messages


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"traces": "lower.tipp"},
            r"view: traces has 'lower.tipp', which nothing is called. Did you mean 'lower.tip'?",
        ),
        ({"arrows": "motor.input"}, r"view: arrows has 'motor.input', which nothing is called."),
        ({"arrows": [3]}, r"view: arrows has 3, expected names such as 'arm.tip' or '\*.reaction.force'."),
        ({"plots": "no.such"}, r"result: 'no.such' is neither a column nor can it be computed."),
        ({"magnify": 0.0}, r"view: magnify is 0.0, must be a number > 0."),
        ({"speed": "fast"}, r"view: speed is 'fast', must be a number > 0."),
        ({"max_frames": 1}, r"view: max_frames is 1, expected a whole number ≥ 2."),
        ({"state": "rest"}, r"view: state is given with a run, expected it with a model alone."),
    ],
)
def test_what_cannot_be_shown_is_said(options, message, tmp_path):
    with pytest.raises(InputError, match=message):
        write_page(scenes.pendulum(), tmp_path / "p.html", **options)
    assert not list(tmp_path.iterdir())


def test_what_is_no_run_is_said(tmp_path):
    file = tmp_path / "p.html"
    with pytest.raises(InputError, match=r"view: cannot show .*tree.*\n  Call compile\(\) on it."):
        write_page(scenes.pendulum_tree(), file)
    with pytest.raises(InputError, match=r"view: cannot show 'run.csv', expected a Result, several of them, or a M"):
        write_page("run.csv", file)
    with pytest.raises(InputError, match="view: there are no runs, expected at least one Result"):
        write_page([], file)
    with pytest.raises(InputError, match="view: 'a' is 3, expected a Result"):
        write_page({"a": 3}, file)
    other = lg.Tree([lg.Body("b", 1.0)], [Free(name="f", parent="world", child="b")]).compile()
    with pytest.raises(InputError, match=r"view: state is State\(.*\), expected model.state\(…\) of this model"):
        write_page(other, file, state=scenes.pendulum().end)
    assert not list(tmp_path.iterdir())


def test_a_shape_that_cannot_be_drawn_is_said(tmp_path):
    body = lg.Body("blob", 1.0, inertia=(1, 1, 1), shapes=[Shape()])
    model = lg.Tree([body], [Free(name="f", parent="world", child="blob")]).compile()
    with pytest.raises(
        InputError, match="view: body 'blob' has a shape Shape, expected one of Box, Sphere, Cylinder, Mesh"
    ):
        write_page(model, tmp_path / "p.html")


def test_a_folder_that_is_not_there_is_said(tmp_path):
    with pytest.raises(InputError, match="there is no folder"):
        write_page(scenes.pendulum(), tmp_path / "no" / "p.html")
