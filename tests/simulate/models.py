"""Models that several tests simulate."""

from __future__ import annotations

import liegeo as lg
from liegeo import flex
from liegeo import model as lm


def pendulum(**joint):
    """A plane pendulum of 1 m: q = 0 points along x, gravity along −z, so that it swings about y."""
    bob = lg.Body("bob", mass=2.0, com=(1.0, 0, 0), inertia=(1e-3, 1e-3, 1e-3), frames={"tip": (1.0, 0, 0)})
    hinge = lm.Revolute(name="hinge", parent="world", child="bob", axis=(0, -1, 0), **joint)
    return lg.Tree([bob], [hinge], name="pendulum").compile()


def crane():
    """Rigid: a boom with a motor, and a load on two axes."""
    boom = lg.Body("boom", mass=4.0, com=(0.5, 0, 0), inertia=(0.01, 0.4, 0.4), frames={"tip": (1.0, 0, 0)})
    load = lg.Body("load", mass=2.0, com=(0, 0, -0.3), inertia=(0.1, 0.1, 0.02))
    joints = [
        lm.Revolute(name="luff", parent="world", child="boom", axis=(0, -1, 0)),
        lm.Universal(name="hook", parent="boom", child="load", at="tip"),
    ]
    motor = lm.Actuator(name="motor", joint="luff", gear=10.0)
    return lg.Tree([boom, load], joints, name="crane", forces=[motor]).compile()


def flexible_chain(n, n_elements=8):
    """Links of 0.5 m, 20 mm × 4 mm, that bend: hinges about y."""
    aluminium = flex.Material(E=70e9, rho=2700.0, nu=0.3)
    tip = str(n_elements)
    beam = flex.beam(0.5, flex.rectangle(0.02, 0.004), aluminium, n_elements)
    modes = flex.reduce(beam, interfaces=["0", tip], root="0", n_modes=2)
    links = [flex.flexible_body(modes, f"link{i}", nodes=[tip]) for i in range(n)]
    hinges = [
        lm.Revolute(
            name=f"hinge{i}",
            parent=f"link{i - 1}" if i else "world",
            child=f"link{i}",
            at=tip if i else None,
            child_at="0",
            axis=(0, 1, 0),
        )
        for i in range(n)
    ]
    return lm.Tree(links, hinges, name="chain").compile()
