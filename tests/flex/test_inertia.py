"""Inertia, damping and stiffening of reduced bodies: against sums, quadrature, FE eigenvalues and the literature."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from liegeo import dynamics, flex
from liegeo import model as lm
from liegeo.errors import ModelError
from liegeo.flex import modes
from liegeo.flex.beams import Frame, beam
from liegeo.flex.fe import Pieces
from liegeo.flex.sections import Material, Section, rectangle, tube
from liegeo.lie import SO3

ALUMINIUM = Material(E=7.0e10, rho=2700.0, nu=0.3)
FIELDS = ("moment", "inertia", "C_t", "C_r0", "C_r1", "J_1", "J_2", "M_e")
STEP = 1e-30


def bent_frame():
    """A frame in space without any symmetry, held nowhere."""
    frame = Frame(ALUMINIUM, name="bent")
    for name, position in {"a": (0, 0, 0), "b": (1, 0.1, 0), "c": (1.2, 0.8, 0.3), "d": (0.7, 1.0, 1.0)}.items():
        frame.node(name, position)
    for a, b in (("a", "b"), ("b", "c"), ("c", "d")):
        frame.beam(a, b, tube(0.05, 0.04), n_elements=3)
    return frame.model()


def lumped(fe, rotary=True):
    """The same model with the mass of each node on its diagonal."""
    diagonal = np.zeros(fe.n)
    for i, direction in enumerate(fe.dofs[:, 1]):
        diagonal[i] = 0.3 if direction >= 3 else (1e-3 if rotary else 0.0)
    return fe._with(mass=np.diag(diagonal))


def test_point_masses_give_what_lumped_nodes_give():
    """With masses that move only, the integrals (1) to (3) are the sums of FlexibleBody.from_nodes."""
    fe = lumped(bent_frame(), rotary=False)
    made = flex.reduce(fe, ["a"], "fixed-interface", n_modes=5, root="a")
    body = flex.flexible_body(made, "b")
    pieces = []
    for name in fe.names:
        position, matrix = fe.place(name)
        pieces.append(lm.LumpedNode(matrix @ made.shapes, position, 0.3))
    expected = lm.FlexibleBody.from_nodes("b", pieces, body.K)
    for field in FIELDS:
        assert np.asarray(getattr(body, field)) == pytest.approx(np.asarray(getattr(expected, field)), abs=1e-10), field
    assert body.mass == pytest.approx(expected.mass)


def test_rotary_inertia_is_what_lumped_nodes_give():
    fe = lumped(bent_frame())
    made = flex.reduce(fe, ["a"], "fixed-interface", n_modes=5, root="a")
    body = flex.flexible_body(made, "b")
    pieces = []
    for name in fe.names:
        position, matrix = fe.place(name)
        pieces.append(lm.LumpedNode(matrix @ made.shapes, position, 0.3, inertia=(1e-3,) * 3))
    expected = lm.FlexibleBody.from_nodes("b", pieces, body.K)
    for field in (*FIELDS, "C_t1", "J_2_second"):
        assert np.asarray(getattr(body, field)) == pytest.approx(np.asarray(getattr(expected, field)), abs=1e-10), field


def quadrature(fe, shapes, n, pieces=False):
    """The integrals of a straight beam along x by Gauss points in its elements, Hermite's cubics written out.

    [FLS13, (B4)–(B12)] without rotary inertia; an independent way to the same numbers.
    """
    length = fe.positions[-1, 0]
    h, m = length / n, fe.total_mass / length
    points, weights = np.polynomial.legendre.leggauss(6)
    found = []
    for e in range(n):
        a, b = ({d: shapes[fe.dof(str(i), d)] for d in range(6)} for i in (e, e + 1))
        for s, w in zip(0.5 * (points + 1), 0.5 * weights, strict=True):
            N1, N2, N3, N4 = 1 - 3 * s**2 + 2 * s**3, h * (s - 2 * s**2 + s**3), 3 * s**2 - 2 * s**3, h * (s**3 - s**2)
            u = np.stack(
                [
                    (1 - s) * a[3] + s * b[3],
                    N1 * a[4] + N2 * a[2] + N3 * b[4] + N4 * b[2],
                    N1 * a[5] - N2 * a[1] + N3 * b[5] - N4 * b[1],
                ]
            )
            found.append(lm.LumpedNode(np.concatenate([0.0 * u, u]), ((e + s) * h, 0, 0), mass=m * h * w))
    return found if pieces else lm.FlexibleBody.from_nodes("q", found, np.eye(shapes.shape[1]))


def test_quadrature_lumps_and_consistent_mass_meet_in_the_limit():
    """A beam three ways: its own integrals are those of the quadrature; lumps come near with the square of h."""
    # a rod so thin that its rotary inertia does not count
    section = Section(A=1e-4, Iy=1e-12, Iz=2e-12, J=3e-12)
    errors = {"consistent": [], "lumped": []}
    for n in (8, 16, 32):
        fe = beam(1.0, section, ALUMINIUM, n, rotary=False)
        # the bending shapes of the continuous beam, sampled: the same fields for every mesh
        x = fe.positions[:, 0]
        shapes = np.zeros((fe.n, 3))
        for i, (node, d) in enumerate(fe.dofs):
            s = x[node]
            values = {
                3: (s, 0, 0),
                4: (0, s**2, 0),
                2: (0, 2 * s, 0),
                5: (0, 0, s**3),
                1: (0, 0, -3 * s**2),
            }
            shapes[i] = values.get(int(d), (0, 0, 0))
        made = modes.Reduction(fe, shapes, np.ones(3), "given", "0", modes.Component(fe).characterisation, 3, 0)
        body = flex.flexible_body(made, "b")
        exact = quadrature(fe, shapes, n)
        weights = np.full(n + 1, fe.total_mass / n)
        weights[[0, -1]] *= 0.5
        pieces = [
            lm.LumpedNode(fe.place(str(i))[1] @ shapes * np.repeat([0.0, 1.0], 3)[:, None], fe.positions[i], m)
            for i, m in enumerate(weights)
        ]
        crude = lm.FlexibleBody.from_nodes("l", pieces, np.eye(3))
        for name, other in (("consistent", body), ("lumped", crude)):
            fields = [f for f in FIELDS if not (name == "consistent" and f == "M_e")]
            errors[name].append(
                max(
                    np.abs(np.asarray(getattr(other, f)) - np.asarray(getattr(exact, f))).max()
                    / np.abs(np.asarray(getattr(exact, f))).max()
                    for f in fields
                )
            )
    assert errors["lumped"][0] / errors["lumped"][2] == pytest.approx(16, rel=0.2)
    assert errors["lumped"][2] < 3e-3
    # what is left is the rotary inertia of twisting
    assert max(errors["consistent"]) < 1e-6


def test_invariants_of_fls13():
    """I1 to I11 from sums over mass points, as (A1)–(A13) define them; (A14) and (A15) are how they are found."""
    rng = np.random.default_rng(2)
    masses, r, s = rng.uniform(0.1, 1, 7), rng.normal(size=(7, 3)), rng.normal(size=(7, 3, 4))
    modes_ = [np.concatenate([np.zeros((3, 4)), shape]) for shape in s]
    pieces = [lm.LumpedNode(modes_[i], r[i], masses[i]) for i in range(7)]
    found = flex.invariants(lm.FlexibleBody.from_nodes("b", pieces, np.eye(4)))
    hat = SO3.hat
    total = dict.fromkeys(("I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9", "I10", "I11"), 0.0)
    for m, p, S in zip(masses, r, s, strict=True):
        tilde = np.stack([hat(S[:, k]) for k in range(4)])
        total["I2"] = total["I2"] + m * p
        total["I3"] = total["I3"] + m * S
        total["I4"] = total["I4"] + m * hat(p) @ S
        total["I5"] = total["I5"] + m * np.einsum("iab,bj->iaj", tilde, S)
        total["I6"] = total["I6"] + m * S.T @ S
        total["I7"] = total["I7"] + m * hat(p).T @ hat(p)
        total["I8"] = total["I8"] + m * np.einsum("ab,ibc->iac", hat(p), tilde)
        total["I9"] = total["I9"] + m * np.einsum("iab,jbc->ijac", tilde, tilde)
        total["I10"] = total["I10"] + m * np.einsum("a,bk->abk", p, S)
        total["I11"] = total["I11"] + m * np.einsum("ak,bl->abkl", S, S)
    assert abs(found.I1 - masses.sum()) < 1e-12
    for name, expected in total.items():
        if name == "I9":
            # (8) uses I9 only summed over both indices, and so does the record
            expected = 0.5 * (expected + expected.transpose(1, 0, 3, 2))
            mine = 0.5 * (found.I9 + found.I9.transpose(1, 0, 3, 2))
            assert mine == pytest.approx(expected, abs=1e-12)
        else:
            assert getattr(found, name) == pytest.approx(expected, abs=1e-12), name


def hinged(body, root, **options):
    """The body on a hinge about y at its root, in a tree."""
    joint = lm.Revolute(name="hinge", parent="world", child=body.name, child_at=root, axis=(0, 1, 0))
    return lm.Tree([body], [joint], gravity=(0, 0, 0), **options).compile()


def small_frequencies(model, state):
    """Of small motions about a state that is in equilibrium, Hz, from the exact derivatives."""
    d = dynamics.forward_derivatives(model, state)
    A = np.block([[np.zeros_like(d.q), np.eye(model.nv)], [d.q, d.v]])
    return np.sort(np.abs(np.linalg.eigvals(A).imag))[::2] / (2 * np.pi)


@pytest.mark.parametrize("reference", ["root", "mean"])
@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_a_body_with_all_its_modes_vibrates_in_the_tree_as_its_elements_do(reference, fidelity):
    """Cantilever or free-free modes, all of them, on a hinge: the frequencies of the FE model with that hinge."""
    fe = bent_frame()
    root = "a" if reference == "root" else None
    made = flex.reduce(fe, method="free-interface", n_modes=fe.n - 6, root=root)
    body = flex.flexible_body(made, "frame", ["a", "d"])
    model = hinged(body, "a", fidelity=fidelity)
    free = np.setdiff1d(np.arange(fe.n), [fe.dof("a", d) for d in (0, 2, 3, 4, 5)])
    K, M = (x.todense()[np.ix_(free, free)] for x in (fe.stiffness, fe.mass))
    expected = np.sqrt(np.maximum(scipy.linalg.eigh(K, M, eigvals_only=True), 0.0)) / (2 * np.pi)
    found = small_frequencies(model, model.state())
    assert found[1:8] == pytest.approx(expected[1:8], rel=1e-6)


# Flap frequencies of a rotating uniform cantilever, hub radius 0, in √(EI/ρAL⁴), by spin: Wright et al. (1982)
ROTATING = {0.0: (3.516015, 22.034492), 6.0: (7.360373, 26.809082), 12.0: (13.170151, 37.603112)}


def rotating(stiffening):
    """A thin beam clamped to a hub that turns about z with a speed that is held; frequencies by spin."""
    section = rectangle(0.01, 0.01)
    fe = beam(1.0, section, ALUMINIUM, 20, rotary=False)
    made = flex.reduce(fe, ["0"], "fixed-interface", n_modes=20, root="0")
    body = flex.flexible_body(made, "blade", ["20"], stiffening=stiffening)
    hub = lm.Revolute(name="hub", parent="world", child="blade", child_at="0", axis=(0, 0, 1))
    model = lm.Tree([body], [hub], gravity=(0, 0, 0)).compile().lock("hub")
    unit = np.sqrt(ALUMINIUM.E * section.Iy / (ALUMINIUM.rho * section.A))
    found = {}
    for spin in ROTATING:
        eta = np.zeros(made.n_modes)
        for _ in range(6):
            # Newton for the stretched blade
            state = model.state({"blade": eta}, {"hub": spin * unit})
            d = dynamics.forward_derivatives(model, state)
            eta = eta - np.linalg.solve(d.q[1:, 1:], dynamics.forward_dynamics(model, state)[1:])
        d = dynamics.forward_derivatives(model, model.state({"blade": eta}, {"hub": spin * unit}))
        n = made.n_modes
        A = np.block([[np.zeros((n, n)), np.eye(n)], [d.q[1:, 1:], d.v[1:, 1:]]])
        values, vectors = np.linalg.eig(A)
        # out of the plane or in it, by the displacement of the tip
        tip = np.asarray(body.nodes["20"].modes)
        flap, lag = [], []
        for value, vector in zip(values, vectors.T, strict=True):
            y, z = np.abs(tip[4] @ vector[:n]), np.abs(tip[5] @ vector[:n])
            if value.imag >= 0.0:
                (flap if z > y else lag).append(abs(value.imag) / unit)
        found[spin] = (np.sort(flap)[:2], np.sort(lag)[:2])
    return found


def test_a_rotating_beam_stiffens():
    """Flap within 1 % of the tables, lag by μ² − λ², and the Southwell line; without stiffening they are far off."""
    found, soft = rotating(True), rotating(False)
    for spin, expected in ROTATING.items():
        flap, lag = found[spin]
        assert flap == pytest.approx(expected, rel=2e-3)
        assert lag == pytest.approx(np.sqrt(np.array(expected) ** 2 - spin**2), rel=1e-2)
    slopes = [(found[s][0][0] ** 2 - found[0.0][0][0] ** 2) / s**2 for s in (6.0, 12.0)]
    assert slopes[0] == pytest.approx(1.18, rel=0.03)
    assert slopes[1] == pytest.approx(slopes[0], rel=0.05)
    assert soft[6.0][0][0] < 0.6 * ROTATING[6.0][0]


def test_a_load_at_the_tip_stiffens():
    """A dead pull along the beam: the tree's small frequencies are those of K + K_G in the same modes."""
    fe = beam(1.0, rectangle(0.01, 0.02), ALUMINIUM, 12)
    made = flex.reduce(fe, ["0", "12"], n_modes=8, root="0")
    body = flex.flexible_body(made, "bar", ["12"], stiffening=True)
    joint = lm.Fixed(name="wall", parent="world", child="bar", child_at="0")
    pull = lm.PointForce(name="pull", at="bar.12", force=(400.0, 0, 0))
    model = lm.Tree([body], [joint], gravity=(0, 0, 0), forces=[pull]).compile()
    f = np.zeros((fe.n, 1))
    f[fe.dof("12", 3)] = 400.0
    u = modes.Component(fe).hold(np.arange(6)).solve(f)[:, 0]
    K = np.diag((2 * np.pi * made.frequencies) ** 2)
    stiff = K + made.shapes.T @ (fe.geometric(u) @ made.shapes)
    expected = np.sqrt(scipy.linalg.eigvalsh(stiff)) / (2 * np.pi)
    found = small_frequencies(model, model.state())
    assert found[:6] == pytest.approx(expected[:6], rel=1e-9)
    assert found[0] > 1.2 * made.frequencies[0]


