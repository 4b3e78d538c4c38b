"""A model file as an object: the tree, its initial state, its experiment, its interface."""

from __future__ import annotations

import dataclasses
import functools
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from liegeo.assembly import assemble
from liegeo.errors import InputError
from liegeo.io.parameters import Parameter
from liegeo.model.model import Model, State
from liegeo.model.tree import Tree
from liegeo.results import Result
from liegeo.simulation import simulate
from liegeo.statics import equilibrium

_EXACTNESS = frozenset({"rtol", "atol", "accuracy"})


@dataclass(frozen=True)
class Initial:
    """Where a system begins: values by name as Model.state takes them, and what assembly keeps."""

    q: Mapping[str, Any] = field(default_factory=dict)
    v: Mapping[str, Any] = field(default_factory=dict)
    keep: Sequence[str] | Mapping[str, Sequence[int]] = ()
    x: Mapping[str, Any] = field(default_factory=dict)

    def state(self, model: Model, t: float) -> State:
        """Return the state of the model, with nothing assembled."""
        return model.state(q=self.q, v=self.v, t=t, x=self.x)


@dataclass(frozen=True)
class Experiment:
    """The default experiment.  What is None is left to `liegeo.simulate`.

    With `settle` it begins at rest, in a stable equilibrium near the initial position.
    """

    start: float = 0.0
    end: float = 1.0
    output: Any = None
    every: int = 1
    method: str | None = None
    step: float | None = None
    rtol: float | None = None
    atol: float | None = None
    accuracy: str | None = None
    max_step: float | None = None
    settle: bool = False
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def options(self) -> dict[str, Any]:
        """Arguments of `liegeo.simulate`."""
        given = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        del given["start"], given["settle"]
        optional = {name: value for name, value in given.items() if value is not None}
        return {"t_end": optional.pop("end"), **optional, "inputs": dict(self.inputs)}


@dataclass(frozen=True)
class Variable:
    """What an FMU says about a variable, in SI; None is left to the model."""

    unit: str | None = None
    description: str | None = None
    min: float | None = None
    max: float | None = None
    nominal: float | None = None
    start: float | None = None
    variability: str | None = None


