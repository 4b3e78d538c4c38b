"""From what pydantic, the classes of liegeo and the builder say to problems of a file, each at its place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from liegeo.errors import FileProblem, InputError
from liegeo.io.fields import show
from liegeo.io.source import Path_, Source
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
        yield source.problem(path, ended(_said(data, path, detail, error)))


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
        return "is of kind 'custom', which is a function of Python: build this model in Python, or use another kind"
    return f"is of kind {show(found['kind'])}, which there is not.{suggest(str(found['kind']), expected)}"


def _keys(error: ValidationError, data: Any, path: Path_) -> list[str]:
    """What might have been meant by an unknown key: found by the forms, which the error does not know."""
    from liegeo.io.document import keys_at

    return keys_at(data, path[:-1])


# ---- what liegeo's own classes say


def of_message(source: Source, message: str, path: Path_ | None = None) -> FileProblem:
    """A ModelError's text, at the thing that it names; below it at the key or the value that it speaks of."""
    found = path if path is not None else _owner(source, message)
    rest = message
    who = re.match(r"[^:']*'[^']*'(?: \([^)]*\))?(?:, [a-z]+ '[^']*')?: ", message)
    if who is not None:
        rest = message[who.end() :]
    entry = _at(source.data, found)
    if isinstance(entry, dict) and len(found) > 1 and "the name '" not in message:
        word = re.match(r"(?:its |the )?([A-Za-z_]+)", rest)
        quoted = re.search(r"'([^']*)'", rest)
        if word is not None and word[1] in entry:
            found = (*found, word[1])
        elif quoted is not None:
            found = (*found, *[key for key, value in entry.items() if _mentions(value, quoted[1])][:1])
    return FileProblem(*_place(source, found), "", ended(in_files_words(message)))


# What the classes of liegeo say to people who write Python, and what a file says.
_WORDS = (
    (
        r"Let it float with Free\(name=\.\.\., parent='world', child='([^']*)'\)",
        r"Let it float: {kind: free, parent: world, child: \1}",
    ),
    (r"\bn_modes\b", "count"),
    (r"\bn_elements\b", "elements"),
    (r"\bn_bodies\b", "pieces"),
)


def in_files_words(message: str) -> str:
    for pattern, instead in _WORDS:
        message = re.sub(pattern, instead, message)
    return message


def _place(source: Source, path: Path_) -> tuple[str, int, int]:
    line, column = source.place(path)
    return source.name, line, column


def _mentions(value: Any, name: str) -> bool:
    return isinstance(value, str) and (value == name or value.endswith(f".{name}") or value.startswith(f"{name}."))


_SECTIONS = {
    "joint": ("joints", "loops"),
    "body": ("bodies",),
    "flexible body": ("bodies",),
    "frame": ("bodies",),
    "FE model": ("bodies",),
    "substructure": ("bodies",),
    "solid": ("bodies",),
    "wheel": ("wheels",),
    "section": ("sections",),
    "material": ("materials",),
}


def _owner(source: Source, message: str) -> Path_:
    """The thing that a message begins with: `joint 'hinge' …`, `SpringDamper 's': …`."""
    begins = re.match(r"([A-Za-z ]+) '([^']*)'", message)
    data = source.data if isinstance(source.data, dict) else {}
    if begins is None:
        return ()
    twice = re.search(r"the name '([^']*)' is used", message)
    name = twice[1] if twice else begins[2]
    everywhere = ("bodies", "joints", "wheels", "forces", "loops")
    sections = everywhere if twice or begins[1] == "tree" else _SECTIONS.get(begins[1], ("forces", "loops", "joints"))
    there = [s for s in sections if isinstance(data.get(s), dict) and _named(data[s], name) is not None]
    if not there:
        spoken = {"fidelity": "fidelity", "modal_inverse": "modal_inverse", "ring": "joints", "no bodies": "bodies"}
        return next(((key,) for word, key in spoken.items() if word in message and key in data), ())
    return there[-1], str(_named(data[there[-1]], name))


def _named(entries: dict[str, Any], name: str) -> str | None:
    """A key, or the key of a beam in pieces that the name is one of."""
    if name in entries:
        return name
    base = re.sub(r"_\d+$", "", name.split("-")[0])
    entry = entries.get(base)
    return base if isinstance(entry, dict) and "pieces" in entry else None
