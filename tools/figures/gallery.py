"""Pictures of docs/gallery.md: every file of models/ in its default experiment.

    pip install '.[test]' && python tools/figures/gallery.py [model …] [--out FOLDER]

On the left the mechanism at several times, the last one in full colour; on the right what is worth looking at.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib
import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image

import liegeo as lg
from liegeo.model import FlexibleBody, SpringDamper
from liegeo.model.shapes import Box, Cylinder, Mesh, Sphere

ROOT = Path(__file__).parents[2]
PALETTE = ("#4477aa", "#cc6677", "#ddcc77", "#117733", "#88ccee", "#aa4499")
LINES = ("#0072B2", "#D55E00", "#009E73", "#999999")
LIGHT = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])
Curves = Callable[[lg.Result], dict[str, Any]]


@dataclass(frozen=True)
class Picture:
    """How a model is shown: from where, when (shares of the run), with which traces and curves.

    A view is azimuth and elevation in degrees; None is along −z, "above y" along −y.
    """

    curves: Curves
    label: str
    view: tuple[float, float] | str | None = (-60.0, 20.0)
    times: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    traces: tuple[str, ...] = ()
    # how much larger than life deformations are drawn
    magnify: float = 1.0
    options: tuple[tuple[str, Any], ...] = ()


def columns(**names: str) -> Curves:
    return lambda run: {label.replace("_", " "): run[name] for label, name in names.items()}


def degrees(**names: str) -> Curves:
    return lambda run: {label.replace("_", " "): np.degrees(run[name]) for label, name in names.items()}


def _spin_lag(run: lg.Result) -> dict[str, Any]:
    x, _, z = run["beam_8.4.position"].T
    angle = run["hub.angle"]
    return {"tip behind the rigid line": np.sin(angle) * x + np.cos(angle) * z}


def _chord(run: lg.Result) -> dict[str, Any]:
    a, m, b = (run[f"rod.{k}.position"][:, :2] for k in (0, 6, 12))
    d = (b - a) / np.linalg.norm(b - a, axis=1)[:, np.newaxis]
    return {"middle of the rod off its chord": 1e3 * (d[:, 0] * (m - a)[:, 1] - d[:, 1] * (m - a)[:, 0])}


def _tip_offset(tip: str) -> Curves:
    def of(run: lg.Result) -> dict[str, Any]:
        angle, (x, y, _) = run["hinge.angle"], run[f"{tip}.position"].T
        return {"tip off the root's tangent": 1e3 * (np.cos(angle) * y - np.sin(angle) * x)}

    return of


def _oval(run: lg.Result) -> dict[str, Any]:
    across = [np.linalg.norm(run[f"arc_{a}.4.position"] - run[f"arc_{a + 4}.4.position"], axis=1) for a in (2, 4)]
    return {"along the axis of tumbling": across[0], "across it": across[1]}


def _panels(run: lg.Result) -> dict[str, Any]:
    return {"tip of the left panel": 1e3 * _deflection(run, "left", "10")}


def _deflection(run: lg.Result, body: str, node: str) -> Any:
    """How far a node has moved along the body's own y axis."""
    made = next(b for b in run.model.tree.bodies if b.name == body)
    return run[f"{body}.eta"] @ np.asarray(made.nodes[node].modes)[4]


