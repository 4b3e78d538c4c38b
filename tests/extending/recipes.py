"""The recipes of docs/extending.md: blocks of code with the places where they belong, and what each check demands.

A block is fenced Python whose first line is a comment: `# FILE, new file`, or `# FILE, HOW: LINE`.  HOW is `before`,
`before the decorator of`, `after` or `in place of`, and LINE is how exactly one line of the file begins.  A block that
begins with `# check` is run in a copy of the source to which the others were applied.  A line `Forgotten: …` after a
block is what the check says without it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "extending.md"
_PLACE = re.compile(r"# (\S+), (new file|before the decorator of|before|after|in place of)(?:: (.*))?")


@dataclass(frozen=True)
class Block:
    """Code, where it belongs, and what one sees without it."""

    file: str
    how: str
    line: str
    code: str
    forgotten: str = ""

    def apply(self, root):
        """Put the code into its place below a folder."""
        path = root / self.file
        if self.how == "new file":
            assert not path.exists(), f"docs/extending.md: {self.file} exists"
            path.write_text(self.code, encoding="utf-8")
            return
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        found = [k for k, line in enumerate(lines) if line.strip().startswith(self.line)]
        assert len(found) == 1, f"docs/extending.md: {len(found)} lines of {self.file} begin with '{self.line}'"
        first = found[0]
        if self.how == "before the decorator of":
            while lines[first - 1].startswith("@"):
                first -= 1
        last = first + (self.how == "in place of")
        if self.how == "after":
            first = last = first + 1
        # a copy may share its files with the source
        path.unlink()
        path.write_text("".join([*lines[:first], self.code, *lines[last:]]), encoding="utf-8")


@dataclass(frozen=True)
class Recipe:
    """A section of the page."""

    title: str
    declared: tuple[int, int]
    blocks: tuple[Block, ...]
    check: str


def recipes():
    """Return the recipes of the page, in their order."""
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"\| (\d+) \| (\d+) \| \[recipe (\d+)\]", text)
    places = {int(number): (int(source), int(tests)) for source, tests, number in rows}
    assert len(places) == 11
    out = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        blocks, check = [], ""
        for code, forgotten in re.findall(r"^```python\n(.*?)^```\n(?:\nForgotten: `(.*?)`\n)?", body, re.M | re.S):
            first, _, rest = code.partition("\n")
            if first == "# check":
                check += rest
            elif (place := _PLACE.fullmatch(first)) is not None:
                blocks.append(Block(place[1], place[2], place[3] or "", rest, forgotten))
            else:
                assert first.startswith(">>> "), f"docs/extending.md: '{first}' says no place"
        out.append(Recipe(title, places[int(title.partition(".")[0])], tuple(blocks), check))
    return out


def copy_source(folder):
    """A copy of the packages; compiled Python comes along, so that only what changes is compiled again."""
    for package in ("liegeo", "fmu_export"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("page", "guard"))
    (folder / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "examples.py", folder / "tests")
    return folder


# What checks may use.
_TOOLS = """
import ast
import sys
from pathlib import Path


def write(name, text):
    Path(name).write_text(text, encoding="utf-8")


def read(name):
    return Path(name).read_text(encoding="utf-8")


def says(words, call, *arguments):
    from liegeo.errors import LiegeoError

    try:
        call(*arguments)
    except LiegeoError as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"no error, expected '{words}'")


def command(*arguments):
    from typer.testing import CliRunner

    from liegeo.cli import app

    done = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200", "TERM": "dumb"})
    assert done.exit_code == 0, done.output
    return done.output.strip()


def same_public_names():
    import liegeo

    tree = ast.parse(read(liegeo.__file__))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    written = {alias.asname for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    return written | {"__version__"} == set(liegeo.__all__)
"""


def run(source, folder, checks):
    """Run checks with the source in a folder, in plain Python; return the exit code and what was printed."""
    program = folder / "check.py"
    # each check has names of its own
    each = (f"exec(compile({code!r}, 'check {k}', 'exec'), dict(globals()))\n" for k, code in enumerate(checks))
    program.write_text(_TOOLS + "\n" + "".join(each), encoding="utf-8")
    paths = os.pathsep.join([str(source), str(source / "tests")])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": paths, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
    return done.returncode, done.stdout + done.stderr
