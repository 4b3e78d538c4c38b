"""Component modes: how components are held, how many modes each set has, and how well each set does."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.linalg

from liegeo import flex
from liegeo.errors import ModelError
from liegeo.flex import modes
from liegeo.flex.beams import Frame, beam
from liegeo.flex.sections import Material, Section, rectangle, tube
from liegeo.lie import SO3

ALUMINIUM = Material(E=7.2e10, rho=2700.0, G=2.68e10)
BALL, CLAMP = (3, 4, 5), (0, 1, 2, 3, 4, 5)


def triangle():
    """Three nodes that are not on a line, along x first."""
    frame = Frame(ALUMINIUM)
    for name, position in {"a": (0, 0, 0), "b": (1, 0, 0), "c": (0.4, 0.8, 0), "d": (2, 0, 0)}.items():
        frame.node(name, position)
    for a, b in (("a", "b"), ("b", "c"), ("c", "a"), ("b", "d")):
        frame.beam(a, b, tube(0.05, 0.04), n_elements=3)
    return frame.model()


# [M01, table II-1]: interfaces, s, c, kind.  Free rotations are about x, the line through a, b and d.
CASES = {
    "2a": ({"a": CLAMP}, 6, 6, modes.DETERMINATE),
    "3a": ({"a": CLAMP, "b": CLAMP}, 6, 12, modes.INDETERMINATE),
    "3b": ({"a": BALL, "b": CLAMP}, 6, 9, modes.INDETERMINATE),
    "3c": ({"a": BALL, "b": BALL, "c": BALL}, 6, 9, modes.INDETERMINATE),
    "3d": ({"a": (0, *BALL), "b": BALL}, 6, 7, modes.INDETERMINATE),
    "3e": ({"a": (0, 1, *BALL), "b": BALL}, 6, 8, modes.INDETERMINATE),
    "4a": ({"a": BALL}, 3, 3, modes.UNDERDETERMINATE),
    "4b": ({"a": (1, 2, *BALL), "b": (1, 2, *BALL), "d": (1, 2, *BALL)}, 5, 15, modes.UNDERDETERMINATE),
    "4c": ({"a": BALL, "b": BALL}, 5, 6, modes.UNDERDETERMINATE),
}


@pytest.mark.parametrize("case", CASES)
def test_determinacy_is_found(case):
    interfaces, s, c, kind = CASES[case]
    found = modes.Component(triangle(), interfaces).characterisation
    assert (found.beta, found.n_r, found.s, found.c, found.r, found.kind) == (0, 6, s, c, c - s, kind)
    # held in space altogether, nothing is left for the interfaces to take away
    held = modes.Component(triangle(), {"b": BALL}, fixed=["a"]).characterisation
    assert (held.beta, held.n_r, held.s, held.kind) == (6, 0, 0, modes.INDETERMINATE)


@pytest.mark.parametrize("case", CASES)
def test_number_of_modes_of_every_set(case):
    """[M01, table II-2]; shapes that only move the body are not counted among the modes in the end."""
    interfaces, s, c, kind = CASES[case]
    fe = triangle()
    component = modes.Component(fe, interfaces)
    # free interface: six rigid motions are taken off, fixed: 6 − s
    assert component.hold(np.zeros(0, int)).n_rigid == 6
    fixed = component.hold(component.C)
    assert fixed.n_rigid == 6 - s
    values = scipy.linalg.eigh(fixed.K.todense(), fixed.M.todense(), eigvals_only=True)
    assert (np.abs(values[: 6 - s]) < 1e-6 * values[6 - s]).all()
    for method in ("free-interface", "fixed-interface"):
        made = flex.reduce(fe, interfaces, method, n_modes=3)
        assert (made.n_dynamic, made.n_static) == (3, 0)
        assert made.frequencies[0] > 1.0
    if kind == modes.INDETERMINATE:
        made = flex.reduce(fe, interfaces, "redundant-constraint", n_modes=3)
        assert (made.n_dynamic, made.n_static) == (3, c - s)
    else:
        with pytest.raises(ModelError, match=f"statically {kind}, which has none"):
            flex.reduce(fe, interfaces, "redundant-constraint", n_modes=3)
    made = flex.reduce(fe, interfaces, "constraint", n_modes=3, imaginary="b-c.1")
    assert (made.n_dynamic, made.n_static, made.n_modes) == (3, c, 3 + c)


def test_constraint_modes_without_an_imaginary_support_contain_the_rigid_motions():
    """Two clamps: 12 static shapes, of which six move nothing against each other."""
    made = flex.reduce(triangle(), ["a", "b"], "constraint", n_modes=4)
    assert (made.n_static, made.n_modes) == (12, 4 + 6)
    with pytest.raises(ModelError, match="3 rigid motions are left"):
        flex.reduce(triangle(), {"a": BALL}, "constraint", n_modes=1)


def m01_beam():
    """The cantilever of [M01, tables VII-2, VII-3], whose data follow from the tables."""
    section = Section(A=4.9e-4, Iy=7.52e-5, Iz=7.52e-5, J=2 * 7.52e-5)
    return beam(30.0, section, ALUMINIUM, 39, name="m01")


def loaded_frequencies(reduction, node, load, count):
    """Of the reduced structure with a rigid inertia on a node."""
    _, at_node = reduction.fe.place(node)
    tip = at_node @ reduction.shapes
    M = np.eye(reduction.n_modes) + tip.T @ load @ tip
    K = np.diag((2 * np.pi * reduction.frequencies) ** 2)
    return np.sqrt(scipy.linalg.eigh(K, M, eigvals_only=True)[:count]) / (2 * np.pi)


# [M01, table VII-3], Method I (its caption stands below it): 40 free-interface modes, 16 kg at the tip, Hz
TABLE_VII_3 = """
0.77374 0.77374 6.13320 6.13328 18.54881 18.54977 26.25706 31.36784 37.77613 37.78049 63.70815 63.72113
78.81378 96.12325 96.15351 104.24335 131.49836 134.74786 134.80849 179.26776 179.37814 184.39629 187.15773
229.34314 229.53283 237.59332 274.04489 284.61845 284.93734 291.17563
"""


def test_the_loaded_beam_of_m01():
    """Clamped in space; the tip mass comes after the reduction, so its local deformation is not in the modes."""
    made = flex.reduce(m01_beam(), method="free-interface", n_modes=40, fixed=["0"])
    found = loaded_frequencies(made, "39", np.diag([0, 0, 0, 16.0, 16.0, 16.0]), 30)
    expected = np.array([float(x) for x in TABLE_VII_3.split()])
    assert found == pytest.approx(expected, rel=2.5e-4)


def full_frequencies(fe, fixed, node, load, count):
    """Of the whole finite-element model with the same load, dense."""
    component = modes.Component(fe, fixed=fixed)
    free = component.hold(np.zeros(0, int)).free
    M = fe.mass.todense()
    _, at_node = fe.place(node)
    M = M + at_node.todense().T @ load @ at_node.todense()
    K = fe.stiffness.todense()
    values = scipy.linalg.eigh(K[np.ix_(free, free)], M[np.ix_(free, free)], eigvals_only=True)
    return np.sqrt(values[:count]) / (2 * np.pi)


def platform(n_bays=4):
    """A space frame with a thin cross-member in its last bay, on which a payload sits: it deforms locally there."""
    frame = Frame(ALUMINIUM, name="platform")
    corners = [(0, 0), (0, 1), (1, 1), (1, 0)]
    for i in range(n_bays + 1):
        for k, (y, z) in enumerate(corners):
            frame.node(f"{i}{'abcd'[k]}", (i, y, z))
    strut, thin = tube(0.04, 0.036), tube(0.02, 0.018)
    for i in range(n_bays + 1):
        for k in range(4):
            frame.beam(f"{i}{'abcd'[k]}", f"{i}{'abcd'[k - 1]}", strut)
            if i:
                frame.beam(f"{i - 1}{'abcd'[k]}", f"{i}{'abcd'[k]}", strut)
                frame.beam(f"{i - 1}{'abcd'[k]}", f"{i}{'abcd'[k - 1]}", strut)
    frame.node("mount", (n_bays, 0.5, 0.5))
    for k in (0, 2):
        frame.beam(f"{n_bays}{'abcd'[k]}", "mount", thin)
    return frame.model(), [f"0{k}" for k in "abcd"]


PAYLOAD = np.diag([4.0, 4.0, 4.0, 16.0, 16.0, 16.0])


@pytest.mark.parametrize("method", sorted(flex.MODE_SETS))
def test_nested_bases_come_nearer_from_above(method):
    """Rayleigh: never below the full frequencies, and never further off with more modes of the same set."""
    fe, fixed = platform(3)
    full = full_frequencies(fe, fixed, "mount", PAYLOAD, 8)
    options = {"loads": {"mount": 0.5 * PAYLOAD}} if method == "loaded-interface" else {}
    last = np.inf
    for n_modes in (6, 10, 16, 24):
        made = flex.reduce(fe, ["mount"], method, n_modes=n_modes, fixed=fixed, **options)
        error = loaded_frequencies(made, "mount", PAYLOAD, 6) / full[:6] - 1.0
        assert (error > -1e-9).all()
        assert (error <= last + 1e-9).all()
        last = error
    # with two dozen modes the sets without static shapes are still far off, the others are there
    assert error[0] > 0.5 if method in ("free-interface", "fixed-interface") else error[0] < 1e-3


def test_ranking_of_the_sets_under_local_deformation():
    """As in [M01, chapter VII]: free- and fixed-interface modes are poor, sets with static shapes below 1 %."""
    fe, fixed = platform()
    full = full_frequencies(fe, fixed, "mount", PAYLOAD, 6)
    worst = {}
    for method in ("free-interface", "fixed-interface", "loaded-interface", "redundant-constraint", "constraint"):
        options = {"loads": {"mount": PAYLOAD}} if method == "loaded-interface" else {}
        made = flex.reduce(fe, ["mount"], method, n_modes=20, fixed=fixed, **options)
        worst[method] = np.abs(loaded_frequencies(made, "mount", PAYLOAD, 6) / full - 1.0).max()
    assert worst["free-interface"] > 0.05
    assert worst["fixed-interface"] > 0.05
    for method in ("loaded-interface", "redundant-constraint", "constraint"):
        assert worst[method] < 0.01
    # and the advice says so beforehand: the loaded platform is soft beside a stiff appendage
    assert flex.local_deformation(loaded=full[0], appendage=full[0]).degree == "medium"
    assert flex.local_deformation(loaded=full[0], appendage=0.2 * full[0]).degree == "low"


def test_loaded_modes_are_those_of_the_structure_with_its_appendage():
    """An appendage whose centre of mass is beside its node, so that its inertia is not diagonal."""
    fe, fixed = platform(2)
    c = SO3.hat((0.3, -0.2, 0.5))
    load = np.block([[np.diag((4.0, 3.0, 5.0)) - 16.0 * c @ c, 16.0 * c], [-16.0 * c, 16.0 * np.eye(3)]])
    made = flex.reduce(fe, ["mount"], "loaded-interface", n_modes=6, fixed=fixed, loads={"mount": load})
    expected = full_frequencies(fe, fixed, "mount", load, 6)
    assert loaded_frequencies(made, "mount", load, 6) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("ratio", "degree", "advice"),
    [
        (0.577, "high", "use static shapes"),
        (0.578, "medium", "free-interface modes need many"),
        (1.99, "medium", "free-interface modes need many"),
        (2.0, "low", "free-interface modes may do."),
        (6.0, "low", "free-interface modes may do."),
    ],
)
def test_the_criterion_has_three_classes(ratio, degree, advice):
    """[M01, VII-3-4]: of frequencies a half or of their squares a third, whichever warns earlier."""
    found = flex.local_deformation(loaded=ratio * 3.0, appendage=3.0)
    assert found.degree == degree
    assert found.is_conclusive
    assert str(found).startswith(f"{degree} ({ratio:.2g} times the appendage's frequency): {advice}")


def test_the_criterion_knows_its_limits():
    """A rigid appendage has an infinite frequency; one that is too light lowers nothing [M01, VII-3-5 iii]."""
    assert flex.local_deformation(3.0, np.inf).degree == "high"
    assert flex.local_deformation(3.0, 100.0, unloaded=4.0).is_conclusive
    light = flex.local_deformation(3.9, 100.0, unloaded=4.0)
    assert not light.is_conclusive
    assert str(light).endswith(" The appendages hardly load the component: it may also be lower.")
    for given, name in (((0.0, 1.0), "loaded"), ((1.0, np.nan), "appendage"), ((1.0, 1.0, -1.0), "unloaded")):
        with pytest.raises(ModelError, match=f"local deformation: {name} is .*, must be a frequency > 0"):
            flex.local_deformation(*given)


OF_SETS = {"loaded-interface": {"loads": {"mount": PAYLOAD}}, "constraint": {"imaginary": "1a"}}


@pytest.mark.parametrize("method", sorted(flex.MODE_SETS))
@pytest.mark.parametrize("docked", [True, False])
def test_a_truncated_set_is_the_one_that_is_asked_for(method, docked):
    """The same frequencies and the same span, to round-off, as with so many modes from the beginning."""
    fe, base = platform(2)
    fixed, root, interfaces = (base, None, ["mount"]) if docked else ((), None, ["mount", "0a"])
    options = {**OF_SETS.get(method, {}), "root": root}
    many = flex.reduce(fe, interfaces, method, n_modes=16, fixed=fixed, **options)
    few = flex.reduce(fe, interfaces, method, n_modes=7, fixed=fixed, **options)
    found = many.truncated(7)
    assert (found.n_dynamic, found.n_static, found.method) == (few.n_dynamic, few.n_static, few.method)
    assert found.frequencies == pytest.approx(few.frequencies, rel=1e-8)
    # each in the span of the other: cosines of the angles between them are one
    cosines = np.linalg.svd(found.shapes.T @ (fe.mass @ few.shapes), compute_uv=False)
    assert cosines == pytest.approx(np.ones(few.n_modes), abs=1e-8)
    if method != "krylov":
        limit = 0.5 * (many.found.frequencies[6] + many.found.frequencies[7])
        assert many.truncated(max_frequency=limit).frequencies == pytest.approx(few.frequencies, rel=1e-8)
        again = many.truncated(12).truncated(max_frequency=limit)
        assert again.shapes.tobytes() == many.truncated(7).shapes.tobytes()
        assert len(again.found.frequencies) == 7
        assert many.truncated(16).shapes.tobytes() == many.shapes.tobytes()


def test_truncating_by_effective_mass():
    fe = beam(1.0, rectangle(0.02, 0.03), ALUMINIUM, 30)
    many = flex.reduce(fe, ["0"], "fixed-interface", n_modes=60, root="0")
    few = flex.reduce(fe, ["0"], "fixed-interface", effective_mass=0.8, root="0")
    assert many.truncated(effective_mass=0.8).frequencies == pytest.approx(few.frequencies, rel=1e-8)


def test_mode_sets_of_one_component_share_its_factorisation(monkeypatch):
    """Four sets with fixed interfaces: one factorisation and one search for normal modes; the same bits as alone."""
    fe, _ = platform(2)
    sets = ("craig-bampton", "constraint", "redundant-constraint", "fixed-interface")
    alone = {method: flex.reduce(fe, ["mount", "0a"], method, n_modes=9) for method in sets}
    factorised, searched = [], []
    factorise, eigen = modes._factorise, modes._eigen
    monkeypatch.setattr(modes, "_factorise", lambda *given: factorised.append(1) or factorise(*given))
    monkeypatch.setattr(modes, "_eigen", lambda *given: searched.append(1) or eigen(*given))
    component = flex.Component(fe, ["mount", "0a"])
    for method in sets:
        assert component.reduce(method, n_modes=9).shapes.tobytes() == alone[method].shapes.tobytes()
    assert (len(factorised), len(searched)) == (1, 1)


@pytest.mark.parametrize("method", sorted(flex.MODE_SETS))
@pytest.mark.parametrize("root", [None, "0"])
def test_every_set_is_orthonormal_and_relative_to_its_reference(method, root):
    fe = beam(1.0, rectangle(0.02, 0.03), ALUMINIUM, 10)
    options = {"loads": {"10": np.eye(6)}} if method == "loaded-interface" else {}
    made = flex.reduce(fe, ["0", "10"], method, n_modes=12 if method == "krylov" else 4, root=root, **options)
    M = made.shapes.T @ (fe.mass @ made.shapes)
    K = made.shapes.T @ (fe.stiffness @ made.shapes)
    assert np.abs(M - np.eye(made.n_modes)).max() < 1e-10
    omega = 2 * np.pi * made.frequencies
    assert np.abs(K - np.diag(omega**2)).max() < 1e-9 * omega[-1] ** 2
    if root is None:
        assert np.abs(fe.rigid.T @ (fe.mass @ made.shapes)).max() < 1e-9
    else:
        assert np.abs(fe.place("0")[1] @ made.shapes).max() < 1e-9 * np.abs(made.shapes).max()


def test_static_shapes_are_exact_for_forces_at_interfaces():
    """A force at the tip of a clamped beam bends the reduced one as the full one, whatever the dynamic modes."""
    fe = beam(2.0, rectangle(0.02, 0.03), ALUMINIUM, 12)
    f = np.zeros((fe.n, 1))
    f[fe.dof("12", 4)] = 1.0
    exact = modes.Component(fe).hold(np.arange(6)).solve(f)[:, 0]
    for method, count in (("craig-bampton", 0), ("attachment", 0), ("krylov", 6)):
        made = flex.reduce(fe, ["12"], method, n_modes=count, root="0")
        eta = made.shapes.T @ f[:, 0] / (2 * np.pi * made.frequencies) ** 2
        assert np.abs(made.shapes @ eta - exact).max() < 1e-9 * np.abs(exact).max()


def test_krylov_matches_moments():
    """Two blocks of six: the static response to tip forces and its first moment are exact."""
    fe = beam(2.0, rectangle(0.02, 0.03), ALUMINIUM, 12)
    made = flex.reduce(fe, ["12"], "krylov", n_modes=12, root="0")
    held = modes.Component(fe).hold(np.arange(6))
    f = np.zeros((fe.n, 1))
    f[fe.dof("12", 4)] = 1.0
    static = held.solve(f)
    moment = held.solve(fe.mass @ static)
    for exact in (static[:, 0], moment[:, 0]):
        rest = exact - made.shapes @ (made.shapes.T @ (fe.mass @ exact))
        assert np.abs(rest).max() < 1e-8 * np.abs(exact).max()


def test_choosing_by_frequency_and_by_effective_mass():
    fe = beam(1.0, rectangle(0.02, 0.03), ALUMINIUM, 30)
    many = flex.reduce(fe, ["0"], "fixed-interface", n_modes=60, root="0")
    limit = 0.5 * (many.frequencies[24] + many.frequencies[25])
    made = flex.reduce(fe, ["0"], "fixed-interface", max_frequency=limit, root="0")
    assert made.frequencies == pytest.approx(many.frequencies[:25], rel=1e-9)
    # what the clamped first node keeps never moves; the rest comes in with the modes
    share = modes.effective_mass(fe, many.shapes).sum(axis=1)
    assert (share < 1.0).all()
    assert (share > 0.9).all()
    made = flex.reduce(fe, ["0"], "fixed-interface", effective_mass=0.8, root="0")
    reached = modes.effective_mass(fe, made.shapes)
    assert (reached.sum(axis=1) >= 0.8).all()
    assert (reached[:, :-1].sum(axis=1) < 0.8).any()


def test_sparse_and_dense_solvers_agree(monkeypatch):
    fe = beam(1.0, rectangle(0.02, 0.03), ALUMINIUM, 40)
    for options in ({"root": "0"}, {}):
        dense = flex.reduce(fe, method="free-interface", n_modes=10, **options)
        monkeypatch.setattr(modes, "_DENSE", 10)
        sparse = flex.reduce(fe, method="free-interface", n_modes=10, **options)
        monkeypatch.undo()
        assert sparse.frequencies == pytest.approx(dense.frequencies, rel=1e-8)


def test_band_and_superlu_agree(monkeypatch):
    """Where the band is wide, SuperLU factorises."""
    fe = beam(1.0, rectangle(0.02, 0.03), ALUMINIUM, 150)
    band = flex.reduce(fe, ["0", "150"], n_modes=8, root="0")
    monkeypatch.setattr(modes, "_BAND_SIZE", 0)
    lu = flex.reduce(fe, ["0", "150"], n_modes=8, root="0")
    assert lu.frequencies == pytest.approx(band.frequencies, rel=1e-7)


def test_nothing_left_to_vibrate():
    """One element, both ends interfaces: static shapes only."""
    fe = beam(1.0, rectangle(0.02, 0.03), ALUMINIUM, 1)
    made = flex.reduce(fe, ["0", "1"], n_modes=3, root="0")
    assert (made.n_dynamic, made.n_static, made.n_modes) == (0, 6, 6)


def test_massless_rotations_do_no_harm():
    """Lumped masses without rotary inertia: M is singular, the modes that there are come out all the same."""
    fe = beam(1.0, rectangle(0.02, 0.03), ALUMINIUM, 20)
    lumped = np.zeros(fe.n)
    for i in range(21):
        for d in (3, 4, 5):
            lumped[fe.dof(str(i), d)] = fe.total_mass / 20 * (0.5 if i in (0, 20) else 1.0)
    light = fe._with(mass=np.diag(lumped))
    made = flex.reduce(light, ["0"], "fixed-interface", n_modes=6, root="0")
    consistent = flex.reduce(fe, ["0"], "fixed-interface", n_modes=6, root="0")
    assert made.frequencies[:4] == pytest.approx(consistent.frequencies[:4], rel=0.01)
    with pytest.raises(ModelError, match="100 modes were asked for, but its mass matrix has only 60 that move mass"):
        flex.reduce(light, ["0"], "fixed-interface", n_modes=100, root="0")


REFUSED = {
    "unknown set": (
        lambda fe: flex.reduce(fe, method="magic", n_modes=1),
        "mode set 'magic' is unknown, expected one of",
    ),
    "nothing chosen": (lambda fe: flex.reduce(fe), "expected exactly one of n_modes, max_frequency and effective_mass"),
    "negative": (lambda fe: flex.reduce(fe, n_modes=-1), "n_modes is -1, must be ≥ 0."),
    "share": (lambda fe: flex.reduce(fe, effective_mass=80), "effective_mass is 80, expected a share of 0 to 1."),
    "unknown node": (lambda fe: flex.reduce(fe, ["99"], n_modes=1), "FE model 'beam': has no node '99'."),
    "truncated to more": (
        lambda fe: flex.reduce(fe, ["0"], n_modes=2, root="0").truncated(3),
        "reduction of 'beam': it has 2 normal modes, up to 25.02 Hz, expected enough for 3.\n  Reduce",
    ),
    "truncated to more Krylov shapes": (
        lambda fe: flex.reduce(fe, ["4"], "krylov", n_modes=6, root="0").truncated(12),
        "reduction of 'beam': it has 6 shapes, expected enough for 12.",
    ),
    "truncated above its band": (
        lambda fe: flex.reduce(fe, ["0"], n_modes=2, root="0").truncated(max_frequency=1e4),
        "up to 25.02 Hz, expected enough for 10000.0 Hz.",
    ),
    "truncated to more mass": (
        lambda fe: flex.reduce(fe, ["0"], n_modes=2, root="0").truncated(effective_mass=0.9),
        "up to 25.02 Hz, expected enough for a share 0.9 of the mass.",
    ),
    "truncated by nothing": (
        lambda fe: flex.reduce(fe, ["0"], n_modes=2, root="0").truncated(),
        "expected exactly one of n_modes, max_frequency and effective_mass",
    ),
    "truncated Krylov by frequency": (
        lambda fe: flex.reduce(fe, ["4"], "krylov", n_modes=6, root="0").truncated(max_frequency=1.0),
        "Krylov shapes: have no frequencies to choose by.",
    ),
    "truncated shapes of another's": (
        lambda fe: dataclasses.replace(flex.reduce(fe, ["0"], n_modes=2, root="0"), found=None).truncated(1),
        "reduction of 'beam': its shapes were given, expected some that `reduce` found; truncated keeps those.",
    ),
    "unknown set of a component": (
        lambda fe: flex.Component(fe).reduce("magic", n_modes=1),
        "mode set 'magic' is unknown, expected one of",
    ),
    "both": (
        lambda fe: flex.reduce(fe, ["0"], n_modes=1, fixed=["0"]),
        "FE model 'beam': a degree of freedom is both an interface and fixed.",
    ),
    "half fixed": (
        lambda fe: flex.reduce(fe, method="free-interface", n_modes=1, fixed={"0": BALL}),
        "its boundary leaves 3 rigid motions. Fix it wholly, not at all, or name a root.",
    ),
    "half fixed attachment": (
        lambda fe: flex.reduce(fe, ["4"], method="attachment", n_modes=1, fixed={"0": BALL}),
        "some rigid motions are fixed and some are free; name a root to hold.",
    ),
    "imaginary interface": (
        lambda fe: flex.reduce(fe, ["0"], "constraint", n_modes=1, imaginary="0"),
        "the imaginary support '0' is an interface itself.",
    ),
    "no loads": (lambda fe: flex.reduce(fe, ["0"], "loaded-interface", n_modes=1), "no loads given, expected a 6×6"),
    "shape of a load": (
        lambda fe: flex.reduce(fe, ["0"], "loaded-interface", n_modes=1, loads={"0": 3.0}),
        "load '0' has shape (), expected (6, 6).",
    ),
    "krylov by frequency": (
        lambda fe: flex.reduce(fe, ["0"], "krylov", max_frequency=1.0),
        "Krylov shapes: have no frequencies to choose by. Give n_modes.",
    ),
    "a mechanism": (
        lambda fe: flex.reduce(fe._with(stiffness=0.0 * fe.stiffness), ["0", "4"], n_modes=1, root="0"),
        "its stiffness is",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_a_message(case):
    call, message = REFUSED[case]
    with pytest.raises(ModelError) as caught:
        call(beam(1.0, rectangle(0.02, 0.03), ALUMINIUM, 4))
    assert message in str(caught.value)


def test_reductions_print_well():
    fe = beam(1.0, rectangle(0.02, 0.03), ALUMINIUM, 10)
    assert repr(fe) == "<FE model 'beam': 11 nodes, 66 degrees of freedom, 1.62 kg>"
    assert repr(flex.reduce(fe, ["0", "10"], n_modes=2, root="0")) == (
        "<craig-bampton reduction of 'beam': 8 modes, 16.69 to 1424 Hz; 2 dynamic and 6 static shapes, "
        "statically indeterminate>"
    )
