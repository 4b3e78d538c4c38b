"""Native FMUs of FMI 3.0: the oracle is the FMI 2.0 FMU of the same model, to the bit, and fmpy's own checks."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import fmpy
import numpy as np
import pytest
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import FMU2Slave
from fmpy.fmi3 import FMU3Model, FMU3Slave, fmi3ValueReference
from fmpy.validation import validate_fmu
from lxml import etree

import fmu_export
from fmu_export.native.library import library
from fmu_export.variables import INPUT, OUTPUT, PARAMETER, STRING, ExportedVariable
from fmu_export.vectors import runs, variables3
from liegeo.errors import InputError

MODELS = sorted(Path("models").glob("*.yaml"))
SCHEMAS = Path(fmpy.__file__).parent / "schema" / "fmi3"
HEADER = Path(fmpy.__file__).parent / "c-code" / "fmi3FunctionTypes.h"
foreign = pytest.mark.foreign


# ---- vectors


def scalar(name, **more):
    return ExportedVariable(name, OUTPUT, (0,), OUTPUT, "continuous", **more)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a.position.x", "a.position.y", "a.position.z", "b"], [("a.position", 3), ("b", 1)]),
        (["a.q.w", "a.q.x", "a.q.y", "a.q.z"], [("a.q", 4)]),
        (["a[0]", "a[1]", "b[0]", "b[1]", "b[2]"], [("a", 2), ("b", 3)]),
        # not all of it, in another order, or with something between
        (["a.x", "a.y"], [("a.x", 1), ("a.y", 1)]),
        (["a.y", "a.x", "a.z"], [("a.y", 1), ("a.x", 1), ("a.z", 1)]),
        (["a[0]", "b", "a[1]"], [("a[0]", 1), ("b", 1), ("a[1]", 1)]),
        (["a[1]", "a[2]"], [("a[1]", 1), ("a[2]", 1)]),
        (["a[0]"], [("a[0]", 1)]),
        # a variable has the name of the vector
        (["a", "a.x", "a.y", "a.z"], [("a", 1), ("a.x", 1), ("a.y", 1), ("a.z", 1)]),
        (["x", "y", "z"], [("x", 1), ("y", 1), ("z", 1)]),
    ],
)
def test_which_scalars_are_a_vector(names, expected):
    listed = [scalar(name) for name in names]
    assert [(run.name, len(run.scalars)) for run in variables3(listed)] == expected
    found = runs(listed)
    assert len(found) == len(names)
    assert [n for n in found if n] == [n for _, n in expected]


@pytest.mark.parametrize(
    "difference", [{"unit": "m"}, {"minimum": 0.0}, {"start": 1.0}, {"type": STRING}, {"factor": 2.0}]
)
def test_elements_of_a_vector_are_alike(difference):
    listed = [scalar("a.x"), scalar("a.y"), scalar("a.z", **difference)]
    assert runs(listed) == [1, 1, 1]


def test_the_description_of_a_vector_has_that_of_each_element():
    listed = [ExportedVariable(f"g.{k}", PARAMETER, (), PARAMETER, "fixed", description=f"along {k}") for k in "xyz"]
    assert variables3(listed)[0].description == "along x; along y; along z"
    assert variables3([scalar("a", description="that")])[0].description == "that"


def test_fmi_3_is_for_native_fmus(tmp_path):
    for options in ({"fmi": 3}, {"fmi": 4, "native": True}):
        with pytest.raises(InputError, match=f"fmi is {options['fmi']}, expected 2, or 3 with native=True"):
            fmu_export.build("models/double_pendulum.yaml", tmp_path / "x.fmu", **options)


# ---- FMUs


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return a function that builds the native FMUs of a model once: (FMI 2.0, FMI 3.0)."""
    folder, known = tmp_path_factory.mktemp("fmi3"), {}

    def build(name):
        if name not in known:
            options = {"native": True, "platforms": ["linux64"]}
            known[name] = [
                fmu_export.build(f"models/{name}.yaml", folder / f"{name}_{fmi}.fmu", fmi=fmi, **options)
                for fmi in (2, 3)
            ]
        return known[name]

    return build


def by_scalar(result, names):
    """Return results of FMI 3.0 as an array of the scalars of FMI 2.0, in this order."""
    listed = [scalar(name) for name in names]
    columns = []
    for run in variables3(listed):
        vector = len(run.scalars) > 1 and run.name in result.dtype.names
        columns += [result[run.name]] if vector else [result[each.name][:, None] for each in run.scalars]
    return np.hstack(columns)


@foreign
@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_every_model_validates_and_has_the_bits_of_fmi_2(built, model):
    second, third = built(model.stem)
    assert validate_fmu(str(third)) == []
    description = fmpy.read_model_description(str(second))
    stop = min(20 * float(description.defaultExperiment.stepSize), float(description.defaultExperiment.stopTime))
    inputs = [v.name for v in description.modelVariables if v.causality == "input"]
    listed = {v.name for v in fmpy.read_model_description(str(third)).modelVariables}
    driven = {name: 0.01 * (k + 1) for k, name in enumerate(inputs) if name in listed}

    def run(fmu, start):
        return fmpy.simulate_fmu(str(fmu), stop_time=stop, start_values=start)

    def table(result):
        return np.column_stack([result[name] for name in result.dtype.names[1:]])

    # some are at rest until they are driven; others cannot be assembled with any value of a prescribed motion
    start = {} if np.ptp(table(run(second, {})), axis=0).any() else driven
    a, b = (run(fmu, start) for fmu in (second, third))
    assert len(a) == len(b) > 2
    assert by_scalar(b, a.dtype.names[1:]).tobytes() == table(a).tobytes()
    assert np.ptp(table(a), axis=0).any()


