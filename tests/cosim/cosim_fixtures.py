"""A folder with FMUs in C, built as they are asked for, once a session.

Not in a conftest.py: with --doctest-modules pytest collects these too, and there can be one of that name.  A file of
tests says `built = cosim_fixtures.built`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import c_fmus
import numpy as np
import pytest
from numpy.typing import NDArray

from fmu_export.cosim.master import Master


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """From the name of an FMU in c_fmus.FMUS, and the version of FMI, to its file."""
    if c_fmus.COMPILER is None:
        pytest.skip("there is no C compiler: install gcc or clang")
    folder = tmp_path_factory.mktemp("c_fmus")
    return lambda name, fmi=2: c_fmus.build(name, folder, fmi)


@pytest.fixture
def folder(tmp_path: Path, built: Callable[[str], Path]) -> Callable[..., Path]:
    """A new folder with these FMUs in it, and the text of a system.yaml; gives the path of that."""

    def fill(text: str, *names: str) -> Path:
        for name in names:
            shutil.copy(built(name), tmp_path / f"{name}.fmu")
        (tmp_path / "system.yaml").write_text(text)
        return tmp_path / "system.yaml"

    return fill


def there_and_back(master: Master, short: float, t: float) -> NDArray[np.float64]:
    """All outputs after a step to t, which was also undone, taken to an earlier time, undone and taken again."""
    kept = master._keep_aside()
    master._reach(t)
    once = master.point.y.copy()
    master._return_aside(kept)
    master._reach(short)
    master._return_aside(kept)
    master._free_aside(kept)
    master._reach(t)
    np.testing.assert_array_equal(once, master.point.y)
    return once
