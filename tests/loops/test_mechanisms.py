"""Mechanisms that close: assembly, simulation, reactions, redundant and singular constraints."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson
from scipy.interpolate import CubicSpline

import liegeo as lg
from liegeo import dynamics, flex
from liegeo import integrate as li
from liegeo import model as lm
from liegeo.errors import AssemblyError, InputError
from liegeo.motion import Drive


def rod(name, length, mass=None):
    """A thin rod along x from its frame to `end`, of one kilogram a metre."""
    m = length if mass is None else mass
    J = m * length**2 / 12
    return lg.Body(name, mass=m, com=(length / 2, 0, 0), inertia=(1e-4, J, J), frames={"end": (length, 0, 0)})


def four_bar(**more):
    """In the plane z = 0, modelled in space: the hinge that closes it says three things that are known already."""
    joints = [
        lm.Revolute(name="crank", parent="world", child="a"),
        lm.Revolute(name="knee", parent="a", child="b", at="end"),
        lm.Revolute(name="rocker", parent="world", child="c", at=(2.0, 0, 0)),
    ]
    cut = lm.Revolute(name="cut", parent="b", child="c", at="end", child_at="end")
    options = {"loops": [cut], "gravity": (0, -9.81, 0), "name": "four-bar"} | more
    return lm.Tree([rod("a", 1.0), rod("b", 2.0), rod("c", 1.5)], joints, **options).compile()


GUESS = {"crank": 1.2, "knee": -1.0, "rocker": 1.5}


def test_what_locks_hold_beside_a_loop():
    """Applied to the mechanism without the lock, it holds it just so."""
    model = four_bar()
    state = lg.assemble(model, model.state(q=GUESS))
    held = dynamics.lock_forces(model.lock("crank"), state, tau={"rocker": 3.0})
    assert abs(held[0]) > 1.0
    tau = held + model.speeds("tau", {"rocker": 3.0})
    np.testing.assert_allclose(dynamics.forward_dynamics(model, state, tau), 0.0, atol=1e-11)


@pytest.fixture(scope="module")
def mechanism():
    model = four_bar()
    return model, lg.assemble(model, model.state(q=GUESS, v={"crank": 2.0}), keep=["crank"])


def test_assembly_keeps_what_it_is_told(mechanism):
    model, state = mechanism
    assert state.q[0] == 1.2
    assert state.v[0] == 2.0
    values = dynamics.constraint_values(model, state)
    assert np.abs(values.residual).max() < 1e-14
    assert np.abs(values.rate).max() < 1e-14
    # the law of cosines at the knee and at the rocker's end
    crank, diagonal = np.array([np.cos(1.2), np.sin(1.2)]), np.array([2.0, 0.0])
    end = diagonal + 1.5 * np.array([np.cos(state.q[2]), np.sin(state.q[2])])
    assert np.linalg.norm(end - crank) == pytest.approx(2.0)


def test_a_long_chain_is_assembled_from_far_away():
    """Sixty-four rods in space whose end is tens of metres off: all of them turn a little, none much."""
    n = 64
    bodies = [rod(f"b{k}", 1.0) for k in range(n)]
    joints = [
        lm.Revolute(
            name=f"j{k}",
            parent=f"b{k - 1}" if k else "world",
            child=f"b{k}",
            at="end" if k else None,
            axis=(0, 1, 0) if k % 2 else (0, 0, 1),
        )
        for k in range(n)
    ]
    tip = lm.Spherical(name="tip", parent=f"b{n - 1}", child="world", at="end", child_at=(0.97 * n, 0, 0))
    model = lm.Tree(bodies, joints, loops=[tip]).compile()
    guess = model.state(q={f"j{k}": 0.25 * np.sin(2 * np.pi * k / 16 + 0.3) for k in range(n)})
    assert np.abs(dynamics.constraint_values(model, guess).residual).max() > 10.0
    state = lg.assemble(model, guess)
    assert np.abs(dynamics.constraint_values(model, state).residual).max() < 1e-11
    assert np.abs(state.q - guess.q).max() < 0.6


def test_what_cannot_be_assembled_says_which_loop_and_by_how_much():
    model = four_bar()
    with pytest.raises(
        AssemblyError, match=r"(?s)'four-bar' cannot be assembled while crank, knee stay: loop 'cut' is"
    ):
        lg.assemble(model, model.state(q={"crank": 3.0}), keep=["crank", "knee"])
    far = lm.Distance(name="rope", a="a.end", b="world", length=7.0)
    with pytest.raises(AssemblyError, match="loop 'rope' is off by 6"):
        lg.assemble(four_bar(loops=[far]))
    with pytest.raises(AssemblyError, match="the loops of 'four-bar' cannot be measured near this state"):
        lg.assemble(four_bar(loops=[lm.Custom(name="pole", function=lambda model, state: np.array([np.inf]))]))


def test_redundant_constraints_are_named(mechanism):
    model, state = mechanism
    found = dynamics.redundant_rows(model, state)
    assert {row.what for row in found} == {"rotation x", "rotation y", "translation z"}
    assert {row.loop for row in found} == {"cut"}


def test_reactions_agree_with_a_dense_saddle_point(mechanism):
    model, state = mechanism
    J, M = dynamics.constraint_jacobian(model, state), dynamics.mass_matrix(model, state)
    bias = dynamics.inverse_dynamics(model, state)
    gamma = dynamics.constraint_values(model, state).acceleration
    saddle = np.block([[M, -J.T], [J, np.zeros((5, 5))]])
    solution = np.linalg.lstsq(saddle, np.concatenate([-bias, -gamma]), rcond=1e-12)[0]
    assert dynamics.forward_dynamics(model, state) == pytest.approx(solution[:3], abs=1e-10)
    assert dynamics.forward_dynamics(model, state, method="composite") == pytest.approx(solution[:3], abs=1e-10)
    # least squares gives the smallest multipliers; the rows of the cut are unit vectors
    named = dict(zip([row.what for row in model.rows], solution[3:], strict=True))
    force = dynamics.loop_forces(model, state)["cut"]
    assert force[3:] == pytest.approx([named["translation x"], named["translation y"], 0.0], abs=1e-10)


def test_reactions_hold_the_weight_and_the_momentum(mechanism):
    """What joints and the ground exert on the whole mechanism is the rate of its momentum, less the weight."""
    model, state = mechanism
    a = dynamics.forward_dynamics(model, state)
    forces = dynamics.joint_forces(model, state)
    motions = dynamics.body_motions(model, state, a)
    total = np.zeros(3)
    for body, joint in (("a", "crank"), ("c", "rocker")):
        total += motions[body].pose[:3, :3] @ forces[joint][3:]
    moved = np.zeros(3)
    for name, length in (("a", 1.0), ("b", 2.0), ("c", 1.5)):
        R, w, rate = motions[name].pose[:3, :3], motions[name].twist[:3], motions[name].rate
        arm = np.array([length / 2, 0, 0])
        center = motions[name].acceleration + R @ (np.cross(rate[:3], arm) + np.cross(w, np.cross(w, arm)))
        moved += length * (center - np.array([0, -9.81, 0]))
    assert total == pytest.approx(moved, abs=1e-10)


@pytest.mark.parametrize("options", [{"method": "rkmk-4", "step": 0.005}, {"rtol": 1e-8, "atol": 1e-9}])
def test_energy_and_loops_are_kept(mechanism, options):
    model, state = mechanism
    run = lg.simulate(model, state, t_end=2.0, output=0.1, **options)
    assert np.abs(run["energy"] - run["energy"][0]).max() < 1e-5
    for q, v in zip(run.q, run.v, strict=True):
        values = dynamics.constraint_values(model, lm.State(np.array(q), np.array(v)))
        assert np.abs(values.residual).max() < 1e-12
        assert np.abs(values.rate).max() < 1e-11


def test_the_same_motion_as_with_another_cut(mechanism):
    """Cut at the knee in place of the rocker's end: the same mechanism, another tree."""
    model, state = mechanism
    joints = [
        lm.Revolute(name="crank", parent="world", child="a"),
        lm.Revolute(name="rocker", parent="world", child="c", at=(2.0, 0, 0)),
        lm.Revolute(name="pin", parent="c", child="b", at="end", child_at="end"),
    ]
    cut = lm.Revolute(name="knee", parent="a", child="b", at="end")
    other = lm.Tree([rod("a", 1.0), rod("b", 2.0), rod("c", 1.5)], joints, loops=[cut], gravity=(0, -9.81, 0)).compile()
    angle = state.q[0] + state.q[1] - state.q[2]
    start = lg.assemble(
        other, other.state(q={"crank": 1.2, "rocker": state.q[2], "pin": angle}, v={"crank": 2.0}), keep=["crank"]
    )
    runs = [
        lg.simulate(m, s, t_end=1.0, rtol=1e-10, atol=1e-11, output=0.25) for m, s in ((model, state), (other, start))
    ]
    assert runs[0]["crank.angle"] == pytest.approx(runs[1]["crank.angle"], abs=1e-8)
    # the force in the knee: what the tree's joint exerts on b, and what the cut does
    assert runs[0]["knee.reaction.force"] == pytest.approx(runs[1]["knee.reaction.force"], abs=1e-6)


