"""System files: what they say, all that is wrong with one told together, and what is written back."""

from __future__ import annotations

import re
import zipfile

import cosim_fixtures
import numpy as np
import pytest

from fmu_export.cosim import FMU, Connection, CosimExperiment, CosimSystem, Crossing, Linear, load_system, save_system
from fmu_export.cosim.fmu_file import CosimVariable
from fmu_export.cosim.measures import conversion, from_base, from_name
from fmu_export.cosim.system import value_of
from liegeo.errors import InputError, ModelError, ModelFileError

built = cosim_fixtures.built
folder = cosim_fixtures.folder

TEXT = """\
cosim: 2
name: loop
description: a mass under a controller in millimetres
fmus:
  plant:
    fmu: mass.fmu
    start: {x0: 100 mm, m: 1}
  control:
    fmu: pd_mm.fmu
    start: {r: 0.5 m, kp: 0.008}
    every: 2
connections:
  - plant.x -> control.y
  - plant.v->control.v
  - {from: control.u, to: plant.force, factor: 1, offset: 0.25}
outputs: [plant.*, control.u]
experiment:
  end: 2 s
  step: 10 ms
  algorithm: gauss-seidel
  order: [control, plant]
  extrapolation: linear
  feedthrough: false
  events: [0.5 s, 1.25]
"""


def problems(path):
    with pytest.raises(ModelFileError) as caught:
        load_system(path)
    return [str(problem) for problem in caught.value.problems]


def test_file_says_what_it_says(folder):
    system = load_system(folder(TEXT, "mass", "pd_mm"))
    assert (system.name, list(system.fmus)) == ("loop", ["plant", "control"])
    assert system.starts == {"plant": {"x0": 0.1, "m": 1.0}, "control": {"r": 500.0, "kp": 0.008}}
    assert system.fmus["control"].every == 2
    assert [link.linear for link in system.links] == [Linear(1000.0), Linear(), Linear(1.0, 0.25)]
    want = CosimExperiment(
        0.0, 2.0, 0.01, "gauss-seidel", ("control", "plant"), "linear", 0, False, instants=(0.5, 1.25)
    )
    assert system.experiment == want
    assert system.simulate(0.1).names == ("time", "plant.x", "plant.v", "plant.a", "control.u")


def test_file_is_written_back(folder, tmp_path):
    system = load_system(folder(TEXT, "mass", "pd_mm"))
    again = load_system(save_system(system, tmp_path / "again.yaml"))
    for key in ("fmus", "connections", "outputs", "experiment", "name", "description"):
        assert getattr(again, key) == getattr(system, key), key
    watched = system.changed(
        fmus={name: FMU(fmu.file, fmu.start) for name, fmu in system.fmus.items()},
        experiment=CosimExperiment(end=1.0, tolerance=1e-3, crossings=(Crossing("plant.x", "20 cm", "up", True),)),
    )
    again = load_system(save_system(watched, tmp_path / "watched.yml"))
    assert again.experiment == watched.experiment
    np.testing.assert_array_equal(again.simulate(step=0.1).table, watched.simulate(step=0.1).table)
    (tmp_path / "inner").mkdir()
    with pytest.raises(InputError, match=r"FMU 'plant' is mass\.fmu in another folder .* or write an \.ssp"):
        save_system(system, tmp_path / "inner" / "away.yaml")
    with pytest.raises(InputError, match=r"save_system: 'a\.txt' ends in '\.txt', expected one of"):
        save_system(system, tmp_path / "a.txt")


