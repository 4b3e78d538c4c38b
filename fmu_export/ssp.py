"""Systems as SSP 1.0 archives: written so that other masters run them, and read back.

Writing goes through pyssp_standard.  Reading uses it for parameter sets and mappings; the structure itself is read
from the XML, because pyssp_standard 0.9 drops transformations and suppressUnitConversion, and fails where a default
experiment leaves out one of its times.

Few masters convert units.  A connection that needs it is therefore written as a linear transformation with
suppressUnitConversion, which means the same and is understood by more of them.  Macro steps, rates and recorded
variables, which SSP has no place for, are in an annotation of type `liegeo.cosim`; the step is also in the annotation
that Open Simulation Platform's tools read.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from fmu_export.cosim.fmu_file import Description, read_description
from fmu_export.cosim.measures import Linear, Measure, conversion, from_base, from_name
from fmu_export.cosim.system import FMU, Connection, CosimExperiment, CosimSystem, Crossing, SystemIssuesError
from liegeo.archives import Archive, ArchiveError
from liegeo.errors import FileProblem, InputError, ModelFileError
from liegeo.io.problems import ended

ANNOTATION = "liegeo.cosim"
_OSP = "http://opensimulationplatform.com/SSP/OSPAnnotations"
_OURS = "urn:liegeo:cosim"
_FMU_TYPE = "application/x-fmu-sharedlibrary"
_STRUCTURE = "SystemStructure.ssd"

log = logging.getLogger("liegeo.cosim")


# ---- writing


def write_ssp(system: CosimSystem, path: str | os.PathLike[str]) -> Path:
    """An archive with the system and its FMUs; it appears whole or not at all."""
    from pyssp_standard.ssp import SSP

    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"write_ssp: there is no folder {target.parent}. Create it first.")
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(4)}.ssp")
    try:
        with SSP(temporary, mode="w") as archive:
            sources = _add_fmus(system, archive)
            with archive.system_structure as structure:
                _fill(structure, system, sources)
            _tidy(archive.get_file_temp_path(_STRUCTURE))
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return target


def _tidy(file: Path) -> None:
    """Children in the order of the schema, and all namespaces at the top, where libcosim expects them."""
    from lxml import etree

    root = etree.parse(str(file)).getroot()
    units = root.find("{*}Units")
    if units is not None:
        root.insert(list(root).index(root.find("{*}DefaultExperiment")), units)
    etree.cleanup_namespaces(root, top_nsmap={"osp": _OSP, "liegeo": _OURS})
    file.write_bytes(etree.tostring(root, pretty_print=True, encoding="utf-8", xml_declaration=True))


def _add_fmus(system: CosimSystem, archive: Any) -> dict[str, str]:
    """By FMU its place in the archive; each file once, and files of one name under different ones."""
    places: dict[Path, str] = {}
    taken: set[str] = set()
    for name, found in system.descriptions.items():
        if found.file not in places:
            own = found.file.name if found.file.name not in taken else f"{name}_{found.file.name}"
            taken.add(own)
            archive.add_file_contents(found.file.read_bytes(), Path("resources") / own)
            places[found.file] = f"resources/{own}"
    return {name: places[found.file] for name, found in system.descriptions.items()}


def _fill(structure: Any, system: CosimSystem, sources: dict[str, str]) -> None:
    from lxml import etree
    from pyssp_standard import ssd
    from pyssp_standard.common_content_ssc import Annotation
    from pyssp_standard.unit import BaseUnit
    from pyssp_standard.unit import Unit as SSPUnit

    structure.name, structure.version = system.name, "1.0"
    structure.top_level_metadata.generationTool = "liegeo"
    # two archives of one system are alike
    structure.top_level_metadata.generationDateAndTime = ""
    structure.base_element.description = system.description
    inner = ssd.System(name=system.name)
    measures: dict[str, Measure] = {}
    for name, found in system.descriptions.items():
        inner.elements.append(_component(system, name, found, sources[name], measures))
    for link in system.links:
        inner.connections.append(_connection(link.source, link.output.name, link.target, link.input.name, link.linear))
    own = Annotation(ANNOTATION)
    content = etree.Element(f"{{{_OURS}}}system")
    content.text = json.dumps(_annotated(system))
    own.add_element(content)
    inner.annotations.add_annotation(own)
    structure.system = inner
    experiment = ssd.DefaultExperiment()
    experiment.start_time, experiment.stop_time = system.experiment.start, system.experiment.end
    if system.experiment.step is not None:
        algorithm = etree.Element(f"{{{_OSP}}}Algorithm", nsmap={"osp": _OSP})
        etree.SubElement(algorithm, f"{{{_OSP}}}FixedStepAlgorithm", baseStepSize=repr(system.experiment.step))
        osp = Annotation("com.opensimulationplatform")
        osp.add_element(algorithm)
        experiment.annotations.add_annotation(osp)
    structure.default_experiment = experiment
    for measure in measures.values():
        base = dict(zip(("m", "kg", "s", "A", "K", "mol", "cd"), map(int, measure.powers or ()), strict=False))
        given: dict[str, float] = {key: power for key, power in base.items() if power}
        given |= {"factor": measure.factor} if measure.factor != 1.0 else {}
        given |= {"offset": measure.offset} if measure.offset else {}
        structure.units.add_unit(SSPUnit(measure.name, base_unit=BaseUnit(given)))


def _component(system: CosimSystem, name: str, found: Description, source: str, measures: dict[str, Measure]) -> Any:
    from pyssp_standard import ssd
    from pyssp_standard.common_content_ssc import TypeBoolean, TypeInteger, TypeReal, TypeString

    made = ssd.Component()
    made.name, made.source, made.component_type = name, source, _FMU_TYPE
    recorded = {v.name for fmu, v in system.recorded().values() if fmu == name}
    linked = {link.output.name for link in system.links if link.source == name}
    for variable in found.variables.values():
        wanted = variable.causality == "input" or variable.name in recorded | linked | set(system.starts[name])
        if not wanted or variable.causality == "local":
            continue
        measure = variable.measure if variable.measure is not None and variable.measure.powers is not None else None
        if measure is not None:
            measures.setdefault(measure.name, measure)
        kind = {
            "Real": TypeReal(measure.name if measure is not None else None),
            "Integer": TypeInteger(),
            "Boolean": TypeBoolean(),
            "String": TypeString(),
        }[variable.type]
        made.connectors.append(ssd.Connector(name=variable.name, kind=variable.causality, type_=kind))
    if system.starts[name]:
        made.parameter_bindings = [_binding(found, system.starts[name])]
    return made


def _binding(found: Description, values: dict[str, Any]) -> Any:
    from pyssp_standard.parameter_types import ParameterType
    from pyssp_standard.ssd import ParameterBinding
    from pyssp_standard.ssv import Parameter, SSVElem

    parameters = SSVElem(name="initialValues")
    for key, value in values.items():
        kind = found.variables[key].type
        text = str(value).lower() if kind == "Boolean" else repr(value) if kind == "Real" else str(value)
        typed = ParameterType(kind, {"value": text})
        # an attribute that is not there has the value None, which is no XML
        typed.parameter = {name: given for name, given in dict(typed.parameter).items() if given is not None}
        parameters.parameters.append(Parameter(name=key, type_name=kind, type_value=typed))
    return ParameterBinding(ssv=parameters)


def _connection(source: str, output: str, target: str, input_: str, linear: Linear) -> Any:
    from lxml import etree
    from pyssp_standard import ssd
    from pyssp_standard.transformation_types import Transformation

    class Converted(ssd.Connection):  # type: ignore[misc]
        """With its transformation, which pyssp_standard does not write."""

        def as_element(self) -> etree._Element:
            element = super().as_element()
            element.set("suppressUnitConversion", "true")
            attributes = {"factor": repr(linear.factor), "offset": repr(linear.offset)}
            element.append(Transformation("LinearTransformation", attributes).element())
            return element

    kind = ssd.Connection if linear.is_identity else Converted
    return kind(start_element=source, start_connector=output, end_element=target, end_connector=input_)


def _annotated(system: CosimSystem) -> dict[str, Any]:
    plain, experiment = CosimExperiment(), system.experiment
    changed = {
        key: getattr(experiment, key)
        for key in CosimExperiment.__dataclass_fields__
        if key not in ("start", "end", "crossings") and getattr(experiment, key) != getattr(plain, key)
    }
    crossings = [[c.variable, c.level, c.direction, c.stop] for c in experiment.crossings]
    every = {name: fmu.every for name, fmu in system.fmus.items() if fmu.every != 1}
    kinds = {name: fmu.kind for name, fmu in system.fmus.items() if fmu.kind}
    solvers = {name: dict(fmu.solver) for name, fmu in system.fmus.items() if fmu.solver}
    more = {key: value for key, value in (("kinds", kinds), ("solvers", solvers)) if value}
    return {"experiment": changed, "crossings": crossings, "every": every, "outputs": list(system.outputs), **more}


# ---- reading


class _Unpacked:
    """A folder that is removed when nobody refers to it any more."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="liegeo_ssp_"))
        self.close = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def file(self, source: str) -> Path | None:
        """Return the path of a member that a structure names; None if no member can have that name."""
        inside = PurePosixPath(source)
        try:
            file = (self.path / inside).resolve()
            file.is_file()
        except (OSError, ValueError):
            # too long, or with a zero byte
            return None
        outside = ":" in source or inside.is_absolute() or not file.is_relative_to(self.path.resolve())
        return None if outside else file