class Driven:
    """An instance of FMI 3.0 that a test drives call by call; `heard` is what it says."""

    def __init__(self, fmu, folder, initialise=True, **options):
        folder = folder if folder.exists() else Path(fmpy.extract(str(fmu), unzipdir=str(folder)))
        self.description = fmpy.read_model_description(str(fmu))
        self.by_name = {v.name: v.valueReference for v in self.description.modelVariables}
        identifier = self.description.coSimulation.modelIdentifier
        self.fmu = FMU3Slave(
            guid=options.pop("token", self.description.instantiationToken),
            unzipDirectory=str(folder),
            modelIdentifier=identifier,
            instanceName="one",
        )
        self.heard = []
        self.fmu.instantiate(logMessage=self._hear, **options)
        if initialise:
            self.fmu.enterInitializationMode(startTime=0.0)
            self.fmu.exitInitializationMode()

    def _hear(self, environment, status, category, message):
        self.heard.append((status, category.decode(), message.decode()))

    def refused(self, function, *arguments, status=3):
        """Call a function, which must answer so, and return its words."""
        del self.heard[:]
        answer = getattr(self.fmu.dll, function)(ctypes.c_void_p(self.fmu.component), *arguments)
        assert answer == status
        (said,) = self.heard
        assert said[0] == status
        assert said[2].startswith(f"{function}: ")
        return said[2].removeprefix(f"{function}: ")

    def again(self):
        """Begin anew, because an error has ended the run."""
        self.fmu.reset()
        self.fmu.enterInitializationMode(startTime=0.0)
        self.fmu.exitInitializationMode()


@pytest.fixture
def one(built, tmp_path):
    made = Driven(built("double_pendulum")[1], tmp_path / "fmu")
    yield made
    made.fmu.freeInstance()


def references(*numbers):
    return (fmi3ValueReference * len(numbers))(*numbers), ctypes.c_size_t(len(numbers))


def reals(*numbers):
    return (ctypes.c_double * len(numbers))(*numbers), ctypes.c_size_t(len(numbers))


@foreign
def test_every_function_of_the_standard_is_there(tmp_path):
    (tmp_path / "a.so").write_bytes(library("linux64"))
    shown = subprocess.run(
        ["nm", "-D", "--defined-only", str(tmp_path / "a.so")], capture_output=True, text=True
    ).stdout
    defined = {line.split()[-1] for line in shown.splitlines()}
    wanted = set(re.findall(r"(fmi3\w+)TYPE\b", HEADER.read_text()))
    assert len(wanted) > 70
    assert {name for name in defined if name.startswith("fmi3")} == wanted


def argument_types(declaration):
    """Return types of the result and of the arguments, in our words for the standard's."""
    result, arguments = re.fullmatch(r"\s*([\w *]+?)\s*\(([^)]*)\)", declaration).groups()
    ours = {
        "fmi3Float64": "Real",
        "fmi3Float32": "float",
        "fmi3Boolean": "bool",
        "fmi3Clock": "bool",
        "fmi3Byte": "uint8_t",
    }
    ours |= {"fmi3Instance": "Component", "fmi3InstanceEnvironment": "void *", "fmi3FMUState": "State"}
    ours |= {"fmi3Status": "Status", "fmi3String": "String", "fmi3ValueReference": "Reference", "_Bool": "bool"}
    ours |= {"fmi3Binary": "const uint8_t *", "fmi3LogMessageCallback": "LogMessage *", "fmi3DependencyKind": "int"}
    ours |= {
        "fmi3IntermediateUpdateCallback": "IntermediateUpdate *",
        "fmi3IntervalQualifier": "int",
        "const char*": "String",
    }
    ours |= {f"fmi3{sign}Int{n}": f"{sign.lower()}int{n}_t" for sign in ("", "U") for n in (8, 16, 32, 64)}
    found = []
    for one in ["", *arguments.split(",")]:
        text = one.strip() or result
        array, text = "[" in text, re.sub(r"\[\]", "", text)
        if one:
            text = re.sub(r"\w+$", "", text) if text != "void" else ""
        for theirs, word in ours.items():
            text = re.sub(rf"(?<!\w){re.escape(theirs)}(?!\w)", word, text)
        # callbacks that are not used are addresses
        text = re.sub(r"fmi3\w+Callback", "void *", text)
        # in which order `const` and what is constant stand does not matter for pointers to pointers
        words = sorted(re.findall(r"\w+|\*", text + ("*" if array else "")))
        found.append(" ".join(words))
    return found


@foreign
def test_signatures_are_those_of_the_standard():
    guard = Path("fmu_export/guard")
    ours = ""
    for name in ("fmi3.c", "exchange3.c", "variables3.c"):
        command = [sys.executable, "-m", "ziglang", "cc", "-E", "-P", str(guard / name)]
        ours += subprocess.run(command, capture_output=True, text=True, check=True).stdout
    ours = re.sub(r"\s+", " ", ours)
    header = re.sub(r"/\*.*?\*/", " ", re.sub(r"\s+", " ", HEADER.read_text()))
    checked = 0
    for result, name, arguments in re.findall(r"typedef ([\w *]+?) ?(fmi3\w+)TYPE ?\(([^)]*)\)", header):
        own = re.search(rf'visibility\("default"\)\)\) ([\w ]+ )\*?{name}(\([^)]*\))', ours)
        assert own, name
        assert argument_types(own[1] + own[2]) == argument_types(f"{result} ({arguments})"), name
        checked += 1
    assert checked == 75


