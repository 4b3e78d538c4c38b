"""Modes of large models without their matrices: closed forms, the dense path, and what is left to it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import liegeo as lg
from liegeo import dynamics, flex
from liegeo import model as lm
from liegeo.analysis import equilibrium, large
from liegeo.analysis import modes as modes_module
from liegeo.analysis.modes import modes
from liegeo.io import shipped

G = 9.81
ALUMINIUM = flex.Material(E=7e10, rho=2700.0, nu=0.33)


@pytest.fixture
def no_matrices(monkeypatch):
    """No path may assemble what is dense."""

    def refuse(*_, **__):
        raise AssertionError("dense matrices are assembled")

    for where, name in ((modes_module, "linearise"), (dynamics, "mass_matrix"), (dynamics, "constraint_jacobian")):
        monkeypatch.setattr(where, name, refuse)


def both(monkeypatch, model, state, number, **options):
    """Modes by (4) of large.py, however small the model is, and by dense matrices."""
    monkeypatch.setattr(large, "LARGE", 0)
    monkeypatch.setattr(large, "FEW", 10.0)
    sparse = modes(model, state, number=number, **options)
    assert sparse._linear is None, "the dense path was taken"
    monkeypatch.setattr(large, "LARGE", 10**9)
    return sparse, modes(model, state, number=number, **options)


def agree(sparse, dense, close=1e-9):
    assert (sparse.rigid, len(sparse)) == (dense.rigid, len(dense))
    a, b = sparse.eigenvalues[sparse.rigid :], dense.eigenvalues[dense.rigid :]
    assert (np.abs(a - b) <= close * np.abs(b)).all()
    assert sparse.acceleration == pytest.approx(dense.acceleration, abs=1e-9)
    # shapes are the same but for a factor, or a turn among modes of one frequency
    M = dynamics.mass_matrix(sparse.model, sparse.state)
    first, second = (found.shapes for found in (sparse, dense))
    assert np.einsum("ik,ij,jk->k", first.conj(), M, first).real == pytest.approx(np.ones(len(sparse)), abs=1e-9)
    spanned = np.linalg.lstsq(second, first, rcond=None)[0]
    inside = slice(0, max(1, len(sparse) - 2))
    assert np.abs(second @ spanned - first)[:, inside].max() <= 1e-5 * np.abs(first).max()


# ---- closed forms


def line(n, k=2000.0, m=0.5, clamped=True, damping=0.0):
    """n equal masses in a row, with equal springs between them."""
    bodies = [lg.Body(f"m{i}", mass=m) for i in range(n)]
    joints = [
        lm.Prismatic(
            name=f"s{i}",
            parent="world" if i == 0 else f"m{i - 1}",
            child=f"m{i}",
            axis=(1, 0, 0),
            stiffness=k if i or clamped else 0.0,
            damping=damping * k if i or clamped else 0.0,
        )
        for i in range(n)
    ]
    return lg.Tree(bodies, joints, gravity=(0, 0, 0), name="line").compile()


@pytest.mark.parametrize("clamped", [True, False])
def test_a_row_of_equal_springs_and_masses(no_matrices, clamped):
    n, k, m = 700, 2000.0, 0.5
    found = modes(line(n, k, m, clamped), number=10)
    i = np.arange(1, 11)
    angle = (2 * i - 1) * np.pi / (2 * (2 * n + 1)) if clamped else i * np.pi / (2 * n)
    assert found.rigid == (0 if clamped else 1)
    assert found.eigenvalues[found.rigid :].imag == pytest.approx(2 * np.sqrt(k / m) * np.sin(angle), rel=1e-9)


@pytest.mark.parametrize("clamped", [True, False])
def test_a_row_with_dampers(no_matrices, clamped):
    """Dampers as the springs are: 2 ζ = β ω, and the slowest modes oscillate."""
    n, k, m, beta = 300, 2000.0, 0.5, 2e-3
    found = modes(line(n, k, m, clamped, beta), number=8)
    i = np.arange(1, 9)
    angle = (2 * i - 1) * np.pi / (2 * (2 * n + 1)) if clamped else i * np.pi / (2 * n)
    omega = 2 * np.sqrt(k / m) * np.sin(angle)
    assert np.abs(found.eigenvalues[found.rigid :]) == pytest.approx(omega, rel=1e-9)
    assert found.damping[found.rigid :] == pytest.approx(beta * omega / 2, rel=1e-7)
    undamped = modes(line(n, k, m, clamped, beta), number=8, kind="undamped")
    assert undamped.eigenvalues[undamped.rigid :].imag == pytest.approx(omega, rel=1e-9)
    assert not undamped.damping.any()


def test_a_hanging_chain_of_beads(no_matrices):
    """n beads on massless links: the zeros of Laguerre's polynomial L_n(ω² l/g) [Routh]; all stiffness is geometric."""
    n = 400
    length = 2.0 / n
    bodies = [lg.Body(f"b{i}", mass=0.01, com=(0, 0, -length)) for i in range(n)]
    joints = [
        lm.Revolute(
            name=f"j{i}", parent="world" if i == 0 else f"b{i - 1}", child=f"b{i}", axis=(0, 1, 0),
            at=(0, 0, -length if i else 0.0),
        )
        for i in range(n)
    ]  # fmt: skip
    found = modes(lg.Tree(bodies, joints, gravity=(0, 0, -G), name="chain").compile(), number=10)
    # Jacobi's matrix of the polynomials
    i = np.arange(n)
    zeros = np.linalg.eigvalsh(np.diag(2.0 * i + 1) + np.diag(i[1:], 1) + np.diag(i[1:], -1))[:10]
    assert found.rigid == 0
    assert found.acceleration == 0.0
    assert found.eigenvalues.imag**2 == pytest.approx(zeros * G / length, rel=1e-8)


