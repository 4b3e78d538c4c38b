"""The page in a real browser: Chromium, without a screen, its graphics computed by the processor.

What it draws is asked for through `window.liegeo` (docs/view.md) and compared with liegeo's own numbers; pictures are
compared with each other.  Every page must leave the console empty and ask the network for nothing.
"""

from __future__ import annotations

import io
import os
import shutil
import time

import matplotlib.image
import numpy as np
import pytest
import scenes

import liegeo as lg
from liegeo import dynamics
from liegeo.kernels import layout as at
from liegeo.model.model import State
from liegeo.view import serve, write_page

pytestmark = pytest.mark.foreign

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
    "--force-device-scale-factor=1",
)
# Positions are sent in single precision, over a few metres.
CLOSE = 1e-5


@pytest.fixture(scope="module")
def browser():
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        # .ci/run installs a browser and sets this, so that the tests are not skipped there unseen.
        assert not os.environ.get("LIEGEO_NEEDS_BROWSER"), f"no browser: none of {', '.join(NAMES)} is on the path"
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is on the path")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=list(FLAGS), timeout=120_000)
        yield found
        found.close()


class Opened:
    """A page, what it wrote to the console, and what it asked the network for."""

    def __init__(self, browser, url, **options):
        self.console, self.requests = [], []
        self.page = browser.new_page(viewport={"width": 700, "height": 460}, **options)
        self.page.set_default_timeout(60_000)
        self.page.on("console", lambda message: self.console.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.console.append(f"error: {error}"))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(url)
        self.until("!!window.liegeo && liegeo.frames() > 0 && liegeo.pictures > 0")

    def ask(self, code, *arguments):
        return self.page.evaluate(f"(given) => {code}", list(arguments))

    def until(self, condition, seconds=60.0):
        # The page's policy forbids what playwright's own waiting does.
        end = time.monotonic() + seconds
        while not self.ask(condition):
            assert time.monotonic() < end, f"still not so: {condition}; console: {self.console}"
            self.page.wait_for_timeout(20)

    def still(self, t):
        self.ask("{ liegeo.pause(); liegeo.seek(given[0]); }", float(t))

    def picture(self):
        self.page.wait_for_timeout(50)
        return self.page.locator("#view").screenshot()

    def set(self, selector, value):
        """As a person's hand on a slider does it."""
        self.page.locator(selector).fill(str(value))

    def close(self):
        outside = [url for url in self.requests if not url.startswith(("file:", "blob:", "data:"))]
        self.page.close()
        assert self.console == []
        return outside


@pytest.fixture
def show(browser, tmp_path):
    opened = []

    def open_page(what, options=None, **settings):
        file = write_page(what, tmp_path / f"page{len(opened)}.html", **settings)
        opened.append(Opened(browser, file.as_uri(), **(options or {})))
        return opened[-1]

    yield open_page
    for page in opened:
        assert page.close() == []


def _vertices(model, state, name, magnify=1.0):
    """Vertices of a flexible body in the world, with all deformation magnified, by liegeo alone."""
    q = state.q.copy()
    for i in range(len(model.bodies)):
        q[model.modal_slice(i, at.EQ)] *= magnify
    X = dynamics.body_poses(model, State(q, state.v))[name]
    i = model.bodies.index(name)
    skin = model.body(i).skin
    local = np.asarray(skin.vertices) + np.asarray(skin.modes) @ q[model.modal_slice(i, at.EQ)]
    return local @ X[:3, :3].T + X[:3, 3]


def test_bodies_move_as_the_run_says(show):
    run = scenes.pendulum()
    page = show(run, traces="lower.tip", plots=["*.angle", "energy"])
    assert page.ask("liegeo.bodies()") == ["upper", "lower"]
    pictures = []
    for i in (0, 60, 120):
        page.still(run.t[i])
        pictures.append(page.picture())
        np.testing.assert_allclose(page.ask("liegeo.position('lower')"), run["lower.position"][i], atol=CLOSE)
        x, y, z, w = page.ask("liegeo.quaternion('lower')")
        assert abs(run["lower.quaternion"][i] @ [w, x, y, z]) == pytest.approx(1.0, abs=CLOSE)
    assert len(set(pictures)) == 3
    page.still(run.t[0])
    assert page.picture() == pictures[0]
    # Between frames: half-way positions, and a rotation half as far.
    page.still(0.5 * (run.t[60] + run.t[61]))
    middle = 0.5 * (run["upper.position"][60:62] + run["lower.position"][60:62]).sum(axis=0)
    both = np.add(page.ask("liegeo.position('upper')"), page.ask("liegeo.position('lower')"))
    np.testing.assert_allclose(both, middle, atol=CLOSE)
    x, y, z, w = page.ask("liegeo.quaternion('lower')")
    mean = run["lower.quaternion"][60] + run["lower.quaternion"][61]
    assert abs(mean @ [w, x, y, z]) / np.linalg.norm(mean) == pytest.approx(1.0, abs=CLOSE)
    trace = np.reshape(page.ask("liegeo.trace('lower.tip')"), (-1, 3))
    np.testing.assert_allclose(trace, run["lower.tip.position"], atol=CLOSE)