@foreign
def test_vectors_are_read_and_written_as_a_whole(one, built, tmp_path):
    tip, gravity = one.by_name["lower.end.position"], one.by_name["gravity"]
    assert one.fmu.getFloat64([gravity], nValues=3) == [0.0, 0.0, -9.81]
    one.fmu.setFloat64([gravity], [0.0, 0.0, -1.0])
    assert one.fmu.getFloat64([gravity, one.by_name["time"]], nValues=4) == [0.0, 0.0, -1.0, 0.0]
    assert one.fmu.doStep(0.0, 0.01) == (False, False, False, 0.01)
    angles = one.fmu.getFloat64([one.by_name["top.angle"], one.by_name["middle.angle"]])
    shown = one.fmu.getFloat64([one.by_name["time"], tip, one.by_name["top.angle"]], nValues=5)
    assert shown[0] == 0.01
    assert shown[4] == angles[0]
    # the rods are of 1 m, in the plane of x and z
    assert np.linalg.norm(shown[1:4]) == pytest.approx(2.0 * abs(np.cos(angles[1] / 2.0)), abs=1e-9)
    assert one.fmu.getString([one.by_name["integrator.method"]])
    # the whole of it goes in, or nothing
    assert "gravity.y: the value is nan" in one.refused(
        "fmi3SetFloat64", *references(gravity), *reals(1.0, float("nan"), 2.0), status=2
    )
    assert one.fmu.getFloat64([gravity], nValues=3) == [0.0, 0.0, -1.0]


@foreign
def test_wrong_calls_are_refused_with_words(one):
    gravity, time = one.by_name["gravity"], one.by_name["time"]
    null, texts = (None, ctypes.c_size_t(1)), ((ctypes.c_char_p * 1)(), ctypes.c_size_t(1))
    cases = [
        ("fmi3GetFloat64", (*references(gravity + 1), *reals(0.0)), f"valueReference {gravity + 1} is no Float64."),
        ("fmi3GetFloat64", (*references(9999), *reals(0.0)), "valueReference 9999 is no Float64."),
        ("fmi3GetFloat64", (*references(one.by_name["message"]), *reals(0.0)), "is no Float64."),
        (
            "fmi3GetFloat64",
            (*references(gravity), *reals(0.0)),
            "room for 1 values in values, but the variables have 3.",
        ),
        ("fmi3GetFloat64", (*null, *reals(0.0)), "valueReferences is NULL."),
        ("fmi3GetFloat64", (*references(gravity), None, ctypes.c_size_t(3)), "values is NULL."),
        ("fmi3SetFloat64", (*references(time), *reals(0.0)), "cannot be set."),
        (
            "fmi3SetFloat64",
            (*references(one.by_name["top.angle"]), *reals(0.0)),
            "top.angle is a variable that cannot be",
        ),
        (
            "fmi3SetFloat64",
            (*references(one.by_name["initial.top.angle"]), *reals(0.0)),
            "is fixed, and the FMU is init",
        ),
        ("fmi3SetFloat64", (*references(gravity), *reals(0.0, 0.0)), "room for 2 values in values, but the"),
        ("fmi3GetFloat32", (*references(0), None, ctypes.c_size_t(1)), "valueReference 0 is no Float32."),
        ("fmi3SetInt64", (*references(0), None, ctypes.c_size_t(1)), "valueReference 0 is no Int64."),
        ("fmi3GetBinary", (*references(0), None, None, ctypes.c_size_t(1)), "valueReference 0 is no Binary."),
        ("fmi3GetString", (*references(0), *texts), "valueReference 0 is no String."),
        ("fmi3GetString", (*references(0), texts[0], ctypes.c_size_t(2)), "room for 2 values in values"),
        ("fmi3ExitInitializationMode", (), "it is not allowed now: the FMU is initialised."),
        ("fmi3EnterEventMode", (), "it belongs to model exchange, and the FMU is for co-simulation."),
        ("fmi3GetClock", (*references(0), None), "the FMU does not offer it: it has no clocks."),
        ("fmi3SetTime", (ctypes.c_double(0.0),), "it belongs to model exchange, and the FMU is for co-simulation."),
        ("fmi3EnterConfigurationMode", (), "it has no structural parameters."),
        ("fmi3SetFMUState", (ctypes.c_void_p(12345),), "the state is none of this instance's"),
        ("fmi3DoStep", (ctypes.c_double(0.0), ctypes.c_double(0.1), True, None, None, None, None), "is NULL."),
        ("fmi3GetAdjointDerivative", (*references(time), *references(0), *reals(1.0), *reals(0.0)), "is no output."),
    ]
    for function, arguments, words in cases:
        assert words in one.refused(function, *arguments), function
        one.again()
    assert one.fmu.dll.fmi3Terminate(None) == 3


