"""CalculiX: what *FREQUENCY, SOLVER=MATRIXSTORAGE writes, with the nodes of the deck.

    job.inp  the deck          job.sti  stiffness, job.mas  mass: "row column value", the upper triangle by columns
    job.dof  "node.direction" of each row, 1–3 for displacement

Rows are those degrees of freedom that nothing prescribes: what *BOUNDARY holds is missing, and so is what an equation
makes depend on others, whose matrices then hold it.  A deck to be read has no *BOUNDARY and solid elements only:
beams and shells become solids with nodes that the deck does not have, and the incompatible modes of C3D8I get rows at
such nodes, too.  The rotation node of a *RIGID BODY and the pilot of a MEANROT have rows that are angles, though they
are called displacements: such decks are refused, also with free=False.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from liegeo._lazy import late
from liegeo.errors import ModelError
from liegeo.flex.fe import FEModel
from liegeo.flex.readers import _common, _deck
from liegeo.flex.readers._common import PathLike

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = late("scipy.sparse")

# What makes a row that is called a displacement something else.
_REFUSED = {
    "RIGID BODY": (
        "gives the displacements of its rotation node the meaning of rotations, and the other nodes no rows: read as "
        "displacements they would be wrong. Leave it out of the deck, and tie the nodes in liegeo (rigid_link)."
    ),
    "MPC MEANROT": (
        "makes a displacement of its last node an angle: read as a displacement it would be wrong. Leave it out of the "
        "deck, and tie the nodes in liegeo (rigid_link)."
    ),
}


def read(
    path: PathLike,
    *,
    stiffness: PathLike | None = None,
    mass: PathLike | None = None,
    dofs: PathLike | None = None,
    name: str | None = None,
    free: bool = True,
) -> FEModel:
    """A model from job.inp (or any of its files) and the .sti, .mas and .dof beside it, plain or with .gz.

    `free=False` also takes a model that boundary conditions hold.
    """
    given = Path(path)
    deck = given if given.suffix.lower() == ".inp" else _common.sibling(given, ".inp")
    order = Path(dofs) if dofs is not None else _common.sibling(given, ".dof")
    places = _deck.nodes(deck, _REFUSED)
    found = _dofs(order, places)
    M, K = (
        _matrix(Path(file) if file is not None else _common.sibling(given, suffix), found, order, what)
        for file, suffix, what in ((mass, ".mas", "the mass"), (stiffness, ".sti", "the stiffness"))
    )
    listed = [(node, _common.direction(d)) for node, d in found]
    return _common.finish(name or _common.stem(given), places, listed, M, K, free)


def _dofs(path: Path, places: dict[int, _common.Array]) -> list[tuple[int, int]]:
    """Node and CalculiX's direction of each row."""
    out = []
    for number, line in enumerate(_common.text(path).splitlines(), 1):
        where = f"{path}, line {number}"
        match = re.fullmatch(r"([0-9]{1,15})\.([123])", line.strip())
        if match is None:
            raise ModelError(f"{where}: '{line.strip()}' is not node.direction with a direction 1, 2 or 3.")
        node, d = int(match[1]), int(match[2])
        if node not in places:
            raise ModelError(
                f"{where}: node {node} is not in the deck. CalculiX adds nodes of its own for beams, shells and C3D8I; "
                "expected other solid elements, and all nodes in *NODE blocks."
            )
        out.append((node, d))
    if len(set(out)) != len(out):
        raise ModelError(f"{path}: a degree of freedom is listed twice.")
    return out


def _matrix(path: Path, found: list[tuple[int, int]], order: Path, what: str) -> sp.csc_array:
    n = len(found)
    values = _common.table(path, _common.text(path), ("row", "column", "value"))
    ij = values[:, :2].astype(np.int64)
    if ij.min() < 1 or ij.max() > n:
        line = int(np.flatnonzero((ij < 1).any(axis=1) | (ij > n).any(axis=1))[0])
        raise ModelError(f"{path}, line {line + 1}: entry {tuple(ij[line].tolist())}, but {order} lists {n} rows.")
    # each column ends with its diagonal, so that a cut anywhere loses one
    present = np.zeros(n, dtype=bool)
    present[ij[ij[:, 0] == ij[:, 1], 0] - 1] = True
    if not present.all():
        row = int(np.flatnonzero(~present)[0])
        node, d = found[row]
        raise ModelError(
            f"{path}: has no diagonal entry {row + 1} (node {node}, direction {d}), expected all {n} of {order}. "
            "The file is cut short, or the two do not belong together."
        )
    return _common.symmetric(path, ij[:, 0] - 1, ij[:, 1] - 1, values[:, 2], n, what)


READER = _common.Reader(
    "calculix",
    (".inp", ".sti", ".mas", ".dof"),
    "CalculiX: .sti, .mas and .dof of SOLVER=MATRIXSTORAGE, nodes of the deck",
    read,
    lambda path: _common.sibling(path, ".sti").exists(),
)
