"""The files of models/: each loads, says where its numbers come from, runs, survives being written; those of sources
meet the sources, and those that tests also build in Python are the same."""

from __future__ import annotations

import functools
import json
import re
import shutil
import sys
from collections import OrderedDict
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import scipy.integrate
import scipy.linalg

import liegeo as lg
from liegeo import dynamics, flex, operators
from liegeo.io import flexible, source
from liegeo.model import State
from liegeo.model.constraints import Motion
from liegeo.model.drives import Motor
from liegeo.model.forces import Actuator

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "tests" / "loops"), str(ROOT / "tests" / "flex")]

import mechanisms  # noqa: E402
import published  # noqa: E402
import test_beams as m01  # noqa: E402

MODELS = sorted((ROOT / "models").glob("*.yaml"))
PRINTED = {"crank.E": "50 MPa", "rod.E": "1 GPa", "rho": 2767}


@functools.cache
def _loaded(name):
    return lg.load(ROOT / "models" / f"{name}.yaml")


def load(name, **given):
    return lg.load(ROOT / "models" / f"{name}.yaml", set=given) if given else _loaded(name)


def same(a, b):
    """Whether two compiled models are equal to the bit."""
    return np.array_equal(a.fingerprint, b.fingerprint) and a.floats.tobytes() == b.floats.tobytes()


# ---- all of them


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.stem)
def test_every_model_keeps_to_the_schema_and_says_where_its_numbers_come_from(path):
    text = path.read_text("utf-8")
    assert text.startswith("# yaml-language-server: $schema=../docs/model.schema.json\n")
    jsonschema.Draft202012Validator(lg.io.schema()).validate(source.read(path).data)
    mechanism = load(path.stem)
    cited = set(re.findall(r"\[([A-Z]+\d\d)\b", mechanism.description))
    known = set(re.findall(r"^\| ([A-Z]+\d\d) \|", (ROOT / "docs/references.md").read_text("utf-8"), re.MULTILINE))
    assert cited <= known
    assert cited or re.search(r"chosen|our own|Source|liegeo\.analysis", mechanism.description)
    for page in ("models/README.md", "docs/gallery.md"):
        assert path.name in (ROOT / page).read_text("utf-8"), page
    assert mechanism.fmu.outputs
    assert mechanism.experiment.end > 0.0


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.stem)
def test_every_model_survives_being_written(path, tmp_path):
    mechanism = load(path.stem)
    if "data/" in path.read_text("utf-8"):
        shutil.copytree(ROOT / "models/data", tmp_path / "data")
    again = lg.load(lg.save(mechanism, tmp_path / "again.yaml"))
    assert same(mechanism.compile(), again.compile())
    assert again.parameters == mechanism.parameters
    a, b = mechanism.state(), again.state()
    assert (a.q.tobytes(), a.v.tobytes(), a.t) == (b.q.tobytes(), b.v.tobytes(), b.t)
    if any(isinstance(loop, Motion) for loop in mechanism.tree.loops):
        with pytest.raises(lg.errors.ModelError, match="a function or spline, which a file cannot hold"):
            lg.save(mechanism.tree, tmp_path / "numbers.yaml")
    else:
        by_numbers = lg.load(lg.save(mechanism.tree, tmp_path / "numbers.yaml"))
        assert same(mechanism.compile(), by_numbers.compile())


# Nothing drives or damps them: how much of the largest kinetic energy may be lost or won in a tenth of the experiment.
CONSERVATIVE = {
    "bricard": 1e-6,
    "double_pendulum": 1e-6,
    "flexible_ring": 1e-4,
    "fls13_pendulum": 1e-6,
    "fls13_pendulum_sid": 1e-6,
    "heavy_top": 1e-6,
}