def test_a_soft_spring_beside_stiff_ones_and_bodies_without_mass(no_matrices):
    """The row on a soft spring: ω² = k/(n m) beside the free row's; carts without mass carry the masses across."""
    n, k, m, soft = 300, 2e7, 0.5, 1e-4
    tree = line(n, k, m).tree
    first, *others = tree.joints
    found = modes(
        dataclasses.replace(tree, joints=[dataclasses.replace(first, stiffness=soft), *others]).compile(), number=5
    )
    free = 2 * np.sqrt(k / m) * np.sin(np.arange(1, 5) * np.pi / (2 * n))
    assert found.rigid == 0
    assert found.eigenvalues.imag == pytest.approx([np.sqrt(soft / (n * m)), *free], rel=1e-9)
    bodies, joints = [], []
    for i in range(200):
        bodies += [lg.Body(f"cart{i}", mass=0.0), lg.Body(f"m{i}", mass=m)]
        parent = "world" if i == 0 else f"m{i - 1}"
        joints += [
            lm.Prismatic(name=f"x{i}", parent=parent, child=f"cart{i}", axis=(1, 0, 0), stiffness=k),
            lm.Prismatic(name=f"y{i}", parent=f"cart{i}", child=f"m{i}", axis=(0, 1, 0), stiffness=2.0 * k),
        ]
    found = modes(lg.Tree(bodies, joints, gravity=(0, 0, 0)).compile(), number=6)
    angle = (2 * np.arange(1, 6) - 1) * np.pi / (2 * 401)
    both_ways = np.sort(np.concatenate([2 * np.sqrt(c * k / m) * np.sin(angle) for c in (1, 2)]))[:6]
    assert found.eigenvalues.imag == pytest.approx(both_ways, rel=1e-9)


def test_a_ladder_of_many_loops(monkeypatch):
    """Two chains on ball joints with a rod on each rung, against the dense path; 50 rows of constraints."""
    bodies, joints = [], []
    for r in range(2):
        for i in range(50):
            bodies.append(lg.Body(f"b{r}_{i}", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1)))
            joints.append(
                lm.Spherical(
                    name=f"j{r}_{i}", parent=f"b{r}_{i - 1}" if i else "world", child=f"b{r}_{i}",
                    at=(1.0, 0, 0) if i else (0, 0, float(r)), stiffness=(1e3, 2e3, 3e3),
                )
            )  # fmt: skip
    rods = [
        lm.Distance(name=f"d{i}", a=(f"b0_{i}", (1, 0, 0)), b=(f"b1_{i}", (1, 0, 0)), length=1.0) for i in range(50)
    ]
    model = lg.Tree(bodies, joints, loops=rods, gravity=(0, 0, 0)).compile()
    found = modes(model, number=6)
    assert found._linear is None
    monkeypatch.setattr(large, "LARGE", 10**9)
    agree(found, modes(model, number=6))


# ---- the dense path


