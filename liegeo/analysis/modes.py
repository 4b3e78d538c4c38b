"""Modes of a model about a state at rest or in steady motion: frequencies, damping, shapes, masses, frames.

They are those of its linear model (linear.py), found in eigenmodes.py, where rigid motions are split off exactly.
Shapes are deviations ε of all coordinates, those of loops included, with ε^H M ε = 1.

**Masses.**  With the momentum h(v) of the speeds v, three angular parts about the centre of mass and three linear ones,
the participation of mode k and its effective masses are

    Γ_k = h(φ_k),      m_k = |Γ_k|²;      Σ_k m_k = diag(h M⁻¹ hᵀ)                                                 (1)

over all undamped modes, rigid ones included: of a free system its inertia and mass, of a system on the ground what its
coordinates can move; what is left goes with the ground.

**Frames.**  About a rotor's steady motion coordinates behind its bearing turn with it.  Along the motion q₀(t) with the
period 2π/Ω the momentum h = J v of the mass at one place along the axis and at one distance from it is, in the axes of
the world,

    h(t) = Σ_j J_j φ e^{(λ + i j Ω) t},      J(q₀(t)) = Σ_j J_j e^{i j Ω t},                                         (2)

so that from the ground mode φ has the frequencies λ + ijΩ.  Modes of axisymmetric rotors have one of them; of others
the one with the most of Σ |h|²/m is given, and its share.  Modes without such momenta, as waves around a disc, are left
as they are, with a share of 0.  Across the axis of rotation n = e₁ × e₂ momenta along e₁ − i e₂ whirl forward at a
positive frequency, and e₁ + i e₂ backward.

**Damping** of a flexible body is that of its own modes, held at its frame: as a part of a system it gives other ratios
(1 % of an arm's own modes may be 0.1 % of the system's first mode).  Ratios ζ_k of undamped modes of the system are the
matrix (Caughey's)

    D = M Φ diag(2 ζ_k ω_k) Φᵀ M.                                                                                 (3)

**Comparison.**  MAC(φ, ψ) = |φ^H ψ|²/(φ^H φ ψ^H ψ), with M between the two if the models have the same coordinates, and
for the displacements of frames that both have, in the axes of the world, if not (Allemang and Brown).
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo import dynamics
from liegeo.analysis.eigenmodes import DAMPED, KINDS, UNDAMPED, Eigenmodes, eigenmodes
from liegeo.analysis.large import few_modes, momenta
from liegeo.analysis.linear import LinearModel, changes_on_the_way, deviations, linearise, with_friction
from liegeo.errors import InputError
from liegeo.model import notebook
from liegeo.model.body import FlexibleBody
from liegeo.model.model import Model, State
from liegeo.model.standin import HasModel, as_model, as_state
from liegeo.results.result import Result, RunInfo

Array = NDArray[Any]

# Rates at the state above which it is no operating point, and slower turns than these are none.
_STILL = 1e-6
# Phases of a turn at which Jacobians are looked at, and how much of them must vary to say that coordinates turn.
_PHASES, _VARIES = 8, 1e-9
# Less than this much more of one circular motion than of the other is no whirl.
_WHIRLS = 0.1
# The least share of a mode's energy that resultants of stations must have to say where it goes.
_RESULTANT = 1e-6
#: Directions of participation and effective masses: turns about, and displacements along the axes of the world.
DIRECTIONS = ("turn x", "turn y", "turn z", "x", "y", "z")
# An animation: samples, seconds, how far points go as a share of the system's size, and angles in rad.
_FRAMES, _SECONDS, _REACH, _TURN = 49, 2.0, 0.08, 0.35


class FixedFrame(NamedTuple):
    """Modes as they look from the ground: eigenvalues, the share of each in the mode, and which way they whirl.

    `whirl` is between 1 (a circle in the sense of the rotation) and −1 (against it).  A share of 0 says that a mode has
    no resultant, such as a wave around a disc, and is given as the rotating frame has it.
    """

    eigenvalues: Array
    shares: Array
    whirl: Array


@dataclass(frozen=True, repr=False)
class Modes:
    """Modes of a model: rigid motions first, `rigid` of them, then the others, slowest first; counted from 0.

    `eigenvalues` (k), of a complex pair the one with Im λ > 0, 0 for rigid motions; `shapes` (nv × k), of unit kinetic
    energy; `shares` (nv × k), of the kinetic energy what stands in the row of each coordinate.  `kind` says whether
    damping and gyroscopic terms were left out.  All are in the coordinates of the model; `rotation` is the angular
    velocity with which these turn (3), zero for modes that are seen from the ground.
    """

    model: Model
    state: State
    eigenvalues: Array
    shapes: Array
    shares: Array
    rigid: int
    kind: str
    rotation: Array
    # The largest rate of a speed or state at the state itself; an operating point has none.
    acceleration: float = 0.0
    notes: tuple[str, ...] = ()
    # Whether a motion has the same equations of small motions all along.
    constant: bool = True
    # Inputs at the operating point, and the treatment of friction.
    _point: tuple[Any, str | None] = (None, None)
    # The linear model, if it was needed to find them.
    _linear: LinearModel | None = None

    @functools.cached_property
    def linear(self) -> LinearModel:
        """The linear model of the same operating point, without inputs and outputs."""
        if self._linear is not None:
            return self._linear
        at, friction = self._point
        return linearise(self.model, self.state, (), (), at=at, friction=friction)

    @property
    def frequencies(self) -> Array:
        """Natural frequencies |λ|/2π in Hz."""
        return np.abs(self.eigenvalues) / (2.0 * np.pi)

    @property
    def damping(self) -> Array:
        """Ratios of critical damping; 1 and more does not oscillate, less than 0 grows; 0 for rigid motions."""
        size = np.abs(self.eigenvalues)
        return np.where(size > 0.0, -self.eigenvalues.real / np.where(size > 0.0, size, 1.0), 0.0)

    @property
    def is_steady(self) -> bool:
        """Whether speeds and states do not change at the state."""
        return self.acceleration <= _STILL

    @property
    def rotates(self) -> bool:
        """Whether the modes are seen from a frame that turns."""
        return bool(self.rotation.any())

    def mostly(self, i: int) -> str:
        """Return the joint, or the coordinate, that has the largest share of the kinetic energy of mode i."""
        return _coordinates(self.model)[int(np.argmax(self.shares[:, i]))]

    def __len__(self) -> int:
        return len(self.eigenvalues)

    def __repr__(self) -> str:
        moving = self.frequencies[self.rigid :]
        span = f", {moving[0]:.4g} to {moving[-1]:.4g} Hz" if len(moving) else ""
        rigid = f", {self.rigid} rigid" if self.rigid else ""
        kind = "" if self.kind == DAMPED else f"{self.kind} "
        return f"<{len(self)} {kind}modes of '{self.model.tree.name}'{rigid}{span}>"

    def _repr_html_(self) -> str:
        fixed = self.fixed() if self.rotates else None
        rows: list[list[Any]] = []
        for i, (frequency, ratio) in enumerate(zip(self.frequencies, self.damping, strict=True)):
            row = [i, "rigid" if i < self.rigid else f"{frequency:.5g}", percent(ratio), self.mostly(i)]
            if fixed is not None:
                row[2:2] = [f"{abs(fixed.eigenvalues[i]) / (2 * np.pi):.5g}"]
            rows.append(row)
        head = ["mode", "frequency (Hz)", "damping (%)", "most of it in"]
        if fixed is not None:
            head[1:2] = ["rotating (Hz)", "fixed (Hz)"]
        moving = f"; no equilibrium, accelerations to {self.acceleration:.3g}" if self.acceleration > _STILL else ""
        return notebook.table(repr(self).strip("<>") + moving, head, rows)

    def frame(self) -> str:
        """Return a sentence that says from which frame the modes are seen."""
        if not self.is_steady and self.state.v.any():
            return "The motion is not steady: frequencies are those of the system frozen in this state."
        if not self.constant:
            return (
                "The equations of small motions change as the model turns: frequencies are those of the system frozen "
                "in this position."
            )
        if not self.rotates:
            return "Frequencies are those of the fixed frame."
        axis = ", ".join(f"{x:.3g}" for x in self.rotation / np.linalg.norm(self.rotation))
        return (
            f"Frequencies are those of the rotating frame, which turns at {np.linalg.norm(self.rotation):.6g} rad/s "
            f"about ({axis}); in the fixed frame they are those under 'fixed'."
        )

    def fixed(self) -> FixedFrame:
        """Return the modes as they look from the ground, by (2); rigid motions have the eigenvalue 0.

        Of a motion that is not steady they are as they are.
        """
        return _fixed(self)

    # ---- masses

    @property
    def participation(self) -> Array:
        """Γ of (1), one row per mode and one column per direction (DIRECTIONS), in kg^½ and kg^½ m."""
        return _momentum(self.model, self.state, self.shapes).T

    @property
    def effective_masses(self) -> Array:
        """Effective inertia (kg m², three) and mass (kg, three) of each mode: m of (1)."""
        return np.abs(self.participation) ** 2

    @property
    def movable(self) -> Array:
        """The inertia and mass that the coordinates can move, and to which undamped modes add up: Σ m of (1)."""
        N = self.linear.basis
        if not N.shape[1]:
            return np.zeros(6)
        h = _momentum(self.model, self.state, N)
        return np.einsum("ij,ji->i", h, np.linalg.solve(self.linear.mass, h.T))

    # ---- damping of the system's modes

    def with_damping(self, ratios: ArrayLike) -> Modes:
        """Return the modes with these ratios of critical damping in the place of all damping that there was.

        One ratio is for all modes; of several the first is for the slowest mode that is not rigid, and modes beyond
        have none.  `linear_model` of what is returned has the same damping, for responses.
        """
        if self.rotates or self.state.v.any():
            raise InputError(
                "with_damping: the model moves, expected modes about rest.\n"
                "  About a motion modes are not those of undamped vibrations, to which ratios belong."
            )
        undamped = _of(self.model, self.state, self.linear, UNDAMPED, None, self.notes)
        values = np.atleast_1d(np.asarray(ratios, dtype=np.float64))
        m = len(undamped) - undamped.rigid
        if values.ndim != 1 or not (np.isfinite(values).all() and (values >= 0.0).all()) or len(values) > max(m, 1):
            raise InputError(
                f"with_damping: ratios are {ratios!r}, expected one number ≥ 0, or at most {m}, one for each mode that "
                "is not rigid."
            )
        if np.any(undamped.eigenvalues.real):
            raise InputError("with_damping: a mode grows, expected a stable equilibrium.")
        each = np.zeros(m)
        each[: len(values) if np.ndim(ratios) else m] = values
        M, n = self.linear.mass, self.linear.n_coordinates
        shapes = M @ _of_basis(self.linear.basis, undamped.shapes[:, undamped.rigid :].real)
        D = shapes @ np.diag(2.0 * each * undamped.eigenvalues[undamped.rigid :].imag) @ shapes.T
        A = self.linear.A.copy()
        A[n : 2 * n, n : 2 * n] = -np.linalg.solve(M, D)
        said = f"damping of all modes: {100 * values[0]:.3g} %" if not np.ndim(ratios) else "damping of modes as given"
        linear = dataclasses.replace(self.linear, A=A, notes=(*self.linear.notes, said))
        found = _of(self.model, self.state, linear, DAMPED, None, (*self.notes, said))
        return dataclasses.replace(found, _point=self._point)

    def linear_model(self, inputs: Iterable[str] | None = None, outputs: Iterable[str] | None = None) -> LinearModel:
        """Return A, B, C, D of the same operating point with the damping of these modes; names as in `linearise`.

        Where `with_damping` has replaced the damping, outputs that feel accelerations feel the difference as a
        generalised force.
        """
        at, friction = self._point
        found = linearise(self.model, self.state, inputs, outputs, at=at, friction=friction)
        n = found.n_coordinates
        # in generalised forces
        change = self.linear.mass @ (self.linear.A - found.A)[n : 2 * n, n : 2 * n] if n else np.zeros((0, 0))
        if not change.any():
            return found
        A, C = found.A.copy(), found.C.copy()
        A[n : 2 * n] = self.linear.A[n : 2 * n]
        names = {c.place: c.name for c in self.model.names.table.values() if c.source == ("v",)}
        forces = _forces(self.model, [place for place in sorted(names) if names[place] in found.states[n : 2 * n]])
        felt = linearise(self.model, self.state, forces, found.outputs, at=at, friction=friction).D
        C[:, n : 2 * n] += felt @ change
        return dataclasses.replace(found, A=A, C=C, notes=self.linear.notes)

    # ---- shapes

    def displacements(self, frames: Iterable[str]) -> Array:
        """Return how each mode moves frames ("arm.tip"): rotations and displacements in the world's axes, 6 f × k."""
        parts = [_in_world(self.model, self.state, frame) @ self.shapes for frame in _frame_names(frames)]
        return np.concatenate(parts) if parts else np.zeros((0, len(self)))

    def motion(self, i: int, amplitude: float | None = None) -> Result:
        """Return one period of mode i as a run of two seconds, without its decay, to look at.

        `amplitude` multiplies the shape; it is chosen so that one can see the mode, if not given.
        """
        if not -len(self) <= i < len(self):
            raise InputError(f"motion: mode {i} is none of {len(self)}, expected 0 to {len(self) - 1}.")
        shape = self.shapes[:, i]
        # a turn of the phase that makes the first picture the largest one
        largest = shape[np.argmax(np.abs(shape))]
        shape = shape * np.conj(largest) / max(abs(largest), 1e-300)
        size = self._visible(shape) if amplitude is None else float(amplitude)
        assert self.model.group is not None
        phase = np.linspace(0.0, 2.0 * np.pi, _FRAMES)
        steps = size * (shape[None] * np.exp(1j * phase)[:, None]).real
        q = np.stack([self.model.group.retract(self.state.q, step) for step in steps])
        n = len(phase)
        zero = np.zeros((n, self.model.nv))
        forces = np.zeros((n, self.model.nv + self.model.nu))
        info = RunInfo("mode", n - 1)
        x = np.repeat(self.state.x[None], n, axis=0)
        return Result(self.model, _SECONDS * phase / (2.0 * np.pi), q, zero, forces, info, x)

    def _visible(self, shape: Array) -> float:
        """Return how much of a shape is seen well."""
        points, moves, turns = [], [1e-300], [1e-300]
        for frame, _, _ in _points(self.model):
            points.append(dynamics.frame_pose(self.model, self.state, frame)[:3, 3])
            V = _in_world(self.model, self.state, frame) @ shape
            turns.append(float(np.linalg.norm(np.abs(V[:3]))))
            moves.append(float(np.linalg.norm(np.abs(V[3:]))))
        points.append(np.zeros(3))
        size = float(np.linalg.norm(np.ptp(points, axis=0))) or 1.0
        return min(_REACH * size / max(moves), _TURN / max(turns))

    def view(self, file: str | os.PathLike[str], modes: Iterable[int] | None = None, **options: Any) -> Path:
        """Write a 3-D page that shows modes, one at a time by choice; options are those of liegeo.view.write_page.

        If `modes` are not given, the slowest twelve that are not rigid.
        """
        # for people: it calls upward, and only when it is called
        from liegeo.view import write_page

        chosen = range(self.rigid, min(len(self), self.rigid + 12)) if modes is None else list(modes)
        if not len(chosen):
            raise InputError(f"view: {self!r} has no mode to show, expected numbers of modes in `modes`.")
        runs = {self.label(i): self.motion(i) for i in chosen}
        chosen_options: dict[str, Any] = {"title": f"{self.model.tree.name}: modes", "speed": 1.0} | options
        return write_page(runs, file, choose=True, **chosen_options)

    def label(self, i: int) -> str:
        """Return number, frequency and damping of a mode in words."""
        if i < self.rigid:
            return f"mode {i}: rigid"
        said = f"mode {i}: {self.frequencies[i]:.4g} Hz"
        if percent(self.damping[i]) != "0":
            said += f", {percent(self.damping[i])} %"
        return said + (" (rotating frame)" if self.rotates else "")


