"""FMUs of FMI 3.0 under the master and on their own; the oracles are their twins of FMI 2.0, and arithmetic."""

from __future__ import annotations

import contextlib
import ctypes
import zipfile

import c_fmus
import cosim_fixtures
import numpy as np
import pytest
from fmpy.validation import validate_fmu

import fmu_export
from fmu_export.cosim import FMU, Connection, CosimSystem, Crossing, Linear
from fmu_export.cosim.fmu_file import read_description
from fmu_export.cosim.master import Master
from liegeo.errors import InputError, ModelError, SimulationError

# FMUs are compiled in C, and validation runs them in processes of their own.
pytestmark = pytest.mark.foreign

built = cosim_fixtures.built

# those that frame3.c makes FMUs of FMI 3.0 of
TWINS = (
    "mass",
    "mass_mm",
    "pd",
    "pd_mm",
    "lag_hold",
    "gain",
    "clock",
    "sink",
    "ball",
    "stair",
    "feedthrough",
    "arrays",
)
LOOP = ["plant.x -> control.y", "plant.v -> control.v", "control.u -> plant.force"]


@pytest.mark.parametrize("name", TWINS)
def test_fixtures_are_valid_fmus(built, name):
    assert validate_fmu(str(built(name, 3))) == []


def same(one, two):
    """Results that are equal to the bit, name by name."""
    assert one.dtype == two.dtype
    assert one.table.tobytes() == two.table.tobytes()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"algorithm": "gauss-seidel"},
        {"iterations": 2},
        {"extrapolation": "linear"},
        {"crossings": [Crossing("plant.x")]},
    ],
)
@pytest.mark.parametrize("versions", [(3, 3), (2, 3)])
def test_a_loop_is_what_it_is_with_fmi_2(built, options, versions):
    """With units that are converted, and versions that are mixed; no rates of inputs, which FMI 3.0 has not."""

    def run(plant, control):
        files = {"plant": FMU(built("mass_hold", plant), {"x0": 0.3}), "control": FMU(built("pd_mm", control))}
        return CosimSystem(files, [*LOOP]).simulate(1.0, 0.05, **options)

    same(run(2, 2), run(*versions))


def test_all_types(built):
    """Whole numbers of 8 to 64 bits, Float32, arrays of truth values and texts: through two FMUs."""
    most = {f"{s}Int{n}_in": 2 ** (n if s else n - 1) - 1 for n in (8, 16, 32, 64) for s in ("", "U")}
    start = {
        **most, "single_in": 0.1, "pair_in[1]": -2.5, "flags_in[0]": True, "words_in[1]": "zwei é",
        "UInt64_in": 2**63 + 1,
    }  # fmt: skip
    names = [name.removesuffix("_in") for name in most] + ["single"]
    wires = [f"a.{name}_out -> b.{name}_in" for name in names]
    wires += [f"a.{name}_out[{k}] -> b.{name}_in[{k}]" for name in ("pair", "flags", "words") for k in (0, 1)]
    fmus = {"a": FMU(built("arrays", 3), start), "b": FMU(built("arrays", 3))}
    system = CosimSystem(fmus, wires, ["b.*_out*", "b.words_out[?]"])
    found = system.simulate(0.1, 0.05)
    with Master(system, system.planned(0.1, 0.05)).open() as master:
        slave = master.ports[1].slave
        for name, value in most.items():
            expected = value if name != "UInt64_in" else 2**63 + 1
            assert slave.get(slave.description.variables[name.replace("_in", "_out")]) == expected
    assert found["b.single_out"][-1] == np.float32(0.1)
    assert [found[f"b.pair_out[{k}]"][-1] for k in (0, 1)] == [0.0, -2.5]
    assert [found[f"b.flags_out[{k}]"][-1] for k in (0, 1)] == [True, True]
    assert [found[f"b.words_out[{k}]"][-1] for k in (0, 1)] == ["one", "zwei é"]
    assert found["b.Int32_out"].dtype == np.int32
    assert found["b.UInt64_out"][-1] == float(2**63)


