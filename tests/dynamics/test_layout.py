"""The tables of layout.py: no two regions overlap, all memory is covered, writers and readers are the true ones."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import layout_models
import numpy as np
import pytest

from liegeo.io import load, shipped
from liegeo.kernels import (
    articulated,
    composite,
    constraints,
    elements,
    inertia,
    inverse,
    joint_elements,
    kinematics,
    layout_text,
    loops,
    motion,
    observe,
    reduced,
    regions,
)
from liegeo.kernels import layout as at
from liegeo.kernels.access import ACCESS
from liegeo.motion import Drive

ROOT = Path(__file__).parents[2]
MODELS = layout_models.models()
NAMES = {table: name for name, table in at.TABLES.items()}


# ---- tables


def test_constants_are_the_offsets_of_their_fields():
    """A line whose two names differ would give a field the place of another."""
    seen = {}
    for name, table in at.TABLES.items():
        for field in table.fields:
            if field.offset is not None and hasattr(at, field.name):
                assert getattr(at, field.name) == field.offset, f"{name}.{field.name}"
                assert seen.setdefault(field.name, name) == name, f"{field.name} is in two tables"
        names = [field.name for field in table.fields]
        assert len(set(names)) == len(names), name
    for kinds in at.KINDS.values():
        for value, (name, _) in enumerate(kinds.values):
            assert getattr(at, name) == value


def test_aliases_are_fields_one_behind_another():
    for name, table in at.TABLES.items():
        names = [field.name for field in table.fields]
        for alias in table.aliases:
            start = names.index(alias.of[0])
            assert tuple(names[start : start + len(alias.of)]) == alias.of, name
            assert alias.name not in names
            assert getattr(at, alias.name, table.fields[start].offset) == table.fields[start].offset
    assert at.MU == at.GAIN == at.PRF


def test_constants_are_plain_numbers():
    """Numba builds whole numbers of a module into its code."""
    constants = {name: value for name, value in vars(at).items() if name.isupper() and not name.startswith("_")}
    plain = {name for name, value in constants.items() if type(value) is int}
    assert set(constants) - plain == {*at.TABLES, *at.KINDS, "TABLES", "KINDS", "NO_GRAVITY"}
    assert len(plain) > 150


def test_a_table_refuses_offsets_and_sizes_that_are_no_constants():
    table = at.Table("of a test", "W", "0")
    assert table.add("A", "2*n", "an expression") == 0
    with pytest.raises(ValueError, match=r"table 'of a test': the offset of 'B' is no constant.  Use `add_behind`"):
        table.add("B", 1, "behind it")
    with pytest.raises(ValueError, match=r"table 'of a test': its size is no constant.  Use `size`"):
        _ = table.end
    table.add_behind("B", 3, "behind it")
    assert [place[1:] for place in table.places(5, n=4)] == [(5, 13), (13, 16)]
    assert table.size(n=4) == 11


def test_kinds_know_their_data():
    kinds = at.Kinds("of a test", "I[0]")
    table = at.Table("of a test", "F", "0")
    assert (kinds.add("PLAIN", "without data"), kinds.add("RICH", "with data", table)) == (0, 1)
    assert kinds.table(1) is table
    with pytest.raises(ValueError, match="kinds 'of a test': PLAIN has no table of data"):
        kinds.table(0)
    for kinds in (at.ELEMENT_KINDS, at.JOINT_ELEMENT_KINDS):
        assert None not in kinds.data


def test_every_kind_of_element_has_a_law():
    for laws in (elements.LAWS, joint_elements.LAWS):
        for kind, (name, _) in enumerate(laws.kinds.values):
            assert kind in laws, f"{name}: {laws.missing(kind)}"


def test_offsets_that_kernels_compute_are_those_of_the_tables():
    """Offsets behind sizes that a model decides are arithmetic in kernels: a second place, which must agree."""
    checked = set()
    for model in MODELS.values():
        I = model.ints
        places = {(NAMES[r.table], r.field.name, r.owner): r.start for r in regions.regions(I)}
        starts = {(NAMES[r.table], r.field.name): r.start for r in regions.motion_regions(I)}
        for i in range(len(model.bodies)):
            b, owner = int(at.rows(i)[0]), f"body {i}"
            if I[b + at.NM]:
                found = at.modal_matrices(I, b)
                names = [("MODAL_DATA", "M_CR1"), ("MODAL_DATA", "M_J2"), ("MODAL_MASSES", "ME")]
                names += [("MODAL_MATRICES", "K"), ("MODAL_MATRICES", "D")]
                # of the first two a ruthless model has none
                start = 0 if I[at.FULL] else 2
                assert list(found[start:]) == [places[*name, owner] for name in names[start:]]
                checked.add("modes")
            if I[b + at.REDUCED] >= 0:
                names = ("LAMBDA_F", "LAMBDA_MU", "UPSILON", "ROOT", "E", "SQUARE")
                assert list(reduced._constants(I, b)) == [places["REDUCED_DATA", name, owner] for name in names]
                found = [places["REDUCED_SCRATCH", name, owner] for name in ("PSI", "X_SERIES")]
                assert list(reduced._scratch(I, b)) == found
                checked.add("reduced")
        if model.rows:
            names = ("ROWS_A", "L", "ROWS_E", "ROWS_G", "MARKS")
            found = [places["CONSTRAINT_SCRATCH", name, "model"] for name in names]
            assert list(at.constraint_parts(I)) == [*found, places["CUT_PARTS", "CUT_X", "model"]]
            checked.add("constraints")
        names = ("A", "B", "WORLD_POSES", "NUMBERS", "REGISTERS", "COMPLEX_W")
        assert list(motion._parts(I)) == [starts["MOTION_SCRATCH", name] for name in names]
        assert at.first_state(I) == places["DRIVE_VECTOR", "STATES_X", "model"]
    assert checked == {"modes", "reduced", "constraints"}


# ---- overlap


def _overlaps(found):
    """Pairs of regions that share a place, unless they are one row of tables whose equal contents are kept once."""
    ordered = sorted((r for r in found if r.stop > r.start), key=lambda r: (r.array, r.start))
    active, out = [], []
    for region in ordered:
        active = [other for other in active if other.array == region.array and other.stop > region.start]
        for other in active:
            same_row = (other.row_start, other.row_stop) == (region.row_start, region.row_stop)
            if not (same_row and other.table.shared and region.table.shared):
                out.append((other, region))
        active.append(region)
    return out


def _text(region):
    place = f"{region.array}[{region.start}:{region.stop}]"
    return f"{place} ({NAMES[region.table]}.{region.field.name} of {region.owner})"


def _check_regions(model):
    drive = Drive(model, layout_models.inputs_of(model)).system
    found = regions.regions(model.ints) + regions.motion_regions(model.ints)
    found += regions.drive_regions(drive.ints, int(model.ints[at.N_U]))
    assert not [f"{_text(a)} and {_text(b)} overlap" for a, b in _overlaps(found)]
    arrays = {"I": model.ints, "F": model.floats, "S": drive.ints, "D": drive.floats}
    sizes = {name: len(array) for name, array in arrays.items()}
    I, bodies = model.ints, len(model.bodies)
    sizes["W"] = motion.work_size(int(I[at.N_WORK]), int(I[at.N_U]), model.nv, model.nx, model.nq, bodies)
    sizes["u"] = int(I[at.N_U])
    for name, size in sizes.items():
        covered = np.zeros(size, dtype=bool)
        for region in found:
            if region.array == name:
                assert 0 <= region.start <= region.stop <= size, region
                covered[region.start : region.stop] = True
        assert covered.all(), f"{name}[{np.flatnonzero(~covered)[:9]}] belongs to no field"


@pytest.mark.parametrize("name", MODELS)
def test_no_regions_overlap_and_nothing_is_left_over(name):
    _check_regions(MODELS[name])


@pytest.mark.parametrize("name", shipped.paths())
def test_the_same_of_shipped_models(name):
    _check_regions(load(shipped.find(name)).tree.compile())


def test_models_have_every_table():
    """Otherwise the tests above say nothing of some of them."""
    found = {NAMES[r.table] for model in MODELS.values() for r in regions.regions(model.ints) if r.stop > r.start}
    elsewhere = {"MOTION_SCRATCH", "DRIVE_INTS", "DRIVE_FLOATS", "TABLE_ROW", "TABLE_DATA"}
    elsewhere |= {"PROGRAM_ROW", "PROGRAM_DATA", "STEP_ROW"}
    assert found | elsewhere == set(at.TABLES)


def test_overlaps_are_found():
    """A row that is moved by one number meets its neighbour."""
    model = MODELS["full"]
    ints = model.ints.copy()
    b = next(int(at.rows(i)[0]) for i in range(len(model.bodies)) if ints[at.rows(i)[0] + at.NM])
    ints[b + at.FLEX] += 1
    (first, second), *_ = _overlaps(regions.regions(ints))
    assert "MODAL_SCRATCH" in {NAMES[first.table], NAMES[second.table]}


# ---- writers and readers


@pytest.mark.slow
def test_every_access_is_declared():
    """Writers and readers of access.py are those that are seen when kernels run as plain Python: no more, no fewer."""
    command = [sys.executable, str(Path(__file__).with_name("layout_trace.py"))]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    seen = json.loads(answer.stdout)
    wrong = []
    for name, table in at.TABLES.items():
        for field in table.fields:
            writers, readers = seen.get(f"{name}.{field.name}", ([], []))
            declared = ACCESS[name][field.name]
            pairs = [("readers", readers, declared.readers)]
            if table.array == "W":
                pairs.append(("writers", writers, declared.writers))
            else:
                assert not writers, f"kernels write {name}.{field.name}: {writers}"
            for column, found, said in pairs:
                for word, names in (("add", set(found) - set(said)), ("take away", set(said) - set(found))):
                    if names:
                        wrong.append(f"{name}.{field.name}, {column}: {word} {' '.join(sorted(names))}")
    assert not wrong, "liegeo/kernels/access.py is not what was seen:\n" + "\n".join(wrong)


def test_access_has_every_field_and_only_functions_that_exist():
    assert {name: {f.name for f in table.fields} for name, table in at.TABLES.items()} == {
        name: set(fields) for name, fields in ACCESS.items()
    }
    for name in {name for fields in ACCESS.values() for access in fields.values() for name in access.writers}:
        module, *inside = _resolve(name)
        found = module
        for part in inside:
            found = getattr(found, part)
        assert callable(found), name


def _resolve(name):
    """The module of a writer, and the names inside it."""
    if name.startswith("liegeo.motion."):
        return importlib.import_module("liegeo.motion"), *name.split(".")[2:]
    module, *inside = name.split(".")
    if module in ("model", "custom"):
        return importlib.import_module(f"liegeo.model.{module}"), *inside
    if module == "compiler":
        compiler = importlib.import_module("liegeo.model.compiler")
        return (compiler if hasattr(compiler, inside[0]) else compiler.Compiler), *inside
    return importlib.import_module(f"liegeo.kernels.{module}"), *inside


# ---- NaN: the same of compiled kernels, as far as memory shows it


def _reach(function):
    """Names of a kernel and of all that it calls, directly or not: "module.function"."""
    found, seen, todo = set(), set(), [function]
    while todo:
        plain = getattr(todo[-1], "py_func", todo[-1])
        todo.pop()
        name = f"{plain.__module__.rpartition('.')[2]}.{plain.__name__}"
        # several may have one name: the comparisons of dispatch.py
        if plain in seen or not plain.__module__.startswith("liegeo.kernels."):
            continue
        seen.add(plain)
        found.add(name)
        names = plain.__code__.co_names
        values = [plain.__globals__.get(name) for name in names]
        values += [getattr(module, name, None) for module in values if inspect.ismodule(module) for name in names]
        values += [cell.cell_contents for cell in plain.__closure__ or ()]
        todo += [value for value in values if inspect.isfunction(getattr(value, "py_func", value))]
    return found


class Pass:
    """A kernel as the tests run it: on I, F, q, v, u and W, after those that it relies on."""

    def __init__(self, function, run, after=(), needs=None, loose=()):
        self.function, self.run, self.after, self.loose = function, run, after, set(loose)
        self.kernels = _reach(function)
        # what it may read of what others left in W
        self.needs = self._fields("readers") if needs is None else set(needs)
        self.writes = self._fields("writers")

    def _fields(self, column):
        return {
            f"{name}.{field}"
            for name, fields in ACCESS.items()
            for field, access in fields.items()
            if at.TABLES[name].array == "W" and self.kernels & set(getattr(access, column))
        }


def _passes():
    k, a, n = kinematics, articulated, inverse
    poses = Pass(k.poses, lambda c: k.poses(c.I, c.F, c.q, c.W), needs=())
    velocities = Pass(k.velocities, lambda c: k.velocities(c.I, c.F, c.q, c.v, c.W), [poses])
    inertias = Pass(inertia.inertias, lambda c: inertia.inertias(c.I, c.F, c.q, c.W), needs=())
    moving = [poses, velocities]
    biases = Pass(inertia.biases, lambda c: inertia.biases(c.I, c.F, c.q, c.v, c.W), moving)
    world = Pass(k.world_poses, lambda c: k.world_poses(c.I, c.W, c.world, 0), [poses])
    frames = Pass(elements.place_frames, lambda c: elements.place_frames(c.I, c.F, c.q, c.v, c.W), moving)
    push = Pass(
        elements.apply_elements, lambda c: elements.apply_elements(c.I, c.F, c.q, c.v, c.u, c.W), [*moving, biases]
    )
    rates = Pass(n.accelerations, lambda c: n.accelerations(c.I, c.F, c.u, at.NO_GRAVITY, c.W), moving)
    forces = Pass(n.forces, lambda c: n.forces(c.I, c.F, c.q, c.v, c.u, c.W, c.out), [*moving, biases, rates])
    forward = Pass(a.forward_dynamics, lambda c: a.forward_dynamics(c.I, c.F, c.q, c.v, c.u, c.W, c.out), needs=())
    backward = Pass(n.inverse_dynamics, lambda c: n.inverse_dynamics(c.I, c.F, c.q, c.v, c.u, c.W, c.out), needs=())
    factors = Pass(a.factorise, lambda c: a.factorise(c.I, c.F, c.q, 0.1, 0.2, c.W), needs=())
    energies = Pass(
        observe.energies,
        lambda c: observe.energies(c.I, c.F, c.q, c.v, c.u, c.W, c.world, c.numbers),
        [*moving, inertias, world],
    )
    jacobian = Pass(observe.jacobian, lambda c: observe.jacobian(c.I, c.W, 0, c.X, c.Pi, c.scratch, c.J), [poses])
    return {
        "poses": poses,
        "velocities": velocities,
        "inertias": inertias,
        "biases": biases,
        "world_poses": world,
        "place_frames": frames,
        "apply_elements": push,
        "accelerations": rates,
        "forces": forces,
        "forward_dynamics": forward,
        "inverse_dynamics": backward,
        "momentum": Pass(n.momentum, lambda c: n.momentum(c.I, c.F, c.q, c.v, c.W, c.out), needs=()),
        "displacement": Pass(n.displacement, lambda c: n.displacement(c.I, c.F, c.q, c.v, c.W, c.numbers), needs=()),
        "mass_matrix": Pass(composite.mass_matrix, lambda c: composite.mass_matrix(c.I, c.F, c.q, c.W, c.M), needs=()),
        "factorise": factors,
        "factorise_next": Pass(
            a.factorise_next, lambda c: a.factorise_next(c.I, c.F, c.q, 0.1, 0.2, c.local, c.W), [backward]
        ),
        "substitute": Pass(a.substitute, lambda c: a.substitute(c.I, c.F, c.v, c.W, c.out), [factors]),
        "energies": energies,
        "jacobian": jacobian,
    }


def _constrained_passes():
    l, found = loops, _passes()
    moving = [found["poses"], found["velocities"]]
    rows = Pass(constraints.evaluate, lambda c: constraints.evaluate(c.I, c.F, c.q, c.v, c.u, c.W), moving)
    # it gives `evaluate` any numbers as speeds and inputs, so that what depends on them is any number too
    loose = [f"CONSTRAINT_SCRATCH.{name}" for name in ("PHI", "RATE", "CURVE", "USER_WORK")]
    loose += ["FRAME_SCRATCH.V_F", "CUT_PARTS.CUT_DS"]
    factors = Pass(l.factorise, lambda c: l.factorise(c.I, c.F, c.q, 0.1, 0.2, c.W), needs=(), loose=loose)
    closing = Pass(l.closing, lambda c: l.closing(c.I, c.F, c.q, c.v, c.u, 0.1, c.W, c.out, c.more), needs=())
    given = {"CONSTRAINT_SCRATCH.LAMBDA"}
    release = Pass(l.release, lambda c: l.release(c.I, c.W), needs=())
    return {
        "evaluate": rows,
        "closing": closing,
        "jacobian": Pass(l.jacobian, lambda c: l.jacobian(c.I, c.F, c.q, c.u, c.W, c.out, c.more, c.rows), needs=()),
        "release": release,
        "forward_dynamics": Pass(
            l.forward_dynamics, lambda c: l.forward_dynamics(c.I, c.F, c.q, c.v, c.u, c.W, c.out), needs=()
        ),
        "inverse_dynamics": Pass(
            l.inverse_dynamics, lambda c: l.inverse_dynamics(c.I, c.F, c.q, c.v, c.u, c.W, c.out), [release], given
        ),
        "factorise": factors,
        "factorise_next": Pass(
            l.factorise_next, lambda c: l.factorise_next(c.I, c.F, c.q, 0.1, 0.2, c.local, c.W), needs=(), loose=loose
        ),
        "operational_inertia": Pass(
            l.operational_inertia, lambda c: l.operational_inertia(c.I, c.F, c.W), [found["factorise"], *moving, rows]
        ),
        "multipliers": Pass(l.multipliers, lambda c: l.multipliers(c.I, c.W), [closing]),
    }


PASSES, CONSTRAINED = _passes(), _constrained_passes()


class Call:
    """What a pass is called with, the workspace full of `filling`."""

    def __init__(self, model, filling):
        self.I, self.F = model.ints, model.floats
        self.q, self.v, self.u = layout_models.motion_of(model)
        self.W = np.full(len(model.workspace()), filling)
        n, nv = len(model.bodies), model.nv
        self.world, self.numbers, self.X = np.zeros(12 * (n + 1)), np.zeros(13), np.eye(4)[:3].ravel().copy()
        self.Pi, self.scratch, self.local = np.zeros(6 * nv), np.zeros(24), np.full(nv, 0.1)
        self.rows = np.zeros(len(model.rows) * nv)
        self.out, self.more, self.M, self.J = np.zeros(nv), np.zeros(nv), np.zeros((nv, nv)), np.zeros((6, nv))

    def results(self):
        return self.out, self.more, self.rows, self.M, self.J, self.world, self.numbers


def _labels(model):
    """The field of each place of W."""
    out = np.full(len(model.workspace()), "", dtype=object)
    for region in regions.regions(model.ints):
        if region.array == "W":
            out[region.start : region.stop] = f"{NAMES[region.table]}.{region.field.name}"
    return out


def _run(model, one, labels, filling):
    """Run a pass after its predecessors, with `filling` wherever it should not look; return what it was called with.

    Also which places of W it changed.
    """
    call = Call(model, filling)
    for earlier in one.after:
        earlier.run(call)
    call.W[[label not in one.needs for label in labels]] = filling
    before = call.W.view(np.int64).copy()
    one.run(call)
    return call, call.W.view(np.int64) != before


def _check_pass(model, one):
    """It writes only what it says, and what it does not say it reads changes nothing."""
    labels = _labels(model)
    loose = np.array([label in one.loose for label in labels])
    poisoned, changed = _run(model, one, labels, np.nan)
    other, changed_too = _run(model, one, labels, 1.7e5)
    written = set(labels[changed | changed_too])
    assert written <= one.writes, f"writes {written - one.writes}"
    for mine, theirs in zip(poisoned.results(), other.results(), strict=True):
        assert np.isfinite(mine).all()
        assert mine.tobytes() == theirs.tobytes()
    differ = (changed | changed_too) & (poisoned.W.view(np.int64) != other.W.view(np.int64)) & ~loose
    assert not differ.any(), f"reads something that it does not say, which shows in {set(labels[differ])}"
    return written


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_writes_and_reads_what_it_says(name):
    one, written = PASSES[name], set()
    for model in MODELS.values():
        if name in ("place_frames", "apply_elements") and not model.ints[at.N_FRAMES]:
            continue
        written |= _check_pass(model, one)
    assert written or name == "world_poses" or name == "jacobian"


@pytest.mark.parametrize("name", CONSTRAINED)
def test_a_pass_with_constraints_writes_and_reads_what_it_says(name):
    written = set()
    together = name in ("operational_inertia", "multipliers")
    for model in MODELS.values():
        if model.rows and not (together and model.ints[at.ELIMINATION]):
            written |= _check_pass(model, CONSTRAINED[name])
    assert written


# ---- the page and the header


def test_the_page_is_what_the_tables_say():
    text = (ROOT / "docs" / "layout.md").read_text("utf-8")
    assert text == layout_text.page(), "make it anew: python -m liegeo.kernels.layout_text docs/layout.md"


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_header_says_to_c_what_python_knows(tmp_path):
    """A program prints every offset and size, for some values of the symbols."""
    values = {"n": 5, "m": 7, "s": 3, "k": 12, "full": 1, "nq": 31, "nv": 29, "nu": 41, "nx": 4, "work": 1001}
    values |= {"bodies": 6, "rows": 2, "terms": 3, "user": 62, "pieces": 9, "order": 4, "constants": 8}
    values |= {"points": 5, "lists": 16, "h": 3, "dense": 1, "plan": 13, "sparse": 17, "materials": 3, "line": 11}
    expected = {}
    for name, table in at.TABLES.items():
        places = table.places(0, **values)
        for field, start, stop in places:
            macro = layout_text.macro_name(name, field)
            expected[macro] = field.offset if field.offset is not None else start
            expected[f"{macro}_SIZE"] = stop - start
        expected[f"LG_{name}_SIZE"] = places[-1].stop
    for kinds in at.KINDS.values():
        expected |= {f"LG_{kind}": value for value, (kind, _) in enumerate(kinds.values)}
    expected |= {"LG_MU": at.MU, "LG_GAIN": at.GAIN, "LG_M_END": at.M_END, "LG_R_END": at.R_END}
    text = layout_text.header()
    (tmp_path / "layout.h").write_text(text, "utf-8")
    defined = [line.split()[1].partition("(")[0] for line in text.splitlines() if line.startswith("#define ")]
    assert set(defined) - {"LIEGEO_LAYOUT_H", "LG_MAX"} == set(expected)
    assert len(set(defined)) == len(defined)
    lines = []
    for line in text.splitlines():
        if line.startswith("#define LG_") and not line.startswith("#define LG_MAX("):
            name, bracket, arguments = (
                line.split(" ", 1)[1].partition("(") if _has_arguments(line) else (line.split()[1], "", "")
            )
            given = f"({', '.join(str(values[x]) for x in arguments.split(')')[0].split(', '))})" if bracket else ""
            lines.append(f'printf("{name} %d\\n", (int)({name}{given}));')
    source = '#include <stdio.h>\n#include "layout.h"\n#include "layout.h"\nint main(void) {\n' + "\n".join(lines)
    (tmp_path / "show.c").write_text(source + "\nreturn 0; }\n", "utf-8")
    program = str(tmp_path / "show")
    subprocess.run(["cc", "-std=c99", "-Wall", "-Werror", "-o", program, str(tmp_path / "show.c")], check=True)
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    found = {name: int(value) for name, value in (line.split() for line in printed.splitlines())}
    assert found == expected


def _has_arguments(line):
    """Whether a #define is one of a macro with arguments: no blank before the bracket."""
    return "(" in line.split()[1]
