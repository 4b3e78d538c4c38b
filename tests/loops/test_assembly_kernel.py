"""The kernels behind `lg.assemble`, beside the same method in NumPy, and least squares beside LAPACK."""

from __future__ import annotations

import numpy as np
import pytest
from mechanisms import bricard, ladder
from test_mechanisms import GUESS, four_bar, rod

import liegeo as lg
from liegeo import dynamics, status
from liegeo import model as lm
from liegeo.io import load, shipped
from liegeo.kernels import assembly as kernels
from liegeo.kernels import layout as at
from liegeo.kernels import least_squares
from liegeo.motion import Drive

FENCE = 12345.0

# ---- least squares


def solved(A, b, tolerance=1e-9):
    """Return the solution and the rank; scratch begins as NaN and must not be left."""
    m, n = A.shape
    size = least_squares.scratch_size(m, n)
    memory, x = np.append(np.full(size, np.nan), np.full(16, FENCE)), np.full(n, np.nan)
    given = A.ravel().copy(), b.copy()
    rank = least_squares.solve_least_squares(given[0], m, n, given[1], tolerance, memory[:size], x)
    assert (memory[size:] == FENCE).all()
    assert np.array_equal(given[0], A.ravel())
    assert np.array_equal(given[1], b)
    return x, rank


def with_values(rng, m, n, values):
    """Return a matrix with these singular values."""
    U, V = (np.linalg.qr(rng.normal(size=(k, k)))[0] for k in (m, n))
    return (U[:, : len(values)] * values) @ V[:, : len(values)].T


SHAPES = [(1, 1), (1, 5), (5, 1), (3, 3), (4, 9), (9, 4), (20, 31), (31, 20), (25, 25)]


@pytest.mark.kernels
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_full_rank_is_that_of_lapack(shape):
    rng = np.random.default_rng(1)
    A, b = rng.normal(size=shape), rng.normal(size=shape[0])
    x, rank = solved(A, b)
    reference, _, count, values = np.linalg.lstsq(A, b, rcond=1e-9)
    assert rank == count
    assert np.abs(x - reference).max() < 1e-13 * values[0] / values[-1] * np.abs(reference).max()


@pytest.mark.kernels
@pytest.mark.parametrize("shape", [(6, 6), (4, 9), (9, 4), (30, 18), (18, 30)], ids=str)
@pytest.mark.parametrize("noise", [0.0, 1e-11])
def test_what_is_below_the_tolerance_does_not_count(shape, noise):
    """Half of the singular values are above, by up to five powers of ten apart; the others are zero or small."""
    rng = np.random.default_rng(2)
    k = min(shape)
    kept = k // 2
    values = np.append(np.logspace(0, -5, kept), np.full(k - kept, noise))
    A, b = with_values(rng, *shape, values), rng.normal(size=shape[0])
    x, rank = solved(A, b)
    reference, _, count, _ = np.linalg.lstsq(A, b, rcond=1e-9)
    assert rank == count == kept
    assert np.abs(x - reference).max() < 1e-10 * np.abs(reference).max()
    # the smallest of all solutions: nothing of it in the null space
    exact = with_values(np.random.default_rng(2), *shape, values[:kept])
    assert np.linalg.norm(x - np.linalg.pinv(exact, rcond=1e-9) @ b) < 1e-5 * np.linalg.norm(x)


def test_rows_and_columns_that_repeat():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(4, 7))
    A = np.vstack([rows, rows, 2.0 * rows[:2], np.zeros((2, 7))])
    b = np.concatenate([np.ones(4), np.ones(4), 2.0 * np.ones(2), np.zeros(2)])
    for matrix, right in ((A, b), (A.T, rng.normal(size=7))):
        x, rank = solved(matrix, right)
        assert rank == 4
        np.testing.assert_allclose(x, np.linalg.lstsq(matrix, right, rcond=1e-9)[0], rtol=0, atol=1e-13)


@pytest.mark.parametrize("shape", [(5, 8), (8, 5)], ids=str)
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1.0, 1e150, 1e300])
def test_the_solution_scales(shape, scale):
    """Squares of such numbers are beyond the range of numbers."""
    rng = np.random.default_rng(4)
    A, b = rng.normal(size=shape), rng.normal(size=shape[0])
    x, rank = solved(scale * A, b)
    assert rank == 5
    # not 1/scale: that of 1e-300 is fine, but the product with x may not be
    np.testing.assert_allclose(x * scale, np.linalg.lstsq(A, b, rcond=1e-9)[0], rtol=1e-12)


