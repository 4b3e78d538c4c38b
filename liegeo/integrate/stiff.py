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

Newton's method for x, with equations (6) and (9) to (12), is in newton.py.

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
from liegeo._memory import flat, shaped
from liegeo.errors import InputError
from liegeo.integrate import sticking
from liegeo.integrate.explicit import Operations, copy, finite
from liegeo.integrate.newton import (
    BASE,
    BEFORE,
    CUTS,
    DENSE,
    FLAGS,
    GRIP,
    GUESS,
    LOCAL,
    MATRIX,
    PAST,
    RECORD,
    RESIDUAL,
    SLACK,
    START,
    STARTED,
    WATCHED,
    Newton,
    X,
    factorise_dense,
    held,
    memory,
    motion,
    scratch,
    split,
    substitute_dense,
    tally,
    weighed,
)
from liegeo.integrate.newton import rows as newton_rows
from liegeo.integrate.symmetric import ROWS_OF_AN_ELEMENT
from liegeo.status import INPUT_FAILED, NO_CONVERGENCE, WANTED

Kernel = Callable[..., Any]

NEWTON = Newton()
# Rows of K in which `in_parts` keeps memory and state.
_PARTS_ROWS = 2 + ROWS_OF_AN_ELEMENT
# A step whose result is finite, but so far from right that it is better made in parts; the error of a step of
# Rosenbrock's as a share of μ of newton.py (12), from which on it is, and what is round-off.
IMPRECISE = -6
PART_ERROR, _LEAST = 1e-3, 1e-12
# Into how many parts a step is cut where a force switches.
SWITCH_PARTS = 64


def rows(nv: int) -> int:
    """Return how many rows of K the implicit methods use: those of Newton's method, then those of `in_parts`."""
    return newton_rows(nv) + _PARTS_ROWS


def record(nv: int) -> int:
    """Return the row of K in which the record of the implicit methods begins."""
    return memory(nv) + RECORD


def generalised_alpha(group: Operations, dynamics: Any, compiled: bool) -> Kernel:
    """(1) or (1′), in parts where need be; coefficients: `spectral`.  Memory: v̇ and a."""
    return in_parts(whole_alpha(group, dynamics, compiled), keep_memory, compiled)


