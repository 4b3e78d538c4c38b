"""Tables of fields: layout.py says in them what stands where, and everything else about the layout is made from them.

A table describes one kind of row, or one part of an array.  Each field has a name, a size and a meaning.  `add` returns
the field's offset, so that a constant and its row in the table are one line:

    VEL = BODY_SCRATCH.add("VEL", 6, "twist V_WB_B")

and Numba, mypy and editors see a plain whole number.  Sizes are numbers, or expressions in symbols that layout.py
explains.  Who writes and reads a field is in access.py.
"""

from __future__ import annotations

from typing import NamedTuple


class LayoutField(NamedTuple):
    """One row of a table.  A size that is a number, and the offset, are in the unit of the table."""

    name: str
    size: int | str
    meaning: str
    #: None if it depends on sizes that are expressions.
    offset: int | None


class Alias(NamedTuple):
    """A second name of a field, or of several that stand one behind another, and why there are two."""

    name: str
    of: tuple[str, ...]
    reason: str


class Place(NamedTuple):
    """A field of one row: array[start:stop]."""

    field: LayoutField
    start: int
    stop: int


class Table:
    """The fields of one kind of row, or of one part of an array, in the order in which they stand.

    name: for people.  array: "I", "F", "W", "u", "S" or "D".  begins: an expression for where a row begins.  unit: if
    not empty, the symbol of which sizes and offsets are multiples.  shared: equal contents are kept once, so that
    several rows may be the same place.
    """

    def __init__(self, name: str, array: str, begins: str, unit: str = "", shared: bool = False) -> None:
        self.name, self.array, self.begins, self.unit, self.shared = name, array, begins, unit, shared
        self.fields: list[LayoutField] = []
        self.aliases: list[Alias] = []
        # How far the fields reach, in units; unknown behind a size that is an expression.
        self._end: int | None = 0

    def add(self, name: str, size: int | str, meaning: str) -> int:
        """Put a field behind those that there are; return its offset."""
        if self._end is None:
            raise ValueError(f"table '{self.name}': the offset of '{name}' is no constant.  Use `add_behind`.")
        offset = self._end
        self.fields.append(LayoutField(name, size, meaning, offset))
        self._end = offset + size if isinstance(size, int) else None
        return offset

    def add_behind(self, name: str, size: int | str, meaning: str) -> None:
        """Put a field behind those that there are, at an offset that is no constant."""
        self.fields.append(LayoutField(name, size, meaning, None))

    def alias(self, name: str, of: str, reason: str) -> int:
        """Give a field, or several one behind another, a second name; return the offset of the first."""
        self.aliases.append(Alias(name, tuple(of.split()), reason))
        offset = self.field(self.aliases[-1].of[0]).offset
        return -1 if offset is None else offset

    @property
    def end(self) -> int:
        """How far the fields reach, in units: the size of a row."""
        if self._end is None:
            raise ValueError(f"table '{self.name}': its size is no constant.  Use `size`.")
        return self._end

    def field(self, name: str) -> LayoutField:
        """Return the field of this name."""
        return next(field for field in self.fields if field.name == name)

    def places(self, start: int = 0, **symbols: int) -> list[Place]:
        """Return where each field of a row that begins at `start` stands, for these values of the symbols."""
        out = []
        for field in self.fields:
            if isinstance(field.size, int):
                size = field.size * (symbols[self.unit] if self.unit else 1)
            else:
                size = int(eval(field.size, {"__builtins__": {}, "max": max}, dict(symbols)))
            out.append(Place(field, start, start + size))
            start += size
        return out

    def size(self, **symbols: int) -> int:
        """Return how many numbers a row has, for these values of the symbols."""
        return self.places(0, **symbols)[-1].stop


class Kinds:
    """Values that a field can have: 0, 1, 2 … with a name and a meaning.  `field` says where they stand.

    A kind may have a table of its own: `data` describes the numbers that rows of this kind have in F.
    """

    def __init__(self, name: str, field: str) -> None:
        self.name, self.field = name, field
        self.values: list[tuple[str, str]] = []
        self.data: list[Table | None] = []

    def add(self, name: str, meaning: str, data: Table | None = None) -> int:
        """Put a value behind those that there are; return it."""
        self.values.append((name, meaning))
        self.data.append(data)
        return len(self.values) - 1

    def table(self, kind: int) -> Table:
        """Return the table of the numbers that rows of this kind have in F."""
        found = self.data[kind]
        if found is None:
            raise ValueError(f"kinds '{self.name}': {self.values[kind][0]} has no table of data.  Give it to `add`.")
        return found


class Shown(NamedTuple):
    """Some of the numbers that observers find: where they begin and how many they are.

    kind: that of their columns in results, "" if they are no columns.  passes: what has to be computed before, as bits.
    bends: whether only nodes that deform have them.
    """

    start: int
    size: int
    kind: str
    passes: int
    bends: bool


class Numbers:
    """The numbers that observers find of one thing, one behind another, and the names under which they are known."""

    def __init__(self) -> None:
        self.size = 0
        self.parts: dict[str, Shown] = {}

    def reserve(self, size: int) -> int:
        """Put numbers behind those that there are; return where they begin."""
        self.size += size
        return self.size - size

    def name(self, name: str, start: int, size: int, kind: str = "", passes: int = 0, *, bends: bool = False) -> None:
        """Give some of the numbers a name, under which observers find them; see Shown."""
        self.parts[name] = Shown(start, size, kind, passes, bends)

    def add(self, name: str, size: int, kind: str = "", passes: int = 0, *, bends: bool = False) -> int:
        """Put numbers with a name behind those that there are; return where they begin."""
        start = self.reserve(size)
        self.name(name, start, size, kind, passes, bends=bends)
        return start