def test_all_problems_are_told_with_their_lines(folder):
    text = """\
cosim: 3
fmu: {}
fmus:
  plant: {fmu: mass.fmu, start: {x0: 3 kg, y0: 1, x: 2}}
  control: {fmu: pd.fmu, every: 0}
  other: {fmu: ../mass.fmu}
  third: {fmu: mas.fmu}
  fourth: {start: {}}
connections:
  - plant.x -> control.v
  - plant.x -> control.z
  - plan.x -> control.y
  - third.x -> control.y
  - control.u -> plant.force
  - control.u -> plant.force
  - control.y -> plant.force
  - plant.x
  - {to: plant.force}
  - 3
outputs: [plant.x, nothing.*]
experiment:
  end: 2 kg
  step: -1 ms
  algorithm: euler
  order: [plant]
  iterations: two
  feedthrough: 1
  events: [{crosses: 1}, {when: plant.q}, {when: plant.x, direction: left}, {when: plant.x, stop: 1}]
"""
    found = problems(folder(text, "mass", "pd"))
    for line in (
        "system.yaml:1:1: cosim is 3, expected 1 to 2, the version of the format.",
        "system.yaml:2:1: fmu is no key here. Did you mean 'fmus'?",
        "fmus.plant.start.x0 is '3 kg', which is a mass, expected something in 'm'.",
        "fmus.plant.start.y0 is no variable of 'mass.fmu'. There are: m, d",
        "fmus.plant.start.x is computed by the FMU (output), expected a parameter",
        "fmus.control.every is 0, expected a number of macro steps",
        "system.yaml:6:11: fmus.other.fmu is '../mass.fmu', expected a file in the folder",
        "fmus.third.fmu is 'mas.fmu', which is not a file in the folder of the model. Did you mean 'mass.fmu'?",
        "system.yaml:8:3: fmus.fourth.fmu is missing, expected the name of a file.",
        "system.yaml:10:5: connections[0] 'plant.x -> control.v' connects 'm' to 'm/s', which are of different",
        "'plant.x -> control.z' names 'control.z', which is no variable of FMU 'control'. There are: r, y, v.",
        "'plan.x -> control.y' names 'plan.x', but there is no FMU 'plan'. Did you mean 'plant'?",
        "system.yaml:15:5: connections[5] 'control.u -> plant.force' drives an input that",
        "names 'control.y', which is of causality input, expected an output.",
        "connections[7] 'plant.x' is no connection, expected fmu.output -> fmu.input.",
        "connections[8] has no 'from', expected from and to.",
        "connections[9] is 3, expected fmu.output -> fmu.input.",
        "experiment.end is '2 kg', which is a mass, expected a time in s.",
        "experiment.step is -0.001, must be > 0.",
        "experiment.algorithm is 'euler', expected jacobi or gauss-seidel.",
        "experiment.iterations is 'two', expected how often a step is repeated",
        "experiment.feedthrough is 1, expected true or false.",
        "experiment.events[0] has no 'when', expected fmu.variable",
        "experiment.events[2].direction is 'left', expected both, up, down.",
        "experiment.events[3].stop is 1, expected true or false.",
    ):
        assert any(line in entry for entry in found), (line, found)
    # what names an FMU with a problem of its own is none
    assert not any("'third'" in entry or "third.x" in entry for entry in found)
    assert found == sorted(found, key=lambda entry: int(entry.split(":")[1]))


def test_the_older_key_of_fmus_is_read(folder):
    """Files that have `units` where `fmus` stands now: the same system, and problems at the key that the file has."""
    older = TEXT.replace("cosim: 2\n", "cosim: 1\n").replace("\nfmus:\n", "\nunits:\n")
    assert older.startswith("cosim: 1\n")
    assert "\nfmus:" not in older
    system, expected = load_system(folder(older, "mass", "pd_mm")), load_system(folder(TEXT, "mass", "pd_mm"))
    assert (system.fmus, system.links) == (expected.fmus, expected.links)
    (found,) = problems(folder("cosim: 1\nunits: {a: lag.fmu, b: none.fmu}\n", "lag"))
    assert "system.yaml:2:21: units.b.fmu is 'none.fmu', which is not a file" in found
    (found,) = problems(folder("cosim: 1\nunits: {a: lag.fmu}\nfmus: {a: lag.fmu}\n", "lag"))
    assert "2:1: units is the older name of 'fmus', which the file has too; keep one of them." in found


