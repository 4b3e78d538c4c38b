"""The same answers as SciPy and Pinocchio, which share no code with us.

SciPy's Rotation and RigidTransform store quaternions scalar last by default.  Pinocchio puts the linear part first:
with S the matrix that exchanges the halves, its twists are S V and its 6×6 matrices S A S.  Its Jexp and Jlog are the
right differentials.

Inputs have size 1, so tolerances are absolute.  Where a peer misses TOLERANCE, mpmath decides, and must find that it is
the peer who is off.  Measured against 80 digits, Pinocchio 4.1 is off by up to 8e-7 in Jexp6 and Jlog6 at |w| = 1e-3
(which it computes by formulas that cancel), 4e-10 in Jlog3 there, and 2e-11 in log3 and log6 at |w| = π − 0.01.
"""

from __future__ import annotations

import numpy as np
import pytest
from oracles import lie_mp
from scipy.linalg import expm
from scipy.spatial.transform import RigidTransform, Rotation, Slerp

from liegeo.lie import ALL_GROUPS, S1, SE2, SE3, SE3Q, SO3, SO3Q, Product, R

# Some forty roundings; we ourselves are held to fewer in test_accuracy.py.
TOLERANCE = 1e-14
# SciPy's expm squares, which doubles its error each time: against 80 digits it is off by 3e-14 where we are by 1e-15.
TOLERANCE_EXPM = 1e-13

BATCHES = [(), (5,), (2, 3)]
each_batch = pytest.mark.parametrize("batch", BATCHES, ids=str)

# |w| as a function of a number in (0, 1)
BANDS = {
    "zero": lambda u: 0.0 * u,
    "tiny": lambda u: 10.0 ** (-12.0 + 6.0 * u),
    "small": lambda u: 10.0 ** (-6.0 + 5.0 * u),
    "generic": lambda u: 0.1 + 3.0 * u,
    # up to 1e-9 below π: there the sign of the axis is still determined
    "near pi": lambda u: np.pi - 10.0 ** (-9.0 + 8.0 * u),
}
each_band = pytest.mark.parametrize("band", BANDS)


def rotation_vectors(band, batch, seed=0):
    rng = np.random.default_rng(seed)
    axis = rng.standard_normal((*batch, 3))
    axis /= np.linalg.norm(axis, axis=-1, keepdims=True)
    return axis * BANDS[band](rng.random((*batch, 1)))


def twists(band, batch, seed=0):
    v = np.random.default_rng([seed, 1]).uniform(-1.0, 1.0, (*batch, 3))
    return np.concatenate([rotation_vectors(band, batch, seed), v], axis=-1)


def same(got, expected, tolerance=TOLERANCE):
    expected = np.asarray(expected)
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance)


def closer(ours, theirs, exact):
    """Equal to TOLERANCE; or else mpmath says that ours is right, and that it is theirs that made the difference.

    `exact` is a function, because it takes long and is seldom needed.
    """
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    gap = np.abs(ours - theirs).max()
    if gap > TOLERANCE:
        truth = exact()
        our_error = float(np.abs(ours - truth).max())
        their_error = float(np.abs(theirs - truth).max())
        assert our_error < TOLERANCE
        assert their_error == pytest.approx(gap, abs=TOLERANCE)


def over(function, batch, core):
    """`function` of every element of a batch, as one array."""
    flat = batch.reshape(-1, *batch.shape[batch.ndim - core :])
    results = np.array([function(each) for each in flat], dtype=object)
    return results.reshape(*batch.shape[: batch.ndim - core], *results.shape[1:])


# ------------------------------------------------------------ the matrix exponential

TREE = Product({"base": SE3Q, "arm": R(2), "wrist": SO3Q, "pin": S1, "slide": SE2})


@each_batch
@pytest.mark.parametrize("G", [*ALL_GROUPS, R(3), TREE], ids=lambda G: G.name)
def test_exp_is_the_matrix_exponential(G, batch):
    rng = np.random.default_rng(2)
    for size in (1e-8, 1e-2, 1.0, 3.0):
        V = size * rng.uniform(-1.0, 1.0, (*batch, G.dim))
        same(G.matrix(G.exp(V)), expm(G.hat(V)), TOLERANCE_EXPM)


@pytest.mark.parametrize("G", [*ALL_GROUPS, R(3), TREE], ids=lambda G: G.name)
def test_adjoints_are_matrix_exponentials(G):
    """Ad(exp(V)) = e^ad(V) and AdT(exp(V)) = e^adT(V)."""
    V = np.random.default_rng(3).uniform(-1.5, 1.5, (7, G.dim))
    same(G.Ad(G.exp(V)), expm(G.ad(V)), TOLERANCE_EXPM)
    same(G.AdT(G.exp(V)), expm(G.adT(V)), TOLERANCE_EXPM)


