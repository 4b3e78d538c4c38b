"""SID files: exact both ways, complaints that name the line, and the gyroscopic terms against a kinetic energy."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import dense_tree

from liegeo import dynamics
from liegeo import model as lm
from liegeo.errors import ModelError
from liegeo.flex.sid import SID, SIDNode, Taylor, format_sid, from_flexible_body, read_sid, to_flexible_body, write_sid
from liegeo.lie import SE3, SO3

FILE = Path(__file__).parent / "data/sid/two_masses.SID_FEM"
TEXT = FILE.read_text(encoding="utf-8")
FIELDS = ("moment", "inertia", "C_t", "C_r0", "C_r1", "J_1", "J_2", "M_e", "K", "D")


def pieces(rng, n_modes, n_pieces=5, rotary=True):
    """Rigid pieces with modes, in plain numbers."""
    result = []
    for _ in range(n_pieces):
        A = 0.2 * rng.normal(size=(3, 3))
        J = np.trace(A @ A.T) * np.eye(3) - A @ A.T
        result.append(
            {
                "position": 0.5 * rng.normal(size=3),
                "modes": 0.3 * rng.normal(size=(6, n_modes)),
                "mass": rng.uniform(0.2, 1.0),
                "com": 0.1 * rng.normal(size=3) * rotary,
                "inertia": J * rotary,
            }
        )
    return result


def lumped(rng, n_modes=3, **options):
    nodes = [lm.LumpedNode(name=f"n{k}", **piece) for k, piece in enumerate(pieces(rng, n_modes, **options))]
    K = np.diag(rng.uniform(10, 100, n_modes))
    return lm.FlexibleBody.from_nodes("boom", nodes, K, 0.01 * K, {"plate": SE3.random(rng=rng)})


def same(a, b):
    """To the bit, but that J_2 may be symmetric where from_nodes rounded it otherwise."""
    for field in FIELDS:
        A, B = np.array(getattr(a, field)), np.array(getattr(b, field))
        if field in ("inertia", "J_1", "J_2"):
            A, B = A[..., [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]], B[..., [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        np.testing.assert_array_equal(A, B, err_msg=field)
    assert a.mass == b.mass


# ---------------------------------------------------------------- exact both ways


@pytest.mark.parametrize("n_modes", [0, 1, 2, 3, 7])
def test_body_to_file_to_body_is_exact(tmp_path, n_modes):
    body = lumped(np.random.default_rng(n_modes), n_modes)
    sid = from_flexible_body(body)
    write_sid(sid, tmp_path / "boom.SID_FEM")
    read = read_sid(tmp_path / "boom.SID_FEM")
    assert read == sid
    assert hash(read) == hash(sid)
    back = to_flexible_body(read, "boom")
    same(back, body)
    # frames come back as nodes that do not move
    assert list(back.nodes) == [*body.nodes, *body.frames]
    for name, node in body.nodes.items():
        np.testing.assert_array_equal(back.nodes[name].pose, node.pose)
        np.testing.assert_array_equal(back.nodes[name].modes, node.modes)
    np.testing.assert_allclose(back.nodes["plate"].pose, body.frames["plate"], atol=1e-15)
    assert not np.any(back.nodes["plate"].modes)
    assert from_flexible_body(back) == dataclasses.replace(sid, title="written by liegeo")
    assert [p.name for p in tmp_path.iterdir()] == ["boom.SID_FEM"]


def test_our_text_comes_back_to_the_letter(tmp_path):
    text = format_sid(from_flexible_body(lumped(np.random.default_rng(4))))
    path = tmp_path / "a.sid"
    path.write_bytes(text.encode("utf-8"))
    assert format_sid(read_sid(path)) == text
    write_sid(read_sid(path), path)
    assert path.read_bytes() == text.encode("utf-8")


numbers = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, -0.0, 5e-324, 1.7e308, 0.1])
words = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\r\n"), max_size=12).map(str.strip)


@st.composite
def series(draw, rows, columns, n):
    structure = draw(st.sampled_from([0, 3, 3, 3, *([1, 2, 4] if rows == columns else [])]))
    order = draw(st.integers(0, 1))
    M0 = np.array([draw(numbers) for _ in range(rows * columns)]).reshape(rows, columns)
    M1 = np.array([draw(numbers) for _ in range(rows * n * columns)]).reshape(rows, n, columns) * order
    if structure in (0, 4):
        M0, M1 = np.eye(rows, columns) * (structure == 4), M1 * 0.0
    elif structure == 1:
        keep = np.eye(rows)
        M0, M1 = M0 * keep, M1 * keep[:, None, :]
    elif structure == 2:
        M0, M1 = np.triu(M0), M1 * np.triu(np.ones((rows, rows)))[:, None, :]
        M0, M1 = np.where(np.tri(rows, k=-1), M0.T, M0), np.where(np.tri(rows, k=-1)[:, None], M1.T, M1)
    return Taylor(M0, M1, order, structure)


@st.composite
def sids(draw):
    n = draw(st.integers(0, 2))
    sizes = {"mdCM": (3, 1), "J": draw(st.sampled_from([(6, 1), (3, 3)])), "Ct": (n, 3), "Cr": (n, 3), "Me": (n, n)}
    sizes |= {"Gr": (3, 3 * n), "Ge": (n, 3 * n), "Oe": (n, 6), "ksigma": (n, 1), "Ke": (n, n), "De": (n, n)}
    nodes = []
    for name in draw(st.lists(words, unique=True, max_size=2)):
        blocks = {"origin": (3, 1), "phi": (3, n), "psi": (3, n), "AP": (3, 3)}
        if draw(st.booleans()):
            blocks["sigma"] = (6, 1)
        made = {key: draw(series(*size, n)) for key, size in blocks.items()}
        nodes.append(SIDNode(name, rframe=draw(words), **made))
    texts = {"name": draw(words), "title": draw(words), "modes": [draw(words) for _ in range(n)]}
    return SID(mass=draw(numbers), nodes=nodes, **texts, **{k: draw(series(*s, n)) for k, s in sizes.items()})


@given(sid=sids())
@settings(max_examples=60, deadline=None)
def test_any_record_comes_back_to_the_bit(tmp_path_factory, sid):
    path = tmp_path_factory.mktemp("sid") / "x"
    write_sid(sid, path)
    read = read_sid(path)
    assert read == sid
    assert np.array(read.mass).tobytes() == np.array(sid.mass).tobytes()
    assert format_sid(read) == path.read_bytes().decode("utf-8")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.sid"
    write_sid(read_sid(FILE), path)
    before = path.read_bytes()

    def fail(self, target):
        raise OSError("full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="full"):
        write_sid(from_flexible_body(lumped(np.random.default_rng(1))), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.sid"]


# ---------------------------------------------------------------- the file made by hand


def test_file_made_by_hand():
    sid = read_sid(FILE)
    assert (sid.name, sid.title, sid.mass) == ("two masses", "made by hand", 3.0)
    assert sid.modes == ("Eigen Mode    1 :        1.592 Hz", "Eigen Mode    2 :        1.949 Hz")
    np.testing.assert_array_equal(sid.frequencies, [1.592, 1.949])
    assert [node.name for node in sid.nodes] == ["11", "12"]
    assert sid.nodes[0].AP.structure == 4
    assert (sid.Oe.order, sid.Me.structure, sid.ksigma.structure) == (1, 2, 0)
    np.testing.assert_array_equal(sid.nodes[1].origin.at([0.1, 0.2])[:, 0], [1.0, 0.1, 0.2])
    body = to_flexible_body(sid, "hand")
    # with r = (1, 0, 0), 2 kg, φ₁ = y, φ₂ = z, from the integrals themselves
    nodes = [
        lm.LumpedNode(np.zeros((6, 2)), mass=1.0, name="11"),
        lm.LumpedNode([[0, 0], [0, -1.5], [1.5, 0], [0, 0], [1, 0], [0, 1]], (1, 0, 0), 2.0, name="12"),
    ]
    same(body, lm.FlexibleBody.from_nodes("hand", nodes, [[200, 10], [10, 300]], [[0.2, 0], [0, 0.3]]))
    np.testing.assert_array_equal(body.moment, [2, 0, 0])
    np.testing.assert_array_equal(body.inertia, np.diag([0, 2, 2]))
    np.testing.assert_array_equal(body.J_1[0], [[0, -2, 0], [-2, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(body.J_2[0, 0], np.diag([2, 0, 2]))
    np.testing.assert_array_equal(body.J_2[0, 1], [[0, 0, 0], [0, 0, -1], [0, -1, 0]])
    np.testing.assert_array_equal(body.C_r1[0], [[0, 2], [-2, 0]])
    np.testing.assert_array_equal(body.nodes["12"].modes, nodes[1].modes)
    np.testing.assert_array_equal(body.nodes["12"].pose[:3, 3], [1, 0, 0])


def read(tmp_path, text, **options):
    path = tmp_path / "changed.sid"
    path.write_text(text, encoding="utf-8")
    return read_sid(path, **options)


@pytest.mark.parametrize(
    "change",
    [
        str.upper,
        lambda text: text.replace("D+", "e+").replace("D-", "E-"),
        lambda text: text.replace("D+00", " ! a comment").replace("\n", "\n\n# another\n"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: re.sub(r"  +", "\t", text.replace("( ", "(").replace(", ", ",")),
        lambda text: text.replace("m0(", "m0 (").replace("frame\n", "new frame\n", 1),
        lambda text: re.sub(r" +nqn .*\n", "", text),
        lambda text: text.replace("m0( 1, 2)             = 1.00000000000D+01\n", "m0( 1, 2) = 1D1\n! ", 1),
        lambda text: text + "other things\n",
        lambda text: "\ufeff" + text,
        lambda text: text.replace("2   2    :No. nodes, No. modes:", "2 nodes, 2 modes, "),
        lambda text: text.replace(
            "structure             =    4", "structure = 4\n m0(1,1) = 1\n m0(2,2) = 1\n m0(3,3) = 1"
        ),
        lambda text: text.replace("structure             =    0\n", "structure = 0\n m0(1, 1) = 0.\n", 1),
    ],
)
def test_usual_variations_are_read(tmp_path, change):
    text = change(TEXT)
    assert text != TEXT
    expected, found = read_sid(FILE), read(tmp_path, text)
    same(to_flexible_body(found), to_flexible_body(expected))
    for block in ("mdCM", "J", "Gr", "Ge", "Oe", "Ke"):
        assert getattr(found, block) == getattr(expected, block)
    assert [node.phi for node in found.nodes] == [node.phi for node in expected.nodes]


@pytest.mark.parametrize(
    ("text", "number"), [("1.5", 1.5), ("-1.5d-03", -1.5e-3), (".5E2", 50.0), ("2.+103", 2e103), ("+7", 7.0)]
)
def test_numbers_of_c_and_fortran(tmp_path, text, number):
    assert read(tmp_path, TEXT.replace("3.00000000000D+00", text, 1)).mass == number


def test_latin_1_is_read(tmp_path):
    path = tmp_path / "a.sid"
    path.write_bytes(TEXT.replace("two masses", "Träger").encode("latin-1"))
    assert read_sid(path).name == "Träger"


def by_mode(sid):
    """The same with Gr and Ge mode by mode, as FEMBeam orders them."""
    n = sid.n_modes
    Gr = np.reshape(sid.Gr.M0, (3, 3, n)).transpose(0, 2, 1).reshape(3, 3 * n)
    Ge = np.reshape(sid.Ge.M0, (n, 3, n)).transpose(0, 2, 1).reshape(n, 3 * n)
    return dataclasses.replace(sid, Gr=Taylor(Gr, sid.Gr.M1, 0), Ge=Taylor(Ge, sid.Ge.M1, 0))


def test_the_dialect_of_fembeam(tmp_path):
    """Modes in the last index of m1, one triangle of what is symmetric, J as 3×3, Gr and Ge mode by mode, nq = 0."""
    body = lumped(np.random.default_rng(8))
    sid = by_mode(from_flexible_body(body))
    n, J_1 = 3, np.asarray(body.J_1)
    J_1 = 0.5 * (J_1 + J_1.transpose(0, 2, 1))
    sid = dataclasses.replace(sid, J=Taylor(body.inertia, J_1.transpose(1, 0, 2), 1, 3))
    sid = dataclasses.replace(sid, Ke=Taylor(sid.Ke.M0, np.zeros((n, 0, n)), 0, 2))
    text = re.sub(r"m1\(([ \d]+),([ \d]+),([ \d]+)\)", r"m1(\1,\3,\2)", format_sid(sid))
    found = read(tmp_path, text, mode_index=3)
    assert found == sid
    back = to_flexible_body(found)
    np.testing.assert_allclose(back.J_1, body.J_1, atol=1e-15)
    np.testing.assert_array_equal(back.J_2, to_flexible_body(from_flexible_body(body)).J_2)
    with pytest.raises(ModelError, match=r"origin: m1\( ?1, ?1, ?2\) is out of range.*\n.*mode_index=3"):
        read(tmp_path, text)
    with pytest.raises(ModelError, match=r"out of range, expected row, column, mode in .*\n.*mode_index=2"):
        read(tmp_path, format_sid(sid), mode_index=3)
    with pytest.raises(ModelError, match="mode_index is 1, expected 2 or 3"):
        read(tmp_path, text, mode_index=1)


# ---------------------------------------------------------------- what is wrong is named


def test_a_file_cut_at_any_line_is_named_with_that_line(tmp_path):
    text = format_sid(read_sid(FILE))
    lines = text.splitlines()
    path = tmp_path / "cut.sid"
    for kept in range(len(lines)):
        path.write_text("\n".join(lines[:kept]) + "\n" * bool(kept), encoding="utf-8")
        with pytest.raises(ModelError, match=rf"cut\.sid, line {max(kept, 1)}: the file ends (inside|and no line)"):
            read_sid(path)
    path.write_text("\n".join(lines), encoding="utf-8")
    assert read_sid(path) == read_sid(FILE)


# Single blanks, so that what is replaced is short.
SHORT = re.sub(" +", " ", TEXT)
CORRUPTIONS = {
    "swapped index": (
        "m1( 3, 2, 1) = 1.0",
        "m1( 3, 1, 2) = 1.0",
        r"origin: m1\( 3, 1, 2\) is out of range, "
        r"expected row, mode, column in 1 to 3, 1 to 2, 1 to 1",
    ),
    "index out of range": ("m1( 4, 1, 1)", "m1( 7, 1, 1)", r"J: m1\( 7, 1, 1\) is out of range, expected row, mode"),
    "index zero": ("m0( 1, 1) = 2.0", "m0( 0, 1) = 2.0", r"m0\( 0, 1\) is out of range"),
    "index missing": ("m1( 3, 2, 1)", "m1( 3, 2)", r"origin: m1\( 3, 2\), expected 3 indices"),
    "index no number": ("m1( 3, 2, 1)", "m1( 3, x, 1)", r"origin: m1\( 3, x, 1\), expected 3 indices"),
    "twice": ("m1( 3, 2, 1)", "m1( 2, 1, 1)", r"origin: m1\( 2, 1, 1\) is given twice, first at line \d+"),
    "second order": ("m1( 3, 2, 1)", "mn( 3, 2, 1)", r"origin: mn\( 3, 2, 1\), but order = 1, expected no such entry"),
    "no number": ("3.00000000000D+00", "3.0000x", "mass is '3.0000x', expected a finite number"),
    "code": ("3.00000000000D+00", "__import__('os')", "mass is '__import__"),
    "infinite": ("3.00000000000D+00", "1D+999", "mass is '1D.999', expected a finite number"),
    "nan": ("3.00000000000D+00", "nan", "mass is 'nan', expected a finite number"),
    "no integer": ("nrow = 3", "nrow = 3.5", "origin: nrow is '3.5', expected an integer"),
    "wrong nrow": ("nrow = 6", "nrow = 5", "J: nrow, ncol are 5×1, expected 6×1 or 3×3 with nelastq = 2"),
    "wrong ncol": ("ncol = 6", "ncol = 7", "Gr: nrow, ncol are 3×7, expected 3×6 with nelastq = 2"),
    "wrong nq": ("nq = 2", "nq = 4", "origin: nq = 4, expected nelastq = 2"),
    "wrong order": ("order = 1", "order = 2", "origin: order = 2, nqn = 0, expected order 0 or 1"),
    "wrong structure": ("structure = 3", "structure = 9", r"structure = 9, expected 0 to 4 \(zero, diagonal"),
    "not diagonal": (
        "structure = 2\n m0( 1, 1) = 2.00000000000D+02",
        "structure = 1\n m0( 1, 1) = 200",
        r"Ke: m0\(1, 2\) is 10, but structure = 1 \(diagonal\) has 0",
    ),
    "not symmetric": ("m0( 2, 1) = 1.00000000000D+01", "m0(2, 1) = 11", r"Ke: entry \(1, 2\) is 10 and its mirror 11"),
    "symmetric and not square": ("structure = 3", "structure = 2", "symmetric.*but it is 3×1"),
    "unit that is not": ("structure = 4", "structure = 4\n m0(1,1) = 2", r"m0\(1, 1\) is 2, but structure = 4"),
    "entry of order 0": ("structure = 4", "structure = 4\n m1(1,1,1) = 2", "but order = 0, expected no such entry"),
    "unknown entry": ("nqn = 0", "frequency = 7", "origin: found 'frequency', expected order, nrow"),
    "setting twice": ("nqn = 0", "nq = 0", "origin: found 'nq' again"),
    "setting missing": ("structure = 3\n", "", "origin: structure did not come yet, expected order, nrow"),
    "wrong end": ("end phi ", "end psi ", "phi: found 'end psi', expected"),
    "unknown matrix": (" mdCM ", " mdCN ", "found 'mdcn', expected one of mdCM, J, Ct"),
    "no refmod": (" refmod", " refmode", "found 'refmode', expected 'refmod' first, once"),
    "unknown in refmod": ("nelastq ", "nelastic ", "found 'nelastic', expected mass, nelastq"),
    "mode out of range": (
        "ielastq ( 2)",
        "ielastq ( 3)",
        r"ielastq \(3\) is out of range or given twice, expected 1 to 2",
    ),
    "more modes": ("nelastq = 2", "nelastq = 3", r"with 2 modes, expected nelastq = 3: ielastq \(3\) is missing"),
    "no mass": ("mass ", "! mass ", "refmod ends without mass"),
    "node twice": ("= 12", "= 11", "there is a node '11' already"),
    "no node": ("new node ", "now node ", "found 'now node', expected 'new node' or 'end frame'"),
    "unknown in node": ("rframe ", "rframes ", "node '11': found 'rframes', expected rframe, origin, phi"),
    "wrong counts": (" 2 2 :", " 3 2 :", "3 nodes and 2 modes announced, but there are 2 and 2"),
    "other class": ("new modal", "new rigid", "found 'new rigid', expected 'new modal'"),
    "second body": (" end part", " new modal", "found 'new modal', expected 'end part': one body a file"),
    "not SID": (" part ", " piece ", "no line was 'part', expected a SID file"),
}


@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_corruptions_are_named(tmp_path, corruption):
    old, new, message = CORRUPTIONS[corruption]
    assert old in SHORT
    with pytest.raises(ModelError, match=rf"changed\.sid, line \d+: .*{message}"):
        read(tmp_path, SHORT.replace(old, new, 1))


@pytest.mark.parametrize(
    "block", ["mdCM", "J", "Ct", "Cr", "Me", "Gr", "Ge", "Oe", "ksigma", "Ke", "De", "phi", "AP", "frame"]
)
def test_missing_matrices_are_named(tmp_path, block):
    found = re.search(rf"^ +{block}\s*\n(.*\n)*? +end {block}\s*\n", TEXT, re.M)
    text = TEXT[: found.start()] + TEXT[found.end() :]
    where = (
        f"node '11' ends without {block}" if block in ("phi", "AP") else f"found 'end modal', but {block} did not come"
    )
    with pytest.raises(ModelError, match=where):
        read(tmp_path, text)
    twice = TEXT[: found.end()] + TEXT[found.start() :]
    with pytest.raises(ModelError, match=f"found '{block.lower()}' again"):
        read(tmp_path, twice)


def test_the_line_is_right(tmp_path):
    text = TEXT.replace("m0( 3, 1)             = 1.5", "m0( 3, 1)             = 1.5.", 1)
    assert text.splitlines()[78].endswith("1.5.0000000000D+00")
    with pytest.raises(
        ModelError, match=r"changed.sid, line 79: psi: m0\( 3, 1\) is '1.5.0000000000D\+00', expected a"
    ):
        read(tmp_path, text)


@given(
    at=st.integers(0, len(TEXT) - 1),
    cut=st.integers(0, 60),
    put=st.text(max_size=3) | st.sampled_from(["\n", "=", "-", "9"]),
)
@settings(max_examples=200, deadline=None)
def test_damage_is_a_model_error_or_harmless(tmp_path_factory, at, cut, put):
    path = tmp_path_factory.mktemp("sid") / "damaged"
    path.write_bytes((TEXT[:at] + put + TEXT[at + cut :]).encode("utf-8", "replace"))
    try:
        sid = read_sid(path)
        to_flexible_body(sid)
    except ModelError as error:
        assert "damaged, line" in str(error) or "of SID" in str(error) or "flexible body" in str(error)  # noqa: PT017


def test_no_file(tmp_path):
    with pytest.raises(ModelError, match=r"none\.sid: cannot be read: No such file"):
        read_sid(tmp_path / "none.sid")


def test_records_check_themselves():
    zero = np.zeros((3, 2, 1))
    with pytest.raises(ModelError, match=r"M0 has shape \(2, 1\) and M1 \(3, 2, 1\), expected \(r, c\)"):
        Taylor(np.zeros((2, 1)), zero)
    with pytest.raises(ModelError, match="order is 2 and structure 3, expected order 0 or 1"):
        Taylor(np.zeros((3, 1)), zero, 2)
    with pytest.raises(ModelError, match="not finite"):
        Taylor(np.full((3, 1), np.inf), zero)
    with pytest.raises(ModelError, match=r"order 0 and structure 3 \(general\) do not fit"):
        Taylor(np.zeros((3, 1)), zero + 1, 0)
    with pytest.raises(ModelError, match=r"structure 2 \(symmetric\) do not fit"):
        Taylor(np.zeros((3, 1)), zero, 0, 2)
    sid = read_sid(FILE)
    with pytest.raises(ModelError, match="Ct is 3×1, expected 2×3 for 2 modes"):
        dataclasses.replace(sid, Ct=sid.mdCM)
    with pytest.raises(ModelError, match="Ct has nq = 5, expected 2"):
        dataclasses.replace(sid, Ct=Taylor(np.zeros((2, 3)), np.zeros((2, 5, 3))))
    with pytest.raises(ModelError, match="node '12': phi is 3×3, expected 3×2 for 2 modes"):
        dataclasses.replace(sid, nodes=[dataclasses.replace(sid.nodes[1], phi=sid.nodes[1].AP)])
    with pytest.raises(ModelError, match="two nodes have the name '11'"):
        dataclasses.replace(sid, nodes=[sid.nodes[0], sid.nodes[0]])
    with pytest.raises(ModelError, match=r"'a\\nb' cannot be written, expected one line"):
        dataclasses.replace(sid, name="a\nb")
    with pytest.raises(ModelError, match="mass is nan, expected a finite number"):
        dataclasses.replace(sid, mass=math.nan)
    assert np.isnan(dataclasses.replace(sid, modes=["a", "b : 3 x Hz"]).frequencies).all()


# ---------------------------------------------------------------- what is said twice must agree


def changed(taylor, at, value, order=None):
    M0, M1 = np.array(taylor.M0), np.array(taylor.M1)
    (M0 if len(at) == 2 else M1)[at] = value
    return Taylor(M0, M1, taylor.order if order is None else order, 3)


CONTRADICTIONS = {
    "mdCM": ((2, 1, 0), 9.0, r"mdCM.M1\[3, 2\] is 9, expected 2, the transpose of Ct.M0, \(4\)"),
    "Ct": ((0, 1), 9.0, r"mdCM.M1\[2, 1\] is 2, expected 9"),
    "J": ((3, 0, 0), 9.0, r"Oe.M0\[1, 4\] is 2, expected -9, −½ J.M1 : Ω, \(6\)"),
    "Gr": ((1, 0), 9.0, r"the symmetric part of Gr\[1, 2, 1\] is 4.5, expected -2, J.M1, \(7\)"),
    "Ge": ((0, 1), 9.0, r"Ge\[1, 1, 2\] is 9, expected -4, from Cr.M1, \(8\)"),
    "Oe": ((0, 1, 4), 9.0, r"Oe.M1 of two modes is not symmetric: \[\d, \d, 5\] is . and its mirror ."),
    "Me": ((0, 1), 1.0, r"Me is not symmetric: \[1, 2\] is 1 and its mirror 0"),
    "Ke": ((0, 1), 1.0, r"Ke is not symmetric: \[1, 2\] is 1 and its mirror 10"),
    "De": ((0, 1), 1.0, r"De is not symmetric: \[1, 2\] is 1 and its mirror 0"),
    "ksigma": ((0, 0), 1.0, "ksigma is not zero: forces of reference stresses"),
}


@pytest.mark.parametrize("block", CONTRADICTIONS)
def test_contradictions_are_named(block):
    at, value, message = CONTRADICTIONS[block]
    sid = read_sid(FILE)
    bad = dataclasses.replace(sid, **{block: changed(getattr(sid, block), at, value)})
    with pytest.raises(ModelError, match=message):
        to_flexible_body(bad, "hand")


@pytest.mark.parametrize("block", ["Me", "Ke", "De", "ksigma"])
def test_what_depends_on_q_and_must_not_is_named(block):
    sid = read_sid(FILE)
    bad = dataclasses.replace(sid, **{block: changed(getattr(sid, block), (0, 0, 0), 1.0, 1)})
    with pytest.raises(ModelError, match=f"{block}.M1 is not zero, expected a {block} that does not depend on q"):
        to_flexible_body(bad, "hand")


def test_missing_entries_are_named(tmp_path):
    """A zero may be left out, so that only what is said twice can show that an entry is missing."""
    for line, message in (
        ("m1( 3, 2, 1)          = 1.0", "node '12': origin.M1"),
        ("m1( 1, 2, 3)          =-1.5", "node '12': AP.M1"),
        ("m1( 4, 1, 1)          =-2.0", "Oe.M0"),
        ("m0( 1, 2)             = 2.0", "mdCM.M1"),
        ("m0( 3, 2)             =-4.0", "Gr"),
        ("m1( 1, 2, 5)          = 2.0", "Oe.M1 of two modes"),
    ):
        assert TEXT.count(line) == 1, line
        sid = read(tmp_path, TEXT.replace(line, "! " + line))
        with pytest.raises(ModelError, match=re.escape(message)):
            to_flexible_body(sid)


def test_nodes_are_checked():
    sid = read_sid(FILE)
    first, node = sid.nodes

    def body(**changes):
        return to_flexible_body(dataclasses.replace(sid, nodes=[first, dataclasses.replace(node, **changes)]), "hand")

    with pytest.raises(ModelError, match="node '12': rframe is 'node 11', expected 'body ref'"):
        body(rframe="node 11")
    with pytest.raises(
        ModelError, match=r"node '12': psi.M1 or phi.M1 of two modes is not symmetric: \[1, 2, 4\] is 1"
    ):
        body(phi=changed(node.phi, (0, 0, 1), 1.0, 1))
    with pytest.raises(ModelError, match=r"node '12': origin.M1\[1, 1\] is 0, expected 1, phi.M0, \(9\)"):
        body(phi=changed(node.phi, (0, 0), 1.0))
    with pytest.raises(ModelError, match=r"node '12': AP.M1\[1, 1, 2\] is -1.5, expected -7, hat\(psi.M0\) AP.M0"):
        body(psi=changed(node.psi, (2, 0), 7.0))
    with pytest.raises(ModelError, match=r"node '12': AP.M0 is no rotation: it misses RᵀR = 1 by 0.21"):
        body(AP=changed(node.AP, (0, 0), 1.1))
    # twelve digits are made a rotation again
    R = np.round(SO3.random(rng=np.random.default_rng(0)), 11)
    M1 = (SO3.hat(np.asarray(node.psi.M0).T) @ R).transpose(1, 0, 2)
    pose = body(AP=Taylor(R, M1)).nodes["12"].pose[:3, :3]
    np.testing.assert_allclose(pose.T @ pose, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(pose, R, atol=1e-10)


def test_all_problems_come_at_once():
    sid = read_sid(FILE)
    bad = dataclasses.replace(sid, Gr=changed(sid.Gr, (1, 0), 9.0), De=changed(sid.De, (0, 1), 1.0))
    with pytest.raises(
        ModelError, match=r"'hand' of SID 'two masses': the symmetric part of Gr(.|\n)*De is not symmetric"
    ):
        to_flexible_body(bad, "hand")


def test_a_tolerance_takes_files_that_contradict_themselves():
    sid = read_sid(FILE)
    bad = dataclasses.replace(sid, Gr=changed(sid.Gr, (1, 0), -4.001))
    with pytest.raises(ModelError, match=r"differ by 0.00025 of the largest entry, tolerance is 1e-06.\n  A larger"):
        to_flexible_body(bad)
    same(to_flexible_body(bad, tolerance=1e-3), to_flexible_body(sid))
    same(
        to_flexible_body(dataclasses.replace(sid, Gr=changed(sid.Gr, (1, 0), 9.0)), tolerance=math.inf),
        to_flexible_body(sid),
    )


def test_gr_without_the_part_of_cr_is_taken():
    """As FEMBS has written it."""
    sid = read_sid(FILE)
    G = np.reshape(sid.Gr.M0, (3, 3, sid.n_modes))
    symmetric = (0.5 * (G + G.transpose(1, 0, 2))).reshape(3, -1)
    assert np.abs(symmetric - sid.Gr.M0).max() > 0.1
    same(to_flexible_body(dataclasses.replace(sid, Gr=Taylor(symmetric, sid.Gr.M1))), to_flexible_body(sid))


def test_a_mass_that_is_not_positive_definite_is_named():
    sid = read_sid(FILE)
    with pytest.raises(ModelError, match="'hand': the modal mass M_e is not symmetric positive definite"):
        to_flexible_body(dataclasses.replace(sid, Me=changed(sid.Me, (0, 0), -2.0)), "hand")


# ---------------------------------------------------------------- stiffening


def stiffened(sid):
    n = sid.n_modes
    G = np.random.default_rng(9).normal(size=(n, n, 3))
    return dataclasses.replace(sid, Ct=Taylor(sid.Ct.M0, G + G.transpose(1, 0, 2)))


def test_stiffening_goes_to_c_t1_and_comes_back(tmp_path):
    sid = stiffened(from_flexible_body(lumped(np.random.default_rng(6))))
    n = sid.n_modes
    S = np.random.default_rng(7).normal(size=(n, n, 3))
    sid = dataclasses.replace(sid, Cr=Taylor(sid.Cr.M0, np.asarray(sid.Cr.M1) + S + S.transpose(1, 0, 2)))
    body = to_flexible_body(sid)
    np.testing.assert_array_equal(body.C_t1, np.asarray(sid.Ct.M1).transpose(2, 1, 0))
    np.testing.assert_array_equal(body.C_r1, np.asarray(sid.Cr.M1).transpose(2, 1, 0))
    again = from_flexible_body(body)
    assert (again.Ct, again.Cr) == (sid.Ct, sid.Cr)
    write_sid(again, tmp_path / "a")
    assert read_sid(tmp_path / "a") == again
    # FEMBS writes twice all of Cr.M1 into Ge
    Ge = 2.0 * np.asarray(sid.Cr.M1).transpose(0, 2, 1).reshape(n, 3 * n)
    same(to_flexible_body(dataclasses.replace(sid, Ge=Taylor(Ge, sid.Ge.M1, 0))), body)
    bad = dataclasses.replace(sid, Ct=changed(sid.Ct, (0, 1, 2), 9.0))
    with pytest.raises(ModelError, match=r"Ct.M1 of two modes is not symmetric"):
        to_flexible_body(bad)


def test_stiffening_by_loads_at_a_node_comes_back(tmp_path):
    rng = np.random.default_rng(12)
    body = lumped(rng)
    G = rng.normal(size=(6, 3, 3))
    G = G + G.transpose(0, 2, 1)
    node = dataclasses.replace(body.nodes["n2"], second=G)
    sid = from_flexible_body(dataclasses.replace(body, nodes={**body.nodes, "n2": node}))
    eta = rng.normal(size=3)
    np.testing.assert_allclose(sid.nodes[2].phi.at(eta), node.modes[3:] + eta @ G[3:], atol=1e-14)
    np.testing.assert_allclose(sid.nodes[2].psi.at(eta), node.modes[:3] + eta @ G[:3], atol=1e-14)
    write_sid(sid, tmp_path / "a")
    back = to_flexible_body(read_sid(tmp_path / "a"))
    np.testing.assert_array_equal(back.nodes["n2"].second, G)
    assert from_flexible_body(back) == dataclasses.replace(sid, name=back.name)
    np.testing.assert_array_equal(0.0 if back.nodes["n1"].second is None else back.nodes["n1"].second, 0.0)


# ---------------------------------------------------------------- mechanics


def kinetic_energy(parts, w, eta, etad):
    """Of the pieces themselves, with the frame's origin at rest, up to the second power of (η, η̇)."""
    y = np.concatenate([w, np.zeros(3), etad])
    return 0.5 * y @ dense_tree.body_inertia({"pieces": parts}, eta)[0] @ y


