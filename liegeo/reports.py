"""What the command line prints about models and runs: plain data (for --json), and tables of rich made from it."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from liegeo import dynamics
from liegeo.model.body import Body, FlexibleBody
from liegeo.model.joints import Joint
from liegeo.model.model import Model
from liegeo.model.notebook import frequencies

if TYPE_CHECKING:
    from rich.table import Table

    from liegeo.analysis.frequency import FrequencyResponse
    from liegeo.analysis.linear import LinearModel
    from liegeo.analysis.loci import Locus
    from liegeo.analysis.modes import Modes
    from liegeo.analysis.spectra import SpectralDensity
    from liegeo.io import Mechanism
    from liegeo.results import Result
    from liegeo.studies import StudyResult

Data = dict[str, Any]

# Frequencies of a flexible body that a table shows.
_SHOWN = 4
# Peaks of a frequency response that a table shows.
_PEAKS = 4
# Seconds that do not count.
_NOTHING = 0.05
# Columns of numbers, beside those with units.
_NUMBERS = ("amplitude", "dof", "mode", "modes", "steps", "value", "× real time")


def info(mechanism: Mechanism) -> Data:
    """What a model consists of."""
    tree, model = mechanism.tree, mechanism.compile()
    places = model.group.v if model.group is not None else {}
    data: Data = {
        "name": mechanism.name,
        "description": mechanism.description,
        "mass": float(sum(body.mass for body in tree.all_bodies)),
        "degrees_of_freedom": model.nv,
        "constraints": len(model.rows),
        "inputs": list(model.inputs),
        "fidelity": tree.fidelity,
        "gravity": np.asarray(tree.gravity).tolist(),
        "bodies": [_body(body) for body in tree.bodies],
        "joints": [_joint(joint, places) for joint in tree.joints],
        "wheels": [{"name": wheel.name, "body": wheel.body} for wheel in tree.wheels],
        "forces": [{"name": force.name, "kind": type(force).__name__} for force in tree.forces],
        "loops": [{"name": loop.name, "kind": type(loop).__name__} for loop in tree.loops],
        "sensors": [{"name": sensor.name, "kind": type(sensor).__name__} for sensor in tree.sensors],
        "controllers": [
            {"name": each.name, "period": float(each.period), "outputs": list(each.outputs)}
            for each in tree.controllers
        ],
        "events": [{"name": each.name, "signal": each.signal, "value": float(each.value)} for each in tree.events],
        "parameters": {
            name: {"value": parameter.value, "unit": parameter.unit, "description": parameter.description}
            for name, parameter in mechanism.declared.items()
        },
    }
    if model.rows:
        data["redundant_constraints"] = len(dynamics.redundant_rows(model, mechanism.state()))
    return data


def _body(body: Body | FlexibleBody) -> Data:
    data: Data = {"name": body.name, "mass": float(body.mass), "modes": body.n_modes}
    if isinstance(body, FlexibleBody):
        data["frequencies"] = frequencies(body)[0].tolist()
        data["nodes"] = list(body.nodes)
    data["frames"] = list(body.frames)
    return data


def _joint(joint: Joint, places: Mapping[str, slice]) -> Data:
    place = places.get(joint.name, slice(0, 0))
    return {
        "name": joint.name,
        "kind": type(joint).__name__,
        "parent": joint.parent,
        "child": joint.child,
        "degrees_of_freedom": place.stop - place.start,
    }


def info_tables(data: Data) -> list[Any]:
    """`info` for people."""
    bodies = _table("body", "mass [kg]", "modes", "first frequencies [Hz]", "nodes and frames")
    for body in data["bodies"]:
        first = ", ".join(f"{f:.4g}" for f in body.get("frequencies", [])[:_SHOWN])
        more = ", …" if len(body.get("frequencies", [])) > _SHOWN else ""
        places = ", ".join([*body.get("nodes", []), *body["frames"]])
        _add(bodies, body["name"], f"{body['mass']:.6g}", str(body["modes"] or ""), first + more, places)
    joints = _table("joint", "kind", "from", "to", "dof")
    for joint in data["joints"]:
        dof = str(joint["degrees_of_freedom"])
        _add(joints, joint["name"], joint["kind"], joint["parent"], joint["child"], dof)
    out = [_sentence(data), bodies, joints]
    others = [
        *((x["name"], x["kind"]) for x in (*data["loops"], *data["forces"], *data["sensors"])),
        *((x["name"], f"wheel on {x['body']}") for x in data["wheels"]),
        *((x["name"], f"controller, every {x['period']:g} s") for x in data["controllers"]),
        *((x["name"], f"event where {x['signal']} passes {x['value']:g}") for x in data["events"]),
    ]
    if others:
        table = _table("loop, force, sensor, wheel, controller, event", "kind")
        for row in others:
            _add(table, *row)
        out.append(table)
    if data["parameters"]:
        table = _table("parameter", "value", "unit", "what it is")
        for name, parameter in data["parameters"].items():
            _add(table, name, f"{parameter['value']:.6g}", parameter["unit"], parameter["description"])
        out.append(table)
    return out


def _sentence(data: Data) -> str:
    modes = sum(body["modes"] for body in data["bodies"])
    n = data["degrees_of_freedom"]
    parts = [f"{n} degree{'' if n == 1 else 's'} of freedom"]
    if modes:
        parts.append(f"{modes} of them modes")
    if data["constraints"]:
        redundant = data["redundant_constraints"]
        held = data["constraints"]
        parts.append(
            f"{held} constraint{'' if held == 1 else 's'}" + (f" ({redundant} redundant)" if redundant else "")
        )
    about = f"\n{data['description']}" if data["description"] else ""
    return f"{data['name']}: {data['mass']:.6g} kg, {', '.join(parts)}{about}\n"


def modes_data(found: Modes) -> Data:
    """Modes, rigid ones first, then slowest first; they are counted from 0, as columns are."""
    from liegeo.analysis.modes import DIRECTIONS

    fixed = found.fixed() if found.state.v.any() and found.is_steady and found.constant else None
    masses = found.effective_masses
    rows = []
    for i, (f, d) in enumerate(zip(found.frequencies, found.damping, strict=True)):
        row: Data = {
            "number": i,
            "rigid": i < found.rigid,
            "frequency": float(f),
            "damping": float(d),
            "mostly": found.mostly(i),
            "effective_masses": dict(zip(DIRECTIONS, masses[i].tolist(), strict=True)),
        }
        if fixed is not None:
            row |= {
                "fixed_frequency": float(abs(fixed.eigenvalues[i]) / (2.0 * np.pi)),
                "fixed_share": float(fixed.shares[i]),
                "whirl": float(fixed.whirl[i]),
            }
        rows.append(row)
    own = {
        body.name: float(np.max(frequencies(body)[1], initial=0.0))
        for body in found.model.tree.bodies
        if isinstance(body, FlexibleBody)
    }
    return {
        "name": found.model.tree.name,
        "kind": found.kind,
        "rigid": found.rigid,
        "acceleration": found.acceleration,
        "moves": bool(found.state.v.any()),
        "rotates": found.rotates,
        "frame": found.frame(),
        "own_damping": {name: ratio for name, ratio in own.items() if ratio > 0.0},
        "movable": dict(zip(DIRECTIONS, found.movable.tolist(), strict=True)),
        "notes": list(found.notes),
        "modes": rows,
    }


def modes_table(data: Data, n: int, masses: bool = False) -> list[Any]:
    """`modes_data` for people, the first n, and effective masses if they are wanted."""
    moving = any("whirl" in mode for mode in data["modes"])
    head = ["frequency [Hz]", "damping [%]", "most of it in"]
    if data["rotates"]:
        head[:1] = ["rotating [Hz]", "fixed [Hz]"]
    table = _table("mode", *head, *(["whirl"] if moving else []), title=data["name"])
    for mode in data["modes"][:n]:
        frequency = "rigid" if mode["rigid"] else f"{mode['frequency']:.5g}"
        cells = [str(mode["number"]), frequency]
        if data["rotates"]:
            mixed = "" if mode["fixed_share"] > 0.99 else f" ({100 * mode['fixed_share']:.0f} %)"
            cells.append("rigid" if mode["rigid"] else f"{mode['fixed_frequency']:.5g}{mixed}")
        cells += [_percent(mode["damping"]), mode["mostly"]]
        if moving:
            cells.append("forward" if mode["whirl"] > 0.0 else "backward" if mode["whirl"] < 0.0 else "")
        _add(table, *cells)
    out: list[Any] = [table]
    if len(data["modes"]) > n:
        out.append(f"… and {len(data['modes']) - n} more: --number {len(data['modes'])}")
    if masses:
        out.append(_masses_table(data, n))
    if data["moves"]:
        out.append(data["frame"])
    out += data["notes"]
    if data["own_damping"] and data["kind"] == "damped":
        bodies = ", ".join(f"'{name}' to {_percent(ratio)} %" for name, ratio in data["own_damping"].items())
        out.append(
            f"Damping that bodies have is that of their own modes, held at their frames ({bodies}); as parts of the "
            "system\n  they give its modes the ratios above. Modes.with_damping gives ratios to modes of the system."
        )
    if data["acceleration"] > 1e-6:
        out.append(
            f"The state is no equilibrium: the largest acceleration is {data['acceleration']:.3g}.\n"
            "  --about rest lets the model come to rest first, --about steady keeps its speeds, --lock '*' holds its "
            "joints."
        )
    return out


def _percent(ratio: float) -> str:
    from liegeo.analysis.modes import percent

    return percent(ratio)


def _masses_table(data: Data, n: int) -> Table:
    """Return effective inertia and masses of modes, their sum, and what the coordinates can move at all."""
    units = {name: "kg m²" if name.startswith("turn") else "kg" for name in data["movable"]}
    table = _table("mode", *(f"{name} [{unit}]" for name, unit in units.items()), title="effective masses")
    rows = [mode["effective_masses"] for mode in data["modes"]]
    for mode, row in zip(data["modes"][:n], rows, strict=False):
        _add(table, str(mode["number"]), *(f"{x:.4g}" for x in row.values()))
    _add(table, "sum", *(f"{sum(row[name] for row in rows):.4g}" for name in units))
    _add(table, "movable", *(f"{x:.4g}" for x in data["movable"].values()))
    return table


def locus_data(found: Locus) -> Data:
    """Return branches of modes over a parameter; null where a branch has no mode."""
    return {
        "name": found.name,
        "parameter": found.parameter,
        "frame": found.frame,
        "rotates": bool(found.speed.any()),
        "values": found.values.tolist(),
        "rigid": found.rigid.tolist(),
        "speed": found.speed.tolist(),
        "branches": [
            {
                "frequencies": [_number(x) for x in found.frequencies[:, k]],
                "damping": [_number(x) for x in found.damping[:, k]],
                "eigenvalues": [None if np.isnan(x) else [float(x.real), float(x.imag)] for x in branch],
            }
            for k, branch in enumerate(found.eigenvalues.T)
        ],
        "critical_speeds": found.critical_speeds().tolist() if np.ptp(found.speed) > 0.0 else [],
        "doubts": [doubt._asdict() for doubt in found.doubts],
        "unsteady": max(each.acceleration for each in found.modes),
    }


def _branches(data: Data, what: str, unit: str, show: Callable[[float], str]) -> Table:
    table = _table(data["parameter"], *(f"{k} {unit}" for k in range(len(data["branches"]))), title="")
    for i, value in enumerate(data["values"]):
        cells = [branch[what][i] for branch in data["branches"]]
        _add(table, f"{value:.6g}", *("" if x is None else show(x) for x in cells))
    return table


def locus_table(data: Data) -> list[Any]:
    """`locus_data` for people: frequencies, and damping where there is any."""
    branches = data["branches"]
    out: list[Any] = [_branches(data, "frequencies", "[Hz]", lambda x: f"{x:.5g}")]
    out[0].title = f"{data['name']}: frequencies"
    if any(abs(x or 0.0) > 1e-11 for branch in branches for x in branch["damping"]):
        out.append(_branches(data, "damping", "[%]", _percent))
        out[1].title = f"{data['name']}: damping"
    if data["rotates"]:
        out.append(f"Frequencies are those of the {data['frame']} frame.")
    if data["critical_speeds"]:
        speeds = ", ".join(f"{speed:.6g}" for speed in data["critical_speeds"])
        out.append(f"Critical speeds, where a frequency is that of the rotation: {speeds} rad/s.")
    out += [
        f"Branch {doubt['branch']} changes its shape from {doubt['value']:.6g} to {doubt['following']:.6g} (MAC "
        f"{doubt['mac']:.2f}): more values would tell whether it is the same mode."
        for doubt in data["doubts"]
    ]
    if data["unsteady"] > 1e-6:
        out.append(
            f"Some states are no operating points: the largest acceleration is {data['unsteady']:.3g}.\n"
            "  --about rest lets the model come to rest, --about steady keeps its speeds."
        )
    return out


def linear_data(found: LinearModel) -> Data:
    """Return a linear model: names, units, matrices and poles."""
    out: Data = {"name": found.name, "period": found.period, "largest rate": found.largest_rate}
    out |= {"notes": list(found.notes)}
    for key in ("states", "inputs", "outputs", "state_units", "input_units", "output_units"):
        out[key] = list(getattr(found, key))
    for key in ("A", "B", "C", "D", "u0", "y0"):
        out[key] = getattr(found, key).tolist()
    out["poles"] = [[float(pole.real), float(pole.imag)] for pole in found.poles]
    return out


def linear_table(data: Data) -> list[Any]:
    """Show names and poles of a linear model."""
    names = _table("", "states", "inputs", "outputs", title=data["name"])
    lists = [
        [f"{name} [{unit}]" if unit else name for name, unit in zip(data[f"{key}s"], data[f"{key}_units"], strict=True)]
        for key in ("state", "input", "output")
    ]
    for k, row in enumerate(itertools.zip_longest(*lists, fillvalue="")):
        _add(names, str(k + 1), *row)
    poles = _table("pole", "real part [1/s]", "imaginary part [1/s]", "|pole|/2π [Hz]", "damping [%]")
    if data["period"]:
        poles = _table("pole", "real part", "imaginary part", "size")
    shown = [complex(*pole) for pole in data["poles"] if pole[1] >= 0.0]
    for k, found in enumerate(shown):
        # what is round-off beside the pole is none of it
        pole = complex(*(part if abs(part) > 1e-10 * abs(found) else 0.0 for part in (found.real, found.imag)))
        both = "± " if pole.imag else ""
        numbers = [f"{pole.real:.5g}", f"{both}{pole.imag:.5g}"]
        if data["period"]:
            numbers.append(f"{abs(pole):.5g}")
        else:
            damping = 0.0 - pole.real / abs(pole) if pole else 0.0
            numbers += [f"{abs(pole) / (2.0 * np.pi):.5g}", f"{100.0 * damping:.3g}"]
        _add(poles, str(k + 1), *numbers)
    out: list[Any] = [names, poles, *data["notes"]]
    if data["largest rate"] > 1e-6:
        out.append(
            f"The state is no operating point: the largest rate of a speed is {data['largest rate']:.3g}.\n"
            "  --about rest lets the model come to rest first, --about steady keeps its speeds, --lock '*' holds its "
            "joints."
        )
    return out


def response_data(found: FrequencyResponse, random: SpectralDensity | None = None) -> Data:
    """Return a frequency response, its peaks, and RMS values under noise."""
    out: Data = {"name": found.name, "notes": list(found.notes), "frequencies": found.frequencies.tolist()}
    out["responses"] = []
    for i, output in enumerate(found.outputs):
        for j, given in enumerate(found.inputs):
            y = found.values[:, i, j]
            size = np.abs(y)
            inner = 1 + np.flatnonzero((size[1:-1] > size[:-2]) & (size[1:-1] >= size[2:]))
            largest = inner[np.argsort(-size[inner])][:_PEAKS]
            out["responses"].append(
                {
                    "output": output,
                    "input": given,
                    "unit": found.unit(i, j),
                    "real": y.real.tolist(),
                    "imag": y.imag.tolist(),
                    "peaks": [[float(found.frequencies[k]), float(size[k])] for k in sorted(largest)],
                }
            )
    if random is not None:
        numbers = zip(random.outputs, random.units, random.rms(), strict=True)
        out["rms"] = [{"output": name, "unit": unit, "rms": float(value)} for name, unit, value in numbers]
    return out


def response_table(data: Data) -> list[Any]:
    """Show the first amplitude and the peaks of a frequency response."""
    f = data["frequencies"]
    table = _table("output, by input", "frequency [Hz]", "amplitude", title=data["name"])
    for k, row in enumerate(data["responses"]):
        if k == 0 or data["responses"][k - 1]["output"] != row["output"]:
            _add(table, row["output"], "", "")
        first = [f[0], np.hypot(row["real"][0], row["imag"][0])]
        for n, (at, size) in enumerate([first, *row["peaks"]]):
            name = "    peak" if n else f"  by {row['input']}" + (f" [{row['unit']}]" if row["unit"] else "")
            _add(table, name, f"{at:.5g}", f"{size:.5g}")
    out: list[Any] = [table]
    if "rms" in data:
        noise = _table("output", "unit", f"RMS under noise from {f[0]:.4g} to {f[-1]:.4g} Hz")
        for row in data["rms"]:
            _add(noise, row["output"], row["unit"], f"{row['rms']:.5g}")
        out.append(noise)
    return [*out, *data["notes"]]


@contextmanager
def compile_time() -> Iterator[list[float]]:
    """Seconds that Numba compiles within, or waits for a process that does; what comes from the cache takes none."""
    from numba.core.event import install_timer

    from liegeo._cache import WAITING

    seconds: list[float] = []
    with install_timer("numba:compile", seconds.append), install_timer(WAITING, seconds.append):
        yield seconds


def run_data(run: Result, compiled: float = 0.0, wall: float = 0.0) -> Data:
    """How a run went, and what became of its energy; of `wall` seconds in all, Numba compiled for `compiled`."""
    info = run.info
    span = float(run.t[-1] - run.t[0])
    # without compiling, which happens once; part of it comes before the run counts its seconds
    running = info.seconds if compiled < _NOTHING else min(info.seconds, max(wall - compiled, _NOTHING))
    return {
        "name": run.model.tree.name,
        "finished": info.finished,
        "message": info.message,
        "method": info.method,
        "steps": info.steps,
        "rejected": info.rejected,
        "start": float(run.t[0]),
        "end": float(run.t[-1]),
        "samples": len(run),
        "seconds": running,
        "compile_seconds": compiled,
        "real_time_factor": span / max(running, 1e-9),
        "energy": energy(run),
        "local_errors": info.local_errors,
        "accuracy": None if info.accuracy is None else _accuracy(*info.accuracy),
        "newton": None if info.newton is None else dataclasses.asdict(info.newton),
        "events": dict(Counter(event.name for event in run.events)),
    }


def energy(run: Result) -> Data:
    """Return the account of a run's energy (liegeo/account.py), and its defect as a share of what was in motion."""
    account, scale = run.info.energy, run.energy_scale
    if account is None:
        return {}
    return {
        "start": account.start,
        "end": account.end,
        "change": account.end - account.start,
        "work_of_inputs": _number(account.work),
        "dissipated": _number(account.dissipated),
        "defect": _number(account.defect),
        "relative_defect": _number(abs(account.defect) / scale) if scale > 0.0 else None,
    }


