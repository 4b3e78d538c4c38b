"""Lie groups: one set of compiled kernels, and a vectorised face.

    from liegeo.lie import SE3, SO3
    X_WB = SE3.exp([0.0, 0.0, 1.57, 1.0, 0.0, 0.0])
    V_W = SE3.Ad(X_WB) @ V_B

Conventions (docs/conventions.md): angular part first, twists body-fixed, quaternions scalar first.
"""

from __future__ import annotations

from liegeo.lie.group import Group
from liegeo.lie.groups import S1, SE2, SE3, SE3Q, SO3, SO3Q, R
from liegeo.lie.product import Product

#: The groups without a size; tests and tables iterate over it.
ALL_GROUPS: tuple[Group, ...] = (SO3, SO3Q, SE3, SE3Q, SE2, S1)

__all__ = ["ALL_GROUPS", "S1", "SE2", "SE3", "SE3Q", "SO3", "SO3Q", "Group", "Product", "R"]