def percent(ratio: float) -> str:
    """Return a ratio in per cent, 0 for what rounding leaves."""
    return f"{100.0 * ratio:.3g}" if abs(ratio) > 1e-11 else "0"


def modes(
    model: Model | HasModel,
    state: State | None = None,
    inputs: Any = None,
    *,
    kind: str = DAMPED,
    number: int | None = None,
    friction: str | None = None,
) -> Modes:
    """Return the modes of a model about a state; if none is given, its zero position or a mechanism's initial state.

    - `inputs`: values of the inputs there, as those of forward_dynamics.
    - `kind`: "damped" has all terms, "gyroscopic" no damping, "undamped" mass and stiffness alone; the last two hold
      first-order states where they are.
    - `number`: how many are wanted beside rigid motions, the slowest; large systems take less time for few.
    - `friction`: what becomes of Coulomb friction of joints that stand still: see liegeo.analysis.linearise.
    """
    if kind not in KINDS:
        raise InputError(f"modes: kind is {kind!r}, expected one of {', '.join(map(repr, KINDS))}.")
    if number is not None and (isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1):
        raise InputError(f"modes: number is {number!r}, expected a whole number ≥ 1.")
    state, model = as_state(model, state), as_model(model, "modes")
    state = model.state() if state is None else state
    model, notes = with_friction("modes", model, state, friction)
    large = few_modes(model, state, inputs, kind, number)
    if large is not None:
        found = _shown(model, state, large.modes, large.acceleration, kind, np.zeros(3), tuple(notes))
        return dataclasses.replace(found, _point=(inputs, friction))
    linear = linearise(model, state, (), (), at=inputs, friction=friction)
    n = linear.n_coordinates
    if kind != DAMPED and (linear.A[:n, :n].any()):
        raise InputError(
            f"modes: kind is {kind!r}, and a joint whose turns do not commute moves, expected kind 'damped'.\n"
            "  About this motion gyroscopic terms are part of the stiffness, so that neither can be left out."
        )
    found = _of(model, state, linear, kind, number, tuple(notes))
    if linear.is_steady and changes_on_the_way(model, state, inputs):
        found = dataclasses.replace(found, constant=False, rotation=np.zeros(3))
    return dataclasses.replace(found, _point=(inputs, friction))


