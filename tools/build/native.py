"""Make the libraries of native FMUs, so that a wheel carries them: who installs it needs no compiler and no ziglang.

    python tools/build/native.py                                all platforms, some minutes each
    python tools/build/native.py --platform linux64             this one alone; may be repeated
    python tools/build/native.py --wheel dist                   then a wheel with them into the folder dist

Run it with a Python in which liegeo and ziglang are installed (`pip install -e '.[native]'`).  Libraries are written
beside the sources, into fmu_export/native/libraries, which git ignores and wheels take (pyproject.toml); without that
folder a wheel is made as ever.  Each has a digest of the sources in its name: liegeo takes those that belong to it and
makes others anew.  The wheel fits every platform, because libraries are data to it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from fmu_export.native.library import PLATFORMS, SHIPPED, library, shipped_name  # noqa: E402
from liegeo.errors import InputError  # noqa: E402


def make_libraries(platforms: list[str], folder: Path = SHIPPED) -> list[Path]:
    """Write the libraries of platforms into a folder, and take away those of other sources."""
    wanted = {shipped_name(name): name for name in platforms}
    current = {shipped_name(name) for name in PLATFORMS}
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        if old.name not in current:
            old.unlink()
    for file, name in wanted.items():
        content = library(name, lambda done, of, name=name: print(f"\r{name}: {done} of {of}", end="", flush=True))
        temporary = folder / f"{file}.tmp"
        temporary.write_bytes(content)
        temporary.replace(folder / file)
        print(f"\r{name}: {file}, {len(content) / 1e6:.2f} MB")
    return [folder / file for file in wanted]


def make_wheel(folder: Path) -> None:
    """Make a wheel of these sources, with the libraries that were made."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(command, check=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--platform", action="append", choices=list(PLATFORMS), help="may be repeated; all, if not given"
    )
    parser.add_argument("--wheel", type=Path, metavar="FOLDER", help="make a wheel there, too")
    given = parser.parse_args(arguments)
    try:
        make_libraries(given.platform or list(PLATFORMS))
    except InputError as error:
        sys.exit(str(error))
    if given.wheel:
        make_wheel(given.wheel)


if __name__ == "__main__":
    main()
