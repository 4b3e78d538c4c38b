"""Archives of whatever origin: what is refused, what is left behind, and that nobody else opens one."""

from __future__ import annotations

import ast
import gzip
import io
import os
import stat
import struct
import tempfile
import zipfile
from pathlib import Path

import pytest

import fmu_export
from fmu_export.cosim import load_system
from fmu_export.cosim.fmu_file import read_description
from liegeo import archives
from liegeo.errors import InputError, LiegeoError, ModelError
from liegeo.flex.readers import _common

ROOT = Path(__file__).parents[1]
# What opens archives: modules, and functions of others that do it inside.
OPENERS = {"zipfile", "gzip", "zlib", "bz2", "lzma", "tarfile"}


def test_nobody_else_opens_archives():
    """The class of mistake: one more place that trusts what it unpacks."""
    for file in [*(ROOT / "liegeo").rglob("*.py"), *(ROOT / "fmu_export").rglob("*.py")]:
        name = file.relative_to(ROOT).as_posix()
        if name == "liegeo/archives.py":
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            imported = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            if isinstance(node, ast.ImportFrom):
                imported.append(node.module or "")
            assert not OPENERS & {part.split(".")[0] for part in imported}, f"{name}:{node.lineno}"
            # fmpy's own, and those of shutil and zipfile
            assert not {"extract", "unpack_archive"} & set(imported), f"{name}:{node.lineno}"
            if isinstance(node, ast.Attribute) and node.attr in ("extractall", "unpack_archive", "simulate_fmu"):
                raise AssertionError(f"{name}:{node.lineno}")
            if isinstance(node, ast.Call) and "read_model_description" in ast.unparse(node.func):
                assert name == "fmu_export/cosim/fmu_file.py", f"{name}:{node.lineno}"


def zipped(path: Path, *members: tuple[str, bytes], **attributes: int) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            entry = zipfile.ZipInfo("x" * len(name))
            entry.filename = name
            entry.compress_type = zipfile.ZIP_DEFLATED
            for key, value in attributes.items():
                setattr(entry, key, value)
            archive.writestr(entry, data)
    return path


NAMES = {
    "../up": "'..'",
    "a/../../up": "'..'",
    "a/./b": "'..'",
    "a//b": "an empty part",
    "/etc/passwd": "an absolute path",
    "C:/windows": "an absolute path",
    "C:up": "an absolute path",
    "a\\b": "a backslash",
    "..\\..\\up": "a backslash",
    "a\nb": "characters that cannot be printed",
    "a\x1b[2J": "characters that cannot be printed",
    "ab:stream": "a colon",
    "n" * 300: "more than 255 bytes in a part",
    "/".join(["n" * 200] * 6): "1000 in all",
}


@pytest.mark.parametrize("name", NAMES)
def test_names(tmp_path, name):
    file = zipped(tmp_path / "a.fmu", ("modelDescription.xml", b"<a/>"), (name, b"x"))
    with pytest.raises(InputError, match=r"'a\.fmu' has a member .*, which has ") as caught:
        archives.Archive(file, "FMU")
    assert NAMES[name] in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


def test_a_name_with_a_zero_byte(tmp_path):
    file = zipped(tmp_path / "a.fmu", ("abXcd", b"x"))
    file.write_bytes(file.read_bytes().replace(b"abXcd", b"ab\0cd"))
    with pytest.raises(InputError, match=r"'ab\\x00cd', which has characters that cannot be printed"):
        archives.Archive(file, "FMU")


def test_members_that_are_no_files(tmp_path):
    for kind in (stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR):
        file = zipped(tmp_path / "a.fmu", ("a", b"/etc/passwd"), external_attr=(kind | 0o777) << 16)
        with pytest.raises(InputError, match="'a', which is a link or a device, expected files"):
            archives.Archive(file, "FMU")


