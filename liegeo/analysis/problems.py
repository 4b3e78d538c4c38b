"""Problems with known answers, for laboratories: each a `Case`, made by a function so that nothing compiles on import.

Trees and starts are the numbers of references.json, which tests/oracles/motions.py wrote; it never imports liegeo.  The
end of a motion is in closed form (exact.py) for the free body, the heavy top and the spherical pendulum; for the others
it is in that file, found from other equations in extended precision and right to 1e-11 or better (`differences` there).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo import dynamics, motion
from liegeo import model as lm
from liegeo._jit import kernel
from liegeo.analysis import exact
from liegeo.errors import InputError
from liegeo.integrate import Problem
from liegeo.lie import SE3Q, SO3, SO3Q, Product, R

Array = NDArray[np.float64]
Invariant = Callable[[Array, Array], Array]

_NO_GRAVITY = (0.0, 0.0, 0.0)
_AXES = "xyz"


@dataclass(frozen=True)
class Case:
    """A problem for the laboratory, and what is known of it.

    `exact(t)` gives elements at any times, if there is a closed form.  `invariants` are functions of times (n) and
    elements (n × …) that should not change.  `steps` are numbers of steps that show an order.
    """

    name: str
    description: str
    problem: Problem
    exact: Callable[[ArrayLike], Array] | None = None
    invariants: Mapping[str, Invariant] = field(default_factory=dict)
    stiff: bool = False
    steps: tuple[int, ...] = (40, 80, 160, 320, 640)

    def __post_init__(self) -> None:
        object.__setattr__(self, "invariants", MappingProxyType(dict(self.invariants)))

    def __repr__(self) -> str:
        return f"<case '{self.name}': {self.description}>"


def as_case(given: Any) -> Case:
    """A Case as it is, a Problem as one, a factory called."""
    if isinstance(given, Case):
        return given
    if isinstance(given, Problem):
        return Case(given.name, "a problem of one's own", given, invariants=_energy(given))
    if callable(given):
        return as_case(given())
    raise InputError(f"cases: {given!r} is no case, expected a Case, a Problem, or a function that makes one.")


def _energy(problem: Problem) -> dict[str, Invariant]:
    """The energy of a mechanical problem, if its system knows it."""
    system = problem.system
    if system is None or system.dynamics.energy is None:
        return {}
    energy, nq = system.dynamics.energy, problem.group.element_shape[0] - system.group.dim

    def values(t: Array, y: Array) -> Array:
        work, data = np.full(system.work, np.nan), (system.ints, system.floats)
        rows = zip(t, y, strict=True)
        return np.array([energy(*data, float(time), row[:nq].copy(), row[nq:].copy(), work) for time, row in rows])

    return {"energy": values}


# ---- the seven trees


@functools.cache
def free_body() -> Case:
    """A rigid body that floats: Jacobi's functions, and an integral of the third kind for its attitude."""
    data = _data("free body")
    body = lm.Body("body", mass=data["mass"], inertia=data["inertia"])
    tree = lm.Tree([body], [lm.Free(name="float", parent="world", child="body")], gravity=_NO_GRAVITY, name="free body")
    model = tree.compile()
    q, v = _start(model, data)
    J = np.array(data["inertia"])
    rotation = exact.FreeBody(J, q[:4], J * v[:3])
    velocity = SO3Q.act(q[:4], v[3:])

    def solution(t: ArrayLike) -> Array:
        t = np.asarray(t, dtype=np.float64)
        attitude, p = rotation(t)
        position = q[4:] + t[..., np.newaxis] * velocity
        return np.concatenate([attitude, position, p / J, SO3Q.act(SO3Q.inverse(attitude), velocity)], axis=-1)

    def casimir(t: Array, y: Array) -> Array:
        return np.asarray(((J * y[:, 7:10]) ** 2).sum(axis=1))

    invariants = {**_balance(model, "xyz", "xyz"), "Casimir |p|²": casimir, **_lengths(model)}
    return _case(model, data, "a rigid body that floats", solution, invariants, (40, 80, 160, 320, 640, 1280))


