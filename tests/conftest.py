"""Shared by all tests: the same hypothesis examples in every run, so that a red build is red for everybody.

Because this file is here, pytest puts `tests` on the path, and tests import their oracles as `oracles.lie_mp`.
"""

from __future__ import annotations

import os
import signal

# Each worker of pytest-xdist has one core: BLAS with as many threads as cores makes small solves tens of times slower.
# Before anything imports NumPy, which reads this once.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings

# A shell starts what runs in the background with SIGINT ignored; tests of Ctrl-C would then wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Files that take minutes: begun last, they would keep one worker busy while the other has nothing left to do.
LONG = (
    *("test_fmu_models.py", "test_bench.py", "test_tutorial.py", "test_checkpoints.py", "test_problems.py"),
    *("test_fmu_processes.py", "test_fls13.py", "test_axioms.py"),
)

# No deadline: the first call of a kernel may compile it.
settings.register_profile("liegeo", derandomize=True, deadline=None, max_examples=25)
settings.load_profile("liegeo")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONG)