def _of(
    model: Model, state: State, linear: LinearModel, kind: str, number: int | None, notes: tuple[str, ...]
) -> Modes:
    found = eigenmodes(linear.A, linear.mass, kind, number, float(np.abs(state.v).max(initial=0.0)), bool(model.rows))
    found = found._replace(rigid=linear.basis @ found.rigid, shapes=linear.basis @ found.shapes)
    rotation = _turning(model, state)[0] if linear.is_steady else np.zeros(3)
    shown = _shown(model, state, found, linear.largest_rate, kind, rotation, notes)
    return dataclasses.replace(shown, _linear=linear)


def _shown(
    model: Model, state: State, found: Eigenmodes, rate: float, kind: str, rotation: Array, notes: tuple[str, ...]
) -> Modes:
    """Return modes from their eigenvalues and their shapes in all coordinates of the model."""
    shapes = np.concatenate([found.rigid.astype(complex), found.shapes], axis=1)
    values = np.concatenate([np.zeros(found.rigid.shape[1], complex), found.values])
    shares = (shapes.conj() * momenta(model, state, shapes)).real
    energy = shares.sum(axis=0)
    # of states that move nothing, such as a motor that is held
    energy[energy == 0.0] = 1.0
    shapes = shapes / np.sqrt(energy)
    return Modes(model, state, values, shapes, shares / energy, found.rigid.shape[1], kind, rotation, rate, notes)


