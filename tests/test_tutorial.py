"""docs/tutorial.md, followed literally: its commands, files, edits and programs, in order, in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.foreign

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks():
    """Language, options and content of all blocks of the page."""
    return [found.groups() for found in BLOCK.finditer((ROOT / "docs" / "tutorial.md").read_text("utf-8"))]


def fits(expected, found):
    """Whether text is as expected, … standing for anything; spaces at the ends of lines do not count."""
    parts = [re.escape(part) for part in re.sub(r"[ \t]+$", "", expected.strip(), flags=re.MULTILINE).split("…")]
    return re.fullmatch(".*?".join(parts), re.sub(r"[ \t]+$", "", found.strip(), flags=re.MULTILINE), re.DOTALL)


def edit(folder, name, content):
    """A diff of one line."""
    (old,) = re.findall(r"^-(.*)$", content, re.MULTILINE)
    (new,) = re.findall(r"^\+(.*)$", content, re.MULTILINE)
    text = (folder / name).read_text("utf-8")
    assert text.count(old) == 1, f"{name} has not this line once: {old}"
    (folder / name).write_text(text.replace(old, new), "utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="the page is written for a POSIX shell")
def test_followed_literally(tmp_path):
    # `liegeo` is the one of this repository, whatever is installed
    command = tmp_path / "bin" / "liegeo"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m liegeo.cli "$@"\n')
    command.chmod(0o755)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)}
    folder = tmp_path / "work"
    folder.mkdir()
    said, checked = None, 0
    for language, options, content in blocks():
        name = options.partition("file=")[2].strip()
        if language == "text":
            assert said is not None, "a block of text without a command before it"
            assert fits(content, said), f"expected\n{content}\nfound\n{said}"
            checked += 1
        elif language == "diff":
            edit(folder, name, content)
        elif language == "yaml":
            (folder / name).write_text(content, "utf-8")
        else:
            run = ["sh", "-ec", content] if language == "bash" else [sys.executable, "-c", content]
            done = subprocess.run(
                run,
                cwd=folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            assert (done.returncode != 0) == ("fails" in options), done.stdout
            said = done.stdout
    assert checked == 10
    made = {file.name for file in folder.rglob("*") if file.is_file()}
    assert {"arm.html", "compare.png", "crane.html", "brake.png", "crane.fmu"} <= made