def test_prescribed_motion_and_its_torque():
    """The crank turns as told; the power of what that takes is the rate of the energy."""

    def law(t):
        return 1.2 + 2.0 * t + 0.3 * t**2, 2.0 + 0.6 * t, 0.6

    plain = four_bar()
    model = four_bar(loops=[*plain.tree.loops, lm.Motion(name="drive", joint="crank", law=law)])
    state = lg.assemble(model, model.state(q=GUESS))
    assert state.v[0] == pytest.approx(2.0)
    times = np.linspace(0.0, 1.5, 91)
    run = lg.simulate(model, state, t_end=1.5, rtol=1e-9, atol=1e-10, output=times)
    assert run["crank.angle"] == pytest.approx([law(t)[0] for t in times], abs=1e-12)
    assert run["crank.acceleration"] == pytest.approx(0.6, abs=1e-10)
    work = cumulative_simpson(run["drive.tau"] * run["crank.speed"], x=times)
    assert work == pytest.approx(run["energy"][1:] - run["energy"][0], abs=2e-3)
    # a spline through the same law drives it the same way
    spline = CubicSpline(times, [law(t)[0] for t in times])
    same = lg.simulate(model, state, t_end=1.5, rtol=1e-9, atol=1e-10, output=times, inputs={"drive": spline})
    assert same["rocker.angle"] == pytest.approx(run["rocker.angle"], abs=1e-8)


