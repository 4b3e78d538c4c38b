"""FMUs in C for the tests of the master: built once a session from tests/cosim/c, one source a model.

`build("mass", folder)` is an FMU of FMI 2.0, `build("mass", folder, fmi=3)` the same model as an FMU of FMI 3.0.
"""

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
    shape: tuple[int, ...] = ()


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
_WHOLE = [f"{sign}Int{bits}" for bits in (8, 16, 32, 64) for sign in ("", "U")]
_ARRAYS = [
    Var("A", "p", start="1 0 0 0 1 0", shape=(2, 3)), Var("u", "i", start="1 2 3", shape=(3,)),
    Var("y", "o", needs=["u"], shape=(2,)), Var("single_in", "i", type="Float32", start=0.0),
    Var("single_out", "o", type="Float32", needs=["single_in"]), Var("gain", "p", start=1.0, shape=(2,)),
    Var("pair_in", "i", type="Float32", start="0 0", shape=(2,)),
    Var("pair_out", "o", type="Float32", needs=["pair_in"], shape=(2,)),
    *(Var(f"{kind}_{way}", way[0], type=kind, start=0 if way == "in" else None, needs=[f"{kind}_in"])
      for kind in _WHOLE for way in ("in", "out")),
    Var("flags_in", "i", type="Boolean", start="false true", shape=(2,)),
    Var("flags_out", "o", type="Boolean", needs=["flags_in"], shape=(2,)),
    Var("words_in", "i", type="String", start="one two", shape=(2,)),
    Var("words_out", "o", type="String", needs=["words_in"], shape=(2,)),
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
    # of FMI 3.0 only
    "arrays": ("arrays", _ARRAYS, {}),
    "lag_early": ("lag", _lag(), {}),
    "crash": ("crash", [Var("when", "p", "s", 1e9), Var("y", "o", "s")], {}),
}
_REFERENCES = {"sink": {"sum": 0, "n": 0, "n2": 1, "flag": 0, "flag2": 1, "text": 0, "plus": 1},
               "clock": {"ticks": 0, "high": 0, "word": 0}, "ball": {"count": 0}, "stair": {"counter": 0},
               "feedthrough": {"int_in": 0, "int_out": 1, "choice_in": 2, "choice_out": 3, "bool_in": 0, "bool_out": 1,
                               "text_in": 0, "text_out": 1}}  # fmt: skip

# For model exchange: variables and states, by their places in r[] and x[] of exchange.c.
EXCHANGE: dict[str, tuple[str, list[Var], list[str], int]] = {
    "bounce": ("bounce", [
        Var("g", "p", "m/s2", 9.81), Var("e", "p", "", 0.7), Var("slow", "p", "m/s", 1.0), Var("h", "o", "m"),
        Var("v", "o", "m/s"), Var("bounces", "o"), Var("last", "o", "s"),
    ], ["height", "speed"], 1),
    "oscillator": ("oscillator", [
        Var("mu", "p", "", 1.0), Var("T", "p", "s", 0.5), Var("limit", "p", "", 1e9), Var("u", "i", "", 0.0),
        Var("x", "o"), Var("v", "o"), Var("lagged", "o"), Var("y", "o", needs=["u"]),
    ], ["x1", "x2", "x3"], 0),
    "switch": ("switch", [
        Var("period", "p", "s", 0.25), Var("saw", "o"), Var("resets", "o"), Var("command", "d", "", 0.0),
        Var("taken", "o"), Var("sum", "o"), Var("stuck", "p", "s", 0.0),
    ], ["ramp"], 0),
    "ticker": ("switch", [
        Var("period", "p", "s", 0.25), Var("saw", "o"), Var("resets", "o"), Var("command", "d", "", 0.0),
        Var("taken", "o"), Var("sum", "o"), Var("stuck", "p", "s", 0.0),
    ], [], 0),
}  # fmt: skip


