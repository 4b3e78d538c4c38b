"""What a contact cannot be is refused, with the name, the value, what was expected and what to do."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from examples import unreached

import liegeo
from liegeo import model as lm
from liegeo.errors import ModelError

BALL, OTHER = (lm.SphereSurface(name=name, at=body, radius=0.5) for name, body in (("ball", "a"), ("other", "b")))
PLANE, BOX = lm.PlaneSurface(name="floor", at="world"), lm.BoxSurface(name="crate", at="b", size=(1, 1, 1))
CHEST = lm.BoxSurface(name="chest", at="a", size=(1, 1, 1))
HILL = lm.ProfileSurface(name="hill", at="world", points=[(0, 0), (1, 1)])


def of(surface, **material):
    """Return the same surface of some material."""
    return dataclasses.replace(surface, **material)


def contact(a=BALL, b=PLANE, **material):
    return lm.Contact(name="touch", a=a, b=b, **({"stiffness": 1e4} | material))


def crowd(*among, **material):
    return lm.Contacts(name="pile", among=among or (BALL, OTHER, PLANE), **({"stiffness": 1e4} | material))


REFUSED = {
    "a flat cylinder": (
        lambda: lm.CylinderSurface(name="disc", at="a", radius=1.0, length=1e-6),
        "length is 1e-06, must be at least",
    ),
    "a profile of one point": (lambda: lm.ProfileSurface(name="p", at="world", points=[(0, 0)]), "at least two points"),
    "a profile that goes back": (
        lambda: lm.ProfileSurface(name="p", at="world", points=[(0, 0), (1, 0), (0.5, 0)]),
        "must be > 1, the x before it: list points by growing x",
    ),
    "no restitution": (lambda: lm.dissipation_for(0.0, 1.0), "expected 0 < restitution ≤ 1 and speed > 0"),
    "neither stiffness nor modulus": (lambda: contact(stiffness=0.0), "has neither stiffness nor modulus"),
    "both": (lambda: contact(modulus=1e9), "has both stiffness and modulus"),
    "an exponent beside Hertz": (
        lambda: contact(stiffness=0.0, modulus=1e9, exponent=2.0),
        "exponent is 2, expected 1.5, that of Hertz, if modulus is given",
    ),
    "static below friction": (lambda: contact(friction=0.5, static=0.3), "static is 0.3, must be at least friction"),
    "bristles without friction": (lambda: contact(breakaway=1e-3), "friction is 0, expected a coefficient > 0"),
    "restitution without a speed": (lambda: contact(restitution=0.5), "impact_speed is missing"),
    "restitution and dissipation": (
        lambda: contact(restitution=0.5, impact_speed=1.0, dissipation=0.1),
        "dissipation is 0.1, expected none beside restitution",
    ),
    "more than all": (
        lambda: contact(restitution=1.5, impact_speed=1.0),
        "restitution is 1.5, must be > 0 and at most 1",
    ),
    "Hertz on a box": (lambda: contact(CHEST, PLANE, stiffness=0.0, modulus=1e9).data(), "has no radius to act on"),
    "no surface": (lambda: contact(b="floor"), "b is 'floor', expected a surface, as SphereSurface"),
    "boxes": (lambda: contact(CHEST, BOX), "has a box and a box, which cannot touch"),
    "bristles in a crowd": (
        lambda: crowd(friction=0.3, breakaway=1e-3),
        "breakaway is 0.001, expected 0 where many surfaces touch",
    ),
    "a crowd of one": (lambda: crowd(BALL), "expected at least two surfaces"),
    "a crowd of names": (lambda: crowd(BALL, "other"), "expected surfaces, as SphereSurface"),
    "one twice": (lambda: crowd(BALL, PLANE, BALL), "has a surface twice"),
    "a profile and a cylinder in a crowd": (
        lambda: crowd(lm.CylinderSurface(name="can", at="a", radius=0.1, length=0.2), HILL),
        "has a cylinder ('can') and a profile ('hill'), which cannot touch",
    ),
    "a surface with both": (
        lambda: lm.SphereSurface(name="s", at="a", radius=1.0, stiffness=1.0, modulus=1.0),
        "surface 's': has both stiffness and modulus, expected one of them, or none",
    ),
    "a surface with static friction alone": (
        lambda: lm.SphereSurface(name="s", at="a", radius=1.0, static=0.5),
        "static is 0.5, expected friction too, and at least as much",
    ),
    "surfaces that yield in two ways": (
        lambda: contact(of(BALL, stiffness=1e5), of(PLANE, modulus=1e9), stiffness=0.0),
        "touches surface 'ball' and surface 'floor', of which one has a stiffness, the other a modulus",
    ),
    "rigid surfaces": (
        lambda: contact(stiffness=0.0),
        "has neither stiffness nor modulus, nor has surface 'ball' or surface 'floor'",
    ),
    "rigid surfaces in a crowd": (
        lambda: crowd(of(BALL, stiffness=1e5), OTHER, PLANE, stiffness=0.0).data(),
        "nor has surface 'other' or surface 'floor'",
    ),
    "an exponent beside moduli of surfaces": (
        lambda: contact(of(BALL, modulus=1e9), stiffness=0.0, exponent=1.0),
        "exponent is 1, expected 1.5, that of Hertz, because the surfaces have moduli",
    ),
    "bristles on a slippery surface": (
        lambda: contact(of(BALL, friction=0.0), of(PLANE, friction=0.5), breakaway=1e-5),
        "friction is 0, expected a coefficient > 0, because breakaway is given",
    ),
    "boxes in a crowd": (lambda: crowd(CHEST, BOX), "has a box ('chest') and a box ('crate'), which cannot touch"),
}


@pytest.mark.parametrize(("make", "words"), REFUSED.values(), ids=REFUSED)
def test_refused_with_a_message(make, words):
    with pytest.raises(ModelError) as error:
        make()
    assert words in str(error.value), error.value


def test_every_raise_has_a_line():
    wanted = unreached(
        [Path(liegeo.__file__).parent / f"model/{x}.py" for x in ("contacts", "combining")],
        [make for make, _ in REFUSED.values()],
    )
    assert not wanted


def test_numbers_that_are_none_are_refused():
    with pytest.raises(ModelError, match=r"stiffness"):
        contact(stiffness=np.nan)
