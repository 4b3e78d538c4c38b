"""The theorems that make a group a group, for every group that liegeo has.

Tolerances are in units of the last place, times the size of what went in: N * EPS * (1 + |a|) * (1 + |b|) …, because
the operations are at most linear in translations, and rotations have size 1.  N grows with the length of the chain of
operations; each is at least twice the worst that 600 random examples a group have shown.
Derivatives come from complex steps, which have no truncation error, so they are held to the same tolerances.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from oracles import lie_mp

from liegeo.lie import ALL_GROUPS, S1, SE2, SE3, SE3Q, SO3, SO3Q, Product, R
from liegeo.lie.group import OPERATIONS

EPS = 2.0**-52
STEP = 1e-40

TREE = Product({"base": SE3Q, "arm": R(2), "wrist": SO3Q, "wheel": S1, "cart": SE2})
GROUPS = (*ALL_GROUPS, R(3), TREE)
# |log(X⁻¹ Y)| with rotations and translations mixed is no metric: a screw motion is no shortest path.
METRIC_GROUPS = (SO3, SO3Q, S1, R(3))

each_group = pytest.mark.parametrize("G", GROUPS, ids=lambda G: G.name)
each_shape = pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3), (0,)], ids=str)


# ---------------------------------------------------------------- what a group is made of


def factors(G):
    """(group, index of its element, index of its algebra vector) of each factor; a plain group is its own."""
    if isinstance(G, Product):
        return [(group, (..., G.q[name]), (..., G.v[name])) for name, group in G.factors.items()]
    return [(G, (...,), (...,))]


def angular(G) -> int:
    """How many numbers of a twist are rotation; they come first."""
    return {"SO3": 3, "SE3": 3, "SE2": 1, "S1": 1, "R": 0}[G.family.rstrip("Q")]


def homogeneous(G, p):
    """Points as the matrix of G acts on them: a one behind the points of groups that translate."""
    parts, start = [], 0
    for group, _, _ in factors(G):
        n = {"SO3": 3, "SE3": 3, "SE2": 2, "S1": 2, "R": group.dim}[group.family.rstrip("Q")]
        parts.append(p[..., start : start + n])
        start += n
        if group.family not in ("SO3", "SO3Q", "S1"):
            parts.append(np.ones((*p.shape[:-1], 1)))
    return np.concatenate(parts, axis=-1)


def point_size(G) -> int:
    return sum({"SO3": 3, "SE3": 3, "SE2": 2, "S1": 2, "R": g.dim}[g.family.rstrip("Q")] for g, _, _ in factors(G))


def defect(G, X) -> float:
    """How far stored numbers are from the group: RᵀR = I and det R > 0, last row (0, 0, 0, 1), |q| = 1."""
    worst = 0.0
    for group, piece, _ in factors(G):
        part = X[piece]
        if group in (SO3, SE3):
            rotation = part[..., :3, :3]
            worst = max(worst, largest(np.swapaxes(rotation, -1, -2) @ rotation - np.eye(3)))
            assert (np.linalg.det(rotation) > 0.0).all()
        if group is SE3:
            assert (part[..., 3, :] == [0.0, 0.0, 0.0, 1.0]).all()
        if group in (SO3Q, SE3Q):
            worst = max(worst, largest(np.sum(part[..., :4] ** 2, axis=-1) - 1.0))
    assert np.isfinite(X).all()
    return worst


def gap(G, X, Y) -> float:
    """How far two elements are apart in their stored numbers; q and −q are one, and so are angles a turn apart."""
    worst = 0.0
    for group, piece, _ in factors(G):
        a, b = X[piece], Y[piece]
        off = a - b
        if group in (SO3Q, SE3Q):
            sign = np.where(np.sum(a[..., :4] * b[..., :4], axis=-1, keepdims=True) < 0.0, -1.0, 1.0)
            off[..., :4] = a[..., :4] - sign * b[..., :4]
        if group in (S1, SE2):
            off[..., 0] -= 2.0 * math.pi * np.round(off[..., 0] / (2.0 * math.pi))
        worst = max(worst, largest(off))
    return worst


def largest(array) -> float:
    return float(np.max(np.abs(array), initial=0.0))


def tolerance(n, *inputs) -> float:
    return n * EPS * math.prod(1.0 + largest(a) for a in inputs)


def derivative(function, V, U):
    """d/dε function(V + εU) at ε = 0, by a complex step."""
    return function(V + 1j * STEP * U).imag / STEP


# ---------------------------------------------------------------- hypothesis

# Rotation angles from u in [0, 1].  For twists up to π − 1e-8: the logarithm there is as well conditioned as elsewhere,
# but at π itself it has two values.  Elements may be half turns.
BANDS = {
    "zero": lambda u: 0.0,
    "tiny": lambda u: 10.0 ** (-12.0 + 9.0 * u),
    "generic": lambda u: 1e-3 + 3.1 * u,
    "near pi": lambda u: math.pi - 10.0 ** (-8.0 + 6.0 * u),
}
HALF_TURN = {"half turn": lambda u: math.pi}
_unit = st.floats(0.0, 1.0)
_component = st.floats(-1.0, 1.0)
_size = st.sampled_from([1.0, 0.0, 1e-6, 1e3])


@st.composite
def twists(draw, G, bands=BANDS):
    """An algebra vector: every factor with a rotation angle from some band, and a translation of some size."""
    V = np.empty(G.dim)
    for group, _, piece in factors(G):
        n = angular(group)
        part = np.array(draw(st.lists(_component, min_size=group.dim, max_size=group.dim)))
        part[n:] *= draw(_size)
        if n:
            angle = bands[draw(st.sampled_from(sorted(bands)))](draw(_unit))
            length = np.linalg.norm(part[:n])
            axis = part[:n] / length if length > 0.1 else np.eye(n)[-1]
            part[:n] = angle * axis
        V[piece] = part
    return V


@st.composite
def elements(draw, G):
    """exp of a twist, in one of its representations: ±q, or some turns more."""
    X = G.exp(draw(twists(G, BANDS | HALF_TURN)))
    for group, piece, _ in factors(G):
        if group in (SO3Q, SE3Q):
            X[piece][:4] *= draw(st.sampled_from([1.0, -1.0]))
        if group in (S1, SE2):
            X[piece][0] += 2.0 * math.pi * draw(st.integers(-2, 2))
    return X


def vectors(n):
    """Plain vectors: wrenches, points, directions."""
    return st.lists(st.floats(-2.0, 2.0), min_size=n, max_size=n).map(np.array)


# ---------------------------------------------------------------- the group


@each_group
@given(data=st.data())
def test_closure(G, data):
    """Whatever makes elements makes elements of the group."""
    X, Y, V = data.draw(elements(G)), data.draw(elements(G)), data.draw(twists(G))
    made = [G.exp(V), G.cay(V), G.compose(X, Y), G.inverse(X), G.retract(X, V), G.interpolate(X, Y, 0.3)]
    for Z in [X, Y, *made, G.from_matrix(G.matrix(X)), G.project(X)]:
        # Products of two elements have the defects of both, interpolation has four factors.
        assert defect(G, Z) <= 24 * EPS


@each_group
@given(data=st.data())
def test_identity(G, data):
    """e X = X = X e, to the bit."""
    X = data.draw(elements(G))
    e = G.identity()
    assert (G.compose(e, X) == X).all()
    assert (G.compose(X, e) == X).all()
    assert (G.inverse(e) == e).all()
    assert (G.matrix(e) == np.eye(len(G.matrix(e)))).all()
    assert (G.exp(np.zeros(G.dim)) == e).all()
    assert (G.cay(np.zeros(G.dim)) == e).all()
    assert (G.log(e) == 0.0).all()


@each_group
@given(data=st.data())
def test_inverse(G, data):
    """X X⁻¹ = e = X⁻¹ X, and inverting twice changes nothing."""
    X = data.draw(elements(G))
    Y = G.inverse(X)
    assert gap(G, G.compose(X, Y), G.identity()) <= tolerance(16, X)
    assert gap(G, G.compose(Y, X), G.identity()) <= tolerance(8, X)
    assert gap(G, G.inverse(Y), X) <= tolerance(16, X)


@each_group
@given(data=st.data())
def test_associativity(G, data):
    """(X Y) Z = X (Y Z)."""
    X, Y, Z = (data.draw(elements(G)) for _ in range(3))
    left = G.compose(G.compose(X, Y), Z)
    right = G.compose(X, G.compose(Y, Z))
    assert gap(G, left, right) <= tolerance(4, X, Y, Z)


@each_group
@given(data=st.data())
def test_matrix_is_a_homomorphism(G, data):
    """matrix(X Y) = matrix(X) matrix(Y), matrix(X⁻¹) = matrix(X)⁻¹, and from_matrix undoes it."""
    X, Y = data.draw(elements(G)), data.draw(elements(G))
    M, N = G.matrix(X), G.matrix(Y)
    assert largest(G.matrix(G.compose(X, Y)) - M @ N) <= tolerance(8, X, Y)
    assert largest(G.matrix(G.inverse(X)) @ M - np.eye(len(M))) <= tolerance(16, X)
    assert gap(G, G.from_matrix(M), X) <= tolerance(4, X)


@each_group
@given(data=st.data())
def test_act_is_an_action(G, data):
    """e·p = p, (X Y)·p = X·(Y·p), and X·p is what the matrix does to the (homogeneous) point."""
    X, Y = data.draw(elements(G)), data.draw(elements(G))
    p = data.draw(vectors(point_size(G)))
    assert (G.act(G.identity(), p) == p).all()
    assert largest(G.act(G.compose(X, Y), p) - G.act(X, G.act(Y, p))) <= tolerance(4, X, Y, p)
    assert largest(homogeneous(G, G.act(X, p)) - G.matrix(X) @ homogeneous(G, p)) <= tolerance(4, X, p)


# ---------------------------------------------------------------- exp and log


@each_group
@given(data=st.data())
def test_exp_undoes_log(G, data):
    """exp(log(X)) = X for every element, half turns included."""
    X = data.draw(elements(G))
    V = G.log(X)
    assert gap(G, G.exp(V), X) <= tolerance(8, X)


@each_group
@given(data=st.data())
def test_log_undoes_exp(G, data):
    """log(exp(V)) = V for rotations by less than π, where |dexp⁻¹| ≤ π/2."""
    V = data.draw(twists(G))
    assert largest(G.log(G.exp(V)) - V) <= tolerance(8, V)


@each_group
@given(data=st.data())
def test_exp_is_the_matrix_exponential(G, data):
    """matrix(exp(V)) = e^hat(V), and Ad(exp(V)) = e^ad(V); the tolerance is for SciPy, which squares repeatedly."""
    V = data.draw(twists(G))
    X = G.exp(V)
    assert largest(G.matrix(X) - scipy.linalg.expm(G.hat(V))) <= tolerance(64, V)
    assert largest(G.Ad(X) - scipy.linalg.expm(G.ad(V))) <= tolerance(64, V)


@each_group
@given(data=st.data())
def test_exp_is_a_one_parameter_subgroup(G, data):
    """exp(sV) exp(tV) = exp((s + t)V), exp(−V) = exp(V)⁻¹."""
    V = data.draw(twists(G))
    assert gap(G, G.compose(G.exp(0.25 * V), G.exp(0.75 * V)), G.exp(V)) <= tolerance(8, V)
    assert gap(G, G.exp(-V), G.inverse(G.exp(V))) <= tolerance(8, V)


@each_group
@given(data=st.data())
def test_cayley_map(G, data):
    """matrix(cay(V)) = (I − ½hat(V))⁻¹ (I + ½hat(V)), and cayinv undoes it."""
    V = data.draw(twists(G))
    half = 0.5 * G.hat(V)
    one = np.eye(len(half))
    X = G.cay(V)
    # The matrices I ± ½hat(V) have condition numbers up to (1 + |V|)².
    assert largest((one - half) @ G.matrix(X) - (one + half)) <= tolerance(4, V)
    assert largest(G.cayinv(X) - V) <= tolerance(8, V)


# ---------------------------------------------------------------- adjoints


@each_group
@given(data=st.data())
def test_hat_and_vee(G, data):
    """vee undoes hat to the bit, and hat is linear."""
    V, U = data.draw(twists(G)), data.draw(twists(G))
    assert (G.vee(G.hat(V)) == V).all()
    assert (G.hat(2.0 * V) == 2.0 * G.hat(V)).all()
    assert (G.hat(V + U) == G.hat(V) + G.hat(U)).all()


@each_group
@given(data=st.data())
def test_adjoint(G, data):
    """hat(Ad(X) V) = X hat(V) X⁻¹, Ad(X Y) = Ad(X) Ad(Y), Ad(X⁻¹) = Ad(X)⁻¹."""
    X, Y, V = data.draw(elements(G)), data.draw(elements(G)), data.draw(twists(G))
    M = G.matrix(X)
    conjugated = M @ G.hat(V) @ G.matrix(G.inverse(X))
    assert largest(G.hat(G.Ad(X) @ V) - conjugated) <= tolerance(8, X, V)
    assert largest(G.Ad(G.compose(X, Y)) - G.Ad(X) @ G.Ad(Y)) <= tolerance(8, X, Y)
    assert largest(G.Ad(X) @ G.Ad(G.inverse(X)) - np.eye(G.dim)) <= tolerance(8, X, X)
    assert (G.Ad(G.identity()) == np.eye(G.dim)).all()


@each_group
@given(data=st.data())
def test_dual_adjoint(G, data):
    """AdT(X) = Ad(X)ᵀ, ⟨AdT(X) F, V⟩ = ⟨F, Ad(X) V⟩, and the forms without the matrix."""
    X, V, F = data.draw(elements(G)), data.draw(twists(G)), data.draw(vectors(G.dim))
    Ad = G.Ad(X)
    assert largest(G.AdT(X) - Ad.T) <= tolerance(4, X)
    assert largest(G.Ad_apply(X, V) - Ad @ V) <= tolerance(4, X, V)
    assert largest(G.AdT_apply(X, F) - Ad.T @ F) <= tolerance(4, X, F)
    assert largest(G.AdT_apply(X, F) @ V - F @ G.Ad_apply(X, V)) <= tolerance(8, X, V, F)


@each_group
@given(data=st.data())
def test_bracket(G, data):
    """hat(ad(V) U) = hat(V) hat(U) − hat(U) hat(V); antisymmetry; Jacobi's identity."""
    V, U, W = (data.draw(twists(G)) for _ in range(3))
    A, B = G.hat(V), G.hat(U)
    assert largest(G.hat(G.ad_apply(V, U)) - (A @ B - B @ A)) <= tolerance(4, V, U)
    assert largest(G.ad(V) @ U - G.ad_apply(V, U)) <= tolerance(4, V, U)
    # A fused multiply-add rounds only one of the two products in a component of a cross product.
    assert largest(G.ad_apply(V, U) + G.ad_apply(U, V)) <= tolerance(4, V, U)
    assert largest(G.ad_apply(V, V)) <= tolerance(4, V, V)
    jacobi = sum(G.ad_apply(a, G.ad_apply(b, c)) for a, b, c in ((V, U, W), (U, W, V), (W, V, U)))
    assert largest(jacobi) <= tolerance(4, V, U, W)


