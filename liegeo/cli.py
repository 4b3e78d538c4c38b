"""The command line: `liegeo …`.  It parses, calls, prints; whatever it calls is a function that Python can call too.

Exit codes: 0 success; 1 an error that liegeo explains; 2 a command line that cannot be understood; 3 a run that ended
early, whose results so far were written; 130 Ctrl-C.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from liegeo._version import __version__

if TYPE_CHECKING:
    from liegeo.io import Mechanism

ENDED_EARLY, INTERRUPTED = 3, 130
# Suffixes of tables and pictures, as liegeo/results writes them, and of pages and model files.
_TABLES, _PICTURES = (".csv", ".npz", ".parquet"), (".png", ".pdf", ".svg")
_PAGES, _MODELS, _MJCF = (".html", ".htm"), (".yaml", ".yml"), (".xml", ".mjcf")

app = typer.Typer(
    name="liegeo",
    help="Simulate rigid and flexible multibody systems on their Lie group.",
    epilog="Begin with: liegeo demo.  Then: liegeo new arm, liegeo simulate arm.yaml, liegeo view arm.yaml\n\n"
    "Exit codes: 0 success; 1 an error that is explained; 2 a command line that cannot be understood; 3 a run that "
    "ended early, whose results so far were written; 130 Ctrl-C.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file (.yaml), URDF or MJCF file.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Another value of a parameter; repeatable.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only what went wrong.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Names = Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Columns, by name or wildcard.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"liegeo {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from. May stand anywhere.")] = False,
) -> None:
    """Options that stand before a command."""


# ---- what commands share


class _PipeClosedError(Exception):
    """Who reads what is printed has seen enough, as `head` has."""


class _Output:
    """Prints tables for people, or one JSON document, or nothing."""

    def __init__(self, quiet: bool = False, json: bool = False) -> None:
        from rich.console import Console

        class Printing(Console):
            def on_broken_pipe(self) -> None:
                raise _PipeClosedError

        self._json, self.quiet = json, quiet or json
        self.console = Printing(quiet=self.quiet, highlight=False)

    def show(self, data: Any, *parts: Any) -> None:
        if self._json:
            import json

            try:
                typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
            except BrokenPipeError:
                raise _PipeClosedError from None
            return
        for part in parts:
            self.console.print(part, markup=False, soft_wrap=isinstance(part, str))

    def wrote(self, *files: Path) -> None:
        for file in files:
            self.console.print(f"wrote {file}", markup=False, soft_wrap=True)


def _assignments(given: list[str] | None, option: str, example: str = "arm.length=1.2") -> dict[str, str]:
    """NAME=VALUE, several times."""
    out = {}
    for text in given or []:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise typer.BadParameter(f"'{text}' is not NAME=VALUE, as in {option} {example}")
        out[name.strip()] = value.strip()
    return out


def _number(who: str, text: str, *wanted: Any) -> float:
    """In SI, or with a unit, of one of the wanted dimensions."""
    from liegeo.errors import InputError
    from liegeo.io.fields import read_number

    given: Any = text
    with contextlib.suppress(ValueError):
        given = float(text)
    try:
        return read_number(given, wanted)
    except InputError as error:
        raise InputError(f"{who} {error}.") from None


def _seconds(who: str, text: str | None) -> float | None:
    from liegeo.io.units import TIME

    return None if text is None else _number(who, text, TIME)


def _target(option: str, file: Path, suffixes: tuple[str, ...], *sources: Path) -> Path:
    """Where something will be written, checked before anything is computed, so that no run is lost."""
    from liegeo.errors import InputError

    if file.suffix.lower() not in suffixes:
        raise InputError(f"{option}: {file.name} ends in '{file.suffix}', expected one of {', '.join(suffixes)}.")
    if not file.parent.is_dir():
        raise InputError(f"{option}: cannot write {file}: there is no folder {file.parent}. Create it first.")
    if file.is_dir():
        raise InputError(f"{option}: {file} is a folder, expected a file.")
    for source in sources:
        if file.exists() and source.exists() and file.samefile(source):
            raise InputError(f"{option}: {file} is what is read; it would be lost. Give another name.")
    return file


def _driving(mechanism: Mechanism, name: str, text: str) -> float:
    """A constant input; whether there is one of that name, and of one component, is said by who simulates."""
    from liegeo.io.build import parts_of

    wanted = parts_of(mechanism.tree).input_dimensions(name) or []
    return _number(f"--input {name}", text, *(wanted if len(wanted) == 1 else ()))


def _load(path: Path, given: list[str] | None = None, **options: Any) -> Mechanism:
    import liegeo as lg

    return lg.load(path, set=_assignments(given, "--set"), **options)


# ---- commands


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--folder", "-o", help="Where to write what it makes.")] = Path("liegeo-demo"),
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Simulate a flexible robot arm under a controller, in one process and as two FMUs; write data, picture, page.

    Example:  liegeo demo --folder /tmp/arm
    """
    from liegeo import demo as job
    from liegeo import reports
    from liegeo._cache import announce

    out = _Output(quiet, json)
    out.console.print(job.INTRODUCTION)
    if job.is_first_run() and not out.quiet:
        announce()
    made = job.run(folder, progress=False if out.quiet else None)
    out.show(made.data | {"files": [str(file) for file in made.files]}, *reports.run_table(made.data), *made.sentences)
    out.wrote(*made.files)
    # a path must stay one word, however long
    out.console.print(job.WHAT_NEXT.format(page=made.page), soft_wrap=True)


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="What the new system is called; NAME.yaml is written.")] = "",
    template: Annotated[str, typer.Option("--from", metavar="MODEL", help="A model that comes with liegeo.")] = (
        "flexible_arm"
    ),
    show: Annotated[bool, typer.Option("--list", help="List the models that come with liegeo, and stop.")] = False,
    quiet: Quiet = False,
) -> None:
    """Write a model file of your own, to change.

    Example:  liegeo new crane --from double_pendulum
    """
    from liegeo.io import shipped

    out = _Output(quiet)
    if show or not name:
        out.show(None, *(f"{stem:24} {text}" for stem, text in shipped.titles().items()))
        if not show:
            raise typer.BadParameter("give the new system a name, or --list")
        return
    file = Path(name if name.endswith((".yaml", ".yml")) else f"{name}.yaml")
    out.wrote(*shipped.copy(template, file))
    out.show(None, f"Look at it with: liegeo view {file}")


