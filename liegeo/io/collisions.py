"""Contacts of robots from URDF and MJCF files: surfaces of their collision shapes, and the pairs that touch.

What shapes are made of stands in neither format: readers take the material of contacts (model/contacts.py) as a
mapping.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from liegeo import model as lm
from liegeo.errors import InputError
from liegeo.io.foreign import Array, UniqueNames, shorten
from liegeo.model.checks import suggest
from liegeo.model.contacts import PAIRS, ContactSurface, material_fields, surface_kind


def checked_material(who: str, given: Any) -> dict[str, Any]:
    """Return the material of contacts that a person gave, which has to be a mapping of fields of Contact."""
    if not isinstance(given, Mapping):
        raise InputError(f"{who}: contact is {given!r}, expected a mapping, as {{'stiffness': 1e5, 'friction': 0.8}}.")
    known = material_fields()
    for name in given:
        if name not in known:
            raise InputError(f"{who}: contact has '{name}', which is no property of a contact.{suggest(name, known)}")
    return dict(given)


def surface_of(shape: lm.Shape, name: str, body: str) -> ContactSurface | None:
    """Return the surface that a shape on a body has; none of a mesh."""
    at = (body, np.asarray(shape.at))
    if isinstance(shape, lm.Sphere):
        return lm.SphereSurface(name=name, at=at, radius=shape.radius)
    if isinstance(shape, lm.Box):
        return lm.BoxSurface(name=name, at=at, size=shape.size)
    if isinstance(shape, lm.Cylinder):
        return lm.CylinderSurface(name=name, at=at, radius=shape.radius, length=shape.length)
    return None


def can_touch(a: ContactSurface, b: ContactSurface) -> bool:
    """Return whether there is a contact between these two surfaces."""
    return (type(a), type(b)) in PAIRS or (type(b), type(a)) in PAIRS


class Collisions:
    """The contacts of a model, and what could not be made."""

    def __init__(self, names: UniqueNames, material: Mapping[str, Any]) -> None:
        self.names, self.material = names, dict(material)
        self.contacts: list[lm.Contact] = []
        self.impossible: list[str] = []

    def add(self, a: ContactSurface, b: ContactSurface, **more: Any) -> None:
        """Add a contact, with more of its material than the common one; note it if there is none for the pair."""
        if not can_touch(a, b):
            self.impossible.append(f"{surface_kind(type(a))} '{a.name}' and {surface_kind(type(b))} '{b.name}'")
            return
        name = self.names.take(f"{a.name}_{b.name}", "contact")
        self.contacts.append(lm.Contact(name=name, a=a, b=b, **{**more, **self.material}))

    def notes(self) -> list[str]:
        """Return what to tell a person."""
        return [f"contacts that there are not: {shorten(self.impossible)}."] if self.impossible else []


def ground() -> ContactSurface:
    """Return the plane z = 0 of the world."""
    pose: Array = np.eye(4)
    return lm.PlaneSurface(name="ground", at=("world", pose))
