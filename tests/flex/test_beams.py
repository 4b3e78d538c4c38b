"""Beams against printed tables, closed forms and hand solutions; no number here comes from liegeo itself."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
from scipy import special
from scipy.optimize import brentq

import liegeo
from liegeo.errors import LiegeoError, ModelError
from liegeo.flex import beams as beam_module
from liegeo.flex.beams import Frame, beam
from liegeo.flex.sections import Material, Section, circle, i_beam, rectangle, taper, tube
from liegeo.lie import SO3

STEEL = Material(E=2.1e11, rho=7850.0, nu=0.3, name="steel")
# Nothing equal to anything else, so that no two of them can be swapped unseen.
SECTION = Section(A=2.0e-3, Iy=5.0e-6, Iz=1.3e-6, J=3.1e-6, Ip=6.6e-6, Asy=1.6e-3, Asz=1.1e-3)
KINDS = ("euler", "timoshenko")


def free_dofs(model, fixed):
    """Degrees of freedom but those of {node: directions}."""
    gone = {model.dof(node, d) for node, directions in fixed.items() for d in directions}
    return np.array([i for i in range(model.n) if i not in gone])


def natural(model, fixed, count, extra=None):
    """The lowest natural frequencies, rad/s."""
    free = free_dofs(model, fixed)
    K = model.stiffness if extra is None else model.stiffness + extra
    pick = np.ix_(free, free)
    return np.sqrt(
        scipy.linalg.eigh(
            K.toarray()[pick], model.mass.toarray()[pick], eigvals_only=True, subset_by_index=(0, count - 1)
        )
    )


def solve(model, fixed, loads):
    """Static displacement under {(node, direction): load}."""
    free, f = free_dofs(model, fixed), np.zeros(model.n)
    for (node, direction), load in loads.items():
        f[model.dof(node, direction)] = load
    u = np.zeros(model.n)
    u[free] = np.linalg.solve(model.stiffness.toarray()[np.ix_(free, free)], f[free])
    return u


def buckling(model, fixed, loads):
    """The smallest factor on these loads, and the one of least size below 0, at which K + λ K_G is singular."""
    free = free_dofs(model, fixed)
    K_G = model.geometric(solve(model, fixed, loads)).toarray()[np.ix_(free, free)]
    K = model.stiffness.toarray()[np.ix_(free, free)]
    inverse = scipy.linalg.eigh(-K_G, K, eigvals_only=True)
    with np.errstate(divide="ignore"):
        return np.array([1.0 / inverse.max(), 1.0 / inverse.min()])


ALL = range(6)


# Mantikas's tables -------------------------------------------------------------------------------------------------

# The thesis prints captions below its tables, and no data of the 30 m beam: they were inferred from the tables.
TABLE_VII_2 = """
    1.2573 1.2573 7.8610 7.8610 21.9280 21.9280 26.2560 42.7350 42.7350 43.0360 70.1480 70.1480 78.8120 103.9000
    103.9000 129.1800 131.4900 143.6800 143.6800 184.3900 189.1500 189.1500 215.5300 237.5900 239.9400 239.9400
    291.1700 295.6800 295.6800 302.2300 345.2200 355.9700 355.9700 389.4200 399.8300 420.4300 420.4300 455.0900
    477.2500 488.7000 488.7000 511.0800 560.4200 560.4200 565.8400 567.8900 625.6100 635.2600 635.2600 655.3500"""
# 16 kg at the tip
TABLE_VII_3 = """
    0.77358 0.77358 6.13270 6.13270 18.54500 18.54500 26.25600 31.23200 37.76200 37.76200 63.66800 63.66800
    78.81200 96.03300 96.03300 102.18000 131.49000 134.57000 134.57000 178.96000 178.96000 182.13000 184.39000
    228.83000 228.83000 237.59000 265.72000 283.82000 283.82000 291.17000"""
# 80 kg at the tip
TABLE_VII_7 = """
    0.41288 0.41288 5.66690 5.66690 17.83800 17.97900 17.97900 26.25600 37.16700 37.16700 63.06400 63.06400
    78.81200 90.19000 95.43000 95.43000 131.49000 133.98000 133.98000 174.45000 178.37000 178.37000 184.39000
    228.26000 228.26000 237.59000 260.26000 283.27000 283.27000 291.17000"""
# 16 kg with 100 kg m² about each axis
TABLE_VII_9 = """
    0.77003 0.77003 5.71530 5.71530 5.71800 15.17300 15.17300 27.48100 27.48100 31.23200 46.52300 46.52300
    53.16300 73.23800 73.23800 102.18000 105.46000 106.82000 106.82000 146.70000 146.70000 158.13000 182.13000
    192.46000 192.46000 211.11000 243.70000 243.70000 264.45000 265.72000"""
TABLE_VII_19 = """
    5.1281 5.1281 32.132 32.132 89.952 89.952 176.22 176.22 291.25 291.25 415.29 435.03 435.03 607.67 607.67"""
TABLE_VII_20 = """
    1.6217 1.6217 10.161 10.161 28.445 28.445 55.727 55.727 92.100 92.100 131.33 137.57 137.57 192.16 192.16"""
TABLE_VII_21 = """
    0.51281 0.51281 3.2132 3.2132 8.9952 8.9952 17.622 17.622 29.125 29.125 41.529 43.503 43.503 60.767 60.767"""
# E and rho, then the appendage's frequencies
TABLES_APPENDAGE = {
    "VII-19": (7.2e10, 270.0, TABLE_VII_19),
    "VII-20": (7.2e9, 270.0, TABLE_VII_20),
    "VII-20, the other pair": (7.2e10, 2700.0, TABLE_VII_20),
    "VII-21": (7.2e8, 270.0, TABLE_VII_21),
}


@pytest.mark.parametrize(
    ("table", "load"),
    [
        pytest.param(TABLE_VII_2, None, id="VII-2"),
        pytest.param(TABLE_VII_3, (16.0, (0.0, 0.0, 0.0)), id="VII-3"),
        pytest.param(TABLE_VII_7, (80.0, (0.0, 0.0, 0.0)), id="VII-7"),
        pytest.param(TABLE_VII_9, (16.0, (100.0, 100.0, 100.0)), id="VII-9"),
    ],
)
def test_mantikas_cantilever(table, load):
    """[M01] tables VII-2, 3, 7, 9: the columns 'FEM', all lines."""
    frame = Frame(Material(E=7.2e10, rho=2700.0, G=2.68e10))
    frame.node("root", (0, 0, 0))
    frame.node("tip", (30, 0, 0))
    frame.beam("root", "tip", Section(A=4.9e-4, Iy=7.52e-5, Iz=7.52e-5, J=2 * 7.52e-5), n_elements=39)
    if load is not None:
        frame.mass("tip", load[0], inertia=load[1])
    printed = np.array(table.split(), dtype=float)
    found = natural(frame.model(), {"root": ALL}, len(printed)) / (2 * np.pi)
    np.testing.assert_allclose(found, printed, rtol=5e-5)


@pytest.mark.parametrize("table", TABLES_APPENDAGE)
def test_mantikas_appendage(table):
    """[M01] tables VII-19 to 21.  Only I/A shows in frequencies, so the area is free."""
    E, rho, printed = TABLES_APPENDAGE[table]
    A, I = 1.0, 4.0816e-4
    model = beam(6.0, Section(A, I, I, 2 * I), Material(E, rho, G=E * 2.68 / 7.2), 16)
    found = natural(model, {"0": ALL}, 15) / (2 * np.pi)
    np.testing.assert_allclose(found, np.array(printed.split(), dtype=float), rtol=5e-5)


# Matrices that textbooks print -------------------------------------------------------------------------------------


def plane(matrix, which="y"):
    """The bending part (v, θz or w, −θy at both ends) of a 12 × 12 matrix."""
    index, sign = ([4, 2, 10, 8], np.ones(4)) if which == "y" else ([5, 1, 11, 7], np.array([1.0, -1.0, 1.0, -1.0]))
    return matrix.toarray()[np.ix_(index, index)] * np.outer(sign, sign)


def symmetric(entries, L):
    """A symmetric 4 × 4 from its upper triangle, rotations' rows and columns times L."""
    out = np.zeros((4, 4))
    out[np.triu_indices(4)] = entries
    scale = np.array([1.0, L, 1.0, L])
    return (out + np.triu(out, 1).T) * np.outer(scale, scale)


