"""What a method demands of a problem, tried out before the first step.

A Magnus method needs a field that does not depend on Y, an energy–momentum method a system whose motion keeps its
energy.  Neither can be seen from a compiled function, so both are tried at a few places.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import InputError
from liegeo.integrate.calls import data_of
from liegeo.integrate.problems import Problem, System

Array = NDArray[np.float64]

# Half the time over which the change of energy is measured, and how much of it may be rounding.
_SHORT, _TOLERANCE = 1e-5, 1e-6


def check_linear(problem: Problem, name: str) -> None:
    """The field must be the same at the start and at another element, at three times."""
    start = np.asarray(problem.start, dtype=np.float64)
    other = problem.group.retract(start, np.sin(1.0 + np.arange(problem.group.dim)))
    for t in np.linspace(problem.t_start, problem.t_end, 3):
        here, there = _field(problem, t, start), _field(problem, t, other)
        size = np.abs(here).max(initial=0.0)
        if not np.allclose(here, there, rtol=0.0, atol=1e-12 * size, equal_nan=True):
            raise InputError(
                f"problem '{problem.name}': method {name} is for linear equations Ẏ = Y A(t), and this field depends "
                f"on Y: at t = {t:.6g}\n  it changes by {np.abs(here - there).max():.3g} between two elements.  "
                "Take another method, such as RKMK4."
            )


def _field(problem: Problem, t: float, y: Array) -> Array:
    out = np.empty(problem.group.dim)
    system = problem.system
    if system is not None:
        I, F, W = data_of(system)
        problem.field(I, F, t, y, W, out)
    elif problem.compiled:
        problem.field(t, y, out)
    else:
        out[:] = problem.field(t, y)
    return out


def check_conservative(problem: Problem, system: System, name: str) -> None:
    """dE/dt must vanish along the motion, at the speeds of the start and at others."""
    nv = system.group.dim
    q, v = np.split(np.asarray(problem.start, dtype=np.float64), [-nv])
    for speeds in (v, v + (1.0 + np.abs(v).max(initial=0.0)) * np.cos(1.0 + np.arange(nv))):
        for t in (problem.t_start, problem.t_end):
            power, size = _power(system, t, q, speeds)
            if abs(power) > _TOLERANCE * size:
                raise InputError(
                    f"problem '{problem.name}': method {name} is for conservative systems, and at t = {t:.6g} forces "
                    f"change the energy at a rate of {power:.3g}.\n  It would hold the energy against them.  Leave out "
                    "damping, inputs and potentials that change with time, or take another method."
                )


def _power(system: System, t: float, q: Array, v: Array) -> tuple[float, float]:
    """dE/dt by central differences, and the power that flows between kinetic and potential energy, or E."""
    kernels, data = system.dynamics, (system.ints, system.floats)
    W, a, p = np.full(system.work, np.nan), np.empty_like(v), np.empty_like(v)
    if kernels.energy is None or kernels.momentum is None or kernels.acceleration(*data, t, q, v, W, a):
        return 0.0, 0.0
    kernels.momentum(*data, q, v, W, p)
    ends = [
        float(kernels.energy(*data, t + e, system.group.retract(q, e * v), v + e * a, W)) for e in (_SHORT, -_SHORT)
    ]
    return (ends[0] - ends[1]) / (2.0 * _SHORT), float(np.abs(p * a).sum()) + abs(ends[0])
