"""Problems: a vector field on a group, or a mechanical system on one; and what solving them gives.

A mechanical system has configurations q on a group, speeds v in its algebra (q̇ = q v) and the Lagrangian
½ vᵀ M(q) v − V(q), with generalised forces f besides.  Its equation of motion is

    d/dt (M v) − adT(v) M v = s(t, q, v),        s = ∂L/∂q along the group + f,                                   (1)

and the state Y = (q, v) lives on the product of the group with ℝⁿ, where it is the field (v, v̇): every method for
fields works.  Methods for mechanical systems use the kernels of `Dynamics` besides, and know no more of mechanics.

First-order states x, ẋ = g(t, q, v, x), on which forces may depend, are speeds too: those of coordinates ξ on which
nothing depends, in a factor STATES of the group,

    ξ̇ = x,      ẋ = g(t, q, v, x),      with mass 1 and the residual ẋ − g.                                         (2)

So all that follows, and every method, knows only (q, v) with as many speeds as the group has dimensions: explicit
methods treat x in their stages, generalised-α by the first-order form that it has for speeds (with the same spectral
radius at infinity, ρ), BDF and Rosenbrock methods in their matrix.  The price is a number ξ per state.  Methods that
rest on the Lagrangian cannot, and refuse.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo._jit import kernel
from liegeo.errors import InputError
from liegeo.integrate import explicit
from liegeo.integrate.breaks import Breaks
from liegeo.lie import Group, Product, R
from liegeo.status import ABSENT

Array = NDArray[np.float64]
Kernel = Callable[..., Any]

# The factor of a state that holds the speeds, and that of a configuration that belongs to first-order states.
SPEEDS, STATES = "speeds ", "states "


class Dynamics(NamedTuple):
    """The kernels of a mechanical system; what a method does not use may be None.

    I and F are the system's data, W its scratch.  All but `energy` return a status, an int, zero if all is well.  They
    are Numba functions, or all plain ones (calls.py).
    """

    acceleration: Kernel  # (I, F, t, q, v, W, out): v̇
    residual: Kernel | None = None  # (I, F, t, q, v, a, W, out): M a + … − forces, zero for the true motion
    momentum: Kernel | None = None  # (I, F, q, v, W, out): M(q) v
    slope: Kernel | None = None  # (I, F, t, q, v, W, out): s of (1)
    factorise: Kernel | None = None  # (I, F, q, alpha, beta, W): prepares W for `substitute`
    substitute: Kernel | None = None  # (I, F, r, W, out): (M + αD + βK)⁻¹ r, D and K near ∂residual/∂v and ∂q
    resistance: Kernel | None = None  # (I, F, alpha, beta, x, out): (αD + βK) x
    energy: Kernel | None = None  # (I, F, t, q, v, W): kinetic and potential energy, a number
    closing: Kernel | None = None  # (I, F, t, q, v, W, dq, dv): what q (along the group) and v lack to obey constraints
    correct: Kernel | None = None  # (I, F, r, a, b, c, adding, W, B, out): saddle points of constrained.py, S, J in B
    release: Kernel | None = None  # (I, W): multipliers become zero
    # (I, F, q, alpha, beta, local, W): M + αD + βK + diag(local), if `residual` came just before with this q and W
    factorise_next: Kernel | None = None
    along: Kernel | None = None  # (I, F, t, q, v, a, dq, dv, da, W, out): derivative of `residual` along (dq, dv, da)
    # (I, F, q, v, alpha, beta, secant, out): α ∂f/∂v + β ∂f/∂q of forces f that depend on one speed and its coordinate
    # alone and are not in D and K; if `secant` is 1, not 0, f/v in place of ∂f/∂v
    local_tangents: Kernel | None = None
    displacement: Kernel | None = None  # (I, F, q, e, W, out): metres and radians that a small change e moves it by
    # (I, F, q, v, W): a whole number, another one where a contact is made or lost, a gap crossed, a strand slack
    switches: Kernel | None = None
    # (I, F, W, behind, out): the largest force with which set-valued friction holds each speed, −1 where there is none;
    # it returns how many there are.  `behind` is 1 if W has what `residual` left, else 0: limits may be infinite then
    grips: Kernel | None = None


def _absent(I, F, t, q, v, a, dq, dv, da, W, out):  # type: ignore[no-untyped-def]
    """Say that there is no `along`: methods take differences of `residual` then."""
    return ABSENT


absent = kernel(_absent, name="integrate.absent", forceinline=False)


def _no_tangents(I, F, q, v, alpha, beta, secant, out):  # type: ignore[no-untyped-def]
    """Write zeros: no force is local to one speed."""
    for k in range(out.shape[0]):
        out[k] = 0.0
    return 0


no_tangents = kernel(_no_tangents, name="integrate.no_tangents", forceinline=False)


def _no_switches(I, F, q, v, W):  # type: ignore[no-untyped-def]
    """Return 0: no force has a kink."""
    return 0


no_switches = kernel(_no_switches, name="integrate.no_switches", forceinline=False)


def _no_grips(I, F, W, behind, out):  # type: ignore[no-untyped-def]
    """Return 0: no speed has set-valued friction."""
    return 0


no_grips = kernel(_no_grips, name="integrate.no_grips", forceinline=False)


@functools.lru_cache(maxsize=64)
def _without_tangents(factorise: Kernel) -> Kernel:
    """Return `factorise` as a `factorise_next`: what prepares W from nothing does so from anything."""

    def factorise_next(I, F, q, alpha, beta, local, W):  # type: ignore[no-untyped-def]
        return factorise(I, F, q, alpha, beta, W)

    compiled = hasattr(factorise, "py_func")
    return kernel(factorise_next, name="integrate.factorise_next", forceinline=False) if compiled else factorise_next


@dataclass(frozen=True)
class System:
    """A mechanical system on a group: its kernels, their data, the size of their scratch, and words for a status.

    A system that is `constrained` has to be brought back to its constraints after every step, with `closing`.  One that
    is `coupled` has forces that may be stiff and of which D and K know nothing; it has `along`.  `diagnose` says what
    is special about a state from which no step could be made, beside the state at the start.  `states` names the owner
    of each first-order state, `sticking` the owners of set-valued friction; `ints` and `floats` are copied for every
    stepper, so large data belong elsewhere.  `sizes`, one for each speed and state, say what is large in the unit of
    its coordinate, such as 1 rad or the length of a mechanism: what Newton's method leaves is measured by them
    (newton.py (12)).  They are ones, if not given.  `keep` holds what addresses in `ints` point to, arrays and
    functions, so that it lives as long as the system.
    """

    group: Product
    dynamics: Dynamics
    ints: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    floats: Array = field(default_factory=lambda: np.zeros(0))
    work: int = 0
    explain: Callable[[int], str] = lambda status: f"the system failed with status {status}"
    constrained: bool = False
    coupled: bool = False
    diagnose: Callable[[Array, Array], str] = lambda y, start: ""
    breaks: Breaks = field(default_factory=Breaks)
    states: tuple[str, ...] = ()
    sticking: tuple[str, ...] = ()
    sizes: Array | None = None
    keep: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.group, Product):
            raise InputError(f"system: group is {self.group!r}, expected a Product.\n  Write Product({{'q': group}}).")
        if self.dynamics.factorise_next is None and self.dynamics.factorise is not None:
            next_one = _without_tangents(self.dynamics.factorise)
            object.__setattr__(self, "dynamics", self.dynamics._replace(factorise_next=next_one))
        if self.dynamics.local_tangents is None:
            none = no_tangents if self.compiled else _no_tangents
            object.__setattr__(self, "dynamics", self.dynamics._replace(local_tangents=none))
        if self.dynamics.switches is None:
            none = no_switches if self.compiled else _no_switches
            object.__setattr__(self, "dynamics", self.dynamics._replace(switches=none))
        if self.dynamics.grips is None:
            nothing = no_grips if self.compiled else _no_grips
            object.__setattr__(self, "dynamics", self.dynamics._replace(grips=nothing))
        if self.dynamics.along is None:
            object.__setattr__(self, "dynamics", self.dynamics._replace(along=absent if self.compiled else _absent))

    @property
    def compiled(self) -> bool:
        return hasattr(self.dynamics.acceleration, "py_func")

    @property
    def field(self) -> Kernel:
        """(v, v̇) as a field on states."""
        from liegeo.integrate.calls import STUBS

        return explicit.motion(STUBS.acceleration if self.compiled else self.dynamics.acceleration)

    @property
    def state_group(self) -> Product:
        """The group of (q, v)."""
        return _state_group(self.group)


@functools.lru_cache(maxsize=64)
def _state_group(group: Product) -> Product:
    return Product({**group.factors, SPEEDS: R(group.dim)})


def with_states(group: Product, n: int) -> Product:
    """Return the group of configurations with the coordinates ξ of n first-order states (2)."""
    return Product({**group.factors, STATES: R(n)}) if n else group


@dataclass(frozen=True)
class Problem:
    """Ẏ = Y F(t, Y) on a group, from Y(t_start) = start to t_end.

    `field` is a compiled function `field(t, Y, out)` (a Numba function: everything then runs compiled) or a plain one
    `field(t, Y)` that returns F, an algebra vector.  `reference`, if known, is Y(t_end).  `Problem.of` makes the
    problem of a mechanical system, whose Y is (q, v).
    """

    group: Group
    field: Callable[..., Any]
    start: ArrayLike
    t_end: float
    t_start: float = 0.0
    reference: ArrayLike | None = None
    name: str = "problem"
    system: System | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", self.group.retract(self.start, np.zeros(self.group.dim)))
        if not np.isfinite(self.t_start) or not np.isfinite(self.t_end):
            raise InputError(f"problem '{self.name}': t_start and t_end must be finite.")
        if not callable(self.field):
            raise InputError(f"problem '{self.name}': field is {self.field!r}, expected a function of (t, Y).")

    @classmethod
    def of(cls, system: System, q: ArrayLike, v: ArrayLike, t_end: float, **more: Any) -> Problem:
        """Return the motion of a mechanical system from (q, v); coordinates ξ of (2) may be left out, and are zero."""
        place, speeds = (np.asarray(x, dtype=np.float64) for x in (q, v))
        n = system.group.factors[STATES].dim if system.states else 0
        if n and len(place) == system.group.element_shape[0] - n:
            place = np.append(place, np.zeros(n))
        start = np.concatenate([place, speeds])
        return cls(system.state_group, system.field, start, t_end, system=system, **more)

    @property
    def compiled(self) -> bool:
        return hasattr(self.field, "py_func")
