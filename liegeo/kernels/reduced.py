"""The modal block of a ruthless model without factorising it: [JR90, (7.7), (7.8)] carried through to the end.

In a ruthless model nothing of a body depends on its deformation, so D_f differs from a constant only by what the
children give.  With ζ_c = Π_Nᵀ − Π_dᵀ AdT(X_NP) and B_c = AdT(X_NP) of child c, Γ_c its inertia at the node, and the
children side by side in ζ (n × 6m), B (6 × 6m) and Γ (block-diagonal),

    D_f = Λ⁻¹ + ζ Γ ζᵀ,    μ = μ₀ + B Γ ζᵀ,    Λ = (H_f M_m H_fᵀ)⁻¹,   μ₀ = M_rf − M_rr Π_d.           (1)

The identity (7.7) with Γ⁻¹ cannot be used as printed: Γ has lost the direction of every joint, so it is singular.  With

    Υ = Λ ζ,   Ω = ζᵀ Υ,   E = B − μ₀ Υ,      X = (I + Γ Ω)⁻¹ Γ      ("Γ and the compliance Ω in series")   (2)

the inverse is D_f⁻¹ = Λ − Υ X Υᵀ (with Ω = C C and Y = Γ C, X = Γ − Y (I + C Γ C)⁻¹ Yᵀ needs only a positive definite
matrix), and everything that (1) to (5) of articulated.py need follows without it:

    P_R = M_rr − μ₀ Λ μ₀ᵀ + E X Eᵀ,                                                                     (3)
    λ = Λ ε₀,   ψ = f + X (Υᵀ ε₀ − Ω f),   z ← z_r + μ₀ λ + E ψ,     ε₀ = T_f − H_f z without the children,   (4)
    η̈ = λ − Λ μ₀ᵀ A − Υ (ψ + X Eᵀ A),                                                                  (5)

f the children's forces at their nodes.  A body costs O(n²) for λ and O(n) for the rest, where [JR90] has O(n²) for the
inertia too.  tree.py puts the constants of (2) and (3) into F; a child that does not deform D_f is a plain rigid one.
"""

from __future__ import annotations

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.kernels.spatial import add_inertia_inward, dot, plus, put, six, times

# Rows and columns of the 21 numbers of an inertia, as they stand in spatial.py.
_ROW = (0, 1, 2, 0, 0, 1, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 4, 5, 3, 3, 4)
_COLUMN = (0, 1, 2, 1, 2, 2, 3, 4, 5, 3, 4, 5, 3, 4, 5, 3, 4, 5, 4, 5, 5)