@each_group
@given(data=st.data())
def test_dual_bracket(G, data):
    """adT(V) = ad(V)ᵀ to the bit, ⟨adT(V) F, U⟩ = ⟨F, ad(V) U⟩, and the forms without the matrix."""
    V, U, F = data.draw(twists(G)), data.draw(twists(G)), data.draw(vectors(G.dim))
    assert (G.adT(V) == G.ad(V).T).all()
    assert largest(G.adT_apply(V, F) - G.adT(V) @ F) <= tolerance(4, V, F)
    assert largest(G.adT_apply(V, F) @ U - F @ G.ad_apply(V, U)) <= tolerance(8, V, U, F)


@each_group
@given(data=st.data())
def test_ad_is_the_derivative_of_Ad(G, data):
    """d/dε Ad(exp(εV)) = ad(V) at ε = 0."""
    V = data.draw(twists(G))
    assert largest(derivative(lambda Z: G.Ad(G.exp(Z)), np.zeros(G.dim), V) - G.ad(V)) <= tolerance(4, V)


# ---------------------------------------------------------------- differentials


@each_group
@given(data=st.data())
def test_dexp_is_the_derivative_of_exp(G, data):
    """D exp(V)[U] = hat(dexp_left(V) U) exp(V) = exp(V) hat(dexp_right(V) U)."""
    V, U = data.draw(twists(G)), data.draw(vectors(G.dim))
    moved = derivative(lambda Z: G.matrix(G.exp(Z)), V, U)
    M = G.matrix(G.exp(V))
    assert largest(G.hat(G.dexp_left(V) @ U) @ M - moved) <= tolerance(4, V, V, U)
    assert largest(M @ G.hat(G.dexp_right(V) @ U) - moved) <= tolerance(4, V, U)


