"""A tree of bodies and joints as a person writes it, and its compilation to flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo.errors import ModelError
from liegeo.kernels import layout as at
from liegeo.lie import SE3, Group, Product, R
from liegeo.model.body import Body, FlexibleBody, Node, as_array, as_pose, suggest
from liegeo.model.joints import Joint
from liegeo.model.model import Model

WORLD = "world"
FIDELITIES = ("full", "ruthless")


@dataclass(frozen=True)
class Tree:
    """Bodies and the joints that carry them.  Every body has exactly one joint into it; the world has none.

    `fidelity` is "full" (all terms of one kinetic energy, so that energy is conserved) or "ruthless" (nothing depends
    on the deformation [JR90, (8.1)]).
    """

    bodies: Sequence[Body | FlexibleBody]
    joints: Sequence[Joint]
    gravity: ArrayLike = (0.0, 0.0, -9.81)
    fidelity: str = "full"
    name: str = "tree"
    _order: tuple[int, ...] = field(default=(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bodies", tuple(self.bodies))
        object.__setattr__(self, "joints", tuple(self.joints))
        object.__setattr__(self, "gravity", as_array("gravity", self.gravity, (3,)))
        problems = self._problems()
        if problems:
            raise ModelError("\n".join(problems))
        object.__setattr__(self, "_order", self._sorted())

    def _problems(self) -> list[str]:
        """Everything that is wrong with how bodies and joints fit together."""
        found: list[str] = []
        names = [body.name for body in self.bodies]
        if not names:
            found.append(f"tree '{self.name}': has no bodies, expected at least one.")
        if self.fidelity not in FIDELITIES:
            found.append(f"tree '{self.name}': fidelity is {self.fidelity!r}, expected one of {', '.join(FIDELITIES)}.")
        everything = [*names, *(joint.name for joint in self.joints)]
        found += [
            f"tree '{self.name}': the name '{name}' is used {everything.count(name)} times, expected once.\n"
            "  Bodies and joints share one set of names."
            for name in sorted({n for n in everything if everything.count(n) > 1})
        ]
        if WORLD in everything:
            found.append(f"tree '{self.name}': a body or joint is called '{WORLD}', which names the fixed frame.")
        for joint in self.joints:
            for role, name, allowed in (("parent", joint.parent, [*names, WORLD]), ("child", joint.child, names)):
                if name not in allowed:
                    found.append(f"{joint.who}: its {role} '{name}' is not a body of the tree.{suggest(name, allowed)}")
        for name in names:
            into = [joint.name for joint in self.joints if joint.child == name]
            if len(into) > 1:
                found.append(
                    f"body '{name}': {len(into)} joints lead into it ({', '.join(into)}), expected one.\n"
                    "  A second one closes a loop: describe it as a loop, not as a joint."
                )
            elif not into:
                found.append(
                    f"body '{name}': no joint leads into it, expected one.\n"
                    f"  Let it float with Free(name=..., parent='{WORLD}', child='{name}')."
                )
        if not found:
            found += self._cycles()
        return found

    def _cycles(self) -> list[str]:
        parent = {joint.child: joint.parent for joint in self.joints}
        for start in parent:
            chain, name = [start], parent[start]
            while name != WORLD and name not in chain:
                chain.append(name)
                name = parent[name]
            if name != WORLD:
                ring = " → ".join([*reversed(chain[chain.index(name) :]), chain[-1]])
                return [
                    f"tree '{self.name}': these bodies carry each other in a ring: {ring}.\n"
                    f"  One of them must be carried by '{WORLD}'; a closed chain is a tree with a loop."
                ]
        return []

    def _sorted(self) -> tuple[int, ...]:
        """Joints by index, parents first, otherwise in the order given."""
        done = {WORLD}
        order: list[int] = []
        while len(order) < len(self.joints):
            for i, joint in enumerate(self.joints):
                if i not in order and joint.parent in done:
                    order.append(i)
                    done.add(joint.child)
        return tuple(order)

    def compile(self) -> Model:
        """Flat arrays for the kernels, and names for everything in them."""
        return _Compiler(self).model()


def _flat_pose(X: NDArray[np.float64]) -> list[float]:
    return [*X[:3, :3].ravel(), *X[:3, 3]]


def _six(S: NDArray[np.float64]) -> list[float]:
    return [S[0, 0], S[1, 1], S[2, 2], S[0, 1], S[0, 2], S[1, 2]]


class _Compiler:
    """Collects the rows of layout.py."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.joints = [tree.joints[i] for i in tree._order]
        by_name = {body.name: body for body in tree.bodies}
        self.bodies = [by_name[joint.child] for joint in self.joints]
        self.index = {body.name: i for i, body in enumerate(self.bodies)}
        self.floats: list[float] = []
        self.node_rows: list[int] = []
        self.factors: dict[str, Group] = {}
        self.work = len(self.bodies) * at.WORK_SIZE

    def model(self) -> Model:
        n = len(self.bodies)
        header = [0] * at.HEADER
        header[at.GRAVITY_F] = self._put(*np.asarray(self.tree.gravity))
        self.first_node = at.HEADER + n * at.BODY_I_SIZE
        body_f = np.array([self._body_floats(i) for i in range(n)])
        header[at.BODY_F] = self._put(*body_f.ravel())
        nq = nv = 0
        rows = []
        for i in range(n):
            row, nq, nv = self._body_ints(i, nq, nv)
            rows.append(row)
        header[at.N_BODIES], header[at.N_Q], header[at.N_V] = n, nq, nv
        header[at.BODY_I], header[at.NODE_I], header[at.WORK] = at.HEADER, self.first_node, 0
        header[at.FULL] = int(self.tree.fidelity == "full")
        header[at.N_WORK] = self.work
        ints = np.array([*header, *(k for row in rows for k in row), *self.node_rows], dtype=np.int64)
        floats = np.array(self.floats, dtype=np.float64)
        return Model(self.tree, ints, floats, Product(self.factors) if self.factors else None)

    def _put(self, *values: float) -> int:
        start = len(self.floats)
        self.floats.extend(float(v) for v in values)
        return start

    def _place(self, joint: Joint, where: str | ArrayLike | None, body: Body | FlexibleBody | None, role: str) -> Any:
        """What `at` or `child_at` means: a Node that deforms, or a constant pose."""
        if not isinstance(where, str):
            return as_pose(f"{joint.who}: {role}", where)
        frames = dict(body.frames) if body is not None else {}
        nodes = dict(body.nodes) if isinstance(body, FlexibleBody) else {}
        if where in frames:
            return np.asarray(frames[where])
        if where in nodes:
            node = nodes[where]
            return node if np.any(np.asarray(node.modes)) else np.asarray(node.pose)
        owner = f"body '{body.name}'" if body is not None else "the world"
        known = [*frames, *nodes]
        raise ModelError(
            f"{joint.who}: {role} is '{where}', which is no frame or node of {owner}.{suggest(where, known)}"
        )

    def _places(self, i: int) -> tuple[Any, Any]:
        joint = self.joints[i]
        parent = None if joint.parent == WORLD else self.bodies[self.index[joint.parent]]
        return self._place(joint, joint.at, parent, "at"), self._place(
            joint, joint.child_at, self.bodies[i], "child_at"
        )

    def _body_floats(self, i: int) -> list[float]:
        joint, body = self.joints[i], self.bodies[i]
        outer, inner = self._places(i)
        # A node carries the joint at its own pose; X_NJ and X_ND are then the identity.
        X_NJ = SE3.identity() if isinstance(outer, Node) else outer
        X_DB = SE3.identity() if isinstance(inner, Node) else SE3.inverse(inner)
        row = [*_flat_pose(X_NJ), *_flat_pose(X_DB), body.mass, *np.asarray(body.moment), *_six(body.inertia_at_origin)]
        n = len(joint.screws())
        for name in ("stiffness", "damping", "rest", "armature"):
            given = np.asarray(getattr(joint, name), dtype=np.float64)
            if given.ndim > 1 or (given.ndim == 1 and len(given) != n):
                raise ModelError(f"{joint.who}: {name} has shape {given.shape}, expected one number or {n}.")
            values = np.zeros(6)
            values[:n] = given
            if name != "rest" and (not np.isfinite(values).all() or (values < 0.0).any()):
                raise ModelError(f"{joint.who}: {name} is {getattr(joint, name)!r}, must be ≥ 0.")
            row.extend(values)
        if np.any(np.asarray(joint.stiffness)) and joint.kind in (at.SPHERICAL, at.PLANAR, at.FREE):
            raise ModelError(
                f"{joint.who}: stiffness is not defined for the coordinates of a {type(joint).__name__} joint.\n"
                "  Use a chain of screws (Universal, Screws), or a spring between two frames."
            )
        return row

    def _body_ints(self, i: int, nq: int, nv: int) -> tuple[list[int], int, int]:
        joint, body = self.joints[i], self.bodies[i]
        outer, inner = self._places(i)
        row = [0] * at.BODY_I_SIZE
        row[at.PARENT] = -1 if joint.parent == WORLD else self.index[joint.parent]
        screws, group = joint.screws(), joint.group()
        row[at.KIND] = joint.kind
        row[at.JQ], row[at.JV], row[at.NV] = nq, nv, len(screws)
        if group is not None:
            self.factors[joint.name] = group
            nq, nv = nq + group.element_shape[0], nv + group.dim
        if isinstance(inner, Node):
            row[at.OFFSET], row[at.OWN_NODE] = at.DEFORMING, self._put_node(inner)
            in_body = screws
        else:
            plain = np.array_equal(inner, np.eye(4))
            row[at.OFFSET], row[at.OWN_NODE] = (at.NONE if plain else at.CONSTANT), -1
            in_body = SE3.Ad_apply(inner, screws)
        row[at.SCREWS] = self._put(*screws.ravel(), *in_body.ravel())
        row[at.PARENT_NODE], row[at.CARRIER] = -1, 0
        if isinstance(outer, Node):
            row[at.PARENT_NODE] = self._put_node(outer)
            row[at.CARRIER] = self._reserve(at.CARRIER_PI + 6 * np.asarray(outer.modes).shape[1])
        n = body.n_modes
        row[at.NM], row[at.EQ], row[at.EV] = n, nq, nv
        if isinstance(body, FlexibleBody):
            self.factors[body.name] = R(n)
            nq, nv = nq + n, nv + n
            row[at.MODAL] = self._put(*_modal_data(body))
            row[at.FLEX] = self._reserve(n * n + at.FLEX_COLUMNS * n)
        return row, nq, nv

    def _put_node(self, node: Node) -> int:
        modes = np.asarray(node.modes)
        start = self._put(*_flat_pose(np.asarray(node.pose)), *modes[:3].ravel(), *modes[3:].ravel())
        row = self.first_node + len(self.node_rows)
        self.node_rows.extend([start, modes.shape[1]])
        return row

    def _reserve(self, size: int) -> int:
        start = self.work
        self.work += size
        return start


def _modal_data(body: FlexibleBody) -> list[float]:
    J_1 = [x for J in np.asarray(body.J_1) for x in _six(J)]
    J_2 = [x for row in np.asarray(body.J_2) for J in row for x in _six(J)]
    parts = (body.C_t, body.C_r0, body.C_r1, J_1, J_2, body.M_e, body.K, body.D)
    return [float(x) for part in parts for x in np.asarray(part).ravel()]
