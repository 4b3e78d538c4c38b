"""Models and trajectories for the tests of results: no integrator, every path is known in closed form."""

from __future__ import annotations

import itertools

import numpy as np
from dynamics import trees

import liegeo as lg
from liegeo import model as lm
from liegeo.results import Result, RunInfo

INFO = RunInfo(method="rkmk-54", steps=523, rejected=12, seconds=0.5)


def run(model, t, q, v, u=None, info=INFO):
    u = np.zeros((len(t), model.nv + model.nu)) if u is None else u
    return Result(model, t, q, v, u, info, np.zeros((len(t), model.nx)))


def pendulum(n=201, **more):
    """A point mass of 2 kg, 0.5 m from the origin, that turns about −y at 0.3 + 0.8 sin 2t rad."""
    bob = lg.Body("bob", mass=2.0, com=(0.5, 0, 0), frames={"tip": (0.5, 0, 0)})
    hinge = lm.Revolute(name="hinge", parent="world", child="bob", axis=(0, -1, 0))
    motor = lm.Actuator(name="motor", joint="hinge")
    model = lg.Tree([bob], [hinge], name="pendulum", forces=[motor]).compile()
    t = np.linspace(0.0, 2.0, n)
    angle, speed = 0.3 + 0.8 * np.sin(2 * t), 1.6 * np.cos(2 * t)
    u = np.stack([0.1 * t, np.sin(t)], axis=1)
    return run(model, t, angle[:, np.newaxis], speed[:, np.newaxis], u, **more)


def every_joint():
    """A tree with every kind of joint, flexible bodies, wheels and every kind of force element."""
    for seed in itertools.count():
        rng = np.random.default_rng(seed)
        bodies = trees.describe(rng, 16)
        if {body["joint"]["name"] for body in bodies} == set(trees.DRAWN) and any(b["n_modes"] for b in bodies):
            break
    trees.add_wheels(rng, bodies, 2)
    _, forces = trees.add_forces(rng, bodies)
    forces.append(lm.Actuator(name="motor", joint="j17"))
    return trees.build(bodies, forces=forces).compile()


def uniform(model, n, step, seed=0):
    """q(t) = q₀ exp(t ξ), along which the speeds are ξ, whatever the joints."""
    rng = np.random.default_rng(seed)
    q0 = model.group.random(rng=rng, extent=0.3)
    xi = 0.5 * rng.normal(size=model.nv)
    t = step * np.arange(n)
    q = model.group.retract(q0, t[:, np.newaxis] * xi)
    u = rng.normal(size=(n, model.nv + model.nu))
    return run(model, t, q, np.broadcast_to(xi, (n, model.nv)), u)
