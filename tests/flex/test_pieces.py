"""A rigid piece inside a flexible body moves as the same piece, a rigid body of its own, welded to the same node.

The kinetic energy of a flexible body is exact up to the second power of (η, η̇).  So where η = η̇ = η̈ = 0, for any
motion of the body's frame, the forces that a motion takes agree, and all their derivatives with respect to coordinates,
speeds and accelerations, from which frequencies follow.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from liegeo import dynamics, flex, simulate
from liegeo import model as lm
from liegeo.errors import ModelError
from liegeo.flex.beams import Frame, beam
from liegeo.flex.fe import FEModel
from liegeo.flex.sections import Material, circle, rectangle, tube
from liegeo.flex.solid import block
from liegeo.lie import SO3

# as dense as aluminium and as soft as rubber, so that stiffness does not hide what is looked for
SOFT = Material(E=7.0e6, rho=2700.0, nu=0.3)
MASS, COM, INERTIA = 2.0, np.array([0.1, 0.2, -0.05]), np.diag([0.1, 0.3, 0.25])
# a ring of four masses, not round
RING = np.array([[0.02, 0.3, 0.0], [0.0, -0.2, 0.1], [-0.05, 0.0, 0.4], [0.1, 0.0, -0.2]])
RING_MASSES = np.array([0.3, 0.5, 0.4, 0.2])


def lumped():
    """Three modes, a piece in the middle and one at the end."""
    rng = np.random.default_rng(0)
    modes = [0.3 * rng.normal(size=(6, 3)) for _ in range(3)]
    own = [
        lm.LumpedNode(m, p, 1.0, (0.1, 0, 0), (0.1, 0.2, 0.15))
        for m, p in zip(modes, ((0.5, 0, 0), (0, 0.4, 0.1), (1, 0, 0)), strict=True)
    ]
    tip = {"modes": modes[2], "position": (1, 0, 0), "name": "tip"}
    K = np.diag((50.0, 80.0, 90.0))
    inside = lm.FlexibleBody.from_nodes("flex", [*own, lm.LumpedNode(mass=MASS, com=COM, inertia=INERTIA, **tip)], K)
    bare = lm.FlexibleBody.from_nodes("flex", [*own, lm.LumpedNode(**tip)], K)
    return inside, bare, np.eye(3), lm.Body("piece", MASS, COM, INERTIA)


def reduced(with_piece, without, node, **options):
    """Both with all their modes; and the matrix that takes modal coordinates of the first to those of the second."""
    made = [flex.reduce(fe, ["a"], "fixed-interface", n_modes=fe.n - 6, root="a") for fe in (with_piece, without)]
    same = made[1].shapes.T @ (without.mass @ made[0].shapes)
    return *(flex.flexible_body(m, "flex", [node], **options) for m in made), same


def bent(piece):
    frame = Frame(SOFT, name="bent")
    for name, position in {"a": (0, 0, 0), "tip": (1, 0.1, 0)}.items():
        frame.node(name, position)
    frame.beam("a", "tip", tube(0.03, 0.02), n_elements=2)
    if piece:
        frame.mass("tip", MASS, INERTIA, COM)
    return frame.model()


def frame(**options):
    return *reduced(bent(True), bent(False), "tip", **options), lm.Body("piece", MASS, COM, INERTIA)


def rigid_block():
    c = SO3.hat(COM)
    return np.block([[INERTIA - MASS * c @ c, MASS * c], [-MASS * c, MASS * np.eye(3)]])


def matrices():
    """Nothing but matrices, lumped but for the block of the piece."""
    fe = bent(False)
    mass = np.diag(np.where(fe.dofs[:, 1] < 3, 1e-3, 0.3))
    heavy, tip = mass.copy(), [fe.dof("tip", d) for d in range(6)]
    heavy[np.ix_(tip, tip)] += rigid_block()
    bodies = reduced(fe._with(mass=heavy), fe._with(mass=mass), "tip")
    return *bodies, lm.Body("piece", MASS, COM, INERTIA)


def tied():
    """Masses on nodes of their own, without rotations, tied to a node together with the end of the beam."""
    fe = bent(False)
    n, tip = len(fe.names), fe.positions[fe.node("tip")]
    points = [(n + i, 3 + d) for i in range(len(RING)) for d in range(3)]
    ring = FEModel(
        positions=np.concatenate([fe.positions, tip + RING]),
        dofs=np.concatenate([fe.dofs, points]),
        mass=sp.block_diag([fe.mass, np.diag(np.repeat(RING_MASSES, 3))]),
        stiffness=sp.block_diag([fe.stiffness, np.zeros((12, 12))]),
        names=(*fe.names, "r0", "r1", "r2", "r3"),
    ).rigid_link("hub", ["tip", "r0", "r1", "r2", "r3"], tip)
    bare = fe._with(mass=fe.mass).rigid_link("hub", ["tip"], tip)
    mass = RING_MASSES.sum()
    com = RING_MASSES @ RING / mass
    arms = SO3.hat(RING - com)
    return *reduced(ring, bare, "hub"), lm.Body(
        "piece", mass, com, -np.einsum("i,iab,ibc->ac", RING_MASSES, arms, arms)
    )


def tied_after():
    """The piece is on the beam's end already, which is then tied to a node at a distance."""
    at = (1.3, -0.2, 0.4)
    bodies = reduced(bent(True).rigid_link("hub", ["tip"], at), bent(False).rigid_link("hub", ["tip"], at), "hub")
    return *bodies, lm.Body("piece", MASS, np.array((1, 0.1, 0)) - at + COM, INERTIA)