@pytest.mark.parametrize("which", ["y", "z"])
@pytest.mark.parametrize("kind", KINDS)
def test_element_matrices(kind, which):
    L, E, G, rho = 0.7, STEEL.E, STEEL.G, STEEL.rho
    I, As = (SECTION.Iz, SECTION.Asy) if which == "y" else (SECTION.Iy, SECTION.Asz)
    model = beam(L, SECTION, STEEL, 1, kind)
    phi = 12 * E * I / (G * As * L**2) if kind == "timoshenko" else 0.0
    K = E * I / (L**3 * (1 + phi)) * symmetric([12, 6, -12, 6, 4 + phi, -6, 2 - phi, 12, -6, 4 + phi], L)
    np.testing.assert_allclose(plane(model.stiffness, which), K, rtol=1e-12)
    without = plane(beam(L, SECTION, STEEL, 1, kind, rotary=False).mass, which)
    rotary = plane(model.mass, which) - without
    if kind == "euler":
        moved = rho * SECTION.A * L / 420 * symmetric([156, 22, 54, -13, 4, 13, -3, 156, -22, 4], L)
        turned = rho * I / (30 * L) * symmetric([36, 3, -36, 3, 4, -3, -1, 36, -3, 4], L)
        np.testing.assert_allclose(without, moved, rtol=1e-12)
        np.testing.assert_allclose(rotary, turned, rtol=1e-9)
    else:
        factor = rho * SECTION.A * L / (1 + phi) ** 2
        assert without[0, 0] == pytest.approx(factor * (13 / 35 + 7 * phi / 10 + phi**2 / 3), rel=1e-12)
        assert without[0, 2] == pytest.approx(factor * (9 / 70 + 3 * phi / 10 + phi**2 / 6), rel=1e-12)
        assert without[1, 1] == pytest.approx(factor * L**2 * (1 / 105 + phi / 60 + phi**2 / 120), rel=1e-12)
        factor = rho * I / (L * (1 + phi) ** 2)
        assert rotary[0, 0] == pytest.approx(factor * 6 / 5, rel=1e-9)
        assert rotary[1, 1] == pytest.approx(factor * L**2 * (2 / 15 + phi / 6 + phi**2 / 3), rel=1e-9)


def test_tension_on_one_element():
    """N/30L [36 3L −36 3L; …], as every book has it, and the fibres that wind around a twisted axis."""
    L, N = 0.7, 1234.0
    model = beam(L, SECTION, STEEL, 1)
    u = np.zeros(12)
    u[9] = N * L / (STEEL.E * SECTION.A)
    K_G = model.geometric(u)
    for which in "yz":
        expected = N / (30 * L) * symmetric([36, 3, -36, 3, 4, -3, -1, 36, -3, 4], L)
        np.testing.assert_allclose(plane(K_G, which), expected, rtol=1e-12)
    twist = N * (SECTION.Iy + SECTION.Iz) / SECTION.A / L
    np.testing.assert_allclose(K_G.toarray()[np.ix_([0, 6], [0, 6])], twist * np.array([[1, -1], [-1, 1]]), rtol=1e-12)


# Patch tests -------------------------------------------------------------------------------------------------------


def skew_frame(kind="timoshenko", profile=SECTION):
    """Beams in no special direction, one tapered, with an offset mass."""
    frame = Frame(STEEL)
    for name, p in {"a": (0.1, 0.2, -0.3), "b": (1.0, 0.7, 0.4), "c": (1.2, -0.6, 1.9), "d": (0.9, 0.1, 2.2)}.items():
        frame.node(name, p)
    frame.beam("a", "b", profile, 2, kind, up=(0.3, -1.0, 0.2))
    frame.beam("b", "c", (SECTION, taper(SECTION, circle(0.1), 0.5)), 2, kind)
    frame.beam("c", "d", lambda x: rectangle(0.1 + 0.05 * x, 0.2), 1, kind)
    frame.beam("a", "c", SECTION, 1, kind)
    frame.mass("d", 3.0, inertia=(0.1, 0.2, 0.25, 0.01, 0.02, -0.03), com=(0.1, -0.2, 0.3))
    return frame.model()