def test_stiffening_keeps_the_energy():
    """dE/dt = 0 along any motion: the terms of second order belong to one kinetic energy."""
    rng = np.random.default_rng(4)
    fe = bent_frame()
    made = flex.reduce(fe, ["a", "d"], n_modes=3, root="a")
    body = flex.flexible_body(made, "frame", ["d"], stiffening=True)
    # A hub: cantilever modes on a root of no mass leave next to no inertia, which terms of second order make negative.
    hub, end = lm.Body("hub", 9.0, inertia=(1, 1, 1)), lm.Body("end", 1.0, (0.1, 0, 0), (0.01, 0.01, 0.01))
    joints = [
        lm.Free(name="float", parent="world", child="hub"),
        lm.Fixed(name="root", parent="hub", child="frame", child_at="a"),
        lm.Spherical(name="ball", parent="frame", child="end", at="d"),
    ]
    model = lm.Tree([hub, body, end], joints).compile()
    x, v = 0.4 * rng.normal(size=model.nv), rng.normal(size=model.nv)
    # bent by a few per cent, and no more: terms of second order mean nothing beyond
    x[model.group.v["frame"]] = 1e-2 * rng.normal(size=made.n_modes) * made.frequencies[0] / made.frequencies
    state = model.state(model.group.exp(x), v)
    a = dynamics.forward_dynamics(model, state)
    ahead = lm.State(model.group.retract(state.q.astype(complex), 1j * STEP * state.v), state.v + 1j * STEP * a)
    power = dynamics.balance(model, ahead).energy.imag / STEP
    assert abs(power) < 1e-10 * np.abs(a).max() * dynamics.balance(model, state).kinetic