def stiffened():
    return frame(stiffening=True)


CASES = (lumped, frame, matrices, tied, tied_after, stiffened)


def models(case, joint=lm.Free, gravity=(1.0, -2.0, -9.0)):
    inside, bare, same, piece = case()
    node = next(name for name in bare.nodes if name != "a")
    options = {"child_at": "a"} if "a" in bare.nodes else {}
    base = joint(name="base", parent="world", child="flex", **options)
    weld = lm.Fixed(name="weld", parent="flex", child="piece", at=node)
    parts = ([inside], [base]), ([bare, piece], [base, weld])
    return *(lm.Tree(*part, gravity=gravity).compile() for part in parts), same


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_a_piece_in_the_body_is_the_same_piece_welded_to_its_node(case):
    """Forces of a motion, and their derivatives, where nothing is bent yet and everything turns; and accelerations."""
    inside, welded, same = models(case)
    rng = np.random.default_rng(1)
    n = len(same)
    base, w = inside.group.exp(np.concatenate([rng.normal(size=6), np.zeros(n)]))[:7], rng.normal(size=6) * 5.0
    pairs = [(m, m.state(np.concatenate([base, np.zeros(n)]), np.append(w, np.zeros(n)))) for m in (inside, welded)]
    # base, then modal coordinates of the second body
    to = scipy.linalg.block_diag(np.eye(6), same)
    a, b = (dynamics.forward_dynamics(m, s) for m, s in pairs)
    assert to @ a == pytest.approx(b, rel=1e-9, abs=1e-9 * np.abs(b).max())
    given = np.append(10.0 * rng.normal(size=6), np.zeros(n))
    first, second = (dynamics.inverse_derivatives(m, s, given) for m, s in pairs)
    K = to.T @ scipy.linalg.block_diag(np.zeros((6, 6)), np.diag(np.diag(np.asarray(welded.tree.bodies[0].K)))) @ to
    for name in ("q", "v", "last"):
        x, y = getattr(first, name), to.T @ getattr(second, name) @ to
        # the stiffness of a metal beam would hide everything else
        less = K if name == "q" else 0.0
        assert x - less == pytest.approx(y - less, abs=1e-9 * np.abs(y - less).max() + 1e-14 * np.abs(y).max()), name


def spinning_tip():
    """One mode, a slender piece at its end, which turns with the mode."""
    modes = np.zeros((6, 1))
    modes[2], modes[4] = 1.5, 1.0
    J, K = (0.001, 0.3, 0.3), [[100.0]]
    tip, own = {"modes": modes, "position": (1, 0, 0), "name": "tip"}, lm.LumpedNode(0.5 * modes, (0.5, 0, 0), 1.0)
    inside = lm.FlexibleBody.from_nodes("flex", [own, lm.LumpedNode(inertia=J, **tip)], K)
    bare = lm.FlexibleBody.from_nodes("flex", [own, lm.LumpedNode(**tip)], K)
    return inside, bare, np.eye(1), lm.Body("piece", 0.0, inertia=J)


def test_a_slender_piece_bends_its_mode_as_if_welded():
    """J = diag(0.001, 0.3, 0.3) and w = (3, 2, 0): the gyroscopic moment of the piece is nearly all that bends."""
    a, b = (
        dynamics.forward_dynamics(m, m.state(None, {"base": (3, 2, 0)})) for m in models(spinning_tip, lm.Spherical)[:2]
    )
    assert a == pytest.approx(b, rel=1e-12)


@pytest.mark.parametrize("case", [spinning_tip, lumped], ids=lambda case: case.__name__)
def test_pieces_move_alike_in_time(case):
    """Two seconds from a slow spin: what differs is of third order in the deformation."""
    found = []
    for model in models(case, lm.Spherical, gravity=(0, 0, 0))[:2]:
        run = simulate(model, model.state(None, {"base": (0.6, 0.4, 0.1)}), 2.0, rtol=1e-8, output=0.1)
        found.append(np.asarray(run.q)[:, 4:])
    assert found[0] == pytest.approx(found[1], abs=0.02 * np.abs(found[1]).max())


