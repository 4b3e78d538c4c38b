"""Machines with first-order states, and solutions of them that share no code with liegeo."""

import numpy as np
import scipy.integrate

from liegeo import model as lm

# A block on a slide, held by a spring, with LuGre friction: the numbers of [CO95], section IV.
MASS, SPRING = 1.0, 2.0
FRICTION = {
    "coulomb": 1.0,
    "static": 1.5,
    "stribeck": 0.001,
    "stiffness": 1e5,
    "damping": np.sqrt(1e5),
    "viscous": 0.4,
}


def block(**friction):
    """A block of 1 kg on a slide along x, with bristles under it, and a motor that pulls it."""
    body = lm.Body("block", mass=MASS, inertia=(0.1, 0.1, 0.1))
    slide = lm.Prismatic(name="slide", parent="world", child="block", axis=(1, 0, 0))
    forces = [
        lm.BristleFriction(name="ground", joint="slide", **FRICTION | friction),
        lm.Actuator(name="pull", joint="slide"),
    ]
    return lm.Tree([body], [slide], name="block", forces=forces).compile()


def lugre(v, z, *, coulomb, static, stribeck, stiffness, damping, viscous):
    """Force and ż, written down from [CO95, (1)–(3)] once more."""
    level = coulomb + (static - coulomb) * np.exp(-((v / stribeck) ** 2))
    rate = v - stiffness * np.abs(v) / level * z
    return stiffness * z + damping * rate + viscous * v, rate


def pulled_block(force, t_end, friction, start=(0.0, 0.0, 0.0)):
    """Position, speed and bristles at t_end, by SciPy; `force` is a function of (t, position)."""

    def field(t, y):
        opposed, rate = lugre(y[1], y[2], **friction)
        return [y[1], (force(t, y[0]) - opposed) / MASS, rate]

    found = scipy.integrate.solve_ivp(field, (0.0, t_end), start, method="Radau", rtol=1e-11, atol=1e-14)
    assert found.success
    return found.y[:, -1]


def motor(lag, inertia=0.2):
    """A rotor with a motor that follows its input with a lag."""
    body = lm.Body("rotor", mass=1.0, inertia=(0.1, 0.1, inertia))
    hinge = lm.Revolute(name="hinge", parent="world", child="rotor", axis=(0, 0, 1))
    return lm.Tree(
        [body], [hinge], name="motor", forces=[lm.Actuator(name="drive", joint="hinge", gear=2.0, limit=3.0, lag=lag)]
    ).compile()


def arm(friction=True, lag=0.05):
    """Two links with a motor that lags, bristles in the elbow and a spring: everything at once, no stiff bristles."""
    bodies = [lm.Body(name, mass=1.0, com=(0.25, 0, 0), inertia=(0.01, 0.03, 0.03)) for name in ("upper", "lower")]
    joints = [
        lm.Revolute(name="shoulder", parent="world", child="upper", axis=(0, 1, 0)),
        lm.Revolute(name="elbow", parent="upper", child="lower", at=(0.5, 0, 0), axis=(0, 1, 0), stiffness=3.0),
    ]
    forces = [lm.Actuator(name="drive", joint="shoulder", gear=5.0, lag=lag)]
    if friction:
        soft = {"coulomb": 0.3, "static": 0.5, "stribeck": 0.5, "stiffness": 4.0, "damping": 0.05, "viscous": 0.02}
        forces.append(lm.BristleFriction(name="brake", joint="elbow", **soft))
    return lm.Tree(bodies, joints, name="arm", forces=forces).compile()