@each_group
@given(data=st.data())
def test_dexp_left_and_right(G, data):
    """dexp_left(V) = Ad(exp(V)) dexp_right(V), dexp_right(V) = dexp_left(−V), dexp(V) V = V."""
    V = data.draw(twists(G))
    left, right = G.dexp_left(V), G.dexp_right(V)
    assert largest(left - G.Ad(G.exp(V)) @ right) <= tolerance(4, V, V)
    assert largest(right - G.dexp_left(-V)) <= tolerance(4, V)
    assert largest(left @ V - V) <= tolerance(4, V, V)
    assert largest(right @ V - V) <= tolerance(4, V, V)


@each_group
@pytest.mark.parametrize("map_", ["dexp", "dcay"])
@given(data=st.data())
def test_inverse_differentials(G, map_, data):
    """dexpinv and dcayinv are the inverses of dexp and dcay, left and right."""
    V = data.draw(twists(G))
    for side in ("left", "right"):
        product = getattr(G, f"{map_}_{side}")(V) @ getattr(G, f"{map_}inv_{side}")(V)
        assert largest(product - np.eye(G.dim)) <= tolerance(4, V, V), side


@each_group
@given(data=st.data())
def test_derivatives_of_dexp(G, data):
    """ddexp(V, U) and ddexpinv(V, U) are the directional derivatives of dexp and dexpinv."""
    V, U = data.draw(twists(G)), data.draw(vectors(G.dim))
    for name in ("dexp_left", "dexp_right", "dexpinv_left", "dexpinv_right"):
        moved = derivative(getattr(G, name), V, U)
        assert largest(getattr(G, f"d{name}")(V, U) - moved) <= tolerance(8, V, U), name


