"""FMUs in C for the tests of the master: built once a session from tests/cosim/c, one source a model."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.sax.saxutils import quoteattr

import fmpy

SOURCES = Path(__file__).with_name("c")
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

# Name: kg, m, s, rad, factor
BASE_UNITS = {
    "kg": (1, 0, 0, 0, 1.0),
    "m": (0, 1, 0, 0, 1.0),
    "mm": (0, 1, 0, 0, 1e-3),
    "m/s": (0, 1, -1, 0, 1.0),
    "m/s2": (0, 1, -2, 0, 1.0),
    "N": (1, 1, -2, 0, 1.0),
    "kN": (1, 1, -2, 0, 1e3),
    "N/m": (1, 0, -2, 0, 1.0),
    "N.s/m": (1, 0, -1, 0, 1.0),
    "s": (0, 0, 1, 0, 1.0),
    "rad": (0, 0, 0, 1, 1.0),
    "deg": (0, 0, 0, 1, 0.017453292519943295),
}


@dataclass
class Var:
    """A variable: `kind` is p (parameter), i (input), o (output); `needs` are the inputs that an output depends on."""

    name: str
    kind: str
    unit: str = ""
    start: float | str | None = None
    needs: Sequence[str] | None = ()
    type: str = "Real"
    nominal: float | None = None


@dataclass
class Made:
    """What goes into an FMU."""

    source: str
    variables: list[Var]
    references: list[int] = field(default_factory=list)


def _mass(length: str = "m", force: str = "N") -> list[Var]:
    return [
        Var("m", "p", "kg", 1.0), Var("d", "p", "N.s/m", 0.5), Var("k", "p", "N/m", 4.0), Var("x0", "p", length, 0.0),
        Var("v0", "p", "m/s", 0.0), Var("force", "i", force, 0.0), Var("x", "o", length), Var("v", "o", "m/s"),
        Var("a", "o", "m/s2", needs=["force"]),
    ]  # fmt: skip


def _pd(length: str = "m") -> list[Var]:
    return [
        Var("kp", "p", "", 8.0), Var("kd", "p", "", 1.0), Var("r", "i", length, 0.0), Var("y", "i", length, 0.0),
        Var("v", "i", "m/s", 0.0), Var("u", "o", "N", needs=["r", "y", "v"]),
    ]  # fmt: skip


def _lag(unit: str = "", out: str = "") -> list[Var]:
    return [
        Var("T", "p", "s", 0.5), Var("k", "p", "", 1.0), Var("y0", "p", "", 0.0), Var("u", "i", unit, 0.0),
        Var("y", "o", out or unit),
    ]  # fmt: skip


def _gain(unit: str = "", out: str = "") -> list[Var]:
    return [
        Var("c", "p", "", 0.0), Var("k", "p", "", 1.0), Var("q", "p", "", 0.0), Var("u", "i", unit, 0.0),
        Var("y", "o", out or unit, needs=["u"]),
    ]  # fmt: skip


_CLOCK = [
    Var("half", "p", "s", 0.25), Var("last", "p", "s", 1e9), Var("broken", "p", "s", 1e9), Var("stuck", "p", "s", 1e9),
    Var("wave", "o"), Var("count", "o"),
    Var("ticks", "o", type="Integer"), Var("high", "o", type="Boolean"), Var("word", "o", type="String"),
]  # fmt: skip
_SINK = [
    Var("sum", "o", needs=["n", "flag"]), Var("n", "i", type="Integer", start=0),
    Var("n2", "o", type="Integer", needs=["n"]), Var("flag", "i", type="Boolean", start="false"),
    Var("flag2", "o", type="Boolean", needs=["flag"]), Var("text", "i", type="String", start="nothing"),
    Var("plus", "p", start=0.0),
]  # fmt: skip
_BALL = [
    Var("h", "o", "m", 1.0), Var("v", "o", "m/s", 0.0), Var("g", "p", "m/s2", 9.81), Var("e", "p", "", 0.7),
    Var("slow", "p", "m/s", 1.0), Var("bounces", "o"), Var("count", "o", type="Integer"),
]  # fmt: skip
_STAIR = [Var("last", "p", "s", 10.0), Var("level", "o"), Var("counter", "o", type="Integer")]
_FEEDTHROUGH = [
    Var("real_in", "i", start=0.0), Var("real_out", "o", needs=["real_in"]), Var("fixed", "p", start=1.0),
    Var("tunable", "p", start=0.0),
    Var("int_in", "i", type="Integer", start=0), Var("int_out", "o", type="Integer", needs=["int_in"]),
    Var("choice_in", "i", type="Integer", start=1), Var("choice_out", "o", type="Integer", needs=["choice_in"]),
    Var("bool_in", "i", type="Boolean", start="false"), Var("bool_out", "o", type="Boolean", needs=["bool_in"]),
    Var("text_in", "i", type="String", start="Set me!"), Var("text_out", "o", type="String", needs=["text_in"]),
]  # fmt: skip
_SLOW = [Var("pause", "p", "", 2.0), Var("y", "o", "s")]

# By the name of the FMU: source, variables, and what its flags are besides the usual ones.
FMUS: dict[str, tuple[str, list[Var], dict[str, str]]] = {
    "mass": ("mass", _mass(), {}),
    "mass_hold": ("mass", _mass(), {"canInterpolateInputs": "false"}),
    "mass_mm": ("mass", _mass(), {}),
    "mass_stateless": ("mass", _mass(), {"canGetAndSetFMUstate": "false"}),
    "mass_fixed": ("mass", _mass(), {"canHandleVariableCommunicationStepSize": "false"}),
    "mass_once": ("mass", _mass(), {"canBeInstantiatedOnlyOncePerProcess": "true"}),
    "mass_silent": ("mass", [replace(v, needs=None) for v in _mass()], {}),
    "pd": ("pd", _pd(), {}),
    "pd_mm": ("pd", _pd("mm"), {}),
    "lag": ("lag", _lag(), {}),
    "lag_hold": ("lag", _lag(), {"canInterpolateInputs": "false"}),
    "lag_stateless": ("lag", _lag(), {"canGetAndSetFMUstate": "false"}),
    "lag_deg": ("lag", _lag("deg"), {}),
    "lag_rad": ("lag", _lag("rad"), {}),
    "lag_m": ("lag", _lag("m"), {}),
    "gain": ("gain", _gain(), {}),
    "gain_rad": ("gain", _gain("rad"), {}),
    "gain_odd": ("gain", _gain("furlong_per_gizmo"), {}),
    "clock": ("clock", _CLOCK, {}),
    "clock_stateless": ("clock", _CLOCK, {"canGetAndSetFMUstate": "false"}),
    "sink": ("sink", _SINK, {}),
    # these behave as the reference FMUs of the standard do, and worse
    "ball": ("ball", _BALL, {}),
    "stair": ("stair", _STAIR, {}),
    "stair_stateless": ("stair", _STAIR, {"canGetAndSetFMUstate": "false"}),
    "stair_fixed": ("stair", _STAIR, {"canHandleVariableCommunicationStepSize": "false"}),
    "feedthrough": ("feedthrough", _FEEDTHROUGH, {}),
    "slow": ("slow", _SLOW, {}),
    "endless": ("endless", [Var("y", "o", "s")], {}),
    "crash": ("crash", [Var("when", "p", "s", 1e9), Var("y", "o", "s")], {}),
}
_REFERENCES = {"sink": {"sum": 0, "n": 0, "n2": 1, "flag": 0, "flag2": 1, "text": 0, "plus": 1},
               "clock": {"ticks": 0, "high": 0, "word": 0}, "ball": {"count": 0}, "stair": {"counter": 0},
               "feedthrough": {"int_in": 0, "int_out": 1, "choice_in": 2, "choice_out": 3, "bool_in": 0, "bool_out": 1,
                               "text_in": 0, "text_out": 1}}  # fmt: skip


def description(name: str, source: str, variables: Sequence[Var], flags: dict[str, str]) -> str:
    """modelDescription.xml."""
    given = {
        "canHandleVariableCommunicationStepSize": "true",
        "canInterpolateInputs": "true",
        "canGetAndSetFMUstate": "true",
        **flags,
    }
    units = sorted({v.unit for v in variables if v.unit in BASE_UNITS})
    odd = sorted({v.unit for v in variables if v.unit and v.unit not in BASE_UNITS})
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<fmiModelDescription fmiVersion="2.0" modelName="{name}" guid="{{{name}}}" generationTool="tests">',
        f'  <CoSimulation modelIdentifier="{name}" ' + " ".join(f'{k}="{v}"' for k, v in given.items()) + "/>",
    ]
    if units or odd:
        lines.append("  <UnitDefinitions>")
        for unit in units:
            kg, m, s, rad, factor = BASE_UNITS[unit]
            lines.append(
                f'    <Unit name="{unit}"><BaseUnit kg="{kg}" m="{m}" s="{s}" rad="{rad}" factor="{factor!r}"/></Unit>'
            )
        lines += [f'    <Unit name="{unit}"/>' for unit in odd]
        lines.append("  </UnitDefinitions>")
    lines.append('  <LogCategories><Category name="logAll"/><Category name="logStatusError"/></LogCategories>')
    lines.append('  <DefaultExperiment startTime="0" stopTime="1" stepSize="0.01"/>')
    lines.append("  <ModelVariables>")
    places = {v.name: k + 1 for k, v in enumerate(variables)}
    references = _REFERENCES.get(source, {})
    for k, v in enumerate(variables):
        causality = {"p": "parameter", "i": "input", "o": "output"}[v.kind]
        variability = "fixed" if v.kind == "p" else "continuous" if v.type == "Real" else "discrete"
        more = f' start="{v.start}"' if v.start is not None else ""
        initial = ' initial="exact"' if v.kind == "o" and v.start is not None else ""
        more += f" unit={quoteattr(v.unit)}" if v.unit else ""
        more += f' nominal="{v.nominal}"' if v.nominal else ""
        lines.append(
            f'    <ScalarVariable name="{v.name}" valueReference="{references.get(v.name, k)}" '
            f'causality="{causality}" variability="{variability}"{initial}><{v.type}{more}/></ScalarVariable>'
        )
    lines.append("  </ModelVariables>\n  <ModelStructure>")
    for tag in ("Outputs", "InitialUnknowns"):
        listed = [v for v in variables if v.kind == "o" and (tag == "Outputs" or v.start is None)]
        unknowns = [f'<Unknown index="{places[v.name]}" {_dependencies(v, places)}/>' for v in listed]
        lines.append(f"    <{tag}>{''.join(unknowns)}</{tag}>" if unknowns else "")
    lines.append("  </ModelStructure>\n</fmiModelDescription>")
    return "\n".join(lines)


def _dependencies(variable: Var, places: dict[str, int]) -> str:
    """Left out where nobody says, which means all inputs."""
    if variable.needs is None:
        return ""
    return f'dependencies="{" ".join(str(places[name]) for name in variable.needs)}"'


def build(name: str, folder: Path) -> Path:
    """NAME.fmu in the folder; compiled if it is not there."""
    file = folder / f"{name}.fmu"
    if file.exists():
        return file
    source, variables, flags = FMUS[name]
    library = folder / f"{name}{fmpy.sharedLibraryExtension}"
    headers = Path(fmpy.__file__).parent / "c-code"
    assert COMPILER is not None
    options = ["-DNO_STATE"] if flags.get("canGetAndSetFMUstate") == "false" else []
    options.append(f"-DUSED={sum(v.type == 'Real' for v in variables)}")
    subprocess.run(
        [COMPILER, "-O2", "-fPIC", "-shared", "-ffp-contract=off", f'-DMODEL="{source}.h"', *options, f"-I{headers}",
         f"-I{SOURCES}", str(SOURCES / "frame.c"), "-lm", "-o", str(library)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("modelDescription.xml", description(name, source, variables, flags))
        archive.write(library, f"binaries/{fmpy.platform}/{library.name}")
    return file


def digest() -> str:
    """Of all that the FMUs are made of."""
    text = b"".join(path.read_bytes() for path in sorted(SOURCES.iterdir())) + Path(__file__).read_bytes()
    return hashlib.sha256(text).hexdigest()[:12]