def test_a_state_that_is_not_closed_is_refused(mechanism):
    model, state = mechanism
    with pytest.raises(
        InputError, match=r"(?s)positions .* do not obey the loops of 'four-bar': loop 'cut' .*lg.assemble"
    ):
        lg.simulate(model, model.state(q=GUESS), t_end=1.0)
    with pytest.raises(InputError, match=r"speeds .* loop 'cut' is off by .* m/s"):
        lg.simulate(model, lm.State(state.q, np.array([1.0, 0.0, 0.0])), t_end=1.0)


def test_methods_that_know_no_constraints_say_so(mechanism):
    model, state = mechanism
    with pytest.raises(InputError, match="variational-exp does not know constraints"):
        lg.simulate(model, state, t_end=1.0, method="variational-exp", step=0.01)


# ---- implicit methods


def flexible_four_bar():
    """The same with a coupler that bends: steel, 2 m, 40 × 8 mm, the thin side in the plane."""
    steel = flex.Material(E=2.1e11, rho=7850.0, nu=0.3)
    fe = flex.beam(2.0, flex.rectangle(0.008, 0.04), steel, 10)
    coupler = flex.flexible_body(flex.reduce(fe, ["0", "10"], root="0", n_modes=2), "b", ["10"])
    joints = [
        lm.Revolute(name="crank", parent="world", child="a"),
        lm.Revolute(name="knee", parent="a", child="b", at="end", child_at="0"),
        lm.Revolute(name="rocker", parent="world", child="c", at=(2.0, 0, 0)),
    ]
    cut = lm.Revolute(name="cut", parent="b", child="c", at="10", child_at="end")
    return lm.Tree(
        [rod("a", 1.0, 5.0), coupler, rod("c", 1.5, 5.0)], joints, loops=[cut], gravity=(0, -9.81, 0), name="flexible"
    ).compile()


