"""What a person writes (Body, FlexibleBody, joints, forces, wheels, Tree) and what it compiles to (Model, State)."""

from __future__ import annotations

from liegeo.model.body import Body, FlexibleBody, LumpedNode, Node
from liegeo.model.forces import ALL_FORCES, Actuator, Bushing, Force, PointForce, SpringDamper, Wheel
from liegeo.model.joints import (
    ALL_JOINTS,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Screws,
    Spherical,
    Universal,
)
from liegeo.model.model import Model, State
from liegeo.model.tree import Tree

__all__ = [
    "ALL_FORCES",
    "ALL_JOINTS",
    "Actuator",
    "Body",
    "Bushing",
    "Cylindrical",
    "Fixed",
    "FlexibleBody",
    "Force",
    "Free",
    "Helical",
    "Joint",
    "LumpedNode",
    "Model",
    "Node",
    "Planar",
    "PointForce",
    "Prismatic",
    "Revolute",
    "Screws",
    "Spherical",
    "SpringDamper",
    "State",
    "Tree",
    "Universal",
    "Wheel",
]