def study_data(study: StudyResult) -> Data:
    """Return how many members a study has, what their columns are like, and why members failed."""
    return {
        "name": study.name,
        "members": len(study),
        "done": int(np.count_nonzero(study.done)),
        "failed": len(study.errors),
        "columns": {
            name: {"unit": study.units.get(name, ""), **{word: _number(x) for word, x in found.items()}}
            for name, found in study.summary().items()
        },
        "errors": {str(member): error for member, error in study.errors.items()},
    }


def study_table(data: Data) -> list[Any]:
    words = ("mean", "deviation", "least", "median", "largest")
    table = _table("", "unit", *words, title=data["name"])
    for name, column in data["columns"].items():
        shown = ("-" if column[word] is None else f"{column[word]:.5g}" for word in words)
        table.add_row(name, column["unit"], *shown)
    said = f"{data['done']} of {data['members']} members, {data['failed']} failed"
    first = next(iter(data["errors"].items()), None)
    return [table, said if first is None else f"{said}; member {first[0]}: {first[1]}"]


def _accuracy(position: float, angle: float) -> Data:
    """Return the accuracy by which steps were chosen; None for an angle that may be anything."""
    return {"position": position, "angle": _number(angle)}


def _number(x: float) -> float | None:
    """Return a number for JSON, which has no NaN."""
    return float(x) if np.isfinite(x) else None