@foreign
def test_a_step_that_cannot_be_taken(one):
    flags = [ctypes.byref(ctypes.c_bool()) for _ in range(3)]
    last = ctypes.c_double()
    for t, size, words in ((0.5, 0.1, "but the FMU is at 0 s"), (0.0, -1.0, "expected a finite time and a size > 0")):
        arguments = (ctypes.c_double(t), ctypes.c_double(size), True, *flags, ctypes.byref(last))
        assert words in one.refused("fmi3DoStep", *arguments)
        one.again()
    one.fmu.reset()
    one.fmu.enterInitializationMode(startTime=0.0, stopTime=0.05)
    one.fmu.exitInitializationMode()
    arguments = (ctypes.c_double(0.0), ctypes.c_double(0.1), True, *flags, ctypes.byref(last))
    words = "the step ends at 0.1 s, but fmi3EnterInitializationMode said that the run ends at 0.05 s."
    assert one.refused("fmi3DoStep", *arguments) == words


@foreign
def test_a_step_that_fails_is_discarded_with_the_time_that_it_got_to(built, tmp_path):
    """Far too long steps of a stiff arm blow up."""
    made = Driven(built("flexible_arm")[1], tmp_path / "fmu", initialise=False, earlyReturnAllowed=True)
    made.fmu.setString([made.by_name["integrator.method"]], ["rkmk-4"])
    made.fmu.setFloat64([made.by_name["integrator.step"]], [0.01])
    made.fmu.enterInitializationMode(startTime=0.0)
    made.fmu.exitInitializationMode()
    flags, last = [ctypes.c_bool(True) for _ in range(3)], ctypes.c_double(-1.0)
    arguments = (ctypes.c_double(0.0), ctypes.c_double(0.5), True, *map(ctypes.byref, flags), ctypes.byref(last))
    assert "is discarded: " in made.refused("fmi3DoStep", *arguments, status=2)
    assert [flag.value for flag in flags] == [False, False, False]
    assert 0.0 <= last.value < 0.5
    made.fmu.freeInstance()


@foreign
def test_instances_that_cannot_be_made(built, tmp_path, capfd):
    fmu, folder = built("double_pendulum")[1], tmp_path / "fmu"
    heard = []
    for options, words in (
        ({"token": "{0}"}, "instantiationToken is '{0}', but this FMU is {"),
        ({"requiredIntermediateVariables": [0]}, "or intermediateUpdate is NULL."),
        ({"requiredIntermediateVariables": [9999], "intermediateUpdate": print}, "9999 is no intermediate variable."),
    ):
        made = Driven.__new__(Driven)
        made._hear = lambda environment, status, category, message: heard.append((status, message.decode()))
        with pytest.raises(Exception, match="Failed to instantiate"):
            made.__init__(fmu, folder, **options)
        assert heard[-1][0] == 3
        assert heard[-1][1].startswith("fmi3InstantiateCoSimulation: ")
        assert words in heard[-1][1]
    whole = Driven(fmu, folder)
    create = whole.fmu.dll.fmi3InstantiateScheduledExecution
    create.restype = ctypes.c_void_p
    rest = [kind() for kind in create.argtypes[7:]]
    assert len(rest) == 3
    token, path = whole.description.instantiationToken.encode(), str(folder / "resources").encode()
    assert not create(b"one", token, path, False, False, None, whole.fmu.logMessage, *rest)
    assert whole.heard[-1][2] == "fmi3InstantiateScheduledExecution: the FMU is not for scheduled execution."
    whole.fmu.freeInstance()


@foreign
def test_categories_of_the_log(one):
    one.fmu.dll.fmi3SetDebugLogging.argtypes = None
    wanted = (ctypes.c_char_p * 1)(b"logStatusWarning")
    assert one.fmu.dll.fmi3SetDebugLogging(ctypes.c_void_p(one.fmu.component), True, ctypes.c_size_t(1), wanted) == 0
    with pytest.raises(Exception, match="failed with status 3"):
        one.fmu.getFloat64([9999])
    assert one.heard == []


class Second:
    """An instance of FMI 2.0."""

    def __init__(self, fmu, folder):
        fmpy.extract(str(fmu), unzipdir=str(folder))
        description = fmpy.read_model_description(str(fmu))
        identifier = description.coSimulation.modelIdentifier
        self.fmu = FMU2Slave(
            guid=description.guid, unzipDirectory=str(folder), modelIdentifier=identifier, instanceName="two"
        )
        self.fmu.instantiate()
        self.fmu.setupExperiment(startTime=0.0)
        self.fmu.enterInitializationMode()
        self.fmu.exitInitializationMode()
        self.by_name = {v.name: v.valueReference for v in description.modelVariables}


def saved(fmu):
    state = fmu.getFMUState()
    try:
        return fmu.serializeFMUState(state)
    finally:
        fmu.freeFMUState(state)


def put_back(fmu, data):
    state = fmu.deserializeFMUState(data)
    fmu.setFMUState(state)
    fmu.freeFMUState(state)


@foreign
@pytest.mark.parametrize("model", ["double_pendulum", "flexible_arm", "sy16_four_bar", "st21_spacecraft"])
def test_a_state_goes_from_one_version_to_the_other(built, model, tmp_path):
    files = built(model)
    size = float(fmpy.read_model_description(str(files[0])).defaultExperiment.stepSize)
    two, three = Second(files[0], tmp_path / "2"), Driven(files[1], tmp_path / "3")
    for first, second in ((two.fmu, three.fmu), (three.fmu, two.fmu)):
        begin = 5 if first is two.fmu else 8
        for k in range(begin if first is two.fmu else 0):
            first.doStep(k * size, size)
        data = saved(first)
        put_back(second, data)
        assert saved(second) == data
        for fmu in (first, second):
            for k in range(5, 8) if first is two.fmu else range(8, 10):
                fmu.doStep(k * size, size)
        assert saved(first) == saved(second)
    two.fmu.freeInstance()
    three.fmu.freeInstance()


