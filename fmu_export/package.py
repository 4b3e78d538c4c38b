"""From a mechanism to the file of an FMU.

Inside, beside the description:

    binaries/linux64, win64        the guard library by the FMU's name, and pythonfmu's library, which it loads
    resources/fmu_<digest>.py      the script: checks what the FMU needs, and names its class
    resources/variables.json       the variables, as the slave reads them
    resources/model.yaml           the model file, and the files that it names
    resources/requirements.txt     what the target needs
    resources/liegeo, fmu_export   liegeo itself, if it is bundled

Archives of the same content are the same bytes: files are sorted, and their time is that of 1980.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fmu_export.arguments import Seconds, seconds
from fmu_export.dependencies import dependencies
from fmu_export.description import description
from fmu_export.description3 import description3, terminals
from fmu_export.exchanged_states import exchanged
from fmu_export.identity import identity_of
from fmu_export.machine import Machine
from fmu_export.native.tracing import AT_REST, Settable, settable
from fmu_export.quantity_types import quantity_of
from fmu_export.sources import sources, sources_digest
from fmu_export.variables import (
    DESCRIPTION,
    FILE,
    INPUT,
    OUTPUT,
    ExportedVariable,
    Settings,
    exposed,
    motion_inputs,
    structured,
    variables,
    with_starts,
)
from liegeo._version import __version__
from liegeo.archives import write_zip
from liegeo.choice import usual_tolerances
from liegeo.errors import InputError
from liegeo.integrate import METHODS
from liegeo.io import load
from liegeo.io.mechanism import Mechanism
from liegeo.io.writing import as_text, document_of, files_of
from liegeo.model.forces import Actuator
from liegeo.model.model import Model
from liegeo.model.tree import Tree
from liegeo.simulation import usual_method

#: Hears for which platform a library is compiled, how many of its parts are done, and of how many.
Progress = Callable[[str, int, int], None]
#: Hears by name why parameters of the file are constants of a native FMU.
Constants = Callable[[Mapping[str, str]], None]
# What the bundled sources import, of all that liegeo needs.
_NEEDED = ("numpy", "scipy", "numba", "filelock", "platformdirs", "pydantic", "pyyaml", "pint")
_GUARD = Path(__file__).parent / "guard"
# The oldest Python that liegeo runs on, as pyproject.toml has it.
_PYTHON = (3, 11)

_SCRIPT = '''\
"""The FMU {name}, made by liegeo {version}."""

import ctypes
import importlib.metadata
import os.path
import sys
import threading

# pythonfmu's library runs this text once per instance, in these globals, and then releases a reference to them that it
# does not own.
ctypes.pythonapi.Py_IncRef(ctypes.py_object(globals()))


def _stop(text):
    # logging may be off, and then nobody would know
    sys.stderr.write(text + "\\n")
    raise ImportError(text)


def _check_needs():
    """Whether this Python has what the FMU needs."""
    missing = [] if sys.version_info >= {python!r} else [f"Python {python[0]}.{python[1]} or later"]
    for name, low, high in {needed!r}:
        wanted = name + ">=" + low + (",<" + high if high else "")
        try:
            have = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            missing.append(wanted + " (there is none)")
            continue
        numbers, least, most = (
            tuple(int(part) for part in each.split(".")[:2] if part.isdigit()) for each in (have, low, high)
        )
        if numbers < least or (most and not numbers < most):
            missing.append(f"{{wanted}} (there is {{have}})")
    if missing:
        _stop(
            "The FMU {name} needs " + ", ".join(missing) + " in the Python that runs it, "
            + (sys.executable or sys.prefix) + ".\\n"
            "  Install it there, with pip install -r requirements.txt; the file is in the FMU's resources."
        )


def _mend_paths(here):
    """Hosts delete the folder of an instance that is gone: what is still to be imported comes from this one."""
    for full, module in list(sys.modules.items()):
        if full.split(".")[0] in ("liegeo", "fmu_export") and hasattr(module, "__path__"):
            now = os.path.join(here, *full.split("."))
            if not all(os.path.isdir(path) for path in module.__path__) and os.path.isdir(now):
                module.__path__ = [now]


def _load():
    file = "fmu_{digest}.py"
    # none, if an instance in another thread has just taken it away, and then everything is loaded
    here = next((p for p in sys.path if os.path.isfile(os.path.join(p, file))), "")
    _mend_paths(here)
    import liegeo

    if liegeo.__version__.split(".")[:2] != "{version}".split(".")[:2]:
        _stop(
            f"The FMU {name} was made by liegeo {version}, but this process has loaded liegeo {{liegeo.__version__}}, "
            f"from {{os.path.dirname(liegeo.__file__)}}.\\n  Run the FMU in a process of its own, or make it anew."
        )
    from fmu_export.slave import Slave

    _forget(here)
    return Slave


def _forget(here):
    """So that nothing of the host's is hidden by what is in the resources.

    The list is replaced, because other threads may be going through it; what they add meanwhile is kept.
    """
    old = sys.path
    new = sys.path = [path for path in old if path != here]
    new[:0] = [path for path in old if path != here and path not in new]


def _base():
    """The class of slaves, for one instance at a time of whichever FMU; what was found is not looked for again."""
    lock, known = sys.__dict__.setdefault("_liegeo_fmus", (threading.RLock(), set()))
    with lock:
        if "{digest}" not in known:
            _check_needs()
        base = _load()
        known.add("{digest}")
    return base


class FMU_{digest}(_base()):
    guid = "{guid}"
    sources = "{sources}"
'''


def build(
    system: Mechanism | Tree | Model | str | os.PathLike[str],
    file: str | os.PathLike[str] | None = None,
    *,
    step: Seconds | None = None,
    method: str | None = None,
    interval: Seconds | None = None,
    bundle: bool = True,
    native: bool = False,
    source: bool = False,
    fmi: int = 2,
    platforms: Sequence[str] | None = None,
    progress: Progress | None = None,
    constants: Constants | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002
) -> Path:
    """Write the FMU of a model, or of a model file, and return its path.

    - `file`: where to; if not given, the FMU's name in the current folder.
    - `step`: the longest internal step; with it alone the method is one of fixed step, as `liegeo.simulate` takes it.
    - `method`: of liegeo.integrate, by name; if not given, that of the model's experiment, or as `simulate` chooses.
    - `interval`: the communication step that masters take if they are told nothing; if not given, that of the
      experiment's output.
    - `bundle`: put liegeo's own sources into the FMU, so that the target needs only what liegeo needs.
    - `native`: an FMU with no Python inside, from compiled libraries and the numbers of the model.  Parameters of the
      file that make the modes of flexible bodies, or change what the model consists of, are constants of it:
      `constants(names)` hears of them, by name with the reason, and `constants_of` returns them.
    - `source`: put a native FMU's C into it, for machines whose own compiler makes the library.  It then has libraries
      only of platforms that are given.
    - `fmi`: the version of FMI, 2, or 3 for a native FMU: vectors are then arrays.
    - `platforms`: those of a native FMU, of linux64, win64, darwin64, aarch64-linux; all, if not given.  A library is
      compiled where it is first needed, some minutes, and kept; `progress(platform, done, of)` hears of it.
    - `set`: other values of parameters, as in `liegeo.load`.

    Times are in seconds, or text with a unit: "1 ms".
    """
    if fmi not in (2, 3) or (fmi == 3 and not native):
        raise InputError(f"build: fmi is {fmi!r}, expected 2, or 3 with native=True.")
    if source and not native:
        raise InputError("build: source is True, expected native=True with it: only native FMUs can be written as C.")
    given = _mechanism(system, set)
    path = Path(f"{_identifier(given)}.fmu" if file is None else file)
    if path.suffix != ".fmu":
        what = "is a folder" if path.is_dir() else f"ends in '{path.suffix}'" if path.suffix else "has no ending"
        raise InputError(f"build: '{path}' {what}, expected .fmu, as in model.fmu.")
    if not path.parent.is_dir():
        raise InputError(f"build: the folder of '{path}' is not there; make it first.")
    longest, usual = seconds("build: step", step), seconds("build: interval", interval)
    for name, value in (("step", longest), ("interval", usual)):
        if value is not None and not value > 0.0:
            raise InputError(f"build: {name} is {value!r}, must be > 0.")
    with tempfile.TemporaryDirectory(prefix="liegeo_fmu_") as folder:
        found, identifier = _describe(given, Path(folder), longest, method), _identifier(given)
        if native:
            chosen = platforms if platforms or not source else ()
            content = _native_content(found, identifier, usual, fmi, source, chosen, progress or _silent, constants)
        else:
            content = _python_content(found, identifier, usual, bundle)
    _write(path, content)
    return path


def constants_of(system: Mechanism | str | os.PathLike[str], **options: Any) -> dict[str, str]:
    """Return by name the parameters of a file that are constants of a native FMU, and why.

    `options` are `set`, `step` and `method` of `build`.
    """
    mechanism = _mechanism(system, options.get("set"))
    with tempfile.TemporaryDirectory(prefix="liegeo_fmu_") as folder:
        found = _describe(mechanism, Path(folder), seconds("step", options.get("step")), options.get("method"))
        return _constants(found, _settable(found))


def _silent(platform: str, done: int, of: int) -> None:
    """Say nothing of the progress."""


def _mechanism(system: Any, override: Mapping[str, Any] | None) -> Mechanism:
    if isinstance(system, str | os.PathLike):
        return load(system, set=override)
    if isinstance(system, Model | Tree):
        system = Mechanism(tree=system.tree if isinstance(system, Model) else system)
    if not isinstance(system, Mechanism):
        raise InputError(f"build: {system!r} is neither a mechanism, a tree, a model nor the path of a model file.")
    return system.changed(override) if override else system


def _identifier(mechanism: Mechanism) -> str:
    """A name in C."""
    name = mechanism.fmu.name or (mechanism.path.stem if mechanism.path is not None else mechanism.name)
    return re.sub(r"\W", "_", name, flags=re.ASCII).lstrip("0123456789") or "fmu"


def settings_of(mechanism: Mechanism, step: float | None, method: str | None) -> Settings:
    """How the FMU integrates: as asked, as the experiment says, or as `simulate` would."""
    experiment = mechanism.experiment
    if method is not None and method not in METHODS:
        raise InputError(f"build: there is no method '{method}'; there are {', '.join(METHODS)}.")
    wanted_step = experiment.step if step is None else step
    name = method or (experiment.method if step is None or not _is_adaptive(experiment.method) else None)
    if name is None:
        name = usual_method(
            mechanism.compile(),
            mechanism.state(),
            experiment.end,
            inputs=dict(experiment.inputs),
            step=wanted_step,
            rtol=experiment.rtol,
            atol=experiment.atol,
            accuracy=None if wanted_step is not None else experiment.accuracy,
        ).name
    if wanted_step is None:
        wanted_step = (experiment.end - experiment.start) / 1000.0
    rtol, atol = usual_tolerances(METHODS[name])
    tolerances = {"rtol": experiment.rtol or rtol, "atol": experiment.atol or atol}
    return Settings(name, float(wanted_step), **tolerances, extrapolation=mechanism.fmu.extrapolation)


def _is_adaptive(name: str | None) -> bool:
    return name is not None and METHODS[name].adaptive


class _Described(NamedTuple):
    """What is known of an FMU before its content is written."""

    mechanism: Mechanism
    settings: Settings
    variables: list[ExportedVariable]
    machine: Machine
    dependencies: dict[str, list[str]]
    #: The inputs of prescribed motions.
    motions: list[str]
    #: The model file and the files that it names, by path.
    files: dict[str, bytes]
    #: The folder that they are in, while the FMU is built.
    folder: Path


def _describe(given: Mechanism, folder: Path, step: float | None, method: str | None) -> _Described:
    files, paths = _resources(given, folder)
    mechanism = with_starts(load(folder / "model.yaml"))
    settings = settings_of(mechanism, step, method)
    listed = [_measured(variable, mechanism) for variable in variables(mechanism, settings, paths)]
    machine = _machine(mechanism, settings, listed)
    depends = dependencies(machine, listed)
    prescribed = {k for part, _ in motion_inputs(machine.model).values() for k in range(part.start, part.stop)}
    motions = [variable.name for variable in listed if variable.role == INPUT and variable.key[0] in prescribed]
    return _Described(mechanism, settings, listed, machine, depends, motions, files, folder)


def _machine(mechanism: Mechanism, settings: Settings, listed: Sequence[ExportedVariable]) -> Machine:
    """Return the machine of an FMU with these variables as it begins."""
    experiment = mechanism.experiment
    return Machine(
        mechanism,
        settings,
        [variable.key[0] for variable in listed if variable.role == INPUT],
        [(variable.key[0], variable.key[1]) for variable in listed if variable.role == OUTPUT],
        inputs=np.array([variable.start for variable in listed if variable.role == INPUT], dtype=np.float64),
        initial={},
        gravity={},
        start=experiment.start,
        stop=experiment.end,
    )


def _settable(found: _Described) -> Settable:
    """Return what of the file's parameters can be set in a native FMU, and how."""
    names = [variable.key[0] for variable in found.variables if variable.role == FILE]
    values = {name: float(found.mechanism.declared[name].value) for name in names}

    def make(given: Mapping[str, Any]) -> Machine:
        mechanism = with_starts(load(found.folder / "model.yaml", set=given))
        return _machine(mechanism, found.settings, found.variables)

    differs = {"differs": AT_REST} if found.mechanism.experiment.settle else {}
    return settable(found.machine, names, values, make, **differs)


