"""Mechanical systems written by hand, for tests of the methods: no model, no tree, dense mass matrices in W.

Each is three functions: `mass(F, q, M)` writes M(q), `forces(F, t, q, v, s, c)` writes the slope s and the convective
terms c = adT(v) M v − Ṁ v, so that M v̇ = s + c, and `potential(F, q)`.  I holds the kind of a system and its number of
speeds, so that a method is compiled once for all of them, as it is for trees.
"""

from __future__ import annotations

import numba
import numpy as np

from liegeo import integrate as li
from liegeo._jit import kernel
from liegeo.lie import SE3, SE3Q, SO3, SO3Q, Product, R
from liegeo.lie.quaternion import rotate
from liegeo.lie.so3 import cross

# ---- a top on SO(3): F = three inertias, weight times the distance of its centre, drive, damping


@kernel
def top_mass(F, q, M):
    for i in range(9):
        M[i] = 0.0
    for i in range(3):
        M[4 * i] = F[i]


@kernel
def top_forces(F, t, q, v, s, c):
    """The centre on the body's z axis at χ, V = w e_z · Rχ: s = −χ × w Rᵀe_z; adT(v) p = p × v."""
    x, y, _ = rotate(q[0], -q[1], -q[2], -q[3], 0.0, 0.0, F[3])
    s[0], s[1], s[2] = y, -x, 0.0
    for i in range(3):
        s[i] += F[4] * np.sin(2.0 * t + i) - F[5] * v[i]
    c[0], c[1], c[2] = cross(F[0] * v[0], F[1] * v[1], F[2] * v[2], v[0], v[1], v[2])


@kernel
def top_potential(F, q):
    _, _, z = rotate(q[0], q[1], q[2], q[3], 0.0, 0.0, F[3])
    return z


# ---- a rigid body on SE(3): F = three inertias, mass, gravity, stiffness of a spring from the origin of W, its length


@kernel
def body_mass(F, q, M):
    for i in range(36):
        M[i] = 0.0
    for i in range(3):
        M[7 * i], M[7 * (i + 3)] = F[i], F[3]


@kernel
def body_forces(F, t, q, v, s, c):
    """At the centre of mass: s = (0, Rᵀf), f = −m g e_z − k (1 − l/|p|) p."""
    length = np.sqrt(q[4] * q[4] + q[5] * q[5] + q[6] * q[6])
    k = F[5] * (1.0 - F[6] / max(length, 1e-9))
    s[0], s[1], s[2] = 0.0, 0.0, 0.0
    s[3], s[4], s[5] = rotate(q[0], -q[1], -q[2], -q[3], -k * q[4], -k * q[5], -k * q[6] - F[3] * F[4])
    c[0], c[1], c[2] = cross(F[0] * v[0], F[1] * v[1], F[2] * v[2], v[0], v[1], v[2])
    c[3], c[4], c[5] = cross(F[3] * v[3], F[3] * v[4], F[3] * v[5], v[0], v[1], v[2])


@kernel
def body_potential(F, q):
    length = np.sqrt(q[4] * q[4] + q[5] * q[5] + q[6] * q[6])
    return F[3] * F[4] * q[6] + 0.5 * F[5] * (length - F[6]) ** 2


# ---- a free body with a slider on a spring, on SE(3) × ℝ: M depends on the slider's place x, r = (x, b, 0)
# F = three inertias, mass, mass of the slider, b, stiffness, length of the spring, cubic stiffness


@kernel
def slider_velocity(F, x, v):
    """Of the slider, in the body: v + w×r + ẋ e_x."""
    a, b, c = cross(v[0], v[1], v[2], x, F[5], 0.0)
    return v[3] + a + v[6], v[4] + b, v[5] + c


@kernel
def slider_mass(F, q, M):
    """M = diag(J, m, 0) + m_s GᵀG, G = (−r̂, I, e_x), velocity = G v."""
    x, b = q[7], F[5]
    for i in range(49):
        M[i] = 0.0
    for i in range(3):
        M[8 * i], M[8 * (i + 3)] = F[i], F[3]
    # columns of G: e_j × r, e_j, e_x
    for i in range(7):
        gi = slider_column(i, x, b)
        for j in range(7):
            gj = slider_column(j, x, b)
            M[7 * i + j] += F[4] * (gi[0] * gj[0] + gi[1] * gj[1] + gi[2] * gj[2])


