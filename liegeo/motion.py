"""A model as a mechanical system for integrate: `system(model, inputs)`, and what drives it.

Inputs are given by name: a joint ("elbow", or "elbow.torque", "elbow.force") for its generalised forces, a force
element ("motor") for its inputs.  Each may be

- a number, or one number a component: constant;
- a pair (times, values): straight lines between, held before and after;
- a piecewise polynomial or spline of SciPy (PPoly, CubicSpline, Akima1DInterpolator, BSpline …), held before and after;
- a function of (t), or of (t, state).

or all together one function of (t, state) that returns a mapping of names to values.

A Motion in the tree's `loops` has value, rate and acceleration as its inputs, and takes under its name, or as its own
`law`, a number (it stays there), samples (a cubic spline through them), a spline (whose derivatives are taken), or a
function of (t) that returns all three.
"""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline, CubicSpline, PPoly

from liegeo._jit import DRIVE_FUNCTION
from liegeo.errors import InputError
from liegeo.integrate import Dynamics, System
from liegeo.kernels import articulated, loops, motion
from liegeo.kernels import layout as at
from liegeo.model.checks import suggest
from liegeo.model.constraints import Motion
from liegeo.model.model import Model, Row, State

Array = NDArray[np.float64]

DYNAMICS = Dynamics(
    motion.acceleration,
    motion.residual,
    motion.momentum,
    motion.slope,
    articulated.factorise,
    articulated.substitute,
    motion.resistance,
    motion.energy,
    factorise_next=articulated.factorise_next,
    along=motion.along,
)

CONSTRAINED = DYNAMICS._replace(
    acceleration=motion.constrained_acceleration,
    residual=motion.constrained_residual,
    factorise=loops.factorise,
    closing=motion.closing,
    correct=loops.correct,
    release=loops.release,
    along=motion.constrained_along,
)

_ENDINGS = (".torque", ".force", ".input")

# Arrays that are known by their address: steps use about a dozen.
_VIEWS = 64


def system(model: Model, inputs: Any = None) -> System:
    """The model, driven by `inputs`, as a mechanical system."""
    return Drive(model, inputs).system