def test_columns_of_very_different_size():
    """The exact solution is known; the condition number is 2e9."""
    rng = np.random.default_rng(5)
    A, sizes, x = rng.integers(-9, 9, (8, 5)).astype(float), 2.0 ** np.array([0, -9, 5, -20, 8]), np.arange(1.0, 6.0)
    found, rank = solved(A * sizes, A @ x, 1e-12)
    assert rank == 5
    np.testing.assert_allclose(found * sizes, x, rtol=1e-12)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3)], ids=str)
def test_zero_and_tiny_entries(shape):
    assert np.array_equal(solved(np.zeros(shape), np.ones(shape[0]))[0], np.zeros(shape[1]))
    A = np.zeros(shape)
    A[1, 2] = 5e-324
    x, rank = solved(A, np.zeros(shape[0]))
    assert rank == 1
    assert np.array_equal(x, np.zeros(shape[1]))
    # beside one number all others vanish, squares and products too
    A = np.full(shape, 1e-200)
    A[0, 0] = 2.0
    x, rank = solved(A, np.ones(shape[0]))
    assert rank == 1
    np.testing.assert_allclose(x, np.eye(shape[1])[0] / 2, atol=1e-15)


def test_least_squares_twice_is_the_same():
    rng = np.random.default_rng(6)
    A, b = rng.normal(size=(12, 9)), rng.normal(size=12)
    assert solved(A, b)[0].tobytes() == solved(A, b)[0].tobytes()


# ---- the same method in NumPy


def rows_of(model, q, t, inputs):
    """Return residuals, and J from the rates at unit speeds."""
    rest = dynamics.constraint_values(model, lg.State(q, np.zeros(model.nv), t, np.zeros(model.nx)), inputs)
    units = (lg.State(q, e, t, np.zeros(model.nx)) for e in np.eye(model.nv))
    columns = [dynamics.constraint_values(model, unit, inputs).rate - rest.rate for unit in units]
    return rest.residual, np.stack(columns, axis=1)


BETA = 100.0


def nearest(model, state, keep, inputs):
    """Return q, what is left of the residuals there, and how often a step was halved: LAPACK's least squares."""
    weights = np.where(model.lock(*keep).locked, 0.0, 1.0)
    for i in range(len(model.bodies)):
        place = model.modal_slice(i, at.EV)
        if place.stop > place.start:
            body = model.body(i)
            weights[place] = (1.0 + BETA * np.diag(body.K) / np.diag(body.M_e)) ** -0.5
    q, size, halved = state.q, np.inf, 0
    for _ in range(100):
        lacking, J = rows_of(model, q, state.t, inputs)
        size = np.abs(lacking).max()
        if size <= 1e-12:
            break
        step = -weights * (np.linalg.lstsq(J * weights, lacking, rcond=1e-9)[0])
        step *= min(1.0, 0.5 / np.abs(step).max())
        for _ in range(12):
            there = model.group.retract(q, step)
            if np.abs(rows_of(model, there, state.t, inputs)[0]).max() < size:
                break
            step, halved = 0.5 * step, halved + 1
        else:
            break
        q = there
    return q, size, halved


def reference(model, state, keep=(), inputs=None):
    """Return q, v and how often a step was halved; speeds by a dense projection."""
    q, size, halved = nearest(model, state, keep, inputs)
    assert size < 1e-9
    kept = model.lock(*keep)
    here = lg.State(q, state.v, state.t, state.x)
    J = rows_of(model, q, state.t, inputs)[1]
    inverse = np.stack([dynamics.solve(kept, here, e, beta=BETA) for e in np.eye(model.nv)], axis=1)
    rate = dynamics.constraint_values(model, here, inputs).rate
    held = inverse @ J.T
    return q, state.v - held @ np.linalg.lstsq(J @ held, rate, rcond=1e-11)[0], halved


def disturbed(model, state, seed, size):
    rng = np.random.default_rng(seed)
    shift = size * rng.normal(size=model.nv)
    for i in range(len(model.bodies)):
        shift[model.modal_slice(i, at.EV)] *= 1e-3
    v = state.v + 0.3 * rng.normal(size=model.nv)
    return lg.State(model.group.retract(state.q, shift), v, state.t, state.x, model)


def compare(model, start, keep=(), inputs=None, tolerance=1e-9):
    q, v, halved = reference(model, start, keep, inputs)
    found = lg.assemble(model, start, keep=keep, inputs=inputs)
    assert np.abs(found.q - start.q).max() > 1e-6
    np.testing.assert_allclose(found.q, q, rtol=0, atol=tolerance)
    np.testing.assert_allclose(found.v, v, rtol=0, atol=10 * tolerance * max(1.0, np.abs(v).max()))
    values = dynamics.constraint_values(model, found, inputs)
    assert np.abs(values.residual).max() < 1e-9
    assert np.abs(values.rate).max() < 1e-9 * max(1.0, np.abs(found.v).max())
    return halved


