"""The library of an FMU with something simple in C inside (inside.c), in place of Python; and how it writes numbers."""

from __future__ import annotations

import ctypes
import math
import random
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
GUARD = HERE.parents[1] / "fmu_export/guard"
OK, WARNING, DISCARD, ERROR, FATAL = range(5)
INPUT, INTEGRAL, GAIN, LABEL, MESSAGE, MOTION = range(6)
LOGGER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("cc") is None, reason="no C compiler"
)


class Callbacks(ctypes.Structure):
    _fields_ = (("logger", LOGGER), ("others", ctypes.c_void_p * 4))


def compiled(made, *sources):
    """A library of these sources; warnings are errors."""
    options = ["-std=gnu11", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", f"-I{GUARD}"]
    subprocess.run([shutil.which("cc"), *options, "-o", str(made), *map(str, sources)], check=True)
    return ctypes.CDLL(str(made))


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    names = ("fmi2", "exchange", "life", "variables", "start_values", "words", "number", "system")
    sources = [GUARD / f"{name}.c" for name in names]
    library = compiled(tmp_path_factory.mktemp("inside") / "inside.so", *sources, HERE / "inside.c")
    library.fmi2Instantiate.restype = ctypes.c_void_p
    return library


class Fmu:
    """An instance, and what it has said."""

    def __init__(self, library, resources, guid=b"{1}", verbose=False, kind=1):
        self.library, self.said = library, []
        self.logger = LOGGER(lambda _, name, status, category, text: self.said.append((status, text.decode())))
        self.callbacks = Callbacks(logger=self.logger)
        made = library.fmi2Instantiate(b"x", kind, guid, resources, ctypes.byref(self.callbacks), 0, verbose)
        self.component = ctypes.c_void_p(made)

    def call(self, function, *arguments):
        return self.library[f"fmi2{function}"](self.component, *arguments)

    def refused(self, status, text, function, *arguments):
        n = len(self.said)
        assert self.call(function, *arguments) == status
        assert self.said[n:] == [(status, f"fmi2{function}: {text}")]
        assert self.message() == f"fmi2{function}: {text}".partition("\n")[0].replace("%%", "%")

    def set(self, reference, *values):
        n = len(values)
        references = (ctypes.c_uint * n)(*range(reference, reference + n))
        return references, ctypes.c_size_t(n), (ctypes.c_double * n)(*values)

    def get(self, reference):
        found = (ctypes.c_double * 1)()
        assert self.call("GetReal", (ctypes.c_uint * 1)(reference), ctypes.c_size_t(1), found) == OK
        return found[0]

    def message(self):
        found = (ctypes.c_char_p * 2)()
        asked = (ctypes.c_uint * 2)(MESSAGE, MESSAGE)
        assert self.call("GetString", asked, ctypes.c_size_t(2), found) == OK
        assert found[0] == found[1]
        return found[0].decode()

    def initialise(self, start=0.0, stop=math.nan):
        defined = not math.isnan(stop)
        times = (ctypes.c_double(x) for x in (start, stop))
        assert self.call("Reset") == OK
        assert self.call("SetupExperiment", 0, ctypes.c_double(), next(times), defined, next(times)) == OK
        assert self.call("EnterInitializationMode") == OK
        assert self.call("ExitInitializationMode") == OK
        return self

    def step(self, t, size):
        return ctypes.c_double(t), ctypes.c_double(size), 1


@pytest.fixture
def fmu(library, tmp_path):
    (tmp_path / "here").write_text("x")
    before = ctypes.c_int.in_dll(library, "machines").value
    fmu = Fmu(library, str(tmp_path).encode())
    assert fmu.component
    yield fmu
    library.fmi2FreeInstance(fmu.component)
    assert ctypes.c_int.in_dll(library, "machines").value == before


def test_it_is_not_made(library, tmp_path):
    (tmp_path / "here").write_text("x")
    before = ctypes.c_int.in_dll(library, "machines").value
    for location, guid, words in (
        (None, b"{1}", "fmuResourceLocation is NULL, expected the URI of the resources."),
        (b"/nowhere", b"{1}", "fmuResourceLocation is '/nowhere', expected the file: URI of the unpacked folder "),
        (b"http:///tmp", b"{1}", "of the unpacked folder 'resources' of this FMU, with a file 'here'."),
        (str(tmp_path).encode(), b"{2}", "the GUID is '{2}', but this FMU is {1}."),
        (str(tmp_path).encode(), b"\xff\xfe", "the GUID is '\ufffd\ufffd', but this FMU is {1}."),
        (str(tmp_path).encode(), None, "the GUID is '', but this FMU is {1}."),
        (b"\xff", b"{1}", "the path of the resources is not UTF-8."),
    ):
        fmu = Fmu(library, location, guid)
        assert not fmu.component.value
        ((status, text),) = fmu.said
        assert status == ERROR
        assert text.startswith("fmi2Instantiate: ")
        assert words in text
    assert ctypes.c_int.in_dll(library, "machines").value == before


def test_it_moves(fmu):
    fmu.initialise()
    assert fmu.call("SetReal", *fmu.set(INPUT, 2.0)) == OK
    assert fmu.call("DoStep", *fmu.step(0.0, 0.5)) == OK
    assert fmu.get(INTEGRAL) == 1.0
    state, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert fmu.call("GetFMUstate", ctypes.byref(state)) == OK
    assert fmu.call("SerializedFMUstateSize", state, ctypes.byref(size)) == OK
    data = ctypes.create_string_buffer(size.value)
    assert fmu.call("SerializeFMUstate", state, data, size) == OK
    assert fmu.call("DoStep", *fmu.step(0.5, 0.5)) == OK
    assert fmu.get(INTEGRAL) == 2.0
    copy = ctypes.c_void_p()
    assert fmu.call("DeSerializeFMUstate", data, size, ctypes.byref(copy)) == OK
    assert fmu.call("SetFMUstate", copy) == OK
    assert fmu.get(INTEGRAL) == 1.0
    assert fmu.call("FreeFMUstate", ctypes.byref(copy)) == OK
    fmu.refused(ERROR, "the bytes are no state.", "DeSerializeFMUstate", data, ctypes.c_size_t(3), ctypes.byref(copy))
    assert fmu.call("SetFMUstate", state) == OK
    small = f"there is room for 3 bytes, but the state takes {size.value}."
    fmu.refused(ERROR, small, "SerializeFMUstate", state, data, ctypes.c_size_t(3))


def test_what_is_inside_says_why(fmu):
    """It gives the reason, and the library makes the message: with details in the log, without in the variable."""
    fmu.initialise()
    assert fmu.message() == "it begins"
    both = (ctypes.c_uint * 2)(INPUT, GAIN), ctypes.c_size_t(2), (ctypes.c_double * 2)(7.0, -1.0)
    fmu.refused(DISCARD, "input, gain: a gain < 0.", "SetReal", *both)
    # all or none
    assert (fmu.get(INPUT), fmu.get(GAIN)) == (0.0, 1.0)
    both[2][:] = (200.0, 3.0)
    assert fmu.call("SetReal", *both) == OK
    assert (fmu.get(INPUT), fmu.get(GAIN)) == (200.0, 3.0)
    why = "the step from 0 s, 0.333333 s long, is discarded: 100 %% is too much\nsomewhere"
    fmu.refused(DISCARD, why, "DoStep", *fmu.step(0.0, 1 / 3))
    fmu.refused(ERROR, "it is not allowed now: the FMU is where a step was discarded.", "DoStep", *fmu.step(0.0, 1.0))
    fmu.initialise()
    assert fmu.call("SetReal", *fmu.set(INPUT, 2000.0)) == OK
    fmu.refused(ERROR, "100 %% is too much\nsomewhere", "DoStep", *fmu.step(0.0, 1.0))
    fmu.initialise()
    assert fmu.call("SetReal", *fmu.set(INPUT, 20000.0)) == OK
    assert fmu.call("DoStep", *fmu.step(0.0, 1.0)) == FATAL
    # and nothing else any more
    n = len(fmu.said)
    assert fmu.call("Reset") == FATAL
    assert fmu.call("DoStep", *fmu.step(0.0, 1.0)) == FATAL
    assert len(fmu.said) == n


def test_the_message_beside_other_texts(fmu):
    fmu.initialise()
    found = (ctypes.c_char_p * 3)()
    asked = (ctypes.c_uint * 3)(LABEL, MESSAGE, LABEL)
    assert fmu.call("GetString", asked, ctypes.c_size_t(3), found) == OK
    assert list(found) == [b"none", b"it begins", b"none"]
    names = (ctypes.c_char_p * 1)(b"log\xe2\x82Nonsense %s \xc3\xbc")
    text = "there is no category 'log\ufffd\ufffdNonsense %%s ü'."
    fmu.refused(WARNING, text, "SetDebugLogging", 0, ctypes.c_size_t(1), names)
    assert fmu.call("Reset") == OK
    assert fmu.call("EnterInitializationMode") == OK
    # that of the run before is gone
    assert fmu.message() == ""


def test_numbers_in_messages(fmu):
    for t, size, words in (
        (0.1, 0.0, "from 0.1 s, 0.0 s long; expected a finite time and a size > 0."),
        (1e-5, -1e22, "from 1e-05 s, -1e+22 s long; expected a finite time and a size > 0."),
        (math.inf, math.nan, "from inf s, nan s long; expected a finite time and a size > 0."),
        (1 / 3, 1e-9, "from 0.3333333333333333 s, but the FMU is at 0 s."),
        (0.0, 1.5, "the step ends at 1.5 s, but fmi2SetupExperiment said that the run ends at 1 s."),
    ):
        fmu.initialise(0.0, 1.0)
        fmu.refused(ERROR, words, "DoStep", *fmu.step(t, size))
    fmu.initialise(1e20)
    fmu.refused(ERROR, "0.001 s are nothing beside the time, 1e+20 s.", "DoStep", *fmu.step(1e20, 1e-3))
    fmu.initialise()
    fmu.refused(DISCARD, "input: the value is -inf, expected a finite number.", "SetReal", *fmu.set(INPUT, -math.inf))
    fmu.refused(ERROR, "integral is a variable that cannot be set.", "SetReal", *fmu.set(INTEGRAL, 1.0))


def test_derivatives_that_are_not_used(fmu):
    """Told once for each input, until the FMU is reset."""
    three = (ctypes.c_uint * 3)(INPUT, MOTION, INPUT), ctypes.c_size_t(3)
    orders, values = (ctypes.c_int * 3)(1, 1, 1234), (ctypes.c_double * 3)(1.0, 2.0, 3.0)
    words = (
        "motion: its rate and acceleration are inputs of their own; "
        "input: the order is 1234, and those above 2 are not used."
    )
    for _ in range(2):
        fmu.initialise()
        fmu.refused(WARNING, words, "SetRealInputDerivatives", *three, orders, values)
        assert fmu.call("SetRealInputDerivatives", *three, orders, values) == OK
    orders[0] = -3
    fmu.refused(ERROR, "input: the order is -3, expected 1 or more.", "SetRealInputDerivatives", *three, orders, values)
    fmu.initialise()
    one = (ctypes.c_uint * 1)(INTEGRAL), ctypes.c_size_t(1), (ctypes.c_int * 1)(2), values
    fmu.refused(ERROR, "integral: the order is 2, expected 1.", "GetRealOutputDerivatives", *one)


def test_numbers_are_written_as_python_does(tmp_path):
    """The fewest digits that read back to the same number, and one to 15 digits: of numbers of all sizes."""
    library = compiled(tmp_path / "number.so", GUARD / "number.c")
    library.write_number.argtypes = (ctypes.c_char_p, ctypes.c_double, ctypes.c_int)
    library.write_integer.argtypes = (ctypes.c_char_p, ctypes.c_longlong)
    into, rng = ctypes.create_string_buffer(32), random.Random(7)
    numbers = [0.0, 5e-324, sys.float_info.max, sys.float_info.min, math.inf, math.nan, 2.0**53 + 2.0, 1e22, 1e23]
    numbers += [999999.5, 9999995.0, 0.9999995, 123456.5, 1234565.0, 0.00012345, 1e15 + 0.5, 1e16]
    numbers += [float(f"1e{k}") for k in range(-323, 309)]
    numbers += [near for k in range(-1074, 1024) for near in (2.0**k, math.nextafter(2.0**k, 0.0))]
    numbers += [rng.randrange(2**20) * 5e-324 for _ in range(1000)]
    numbers += [round(rng.uniform(0, 100), rng.randrange(8)) for _ in range(3000)]
    # halves of the last of six digits
    numbers += [rng.randrange(10**7) / 2 ** rng.randrange(8) for _ in range(3000)]
    numbers += [struct.unpack("<d", rng.randbytes(8))[0] for _ in range(10000)]
    for x in numbers:
        for number in (x, -x):
            shortest = repr(number)
            # number.h: as Python does, the same without ".0", or so many digits
            texts = {-1: shortest, 0: shortest.removesuffix(".0"), **{n: f"{number:.{n}g}" for n in (1, 3, 6, 15)}}
            for style, text in texts.items():
                assert library.write_number(into, number, style) == len(text)
                assert into.value.decode() == text
    for number in (0, 1, -1, 10, 1234567890, 2**63 - 1, -(2**63)):
        assert library.write_integer(into, number) == len(str(number))
        assert into.value.decode() == str(number)
