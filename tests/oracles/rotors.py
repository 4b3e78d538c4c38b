"""Rotors by other formulations than liegeo's: in axes at rest, by complex displacements and by finite elements.

It never imports liegeo.  Displacements across the axis are one complex number, x + iy, and so are rotations, which
turns two planes into one problem with half the unknowns (Genta's complex coordinates):

    M q̈ − i Ω G q̇ + K q = 0,      q = q₀ e^{iωt},      ω > 0 forward, ω < 0 backward whirl.

A shaft consists of Euler–Bernoulli elements with cubic shapes, its own rotary inertia and its gyroscopic moments.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as sla


def whirl(M, G, K, speed):
    """Return all ω of M q̈ − iΩG q̇ + K q = 0, rising: −ω²M + ωΩG + K singular."""
    n = len(M)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [K, speed * G]])
    B = np.block([[np.eye(n), np.zeros((n, n))], [np.zeros((n, n)), M]])
    return np.sort(sla.eigvals(A, B).real)


def rigid_rotor(mass, diametral, polar, stiffness, arms):
    """A rigid rotor on two springs, at the distances `arms` along its axis from its centre: M, G, K of (x + iy, φ)."""
    # the point at z moves by x + z φ
    K = sum(k * np.outer([1.0, z], [1.0, z]) for k, z in zip(stiffness, arms, strict=True))
    return np.diag([mass, diametral]), np.diag([0.0, polar]), K


def shaft(length, elements, EI, rho_A, rho_I):
    """Return M, G and K of a shaft of elements with the coordinates (displacement, slope) of every node."""
    n = 2 * (elements + 1)
    M, G, K = np.zeros((3, n, n))
    L = length / elements
    stiffness = EI / L**3 * np.array(
        [[12, 6 * L, -12, 6 * L], [6 * L, 4 * L**2, -6 * L, 2 * L**2],
         [-12, -6 * L, 12, -6 * L], [6 * L, 2 * L**2, -6 * L, 4 * L**2]]
    )  # fmt: skip
    mass = rho_A * L / 420 * np.array(
        [[156, 22 * L, 54, -13 * L], [22 * L, 4 * L**2, 13 * L, -3 * L**2],
         [54, 13 * L, 156, -22 * L], [-13 * L, -3 * L**2, -22 * L, 4 * L**2]]
    )  # fmt: skip
    turning = rho_I / (30 * L) * np.array(
        [[36, 3 * L, -36, 3 * L], [3 * L, 4 * L**2, -3 * L, -(L**2)],
         [-36, -3 * L, 36, -3 * L], [3 * L, -(L**2), -3 * L, 4 * L**2]]
    )  # fmt: skip
    for e in range(elements):
        place = slice(2 * e, 2 * e + 4)
        K[place, place] += stiffness
        M[place, place] += mass + turning
        # the polar moment of a section is twice its diametral one
        G[place, place] += 2.0 * turning
    return M, G, K


def held(matrices, rows):
    """Return matrices without the coordinates that are held."""
    kept = np.setdiff1d(np.arange(len(matrices[0])), rows)
    return tuple(matrix[np.ix_(kept, kept)] for matrix in matrices)
