"""Every model in models/ as an FMU: valid, and the same motion as `liegeo.simulate`."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import fmpy
import numpy as np
import pytest
import yaml

import fmu_export
import fmu_export.inspection
import liegeo as lg
from fmu_export.host import OK, Instance, Unpacked
from fmu_export.package import settings_of
from fmu_export.variables import input_places, motion_inputs, structured
from liegeo.motion import Drive

# Those that are quick, and have a rotation, flexible bodies, inputs and loops among them.
QUICK = ("double_pendulum", "heavy_top")
FOLDER = Path(__file__).parents[2] / "models"
MODELS = [
    pytest.param(path, id=path.stem, marks=() if path.stem in QUICK else pytest.mark.slow)
    for path in sorted(FOLDER.glob("*.yaml"))
    # Steps are cut at samples of its controller, and a run from each communication point would begin it anew:
    # test_fmu_sampled.py has models with controllers, test_fmu_native.py this one.
    if path.stem != "pick_and_place"
]
# Those with nothing to drive from outside, but for prescribed motions.
UNDRIVEN = ("crane", "flexible_ring", "fls13_spin_up", "heavy_top", "scissor_mast")
STEPS = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fmus")


@pytest.mark.parametrize("path", MODELS)
def test_validates(path, folder):
    fmu = fmu_export.build(path, folder / f"{path.stem}.fmu")
    report = fmu_export.validate(fmu, isolated=False)
    assert report.ok, report


def held(mechanism, fmu):
    """The start values of the inputs, as `simulate` takes them and as an FMU does; motions at rest where they are."""
    model = mechanism.compile()
    variables = {v["name"]: v for v in fmu_export.inspection.variables_of(fmu) if v["role"] == "input"}
    by_place = {v["key"][0]: (name, v["start"]) for name, v in variables.items()}
    motions = motion_inputs(model)
    simulated, driven = {}, {}
    for name, part in input_places(model).items():
        if part.start not in by_place:
            continue
        values = np.array([by_place[place][1] for place in range(part.start, part.stop)])
        if name in motions:
            n = motions[name][1]
            values[n:] = 0.0
            simulated[name] = values[:n]
        else:
            simulated[name] = values
        driven |= {by_place[part.start + k][0]: float(value) for k, value in enumerate(values)}
    return {**mechanism.experiment.inputs, **simulated}, driven


def simulated(mechanism, inputs, h, steps):
    """The end of the run, and the run by `simulate` with so many steps of this size."""
    end, method = mechanism.experiment.start + steps * h, settings_of(mechanism, h, None).method
    # some files have tolerances, which methods of fixed step have no use for
    return end, mechanism.simulate(
        t_end=end, inputs=inputs, method=method, step=h, output="steps", rtol=1e-4, atol=1e-4
    )


def decimal_step(experiment):
    """1, 2 or 5 times a power of ten that makes some 2000 steps of an experiment, as people write steps."""
    span = (experiment.end - experiment.start) / 2000.0
    power = int(np.floor(np.log10(span) + 1e-9))
    return max(float(f"{digit}e{power}") for digit in (1, 2, 5) if float(f"{digit}e{power}") <= span * (1.0 + 1e-9))


def binary_step(experiment):
    return float(2.0 ** np.floor(np.log2((experiment.end - experiment.start) / 2000.0)))


@pytest.mark.parametrize("step_of", [decimal_step, binary_step], ids=["decimal", "binary"])
@pytest.mark.parametrize("path", MODELS)
def test_moves_as_simulated(path, folder, step_of):
    """With inputs that are held, fixed steps and three communication steps: to the bit."""
    mechanism = lg.load(path)
    experiment = mechanism.experiment
    h = step_of(experiment)
    fmu = fmu_export.build(path, folder / f"{path.stem}_fixed.fmu", step=h)
    inputs, driven = held(mechanism, fmu)
    end, expected = simulated(mechanism, inputs, h, STEPS)
    names = mechanism.compile().names
    column = {structured(name): name for name in [*names.table, *names.more]}
    factor = {v["name"]: v.get("factor", 1.0) for v in fmu_export.inspection.variables_of(fmu)}
    for per_step in (1, 5, 20):
        table = fmu_export.run(fmu, end, interval=float(f"{per_step * h:.15g}"), inputs=driven)
        assert len(table) == STEPS // per_step + 1
        for name in table.dtype.names[1:]:
            wanted = expected[column[name]][::per_step] / factor[name]
            if names.column(column[name]).source in (("q",), ("v",)):
                np.testing.assert_array_equal(table[name], wanted, err_msg=name)
            else:
                # computed in another order than by results, from the same bits
                scale = max(1.0, float(np.abs(wanted).max()))
                np.testing.assert_allclose(table[name], wanted, rtol=0.0, atol=1e-15 * scale, err_msg=name)


def test_steps_are_those_that_are_asked_for(folder):
    """0.29 s by 29 is not 0.01 s, but for round-off; both sides make steps of 0.01 s all the same."""
    h, n = 0.01, 29
    assert 0.29 / n != h
    path = FOLDER / "double_pendulum.yaml"
    fmu = fmu_export.build(path, folder / "hundredths.fmu", step=h)
    expected = lg.load(path).simulate(t_end=0.29, method="rkmk-4", step=h, output="steps")
    table = fmu_export.run(fmu, 0.29, interval=h, values={"integrator.method": "rkmk-4"})
    whole = fmu_export.run(fmu, 0.29, interval=0.29, values={"integrator.method": "rkmk-4"})
    for name in ("top.angle", "middle.speed"):
        np.testing.assert_array_equal(table[name], expected[name])
        assert whole[name][-1] == expected[name][-1]


@pytest.mark.slow
def test_friction_with_fixed_steps(folder):
    """A pendulum that friction stops and holds: steps of 1 ms end with what small ones of another method find."""
    path = folder / "brake.yaml"
    path.write_text(
        "liegeo: 1\nname: brake\n"
        "bodies:\n  rod: {kind: rigid, mass: 1 kg, com: [0, 0, -0.5], inertia: [0.09, 0.09, 0.01]}\n"
        "joints:\n  hinge: {kind: revolute, parent: world, child: rod, axis: [0, 1, 0], friction: 10 N*m}\n"
        "initial:\n  q: {hinge: 1 rad}\n  v: {hinge: 2 rad/s}\n"
        "experiment: {end: 200 ms, output: 10 ms}\n"
    )
    table = fmu_export.run(fmu_export.build(path, folder / "brake.fmu", step=1e-3), 0.2, interval=0.01)
    exact = lg.load(path).simulate(t_end=0.2, method="rkmk-4", step=1e-5, output=0.2)
    assert table["hinge.angle"][-1] == pytest.approx(exact["hinge.angle"][-1], abs=2e-3)
    assert table["hinge.speed"][-1] == pytest.approx(exact["hinge.speed"][-1], abs=1e-4)


def coordinates(fmu, model):
    """By name in the FMU: the column of a result and the factor, of all outputs that are coordinates or speeds."""
    names = model.names
    column = {structured(name): name for name in [*names.table, *names.more]}
    return {
        v["name"]: (column[v["name"]], v.get("factor", 1.0))
        for v in fmu_export.inspection.variables_of(fmu)
        if v["role"] == "output" and names.column(column[v["name"]]).source in (("q",), ("v",))
    }


@pytest.mark.parametrize("path", [model for model in MODELS if model.id not in UNDRIVEN])
def test_moves_as_simulated_where_inputs_jump(path, folder):
    """Each communication step, with its own inputs, is a run of `simulate` from where the last one ended."""
    mechanism = lg.load(path)
    model, experiment = mechanism.compile(), mechanism.experiment
    h = decimal_step(experiment)
    file = fmu_export.build(path, folder / f"{path.stem}_jumps.fmu", step=h)
    settings = settings_of(mechanism, h, None)
    inputs, driven = held(mechanism, file)
    by_place = {v["key"][0]: v for v in fmu_export.inspection.variables_of(file) if v["role"] == "input"}
    places = {
        name: [by_place[place] for place in range(part.start, part.stop)]
        for name, part in input_places(model).items()
        if part.start in by_place and name not in motion_inputs(model)
    }
    assert places
    size, rng, state = float(f"{5 * h:.15g}"), np.random.default_rng(8), mechanism.state()
    outputs = coordinates(file, model)
    with Unpacked(file) as unpacked, Instance(unpacked) as fmu:
        fmu.initialise(experiment.start, None, driven)
        for k in range(8):
            t = experiment.start + k * size
            jumped = {name: 0.01 * rng.normal(size=len(listed)) for name, listed in places.items()}
            for name, listed in places.items():
                factors = np.array([v.get("factor", 1.0) for v in listed])
                fmu.setReal(fmu.references([v["name"] for v in listed]), list(jumped[name] / factors))
            assert fmu.step(t, size) == OK, fmu.said()
            start = model.state(q=state.q, v=state.v, t=t)
            expected = lg.simulate(
                model, start, t + size, inputs={**inputs, **jumped}, method=settings.method, step=h, output="steps"
            )
            state = expected.end
            found = fmu.getReal(fmu.references(outputs))
            wanted = [expected[column][-1] / factor for column, factor in outputs.values()]
            # a run begins by closing loops once more, to what steps leave open: Newton's tolerance
            np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-9 if model.rows else 0.0)


def test_a_motion_that_is_driven_from_outside(folder):
    """The hub of the spin-up, turned by a master as its own law would: `simulate` with that law, to third order.

    Values, rates and accelerations are exact at communication points, and go on as parabolas between them.
    """
    path, faster, end = FOLDER / "fls13_spin_up.yaml", {"T": 6.0}, 2.0
    mechanism = lg.load(path, set=faster)
    fmu = fmu_export.build(path, folder / "turned.fmu", step=5e-3, set=faster)
    _, expected = simulated(mechanism, mechanism.experiment.inputs, 5e-3, 400)
    state, law = mechanism.state(), Drive(mechanism.compile())
    ((part, n),) = motion_inputs(mechanism.compile()).values()
    assert n == 1
    driven = {
        f"drive.{('value', 'rate', 'acceleration')[k]}": lambda t, place=part.start + k: law.values(
            t, state.q, state.v
        )[place]
        for k in range(3)
    }
    errors = []
    for per_step in (8, 4):
        table = fmu_export.run(fmu, end, interval=per_step * 5e-3, inputs=driven)
        pairs = {"hub.angle": "hub.angle", "beam_8.'4'.position.z": "beam_8.4.position.z"}
        errors.append([np.abs(table[name] - expected[column][::per_step]).max() for name, column in pairs.items()])
    assert np.ptp(expected["hub.angle"]) > 0.4
    assert np.ptp(expected["beam_8.4.position.z"]) > 2.0
    assert errors[0][0] / errors[1][0] == pytest.approx(8.0, abs=0.1)
    assert errors[0][1] / errors[1][1] == pytest.approx(8.0, abs=1.5)
    assert max(errors[1]) < 1e-5


@pytest.mark.parametrize("path", MODELS)
def test_fmpy_runs_it_to_the_same_bits(path, folder):
    """fmpy's simulate_fmu, with nothing said but when it ends."""
    h = decimal_step(lg.load(path).experiment)
    fmu = fmu_export.build(path, folder / f"{path.stem}_fmpy.fmu", step=h, interval=float(f"{5 * h:.15g}"))
    ours = fmu_export.run(fmu, 100 * h)
    theirs = fmpy.simulate_fmu(str(fmu), stop_time=100 * h)
    assert theirs.dtype.names == ours.dtype.names
    for name in ours.dtype.names[1:]:
        np.testing.assert_array_equal(theirs[name], ours[name], err_msg=name)
    np.testing.assert_allclose(theirs["time"], ours["time"], rtol=0.0, atol=1e-9 * h)