@foreign
def test_derivatives_are_those_of_fmi_2(built, tmp_path):
    """Directional ones and rates to the bit; adjoint ones are the transposed matrix."""
    files = built("st21_spacecraft")
    two, three = Second(files[0], tmp_path / "2"), Driven(files[1], tmp_path / "3")
    size = float(three.description.defaultExperiment.stepSize)
    for fmu in (two.fmu, three.fmu):
        fmu.doStep(0.0, size)
    description = fmpy.read_model_description(str(files[0]))
    shown = [v.valueReference for v in description.modelVariables if v.causality == "output"]
    driven = [v.valueReference for v in description.modelVariables if v.causality == "input"]
    vectors = [v.valueReference for v in three.description.modelVariables if v.causality == "output"]
    assert len(vectors) < len(shown)
    rates = list(map(float, two.fmu.getRealOutputDerivatives(shown, [1] * len(shown))))
    found = (ctypes.c_double * len(shown))()
    orders = (ctypes.c_int32 * len(vectors))(*[1] * len(vectors))
    three.fmu.fmi3GetOutputDerivatives(
        three.fmu.component, references(*vectors)[0], len(vectors), orders, found, len(shown)
    )
    assert list(found) == rates
    assert any(rates)
    columns = []
    for k in range(len(driven)):
        seed = [float(j == k) for j in range(len(driven))]
        column = three.fmu.getDirectionalDerivative(vectors, driven, seed, nSensitivity=len(shown))
        assert column == list(two.fmu.getDirectionalDerivative(shown, driven, seed))
        columns.append(column)
    matrix = np.array(columns).T
    seed = np.random.default_rng(1).normal(size=len(shown))
    adjoint = three.fmu.getAdjointDerivative(vectors, driven, list(seed), nSensitivity=len(driven))
    np.testing.assert_allclose(adjoint, seed @ matrix, rtol=1e-12, atol=1e-15)
    two.fmu.freeInstance()
    three.fmu.freeInstance()


@foreign
def test_the_archive(built):
    with zipfile.ZipFile(built("crane")[1]) as archive:
        names = archive.namelist()
        description = archive.read("modelDescription.xml")
        assert sorted(names) == [
            "binaries/x86_64-linux/crane.so",
            "modelDescription.xml",
            "resources/machine.bin",
            "terminalsAndIcons/terminalsAndIcons.xml",
        ]
    assert b'hasEventMode="true"' in description
    assert b'<Dimension start="3" />' in description
    info = subprocess.run(
        [sys.executable, "-m", "fmpy", "info", str(built("crane")[1])], capture_output=True, text=True
    )
    assert info.returncode == 0
    assert re.search(r"FMI Version +3\.0", info.stdout)


@foreign
@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (
            "double_pendulum",
            {"top.flange": ["top.tau", "top.angle", "top.speed"], "lower.end.frame": ["lower.end.position"]},
        ),
        ("crane", {"load.frame": ["load.position", "load.velocity"], "boom.'10'.frame": ["boom.'10'.position"]}),
    ],
)
def test_terminals(built, model, expected):
    fmu = built(model)[1]
    assert members_of(fmu) == expected
    # in FMI 2.0 elements of vectors are variables
    scalars = {
        terminal: [
            name
            for vector in members
            for name in (
                [f"{vector}.{k}" for k in "xyz"] if vector.endswith(("position", "velocity")) else [vector]
            )
        ]
        for terminal, members in expected.items()
    }  # fmt: skip
    assert members_of(built(model)[0]) == scalars


def members_of(fmu):
    """Return the variables of each terminal, which are there, under names that begin with that of their owner."""
    with zipfile.ZipFile(fmu) as archive:
        document = etree.fromstring(archive.read("terminalsAndIcons/terminalsAndIcons.xml"))
    etree.XMLSchema(etree.parse(str(SCHEMAS / "fmi3TerminalsAndIcons.xsd"))).assertValid(document)
    known = {v.name for v in fmpy.read_model_description(str(fmu)).modelVariables}
    found = {}
    for terminal in document.iter("Terminal"):
        pairs = [(member.get("variableName"), member.get("memberName")) for member in terminal]
        assert all(member in ("torque", "force") or name.endswith(f".{member}") for name, member in pairs)
        assert len({member for _, member in pairs}) == len(pairs)
        assert terminal.get("terminalKind") == f"liegeo.{terminal.get('name').rpartition('.')[2]}"
        found[terminal.get("name")] = [name for name, _ in pairs]
    assert {name for members in found.values() for name in members} <= known
    return found


def test_an_fmu_with_python_has_terminals(tmp_path):
    fmu = fmu_export.build("models/double_pendulum.yaml", tmp_path / "pendulum.fmu")
    position = [f"lower.end.position.{k}" for k in "xyz"]
    assert members_of(fmu) == {"top.flange": ["top.tau", "top.angle", "top.speed"], "lower.end.frame": position}


def test_an_input_is_no_output():
    """A vector does not mix causalities."""
    listed = [scalar("a.x"), scalar("a.y"), ExportedVariable("a.z", INPUT, (0,), INPUT, "continuous", start=0.0)]
    assert runs(listed) == [1, 1, 1]


# ---- model exchange