PICTURES = {
    "andrews_squeezer": Picture(
        columns(gamma="gamma.angle", phi="phi.angle", epsilon="epsilon.angle"),
        "rad",
        view=None,
        traces=("b2.P",),
        times=(0.0, 0.35, 0.7, 1.0),
    ),
    "bricard": Picture(degrees(first_hinge="hinge0.angle"), "degrees", view=(-60, 25), traces=("rod1.end",)),
    "calculix_link": Picture(
        lambda run: {"tip": 1e3 * run["link.eta"] @ np.asarray(run.model.tree.bodies[1].nodes["tip"].modes)[5]},
        "deflection / mm",
        view=None,
        times=(0.0, 0.06, 0.12, 0.18, 0.25),
        traces=("payload",),
    ),
    "crane": Picture(
        lambda run: {"cylinder": 1e-3 * run["luffing.tau"]}, "force / kN", view=(-50, 20), traces=("load", "boom.10")
    ),
    "pick_and_place": Picture(
        degrees(shoulder="shoulder.angle", elbow="elbow.angle"),
        "degrees",
        view=(-70, 30),
        times=(0.0, 0.15, 0.3, 0.45),
        traces=("spindle.tool",),
    ),
    "double_pendulum": Picture(
        degrees(upper="top.angle", lower="middle.angle"), "degrees", view=(-90, 0), traces=("lower.end",)
    ),
    "flexible_arm": Picture(
        degrees(yaw="yaw.angle"), "degrees", view=(-60, 25), times=(0.0, 0.25, 0.5), traces=("payload.tip",)
    ),
    "flexible_ring": Picture(_oval, "diameter / m", view=(-65, 25), times=(0.0, 0.03, 0.06, 0.09)),
    "fls13_pendulum": Picture(
        _tip_offset("rod_4.4"), "mm", view=None, times=(0.0, 0.06, 0.1, 0.14, 0.18, 0.22), traces=("rod_4.4",)
    ),
    "fls13_pendulum_sid": Picture(
        _tip_offset("rod.20"), "mm", view=None, times=(0.0, 0.06, 0.1, 0.14, 0.18, 0.22), traces=("rod.20",)
    ),
    "fls13_slider_crank": Picture(_chord, "mm", view=None, times=(0.2, 0.5, 0.6, 0.7, 0.75), traces=("rod.6",)),
    "fls13_spin_up": Picture(_spin_lag, "m", view="above y", times=(0.0, 0.19, 0.25, 0.29, 0.32), traces=("beam_8.4",)),
    "heavy_top": Picture(
        lambda run: {"height of the tip": run["body.tip.position"][:, 2]}, "m", traces=("body.tip",), times=(0.0, 1.0)
    ),
    "jr90_manipulator": Picture(
        degrees(hinge_1="hinge_1.angle", hinge_3="hinge_3.angle"),
        "degrees",
        view=(-40, 25),
        times=(0.0, 0.15, 0.3, 0.45),
        traces=("payload.tip",),
    ),
    "m01_platform": Picture(
        lambda run: {"payload": 1e3 * run["payload.acceleration"][:, 2]},
        "acceleration / (mm/s²)",
        view=(-50, 20),
        times=(0.0, 0.2, 0.4, 1.0),
        traces=("payload",),
    ),
    "scissor_mast": Picture(
        lambda run: {"foot": 1e-3 * run["deploy.tau"]}, "torque / kN·m", view=None, traces=("a99.end",)
    ),
    "st21_spacecraft": Picture(_panels, "deflection / mm", view=(-30, 25), times=(0.0, 0.28), magnify=20.0),
    "sy16_four_bar": Picture(
        lambda run: {"link 3": run["link3.center.acceleration"][:, 0]},
        "acceleration / (m/s²)",
        view=None,
        traces=("link3.center",),
    ),
}


# ---- surfaces


def _ball(radius: float) -> tuple[Any, Any]:
    theta, phi = np.meshgrid(np.linspace(0, np.pi, 9), np.linspace(0, 2 * np.pi, 17), indexing="ij")
    points = radius * np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=-1)
    return points.reshape(-1, 3), _grid(9, 17)


def _tube(radius: float, length: float) -> tuple[Any, Any]:
    phi = np.linspace(0, 2 * np.pi, 25)
    rings = [(0.0, -0.5), (1.0, -0.5), (1.0, 0.5), (0.0, 0.5)]
    points = [
        np.stack([r * radius * np.cos(phi), r * radius * np.sin(phi), np.full(25, z * length)], axis=1)
        for r, z in rings
    ]
    return np.concatenate(points), _grid(4, 25)


def _grid(rows: int, columns: int) -> Any:
    a = (np.arange(rows - 1)[:, np.newaxis] * columns + np.arange(columns - 1)).ravel()
    return np.concatenate(
        [np.stack([a, a + 1, a + columns], axis=1), np.stack([a + 1, a + columns + 1, a + columns], axis=1)]
    )


def _box(size: Any) -> tuple[Any, Any]:
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * size
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corners, np.array([t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))])


def _surface(shape: Any) -> tuple[Any, Any]:
    if isinstance(shape, Box):
        points, triangles = _box(np.asarray(shape.size))
    elif isinstance(shape, Sphere):
        points, triangles = _ball(shape.radius)
    elif isinstance(shape, Cylinder):
        points, triangles = _tube(shape.radius, shape.length)
    else:
        assert isinstance(shape, Mesh)
        points, triangles = np.asarray(shape.vertices), np.asarray(shape.triangles)
    X = np.asarray(shape.at)
    return points @ X[:3, :3].T + X[:3, 3], triangles


def _rotation(quaternion: Any) -> Any:
    return np.asarray(lg.lie.SO3Q.matrix(quaternion))