@each_group
@given(data=st.data())
def test_differentials_on_a_vector(G, data):
    """The forms without the matrix give what the matrix gives."""
    V, U = data.draw(twists(G)), data.draw(vectors(G.dim))
    for name in ("dexp_left", "dexp_right", "dexpinv_left", "dexpinv_right"):
        off = getattr(G, f"{name}_apply")(V, U) - getattr(G, name)(V) @ U
        assert largest(off) <= tolerance(4, V, U), name


@each_group
@given(data=st.data())
def test_dcay_is_the_derivative_of_cay(G, data):
    """D cay(V)[U] = hat(dcay_left(V) U) cay(V) = cay(V) hat(dcay_right(V) U)."""
    V, U = data.draw(twists(G)), data.draw(vectors(G.dim))
    moved = derivative(lambda Z: G.matrix(G.cay(Z)), V, U)
    M = G.matrix(G.cay(V))
    assert largest(G.hat(G.dcay_left(V) @ U) @ M - moved) <= tolerance(4, V, V, U)
    assert largest(M @ G.hat(G.dcay_right(V) @ U) - moved) <= tolerance(4, V, U)


@each_group
@given(data=st.data())
def test_log_differentiates(G, data):
    """log takes complex steps too: D log at X = exp(V), moved by exp(V) hat(U), is dexpinv_right(V) U."""
    V, U = data.draw(twists(G)), data.draw(vectors(G.dim))
    X = G.exp(V)
    moved = derivative(lambda Z: G.log(G.compose(X, G.exp(Z))), np.zeros(G.dim), U)
    assert largest(moved - G.dexpinv_right(V) @ U) <= tolerance(4, V, V, U)