# Not the crane, whose boom would no longer be where the inputs of its motions say.
@pytest.mark.parametrize("path", [model for model in MODELS if model.id != "crane"])
def test_parameters_make_the_model_of_the_file_with_them(path, folder):
    """Masses, lengths, stiffness, damping and what else a file has, all at once: the bits of `lg.load(…, set=…)`."""
    h = decimal_step(lg.load(path).experiment)
    fmu = fmu_export.build(path, folder / f"{path.stem}_other.fmu", step=h)
    parameters = [v for v in fmu_export.inspection.variables_of(fmu) if v["role"] == "file"]
    changed = {v["name"]: 1.002 * v["start"] for v in parameters}
    assert parameters
    mechanism = lg.load(path, set={v["key"][0]: changed[v["name"]] for v in parameters})
    inputs, driven = held(mechanism, fmu)
    end, expected = simulated(mechanism, inputs, h, 10)
    values = {v["name"]: changed[v["name"]] / v.get("factor", 1.0) for v in parameters}
    found = fmu_export.run(fmu, end, interval=h, values=values, inputs=driven)
    usual = fmu_export.run(fmu, end, interval=h, inputs=driven)
    outputs = coordinates(fmu, mechanism.compile())
    for name, (column, factor) in outputs.items():
        np.testing.assert_array_equal(found[name], expected[column] / factor, err_msg=name)
    # but for a pendulum whose only parameter is zero, and a beam that is at rest with nothing to move it
    if path.stem not in ("fls13_pendulum_sid", "fls13_spin_up"):
        assert any((found[name] != usual[name]).any() for name in found.dtype.names)


