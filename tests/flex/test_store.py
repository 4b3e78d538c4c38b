"""The store of reductions: the same content once, whatever it is called; on disk right or not found."""

from __future__ import annotations

import dataclasses
import io
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import liegeo as lg
from liegeo import flex
from liegeo._cache import private_file
from liegeo.errors import InputError, ModelError
from liegeo.flex import store as store_module
from liegeo.flex.modes import Shapes
from liegeo.flex.sections import Material, rectangle
from liegeo.io import flexible

ROOT = Path(__file__).parents[2]
ALUMINIUM = Material(E=7.2e10, rho=2700.0, nu=0.3)


def beam(name="beam", n=40, height=0.03):
    """Large enough to be kept on disk."""
    return flex.beam(1.0, rectangle(0.02, height), ALUMINIUM, n, name=name)


@pytest.fixture
def made(monkeypatch):
    """How often shapes are found."""
    calls, shapes = [], flex.Component.shapes
    monkeypatch.setattr(flex.Component, "shapes", lambda *given: calls.append(given[1]) or shapes(*given))
    return calls


def same(a, b):
    return a.shapes.tobytes() == b.shapes.tobytes() and a.frequencies.tobytes() == b.frequencies.tobytes()


OPTIONS = {
    "craig-bampton": {"interfaces": ["0", "40"], "root": "0"},
    "constraint": {"interfaces": ["0", "40"], "imaginary": "20"},
    "loaded-interface": {"interfaces": ["40"], "root": "0", "loads": {"40": np.diag([1, 1, 1, 4.0, 4.0, 4.0])}},
    "krylov": {"interfaces": ["40"], "root": "0"},
    "attachment": {"interfaces": {"40": (3, 4, 5)}, "fixed": ["0"]},
}


@pytest.mark.parametrize("method", OPTIONS)
def test_what_comes_from_the_store_has_the_bits_of_what_is_reduced(method, made, tmp_path):
    options = {"method": method, "n_modes": 6, **OPTIONS[method]}
    direct = flex.reduce(beam(), **options)
    for _ in range(2):
        # another store in the same folder: as another process
        store = flex.ReductionStore(tmp_path)
        for name in ("left", "right"):
            found = store.reduce(beam(name), **options)
            assert same(found, direct)
            assert found.fe.name == name
            assert (found.n_dynamic, found.n_static) == (direct.n_dynamic, direct.n_static)
            assert found.characterisation == direct.characterisation
            assert same(found.truncated(3), direct.truncated(3))
    assert len(made) == 2
    assert len(list(tmp_path.rglob("*.arrays"))) == 1


def mirrored():
    """Directions have other names: y and z, and the rotations about them."""
    fe = beam()
    return fe._with(dofs=np.stack([fe.dofs[:, 0], np.array([0, 2, 1, 3, 5, 4])[fe.dofs[:, 1]]], axis=1))


