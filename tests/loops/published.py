"""The mechanisms of [FLS13, section 5] and [SY16, section 3], and a ring: models, how they are run, and their curves.

Definitions of the three cases of [FLS13], and of what is reported, are in tools/references/fls13.py.  Their beams are
thin: no shear, no rotary inertia.  What was chosen is told in docs/mechanisms.md, whose figures, made by
tools/figures/mechanisms.py, come from here as the tests do.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline

import liegeo as lg
from liegeo import dynamics, flex
from liegeo import model as lm

REFERENCES = Path(__file__).parents[1] / "references"
G = 9.81


def reference(name):
    """The columns of a table by name."""
    lines = (REFERENCES / f"{name}.csv").read_text("utf-8").splitlines()
    table = [line for line in lines if not line.startswith("#")]
    rows = np.array([[float(x) for x in line.split(",")] for line in table[1:]])
    return dict(zip(table[0].split(","), rows.T, strict=True))


def differences(curves, table, until=np.inf):
    """By curve: the largest difference up to some time, as a share of the peak of the table at any time."""
    rows = table["t"] < until + 1e-9
    return {
        name: float(np.abs(curve - table[name])[rows].max() / np.abs(table[name]).max())
        for name, curve in curves.items()
        if name in table
    }


@dataclass(frozen=True)
class Beam:
    """A uniform beam of a round section, or of one with second moments I."""

    length: float
    A: float
    E: float
    rho: float
    I: float | None = None
    nu: float = 0.0

    @property
    def section(self):
        I = self.A**2 / (4 * np.pi) if self.I is None else self.I
        return flex.Section(A=self.A, Iy=I, Iz=I, J=2 * I)

    @property
    def material(self):
        return flex.Material(E=self.E, rho=self.rho, nu=self.nu)


# directions that are held at all nodes, of θx, θy, θz, x, y, z
PLANAR, NO_TWIST = (0, 1, 5), (0,)


def pieces(
    name, beam, n_bodies=1, n_elements=4, n_modes=0, stiffening=False, root="0", held=PLANAR, rotary=False, damping=None
):
    """A beam along x as n bodies `name_1`, … with nodes "0" to "n", and the fixed joints between them.

    Each has the static shapes of its ends and `n_modes` normal modes, without the directions that are held.
    """
    fe = flex.beam(beam.length / n_bodies, beam.section, beam.material, n_elements, rotary=rotary, name=name)
    end, free = str(n_elements), tuple(d for d in range(6) if d not in held)
    boundary = {str(k): held for k in range(n_elements + 1)}
    reduction = flex.reduce(fe, {"0": free, end: free}, n_modes=n_modes, root=root, fixed=boundary)
    nodes = dict.fromkeys(["0", str(n_elements // 2), end])
    names = [f"{name}_{k + 1}" for k in range(n_bodies)]
    bodies = [
        flex.flexible_body(reduction, each, list(nodes), stiffening=stiffening, damping=damping) for each in names
    ]
    joints = [lm.Fixed(name=f"{a}-{b}", parent=a, child=b, at=end, child_at="0") for a, b in pairwise(names)]
    return bodies, joints


def last_node(model, body):
    """The number of the node at the far end."""
    return max(int(node) for node in model.body(model.bodies.index(body)).nodes)


def angle(run, frame):
    """Of a frame that turns about z, without jumps."""
    quaternion = run[f"{frame}.quaternion"]
    return np.unwrap(2.0 * np.arctan2(quaternion[:, 3], quaternion[:, 0]))


def left_of(direction, offset):
    """How far a plane offset is to the left of a direction."""
    return (direction[:, 0] * offset[:, 1] - direction[:, 1] * offset[:, 0]) / np.hypot(*direction[:, :2].T)


# ---- [FLS13, 5.1]

PENDULUM = Beam(0.4, 0.0018, 1e9, 5540.0, I=1.215e-8)


def pendulum(n_bodies=4, **options):
    """Hinged at the origin, along x."""
    bodies, joints = pieces("rod", PENDULUM, n_bodies, **options)
    hinge = lm.Revolute(name="hinge", parent="world", child="rod_1", child_at="0")
    return lm.Tree(bodies, [hinge, *joints], gravity=(0, -G, 0), name="pendulum").compile()


def pendulum_curves(run):
    bodies = run.model.bodies
    end = f"{bodies[-1]}.{last_node(run.model, bodies[-1])}"
    root = angle(run, f"{bodies[0]}.0")
    along = np.stack([np.cos(root), np.sin(root)], axis=1)
    return {
        "root_angle": root,
        "swing_angle": angle(run, end) - root,
        "tip_offset": left_of(along, run[f"{end}.position"]),
    }


# ---- [FLS13, 5.2]

TORQUE_ENDS = 0.7
# By reading: Young's moduli of rod and crank, and the density.
READINGS = {"printed": (1e9, 5e7, 2767.0), "literature": (5e7, 1e9, 2770.0)}


def torque(t):
    """On the crank, before it ends. [FLS13, (27)]"""
    return 0.01 * (1.0 - np.exp(-t / 0.167))


# the same to 1e-13, and faster: a function of Python is called at every stage
TORQUE = CubicSpline(np.linspace(0.0, TORQUE_ENDS, 701), torque(np.linspace(0.0, TORQUE_ENDS, 701)))


def slider_crank(reading, rod=None, crank=None):
    """Crank and rod along x; the loop holds the rod's end on the x axis, and it may turn there."""
    E_rod, E_crank, rho = READINGS[reading]
    A = np.pi * 0.005**2
    crank_bodies, crank_joints = pieces("crank", Beam(0.152, A, E_crank, rho), **(crank or {}))
    rod_bodies, rod_joints = pieces("rod", Beam(0.304, A, E_rod, rho), **(rod or {}))
    ends = [max(bodies[-1].nodes, key=int) for bodies in (crank_bodies, rod_bodies)]
    last = crank_bodies[-1].name
    joints = [
        lm.Revolute(name="hinge", parent="world", child="crank_1", child_at="0"),
        *crank_joints,
        lm.Revolute(name="pin", parent=last, child="rod_1", at=ends[0], child_at="0"),
        *rod_joints,
    ]
    slider = lm.PointOnPlane(name="slider", a="world", b=f"{rod_bodies[-1].name}.{ends[1]}", normal=(0, 1, 0))
    tree = lm.Tree(
        crank_bodies + rod_bodies, joints, loops=[slider], gravity=(0, 0, 0), name=f"slider-crank, {reading}"
    )
    return tree.compile()


