"""Abaqus: the text files of *MATRIX GENERATE and *MATRIX OUTPUT, with the nodes of the deck.

    *MATRIX GENERATE, STIFFNESS, MASS
    *MATRIX OUTPUT, STIFFNESS, MASS, FORMAT=MATRIX INPUT

gives job_STIF1.mtx and job_MASS1.mtx (1 is the step) with lines "node, direction, node, direction, value"; a triangle
or all entries.  FORMAT=COORDINATE has lines "row column value" and does not say which row is what; it is read as all
directions of all nodes of the deck, by number.  A degree of freedom that a boundary condition holds has 1e36 on its
diagonal, and is refused unless free=False.
"""

from __future__ import annotations

import glob
import re
from pathlib import Path
from typing import Any

import numpy as np

from liegeo.errors import ModelError
from liegeo.flex.fe import FEModel
from liegeo.flex.readers import _common, _deck
from liegeo.flex.readers._common import Array, PathLike

_LABELS = ("node", "direction", "node", "direction", "value")
_COORDINATES = ("row", "column", "value")


def read(
    path: PathLike,
    *,
    stiffness: PathLike | None = None,
    mass: PathLike | None = None,
    name: str | None = None,
    free: bool = True,
) -> FEModel:
    """A model from job.inp and its two matrix files, job_STIF*.mtx and job_MASS*.mtx beside it if not given.

    `path` may also be job_STIF1.mtx: then the mass and the deck of the same job and step are taken.
    """
    given = Path(path)
    deck, K_path, M_path = _files(given, stiffness, mass)
    places = _deck.nodes(deck)
    K, M = _entries(K_path), _entries(M_path)
    if K.shape[1] != M.shape[1]:
        raise ModelError(
            f"{M_path}: lines of {M.shape[1]} numbers, but {K_path} has {K.shape[1]}, expected one format for both."
        )
    if K.shape[1] == 3:
        found, K, M = _ordered(K_path, M_path, K, M, sorted(places))
    else:
        for file, values in ((K_path, K), (M_path, M)):
            _check_labels(file, values, places)
        pairs = np.concatenate([values[:, c : c + 2] for values in (K, M) for c in (0, 2)]).astype(np.int64)
        found = [(int(a), int(b)) for a, b in np.unique(pairs, axis=0)]
        K, M = _numbered(K, found), _numbered(M, found)
    n = len(found)
    M_matrix, K_matrix = (
        _common.symmetric(file, v[:, 0], v[:, 1], v[:, 2], n, what)
        for file, v, what in ((M_path, M, "the mass"), (K_path, K, "the stiffness"))
    )
    listed = [(node, _common.direction(d)) for node, d in found]
    return _common.finish(name or deck.stem, places, listed, M_matrix, K_matrix, free)


def _files(given: Path, stiffness: PathLike | None, mass: PathLike | None) -> tuple[Path, Path, Path]:
    """The deck, the stiffness and the mass."""
    match = re.fullmatch(r"(.+)_(STIF|MASS)(\d+)\.mtx", given.name, re.IGNORECASE)
    if match:
        deck = given.with_name(match[1] + ".inp")
        K, M = (given.with_name(f"{match[1]}_{word}{match[3]}.mtx") for word in ("STIF", "MASS"))
        return deck, Path(stiffness or K), Path(mass or M)
    out = []
    for file, word in ((stiffness, "STIF"), (mass, "MASS")):
        if file is not None:
            out.append(Path(file))
            continue
        found = sorted(given.parent.glob(f"{glob.escape(given.stem)}_{word}*.mtx"))
        if len(found) != 1:
            names = ", ".join(f.name for f in found) or "none"
            option = "stiffness" if word == "STIF" else "mass"
            raise ModelError(f"{given}: found {names} for {given.stem}_{word}*.mtx, expected one. Give {option}=file.")
        out.append(found[0])
    return given, out[0], out[1]


def _entries(path: Path) -> Array:
    """Lines of five numbers, or of three; comments (**) left out."""
    lines = _common.text(path).split("\n")
    keyword = next((k for k, line in enumerate(lines, 1) if re.match(r"\s*\*(?!\*)", line)), None)
    if keyword is not None:
        raise ModelError(
            f"{path}, line {keyword}: a keyword, as in matrices of elements or substructures, which are not read. "
            "Expected *MATRIX OUTPUT, FORMAT=MATRIX INPUT of the whole model."
        )
    # comments become empty, so that lines keep their numbers
    found = "\n".join("" if line.lstrip().startswith("**") else line for line in lines)
    labels = "," in found
    return _common.table(path, found, _LABELS if labels else _COORDINATES, "," if labels else None)


def _check_labels(path: Path, values: Array, places: dict[int, Array]) -> None:
    for c in (0, 2):
        nodes, directions = values[:, c].astype(np.int64), values[:, c + 1].astype(np.int64)
        for node in np.unique(nodes).tolist():
            if node <= 0:
                raise ModelError(
                    f"{path}: holds the internal node {node} (a multiplier, or a node that Abaqus added), which has no "
                    "place. Avoid hybrid elements, B31H and distributing couplings, or condense it first."
                )
            if node not in places:
                raise ModelError(f"{path}: node {node} is not in the deck, expected all nodes in *NODE blocks.")
        for d in np.unique(directions).tolist():
            if not 1 <= d <= 6:
                raise ModelError(f"{path}: direction {d}, expected 1 to 6 (temperatures and others are not read).")


def _numbered(values: Array, found: list[tuple[int, int]]) -> Array:
    """Rows and columns instead of nodes and directions."""
    keys = np.array([8 * node + d for node, d in found])
    ij = [np.searchsorted(keys, (8 * values[:, c] + values[:, c + 1]).astype(np.int64)) for c in (0, 2)]
    return np.column_stack([*ij, values[:, 4]])


def _ordered(K_path: Path, M_path: Path, K: Array, M: Array, nodes: list[int]) -> tuple[Any, Array, Array]:
    """FORMAT=COORDINATE: all directions of all nodes by number."""
    n = int(K[:, :2].max())
    if n not in (3 * len(nodes), 6 * len(nodes)):
        raise ModelError(
            f"{K_path}: has {n} rows for the {len(nodes)} nodes of the deck, expected 3 or 6 for each; the coordinate "
            "format does not say which they are. Write FORMAT=MATRIX INPUT."
        )
    for path, values in ((K_path, K), (M_path, M)):
        if values[:, :2].min() < 1 or values[:, :2].max() > n:
            line = int(np.flatnonzero((values[:, :2] < 1).any(axis=1) | (values[:, :2] > n).any(axis=1))[0])
            raise ModelError(f"{path}: entry {line + 1} is outside rows and columns 1 to {n}.")
    shift = np.array([1.0, 1.0, 0.0])
    each = range(1, n // len(nodes) + 1)
    return [(node, d) for node in nodes for d in each], K - shift, M - shift


READER = _common.Reader(
    "abaqus",
    (".inp", ".mtx"),
    "Abaqus: text files of *MATRIX OUTPUT, nodes of the deck",
    read,
)