def test_damping():
    fe = beam(1.0, rectangle(0.01, 0.02), ALUMINIUM, 6)
    made = flex.reduce(fe, ["0"], "fixed-interface", n_modes=3, root="0")
    omega = 2 * np.pi * made.frequencies
    D = lambda damping: np.asarray(flex.flexible_body(made, "b", damping=damping).D)  # noqa: E731
    assert D(None) == pytest.approx(np.zeros((3, 3)))
    assert D(0.02) == pytest.approx(np.diag(0.04 * omega))
    assert D(flex.Damping(ratio=(0.01, 0.02, 0.03))) == pytest.approx(np.diag(2 * omega * (0.01, 0.02, 0.03)))
    assert D(flex.Damping(alpha=0.5, beta=1e-4)) == pytest.approx(0.5 * np.eye(3) + 1e-4 * np.diag(omega**2))
    assert D(flex.Damping(matrix=np.eye(3))) == pytest.approx(np.eye(3))
    assert D(flex.Damping(matrix=2.0 * fe.mass)) == pytest.approx(2.0 * np.eye(3), abs=1e-9)


def test_bending_leaves_the_mass_positive():
    """Coarse, thin, free to twist, and bent by a tenth of its length: terms of second order do no harm yet."""
    A = 7.299e-5
    section = Section(A=A, Iy=A**2 / (4 * np.pi), Iz=A**2 / (4 * np.pi), J=A**2 / (2 * np.pi))
    fe = beam(2.0, section, Material(E=1.3359e12, rho=2767.0, nu=0.0), 4, rotary=False)
    body = flex.flexible_body(flex.reduce(fe, ["0", "4"], n_modes=6, root="0"), "beam", ["4"])
    model = lm.Tree([body], [lm.Free(name="float", parent="world", child="beam")]).compile()
    tip = np.asarray(body.nodes["4"].modes)
    for direction in (4, 5):
        eta = np.linalg.pinv(tip) @ (0.2 * np.eye(6)[direction])
        state = model.state(np.concatenate([model.state().q[:7], eta]))
        assert np.linalg.eigvalsh(dynamics.mass_matrix(model, state)).min() > 0.0