@pytest.mark.parametrize("path", MODELS)
def test_every_column_of_a_result_can_be_an_output(path, folder):
    """Accelerations, forces and reactions, quaternions and twists of frames, deflections, modes, energies, momenta."""
    copy = folder / "models" / path.name
    if not copy.exists():
        shutil.copytree(FOLDER, copy.parent)
    document = dict(lg.load(path).document)
    copy.write_text(yaml.safe_dump(document | {"fmu": {"outputs": {"*": None}}}, sort_keys=False), encoding="utf-8")
    mechanism = lg.load(copy)
    h = decimal_step(mechanism.experiment)
    fmu = fmu_export.build(copy, folder / f"{path.stem}_all.fmu", step=h)
    inputs, driven = held(mechanism, fmu)
    end, expected = simulated(mechanism, inputs, h, 10)
    names = mechanism.compile().names
    known = [v["name"] for v in fmu_export.inspection.variables_of(fmu) if v["role"] in ("input", "output")]
    every = {structured(name): name for name in [*names.table, *names.more] if name != "time"}
    assert set(known) == set(every)
    table = fmu_export.run(fmu, end, interval=h, inputs=driven)
    for name in table.dtype.names[1:]:
        wanted = expected[every[name]]
        scale = max(1.0, float(np.abs(wanted).max()))
        np.testing.assert_allclose(table[name], wanted, rtol=0.0, atol=1e-12 * scale, err_msg=name)


