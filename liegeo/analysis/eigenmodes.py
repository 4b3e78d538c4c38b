"""Eigenvalues and shapes of a linear model, with rigid motions split off before anything is rounded.

In coordinates z and speeds w, with first-order states χ and the mass matrix M,

    ż = T z + w,      M ẇ = −K z − C w + B χ,      χ̇ = E (z, w, χ).                                              (1)

T is zero but for joints that do not commute and turn at the operating point (linear.py (5)).

**Rigid motions** are displacements on which no force and no rate depends, now or later: the largest subspace Z with

    K Z = 0,      E_z Z = 0,      T Z ⊂ Z.                                                                         (2)

The rank of K is judged against its round-off, ε |M| |M⁻¹K|, after rows and columns are brought to the same size, so
that a soft spring beside a stiff one is a spring.  Where loops make coordinates depend on others, ε |K| is added, in
coordinates of unit mass.  With z = Z a + Z₁ b, Z₁ᵀM Z = 0, no equation contains a but its own,

    ȧ = T_a a + (T_ab b + w_a),      ẏ = R y,    y = (w_a, b, w_b, χ).                                             (3)

So the eigenvalues are those of T_a, which are 0 and ±iΩ and belong to rigid displacements at rest in the fixed frame,
and those of R.  **Drifts** are the steady speeds of rigid motions: they let a grow with the time, so that with the
eigenvalue τ of T_a

    R y = τ y,      Π_τ (T_ab b + w_a) ≠ 0,    Π_τ the projector of T_a.                                          (4)

With x = w_a that is S(τ) x = (R_aa − τ − R_ar (R_rr − τ)⁻¹ R_ra) x = 0, a matrix as small as the number of rigid
motions.  A drift is the same rigid motion seen after a while, and R is compressed to what is left without it.  A
spinning body keeps three drifts of its centre and one of its spin; the other two make its nutation.

**Without damping** eigenvalues come from problems that leave them on the axis.  With G = 0 and K ≥ 0, let r coordinates
be held that stop all rigid motions, K_g = L_K L_Kᵀ the stiffness of the others, and M = L Lᵀ, Q = LᵀZ.  Singular values

    (1 − Q Qᵀ) Lᵀ L_K⁻ᵀ = U diag(1/ω) Vᵀ,      Φ = L⁻ᵀ U                                                          (5)

are accurate to round-off for the slowest modes, whatever the stiffest is.  With G ≠ 0, in these shapes,

    d/dt (w_a, w_b, ω b) = W (w_a, w_b, ω b),      W = −Wᵀ = [−G, −(0, ω); (0, ω), 0],                            (6)

and i W is Hermitian (Meirovitch's form of gyroscopic systems).  With damping, (6) with −C in the place of −G is solved
as it stands.  Few modes of a large system come from Lanczos' and Arnoldi's methods on the inverse, one
factorisation; at rest large.py finds them without M and K.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from liegeo._lazy import late

if TYPE_CHECKING:
    import scipy.linalg as sla
    import scipy.sparse.linalg as ssl
else:
    sla, ssl = late("scipy.linalg"), late("scipy.sparse.linalg")

Array = NDArray[Any]

#: What of damping and gyroscopic terms modes have.
DAMPED, GYROSCOPIC, UNDAMPED = "damped", "gyroscopic", "undamped"
KINDS = (DAMPED, GYROSCOPIC, UNDAMPED)

_EPS = float(np.finfo(np.float64).eps)
# Round-off of derivatives, in units of the last place of what they are summed from.
_ULPS = 100.0
# How much more there is where coordinates depend on others.
_CLOSED = 100.0
# A drift leaves less of (4) than this share of its terms; a vector is in a subspace if less than this share is outside.
_DRIFT, _INSIDE = 1e-8, 1e-7
# How far K may be from symmetric, as a share of √(K_ii K_jj).
_SYMMETRIC = 1e-10
# Eigenvalues of rigid motions count as one within this share of the largest.
_ALIKE = 1e-5
# Larger systems of which few modes are asked for are solved by iteration.
_LARGE, _FEW = 400, 0.2


class Eigenmodes(NamedTuple):
    """Rigid motions (n × r, of unit mass), and eigenvalues with Im λ ≥ 0 with their shapes (n × k)."""

    rigid: Array
    values: Array
    shapes: Array


class _System(NamedTuple):
    """The matrices of (1); `noise` is the round-off of K and C."""

    M: Array
    T: Array
    K: Array
    C: Array
    B: Array
    E: Array
    noise_K: Array
    noise_C: Array
    rate: float


def eigenmodes(
    A: Array, M: Array, kind: str = DAMPED, number: int | None = None, rate: float = 0.0, closed: bool = False
) -> Eigenmodes:
    """Return the spectrum of ẋ = A x with the mass matrix of its coordinates, all of it or the slowest `number`.

    `rate` is the largest speed of the motion that A is about, from which gyroscopic terms and their round-off come.
    `closed` says that loops made the coordinates, so that each has round-off of the others.
    """
    n = len(M)
    if not n:
        values, _ = np.linalg.eig(A) if A.size else (np.zeros(0, complex), None)
        kept = _upper(values)
        return Eigenmodes(np.zeros((0, 0)), values[kept], np.zeros((0, len(kept)), complex))
    system = _system(A, M, kind, rate, closed)
    Z, held = _rigid(system)
    stiffness = np.sqrt(np.abs(np.diag(system.K)))
    symmetric = not system.T.any() and _near(
        system.K, system.K.T, system.noise_K + _SYMMETRIC * np.outer(stiffness, stiffness)
    )
    conservative = symmetric and not len(system.E) and _near(system.C, -system.C.T, system.noise_C)
    gyroscopic = bool((np.abs(system.C) > system.noise_C).any())
    few = number is not None and n > _LARGE and number < _FEW * n
    if symmetric and conservative and not gyroscopic:
        found = _undamped(system, Z, held, number if few else None)
        if found is not None:
            values, shapes = found
            return Eigenmodes(Z, *_first(1j * values, shapes.astype(complex), number))
        # some stiffness is negative
        S = _complement(system.M, Z)
        squares, vectors = np.linalg.eigh(_half(S.T @ system.K @ S))
        roots = np.sqrt(squares.astype(complex))
        falls = np.flatnonzero(squares < 0.0)
        values = np.concatenate([1j * roots, -1j * roots[falls]])
        shapes = S @ np.concatenate([vectors, vectors[:, falls]], axis=1)
        return Eigenmodes(Z, *_first(values, shapes.astype(complex), number))
    if few and number is not None and symmetric and not len(system.E):
        iterated = _few(system, Z, held, number)
        if iterated is not None:
            return Eigenmodes(Z, *_first(*iterated, number))
    modal = None if few or not symmetric else _undamped(system, Z, held, None)
    if modal is not None and conservative:
        return Eigenmodes(Z, *_first(*_hermitian(system, Z, *modal), number))
    return Eigenmodes(Z, *_first(*_general(system, Z, modal, number if few else None), number))


def _system(A: Array, M: Array, kind: str, rate: float, closed: bool) -> _System:
    n = len(M)
    T, by_z, by_w = A[:n, :n], A[n : 2 * n, :n], A[n : 2 * n, n : 2 * n]
    B, E = M @ A[n : 2 * n, 2 * n :], A[2 * n :]
    K, C = -M @ by_z, -M @ by_w
    noise = _ULPS * _EPS * np.abs(M)
    noise_K, noise_C = noise @ np.abs(by_z), noise @ np.abs(by_w)
    if closed:
        # a unit of kinetic energy in one coordinate has an error of ε in all others
        size = np.sqrt(np.diag(M))
        noise_K = noise_K + _CLOSED * _ULPS * _EPS * np.abs(K) @ np.outer(1.0 / size, size)
    if kind != DAMPED:
        # in z and ż, first-order states being held
        K, C = K - C @ T, C - M @ T
        noise_K, noise_C = noise_K + noise_C @ np.abs(T), noise_C + noise @ np.abs(T)
        K, C = _half(K), 0.5 * (C - C.T) if kind == GYROSCOPIC else np.zeros_like(C)
        T, B, E = np.zeros_like(T), np.zeros((n, 0)), np.zeros((0, 2 * n))
    noise_K, noise_C = np.maximum(noise_K, noise_K.T), np.maximum(noise_C, noise_C.T)
    K = np.where(np.abs(K) > noise_K, K, 0.0)
    C = np.where(np.abs(C) > noise_C, C, 0.0)
    return _System(M, T, K, C, B, E, noise_K, noise_C, rate)


def _half(K: Array) -> Array:
    return 0.5 * (K + K.T)


def _near(first: Array, second: Array, noise: Array) -> bool:
    """Whether two matrices differ by round-off alone."""
    return bool((np.abs(first - second) <= noise + 1e-11 * np.abs(first)).all())


def _rigid(system: _System) -> tuple[Array, Array]:
    """Return Z of (2), ZᵀM Z = 1, and as many coordinates that stop all rigid motions if they are held."""
    n = len(system.M)
    E = system.E[:, :n]
    whole = np.concatenate([system.K, E])
    noise = np.concatenate(
        [system.noise_K, _ULPS * _EPS * np.abs(system.E).max(axis=1, initial=0.0)[:, None] + 0.0 * E]
    )
    whole[n:][np.abs(E) <= noise[n:]] = 0.0
    # rows and columns of the same size; those that are zero stay as they are
    rows, columns = np.ones(len(whole)), np.ones(n)
    for _ in range(8):
        scaled = np.abs(whole) * rows[:, None] * columns
        by_row, by_column = scaled.max(axis=1, initial=0.0), scaled.max(axis=0, initial=0.0)
        rows /= np.sqrt(np.where(by_row > 0.0, by_row, 1.0))
        columns /= np.sqrt(np.where(by_column > 0.0, by_column, 1.0))
    # zero columns are exact; others are scaled by their size
    scaled = whole * rows[:, None] * columns
    allowed = 10.0 * n * _EPS + np.linalg.norm(np.where(whole == 0.0, 0.0, noise) * rows[:, None] * columns)
    Y = _null(scaled, min(float(allowed), 1e-6))
    # the sizes of coordinates that nothing depends on are those of their inertia
    idle = ~whole.any(axis=0)
    columns[idle] = 1.0 / np.sqrt(np.diag(system.M)[idle])
    Y = _invariant(system.T * columns / columns[:, None], Y)
    if not Y.shape[1]:
        return np.zeros((n, 0)), np.zeros(0, dtype=int)
    _, _, pivots = sla.qr(Y.T, pivoting=True, mode="economic")
    Z = columns[:, None] * Y
    triangle = np.linalg.cholesky(Z.T @ system.M @ Z)
    return np.linalg.solve(triangle, Z.T).T, np.sort(pivots[: Y.shape[1]])


def _null(matrix: Array, tolerance: float) -> Array:
    """Return an orthonormal basis of what a matrix takes to zero."""
    n = matrix.shape[1]
    if n <= _LARGE:
        _, sizes, V = np.linalg.svd(matrix)
        return np.asarray(V[int((sizes > tolerance).sum()) :].T)
    R, order = sla.qr(matrix, pivoting=True, mode="r")
    rank = int((np.abs(np.diag(R)) > tolerance).sum())
    basis = np.zeros((n, n - rank))
    basis[order[:rank]] = -sla.solve_triangular(R[:rank, :rank], R[:rank, rank:])
    basis[order[rank:]] = np.eye(n - rank)
    return np.linalg.qr(basis)[0]


def _invariant(T: Array, Y: Array) -> Array:
    """Return the largest part of the span of Y that T maps into itself."""
    while Y.shape[1] and T.any():
        moved = T @ Y
        outside = moved - Y @ (Y.T @ moved)
        _, sizes, V = np.linalg.svd(outside)
        left = int((sizes > _INSIDE * np.abs(T).max()).sum())
        if not left:
            break
        Y = np.linalg.qr(Y @ V[left:].T)[0]
    return Y


def _complement(M: Array, Z: Array) -> Array:
    """Return Z₁ with Z₁ᵀM Z₁ = 1 and Z₁ᵀM Z = 0."""
    upper = np.linalg.cholesky(M).T
    Q = np.linalg.qr(upper @ Z, mode="complete")[0] if Z.shape[1] else np.eye(len(M))
    return sla.solve_triangular(upper, Q[:, Z.shape[1] :])


def _undamped(system: _System, Z: Array, held: Array, number: int | None) -> tuple[Array, Array] | None:
    """Return ω and Φ by (5), slowest first; None if K is not positive."""
    grounded = _grounded(system, held)
    if grounded is None:
        return None
    free, L_K = grounded
    upper = np.linalg.cholesky(system.M).T
    Q = upper @ Z
    if number is None:
        X = sla.solve_triangular(L_K, upper[:, free].T, lower=True).T
        U, inverse, _ = np.linalg.svd(X - Q @ (Q.T @ X), full_matrices=False)
    else:

        def flexibility(x: Array) -> Array:
            y = upper.T @ (x - Q @ (Q.T @ x))
            z = np.zeros_like(y)
            z[free] = sla.cho_solve((L_K, True), y[free])
            out = upper @ z
            return np.asarray(out - Q @ (Q.T @ out))

        whole = ssl.LinearOperator(system.M.shape, matvec=flexibility, dtype=np.float64)
        squares, U = ssl.eigsh(whole, number, v0=_begin(len(system.M)))
        order = np.argsort(-squares)
        inverse, U = np.sqrt(squares[order]), U[:, order]
    return 1.0 / inverse, sla.solve_triangular(upper, U)


def _grounded(system: _System, held: Array) -> tuple[Array, Array] | None:
    """Return the coordinates that are not held and Cholesky's factor of their stiffness; None if it is not positive."""
    free = np.setdiff1d(np.arange(len(system.M)), held)
    try:
        return free, np.linalg.cholesky(_half(system.K)[np.ix_(free, free)])
    except np.linalg.LinAlgError:
        return None


