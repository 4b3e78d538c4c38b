"""What excites a mechanism, as inputs of a linear model: forces, loads anywhere, and motions of supports.

The linear model (linear.py) with first-order states x = (z, w, χ), the inputs δ and the generalised forces τ of all
speeds is

    ẋ = A x + B δ + B_τ τ,      y = C x + D δ + D_τ τ,                                                            (1)

all of it exact: a load is a PointForce without a constant part, and its columns are complex steps of the kernels.

**A prescribed acceleration** a of the coordinates p, which the generalised forces f drive, is (1) solved for f,

    a = A_p x + B_p δ + B_pf f,      f = B_pf⁻¹ (a − A_p x − B_p δ),                                              (2)

A_p, B_p being the rows of ẇ_p; put back into (1) it leaves p as integrators of a.  A support that moves is a body that
carries all that the world carried, on a free joint whose six accelerations are prescribed: tilted weight, springs to
the ground and outputs relative to the inertial frame are then right without more.  Motors hold support and motions at
the operating point.

**Deformations of a bushing** between frames A and B are θ = log R_AB and r = p_AB in the axes of A (kernels/elements.py
(3)).  With the Jacobians J = (J_w, J_v) of the twists of both frames, each in its own axes,

    ∂θ/∂ε = dexp_left(θ)⁻¹ (R_AB J_w,B − J_w,A),      ∂r/∂ε = R_AB J_v,B − J_v,A + p̂_AB J_w,A.                      (3)
"""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo import dynamics
from liegeo.analysis.linear import LinearModel, linearise
from liegeo.errors import InputError
from liegeo.lie import SE3, SO3
from liegeo.model.body import Body, FlexibleBody, place_on
from liegeo.model.checks import suggest
from liegeo.model.constraints import Motion
from liegeo.model.forces import Actuator, Bushing, Place, PointForce, SpringDamper, place_fields
from liegeo.model.joints import Free, Joint
from liegeo.model.model import Model
from liegeo.model.standin import HasModel, as_model, as_state
from liegeo.model.state import State
from liegeo.motion import driven_by

Array = NDArray[Any]
Names = tuple[str, ...]
Matrices = tuple[Array, Array, Array, Array]

#: Directions of a support, in the axes of the world and about its origin: along, then about.
AXES = ("x", "y", "z", "rx", "ry", "rz")
#: What may be given of a motion, by how often its acceleration has been integrated.
QUANTITIES = ("acceleration", "velocity", "displacement")
_WORLD = "world"
# Entries of a row below this share of its largest are round-off.
_ROUND_OFF = 1e-12
# A coordinate that the free ones move less than this, as a share, is determined by other prescribed ones.
_HELD = 1e-9


@dataclass(frozen=True, kw_only=True)
class Load:
    """A harmonic force and torque on a body, frame or node; complex numbers give each component its own phase.

    `at` is a name such as "boom.tip".  `phase`, in rad, leads that of other loads.  `axes` are those of the world, or
    those of the frame ("body").
    """

    at: str
    force: ArrayLike = (0.0, 0.0, 0.0)
    torque: ArrayLike = (0.0, 0.0, 0.0)
    phase: float = 0.0
    axes: str = _WORLD
    name: str = ""

    @property
    def title(self) -> str:
        """Return its name, or one made of the place where it acts."""
        return self.name or f"load at {self.at}"

    def wrench(self) -> Array:
        """Return torque and force as six complex numbers."""
        parts = []
        for what, values in (("torque", self.torque), ("force", self.force)):
            try:
                part = np.asarray(values, dtype=complex)
            except (TypeError, ValueError):
                part = np.zeros(0, complex)
            if part.shape != (3,) or not np.isfinite(part).all():
                raise InputError(f"{self.title}: {what} is {values!r}, expected three finite numbers.")
            parts.append(part)
        if not np.isfinite(self.phase):
            raise InputError(f"{self.title}: phase is {self.phase!r}, expected a finite number of radians.")
        found = np.concatenate(parts)
        if not found.any():
            raise InputError(f"{self.title}: force and torque are zero.\n  Give one of them, such as force=(0, 0, 1).")
        return found * np.exp(1j * self.phase)


