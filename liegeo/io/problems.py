"""From errors of pydantic and faults of liegeo's classes to problems of a model file, each at its line and column."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from liegeo.errors import Fault, FileProblem, InputError, ModelError, Path_, shown
from liegeo.io.fields import PLACE_KEYS, show
from liegeo.io.source import Source
from liegeo.model.checks import suggest


class WrongError(InputError):
    """What is wrong with a value somewhere below the thing that is being built."""

    def __init__(self, message: str, *path: str | int) -> None:
        super().__init__(message)
        self.path: Path_ = path


def suggest_some(name: str, allowed: Sequence[str], most: int = 12) -> str:
    """As `suggest`, where there may be hundreds: without a close one only the first are listed."""
    said = suggest(name, allowed)
    if "Did you mean" in said or len(allowed) <= most:
        return said
    return f"\n  There are: {', '.join(allowed[:most])}, …"


def ended(message: str) -> str:
    return message if message.endswith((".", "?", ":", "…")) else f"{message}."


def of_validation(source: Source, data: Any, error: ValidationError) -> Iterator[FileProblem]:
    """In our words."""
    for detail in error.errors(include_url=False):
        path = _located(data, detail)
        message = _said(data, path, detail, error)
        if detail["type"] == "union_tag_invalid" and isinstance(_at(data, path), dict):
            path = (*path, "kind")
        yield source.problem(path, ended(message))


def paths_of_validation(data: Any, error: ValidationError) -> list[tuple[Path_, str]]:
    """Where pydantic found something wrong, and which kind of error it is."""
    return [(_located(data, detail), detail["type"]) for detail in error.errors(include_url=False)]


def _located(data: Any, detail: Any) -> Path_:
    """The path of an error in the document: what pydantic adds for unions and keys is left out."""
    path: list[str | int] = []
    here, skipped = data, None
    loc = [part for part in detail["loc"] if part != "[key]"]
    for i, part in enumerate(loc):
        if isinstance(here, dict) and part == here.get("kind") and skipped is not here:
            skipped = here
        elif (isinstance(here, dict) and part in here) or (isinstance(here, list) and isinstance(part, int)):
            path.append(part)
            here = here[part]
        elif i == len(loc) - 1 and detail["type"] == "missing":
            path.append(part)
    return tuple(path)


def _at(data: Any, path: Path_) -> Any:
    for part in path:
        data = data[part]
    return data


def _said(data: Any, path: Path_, detail: Any, error: ValidationError) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        known = _keys(error, data, path)
        return f"is no key here.{suggest(str(path[-1]), known)}"
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return _kinds(_at(data, path), context)
    if kind == "value_error":
        return str(context["error"])
    if kind in ("dict_type", "model_type", "model_attributes_type"):
        return f"is {show(_at(data, path))}, expected a mapping (key: value)"
    if kind == "list_type":
        return f"is {show(_at(data, path))}, expected a list"
    return f"is {show(_at(data, path))}: {detail['msg']}"


def _kinds(found: Any, context: Any) -> str:
    expected = [word.strip("' ") for word in str(context.get("expected_tags", "")).split(",") if word.strip()]
    if not isinstance(found, dict):
        return f"is {show(found)}, expected a mapping with a kind"
    if "kind" not in found:
        return "has no kind, which says what it is"
    if found["kind"] == "custom":
        return "is 'custom', which is a function of Python: build this model in Python, or use another kind"
    return f"is {show(found['kind'])}, which is not known.{suggest(str(found['kind']), expected)}"


def _keys(error: ValidationError, data: Any, path: Path_) -> list[str]:
    """What might have been meant by an unknown key: found by the forms, which the error does not know."""
    from liegeo.io.document import keys_at

    return keys_at(data, path[:-1])


# ---- what liegeo's own classes say


def faults_of(error: ModelError) -> tuple[Fault, ...]:
    """Return the faults of an error; one that is only text becomes one fault of the whole."""
    if error.faults:
        return error.faults
    said, line, advice = str(error).partition("\n")
    return (Fault(None, (), None, said.removesuffix("."), advice=line + advice),)


@contextlib.contextmanager
def below(*path: str | int, **keys: str | tuple[str | int, ...]) -> Iterator[None]:
    """Within this, faults belong to the value at a path of the entry; `keys` are keys of fields with other names."""
    try:
        yield
    except ModelError as error:
        moved = []
        for fault in faults_of(error):
            first, *rest = fault.field or ("",)
            key = keys.get(str(first), first)
            field = (*(key if isinstance(key, tuple) else (key,)), *rest) if fault.field else ()
            subject = str(key) if fault.subject == first and isinstance(key, str) else fault.subject
            moved.append(replace(fault, field=(*path, *field), subject=subject))
        raise ModelError(moved) from None


def of_fault(source: Source, data: Any, fault: Fault, path: Path_) -> FileProblem:
    """Return a fault as a problem of the file, at its field below this path, or as near to it as the file goes.

    `data` is the document with the values that were used; the value is shown as it stands there, with its unit.
    """
    found, here = list(path), _at(data, path)
    for key in fault.field:
        # a place is a pair in Python, and a mapping in a file
        name = PLACE_KEYS[key] if isinstance(here, dict) and isinstance(key, int) and key < len(PLACE_KEYS) else key
        inside = range(len(here)) if isinstance(here, list) else here if isinstance(here, dict) else ()
        if name not in inside:
            break
        found.append(name)
        here = here[name]
    whole = len(found) == len(path) + len(fault.field) > len(path)
    value = _shown(here, fault) if whole and not isinstance(here, dict | list) else shown(fault.value)
    message = fault.sentence(value, fault.advice_in_file or fault.advice)
    line, column = source.place(tuple(found))
    return FileProblem(source.name, line, column, source.dotted(tuple(found)), message, named=True)


def _shown(given: Any, fault: Fault) -> str:
    """Return a value as the file has it; of an expression also what it comes to."""
    if isinstance(given, str) and given.startswith("$("):
        return f"{show(given)}, which is {shown(fault.value)}"
    return show(given)
