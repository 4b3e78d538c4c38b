"""Equations of motion of a flexible tree from its kinetic energy, dense and slow: the oracle of the recursive dynamics.

It never imports liegeo and shares no formula with it.  A tree is a list of plain dictionaries (see `describe` in
tests/dynamics/trees.py).  Poses are 4×4 matrices of dual numbers A + εB, whose ε part is the derivative along the
motion; every exponential is scipy.linalg.expm, or a finite sum where it is one.  A flexible body consists of rigid
pieces, each with a finite rotation.  Its kinetic energy, as a function of its twist V, of η and of η̇, is exact but for
one thing: with εη and εη̇ in the place of η and η̇, powers of ε above the second are left out, because the record of a
flexible body ends there.  The powers are kept apart by a nilpotent matrix in the place of ε (`turning`, `Series`).
With the Jacobian J from speeds to (V, η̇) of each body, M = Σ Jᵀ M_body J; the rest is Lagrange's equation in
quasi-velocities, with derivatives by complex step:

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


class Series:
    """Matrices A₀ + A₁ε + A₂ε², ε³ = 0."""

    def __init__(self, *terms):
        self.terms = terms

    def __matmul__(self, other):
        a, b = self.terms, other.terms
        return Series(*(sum(a[i] @ b[d - i] for i in range(d + 1)) for d in range(3)))

    @property
    def T(self):
        return Series(*(term.T for term in self.terms))

    @property
    def value(self):
        return sum(self.terms)


def turning(modes, eta):
    """exp(ε Φ_r η), and for each mode its derivative along ε η̇ with η̇ = 1, as series."""
    n = len(eta)
    A = spin(modes @ eta) if n else np.zeros((3, 3))
    # exp(ε̂ ⊗ [A B; 0 A]) with a nilpotent 3 × 3 matrix ε̂: its first row of blocks holds the coefficients of ε⁰, ε¹, ε²
    nilpotent = np.zeros((max(n, 1), 18, 18), dtype=A.dtype)
    for k, pair in enumerate(nilpotent):
        for d in (0, 6):
            pair[d : d + 3, d + 6 : d + 9] = pair[d + 3 : d + 6, d + 9 : d + 12] = A
            pair[d : d + 3, d + 9 : d + 12] = spin(modes[:, k]) if n else 0.0
    # its cube is zero, so its exponential is a finite sum
    E = np.eye(18) + nilpotent + 0.5 * nilpotent @ nilpotent
    rates = [Series(*(E[k, :3, 6 * d + 3 : 6 * d + 6] for d in range(3))) for k in range(n)]
    return Series(*(E[0, :3, 6 * d : 6 * d + 3] for d in range(3))), rates


def spin(w):
    return hat(np.concatenate([w, np.zeros(3)]))[:3, :3]


def piece_motion(piece, eta):
    """Position of the centre of mass, and what (V, η̇) make of its velocity and of the angular velocity; R; series."""
    n = len(eta)
    modes = np.asarray(piece["modes"]).reshape(6, -1)
    com = np.asarray(piece["com"]).reshape(3, 1)
    R, rates = turning(modes[:3], eta)
    arm = [term @ com for term in R.terms]
    r = [np.asarray(piece["position"]) + arm[0][:, 0], modes[3:] @ eta + arm[1][:, 0], arm[2][:, 0]]
    move, turn = np.zeros((2, 3, 3, 6 + n), dtype=np.result_type(eta, float))
    for d in range(3):
        move[d][:, :3] = -spin(r[d])
    move[0][:, 3:6] = turn[0][:, :3] = np.eye(3)
    for k, rate in enumerate(rates):
        omega = (rate @ R.T).terms
        for d in range(3):
            move[d][:, 6 + k] = (rate.terms[d] @ com)[:, 0]
            turn[d][:, 6 + k] = [omega[d][2, 1], omega[d][0, 2], omega[d][1, 0]]
        move[1][:, 6 + k] += modes[3:, k]
    return r, Series(*move), Series(*turn), R


def body_inertia(body, eta):
    """M_body of T = ½ (V, η̇)ᵀ M_body (V, η̇), mass, and Σ m r."""
    zero, matrix, mass, moment = np.zeros((3, 3)), 0.0, 0.0, 0.0
    for piece in body["pieces"]:
        r, move, turn, R = piece_motion(piece, eta)
        J = R @ Series(np.asarray(piece["inertia"]), zero, zero) @ R.T
        matrix = matrix + piece["mass"] * (move.T @ move).value + (turn.T @ J @ turn).value
        mass, moment = mass + piece["mass"], moment + piece["mass"] * sum(r)
    return matrix, mass, moment


# within one call of `equations`, which moves one coordinate after another: by body and η
KNOWN: dict = {}


def inertias(bodies, q):
    """`body_inertia` of every body."""
    out = []
    for body, _, _, eta, _ in split(bodies, q, np.zeros(sum(map(n_speeds, bodies)))):
        key = id(body), eta.tobytes()
        if key not in KNOWN:
            KNOWN[key] = body_inertia(body, eta)
        out.append(KNOWN[key])
    return out


def twists(bodies, q, v):
    """(V, η̇) of every body."""
    poses, etas = body_poses(bodies, q, v)
    out = []
    for X, (_, etad) in zip(poses, etas, strict=True):
        spin_, move = X.A[:3, :3].T @ X.B[:3, :3], X.A[:3, :3].T @ X.B[:3, 3]
        out.append(np.concatenate([[spin_[2, 1], spin_[0, 2], spin_[1, 0]], move, etad]))
    return out


def n_speeds(body):
    return sum(sizes(body)[1:])


def kinetic(bodies, q, v):
    return sum(0.5 * y @ M @ y for y, (M, *_) in zip(twists(bodies, q, v), inertias(bodies, q), strict=True))


def potential(bodies, gravity, q):
    v = np.zeros(sum(map(n_speeds, bodies)))
    U = 0.0
    for X, (_, mass, moment) in zip(body_poses(bodies, q, v)[0], inertias(bodies, q), strict=True):
        U = U - np.asarray(gravity) @ (X.A[:3, :3] @ moment + mass * X.A[:3, 3])
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


def mass_matrix(bodies, q, n):
    columns = [twists(bodies, q, e) for e in np.eye(n)]
    total = 0.0
    for i, (M, *_) in enumerate(inertias(bodies, q)):
        J = np.stack([column[i] for column in columns], axis=1)
        total = total + J.T @ M @ J
    return total


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
    KNOWN.clear()
    n = len(v)
    M = mass_matrix(bodies, q, n)
    moved = mass_matrix(bodies, retract(bodies, q, 1j * STEP * v), n)
    h = moved.imag / STEP @ v - adT(bodies, v, M @ v)
    M = M + np.diag(_per_speed(bodies, "armature"))
    for i, e in enumerate(np.eye(n)):
        shifted = retract(bodies, q, 1j * STEP * e)
        h[i] += (potential(bodies, gravity, shifted) - kinetic(bodies, shifted, v)).imag / STEP
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
    KNOWN.clear()
    armature = _per_speed(bodies, "armature")
    return kinetic(bodies, q, v) + 0.5 * np.sum(armature * v * v) + potential(bodies, gravity, q)


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
    x, _ = stretch(bodies, element, q, np.zeros(sum(map(n_speeds, bodies))))
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