# ---------------------------------------------------------------- moving along the group


@each_group
@given(data=st.data())
def test_retract_and_difference(G, data):
    """X ⊕ V = X exp(V), Y ⊖ X = log(X⁻¹ Y), and each undoes the other."""
    X, Y, V = data.draw(elements(G)), data.draw(elements(G)), data.draw(twists(G))
    moved = G.retract(X, V)
    assert gap(G, moved, G.compose(X, G.exp(V))) <= tolerance(4, X, V)
    assert largest(G.difference(moved, X) - V) <= tolerance(8, X, V)
    assert gap(G, G.retract(X, G.difference(Y, X)), Y) <= tolerance(8, X, Y)


@each_group
@given(data=st.data())
def test_difference_is_log(G, data):
    """Y ⊖ X = log(X⁻¹ Y), compared as elements: near π the two may choose opposite axes."""
    X, Y = data.draw(elements(G)), data.draw(elements(G))
    want = G.compose(G.inverse(X), Y)
    assert gap(G, G.exp(G.difference(Y, X)), want) <= tolerance(8, X, Y)


@each_group
@given(data=st.data())
def test_distance(G, data):
    """|Y ⊖ X| is zero on the diagonal, symmetric, and the same after Z on the left."""
    X, Y, Z = (data.draw(elements(G)) for _ in range(3))
    d = G.distance(Y, X)
    assert d.shape == ()
    assert largest(d - np.linalg.norm(G.difference(Y, X))) <= tolerance(4, d)
    assert largest(G.distance(X, X)) <= tolerance(8, X)
    assert largest(d - G.distance(X, Y)) <= tolerance(8, X, Y)
    assert largest(d - G.distance(G.compose(Z, Y), G.compose(Z, X))) <= tolerance(8, X, Y, Z)


