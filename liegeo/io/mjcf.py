"""MJCF: the rigid part of MuJoCo's models, as trees, through MuJoCo's own compiler.

The compiler resolves classes, frames, angles, meshes and inertias; what is read here are the arrays of its MjModel.  A
body sits at a pose in its parent, and its joints act one after another, each about its anchor a on the body:

    X_PB(q) = X_body · Π_k T(a_k) exp(S_k (q_k − ref_k)) T(a_k)⁻¹,   S = (axis, 0) or (0, axis).                    (1)

A body with several joints becomes a chain of bodies without mass that ends in it, so that joints keep their names.  The
coordinates of hinges, slides and balls are MuJoCo's; a free joint is at zero where the file puts its body.

A servo, force gain·u + bias₁·l + bias₂·l̇ on the length l = gear·q of its transmission, is a motor, a spring and a
damper on the joint:

    τ = gear gain u + gear² bias₁ q + gear² bias₂ q̇.                                                                (2)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from liegeo import model as lm
from liegeo.errors import InputError, ModelError
from liegeo.io.collisions import Collisions, checked_material
from liegeo.io.foreign import (
    STOP_TIME,
    Array,
    Limit,
    UniqueNames,
    css_color,
    read_bytes,
    shorten,
    warn_once,
    with_stops,
)
from liegeo.io.mjcf_sensors import SensorReader, places_of
from liegeo.lie import SO3, SO3Q
from liegeo.model.checks import LARGEST
from liegeo.model.contacts import ContactSurface

WORLD = "world"
# Collision shapes are in the groups above by convention, and MuJoCo's viewer hides them.
SHOWN_GROUPS = 3


def read_mjcf(
    path: str | Path,
    *,
    limits: bool = True,
    friction_speed: float = 1e-3,
    contact: Mapping[str, Any] | None = None,
) -> lm.Tree:
    """The tree of an MJCF file: bodies, joints, motors, servos; equalities as loops, geoms as shapes, sites as frames.

    Equalities hold exactly, where MuJoCo's are soft; frictionloss is Coulomb friction, smoothed over `friction_speed`.
    Ranges of hinges, slides and balls become stops "‹joint›_stops" as stiff as the file's solref says, unless `limits`
    is off.
    With `contact`, the material of contacts (docs/contact.md), geoms that may touch by contype, conaffinity, pairs and
    exclusions do; friction is that of the geoms, unless it is given.  Without it contacts are left out.

    Sensors are read as far as ours measure the same (mjcf_sensors.py).

    Other sensors, tendons and other actuators are left out, in one warning that names them; what would leave a
    different mechanism behind is refused.
    """
    file = Path(path)
    read_bytes(file, "an MJCF")
    try:
        import mujoco
    except ImportError:
        raise InputError(
            "read_mjcf: the package 'mujoco' is missing.\n"
            "  Install it with pip install 'liegeo[mjcf]', in a checkout with pip install '.[mjcf]'."
        ) from None
    try:
        spec = mujoco.MjSpec.from_file(str(file))
        compiled = spec.compile()
    except ValueError as error:
        raise ModelError(f"{file.name}: MuJoCo does not compile it: {error}") from None
    _check_numbers(file, compiled)
    material = None if contact is None else checked_material("read_mjcf", contact)
    reader = _Reader(mujoco, compiled, file, friction_speed, material)
    tree = reader.tree(spec.modelname or file.stem)
    if limits:
        tree = with_stops(tree, reader.limits(), reader.names, reader.notes)
    warn_once(f"model '{tree.name}' ({file.name})", reader.notes)
    return tree


# What is read of a compiled model; ranges, which may be infinite, are not.
_NUMBERS = (
    *("body_pos", "body_quat", "body_ipos", "body_iquat", "body_mass", "body_inertia"),
    *(
        "jnt_pos",
        "jnt_axis",
        "jnt_stiffness",
        "qpos0",
        "qpos_spring",
        "dof_damping",
        "dof_armature",
        "dof_frictionloss",
    ),
    *("geom_pos", "geom_quat", "geom_size", "geom_rgba", "mat_rgba", "site_pos", "site_quat", "mesh_vert"),
    *("actuator_gear", "actuator_gainprm", "actuator_biasprm", "eq_data"),
)


def _check_numbers(file: Path, compiled: Any) -> None:
    """Refuse what MuJoCo lets pass: numbers that are not finite, and those that are too large."""
    arrays = {name: np.asarray(getattr(compiled, name), np.float64) for name in _NUMBERS if hasattr(compiled, name)}
    for name, array in {**arrays, "gravity": np.asarray(compiled.opt.gravity)}.items():
        wrong = ~(np.abs(array) <= LARGEST)
        if wrong.any():
            raise ModelError(
                f"{file.name}: {name} holds {array[wrong].flat[0]:g}, expected numbers below {LARGEST:g}.\n"
                "  MuJoCo calls it so; look for nan, inf and large exponents in the file."
            )


@dataclass
class _Passive:
    """What acts on a joint without being driven: springs about several rest positions add up to one."""

    stiffness: float = 0.0
    pull: float = 0.0
    damping: float = 0.0
    armature: float = 0.0


class _Reader:
    """From the arrays of an MjModel to bodies, joints, loops and forces."""

    def __init__(
        self, mujoco: Any, m: Any, file: Path, friction_speed: float, material: dict[str, Any] | None = None
    ) -> None:
        self.mj, self.m, self.file, self.friction_speed = mujoco, m, file, friction_speed
        self.names, self.surface_names, self.material = UniqueNames(), UniqueNames(), material
        self.notes: list[str] = []
        self.problems: list[str] = []
        # By body the joint into it.
        self.into: dict[str, str] = {}
        # Shapes and actuators that are left out, ranges that are not kept.
        self.unseen: list[str] = []
        self.strange: list[str] = []
        self.ranges: list[str] = []
        self.body_names = [WORLD] + [self._name("body", i, "body") for i in range(1, m.nbody)]
        self.joint_names = [self._name("joint", i, "joint") for i in range(m.njnt)]
        # What servos add to joints.
        self.passive = [_Passive() for _ in range(m.njnt)]

    def _name(self, kind: str, i: int, suffix: str) -> str:
        return self.names.take(getattr(self.m, kind)(i).name or f"{kind}_{i}", suffix)

    def _given(self, kind: str, i: int) -> str:
        """How the file calls a thing, for messages."""
        name = getattr(self.m, kind)(i).name
        return f"{kind} '{name}'" if name else f"{kind} {i}"

    def tree(self, name: str) -> lm.Tree:
        m, bits = self.m, self.mj.mjtDisableBit
        self._refuse()
        motors = [motor for i in range(m.nactuator if hasattr(m, "nactuator") else m.nu) for motor in self._motor(i)]
        bodies, joints = [], []
        for i in range(1, m.nbody):
            for body, joint in self._body(i):
                bodies.append(body)
                joints.append(joint)
                self.into[body.name] = joint.name
        loops = [loop for i in range(m.neq) for loop in self._equality(i)]
        forces: list[lm.Force] = [*motors, *self._contacts()]
        into = {i: self.into[self.body_names[i]] for i in range(1, m.nbody)}
        places = places_of(m, self.body_names, _pose)
        reader = SensorReader(self.mj, m, self.names, self.joint_names, into, places)
        sensors = reader.sensors()
        self.notes += reader.notes
        self._left_out()
        if self.problems:
            raise ModelError("\n".join(f"{self.file.name}: {problem}" for problem in self.problems))
        if not bodies:
            raise ModelError(f"{self.file.name}: has no bodies beside the world, expected at least one.")
        weightless = m.opt.disableflags & bits.mjDSBL_GRAVITY
        gravity = np.zeros(3) if weightless else m.opt.gravity
        return lm.Tree(bodies, joints, gravity=gravity, name=name, forces=forces, loops=loops, sensors=sensors)

    # ---- bodies and joints

    def _body(self, i: int) -> Iterator[tuple[lm.Body, lm.Joint]]:
        """A body with the joint into it, after those that its first joints need."""
        m, name = self.m, self.body_names[i]
        parent = self.body_names[m.body_parentid[i]]
        at = _pose(m.body_pos[i], m.body_quat[i])
        first, n = int(m.body_jntadr[i]), int(m.body_jntnum[i])
        for k in range(first, first + n - 1):
            between = self.names.take(f"{name}_{self.joint_names[k]}", "body")
            yield lm.Body(between), self._joint(k, parent, between, at)
            parent, at = between, np.eye(4)
        R = SO3Q.matrix(m.body_iquat[i])
        frames = {
            m.site(s).name or f"site_{s}": _pose(m.site_pos[s], m.site_quat[s])
            for s in range(m.nsite)
            if m.site_bodyid[s] == i
        }
        body = lm.Body(
            name,
            mass=float(m.body_mass[i]),
            com=m.body_ipos[i],
            inertia=R @ np.diag(m.body_inertia[i]) @ R.T,
            frames={site.replace(".", "_"): X for site, X in frames.items()},
            shapes=[shape for g in range(m.ngeom) if m.geom_bodyid[g] == i for shape in self._shapes(g)],
        )
        if n:
            yield body, self._joint(first + n - 1, parent, name, at)
        else:
            yield body, lm.Fixed(name=self.names.take(f"{name}_fixed", "joint"), parent=parent, child=name, at=at)

    def _joint(self, k: int, parent: str, child: str, at: Array) -> lm.Joint:
        """(1)"""
        m, types = self.m, self.mj.mjtJoint
        kind, q, v = types(int(m.jnt_type[k])), int(m.jnt_qposadr[k]), int(m.jnt_dofadr[k])
        more = self.passive[k]
        given: dict[str, Any] = {
            "name": self.joint_names[k],
            "parent": parent,
            "child": child,
            "damping": float(m.dof_damping[v]) + more.damping,
            "armature": float(m.dof_armature[v]) + more.armature,
            "friction": float(m.dof_frictionloss[v]),
            "friction_speed": self.friction_speed,
        }
        if kind == types.mjJNT_FREE:
            return lm.Free(**given, at=at)
        anchor = np.eye(4)
        anchor[:3, 3] = m.jnt_pos[k]
        stiffness = float(m.jnt_stiffness[k])
        if kind == types.mjJNT_BALL:
            given |= {"stiffness": stiffness, "rest": m.qpos_spring[q : q + 4] if stiffness else 0.0}
            return lm.Spherical(**given, at=at @ anchor, child_at=anchor)
        axis, ref = m.jnt_axis[k], m.qpos0[q]
        back = np.eye(4)
        total = stiffness + more.stiffness
        pull = stiffness * float(m.qpos_spring[q]) + more.pull
        given |= {"axis": axis, "stiffness": total, "rest": pull / total if total else 0.0}
        if kind == types.mjJNT_SLIDE:
            back[:3, 3] = -ref * axis
            return lm.Prismatic(**given, at=at @ back)
        back[:3, :3] = SO3.exp(-ref * axis)
        return lm.Revolute(**given, at=at @ anchor @ back, child_at=anchor)

    def _refuse(self) -> None:
        """What a tree would get wrong without a sign of it."""
        m, types = self.m, self.mj.mjtJoint
        for k in range(m.njnt):
            v, who = int(m.jnt_dofadr[k]), self._given("joint", k)
            if types(int(m.jnt_type[k])) == types.mjJNT_FREE:
                for what, value in (
                    ("stiffness", m.jnt_stiffness[k]),
                    ("armature", m.dof_armature[v]),
                    ("frictionloss", m.dof_frictionloss[v]),
                ):
                    if value:
                        self.problems.append(
                            f"{who} is free and has {what} {value:g}, which acts along the world's axes, ours along "
                            "the body's.\n  Set it to 0, for example with <freejoint>, which takes no defaults."
                        )
            for what, values in (
                ("stiffness", _array(m, "jnt_stiffnesspoly", k)),
                ("damping", _array(m, "dof_dampingpoly", v)),
            ):
                if np.any(values):
                    self.problems.append(f"{who} has {what} with more than one coefficient, expected a constant.")
            if _array(m, "jnt_springyield", k):
                self.problems.append(f"{who} has a spring that yields, expected an elastic one.")
        for kind in ("flex", "plugin"):
            if getattr(m, f"n{kind}", 0):
                self.problems.append(f"has {getattr(m, f'n{kind}')} elements <{kind}>, which a rigid tree cannot have.")
        mocap = [self._given("body", i) for i in range(m.nbody) if m.body_mocapid[i] >= 0]
        if mocap:
            self.problems.append(f"{', '.join(mocap)}: moved from outside (mocap), expected joints or none.")

    # ---- actuators and equalities

    def _moves_along_one(self, joint: int) -> bool:
        types = self.mj.mjtJoint
        return types(int(self.m.jnt_type[joint])) in (types.mjJNT_HINGE, types.mjJNT_SLIDE)

    def _motor(self, i: int) -> Iterator[lm.Actuator]:
        m, mj, who = self.m, self.mj, self._given("actuator", i)
        joint = int(m.actuator_trnid[i, 0])
        plain = (
            mj.mjtTrn(int(m.actuator_trntype[i])) in (mj.mjtTrn.mjTRN_JOINT, mj.mjtTrn.mjTRN_JOINTINPARENT)
            and self._moves_along_one(joint)
            and mj.mjtDyn(int(m.actuator_dyntype[i])) == mj.mjtDyn.mjDYN_NONE
            and mj.mjtGain(int(m.actuator_gaintype[i])) == mj.mjtGain.mjGAIN_FIXED
            and mj.mjtBias(int(m.actuator_biastype[i])) in (mj.mjtBias.mjBIAS_NONE, mj.mjtBias.mjBIAS_AFFINE)
        )
        # Since version 4 an actuator may have several controls and outputs; those with one, as here, do not.
        control, output = (int(_array(m, f"actuator_{k}adr", i, i)) for k in ("ctrl", "out"))
        gear, gain = float(m.actuator_gear[output, 0]), float(m.actuator_gainprm[i, 0])
        bias = m.actuator_biasprm[i, :3] if plain and m.actuator_biastype[i] else np.zeros(3)
        if not plain or bias[0] or np.any(bias > 0.0) or np.any(_array(m, "actuator_dampingpoly", i)):
            self.strange.append(who)
            return
        if not gear * gain:
            self.strange.append(f"{who} (gear {gear:g}, gain {gain:g})")
            return
        # (2)
        add = self.passive[joint]
        add.stiffness -= gear**2 * float(bias[1])
        add.damping += gear**2 * (float(_array(m, "actuator_damping", i)) - float(bias[2]))
        add.armature += gear**2 * float(_array(m, "actuator_armature", i))
        limits = [np.inf]
        ranges = [(m.actuator_ctrllimited[control], m.actuator_ctrlrange[control], 1.0, "ctrlrange")]
        ranges += [(m.actuator_forcelimited[i], m.actuator_forcerange[i], abs(gain), "forcerange")]
        ranges += [(m.jnt_actfrclimited[joint], m.jnt_actfrcrange[joint], abs(gear * gain), "actuatorfrcrange")]
        for limited, (low, high), scale, what in ranges:
            if not limited:
                continue
            if low == -high and (what == "ctrlrange" or not np.any(bias)):
                limits.append(high / scale)
            else:
                self.ranges.append(f"{what} {low:g} to {high:g} of {who}")
        yield lm.Actuator(
            name=self._name("actuator", i, "motor"),
            joint=self.joint_names[joint],
            gear=gear * gain,
            limit=float(min(limits)),
        )

    def _equality(self, i: int) -> Iterator[lm.Joint | lm.Constraint]:
        m, kinds, who = self.m, self.mj.mjtEq, self._given("equality", i)
        if not m.eq_active0[i]:
            self.notes.append(f"{who} is not active at the start: left out.")
            return
        a, b, data, kind = int(m.eq_obj1id[i]), int(m.eq_obj2id[i]), m.eq_data[i], kinds(int(m.eq_type[i]))
        if kind == kinds.mjEQ_JOINT:
            yield from self._coupling(i, who)
        elif kind in (kinds.mjEQ_CONNECT, kinds.mjEQ_WELD):
            weld = kind == kinds.mjEQ_WELD
            if int(m.eq_objtype[i]) == int(self.mj.mjtObj.mjOBJ_SITE):
                places = [(int(m.site_bodyid[s]), _pose(m.site_pos[s], m.site_quat[s])) for s in (a, b)]
            elif weld:
                # The anchor is a point of the second body, the pose that of the second seen from the first there.
                places = [(a, _pose(data[3:6], data[6:10])), (b, _pose(data[:3], (1.0, 0.0, 0.0, 0.0)))]
            else:
                places = [(a, _pose(data[:3], (1.0, 0.0, 0.0, 0.0))), (b, _pose(data[3:6], (1.0, 0.0, 0.0, 0.0)))]
            if places[1][0] == 0:
                places.reverse()
            (parent, at), (child, child_at) = places
            cut = lm.Fixed if weld else lm.Spherical
            yield cut(
                name=self._name("equality", i, "loop"),
                parent=self.body_names[parent],
                child=self.body_names[child],
                at=at,
                child_at=child_at,
            )
        else:
            name = kind.name.removeprefix("mjEQ_").lower()
            self.problems.append(f"{who} is of type {name}, expected connect, weld or joint.\n  Remove it.")

    def _coupling(self, i: int, who: str) -> Iterator[lm.Constraint]:
        """q_a − ref_a = c₀ + c₁ (q_b − ref_b)"""
        m = self.m
        a, b, data = int(m.eq_obj1id[i]), int(m.eq_obj2id[i]), m.eq_data[i]
        joints = [k for k in (a, b) if k >= 0]
        if not all(self._moves_along_one(k) for k in joints) or (b >= 0 and np.any(data[2:5])):
            self.problems.append(
                f"{who} has polycoef {' '.join(f'{x:g}' for x in data[:5])}, expected a linear relation between "
                "hinges or slides.\n  Remove it, or leave out all but the first two coefficients."
            )
            return
        ref = {k: float(m.qpos0[m.jnt_qposadr[k]]) for k in joints}
        terms, offset = {self.joint_names[a]: 1.0}, ref[a] + float(data[0])
        if b >= 0 and data[1]:
            terms[self.joint_names[b]] = -float(data[1])
            offset -= float(data[1]) * ref[b]
        yield lm.Coupling(name=self._name("equality", i, "loop"), terms=terms, offset=offset)

    # ---- contacts

    def _contacts(self) -> list[lm.Contact]:
        """Contacts of all geoms that may touch."""
        m = self.m
        if self.material is None or m.opt.disableflags & self.mj.mjtDisableBit.mjDSBL_CONTACT:
            return []
        found = Collisions(self.names, self.material)
        pairs = self._pairs()
        surfaces: dict[int, ContactSurface] = {}
        for g in dict.fromkeys(g for pair in pairs for g in pair):
            surface = self._surface(g)
            if surface is not None:
                surfaces[g] = surface
        for (a, b), row in pairs.items():
            if a in surfaces and b in surfaces:
                found.add(surfaces[a], surfaces[b], **self._friction(a, b, row))
        self.notes += found.notes()
        return found.contacts

    def _pairs(self) -> dict[tuple[int, int], int]:
        """Return pairs of geoms that may touch, each with the row of an explicit one or -1."""
        m = self.m
        pairs = {(int(m.pair_geom1[k]), int(m.pair_geom2[k])): k for k in range(m.npair)}
        signatures = {int(s) for s in m.exclude_signature}
        for a in range(m.ngeom):
            for b in range(a + 1, m.ngeom):
                if (a, b) in pairs or (b, a) in pairs:
                    continue
                if not (m.geom_contype[a] & m.geom_conaffinity[b] or m.geom_contype[b] & m.geom_conaffinity[a]):
                    continue
                # what is welded together is one body to MuJoCo
                first, second = (int(m.geom_bodyid[g]) for g in (a, b))
                one, other = (int(m.body_weldid[body]) for body in (first, second))
                if one == other:
                    continue
                near = one != 0 and other != 0 and self._neighbours(one, other)
                low, high = sorted((first, second))
                if not near and (low << 16) + high not in signatures:
                    pairs[a, b] = -1
        return pairs

    def _neighbours(self, a: int, b: int) -> bool:
        m = self.m
        up = [int(m.body_weldid[int(m.body_parentid[body])]) for body in (a, b)]
        return (up[0] == b or up[1] == a) and not m.opt.disableflags & self.mj.mjtDisableBit.mjDSBL_FILTERPARENT

    def _surface(self, g: int) -> ContactSurface | None:
        """Return the surface of a geom; none, with a note, if it has no simple one."""
        m, kinds = self.m, self.mj.mjtGeom
        kind = kinds(int(m.geom_type[g]))
        name = self.surface_names.take(m.geom(g).name or f"geom_{g}", "surface")
        at = (self.body_names[int(m.geom_bodyid[g])], _pose(m.geom_pos[g], m.geom_quat[g]))
        radius, length = float(m.geom_size[g, 0]), 2.0 * float(m.geom_size[g, 1])
        if kind == kinds.mjGEOM_PLANE:
            return lm.PlaneSurface(name=name, at=at)
        if kind == kinds.mjGEOM_SPHERE:
            return lm.SphereSurface(name=name, at=at, radius=radius)
        if kind == kinds.mjGEOM_CAPSULE:
            return lm.CapsuleSurface(name=name, at=at, radius=radius, length=length)
        if kind == kinds.mjGEOM_CYLINDER:
            return lm.CylinderSurface(name=name, at=at, radius=radius, length=length)
        if kind == kinds.mjGEOM_BOX:
            return lm.BoxSurface(name=name, at=at, size=2.0 * m.geom_size[g])
        words = f"{self._given('geom', g)} ({kind.name.removeprefix('mjGEOM_').lower()}) passes through everything"
        self.notes.append(f"contacts: {words}.")
        return None

    def _friction(self, a: int, b: int, row: int) -> dict[str, float]:
        """Friction, and from four dimensions on the levers of spinning and rolling: the larger of both geoms."""
        m = self.m
        if row >= 0:
            sliding, _, spinning, rolling, _ = m.pair_friction[row]
            dimensions = int(m.pair_dim[row])
        else:
            rank = int(m.geom_priority[a]) - int(m.geom_priority[b])
            chosen = [a, b] if rank == 0 else [a if rank > 0 else b]
            sliding, spinning, rolling = np.max([m.geom_friction[g] for g in chosen], axis=0)
            dimensions = max(int(m.geom_condim[g]) for g in chosen)
        return {
            "friction": float(sliding) if dimensions > 1 else 0.0,
            "spinning": float(spinning) if dimensions > 3 else 0.0,
            "rolling": float(rolling) if dimensions > 4 else 0.0,
        }

    # ---- what is shown, and what is left out

    def _shapes(self, g: int) -> Iterator[lm.Shape]:
        m, kinds = self.m, self.mj.mjtGeom
        if m.geom_group[g] >= SHOWN_GROUPS:
            return
        at, kind = _pose(m.geom_pos[g], m.geom_quat[g]), kinds(int(m.geom_type[g]))
        radius, length = float(m.geom_size[g, 0]), 2.0 * float(m.geom_size[g, 1])
        rgba = m.mat_rgba[m.geom_matid[g]] if m.geom_matid[g] >= 0 else m.geom_rgba[g]
        look: dict[str, Any] = {"at": at, "color": css_color(rgba)}
        if kind == kinds.mjGEOM_BOX:
            yield lm.Box(**look, size=2.0 * m.geom_size[g])
        elif kind == kinds.mjGEOM_SPHERE:
            yield lm.Sphere(**look, radius=radius)
        elif kind in (kinds.mjGEOM_CYLINDER, kinds.mjGEOM_CAPSULE):
            yield lm.Cylinder(**look, radius=radius, length=length)
            for end in (-0.5, 0.5) if kind == kinds.mjGEOM_CAPSULE else ():
                X = np.eye(4)
                X[2, 3] = end * length
                yield lm.Sphere(at=at @ X, color=look["color"], radius=radius)
        elif kind == kinds.mjGEOM_MESH:
            mesh = int(m.geom_dataid[g])
            v, f = int(m.mesh_vertadr[mesh]), int(m.mesh_faceadr[mesh])
            yield lm.Mesh(
                **look,
                vertices=m.mesh_vert[v : v + int(m.mesh_vertnum[mesh])],
                triangles=m.mesh_face[f : f + int(m.mesh_facenum[mesh])],
            )
        else:
            self.unseen.append(f"{self._given('geom', g)} ({kind.name.removeprefix('mjGEOM_').lower()})")

    def limits(self) -> dict[str, Limit]:
        """Return the ranges of hinges, slides and balls, unless the file switches limits off.

        That of a ball bounds the angle of its whole rotation: the larger of its two numbers.
        """
        m = self.m
        found: dict[str, Limit] = {}
        ball = self.mj.mjtJoint.mjJNT_BALL
        limited = (self.mj.mjtJoint.mjJNT_HINGE, self.mj.mjtJoint.mjJNT_SLIDE, ball)
        if m.opt.disableflags & self.mj.mjtDisableBit.mjDSBL_LIMIT:
            return found
        for k in range(m.njnt):
            if m.jnt_limited[k] and self.mj.mjtJoint(m.jnt_type[k]) in limited:
                time, ratio = (float(x) for x in m.jnt_solref[k])
                # two positive numbers are a time constant and a damping ratio, negative ones a stiffness and a damping
                period = time * ratio * float(m.jnt_solimp[k][1]) if time > 0.0 else STOP_TIME
                low, high = (float(x) for x in m.jnt_range[k])
                turns = self.mj.mjtJoint(m.jnt_type[k]) == ball
                found[self.joint_names[k]] = Limit(low, max(low, high) if turns else high, period, turns)
        return found

    def _left_out(self) -> None:
        m, bits = self.m, self.mj.mjtDisableBit
        here = [g for g in range(m.ngeom) if m.geom_contype[g] or m.geom_conaffinity[g]]
        touching = (len(here) > 1 or m.npair) and not m.opt.disableflags & bits.mjDSBL_CONTACT
        if touching and self.material is None:
            self.notes.append(f"contacts: {len(here)} geoms pass through each other.")
        for kind, count, flag in (
            ("tendon", m.ntendon, np.ones(m.ntendon)),
            ("gravity compensation of body", m.nbody, m.body_gravcomp),
        ):
            what = kind.split()[-1]
            names = [getattr(m, what)(i).name or str(i) for i in range(count) if flag[i]]
            if names:
                self.notes.append(f"{kind}{'s' * (len(names) > 1)} {shorten(names)}.".replace("bodys", "bodies"))
        if m.opt.density or m.opt.viscosity:
            self.notes.append(f"the fluid of density {m.opt.density:g} and viscosity {m.opt.viscosity:g}.")
        for what, items in (
            ("shapes", self.unseen),
            ("actuators that are neither motors nor servos on hinges or slides", self.strange),
            ("ranges that are not symmetric, or bound the force of a servo", self.ranges),
        ):
            if items:
                self.notes.append(f"{what}: {shorten(items)}.")
        self.notes += self.names.note()


def _pose(position: ArrayLike, quaternion: ArrayLike) -> Array:
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = SO3Q.matrix(np.asarray(quaternion, dtype=np.float64)), position
    return X


def _array(m: Any, name: str, i: int, otherwise: float = 0.0) -> Any:
    """A row of an array that only newer versions of MuJoCo have."""
    return getattr(m, name)[i] if hasattr(m, name) else otherwise
