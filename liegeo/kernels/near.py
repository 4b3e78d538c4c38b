"""Powers a moment beside the states of a run: what the account of energy corrects the trapezoid rule with."""

from __future__ import annotations

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.kernels import motion


def _near(acceleration, powers, name):
    """(S, D, T, Y, dt, held, W, a, Z, times, out): `powers` a time dt[k] behind the state of row k.

    The motion goes there by its speeds and accelerations at Y, coordinates by their rates: what that is short of on a
    group goes with dt², as in any difference quotient.  a, Z and `times` are scratch: accelerations, and the states
    and times there.  Return as `acceleration`.
    """

    @kernel(forceinline=False, name=name, nogil=True)
    def near(S, D, T, Y, dt, held, W, a, Z, times, out):
        I, _ = motion.model_of(S)
        nq, nv, nx = index(I[at.N_Q]), index(I[at.N_V]), index(I[at.N_X])
        for k in range(T.shape[0]):
            q, w = Y[k, :nq], Y[k, nq + nx :]
            status = acceleration(S, D, T[k], q, w, W, a)
            if status != 0:
                return status
            motion.configuration_rate(I, q, w, Z[k, :nq])
            for n in range(nq):
                Z[k, n] = q[n] + dt[k] * Z[k, n].real
            for n in range(nv + nx):
                Z[k, nq + nx + n] = w[n] + dt[k] * a[n]
            times[k] = T[k] + dt[k]
        return powers(S, D, times, Z, held, W, out)

    return near


near = _near(motion.acceleration, motion.powers, "near.near")
constrained_near = _near(motion.constrained_acceleration, motion.constrained_powers, "near.constrained_near")