@dataclass(frozen=True, kw_only=True)
class BaseMotion:
    """A harmonic motion of the support, which is all that the model has on the world.

    `axis` is one of x, y, z, and rx, ry, rz for rotations about the world's axes through its origin.  What has the
    amplitude 1 is its acceleration, velocity or displacement (`quantity`).
    """

    axis: str
    quantity: str = "acceleration"

    @property
    def title(self) -> str:
        """Return its name."""
        return f"support.{self.axis}"


@dataclass(frozen=True, kw_only=True)
class DrivenMotion:
    """A harmonic deviation of a motion that the model prescribes (a constraint Motion of one coordinate), by its name.

    What has the amplitude 1 is its acceleration, velocity or displacement (`quantity`).
    """

    motion: str
    quantity: str = "acceleration"

    @property
    def title(self) -> str:
        """Return its name."""
        return self.motion


Excitation = str | Load | BaseMotion | DrivenMotion


# ---- from a model to (1)


@dataclass(frozen=True)
class Plant:
    """(1) after (2): the linear model, matrices of what was asked for, and of the generalised forces of coordinates.

    `driven` are places of prescribed coordinates among the states z; `powers` the s by which inputs are multiplied.
    """

    model: Model
    linear: LinearModel
    A: Array
    B: Array
    C: Array
    D: Array
    B_tau: Array
    D_tau: Array
    inputs: Names
    outputs: Names
    input_units: Names
    output_units: Names
    powers: tuple[int, ...]
    # generalised forces of all speeds by forces in the coordinates z: τ = to_speeds f
    to_speeds: Array
    # by name of what may have structural damping: speeds, K, and rows of C that show its coordinates
    springs: dict[str, tuple[Array, Array, Array]]
    driven: tuple[int, ...] = ()

    @property
    def free(self) -> Array:
        """Return the places of coordinates that are not prescribed."""
        return np.setdiff1d(np.arange(self.linear.n_coordinates), np.array(self.driven, int))

    def closed(self, places: Array, gain: Array) -> Plant:
        """Return the same under the force −gain x in the speeds at these places."""
        B, D = self.B_tau[:, places], self.D_tau[:, places]
        return dataclasses.replace(self, A=self.A - B @ gain, C=self.C - D @ gain)


def _listed(inputs: Excitation | Iterable[Excitation] | None) -> list[Excitation] | None:
    if inputs is None:
        return None
    listed = [inputs] if isinstance(inputs, str | Load | BaseMotion | DrivenMotion) else list(inputs)
    for each in listed:
        if not isinstance(each, str | Load | BaseMotion | DrivenMotion):
            raise InputError(
                f"frequency_response: input {each!r} is not known, expected the name of an input, a Load, a BaseMotion "
                "or a DrivenMotion."
            )
        if isinstance(each, BaseMotion) and each.axis not in AXES:
            raise InputError(f"support: axis is {each.axis!r}, expected one of {', '.join(AXES)}.")
        if isinstance(each, BaseMotion | DrivenMotion) and each.quantity not in QUANTITIES:
            raise InputError(f"{each.title}: quantity is {each.quantity!r}, expected one of {', '.join(QUANTITIES)}.")
    return listed


@dataclass
class _Excited:
    """A model changed so that everything that excites it is a force, and how that is named there."""

    model: Model
    state: State
    # what drives it, as `simulate` takes it; the same as numbers: of elements and motions, and forces by joint or body
    at: dict[str, Any]
    inputs: dict[str, Any]
    tau: dict[str, Any]
    # by joint and number of its speed: the motor that moves what is prescribed
    motors: dict[tuple[str, int], str]
    # by place among the inputs that are asked for: the element of a load; what is moved of a support or motion
    loads: dict[int, str]
    moves: dict[int, tuple[str, int]]
    support: str = ""


