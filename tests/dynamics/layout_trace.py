"""Who writes and reads which field: every access of the kernels to their arrays, while they run as plain Python.

Run as a program, with NUMBA_DISABLE_JIT=1, it prints what it saw as JSON: for each field of W the functions that wrote
it and those that read what somebody else, or an earlier call, had written; for the other arrays the modules that read.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

# run as a program, it has only its own folder on the path
sys.path.append(str(Path(__file__).parents[1]))

import layout_models
import numpy as np

from liegeo.kernels import (
    articulated,
    composite,
    constraints,
    dry_friction,
    elements,
    elimination,
    inertia,
    inverse,
    kinematics,
    loops,
    motion,
    observe,
    regions,
)
from liegeo.kernels import layout as at
from liegeo.motion import Drive
from liegeo.observer import Observer

# What they do is what their callers do: they are told where.
HELPERS = {
    "articulated.articulate_joint",
    "articulated.articulate_modes",
    "articulated.gather_modes",
    "articulated.from_parent",
    "articulated.sizes",
    "articulated.solve_modes",
    "articulated.triangle_row",
    "constraints.along",
    "constraints.complement",
    "elements.add_spring_and_damper",
    "elements.along",
    "elements.ends",
    "elements.exerted",
    "elements.joint_friction",
    "elements.relative",
    "elements.stretch",
    "elimination.rank_of",
    "elimination.row_of",
    "elimination_table.stage_of",
    "inverse.move_bodies",
    "kinematics.through_node",
    "loops.chosen",
}
NAMES = {table: name for name, table in at.TABLES.items()}
HELPING_MODULES = ("dispatch", "joints", "layout", "nodes", "spatial")


class Watched(np.ndarray):
    """An array that tells the trace which of its places are read and written; a slice of it does so too."""

    trace = address = None

    def __array_finalize__(self, other):
        self.trace = getattr(other, "trace", None)

    def __getitem__(self, key):
        value = super().__getitem__(key)
        if not isinstance(key, slice):
            self.trace.saw(self, key, False)
        return value

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        if not isinstance(key, slice):
            self.trace.saw(self, key, True)


class Trace:
    """What was seen of the arrays I, F, S, D and W of one model."""

    def __init__(self, found, n_work):
        self.found, self.n_work = found, n_work
        self.arrays = []
        self.fields = {}
        self.writer = {}

    def watch(self, name, array, its_regions):
        """Return the array, watched; its fields are those of the regions."""
        watched = array.view(Watched)
        watched.trace = self
        self.arrays.append((array.ctypes.data, array.nbytes, name))
        places = self.fields[name] = [[] for _ in range(len(array))]
        for region in its_regions:
            if region.array == name:
                for k in range(region.start, region.stop):
                    places[k].append(label(region.table, region.field))
        return watched

    def saw(self, array, key, write):
        """Note an access to one number."""
        if array.address is None:
            array.address = array.ctypes.data
        address = array.address + int(key) * array.itemsize
        for start, size, name in self.arrays:
            if start <= address < start + size:
                first = (address - start) // 8
                for k in range(first, first + array.itemsize // 8):
                    self._note(name, k, write)

    def _note(self, name, k, write):
        if not self.fields[name][k]:
            raise AssertionError(f"{name}[{k}] belongs to no field")
        frame, function = _caller("module" if name != "W" else "motion" if k >= self.n_work else "function")
        if function is None:
            return
        key = (name, k)
        for field in self.fields[name][k]:
            if write:
                self.found[field][0].add(function)
            elif self.writer.get(key) is not frame:
                self.found[field][1].add(function)
        if write:
            self.writer[key] = frame


def label(table, field):
    """Return a name for a field, for JSON."""
    return f"{NAMES[table]}.{field.name}"


def _caller(kind):
    """The function on whose behalf the code now runs, and its frame.

    kind: "module": its module is enough, "motion": the one of motion.py, whose scratch is passed to all others.
    """
    frame = sys._getframe(3)
    while frame is not None:
        module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        if module.startswith("liegeo.kernels."):
            module = module.removeprefix("liegeo.kernels.")
            if kind == "module" and module not in ("layout", "spatial"):
                return frame, module
            function = f"{module}.{name}"
            if kind == "motion" and module != "motion":
                function = ""
            if (
                function
                and kind != "module"
                and module not in HELPING_MODULES
                and not name.startswith("_")
                and function not in HELPERS
            ):
                return frame, function
        frame = frame.f_back
    return None, None


def trace_model(model, found):
    """Run everything on one model."""
    q, v, u = layout_models.motion_of(model)
    drive = Drive(model, layout_models.inputs_of(model))
    S, D = drive.system.ints, drive.system.floats
    trace = Trace(found, int(model.ints[at.N_WORK]))
    everything = regions.regions(model.ints) + regions.motion_regions(model.ints)
    on_drive = regions.drive_regions(S, len(u))
    size = max(region.stop for region in everything if region.array == "W")
    I, F = (trace.watch(n, x.copy(), everything) for n, x in (("I", model.ints), ("F", model.floats)))
    W, u = trace.watch("W", np.zeros(size), everything), trace.watch("u", u, everything)
    S, D = trace.watch("S", S, on_drive), trace.watch("D", D, on_drive)
    model_of, call_address = motion.model_of, constraints.call_address
    motion.model_of(S)
    motion.model_of = lambda S: (I, F)

    def call(address, t, q, v, out):
        for k in range(len(out)):
            out[k] = 0.0
        return call_address(address, t, np.array(q), np.array(v), np.asarray(out))

    constraints.call_address = call
    try:
        _run(model, I, F, S, D, W, q, v, u)
    finally:
        motion.model_of, constraints.call_address = model_of, call_address


def _run(model, I, F, S, D, W, q, v, u):
    nv, w = model.nv, np.concatenate([v, 0.1 * np.ones(model.nx)])
    out, more, matrix, wide = np.zeros(nv), np.zeros(nv), np.zeros((nv, nv)), np.zeros(nv + model.nx)
    kinematics.poses(I, F, q, W)
    kinematics.velocities(I, F, q, v, W)
    inertia.inertias(I, F, q, W)
    kinematics.world_poses(I, W, np.zeros(12 * (len(model.bodies) + 1)), 0)
    observe.jacobian(I, W, len(model.bodies) - 1, np.zeros(12), np.zeros(60), np.zeros(24), np.zeros((6, nv)))
    observe.energies(I, F, q, v, u, W, np.zeros(12 * (len(model.bodies) + 1)), np.zeros(13))
    inertia.biases(I, F, q, v, W)
    inverse.accelerations(I, F, u, at.NO_GRAVITY, W)
    inverse.forces(I, F, q, v, u, W, out)
    articulated.forward_dynamics(I, F, q, v, u, W, out)
    inverse.inverse_dynamics(I, F, q, v, u, W, out)
    articulated.factorise_next(I, F, q, 0.1, 0.2, 0.0 * v, W)
    elements.local_tangents(I, F, q, v, 0.1, 0.2, 0.0, out)
    inverse.displacement(I, F, q, v, W, np.zeros(2))
    inverse.momentum(I, F, q, v, W, out)
    composite.mass_matrix(I, F, q, W, matrix)
    articulated.solve(I, F, q, v, 0.1, 0.2, W, out)
    kinematics.poses(I, F, q, W)
    kinematics.velocities(I, F, q, v, W)
    if model.ints[at.N_FRAMES] > 0:
        elements.place_frames(I, F, q, v, W)
        elements.element_powers(I, F, u, W)
    T, Y = np.zeros(1), np.concatenate([q, np.zeros(model.nx), w])[None, :]
    if model.rows:
        loops.forward_dynamics(I, F, q, v, u, W, out)
        loops.inverse_dynamics(I, F, q, v, u, W, out)
        loops.closing(I, F, q, v, u, 0.1, W, out, more)
        loops.jacobian(I, F, q, u, W, out, more, np.zeros(len(model.rows) * nv))
        # loops.factorise, but for the speeds and inputs, which it takes from anywhere because nothing depends on them
        if model.ints[at.ELIMINATION]:
            articulated.place_inertias(I, F, q, W)
            constraints.evaluate(I, F, q, v, u, W)
            elimination.eliminate(I, F, 0.1, 0.2, False, W, W)
        else:
            articulated.factorise(I, F, q, 0.1, 0.2, W)
            constraints.evaluate(I, F, q, v, u, W)
            loops.operational_inertia(I, F, W)
        loops.correct(I, F, v, 1.0, 1.0, 1.0, 1.0, W, W, out)
        loops.release(I, W)
        motion.closing(S, D, 0.1, q, w, W, wide, wide.copy())
        motion.constrained_acceleration(S, D, 0.1, q, w, W, wide)
        motion.constrained_residual(S, D, 0.1, q, w, wide, W, wide.copy())
        if not model.custom:
            motion.constrained_along(S, D, 0.1, q, w, wide, wide, wide, wide, W, wide.copy())
        motion.constrained_powers(S, D, T, Y, True, W, np.zeros((1, 2)))
    if S[at.S_PROGRAMS]:
        motion.drive(S, D, -1.0, q, w, W)
    names = model.names
    observer = Observer(model, [names.column(name).source for name in [*names.table, *names.more]])
    solved = observe.solved_loops if model.rows else observe.solved
    # exact friction writes its multipliers into u
    given = np.array(u) if model.ints[at.N_HELD] else u
    solved(observer.plan, observer.data, I, F, 0.1, q, v, given, W, observer.numbers(), np.zeros(observer.width))
    motion.acceleration(S, D, 0.1, q, w, W, wide)
    motion.residual(S, D, 0.1, q, w, wide, W, wide.copy())
    motion.along(S, D, 0.1, q, w, wide, wide, wide, wide, W, wide.copy())
    if model.nx == 0:
        motion.slope(S, D, 0.1, q, w, W, wide.copy())
    if model.ints[at.N_HELD]:
        dry_friction.grips(I, F, W, True, out)
        dry_friction.hold(I, F, q, 0.0 * v, np.array(u), W)
        motion.switches(S, D, q, w, W)
    motion.energy(S, D, 0.1, q, w, W)
    motion.momentum(S, D, q, w, W, wide)
    motion.resistance(S, D, 0.1, 0.1, w, wide)
    motion.powers(S, D, T, Y, False, W, np.zeros((1, 2)))
    motion.powers(S, D, T, Y, True, W, np.zeros((1, 2)))


def main():
    found = defaultdict(lambda: (set(), set()))
    for model in layout_models.models().values():
        trace_model(model, found)
    json.dump({field: [sorted(part) for part in parts] for field, parts in found.items()}, sys.stdout)


if __name__ == "__main__":
    main()
