"""Oracle for the Lie groups: definitions summed in mpmath.  It must never import liegeo.

Nothing here knows a closed form of exp, ad or dexp.  What is known: the hat matrices, which fix the conventions, and

    exp(V)        = Σ hat(V)^k / k!,                                                  (1)
    hat(ad(V) U)  = hat(V) hat(U) − hat(U) hat(V),                                    (2)
    dexp(V)       = Σ (± ad(V))^k / (k + 1)!,   + left, − right,                      (3)
    c_k(x)        = Σ (−x)^i / (k + 2i)!.                                             (4)

Derivatives are central differences with a step of 1e-20: their error is that of the step squared, 1e-40.  80 digits are
carried, so sums are good to well over 50, and differences lose nothing that the step has not lost already.

Numbers come in as float64 and are taken exactly.  Matrices are numpy arrays of mpf (dtype object).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from mpmath.ctx_mp import MPContext

#: A context of our own, so that nobody else's precision changes.
mp = MPContext()
mp.dps = 80

STEP = mp.mpf(10) ** -20
_NEGLIGIBLE = mp.mpf(10) ** -78
#: By name: dimension of the algebra, size of its matrices.
SIZES = {"SO3": (3, 3), "SE3": (6, 4), "SE2": (3, 3)}


# ---------------------------------------------------------------- arrays of mpf


def exact(values: Any) -> Any:
    """float64 numbers (or mpf) as mpf, without rounding."""
    array = np.asarray(values, dtype=object)
    return np.array([mp.mpf(a) for a in array.flat], dtype=object).reshape(array.shape)


def norm(array: Any) -> Any:
    """Euclidean (Frobenius) norm."""
    return mp.sqrt(mp.fsum(a * a for a in np.asarray(array, dtype=object).flat))


def eye(n: int) -> Any:
    return exact(np.eye(n))


def inverse(matrix: Any) -> Any:
    """Gauss–Jordan with row pivoting."""
    n = len(matrix)
    rows = np.concatenate([matrix, eye(n)], axis=1)
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r, i]))
        rows[[i, pivot]] = rows[[pivot, i]]
        rows[i] = rows[i] / rows[i, i]
        for r in range(n):
            if r != i:
                rows[r] = rows[r] - rows[r, i] * rows[i]
    return rows[:, n:]


def _largest(matrix: Any) -> Any:
    return max(abs(a) for a in matrix.flat)


def _even_odd(matrix: Any, shift: int) -> tuple[Any, Any]:
    """The even and the odd terms of Σ M^k / (k + shift)!, shift 0 or 1."""
    term = eye(len(matrix))
    sums = [term, 0 * term]
    small = k = 0
    while small < 2:  # two in a row: a single one can vanish by chance
        k += 1
        term = (term @ matrix) / (k + shift)
        sums[k % 2] = sums[k % 2] + term
        small = small + 1 if _largest(term) <= _NEGLIGIBLE else 0
    return sums[0], sums[1]


# ---------------------------------------------------------------- the algebra


def hat(name: str, V: Any) -> Any:
    """The conventions: angular part first, hat(w) u = w×u, homogeneous matrices."""
    V = exact(V)
    dim, size = SIZES[name]
    if V.shape != (dim,):
        raise ValueError(f"{name}: V has shape {V.shape}, expected ({dim},)")
    out = exact(np.zeros((size, size)))
    if name == "SE2":
        out[1, 0], out[0, 1] = V[0], -V[0]
        out[0, 2], out[1, 2] = V[1], V[2]
        return out
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[k, j], out[j, k] = V[i], -V[i]
    if name == "SE3":
        out[:3, 3] = V[3:]
    return out


def vee(name: str, matrix: Any) -> Any:
    """Coordinates of `matrix` in the basis hat(e_1), hat(e_2), …, each read at one entry where only it is not zero."""
    places = {
        "SO3": ((2, 1), (0, 2), (1, 0)),
        "SE3": ((2, 1), (0, 2), (1, 0), (0, 3), (1, 3), (2, 3)),
        "SE2": ((1, 0), (0, 2), (1, 2)),
    }[name]
    return np.array([matrix[p] for p in places], dtype=object)


def ad(name: str, V: Any) -> Any:
    """(2), column by column."""
    v_hat = hat(name, V)
    basis = [hat(name, row) for row in np.eye(SIZES[name][0])]
    return np.stack([vee(name, v_hat @ b - b @ v_hat) for b in basis], axis=1)


# ---------------------------------------------------------------- exp, dexp


def expm(matrix: Any) -> Any:
    """(1): scaled below 1/16, summed, squared back."""
    size = _largest(matrix)
    squarings = max(0, int(mp.ceil(mp.log(16 * size, 2)))) if size > 0 else 0
    even, odd = _even_odd(matrix / mp.mpf(2) ** squarings, 0)
    out = even + odd
    for _ in range(squarings):
        out = out @ out
    return out


def exp(name: str, V: Any) -> Any:
    return expm(hat(name, V))


def dexp(name: str, V: Any) -> tuple[Any, Any]:
    """(3), left and right."""
    even, odd = _even_odd(ad(name, V), 1)
    return even + odd, even - odd


def dexpinv(name: str, V: Any) -> tuple[Any, Any]:
    """The inverses of (3), left and right."""
    left, right = dexp(name, V)
    return inverse(left), inverse(right)


def ddexp(name: str, V: Any, U: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Derivatives in the direction U at V, of dexp (left, right) and of dexpinv (left, right)."""
    V, U = exact(V), exact(U)
    plus, minus = dexp(name, V + STEP * U), dexp(name, V - STEP * U)
    direct = tuple((p - m) / (2 * STEP) for p, m in zip(plus, minus, strict=True))
    inverted = tuple((inverse(p) - inverse(m)) / (2 * STEP) for p, m in zip(plus, minus, strict=True))
    return direct, inverted