def plant_of(
    model: Model | HasModel, state: State | None, inputs: Any, outputs: Any, at: Any, friction: str | None
) -> Plant:
    """Return (1) for what is asked for, with (2)."""
    state, model = as_state(model, state), as_model(model, "frequency_response")
    state = model.state() if state is None else state
    model.check(state, "frequency_response")
    listed = _listed(inputs)
    if outputs is None:
        table = [c for c in model.names.table.values() if c.source in (("q",), ("v",))]
        shown = [c.name for c in sorted(table, key=lambda c: (c.source, c.place))]
    else:
        shown = model.names.match([outputs] if isinstance(outputs, str) else list(outputs), "outputs")
    excited = _excited(model, state, listed or [], at)
    new = excited.model
    driving = _driving(new)
    forces = [name for name, place in driving.items() if place < new.nv]
    if listed is None:
        prescribed = tuple(loop.name for loop in new.tree.loops if isinstance(loop, Motion))
        listed = [
            name for name, place in driving.items() if place >= new.nv and name.partition(".")[0] not in prescribed
        ]
    # all that linearise is asked for: what is wanted, coordinates of springs and of motions, forces of all speeds
    springs, coordinates = _springs(new)
    lengths = {f"{f.name}.length": f for f in new.tree.forces if isinstance(f, SpringDamper) and f.stiffness}
    motions = {
        key: (_plain(new, "q", *key), _plain(new, "v", *key)) for key in excited.motors if key[0] != excited.support
    }
    seen = list(dict.fromkeys([*shown, *coordinates, *lengths, *(name for pair in motions.values() for name in pair)]))
    texts = [each for each in listed if isinstance(each, str)]
    more = [*excited.loads.values(), *excited.motors.values(), *forces]
    linear = linearise(new, excited.state, [*texts, *more], seen, at=excited.at, friction=friction)
    linear, bushings = _with_deformations(linear, new, excited.state)
    rows = {name: k for k, name in enumerate(linear.outputs)}
    columns = {name: k for k, name in enumerate(linear.inputs)}
    moved, to_speeds, mass, places = _with_coordinates(linear, excited, motions, rows)
    motors = [columns[f"{name}.input"] for name in excited.motors.values()]
    (A, B, C, D), by_motion = _prescribed(linear, moved, places, motors)
    chosen = _Chosen()
    for k, each in enumerate(listed):
        if isinstance(each, str):
            for name in _matching(each, driving):
                if name not in chosen.names:
                    j = columns[name]
                    chosen.add(name, linear.input_units[j], B[:, j], D[:, j])
        elif isinstance(each, Load):
            start = new.nv + new.inputs[excited.loads[k]].start
            six = [columns[name] for name, place in driving.items() if start <= place < start + 6]
            wrench = each.wrench()
            wrench = wrench if wrench.imag.any() else wrench.real
            chosen.add(each.title, "", B[:, six] @ wrench, D[:, six] @ wrench)
        else:
            key = excited.moves[k]
            unit = _unit_of_motion(new, key, excited.support)
            power, j = QUANTITIES.index(each.quantity), list(excited.motors).index(key)
            chosen.add(each.title, unit + ("/s²", "/s", "")[power], by_motion[0][:, j], by_motion[1][:, j], power)
    tau, m = [columns[name] for name in forces], len(shown)
    elastic = {name: (speeds, K, C[[rows[c] for c in names]]) for name, (speeds, K, names) in springs.items()}
    free = np.setdiff1d(np.arange(linear.n_coordinates), np.array(places, int))
    for bushing, names in bushings.items():
        e = C[[rows[name] for name in names]]
        by_force = to_speeds[:, free] @ e[:, free].T
        elastic[bushing.name] = np.arange(new.nv), by_force * np.asarray(bushing.stiffness, dtype=float), e
    for column, spring in lengths.items():
        # a spring between frames pulls along the derivative of its length
        row = C[[rows[column]]]
        elastic[spring.name] = np.arange(new.nv), spring.stiffness * to_speeds[:, free] @ row[:, free].T, row
    return _without_idle(
        Plant(
            new,
            dataclasses.replace(linear, mass=mass),
            A,
            np.stack(chosen.B, axis=1) if chosen.B else np.zeros((len(A), 0)),
            C[:m],
            (np.stack(chosen.D, axis=1) if chosen.D else np.zeros((len(C), 0)))[:m],
            B[:, tau],
            D[:m, tau],
            tuple(chosen.names),
            tuple(shown),
            tuple(chosen.units),
            linear.output_units[:m],
            tuple(chosen.powers),
            to_speeds,
            elastic,
            tuple(places),
        )
    )


