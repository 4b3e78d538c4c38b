"""Fuzzers of what liegeo writes itself: checkpoints of runs, and tables of results.

A damaged checkpoint is refused, or the run that goes on from it is the same to the bit; also one whose seal was made
anew around damaged content is an error of liegeo.  A damaged table is refused, or has columns of numbers.
"""

from __future__ import annotations

import functools
import hashlib
import random
from collections.abc import Callable
from pathlib import Path

import fuzzing
import numpy as np
import pytest
from test_fuzz_readers import damaged

import liegeo as lg
from liegeo import checkpoints
from liegeo.model import Revolute
from liegeo.results import tables

IDENTITY = {"model": "a", "method": "b"}


@functools.cache
def run() -> lg.Result:
    """A pendulum, ten samples."""
    bob = lg.Body("bob", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    hinge = Revolute(name="hinge", parent="world", child="bob", axis=(0, 1, 0))
    model = lg.Tree([bob], [hinge]).compile()
    return lg.simulate(model, model.state(q={"hinge": 0.3}), 0.1, output=0.01, progress=False)


@functools.cache
def written(suffix: str) -> bytes:
    """What a whole file of this kind holds."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"run{suffix}"
        if suffix == ".checkpoint":
            content = {"t": np.arange(5.0), "y": np.ones((2, 3)), "n": np.array(7)}
            checkpoints.Checkpoint(file, IDENTITY, 0.0).write(content)
        else:
            (run().to_csv if suffix == ".csv" else run().to_npz)(file)
        return file.read_bytes()


def checkpoint(seed: int, folder: Path) -> None:
    rng = random.Random(seed)
    whole, file = written(".checkpoint"), folder / "run.checkpoint"
    # the seal is made anew, so that what is behind it is read
    mark = len(checkpoints._MARK)
    start = mark + checkpoints._SEAL
    payload = damaged(whole[start:], rng)
    sealed = whole[:mark] + hashlib.sha256(payload).digest() + payload
    file.write_bytes(sealed if rng.random() < 0.7 else damaged(whole, rng))
    found = checkpoints.Checkpoint(file, IDENTITY, 0.0).read()
    assert found is not None
    assert all(isinstance(array, np.ndarray) for array in found.values())


def table(seed: int, folder: Path) -> None:
    rng = random.Random(seed)
    suffix = rng.choice((".csv", ".npz"))
    file = folder / f"table{suffix}"
    file.write_bytes(damaged(written(suffix), rng))
    units = tables.read_units(file)
    assert all(isinstance(unit, str) for unit in units.values())
    found = tables.read_table(file)
    assert all(found[name].dtype == np.float64 for name in found.dtype.names or ())


FUZZERS: dict[str, Callable[[int, Path], None]] = {"checkpoint": checkpoint, "table": table}


@pytest.mark.parametrize("fuzzer", FUZZERS)
def test_damaged_files_of_ones_own(fuzzer, tmp_path):
    read = [fuzzing.hold(fuzzer, FUZZERS[fuzzer], seed, tmp_path) for seed in range(300)]
    assert any(read)
    assert not all(read)


def test_what_a_long_run_found_in_checkpoints(tmp_path):
    """An entry of the archive that is no array, of which NumPy gives the bytes."""
    assert not fuzzing.hold("checkpoint", checkpoint, 874647123, tmp_path)


def test_a_run_does_not_go_on_from_a_damaged_checkpoint(tmp_path):
    """Whatever byte is changed: it is refused, and stays where it is."""
    whole, file = written(".checkpoint"), tmp_path / "run.checkpoint"
    rng = random.Random(1)
    for _ in range(100):
        place = rng.randrange(len(whole))
        changed = bytearray(whole)
        changed[place] ^= 1 << rng.randrange(8)
        file.write_bytes(bytes(changed))
        with pytest.raises(lg.errors.InputError):
            checkpoints.Checkpoint(file, IDENTITY, 0.0).read()
        assert file.read_bytes() == bytes(changed)