def test_the_inertia_of_a_bent_beam_is_that_of_where_its_mass_is():
    """The mass matrix at a large deflection, against a sum over points of the bent beam; a rod too thin to twist."""
    fe = beam(1.0, Section(A=1e-4, Iy=1e-12, Iz=2e-12, J=3e-12), ALUMINIUM, 5, rotary=False)
    ends, held = {"0": (1, 2, 3, 4, 5), "5": (1, 2, 3, 4, 5)}, {str(i): (0,) for i in range(6)}
    made = flex.reduce(fe, ends, n_modes=4, root="0", fixed=held)
    model = lm.Tree([flex.flexible_body(made, "b")], [lm.Free(name="float", parent="world", child="b")]).compile()
    eta = np.random.default_rng(3).normal(size=made.n_modes) * 0.1
    found = dynamics.mass_matrix(model, model.state(np.concatenate([model.state().q[:7], eta])))
    expected = np.zeros_like(found)
    for piece in quadrature(fe, made.shapes, 5, pieces=True):
        u = np.asarray(piece.modes)[3:]
        J = np.concatenate([-SO3.hat(np.asarray(piece.position) + u @ eta), np.eye(3), u], axis=1)
        expected += piece.mass * J.T @ J
    # the rest is the rotary inertia of the sections, 8e-9 kg m² in all, which turn by several radians here
    assert np.abs(found - expected).max() < 3e-6 * np.abs(expected).max()


