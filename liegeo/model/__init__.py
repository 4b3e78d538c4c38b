"""What a person writes (bodies, joints, forces, wheels, constraints, Tree) and what it compiles to (Model, State)."""

from __future__ import annotations

from liegeo.model.body import Body, FlexibleBody, LumpedNode, Node
from liegeo.model.constraints import (
    ALL_CONSTRAINTS,
    Constraint,
    Coupling,
    Custom,
    Distance,
    Gear,
    Motion,
    PointOnLine,
    PointOnPlane,
    Rack,
    Rolling,
)
from liegeo.model.forces import ALL_FORCES, Actuator, BristleFriction, Bushing, Force, PointForce, SpringDamper, Wheel
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
from liegeo.model.shapes import ALL_SHAPES, Box, Cylinder, Mesh, Shape, Skin, Sphere
from liegeo.model.tree import Tree

__all__ = [
    "ALL_CONSTRAINTS",
    "ALL_FORCES",
    "ALL_JOINTS",
    "ALL_SHAPES",
    "Actuator",
    "Body",
    "Box",
    "BristleFriction",
    "Bushing",
    "Constraint",
    "Coupling",
    "Custom",
    "Cylinder",
    "Cylindrical",
    "Distance",
    "Fixed",
    "FlexibleBody",
    "Force",
    "Free",
    "Gear",
    "Helical",
    "Joint",
    "LumpedNode",
    "Mesh",
    "Model",
    "Motion",
    "Node",
    "Planar",
    "PointForce",
    "PointOnLine",
    "PointOnPlane",
    "Prismatic",
    "Rack",
    "Revolute",
    "Rolling",
    "Screws",
    "Shape",
    "Skin",
    "Sphere",
    "Spherical",
    "SpringDamper",
    "State",
    "Tree",
    "Universal",
    "Wheel",
]