@functools.cache
def heavy_top() -> Case:
    """Lagrange's top, spinning fast."""
    return _top("heavy top", "Lagrange's top on its pivot", (50, 100, 200, 400, 800, 1600, 3200))


@functools.cache
def spherical_pendulum() -> Case:
    """A bob on a rod and a ball joint, which does not spin about the rod."""
    return _top("spherical pendulum", "a bob on a rod and a ball joint", (50, 100, 200, 400, 800, 1600, 3200))


def _top(name: str, description: str, steps: tuple[int, ...]) -> Case:
    data = _data(name)
    body = lm.Body("body", mass=data["mass"], com=data["com"], inertia=data["inertia"])
    model = lm.Tree([body], [lm.Spherical(name="pivot", parent="world", child="body")], name=name).compile()
    q, v = _start(model, data)
    mass, arm = data["mass"], data["com"][2]
    A, C = data["inertia"][0] + mass * arm**2, data["inertia"][2]
    top = exact.HeavyTop(A, C, mass * 9.81 * arm, q, v)

    def solution(t: ArrayLike) -> Array:
        return np.concatenate(top(t), axis=-1)

    def spin(t: Array, y: Array) -> Array:
        return np.asarray(C * y[:, 6])

    invariants = {**_balance(model, "z"), "spin momentum": spin, **_lengths(model)}
    return _case(model, data, description, solution, invariants, steps)


@functools.cache
def double_spherical_pendulum() -> Case:
    """Two bodies on ball joints, the lower one on the upper one's tip."""
    data = _data("double spherical pendulum")
    upper, lower = data["upper"], data["lower"]
    tip = upper.pop("tip")
    joints = [
        lm.Spherical(name="shoulder", parent="world", child="upper"),
        lm.Spherical(name="elbow", parent="upper", child="lower", at=tip),
    ]
    bodies = [lm.Body("upper", **upper), lm.Body("lower", **lower)]
    model = lm.Tree(bodies, joints, name="double spherical pendulum").compile()
    invariants = {**_balance(model, "z"), **_lengths(model)}
    return _case(model, data, "two bodies on ball joints", None, invariants, (80, 160, 320, 640, 1280, 2560))


@functools.cache
def satellite_with_wheels() -> Case:
    """A gyrostat: a bus that floats and tumbles, with three wheels that spin freely in it."""
    data = _data("satellite with wheels")
    wheels = [lm.Wheel(name=name, body="bus", **wheel) for name, wheel in data["wheels"].items()]
    float_ = lm.Free(name="float", parent="world", child="bus")
    bus = lm.Body("bus", **data["bus"])
    model = lm.Tree([bus], [float_], gravity=_NO_GRAVITY, wheels=wheels, name="satellite with wheels").compile()
    assert model.group is not None
    nq, places = model.nq, model.group.v

    def wheel_momentum(name: str) -> Invariant:
        wheel = data["wheels"][name]
        w = nq + places["float"].start
        speed = nq + places[name].start
        return lambda t, y: np.asarray(wheel["inertia"] * (y[:, speed] + y[:, w : w + 3] @ np.array(wheel["axis"])))

    momenta = {f"momentum of wheel {name}": wheel_momentum(name) for name in data["wheels"]}
    invariants = {**_balance(model, "xyz", "xyz"), **momenta, **_lengths(model)}
    return _case(model, data, "a tumbling bus with three wheels", None, invariants, (20, 40, 80, 160, 320, 640))


@functools.cache
def flexible_pendulum() -> Case:
    """A rod on a ball joint that bends in two directions, with a weight at its end."""
    data = _data("flexible pendulum")
    rod = lm.FlexibleBody.from_nodes("rod", _nodes(data), stiffness=data["stiffness"])
    pivot = lm.Spherical(name="pivot", parent="world", child="rod")
    model = lm.Tree([rod], [pivot], name="flexible pendulum").compile()
    invariants = {**_balance(model, "z"), **_lengths(model)}
    return _case(model, data, "a rod that bends, on a ball joint", None, invariants, (40, 80, 160, 320, 640, 1280))