def _few(system: _System, Z: Array, held: Array, number: int) -> tuple[Array, Array] | None:
    """Return the slowest eigenvalues of a large damped system whose rigid motions nothing damps, from R⁻¹.

    With P = 1 − Z ZᵀM and the flexibility F of the system that is held, R (b, w) = (x, y) has the solution
    w = P x, b = −P F Pᵀ (C x + M y), which takes nothing but the factor of the stiffness.
    """
    grounded = _grounded(system, held)
    if grounded is None or np.abs(Z.T @ system.C).max(initial=0.0) > np.linalg.norm(np.abs(Z).T @ system.noise_C):
        return None
    free, L_K = grounded
    M, C, n = system.M, system.C, len(system.M)
    MZ = M @ Z

    def inverse(both: Array) -> Array:
        x, y = both[:n] - Z @ (MZ.T @ both[:n]), both[n:]
        load = C @ x + M @ y
        load = load - MZ @ (Z.T @ load)
        b = np.zeros(n)
        b[free] = -sla.cho_solve((L_K, True), load[free])
        return np.concatenate([b - Z @ (MZ.T @ b), x])

    whole = ssl.LinearOperator((2 * n, 2 * n), matvec=inverse, dtype=np.float64)
    values, Y = ssl.eigs(whole, 2 * number + 2, v0=_begin(2 * n))
    values = 1.0 / values
    kept = _upper(values)
    return values[kept], Y[:n, kept]