REFUSED = {
    "stiffening of no modes": (
        lambda made: flex.flexible_body(made, "b", stiffening=4),
        "stiffening is 4, expected True, False, or how many of the 3 modes it is for.",
    ),
    "alpha": (
        lambda made: flex.flexible_body(made, "b", damping=flex.Damping(alpha=-1.0)),
        "alpha is -1, must be ≥ 0",
    ),
    "ratio": (
        lambda made: flex.flexible_body(made, "b", damping=flex.Damping(ratio=(1, 2))),
        "expected one number or 3",
    ),
    "matrix": (
        lambda made: flex.flexible_body(made, "b", damping=flex.Damping(matrix=np.eye(2))),
        "matrix has shape (2, 2), expected (3, 3) (modal) or (42, 42) (all).",
    ),
    "node": (lambda made: flex.flexible_body(made, "b", ["99"]), "FE model 'beam': has no node '99'."),
    "no geometric stiffness": (
        lambda made: flex.flexible_body(
            flex.reduce(made.fe._with(geometric=None), ["0"], n_modes=1, root="0"), "b", stiffening=True
        ),
        "gives no geometric stiffness, which stiffening needs.",
    ),
    "no rotations": (
        lambda made: flex.flexible_body(flex.reduce(points(), method="free-interface", n_modes=1), "b", ["0"]),
        "node '0' has no rotations, which a joint or frame needs.",
    ),
}