# ------------------------------------------------------------ SciPy's Rotation


@each_batch
@each_band
def test_rotation_exp_and_log(band, batch):
    w = rotation_vectors(band, batch)
    theirs = Rotation.from_rotvec(w)
    for G in (SO3, SO3Q):
        X = G.exp(w)
        same(G.matrix(X), theirs.as_matrix())
        same(G.log(X), w)
        same(G.log(G.from_scipy(theirs)), theirs.as_rotvec())
        same(G.to_scipy(X).as_rotvec(), w)


@each_batch
def test_rotation_there_and_back(batch):
    for G in (SO3, SO3Q):
        X, p = G.random(batch, rng=4), np.random.default_rng(5).uniform(-1, 1, (*batch, 3))
        Y = G.random(batch, rng=6)
        theirs = G.to_scipy(X)
        assert isinstance(theirs, Rotation)
        assert theirs.shape == batch
        same(theirs.as_matrix(), G.matrix(X))
        same(G.matrix(G.from_scipy(theirs)), G.matrix(X))
        same(G.matrix(G.compose(X, Y)), (theirs * G.to_scipy(Y)).as_matrix())
        same(G.matrix(G.inverse(X)), theirs.inv().as_matrix())
        same(G.act(X, p), theirs.apply(p))
        same(G.Ad_apply(X, p), theirs.apply(p))
        same(G.AdT_apply(X, p), theirs.apply(p, inverse=True))
        same(G.distance(Y, X), (theirs.inv() * G.to_scipy(Y)).magnitude())
        same(G.difference(Y, X), (theirs.inv() * G.to_scipy(Y)).as_rotvec())


@each_batch
def test_quaternions_are_scalar_first(batch):
    q = SO3Q.random(batch, rng=7)
    same(SO3Q.matrix(q), Rotation.from_quat(q, scalar_first=True).as_matrix())
    same(SO3Q.matrix(q), Rotation.from_quat(np.roll(q, -1, axis=-1)).as_matrix())
    theirs = Rotation.from_matrix(SO3Q.matrix(q)).as_quat(scalar_first=True)
    ours = SO3Q.from_scipy(Rotation.from_quat(q, scalar_first=True))
    # the same up to sign
    same(np.abs(np.sum(ours * theirs, axis=-1)), np.ones(batch))
    same(np.abs(np.sum(ours * q, axis=-1)), np.ones(batch))


def test_slerp_is_interpolate():
    t = np.linspace(0.0, 1.0, 9)
    for G in (SO3, SO3Q):
        X, Y = G.random(2, rng=8)
        theirs = Slerp([0.0, 1.0], Rotation.concatenate([G.to_scipy(X), G.to_scipy(Y)]))(t)
        same(G.matrix(G.interpolate(X, Y, t)), theirs.as_matrix())


def test_powers_are_multiples_of_the_logarithm():
    for G in (SO3, SO3Q):
        X = G.random((4,), rng=9)
        for n in (-2.0, -1.0, 0.0, 0.3, 1.0, 2.0):
            same(G.matrix(G.exp(n * G.log(X))), (G.to_scipy(X) ** n).as_matrix())


# ------------------------------------------------------------ SciPy's RigidTransform


@each_batch
@each_band
def test_pose_exp_and_log(band, batch):
    V = twists(band, batch)
    theirs = RigidTransform.from_exp_coords(V)
    for G in (SE3, SE3Q):
        X = G.exp(V)
        closer(G.matrix(X), theirs.as_matrix(), lambda: over(lambda v: lie_mp.exp("SE3", v), V, 1))
        same(G.log(X), V)
        closer(
            G.log(G.from_scipy(theirs)),
            theirs.as_exp_coords(),
            lambda: over(lambda x: lie_mp.log("SE3", x), theirs.as_matrix(), 2),
        )
        closer(V, G.to_scipy(X).as_exp_coords(), lambda: V)


