"""Every field of every row of a compiled model, as a region of its array: what the tables of layout.py say of it.

For tests, and for whoever looks at memory; no kernel uses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from liegeo.kernels import elimination_table
from liegeo.kernels import layout as at
from liegeo.kernels.crowd import lists_of
from liegeo.kernels.layout_table import LayoutField, Table


class Region(NamedTuple):
    """array[start:stop] is a field of the owner, in a row array[row_start:row_stop] of the table."""

    array: str
    start: int
    stop: int
    owner: str
    table: Table
    field: LayoutField
    row_start: int
    row_stop: int


def _row(table: Table, owner: str, start: int, **symbols: int) -> Iterator[Region]:
    places = table.places(int(start), **{name: int(value) for name, value in symbols.items()})
    for place in places:
        yield Region(table.array, place.start, place.stop, owner, table, place.field, int(start), places[-1].stop)


def regions(I: Any) -> list[Region]:
    """Return all regions of I, F, W (as far as the model needs it) and u of the model with these ints."""
    out = [*_row(at.HEADER_ROW, "model", 0)]
    for i in range(I[at.N_BODIES]):
        out += _body(I, i)
    out += _shared(I)
    for i in range(I[at.N_FRAMES]):
        out += _frame(I, i)
    for i in range(I[at.N_ELEMENTS]):
        r, owner = I[at.ELEMENTS] + i * at.ELEMENT_SIZE, f"element {i}"
        data = at.ELEMENT_KINDS.table(int(I[r + at.ELEMENT_KIND]))
        n, sizes = int(I[r + at.ELEMENT_N]), {"n": I[r + at.ELEMENT_W]}
        if I[r + at.ELEMENT_KIND] == at.CROWD:
            counts = I[r + at.ELEMENT_MORE] + n
            sizes |= {"materials": I[counts], "line": I[counts + 1]}
        out += [*_row(at.ELEMENT_ROW, owner, r), *_row(data, owner, I[r + at.ELEMENT_F], points=n, **sizes)]
        if I[r + at.ELEMENT_KIND] == at.ROPE:
            row = int(I[r + at.ELEMENT_MORE])
            out += _row(at.ROPE_ROW, owner, row, points=n)
            out += _row(at.ROPE_SCRATCH, owner, I[r + at.ELEMENT_W], points=n)
            if I[row + n] >= 0:
                out += _row(at.DRUM_DATA, owner, I[row + n + 2])
        if I[r + at.ELEMENT_KIND] == at.CROWD:
            out += _row(at.CROWD_ROW, owner, I[r + at.ELEMENT_MORE], points=n)
            out += _row(at.CROWD_SCRATCH, owner, I[r + at.ELEMENT_W], points=n, lists=lists_of(n))
    for i in range(I[at.N_ACTUATORS]):
        r, owner = I[at.ACTUATORS] + i * at.ACTUATOR_SIZE, f"actuator {i}"
        out += [*_row(at.ACTUATOR_ROW, owner, r), *_row(at.ACTUATOR_DATA, owner, I[r + at.ACTUATOR_F])]
    for i in range(I[at.N_JOINT_ELEMENTS]):
        r, owner = I[at.JOINT_ELEMENTS] + i * at.JE_SIZE, f"element {i} on joints"
        data, terms = at.JOINT_ELEMENT_KINDS.table(int(I[r + at.JE_KIND])), int(I[r + at.JE_N_TERMS])
        out += [*_row(at.JOINT_ELEMENT_ROW, owner, r), *_row(data, owner, I[r + at.JE_F], n=I[r + at.JE_N])]
        out += _row(at.FACTOR_DATA, owner, I[r + at.JE_FACTORS], terms=terms)
        for k in range(terms):
            out += _row(at.TERM_ROW, owner, I[r + at.JE_TERMS] + k * at.TERM_SIZE)
    if I[at.N_HELD] > 0:
        out += _row(at.HELD_SCRATCH, "model", I[at.HELD_W], h=I[at.N_HELD], nv=I[at.N_V], nu=I[at.N_U])
    out += _constraints(I)
    if I[at.N_FRAMES] > 0:
        out += _row(at.WORLD_SCRATCH, "model", I[at.WORLD], bodies=I[at.N_BODIES])
    out += _row(at.DRIVE_VECTOR, "model", 0, nv=I[at.N_V], nu=I[at.N_U], nx=I[at.N_X])
    return out


def _body(I: Any, i: int) -> Iterator[Region]:
    b, f, w = (int(x) for x in at.rows(i))
    n, s, k, owner = I[b + at.NM], I[b + at.NV], 6 * I[b + at.N_SLOTS], f"body {i}"
    yield from _row(at.BODY_ROW, owner, b)
    yield from _row(at.BODY_DATA, owner, f)
    yield from _row(at.BODY_SCRATCH, owner, w)
    yield from _row(at.SCREW_DATA, owner, I[b + at.SCREWS], s=s)
    if I[b + at.PARENT_NODE] >= 0:
        carried = I[at.rows(int(I[b + at.PARENT]))[0] + at.NM]
        yield from _node(I, f"node of {owner}'s joint", I[b + at.PARENT_NODE])
        yield from _row(at.CARRIER_SCRATCH, owner, I[b + at.CARRIER], n=carried)
        if I[at.FULL] == 0:
            yield from _row(at.CARRIER_DATA, owner, I[b + at.CARRIER_F], n=carried)
    if I[b + at.OWN_NODE] >= 0:
        yield from _node(I, f"own node of {owner}", I[b + at.OWN_NODE])
    if n == 0:
        return
    yield from _row(at.MODAL_DATA, owner, I[b + at.MODAL], n=n, full=I[at.FULL])
    yield from _row(at.MODAL_MASSES, owner, I[b + at.MASSES], n=n)
    yield from _row(at.MODAL_MATRICES, owner, I[b + at.MATRICES], n=n)
    yield from _row(at.MODAL_SCRATCH, owner, I[b + at.FLEX], n=n)
    for column, table in ((at.SECOND_T, at.SECOND_T_DATA), (at.SECOND_R, at.SECOND_R_DATA)):
        if I[b + column] >= 0:
            yield from _row(table, owner, I[b + column], n=n)
    if I[b + at.REDUCED] >= 0:
        yield from _row(at.REDUCED_DATA, owner, I[b + at.REDUCED], n=n, k=k)
        yield from _row(at.REDUCED_SCRATCH, owner, I[b + at.REDUCED_W], k=k)


def _shared(I: Any) -> Iterator[Region]:
    """The scratch that bodies use one after another: as much as the largest needs."""
    rows = [int(at.rows(i)[0]) for i in range(I[at.N_BODIES])]
    if I[at.FULL] == 1:
        yield from _row(at.SHARED_SCRATCH, "model", I[at.SHARED], n=max((I[b + at.NM] for b in rows), default=0))
    elif any(I[b + at.REDUCED] >= 0 for b in rows):
        k = max(6 * I[b + at.N_SLOTS] for b in rows if I[b + at.REDUCED] >= 0)
        yield from _row(at.REDUCED_SHARED, "model", I[at.SHARED], k=k)


def _node(I: Any, owner: str, r: int) -> Iterator[Region]:
    n = I[r + at.NODE_NM]
    yield from _row(at.NODE_ROW, owner, r)
    yield from _row(at.NODE_DATA, owner, I[r + at.NODE_F], n=n)
    if I[r + at.NODE_SECOND] >= 0:
        yield from _row(at.NODE_SECOND_DATA, owner, I[r + at.NODE_SECOND], n=n)


def _frame(I: Any, i: int) -> Iterator[Region]:
    r, owner = int(I[at.FRAMES] + i * at.FRAME_SIZE), f"frame {i}"
    body = int(I[r + at.FRAME_BODY])
    yield from _row(at.FRAME_ROW, owner, r)
    yield from _row(at.FRAME_DATA, owner, I[r + at.FRAME_F])
    yield from _row(at.FRAME_SCRATCH, owner, I[r + at.FRAME_W], n=I[at.rows(body)[0] + at.NM] if body >= 0 else 0)
    if I[r + at.FRAME_NODE] >= 0:
        yield from _node(I, f"node of {owner}", I[r + at.FRAME_NODE])


def _constraints(I: Any) -> Iterator[Region]:
    user = 0
    for i in range(I[at.N_CONSTRAINTS]):
        c, owner = int(I[at.CONSTRAINTS] + i * at.CONSTRAINT_SIZE), f"constraint {i}"
        kind, start, n = int(I[c + at.C_KIND]), I[c + at.C_F], I[c + at.C_N]
        yield from _row(at.CONSTRAINT_ROW, owner, c)
        if kind == at.CUT:
            yield from _row(at.CUT_DATA, owner, start, s=I[c + at.C_U])
        elif kind == at.DISTANCE:
            yield from _row(at.DISTANCE_DATA, owner, start)
        elif kind == at.POINT:
            yield from _row(at.POINT_DATA, owner, start, rows=n)
        elif kind == at.ROLLING:
            yield from _row(at.ROLLING_DATA, owner, start)
        elif kind == at.COUPLING:
            terms = I[I[c + at.C_MORE]]
            yield from _row(at.COUPLING_TERMS, owner, I[c + at.C_MORE], terms=terms)
            yield from _row(at.COUPLING_DATA, owner, start, terms=terms)
        elif kind == at.USER:
            user += n * (I[at.N_V] + 2)
    if I[at.N_ROWS] > 0:
        sizes = {"m": I[at.N_ROWS], "nv": I[at.N_V], "bodies": I[at.N_BODIES], "user": user}
        plan, work = elimination_table.sizes_of(I)
        sizes |= {"dense": int(I[at.ELIMINATION] == 0), "sparse": work}
        yield from _row(at.ELIMINATION_ROW, "model", I[at.ELIMINATION], plan=plan)
        for region in _row(at.CONSTRAINT_SCRATCH, "model", I[at.ROWS_W], **sizes):
            if region.field.name == "CUT_WORK":
                yield from _row(at.CUT_PARTS, "model", region.start)
            else:
                yield region


def motion_regions(I: Any) -> list[Region]:
    """Return the regions of W behind the model's own that the kernels of motion.py use."""
    sizes = {"nq": I[at.N_Q], "nv": I[at.N_V], "nu": I[at.N_U], "nx": I[at.N_X]}
    return [*_row(at.MOTION_SCRATCH, "motion", I[at.N_WORK], work=I[at.N_WORK], bodies=I[at.N_BODIES], **sizes)]


