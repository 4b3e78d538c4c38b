"""The kernels themselves, called as compiled code calls them: compiled, and as plain Python (NUMBA_DISABLE_JIT=1).

What they compute is checked elsewhere, against oracles.  Here: that the vectorised face adds nothing to them, and what
callers inside compiled code rely on, which is that `out` is written in full, that nothing is kept between calls, that
complex numbers carry derivatives through, that `out` may be an input where the docstring says so, and no allocation.
"""

from __future__ import annotations

import inspect
import itertools
import re
import tracemalloc

import numba
import numpy as np
import pytest

from liegeo._jit import kernel
from liegeo.lie import ALL_GROUPS, S1, SE2, SE3Q, SO3, SO3Q, Product, R
from liegeo.lie.group import OPERATIONS
from liegeo.lie.product import KERNELS

pytestmark = pytest.mark.kernels

compiled_only = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="about compiled code")

GROUPS = (*ALL_GROUPS, R(3))
CASES = [pytest.param(G, name, id=f"{G.name}-{name}") for G in GROUPS for name in OPERATIONS]
DTYPES = [pytest.param(np.float64, id="float64"), pytest.param(np.complex128, id="complex128")]

# Numbers here are of size 1.  Two compilations of one formula may fuse other products and sums, which moves the last
# place of some intermediate results; the longest chain (ddexpinv) has about ten of those.
SAME = 1e-14


def inputs_for(G, name, dtype, seed=1):
    """Random inputs of an operation, as its kernel takes them."""
    rng = np.random.default_rng([seed, *name.encode()])
    make = {
        "g": lambda: G.random(rng=rng),
        "v": lambda: rng.uniform(-1.0, 1.0, G.dim),
        "h": lambda: G.hat(rng.uniform(-1.0, 1.0, G.dim)),
        "H": lambda: G.matrix(G.random(rng=rng)),
        "p": lambda: rng.uniform(-1.0, 1.0, point_length(G)),
        "s": lambda: np.float64(0.3),
    }
    return [make[letter]().astype(dtype) for letter in OPERATIONS[name].partition("->")[0]]


def point_length(G):
    if isinstance(G, Product):
        return sum(point_length(factor) for factor in G.factors.values())
    return G.dim if G.family == "R" else {"S1": 2, "SE2": 2}.get(G.name, 3)


def poisoned(result, dtype):
    """An `out` for a result like this, full of NaN; a scalar is written through an array of length one."""
    return np.full(result.shape or (1,), np.nan, dtype)


def run(function, inputs, out):
    """Call a kernel; scalars go in as numbers, as a compiled loop hands them over."""
    function(*(x[()] if x.ndim == 0 else x for x in inputs), out)
    return out


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("G", "name"), CASES)
def test_kernel_agrees_with_the_vectorised_call_and_writes_all_of_out(G, name, dtype):
    inputs = inputs_for(G, name, dtype)
    before = [x.copy() for x in inputs]
    expected = getattr(G, name)(*inputs)
    out = run(G.kernels[name], inputs, poisoned(expected, dtype))
    assert out.dtype == expected.dtype == dtype
    np.testing.assert_allclose(out.reshape(expected.shape), expected, rtol=0, atol=SAME)

    again = run(G.kernels[name], inputs, poisoned(expected, dtype))
    np.testing.assert_array_equal(again, out, err_msg="the second call gave something else")
    for x, was in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(x, was, err_msg="the kernel changed an input")


@pytest.mark.parametrize(("G", "name"), CASES)
def test_complex_step_is_the_derivative(G, name):
    """f(x + ihu) = f(x) + ih Df(x)[u] + O(h²), with Df from differences; a conjugate or a modulus would show."""
    inputs = inputs_for(G, name, np.float64)
    rng = np.random.default_rng(7)
    directions = [rng.uniform(-1.0, 1.0, x.shape) for x in inputs]
    like = getattr(G, name)(*inputs)

    def f(step, dtype=np.float64):
        # off the group where x is an element: the kernels' formulas hold there too
        moved = [np.asarray(x + step * u, dtype) for x, u in zip(inputs, directions, strict=True)]
        return run(G.kernels[name], moved, poisoned(like, dtype))

    result = f(1e-20j, np.complex128)
    np.testing.assert_allclose(result.real, f(0.0), rtol=0, atol=SAME)
    # Error of the differences: h⁴ times a fifth derivative, and 1e-16/h of rounding.
    h = 1e-3
    slope = (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)
    np.testing.assert_allclose(result.imag / 1e-20, slope, rtol=0, atol=1e-9 * (1.0 + np.abs(slope).max()))


# ------------------------------------------------------------ out may be an input