def points():
    """Four nodes with displacements only, tied by springs along their edges and across."""
    positions = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1.0)])
    K = np.zeros((12, 12))
    for i in range(4):
        for j in range(i):
            n = positions[i] - positions[j]
            n = n / np.linalg.norm(n)
            row = np.zeros(12)
            row[3 * i : 3 * i + 3], row[3 * j : 3 * j + 3] = n, -n
            K += np.outer(row, row)
    dofs = [(i, 3 + d) for i in range(4) for d in range(3)]
    return flex.FEModel(positions, dofs, np.eye(12), K, name="points")


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_a_message(case):
    call, message = REFUSED[case]
    fe = beam(1.0, rectangle(0.01, 0.02), ALUMINIUM, 6)
    with pytest.raises(ModelError) as caught:
        call(flex.reduce(fe, ["0"], "fixed-interface", n_modes=3, root="0"))
    assert message in str(caught.value)


def test_nodes_without_rotations_are_tied_or_averaged():
    """A solid's face as one place: tied rigidly (RBE2) it has six directions, averaged (RBE3) it only watches."""
    fe = points()
    tied = fe.rigid_link("face", ["0", "1", "2"])
    assert tied.names[-1] == "face"
    assert tied.n == 12 - 9 + 6
    assert np.abs(tied.stiffness @ tied.rigid).max() < 1e-12
    assert tied.inertia == pytest.approx(fe.inertia)
    watched = fe.average("face", ["0", "1", "2"])
    assert watched.n == 12
    position, matrix = watched.place("face")
    assert position == pytest.approx([1 / 3, 1 / 3, 0])
    assert matrix @ watched.rigid[:, 3:] == pytest.approx(np.concatenate([np.zeros((3, 3)), np.eye(3)]), abs=1e-12)
    turned = matrix @ watched.rigid[:, :3]
    assert turned[:3] == pytest.approx(np.eye(3), abs=1e-12)
    assert turned[3:] == pytest.approx(-SO3.hat(position), abs=1e-12)
    with pytest.raises(ModelError, match="lie on one line or point"):
        fe.average("edge", ["0", "1"])