@pytest.mark.parametrize("kind", KINDS)
def test_rigid_motions_have_no_strain(kind):
    model = skew_frame(kind)
    forces = model.stiffness @ model.rigid
    assert abs(forces).max() < 1e-12 * abs(model.stiffness).max()
    values = scipy.linalg.eigvalsh(model.stiffness.toarray())
    assert values[5] < 1e-12 * values[-1] < values[6]
    # nor stresses, so no geometric stiffness
    assert abs(model.geometric(model.rigid @ np.arange(1.0, 7.0))).max() < 1e-11 * abs(model.stiffness).max()


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_cantilever_under_loads_at_its_tip(kind, n):
    """Exact with any mesh: bending in both planes, shear, torsion, stretch, constant curvature."""
    L, E, G = 1.3, STEEL.E, STEEL.G
    model = beam(L, SECTION, STEEL, n, kind)
    tip = str(n)
    for direction, I, As, turn, sign in ((4, SECTION.Iz, SECTION.Asy, 2, 1.0), (5, SECTION.Iy, SECTION.Asz, 1, -1.0)):
        u = solve(model, {"0": ALL}, {(tip, direction): 100.0})
        sheared = 100.0 * L / (G * As) if kind == "timoshenko" else 0.0
        assert u[model.dof(tip, direction)] == pytest.approx(100.0 * L**3 / (3 * E * I) + sheared, rel=1e-11)
        assert u[model.dof(tip, turn)] == pytest.approx(sign * 100.0 * L**2 / (2 * E * I), rel=1e-11)
        # constant curvature: all nodes on a parabola, whatever the shear flexibility
        u = solve(model, {"0": ALL}, {(tip, turn): 50.0})
        x = np.linspace(0.0, L, n + 1)
        np.testing.assert_allclose(u[turn::6], 50.0 * x / (E * I), rtol=1e-11)
        np.testing.assert_allclose(u[direction::6], sign * 50.0 * x**2 / (2 * E * I), rtol=1e-11)
    u = solve(model, {"0": ALL}, {(tip, 0): 20.0, (tip, 3): 3e4})
    assert u[model.dof(tip, 0)] == pytest.approx(20.0 * L / (G * SECTION.J), rel=1e-12)
    assert u[model.dof(tip, 3)] == pytest.approx(3e4 * L / (E * SECTION.A), rel=1e-12)


def test_frame_of_two_beams_by_hand():
    """A post along z with an arm along x, loaded down and sideways at the arm's end."""
    H, a, P, E, G = 2.0, 1.5, 1e3, STEEL.E, STEEL.G
    post = Section(3e-3, 4e-6, 2e-6, 5e-6)
    arm = Section(1e-3, 7e-7, 9e-7, 1.1e-6)
    frame = Frame(STEEL)
    frame.node("foot", (0, 0, 0))
    frame.node("head", (0, 0, H))
    frame.node("end", (a, 0, H))
    # the post's local z is x, so its Iy bends it in the frame's plane
    frame.beam("foot", "head", post, 2, up=(1, 0, 0))
    frame.beam("head", "end", arm, 3)
    model = frame.model()
    u = solve(model, {"foot": ALL}, {("end", 5): -P})
    down = P * a**3 / (3 * E * arm.Iy) + P * a * H / (E * post.Iy) * a + P * H / (E * post.A)
    assert u[model.dof("end", 5)] == pytest.approx(-down, rel=1e-10)
    assert u[model.dof("end", 3)] == pytest.approx(P * a * H**2 / (2 * E * post.Iy), rel=1e-10)
    u = solve(model, {"foot": ALL}, {("end", 4): P})
    aside = P * a**3 / (3 * E * arm.Iz) + P * H**3 / (3 * E * post.Iz) + P * a**2 * H / (G * post.J)
    assert u[model.dof("end", 4)] == pytest.approx(aside, rel=1e-10)


def test_direction_of_a_beam_changes_nothing_but_directions():
    """A cantilever laid along any line has the same frequencies."""
    expected = natural(beam(2.0, SECTION, STEEL, 4, "timoshenko"), {"0": ALL}, 12)
    rng = np.random.default_rng(3)
    for R in (SO3.exp(rng.normal(size=3)), SO3.exp([0.0, -np.pi / 2, 0.0]), SO3.exp([np.pi, 0.0, 0.0])):
        frame = Frame(STEEL)
        frame.node("r", (1, 2, 3))
        frame.node("t", np.array([1, 2, 3]) + R @ [2.0, 0, 0])
        frame.beam("r", "t", SECTION, 4, "timoshenko", up=R @ [0.3, 0, 2.0])
        np.testing.assert_allclose(natural(frame.model(), {"r": ALL}, 12), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("x", "up", "y", "z"),
    [
        ((2, 0, 0), None, (0, 1, 0), (0, 0, 1)),
        ((0, 3, 0), None, (-1, 0, 0), (0, 0, 1)),
        ((0, 0, 1), None, (1, 0, 0), (0, 1, 0)),
        ((1, 0, 1), (0, 1, 0), (2**-0.5, 0, -(2**-0.5)), (0, 1, 0)),
    ],
)
def test_local_axes(x, up, y, z):
    R = beam_module.local_axes("beam", x, up)
    np.testing.assert_allclose(R[:, 1:].T, [y, z], atol=1e-15)
    np.testing.assert_allclose(np.linalg.det(R), 1.0)


# Mass --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rotary", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 4])
def test_inertia_of_a_uniform_beam_is_exact(n, kind, rotary):
    L, rho = 1.7, STEEL.rho
    m = rho * SECTION.A * L
    J = beam(L, SECTION, STEEL, n, kind, rotary).inertia
    Iy, Iz = (rho * L * SECTION.Iy, rho * L * SECTION.Iz) if rotary else (0.0, 0.0)
    expected = np.diag([rho * SECTION.Ip * L, m * L**2 / 3 + Iy, m * L**2 / 3 + Iz, m, m, m])
    c = SO3.hat([m * L / 2, 0.0, 0.0])
    expected[:3, 3:], expected[3:, :3] = c, c.T
    np.testing.assert_allclose(J, expected, rtol=1e-12, atol=1e-12)


def test_inertia_of_a_cone_is_exact():
    """A, A x² and Iy are polynomials of degree ≤ 4: one element has them all."""
    L, d = 1.2, 0.3
    J = beam(L, lambda x: circle(d * x / L), STEEL, 1).inertia
    m, r = STEEL.rho * np.pi * (d / 2) ** 2 * L / 3, d / 2
    assert J[3, 3] == pytest.approx(m, rel=1e-12)
    assert J[1, 5] == pytest.approx(-m * 0.75 * L, rel=1e-12)
    assert J[0, 0] == pytest.approx(0.3 * m * r**2, rel=1e-12)
    # about an axis across, through the apex
    assert J[1, 1] == pytest.approx(m * (0.6 * L**2 + 0.15 * r**2), rel=1e-12)


def test_inertia_of_a_smooth_profile_converges():
    L, b = 2.0, 3.0
    errors = [
        abs(beam(L, lambda x: rectangle(0.1 * np.exp(-b * x), 0.1), STEEL, n).total_mass / exact - 1)
        for exact in [STEEL.rho * 0.01 * (1 - np.exp(-b * L)) / b]
        for n in (1, 2)
    ]
    assert errors[1] < 1e-3 * errors[0] < 1e-9