def shaft(disc):
    frame = Frame(Material(E=2.1e11, rho=7800.0, nu=0.3), name="shaft")
    frame.node("a", (0, 0, 0))
    frame.node("b", (0.5, 0, 0))
    frame.beam("a", "b", circle(0.015), n_elements=2)
    if disc:
        frame.mass("b", 20.0, inertia=(0.5, 0.25, 0.25))
    return frame.model()


def test_a_disc_on_a_shaft_whirls_either_way():
    """Whirl frequencies at 100 rad/s with the disc in the FE model, and as a rigid body on the node; and by theory.

    Theory, in axes that do not turn, for a massless shaft with the compliance of its end: M ü + G u̇ + K u = 0 for
    u = y + iz and θ, G being the gyroscopic moment of the disc.
    """
    whirl, spin = [], 100.0
    for disc in (True, False):
        fe = shaft(disc)
        body = flex.flexible_body(flex.reduce(fe, ["a"], "fixed-interface", n_modes=fe.n - 6, root="a"), "shaft", ["b"])
        turn = lm.Revolute(name="spin", parent="world", child="shaft", child_at="a", axis=(1, 0, 0))
        weld = lm.Fixed(name="weld", parent="shaft", child="disc", at="b")
        more = ([], []) if disc else ([lm.Body("disc", 20.0, inertia=(0.5, 0.25, 0.25))], [weld])
        model = lm.Tree([body, *more[0]], [turn, *more[1]], gravity=(0, 0, 0)).compile().lock("spin")
        d, n = dynamics.forward_derivatives(model, model.state(None, {"spin": spin})), model.nv - 1
        A = np.block([[np.zeros((n, n)), np.eye(n)], [d.q[1:, 1:], d.v[1:, 1:]]])
        whirl.append(np.sort(np.abs(np.linalg.eigvals(A).imag))[::2])
    assert whirl[0][:8] == pytest.approx(whirl[1][:8], rel=1e-6)
    L, EI = 0.5, 2.1e11 * np.pi * 0.015**4 / 64
    # (u, φ) with φ the slope, both complex; the moment on the disc is i Jp Ω φ̇
    K = EI / L**3 * np.array([[12.0, -6 * L], [-6 * L, 4 * L**2]])
    A = np.block(
        [
            [np.zeros((2, 2)), np.eye(2)],
            [-np.linalg.solve(np.diag((20.0, 0.25)), K), np.diag((0, 1j * 0.5 * spin / 0.25))],
        ]
    )
    # seen from the shaft, which turns with the spin
    expected = np.sort(np.abs(np.linalg.eigvals(A).imag - spin))
    bending = whirl[0][[np.argmin(np.abs(whirl[0] - x)) for x in expected]]
    assert bending == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("kind", ["hex8", "hex20"])
def test_the_inertia_of_a_tied_solid_is_that_of_where_its_mass_is(kind):
    """J_1 and J_2 by differences of the inertia of nodes that move, those behind a tie with finite rotations."""
    plain = block(1.0, 0.3, 0.2, 2, 1, 1, kind=kind)
    faces = {side: [n for n in plain.names if n.startswith(f"{x},")] for side, x in (("left", 0), ("right", 4))}
    fe = plain.rigid_link("left", faces["left"]).rigid_link("right", faces["right"])
    made = flex.reduce(fe, ["left", "right"], n_modes=2, root="left")
    body, n = flex.flexible_body(made, "solid"), made.n_modes
    scalar = plain.mass[0::3][:, 0::3]

    def inertia(eta, finite):
        r = plain.positions.copy()
        for i, name in enumerate(plain.names):
            tie = next((side for side, nodes in faces.items() if name in nodes), None)
            if tie is None:
                r[i] += [made.shapes[fe.dof(name, 3 + d)] @ eta for d in range(3)]
                continue
            place, matrix = fe.place(tie)
            theta, u = np.split(np.asarray(matrix @ made.shapes) @ eta, 2)
            arm = plain.positions[i] - place
            r[i] += u + (scipy.linalg.expm(SO3.hat(theta)) @ arm - arm if finite else np.cross(theta, arm))
        P = r.T @ (scalar @ r)
        return np.trace(P) * np.eye(3) - P

    h = 1e-3
    for finite, J_2 in ((True, body.J_2), (False, np.asarray(body.J_2) - np.asarray(body.J_2_second))):
        for k in range(n):
            e = h * np.eye(n)[k]
            up, middle, down = (inertia(x, finite) for x in (e, 0 * e, -e))
            assert (up - down) / (2 * h) == pytest.approx(np.asarray(body.J_1)[k], abs=1e-5)
            assert (up - 2 * middle + down) / h**2 == pytest.approx(2 * np.asarray(J_2)[k, k], abs=1e-4)


