"""Readers of FE data: files of the programs themselves, or written here from a known model; and broken files."""

from __future__ import annotations

import ast
import contextlib
import gzip
import io
import os
import re
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

from liegeo.errors import LiegeoError, ModelError
from liegeo.flex import FEModel, readers
from liegeo.flex.readers import _common, op2, op4

DATA = Path(__file__).parent / "data"
CCX, NAS = DATA / "calculix", DATA / "nastran"


def truth():
    """The frame of data/nastran/make.py: numbers of its points, their places, K and M with six rows for each."""
    with np.load(NAS / "truth.npz") as file:
        return file["numbers"].tolist(), file["positions"], file["K"], file["M"]


def assert_frame(model, rtol=1e-14, matrices_only=False):
    numbers, positions, K, M = truth()
    order = [model.dof(n, d) for n in numbers for d in (3, 4, 5, 0, 1, 2)]
    for found, wanted in ((model.stiffness, K), (model.mass, M)):
        assert abs(found[order][:, order] - wanted).max() <= rtol * abs(wanted).max()
    if not matrices_only:
        places = np.array([model.positions[model.node(n)] for n in numbers])
        np.testing.assert_allclose(places, positions, atol=1e-6)


def reference(path):
    """Eigenvalues ω² that CalculiX printed."""
    lines = path.read_text().split("P A R T I C I P A T I O N")[0].splitlines()
    return np.array([float(words[1]) for words in map(str.split, lines) if len(words) == 5 and words[0].isdigit()])


# --- writers, which share nothing with the readers


def write_market(folder, fmt="mtx", **changes):
    numbers, positions, K, M = truth()
    for name, matrix in (("K", K), ("M", M)):
        if fmt == "mtx":
            scipy.io.mmwrite(folder / f"{name}.mtx", sp.coo_array(matrix), symmetry="symmetric", precision=16)
        else:
            sp.save_npz(folder / f"{name}.npz", sp.csr_array(matrix))
    rows = [f"{n},{x!r},{y!r},{z!r}" for n, (x, y, z) in zip(numbers, positions.tolist(), strict=True)]
    (folder / "nodes.csv").write_text("\n".join(["id,x,y,z", *rows]) + "\n")
    return {"mass": folder / f"M.{fmt}", "nodes": folder / "nodes.csv", **changes}


