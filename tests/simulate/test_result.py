"""Columns of a result by name, and what is computed from a trajectory, against closed forms and finite differences."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import runs
from examples import joint_example

import liegeo as lg
from liegeo import dynamics
from liegeo import model as lm
from liegeo.errors import DynamicsError, InputError
from liegeo.lie import SO3Q
from liegeo.model import names
from liegeo.observer import Observer
from liegeo.results import Result, RunInfo
from models import flexible_chain

G = 9.81


@pytest.fixture(scope="module")
def pendulum():
    return runs.pendulum()


@pytest.fixture(scope="module")
def tree():
    return runs.uniform(runs.every_joint(), n=5, step=1e-4)


def one_joint(joint, **more):
    body = lg.Body("b", mass=1.0, inertia=(1.0, 1.0, 1.0))
    return lg.Tree([body], [joint(name="j", parent="world", child="b", **more)]).compile()


# ---- names


@pytest.mark.parametrize("joint", lm.ALL_JOINTS, ids=lambda joint: joint.__name__)
def test_columns_of_every_joint(joint):
    example = joint_example(joint)
    model = one_joint(joint, **example.fields)
    rng = np.random.default_rng(1)
    q, v = rng.normal(size=(3, model.nq)), rng.normal(size=(3, model.nv))
    result = runs.run(model, np.arange(3.0), q, v)
    assert result.names == ("time", *(f"j.{name}" for name in example.columns.split()))
    table = np.array(result.table.tolist())
    assert np.array_equal(table, np.concatenate([result.t[:, np.newaxis], q, v], axis=1))


def test_table_has_every_number_once(tree):
    model = tree.model
    everything = np.concatenate([tree.t[:, None], tree.q, tree.v, tree.u[:, model.nv :]], axis=1)
    assert tree.table.dtype.names == tree.names
    assert tree.names[0] == "time"
    assert len(tree.names) == 1 + model.nq + model.nv + model.nu
    table = np.array(tree.table.tolist())
    assert np.array_equal(np.sort(table, axis=1), np.sort(everything, axis=1))


def test_names_find_the_places_that_the_model_gives(tree):
    group = tree.model.group
    for name, place in tree.model.inputs.items():
        assert np.array_equal(tree[f"{name}.input"].reshape(5, -1), tree.u[:, tree.model.nv :][:, place])
    flexible = [b.name for b in tree.model.tree.bodies if b.n_modes]
    assert flexible
    for name in flexible:
        assert np.array_equal(tree[f"{name}.eta"], tree.q[:, group.q[name]])
        assert np.array_equal(tree[f"{name}.etad"], tree.v[:, group.v[name]])
        assert np.array_equal(tree[f"{name}.tau"], tree.u[:, group.v[name]])
    for name in tree.model.joints:
        if name in group.v:
            place = group.v[name]
            assert np.array_equal(tree[f"{name}.tau"].reshape(5, -1), tree.u[:, place])
            assert np.array_equal(tree[f"{name}.acceleration"].reshape(5, -1), tree._quantities.accelerations[:, place])


def test_vectors_have_components_and_halves(pendulum):
    position = pendulum["bob.tip.position"]
    assert position.shape == (201, 3)
    assert np.array_equal(pendulum["bob.tip.position.z"], position[:, 2])
    reaction = pendulum["hinge.reaction"]
    assert np.array_equal(reaction[:, :3], pendulum["hinge.reaction.moment"])
    assert np.array_equal(reaction[:, 3:], pendulum["hinge.reaction.force"])
    assert np.array_equal(pendulum["bob.twist"][:, 3:], pendulum["bob.twist.linear"])
    assert pendulum["time"].shape == (201,)


def test_listed_names_can_be_asked_for(tree):
    assert set(tree.names).isdisjoint(tree.more)
    for name in (*tree.names, *tree.more):
        assert name in tree
        values = tree[name]
        assert values.shape[0] == 5
        assert np.isfinite(values).all()
        assert isinstance(tree.unit(name), str)
    assert "nobody.angle" not in tree
    assert 3 not in tree


def test_units(tree, pendulum):
    expected = {
        "time": "s",
        "hinge.angle": "rad",
        "hinge.speed": "rad/s",
        "hinge.acceleration": "rad/s²",
        "hinge.tau": "N·m",
        "motor.input": "N·m",
        "bob.velocity": "m/s",
        "bob.quaternion.w": "",
        "hinge.reaction": "N·m, N",
        "energy.kinetic": "J",
        "momentum.linear": "N·s",
        "momentum.angular": "N·m·s",
    }
    assert {name: pendulum.unit(name) for name in expected} == expected
    assert {tree._names.column(name).kind for name in tree.names} <= set(names.UNITS)


def test_an_actuator_on_a_slide_is_in_newtons():
    body = lg.Body("b", mass=1.0)
    slide = lm.Prismatic(name="slide", parent="world", child="b")
    model = lg.Tree([body], [slide], forces=[lm.Actuator(name="push", joint="slide")]).compile()
    result = runs.run(model, np.zeros(1), np.zeros((1, 1)), np.zeros((1, 1)))
    assert result.unit("push.input") == result.unit("slide.tau") == "N"


def test_joints_that_name_no_columns_are_counted():
    @dataclass(frozen=True, kw_only=True)
    class Odd(lm.Cylindrical):
        coordinates: ClassVar[None] = None

    model = one_joint(Odd)
    assert tuple(names.Names(model).table) == ("time", "j.q[0]", "j.q[1]", "j.v[0]", "j.v[1]")
    assert {joint for joint in lm.ALL_JOINTS if joint.coordinates is None} == {lm.Screws}


def test_select_by_wildcards(pendulum, tree):
    assert pendulum.select("*.angle", "energy*").dtype.names == (
        "time",
        "hinge.angle",
        "energy",
        "energy.kinetic",
        "energy.gravitational",
        "energy.elastic",
    )
    # A pattern that fits a quantity selects its components, and each column comes once.
    assert pendulum.select("bob.posit*", "bob.position.?").dtype.names[1:] == tuple(f"bob.position.{c}" for c in "xyz")
    eta = next(f"{b.name}.eta" for b in tree.model.tree.bodies if b.n_modes)
    assert tree.select(f"{eta}[1]").dtype.names == ("time", f"{eta}[1]")
    assert tree.select(f"{eta}[?]").dtype.names == ("time", f"{eta}[0]", f"{eta}[1]", f"{eta}[2]")
    everything = tree.select("*")
    assert len(everything.dtype.names) == len(tree._names.table) + len(tree._names.more)


def test_unknown_names_are_explained(pendulum):
    with pytest.raises(InputError, match=r"'hinge.angel' is neither a column .* Did you mean 'hinge.angle'\?\n.*wildc"):
        pendulum["hinge.angel"]
    with pytest.raises(InputError, match=r"'hinge' has several quantities.*hinge.angle, hinge.speed.*\n.*'hinge\.\*'"):
        pendulum["hinge"]
    with pytest.raises(InputError, match=r"nothing matches '\*\.temperature'"):
        pendulum.select("*.temperature")
    with pytest.raises(InputError, match="result: 0 is not a name, expected text such as 'time'"):
        pendulum[0]
    with pytest.raises(InputError, match=r"result: 7 is not a name, expected text such as 'hinge\.angle'"):
        pendulum.select(7)


def test_a_body_with_many_quantities_shows_the_first(pendulum):
    with pytest.raises(InputError, match=r"'bob' has several quantities.*, …\."):
        pendulum["bob"]


# ---- what is computed


def test_pendulum_in_closed_form(pendulum):
    t = pendulum.t
    angle, speed, drive = 0.3 + 0.8 * np.sin(2 * t), 1.6 * np.cos(2 * t), 0.1 * t + np.sin(t)
    c, s, zero = np.cos(angle), np.sin(angle), 0 * t
    out, across = np.stack([c, zero, s], axis=1), np.stack([-s, zero, c], axis=1)
    acceleration = (drive - 2.0 * G * 0.5 * c) / (2.0 * 0.25)
    expected = {
        "hinge.acceleration": acceleration,
        "bob.tip.position": 0.5 * out,
        "bob.tip.velocity": 0.5 * speed[:, None] * across,
        "bob.tip.acceleration": 0.5 * (acceleration[:, None] * across - speed[:, None] ** 2 * out),
        "bob.angular_velocity": np.stack([zero, -speed, zero], axis=1),
        "bob.angular_acceleration": np.stack([zero, -acceleration, zero], axis=1),
        "bob.position": np.zeros((len(t), 3)),
        "center": 0.5 * out,
        "energy.kinetic": 0.5 * 2.0 * 0.25 * speed**2,
        "energy.gravitational": 2.0 * G * 0.5 * s,
        "energy.elastic": zero,
        "energy": 0.25 * speed**2 + G * s,
        "momentum.linear": speed[:, None] * across,
        "momentum.angular": np.stack([zero, -0.5 * speed, zero], axis=1),
    }
    for name, values in expected.items():
        np.testing.assert_allclose(pendulum[name], values, atol=1e-12, err_msg=name)
    # Newton's law for the mass: the hinge carries what gravity does not, seen from the arm.
    force = 2.0 * (pendulum["bob.tip.acceleration"] + np.array([0, 0, G]))
    in_arm = np.stack([np.sum(force * out, axis=1), zero, np.sum(force * across, axis=1)], axis=1)
    np.testing.assert_allclose(pendulum["hinge.reaction.force"], in_arm, atol=1e-12)


def places(model):
    """Every body, frame and node that a person wrote."""
    for body in model.tree.bodies:
        yield from (body.name, *(f"{body.name}.{n}" for n in (*body.frames, *getattr(body, "nodes", ()))))


def test_velocities_are_rates_of_positions(tree):
    step = tree.t[1]
    for place in places(tree.model):
        p, velocity = tree[f"{place}.position"], tree[f"{place}.velocity"]
        central = (8 * (p[3] - p[1]) - (p[4] - p[0])) / (12 * step)
        np.testing.assert_allclose(velocity[2], central, atol=1e-9, err_msg=place)
        Q, w = tree[f"{place}.quaternion"], tree[f"{place}.angular_velocity"]
        turn = SO3Q.log(SO3Q.compose(Q[3], SO3Q.inverse(Q[1]))) / (2 * step)
        np.testing.assert_allclose(w[2], turn, atol=1e-6, err_msg=place)
        R_WF = SO3Q.matrix(Q)[..., :3, :3]
        np.testing.assert_allclose(np.einsum("nij,nj->ni", R_WF, tree[f"{place}.twist.angular"]), w, atol=1e-12)
        np.testing.assert_allclose(np.einsum("nij,nj->ni", R_WF, tree[f"{place}.twist.linear"]), velocity, atol=1e-12)


def test_accelerations_are_second_differences_of_positions(tree):
    """Along q exp(t v + ½t² v̇) the group has the speeds and accelerations of the sample at t = 0."""
    model, h = tree.model, 1e-3
    a = tree._quantities.accelerations[2]
    t = h * np.arange(-2, 3.0)
    q = model.group.retract(tree.q[2], np.outer(t, tree.v[2]) + np.outer(0.5 * t**2, a))
    path = runs.run(model, t, q, np.zeros((5, model.nv)))
    weights = np.array([-1, 16, -30, 16, -1]) / (12 * h**2)
    for place in places(model):
        expected = weights @ path[f"{place}.position"]
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(tree[f"{place}.acceleration"][2], expected, atol=1e-5 * scale, err_msg=place)


def test_passes_agree_with_dynamics_at_every_sample(tree):
    model = tree.model
    for k in range(len(tree)):
        state, tau, inputs = tree.state(k), tree.u[k, : model.nv], tree.u[k, model.nv :]
        a = dynamics.forward_dynamics(model, state, tau, inputs)
        for name, wrench in dynamics.joint_forces(model, state, tau, inputs).items():
            np.testing.assert_allclose(tree[f"{name}.reaction"][k], wrench, rtol=1e-9, atol=1e-9)
        balance = dynamics.balance(model, state)
        assert tree["energy"][k] == pytest.approx(balance.energy, rel=1e-12)
        np.testing.assert_allclose(tree["momentum"][k], balance.momentum, rtol=1e-12)
        np.testing.assert_allclose(tree["center"][k], balance.center, rtol=1e-12)
        for place in list(places(model))[::5]:
            motion = dynamics.frame_motion(model, state, place, a)
            np.testing.assert_allclose(tree[f"{place}.acceleration"][k], motion.acceleration, rtol=1e-9, atol=1e-9)
            turning = motion.pose[:3, :3] @ motion.rate[:3]
            np.testing.assert_allclose(tree[f"{place}.angular_acceleration"][k], turning, rtol=1e-9, atol=1e-9)


def test_deflections_are_what_modes_say():
    """Of a beam without second-order terms: Φη, and the rotation that its pose has; frames and roots have none."""
    run = lg.simulate(flexible_chain(2), t_end=0.2, output=0.05)
    body = run.model.body(0)
    name, root = body.name, next(n for n, node in body.nodes.items() if not np.any(np.asarray(node.modes)))
    (tip,) = [n for n, node in body.nodes.items() if np.any(np.asarray(node.modes))]
    modes = np.asarray(body.nodes[tip].modes)
    eta = run[f"{name}.eta"]
    assert np.abs(eta).max() > 0.0
    assert run[f"{name}.{tip}.deflection"] == pytest.approx(eta @ modes[3:].T, abs=1e-14)
    assert run[f"{name}.{tip}.tilt"] == pytest.approx(eta @ modes[:3].T, abs=1e-14)
    assert f"{name}.{root}.deflection" not in run
    assert f"{name}.deflection" not in run
    assert run.unit(f"{name}.{tip}.deflection") == "m"


def test_the_order_of_questions_does_not_matter(tree):
    """What a pass keeps is the same whether accelerations, one frame or everything was asked for first."""
    place = list(places(tree.model))[-1]
    parts = [f"{place}.{part.name}" for part in names.FRAMES]
    for order in (parts, parts[::-1]):
        fresh = Result(tree.model, tree.t, tree.q, tree.v, tree.u, tree.info)
        for name in order:
            assert np.array_equal(fresh[name], tree[name]), name


def test_one_pass_serves_all_names_of_a_question(pendulum, monkeypatch):
    result = Result(pendulum.model, pendulum.t, pendulum.q, pendulum.v, pendulum.u, pendulum.info)
    passes, samples = [], Observer.samples
    monkeypatch.setattr(Observer, "samples", lambda self, *arrays: passes.append(1) or samples(self, *arrays))
    result.select("bob.*", "energy", "hinge.reaction", "hinge.acceleration")
    assert len(passes) == 1
    # What was asked for is kept.
    result.select("bob.tip.position", "energy")
    result["bob.velocity"]
    assert len(passes) == 1


def test_quaternions_do_not_jump():
    model = one_joint(lm.Revolute)
    t = np.linspace(0.0, 1.0, 400)
    result = runs.run(model, t, 20.0 * t[:, None], np.full((400, 1), 20.0))
    expected = np.stack([np.cos(10 * t), 0 * t, 0 * t, np.sin(10 * t)], axis=1)
    np.testing.assert_allclose(result["b.quaternion"], expected, atol=1e-12)


def test_a_singular_sample_is_named():
    body = lg.Body("b", mass=1.0)
    model = lg.Tree([body], [lm.Revolute(name="j", parent="world", child="b")]).compile()
    result = runs.run(model, np.array([0.0, 2.5]), np.zeros((2, 1)), np.zeros((2, 1)))
    with pytest.raises(DynamicsError, match=r"result, at t = 0 s: joint 'j'.*not positive"):
        result["j.acceleration"]


def test_a_model_without_freedom():
    model = one_joint(lm.Fixed, at=(0, 0, 1.0))
    result = runs.run(model, np.zeros(2), np.zeros((2, 0)), np.zeros((2, 0)))
    assert result.names == ("time",)
    assert np.array_equal(result["b.position"], [[0, 0, 1.0]] * 2)
    np.testing.assert_allclose(result["j.reaction.force"], [[0, 0, G]] * 2)


# ---- the object itself


def test_states_can_be_used_again(pendulum):
    assert len(pendulum) == 201
    end = pendulum.end
    assert end.t == 2.0
    assert np.array_equal(end.q, pendulum.q[-1])
    # A read-only state would make the kernels compile once more.
    assert end.q.flags.writeable
    assert pendulum.state(3).t == pendulum.t[3]
    with pytest.raises(InputError, match=r"result\.state: sample 201 of 201, expected -201 to 200"):
        pendulum.state(201)


def test_samples_cannot_be_changed(pendulum):
    for array in (pendulum.t, pendulum.q, pendulum.v, pendulum.u, pendulum.table):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    for name in ("hinge.angle", "bob.tip.position.x", "bob.tip.position"):
        before = pendulum[name]
        pendulum[name][:] = 7.0
        assert np.array_equal(pendulum[name], before)


def test_shapes_are_checked(pendulum):
    model, t = pendulum.model, np.zeros(4)
    one, two = np.zeros((4, 1)), np.zeros((4, 2))
    with pytest.raises(InputError, match=r"Result: q has shape \(4, 2\), expected \(4, 1\) for <model 'pendulum'"):
        Result(model, t, two, one, two, runs.INFO)
    with pytest.raises(InputError, match=r"Result: u has shape \(4, 1\), expected \(4, 2\)"):
        Result(model, t, one, one, one, runs.INFO)
    with pytest.raises(InputError, match=r"Result: t has shape \(0,\), expected \(n,\) with n ≥ 1"):
        Result(model, np.zeros(0), one, one, two, runs.INFO)


def test_how_it_shows_itself(pendulum):
    assert repr(pendulum) == (
        "<result of 'pendulum': 0 to 2 s, 201 samples; rkmk-54, 523 steps (12 rejected) in 0.5 s, 4 × real time>"
    )
    early = dataclasses.replace(pendulum, info=RunInfo("euler", 3, finished=False, message="the step <became> small"))
    assert repr(early).endswith("euler, 3 steps in 0 s\n  stopped early: the step <became> small>")
    shown = early._repr_html_()
    assert "<td style='text-align:left'>the step &lt;became&gt; small</td>" in shown
    assert "stopped early" not in pendulum._repr_html_()


def test_a_run_tells_what_newtons_method_did():
    """Of an implicit method there are corrections and matrices; of an explicit one there is nothing to tell."""
    model = flexible_chain(1)
    run = lg.simulate(model, model.state(), 0.01, step=1e-3, progress=False)
    record = run.info.newton
    assert record.iterations >= run.info.steps
    assert 0 < record.factorisations <= record.iterations
    assert "corrections" in run._facts()["newton"]
    explicit = lg.simulate(model, model.state(), 1e-4, method="rkmk-4", step=1e-5, progress=False)
    assert explicit.info.newton is None