def test_masses_on_nodes():
    """Frame and mass against rigid-body formulas: all of it moves as one."""
    com, node, m = np.array([0.1, -0.2, 0.3]), np.array([1.0, 0.5, -0.2]), 4.0
    J = np.array([[0.3, 0.01, 0.02], [0.01, 0.4, 0.03], [0.02, 0.03, 0.5]])

    def made(loaded):
        frame = Frame(STEEL)
        frame.node(0, (0, 0, 0))
        frame.node(1, node)
        frame.beam(0, 1, SECTION)
        if loaded:
            frame.mass(1, m, J, com)
            frame.mass("0", 1.0)
        return frame.model().inertia

    c = SO3.hat(node + com)
    expected = np.block([[J - m * c @ c, m * c], [m * c.T, m * np.eye(3)]])
    expected[3:, 3:] += np.eye(3)
    np.testing.assert_allclose(made(True) - made(False), expected, atol=1e-12)


# Frequencies -------------------------------------------------------------------------------------------------------


def test_cantilever_frequencies_euler():
    """cos λ cosh λ = −1: 1.8751, 4.6941, 7.8548, …"""
    L = 3.0
    roots = [brentq(lambda x: np.cos(x) + 1 / np.cosh(x), a, a + 2) for a in (1.0, 4.0, 7.0)]
    assert roots[0] == pytest.approx(1.8751, abs=5e-5)
    model = beam(L, SECTION, STEEL, 16, rotary=False)
    across = {str(i): (0, 1, 3, 5) for i in range(1, 17)}
    found = natural(model, {"0": ALL, **across}, 3)
    expected = np.square(roots) / L**2 * np.sqrt(STEEL.E * SECTION.Iz / (STEEL.rho * SECTION.A))
    # (λ h/L)⁴/1440, and a little
    assert (np.abs(found / expected - 1) < 1.1 * (np.array(roots) / 16) ** 4 / 1440).all()


def test_rod_frequencies():
    """Fixed at one end: (2k − 1)π/2 · c/L in stretch and twist, with errors of order 2."""
    L = 3.0
    for direction, c in ((3, np.sqrt(STEEL.E / STEEL.rho)), (0, np.sqrt(STEEL.G * SECTION.J / STEEL.rho / SECTION.Ip))):
        others = [d for d in range(6) if d != direction]
        errors = []
        for n in (8, 16):
            model = beam(L, SECTION, STEEL, n)
            found = natural(model, {**{str(i): others for i in range(1, n + 1)}, "0": ALL}, 1)[0]
            errors.append(found / (np.pi / 2 * c / L) - 1)
        h = L / 16
        assert errors[1] == pytest.approx((np.pi / 2 * h / L) ** 2 / 24, rel=0.01)
        assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.05)


def in_plane(model, N=None):
    """Frequencies of a beam on two pins, in the x–y plane, under tension N."""
    n = len(model.names) - 1
    fixed = {str(i): (0, 1, 3, 5) for i in range(n + 1)}
    extra = None
    if N is not None:
        u = np.zeros(model.n)
        u[3::6] = N / (STEEL.E * SECTION.A) * np.asarray(model.positions)[:, 0]
        extra = model.geometric(u)
    return natural(model, fixed | {"0": (0, 1, 3, 4, 5), str(n): (0, 1, 3, 4, 5)}, 3, extra)


@pytest.mark.parametrize("rotary", [True, False])
def test_order_of_frequencies_euler(rotary):
    """Order 4, and of a thin beam with the constant 1/1440."""
    L = 2.0
    k = np.pi / L
    inertia = STEEL.rho * (SECTION.A + (SECTION.Iz * k**2 if rotary else 0.0))
    exact = np.sqrt(STEEL.E * SECTION.Iz * k**4 / inertia)
    sizes = np.array([2, 4, 8])
    errors = np.array([in_plane(beam(L, SECTION, STEEL, int(n), rotary=rotary))[0] / exact - 1 for n in sizes])
    slopes = np.diff(np.log(errors)) / -np.diff(np.log(sizes))
    assert slopes[-1] == pytest.approx(4.0, abs=0.15)
    if not rotary:
        assert errors[-1] == pytest.approx((k * L / 8) ** 4 / 1440, rel=0.02)


def pinned_timoshenko(L, j):
    """Lowest of the two frequencies with wavenumber jπ/L, and the share of translation in its kinetic energy."""
    k, EI, GA = j * np.pi / L, STEEL.E * SECTION.Iz, STEEL.G * SECTION.Asy
    K = np.array([[GA * k**2, -GA * k], [-GA * k, EI * k**2 + GA]])
    M = STEEL.rho * np.diag([SECTION.A, SECTION.Iz])
    values, vectors = scipy.linalg.eigh(K, M)
    return np.sqrt(values[0]), vectors[0, 0] ** 2 * M[0, 0]


def test_order_of_frequencies_timoshenko():
    """Order 2, because shapes leave out the shear of inertia loads within an element: (ωh)²/24c² of its share."""
    L = 0.4
    exact, share = pinned_timoshenko(L, 1)
    sizes = np.array([8, 16, 32])
    errors = np.array([in_plane(beam(L, SECTION, STEEL, int(n), "timoshenko"))[0] / exact - 1 for n in sizes])
    slopes = np.diff(np.log(errors)) / -np.diff(np.log(sizes))
    assert slopes[-1] == pytest.approx(2.0, abs=0.05)
    c = np.sqrt(STEEL.G * SECTION.Asy / (STEEL.rho * SECTION.A))
    assert errors[-1] == pytest.approx(share * (exact * L / 32 / c) ** 2 / 24, rel=0.02)


def cantilever_timoshenko(L, guesses):
    """Roots of the transcendental equation: the field equations carried from root to tip by a matrix exponential."""
    E, G, rho, s = STEEL.E, STEEL.G, STEEL.rho, SECTION

    def determinant(w):
        # (v, θ, M, Q)′, with M′ = −Q − ρI w² θ and Q′ = −ρA w² v
        A = np.zeros((4, 4))
        A[0, 1], A[0, 3] = 1.0, 1.0 / (G * s.Asy)
        A[1, 2] = 1.0 / (E * s.Iz)
        A[2, 1], A[2, 3] = -rho * s.Iz * w**2, -1.0
        A[3, 0] = -rho * s.A * w**2
        return np.linalg.det(scipy.linalg.expm(A * L)[2:, 2:])

    return [brentq(determinant, 0.97 * g, 1.03 * g, xtol=1e-10 * g) for g in guesses]


def test_cantilever_frequencies_timoshenko():
    L, n = 0.5, 60
    model = beam(L, SECTION, STEEL, n, "timoshenko")
    found = natural(model, {"0": ALL, **{str(i): (0, 1, 3, 5) for i in range(1, n + 1)}}, 4)
    np.testing.assert_allclose(found, cantilever_timoshenko(L, found), rtol=1e-3)
    np.testing.assert_allclose(found[:2], cantilever_timoshenko(L, found[:2]), rtol=1e-4)
    # shear must matter here, or this test says nothing
    euler = natural(beam(L, SECTION, STEEL, n), {"0": ALL, **{str(i): (0, 1, 3, 5) for i in range(1, n + 1)}}, 4)
    assert (euler / found > [1.01, 1.05, 1.1, 1.15]).all()


