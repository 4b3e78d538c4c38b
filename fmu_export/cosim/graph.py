"""Who depends on whom: the order in which outputs are evaluated, loops among them, and the order of FMUs.

Nodes are outputs that are connected or recorded.  An output depends at once on the output that drives an input which
it depends on at once (ModelStructure of its FMU).  Strong components of this graph are evaluated in topological order;
one of several outputs, or one that depends on itself, is an algebraic loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fmu_export.cosim.system import CosimSystem

Node = tuple[str, str]


@dataclass(frozen=True)
class OutputGroup:
    """Outputs that are evaluated together, and the FMUs to evaluate, in order."""

    nodes: tuple[Node, ...]
    fmus: tuple[str, ...]
    is_loop: bool

    @property
    def names(self) -> list[str]:
        return [f"{fmu}.{output}" for fmu, output in self.nodes]


def evaluation(system: CosimSystem, at_start: bool) -> list[OutputGroup]:
    """Groups in the order in which they can be evaluated, without those that no connected input acts on at once."""
    nodes, before = _dependencies(system, at_start)
    groups: list[OutputGroup] = []
    for component in _strong(nodes, before):
        loop = len(component) > 1 or component[0] in before[component[0]]
        if not loop and not before[component[0]]:
            continue
        fmus = tuple(dict.fromkeys(fmu for fmu, _ in component))
        last = groups[-1] if groups else None
        if last is not None and not loop and not last.is_loop and last.fmus == fmus and _apart(component, last, before):
            groups[-1] = OutputGroup((*last.nodes, *component), fmus, is_loop=False)
        else:
            groups.append(OutputGroup(tuple(component), fmus, loop))
    return groups


def _apart(component: list[Node], last: OutputGroup, before: Mapping[Node, set[Node]]) -> bool:
    """Whether nothing of a component needs what the group before it gives, so that one evaluation serves both."""
    return all(not before[node] & set(last.nodes) for node in component)


def _dependencies(system: CosimSystem, at_start: bool) -> tuple[list[Node], dict[Node, set[Node]]]:
    """All outputs of interest, and for each those that it depends on at once."""
    driver = {(link.target, link.input.name): (link.source, link.output.name) for link in system.links}
    nodes = list(dict.fromkeys((link.source, link.output.name) for link in system.links))
    recorded = [(fmu, v.name) for fmu, v in system.recorded().values() if v.causality == "output"]
    nodes = list(dict.fromkeys([*nodes, *recorded]))
    before: dict[Node, set[Node]] = {}
    for fmu, output in nodes:
        found = system.descriptions[fmu]
        needs = (found.direct_at_start if at_start else found.direct).get(output, frozenset())
        before[fmu, output] = {driver[fmu, name] for name in needs if (fmu, name) in driver}
    return nodes, before


def _strong(nodes: list[Node], before: Mapping[Node, set[Node]]) -> list[list[Node]]:
    """Strong components in topological order; within one, and where the order is free, as listed."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if not nodes:
        return []
    number = {node: k for k, node in enumerate(nodes)}
    edges = [(number[b], number[node]) for node in nodes for b in before[node]]
    rows, columns = np.array(edges, dtype=int).reshape(-1, 2).T
    matrix = csr_array((np.ones(len(edges)), (rows, columns)), shape=(len(nodes), len(nodes)))
    count, labels = connected_components(matrix, directed=True, connection="strong")
    members: list[list[Node]] = [[] for _ in range(count)]
    for node, label in zip(nodes, labels, strict=True):
        members[label].append(node)
    needs: dict[int, set[int]] = {k: set() for k in range(count)}
    for row, column in edges:
        if labels[row] != labels[column]:
            needs[int(labels[column])].add(int(labels[row]))
    out: list[list[Node]] = []
    waiting = sorted(range(count), key=lambda k: number[members[k][0]])
    done: set[int] = set()
    while waiting:
        ready = next(k for k in waiting if needs[k] <= done)
        waiting.remove(ready)
        done.add(ready)
        out.append(members[ready])
    return out


def fmu_order(system: CosimSystem) -> tuple[str, ...]:
    """For Gauss–Seidel: an FMU comes after those whose new values it needs most.

    FMUs on a ring cannot all come after one another.  A connection into an input that acts at once on an output is
    worth more than one that first goes through a state, so the ring is opened at the FMUs where the fewest such
    connections are lost.
    """
    names = list(system.fmus)
    weight: dict[tuple[str, str], int] = {}
    for link in system.links:
        if link.source == link.target:
            continue
        found = system.descriptions[link.target]
        direct = any(link.input.name in needs for needs in found.direct.values())
        weight[link.source, link.target] = weight.get((link.source, link.target), 0) + (
            len(system.links) if direct else 1
        )
    order: list[str] = []
    waiting = names.copy()
    while waiting:
        # what is lost if an FMU comes next: new values that it would have waited for
        lost = {b: sum(weight.get((a, b), 0) for a in waiting if a != b) for b in waiting}
        order.append(min(waiting, key=lambda b: (lost[b], names.index(b))))
        waiting.remove(order[-1])
    return tuple(order)