def test_time_is_in_the_hands_of_the_user(show):
    run = scenes.pendulum()
    page = show(run, speed=0.5)
    # It plays when it opens, and goes on.
    assert page.ask("liegeo.playing")
    before = page.ask("liegeo.time")
    page.until(f"liegeo.time !== {before}")
    page.page.locator("#play").click()
    assert not page.ask("liegeo.playing")
    page.set("#time", 1.5)
    assert page.ask("liegeo.time") == 1.5
    page.until("document.getElementById('clock').textContent === '1.500 s'")
    at_slider = page.ask("liegeo.position('lower')")
    np.testing.assert_allclose(at_slider, run["lower.position"][75], atol=CLOSE)
    # one frame on and back
    page.page.keyboard.press("ArrowRight")
    page.until(f"Math.abs(liegeo.time - {run.t[76]}) < 1e-9")
    page.page.keyboard.press("ArrowLeft")
    page.until(f"Math.abs(liegeo.time - {run.t[75]}) < 1e-9")
    page.page.keyboard.press("Home")
    assert page.ask("liegeo.time") == 0.0
    # speed: by the list, by keys
    page.page.locator("#speed").select_option("2")
    assert page.ask("liegeo.speed") == 2
    page.page.keyboard.press("Escape")
    page.page.locator("#view").focus()
    page.page.keyboard.press(",")
    assert page.ask("liegeo.speed") == 1
    page.page.keyboard.press(" ")
    page.until("liegeo.playing && liegeo.time > 0")
    # without a loop it stops at the end
    page.page.locator("#loop").uncheck()
    page.ask("liegeo.setSpeed(10)")
    page.until("!liegeo.playing")
    assert page.ask("liegeo.time") == run.t[-1]


def test_speed_is_a_multiple_of_real_time(show):
    page = show(scenes.pendulum(), speed=0.1)
    rates = page.ask(
        """new Promise((done) => {
            liegeo.seek(0); liegeo.play();
            const times = [];
            const look = (now) => {
                times.push([now, liegeo.time]);
                if (times.length < 12) requestAnimationFrame(look);
                else done(times);
            };
            requestAnimationFrame(look);
        })"""
    )
    (wall, first), (later, last) = rates[1], rates[-1]
    # a picture that took longer than a quarter of a second counts as one, so on a busy machine it may be slower
    assert 0.0 < (last - first) / ((later - wall) / 1000) <= 0.1 * 1.05 + 1e-3


@pytest.mark.parametrize(("fidelity", "stiffening"), [("full", False), ("full", True), ("ruthless", False)])
def test_deformation_is_magnified_as_kinematics_has_it(show, fidelity, stiffening):
    run = scenes.chain(fidelity, stiffening)
    page = show(run, traces="link2.4")
    pictures = set()
    for i, factor in ((30, 1.0), (30, 8.0), (70, 8.0)):
        page.still(run.t[i])
        page.ask("liegeo.magnify(given[0])", factor)
        for name in ("link1", "link2"):
            found = np.array(page.ask(f"liegeo.vertices('{name}')"))
            np.testing.assert_allclose(found, _vertices(run.model, run.state(i), name, factor), atol=CLOSE)
        pictures.add(page.picture() if fidelity == "full" else i)
    if fidelity == "full":
        assert len(pictures) == 3
        # The payload stays on the end of the second link, and the trace is that of the magnified end.
        state = run.state(70)
        q = state.q.copy()
        for k in (0, 1):
            q[run.model.modal_slice(k, at.EQ)] *= 8.0
        end = dynamics.frame_pose(run.model, State(q, state.v), "link2.4")[:3, 3]
        np.testing.assert_allclose(page.ask("liegeo.position('payload')"), end, atol=CLOSE)
        np.testing.assert_allclose(page.ask("liegeo.trace('link2.4').slice(210, 213)"), end, atol=CLOSE)


def _green(picture):
    """Where a picture is as green as only the load of `scenes.solid_arm` is."""
    red, green, blue = matplotlib.image.imread(io.BytesIO(picture))[..., :3].transpose(2, 0, 1)
    return green > 1.8 * np.maximum(red, blue)