# Tapers ------------------------------------------------------------------------------------------------------------


def test_tapered_cantilever_statics():
    """A cone from d₀ to d₁ with a force at the thin end: P L³/(3 E I₀) · d₀/d₁; stretch is P L/(E A₀) · d₀/d₁."""
    L, d0, d1 = 1.1, 0.2, 0.1
    exact = L**3 / (3 * STEEL.E * circle(d0).Iz) * d0 / d1
    for n, tolerance in ((1, 1e-6), (4, 1e-11)):
        model = beam(L, (circle(d0), circle(d1)), STEEL, n)
        u = solve(model, {"0": ALL}, {(str(n), 4): 1.0, (str(n), 3): 1.0})
        assert u[model.dof(str(n), 4)] == pytest.approx(exact, rel=tolerance)
        assert u[model.dof(str(n), 3)] == pytest.approx(L / (STEEL.E * circle(d0).A) * d0 / d1, rel=tolerance)


def test_taper_between_similar_sections_is_exact():
    middle, exact = taper(tube(0.2, 0.1), tube(0.4, 0.2), 0.25), tube(0.25, 0.125)
    for what in ("A", "Iy", "Iz", "J", "Ip", "Asy", "Asz"):
        assert getattr(middle, what) == pytest.approx(getattr(exact, what), rel=1e-12)


def wedge_roots(small, count):
    """β of a cantilever wedge that is cut at the fraction `small` of its length from the apex.

    A ∝ x, I ∝ x³: v = x^-½ Z₁(2β√x) with Z = J, Y, I, K solves (x³v″)″ = β⁴ x v, x ≤ 1: ω = β² √(EI/ρA)/l² of the root.
    v′ ∝ Z₂/x with signs −, −, +, −;  x³v″ ∝ x^{3/2} Z₃;  (x³v″)′ ∝ x Z₂ with signs +, +, +, −.
    """

    def determinant(beta):
        def Z(n, x):
            z = 2 * beta * np.sqrt(x)
            return np.array([special.jv(n, z), special.yv(n, z), special.iv(n, z), special.kv(n, z)])

        rows = [
            Z(1, 1.0),
            Z(2, 1.0) * [-1, -1, 1, -1],
            Z(3, small),
            Z(2, small) * [1, 1, 1, -1],
        ]
        return np.linalg.det(rows / np.abs(rows).max(axis=0))

    grid = np.linspace(1.0, 16.0, 600)
    values = np.array([determinant(b) for b in grid])
    turns = np.flatnonzero(np.sign(values[1:]) != np.sign(values[:-1]))[:count]
    return np.array([brentq(determinant, grid[i], grid[i + 1]) for i in turns])


def test_tapered_cantilever_frequencies():
    """A wedge cut at a third of its length, clamped at the thick end, with errors of order 4."""
    l, small, b, h = 1.5, 1 / 3, 0.05, 0.06
    L = l * (1 - small)
    exact = wedge_roots(small, 3) ** 2 * np.sqrt(STEEL.E * h**2 / 12 / STEEL.rho) / l**2
    errors = []
    for n in (12, 24):
        model = beam(L, lambda x: rectangle(b, h * (1 - x / l)), STEEL, n, rotary=False)
        across = {str(i): (0, 2, 3, 4) for i in range(1, n + 1)}
        errors.append(natural(model, {"0": ALL, **across}, 3) / exact - 1)
    np.testing.assert_allclose(np.log2(errors[0] / errors[1]), 4.0, atol=0.15)
    assert (errors[1] < [3e-7, 3e-6, 3e-5]).all()


@pytest.mark.parametrize(
    ("shape", "order", "printed"), [("wedge", 1, (5.315, 15.207, 30.020)), ("cone", 2, (8.719, 21.146, 38.453))]
)
def test_sharp_cantilevers(shape, order, printed):
    """Kirchhoff's wedge and cone: J_k I_{k+1} + J_{k+1} I_k = 0 at 2√ω, k = 1 and 2."""

    def equation(w):
        z = 2 * np.sqrt(w)
        return special.jv(order, z) * special.iv(order + 1, z) + special.jv(order + 1, z) * special.iv(order, z)

    exact = [brentq(equation, 0.98 * w, 1.02 * w) for w in printed]
    np.testing.assert_allclose(exact, printed, rtol=1e-4)
    L, d, n = 1.0, 0.02, 80
    at_root = rectangle(d, d) if shape == "wedge" else circle(d)
    section = (lambda x: rectangle(d, d * (1 - x / L))) if shape == "wedge" else (lambda x: circle(d * (1 - x / L)))
    model = beam(L, section, STEEL, n, rotary=False)
    across = {str(i): (0, 2, 3, 4) for i in range(1, n + 1)}
    unit = np.sqrt(STEEL.E * at_root.Iy / (STEEL.rho * at_root.A)) / L**2
    np.testing.assert_allclose(natural(model, {"0": ALL, **across}, 3) / unit, exact, rtol=3e-5)


# Geometric stiffness -----------------------------------------------------------------------------------------------


def test_geometric_stiffness_is_linear_and_symmetric():
    model = skew_frame()
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=(2, model.n))
    both = model.geometric(2.0 * u - 3.0 * v)
    difference = both - (2.0 * model.geometric(u) - 3.0 * model.geometric(v))
    assert abs(difference).max() < 1e-12 * abs(both).max()
    assert abs(both - both.T).max() < 1e-12 * abs(both).max()
    # models travel between processes
    again = pickle.loads(pickle.dumps(model)).geometric(u)
    assert abs(again - model.geometric(u)).max() == 0.0