def run_table(data: Data) -> list[Any]:
    table = _table("", "", title=data["name"], show_header=False)
    rejected = f" ({data['rejected']} rejected)" if data["rejected"] else ""
    balance = data["energy"]
    rows = [
        ("time", f"{data['start']:.6g} to {data['end']:.6g} s, {data['samples']} samples"),
        ("method", f"{data['method']}, {data['steps']} steps{rejected}"),
        ("took", f"{data['seconds']:.3g} s, {data['real_time_factor']:.3g} × real time"),
    ]
    if balance:
        rows.append(("energy", f"{balance['start']:.6g} → {balance['end']:.6g} J, change {balance['change']:.6g} J"))
    if balance.get("work_of_inputs") or balance.get("dissipated"):
        done = f"work of inputs {balance['work_of_inputs']:.6g} J, dissipated {balance['dissipated']:.6g} J"
        rows.append(("balance", done))
    if data["events"]:
        counted = ", ".join(f"{name} {n}" for name, n in data["events"].items())
        rows.append(("events", counted))
    rows.append(("error", _error(data)))
    if data["compile_seconds"] > 0.5:
        rows.append(("kernels", f"compiled in {data['compile_seconds']:.0f} s; from now on they come from a cache"))
    if not data["finished"]:
        rows.append(("stopped early", data["message"]))
    for row in rows:
        _add(table, *row)
    return [table]


