"""Compile the guard library of FMUs for Linux and for Windows, wherever this is, by zig, which has both targets.

Hatch runs it when liegeo is installed or packed (pyproject.toml).  By hand, with ziglang installed:

    python tools/build/guard.py
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # by hand
    BuildHookInterface = object

ROOT = Path(__file__).parents[2]
FOLDER = "fmu_export/guard"
SOURCES = (
    "fmi2.c",
    "exchange.c",
    "life.c",
    "variables.c",
    "start_values.c",
    "words.c",
    "number.c",
    "system.c",
    "python.c",
)
COMMON = (
    "-std=gnu11",
    "-O2",
    "-g0",
    "-s",
    "-shared",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
)
# An old glibc, so that it is pythonfmu's own library that says where FMUs run; on Windows nothing but kernel32.
TARGETS = {
    "linux64/guard.so": ("-target", "x86_64-linux-gnu.2.17", "-fPIC", "-Wl,-Bsymbolic", "-ldl"),
    "win64/guard.dll": ("-target", "x86_64-windows-gnu", "-nostdlib", "-fno-builtin", "-lkernel32"),
}


def compile_guard(root: Path) -> None:
    """Compile both libraries, beside the sources.  The same sources give the same bytes."""
    if importlib.util.find_spec("ziglang") is None:
        sys.exit(
            "liegeo cannot be built: the Python package ziglang, which compiles the library of FMUs for Linux and "
            f"Windows, is not installed for {sys.executable}; install it with: pip install 'ziglang>=0.13'"
        )
    with tempfile.TemporaryDirectory(prefix="liegeo_guard_") as folder:
        environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": folder, "ZIG_LOCAL_CACHE_DIR": folder}
        for name, options in TARGETS.items():
            made, wanted = Path(folder) / Path(name).name, root / FOLDER / name
            sources = [f"{FOLDER}/{source}" for source in SOURCES]
            command = [sys.executable, "-m", "ziglang", "cc", *COMMON, *sources, "-o", str(made), *options]
            if subprocess.run(command, cwd=root, env=environment).returncode:
                sys.exit(f"liegeo cannot be built: zig did not compile {FOLDER} for {name}; its messages are above.")
            wanted.parent.mkdir(exist_ok=True)
            temporary = wanted.with_suffix(f".{os.getpid()}.tmp")
            temporary.write_bytes(made.read_bytes())
            temporary.replace(wanted)


class GuardHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        compile_guard(Path(self.root))


if __name__ == "__main__":
    compile_guard(ROOT)