@pytest.mark.parametrize("G", METRIC_GROUPS, ids=lambda G: G.name)
@given(data=st.data())
def test_triangle_inequality(G, data):
    """d(X, Z) ≤ d(X, Y) + d(Y, Z) where the metric is invariant on both sides."""
    X, Y, Z = (data.draw(elements(G)) for _ in range(3))
    assert largest(G.distance(X, Z)) <= G.distance(X, Y) + G.distance(Y, Z) + tolerance(8, X, Y, Z)


@each_group
@given(data=st.data())
def test_interpolate(G, data):
    """X at 0, Y at 1, half way at ½, and X⁻¹ interpolate(t) is a one-parameter subgroup."""
    X, Y = data.draw(elements(G)), data.draw(elements(G))
    s, t = data.draw(_unit), data.draw(_unit)
    assert gap(G, G.interpolate(X, Y, 0.0), X) <= tolerance(4, X)
    assert gap(G, G.interpolate(X, Y, 1.0), Y) <= tolerance(8, X, Y)
    middle = G.interpolate(X, Y, 0.5)
    assert largest(G.difference(middle, X) - G.difference(Y, middle)) <= tolerance(8, X, Y)

    def from_X(u):
        return G.compose(G.inverse(X), G.interpolate(X, Y, u))

    assert gap(G, G.compose(from_X(s), from_X(t)), from_X(s + t)) <= tolerance(8, X, Y)


# ---------------------------------------------------------------- project


@each_group
@given(data=st.data())
def test_project_leaves_elements_alone(G, data):
    """project(X) = X, and projecting twice is projecting once."""
    X = data.draw(elements(G))
    P = G.project(X)
    assert gap(G, P, X) <= tolerance(8, X)
    assert gap(G, G.project(P), P) <= tolerance(8, X)


@each_group
@given(data=st.data())
def test_project_repairs_noise(G, data):
    """The nearest element to X + noise is no farther from X than twice the noise."""
    X = data.draw(elements(G))
    seed = data.draw(st.integers(0, 1000))
    noise = 1e-3 * np.random.default_rng(seed).uniform(-1.0, 1.0, X.shape)
    P = G.project(X + noise)
    assert defect(G, P) <= 8 * EPS
    # |P − X| ≤ |P − (X + noise)| + |noise| ≤ 2 |noise|, in the Euclidean norm.
    assert gap(G, P, X) <= 2.0 * np.linalg.norm(noise)


@pytest.mark.parametrize("size", [1e-8, 1e-3, 0.3])
def test_project_is_the_polar_decomposition(size):
    """SO3.project(M) is the rotation nearest to M, against 50 digits (an SVD in float64 has 20 times our error)."""
    rng = np.random.default_rng(11)
    for X in SE3.random(20, rng=rng):
        M = X.copy()
        M[:3] += size * rng.uniform(-1.0, 1.0, (3, 4))
        want = lie_mp.nearest_rotation(M[:3, :3]).astype(float)
        assert largest(SO3.project(M[:3, :3]) - want) <= 4 * EPS
        assert (SE3.project(M)[:3, 3] == M[:3, 3]).all()
        assert (SE3.project(M)[:3, :3] == SO3.project(M[:3, :3])).all()


# ---------------------------------------------------------------- batches


def arguments(G, operation, shapes, dtype, rng):
    """Valid arguments of an operation, each with its own batch shape; complex ones as for a complex step."""
    made = []
    for letter, shape in zip(OPERATIONS[operation].partition("->")[0], shapes, strict=False):
        # Rotations by less than π, so that cayinv has an answer.
        V = rng.uniform(-1.0, 1.0, (*shape, G.dim))
        a = {
            "g": lambda V=V: G.exp(V),
            "v": lambda V=V: V,
            "h": lambda V=V: G.hat(V),
            "H": lambda V=V: G.matrix(G.exp(V)),
            "p": lambda shape=shape: rng.uniform(-1.0, 1.0, (*shape, point_size(G))),
            "s": lambda shape=shape: rng.uniform(0.0, 1.0, shape),
        }[letter]()
        a = np.asarray(a)
        made.append(a + 1j * STEP * rng.uniform(-1.0, 1.0, a.shape) if dtype is complex else a)
    return made