def exchange_description(name: str, fmi: int) -> str:
    """modelDescription.xml of an FMU for model exchange."""
    _, variables, states, indicators = EXCHANGE[name.removesuffix("_3")]
    units = "".join(
        f'<Unit name="{unit}"><BaseUnit kg="{kg}" m="{m}" s="{s}" factor="{factor!r}"/></Unit>'
        for unit, (kg, m, s, _, factor) in BASE_UNITS.items()
    )
    place = {v.name: k for k, v in enumerate(variables)}
    place |= {state: 100 + k for k, state in enumerate(states)} | {f"der({x})": 200 + k for k, x in enumerate(states)}
    index = {each: k + 1 for k, each in enumerate(place)}
    lines = []
    for each, reference in place.items():
        v = variables[reference] if reference < 100 else None
        kind = v.kind if v is not None else "local"
        causality = {"p": "parameter", "i": "input", "o": "output", "d": "input"}.get(kind, kind)
        variability = {"p": "fixed", "d": "discrete"}.get(kind, "continuous")
        more = f' start="{v.start}"' if v is not None and v.start is not None else ""
        more += f' unit="{v.unit}"' if v is not None and v.unit else ""
        of = each[4:-1] if each.startswith("der(") else ""
        more += f' derivative="{index[of] if fmi == 2 else place[of]}"' if of else ""
        shared = f'name="{each}" valueReference="{reference}" causality="{causality}" variability="{variability}"'
        lines.append(
            f"<ScalarVariable {shared}><Real{more}/></ScalarVariable>" if fmi == 2 else f"<Float64 {shared}{more}/>"
        )
    number = index if fmi == 2 else place
    depends = {
        v.name: " ".join(str(number[n]) for n in [*(v.needs or ()), *states]) for v in variables if v.kind == "o"
    }
    rates = [f"der({state})" for state in states]
    if fmi == 2:

        def listed(tag: str, names: Sequence[str]) -> str:
            on = {n: "" if tag == "InitialUnknowns" else depends[n] for n in depends}
            unknowns = "".join(
                f'<Unknown index="{number[n]}"' + (f' dependencies="{on[n]}"' if n in on else "") + "/>" for n in names
            )
            return f"<{tag}>{unknowns}</{tag}>" if names else ""

        structure = listed("Outputs", list(depends)) + listed("Derivatives", rates)
        structure += listed("InitialUnknowns", [*depends, *states, *rates])
    else:
        structure = "".join(f'<Output valueReference="{number[n]}" dependencies="{on}"/>' for n, on in depends.items())
        structure += "".join(f'<ContinuousStateDerivative valueReference="{number[n]}"/>' for n in rates)
        structure += "".join(f'<InitialUnknown valueReference="{number[n]}" dependencies=""/>' for n in depends)
        structure += "".join(f'<InitialUnknown valueReference="{number[n]}"/>' for n in [*states, *rates])
        for k in range(indicators):
            lines.append(
                f'<Float64 name="z{k}" valueReference="{300 + k}" causality="local" variability="continuous"/>'
            )
            structure += f'<EventIndicator valueReference="{300 + k}"/>'
        lines.append('<Float64 name="time" valueReference="999" causality="independent" variability="continuous"/>')
    head = f'fmiVersion="2.0" guid="{{{name}}}" numberOfEventIndicators="{indicators}"'
    flags = 'canGetAndSetFMUstate="true"'
    if fmi == 3:
        head = f'fmiVersion="3.0" instantiationToken="{{{name}}}"'
        flags = 'canGetAndSetFMUState="true" needsCompletedIntegratorStep="true"'
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><fmiModelDescription {head} modelName="{name}">'
        f'<ModelExchange modelIdentifier="{name}" {flags}/><UnitDefinitions>{units}</UnitDefinitions>'
        '<DefaultExperiment startTime="0" stopTime="1" stepSize="0.01"/>'
        f"<ModelVariables>{''.join(lines)}</ModelVariables><ModelStructure>{structure}</ModelStructure></fmiModelDescription>"
    )


FMI3_ONLY = ("arrays", "lag_early")
# Where frame3.c has the types.
_PLACES3 = {"Boolean": 2000, "String": 3000}


def references3(source: str, variables: Sequence[Var]) -> dict[str, int]:
    """References of FMI 3.0, which are unique among all types."""
    if source == "arrays":
        own = {"A": 0, "u": 6, "y": 9, "single_in": 11, "single_out": 12, "gain": 13, "pair_in": 15, "pair_out": 17,
               "flags_in": 2000, "flags_out": 2002, "words_in": 3000, "words_out": 3002}  # fmt: skip
        whole = [v.name for v in variables if "Int" in v.type]
        return {**own, **{name: 1000 + k for k, name in enumerate(whole)}}
    places = {v.name: _REFERENCES.get(source, {}).get(v.name, k) for k, v in enumerate(variables)}
    return {
        v.name: places[v.name] + (0 if v.type in ("Real", "Float32") else _PLACES3.get(v.type, 1000)) for v in variables
    }