# The hexagon of Bricard's mechanism has a singular value that vanishes on the loop: round-off of φ is divided by it.
LOOPS = {
    "andrews_squeezer": 1e-9,
    "bricard": 1e-6,
    "crane": 1e-9,
    "flexible_ring": 1e-9,
    "fls13_slider_crank": 1e-9,
    "fls13_spin_up": 1e-9,
    "m01_platform": 1e-9,
    "scissor_mast": 1e-9,
    "sy16_four_bar": 1e-9,
}
# By how much joints are moved at first; a mast of a hundred scissors cannot be closed again after larger changes.
SIZES = {"scissor_mast": (0.01,)}


def test_every_model_with_loops_is_compared():
    assert {name for name, path in shipped.paths().items() if load(path).compile().rows} == set(LOOPS)


@pytest.mark.slow
@pytest.mark.parametrize("name", LOOPS)
def test_shipped_models_are_assembled_as_by_numpy(name):
    mechanism = load(shipped.find(name))
    model, state = mechanism.compile(), mechanism.state()
    for seed, size in enumerate(SIZES.get(name, (0.01, 0.1, 0.3))):
        compare(model, disturbed(model, state, seed, size), tolerance=LOOPS[name])


def test_steps_that_overshoot_are_halved_as_by_numpy():
    model = four_bar()
    closed = lg.assemble(model, model.state(q=GUESS))
    assert compare(model, disturbed(model, closed, 6, 1.2)) > 0
    windows, upright = ladder(2)
    assert compare(windows, disturbed(windows, upright, 9, 1.2)) > 5


@pytest.mark.parametrize("make", [lambda: ladder(10), bricard], ids=["ten four-bars", "bricard"])
def test_redundant_loops_are_assembled_as_by_numpy(make):
    model, state = make()
    for seed, size in enumerate((0.01, 0.05)):
        compare(model, disturbed(model, state, seed, size), tolerance=1e-9 if len(model.rows) > 5 else 1e-6)


@pytest.mark.kernels
@pytest.mark.parametrize("keep", [(), ("crank",), ("rocker",)], ids=str)
def test_a_four_bar_is_assembled_as_by_numpy(keep):
    model = four_bar()
    compare(model, model.state(q=GUESS, v={"crank": 2.0, "knee": -0.4}), keep)


# ---- what drives the motion


def test_a_drive_of_the_whole_model_serves_where_joints_are_kept():
    """As FMUs call it: laws are taken at the time of the state, and what is kept has the same bits."""
    cut = lm.Revolute(name="cut", parent="b", child="c", at="end", child_at="end")
    law = lm.Motion(name="drive", joint="knee", law=lambda t: (-1.0 - 0.5 * t, -0.5, 0.0))
    crossed = [
        lm.Revolute(name="crank", parent="world", child="a"),
        lm.Revolute(name="knee", parent="a", child="b", at="end"),
        lm.Planar(name="rocker", parent="world", child="c"),
    ]
    tree = lm.Tree([rod("a", 1.0), rod("b", 2.0), rod("c", 1.5)], crossed, loops=[cut, law], name="driven")
    model = tree.compile()
    start = model.state(q={"crank": 1.1, "knee": -0.7, "rocker": [1.0, 2.1, 0.2]}, v={"crank": 0.7}, t=0.4)
    drive = Drive(model)
    before = drive.system.ints.copy()
    found = lg.assemble(model, start, keep=["crank"], inputs=drive)
    assert np.array_equal(drive.system.ints, before)
    assert found["crank.angle"] == 1.1
    assert found["crank.speed"] == 0.7
    assert found["knee.angle"] == pytest.approx(-1.2, abs=1e-12)
    assert found["knee.speed"] == pytest.approx(-0.5, abs=1e-12)
    free = lg.assemble(model, start, inputs=drive)
    assert abs(free["crank.angle"] - 1.1) > 1e-3
    assert np.array_equal(lg.assemble(model, start, inputs={}).q, free.q)
    compare(model, start, ["crank"])


def test_first_order_states_stay():
    motor = lm.Actuator(name="motor", joint="crank", lag=0.1)
    model = four_bar(forces=[motor])
    start = model.state(q=GUESS, v={"crank": 1.0}, x={"motor": 0.3})
    found = lg.assemble(model, start)
    assert found.x.tolist() == [0.3]
    plain = lg.assemble(four_bar(), four_bar().state(q=GUESS, v={"crank": 1.0}))
    np.testing.assert_allclose(found.q, plain.q, atol=1e-14)
    np.testing.assert_allclose(found.v, plain.v, atol=1e-13)


