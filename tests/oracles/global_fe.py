"""A frame of beams as one finite-element model, and a synthesis of components, for tests.  It never imports liegeo.

Bernoulli beams in space: stiffness and mass are integrals of Hermite's polynomials over the element, by Gauss's rule,
not the closed forms that books print.  A node has x, y, z first, then rotations, other than in liegeo.  Constraints are
written as u = T û: a hinge is a second node that shares all motions of the first but the rotation about its axis.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy.linalg
import scipy.sparse as sp

POINTS, WEIGHTS = np.polynomial.legendre.leggauss(6)


def hermite(xi, length, derivative):
    """Deflection v of a beam by (v1, slope1, v2, slope2), derived with respect to x; xi from 0 to 1."""
    polynomials = np.array([[1, 0, -3, 2], [0, 1, -2, 1], [0, 0, 3, -2], [0, 0, -1, 1]], dtype=float)
    polynomials[[1, 3]] *= length
    out = []
    for p in polynomials:
        q = np.polynomial.Polynomial(p)
        q = q.deriv(derivative) if derivative else q
        out.append(q(xi) / length**derivative)
    return np.array(out)


def element(length, A, Iy, Iz, J, E, G, rho):
    """Mass and stiffness, 12 × 12, in the beam's axes, x along it; nodes one after the other, displacements first."""
    M, K = np.zeros((12, 12)), np.zeros((12, 12))
    linear = lambda xi: np.array([1.0 - xi, xi])  # noqa: E731
    slope = np.array([-1.0, 1.0]) / length
    stretch, twist = [0, 6], [3, 9]
    # in the plane x, y the slope is a rotation about z; in x, z it is one about −y
    bending = [([1, 5, 7, 11], np.ones(4), Iz), ([2, 4, 8, 10], np.array([1.0, -1.0, 1.0, -1.0]), Iy)]
    for point, weight in zip(POINTS, WEIGHTS, strict=True):
        xi, w = 0.5 * (1.0 + point), 0.5 * weight * length
        for places, stiff, heavy in ((stretch, E * A, rho * A), (twist, G * J, rho * (Iy + Iz))):
            K[np.ix_(places, places)] += w * stiff * np.outer(slope, slope)
            M[np.ix_(places, places)] += w * heavy * np.outer(linear(xi), linear(xi))
        for places, sign, second in bending:
            v, turn, curve = (sign * hermite(xi, length, k) for k in range(3))
            K[np.ix_(places, places)] += w * E * second * np.outer(curve, curve)
            M[np.ix_(places, places)] += w * rho * (A * np.outer(v, v) + second * np.outer(turn, turn))
    return M, K


