"""Functions of members, which worker processes import: they stand in a module, as studies ask for."""

from __future__ import annotations

import os
from pathlib import Path

import liegeo as lg
from liegeo.model import Revolute


def pendulum(length=1.0, mass=1.0):
    """Return a pendulum and its state."""
    body = lg.Body("bob", mass=mass, com=(0, 0, -length), inertia=(0.01, 0.01, 0.01))
    model = lg.Tree([body], [Revolute(name="pivot", parent="world", child="bob", axis=(0, 1, 0))]).compile()
    return model, model.state(q={"pivot": 0.5})


def deadly(length=1.0):
    """Return a pendulum, and end the process for one of them, every time."""
    if length == 3.0:
        os._exit(7)
    return pendulum(length)


def deadly_once(length=1.0):
    """Return a pendulum, and end the process the first time that one of them is asked for."""
    mark = Path(os.environ["LIEGEO_TEST_MARK"])
    if length == 3.0 and not mark.exists():
        mark.write_text("died")
        os._exit(7)
    return pendulum(length)


def wrong(length=1.0):
    """Return a pendulum, or raise an error of a user's own."""
    if length == 2.0:
        raise RuntimeError("no pendulum is two metres long")
    return pendulum(length)


def swing(result):
    """Return how far it swings: an output."""
    return float(result["pivot.angle"].max() - result["pivot.angle"].min())