def _constants(found: _Described, parameters: Settable) -> dict[str, str]:
    """Return by name in the FMU why parameters are constants."""
    known = parameters.constants
    return {v.name: known[v.key[0]] for v in found.variables if v.role == FILE and v.key[0] in known}


def _python_content(found: _Described, identifier: str, interval: float | None, bundle: bool) -> dict[str, bytes]:
    """Return by path in the archive what an FMU with pythonfmu inside consists of."""
    experiment, resources = found.mechanism.experiment, dict(found.files)
    described = {
        "model": "model.yaml",
        "identity": identity_of(found.machine, found.variables),
        "start": experiment.start,
        "stop": experiment.end,
        "motions": found.motions,
        "variables": [variable.as_dict() for variable in found.variables],
    }
    if bundle:
        resources |= sources()
    needed = _requirements(bundle)
    lines = (f"{name}>={low}" + (f",<{high}" if high else "") + "\n" for name, low, high in needed)
    resources["requirements.txt"] = "".join(lines).encode()
    libraries = _libraries(identifier)
    facts = json.dumps([described, found.dependencies, interval], sort_keys=True, default=list)
    digest = _digest({**resources, **libraries}, f"{facts} {__version__} {needed} {sources_digest()}")
    guid, short = _guid(digest), digest.hex()[:16]
    resources[DESCRIPTION] = json.dumps({"guid": guid, **described}, indent=1).encode()
    script = _SCRIPT.format(
        python=_PYTHON,
        name=identifier,
        version=__version__,
        needed=needed,
        guid=guid,
        digest=short,
        sources=sources_digest(),
    )
    resources[f"fmu_{short}.py"] = script.encode()
    resources["slavemodule.txt"] = f"fmu_{short}".encode()
    out = {f"resources/{name}": content for name, content in resources.items()} | libraries
    out["modelDescription.xml"] = _description(found, identifier, guid, interval, native=False)
    return out | _terminals(found, 2)


