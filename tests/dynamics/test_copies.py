"""Copies and pickles of what a person writes and what it compiles to; what is the same, and what the order is."""

from __future__ import annotations

import copy
import functools
import pickle
import random
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
import trees

import liegeo as lg
from liegeo import dynamics
from liegeo import model as lm

COPIES = {"pickle": lambda x: pickle.loads(pickle.dumps(x)), "deepcopy": copy.deepcopy, "copy": copy.copy}
COPIES |= {f"pickle {k}": lambda x, k=k: pickle.loads(pickle.dumps(x, protocol=k)) for k in (2, 4)}
copies = pytest.mark.parametrize("copied", [pytest.param(f, id=name) for name, f in COPIES.items()])


MODELS = sorted(path.stem for path in (Path(__file__).parents[2] / "models").glob("*.yaml"))


@functools.cache
def load(name):
    return lg.load(Path(__file__).parents[2] / "models" / f"{name}.yaml")


def length(model, state):
    """A constraint of one's own, which a pickle can name."""
    return state.q[:1] - 0.25


def everything():
    """A tree with flexible bodies, wheels and all force elements, and one with a constraint of one's own."""
    rng = np.random.default_rng(3)
    bodies = trees.describe(rng, 6)
    trees.add_wheels(rng, bodies, 2)
    _, forces = trees.add_forces(rng, bodies)
    return trees.build(bodies, forces=forces)


def chain(n, **options):
    bodies = [lm.Body(f"b{i}", mass=1.0, inertia=(0.1, 0.1, 0.1), frames={"tip": (0, 0, 1)}) for i in range(n)]
    joints = [
        lm.Revolute(name=f"j{i}", parent=f"b{i - 1}" if i else "world", child=f"b{i}", at="tip" if i else None)
        for i in range(n)
    ]
    return lm.Tree(bodies, joints, **options)


def custom():
    return chain(3, loops=[lm.Custom(name="own", function=length), lm.Gear(name="gear", a="j1", b="j2", ratio=2.0)])


def accelerations(model):
    rng = np.random.default_rng(5)
    state = model.state(v=rng.normal(size=model.nv))
    return dynamics.forward_dynamics(model, state, rng.normal(size=model.nv))


@copies
@pytest.mark.parametrize("make", [everything, custom])
def test_copied_models_have_the_same_bits(make, copied):
    tree = make()
    model = tree.compile()
    expected = accelerations(model).tobytes()
    again = copied(model)
    assert again.floats.tobytes() == model.floats.tobytes()
    assert np.array_equal(again.fingerprint, model.fingerprint)
    assert (again.bodies, again.joints, again.rows, dict(again.inputs)) == (
        model.bodies,
        model.joints,
        model.rows,
        dict(model.inputs),
    )
    assert accelerations(again).tobytes() == expected
    assert accelerations(copied(tree).compile()).tobytes() == expected
    # the first one still is what it was
    assert accelerations(model).tobytes() == expected


@copies
def test_copied_models_keep_their_locks_and_functions(copied):
    model = custom().compile().lock("j1")
    again = copied(model)
    assert np.array_equal(again.locked, model.locked)
    assert [rows._model for rows in again.custom] == [again]
    assert not any(a.address == b.address for a, b in zip(again.custom, model.custom, strict=True))


@copies
def test_copies_cannot_change_either(copied):
    tree = copied(everything())
    flexible = next(body for body in tree.bodies if isinstance(body, lm.FlexibleBody))
    model = copied(tree.compile())
    for array in (tree.gravity, flexible.J_2, model.ints, model.floats, flexible.nodes["n0"].modes):
        assert not array.flags.writeable
    with pytest.raises(TypeError, match="mappingproxy"):
        copied(flexible).nodes["n0"] = None
    with pytest.raises(AttributeError, match="cannot assign"):
        copied(flexible).mass = 3.0


@copies
@pytest.mark.parametrize("thing", [lm.Box(size=(1, 2, 3)), lm.Free(name="f", parent="world", child="a"), "state"])
def test_parts_can_be_copied(thing, copied):
    if thing == "state":
        thing = chain(2).compile().state(v=[1.0, 2.0], t=3.0)
    again = copied(thing)
    assert type(again) is type(thing)
    assert repr(again) == repr(thing)


@pytest.mark.parametrize("copied", [COPIES["pickle"], copy.deepcopy], ids=["pickle", "deepcopy"])
@pytest.mark.parametrize("name", MODELS)
def test_mechanisms_can_be_copied(name, copied):
    """All models that are shipped: laws, inputs and tables of their files included."""
    mechanism = load(name)
    again = copied(mechanism)
    assert again.compile().floats.tobytes() == mechanism.compile().floats.tobytes()
    assert again.state().q.tobytes() == mechanism.state().q.tobytes()
    for key, value in mechanism.experiment.inputs.items():
        if callable(value):
            assert np.array_equal(again.experiment.inputs[key](0.3), value(0.3))


def test_copied_mechanisms_can_be_changed():
    again = copy.deepcopy(load("double_pendulum")).changed({})
    assert again.compile().floats.tobytes() == load("double_pendulum").compile().floats.tobytes()