def write_abaqus(folder, style="labels", triangle="lower"):
    """*MATRIX OUTPUT as the keywords manual describes it, and a deck."""
    numbers, positions, K, M = truth()
    deck = ["*HEADING", "** a frame", "*NODE, NSET=ALL"]
    deck += [f"{n}, {x!r}, {y!r}, {z!r}" for n, (x, y, z) in zip(numbers, positions.tolist(), strict=True)]
    deck += ["*STEP", "*MATRIX GENERATE, STIFFNESS, MASS", f"*MATRIX OUTPUT, STIFFNESS, MASS, FORMAT={style}"]
    (folder / "job.inp").write_text("\n".join([*deck, "*END STEP", ""]))
    for word, matrix in (("STIF", K), ("MASS", M)):
        lines = []
        for i, j in zip(*np.nonzero(matrix), strict=True):
            if (triangle == "lower" and j > i) or (triangle == "upper" and j < i):
                continue
            if style == "labels":
                a, b, c, d = numbers[i // 6], i % 6 + 1, numbers[j // 6], j % 6 + 1
                lines.append(f"{a},{b}, {c},{d}, {matrix[i, j]:22.15e}")
            else:
                lines.append(f"{i + 1} {j + 1} {matrix[i, j]:22.15e}")
        (folder / f"job_{word}1.mtx").write_text("\n".join(lines) + "\n")
    return folder / "job.inp"


def number8(x):
    """A real in eight columns with as many digits as fit, as a person writes it: 7.0342+7."""
    for digits in range(6, -1, -1):
        mantissa, exponent = f"{x:#.{digits}e}".split("e")
        word = f"{mantissa}{int(exponent):+d}"
        if len(word) <= 8:
            return word
    raise AssertionError(x)


def write_bulk(folder, style="free", form=6):
    """GRID and DMIG in small or free fields, several entries to a column, with continuations."""
    numbers, positions, K, M = truth()
    lines = ["$ a frame", "SOL 103", "CEND", "BEGIN BULK"]
    for n, place in zip(numbers, positions.tolist(), strict=True):
        if style == "free":
            lines.append(f"GRID,{n},,{','.join(map(str, place))}")
        else:
            lines.append(f"GRID    {n:8d}        " + "".join(f"{x:8.3f}" for x in place))
    for name, matrix in (("KAAX", K), ("MAAX", M)):
        header = ["DMIG", name, "0", str(form), "2", "0", "", "", "24"]
        lines.append(",".join(header) if style == "free" else "".join(f"{w:8s}" for w in header))
        for j in range(24):
            rows = [i for i in range(24) if matrix[i, j] and (i >= j or form == 1)]
            if not rows:
                continue
            words = ["DMIG", name, str(numbers[j // 6]), str(j % 6 + 1), ""]
            for i in rows:
                value = f"{matrix[i, j]:.15E}" if style == "free" else number8(matrix[i, j])
                words += [str(numbers[i // 6]), str(i % 6 + 1), value, ""]
            while words:
                line, words = words[:9], ["", *words[9:]] if words[9:] else []
                lines.append(",".join(line) if style == "free" else "".join(f"{w:8s}" for w in line).rstrip())
    (folder / "frame.bdf").write_text("\n".join([*lines, "ENDDATA", ""]))
    return folder / "frame.bdf"


def write_single(folder, order=">", words=4):
    """Binary OUTPUT4 in single precision, dense; 64-bit words if asked."""
    integer, real = {4: ("i", "f"), 8: ("q", "d")}[words]

    def record(data):
        return struct.pack(f"{order}i", len(data)) + data + struct.pack(f"{order}i", len(data))

    out = b""
    for name, matrix in (("KGG", truth()[2]), ("MGG", truth()[3])):
        label = name.ljust(8).encode() if words == 4 else (name.ljust(8) + " " * 8).encode()
        out += record(struct.pack(f"{order}4{integer}", 24, 24, 6, 1) + label)
        for j in range(24):
            out += record(struct.pack(f"{order}3{integer}24{real}", j + 1, 1, 24, *matrix[:, j]))
        out += record(struct.pack(f"{order}3{integer}1{real}", 25, 1, 1, 1.0))
    (folder / "single.op4").write_bytes(out)
    return folder / "single.op4"


def output2(tables, order="<", words=4, label=True):
    """OUTPUT2 of tables (name, parts); a part is a list of numbers, whole or real."""
    whole, real = {4: ("i", "f"), 8: ("q", "d")}[words]

    def record(data):
        return struct.pack(f"{order}i", len(data)) + data + struct.pack(f"{order}i", len(data))

    def keys(*numbers):
        return b"".join(record(struct.pack(f"{order}{whole}", n)) for n in numbers)

    def pack(numbers):
        return b"".join(struct.pack(f"{order}{real if isinstance(x, float) else whole}", x) for x in numbers)

    out = b""
    if label:
        for n in (3, 7, 2):
            out += keys(n) + record(b" " * n * words)
        out += keys(-1, 0)
    for name, parts in tables:
        out += keys(2) + record(name.ljust(2 * words).encode()) + keys(-1, 7) + record(bytes(7 * words))
        for k, part in enumerate(parts):
            out += keys(-2 - k, 1, 0, len(part)) + record(pack(part))
        out += keys(-2 - len(parts), 1, 0, 0)
    return out + keys(0)


def mode_head(case=1, number=1, value=4.0, **changes):
    head = {0: 22, 1: 7, 3: case, 4: number, 5: value, 8: 1, 9: 8, **{int(k[1:]): v for k, v in changes.items()}}
    return [head.get(k, 0) for k in range(146)]


MODE = [52, 1, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 112, 1, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0]


# --- what the files say


@pytest.mark.parametrize("beam", ["beam", "short"])
def test_calculix_matrices_have_the_frequencies_that_calculix_finds(beam):
    """ccx prints seven digits of ω²; the deck, the order of rows and the triangle are all in it."""
    model = readers.read(CCX / f"{beam}.inp")
    found = np.sort(eigsh(model.stiffness, 12, model.mass, sigma=-1e4, return_eigenvectors=False))
    wanted = reference(CCX / f"{beam}_free.dat")
    np.testing.assert_allclose(found[6:], wanted[6:], rtol=1e-6)
    assert abs(found[:6]).max() < 1e-8 * found[6]
    assert model.total_mass == pytest.approx(2700.0 * 0.1 * 0.08, rel=1e-9)


def test_calculix_beam_held_here_has_the_frequencies_of_the_beam_held_there():
    model = readers.read(CCX / "beam.inp")
    free = np.flatnonzero(model.positions[model.dofs[:, 0], 0] > 1e-9)
    K, M = (m[free][:, free] for m in (model.stiffness, model.mass))
    found = np.sort(eigsh(K, 12, M, sigma=0.0, return_eigenvectors=False))
    np.testing.assert_allclose(found, reference(CCX / "beam_held.dat"), rtol=1e-6)


def test_calculix_inertia_is_that_of_the_block():
    model = readers.read(CCX / "beam.inp")
    m, L, b, h = model.total_mass, 1.0, 0.1, 0.08
    wanted = np.diag([m * (b**2 + h**2) / 12, m * (L**2 / 3 + h**2 / 12), m * (L**2 / 3 + b**2 / 12), m, m, m])
    wanted[2, 4] = wanted[4, 2] = m * L / 2
    wanted[1, 5] = wanted[5, 1] = -m * L / 2
    np.testing.assert_allclose(model.inertia, wanted, atol=1e-9 * m)


@pytest.mark.parametrize("file", ["short.sti", "short.mas", "short.dof", "short.inp"])
def test_any_file_of_a_calculix_job_names_the_job(file):
    assert readers.read(CCX / file).name == "short"


def test_a_model_that_is_held_is_taken_if_asked():
    model = readers.read(CCX / "held.inp", free=False)
    assert model.n == 60 - 12


def test_suffixes_and_line_ends_of_another_system(tmp_path):
    """Capitals, carriage returns, and brackets in names."""
    for suffix in (".inp", ".dof", ".sti", ".mas", "_mesh.inc"):
        data = (CCX / f"short{suffix}").read_bytes().replace(b"\n", b"\r\n")
        name = "[1].INP" if suffix == ".inp" else "short_mesh.inc" if "inc" in suffix else f"[1]{suffix}"
        (tmp_path / name).write_bytes(data)
    model, same = readers.read(tmp_path / "[1].INP"), readers.read(CCX / "short.inp")
    assert abs(model.stiffness - same.stiffness).nnz == 0
    for file in write_abaqus(tmp_path).parent.glob("job*"):
        file.rename(tmp_path / file.name.replace("job", "[2]"))
    assert_frame(readers.read(tmp_path / "[2].inp"))


@pytest.mark.parametrize("fmt", ["mtx", "npz"])
def test_matrix_market(tmp_path, fmt):
    options = write_market(tmp_path, fmt)
    assert_frame(readers.read(tmp_path / f"K.{fmt}", **options))


def test_matrix_market_with_rows_in_another_order(tmp_path):
    numbers, positions, K, M = truth()
    shuffled = np.random.default_rng(0).permutation(24)
    for name, matrix in (("K", K), ("M", M)):
        sp.save_npz(tmp_path / f"{name}.npz", sp.coo_array(matrix[np.ix_(shuffled, shuffled)]))
    dofs = [(numbers[k // 6], k % 6 + 1) for k in shuffled]
    np.savez(tmp_path / "nodes.npz", id=numbers, position=positions, dofs=dofs)
    assert_frame(readers.read(tmp_path / "K.npz", mass=tmp_path / "M.npz", nodes=tmp_path / "nodes.npz"))
    options = write_market(tmp_path, "npz")
    (tmp_path / "dofs.csv").write_text("node,direction\n" + "".join(f"{n},{d}\n" for n, d in dofs))
    for name, matrix in (("K", K), ("M", M)):
        sp.save_npz(tmp_path / f"{name}.npz", sp.coo_array(matrix[np.ix_(shuffled, shuffled)]))
    assert_frame(readers.read(tmp_path / "K.npz", **options, dofs=tmp_path / "dofs.csv"))


def test_a_packed_matrix_market_file(tmp_path):
    options = write_market(tmp_path)
    (tmp_path / "K.mtx.gz").write_bytes(gzip.compress((tmp_path / "K.mtx").read_bytes()))
    model = readers.read(tmp_path / "K.mtx.gz", **options)
    assert model.name == "K"
    assert_frame(model)


@pytest.mark.parametrize("style", ["labels", "COORDINATE"])
@pytest.mark.parametrize("triangle", ["lower", "upper", "both"])
def test_abaqus(tmp_path, style, triangle):
    deck = write_abaqus(tmp_path, style, triangle)
    assert_frame(readers.read(deck), rtol=1e-14)
    assert_frame(readers.read(tmp_path / "job_STIF1.mtx"), rtol=1e-14)


def test_abaqus_with_old_exponents_comments_and_one_instance(tmp_path):
    deck = write_abaqus(tmp_path)
    for word in ("STIF", "MASS"):
        file = tmp_path / f"job_{word}1.mtx"
        file.write_text("** by Abaqus\n" + file.read_text().replace("e+", "D+").replace("e-", "D-"))
    deck.write_text(deck.read_text().replace("*STEP", "*INSTANCE, NAME=A,\n PART=B\n*END INSTANCE\n*STEP"))
    assert_frame(readers.read(deck, stiffness=tmp_path / "job_STIF1.mtx", mass=tmp_path / "job_MASS1.mtx"))


@pytest.mark.parametrize("file", ["small", "large"])
def test_bulk_data_of_pynastran(file):
    assert_frame(readers.read(NAS / f"{file}.bdf"), rtol=1e-9)


@pytest.mark.parametrize("form", [1, 6])
@pytest.mark.parametrize(("style", "rtol"), [("free", 1e-14), ("small", 1e-4)])
def test_bulk_data_in_small_and_free_fields(tmp_path, style, rtol, form):
    """Eight columns hold a few digits, with which the frame is no longer quite free."""
    assert_frame(readers.read(write_bulk(tmp_path, style, form), free=style == "free"), rtol=rtol)


def test_bulk_data_in_two_files(tmp_path):
    file = write_bulk(tmp_path)
    lines = file.read_text().splitlines(keepends=True)
    punched = [line for line in lines if line.startswith(("DMIG", ","))]
    rest = [line for line in lines if not line.startswith(("DMIG", ","))]
    file.write_text("".join(rest))
    (tmp_path / "frame.pch").write_text("".join(punched))
    assert_frame(readers.read(file, matrices=tmp_path / "frame.pch"))
    file.write_text("".join([*rest[:-1], "INCLUDE 'frame.pch'\n", "ENDDATA\n"]))
    assert_frame(readers.read(file))


@pytest.mark.parametrize("file", sorted(NAS.glob("*.op4")), ids=lambda p: p.stem)
def test_output4(file):
    """Text and binary, dense and two kinds of sparse, both byte orders, of two packages."""
    assert_frame(readers.read(NAS / "large.bdf", matrices=file))


@pytest.mark.parametrize("words", [4, 8])
@pytest.mark.parametrize("order", ["<", ">"])
def test_output4_in_single_precision_and_with_long_words(tmp_path, order, words):
    file = write_single(tmp_path, order, words)
    assert_frame(readers.read(NAS / "large.bdf", matrices=file), rtol=1e-7 if words == 4 else 1e-14)


def test_output4_of_solids_leaves_rotations_out(tmp_path):
    """KGG has six rows for every grid point, also where nothing turns."""
    K = np.zeros((24, 24))
    M = np.diag(np.tile([1.0, 1.0, 1.0, 0.0, 0.0, 0.0], 4))
    file = write_single(tmp_path, "<", 8)
    data = file.read_bytes()
    for matrix, old in ((K, truth()[2]), (M, truth()[3])):
        for j in range(24):
            data = data.replace(struct.pack("<24d", *old[:, j]), struct.pack("<24d", *matrix[:, j]), 1)
    file.write_bytes(data)
    model = readers.read(NAS / "large.bdf", matrices=file)
    assert model.n == 12
    assert set(model.dofs[:, 1]) == {3, 4, 5}
    assert model.total_mass == 4.0


def test_output4_with_a_table_of_rows(tmp_path):
    rows = [(n, d) for n in truth()[0] for d in range(1, 7)]
    (tmp_path / "rows.csv").write_text("".join(f"{n},{d}\n" for n, d in rows))
    model = readers.read(NAS / "large.bdf", matrices=NAS / "pynastran.op4", dofs=tmp_path / "rows.csv")
    assert_frame(model)


def _with_other_matrices(folder, binary):
    """A file with KGG and MGG, and what else there is in files of other people: it is not read, and in nobody's way."""
    others = [(2, 4, "CMAT"), (4, 2, "LL"), (3, 2, "DIAG"), (2, 2, "TWICE"), (2, 2, "TWICE"), (2, 2, "1MAT")]
    source = NAS / ("pyyeti_dense_little.op4" if binary else "pynastran.op4")
    whole = source.read_bytes()
    before, after = b"", b""
    for k, (form, kind, name) in enumerate(others):
        numbers = np.arange(1.0, 1.0 + 2 * (2 if kind == 4 else 1))
        if binary:
            records = [
                struct.pack("<4i8s", 1, 2, form, kind, name.encode().ljust(8)),
                struct.pack(f"<3i{len(numbers)}d", 1, 1, 2 * len(numbers), *numbers),
                struct.pack("<3id", 2, 1, 2, 1.0),
            ]
            made = b"".join(struct.pack("<i", len(r)) + r + struct.pack("<i", len(r)) for r in records)
        else:
            values = "".join(f"{x:23.16E}" for x in numbers)
            values = "\n".join(values[i : i + 69] for i in range(0, len(values), 69))
            padded = name.ljust(8) if name != "1MAT" else "1MAT\0\0\0\0"
            head = f"{1:8d}{2:8d}{form:8d}{kind:8d}{padded}1P,3E23.16"
            column = f"{1:8d}{1:8d}{2 * len(numbers):8d}"
            made = f"{head}\n{column}\n{values}\n{2:8d}{1:8d}{2:8d}\n{1.0:23.16E}\n".encode()
        before, after = (before + made, after) if k % 2 else (before, after + made)
    file = folder / "others.op4"
    file.write_bytes(before + whole + after)
    return file


@pytest.mark.parametrize("binary", [False, True])
def test_matrices_that_nobody_asks_for_do_not_matter(tmp_path, binary):
    file = _with_other_matrices(tmp_path, binary)
    assert_frame(readers.read(NAS / "large.bdf", matrices=file))
    there = op4.read(file)
    assert set(there) == {"KGG", "MGG", "CMAT", "LL", "DIAG", "TWICE", "1MAT"}
    np.testing.assert_array_equal(there["1MAT"].toarray(), [[1.0], [2.0]])
    for name, message in (
        ("CMAT", "matrix 'CMAT' has type 4, expected 1 or 2"),
        ("LL", "matrix 'LL' has form 4, expected 1"),
        ("DIAG", "matrix 'DIAG' has form 3, expected 1"),
        ("TWICE", "a second matrix TWICE, expected each name once"),
    ):
        with pytest.raises(ModelError, match=re.escape(message)):
            there[name]
        with pytest.raises(ModelError, match=re.escape(message)):
            readers.read(NAS / "large.bdf", matrices=file, stiffness=name)


def test_a_text_file_without_formats(tmp_path):
    """Then it is 5E16.9, as the format's description says."""
    values = "".join(f"{x:16.9E}" for x in (1.0, 2.0, 3.0))
    text = f"{1:8d}{3:8d}{2:8d}{1:8d}R1\n{1:8d}{1:8d}{3:8d}\n{values}\n{2:8d}{1:8d}{1:8d}\n{1.0:16.9E}\n"
    (tmp_path / "x.op4").write_text(text)
    np.testing.assert_array_equal(op4.read(tmp_path / "x.op4")["R1"].toarray(), [[1.0], [2.0], [3.0]])


def test_output4_with_heads_of_eight_digits():
    """Their numbers touch each other."""
    matrix = op4._Matrix("file", "K", 99999999, 99999999, True, 2)
    assert op4._heads("file", ["       11234567812345678"], 0, 3, matrix) == (1, 12345678, 12345678)


def test_modes_of_output2():
    """Single precision; they diagonalise what they were made of."""
    numbers, _, K, M = truth()
    found = op2.modes(NAS / "modes.op2")
    assert found.points == tuple(numbers)
    np.testing.assert_allclose(found.eigenvalues, scipy.linalg.eigh(K, M, eigvals_only=True)[6:16], rtol=1e-6)
    phi = found.shapes[:, :, [3, 4, 5, 0, 1, 2]].reshape(10, 24).T
    np.testing.assert_allclose(phi.T @ M @ phi, np.eye(10), atol=1e-5)
    np.testing.assert_allclose(phi.T @ K @ phi, np.diag(found.eigenvalues), atol=1e-5 * found.eigenvalues.max())


@pytest.mark.parametrize("label", [True, False])
@pytest.mark.parametrize("words", [4, 8])
@pytest.mark.parametrize("order", ["<", ">"])
def test_output2_in_both_orders_and_word_lengths(tmp_path, order, words, label):
    tables = [("GEOM1", [[1, 2, 3]]), ("BOUGV1", [[0], mode_head(), MODE, mode_head(2, value=9.0), MODE])]
    (tmp_path / "x.op2").write_bytes(output2(tables, order, words, label))
    found = op2.modes(tmp_path / "x.op2", subcase=2)
    assert found.points == (5, 11)
    assert found.eigenvalues == [9.0]
    np.testing.assert_array_equal(found.shapes[0], [[4.0, 5.0, 6.0, 1.0, 2.0, 3.0], [0.0, 0.0, 0.0, 0.5, 0.0, 0.0]])


def test_output2_with_what_nobody_asks_for(tmp_path):
    """Matrices, whose records are longer than their keys say, and displacements beside the modes."""
    static = [*mode_head()]
    static[0], static[1] = 11, 1
    tables = [("ZUZR01", [[0]]), ("OUGV1", [[0], static, MODE, mode_head(value=9.0), MODE])]
    plain = output2(tables)
    # a column of the matrix: a row and a double
    part = struct.pack("<i", 12) + struct.pack("<id", 7, 1.5) + struct.pack("<i", 12)
    first = key(-2) + key(1) + key(0) + key(1) + struct.pack("<3i", 4, 0, 4)
    assert plain.count(first) == 2
    changed = plain.replace(first, first + key(2) + part, 1)
    (tmp_path / "x.op2").write_bytes(changed)
    assert op2.modes(tmp_path / "x.op2").eigenvalues == [9.0]


def test_readers_are_listed():
    names = [reader.name for reader in readers.ALL_READERS]
    assert names == ["matrix_market", "calculix", "abaqus", "nastran"]
    for reader in readers.ALL_READERS:
        assert reader.description
        assert all(suffix.startswith(".") for suffix in reader.suffixes)


@pytest.mark.parametrize(
    ("word", "value"),
    [("1.5", 1.5), ("-1.5D+3", -1500.0), ("1.5-3", 1.5e-3), ("-.25+2", -25.0), ("+7.", 7.0), ("1e5", 1e5)],
)
def test_numbers_of_fortran_and_nastran(word, value):
    assert _common.real("here", word) == value


def test_rounding_across_a_rod_does_not_hold_it():
    """K of a rod along x, with what a rotation of axes could leave across it; but a weak spring does hold it."""
    dofs = [(i, d) for i in range(2) for d in (3, 4, 5)]
    K = np.zeros((6, 6))
    K[np.ix_([0, 3], [0, 3])] = 1e9 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    for spring, held in ((1e-5, False), (1e3, True)):
        K[1, 1] = spring
        model = FEModel([[0, 0, 0], [1, 0, 0]], dofs, np.eye(6), K)
        with pytest.raises(ModelError, match="is not free") if held else contextlib.nullcontext():
            _common.check_free(model)


# --- what is refused


def job(tmp_path, name="short"):
    for file in CCX.glob(f"{name}*"):
        shutil.copy(file, tmp_path)
    return tmp_path / f"{name}.inp"


def edit(path, *pairs):
    """Replace text in a file, once each."""
    found = path.read_text()
    for old, new in pairs:
        assert old in found, old
        found = found.replace(old, new, 1)
    path.write_text(found)
    return path


def calculix(suffix, *pairs, **options):
    def call(tmp_path):
        deck = job(tmp_path)
        edit(tmp_path / f"short{suffix}", *pairs)
        readers.read(deck, **options)

    return call


def abaqus(file, *pairs, style="labels", **options):
    def call(tmp_path):
        deck = write_abaqus(tmp_path, style)
        edit(tmp_path / file, *pairs)
        readers.read(deck, **options)

    return call


def market(file, *pairs, fmt="mtx", **options):
    def call(tmp_path):
        given = write_market(tmp_path, fmt)
        if pairs:
            edit(tmp_path / file, *pairs)
        for name, text in options.items():
            given[name] = tmp_path / f"{name}.csv"
            given[name].write_text(text)
        readers.read(tmp_path / f"K.{fmt}", **given)

    return call


def npz(**arrays):
    def call(tmp_path):
        given = write_market(tmp_path)
        np.savez(tmp_path / "nodes.npz", **arrays)
        readers.read(tmp_path / "K.mtx", **{**given, "nodes": tmp_path / "nodes.npz"})

    return call


def saved(make):
    """A stiffness of another kind."""

    def call(tmp_path):
        given = write_market(tmp_path)
        sp.save_npz(tmp_path / "K.npz", make())
        readers.read(tmp_path / "K.npz", **given)

    return call


def broken_indices():
    matrix = sp.csr_array(np.eye(24))
    matrix.indices[3] = 1000
    return matrix


def nastran(*pairs, form=6, **options):
    def call(tmp_path):
        readers.read(edit(write_bulk(tmp_path, form=form), *pairs), **options)

    return call


def output4(*pairs, source="pynastran", cut=False, **options):
    def call(tmp_path):
        shutil.copy(NAS / f"{source}.op4", tmp_path / "x.op4")
        if pairs:
            edit(tmp_path / "x.op4", *pairs)
        if cut:
            lines = (tmp_path / "x.op4").read_text().splitlines(keepends=True)
            (tmp_path / "x.op4").write_text("".join(lines[:-30]))
        readers.read(NAS / "large.bdf", matrices=tmp_path / "x.op4", **options)

    return call


def output4_bytes(change, source="pyyeti_bigmat_little"):
    def call(tmp_path):
        (tmp_path / "x.op4").write_bytes(change((NAS / f"{source}.op4").read_bytes()))
        readers.read(NAS / "large.bdf", matrices=tmp_path / "x.op4")

    return call


def output4_records(*records):
    """A binary file of these records."""

    def call(tmp_path):
        out = b"".join(struct.pack("<i", len(r)) + r + struct.pack("<i", len(r)) for r in records)
        (tmp_path / "x.op4").write_bytes(out)
        dict(op4.read(tmp_path / "x.op4"))

    return call


def output4_text(text):
    def call(tmp_path):
        (tmp_path / "x.op4").write_text(text)
        dict(op4.read(tmp_path / "x.op4"))

    return call


def one(name, text, **options):
    """A file of this text alone."""

    def call(tmp_path):
        (tmp_path / name).write_text(text)
        readers.read(tmp_path / name, **{k: tmp_path / v for k, v in options.items()})

    return call


def rows_csv(text):
    def call(tmp_path):
        (tmp_path / "rows.csv").write_text(text)
        readers.read(NAS / "large.bdf", matrices=NAS / "pynastran.op4", dofs=tmp_path / "rows.csv")

    return call


def modes(*parts, name="OUGV1", change=lambda b: b, **options):
    def call(tmp_path):
        (tmp_path / "x.op2").write_bytes(change(output2([(name, [[0], *parts])] if parts else [])))
        op2.modes(tmp_path / "x.op2", **options)

    return call


def key(n):
    return struct.pack("<3i", 4, n, 4)


HEAD = struct.pack("<4i8s", 3, 3, 6, 1, b"K       ")
SPARSE = struct.pack("<4i8s", 3, -3, 6, 2, b"K       ")
TEXT_HEAD = "       3       3       6       2K       1P,3E23.16\n"
ONE = f"{1.0:23.16E}"


def outside(folder):
    job(folder)
    with readers.within(folder / "models"):
        readers.read(folder / "short.inp")


REFUSED = {
    # choosing a reader
    "outside of the folder": (outside, "is not in the folder of the model, from which alone files are read."),
    "suffix": (one("x.cdb", ""), "the suffix '.cdb' belongs to no reader", ".sti, .mas, .dof: CalculiX"),
    "no file": (lambda p: readers.read(p / "x.inp"), "x.inp: is not a file."),
    "lonely": (one("x.dof", "1.1\n"), "is a .dof file, but not of calculix: what belongs to it is missing."),
    "option": (
        one("x.bdf", "", mas="y"),
        "is read by nastran: got an unexpected keyword argument 'mas'.",
        "matrices, stiffness, mass, dofs",
    ),
    "missing option": (one("K.npz", ""), "is read by matrix_market: missing a required", "mass, nodes, dofs"),
    # text
    "unreadable": (lambda p: (job(p), (p / "short.dof").unlink(), readers.read(p / "short.inp")), "cannot be read: No"),
    "a pipe": (
        lambda p: (job(p), (p / "short.dof").unlink(), os.mkfifo(p / "short.dof"), readers.read(p / "short.inp")),
        "short.dof: is not a file.",
    ),
    "not text": (
        lambda p: (job(p), (p / "short.dof").write_bytes(b"10.1\n\xff"), readers.read(p / "short.inp")),
        "short.dof: byte 5 is not text",
    ),
    "zero byte": (calculix(".dof", ("10.1", "10\0.1")), "byte 2 is zero, expected a text file."),
    "gzip": (
        lambda p: (
            shutil.copytree(CCX, p, dirs_exist_ok=True),
            (p / "beam.sti.gz").write_bytes((p / "beam.sti.gz").read_bytes()[:5000]),
            readers.read(p / "beam.inp"),
        ),
        "beam.sti.gz: is not a whole gzip file",
    ),
    "cut": (calculix(".sti", ("1 1  1", "1 1  1"), ("\n60 60", "60 60")), "holds 5 numbers, expected 3"),
    "no end": (
        lambda p: (
            job(p),
            (p / "short.mas").write_text((p / "short.mas").read_text()[:-4]),
            readers.read(p / "short.inp"),
        ),
        "short.mas, line 966: has no end of line, as in a file that was cut short.",
    ),
    "not a number": (calculix(".sti", ("1 1  1", "1 1  x1")), "short.sti, line 1: 'x1", "is not a finite number"),
    "infinite": (calculix(".sti", ("1 1  1", "1 1  inf 1"), ("inf 1", "inf#")), "is not a finite number"),
    "not whole": (calculix(".sti", ("1 1  ", "1 1.5  ")), "short.sti, line 1: '1.5' is not a whole number."),
    "empty": (
        lambda p: (job(p), (p / "short.sti").write_text("\n"), readers.read(p / "short.inp")),
        "short.sti: is empty, expected lines of row, column, value.",
    ),
    "twice": (calculix(".sti", ("1 2  ", "1 1  ")), "the stiffness holds entry 2 a second time, expected each once."),
    "half a matrix": (
        calculix(".sti", ("1 1  ", "2 1 1.0\n1 1  ")),
        "the stiffness is neither a triangle nor whole: entry 5 has no partner",
    ),
    # models
    "held": (
        lambda p: readers.read(CCX / "held.inp"),
        "FE model 'held': is not free: a rigid displacement along x loads node '",
        "give free=False",
    ),
    "mass": (
        calculix(".mas", ("1 1  ", "1 1  9")),
        "FE model 'short': its mass is",
        "along y, 21.6 along z, expected the same.",
    ),
    # decks
    "transform": (calculix(".inp", ("*MATERIAL", "*TRANSFORM, NSET=N\n*MATERIAL")), "*TRANSFORM turns the directions"),
    # both would be read without an error if boundary conditions are allowed
    "rigid body": (
        calculix(".inp", ("*MATERIAL", "*RIGID BODY, NSET=END, REF NODE=10, ROT NODE=19\n*MATERIAL"), free=False),
        "line 2: *RIGID BODY gives the displacements of its rotation node the meaning of rotations",
        "tie the nodes in liegeo (rigid_link).",
    ),
    "mean rotation": (
        calculix(".inp", ("*MATERIAL", "*MPC\nMEANROT,10,10,10,19\n*MATERIAL"), free=False),
        "line 3: *MPC MEANROT makes a displacement of its last node an angle",
    ),
    "system": (calculix("_mesh.inc", ("NSET=NALL", "SYSTEM=C")), "nodes in SYSTEM=C, expected R (Cartesian)."),
    "node input": (calculix("_mesh.inc", ("NSET=NALL", "INPUT=x")), "*NODE with INPUT is not read"),
    "instances": (
        abaqus("job.inp", ("*STEP", "*INSTANCE, NAME=A\n*INSTANCE, NAME=B\n*STEP")),
        "line 9: a second *INSTANCE",
    ),
    "moved instance": (
        abaqus("job.inp", ("*STEP", "*INSTANCE, NAME=A\n1., 0., 0.\n*STEP")),
        "line 8 is moved, which is not read. Write a flat deck.",
    ),
    "short node": (calculix("_mesh.inc", ("10, 0, ", "10, ")), "a node of 3 numbers, expected number, x, y, z."),
    "node twice": (calculix("_mesh.inc", ("13, ", "10, ")), "node 10 is given a second time, at another place."),
    "no nodes": (calculix("_mesh.inc", ("*NODE", "*NADA")), "short.inp: holds no *NODE block"),
    "ring of files": (calculix("_mesh.inc", ("*NODE", "*INCLUDE, INPUT=short_mesh.inc\n*NODE")), "9 files deep"),
    "include nothing": (calculix(".inp", ("INPUT=short_mesh.inc", "INPUT=")), "*INCLUDE without a file"),
    "cut deck": (
        lambda p: (job(p), (p / "short_mesh.inc").write_text("*NODE\n1, 2, 3, 4."), readers.read(p / "short.inp")),
        "short_mesh.inc, line 2: has no end of line",
    ),
    # CalculiX
    "dof": (calculix(".dof", ("10.1", "10")), "short.dof, line 1: '10' is not node.direction"),
    "dof of a shell": (calculix(".dof", ("10.1", "999.1")), "node 999 is not in the deck. CalculiX adds nodes"),
    "no dofs": (
        lambda p: (job(p), (p / "short.dof").write_text(""), readers.read(p / "short.inp")),
        "short.dof, line 1: has no end of line",
    ),
    "empty dofs": (
        lambda p: (
            job(p),
            (p / "x.dof.gz").write_bytes(gzip.compress(b"\n")),
            readers.read(p / "short.inp", dofs=p / "x.dof.gz"),
        ),
        "x.dof.gz, line 1: '' is not node.direction",
    ),
    "dof twice": (calculix(".dof", ("10.2", "10.1")), "short.dof: a degree of freedom is listed twice."),
    "row": (calculix(".sti", ("1 2  ", "1 61  ")), "short.sti, line 2: entry (1, 61), but", "lists 60 rows."),
    "diagonal": (calculix(".sti", ("2 2  ", "2 4  ")), "has no diagonal entry 2 (node 10, direction 2)"),
    # Abaqus
    "no matrices": (one("x.inp", "*NODE\n1,0,0,0\n"), "found none for x_STIF*.mtx, expected one. Give stiffness=file."),
    "two formats": (
        lambda p: (
            write_abaqus(p, "COORDINATE"),
            shutil.move(p / "job_MASS1.mtx", p / "m.mtx"),
            readers.read(write_abaqus(p), mass=p / "m.mtx"),
        ),
        "m.mtx: lines of 3 numbers, but",
        "expected one format for both.",
    ),
    "keyword": (abaqus("job_STIF1.mtx", ("5,1,", "*MATRIX,TYPE=MASS\n5,1,")), "line 1: a keyword, as in matrices of"),
    "internal": (abaqus("job_STIF1.mtx", ("5,1,", "-1,1,")), "holds the internal node -1"),
    "unknown node": (abaqus("job_STIF1.mtx", ("5,1,", "6,1,")), "node 6 is not in the deck"),
    "temperature": (abaqus("job_STIF1.mtx", ("5,1,", "5,11,")), "direction 11, expected 1 to 6"),
    "boundary": (abaqus("job_STIF1.mtx", ("7.034246327907926e+07", "1.e+36")), "'job': is not free"),
    "rows": (
        abaqus("job.inp", ("*STEP", "1000, 0., 0., 0.\n*STEP"), style="COORDINATE"),
        "has 24 rows for the 5 nodes of the deck, expected 3 or 6",
        "Write FORMAT=MATRIX INPUT.",
    ),
    "outside": (
        abaqus("job_MASS1.mtx", ("1 1 ", "25 1 "), style="COORDINATE"),
        "entry 1 is outside rows and columns 1",
    ),
    # Matrix Market
    "few rows": (market("nodes.csv", ("11,", "12,0,0,0\n11,")), "has 24 rows for the 5 nodes of", "Give dofs="),
    "unknown row": (market("", dofs="5,1\n6,1\n"), "row 2 of the matrices is of node '6', which"),
    "shape": (market("", dofs="5,1\n5,2\n"), "K.mtx: has shape (24, 24), expected (2, 2)."),
    "pickle": (
        lambda p: (
            np.save(p / "K.npz", np.array([print], dtype=object), allow_pickle=True),
            shutil.move(p / "K.npz.npy", p / "K.npz"),
            readers.read(p / "K.npz", **write_market(p)),
        ),
        "K.npz: is not a sparse matrix that scipy.sparse.save_npz wrote",
    ),
    "indices": (saved(broken_indices), "is not a sparse matrix that scipy.sparse.save_npz wrote"),
    "rectangular": (saved(lambda: sp.csr_array((24, 23))), "has shape (24, 23), expected a square matrix."),
    "complex": (saved(lambda: sp.csr_array(1j * np.eye(24))), "numbers of type complex128, expected real ones."),
    "not market": (market("M.mtx", ("%%MatrixMarket", "MatrixMarket")), "M.mtx, line 1: does not start with %%Matrix"),
    "bad market": (market("K.mtx", ("24 24 ", "24 24 9")), "K.mtx: is not a Matrix Market file:"),
    "node twice in a table": (
        market("nodes.csv", ("11,", "5,")),
        "nodes.csv, line 3: node '5' is given a second time.",
    ),
    "nodes of objects": (npz(id=np.array([print]), position=np.zeros((1, 3))), "is not an .npz file of plain arrays"),
    "nodes without id": (npz(position=np.zeros((1, 3))), "has no array 'id', expected id (N) and position (N × 3)."),
    "nodes of two": (npz(id=[1, 2], position=np.zeros((2, 2))), "position has shape (2, 2), expected (2, 3)"),
    "nodes twice": (npz(id=[1, 1], position=np.zeros((2, 3))), "a node is given twice, expected each id once."),
    "dofs of three": (
        npz(id=[1], position=np.zeros((1, 3)), dofs=np.ones((2, 3))),
        "dofs has shape (2, 3), expected (n",
    ),
    "direction": (market("", dofs="5,1\n5,7\n"), "dofs.csv, line 2: direction 7, expected 1–3"),
    "csv": (market("", dofs='5,1\n"5,2\n'), "dofs.csv: is not a CSV file"),
    "columns": (market("nodes.csv", ("id,x,y,z", "x,y,z")), "line 1: ['x', 'y', 'z'], expected id, x, y, z."),
    "no rows": (market("", dofs="node,direction\n"), "dofs.csv: is empty, expected lines of node, direction."),
    # bulk data
    "dofs of dmig": (nastran(("SOL", "SOL"), dofs="x"), "DMIG says what each row is, expected no dofs."),
    "ring of bulk files": (nastran(("GRID", "INCLUDE 'frame.bdf'\nGRID")), "9 files deep"),
    "cut bulk": (
        lambda p: (
            (p / "a.bdf").write_text("GRID,1,,0.,0.,0.\nGRID,2,,1.,0."),
            readers.read(p / "a.bdf"),
        ),
        "a.bdf, line 2: has no end of line",
    ),
    "include": (nastran(("GRID", "INCLUDE 'a\nGRID")), "is not INCLUDE 'file' on one line."),
    "enddata": (nastran(("ENDDATA\n", "")), "frame.bdf: ends without ENDDATA"),
    "continuation": (nastran(("BEGIN BULK\n", "BEGIN BULK\n,1,2\n")), "line 5: a continuation of nothing"),
    "cd": (nastran(("1.0,0.2,0.0", "1.0,0.2,0.0,3")), "GRID 5: its directions are those of system 3 (CD), expected 0."),
    "grid twice": (nastran(("GRID,11,", "GRID,5,")), "GRID 5: is given a second time, at another place."),
    "no grid": (one("a.bdf", "PARAM,POST,-1\n"), "a.bdf: holds no GRID"),
    "no system": (nastran(("GRID,5,,", "GRID,5,9,")), "GRID 5: refers to the coordinate system 9, which is not there."),
    "cylinder": (
        nastran(("GRID,5,,", "CORD2C,9,,0.,0.,0.,0.,0.,1.\n,1.,0.,0.\nGRID,5,9,")),
        "GRID 5: is placed in a CORD2C, which is not read",
    ),
    "ring of systems": (
        nastran(("GRID,5,,", "CORD2R,9,9,0.,0.,0.,0.,0.,1.\n,1.,0.,0.\nGRID,5,9,")),
        "coordinate systems refer to each other in a ring.",
    ),
    "line of points": (
        nastran(("GRID,5,,", "CORD2R,9,,0.,0.,0.,0.,0.,1.\n,0.,0.,3.\nGRID,5,9,")),
        "the three points of CORD2R 9 lie on one line.",
    ),
    "bad field": (nastran(("GRID,5,", "GRID,5x,")), "line 5: field 2: '5x' is not a whole number."),
    "both sides": (
        nastran(("DMIG,KAAX,0,1", "DMIG,KAAX,0,6"), form=1),
        "is symmetric (form 6), but holds the entry of 5, 1",
    ),
    "no dmig": (nastran(("SOL", "SOL"), stiffness="KAX"), "has no DMIG 'KAX'. Did you mean 'KAAX'?"),
    "no header": (nastran(("DMIG,KAAX,0,6,2,0,,,24\n", "")), "DMIG KAAX has no header"),
    "form": (nastran(("DMIG,KAAX,0,6", "DMIG,KAAX,0,9")), "DMIG KAAX has form 9, expected 1 (square) or 6"),
    "type": (nastran(("DMIG,KAAX,0,6,2", "DMIG,KAAX,0,6,4")), "DMIG KAAX has type 4, expected 1 or 2 (real)."),
    "no entries": (
        nastran(("DMIG,KAAX,5,1", "DMIG,KAAX,5,1\nDMIG,KAAX,5,1")),
        "a column of DMIG KAAX without entries.",
    ),
    "imaginary": (
        nastran(("DMIG,KAAX,5,1,,5,1,7.034246327907926E+07,", "DMIG,KAAX,5,1,,5,1,7.034246327907926E+07,1.")),
        "DMIG KAAX holds an imaginary part",
    ),
    "no columns": (nastran(("DMIG,KAAX,0,", "DMIG,KX,0,6,2\nDMIG,KAAX,0,"), stiffness="KX"), "DMIG KX has no columns."),
    "no point": (nastran(("DMIG,KAAX,5,1", "DMIG,KAAX,6,1")), "DMIG KAAX refers to point 6, which is no GRID"),
    "scalar point": (nastran(("DMIG,KAAX,5,1", "DMIG,KAAX,5,0")), "direction 0 of point 5, expected 1 to 6."),
    # OUTPUT4 and its rows
    "few grids": (
        lambda p: readers.read(
            edit(
                write_bulk(p),
                ("GRID,5,", "$"),
            ),
            matrices=NAS / "pynastran.op4",
        ),
        "KGG has 24 rows for 3 grid points, expected 6 for each. Give dofs=",
    ),
    "unknown grid": (rows_csv("6,1\n"), "rows.csv, line 1: node 6 is no GRID of the file."),
    "too few rows": (rows_csv("5,1\n"), "rows.csv: lists 1 rows, but KGG of"),
    "no matrix": (output4(stiffness="KG"), "has no matrix 'KG'. Did you mean 'KGG'?"),
    "not square": (output4(("      24      24", "      24      25")), "KGG has shape (25, 24), expected a square"),
    "two sizes": (
        lambda p: (
            (p / "x.op4").write_text(
                (NAS / "pynastran.op4").read_text().split("      24      24       6       2MGG")[0]
                + f"       1       1       6       2MGG     1P,3E23.16\n       2       1       1\n{ONE}\n"
            ),
            readers.read(NAS / "large.bdf", matrices=p / "x.op4"),
        ),
        "MGG has shape (1, 1), expected (24, 24) as KGG.",
    ),
    "short file": (output4_bytes(lambda b: b[:10]), "has 10 bytes, expected a matrix of OUTPUT4."),
    "name twice": (output4(("2MGG", "2KGG")), "a second matrix KGG, expected each name once."),
    "op4 type": (output4(("       6       2", "       6       4")), "matrix 'KGG' has type 4, expected 1 or 2 (real)."),
    "op4 form": (output4(("       6       2", "       3       2")), "matrix 'KGG' has form 3, expected 1 (square)"),
    "op4 head": (
        output4(("      24      24       6       2KGG", "      24       0       6       2KGG")),
        "'KGG' with 0 rows and 24 columns is not the head of a matrix.",
    ),
    "op4 start": (output4_text("This is no matrix.\n" + TEXT_HEAD), "line 1: 'This is no matrix.' is not the head of"),
    "op4 cut in another matrix": (
        output4(("      24      24       6       2MGG", "      24      24       6       2OTHER"), mass="KGG", cut=True),
        "the file ends within OTHER, its last matrix, as a file that was cut short.",
    ),
    "op4 format": (output4(("1P,3E23.16", "what")), "line 1: 'what' is not a format such as 1P,3E23.16."),
    "op4 blank": (output4_text("\n" * 20), "is empty, expected a matrix of OUTPUT4."),
    "op4 order": (output4(("\n       2       1", "\n       1       1")), "column 1 of KGG after column 1, expected"),
    "op4 rows": (
        output4_text(TEXT_HEAD + f"       1       3       2\n{ONE}{ONE}\n"),
        "rows 3 to 4 in column 1 of K, which has rows 1 to 3.",
    ),
    "op4 nan": (
        output4_records(HEAD, struct.pack("<3i1f", 1, 1, 1, float("nan"))),
        "column 1 of K holds a number that is not finite.",
    ),
    "op4 string": (output4_text(TEXT_HEAD + "       1       0       3\n       1\n"), "a string of -1 words from row 1"),
    "op4 end": (
        output4_text(TEXT_HEAD + f"       1       1       1\n{ONE}\n"),
        "the file ends within K, after column 1.",
    ),
    "op4 width": (
        output4_text(TEXT_HEAD + f"       1       1       1\n{ONE[:-3]}\n"),
        "20 characters, expected numbers",
    ),
    "op4 count": (
        output4_text(TEXT_HEAD + f"       1       1       3\n{ONE}\n"),
        "1 numbers follow in K, expected 3 words",
    ),
    "record": (output4_bytes(lambda b: b[:32]), "record 2: the file ends, expected a record."),
    "record length": (output4_bytes(lambda b: b[:200]), "bytes, but the file ends after"),
    "record end": (output4_bytes(lambda b: b[:28] + b"\1" + b[29:]), "record 1: its length, 24 bytes, is not repeated"),
    "record head": (
        output4_records(HEAD, struct.pack("<3i", 4, 1, 0), b"1234"),
        "record 3: has 4 bytes, expected the head",
    ),
    "record column": (output4_records(HEAD, b"1234"), "record 2: has 4 bytes, expected the head of a column, 12."),
    "record words": (
        output4_records(HEAD, struct.pack("<3i", 1, 1, 5)),
        "record 2: has 12 bytes, expected 12 and 5 words.",
    ),
    "record values": (
        output4_records(SPARSE, struct.pack("<3i1i", 1, 1, 1, 0)),
        "4 bytes of values in K, expected 8 each.",
    ),
    "record string": (
        output4_records(SPARSE, struct.pack("<3i1i", 1, 0, 1, 0)),
        "ends within the head of a string of K.",
    ),
    "record string words": (
        output4_records(SPARSE, struct.pack("<3i2i", 1, 0, 2, 9, 1)),
        "a string of 8 words in K does not fit the record.",
    ),
    # OUTPUT2
    "op2 pairs": (modes(mode_head()), "table OUGV1 has 2 parts, expected a head and pairs."),
    "op2 none": (modes(mode_head(), MODE, name="OQG1"), "has no modes, only OQG1; expected real modes in OUGV1"),
    "op2 cases": (modes(mode_head(), MODE, mode_head(2), MODE), "has modes of subcases 1, 2, expected one."),
    "op2 case": (modes(mode_head(), MODE, subcase=3), "has no subcase 3, only 1."),
    "op2 points": (modes(mode_head(), MODE, mode_head(), MODE[:8]), "modes of subcase 1 are at different grid points."),
    "op2 head": (modes(mode_head()[:-1], MODE), "a head of 145 words, expected 146."),
    "op2 complex": (modes(mode_head(_8=2, _9=14), MODE), "holds modes in format 2 with 14 words for each point"),
    "op2 words": (modes(mode_head(), MODE[:9]), "a mode of 9 words, expected 8 for each grid point."),
    "op2 nan": (modes(mode_head(value=float("nan")), MODE), "a mode holds a number that is not finite."),
    "op2 table": (modes(change=lambda b: b[:-12] + key(5)), "the key 5, expected 2 (a table) or 0 (the end)."),
    "op2 part": (
        modes(mode_head(), MODE, change=lambda b: b.replace(key(-3), key(-4), 1)),
        "the key -4 in table OUGV1, expected -3 or 0.",
    ),
    "op2 layout": (modes(change=lambda b: b"abcd" + b), "record 1: is not a key of 4 or 8 bytes"),
    "op2 end": (modes(mode_head(), MODE, change=lambda b: b[:-24]), "the file ends, expected a record."),
    "op2 length": (modes(change=lambda b: b[:-4] + b"abcd"), "has 4 bytes, but does not end there."),
    "op2 record": (modes(change=lambda b: key(4) + b[12:]), "the key 4, expected 2 (a table)"),
    "op2 record words": (modes(change=lambda b: b[:12] + key(1) + b[12:]), "has 4 bytes, expected 3 words of 4."),
    "op2 key": (modes(change=lambda b: b.replace(key(7), key(6), 1)), "the key 6, expected 7."),
    "record layout": (output4_bytes(lambda b: b"\1" + b[1:]), "record 1: does not have 24 or 48 bytes"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_message(name, tmp_path):
    call, *parts = REFUSED[name]
    with pytest.raises(ModelError) as caught:
        call(tmp_path)
    for part in parts:
        assert part in str(caught.value)


def test_every_raise_is_reached(tmp_path):
    root = Path(readers.__file__).parent
    wanted = {
        (file.name, node.lineno): ast.unparse(node)[:100]
        for file in root.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise) and node.exc is not None
    }
    assert len(wanted) > 60
    for k, (call, *_) in enumerate(REFUSED.values()):
        folder = tmp_path / str(k)
        folder.mkdir()
        with pytest.raises(LiegeoError) as caught:
            call(folder)
        last = caught.traceback[-1]
        wanted.pop((last.path.name, last.lineno + 1), None)
    assert not wanted, f"these have no line in REFUSED: {wanted}"


def cut_cases():
    for suffix in ("_mesh.inc", ".dof", ".sti", ".mas"):
        yield f"short{suffix}", lambda p: (job(p), p / "short.inp", {})[1:]
    for file in ("job.inp", "job_STIF1.mtx", "job_MASS1.mtx"):
        yield file, lambda p: (write_abaqus(p), {})
    for file in ("K.mtx", "M.mtx", "nodes.csv"):
        yield file, lambda p: (p / "K.mtx", write_market(p))
    for file in ("K.npz", "M.npz"):
        yield file, lambda p: (p / "K.npz", write_market(p, "npz"))
    yield "frame.bdf", lambda p: (write_bulk(p), {})
    for file in sorted(NAS.glob("*.op4")):
        yield (
            file.name,
            lambda p, file=file: (NAS / "large.bdf", {"matrices": shutil.copy(file, p)}),
        )


@pytest.mark.parametrize(("file", "make"), [pytest.param(*case, id=case[0]) for case in cut_cases()])
def test_a_file_that_is_cut_is_refused(file, make, tmp_path):
    """At places all over it: never another error, never another model."""
    path, options = make(tmp_path)
    options = {k: Path(v) for k, v in options.items()}
    whole = (tmp_path / file).read_bytes()
    rng = np.random.default_rng(len(whole))
    places = {0, 1, 17, len(whole) // 2, len(whole) - 9, len(whole) - 2, *rng.integers(1, len(whole) - 1, 20).tolist()}
    reached = 0
    for place in sorted(places):
        (tmp_path / file).write_bytes(whole[:place])
        try:
            model = readers.read(path, **options)
        except ModelError:
            reached += 1
        else:
            # only what does not matter was lost
            (tmp_path / file).write_bytes(whole)
            same = readers.read(path, **options)
            assert abs(model.stiffness - same.stiffness).nnz == 0
            assert abs(model.mass - same.mass).nnz == 0
    # a deck may lose its steps, and text its last blanks
    assert reached >= len(places) // 2


@pytest.mark.parametrize("file", sorted(NAS.glob("*.op4")), ids=lambda p: p.stem)
def test_a_file_with_a_wrong_byte_is_refused_or_read(file, tmp_path):
    """Whatever a byte becomes, no other error comes out."""
    whole = file.read_bytes()
    rng = np.random.default_rng(1)
    for place in [*range(0, 60, 3), *rng.integers(0, len(whole), 40).tolist()]:
        changed = bytearray(whole)
        changed[place] = rng.integers(256)
        (tmp_path / "x.op4").write_bytes(bytes(changed))
        with contextlib.suppress(ModelError):
            dict(op4.read(tmp_path / "x.op4"))


def test_output2_that_is_cut_or_has_a_wrong_byte(tmp_path):
    whole = (NAS / "modes.op2").read_bytes()
    rng = np.random.default_rng(2)
    # without its last key, which some programs leave out, it is the same
    (tmp_path / "x.op2").write_bytes(whole[:-12])
    np.testing.assert_array_equal(op2.modes(tmp_path / "x.op2").shapes, op2.modes(NAS / "modes.op2").shapes)
    for place in [0, 3, 11, *range(12, len(whole), 97), len(whole) - 24, len(whole) - 1]:
        (tmp_path / "x.op2").write_bytes(whole[:place])
        with pytest.raises(ModelError):
            op2.modes(tmp_path / "x.op2")
        changed = bytearray(whole)
        changed[place] = rng.integers(256)
        (tmp_path / "x.op2").write_bytes(bytes(changed))
        with contextlib.suppress(ModelError):
            op2.modes(tmp_path / "x.op2")


def test_content_of_a_pickle_is_not_executed(tmp_path):
    """NumPy would run it if allowed."""

    class Trap:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "sprung",))

    buffer = io.BytesIO()
    np.savez(buffer, id=np.array([Trap()], dtype=object), position=np.zeros((1, 3)))
    (tmp_path / "nodes.npz").write_bytes(buffer.getvalue())
    options = write_market(tmp_path) | {"nodes": tmp_path / "nodes.npz"}
    with pytest.raises(ModelError, match="plain arrays"):
        readers.read(tmp_path / "K.mtx", **options)
    assert not (tmp_path / "sprung").exists()