def make_switched(dynamics: Any, compiled: bool) -> Kernel:
    """Return what says whether a force switches between two states, if the step is watched."""
    switches = dynamics.switches

    def switched(I, F, y, end, W, K):
        nq, nv = split(K, y)
        if K[scratch(nv) + RECORD, WATCHED] == 0.0:
            return False
        half = W[: W.shape[0] // 2]
        return switches(I, F, y[:nq], y[nq:], half) != switches(I, F, end[:nq], end[nq:], half)

    return kernel(switched, name="integrate.switched") if compiled else switched


def whole_alpha(
    group: Operations, dynamics: Any, compiled: bool, make_newton: Callable[..., Kernel] = NEWTON.make
) -> Kernel:
    """(1) or (1′) in one step.  constrained.py makes its own `newton`, for (1)."""
    newton, acceleration, retract = make_newton(group, dynamics, compiled), dynamics.acceleration, group.retract
    switched = make_switched(dynamics, compiled)
    foresee = _foresight(dynamics, compiled) if make_newton == NEWTON.make else _no_foresight

    def step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        nq, nv = split(K, y)
        c = coefficients[0, 0]
        am, af, gamma, beta, part = c[0], c[1], c[2], c[3], c[4]
        if K[FLAGS, STARTED] == 0.0:
            status = acceleration(I, F, t, y[:nq], y[nq:], W[: W.shape[0] // 2], K[PAST, :nv])
            if status != 0:
                return status
            for k in range(nv):
                K[PAST, nv + k] = K[PAST, k]
            K[FLAGS, STARTED] = 1.0
        s = scratch(nv)
        share = (1.0 - af) / (1.0 - am)
        past, algorithmic, speed = K[PAST, :nv], K[PAST, nv:], y[nq:]
        unknown, start, fixed = K[s + X, :nv], K[s + X, nv:], K[s + BASE, :nv]
        p, d, d_before = K[GUESS, :nv], K[GUESS, nv:], K[BEFORE, :nv]
        guessed = K[FLAGS, STARTED] > 1.0
        for k in range(nv):
            old, a = past[k], algorithmic[k]
            rest = (af * old - am * a) / (1.0 - am)
            unknown[k] = p[k] + 2.0 * d[k] - d_before[k] if guessed else old
            K[s + START, k] = old
            start[k] = speed[k] + part * h * ((1.0 - gamma) * a + gamma * rest)
            fixed[k] = part * (h * speed[k] + h * h * ((0.5 - beta) * a + beta * rest))
        cv, cq = part * h * gamma * share, part * h * h * beta * share
        absolute = part * (c[6] + c[7] * abs(h))
        status = newton(layout, I, F, t + part * h, h, cv, cq, False, c[5], absolute, c[8:], y, W, K, u, out)
        if status != 0:
            return status
        if part != 1.0:
            # from between to the end: u[0] is (Δ | change of v), of which a part is done
            for k in range(2 * nv):
                u[0, k] /= part
            retract(layout, y, u[0], out)
        if held(K, s):
            sticking.come_to_rest(K[s + GRIP], K[s + SLACK], out[nq:])
        if switched(I, F, y, out, W, K):
            return IMPRECISE
        for k in range(nv):
            new = share * unknown[k] + (af * past[k] - am * algorithmic[k]) / (1.0 - am)
            past[k], algorithmic[k] = unknown[k], new
        if held(K, s):
            sticking.forget(K[s + GRIP], out[nq:], past)
            sticking.forget(K[s + GRIP], out[nq:], algorithmic)
        foresee(I, F, c, h, cv, cq, y, W, K, u, out)
        return 0

    return kernel(step, name="integrate.generalised_alpha") if compiled else step


def _foresight(dynamics: Any, compiled: bool) -> Kernel:
    """(3) for a next step of the same length, after one from y to `out`: (I, F, c, h, cv, cq, y, W, K, u, out)."""
    substitute, resistance = dynamics.substitute, dynamics.resistance

    def foresee(I, F, c, h, cv, cq, y, W, K, u, out):
        nq, nv = split(K, y)
        am, af, gamma, beta, part = c[0], c[1], c[2], c[3], c[4]
        if K[FLAGS, DENSE] > 0.0:
            # of this matrix nobody knows the parts
            K[FLAGS, STARTED] = 1.0
            return
        s = scratch(nv)
        past, algorithmic, dq, dv = K[PAST, :nv], K[PAST, nv:], K[s + RESIDUAL, :nv], K[s + RESIDUAL, nv:]
        force, damping = K[s + BASE, :nv], K[s + BASE, nv:]
        for k in range(nv):
            x, a, v = past[k], algorithmic[k], out[nq + k]
            rest = (af * x - am * a) / (1.0 - am)
            dq[k] = (1.0 - part) * u[0, k] + part * (h * v + h * h * ((0.5 - beta) * a + beta * rest)) + cq * x
            dv[k] = (1.0 - part) * u[0, nv + k] + part * h * ((1.0 - gamma) * a + gamma * rest) + cv * x
        resistance(I, F, 0.0, 1.0, dq, force)
        resistance(I, F, 1.0, 0.0, dv, damping)
        rate = 1.0 / cv
        for k in range(nv):
            force[k] += damping[k] + K[s + LOCAL, k] * (dv[k] * rate)
        substitute(I, F, force, W[W.shape[0] // 2 :], dq)
        known, p, d, d_before = K[FLAGS, STARTED], K[GUESS, :nv], K[GUESS, nv:], K[BEFORE, :nv]
        for k in range(nv):
            missed = past[k] - p[k] if known > 1.0 else 0.0
            d_before[k] = d[k] if known > 2.0 else missed
            p[k], d[k] = past[k] - dq[k], missed
        K[FLAGS, STARTED] = min(known + 1.0, 3.0)

    return kernel(foresee, name="integrate.foresee", forceinline=False) if compiled else foresee


@kernel
def _no_foresight(I, F, c, h, cv, cq, y, W, K, u, out):
    """Where constraints drive the motion too."""


def in_parts(step: Kernel, change: Kernel, compiled: bool, recorded: bool = True) -> Kernel:
    """A step of an implicit method that is made in parts, halved as often as need be, where it cannot be made at once.

    `change(c, ratio, K)` prepares the memory for steps that are `ratio` times as long.  If a part of h/_PARTS fails
    too, the memory is as it was, and the status that of the part.  A part that is IMPRECISE is halved as well,
    but goes through if it is as short as that.  `recorded`: K has the rows of Newton's method, with its record.

    **Kinks.**  Where a contact is made or lost, a step meets a force for a part of its length only.  An impact that
    lasts less than a step then gives back any energy: a hammer between stops that takes half a step to turn had
    seventeen times its energy after half a second of generalised-α.  So a step in which something switches is made in
    parts too, until the part in which it does is as short as 1/SWITCH_PARTS of the step; behind it they grow again.
    """
    parts = NEWTON.parts

    def whole(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        kept = K.shape[0] - _PARTS_ROWS
        L, c = K[:kept], coefficients[0, 0]
        first = scratch(split(K, y)[1]) + RECORD
        here = shaped(flat(K[kept + 2 :])[: y.size], y)
        # one call of `step`, which is large: a whole step is the first part
        begin, done, size = y, 0, parts
        while done < parts:
            if recorded:
                K[first, WATCHED] = 1.0 if size > parts // SWITCH_PARTS else 0.0
            status = step(layout, I, F, coefficients, t + h * done / parts, begin, h * size / parts, W, L, u, Y, out)
            good = (status == 0 or (status == IMPRECISE and size == 1)) and finite(out)
            ends = status in (INPUT_FAILED, WANTED)
            if size == parts:
                if good or ends:
                    return status
                copy(y, here)
                begin = here
                for k in range(K.shape[1]):
                    K[kept, k], K[kept + 1, k] = K[PAST, k], K[FLAGS, k]
            elif good:
                copy(out, here)
                done += size
                if done % (2 * size) == 0 and done < parts:
                    size *= 2
                    change(c, 2.0, L)
                continue
            elif size == 1 or ends:
                for k in range(K.shape[1]):
                    K[PAST, k], K[FLAGS, k] = K[kept, k], K[kept + 1, k]
                K[FLAGS, STARTED], K[FLAGS, DENSE] = min(K[FLAGS, STARTED], 1.0), 0.0
                return status
            size //= 2
            if recorded:
                tally(L, first, CUTS)
            change(c, 0.5, L)
        change(c, float(parts // size), L)
        return 0

    return kernel(whole, name="integrate.in_parts") if compiled else whole


@kernel
def keep_memory(c, ratio, K):
    """Memory of (1) and (1′): a stays.  It belongs to the time (α_m − α_f) h after its step, and h is another now:
    an error of O(h) in a, once.  To scale its difference from v̇ instead, as `adaptive_alpha` does, is to believe v̇,
    which of an oscillation too fast for h is enormous.
    """
    K[FLAGS, STARTED] = min(K[FLAGS, STARTED], 1.0)
    K[FLAGS, DENSE] = K[BEFORE, K.shape[1] - 1] = 0.0


@kernel
def _no_memory(c, ratio, K):
    """What keeps nothing need not be told."""


@kernel
def _begin_anew(c, ratio, K):
    """Memory of (2): the next step is one of the implicit Euler method, which damps what made a longer one fail."""
    K[FLAGS, STARTED] = -1.0
    K[FLAGS, DENSE] = K[BEFORE, K.shape[1] - 1] = 0.0


# What the adaptive steps keep: (v | v̇) for the motion between steps, (a₁ − a₀ | h), then the first rows of the others.
_KEPT_ROWS, ADAPTIVE_MEMORY = 4, 6


def adaptive_rows(nv: int) -> int:
    """Rows of K for `adaptive_alpha`: memory, those of a step, memory at the end."""
    return ADAPTIVE_MEMORY + newton_rows(nv) + ADAPTIVE_MEMORY


def adaptive_record(nv: int) -> int:
    """Return the row of K in which the record of `adaptive_alpha` begins."""
    return ADAPTIVE_MEMORY + record(nv)


def adaptive_alpha(
    group: Operations, dynamics: Any, compiled: bool, make_newton: Callable[..., Kernel] = NEWTON.make
) -> Kernel:
    """(1) or (1′) as a trial step (stepping.chosen_steps); coefficients: `spectral`.

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
        nq, nv = split(K, y)
        half, last, s = W.shape[0] // 2, K.shape[0] - ADAPTIVE_MEMORY, scratch(nv)
        L, c = K[ADAPTIVE_MEMORY:last], coefficients[0, 0]
        am, af, gamma, beta, part = c[0], c[1], c[2], c[3], c[4]
        delta = am - (af + 1.0 - part)
        for r in range(_KEPT_ROWS):
            for k in range(2 * nv):
                L[r, k] = K[2 + r, k]
        # no matrix of an earlier step: a trial must not depend on what was tried before it
        L[FLAGS, DENSE] = 0.0
        change = h / K[1, nv] - 1.0 if K[1, nv] != 0.0 else 0.0
        for k in range(nv):
            L[PAST, nv + k] += delta * change * K[1, k]
            # (3) goes on with the slope of d
            L[BEFORE, k] -= change * (L[GUESS, nv + k] - L[BEFORE, k])
            K[last + 1, k] = L[PAST, nv + k] if L[FLAGS, STARTED] > 0.0 else K[0, nv + k]
        status = step(layout, I, F, coefficients, t, y, h, W, L, u, Y, out)
        if status != 0:
            return status
        for k in range(nv):
            a = L[PAST, nv + k]
            gain = a - K[last + 1, k]
            K[last, k], K[last, nv + k] = out[nq + k], L[PAST, k] if part == 1.0 else a - delta * gain
            K[last + 1, k] = gain
            u[0, k] = (1.0 / 12.0 + 0.25 * delta * delta) * h * h * gain
        K[last + 1, nv] = h
        for r in range(_KEPT_ROWS):
            for k in range(2 * nv):
                K[last + 2 + r, k] = L[r, k]
        r = s + RESIDUAL
        if L[FLAGS, DENSE] > 0.0:
            # the left side of (7): of this matrix nobody knows the parts
            status = momentum(I, F, out[:nq], u[0, :nv], W[:half], L[r, :nv])
            M = flat(L[MATRIX:])
            substitute_dense(M, nv, L[r, :nv], u[1, :nv])
        else:
            # the right side, which costs no pass over the tree
            share = (1.0 - af) / (1.0 - am)
            status = resistance(I, F, part * h * gamma * share, part * h * h * beta * share, u[0, :nv], L[r, :nv])
            for k in range(nv):
                L[r, k] += L[s + LOCAL, k] * u[0, k]
            substitute(I, F, L[r, :nv], W[half:], u[1, :nv])
            for k in range(nv):
                u[1, k] = u[0, k] - u[1, k]
        if held(L, s):
            # nobody knows when within the step a joint stuck or broke away
            for k in range(nv):
                if L[s + GRIP, k] != 0.0 and sticking.side(y[nq + k]) != sticking.side(out[nq + k]):
                    u[1, k] = 0.5 * h * (out[nq + k] - y[nq + k])
                    # what a gained there is no rate with which it goes on
                    K[last + 1, k] = 0.0
        for k in range(nv):
            u[1, nv + k] = 0.0
        return status

    return kernel(trial, name="integrate.adaptive_alpha") if compiled else trial


def spectral(rho: float, tolerance: float = 1e-5, between: bool = False) -> tuple[float, ...]:
    """Coefficients of generalised-α from ρ, by (1) or, if forces are those `between`, (1′).

    α_m; the share α_f of the force at the start; γ; β; the part of the step after which x is taken; the tolerances of
    newton.py (12), relative and absolute, and what is added to the latter per second of the step.
    """
    if not 0.0 <= rho <= 1.0:
        raise InputError(f"generalised-α: rho is {rho!r}, expected a number from 0 to 1.")
    am, af = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
    gamma = 0.5 + af - am
    beta = 0.25 * (gamma + 0.5) ** 2
    shares = (am, 0.0, gamma, beta, 1.0 - af) if between else (am, af, gamma, beta, 1.0)
    return (*shares, tolerance, 0.0, 0.0)


# By what share equal steps may differ, for the times that they end at are rounded.
_SAME_STEP = 1e-6


def bdf2(group: Operations, dynamics: Any, compiled: bool) -> Kernel:
    """(2); coefficients: tolerance.  Memory: w, v₋₁, h, and v̇ where the step before began, for the next guess.

    (2) holds for two equal steps; where h changes, the memory is of no use, and a step is one of the trapezoidal rule.
    """
    newton, acceleration = NEWTON.make(group, dynamics, compiled), dynamics.acceleration
    switched = make_switched(dynamics, compiled)

    def step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        nq, nv = split(K, y)
        s = scratch(nv)
        x, base, c = s + X, s + BASE, coefficients[0, 0]
        euler = K[FLAGS, STARTED] < 0.0
        two_step = K[FLAGS, STARTED] == 1.0 and abs(K[GUESS, nv] - h) <= _SAME_STEP * h
        # v̇ at the start: the trapezoidal step needs it, and with that of the step before it is a good first guess
        status = acceleration(I, F, t, y[:nq], y[nq:], W[: W.shape[0] // 2], K[x, :nv])
        if status != 0:
            return status
        for k in range(nv):
            v = y[nq + k]
            if two_step:
                K[x, nv + k] = (4.0 * v - K[PAST, nv + k]) / 3.0
                K[base, nv + k] = K[PAST, k]
            elif euler:
                K[x, nv + k], K[base, k] = v, h * v
            else:
                K[x, nv + k] = v + 0.5 * h * K[x, k]
                K[base, k] = h * v + 0.25 * h * h * K[x, k]
            K[s + START, k] = K[x, k]
            if two_step:
                K[x, k] += K[x, k] - K[GUESS, k]
        cv = 2.0 * h / 3.0 if two_step else h if euler else 0.5 * h
        cq = cv * cv
        status = newton(layout, I, F, t + h, h, cv, cq, two_step, c[0], 0.0, c[1:], y, W, K, u, out)
        if status != 0:
            return status
        if held(K, s):
            sticking.come_to_rest(K[s + GRIP], K[s + SLACK], out[nq:])
        if switched(I, F, y, out, W, K):
            return IMPRECISE
        for k in range(nv):
            # u[0] is (Δ | …): q₀ seen from q₁ is at −Δ
            K[PAST, k], K[PAST, nv + k] = -u[0, k], y[nq + k]
            K[GUESS, k] = K[s + START, k]
        if held(K, s):
            sticking.forget(K[s + GRIP], out[nq:], K[PAST, :nv])
            sticking.forget(K[s + GRIP], out[nq:], K[PAST, nv:])
        K[GUESS, nv] = h
        K[FLAGS, STARTED] = 1.0
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
    """(4) as a trial step (stepping.chosen_steps); coefficients as those of tableau.Rosenbrock.

    With k = (k_u, k_v) and g = Σ γ_ij k_j,

    k_u = f_u + h g_v + γh k_v,    (M + γhD + γ²h²K) k_v = M f_v − h (D g_v + K g_u) − γhK (f_u + h g_v).            (8)

    In a system that is `coupled` D and K are the true derivatives of the residual where the step begins.  The
    right-hand side is then one derivative along a direction, and the matrix is dense, as in (9).
    """
    retract, dexpinv, acceleration = group.retract, group.dexpinv_right_apply, dynamics.acceleration
    prepare, resolve = (_true_matrix if coupled else _block_matrix)(dynamics, compiled)

    def trial(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        nq, nv = split(K, y)
        s, half = coefficients.shape[2], W.shape[0] // 2
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
        nq, _ = split(K, y)
        return factorise(I, F, y[:nq], gamma, gamma * gamma, W[W.shape[0] // 2 :])

    def resolve(I, F, t, y, W, K, u, row, first):
        """K[row] = (K's factor | D's factor) becomes (… | k_v); u[0] is scratch."""
        (nq, nv), half = split(K, y), W.shape[0] // 2
        status = momentum(I, F, y[:nq], u[1, nv:], W[:half], u[0, nv:])
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
        nq, nv = split(K, y)
        A = W[: W.shape[0] // 2]
        M = flat(K[first:])
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
        nq, nv = split(K, y)
        A = W[: W.shape[0] // 2]
        M = flat(K[first:])
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
        nq, nv = split(K, y)
        for k in range(nv):
            K[0, k] = y[nq + k]
        status = acceleration(I, F, t, y[:nq], y[nq:], W[: W.shape[0] // 2], K[0, nv:])
        if status != 0:
            return status
        return trial(layout, I, F, coefficients, t, y, h, W, K, u, Y, out)

    return kernel(step, name="integrate.rosenbrock_step") if compiled else step


def coupled_rosenbrock_step(group: Operations, dynamics: Any, compiled: bool) -> Kernel:
    """The same for coupled systems, in parts where the error of Δ, as estimated, is larger than PART_ERROR μ.

    A method that is only linearly implicit is stable for linear systems.  A stiff spring that turns within a step is
    none: the path that it leaves open is curved, every stage leaves it along the tangent, and without a bound on the
    step the energy grows step by step.  Errors of parts add up like what Newton's method leaves of its equations, so
    they are judged by the same μ (newton.py (12)): as a share of h (v₁ − v₀), their sum does not depend on the number
    of parts; as a share of h v, it would grow with it.  The estimate is that of the lower order, far above the error of
    a smooth motion: a smaller share would make parts of steps that are good, and the method would lose its order.
    """
    trial, acceleration = coupled_rosenbrock(group, dynamics, compiled), dynamics.acceleration

    def step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        nq, nv = split(K, y)
        for k in range(nv):
            K[0, k] = y[nq + k]
        status = acceleration(I, F, t, y[:nq], y[nq:], W[: W.shape[0] // 2], K[0, nv:])
        if status == 0:
            status = trial(layout, I, F, coefficients, t, y, h, W, K, u, Y, out)
        if status != 0:
            return status
        # behind the tableau and its two rows of weights stands 1/σ
        stages = coefficients.shape[2]
        inverse = flat(coefficients)[stages * (2 * stages + 2) :]
        error, mu = weighed(u[1, :nv], inverse), motion(h, y[nq:], u[0], inverse)
        return IMPRECISE if error > PART_ERROR * mu + _LEAST else 0

    step = kernel(step, name="integrate.coupled_rosenbrock_step") if compiled else step
    return in_parts(step, _no_memory, compiled, recorded=False)