@dataclass
class _Chosen:
    """Inputs that were asked for, in order: names, units, columns, powers of s by which they are multiplied."""

    names: list[str] = field(default_factory=list)
    units: list[str] = field(default_factory=list)
    B: list[Array] = field(default_factory=list)
    D: list[Array] = field(default_factory=list)
    powers: list[int] = field(default_factory=list)

    def add(self, name: str, unit: str, B: Array, D: Array, power: int = 0) -> None:
        if name in self.names:
            raise InputError(
                f"frequency_response: two inputs are called '{name}', expected one.\n"
                "  Give loads names, and ask for a motion once."
            )
        for rows, value in zip(
            (self.names, self.units, self.B, self.D, self.powers), (name, unit, B, D, power), strict=True
        ):
            rows.append(value)  # type: ignore[attr-defined]


def _driving(model: Model) -> dict[str, int]:
    """Return places by name of what drives a model: generalised forces, then inputs."""
    names = model.names
    found = [c for c in {**names.more, **names.table}.values() if c.source == ("u",)]
    return {c.name: c.place for c in sorted(found, key=lambda c: c.place)}


def _matching(pattern: str, driving: Mapping[str, int]) -> list[str]:
    """Return the inputs that a name, the name of an owner, or a wildcard stands for, as linearise reads it."""
    own = [name for name in driving if name == pattern or name.startswith(f"{pattern}.")]
    return own or [name for name in driving if fnmatch.fnmatchcase(name, pattern)]


def _unit_of_motion(model: Model, key: tuple[str, int], support: str) -> str:
    if key[0] == support:
        return "m" if key[1] > 2 else "rad"
    return model.names.table[_plain(model, "q", *key)].unit


def _plain(model: Model, source: str, joint: str, number: int) -> str:
    """Return the column of a coordinate or speed of a joint whose coordinates are plain numbers."""
    assert model.group is not None
    place = getattr(model.group, source)[joint].start + number
    return next(c.name for c in model.names.table.values() if c.source == (source,) and c.place == place)


def _springs(model: Model) -> tuple[dict[str, tuple[Array, Array, list[str]]], list[str]]:
    """Return by body and joint speeds, stiffness and columns of coordinates; and all these columns."""
    found: dict[str, tuple[Array, Array, list[str]]] = {}
    group = model.group
    if group is None:
        return found, []
    for body in model.tree.bodies:
        if isinstance(body, FlexibleBody) and body.n_modes:
            place = group.v[body.name]
            names = [_plain(model, "q", body.name, k) for k in range(body.n_modes)]
            found[body.name] = np.arange(place.start, place.stop), np.asarray(body.K, dtype=float), names
    for joint in model.tree.joints:
        q, v = (part.get(joint.name, slice(0, 0)) for part in (group.q, group.v))
        n = v.stop - v.start
        stiffness = np.broadcast_to(np.asarray(joint.stiffness, dtype=float), n)
        if n and q.stop - q.start == n and stiffness.any():
            names = [_plain(model, "q", joint.name, k) for k in range(n)]
            found[joint.name] = np.arange(v.start, v.stop), np.diag(stiffness), names
    return found, [name for *_, names in found.values() for name in names]


def _with_deformations(linear: LinearModel, model: Model, state: State) -> tuple[LinearModel, dict[Bushing, list[str]]]:
    """Return the linear model with the deformations (3) of bushings as further outputs, and their names by bushing."""
    names: dict[Bushing, list[str]] = {}
    blocks = []
    for bushing in model.tree.forces:
        if not isinstance(bushing, Bushing) or not np.any(np.asarray(bushing.stiffness)):
            continue
        (X_A, J_A), (X_B, J_B) = (_on_frame(model, state, bushing, name) for name in ("a", "b"))
        X = np.linalg.inv(X_A) @ X_B
        R, p = X[:3, :3], X[:3, 3]
        turned = SO3.dexpinv_left(SO3.log(R)) @ (R @ J_B[:3] - J_A[:3])
        moved = R @ J_B[3:] - J_A[3:] - np.cross(J_A[:3].T, p).T
        blocks.append(np.concatenate([turned, moved]) @ linear.basis)
        names[bushing] = [f"{bushing.name}: deformation {k}" for k in range(6)]
    if not blocks:
        return linear, {}
    every = tuple(name for listed in names.values() for name in listed)
    C = np.zeros((len(every), linear.C.shape[1]))
    C[:, : linear.n_coordinates] = np.concatenate(blocks)
    return dataclasses.replace(
        linear,
        C=np.concatenate([linear.C, C]),
        D=np.concatenate([linear.D, np.zeros((len(every), linear.D.shape[1]))]),
        outputs=(*linear.outputs, *every),
        output_units=(*linear.output_units, *[""] * len(every)),
        y0=np.concatenate([linear.y0, np.zeros(len(every))]),
    ), names