@each_batch
def test_pose_there_and_back(batch):
    for G in (SE3, SE3Q):
        X, p = G.random(batch, rng=10), np.random.default_rng(11).uniform(-1, 1, (*batch, 3))
        Y = G.random(batch, rng=12)
        theirs = G.to_scipy(X)
        assert isinstance(theirs, RigidTransform)
        assert theirs.shape == batch
        same(theirs.as_matrix(), G.matrix(X))
        same(G.matrix(G.from_scipy(theirs)), G.matrix(X))
        same(G.matrix(G.compose(X, Y)), (theirs * G.to_scipy(Y)).as_matrix())
        same(G.matrix(G.inverse(X)), theirs.inv().as_matrix())
        same(G.act(X, p), theirs.apply(p))
        same(G.act(G.inverse(X), p), theirs.apply(p, inverse=True))
        same(G.difference(Y, X), (theirs.inv() * G.to_scipy(Y)).as_exp_coords())


@each_batch
def test_flat_poses_are_quaternion_then_position(batch):
    X = SE3Q.random(batch, rng=13, extent=3.0)
    theirs = RigidTransform.from_components(X[..., 4:], Rotation.from_quat(X[..., :4], scalar_first=True))
    same(SE3Q.matrix(X), theirs.as_matrix())


def test_screw_motion_is_interpolate():
    """X (X⁻¹Y)ᵗ.  SciPy 1.17 rounds the exponent to single precision, which these survive."""
    t = [0.0, 0.125, 0.5, 1.0]
    for G in (SE3, SE3Q):
        X, Y = G.random(2, rng=14)
        start = G.to_scipy(X)
        between = start.inv() * G.to_scipy(Y)
        same(G.matrix(G.interpolate(X, Y, t)), [(start * between**each).as_matrix() for each in t])


# ------------------------------------------------------------ Pinocchio


@pytest.fixture
def pin():
    """Pinocchio, which is not to be had on Windows.  A fixture, so that SciPy's tests run without it."""
    return pytest.importorskip("pinocchio")


S = np.roll(np.eye(6), 3, axis=0)
NUMBER = 25


def right(pair):
    return pair[1]


@each_band
def test_rotations_of_pinocchio(pin, band):
    for w in rotation_vectors(band, (NUMBER,), seed=20):
        R_WB = SO3.exp(w)
        closer(R_WB, pin.exp3(w), lambda w=w: lie_mp.exp("SO3", w))
        closer(SO3.log(R_WB), pin.log3(R_WB), lambda R=R_WB: lie_mp.log("SO3", R))
        closer(SO3.dexp_right(w), pin.Jexp3(w), lambda w=w: right(lie_mp.dexp("SO3", w)))
        closer(
            SO3.dexpinv_right(SO3.log(R_WB)),
            pin.Jlog3(R_WB),
            lambda R=R_WB: right(lie_mp.dexpinv("SO3", lie_mp.log("SO3", R))),
        )


@each_band
def test_poses_of_pinocchio(pin, band):
    for V in twists(band, (NUMBER,), seed=21):
        X = SE3.exp(V)
        motion, pose = pin.Motion(S @ V), pin.SE3(X)
        closer(X, pin.exp6(motion).homogeneous, lambda V=V: lie_mp.exp("SE3", V))
        closer(S @ SE3.log(X), pin.log6(pose).vector, lambda X=X: S @ lie_mp.log("SE3", X))
        closer(S @ SE3.dexp_right(V) @ S, pin.Jexp6(motion), lambda V=V: S @ right(lie_mp.dexp("SE3", V)) @ S)
        closer(
            S @ SE3.dexpinv_right(SE3.log(X)) @ S,
            pin.Jlog6(pose),
            lambda X=X: S @ right(lie_mp.dexpinv("SE3", lie_mp.log("SE3", X))) @ S,
        )


@each_band
def test_flat_poses_of_pinocchio(pin, band):
    """Position first there, then the quaternion with its scalar last."""
    for V in twists(band, (NUMBER,), seed=28):
        X = SE3Q.exp(V)
        flat = np.roll(X, 3)
        flat[3:] = np.roll(flat[3:], -1)
        closer(flat, pin.exp6_quat(S @ V), lambda V=V: flat_exp(V))
        closer(SE3Q.log(X), S @ pin.log6_quat(flat).vector, lambda V=V: V)


def flat_exp(V):
    return np.concatenate([lie_mp.exp("SE3", V)[:3, 3], np.roll(lie_mp.quaternion_exp(V[:3]), -1)])


@each_band
def test_quaternions_of_pinocchio(pin, band):
    """Scalar last there."""
    for w in rotation_vectors(band, (NUMBER,), seed=22):
        q = SO3Q.exp(w)
        same(q, np.roll(pin.exp3_quat(w), 1))
        closer(SO3Q.log(q), pin.log3(np.roll(q, -1)), lambda q=q: lie_mp.rotation_log(lie_mp.quaternion_matrix(q)))