def _forces(model: Model, places: Iterable[int]) -> list[str]:
    """Return the names of the generalised forces of speeds."""
    names = {c.place: c.name for c in (*model.names.table.values(), *model.names.more.values()) if c.source == ("u",)}
    return [names[place] for place in places]


def _of_basis(N: Array, shapes: Array) -> Array:
    """Return z of shapes N z."""
    return np.linalg.lstsq(N, shapes, rcond=None)[0]


def _coordinates(model: Model) -> list[str]:
    """Return a name for every coordinate: that of a joint with one, else that of its deviation."""
    single = {
        place.start: owner
        for owner, place in (model.group.v if model.group is not None else {}).items()
        if place.stop - place.start == 1 and owner in model.joints
    }
    return [single.get(k, name) for k, (name, _) in enumerate(deviations(model))]


# ---- momentum and points


def _momentum(model: Model, state: State, speeds: Array) -> Array:
    """Return h of (1) about the centre of mass for each column of speeds, 6 × k."""
    out = np.zeros((6, speeds.shape[1]), speeds.dtype)
    center = np.zeros(3)
    for k, column in enumerate(speeds.T):
        for unit, part in ((1.0, column.real), (1j, column.imag)) if np.iscomplexobj(speeds) else ((1.0, column),):
            found = dynamics.balance(model, dataclasses.replace(state, v=np.ascontiguousarray(part)))
            out[:, k] += unit * found.momentum
            center = found.center
    out[:3] -= np.cross(center, out[3:].T).T
    return out


