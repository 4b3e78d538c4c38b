"""A Mechanism, as `liegeo.load` returns it, where a function expects a model: what it stands for."""

from __future__ import annotations

import functools
import inspect
import reprlib
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar, runtime_checkable

from liegeo.errors import InputError
from liegeo.model.model import Model
from liegeo.model.state import State

P = ParamSpec("P")
T = TypeVar("T")


@runtime_checkable
class HasModel(Protocol):
    """What has a model, an initial state and an experiment.  Classes of model files stand above this package."""

    def compile(self) -> Model: ...

    def state(self) -> State: ...

    def simulate(self, **overrides: Any) -> Any: ...


def as_model(given: Any, who: str) -> Model:
    """Return a model, or the one that a mechanism compiles to; raise an InputError for anything else."""
    if isinstance(given, Model):
        return given
    if isinstance(given, HasModel):
        return given.compile()
    more = ".\n  Call compile() on it." if hasattr(given, "compile") else ", or a Mechanism as liegeo.load returns it."
    raise InputError(f"{who}: model is {reprlib.repr(given)}, expected a compiled Model{more}")


def as_state(given: Model | HasModel, state: State | None) -> State | None:
    """Return the state that is given, or the initial state of a mechanism; None if there is neither."""
    return given.state() if state is None and isinstance(given, HasModel) else state


def also_of_mechanisms(simulate: Callable[P, T]) -> Callable[P, T]:
    """Let a function (model, state, …) run the experiment of a mechanism too, with the arguments that are given."""

    @functools.wraps(simulate)
    def call(*arguments: P.args, **options: P.kwargs) -> T:
        given = arguments[0] if arguments else options.get("model")
        if isinstance(given, Model) or not isinstance(given, HasModel):
            return simulate(*arguments, **options)
        overrides = inspect.signature(simulate).bind(*arguments, **options).arguments
        overrides.pop("model")
        result: T = given.simulate(**overrides)
        return result

    return call