@dataclass(frozen=True)
class Interface:
    """The interface of an FMU: names or wildcards, with what is said about each."""

    name: str | None = None
    description: str | None = None
    inputs: Mapping[str, Variable] = field(default_factory=dict)
    outputs: Mapping[str, Variable] = field(default_factory=dict)
    parameters: Mapping[str, Variable] = field(default_factory=dict)
    extrapolation: str = "hold"
    author: str | None = None
    version: str | None = None
    copyright: str | None = None
    license: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Mechanism:
    """A system with everything that its file says.

    `parameters` are the values by name, in SI; `declared` has the rest of what is known about them.
    """

    tree: Tree
    description: str = ""
    initial: Initial = field(default_factory=Initial)
    experiment: Experiment = field(default_factory=Experiment)
    fmu: Interface = field(default_factory=Interface)
    declared: Mapping[str, Parameter] = field(default_factory=dict)
    path: Path | None = None
    # Of a file: its document as plain data, with overrides in place, how to build it anew, and what it gave.
    document: Mapping[str, Any] | None = field(default=None)
    # Files in its folder that readers found by themselves: link_STIF1.mtx beside link.inp.
    opened: tuple[Path, ...] = ()
    _rebuild: Any = field(default=None)
    _given: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.tree, Tree):
            raise InputError(f"Mechanism: tree is {self.tree!r}, expected a Tree.")

    @property
    def name(self) -> str:
        return self.tree.name

    @property
    def parameters(self) -> Mapping[str, float | int]:
        return MappingProxyType({name: parameter.value for name, parameter in self.declared.items()})

    def replaced(self) -> list[str]:
        """The fields that are not what the file gave, because somebody replaced them in Python."""
        return [name for name, value in self._given.items() if getattr(self, name) is not value]

    @functools.cached_property
    def _model(self) -> Model:
        return self.tree.compile()

    def compile(self) -> Model:
        """The compiled model; made once."""
        return self._model

    def state(self, model: Model | None = None) -> State:
        """The initial state; where there are loops, the assembled one nearest to it."""
        model = self.compile() if model is None else model
        state = self.wished(model, self.experiment.start)
        return assemble(model, state, keep=self.initial.keep, inputs=self.experiment.inputs)

    def wished(self, model: Model, t: float) -> State:
        """Return the state to begin with at a time, before loops are closed; at rest, if the experiment settles.

        Joints that assembly keeps are held while the others settle, under gravity and the inputs of that time.
        """
        state = self.initial.state(model, t)
        if not self.experiment.settle:
            return state
        near = assemble(model, state, keep=self.initial.keep, inputs=self.experiment.inputs)
        return equilibrium(model, near, hold=self.initial.keep, inputs=self.experiment.inputs, stable=True)

    def simulate(self, **overrides: Any) -> Result:
        """The default experiment, or with other arguments of `liegeo.simulate`."""
        model = self.compile()
        state = overrides.pop("state", None)
        options = self.experiment.options()
        # what replaces one way to say how exact a run is replaces the other too
        given = {name for name in _EXACTNESS if overrides.get(name) is not None}
        if given:
            kept = {"rtol", "atol"} if given <= {"rtol", "atol"} else set()
            options = {name: value for name, value in options.items() if name not in _EXACTNESS or name in kept}
        options |= overrides
        return simulate(model, self.state() if state is None else state, **options)

    def changed(self, set: Mapping[str, Any]) -> Mechanism:  # noqa: A002
        """The same with other values set, as `liegeo.load` does it, beside those that were set before."""
        if self._rebuild is None:
            raise InputError(f"{self!r} is not from a model file, so that it has no parameters to set.")
        replaced = {name: getattr(self, name) for name in self.replaced()}
        if "tree" in replaced:
            raise InputError(
                f"{self!r} has a tree that was replaced in Python, so that {', '.join(set)} cannot be set: parameters "
                "are those of the file's tree.\n  Set them first, and replace the tree afterwards."
            )
        for name in set:
            section = name.partition(".")[0]
            if section in replaced and name not in self.declared:
                raise InputError(
                    f"set: '{name}' is a value of the file, but `{section}` was replaced in Python; replace it there."
                )
        changed: Mechanism = self._rebuild(set)
        return dataclasses.replace(changed, **replaced) if replaced else changed

    def moved(self, folder: Path) -> Mechanism:
        """Return the same with the files that it names in another folder."""
        if self._rebuild is None or self.path is None:
            return self
        source, path, override = self._rebuild.args
        there = folder / path.name
        return dataclasses.replace(
            self, path=there, _rebuild=functools.partial(self._rebuild.func, source, there, override)
        )

    def __repr__(self) -> str:
        file = f", from {self.path.name}" if self.path is not None else ""
        return f"<mechanism '{self.name}': {self._count()}{file}>"

    def _count(self) -> str:
        tree = self.tree
        parts: list[tuple[str, str, Sequence[Any]]] = [
            ("body", "bodies", tree.bodies),
            ("joint", "joints", tree.joints),
            ("wheel", "wheels", tree.wheels),
            ("loop", "loops", tree.loops),
            ("force", "forces", tree.forces),
            ("sensor", "sensors", tree.sensors),
            ("controller", "controllers", tree.controllers),
            ("event", "events", tree.events),
        ]
        said = [f"{len(things)} {one if len(things) == 1 else many}" for one, many, things in parts if things]
        return ", ".join(said)

    def _repr_html_(self) -> str:
        facts = {"system": self.name, "has": self._count(), "degrees of freedom": str(self.compile().nv)}
        if self.description:
            facts["about"] = self.description
        if self.path is not None:
            facts["file"] = self.path.name
        for name, parameter in self.declared.items():
            said = f"{parameter.value:.6g} {parameter.unit}".strip()
            facts[f"$({name})"] = said + (f" — {parameter.description}" if parameter.description else "")
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(key)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for key, value in facts.items()
        )
        return f"<table>{rows}</table>"