def test_a_failing_input_is_raised_as_it_is():
    model = four_bar(loops=[lm.Motion(name="drive", joint="crank")])

    def wrong(t):
        raise ZeroDivisionError("no law here")

    with pytest.raises(ZeroDivisionError, match="no law here"):
        lg.assemble(model, inputs={"drive": wrong})


def test_the_state_of_another_model_is_refused():
    model = four_bar()
    with pytest.raises(lg.errors.InputError, match="assemble: the state has coordinates of shape"):
        lg.assemble(model, lg.State(np.zeros(7), np.zeros(7)))


# ---- the kernel itself


def called(model, start, filling=np.nan, keep=()):
    """Return status, y and what is lacking, with scratch of the size that is declared, full of `filling`."""
    system = Drive(model.lock(*keep)).system
    size = kernels.scratch_size(model.ints)
    scratch = np.append(np.full(size, filling), np.full(16, FENCE))
    work = np.append(np.full(system.work, filling), np.full(16, FENCE))
    y, lacking = start.y, np.full(len(model.rows), filling)
    weights = np.where(model.lock(*keep).locked, 0.0, 1.0)
    code = kernels.assemble(
        *(system.ints, system.floats, system.state_group.layout, start.t, y, weights),
        *(work[: system.work], scratch[:size], lacking),
    )
    assert (scratch[size:] == FENCE).all()
    assert (work[system.work :] == FENCE).all()
    return code, y, lacking


def test_scratch_is_large_enough_and_not_remembered():
    tall, (wide, there) = four_bar(), ladder(3)
    assert len(tall.rows) > tall.nv
    flat = four_bar(loops=[lm.Distance(name="rope", a="a.end", b="c.end", length=2.0)])
    assert len(flat.rows) < flat.nv
    for model, start in (
        (tall, tall.state(q=GUESS)),
        (flat, flat.state(q=GUESS)),
        (wide, disturbed(wide, there, 0, 0.02)),
    ):
        results = [called(model, start, filling) for filling in (np.nan, 1.7e5)]
        assert results[0][0] == results[1][0] == 0
        assert results[0][1].tobytes() == results[1][1].tobytes()
        np.testing.assert_array_equal(results[0][1], lg.assemble(model, start).y)


def test_statuses_and_what_they_leave():
    model = four_bar()
    far, fast = model.state(q={"crank": 3.0}), lg.assemble(model, model.state(q=GUESS))
    code, y, lacking = called(model, far, keep=["crank", "knee"])
    assert code == status.LOOPS_OPEN
    here = model.unpack(y)
    assert here.q[:2].tolist() == [3.0, 0.0]
    np.testing.assert_allclose(lacking, dynamics.constraint_values(model, here).residual, atol=1e-14)
    code, y, lacking = called(model, lg.State(fast.q, np.array([1.0, 5.0, 0.0])), keep=["crank", "knee"])
    assert code == status.SPEEDS_DISOBEY
    here = model.unpack(y)
    np.testing.assert_allclose(lacking, dynamics.constraint_values(model, here).rate, atol=1e-13)
    pole = four_bar(loops=[lm.Custom(name="pole", function=lambda model, state: np.array([np.inf]))])
    assert called(pole, pole.state(q=GUESS))[0] == status.LOOPS_TOO_LARGE


def test_what_cannot_be_closed_ends_where_numpy_ends():
    """Where no share of a step makes the residuals smaller, which is before the largest number of steps."""
    model = four_bar()
    start = disturbed(model, model.state(q=GUESS), 8, 1.0)
    q, size, _ = nearest(model, start, (), None)
    code, y, lacking = called(model, start)
    assert code == status.LOOPS_OPEN
    assert np.abs(lacking).max() == pytest.approx(size)
    np.testing.assert_allclose(model.unpack(y).q, q, atol=1e-9)


# ---- the Jacobian


@pytest.mark.kernels
def test_the_jacobian_gives_the_rates():
    """Of modes too, whatever laws, gravity and speeds are: they are no part of it."""
    model = four_bar(loops=[*four_bar().tree.loops, lm.Motion(name="drive", joint="crank", law=lambda t: (0, 1, 1e9))])
    state = model.state(q=GUESS, v={"crank": 3.0})
    np.testing.assert_allclose(
        dynamics.constraint_jacobian(model, state), rows_of(model, state.q, 0.0, None)[1], atol=1e-13
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["flexible_ring", "fls13_slider_crank", "crane"])
def test_the_jacobian_of_flexible_models_gives_the_rates(name):
    mechanism = load(shipped.find(name))
    model = mechanism.compile()
    state = disturbed(model, mechanism.state(), 0, 0.1)
    J = rows_of(model, state.q, state.t, None)[1]
    np.testing.assert_allclose(dynamics.constraint_jacobian(model, state), J, atol=1e-12 * np.abs(J).max())
