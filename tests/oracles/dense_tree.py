"""Equations of motion of a flexible tree from its kinetic energy, dense and slow: the oracle of the recursive dynamics.

It never imports liegeo and shares no formula with it.  A tree is a list of plain dictionaries (see `describe` in
tests/dynamics/trees.py).  Poses are 4×4 matrices of dual numbers A + εB, whose ε part is the derivative along the
motion; every exponential is scipy.linalg.expm.  From the twists of the mass points for unit speeds come the Jacobian J
and M = Jᵀ diag(m) J; the rest is Lagrange's equation in quasi-velocities, with derivatives by complex step:

    M v̇ + D_q(M v)[v] − adT(v) M v − D_q T + D_q U + d v = τ,

adT acting within each joint's own group.  Force elements come from their energy, by complex step, and from the power
that they take out or that a load puts in.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm

STEP = 1e-30


class Dual:
    """A + εB for matrices, ε² = 0."""

    def __init__(self, A, B):
        self.A, self.B = A, B

    def __matmul__(self, other):
        return Dual(self.A @ other.A, self.A @ other.B + self.B @ other.A)

    def inverse(self):
        inverse = np.linalg.inv(self.A)
        return Dual(inverse, -inverse @ self.B @ inverse)


def hat(V):
    w, v = V[:3], V[3:]
    return np.array([[0, -w[2], w[1], v[0]], [w[2], 0, -w[0], v[1]], [-w[1], w[0], 0, v[2]], [0, 0, 0, 0]])


def dual_exp(A, B):
    """exp(A + εB), from the exponential of a block matrix."""
    n = len(A)
    E = expm(np.block([[A, B], [np.zeros((n, n)), A]]))
    return Dual(E[:n, :n], E[:n, n:])


def constant(X):
    return Dual(np.asarray(X), np.zeros((4, 4)))


def node_pose(node, eta, etad):
    """(exp(Φ_r η) R₀, p₀ + Φ_t η) of a node given by its pose, 6 × n modes and perhaps terms of second order."""
    modes, zero = np.asarray(node["modes"]), np.zeros(3)
    second = np.asarray(node.get("second", np.zeros((6, len(eta), len(eta)))))
    x, y = modes @ eta + 0.5 * second @ eta @ eta, modes @ etad + second @ eta @ etad
    turn = dual_exp(hat(np.concatenate([x[:3], zero])), hat(np.concatenate([y[:3], zero])))
    shift = Dual(np.eye(4, dtype=turn.A.dtype), np.zeros((4, 4), turn.A.dtype))
    shift.A[:3, 3], shift.B[:3, 3] = x[3:], y[3:]
    rotation, position = np.array(node["pose"]), np.eye(4)
    position[:3, 3] = rotation[:3, 3]
    rotation[:3, 3] = 0.0
    return shift @ constant(position) @ turn @ constant(rotation)


def joint_pose(joint, q, v):
    """X_JD(q ⊕ εv)."""
    if joint["kind"] == "screws":
        X = constant(np.eye(4))
        for S, a, b in zip(joint["screws"], q, v, strict=True):
            X = X @ dual_exp(a * hat(np.asarray(S)), b * hat(np.asarray(S)))
        return X
    if joint["kind"] == "wheel":
        # A rotor looks the same at every angle: where it stands does not matter, how fast it turns does.
        return Dual(np.eye(4), v[0] * hat(np.concatenate([joint["axis"], np.zeros(3)])))
    if joint["kind"] == "planar":
        c, s = np.cos(q[0]), np.sin(q[0])
        A = np.array([[c, -s, 0, q[1]], [s, c, 0, q[2]], [0, 0, 1, 0], [0, 0, 0, 1]])
        return Dual(A, A @ hat(np.array([0, 0, v[0], v[1], v[2], 0])))
    a, b, c, d = q[:4]
    A = np.eye(4, dtype=np.result_type(q, float))
    A[:3, :3] = [
        [1 - 2 * (c * c + d * d), 2 * (b * c - a * d), 2 * (b * d + a * c)],
        [2 * (b * c + a * d), 1 - 2 * (b * b + d * d), 2 * (c * d - a * b)],
        [2 * (b * d - a * c), 2 * (c * d + a * b), 1 - 2 * (b * b + c * c)],
    ]
    if joint["kind"] == "free":
        A[:3, 3] = q[4:7]
        return Dual(A, A @ hat(v))
    return Dual(A, A @ hat(np.concatenate([v, np.zeros(3)])))


N_V = {"planar": 3, "spherical": 3, "free": 6, "wheel": 1}
N_Q = {"planar": 3, "spherical": 4, "free": 7, "wheel": 1}


def sizes(body):
    joint = body["joint"]
    n = len(joint["screws"]) if joint["kind"] == "screws" else None
    return (n if n is not None else N_Q[joint["kind"]]), (n if n is not None else N_V[joint["kind"]]), body["n_modes"]


def split(bodies, q, v):
    i = j = 0
    for body in bodies:
        nq, nv, n = sizes(body)
        yield body, q[i : i + nq], v[j : j + nv], q[i + nq : i + nq + n], v[j + nv : j + nv + n]
        i, j = i + nq + n, j + nv + n


def body_poses(bodies, q, v):
    poses, etas = [], []
    for body, qj, vj, eta, etad in split(bodies, q, v):
        X = constant(np.eye(4)) if body["parent"] < 0 else poses[body["parent"]]
        at, child_at = body["at"], body["child_at"]
        X = X @ (node_pose(at, *etas[body["parent"]]) if "modes" in at else constant(at["pose"]))
        X = X @ joint_pose(body["joint"], qj, vj)
        inner = node_pose(child_at, eta, etad) if "modes" in child_at else constant(child_at["pose"])
        poses.append(X @ inner.inverse())
        etas.append((eta, etad))
    return poses, etas


def motion(bodies, q, v):
    """Velocities weighted by the square roots of mass, so that T = ½|motion|²; and heights for the potential."""
    poses, etas = body_poses(bodies, q, v)
    rows, points = [], []
    for body, X, (eta, etad) in zip(bodies, poses, etas, strict=True):
        R = X.A[:3, :3]
        w_hat = R.T @ X.B[:3, :3]
        w = np.array([w_hat[2, 1], w_hat[0, 2], w_hat[1, 0]])
        for piece in body["pieces"]:
            modes = np.asarray(piece["modes"]).reshape(6, -1)
            com, J = np.asarray(piece["com"]), np.asarray(piece["inertia"])
            r = np.asarray(piece["position"]) + com + modes[3:] @ eta + np.cross((modes[:3] @ eta), com)
            rd = modes[3:] @ etad + np.cross((modes[:3] @ etad), com)
            rows.append(np.sqrt(piece["mass"]) * (X.B[:3, :3] @ r + X.B[:3, 3] + R @ rd))
            values, vectors = np.linalg.eigh(J)
            rows.append(np.sqrt(np.maximum(values, 0.0)) * (vectors.T @ (w + modes[:3] @ etad)))
            points.append((piece["mass"], R @ r + X.A[:3, 3]))
    return np.concatenate(rows), points


def potential(bodies, gravity, q):
    v = np.zeros(sum(sum(sizes(b)[1:]) for b in bodies))
    U = -sum(m * np.asarray(gravity) @ p for m, p in motion(bodies, q, v)[1])
    for body, qj, _, eta, _ in split(bodies, q, v):
        U = U + 0.5 * eta @ np.asarray(body["K"]) @ eta if body["n_modes"] else U
        k = np.asarray(body["joint"].get("stiffness", 0.0))
        if np.any(k):
            U = U + 0.5 * np.sum(k * joint_stretch(body["joint"], qj) ** 2)
    return U


def rotation_vector(R):
    """Axis times angle, away from angles 0 and π."""
    angle = np.arccos((np.trace(R) - 1) / 2)
    skew = (R - R.T) / (2 * np.sin(angle))
    return angle * np.array([skew[2, 1], skew[0, 2], skew[1, 0]])


def joint_stretch(joint, q):
    """How far a joint is from where its springs are slack: in coordinates, or as the twist that leads there."""
    if joint["kind"] in ("screws", "wheel"):
        return q - joint["rest"]
    X, Y = (joint_pose(joint, np.asarray(x), np.zeros(6)[: N_V[joint["kind"]]]).A for x in (joint["rest"], q))
    E = np.linalg.inv(X) @ Y
    w = rotation_vector(E[:3, :3])
    # the position after the screw motion (w, v) is ∫ exp(s ŵ) ds v
    integral = expm(np.block([[hat(np.array([*w, 0, 0, 0]))[:3, :3], np.eye(3)], [np.zeros((3, 6))]]))[:3, 3:]
    twist = np.array([*w, *np.linalg.solve(integral, E[:3, 3])])
    return twist[{"spherical": [0, 1, 2], "planar": [2, 3, 4], "free": range(6)}[joint["kind"]]]


def retract(bodies, q, d):
    """q ⊕ d."""
    out = []
    for body, qj, dj, eta, etad in split(bodies, q, d):
        kind = body["joint"]["kind"]
        if kind in ("screws", "wheel"):
            out.append(qj + dj)
        elif kind == "planar":
            X = joint_pose(body["joint"], qj, np.zeros(3)).A @ expm(hat(np.array([0, 0, dj[0], dj[1], dj[2], 0])))
            out.append(np.array([qj[0] + dj[0], X[0, 3], X[1, 3]]))
        else:
            w = np.concatenate([np.zeros(1), 0.5 * dj[:3]])
            left = np.array(
                [
                    [0, -w[1], -w[2], -w[3]],
                    [w[1], 0, w[3], -w[2]],
                    [w[2], -w[3], 0, w[1]],
                    [w[3], w[2], -w[1], 0],
                ]
            )
            quaternion = expm(left) @ qj[:4]
            if kind == "free":
                X = joint_pose(body["joint"], qj, np.zeros(6)).A @ expm(hat(dj))
                quaternion = np.concatenate([quaternion, X[:3, 3]])
            out.append(quaternion)
        out.append(eta + etad)
    return np.concatenate(out)


def jacobian(bodies, q, n):
    return np.stack([motion(bodies, q, e)[0] for e in np.eye(n)], axis=1)


def adT(bodies, v, p):
    """ad(v)ᵀ p within each joint's group; zero for coordinates that commute."""
    out, j = np.zeros_like(p), 0
    for body in bodies:
        _, nv, n = sizes(body)
        a, b = v[j : j + nv], p[j : j + nv]
        kind = body["joint"]["kind"]
        if kind == "spherical":
            out[j : j + 3] = np.cross(b, a)
        elif kind == "free":
            out[j : j + 3] = np.cross(b[:3], a[:3]) + np.cross(b[3:], a[3:])
            out[j + 3 : j + 6] = np.cross(b[3:], a[:3])
        elif kind == "planar":
            out[j : j + 3] = [a[2] * b[1] - a[1] * b[2], a[0] * b[2], -a[0] * b[1]]
        j += nv + n
    return out