# Driven, but not damped.
UNDAMPED = ("andrews_squeezer", "fls13_slider_crank")


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.stem)
def test_every_experiment_runs(path):
    """Its first tenth: loops stay closed, and energy comes from what drives it."""
    name, mechanism = path.stem, load(path.stem)
    model, start = mechanism.compile(), mechanism.experiment.start
    end = start + 0.1 * (mechanism.experiment.end - start)
    run = mechanism.simulate(t_end=end, output=np.linspace(start, end, 201))
    assert np.isfinite(run.q).all()
    # a start at rest that nothing moves would show nothing
    assert np.abs(run.v).max() > 1e-3
    if model.rows:
        for k in (0, 100, 200):
            values = dynamics.constraint_values(model, run.state(k), inputs=run.u[k, model.nv :])
            assert np.abs(values.residual).max() < 1e-8
    gained = run["energy"] - run["energy"][0]
    if name in CONSERVATIVE:
        assert not mechanism.experiment.inputs
        assert np.abs(gained).max() < CONSERVATIVE[name] * np.abs(run["energy.kinetic"]).max()
    elif not any(isinstance(loop, Motion) for loop in mechanism.tree.loops):
        work = scipy.integrate.cumulative_trapezoid(power(mechanism, run), run.t, initial=0.0)
        lost, scale = work - gained, np.abs(work).max()
        assert lost.min() > -0.02 * scale
        assert name not in UNDAMPED or lost.max() < 0.02 * scale


def power(mechanism, run):
    """Of the joints' own torques, and of motors behind their gears."""
    model, nv = run.model, run.model.nv
    found = np.sum(run.u[:, :nv] * run.v, axis=1)
    for force in mechanism.tree.forces:
        if isinstance(force, Actuator):
            given = np.clip(run[f"{force.name}.input"], -force.limit, force.limit)
            found += force.gear * given * run.v[:, model.group.v[force.joint].start + force.speed]
        elif isinstance(force, Motor):
            found += run[f"{force.name}.voltage"] * run[f"{force.name}.current"]
    return found


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.stem)
def test_every_parameter_is_used(path):
    expressions = " ".join(re.findall(r"\$\((.*?)\)(?=[,\]}\s]|$)", path.read_text("utf-8"), re.MULTILINE))
    used = set(re.findall(r"[A-Za-z_][\w.]*", expressions))
    assert set(load(path.stem).parameters) <= used


# ---- those that are also built in Python


@pytest.mark.parametrize(
    ("name", "given", "build"),
    [
        ("fls13_pendulum", {}, lambda: published.pendulum(4, n_elements=4, n_modes=1, stiffening=True)),
        ("fls13_slider_crank", {}, lambda: published.slider_crank("literature", **published.one_body_each())),
        ("fls13_slider_crank", PRINTED, lambda: published.slider_crank("printed", **published.one_body_each())),
        ("fls13_spin_up", {}, lambda: published.spinning_beam(4, how="both", n_bodies=8)),
        ("fls13_spin_up", {"g_0": 9.81}, lambda: published.spinning_beam(4, True, how="both", n_bodies=8)),
        ("bricard", {}, lambda: mechanisms.bricard()[0]),
    ],
)
def test_files_compile_to_the_models_of_python(name, given, build):
    model, other = load(name, **given).compile(), build()
    assert np.array_equal(model.fingerprint, other.fingerprint)
    assert np.array_equal(model.floats, other.floats)


@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("sy16_four_bar", lambda: published.four_bar(n_modes=4)[0]),
        ("andrews_squeezer", lambda: mechanisms.andrews()[1]),
        ("flexible_ring", lambda: published.ring(8, 4, 0)),
    ],
)
def test_files_accelerate_as_the_models_of_python(name, build):
    """Undeformed, in a random posture: last digits differ, and modes of equal frequency may be mixed."""
    model, other = load(name).compile(), build()
    rng = np.random.default_rng(7)
    joints = [joint.name for joint in model.tree.joints if joint.name in model.group.v]
    moving = np.concatenate([np.r_[model.group.v[joint]] for joint in joints])
    step, v = np.zeros((2, model.nv))
    step[moving], v[moving] = rng.standard_normal((2, len(moving)))
    state = State(model.group.retract(model.state().q, step), v)
    found, expected = (dynamics.forward_dynamics(m, state)[moving] for m in (model, other))
    assert np.abs(found - expected).max() < 1e-11 * np.abs(expected).max()


# ---- what the sources say


def frequencies(K, M, count=None):
    """Hz."""
    return np.sqrt(scipy.linalg.eigh(K, M, eigvals_only=True)[:count]) / (2 * np.pi)


