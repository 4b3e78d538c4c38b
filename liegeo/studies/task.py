"""What a worker does for each member: make the mechanism, run its experiment, keep its outputs."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import pickle
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from liegeo.errors import InputError, LiegeoError
from liegeo.io.mechanism import Mechanism
from liegeo.io.writing import files_of
from liegeo.model.model import Model, State
from liegeo.model.tree import Tree
from liegeo.results import Result
from liegeo.simulation import simulate
from liegeo.studies.journal import MemberRow
from liegeo.studies.outputs import StudyOutput

# What members are made of: a mechanism whose file has parameters, or a function of their values.
Source = Mechanism | Callable[..., Any]


class OutputError(InputError):
    """An output cannot be made of a result: that is wrong for all members alike."""


@dataclass(frozen=True, eq=False)
class Task:
    """A mechanism, or a function that makes one, the options of its runs, and what is kept of them.

    `files` are those that the model file names: where they are not in its folder, as on another machine, the worker
    writes them into a folder of its own.
    """

    source: Source
    options: Mapping[str, Any]
    outputs: tuple[StudyOutput, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, source: Any, options: Mapping[str, Any], outputs: tuple[StudyOutput, ...]) -> Task:
        """Return a task with the files that the mechanism names."""
        if not isinstance(source, Mechanism):
            return cls(source, dict(options), outputs)
        files: dict[str, bytes] = {}
        if source.path is not None and source.document is not None:
            names = dict.fromkeys([*files_of(source.document), *(each.as_posix() for each in source.opened)])
            files = {name: (source.path.parent / name).read_bytes() for name in names}
        return cls(source, dict(options), outputs, files)

    def __getstate__(self) -> dict[str, Any]:
        source = dataclasses.replace(self.source) if isinstance(self.source, Mechanism) else self.source
        return {"source": source, "options": self.options, "outputs": self.outputs, "files": self.files}

    @functools.cached_property
    def pickled(self) -> bytes:
        """Return the task as it is sent to other processes."""
        return pickle.dumps(self)

    @property
    def sendable(self) -> bool:
        """Whether other processes can run it."""
        try:
            self.check_sendable()
        except InputError:
            return False
        return True

    def check_sendable(self) -> None:
        """Raise InputError if a function of a user's own cannot be sent to other processes."""
        why = ""
        functions = [self.source, *(measure.given for measure in self.outputs), *self.options.values()]
        for function in functions:
            if callable(function) and getattr(function, "__module__", "") == "__main__":
                why = f"'{getattr(function, '__name__', function)}' stands in the script or session that was started"
        if not why:
            try:
                self.pickled  # noqa: B018
                return
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                why = str(error)
        raise InputError(
            f"study: this study cannot be sent to other processes: {why}.\n"
            "  Put functions into a module that workers can import, or let executor be 'threads' or 'here'."
        )

    @functools.cached_property
    def digest(self) -> str:
        """Return a short text that tells it from other tasks."""
        return hashlib.sha256(self.pickled).hexdigest()[:16]

    @functools.cached_property
    def _here(self) -> Source:
        """The source with a folder in which its files are."""
        source = self.source
        if not isinstance(source, Mechanism) or source.path is None or not self.files:
            return source
        if all(_has(source.path.parent / name, content) for name, content in self.files.items()):
            return source
        folder = Path(tempfile.mkdtemp(prefix="liegeo-study-"))
        for name, content in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        return source.moved(folder)

    def run(self, members: Iterable[tuple[int, Mapping[str, float]]]) -> list[MemberRow]:
        """Return what comes of each member; one whose run fails is a row with its error."""
        rows = []
        for member, values in members:
            try:
                rows.append(MemberRow(member, self.outputs_of(self.result(values))))
            except OutputError:
                raise
            except LiegeoError as error:
                rows.append(MemberRow(member, {}, str(error)))
            except Exception as error:  # of a user's own function
                rows.append(MemberRow(member, {}, f"{type(error).__name__}: {error}"))
        return rows

    def result(self, values: Mapping[str, float]) -> Result:
        """Return the run of one member."""
        source, options = self._here, {"progress": False, **self.options}
        if isinstance(source, Mechanism):
            return source.changed(values).simulate(**options)
        made = source(**values)
        if isinstance(made, Result):
            return made
        if isinstance(made, Mechanism):
            return made.simulate(**options)
        model, state = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
        model = model.compile() if isinstance(model, Tree) else model
        if not isinstance(model, Model) or not isinstance(state, State | None):
            raise OutputError(
                f"study: the function returned {made!r}, expected a mechanism, a tree, a model, a model and its state, "
                "or a result."
            )
        return simulate(model, state, **options)

    def outputs_of(self, result: Result) -> dict[str, Any]:
        """Return the values of all outputs by name."""
        out = {}
        for measure in self.outputs:
            try:
                out[measure.name] = measure.of(result)
            except InputError as error:
                text = str(error)
                raise OutputError(
                    text if text.startswith("study:") else f"study: output '{measure.name}': {text}"
                ) from None
        return out


def _has(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content
    except OSError:
        return False
