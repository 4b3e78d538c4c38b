"""Pictures of docs/view.md: pages are written, opened in Chromium without a screen, and photographed.

    pip install '.[test]' && python tools/figures/view.py [arm] [satellite] [--out FOLDER] [--dark] [--keep]

Needs a Chromium on the path.  `--keep` leaves the pages beside the pictures.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

import liegeo as lg
from liegeo import flex
from liegeo.model.forces import Wheel
from liegeo.model.joints import Fixed, Free, Revolute
from liegeo.model.shapes import Box, Cylinder
from liegeo.view import write_page

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]


def arm():
    """A robot of soft plastic, which swings down when its brakes are let go; each link is one flexible body."""
    plastic = flex.Material(E=1.2e8, rho=1200.0, nu=0.38)
    post = lg.Body(
        "post",
        20.0,
        inertia=(0.3, 0.3, 0.2),
        shapes=[Cylinder(radius=0.13, length=0.3, at=(0, 0, 0.15), color="#70767f")],
    )
    bodies, joints = [post], [Revolute(name="yaw", parent="world", child="post", stiffness=60.0, damping=4.0)]
    parent, at = "post", (0, 0, 0.33)
    links = (
        ("upper arm", 0.8, flex.i_beam(0.09, 0.1, 0.012, 0.012), 120.0),
        ("forearm", 0.7, flex.tube(0.06, 0.044), 50.0),
    )
    for name, length, section, stiffness in links:
        fe = flex.beam(length, section, plastic, 8, name=name)
        bodies.append(flex.flexible_body(flex.reduce(fe, ["8"], n_modes=3, root="0"), name, ["8"], damping=0.02))
        spring = {"stiffness": stiffness, "damping": 1.2, "rest": -0.6 if parent == "post" else 1.0}
        joints.append(Revolute(name=f"{name} hinge", parent=parent, child=name, at=at, axis=(0, 1, 0), **spring))
        parent, at = name, "8"
    box = Box(size=(0.12, 0.12, 0.12), at=(0.06, 0, 0))
    bodies.append(lg.Body("load", 1.6, com=(0.06, 0, 0), inertia=(4e-3,) * 3, shapes=[box]))
    joints.append(Fixed(name="grip", parent=parent, child="load", at=at))
    model = lg.Tree(bodies, joints, name="soft arm").compile()
    start = model.state(q={"yaw": -1.2, "upper arm hinge": -1.0, "forearm hinge": 0.2})
    run = lg.simulate(model, start, 4.0, progress=False)
    return run, {"traces": "load", "arrows": "grip.reaction.force", "plots": "* hinge.angle"}, 0.35, ""


def satellite():
    """A free body with two panels and two wheels that turn it."""
    light = flex.Material(E=7e10, rho=120.0, nu=0.33)
    hub = lg.Body(
        "hub",
        200.0,
        inertia=(60, 60, 45),
        shapes=[
            Box(size=(1.2, 1.2, 1.5), color="#c9a24b"),
            Cylinder(radius=0.42, length=0.2, at=(0, 0, 0.85), color="#d9dde3"),
        ],
    )
    bodies, joints = [hub], [Free(name="base", parent="world", child="hub")]
    for name, side in (("right panel", 1.0), ("left panel", -1.0)):
        fe = flex.beam(4.5, flex.rectangle(1.2, 0.012), light, 8, name=name)
        bodies.append(flex.flexible_body(flex.reduce(fe, ["8"], n_modes=3, root="0"), name, ["8"], damping=0.003))
        place = np.diag([side, side, 1.0, 1.0])
        place[0, 3] = 0.6 * side
        joints.append(Fixed(name=f"{name} hinge", parent="hub", child=name, at=place))
    wheels = [
        Wheel(name="wheel y", body="hub", inertia=0.4, mass=8.0, axis=(0, 1, 0), at=(0, -0.7, 0.2)),
        Wheel(name="wheel z", body="hub", inertia=0.4, mass=8.0, axis=(0, 0, 1), at=(0, 0, -0.86)),
    ]
    model = lg.Tree(bodies, joints, wheels=wheels, gravity=(0, 0, 0), name="satellite").compile()
    torques = {"wheel y": lambda t: 12.0 * np.sin(1.9 * t), "wheel z": lambda t: -8.0 if t < 6.0 else 8.0}
    run = lg.simulate(model, model.state(), 12.0, inputs=torques, progress=False)
    options = {"traces": "* panel.8", "arrows": "wheel*.tau", "magnify": 5.0}
    return run, options, 7.0, "liegeo.show('colors', true); liegeo.look(0.7, -1, 0.55);"


SCENES = {"arm": arm, "satellite": satellite}


def photograph(browser, page, picture, time, code, dark):
    opened = browser.new_page(viewport={"width": 980, "height": 600}, color_scheme="dark" if dark else "light")
    opened.goto(page.as_uri())
    for _ in range(600):
        if opened.evaluate("!!window.liegeo && liegeo.pictures > 0"):
            break
        opened.wait_for_timeout(100)
    opened.evaluate(f"{{ liegeo.pause(); liegeo.seek({time}); {code} liegeo.seek({time}); }}")
    opened.wait_for_timeout(500)
    opened.screenshot(path=picture)
    opened.close()
    # steps of four in each colour are not seen, and save half of the bytes
    pixels = np.asarray(Image.open(picture).convert("RGB")).astype(int)
    Image.fromarray(np.minimum((pixels + 2) // 4 * 4, 255).astype(np.uint8)).save(picture, optimize=True)
    print(f"{picture.name}: {picture.stat().st_size / 1000:.0f} kB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", choices=[*SCENES, []], help="which; all if none is given")
    parser.add_argument("--out", type=Path, default=FIGURES)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as scratch:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for name in given.scenes or SCENES:
            run, options, time, code = SCENES[name]()
            folder = given.out if given.keep else Path(scratch)
            page = write_page(run, folder / f"{name}.html", **options)
            photograph(browser, page, given.out / f"view_{name}.png", time, code, given.dark)
        browser.close()


if __name__ == "__main__":
    main()