@functools.cache
def stiff_flexible_arm() -> Case:
    """Upper arm and forearm in a plane; the upper arm's two modes, of 323 and 2025 rad/s, ring under its weight."""
    data = _data("stiff flexible arm")
    arm = lm.FlexibleBody.from_nodes("arm", _nodes(data), data["stiffness"], data["damping"])
    fore = lm.Body("forearm", **data["forearm"])
    joints = [
        lm.Revolute(name="shoulder", parent="world", child="arm", axis=(0, 1, 0)),
        lm.Revolute(name="elbow", parent="arm", child="forearm", at=f"n{len(data['nodes']) - 1}", axis=(0, 1, 0)),
    ]
    model = lm.Tree([arm, fore], joints, name="stiff flexible arm").compile()
    steps = (400, 500, 640, 800, 1000, 1280, 1600, 2560, 5120)
    return _case(model, data, "two links, the first stiff but bending", None, {}, steps, stiff=True)


# ---- the same free body without mechanics


def _euler(J: tuple[float, ...]) -> Any:
    """Euler's equations ṗ = p×w, and the attitude: y = (quaternion, p)."""
    J1, J2, J3 = J

    def field(t, y, out):  # type: ignore[no-untyped-def]
        out[0], out[1], out[2] = y[4] / J1, y[5] / J2, y[6] / J3
        out[3] = y[5] * out[2] - y[6] * out[1]
        out[4] = y[6] * out[0] - y[4] * out[2]
        out[5] = y[4] * out[1] - y[5] * out[0]

    return kernel(field, name="analysis.euler")


def _poinsot(J: tuple[float, ...], H: tuple[float, ...]) -> Any:
    """The attitude alone, as a matrix: the momentum H in space does not change."""
    J1, J2, J3 = J
    H1, H2, H3 = H

    def field(t, X, out):  # type: ignore[no-untyped-def]
        out[0] = (X[0, 0] * H1 + X[1, 0] * H2 + X[2, 0] * H3) / J1
        out[1] = (X[0, 1] * H1 + X[1, 1] * H2 + X[2, 1] * H3) / J2
        out[2] = (X[0, 2] * H1 + X[1, 2] * H2 + X[2, 2] * H3) / J3

    return kernel(field, name="analysis.poinsot")


@functools.cache
def free_body_field() -> Case:
    """Euler's equations as a field on the product of unit quaternions with ℝ³: no mechanics."""
    data, rotation = _free_rotation()
    J = np.array(data["inertia"])
    group = Product({"attitude": SO3Q, "momentum": R(3)})
    start = np.concatenate([rotation.q, rotation.p])

    def solution(t: ArrayLike) -> Array:
        return np.concatenate(rotation(t), axis=-1)

    def space(axis: int) -> Invariant:
        return lambda t, y: np.asarray(SO3Q.act(y[:, :4], y[:, 4:])[:, axis])

    invariants: dict[str, Invariant] = {
        "energy": lambda t, y: np.asarray(0.5 * (y[:, 4:] ** 2 / J).sum(axis=1)),
        **{f"angular momentum {_AXES[i]}": space(i) for i in range(3)},
        "Casimir |p|²": lambda t, y: np.asarray((y[:, 4:] ** 2).sum(axis=1)),
        "group |q|² − 1": lambda t, y: np.asarray((y[:, :4] ** 2).sum(axis=1) - 1.0),
    }
    t_end = float(data["t_end"])
    problem = Problem(
        group, _euler(tuple(data["inertia"])), start, t_end, reference=solution(t_end), name="free body, field"
    )
    description = "Euler's equations on SO(3)×ℝ³"
    return Case(problem.name, description, problem, solution, invariants, steps=(40, 80, 160, 320, 640, 1280))