def sums(h, n):
    return list(itertools.accumulate([0.0] + [h] * (n - 1))), [h] * n


def differences(h, n):
    times = [k * h for k in range(n + 1)]
    return times[:-1], list(np.diff(times))


def products(h, n):
    return [k * h for k in range(n)], [h] * n


@pytest.mark.slow
@pytest.mark.parametrize(("longest", "h"), [(0.01, 0.01), (0.009, 0.1 / 12)])
@pytest.mark.parametrize("clock", [products, sums, differences])
def test_masters_may_reckon_times_as_they_like(folder, clock, longest, h):
    """Times as products or as sums, sizes as they are or as differences: the same bits, those of `simulate`.

    The crane's winch and trolley follow laws of time, so that the times of internal steps show too.
    """
    mechanism = lg.load(FOLDER / "crane.yaml")
    file = fmu_export.build(FOLDER / "crane.yaml", folder / "clocks.fmu", step=longest)
    outputs = coordinates(file, mechanism.compile())
    with Unpacked(file) as unpacked, Instance(unpacked) as fmu:
        fmu.initialise(0.0, None)
        for k, (t, size) in enumerate(zip(*clock(0.1, 30), strict=True)):
            if k % 7 == 3:
                # some way ahead, in steps of another size, and back
                state = fmu.getFMUstate()
                assert fmu.step(t, 0.025) == OK, fmu.said()
                assert fmu.step(t + 0.025, 0.1) == OK, fmu.said()
                fmu.setFMUstate(state)
                fmu.freeFMUstate(state)
            assert fmu.step(t, size) == OK, fmu.said()
        found = fmu.getReal(fmu.references(outputs))
    _, expected = simulated(mechanism, mechanism.experiment.inputs, h, round(3.0 / h))
    np.testing.assert_array_equal(found, [expected[column][-1] / factor for column, factor in outputs.values()])


def test_modes_have_initial_values(folder):
    """An arm that is bent, and bending, where it starts."""
    mechanism = lg.load(FOLDER / "flexible_arm.yaml")
    file = fmu_export.build(FOLDER / "flexible_arm.yaml", folder / "bent.fmu", step=1e-3)
    model, state = mechanism.compile(), mechanism.state()
    names = model.names
    q, v = state.q.copy(), state.v.copy()
    q[names.column("upper.eta[1]").place], v[names.column("lower.etad[0]").place] = 2e-3, -0.03
    inputs, driven = held(mechanism, file)
    method = settings_of(mechanism, 1e-3, None).method
    expected = lg.simulate(model, model.state(q=q, v=v), 0.02, inputs=inputs, method=method, step=1e-3, output="steps")
    values = {"initial.upper.eta[1]": 2e-3, "initial.lower.etad[0]": -0.03}
    table = fmu_export.run(file, 0.02, interval=1e-3, values=values, inputs=driven)
    np.testing.assert_array_equal(table["elbow.angle"], expected["elbow.angle"])
    assert abs(expected["elbow.angle"][-1] - fmu_export.run(file, 0.02, inputs=driven)["elbow.angle"][-1]) > 1e-6
