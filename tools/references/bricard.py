"""Reference solution of Bricard's mechanism, by a short formulation of its own: python tools/references/bricard.py

Benchmark A04 of the library of multibody benchmarks of the IFToMM [M. González, D. Dopico, U. Lugrís, J. Cuadrado: A
benchmarking system for MBS simulation software, Multibody System Dynamics 16 (2006), 179–190].  Five rods of 1 m and
1 kg and the ground close a loop through six hinges; Grübler's count gives no freedom, and there is one.  At first, at
rest, the hinges are at the corners of a cube, A = (0, 0, 0), B = (1, 0, 0), C = (1, −1, 0), D = (1, −1, 1),
E = (0, −1, 1), F = (0, 0, 1); A and D turn about y, B and E about z, C and F about x; A and F are on the ground.
Gravity is 9.81 m/s² along −y.  Reported is the point C (the library's P3) for 10 s, and as a check the energy.

The rods are square, 0.1 m wide, as in the implementations for OpenSim (MBSbenchmarksInOpenSim) and in Exudyn's own
test; with thin rods, as others take them, C moves slightly differently: both are given.

Method: coordinates are the five angles from A to E; the hinge F gives five equations, of rank 4,
    c(q) = 0,  G q' = 0,  G q'' = −b,                                                                        (1)
with G the Jacobian and b what is quadratic in the rates.  Gauss's principle then chooses, of all q'' with (1), the one
nearest to the free one in the norm of M: with M = L Lᵀ a least-squares problem, for which redundancy is no matter.
Explicit Runge–Kutta of order 8, and a projection onto (1) after each interval of output.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

FILE = Path(__file__).parents[2] / "tests" / "references" / "bricard.csv"
GRAVITY = np.array([0.0, -9.81, 0.0])
CORNERS = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], dtype=float)
AXES = np.eye(3)[[1, 2, 0, 1, 2, 0]]
N = 5
# singular values of G below this share of the largest are the redundancy
RANK = 1e-9


class Bricard:
    """The loop with rods of a square section."""

    def __init__(self, width):
        rods = np.diff(CORNERS, axis=0)
        across, along = (1.0 + width**2) / 12, width**2 / 6
        self.rods = rods
        self.inertias = [across * np.eye(3) + (along - across) * np.outer(rod, rod) for rod in rods]

    def chain(self, q):
        """Axes and positions of the hinges, and the rods' rotations."""
        turned, at = np.eye(3), np.zeros(3)
        axes, points, rotations = [], [at], []
        for i in range(N):
            axes.append(turned @ AXES[i])
            turned = turned @ Rotation.from_rotvec(q[i] * AXES[i]).as_matrix()
            at = at + turned @ self.rods[i]
            rotations.append(turned)
            points.append(at)
        return np.array(axes), np.array(points), rotations

    def closure(self, q):
        """c and G of (1)."""
        axes, points, rotations = self.chain(q)
        last = rotations[-1] @ AXES[-1]
        c = np.concatenate([points[-1] - CORNERS[-1], last[1:]])
        return c, np.vstack([np.cross(axes, points[-1] - points[:-1]).T, np.cross(axes, last).T[1:]])

    def dynamics(self, q, v):
        """M, forces less what is quadratic in the rates, b of (1), and the energy."""
        axes, points, rotations = self.chain(q)
        M, f, energy = np.zeros((N, N)), np.zeros(N), 0.0
        w, alpha, a = np.zeros(3), np.zeros(3), np.zeros(3)
        for i in range(N):
            alpha = alpha + np.cross(w, axes[i] * v[i])
            w = w + axes[i] * v[i]
            r = points[i + 1] - points[i]
            inertia = rotations[i] @ self.inertias[i] @ rotations[i].T
            J_w = np.where(np.arange(N) <= i, axes.T, 0.0)
            J_v = np.cross(J_w.T, points[i] + r / 2 - points[:-1]).T
            whirl = np.cross(alpha, r) + np.cross(w, np.cross(w, r))
            M += J_v.T @ J_v + J_w.T @ inertia @ J_w
            f += J_v.T @ (GRAVITY - a - whirl / 2) - J_w.T @ (inertia @ alpha + np.cross(w, inertia @ w))
            a = a + whirl
            energy -= GRAVITY @ (points[i] + r / 2)
        last = rotations[-1] @ AXES[-1]
        b = np.concatenate([a, (np.cross(alpha, last) + np.cross(w, np.cross(w, last)))[1:]])
        return M, f, b, energy + v @ M @ v / 2

    def rates(self, t, state):
        q, v = np.split(state, 2)
        M, f, b, _ = self.dynamics(q, v)
        L = np.linalg.cholesky(M)
        scaled = np.linalg.solve(L, self.closure(q)[1].T).T
        free = np.linalg.solve(L, f)
        bound = free + np.linalg.lstsq(scaled, -b - scaled @ free, rcond=RANK)[0]
        return np.concatenate([v, np.linalg.solve(L.T, bound)])

    def project(self, q, v):
        for _ in range(2):
            c, G = self.closure(q)
            q = q - np.linalg.lstsq(G, c, rcond=RANK)[0]
        G = self.closure(q)[1]
        return q, v - np.linalg.lstsq(G, G @ v, rcond=RANK)[0]

    def simulate(self, times, tolerance):
        """Positions of C, and the largest change of the energy."""
        q, v = np.zeros(N), np.zeros(N)
        points, energies = [self.chain(q)[1][2]], [self.dynamics(q, v)[3]]
        for interval in itertools.pairwise(times):
            start = np.concatenate([q, v])
            end = solve_ivp(self.rates, interval, start, method="DOP853", rtol=tolerance, atol=tolerance).y[:, -1]
            q, v = self.project(*np.split(end, 2))
            points.append(self.chain(q)[1][2])
            energies.append(self.dynamics(q, v)[3])
        return np.array(points), np.ptp(energies)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=FILE, help="the file")
    path = parser.parse_args().out
    times = np.linspace(0.0, 10.0, 201)
    lines = ["Bricard's mechanism, position of C (P3) in m; definition and method: tools/references/bricard.py"]
    columns = ["t"]
    tables = [times[:, None]]
    for name, width in (("", 0.1), ("_thin", 0.0)):
        points, drift = Bricard(width).simulate(times, 1e-12)
        coarse = Bricard(width).simulate(times, 1e-10)[0]
        tables.append(points)
        columns += [f"{axis}{name}" for axis in "xyz"]
        moved = np.abs(points - coarse).max()
        lines.append(f"rods {width:g} m wide: the energy varies by {drift:.0e} J")
        lines.append(f"  C moves by {moved:.0e} m if the tolerance is 1e-10 instead of 1e-12")
    rows = np.hstack(tables)
    text = [f"# {line}" for line in lines] + [",".join(columns)]
    text += [",".join([f"{row[0]:.6g}", *(f"{value:.10g}" for value in row[1:])]) for row in rows]
    temporary = path.with_suffix(".partial")
    temporary.write_text("\n".join(text) + "\n", encoding="utf-8")
    temporary.replace(path)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
