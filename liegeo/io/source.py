"""The text of a model file as plain data with places: YAML, read from events of the parser, nothing constructed.

Scalars mean what YAML 1.2 says: `true` and `false` are truth values, `yes` and `on` are words, `1e3` is a number.  Tags
and merge keys are refused.  An alias is the same object again, so that a small file stays small; how large it would
be if written out is bounded all the same.
"""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from liegeo.errors import FileProblem, ModelFileError, Path_

# Bytes of a file; values, all aliases written out; lists and mappings inside each other.
LARGEST, MOST, DEEPEST = 32_000_000, 2_000_000, 40

_INT = re.compile(r"[-+]?(?:0|[1-9]\d*)")
_FLOAT = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_ODD = {".inf": float("inf"), "+.inf": float("inf"), "-.inf": float("-inf"), ".nan": float("nan")}
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


def scalar(text: str) -> Any:
    """What a plain scalar means."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        # more digits than any count has: a number
        return int(text) if len(text) < 16 else float(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return _ODD.get(text.lower(), text)


_NONE: dict[Any, Any] = {}


@dataclass(eq=False, slots=True)
class SourceNode:
    """A value and where it stands; children of mappings by key, of lists by number; where the keys of mappings stand.

    There may be a million of them, so scalars share one empty dictionary.
    """

    line: int
    column: int
    value: Any
    children: dict[str | int, SourceNode] = field(default_factory=lambda: _NONE)
    keys: dict[str, tuple[int, int]] = field(default_factory=lambda: _NONE)
    size: int = 1
    # by key of a mapping that was renamed: what the file calls it
    written: dict[str, str] = field(default_factory=lambda: _NONE)


@dataclass(eq=False)
class Source:
    """A document: where it is from, and its root."""

    name: str
    root: SourceNode

    @property
    def data(self) -> Any:
        return self.root.value

    def place(self, path: Path_) -> tuple[int, int]:
        """Line and column of a value, or of the nearest thing around it that is there."""
        node = self.root
        place = node.line, node.column
        for key in path:
            if key in node.keys:
                place = node.keys[str(key)]
            if key not in node.children:
                return place
            node = node.children[key]
            if key not in node.keys and isinstance(key, int):
                place = node.line, node.column
        return place

    def problem(self, path: Path_, message: str) -> FileProblem:
        line, column = self.place(path)
        return FileProblem(self.name, line, column, self.dotted(path), message)

    def dotted(self, path: Path_) -> str:
        """Return a path as text, with the keys that the file has."""
        node: SourceNode | None = self.root
        out: list[str | int] = []
        for key in path:
            out.append(node.written.get(str(key), key) if node is not None else key)
            node = node.children.get(key) if node is not None else None
        return dotted(tuple(out))

    # ---- changes, for migrations of older files

    def rename(self, path: Path_, name: str) -> None:
        """Give a key of a mapping another name; nothing happens where the file does not have the key.

        It is an error if the file has both keys.
        """
        key = str(path[-1])
        node = self._node(path[:-1])
        if node is None or not isinstance(node.value, dict) or key not in node.value:
            return
        if name in node.value:
            message = f"is the older name of '{name}', which the file has too; keep one of them."
            raise ModelFileError([self.problem(path, message)])
        tables: tuple[dict[Any, Any], ...] = node.value, node.children, node.keys
        for table in tables:
            held = [(name if each == key else each, value) for each, value in table.items()]
            table.clear()
            table.update(held)
        node.written = {**node.written, name: node.written.get(key, key)}

    def remove(self, path: Path_) -> None:
        """Take a key out of a mapping, if it is there."""
        node = self._node(path[:-1])
        if node is not None and isinstance(node.value, dict) and path[-1] in node.value:
            for table in (node.value, node.children):
                del table[path[-1]]

    def replace(self, path: Path_, value: Any) -> None:
        """Put another value in the place of one that is no list or mapping, if it is there."""
        node, parent = self._node(path), self._node(path[:-1])
        if node is not None and parent is not None and not node.children:
            parent.value[path[-1]] = value
            parent.children[path[-1]] = SourceNode(node.line, node.column, value)

    def entries(self, path: Path_) -> list[Path_]:
        """Return the paths of all entries of a list or mapping; none if it is not there."""
        node = self._node(path)
        return [] if node is None else [(*path, key) for key in node.children]

    def _node(self, path: Path_) -> SourceNode | None:
        node: SourceNode | None = self.root
        for key in path:
            node = node.children.get(key) if node is not None else None
        return node


def dotted(path: Path_) -> str:
    """`joints.shoulder.axis[2]`."""
    out = ""
    for key in path:
        out += f"[{key}]" if isinstance(key, int) else f".{key}" if out else str(key)
    return out


def read(path: Path) -> Source:
    """The document in a file."""
    # as it was given: terminals and editors then lead from a message to its line
    name = str(path)
    try:
        found = path.stat()
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            # a pipe would be waited for
            raise ModelFileError([FileProblem(name, 0, 0, "", "is not a file, expected a model file.")])
        size = found.st_size
        if size > LARGEST:
            raise ModelFileError(
                [
                    FileProblem(
                        name,
                        1,
                        1,
                        "",
                        f"the file has {size} bytes, expected at most {LARGEST}; put large data into FE or SID files.",
                    )
                ]
            )
        data = path.read_bytes()
    except OSError as error:
        raise ModelFileError([FileProblem(name, 0, 0, "", f"cannot be read: {error.strerror or error}.")]) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1) + 1
        message = f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8."
        raise ModelFileError([FileProblem(name, line, column, "", message)]) from None
    return parse(text, name)


def parse(text: str, name: str) -> Source:
    """The document that a text is."""
    import yaml

    builder = _Builder(name)
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ModelFileError([builder.problem(mark, _syntax(text, error, mark))]) from None
    except yaml.YAMLError as error:
        raise ModelFileError([_unreadable(text, name, error)]) from None
    if builder.problems:
        raise ModelFileError(builder.problems)
    if builder.root is None:
        raise ModelFileError(
            [builder.problem(None, "the file is empty, expected a model that begins with 'liegeo: 1'.")]
        )
    return Source(name, builder.root)


def _unreadable(text: str, name: str, error: Any) -> FileProblem:
    """A character that may not be in a YAML file; the parser does not say where it is."""
    for line, content in enumerate(text.split("\n"), 1):
        for column, character in enumerate(content, 1):
            if not character.isprintable() and character not in "\t\r\ufeff":
                return FileProblem(
                    name, line, column, "", f"the character U+{ord(character):04X} is not allowed in YAML."
                )
    return FileProblem(name, 1, 1, "", f"is not YAML: {error}.")


def _syntax(text: str, error: Any, mark: Any) -> str:
    lines = text.splitlines()
    line = lines[mark.line] if mark is not None and mark.line < len(lines) else ""
    said = " ".join(str(part) for part in (error.context, error.problem) if part)
    if "\t" in line[: len(line) - len(line.lstrip())] or "'\\t'" in said or "tab" in said:
        return "the line is indented with a tab, which YAML does not allow; use spaces."
    if "${" in line:
        return "parameters are written $(name), with round brackets: YAML has its own use for curly ones."
    if error.context_mark is not None and error.context_mark.line != mark.line:
        said += f" (it begins in line {error.context_mark.line + 1})"
    return f"is not YAML: {said}. Check indentation, colons, quotes and brackets around here."


class _Builder:
    """Takes events, keeps what is open, and collects problems."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.root: SourceNode | None = None
        self.problems: list[FileProblem] = []
        self.anchors: dict[str, SourceNode] = {}
        # open collections: node, and the key that waits for its value
        self.open: list[tuple[SourceNode, list[Any]]] = []
        self.documents = 0

    def problem(self, mark: Any, message: str) -> FileProblem:
        return FileProblem(self.name, mark.line + 1 if mark else 1, mark.column + 1 if mark else 1, "", message)

    def stop(self, mark: Any, message: str) -> NoReturn:
        raise ModelFileError([*self.problems, self.problem(mark, message)])

    def take(self, event: Any) -> None:
        kind = type(event).__name__
        mark = event.start_mark
        if kind == "DocumentStartEvent":
            self.documents += 1
            if self.documents > 1:
                self.stop(mark, "a second document begins here (---), expected one model a file.")
        elif kind == "AliasEvent":
            self._alias(event, mark)
        elif kind == "ScalarEvent":
            self._refuse_tag(event)
            value = scalar(event.value) if event.style in (None, "") else event.value
            self._add(SourceNode(mark.line + 1, mark.column + 1, value), event)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            self._refuse_tag(event)
            if len(self.open) >= DEEPEST:
                self.stop(mark, f"lists and mappings are nested more than {DEEPEST} deep.")
            node = SourceNode(mark.line + 1, mark.column + 1, {} if kind == "MappingStartEvent" else [], {}, {})
            # the anchor is known when it ends: until then an alias would make a ring
            self.open.append((node, [event]))
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            node, (start, *_) = self.open.pop()
            self._add(node, start)

    def _refuse_tag(self, event: Any) -> None:
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self.problems.append(
                self.problem(
                    event.start_mark,
                    f"has the tag {tag}; tags are not read, nothing in a model file is executed. Leave it out.",
                )
            )

    def _alias(self, event: Any, mark: Any) -> None:
        node = self.anchors.get(event.anchor)
        if node is None:
            self.stop(mark, f"the alias *{event.anchor} comes before its anchor &{event.anchor}, or inside it.")
        self._add(node, None, mark)

    def _add(self, node: SourceNode, event: Any, mark: Any = None) -> None:
        if event is not None and event.anchor:
            self.anchors[event.anchor] = node
        if not self.open:
            self.root = node
            return
        parent, waiting = self.open[-1]
        if isinstance(parent.value, list):
            parent.children[len(parent.value)] = node
            parent.value.append(node.value)
        elif len(waiting) == 1:
            waiting.append(self._key(node, event))
            return
        else:
            key = waiting.pop()
            if key is not None:
                parent.children[key] = node
                parent.value[key] = node.value
        parent.size += node.size
        if parent.size > MOST:
            self.stop(
                event.start_mark if event is not None else mark,
                f"all aliases written out, the file has more than {MOST} values; put large data into FE or SID files.",
            )

    def _key(self, node: SourceNode, event: Any) -> str | None:
        """The text of a key; None if it is none, so that its value is left out."""
        parent = self.open[-1][0]
        place = FileProblem(self.name, node.line, node.column, "", "")
        if isinstance(node.value, dict | list) or event is None:
            self.problems.append(place.saying("a key is a list, a mapping or an alias, expected a word."))
            return None
        key = str(event.value)
        if key == "<<":
            self.problems.append(
                place.saying("'<<' merges mappings, which is not read; write the keys out, or alias the whole value.")
            )
            return None
        if key in parent.keys:
            line, column = parent.keys[key]
            self.problems.append(
                place.saying(
                    f"the key '{key}' is there twice, first in line {line}, column {column}; give each its own name."
                )
            )
            return None
        parent.keys[key] = node.line, node.column
        return key