def _begin(n: int) -> Array:
    """Return the vector with which iterations begin: any, but always the same."""
    return np.random.default_rng(0).normal(size=n)


def _hermitian(system: _System, Z: Array, omega: Array, shapes: Array) -> tuple[Array, Array]:
    """Return eigenvalues and shapes by (6)."""
    r, m = Z.shape[1], len(omega)
    S = np.concatenate([Z, shapes], axis=1)
    G = S.T @ system.C @ S
    G = 0.5 * (G - G.T)
    W = np.zeros((r + 2 * m,) * 2)
    W[: r + m, : r + m] = -G
    W[r : r + m, r + m :], W[r + m :, r : r + m] = -np.diag(omega), np.diag(omega)
    still = _null_size(G[:r, :r], np.abs(G[:r]).max(initial=0.0), Z, system)
    mu, Y = np.linalg.eigh(1j * W)
    # W y = −i μ y; steady speeds are the zeros
    drifting = np.argsort(np.abs(mu), kind="stable")[:still]
    kept = np.setdiff1d(np.flatnonzero(mu < 0.0), drifting)
    values = -1j * mu[kept]
    # displacements are speeds over λ
    return values, S @ (Y[: r + m, kept] / values)


def _null_size(S: Array, scale: float, Z: Array, system: _System) -> int:
    """Return the number of steady speeds among those of the rigid motions, from S of (4)."""
    if not len(S):
        return 0
    floor = float(np.linalg.norm(np.abs(Z).T @ system.noise_C @ np.abs(Z))) + _ULPS * _EPS * system.rate
    return int((np.linalg.svd(S, compute_uv=False) <= max(_DRIFT * scale, floor)).sum())