@pytest.fixture(scope="module")
def flexible():
    model = flexible_four_bar()
    return model, lg.assemble(model, model.state(q=GUESS), keep=["crank"])


@pytest.mark.parametrize("method", [li.GeneralisedAlpha, li.index_3_alpha(), li.generalised_alpha(1.0)], ids=repr)
def test_the_order_of_generalised_alpha_with_a_loop(mechanism, method):
    model, state = mechanism
    exact = lg.simulate(model, state, t_end=0.5, method="rkmk-5", step=1e-3, output=[0.5])
    errors = []
    for step in (0.01, 0.005):
        run = lg.simulate(model, state, t_end=0.5, method=method, step=step, output="steps")
        errors.append(np.abs(run.q[-1] - exact.q[-1]).max())
        values = dynamics.constraint_values(model, lm.State(np.array(run.q[-1]), np.array(run.v[-1])))
        assert np.abs(values.residual).max() < 1e-11
        if method.name.startswith("index-3"):
            # speeds miss theirs by O(h²)
            assert 1e-6 < np.abs(values.rate).max() < 3e-4
        else:
            assert np.abs(values.rate).max() < 1e-11
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.15)


@pytest.mark.parametrize("method", [li.GeneralisedAlpha, li.index_3_alpha()], ids=repr)
def test_a_disc_that_wobbles_rolls_by_implicit_methods_too(method):
    """Not integrable: speeds are constrained where positions are not.  Second order, energy nearly kept, no slip."""
    disc = lg.Body("disc", mass=2.0, inertia=(0.02, 0.02, 0.04))
    free = lm.Free(name="base", parent="world", child="disc")
    roll = lm.Rolling(name="roll", a="world", b="disc", radius=0.2)
    model = lm.Tree([disc], [free], loops=[roll], name="coin").compile()
    tilt = 1.2
    q = [np.cos(tilt / 2), np.sin(tilt / 2), 0, 0, 0, 0, 0.2 * np.sin(tilt)]
    state = lg.assemble(model, model.state(q={"base": q}, v={"base": [0.3, 1.0, 30.0, 0, 0, 0]}))
    exact = lg.simulate(model, state, t_end=0.6, method="rkmk-5", step=2e-3, output=[0.6])
    errors = []
    for step in (0.004, 0.002):
        run = lg.simulate(model, state, t_end=0.6, method=method, step=step, output="steps")
        errors.append(np.abs(run.q[-1] - exact.q[-1]).max())
        values = dynamics.constraint_values(model, lm.State(np.array(run.q[-1]), np.array(run.v[-1])))
        assert np.abs(values.residual).max() < 1e-10
        assert np.abs(values.rate[1:]).max() < 1e-7
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.15)
    assert np.abs(exact["energy"] - dynamics.balance(model, state).energy).max() < 1e-6