def _error(data: Data) -> str:
    """Return how far a run can be trusted, in words."""
    defect, share = data["energy"].get("defect"), data["energy"].get("relative_defect")
    parts = [] if defect is None else [f"energy {defect:.2g} J off" + ("" if share is None else f", {share:.1g} of it")]
    if data["local_errors"] is not None:
        metres = data["accuracy"] and data["accuracy"]["position"]
        asked = f" m, at most {metres:.1g} m asked for" if metres else ""
        parts.append(f"errors of steps add up to {data['local_errors']:.1g}{asked}")
    return "; ".join(parts) or "not known"


def measure(mechanism: Mechanism, seconds: float = 1.0) -> Data:
    """How fast this machine is with a model: microseconds a call, and times real time."""
    model, state = mechanism.compile(), mechanism.state()
    run = mechanism.simulate(progress=False)
    simulated = min(
        mechanism.simulate(progress=False).info.seconds
        for _ in range(max(1, int(seconds / max(run.info.seconds, 0.1))))
    )
    return {
        "name": mechanism.name,
        "degrees_of_freedom": model.nv,
        "forward_dynamics": _microseconds(model, dynamics.forward_dynamics, state, seconds / 2),
        "inverse_dynamics": _microseconds(model, dynamics.inverse_dynamics, state, seconds / 2),
        "method": run.info.method,
        "steps": run.info.steps,
        "real_time_factor": float(run.t[-1] - run.t[0]) / max(simulated, 1e-9),
    }