def _general(system: _System, Z: Array, modal: tuple[Array, Array] | None, number: int | None) -> tuple[Array, Array]:
    """Return eigenvalues and shapes of (3) without its drifts."""
    r, n, nx = Z.shape[1], len(system.M), len(system.E)
    m = n - r
    shapes = _complement(system.M, Z) if modal is None else modal[1]
    scale = np.ones(m) if modal is None else modal[0]
    S = np.concatenate([Z, shapes], axis=1)
    back = S.T @ system.M
    T, C, B = back @ system.T @ S, S.T @ system.C @ S, S.T @ system.B
    K = S.T @ system.K @ shapes if modal is None else np.concatenate([np.zeros((r, m)), np.diag(scale**2)])
    a, b, wb, x = slice(0, r), slice(r, r + m), slice(r + m, r + 2 * m), slice(r + 2 * m, r + 2 * m + nx)
    speeds = [*range(r), *range(r + m, r + 2 * m)]
    R = np.zeros((r + 2 * m + nx,) * 2)
    R[np.ix_(speeds, speeds)] = -C
    R[speeds, b] = -K / scale
    R[speeds, x] = B
    R[b, b] = T[r:, r:] * scale[:, None] / scale
    R[b, wb] = np.diag(scale)
    R[x, b] = system.E[:, :n] @ shapes / scale
    R[np.ix_(range(r + 2 * m, len(R)), speeds)] = system.E[:, n : 2 * n] @ S
    R[x, x] = system.E[:, 2 * n :]
    # ȧ = T_a a + push y
    T_a = T[:r, :r]
    push = np.zeros((r, len(R)))
    push[:, a], push[:, b] = np.eye(r), T[:r, r:] / scale
    X = _drifts(R, T_a, push, Z, system)
    values, Y = _eigen(R, X, number)
    shapes_b = Y[b] / scale[:, None]
    shapes_a = np.zeros((r, len(values)), complex)
    for k, value in enumerate(values):
        shapes_a[:, k] = np.linalg.lstsq(value * np.eye(r) - T_a, push @ Y[:, k], rcond=1e-12)[0] if r else 0.0
    return values, S @ np.concatenate([shapes_a, shapes_b])