@kernel
def _constants(I, b):
    """Offsets in F of Λ (lower half, row by row), Λμ₀ᵀ (six a mode), Υ (n × k), C (k × k), E (6 × k), μ₀Λμ₀ᵀ (21)."""
    n, k, o = index(I[b + at.NM]), 6 * index(I[b + at.N_SLOTS]), index(I[b + at.REDUCED])
    gain = index(o + n * (n + 1) // 2)
    ups = gain + 6 * n
    root = ups + n * k
    e = root + k * k
    return o, gain, ups, root, e, e + 6 * k


@kernel
def _scratch(I, b):
    """Offsets in W of ψ (k numbers), before that f, and of X (k × k), before that Γ; k = 6m."""
    o = index(I[b + at.REDUCED_W])
    return o, o + 6 * index(I[b + at.N_SLOTS])


@kernel
def receive_inertia(I, b, w, pb, W):
    """Γ of the child with rows b, w into its rows of the block-diagonal matrix."""
    k, c, t = 6 * index(I[pb + at.N_SLOTS]), 6 * I[b + at.SLOT], index(I[at.SHARED])
    x = _scratch(I, pb)[1] + k * c
    for a in range(21):
        W[t + a] = 0.0
    add_inertia_inward(W, w + at.R_NB, W, w + at.INE, W, t)
    if k > 6:
        for a in range(6 * k):
            W[x + a] = 0.0
    for a in range(21):
        W[x + k * _ROW[a] + c + _COLUMN[a]] = W[x + k * _COLUMN[a] + c + _ROW[a]] = W[t + a]


@kernel
def receive_force(I, b, pb, z, W):
    """f of the child with row b into its slot."""
    put(W, _scratch(I, pb)[0] + 6 * I[b + at.SLOT], z)


@kernel(forceinline=False)
def reduce(I, F, b, w, W):
    """(2) and (3): X, and P_R at INE."""
    b, w = index(b), index(w)
    m = I[b + at.N_SLOTS]
    _, _, _, _, _, square = _constants(I, b)
    for a in range(21):
        W[w + at.INE + a] -= F[square + a]
    # With its size known the compiler unrolls everything; one child is by far the most common case.
    if m == 1:
        _in_series(I, F, b, w, 6, W)
    elif m > 1:
        _in_series(I, F, b, w, 6 * m, W)


@kernel
def _in_series(I, F, b, w, k, W):
    """X of (2), and its share of (3)."""
    _, _, _, root, e, _ = _constants(I, b)
    _, x = _scratch(I, b)
    y, zero = index(I[at.SHARED]), 0.0 * W[w + at.INE]
    s = t = y + k * k
    # Y = Γ C
    for r in range(k):
        first = r - r % 6
        for c in range(k):
            total = zero
            for l in range(first, first + 6):
                total += W[x + k * r + l] * F[root + k * l + c]
            W[y + k * r + c] = total
    # I + C Y = L D Lᵀ at s: L below the diagonal, 1/D on it
    for r in range(k):
        for c in range(r + 1):
            total = zero
            for l in range(k):
                total += F[root + k * r + l] * W[y + k * l + c]
            W[s + k * r + c] = total
        W[s + k * r + r] += 1.0
    for r in range(k):
        for c in range(r):
            total = W[s + k * r + c]
            for l in range(c):
                total -= W[s + k * r + l] * W[s + k * c + l]
            W[s + k * r + c] = total
        pivot = W[s + k * r + r]
        for c in range(r):
            scaled = W[s + k * r + c] * W[s + k * c + c]
            pivot -= scaled * W[s + k * r + c]
            W[s + k * r + c] = scaled
        W[s + k * r + r] = 1.0 / pivot
    # Y ← Y L⁻ᵀ, row by row, and X = Γ − Y D⁻¹ Yᵀ
    for r in range(k):
        for c in range(k):
            total = W[y + k * r + c]
            for l in range(c):
                total -= W[s + k * c + l] * W[y + k * r + l]
            W[y + k * r + c] = total
        for c in range(r + 1):
            total = W[x + k * r + c]
            for l in range(k):
                total -= W[y + k * r + l] * W[s + k * l + l] * W[y + k * c + l]
            W[x + k * r + c] = W[x + k * c + r] = total
    # row r of E X at t, then its products with the rows of E
    for r in range(6):
        for c in range(k):
            total = zero
            for l in range(k):
                total += F[e + k * r + l] * W[x + k * l + c]
            W[t + c] = total
        for a in range(21):
            if _ROW[a] == r:
                total = zero
                for c in range(k):
                    total += W[t + c] * F[e + k * _COLUMN[a] + c]
                W[w + at.INE + a] += total


@kernel(forceinline=False)
def gather_reduced(I, F, b, z, load, W):
    """(4): returns the new z, and leaves λ at EPS and ψ in the place of f."""
    b = index(b)
    m = I[b + at.N_SLOTS]
    if m == 1:
        return _gather(I, F, b, z, load, 6, W)
    return _gather(I, F, b, z, load, 6 * m, W)


@kernel
def _gather(I, F, b, z, load, k, W):
    n, ev = index(I[b + at.NM]), index(I[b + at.EV])
    y = index(I[b + at.FLEX])
    zf, lam, pid = y + at.ZF * n, y + at.EPS * n, y + at.PID * n
    la, gain, ups, root, e, _ = _constants(I, b)
    psi, x = _scratch(I, b)
    t = index(I[at.SHARED])
    h = t + k
    # ε₀ takes the place of z_f, λ that of ε_f
    for j in range(n):
        W[zf + j] = load[ev + j] - W[zf + j]
    if I[b + at.OFFSET] == at.DEFORMING:
        for j in range(n):
            W[zf + j] += dot(six(W, pid + 6 * j), z)
    # −Ω f = −C (C f)
    for s in range(k):
        total = 0.0 * z[0]
        for l in range(k):
            total += F[root + k * s + l] * W[psi + l]
        W[h + s] = total
    for s in range(k):
        total = 0.0 * z[0]
        for l in range(k):
            total -= F[root + k * s + l] * W[h + l]
        W[t + s] = total
    for j in range(n):
        epsilon, total, row = W[zf + j], 0.0 * z[0], index(la + j * (j + 1) // 2)
        for l in range(j):
            total += F[row + l] * W[zf + l]
            W[lam + l] += F[row + l] * epsilon
        W[lam + j] = total + F[row + j] * epsilon
        for s in range(k):
            W[t + s] += F[ups + k * j + s] * epsilon
        # μ₀ λ = μ₀ Λ ε₀
        z = plus(z, times(epsilon, six(F, gain + 6 * j)))
    for s in range(k):
        total = W[psi + s]
        for l in range(k):
            total += W[x + k * s + l] * W[t + l]
        W[psi + s] = total
    z0, z1, z2, z3, z4, z5 = z
    for s in range(k):
        value = W[psi + s]
        z0 += F[e + s] * value
        z1 += F[e + k + s] * value
        z2 += F[e + 2 * k + s] * value
        z3 += F[e + 3 * k + s] * value
        z4 += F[e + 4 * k + s] * value
        z5 += F[e + 5 * k + s] * value
    return z0, z1, z2, z3, z4, z5


@kernel(forceinline=False)
def scatter_reduced(I, F, b, A, W, out):
    """(5): η̈ into `out`."""
    b = index(b)
    m = I[b + at.N_SLOTS]
    if m == 1:
        _scatter(I, F, b, A, 6, W, out)
    else:
        _scatter(I, F, b, A, 6 * m, W, out)


@kernel
def _scatter(I, F, b, A, k, W, out):
    n, ev = index(I[b + at.NM]), index(I[b + at.EV])
    lam = index(I[b + at.FLEX]) + at.EPS * n
    _, gain, ups, _, e, _ = _constants(I, b)
    psi, x = _scratch(I, b)
    t = index(I[at.SHARED])
    h = t + k
    # Eᵀ A at h, then ψ + X Eᵀ A at t
    for s in range(k):
        W[h + s] = (
            F[e + s] * A[0]
            + F[e + k + s] * A[1]
            + F[e + 2 * k + s] * A[2]
            + F[e + 3 * k + s] * A[3]
            + F[e + 4 * k + s] * A[4]
            + F[e + 5 * k + s] * A[5]
        )
    for s in range(k):
        total = W[psi + s]
        for l in range(k):
            total += W[x + k * s + l] * W[h + l]
        W[t + s] = total
    for j in range(n):
        rate = W[lam + j] - dot(six(F, gain + 6 * j), A)
        for s in range(k):
            rate -= F[ups + k * j + s] * W[t + s]
        out[ev + j] = rate
