"""What stands where in the plan of elimination.py, and in its scratch: in I from I[ELIMINATION] on.

All places are counted from the beginning of I and W.  These tables are apart from layout.py, because an edit there
compiles every kernel anew.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.kernels.layout_table import Table

PLAN = Table("Plan", "I", "I[ELIMINATION]")
PLAN_SIZE = PLAN.add("PLAN_SIZE", 1, "how many numbers of I the plan has")
WORK_SIZE = PLAN.add("WORK_SIZE", 1, "how many numbers of W it uses")
WORK = PLAN.add("WORK", 1, "where they begin: A_kk as a whole by row (m), its bound (m), then panels and slots")
CLEARED = PLAN.add("CLEARED", 1, "how many of them are zero before an elimination")
VECTORS = PLAN.add("VECTORS", 1, "where scratch of (7) begins in W: five numbers per row, then one per speed")
PLAN_END = PLAN.end

# One row for each body, and one for the world.
STAGE_ROW = Table("Stage", "I", "I[ELIMINATION] + PLAN_END + i * STAGE_SIZE")
N_CLOSING = STAGE_ROW.add("N_CLOSING", 1, "number of constraints that close there")
CLOSING = STAGE_ROW.add("CLOSING", 1, "where their rows begin in I, in the order of elimination")
N_SLOTS = STAGE_ROW.add("N_SLOTS", 1, "number of constraints of which it has a slot: those that close, then open ones")
SLOTS = STAGE_ROW.add("SLOTS", 1, "where the rows of the slots begin in I")
PAIRS = STAGE_ROW.add("PAIRS", 1, "where the blocks of A of each pair of open constraints are listed")
ALL_PAIRS = STAGE_ROW.add("ALL_PAIRS", 1, "the same of all slots; 0 if the body has no modes")
STAGE_SIZE = STAGE_ROW.end

SLOT_ROW = Table("Slot of a constraint at a body", "I", "I[stage + SLOTS] + k * SLOT_SIZE")
SLOT_C = SLOT_ROW.add("SLOT_C", 1, "where the row of the constraint begins in I")
SLOT_FIRST = SLOT_ROW.add("SLOT_FIRST", 1, "the first of its rows")
SLOT_N = SLOT_ROW.add("SLOT_N", 1, "n: how many rows it has")
SLOT_HOLDS = SLOT_ROW.add("SLOT_HOLDS", 1, "what it holds here: 1 by its first frame, 2 by its second, 4 speeds")
SLOT_Z = SLOT_ROW.add("SLOT_Z", 1, "where z_k begin in W: six numbers per row")
SLOT_E = SLOT_ROW.add("SLOT_E", 1, "where e_k of the speeds begin in W: for each speed one per row")
SLOT_M = SLOT_ROW.add("SLOT_M", 1, "where e_k of the modes begin in W: for each row one per mode")
SLOT_G = SLOT_ROW.add("SLOT_G", 1, "where D_f⁻¹ times those begin")
SLOT_PARENT = SLOT_ROW.add("SLOT_PARENT", 1, "the row of its slot at the parent; 0 if that is the world")
SLOT_SIZE = SLOT_ROW.end

CLOSING_ROW = Table("Constraint that closes", "I", "I[stage + CLOSING] + k * CLOSING_SIZE")
FIRST = CLOSING_ROW.add("FIRST", 1, "the first of its rows")
N = CLOSING_ROW.add("N", 1, "n: how many rows it has")
HEIGHT = CLOSING_ROW.add("HEIGHT", 1, "how many rows its panel has: its own, and those of all that it couples with")
PANEL = CLOSING_ROW.add("PANEL", 1, "where the panel begins in W: A, row by row, n numbers each; later its factor")
OWN_Z = CLOSING_ROW.add("OWN_Z", 1, "where z_k begin in W; -1 if it closes at the world")
N_AFTER = CLOSING_ROW.add("N_AFTER", 1, "number of constraints that are eliminated later and couple with it")
AFTER = CLOSING_ROW.add("AFTER", 1, "where their rows begin in I, in the order of elimination")
AFTER_PAIRS = CLOSING_ROW.add("AFTER_PAIRS", 1, "where the blocks of A of each pair of them are listed")
CLOSING_SIZE = CLOSING_ROW.end

AFTER_ROW = Table("Constraint that couples with one that closes", "I", "I[c + AFTER] + k * AFTER_SIZE")
AFTER_FIRST = AFTER_ROW.add("AFTER_FIRST", 1, "the first of its rows")
AFTER_N = AFTER_ROW.add("AFTER_N", 1, "how many rows it has")
AFTER_BLOCK = AFTER_ROW.add("AFTER_BLOCK", 1, "where its rows begin in the panel: a place in W")
AFTER_Z = AFTER_ROW.add("AFTER_Z", 1, "where its z_k begin in W at the body; -1 at the world")
AFTER_SIZE = AFTER_ROW.end

BY_A, BY_B, BY_SPEEDS = 1, 2, 4

# All of them, by name.
TABLES = {name: value for name, value in list(globals().items()) if isinstance(value, Table)}


def sizes_of(I: np.ndarray) -> tuple[int, int]:
    """Return how many numbers of I and of W the plan of a model with these ints has."""
    p = int(I[at.ELIMINATION])
    return (int(I[p + PLAN_SIZE]), int(I[p + WORK_SIZE])) if p > 0 else (0, 0)


@kernel
def stage_of(I, i):
    """Return where the row of body i, or of the world behind the last one, begins in I."""
    return index(I[at.ELIMINATION]) + PLAN_END + STAGE_SIZE * index(i)
