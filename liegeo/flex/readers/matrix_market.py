"""Sparse matrices in Matrix Market (.mtx) or SciPy's .npz, with nodes in a table: for any program with a script.

Nodes are a CSV file with the columns id, x, y, z, or an .npz file with `id` (N) and `position` (N × 3).  Rows of the
matrices are 3 (displacements) or 6 (displacements, then rotations, as FE programs number them) for each node in that
order.  If they are not, a table `dofs` says what each row is: CSV with the columns node, direction, or `dofs` (n × 2)
in the .npz, with directions 1–3 for displacement and 4–6 for rotation.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from liegeo._lazy import late
from liegeo.errors import ModelError
from liegeo.flex.fe import FEModel
from liegeo.flex.readers import _common
from liegeo.flex.readers._common import Array, PathLike

if TYPE_CHECKING:
    import scipy.io as sio
    import scipy.sparse as sp
else:
    sio = late("scipy.io")
    sp = late("scipy.sparse")


def read(
    path: PathLike,
    *,
    mass: PathLike,
    nodes: PathLike,
    dofs: PathLike | None = None,
    name: str | None = None,
    free: bool = True,
) -> FEModel:
    """A model from the stiffness in `path`, the mass, and the nodes.  `free=False` also takes one that is held."""
    K, M = matrix(Path(path)), matrix(Path(mass))
    places, rows = _nodes(Path(nodes))
    if dofs is not None:
        rows = [
            (words[0], _common.fe_direction(where, words[1]))
            for where, words in _common.csv_rows(Path(dofs), ("node", "direction"))
        ]
    n = K.shape[0]
    if rows is None:
        if n not in (3 * len(places), 6 * len(places)):
            raise ModelError(
                f"{path}: has {n} rows for the {len(places)} nodes of {nodes}, expected 3 or 6 for each. Give dofs=, "
                "a table that says what each row is."
            )
        rows = [(node, d) for node in places for d in range(1, n // len(places) + 1)]
    for k, (node, _) in enumerate(rows, 1):
        if node not in places:
            raise ModelError(f"{dofs or nodes}: row {k} of the matrices is of node '{node}', which {nodes} lacks.")
    for file, found in ((path, K), (mass, M)):
        if found.shape != (len(rows), len(rows)):
            raise ModelError(f"{file}: has shape {found.shape}, expected {(len(rows), len(rows))}.")
    listed = [(node, _common.direction(d)) for node, d in rows]
    return _common.finish(name or _common.stem(Path(path)), places, listed, M, K, free)


def matrix(path: Path) -> sp.coo_array:
    """A real square matrix from .mtx, .mtx.gz or .npz."""
    if path.suffix.lower() == ".npz":
        data = io.BytesIO(_common.content(path))
        try:
            found = sp.load_npz(data)
            if found.format in ("csr", "csc", "bsr"):
                found.check_format(full_check=True)
        except Exception as error:  # zip, NumPy and SciPy have many of their own
            raise ModelError(f"{path}: is not a sparse matrix that scipy.sparse.save_npz wrote: {error}.") from None
    else:
        words = _common.text(path)
        if not words.startswith("%%MatrixMarket"):
            raise ModelError(f"{path}, line 1: does not start with %%MatrixMarket, expected a Matrix Market file.")
        try:
            found = sio.mmread(io.BytesIO(words.encode()))
        except Exception as error:  # as above
            raise ModelError(f"{path}: is not a Matrix Market file: {error}.") from None
    if found.ndim != 2 or found.shape[0] != found.shape[1] or not found.shape[0]:
        raise ModelError(f"{path}: has shape {found.shape}, expected a square matrix.")
    if np.dtype(found.dtype).kind not in "iuf":
        raise ModelError(f"{path}: holds numbers of type {found.dtype}, expected real ones.")
    # not yet by columns: a wrong head may promise many more than there is memory for
    return sp.coo_array(found, dtype=np.float64)


def _nodes(path: Path) -> tuple[dict[str, Array], list[tuple[str, int]] | None]:
    """Positions by name, and what each row is, if the file says it."""
    if path.suffix.lower() == ".npz":
        return _npz_nodes(path)
    places: dict[str, Array] = {}
    for where, words in _common.csv_rows(path, ("id", "x", "y", "z")):
        if words[0] in places:
            raise ModelError(f"{where}: node '{words[0]}' is given a second time.")
        places[words[0]] = np.array([_common.real(where, w) for w in words[1:]])
    return places, None


def _npz_nodes(path: Path) -> tuple[dict[str, Array], list[tuple[str, int]] | None]:
    try:
        with np.load(io.BytesIO(_common.content(path)), allow_pickle=False) as file:
            found: dict[str, Any] = {k: file[k] for k in file.files}
    except Exception as error:  # zip, NumPy and SciPy have many of their own
        raise ModelError(f"{path}: is not an .npz file of plain arrays: {error}.") from None
    for key in ("id", "position"):
        if key not in found:
            raise ModelError(f"{path}: has no array '{key}', expected id (N) and position (N × 3).")
    names, position = [str(x) for x in np.atleast_1d(found["id"])], found["position"]
    if position.shape != (len(names), 3) or position.dtype.kind not in "iuf" or not np.isfinite(position).all():
        raise ModelError(f"{path}: position has shape {position.shape}, expected {(len(names), 3)}, finite numbers.")
    if len(set(names)) != len(names):
        raise ModelError(f"{path}: a node is given twice, expected each id once.")
    rows = None
    if "dofs" in found:
        dofs = found["dofs"]
        if dofs.ndim != 2 or dofs.shape[1] != 2:
            raise ModelError(f"{path}: dofs has shape {dofs.shape}, expected (n, 2): node and direction.")
        rows = [(str(a), _common.fe_direction(f"{path}, dofs[{k}]", str(b))) for k, (a, b) in enumerate(dofs.tolist())]
    return {n: np.asarray(p, dtype=np.float64) for n, p in zip(names, position, strict=True)}, rows


def _is_mine(path: Path) -> bool:
    return path.suffix.lower() != ".mtx" or _common.content(path).startswith(b"%%MatrixMarket")


READER = _common.Reader(
    "matrix_market",
    (".mtx", ".npz"),
    "sparse M and K in Matrix Market or SciPy's .npz, nodes in CSV or .npz",
    read,
    _is_mine,
)