def test_names_that_mean_two_things(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate"):
        twice = zipped(tmp_path / "a.fmu", ("a", b"1"), ("a", b"2"))
    with pytest.raises(InputError, match="has two members 'a', expected one"):
        archives.Archive(twice, "FMU")
    both = zipped(tmp_path / "b.fmu", ("a", b"1"), ("a/b", b"2"))
    with pytest.raises(InputError, match="'a' that is a file and a folder"):
        archives.Archive(both, "FMU")


def test_encrypted_and_packed_otherwise(tmp_path):
    file = zipped(tmp_path / "a.fmu", ("a", b"1"))
    data = bytearray(file.read_bytes())
    directory = data.index(b"PK\1\2")
    data[directory + 8] |= 1
    (tmp_path / "b.fmu").write_bytes(data)
    with pytest.raises(InputError, match="has an encrypted member 'a', expected one without a password"):
        archives.Archive(tmp_path / "b.fmu", "FMU")
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with zipfile.ZipFile(tmp_path / "c.fmu", "w", method) as archive:
            archive.writestr("a", "text")
        with pytest.raises(InputError, match=rf"'a' of compression method {method}, expected 0 \(stored\) or 8"):
            archives.Archive(tmp_path / "c.fmu", "FMU")


def bomb(path: Path, *names: str, size: int) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("modelDescription.xml", "<a/>")
        for name in names:
            with archive.open(name, "w") as into:
                for _ in range(size // 2**20):
                    into.write(bytes(2**20))
    return path


def test_bounds(tmp_path, monkeypatch):
    """A file of a few hundred kilobytes that unpacks to 130 MB; the bound can be raised, and members are counted."""
    file = bomb(tmp_path / "a.fmu", "resources/a", "resources/b", size=65 * 2**20)
    with pytest.raises(InputError, match=r"unpacks to more than 64 MB, from \d+ bytes") as caught:
        archives.Archive(file, "FMU")
    assert "LIEGEO_UNPACK_LIMIT" in str(caught.value)
    for who in (fmu_export.info, fmu_export.run, fmu_export.validate, read_description):
        with pytest.raises(InputError, match="unpacks to more than"):
            who(file)
    monkeypatch.setenv("LIEGEO_UNPACK_LIMIT", "200")
    with archives.Archive(file, "FMU") as archive:
        assert archive.names == ("modelDescription.xml", "resources/a", "resources/b")
    monkeypatch.setenv("LIEGEO_UNPACK_LIMIT", "much")
    with pytest.raises(InputError, match="LIEGEO_UNPACK_LIMIT is 'much', expected a number of megabytes > 0"):
        archives.Archive(file, "FMU")
    monkeypatch.delenv("LIEGEO_UNPACK_LIMIT")
    monkeypatch.setattr(archives, "MEMBERS", 2)
    with pytest.raises(InputError, match="has 3 members, expected at most 2"):
        archives.Archive(file, "FMU")
    monkeypatch.setattr(archives, "READ", 3)
    with (
        archives.Archive(zipped(tmp_path / "b.fmu", ("a", b"four")), "FMU") as archive,
        pytest.raises(InputError, match="has a of 4 bytes, expected at most 3 bytes"),
    ):
        archive.read("a")


def test_sizes_that_lie(tmp_path):
    """A member that says it is small: nothing more than it says is written, and its sum does not fit."""
    file = bomb(tmp_path / "a.fmu", "a", size=2**20)
    data = bytearray(file.read_bytes())
    place = data.rindex(b"PK\1\2")
    data[place + 24 : place + 28] = struct.pack("<I", 10)
    file.write_bytes(data)
    with archives.Archive(file, "FMU") as archive, pytest.raises(InputError, match="is no FMU: Bad CRC-32"):
        archive.extract(tmp_path / "out")
    assert not list((tmp_path / "out").rglob("*.*"))


def test_what_is_read_is_what_is_needed(tmp_path, monkeypatch, pytestconfig):
    """`info` writes nothing but the description: members that are damaged do not matter."""
    description = (ROOT / "tests/fmu/controllers/pd/modelDescription.xml").read_bytes()
    file = zipped(
        tmp_path / "a.fmu",
        ("modelDescription.xml", description),
        ("binaries/linux64/a.so", b"library" * 100),
        ("resources/requirements.txt", b"numpy\n"),
    )
    whole = file.read_bytes()
    place = whole.index(b"a.so") + 4
    file.write_bytes(whole[:place] + bytes(4) + whole[place + 4 :])
    found = fmu_export.info(file)
    assert (found.platforms, found.requirements) == (("linux64",), ("numpy",))
    with pytest.raises(InputError, match=r"'a\.fmu' is "), archives.unpacked(file, "FMU"):
        pass


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    """Where unpacking fails in the middle, by every way in."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    description = (ROOT / "tests/fmu/controllers/pd/modelDescription.xml").read_bytes()
    structure = b'<a:SystemStructureDescription xmlns:a="http://ssp-standard.org/SSP1/SystemStructureDescription"/>'
    for suffix, members in (
        (".fmu", [("modelDescription.xml", description)]),
        (".ssp", [("SystemStructure.ssd", structure)]),
    ):
        file = zipped(tmp_path / f"a{suffix}", *members, ("resources/first", b"1"), ("resources/second", b"2" * 1000))
        data = bytearray(file.read_bytes())
        place = data.index(b"second") + 6
        data[place : place + 4] = b"\xff\xff\xff\xff"
        file.write_bytes(data)
        for who in (fmu_export.run, fmu_export.validate) if suffix == ".fmu" else (load_system,):
            with pytest.raises(LiegeoError, match=r"a\.\w+'?:? is "):
                who(file)
            assert not list((tmp_path / "temporary").iterdir())


def test_what_is_no_archive(tmp_path):
    for name, data, said in (
        ("empty.fmu", b"", "'empty.fmu' is no FMU: File is not a zip file."),
        ("text.fmu", b"text", "'text.fmu' is no FMU: File is not a zip file."),
        ("cut.fmu", b"PK\3\4" + bytes(100), "'cut.fmu' is no FMU: File is not a zip file."),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(InputError) as caught:
            archives.Archive(tmp_path / name, "FMU")
        assert str(caught.value) == said
    with pytest.raises(InputError, match=r"'none\.fmu' cannot be read: No such file or directory\."):
        archives.Archive(tmp_path / "none.fmu", "FMU")
    with pytest.raises(InputError, match="is not a file, expected an FMU"):
        archives.Archive(tmp_path, "FMU")
    os.mkfifo(tmp_path / "fifo.fmu")
    with pytest.raises(InputError, match="is not a file, expected an FMU"):
        archives.Archive(tmp_path / "fifo.fmu", "FMU")
    file = zipped(tmp_path / "other.fmu", ("a", b"1"))
    with pytest.raises(InputError, match=r"has no modelDescription\.xml, expected an FMU"):
        fmu_export.info(file)


def test_gzip(tmp_path, monkeypatch):
    data = os.urandom(1000) + bytes(1000)
    assert archives.gunzip(archives.gzipped(data), "a.gz") == data
    assert archives.gunzip(gzip.compress(b"one") + gzip.compress(b"two"), "a.gz") == b"onetwo"
    file = tmp_path / "a.op4.gz"
    packed = gzip.compress(data)
    for damaged in (b"text", packed[:-9], packed[:-4] + bytes(4), packed[:15]):
        file.write_bytes(damaged)
        with pytest.raises(ModelError, match=r"a\.op4\.gz: is not a whole gzip file: "):
            _common.content(file)
    large = io.BytesIO()
    with gzip.GzipFile(fileobj=large, mode="wb") as into:
        for _ in range(65):
            into.write(bytes(2**20))
    file.write_bytes(large.getvalue())
    with pytest.raises(ModelError, match=r"a\.op4\.gz: unpacks to more than 64 MB, from \d+ bytes"):
        _common.content(file)
    monkeypatch.setenv("LIEGEO_UNPACK_LIMIT", "70")
    assert len(_common.content(file)) == 65 * 2**20
