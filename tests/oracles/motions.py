"""Seven motions by independent equations, integrated in extended precision: the references of liegeo.analysis.

    cd tests && python -m oracles.motions [--write]        checks, or writes, liegeo/analysis/references.json

It never imports liegeo.  Every system (its numbers are in motion_numbers.py) is written down as Newton's and Kane's
equations of its mass points and rigid pieces, in plain arrays: no recursion, no articulated inertia, no integrals.
With Jᵢ the Jacobian of point i by the speeds ẋ and bᵢ what is left of its acceleration when ẍ = 0,

    Σ mᵢ Jᵢᵀ (Jᵢ ẍ + bᵢ − g) + Σ (inertia of pieces) + K η + D η̇ = 0,                                             (1)

and a turning frame carries rotations by quaternions, 2 q̇ = q ω.  Flexible bodies are lumped nodes: masses, positions,
inertias and mode shapes (six rows, rotation first).  Nodes move to first order in the modal coordinates η and turn by
exp(Φ_r η), of which the kinetic energy takes all up to the second power of (η, η̇) (see `turned`); so does a joint.

Integration is by extrapolation of the modified midpoint rule (Gragg, Bulirsch and Stoer: eight columns, order 16) in
NumPy's longdouble with N and 2N steps, and by SciPy's DOP853 in double at the smallest tolerance that it takes.  The
file says how far each pair lies apart.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from oracles import motion_numbers as given
from scipy.integrate import solve_ivp

FILE = Path(__file__).parents[2] / "liegeo" / "analysis" / "references.json"
COLUMNS = 8
G = 9.81


# ---- small linear algebra that works in any precision


def cross(a, b):
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def hat(a):
    return np.array([[0 * a[0], -a[2], a[1]], [a[2], 0 * a[0], -a[0]], [-a[1], a[0], 0 * a[0]]])


def solve(M, r):
    """Gaussian elimination with pivots: NumPy's solve has no longdouble."""
    A, n = np.concatenate([M, r[:, None]], axis=1), len(r)
    for i in range(n):
        k = i + int(np.argmax(np.abs(A[i:, i])))
        A[[i, k]] = A[[k, i]]
        A[i + 1 :] -= np.outer(A[i + 1 :, i] / A[i, i], A[i])
    x = np.zeros_like(r)
    for i in range(n - 1, -1, -1):
        x[i] = (A[i, n] - A[i, i + 1 : n] @ x[i + 1 :]) / A[i, i]
    return x