@app.command()
def check(
    files: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="Model files.")],
    given: Set = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Check model files, and report all of their problems at once.

    Example:  liegeo check models/*.yaml
    """
    from liegeo import dynamics
    from liegeo.errors import LiegeoError, ModelFileError

    out, data = _Output(quiet, json), []
    for file in files:
        problems: list[dict[str, Any]] = []
        try:
            mechanism = _load(file, given)
            # what has no inertia shows only there
            dynamics.forward_dynamics(mechanism.compile(), mechanism.state())
        except ModelFileError as error:
            problems = [
                {"file": p.file, "line": p.line, "column": p.column, "path": p.path, "message": p.message}
                for p in error.problems
            ]
            shown = str(error)
        except (LiegeoError, OSError) as error:
            problems = [{"file": str(file), "line": 0, "column": 0, "path": "", "message": str(error)}]
            shown = f"{file}: {error}"
        data.append({"file": str(file), "ok": not problems, "problems": problems})
        if not json:
            if problems:
                typer.echo(shown, err=True)
            else:
                out.show(None, f"{file}: fine: {mechanism!r}")
    if json:
        out.show(data)
    if not all(entry["ok"] for entry in data):
        raise typer.Exit(1)


@app.command()
def info(model: ModelFile, given: Set = None, quiet: Quiet = False, json: Json = False) -> None:
    """Show what a model consists of: bodies, joints, degrees of freedom, mass, modes.

    Example:  liegeo info models/flexible_arm.yaml
    """
    from liegeo import reports

    data = reports.info(_load(model, given))
    _Output(quiet, json).show(data, *reports.info_tables(data))


@app.command()
def simulate(
    model: ModelFile,
    to: Annotated[
        Path | None, typer.Option("--to", "-o", help="Where results go: .csv, .npz or .parquet. [MODEL.csv]")
    ] = None,
    names: Annotated[
        list[str] | None, typer.Option("--column", "-c", metavar="NAME", help="Which columns; repeatable, wildcards.")
    ] = None,
    end: Annotated[str | None, typer.Option(help="When it ends, as in 5, or '200 ms'.")] = None,
    output: Annotated[str | None, typer.Option(help="Time between samples, or 'steps'.")] = None,
    method: Annotated[str | None, typer.Option(help="An integrator; chosen, if not given.")] = None,
    step: Annotated[str | None, typer.Option(help="Its step, if it is fixed.")] = None,
    rtol: Annotated[float | None, typer.Option(help="Relative tolerance of methods that choose their steps.")] = None,
    accuracy: Annotated[
        str | None, typer.Option(help="Of places and orientations at the end: '1 mm', or '1 mm, 0.1 deg'.")
    ] = None,
    given: Set = None,
    drive: Annotated[
        list[str] | None, typer.Option("--input", metavar="NAME=VALUE", help="A constant input; repeatable.")
    ] = None,
    plot_: Annotated[Path | None, typer.Option("--plot", help="Also draw the columns: .png, .pdf or .svg.")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Also write a 3-D page.")] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="A file from which the run goes on if it is killed.")] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Simulate a model, and write what happened.

    Examples:

      liegeo simulate arm.yaml --end 2 --set arm.length=1.5 -o run.csv

      liegeo simulate arm.yaml -c '*.angle' -c energy --plot run.png --html run.html
    """
    from liegeo import reports
    from liegeo.errors import SimulationError

    target = _target("--to", to if to is not None else Path(model.with_suffix(".csv").name), _TABLES, model)
    if plot_ is not None:
        _target("--plot", plot_, _PICTURES, model)
    if html is not None:
        _target("--html", html, _PAGES, model)
    mechanism = _load(model, given)
    # names that lead nowhere are said now, not after the run
    mechanism.compile().names.match(names or ())
    driven = {name: _driving(mechanism, name, text) for name, text in _assignments(drive, "--input").items()}
    options = {
        "t_end": _seconds("--end", end),
        "output": "steps" if output == "steps" else _seconds("--output", output),
        "method": method,
        "step": _seconds("--step", step),
        "rtol": rtol,
        "accuracy": accuracy,
        "checkpoint": checkpoint,
        "inputs": {**mechanism.experiment.inputs, **driven} if driven else None,
    }
    out = _Output(quiet, json)
    chosen = {key: value for key, value in options.items() if value is not None}
    why, began = "", time.perf_counter()
    with reports.compile_time() as compiled:
        try:
            run = mechanism.simulate(**chosen, progress=False if out.quiet else None)
        except SimulationError as error:
            run, why = error.result, str(error)
    wall = time.perf_counter() - began
    if not run.info.finished and not why:
        why = f"stopped at {run.t[-1]:.6g} s: {run.info.message}"
    files = [run.to(target, names)]
    if plot_ is not None:
        run.plot(*(names or ()), file=plot_)
        files.append(plot_)
    if html is not None:
        files.append(run.view(html))
    data = reports.run_data(run, sum(compiled), wall)
    out.show(data | {"files": [str(file) for file in files]}, *reports.run_table(data))
    out.wrote(*files)
    if why:
        typer.secho(f"Error: {why}", fg="red", err=True)
        raise typer.Exit(ENDED_EARLY)


@app.command()
def study(
    file: Annotated[Path, typer.Argument(metavar="STUDY", help="A study file (.yaml): docs/studies.md.")],
    to: Annotated[
        Path | None, typer.Option("--to", "-o", help="Where the table goes: .csv, .npz or .parquet. [STUDY.csv]")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Where each member is noted when it is done. [STUDY.members beside the table]")
    ] = None,
    members: Annotated[int | None, typer.Option(help="How many members are drawn, in place of the file's.")] = None,
    executor: Annotated[
        str | None, typer.Option(help="here, threads, processes or dask; chosen, if not given.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="How many threads or processes. [all cores]")] = None,
    scheduler: Annotated[str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler, tcp://host:8786.")] = None,
    plot_: Annotated[Path | None, typer.Option("--plot", help="Also draw the outputs: .png, .pdf or .svg.")] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Run a model with many values of its parameters, and write what came of it.

    A study that was killed goes on where it was when the same command is given again.

    Example:  liegeo study spread.yaml -o spread.parquet --plot spread.png
    """
    from liegeo import reports
    from liegeo.studies.study_files import load_study

    target = _target("--to", to if to is not None else Path(file.with_suffix(".csv").name), _TABLES, file)
    if plot_ is not None:
        _target("--plot", plot_, _PICTURES, file)
    found = load_study(file)
    chosen = {"executor": executor, "workers": workers, "scheduler": scheduler, "members": members}
    options = {key: value for key, value in chosen.items() if value is not None}
    where = folder if folder is not None else target.with_suffix(".members")
    out = _Output(quiet, json)
    done = found.run(folder=where, progress=False if out.quiet else None, **options)
    files = [done.save(target)]
    if plot_ is not None:
        done.plot().savefig(plot_)
        files.append(plot_)
    data = reports.study_data(done)
    out.show(data | {"files": [str(file) for file in files]}, *reports.study_table(data))
    out.wrote(*files)
    if not done.finished:
        raise typer.Exit(INTERRUPTED)


@app.command()
def plot(
    sources: Annotated[
        list[Path], typer.Argument(metavar="RESULT...", help="Tables (.csv, .npz, .parquet); several are overlaid.")
    ],
    names: Annotated[
        list[str] | None, typer.Option("--column", "-c", metavar="NAME", help="Which columns; repeatable, wildcards.")
    ] = None,
    to: Annotated[Path | None, typer.Option("--to", "-o", help=".png, .pdf or .svg. [RESULT.png]")] = None,
    spectrum: Annotated[bool, typer.Option("--spectrum", help="Amplitudes over frequency.")] = False,
    title: Annotated[str | None, typer.Option(help="Above the picture.")] = None,
    quiet: Quiet = False,
) -> None:
    """Draw columns of results: over time or frequency, of one run or several.

    Examples:

      liegeo plot run.csv -c '*.angle' -c '*.speed'

      liegeo plot short.csv long.csv -c tip.position.z -o tips.pdf
    """
    from liegeo.results import plot_tables, read_table, read_units

    target = _target("--to", to if to is not None else Path(sources[0].with_suffix(".png").name), _PICTURES)
    tables = {_label(source, sources): read_table(source) for source in sources}
    units = {_label(source, sources): read_units(source) for source in sources}
    plot_tables(tables, *(names or ()), file=target, title=title, spectrum=spectrum, units=units)
    _Output(quiet).wrote(target)


def _label(source: Path, all_of_them: list[Path]) -> str:
    """The name of a file, as short as it is still the only one."""
    alike = [other for other in all_of_them if other.stem == source.stem]
    return source.stem if len(alike) == 1 else str(source)


@app.command()
def view(
    model: ModelFile,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page that plays offline, and stop.")] = None,
    end: Annotated[str | None, typer.Option(help="When the run ends, as in 5, or '200 ms'.")] = None,
    traces: Annotated[
        list[str] | None, typer.Option("--trace", metavar="FRAME", help="Draw the path of a frame; repeatable.")
    ] = None,
    arrows: Annotated[
        list[str] | None, typer.Option("--arrow", metavar="NAME", help="Draw a force or moment; repeatable.")
    ] = None,
    plots: Annotated[
        list[str] | None, typer.Option("--plot", metavar="NAME", help="Draw a column below; repeatable.")
    ] = None,
    magnify: Annotated[float, typer.Option(help="Show deformation this much larger.")] = 1.0,
    speed: Annotated[float | None, typer.Option(help="Of playing, times real time; chosen, if not given.")] = None,
    port: Annotated[int, typer.Option(help="Where the live page is; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
    given: Set = None,
    quiet: Quiet = False,
) -> None:
    """See a model move, live while it is simulated, or in a page of its own.

    Examples:

      liegeo view arm.yaml --trace forearm.tip

      liegeo view arm.yaml --html arm.html --magnify 5
    """
    import webbrowser

    from liegeo import view as pages

    out = _Output(quiet)
    if html is not None:
        _target("--html", html, _PAGES, model)
    mechanism = _load(model, given)
    shown: dict[str, Any] = {"traces": traces or (), "arrows": arrows or (), "plots": plots or ()}
    shown |= {"magnify": magnify, "speed": speed}
    options = {} if end is None else {"t_end": _seconds("--end", end)}
    if html is not None:
        run = mechanism.simulate(**options, progress=False if quiet else None)
        out.wrote(pages.write_page(run, html, **shown))
        return

    def opened(url: str) -> None:
        out.show(None, f"The page is at {url}   Ctrl-C ends it.")
        if browser:
            webbrowser.open(url)

    experiment = mechanism.experiment.options() | options
    pages.serve(mechanism.compile(), mechanism.state(), show=opened, port=port, progress=False, **shown, **experiment)


Lock = Annotated[list[str] | None, typer.Option("--lock", metavar="JOINT", help="Hold a joint; repeatable, wildcards.")]
Settle = Annotated[bool, typer.Option("--settle", help="The same as --about rest.")]
About = Annotated[
    str | None,
    typer.Option(
        "--about",
        metavar="POINT",
        help="The initial state ('initial'), where the model comes to rest with locked joints held ('rest'), or the "
        "steady motion with its initial speeds ('steady'). [initial]",
    ),
]
FrictionAtRest = Annotated[
    str | None,
    typer.Option(
        "--friction",
        metavar="CHOICE",
        help="Coulomb friction of joints at rest: 'leave out' (they move freely), 'tangent' (a damper), 'lock'.",
    ),
]


def _point_to_linearise(
    mechanism: Mechanism, lock: list[str] | None, settle: bool, about: str | None
) -> tuple[Any, Any, Any]:
    """Return the model with joints locked, the state, and what drives it."""
    from liegeo.analysis import operating_point
    from liegeo.errors import InputError

    if settle and about not in (None, "rest"):
        raise InputError(f"--settle is --about rest, and --about is {about}; expected one of the two.")
    compiled, state = mechanism.compile(), mechanism.state()
    inputs = mechanism.experiment.inputs
    locked = _locked(compiled, lock)
    chosen = "rest" if settle else about or "initial"
    state = operating_point(compiled, state, chosen, hold=locked, inputs=inputs)
    return compiled.lock(*locked) if locked else compiled, state, inputs


def _locked(compiled: Any, lock: list[str] | None) -> list[str]:
    """Return the joints behind names and wildcards of --lock."""
    from liegeo.errors import InputError
    from liegeo.model.names import matches

    movable = [name for name in compiled.joints if compiled.group is not None and name in compiled.group.v]
    locked: dict[str, None] = {}
    for pattern in lock or []:
        found = matches(pattern, movable)
        if not found:
            raise InputError(f"--lock {pattern}: no joint is called so; there are {', '.join(movable)}.")
        locked.update(dict.fromkeys(found))
    return list(locked)


@app.command()
def modes(
    model: ModelFile,
    number: Annotated[int, typer.Option("--number", "-n", help="How many to show.")] = 20,
    about: About = None,
    kind: Annotated[
        str, typer.Option("--kind", help="'damped', 'gyroscopic' (without damping), 'undamped' (also without spin).")
    ] = "damped",
    masses: Annotated[bool, typer.Option("--masses", help="Show effective masses in six directions.")] = False,
    html: Annotated[
        Path | None, typer.Option("--view", metavar="FILE.html", help="Write a page that shows them.")
    ] = None,
    lock: Lock = None,
    settle: Settle = False,
    friction: FrictionAtRest = None,
    given: Set = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Show natural frequencies, damping and shapes of a model about a state, driven as its experiment begins.

    Examples:

      liegeo modes models/flexible_arm.yaml --lock '*' --settle --set payload.mass=0 --view arm.html

      liegeo modes models/st21_spacecraft.yaml --set torque=0 --masses
    """
    from liegeo import reports
    from liegeo.analysis.modes import modes as find

    out = _Output(quiet, json)
    if html is not None:
        _target("--view", html, _PAGES, model)
    compiled, state, inputs = _point_to_linearise(_load(model, given), lock, settle, about)
    found = find(compiled, state, inputs, kind=kind, friction=friction)
    data = reports.modes_data(found)
    out.show(data, *reports.modes_table(data, number, masses))
    if html is not None:
        out.wrote(found.view(html))


@app.command()
def campbell(
    model: ModelFile,
    parameter: Annotated[str, typer.Argument(help="A parameter of the model, or the speed of a joint: 'spin.speed'.")],
    start: Annotated[str, typer.Option("--from", metavar="VALUE", help="Its first value, as in 0, or '100 rpm'.")],
    end: Annotated[str, typer.Option("--to", metavar="VALUE", help="Its last value.")],
    points: Annotated[int, typer.Option("--points", help="How many values.", min=2)] = 21,
    number: Annotated[int | None, typer.Option("--number", "-n", help="How many branches; all, if not given.")] = None,
    picture: Annotated[Path | None, typer.Option("--plot", help="Campbell's diagram: .png, .pdf or .svg.")] = None,
    roots: Annotated[Path | None, typer.Option("--roots", help="The root locus: .png, .pdf or .svg.")] = None,
    frame: Annotated[
        str, typer.Option("--frame", help="Modes of rotors as seen from the 'fixed' or 'rotating' frame.")
    ] = ("fixed"),
    about: About = None,
    lock: Lock = None,
    friction: FrictionAtRest = None,
    given: Set = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Follow modes over a parameter or the speed of a rotor: a table, Campbell's diagram and the root locus.

    Example:  liegeo campbell models/flexible_arm.yaml payload.mass --from 0 --to 2 --lock '*' --plot arm.png
    """
    import numpy as np

    from liegeo import reports
    from liegeo.analysis import locus

    out = _Output(quiet, json)
    for option, file in (("--plot", picture), ("--roots", roots)):
        if file is not None:
            _target(option, file, _PICTURES, model)
    values = np.linspace(_number("--from", start), _number("--to", end), points)
    mechanism = _load(model, given)
    options: dict[str, Any] = {"about": about, "number": number, "lock": _locked(mechanism.compile(), lock)}
    options["inputs"] = mechanism.experiment.inputs
    found = locus(mechanism, parameter, values, friction=friction, frame=frame, **options)
    data = reports.locus_data(found)
    out.show(data, *reports.locus_table(data))
    if picture is not None:
        found.plot(picture)
        out.wrote(picture)
    if roots is not None:
        found.plot_roots(roots)
        out.wrote(roots)


@app.command()
def linearize(
    model: ModelFile,
    inputs: Annotated[
        list[str] | None, typer.Option("--input", "-i", metavar="NAME", help="An input; repeatable, wildcards.")
    ] = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option("--output", "-o", metavar="NAME", help="A column of results; repeatable, wildcards."),
    ] = None,
    file: Annotated[Path | None, typer.Option("--mat", metavar="FILE", help="Write a file for MATLAB.")] = None,
    period: Annotated[str | None, typer.Option("--period", help="Discrete time with inputs that are held.")] = None,
    delay: Annotated[str | None, typer.Option("--delay", help="How late inputs come, with --period.")] = None,
    about: About = None,
    lock: Lock = None,
    settle: Settle = False,
    friction: FrictionAtRest = None,
    given: Set = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Write A, B, C and D of a model about its initial state, driven as its experiment begins, and show its poles.

    Example:  liegeo linearize models/double_pendulum.yaml --settle -i top -o lower.end.position.x --mat pendulum.mat
    """
    from liegeo import reports
    from liegeo.analysis import linearise
    from liegeo.errors import InputError

    out = _Output(quiet, json)
    if file is not None:
        _target("--mat", file, (".mat",), model)
    if delay is not None and period is None:
        raise InputError("--delay is for discrete time, expected --period beside it.")
    mechanism = _load(model, given)
    compiled, state, inputs_at = _point_to_linearise(mechanism, lock, settle, about)
    found = linearise(compiled, state, inputs or None, outputs or None, at=inputs_at, friction=friction)
    if period is not None:
        found = found.discrete(_seconds("--period", period) or 0.0, _seconds("--delay", delay) or 0.0)
    data = reports.linear_data(found)
    out.show(data, *reports.linear_table(data))
    if file is not None:
        out.wrote(found.save(file))


@app.command()
def frf(
    model: ModelFile,
    inputs: Annotated[
        list[str] | None, typer.Option("--input", "-i", metavar="NAME", help="An input; repeatable, wildcards.")
    ] = None,
    loads: Annotated[
        list[str] | None,
        typer.Option("--load", metavar="FRAME=X,Y,Z", help="A force in N on a frame or node; repeatable."),
    ] = None,
    torques: Annotated[
        list[str] | None, typer.Option("--torque", metavar="FRAME=X,Y,Z", help="A torque in N m; repeatable.")
    ] = None,
    base: Annotated[
        list[str] | None,
        typer.Option("--base", metavar="AXIS", help="Acceleration of the support: x, y, z, rx, ry, rz; repeatable."),
    ] = None,
    motions: Annotated[
        list[str] | None,
        typer.Option("--motion", metavar="NAME", help="Acceleration of what a motion prescribes; repeatable."),
    ] = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option("--output", "-o", metavar="NAME", help="A column of results; repeatable, wildcards."),
    ] = None,
    first: Annotated[str, typer.Option("--from", metavar="FREQUENCY", help="The lowest frequency.")] = "0.1 Hz",
    last: Annotated[str, typer.Option("--to", metavar="FREQUENCY", help="The highest frequency.")] = "100 Hz",
    points: Annotated[int, typer.Option("--points", help="How many, besides those that crowd at resonances.")] = 200,
    modes: Annotated[int | None, typer.Option("--modes", help="Take so many modes, and a static correction.")] = None,
    modal: Annotated[str | None, typer.Option("--modal-damping", help="Damping ratio of all system modes.")] = None,
    structural: Annotated[
        list[str] | None,
        typer.Option(
            "--structural-damping",
            metavar="[NAME=]FACTOR",
            help="Loss factor of all, or of a body, joint, spring or bushing.",
        ),
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option("--noise", metavar="DENSITY", help="Show RMS values under white noise, one-sided, per Hz."),
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw a Bode diagram.")] = None,
    nyquist: Annotated[
        Path | None, typer.Option("--nyquist", metavar="FILE", help="Draw it in the complex plane.")
    ] = None,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write a table.")] = None,
    about: About = None,
    lock: Lock = None,
    settle: Settle = False,
    friction: FrictionAtRest = None,
    given: Set = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Show the frequency response of a model about a state, driven as its experiment begins.

    Example:  liegeo frf models/flexible_arm.yaml --lock '*' --settle --load payload.tip=0,0,1 -o payload.tip.position.z
    """
    from liegeo import reports
    from liegeo.analysis import driven_model, frequency_grid, frequency_response
    from liegeo.errors import InputError
    from liegeo.io.units import FREQUENCY

    out = _Output(quiet, json)
    for option, file, suffixes in (
        ("--plot", plot, _PICTURES),
        ("--nyquist", nyquist, _PICTURES),
        ("--csv", csv, (".csv",)),
    ):
        if file is not None:
            _target(option, file, suffixes, model)
    span = _number("--from", first, FREQUENCY), _number("--to", last, FREQUENCY)
    if points < 2:
        raise InputError(f"--points is {points}, expected at least 2.")
    excited = _excitations(inputs, loads, torques, base, motions)
    losses = _loss_factors(structural)
    ratio = None if modal is None else _number("--modal-damping", modal)
    compiled, state, inputs_at = _point_to_linearise(_load(model, given), lock, settle, about)
    what = compiled, state, excited, outputs or None
    asked: dict[str, Any] = {"at": inputs_at, "friction": friction, "modal_damping": ratio}
    found = frequency_response(
        *what,
        frequencies=frequency_grid(driven_model(*what, **asked), *span, points),
        method="direct" if modes is None else "modal",
        modes=modes,
        structural_damping=losses,
        **asked,
    )
    data = reports.response_data(found, None if noise is None else found.psd(noise))
    out.show(data, *reports.response_table(data))
    for file, write in ((plot, found.bode), (nyquist, found.nyquist), (csv, found.to_csv)):
        if file is not None:
            write(file)
            out.wrote(file)


def _excitations(
    inputs: list[str] | None,
    loads: list[str] | None,
    torques: list[str] | None,
    base: list[str] | None,
    motions: list[str] | None,
) -> list[Any] | None:
    """Return what options ask to excite, or None if they do not."""
    from liegeo.analysis import BaseMotion, DrivenMotion, Load

    found: list[Any] = list(inputs or [])
    found += [Load(at=at, force=xyz, name=f"force at {at}") for at, xyz in _vectors("--load", loads)]
    found += [Load(at=at, torque=xyz, name=f"torque at {at}") for at, xyz in _vectors("--torque", torques)]
    found += [BaseMotion(axis=axis) for axis in base or []]
    found += [DrivenMotion(motion=motion) for motion in motions or []]
    return found or None


def _loss_factors(given: list[str] | None) -> float | dict[str, float] | None:
    """Return the loss factor of all, or those of parts by name, of each [NAME=]FACTOR."""
    factors = [text if "=" in text else f"*={text}" for text in given or []]
    losses = {
        name: _number(f"--structural-damping {name}", text)
        for name, text in _assignments(factors, "--structural-damping", "boom=0.02").items()
    }
    return losses.get("*", losses or None)


def _vectors(option: str, given: list[str] | None) -> list[tuple[str, tuple[float, ...]]]:
    """Return name and three numbers of each FRAME=X,Y,Z."""
    found = []
    for text in given or []:
        ((name, numbers),) = _assignments([text], option, "payload.tip=0,0,1").items()
        parts = numbers.split(",")
        if len(parts) != 3:
            raise typer.BadParameter(
                f"'{text}' has {len(parts)} numbers, expected three as in {option} payload.tip=0,0,1"
            )
        found.append((name, tuple(_number(f"{option} {name}", part) for part in parts)))
    return found


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(help="A model (.yaml, .urdf, .xml) or a table (.csv, .npz, .parquet).")],
    target: Annotated[Path, typer.Argument(help="A model file (.yaml), or a table.")],
    base: Annotated[str | None, typer.Option(help="URDF: fixed to the world, or free. [fixed]")] = None,
    package: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FOLDER", help="URDF: where package://NAME/… is; repeatable."),
    ] = None,
    actuators: Annotated[
        bool, typer.Option("--actuators", help="URDF: a motor on every joint that turns or slides.")
    ] = False,
    no_mimic: Annotated[bool, typer.Option("--no-mimic", help="URDF: mimic joints move on their own.")] = False,
    no_limits: Annotated[bool, typer.Option("--no-limits", help="URDF, MJCF: joints have no stops.")] = False,
    no_merge: Annotated[
        bool, typer.Option("--no-merge-fixed", help="URDF: links on fixed joints stay bodies.")
    ] = False,
    no_meshes: Annotated[bool, typer.Option("--no-meshes", help="URDF: open no files of meshes.")] = False,
    given: Set = None,
    quiet: Quiet = False,
) -> None:
    """Turn a URDF or MJCF file into a model file, or a table into another kind of table.

    Examples:

      liegeo convert robot.urdf robot.yaml --base free --actuators

      liegeo convert run.csv run.parquet
    """
    from liegeo.errors import InputError

    out = _Output(quiet)
    _target("TARGET", target, _TABLES if source.suffix in _TABLES else _MODELS, source)
    packages = _assignments(package, "--package", "robot_description=../robot")
    for name, folder in packages.items():
        if not Path(folder).is_dir():
            raise InputError(f"--package {name}: there is no folder {folder}.")
    # what was asked for: the option, and what read_urdf calls it
    asked: dict[str, tuple[str, Any]] = {"--base": ("base", base)} if base is not None else {}
    asked |= {"--package": ("packages", packages)} if packages else {}
    asked |= {"--actuators": ("actuators", True)} if actuators else {}
    asked |= {"--no-mimic": ("mimic", False)} if no_mimic else {}
    asked |= {"--no-limits": ("limits", False)} if no_limits else {}
    asked |= {"--no-merge-fixed": ("merge_fixed", False)} if no_merge else {}
    asked |= {"--no-meshes": ("meshes", False)} if no_meshes else {}
    suffix = source.suffix.lower()
    wrong = [option for option in asked if suffix != ".urdf" and (option != "--no-limits" or suffix not in _MJCF)]
    if wrong:
        raise InputError(f"convert: {source.name} is no URDF file, which alone takes {', '.join(wrong)}.")
    if source.suffix in _TABLES:
        from liegeo.results import convert_table

        out.wrote(convert_table(source, target))
        return
    import liegeo as lg

    out.wrote(lg.save(_load(source, given, **dict(asked.values())), target))


@app.command()
def schema(
    to: Annotated[Path | None, typer.Option("--to", "-o", help="A file; printed, if not given.")] = None,
) -> None:
    """Print the JSON schema of model files, with which editors complete and check them.

    Example:  liegeo schema -o model.schema.json
    """
    import json

    from liegeo.io import schema as make
    from liegeo.results.tables import write_whole

    text = json.dumps(make(), indent=2, ensure_ascii=False) + "\n"
    if to is None:
        typer.echo(text, nl=False)
    else:
        _Output().wrote(write_whole(to, lambda file: file.write(text.encode())))


@app.command()
def bench(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[MODEL]...", help="Model files; those of liegeo, if none.")
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Measure how fast this machine is: a call of the dynamics, and each model's own experiment.

    Example:  liegeo bench models/flexible_arm.yaml
    """
    from liegeo import reports
    from liegeo.io import shipped

    out, rows = _Output(quiet, json), []
    for file in files or shipped.paths().values():
        with out.console.status(f"{file.stem}"):
            rows.append(reports.measure(_load(file)))
    out.show(rows, reports.bench_table(rows))


# ---- FMUs and co-simulation

fmu = typer.Typer(
    help="Make, show, check and run FMUs (co-simulation: FMI 2.0; native ones also FMI 3.0).", no_args_is_help=True
)
app.add_typer(fmu, name="fmu")

FMUFile = Annotated[Path, typer.Argument(metavar="FMU", help="An FMU.")]


@fmu.command("build")
def fmu_build(
    model: ModelFile,
    to: Annotated[Path | None, typer.Option("--to", "-o", help="Where to. [NAME.fmu]")] = None,
    step: Annotated[str | None, typer.Option(help="The longest internal step, as in '1 ms'.")] = None,
    method: Annotated[str | None, typer.Option(help="An integrator; chosen, if not given.")] = None,
    interval: Annotated[str | None, typer.Option(help="The usual communication step.")] = None,
    bundle: Annotated[bool, typer.Option(help="Put liegeo itself into the FMU.")] = True,
    native: Annotated[bool, typer.Option("--native", help="An FMU with no Python inside.")] = False,
    source: Annotated[
        bool, typer.Option("--source", help="With --native: the FMU as C, for machines that compile it themselves.")
    ] = False,
    fmi: Annotated[int, typer.Option(help="The version of FMI: 2, or 3 with --native.", min=2, max=3)] = 2,
    platform: Annotated[
        list[str] | None,
        typer.Option(
            help="Of a native FMU: linux64, win64, darwin64, aarch64-linux; may be repeated. [all; with --source: none]"
        ),
    ] = None,
    given: Set = None,
    quiet: Quiet = False,
) -> None:
    """Make an FMU of a model.

    With --native it has compiled code in place of Python; its first build compiles a library for each platform.
    Parameters that make the modes of flexible bodies, or change what the model consists of, are constants of it, and
    are listed.

    Example:  liegeo fmu build models/flexible_arm.yaml -o arm.fmu
    """
    import fmu_export

    if platform and not native:
        raise typer.BadParameter(
            f"{' '.join(platform)!r} chooses libraries of native FMUs, and this FMU has Python inside: add --native.",
            param_hint="--platform",
        )
    if source and not native:
        raise typer.BadParameter(
            "only native FMUs can be written as C, and this FMU has Python inside: add --native.", param_hint="--source"
        )
    if native and not bundle:
        raise typer.BadParameter("a native FMU has no liegeo inside to leave out.", param_hint="--no-bundle")
    if fmi == 3 and not native:
        raise typer.BadParameter(
            "FMI 3.0 is offered for native FMUs, and this FMU has Python inside: add --native.", param_hint="--fmi"
        )
    constants: dict[str, str] = {}
    with _library_progress(quiet or not native) as progress:
        made = fmu_export.build(
            model,
            to,
            step=_seconds("--step", step),
            method=method,
            interval=_seconds("--interval", interval),
            bundle=bundle,
            native=native,
            source=source,
            fmi=fmi,
            platforms=platform,
            progress=progress,
            constants=constants.update,
            set=_assignments(given, "--set"),
        )
    output = _Output(quiet)
    output.wrote(made)
    by_reason: dict[str, list[str]] = {}
    for name, why in constants.items():
        by_reason.setdefault(why, []).append(name)
    for why, names in by_reason.items():
        output.show(None, f"constant in this FMU, because {why}: {', '.join(names)}")


@contextlib.contextmanager
def _library_progress(quiet: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """Show how far the compilation of each library is; nothing, if they come from the cache."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield _tell_of_libraries
        return
    from rich.console import Console
    from rich.progress import Progress, TaskID

    tasks: dict[str, TaskID] = {}

    def show(platform: str, done: int, of: int) -> None:
        if platform not in tasks:
            tasks[platform] = bar.add_task(f"compiling the library for {platform}", total=of)
        bar.update(tasks[platform], completed=done)

    with Progress(console=Console(stderr=True), transient=True) as bar:
        yield show


def _tell_of_libraries(platform: str, done: int, of: int) -> None:
    """Print a line where the compilation of a library begins, at each quarter, and where it ends."""
    if done == 1 or 4 * done // of > 4 * (done - 1) // of:
        typer.echo(f"compiling the library for {platform}: {done} of {of} parts", err=True)


@fmu.command("info")
def fmu_info(file: FMUFile, json: Json = False) -> None:
    """Show the variables of an FMU, what it can and what it needs.

    Example:  liegeo fmu info arm.fmu
    """
    import dataclasses

    import fmu_export

    found = fmu_export.info(file)
    _Output(json=json).show(dataclasses.asdict(found), str(found))


@fmu.command("validate")
def fmu_validate(
    files: Annotated[list[Path], typer.Argument(metavar="FMU...", help="FMUs, liegeo's or not.")],
    timeout: Annotated[str | None, typer.Option(help="How long one check may take. [300 s]")] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Check FMUs: their descriptions, and by driving them: dependencies, rollback, reset, determinism.

    Example:  liegeo fmu validate arm.fmu
    """
    import dataclasses

    import fmu_export

    out = _Output(quiet, json)
    limit: dict[str, Any] = {} if timeout is None else {"timeout": _seconds("--timeout", timeout)}
    reports = [fmu_export.validate(file, **limit) for file in files]
    out.show([dataclasses.asdict(report) for report in reports], *map(str, reports))
    if not all(report.ok for report in reports):
        if out.quiet and not json:
            typer.echo("\n".join(str(report) for report in reports if not report.ok), err=True)
        raise typer.Exit(1)


@fmu.command("run")
def fmu_run(
    file: FMUFile,
    to: Annotated[
        Path | None, typer.Option("--to", "-o", help="Where results go: .csv, .npz or .parquet. [FMU.csv]")
    ] = None,
    names: Annotated[
        list[str] | None, typer.Option("--column", "-c", metavar="NAME", help="Which outputs; repeatable, wildcards.")
    ] = None,
    end: Annotated[str | None, typer.Option(help="When it ends.")] = None,
    interval: Annotated[str | None, typer.Option(help="The communication step.")] = None,
    given: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter or start value; repeatable.")
    ] = None,
    drive: Annotated[
        list[str] | None, typer.Option("--input", metavar="NAME=VALUE", help="A constant input; repeatable.")
    ] = None,
    kind: Annotated[
        str, typer.Option(help="co-simulation or 'model exchange'. [co-simulation, if the FMU has that]")
    ] = "",
    solver: Annotated[
        str | None, typer.Option(help="Of model exchange: rk-54, rk-853, or radau-5 for stiff systems. [rk-54]")
    ] = None,
    tolerance: Annotated[float | None, typer.Option(help="Of the solver, relative. [the FMU's, or 1e-6]")] = None,
    realtime: Annotated[
        bool, typer.Option("--realtime", help="At the speed of the clock; shows what steps cost, the worst too.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Run an FMU on its own.

    With --realtime each communication step waits for its time, and what it costs is measured.

    Example:  liegeo fmu run arm.fmu --end 2 --input shoulder_motor.input=0.2
    """
    import fmu_export
    from fmu_export.cosim.fmu_file import read_description
    from fmu_export.exchange_solver import ExchangeSolver
    from liegeo.errors import SimulationError
    from liegeo.results.tables import write_table

    target = _table_file(to, file)
    described = read_description(file, kind) if file.is_file() else None
    asked = {"method": solver, "tolerance": tolerance}
    chosen: dict[str, Any] = {key: value for key, value in asked.items() if value is not None}
    variables = described.variables if described is not None else {}
    report = why = ""
    arguments: dict[str, Any] = {
        "interval": _seconds("--interval", interval),
        "values": _typed("--set", given, variables),
        "inputs": _typed("--input", drive, variables),
        "outputs": names or ("*",),
        "kind": kind,
        "solver": ExchangeSolver(**chosen) if chosen else None,
    }
    try:
        with _heard("liegeo.fmu"):
            if realtime:
                paced = fmu_export.realtime(file, _seconds("--end", end), **arguments)
                table, report = paced.table, str(paced)
            else:
                table = fmu_export.run(file, _seconds("--end", end), **arguments)
    except SimulationError as error:
        if error.result is None:
            raise
        table, why = error.result, str(error)
    units = {"time": "s"} | {name: variables[name].unit for name in table.dtype.names or () if name in variables}
    output = _Output(quiet)
    output.wrote(write_table(target, table, units, described.model_name if described is not None else ""))
    if report:
        output.show(None, report)
    if why:
        typer.secho(f"Error: {why}", fg="red", err=True)
        raise typer.Exit(ENDED_EARLY)


def _table_file(to: Path | None, source: Path) -> Path:
    """Where a table goes: into the working folder, by the name of the source, if nobody says."""
    return _target("--to", to if to is not None else Path(source.with_suffix(".csv").name), _TABLES, source)


def _typed(option: str, given: list[str] | None, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return values for variables of FMUs in the units of the variables; a value without a variable stays as it is."""
    from fmu_export.cosim.system import from_text
    from liegeo.errors import InputError

    out: dict[str, Any] = {}
    for name, text in _assignments(given, option).items():
        try:
            out[name] = from_text(variables[name], text) if name in variables else text
        except InputError as error:
            raise InputError(f"{option} {name} {error}.") from None
    return out


@contextlib.contextmanager
def _heard(name: str) -> Iterator[None]:
    """What is logged there as a warning, some lines, one each; errors are told by who raises them."""
    import logging

    class Lines(logging.Handler):
        left = 10

        def emit(self, record: logging.LogRecord) -> None:
            if record.levelno == logging.WARNING and self.left >= 0:
                said = record.getMessage().splitlines() or [""]
                self.left -= 1
                who = record.name.removeprefix(name).lstrip(".")
                line = f"{who}: {said[0]}" if who else said[0]
                typer.echo(line if self.left >= 0 else "… and more warnings", err=True)

    logger, handler = logging.getLogger(name), Lines()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


@app.command()
def cosim(
    system: Annotated[Path, typer.Argument(metavar="SYSTEM", help="A system of FMUs: .yaml or .ssp.")],
    to: Annotated[
        Path | None, typer.Option("--to", "-o", help="Where results go: .csv, .npz or .parquet. [SYSTEM.csv]")
    ] = None,
    end: Annotated[str | None, typer.Option(help="When it ends.")] = None,
    step: Annotated[str | None, typer.Option(help="The communication step.")] = None,
    algorithm: Annotated[str | None, typer.Option(help="jacobi or gauss-seidel.")] = None,
    extrapolation: Annotated[str | None, typer.Option(help="Of inputs within a step: hold or linear.")] = None,
    iterations: Annotated[int | None, typer.Option(help="How often a step is repeated, from saved states.")] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="Choose steps so that the relative error of the run is about this.")
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FMU.NAME=VALUE", help="A parameter or start value; repeatable."),
    ] = None,
    names: Annotated[
        list[str] | None, typer.Option("--column", "-c", metavar="NAME", help="What to draw; repeatable, wildcards.")
    ] = None,
    plot_: Annotated[Path | None, typer.Option("--plot", help="Also draw: .png, .pdf or .svg.")] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write the system, for other masters (.ssp) or as text (.yaml); runs nothing.")
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Run several FMUs together.

    Examples:

      liegeo cosim loop.yaml --step '1 ms' --plot loop.png

      liegeo cosim loop.yaml --save loop.ssp
    """
    import dataclasses

    from fmu_export.cosim import load_system, save_system
    from fmu_export.cosim.cosim_result import matching
    from liegeo.errors import SimulationError
    from liegeo.results.tables import write_table

    out, target = _Output(quiet, json), _table_file(to, system)
    if plot_ is not None:
        _target("--plot", plot_, _PICTURES)
    with _heard("liegeo.cosim"):
        made = load_system(system)
    # names that lead nowhere are said now, not after the run
    matching("--column", names or (), list(made.recorded()))
    start = _typed("--set", given, made.variables)
    asked = {
        "algorithm": algorithm,
        "extrapolation": extrapolation,
        "iterations": iterations,
        "tolerance": tolerance,
    }
    options: dict[str, Any] = {key: value for key, value in asked.items() if value is not None}
    times = _seconds("--end", end), _seconds("--step", step)
    if save is not None:
        chosen = made.with_start(start) if start else made
        out.wrote(save_system(chosen.changed(experiment=chosen.planned(*times, **options)), save))
        return
    why = ""
    try:
        with _heard("liegeo.cosim"):
            result = made.simulate(*times, set=start, progress=False if out.quiet else None, **options)
    except SimulationError as error:
        result, why = error.result, str(error)
        if not len(result):
            raise
    if result.info.message.startswith("interrupted"):
        why = result.info.message
    files = [write_table(target, result.table, result.units, result.name)]
    if plot_ is not None:
        result.plot(*(names or ("*",)), file=plot_)
        files.append(plot_)
    # what went wrong stands below
    data = {"name": result.name, "samples": len(result), **dataclasses.asdict(result.info)}
    data["files"] = [str(file) for file in files]
    out.show(data, str(result).removesuffix(f"\n  {result.info.message}") if why else str(result))
    out.wrote(*files)
    if why:
        typer.secho(f"Error: {why}", fg="red", err=True)
        raise typer.Exit(ENDED_EARLY)


def _end_cleanly() -> None:
    """Let the signals of a closed terminal and of a system that shuts down do what Ctrl-C does."""
    import signal

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, interrupt)


def main() -> None:
    """Entry point of the `liegeo` command: errors are explained without a traceback, unless --debug is given."""
    arguments = [a for a in sys.argv[1:] if a != "--debug"]
    debug = len(arguments) < len(sys.argv) - 1
    from liegeo.errors import LiegeoError

    _end_cleanly()
    # Modules that are being loaded make many objects and no garbage: looking for it as often as Python does by itself
    # takes a tenth of a short run.
    gc.set_threshold(100_000)
    try:
        app(args=arguments, prog_name="liegeo")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except _PipeClosedError:
        # what is left in the buffer has nowhere to go, which Python would complain about at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (LiegeoError, OSError) as error:
        if debug:
            raise
        typer.secho(f"Error: {error}", fg="red", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