def test_adjoint_action_of_pinocchio(pin):
    rng = np.random.default_rng(23)
    for X in SE3.random(NUMBER, rng=24):
        V, F = rng.uniform(-1.0, 1.0, (2, 6))
        X_AB, V_B, F_A = pin.SE3(X), pin.Motion(S @ V), pin.Force(S @ F)
        same(S @ SE3.Ad(X) @ S, X_AB.action)
        same(S @ SE3.Ad(SE3.inverse(X)) @ S, X_AB.actionInverse)
        same(S @ SE3.AdT(X) @ S, X_AB.action.T)
        same(S @ SE3.AdT(SE3.inverse(X)) @ S, X_AB.dualAction)
        same(S @ SE3.Ad_apply(X, V), X_AB.act(V_B).vector)
        same(S @ SE3.AdT_apply(X, F), X_AB.actInv(F_A).vector)


def test_cross_products_of_pinocchio(pin):
    """Motion × motion is ad; motion × force is −adT."""
    rng = np.random.default_rng(25)
    for V, U, F in rng.uniform(-1.0, 1.0, (NUMBER, 3, 6)):
        motion, other, force = pin.Motion(S @ V), pin.Motion(S @ U), pin.Force(S @ F)
        same(S @ SE3.ad(V) @ S, motion.action)
        same(S @ SE3.adT(V) @ S, -motion.dualAction)
        same(S @ SE3.ad_apply(V, U), (motion ^ other).vector)
        same(S @ SE3.adT_apply(V, F), -(motion ^ force).vector)


def test_motion_along_the_group_of_pinocchio(pin):
    t = 0.3
    for X, Y in SE3.random((NUMBER, 2), rng=26):
        A, B = pin.SE3(X), pin.SE3(Y)
        p = X[:3, 3]
        same(SE3.compose(X, Y), (A * B).homogeneous)
        same(SE3.inverse(X), A.inverse().homogeneous)
        same(SE3.act(Y, p), B.act(p))
        closer(
            SE3.interpolate(X, Y, t),
            pin.SE3.Interpolate(A, B, t).homogeneous,
            lambda X=X, Y=Y: X @ lie_mp.exp("SE3", t * lie_mp.log("SE3", lie_mp.inverse(lie_mp.exact(X)) @ Y)),
        )
        # position, then quaternion with its scalar last
        flat = pin.SE3ToXYZQUAT(A)
        ours = SE3Q.from_matrix(X)
        same(ours[4:], flat[:3])
        same(np.abs(ours[:4] @ np.roll(flat[3:], 1)), 1.0)


@each_band
def test_plane_of_pinocchio(pin, band):
    """Configurations (x, y, cos θ, sin θ) and velocities (v_x, v_y, w); dIntegrate_dv is dexp_right."""
    group = pin.liegroups.SE2()
    rng = np.random.default_rng(27)
    for u, v in zip(rng.random(NUMBER), rng.uniform(-1.0, 1.0, (NUMBER, 2)), strict=True):
        V = np.array([rng.choice([-1.0, 1.0]) * BANDS[band](u), *v])
        X = SE2.random(rng=rng)
        Y = SE2.retract(X, V)
        q, qd = plane(X), np.roll(V, -1)
        closer(plane(Y), group.integrate(q, qd), lambda X=X, V=V: moved(X, V))
        closer(np.roll(SE2.difference(Y, X), -1), group.difference(q, plane(Y)), lambda qd=qd: qd)
        closer(
            np.roll(SE2.dexp_right(V), (-1, -1), (0, 1)),
            group.dIntegrate_dv(q, qd),
            lambda V=V: np.roll(right(lie_mp.dexp("SE2", V)), (-1, -1), (0, 1)),
        )


def moved(X, V):
    """X exp(V) as Pinocchio writes it."""
    Y = SE2.matrix(X) @ lie_mp.exp("SE2", V)
    return np.array([Y[0, 2], Y[1, 2], Y[0, 0], Y[1, 0]])


def plane(X):
    return np.array([X[1], X[2], np.cos(X[0]), np.sin(X[0])])


def test_where_pinocchio_is_the_less_accurate_one(pin):
    """The reason for `closer`: one twist, 80 digits, both."""
    V = np.array([6e-4, -5e-4, 4e-4, 0.3, -0.8, 0.5])
    exact = S @ right(lie_mp.dexp("SE3", V)) @ S
    ours = float(np.abs(S @ SE3.dexp_right(V) @ S - exact).max())
    theirs = float(np.abs(pin.Jexp6(pin.Motion(S @ V)) - exact).max())
    assert ours < 1e-15
    assert theirs > 1e6 * ours