def equations(bodies, gravity, q, v):
    """M and the bias h of M v̇ + h = τ."""
    n = len(v)
    J = jacobian(bodies, q, n)
    M = J.T @ J
    for i, armature in enumerate(_per_speed(bodies, "armature")):
        M[i, i] += armature
    moved = jacobian(bodies, retract(bodies, q, 1j * STEP * v), n)
    rate = (moved.T @ moved).imag / STEP @ v
    h = rate - adT(bodies, v, J.T @ J @ v)
    for i, e in enumerate(np.eye(n)):
        shifted = retract(bodies, q, 1j * STEP * e)
        y = motion(bodies, shifted, v)[0]
        h[i] += (potential(bodies, gravity, shifted) - 0.5 * y @ y).imag / STEP
    h += _per_speed(bodies, "damping") * v
    j = 0
    for body in bodies:
        _, nv, m = sizes(body)
        if m:
            h[j + nv : j + nv + m] += np.asarray(body["D"]) @ v[j + nv : j + nv + m]
        j += nv + m
    return M, h


def _per_speed(bodies, name):
    out = []
    for body in bodies:
        _, nv, n = sizes(body)
        out += [*np.broadcast_to(body["joint"].get(name, 0.0), nv), *np.zeros(n)]
    return np.array(out)


