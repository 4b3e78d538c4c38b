"""Several threads simulate one model at once: the loop over steps releases the GIL, so they really do."""

from __future__ import annotations

import ctypes
import threading

import numpy as np
import pytest

import liegeo as lg
from liegeo import model as lm
from liegeo._jit import DRIVE_FUNCTION
from liegeo.io.expressions import function_of_time, parse
from liegeo.io.signals import Signal
from liegeo.io.units import NUMBER
from liegeo.model.model import State
from models import crane


def coupled_crane(function):
    """A crane with a constraint of one's own, which the kernels ask through Python."""
    tree = crane().tree
    return lg.Tree(tree.bodies, tree.joints, loops=[lm.Custom(name="own", function=function)]).compile()


def opposite(model, state):
    return np.array([state.q[0] + state.q[1]])


CASES = {
    "fixed step": (crane, {"method": "rkmk-4", "step": 1e-3}),
    "adaptive": (crane, {"method": "rkmk-54"}),
    "inputs by functions": (
        crane,
        {
            "method": "rkmk-54",
            "inputs": {"luff": lambda t: 3.0 * np.sin(t), "motor": lambda t, state: -state.v[0]},
        },
    ),
    "inputs by expressions": (
        crane,
        {"method": "rkmk-54", "inputs": {"luff": Signal([function_of_time(parse("$(3 * sin(t))"), {}.get, NUMBER)])}},
    ),
    "a constraint by a function": (lambda: coupled_crane(opposite), {"method": "rkmk-4", "step": 5e-3}),
}


@pytest.mark.parametrize(("make", "options"), CASES.values(), ids=CASES)
def test_threads_that_share_a_model_find_the_same_bits_as_one(make, options):
    model, starts = make(), (0.2, 0.3, 0.4)

    def run(start):
        q = np.zeros(model.nq)
        q[:2] = start, -start
        return lg.simulate(model, State(q, np.zeros(model.nv)), 0.5, progress=False, **options)

    alone = {start: run(start) for start in starts}
    together, at_once = {}, threading.Barrier(len(starts))

    def wait_and_run(start):
        at_once.wait()
        together[start] = run(start)

    threads = [threading.Thread(target=wait_and_run, args=(start,)) for start in starts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together.keys() == alone.keys()
    for start in starts:
        for name in ("t", "q", "v"):
            assert getattr(together[start], name).tobytes() == getattr(alone[start], name).tobytes()
    assert alone[0.2].q.tobytes() != alone[0.3].q.tobytes()


def test_what_a_constraint_raises_reaches_the_thread_that_asked():
    def wrong(model, state):
        raise ZeroDivisionError("of this thread")

    (rows,) = coupled_crane(opposite).custom
    pointer = np.zeros(99).ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    object.__setattr__(rows._constraint, "function", wrong)
    caught = []

    def ask():
        assert DRIVE_FUNCTION(rows.address)(0.0, pointer, pointer, pointer) == 1
        with pytest.raises(ZeroDivisionError) as error:
            rows.check()
        caught.append(error)

    assert DRIVE_FUNCTION(rows.address)(0.0, pointer, pointer, pointer) == 1
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert len(caught) == 1
    with pytest.raises(ZeroDivisionError, match="of this thread"):
        rows.check()
    rows.check()