DIFFERENT = {
    "stiffness": lambda: (beam(height=0.03 * (1 + 1e-15)), {}),
    "elements": lambda: (beam(n=41), {"interfaces": ["0", "41"]}),
    "number of modes": lambda: (beam(), {"n_modes": 7}),
    "choice": lambda: (beam(), {"n_modes": None, "max_frequency": 900.0}),
    "interfaces": lambda: (beam(), {"interfaces": ["0", "39"]}),
    "directions": lambda: (beam(), {"interfaces": {"0": range(6), "40": (3, 4, 5)}}),
    "boundary": lambda: (beam(), {"interfaces": ["40"], "fixed": ["0"], "root": None}),
    "root": lambda: (beam(), {"root": "40"}),
    "no root": lambda: (beam(), {"root": None}),
    "mode set": lambda: (beam(), {"method": "attachment"}),
    "imaginary support": lambda: (beam(), {"method": "constraint", "root": None, "imaginary": "20"}),
    "loads": lambda: (beam(), {"method": "loaded-interface", "loads": {"40": np.eye(6)}}),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_what_differs_is_reduced_by_itself(what, made, tmp_path):
    store = flex.ReductionStore(tmp_path)
    usual = {"interfaces": ["0", "40"], "root": "0", "n_modes": 6}
    store.reduce(beam(), **usual)
    fe, options = DIFFERENT[what]()
    if what == "stiffness":
        # in the last bit
        stiffness = beam().stiffness.copy()
        stiffness.data[0] = np.nextafter(stiffness.data[0], np.inf)
        fe = beam()._with(stiffness=stiffness)
    options = usual | options
    found = store.reduce(fe, **options)
    assert len(made) == 2
    assert same(found, flex.reduce(fe, **options))


def test_loads_and_supports_count_by_value_and_place(made, tmp_path):
    store = flex.ReductionStore(tmp_path)
    for node in ("20", "40"):
        for mass in (1.0, 2.0):
            loads = {node: mass * np.eye(6)}
            store.reduce(beam(), ["40"], "loaded-interface", n_modes=3, root="0", loads=loads)
    for node in ("10", "20"):
        store.reduce(beam(), ["0", "40"], "constraint", n_modes=3, imaginary=node)
    assert len(made) == 6


def test_nobody_changes_what_others_have(tmp_path):
    for _ in range(2):
        found = flex.ReductionStore(tmp_path).reduce(beam(), ["0", "40"], n_modes=3, root="0")
        for array in (found.shapes, found.frequencies, found.found.dynamic):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0.0


def test_the_boundary_counts(made, tmp_path):
    store = flex.ReductionStore(tmp_path)
    for fixed in (["0"], ["0", "1"]):
        found = store.reduce(beam(), ["40"], n_modes=3, fixed=fixed)
        assert same(found, flex.reduce(beam(), ["40"], n_modes=3, fixed=fixed))
    assert len(made) == 4


def test_where_degrees_of_freedom_are_counts(made, tmp_path):
    """Without a root, which would say it too."""
    store = flex.ReductionStore(tmp_path)
    moved = beam()._with(positions=beam().positions + np.array([0.0, 1.0, 0.0]))
    for fe in (beam(), moved, mirrored()):
        store.reduce(fe, ["40"], n_modes=3, fixed=["0"])
    assert len(made) == 3
    for fe in (beam(), mirrored()):
        store.reduce(fe, (), "free-interface", n_modes=3)
    assert len(made) == 5


def test_the_order_of_entries_in_a_matrix_does_not_count(made, tmp_path):
    store = flex.ReductionStore(tmp_path)
    store.reduce(beam(), ["0", "40"], n_modes=3, root="0")
    fe = beam()
    for matrix in (fe.mass, fe.stiffness):
        for a, b in zip(matrix.indptr, matrix.indptr[1:], strict=False):
            matrix.indices[a:b], matrix.data[a:b] = matrix.indices[a:b][::-1].copy(), matrix.data[a:b][::-1].copy()
        matrix.has_sorted_indices = False
    store.reduce(fe, ["0", "40"], n_modes=3, root="0")
    assert len(made) == 1


def test_names_of_nodes_do_not_matter(made, tmp_path):
    store = flex.ReductionStore(tmp_path)
    store.reduce(beam(), ["0", "40"], n_modes=3, root="0")
    renamed = beam()._with(names=[f"n{i}" for i in range(41)])
    found = store.reduce(renamed, ["n0", "n40"], n_modes=3, root="n0")
    assert len(made) == 1
    assert found.fe is renamed


def test_a_root_that_is_observed(made, tmp_path):
    """An RBE3 node is no degree of freedom; what it follows counts."""
    store = flex.ReductionStore(tmp_path)
    frame = flex.Frame(ALUMINIUM)
    for name, position in {"a": (0, 0, 0), "b": (1, 0, 0), "c": (0, 1, 0), "d": (0, 0, 1)}.items():
        frame.node(name, position)
    for name in "bcd":
        frame.beam("a", name, rectangle(0.02, 0.03), n_elements=12)
    for nodes in (["a", "b", "c"], ["b", "c", "d"]):
        fe = frame.model().average("root", nodes, position=(0.0, 0.0, 0.0))
        found = store.reduce(fe, (), "free-interface", n_modes=4, root="root")
        assert same(found, flex.reduce(fe, (), "free-interface", n_modes=4, root="root"))
    assert made == ["free-interface"] * 4


def damaged(path):
    """Files that something happened to, by what."""
    content = path.read_bytes()
    body = private_file(path)
    n = beam().n

    def sealed(**arrays):
        """Write these in the order of the fields of Shapes, under a digest that is right."""
        out = io.BytesIO()
        for each in dataclasses.fields(Shapes):
            if each.name in arrays:
                np.save(out, arrays[each.name])
        private_file(path, out.getvalue())

    yield "one bit", lambda: path.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    yield "cut off", lambda: path.write_bytes(content[: len(content) // 2])
    yield "empty", lambda: path.write_bytes(b"")
    yield "a folder", lambda: (path.unlink(), path.mkdir())
    yield "gone", lambda: path.rmdir()
    yield "no arrays", lambda: private_file(path, b"not a file of arrays")
    yield "an archive", lambda: private_file(path, b"PK\x03\x04" + bytes(200))
    yield "half of the arrays", lambda: private_file(path, body[: len(body) // 2])
    yield "one array", lambda: sealed(frequencies=np.zeros(3))
    yield "objects", lambda: sealed(dynamic=np.array([{}]), static=np.zeros(1), frequencies=np.zeros(1))
    yield (
        "other sizes",
        lambda: sealed(dynamic=np.zeros((n, 2)), static=np.zeros((n, 6)), frequencies=np.zeros(3)),
    )
    yield (
        "another component",
        lambda: sealed(dynamic=np.zeros((n, 3)), static=np.zeros((n - 1, 6)), frequencies=np.zeros(3)),
    )


def test_damage_costs_a_reduction_and_nothing_else(made, tmp_path):
    options = {"interfaces": ["0", "40"], "root": "0", "n_modes": 6}
    direct = flex.ReductionStore(tmp_path).reduce(beam(), **options)
    (path,) = tmp_path.rglob("*.arrays")
    for what, damage in damaged(path):
        damage()
        made.clear()
        assert same(flex.ReductionStore(tmp_path).reduce(beam(), **options), direct), what
        assert len(made) == 1, what


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has no such modes")
def test_what_others_may_write_is_not_taken(made, tmp_path):
    options = {"interfaces": ["0", "40"], "root": "0", "n_modes": 6}
    flex.ReductionStore(tmp_path).reduce(beam(), **options)
    (path,) = tmp_path.rglob("*.arrays")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    path.chmod(0o666)
    flex.ReductionStore(tmp_path).reduce(beam(), **options)
    assert len(made) == 2


def test_a_folder_that_cannot_be_made_is_no_harm(made, tmp_path):
    (tmp_path / "file").write_text("in the way")
    store = flex.ReductionStore(tmp_path / "file")
    for _ in range(2):
        store.reduce(beam(), ["0", "40"], n_modes=2, root="0")
    assert len(made) == 1


def test_small_components_are_kept_in_memory_alone(made, tmp_path):
    store = flex.ReductionStore(tmp_path)
    for _ in range(2):
        store.reduce(beam(n=20), ["0", "20"], n_modes=2, root="0")
    assert len(made) == 1
    assert not list(tmp_path.rglob("*.arrays"))


def test_the_folder_is_bounded(tmp_path):
    """The entries that were used last stay; files of others stay; what a killed process left goes after an hour."""
    written = {}
    for n_modes in range(2, 8):
        known = set(tmp_path.rglob("*.arrays"))
        flex.ReductionStore(tmp_path).reduce(beam(), ["0", "40"], n_modes=n_modes, root="0")
        (written[n_modes],) = set(tmp_path.rglob("*.arrays")) - known
        past = time.time() - 1000.0 + n_modes
        os.utime(written[n_modes], (past, past))
    folder = written[2].parent
    notes, left, fresh = (folder / name for name in ("notes.txt", "left.tmp", "fresh.tmp"))
    for path in (notes, left, fresh):
        path.write_bytes(b"half")
    os.utime(left, (time.time() - 7200.0,) * 2)
    # the oldest is read, and so the newest; then another one comes, and with it there are too many
    store = flex.ReductionStore(tmp_path, most_bytes=110_000)
    store.reduce(beam(), ["0", "40"], n_modes=2, root="0")
    assert all(path.exists() for path in (*written.values(), notes, left, fresh))
    store.reduce(beam(), ["0", "40"], n_modes=1, root="0")
    kept = {n_modes for n_modes, path in written.items() if path.exists()}
    assert kept == {2, 5, 6, 7}
    assert len(list(folder.glob("*.arrays"))) == 5
    assert sum(path.stat().st_size for path in folder.glob("*.arrays")) <= 110_000
    assert notes.exists()
    assert fresh.exists()
    assert not left.exists()


def test_one_that_is_too_large_is_not_written(tmp_path):
    flex.ReductionStore(tmp_path, most_bytes=60_000).reduce(beam(), ["0", "40"], n_modes=6, root="0")
    assert not list(tmp_path.rglob("*.arrays"))


def test_few_are_kept_in_memory(made):
    store = flex.ReductionStore(most_bytes=0, most_kept=2)
    for n_modes in (1, 2, 1, 3, 1, 2):
        store.reduce(beam(), ["0", "40"], n_modes=n_modes, root="0")
    # 2 was forgotten when 3 came, because 1 was used after it
    assert len(made) == 4
    assert len(store) == 2
    store.forget()
    assert len(store) == 0


def test_the_switch(monkeypatch, made, tmp_path):
    monkeypatch.setenv("LIEGEO_CACHE_DIR", str(tmp_path))
    for given, files in (("off", 0), ("OFF", 0), ("0", 0), ("20", 1), ("", 1)):
        monkeypatch.setenv("LIEGEO_REDUCTIONS", given)
        store = flex.ReductionStore()
        store.reduce(beam(), ["0", "40"], n_modes=2, root="0")
        assert len(list((tmp_path / "reductions").rglob("*.arrays"))) == files
    assert store.folder.parent == tmp_path / "reductions"
    assert len(made) == 4
    monkeypatch.delenv("LIEGEO_REDUCTIONS")
    assert flex.ReductionStore().most_bytes == 500_000_000
    assert repr(flex.ReductionStore()) == f"<store of reductions: 0 in memory, up to 500 MB in {store.folder}>"
    assert repr(flex.ReductionStore(most_bytes=0)) == "<store of reductions: 0 in memory, none on disk>"


@pytest.mark.parametrize("given", ["lots", "-1", "nan", "inf"])
def test_a_switch_that_says_nothing(monkeypatch, given):
    monkeypatch.setenv("LIEGEO_REDUCTIONS", given)
    with pytest.raises(
        InputError, match=rf"LIEGEO_REDUCTIONS is '{given}', expected a number of megabytes ≥ 0, or off\."
    ):
        flex.ReductionStore().reduce(beam(), ["0", "40"], n_modes=2, root="0")


@pytest.mark.parametrize("name", ["most_bytes", "most_kept"])
def test_bounds_are_not_negative(name):
    with pytest.raises(InputError, match=rf"ReductionStore: {name} is -1, must be ≥ 0\."):
        flex.ReductionStore(**{name: -1})


def test_the_store_refuses_what_reduce_refuses():
    store = flex.ReductionStore(most_bytes=0)
    for options, message in (
        ({"method": "magic", "n_modes": 1}, "mode set 'magic' is unknown"),
        ({"interfaces": ["99"], "n_modes": 1}, "has no node '99'"),
        ({"n_modes": 1, "effective_mass": 0.5}, "expected exactly one of"),
    ):
        with pytest.raises(ModelError, match=message):
            store.reduce(beam(), **options)
    assert len(store) == 0


def test_other_sources_have_another_folder(monkeypatch, tmp_path):
    before = flex.ReductionStore(tmp_path).folder
    store_module._stamp.cache_clear()
    monkeypatch.setattr(store_module.np, "__version__", "another")
    assert flex.ReductionStore(tmp_path).folder != before
    store_module._stamp.cache_clear()


MODEL = """
liegeo: 1
name: wings
materials:
  aluminium: {E: 70 GPa, nu: 0.3, rho: 2700 kg/m^3}
sections:
  bar: {kind: rectangle, width_y: 20 mm, height_z: 4 mm}
bodies:
  hub: {kind: rigid, mass: 3 kg, inertia: [1, 1, 1]}
  left: &wing
    kind: beam
    length: 2 m
    material: aluminium
    section: bar
    elements: 40
    modes: {interfaces: [0, 40], root: 0, count: 4}
    nodes: [40]
  right: *wing
joints:
  base: {kind: free, parent: world, child: hub}
  a: {kind: fixed, parent: hub, child: left, child_at: 0}
  b: {kind: fixed, parent: hub, child: right, child_at: 0}
"""


def test_files_reduce_identical_components_once(monkeypatch, made, tmp_path):
    path = tmp_path / "wings.yaml"
    path.write_text(MODEL, encoding="utf-8")
    floats = []
    for _ in range(2):
        monkeypatch.setattr(flexible, "STORE", flex.ReductionStore(tmp_path / "store"))
        floats.append(lg.load(path).compile().floats.tobytes())
    assert len(made) == 1
    assert floats[0] == floats[1]


@pytest.mark.foreign
def test_processes_share_the_store(tmp_path):
    """Several commands at the same moment, then one that finds everything; all have the same numbers."""
    path = tmp_path / "wings.yaml"
    path.write_text(MODEL, encoding="utf-8")
    script = (
        "import sys, hashlib, liegeo as lg\n"
        "from liegeo import flex\n"
        "calls, shapes = [], flex.Component.shapes\n"
        "flex.Component.shapes = lambda *given: calls.append(1) or shapes(*given)\n"
        "model = lg.load(sys.argv[1]).compile()\n"
        "print(hashlib.sha256(model.floats.tobytes()).hexdigest(), len(calls))\n"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        "LIEGEO_CACHE_DIR": str(tmp_path / "cache"),
    }
    call = [sys.executable, "-W", "error", "-c", script, str(path)]
    options = {"env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    together = [subprocess.Popen(call, **options) for _ in range(3)]
    outputs = [process.communicate()[0].split() for process in together]
    after = subprocess.run(call, check=True, **options).stdout.split()
    assert {output[0] for output in outputs} == {after[0]}
    assert after[1] == "0"
    assert len(list((tmp_path / "cache/reductions").rglob("*.arrays"))) == 1
    assert not list((tmp_path / "cache/reductions").rglob("*.tmp"))
