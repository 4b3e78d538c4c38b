"""Reference solutions of the three benchmarks of [FLS13, section 5], by Exudyn's ANCF cables, refined until they stand.

    pip install 'exudyn>=1.13' && python tools/references/fls13.py [case …] [--out FOLDER] [--quick]

Each case is solved three times: as given, with half the elements, and with twice the step.  Written is the first
solution; how far the other two are from it, as a share of the curve's peak, stands in the head of each file and in the
table that is printed.  Without names all cases are computed (half an hour, one thread); `--quick` has half the elements
and twice the step, to try the script.

All beams are thin: extensible, without shear flexibility and without rotary inertia, undamped, straight when
unstressed.  The elements have cubic shape functions, strains |r'| − 1 and κ = θ' (`ObjectANCFCable2D`, in space
`ObjectANCFCable`).  Sources of the data: the text of the paper; where it is silent, what is marked with *, chosen by
this project.

5.1 pendulum, in the plane x, y.  L = 0.4 m, A = 0.0018 m², ρ = 5540 kg/m³ [text]; E = 1e9 N/m², I = 1.215e-8 m⁴ *,
    so EI = 12.15 N m², EA = 1.8e6 N, ρA = 9.972 kg/m.  Root hinged at the origin, tip free, the body at the tip
    massless; at rest, unstressed, along +x; gravity 9.81 m/s² along −y; 2 s *.  Rotary inertia, which is left out,
    would delay the first mode by 0.12 rad and the second by 1 rad within that time.
        root_angle     of the tangent at the root, from +x, positive to +y
        swing_angle    tangent at the tip less tangent at the root: what a connector at each end would differ by
        tip_offset     the tip's distance from the line along the root's tangent, positive to its left
5.2 slider-crank, in the plane x, y, no gravity.  Crank 0.152 m from the origin, rod 0.304 m, both round with
    r = 0.005 m: A = πr², I = πr⁴/4 = 4.909e-10 m⁴ [text].  At rest, unstressed, along +x; hinges at the origin and
    between the links; the rod's end stays on the x axis and carries no mass.  A torque about +z acts on the crank's
    tangent at the root, 0.01 (1 − exp(−t/0.167)) N m until 0.7 s, then none [(27)]: two runs, the second from the end
    of the first; 1.6 s [text].  printed: E = 1e9 N/m² (rod), 5e7 (crank), ρ = 2767 kg/m³; literature: E = 5e7 (rod),
    1e9 (crank), ρ = 2770.
        slider         x of the rod's end
        rod_midpoint   offset of the rod's material midpoint from the chord between the rod's ends, left positive
        crank_angle    of the tangent at the crank's root; only a guide: after 0.7 s it is ill-conditioned
5.3 spin-up.  L = 8 m, A = 7.299e-5 m², ρ = 2767 kg/m³, E = 1.3359e12 N/m² [text]; the section is round, I = A²/4π, so
    EI = 566.358 N m², EA = 9.7507e7 N, ρA = 0.20196 kg/m.  The root is clamped and turned about +y by θ(t) of (28),
    T = 15 s *, Ω = 2, 4, 10 rad/s; 20 s *.  The beam is along +x at first.  No gravity, starting at rest and straight;
    or gravity 9.81 m/s² along −y, starting at rest in static equilibrium.  As the section is round and its rotary
    inertia left out, there is no torsion: the twisting moment is constant along such a rod, zero at its free end.
    With ex = (cos θ, 0, −sin θ) along the rigid line and ez = (sin θ, 0, cos θ), of the tip's position less L ex:
        lateral        along ez; positive is behind the rigid line while it speeds up
        radial         along ex
        vertical       along +y (with gravity; otherwise zero and left out)
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

try:
    # to be said before the import: the module without range checks, where the processor allows it
    sys.exudynFast = True
    import exudyn as exu
    from exudyn import itemInterface as item  # noqa: N813, as in Exudyn's own examples
except ImportError:
    exu = None

FOLDER = Path(__file__).parents[2] / "tests" / "references"
GRAVITY = 9.81


@dataclass(frozen=True)
class Beam:
    """A thin uniform beam: length, mass for each metre, axial and bending stiffness."""

    length: float
    rhoA: float
    EA: float
    EI: float

    def __str__(self):
        return f"length {self.length:g} m, {self.rhoA:.6g} kg/m, EA = {self.EA:.6g} N, EI = {self.EI:.6g} N m²"

    @classmethod
    def of_section(cls, length, A, I, E, rho):
        return cls(length, rho * A, E * A, E * I)


def round_beam(length, A, E, rho):
    return Beam.of_section(length, A, A**2 / (4 * np.pi), E, rho)


PENDULUM = Beam.of_section(0.4, 0.0018, 1.215e-8, 1e9, 5540.0)
SPINNING = round_beam(8.0, 7.299e-5, 1.3359e12, 2767.0)
SPIN_UP_TIME = 15.0
# of its forces, N: Newton's iterations end above it
ROUND_OFF = 1e-5
TORQUE_ENDS = 0.7


def torque(t):
    """On the crank, before it ends. [FLS13, (27)]"""
    return 0.01 * (1.0 - np.exp(-t / 0.167))


def spin_up(t, omega):
    """Angle of the root and its rate. [FLS13, (28)]"""
    T = SPIN_UP_TIME
    if t >= T:
        return omega * (t - T / 2), omega
    turn = 2 * np.pi * t / T
    angle = omega / T * (t**2 / 2 + (T / (2 * np.pi)) ** 2 * (np.cos(turn) - 1.0))
    return angle, omega / T * (t - T / (2 * np.pi) * np.sin(turn))


# ---- what the cases share


class System:
    """A system of Exudyn that is built of cables, and run in pieces; it remembers the nodes that are watched."""

    def __init__(self, dimension):
        self.dimension = dimension
        self.container = exu.SystemContainer()
        self.mbs = self.container.AddSystem()
        ground = self.mbs.AddNode(item.NodePointGround())
        self.ground = self.mbs.AddMarker(item.MarkerNodeCoordinate(nodeNumber=ground, coordinate=0))
        self.watched, self.settling = [], False

    def cable(self, beam, n, start=0.0, gravity=0.0):
        """The n + 1 nodes of a beam along x; gravity along −y."""
        Node = item.NodePoint2DSlope1 if self.dimension == 2 else item.NodePointSlope1
        Cable = item.ObjectANCFCable2D if self.dimension == 2 else item.ObjectANCFCable
        zeros = [0.0] * (self.dimension - 1)
        xs = start + beam.length * np.arange(n + 1) / n
        nodes = [self.mbs.AddNode(Node(referenceCoordinates=[x, *zeros, 1.0, *zeros])) for x in xs]
        for ends in itertools.pairwise(nodes):
            element = self.mbs.AddObject(
                Cable(
                    length=beam.length / n,
                    massPerLength=beam.rhoA,
                    bendingStiffness=beam.EI,
                    axialStiffness=beam.EA,
                    nodeNumbers=list(ends),
                )
            )
            if gravity:
                body = self.mbs.AddMarker(item.MarkerBodyMass(bodyNumber=element))
                self.mbs.AddLoad(item.LoadMassProportional(markerNumber=body, loadVector=[0.0, -gravity, 0.0]))
        return nodes

    def hold(self, node, coordinate, offset=None):
        """Hold one coordinate of a node: where it is, or where offset(t) = (displacement, its rate) says."""
        marker = self.mbs.AddMarker(item.MarkerNodeCoordinate(nodeNumber=node, coordinate=coordinate))
        given = {}
        if offset is not None:
            given["offsetUserFunction"] = lambda mbs, t, number, constant: offset(0.0 if self.settling else t)[0]
            given["offsetUserFunction_t"] = lambda mbs, t, number, constant: offset(0.0 if self.settling else t)[1]
        self.mbs.AddObject(item.CoordinateConstraint(markerNumbers=[self.ground, marker], **given))

    def hinge(self, *nodes):
        markers = [self.mbs.AddMarker(item.MarkerNodePosition(nodeNumber=node)) for node in nodes]
        self.mbs.AddObject(item.RevoluteJoint2D(markerNumbers=markers))

    def twist(self, node, moment):
        """A moment(t) about z on the tangent at a node."""
        marker = self.mbs.AddMarker(item.MarkerNodeRigid(nodeNumber=node))
        self.mbs.AddLoad(
            item.LoadTorqueVector(
                markerNumber=marker, loadVectorUserFunction=lambda mbs, t, load: [0.0, 0.0, float(moment(t))]
            )
        )

    def watch(self, *nodes):
        kind = exu.OutputVariableType.Coordinates
        for node in nodes:
            sensor = item.SensorNode(nodeNumber=node, outputVariableType=kind, storeInternal=True, writeToFile=False)
            reference = self.mbs.GetNode(node)["referenceCoordinates"]
            self.watched.append((self.mbs.AddSensor(sensor), np.array(reference)))

    def settle(self, tolerance):
        """Start from static equilibrium."""
        settings = self._settings()
        settings.staticSolver.numberOfLoadSteps = 20
        settings.staticSolver.verboseMode = 0
        settings.staticSolver.newton.relativeTolerance = 1e-8
        settings.staticSolver.newton.absoluteTolerance = tolerance
        # time runs in the static solver too
        self.settling = True
        self.mbs.SolveStatic(settings)
        self.settling = False
        self._restart()

    def run(self, start, end, step, period, tolerance=1e-10, radius=None):
        """Times, and of each watched node positions and tangents r', from `start` to `end`; ready to be run further.

        The trapezoidal rule with constraints of index 2 keeps the amplitude of every mode; where nothing excites the
        fast ones, generalised-α with a spectral `radius` below 1 keeps them quiet.  `tolerance` is Newton's absolute
        one, to be above the round-off in EA (|r'| − 1).
        """
        settings = self._settings()
        integration = settings.timeIntegration
        integration.startTime, integration.endTime = start, end
        integration.numberOfSteps = round((end - start) / step)
        integration.adaptiveStep = False
        integration.verboseMode = 0
        integration.newton.useModifiedNewton = radius is None
        integration.newton.relativeTolerance, integration.newton.absoluteTolerance = 1e-8, tolerance
        method = exu.DynamicSolverType.TrapezoidalIndex2
        if radius is not None:
            method = exu.DynamicSolverType.GeneralizedAlpha
            integration.generalizedAlpha.spectralRadius = radius
        settings.solution.sensors.writePeriod = period
        self.mbs.SolveDynamic(settings, solverType=method)
        data = [(self.mbs.GetSensorStoredData(sensor), reference) for sensor, reference in self.watched]
        self._restart()
        d = self.dimension
        nodes = [(rows[:, 1:] + reference) for rows, reference in data]
        return data[0][0][:, 0], [(node[:, :d], node[:, d:]) for node in nodes]

    def _restart(self):
        state = self.mbs.systemData.GetSystemState(configuration=exu.ConfigurationType.Current)
        self.mbs.systemData.SetSystemState(state, configuration=exu.ConfigurationType.Initial)

    @staticmethod
    def _settings():
        settings = exu.SimulationSettings()
        settings.solution.file.write = False
        settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
        settings.parallel.numberOfThreads = 1
        return settings


def angle(vector):
    """Of plane vectors from +x, without jumps."""
    return np.unwrap(np.arctan2(vector[:, 1], vector[:, 0]))


def left_of(direction, offset):
    """How far a plane offset is to the left of a direction."""
    return (direction[:, 0] * offset[:, 1] - direction[:, 1] * offset[:, 0]) / np.hypot(*direction.T)


# ---- the cases: a table of time and curves


def pendulum(n, step, period):
    system = System(2)
    nodes = system.cable(PENDULUM, n, gravity=GRAVITY)
    system.hold(nodes[0], 0)
    system.hold(nodes[0], 1)
    system.watch(nodes[0], nodes[-1])
    system.mbs.Assemble()
    t, ((_, root), (tip, end)) = system.run(0.0, 2.0, step, period, tolerance=1e-6)
    return np.column_stack([t, angle(root), angle(end) - angle(root), left_of(root, tip)])


def slider_crank(E_rod, E_crank, rho, n, step, period):
    """n elements in the rod, half as many in the crank."""
    A = np.pi * 0.005**2
    system = System(2)
    crank = system.cable(round_beam(0.152, A, E_crank, rho), n // 2)
    rod = system.cable(round_beam(0.304, A, E_rod, rho), n, start=0.152)
    system.hold(crank[0], 0)
    system.hold(crank[0], 1)
    system.hinge(crank[-1], rod[0])
    system.hold(rod[-1], 1)
    driven = [True]
    system.twist(crank[0], lambda t: torque(t) if driven[0] else 0.0)
    system.watch(crank[0], rod[0], rod[n // 2], rod[-1])
    system.mbs.Assemble()
    tables = []
    for start, end in ((0.0, TORQUE_ENDS), (TORQUE_ENDS, 1.6)):
        driven[0] = start == 0.0
        t, ((_, root), (joint, _), (middle, _), (slider, _)) = system.run(start, end, step, period, tolerance=1e-7)
        tables.append(np.column_stack([t, slider[:, 0], left_of(slider - joint, middle - joint), root]))
    # what ends the first run starts the second
    table = np.vstack([tables[0], tables[1][1:]])
    return np.column_stack([table[:, :3], angle(table[:, 3:])])


def spinning(omega, gravity, n, step, period):
    system = System(3)
    nodes = system.cable(SPINNING, n, gravity=gravity)
    for coordinate in (0, 1, 2, 4):
        system.hold(nodes[0], coordinate)

    def along(t):
        theta, rate = spin_up(t, omega)
        return np.cos(theta) - 1.0, -rate * np.sin(theta)

    def across(t):
        theta, rate = spin_up(t, omega)
        return -np.sin(theta), -rate * np.cos(theta)

    # the root's tangent keeps its length: its strain, below 1e-5, is missed in the first element only
    system.hold(nodes[0], 3, along)
    system.hold(nodes[0], 5, across)
    system.watch(nodes[-1])
    system.mbs.Assemble()
    if gravity:
        system.settle(ROUND_OFF)
    t, ((tip, _),) = system.run(0.0, 20.0, step, period, tolerance=ROUND_OFF, radius=0.8)
    theta = np.array([spin_up(moment, omega)[0] for moment in t])
    x, y, z = tip.T
    radial = np.cos(theta) * x - np.sin(theta) * z - SPINNING.length
    lateral = np.sin(theta) * x + np.cos(theta) * z
    return np.column_stack([t, lateral, radial, y] if gravity else [t, lateral, radial])


@dataclass(frozen=True)
class Case:
    """How one file is made: solve(n, step, period) gives its table."""

    about: str
    columns: tuple[str, ...]
    solve: Callable[[int, float, float], np.ndarray]
    n: int
    step: float
    period: float
    method: str = "trapezoidal rule"
    # until when differences are given separately
    early: float | None = None


def cases():
    """All of them, by the name of the file."""
    made = {
        "fls13_pendulum": Case(
            f"5.1 flexible pendulum, hinged at the origin, from rest along +x, g = {GRAVITY} m/s² along -y; {PENDULUM}",
            ("t", "root_angle", "swing_angle", "tip_offset"),
            pendulum,
            n=64,
            step=5e-6,
            period=2.5e-3,
        )
    }
    for reading, E_rod, E_crank, rho, n, step in (
        ("printed", 1e9, 5e7, 2767.0, 64, 5e-6),
        ("literature", 5e7, 1e9, 2770.0, 32, 1e-5),
    ):
        made[f"fls13_slider_crank_{reading}"] = Case(
            f"5.2 elastic slider-crank: rod 0.304 m, E = {E_rod:g} N/m²; crank 0.152 m, E = {E_crank:g} N/m²; round, "
            f"r = 0.005 m, density {rho:g} kg/m³; torque (27) until 0.7 s; no gravity, from rest on one line",
            ("t", "slider", "rod_midpoint", "crank_angle"),
            partial(slider_crank, E_rod, E_crank, rho),
            n=n,
            step=step,
            period=2e-3,
            early=TORQUE_ENDS,
        )
    for omega in (2, 4, 10):
        for suffix, gravity in (("", 0.0), ("_gravity", GRAVITY)):
            start = "from static equilibrium, g = 9.81 m/s² along -y" if gravity else "no gravity"
            made[f"fls13_spin_up_{omega}{suffix}"] = Case(
                f"5.3 spin-up about +y to {omega} rad/s in {SPIN_UP_TIME:g} s, {start}; {SPINNING}",
                ("t", "lateral", "radial", "vertical") if gravity else ("t", "lateral", "radial"),
                partial(spinning, float(omega), gravity),
                n=32,
                step=2e-3,
                period=0.04,
                method="generalised-α, spectral radius 0.8",
            )
    return made


# ---- refinement and files


def difference(table, fine, until=np.inf):
    """The largest difference of each curve until some time, as a share of its peak at any time."""
    rows = fine[:, 0] < until + 1e-9
    return np.abs(table - fine)[rows].max(axis=0)[1:] / np.abs(fine).max(axis=0)[1:]


def refine(case, n, step):
    """The fine table, and for half the elements and for twice the step how far each curve is from it."""
    fine = case.solve(n, step, case.period)
    differences = {}
    for label, *given in ((f"{n // 2} elements", n // 2, step), (f"step {2 * step:g} s", n, 2 * step)):
        coarse = case.solve(*given, case.period)
        if not np.allclose(coarse[:, 0], fine[:, 0], rtol=0.0, atol=1e-9):
            raise ValueError(
                f"{label}: other times than with {n} elements, step {step:g} s; let steps divide the period"
            )
        differences[label] = difference(coarse, fine)
        if case.early is not None:
            differences[f"{label}, t ≤ {case.early:g} s"] = difference(coarse, fine, case.early)
    return fine, differences


def write(path, case, n, step, fine, differences):
    """The whole file or none."""
    head = [
        f"[FLS13, section 5] {case.about}",
        "Definitions of the case and of the columns: tools/references/fls13.py, by which it was made.  SI units.",
        f"Exudyn {exu.__version__}, ANCF cable elements, n = {n}, {case.method}, step {step:g} s.",
        "Largest difference from this table, as a share of each curve's peak:",
        *(f"  {label}: {shares(case, values)}" for label, values in differences.items()),
    ]
    lines = [f"# {line}" for line in head]
    lines.append(",".join(case.columns))
    lines.extend(",".join([f"{row[0]:.6g}", *(f"{value:.8g}" for value in row[1:])]) for row in fine)
    temporary = path.with_suffix(".partial")
    temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
    temporary.replace(path)


def shares(case, values):
    return ", ".join(f"{name} {value:.1e}" for name, value in zip(case.columns[1:], values, strict=True))


def main():
    known = cases()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="case", help=f"of {', '.join(known)}; all if none is given")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the files")
    parser.add_argument("--quick", action="store_true", help="half the elements, twice the step: a trial")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.cases) - set(known))
    if unknown:
        parser.error(f"no case {', '.join(unknown)}; there are: {', '.join(known)}")
    if exu is None:
        parser.exit(1, "Exudyn is missing, and these references are made with it: pip install 'exudyn>=1.13'\n")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.cases or known:
        case = known[name]
        n, step = (case.n // 2, 2 * case.step) if arguments.quick else (case.n, case.step)
        start = time.perf_counter()
        fine, differences = refine(case, n, step)
        write(arguments.out / f"{name}.csv", case, n, step, fine, differences)
        print(f"{name}: {n} elements, step {step:g} s, {time.perf_counter() - start:.0f} s")
        peaks = np.abs(fine[:, 1:]).max(axis=0)
        print(f"  {'peak':>24}: {', '.join(f'{p:.6g}' for p in peaks)}")
        for label, values in differences.items():
            print(f"  {label:>24}: {shares(case, values)}", flush=True)


if __name__ == "__main__":
    main()