def allowed_aliases():
    """(group, operation, position of the input that `out` may be), as the docstrings promise."""
    found = []
    for G in GROUPS:
        for name, function in G.kernels.items():
            promise = re.search(r"out may be (\w+)(?: or (\w+))?\.", function.__doc__ or "")
            if promise and name in OPERATIONS:
                names = list(inspect.signature(getattr(function, "py_func", function)).parameters)
                found += [(G, name, names.index(p)) for p in promise.groups() if p]
    return found


ALIASES = allowed_aliases()


def test_the_promises_are_found():
    found = {(G.name, name, position) for G, name, position in ALIASES}
    assert {("SO3Q", "compose", 1), ("SE3Q", "retract", 0), ("SO3", "project", 0), ("S1", "act", 1)} <= found


@pytest.mark.parametrize(
    ("G", "name", "position"), [pytest.param(*case, id=f"{case[0].name}-{case[1]}-{case[2]}") for case in ALIASES]
)
def test_out_may_be_the_input_that_the_docstring_names(G, name, position):
    inputs = inputs_for(G, name, np.float64)
    expected = run(G.kernels[name], inputs, poisoned(inputs[position], np.float64))
    out = run(G.kernels[name], inputs, inputs[position])
    np.testing.assert_allclose(out, expected, rtol=0, atol=SAME)


# ------------------------------------------------------------ products

TREE = Product({"base": SE3Q, "arm": R(2), "wrist": SO3Q, "pin": S1, "slide": SE2, "spin": SO3Q, "gap": R(1)})


def pieces(letter, array):
    """The factors' own parts of an array of the product."""
    ends = np.cumsum([0, *(length(G, letter) for G in TREE.factors.values())])
    for start, stop in itertools.pairwise(ends):
        yield array[start:stop, start:stop] if letter in "mhH" else array[start:stop]


def length(G, letter):
    """Along one axis."""
    if letter == "p":
        return point_length(G)
    if letter in "hH":
        return G.matrix(G.identity()).shape[0]
    return G.element_shape[0] if letter == "g" else G.dim


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", KERNELS)
def test_product_kernel_agrees_with_the_factors(name, dtype):
    letters, _, result = OPERATIONS[name].partition("->")
    inputs = inputs_for(TREE, name, dtype)
    factors = TREE.factors.values()
    n = 1 if result == "s" else sum(length(G, result) for G in factors)
    shape = (n, n) if result in "mhH" else (n,)
    out = np.full(shape, np.nan, dtype)
    KERNELS[name](TREE.layout, *inputs, out)

    # Each factor's own kernel on its own piece; zero between the blocks of a matrix.
    by_factor = list(zip(*(pieces(letter, x) for letter, x in zip(letters, inputs, strict=True)), strict=True))
    expected = np.zeros(shape, dtype)
    if result == "s":
        own = [run(G.kernels[name], row, np.full(1, np.nan, dtype)) for G, row in zip(factors, by_factor, strict=True)]
        expected[0] = np.sqrt(sum(d[0] ** 2 for d in own))
    else:
        for G, row, block in zip(factors, by_factor, pieces(result, expected), strict=True):
            block[...] = run(G.kernels[name], map(np.ascontiguousarray, row), np.full(block.shape, np.nan, dtype))
    np.testing.assert_allclose(out, expected, rtol=0, atol=SAME)


def test_every_operation_but_interpolate_has_a_product_kernel():
    assert set(OPERATIONS) - set(KERNELS) == {"interpolate"}


# ------------------------------------------------------------ no allocation


def fill(n, out):
    scratch = np.empty(n)
    for i in range(n):
        scratch[i] = i
    for i in range(n):
        out[i] = scratch[i]


@compiled_only
def test_a_kernel_that_allocates_does_not_compile():
    out = np.zeros(3)
    numba.njit(fill)(3, out)
    np.testing.assert_array_equal(out, [0.0, 1.0, 2.0])  # Numba alone would take it
    with pytest.raises(
        numba.core.errors.TypingError, match=r"(?s)Only accept returning of array passed.*np.empty\(n\)"
    ):
        kernel(fill)(3, out)


@compiled_only
@pytest.mark.parametrize("name", ["exp", "log", "retract", "project", "ddexpinv_right"])
def test_calling_a_kernel_leaves_nothing_behind(name):
    """10⁴ calls hold less than 16 bytes each, at their end and at any time: less than the smallest Python object.

    Not nothing: the test runner's own threads allocate as well.
    """
    inputs = inputs_for(SO3, name, np.float64)
    out = poisoned(getattr(SO3, name)(*inputs), np.float64)
    function = SO3.kernels[name]
    function(*inputs, out)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        for _ in range(10_000):
            function(*inputs, out)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 16 * 10_000
    assert peak - before < 16 * 10_000