@kernel
def slider_column(j, x, b):
    if j == 0:
        return 0.0, 0.0, b
    if j == 1:
        return 0.0, 0.0, -x
    if j == 2:
        return -b, x, 0.0
    return (1.0 if j in (3, 6) else 0.0), (1.0 if j == 4 else 0.0), (1.0 if j == 5 else 0.0)


@kernel
def slider_forces(F, t, q, v, s, c):
    """∂L/∂x = m_s u·(w×e_x) − V′; adT(v) p − Ṁ v by hand."""
    x, m = q[7], F[4]
    u0, u1, u2 = slider_velocity(F, x, v)
    # w × e_x
    d0, d1, d2 = 0.0, v[2], -v[1]
    for i in range(6):
        s[i] = 0.0
    s[6] = m * (u1 * d1 + u2 * d2) - F[6] * (x - F[7]) - F[8] * (x - F[7]) ** 3
    # momentum of the base: n = J w + r × m u, f = m_b v + m u
    n0, n1, n2 = cross(x, F[5], 0.0, m * u0, m * u1, m * u2)
    n0, n1, n2 = n0 + F[0] * v[0], n1 + F[1] * v[1], n2 + F[2] * v[2]
    f0, f1, f2 = F[3] * v[3] + m * u0, F[3] * v[4] + m * u1, F[3] * v[5] + m * u2
    # adT(V)(n, f) = (n×w + f×v, f×w)
    a0, a1, a2 = cross(n0, n1, n2, v[0], v[1], v[2])
    b0, b1, b2 = cross(f0, f1, f2, v[3], v[4], v[5])
    c[3], c[4], c[5] = cross(f0, f1, f2, v[0], v[1], v[2])
    # Ṁ v = ẋ ∂p/∂x at fixed v: (e_x × m u + r × m d, m d, 0)
    g0, g1, g2 = cross(1.0, 0.0, 0.0, m * u0, m * u1, m * u2)
    k0, k1, k2 = cross(x, F[5], 0.0, m * d0, m * d1, m * d2)
    c[0], c[1], c[2] = a0 + b0 - v[6] * (g0 + k0), a1 + b1 - v[6] * (g1 + k1), a2 + b2 - v[6] * (g2 + k2)
    c[3], c[4], c[5] = c[3] - v[6] * m * d0, c[4] - v[6] * m * d1, c[5] - v[6] * m * d2
    c[6] = -v[6] * m * d0


@kernel
def slider_potential(F, q):
    x = q[7] - F[7]
    return 0.5 * F[6] * x * x + 0.25 * F[8] * x**4


# ---- a double pendulum on ℝ²: unit lengths, absolute angles from the vertical; F = two masses, gravity


@kernel
def pendulum_mass(F, q, M):
    k = F[1] * np.cos(q[0] - q[1])
    M[0], M[1], M[2], M[3] = F[0] + F[1], k, k, F[1]


@kernel
def pendulum_forces(F, t, q, v, s, c):
    sine = F[1] * np.sin(q[0] - q[1])
    s[0] = -sine * v[0] * v[1] - (F[0] + F[1]) * F[2] * np.sin(q[0])
    s[1] = sine * v[0] * v[1] - F[1] * F[2] * np.sin(q[1])
    rate = -sine * (v[0] - v[1])
    c[0], c[1] = -rate * v[1], -rate * v[0]


@kernel
def pendulum_potential(F, q):
    return -(F[0] + F[1]) * F[2] * np.cos(q[0]) - F[1] * F[2] * np.cos(q[1])


# ---- all of them

TOP, BODY, SLIDER, PENDULUM = range(4)


@kernel
def mass(I, F, q, M):
    if I[0] == TOP:
        top_mass(F, q, M)
    elif I[0] == BODY:
        body_mass(F, q, M)
    elif I[0] == SLIDER:
        slider_mass(F, q, M)
    else:
        pendulum_mass(F, q, M)


@kernel
def forces(I, F, t, q, v, s, c):
    if I[0] == TOP:
        top_forces(F, t, q, v, s, c)
    elif I[0] == BODY:
        body_forces(F, t, q, v, s, c)
    elif I[0] == SLIDER:
        slider_forces(F, t, q, v, s, c)
    else:
        pendulum_forces(F, t, q, v, s, c)