def one_body_each(n_modes=6):
    """Both links as one body of second order; their frames follow the middles."""
    one = {"n_elements": 12, "n_modes": n_modes, "stiffening": True, "root": "6"}
    return {"rod": one, "crank": one}


def modes_of_the_paper(reading):
    """One body a link, 15 and 10 normal modes beside the static shapes of its ends, the softest of second order."""
    one = {"n_elements": 12, "root": "6"}
    softest = {"printed": 4, "literature": 2}[reading]
    return {"rod": {**one, "n_modes": 15, "stiffening": 10}, "crank": {**one, "n_modes": 10, "stiffening": softest}}


def _bodies(n_bodies):
    return {"n_bodies": n_bodies, "n_elements": 4, "n_modes": 1, "stiffening": True}


# By reading: links, step, and how far the rod's bending may be from the reference after the torque's end.
SLIDER_CRANKS = {
    "printed": ({"rod": _bodies(4), "crank": _bodies(6)}, 1.25e-5, 3e-2),
    "literature": (one_body_each(), 2e-5, 1e-2),
}


def slider_crank_runs(model, times, t_end=1.6, **options):
    """Two runs, the second without torque: steps end where it stops."""
    early = times[times < TORQUE_ENDS + 1e-9]
    first = lg.simulate(
        model, t_end=TORQUE_ENDS, inputs={"hinge": TORQUE}, output=np.append(early[:-1], TORQUE_ENDS), **options
    )
    second = lg.simulate(model, first.end, t_end=t_end, output=np.append(TORQUE_ENDS, times[len(early) :]), **options)
    return first, second


