"""One advance for all methods: it ends where it is told to, in any number of pieces, and can be put back whole."""

import numpy as np
import pytest

import liegeo.integrate as li
from liegeo.errors import InputError
from liegeo.integrate import stepping
from tests.integrate import systems

# For any system with a potential, and none of them for linear equations alone.
METHODS = [m for m in li.METHODS.values() if "linear" not in m.properties]


def stepper_of(method):
    problem = systems.problem_of("slider")
    return li.Stepper(problem, method, step=0.013, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_pieces_of_any_length_give_the_same_bits(method):
    whole, parts = stepper_of(method), stepper_of(method)
    run, status = whole.advance(0.5, 10_000)
    assert status == stepping.FINISHED
    assert whole.t == run.t[-1] == 0.5
    pieces, status = [], stepping.FULL
    while status == stepping.FULL:
        piece, status = parts.advance(0.5, 1 + len(pieces) % 4)
        pieces.append(piece)
    assert np.concatenate([pieces[0].t[:1], *(piece.t[1:] for piece in pieces)]).tobytes() == run.t.tobytes()
    assert parts.y.tobytes() == whole.y.tobytes() == run.y[-1].tobytes()
    assert parts.steps == whole.steps == len(run.t) - 1


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_what_is_saved_is_all_there_is(method):
    first, other = stepper_of(method), stepper_of(method)
    first.advance(0.4, 7)
    saved = first.save()
    assert first.advance(0.4, 10_000)[1] == stepping.FINISHED
    other.load(saved)
    assert other.advance(0.4, 10_000)[1] == stepping.FINISHED
    assert other.y.tobytes() == first.y.tobytes()
    assert other.control.tobytes() == first.control.tobytes()


@pytest.mark.parametrize("method", [li.RKMK4, li.GeneralisedAlpha, li.DormandPrince54], ids=lambda m: m.name)
def test_stops_are_hit_exactly_and_steps_are_not_longer_than_asked_for(method):
    stepper = stepper_of(method)
    for stop in (0.02, 0.1, 0.1 + 1e-9, 0.37, 0.4):
        before = stepper.t
        piece, status = stepper.advance(stop)
        assert (status, stepper.t, piece.t[0], piece.t[-1]) == (stepping.FINISHED, stop, before, stop)
        if not method.adaptive:
            sizes = np.diff(piece.t)
            assert len(sizes) == np.ceil((stop - before) / 0.013)
            np.testing.assert_allclose(sizes, (stop - before) / len(sizes), rtol=1e-6)
    assert stepper.advance(stepper.t)[1] == stepping.FINISHED
    assert stepper.steps == stepper.control[stepping.STEPS]


def test_equal_steps_do_not_depend_on_how_stops_are_computed():
    """0.1 + 0.1 + … and k · 0.1 differ by round-off; steps are counted from where they began."""
    added, multiplied = (li.Stepper(systems.problem_of("slider"), li.RKMK4, step=0.05) for _ in range(2))
    t = 0.0
    for k in range(1, 30):
        t += 0.1
        assert added.reach(t, 64) == multiplied.reach(k * 0.1, 64) == stepping.FINISHED
        # what a master says the time is
        added.t, multiplied.t = t, k * 0.1
    assert t != 29 * 0.1
    assert added.y.tobytes() == multiplied.y.tobytes()


def test_what_cannot_be_is_said():
    problem = systems.problem_of("slider")
    with pytest.raises(InputError, match="rkmk-54 chooses its steps; call solve_adaptive"):
        li.solve(problem, li.DormandPrince54, 10)
    with pytest.raises(InputError, match="rkmk-4 makes steps of equal size; call solve"):
        li.solve_adaptive(problem, li.RKMK4)
    with pytest.raises(InputError, match="give Stepper a step="):
        li.Stepper(problem, li.RKMK4).advance(0.1)
    run = li.solve(problem, li.RKMK4, 10)
    with pytest.raises(InputError, match="its fields are not known"):
        run(0.5 * (run.t[0] + run.t[1]))