@foreign
@pytest.mark.parametrize("model", ["double_pendulum", "st21_spacecraft", "sy16_four_bar", "crane"])
def test_model_exchange_has_the_bits_of_fmi_2(built, model):
    """Under the same integrator: which agrees with co-simulation, test_fmu_exchange.py shows of FMI 2.0."""
    names = outputs_of(built(model)[0])
    end = 0.2 if model != "crane" else 0.01
    second, third = (
        fmpy.simulate_fmu(
            str(fmu), fmi_type="ModelExchange", stop_time=end, output_interval=end / 10, relative_tolerance=1e-8,
            record_events=False, set_stop_time=False,
        )
        for fmu in built(model)
    )  # fmt: skip
    np.testing.assert_array_equal(by_scalar(third, names), np.stack([second[name] for name in names], axis=1))


def outputs_of(fmu):
    return [v.name for v in fmpy.read_model_description(str(fmu)).modelVariables if v.causality == "output"]


class Exchange:
    """An instance for model exchange, with the states and rates that its description names."""

    def __init__(self, fmu, folder):
        self.about = fmpy.read_model_description(str(fmu))
        where = fmpy.extract(str(fmu), str(folder))
        self.fmu = FMU3Model(
            guid=self.about.guid, unzipDirectory=where, modelIdentifier=self.about.modelExchange.modelIdentifier
        )
        self.fmu.instantiate()
        self.rates = [v for v in self.about.modelVariables if v.derivative is not None]
        self.n = self.fmu.getNumberOfContinuousStates()

    def array(self, function):
        found = (ctypes.c_double * self.n)()
        getattr(self.fmu, function)(found, self.n)
        return np.array(found)

    def put(self, x):
        self.fmu.setContinuousStates((ctypes.c_double * self.n)(*x), self.n)

    def read(self, variables):
        sizes = [int(np.prod([int(d.start) for d in v.dimensions])) for v in variables]
        return np.array(self.fmu.getFloat64([v.valueReference for v in variables], nValues=sum(sizes)))


@pytest.fixture
def exchange(built, tmp_path):
    found = Exchange(built("st21_spacecraft")[1], tmp_path / "exchange")
    yield found
    found.fmu.freeInstance()


@foreign
def test_states_and_rates_are_variables(exchange):
    """In the order in which the functions of model exchange have them, vectors as vectors."""
    fmu, n = exchange.fmu, exchange.n
    assert fmu.getNumberOfEventIndicators() == 0
    assert any(len(v.dimensions) == 1 for v in exchange.rates)
    assert all(v.name == f"der({v.derivative.name})" for v in exchange.rates)
    assert (exchange.array("getNominalsOfContinuousStates") > 0.0).all()
    fmu.enterInitializationMode(startTime=0.0)
    fmu.exitInitializationMode()
    assert not fmu.updateDiscreteStates()[3]
    fmu.enterContinuousTimeMode()
    x = exchange.array("getContinuousStates") + np.linspace(1e-5, 1e-3, n)
    exchange.put(x)
    fmu.setTime(0.25)
    np.testing.assert_array_equal(exchange.read([v.derivative for v in exchange.rates]), x)
    rates = exchange.array("getContinuousStateDerivatives")
    np.testing.assert_array_equal(exchange.read(exchange.rates), rates)
    assert np.abs(rates).max() > 1e-3
    time = next(v for v in exchange.about.modelVariables if v.causality == "independent")
    assert exchange.read([time]) == [0.25]
    # a quaternion that is far from a rotation asks for an event, which makes it one
    event, ends = fmu.completedIntegratorStep()
    assert (event, ends) == (True, False)
    fmu.enterEventMode()
    assert fmu.updateDiscreteStates()[3]
    fmu.enterContinuousTimeMode()
    assert fmu.completedIntegratorStep() == (False, False)


@foreign
def test_directional_and_adjoint_derivatives_along_states(exchange):
    """seedᵀ (J d) = (Jᵀ seed) d, and J d is what rates change by."""
    fmu, n = exchange.fmu, exchange.n
    fmu.enterInitializationMode(startTime=0.0)
    fmu.exitInitializationMode()
    fmu.enterContinuousTimeMode()
    random = np.random.default_rng(3)
    seed, direction, x = random.normal(size=n), random.normal(size=n), exchange.array("getContinuousStates")
    unknowns, knowns = ([v.valueReference for v in each] for each in _derivatives_and_states(exchange))
    ahead = np.array(fmu.getDirectionalDerivative(unknowns, knowns, list(direction), nSensitivity=n))
    back = np.array(fmu.getAdjointDerivative(unknowns, knowns, list(seed), nSensitivity=n))
    assert seed @ ahead == pytest.approx(back @ direction, rel=1e-11)
    rows = []
    for e in (1e-6, -1e-6):
        exchange.put(x + e * direction)
        rows.append(exchange.array("getContinuousStateDerivatives"))
    difference = (rows[0] - rows[1]) / 2e-6
    np.testing.assert_allclose(ahead, difference, rtol=0, atol=1e-6 * np.abs(difference).max())


def _derivatives_and_states(exchange):
    return exchange.rates, [v.derivative for v in exchange.rates]


@foreign
def test_functions_of_model_exchange_are_for_its_instances(exchange, one):
    library = ctypes.CDLL(str(Path(one.fmu.dll._name)))
    for function in ("fmi3EnterContinuousTimeMode", "fmi3EnterEventMode"):
        assert getattr(library, function)(ctypes.c_void_p(one.fmu.component)) == 3
    with pytest.raises(FMICallException, match="status 3"):
        exchange.fmu.enterContinuousTimeMode()


# ---- intermediate update