def _points(model: Model) -> list[tuple[str, Array, Array]]:
    """Return frames that carry the mass, each with its centre there and mass and moment of inertia: (m, J)."""
    out: list[tuple[str, Array, Array]] = []
    for body in model.tree.all_bodies:
        if isinstance(body, FlexibleBody) and body.nodes:
            share = np.array([float(body.mass) / len(body.nodes), 0.0])
            out += [(f"{body.name}.{node}", np.zeros(3), share) for node in body.nodes]
        elif isinstance(body, FlexibleBody):
            out.append((body.name, np.zeros(3), np.array([float(body.mass), 0.0])))
        else:
            spread = float(np.trace(np.asarray(body.inertia))) / 3.0 if np.ndim(body.inertia) == 2 else 0.0
            out.append((body.name, np.asarray(body.com, dtype=float), np.array([float(body.mass), spread])))
    return out


def _in_world(model: Model, state: State, frame: str, where: Array | None = None) -> Array:
    """Return the Jacobian of a point of a frame, in the world's axes: rotations, displacements."""
    J = dynamics.frame_jacobian(model, state, frame)
    R = dynamics.frame_pose(model, state, frame)[:3, :3]
    moved = J[3:] if where is None else J[3:] - np.cross(where, J[:3].T).T
    return np.concatenate([R @ J[:3], R @ moved])