def volume(fe, shapes, width, height, n):
    """Points of a straight beam along x with a rectangular section: places, displacements by modes, masses."""
    h = fe.positions[-1, 0] / n
    along, weights = np.polynomial.legendre.leggauss(6)
    across, shares = np.polynomial.legendre.leggauss(2)
    density = fe.total_mass / fe.positions[-1, 0]
    for e in range(n):
        a, b = (np.stack([shapes[fe.dof(str(i), d)] for d in range(6)]) for i in (e, e + 1))
        for t, weight in zip(0.5 * (along + 1.0), weights, strict=True):
            N1, N2 = 1 - 3 * t**2 + 2 * t**3, 3 * t**2 - 2 * t**3
            H1, H2 = h * (t - 2 * t**2 + t**3), h * (t**3 - t**2)
            D1, D2 = 6 * (t**2 - t) / h, 6 * (t - t**2) / h
            G1, G2 = 1 - 4 * t + 3 * t**2, 3 * t**2 - 2 * t
            y = N1 * a[4] + H1 * a[2] + N2 * b[4] + H2 * b[2]
            z = N1 * a[5] - H1 * a[1] + N2 * b[5] - H2 * b[1]
            turn_y = -(D1 * a[5] - G1 * a[1] + D2 * b[5] - G2 * b[1])
            turn_z = D1 * a[4] + G1 * a[2] + D2 * b[4] + G2 * b[2]
            u = np.stack([(1 - t) * a[3] + t * b[3], y, z])
            theta = np.stack([(1 - t) * a[0] + t * b[0], turn_y, turn_z])
            for p, share_p in zip(across, shares, strict=True):
                for q, share_q in zip(across, shares, strict=True):
                    s = np.array([0.0, 0.5 * width * p, 0.5 * height * q])
                    mass = density * 0.5 * h * weight * 0.25 * share_p * share_q
                    yield np.array([h * (e + t), 0.0, 0.0]) + s, u + np.cross(theta.T, s).T, mass


@pytest.mark.parametrize("stiffening", [False, True])
def test_invariants_of_a_beam_that_twists_are_integrals_over_its_points(stiffening):
    """I2 to I11 by quadrature over the volume: bending, stretch, twist, and the rotary inertia of the sections."""
    width, height = 0.06, 0.1
    fe = beam(1.0, rectangle(width, height), SOFT, 2)
    made = flex.reduce(fe, ["0"], "fixed-interface", n_modes=8, root="0")
    found = flex.invariants(flex.flexible_body(made, "b", stiffening=stiffening))
    n = made.n_modes
    I4, I5 = np.zeros((3, n)), np.zeros((n, 3, n))
    I10, I11, I6 = np.zeros((3, 3, n)), np.zeros((3, 3, n, n)), np.zeros((n, n))
    for r, phi, m in volume(fe, made.shapes, width, height, 2):
        I4 += m * np.cross(r, phi.T).T
        I5 += m * np.cross(phi.T[:, np.newaxis], phi.T).transpose(0, 2, 1)
        I6 += m * phi.T @ phi
        I10 += m * np.einsum("a,bk->abk", r, phi)
        I11 += m * np.einsum("al,bk->ablk", phi, phi)
    for name, expected in (("I4", I4), ("I5", I5), ("I6", I6), ("I10", I10)):
        assert getattr(found, name) == pytest.approx(expected, abs=1e-9), name
    # only its symmetric part is in the kinetic energy where a = b
    assert pytest.approx(I11, abs=1e-9) == found.I11
    assert np.linalg.eigvalsh(found.I11[1, 1]).min() > -1e-12
    assert found.I9[:, :, 0, 0] == pytest.approx(-I11[1, 1] - I11[2, 2], abs=1e-9)


def test_invariants_of_a_beam_that_only_twists_with_inertia_are_squares():
    """Without rotary inertia of bending, a section is no distribution of mass; its integrals of squares are ≥ 0."""
    fe = beam(1.0, rectangle(0.06, 0.1), SOFT, 2, rotary=False)
    made = flex.reduce(fe, ["0"], "fixed-interface", n_modes=8, root="0")
    found = flex.invariants(flex.flexible_body(made, "b"))
    for a in range(3):
        assert np.linalg.eigvalsh(found.I11[a, a]).min() > -1e-12
    assert np.trace(found.I11) == pytest.approx(found.I6, abs=1e-12)


def test_invariants_that_cannot_be_known_are_refused():
    inside = lumped()[0]
    bare = lm.FlexibleBody(
        **{name: getattr(inside, name) for name in inside.__dataclass_fields__ if name != "J_2_second"}
    )
    assert inside.mass == flex.invariants(inside).I1
    with pytest.raises(ModelError, match="flexible body 'flex': ½ tr J_2 and M_e, both ∫ φ·φ dm, differ by"):
        flex.invariants(bare)