def test_patterns_and_crossings_are_checked(folder):
    text = "cosim: 1\nfmus: {a: lag.fmu}\noutputs: [b.*]\nexperiment: {events: [{when: a.q}]}\n"
    found = problems(folder(text, "lag"))
    assert any("outputs[0] 'b.*' matches no variable" in entry for entry in found)
    assert any(
        "system.yaml:4:23: experiment.events[0] names 'a.q', but there is no variable 'q' in FMU 'a'" in entry
        for entry in found
    )
    text = "cosim: 1\nfmus: {a: clock.fmu}\nexperiment: {events: [{when: a.ticks}, x]}\n"
    found = problems(folder(text, "clock"))
    assert any("names 'a.ticks', which is of type Integer, expected Real" in entry for entry in found)
    assert any("experiment.events[1] is 'x', expected a time in s" in entry for entry in found)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "liegeo: 1\nbodies: {}\n",
            "is the file of a model, expected a system of FMUs; make an FMU of it with liegeo fmu",
        ),
        ("cosim: 1\n", "fmus is empty, expected at least one FMU"),
        ("- 1\n", "is [1], expected a mapping"),
        ("cosim: 1\nfmus: []\nconnections: {}\n", "connections is an empty mapping, expected a list"),
        ("cosim: 1\nname: 3\nfmus: {a: lag.fmu}\n", "name is 3, expected text"),
        ("cosim: 1\nfmus: {'a b': lag.fmu}\n", "is called 'a b', expected a name without blanks"),
        ("cosim: 1\nfmus: {a: text.fmu}\n", "'text.fmu' is no FMU: "),
        (
            "cosim: 1\nfmus: {a: lag.fmu}\nexperiment: {memory: 2 s}\n",
            "experiment.memory is no longer needed, because the",
        ),
        ("cosim: !!python/object 1\n", "nothing in a model file is executed"),
    ],
)
def test_file_that_is_none(folder, tmp_path, text, said):
    (tmp_path / "text.fmu").write_text("no zip")
    found = problems(folder(text, "lag"))
    assert any(said in entry for entry in found), found


def test_wrong_suffix(tmp_path):
    with pytest.raises(InputError, match=r"load_system: 'a\.json' ends in '\.json', expected one of \.yaml"):
        load_system(tmp_path / "a.json")
    with pytest.raises(ModelFileError, match="cannot be read: No such file"):
        load_system(tmp_path / "none.yaml")


def test_system_in_python_tells_all_problems(built):
    with pytest.raises(
        ModelError, match=r"system 'x': 2 problems:\nfmus\.a\.fmu 'no\.fmu' cannot be read: No such file"
    ) as e:
        CosimSystem({"a": FMU("no.fmu"), "b": FMU(built("lag"), {"T": "fast"})}, name="x")
    assert "fmus.b.start.T is 'fast', expected a finite number in s, or with a unit." in str(e.value)
    with pytest.raises(InputError, match="'a => b' is no connection"):
        CosimSystem({"a": FMU(built("lag"))}, ["a => b"])


def test_types_must_be_alike(built):
    fmus = {"clock": FMU(built("clock")), "lag": FMU(built("lag")), "sink": FMU(built("sink"))}
    with pytest.raises(ModelError, match=r"'lag.y -> sink.n' connects a Real to a Integer; types must be alike"):
        CosimSystem(fmus, ["lag.y -> sink.n"])
    with pytest.raises(ModelError, match="has a factor, but connects variables of type Integer, expected Real"):
        CosimSystem(fmus, [Connection("clock.ticks", "sink.n", Linear(2.0))])
    with pytest.raises(ModelError, match=r"'a', expected fmu.variable"):
        CosimSystem(fmus, [Connection("a", "sink.n")])
    for start, said in (({"n": 1.5}, "is 1.5, expected a whole number"), ({"flag": 1}, "is 1, expected true or false"),
                        ({"text": 1}, "is 1, expected text")):  # fmt: skip
        with pytest.raises(ModelError, match=said):
            CosimSystem({"sink": FMU(built("sink"), start)})
    assert (
        CosimSystem({"s": FMU(built("sink"), {"n": 2, "flag": True, "text": "a"})}).simulate(0.1, 0.1)["s.sum"][0]
        == 102.0
    )


def test_fmus_of_one_kind_in_one_process(built):
    with pytest.raises(ModelError, match=r"'mass_once\.fmu' can be instantiated only once in a process, and 'a' is it"):
        CosimSystem({"a": FMU(built("mass_once")), "b": FMU(built("mass_once"))})
    assert CosimSystem({"a": FMU(built("mass")), "b": FMU(built("mass"))}).simulate(0.1, 0.1).info.finished