def random_tree(seed, n=9, flexible=True, fixed=True):
    """Bodies on joints of all kinds, with springs, bushings and weights."""
    rng = np.random.default_rng(seed)
    fe = flex.beam(0.8, flex.rectangle(0.03, 0.01), ALUMINIUM, n_elements=4)
    beam = flex.reduce(fe, ["4"], n_modes=3, root="0")
    free_beam = flex.reduce(fe, ["0", "4"], "free-interface", n_modes=5)
    kinds = [lm.Revolute, lm.Prismatic, lm.Spherical, lm.Universal, lm.Cylindrical, lm.Planar, lm.Helical]
    bodies, joints, forces = [], [], []
    for i in range(n):
        name = f"b{i}"
        if flexible and i % 3 == 1:
            bodies.append(
                flex.flexible_body(free_beam if i % 2 else beam, name, ["0", "4"] if i % 2 else ["4"], damping=0.01)
            )
        else:
            bodies.append(
                lg.Body(name, mass=rng.uniform(0.5, 2), com=rng.normal(size=3) * 0.1, inertia=rng.uniform(0.05, 0.1, 3))
            )
        parent = "world" if i == 0 else f"b{rng.integers(max(0, i - 3), i)}"
        carrier = next((b for b in bodies if b.name == parent), None)
        deforms = isinstance(carrier, lg.FlexibleBody)
        options = {"at": "4" if deforms else tuple(rng.normal(size=3) * 0.3)}
        if isinstance(bodies[-1], lg.FlexibleBody) and i % 2:
            options["child_at"] = "0"
        if i == 0 and not fixed:
            joints.append(lm.Free(name=f"j{i}", parent=parent, child=name))
            continue
        kind = kinds[rng.integers(len(kinds))]
        degrees = {lm.Spherical: 3, lm.Planar: 3, lm.Universal: 2, lm.Cylindrical: 2}.get(kind, 1)
        axis = rng.normal(size=3)
        if kind is lm.Universal:
            options["axes"] = (axis, np.cross(axis, rng.normal(size=3)))
        elif kind not in (lm.Spherical, lm.Planar):
            options["axis"] = axis
        if kind is lm.Helical:
            options["pitch"] = 0.2
        stiffness = rng.uniform(500, 2000, degrees)
        joints.append(
            kind(name=f"j{i}", parent=parent, child=name, stiffness=tuple(stiffness) if degrees > 1 else stiffness[0],
                 damping=0.3 if fixed else 0.0, armature=0.01, **options)
        )  # fmt: skip
    forces.append(lm.SpringDamper(name="spring", a="b1", b=f"b{n - 1}", stiffness=300.0, damping=2.0, length=0.2))
    forces.append(lm.Bushing(name="bushing", a="b2", b=f"b{n - 2}", stiffness=(5, 6, 7, 80, 90, 100), damping=(1,) * 6))
    forces.append(lm.SpringDamper(name="second", a="b4", b=f"b{n - 1}", stiffness=200.0, length=0.3))
    if fixed:
        forces.append(lm.PointForce(name="weight", at=f"b{n - 1}", force=(3.0, -4.0, 2.0)))
        forces.append(lm.SpringDamper(name="ground", a="world", b="b3", stiffness=100.0, length=0.1))
    return lg.Tree(bodies, joints, forces=forces, gravity=(0, 0, -G if fixed else 0.0), name=f"random {seed}").compile()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["damped", "undamped"])
def test_trees_under_their_weight(monkeypatch, seed, kind):
    model = random_tree(seed)
    state = equilibrium(model)
    agree(*both(monkeypatch, model, state, 6, kind=kind))


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_rigid_motions_and_dampers_between_bodies(monkeypatch, seed):
    model = random_tree(seed, fixed=False)
    state = equilibrium(model, stable=True)
    sparse, dense = both(monkeypatch, model, state, 6)
    # of springs under tension the dense path takes what is left of their balance, 1e-8 Hz, for stiffness
    elastic = dense.eigenvalues[dense.frequencies > 1e-6]
    assert sparse.rigid == 6
    assert (np.abs(sparse.eigenvalues[6:][: len(elastic)] - elastic) <= 1e-9 * np.abs(elastic)).all()


def test_locked_speeds(monkeypatch):
    model = random_tree(2).lock("j2", "j5")
    state = equilibrium(model, hold=["j2", "j5"])
    agree(*both(monkeypatch, model, state, 5))