def test_modes_stay_where_they_are_while_a_mechanism_is_assembled(flexible):
    model, state = flexible
    modes = model.group.q["b"]
    assert np.abs(dynamics.constraint_values(model, state).residual).max() < 1e-12
    assert np.abs(state.q[modes]).max() < 1e-5


def test_a_stiff_mechanism_is_simulated_by_the_implicit_method(flexible):
    """Chosen by itself; the same motion as by an explicit method, which costs more."""
    model, state = flexible
    coarse = {"t_end": 0.3, "output": 0.05, "rtol": 1e-4, "atol": 1e-5}
    run = lg.simulate(model, state, **coarse)
    assert run.info.method == "adaptive-alpha-0.8"
    explicit = lg.simulate(model, state, method="rkmk-54", **coarse)
    assert run["crank.angle"] == pytest.approx(explicit["crank.angle"], abs=2e-3)
    assert run["rocker.angle"] == pytest.approx(explicit["rocker.angle"], abs=2e-3)
    assert explicit.info.steps > run.info.steps
    for q, v in zip(run.q, run.v, strict=True):
        values = dynamics.constraint_values(model, lm.State(np.array(q), np.array(v)))
        assert np.abs(values.residual).max() < 1e-11
        assert np.abs(values.rate).max() < 1e-9


def test_a_run_with_loops_goes_on_from_a_checkpoint(mechanism, tmp_path):
    """Cut short by an event that raises, then resumed: the same bits."""
    model, state = mechanism
    options = {"t_end": 1.0, "method": li.AdaptiveAlpha, "rtol": 1e-5, "output": 0.1, "checkpoint_every": 0.0}
    whole = lg.simulate(model, state, **options | {"checkpoint_every": 30.0})
    seen = []

    def stop(t, here):
        seen.append(t)
        if t > 0.5 and not resumed:
            raise KeyboardInterrupt
        return 1.0

    resumed = False
    file = tmp_path / "run.npz"
    first = lg.simulate(model, state, **options, events=[li.Event(stop)], checkpoint=file)
    assert not first.info.finished
    resumed = True
    again = lg.simulate(model, state, **options, events=[li.Event(stop)], checkpoint=file)
    assert again.info.finished
    assert np.array_equal(again.q, whole.q)
    assert np.array_equal(again.v, whole.v)


def test_what_a_function_of_ones_own_raises_reaches_the_caller():
    def wrong(model, state):
        raise RuntimeError("no idea")

    model = four_bar(loops=[lm.Custom(name="own", function=wrong)])
    with pytest.raises(RuntimeError, match="no idea"):
        dynamics.forward_dynamics(model, model.state())
    with pytest.raises(RuntimeError, match="no idea"):
        lg.assemble(model)


def test_derivatives_of_a_mechanism(mechanism):
    """Exact, by complex step through the loop, against differences."""
    model, state = mechanism
    exact = dynamics.forward_derivatives(model, state).v
    for k, e in enumerate(1e-6 * np.eye(3)):
        forth, back = (dynamics.forward_dynamics(model, lm.State(state.q, state.v + s * e)) for s in (1, -1))
        assert exact[:, k] == pytest.approx((forth - back) / 2e-6, abs=1e-6)


