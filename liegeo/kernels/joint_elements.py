"""Elements that act on coordinates of joints: friction, stops, gears with backlash, motors, cylinders, belts, tables.

An element sees one motion, a sum over coordinates q_k of joints with speeds v_k = q̇_k and constant factors c_k,

    s = Σ c_k q_k,      ṡ = Σ c_k v_k,                                                                            (1)

and opposes a force f to it, so that speed k has the generalised force −c_k f.  By itself ṡ is all that some elements
need; then the coordinates may be any, and s is 0.  The first speed, v₁, may meet a further force, the drag g, −g.

An element may have up to two first-order states x, ẋ = f(s, ṡ, x, c), with an input c.  They stand in u before gravity,
so that forward and inverse dynamics, and derivatives by complex step, see them as they see inputs.  Each kind has one
law, a kernel (F, f, m, x, c) with the data F[f …], m = (s, ṡ, v₁), the states x (zero where there are none) and the
input c, which returns f, g, ẋ, the energy that the element stores, the powers that it dissipates and brings in, and
four numbers for observers, of which it `shows` the first few.  The balance that all of them keep, and tests check, is

    d(stored)/dt = f ṡ + g v₁ + gained − dissipated.                                                              (2)

**Lag** of an actuator with the time constant T: the actuator takes x in the place of its input c,

    ẋ = (c − x)/T.                                                                                                (3)

**LuGre friction** [CO95]: z is the mean deflection of bristles between two surfaces, of stiffness σ₀ and damping σ₁,

    ż = v − σ₀ |v| z / g(v),      g(v) = F_C + (F_S − F_C) exp(−(v/v_S)²),                                        (4)
    f = σ₀ z + σ₁ ż + σ₂ v,                                                                                       (5)

with Coulomb's force F_C, the static (break-away) force F_S, Stribeck's speed v_S and viscous friction σ₂.  In steady
sliding f = g(v) sign v + σ₂ v.  The bristles store ½σ₀z²; by (2) they dissipate

    σ₀² |v| z² / g(v) + σ₁ ż v + σ₂ v².                                                                           (6)

**Dry friction** without a memory, with the same level g(v) as (4),

    f = g(v) tanh(v/v_0) + σ v,                                                                                   (14)

smooth over the speed v_0: what it holds creeps with a share of v_0.  With v_0 = 0 the law is exact, g(v) sign v where
the speed is not zero; where it is, the friction is the multiplier c, which kernels/dry_friction.py finds.

**Friction by load** of a revolute or prismatic joint, f = c + σ v, is (14) with g(v) = μ(v) R in the place of g(v), the
same curve of Stribeck's from μ_S to μ_C, and the load R of the joint by the wrench that it carries.  With the force F
and the moment M at the joint's frame in the body that it carries, along the joint's axis and across it,

    R = √((a F_⊥)² + (b M_⊥)² + (d M_∥)²) + e |F_∥|.                                                               (15)

A hinge in two bearings of the radius r at the distance L has a = r, b = 2r/L, d = 0 and e the radius of its thrust
bearing; a slide with a guide of the length L has a = 1, b = d = 2/L and e = 0.  R depends on accelerations, so c is
found with them (kernels/dry_friction.py).

**Stops** at s = l and s = u: a contact that is δ deep, δ = s − u or l − s, with the force of Hunt and Crossley [HC75],

    F = k δⁿ max(0, 1 + χ δ̇),      n = 1 or 3/2,                                                                  (7)

which begins at zero and never pulls.  It stores k δⁿ⁺¹/(n + 1).  What hits it at a speed v_i leaves with v_o, where

    χ v_i − ln(1 + χ v_i) = −χ v_o − ln(1 − χ v_o),                                                               (8)

whatever mass, stiffness and n are: v dv/(1 + χ v) = −(k/m) δⁿ dδ has the same integral in and out.

**Gear train** with the ratio N between a motor and a load, s = q_load − q_motor/N, is a shaft on the side of the load
with stiffness k and damping d behind a gap of the width b: with the deflection e = s ∓ b/2 outside the gap, 0 within,

    τ = k e + d ṡ w(e),      w = |e|/(|e| + e_d),      not against e,                                             (9)

where w lets the damper set in over the deflection e_d, because a tooth that touches bears no load yet; without a gap
w = 1, and τ may be of either sign.  The load gets −τ, the motor τ/N.  With the efficiency η < 1 the load loses a share,

    g = |τ| ρ tanh(v₁/v_0),      ρ = 1 − η if the motor drives (τ v₁ < 0), 1/η − 1 if the load does.              (10)

**Electric motor** (direct current) with resistance R, inductance L, torque constant κ (gear included), voltage U = c
within ±U_max, current i:

    L di/dt = U − R i − κ ṡ,      f = −κ i;                                                                       (11)

it stores ½ L i², dissipates R i² and brings in U i.  Without inductance i = (U − κ ṡ)/R is no state.

**Hydraulic cylinder**: chambers A and B of the volumes V_A = V_0 + A_A s, V_B = V_0 + A_B (stroke − s) with pressures
p_A, p_B; a valve opened by c between −1 and 1 lets the flow Q(Δp) = Q_n √(Δp/Δp_n) through each of its two edges,

    ṗ_A = (β/V_A) (Q_A − A_A ṡ − Q_L),      ṗ_B = (β/V_B) (Q_B + A_B ṡ + Q_L),      f = A_B p_B − A_A p_A,        (12)

with Q_A = |c| Q(p_S − p_A) and Q_B = −|c| Q(p_B − p_T) if c > 0; otherwise Q_A = −|c| Q(p_A − p_T) and
Q_B = |c| Q(p_S − p_B); Q_L = λ (p_A − p_B) leaks past the piston.  Oil stores V p²/(2β) in each chamber, leak and valve
dissipate, and the pump brings in what (2) then asks for.  The square root is smooth below a share of Δp_n.

**Belt** over two pulleys: strands of stiffness k and damping d with the pretension T_0, of which neither pushes,

    T_± = max(0, T_0 ± (k s + d ṡ)),      f = T_+ − T_-.                                                          (13)

A **cable** has one strand: T = max(0, k (s − s_0) + d ṡ) where s > s_0, the slack, else 0.

**Laws by formulas** of a user's own: laws_of_joints.py.

**Curve**: a table of s or of ṡ.  f is a piecewise cubic, continued straight beyond its ends; over s it stores its
integral, over ṡ it dissipates f ṡ.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.kernels.dispatch import Laws
from liegeo.kernels.laws_of_joints import law_by_formulas
from liegeo.kernels.programs import smooth_sign

LAWS = Laws(at.JOINT_ELEMENT_KINDS, "liegeo/kernels/joint_elements.py")

# Below this share of the nominal pressure drop of a valve its flow is laminar.
_LAMINAR = 1e-3
_STEP = 1e-40


@kernel
def _nothing(m, x, c):
    """Return zero, of the type that all numbers of a law have."""
    return 0.0 * (m[0] + m[1] + x[0] + c)


@kernel
def _positive(x):
    """max(0, x), of complex numbers too."""
    return x if x.real > 0.0 else 0.0 * x


@LAWS.of(at.LAG, shows=0)
@kernel
def _lag(F, f, m, x, c):
    """(3); it has no force of its own."""
    zero = _nothing(m, x, c)
    rate = (c - x[0]) / F[f + at.LAG_TIME] + zero
    return zero, zero, (rate, zero), zero, zero, zero, (zero, zero, zero, zero)


@LAWS.of(at.LUGRE, shows=1)
@kernel
def _lugre(F, f, m, x, c):
    """(4), (5), (6), with ½σ₀z² of stored energy."""
    zero = _nothing(m, x, c)
    v, z, stiffness = m[1], x[0] + zero, F[f + at.LUGRE_SIGMA_0]
    speed = v if v.real >= 0.0 else -v
    ratio = v / F[f + at.LUGRE_V_S]
    coulomb = F[f + at.LUGRE_F_C]
    level = coulomb + (F[f + at.LUGRE_F_S] - coulomb) * np.exp(-ratio * ratio)
    relaxation = stiffness * speed / level
    rate = v - relaxation * z
    force = stiffness * z + F[f + at.LUGRE_SIGMA_1] * rate + F[f + at.LUGRE_SIGMA_2] * v
    dissipated = stiffness * relaxation * z * z
    dissipated += F[f + at.LUGRE_SIGMA_1] * rate * v + F[f + at.LUGRE_SIGMA_2] * v * v
    return force, zero, (rate, zero), 0.5 * stiffness * z * z, dissipated, zero, (force, zero, zero, zero)


@LAWS.of(at.DRY_FRICTION, shows=1)
@kernel
def _dry_friction(F, f, m, x, c):
    """(14)."""
    zero = _nothing(m, x, c)
    v = m[1] + zero
    ratio = v / F[f + at.FRICTION_V_S]
    coulomb = F[f + at.FRICTION_F_C]
    level = coulomb + (F[f + at.FRICTION_F_S] - coulomb) * np.exp(-ratio * ratio)
    if F[f + at.FRICTION_V_0] == 0.0:
        force = level if v.real > 0.0 else -level if v.real < 0.0 else c + zero
    else:
        force = level * smooth_sign(v / F[f + at.FRICTION_V_0])
    force += F[f + at.FRICTION_SIGMA] * v
    return force, zero, (zero, zero), zero, force * v, zero, (force, zero, zero, zero)


@LAWS.of(at.LOADED_FRICTION, shows=1)
@kernel
def _loaded_friction(F, f, m, x, c):
    """(15): c, which is found elsewhere, and the viscous part."""
    zero = _nothing(m, x, c)
    force = c + F[f + at.LOADED_SIGMA] * m[1] + zero
    return force, zero, (zero, zero), zero, force * m[1], zero, (force, zero, zero, zero)


@LAWS.of(at.STOP, shows=2)
@kernel
def _stop(F, f, m, x, c):
    """(7); it shows the force and the depth, both positive at the upper stop."""
    zero = _nothing(m, x, c)
    sign, depth = 1.0, m[0] - F[f + at.STOP_UPPER] + zero
    if depth.real <= 0.0:
        sign, depth = -1.0, F[f + at.STOP_LOWER] - m[0] + zero
    if not depth.real > 0.0:
        return zero, zero, (zero, zero), zero, zero, zero, (zero, zero, zero, zero)
    elastic, stored = F[f + at.STOP_STIFFNESS] * depth, 0.5 * F[f + at.STOP_STIFFNESS] * depth * depth
    if F[f + at.STOP_HERTZIAN] != 0.0:
        root = np.sqrt(depth)
        elastic, stored = elastic * root, 0.8 * stored * root
    rate = sign * m[1]
    force = elastic * _positive(1.0 + F[f + at.STOP_CHI] * rate)
    lost = (force - elastic) * rate
    return sign * force, zero, (zero, zero), stored, lost, zero, (sign * force, sign * depth, zero, zero)


@LAWS.of(at.GEAR_TRAIN, shows=3)
@kernel
def _gear_train(F, f, m, x, c):
    """(9) and (10); v₁ is the speed of the load.  It shows torque, deflection (gap included) and what is dissipated."""
    zero = _nothing(m, x, c)
    half, stiffness, damping = F[f + at.GEAR_HALF_GAP], F[f + at.GEAR_K], F[f + at.GEAR_D]
    s, rate = m[0] + zero, m[1] + zero
    e = s
    if half > 0.0:
        e = s - half if s.real > half else s + half if s.real < -half else zero
    torque = stiffness * e
    if half == 0.0:
        torque += damping * rate
    elif e.real != 0.0:
        size = e if e.real > 0.0 else -e
        torque += damping * rate * size / (size + F[f + at.GEAR_ONSET])
        if torque.real * e.real < 0.0:
            torque = zero
    stored = 0.5 * stiffness * e * e
    lost = torque * rate - stiffness * e * rate
    drag, efficiency = zero, F[f + at.GEAR_EFFICIENCY]
    if efficiency < 1.0:
        size = torque if torque.real > 0.0 else -torque
        share = 1.0 - efficiency if torque.real * m[2].real < 0.0 else 1.0 / efficiency - 1.0
        drag = share * size * smooth_sign(m[2] / F[f + at.GEAR_SLOW])
        lost += drag * m[2]
    return torque, drag, (zero, zero), stored, lost, zero, (torque, s, lost, zero)


@LAWS.of(at.ELECTRIC_MOTOR, shows=4)
@kernel
def _electric_motor(F, f, m, x, c):
    """(11); it shows torque, current, the voltage within its limit, and the power that it gives."""
    zero = _nothing(m, x, c)
    limit, resistance, gain = F[f + at.MOTOR_U_MAX], F[f + at.MOTOR_R], F[f + at.MOTOR_KAPPA]
    voltage = c + zero
    if voltage.real > limit:
        voltage = zero + limit
    elif voltage.real < -limit:
        voltage = zero - limit
    back = gain * m[1]
    inductance = F[f + at.MOTOR_L]
    current, rate = x[0] + zero, zero
    if inductance == 0.0:
        current = (voltage - back) / resistance
    else:
        rate = (voltage - resistance * current - back) / inductance
    torque = gain * current
    shown = (torque, current, voltage, torque * m[1])
    stored, lost = 0.5 * inductance * current * current, resistance * current * current
    return -torque, zero, (rate, zero), stored, lost, voltage * current, shown


@kernel
def _flow(F, f, drop):
    """Q(Δp) of (12) through an edge that is fully open."""
    nominal = F[f + at.CYLINDER_DP_N]
    y = drop / nominal
    return F[f + at.CYLINDER_Q_N] * y / np.sqrt(np.sqrt(y * y + _LAMINAR * _LAMINAR))


@LAWS.of(at.CYLINDER, shows=4)
@kernel
def _cylinder(F, f, m, x, c):
    """(12); it shows the force, positive where the cylinder extends, both pressures, and the flow into A."""
    zero = _nothing(m, x, c)
    area_A, area_B, bulk = F[f + at.CYLINDER_A_A], F[f + at.CYLINDER_A_B], F[f + at.CYLINDER_BULK]
    supply, tank = F[f + at.CYLINDER_P_S], F[f + at.CYLINDER_P_T]
    s, rate, p_A, p_B = m[0] + zero, m[1], x[0], x[1] + zero
    volume_A = F[f + at.CYLINDER_V_0] + area_A * s
    volume_B = F[f + at.CYLINDER_V_0] + area_B * (F[f + at.CYLINDER_STROKE] - s)
    opening = c + zero
    if opening.real > 1.0:
        opening = zero + 1.0
    elif opening.real < -1.0:
        opening = zero - 1.0
    if opening.real > 0.0:
        flow_A, flow_B = opening * _flow(F, f, supply - p_A), -opening * _flow(F, f, p_B - tank)
        valve = flow_A * (supply - p_A) - flow_B * (p_B - tank)
        bought = flow_A * supply + flow_B * tank
    else:
        flow_A, flow_B = opening * _flow(F, f, p_A - tank), -opening * _flow(F, f, supply - p_B)
        valve = -flow_A * (p_A - tank) + flow_B * (supply - p_B)
        bought = flow_B * supply + flow_A * tank
    leak = F[f + at.CYLINDER_LEAK] * (p_A - p_B)
    rate_A = bulk / volume_A * (flow_A - area_A * rate - leak)
    rate_B = bulk / volume_B * (flow_B + area_B * rate + leak)
    force = area_A * p_A - area_B * p_B
    stored = (volume_A * p_A * p_A + volume_B * p_B * p_B) / (2.0 * bulk)
    # that volumes change under pressure is left out of (12), and comes back here, so that (2) holds
    squeezed = (area_A * p_A * p_A - area_B * p_B * p_B) * rate / (2.0 * bulk)
    lost = valve + leak * (p_A - p_B)
    return -force, zero, (rate_A, rate_B), stored, lost, bought + squeezed, (force, p_A + zero, p_B, flow_A)


@LAWS.of(at.BELT, shows=2)
@kernel
def _belt(F, f, m, x, c):
    """(13); it shows the tensions of both strands."""
    zero = _nothing(m, x, c)
    stiffness, damping, pretension = F[f + at.BELT_K], F[f + at.BELT_D], F[f + at.BELT_T_0]
    pull, drawn = stiffness * m[0] + zero, damping * m[1]
    plus, minus = _positive(pretension + pull + drawn), _positive(pretension - pull - drawn)
    stretched, relaxed = _positive(pretension + pull), _positive(pretension - pull)
    force, elastic = plus - minus, stretched - relaxed
    stored = 0.0 * pull
    if stiffness > 0.0:
        stored = 0.5 * (stretched * stretched + relaxed * relaxed) / stiffness - pretension * pretension / stiffness
    return force, zero, (zero, zero), stored, (force - elastic) * m[1], zero, (plus, minus, zero, zero)


@LAWS.of(at.CABLE, shows=1)
@kernel
def _cable(F, f, m, x, c):
    """The one strand of a cable; it shows its tension."""
    zero = _nothing(m, x, c)
    e = m[0] - F[f + at.CABLE_S_0] + zero
    if not e.real > 0.0:
        return zero, zero, (zero, zero), zero, zero, zero, (zero, zero, zero, zero)
    elastic = F[f + at.CABLE_K] * e
    force = _positive(elastic + F[f + at.CABLE_D] * m[1])
    lost = (force - elastic) * m[1]
    return force, zero, (zero, zero), 0.5 * elastic * e, lost, zero, (force, zero, zero, zero)


@kernel
def _look_up(F, f, t):
    """Return the value of a curve at t, and its integral from the first place, continued straight beyond the ends."""
    n = int(F[f + at.CURVE_PIECES])
    x = f + at.CURVE_PLACES
    c = x + n + 1
    sums = c + 4 * n
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        if t.real >= F[x + middle]:
            low = middle
        else:
            high = middle
    begin, c = F[x + low], c + 4 * low
    if F[x] <= t.real <= F[x + n]:
        d = t - begin
        value = ((F[c] * d + F[c + 1]) * d + F[c + 2]) * d + F[c + 3]
        integral = (((0.25 * F[c] * d + F[c + 1] / 3.0) * d + 0.5 * F[c + 2]) * d + F[c + 3]) * d
        return value, F[sums + low] + integral
    # from the end that is passed: value, slope and integral there
    d = F[x + n] - begin if t.real > F[x + n] else 0.0
    value = ((F[c] * d + F[c + 1]) * d + F[c + 2]) * d + F[c + 3]
    slope = (3.0 * F[c] * d + 2.0 * F[c + 1]) * d + F[c + 2]
    integral = F[sums + n] if t.real > F[x + n] else F[sums]
    beyond = t - (begin + d)
    return value + slope * beyond, integral + (value + 0.5 * slope * beyond) * beyond


@LAWS.of(at.CURVE_OF_POSITION, shows=1)
@kernel
def _curve_of_position(F, f, m, x, c):
    """A table of s; it shows the force."""
    zero = _nothing(m, x, c)
    force, stored = _look_up(F, f, m[0] + zero)
    return force, zero, (zero, zero), stored, zero, zero, (force, zero, zero, zero)


@LAWS.of(at.CURVE_OF_SPEED, shows=1)
@kernel
def _curve_of_speed(F, f, m, x, c):
    """A table of ṡ; it shows the force."""
    zero = _nothing(m, x, c)
    force, _ = _look_up(F, f, m[1] + zero)
    return force, zero, (zero, zero), zero, force * m[1], zero, (force, zero, zero, zero)


LAWS.of(at.LAW, shows=2)(law_by_formulas)

_law = LAWS.chosen("joint_elements.law")


@kernel
def _motion(I, F, r, q, v):
    """(1), and the first speed, for the element with row r."""
    t, c = index(I[r + at.JE_TERMS]), index(I[r + at.JE_FACTORS])
    first = v[index(I[t + at.TERM_SPEED])]
    s = rate = 0.0 * first
    for k in range(I[r + at.JE_N_TERMS]):
        term = t + k * at.TERM_SIZE
        rate += F[c + k] * v[index(I[term + at.TERM_SPEED])]
        if I[term + at.TERM_COORDINATE] >= 0:
            s += F[c + k] * q[index(I[term + at.TERM_COORDINATE])]
    return s, rate, first


@kernel
def joint_element_law(I, F, r, q, v, u):
    """Return what the law of the element with row r returns."""
    place, own, source = index(I[r + at.JE_X]), I[r + at.JE_N_X], I[r + at.JE_INPUT]
    m = _motion(I, F, r, q, v)
    x0 = x1 = c = 0.0 * u[0]
    if I[r + at.JE_TIME] >= 0:
        # laws that take the time have no drag, and see it in the place of the first speed
        m = (m[0], m[1], u[index(I[r + at.JE_TIME])] + 0.0 * m[2])
    if own > 0:
        x0 = u[place]
    if own > 1:
        x1 = u[place + 1]
    if source >= 0:
        c = u[index(source)]
    return _law(I[r + at.JE_KIND], F, index(I[r + at.JE_F]), m, (x0, x1), c)


@kernel
def joint_element(I, i):
    """Return where the row of element i begins in I."""
    return index(I[at.JOINT_ELEMENTS]) + i * at.JE_SIZE


@kernel
def is_exact(I, F, r):
    """Return whether the element with row r is friction with the exact law."""
    kind, f = I[r + at.JE_KIND], index(I[r + at.JE_F])
    if kind == at.LOADED_FRICTION:
        return F[f + at.LOADED_V_0] == 0.0
    return kind == at.DRY_FRICTION and F[f + at.FRICTION_V_0] == 0.0


@kernel
def is_loaded(I, r):
    """Return whether the element with row r is friction by load."""
    return I[r + at.JE_KIND] == at.LOADED_FRICTION


@kernel
def held_by(I, r):
    """Return the speed that the friction with row r holds, and where its multiplier stands in u."""
    return index(I[index(I[r + at.JE_TERMS]) + at.TERM_SPEED]), index(I[r + at.JE_INPUT])


@kernel
def limit_at_rest(I, F, r, load):
    """Return the largest force with which the exact friction with row r holds its speed."""
    f = index(I[r + at.JE_F])
    return F[f + at.LOADED_MU_S] * load if is_loaded(I, r) else F[f + at.FRICTION_F_S] + 0.0 * load


@kernel
def loaded_level(I, F, r, v, load):
    """Return (15) at the speed v, without its viscous part; at rest it is 0."""
    f = index(I[r + at.JE_F])
    ratio, coefficient = v / F[f + at.LOADED_V_S], F[f + at.LOADED_MU_C]
    level = load * (coefficient + (F[f + at.LOADED_MU_S] - coefficient) * np.exp(-ratio * ratio))
    if F[f + at.LOADED_V_0] != 0.0:
        return level * smooth_sign(v / F[f + at.LOADED_V_0])
    return level if v.real > 0.0 else -level if v.real < 0.0 else 0.0 * level


@kernel(forceinline=False)
def load_of(I, F, r, W):
    """Return R of (15), behind inverse dynamics."""
    i = I[r + at.JE_BODY]
    b, data, w = at.rows(i)
    f, turns = index(I[r + at.JE_F]), I[b + at.KIND] == at.REVOLUTE
    n0, n1, n2 = W[w + at.FOR], W[w + at.FOR + 1], W[w + at.FOR + 2]
    f0, f1, f2 = W[w + at.FOR + 3], W[w + at.FOR + 4], W[w + at.FOR + 5]
    if I[b + at.OFFSET] == at.CONSTANT:
        # the joint's frame D stands at −Rᵀp in B
        R, p = data + at.X_DB_R, data + at.X_DB_P
        p0, p1, p2 = F[p], F[p + 1], F[p + 2]
        x0 = -F[R] * p0 - F[R + 3] * p1 - F[R + 6] * p2
        x1 = -F[R + 1] * p0 - F[R + 4] * p1 - F[R + 7] * p2
        x2 = -F[R + 2] * p0 - F[R + 5] * p1 - F[R + 8] * p2
        n0, n1, n2 = n0 - x1 * f2 + x2 * f1, n1 - x2 * f0 + x0 * f2, n2 - x0 * f1 + x1 * f0
    s = w + at.SUB + (0 if turns else 3)
    a0, a1, a2 = W[s], W[s + 1], W[s + 2]
    along, twist = a0 * f0 + a1 * f1 + a2 * f2, a0 * n0 + a1 * n1 + a2 * n2
    f0, f1, f2 = f0 - a0 * along, f1 - a1 * along, f2 - a2 * along
    n0, n1, n2 = n0 - a0 * twist, n1 - a1 * twist, n2 - a2 * twist
    across, tilt = F[f + at.LOADED_ACROSS], F[f + at.LOADED_TILT]
    twist = F[f + at.LOADED_TWIST] * twist
    square = across * across * (f0 * f0 + f1 * f1 + f2 * f2) + tilt * tilt * (n0 * n0 + n1 * n1 + n2 * n2)
    square += twist * twist
    load = np.sqrt(square) if square.real > 0.0 else 0.0 * square
    return load + F[f + at.LOADED_ALONG] * (along if along.real >= 0.0 else -along)


@kernel(forceinline=False)
def add_joint_element_forces(I, F, q, v, u, sign, out):
    """Add to the generalised forces `out`, times `sign`, what the elements oppose to the motion."""
    for i in range(I[at.N_JOINT_ELEMENTS]):
        r = joint_element(I, i)
        force, drag, _, _, _, _, _ = joint_element_law(I, F, r, q, v, u)
        t, c = index(I[r + at.JE_TERMS]), index(I[r + at.JE_FACTORS])
        for k in range(I[r + at.JE_N_TERMS]):
            out[index(I[t + k * at.TERM_SIZE + at.TERM_SPEED])] += sign * F[c + k] * force
        out[index(I[t + at.TERM_SPEED])] += sign * drag


@kernel(forceinline=False)
def state_rates(I, F, q, v, u, out):
    """Write ẋ of all elements into `out`, in the order in which states stand in u."""
    first = at.first_state(I)
    for i in range(I[at.N_JOINT_ELEMENTS]):
        r = joint_element(I, i)
        if I[r + at.JE_N_X] > 0:
            _, _, rates, _, _, _, _ = joint_element_law(I, F, r, q, v, u)
            place = index(I[r + at.JE_X]) - first
            out[place] = rates[0]
            if I[r + at.JE_N_X] > 1:
                out[place + 1] = rates[1]


@kernel(forceinline=False)
def clear_inputs(I, u):
    """Set inputs to zero where the power of passive forces is asked for, and what lags give to their actuators.

    Inputs of elements that act on joints stay: laws say by themselves what these bring in.
    """
    for d in range(index(I[at.N_V]), at.first_state(I)):
        stays = False
        for i in range(I[at.N_JOINT_ELEMENTS]):
            r = joint_element(I, i)
            stays |= I[r + at.JE_INPUT] == d and I[r + at.JE_KIND] != at.LAG
        if not stays:
            u[d] = 0.0
    for i in range(I[at.N_JOINT_ELEMENTS]):
        r = joint_element(I, i)
        if I[r + at.JE_KIND] == at.LAG:
            u[index(I[r + at.JE_X])] = 0.0


@kernel(forceinline=False)
def joint_element_energy(I, F, q, v, u):
    """Return the energy that the elements store."""
    energy = 0.0 * u[0]
    for i in range(I[at.N_JOINT_ELEMENTS]):
        _, _, _, stored, _, _, _ = joint_element_law(I, F, joint_element(I, i), q, v, u)
        energy += stored
    return energy


@kernel(forceinline=False)
def joint_element_powers(I, F, q, v, u):
    """Return the powers that the elements bring in, and that they dissipate."""
    work = dissipated = 0.0 * v[0]
    for i in range(I[at.N_JOINT_ELEMENTS]):
        _, _, _, _, lost, gained, _ = joint_element_law(I, F, joint_element(I, i), q, v, u)
        work += gained
        dissipated += lost
    return work, dissipated


@kernel(forceinline=False)
def joint_element_switches(I, F, q, v, u):
    """Return a number that changes where an element begins or ceases to push: stops, teeth of gears, cables, belts.

    Where a law by formulas goes another way it changes too.
    """
    zero, seen = 0.0 * v[0], 0
    for i in range(I[at.N_JOINT_ELEMENTS]):
        r = joint_element(I, i)
        kind = I[r + at.JE_KIND]
        if kind in (at.STOP, at.GEAR_TRAIN, at.CABLE, at.BELT):
            law = _law(kind, F, index(I[r + at.JE_F]), _motion(I, F, r, q, v), (zero, zero), zero)
            _, _, _, _, _, _, (first, second, _, _) = law
            if kind == at.BELT:
                seen = 4 * seen + 2 * int(first.real > 0.0) + int(second.real > 0.0)
            elif kind != at.GEAR_TRAIN or F[index(I[r + at.JE_F]) + at.GEAR_HALF_GAP] > 0.0:
                seen = 3 * seen + int(first.real > 0.0) - int(first.real < 0.0)
        elif kind == at.LAW:
            _, _, _, _, _, _, (_, _, _, way) = joint_element_law(I, F, r, q, v, u)
            seen = 1009 * seen + int(way.real)
    return seen


@kernel
def _slope(I, F, r, q, v, alpha, beta, secant):
    """Return α ∂f/∂ṡ + β ∂f/∂s of the element with row r, without input and states, by one complex step.

    Of smooth dry friction, if `secant` is 1, it is α f/ṡ.
    """
    s, rate, first = _motion(I, F, r, q, v)
    if secant != 0.0 and rate != 0.0 and I[r + at.JE_KIND] == at.DRY_FRICTION and not is_exact(I, F, r):
        none = 0.0 * rate
        force, _, _, _, _, _, _ = _law(at.DRY_FRICTION, F, index(I[r + at.JE_F]), (s, rate, first), (none, none), none)
        return alpha * force / rate
    zero = 0.0 * (1j * rate)
    m = (s + 1j * _STEP * beta, rate + 1j * _STEP * alpha, first + zero)
    force, _, _, _, _, _, _ = _law(I[r + at.JE_KIND], F, index(I[r + at.JE_F]), m, (zero, zero), zero)
    return force.imag / _STEP


@kernel(forceinline=False)
def add_joint_element_slopes(I, F, q, v, alpha, beta, secant, out):
    """Add `_slope` of the elements that act on one speed and have no state, to the entries of these speeds."""
    for i in range(I[at.N_JOINT_ELEMENTS]):
        r = joint_element(I, i)
        if I[r + at.JE_N_TERMS] == 1 and I[r + at.JE_N_X] == 0:
            c, k = F[index(I[r + at.JE_FACTORS])], index(I[index(I[r + at.JE_TERMS]) + at.TERM_SPEED])
            out[k] += c * c * _slope(I, F, r, q, v, alpha, beta, secant)