def test_arrays_are_elements(built):
    """y = A u: elements are parameters, inputs and outputs of their own, and the others of an array stay."""
    matrix = {"A[0,0]": 2.0, "A[0,2]": -1.0, "A[1,1]": 3.0, "gain[1]": 10.0}
    variables = read_description(built("arrays", 3)).variables
    assert [variables[f"A[{i},{j}]"].start for i in (0, 1) for j in (0, 1, 2)] == ["1", "0", "0", "0", "1", "0"]
    # one start value of an array is that of all elements
    assert variables["gain[1]"].start == "1.0"
    fmus = {"a": FMU(built("arrays", 3), matrix), "lag": FMU(built("lag", 3), {"u": 5.0})}
    found = CosimSystem(fmus, ["lag.y -> a.u[1]"], ["a.y*", "a.u[1]", "lag.y"]).simulate(1.0, 0.25)
    assert found.names == ("time", "a.u[1]", "a.y[0]", "a.y[1]", "lag.y")
    np.testing.assert_allclose(found["a.y[0]"], 2.0 * 1.0 - 1.0 * 3.0, rtol=0, atol=1e-15)
    np.testing.assert_allclose(found["a.y[1]"], 10.0 * 3.0 * found["lag.y"], rtol=1e-15)
    np.testing.assert_allclose(found["lag.y"], 5.0 * (1.0 - np.exp(-found.t / 0.5)), rtol=1e-12)
    # on its own, with an input that is an element
    table = fmu_export.run(built("arrays", 3), 0.2, interval=0.1, values=matrix, inputs={"u[2]": lambda t: 100.0 * t})
    np.testing.assert_allclose(table["y[0]"], [2.0 - 0.0, 2.0 - 0.0, 2.0 - 10.0], rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ({"Int8_in": 128}, r"Int8_in is 128, expected a whole number from -128 to 127 \(8 bits\)"),
        ({"UInt16_in": -1}, r"UInt16_in is -1, expected a whole number from 0 to 65535 \(16 bits\)"),
        ({"UInt64_in": 2**64}, r"UInt64_in is \d+, expected a whole number from 0 to 18446744073709551615 \(64 bits\)"),
        ({"single_in": 1e39}, r"single_in is 1e\+39, expected a number within ±3.402823e\+38 \(Float32\)"),
        ({"u": 1.0}, r"u is an array of 'arrays_3.fmu', expected an element, such as 'u\[0\]'"),
        ({"u[3]": 1.0}, r"u\[3\] is no variable of 'arrays_3.fmu'. Did you mean 'u\[2\]'\?"),
    ],
)
def test_values_that_do_not_fit(built, start, said):
    with pytest.raises(ModelError, match=said):
        CosimSystem({"a": FMU(built("arrays", 3), start)})


def test_connections_that_are_none(built):
    fmus = {"a": FMU(built("arrays", 3)), "b": FMU(built("lag", 3))}
    said = r"names 'a.u', which is an array, whose elements are connected one by one of FMU 'a'"
    with pytest.raises(ModelError, match=said):
        CosimSystem(fmus, ["b.y -> a.u"])
    # numbers that change on their way are checked on arrival
    wide = CosimSystem({"a": fmus["a"], "b": fmus["a"]}, ["a.Int64_out -> b.Int8_in"])
    assert wide.simulate(0.1, 0.1).info.finished
    with pytest.raises(SimulationError, match=r"FMU 'b': 'Int8_in' is 1000, expected a whole number from -128"):
        wide.simulate(0.1, 0.1, set={"a.Int64_in": 1000})


def rewritten(fmu, to, *changes):
    """A copy of an FMU with other text in its description."""
    with zipfile.ZipFile(fmu) as old, zipfile.ZipFile(to, "w") as new:
        for member in old.namelist():
            data = old.read(member)
            if member == "modelDescription.xml":
                text = data.decode()
                for before, after in changes:
                    assert before in text
                    text = text.replace(before, after, 1)
                data = text.encode()
            new.writestr(member, data)
    return to


BLOB = (
    '<Float64 name="time"',
    '<Binary name="blob" valueReference="8000" causality="output" variability="discrete"/>'
    '<Clock name="tick" valueReference="8001" causality="input" intervalVariability="triggered"/>'
    '<UInt64 name="size" valueReference="8002" causality="structuralParameter" variability="fixed" start="2"/>'
    '<Float64 name="table" valueReference="8003" causality="parameter" variability="fixed" start="0">'
    '<Dimension start="100"/><Dimension start="100"/></Float64>'
    '<Float64 name="flexible" valueReference="8004" causality="input" start="0">'
    '<Dimension valueReference="8002"/></Float64>'
    '<Float64 name="time"',
)


