"""What surfaces are made of, and what two of them do together.

A surface may carry its own stiffness or modulus, dissipation and friction.  Two of them, i = a, b, yield one behind the
other under one force.  With the exponent n and penetrations δ_i that add up,

    N = k_i δ_iⁿ,      δ = δ_a + δ_b,      k = (k_a^(−1/n) + k_b^(−1/n))^(−n),                                      (1)

and with moduli E_i/(1 − ν_i²), whose penetrations are those of two half spaces under the same pressure (Hertz),

    1/E* = 1/E_a + 1/E_b.                                                                                        (2)

What is not given is rigid.  Of the rate of penetration each takes its share c_i, k_i^(−1/n) or 1/E_i over the sum of
both, and so (1 + d δ̇) has

    d = c_a d_a + c_b d_b.                                                                                       (3)

Friction is that of the geometric mean, so that equal surfaces have their own coefficient, and ice on anything is ice:

    μ = √(μ_a μ_b),      and the same for its static coefficient.                                                (4)

A number of the contact itself, where it is not zero, takes the place of all this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from liegeo.errors import ModelError
from liegeo.recorded import root

if TYPE_CHECKING:
    from liegeo.model.contacts import ContactMaterial, ContactSurface


class Together(NamedTuple):
    """What a contact of two surfaces has of what both may give."""

    stiffness: Any
    modulus: Any
    dissipation: Any
    friction: Any
    static: Any


def together(contact: ContactMaterial, a: ContactSurface, b: ContactSurface) -> Together:
    """Return what a contact has between two surfaces: its own numbers, or what (1) to (4) make of theirs."""
    stiffness, modulus, shares = contact.stiffness, contact.modulus, (0.5, 0.5)
    if not contact.yields:
        _check_pair(contact, a, b)
        if a.modulus > 0.0 or b.modulus > 0.0:
            modulus, shares = _in_series([a.modulus, b.modulus], 1.0)
        else:
            stiffness, shares = _in_series([a.stiffness, b.stiffness], contact.exponent)
    dissipation = contact.dissipation
    if not contact.loses:
        dissipation = shares[0] * a.dissipation + shares[1] * b.dissipation
    friction: Any = contact.friction
    static: Any = contact.static
    if not contact.rubs and a.friction is not None and b.friction is not None:
        friction = root(a.friction * b.friction)
        static = root(_static(a) * _static(b))
    return Together(stiffness, modulus, dissipation, friction, friction if static is None else static)


def _static(surface: ContactSurface) -> Any:
    """Return the static coefficient of a surface that has friction."""
    return surface.friction if surface.static is None else surface.static


def _in_series(values: list[Any], n: Any) -> tuple[Any, tuple[Any, Any]]:
    """Return the stiffness of two springs with the exponent n, one behind the other, and their shares; 0 is rigid."""
    if values[0] <= 0.0:
        return values[1], (0.0, 1.0)
    if values[1] <= 0.0:
        return values[0], (1.0, 0.0)
    yields = [value ** (-1.0 / n) for value in values]
    total = yields[0] + yields[1]
    return total ** (-n), (yields[0] / total, yields[1] / total)


def _check_pair(contact: ContactMaterial, a: ContactSurface, b: ContactSurface) -> None:
    """Raise an error unless one of the surfaces yields, or both in the same way."""
    stiff, elastic = (a.stiffness > 0.0 or b.stiffness > 0.0), (a.modulus > 0.0 or b.modulus > 0.0)
    if stiff and elastic:
        finding = (
            f"touches surface '{a.name}' and surface '{b.name}', of which one has a stiffness, the other a modulus"
        )
        raise ModelError(contact.owner.fault(finding, "expected the same of both"))
    if not (stiff or elastic):
        finding = f"has neither stiffness nor modulus, nor has surface '{a.name}' or surface '{b.name}'"
        raise ModelError(contact.owner.fault(finding, "expected one of them", "Without it surfaces pass through."))
    if elastic and contact.exponent != 1.5:
        expected = "expected 1.5, that of Hertz, because the surfaces have moduli"
        raise ModelError(contact.owner.field("exponent").fault(contact.exponent, expected))