@functools.cache
def free_body_attitude() -> Case:
    """The free body's attitude as a matrix of SO(3), driven by its constant momentum in space."""
    data, rotation = _free_rotation()
    J = np.array(data["inertia"])
    H = SO3Q.act(rotation.q, rotation.p)

    def solution(t: ArrayLike) -> Array:
        return np.asarray(SO3Q.matrix(rotation(t)[0]))

    def energy(t: Array, y: Array) -> Array:
        return np.asarray(0.5 * ((np.swapaxes(y, 1, 2) @ H) ** 2 / J).sum(axis=1))

    def orthogonal(t: Array, y: Array) -> Array:
        return np.asarray(np.linalg.norm(np.swapaxes(y, 1, 2) @ y - np.eye(3), axis=(1, 2)))

    t_end = float(data["t_end"])
    field = _poinsot(tuple(data["inertia"]), tuple(H.tolist()))
    start = SO3Q.matrix(rotation.q)
    problem = Problem(SO3, field, start, t_end, reference=solution(t_end), name="free body, attitude")
    invariants: dict[str, Invariant] = {"energy": energy, "group |RᵀR − 1|": orthogonal}
    description = "a free body's attitude on SO(3)"
    return Case(problem.name, description, problem, solution, invariants, steps=(40, 80, 160, 320, 640, 1280))


ALL_CASES: tuple[Callable[[], Case], ...] = (
    free_body,
    heavy_top,
    spherical_pendulum,
    double_spherical_pendulum,
    satellite_with_wheels,
    flexible_pendulum,
    stiff_flexible_arm,
    free_body_field,
    free_body_attitude,
)


# ---- from numbers to cases


@functools.cache
def _file() -> str:
    return Path(__file__).with_name("references.json").read_text(encoding="utf-8")


def _data(name: str) -> dict[str, Any]:
    """A fresh copy, which the caller may take apart."""
    found: dict[str, Any] = json.loads(_file())[name]
    return found


def _start(model: lm.Model, data: dict[str, Any], which: str = "start") -> tuple[Array, Array]:
    state = model.state(data[which]["q"], data[which]["v"])
    return state.q, state.v


def _case(
    model: lm.Model,
    data: dict[str, Any],
    description: str,
    solution: Callable[[ArrayLike], Array] | None,
    invariants: Mapping[str, Invariant],
    steps: tuple[int, ...],
    stiff: bool = False,
) -> Case:
    name, t_end = model.tree.name, float(data["t_end"])
    q, v = _start(model, data)
    reference = np.concatenate(_start(model, data, "end")) if solution is None else solution(t_end)
    problem = Problem.of(motion.system(model), q, v, t_end, reference=reference, name=name)
    return Case(name, description, problem, solution, invariants, stiff, steps)


def _free_rotation() -> tuple[dict[str, Any], exact.FreeBody]:
    data = _data("free body")
    q, v = np.array(data["start"]["q"]["float"]), np.array(data["start"]["v"]["float"])
    return data, exact.FreeBody(data["inertia"], q[:4] / np.linalg.norm(q[:4]), np.array(data["inertia"]) * v[:3])


def _nodes(data: dict[str, Any]) -> list[lm.LumpedNode]:
    return [lm.LumpedNode(**node, name=f"n{i}") for i, node in enumerate(data["nodes"])]


def _balance(model: lm.Model, angular: str, linear: str = "") -> dict[str, Invariant]:
    """Energy, and the components of momentum about the world's origin that are named."""

    def of(take: Callable[[dynamics.Balance], float]) -> Invariant:
        def values(t: Array, y: Array) -> Array:
            states = (model.unpack(row, float(time)) for time, row in zip(t, y, strict=True))
            return np.array([take(dynamics.balance(model, state)) for state in states])

        return values

    def component(i: int) -> Invariant:
        return of(lambda balance: float(balance.momentum[i]))

    return {
        "energy": of(lambda balance: float(balance.energy)),
        **{f"angular momentum {axis}": component(_AXES.index(axis)) for axis in angular},
        **{f"linear momentum {axis}": component(3 + _AXES.index(axis)) for axis in linear},
    }


def _lengths(model: lm.Model) -> dict[str, Invariant]:
    """|q|² − 1 of all quaternions, the largest."""
    assert model.group is not None
    factors = model.group.factors.items()
    starts = [model.group.q[name].start for name, group in factors if group.name in (SO3Q.name, SE3Q.name)]

    def longest(t: Array, y: Array) -> Array:
        off = np.stack([(y[:, k : k + 4] ** 2).sum(axis=1) - 1.0 for k in starts])
        return np.asarray(np.take_along_axis(off, np.abs(off).argmax(axis=0)[np.newaxis], axis=0)[0])

    return {"group |q|² − 1": longest}