def test_andrews_squeezer_to_the_published_digits():
    data = json.loads((ROOT / "tests/references/andrews.json").read_text("utf-8"))
    run = load("andrews_squeezer").simulate(rtol=1e-10, atol=1e-11, output=[data["t_end"]])
    end = data["end"]
    assert [run[f"{name}.angle"][-1] for name in data["angles"]] == pytest.approx(end["angles"], abs=3e-9)
    assert [run[f"{name}.speed"][-1] for name in data["angles"]] == pytest.approx(end["rates"], rel=1e-7)


def test_bricard_moves_as_the_independent_solution():
    table = published.reference("bricard")
    run = load("bricard").simulate(output=table["t"])
    assert run["rod1.end.position"] == pytest.approx(np.stack([table[axis] for axis in "xyz"], axis=1), abs=1e-5)


def test_the_four_bar_trembles_in_its_acceleration_only():
    """[SY16, section 3]; shares of the range of the same mechanism with a rigid link 2, as in docs/mechanisms.md."""
    run = load("sy16_four_bar").simulate(t_end=1.0)
    model, state = published.four_bar(flexible=False)
    rigid = lg.simulate(model, state, t_end=1.0, inputs={"A": published.drive}, output=run.t, rtol=1e-8, atol=1e-9)
    shares = {}
    for what in ("position", "velocity", "acceleration"):
        bent, stiff = (r[f"link3.center.{what}"][:, :2] for r in (run, rigid))
        shares[what] = np.abs(bent - stiff).max() / np.ptp(stiff, axis=0).max()
    assert shares["position"] < 5e-4
    assert shares["velocity"] < 5e-3
    assert 2e-2 < shares["acceleration"] < 0.2


def test_pendulums_swing_as_the_reference():
    """[FLS13, 5.1]: from beams, and from SID, one body."""
    table = published.reference("fls13_pendulum")
    rows = table["t"] < 0.25 + 1e-9
    expected = {name: column[rows] for name, column in table.items()}
    run = load("fls13_pendulum").simulate(t_end=0.25, output=expected["t"])
    found = published.differences(published.pendulum_curves(run), expected)
    assert found["root_angle"] < 3e-4
    assert found["tip_offset"] < 1e-2
    run = load("fls13_pendulum_sid").simulate(t_end=0.25, output=expected["t"])
    root = run["hinge.angle"]
    along = np.stack([np.cos(root), np.sin(root)], axis=1)
    curves = {"root_angle": root, "tip_offset": published.left_of(along, run["rod.20.position"])}
    found = published.differences(curves, expected)
    assert found["root_angle"] < 3e-4
    assert found["tip_offset"] < 2e-2


@pytest.mark.parametrize(("reading", "given"), [("literature", {}), ("printed", PRINTED)])
def test_the_slider_crank_slides_as_the_reference(reading, given):
    """[FLS13, 5.2], through the end of its torque."""
    table = published.reference(f"fls13_slider_crank_{reading}")
    rows = table["t"] < 0.8 + 1e-9
    run = load("fls13_slider_crank", **given).simulate(t_end=0.8, output=table["t"][rows])
    slider = run["rod.12.position"]
    assert np.abs(slider[:, 0] - table["slider"][rows]).max() < 5e-4 * np.abs(table["slider"]).max()
    assert np.abs(slider[:, 1]).max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("speed", "gravity"), [(2, False), (10, False), (2, True), (4, True), (10, True)])
def test_the_beam_spins_up_as_the_reference(speed, gravity):
    """[FLS13, 5.3]; with gravity it begins at rest (`settle`), as in figures 11 and 12."""
    table = published.reference(f"fls13_spin_up_{speed}{'_gravity' if gravity else ''}")
    run = load("fls13_spin_up", speed=speed, **({"g_0": 9.81} if gravity else {})).simulate(output=table["t"])
    found = published.differences(published.spinning_curves(run, speed), table)
    assert found["lateral"] < 6e-4
    assert found["radial"] < 8e-4
    assert not gravity or found["vertical"] < 5e-4