def test_geometric_stiffness_is_the_hessian_of_a_nonlinear_beam():
    """Second derivatives of ∫ n·Γ + m·K + ½N(Iy + Iz)/A Kx² dx with strains of any rotation, on Hermite's cubics."""
    L, E, G, s = 0.8, STEEL.E, STEEL.G, SECTION
    t, weights = np.polynomial.legendre.leggauss(5)
    t, weights = 0.5 * (t + 1), 0.5 * weights
    x = t * L

    def hermite(a, ta, b, tb):
        """Slope, curvature and third derivative of the cubic."""
        d1 = (6 * t**2 - 6 * t) / L * (a - b) + (3 * t**2 - 4 * t + 1) * ta + (3 * t**2 - 2 * t) * tb
        d2 = (12 * t - 6) / L**2 * (a - b) + (6 * t - 4) / L * ta + (6 * t - 2) / L * tb
        d3 = 12 / L**3 * (a - b) + 6 / L**2 * (ta + tb)
        return d1, d2, d3

    def fields(u):
        dv, ddv, dddv = hermite(u[4], u[2], u[10], u[8])
        dw, ddw, dddw = hermite(u[5], -u[1], u[11], -u[7])
        one = np.ones_like(x)
        moved = np.stack([one * (u[9] - u[3]) / L, dv, dw], axis=1)
        turned = np.stack([u[0] + t * (u[6] - u[0]), -dw, dv], axis=1)
        bent = np.stack([one * (u[6] - u[0]) / L, -ddw, ddv], axis=1)
        return moved, turned, bent, dddv, dddw

    rng = np.random.default_rng(1)
    u0 = rng.normal(size=12)
    moved, _, bent, dddv, dddw = fields(u0)
    n = np.stack(
        [E * s.A * moved[:, 0], -E * s.Iz * dddv * np.ones_like(x), -E * s.Iy * dddw * np.ones_like(x)], axis=1
    )
    m = bent * [G * s.J, E * s.Iy, E * s.Iz]

    def work(u):
        moved, turned, bent, *_ = fields(u)
        e1 = np.array([1.0, 0.0, 0.0])
        Gamma = np.einsum("xij,xi->xj", SO3.exp(turned), e1 + moved) - e1
        K = SO3.dexp_right_apply(turned, bent)
        wound = 0.5 * n[:, 0] * (s.Iy + s.Iz) / s.A * K[:, 0] ** 2
        return L * weights @ (np.sum(n * Gamma + m * K, axis=1) + wound)

    h, I12 = 1e-4, np.eye(12)
    hessian = np.array(
        [
            [
                (work(h * (a + b)) - work(h * (a - b)) - work(h * (b - a)) + work(-h * (a + b))) / (4 * h * h)
                for b in I12
            ]
            for a in I12
        ]
    )
    found = beam(L, SECTION, STEEL, 1).geometric(u0).toarray()
    np.testing.assert_allclose(found, hessian, atol=1e-6 * abs(hessian).max())


def test_column_on_pins():
    """Euler's load, with errors of order 4."""
    L = 2.0
    exact = np.pi**2 * STEEL.E * SECTION.Iz / L**2
    errors = []
    for n in (2, 4, 8):
        fixed = {"0": (0, 3, 4, 5), str(n): (4, 5)}
        errors.append(buckling(beam(L, SECTION, STEEL, n), fixed, {(str(n), 3): -1.0})[0] / exact - 1)
    assert errors[1] < 1e-3
    assert 0.0 < errors[2] < 1e-4
    assert np.log2(errors[1] / errors[2]) == pytest.approx(4.0, abs=0.15)


def test_column_as_a_cantilever():
    L, n = 2.0, 8
    exact = np.pi**2 * STEEL.E * SECTION.Iz / (4 * L**2)
    found = buckling(beam(L, SECTION, STEEL, n), {"0": ALL}, {(str(n), 3): -1.0})[0]
    assert found == pytest.approx(exact, rel=1e-5)


def test_column_with_shear():
    """Haringx: P(1 + P/(G As)) = P_E, for a short column in which shear takes a tenth."""
    L, n = 0.3, 40
    euler = np.pi**2 * STEEL.E * SECTION.Iz / L**2
    GA = STEEL.G * SECTION.Asy
    exact = 0.5 * GA * (np.sqrt(1 + 4 * euler / GA) - 1)
    assert exact < 0.9 * euler
    model = beam(L, SECTION, STEEL, n, "timoshenko")
    fixed = {**{str(i): (0, 1, 5) for i in range(n + 1)}, "0": (0, 1, 3, 4, 5), str(n): (0, 1, 4, 5)}
    assert buckling(model, fixed, {(str(n), 3): -1.0})[0] == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize("N", [2e5, -1e5])
def test_frequencies_under_tension(N):
    """ω² = (EI k⁴ + N k²)/(ρA + ρI k²) on pins; with EI → 0 a string's."""
    L = 2.0
    k = np.arange(1, 4) * np.pi / L
    exact = np.sqrt((STEEL.E * SECTION.Iz * k**4 + N * k**2) / (STEEL.rho * (SECTION.A + SECTION.Iz * k**2)))
    np.testing.assert_allclose(in_plane(beam(L, SECTION, STEEL, 32), N), exact, rtol=6e-6)


def narrow():
    """A blade, so much stiffer in x–z that only x–y and twist bend out."""
    return Section(A=1e-3, Iy=1e-3, Iz=2e-8, J=7e-8)


def extrapolated(coarse, fine, expected):
    """Linear twist makes errors of order 2; without them the loads are those expected, of both signs."""
    expected = expected * np.array([1.0, -1.0])
    np.testing.assert_allclose(np.log2((coarse - expected) / (fine - expected)), 2.0, atol=0.05)
    np.testing.assert_allclose((4 * fine - coarse) / 3, expected, rtol=5e-5)


def test_cantilever_blade_falls_over_under_its_tip_load():
    """Prandtl and Michell: 4.0126 √(EIz GJ)/L²; needs moments, shear forces and twist together."""
    L, s = 2.0, narrow()
    coarse, fine = (buckling(beam(L, s, STEEL, n), {"0": ALL}, {(str(n), 5): -1.0}) for n in (8, 16))
    extrapolated(coarse, fine, 4.01260 * np.sqrt(STEEL.E * s.Iz * STEEL.G * s.J) / L**2)


@pytest.mark.parametrize("angle", [0.0, 45.0, 90.0])
def test_frame_bends_out_under_end_moments(angle):
    """Two legs of length l, whose ends turn only in their plane, buckle out of it at π √(EIz GJ)/l, whatever the angle.

    At 90° this is the frame by which Argyris et al. (1979) showed that moments must turn with their nodes as
    derivatives by rotation vectors do: otherwise, legs that meet at an angle do not fit together.
    """
    l, s, alpha = 1.0, narrow(), np.radians(angle) / 2

    def loads(n):
        frame = Frame(STEEL)
        frame.node("a", (-l * np.cos(alpha), 0, -l * np.sin(alpha)))
        frame.node("corner", (0, 0, 0))
        frame.node("b", (l * np.cos(alpha), 0, -l * np.sin(alpha)))
        frame.beam("a", "corner", s, n)
        frame.beam("corner", "b", s, n)
        fixed = {"a": (0, 2, 3, 4, 5), "b": (0, 2, 4, 5)}
        return buckling(frame.model(), fixed, {("a", 1): 1.0, ("b", 1): -1.0})

    extrapolated(loads(8), loads(16), np.pi / l * np.sqrt(STEEL.E * s.Iz * STEEL.G * s.J))


