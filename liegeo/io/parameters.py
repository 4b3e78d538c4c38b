"""Parameters of a model file: declared at its top, in groups or not, overridden from outside, used as `$(name)`."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from liegeo.errors import InputError, Path_
from liegeo.io import expressions, units
from liegeo.io.fields import show
from liegeo.io.units import Dimension, Quantity
from liegeo.model.checks import suggest
from liegeo.recorded import Recorded, chosen, explain, finite

_KEYS = ("value", "description", "min", "max")
#: By kind of a force with a law of its own: the keys that have formulas.
FORMULAS_OF = dict.fromkeys(("law", "line_law"), ("force", "rates", "potential", "dissipation"))


@dataclass(frozen=True)
class Parameter:
    """A parameter as it is used: its value in SI, how the file or the override wrote it, its bounds in SI.

    `unit` is the one that it was given in, as SI has it; `taken_as`, of a plain number, that of the keys which take it
    as it is, if they agree.
    """

    name: str
    value: float | int
    text: str
    unit: str
    description: str = ""
    minimum: float | None = None
    maximum: float | None = None
    taken_as: str = ""


@dataclass
class _Declared:
    path: Path_
    value: Any
    description: str = ""
    bounds: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Parameters:
    """All parameters of a file; `report` takes what is wrong, as a path and a message."""

    report: Callable[[Path_, str], None]
    declared: dict[str, _Declared] = field(default_factory=dict)
    found: dict[str, Quantity | None] = field(default_factory=dict)
    # by name, what the keys expect that are nothing but $(name)
    uses: dict[str, list[Dimension]] = field(default_factory=dict)
    _override: Mapping[str, Any] = field(default_factory=dict)

    def declare(self, data: Any) -> None:
        if not isinstance(data, dict):
            self.report(("parameters",), f"is {show(data)}, expected a mapping of names to values.")
            return
        self._declare(data, ())

    def _declare(self, data: dict[str, Any], group: tuple[str, ...]) -> None:
        for key, value in data.items():
            path: Path_ = ("parameters", *group, key)
            taken = (*expressions.RESERVED, *expressions.FUNCTIONS)
            if not re.fullmatch(expressions.NAME, key) or key in taken:
                self.report(
                    path,
                    f"is called '{key}'; names have letters, digits and _, and are none of {', '.join(taken)}.",
                )
            elif not group and key in units.BARE and not (isinstance(value, dict) and "value" not in value):
                # $(2 N*m) must not become a product with a parameter
                self.report(path, f"is called '{key}', which is a unit; call it {key}_0, or put it into a group.")
            elif not isinstance(value, dict):
                self.declared[".".join((*group, key))] = _Declared((*path,), value)
            elif "value" not in value:
                self._declare(value, (*group, key))
            else:
                self._with_bounds(".".join((*group, key)), path, value)

    def _with_bounds(self, name: str, path: Path_, value: dict[str, Any]) -> None:
        for key in value:
            if key not in _KEYS:
                self.report((*path, key), f"is no key of a parameter.{suggest(key, _KEYS)}")
        description = value.get("description", "")
        if not isinstance(description, str):
            self.report((*path, "description"), f"is {show(description)}, expected text; put it in quotes.")
            description = ""
        bounds: dict[str, Any] = {key: value[key] for key in ("min", "max") if key in value}
        self.declared[name] = _Declared((*path, "value"), value["value"], description, bounds)

    def resolve(self, override: Mapping[str, Any]) -> dict[str, Parameter]:
        """All values; what cannot be found is reported and left out."""
        self._override = override
        out: dict[str, Parameter] = {}
        for name, declared in self.declared.items():
            value = self.lookup(name)
            if value is not None and name in self.declared:
                made = self._parameter(name, declared, value)
                out |= {name: made} if made is not None else {}
        return out

    def _parameter(self, name: str, declared: _Declared, value: Quantity) -> Parameter | None:
        overridden = name in self._override
        where: Path_ = ("set", name) if overridden else declared.path
        bounds: dict[str, float] = {}
        for key, given in declared.bounds.items():
            bound = self._read(given, (*declared.path[:-1], key))
            if bound is None:
                return None
            known = None not in (bound.powers, value.powers) and not (bound.open or value.open)
            if known and bound.powers != value.powers:
                self.report(
                    (*declared.path[:-1], key), f"is {show(given)}, but the parameter is {show(declared.value)}."
                )
                return None
            bounds[key] = float(bound.value)
            low = key == "min"
            expected = f"must be {'≥' if low else '≤'} {given}."
            outside = (value.value < bounds[key]) if low else (value.value > bounds[key])
            explain(value.value, lambda expected=expected: f"set: {name} is {{}}, {expected}")  # type: ignore[misc]
            if outside:
                said = show(self._override[name]) if overridden else show(declared.value)
                self.report(where, f"is {said}, {expected}")
                # what takes it would only say the same again
                self.found[name] = None
                return None
        text = str(self._override[name] if overridden else declared.value)
        unit = units.written(value.powers, value.radians, value.kind) if value.powers is not None else ""
        return Parameter(name, value.value, text, unit, declared.description, bounds.get("min"), bounds.get("max"))

    def lookup(self, name: str) -> Quantity | None:
        """The value of a parameter; None if there is none of that name, or none that can be found."""
        if name not in self.declared:
            return None
        if name not in self.found:
            self._find(name)
        # a stand-in, so that one mistake is reported once
        return self.found[name] or Quantity(1.0, open=True)

    def _find(self, name: str) -> None:
        """Find a parameter after all that it depends on, so that a long chain of them is no deep recursion."""
        # begun and not found: the chain that leads to the last one
        chain: dict[str, None] = {}
        waiting = [name]
        while waiting:
            this = waiting[-1]
            if this in self.found:
                waiting.pop()
            elif this in chain:
                waiting.pop()
                self.found[this] = self._value(this)
                del chain[this]
            else:
                chain[this] = None
                for other in self._dependencies(this):
                    if other in chain:
                        walked = list(chain)
                        ring = [*walked[walked.index(other) :], other]
                        shown = ring if len(ring) < 20 else [*ring[:10], "…", *ring[-10:]]
                        where = ("set", this) if this in self._override else self.declared[this].path
                        self.report(where, f"depends on itself: {' → '.join(shown)}")
                        self.found[this] = None
                        del chain[this]
                        break
                    if other not in self.found:
                        waiting.append(other)

    def _dependencies(self, name: str) -> list[str]:
        """Return the parameters in the expression of a parameter, in its default too if it is overridden."""
        out: list[str] = []
        for given in (self._override.get(name), self.declared[name].value):
            if isinstance(given, str) and expressions.is_expression(given.strip()):
                # what cannot be parsed is reported by who reads it
                with contextlib.suppress(InputError):
                    names = expressions.parse(given.strip()).names
                    out += sorted(other for other in names if other in self.declared)
        return out

    def _value(self, name: str) -> Quantity | None:
        declared = self.declared[name]
        if name not in self._override:
            return self._read(declared.value, declared.path)
        given = self._override[name]
        value = self._read(given, ("set", name))
        default = self._read(declared.value, declared.path)
        if value is None or default is None:
            return value
        value = replace(value, value=chosen(value.value, default.value))
        if default.powers is None or default.open:
            return value
        if value.powers is None:
            return Quantity(value.value, default.powers, kind=default.kind, radians=default.radians)
        if value.powers != default.powers:
            self.report(
                ("set", name),
                f"is {show(given)}, {units.named(value.powers)}, but the file has {show(declared.value)}.",
            )
            return None
        if value.kind and default.kind and value.kind != default.kind:
            said = f"is {show(given)}, but the file has {show(declared.value)}, which mixes up turns and radians."
            self.report(("set", name), said)
            return None
        return value

    def _read(self, given: Any, path: Path_) -> Quantity | None:
        """A number, a number with a unit, or an expression."""
        try:
            if isinstance(given, str) and expressions.is_expression(given.strip()):
                expression = expressions.parse(given.strip())
                if expression.of_time:
                    raise InputError("uses t, which only laws and inputs may")
                return self.evaluate(expression)
            if isinstance(given, str):
                found = units.parse(given)
                if found is not None:
                    return found
                hint = "; parameters are written $(name)" if given.startswith("${") else ""
                raise InputError(f"is {show(given)}, expected a number, such as 1.2, 20 mm or $(a + b){hint}")
            if isinstance(given, bool) or not isinstance(given, int | float | Recorded) or not finite(given):
                raise InputError(f"is {show(given)}, expected a finite number")
            number: Any = given
            return Quantity(number, None, open=True)
        except InputError as error:
            said = str(error)
            own = said.startswith(("is", "depends"))
            self.report(path, f"{'' if own else f'is {show(given)}, which '}{said}")
            return None

    def evaluate(self, expression: expressions.Expression) -> Quantity:
        try:
            found = expressions.evaluate(expression, self.lookup)
        except KeyError as error:
            raise InputError(self.unknown(str(error.args[0]))) from None
        head, *rest = expression.tree
        return Quantity(
            found.value,
            found.powers,
            found.open,
            found.kind,
            expression.text,
            radians=units.turning(found.powers, found.radians),
            uses=self.uses.setdefault(rest[0], []) if head == "name" else None,
        )

    def with_uses(self, resolved: Mapping[str, Parameter]) -> dict[str, Parameter]:
        """What `resolve` gave, once the document was read: with the units of the keys that take plain numbers."""
        out = dict(resolved)
        for name, parameter in resolved.items():
            taken = {dimension.unit for dimension in self.uses.get(name, ())}
            if not parameter.unit and len(taken) == 1:
                out[name] = replace(parameter, taken_as=taken.pop())
        return out

    def unknown(self, name: str) -> str:
        return f"uses '{name}', which is no parameter and no unit.{suggest(name, list(self.declared))}"


def substituted(data: Any, parameters: Parameters) -> Any:
    """The document with expressions replaced by their values, those of the time kept as Expression.

    Those of a law become formulas of its variables.
    """
    done: dict[int, Any] = {}

    def walk(value: Any, path: Path_) -> Any:
        if isinstance(value, dict) and path[0] == "forces" and len(path) == 2 and str(value.get("kind")) in FORMULAS_OF:
            return _with_formulas(value, path, parameters, walk)
        if isinstance(value, str):
            return _substitute(value, path, parameters) if value.startswith("$(") else value
        if not isinstance(value, dict | list):
            return value
        if id(value) not in done:
            if isinstance(value, dict):
                done[id(value)] = {key: walk(x, (*path, key)) for key, x in value.items()}
            else:
                done[id(value)] = [x if type(x) is float else walk(x, (*path, k)) for k, x in enumerate(value)]
        return done[id(value)]

    return {key: value if key in ("parameters", "description") else walk(value, (key,)) for key, value in data.items()}


def _with_formulas(value: dict[str, Any], path: Path_, parameters: Parameters, walk: Callable[..., Any]) -> Any:
    """Return the entry of a law, with formulas where the file has expressions of its variables."""
    keys, own = FORMULAS_OF[value["kind"]], ("s", "ds", expressions.TIME)
    rates, signals = value.get("rates"), value.get("signals")
    names = [*own, *(rates if isinstance(rates, dict) else ()), *(signals if isinstance(signals, list) else ())]
    variables = {name for name in names if isinstance(name, str)}

    def read(given: Any, where: Path_) -> Any:
        if not isinstance(given, str) or not given.startswith("$("):
            return given
        try:
            if not expressions.is_expression(given):
                raise InputError("does not end with its ')'; an expression is the whole value")
            return expressions.formula(expressions.parse(given), parameters.lookup, variables)
        except KeyError as error:
            unknown = str(error.args[0])
            known = [*parameters.declared, *names]
            found = InputError(f"uses '{unknown}', which is no variable, parameter or unit.{suggest(unknown, known)}")
            parameters.report(where, f"is {show(given)}, which {found}")
        except InputError as error:
            parameters.report(where, f"is {show(given)}, which {error}")
        return 0.0

    out = {}
    for key, inner in value.items():
        if key in keys and isinstance(inner, dict):
            out[key] = {name: read(each, (*path, key, name)) for name, each in inner.items()}
        elif key in keys:
            out[key] = read(inner, (*path, key))
        else:
            out[key] = walk(inner, (*path, key))
    return out


def _substitute(text: str, path: Path_, parameters: Parameters) -> Any:
    try:
        if not expressions.is_expression(text):
            raise InputError("does not end with its ')'; an expression is the whole value")
        expression = expressions.parse(text)
        if not expression.of_time:
            return parameters.evaluate(expression)
        for name in sorted(expression.names - {expressions.TIME}):
            try:
                expressions.evaluate(expressions.parse(f"$({name})"), parameters.lookup)
            except KeyError:
                raise InputError(parameters.unknown(name)) from None
        return expression
    except InputError as error:
        parameters.report(path, f"is {show(text)}, which {error}")
        return Quantity(1.0, open=True, text=text)
