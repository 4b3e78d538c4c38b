"""Fuzzers of the readers of finite elements and SID files: files with bytes, numbers, lines and sizes changed.

What is read must be finite.  That it is the same model as before is not to be expected: a changed number is another
number.
"""

from __future__ import annotations

import random
import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import fuzzing
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from liegeo import flex
from liegeo.flex import readers, sid
from liegeo.flex.readers import op2, op4

DATA = fuzzing.ROOT / "tests/flex/data"
NASTRAN, CALCULIX = DATA / "nastran", DATA / "calculix"

# Numbers and words that mean something to a format, or nothing anywhere.
WORDS = (
    *(b"0", b"-1", b"1", b"2147483647", b"-2147483648", b"99999999", b"1e308", b"-1.+308", b"1.D+400", b"nan", b"inf"),
    *(b"", b" ", b"\n", b"\n\n", b",", b",,,", b"*", b"**", b"$", b"*NODE", b"*INCLUDE, INPUT=/dev/zero", b"GRID"),
    *(b"INCLUDE 'x'", b"ENDDATA", b"BEGIN BULK", b"DMIG", b"\0", b"\xff", b"\xc3", b"end part", b"new modal", b"m0"),
    *(b"%%MatrixMarket matrix coordinate real general", b"1 1 99999999", b"=", b"order", b"7" * 30, b"|I16"),
)
SIZES = (0, 1, -1, 2**31 - 1, -(2**31), 2**16, 2**24, 3, 1000)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Bytes with a few changes: flipped, cut, doubled, replaced by words or by whole numbers of four or eight bytes."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        a = rng.randrange(len(data) + 1)
        b = min(len(data), a + rng.choice((0, 1, 4, 8, 60)))
        how = rng.randrange(7)
        if how == 0:
            data = data[:a]
        elif how == 1:
            data = data[:a] + data[b:]
        elif how == 2:
            data = data[:b] + data[a:b] + data[b:]
        elif how == 3:
            data = data[:a] + bytes([rng.randrange(256)]) + data[a + 1 :]
        elif how == 4:
            form = rng.choice("<>") + rng.choice("iq")
            a -= a % 4
            data = data[:a] + struct.pack(form, rng.choice(SIZES)) + data[a + struct.calcsize(form) :]
        else:
            # words of the first lines are heads
            tokens = list(re.finditer(rb"[\w.+*-]+", data[: rng.choice((200, 2000, 10**7))]))
            if tokens:
                token = rng.choice(tokens)
                data = data[: token.start()] + rng.choice(WORDS) + data[token.end() :]
    return data


def check(model: object) -> None:
    """What was read is finite."""
    for matrix in (model.mass, model.stiffness):
        assert np.isfinite(matrix.data).all()
    assert np.isfinite(model.positions).all()


def _changed(files: list[Path], folder: Path, rng: random.Random) -> Path:
    """Copy files to an empty folder, one of them changed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in files:
        shutil.copy(file, folder)
    chosen = folder / rng.choice(files).name
    chosen.write_bytes(damaged(chosen.read_bytes(), rng))
    return folder


def output4(seed: int, folder: Path) -> None:
    rng = random.Random(seed)
    file = rng.choice(sorted(NASTRAN.glob("*.op4")))
    there = _changed([file], folder / "op4", rng) / file.name
    for matrix in op4.read(there).values():
        assert np.isfinite(matrix.data).all()


def output2(seed: int, folder: Path) -> None:
    there = _changed([NASTRAN / "modes.op2"], folder / "op2", random.Random(seed)) / "modes.op2"
    assert np.isfinite(op2.modes(there).shapes).all()


def bulk(seed: int, folder: Path) -> None:
    rng = random.Random(seed)
    name = rng.choice(("large.bdf", "small.bdf"))
    there = _changed([NASTRAN / name, NASTRAN / "pynastran.op4"], folder / "bdf", rng)
    options = {"matrices": there / "pynastran.op4"} if rng.random() < 0.3 else {}
    check(readers.read(there / name, **options))


def calculix(seed: int, folder: Path) -> None:
    rng = random.Random(seed)
    files = [CALCULIX / f"short{suffix}" for suffix in (".inp", ".dof", ".sti", ".mas", "_mesh.inc")]
    there = _changed(files, folder / "ccx", rng)
    check(readers.read(there / "short.inp", free=rng.random() < 0.5))


def _small(folder: Path) -> Path:
    """Files of Abaqus and Matrix Market: a bar of two nodes."""
    there = folder / "whole"
    if there.is_dir():
        return there
    there.mkdir(parents=True)
    K = np.kron(np.array([[1.0, -1.0], [-1.0, 1.0]]), np.diag([5.0, 0.0, 0.0]))
    M = np.kron(np.array([[2.0, 1.0], [1.0, 2.0]]), np.eye(3))
    for name, matrix in (("K", K), ("M", M)):
        scipy.io.mmwrite(there / f"{name}.mtx", sp.coo_array(matrix), symmetry="symmetric", precision=16)
        sp.save_npz(there / f"{name}.npz", sp.csr_array(matrix))
        lines = [
            f"{i // 3 + 1},{i % 3 + 1}, {j // 3 + 1},{j % 3 + 1}, {matrix[i, j]:.15e}\n"
            for i in range(6)
            for j in range(i + 1)
            if matrix[i, j] or i == j
        ]
        (there / f"job_{'STIF' if name == 'K' else 'MASS'}1.mtx").write_text("".join(lines))
    (there / "job.inp").write_text("*HEADING\n*NODE, NSET=ALL\n1, 0., 0., 0.\n2, 1., 0., 0.\n*STEP\n*END STEP\n")
    (there / "nodes.csv").write_text("id,x,y,z\n1,0,0,0\n2,1,0,0\n")
    return there


def abaqus(seed: int, folder: Path) -> None:
    whole = _small(folder)
    files = [whole / name for name in ("job.inp", "job_STIF1.mtx", "job_MASS1.mtx")]
    check(readers.read(_changed(files, folder / "abaqus", random.Random(seed)) / "job.inp"))


def market(seed: int, folder: Path) -> None:
    rng = random.Random(seed)
    whole, suffix = _small(folder), rng.choice((".mtx", ".npz"))
    files = [whole / name for name in (f"K{suffix}", f"M{suffix}", "nodes.csv")]
    there = _changed(files, folder / "market", rng)
    check(readers.read(there / f"K{suffix}", mass=there / f"M{suffix}", nodes=there / "nodes.csv"))


def standard_input(seed: int, folder: Path) -> None:
    rng = random.Random(seed)
    file = rng.choice((DATA / "sid/two_masses.SID_FEM", fuzzing.ROOT / "models/data/rod.SID_FEM"))
    there = _changed([file], folder / "sid", rng) / file.name
    body = sid.to_flexible_body(flex.read_sid(there), "body")
    assert np.isfinite(np.asarray(body.M_e)).all()
    assert np.isfinite(np.asarray(body.K)).all()


FUZZERS: dict[str, Callable[[int, Path], None]] = {
    "output4": output4,
    "output2": output2,
    "bulk": bulk,
    "calculix": calculix,
    "abaqus": abaqus,
    "market": market,
    "standard_input": standard_input,
}


@pytest.mark.parametrize("fuzzer", FUZZERS)
def test_damaged_files(fuzzer, tmp_path):
    read = [fuzzing.hold(fuzzer, FUZZERS[fuzzer], seed, tmp_path) for seed in range(150)]
    # some changes do not matter, some do: otherwise the fuzzer shows nothing
    assert any(read)
    assert not all(read)
