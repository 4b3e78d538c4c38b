"""Kernels as Python calls them one at a time: they look at what they are given and at what they found.

A comparison per number costs nothing in compiled code, and a microsecond per array in Python.  The arguments have the
right shapes already; q, v and f may lie in memory in any way, for they are copied to S:

    S   q | v | u, and u begins with f, one number for each speed: forces or accelerations                          (1)

What stands behind f in u (inputs, states, gravity) is there before the call.  Each kernel returns BAD_ARGUMENT if a
number of S is not finite or too large, BAD_RESULT if the result is not finite, and otherwise the status of the kernel
that it calls.
"""

from __future__ import annotations

from liegeo._jit import index, kernel
from liegeo.kernels import articulated, composite, dry_friction, inverse, loops, observe
from liegeo.kernels import layout as at
from liegeo.status import BAD_ARGUMENT, BAD_RESULT, LARGEST


@kernel
def _finite(x, n):
    """Return whether the first n numbers are finite: x − x is zero then."""
    finite = True
    for k in range(n):
        finite &= x[k].real - x[k].real == 0.0 and x[k].imag - x[k].imag == 0.0
    return finite


@kernel
def _fill(I, S, q, v, f):
    """Do (1), and return whether all numbers lie between -LARGEST and LARGEST; those that are not numbers do not."""
    nq, nv = index(I[at.N_Q]), index(I[at.N_V])
    for k in range(nq):
        S[k] = q[k]
    for k in range(nv):
        S[nq + k], S[nq + nv + k] = v[k], f[k]
    fits = True
    for k in range(S.shape[0]):
        fits &= -LARGEST <= S[k].real <= LARGEST and -LARGEST <= S[k].imag <= LARGEST
    return fits


def _vector(algorithm, name):
    """Return the checked form of a kernel (I, F, q, v, u, W, out) -> status."""

    @kernel(forceinline=False, name=name, nogil=True)
    def call(I, F, W, S, q, v, f, out):
        if not _fill(I, S, q, v, f):
            return BAD_ARGUMENT
        nq, nv = index(I[at.N_Q]), index(I[at.N_V])
        status = algorithm(I, F, S[:nq], S[nq : nq + nv], S[nq + nv :], W, out)
        if status == 0 and not _finite(out, out.shape[0]):
            return BAD_RESULT
        return status

    return call


def _row(observed, name):
    """Return the checked form of a kernel of observe.py: what it shows does not depend on earlier calls.

    If it does not solve for accelerations, f are the accelerations.
    """

    @kernel(forceinline=False, name=name, nogil=True)
    def call(plan, data, I, F, W, z, S, t, q, v, f, out):
        if not _fill(I, S, q, v, f):
            return BAD_ARGUMENT
        nq, nv, a = index(I[at.N_Q]), index(I[at.N_V]), index(plan[observe.A])
        for k in range(nv):
            z[a + k] = f[k]
        for k in range(plan[observe.N_TASKS]):
            # the signs of quaternions would continue those of the call before
            r = index(plan[observe.TASKS]) + k * observe.TASK_SIZE
            if plan[r + observe.KIND] == observe.FRAME:
                for j in range(4):
                    z[index(plan[r + observe.PLACE]) + observe.QUATERNION + j] = 0.0
        status = observed(plan, data, I, F, t, S[:nq], S[nq : nq + nv], S[nq + nv :], W, z, out)
        if status == 0 and not _finite(out, plan[observe.N_COLUMNS]):
            return BAD_RESULT
        return status

    return call


@kernel
def _inverse_dynamics(I, F, q, v, a, W, out):
    """Do inverse dynamics, which cannot fail."""
    if I[at.N_HELD] > 0:
        dry_friction.let_go(I, F, a)
    inverse.inverse_dynamics(I, F, q, v, a, W, out)
    if I[at.N_HELD] > 0:
        dry_friction.add_loaded(I, F, v, W, out)
    return 0


@kernel
def _mass_matrix(I, F, q, v, u, W, out):
    """Find the mass matrix, whose rows stand one after another in `out`."""
    composite.mass_matrix(I, F, q, W, out.reshape((I[at.N_V], I[at.N_V])))
    return 0


@kernel
def _nothing(I, F, q, v, u, W, out):
    """Find nothing: for kernels without a checked form, which then take their arguments from S."""
    return 0


def _holding(forward_dynamics, hold, name):
    """Return forward dynamics with what exact friction holds."""

    @kernel(name=name)
    def call(I, F, q, v, u, W, out):
        if I[at.N_HELD] > 0:
            status = hold(I, F, q, v, u, W)
            if status != 0:
                return status
        return forward_dynamics(I, F, q, v, u, W, out)

    return call


_held = _holding(articulated.forward_dynamics, dry_friction.hold, "checked.held")
_held_loops = _holding(loops.forward_dynamics, dry_friction.hold_loops, "checked.held_loops")
forward_dynamics = _vector(_held, "checked.forward_dynamics")
forward_dynamics_loops = _vector(_held_loops, "checked.forward_dynamics_loops")
inverse_dynamics = _vector(_inverse_dynamics, "checked.inverse_dynamics")
mass_matrix = _vector(_mass_matrix, "checked.mass_matrix")
arguments = _vector(_nothing, "checked.arguments")
show = _row(observe.show, "checked.show")
solved = _row(observe.solved, "checked.solved")
solved_loops = _row(observe.solved_loops, "checked.solved_loops")