def slider_crank_curves(runs):
    """What ends the first run starts the second."""
    parts = []
    for run in runs:
        rods = [name for name in run.model.bodies if name.startswith("rod")]
        n = len(rods)
        middle = f"{rods[0]}.{last_node(run.model, 'rod_1') // 2}" if n == 1 else f"{rods[n // 2]}.0"
        joint, end = run["rod_1.0.position"], run[f"{rods[-1]}.{last_node(run.model, rods[-1])}.position"]
        parts.append(
            np.stack([end[:, 0], left_of(end - joint, run[f"{middle}.position"] - joint), angle(run, "crank_1.0")])
        )
    if len(parts) == 2:
        parts[1][2] += 2 * np.pi * np.round((parts[0][2, -1] - parts[1][2, 0]) / (2 * np.pi))
        parts[1] = parts[1][:, 1:]
    both = np.concatenate(parts, axis=1)
    return dict(zip(("slider", "rod_midpoint", "crank_angle"), both, strict=True))


# ---- [FLS13, 5.3]

SPINNING = Beam(8.0, 7.299e-5, 1.3359e12, 2767.0)
SPIN_UP_TIME = 15.0
# kg m²; the beam has 34
HUB = 100.0


def spin_up(t, omega):
    """Angle of the root, its rate and its acceleration. [FLS13, (28)]"""
    T = SPIN_UP_TIME
    if t >= T:
        return omega * (t - T / 2), omega, 0.0
    turn = 2 * np.pi * t / T
    angle = omega / T * (t**2 / 2 + (T / (2 * np.pi)) ** 2 * (np.cos(turn) - 1.0))
    return angle, omega / T * (t - T / (2 * np.pi) * np.sin(turn)), omega / T * (1.0 - np.cos(turn))


def spinning_beam(omega, gravity=False, how="substructure", n_bodies=8, n_elements=4, n_modes=0):
    """Along x, turned about y by a prescribed motion.

    `how`: "substructure", linear bodies; "stiffening", one body with geometric terms; "both".  Round and thin, the beam
    is not twisted by anything, so those with geometric terms go without twist.  What the hub weighs changes nothing
    but the torque; without inertia of its own it could lose that which it has from a body of second order.
    """
    if how == "substructure":
        given = {"n_elements": n_elements, "n_modes": n_modes, "rotary": False}
        beam = SPINNING
        bodies, joints = flex.substructure("beam", beam.length, beam.section, beam.material, n_bodies, **given)
    else:
        n = 1 if how == "stiffening" else n_bodies
        bodies, joints = pieces("beam", SPINNING, n, n_elements, n_modes, stiffening=True, held=NO_TWIST)
    hub = lm.Revolute(name="hub", parent="world", child="beam_1", child_at="0", axis=(0, 1, 0), armature=HUB)
    law = lm.Motion(name="drive", joint="hub", law=lambda t: spin_up(t, omega))
    weight = (0, -G if gravity else 0.0, 0)
    return lm.Tree(bodies, [hub, *joints], loops=[law], gravity=weight, name=f"spin-up, {how}").compile()


def spinning_curves(run, omega):
    body = run.model.bodies[-1]
    x, y, z = run[f"{body}.{last_node(run.model, body)}.position"].T
    theta = np.array([spin_up(t, omega)[0] for t in run.t])
    return {
        "lateral": np.sin(theta) * x + np.cos(theta) * z,
        "radial": np.cos(theta) * x - np.sin(theta) * z - SPINNING.length,
        "vertical": y,
    }


# ---- [SY16, section 3]