class Stage:
    """Triangles and lines of a run, as seen from somewhere."""

    def __init__(self, run: lg.Result, picture: Picture) -> None:
        self.run, self.picture = run, picture
        if picture.view is None:
            self.right, self.up, self.out = np.eye(3)
        elif isinstance(picture.view, str):
            self.right, self.up, self.out = np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]])
        else:
            azimuth, elevation = np.radians(picture.view)
            self.out = np.array(
                [np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)]
            )
            self.right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
            self.up = np.cross(self.out, self.right)

    def flat(self, points: Any) -> Any:
        return np.stack([points @ self.right, points @ self.up], axis=-1)

    def parts(self, k: int) -> list[tuple[Any, Any, str]]:
        """At sample k: points in the world, triangles, colour."""
        out = []
        for i, body in enumerate(self.run.model.tree.bodies):
            R, p = _rotation(self.run[f"{body.name}.quaternion"][k]), self.run[f"{body.name}.position"][k]
            for shape in body.shapes:
                points, triangles = _surface(shape)
                out.append((points @ R.T + p, triangles, shape.color or PALETTE[i % 6]))
            if isinstance(body, FlexibleBody) and body.skin is not None:
                eta = self.picture.magnify * self.run[f"{body.name}.eta"][k]
                points = np.asarray(body.skin.vertices) + np.asarray(body.skin.modes) @ eta
                out.append((points @ R.T + p, np.asarray(body.skin.triangles), PALETTE[i % 6]))
        return out

    def sticks(self, k: int) -> list[Any]:
        """Lines through the nodes of flexible bodies that have no surface, and springs."""
        run, out = self.run, []
        for body in run.model.tree.bodies:
            if isinstance(body, FlexibleBody) and body.skin is None:
                nodes = sorted(body.nodes, key=lambda n: float(np.asarray(body.nodes[n].pose)[0, 3]))
                out.append(np.array([run[f"{body.name}.{node}.position"][k] for node in nodes]))
        springs = [force for force in run.model.tree.forces if isinstance(force, SpringDamper)]
        return out + [np.array([self._end(place, k) for place in spring.places()]) for spring in springs]

    def _end(self, place: Any, k: int) -> Any:
        if isinstance(place, str):
            return self.run[f"{place}.position"][k]
        X = np.asarray(place[1], dtype=float)
        return X[:3, 3] if X.shape == (4, 4) else X


def _shaded(stage: Stage, k: int, fade: float) -> tuple[Any, Any, Any]:
    """Corners in the picture, depths and colours of all triangles; `fade` 1 is white."""
    corners, depths, colors = [], [], []
    for points, triangles, color in stage.parts(k):
        faces = points[triangles]
        normal = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
        size = np.linalg.norm(normal, axis=1)
        keep = size > 1e-14
        faces, normal = faces[keep], normal[keep] / size[keep, np.newaxis]
        normal *= np.where(normal @ stage.out < 0, -1.0, 1.0)[:, np.newaxis]
        bright = 0.55 + 0.45 * np.clip(normal @ LIGHT, 0.0, 1.0)
        shaded = np.asarray(to_rgb(color)) * bright[:, np.newaxis]
        corners.append(stage.flat(faces))
        depths.append(faces.mean(axis=1) @ stage.out)
        colors.append(shaded + fade * (1.0 - shaded))
    if not corners:
        return np.zeros((0, 3, 2)), np.zeros(0), np.zeros((0, 3))
    return np.concatenate(corners), np.concatenate(depths), np.concatenate(colors)


def draw(name: str, folder: Path) -> Path:
    picture = PICTURES[name]
    mechanism = lg.load(ROOT / "models" / f"{name}.yaml")
    run = mechanism.simulate(**dict(picture.options))
    stage = Stage(run, picture)
    figure = Figure(figsize=(8.0, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1.0))
    last = len(run.t) - 1
    samples = [round(share * last) for share in picture.times]
    for rank, k in enumerate(samples):
        fade = 0.0 if k == samples[-1] else 0.75 - 0.35 * rank / len(samples)
        corners, depths, colors = _shaded(stage, k, fade)
        order = np.argsort(depths)
        faces = PolyCollection(corners[order], facecolors=colors[order], edgecolors="face", linewidths=0.2)
        faces.set_zorder(2 + rank)
        left.add_collection(faces)
        for line in stage.sticks(k):
            left.plot(*stage.flat(line).T, color=str(0.8 * fade), linewidth=1.2, zorder=2.5 + rank)
    for trace in picture.traces:
        path = stage.flat(run[f"{trace}.position"][: max(samples) + 1])
        left.plot(*path.T, color="#D55E00", linewidth=0.7, zorder=1)
    left.set_aspect("equal")
    left.autoscale_view()
    left.axis("off")
    for (label, values), color in zip(picture.curves(run).items(), LINES, strict=False):
        right.plot(run.t, values, color=color, linewidth=0.9, label=label)
    right.set_xlabel("t / s", fontsize=9)
    right.set_ylabel(picture.label, fontsize=9)
    right.spines[["top", "right"]].set_visible(False)
    right.tick_params(labelsize=8)
    right.legend(fontsize=8, frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3)
    path = folder / f"gallery_{name}.png"
    figure.savefig(path, dpi=100)
    # a palette is enough, and a third of the bytes
    with Image.open(path) as image:
        small = image.convert("RGB").quantize(256)
    small.save(path, optimize=True)
    size = path.stat().st_size / 1e3
    print(f"{name:22} {run.model.nv:4} dof  {run.info.method:18} {run.info.seconds:6.2f} s  {size:5.0f} kB")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", choices=[*PICTURES, []], help="names of files in models/; all if none")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures")
    given = parser.parse_args()
    matplotlib.use("agg")
    for name in given.models or PICTURES:
        draw(name, given.out)


if __name__ == "__main__":
    main()