class GlobalFE:
    """Nodes, beams, rigid masses and hinges; `matrices` and `frequencies` are of what is not fixed."""

    def __init__(self):
        self.positions, self.blocks, self.followers, self.fixed = [], [], {}, set()
        # stiffness of a spring in each hinge
        self.springs = {}

    def node(self, position):
        self.positions.append(np.asarray(position, dtype=float))
        return len(self.positions) - 1

    def hinge(self, node, axis=None, spring=0.0):
        """A second node at the same place, tied to the first; free to turn about the axis, if there is one."""
        new = self.node(self.positions[node])
        self.springs[new] = spring
        self.followers[new] = (node, None if axis is None else np.asarray(axis, dtype=float) / np.linalg.norm(axis))
        return new

    def beam(self, a, b, n, up, A, Iy, Iz, J, E, G, rho):
        """n elements from node a to node b, the section's z axis in the plane of the beam and `up`; its nodes."""
        start, end = self.positions[a], self.positions[b]
        nodes = [a, *(self.node(start + (end - start) * k / n) for k in range(1, n)), b]
        x = (end - start) / np.linalg.norm(end - start)
        y = np.cross(up, x)
        y /= np.linalg.norm(y)
        turn = np.kron(np.eye(4), np.array([x, y, np.cross(x, y)]))
        M, K = element(np.linalg.norm(end - start) / n, A, Iy, Iz, J, E, G, rho)
        for i, j in pairwise(nodes):
            self.blocks.append(((i, j), turn.T @ M @ turn, turn.T @ K @ turn))
        return nodes

    def inertia(self, node, mass, moments=(0.0, 0.0, 0.0)):
        """A rigid body with its centre of mass on a node."""
        self.load(node, np.diag([mass] * 3 + list(moments)))

    def load(self, node, inertia):
        """Any 6 × 6 inertia on a node, displacements first."""
        self.blocks.append(((node,), np.asarray(inertia), np.zeros((6, 6))))

    def fix(self, *nodes):
        self.fixed.update(nodes)

    def matrices(self):
        """Mass and stiffness of the independent motions."""
        n = 6 * len(self.positions)
        rows, columns, masses, stiff = [], [], [], []
        for nodes, m, k in self.blocks:
            places = np.concatenate([np.arange(6 * i, 6 * i + 6) for i in nodes])
            rows.append(np.repeat(places, len(places)))
            columns.append(np.tile(places, len(places)))
            masses.append(m.ravel())
            stiff.append(k.ravel())
        where = np.concatenate(rows), np.concatenate(columns)
        M, K = (sp.csc_array((np.concatenate(values), where), shape=(n, n)) for values in (masses, stiff))
        T, springs = self.transformation()
        return sp.csc_array(T.T @ M @ T), sp.csc_array(T.T @ K @ T + sp.diags_array(springs))

    def transformation(self):
        """T of u = T û, and the stiffness of springs on the diagonal of û."""
        columns, parts, springs = 0, {}, {}
        for i in range(len(self.positions)):
            if i not in self.followers and i not in self.fixed:
                parts[i] = [(columns, np.eye(6))]
                columns += 6
        for i, (leader, axis) in self.followers.items():
            # leaders come first, so chains of hinges are resolved
            parts[i] = list(parts.get(leader, ()))
            if axis is not None:
                parts[i].append((columns, np.concatenate([np.zeros(3), axis])[:, np.newaxis]))
                springs[columns] = self.springs[i]
                columns += 1
        T = sp.lil_array((6 * len(self.positions), columns))
        for i, found in parts.items():
            for start, block in found:
                T[6 * i : 6 * i + 6, start : start + block.shape[1]] = block
        return T.tocsc(), np.array([springs.get(k, 0.0) for k in range(columns)])

    def frequencies(self, count=None):
        """In Hz, rigid motions as zeros."""
        M, K = (part.todense() for part in self.matrices())
        values = scipy.linalg.eigh(K, M, eigvals_only=True)
        rigid = values < 1e-9 * values[len(values) // 2]
        return np.where(rigid, 0.0, np.sqrt(np.maximum(values, 0.0)))[:count] / (2.0 * np.pi)


def synthesis(components, ties, shapes):
    """Frequencies in Hz of components (mass, stiffness) with shapes, tied by rows: model D as constrained matrices.

    `ties` are (component, rows, component, rows, turn): the motion of the first at its rows is `turn` times that of the
    second.  Coordinates are those of free components; the null space of the ties takes the dependent ones away.
    """
    sizes = np.cumsum([0, *(s.shape[1] for s in shapes)])
    M = scipy.linalg.block_diag(*(s.T @ (m @ s) for (m, _), s in zip(components, shapes, strict=True)))
    K = scipy.linalg.block_diag(*(s.T @ (k @ s) for (_, k), s in zip(components, shapes, strict=True)))
    rows = []
    for i, at_i, j, at_j, turn in ties:
        row = np.zeros((turn.shape[0], sizes[-1]))
        row[:, sizes[i] : sizes[i + 1]] = shapes[i][at_i]
        row[:, sizes[j] : sizes[j + 1]] -= turn @ shapes[j][at_j]
        rows.append(row)
    N = scipy.linalg.null_space(np.concatenate(rows)) if rows else np.eye(sizes[-1])
    values = scipy.linalg.eigh(N.T @ K @ N, N.T @ M @ N, eigvals_only=True)
    rigid = values < 1e-9 * values[len(values) // 2]
    return np.where(rigid, 0.0, np.sqrt(np.maximum(values, 0.0))) / (2.0 * np.pi)
