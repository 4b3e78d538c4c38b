"""Laws by formulas (laws_of_joints.py) along the line between two frames: s is its length."""

from __future__ import annotations

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.kernels.laws_of_joints import law_by_formulas
from liegeo.kernels.lines import along, ends, stretch


@kernel(forceinline=False)
def line_law(I, F, e, u, W):
    """Return what laws of elements.py return, for a law along the line between two frames; the way it took is last.

    Its force is −f: what f opposes to the growth of the distance is a tension.
    """
    _, x, y = ends(I, e)
    length, rate, a, b = stretch(W, x, y)
    law = law_along(I, F, e, u, length, rate)
    force, _, _, stored, lost, gained, (push, power, _, way) = law
    pull = force if length.real != 0.0 else 0.0 * force
    return along(pull, a), along(-pull, b), stored, lost, gained, (push, power, length, rate, way, 0.0 * way)


@kernel
def law_along(I, F, e, u, length, rate):
    """Return what `law_by_formulas` returns for the element with row e, which is so long."""
    zero, x = 0.0 * u[0], index(I[e + at.ELEMENT_X])
    x0 = u[x] if I[e + at.ELEMENT_N] > 0 else zero
    x1 = u[x + 1] if I[e + at.ELEMENT_N] > 1 else zero
    t = u[index(I[e + at.ELEMENT_MORE])] if I[e + at.ELEMENT_MORE] >= 0 else zero
    return law_by_formulas(F, index(I[e + at.ELEMENT_F]), (length, rate, t), (x0, x1), u[index(I[e + at.ELEMENT_U])])


@kernel(forceinline=False)
def line_rates(I, F, e, u, W, out):
    """Write ẋ of the law with row e into `out`, where first-order states begin; after `place_frames`."""
    _, x, y = ends(I, e)
    length, rate, _, _ = stretch(W, x, y)
    _, _, rates, _, _, _, _ = law_along(I, F, e, u, length, rate)
    place = index(I[e + at.ELEMENT_X]) - at.first_state(I)
    out[place] = rates[0]
    if I[e + at.ELEMENT_N] > 1:
        out[place + 1] = rates[1]
