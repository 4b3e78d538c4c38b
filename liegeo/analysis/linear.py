"""Linear models of mechanisms about a state: A, B, C, D with names, and M, D, G, K.

Near a motion (q₀, v₀, x₀) under inputs u₀, deviations are ε along the group (q = q₀ exp ε), ν of the speeds, χ of the
first-order states and δ of the inputs.  From q̇ = q v follows, to first order, with the bracket of the algebra,

    ε̇ = ν − ad(v₀) ε,                                                                                           (1)
    ν̇ = A_q ε + A_v ν + A_x χ + A_u δ,      χ̇ = G_q ε + G_v ν + G_x χ + G_u δ,                                  (2)

A and G being derivatives of forward dynamics (with loops: under their multipliers) and of the rates of first-order
states.  ad(v₀) is zero for joints that commute, such as hinges, but not for free, spherical and planar joints.

**Constraints**, with the Jacobian J of loops, prescribed motions and locks, leave

    J ε = 0,      J ν + ∂(J v₀)/∂q ε = 0.                                                                        (3)

A QR decomposition of J with pivoting chooses as many dependent coordinates d as J has rank: those of joints in which J
is best solved, and those of modes where joints do not suffice.  The others, i, are the coordinates of the linear model,
z = ε_i and w = ν_i:

    ε = N z,  N_i = 1,  N_d = −J_d⁻¹ J_i;      ν = N w + P z,  P_i = 0,  P_d = −J_d⁻¹ ∂(J v₀)/∂q N,              (4)
    ż = w + (P z − ad(v₀) N z)_i,      ẇ = (A_q N z + A_v (N w + P z) + A_x χ + A_u δ)_i.                        (5)

All derivatives are complex steps of the kernels along the columns of (4), and so exact to round-off: nothing is
subtracted.  (5) describes small motions if the state is an equilibrium, or if what follows from a motion depends on the
coordinates z and w alone and these stay as they are, as for rotors and relative equilibria; else it describes the
system frozen at that state.  `LinearModel.largest_rate` says how far a state is from both.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo import dynamics
from liegeo._lazy import late
from liegeo.calculator import finite
from liegeo.errors import InputError
from liegeo.kernels import layout
from liegeo.model import notebook
from liegeo.model.checks import suggest
from liegeo.model.constraints import SWITCHED, Motion
from liegeo.model.drives import DryFriction, GearTrain, JointFriction
from liegeo.model.forces import Force, JointForce
from liegeo.model.model import Model
from liegeo.model.names import Column, matches
from liegeo.model.standin import HasModel, as_model, as_state
from liegeo.model.state import State
from liegeo.motion import driven_by

if TYPE_CHECKING:
    import scipy.io as sio
    import scipy.linalg as sla
    import scipy.signal as signal
else:
    sla, signal, sio = late("scipy.linalg"), late("scipy.signal"), late("scipy.io")

Array = NDArray[Any]
Names = tuple[str, ...]

# Coordinates are known to this, so that stiff ones have accelerations at rest.
_ROUNDED = 1e-12
# How much equations may change on the way of a steady motion.
_CONSTANT = 1e-6
# The step of derivatives.
_STEP = 1e-40
# How far J may be from full rank; the weight of modes where dependent coordinates are chosen.
_RANK, _MODAL = 1e-9, 1e-3
# Rates of speeds and states at the operating point above which it is none.
_STEADY = 1e-6
#: What may be done with friction of joints that stand still.
LEAVE_OUT, TANGENT, LOCK = "leave out", "tangent", "lock"
FRICTIONS = (LEAVE_OUT, TANGENT, LOCK)
# Coulomb's friction F tanh(v/v_f) is at rest where |v| is below this share of v_f.
_AT_REST = 0.5


class SecondOrder(NamedTuple):
    """M z̈ + (D + G) ż + K z = B δ in the coordinates of a linear model; D is symmetric, G (gyroscopic) is not."""

    M: Array
    D: Array
    G: Array
    K: Array
    B: Array


@dataclass(frozen=True, repr=False)
class LinearModel:
    """ẋ = A x + B u, y = C x + D u for small deviations from an operating point; in discrete time x₊ = A x + B u.

    States are z, w and χ of the module's equations, in this order.  `x0`, `u0` and `y0` are values at the operating
    point; of coordinates in x0 those that are no plain numbers, such as rotations, are 0.  `period` is that of discrete
    time, 0 in continuous time.  `largest_rate` is the largest |v̇| or |ẋ| at the operating point, `notes` what was
    decided on the way.  `basis` is N of (4), the deviations of all coordinates of the model for each z.
    """

    A: Array
    B: Array
    C: Array
    D: Array
    states: Names
    inputs: Names
    outputs: Names
    state_units: Names
    input_units: Names
    output_units: Names
    u0: Array
    y0: Array
    n_coordinates: int
    mass: Array
    largest_rate: float = 0.0
    period: float = 0.0
    notes: Names = ()
    name: str = "model"
    basis: Array = field(default_factory=lambda: np.zeros((0, 0)))

    def __repr__(self) -> str:
        kind = f", every {self.period:g} s" if self.period else ""
        moving = "" if self.is_steady else f"; no operating point: rates to {self.largest_rate:.3g}"
        sizes = f"{len(self.states)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs"
        return f"<linear model of '{self.name}': {sizes}{kind}{moving}>"

    def _repr_html_(self) -> str:
        rows = [(f"{p.real:.5g} {p.imag:+.5g}i", f"{abs(p) / (2 * np.pi):.5g}") for p in self.poles]
        return notebook.table(repr(self).strip("<>"), ("pole (1/s)", "|pole|/2π (Hz)"), rows)

    @property
    def is_steady(self) -> bool:
        """Whether speeds and states do not change at the operating point."""
        return self.largest_rate <= _STEADY

    @property
    def poles(self) -> Array:
        """Return the eigenvalues of A, slowest first."""
        if not self.A.size:
            return np.zeros(0, complex)
        found = np.linalg.eigvals(self.A)
        return found[np.lexsort((-found.imag, np.abs(found)))]

    def zeros(self) -> Array:
        """Return the transmission zeros of a system with as many inputs as outputs.

        They are the finite numbers s at which [A − s, B; C, D] is singular.
        """
        n, m = len(self.states), len(self.inputs)
        if m != len(self.outputs):
            raise InputError(
                f"zeros: there are {m} inputs and {len(self.outputs)} outputs, expected as many of both.\n"
                "  Take a part: linear.part(inputs=[…], outputs=[…])."
            )
        whole, unit = np.block([[self.A, self.B], [self.C, self.D]]), np.zeros((n + m, n + m))
        unit[:n, :n] = np.eye(n)
        alpha, beta = sla.eigvals(whole, unit, homogeneous_eigvals=True)
        # infinite ones have no β; those that are infinite but for round-off are larger than any pole
        kept = np.abs(beta) > 1e-9 * np.abs(alpha) / max(1.0, float(np.abs(self.poles).max(initial=0.0)))
        found = alpha[kept] / beta[kept]
        return found[np.lexsort((-found.imag, np.abs(found)))]

    @property
    def second_order(self) -> SecondOrder:
        """Return M, D, G, K and B of the coordinates; first-order states are held where they are."""
        if self.period:
            raise InputError("second_order: the linear model is one of discrete time, expected one of continuous time.")
        n, M = self.n_coordinates, self.mass
        # ż = T z + w, so that w and ẇ are ż − T z and z̈ − T ż
        T, by_z, by_w = self.A[:n, :n], self.A[n : 2 * n, :n], self.A[n : 2 * n, n : 2 * n]
        of_rates = -M @ (T + by_w)
        D, G = 0.5 * (of_rates + of_rates.T), 0.5 * (of_rates - of_rates.T)
        return SecondOrder(M, D, G, -M @ (by_z - by_w @ T), M @ self.B[n : 2 * n])

    def part(self, inputs: Iterable[str] | None = None, outputs: Iterable[str] | None = None) -> LinearModel:
        """Return the same with some of the inputs and outputs, in the order that is asked for."""
        columns, rows = _places("inputs", inputs, self.inputs), _places("outputs", outputs, self.outputs)
        return dataclasses.replace(
            self,
            B=self.B[:, columns],
            C=self.C[rows],
            D=self.D[np.ix_(rows, columns)],
            inputs=tuple(self.inputs[k] for k in columns),
            outputs=tuple(self.outputs[k] for k in rows),
            input_units=tuple(self.input_units[k] for k in columns),
            output_units=tuple(self.output_units[k] for k in rows),
            u0=self.u0[columns],
            y0=self.y0[rows],
        )

    def frequency_response(self, frequencies: ArrayLike) -> Array:
        """Return the complex amplitudes of outputs by inputs at frequencies in Hz: one matrix per frequency."""
        s = 2j * np.pi * np.atleast_1d(np.asarray(frequencies, dtype=np.float64))
        points = np.exp(s * self.period) if self.period else s
        unit = np.eye(len(self.states))
        return np.array([self.C @ np.linalg.solve(p * unit - self.A, self.B) + self.D for p in points])

    def discrete(self, period: float, delay: float = 0.0) -> LinearModel:
        """Return the system at multiples of a period, exactly, for inputs that are held and come `delay` late.

        With T the period and a delay of (k + f) T, f < 1, the input that acts in a period is that of k + 1 periods
        before up to f T, and then that of k periods before; the inputs that are still to act become states.
        """
        if self.period:
            raise InputError("discrete: the linear model is one of discrete time already.")
        if not (np.isfinite(period) and period > 0.0 and np.isfinite(delay) and delay >= 0.0):
            raise InputError(f"discrete: period is {period!r} and delay {delay!r}, expected > 0 s and ≥ 0 s.")
        n, m = len(self.states), len(self.inputs)
        late_by = int(np.floor(delay / period * (1.0 + 1e-12)))
        rest = max(0.0, delay - late_by * period)
        rest = 0.0 if rest < 1e-12 * period else rest
        whole, after = _held(self.A, self.B, period - rest)
        before, early = _held(self.A, self.B, rest)
        parts = [after, whole @ early] if rest else [after]
        kept = late_by + len(parts) - 1
        A, B = np.zeros((n + kept * m,) * 2), np.zeros((n + kept * m, m))
        A[:n, :n] = whole @ before
        C, D = np.zeros((len(self.outputs), n + kept * m)), np.zeros((len(self.outputs), m))
        C[:, :n] = self.C

        def of(age: int, rows: Array, direct: Array, matrix: Array) -> None:
            """Let the input of `age` periods before enter; the newest kept one stands first."""
            if age:
                rows[:, n + (age - 1) * m : n + age * m] += matrix
            else:
                direct += matrix

        for k, matrix in enumerate(parts):
            of(late_by + k, A[:n], B[:n], matrix)
        # what acts at the instant itself: the older input where the delay is no multiple
        of(kept, C, D, self.D)
        if kept:
            B[n : n + m] = np.eye(m)
            for age in range(1, kept):
                A[n + age * m : n + (age + 1) * m, n + (age - 1) * m : n + age * m] = np.eye(m)
        waiting = [f"{name}, {age} before" for age in range(1, kept + 1) for name in self.inputs]
        return dataclasses.replace(
            self, A=A, B=B, C=C, D=D, period=float(period), states=(*self.states, *waiting),
            state_units=(*self.state_units, *(self.input_units * kept)),
        )  # fmt: skip

    def to_scipy(self) -> Any:
        """Return a scipy.signal.StateSpace."""
        return signal.StateSpace(self.A, self.B, self.C, self.D, **({"dt": self.period} if self.period else {}))

    def to_control(self) -> Any:
        """Return a control.StateSpace of the package python-control, with names."""
        try:
            import control
        except ImportError:
            raise InputError("to_control: the package control is not installed.\n  pip install control") from None
        labels = {"states": list(self.states), "inputs": list(self.inputs), "outputs": list(self.outputs)}
        # its names have no dots
        plain = {key: [name.replace(".", "_") for name in names] for key, names in labels.items()}
        return control.ss(self.A, self.B, self.C, self.D, self.period, name=self.name.replace(".", "_"), **plain)

    def save(self, file: str | os.PathLike[str]) -> Path:
        """Write a file for MATLAB: A, B, C, D, names and units as cells, u0, y0, period; M, D2, G, K if continuous."""
        path = Path(file)
        if path.suffix != ".mat":
            raise InputError(f"save: '{path}' ends in '{path.suffix}', expected .mat.")
        cells = {
            key: np.array(getattr(self, key), dtype=object).reshape(-1, 1)
            for key in ("states", "inputs", "outputs", "state_units", "input_units", "output_units", "notes")
        }
        content: dict[str, Any] = {
            key: getattr(self, key) for key in ("A", "B", "C", "D", "u0", "y0", "period")
        } | cells
        if not self.period:
            M, D2, G, K, _ = self.second_order
            content |= {"M": M, "D2": D2, "G": G, "K": K}
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".mat")
        try:
            with os.fdopen(handle, "wb") as out:
                sio.savemat(out, content)
            Path(name).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise
        return path


def _places(what: str, wanted: Iterable[str] | None, names: Names) -> list[int]:
    if wanted is None:
        return list(range(len(names)))
    out = []
    for name in [wanted] if isinstance(wanted, str) else wanted:
        if name not in names:
            raise InputError(f"part: '{name}' is none of the {what}.{suggest(name, names)}")
        out.append(names.index(name))
    return out


def _held(A: Array, B: Array, time: float) -> tuple[Array, Array]:
    """Return exp(A t), and the integral of exp(A s) B from 0 to t: what an input that is held does."""
    n, m = B.shape
    if time == 0.0:
        return np.eye(n), np.zeros((n, m))
    both = sla.expm(time * np.block([[A, B], [np.zeros((m, n + m))]]))
    return both[:n, :n], both[:n, n:]


# ---- from a model


def linearise(
    model: Model | HasModel,
    state: State | None = None,
    inputs: Iterable[str] | None = None,
    outputs: Iterable[str] | None = None,
    *,
    at: Any = None,
    friction: str | None = None,
) -> LinearModel:
    """Return the linear model of a model about a state; if none is given, its zero or a mechanism's initial state.

    - `inputs`: names or wildcards of inputs ("motor", "motor.input", "*.tau"); if not given, all force elements'.
    - `outputs`: names or wildcards of any columns of a result; if not given, coordinates and speeds.
    - `at`: what drives the model at the operating point, as `inputs` of `simulate`; nothing, if not given.
    - `friction`: what becomes of Coulomb friction of joints that stand still, which has to be said if there is any:
      "leave out" (they move freely), "tangent" (a damper, as the smoothed law has it), "lock" (they do not move).
    """
    state, model = as_state(model, state), as_model(model, "linearise")
    state = model.state() if state is None else state
    model.check(state, "linearise")
    if model.custom:
        raise InputError(f"linearise: {model!r} has a Custom constraint, which takes no complex numbers.")
    model, notes = with_friction("linearise", model, state, friction)
    point = _Point(model, state, at)
    columns = _input_columns(model, inputs)
    shown = _output_names(model, outputs)
    N, P, chosen = _free(point)
    n, nx, m = len(chosen), model.nx, len(columns)
    zero_q, zero_x = np.zeros((model.nv, n)), np.zeros((nx, n))
    none_u = np.zeros((len(point.u), n))
    along_x, along_u = np.eye(nx), np.zeros((len(point.u), m))
    for k, column in enumerate(columns):
        along_u[column.place, k] = 1.0
    blocks = [
        point.along(shown, N, P, zero_x, none_u),
        point.along(shown, zero_q, N, zero_x, none_u),
        point.along(shown, np.zeros((model.nv, nx)), np.zeros((model.nv, nx)), along_x, np.zeros((len(point.u), nx))),
        point.along(shown, np.zeros((model.nv, m)), np.zeros((model.nv, m)), np.zeros((nx, m)), along_u),
    ]
    acceleration, rates, seen = (np.concatenate([block[k] for block in blocks], axis=1) for k in range(3))
    size = 2 * n + nx
    kinematic = np.zeros((n, size + m))
    kinematic[:, :n] = (P - point.bracket(N))[chosen]
    kinematic[:, n : 2 * n] = np.eye(n)
    whole = np.concatenate([kinematic, acceleration[chosen], rates])
    speeds, names = _speed_columns(model), deviations(model)
    states = [
        *(names[k] for k in chosen),
        *((speeds[k].name, speeds[k].unit) for k in chosen),
        *((column.name, column.unit) for column in _columns(model, "x")),
    ]
    outputs_at, units = point.values(shown)
    # what the rounding of stiff coordinates makes is no rate
    rounded = _ROUNDED * np.abs(acceleration[:, :n]).sum(axis=1)
    a, x_rates = (np.abs(part) for part in point.rates())
    largest = max(float(part.max(initial=0.0)) for part in (np.where(a > rounded, a, 0.0), x_rates))
    return LinearModel(
        whole[:, :size],
        whole[:, size:],
        seen[:, :size],
        seen[:, size:],
        tuple(name for name, _ in states),
        tuple(column.name for column in columns),
        tuple(shown),
        tuple(unit for _, unit in states),
        tuple(column.unit for column in columns),
        units,
        point.u[[column.place for column in columns]].copy(),
        outputs_at,
        n,
        N.T @ dynamics.mass_matrix(model, state) @ N,
        largest,
        0.0,
        tuple(notes),
        model.tree.name,
        N,
    )


def changes_on_the_way(model: Model, state: State, at: Any) -> bool:
    """Return whether small motions have other equations after a part of the steady motion of a state.

    They have where a rotor turns in bearings that are softer in one direction than in another: coefficients of (5) then
    change with the time.  Accelerations along one deviation, the same in the model's coordinates, are compared.
    """
    if model.group is None or not state.v.any():
        return False
    # no fraction of a turn about an axis of symmetry
    later = dataclasses.replace(state, q=model.group.retract(state.q, state.v / float(np.abs(state.v).max())))
    found = []
    for each in (state, later):
        point = _Point(model, each, at)
        N, P, chosen = _free(point)
        along = np.linspace(1.0, 2.0, N.shape[1])[:, None]
        held = np.zeros((model.nx, 1)), np.zeros((len(point.u), 1))
        found.append((chosen, point.along((), N @ along, P @ along, *held)[0][chosen]))
    if found[0][0] != found[1][0]:
        return True
    size = np.abs(found[0][1]).max(initial=0.0)
    return bool(np.abs(found[1][1] - found[0][1]).max(initial=0.0) > _CONSTANT * size)


class _Point:
    """A model at its operating point, and derivatives there along directions in q, v, x and u."""

    def __init__(self, model: Model, state: State, at: Any) -> None:
        self.model, self.state, self.calc = model, state, model.calculator()
        # forces of joints and inputs, without states and gravity
        self.u = driven_by(model, state, at) if model.nv else np.zeros(model.nu)

    def _arguments(self, dq: Array, dv: Array, dx: Array, du: Array) -> dict[str, Any]:
        model, state = self.model, self.state
        q = state.q
        if model.group is not None:
            q = model.group.retract(q.astype(complex), 1j * _STEP * dq)
        u = self.u + 1j * _STEP * du
        return {
            "q": q,
            "v": state.v + 1j * _STEP * dv,
            "tau": u[: model.nv],
            "inputs": u[model.nv :],
            "x": state.x + 1j * _STEP * dx,
        }

    def _rates_of_states(self, given: dict[str, Any]) -> Array:
        return self.calc.state_rates(given["q"], given["v"], given["x"], given["inputs"], t=self.state.t)

    def along(self, shown: Sequence[str], dq: Array, dv: Array, dx: Array, du: Array) -> tuple[Array, Array, Array]:
        """Return the derivatives of accelerations, rates of states and outputs along the columns of directions."""
        n, t = dq.shape[1], self.state.t
        function = self.calc.outputs(shown) if shown else None
        out = np.zeros((self.model.nv, n)), np.zeros((self.model.nx, n)), np.zeros((len(shown), n))
        for k in range(n):
            given = self._arguments(dq[:, k], dv[:, k], dx[:, k], du[:, k])
            if self.model.nv:
                out[0][:, k] = self.calc.forward_dynamics(**given, t=t).imag / _STEP
            out[1][:, k] = self._rates_of_states(given).imag / _STEP
            if function is not None:
                out[2][:, k] = function(**given, t=t).imag / _STEP
        return finite(out[0], "linearise"), out[1], finite(out[2], "linearise")

    def values(self, shown: Sequence[str]) -> tuple[Array, Names]:
        """Return the outputs, and their units."""
        if not shown:
            return np.zeros(0), ()
        function, state, nv = self.calc.outputs(shown), self.state, self.model.nv
        return function(state.q, state.v, self.u[:nv], self.u[nv:], t=state.t, x=state.x).copy(), function.units

    def rates(self) -> tuple[Array, Array]:
        """Return accelerations and rates of states."""
        nv, state = self.model.nv, self.state
        given = {"q": state.q, "v": state.v, "tau": self.u[:nv], "inputs": self.u[nv:], "x": state.x}
        a = self.calc.forward_dynamics(**given, t=state.t) if nv else np.zeros(0)
        return a, self._rates_of_states(given)

    def bracket(self, N: Array) -> Array:
        """Return ad(v₀) N."""
        if self.model.group is None or not self.state.v.any():
            return np.zeros_like(N)
        return np.asarray(self.model.group.ad(self.state.v)) @ N

    def drift(self, N: Array) -> Array:
        """Return ∂(J v₀)/∂q N, of loops and of locks, whose rows are constant."""
        rows = np.zeros((len(self.model.rows), N.shape[1]))
        if self.state.v.any():
            for k in range(N.shape[1]):
                none = np.zeros(self.model.nv)
                given = self._arguments(N[:, k], none, np.zeros(self.model.nx), np.zeros(len(self.u)))
                found = self.calc.constraint_values(given["q"], given["v"], given["inputs"], t=self.state.t)
                rows[:, k] = found.rate.imag / _STEP
        return np.concatenate([np.zeros((int(self.model.locked.sum()), N.shape[1])), rows])


def _free(point: _Point) -> tuple[Array, Array, list[int]]:
    """Return N, P and the independent coordinates of (4)."""
    model, state = point.model, point.state
    J = np.concatenate([np.eye(model.nv)[model.locked], dynamics.constraint_jacobian(model, state)])
    if not len(J):
        return np.eye(model.nv), np.zeros((model.nv, model.nv)), list(range(model.nv))
    share = np.ones(model.nv)
    for body in range(len(model.bodies)):
        share[model.modal_slice(body, layout.EV)] = _MODAL
    Q, R, order = sla.qr(J * share, pivoting=True)
    diagonal = np.abs(np.diag(R))
    # columns of modes are small by their weight
    rank = int((diagonal > _RANK * _MODAL * diagonal.max(initial=0.0)).sum())
    dependent, chosen = order[:rank], sorted(order[rank:].tolist())
    N, P = np.zeros((2, model.nv, len(chosen)))
    N[chosen] = np.eye(len(chosen))
    solve = R[:rank, :rank] / share[dependent]
    N[dependent] = -sla.solve_triangular(solve, (Q.T @ J[:, chosen])[:rank])
    P[dependent] = -sla.solve_triangular(solve, (Q.T @ point.drift(N))[:rank])
    return N, P, chosen


# ---- friction that stands still


def with_friction(who: str, model: Model, state: State, friction: str | None) -> tuple[Model, list[str]]:
    """Return the model with friction at rest treated as it was asked for, and what was done; `who` asks."""
    if friction is not None and friction not in FRICTIONS:
        raise InputError(f"friction is {friction!r}, expected one of {', '.join(map(repr, FRICTIONS))}.")
    resting = resting_friction(model, state)
    if not resting:
        return model, []
    names = ", ".join(f"'{name}'" for name in resting)
    if friction is None:
        raise InputError(
            f"{who}: joint{'s' * (len(resting) > 1)} {names} stand{'s' * (len(resting) == 1)} still, where Coulomb "
            "friction holds what the linear model would move.\n"
            "  Say what becomes of it: friction='leave out' (the joint moves freely), 'tangent' (a damper, as the "
            "smoothed law has it) or 'lock' (it does not move)."
        )
    if friction == LOCK:
        return model.lock(*resting, speeds=_without(model.locks, resting)), [
            f"joints that friction holds are locked: {names}"
        ]
    exact = [
        force.name
        for force in model.tree.forces
        if isinstance(force, JointForce) and force.holds and force.joint in resting
    ]
    if friction == TANGENT and exact:
        raise InputError(
            f"linearise: friction is {TANGENT!r}, but the law of {', '.join(exact)} is exact: no tangent at rest.\n"
            f"  Take {LOCK!r} or {LEAVE_OUT!r}, or give it a smoothing."
        )
    if friction == TANGENT:
        return model, [f"friction at rest is a damper, by the smoothed law: {names}"]
    tree = model.tree
    joints = [dataclasses.replace(joint, friction=0.0) if joint.name in resting else joint for joint in tree.joints]
    forces = [_without_friction(force) if _joint_of(force) in resting else force for force in tree.forces]
    smooth = dataclasses.replace(tree, joints=joints, forces=forces).compile().lock(speeds=model.locks)
    return smooth, [f"friction at rest is left out: {names}"]


def _joint_of(force: Force) -> str:
    """Return the joint that a force would hold at rest by friction, "" if it has none."""
    dry = isinstance(force, DryFriction) and force.coulomb > 0.0
    dry = dry or (isinstance(force, JointFriction) and force.coefficient > 0.0)
    lossy = isinstance(force, GearTrain) and force.efficiency < 1.0
    return force.joint if isinstance(force, JointForce) and (dry or lossy) else ""


def _without_friction(force: Force) -> Force:
    if isinstance(force, DryFriction):
        return dataclasses.replace(force, coulomb=0.0, static=0.0)
    if isinstance(force, JointFriction):
        return dataclasses.replace(force, coefficient=0.0, static=0.0)
    return dataclasses.replace(force, efficiency=1.0) if isinstance(force, GearTrain) else force


def _without(locks: dict[str, list[int]], names: Iterable[str]) -> dict[str, list[int]]:
    return {name: speeds for name, speeds in locks.items() if name not in names}


def resting_friction(model: Model, state: State) -> list[str]:
    """Return the joints with Coulomb friction, or losses of a gear, that nearly stand still."""
    if model.group is None:
        return []
    found, locked = [], model.locked
    for joint in model.tree.joints:
        place = model.group.v.get(joint.name)
        if place is None:
            continue
        strength = np.broadcast_to(np.asarray(joint.friction, dtype=np.float64), place.stop - place.start)
        rests = np.abs(state.v[place]) < _AT_REST * joint.friction_speed
        if bool(np.any((strength > 0.0) & rests & ~locked[place])):
            found.append(joint.name)
    for force in model.tree.forces:
        if not _joint_of(force) or not isinstance(force, DryFriction | JointFriction | GearTrain):
            continue
        k = model.group.v[force.joint].start + force.speed
        small = force.slow if isinstance(force, GearTrain) else force.smoothing
        if abs(state.v[k]) <= _AT_REST * small and not locked[k] and force.joint not in found:
            found.append(force.joint)
    return found


# ---- names


def _columns(model: Model, source: str) -> list[Column]:
    """Return the columns of an array of the state or of what drives it, by place."""
    names = model.names
    found = {c.place: c for c in [*names.table.values(), *names.more.values()] if c.source == (source,)}
    return [found[place] for place in sorted(found)]


def _speed_columns(model: Model) -> list[Column]:
    return _columns(model, "v")


# What small changes of coordinates are called that are no plain numbers, after the name of their rate.
_DEVIATIONS = {
    "angular_velocity": ("rotation", "rad"),
    "velocity": ("displacement", "m"),
    "etad": ("eta", ""),
    "speed": ("change", ""),
}


def deviations(model: Model) -> list[tuple[str, str]]:
    """Return names and units of the small changes of all coordinates, each called as its coordinate if there is one."""
    group = model.group
    if group is None:
        return []
    coordinates = {column.place: column for column in _columns(model, "q")}
    owners = {k: name for name, place in group.v.items() for k in range(place.start, place.stop)}
    found = []
    for speed in _speed_columns(model):
        owner = owners[speed.place]
        q, v = group.q[owner], group.v[owner]
        if q.stop - q.start == v.stop - v.start:
            column = coordinates[q.start + speed.place - v.start]
            found.append((column.name, column.unit))
            continue
        quantity, dot, component = speed.name.removeprefix(f"{owner}.").partition(".")
        word, unit = _DEVIATIONS.get(quantity, ("change", ""))
        found.append((f"{owner}.{word}{dot}{component}", unit))
    return found


def _input_columns(model: Model, wanted: Iterable[str] | None) -> list[Column]:
    """Return the columns of inputs behind names, wildcards and names of owners."""
    prescribed = {loop.name for loop in model.tree.loops if isinstance(loop, Motion)}
    # what controllers take from outside moves nothing between their samples
    others = prescribed | {controller.name for controller in model.tree.controllers}
    # nor do switches, but by events
    others |= {loop.name for loop in model.tree.loops if isinstance(loop, SWITCHED)}
    known = {c.name: c for c in _columns(model, "u") if c.name.partition(".")[0] not in others}
    if wanted is None:
        return [column for column in known.values() if column.place >= model.nv]
    found: dict[str, Column] = {}
    for pattern in [wanted] if isinstance(wanted, str) else wanted:
        if pattern in prescribed or pattern.partition(".")[0] in prescribed:
            raise InputError(
                f"linearise: '{pattern}' prescribes a motion, which a linear model holds where it is.\n"
                "  Drive the joint by an actuator, or by its generalised force, to have it as an input."
            )
        # "motor" and "*_motor" name owners
        names = [name for name in known if matches(pattern, (name, name.partition(".")[0]))]
        if not names:
            raise InputError(f"linearise: '{pattern}' is none of the model's inputs.{suggest(pattern, list(known))}")
        found.update((name, known[name]) for name in names)
    return list(found.values())


def _output_names(model: Model, wanted: Iterable[str] | None) -> list[str]:
    if wanted is None:
        return [c.name for source in ("q", "v") for c in _columns(model, source)]
    return model.names.match([wanted] if isinstance(wanted, str) else list(wanted), "outputs")


__all__ = [
    "FRICTIONS",
    "LinearModel",
    "SecondOrder",
    "changes_on_the_way",
    "deviations",
    "linearise",
    "resting_friction",
    "with_friction",
]