def rotation(q):
    """Of a quaternion of any length."""
    a, b, c, d = q
    return np.array(
        [
            [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
            [2 * (b * c + a * d), a * a - b * b + c * c - d * d, 2 * (c * d - a * b)],
            [2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d],
        ]
    ) / (q @ q)


def turning(q, w):
    """q̇ = q ω/2."""
    a, b, c, d = q
    x, y, z = w
    return np.array([-b * x - c * y - d * z, a * x + c * z - d * y, a * y + d * x - b * z, a * z + b * y - c * x]) / 2


def wide(x, like):
    return np.asarray(x, dtype=like.dtype)


# ---- the systems: ẏ = f(y), y in the order in which `start` names things, all of q and then all of v


def free_body(data):
    """Euler's equations and a straight line: y = (q, p, ω, v), v in the body's axes."""

    def f(y):
        J = wide(data["inertia"], y)
        q, w, v = y[:4], y[7:10], y[10:13]
        return np.concatenate([turning(q, w), rotation(q) @ v, cross(J * w, w) / J, -cross(w, v)])

    return f


def top(data):
    """A body on a pivot: y = (q, ω)."""

    def f(y):
        m, c = data["mass"], wide(data["com"], y)
        J = np.diag(wide(data["inertia"], y)) - m * hat(c) @ hat(c)
        q, w = y[:4], y[4:]
        weight = rotation(q).T @ wide([0, 0, -m * G], y)
        return np.concatenate([turning(q, w), solve(J, cross(c, weight) - cross(w, J @ w))])

    return f


def double_pendulum(data):
    """Two bodies and the force between them, eliminated: y = (q₁, q₂, ω₁, ω₂), q₂ and ω₂ relative to body 1.

    In the world's axes, with r the upper body's tip and s the lower body's centre from that tip, the lower centre has
    the acceleration r̈ + s̈, r̈ = ω̇₁×r + ω₁×(ω₁×r); it gives the force, and that two balances of momentum.
    """

    def f(y):
        up, low = data["upper"], data["lower"]
        g = wide([0, 0, -G], y)
        R1 = rotation(y[:4])
        R2 = R1 @ rotation(y[4:8])
        w1 = R1 @ y[8:11]
        w2 = w1 + R2 @ y[11:14]
        c, r, s = R1 @ wide(up["com"], y), R1 @ wide(up["tip"], y), R2 @ wide(low["com"], y)
        J1 = R1 @ np.diag(wide(up["inertia"], y)) @ R1.T - up["mass"] * hat(c) @ hat(c)
        J2 = R2 @ np.diag(wide(low["inertia"], y)) @ R2.T
        m = wide(low["mass"], y)
        bias = cross(w1, cross(w1, r)) + cross(w2, cross(w2, s))
        # the lower centre's acceleration is −r̂ ω̇₁ − ŝ ω̇₂ + bias; the force on it besides its weight is F = m (that − g)
        r_hat, s_hat = hat(r), hat(s)
        M = np.block([[J1 - m * r_hat @ r_hat, -m * r_hat @ s_hat], [-m * s_hat @ r_hat, J2 - m * s_hat @ s_hat]])
        F = m * (bias - g)
        upper = up["mass"] * cross(c, g) - cross(w1, J1 @ w1) - cross(r, F)
        lower = -cross(s, F) - cross(w2, J2 @ w2)
        a = solve(M, np.concatenate([upper, lower]))
        a1 = R1.T @ a[:3]
        # ω₂ relative, in body 2: R₂ᵀ(w2 − w1), whose rate is R₂ᵀ(ẇ₂ − ẇ₁ − w2×(w2 − w1))
        relative = R2.T @ (a[3:] - a[:3] - cross(w2, w2 - w1))
        return np.concatenate([turning(y[:4], y[8:11]), turning(y[4:8], y[11:14]), a1, relative])

    return f


def satellite(data):
    """A gyrostat: the centre of mass moves straight, each rotor keeps its momentum along its axis.

    y = (q, p, angles, ω, v, Ω); p and v are of the bus's frame.  About the centre of mass C, with J of everything,
    H = J ω + Σ I Ω a, Ḣ = −ω×H, and I (Ω̇ + a·ω̇) = 0.
    """
    n = len(data["wheels"])

    def f(y):
        bus, wheels = data["bus"], list(data["wheels"].values())
        parts = [(bus["mass"], wide(bus["com"], y), np.diag(wide(bus["inertia"], y)))]
        for wheel in wheels:
            a = wide(wheel["axis"], y)
            across = wide(wheel["transverse"], y)
            own = across * np.eye(3, dtype=y.dtype) + (wide(wheel["inertia"], y) - across) * np.outer(a, a)
            parts.append((wheel["mass"], wide(wheel["at"], y), own))
        C = sum(m * x for m, x, _ in parts) / wide(sum(m for m, _, _ in parts), y)
        J = sum(own - m * hat(x - C) @ hat(x - C) for m, x, own in parts)
        q, w, v, speeds = y[:4], y[7 + n : 10 + n], y[10 + n : 13 + n], y[13 + n :]
        H, rest = J @ w, J.copy()
        for wheel, speed in zip(wheels, speeds, strict=True):
            a, inertia = wide(wheel["axis"], y), wide(wheel["inertia"], y)
            H = H + inertia * speed * a
            rest -= inertia * np.outer(a, a)
        wd = solve(rest, -cross(w, H))
        # v + ω×C, in the body's axes, is a constant vector of the world
        vd = -cross(wd, C) - cross(w, v + cross(w, C))
        turns = np.array([-wide(wheel["axis"], y) @ wd for wheel in wheels])
        return np.concatenate([turning(q, w), rotation(q) @ v, speeds, wd, vd, turns])

    return f


def lumps(data, like):
    """Positions (N, 3), modes (N, 6, n), masses (N) and principal inertias (N, 3) of all nodes."""
    return (wide([node[key] for node in data["nodes"]], like) for key in ("position", "modes", "mass", "inertia"))


def turned(J, w, theta, rate):
    """Inertia, and forces without accelerations, of a piece with inertia J that turns by exp(θ̂) in a frame that turns.

    Its kinetic energy up to the second power of (θ, θ̇), with J₁(x) = x̂J − Jx̂ and J₂(x, y) the bilinear form of
    ½x̂²J + ½Jx̂² − x̂Jx̂, is T = ½w·(J + J₁(θ) + J₂(θ, θ))w + w·(J + J₁(θ))θ̇ + ½Jw·(θ×θ̇) + ½θ̇·Jθ̇.  With h = ∂T/∂w and
    p = ∂T/∂θ̇: ḣ + w×h = 0 and ṗ − ∂T/∂θ = 0.
    """

    def first(x):
        return hat(x) @ J - J @ hat(x)

    def second(x, y):
        X, Y = hat(x), hat(y)
        half = X @ Y @ J / 2 - X @ J @ Y
        other = Y @ X @ J / 2 - Y @ J @ X
        return (half + other + J @ Y @ X / 2 + J @ X @ Y / 2) / 2

    turn = J + first(theta) + J @ hat(theta) / 2
    M = np.block([[J + first(theta) + second(theta, theta), turn], [turn.T, J]])
    h = M[:3, :3] @ w + turn @ rate
    angular = (first(rate) + 2 * second(theta, rate)) @ w + first(rate) @ rate + cross(w, h)
    slope = [
        w @ (first(e) / 2 + second(theta, e)) @ w + w @ first(e) @ rate + (J @ w) @ cross(e, rate) / 2
        for e in np.eye(3, dtype=w.dtype)
    ]
    return M, np.concatenate([angular, first(rate) @ w + cross(J @ w, rate) / 2 - np.array(slope)])


def flexible_pendulum(data):
    """Lumped nodes on a ball joint: y = (q, η, ω, η̇), (1) in the body's axes."""
    n = len(data["stiffness"])

    def f(y):
        q, eta, w, etad = y[:4], y[4 : 4 + n], y[4 + n : 7 + n], y[7 + n :]
        g = rotation(q).T @ wide([0, 0, -G], y)
        positions, modes, masses, inertias = lumps(data, y)
        M, r = np.zeros((3 + n, 3 + n), y.dtype), np.zeros(3 + n, y.dtype)
        r[3:] = -wide(data["stiffness"], y) @ eta
        for p, shape, m, J in zip(positions, modes, masses, inertias, strict=True):
            x, xd = p + shape[3:] @ eta, shape[3:] @ etad
            Jacobian = np.concatenate([-hat(x), shape[3:]], axis=1)
            M += m * Jacobian.T @ Jacobian
            r -= m * Jacobian.T @ (cross(w, cross(w, x)) + 2 * cross(w, xd) - g)
            spin = np.zeros((6, 3 + n), y.dtype)
            spin[:3, :3], spin[3:, 3:] = np.eye(3), shape[:3]
            inertia, bias = turned(np.diag(J), w, shape[:3] @ eta, shape[:3] @ etad)
            M += spin.T @ inertia @ spin
            r -= spin.T @ bias
        return np.concatenate([turning(q, w), etad, solve(M, r)])

    return f


def plane(angle):
    """Rotation about y as it acts on (x, z), and its derivative by the angle; the second one is minus the first."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, s], [-s, c]]), np.array([[-s, c], [-c, -s]])


def stiff_arm(data):
    """In the plane x, z, turning about y: x = (θ, η, φ), y = (x, ẋ); (1) in the world's axes, all points at once."""
    n, N = len(data["stiffness"]), len(data["nodes"])
    positions, modes, masses, inertias = lumps(data, np.zeros(0, np.longdouble))
    fore = data["forearm"]
    masses, inertias = np.append(masses, fore["mass"]), np.append(inertias[:, 1], fore["inertia"][1])
    shapes = modes[:, [3, 5]]
    # how each piece turns with (θ, η, φ); the last is the forearm, which hangs at the last node and turns with it
    spin = np.zeros((N + 1, n + 2), np.longdouble)
    spin[:, 0], spin[:N, 1:-1], spin[N, 1:-1], spin[N, -1] = 1, modes[:, 1], modes[-1, 1], 1
    turn_mass = spin.T @ (inertias[:, None] * spin)
    c = np.array(fore["com"], np.longdouble)[[0, 2]]
    K, D = np.array(data["stiffness"], np.longdouble), np.array(data["damping"], np.longdouble)

    def f(y):
        x, xd = y[: n + 2], y[n + 2 :]
        eta, etad = x[1:-1], xd[1:-1]
        R, dR = plane(x[0])
        p = positions[:, [0, 2]] + shapes @ eta
        Jacobian, bias = np.zeros((N + 1, 2, n + 2), y.dtype), np.zeros((N + 1, 2), y.dtype)
        Jacobian[:N, :, 0], Jacobian[:N, :, 1:-1] = p @ dR.T, R @ shapes
        bias[:N] = -(xd[0] ** 2) * p @ R.T + 2 * xd[0] * (shapes @ etad) @ dR.T
        Q, dQ = plane(spin[N] @ x)
        Jacobian[N] = Jacobian[N - 1] + np.outer(dQ @ c, spin[N])
        bias[N] = bias[N - 1] - (spin[N] @ xd) ** 2 * (Q @ c)
        bias[:, 1] += G
        rows, weights = Jacobian.reshape(-1, n + 2), np.repeat(masses, 2)
        r = -rows.T @ (weights * bias.ravel())
        r[1:-1] -= K @ eta + D @ etad
        return np.concatenate([xd, solve(rows.T @ (weights[:, None] * rows) + turn_mass, r)]).astype(y.dtype)

    return f


# name: data, equations, steps of order 16
SYSTEMS = {
    "free body": (given.FREE_BODY, free_body, 60),
    "heavy top": (given.HEAVY_TOP, top, 60),
    "spherical pendulum": (given.SPHERICAL_PENDULUM, top, 60),
    "double spherical pendulum": (given.DOUBLE_PENDULUM, double_pendulum, 60),
    "satellite with wheels": (given.SATELLITE, satellite, 60),
    "flexible pendulum": (given.FLEXIBLE_PENDULUM, flexible_pendulum, 60),
    "stiff flexible arm": (given.STIFF_ARM, stiff_arm, 500),
}


# ---- integration


def extrapolate(f, y, t_end, steps):
    """Gragg's midpoint rule with 2, 4, … 16 substeps and Aitken–Neville's table in h², `steps` times."""
    H = y.dtype.type(t_end) / steps
    for _ in range(steps):
        table = []
        for k in range(1, COLUMNS + 1):
            n = 2 * k
            h = H / n
            before, now = y, y + h * f(y)
            for _ in range(n - 1):
                before, now = now, before + 2 * h * f(now)
            # Gragg's smoothing
            column = [(before + now + h * f(now)) / 2]
            for j in range(1, k):
                ratio = y.dtype.type(n) ** 2 / y.dtype.type(2 * (k - j)) ** 2
                column.append(column[-1] + (column[-1] - table[-1][j - 1]) / (ratio - 1))
            table.append(column)
        y = table[-1][-1]
    return y


def start(data, dtype=np.longdouble):
    return np.array([x for part in ("q", "v") for value in data["start"][part].values() for x in value], dtype=dtype)


def named(data, y):
    """Numbers back under their names, quaternions with length one and their first number positive."""
    out, i = {"q": {}, "v": {}}, 0
    for part in ("q", "v"):
        for name, value in data["start"][part].items():
            piece = np.array(y[i : i + len(value)])
            if part == "q" and len(value) in (4, 7):
                piece[:4] /= np.sqrt(piece[:4] @ piece[:4]) * (1 if piece[0] >= 0 else -1)
            out[part][name] = [float(x) for x in piece]
            i += len(value)
    return out


def flat(end):
    return np.array([x for part in ("q", "v") for value in end[part].values() for x in value])


def reference(name, checks=True):
    """The end, and how far apart N and 2N steps lie, and DOP853."""
    data, make, steps = SYSTEMS[name]
    f, y = make(data), start(data)
    end = named(data, extrapolate(f, y, data["t_end"], steps))
    if not checks:
        return end, {}
    finer = named(data, extrapolate(f, y, data["t_end"], 2 * steps))
    run = solve_ivp(
        lambda t, x: f(x), (0, data["t_end"]), y.astype(float), method="DOP853", rtol=2.5e-14, atol=1e-15, max_step=0.02
    )
    other = named(data, run.y[:, -1])
    apart = {
        "half the step": float(np.abs(flat(finer) - flat(end)).max()),
        "DOP853": float(np.abs(flat(finer) - flat(other)).max()),
    }
    return finer, apart


def everything():
    out = {"made by": "tests/oracles/motions.py --write"}
    for name, (data, _, _) in SYSTEMS.items():
        end, apart = reference(name)
        out[name] = {**data, "end": end, "differences": apart}
    return out


if __name__ == "__main__":
    found = everything()
    for name in SYSTEMS:
        sys.stdout.write(f"{name:28} {found[name]['differences']}\n")
    if "--write" in sys.argv:
        FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    else:
        stored = json.loads(FILE.read_text(encoding="utf-8"))
        for name in SYSTEMS:
            off = np.abs(flat(found[name]["end"]) - flat(stored[name]["end"])).max()
            sys.stdout.write(f"{name:28} off by {off:.1e}\n")
