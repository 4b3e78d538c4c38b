"""Small vibrations of planar linkages with a flexible link, in absolute coordinates of a mesh: another formulation.

It never imports liegeo.  Every node of the mesh has (u, w, θ), rigid links are constraints between nodes, and what the
constraints leave free is found as a null space; liegeo has joints and component modes.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as sla


def beam(start, end, elements, EA, EI, rho_A, rho_I=0.0):
    """Return M and K of an Euler–Bernoulli beam between two points of the plane; (u, w, θ) of every node."""
    step = (np.asarray(end, float) - start) / elements
    L = float(np.linalg.norm(step))
    c, s = step / L
    turn = np.kron(np.eye(2), np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]))
    k, m = np.zeros((2, 6, 6))
    along, across = [0, 3], [1, 2, 4, 5]
    k[np.ix_(along, along)] = EA / L * np.array([[1, -1], [-1, 1]])
    m[np.ix_(along, along)] = rho_A * L / 6 * np.array([[2, 1], [1, 2]])
    k[np.ix_(across, across)] = EI / L**3 * np.array(
        [[12, 6 * L, -12, 6 * L], [6 * L, 4 * L**2, -6 * L, 2 * L**2],
         [-12, -6 * L, 12, -6 * L], [6 * L, 2 * L**2, -6 * L, 4 * L**2]]
    )  # fmt: skip
    m[np.ix_(across, across)] = rho_A * L / 420 * np.array(
        [[156, 22 * L, 54, -13 * L], [22 * L, 4 * L**2, 13 * L, -3 * L**2],
         [54, 13 * L, 156, -22 * L], [-13 * L, -3 * L**2, -22 * L, 4 * L**2]]
    ) + rho_I / (30 * L) * np.array(
        [[36, 3 * L, -36, 3 * L], [3 * L, 4 * L**2, -3 * L, -(L**2)],
         [-36, -3 * L, 36, -3 * L], [3 * L, -(L**2), -3 * L, 4 * L**2]]
    )  # fmt: skip
    n = 3 * (elements + 1)
    M, K = np.zeros((2, n, n))
    for e in range(elements):
        place = slice(3 * e, 3 * e + 6)
        M[place, place] += turn.T @ m @ turn
        K[place, place] += turn.T @ k @ turn
    return M, K


def four_bar(crank, rocker, mesh, pivots, spring):
    """Return rising ω of a four-bar whose coupler is the mesh: links are (mass moment about the pivot, pivot to end).

    A link that turns by φ about its pivot moves its end by φ ẑ × arm; the ends of the mesh are pinned to the links.
    """
    M, K = mesh
    n = len(M)
    whole_M, whole_K = np.zeros((2, n + 2, n + 2))
    whole_M[:n, :n], whole_K[:n, :n] = M, K
    constraints = np.zeros((4, n + 2))
    for k, ((moment, end), node, pivot) in enumerate(zip((crank, rocker), (0, n // 3 - 1), pivots, strict=True)):
        arm = np.asarray(end, float) - pivot
        whole_M[n + k, n + k] = moment
        constraints[2 * k : 2 * k + 2, 3 * node : 3 * node + 2] = np.eye(2)
        constraints[2 * k : 2 * k + 2, n + k] = [arm[1], -arm[0]]
    whole_K[n, n] = spring
    N = sla.null_space(constraints)
    return np.sqrt(np.maximum(sla.eigh(N.T @ whole_K @ N, N.T @ whole_M @ N, eigvals_only=True), 0.0))


def rotating_blade(radius, length, EI, rho_A, speed, terms=14):
    """Return rising ω of the flapping of a blade clamped at a radius of a rotor, by Ritz's method with polynomials.

    ω² = min [∫EI w''² + ∫T w'²]/∫ρA w², T(x) = ρA Ω² ∫ₓ (r + s) ds, in w = Σ cₖ xᵏ⁺² of the length 1.
    """
    x, weight = np.polynomial.legendre.leggauss(3 * terms)
    x, weight = 0.5 * (x + 1.0), 0.5 * weight
    # Legendre polynomials times x² are well conditioned
    polynomials = [np.polynomial.Legendre.basis(k, domain=[0, 1]) for k in range(terms)]
    square = np.polynomial.Polynomial([0, 0, 1])
    shapes = [square * p.convert(kind=np.polynomial.Polynomial) for p in polynomials]
    w, dw, ddw = (np.array([shape.deriv(d)(x) if d else shape(x) for shape in shapes]) for d in range(3))
    tension = rho_A * speed**2 * length * (radius * (1 - x) + 0.5 * length * (1 - x**2))
    K = EI / length**3 * (ddw * weight) @ ddw.T + (dw * (weight * tension)) @ dw.T / length
    M = rho_A * length * (w * weight) @ w.T
    return np.sqrt(sla.eigh(K, M, eigvals_only=True))
