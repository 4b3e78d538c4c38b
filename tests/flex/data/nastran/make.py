"""Make the Nastran test data, with pyNastran 1.4 and pyYeti 1.4 (numpy < 2), in an environment of its own:

    pip install pyNastran pyyeti "numpy<2" && python make.py

A free frame of four grid points and three Bernoulli beams, whose matrices are written in all the ways that the two
packages know.  truth.npz holds what they were made from.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from pyNastran.bdf.bdf import BDF, CaseControlDeck
from pyNastran.op2.op2 import OP2, read_op2
from pyNastran.op2.result_objects.matrix import Matrix
from pyNastran.op2.tables.oug.oug_eigenvectors import RealEigenvectorArray
from pyNastran.op4.op4 import OP4
from pyyeti.nastran import op4
from scipy.linalg import eigh

HERE = Path(__file__).parent
# grid points in an order that is not that of their numbers
POINTS = {11: (0.0, 0.0, 0.0), 5: (1.0, 0.2, 0.0), 27: (1.9, 0.3, 0.5), 130: (2.1, 1.2, 0.9)}
E, G, RHO = 7.0e10, 2.6e10, 2700.0
A, I_Y, I_Z, J = 6.0e-4, 2.0e-8, 4.5e-8, 5.0e-8


def beam(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and consistent mass of a Bernoulli beam, three displacements and three rotations at each end."""
    x = b - a
    L = float(np.linalg.norm(x))
    x = x / L
    y = np.cross([0.0, 0.0, 1.0], x)
    y /= np.linalg.norm(y)
    T = np.kron(np.eye(4), np.array([x, y, np.cross(x, y)]))
    K, M = np.zeros((12, 12)), np.zeros((12, 12))
    rod, rod_mass = np.array([[1, -1], [-1, 1]]), np.array([[2, 1], [1, 2]]) / 6.0
    K[np.ix_([0, 6], [0, 6])] = E * A / L * rod
    K[np.ix_([3, 9], [3, 9])] = G * J / L * rod
    M[np.ix_([0, 6], [0, 6])] = RHO * A * L * rod_mass
    M[np.ix_([3, 9], [3, 9])] = RHO * (I_Y + I_Z) * L * rod_mass
    bend = np.array([[12, 6, -12, 6], [6, 4, -6, 2], [-12, -6, 12, -6], [6, 2, -6, 4]], dtype=float)
    move = np.array([[156, 22, 54, -13], [22, 4, 13, -3], [54, 13, 156, -22], [-13, -3, -22, 4]]) / 420.0
    for EI, indices, sign in ((E * I_Z, [1, 5, 7, 11], 1.0), (E * I_Y, [2, 4, 8, 10], -1.0)):
        S = np.diag([1.0, sign * L, 1.0, sign * L])
        K[np.ix_(indices, indices)] = EI / L**3 * S @ bend @ S
        M[np.ix_(indices, indices)] = RHO * A * L * S @ move @ S
    return T.T @ K @ T, T.T @ M @ T


def frame() -> tuple[list[int], np.ndarray, np.ndarray]:
    numbers = sorted(POINTS)
    chain = list(POINTS)
    K, M = np.zeros((24, 24)), np.zeros((24, 24))
    for p, q in pairwise(chain):
        k, m = beam(np.array(POINTS[p]), np.array(POINTS[q]))
        rows = [6 * numbers.index(n) + d for n in (p, q) for d in range(6)]
        K[np.ix_(rows, rows)] += k
        M[np.ix_(rows, rows)] += m
    return numbers, K, M


def bulk(numbers: list[int], K: np.ndarray, M: np.ndarray) -> BDF:
    """GRID, one of them in a CORD2R, and symmetric DMIG."""
    model = BDF(debug=None)
    model.sol = 103
    model.case_control_deck = CaseControlDeck(["TITLE = frame", "BEGIN BULK"])
    origin, z_axis, xz = np.array([0.5, -0.2, 0.3]), np.array([0.5, 0.4, 1.1]), np.array([1.5, 0.1, 0.3])
    model.add_cord2r(7, origin, z_axis, xz)
    z = (z_axis - origin) / np.linalg.norm(z_axis - origin)
    y = np.cross(z, xz - origin)
    y /= np.linalg.norm(y)
    R = np.array([np.cross(y, z), y, z])
    for number, place in POINTS.items():
        if number == 27:
            model.add_grid(number, R @ (np.array(place) - origin), cp=7)
        else:
            model.add_grid(number, place)
    pairs = [(n, d) for n in numbers for d in range(1, 7)]
    for name, matrix in (("KAAX", K), ("MAAX", M)):
        i, j = np.nonzero(np.tril(matrix))
        model.add_dmig(
            name, 6, 2, 0, 0, 24, [pairs[c] for c in j], [pairs[r] for r in i], [float(v) for v in matrix[i, j]]
        )
    return model


def modes(numbers: list[int], K: np.ndarray, M: np.ndarray) -> None:
    """Ten elastic modes in OUTPUT2."""
    values, shapes = eigh(K, M)
    kept = slice(6, 16)
    points = np.column_stack([numbers, np.ones(len(numbers))]).astype("int32")
    data = shapes[:, kept].T.reshape(10, len(numbers), 6).astype("float32")
    cycles = np.sqrt(values[kept]) / (2.0 * np.pi)
    table = RealEigenvectorArray.add_modal_case("OUGV1", points, data, 1, np.arange(1, 11), values[kept], cycles)
    # pyNastran's default, 1, is for displacements
    table.table_code = table.data_code["table_code"] = 7
    model = OP2(debug=None)
    model.eigenvectors[1] = table
    model.set_as_msc()
    model.date = (1, 2, 2026)
    # not big-endian, in which pyNastran 1.4 mixes both orders
    model.write_op2(str(HERE / "modes.op2"), post=-1, endian=b"<", nastran_format="msc")
    again = read_op2(str(HERE / "modes.op2"), debug=None)
    (found,) = again.eigenvectors.values()
    assert np.array_equal(found.data, data)


def main() -> None:
    numbers, K, M = frame()
    places = np.array([POINTS[n] for n in numbers])
    np.savez(HERE / "truth.npz", numbers=np.array(numbers), positions=places, K=K, M=M)
    modes(numbers, K, M)
    model = bulk(numbers, K, M)
    model.write_bdf(HERE / "small.bdf", size=8, is_double=False, enddata=True)
    model.write_bdf(HERE / "large.bdf", size=16, is_double=True, enddata=True)
    # pyNastran 1.4 fails on its own binary files
    matrices = {name: Matrix(name, form=6, data=matrix) for name, matrix in (("KGG", K), ("MGG", M))}
    OP4(debug=False).write_op4(str(HERE / "pynastran.op4"), matrices, name_order=["KGG", "MGG"], is_binary=False)
    for how in ("dense", "bigmat", "nonbigmat"):
        for label, options in (("text", {"binary": False}), ("little", {"endian": "<"}), ("big", {"endian": ">"})):
            op4.write(
                str(HERE / f"pyyeti_{how}_{label}.op4"),
                ["KGG", "MGG"],
                [sp.coo_matrix(K), sp.coo_matrix(M)] if how != "dense" else [K, M],
                sparse=how,
                **options,
            )


if __name__ == "__main__":
    main()
