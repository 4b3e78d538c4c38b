"""Fuzzers of FMU and SSP archives: whatever is in a file, an error of liegeo or a system that can be looked at.

Nothing of an FMU is executed: descriptions are read, and systems are made.  Files are damaged byte by byte, in the
records of the zip format, in the names of members and in their XML.  LIEGEO_FUZZ_ARCHIVES=N runs N seeds per kind.
"""

from __future__ import annotations

import io
import os
import random
import re
import signal
import struct
import tempfile
import warnings
import zipfile
from pathlib import Path

import pytest
from cosim import c_fmus
from cosim.ssp_texts import FOREIGN, VALUES

import fmu_export
from fmu_export.cosim import FMU, CosimSystem, load_system
from fmu_export.cosim.fmu_file import read_description
from liegeo.errors import LiegeoError

resource = pytest.importorskip("resource", reason="memory is measured as POSIX has it")

SEEDS = int(os.environ.get("LIEGEO_FUZZ_ARCHIVES", "150"))
# A case takes milliseconds; this long on any machine is a hang.
SECONDS = 60
# Memory that all cases together may add, in kB.
MEMORY = 500_000

WORDS = [
    "", "0", "-1", "1e999", "nan", "4294967303", "99999999999999999999", "x", "..", "../../a", "/", "é\u200b",
    "Real", "Integer", "String", "input", "output", "parameter", "2.0", "3.0", "rad", "kg", "u", "y", "source",
    "a" * 3000, "true", "inner.in", "resources/lag_deg.fmu", "resources/values.ssv", "SystemStructure.ssd",
]  # fmt: skip
NAMES = [
    "../a",
    "/a",
    "C:/a",
    "a\\b",
    "a\0b",
    "a\nb",
    "modelDescription.xml/a",
    "SystemStructure.ssd",
    "resources",
    "a" * 400,
]


def members(kind: str) -> dict[str, bytes]:
    def fmu(name: str) -> dict[str, bytes]:
        source, variables, flags = c_fmus.FMUS[name]
        text = c_fmus.description(name, source, variables, flags).encode()
        return {"modelDescription.xml": text, "binaries/linux64/x.so": bytes(range(256)), "resources/a.txt": b"a"}

    if kind == "fmu":
        return fmu("sink")
    inside = {f"resources/{name}.fmu": packed(fmu(name)) for name in ("lag_deg", "lag_rad")}
    return {"SystemStructure.ssd": FOREIGN.encode(), "resources/values.ssv": VALUES.encode(), **inside}


def packed(content: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return out.getvalue()


def change_xml(rng: random.Random, text: bytes) -> bytes:
    """Change a value, leave a piece out, or say one twice; some changes are not XML any more."""
    for _ in range(rng.randint(1, 4)):
        how = rng.randrange(5)
        values = list(re.finditer(rb'"[^"<>]*"', text))
        tags = list(re.finditer(rb"<[^<>]+>", text))
        if how <= 1 and values:
            place = rng.choice(values)
            text = text[: place.start()] + f'"{rng.choice(WORDS)}"'.encode() + text[place.end() :]
        elif how == 2 and values:
            attributes = list(re.finditer(rb'\s\w+="[^"<>]*"', text))
            place = rng.choice(attributes)
            text = text[: place.start()] + text[place.end() :]
        elif how == 3 and tags:
            place = rng.choice(tags)
            text = text[: place.start()] + place[0] * rng.choice([0, 2, 40]) + text[place.end() :]
        else:
            whole = [m for m in tags if m[0].endswith(b"/>")]
            if whole:
                place = rng.choice(whole)
                text = text[: place.start()] + place[0] * rng.choice([0, 2, 1000]) + text[place.end() :]
    return text


def change_bytes(rng: random.Random, data: bytes) -> bytes:
    """Damage a file: bytes, a piece that is missing or twice, or a number in a record of the zip format."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 5)):
        if not out:
            break
        place, how = rng.randrange(len(out)), rng.randrange(5)
        if how == 0:
            out[place] = rng.randrange(256)
        elif how == 1:
            del out[place : place + rng.randint(1, 200)]
        elif how == 2:
            out[place:place] = out[place : place + rng.randint(1, 200)]
        elif how == 3:
            del out[place:]
        else:
            records = [m.start() for m in re.finditer(rb"PK[\1\3\5\6][\2\4\6\7]", bytes(out))]
            if records:
                at = rng.choice(records) + rng.randrange(4, 46)
                value = rng.choice([0, 1, 0xFFFF, 0xFFFFFFFF, 0x7FFFFFFF, rng.getrandbits(32)])
                out[at : at + 4] = struct.pack("<I", value)
    return bytes(out)


def case(kind: str, seed: int, folder: Path) -> Path:
    rng = random.Random(f"{kind} {seed}")
    content = members(kind)
    how = rng.randrange(4)
    if how in (0, 1):
        xml = [name for name in content if name.endswith((".xml", ".ssd", ".ssv"))]
        name = rng.choice(xml)
        content[name] = change_xml(rng, content[name])
    elif how == 2:
        name = rng.choice(list(content))
        content[rng.choice(NAMES)] = content.pop(name) if rng.random() < 0.5 else content[name]
    data = packed(content)
    file = folder / f"case.{kind}"
    file.write_bytes(change_bytes(rng, data) if how == 3 or rng.random() < 0.1 else data)
    return file


def look(file: Path) -> None:
    """Do all that is done with an archive before something in it runs."""
    if file.suffix == ".fmu":
        found = fmu_export.info(file)
        assert str(found)
        assert read_description(file).identifier
        CosimSystem({"a": FMU(file)})
    else:
        system = load_system(file)
        assert system.descriptions
        assert system.loops is not None


@pytest.mark.parametrize("kind", ["fmu", "ssp"])
def test_archives(kind, tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))

    def ring(number, frame):
        raise BaseException("a hang")

    before, memory = signal.signal(signal.SIGALRM, ring), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    read, refused = 0, []
    try:
        for seed in range(SEEDS):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                file = case(kind, seed, tmp_path)
            signal.alarm(SECONDS)
            try:
                look(file)
                read += 1
            except LiegeoError as error:
                refused.append(str(error).strip())
            except BaseException as error:
                raise AssertionError(f"{kind}, seed {seed}: {type(error).__name__}: {error}") from error
            finally:
                signal.alarm(0)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert all(refused)
    # some are as good as before, and most are not
    assert 0.02 * SEEDS < read < 0.8 * SEEDS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < MEMORY
    assert not list((tmp_path / "temporary").iterdir())
