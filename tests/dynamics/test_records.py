"""A body given as any record of coefficients, against Lagrange's equations of the kinetic energy of that record."""

from __future__ import annotations

import numpy as np
import pytest

from liegeo import dynamics
from liegeo import model as lm
from liegeo.lie import SE3

STEP = 1e-30
N = 4


def random_record(rng, stiffened):
    """Coefficients of no particular body: only symmetric where they must be, and with M positive."""
    A = rng.normal(size=(6 + N, 6 + N))
    M = A @ A.T + 20.0 * np.eye(6 + N)
    mass = 20.0
    J_1, J_2 = (0.1 * rng.normal(size=(*shape, 3, 3)) for shape in ((N,), (N, N)))
    J_2 = J_2 + J_2.transpose(1, 0, 2, 3)
    C_r1, C_t1 = 0.1 * rng.normal(size=(2, 3, N, N))
    K = rng.normal(size=(N, N))
    return {
        "mass": mass,
        "moment": rng.normal(size=3),
        "inertia": M[:3, :3],
        "C_t": rng.normal(size=(3, N)),
        "C_r0": rng.normal(size=(3, N)),
        "C_r1": C_r1 if stiffened else C_r1 - C_r1.transpose(0, 2, 1),
        "C_t1": (C_t1 + C_t1.transpose(0, 2, 1)) if stiffened else None,
        "J_1": J_1 + J_1.transpose(0, 2, 1),
        "J_2": J_2 + J_2.transpose(0, 1, 3, 2),
        "M_e": M[6:, 6:],
        "K": K @ K.T,
        "D": np.zeros((N, N)),
    }


def momentum(r, eta, x):
    """∂T/∂(V, η̇) for T = ½ xᵀ M(η) x, x = (V, η̇)."""
    C_t1 = np.zeros((3, N, N)) if r["C_t1"] is None else r["C_t1"]
    c = r["moment"] + r["C_t"] @ eta + 0.5 * np.einsum("alk,l,k->a", C_t1, eta, eta)
    C_t = r["C_t"] + np.einsum("alk,l->ak", C_t1, eta)
    C_r = r["C_r0"] + np.einsum("alk,l->ak", r["C_r1"], eta)
    J = r["inertia"] + np.einsum("kab,k->ab", r["J_1"], eta) + np.einsum("klab,k,l->ab", r["J_2"], eta, eta)
    c_hat = np.array([[0, -c[2], c[1]], [c[2], 0, -c[0]], [-c[1], c[0], 0]])
    M = np.block([[J, c_hat, C_r], [-c_hat, r["mass"] * np.eye(3), C_t], [C_r.T, C_t.T, r["M_e"]]])
    return M @ x


@pytest.mark.parametrize("stiffened", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_equations_of_a_record(seed, stiffened):
    """d/dt ∂T/∂V − adT(V) ∂T/∂V = F and d/dt ∂T/∂η̇ − ∂T/∂η + K η = Q, derivatives by complex step."""
    rng = np.random.default_rng(seed)
    r = random_record(rng, stiffened)
    body = lm.FlexibleBody("b", **r)
    model = lm.Tree([body], [lm.Free(name="j", parent="world", child="b")], gravity=(0, 0, 0)).compile()
    eta, x, a = 0.3 * rng.normal(size=N), rng.normal(size=6 + N), rng.normal(size=6 + N)
    state = model.state({"b": eta}, x)
    rate = momentum(r, eta + 1j * STEP * x[6:], x + 1j * STEP * a).imag / STEP
    expected = rate.copy()
    expected[:6] -= SE3.adT_apply(x[:6], momentum(r, eta, x)[:6])
    for k, e in enumerate(np.eye(N)):
        shifted = momentum(r, eta + 1j * STEP * e, x)
        expected[6 + k] -= 0.5 * (x @ shifted).imag / STEP
    expected[6:] += r["K"] @ eta
    assert dynamics.inverse_dynamics(model, state, a) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    M = np.stack([momentum(r, eta, e) for e in np.eye(6 + N)], axis=1)
    assert dynamics.mass_matrix(model, state) == pytest.approx(M, rel=1e-13, abs=1e-13)
    # the floating frame's momentum and energy come from the same record
    total = dynamics.balance(model, state)
    assert total.kinetic == pytest.approx(0.5 * x @ momentum(r, eta, x), rel=1e-13)
    assert total.momentum == pytest.approx(momentum(r, eta, x)[:6], rel=1e-13)