def _frame_names(frames: Iterable[str]) -> Sequence[str]:
    return [frames] if isinstance(frames, str) else list(frames)


# ---- frames that turn


def _turning(model: Model, state: State) -> tuple[Array, Array, Array]:
    """Return the angular velocity of the coordinates, zero if they do not turn; J_j of (2) by station, and weights.

    A station is all of the mass at one place along the axis and one distance from it, such as the tips of the blades of
    a rotor: its momentum and angular momentum about the axis tell circles, which single points of it do not.
    """
    none = np.zeros(3), np.zeros((0, 0, 0, 0)), np.zeros((0, 6))
    if model.group is None or not state.v.any():
        return none
    points = _points(model)
    for spin, through in _spins(model, state):
        rate = float(np.linalg.norm(spin))
        axis = spin / rate
        group, arms = _stations(model, state, points, axis, through)
        samples = []
        for k in range(_PHASES + 1):
            t = 2.0 * np.pi * k / (_PHASES * rate)
            there = dataclasses.replace(state, q=model.group.retract(state.q, t * state.v))
            turn = _about(axis, rate * t)
            momenta = np.zeros((int(group.max(initial=-1)) + 1, 6, model.nv))
            for (frame, where, (mass, spread)), station, arm in zip(points, group, arms, strict=True):
                J = _in_world(model, there, frame, where)
                linear = mass * J[3:]
                # the arm of a body that turns along turns; others have none
                momenta[station, :3] += spread * J[:3] + np.cross(turn @ arm, linear.T).T
                momenta[station, 3:] += linear
            samples.append(momenta)
        J_all: Array = np.array(samples)
        size = np.abs(J_all).max(initial=0.0)
        # all is where it was after a turn, or the axis is another one
        if np.abs(J_all[-1] - J_all[0]).max(initial=0.0) > 1e-7 * size:
            continue
        weights = np.zeros((len(J_all[0]), 6))
        for (_, _, (mass, spread)), station, arm in zip(points, group, arms, strict=True):
            weights[station] += [spread + mass * float(arm @ arm)] * 3 + [mass] * 3
        varies = np.abs(J_all - J_all[0]).max(initial=0.0) > _VARIES * size
        inverse = np.divide(1.0, weights, out=np.zeros_like(weights), where=weights > 0.0)
        return (spin if varies else 0.0 * spin), np.fft.fft(J_all[:-1], axis=0) / _PHASES, inverse
    return none