def test_a_solid_bends_and_a_mesh_is_drawn(show):
    """The skin of solid elements as kinematics has it; a cube of triangles looks like a box of that size."""
    pytest.importorskip("skfem", reason="needs liegeo[fe]")
    run = scenes.solid_arm()
    pages = [show(run), show(scenes.solid_arm("box"))]
    for page in pages:
        # it shows the colours of bodies too
        page.page.locator("#panel-button").click()
    seen = []
    for i, factor in ((0, 1.0), (20, 1.0), (20, 3.0)):
        for page in pages:
            page.still(run.t[i])
            page.ask("liegeo.magnify(given[0])", factor)
        found = np.array(pages[0].ask("liegeo.vertices('arm')"))
        np.testing.assert_allclose(found, _vertices(run.model, run.state(i), "arm", factor), atol=CLOSE)
        mesh, box = (_green(page.picture()) for page in pages)
        assert box.sum() > 500
        assert (mesh != box).sum() < 0.01 * box.sum()
        seen.append(mesh)
    # it falls, and magnified it falls further
    heights = [np.argwhere(mesh)[:, 0].mean() for mesh in seen]
    assert heights[0] + 5 < heights[1]
    assert heights[1] + 1 < heights[2]


def test_the_slider_magnifies_and_colours_show_displacement(show):
    run = scenes.chain()
    page = show(run, magnify=2.0)
    page.still(run.t[50])
    assert page.ask("liegeo.magnification") == 2
    plain = page.picture()
    page.set("#magnify", 1.0)
    assert page.ask("liegeo.magnification") == 10
    page.still(run.t[50])
    found = np.array(page.ask("liegeo.vertices('link1')"))
    np.testing.assert_allclose(found, _vertices(run.model, run.state(50), "link1", 10.0), atol=CLOSE)
    bent = page.picture()
    assert bent != plain
    page.page.locator("#show-colors").check()
    page.until("!document.getElementById('scale-row').hidden")
    assert page.picture() != bent
    # The scale ends at the largest displacement of any vertex in the run.
    largest = 0.0
    for name in ("link1", "link2"):
        modes = np.asarray(run.model.body(run.model.bodies.index(name)).skin.modes)
        largest = max(largest, np.linalg.norm(np.einsum("vdm,tm->tvd", modes, run[f"{name}.eta"]), axis=2).max())
    assert float(page.page.locator("#scale-end").inner_text().split()[0]) == pytest.approx(largest, rel=2e-3)


def test_arrows_stand_where_forces_act(show):
    run = scenes.slider_crank()
    page = show(run, arrows=["*.reaction.force", "motor.input", "push.input.force"])
    i = 20
    page.still(run.t[i])
    R = dynamics.body_poses(run.model, run.state(i))
    push = page.ask("liegeo.arrow('push.input.force')")
    np.testing.assert_allclose(push["vector"], [-8, 0, 0], atol=CLOSE)
    np.testing.assert_allclose(push["origin"], run["slider.position"][i], atol=CLOSE)
    pin = page.ask("liegeo.arrow('pin.reaction.force')")
    force = R["rod"][:3, :3] @ run["pin.reaction.force"][i]
    np.testing.assert_allclose(pin["vector"], force, atol=CLOSE * np.abs(force).max())
    np.testing.assert_allclose(pin["origin"], run["crank.pin.position"][i], atol=1e-4)
    wrist = page.ask("liegeo.arrow('wrist.reaction.force')")
    np.testing.assert_allclose(wrist["vector"], R["slider"][:3, :3] @ run["wrist.reaction.force"][i], rtol=1e-4)
    assert page.ask("liegeo.arrow('motor.input')")["visible"]
    pictures = [page.picture()]
    page.set("#arrows", 0.5)
    pictures.append(page.picture())
    page.page.locator("#show-arrows").uncheck()
    pictures.append(page.picture())
    assert len(set(pictures)) == 3


def test_everything_can_be_looked_at_from_everywhere(show):
    run = scenes.satellite()
    page = show(run, {"color_scheme": "dark"}, traces="*.6", arrows="wheel.tau")
    page.still(2.0)
    seen = [page.picture()]
    for key in ("x", "x", "y", "z", "f", "h"):
        page.page.keyboard.press(key)
        page.page.wait_for_timeout(50)
        seen.append(page.picture())
    # "f" from where "z" looked shows the same; "h" is how it began
    assert len(set(seen[:5])) == 5
    assert seen[-1] == seen[0]
    # The wheel turns in a body that does not: its frame in the run stays, its picture turns.
    q = np.array(page.ask("liegeo.quaternion('wheel/rotor')")) @ np.array(page.ask("liegeo.quaternion('hub')"))
    assert 2 * np.arccos(min(1.0, abs(q))) == pytest.approx(_wrapped(run["wheel.angle"][40]), abs=1e-4)
    page.page.locator("#follow").select_option("left")
    page.still(3.0)
    page.page.locator("#bodies input").first.uncheck()
    assert page.picture() not in seen
    page.page.locator("#panel-button").click()
    assert not page.page.locator("#panel").is_visible()
    page.page.locator("#help-button").click()
    assert page.page.locator("#help").is_visible()