SCHEDULED = """<fmiModelDescription fmiVersion="3.0" modelName="odd" instantiationToken="x">
<ScheduledExecution modelIdentifier="odd"/><ModelVariables>
<Float64 name="time" valueReference="0" causality="independent" variability="continuous"/>
</ModelVariables><ModelStructure/></fmiModelDescription>"""
EXCHANGE = """<fmiModelDescription fmiVersion="2.0" modelName="odd" guid="x">
<ModelExchange modelIdentifier="odd"/><ModelVariables/><ModelStructure/></fmiModelDescription>"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SCHEDULED, "'odd.fmu' is neither for co-simulation nor for model exchange; export it again as one of the two"),
        (SCHEDULED.replace('"3.0"', '"3.1"'), "'odd.fmu' is of FMI 3.1, expected 2.0 or 3.0; export it again"),
        (EXCHANGE, "'odd.fmu' is for model exchange only, expected co-simulation; choose the kind that it has"),
        ("<a/>", "'odd.fmu' is no FMU: "),
    ],
)
def test_fmus_of_other_kinds(tmp_path, text, said):
    with zipfile.ZipFile(tmp_path / "odd.fmu", "w") as archive:
        archive.writestr("modelDescription.xml", text)
    with pytest.raises(ModelError, match=re.escape(said)):
        CosimSystem({"a": FMU(tmp_path / "odd.fmu", kind="co-simulation" if text == EXCHANGE else "")})


def test_unknown_units_connect_to_themselves_only(built):
    fmus = {
        "a": FMU(built("gain_odd")),
        "b": FMU(built("gain_odd")),
        "c": FMU(built("lag_m")),
        "d": FMU(built("lag")),
    }
    assert CosimSystem(fmus, ["a.y -> b.u", "b.y -> d.u"]).links[0].linear == Linear()
    with pytest.raises(
        ModelError, match=r"unit 'furlong_per_gizmo' has no BaseUnit in its modelDescription.xml; define it"
    ):
        CosimSystem(fmus, ["a.y -> c.u"])
    with pytest.raises(
        ModelError, match="has a unit, but that of the variable is 'furlong_per_gizmo', which is not defined"
    ):
        CosimSystem({"a": FMU(built("gain_odd"), {"u": "1 m"})})
    with pytest.raises(ModelError, match="has a unit, but the variable has none; give a plain number"):
        CosimSystem({"a": FMU(built("lag"), {"u": "1 m"})})


def test_values_of_enumerations_and_frequencies():
    gear = CosimVariable("gear", 0, "Integer", "parameter", "fixed", items=(("low", 1), ("high", 2)))
    assert value_of(gear, "high") == 2
    with pytest.raises(InputError, match=r"is 'middle', expected a whole number or one of low, high"):
        value_of(gear, "middle")
    speed = CosimVariable("w", 0, "Real", "parameter", "fixed", measure=from_name("rad/s"), unit="rad/s")
    assert value_of(speed, "60 rpm") == pytest.approx(2.0 * np.pi)
    with pytest.raises(InputError, match=r"is '1 Hz', which mixes up turns and radians: expected something in 'rad/s'"):
        value_of(speed, "1 Hz")
    with pytest.raises(InputError, match=r"is '1 parrot', which has the unknown unit 'parrot'"):
        value_of(speed, "1 parrot")


def test_conversions():
    class Base:
        def __init__(self, **powers):
            self.__dict__.update(dict.fromkeys(("kg", "m", "s", "A", "K", "mol", "cd", "rad"), 0))
            self.factor, self.offset = 1.0, 0.0
            self.__dict__.update(powers)

    celsius = from_base("degC", Base(K=1, offset=273.15))
    kelvin = from_base("K", Base(K=1))
    assert conversion(celsius, kelvin)(20.0) == pytest.approx(293.15)
    assert conversion(kelvin, celsius)(293.15) == pytest.approx(20.0)
    fahrenheit = from_base("degF", Base(K=1, factor=5.0 / 9.0, offset=273.15 - 32.0 * 5.0 / 9.0))
    assert conversion(fahrenheit, celsius)(212.0) == pytest.approx(100.0)
    assert conversion(from_name("mm"), from_name("m")) == Linear(0.001)
    assert conversion(from_name("N.m"), from_name("N*m")) == Linear()
    assert conversion(from_name("m/s2"), from_name("m/s^2")) == Linear()
    assert conversion(from_name("rad/s"), from_name("1/s")) == Linear()
    assert conversion(from_name("rpm"), from_name("rad/s")).factor == pytest.approx(np.pi / 30.0)
    assert conversion(None, from_name("m")) == Linear()
    with pytest.raises(InputError, match=r"connects 'Hz' .* to 'rad/s' .* mixes up turns and radians"):
        conversion(from_name("Hz"), from_name("rad/s"))
    assert Linear(2.0, 1.0).then(Linear(3.0, 4.0)) == Linear(6.0, 7.0)