def _on_frame(model: Model, state: State, bushing: Bushing, name: str) -> tuple[Array, Array]:
    """Return pose and Jacobian of a place of a bushing."""
    place: Place = getattr(bushing, name)
    owner, where = (place, None) if isinstance(place, str) else place
    if owner == _WORLD:
        return np.asarray(place_on(None, where, bushing.owner.field(name))), np.zeros((6, model.nv))
    if where is None or isinstance(where, str):
        frame = owner if where is None else f"{owner}.{where}"
        return dynamics.frame_pose(model, state, frame), dynamics.frame_jacobian(model, state, frame)
    X_BF = np.asarray(place_on(model.body(model.bodies.index(owner)), where, bushing.owner.field(name)))
    return dynamics.frame_pose(model, state, owner) @ X_BF, SE3.Ad(np.linalg.inv(X_BF)) @ dynamics.frame_jacobian(
        model, state, owner
    )


def _excited(model: Model, state: State, inputs: Sequence[Excitation], at: Any) -> _Excited:
    """Return the model with loads, with motors in the place of motions, and on a support if that moves."""
    tree = model.tree
    taken = {part.name for parts in (tree.all_bodies, tree.all_joints, tree.forces, tree.loops) for part in parts}
    out = _driven(model, state, at)
    forces, loops = list(tree.forces), list(tree.loops)

    def unused(name: str) -> str:
        while name in taken:
            name += "_"
        taken.add(name)
        return name

    def drive(joint: str, speed: int, name: str, force: float) -> None:
        out.motors[joint, speed] = unused(name)
        forces.append(Actuator(name=out.motors[joint, speed], joint=joint, speed=speed))
        out.at[out.motors[joint, speed]] = out.inputs[out.motors[joint, speed]] = [force]

    driven = any(isinstance(each, DrivenMotion) for each in inputs)
    held = dynamics.loop_forces(model, state, out.tau, out.inputs) if driven else {}
    for k, each in enumerate(inputs):
        if isinstance(each, Load):
            each.wrench()
            model.frame(each.at)
            out.loads[k] = unused(f"load_{k}")
            forces.append(PointForce(name=out.loads[k], at=each.at, axes=each.axes))
        elif isinstance(each, DrivenMotion):
            motion, key = _one_coordinate(model, each)
            out.moves[k] = key
            if motion in loops:
                loops.remove(motion)
                out.at.pop(motion.name, None)
                del out.inputs[motion.name]
                drive(*key, f"motor_of_{motion.name}", float(np.ravel(held[motion.name])[0]))
    bodies, joints = list(tree.bodies), list(tree.joints)
    if any(isinstance(each, BaseMotion) for each in inputs):
        out.support, carrier = unused("support"), unused("support")
        total = sum(float(body.mass) for body in tree.all_bodies)
        # what it weighs makes no difference, as its motion is prescribed
        bodies = [Body(carrier, mass=total, inertia=(total,) * 3), *bodies]
        joints = [
            Free(name=out.support, parent=_WORLD, child=carrier),
            *(dataclasses.replace(joint, parent=carrier) if joint.parent == _WORLD else joint for joint in joints),
        ]
        forces, loops = ([_carried(part, carrier) for part in parts] for parts in (forces, loops))
    changed = dataclasses.replace(tree, bodies=bodies, joints=joints, forces=forces, loops=loops)
    out.model = changed.compile().lock(speeds=model.locks)
    out.state = _state_of(out.model, model, state)
    if out.support:
        still = out.model.lock(out.support, speeds=out.model.locks)
        assert still.group is not None
        needed = dynamics.lock_forces(still, out.state, out.tau, out.inputs)[still.group.v[out.support]]
        for k, force in enumerate(needed):
            drive(out.support, k, f"motor_{k}_of_{out.support}", float(force))
        out.model = dataclasses.replace(changed, forces=forces).compile().lock(speeds=model.locks)
        out.state = _state_of(out.model, model, state)
        # a free joint turns before it moves
        base = {k: each for k, each in enumerate(inputs) if isinstance(each, BaseMotion)}
        out.moves |= {k: (out.support, (AXES.index(each.axis) + 3) % 6) for k, each in base.items()}
    return out