def _native_content(
    found: _Described,
    identifier: str,
    interval: float | None,
    fmi: int,
    source: bool,
    platforms: Sequence[str] | None,
    progress: Progress,
    constants: Constants | None,
) -> dict[str, bytes]:
    """Return by path in the archive what an FMU without Python consists of."""
    from fmu_export.native.data import data_file
    from fmu_export.native.library import PLATFORMS, files, library
    from fmu_export.native.source_files import compiled, data_in_c, source_files

    experiment = found.mechanism.experiment
    parameters = _settable(found)
    if constants is not None:
        constants(_constants(found, parameters))
    listed = [
        variable for variable in found.variables if variable.role != FILE or variable.key[0] not in parameters.constants
    ]
    identity = identity_of(found.machine, listed)
    # behind those that both kinds of FMUs have, whose saved states then fit each other
    found = found._replace(variables=[*listed, *exchanged(found.machine)])
    data = data_file(
        parameters.machine,
        found.variables,
        found.motions,
        identity,
        experiment.start,
        experiment.end,
        parameters.program,
    )
    libraries = {}
    for name in PLATFORMS if platforms is None else platforms:
        for folder, content in files(name, library(name, functools.partial(progress, name)), fmi).items():
            libraries[f"binaries/{folder}/{identifier}{PLATFORMS[name].ending}"] = content
    facts = json.dumps([found.dependencies, interval, identifier, fmi, source], sort_keys=True, default=list)
    in_c = source_files(identifier, data(""), fmi) if source else {}
    guid = _guid(_digest({"machine.bin": data(""), **libraries, **in_c}, f"{facts} {__version__}"))
    if source:
        in_c["data.c"] = data_in_c(data(guid))
    return {
        **libraries,
        **{f"sources/{name}": content for name, content in in_c.items()},
        **({"resources/machine.bin": data(guid)} if libraries else {}),
        "modelDescription.xml": (
            _description(found, identifier, guid, interval, native=True, compiled=compiled(in_c))
            if fmi == 2
            else description3(*_about(found, identifier, guid), **_experiment(found, interval))
        ),
        **_terminals(found, fmi),
    }


