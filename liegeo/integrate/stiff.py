"""Stiff methods for mechanical systems: implicit steps whose linear systems are (M + αD + βK) x = r.

D and K are what the system gives as its damping and stiffness (problems.Dynamics): for trees they are block-diagonal in
modes and joint speeds, and the recursion solves in O(N).  Unknown is x = v̇₁; v₁ and Δ = log(q₀⁻¹q₁) follow from it.

Generalised-α [BCA12], with a the algorithmic acceleration:

    (1 − α_m) a₁ + α_m a₀ = (1 − α_f) x + α_f v̇₀,
    v₁ = v₀ + h (1 − γ) a₀ + h γ a₁,      Δ = h v₀ + h² (½ − β) a₀ + h² β a₁,                                      (1)
    α_m = (2ρ − 1)/(ρ + 1),  α_f = ρ/(ρ + 1),  γ = ½ + α_f − α_m,  β = ¼ (γ + ½)²

ρ is what is left of an infinitely stiff oscillation after a step; 1 is the trapezoidal rule.  Forces are a mean of what
they are at both ends.  [CH93] takes them at one state between: x is v̇ where the part 1 − α_f of the step is done,

    (1 − α_m) a₁ + α_m a₀ = x = v̇(t₀ + (1 − α_f) h, q₀ exp((1 − α_f) Δ), v₀ + (1 − α_f) (v₁ − v₀)).              (1′)

In linear systems both are the same, and the matrix is; 1 is now the midpoint rule.  Where forces depend on speeds, as
in a chain that whips, (1′) is nearer: the midpoint rule has half the trapezoidal rule's f″(f, f), with the other sign.

Lie–BDF2: BDF2 in the coordinates u of q = q₀ exp(u), where q₋₁ is at w = log(q₀⁻¹q₋₁): with u̇ = dexp_right(u)⁻¹ v

    v₁ = (4 v₀ − v₋₁ + 2h x)/3,      Δ = (2h v₁ − dexp_right(Δ) w)/3,                                             (2)

the second by fixed point.  The first step is trapezoidal; one after a change of h is v₁ = v₀ + h x, Δ = h v₁.

Newton's method with the matrix above leaves out what the geometry adds (gravity, gyroscopic forces) and all forces
between frames and of friction, so it converges linearly, fast if those are slow. The rate is much the same from step
to step: a first correction that is small enough at the rate of steps before is the last. Where it converges slowly
(rate above _SLOW), it begins again from a better guess (6), with the matrix from there: that of a long chain changes
much within a step. If that is no help the true derivative S of the residual with respect to x is formed, column by
column, from derivatives along a direction (`along` of problems.Dynamics, exact for trees),

    S e_j = ∂r/∂a e_j + ∂r/∂v c_v e_j + ∂r/∂q c_q dexp_right(Δ) e_j,                                             (9)

and factorised as a dense matrix. The iteration then begins where Δ = 0: what is so stiff hardly moves, while v̇ as it
was would carry it far away, to where other solutions are. Steps are damped by the natural monotonicity test
[D04, section 3.3]: x − λ S⁻¹r(x) is accepted if

    |S⁻¹ r(x − λ S⁻¹r(x))| ≤ (1 − λ/4) |S⁻¹ r(x)|,      λ = 1, ½, ¼, …,                                         (10)

with one and the same S on both sides. The norm of r itself is no guide: a stiff spring that turns by a small angle is
stretched in second order, and its force grows by orders of magnitude on a step that is nearly right. S is formed anew
where it reduces the corrections by less than to a quarter. Every _RETRIED steps the matrix above is tried again: one
hard step does not make a long run O(n³). What round-off leaves of a correction is estimated from S,

    floor = 10 ε max(1, |q|) | S⁻¹ (|S| 1) |,                                                                   (11)

the change that the last digits of q and v make. If no step length of (10) helps, from Δ = 0 or from v̇ at the start,
the step is cut (`in_parts`).

Where generalised-α begins: accelerations of stiff modes are no smooth function of the time, but what else drives them
is.  So the first guess p of a next step knows of Dv + Kq alone, and what it misses, d, is continued,

    p₁ = x − (M + αD + βK)⁻¹ (D δv + K δq),      d₁ = x − p₀,      x₁ ≈ p₁ + 2 d₁ − d₀,                           (3)

δq and δv from where x was taken to where x₁ would be with v̇ = x, all found where the step before ends, with its matrix.

Linearly implicit (Rosenbrock, a W-method, so that any matrix will do without loss of order): on y = (u, v) with
f = (dexp_right(u)⁻¹ v, v̇) and A = [0 I; −M⁻¹K −M⁻¹D] at the start of the step,

    (I − γhA) k_i = f(y₀ + h Σ_j a_ij k_j) + hA Σ_j γ_ij k_j,      y₁ = y₀ + h Σ_i b_i k_i.                          (4)

Of order three it is if Σb = 1 and, with α_i = Σ_j a_ij, γ_i = Σ_j γ_ij (the diagonal γ included),

    b·α = ½,  b·γ = 0,  b·α² = ⅓,  b·aα = ⅙,  b·aγ = b·γα = b·γγ = 0.                                             (5)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from liegeo._jit import kernel
from liegeo.errors import InputError
from liegeo.integrate.explicit import ABSENT, INPUT_FAILED, NO_CONVERGENCE, NOT_FINITE, WANTED, Operations, copy, finite
from liegeo.integrate.symmetric import ROWS_OF_AN_ELEMENT

Kernel = Callable[..., Any]

_EPSILON = 2.220446049250313e-16

# A step of Newton's method that leaves more than this of the error is too slow to go on with.
_SLOW = 0.4
# Corrections of Δ and h v that shrink no more and are smaller than this are round-off: forces in stiff modes are large.
_ROUND_OFF = 1e-9
# Corrections that still shrink by so little are taken for round-off.
_STALLED = 0.9
# Steps with one matrix, and in all.
_PATIENCE, _ITERATIONS = 10, 40
# Newton's method with the true derivative: corrections in all; the least λ of (10); S is kept while it does better.
_EXACT_ITERATIONS, _SHORTEST, _KEPT = 60, 1.0 / 512.0, 0.25
# Corrections that are round-off by (11) are taken for such up to this size.
_LARGEST_FLOOR = 1e-7
# A step is cut into no more parts than this.
_PARTS = 1024
# Rows of K in which `in_parts` keeps memory and state.
_PARTS_ROWS = 2 + ROWS_OF_AN_ELEMENT
# A step whose result is finite, but so far from right that it is better made in parts; when a step of Rosenbrock's is.
IMPRECISE = -6
_SHARE, _LEAST = 0.0001, 1e-12
# Steps with the dense matrix before the other is tried again.
_RETRIED = 50

# What an iteration finds out about itself.
GO_ON, DONE, TOO_SLOW = range(3)

# A rate that no step has confirmed grows towards 1 as this power of itself; and none below the second number is
# believed: what is left is then a hundred tolerances at worst.
_FADING, _BELIEVED = 0.8, 0.01

# Rows of K, each 2 nv long.  Memory: what the step before left, (v̇ | a) or (w | v₋₁); flags; (p₁ | d₁) of (3);
# (d₀ | rate of convergence); the dense matrix with its pivots.  Scratch: (x | base of v), (base of Δ | w), (residual |
# correction), a row more, (x | correction) where (10) begins, and v̇ where the step begins.
# _STARTED counts: 1, then 2 if there is p₁, 3 if there is d₁.
# _DENSE counts steps with the dense matrix since the other was tried; 0: there is none.
_PAST, _FLAGS, _GUESS, _BEFORE, MATRIX = range(5)
_STARTED, _DENSE = range(2)


def memory(nv: int) -> int:
    """Rows of K that the implicit methods keep."""
    return MATRIX + (nv + 2) // 2


def _rows(nv: int) -> int:
    """Rows of K that a step of an implicit method uses."""
    return memory(nv) + 6


def rows(nv: int) -> int:
    """Rows of K that the implicit methods use: those of a step, then those of `in_parts`."""
    return _rows(nv) + _PARTS_ROWS


@kernel
def scratch_rows(nv):
    """Rows of the scratch."""
    x = MATRIX + (nv + 2) // 2
    return x, x + 1, x + 2, x + 3


def _newton(group: Operations, dynamics: Any, compiled: bool) -> Kernel:
    """Solve for x, from a first guess in its row: (layout, I, F, t, h, cv, cq, two_step, tolerance, y, W, K, u, out).

    v₁ = base + cv x; Δ = base + cq x, or (2).  The last row of K has v̇ where the step begins.  `out` becomes the new
    state.  Returns a status.
    """
    retract, dexp = group.retract, group.dexp_right_apply
    residual, factorise_next, substitute = dynamics.residual, dynamics.factorise_next, dynamics.substitute
    resistance, along = dynamics.resistance, dynamics.along

    def place(layout, h, cv, cq, two_step, y, K, u, out):
        """The state that belongs to x."""
        nv = K.shape[1] // 2
        nq = y.shape[0] - nv
        row, base, _, extra = scratch_rows(nv)
        x, start, speed = K[row, :nv], K[row, nv:], y[nq:]
        delta, gain, fixed = u[0, :nv], u[0, nv:], K[base, :nv]
        for k in range(nv):
            v = start[k] + cv * x[k]
            gain[k] = v - speed[k]
            delta[k] = 2.0 * h * v / 3.0 if two_step else fixed[k] + cq * x[k]
        if two_step:
            # Δ of (2): the map contracts by about |w|/6
            for k in range(nv):
                K[base, k] = u[0, k]
                u[1, k] = K[base, nv + k]
                u[1, nv + k] = 0.0
            for _ in range(20):
                change = 0.0
                dexp(layout, u[0], u[1], K[extra])
                for k in range(nv):
                    new = K[base, k] - K[extra, k] / 3.0
                    change = max(change, abs(new - u[0, k]))
                    u[0, k] = new
                if change < 1e-15:
                    break
        retract(layout, y, u[0], out)

    if compiled:
        place = kernel(place, name="integrate.place", forceinline=False)

    def differences(layout, I, F, t, h, cv, cq, two_step, y, W, K, u, out):
        """The same matrix by differences, for systems without `along`; a status."""
        nv = K.shape[1] // 2
        nq = y.shape[0] - nv
        x, _, r, _ = scratch_rows(nv)
        M = K[MATRIX:].reshape((K.shape[0] - MATRIX) * K.shape[1])
        e = 1e-6 / (h * cv + cq)
        for j in range(nv):
            kept = K[x, j]
            for side in range(2):
                K[x, j] = kept + (e if side == 0 else -e)
                place(layout, h, cv, cq, two_step, y, K, u, out)
                status = residual(I, F, t, out[:nq], out[nq:], K[x, :nv], W, K[r, nv:])
                if status != 0:
                    K[x, j] = kept
                    return status
                for i in range(nv):
                    M[nv * i + j] = K[r, nv + i] / (2.0 * e) if side == 0 else M[nv * i + j] - K[r, nv + i] / (2.0 * e)
            K[x, j] = kept
        place(layout, h, cv, cq, two_step, y, K, u, out)
        return 0

    if compiled:
        differences = kernel(differences, name="integrate.differences", forceinline=False)

    def differentiate(layout, I, F, t, h, cv, cq, two_step, y, W, K, u, out):
        """(9) where `place` has put x last, factorised; a status, and (11)."""
        nv = K.shape[1] // 2
        nq = y.shape[0] - nv
        x, _, r, extra = scratch_rows(nv)
        M = K[MATRIX:].reshape((K.shape[0] - MATRIX) * K.shape[1])
        status = 0
        for j in range(nv):
            for k in range(2 * nv):
                u[1, k] = 0.0
            u[1, j], u[1, nv + j] = 1.0, cv
            dexp(layout, u[0], u[1], K[extra])
            for k in range(nv):
                K[extra, k] *= cq
            q, v, dq, dv = out[:nq], out[nq:], K[extra, :nv], K[extra, nv:]
            status = along(I, F, t, q, v, K[x, :nv], dq, dv, u[1, :nv], W, K[r, nv:])
            if status != 0:
                break
            for i in range(nv):
                M[nv * i + j] = K[r, nv + i]
        if status == ABSENT:
            status = differences(layout, I, F, t, h, cv, cq, two_step, y, W, K, u, out)
        if status != 0:
            return status, 0.0
        scale = 1.0
        for k in range(nq):
            scale = max(scale, abs(out[k]))
        for i in range(nv):
            K[extra, i] = 0.0
            for j in range(nv):
                K[extra, i] += abs(M[nv * i + j])
        if not finite(K[extra, :nv]):
            return NOT_FINITE, 0.0
        if not factorise_dense(M, nv):
            return NO_CONVERGENCE, 0.0
        substitute_dense(M, nv, K[extra, :nv], K[extra, nv:])
        largest = 0.0
        for k in range(nv):
            largest = max(largest, abs(K[extra, nv + k]))
        return 0, min(10.0 * _EPSILON * scale * largest, _LARGEST_FLOOR)

    if compiled:
        differentiate = kernel(differentiate, name="integrate.differentiate", forceinline=False)

    def regain(layout, I, F, h, cv, cq, two_step, y, B, K, u, out):
        """A better guess.  With v̇ at the start as x, v₁ and Δ as they belong to it, and only Dv + Kq in motion,

        x ← x − (M + αD + βK)⁻¹ (D (v₁ − v₀) + K Δ):                                                              (6)
        stiff modes are then where they will be, and the matrix from there is near the true derivative.
        """
        nv = K.shape[1] // 2
        x, _, r, _ = scratch_rows(nv)
        for k in range(nv):
            K[x, k] = K[K.shape[0] - 1, k]
        place(layout, h, cv, cq, two_step, y, K, u, out)
        resistance(I, F, 0.0, 1.0, u[0, :nv], K[r, :nv])
        resistance(I, F, 1.0, 0.0, u[0, nv:], K[r, nv:])
        for k in range(nv):
            K[r, k] += K[r, nv + k]
        substitute(I, F, K[r, :nv], B, K[r, nv:])
        for k in range(nv):
            K[x, k] -= K[r, nv + k]

    if compiled:
        regain = kernel(regain, name="integrate.regain", forceinline=False)

    def stay(h, cv, cq, two_step, K):
        """The guess that has Δ = 0."""
        nv = K.shape[1] // 2
        x, base, _, _ = scratch_rows(nv)
        for k in range(nv):
            K[x, k] = (0.5 * K[base, nv + k] / h - K[x, nv + k]) / cv if two_step else -K[base, k] / cq

    if compiled:
        stay = kernel(stay, name="integrate.stay", forceinline=False)

    def exact(layout, I, F, t, h, cv, cq, two_step, tolerance, y, W, K, u, out):
        """Newton's method with (9) and (10); a status.  K[_FLAGS, _DENSE] > 0: there is a matrix of the step before."""
        nv = K.shape[1] // 2
        nq, A = y.shape[0] - nv, W[: W.shape[0] // 2]
        M = K[MATRIX:].reshape((K.shape[0] - MATRIX) * K.shape[1])
        x, _, r, _ = scratch_rows(nv)
        begin, reach = x + 4, max(abs(cq), abs(h * cv))
        status = NO_CONVERGENCE
        for attempt in range(2):
            if attempt == 0:
                stay(h, cv, cq, two_step, K)
            else:
                for k in range(nv):
                    K[x, k] = K[K.shape[0] - 1, k]
            # `fresh`: S belongs to x; `known`: the correction at x has been found
            fresh, known, floor, size = False, False, 0.0, 0.0
            stale = attempt == 0 and K[_FLAGS, _DENSE] > 0.0
            for _ in range(_EXACT_ITERATIONS):
                if not known:
                    place(layout, h, cv, cq, two_step, y, K, u, out)
                    status = residual(I, F, t, out[:nq], out[nq:], K[x, :nv], A, K[r, :nv])
                    if status == 0 and not stale:
                        status, floor = differentiate(layout, I, F, t, h, cv, cq, two_step, y, A, K, u, out)
                        fresh = True
                    if status in (INPUT_FAILED, WANTED):
                        return status
                    if status != 0:
                        break
                    substitute_dense(M, nv, K[r, :nv], K[r, nv:])
                    size = reach * _largest(K[r, nv:])
                    known = True
                if not size < 1e100:
                    status = NO_CONVERGENCE if finite(K[r, :nv]) else NOT_FINITE
                    if stale:
                        known = stale = False
                        continue
                    break
                for k in range(nv):
                    K[begin, k], K[begin, nv + k] = K[x, k], K[r, nv + k]
                part, new = 1.0, 0.0
                while part >= _SHORTEST:
                    for k in range(nv):
                        K[x, k] = K[begin, k] - part * K[begin, nv + k]
                    place(layout, h, cv, cq, two_step, y, K, u, out)
                    status = residual(I, F, t, out[:nq], out[nq:], K[x, :nv], A, K[r, :nv])
                    if status == INPUT_FAILED:
                        return status
                    new = 1e300
                    if status == 0:
                        substitute_dense(M, nv, K[r, :nv], K[r, nv:])
                        new = reach * _largest(K[r, nv:])
                    if new <= (1.0 - 0.25 * part) * size or new <= floor or not fresh:
                        break
                    part *= 0.5
                if part < _SHORTEST or not new <= max((1.0 - 0.25 * part) * size, floor):
                    # with an old matrix that says nothing; with the true one it is the end
                    for k in range(nv):
                        K[x, k] = K[begin, k]
                    status = NO_CONVERGENCE
                    if fresh:
                        break
                    known = stale = False
                    continue
                rate = new / size if size > 0.0 else 0.0
                small = new * rate <= tolerance * (1.0 - rate) or new <= 1e-3 * tolerance
                if (part == 1.0 and small) or (new <= floor and (rate > _KEPT or new <= tolerance)):
                    for k in range(nv):
                        K[x, k] -= K[r, nv + k]
                    place(layout, h, cv, cq, two_step, y, K, u, out)
                    K[_FLAGS, _DENSE] += 1.0
                    K[_BEFORE, nv] = 0.0
                    return 0
                fresh, size = False, new
                if rate > _KEPT:
                    known = stale = False
        # no matrix for the next step
        K[_FLAGS, _DENSE] = 0.0
        return status

    if compiled:
        exact = kernel(exact, name="integrate.newton_exact", forceinline=False)

    def solve(layout, I, F, t, h, cv, cq, two_step, tolerance, y, W, K, u, out):
        nv = K.shape[1] // 2
        nq = y.shape[0] - nv
        half = W.shape[0] // 2
        A, B = W[:half], W[half:]
        x, _, r, _ = scratch_rows(nv)
        unknown, correction = K[x, :nv], K[r, nv:]
        # a matrix that was dense before will be so again, mostly
        if 0.0 < K[_FLAGS, _DENSE] <= _RETRIED:
            return exact(layout, I, F, t, h, cv, cq, two_step, tolerance, y, W, K, u, out)
        # how far x moves Δ and h v
        reach = max(abs(cq), abs(h * cv))
        ready, renewed, before, since = False, False, 0.0, 0
        known = K[_BEFORE, nv] if K[_BEFORE, nv] > 0.0 else 1.0
        worst = 0.0
        for _ in range(_ITERATIONS):
            place(layout, h, cv, cq, two_step, y, K, u, out)
            # the first residual leaves in B what the matrix begins with
            status = residual(I, F, t, out[:nq], out[nq:], K[x, :nv], A if ready else B, K[r, :nv])
            if status == 0 and not ready:
                status = factorise_next(I, F, out[:nq], cv, cq, B)
                ready = True
            if status == INPUT_FAILED:
                return status
            if status != 0:
                break
            substitute(I, F, K[r, :nv], B, K[r, nv:])
            size, total = 0.0, 0.0
            for k in range(nv):
                unknown[k] -= correction[k]
            for k in range(nv):
                size = max(size, abs(correction[k]))
                total += abs(correction[k])
            size *= reach
            # the largest of several numbers does not tell if one is not a number; their sum does
            if not reach * total < 1e100:
                break
            verdict, rate = judge(size, before, since, tolerance, known)
            before, since, worst = size, since + 1, max(worst, rate)
            if verdict == DONE:
                K[_BEFORE, nv] = max(worst, _BELIEVED) if worst > 0.0 else known**_FADING
                K[_FLAGS, _DENSE] = 0.0
                place(layout, h, cv, cq, two_step, y, K, u, out)
                return 0
            if verdict == TOO_SLOW:
                if renewed:
                    break
                known = 1.0
                regain(layout, I, F, h, cv, cq, two_step, y, B, K, u, out)
                renewed, ready, since = True, False, 0
        K[_FLAGS, _DENSE] = 0.0
        return exact(layout, I, F, t, h, cv, cq, two_step, tolerance, y, W, K, u, out)

    return kernel(solve, name="integrate.newton", forceinline=False) if compiled else solve


@kernel
def _largest(x):
    """The largest absolute value; 1e300 if one is not a number."""
    size, total = 0.0, 0.0
    for k in range(x.shape[0]):
        size = max(size, abs(x[k]))
        total += abs(x[k])
    return size if total < 1e300 else 1e300


@kernel
def judge(size, before, since, tolerance, known):
    """A word on a correction of this size, after `since` others with one matrix, the last `before`; and the rate.

    The first does not know its rate, only that of steps before, 1 if there is none.
    """
    if since == 0:
        enough = known <= _SLOW and size * known <= tolerance * (1.0 - known)
        return DONE if size <= 1e-3 * tolerance or enough else GO_ON, 0.0
    rate = size / before
    # what is left after a step that shrinks the error by `rate`
    if size <= 1e-3 * tolerance or (rate < 1.0 and size * rate <= tolerance * (1.0 - rate)):
        return DONE, rate
    if rate > _SLOW and size <= _ROUND_OFF:
        # what is asked for may be less than round-off: as long as it shrinks it goes on
        return DONE if size <= tolerance or rate > _STALLED or since >= _PATIENCE else GO_ON, rate
    if rate > _SLOW:
        return TOO_SLOW, rate
    return TOO_SLOW if since >= _PATIENCE else GO_ON, rate


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


def generalised_alpha(group: Operations, dynamics: Any, compiled: bool) -> Kernel:
    """(1) or (1′), in parts where need be; coefficients: `spectral`.  Memory: v̇ and a."""
    return in_parts(whole_alpha(group, dynamics, compiled), keep_memory, compiled)


def whole_alpha(
    group: Operations, dynamics: Any, compiled: bool, make_newton: Callable[..., Kernel] = _newton
) -> Kernel:
    """(1) or (1′) in one step.  constrained.py makes its own `newton`, for (1)."""
    newton, acceleration, retract = make_newton(group, dynamics, compiled), dynamics.acceleration, group.retract
    foresee = _foresight(dynamics, compiled) if make_newton is _newton else _no_foresight

    def step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        nv = K.shape[1] // 2
        nq = y.shape[0] - nv
        c = coefficients[0, 0]
        am, af, gamma, beta, part = c[0], c[1], c[2], c[3], c[4]
        if K[_FLAGS, _STARTED] == 0.0:
            status = acceleration(I, F, t, y[:nq], y[nq:], W[: W.shape[0] // 2], K[_PAST, :nv])
            if status != 0:
                return status
            for k in range(nv):
                K[_PAST, nv + k] = K[_PAST, k]
            K[_FLAGS, _STARTED] = 1.0
        x, base, _, _ = scratch_rows(nv)
        share = (1.0 - af) / (1.0 - am)
        past, algorithmic, speed = K[_PAST, :nv], K[_PAST, nv:], y[nq:]
        unknown, start, fixed = K[x, :nv], K[x, nv:], K[base, :nv]
        p, d, d_before = K[_GUESS, :nv], K[_GUESS, nv:], K[_BEFORE, :nv]
        guessed = K[_FLAGS, _STARTED] > 1.0
        for k in range(nv):
            old, a = past[k], algorithmic[k]
            rest = (af * old - am * a) / (1.0 - am)
            unknown[k] = p[k] + 2.0 * d[k] - d_before[k] if guessed else old
            K[K.shape[0] - 1, k] = old
            start[k] = speed[k] + part * h * ((1.0 - gamma) * a + gamma * rest)
            fixed[k] = part * (h * speed[k] + h * h * ((0.5 - beta) * a + beta * rest))
        cv, cq = part * h * gamma * share, part * h * h * beta * share
        tolerance = part * (c[5] + c[6] * abs(h))
        status = newton(layout, I, F, t + part * h, h, cv, cq, False, tolerance, y, W, K, u, out)
        if status != 0:
            return status
        if part != 1.0:
            # from between to the end: u[0] is (Δ | change of v), of which a part is done
            for k in range(2 * nv):
                u[0, k] /= part
            retract(layout, y, u[0], out)
        for k in range(nv):
            new = share * unknown[k] + (af * past[k] - am * algorithmic[k]) / (1.0 - am)
            past[k], algorithmic[k] = unknown[k], new
        foresee(I, F, c, h, cv, cq, y, W, K, u, out)
        return 0

    return kernel(step, name="integrate.generalised_alpha") if compiled else step


def _foresight(dynamics: Any, compiled: bool) -> Kernel:
    """(3) for a next step of the same length, after one from y to `out`: (I, F, c, h, cv, cq, y, W, K, u, out)."""
    substitute, resistance = dynamics.substitute, dynamics.resistance

    def foresee(I, F, c, h, cv, cq, y, W, K, u, out):
        nv = K.shape[1] // 2
        nq = y.shape[0] - nv
        am, af, gamma, beta, part = c[0], c[1], c[2], c[3], c[4]
        if K[_FLAGS, _DENSE] > 0.0:
            # of this matrix nobody knows the parts
            K[_FLAGS, _STARTED] = 1.0
            return
        _, force, r, _ = scratch_rows(nv)
        past, algorithmic, dq, dv = K[_PAST, :nv], K[_PAST, nv:], K[r, :nv], K[r, nv:]
        for k in range(nv):
            x, a, v = past[k], algorithmic[k], out[nq + k]
            rest = (af * x - am * a) / (1.0 - am)
            dq[k] = (1.0 - part) * u[0, k] + part * (h * v + h * h * ((0.5 - beta) * a + beta * rest)) + cq * x
            dv[k] = (1.0 - part) * u[0, nv + k] + part * h * ((1.0 - gamma) * a + gamma * rest) + cv * x
        resistance(I, F, 0.0, 1.0, dq, K[force, :nv])
        resistance(I, F, 1.0, 0.0, dv, K[force, nv:])
        for k in range(nv):
            K[force, k] += K[force, nv + k]
        substitute(I, F, K[force, :nv], W[W.shape[0] // 2 :], dq)
        known, p, d, d_before = K[_FLAGS, _STARTED], K[_GUESS, :nv], K[_GUESS, nv:], K[_BEFORE, :nv]
        for k in range(nv):
            missed = past[k] - p[k] if known > 1.0 else 0.0
            d_before[k] = d[k] if known > 2.0 else missed
            p[k], d[k] = past[k] - dq[k], missed
        K[_FLAGS, _STARTED] = min(known + 1.0, 3.0)

    return kernel(foresee, name="integrate.foresee", forceinline=False) if compiled else foresee


@kernel
def _no_foresight(I, F, c, h, cv, cq, y, W, K, u, out):
    """Where constraints drive the motion too."""


def in_parts(step: Kernel, change: Kernel, compiled: bool) -> Kernel:
    """A step of an implicit method that is made in parts, halved as often as need be, where it cannot be made at once.

    `change(c, ratio, K)` prepares the memory for steps that are `ratio` times as long.  If a part of h/_PARTS fails
    too, the memory is as it was, and the status that of the part.  A part that is IMPRECISE is halved as well,
    but goes through if it is as short as that.
    """

    def whole(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        kept = K.shape[0] - _PARTS_ROWS
        L, c = K[:kept], coefficients[0, 0]
        status = step(layout, I, F, coefficients, t, y, h, W, L, u, Y, out)
        if status in (INPUT_FAILED, WANTED) or (status == 0 and finite(out)):
            return status
        element = K[kept + 2 :].reshape(ROWS_OF_AN_ELEMENT * K.shape[1])[: y.size]
        here = element.reshape(y.shape)
        copy(y, here)
        for k in range(K.shape[1]):
            K[kept, k], K[kept + 1, k] = K[_PAST, k], K[_FLAGS, k]
        done, size = 0, _PARTS // 2
        change(c, 0.5, L)
        while done < _PARTS:
            status = step(layout, I, F, coefficients, t + h * done / _PARTS, here, h * size / _PARTS, W, L, u, Y, out)
            if (status == 0 or (status == IMPRECISE and size == 1)) and finite(out):
                copy(out, here)
                done += size
                if done % (2 * size) == 0 and done < _PARTS:
                    size *= 2
                    change(c, 2.0, L)
                continue
            if size == 1 or status in (INPUT_FAILED, WANTED):
                for k in range(K.shape[1]):
                    K[_PAST, k], K[_FLAGS, k] = K[kept, k], K[kept + 1, k]
                K[_FLAGS, _STARTED], K[_FLAGS, _DENSE] = min(K[_FLAGS, _STARTED], 1.0), 0.0
                return status
            size //= 2
            change(c, 0.5, L)
        change(c, float(_PARTS // size), L)
        return 0

    return kernel(whole, name="integrate.in_parts") if compiled else whole


@kernel
def keep_memory(c, ratio, K):
    """Memory of (1) and (1′): a stays.  It belongs to the time (α_m − α_f) h after its step, and h is another now:
    an error of O(h) in a, once.  To scale its difference from v̇ instead, as `adaptive_alpha` does, is to believe v̇,
    which of an oscillation too fast for h is enormous.
    """
    K[_FLAGS, _STARTED] = min(K[_FLAGS, _STARTED], 1.0)
    K[_FLAGS, _DENSE] = K[_BEFORE, K.shape[1] // 2] = 0.0


@kernel
def _no_memory(c, ratio, K):
    """What keeps nothing need not be told."""


@kernel
def _begin_anew(c, ratio, K):
    """Memory of (2): the next step is one of the implicit Euler method, which damps what made a longer one fail."""
    K[_FLAGS, _STARTED] = -1.0
    K[_FLAGS, _DENSE] = K[_BEFORE, K.shape[1] // 2] = 0.0


# What the adaptive steps keep: (v | v̇) for the motion between steps, (a₁ − a₀ | h), then the first rows of the others.
_KEPT_ROWS, ADAPTIVE_MEMORY = 4, 6


def adaptive_rows(nv: int) -> int:
    """Rows of K for `adaptive_alpha`: memory, those of a step, memory at the end."""
    return ADAPTIVE_MEMORY + _rows(nv) + ADAPTIVE_MEMORY


def adaptive_alpha(
    group: Operations, dynamics: Any, compiled: bool, make_newton: Callable[..., Kernel] = _newton
) -> Kernel:
    """(1) or (1′) as a trial step (explicit.adaptive); coefficients: `spectral`.

    a belongs to the time δh after its step, δ = α_m − α_f, so for another h it is moved by δ (h − h_before) v̈, with
    v̈ = (a₁ − a₀)/h_before of the step before.  With a₀ = v̇(t₀ + δh) in (1) the error of Δ is, to leading order,

        e = (β + ½ δ − ⅙) h² (a₁ − a₀) = (1/12 + ¼ δ²) h² (a₁ − a₀).                                              (12)

    It goes through what leaves of a stiff oscillation its amplitude,

        (M + αD + βK)⁻¹ M e = e − (M + αD + βK)⁻¹ (αD + βK) e.                                                    (7)

    Speeds are not weighed: those of stiff modes are large and mean little.
    """
    step, substitute = whole_alpha(group, dynamics, compiled, make_newton), dynamics.substitute
    momentum, resistance = dynamics.momentum, dynamics.resistance

    def trial(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        nv = K.shape[1] // 2
        nq, half, last = y.shape[0] - nv, W.shape[0] // 2, K.shape[0] - ADAPTIVE_MEMORY
        L, c = K[ADAPTIVE_MEMORY:last], coefficients[0, 0]
        am, af, gamma, beta, part = c[0], c[1], c[2], c[3], c[4]
        delta = am - (af + 1.0 - part)
        for r in range(_KEPT_ROWS):
            for k in range(2 * nv):
                L[r, k] = K[2 + r, k]
        # no matrix of an earlier step: a trial must not depend on what was tried before it
        L[_FLAGS, _DENSE] = 0.0
        change = h / K[1, nv] - 1.0 if K[1, nv] != 0.0 else 0.0
        for k in range(nv):
            L[_PAST, nv + k] += delta * change * K[1, k]
            # (3) goes on with the slope of d
            L[_BEFORE, k] -= change * (L[_GUESS, nv + k] - L[_BEFORE, k])
            K[last + 1, k] = L[_PAST, nv + k] if L[_FLAGS, _STARTED] > 0.0 else K[0, nv + k]
        status = step(layout, I, F, coefficients, t, y, h, W, L, u, Y, out)
        if status != 0:
            return status
        for k in range(nv):
            a = L[_PAST, nv + k]
            gain = a - K[last + 1, k]
            K[last, k], K[last, nv + k] = out[nq + k], L[_PAST, k] if part == 1.0 else a - delta * gain
            K[last + 1, k] = gain
            u[0, k] = (1.0 / 12.0 + 0.25 * delta * delta) * h * h * gain
        K[last + 1, nv] = h
        for r in range(_KEPT_ROWS):
            for k in range(2 * nv):
                K[last + 2 + r, k] = L[r, k]
        _, _, r, _ = scratch_rows(nv)
        if L[_FLAGS, _DENSE] > 0.0:
            # the left side of (7): of this matrix nobody knows the parts
            status = momentum(I, F, out[:nq], u[0, :nv], W[:half], L[r, :nv])
            M = L[MATRIX:].reshape((L.shape[0] - MATRIX) * L.shape[1])
            substitute_dense(M, nv, L[r, :nv], u[1, :nv])
        else:
            # the right side, which costs no pass over the tree
            share = (1.0 - af) / (1.0 - am)
            status = resistance(I, F, part * h * gamma * share, part * h * h * beta * share, u[0, :nv], L[r, :nv])
            substitute(I, F, L[r, :nv], W[half:], u[1, :nv])
            for k in range(nv):
                u[1, k] = u[0, k] - u[1, k]
        for k in range(nv):
            u[1, nv + k] = 0.0
        return status

    return kernel(trial, name="integrate.adaptive_alpha") if compiled else trial


def spectral(rho: float, tolerance: float = 1e-9, between: bool = False) -> tuple[float, ...]:
    """Coefficients of generalised-α from ρ, by (1) or, if forces are those `between`, (1′).

    α_m; the share α_f of the force at the start; γ; β; the part of the step after which x is taken; the tolerance, and
    what is added to it per second of the step.
    """
    if not 0.0 <= rho <= 1.0:
        raise InputError(f"generalised-α: rho is {rho!r}, expected a number from 0 to 1.")
    am, af = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
    gamma = 0.5 + af - am
    beta = 0.25 * (gamma + 0.5) ** 2
    shares = (am, 0.0, gamma, beta, 1.0 - af) if between else (am, af, gamma, beta, 1.0)
    return (*shares, tolerance, 0.0)


def bdf2(group: Operations, dynamics: Any, compiled: bool) -> Kernel:
    """(2); coefficients: tolerance.  Memory: w and v₋₁."""
    newton, acceleration = _newton(group, dynamics, compiled), dynamics.acceleration

    def step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        nv = K.shape[1] // 2
        nq = y.shape[0] - nv
        x, base, _, _ = scratch_rows(nv)
        two_step, euler = K[_FLAGS, _STARTED] == 1.0, K[_FLAGS, _STARTED] < 0.0
        # v̇ at the start: the trapezoidal step needs it, and it is a good first guess
        status = acceleration(I, F, t, y[:nq], y[nq:], W[: W.shape[0] // 2], K[x, :nv])
        if status != 0:
            return status
        for k in range(nv):
            v = y[nq + k]
            if two_step:
                K[x, nv + k] = (4.0 * v - K[_PAST, nv + k]) / 3.0
                K[base, nv + k] = K[_PAST, k]
            elif euler:
                K[x, nv + k], K[base, k] = v, h * v
            else:
                K[x, nv + k] = v + 0.5 * h * K[x, k]
                K[base, k] = h * v + 0.25 * h * h * K[x, k]
            K[K.shape[0] - 1, k] = K[x, k]
        cv = 2.0 * h / 3.0 if two_step else h if euler else 0.5 * h
        cq = cv * cv
        status = newton(layout, I, F, t + h, h, cv, cq, two_step, coefficients[0, 0, 0], y, W, K, u, out)
        if status != 0:
            return status
        for k in range(nv):
            # u[0] is (Δ | …): q₀ seen from q₁ is at −Δ
            K[_PAST, k], K[_PAST, nv + k] = -u[0, k], y[nq + k]
        K[_FLAGS, _STARTED] = 1.0
        return 0

    step = kernel(step, name="integrate.bdf2") if compiled else step
    return in_parts(step, _begin_anew, compiled)


def rosenbrock_rows(nv: int) -> int:
    """Rows of K for `rosenbrock`: the field at the start, k_1 … k_s, sums, a dense matrix, the field at the end."""
    return 7 + (nv + 2) // 2


def rosenbrock_step_rows(nv: int) -> int:
    """Rows of K for steps of fixed size: those of `rosenbrock`, then those of `in_parts`."""
    return rosenbrock_rows(nv) + _PARTS_ROWS


def rosenbrock(group: Operations, dynamics: Any, compiled: bool, coupled: bool = False) -> Kernel:
    """(4) as a trial step (explicit.adaptive); coefficients as those of tableau.Rosenbrock.

    With k = (k_u, k_v) and g = Σ γ_ij k_j,

    k_u = f_u + h g_v + γh k_v,    (M + γhD + γ²h²K) k_v = M f_v − h (D g_v + K g_u) − γhK (f_u + h g_v).            (8)

    In a system that is `coupled` D and K are the true derivatives of the residual where the step begins.  The
    right-hand side is then one derivative along a direction, and the matrix is dense, as in (9).
    """
    retract, dexpinv, acceleration = group.retract, group.dexpinv_right_apply, dynamics.acceleration
    prepare, resolve = (_true_matrix if coupled else _block_matrix)(dynamics, compiled)

    def trial(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        nv, s = K.shape[1] // 2, coefficients.shape[2]
        nq, half = y.shape[0] - nv, W.shape[0] // 2
        A, total, end = W[:half], s + 1, K.shape[0] - 1
        gamma = coefficients[s, 0, 0]
        status = prepare(I, F, t, y, gamma * h, W, K, u, total + 1)
        if status != 0:
            return status
        for i in range(s):
            alpha = 0.0
            for d in range(2 * nv):
                u[0, d] = K[total, d] = 0.0
            for j in range(i):
                a, g = h * coefficients[i, 0, j], coefficients[s + i, 0, j]
                alpha += coefficients[i, 0, j]
                for d in range(2 * nv):
                    u[0, d] += a * K[1 + j, d]
                    K[total, d] += g * K[1 + j, d]
            # f into u[1]
            if i == 0:
                for d in range(2 * nv):
                    u[1, d] = K[0, d]
            else:
                retract(layout, y, u[0], Y)
                for k in range(nv):
                    u[1, k], u[1, nv + k] = Y[nq + k], 0.0
                dexpinv(layout, u[0], u[1], K[1 + i])
                for k in range(nv):
                    u[1, k] = K[1 + i, k]
                status = acceleration(I, F, t + alpha * h, Y[:nq], Y[nq:], A, u[1, nv:])
                if status != 0:
                    return status
            # (8): K[1 + i] as scratch for −(what K and D are multiplied by), u[1] as (f_u + h g_v | f_v)
            for k in range(nv):
                u[1, k] += h * K[total, nv + k]
            for k in range(nv):
                K[1 + i, k] = -h * K[total, k] - gamma * h * u[1, k]
                K[1 + i, nv + k] = -h * K[total, nv + k]
            status = resolve(I, F, t, y, W, K, u, 1 + i, total + 1)
            if status != 0:
                return status
            for k in range(nv):
                K[1 + i, k] = u[1, k] + gamma * h * K[1 + i, nv + k]
        for d in range(2 * nv):
            u[0, d] = u[1, d] = 0.0
            for j in range(s):
                u[0, d] += h * coefficients[2 * s, 0, j] * K[1 + j, d]
                u[1, d] += h * coefficients[2 * s + 1, 0, j] * K[1 + j, d]
        retract(layout, y, u[0], out)
        for k in range(nv):
            K[end, k] = out[nq + k]
        return acceleration(I, F, t + h, out[:nq], out[nq:], A, K[end, nv:])

    return kernel(trial, name="integrate.rosenbrock") if compiled else trial


def _block_matrix(dynamics: Any, compiled: bool) -> tuple[Kernel, Kernel]:
    """What prepares the matrix of (8) with D and K of the system, and what solves with it."""
    momentum, resistance = dynamics.momentum, dynamics.resistance
    factorise, substitute = dynamics.factorise, dynamics.substitute

    def prepare(I, F, t, y, gamma, W, K, u, first):
        nq = y.shape[0] - K.shape[1] // 2
        return factorise(I, F, y[:nq], gamma, gamma * gamma, W[W.shape[0] // 2 :])

    def resolve(I, F, t, y, W, K, u, row, first):
        """K[row] = (K's factor | D's factor) becomes (… | k_v); u[0] is scratch."""
        nv, half = K.shape[1] // 2, W.shape[0] // 2
        status = momentum(I, F, y[: y.shape[0] - nv], u[1, nv:], W[:half], u[0, nv:])
        if status != 0:
            return status
        resistance(I, F, 0.0, 1.0, K[row, :nv], u[0, :nv])
        resistance(I, F, 1.0, 0.0, K[row, nv:], K[row, :nv])
        for k in range(nv):
            u[0, nv + k] += u[0, k] + K[row, k]
        return substitute(I, F, u[0, nv:], W[half:], K[row, nv:])

    return _compiled(compiled, "block", prepare, resolve)


def _true_matrix(dynamics: Any, compiled: bool) -> tuple[Kernel, Kernel]:
    """The same with the true derivatives of the residual at the start, v̇ in K[0]; the matrix in K from row `first`."""
    along = dynamics.along

    def prepare(I, F, t, y, gamma, W, K, u, first):
        nv = K.shape[1] // 2
        nq, A = y.shape[0] - nv, W[: W.shape[0] // 2]
        M = K[first:].reshape((K.shape[0] - first) * K.shape[1])
        for k in range(nv):
            u[0, k] = u[0, nv + k] = u[1, k] = 0.0
        for j in range(nv):
            u[0, j], u[0, nv + j], u[1, j] = gamma * gamma, gamma, 1.0
            status = along(I, F, t, y[:nq], y[nq:], K[0, nv:], u[0, :nv], u[0, nv:], u[1, :nv], A, u[1, nv:])
            if status != 0:
                return status
            u[0, j] = u[0, nv + j] = u[1, j] = 0.0
            for i in range(nv):
                M[nv * i + j] = u[1, nv + i]
        return 0 if factorise_dense(M, nv) else NO_CONVERGENCE

    def resolve(I, F, t, y, W, K, u, row, first):
        nv = K.shape[1] // 2
        nq, A = y.shape[0] - nv, W[: W.shape[0] // 2]
        M = K[first:].reshape((K.shape[0] - first) * K.shape[1])
        dq, dv, da = K[row, :nv], K[row, nv:], u[1, nv:]
        status = along(I, F, t, y[:nq], y[nq:], K[0, nv:], dq, dv, da, A, u[0, :nv])
        if status == 0:
            substitute_dense(M, nv, u[0, :nv], K[row, nv:])
        return status

    return _compiled(compiled, "true", prepare, resolve)


def _compiled(compiled: bool, name: str, *parts: Kernel) -> Any:
    return tuple(kernel(p, name=f"integrate.{name}_{p.__name__}") if compiled else p for p in parts)


def coupled_rosenbrock(group: Operations, dynamics: Any, compiled: bool) -> Kernel:
    """`rosenbrock` for coupled systems."""
    return rosenbrock(group, dynamics, compiled, coupled=True)


def rosenbrock_step(group: Operations, dynamics: Any, compiled: bool) -> Kernel:
    """(4) as a step of fixed size."""
    trial, acceleration = rosenbrock(group, dynamics, compiled), dynamics.acceleration

    def step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        nv = K.shape[1] // 2
        nq = y.shape[0] - nv
        for k in range(nv):
            K[0, k] = y[nq + k]
        status = acceleration(I, F, t, y[:nq], y[nq:], W[: W.shape[0] // 2], K[0, nv:])
        if status != 0:
            return status
        return trial(layout, I, F, coefficients, t, y, h, W, K, u, Y, out)

    return kernel(step, name="integrate.rosenbrock_step") if compiled else step


def coupled_rosenbrock_step(group: Operations, dynamics: Any, compiled: bool) -> Kernel:
    """The same for coupled systems, in parts where the error of Δ, as estimated, is too large a share of Δ and h v.

    A method that is only linearly implicit is stable for linear systems.  A stiff spring that turns within a step is
    none: the path that it leaves open is curved, every stage leaves it along the tangent, and without a bound on the
    step the energy grows step by step.
    """
    trial, acceleration = coupled_rosenbrock(group, dynamics, compiled), dynamics.acceleration

    def step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        nv = K.shape[1] // 2
        nq = y.shape[0] - nv
        for k in range(nv):
            K[0, k] = y[nq + k]
        status = acceleration(I, F, t, y[:nq], y[nq:], W[: W.shape[0] // 2], K[0, nv:])
        if status == 0:
            status = trial(layout, I, F, coefficients, t, y, h, W, K, u, Y, out)
        if status != 0:
            return status
        error, size = 0.0, 0.0
        for k in range(nv):
            error, size = max(error, abs(u[1, k])), max(size, abs(u[0, k]), abs(h * K[0, k]))
        return IMPRECISE if error > _SHARE * size + _LEAST else 0

    step = kernel(step, name="integrate.coupled_rosenbrock_step") if compiled else step
    return in_parts(step, _no_memory, compiled)