def _wrapped(angle):
    """The smallest rotation that ends in the same place."""
    angle = abs(angle) % (2 * np.pi)
    return min(angle, 2 * np.pi - angle)


def test_a_model_at_rest_is_moved_by_sliders(show):
    run = scenes.chain()
    model = run.model
    page = show(model, traces="link2.4", plots="*.angle")
    assert page.page.locator("#play").is_disabled()
    hinge = page.page.locator("#joint-sliders input").nth(1)
    hinge.fill(str(round(np.pi / 4, 10)))
    moved = float(hinge.input_value())
    q = model.state(q={"joint2": moved})
    X = dynamics.body_poses(model, q)["payload"]
    page.until("liegeo.quaternion('payload')[3] < 0.99")
    np.testing.assert_allclose(page.ask("liegeo.position('payload')"), X[:3, 3], atol=CLOSE)
    mode = page.page.locator("#mode-sliders input").first
    mode.fill(str(float(mode.get_attribute("max")) / 2))
    value = float(mode.input_value())
    bent = model.state(q={"joint2": moved, "link1": (value, *[0] * 8)})
    page.until(f"liegeo.vertices('link1').some((v) => Math.abs(v[1]) > {0.02} || Math.abs(v[2]) > {0.02})")
    np.testing.assert_allclose(page.ask("liegeo.vertices('link2')"), _vertices(model, bent, "link2"), atol=CLOSE)


def test_two_runs_are_seen_at_once(show):
    run = scenes.pendulum()
    other = lg.simulate(run.model, run.model.state(q={"shoulder": 1.0}), 1.0, output=0.02, progress=False)
    page = show({"first": run, "second": other})
    assert page.ask("liegeo.range") == [0, run.t[-1]]
    page.still(0.8)
    for k, one in enumerate((run, other)):
        found = page.ask(f"liegeo.position('lower', {k})")
        np.testing.assert_allclose(found, one["lower.position"][40], atol=CLOSE)
    # The shorter one waits at its end.
    page.still(2.0)
    np.testing.assert_allclose(page.ask("liegeo.position('lower', 1)"), other["lower.position"][-1], atol=CLOSE)
    assert page.page.locator("#status").inner_text() == "first, second (pale)"


def test_one_of_several_runs_is_shown_by_choice(show):
    """As modes are: one after the other, none of them pale."""
    run = scenes.pendulum()
    other = lg.simulate(run.model, run.model.state(q={"shoulder": 1.0}), run.t[-1], output=0.02, progress=False)
    page = show({"first": run, "second": other}, choose=True)
    assert page.ask("liegeo.shown()") == [0]
    assert page.page.locator("#status").inner_text() == "first"
    page.ask("liegeo.choose(1)")
    page.still(0.8)
    assert page.ask("liegeo.shown()") == [1]
    assert page.page.locator("#status").inner_text() == "second"
    np.testing.assert_allclose(page.ask("liegeo.position('lower', 1)"), other["lower.position"][40], atol=CLOSE)
    assert page.page.locator("#choice option").all_inner_texts() == ["first", "second"]


def test_a_live_page_shows_frames_as_they_come(browser):
    model = scenes.pendulum().model
    opened = []

    def open_page(url):
        page = browser.new_page(viewport={"width": 600, "height": 400})
        console, requests = [], []
        page.on("console", lambda message: console.append(message.text))
        page.on("pageerror", lambda error: console.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(url)
        opened.append((page, url, console, requests))

    start = model.state(q={"shoulder": 2.0})
    result = serve(model, start, 4.0, output=0.01, traces="lower.tip", show=open_page, stay=False, progress=False)
    page, url, console, requests = opened[0]
    end = time.monotonic() + 60.0
    while not page.evaluate("!!window.liegeo && liegeo.finished"):
        assert time.monotonic() < end, console
        page.wait_for_timeout(20)
    # The server is gone; the page has everything, and goes on.
    assert page.evaluate("liegeo.frames()") == len(result)
    page.evaluate("{ liegeo.pause(); liegeo.seek(3.0); }")
    np.testing.assert_allclose(page.evaluate("liegeo.position('lower')"), result["lower.position"][300], atol=CLOSE)
    page.evaluate("{ liegeo.setSpeed(10); liegeo.play(); }")
    while page.evaluate("liegeo.time") == 3.0:
        assert time.monotonic() < end
        page.wait_for_timeout(20)
    assert {r for r in requests if not r.startswith(("blob:", "data:"))} == {url, f"{url}frames"}
    page.close()
    assert console == []