def _digest(content: Mapping[str, bytes], facts: str) -> bytes:
    """Return what stands for the content of an FMU."""
    digest = hashlib.sha256(facts.encode())
    for name in sorted(content):
        digest.update(name.encode() + b"\0" + hashlib.sha256(content[name]).digest())
    return digest.digest()


def _guid(digest: bytes) -> str:
    return "{" + str(uuid.UUID(bytes=digest[:16], version=5)) + "}"


def _description(
    found: _Described,
    identifier: str,
    guid: str,
    interval: float | None,
    native: bool,
    compiled: Sequence[str] = (),
) -> bytes:
    about = _about(found, identifier, guid)
    return description(*about, **_experiment(found, interval), needs_tool=not native, source_files=compiled)


def _terminals(found: _Described, fmi: int) -> dict[str, bytes]:
    """Return by path in the archive what its terminals are, if it has any."""
    drives = {joint: joint for joint in found.machine.model.joints}
    drives |= {force.name: force.joint for force in found.mechanism.tree.forces if isinstance(force, Actuator)}
    content = terminals(found.variables, {structured(a): structured(b) for a, b in drives.items()}, fmi)
    return {} if content is None else {"terminalsAndIcons/terminalsAndIcons.xml": content}


def _about(found: _Described, identifier: str, guid: str) -> tuple[Any, ...]:
    """Return the first arguments of `description`."""
    mechanism = found.mechanism
    text = mechanism.fmu.description or mechanism.description.strip()
    return mechanism.name, identifier, guid, text, found.variables, found.dependencies, found.motions


