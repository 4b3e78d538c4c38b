"""Elements with first-order states x, ẋ = f(v, x, inputs): the lag of an actuator, and friction with a memory.

States stand in u before gravity, so that forward and inverse dynamics, and derivatives by complex step, see them as
they see inputs.  Each element here acts on one speed v of a joint.

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

# Data of LuGre friction in F.
STIFFNESS, BRISTLE_DAMPING, VISCOUS, COULOMB, STATIC, STRIBECK = range(6)


@kernel
def _row(I, i):
    """Return where the row of element i begins in I, and its data in F."""
    r = index(I[at.STATES]) + i * at.STATE_SIZE
    return r, index(I[r + at.STATE_F])


@kernel
def lugre_rates(F, f, v, z):
    """Return ż of (2) and σ₀|v|/g(v)."""
    speed = v if v.real >= 0.0 else -v
    ratio = v / F[f + STRIBECK]
    level = F[f + COULOMB] + (F[f + STATIC] - F[f + COULOMB]) * np.exp(-ratio * ratio)
    relaxation = F[f + STIFFNESS] * speed / level
    return v - relaxation * z, relaxation


@kernel
def friction_force(F, f, v, z):
    """Return F of (3)."""
    rate, _ = lugre_rates(F, f, v, z)
    return F[f + STIFFNESS] * z + F[f + BRISTLE_DAMPING] * rate + F[f + VISCOUS] * v


@kernel(forceinline=False)
def add_state_forces(I, F, v, u, sign, out):
    """Add to the generalised forces `out`, times `sign`, what elements with states oppose to the motion."""
    for i in range(I[at.N_STATES]):
        r, f = _row(I, i)
        if I[r + at.STATE_KIND] == at.LUGRE:
            s = index(I[r + at.STATE_SPEED])
            out[s] += sign * friction_force(F, f, v[s], u[index(I[r + at.STATE_U])])


@kernel(forceinline=False)
def state_rates(I, F, v, u, out):
    """Write ẋ of all elements into `out`, in the order in which states stand in u."""
    first = at.first_state(I)
    for i in range(I[at.N_STATES]):
        r, f = _row(I, i)
        place = index(I[r + at.STATE_U])
        x = u[place]
        if I[r + at.STATE_KIND] == at.LAG:
            out[place - first] = (u[index(I[r + at.STATE_INPUT])] - x) / F[f]
        else:
            out[place - first] = lugre_rates(F, f, v[index(I[r + at.STATE_SPEED])], x)[0]


@kernel(forceinline=False)
def clear_lags(I, u):
    """Set what lags give to their actuators to zero, as inputs are where the power of passive forces is asked for."""
    for i in range(I[at.N_STATES]):
        r, _ = _row(I, i)
        if I[r + at.STATE_KIND] == at.LAG:
            u[index(I[r + at.STATE_U])] = 0.0


@kernel(forceinline=False)
def state_energy(I, F, u):
    """Return what the elements store."""
    energy = 0.0 * u[0]
    for i in range(I[at.N_STATES]):
        r, f = _row(I, i)
        if I[r + at.STATE_KIND] == at.LUGRE:
            z = u[index(I[r + at.STATE_U])]
            energy += 0.5 * F[f + STIFFNESS] * z * z
    return energy


@kernel(forceinline=False)
def state_power(I, F, v, u):
    """Return the power (4) that the elements dissipate."""
    power = 0.0 * v[0]
    for i in range(I[at.N_STATES]):
        r, f = _row(I, i)
        if I[r + at.STATE_KIND] == at.LUGRE:
            speed, z = v[index(I[r + at.STATE_SPEED])], u[index(I[r + at.STATE_U])]
            rate, relaxation = lugre_rates(F, f, speed, z)
            power += F[f + STIFFNESS] * relaxation * z * z
            power += F[f + BRISTLE_DAMPING] * rate * speed + F[f + VISCOUS] * speed * speed
    return power
