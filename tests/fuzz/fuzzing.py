"""What all fuzzers share: the property, its bounds in time and memory, and what is printed to reproduce a failure.

A fuzzer is a function `case(seed, folder)`: it makes a file from the seed, reads it, and raises nothing but what
`liegeo.errors` has.  Whatever comes back must be a right answer, which each fuzzer checks as well as it can.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from liegeo.errors import LiegeoError

ROOT = Path(__file__).parents[2]
# A case takes milliseconds; this long on any machine is a hang.
SECONDS = 60
# Address space beyond what the process has, in bytes: no case needs a tenth of it.
BYTES = 3 * 2**30

Case = Callable[[int, Path], object]


class FuzzError(AssertionError):
    """A case that does not have the property: the message says with which seed, and how to repeat it."""


class _HangError(BaseException):
    """Not an Exception, so that nobody catches it on the way."""


@contextlib.contextmanager
def bounded(seconds: float = SECONDS, more_bytes: int = BYTES) -> Iterator[None]:
    """Interrupt what takes too long, and refuse memory beyond a bound; only where the system can do that."""
    if sys.platform == "win32":
        yield
        return
    import resource

    def ring(number: int, frame: object) -> None:
        raise _HangError(f"more than {seconds:g} s")

    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else None
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        if pages is not None:
            resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more_bytes, hard))
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def hold(fuzzer: str, case: Case, seed: int, folder: Path) -> bool:
    """Run a case; True if it was read, False if it was refused, a FuzzError if it did something else."""
    try:
        with bounded(), warnings.catch_warnings():
            # what readers warn of on purpose; NumPy's warnings of overflows are mistakes
            warnings.simplefilter("ignore", UserWarning)
            warnings.simplefilter("error", RuntimeWarning)
            case(seed, folder)
    except LiegeoError as error:
        if not str(error).strip():
            raise FuzzError(f"seed {seed}: an error without a message") from error
        return False
    except (Exception, _HangError) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise FuzzError(
            f"seed {seed} of fuzzer '{fuzzer}': {type(error).__name__}: {error} ({last.filename}:{last.lineno})\n"
            f"  Reproduce it:  python tools/fuzz.py {fuzzer} --seed {seed}"
        ) from error
    return True