def test_blade_in_forks():
    """Ends that may turn in both planes, but not twist: π √(EIz GJ)/L."""
    L, s = 2.0, narrow()
    coarse, fine = (
        buckling(beam(L, s, STEEL, n), {"0": (0, 3, 4, 5), str(n): (0, 4, 5)}, {("0", 1): 1.0, (str(n), 1): -1.0})
        for n in (8, 16)
    )
    extrapolated(coarse, fine, np.pi / L * np.sqrt(STEEL.E * s.Iz * STEEL.G * s.J))


def test_shaft_under_torque():
    """Greenhill: clamped at both ends, one free to twist: 2 · 4.4934 EI/L, where tan x = x."""
    L, n = 2.0, 24
    I = 1e-6
    model = beam(L, Section(1e-3, I, I, 1e-6), STEEL, n)
    exact = 2 * brentq(lambda x: np.sin(x) - x * np.cos(x), 4.0, 4.6) * STEEL.E * I / L
    for found in buckling(model, {"0": ALL, str(n): (1, 2, 3, 4, 5)}, {(str(n), 0): 1.0}):
        assert abs(found) == pytest.approx(exact, rel=1e-4)


# Sections and materials --------------------------------------------------------------------------------------------


def test_rectangle():
    s = rectangle(0.03, 0.05)
    assert pytest.approx(1.5e-3) == s.A
    assert s.Iy == pytest.approx(0.03 * 0.05**3 / 12)
    assert s.Iz == pytest.approx(0.05 * 0.03**3 / 12)
    assert s.Ip == pytest.approx(s.Iy + s.Iz)
    assert s.Asy == s.Asz == pytest.approx(5 / 6 * s.A)
    assert pytest.approx(rectangle(0.05, 0.03).J, rel=1e-14) == s.J


@pytest.mark.parametrize(("ratio", "factor"), [(1, 0.1406), (1.5, 0.196), (2, 0.229), (4, 0.281), (10, 0.312)])
def test_torsion_of_a_rectangle(ratio, factor):
    """J/ab³ as tables have it (Timoshenko, Goodier, § 109), and the series summed as it stands."""
    a, b = 0.02 * ratio, 0.02
    n = np.arange(1, 4001, 2)
    series = np.sum(np.tanh(n * np.pi * a / (2 * b)) / n**5.0)
    J = rectangle(a, b).J
    assert J / (a * b**3) == pytest.approx(factor, abs=6e-4)
    assert pytest.approx(a * b**3 * (1 / 3 - 64 / np.pi**5 * b / a * series), rel=1e-12) == J


@pytest.mark.parametrize("m", [0.0, 0.3, 0.8, 0.99])
def test_shear_area_of_a_ring(m):
    """∫|τ|² dA in polar coordinates, from the stress function whose normal derivative must vanish on both circles."""
    a = 0.7
    b = m * a
    s = circle(2 * a) if m == 0.0 else tube(2 * a, 2 * b)
    f = np.polynomial.Polynomial([0.0, 3 * (a**2 + b**2) / 8, 0.0, -1 / 8])
    t, w = np.polynomial.legendre.leggauss(60)
    r, w = b + (a - b) * 0.5 * (t + 1), w * 0.5 * (a - b)
    q = 3 * a**2 * b**2 / 8
    radial, around = f.deriv()(r) - q / r**2, f(r) / r + q / r**2
    assert f.deriv()(a) - q / a**2 == pytest.approx(0.0, abs=1e-12)
    energy = np.pi * w @ (r * (radial**2 + around**2))
    assert s.Asz == pytest.approx(s.Iy**2 / energy, rel=1e-9)
    assert s.Iy == pytest.approx(np.pi * w @ r**3, rel=1e-12)
    assert pytest.approx(2 * s.Iy) == s.J


def test_i_beam():
    """An IPE 200 without its fillets; shear area from a numerical shear flow; near a plate where flanges vanish."""
    b, H, tf, tw = 0.1, 0.2, 0.0085, 0.0056
    s = i_beam(b, H, tf, tw)
    parts = [(b, tf, (H - tf) / 2), (b, tf, -(H - tf) / 2), (tw, H - 2 * tf, 0.0)]
    assert pytest.approx(sum(w * h for w, h, _ in parts), rel=1e-12) == s.A
    assert s.Iy == pytest.approx(sum(w * h**3 / 12 + w * h * z**2 for w, h, z in parts), rel=1e-12)
    assert s.Iz == pytest.approx(sum(h * w**3 / 12 for w, h, _ in parts), rel=1e-12)
    h = H - tf
    t, w = np.polynomial.legendre.leggauss(8)
    z = 0.5 * h * t
    I = tf * b * h**2 / 2 + tw * h**3 / 12
    web = (tf * b * h / 2 + tw * (h**2 / 4 - z**2) / 2) / I
    # the web carries all of the force
    assert 0.5 * h * w @ web == pytest.approx(1.0, rel=1e-12)
    along = 0.25 * b * (t + 1)
    energy = 0.5 * h * w @ web**2 / tw + 4 * 0.25 * b * w @ (tf * h / 2 * along / I) ** 2 / tf
    assert s.Asz == pytest.approx(1 / energy, rel=1e-12)
    assert s.Asz == pytest.approx(tw * h, rel=0.12)
    plate = i_beam(0.011, 1.0, 1e-9, 0.01)
    assert plate.Asz == pytest.approx(5 / 6 * 0.01, rel=1e-4)


def test_material():
    assert pytest.approx(0.8) == Material(E=2.0, rho=1.0, nu=0.25).G
    assert Material(E=2.0, rho=1.0, G=0.7).nu is None
    assert Material(E=2.0, rho=1.0, nu=0.25, G=0.8).G == 0.8


def test_sections_without_shear_areas_have_no_shear():
    half = Section(2e-3, 5e-6, 1e-6, 3e-6, Asy=1e-3)
    found = beam(0.7, half, STEEL, 1, "timoshenko").stiffness
    none = beam(0.7, half, STEEL, 1, "euler").stiffness
    np.testing.assert_allclose(plane(found, "z"), plane(none, "z"), rtol=1e-14)
    assert plane(found, "y")[0, 0] < 0.99 * plane(none, "y")[0, 0]
    assert Section(2e-3, 5e-6, 1e-6, 3e-6, Asz=0).Asz == 0.0


def test_nodes_of_a_beam_are_in_order():
    model = beam(2.0, SECTION, STEEL, 4)
    assert model.names == ("0", "1", "2", "3", "4")
    np.testing.assert_allclose(np.asarray(model.positions)[:, 0], [0.0, 0.5, 1.0, 1.5, 2.0])


# Errors ------------------------------------------------------------------------------------------------------------