def energy(bodies, gravity, q, v):
    y = motion(bodies, q, v)[0]
    armature = _per_speed(bodies, "armature")
    return 0.5 * y @ y + 0.5 * np.sum(armature * v * v) + potential(bodies, gravity, q)


# ---- force elements: {"kind", "a", "b", …}, a and b being (body, place), body -1 for the world


def frame(bodies, place, q, v):
    """X_WF as a dual number."""
    body, at = place
    if body < 0:
        return constant(at["pose"])
    poses, etas = body_poses(bodies, q, v)
    return poses[body] @ (node_pose(at, *etas[body]) if "modes" in at else constant(at["pose"]))


def stretch(bodies, element, q, v):
    """What an element's energy depends on, length or (θ, r), as value and rate."""
    A, B = (frame(bodies, element[k], q, v) for k in "ab")
    if element["kind"] == "spring":
        r, rate = B.A[:3, 3] - A.A[:3, 3], B.B[:3, 3] - A.B[:3, 3]
        length = np.sqrt(r @ r)
        return np.array([length]), np.array([r @ rate / length])
    X = A.inverse() @ B

    def coordinates(M):
        return np.array([*rotation_vector(M[:3, :3]), *M[:3, 3]])

    return coordinates(X.A), coordinates(X.A + 1j * STEP * X.B).imag / STEP if np.isrealobj(X.A) else None


def element_energy(bodies, element, q):
    x, _ = stretch(bodies, element, q, np.zeros(sum(sum(sizes(b)[1:]) for b in bodies)))
    return 0.5 * np.sum(np.asarray(element["stiffness"]) * (x - element.get("length", 0.0)) ** 2)


def element_forces(bodies, elements, q, v):
    """Generalised forces of all elements."""
    n = len(v)
    Q = np.zeros(n)
    for element in elements:
        if element["kind"] == "load":
            torque, force = element["wrench"][:3], element["wrench"][3:]
            for i, e in enumerate(np.eye(n)):
                X = frame(bodies, element["a"], q, e)
                R = X.A[:3, :3]
                if element["axes"] == "world":
                    spin = X.B[:3, :3] @ R.T
                    move = X.B[:3, 3]
                else:
                    spin, move = R.T @ X.B[:3, :3], R.T @ X.B[:3, 3]
                Q[i] += torque @ np.array([spin[2, 1], spin[0, 2], spin[1, 0]]) + force @ move
            continue
        lost = np.asarray(element["damping"]) * stretch(bodies, element, q, v)[1]
        for i, e in enumerate(np.eye(n)):
            Q[i] -= element_energy(bodies, element, retract(bodies, q, 1j * STEP * e)).imag / STEP
            Q[i] -= lost @ stretch(bodies, element, q, e)[1]
    return Q