@kernel
def potential(I, F, q):
    if I[0] == TOP:
        return top_potential(F, q)
    if I[0] == BODY:
        return body_potential(F, q)
    if I[0] == SLIDER:
        return slider_potential(F, q)
    return pendulum_potential(F, q)


@kernel(forceinline=False)
def momentum(I, F, q, v, W, out):
    n = I[1]
    mass(I, F, q, W)
    for i in range(n):
        out[i] = 0.0
        for j in range(n):
            out[i] += W[n * i + j] * v[j]
    return 0


@kernel(forceinline=False)
def factorise(I, F, q, alpha, beta, W):
    """Cholesky's factor of M after M in W; the systems have no stiffness or damping worth the trouble."""
    n = I[1]
    mass(I, F, q, W)
    for i in range(n):
        for j in range(i + 1):
            total = W[n * i + j]
            for k in range(j):
                total -= W[n * n + n * i + k] * W[n * n + n * j + k]
            W[n * n + n * i + j] = np.sqrt(total) if i == j else total / W[n * n + n * j + j]
    return 0


@kernel(forceinline=False)
def substitute(I, F, r, W, out):
    n = I[1]
    for i in range(n):
        out[i] = r[i]
        for k in range(i):
            out[i] -= W[n * n + n * i + k] * out[k]
        out[i] /= W[n * n + n * i + i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            out[i] -= W[n * n + n * k + i] * out[k]
        out[i] /= W[n * n + n * i + i]
    return 0


@kernel(forceinline=False)
def slope(I, F, t, q, v, W, out):
    # what a factorisation left is not kept: a method must not count on it
    W[I[1] * I[1]] = np.nan
    forces(I, F, t, q, v, out, W)
    return 0


@kernel(forceinline=False)
def acceleration(I, F, t, q, v, W, out):
    n = I[1]
    factorise(I, F, q, 0.0, 0.0, W)
    s, c = W[2 * n * n : 2 * n * n + n], W[2 * n * n + n : 2 * n * n + 2 * n]
    forces(I, F, t, q, v, s, c)
    for i in range(n):
        s[i] += c[i]
    return substitute(I, F, s, W, out)


@kernel(forceinline=False)
def residual(I, F, t, q, v, a, W, out):
    n = I[1]
    momentum(I, F, q, a, W, out)
    s, c = W[2 * n * n : 2 * n * n + n], W[2 * n * n + n : 2 * n * n + 2 * n]
    forces(I, F, t, q, v, s, c)
    for i in range(n):
        out[i] -= s[i] + c[i]
    return 0


@kernel(forceinline=False)
def resistance(I, F, alpha, beta, x, out):
    for i in range(I[1]):
        out[i] = 0.0
    return 0


@kernel(forceinline=False)
def energy(I, F, t, q, v, W):
    n = I[1]
    p = W[2 * n * n : 2 * n * n + n]
    momentum(I, F, q, v, W, p)
    total = potential(I, F, q)
    for i in range(n):
        total += 0.5 * v[i] * p[i]
    return total


DYNAMICS = li.Dynamics(acceleration, residual, momentum, slope, factorise, substitute, resistance, energy)
# the same in plain Python
PLAIN = li.Dynamics(*(getattr(function, "py_func", function) for function in DYNAMICS))


def make(kind, group, floats, dynamics=DYNAMICS):
    n = group.dim
    return li.System(group, dynamics, np.array([kind, n]), np.array(floats, dtype=float), work=2 * n * n + 2 * n)


ATTITUDE, POSE = Product({"attitude": SO3Q}), Product({"pose": SE3Q})
free_body = make(TOP, ATTITUDE, [1.0, 2.0, 3.5, 0.0, 0.0, 0.0])
heavy_top = make(TOP, ATTITUDE, [1.0, 1.3, 0.7, 2.0, 0.0, 0.0])
lagrange_top = make(TOP, ATTITUDE, [1.0, 1.0, 0.7, 2.0, 0.0, 0.0])
driven_top = make(TOP, ATTITUDE, [1.0, 1.3, 0.7, 2.0, 0.8, 0.3])
floating_body = make(BODY, POSE, [1.0, 2.0, 2.5, 1.5, 0.0, 0.0, 0.0])
falling_body = make(BODY, POSE, [1.0, 2.0, 2.5, 1.5, 2.0, 0.0, 0.0])
orbiting_body = make(BODY, POSE, [1.0, 2.0, 2.5, 1.5, 0.0, 3.0, 0.7])
hanging_body = make(BODY, POSE, [1.0, 2.0, 2.5, 1.5, 2.0, 3.0, 0.7])
slider = make(SLIDER, Product({"pose": SE3Q, "slider": R(1)}), [1.0, 1.4, 1.9, 2.0, 0.6, 0.4, 5.0, 0.3, 4.0])
double_pendulum = make(PENDULUM, Product({"angles": R(2)}), [1.0, 0.6, 3.0])

W0 = [0.4, -0.7, 1.2]
Q0 = SO3Q.exp([0.8, -0.3, 0.4])
SYSTEMS = {
    "free body": (free_body, Q0, W0),
    "heavy top": (heavy_top, Q0, [0.4, -0.3, 2.5]),
    "lagrange top": (lagrange_top, Q0, [0.4, -0.3, 2.5]),
    "driven top": (driven_top, Q0, [0.4, -0.3, 1.5]),
    "floating body": (floating_body, [*Q0, 0.3, 0.5, -1.1], [*W0, 0.3, -0.2, 0.5]),
    "falling body": (falling_body, [*Q0, 0.3, 0.5, -1.1], [*W0, 0.3, -0.2, 0.5]),
    "orbiting body": (orbiting_body, [*Q0, 0.3, 0.5, -1.1], [*W0, 0.3, -0.2, 0.5]),
    "hanging body": (hanging_body, [*Q0, 0.3, 0.5, -1.1], [*W0, 0.3, -0.2, 0.5]),
    "slider": (slider, [*Q0, 0.3, 0.5, -1.1, 0.5], [*W0, 0.3, -0.2, 0.5, 0.4]),
    "double pendulum": (double_pendulum, [1.1, -0.4], [0.2, 0.6]),
}


def problem_of(name, t_end=1.0):
    system, q, v = SYSTEMS[name]
    return li.Problem.of(system, q, v, t_end, name=name)


def energy_of(system, y, t=0.0):
    """The energies of states (… × nq + nv)."""
    W, nv = np.full(system.work, np.nan), system.group.dim
    states = np.reshape(y, (-1, y.shape[-1]))
    values = [system.dynamics.energy(system.ints, system.floats, t, s[:-nv], s[-nv:], W) for s in states]
    return np.reshape(values, y.shape[:-1])


def momentum_of(system, q, v):
    """M(q) v."""
    out = np.empty(system.group.dim)
    system.dynamics.momentum(
        system.ints, system.floats, np.asarray(q), np.asarray(v), np.full(system.work, np.nan), out
    )
    return out


def spatial_momentum(system, y):
    """AdT(q⁻¹) p of the first factor, in the world: constant where nothing from outside acts."""
    nv = system.group.dim
    name, group = next(iter(system.group.factors.items()))
    where_q, where_v = system.group.q[name], system.group.v[name]
    found = [
        group.AdT_apply(group.inverse(s[where_q]), momentum_of(system, s[:-nv], s[-nv:])[where_v])
        for s in np.reshape(y, (-1, y.shape[-1]))
    ]
    return np.reshape(found, (*y.shape[:-1], group.dim))


# ---- linear equations, for Magnus methods


@numba.njit
def turning(t, X, out):
    """A(t) on SO(3) that does not commute with what it was."""
    out[0], out[1], out[2] = np.cos(2.0 * t), 1.5 * np.sin(t), 0.7 + t * t / 4.0


@numba.njit
def screwing(t, X, out):
    """A(t) on SE(3)."""
    for a in range(3):
        out[a] = np.cos((a + 1.0) * t)
        out[a + 3] = np.sin(t + a) + 0.5 * t


LINEAR = {
    "turning": li.Problem(SO3, turning, SO3.exp([0.3, -0.2, 0.5]), 2.0, name="turning"),
    "screwing": li.Problem(SE3, screwing, SE3.exp([0.3, -0.2, 0.5, 1.0, 0.0, -1.0]), 2.0, name="screwing"),
}


def names_for(method):
    """The mechanical systems that a mechanical method can be tried on: an energy method not on one with damping."""
    return [name for name in SYSTEMS if not ("energy" in method.properties and name == "driven top")]


def named(method):
    return method.name


MECHANICAL = [method for method in li.ALL_INTEGRATORS if method.mechanical]


def having(word):
    """All methods that declare a property."""
    return [method for method in li.ALL_INTEGRATORS if word in method.properties]