def _experiment(found: _Described, interval: float | None) -> dict[str, Any]:
    mechanism, settings = found.mechanism, found.settings
    return {
        "start": mechanism.experiment.start,
        "stop": mechanism.experiment.end,
        "interval": _interval(mechanism, settings, interval),
        "tolerance": settings.rtol if METHODS[settings.method].adaptive else None,
        "origin": _origin(mechanism),
    }


def _origin(mechanism: Mechanism) -> dict[str, str]:
    """Return what the fmu section says of who made the model, in which version, and who may use it."""
    fmu = mechanism.fmu
    given = {"author": fmu.author, "version": fmu.version, "copyright": fmu.copyright, "license": fmu.license}
    return {key: text for key, text in given.items() if text is not None}


def _measured(variable: ExportedVariable, mechanism: Mechanism) -> ExportedVariable:
    """A parameter that the file has as a plain number is in the unit of the key that takes it."""
    if variable.role != FILE or variable.unit:
        return variable
    unit = mechanism.declared[variable.key[0]].taken_as
    return replace(variable, unit=unit, quantity=quantity_of(unit))


def _resources(given: Mechanism, folder: Path) -> tuple[dict[str, bytes], dict[str, str]]:
    """The model file and the files that it names, in a folder and as bytes; and what `exposed` says."""
    # only a document that is the file's own has its parameters
    now = document_of(given)
    declared = given.declared if "parameters" in now else {}
    document, paths = exposed(now, declared, given.fmu.parameters)
    home = given.path.parent if given.path is not None else Path()
    # what the document calls a file, and what readers opened: nothing else that lies beside it
    for name in dict.fromkeys([*map(Path, files_of(document)), *given.opened]):
        if (home / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(home / name, folder / name)
    (folder / "model.yaml").write_text(as_text(document), encoding="utf-8")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}, paths