def batch_of(G, operation, args):
    """The arguments broadcast against each other, as lists of single ones, and the batch shape."""
    letters = OPERATIONS[operation].partition("->")[0]
    cores = {"g": len(G.element_shape), "v": 1, "h": 2, "H": 2, "p": 1, "s": 0}
    own = [a.shape[: a.ndim - cores[letter]] for a, letter in zip(args, letters, strict=True)]
    batch = np.broadcast_shapes(*own)
    full = [np.broadcast_to(a, batch + a.shape[len(b) :]) for a, b in zip(args, own, strict=True)]
    return batch, full


def _variants():
    """Every group with every operation, real and complex; one in sixteen is quick, one of each operation."""
    for i, operation in enumerate(OPERATIONS):
        for j, G in enumerate(GROUPS):
            for k, (name, dtype) in enumerate({"real": float, "complex": complex}.items()):
                marks = () if (5 * i + j + 8 * k) % 16 == 0 else pytest.mark.slow
                yield pytest.param(G, operation, dtype, marks=marks, id=f"{name}-{operation}-{G.name}")


@pytest.mark.parametrize(("G", "operation", "dtype"), list(_variants()))
def test_batch_is_element_by_element(G, operation, dtype):
    """Over a batch of any shape, also a broadcast one, each element is what a call for it alone gives, to the bit."""
    rng = np.random.default_rng(5)
    run = getattr(G, operation)
    count = len(OPERATIONS[operation].partition("->")[0])
    every_shape = [[s] * 3 for s in [(), (1,), (5,), (2, 3), (0,)]]
    every_shape += [[(3, 1), (4,), (4,)], [(4,), (3, 1), ()], [(1,), (5,), (2, 1)], [(), (0,), ()]]
    for shapes in every_shape:
        args = arguments(G, operation, shapes[:count], dtype, rng)
        before = [a.copy() for a in args]
        got = run(*args)
        batch, full = batch_of(G, operation, args)
        assert got.dtype == np.dtype(dtype)
        assert got.shape[: len(batch)] == batch
        assert got.shape == batch + run(*arguments(G, operation, [()] * count, dtype, rng)).shape
        for index in np.ndindex(*batch):
            assert got[index].tobytes() == run(*(a[index] for a in full)).tobytes()
        for a, b in zip(args, before, strict=True):
            assert (a == b).all()


def _complex_variants():
    """Every group with every operation; one in four is quick: each operation with some groups."""
    for i, operation in enumerate(OPERATIONS):
        for j, G in enumerate(GROUPS):
            marks = () if (i + j) % 4 == 0 else pytest.mark.slow
            yield pytest.param(G, operation, marks=marks, id=f"{operation}-{G.name}")


@pytest.mark.parametrize(("G", "operation"), list(_complex_variants()))
def test_complex_agrees_with_real(G, operation):
    """The real part of a complex result is the real result, to rounding."""
    args = arguments(G, operation, [(4,)] * 3, float, np.random.default_rng(8))
    real = getattr(G, operation)(*args)
    complex_ = getattr(G, operation)(*(a.astype(complex) for a in args))
    assert largest(complex_ - real) <= tolerance(4, real)


@each_group
@each_shape
def test_axioms_over_batches(G, shape):
    """Closure, identity, inverse, associativity and exp ∘ log on random elements of every batch shape."""
    X, Y, Z = (G.random(shape, rng=seed) for seed in range(3))
    e = G.identity(shape)
    assert defect(G, G.compose(X, Y)) <= 24 * EPS
    assert (G.compose(e, X) == X).all()
    assert gap(G, G.compose(X, G.inverse(X)), e) <= tolerance(16, X)
    assert gap(G, G.compose(G.compose(X, Y), Z), G.compose(X, G.compose(Y, Z))) <= tolerance(4, X, Y, Z)
    assert gap(G, G.exp(G.log(X)), X) <= tolerance(8, X)


