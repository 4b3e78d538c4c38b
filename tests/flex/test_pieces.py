"""A rigid piece inside a flexible body moves as the same piece, a rigid body of its own, welded to the same node.

The kinetic energy of a flexible body is exact up to the second power of (η, η̇).  So where η = η̇ = η̈ = 0, for any motion of
the body's frame, the forces that a motion takes agree, and all their derivatives with respect to coordinates, speeds and
accelerations, from which frequencies follow.
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
from liegeo.flex.sections import Material, rectangle, tube
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


def models(case, joint=lm.Free, **given):
    inside, bare, same, piece = case()
    node = next(name for name in bare.nodes if name != "a")
    options = {"child_at": "a"} if "a" in bare.nodes else {}
    base = joint(name="base", parent="world", child="flex", **options, **given)
    weld = lm.Fixed(name="weld", parent="flex", child="piece", at=node)
    trees = lm.Tree([inside], [base]), lm.Tree([bare, piece], [base, weld])
    return *(tree.compile() for tree in trees), same


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


def test_a_piece_of_rotary_inertia_bends_nothing_by_spinning():
    """A plate-like tip piece: what its gyroscopic moment does to the mode, inside the body and welded to the node."""
    modes = np.zeros((6, 1))
    modes[2], modes[4] = 1.5, 1.0
    J, w = (0.001, 0.3, 0.3), (3.0, 2.0, 0.0)
    tip, own = {"modes": modes, "position": (1, 0, 0), "name": "tip"}, lm.LumpedNode(0.5 * modes, (0.5, 0, 0), 1.0)
    inside = lm.FlexibleBody.from_nodes("flex", [own, lm.LumpedNode(inertia=J, **tip)], [[100.0]])
    bare = lm.FlexibleBody.from_nodes("flex", [own, lm.LumpedNode(**tip)], [[100.0]])
    models_ = models(lambda: (inside, bare, np.eye(1), lm.Body("piece", 0.0, inertia=J)), lm.Spherical)[:2]
    a, b = (dynamics.forward_dynamics(m, m.state(None, {"base": w})) for m in models_)
    assert a == pytest.approx(b, rel=1e-12)


@pytest.mark.parametrize("case", (lumped, tied), ids=lambda case: case.__name__)
def test_pieces_move_alike_in_time(case):
    """Spun up and shaken a little: the difference is of second order in the deformation."""
    runs = []
    inside, welded, same = models(case, lm.Spherical)
    for scale in (1.0, 0.5):
        eta = np.linalg.lstsq(same, np.zeros(len(same)), rcond=None)[0]
        tip = []
        for model, to in ((inside, np.eye(len(same))), (welded, same)):
            shake = 1e-4 * scale * np.linspace(1.0, 0.5, len(same)) / np.arange(1, len(same) + 1) ** 2
            speeds = {"base": scale * np.array((0.9, 0.6, 0.3))}
            state = model.state({"flex": to @ (eta + shake)}, speeds)
            run = simulate(model, 0.2, state, rtol=1e-9, output=0.05)
            tip.append(np.asarray(run.q)[-1, :4])
        runs.append(np.abs(tip[0] - tip[1]).max())
    assert runs[0] < 1e-5
    assert runs[1] < 0.5 * runs[0] + 1e-9
