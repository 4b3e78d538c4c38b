"""Where flexible bodies come from: beams, finite elements, component modes, files.

A source makes an `FEModel`; `reduce` finds a few shapes; `flexible_body` makes the record that a tree is built from.
"""

from __future__ import annotations

from liegeo.flex.beams import Frame, beam
from liegeo.flex.fe import FEModel
from liegeo.flex.inertia import Damping, Invariants, flexible_body, invariants
from liegeo.flex.modes import MODE_SETS, Component, LocalDeformation, Reduction, local_deformation, reduce
from liegeo.flex.sections import Material, Section, circle, i_beam, rectangle, tube
from liegeo.flex.sid import read_sid, write_sid
from liegeo.flex.store import ReductionStore
from liegeo.flex.substructure import substructure

__all__ = [
    "MODE_SETS",
    "Component",
    "Damping",
    "FEModel",
    "Frame",
    "Invariants",
    "LocalDeformation",
    "Material",
    "Reduction",
    "ReductionStore",
    "Section",
    "beam",
    "circle",
    "flexible_body",
    "i_beam",
    "invariants",
    "local_deformation",
    "read_sid",
    "rectangle",
    "reduce",
    "substructure",
    "tube",
    "write_sid",
]