@each_group
def test_what_array_likes_are_taken(G):
    """Lists, integers and strided arrays are as good as contiguous float64 arrays."""
    V = np.zeros(G.dim, dtype=int)
    V[0] = 1
    assert (G.exp(V) == G.exp(V.astype(float))).all()
    assert (G.exp(V.tolist()) == G.exp(V.astype(float))).all()
    wide = np.random.default_rng(1).uniform(-1.0, 1.0, (4, 2 * G.dim))
    assert (G.exp(wide[::2, ::2]) == G.exp(wide[::2, ::2].copy())).all()
    single = wide[:, ::2].astype(np.float32)
    assert (G.exp(single) == G.exp(single.astype(float))).all()


# ---------------------------------------------------------------- identity and random


@each_group
@each_shape
def test_identity_over_shapes(G, shape):
    """identity(shape) is that many identities, not views of one."""
    e = G.identity(shape)
    assert e.shape == shape + G.element_shape
    assert (e == G.identity()).all()
    if e.size:
        e.flat[0] = 7.0
        assert np.count_nonzero(e == 7.0) == 1
    assert G.identity(3).shape == (3, *G.element_shape)


@each_group
@each_shape
def test_random_elements(G, shape):
    """random(shape) gives elements of the group; a seed gives the same ones again, a generator goes on."""
    X = G.random(shape, rng=3)
    assert X.shape == shape + G.element_shape
    assert defect(G, X) <= 8 * EPS
    assert X.tobytes() == G.random(shape, rng=3).tobytes()
    assert X.tobytes() == G.random(shape, rng=np.random.default_rng(3)).tobytes()
    rng = np.random.default_rng(3)
    if X.size:
        assert X.tobytes() != G.random(shape, rng=4).tobytes()
        assert G.random(shape, rng=rng).tobytes() != G.random(shape, rng=rng).tobytes()
    assert G.random(2, rng=3).shape == (2, *G.element_shape)


SAMPLES = 20_000


def assert_mean(values, mean, variance):
    """The mean of `values` over the samples is `mean`, within five standard deviations of such a mean."""
    assert largest(np.mean(values, axis=0) - mean) <= 5.0 * math.sqrt(variance / SAMPLES)


def samples(wanted):
    """Parameters G, X: the wanted ones of all groups and all factors of the product, with samples."""
    made = ((G, G.random(SAMPLES, rng=2, extent=2.0)) for G in GROUPS)
    parts = [(f"{G.name}-{part.name}", part, X[piece]) for G, X in made for part, piece, _ in factors(G)]
    return pytest.mark.parametrize(
        ("G", "X"), [pytest.param(part, X, id=name) for name, part, X in parts if wanted(part)]
    )


@samples(lambda G: angular(G) == 3)
def test_random_rotations_are_uniform(G, X):
    """Moments of Haar's measure on SO(3): E R = 0, E R_ij² = 1/3, E tr R = 0, E (tr R)² = 1, E (tr R)⁴ = 3.

    And invariance: E tr(A R)² = 1 for a fixed rotation A.  R_ij is uniform in [−1, 1], so that E R_ij⁴ = 1/5.
    """
    rotation = G.matrix(X)[:, :3, :3]
    assert_mean(rotation, 0.0, 1 / 3)
    assert_mean(rotation**2, 1 / 3, 1 / 5 - 1 / 9)
    for A in (np.eye(3), SO3.exp([1.0, -2.0, 0.5])):
        trace = np.einsum("ij,nji->n", A, rotation)
        assert_mean(trace, 0.0, 1.0)
        assert_mean(trace**2, 1.0, 3.0 - 1.0)


@samples(lambda G: angular(G) == 1)
def test_random_angles_are_uniform(G, X):
    """E cos kθ = E sin kθ = 0 with variances ½, and angles in [−π, π]."""
    angle = X[:, 0]
    assert largest(angle) <= math.pi
    for k in (1, 2, 3):
        assert_mean(np.cos(k * angle), 0.0, 0.5)
        assert_mean(np.sin(k * angle), 0.0, 0.5)


@samples(lambda G: G.dim > angular(G))
def test_random_positions_fill_the_cube(G, X):
    """Positions are uniform in [−extent, extent]: mean 0, variance extent²/3, fourth moment extent⁴/5."""
    M = G.matrix(X)
    position = M[:, :-1, -1]
    assert largest(position) <= 2.0
    assert_mean(position, 0.0, 4 / 3)
    assert_mean(position**2, 4 / 3, 16 / 5 - 16 / 9)
