"""Iterations for the equations of a step: when they are over, and how they gain speed.

A residual r(x) whose derivative is near −A, A symmetric and positive: x ← x + A⁻¹ r converges only while the derivative
differs little from −A.  Broyden's method learns the difference from its own steps s_j: with z = A⁻¹ r,

    z ← z + s_{j+1} (s_jᵀ A z)/(s_jᵀ A s_j)  for j = 0 … n − 1,    s_{n+1} = z / (1 − (s_nᵀ A z)/(s_nᵀ A s_n)),    (1)

which needs the steps and nothing else [K03, chapter 4]; products with A make it the same in any units.
"""

from __future__ import annotations

from liegeo._jit import kernel

# An iteration that needs more gains less than a digit in six steps: a smaller h costs less.
LIMIT = 100

# Rows that `accelerate` remembers: linear equations for the six speeds of a free base take twice as many steps.
REMEMBERED = 14


@kernel
def settled(k, change, before, size, floor):
    """Whether iteration k, from 0, was the last one needed, by the largest change in it and in the one before it.

    It was if the next change would be round-off, or if changes near round-off (or below `floor`) shrink no more.  After
    many iterations more counts as near: an ill-conditioned mass matrix makes round-off large.
    """
    if k == 0:
        return change == 0.0
    if change * change <= 1e-16 * size * before:
        return True
    near = 1e-13 if k < 20 else 1e-10
    return change >= before and change <= near * size + floor


@kernel
def lost_speed(y, n, h):
    """A speed that in a time h moves only the last digit of the largest of the first n numbers of y."""
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(y.flat[i]))
    return 1e-15 * largest / abs(h)


@kernel(forceinline=False)
def accelerate(n, B, z, r):
    """(1): z = A⁻¹ r becomes the next step, r becomes A times it; both go into row n of B.  Returns n + 1.

    Rows of B are s_j, then A s_j.  When B is full it begins again with the last step.
    """
    m = z.shape[0]
    if n >= B.shape[0]:
        for d in range(2 * m):
            B[0, d] = B[n - 1, d]
        n = 1
    share = 0.0
    for j in range(n):
        over, under = 0.0, 0.0
        for d in range(m):
            over += B[j, m + d] * z[d]
            under += B[j, m + d] * B[j, d]
        share = over / under if under > 0.0 else 0.0
        if j < n - 1:
            for d in range(m):
                z[d] += share * B[j + 1, d]
                r[d] += share * B[j + 1, m + d]
    # a step that would be twenty times as long has learnt something wrong
    if not abs(1.0 - share) > 0.05:
        n, share = 0, 0.0
    for d in range(m):
        z[d] /= 1.0 - share
        r[d] /= 1.0 - share
        B[n, d], B[n, m + d] = z[d], r[d]
    return n + 1
