"""Operating points: where a model rests, or moves steadily, by Newton's method on the group.

At rest, or with speeds v that do not change, forces and first-order states balance under the multipliers λ of loops,
prescribed motions and locks,

    f(q, x) − J(q)ᵀ λ = 0,    f = ID(q, v, 0) − τ;      ẋ(v, x) = 0;      φ(q) = 0,                              (1)

ID being inverse dynamics of the tree and τ the forces that drive coordinates, in the rows of all that are not held.  A
correction (ε, χ, dλ) is the smallest that solves the equations linearised at (q, x, λ), in the sense of least squares,

    q ← q ⊕ ε,    x ← x + χ,    λ ← λ + dλ,                                                                      (2)

so that directions in which nothing changes, such as the turn of a top about its axis or the place of a free body, are
left as they are, and redundant constraints do no harm.

Newton's method finds stable and unstable equilibria alike.  Where a model is to come to rest, it follows the motion of
a body in thick oil until little force is left, by steps of the implicit Euler method that grow as forces fade
(C. T. Kelley, D. E. Keyes: Convergence analysis of pseudo-transient continuation, SIAM J. Numer. Anal. 35, 1998),

    M q̇ = −(f − Jᵀ λ),    φ(q) = 0;      δ → δ |f|_before / |f|,                                                 (3)

goes on by Newton's method, and, if the stiffness of the equilibrium has a negative eigenvalue, begins again a little
beside it, in the direction of that eigenvector.

Derivatives are central differences: they only say where to
go, (1) says where we are, and the kernels of the exact derivatives would have to be compiled first, which takes longer
than all the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo import dynamics
from liegeo.assembly import assemble
from liegeo.errors import AssemblyError, InputError
from liegeo.model.checks import suggest
from liegeo.model.model import Model, State
from liegeo.model.standin import HasModel, as_model, as_state
from liegeo.motion import driven_by

Array = NDArray[np.float64]

#: What analyses of small motions are about.
INITIAL, REST, STEADY = "initial", "rest", "steady"
ABOUT = (INITIAL, REST, STEADY)

_MOST, _TOLERANCE = 100, 1e-10
# Of the differences: their error, its square and 1e-16 over it, is far below what Newton's method needs.
_NEAR = 1e-5
# What is left of a force where none should be, as a share of the forces there are, or of what small changes make.
_LEFT, _CHANGED = 1e-7, 1e-9
# Directions in which the equations change by less than this share are left alone; the longest step of a coordinate.
_INDIFFERENT, _LONGEST = 1e-8, 0.5
# How fast constraints may open in a steady motion, as a share of its speeds.
_OPENING = 1e-8
# Of (3): the first step, in rad and m; how many steps at most, and the share of the force at which it ends; how often
# it begins anew, and how far beside an unstable equilibrium.
_PACE, _LONGEST_WAY, _NEAR_REST, _ATTEMPTS, _AWAY = 0.1, 200, 1e-3, 8, 0.1


def equilibrium(
    model: Model | HasModel,
    state: State | None = None,
    hold: Iterable[str] | Mapping[str, Sequence[int]] = (),
    inputs: Any = None,
    *,
    speeds: Mapping[str, Any] | None = None,
    stable: bool = False,
) -> State:
    """Return the state at rest near the given one, with the named joints (or bodies' modes) held where they are.

    Of a joint in a mapping, only the speeds with these indices are held.  `inputs` are those of `simulate`; functions
    have the values that they have at this state.

    Loops stay closed, and prescribed motions are where their laws put them at the state's time.  What holds joints is
    left out of the balance: their torques come from dynamics.inverse_dynamics.  With `speeds`, by joint, the motion is
    steady instead: these joints stay where they are and turn on as fast, all others rest in the frames that carry them,
    as the stretched blades of a rotor do.  Loops must stay closed at these speeds, as within what turns as a whole.

    An equilibrium may be unstable, as that of an inverted pendulum.  With `stable`, the model goes on to where it would
    come to rest, by (3).
    """
    state, model = as_state(model, state), as_model(model, "equilibrium")
    if model.group is None:
        return model.state()
    state = model.state() if state is None else state
    model.check(state, "equilibrium")
    moving = dict(speeds or {})
    v = model.state(v=moving).v if moving else np.zeros(model.nv)
    hold = hold if isinstance(hold, Mapping) else [hold] if isinstance(hold, str) else list(hold)
    free = ~model.locked
    for name in (*hold, *moving):
        if name not in model.group.v:
            raise InputError(
                f"equilibrium: '{name}', which is to be held, has no degrees of freedom."
                f"{suggest(name, list(model.group.v))}"
            )
        place = model.group.v[name]
        some = hold[name] if isinstance(hold, Mapping) and name in hold else range(place.stop - place.start)
        free[[place.start + k for k in some]] = False
    if stable and moving:
        raise InputError("equilibrium: `stable` is for rest, expected no `speeds` beside it.")
    balance = _Balance(model, replace(state, v=v), inputs, hold, free)
    found = balance.settle() if stable else balance.solve()
    if moving and model.rows:
        opening = float(np.abs(dynamics.constraint_values(model, found, balance.inputs).rate).max())
        if opening > _OPENING * float(np.abs(v).max()):
            raise AssemblyError(
                f"equilibrium: at the speeds of {', '.join(map(repr, moving))} alone, the constraints of {model!r} "
                f"open with {opening:.3g} per second.\n  A steady motion turns all that a loop connects as a whole; "
                "give the speeds of all joints that move."
            )
    return found


def operating_point(
    model: Model | HasModel,
    state: State | None = None,
    about: str = REST,
    *,
    hold: Iterable[str] = (),
    inputs: Any = None,
    speeds: Mapping[str, Any] | None = None,
) -> State:
    """Return the state near the given one that analyses are about.

    `about` is "initial" (the state itself), "rest" (where it comes to rest) or "steady": joints that move in it turn on
    as fast, with `speeds` in the place of their own, and all others rest in the frames that carry them.
    """
    if about not in ABOUT:
        raise InputError(f"about is {about!r}, expected one of {', '.join(map(repr, ABOUT))}.")
    state, model = as_state(model, state), as_model(model, "operating_point")
    state = model.state() if state is None else state
    model.check(state, "operating_point")
    if about == REST:
        return equilibrium(model, state, hold, inputs, stable=True)
    places = model.group.v if model.group is not None else {}
    moving = {name: state.v[place] for name, place in places.items() if name in model.joints and state.v[place].any()}
    moving |= dict(speeds or {})
    if about == INITIAL:
        return replace(state, v=model.state(v=moving).v) if speeds else state
    if not moving:
        raise InputError(
            f"about is 'steady', and no joint of {model!r} moves in its initial state.\n"
            "  Give a joint an initial speed, or take about='rest'."
        )
    return equilibrium(model, state, [name for name in hold if name not in moving], inputs, speeds=moving)


class _Balance:
    """The equations (1) of a model."""

    def __init__(self, model: Model, state: State, inputs: Any, hold: Any, free: NDArray[np.bool_]) -> None:
        self.model, self.state, self.free = model, state, free
        u = driven_by(model, state, inputs)
        self.tau, self.inputs = u[: model.nv], u[model.nv :]
        #: What assembly keeps: joints, or some of their speeds.
        self.hold = hold if isinstance(hold, Mapping) else [name for name in hold if name in model.joints]
        self._rest = np.zeros(model.nv)
        self.n, self.nx, self.m = int(free.sum()), model.nx, len(model.rows)

    def left(self, state: State, multipliers: Array) -> Array:
        """Return what is left of (1)."""
        model = self.model
        force = self._force(state)
        parts = [force[self.free]]
        if self.m:
            parts[0] = (force - dynamics.constraint_jacobian(model, state).T @ multipliers)[self.free]
        parts.append(dynamics.state_rates(model, state, self.inputs))
        if self.m:
            parts.append(dynamics.constraint_values(model, state, self.inputs).residual)
        return np.concatenate(parts)

    def _force(self, state: State) -> Array:
        """Return f of (1)."""
        return np.asarray(dynamics.inverse_dynamics(self.model, state, inputs=self.inputs) - self.tau)

    def moved(self, state: State, step: Array) -> State:
        """Return the state after (2)."""
        group, shift = self.model.group, np.zeros(self.model.nv)
        assert group is not None
        shift[self.free] = step[: self.n]
        return replace(state, q=group.retract(state.q, shift), x=state.x + step[self.n : self.n + self.nx])

    def solve(self) -> State:
        """Return the state that solves (1) near the one it begins with, or raise an AssemblyError."""
        return self._newton(self.state)[0]

    def settle(self) -> State:
        """Return a stable state that solves (1), or raise an AssemblyError."""
        state = self.state
        for _ in range(_ATTEMPTS):
            state, slope = self._newton(self._descended(state))
            away = self._unstable(state, slope)
            if away is None:
                return state
            beside = np.concatenate([_AWAY * away / np.abs(away).max(), np.zeros(self.nx)])
            state = self._closed(self.moved(state, beside))
        raise AssemblyError(
            f"equilibrium: found no stable one near this state: all {_ATTEMPTS} that were found are unstable.\n"
            "  Begin nearer to a stable one, or hold what can move without a spring or weight against it."
        )

    def _multipliers(self, state: State) -> Array:
        """Return the multipliers that come nearest to a balance."""
        if not self.m:
            return np.zeros(0)
        J = dynamics.constraint_jacobian(self.model, state)[:, self.free]
        force = self._force(state)[self.free]
        return np.asarray(np.linalg.lstsq(J.T, force, rcond=_INDIFFERENT)[0])

    def _slope(self, state: State, multipliers: Array) -> Array:
        """Return the derivative of what is left by (ε, χ, dλ)."""
        size = self.n + self.nx
        slope = np.zeros((self.n + self.nx + self.m, size + self.m))
        for k, e in enumerate(_NEAR * np.eye(size)):
            after, before = (self.left(self.moved(state, side * e), multipliers) for side in (1.0, -1.0))
            slope[:, k] = (after - before) / (2.0 * _NEAR)
        if self.m:
            slope[: self.n, size:] = -dynamics.constraint_jacobian(self.model, state)[:, self.free].T
        return slope

    def _newton(self, state: State) -> tuple[State, Array]:
        """Return the state that Newton's method leads to, and the derivative there."""
        size, multipliers = self.n + self.nx, self._multipliers(state)
        for _ in range(_MOST):
            left, slope = self.left(state, multipliers), self._slope(state, multipliers)
            if not np.any(left):
                # nothing pulls, as in a spacecraft at rest, whose slope says nothing about where to go
                return state, slope
            step = self._smallest(slope, -left)
            state, multipliers = self.moved(state, step), multipliers + step[size:]
            if np.abs(step[:size]).max(initial=0.0) < _TOLERANCE:
                break
        left = self.left(state, multipliers)
        forces = np.abs(left[: self.n])
        allowed = _LEFT * self._forces(state) + _CHANGED * np.abs(slope[: self.n]).max(axis=1, initial=0.0)
        if (forces <= allowed).all() and np.abs(left[self.n :]).max(initial=0.0) <= _LEFT:
            return state, slope
        raise AssemblyError(
            f"equilibrium: found none near this state; the largest force that is left is {forces.max(initial=0.0):.3g}"
            f"{self._owner(forces)}.\n"
            "  Begin nearer to it, or hold what can move without a spring or weight against it (`hold`; in a model "
            "file `initial: {keep: […]}`)."
        )

    def _descended(self, state: State) -> State:
        """Return a state on the way of (3) at which little force is left."""
        first, before, pace = 0.0, 0.0, 0.0
        for _ in range(_LONGEST_WAY):
            multipliers = self._multipliers(state)
            left, mass = self.left(state, multipliers), self._mass(state)
            pull = np.linalg.lstsq(mass, left[: self.n], rcond=_INDIFFERENT)[0]
            size = float(np.sqrt(abs(left[: self.n] @ pull)))
            first = max(first, size)
            if size <= _NEAR_REST * first:
                return state
            pace = _PACE / np.abs(pull).max() if not pace else pace * min(max(before / size, 0.2), 10.0)
            before = size
            slope = self._slope(state, multipliers)
            slope[: self.n, : self.n] += mass / pace
            state = self._closed(self.moved(state, self._smallest(slope, -left)))
        return state

    def _closed(self, state: State) -> State:
        """Return the state with its loops closed, near it: rows that depend on each other do so only there."""
        if not self.m:
            return state
        closed = assemble(self.model, replace(state, v=self._rest), keep=self.hold)
        return replace(closed, v=self._rest)

    def _mass(self, state: State) -> Array:
        """Return the mass matrix of what is free, from inverse dynamics, whose kernel is here already."""
        rest = replace(state, v=self._rest)
        none = dynamics.inverse_dynamics(self.model, rest, inputs=self.inputs)
        columns = [
            dynamics.inverse_dynamics(self.model, rest, a, inputs=self.inputs) - none
            for a in np.eye(self.model.nv)[self.free]
        ]
        return np.array(columns)[:, self.free].T.reshape(self.n, self.n)

    def _unstable(self, state: State, slope: Array) -> Array | None:
        """Return the direction in which an equilibrium is least stable, if it is not stable in it."""
        if not self.n:
            return None
        M, K = self._mass(state), slope[: self.n, : self.n]
        if self.m:
            J = dynamics.constraint_jacobian(self.model, state)[:, self.free]
            left = np.linalg.svd(J)
            rank = int((left[1] > _INDIFFERENT * left[1].max(initial=0.0)).sum())
            N = left[2][rank:].T
        else:
            N = np.eye(self.n)
        if not N.size:
            return None
        # in coordinates of unit mass; massless directions have no say in what moves
        values, vectors = np.linalg.eigh(N.T @ (M + M.T) @ N / 2.0)
        with_mass = values > _INDIFFERENT * values.max()
        N = N @ (vectors[:, with_mass] / np.sqrt(values[with_mass]))
        rates, shapes = np.linalg.eigh(N.T @ (K + K.T) @ N / 2.0)
        if rates[0] >= -_CHANGED * np.abs(rates).max():
            return None
        return N @ shapes[:, 0]

    def _smallest(self, slope: Array, wanted: Array) -> Array:
        """Return the smallest step that comes nearest to what is wanted, and no coordinate too far."""
        # equations of any unit count alike
        sizes = np.abs(slope).max(axis=1)
        sizes[sizes == 0.0] = 1.0
        step: Array = np.linalg.lstsq(slope / sizes[:, None], wanted / sizes, rcond=_INDIFFERENT)[0]
        return step * min(1.0, _LONGEST / max(float(np.abs(step[: self.n]).max(initial=0.0)), 1e-300))

    def _forces(self, state: State) -> float:
        """Return the size of the forces that balance: what the motion takes, and what weight would do alone."""
        model = self.model
        largest = float(np.abs(self._force(state)).max(initial=0.0))
        weight = float(np.linalg.norm(np.asarray(model.tree.gravity))) * sum(
            float(getattr(body, "mass", 0.0)) for body in model.tree.bodies
        )
        return max(largest, weight, 1e-6)

    def _owner(self, forces: Array) -> str:
        """Return where the largest of the forces in free coordinates is."""
        assert self.model.group is not None
        if not len(forces):
            return ""
        place = int(np.flatnonzero(self.free)[np.argmax(forces)])
        name = next(name for name, part in self.model.group.v.items() if part.start <= place < part.stop)
        return f", at '{name}'"