def two(**changes):
    """A frame of two nodes and a beam, with one argument changed."""
    frame = Frame(STEEL, "mast")
    frame.node("a", (0, 0, 0))
    frame.node("b", changes.pop("b_at", (0, 0, 2)))
    frame.beam(**{"a": "a", "b": "b", "section": SECTION, **changes})
    return frame


def apart():
    frame = two()
    frame.node("c", (1, 1, 1))
    return frame.model()


REFUSED = {
    "area": (lambda: Section(0.0, 1, 1, 1, name="boom"), "section 'boom': A is 0, must be > 0."),
    "text": (lambda: Section("x", 1, 1, 1), "section 'section': A is 'x', expected a number > 0."),
    "infinite": (lambda: Section(1, np.inf, 1, 1), "section 'section': Iy is inf, must be > 0."),
    "shear area": (lambda: Section(1, 1, 1, 1, Asy=-0.5), "section 'section': Asy is -0.5, must be ≥ 0."),
    "diameter": (lambda: circle(-0.1), "section 'circle': diameter is -0.1, must be > 0."),
    "tube": (lambda: tube(0.1, 0.1), "the inner diameter is 0.1, must be less than the outer one, 0.1 m."),
    "flange": (lambda: i_beam(0.1, 0.2, 0.1, 0.01), "flange is 0.1, must be less than half of height_z, 0.1 m."),
    "web": (lambda: i_beam(0.1, 0.2, 0.01, 0.2), "web is 0.2, must be less than width_y, 0.1 m."),
    "no G": (lambda: Material(1, 1, name="x"), "material 'x': has neither nu nor G, expected one of them."),
    "nu": (lambda: Material(1, 1, nu=0.6), "material 'material': nu is 0.6, must be at most 0.5."),
    "low nu": (lambda: Material(1, 1, nu=-1), "material 'material': nu is -1, must be > -1."),
    "both": (lambda: Material(2.0, 1, nu=0.0, G=0.9), "G is 0.9, but E and nu make it 1; give nu or G, not both."),
    "density": (lambda: Material(1, -1, nu=0.3), "material 'material': rho is -1, must be ≥ 0."),
    "material": (lambda: Frame(7.0, "mast"), "frame 'mast': material is 7, expected a Material."),
    "of beam": (lambda: two(material="steel"), "frame 'mast', beam 'a-b': material is 'steel', expected a Material."),
    "twice": (lambda: two().node("a", (1, 1, 1)), "frame 'mast': there is already a node 'a', at [0.0, 0.0, 0.0]"),
    "twice within": (
        lambda: two(n_elements=2).beam("a", "b", SECTION, 2),
        "there is already a node 'a-b.1'",
        "each of several beams between the same nodes, its own name",
    ),
    "position": (lambda: two(b_at=(1, 2)), "frame 'mast': position of node 'b' has shape (2,), expected (3,)."),
    "elements": (lambda: two(n_elements=0), "frame 'mast', beam 'a-b': n_elements is 0, expected an integer ≥ 1."),
    "half elements": (lambda: beam(1.0, SECTION, STEEL, 2.5), "n_elements is 2.5, expected an integer ≥ 1."),
    "length": (lambda: beam(-1.0, SECTION, STEEL, 2), "frame 'beam': length is -1, must be > 0."),
    "kind": (lambda: two(kind="thick"), "frame 'mast', beam 'a-b': kind is 'thick', expected 'euler' or 'timoshenko'."),
    "no node": (lambda: two(b="bb"), "frame 'mast', beam 'a-bb': there is no node 'bb'. Did you mean 'b'?"),
    "no length": (lambda: two(b_at=(0, 0, 0)), "nodes 'a' and 'b' are both at [0.0, 0.0, 0.0], length must be > 0."),
    "up": (lambda: two(up=(0, 0, 5)), "up is [0.0, 0.0, 5.0], which is zero or along the beam, [0.0, 0.0, 1.0]"),
    "no up": (lambda: two(up=(0, 0, 0)), "up is [0.0, 0.0, 0.0], which is zero"),
    "no shear": (
        lambda: two(kind="timoshenko", section=Section(1, 1, 1, 1, name="rod")),
        "kind is 'timoshenko', but section 'rod' has no shear area.",
        "Give it Asy and Asz",
    ),
    "section": (lambda: two(section=3), "section is 3, expected a Section, a pair of them, or a function of x."),
    "pair": (
        lambda: two(section=(SECTION, Section(1, 1, 1, 1))),
        "frame 'mast', beam 'a-b': Asy of the sections is 0.0016 and 0, expected both > 0 or both 0.",
    ),
    "function": (lambda: two(section=lambda x: 2 * x), "the section at x = 0.06753", "expected a Section."),
    "mass": (lambda: two().mass("b", -2.0), "frame 'mast', mass on 'b': mass is -2, must be ≥ 0."),
    "mass where": (lambda: two().mass("x", 2.0), "frame 'mast', mass on 'x': there is no node 'x'."),
    "inertia": (lambda: two().mass("b", 2.0, (1, 1, 3)), "body 'mass on b': principal moments 1, 1, 3 break"),
    "empty": (lambda: Frame(STEEL, "mast").model(), "frame 'mast': has no beams, expected at least one."),
    "apart": (apart, "frame 'mast': no beams lead from node 'a' to node 'c'; connect them."),
    "displacement": (
        lambda: two().model().geometric(np.zeros(3)),
        "frame 'mast': displacement has shape (3,), expected (12,).",
    ),
}


@pytest.mark.parametrize(
    ("call", "parts"), [pytest.param(call, parts, id=name) for name, (call, *parts) in REFUSED.items()]
)
def test_refused_with_a_message(call, parts):
    with pytest.raises(ModelError) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)


def test_every_raise_is_reached():
    """A new `raise` in beam.py or sections.py needs a line in REFUSED."""
    root = Path(liegeo.__file__).parent / "flex"
    wanted = {
        (file.name, node.lineno): ast.unparse(node)[:100]
        for file in (root / "beams.py", root / "sections.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise)
    }
    assert len(wanted) > 15
    for call, *_ in REFUSED.values():
        with pytest.raises(LiegeoError) as caught:
            call()
        last = caught.traceback[-1]
        wanted.pop((last.path.name, last.lineno + 1), None)
    assert not wanted, f"these have no line in REFUSED: {wanted}"


def test_a_refused_beam_leaves_the_frame_as_it_was():
    frame = two()
    with pytest.raises(ModelError, match="no shear area"):
        frame.beam("a", "b", Section(1, 1, 1, 1), 3, "timoshenko", name="second")
    frame.beam("a", "b", SECTION, 3, "timoshenko", name="second")
    assert frame.model().names == ("a", "b", "second.1", "second.2")
