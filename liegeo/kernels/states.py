"""Elements with first-order states x, ẋ = f(v, x, inputs): the lag of an actuator, and friction with a memory.

States stand in u before gravity, so that forward and inverse dynamics, and derivatives by complex step, see them as
they see inputs.  Each element here acts on one speed v of a joint, and has one law, a kernel (F, f, v, x, c), which
returns for the element with the data F[f …], the speed v, the state x and the input c (0 if it has none): the force
that it opposes to the motion, ẋ, the energy that it stores and the power that it dissipates.

Lag of an actuator with the time constant T: the actuator takes x in the place of its input u_c,

    ẋ = (u_c − x)/T.                                                                                              (1)

LuGre friction [CO95]: z is the mean deflection of bristles between two surfaces, of stiffness σ₀ and damping σ₁,

    ż = v − σ₀ |v| z / g(v),      g(v) = F_C + (F_S − F_C) exp(−(v/v_S)²),                                        (2)
    opposing force  F = σ₀ z + σ₁ ż + σ₂ v,                                                                       (3)

with Coulomb's force F_C, the static (break-away) force F_S, Stribeck's speed v_S and viscous friction σ₂.  In steady
sliding F = g(v) sign v + σ₂ v.  The bristles store ½σ₀z²; since F v − σ₀ z ż = σ₀ z (v − ż) + σ₁ ż v + σ₂ v², they
dissipate the power

    σ₀² |v| z² / g(v) + σ₁ ż v + σ₂ v².                                                                           (4)
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.kernels.dispatch import Laws

LAWS = Laws(at.STATE_KINDS, "liegeo/kernels/states.py")

# Data of LuGre friction in F.
STIFFNESS, BRISTLE_DAMPING, VISCOUS, COULOMB, STATIC, STRIBECK = range(6)


@LAWS.of(at.LAG, shows=0)
@kernel
def _lag(F, f, v, x, c):
    """(1); it has no force of its own."""
    zero = 0.0 * (v + x)
    return zero, (c - x) / F[f] + zero, zero, zero


@LAWS.of(at.LUGRE, shows=1)
@kernel
def _lugre(F, f, v, z, c):
    """(2), (3), (4), with ½σ₀z² of stored energy."""
    speed = v if v.real >= 0.0 else -v
    ratio = v / F[f + STRIBECK]
    level = F[f + COULOMB] + (F[f + STATIC] - F[f + COULOMB]) * np.exp(-ratio * ratio)
    relaxation = F[f + STIFFNESS] * speed / level
    rate = v - relaxation * z
    force = F[f + STIFFNESS] * z + F[f + BRISTLE_DAMPING] * rate + F[f + VISCOUS] * v
    stored = 0.5 * F[f + STIFFNESS] * z * z + 0.0 * (v + z)
    dissipated = F[f + STIFFNESS] * relaxation * z * z
    dissipated += F[f + BRISTLE_DAMPING] * rate * v + F[f + VISCOUS] * v * v
    return force, rate, stored, dissipated


_law = LAWS.chosen("states.law")


@kernel
def _found_law(I, F, i, v, u):
    """Return the row of element i in I, and what its law returns."""
    r = index(I[at.STATES]) + i * at.STATE_SIZE
    return r, state_law(I, F, r, v, u)


@kernel
def state_law(I, F, r, v, u):
    """Return what the law of the element with row r returns."""
    x, source = u[index(I[r + at.STATE_U])], I[r + at.STATE_INPUT]
    c = 0.0 * x
    if source >= 0:
        c = u[index(source)]
    return _law(I[r + at.STATE_KIND], F, index(I[r + at.STATE_F]), v[index(I[r + at.STATE_SPEED])], x, c)


@kernel(forceinline=False)
def add_state_forces(I, F, v, u, sign, out):
    """Add to the generalised forces `out`, times `sign`, what elements with states oppose to the motion."""
    for i in range(I[at.N_STATES]):
        r, (force, _, _, _) = _found_law(I, F, i, v, u)
        out[index(I[r + at.STATE_SPEED])] += sign * force


@kernel(forceinline=False)
def state_rates(I, F, v, u, out):
    """Write ẋ of all elements into `out`, in the order in which states stand in u."""
    first = at.first_state(I)
    for i in range(I[at.N_STATES]):
        r, (_, rate, _, _) = _found_law(I, F, i, v, u)
        out[index(I[r + at.STATE_U]) - first] = rate


@kernel(forceinline=False)
def clear_lags(I, u):
    """Set what lags give to their actuators to zero, as inputs are where the power of passive forces is asked for."""
    for i in range(I[at.N_STATES]):
        r = index(I[at.STATES]) + i * at.STATE_SIZE
        if I[r + at.STATE_KIND] == at.LAG:
            u[index(I[r + at.STATE_U])] = 0.0


@kernel(forceinline=False)
def state_energy(I, F, v, u):
    """Return the energy that the elements store."""
    energy = 0.0 * u[0]
    for i in range(I[at.N_STATES]):
        _, (_, _, stored, _) = _found_law(I, F, i, v, u)
        energy += stored
    return energy


@kernel(forceinline=False)
def state_power(I, F, v, u):
    """Return the power (4) that the elements dissipate."""
    power = 0.0 * v[0]
    for i in range(I[at.N_STATES]):
        _, (_, _, _, dissipated) = _found_law(I, F, i, v, u)
        power += dissipated
    return power