def docked(**given):
    """Frequencies of the platform with its base locked, and panels without weight."""
    light = {"panel.rho": 1e-6, "payload.inertia": 1e-6, "band": "5 kHz"}
    model = load("m01_platform", **(light | given)).compile()
    state, place = model.state(), np.r_[model.group.v["carrier"]]
    M = dynamics.mass_matrix(model, state)[np.ix_(place, place)]
    # the stiffness of the modes is diagonal: an unstressed body
    K = np.asarray(next(body for body in model.tree.bodies if body.name == "carrier").K)
    return frequencies(K, M)


@pytest.mark.parametrize(
    ("table", "given"),
    [
        pytest.param(m01.TABLE_VII_3, {}, id="VII-3"),
        pytest.param(m01.TABLE_VII_7, {"payload.mass": 80}, id="VII-7"),
        pytest.param(m01.TABLE_VII_9, {"payload.inertia": 100}, id="VII-9"),
    ],
)
def test_the_docked_platform_has_the_frequencies_of_the_thesis(table, given):
    """[M01], the finite-element columns, all thirty lines."""
    printed = np.array(table.split(), dtype=float)
    assert docked(**given)[: len(printed)] == pytest.approx(printed, rel=6e-5)


def test_the_platform_as_it_is_given_has_the_first_frequencies_of_the_thesis():
    """[M01, table VII-2]: the modes up to 200 Hz are enough for the first six to a ten-thousandth."""
    carrier = load("m01_platform").tree.bodies[0]
    printed = np.array(m01.TABLE_VII_2.split(), dtype=float)[:6]
    assert frequencies(carrier.K, carrier.M_e, 6) == pytest.approx(printed, rel=1.5e-4)


@pytest.mark.parametrize("table", m01.TABLES_APPENDAGE)
def test_the_panels_have_the_frequencies_of_the_thesis(table):
    """[M01, tables VII-19 to 21], as many lines as there are modes up to 150 Hz."""
    E, rho, text = m01.TABLES_APPENDAGE[table]
    panel = load("m01_platform", **{"panel.E": E, "panel.rho": rho}).tree.bodies[1]
    printed = np.array(text.split(), dtype=float)
    printed = printed[printed < 150.0]
    assert len(printed) >= 6
    assert frequencies(panel.K, panel.M_e, len(printed)) == pytest.approx(printed, rel=5e-5)


def test_the_manipulator_is_a_case_of_table_1():
    """[JR90]: six flexible bodies with five cantilever modes; the inverse of its mass matrix by innovations."""
    mechanism = load("jr90_manipulator")
    model, state = mechanism.compile(), mechanism.state()
    links = [body for body in mechanism.tree.bodies if body.name.startswith("link")]
    assert [body.n_modes for body in links] == [5] * 6
    for body in links:
        assert not np.any(body.nodes["0"].modes)
    M = dynamics.mass_matrix(model, state)
    inverse = operators.mass_matrix_inverse(model, state)
    assert inverse @ M == pytest.approx(np.eye(model.nv), abs=1e-8)


def test_the_spacecraft_exchanges_momentum_with_its_wheels():
    """[ST21, (53)]: no torque from outside.  The slew ends near its goal, the wheels back at their speeds."""
    run = load("st21_spacecraft").simulate(accuracy="1 um")
    H, wheels = run["momentum.angular"], 0.1 * 100.0
    assert np.abs(H).max() < 1e-6 * wheels
    w, _, _, z = run["orbit.quaternion"][-1]
    angle = np.degrees(2 * np.arctan2(z, w))
    assert angle == pytest.approx(20.0, abs=1.0)
    # one run is the same as three, each with torques that do not change
    mechanism = load("st21_spacecraft")
    model, state = mechanism.compile(), mechanism.state()
    for torque, end in ((-1.1, 10.0), (1.1, 20.0), (0.0, 40.0)):
        inputs = {f"wheel_{k}": torque for k in range(1, 5)}
        state = lg.simulate(
            model, state, end, inputs=inputs, method=run.info.method, accuracy="1 um", progress=False
        ).end
    w, _, _, z = state.q[:4]
    # to the accuracy asked for, at some metres
    assert angle == pytest.approx(np.degrees(2 * np.arctan2(z, w)), abs=2e-4)
    for k, sign in enumerate((1, -1, 1, -1), 1):
        assert run[f"wheel_{k}.speed"][-1] == pytest.approx(100.0 * sign, abs=1.0)