def _spins(model: Model, state: State) -> list[tuple[Array, Array]]:
    """Return angular velocities of bodies that turn, the fastest first, and a point on the axis of each."""
    out = []
    for body in model.bodies:
        motion = dynamics.frame_motion(model, state, body)
        R, x = motion.pose[:3, :3], motion.pose[:3, 3]
        w, v = R @ motion.twist[:3], R @ motion.twist[3:]
        if float(np.linalg.norm(w)) > _STILL:
            out.append((w, x + np.cross(w, v) / float(w @ w)))
    return sorted(out, key=lambda each: -float(np.linalg.norm(each[0])))


def _about(axis: Array, angle: float) -> Array:
    """Return the rotation about an axis by an angle."""
    cross = np.cross(np.eye(3), axis)
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross)


def _stations(
    model: Model, state: State, points: list[tuple[str, Array, Array]], axis: Array, through: Array
) -> tuple[NDArray[np.int64], Array]:
    """Return the number of the station of each point, and its arm from the axis, zero if it does not turn along."""
    places, arms = [], []
    for frame, where, _ in points:
        X = dynamics.frame_pose(model, state, frame)
        x = X[:3, :3] @ where + X[:3, 3] - through
        along = float(axis @ x)
        arm = x - along * axis
        moves = _in_world(model, state, frame, where)[3:] @ state.v
        turns = float(np.linalg.norm(np.cross(axis, arm))) > 0.0 and float(np.linalg.norm(moves)) > 0.0
        arms.append(arm if turns else np.zeros(3))
        places.append([along, float(np.linalg.norm(arm))])
    table = np.array(places).reshape(-1, 2)
    size = float(np.abs(table).max(initial=0.0)) or 1.0
    _, group = np.unique(np.round(table / size, 6), axis=0, return_inverse=True)
    return group.reshape(-1), np.array(arms).reshape(-1, 3)


