"""The sources of liegeo that an FMU runs, and a digest of them."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import liegeo

# What an FMU does not run.
_NOT_BUNDLED = ("liegeo/view", "liegeo/cli.py", "liegeo/demo.py", "liegeo/analysis", "liegeo/reports.py")
_OURS = (
    "__init__.py",
    "block.py",
    "slave.py",
    "saved_state.py",
    "machine.py",
    "quantity_types.py",
    "variables.py",
    "words.py",
    "sources.py",
)


def sources() -> dict[str, bytes]:
    """By path: the text of every file."""
    here, root = Path(__file__).parent, Path(liegeo.__file__).parent
    out = {f"fmu_export/{name}": (here / name).read_bytes() for name in _OURS}
    for path in sorted(root.rglob("*.py")):
        name = f"liegeo/{path.relative_to(root).as_posix()}"
        if not name.startswith(_NOT_BUNDLED):
            out[name] = path.read_bytes()
    return out


@functools.cache
def sources_digest() -> str:
    """Of the sources that this process has loaded; asked for while their files are still there."""
    digest = hashlib.sha256()
    for name, text in sources().items():
        digest.update(name.encode() + b"\0" + hashlib.sha256(text).digest())
    return digest.hexdigest()[:16]