def test_the_link_has_calculix_own_frequencies():
    """Clamped, without payload."""
    printed = json.loads((ROOT / "models/data/link.json").read_text("utf-8"))["frequencies"]
    link = load("calculix_link").tree.bodies[1]
    assert frequencies(link.K, link.M_e, 2) == pytest.approx(printed[:2], rel=2e-3)


def test_the_crane_carries_its_load():
    """While it waits, from when the boom has settled: on average what the load's motion leaves of its weight."""
    mechanism = load("crane", wait=6)
    run = mechanism.simulate(t_end=6.0, output=np.linspace(2.0, 6.0, 401))
    line = run["boom.10.position"] - run["load.hook.position"]
    length = np.linalg.norm(line, axis=1)
    pull = 2e6 * (length - 8.0) * line[:, 2] / length
    lifted = np.ptp(run["load.hook.velocity"][[0, -1], 2]) / 4.0
    assert pull.mean() == pytest.approx(3000 * 9.81, rel=0.02 + lifted / 9.81)
    # moments about the foot of the boom: load, boom, half of the cylinder
    head = run["boom.3.position"].mean(axis=0) - [0.0, 0.0, 2.0]
    along = head - [2.0, 0.0, 0.8 - 2.0]
    arm = np.cross(along / np.linalg.norm(along), head)[1]
    weights = 3000 * run["boom.10.position"][:, 0].mean() + 200 * head[0]
    weights += np.asarray(mechanism.tree.bodies[1].moment)[0] * np.cos(run["luff.angle"].mean())
    assert run["luffing.tau"].mean() * arm == pytest.approx(9.81 * weights, rel=0.03)


# ---- the gallery


COMMANDS = re.findall(r"^(liegeo .+)$", (ROOT / "docs/gallery.md").read_text("utf-8"), re.MULTILINE)


def test_the_gallery_has_a_command_and_a_picture_for_every_model():
    text = (ROOT / "docs/gallery.md").read_text("utf-8")
    for path in MODELS:
        assert f"(figures/gallery_{path.stem}.png)" in text
        assert any(f" models/{path.name} " in command for command in COMMANDS), path.name
        assert (ROOT / "docs/figures" / f"gallery_{path.stem}.png").stat().st_size < 80_000


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_gallery_name_what_there_is(command):
    name = re.search(r"models/(\w+)\.yaml", command)[1]
    mechanism = load(name, **dict(pair.split("=") for pair in re.findall(r"--set (\S+)", command)))
    names = mechanism.compile().names
    for column in re.findall(r"(?:-c|--plot) (\S+)", command):
        assert column.endswith(".png") or names.match([column])
    for frame in re.findall(r"--trace (\S+)", command):
        assert names.match([f"{frame}.position"])


def test_modes_are_computed_again_only_where_they_would_be_others(monkeypatch):
    """A changed payload or damping keeps the reductions of the links, to the bit; a changed wall makes them anew."""
    monkeypatch.setattr(flexible, "STORE", flex.ReductionStore(most_bytes=0))
    monkeypatch.setattr(flexible, "_BODIES", OrderedDict())
    calls, shapes = [], flex.Component.shapes
    monkeypatch.setattr(flex.Component, "shapes", lambda *args: calls.append(1) or shapes(*args))
    first = lg.load("models/flexible_arm.yaml")
    assert len(calls) == 2
    changed = lg.load("models/flexible_arm.yaml", set={"payload.mass": "1 kg", "damping": "3 %"})
    assert len(calls) == 2
    flexible.STORE.forget()
    flexible._BODIES.clear()
    anew = lg.load("models/flexible_arm.yaml", set={"payload.mass": "1 kg", "damping": "3 %"})
    assert changed.compile().floats.tobytes() == anew.compile().floats.tobytes()
    assert changed.compile().floats.tobytes() != first.compile().floats.tobytes()
    lg.load("models/flexible_arm.yaml", set={"lower.wall": "2 mm"})
    assert len(calls) == 5