def _driven(model: Model, state: State, at: Any) -> _Excited:
    """Return the model as it is, with what drives it by name; motions that are not named follow their laws."""
    u = driven_by(model, state, at)
    motions = {loop.name for loop in model.tree.loops if isinstance(loop, Motion)}
    inputs = {name: u[model.nv + place.start : model.nv + place.stop] for name, place in model.inputs.items()}
    places = model.group.v if model.group is not None else {}
    tau = {name: u[place] for name, place in places.items() if u[place].any()}
    laws = {name: law for name, law in at.items() if name in motions} if isinstance(at, Mapping) else {}
    named = {name: value for name, value in inputs.items() if name not in motions} | laws | tau
    return _Excited(model, state, named, inputs, tau, {}, {}, {})


def _one_coordinate(model: Model, driven: DrivenMotion) -> tuple[Motion, tuple[str, int]]:
    """Return the constraint of a driven motion, its joint and the number of the speed that it prescribes."""
    known = {loop.name: loop for loop in model.tree.loops if isinstance(loop, Motion)}
    if driven.motion not in known:
        raise InputError(
            f"DrivenMotion: '{driven.motion}' is no prescribed motion of the model."
            f"{suggest(driven.motion, list(known))}"
        )
    motion = known[driven.motion]
    assert model.group is not None
    q, v = model.group.q[motion.joint], model.group.v[motion.joint]
    n = v.stop - v.start
    if q.stop - q.start != n or (motion.coordinate is None and n != 1):
        raise InputError(
            f"DrivenMotion: '{motion.name}' prescribes all {n} speeds of joint '{motion.joint}', expected a single "
            "coordinate that is a plain number.\n  Prescribe them one by one, by motions with `coordinate`."
        )
    return motion, (motion.joint, motion.coordinate or 0)


def _is_on_world(place: Any) -> bool:
    owner = place[0] if isinstance(place, tuple | list) and len(place) else place
    return isinstance(owner, str) and owner == _WORLD


def _carried_place(place: Any, carrier: str) -> Any:
    """Return a place on the world as one on the support."""
    return carrier if isinstance(place, str) else (carrier, *place[1:])


def _carried(part: Any, carrier: str) -> Any:
    """Return a force element or loop whose places on the world are on the support."""
    names = ("parent", "child") if isinstance(part, Joint) else place_fields(part)
    changes: dict[str, Any] = {}
    for name in names:
        place = getattr(part, name)
        if _is_on_world(place):
            changes[name] = _carried_place(place, carrier)
    if any(_is_on_world(place) for place in getattr(part, "via", ())):
        changes["via"] = tuple(_carried_place(p, carrier) if _is_on_world(p) else p for p in part.via)
    return dataclasses.replace(part, **changes) if changes else part


def _state_of(changed: Model, model: Model, state: State) -> State:
    """Return the state of the changed model in which all parts of the other one are where they were."""
    zero = changed.state(t=state.t)
    q, v, x = zero.q.copy(), zero.v.copy(), zero.x.copy()
    if changed.group is not None and model.group is not None:
        for name, place in model.group.q.items():
            q[changed.group.q[name]] = state.q[place]
        for name, place in model.group.v.items():
            v[changed.group.v[name]] = state.v[place]
    for name, place in model.states.items():
        x[changed.states[name]] = state.x[place]
    return changed.state(q, v, state.t, x)