FE_REFUSED = {
    "positions": (
        lambda p, d, M, K: flex.FEModel(p[:, :2], d, M, K),
        "positions has shape (4, 2), expected (nodes, 3)",
    ),
    "names": (lambda p, d, M, K: flex.FEModel(p, d, M, K, names=("a",)), "1 names for 4 nodes, expected one each"),
    "direction": (lambda p, d, M, K: flex.FEModel(p, [(0, 6)], M, K), "no degree of freedom (0, 6), expected"),
    "twice": (lambda p, d, M, K: flex.FEModel(p, [(0, 3)] * 12, M, K), "a degree of freedom is listed twice."),
    "size": (lambda p, d, M, K: flex.FEModel(p, d, M[:5, :5], K), "mass has shape (5, 5), expected (12, 12)"),
    "nan": (lambda p, d, M, K: flex.FEModel(p, d, M * np.nan, K), "mass holds nan, expected finite numbers."),
    "symmetry": (
        lambda p, d, M, K: flex.FEModel(p, d, M, K + np.triu(np.ones((12, 12)), 1)),
        "stiffness is not symmetric",
    ),
    "negative mass": (
        lambda p, d, M, K: flex.FEModel(p, d, M - 3 * np.diag(np.eye(12)[4]), K),
        "the mass of node '1', direction 4, is -2, must be ≥ 0.",
    ),
    "indefinite mass": (
        lambda p, d, M, K: flex.FEModel(p, d, M + 2.0 * (np.eye(12, k=1) + np.eye(12, k=-1)), K),
        "its mass matrix is not positive: some motion, most of all of node",
    ),
    "mass without a diagonal": (
        lambda p, d, M, K: flex.FEModel(
            p, d, M - np.diag(np.eye(12)[4]) + 0.1 * (np.eye(12, k=1) + np.eye(12, k=-1)), K
        ),
        "most of all of node '1', direction 4, has a negative kinetic energy",
    ),
    "no mass": (
        lambda p, d, M, K: flex.FEModel(p, d, 0 * M, K),
        "has no mass: moving all nodes along an axis moves 0 kg.",
    ),
    "pieces of another size": (
        lambda p, d, M, K: flex.FEModel(p, d, M, K, pieces=bent_frame().pieces),
        "its pieces are moved by 60 degrees of freedom, expected 12.",
    ),
    "pieces of another mass": (
        lambda p, d, M, K: flex.FEModel(p, d, 2 * M, K, pieces=Pieces(p, d, sp.csr_array(M), sp.eye_array(12))),
        "its pieces have another mass matrix than it: Mx differs by",
    ),
    "no direction": (lambda p, d, M, K: flex.FEModel(p, d, M, K).dof("0", 0), "node '0' has no direction 0."),
    "interface": (
        lambda p, d, M, K: flex.reduce(flex.FEModel(p, d, M, K), ["0"], n_modes=1),
        "interface '0' has only the directions [3, 4, 5], expected all six.",
    ),
}


def test_a_singular_mass_matrix_is_not_a_negative_one():
    """A point mass at the end of a massless arm: six directions, all with mass, and a mass matrix of rank three."""
    arm = np.array([0.3, -0.7, 0.4])
    moves = np.hstack([-SO3.hat(arm), np.eye(3)])
    mass = 2.0 * moves.T @ moves
    assert np.diag(mass).min() > 0.1
    fe = flex.FEModel([(0, 0, 0)], [(0, d) for d in range(6)], mass, np.eye(6))
    assert fe.inertia[:3, :3] == pytest.approx(2.0 * (arm @ arm * np.eye(3) - np.outer(arm, arm)), abs=1e-15)


@pytest.mark.parametrize("case", FE_REFUSED)
def test_bad_finite_elements_are_refused(case):
    call, message = FE_REFUSED[case]
    good = points()
    with pytest.raises(ModelError) as caught:
        call(good.positions, good.dofs, good.mass.todense(), good.stiffness.todense())
    assert message in str(caught.value)