class Heard:
    """What a host hears of internal steps, and when it wishes the step to end."""

    def __init__(self):
        self.times, self.values, self.early, self.read = [], [], {}, None

    def __call__(self, environment, time, set_requested, get_allowed, finished, can_return, wished, until):
        assert (set_requested, get_allowed, finished) == (False, True, True)
        self.times.append(time)
        if self.read is not None:
            self.values.append(self.read())
        if time in self.early:
            wished[0], until[0] = True, self.early[time]


def stepped(fmu, folder, sizes, values=None, read=(), early=None, listening=True, slope=3.0):
    """Return what was heard, how steps ended, and the values behind each."""
    heard, ends, rows = Heard(), [], []
    options = {"intermediateUpdate": heard, "earlyReturnAllowed": True} if listening else {}
    made = Driven(fmu, folder, initialise=False, **options)
    for name, value in (values or {}).items():
        set_ = made.fmu.setString if isinstance(value, str) else made.fmu.setFloat64
        set_([made.by_name[name]], [value])
    made.fmu.enterInitializationMode(startTime=0.0)
    made.fmu.exitInitializationMode()
    places = [made.by_name[name] for name in read]
    heard.early = early or {}
    heard.read = lambda: made.fmu.getFloat64(places, nValues=len(places))
    t = 0.0
    for size in sizes:
        made.fmu.setFloat64([made.by_name["top.tau"]], [slope * t])
        answer = made.fmu.doStep(t, size)
        ends.append(answer)
        t = answer[3]
        rows.append(heard.read())
    made.fmu.freeInstance()
    return heard, ends, rows


READ = ["time", "top.angle", "middle.speed"]


@foreign
@pytest.mark.parametrize("method", ["rkmk-4", "rkmk-54", "generalised-alpha-0.8"])
def test_hosts_hear_of_internal_steps(built, tmp_path, method):
    """The motion has the same bits, and what is read within a step is what steps that end there show."""
    fmu = built("double_pendulum")[1]
    values = {"integrator.method": method, "integrator.step": 0.003, "integrator.rtol": 1e-5, "integrator.atol": 1e-5}
    sizes = [0.02, 0.01, 0.05]
    heard, ends, rows = stepped(fmu, tmp_path / "fmu", sizes, values, READ)
    _, plain_ends, plain = stepped(fmu, tmp_path / "fmu", sizes, values, READ, listening=False)
    assert rows == plain
    assert ends == plain_ends == [(False, False, False, end) for end in (0.02, 0.03, 0.08)]
    assert np.all(np.diff(heard.times) > 0.0)
    assert {0.02, 0.03, 0.08} <= set(heard.times)
    assert len(heard.times) >= 6
    assert [row[0] for row in heard.values] == heard.times
    if method == "rkmk-4":
        # 7, 4 and 17 steps; what they are, one after another, are the steps of a run
        assert len(heard.times) == 28
        first = [t for t in heard.times if t <= 0.02]
        _, _, alone = stepped(fmu, tmp_path / "fmu", np.diff([0.0, *first]), values, READ, slope=0.0)
        np.testing.assert_allclose(heard.values[: len(first)], alone, rtol=1e-13, atol=1e-13)


@foreign
@pytest.mark.parametrize("extrapolation", ["hold", "linear"])
@pytest.mark.parametrize("method", ["rkmk-4", "generalised-alpha-0.8"])
def test_hosts_can_end_a_step_early(built, tmp_path, method, extrapolation):
    """At the time that they wish, or at once; what follows is what a host gets that stepped to there."""
    fmu = built("double_pendulum")[1]
    values = {"integrator.method": method, "integrator.step": 0.005, "integrator.extrapolation": extrapolation}
    # a wish that lies within a later internal step, one in the past, and one behind the end
    early = {0.025: 0.0325, 0.0375: 0.01, 0.05: 1.0}
    heard, ends, rows = stepped(fmu, tmp_path / "fmu", [0.02, 0.02, 0.02, 0.02], values, READ, early)
    assert 0.0325 in heard.times
    np.testing.assert_allclose([end[3] for end in ends], [0.02, 0.0325, 0.0375, 0.0575], rtol=1e-15)
    assert [end[:3] for end in ends] == [(False, False, early) for early in (False, True, True, False)]
    _, _, alone = stepped(fmu, tmp_path / "fmu", [0.02, 0.0125, 0.005, 0.02], values, READ, listening=False)
    # before a wish was heard internal steps were of another size; of generalised-α the error is 4e-5 anyway
    np.testing.assert_allclose(rows, alone, rtol=0, atol=1e-10 if method == "rkmk-4" else 1e-5)


@foreign
def test_wrong_calls_within_a_step(built, tmp_path):
    fmu = built("double_pendulum")[1]
    heard = Heard()
    made = Driven(fmu, tmp_path / "fmu", intermediateUpdate=heard)
    said = {}

    def wrong():
        read = made.by_name["integrator.step"]
        said["variable"] = made.refused("fmi3GetFloat64", *references(read), *reals(0.0))

    heard.read = wrong
    with pytest.raises(FMICallException, match="status 3"):
        made.fmu.doStep(0.0, 0.1)
    assert "is no intermediate variable." in said["variable"]
    assert len(heard.times) == 1
    made.again()
    heard.read = lambda: said.update(step=made.refused("fmi3SetFloat64", *references(0), *reals(0.0)))
    with pytest.raises(FMICallException, match="status 3"):
        made.fmu.doStep(0.0, 0.1)
    assert said["step"] == "it is not allowed now: the FMU is within a step."
    made.fmu.freeInstance()