def _with_coordinates(
    linear: LinearModel,
    excited: _Excited,
    motions: Mapping[tuple[str, int], tuple[str, str]],
    rows: Mapping[str, int],
) -> tuple[Matrices, Array, Array, list[int]]:
    """Return A, B, C, D, forces of speeds by those of coordinates, the mass matrix, and places of what is prescribed.

    The coordinates of a linear model with loops are some that determine the others.  A prescribed one that is not among
    them takes the place of the one that moves it most.
    """
    model, n = excited.model, linear.n_coordinates
    group = model.group
    assert group is not None
    speeds = {c.name: c.place for c in model.names.table.values() if c.source == ("v",)}
    to_speeds = np.zeros((model.nv, n))
    for k, name in enumerate(linear.states[n : 2 * n]):
        to_speeds[speeds[name], k] = 1.0
    S, places = np.eye(len(linear.A)), []
    for joint, number in excited.motors:
        if joint == excited.support:
            places.append(int(np.argmax(to_speeds[group.v[joint].start + number])))
            continue
        coordinate, speed = (linear.C[rows[name]] for name in motions[joint, number])
        # by the coordinates that there are now
        size = np.abs(np.linalg.solve(S[:n, :n].T, coordinate[:n]))
        size[places] = 0.0
        if not size.max(initial=0.0) > _HELD * np.abs(coordinate).max(initial=0.0):
            raise InputError(
                f"DrivenMotion: joint '{joint}' does not move in the linear model, expected that it can.\n"
                "  It is locked, or loops or other motions hold it."
            )
        places.append(int(np.argmax(size)))
        S[places[-1]], S[n + places[-1]] = coordinate, speed
    T = np.linalg.inv(S)
    inner = T[:n, :n]
    moved = S @ linear.A @ T, S @ linear.B, linear.C @ T, linear.D
    # a force f' in the new coordinates is S_zzᵀ f' in the old ones
    return moved, to_speeds @ S[:n, :n].T, inner.T @ linear.mass @ inner, places


def _prescribed(
    linear: LinearModel, moved: Matrices, places: Sequence[int], motors: Sequence[int]
) -> tuple[Matrices, tuple[Array, Array]]:
    """Return A, B, C, D under (2), and the columns of B and D for the prescribed accelerations."""
    A, B, C, D = moved
    if not places:
        return moved, (np.zeros((len(A), 0)), np.zeros((len(C), 0)))
    w = linear.n_coordinates + np.array(places)
    F, E, inner = B[:, motors], D[:, motors], B[np.ix_(w, np.array(motors))]
    inverse = np.linalg.inv(inner)
    by_x, by_u = inverse @ A[w], inverse @ B[w]
    A, B, C, D, B_a = A - F @ by_x, B - F @ by_u, C - E @ by_x, D - E @ by_u, F @ inverse
    A[w], B[w], B_a[w] = 0.0, 0.0, np.eye(len(w))
    return (A, B, C, D), (B_a, E @ inverse)


def _without_idle(plant: Plant) -> Plant:
    """Return the plant without prescribed coordinates that stay at rest, or on which nothing depends."""
    n, size = plant.linear.n_coordinates, len(plant.A)
    if not plant.driven:
        return plant
    moving = [p for p in plant.driven if plant.B[n + p].any()]
    both = [*moving, *(n + p for p in moving)]
    others = np.setdiff1d(np.arange(size), [*plant.driven, *(n + p for p in plant.driven)])
    rows = np.concatenate([plant.A[others], plant.C, *(rows for *_, rows in plant.springs.values())])
    small = np.abs(rows[:, both]) <= _ROUND_OFF * np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    kept = [] if small.all() else moving
    gone = [p for p in plant.driven if p not in kept]
    stay = np.setdiff1d(np.arange(size), [*gone, *(n + p for p in gone)])
    z = stay[stay < n]
    linear = plant.linear
    mass = linear.mass.copy()
    mass[kept], mass[:, kept] = 0.0, 0.0
    mass[kept, kept] = 1.0
    return dataclasses.replace(
        plant,
        linear=dataclasses.replace(
            linear,
            states=tuple(linear.states[k] for k in stay),
            state_units=tuple(linear.state_units[k] for k in stay),
            n_coordinates=len(z),
            mass=mass[np.ix_(z, z)],
        ),
        A=plant.A[np.ix_(stay, stay)],
        B=plant.B[stay],
        C=plant.C[:, stay],
        B_tau=plant.B_tau[stay],
        to_speeds=plant.to_speeds[:, z],
        springs={name: (speeds, K, rows[:, stay]) for name, (speeds, K, rows) in plant.springs.items()},
        driven=tuple(int(np.searchsorted(z, p)) for p in kept),
    )


__all__ = ["AXES", "QUANTITIES", "BaseMotion", "DrivenMotion", "Excitation", "Load", "Plant", "plant_of"]