@pytest.mark.parametrize(
    ("name", "lock"),
    [
        ("flexible_ring", ()),
        ("m01_platform", ()),
        ("jr90_manipulator", ()),
        ("sy16_four_bar", ()),
        ("fls13_pendulum", ()),
        ("fls13_slider_crank", ()),
        ("fls13_spin_up", ()),
        ("flexible_arm", ("yaw", "shoulder", "elbow")),
    ],
)
def test_shipped_models(monkeypatch, name, lock):
    mechanism = lg.load(shipped.find(name))
    model = mechanism.compile().lock(*lock)
    start = mechanism.state()
    state = equilibrium(model, model.state(start.q, t=start.t), hold=list(lock), stable=True)
    agree(*both(monkeypatch, model, state, 4))


def test_loops_couplings_and_motions_under_weight(monkeypatch):
    """A frame of beams that hangs in a loop, a gear between its hinges, and a motion that holds one of them."""
    links = [lg.Body(f"l{i}", mass=1.0 + i, com=(0.5, 0, 0), inertia=(0.1, 0.2, 0.3)) for i in range(6)]
    joints = [
        lm.Revolute(name=f"h{i}", parent="world" if i == 0 else f"l{i - 1}", child=f"l{i}", axis=(0, 1, 0),
                    at=(1.0 if i else 0.0, 0, 0), stiffness=40.0 + 10 * i)
        for i in range(6)
    ]  # fmt: skip
    loops = [
        lm.Distance(name="rod", a=("l5", (1.0, 0, 0)), b=("world", (4.0, 0, -1.0)), length=2.0),
        lm.PointOnPlane(name="plane", a=("world", (0, 0, -1.5)), b=("l2", (1.0, 0, 0)), normal=(0, 0, 1)),
        lm.Coupling(name="gear", terms={"h3": 1.0, "h4": -2.0}),
        lm.Motion(name="held", joint="h1", law=lambda t: (0.1, 0.0, 0.0)),
    ]
    model = lg.Tree(links, joints, loops=loops, gravity=(0, 0, -G), name="linkage").compile()
    start = model.state(q={f"h{i}": a for i, a in enumerate((0.3, 0.1, 0.4, 0.2, 0.1, -0.3))})
    state = equilibrium(model, lg.assemble(model, start))
    monkeypatch.setattr(large, "_MORE", 0)
    agree(*both(monkeypatch, model, state, 1), close=1e-8)


# ---- what is left to dense matrices


def dense_taken(monkeypatch, model, state=None, **options):
    monkeypatch.setattr(large, "LARGE", 0)
    monkeypatch.setattr(large, "FEW", 10.0)
    return modes(model, state, number=2, **options)._linear is not None


def test_few_of_a_small_model_and_all_of_a_large_one_take_matrices():
    assert modes(line(40), number=3)._linear is not None
    assert modes(line(260), number=60)._linear is not None


def test_what_is_no_equilibrium_or_moves_takes_matrices(monkeypatch):
    hanging = [lg.Body(f"b{i}", mass=1.0, com=(0, 0, -1)) for i in range(6)]
    joints = [
        lm.Revolute(name=f"j{i}", parent="world" if i == 0 else f"b{i - 1}", child=f"b{i}", axis=(0, 1, 0),
                    at=(0, 0, -1.0 if i else 0.0))
        for i in range(6)
    ]  # fmt: skip
    model = lg.Tree(hanging, joints, name="chain").compile()
    assert not dense_taken(monkeypatch, model)
    assert dense_taken(monkeypatch, model, model.state(q={"j0": 0.3}))
    assert dense_taken(monkeypatch, model, model.state(v={"j0": 0.3}))
    # upside down
    assert dense_taken(monkeypatch, model, model.state(q={"j0": np.pi}))


def test_loads_that_follow_take_matrices(monkeypatch):
    tree = random_tree(3).tree
    push = lm.PointForce(name="follower", at="b8", force=(5.0, 20.0, 9.0), axes="body")
    model = dataclasses.replace(tree, forces=[*tree.forces, push]).compile()
    assert dense_taken(monkeypatch, model, equilibrium(model))


def test_masses_of_a_large_model_come_from_a_linear_model_when_asked_for():
    found = modes(line(260), number=4)
    assert found._linear is None
    assert found.movable[3] == pytest.approx(130.0)
    assert found.effective_masses.shape == (4, 6)
    assert found.linear.n_coordinates == 260