def _fixed(found: Modes) -> FixedFrame:
    values = found.eigenvalues.copy()
    shares, whirl = np.ones(len(values)), np.zeros(len(values))
    if not found.state.v.any() or not found.is_steady or not found.constant:
        return FixedFrame(values, shares, whirl)
    rotation, J, inverse = _turning(found.model, found.state)
    spins = _spins(found.model, found.state)
    if J.size == 0 or not spins:
        return FixedFrame(values, shares, whirl)
    rate = float(np.linalg.norm(rotation))
    # of what turns with the coordinates, or of the fastest body
    axis = (rotation if rate else spins[0][0]) / (rate or float(np.linalg.norm(spins[0][0])))
    across = np.linalg.svd(axis[None])[2][1:]
    if np.dot(np.cross(across[0], across[1]), axis) < 0.0:
        across = across[::-1]
    circles = across[0] + 1j * across[1], across[0] - 1j * across[1]
    order = np.fft.fftfreq(_PHASES, 1.0 / _PHASES)
    for i in range(found.rigid, len(values)):
        momenta = J @ found.shapes[:, i]
        energy = (inverse * np.abs(momenta) ** 2).sum(axis=(1, 2))
        best = int(np.argmax(energy))
        if energy[best] < _RESULTANT:
            # no resultant anywhere, as of waves around a disc
            shares[i] = 0.0 if rate else 1.0
            continue
        shares[i] = energy[best] / energy.sum()
        value, seen = values[i] + 1j * order[best] * rate, momenta[best]
        if value.imag < 0.0:
            value, seen = np.conj(value), np.conj(seen)
        values[i] = value
        # angular momenta and momenta: components along e₁ ∓ i e₂
        parts = seen.reshape(-1, 2, 3)
        both = [float((inverse.reshape(-1, 2, 3)[:, :, 0] * np.abs(parts @ e) ** 2).sum()) for e in circles]
        if sum(both) > _RESULTANT and value.imag > 0.0:
            whirl[i] = (both[0] - both[1]) / sum(both)
    return FixedFrame(values, shares, np.where(np.abs(whirl) > _WHIRLS, whirl, 0.0))


# ---- comparison


def mac(first: Modes, second: Modes, frames: Iterable[str] | None = None) -> Array:
    """Return the modal assurance criterion of all pairs of modes, between 0 and 1: one row per mode of the first.

    Without `frames` both need the same coordinates, and the mass matrix of the first is between the shapes; with
    frames that both have ("arm.tip"), their displacements along the world's axes are compared.
    """
    if frames is None:
        _same_coordinates("mac", first, second)
        M = dynamics.mass_matrix(first.model, first.state)
        a, b = first.shapes, second.shapes
    else:
        a, b = (each.displacements(frames).reshape(-1, 6, len(each))[:, 3:].reshape(-1, len(each))
                for each in (first, second))  # fmt: skip
        M = np.eye(len(a))
    norms = [np.einsum("ik,ij,jk->k", x.conj(), M, x).real for x in (a, b)]
    sizes = np.outer(*norms)
    return np.divide(np.abs(a.conj().T @ M @ b) ** 2, sizes, out=np.zeros_like(sizes), where=sizes > 0.0)


def cross_orthogonality(first: Modes, second: Modes) -> Array:
    """Return φ^H M ψ of all pairs, M being the mass matrix of the first model: one row per mode of the first.

    The matrix of two models that are alike has ones on its diagonal, but for a phase, and zeros beside it.
    """
    _same_coordinates("cross_orthogonality", first, second)
    return np.asarray(first.shapes.conj().T @ dynamics.mass_matrix(first.model, first.state) @ second.shapes)


def _same_coordinates(who: str, first: Modes, second: Modes) -> None:
    names = [_coordinates(each.model) for each in (first, second)]
    if names[0] != names[1]:
        other = sorted(set(names[0]) ^ set(names[1])) or ["the order"]
        raise InputError(
            f"{who}: the models have different coordinates: {', '.join(other[:4])}.\n"
            "  Compare frames that both have: mac(first, second, frames=[…])."
        )


__all__ = ["DIRECTIONS", "FixedFrame", "Modes", "cross_orthogonality", "mac", "modes", "percent"]
