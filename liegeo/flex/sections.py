"""Cross-sections and materials of beams.

The section lies in the beam's local y–z plane, centred, with y and z as principal axes:

    A = ∫dA,   Iy = ∫z² dA,   Iz = ∫y² dA,   Ip = ∫(y² + z²) dA = Iy + Iz,                                (1)

so Iy resists bending in the x–z plane (displacement along z), Iz bending in the x–y plane.  J is Saint-Venant's torsion
constant, T = G J θx′.  The shear areas Asy, Asz give the axis's shear angle, γ = Q/(G As), for a force along y or z.

Shear areas come from energy, Q²/(G As) = ∫|τ|²/G dA, with the shear stress of a bent prism whose Poisson's ratio is 0.
For a force along z the axial equation of equilibrium and the free surface then read

    τ = (Q/Iy) ∇χ,   ∇²χ = −z,   ∂χ/∂n = 0 on the boundary,   so   As = Iy² / ∫|∇χ|² dA = Iy² / ∫ z χ dA.  (2)

A rectangle has χ = h²z/8 − z³/6, so As = 5/6 A.  A ring of radii a > b has χ = sinφ (3(a² + b²)r + 3a²b²/r − r³)/8,
so As = 6(1 + m²)²/(7(1 + m²)² + 20m²) A with m = b/a: 6/7 A full, A/2 thin.  Others that are in use depend on
Poisson's ratio, and differ by a few per cent: give `Asy` and `Asz` where that matters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import Field, ModelError, Owner
from liegeo.model.checks import check_size


def number(field: Field, value: Any, above: float = 0.0, strictly: bool = True) -> float:
    """Return a finite number above the bound (or on it), or raise a ModelError that says what it is instead."""
    expected = f"{'>' if strictly else '≥'} {above:g}"
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise ModelError(field.fault(value, f"expected a number {expected}")) from None
    if not np.isfinite(found) or found < above or (strictly and found == above):
        raise ModelError(field.fault(found, f"must be {expected}"))
    check_size(field, found)
    return found


@dataclass(frozen=True)
class Section:
    """A cross-section by its integrals (1): area A, second moments Iy and Iz, torsion constant J.

    `Ip` is the polar moment that resists spinning about the axis, Iy + Iz if not given.  `Asy`, `Asz` are shear areas;
    0 or None means that forces along that axis cause no shear.  `outline` is what it looks like, if that is known:
    points (k × 2: y, z) around it, against the clock, and perhaps those of a hole.
    """

    A: float
    Iy: float
    Iz: float
    J: float
    Ip: Any = None
    Asy: Any = None
    Asz: Any = None
    name: str = "section"
    outline: tuple[NDArray[np.float64], ...] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        field = Owner("section", self.name).field
        for what in ("A", "Iy", "Iz", "J"):
            object.__setattr__(self, what, number(field(what), getattr(self, what)))
        for what, default in (("Ip", self.Iy + self.Iz), ("Asy", 0.0), ("Asz", 0.0)):
            given = getattr(self, what)
            value = default if given is None else number(field(what), given, strictly=False)
            object.__setattr__(self, what, value)


def taper(first: Section, second: Section, s: float) -> Section:
    """The section at the fraction s of the way between two: lengths are linear in s.

    √A, Iy^¼, Iz^¼, J^¼, Ip^¼, √Asy and √Asz are interpolated linearly, which is exact between sections of one shape
    (cones, pyramids, their tubes).  For another taper, such as one of the height alone, give the section as a function.
    """
    powers = {"A": 2, "Iy": 4, "Iz": 4, "J": 4, "Ip": 4, "Asy": 2, "Asz": 2}
    values = {
        what: ((1.0 - s) * getattr(first, what) ** (1 / p) + s * getattr(second, what) ** (1 / p)) ** p
        for what, p in powers.items()
    }
    return Section(**values, name=f"{first.name} to {second.name}", outline=_between(first, second, s))


def _between(first: Section, second: Section, s: float) -> tuple[NDArray[np.float64], ...] | None:
    """Outlines move in straight lines too, where they have the same points."""
    a, b = first.outline, second.outline
    if a is None or b is None or [len(x) for x in a] != [len(x) for x in b]:
        return None
    return tuple((1.0 - s) * x + s * y for x, y in zip(a, b, strict=True))


# Points around a section that is round.
_ROUND = 16


def round_outline(diameter_y: float, diameter_z: float) -> NDArray[np.float64]:
    """A polygon on an ellipse, against the clock."""
    angle = 2.0 * np.pi * (np.arange(_ROUND) + 0.5) / _ROUND
    return 0.5 * np.stack([diameter_y * np.cos(angle), diameter_z * np.sin(angle)], axis=1)


def box_outline(width_y: float, height_z: float) -> NDArray[np.float64]:
    """A rectangle, against the clock."""
    return 0.5 * np.array([[-width_y, -height_z], [width_y, -height_z], [width_y, height_z], [-width_y, height_z]])


def circle(diameter: float, name: str = "circle") -> Section:
    """A full circle."""
    return _ring(number(Owner("section", name).field("diameter"), diameter), 0.0, name)


def tube(outer: float, inner: float, name: str = "tube") -> Section:
    """A ring, by its outer and inner diameters."""
    field = Owner("section", name).field
    outer = number(field("outer", words="outer diameter"), outer)
    inner = number(field("inner", words="inner diameter"), inner)
    if inner >= outer:
        expected = f"must be less than the outer one, {outer:g} m"
        raise ModelError(field("inner", words="the inner diameter").fault(inner, expected))
    return _ring(outer, inner, name)


def _ring(outer: float, inner: float, name: str) -> Section:
    A, I = np.pi * (outer**2 - inner**2) / 4.0, np.pi * (outer**4 - inner**4) / 64.0
    m2 = (inner / outer) ** 2
    As = 6.0 * (1.0 + m2) ** 2 / (7.0 * (1.0 + m2) ** 2 + 20.0 * m2) * A
    outline = tuple(round_outline(d, d) for d in (outer, inner) if d > 0.0)
    return Section(A, I, I, 2.0 * I, Asy=As, Asz=As, name=name, outline=outline)


def rectangle(width_y: float, height_z: float, name: str = "rectangle") -> Section:
    """A full rectangle, with its torsion constant from the series of Prandtl's stress function.

    With sides a ≥ b:  J = a b³ (1/3 − 64/π⁵ (b/a) Σ tanh(nπa/2b)/n⁵),  n = 1, 3, 5, …                    (3)
    As tanh → 1, Σ 1/n⁵ = 31/32 ζ(5) is taken whole, and what remains falls like exp(−nπa/b).
    """
    field = Owner("section", name).field
    y, z = number(field("width_y"), width_y), number(field("height_z"), height_z)
    a, b = max(y, z), min(y, z)
    zeta_5 = 1.03692775514336993
    n = np.arange(1, 16, 2)
    # 1 − tanh(x) = 2 e⁻²ˣ/(1 + e⁻²ˣ)
    e = np.exp(-n * np.pi * a / b)
    series = 31.0 / 32.0 * zeta_5 - float(np.sum(2.0 * e / (1.0 + e) / n**5))
    J = a * b**3 * (1.0 / 3.0 - 64.0 / np.pi**5 * (b / a) * series)
    As = 5.0 / 6.0 * y * z
    I_y, I_z = y * z**3 / 12.0, z * y**3 / 12.0
    return Section(y * z, I_y, I_z, J, Asy=As, Asz=As, name=name, outline=(box_outline(y, z),))


def i_beam(width_y: float, height_z: float, flange: float, web: float, name: str = "i_beam") -> Section:
    """A doubly symmetric I: web along z, flanges along y; `flange` and `web` are their thicknesses.

    A, Iy and Iz are exact.  J = Σ length·thickness³/3 and the shear areas are those of thin walls.  A force along z
    makes a shear flow that grows from the flanges' tips s = 0, and in the web as far as its middle; with h between the
    flanges' middles,

        flanges: q = Q/I tf (h/2) s,   web: q = Q/I (tf b h/2 + tw (h²/4 − z²)/2),
        I = tf b h²/2 + tw h³/12,   Asz = Q²/∫q²/t ds.                                                    (4)

    A force along y is carried by the two flanges, rectangles each: Asy = 5/6 · 2 b tf.  Warping is left out.
    """
    field = Owner("section", name).field
    b, H = number(field("width_y"), width_y), number(field("height_z"), height_z)
    tf, tw = number(field("flange"), flange), number(field("web"), web)
    if 2.0 * tf >= H:
        raise ModelError(field("flange").fault(tf, f"must be less than half of height_z, {0.5 * H:g} m"))
    if tw >= b:
        raise ModelError(field("web").fault(tw, f"must be less than width_y, {b:g} m"))
    clear, h = H - 2.0 * tf, H - tf
    A = 2.0 * b * tf + clear * tw
    Iy = (b * H**3 - (b - tw) * clear**3) / 12.0
    Iz = (2.0 * tf * b**3 + clear * tw**3) / 12.0
    J = (2.0 * b * tf**3 + h * tw**3) / 3.0
    # ∫q²/t ds for Q/I = 1: four half flanges, then the web, where q = c + tw (h²/4 − z²)/2
    flanges = 4.0 * tf * (h / 2.0) ** 2 * (b / 2.0) ** 3 / 3.0
    c = tf * b * h / 2.0
    webs = (c**2 * h + c * tw * h**3 / 6.0 + tw**2 * h**5 / 120.0) / tw
    Asz = (tf * b * h**2 / 2.0 + tw * h**3 / 12.0) ** 2 / (flanges + webs)
    # a quarter of the outline, from the flange's edge to the web's middle, then its mirror images
    quarter = 0.5 * np.array([[b, H], [b, clear], [tw, clear]])
    outline = np.concatenate([quarter * side for side in ((1, 1), (1, -1), (-1, -1), (-1, 1))])
    # every second quarter runs the other way round, and the first one against the clock's opposite
    outline[3:6], outline[9:12] = outline[5:2:-1].copy(), outline[11:8:-1].copy()
    return Section(A, Iy, Iz, J, Asy=5.0 / 3.0 * b * tf, Asz=Asz, name=name, outline=(outline[::-1],))


@dataclass(frozen=True)
class Material:
    """A linear elastic, isotropic material: Young's modulus E, density rho, and either Poisson's ratio nu or G.

    G = E/(2(1 + nu)) is filled in where nu is given.  Where G is, nu need not mean anything, and stays None.
    """

    E: float
    rho: float
    nu: float | None = None
    G: Any = None
    name: str = "material"

    def __post_init__(self) -> None:
        owner = Owner("material", self.name)
        field = owner.field
        object.__setattr__(self, "E", number(field("E"), self.E))
        object.__setattr__(self, "rho", number(field("rho"), self.rho, strictly=False))
        if self.nu is None and self.G is None:
            raise ModelError(owner.fault("has neither nu nor G", "expected one of them"))
        G = None if self.G is None else number(field("G"), self.G)
        if self.nu is not None:
            nu = number(field("nu"), self.nu, above=-1.0)
            if nu > 0.5:
                raise ModelError(field("nu").fault(nu, "must be at most 0.5"))
            implied = self.E / (2.0 * (1.0 + nu))
            if G is not None and abs(G - implied) > 1e-9 * implied:
                raise ModelError(field("G").fault(G, f"but E and nu make it {implied:g}; give nu or G, not both"))
            G = implied
        object.__setattr__(self, "G", G)
