"""Bad input: a named error that says who, what value, what was expected; and what good input may look like.

REFUSED is the list of everything that raises.  `test_every_raise_is_reached` holds it against the source, so a new
`raise` in liegeo/lie, liegeo/_jit*.py or liegeo/_cache.py needs a line here.
"""

from __future__ import annotations

import ast
import re
from datetime import date
from fractions import Fraction
from pathlib import Path

import numba
import numpy as np
import pytest

import liegeo
from liegeo import _jit
from liegeo.errors import InputError, LiegeoError
from liegeo.lie import ALL_GROUPS, S1, SE2, SE3, SE3Q, SO3, SO3Q, Product, R
from liegeo.lie.group import OPERATIONS

# As plain Python, NumPy's scalars warn of a division by zero before we can say what it means.
pytestmark = [pytest.mark.filterwarnings("ignore::RuntimeWarning")] if numba.config.DISABLE_JIT else []

I3, I4 = np.eye(3), np.eye(4)
TREE = Product({"base": SE3Q, "arm": R(2), "wrist": SO3Q})
GROUPS = (*ALL_GROUPS, R(3), TREE)


def changed(array, index, value):
    """A copy with one entry changed."""
    array = np.array(array, dtype=float)
    array[index] = value
    return array


HALF_TURN = np.diag([1.0, -1.0, -1.0])
MIRROR = np.diag([1.0, 1.0, -1.0])
SHEAR = changed(I3, (0, 1), 0.1)
FINITE = "expected a finite number."
ROTATION = "If it should be a rotation, "
POSE = "If it should be a pose, "


