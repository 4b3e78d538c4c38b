"""States brought to the constraints of a tree from far away: Newton's method on the group.

With φ(t, q) what the constraints lack, J its Jacobian, and weights w, one number per speed,

    q ← q ⊕ s w∘y,     the smallest y in the sense of least squares with  J (w∘y) = −φ(t, q),                       (1)

until every row of φ is closed.  All joints count alike, so that a long chain moves as a whole (in the metric of M its
light end would do all the moving), modes the less the stiffer they are, and coordinates with the weight zero stay.  The
share s is at most so large that no coordinate moves by more than _LONGEST, and is halved until the residuals shrink.
Speeds follow in one step, as they are linear: the smallest change in the metric of M + BETA K that obeys the rates,

    v ← v + dv,        J dv = −φ̇(t, q, v).                                                                          (2)

Locked speeds change neither in (1), where their weights are zero, nor in (2).

Where constraints are eliminated one by one (elimination.py), y comes from w∘y = −w²∘Jᵀ (J w² Jᵀ)⁻¹ φ without the rows
that are redundant, by the same elimination of bodies without mass: J is not formed.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, kernel
from liegeo.kernels import constraints, least_squares, loops, sparse_loops
from liegeo.kernels import layout as at
from liegeo.kernels.kinematics import poses, velocities
from liegeo.kernels.least_squares import solve_least_squares
from liegeo.kernels.motion import drive, model_of
from liegeo.kernels.projection import CLOSED, largest
from liegeo.lie.product import KERNELS
from liegeo.status import LOOPS_OPEN, LOOPS_TOO_LARGE, SPEEDS_DISOBEY

_retract = KERNELS["retract"]

#: Seconds squared, by which a mode of angular frequency ω counts 1 + βω² times: one of a hertz hardly moves.
BETA = 1e2
#: Residuals in metres and radians that an assembled state may have, where round-off leaves more than CLOSED.
ASSEMBLED = 1e-9
_ITERATIONS, _LONGEST, _HALVINGS = 200, 0.5, 12
# Directions in which the loops move less than this share of the others are none; what rates may be, as a share of v.
_RANK, _AT_REST = 1e-9, 1e-9


def scratch_size(I: np.ndarray) -> int:
    """Return how many numbers of scratch `assemble` uses for the model with these ints."""
    m, nq, nv, nx = (int(I[place]) for place in (at.N_ROWS, at.N_Q, at.N_V, at.N_X))
    matrices = nv if I[at.ELIMINATION] > 0 else m * nv + least_squares.scratch_size(m, nv)
    return 3 * (nv + nx) + nq + nx + matrices


@kernel(nogil=True, forceinline=False)
def residuals(S, D, t, q, w, W):
    """Find φ and φ̇, which stand at PHI and RATE of W; return 0, or INPUT_FAILED."""
    status = drive(S, D, t, q, w, W)
    if status != 0:
        return status
    I, F = model_of(S)
    poses(I, F, q, W)
    velocities(I, F, q, w, W)
    constraints.evaluate(I, F, q, w, W[index(I[at.N_WORK]) :], W)
    return 0


@kernel(forceinline=False)
def _corrections(S, D, t, q, w, W, dq, dv):
    """motion.closing in the metric of M + BETA K: dv of (2), φ and φ̇ at PHI and RATE."""
    status = drive(S, D, t, q, w, W)
    if status != 0:
        return status
    I, F = model_of(S)
    return loops.closing(I, F, q, w, W[index(I[at.N_WORK]) :], BETA, W, dq, dv)


@kernel
def _copy(x, out):
    for k in range(x.shape[0]):
        out[k] = x[k]


@kernel(forceinline=False)
def _direction(I, F, q, v, weights, lacking, W, dq, dv, rest, out):
    """Write w∘y of (1) into `out`, the first nv numbers; return its largest number, or −1 if something is not finite.

    `dq`, `dv` (nv each) and `rest` (what `scratch_size` has for matrices) are scratch.
    """
    m, nv, u = index(I[at.N_ROWS]), index(I[at.N_V]), W[index(I[at.N_WORK]) :]
    if largest(lacking) == np.inf:
        return -1.0
    if I[at.ELIMINATION] > 0:
        if sparse_loops.nearest(I, F, q, v, u, weights, rest[:nv], W, out) != 0:
            return -1.0
        return _size(out[:nv])
    J = rest[: m * nv]
    loops.jacobian(I, F, q, u, W, dq, dv, J)
    for k in range(m):
        for j in range(nv):
            J[nv * k + j] *= weights[j]
    if largest(J) == np.inf:
        return -1.0
    solve_least_squares(J, m, nv, lacking, _RANK, rest[m * nv :], out)
    for j in range(nv):
        out[j] *= -weights[j]
    return _size(out[:nv])


@kernel
def _size(x):
    """Return the largest absolute value, or −1 if a number is not finite."""
    size = largest(x)
    return size if size < np.inf else -1.0


@kernel(nogil=True, forceinline=False)
def assemble(S, D, layout, t, y, weights, W, scratch, lacking):
    """Bring the state y = (q, ξ, v, x) at the time t to the constraints, if they have any rows.

    S, D        the drive (kernels/motion.py); what is locked in the model that S leads to keeps its speed
    layout      of the group of states, whose last row is that of the speeds
    weights     w of (1), one number per speed: 1 for joints, less for stiff modes, 0 for what stays
    W           scratch of a motion, motion.work_size
    scratch     scratch_size
    lacking     gets a number per row of the constraints: the residuals, or, if the speeds cannot obey, their rates

    Returns 0, a status of `drive` or of loops.closing, LOOPS_OPEN, SPEEDS_DISOBEY or LOOPS_TOO_LARGE; y is as near as
    the method came.
    """
    I, F = model_of(S)
    m, nv, nx, nq = index(I[at.N_ROWS]), index(I[at.N_V]), index(I[at.N_X]), index(I[at.N_Q]) + index(I[at.N_X])
    n, o = nv + nx, index(I[at.ROWS_W])
    phi, rates = W[o + at.PHI * m : o + (at.PHI + 1) * m], W[o + at.RATE * m : o + (at.RATE + 1) * m]
    rows, q, w = layout[: layout.shape[0] - 1], y[:nq], y[nq:]
    dq, dv, step, moved = scratch[:n], scratch[n : 2 * n], scratch[2 * n : 3 * n], scratch[3 * n : 3 * n + nq]
    rest = scratch[3 * n + nq :]
    for k in range(nx):
        step[nv + k] = 0.0
    status = _corrections(S, D, t, q, w, W, dq, dv)
    if status != 0:
        return status
    _copy(phi, lacking)
    size, made = largest(lacking), 0
    while made < _ITERATIONS and size > CLOSED:
        made += 1
        length = _direction(I, F, q, w, weights, lacking, W, dq, dv, rest, step)
        if length < 0.0:
            return LOOPS_TOO_LARGE
        share, left = min(1.0, _LONGEST / length) if length > 0.0 else 0.0, np.inf
        for _ in range(_HALVINGS):
            for d in range(n):
                dq[d] = share * step[d]
            _retract(rows, q, dq, moved)
            status = residuals(S, D, t, moved, w, W)
            if status != 0:
                return status
            left = largest(phi)
            if left < size:
                break
            share *= 0.5
        if not left < size:
            break
        _copy(moved, q)
        _copy(phi, lacking)
        size = left
    if size > ASSEMBLED:
        return LOOPS_OPEN
    status = _corrections(S, D, t, q, w, W, dq, dv)
    if status != 0:
        return status
    fastest = 1.0
    for d in range(nv):
        w[d] += dv[d]
        fastest = max(fastest, abs(w[d]))
    status = residuals(S, D, t, q, w, W)
    if status != 0:
        return status
    if largest(rates) > _AT_REST * fastest:
        _copy(rates, lacking)
        return SPEEDS_DISOBEY
    return 0
