"""A beam as several flexible bodies joined by fixed joints: stiffening without geometric terms [FLS13, 5.3].

Each piece bends little against its own frame, while the frames turn as far as they like.  The pull of what is outboard
then acts on frames that have turned, which is what geometric stiffness is about; it comes from kinematics alone, and
large deflections come with it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from liegeo.errors import ModelError
from liegeo.flex.beams import beam
from liegeo.flex.inertia import Damping, flexible_body
from liegeo.flex.modes import reduce
from liegeo.flex.sections import Material, Section
from liegeo.model.body import FlexibleBody
from liegeo.model.joints import Fixed, Joint


def substructure(
    name: str,
    length: float,
    section: Section,
    material: Material,
    n_bodies: int,
    *,
    n_elements: int = 4,
    n_modes: int = 0,
    damping: Damping | float | None = None,
    stiffening: bool | int = False,
    **options: Any,
) -> tuple[list[FlexibleBody], list[Joint]]:
    """Bodies `name_1`, `name_2`, … along x, and the joints between them; a joint into the first one is yours to give.

    Each is a beam of `n_elements` with the six static shapes of its far end and `n_modes` normal modes (Craig–Bampton),
    rooted at node "0", its far end being node str(n_elements).  Other options go to `beam`.
    """
    if n_bodies < 1:
        raise ModelError(f"substructure '{name}': n_bodies is {n_bodies!r}, must be ≥ 1.")
    fe = beam(length / n_bodies, section, material, n_elements, name=name, **options)
    end = str(n_elements)
    reduction = reduce(fe, ["0", end], n_modes=n_modes, root="0")
    names = [f"{name}_{i + 1}" for i in range(n_bodies)]
    bodies = [flexible_body(reduction, n, [end], damping=damping, stiffening=stiffening) for n in names]
    joints: list[Joint] = [Fixed(name=f"{a}-{b}", parent=a, child=b, at=end, child_at="0") for a, b in pairwise(names)]
    return bodies, joints