def quaternion_exp(w: Any) -> Any:
    """e^(½w), w a pure quaternion: its powers are those of the matrix that multiplies by it."""
    w = exact(w)
    return expm(_multiplication(np.array([mp.mpf(0), *w], dtype=object) / 2, 1))[:, 0]


def _multiplication(q: Any, side: int) -> Any:
    """The matrix of p ↦ q p (side 1) or p ↦ p q (side −1), from Hamilton's rules ij = k = −ji, …"""
    out = q[0] * eye(4)
    out[0, 1:], out[1:, 0] = -q[1:], q[1:]
    out[1:, 1:] = out[1:, 1:] + side * hat("SO3", q[1:])
    return out


# ---------------------------------------------------------------- log


def nearest_rotation(matrix: Any) -> Any:
    """The rotation nearest to a matrix that rounding took off the group (polar decomposition, Newton)."""
    out = exact(matrix)
    for _ in range(30):
        new = (out + inverse(out).T) / 2
        if norm(new - out) < _NEGLIGIBLE:
            return new
        out = new
    raise AssertionError("not near a rotation")


def quaternion_matrix(q: Any) -> Any:
    """The rotation p ↦ q p q*/|q|² of a quaternion [w, x, y, z] of any length."""
    q = exact(q)
    both = _multiplication(q, 1) @ _multiplication(q, -1).T
    return both[1:, 1:] / mp.fsum(a * a for a in q)


def rotation_log(matrix: Any) -> Any:
    """w with e^hat(w) = the rotation nearest to `matrix`, |w| ≤ π; at π its first non-zero component is positive.

    2 sin θ n is the skew part, 2 cos θ the trace less one, (1 − cos θ) n nᵀ + cos θ I the symmetric part.
    """
    R = nearest_rotation(matrix)
    s = vee("SO3", R - R.T) / 2
    cos = (R[0, 0] + R[1, 1] + R[2, 2] - 1) / 2
    angle = mp.atan2(norm(s), cos)
    if angle < 2:
        return s * (angle / mp.sin(angle)) if angle > 0 else s
    dyad = ((R + R.T) / 2 - cos * eye(3)) / (1 - cos)
    column = dyad[:, max(range(3), key=lambda i: dyad[i, i])]
    n = column / norm(column)
    side = s @ n
    if abs(side) < mp.mpf(10) ** -60:  # a half turn to all digits: take the stated branch
        side = next(a for a in n if abs(a) > mp.mpf(10) ** -30)
    return n * (angle if side > 0 else -angle)


def log(name: str, matrix: Any) -> Any:
    """V with exp(V) = `matrix`, SO3 or SE3, as `rotation_log`; the position is taken as it stands."""
    matrix = exact(matrix)
    w = rotation_log(matrix[:3, :3])
    return w if name == "SO3" else np.concatenate([w, translation_log(w, matrix[:3, 3])])


def translation_log(w: Any, p: Any) -> Any:
    """v with e^hat(w, v) = (e^hat(w), p): the position is linear in v, so three exponentials tell its matrix."""
    columns = [exp("SE3", np.concatenate([w, exact(row)]))[:3, 3] for row in np.eye(3)]
    return inverse(np.stack(columns, axis=1)) @ exact(p)


def other_branch(w: Any) -> Any:
    """The logarithm of the same rotation, turned the other way round."""
    return w - 2 * mp.pi * w / norm(w)


# ---------------------------------------------------------------- scalar functions of x = θ²


def stumpff(k: int, x: Any, order: int = 0) -> Any:
    """(4), differentiated `order` times by x, term by term."""
    x = mp.mpf(x)
    i = order
    term = (-1) ** i * mp.factorial(i) / mp.factorial(k + 2 * i)
    total = mp.mpf(0)
    # Terms fall from about i = ½√x on.
    while 4 * i * i < x or abs(term) > _NEGLIGIBLE * abs(total):
        total += term
        i += 1
        term *= -x * i / ((i - order) * (k + 2 * i) * (k + 2 * i - 1))
    return total


def dexpinv_g(x: Any, order: int = 0) -> Any:
    """g(x) = (1 − ½θ cot ½θ)/θ², differentiated `order` times by x.

    Below 1 by the series of the cotangent, Σ (−1)^(k+1) B_2k x^(k−1)/(2k)!; else the formula, and differences of it.
    """
    x = mp.mpf(x)
    if x < 1:
        return mp.fsum(
            (-1) ** (k + 1) * mp.bernoulli(2 * k) * mp.ff(k - 1, order) * x ** (k - 1 - order) / mp.factorial(2 * k)
            for k in range(1 + order, 60)
        )

    def g(y):
        half = mp.sqrt(y) / 2
        return (1 - half * mp.cot(half)) / y

    h = mp.mpf(10) ** -15
    if order == 0:
        return g(x)
    # Central differences with an error of h⁴.
    if order == 1:
        return (8 * (g(x + h) - g(x - h)) - (g(x + 2 * h) - g(x - 2 * h))) / (12 * h)
    return (16 * (g(x + h) + g(x - h)) - (g(x + 2 * h) + g(x - 2 * h)) - 30 * g(x)) / (12 * h * h)