def slope(f, x):
    """Gradient by differences over ±1, which for the quadratic T has no error but rounding."""
    return np.array([0.5 * (f(x + e) - f(x - e)) for e in np.eye(len(x))])


@pytest.mark.parametrize("seed", range(3))
def test_gyroscopic_and_centrifugal_terms_are_those_of_the_kinetic_energy(seed):
    rng = np.random.default_rng(seed)
    n = 3
    parts = pieces(rng, n)
    nodes = [lm.LumpedNode(**piece) for piece in parts]
    sid = from_flexible_body(lm.FlexibleBody.from_nodes("b", nodes, np.eye(n)))
    w, eta, etad = rng.normal(size=3), rng.normal(size=n), rng.normal(size=n)
    Omega = np.array([w[0] ** 2, w[1] ** 2, w[2] ** 2, w[0] * w[1], w[1] * w[2], w[0] * w[2]])

    # d/dt ∂T/∂η̇ − ∂T/∂η with constant speeds, (3)
    def momentum(eta):
        return slope(lambda x: kinetic_energy(parts, w, eta, x), etad)

    rate = 0.5 * (momentum(eta + etad) - momentum(eta - etad))
    bias = rate - slope(lambda x: kinetic_energy(parts, w, x, etad), eta)
    Ge = np.reshape(sid.Ge.M0, (n, 3, n)) @ etad
    np.testing.assert_allclose(Ge @ w + sid.Oe.at(eta) @ Omega, bias, atol=1e-12)

    # d/dt ∂T/∂w + w × ∂T/∂w at η = 0, (2)
    def angular(eta):
        return slope(lambda x: kinetic_energy(parts, x, eta, etad), w)

    zero = np.zeros(n)
    bias = 0.5 * (angular(etad) - angular(-etad)) + np.cross(w, angular(zero))
    Gr = np.reshape(sid.Gr.M0, (3, 3, n)) @ etad
    xx, yy, zz, xy, xz, yz = np.asarray(sid.J.M0)[:, 0]
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    # what is quadratic in q̇ is not in (2)
    quadratic = np.einsum("kla,k,l->a", np.asarray(sid.Cr.M1), etad, etad)
    np.testing.assert_allclose(Gr @ w + np.cross(w, J @ w) + quadratic, bias, atol=1e-12)

    # and the first order of Gr in q, which is checked if a file has it
    def gyroscopic(eta):
        xx, yy, zz, xy, xz, yz = sid.J.at(eta)[:, 0] + second @ np.multiply.outer(eta, eta).ravel()
        J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        rate = 0.5 * (angular(eta + etad) - angular(eta - etad))
        return rate + np.cross(w, angular(eta)) - np.cross(w, J @ w) - quadratic

    J_2 = np.asarray(to_flexible_body(sid).J_2).reshape(n * n, 3, 3)
    second = J_2[:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]].T
    C_r1 = np.asarray(sid.Cr.M1).transpose(2, 1, 0)
    M1 = np.zeros((3, n, 3, n))
    for m in range(n):
        for l in range(n):
            M1[:, m, :, l] = 2.0 * J_2.reshape(n, n, 3, 3)[l, m] - SO3.hat(C_r1[:, m, l])
    np.testing.assert_allclose(
        (np.reshape(sid.Gr.M0, (3, 3, n)) + np.einsum("ambl,m->abl", M1, eta)) @ etad @ w, gyroscopic(eta), atol=1e-12
    )
    full = dataclasses.replace(sid, Gr=Taylor(sid.Gr.M0, M1.reshape(3, n, 3 * n)))
    same(to_flexible_body(full), to_flexible_body(sid))
    with pytest.raises(ModelError, match=r"part of Gr.M1\[2, 1, 2, 3\] is 9, expected .*, −2 Oe.M1, \(7\)"):
        to_flexible_body(dataclasses.replace(full, Gr=changed(full.Gr, (1, 0, 5), 9.0)))