def drive_regions(S: Any, n_u: int) -> list[Region]:
    """Return the regions of S and D of a drive, for a model whose u has this length."""
    out = [*_row(at.DRIVE_INTS, "drive", 0), *_row(at.DRIVE_FLOATS, "drive", 0, nu=n_u)]
    for i in range(S[at.S_TABLES]):
        r, owner = at.S_ROWS + i * at.TABLE_SIZE, f"table {i}"
        sizes = {"pieces": S[r + at.TABLE_PIECES], "order": S[r + at.TABLE_ORDER]}
        out += [*_row(at.TABLE_ROW, owner, r), *_row(at.TABLE_DATA, owner, S[r + at.TABLE_D], **sizes)]
    for i in range(S[at.S_PROGRAMS]):
        r, owner = at.S_ROWS + S[at.S_TABLES] * at.TABLE_SIZE + i * at.PROGRAM_SIZE, f"program {i}"
        out += [*_row(at.PROGRAM_ROW, owner, r)]
        out += [*_row(at.PROGRAM_DATA, owner, S[r + at.PROGRAM_D], constants=S[r + at.PROGRAM_CONSTANTS])]
        for k in range(S[r + at.PROGRAM_STEPS]):
            out += _row(at.STEP_ROW, f"step {k} of {owner}", S[r + at.PROGRAM_S] + k * at.STEP_SIZE)
    return out