def test_what_a_master_does_not_pass_on(built, tmp_path):
    """Binaries, clocks, large tables and structural parameters do no harm until somebody names them."""
    odd = FMU(rewritten(built("lag", 3), tmp_path / "odd.fmu", BLOB), {"u": 1.0})
    assert CosimSystem({"a": odd}).simulate(0.1, 0.1).names == ("time", "a.y")
    variables = read_description(odd.file).variables
    assert {"flexible[0]", "flexible[1]"} < set(variables)
    for wires, outputs, start, said in [
        (["a.blob -> a.u"], ("*",), {}, "names 'a.blob', which is of type Binary, expected a number, a truth value or"),
        (["a.y -> a.tick"], ("*",), {}, "names 'a.tick', which is of type Clock, expected a number, a truth value or"),
        ([], ["a.blob"], {}, "'a.blob' is of type Binary, expected a number, a truth value or text"),
        (
            [],
            ("*",),
            {"table": 1.0},
            "table is 1.0, but the variable is of type array of 10000 numbers, which ",
        ),
        (
            [],
            ("*",),
            {"size": 3},
            "size is a structural parameter, on which sizes of arrays depend; it keeps",
        ),
    ]:
        with pytest.raises(ModelError, match=said):
            CosimSystem({"a": FMU(odd.file, start)}, wires, outputs)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('<Dimension start="3"/>', '<Dimension start="-3"/>'), r"'A' is no array: its dimensions are \(2, -3\)"),
        (('<Dimension start="3"/>', '<Dimension start="x"/>'), "is no FMU: "),
        (('<Dimension start="3"/>', '<Dimension valueReference="77"/>'), "is no FMU: "),
        (('name="single_in"', 'name="u[1]"'), r"is no FMU: two of its variables have the name 'u\[1\]'"),
        (('instantiationToken="{arrays_3}"', ""), "is no FMU: its description has no instantiationToken"),
        (
            ('modelIdentifier="arrays_3"', 'modelIdentifier="../x"'),
            "its modelIdentifier is '../x', expected the",
        ),
        (('valueReference="6"', 'valueReference="-6"'), "is no FMU: "),
        (('<Float64 name="u"', '<Float64 name="u" declaredType="none"'), "is no FMU: "),
        (('dependencies="6"', 'dependencies="66"'), "is no FMU: "),
    ],
)
def test_descriptions_that_are_wrong(built, tmp_path, change, said):
    file = rewritten(built("arrays", 3), tmp_path / "wrong.fmu", change)
    for read in (lambda: CosimSystem({"a": FMU(file)}), lambda: fmu_export.run(file, 0.1)):
        with pytest.raises((ModelError, InputError), match=said):
            read()


def test_an_fmu_that_returns_early_is_taken_to_the_end(built):
    """Although it was told that it may not."""
    found = CosimSystem({"a": FMU(built("lag_early", 3), {"u": 1.0})}).simulate(1.0, 0.1)
    np.testing.assert_allclose(found["a.y"], 1.0 - np.exp(-found.t / 0.5), rtol=0, atol=1e-12)
    assert found.info.calls == 10


@pytest.mark.parametrize("name", ["ball", "stair"])
@pytest.mark.parametrize("options", [{}, {"tolerance": 1e-3}])
def test_steps_are_discarded_and_runs_ended_as_with_fmi_2(built, name, options):
    second, third = (CosimSystem({name: FMU(built(name, fmi))}).simulate(20.0, 0.3, **options) for fmi in (2, 3))
    assert third.info.message == second.info.message
    assert [(e.time, e.kind) for e in third.info.events] == [(e.time, e.kind) for e in second.info.events]
    same(second, third)
    tables = [fmu_export.run(built(name, fmi), 10.0 if name == "stair" else 0.4, interval=0.2) for fmi in (2, 3)]
    assert tables[0].tobytes() == tables[1].tobytes()
    assert len(tables[0]) == (51 if name == "stair" else 3)


