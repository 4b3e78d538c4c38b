"""Values that are set from outside: parameters of a file, or, by their paths, other values in it.

`arm.length` is a parameter; `bodies.hub.mass`, `initial.q.shoulder` and `experiment.step` are paths.  What has a
default (gravity, the experiment) may be set where the file says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from liegeo.errors import InputError, Path_
from liegeo.io.document import ExperimentForm
from liegeo.io.fields import show
from liegeo.io.parameters import Parameter
from liegeo.io.source import parse, scalar
from liegeo.recorded import Recorded

_ALWAYS: tuple[Path_, ...] = (
    ("gravity",),
    ("fidelity",),
    ("modal_inverse",),
    *(("experiment", key) for key in ExperimentForm.model_fields if key != "inputs"),
)
_NEVER = ("liegeo", "parameters", "fmu")


def plain(name: str, value: Any) -> Any:
    """What a file would hold: text is read as YAML reads it, so that `1.5` is a number and `[0, 0, 1]` a list."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, str):
        text = value.strip()
        return parse(text, f"set {name}").data if text.startswith("[") else scalar(text)
    if isinstance(value, tuple):
        value = list(value)
    if not isinstance(value, bool | int | float | list | Recorded):
        raise InputError(f"is {show(value)}, expected a number, text, or a list of numbers")
    return value


def paths(data: Mapping[str, Any]) -> dict[str, Path_]:
    """By dotted name: all values that may be set, but for parameters."""
    found = {".".join(map(str, path)): path for path in _ALWAYS}
    found |= {".".join(map(str, path)): path for path in _leaves(data, ()) if path[0] not in _NEVER}
    return found


def _leaves(data: Mapping[str, Any], path: Path_) -> Iterator[Path_]:
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, key))
        elif key != "kind":
            yield (*path, key)


def replaced(data: Mapping[str, Any], path: Path_, value: Any) -> dict[str, Any]:
    """The document with another value; what is shared with other places by an alias is copied first."""
    key, *rest = path
    below = data.get(str(key)) if rest else None
    inner = replaced(below if isinstance(below, dict) else {}, tuple(rest), value) if rest else value
    return {**data, str(key): inner}


def with_parameters(
    data: Mapping[str, Any], values: Mapping[str, Any], declared: Mapping[str, Parameter]
) -> dict[str, Any]:
    """The document with other values of parameters; a plain number keeps the dimension that the file gave it."""
    out = dict(data)
    for name, value in values.items():
        path: Path_ = ("parameters", *name.split("."))
        here: Any = data
        for key in path:
            here = here[key]
        if not isinstance(value, str) and declared[name].unit:
            value = f"{value!r} {declared[name].unit}"
        out = replaced(out, (*path, "value") if isinstance(here, dict) else path, value)
    return out