def _microseconds(model: Model, function: Any, state: Any, seconds: float) -> float:
    """Of a checked call from Python, the quickest of many."""
    function(model, state)
    best, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(20):
            function(model, state)
        best = min(best, (time.perf_counter() - start) / 20)
    return best * 1e6


def bench_table(rows: Sequence[Data]) -> Table:
    table = _table("model", "dof", "forward [µs]", "inverse [µs]", "method", "steps", "× real time")
    for row in rows:
        _add(
            table,
            row["name"],
            str(row["degrees_of_freedom"]),
            f"{row['forward_dynamics']:.1f}",
            f"{row['inverse_dynamics']:.1f}",
            row["method"],
            str(row["steps"]),
            f"{row['real_time_factor']:.3g}",
        )
    return table


def _add(table: Table, *cells: str) -> None:
    """A row; names are a user's own, so that nothing in them is markup."""
    from rich.text import Text

    table.add_row(*(Text(cell) for cell in cells))


def _table(*columns: str, title: str | None = None, show_header: bool = True) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=None if title is None else Text(title, style="bold"),
        title_justify="left",
        show_header=show_header,
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for k, column in enumerate(columns):
        number = column.endswith("]") or column in _NUMBERS
        table.add_column(Text(column), justify="right" if number else "left", no_wrap=k == 0)
    return table