def test_errors_name_the_functions_of_fmi_3(built):
    made = CosimSystem({"clock": FMU(built("clock", 3), {"broken": 0.3})})
    with pytest.raises(SimulationError, match=r"FMU 'clock': fmi3DoStep from t = 0\.[23] s .* ended with status error"):
        made.simulate(1.0, 0.1)
    wires = [Connection("a.y", "b.u", Linear(1e308, 1e308))]
    with pytest.raises(SimulationError, match=r"FMU 'b': fmi3SetFloat64 of \[inf\] at t = .*not finite"):
        CosimSystem({"a": FMU(built("lag", 3), {"u": 1.0}), "b": FMU(built("lag", 3))}, wires).simulate(5.0, 0.1)
    with pytest.raises(SimulationError, match=r"FMU 'refused': 'lag_3.fmu' gave no instance. It said: no licence"):
        CosimSystem({"refused": FMU(built("lag", 3))}).simulate(1.0, 0.1)


def test_messages_are_logged_as_they_are(built, caplog):
    """FMI 3.0 has no formats of printf in them."""
    with caplog.at_level("INFO", "liegeo.cosim"):
        CosimSystem({"a": FMU(built("lag", 3))}).simulate(0.1, 0.1, debug=True)
    assert "[logAll] instantiated, 100 % sure" in caplog.messages


def test_everything_of_fmi_3_is_freed(built, monkeypatch):
    left = []

    class Watched(fmu_export.cosim.master.CosimSlave):
        def close(self):
            library = ctypes.CDLL(self.calls.fmu.dll._name) if self._calls is not None else None
            super().close()
            if library is not None:
                left.extend([library.frame_alive(), library.frame_states()])

    monkeypatch.setattr("fmu_export.cosim.master.CosimSlave", Watched)
    for start in ({}, {"broken": 0.3}, {"stuck": 0.3}):
        made = CosimSystem(
            {"clock": FMU(built("clock", 3), start), "lag": FMU(built("lag", 3))}, ["clock.wave -> lag.u"]
        )
        with contextlib.suppress(SimulationError):
            made.simulate(1.0, 0.1, tolerance=1e-2)
    assert left == [0] * 12


@pytest.mark.parametrize("name", ["ball", "stair", "feedthrough", "arrays", "mass"])
def test_validation(built, name):
    report = fmu_export.validate(built(name, 3), isolated=name != "mass")
    assert report.ok, report
    assert report.checks == [
        "description", "dependencies", "rollback", "serialisation", "reset", "determinism", "illegal calls",
    ]  # fmt: skip


def test_validation_finds_what_is_wrong(built, tmp_path):
    wrong = rewritten(built("mass", 3), tmp_path / "wrong.fmu", ('dependencies="5"', 'dependencies=""'))
    assert fmu_export.validate(wrong, isolated=False).problems == ["dependencies: a depends on force, unsaid."]
    crash = fmu_export.validate(built("crash", 3))
    assert crash.problems == ["illegal calls: a step of NaN s ended the process by SIGSEGV."]


def test_what_is_in_it(built):
    found = fmu_export.info(built("arrays", 3))
    assert found.fmi == "3.0"
    assert found.kinds == ("co-simulation",)
    assert "FMI        3.0, for co-simulation" in str(found)
    assert [name for name, *_ in found.variables["parameter"]] == ["A[2 x 3]", "gain[2]"]
    assert c_fmus.references3("arrays", c_fmus.FMUS["arrays"][1])["u"] == 6


@pytest.mark.parametrize(("said", "names"), [("x y z", ["u.x", "u.y", "u.z"]), ("x y", ["u[0]", "u[1]", "u[2]"])])
def test_an_fmu_may_say_what_fmi_2_calls_elements(built, tmp_path, said, names):
    """As those of liegeo do; names of another number are none."""
    note = f'<Annotations><Annotation type="liegeo.elements">{said}</Annotation></Annotations>'
    change = ('start="1 2 3">', f'start="1 2 3">{note}')
    file = rewritten(built("arrays", 3), tmp_path / "named.fmu", change)
    assert validate_fmu(str(file)) == []
    variables = read_description(file).variables
    assert [name for name in variables if name.startswith("u") and variables[name].causality == "input"] == names
    assert [variables[name].start for name in names] == ["1", "2", "3"]