def _drifts(R: Array, T_a: Array, push: Array, Z: Array, system: _System) -> Array:
    """Return a basis of the solutions of (4)."""
    r, size = len(T_a), len(R)
    found: list[Array] = []
    values = np.linalg.eigvals(T_a)
    left = np.ones(r, dtype=bool)
    while left.any():
        # eigenvalues that are the same but for rounding; along a screw they are defective
        near = left & (np.abs(values - values[np.argmax(left)]) <= _ALIKE * np.abs(values).max())
        left &= ~near
        tau = complex(values[near].mean())
        if tau.imag < 0.0:
            continue
        rest = R[r:, r:] - tau * np.eye(size - r)
        try:
            inner = -np.linalg.solve(rest, R[r:, :r].astype(complex)) if size > r else np.zeros((0, r), complex)
        except np.linalg.LinAlgError:
            inner = -np.linalg.lstsq(rest, R[r:, :r].astype(complex), rcond=None)[0]
        S = R[:r, :r] - tau * np.eye(r) + R[:r, r:] @ inner
        scale = float((np.abs(R[:r, :r]) + np.abs(R[:r, r:]) @ np.abs(inner)).max(initial=0.0)) + abs(tau)
        still = _null_size(S, scale, Z, system)
        if not still:
            continue
        x = np.linalg.svd(S)[2][r - still :].conj().T
        y = np.concatenate([x, inner @ x])
        # rows that span the left vectors of the eigenvalue, whatever their chains are
        power = np.linalg.matrix_power(T_a - tau * np.eye(r), int(near.sum()))
        rows = np.linalg.svd(power)[0][:, r - int(near.sum()) :].conj().T
        pushed = rows @ (push @ y)
        _, sizes, V = np.linalg.svd(pushed)
        y = y @ V[: int((sizes > _INSIDE * np.linalg.norm(y)).sum())].conj().T
        found += [y.real, y.imag] if tau.imag > _ALIKE * np.abs(values).max() else [y.real]
    return np.concatenate(found, axis=1) if found else np.zeros((size, 0))