# ---- event mode of co-simulation

JUMPS = """
liegeo: 1
name: jumps
bodies:
  rod: {kind: rigid, mass: 2, com: [0, 0, -1], inertia: [0.1, 0.1, 0.1]}
joints:
  hinge: {kind: revolute, parent: world, child: rod, axis: [0, 1, 0]}
forces:
  motor: {kind: actuator, joint: hinge}
initial: {q: {hinge: 0.5}}
experiment:
  end: 1 s
  method: rkmk-4
  step: 5 ms
  inputs: {motor: {pieces: [{until: 0.313 s, value: 8}, {until: 0.4 s, value: -2}, {value: 5}]}}
fmu: {inputs: {hinge: }, outputs: {hinge.angle: , hinge.speed: , hinge.acceleration: }}
"""


@pytest.fixture(scope="module")
def jumping(tmp_path_factory):
    """Return an FMU whose inner input jumps at 0.313 s and, where a communication step of 0.1 s ends, at 0.4 s."""
    folder = tmp_path_factory.mktemp("jumping")
    (folder / "jumps.yaml").write_text(JUMPS, encoding="utf-8")
    return fmu_export.build(folder / "jumps.yaml", folder / "jumps.fmu", native=True, platforms=["linux64"], fmi=3)


@foreign
@pytest.mark.parametrize("early", [True, False])
def test_steps_end_at_events_of_hosts_that_handle_them(jumping, tmp_path, early):
    plain = Driven(jumping, tmp_path / "plain")
    made = Driven(jumping, tmp_path / "events", initialise=False, eventModeUsed=True, earlyReturnAllowed=early)
    made.fmu.enterInitializationMode(startTime=0.0)
    made.fmu.exitInitializationMode()
    handle(made.fmu, 0.313)
    ends, t = [], 0.0
    for k in range(6):
        plain.fmu.doStep(0.1 * k, 0.1 * (k + 1) - 0.1 * k)
        while t < 0.1 * (k + 1):
            event, ended, returned, t = made.fmu.doStep(t, 0.1 * (k + 1) - t)
            assert not ended
            ends.append((round(t, 12), event, returned))
            if event:
                made.fmu.enterEventMode()
                data = saved(made.fmu)
                handle(made.fmu, 0.4 if t < 0.35 else None)
                # a state in event mode goes back there
                put_back(made.fmu, data)
                handle(made.fmu, 0.4 if t < 0.35 else None)
        # internal steps end at jumps in any case
        assert shown(made) == shown(plain)
    at = [
        (0.1, False, False),
        (0.2, False, False),
        (0.3, False, False),
        (0.4, True, False),
        (0.5, False, False),
        (0.6, False, False),
    ]
    assert ends == ([*at[:3], (0.313, True, True), *at[3:]] if early else at)
    for each in (plain, made):
        each.fmu.freeInstance()


def handle(fmu, expected):
    """Handle an event, after which the next one is expected at this time, or none."""
    again, ends, nominals, values, defined, time = fmu.updateDiscreteStates()
    assert [again, ends, nominals, values] == [False] * 4
    assert (defined, time if defined else None) == (expected is not None, expected)
    fmu.enterStepMode()


def shown(made):
    names = ("hinge.angle", "hinge.speed", "hinge.acceleration")
    return [made.fmu.getFloat64([made.by_name[name]]) for name in names]


@foreign
def test_acceleration_at_an_event_is_that_behind_the_jump(jumping, tmp_path):
    """(m l² + J) a = τ − m g l sin φ."""
    made = Driven(jumping, tmp_path / "fmu", initialise=False, eventModeUsed=True, earlyReturnAllowed=True)
    made.fmu.enterInitializationMode(startTime=0.0)
    made.fmu.exitInitializationMode()
    made.fmu.enterStepMode()
    assert made.fmu.doStep(0.0, 1.0)[3] == pytest.approx(0.313, abs=1e-15)
    (angle,), _, (acceleration,) = shown(made)
    assert acceleration == pytest.approx((-2.0 - 2.0 * 9.81 * np.sin(angle)) / 2.1, rel=1e-9)
    made.fmu.freeInstance()


@foreign
def test_event_mode_is_for_hosts_that_use_it(jumping, tmp_path):
    plain = Driven(jumping, tmp_path / "fmu")
    assert plain.refused("fmi3EnterStepMode").startswith("the FMU does not offer it: ")
    plain.fmu.freeInstance()
    made = Driven(jumping, tmp_path / "fmu", eventModeUsed=True)
    flags, last = [ctypes.c_bool() for _ in range(3)], ctypes.c_double()
    arguments = (ctypes.c_double(0.0), ctypes.c_double(0.1), True, *map(ctypes.byref, flags), ctypes.byref(last))
    assert made.refused("fmi3DoStep", *arguments) == "it is not allowed now: the FMU is in event mode."
    made.fmu.freeInstance()


@foreign
def test_fmpy_handles_events(jumping):
    runs_ = [
        fmpy.simulate_fmu(
            str(jumping), stop_time=0.6, output_interval=0.1, use_event_mode=events, early_return_allowed=events
        )
        for events in (True, False)
    ]
    times = list(np.round(runs_[0]["time"], 12))
    assert times.count(0.313) == 2
    at = [times.index(round(t, 12)) for t in runs_[1]["time"]]
    np.testing.assert_allclose(runs_[0]["hinge.angle"][at], runs_[1]["hinge.angle"], rtol=0, atol=1e-13)
