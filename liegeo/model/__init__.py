"""What a person writes (Body, FlexibleBody, joints, Tree) and what it compiles to (Model, State)."""

from __future__ import annotations

from liegeo.model.body import Body, FlexibleBody, LumpedNode, Node
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
    "ALL_JOINTS",
    "Body",
    "Cylindrical",
    "Fixed",
    "FlexibleBody",
    "Free",
    "Helical",
    "Joint",
    "LumpedNode",
    "Model",
    "Node",
    "Planar",
    "Prismatic",
    "Revolute",
    "Screws",
    "Spherical",
    "State",
    "Tree",
    "Universal",
]
