"""Study files: YAML that says what varies in a model file, how many members there are, and what is kept of them.

    study: 1
    model: flexible_arm.yaml
    vary:
      payload.mass: {uniform: [0.5 kg, 1.5 kg]}
      upper.length: [0.8 m, 0.9 m]
    members: 200
    outputs:
      reach: max(payload.tip.position.x)

All that is wrong with a file is told together, each with its line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from liegeo.errors import FileProblem, InputError, ModelFileError, Path_
from liegeo.io import load
from liegeo.io.mechanism import Mechanism
from liegeo.io.problems import ended
from liegeo.io.source import Source, read
from liegeo.model.checks import suggest
from liegeo.studies.designs import DESIGNS, LogNormal, Normal, Triangular, Uniform, make_design
from liegeo.studies.outputs import read_outputs
from liegeo.studies.runs import StudyResult, study

VERSION = 1
_DISTRIBUTIONS: Mapping[str, tuple[Any, str]] = {
    "uniform": (Uniform, "[low, high]"),
    "normal": (Normal, "[mean, deviation]"),
    "log-normal": (LogNormal, "[median, deviation of the logarithm]"),
    "triangular": (Triangular, "[low, mode, high]"),
}
_KEYS = ("study", "name", "model", "set", "vary", "design", "members", "seed", "levels", "outputs")
_NEEDED = ("study", "model", "vary", "outputs")


@dataclass(frozen=True)
class StudyFile:
    """What a study file says; `run` runs it."""

    name: str
    mechanism: Mechanism
    vary: Mapping[str, Any]
    outputs: Mapping[str, Any]
    design: Mapping[str, Any] = field(default_factory=dict)

    def run(self, **options: Any) -> StudyResult:
        """Run the study, with further options of `liegeo.study`, which replace what the file says."""
        return study(self.mechanism, self.vary, self.outputs, name=self.name, **{**self.design, **options})


def load_study(path: Path) -> StudyFile:
    """Return what a study file says, or raise a ModelFileError with all that is wrong with it."""
    return _Reader(read(path), path).study()


class _Reader:
    def __init__(self, source: Source, path: Path) -> None:
        self.source, self.path = source, path
        self.problems: list[FileProblem] = []

    def report(self, path: Path_, message: str) -> None:
        self.problems.append(self.source.problem(path, ended(message)))

    def check(self) -> None:
        if self.problems:
            raise ModelFileError(sorted(self.problems, key=lambda each: (each.line, each.column)))

    def attempt(self, path: Path_, make: Any, *arguments: Any) -> Any:
        """Return what `make` makes; what it does not like is reported at the path."""
        try:
            return make(*arguments)
        except ModelFileError as error:
            # of the model file: those have places of their own
            self.problems.extend(error.problems)
        except InputError as error:
            self.report(path, str(error).removeprefix("study: "))
        return None

    def study(self) -> StudyFile:
        data = self.source.data
        if not isinstance(data, dict) or "study" not in data:
            self.report((), f"is no study, expected a mapping that begins with 'study: {VERSION}'.")
            self.check()
        if data["study"] != VERSION:
            self.report(("study",), f"is {data['study']!r}, expected {VERSION}, the version of this format.")
        for key in data:
            if key not in _KEYS:
                self.report((key,), f"is no key of a study.{suggest(str(key), _KEYS)}")
        for key in _NEEDED:
            if key not in data:
                self.report((), f"has no key '{key}', which a study needs.")
        for key, kind, words in (
            ("vary", dict, "a mapping of names to values"),
            ("set", dict, "a mapping"),
            ("model", str, "the name of a model file"),
        ):
            if not isinstance(data.get(key, kind()), kind):
                self.report((key,), f"is {data[key]!r}, expected {words}.")
        if any(key not in data or any(each.path == key for each in self.problems) for key in _NEEDED):
            self.check()
        vary = {name: self._varied(name, given) for name, given in data["vary"].items()}
        design = {key: data[key] for key in ("design", "members", "seed", "levels") if key in data}
        if "design" in design and design["design"] not in DESIGNS:
            self.report(("design",), f"is {design.pop('design')!r}, expected one of {', '.join(DESIGNS)}.")
        if None not in vary.values():
            self.attempt(("vary",), lambda: make_design(vary, **design))
        self.attempt(("outputs",), read_outputs, data["outputs"])
        mechanism = self.attempt(("model",), self._load, data["model"], data.get("set") or {})
        self.check()
        return StudyFile(str(data.get("name", mechanism.name)), mechanism, vary, data["outputs"], design)

    def _load(self, name: str, given: Mapping[str, Any]) -> Mechanism:
        file = self.path.parent / name
        if not file.is_file():
            raise InputError(f"is '{name}', which is not a file in the folder of the study.")
        return load(file, set=given)

    def _varied(self, name: str, given: Any) -> Any:
        """Return the values or the distribution of one parameter."""
        if isinstance(given, list):
            return given
        kinds = ", ".join(f"{{{kind}: {arguments}}}" for kind, (_, arguments) in _DISTRIBUTIONS.items())
        if not isinstance(given, dict) or len(given) != 1:
            self.report(("vary", name), f"is {given!r}, expected a list of values, or one of {kinds}.")
            return None
        ((kind, numbers),) = given.items()
        if kind not in _DISTRIBUTIONS:
            self.report(
                ("vary", name, kind),
                f"is no distribution, expected one of {kinds}.{suggest(str(kind), list(_DISTRIBUTIONS))}",
            )
            return None
        cls, arguments = _DISTRIBUTIONS[kind]
        if not isinstance(numbers, list) or len(numbers) != arguments.count(",") + 1:
            self.report(("vary", name, kind), f"is {numbers!r}, expected {arguments}.")
            return None
        return self.attempt(("vary", name, kind), cls, *numbers)
