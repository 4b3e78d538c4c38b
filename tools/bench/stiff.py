"""How often stiff methods fail: grids of settings, each a run that must end, and end right.

    python tools/bench/stiff.py [--json FILE] [--quick]

(a) Springs between frames: two rods on ball joints, each end held by a spring of 1e5 … 1e10 N/m at its free length,
    from rest and in motion; methods of fixed step × steps of 10, 1 and 0.1 ms.
(b) The same in a loop: a four-bar with such a spring at its coupler, or with friction in its hinges.
(c) Coulomb's friction: one hinge and three, 0.01 … 100 N m, from 2 rad/s to rest.
(d) Singular positions: 1 … 20 four-bars in a row that fall through their level position, by rkmk-54 × tolerances.
(e) The same for ten four-bars from 24 starts, 3° apart, × tolerances.

The rule, written down before any run under it.  The exact motion has no source of energy: springs store V_e ≥ 0 and
friction dissipates, so that kinetic and gravitational energy T + V_g never exceed the whole energy E(0) at the start.
A method of order two with the step h misses what is slow, of the time scale τ = 0.3 s (a rod of 1 m under gravity), by
(h/τ)², with a constant for which ten is allowed.  What is fast is the oscillation in the springs.  Its energy E_osc is
the part of the kinetic energy that speeds along the springs have at the start: T(v) − T(Pv), P the projection onto
speeds that leave springs as they are.  A run fails if

1. it ends with an error;
2. T + V_g > E(0) + (10 (h/τ)² + 2 tol) E* + min(1, 10 h²k/kg) E_osc + E_first at any step, E* the largest kinetic
   energy and the range of V_g together.  The terms, one by one:

   - 2 tol: methods solve their equations up to the share tol = 1e-5 of the change of v (integrate/newton.py (12)),
     whatever h is; rosenbrock-3 bounds the error of a step by tol = 1e-3 of it (stiff.PART_ERROR).  So v errs by the
     share tol of all its changes, its square by 2 tol.
   - E_osc: where h is not short for the oscillation, no method says at which of its phases it is.
   - E_first: springs that are free at the start leave the accelerations a_osc along them, v̇ less that of the same
     mechanism with rigid rods in place of the springs.  Generalised-α begins with them.  On a stiff oscillator
     (h²k → ∞) its displacements are zero from the first step on, and the rest of its equations is

         a_n+1 = −(v_n/h + (½ − β) a_n)/β,     v_n+1 = v_n + h ((1 − γ) a_n + γ a_n+1),     v_0 = 0, a_0 = a_osc.

     v_1 = ¼ (1 − ρ)² h a_osc, and later v_n go as n (−ρ)ⁿ: with c = max |v_n|/(h |a_osc|) it moves with the energy
     E_first = ½ c² h² a_oscᵀ M a_osc (c = 0.0205 for ρ = 0.8; softer springs give less).  Other methods do not
     overshoot, E_first = 0: lie-bdf-2 begins with ρ = 1 and goes on without a, rosenbrock-3 is L-stable.

3. with springs: the ends of the rods are further from those of the same mechanism with rigid rods in place of the
   springs (k → ∞, from Pv, by rkmk-54 with rtol 1e-9) than ten times

       (h/τ)² X + √(2 E_osc/k) + 20 N/k + ½ t² E_osc/(1 kg m),

   X the length of the longest path: the error of order two, amplitude of the oscillation, stretch by weight, and what
   the oscillation does to the slow motion while it lasts, a force of E_osc times the gradient of ln ω, about 1/m; and
   3√3 tol X besides: tol is that of rule 2, for each of three coordinates per joint the same share of the largest
   change, and the end of the second rod is 2 m from the first joint, 1 m from the second.

Friction is smooth at 1 mm/s and 1 mrad/s only; a method may miss the moment in which a joint comes to rest by a step.
So 3. is not asked of it.  Singular positions: 1. alone.

The last line of each grid has its counts: runs that ended with an error, and runs that broke another rule; `--json`
writes all settings that failed.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import liegeo as lg
from liegeo import dynamics, integrate, motion
from liegeo import model as lm
from liegeo.errors import LiegeoError
from liegeo.integrate import stiff

FIXED = tuple(method for method in integrate.ALL_INTEGRATORS if "stiff" in method.properties)
STEPS = (1e-2, 1e-3, 1e-4)
STIFFNESSES = (1e5, 1e6, 1e7, 1e8, 1e9, 1e10)
# What is slow, in seconds (rule 2 and 3).
TAU = 0.3
# What methods solve their equations to, if nothing is said.
TOLERANCE = 1e-5
FRICTIONS = (0.01, 0.1, 1.0, 10.0, 100.0)

Case = tuple[str, lm.Model, lm.State]


def rods(stiffness: float, moving: bool) -> Case:
    """Two rods of 1 m on ball joints, their ends on springs that are as long as they are when free."""
    bodies = [lg.Body(name, mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.09, 0.09)) for name in "ab"]
    joints = [
        lm.Spherical(name="foot", parent="world", child="a"),
        lm.Spherical(name="knee", parent="a", child="b", at=(1.0, 0, 0)),
    ]
    places = {"a": (1.0, 0.3, 1.0), "b": (2.0, -0.4, 0.8)}
    forces = [
        lm.SpringDamper(
            name=f"spring_{name}",
            a=("world", place),
            b=(name, (1.0, 0, 0)),
            stiffness=stiffness,
            length=float(np.hypot(place[1], place[2])),
        )
        for name, place in places.items()
    ]
    model = lg.Tree(bodies, joints, forces=forces).compile()
    state = model.state(v={"knee": (0.3, 1.0, -0.5)}) if moving else model.state()
    return f"k = {stiffness:g}, {'moving' if moving else 'at rest'}", model, state


def loop(friction: float, stiffness: float) -> Case:
    """A four-bar with friction in its hinges, or a spring from its coupler to the world."""
    bodies = [lg.Body(name, mass=1.0, com=(0, 0, 0.5), inertia=(0.09, 0.09, 0.01)) for name in "abc"]
    at = {"parent": "world"}, {"parent": "a", "at": (0, 0, 1.0)}, {"parent": "b", "at": (0, 0, 1.0)}
    joints = [
        lm.Revolute(name=f"hinge_{name}", child=name, axis=(0, 1, 0), friction=friction, **place)
        for name, place in zip("abc", at, strict=True)
    ]
    cut = lm.Revolute(name="cut", parent="world", child="c", at=(1.2, 0, 0), child_at=(0, 0, 1.0), axis=(0, 1, 0))
    model = lg.Tree(bodies, joints, loops=[cut]).compile()
    state = lg.assemble(model, model.state(q={"hinge_a": -0.3, "hinge_b": 1.8, "hinge_c": 1.7}))
    if stiffness:
        away = np.array([0.5, 0.3, 1.0])
        place = dynamics.frame_pose(model, state, "b")[:3, 3] + away
        length = float(np.linalg.norm(away))
        spring = lm.SpringDamper(name="spring", a=("world", place), b="b", stiffness=stiffness, length=length)
        model = lg.Tree(bodies, joints, loops=[cut], forces=[spring]).compile()
    return f"friction = {friction:g}, k = {stiffness:g}", model, state


def hinges(friction: float, n: int) -> Case:
    """n rods that hang on each other by hinges with friction, the first one swinging."""
    bodies = [lg.Body(f"b{i}", mass=1.0, com=(0, 0, -0.5), inertia=(0.09, 0.09, 0.01)) for i in range(n)]
    joints = [
        lm.Revolute(
            name=f"j{i}",
            parent=f"b{i - 1}" if i else "world",
            child=f"b{i}",
            at=(0, 0, -1.0 if i else 0.0),
            axis=(0, 1, 0),
            friction=friction,
        )
        for i in range(n)
    ]
    model = lg.Tree(bodies, joints).compile()
    return f"friction = {friction:g}, {n} hinges", model, model.state(q={"j0": 1.0}, v={"j0": 2.0})


def ladder(n: int, angle: float = np.pi / 2) -> Case:
    """n four-bars in a row that fall, from this angle, through the position where all their rods lie on a line."""

    def rod(name: str) -> lg.Body:
        return lg.Body(name, mass=1.0, com=(0.5, 0, 0), inertia=(1e-4, 1 / 12, 1 / 12), frames={"end": (1, 0, 0)})

    posts, beams = [f"post{k}" for k in range(n + 1)], [f"beam{k}" for k in range(n)]
    joints = [lm.Revolute(name=f"foot{k}", parent="world", child=posts[k], at=(k, 0, 0)) for k in range(n + 1)]
    joints += [lm.Revolute(name=f"top{k}", parent=posts[k], child=beams[k], at="end") for k in range(n)]
    loops = [
        lm.Revolute(name=f"loop{k}", parent=beams[k], child=posts[k + 1], at="end", child_at="end") for k in range(n)
    ]
    tree = lm.Tree([rod(name) for name in (*posts, *beams)], joints, loops=loops, gravity=(0, -9.81, 0))
    model = tree.compile()
    feet, tops = [f"foot{k}" for k in range(n + 1)], [f"top{k}" for k in range(n)]
    q = dict.fromkeys(feet, angle) | dict.fromkeys(tops, -angle)
    return (
        f"{n} four-bars from {np.degrees(angle):g}°",
        model,
        model.state(q=q, v=dict.fromkeys(feet, -1.0) | dict.fromkeys(tops, 1.0)),
    )


def hold(case: Case) -> tuple[lm.Model, lm.State, float, float]:
    """Return the mechanism with rigid rods in place of its springs, the start Pv, E_osc, and a_oscᵀ M a_osc."""
    _, model, state = case
    tree = model.tree
    rods = [
        lm.Distance(name=f"rigid_{spring.name}", a=spring.a, b=spring.b, length=spring.length) for spring in tree.forces
    ]
    rigid = lg.Tree(tree.bodies, tree.joints, loops=[*tree.loops, *rods]).compile()
    M, J = dynamics.mass_matrix(model, state), dynamics.constraint_jacobian(rigid, state)
    gains = np.linalg.solve(M, J.T)
    v = state.v - gains @ np.linalg.pinv(J @ gains) @ (J @ state.v)
    start = lm.State(state.q, v)
    a = dynamics.forward_dynamics(model, state) - dynamics.forward_dynamics(rigid, start)
    return rigid, start, float(0.5 * (state.v @ M @ state.v - v @ M @ v)), float(a @ M @ a)


def tolerance(method: Any) -> float:
    """Return tol of rule 2."""
    return stiff.PART_ERROR if method is integrate.Rosenbrock3 else TOLERANCE


def overshoot(method: Any) -> float:
    """Return c of rule 2."""
    if not method.name.startswith(("generalised-alpha", "midpoint-alpha")):
        return 0.0
    gamma, beta = method.table[2:4]
    v, a, largest = 0.0, 1.0, 0.0
    for _ in range(1000):
        after = -(v + (0.5 - beta) * a) / beta
        v, a = v + (1.0 - gamma) * a + gamma * after, after
        largest = max(largest, abs(v))
    return largest


def ends(model: lm.Model, elements: Any) -> Any:
    """Return where the far ends of all bodies are, at each of the states."""
    states = [model.unpack(y) for y in elements]
    names = [body.name for body in model.tree.bodies]
    # rods lie along x (`rods`) or z (`loop`) of their bodies: both ends of a metre show every rotation
    poses = np.array([[dynamics.frame_pose(model, state, name) for name in names] for state in states])
    return np.concatenate([poses[..., :3, 3] + poses[..., :3, 0], poses[..., :3, 3] + poses[..., :3, 2]], axis=1)


@functools.lru_cache(maxsize=8)
def reference(case: Case, t_end: float) -> tuple[lm.Model, Any, float, float]:
    """Return the rigid mechanism of rule 3, its motion, E_osc, and a_oscᵀ M a_osc."""
    rigid, start, fast, first = hold(case)
    problem = integrate.Problem.of(motion.system(rigid), start.q, start.v, t_end)
    run = integrate.solve_adaptive(problem, integrate.DormandPrince54, rtol=1e-9, atol=1e-12)
    return rigid, run, max(fast, 0.0), first


def judge(case: Case, method: Any, times: Any, elements: Any, h: float) -> str:
    """Return by which rule, and by how much, a run fails; nothing if it does not."""
    _, model, _ = case
    k, fast, first = max((force.stiffness for force in model.tree.forces), default=0.0), 0.0, 0.0
    if k:
        rigid, run, fast, first = reference(case, float(times[-1]))
    balances = [dynamics.balance(model, model.unpack(y)) for y in elements]
    kinetic, height = (np.array([float(getattr(b, what)) for b in balances]) for what in ("kinetic", "gravitational"))
    slow, whole = (h / TAU) ** 2, kinetic.max() + np.ptp(height)
    gain = float((kinetic + height).max()) - float(balances[0].energy)
    allowed = (10.0 * slow + 2.0 * tolerance(method)) * whole + min(1.0, 10.0 * h * h * k) * fast + 1e-9
    allowed += 0.5 * (overshoot(method) * h) ** 2 * first
    if gain > allowed:
        return f"rule 2: gained {gain:.3g} J, {allowed:.3g} J allowed"
    if not k:
        return ""
    places = ends(rigid, run(times))
    path = float(np.linalg.norm(np.diff(places, axis=0), axis=-1).sum(axis=0).max())
    bound = 10.0 * (slow * path + np.sqrt(2.0 * fast / k) + 20.0 / k + 0.5 * times**2 * fast) + 1e-9
    bound += 3.0 * np.sqrt(3.0) * tolerance(method) * path
    off = np.linalg.norm(ends(model, elements) - places, axis=-1).max(axis=1)
    worst = int(np.argmax(off / bound))
    return "" if off[worst] <= bound[worst] else f"rule 3: {off[worst]:.3g} m off, {bound[worst]:.3g} m allowed"


def fixed(case: Case, method: Any, step: float, t_end: float) -> str:
    """Return what is wrong with a run of equal steps."""
    _, model, state = case
    steps = round(t_end / step)
    try:
        problem = integrate.Problem.of(motion.system(model), state.q, state.v, t_end)
        run = integrate.solve(problem, method, steps)
    except LiegeoError as error:
        return "rule 1: " + str(error).split("\n")[0]
    every = np.linspace(0, steps, min(steps, 50) + 1).round().astype(int)
    return judge(case, method, run.t[every], run.y[every], step)


def adaptive(case: Case, method: Any, rtol: float, t_end: float) -> str:
    """Return what is wrong with a run whose steps the method chooses."""
    _, model, state = case
    try:
        problem = integrate.Problem.of(motion.system(model), state.q, state.v, t_end)
        integrate.solve_adaptive(problem, method, rtol=rtol, atol=1e-3 * rtol)
    except LiegeoError as error:
        return "rule 1: " + str(error).split("\n")[0]
    return ""


def springs_grid(quick: bool) -> Iterator[tuple[str, str]]:
    for k, moving in itertools.product(STIFFNESSES[2::3] if quick else STIFFNESSES, (False, True)):
        case = rods(k, moving)
        for method, h in itertools.product(FIXED, STEPS[:1] if quick else STEPS):
            yield f"{case[0]}, {method.name}, h = {h:g}", fixed(case, method, h, 0.2)


def loops_grid(quick: bool) -> Iterator[tuple[str, str]]:
    settings = [*((f, 0.0) for f in FRICTIONS[1:4]), *((0.0, k) for k in STIFFNESSES[::2]), (0.0, STIFFNESSES[-1])]
    for friction, k in settings[2::4] if quick else settings:
        case = loop(friction, k)
        for method, h in itertools.product((integrate.GeneralisedAlpha,), STEPS[:2] if quick else STEPS):
            yield f"{case[0]}, {method.name}, h = {h:g}", fixed(case, method, h, 0.5)


def friction_grid(quick: bool) -> Iterator[tuple[str, str]]:
    for friction, n in itertools.product(FRICTIONS[2:] if quick else FRICTIONS, (1, 3)):
        case = hinges(friction, n)
        for method, h in itertools.product(FIXED, (5e-3,) if quick else (2e-2, 5e-3, 1e-3, 1e-4)):
            yield f"{case[0]}, {method.name}, h = {h:g}", fixed(case, method, h, 1.0)


def singular_grid(quick: bool) -> Iterator[tuple[str, str]]:
    for n, rtol in itertools.product((1, 10) if quick else (1, 2, 5, 10, 20), (1e-4, 1e-6, 1e-8, 1e-9, 1e-10)):
        case = ladder(n)
        yield f"{case[0]}, rkmk-54, rtol = {rtol:g}", adaptive(case, integrate.DormandPrince54, rtol, 3.0)


def starts_grid(quick: bool) -> Iterator[tuple[str, str]]:
    for rtol, k in itertools.product((1e-6, 1e-8, 1e-9, 1e-10), range(0, 24, 6 if quick else 1)):
        case = ladder(10, np.radians(90 - 3 * k))
        yield f"{case[0]}, rkmk-54, rtol = {rtol:g}", adaptive(case, integrate.DormandPrince54, rtol, 3.0)


GRIDS = {
    "springs": springs_grid,
    "loops": loops_grid,
    "friction": friction_grid,
    "singular": singular_grid,
    "starts": starts_grid,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, help="write what failed to this file")
    parser.add_argument("--quick", action="store_true", help="a thinned grid")
    parser.add_argument("--only", choices=tuple(GRIDS), help="one grid")
    options = parser.parse_args()
    console, found = Console(highlight=False), {}
    for name, grid in GRIDS.items():
        if options.only not in (None, name):
            continue
        start, runs = time.perf_counter(), list(grid(options.quick))
        failed = {setting: why for setting, why in runs if why}
        for setting, why in failed.items():
            console.print(f"  {setting}: {why}")
        errors = sum(why.startswith("rule 1") for why in failed.values())
        console.print(
            f"{name}: {len(failed)} of {len(runs)} settings failed, {errors} with an error, "
            f"{len(failed) - errors} by another rule ({time.perf_counter() - start:.0f} s)"
        )
        found[name] = {"settings": len(runs), "errors": errors, "failed": failed}
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
