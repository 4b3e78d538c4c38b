"""From a tree as a person writes it to the flat arrays of kernels/layout.py."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo.errors import Fault, Field, ModelError, Owner
from liegeo.kernels import elements as elements_kernels
from liegeo.kernels import elimination_table
from liegeo.kernels import joint_elements as joint_kernels
from liegeo.kernels import layout as at
from liegeo.kernels.constraints import complement
from liegeo.kernels.crowd import lists_of
from liegeo.kernels.dispatch import Laws
from liegeo.lie import SE3, SO3
from liegeo.model.ball_stops import BallStop
from liegeo.model.body import FlexibleBody, Node, place_on
from liegeo.model.checks import as_bounded, as_numbers, check_size, first_index, noted, split_name, suggest
from liegeo.model.constraints import MODE, Coupling, FrameConstraint, Lock, Motion, RigidStop, Weld
from liegeo.model.contacts import Contact, Contacts
from liegeo.model.custom import connect
from liegeo.model.drives import JointFriction
from liegeo.model.elimination_plan import Carrier, Held, plan_of
from liegeo.model.forces import Actuator, Force, JointForce, place_fields
from liegeo.model.grammar import TIME
from liegeo.model.joints import Joint, Prismatic, Revolute
from liegeo.model.laws_of_joints import ByFormulas
from liegeo.model.model import Model, Row, group_of
from liegeo.model.ropes import Rope
from liegeo.recorded import finite, is_recorded_number, length_of, lines_of, room, values_of
from liegeo.recorded import floats as recorded_floats

if TYPE_CHECKING:
    from liegeo.model.tree import Tree

T = TypeVar("T")

WORLD = "world"
FIDELITIES = FULL, RUTHLESS = ("full", "ruthless")
MODAL_INVERSES = AUTO, EXPLICIT, IDENTITY = ("auto", "explicit", "identity")
# From this many modes on the identity is the faster way [JR90, section 8.2], if the children are not too many for it.
IDENTITY_FROM = 8
_DIRECTIONS = ("rotation x", "rotation y", "rotation z", "translation x", "translation y", "translation z")


def _flat_pose(X: NDArray[np.float64]) -> list[float]:
    return [*X[:3, :3].ravel(), *X[:3, 3]]


def _six(S: NDArray[np.float64]) -> list[float]:
    return [S[0, 0], S[1, 1], S[2, 2], S[0, 1], S[0, 2], S[1, 2]]


class Compiler:
    """Collects the rows of layout.py."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.errors: list[ModelError] = []
        joints = tree.all_joints
        self.joints = [joints[i] for i in tree._order]
        by_name = {body.name: body for body in tree.all_bodies}
        self.bodies = [by_name[joint.child] for joint in self.joints]
        self.index = {body.name: i for i, body in enumerate(self.bodies)}
        self.floats: list[float] = []
        self.shared: dict[bytes, int] = {}
        self.more_ints: list[int] = []
        # Rows of frames, and the places in I that hold their numbers until it is known where they stand.
        self.frames: list[int] = []
        self.frame_columns: list[int] = []
        self.work = len(self.bodies) * at.WORK_SIZE
        # What `at` and `child_at` of every joint mean: a Node that deforms, or a constant pose.
        self.inner = [
            self._on(self.bodies[i], joint.child_at, joint.owner.field("child_at"))
            for i, joint in enumerate(self.joints)
        ]
        self.outer = [self._on(by_name.get(joint.parent), joint.at, joint.owner.field("at")) for joint in self.joints]
        self.slots = self._choose_slots()

    def model(self) -> Model:
        n = len(self.bodies)
        header = [0] * at.HEADER
        armature = self._armature()
        self._put(*(x for i in range(n) for x in self._attempt(_NO_FLOATS, self._body_floats, i, armature)))
        self._check()
        nq = nv = 0
        rows = []
        for i in range(n):
            row, nq, nv = self._body_ints(i, nq, nv)
            rows.append(row)
        header[at.N_BODIES], header[at.N_Q], header[at.N_V] = n, nq, nv
        header[at.FULL] = int(self.tree.fidelity == FULL)
        header[at.SHARED] = self._reduce(rows)
        self._put_rest(rows)
        inputs = self._forces(header, rows, nv)
        constrained = self._constraints(header, rows, nv, inputs)
        self._check()
        for sensor in self.tree.sensors:
            self._attempt(None, sensor.check, {b.name: b for b in self.bodies}, {j.name: j for j in self.joints})
        self._put_frames(header)
        states = self._on_joints(header, rows, nv, inputs)
        self._check()
        header[at.N_WORK] = self.work
        ints = np.array([*header, *(k for row in rows for k in row), *self.more_ints], dtype=np.int64)
        floats = recorded_floats(self.floats)
        model = Model(self.tree, ints, floats, group_of(self.tree), inputs, tuple(constrained), states)
        connect(model)
        return model

    # ---- what is wrong

    def _attempt(self, instead: T, make: Callable[..., T], *arguments: Any) -> T:
        """Return what is made, or something in its place; errors are kept, so that all are raised together."""
        try:
            return make(*arguments)
        except ModelError as error:
            self.errors.append(error)
            return instead

    def _check(self) -> None:
        """Raise what was found, as one error; the cause is the first, which says where in the code it was found."""
        if len(self.errors) == 1:
            raise self.errors[0]
        if self.errors:
            raise ModelError(fault for error in self.errors for fault in error.faults) from self.errors[0]

    def _on(self, body: Any, where: Any, field: Field) -> Any:
        return self._attempt(SE3.identity(), place_on, body, where, field)

    # ---- numbers

    def _put(self, *values: float) -> int:
        start = len(self.floats)
        self.floats.extend(v if is_recorded_number(v) else float(v) for v in values)
        return start

    def _put_shared(self, values: Sequence[float]) -> int:
        """The same, but once for all that have the same numbers: a chain of equal links then stays in the cache."""
        # those that are recorded are the same if they were computed in the same way
        key = values_of(values).tobytes() + lines_of(values)
        if key not in self.shared:
            self.shared[key] = self._put(*values)
        return self.shared[key]

    def _put_ints(self, *values: int) -> int:
        start = at.HEADER + len(self.bodies) * at.BODY_I_SIZE + len(self.more_ints)
        self.more_ints.extend(values)
        return start

    def _reserve(self, size: int) -> int:
        start = self.work
        self.work += size
        return start

    def _choose_slots(self) -> dict[int, list[int]]:
        """By body that reduced.py serves: the children that deform its modal block."""
        chosen: dict[int, list[int]] = {}
        if self.tree.fidelity != RUTHLESS or self.tree.modal_inverse == EXPLICIT or self.tree.loops:
            return chosen
        children: dict[str, list[int]] = defaultdict(list)
        for c, joint in enumerate(self.joints):
            children[joint.parent].append(c)
        for i, body in enumerate(self.bodies):
            floating = isinstance(self.inner[i], Node)
            seen = [c for c in children[body.name] if floating or isinstance(self.outer[c], Node)]
            fast = body.n_modes >= max(IDENTITY_FROM, 6 * len(seen))
            if body.n_modes and (fast or self.tree.modal_inverse == IDENTITY):
                chosen[i] = seen
                for c in seen:
                    if not isinstance(self.outer[c], Node):
                        self.outer[c] = Node(self.outer[c], np.zeros((6, body.n_modes)))
        return chosen

    def _armature(self) -> dict[tuple[str, int], float]:
        """What the rotors of motors add, by joint and speed."""
        added: dict[tuple[str, int], float] = {}
        joints = {joint.name: joint for joint in self.joints}
        for force in self.tree.forces:
            if not isinstance(force, JointForce):
                continue
            if not all(self._has_speed(force, joint, speed, joints) for joint, speed, _ in force.terms()):
                continue
            key = force.joint, force.speed
            added[key] = added.get(key, 0.0) + force.armature
        return added

    def _has_speed(self, force: JointForce, joint: str, speed: int, joints: Mapping[str, Joint]) -> bool:
        """Whether there is the joint on which a force acts, with the speed."""
        if joint not in joints:
            self.errors.append(ModelError(_no_joint(force.joint_field(joint), joint, list(joints))))
            return False
        n = len(self._attempt(_NO_SCREWS, joints[joint].screws))
        if not 0 <= speed < n:
            self.errors.append(ModelError(_no_number(force.owner.field("speed"), joint, "speed", speed, n)))
            return False
        return True

    def _body_floats(self, i: int, armature: Mapping[tuple[str, int], float]) -> list[float]:
        joint, body = self.joints[i], self.bodies[i]
        outer, inner = self.outer[i], self.inner[i]
        # A node carries the joint at its own pose; X_NJ and X_ND are then the identity.
        X_NJ = SE3.identity() if isinstance(outer, Node) else outer
        X_DB = SE3.identity() if isinstance(inner, Node) else SE3.inverse(inner)
        stiffness, damping, friction, own = (
            _per_speed(joint, name) for name in ("stiffness", "damping", "friction", "armature")
        )
        smoothing = as_bounded(joint.owner.field("friction_speed"), joint.friction_speed, strictly=True)
        with_rotors = [own[k] + armature.get((joint.name, k), 0.0) for k in range(6)]
        row = [*_flat_pose(X_NJ), body.mass, *np.asarray(body.moment), *_six(body.inertia_at_origin), *with_rotors]
        return [*row, *_flat_pose(X_DB), *stiffness, *damping, *friction, smoothing, *_rest(joint)]

    def _body_ints(self, i: int, nq: int, nv: int) -> tuple[list[int], int, int]:
        joint, body = self.joints[i], self.bodies[i]
        outer, inner = self.outer[i], self.inner[i]
        row = [0] * at.BODY_I_SIZE
        row[at.PARENT] = -1 if joint.parent == WORLD else self.index[joint.parent]
        screws, group = joint.screws(), joint.group()
        row[at.KIND] = joint.kind
        row[at.JQ], row[at.JV], row[at.NV] = nq, nv, len(screws)
        if group is not None:
            nq, nv = nq + group.element_shape[0], nv + group.dim
        if isinstance(inner, Node):
            row[at.OFFSET], row[at.OWN_NODE] = at.DEFORMING, self._put_node(inner)
            in_body = screws
        else:
            plain = np.array_equal(inner, np.eye(4))
            row[at.OFFSET], row[at.OWN_NODE] = (at.NONE if plain else at.CONSTANT), -1
            in_body = SE3.Ad_apply(inner, screws)
        row[at.SCREWS] = self._put(*screws.ravel(), *in_body.ravel())
        aligned = [k for k in range(3) if np.array_equal(screws, np.eye(6)[k : k + 1])]
        row[at.AXIS] = aligned[0] if aligned and joint.kind == at.REVOLUTE and row[at.OFFSET] == at.NONE else -1
        row[at.PASSIVE] = int(any(np.any(x) for x in (joint.stiffness, joint.damping, joint.friction)))
        if np.any(joint.stiffness) and joint.composed:
            row[at.PASSIVE] = at.ON_GROUP
        row[at.PARENT_NODE], row[at.CARRIER], row[at.REDUCED] = -1, 0, -1
        row[at.SECOND_T] = row[at.SECOND_R] = -1
        if isinstance(outer, Node):
            if self.tree.fidelity == FULL:
                row[at.PARENT_NODE] = self._put_node(outer)
            else:
                row[at.CARRIER_F] = self._put_shared(
                    [*_flat_pose(np.asarray(outer.pose)), *_modes_in_node(outer).T.ravel()]
                )
            row[at.CARRIER] = self._reserve(at.CARRIER_SCRATCH.size(n=np.asarray(outer.modes).shape[1]))
        n = body.n_modes
        row[at.NM], row[at.EQ], row[at.EV] = n, nq, nv
        if isinstance(body, FlexibleBody) and n:
            nq, nv = nq + n, nv + n
            row[at.MODAL] = self._put_shared(_modal_data(body, self.tree.fidelity == FULL))
            if i not in self.slots:
                row[at.MASSES] = self._put_shared(_masses(body))
            row[at.FLEX] = self._reserve(at.MODAL_SCRATCH.size(n=n))
            matrices = (np.asarray(body.K), np.asarray(body.D))
            if self.tree.fidelity == FULL:
                row[at.SECOND_T], row[at.SECOND_R] = (
                    self._put_shared(part) if part else -1 for part in _second_order(body)
                )
            row[at.DIAGONAL] = int(all(np.array_equal(m, np.diag(np.diag(m))) for m in matrices))
        return row, nq, nv

    def _put_node(self, node: Node) -> int:
        modes = np.asarray(node.modes)
        pose = np.asarray(node.pose)
        start = self._put_shared([*_flat_pose(pose), *modes[:3].ravel(), *modes[3:].ravel()])
        second = -1 if node.second is None else self._put_shared(np.asarray(node.second).ravel().tolist())
        return self._put_ints(start, modes.shape[1], second)

    def _put_rest(self, rows: list[list[int]]) -> None:
        """What forward dynamics mostly does not read: last, so that what it reads stands together."""
        for i, (row, body, outer) in enumerate(zip(rows, self.bodies, self.outer, strict=True)):
            if isinstance(outer, Node) and self.tree.fidelity != FULL:
                row[at.PARENT_NODE] = self._put_node(outer)
            if isinstance(body, FlexibleBody) and body.n_modes:
                if i in self.slots:
                    row[at.MASSES] = self._put_shared(_masses(body))
                row[at.MATRICES] = self._put_shared([*np.asarray(body.K).ravel(), *np.asarray(body.D).ravel()])

    def _reduce(self, rows: list[list[int]]) -> int:
        """The constants of reduced.py, for the bodies that it serves; where the scratch begins that bodies share."""
        for i, children in self.slots.items():
            body, inner, n = self.bodies[i], self.inner[i], self.bodies[i].n_modes
            assert isinstance(body, FlexibleBody)
            Pi_d = np.zeros((6, n))
            if isinstance(inner, Node):
                modes, p = np.asarray(inner.modes), np.asarray(inner.pose)[:3, 3]
                Pi_d = np.concatenate([modes[:3], modes[3:] - np.cross(modes[:3].T, p).T])
            c = SO3.hat(body.moment)
            M_rr = np.block([[body.inertia_at_origin, c], [-c, body.mass * np.eye(3)]])
            M_rf = np.concatenate([np.asarray(body.C_r0), np.asarray(body.C_t)])
            mu = M_rf - M_rr @ Pi_d
            D_f = np.asarray(body.M_e) - M_rf.T @ Pi_d - Pi_d.T @ mu
            if np.linalg.eigvalsh(D_f)[0] <= 0.0:
                fault = body.owner.fault(
                    "the mass of its modes is not positive when its joint is held "
                    f"(smallest eigenvalue {np.linalg.eigvalsh(D_f)[0]:.3g})",
                    advice="A combination of its modes moves it as a rigid body, or repeats another one. "
                    "Leave one of them out.",
                )
                raise ModelError(fault)
            Lambda = np.linalg.inv(D_f)
            nodes = [self.outer[k] for k in children]
            B = np.concatenate([np.zeros((6, 0)), *(SE3.AdT(SE3.inverse(node.pose)) for node in nodes)], axis=1)
            Pi_N = np.concatenate([np.zeros((0, n)), *(_modes_in_node(node) for node in nodes)])
            zeta = Pi_N.T - Pi_d.T @ B
            Upsilon = Lambda @ zeta
            Omega = zeta.T @ Upsilon
            values, vectors = np.linalg.eigh(Omega)
            root = vectors @ np.diag(np.sqrt(np.maximum(values, 0.0))) @ vectors.T
            square = mu @ Lambda @ mu.T
            rows[i][at.REDUCED] = self._put_shared(
                [
                    *Lambda[np.tril_indices(n)],
                    *(Lambda @ mu.T).ravel(),
                    *Upsilon.ravel(),
                    *root.ravel(),
                    *(B - mu @ Upsilon).ravel(),
                    *_six(square[:3, :3]),
                    *square[:3, 3:].ravel(),
                    *_six(square[3:, 3:]),
                ]
            )
            rows[i][at.REDUCED_W] = self._reserve(at.REDUCED_SCRATCH.size(k=6 * len(children)))
            rows[i][at.N_SLOTS] = len(children)
            for slot, k in enumerate(children):
                rows[k][at.SLOT] = slot
        if self.tree.fidelity == FULL:
            sizes = [at.SHARED_SCRATCH.size(n=body.n_modes) for body in self.bodies]
        else:
            sizes = [at.REDUCED_SHARED.size(k=6 * len(children)) for children in self.slots.values()]
        return self._reserve(max(sizes, default=0))

    def _forces(self, header: list[int], rows: list[list[int]], nv: int) -> dict[str, slice]:
        """Rows of elements and actuators; where each one's inputs stand."""
        elements: list[int] = []
        actuators: list[int] = []
        inputs: dict[str, slice] = {}
        n_inputs = 0
        numbers = {joint.name: i for i, joint in enumerate(self.joints)}
        for force in self.tree.forces:
            if force.n_inputs:
                inputs[force.name] = slice(n_inputs, n_inputs + force.n_inputs)
            timed = isinstance(force, ByFormulas) and force.takes_time
            if timed:
                behind = n_inputs + force.n_inputs
                inputs[f"{force.name}.{TIME}"] = slice(behind, behind + 1)
            if isinstance(force, Actuator):
                speed = rows[numbers[force.joint]][at.JV] + force.speed
                actuators += [speed, nv + n_inputs, self._put(force.gear, force.limit)]
            elif not isinstance(force, JointForce):
                kind, start = self._attempt((0, 0), self._kind_and_data, force, elements_kernels.LAWS)
                places = self._attempt([0], self._frames_of, force) or [0]
                more = scratch = 0
                if isinstance(force, ByFormulas):
                    more, scratch = nv + n_inputs + force.n_inputs if timed else -1, force.n_pieces
                if isinstance(force, Contacts):
                    more, n = self._put_ints(*places, *force.table_sizes().values()), len(places)
                    self.frame_columns += range(more, more + n)
                    scratch = self._reserve(at.CROWD_SCRATCH.size(points=n, lists=lists_of(n)))
                if isinstance(force, Rope):
                    drum = self._attempt([-1, -1, -1], self._drum, force, rows, places)
                    more, n = self._put_ints(*places, *drum), len(places)
                    self.frame_columns += range(more, more + n)
                    scratch = self._reserve(at.ROPE_SCRATCH.size(points=n))
                last = places[1 if isinstance(force, Rope) and len(places) > 1 else -1]
                elements += [kind, places[0], last, start, nv + n_inputs, 0, _n_points(force), more, scratch]
            n_inputs += force.n_inputs + timed
        for controller in self.tree.controllers:
            for name in controller.inputs:
                inputs[f"{controller.name}.{name}"] = slice(n_inputs, n_inputs + 1)
                n_inputs += 1
        header[at.N_ELEMENTS] = len(elements) // at.ELEMENT_SIZE
        header[at.ELEMENTS] = self._put_ints(*elements)
        self.frame_columns += [
            header[at.ELEMENTS] + k + column
            for k in range(0, len(elements), at.ELEMENT_SIZE)
            for column in (at.FRAME_A, at.FRAME_B)
        ]
        header[at.N_ACTUATORS] = len(actuators) // at.ACTUATOR_SIZE
        header[at.ACTUATORS] = self._put_ints(*actuators)
        return inputs

    def _on_joints(
        self, header: list[int], rows: list[list[int]], nv: int, inputs: dict[str, slice]
    ) -> dict[str, slice]:
        """Rows of elements that act on joints; where the states of each are in x, which is behind the inputs in u."""
        first = nv + sum(s.stop - s.start for s in inputs.values())
        states: dict[str, slice] = {}
        table: list[int] = []

        actuators = [force for force in self.tree.forces if isinstance(force, Actuator)]
        numbers = {joint.name: i for i, joint in enumerate(self.joints)}
        # multipliers of friction are inputs without a name, behind all others
        held = first
        header[at.N_HELD] = self._count_held()
        first += header[at.N_HELD]
        n = self._sticking(header, first, states)
        for force in self.tree.forces:
            if not isinstance(force, JointForce) or not force.has_row:
                continue
            if force.n_states:
                states[force.name] = slice(n, n + force.n_states)
            source = nv + inputs[force.name].start if force.n_inputs else -1
            if force.has_multiplier:
                source, held = held, held + 1
            if isinstance(force, Actuator):
                # the actuator takes its state in the place of its input
                start = at.HEADER + len(self.bodies) * at.BODY_I_SIZE
                row = header[at.ACTUATORS] - start + actuators.index(force) * at.ACTUATOR_SIZE
                self.more_ints[row + at.ACTUATOR_U] = first + n
            if isinstance(force, JointFriction):
                self._attempt(None, self._check_load, force, numbers[force.joint], rows)
            terms, factors = self._terms(force, rows)
            kind, start = self._attempt((0, 0), self._kind_and_data, force, joint_kernels.LAWS)
            places = terms, len(force.terms()), factors
            clock = nv + inputs[f"{force.name}.{TIME}"].start if getattr(force, "takes_time", False) else -1
            carried = numbers[force.joint]
            table += [kind, *places, first + n, force.n_states, source, start, carried, force.n_pieces, clock]
            n += force.n_states
        header[at.N_JOINT_ELEMENTS], header[at.JOINT_ELEMENTS] = len(table) // at.JE_SIZE, self._put_ints(*table)
        header[at.N_X], header[at.N_U] = n, first + n + 3
        if header[at.N_HELD]:
            header[at.HELD_W] = self._reserve(at.HELD_SCRATCH.size(h=header[at.N_HELD], nv=nv, nu=header[at.N_U]))
        return states

    def _check_load(self, force: JointFriction, i: int, rows: list[list[int]]) -> None:
        """Raise a ModelError if friction by load does not know what its joint carries."""
        joint, own = self.joints[i], force.owner.field
        wanted = Revolute if force.turns else Prismatic
        if not isinstance(joint, wanted):
            found = f"joint '{joint.name}' is a {type(joint).__name__}"
            expected = "expected a Revolute joint, and then a radius, or a Prismatic one without"
            raise ModelError(own("radius").fault(force.radius, f"{expected}: {found}"))
        if rows[i][at.OFFSET] == at.DEFORMING:
            found = f"the body '{joint.child}' deforms at joint '{joint.name}'"
            raise ModelError(force.owner.fault(found, "expected a body that is rigid at the joint that carries it"))

    def _count_held(self) -> int:
        """Return how many elements have a multiplier, of which a speed takes one."""
        held: dict[tuple[str, int], str] = {}
        for force in self.tree.forces:
            if isinstance(force, JointForce) and force.has_multiplier:
                other = held.setdefault((force.joint, force.speed), force.name)
                if other != force.name:
                    found = f"is exact friction or friction by load, as '{other}' is on the same speed of the joint"
                    expected = "expected one such element: what each of two holds is not determined"
                    self.errors.append(ModelError(force.owner.fault(found, expected, "add their forces up in one.")))
        return len(held)

    def _terms(self, force: JointForce, rows: list[list[int]]) -> tuple[int, int]:
        """Return where the terms of an element stand in I, and their factors in F."""
        numbers = {joint.name: i for i, joint in enumerate(self.joints)}
        out: list[int] = []
        for joint, speed, _ in force.terms():
            row = rows[numbers[joint]]
            has_rate = not self.joints[numbers[joint]].composed
            if force.sees_position and not has_rate:
                named = type(self.joints[numbers[joint]]).__name__
                found = f"acts on speed {speed} of joint '{joint}', a {named}, which is the rate of no coordinate"
                expected = "expected a joint whose coordinates are angles or lengths along its axes"
                self.errors.append(ModelError(force.owner.fault(found, expected)))
            out += [row[at.JV] + speed, row[at.JQ] + speed if has_rate else -1]
        return self._put_ints(*out), self._put(*(factor for _, _, factor in force.terms()))

    def _sticking(self, header: list[int], first: int, states: dict[str, slice]) -> int:
        """Give contacts with bristles their states; return how many numbers these are."""
        n = row = 0
        start = header[at.ELEMENTS] - at.HEADER - len(self.bodies) * at.BODY_I_SIZE
        for force in self.tree.forces:
            if isinstance(force, JointForce):
                continue
            if force.n_states:
                self.more_ints[start + row * at.ELEMENT_SIZE + at.ELEMENT_X] = first + n
                states[force.name] = slice(n, n + force.n_states)
                n += force.n_states
                header[at.N_STICKING] += 1
            row += 1
        return n

    def _kind_and_data(self, force: Force, laws: Laws) -> tuple[int, int]:
        """Return the kind of an element, which has a law, and where its numbers stand in F: as many as its kind has."""
        kind, data = force.kind(), force.data()
        cls = Owner("class", type(force).__name__)
        if laws is elements_kernels.LAWS and not force.places() and not isinstance(force, BallStop):
            raise ModelError(cls.fault("it has no field of the type Place", "expected the frames that it acts on"))
        if laws is joint_kernels.LAWS and force.n_states > 2:
            raise ModelError(cls.fault(f"its `states` names {force.n_states} numbers", "expected at most two"))
        if kind not in laws:
            raise ModelError(cls.fault(f"its kind {kind} has no law", advice=laws.missing(kind)))
        named, table = laws.kinds.values[kind][0], laws.kinds.table(kind)
        more = force.table_sizes() if isinstance(force, Contacts) else {}
        pieces = force.n_pieces if isinstance(force, JointForce | ByFormulas) else 0
        size = table.size(n=pieces, points=_n_points(force), **more)
        if len(data) != size:
            fields = ", ".join(f"{field.name} ({field.size})" for field in table.fields)
            expected = f"expected {size}, those of {named} in liegeo/kernels/layout.py: {fields}"
            raise ModelError(cls.fault(f"its data() has {len(data)} numbers", expected))
        # an actuator shows what it exerts by itself; the law is that of its lag
        shown = sum(len(part.components) for part in type(force).exerts)
        if shown != laws.shows(kind) and not isinstance(force, Actuator):
            found = f"its `exerts` names {shown} numbers"
            expected = f"but the law of {named} in {laws.where} shows {laws.shows(kind)}"
            raise ModelError(cls.fault(found, expected))
        return kind, self._put(*data)

    def _put_frames(self, header: list[int]) -> None:
        """Rows of the frames, last because others may ask for more; those who asked learn where they stand."""
        header[at.N_FRAMES] = len(self.frames) // at.FRAME_SIZE
        header[at.FRAMES] = self._put_ints(*self.frames)
        start = at.HEADER + len(self.bodies) * at.BODY_I_SIZE
        for column in self.frame_columns:
            self.more_ints[column - start] = header[at.FRAMES] + self.more_ints[column - start] * at.FRAME_SIZE
        header[at.WORLD] = self._reserve(at.WORLD_SCRATCH.size(bodies=len(self.bodies))) if self.frames else 0

    # ---- constraints

    def _constraints(self, header: list[int], rows: list[list[int]], nv: int, inputs: dict[str, slice]) -> list[Row]:
        """Rows of the constraints; what each of their rows is."""
        table: list[list[int]] = []
        named: list[Row] = []
        user = at.CUT_SCRATCH
        for loop in self.tree.loops:
            row = [0] * at.CONSTRAINT_SIZE
            row[at.C_ROW] = len(named)
            if isinstance(loop, Joint):
                names = self._attempt(_NO_ROWS, self._cut, loop, row)
            elif isinstance(loop, FrameConstraint):
                row[at.C_KIND], row[at.C_F] = loop.kind, self._put(*self._attempt(_NO_FLOATS, loop.data))
                row[at.C_A], row[at.C_B] = self._attempt([0, 0], self._frames_of, loop)
                names = loop.rows
                if isinstance(loop, Weld):
                    row[at.C_U] = self._switch(loop, 8, nv, inputs)
            elif isinstance(loop, Coupling):
                names = self._attempt(_NO_ROWS, self._coupling, loop, row, rows)
            elif isinstance(loop, Motion):
                names = self._attempt(_NO_ROWS, self._motion, loop, row, rows, nv, inputs)
            elif isinstance(loop, Lock | RigidStop):
                names = self._attempt(_NO_ROWS, self._hold, loop, row)
                row[at.C_U] = self._switch(loop, 1, nv, inputs)
            else:
                names = loop.rows
                row[at.C_KIND], row[at.C_F] = at.USER, user
                user += len(names) * (nv + 2)
            row[at.C_N] = len(names)
            named += [Row(loop.name, name) for name in names]
            table.append(row)
        flexible = any(body.n_modes for body in self.bodies)
        if flexible and self.tree.fidelity == RUTHLESS and any(row[at.C_KIND] < at.COUPLING for row in table):
            fault = self.tree.owner.field("fidelity", words="a ruthless model").fault(
                RUTHLESS,
                advice=f"Choose fidelity '{FULL}'.",
                finding="does not know where its nodes are, so that loops cannot close",
            )
            self.errors.append(ModelError(fault))
        start = self._put_ints(*(k for row in table for k in row))
        header[at.CONSTRAINTS], header[at.N_CONSTRAINTS], header[at.N_ROWS] = start, len(table), len(named)
        for i, row in enumerate(table):
            if row[at.C_KIND] < at.COUPLING:
                offset = start + i * at.CONSTRAINT_SIZE
                self.frame_columns += [offset + at.C_A, offset + at.C_B]
        sizes = {"m": len(named), "nv": nv, "bodies": len(self.bodies), "user": user - at.CUT_SCRATCH}
        if named and not self.errors:
            self._plan_elimination(header, rows, table, sizes)
        return named

    def _plan_elimination(
        self, header: list[int], rows: list[list[int]], table: list[list[int]], sizes: dict[str, int]
    ) -> None:
        """Reserve the scratch of the constraints, and put the plan by which many are eliminated one by one."""
        carriers = [Carrier(row[at.PARENT], row[at.NV], row[at.NM]) for row in rows]
        held = [self._held(header[at.CONSTRAINTS] + i * at.CONSTRAINT_SIZE, row, rows) for i, row in enumerate(table)]
        dense = at.CONSTRAINT_SCRATCH.size(**sizes, dense=1, sparse=0)
        without = at.CONSTRAINT_SCRATCH.size(**sizes, dense=0, sparse=0)
        plan, work = plan_of(carriers, held, self._put_ints(), self.work + without)
        if not plan:
            header[at.ROWS_W] = self._reserve(dense)
            return
        header[at.ELIMINATION] = self._put_ints(*plan)
        header[at.ROWS_W] = self._reserve(without + work)

    def _held(self, place: int, row: list[int], rows: list[list[int]]) -> Held:
        """Return which bodies a constraint holds; its frames stand in `row` as their numbers."""
        kind, grounded = row[at.C_KIND], False
        bodies: dict[int, int] = {}
        if kind == at.USER:
            bodies, grounded = dict.fromkeys(range(len(rows)), elimination_table.BY_SPEEDS), True
        elif kind in (at.MOTION, at.HOLD):
            bodies[(row[at.C_A] - at.HEADER) // at.BODY_I_SIZE] = elimination_table.BY_SPEEDS
        elif kind == at.COUPLING:
            terms = row[at.C_MORE] - self._put_ints() + len(self.more_ints)
            for k in range(self.more_ints[terms]):
                speed = self.more_ints[terms + 2 + 2 * k]
                owner = next(i for i, one in enumerate(rows) if 0 <= speed - one[at.JV] < one[at.NV])
                bodies[owner] = elimination_table.BY_SPEEDS
        else:
            for side, flag in ((at.C_A, elimination_table.BY_A), (at.C_B, elimination_table.BY_B)):
                body = self.frames[row[side] * at.FRAME_SIZE + at.FRAME_BODY]
                grounded |= body < 0
                if body >= 0:
                    bodies[body] = bodies.get(body, 0) | flag
        return Held(place, row[at.C_ROW], row[at.C_N], bodies, grounded)

    def _cut(self, joint: Joint, row: list[int]) -> tuple[str, ...]:
        """A joint that closes a loop: its screws, and what is perpendicular to them unless they turn."""
        for name in ("stiffness", "damping", "friction", "armature"):
            if np.any(getattr(joint, name)):
                fault = Fault(
                    joint.owner,
                    (name,),
                    getattr(joint, name),
                    f"closes a loop and has {name}",
                    "which only joints of the tree have",
                    "Cut the loop at another joint, or use a Bushing.",
                )
                raise ModelError(fault)
        screws = joint.screws()
        n = len(screws)
        if n == 6:
            raise ModelError(joint.owner.fault("leaves everything free", "so it closes no loop", "Leave it out."))
        row[at.C_KIND], row[at.C_MORE], row[at.C_U] = at.CUT, joint.kind, n
        places = (("parent", "at"), ("child", "child_at"))
        row[at.C_A], row[at.C_B] = (
            self._frame_on(getattr(joint, body), getattr(joint, where), *map(joint.owner.field, (body, where)))
            for body, where in places
        )
        held = np.zeros((6 - n, 6))
        if n:
            complement(screws.ravel().astype(np.float64), 0, n, held.reshape(-1), 0, np.zeros(36), 0)
        else:
            held = np.eye(6)
        row[at.C_F] = self._put(*screws.ravel(), *held.ravel())
        pure = [np.flatnonzero(np.abs(c) > 1e-12) for c in held]
        return tuple(
            _DIRECTIONS[int(where[0])] if len(where) == 1 else f"direction {k}" for k, where in enumerate(pure)
        )

    def _joint_row(self, name: str, coordinate: int, field: Field, number_field: Field) -> int:
        """Return the index of a joint that has this coordinate; the fields are those that name both."""
        names = [joint.name for joint in self.joints]
        if name not in names:
            raise ModelError(_no_joint(field, name, names))
        i = names.index(name)
        n = len(self.joints[i].screws())
        if not 0 <= coordinate < n:
            raise ModelError(_no_number(number_field, name, "coordinate", coordinate, n))
        return i

    def _coupling(self, loop: Coupling, row: list[int], rows: list[list[int]]) -> tuple[str, ...]:
        terms, factors = [len(loop.factors())], []
        joints = {joint.name for joint in self.joints}
        for name, factor in loop.factors().items():
            joint, number = split_name(name, joints)
            field = loop.joint_field(name)
            if joint in joints and number and not number.isdecimal():
                expected = "expected 'joint', or 'joint.1' for its second"
                fault = field.fault(name, expected, finding="is no coordinate of a joint", subject=f"'{name}'")
                raise ModelError(fault)
            k = int(number) if number.isdecimal() else 0
            i = self._joint_row(joint, k, field, field)
            if self.joints[i].composed:
                subject, found = f"the coordinates of joint '{joint}'", "cannot be added"
                raise ModelError(field.fault(name, "so not be coupled", finding=found, subject=subject))
            terms += [rows[i][at.JQ] + k, rows[i][at.JV] + k]
            factors.append(factor)
        row[at.C_KIND], row[at.C_F] = at.COUPLING, self._put(loop.offset, *factors)
        row[at.C_MORE] = self._put_ints(*terms)
        return loop.rows

    def _motion(
        self, loop: Motion, row: list[int], rows: list[list[int]], nv: int, inputs: dict[str, slice]
    ) -> tuple[str, ...]:
        first = loop.coordinate or 0
        field = loop.owner.field("coordinate")
        i = self._joint_row(loop.joint, first, loop.owner.field("joint"), field)
        joint = self.joints[i]
        group = joint.group()
        assert group is not None
        if loop.coordinate is not None and joint.composed:
            fault = field.fault(
                loop.coordinate,
                advice="Leave `coordinate` out, and prescribe all of them.",
                finding="are one element of a group",
                subject=f"the coordinates of joint '{joint.name}'",
            )
            raise ModelError(fault)
        n = 1 if loop.coordinate is not None else group.dim
        given = 1 if loop.coordinate is not None else group.element_shape[0]
        start = sum(s.stop - s.start for s in inputs.values())
        inputs[loop.name] = slice(start, start + given + 2 * n)
        row[at.C_KIND], row[at.C_A] = at.MOTION, at.HEADER + i * at.BODY_I_SIZE
        row[at.C_MORE], row[at.C_U] = first, nv + start
        return loop.rows if n == 1 else tuple(f"motion {k}" for k in range(n))

    def _switch(self, loop: Lock | RigidStop | Weld, n: int, nv: int, inputs: dict[str, slice]) -> int:
        """Return where in u the n numbers of a switch stand; an input that commands it stands behind them."""
        start = sum(s.stop - s.start for s in inputs.values())
        inputs[f"{loop.name}.{MODE}"] = slice(start, start + n)
        if not isinstance(loop, RigidStop) and loop.commanded:
            inputs[loop.name] = slice(start + n, start + n + 1)
        return nv + start

    def _hold(self, loop: Lock | RigidStop, row: list[int]) -> tuple[str, ...]:
        field = loop.owner.field("speed")
        i = self._joint_row(loop.joint, loop.speed or 0, loop.owner.field("joint"), field)
        joint = self.joints[i]
        if isinstance(loop, RigidStop) and joint.composed:
            fault = field.fault(
                loop.speed,
                advice="Limit joints that turn about one axis or slide along one.",
                finding="is one of a group, whose coordinates have no limits of their own",
                subject=f"a speed of joint '{joint.name}'",
            )
            raise ModelError(fault)
        n = len(joint.screws()) if loop.speed is None else 1
        row[at.C_KIND], row[at.C_A] = at.HOLD, at.HEADER + i * at.BODY_I_SIZE
        row[at.C_MORE] = loop.speed or 0
        return loop.rows if n == 1 else tuple(f"{loop.rows[0]} {k}" for k in range(n))

    def _frames_of(self, part: Force | FrameConstraint) -> list[int]:
        """Return the numbers of the frames that a force element or constraint uses."""
        if isinstance(part, Contact):
            return [self._frame(surface.at, surface.owner.field("at")) for surface in part.ordered()]
        if isinstance(part, Contacts):
            return [self._frame(surface.at, surface.owner.field("at")) for surface in part.among]
        if isinstance(part, Rope):
            over = [self._frame(place, part.owner.field("via", k)) for k, place in enumerate(part.via)]
            return [self._frame(part.a, part.owner.field("a")), *over, self._frame(part.b, part.owner.field("b"))]
        if isinstance(part, BallStop):
            return self._frames_of_joint(self._joint_named(part.joint, part.owner.field("joint")))
        return [self._frame(getattr(part, name), part.owner.field(name)) for name in place_fields(part)]

    def _joint_named(self, name: str, field: Field) -> Joint:
        found = next((joint for joint in self.joints if joint.name == name), None)
        if found is None:
            raise ModelError(_no_joint(field, name, [joint.name for joint in self.joints]))
        return found

    def _frames_of_joint(self, joint: Joint) -> list[int]:
        """Return the numbers of new frames where a joint begins, on its parent, and where it ends, on its child."""
        own = joint.owner.field
        outer = self._frame_on(joint.parent, joint.at, own("parent"), own("at"))
        return [outer, self._frame_on(joint.child, joint.child_at, own("child"), own("child_at"))]

    def _drum(self, rope: Rope, rows: list[list[int]], places: list[int]) -> list[int]:
        """Return coordinate, speed and screw of the drum of a rope, and add its two frames to the places."""
        if rope.drum is None:
            return [-1, -1, -1]
        field = rope.owner.field("drum")
        joint = self._joint_named(rope.drum, field)
        screws = joint.screws()
        if len(screws) != 1 or joint.composed:
            finding = f"is joint '{joint.name}', a {type(joint).__name__}, which has {len(screws)} speeds"
            expected = "expected one that turns about, or slides along, one axis"
            raise ModelError(field.fault(rope.drum, expected, finding=finding))
        row = rows[self.joints.index(joint)]
        places += reversed(self._frames_of_joint(joint))
        return [row[at.JQ], row[at.JV], self._put(*screws[0])]

    def _frame(self, place: Any, field: Field) -> int:
        if isinstance(place, str):
            owner, rest = split_name(place, self.index)
            return self._frame_on(owner, rest or None, field, field)
        if not isinstance(place, Sequence) or len(place) != 2 or not isinstance(place[0], str):
            raise ModelError(
                field.fault(place, 'expected "body", "body.frame", or a body and a position or pose in it')
            )
        body, where = (field._replace(path=(*field.path, k), words=field.name) for k in range(2))
        return self._frame_on(place[0], place[1], body, where)

    def _frame_on(self, owner: str, where: str | ArrayLike | None, field: Field, where_field: Field) -> int:
        """Return the number of a new frame on a body; the fields are those that name the body and the place on it."""
        if owner != WORLD and owner not in self.index:
            known = suggest(owner, [*(body.name for body in self.tree.bodies), WORLD])
            finding = "is not a body of the tree"
            raise ModelError(field.fault(owner, "", known, finding=finding, subject=f"'{owner}'"))
        i = -1 if owner == WORLD else self.index[owner]
        body = None if i < 0 else self.bodies[i]
        found = place_on(body, where, where_field)
        n = body.n_modes if body is not None else 0
        node = self._put_node(found) if isinstance(found, Node) else -1
        pose = found.pose if isinstance(found, Node) else found
        self.frames += [i, node, self._put(*_flat_pose(np.asarray(pose))), self._reserve(at.FRAME_SCRATCH.size(n=n))]
        return len(self.frames) // at.FRAME_SIZE - 1


# What stands in for something that has faults.
_NO_SCREWS = np.zeros((0, 6))
_NO_FLOATS: list[float] = []
_NO_ROWS: tuple[str, ...] = ()


def _n_points(force: Force) -> int:
    """Return what stands at ELEMENT_N of a force element."""
    if isinstance(force, Contacts):
        return len(force.among)
    if isinstance(force, ByFormulas):
        return force.n_states
    if isinstance(force, Rope):
        return len(force.places()) + 2 * (force.drum is not None)
    return force.profile_points if isinstance(force, Contact) else 0


def _no_joint(field: Field, name: str, names: Sequence[str]) -> Fault:
    finding = "is not a joint of the tree"
    return field.fault(name, "", suggest(name, names), finding=finding, subject=f"'{name}'")


def _no_number(field: Field, joint: str, what: str, k: int, n: int) -> Fault:
    """Return the fault of a joint without speed or coordinate number k, where it has n of them."""
    expected = f"expected 0 to {n - 1}" if n else "it has none at all"
    return field.fault(k, expected, finding=f"has no {what} {k}", subject=f"joint '{joint}'")


def _per_speed(joint: Joint, name: str) -> NDArray[np.float64]:
    """A property of the joint's speeds, in six places."""
    n, value, field = len(joint.screws()), getattr(joint, name), joint.owner.field(name)
    given = as_numbers(value)
    if given is None:
        raise ModelError(field.fault(value, f"expected one number or {n}"))
    if n == 0 and np.any(given):
        advice = "Leave it out, or use a joint that moves, or a Bushing."
        raise ModelError(field.fault(value, "but the joint does not move", advice))
    if given.ndim > 1 or (given.ndim == 1 and len(given) != n):
        found = f"has shape {given.shape}"
        raise ModelError(field.fault(value, f"expected one number or {n}", finding=found))
    wrong = ~finite(given) | (given < 0.0)
    noted(field, given, "must be ≥ 0")
    if wrong.any():
        where = first_index(wrong)
        raise ModelError(field.entry(*where).fault(given[where], "must be ≥ 0"))
    check_size(field, given)
    values = room(6, given)
    values[:n] = given
    return values


def _rest(joint: Joint) -> NDArray[np.float64]:
    """Where the joint's springs are slack, in seven places: a position as in q, or 0 for the zero position."""
    group, composed = joint.group(), joint.composed
    given, field = as_numbers(joint.rest), joint.owner.field("rest")
    n = group.element_shape[0] if group is not None else 0
    expected = f"expected {'0' if composed else 'one number'}, or {n} coordinates as in q"
    if given is None:
        raise ModelError(field.fault(joint.rest, expected))
    if given.shape != (n,) and (given.ndim > 0 or (composed and given[()] != 0.0)):
        raise ModelError(field.fault(joint.rest, expected, finding=f"has shape {given.shape}"))
    if not finite(given).all():
        raise ModelError(field.fault(joint.rest, "expected finite numbers"))
    check_size(field, given)
    values = room(7, given)
    values[:n] = group.identity() if group is not None and composed and given.ndim == 0 else given
    if joint.kind in (at.SPHERICAL, at.FREE):
        length = length_of(values[:4])
        if abs(length - 1.0) > 1e-6:
            found = f"has a quaternion of norm {length:.6g}"
            raise ModelError(field.fault(joint.rest, "expected 1", finding=found))
        values[:4] /= length
    return values


def _modes_in_node(node: Node) -> NDArray[np.float64]:
    """Π_N of the undeformed node, 6 × n."""
    R_BN, modes = np.asarray(node.pose)[:3, :3], np.asarray(node.modes)
    return np.concatenate([R_BN.T @ modes[:3], R_BN.T @ modes[3:]])


def _modal_data(body: FlexibleBody, full: bool) -> list[float]:
    J_1 = [x for J in np.asarray(body.J_1) for x in _six(J)]
    parts = [body.C_t, J_1, np.diag(np.asarray(body.K)), np.diag(np.asarray(body.D))]
    if full:
        C_r1, J_2 = np.asarray(body.C_r1), np.asarray(body.J_2)
        below = [x for l, row in enumerate(J_2) for J in row[: l + 1] for x in _six(J)]
        parts += [C_r1.transpose(1, 2, 0), below]
    return [x for part in parts for x in np.asarray(part).ravel()]


def _second_order(body: FlexibleBody) -> tuple[list[float], list[float]]:
    """Return what stands at SECOND_T and at SECOND_R, or nothing where that is zero."""
    C_t1, C_r1 = np.asarray(body.C_t1), np.asarray(body.C_r1).transpose(1, 2, 0)
    symmetric = 0.5 * (C_r1 + C_r1.transpose(1, 0, 2))
    antisymmetric = 0.5 * (C_r1 - C_r1.transpose(1, 0, 2))
    below = symmetric[np.tril_indices(body.n_modes)]
    return (
        C_t1.ravel().tolist() if np.any(C_t1) else [],
        [*antisymmetric.ravel().tolist(), *below.ravel().tolist()] if np.any(symmetric) else [],
    )


def _masses(body: FlexibleBody) -> list[float]:
    return [*np.asarray(body.C_r0).ravel(), *np.asarray(body.M_e)[np.tril_indices(body.n_modes)]]
