"""The plan by which kernels/elimination.py eliminates constraints: who holds what, where it closes, in which order.

Everything here is about structure, and done once, when a model is compiled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from liegeo.kernels import elimination_table as at

# Few rows are solved faster all together, as loops.py does it: from so many on structure is looked at …
FROM_ROWS = 24
# … and used if it saves this share of the work, in products.
_WORTH = 0.7
# What a row costs by the way at a body, as products: to the next frame, and what is added to it.
_PER_BODY = 60


class Carrier(NamedTuple):
    """A body, as far as constraints see it: its parent (−1 for the world), and how many speeds and modes it has."""

    parent: int
    n_speeds: int
    n_modes: int


class Held(NamedTuple):
    """A constraint: where its row begins in I, its rows, and what it holds.

    bodies: by body the sum of BY_A, BY_B and BY_SPEEDS.  grounded: whether it holds something to the ground.
    """

    row: int
    first: int
    n: int
    bodies: Mapping[int, int]
    grounded: bool


def plan_of(carriers: Sequence[Carrier], held: Sequence[Held], start: int, work: int) -> tuple[list[int], int]:
    """Return the plan of a model, to be put at `start` in I, and how many numbers it uses at `work` in W.

    It is empty where the rows are solved faster all together.
    """
    if sum(one.n for one in held) < FROM_ROWS:
        return [], 0
    plan = _Plan(carriers, held)
    return plan.lay_out(start, work) if plan.is_worth_it() else ([], 0)


class _Plan:
    """Where constraints close, which are open at each body, in which order they go, and what that couples."""

    def __init__(self, carriers: Sequence[Carrier], held: Sequence[Held]) -> None:
        self.carriers, self.held, self.world = carriers, held, len(carriers)
        self.closes = [self._find_closing(one) for one in held]
        # by body the constraints that are open there, and those that close there
        self.open: list[list[int]] = [[] for _ in carriers]
        self.closing: list[list[int]] = [[] for _ in range(self.world + 1)]
        for c, one in enumerate(held):
            self.closing[self.closes[c]].append(c)
            seen = set()
            for body in one.bodies:
                while body >= 0 and body != self.closes[c] and body not in seen:
                    seen.add(body)
                    self.open[body].append(c)
                    body = carriers[body].parent
        self.after: dict[int, list[int]] = {}
        self.position: dict[int, int] = {}
        self._find_order()

    def _find_closing(self, one: Held) -> int:
        """Return the last body that carries all that a constraint holds, with the joints whose speeds it is about."""
        if one.grounded:
            return self.world
        # of a joint both ends: the parent carries it
        places = [self.carriers[i].parent if how & at.BY_SPEEDS else i for i, how in one.bodies.items()]
        # a parent has a smaller number than its children: the largest goes on until all meet
        meeting = set(places)
        while len(meeting) > 1 and min(meeting) >= 0:
            last = max(meeting)
            meeting.remove(last)
            meeting.add(self.carriers[last].parent)
        place = min(meeting) if meeting else -1
        return self.world if place < 0 else place

    def _find_order(self) -> None:
        """Eliminate from the tips to the base, at each body the constraint that couples with fewest others first."""
        coupled: list[set[int]] = [set() for _ in self.held]
        known: set[frozenset[int]] = set()
        for i in [*range(self.world - 1, -1, -1), self.world]:
            if i < self.world:
                carrier = self.carriers[i]
                together = self.open[i] + (self.closing[i] if carrier.n_modes else [])
                # closing ones couple with the others at the latest where they are eliminated
                _join(together, coupled, known)
            waiting = set(self.closing[i])
            queue: dict[int, set[int]] = defaultdict(set)
            for c in waiting:
                queue[self._weight(coupled[c])].add(c)
            while waiting:
                least = min(weight for weight, some in queue.items() if some)
                c = min(queue[least])
                queue[least].remove(c)
                waiting.remove(c)
                self.position[c] = len(self.position)
                others = coupled[c]
                self.after[c] = list(others)
                for d in others:
                    if d in waiting:
                        queue[self._weight(coupled[d])].remove(d)
                for d in others:
                    coupled[d].discard(c)
                    coupled[d] |= others
                    coupled[d].discard(d)
                for d in others:
                    if d in waiting:
                        queue[self._weight(coupled[d])].add(d)
        for c, later in self.after.items():
            self.after[c] = self._ordered(later)

    def _weight(self, others: Iterable[int]) -> int:
        return sum(self.held[d].n for d in others)

    def _ordered(self, some: Iterable[int]) -> list[int]:
        return sorted(some, key=self.position.__getitem__)

    # ---- whether it is worth it

    def is_worth_it(self) -> bool:
        """Return whether the plan needs fewer products than a dense matrix of all rows."""
        n, speeds = [one.n for one in self.held], sum(c.n_speeds + c.n_modes for c in self.carriers)
        ours = together = 0.0
        for carrier, some in zip(self.carriers, self.open, strict=True):
            rows = sum(n[c] for c in some)
            ours += rows * _PER_BODY + rows**2 / 2 * (carrier.n_speeds + carrier.n_modes)
            together += rows * _PER_BODY
        for c, others in self.after.items():
            ours += n[c] * (n[c] + sum(n[d] for d in others)) ** 2
        m = sum(n)
        # a pair of rows has in common, as a rule, a part of what the longer way of the two has
        together += m**2 * (10 + 0.05 * speeds) + m**3 / 6
        return ours < _WORTH * together

    # ---- the arrays

    def lay_out(self, start: int, work: int) -> tuple[list[int], int]:
        """Return the plan and how many numbers of scratch it uses."""
        layout = _Layout(self, start, work)
        return layout.ints, layout.end - work


def _join(together: Sequence[int], coupled: list[set[int]], known: set[frozenset[int]]) -> None:
    """Couple each of some constraints with each other."""
    key = frozenset(together)
    if len(key) < 2 or key in known:
        return
    known.add(key)
    for c in together:
        coupled[c] |= key
        coupled[c].discard(c)


class _Layout:
    """The tables of kernels/elimination.py, filled."""

    def __init__(self, plan: _Plan, start: int, work: int) -> None:
        self.plan, self.start, self.end = plan, start, work
        n_bodies, m = len(plan.carriers), sum(one.n for one in plan.held)
        self.ints = [0] * (at.PLAN_END + (n_bodies + 1) * at.STAGE_SIZE)
        self._reserve(2 * m)
        self.panels = {c: self._reserve(one.n * self._height(c)) for c, one in enumerate(plan.held)}
        self.blocks = {c: dict(zip((c, *plan.after[c]), self._starts(c), strict=True)) for c in range(len(plan.held))}
        self.slots: dict[tuple[int, int], tuple[int, ...]] = {}
        self._reserve_slots()
        cleared = self.end - work
        modal = {(i, c): self._reserve(plan.held[c].n * plan.carriers[i].n_modes) for i, c in self.slots}
        vectors = self._reserve(5 * m + sum(c.n_speeds + c.n_modes for c in plan.carriers))
        self.lists: dict[tuple[int, ...], int] = {}
        self.places: dict[tuple[int, int], int] = {}
        for i in range(n_bodies + 1):
            self._put_stage(i, modal)
        self.ints[: at.PLAN_END] = [len(self.ints), self.end - work, work, cleared, vectors]

    def _reserve(self, size: int) -> int:
        place = self.end
        self.end += size
        return place

    def _put(self, values: Iterable[int]) -> int:
        place = self.start + len(self.ints)
        self.ints.extend(values)
        return place

    def _height(self, c: int) -> int:
        held = self.plan.held
        return held[c].n + sum(held[d].n for d in self.plan.after[c])

    def _starts(self, c: int) -> list[int]:
        """Return where the rows of each constraint begin in the panel of c: its own, then those after it."""
        held, place, out = self.plan.held, self.panels[c], []
        for d in (c, *self.plan.after[c]):
            out.append(place)
            place += held[c].n * held[d].n
        return out

    def _slots_of(self, i: int) -> tuple[list[int], list[int]]:
        """Return the constraints that close at a body and those that are open, by the order of elimination."""
        plan = self.plan
        if i == plan.world:
            return plan._ordered(plan.closing[i]), []
        return plan._ordered(plan.closing[i]), plan._ordered(plan.open[i])

    def _reserve_slots(self) -> None:
        for i, carrier in enumerate(self.plan.carriers):
            for some, is_open in zip(self._slots_of(i), (False, True), strict=True):
                for c in some:
                    n = self.plan.held[c].n
                    sizes = 6, carrier.n_speeds if is_open else 0, carrier.n_modes
                    self.slots[i, c] = tuple(self._reserve(n * size) for size in sizes)

    def _put_stage(self, i: int, modal: Mapping[tuple[int, int], int]) -> None:
        """One body, or the world: constraints that close, slots, pairs.  Parents come before their children."""
        plan, row = self.plan, at.PLAN_END + i * at.STAGE_SIZE
        closing, still_open = self._slots_of(i)
        rows = [self._closing_row(i, c) for c in closing]
        self.ints[row + at.N_CLOSING] = len(closing)
        self.ints[row + at.CLOSING] = self._put(k for one in rows for k in one)
        if i == plan.world:
            return
        parent = plan.carriers[i].parent
        place = self.start + len(self.ints)
        self.ints[row + at.N_SLOTS], self.ints[row + at.SLOTS] = len(closing) + len(still_open), place
        for k, c in enumerate(closing + still_open):
            one = plan.held[c]
            self.places[i, c] = place + k * at.SLOT_SIZE
            z, e, m = self.slots[i, c]
            above = self.places.get((parent, c), 0)
            self._put([one.row, one.first, one.n, one.bodies.get(i, 0), z, e, m, modal[i, c], above])
        self.ints[row + at.PAIRS] = self._pairs(still_open)
        self.ints[row + at.ALL_PAIRS] = self._pairs(closing + still_open) if plan.carriers[i].n_modes else 0

    def _closing_row(self, i: int, c: int) -> list[int]:
        plan = self.plan
        one, after, at_world = plan.held[c], plan.after[c], i == plan.world
        listed = self._put(
            k
            for d in after
            for k in (
                *(plan.held[d].first, plan.held[d].n, self.blocks[c][d]),
                -1 if at_world else self.slots[i, d][0],
            )
        )
        z = -1 if at_world else self.slots[i, c][0]
        return [one.first, one.n, self._height(c), self.panels[c], z, len(after), listed, self._pairs(after)]

    def _pairs(self, some: Sequence[int]) -> int:
        """Return where the blocks of each pair of some constraints are listed, in the order of elimination."""
        key = tuple(some)
        if key not in self.lists:
            self.lists[key] = self._put(self.blocks[d][c] for k, c in enumerate(some) for d in some[: k + 1])
        return self.lists[key]