class Drive:
    """What drives a model.  `error` is what a user's function raised, if it did."""

    def __init__(self, model: Model, inputs: Any = None) -> None:
        if model.group is None:
            raise InputError(f"{model!r} has no degrees of freedom: nothing can move.")
        self.model = model
        self.error: BaseException | None = None
        self._functions: list[tuple[slice, str, Callable[..., Any], bool]] = []
        self._whole: Callable[..., Any] | None = None
        constants = np.zeros(model.nv + model.nu)
        tables: list[tuple[int, Array]] = []
        given = {} if callable(inputs) else dict(_as_mapping(inputs))
        if callable(inputs):
            self._whole = inputs
        for loop in model.tree.loops:
            if isinstance(loop, Motion):
                self._prescribe(loop, given.pop(loop.name, loop.law), constants, tables)
        for name, value in given.items():
            self._add(name, value, constants, tables)
        self.constants = constants
        self._callback = None
        if self._functions or self._whole is not None:
            self._callback = DRIVE_FUNCTION(self._call)
        self._views: dict[tuple[int, int], Array] = {}
        ints, floats = self._pack(tables)
        work = motion.work_size(int(ints[at.N_WORK]), model.nv + model.nu, model.nv, model.nq, len(model.bodies))
        dynamics, constrained = (CONSTRAINED, True) if model.rows else (DYNAMICS, False)
        if model.custom:
            # functions of a user's own take no complex numbers: the geometry of their forces stays out
            dynamics = dynamics._replace(along=motion.along)
        coupled = _is_coupled(model)
        self.system = System(
            model.group, dynamics, ints, floats, work, self._explain, constrained, coupled, self._diagnose
        )

    @property
    def functions(self) -> list[str]:
        """Names of the inputs that are functions: of what those do nobody knows."""
        return [*(["all"] if self._whole is not None else []), *(name for _, name, _, _ in self._functions)]

    @property
    def data(self) -> tuple[NDArray[np.int64], Array]:
        """Constants and tables as the kernels read them, without the address of the function."""
        ints = self.system.ints[len(self.model.ints) :].copy()
        ints[:1] = 0
        return ints, self.system.floats[len(self.model.floats) :]

    def values(self, t: float, q: Array, v: Array) -> Array:
        """u at one time and state."""
        work = np.empty(self.system.work)
        status = motion.drive(self.system.ints, self.system.floats, t, np.asarray(q), np.asarray(v), work)
        if status:
            raise self.error or InputError(self._explain(status))
        start = int(self.system.ints[at.N_WORK])
        return work[start : start + self.model.nv + self.model.nu].copy()

    def _explain(self, status: int) -> str:
        return self.model.singular((status - 1) // 2, modes=status % 2 == 0)

    def _diagnose(self, y: Array, start: Array) -> str:
        """Return which constraints depend on each other at y and not at the start; else what accelerates most."""
        model = self.model
        state = State(np.array(y[: model.nq]), np.array(y[model.nq :]))
        if model.rows:
            names = [f"{row.what} of loop '{row.loop}'" for row in _dependent(model, state.q, start[: model.nq])]
            if names:
                more = f" and {len(names) - 4} more" if len(names) > 4 else ""
                return (
                    f"the position is singular, where constraints depend on each other: {', '.join(names[:4])}{more}.\n"
                    "  Begin elsewhere, change a length a little, or leave out what repeats another constraint"
                )
        rates = np.empty(model.nv)
        work, kernels = np.full(self.system.work, np.nan), self.system.dynamics
        if kernels.acceleration(self.system.ints, self.system.floats, 0.0, state.q, state.v, work, rates) != 0:
            return ""
        if model.group is None or not np.isfinite(rates).all():
            return ""
        place = int(np.argmax(np.abs(rates)))
        name = next((name for name, part in model.group.v.items() if part.start <= place < part.stop), "")
        return f"the largest acceleration there is that of '{name}', {rates[place]:.3g}"

    def _pack(self, tables: list[tuple[int, Array]]) -> tuple[NDArray[np.int64], Array]:
        """The model's arrays with what layout.py calls DRIVE behind them."""
        model = self.model
        if not tables and self._callback is None and not self.constants.any():
            return model.ints, model.floats
        floats, rows = [model.floats, self.constants], []
        size = len(model.floats) + len(self.constants)
        for place, table in tables:
            rows += [place, size, *_shape(table)]
            floats.append(table[2:])
            size += len(table) - 2
        address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0 if self._callback is not None else 0
        ints = np.concatenate([model.ints, np.array([address, len(model.floats), len(tables), *rows], dtype=np.int64)])
        ints[at.DRIVE] = len(model.ints)
        packed = np.concatenate(floats)
        # as those of a model are: another type would have the kernels compiled again
        ints.setflags(write=False)
        packed.setflags(write=False)
        return ints, packed

    def _add(self, name: str, value: Any, constants: Array, tables: list[tuple[int, Array]]) -> None:
        place = self._place(name)
        n = place.stop - place.start
        who = f"inputs['{name}']"
        if isinstance(value, BSpline):
            value = PPoly.from_spline(value)
        if isinstance(value, PPoly):
            columns = np.reshape(value.c, (*value.c.shape[:2], -1))
            if columns.shape[2] != n:
                raise InputError(f"{who} is a spline with {columns.shape[2]} components, expected {n}.")
            tables += [(place.start + k, _table(value.x, columns[:, :, k])) for k in range(n)]
        elif callable(value):
            self._functions.append((place, name, value, _takes_state(who, value)))
        elif isinstance(value, tuple) and len(value) == 2 and np.ndim(value[0]) == 1:
            times, values = _samples(who, value, n)
            slopes = np.diff(values, axis=0) / np.diff(times)[:, np.newaxis]
            tables += [(place.start + k, _table(times, np.stack([slopes[:, k], values[:-1, k]]))) for k in range(n)]
        else:
            constants[place] = self.model._values("inputs", name, value, place)

    def _prescribe(self, loop: Motion, law: Any, constants: Array, tables: list[tuple[int, Array]]) -> None:
        """Value, rate and acceleration of a Motion."""
        place = self._place(loop.name)
        who = f"inputs['{loop.name}']"
        total = place.stop - place.start
        joint = next(joint for joint in self.model.tree.all_joints if joint.name == loop.joint)
        group = joint.group()
        n = 1 if loop.coordinate is not None or group is None else group.dim
        value = slice(place.start, place.stop - 2 * n)
        if law is None:
            law = 0.0 if total == 3 else np.zeros(n) if total == 3 * n else group.identity() if group else 0.0
        if isinstance(law, tuple) and len(law) == 2 and np.ndim(law[0]) == 1:
            times, values = _samples(who, law, n)
            law = CubicSpline(times, values)
        if isinstance(law, BSpline):
            law = PPoly.from_spline(law)
        if callable(law) and not isinstance(law, PPoly):
            self._functions.append((place, loop.name, lambda t: _three(who, law(t), total, n), False))
        elif not isinstance(law, PPoly):
            constants[value] = self.model._values("inputs", loop.name, law, value)
        elif total != 3 * n:
            raise InputError(
                f"{who} is a spline, but the coordinates of joint '{loop.joint}' are an element of a group.\n"
                "  Give a function of t that returns position, speeds and accelerations."
            )
        else:
            for order in range(3):
                piece = law.derivative(order) if order else law
                columns = np.reshape(piece.c, (*piece.c.shape[:2], -1))
                if columns.shape[2] != n:
                    raise InputError(f"{who} is a spline with {columns.shape[2]} components, expected {n}.")
                for k in range(n):
                    x, c = (piece.x, columns[:, :, k]) if not order else _at_rest_outside(piece.x, columns[:, :, k])
                    tables.append((place.start + n * order + k, _table(x, c)))

    def _place(self, name: str) -> slice:
        """Where in u a name stands."""
        model = self.model
        group = model.group
        short = next((name.removesuffix(end) for end in _ENDINGS if name.endswith(end)), name)
        for candidate in (name, short):
            if candidate in model.inputs:
                part = model.inputs[candidate]
                return slice(model.nv + part.start, model.nv + part.stop)
            if group is not None and candidate in group.v:
                return group.v[candidate]
        known = [*model.inputs, *(group.v if group is not None else {})]
        raise InputError(f"inputs: '{name}' is no joint and no force element with inputs.{suggest(name, known)}")

    def _call(self, t: float, q: Any, v: Any, u: Any) -> int:
        """What the kernels call; an exception must not pass through compiled code, so it waits in `error`."""
        model = self.model
        if self.error is not None:
            return 1
        try:
            out = self._view(u, model.nv + model.nu)
            state = State(self._view(q, model.nq).copy(), self._view(v, model.nv).copy(), t)
            if self._whole is not None:
                for name, value in self._whole(t, state).items():
                    place = self._place(name)
                    out[place] = model._values("inputs", name, value, place)
            for place, name, function, takes_state in self._functions:
                value = function(t, state) if takes_state else function(t)
                out[place] = model._values("inputs", name, value, place)
        except BaseException as error:
            self.error = error
            return 1
        return 0

    def _view(self, pointer: Any, n: int) -> Array:
        """The array behind a pointer.  Steps use few, which are kept; whoever asks between them brings new ones."""
        address = ctypes.cast(pointer, ctypes.c_void_p).value or 0
        if (address, n) not in self._views:
            if n == 0:
                return np.zeros(0)
            if len(self._views) >= _VIEWS:
                self._views.clear()
            self._views[address, n] = np.ctypeslib.as_array(pointer, shape=(n,))
        return self._views[address, n]


# A row of which the rows before leave less than this share depends on them, or will in a moment: the square of a sine.
_DEPENDENT = 1e-6


def _dependent(model: Model, q: Array, start: Array) -> list[Row]:
    """Return the rows of constraints that depend on others at q, and do not at `start`."""

    def pivots(q: Array) -> tuple[Array, Array]:
        """What is left of each row when its turn comes in the factorisation of A = J M⁻¹ Jᵀ, and the diagonal of A."""
        W, v, d = model.workspace(), np.zeros(model.nv), np.empty((2, model.nv))
        m = len(model.rows)
        if loops.closing(model.ints, model.floats, q, v, np.zeros(model.nv + model.nu), 0.0, W, d[0], d[1]) != 0:
            return np.zeros(m), np.ones(m)
        l = int(at.constraint_parts(model.ints)[1])
        L, out = W[l : l + m * m].reshape(m, m), np.zeros(m)
        for r, k in enumerate(W[model.row_slice(at.ORDER)].astype(int)):
            if k >= 0:
                out[k] = L[k, r] ** 2
        return out, (L**2).sum(axis=1)

    then, whole = pivots(start)
    # a row that shrinks to nothing has nothing of its own either
    least = _DEPENDENT * np.where(whole > 0.0, whole, 1.0)
    lost = (pivots(q)[0] <= least) & (then > least)
    return [row for row, gone in zip(model.rows, lost, strict=True) if gone]


def _is_coupled(model: Model) -> bool:
    """Whether there are forces that may be stiff besides those of modes and joints that (M + αD + βK) knows.

    These are all elements but plain loads, friction, and springs of joints whose coordinates are not added.
    """
    I, F = model.ints, model.floats
    for i in range(len(model.bodies)):
        b, f, _ = at.rows(i)
        if I[b + at.PASSIVE] == at.ON_GROUP or F[f + at.FRICTION : f + at.FRICTION + I[b + at.NV]].any():
            return True
    kinds = {int(I[I[at.ELEMENTS] + k * at.ELEMENT_SIZE + at.ELEMENT_KIND]) for k in range(I[at.N_ELEMENTS])}
    return bool(kinds - {at.LOAD_WORLD, at.LOAD_BODY})


def _as_mapping(inputs: Any) -> Mapping[str, Any]:
    if inputs is None:
        return {}
    if not isinstance(inputs, Mapping):
        raise InputError(f"inputs is {inputs!r}, expected a mapping of names to values, or a function of (t, state).")
    return inputs


def _takes_state(who: str, function: Callable[..., Any]) -> bool:
    """Whether it is a function of (t, state), not of (t) alone."""
    try:
        kinds = [p.kind for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    except (TypeError, ValueError):  # some compiled functions have no signature: take them as functions of time
        return False
    n = sum(kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD) for kind in kinds)
    if n not in (0, 1, 2):
        raise InputError(f"{who} is a function of {n} arguments, expected (t) or (t, state).")
    return n == 2


def _samples(who: str, value: Any, n: int) -> tuple[Array, Array]:
    times, values = np.asarray(value[0], dtype=np.float64), np.asarray(value[1], dtype=np.float64)
    values = values.reshape(len(values), -1) if values.ndim else values
    if values.shape != (len(times), n) or len(times) < 2:
        raise InputError(
            f"{who} has {len(times)} times and values of shape {np.shape(value[1])}, "
            f"expected at least 2 times and values of shape ({len(times)}, {n})."
        )
    if not np.isfinite(times).all() or not np.isfinite(values).all() or not (np.diff(times) > 0).all():
        raise InputError(f"{who}: times must rise strictly, and times and values must be finite.")
    return times, values


def _three(who: str, given: Any, total: int, n: int) -> Array:
    """Value, rate and acceleration as one vector."""
    try:
        position, speed, acceleration = (np.ravel(np.asarray(part, dtype=np.float64)) for part in given)
    except (TypeError, ValueError):
        raise InputError(f"{who} returned {given!r}, expected value, rate and acceleration.") from None
    if (position.size, speed.size, acceleration.size) != (total - 2 * n, n, n):
        raise InputError(
            f"{who} returned {position.size}, {speed.size} and {acceleration.size} numbers, "
            f"expected {total - 2 * n}, {n} and {n}."
        )
    return np.concatenate([position, speed, acceleration])


def _at_rest_outside(x: Array, c: Array) -> tuple[Array, Array]:
    """A derivative of a law that is held before and after: zero there."""
    zero = np.zeros((len(c), 1))
    return np.concatenate([[x[0] - 1.0], x, [x[-1] + 1.0]]), np.concatenate([zero, c, zero], axis=1)


def _table(places: Any, coefficients: Any) -> Array:
    """Pieces, coefficients a piece; then places and coefficients as kernels/motion.py reads them."""
    order, pieces = np.shape(coefficients)
    return np.concatenate([[pieces, order], places, np.transpose(coefficients).ravel()]).astype(np.float64)


def _shape(table: Array) -> tuple[int, int]:
    return int(table[0]), int(table[1])
