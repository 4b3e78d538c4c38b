"""Vectors among the scalar variables of an FMU, which FMI 3.0 has as arrays of one dimension.

Scalars whose names differ in their last part only (`tip.position.x`, `.y`, `.z`; `swing.quaternion.w` … `.z`;
`boom.eta[0]`, `[1]`, …), that follow each other and are alike in all else, are one variable of FMI 3.0.  Its value
reference is that of the first of them, so that FMI 2.0 and 3.0 share one array of values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from fmu_export.variables import RATE, REAL, STATE, ExportedVariable

#: The type of an annotation of FMI 3.0 that says how FMI 2.0 calls the elements of a vector: "x y z".
ELEMENTS = "liegeo.elements"
_PARTS = (("w", "x", "y", "z"), ("x", "y", "z"))
_ELEMENT = re.compile(r"(.+)\[(\d+)\]")


class ScalarRun(NamedTuple):
    """A variable of FMI 3.0: its name, the place of its first scalar among all, and its scalars."""

    name: str
    first: int
    scalars: Sequence[ExportedVariable]

    @property
    def is_vector(self) -> bool:
        """Return whether it is an array, maybe of one element."""
        return self.name != self.scalars[0].name

    @property
    def parts(self) -> Sequence[str]:
        """Return the last parts of the names of a vector's elements; nothing where they are counted: `eta[0]`."""
        last = [variable.name.removeprefix(f"{self.name}.") for variable in self.scalars]
        return last if tuple(last) in _PARTS else ()

    @property
    def description(self) -> str:
        """Return those of its scalars, each once."""
        return "; ".join(dict.fromkeys(variable.description for variable in self.scalars))


def variables3(variables: Sequence[ExportedVariable]) -> list[ScalarRun]:
    """Return the variables of FMI 3.0, in the order of their scalars."""
    taken = {variable.name for variable in variables}
    of_states: dict[object, ScalarRun] = {}
    out, place = [], 0
    while place < len(variables):
        name, size = _run(variables, place)
        state = of_states.get(variables[place].key) if variables[place].role == RATE else None
        if state is not None:
            # the derivative of a vector is one
            name, size = f"der({state.name})", len(state.scalars)
        # another variable may have the name of the vector
        if name in taken:
            name, size = variables[place].name, 1
        taken.add(name)
        out.append(ScalarRun(name, place, variables[place : place + size]))
        if variables[place].role == STATE:
            of_states[variables[place].key] = out[-1]
        place += size
    return out


def runs(variables: Sequence[ExportedVariable]) -> list[int]:
    """Return for each scalar how many from it on are one variable of FMI 3.0; 0 for those within a vector."""
    out = [0] * len(variables)
    for run in variables3(variables):
        out[run.first] = len(run.scalars)
    return out


def _run(variables: Sequence[ExportedVariable], place: int) -> tuple[str, int]:
    """Return name and size of the vector that begins at a place; those of the scalar if none does."""
    first = variables[place]
    stem, _, last = first.name.rpartition(".")
    for parts in _PARTS:
        names = [f"{stem}.{part}" for part in parts]
        if stem and last == parts[0] and _follow(variables, place, names) == len(names):
            return stem, len(names)
    element = _ELEMENT.fullmatch(first.name)
    if element and element[2] == "0":
        stem = element[1]
        names = [f"{stem}[{k}]" for k in range(len(variables) - place)]
        size = _follow(variables, place, names)
        rest = {variable.name for variable in variables[place + size :]}
        # all elements, or none: a vector with some of them would say something else
        if size > 1 and not any(name in rest for name in names[size:]):
            return stem, size
    return first.name, 1


def _follow(variables: Sequence[ExportedVariable], place: int, names: Sequence[str]) -> int:
    """Return how many variables from a place on have these names and are like the first of them."""
    count = 0
    for name, variable in zip(names, variables[place:], strict=False):
        if variable.name != name or _alike(variable) != _alike(variables[place]):
            break
        count += 1
    return count


def _alike(variable: ExportedVariable) -> tuple[object, ...]:
    """Return what the elements of a vector share."""
    return (
        variable.type == REAL or variable.name,
        *(variable.role, variable.causality, variable.variability, variable.unit, variable.factor),
        *(variable.minimum, variable.maximum, variable.nominal, variable.start is None),
    )
