"""Newton's method for the equations of an implicit step of a mechanical system.

The unknown is x = v̇ (stiff.py): v₁ = base + c_v x and Δ = log(q₀⁻¹q₁) = base + c_q x, and the residual r(x) of the
equations of motion is to vanish.  A correction is dx = S⁻¹ r(x), x ← x − dx, with one of two matrices S.

**Recursion.**  S = M + c_v D + c_q K + diag(l), which trees solve in O(N).  D and K are the damping and stiffness of
joints and modes; l are the tangents of forces that are local to one speed, such as friction (`local_tangents` of
problems.Dynamics).  S leaves out what the geometry adds (gravity, gyroscopic forces) and all forces between frames, so
corrections shrink linearly, fast if those are slow.  The rate is much the same from step to step: a first correction
that is small enough at the rate of the steps before is the last one.  Where the rate is above `slow`, the iteration
begins again from a better guess, with the matrix from there: with x = v̇ at the start of the step, v₁ and Δ that
belong to it, and Dv + Kq as the only forces in motion,

    x ← x − S⁻¹ (D (v₁ − v₀) + K Δ).                                                                            (6)

**Tangent and secant.**  A joint that comes to rest within a step passes from sliding, where friction F(v) is constant
and its tangent is zero, to sticking, where its tangent is enormous; a correction by the tangent leads far beyond.
With l = c_v F(v)/v in place of c_v F′(v) the quadratic function of which S is the matrix lies above the dissipation
potential of a force that grows less than linearly, and touches it where it is made: a correction by the secant always
leads down (it is the iteration of reweighted least squares).  So if a correction by the tangent is longer than the one
before, the next one is by the secant from the same x, and then tangents are tried again.

**Dense.**  If all that is no help, the true derivative of the residual is formed column by column, from derivatives
along a direction (`along`, exact for trees),

    S e_j = ∂r/∂a e_j + ∂r/∂v c_v e_j + ∂r/∂q c_q dexp_right(Δ) e_j,                                             (9)

and factorised, O(n³).  The iteration then begins where Δ = 0: what is so stiff hardly moves, while v̇ as it was would
carry it far away, to where other solutions are; and after that from v̇ at the start.  Steps are damped by the natural
monotonicity test [D04, section 3.3]: x − λ S⁻¹r(x) is accepted if

    |S⁻¹ r(x − λ S⁻¹r(x))| ≤ (1 − λ/4) |S⁻¹ r(x)|,      λ = 1, ½, ¼, …,                                         (10)

with one and the same S on both sides.  The norm of r itself is no guide: a stiff spring that turns by a small angle is
stretched in second order, and its force grows by orders of magnitude on a step that is nearly right.  S is formed anew
where it reduces the corrections by less than to the share `kept`.  Every `retried` steps the recursion is tried again:
one hard step does not make a long run O(n³).

**Norm and tolerance.**  Coordinates are angles, lengths and modal amplitudes.  Each has a size σ_k in its own unit
(`sizes` of problems.System: one radian, the length of the mechanism, …), so that numbers without unit are compared,

    |dx| = max_k max(c_q, h c_v) |dx_k| / σ_k,    μ = max_k max(h |v₁_k − v₀_k|, (|Δ_k| or h |v₀_k|)/1000) / σ_k,

a correction, and what changes the motion within the step.  What is left after the last correction is to be less than

    tolerance · μ + absolute + 10 ε max(1, max_k |q_k|/σ_k).                                                     (12)

The number of steps in a run goes as 1/h, and an error of v stays: so that the sum of all that is left does not depend
on h, it must be a share of v₁ − v₀, which goes as h, and not of v.  (A thousandth of that is allowed, for motions that
nothing changes.)  The last term is what the last digits of q can tell.  With a dense S they can tell less: a change of
q by its last digits changes x by

    floor = 10 ε max(1, max_k |q_k|/σ_k) | S⁻¹ (|S| σ) |.                                                       (11)

Corrections that shrink no more and are below `floor`, or, with the recursion's matrix, below ROUND_OFF, are taken for
round-off.  With a dense matrix a hundredth of the tolerance is asked for: that costs one correction more, and what is
so stiff has several solutions not far from each other.

If nothing helps, the step is cut (stiff.in_parts).  `NewtonRecord` has what was done.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo._jit import kernel
from liegeo._memory import flat
from liegeo.integrate import sticking
from liegeo.integrate.explicit import Operations, finite
from liegeo.lie.product import ELEMENT, FACTORS, KIND, VECTOR
from liegeo.status import ABSENT, INPUT_FAILED, NO_CONVERGENCE, NOT_FINITE, WANTED

Kernel = Callable[..., Any]
Array = NDArray[np.float64]

EPSILON = 2.220446049250313e-16
# Corrections that shrink no more and are smaller than this share of the sizes σ are round-off.
ROUND_OFF = 1e-9
# Corrections that still shrink by so little are taken for round-off.
_STALLED = 0.9
# Corrections that are round-off by (11) are taken for such up to this share of σ.
_LARGEST_FLOOR = 1e-7
# A rate that no step has confirmed grows towards 1 as this power of itself; and none below the second number is
# believed: what is left is then a hundred tolerances at worst.
_FADING, _BELIEVED = 0.8, 0.01
# A length of a step along a correction that needs no test.
_UNTESTED = 2.0
# The least λ of (10) with the recursion's matrix, before the secant is tried.
_SHORT = 0.125
# What `iterate` returns where (6) may help.
_BEGIN_AGAIN = -8

# A correction that is so many times what may be left comes from a place so near that matrices are the same.
_NEAR = 100.0

# So many corrections behind a change of what sticks are made whatever they do: a joint that breaks away passes speeds
# at which its friction falls faster than a step can follow.
_FREE = 8

# Words of `judge`.
GO_ON, DONE, TOO_SLOW = range(3)
# Attempts of a step, each from a guess of its own: as the method predicts; (6); Δ = 0; v̇ as it was.
_PREDICTED, _IMPROVED, _STAYING, _AS_BEFORE = range(4)

# Rows of K, each as long as the algebra of the states.  The first are memory from step to step: what the step before
# left, (v̇ | a) or (w | v₋₁); flags; (p₁ | d₁) of stiff.py (3); (d₀ | rate of convergence at its end); a dense matrix
# with its pivots, which takes as many rows as it needs.
PAST, FLAGS, GUESS, BEFORE, MATRIX = range(5)
# The flags.  STARTED counts: 1, then 2 if there is p₁, 3 if there is d₁.  DENSE counts steps with the dense matrix
# since the recursion was tried; 0: there is none.
STARTED, DENSE = range(2)
# Behind the memory, from `scratch(nv)`: the record; (x | base of v), (base of Δ | w), (residual | correction), a row
# more, (x | correction) where (10) begins, l of the recursion's matrix, and v̇ where the step begins.
# Then for set-valued friction (sticking.py): (what a speed does | its limit), (friction that holds it | its changes),
# and speeds that are round-off.
RECORD, X, BASE, RESIDUAL, EXTRA, BEGIN, LOCAL, START, GRIP, SEEN, SLACK, _END = 0, *range(4, 15)
# In the second place of the record's first row: 1 if a step in which a force switches is IMPRECISE (stiff.in_parts).
WATCHED = 1
# In the second place of its second row: how many speeds have set-valued friction.
HELD = 1
# In the second place of its third row: 1 if a review has changed the set of those that stick.
CHANGED = 2
# The numbers of the record, the first of a row each.
ITERATIONS, FACTORISATIONS, DENSE_FACTORISATIONS, CUTS = range(4)


@kernel
def split(K, y):
    """Return how many coordinates and speeds the state y has: the one place that knows how rows of K are divided."""
    nv = K.shape[1] // 2
    return y.shape[0] - nv, nv


@kernel
def scratch(nv):
    """Return the first row of K behind the memory."""
    return MATRIX + (nv + 2) // 2


def memory(nv: int) -> int:
    """Return how many rows of K the implicit methods keep from step to step."""
    return int(scratch(nv))


def rows(nv: int) -> int:
    """Return how many rows of K Newton's method uses, those of the memory among them."""
    return memory(nv) + _END


