"""The smallest solution of linear equations in the sense of least squares, without LAPACK.

Of all x with the smallest |A x − b| the one with the smallest |x| is, with the singular values A = U Σ Vᵀ,

    x = V Σ⁺ Uᵀ b,        Σ⁺: 1/σ where σ > tolerance · σ_max, and zero otherwise                                   (1)

[GV13, section 5.5].  The values come from one-sided Jacobi rotations [Hes58], [GV13, section 8.6]: vectors h_1 … h_k,
the rows of A, or its columns if those are fewer, are turned in pairs until all of them are orthogonal,

    h_p ← c h_p − s h_q,      h_q ← s h_p + c h_q,      c = 1/√(1 + t²),   s = c t,                                 (2)
    t = sign(ζ)/(|ζ| + √(1 + ζ²)),                      ζ = (|h_q|² − |h_p|²)/(2 h_p·h_q),

t being the smaller root of t² + 2ζt − 1 = 0, which makes the two orthogonal.  Then |h_i| are the singular values, to a
relative accuracy that no factorisation by reflections has [DV92].  With all rotations together the matrix Q,

    the rows of A, k = m:      Aᵀ Q = (h_1 … h_m),     x = Σ h_i (Qᵀb)_i / |h_i|²;                                  (3)
    its columns,   k = n:      A Q = (h_1 … h_n),      x = Σ Q_i (h_i·b) / |h_i|².                                  (4)

So each vector carries along what the rotations do to b, one number, or to the unit matrix, n numbers.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, kernel

# Cosine of the angle between two vectors that count as orthogonal; the convergence is quadratic, in six to ten sweeps.
_ORTHOGONAL, _SWEEPS = 1e-14, 60
# Beside a vector whose square is so many times as large another one is nothing: no tolerance lets it count.
_NOTHING = 1e-60


def scratch_size(m: int, n: int) -> int:
    """Return how many numbers of scratch `solve_least_squares` uses for a matrix of m rows and n columns."""
    return m * (n + 2) if m <= n else n * (m + n + 1)


@kernel
def _dot(X, x, Y, y, n):
    """Return the product of n numbers at X[x] and at Y[y], in four sums that do not wait for each other."""
    x, y = index(x), index(y)
    a = b = c = d = 0.0
    for _ in range(n // 4):
        a += X[x] * Y[y]
        b += X[x + 1] * Y[y + 1]
        c += X[x + 2] * Y[y + 2]
        d += X[x + 3] * Y[y + 3]
        x, y = x + 4, y + 4
    for k in range(n % 4):
        a += X[x + k] * Y[y + k]
    return (a + b) + (c + d)


@kernel
def _rotate(H, p, q, n, c, s):
    """(2) for the n numbers at H[p] and H[q]."""
    p, q = index(p), index(q)
    for k in range(n):
        x, y = H[p + k], H[q + k]
        H[p + k] = c * x - s * y
        H[q + k] = s * x + c * y


@kernel(forceinline=False)
def _orthogonalise(H, k, length, stride):
    """Turn the k vectors with so many numbers, one every `stride` numbers in H, and behind them keep their squares."""
    squares = index(k * stride)
    for i in range(k):
        H[squares + i] = _dot(H, stride * i, H, stride * i, length)
    for _ in range(_SWEEPS):
        turned = False
        for i in range(k - 1):
            for j in range(i + 1, k):
                p, q = index(stride * i), index(stride * j)
                a, b, product = H[squares + i], H[squares + j], _dot(H, p, H, q, length)
                if min(a, b) <= _NOTHING * max(a, b) or abs(product) <= _ORTHOGONAL * np.sqrt(a) * np.sqrt(b):
                    continue
                turned = True
                zeta = 0.5 * (b - a) / product
                t = 1.0 / (abs(zeta) + np.sqrt(1.0 + zeta * zeta))
                c = 1.0 / np.sqrt(1.0 + t * t)
                _rotate(H, p, q, stride, c, c * t if zeta >= 0.0 else -c * t)
                H[squares + i] = _dot(H, p, H, p, length)
                H[squares + j] = _dot(H, q, H, q, length)
        if not turned:
            return


@kernel(forceinline=False)
def solve_least_squares(A, m, n, b, tolerance, H, x):
    """Write (1) into x (n numbers), and return the rank: how many singular values count.

    A has m rows of n numbers, one after another, and b has m numbers, all of them finite; both stay as they are.  H is
    scratch of `scratch_size` numbers.
    """
    by_rows = m <= n
    k, length = (m, n) if by_rows else (n, m)
    stride = index(length + (1 if by_rows else n))
    scale = 0.0
    for i in range(m * n):
        scale = max(scale, abs(A[i]))
    for j in range(n):
        x[j] = 0.0
    if scale == 0.0:
        return 0
    # numbers up to one: squares do not overflow, and those that underflow belong to what does not count
    for i in range(k):
        h = index(stride * i)
        if by_rows:
            for j in range(n):
                H[h + j] = A[n * i + j] / scale
            H[h + n] = b[i]
        else:
            for j in range(m):
                H[h + j] = A[n * j + i] / scale
            for j in range(n):
                H[h + m + j] = 1.0 if j == i else 0.0
    _orthogonalise(H, k, length, stride)
    squares, largest, rank = index(k * stride), 0.0, 0
    for i in range(k):
        largest = max(largest, H[squares + i])
    for i in range(k):
        square = H[squares + i]
        if not square > tolerance * tolerance * largest:
            continue
        rank += 1
        h = index(stride * i)
        factor = (H[h + n] if by_rows else _dot(H, h, b, 0, m)) / square / scale
        start = h if by_rows else h + m
        for j in range(n):
            x[j] += factor * H[start + j]
    return rank
