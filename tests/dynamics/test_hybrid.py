"""Hybrid dynamics: some accelerations given, the rest free; beside dense partitions and prescribed motions."""

from __future__ import annotations

import numpy as np
import pytest
import trees

import liegeo as lg
from liegeo import dynamics
from liegeo import model as lm
from liegeo.errors import InputError


@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_partition_of_the_equations_of_motion(seed):
    """M a + bias = τ + f, f only at the given speeds: dense, with the mass matrix by composite bodies."""
    rng = np.random.default_rng(seed)
    bodies = trees.describe(rng, 6, n_modes=3, flexible=0.5)
    model = trees.build(bodies).compile()
    state = model.state(q=np.array(model.group.random(rng=rng)), v=0.3 * rng.normal(size=model.nv))
    moving = [name for name in model.joints if name in model.group.v]
    chosen = {name: rng.normal(size=model.group.v[name].stop - model.group.v[name].start) for name in moving[::2]}
    tau = rng.normal(size=model.nv)
    found = dynamics.hybrid_dynamics(model, state, chosen, tau)
    given = np.zeros(model.nv, bool)
    a = np.zeros(model.nv)
    for name, value in chosen.items():
        given[model.group.v[name]], a[model.group.v[name]] = True, value
    M, bias = lg.mass_matrix(model, state), lg.inverse_dynamics(model, state)
    free = ~given
    a[free] = np.linalg.solve(M[np.ix_(free, free)], (tau - bias - M @ a)[free])
    assert np.allclose(found.a, a, rtol=1e-9, atol=1e-9)
    assert np.allclose(found.forces, np.where(given, M @ a + bias - tau, 0.0), rtol=1e-8, atol=1e-8)


def test_in_a_loop_it_is_a_prescribed_motion():
    """A four-bar whose crank has an acceleration: as with a Motion of this acceleration, and its force."""
    bars = [
        lm.Body(name, mass=1.0, com=(0.5 * l, 0, 0), inertia=(0.01, 0.05, 0.05))
        for name, l in (("crank", 0.3), ("rod", 0.9), ("rocker", 0.6))
    ]
    joints = [
        lm.Revolute(name="a", parent="world", child="crank", axis=(0, 1, 0)),
        lm.Revolute(name="b", parent="crank", child="rod", at=(0.3, 0, 0), axis=(0, 1, 0)),
        lm.Revolute(name="c", parent="world", child="rocker", at=(1.0, 0, 0), axis=(0, 1, 0), damping=0.2),
    ]
    cut = lm.Revolute(name="d", parent="rod", child="rocker", at=(0.9, 0, 0), child_at=(0.6, 0, 0), axis=(0, 1, 0))
    free = lm.Tree(bars, joints, loops=[cut]).compile()
    state = lg.assemble(free, free.state(q={"a": -1.0, "b": 0.5, "c": -2.0}, v={"a": 1.5}), keep=["a"])
    found = dynamics.hybrid_dynamics(free, state, {"a": 4.0})
    turn = lm.Motion(name="turn", joint="a", law=lambda t: (state.q[0] + 1.5 * t + 2.0 * t * t, 1.5 + 4.0 * t, 4.0))
    driven = lm.Tree(bars, joints, loops=[cut, turn]).compile()
    assert np.allclose(found.a, lg.forward_dynamics(driven, state), atol=1e-9)
    assert np.isclose(found.forces[0], dynamics.loop_forces(driven, state)["turn"][0], rtol=1e-9)
    assert not found.forces[1:].any()


def test_without_accelerations_it_is_forward_dynamics_with_locks():
    rng = np.random.default_rng(3)
    model = trees.build(trees.describe(rng, 4)).compile()
    state = model.state(q=np.array(model.group.random(rng=rng)), v=rng.normal(size=model.nv))
    found = dynamics.hybrid_dynamics(model, state)
    assert np.allclose(found.a, lg.forward_dynamics(model, state), atol=1e-9)
    assert not found.forces.any()
    held = model.lock(next(name for name in model.joints if name in model.group.v))
    still = held.state(q=state.q, v=np.where(held.locked, 0.0, state.v))
    found = dynamics.hybrid_dynamics(held, still)
    assert np.allclose(found.a, lg.forward_dynamics(held, still), atol=1e-9)
    assert np.allclose(found.forces, dynamics.lock_forces(held, still), atol=1e-9)


def test_what_does_not_move_has_no_acceleration():
    body = lm.Body("b", mass=1.0, inertia=(1, 1, 1))
    model = lm.Tree([body], [lm.Revolute(name="hinge", parent="world", child="b", axis=(0, 0, 1))]).compile()
    with pytest.raises(InputError, match=r"'hing' is not a joint that moves. Did you mean 'hinge'"):
        dynamics.hybrid_dynamics(model, model.state(), {"hing": 1.0})
    with pytest.raises(InputError, match=r"accelerations\['hinge'\] has shape \(2,\), expected \(1,\)"):
        dynamics.hybrid_dynamics(model, model.state(), {"hinge": [1.0, 2.0]})
