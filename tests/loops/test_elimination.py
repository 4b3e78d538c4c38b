"""Loops eliminated where they close (kernels/elimination.py) against dense equations, on random graphs."""

from __future__ import annotations

from dataclasses import replace

import closed
import layout_models
import mechanisms
import numpy as np
import pytest
import trees

import liegeo as lg
from liegeo import dynamics, integrate, motion
from liegeo import model as lm
from liegeo.kernels import layout as at
from liegeo.kernels import loops as kernels
from liegeo.kernels.elimination_table import sizes_of
from liegeo.model import elimination_plan

KINDS = ("Revolute", "Spherical", "Universal", "Cylindrical", "Prismatic", "Planar", "Fixed")


@pytest.fixture
def always(monkeypatch):
    """Loops are eliminated one by one, however few there are."""
    monkeypatch.setattr(elimination_plan, "FROM_ROWS", 1)
    monkeypatch.setattr(elimination_plan, "_WORTH", np.inf)


@pytest.fixture
def never(monkeypatch):
    """All rows are solved together, however many there are."""
    monkeypatch.setattr(elimination_plan, "FROM_ROWS", 10**9)


def graph(seed, n_bodies, n_loops, *, reach, flexible=0.0, grounded=0.2, twice=0.1):
    """A random model with loops that are closed in the state that comes with it, some of them said twice."""
    joints = tuple(name for name in trees.DRAWN if name not in ("Fixed", "Free"))
    rng, bodies, model, state = closed.random_tree(seed, n_bodies, flexible=flexible, joints=joints, reach=reach)
    loops = []
    for k in range(n_loops):
        j = int(rng.integers(1, n_bodies))
        i = -1 if rng.random() < grounded else int(rng.integers(max(0, j - reach), j))
        kind = str(rng.choice(KINDS)) if rng.random() < 0.5 else "Spherical"
        if rng.random() < 0.3:
            a, b, X = closed.frames(rng, bodies, model, state, i, j)
            loops.append(lm.Distance(name=f"rod {k}", a=a, b=b, length=float(np.linalg.norm(X[:3, 3]))))
        else:
            loops.append(closed.cut(rng, bodies, model, state, kind, i, j, f"cut {k}"))
    loops += [replace(loop, name=f"{loop.name} again") for loop in loops if rng.random() < twice]
    model = closed.with_loops(bodies, loops)
    return model, closed.on_constraints(model, lm.State(state.q, state.v))


def dense(model, state, tau):
    """Accelerations, Jᵀλ, the condition of J M⁻¹ Jᵀ as far as it has a rank, and that rank: by an SVD."""
    calc = model.calculator()
    M, J = calc.mass_matrix(state.q), calc.constraint_jacobian(state.q)
    free = tau - calc.inverse_dynamics(state.q, state.v)
    gamma = calc.constraint_values(state.q, state.v, None, np.zeros(model.nv)).acceleration
    G = np.linalg.cholesky(M)
    half = np.linalg.solve(G, J.T)
    size = np.linalg.norm(half, axis=0)
    size[size < 1e-9 * size.max()] = np.inf
    U, s, V = np.linalg.svd((half / size).T, full_matrices=False)
    rank = int((s > 1e-7 * s[0]).sum())
    assert rank == len(s) or s[rank] < 1e-10 * s[0], "the graph is too near to a singular position to say its rank"
    b = -(gamma + J @ np.linalg.solve(M, free)) / size
    push = V[:rank].T @ (U[:, :rank].T @ b / s[:rank])
    forces = G @ push
    return np.linalg.solve(M, free + forces), forces, (s[0] / s[rank - 1]) ** 2, rank


GRAPHS = [
    (1, 50, 10, {"reach": 3}),
    (2, 50, 30, {"reach": 12, "grounded": 0.0}),
    (3, 80, 25, {"reach": 4, "flexible": 0.5}),
    (4, 120, 60, {"reach": 2, "grounded": 0.0}),
    (5, 150, 40, {"reach": 150, "grounded": 0.5}),
    pytest.param(6, 300, 150, {"reach": 6, "grounded": 0.02}, marks=pytest.mark.slow),
    pytest.param(7, 300, 100, {"reach": 3, "flexible": 0.3, "grounded": 0.0}, marks=pytest.mark.slow),
]


