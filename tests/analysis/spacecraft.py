"""A spacecraft of our own after the studies of [M01, chapter VII]: a platform of struts that carries panels.

One description, from which liegeo makes components and a tree, and tests/oracles/global_fe.py one finite-element model.
The platform is a frame of bays of 1.5 m, 1.5 m high and wide.  In its middle the vertical struts of both sides are cut
in two, and on these points (`left`, `right`) panels of 6 m are attached, so the struts bend and twist locally.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from oracles.global_fe import GlobalFE

import liegeo as lg
from liegeo import flex
from liegeo import model as lm
from liegeo.lie import SO3

E, G_BY_E, RHO = 7.2e10, 2.68 / 7.2, 2700.0
STRUT = {"A": 3e-4, "Iy": 8e-8, "Iz": 8e-8, "J": 1.6e-7}
# that of [M01, tables VII-19 to 21]; another one for panels whose sides differ
PANEL = {"A": 4.9e-4, "Iy": 2e-7, "Iz": 2e-7, "J": 4e-7}
FLAT = {"A": 4.9e-4, "Iy": 2e-7, "Iz": 6e-7, "J": 8e-7}
BAY, LENGTH = 1.5, 6.0
SIDES = {"left": 1.0, "right": -1.0}
BASE = ("0a", "0b", "0c", "0d")


@dataclass(frozen=True)
class Spacecraft:
    """What may be chosen: bays, elements of a panel, Young's moduli and densities, flat panels."""

    bays: int = 6
    elements: int = 8
    E_carrier: float = E
    E_panel: float = E
    rho_panel: float = RHO
    flat: bool = False
    docked: bool = False

    @property
    def section(self):
        return FLAT if self.flat else PANEL

    def points(self):
        """Positions by name."""
        corners = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
        out = {
            f"{i}{'abcd'[k]}": (BAY * i, 0.5 * BAY * y, 0.5 * BAY * z)
            for i in range(self.bays + 1)
            for k, (y, z) in enumerate(corners)
        }
        middle = BAY * (self.bays // 2)
        return out | {side: (middle, 0.5 * BAY * sign, 0.0) for side, sign in SIDES.items()}

    def struts(self):
        """Pairs of points."""
        m = self.bays // 2
        cut = {frozenset((f"{m}b", f"{m}c")): "left", frozenset((f"{m}d", f"{m}a")): "right"}
        for i in range(self.bays + 1):
            for k in range(4):
                a, b = f"{i}{'abcd'[k]}", f"{i}{'abcd'[k - 1]}"
                side = cut.get(frozenset((a, b)))
                yield from [(a, b)] if side is None else [(a, side), (side, b)]
                if i:
                    yield f"{i - 1}{'abcd'[k]}", a
                    yield f"{i - 1}{'abcd'[k]}", b

    # ---- components and their tree

    def carrier_fe(self):
        frame = flex.Frame(flex.Material(E=self.E_carrier, rho=RHO, G=G_BY_E * self.E_carrier), "carrier")
        for name, position in self.points().items():
            frame.node(name, position)
        for a, b in self.struts():
            frame.beam(a, b, flex.Section(**STRUT))
        return frame.model()

    def panel_fe(self):
        material = flex.Material(E=self.E_panel, rho=self.rho_panel, G=G_BY_E * self.E_panel)
        return flex.beam(LENGTH, flex.Section(**self.section), material, self.elements, name="panel")

    @property
    def fixed(self):
        return BASE if self.docked else ()

    def component(self):
        return flex.Component(self.carrier_fe(), ["left", "right"], self.fixed)

    def carrier(self, reduction):
        return flex.flexible_body(reduction, "carrier", ["left", "right"])

    def panels(self, n_modes=12):
        """Clamped at their roots, as the source's appendages; without modes they are rigid."""
        made = flex.reduce(self.panel_fe(), ["0"], "fixed-interface", root="0", n_modes=n_modes)
        return [flex.flexible_body(made, side, [str(self.elements)]) for side in SIDES]

    def tree(self, carrier, panels, joints=lm.Revolute, **options):
        """The carrier with both panels, on drives about their long axes or fixed."""
        base = lm.Fixed if self.docked else lm.Free
        made = [base(name="base", parent="world", child="carrier")]
        for side, sign in SIDES.items():
            pose = np.eye(4)
            pose[:3, :3] = SO3.exp([0.0, 0.0, -sign * np.pi / 2.0])
            axis = {"axis": (0.0, 1.0, 0.0)} if joints is lm.Revolute else {}
            made.append(
                joints(name=f"{side}_drive", parent="carrier", child=side, at=side, child_at=pose, **axis, **options)
            )
        return lg.Tree([carrier, *panels], made, gravity=(0, 0, 0), name="spacecraft").compile()

    # ---- the same as one finite-element model

    def whole(self, angles=(0.0, 0.0), free=False, spring=0.0, panels=True):
        fe = GlobalFE()
        nodes = {name: fe.node(position) for name, position in self.points().items()}
        made_of = {**STRUT, "E": self.E_carrier, "G": G_BY_E * self.E_carrier, "rho": RHO}
        for a, b in self.struts():
            # a round tube: any direction will do
            fe.beam(nodes[a], nodes[b], 1, (0.3, 0.5, 0.7), **made_of)
        if panels:
            made_of = {**self.section, "E": self.E_panel, "G": G_BY_E * self.E_panel, "rho": self.rho_panel}
            for (side, sign), angle in zip(SIDES.items(), angles, strict=True):
                root = fe.hinge(nodes[side], (0.0, 1.0, 0.0) if free else None, spring)
                tip = fe.node(fe.positions[root] + np.array([0.0, sign * LENGTH, 0.0]))
                fe.beam(root, tip, self.elements, (np.sin(angle), 0.0, np.cos(angle)), **made_of)
        if self.docked:
            fe.fix(*(nodes[name] for name in BASE))
        fe.names = nodes
        return fe
