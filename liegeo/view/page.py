"""One HTML file that shows runs or models in three dimensions, plays them, and needs nothing else.

The file holds the viewer (`page/*.js`, as it stands), three.js (`page/three`, as published, compressed), the scene as
JSON and all motion as one compressed run of numbers.  Its policy forbids the browser to fetch anything at all.
"""

from __future__ import annotations

import base64
import functools
import html
import json
import os
import reprlib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from liegeo.archives import gzipped
from liegeo.assembly import assemble
from liegeo.errors import InputError
from liegeo.model.model import Model, State
from liegeo.model.standin import HasModel, as_model, as_state
from liegeo.results.result import Result, RunInfo
from liegeo.results.tables import write_whole
from liegeo.view.arrays import Arrays
from liegeo.view.scene import Names, Scene, speed_for

# Our modules, and those of three.js by the names under which modules import them.
_OWN = ("data.js", "motion.js", "geometry.js", "stage.js", "plot.js", "panel.js", "viewer.js")
_THREE = {
    "three/core": "three/three.core.js",
    "three": "three/three.module.js",
    "three/addons/controls/OrbitControls.js": "three/OrbitControls.js",
}
# A module in memory has no folder, so that a relative import must become a name.
_RELATIVE, _NAMED = "'./three.core.js'", "'three/core'"

Runs = Result | Model | HasModel | Sequence[Result] | Mapping[str, Result]


def write_page(
    what: Runs,
    file: str | os.PathLike[str],
    *,
    state: State | None = None,
    traces: Names = (),
    arrows: Names = (),
    plots: Names = (),
    magnify: float = 1.0,
    speed: float | None = None,
    max_frames: int = 1000,
    title: str | None = None,
    choose: bool = False,
) -> Path:
    """Write a page that shows a run, several runs over each other (a list, or by label), or a model at rest.

    - `traces`: bodies, frames and nodes whose paths are drawn: "arm.tip", "*.tip".
    - `arrows`: forces and moments, called as their columns: "*.reaction.force", "motor.input", "push.input.force".
    - `plots`: columns to draw below the picture: "*.angle", "energy".
    - `magnify`: how much deformation is magnified at first.  `speed`: of playing, as a multiple of real time.
    - `max_frames`: how many samples are shown at most; between them the page interpolates.
    - `choose`: whether one of several runs is shown at a time, by choice, as modes are.
    - `state`: of a model, which otherwise rests in its zero position, as far as its loops let it.

    Returns the path of the file.
    """
    runs = _runs(what, state)
    arrays = Arrays()
    shown = []
    for label, run in runs.items():
        scene = Scene(run.model, arrays, traces, arrows, plots)
        frames = scene.frames(run, scene.choose(run.t, _positive_int("max_frames", max_frames)), arrays)
        shown.append({"label": label, "frames": frames, **scene.description()})
    first = next(iter(runs.values()))
    seconds = max(float(run.t[-1] - run.t[0]) for run in runs.values())
    settings = {
        "title": title if title is not None else first.model.tree.name,
        "magnify": positive("magnify", magnify),
        "speed": speed_for(seconds) if speed is None else positive("speed", speed),
        "live": False,
        "choose": bool(choose),
        "runs": shown,
    }
    text = compose(settings, arrays.content())
    return write_whole(file, lambda target: target.write(text))


def compose(settings: Mapping[str, Any], data: bytes) -> bytes:
    """The page, from the scene and the arrays that it refers to."""
    # "<" cannot end the script that holds it
    scene = json.dumps(settings, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    parts = {
        "title": html.escape(str(settings["title"])),
        "connect": "'self'" if settings["live"] else "'none'",
        "scene": scene,
        "data": _packed(data),
    }
    return "".join(
        parts[piece[2:-2]] if piece.startswith("{{") and piece[2:-2] in parts else piece for piece in _template()
    ).encode()


@functools.cache
def _template() -> list[str]:
    """The page in pieces; those in double braces are to be filled in."""
    three = "".join(
        f'<script type="text/plain" data-packed="{name}">{_packed(_module(path).encode())}</script>\n'
        for name, path in _THREE.items()
    )
    own = "".join(
        f'<script type="text/plain" data-module="liegeo/{name}">\n{_module(name)}</script>\n' for name in _OWN
    )
    filled = {"style": _read("viewer.css"), "boot": _read("boot.js"), "modules": three + own}
    pieces: list[str] = []
    rest = _read("viewer.html")
    while "{{" in rest:
        before, _, after = rest.partition("{{")
        name, _, rest = after.partition("}}")
        pieces += [before, filled.get(name, f"{{{{{name}}}}}")]
    return [*pieces, rest]


def _module(path: str) -> str:
    return _read(path).replace(_RELATIVE, _NAMED)


def _read(path: str) -> str:
    return resources.files("liegeo.view").joinpath("page", *path.split("/")).read_text(encoding="utf-8")


def _packed(content: bytes) -> str:
    return base64.b64encode(gzipped(content)).decode()


def _runs(what: Any, state: State | None) -> dict[str, Result]:
    """Runs by label."""
    if isinstance(what, Model | HasModel):
        return {"": still_run(as_model(what, "view"), as_state(what, state))}
    if state is not None:
        raise InputError("view: state is given with a run, expected it with a model alone.")
    if isinstance(what, Result):
        return {"": what}
    if isinstance(what, Mapping):
        runs = {str(label): run for label, run in what.items()}
    elif isinstance(what, Sequence) and not isinstance(what, str):
        runs = {f"run {k + 1}": run for k, run in enumerate(what)}
    else:
        hint = "\n  Call compile() on it." if hasattr(what, "compile") else ""
        raise InputError(
            f"view: cannot show {reprlib.repr(what)}, expected a Result, several of them, or a Model.{hint}"
        )
    if not runs:
        raise InputError("view: there are no runs, expected at least one Result.")
    for label, run in runs.items():
        if not isinstance(run, Result):
            raise InputError(f"view: '{label}' is {reprlib.repr(run)}, expected a Result.")
    return runs


def still_run(model: Model, state: State | None) -> Result:
    """A run of one sample."""
    state = assemble(model) if state is None else state
    if not isinstance(state, State) or state.q.shape != (model.nq,) or state.v.shape != (model.nv,):
        raise InputError(f"view: state is {state!r}, expected model.state(…) of this model.")
    u = np.zeros((1, model.nv + model.nu))
    q, v, x = (array[np.newaxis] for array in (state.q, state.v, state.x))
    return Result(model, np.array([state.t]), q, v, u, RunInfo("none", 0), x)


def positive(who: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 < value < np.inf:
        raise InputError(f"view: {who} is {value!r}, must be a number > 0.")
    return float(value)


def _positive_int(who: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 2:
        raise InputError(f"view: {who} is {value!r}, expected a whole number ≥ 2.")
    return int(value)