def test_models_go_to_other_processes():
    model = everything().compile()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(dynamics.forward_dynamics, model, model.state()).result().tobytes() == (
            dynamics.forward_dynamics(model, model.state()).tobytes()
        )


def test_same_means_the_same_object():
    tree, other = chain(2), chain(2)
    model = tree.compile()
    things = [tree, tree.bodies[0], tree.joints[0], model.state(), lm.Box(size=(1, 1, 1)), everything().bodies[1]]
    things += [lm.PointForce(name="f", at="b0"), lm.Node(np.eye(4), np.zeros((6, 1)))]
    for thing in things:
        assert thing == thing
        assert thing != copy.copy(thing)
        assert len({thing, copy.copy(thing)}) == 2
    assert tree != other
    assert tree.bodies[1] in tree.bodies
    assert other.bodies[1] not in tree.bodies


class Counted(str):
    """A name that counts how often it is compared."""

    compared = 0
    __slots__ = ()

    def __eq__(self, other):
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


@pytest.mark.parametrize("backward", [False, True])
def test_work_on_a_chain_grows_with_its_length(backward):
    """Every name is looked up a few times, not once for each of the others."""
    n = 256
    bodies = [lm.Body(Counted(f"b{i}"), mass=1.0) for i in range(n)]
    joints = [
        lm.Revolute(name=Counted(f"j{i}"), parent=Counted(f"b{i - 1}") if i else "world", child=Counted(f"b{i}"))
        for i in range(n)
    ]
    Counted.compared = 0
    tree = lm.Tree(bodies, joints[::-1] if backward else joints, any_order=True)
    assert tree._order == (tuple(reversed(range(n))) if backward else tuple(range(n)))
    assert Counted.compared < 50 * n


@pytest.mark.parametrize("seed", range(20))
def test_joints_keep_their_order_as_far_as_can_be(seed):
    """Walk over the joints as given, again and again, and take those whose parent is there."""
    rng = random.Random(seed)
    n = 12
    parents = ["world", *(rng.choice(["world", *(f"b{k}" for k in range(i))]) for i in range(1, n))]
    joints = [lm.Revolute(name=f"j{i}", parent=parents[i], child=f"b{i}") for i in range(n)]
    rng.shuffle(joints)
    wheels = [lm.Wheel(name="w", body="b3", inertia=1.0)]
    bodies = [lm.Body(f"b{i}", mass=1.0) for i in range(n)]
    order, there = [], {"world"}
    waiting = [*enumerate(joints), (n, wheels[0].joint())]
    while waiting:
        for i, joint in list(waiting):
            if joint.parent in there:
                order.append(i)
                there.add(joint.child)
                waiting.remove((i, joint))
    assert lm.Tree(bodies, joints, wheels=wheels, any_order=True)._order == tuple(order)


def test_names_with_dots():
    """The longest name of a body that fits is meant."""
    bodies = [
        lm.Body("a", mass=1.0, inertia=(0.1, 0.1, 0.1), frames={"tip": (0, 0, 1)}),
        lm.Body("a.b", mass=1.0, inertia=(0.1, 0.1, 0.1), frames={"tip": (0, 0, 2), "x.y": (0, 0, 3)}),
    ]
    joints = [lm.Revolute(name="j", parent="world", child="a"), lm.Cylindrical(name="j.k", parent="a", child="a.b")]
    places = {"a": (0, 0.0), "a.tip": (0, 1.0), "a.b": (1, 0.0), "a.b.tip": (1, 2.0), "a.b.x.y": (1, 3.0)}
    forces = [lm.PointForce(name=f"f{k}", at=place, force=(1, 0, 0)) for k, place in enumerate(places)]
    loops = [lm.Coupling(name="c", terms={"j": 1.0, "j.k": 1.0, "j.k.1": 2.0})]
    model = lm.Tree(bodies, joints, forces=forces, loops=loops).compile()
    pairs = [lm.PointForce(name=f.name, at=p, force=(1, 0, 0)) for f, p in zip(forces, PAIRS, strict=True)]
    assert np.array_equal(model.ints, lm.Tree(bodies, joints, forces=pairs, loops=loops).compile().ints)
    for name, (i, z) in places.items():
        found, X = model.frame(name)
        assert (found, X[2, 3]) == (i, z)
        assert dynamics.frame_pose(model, model.state(), name)[2, 3] == z


PAIRS = (("a", None), ("a", "tip"), ("a.b", None), ("a.b", "tip"), ("a.b", "x.y"))


def test_records_pass_within_rounding():
    """Zero arrays are symmetric, and so is what single precision leaves; thin bodies keep the triangle inequality."""
    n = 2
    shapes = {"C_t": (3, n), "C_r0": (3, n), "C_r1": (3, n, n), "J_1": (n, 3, 3), "J_2": (n, n, 3, 3)}
    record = {name: np.zeros(shape) for name, shape in shapes.items()}
    M_e = np.array([[1.0, 0.3], [0.3 + 1e-7, 1.0]])
    # a rod along x, ten metres away
    lm.FlexibleBody(
        "rod",
        3.0,
        (30.0, 0, 0),
        np.diag([0.0, 301.0, 301.0 + 1e-7]),
        M_e=M_e,
        K=np.eye(n),
        D=np.zeros((n, n)),
        **record,
    )