def _eigen(R: Array, X: Array, number: int | None) -> tuple[Array, Array]:
    """Return the eigenvalues of R, Im λ ≥ 0, but those of its invariant subspace X, and the eigenvectors."""
    d = X.shape[1]
    if not d:
        values, Y = _solve(R, number)
        return values, Y
    Q = np.linalg.qr(X, mode="complete")[0]
    # numbers that are not coupled stay apart
    Q[np.abs(Q) < 4.0 * _EPS] = 0.0
    moved = Q.T @ R @ Q
    values, Y = _solve(moved[d:, d:], number)
    inside = np.array(
        [np.linalg.lstsq(value * np.eye(d) - moved[:d, :d], moved[:d, d:] @ y, rcond=None)[0]
         for value, y in zip(values, Y.T, strict=True)]
    ).reshape(-1, d).T  # fmt: skip
    return values, Q @ np.concatenate([inside, Y])


def _solve(R: Array, number: int | None) -> tuple[Array, Array]:
    if not len(R):
        return np.zeros(0, complex), np.zeros((0, 0), complex)
    if number is None or 2 * number + 4 >= len(R):
        values, Y = np.linalg.eig(R)
    else:
        factors = sla.lu_factor(R)
        inverse = ssl.LinearOperator(R.shape, matvec=lambda x: sla.lu_solve(factors, x), dtype=np.float64)
        values, Y = ssl.eigs(inverse, 2 * number + 2, v0=_begin(len(R)))
        values = 1.0 / values
    kept = _upper(values)
    return values[kept].astype(complex), Y[:, kept].astype(complex)


def _upper(values: Array) -> Array:
    """Return the places of one of each complex pair and of all real numbers, slowest first."""
    kept = np.flatnonzero(values.imag >= 0.0)
    return kept[np.argsort(np.abs(values[kept]), kind="stable")]


def _first(values: Array, shapes: Array, number: int | None) -> tuple[Array, Array]:
    order = np.argsort(np.abs(values), kind="stable")[:number]
    return values[order], shapes[:, order]


__all__ = ["DAMPED", "GYROSCOPIC", "KINDS", "UNDAMPED", "Eigenmodes", "eigenmodes"]
