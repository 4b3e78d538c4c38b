"""What the readers of other programs' robot files share: names that fit a tree, colours, one collected warning."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo import model as lm
from liegeo.dynamics import mass_matrix
from liegeo.errors import InputError, ModelError

Array = NDArray[np.float64]

#: No description of a robot is as long as this; its meshes are files of their own.
MAX_BYTES = 16 * 2**20


class UniqueNames:
    """One set of names for everything in a tree, from files that have one set each for links, joints and the rest.

    A name stays as it is, unless somebody took it before, or it is "world": then a suffix tells what it names, and if
    that is taken too, a number.  A dot would read as "body.frame", so it becomes "_".
    """

    def __init__(self) -> None:
        self._taken = {"world"}
        self.renamed: list[str] = []

    def take(self, name: str, suffix: str) -> str:
        clean = name.replace(".", "_")
        free, k = clean, 1
        while free in self._taken:
            free, k = f"{clean}_{suffix}" + (f"_{k}" if k > 1 else ""), k + 1
        self._taken.add(free)
        if free != name:
            self.renamed.append(f"{suffix} '{name}' is '{free}'")
        return free

    def note(self) -> list[str]:
        """What was renamed, for the user."""
        if not self.renamed:
            return []
        return [f"names that a tree cannot have, or has already, were changed: {shorten(self.renamed)}."]


def shorten(items: Sequence[str], most: int = 8) -> str:
    """A list to read: all of it if it is not much."""
    more = f", and {len(items) - most} more" if len(items) > most + 1 else ""
    return ", ".join(items[:most] if more else items) + more


def read_bytes(path: Path, what: str) -> bytes:
    """The text of a robot file, if it is there and not too long."""
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError(f"'{path}': is not a file, expected {what} file.\n  Check the path.")
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise ModelError(
                f"{path.name}: has {size / 2**20:.1f} MiB, expected at most {MAX_BYTES // 2**20} MiB for {what}.\n"
                "  Put meshes into files of their own."
            )
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"'{path}': cannot be read ({error.strerror}), expected {what} file.\n  Check the path."
        ) from None


def css_color(rgba: ArrayLike) -> str:
    """Red, green, blue and opacity from 0 to 1, as CSS writes them."""
    levels = [round(255 * min(max(float(x), 0.0), 1.0)) for x in np.asarray(rgba)]
    return "#" + "".join(f"{level:02x}" for level in (levels if levels[3] < 255 else levels[:3]))


def warn_once(who: str, notes: Sequence[str]) -> None:
    """Everything that a reader did not take over, in one warning."""
    if notes:
        warnings.warn("\n  - ".join([f"{who}: not everything was taken over.", *notes]), UserWarning, stacklevel=3)


#: The time in which a stop slows its joint down, and the share by which its force grows per rad/s or m/s of the impact.
STOP_TIME, STOP_DISSIPATION = 0.02, 5.0


class Limit(NamedTuple):
    """The range of a joint, and the time in which its stops slow it down; of a ball joint `upper` is an angle."""

    lower: float
    upper: float
    time: float = STOP_TIME
    ball: bool = False


def with_stops(tree: lm.Tree, limits: Mapping[str, Limit], names: UniqueNames, notes: list[str]) -> lm.Tree:
    """Return the tree with a Stop "‹joint›_stops" for each joint that has limits, a BallStop for ball joints.

    Files say where stops are, not how stiff.  With the inertia J that a joint feels where all coordinates are zero, the
    others free, 1/(M⁻¹)ₖₖ, the stiffness J/T² lets an impact last π T, whatever the size of the robot (the default of
    MuJoCo has the same T of 0.02 s).
    """
    if not limits:
        return tree
    model = tree.compile()
    M = mass_matrix(model, model.state())
    with np.errstate(all="ignore"):
        try:
            inertias = 1.0 / np.diag(np.linalg.inv(M))
        except np.linalg.LinAlgError:
            inertias = np.diag(M)
    stops: list[lm.Force] = []
    weightless = []
    for joint, limit in limits.items():
        speeds = model.index(joint).v
        # of a ball joint the smallest: the stop is as stiff for all axes
        inertia = float(np.min(inertias[speeds]) if limit.ball else inertias[speeds.start])
        if not (np.isfinite(inertia) and inertia > 0.0):
            weightless.append(joint)
            continue
        name, stiffness = names.take(f"{joint}_stops", "stop"), inertia / limit.time**2
        if limit.ball:
            given = {"turn": limit.upper, "stiffness": stiffness, "dissipation": STOP_DISSIPATION}
            stops.append(lm.BallStop(name=name, joint=joint, **given))
            continue
        stops.append(
            lm.Stop(
                name=name,
                joint=joint,
                lower=limit.lower,
                upper=limit.upper,
                stiffness=stiffness,
                dissipation=STOP_DISSIPATION,
            )
        )
    if weightless:
        notes.append(f"limits of joints that move nothing that has mass: {shorten(weightless)}.")
    return dataclasses.replace(tree, forces=[*tree.forces, *stops])