def description3(name: str, source: str, variables: Sequence[Var], flags: dict[str, str]) -> str:
    """modelDescription.xml of FMI 3.0."""
    given = {"canHandleVariableCommunicationStepSize": "true", "canGetAndSetFMUstate": "true", **flags}
    given = {
        key.replace("FMUstate", "FMUState"): value for key, value in given.items() if key != "canInterpolateInputs"
    }
    given["canSerializeFMUState"] = given["canGetAndSetFMUState"]
    units = "".join(
        f'<Unit name="{unit}"><BaseUnit kg="{kg}" m="{m}" s="{s}" rad="{rad}" factor="{factor!r}"/></Unit>'
        for unit, (kg, m, s, rad, factor) in BASE_UNITS.items()
    )
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<fmiModelDescription fmiVersion="3.0" modelName="{name}" instantiationToken="{{{name}}}">',
        f'  <CoSimulation modelIdentifier="{name}" ' + " ".join(f'{k}="{v}"' for k, v in given.items()) + "/>",
        f"  <UnitDefinitions>{units}</UnitDefinitions>",
        '  <DefaultExperiment startTime="0" stopTime="1" stepSize="0.01"/>',
        "  <ModelVariables>",
    ]
    references = references3(source, variables)
    for v in variables:
        causality = {"p": "parameter", "i": "input", "o": "output"}[v.kind]
        kind = {"Real": "Float64", "Integer": "Int32"}.get(v.type, v.type)
        variability = "fixed" if v.kind == "p" else "continuous" if kind.startswith("Float") else "discrete"
        more = ' initial="exact"' if v.kind == "o" and v.start is not None else ""
        more += f' start="{v.start}"' if v.start is not None and kind != "String" else ""
        more += f" unit={quoteattr(v.unit)}" if v.unit else ""
        inner = "".join(f'<Dimension start="{n}"/>' for n in v.shape)
        if kind == "String" and v.start is not None:
            starts = str(v.start).split() if v.shape else [str(v.start)]
            inner += "".join(f"<Start value={quoteattr(start)}/>" for start in starts)
        lines.append(
            f'    <{kind} name="{v.name}" valueReference="{references[v.name]}" causality="{causality}" '
            f'variability="{variability}"{more}>{inner}</{kind}>'
        )
    lines.append('    <Float64 name="time" valueReference="9999" causality="independent" variability="continuous"/>')
    lines.append("  </ModelVariables>\n  <ModelStructure>")
    for tag in ("Output", "InitialUnknown"):
        for v in variables:
            if v.kind == "o" and (tag == "Output" or v.start is None):
                needs = "" if v.needs is None else f'dependencies="{" ".join(str(references[n]) for n in v.needs)}"'
                lines.append(f'    <{tag} valueReference="{references[v.name]}" {needs}/>')
    lines.append("  </ModelStructure>\n</fmiModelDescription>")
    return "\n".join(lines)


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


def build(name: str, folder: Path, fmi: int = 2) -> Path:
    """NAME.fmu in the folder, NAME_3.fmu for FMI 3.0; compiled if it is not there."""
    file = folder / (f"{name}.fmu" if fmi == 2 else f"{name}_3.fmu")
    if file.exists():
        return file
    library = folder / f"{file.stem}{fmpy.sharedLibraryExtension}"
    headers = Path(fmpy.__file__).parent / "c-code"
    assert COMPILER is not None
    if name in EXCHANGE:
        source, variables, states, _ = EXCHANGE[name]
        frame, options = "exchange.c", [f"-DFMI={fmi}", f"-DUSED={len(variables)}", *([] if states else ["-DNX=0"])]
        text = exchange_description(file.stem, fmi)
    else:
        source, variables, flags = FMUS[name]
        frame = "frame.c" if fmi == 2 else "frame3.c"
        options = ["-DNO_STATE"] if flags.get("canGetAndSetFMUstate") == "false" else []
        options.append(f"-DUSED={sum(v.type == 'Real' for v in variables)}")
        options += ["-DEARLY=0.02"] if name == "lag_early" else []
        text = (description if fmi == 2 else description3)(file.stem, source, variables, flags)
    subprocess.run(
        [COMPILER, "-O2", "-fPIC", "-shared", "-ffp-contract=off", f'-DMODEL="{source}.h"', *options, f"-I{headers}",
         f"-I{SOURCES}", str(SOURCES / frame), "-lm", "-o", str(library)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("modelDescription.xml", text)
        archive.write(library, f"binaries/{fmpy.platform if fmi == 2 else fmpy.platform_tuple}/{library.name}")
    return file


def digest() -> str:
    """Of all that the FMUs are made of."""
    text = b"".join(path.read_bytes() for path in sorted(SOURCES.iterdir())) + Path(__file__).read_bytes()
    return hashlib.sha256(text).hexdigest()[:12]