def compiler_of(setting):
    """Choose a compiler by the environment variable."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LIEGEO_JIT", setting)
        return _jit._choose_compiler()


# name: (what to call, parts that the message must contain)
REFUSED = {
    "unknown compiler": (
        lambda: compiler_of("fast"),
        "LIEGEO_JIT is 'fast', expected 'plain' (numba.njit), 'entries' (liegeo's own pipeline) or nothing.",
    ),
    # shapes
    "too short": (
        lambda: SE3.exp(np.zeros(5)),
        "SE3.exp: argument V has shape (5,), expected (..., 6): algebra vectors of SE3, "
        "with any number of leading axes.",
    ),
    "transposed": (lambda: SE3.exp(np.zeros((6, 4))), "SE3.exp: argument V has shape (6, 4), expected (..., 6)"),
    "0-d": (lambda: SO3.exp(1.0), "SO3.exp: argument V has shape (), expected (..., 3)"),
    "too few axes": (lambda: SO3.log(np.zeros(3)), "SO3.log: argument X has shape (3,), expected (..., 3, 3)"),
    "empty": (lambda: SO3.exp([]), "SO3.exp: argument V has shape (0,), expected (..., 3)"),
    "quaternion for matrix": (
        lambda: SO3.inverse([1.0, 0.0, 0.0, 0.0]),
        "SO3.inverse: argument X has shape (4,), expected (..., 3, 3): group elements of SO3",
    ),
    "second argument": (
        lambda: SE3.act(I4, np.zeros((2, 4))),
        "SE3.act: argument p has shape (2, 4), expected (..., 3): points of SE3",
    ),
    "project": (lambda: SE3Q.project(np.zeros(6)), "SE3Q.project: argument X has shape (6,), expected (..., 7)"),
    "group matrix": (lambda: SE2.from_matrix(I4), "SE2.from_matrix: argument M has shape (4, 4), expected (..., 3, 3)"),
    "algebra matrix": (
        lambda: S1.vee(I3),
        "S1.vee: argument M has shape (3, 3), expected (..., 2, 2): algebra matrices",
    ),
    "product": (lambda: TREE.exp(np.zeros(3)), "Product.exp: argument V has shape (3,), expected (..., 11)"),
    # types
    "ragged": (
        lambda: SO3.exp([[1, 2, 3], [1, 2]]),
        "SO3.exp: argument V is not a rectangular array of numbers",
        "inhomogeneous",
    ),
    "strings": (
        lambda: SO3.exp(["1", "2", "3"]),
        "SO3.exp: argument V holds text, expected numbers: algebra vectors of SO3.",
    ),
    "bytes": (lambda: SO3.exp([b"1", b"2", b"3"]), "SO3.exp: argument V holds bytes, expected numbers"),
    "booleans": (lambda: SO3.exp([True, False, True]), "SO3.exp: argument V holds true/false values, expected numbers"),
    "None": (lambda: SO3.exp(None), "SO3.exp: argument V is None, expected numbers"),
    "None inside": (lambda: SO3.exp([None, 1, 2]), "SO3.exp: argument V holds Python objects, expected numbers"),
    "fractions": (lambda: SO3.exp([Fraction(1, 2), 0, 0]), "SO3.exp: argument V holds Python objects"),
    "a group": (lambda: SO3.log(SO3), "SO3.log: argument X holds Python objects, expected numbers: group elements"),
    "dates": (
        lambda: SO3.exp(np.array([date(2020, 1, 1)] * 3, "M8[D]")),
        "SO3.exp: argument V holds values of type datetime64[D], expected numbers",
    ),
    "text as time": (
        lambda: SO3.interpolate(I3, I3, "0.5"),
        "SO3.interpolate: argument t holds text, expected numbers: numbers of SO3",
    ),
    # not finite: the index is that of the caller's own array
    "nan": (lambda: SO3.exp([0, np.nan, 0]), f"SO3.exp: argument V[1] is nan, {FINITE}"),
    "inf in an element": (
        lambda: SE3.log(changed(I4, (1, 3), -np.inf)),
        f"SE3.log: argument X[1, 3] is -inf, {FINITE}",
    ),
    "nan in a quaternion": (
        lambda: SE3Q.log([np.nan, 0, 0, 0, 0, 0, 0]),
        f"SE3Q.log: argument X[0] is nan, {FINITE}",
    ),
    "nan in a position": (lambda: SE3Q.log([1, 0, 0, 0, 0, np.nan, 0]), f"SE3Q.log: argument X[5] is nan, {FINITE}"),
    "nan in an angle": (lambda: SE2.log([np.nan, 0, 0]), f"SE2.log: argument X[0] is nan, {FINITE}"),
    "inf in hat": (lambda: SE3.vee(changed(0 * I4, (0, 1), np.inf)), f"SE3.vee: argument M[0, 1] is inf, {FINITE}"),
    "nan in a matrix": (
        lambda: S1.from_matrix([[1, 0], [np.nan, 1]]),
        f"S1.from_matrix: argument M[1, 0] is nan, {FINITE}",
    ),
    "nan in a point": (
        lambda: SE3.act(I4, changed(np.zeros((5, 3)), (4, 2), np.nan)),
        f"SE3.act: argument p[4, 2] is nan, {FINITE}",
    ),
    "nan in a scalar": (lambda: SO3.interpolate(I3, I3, np.nan), f"SO3.interpolate: argument t is nan, {FINITE}"),
    "nan in scalars": (
        lambda: SO3.interpolate(I3, I3, [[0.0, np.nan]]),
        f"SO3.interpolate: argument t[0, 1] is nan, {FINITE}",
    ),
    "broadcast, first": (
        lambda: SE3.ad_apply(changed(np.zeros((3, 1, 6)), (2, 0, 4), np.inf), np.zeros((4, 6))),
        f"SE3.ad_apply: argument V[2, 0, 4] is inf, {FINITE}",
    ),
    "broadcast, second": (
        lambda: SE3.ad_apply(np.zeros((3, 1, 6)), changed(np.zeros((4, 6)), (3, 5), np.nan)),
        f"SE3.ad_apply: argument U[3, 5] is nan, {FINITE}",
    ),
    "broadcast, third": (
        lambda: SO3.interpolate(SO3.identity((2, 3)), I3, changed(np.zeros((2, 1)), (1, 0), np.nan)),
        f"SO3.interpolate: argument t[1, 0] is nan, {FINITE}",
    ),
    "broadcast, one for all": (
        lambda: SE3.Ad_apply(SE3.identity(7), [0, 0, np.nan, 0, 0, 0]),
        f"SE3.Ad_apply: argument V[2] is nan, {FINITE}",
    ),
    "names of arguments": (lambda: SE3.adT_apply(np.zeros(6), np.full(6, np.nan)), "SE3.adT_apply: argument F[0] is"),
    "difference": (lambda: SO3Q.difference([1, 0, 0, 0], [2, 0, 0, 0]), "SO3Q.difference: argument X is not an"),
    "distance": (lambda: SO3Q.distance([2, 0, 0, 0], [1, 0, 0, 0]), "SO3Q.distance: argument Y is not an"),
    # not on the group
    "scaled": (
        lambda: SO3.log(2 * I3),
        "SO3.log: argument X is not an element of SO3: it misses it by ",
        ", at most 1e-06 is allowed.",
        ROTATION + "take the nearest one first: SO3.project(R).",
    ),
    "sheared": (lambda: SO3.log(SHEAR), "SO3.log: argument X is not an element of SO3: it misses it by 0.1"),
    "mirrored": (
        lambda: SO3.log(MIRROR),
        "SO3.log: argument X is not an element of SO3",
        "it is a reflection (negative determinant), and no rotation is near it.",
    ),
    "mirrored pose": (
        lambda: SE3.inverse([I4, changed(I4, (2, 2), -1.0)]),
        "SE3.inverse: argument X[1] is not an element of SE3",
        "negative determinant",
    ),
    "last row": (
        lambda: SE3.log(changed(I4, (3, 0), 0.5)),
        "SE3.log: argument X is not an element of SE3: "
        "its last row is [0.5, 0.0, 0.0, 1.0], expected [0.0, 0.0, 0.0, 1.0].",
        POSE + "take the nearest one first: SE3.project(X).",
    ),
    "last entry": (lambda: SE3.log(np.diag([1, 1, 1, 2])), "SE3.log: argument X is not an element of SE3"),
    "transposed pose": (
        lambda: SE3.log(SE3.exp([0, 0, 1, 1, 2, 3]).T),
        "SE3.log: argument X is not an element of SE3: its last row is [-0.0779",
    ),
    "zero quaternion": (
        lambda: SO3Q.log([0, 0, 0, 0]),
        "SO3Q.log: argument X is not an element of SO3Q: its quaternion is zero, which is no rotation.",
    ),
    "quaternion of norm 1.01": (
        lambda: SO3Q.log([1.01, 0, 0, 0]),
        "SO3Q.log: argument X is not an element of SO3Q: its quaternion has norm 1.01, expected 1.",
        ROTATION + "normalise it first: SO3Q.project(q).",
    ),
    "pose with such a quaternion": (
        lambda: SE3Q.Ad([1.01, 0, 0, 0, 0, 0, 0]),
        "SE3Q.Ad: argument X is not an element of SE3Q: its quaternion has norm 1.01, expected 1.",
        POSE + "normalise its quaternion first: SE3Q.project(X).",
    ),
    "matrix of SO3Q": (
        lambda: SO3Q.from_matrix([I3, 2 * I3]),
        "SO3Q.from_matrix: argument M[1] is not a matrix of SO3Q: it misses it by ",
        "take the nearest one first: SO3.project(M).",
    ),
    "matrix of SE2, mirrored": (
        lambda: SE2.from_matrix(np.diag([1, -1, 1])),
        "SE2.from_matrix: argument M is not a matrix of SE2: it is a reflection (negative determinant)",
    ),
    "matrix of R": (lambda: R(2).from_matrix(2 * I3), "R(2).from_matrix: argument M is not a matrix of R(2)"),
    "matrix of S1": (lambda: S1.from_matrix(2 * np.eye(2)), "S1.from_matrix: argument M is not a matrix of S1"),
    "not skew": (
        lambda: SO3.vee(I3),
        "SO3.vee: argument M is not of the form hat(V): it misses it by ",
        ", at most 1e-06 is allowed.",
    ),
    "not skew, SE3": (lambda: SE3.vee(I4), "SE3.vee: argument M is not of the form hat(V)"),
    "hat with a last row": (
        lambda: SE3.vee(changed(0 * I4, (3, 1), 0.25)),
        "SE3.vee: argument M is not of the form hat(V): it misses it by 0.25",
    ),
    "not skew, SE2": (lambda: SE2.vee(I3), "SE2.vee: argument M is not of the form hat(V)"),
    "not skew, S1": (lambda: S1.vee(np.eye(2)), "S1.vee: argument M is not of the form hat(V)"),
    "not a velocity": (lambda: R(2).vee(I3), "R(2).vee: argument M is not of the form hat(V)"),
    # no result
    "project, zero quaternion": (
        lambda: SO3Q.project([[1, 0, 0, 0], [0, 0, 0, 0]]),
        "SO3Q.project: argument X[1] has no nearest element: its quaternion is zero.",
    ),
    "project, zero in a pose": (
        lambda: SE3Q.project(np.zeros(7)),
        "SE3Q.project: argument X has no nearest element",
    ),
    "project, singular": (
        lambda: SO3.project(np.zeros((3, 3))),
        "SO3.project: argument X has no nearest element: the determinant of its rotation is not positive.",
    ),
    "project, rank one": (lambda: SO3.project(np.ones((3, 3))), "SO3.project: argument X has no nearest element"),
    "project, mirrored": (lambda: SO3.project(MIRROR), "SO3.project: argument X has no nearest element"),
    "project, mirrored pose": (
        lambda: SE3.project(np.diag([1, -1, 1, 1])),
        "SE3.project: argument X has no nearest element",
    ),
    "project, nan": (
        lambda: SE2.project([0, np.nan, 0]),
        "SE2.project: argument X has no nearest element: it is not finite.",
    ),
    "cayinv": (
        lambda: SO3.cayinv([I3, HALF_TURN]),
        "SO3.cayinv: argument X[1] is a rotation by π, which the Cayley map does not reach.",
        "Use SO3.log, which reaches every element.",
    ),
    "cayinv, quaternion": (lambda: SO3Q.cayinv([0, 0, 1, 0]), "SO3Q.cayinv: argument X is a rotation by π"),
    "cayinv, pose": (lambda: SE3.cayinv(np.diag([-1, 1, -1, 1])), "SE3.cayinv: argument X is a rotation by π"),
    "cayinv, flat pose": (lambda: SE3Q.cayinv([0, 0, 1, 0, 1, 2, 3]), "SE3Q.cayinv: argument X is a rotation by π"),
    # batches
    "no broadcast": (
        lambda: SO3.compose(SO3.identity(3), SO3.identity(4)),
        "SO3.compose: the arguments have shapes (3, 3, 3), (4, 3, 3); "
        "their leading axes (3,) and (4,) do not broadcast.\n"
        "  Make them equal, or 1 where one argument serves for all.",
    ),
    "no broadcast of three": (
        lambda: SO3Q.interpolate(SO3Q.identity(3), SO3Q.identity(), np.zeros((3, 2))),
        "SO3Q.interpolate: the arguments have shapes (3, 4), (4,), (3, 2); their leading axes (3,) and () and (3, 2)",
    ),
    "negative shape": (
        lambda: SO3.identity(-1),
        "SO3.identity: shape is -1, expected a whole number or a tuple of them, none negative.",
    ),
    "negative in a shape": (lambda: SE3Q.random((2, -1)), "SE3Q.random: shape is (2, -1), expected a whole number"),
    "shape of text": (lambda: SE3Q.random("a"), "SE3Q.random: shape is 'a', expected a whole number"),
    "shape of None": (lambda: SE3Q.identity((2, None)), "SE3Q.identity: shape is (2, None), expected a whole number"),
    "random product": (lambda: TREE.random(-2), "Product.random: shape is -2, expected a whole number"),
    # R(n)
    "R(0)": (lambda: R(0), "R(n): n is 0, expected a whole number of at least 1."),
    "R(-1)": (lambda: R(-1), "R(n): n is -1, expected a whole number of at least 1."),
    "R(2.5)": (lambda: R(2.5), "R(n): n is 2.5, expected a whole number"),
    "R('3')": (lambda: R("3"), "R(n): n is '3', expected a whole number"),
    # products
    "product of nothing": (
        lambda: Product({}),
        "Product: factors is {}, expected a mapping of names to groups with at least one.",
    ),
    "product of a list": (lambda: Product([SO3Q]), "Product: factors is [<group SO3Q", "expected a mapping of names"),
    "product of None": (lambda: Product(None), "Product: factors is None, expected a mapping of names"),
    "product of SO3": (
        lambda: Product({"base": SE3Q, "wrist": SO3}),
        "Product: factor 'wrist' is SO3, which is not one of the flat groups R, S1, SE2, SE3Q, SO3Q.",
        "Use SO3Q, the same group stored flat.",
    ),
    "product of SE3": (lambda: Product({"base": SE3}), "Product: factor 'base' is SE3", "Use SE3Q, the same group"),
    "product of a number": (
        lambda: Product({"base": 3}),
        "Product: factor 'base' is 3, expected a group such as SO3Q or R(3).",
    ),
    "product of a product": (
        lambda: Product({"tree": TREE}),
        "Product: factor 'tree' is itself a product.",
        "List its factors here instead.",
    ),
    "factor's vector": (
        lambda: TREE.exp(changed(np.zeros((2, 11)), (1, 7), np.nan)),
        "Product.exp: argument V",
        "factor 'arm'",
        f" is nan, {FINITE}",
    ),
    "factor's second vector": (
        lambda: TREE.ad_apply(np.zeros(11), changed(np.zeros(11), 0, np.inf)),
        "Product.ad_apply: argument U",
        "factor 'base'",
        f" is inf, {FINITE}",
    ),
    "factor's element": (
        lambda: TREE.log(changed(TREE.identity((2, 3)), (1, 2, TREE.q["wrist"]), [1.01, 0, 0, 0])),
        "Product.log: argument X",
        "factor 'wrist'",
        "X[1, 2] (factor 'wrist') is not an element of SO3Q: its quaternion has norm 1.01",
        "normalise it first: SO3Q.project(q).",
    ),
    "factor's matrix": (
        lambda: TREE.from_matrix(changed(TREE.matrix(TREE.identity()), (3, 3), 1.5)),
        "Product.from_matrix: argument M",
        "factor 'base'",
        "is not a matrix of SE3Q: its last row is [0.0, 0.0, 0.0, 1.5]",
    ),
    "outside the blocks": (
        lambda: TREE.from_matrix(changed(TREE.matrix(TREE.identity()), (0, 8), 0.5)),
        "Product.from_matrix: argument M has entries outside the blocks of its factors, "
        "where a matrix of the product is zero.",
    ),
    "outside the blocks, vee": (
        lambda: TREE.vee(changed(TREE.hat(np.zeros(11)), (7, 0), 1e-3)),
        "Product.vee: argument M has entries outside the blocks",
    ),
    "project of a product": (
        lambda: TREE.project(changed(TREE.identity(2), (1, TREE.q["base"]), 0.0)),
        "Product.project, factor 'base': SE3Q.project: argument X[1] has no nearest element",
    ),
    "cayinv of a product": (
        lambda: TREE.cayinv(changed(TREE.identity(2), (1, TREE.q["wrist"]), [0, 1, 0, 0])),
        "Product.cayinv, factor 'wrist': SO3Q.cayinv: argument X[1] is a rotation by π",
    ),
    "scalar of a product": (
        lambda: TREE.interpolate(TREE.identity(), TREE.identity(), [0.0, np.nan]),
        f"Product.interpolate: argument t[1] is nan, {FINITE}",
    ),
    # scipy
    "no counterpart": (
        lambda: SE2.to_scipy(SE2.identity()),
        "SE2 has no counterpart in scipy.spatial.transform; only SO3, SO3Q, SE3 and SE3Q have.",
    ),
    "no counterpart, from": (lambda: R(3).from_scipy(I4), "R(3) has no counterpart in scipy.spatial.transform"),
    "Rotation for SE3": (
        lambda: SE3.from_scipy(SO3.to_scipy(I3)),
        "SE3.from_scipy: got Rotation, expected scipy's RigidTransform.",
    ),
    "array for SO3Q": (lambda: SO3Q.from_scipy(I3), "SO3Q.from_scipy: got ndarray, expected scipy's Rotation."),
    # found by the first review of these messages
    "imaginary part": (lambda: SO3.exp([complex(1.0, np.nan), 0, 0]), "SO3.exp: argument V[0] is", FINITE),
    "nan outside the blocks": (
        lambda: TREE.from_matrix(changed(TREE.matrix(TREE.identity()), (0, 8), np.nan)),
        "Product.from_matrix: argument M",
    ),
    "t does not broadcast": (
        lambda: TREE.interpolate(TREE.identity(3), TREE.identity(3), np.zeros(4)),
        "Product.interpolate: the arguments have shapes",
    ),
    "X, Y do not broadcast": (
        lambda: TREE.interpolate(TREE.identity(3), TREE.identity(4), 0.5),
        "Product.interpolate: the arguments have shapes (3, 13), (4, 13)",
    ),
    "index in the caller's array": (
        lambda: TREE.exp(changed(np.zeros((2, 11)), (1, 7), np.nan)),
        "argument V[1, 7]",
    ),
    "identity of a product": (lambda: TREE.identity(-1), "Product.identity: shape is -1"),
    "project names the factor": (
        lambda: TREE.project(changed(TREE.identity(2), (1, TREE.q["base"]), 0.0)),
        "factor 'base'",
    ),
    "half a shape": (lambda: SO3.identity(2.5), "SO3.identity: shape is 2.5, expected a whole number"),
    "shape of digits": (lambda: SO3.identity("23"), "SO3.identity: shape is '23', expected a whole number"),
    "R(True)": (lambda: R(True), "R(n): n is True, expected a whole number"),
    "R([3])": (lambda: R([3]), "R(n): n is [3], expected a whole number"),
    "cayinv of an angle π": (lambda: S1.cayinv([np.pi]), "S1.cayinv: argument X is a rotation by π"),
    "complex to scipy": (lambda: SO3.to_scipy(I3 + 0j), "SO3.to_scipy: "),
    "too large": (
        lambda: SO3.exp([1e200, 0, 0]),
        "SO3.exp: argument V is too large: its square is not a finite number.",
    ),
    "masked": (lambda: SO3.exp(np.ma.masked_array([1.0, 2, 3], [0, 1, 0])), "SO3.exp: argument V has masked entries"),
    "rng": (lambda: SO3.random(rng="a"), "SO3.random: rng is 'a', expected a seed"),
    "extent": (lambda: SE3.random(extent=-1), "SE3.random: extent is -1, expected a finite number ≥ 0."),
    "extent of text": (lambda: SE3.random(extent="a"), "SE3.random: extent is 'a', expected a finite number"),
    "imaginary nan": (lambda: SO3.log(I3 * complex(1, np.nan)), "SO3.log: argument X[0, 0] is not finite"),
    "long double": (
        lambda: SO3.exp([np.longdouble("1e400"), 0, 0]),
        "SO3.exp: argument V[0] is inf, expected a finite",
    ),
    "a Rotation": (lambda: SO3.log(SO3.to_scipy(I3)), "SO3.log: argument X is SciPy's Rotation (use from_scipy)"),
    "R as a factor": (lambda: Product({"a": R}), "Product: factor 'a' is R without a size, expected a group"),
    "to_scipy of no rotation": (lambda: SO3.to_scipy(2 * I3), "argument X is not an element of SO3"),
}


def cases(table):
    return [pytest.param(call, parts, id=name) for name, (call, *parts) in table.items()]


@pytest.mark.parametrize(("call", "parts"), cases(REFUSED))
def test_refused_with_a_message(call, parts):
    with pytest.raises(InputError) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, LiegeoError)


def test_every_raise_is_reached():
    root = Path(liegeo.__file__).parent
    wanted = {}
    for file in (
        root / "_jit.py",
        root / "_jit_entries.py",
        root / "_jit_plain.py",
        root / "_cache.py",
        *sorted((root / "lie").glob("*.py")),
    ):
        text = file.read_text(encoding="utf-8")
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text)):
            # one without an error of its own passes on what came
            own = isinstance(node, ast.Raise) and node.exc is not None
            if own and "pragma: no cover" not in lines[node.lineno - 1]:
                wanted[file.name, node.lineno] = ast.unparse(node)[:100]
    assert len(wanted) > 10

    calls = [call for call, *_ in REFUSED.values()]
    for call in calls:
        with pytest.raises((InputError, TypeError)) as caught:
            call()
        last = caught.traceback[-1]
        # traceback lines count from 0; a statement over several lines is known by its first
        wanted.pop((last.path.name, last.lineno + 1), None)
    assert not wanted, f"these have no line in REFUSED: {wanted}"


def test_huge_matrix():
    """No warning of np.linalg.det comes before the message."""
    test_refused_with_a_message(lambda: SO3.log(1e200 * I3), ["SO3.log: argument X is not an element of SO3"])


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_project_of_huge_and_tiny_numbers(size):
    np.testing.assert_array_equal(SO3Q.project([size, 0, 0, 0]), [1, 0, 0, 0])
    np.testing.assert_array_equal(SO3.project(size * I3), I3)


# ------------------------------------------------------------ which element of a large batch


@pytest.mark.parametrize("G", GROUPS, ids=lambda G: G.name)
def test_one_bad_vector_among_many(G):
    """10⁵ elements, one NaN: its index, not that of a neighbour or of a block."""
    V = np.zeros((10, 100, 100, G.dim))
    V[7, 31, 99, G.dim - 1] = np.nan
    with pytest.raises(InputError, match=rf"V\[7, 31, 99, {G.dim - 1}\].* is nan"):
        G.exp(V)


@pytest.mark.parametrize("G", [SO3, SO3Q, SE3, SE3Q], ids=lambda G: G.name)
def test_one_bad_element_among_many(G):
    X = np.broadcast_to(G.identity(), (100_000, *G.element_shape)).copy()
    X[98_765] *= 1.001
    message = rf"argument X\[98765\] is not an element of {G.name}: .*1\.001|misses it by 0\.00"
    with pytest.raises(InputError, match=message):
        G.inverse(X)
    with pytest.raises(InputError, match=message.replace("X", "Y")):
        G.compose(G.identity(), X)


def test_the_first_of_several_faults_is_named():
    V = np.zeros((5, 3))
    V[[2, 4], [1, 0]] = np.nan
    with pytest.raises(InputError, match=re.escape("V[2, 1] is nan")):
        SO3.exp(V)
    with pytest.raises(InputError, match=re.escape("argument V[2, 1] is nan")):
        SO3.ad_apply(V, V)


# ------------------------------------------------------------ how far off is allowed


def element_off_by(G, size):
    """A generic element whose rotation misses its equation by `size`."""
    X = G.random(rng=5)
    if G.element_shape[0] in (3, 4) and len(G.element_shape) == 2:
        X[:3, :3] = X[:3, :3] @ (I3 + 0.5 * size * np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]))
    else:
        X[:4] *= np.sqrt(1.0 + size)
    return X


@pytest.mark.parametrize("G", [SO3, SO3Q, SE3, SE3Q], ids=lambda G: G.name)
def test_tolerance(G):
    good = G.log(element_off_by(G, 0.0))
    np.testing.assert_allclose(G.log(element_off_by(G, 1e-9)), good, rtol=0, atol=1e-8)
    np.testing.assert_allclose(G.log(element_off_by(G, 0.9e-6)), good, rtol=0, atol=1e-5)
    for size in (1.1e-6, 1e-3, 0.1):
        with pytest.raises(InputError, match=rf"it misses it by {size:.2g}|has norm {np.sqrt(1 + size):.9g}"):
            G.log(element_off_by(G, size))


@pytest.mark.parametrize("G", [SO3, SO3Q, SE3, SE3Q], ids=lambda G: G.name)
def test_project_repairs_what_is_refused(G):
    """Nothing is normalised unasked; `project` does it when asked, and changes nothing that is already right."""
    X = element_off_by(G, 1e-3)
    repaired = G.project(X)
    G.log(repaired)
    assert np.abs(repaired - X).max() < 1e-3
    np.testing.assert_allclose(G.project(repaired), repaired, rtol=0, atol=4e-16)


def test_from_matrix_keeps_the_numbers_it_was_given():
    off = element_off_by(SO3, 1e-9)
    np.testing.assert_array_equal(SO3.from_matrix(off), off)
    off = element_off_by(SO3Q, 1e-9)
    np.testing.assert_array_equal(np.abs(SO3Q.inverse(off)), np.abs(off))


# ------------------------------------------------------------ what is accepted


def arguments(G, name, rng):
    make = {
        "g": lambda: G.random(rng=rng),
        "v": lambda: rng.uniform(-1, 1, G.dim),
        "h": lambda: G.hat(rng.uniform(-1, 1, G.dim)),
        "H": lambda: G.matrix(G.random(rng=rng)),
        "p": lambda: rng.uniform(-1, 1, G._shapes["p"]),
        "s": lambda: np.array(0.25),
    }
    return [make[letter]() for letter in OPERATIONS[name].partition("->")[0]]


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("G", GROUPS, ids=lambda G: G.name)
def test_arguments_are_not_changed(G, name):
    """Also not through a view: the result shares no memory with them."""
    given = arguments(G, name, np.random.default_rng(3))
    before = [a.copy() for a in given]
    for a in given:
        a.setflags(write=False)
    result = getattr(G, name)(*given)
    result[...] = np.nan
    for a, was in zip(given, before, strict=True):
        np.testing.assert_array_equal(a, was)


@pytest.mark.parametrize("G", GROUPS, ids=lambda G: G.name)
def test_lists_tuples_and_strided_arrays(G):
    V = np.random.default_rng(4).uniform(-1, 1, (5, G.dim))
    expected = G.exp(V)
    np.testing.assert_array_equal(G.exp(V.tolist()), expected)
    np.testing.assert_array_equal(G.exp(tuple(map(tuple, V))), expected)
    np.testing.assert_array_equal(G.exp(np.asfortranarray(V)), expected)
    np.testing.assert_array_equal(G.exp(np.repeat(V, 2, axis=0)[::2]), expected)
    np.testing.assert_array_equal(G.exp(V.astype(">f8")), expected)


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.int64, np.float16, np.float32, np.longdouble])
def test_other_numbers_give_float64(dtype):
    """Small whole numbers are the same in all of them, so the results are the same to the last bit."""
    V = np.array([[1, 0, 2, 3, 1, 0], [0, 0, 0, 1, 2, 3]])
    assert SE3.exp(V.astype(dtype)).dtype == np.float64
    np.testing.assert_array_equal(SE3.exp(V.astype(dtype)), SE3.exp(V.astype(float)))
    np.testing.assert_array_equal(SE3.identity().astype(dtype), I4)
    assert SO3.distance(I3.astype(dtype), I3.astype(dtype)).dtype == np.float64


def test_single_precision_rotations_pass():
    """Data stored in single precision is on the group to 1e-7 or so, which is allowed."""
    for G in (SO3, SO3Q, SE3, SE3Q):
        X = G.random(1000, rng=2)
        np.testing.assert_allclose(G.log(X.astype(np.float32))[..., 3:], G.log(X)[..., 3:], rtol=0, atol=1e-5)


@pytest.mark.parametrize("G", GROUPS, ids=lambda G: G.name)
def test_empty_batches(G):
    assert G.identity(0).shape == (0, *G.element_shape)
    assert G.exp(np.zeros((2, 0, G.dim))).shape == (2, 0, *G.element_shape)
    assert G.compose(G.identity((0, 3)), G.identity()).shape == (0, 3, *G.element_shape)


@pytest.mark.parametrize("shape", [(), 3, (3,), [2, 3], (1, 0), np.int64(2)])
def test_shapes(shape):
    wanted = tuple(shape) if isinstance(shape, tuple | list) else (int(shape),)
    for G in GROUPS:
        assert G.identity(shape).shape == wanted + G.element_shape
        assert G.random(shape, rng=1).shape == wanted + G.element_shape