# Link 2: 0.57 kg of 7600 kg/m³ on 0.75 m leave 1 cm², here a square.  Links 3 and 4: mass and moments of inertia.
LINK_2 = Beam(0.75, 1e-4, 200e9, 7600.0, I=1e-8 / 12)
LINK_3 = (0.5, np.array([5.0e-5, 5.5e-3, 5.5e-3]))
LINK_4 = (9.028, np.array([1.8e-3, 0.678, 0.678]))
GROUND = 0.7
# Link 4 at the start; the torque on link 2, and when it ends; a ratio of critical for the modes of link 2.
START = np.radians(115.0)
DRIVE_ENDS, FOUR_BAR_ENDS = 1.0, 1.5
LINK_DAMPING = 0.005


def drive(t):
    return 5.0 * np.sin(2 * np.pi * t)


def rod(name, mass, inertia):
    """A rigid rod along x from its frame to `end`, as long as a thin rod with this moment of inertia."""
    length = np.sqrt(12 * inertia[1] / mass)
    frames = {"end": (length, 0, 0), "center": (length / 2, 0, 0)}
    return lg.Body(name, mass=mass, com=(length / 2, 0, 0), inertia=inertia, frames=frames)


def four_bar(flexible=True, n_elements=12, n_modes=3):
    """Links 2, 3 and 4 on a ground of 0.7 m, in a level plane x, y; the hinge between 3 and 4 is the loop.

    With it an assembled state at rest.
    """
    if flexible:
        ((link_2,), _) = pieces(
            "link2", LINK_2, 1, n_elements, n_modes, root=str(n_elements // 2), rotary=True, damping=LINK_DAMPING
        )
        first, start, end = link_2.name, "0", str(n_elements)
    else:
        mass = LINK_2.rho * LINK_2.A * LINK_2.length
        J = mass * LINK_2.length**2 / 12
        # as slender as the beam, whose sections have moments of inertia too
        spin = LINK_2.rho * LINK_2.length * LINK_2.section.Iz
        link_2 = lg.Body(
            "link2_1",
            mass=mass,
            com=(0.375, 0, 0),
            inertia=(2 * spin, J + spin, J + spin),
            frames={"end": (0.75, 0, 0)},
        )
        first, start, end = link_2.name, (0, 0, 0), "end"
    joints = [
        lm.Revolute(name="A", parent="world", child=first, child_at=start),
        lm.Revolute(name="B", parent=first, child="link3", at=end),
        lm.Revolute(name="D", parent="world", child="link4", at=(GROUND, 0, 0)),
    ]
    cut = lm.Revolute(name="C", parent="link3", child="link4", at="end", child_at="end")
    bodies = [link_2, rod("link3", *LINK_3), rod("link4", *LINK_4)]
    name = f"four-bar, {'flexible' if flexible else 'rigid'}"
    model = lm.Tree(bodies, joints, loops=[cut], gravity=(0, 0, 0), name=name).compile()
    if not flexible:
        return model, lg.assemble(model, model.state(q={"A": 1.4, "B": -1.0, "D": START}), keep=["D"])
    # straight, in the same posture
    _, start = four_bar(flexible=False)
    return model, model.state(q=dict(zip("ABD", start.q, strict=True)))


def four_bar_runs(model, state, spacing, **options):
    """Two runs: driven, and left alone."""
    first = lg.simulate(model, state, t_end=DRIVE_ENDS, inputs={"A": drive}, output=spacing, **options)
    return first, lg.simulate(model, first.end, t_end=FOUR_BAR_ENDS, output=spacing, **options)


def four_bar_curves(runs):
    """Time, and of the centre of link 3 in the plane position, velocity and acceleration."""
    first, second = runs
    out = {"t": np.concatenate([first.t[:-1], second.t])}
    for what in ("position", "velocity", "acceleration"):
        name = f"link3.center.{what}"
        out[what] = np.concatenate([first[name][:-1, :2], second[name][:, :2]])
    return out


def spectrum(t, x):
    """Hz and amplitudes, with a Hann window: a sine on one of the frequencies shows its amplitude."""
    window = np.hanning(len(t) + 1)[:-1]
    return np.fft.rfftfreq(len(t), t[1] - t[0]), 2 * np.abs(np.fft.rfft(x * window)) / window.sum()


def pinned_frequencies(beam, count):
    """Hz, of a thin beam between two hinges."""
    stiffness = beam.E * beam.section.Iz / (beam.rho * beam.A)
    return np.pi / 2 * np.arange(1, count + 1) ** 2 * np.sqrt(stiffness) / beam.length**2


# ---- a ring

RING_RADIUS = 1.0
# thin: the radius of the section is a hundredth of the ring's
RING = Beam(2 * np.pi * RING_RADIUS, np.pi * 0.01**2, 7e10, 2700.0, nu=0.3)


def ring(n_bodies=8, n_elements=4, n_modes=0, held=(), damping=None):
    """Arcs about the origin, each of straight elements with nodes on the circle; a fixed joint closes the ring.

    Its first body is free in space; `held` are directions in which nothing bends.
    """
    frame = flex.Frame(RING.material, name="arc")
    nodes = [str(k) for k in range(n_elements + 1)]
    turn = 2 * np.pi / n_bodies
    for node, phi in zip(nodes, np.linspace(0.0, turn, n_elements + 1), strict=True):
        frame.node(node, (RING_RADIUS * np.sin(phi), RING_RADIUS * (1 - np.cos(phi)), 0.0))
    for a, b in pairwise(nodes):
        frame.beam(a, b, RING.section)
    free = tuple(d for d in range(6) if d not in held)
    ends, boundary = dict.fromkeys(["0", nodes[-1]], free), dict.fromkeys(nodes, held)
    reduction = flex.reduce(frame.model(), ends, n_modes=n_modes, root="0", fixed=boundary)
    names = [f"arc_{k + 1}" for k in range(n_bodies)]
    bodies = [flex.flexible_body(reduction, name, nodes[1:], damping=damping) for name in names]
    # a body's frame is along the tangent where it begins, and nodes keep its axes
    X = np.eye(4)
    X[:2, :2] = [[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]
    links = [
        {"name": f"{a}-{b}", "parent": a, "child": b, "at": nodes[-1], "child_at": X}
        for a, b in zip(names, [*names[1:], names[0]], strict=True)
    ]
    base = lm.Free(name="base", parent="world", child=names[0], at=(0, -RING_RADIUS, 0))
    joints, loops = [base, *(lm.Fixed(**link) for link in links[:-1])], [lm.Fixed(**links[-1])]
    return lm.Tree(bodies, joints, loops=loops, gravity=(0, 0, 0), name="ring").compile()


def ring_frequencies(model):
    """rad/s, rising, of the ring at rest: M and K on the motions that the loop allows."""
    state = model.state()
    J = dynamics.constraint_jacobian(model, state)
    _, sizes, rows = np.linalg.svd(J)
    N = rows[np.sum(sizes > 1e-9 * sizes[0]) :].T
    d = dynamics.inverse_derivatives(model, state)
    K, M = N.T @ d.q @ N, N.T @ dynamics.mass_matrix(model, state) @ N
    return np.sort(np.sqrt(np.maximum(np.linalg.eigvals(np.linalg.solve(M, K)).real, 0.0)))


def spun(model, speed):
    """The state of a free ring that turns about its axis, undeformed."""
    return model.state(v={"base": (0, 0, speed, speed * RING_RADIUS, 0, 0)})


def growth(run):
    """How much larger than at the start the mean distance of all nodes from the centre is."""
    model, center = run.model, run["center"]
    places = [f"{name}.{k + 1}" for name in model.bodies for k in range(last_node(model, name))]
    radius = np.mean([np.linalg.norm(run[f"{place}.position"] - center, axis=1) for place in places], axis=0)
    return radius - radius[0]


def tension(run):
    """What the joint that closes the ring carries."""
    return np.linalg.norm(run[f"{run.model.tree.loops[0].name}.reaction.force"], axis=1)
