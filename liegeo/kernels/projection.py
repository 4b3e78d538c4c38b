"""States brought back to the constraints of a tree that they nearly obey.

With φ(t, q) what the constraints lack, J its Jacobian, and the smallest corrections in the metric of the mass matrix,

    q ← q ⊕ dq,      J dq = −φ(t, q),      until every row of φ is CLOSED,                                        (1)
    v ← v + dv,      J dv = −φ̇(t, q, v),                                                                          (2)

which is Newton's method: what is left after a correction is of the order of its square.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.kernels.motion import closing, model_of
from liegeo.lie.product import KERNELS

_retract = KERNELS["retract"]

# Residuals in metres and radians that count as closed; how many corrections (1) there are at most.
CLOSED, _CORRECTIONS = 1e-12, 10


@kernel
def largest(rows):
    """Return the largest absolute value; infinity if one is not a number."""
    size = 0.0
    for k in range(rows.shape[0]):
        size = max(size, abs(rows[k]))
        if not abs(rows[k]) < np.inf:
            return np.inf
    return size


@kernel(nogil=True)
def project_samples(S, D, layout, T, Y, W, corrections, moved, first, left):
    """Bring each row of Y, a state (q, ξ, v, x) at the time of T, to the constraints; return as motion.acceleration.

    `layout` is that of the group of states, whose last row is that of the speeds.  `corrections` (2 × speeds) and
    `moved` (an element) are scratch.  `first` gets the residuals of the last row of Y as it was, a number per row of
    the constraints, and `left` the largest residual that is left, a number per row of Y.
    """
    I, _ = model_of(S)
    n = corrections.shape[1]
    nq = Y.shape[1] - n
    o, m = index(I[at.ROWS_W]), index(I[at.N_ROWS])
    residuals = W[o + at.PHI * m : o + (at.PHI + 1) * m]
    rows, dq, dv = layout[: layout.shape[0] - 1], corrections[0], corrections[1]
    for k in range(T.shape[0]):
        q, w = Y[k, :nq], Y[k, nq:]
        status = closing(S, D, T[k], q, w, W, dq, dv)
        if status != 0:
            return status
        for r in range(m):
            first[r] = residuals[r]
        made = 0
        while made < _CORRECTIONS and largest(residuals) > CLOSED:
            _retract(rows, q, dq, moved[:nq])
            for d in range(nq):
                q[d] = moved[d]
            made += 1
            status = closing(S, D, T[k], q, w, W, dq, dv)
            if status != 0:
                return status
        left[k] = largest(residuals)
        for d in range(n):
            w[d] += dv[d]
    return 0