def _interval(mechanism: Mechanism, settings: Settings, interval: float | None) -> float:
    experiment = mechanism.experiment
    if interval is not None:
        return interval
    if experiment.output is not None and np.ndim(experiment.output) == 0 and not isinstance(experiment.output, str):
        return float(experiment.output)
    if not METHODS[settings.method].adaptive:
        return settings.step
    return (experiment.end - experiment.start) / 1000.0


def _libraries(identifier: str) -> dict[str, bytes]:
    """By path in the archive: the guard, which hosts load, and pythonfmu's library, which the guard loads."""
    import pythonfmu

    theirs = Path(pythonfmu.__file__).parent / "resources" / "binaries"
    out = {}
    for platform, suffix, prefix in (("linux64", ".so", "lib"), ("win64", ".dll", "")):
        ours = _GUARD / platform / f"guard{suffix}"
        if not ours.is_file():
            raise InputError(
                f"build: the library of FMUs for {platform} is missing, {ours.name} in {ours.parent}.\n"
                "  It is compiled where liegeo is installed: run pip install -e . in the folder of its sources."
            )
        out[f"binaries/{platform}/{identifier}{suffix}"] = ours.read_bytes()
        inner = theirs / platform / f"{prefix}pythonfmu-export{suffix}"
        out[f"binaries/{platform}/pythonfmu-export{suffix}"] = inner.read_bytes()
    return out


def _requirements(bundle: bool) -> list[tuple[str, str, str]]:
    """Return name, lowest and first forbidden version ("" if none is) of what the target needs, as our metadata say."""
    out = [] if bundle else [("liegeo", __version__, _next_minor(__version__))]
    for line in importlib.metadata.requires("liegeo") or []:
        found = re.fullmatch(r"([\w-]+)([<>=\d.,]*)", line.partition(";")[0].strip())
        if found and ";" not in line and found[1].lower() in _NEEDED:
            bounds = {part.lstrip("<>="): part.rstrip(".0123456789") for part in found[2].split(",")}
            low, high = (next((n for n, sign in bounds.items() if sign == wanted), "") for wanted in (">=", "<"))
            out.append((found[1], low, high if "." in high or not high else f"{high}.0"))
    return out


def _next_minor(version: str) -> str:
    major, minor = (int(part) for part in version.split(".")[:2])
    return f"{major}.{minor + 1}"


def _write(path: Path, content: Mapping[str, bytes]) -> None:
    """Write the file of an FMU, whole or not at all."""
    try:
        write_zip(path, content)
    except OSError as error:
        raise InputError(f"build: '{path}' cannot be written: {error.strerror or error}.") from None