@kernel
def held(K, s):
    """Return whether speeds have set-valued friction, as a step has found where it began."""
    return K[s + RECORD + HELD, 1] > 0.0


@kernel
def tally(K, first, which):
    """Add one to a number of the record that begins in row `first` of K."""
    K[first + which, 0] += 1.0


@dataclass(frozen=True)
class NewtonRecord:
    """What Newton's method did: corrections, matrices (dense ones too), those dense, and how often a step was halved.

    Records add up.
    """

    iterations: int = 0
    factorisations: int = 0
    dense_factorisations: int = 0
    cuts: int = 0

    def __bool__(self) -> bool:
        return any(vars(self).values())

    def __str__(self) -> str:
        dense = f" ({self.dense_factorisations} dense)" if self.dense_factorisations else ""
        cuts = f", {self.cuts} steps halved" if self.cuts else ""
        return f"{self.iterations} corrections, {self.factorisations} matrices{dense}{cuts}"

    def __add__(self, other: NewtonRecord) -> NewtonRecord:
        return NewtonRecord(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @classmethod
    def read(cls, K: Array, first: int | None) -> NewtonRecord:
        """Return the record that begins in row `first` of K; an empty one if there is none."""
        return cls() if first is None else cls(*(int(x) for x in K[first : first + X, 0]))

    @staticmethod
    def reset(K: Array, first: int | None) -> None:
        """Begin a new record."""
        if first is not None:
            K[first : first + X] = 0.0


def with_sizes(method: Any, coefficients: Array, system: Any) -> Array:
    """Return the coefficients of a method as its kernels read them: in mechanical ones 1/σ_k of (12) stand behind.

    Of plain numbers, 1 × 1 × n, they continue the row; behind a tableau they fill further rows.
    """
    if not method.mechanical or coefficients.size == 0:
        return coefficients
    inverse = np.ones(system.group.dim) if system.sizes is None else 1.0 / np.asarray(system.sizes, dtype=np.float64)
    if coefficients.shape[0] == 1:
        out = np.zeros((1, 1, coefficients.size + len(inverse)))
    else:
        out = np.zeros((len(coefficients) - (-len(inverse) // coefficients.shape[2]), *coefficients.shape[1:]))
    out.reshape(-1)[: coefficients.size] = coefficients.ravel()
    out.reshape(-1)[places_of_sizes(coefficients, len(inverse))] = inverse
    return out


def places_of_sizes(coefficients: Array, n: int) -> list[int]:
    """Return where n numbers 1/σ_k stand behind the coefficients of a method, counted without rows."""
    _, columns, width = coefficients.shape
    if len(coefficients) == 1:
        return list(range(coefficients.size, coefficients.size + n))
    return [coefficients.size + k // width * columns * width + k % width for k in range(n)]


_SCALARS = tuple(k for k, (name, _) in enumerate(FACTORS) if name in ("SO3Q", "SE3Q"))


@kernel
def magnitude(layout, y, inverse):
    """Return max(1, max_k |q_k|/σ_k) of (12).  The last row of a layout is that of the speeds."""
    size = 1.0
    for row in range(layout.shape[0] - 1):
        e, first = layout[row, ELEMENT], layout[row, VECTOR]
        # of quaternions nothing is larger than one; behind one there are as many places as displacements
        turned = layout[row, KIND] in _SCALARS
        for k in range(3 if turned else 0, layout[row, VECTOR + 1] - first):
            size = max(size, abs(y[e + k + (1 if turned else 0)]) * inverse[first + k])
    return size


@kernel
def motion(h, v, change, inverse):
    """Return μ of (12); `change` is (Δ | v₁ − v₀)."""
    nv = v.shape[0]
    # three chains of comparisons that do not wait for each other
    moved = drift = gain = 0.0
    for k in range(nv):
        moved = max(moved, abs(change[k]) * inverse[k])
        drift = max(drift, abs(v[k]) * inverse[k])
        gain = max(gain, abs(change[nv + k]) * inverse[k])
    return max(1e-3 * max(moved, abs(h) * drift), abs(h) * gain)


@kernel
def weighed(x, inverse):
    """Return the largest |x_k|/σ_k; 1e300 if one is not a number, which the largest of several would not tell."""
    size, total = 0.0, 0.0
    for k in range(x.shape[0]):
        s = abs(x[k]) * inverse[k]
        size = max(size, s)
        total += s
    return size if total < 1e300 else 1e300


@kernel
def judge(size, before, since, bound, known, floor, stall, slow, patience):
    """Return a word on a correction of this size, after `since` others with one matrix, the last `before`; the rate.

    The first does not know its rate, only that of steps before, 1 if there is none.  `bound` is (12), `floor` (11), and
    what shrinks no more below `stall` is round-off.
    """
    if since == 0:
        enough = known <= slow and size * known <= bound * (1.0 - known)
        # below the last digits of q no second one can confirm the rate: a mechanism at rest
        return DONE if size <= max(1e-3 * bound, 10.0 * EPSILON) or enough else GO_ON, 0.0
    rate = size / before if before > 0.0 else 0.0
    # what is left after a step that shrinks the error by `rate`
    if rate < 1.0 and size * rate <= bound * (1.0 - rate):
        return DONE, rate
    if size <= floor and (rate > slow or size <= bound):
        return DONE, rate
    if rate <= slow:
        return TOO_SLOW if since >= patience else GO_ON, rate
    if size <= stall:
        # what is asked for may be less than round-off: as long as it shrinks it goes on
        return DONE if size <= bound or rate > _STALLED or since >= patience else GO_ON, rate
    return TOO_SLOW, rate


@dataclass(frozen=True)
class Newton:
    """Newton's method with its options; `make` returns the kernel.

    `slow`: corrections by the recursion's matrix that shrink to more than this share are too slow; `kept`: so are those
    by a dense one.  `shortest`: the least λ of (10).  `patience`: corrections with one matrix, and matrices of the
    recursion from one guess; `renewals`: such matrices where there is friction; `iterations`: corrections from one
    guess.  `retried`: steps with dense matrices before the recursion is tried again.  `parts`: the most parts that a
    step is cut into (stiff.in_parts).  Tolerances are arguments of the kernel.
    """

    slow: float = 0.4
    kept: float = 0.25
    shortest: float = 1.0 / 512.0
    patience: int = 10
    renewals: int = 30
    iterations: int = 60
    retried: int = 50
    parts: int = 1024

    def make(self, group: Operations, dynamics: Any, compiled: bool) -> Kernel:
        """Return solve(layout, I, F, t, h, cv, cq, two_step, tolerance, absolute, inverse, y, W, K, u, out) -> status.

        It solves for x from a guess in row X: v₁ = base + cv x and Δ = base + cq x, or stiff.py (2), with both bases in
        their rows, and v̇ where the step begins in row START.  `inverse` are 1/σ of (12).  `out` becomes the new state.
        """
        place, grips = make_place(group, compiled), dynamics.grips
        guess = _guess(place, dynamics, compiled)
        iterate = _iterate(self, place, *_matrices(group, place, dynamics, compiled), dynamics, compiled)
        retried = self.retried

        def solve(layout, I, F, t, h, cv, cq, two_step, tolerance, absolute, inverse, y, W, K, u, out):
            nq, nv = split(K, y)
            s = scratch(nv)
            n = grips(I, F, W[: W.shape[0] // 2], 0.0, K[s + GRIP, nv:])
            K[s + RECORD + HELD, 1] = n
            # a matrix that was dense before will be so again, mostly
            attempt = _STAYING
            if not 0.0 < K[FLAGS, DENSE] <= retried:
                attempt, K[FLAGS, DENSE] = _PREDICTED, 0.0
            status = NO_CONVERGENCE
            while attempt <= _AS_BEFORE:
                sticking.begin(n, y[nq:], h, inverse, False, K[s + GRIP], K[s + SEEN], K[s + SLACK])
                if attempt != _PREDICTED:
                    guess(attempt, layout, I, F, h, cv, cq, two_step, y, W, K, u, out)
                status = iterate(
                    attempt, layout, I, F, t, h, cv, cq, two_step, tolerance, absolute, inverse, y, W, K, u, out
                )
                if status in (0, INPUT_FAILED, WANTED):
                    return status
                attempt = max(attempt + 1, _IMPROVED if status == _BEGIN_AGAIN else _STAYING)
            # no matrix for the next step
            K[FLAGS, DENSE] = 0.0
            return status

        return kernel(solve, name="integrate.newton") if compiled else solve


def _kernel(function: Kernel, name: str, compiled: bool) -> Kernel:
    return kernel(function, name=f"integrate.{name}", forceinline=False) if compiled else function


@functools.lru_cache(maxsize=64)
def make_place(group: Operations, compiled: bool) -> Kernel:
    """Return what finds the state that belongs to x, and leaves (Δ | v₁ − v₀) in u[0]."""
    retract, dexp = group.retract, group.dexp_right_apply

    def place(layout, h, cv, cq, two_step, y, K, u, out):
        nq, nv = split(K, y)
        s = scratch(nv)
        x, start, speed = K[s + X, :nv], K[s + X, nv:], y[nq:]
        delta, gain, fixed = u[0, :nv], u[0, nv:], K[s + BASE, :nv]
        if held(K, s):
            sticking.stay(cv, K[s + GRIP], start, x)
        for k in range(nv):
            v = start[k] + cv * x[k]
            gain[k] = v - speed[k]
            delta[k] = 2.0 * h * v / 3.0 if two_step else fixed[k] + cq * x[k]
        if two_step:
            # Δ of stiff.py (2): the map contracts by about |w|/6
            size = 0.0
            for k in range(nv):
                K[s + BASE, k] = u[0, k]
                u[1, k] = K[s + BASE, nv + k]
                u[1, nv + k] = 0.0
                size = max(size, abs(u[0, k]), abs(u[1, k]))
            for _ in range(20):
                change = 0.0
                dexp(layout, u[0], u[1], K[s + EXTRA])
                for k in range(nv):
                    new = K[s + BASE, k] - K[s + EXTRA, k] / 3.0
                    change = max(change, abs(new - u[0, k]))
                    u[0, k] = new
                if change <= 4.0 * EPSILON * size:
                    break
        retract(layout, y, u[0], out)
        if held(K, s):
            sticking.direct(K[s + GRIP], speed, out[nq:], gain)

    return _kernel(place, "place", compiled)


def _guess(place: Kernel, dynamics: Any, compiled: bool) -> Kernel:
    """Return what writes the guess of an attempt into row X."""
    resistance, substitute = dynamics.resistance, dynamics.substitute

    def guess(attempt, layout, I, F, h, cv, cq, two_step, y, W, K, u, out):
        _, nv = split(K, y)
        s = scratch(nv)
        if attempt == _STAYING:
            # Δ = 0
            for k in range(nv):
                half = 0.5 * K[s + BASE, nv + k] / h
                K[s + X, k] = (half - K[s + X, nv + k]) / cv if two_step else -K[s + BASE, k] / cq
        if attempt in (_IMPROVED, _AS_BEFORE):
            for k in range(nv):
                K[s + X, k] = K[s + START, k]
        if attempt == _IMPROVED:
            # (6), with the matrix of the attempt before
            place(layout, h, cv, cq, two_step, y, K, u, out)
            push, back = K[s + RESIDUAL, :nv], K[s + RESIDUAL, nv:]
            resistance(I, F, 0.0, 1.0, u[0, :nv], push)
            resistance(I, F, 1.0, 0.0, u[0, nv:], back)
            for k in range(nv):
                push[k] += back[k] + K[s + LOCAL, k] * u[0, nv + k] / cv
            substitute(I, F, push, W[W.shape[0] // 2 :], back)
            for k in range(nv):
                K[s + X, k] -= back[k]

    return _kernel(guess, "guess", compiled)


def _matrices(group: Operations, place: Kernel, dynamics: Any, compiled: bool) -> tuple[Kernel, Kernel]:
    """Return what forms the matrix of an iteration, and what solves with it for a correction."""
    differentiate = _differentiate(group, place, dynamics, compiled)
    factorise_next, substitute, local = dynamics.factorise_next, dynamics.substitute, dynamics.local_tangents

    def linearise(dense, secant, layout, I, F, t, h, cv, cq, two_step, inverse, y, A, B, K, u, out):
        """Form S where `place` has put x last; return a status and (11).  B has what the residual left."""
        nq, nv = split(K, y)
        s = scratch(nv)
        tally(K, s + RECORD, FACTORISATIONS)
        if dense:
            tally(K, s + RECORD, DENSE_FACTORISATIONS)
            return differentiate(layout, I, F, t, h, cv, cq, two_step, inverse, y, A, K, u, out)
        local(I, F, out[:nq], out[nq:], cv, cq, secant, K[s + LOCAL, :nv])
        if held(K, s):
            sticking.hold(K[s + GRIP], K[s + LOCAL, :nv])
        return factorise_next(I, F, out[:nq], cv, cq, K[s + LOCAL, :nv], B), 0.0

    def correct(dense, I, F, reach, inverse, y, B, K):
        """Solve for the correction that belongs to the residual in its row; return its size."""
        _, nv = split(K, y)
        s = scratch(nv)
        tally(K, s + RECORD, ITERATIONS)
        r, correction = K[s + RESIDUAL, :nv], K[s + RESIDUAL, nv:]
        if dense:
            substitute_dense(flat(K[MATRIX:]), nv, r, correction)
        else:
            substitute(I, F, r, B, correction)
        return reach * weighed(correction, inverse)

    if not compiled:
        return linearise, correct
    return kernel(linearise, name="integrate.linearise"), kernel(correct, name="integrate.correct")


def _iterate(
    options: Newton, place: Kernel, linearise: Kernel, correct: Kernel, dynamics: Any, compiled: bool
) -> Kernel:
    """Return the iteration from one guess; its status is _BEGIN_AGAIN if (6) may help."""
    residual = dynamics.residual
    descend = _descend(place, correct, dynamics, compiled)
    review = make_review(place, dynamics, compiled)
    slow, kept, shortest = options.slow, options.kept, options.shortest
    patience, renewals, iterations = options.patience, options.renewals, options.iterations

    def iterate(attempt, layout, I, F, t, h, cv, cq, two_step, tolerance, absolute, inverse, y, W, K, u, out):
        nq, nv = split(K, y)
        s, half, dense = scratch(nv), W.shape[0] // 2, attempt >= _STAYING
        A, B = W[:half], W[half:]
        reach, least = max(abs(cq), abs(h * cv)), absolute + 10.0 * EPSILON
        rate_at, stall, share = K.shape[1] - 1, 0.0 if dense else ROUND_OFF, 0.01 if dense else 1.0
        known = K[BEFORE, rate_at] if attempt == _PREDICTED and K[BEFORE, rate_at] > 0.0 else 1.0
        # `renew`: a matrix is wanted; `fresh`: it belongs to x; `current`: the correction at x is known
        renew, fresh, current, secant = not (attempt == _STAYING and K[FLAGS, DENSE] > 0.0), False, False, 0.0
        size, before, worst, floor, since, matrices = 0.0, 0.0, 0.0, 0.0, 0, 0
        # corrections behind a change of what sticks that are made whatever they do
        friction, free = held(K, s), 0
        for _ in range(iterations):
            if not current:
                place(layout, h, cv, cq, two_step, y, K, u, out)
                # a residual leaves in B what the recursion's matrix begins with
                scratch_of = B if renew and not dense else A
                status = residual(I, F, t, out[:nq], out[nq:], K[s + X, :nv], scratch_of, K[s + RESIDUAL, :nv])
                if friction:
                    sticking.strike_out(K[s + GRIP], K[s + RESIDUAL, :nv], K[s + SEEN])
                if status == 0 and renew:
                    status, floor = linearise(
                        dense, secant, layout, I, F, t, h, cv, cq, two_step, inverse, y, A, B, K, u, out
                    )
                    fresh, since, matrices = True, 0, matrices + 1
                if status != 0:
                    return status
                size = correct(dense, I, F, reach, inverse, y, B, K)
                current, renew = True, False
            if not size < 1e100:
                if fresh:
                    return NO_CONVERGENCE if finite(K[s + RESIDUAL, :nv]) else NOT_FINITE
                current, renew = False, True
                continue
            if since == 2:
                # few iterations come so far as to need it
                least = absolute + 10.0 * EPSILON * magnitude(layout, y, inverse)
            bound = share * tolerance * motion(h, y[nq:], u[0], inverse) + least
            verdict, rate = judge(size, before, since, bound, known, floor, stall, slow, patience)
            worst = max(worst, rate)
            if verdict == DONE and dense and since == 1 and size > floor and before > _NEAR * bound:
                # a matrix from where springs were drawn is stiff in all directions, and calls any correction small
                verdict = GO_ON
            if verdict == DONE:
                for k in range(nv):
                    K[s + X, k] -= K[s + RESIDUAL, nv + k]
                place(layout, h, cv, cq, two_step, y, K, u, out)
                if friction:
                    status = review(layout, I, F, t, h, cv, cq, two_step, y, A, K, u, out)
                    if status != 0:
                        return status
                    if K[s + RECORD + CHANGED, 1] > 0.0:
                        current, renew, free = False, True, _FREE
                        continue
                K[FLAGS, DENSE] = K[FLAGS, DENSE] + 1.0 if dense else 0.0
                K[BEFORE, rate_at] = 0.0 if dense else max(worst, _BELIEVED) if worst > 0.0 else known**_FADING
                return 0
            if free > 0:
                verdict, free = GO_ON, free - 1
            if verdict == TOO_SLOW and attempt == _PREDICTED:
                return _BEGIN_AGAIN
            # matrices of the recursion differ from place to place where there is friction
            local = attempt == _IMPROVED and weighed(K[s + LOCAL, :nv], inverse) > 0.0
            if verdict == TOO_SLOW and attempt == _IMPROVED and matrices > (renewals if local else patience):
                return NO_CONVERGENCE
            if since > 0 and free == 0 and (verdict == TOO_SLOW or (dense and rate > kept)):
                current, renew = False, True
                continue
            by_secant = secant > 0.0
            test = _UNTESTED if attempt == _PREDICTED or by_secant or free > 0 else 1.0
            if fresh and (dense or local) and test == 1.0:
                test = shortest if dense else _SHORT
            status, part, new = descend(
                test, dense, layout, I, F, t, h, cv, cq, two_step, reach, max(size, floor), inverse, y, A, B, K, u, out
            )
            if status in (INPUT_FAILED, WANTED):
                return status
            secant = 0.0
            if (
                status == 0
                and friction
                and sticking.turned(cv, K[s + GRIP], K[s + SEEN], K[s + SLACK], K[s + X, nv:], K[s + X, :nv])
            ):
                current, renew, free = False, True, _FREE
                continue
            if status == 0:
                # the rate of a damped step, or of one by the secant, tells nothing, and its matrix is not the next one
                renew = by_secant or part < 1.0
                current, fresh, since, before, size = not renew, False, since + 1, size, new
                continue
            # with an old dense matrix that says nothing, with a new one it is the end; the recursion has its secants
            if fresh if dense else matrices > renewals or not local:
                return NO_CONVERGENCE
            current, renew, secant = False, True, 0.0 if dense else 1.0
        return NO_CONVERGENCE

    return kernel(iterate, name="integrate.iterate") if compiled else iterate


def make_review(place: Kernel, dynamics: Any, compiled: bool) -> Kernel:
    """Return what changes the set of speeds that stick where the iteration has converged: a status.

    Whether it did stands in the record (CHANGED).
    """
    residual, grips = dynamics.residual, dynamics.grips

    def review(layout, I, F, t, h, cv, cq, two_step, y, A, K, u, out):
        nq, nv = split(K, y)
        s = scratch(nv)
        grip, seen, r = K[s + GRIP], K[s + SEEN], K[s + RESIDUAL, :nv]
        changed = sticking.turned(cv, grip, seen, K[s + SLACK], K[s + X, nv:], K[s + X, :nv])
        if not changed:
            status = residual(I, F, t, out[:nq], out[nq:], K[s + X, :nv], A, r)
            if status != 0:
                return status
            sticking.strike_out(grip, r, seen)
            grips(I, F, A, 1.0, grip[nv:])
            changed = sticking.released(grip, seen)
        K[s + RECORD + CHANGED, 1] = 1.0 if changed else 0.0
        return NO_CONVERGENCE if changed and sticking.restless(seen) else 0

    return _kernel(review, "review", compiled)


def _descend(place: Kernel, correct: Kernel, dynamics: Any, compiled: bool) -> Kernel:
    """Return what goes along a correction by (10): a status, λ, and the size of the correction there.

    `shortest` is the least λ; with _UNTESTED the whole correction is made.  If none passes, x is as it was.
    """
    residual = dynamics.residual

    def descend(shortest, dense, layout, I, F, t, h, cv, cq, two_step, reach, size, inverse, y, A, B, K, u, out):
        nq, nv = split(K, y)
        s = scratch(nv)
        x, start, step = K[s + X, :nv], K[s + BEGIN, :nv], K[s + BEGIN, nv:]
        for k in range(nv):
            start[k], step[k] = x[k], K[s + RESIDUAL, nv + k]
        part, new = 1.0, 1e300
        while part >= min(shortest, 1.0):
            for k in range(nv):
                x[k] = start[k] - part * step[k]
            place(layout, h, cv, cq, two_step, y, K, u, out)
            status = residual(I, F, t, out[:nq], out[nq:], x, A, K[s + RESIDUAL, :nv])
            if status == INPUT_FAILED:
                return status, part, new
            if held(K, s):
                sticking.strike_out(K[s + GRIP], K[s + RESIDUAL, :nv], K[s + SEEN])
            new = correct(dense, I, F, reach, inverse, y, B, K) if status == 0 else 1e300
            if shortest == _UNTESTED or new <= (1.0 - 0.25 * part) * size:
                return status, part, new
            part *= 0.5
        for k in range(nv):
            x[k] = start[k]
        return NO_CONVERGENCE, part, new

    return _kernel(descend, "descend", compiled)


def _differentiate(group: Operations, place: Kernel, dynamics: Any, compiled: bool) -> Kernel:
    """Return what forms (9), or the same by differences, and factorises it: a status, and (11)."""
    dexp, along, local = group.dexp_right_apply, dynamics.along, dynamics.local_tangents
    differences = _differences(place, dynamics, compiled)

    def differentiate(layout, I, F, t, h, cv, cq, two_step, inverse, y, W, K, u, out):
        nq, nv = split(K, y)
        s = scratch(nv)
        r, extra = s + RESIDUAL, s + EXTRA
        M = flat(K[MATRIX:])
        status = 0
        for j in range(nv):
            for k in range(2 * nv):
                u[1, k] = 0.0
            u[1, j], u[1, nv + j] = 1.0, cv
            dexp(layout, u[0], u[1], K[extra])
            for k in range(nv):
                K[extra, k] *= cq
            q, v, dq, dv = out[:nq], out[nq:], K[extra, :nv], K[extra, nv:]
            status = along(I, F, t, q, v, K[s + X, :nv], dq, dv, u[1, :nv], W, K[r, nv:])
            if status != 0:
                break
            for i in range(nv):
                M[nv * i + j] = K[r, nv + i]
        if status == ABSENT:
            status = differences(layout, I, F, t, h, cv, cq, two_step, inverse, y, W, K, u, out)
        if status != 0:
            return status, 0.0
        if held(K, s):
            local(I, F, out[:nq], out[nq:], cv, cq, 0.0, K[s + LOCAL, :nv])
            sticking.hold_dense(K[s + GRIP], K[s + LOCAL, :nv], M)
        for i in range(nv):
            K[extra, i] = 0.0
            for j in range(nv):
                K[extra, i] += abs(M[nv * i + j]) / inverse[j]
        if not finite(K[extra, :nv]):
            return NOT_FINITE, 0.0
        if not factorise_dense(M, nv):
            return NO_CONVERGENCE, 0.0
        substitute_dense(M, nv, K[extra, :nv], K[extra, nv:])
        floor = 10.0 * EPSILON * magnitude(layout, out, inverse) * weighed(K[extra, nv:], inverse)
        return 0, min(floor, _LARGEST_FLOOR)

    return _kernel(differentiate, "differentiate", compiled)


def _differences(place: Kernel, dynamics: Any, compiled: bool) -> Kernel:
    """Return what forms (9) by differences, for systems without `along`: a status."""
    residual = dynamics.residual

    def differences(layout, I, F, t, h, cv, cq, two_step, inverse, y, W, K, u, out):
        nq, nv = split(K, y)
        s = scratch(nv)
        r = s + RESIDUAL
        M = flat(K[MATRIX:])
        for j in range(nv):
            kept, e = K[s + X, j], 1e-6 / ((h * cv + cq) * inverse[j])
            for side in range(2):
                K[s + X, j] = kept + (e if side == 0 else -e)
                place(layout, h, cv, cq, two_step, y, K, u, out)
                status = residual(I, F, t, out[:nq], out[nq:], K[s + X, :nv], W, K[r, nv:])
                if status != 0:
                    K[s + X, j] = kept
                    return status
                for i in range(nv):
                    M[nv * i + j] = K[r, nv + i] / (2.0 * e) if side == 0 else M[nv * i + j] - K[r, nv + i] / (2.0 * e)
            K[s + X, j] = kept
        place(layout, h, cv, cq, two_step, y, K, u, out)
        return 0

    return _kernel(differences, "differences", compiled)


@kernel(forceinline=False)
def factorise_dense(M, n):
    """L U of the n × n matrix at M with partial pivoting, pivots behind it; False if it is singular.

    A row of zeros belongs to a locked speed: its unknown is zero.
    """
    for i in range(n):
        size = 0.0
        for j in range(n):
            size = max(size, abs(M[n * i + j]))
        if size == 0.0:
            M[n * i + i] = 1.0
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(M[n * i + k]) > abs(M[n * pivot + k]):
                pivot = i
        M[n * n + k] = pivot
        if not abs(M[n * pivot + k]) > 0.0:
            return False
        for j in range(n):
            M[n * k + j], M[n * pivot + j] = M[n * pivot + j], M[n * k + j]
        for i in range(k + 1, n):
            M[n * i + k] /= M[n * k + k]
            for j in range(k + 1, n):
                M[n * i + j] -= M[n * i + k] * M[n * k + j]
    return True


@kernel(forceinline=False)
def substitute_dense(M, n, r, out):
    """out = M⁻¹ r with what `factorise_dense` left."""
    for i in range(n):
        out[i] = r[i]
    for k in range(n):
        pivot = int(M[n * n + k])
        out[k], out[pivot] = out[pivot], out[k]
    for i in range(n):
        for j in range(i):
            out[i] -= M[n * i + j] * out[j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            out[i] -= M[n * i + j] * out[j]
        out[i] /= M[n * i + i]
