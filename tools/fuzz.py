"""Run the fuzzers of tests/fuzz for longer than tests may: `python tools/fuzz.py --seconds 600`, or one seed again.

    python tools/fuzz.py                         all fuzzers, a minute each, from a random seed on
    python tools/fuzz.py yaml_text --seconds 60  one of them
    python tools/fuzz.py yaml_text --seed 4711   one case again, with its traceback

It prints each failure with the line that repeats it, and ends with 1 if there was one.
"""

from __future__ import annotations

import argparse
import importlib
import random
import sys
import tempfile
import time
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "tests" / "fuzz"


def fuzzers() -> dict[str, object]:
    """All fuzzers by name: those that the modules of tests/fuzz have in FUZZERS."""
    sys.path.insert(0, str(FOLDER))
    found: dict[str, object] = {}
    for file in sorted(FOLDER.glob("test_fuzz_*.py")):
        found |= getattr(importlib.import_module(file.stem), "FUZZERS", {})
    return found


def main() -> int:
    known = fuzzers()
    import fuzzing

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fuzzer", nargs="?", choices=sorted(known), help="all of them, if not given")
    parser.add_argument("--seed", type=int, help="one case, with its traceback")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each fuzzer")
    given = parser.parse_args()
    failed = 0
    for name in [given.fuzzer] if given.fuzzer else sorted(known):
        case = known[name]
        with tempfile.TemporaryDirectory() as folder:
            if given.seed is not None:
                with fuzzing.bounded():
                    case(given.seed, Path(folder))
                print(f"{name}, seed {given.seed}: read.")
                continue
            first = seed = random.SystemRandom().randrange(10**9)
            until, read, seen = time.monotonic() + given.seconds, 0, set()
            while time.monotonic() < until:
                try:
                    read += fuzzing.hold(name, case, seed, Path(folder))
                except fuzzing.FuzzError as failure:
                    # one of each kind: the same mistake shows with many seeds
                    kind = str(failure).partition(": ")[2]
                    if kind.splitlines()[0] not in seen:
                        print(failure, flush=True)
                    seen.add(kind.splitlines()[0])
                    failed += 1
                seed += 1
            print(f"{name}: {seed - first} cases, {read} read, {len(seen)} kinds of failure.", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