def test_mass_points_have_the_gyroscopic_matrix_of_the_book():
    rng = np.random.default_rng(5)
    parts = pieces(rng, 2, rotary=False)
    sid = from_flexible_body(lm.FlexibleBody.from_nodes("b", [lm.LumpedNode(**p) for p in parts], np.eye(2)))
    for l in range(2):
        r_phi = sum(p["mass"] * SO3.hat(p["position"]) @ SO3.hat(p["modes"][3:, l]) for p in parts)
        np.testing.assert_allclose(np.reshape(sid.Gr.M0, (3, 3, 2))[:, :, l], -2.0 * r_phi, atol=1e-14)


def test_a_node_is_the_first_order_of_its_pose():
    rng = np.random.default_rng(2)
    R, p, modes = SO3.random(rng=rng), rng.normal(size=3), rng.normal(size=(6, 3))
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = R, p
    body = dataclasses.replace(lumped(rng), nodes={"tip": lm.Node(pose, modes)}, frames={})
    (node,) = from_flexible_body(body).nodes
    eta, h = rng.normal(size=3), 1e-6
    difference = (SO3.exp(h * modes[:3] @ eta) @ R - SO3.exp(-h * modes[:3] @ eta) @ R) / (2 * h)
    np.testing.assert_allclose(node.AP.at(eta) - node.AP.at(0 * eta), difference, atol=1e-8)
    np.testing.assert_allclose(node.origin.at(eta)[:, 0], p + modes[3:] @ eta, atol=1e-15)
    np.testing.assert_array_equal(node.AP.M0, R)


def test_the_body_that_comes_back_moves_as_the_first(tmp_path):
    rng = np.random.default_rng(11)
    body = lumped(rng)
    write_sid(from_flexible_body(body), tmp_path / "b.sid")
    back = to_flexible_body(read_sid(tmp_path / "b.sid"), "boom")

    def model(body):
        tip = lm.Body("tip", 1.0, (0.1, 0.0, 0.2), (0.3, 0.4, 0.5))
        joints = [
            lm.Spherical(name="base", parent="world", child="boom", child_at="n0"),
            lm.Revolute(name="hinge", parent="boom", child="tip", at="n3", axis=(0, 1, 1)),
            lm.Fixed(name="bolt", parent="boom", child="box", at="plate"),
        ]
        return lm.Tree([body, tip, lm.Body("box", 0.5, inertia=(0.1, 0.1, 0.1))], joints).compile()

    one, two = model(body), model(back)
    state = one.state(one.group.exp(0.4 * rng.normal(size=one.nv)), rng.normal(size=one.nv))
    tau = rng.normal(size=one.nv)
    np.testing.assert_allclose(
        dynamics.forward_dynamics(two, state, tau), dynamics.forward_dynamics(one, state, tau), rtol=1e-12
    )