def relative(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


@pytest.mark.parametrize(("seed", "n_bodies", "n_loops", "options"), GRAPHS)
def test_random_graphs_against_a_dense_solve(always, seed, n_bodies, n_loops, options):
    model, state = graph(seed, n_bodies, n_loops, **options)
    assert model.ints[at.ELIMINATION] > 0
    tau = np.random.default_rng(seed).normal(size=model.nv)
    expected, forces, condition, rank = dense(model, state, tau)
    # round-off of both, with a factor of a thousand for the growth of sums of a thousand terms
    bound = max(1e-9, 1e3 * np.finfo(float).eps * condition)
    calc = model.calculator()
    a = calc.forward_dynamics(state.q, state.v, tau)
    assert relative(a, expected) < bound
    J = calc.constraint_jacobian(state.q)
    left_out = calc.redundant_rows(state.q, state.v)
    assert len(model.rows) - len(left_out) == rank
    calc.forward_dynamics(state.q, state.v, tau)
    found = calc.real.work[model.row_slice(at.LAMBDA)].copy()
    assert relative(J.T @ found, forces) < bound
    kernels.smallest_multipliers(model.ints, model.floats, calc.real.work)
    smallest = np.linalg.lstsq(J.T, forces, rcond=1e-9)[0]
    assert relative(calc.real.work[model.row_slice(at.LAMBDA)], smallest) < bound


def both(monkeypatch, make):
    """What a function makes with models that eliminate loops one by one, and with those that solve all together."""
    out = []
    for rows, worth in ((1, np.inf), (10**9, 0.0)):
        monkeypatch.setattr(elimination_plan, "FROM_ROWS", rows)
        monkeypatch.setattr(elimination_plan, "_WORTH", worth)
        out.append(make())
    assert out[0][0].ints[at.ELIMINATION] > 0
    assert out[1][0].ints[at.ELIMINATION] == 0
    return out


@pytest.mark.parametrize("flexible", [0.0, 0.6])
def test_everything_else_agrees_with_the_solution_all_together(monkeypatch, flexible):
    """Corrections to positions and speeds, saddle points of implicit steps, and derivatives by complex numbers."""
    found = []
    for model, state in both(monkeypatch, lambda: graph(8, 30, 12, reach=5, flexible=flexible)):
        I, F, W = model.ints, model.floats, model.workspace()
        rng, nv = np.random.default_rng(0), model.nv
        u = np.array(model.drive("tau", None, None, 0.0), float)
        dq, dv, out = np.zeros((3, nv))
        q = model.group.retract(state.q, 1e-6 * rng.normal(size=nv))
        J = dynamics.constraint_jacobian(model, state)
        assert kernels.closing(I, F, q, state.v + 1e-3 * rng.normal(size=nv), u, 0.1, W, dq, dv) == 0
        B, x = model.workspace(), rng.normal(size=nv)
        # right-hand sides that redundant rows can obey
        W[model.row_slice(at.PHI)], W[model.row_slice(at.RATE)] = J @ rng.normal(size=nv), J @ rng.normal(size=nv)
        W[model.row_slice(at.LAMBDA)] = 0.0
        assert kernels.factorise(I, F, state.q, 0.3, 0.2, B) == 0
        assert kernels.correct(I, F, x, 0.5, 2.0, 2.0, 1.0, W, B, out) == 0
        # those of the other kinds of multipliers differ where rows are redundant: what they do is the same
        forces = J.T @ W[model.row_slice(at.LAMBDA)]
        calc = model.calculator()
        slope = calc.forward_dynamics(state.q + 0j, state.v + 1e-20j * J[0], x).imag / 1e-20
        found.append((dq, dv, out.copy(), forces, slope))
    # where positions are off by 1e-6 redundant rows say another thing, by a share of that, than those that are kept
    for ours, theirs, bound in zip(*found, (1e-5, 1e-5, 1e-9, 1e-9, 1e-9), strict=True):
        assert relative(ours, theirs) < bound


def test_constraints_of_every_kind_agree_with_the_solution_all_together(monkeypatch):
    """Cuts, rods, points, rolling, a coupling, a prescribed motion and a user's own, on rigid and flexible bodies."""
    found = []
    for (model,) in both(monkeypatch, lambda: (layout_models.looped(),)):
        I, F, B, W = model.ints, model.floats, model.workspace(), model.workspace()
        rng, out = np.random.default_rng(0), np.zeros(model.nv)
        state = model.state(model.group.exp(0.4 * rng.normal(size=model.nv)))
        J, r = dynamics.constraint_jacobian(model, state), rng.normal(size=model.nv)
        b = J @ rng.normal(size=model.nv)
        W[model.row_slice(at.PHI)] = W[model.row_slice(at.RATE)] = b
        W[model.row_slice(at.LAMBDA)] = 0.0
        assert kernels.factorise(I, F, state.q, 0.2, 0.1, B) == 0
        assert kernels.correct(I, F, r, 1.0, 0.0, 1.0, 1.0, W, B, out) == 0
        # nine of its rows are redundant
        assert np.abs(J @ out - b).max() < 1e-12 * np.abs(b).max() * len(b)
        found.append((out, J.T @ W[model.row_slice(at.LAMBDA)]))
    for ours, theirs in zip(*found, strict=True):
        assert relative(ours, theirs) < 1e-11


@pytest.mark.parametrize("method", [integrate.RKMK4, integrate.generalised_alpha(), integrate.index_3_alpha()])
def test_steps_of_a_ladder_agree_with_the_solution_all_together(monkeypatch, method):
    ends = []
    for model, state in both(monkeypatch, lambda: mechanisms.ladder(7)):
        problem = integrate.Problem.of(motion.system(model), state.q, state.v, 0.1)
        ends.append(integrate.solve(problem, method, 100).y[-1])
    assert relative(*ends) < 1e-9


def test_locked_joints_and_motions_and_couplings(monkeypatch):
    """Joints that are locked at run time, and rows on speeds, which close at the bodies that carry the joints."""

    def make():
        model, state = mechanisms.ladder(6)
        more = [
            lm.Motion(name="turn", joint="foot2", law=lambda t: (np.pi / 2 - t, -1.0, 0.3)),
            lm.Coupling(name="pair", terms={"top0": 1.0, "top4": -1.0}),
        ]
        loops = [loop for loop in model.tree.loops if loop.name != "loop3"]
        return replace(model.tree, loops=loops + more).compile(), state

    found = []
    for model, state in both(monkeypatch, make):
        plain = dynamics.forward_dynamics(model, state)
        values = dynamics.constraint_values(model, state, None, plain)
        assert np.abs(values.acceleration).max() < 1e-9
        locked = dynamics.forward_dynamics(model.lock("foot5"), state)
        assert locked[model.lock("foot5").locked].tolist() == [0.0]
        forces = list(dynamics.loop_forces(model, state).values())
        found.append((plain, locked, np.concatenate(forces)))
    for ours, theirs in zip(*found, strict=True):
        assert relative(ours, theirs) < 1e-9


def test_assembly_from_far_away(always):
    """A row of windows that is bent and open by decimetres closes, with what is kept where it was."""
    model, state = mechanisms.ladder(30)
    rng = np.random.default_rng(3)
    rough = lm.State(state.q + 0.1 * rng.normal(size=model.nq), state.v + 0.1 * rng.normal(size=model.nv))
    closed_again = lg.assemble(model, rough, keep=["foot0"])
    values = dynamics.constraint_values(model, closed_again)
    assert np.abs(values.residual).max() < 1e-9
    assert np.abs(values.rate).max() < 1e-8
    assert closed_again.q[0] == rough.q[0]


def test_small_models_are_solved_all_together():
    """Below so many rows nothing of a model changes, and beyond it only where that saves work."""
    assert mechanisms.ladder(4)[0].ints[at.ELIMINATION] == 0
    assert mechanisms.ladder(5)[0].ints[at.ELIMINATION] > 0
    # thirty rows about the same bodies, which all see each other
    rng, bodies, model, state = closed.random_tree(3, 4, flexible=0.0)
    cuts = [closed.cut(rng, bodies, model, state, "Spherical", -1, 3, f"cut {k}") for k in range(10)]
    assert closed.with_loops(bodies, cuts).ints[at.ELIMINATION] == 0


def test_what_a_plan_needs_grows_as_the_number_of_loops():
    """Of a row of windows, and of a chain of scissors, whose loops close at the bodies of the chain."""
    sizes = [sizes_of(mechanisms.ladder(n)[0].ints) for n in (20, 40, 80)]
    (a, b), (c, d) = np.diff(sizes, axis=0)
    assert (c, d) == (2 * a, 2 * b)