def test_rows_that_are_round_off_are_redundant():
    """A triangle of beams that bend in its plane only: of what closes it three of six say nothing."""
    X = np.eye(4)
    turn = 2 * np.pi / 3
    X[:2, :2] = [[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]
    fe = flex.beam(1.0, flex.circle(0.02), flex.Material(E=7e10, rho=2700.0, nu=0.3), 1)
    plane, held = (2, 3, 4), (0, 1, 5)
    modes = flex.reduce(fe, {"0": plane, "1": plane}, n_modes=0, root="0", fixed={"0": held, "1": held})
    bodies = [flex.flexible_body(modes, f"b{k}", ["1"]) for k in range(3)]
    joints = [
        lm.Free(name="base", parent="world", child="b0"),
        *(lm.Fixed(name=f"j{k}", parent=f"b{k}", child=f"b{k + 1}", at="1", child_at=X) for k in range(2)),
    ]
    cut = lm.Fixed(name="cut", parent="b2", child="b0", at="1", child_at=X)
    model = lm.Tree(bodies, joints, loops=[cut], gravity=(0, 0, 0)).compile()
    found = dynamics.redundant_rows(model, model.state())
    assert [row.what for row in found] == ["rotation x", "rotation y", "translation z"]


@pytest.mark.parametrize("n", [2, 3])
def test_equal_rods_share_their_load(n):
    """A block hangs on rods between the same points: of all multipliers that hold it the smallest are equal."""
    block = lg.Body("block", mass=2.0, inertia=(0.1, 0.1, 0.1))
    slide = lm.Prismatic(name="slide", parent="world", child="block", axis=(0, 0, 1))
    rods = [lm.Distance(name=f"rod{k}", a=("world", (0, 0, 3.0)), b="block", length=3.0) for k in range(n)]
    model = lg.Tree([block], [slide], loops=rods, gravity=(0, 0, -10.0)).compile()
    forces = dynamics.loop_forces(model, model.state())
    for rod in rods:
        assert np.abs(forces[rod.name]).max() == pytest.approx(20.0 / n, rel=1e-12)


# ---- laws of motion that cannot be followed

LAWS = {
    "two of three": (lambda t: (1.0, 2.0), r"inputs\['drive'\] returned \(1.0, 2.0\), expected value, rate and"),
    "too many numbers": (lambda t: ([1, 2], 3, 4), "returned 2, 1 and 1 numbers, expected 1, 1 and 1"),
    "two curves": (CubicSpline([0, 1, 2], np.zeros((3, 2))), "is a spline with 2 components, expected 1"),
    "no samples": (([0.0], [1.0]), "has 1 times and values of shape"),
    "not finite": (np.nan, "expected finite numbers"),
}


@pytest.mark.parametrize("law", LAWS)
def test_laws_that_cannot_be_followed(law):
    model = four_bar(loops=[lm.Motion(name="drive", joint="crank", law=LAWS[law][0])])
    with pytest.raises(InputError, match=LAWS[law][1]):
        lg.assemble(model)


def test_a_rotation_cannot_follow_a_spline():
    ball = lm.Spherical(name="ball", parent="world", child="a")
    spline = CubicSpline([0, 1, 2], np.zeros((3, 3)))
    tree = lm.Tree([rod("a", 1.0)], [ball], loops=[lm.Motion(name="turn", joint="ball", law=spline)])
    with pytest.raises(InputError, match="coordinates of joint 'ball' are an element of a group"):
        lg.assemble(tree.compile())


def test_a_law_of_samples_is_held_at_its_ends():
    """At rest there, where the derivative of the spline is not."""
    times = np.array([0.0, 0.5, 1.0])
    model = four_bar(loops=[lm.Motion(name="drive", joint="crank", law=(times, np.array([0.0, 0.1, 0.4])))])
    drive = Drive(model)
    q, v = model.state().q, model.state().v
    place = slice(model.nv, model.nv + 3)
    assert drive.values(0.5, q, v)[place][0] == pytest.approx(0.1)
    assert drive.values(2.0, q, v)[place] == pytest.approx([0.4, 0.0, 0.0], abs=1e-14)
    spline = CubicSpline(times, [0.0, 0.1, 0.4])
    assert drive.values(0.7, q, v)[place] == pytest.approx([float(spline(0.7, k)) for k in range(3)])


def test_speeds_that_cannot_obey(mechanism):
    model, state = mechanism
    fast = lm.State(state.q, np.array([1.0, 5.0, 0.0]))
    with pytest.raises(AssemblyError, match="the speeds of 'four-bar' cannot obey its loops: loop 'cut' is off by"):
        lg.assemble(model, fast, keep=["crank", "knee"])