@dataclass
class _Wire:
    """A connection of the file between two ends (element, connector), flattened names; "" is the top."""

    source: tuple[str, str]
    target: tuple[str, str]
    linear: Linear | None
    suppressed: bool
    line: int


@dataclass
class _Found:
    """What is read so far."""

    fmus: dict[str, FMU] = field(default_factory=dict)
    wires: list[_Wire] = field(default_factory=list)
    starts: list[tuple[str, Any, Measure | None, int]] = field(default_factory=list)
    systems: set[str] = field(default_factory=set)
    kinds: dict[tuple[str, str], str] = field(default_factory=dict)
    # connectors of systems
    ports: set[tuple[str, str]] = field(default_factory=set)


def read_ssp(path: str | os.PathLike[str]) -> CosimSystem:
    """The system in an archive.  Systems inside it are flattened: an FMU is called `inner.name`."""
    reader = _Reader(Path(path))
    try:
        return reader.system()
    except BaseException:
        reader.held.close()
        raise


class _Reader:
    def __init__(self, path: Path) -> None:
        from pyssp_standard.standard import ModelicaStandard

        self.path = path
        self.names = ModelicaStandard.namespaces
        self.held = _Unpacked()
        self.problems: list[FileProblem] = []
        self.found = _Found()

    def say(self, line: int | None, message: str) -> None:
        self.problems.append(
            FileProblem(f"{self.path.name}/{_STRUCTURE}", line or 0, 1 if line else 0, "", ended(message))
        )

    def warn(self, line: int | None, message: str) -> None:
        """Log what other tools write and what changes nothing."""
        log.warning(
            "%s", FileProblem(f"{self.path.name}/{_STRUCTURE}", line or 0, 1 if line else 0, "", ended(message))
        )

    def stop(self, message: str) -> ModelFileError:
        return ModelFileError([FileProblem(self.path.name, 0, 0, "", message)])

    def system(self) -> CosimSystem:
        root = self.structure()
        top = self._one(root, "ssd:System")
        if top is None:
            raise self.stop(f"{_STRUCTURE} has no System.")
        self.read_system(top, "")
        about = self.annotation(top)
        start, end = self.times(root)
        connections, lines = self.connections()
        self.apply_starts()
        if self.problems:
            raise ModelFileError(self.problems)
        try:
            made = self.made(root, about, start, end, connections)
        except SystemIssuesError as error:
            for place, message in error.issues:
                line = lines[int(place[1])] if place[0] == "connections" and len(place) > 1 else None
                self.say(line, f"{'.'.join(map(str, place))} {message}")
            raise ModelFileError(self.problems) from None
        except (TypeError, AttributeError, ValueError):
            raise self.stop(f"the annotation '{ANNOTATION}' is not as liegeo writes it; remove it.") from None
        made.held = self.held
        return made

    def made(self, root: Any, about: dict[str, Any], start: float, end: float, wires: list[Connection]) -> CosimSystem:
        given: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in about.get("experiment", {}).items()
        }
        crossings = tuple(Crossing(*entry) for entry in about.get("crossings", []))
        every, kinds, solvers = (about.get(key, {}) for key in ("every", "kinds", "solvers"))
        return CosimSystem(
            {
                name: FMU(fmu.file, fmu.start, every.get(name, 1), kinds.get(name, ""), dict(solvers.get(name, {})))
                for name, fmu in self.found.fmus.items()
            },
            wires,
            about.get("outputs", ["*"]),
            CosimExperiment(start=start, end=end, crossings=crossings, **given),
            name=root.get("name") or self.path.stem,
            description=root.get("description") or "",
            folder=self.held.path,
        )

    def structure(self) -> Any:
        from lxml import etree

        try:
            with Archive(self.path, "SSP archive") as archive:
                # read first, so that what is no SSP archive is not unpacked
                text = archive.read(_STRUCTURE)
                archive.extract(self.held.path)
            parser = etree.XMLParser(resolve_entities=False, no_network=True)
            root = etree.fromstring(text, parser)
        except ArchiveError as error:
            raise self.stop(error.problem) from None
        except etree.XMLSyntaxError as error:
            raise self.stop(f"{_STRUCTURE} is not XML: {error}.") from None
        if root.tag != f"{{{self.names['ssd']}}}SystemStructureDescription":
            raise self.stop(f"{_STRUCTURE} begins with {root.tag}, expected ssd:SystemStructureDescription of SSP 1.0.")
        return root

    def _all(self, element: Any, path: str) -> list[Any]:
        return list(element.findall(path, self.names))

    def _one(self, element: Any, path: str) -> Any:
        return element.find(path, self.names)

    def read_system(self, element: Any, prefix: str) -> None:
        self.found.systems.add(prefix)
        for connector in self._all(element, "ssd:Connectors/ssd:Connector"):
            self.found.ports.add((prefix.removesuffix("."), connector.get("name") or ""))
        for child in self._all(element, "ssd:Elements/*"):
            name = prefix + (child.get("name") or "")
            kind = child.tag.rsplit("}", 1)[-1]
            if kind == "System":
                self.read_system(child, f"{name}.")
            elif kind == "Component":
                self.component(child, name)
            else:
                self.say(child.sourceline, f"'{name}' is a {kind}, which is not read; expected components and systems")
        for connection in self._all(element, "ssd:Connections/ssd:Connection"):
            self.wire(connection, prefix)
        self.bindings(element, prefix)

    def number(self, attributes: Any, key: str, default: float, line: int) -> float:
        text = attributes.get(key)
        try:
            value = float(text) if text else default
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            self.say(line, f"{key} is {text!r}, expected a finite number")
            return default
        return value

    def linear(self, attributes: Any, line: int) -> Linear:
        return Linear(self.number(attributes, "factor", 1.0, line), self.number(attributes, "offset", 0.0, line))

    def component(self, element: Any, name: str) -> None:
        kind, source = element.get("type") or _FMU_TYPE, element.get("source") or ""
        if kind != _FMU_TYPE or not source.lower().endswith(".fmu"):
            self.say(element.sourceline, f"'{name}' is '{source}' of type {kind}, expected an FMU")
            return
        file = self.held.file(source)
        if file is None:
            self.say(
                element.sourceline,
                f"'{name}' is '{source[:200]}', which is not in the archive; put the FMU into resources",
            )
            return
        if not file.is_file():
            self.say(element.sourceline, f"'{name}' is '{source[:200]}', which the archive does not have")
            return
        self.found.fmus[name] = FMU(file.relative_to(self.held.path.resolve()), {})
        for connector in self._all(element, "ssd:Connectors/ssd:Connector"):
            self.found.kinds[name, connector.get("name")] = connector.get("kind")
        self.bindings(element, name)

    def wire(self, element: Any, prefix: str) -> None:
        ends = []
        for which in ("start", "end"):
            inner = element.get(f"{which}Element")
            # without an element it is a connector of the system itself
            owner = prefix + inner if inner else prefix.removesuffix(".")
            ends.append((owner, element.get(f"{which}Connector") or ""))
        linear = None
        for child in element:
            kind = child.tag.rsplit("}", 1)[-1]
            if kind == "LinearTransformation":
                linear = self.linear(child, child.sourceline)
            elif kind.endswith("Transformation"):
                self.say(child.sourceline, f"the connection to '{'.'.join(ends[1])}' has a {kind}, which is not read")
        source, target = ends
        if self.found.kinds.get(source) == "input":
            # the standard lets a connection be drawn from either side
            source, target = target, source
        suppressed = element.get("suppressUnitConversion") in ("true", "1")
        self.found.wires.append(_Wire(source, target, linear, suppressed, element.sourceline))

    def connections(self) -> tuple[list[Connection], list[int]]:
        """From FMUs to FMUs: connectors of systems are followed back to the FMU that drives them."""
        into = {wire.target: wire for wire in self.found.wires}
        connections, lines = [], []
        for wire in self.found.wires:
            if wire.target[0] not in self.found.fmus:
                continue
            chain = [wire]
            while chain[-1].source[0] not in self.found.fmus and chain[-1].source in into and len(chain) < 100:
                chain.append(into[chain[-1].source])
            if chain[-1].source[0] not in self.found.fmus:
                # an input of the whole system, which nobody drives here
                continue
            ends = ".".join(chain[-1].source), ".".join(wire.target)
            try:
                transform = self.transform(chain)
            except InputError as error:
                self.say(wire.line, f"'{ends[0]} -> {ends[1]}' {error}")
                continue
            connections.append(Connection(*ends, transform))
            lines.append(wire.line)
        return connections, lines

    def transform(self, chain: Sequence[_Wire]) -> Linear | None:
        """None for nothing but the conversion of units; that comes before transformations."""
        suppressed = any(wire.suppressed for wire in chain)
        given = [wire.linear for wire in reversed(chain) if wire.linear is not None]
        if not given and not suppressed:
            return None
        total = Linear()
        if not suppressed:
            measures = [self.measure(*chain[-1].source), self.measure(*chain[0].target)]
            total = conversion(*measures)
        for linear in given:
            total = total.then(linear)
        return total

    def measure(self, fmu: str, variable: str) -> Measure | None:
        with contextlib.suppress(OSError):
            found = read_description(self.held.path / self.found.fmus[fmu].file).variables.get(variable)
            return found.measure if found is not None else None
        return None

    # ---- parameters

    def bindings(self, element: Any, owner: str) -> None:
        """Values of an FMU, or of FMUs of a system whose names come first."""
        for binding in self._all(element, "ssd:ParameterBindings/ssd:ParameterBinding"):
            parameters = self.parameter_set(binding)
            if parameters is None:
                continue
            start = owner if owner.endswith(".") or not owner else f"{owner}."
            start += binding.get("prefix") or ""
            for name, value, measure in self.mapped(binding, parameters):
                self.found.starts.append((start + name, value, measure, binding.sourceline))

    def parameter_set(self, binding: Any) -> Any:
        from pyssp_standard.ssv import SSVElem

        inline = self._one(binding, "ssd:ParameterValues/ssv:ParameterSet")
        if inline is None:
            inline = self.other_file(binding, "ParameterSet")
        try:
            return None if inline is None else SSVElem.from_xml(inline)
        except Exception as error:  # pyssp_standard raises what it meets: no value, no unit, a word for a number
            self.say(binding.sourceline, f"a ParameterSet cannot be read: {error}")
            return None

    def other_file(self, element: Any, what: str) -> Any:
        """The root of a file in the archive that an element names as its source."""
        from lxml import etree

        source = element.get("source") or ""
        if not source:
            self.say(element.sourceline, f"a binding has neither values nor a source, expected a {what}")
            return None
        file = self.held.file(source)
        if file is None or not file.is_file():
            self.say(element.sourceline, f"'{source[:200]}' is not in the archive, expected a {what}")
            return None
        try:
            return etree.parse(str(file), etree.XMLParser(resolve_entities=False, no_network=True)).getroot()
        except etree.XMLSyntaxError as error:
            self.say(element.sourceline, f"'{source}' is not XML: {error}")
            return None

    def mapped(self, binding: Any, parameters: Any) -> Iterator[tuple[str, Any, Measure | None]]:
        """Values by the names that they go to."""
        from pyssp_standard.ssm import SSMElem

        mapping = self._one(binding, "ssd:ParameterMapping")
        entries: dict[str, list[tuple[str, Linear]]] = {}
        if mapping is not None and not len(mapping) and not mapping.get("source"):
            self.warn(mapping.sourceline, "a ParameterMapping has neither entries nor a source, and is not used")
            mapping = None
        if mapping is not None:
            inline = self._one(mapping, "ssm:ParameterMapping")
            root = inline if inline is not None else self.other_file(mapping, "ParameterMapping")
            for entry in SSMElem.from_xml(root).entries if root is not None else ():
                given = entry.transformation.transformation if entry.transformation is not None else {}
                if (
                    entry.transformation is not None
                    and entry.transformation.transformation_type != "LinearTransformation"
                ):
                    self.say(mapping.sourceline, f"the mapping of '{entry.source}' is not linear, which is not read")
                    continue
                linear = self.linear(given, mapping.sourceline)
                if entry.target and not entry.source:
                    self.warn(mapping.sourceline, f"the mapping to '{entry.target}' has no source, and is not used")
                    continue
                if not entry.source or not entry.target:
                    self.say(
                        mapping.sourceline, f"a mapping goes from {entry.source!r} to {entry.target!r}, expected names"
                    )
                    continue
                entries.setdefault(entry.source, []).append((entry.target, linear))
        for parameter in parameters.parameters:
            name, typed = parameter["name"], parameter["type_value"].parameter
            if not name or typed is None:
                self.say(binding.sourceline, f"a parameter has the name {name!r} and the type {parameter['type_name']}")
                continue
            measure = self.unit_of(parameters, typed.get("unit"))
            value = _value(parameter["type_name"], typed.get("value"))
            if value is None:
                self.say(
                    binding.sourceline,
                    f"the parameter '{name}' is {typed.get('value')!r}, expected a {parameter['type_name']}",
                )
            elif mapping is None:
                yield name, value, measure
            for target, linear in entries.get(name, []) if value is not None else []:
                yield target, linear(value) if isinstance(value, float) else value, measure

    def unit_of(self, parameters: Any, name: str | None) -> Measure | None:
        if not name:
            return None
        if parameters.units is not None and name in parameters.units:
            base = parameters.units[name].base_unit
            if base is not None:
                return from_base(name, _Base(base.to_dict()))
        return from_name(name)

    def driven_by(self, name: str) -> list[tuple[str, Linear]]:
        """Return the inputs of FMUs that a connector of a system leads to, and what happens to a value on the way."""
        out: list[tuple[str, Linear]] = []
        ends = [(tuple(name.rpartition(".")[::2]), Linear())]
        # each wire once, however they are drawn
        left = list(self.found.wires)
        while ends:
            end, so_far = ends.pop()
            for wire in [wire for wire in left if wire.source == end]:
                left.remove(wire)
                linear = so_far if wire.linear is None else so_far.then(wire.linear)
                if wire.target[0] in self.found.fmus:
                    out.append((".".join(wire.target), linear))
                else:
                    ends.append((wire.target, linear))
        return out

    def apply_starts(self) -> None:
        """Each to the FMU with the longest name that fits; values with a unit are converted."""
        starts = list(self.found.starts)
        for name, value, measure, line in starts:
            fits = [fmu for fmu in self.found.fmus if name.startswith(f"{fmu}.")]
            if not fits and (reached := self.driven_by(name)):
                starts += [
                    (target, linear(value) if isinstance(value, float) else value, measure, line)
                    for target, linear in reached
                ]
                continue
            if not fits and tuple(name.rpartition(".")[::2]) in self.found.ports:
                self.warn(line, f"the value of '{name}', a connector of a system that leads to no FMU, is not used")
                continue
            if not fits:
                self.say(line, f"there is no FMU for the parameter '{name}'")
                continue
            owner = max(fits, key=len)
            key = name[len(owner) + 1 :]
            fmu = self.found.fmus[owner]
            try:
                if measure is not None and isinstance(value, float):
                    value = conversion(measure, self.measure(owner, key))(value)
            except InputError as error:
                self.say(line, f"the parameter '{name}' {error}")
                continue
            self.found.fmus[owner] = FMU(fmu.file, {**fmu.start, key: value})

    # ---- the rest

    def times(self, root: Any) -> tuple[float, float]:
        element = self._one(root, "ssd:DefaultExperiment")
        if element is None:
            return 0.0, 1.0
        start = self.number(element, "startTime", 0.0, element.sourceline)
        return start, self.number(element, "stopTime", start + 1.0, element.sourceline)

    def annotation(self, top: Any) -> dict[str, Any]:
        for element in self._all(top, "ssd:Annotations/ssc:Annotation"):
            if element.get("type") == ANNOTATION:
                try:
                    about = json.loads("".join(element.itertext()))
                except json.JSONDecodeError:
                    about = None
                if isinstance(about, dict):
                    return about
                self.say(element.sourceline, f"the annotation '{ANNOTATION}' is not as liegeo writes it; remove it")
        return {}


class _Base:
    """A BaseUnit of SSP with the names and numbers of FMI's."""

    def __init__(self, given: dict[str, str]) -> None:
        for key in ("kg", "m", "s", "A", "K", "mol", "cd", "rad"):
            setattr(self, key, int(given.get(key) or 0))
        self.factor, self.offset = float(given.get("factor") or 1.0), float(given.get("offset") or 0.0)


def _value(kind: str, text: str | None) -> Any:
    """None if the text is nothing of the kind."""
    try:
        if kind == "Real":
            return float(text or "")
        if kind == "Integer":
            return int(text or "")
    except ValueError:
        return None
    if kind == "Boolean":
        return {"true": True, "1": True, "false": False, "0": False}.get(text or "")
    return text if kind in ("String", "Enumeration") else None
