"""The command line: `liegeo …`.  It parses, calls, prints; whatever it calls is a function that Python can call too.

Exit codes: 0 success, 1 an error that liegeo explains, 2 a command line that cannot be understood.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from liegeo._version import __version__

app = typer.Typer(
    name="liegeo",
    help="Simulate rigid and flexible multibody systems on their Lie group.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"liegeo {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Options that stand before a command."""


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--folder", "-o", help="Where to write the picture and the data.")] = Path(
        "liegeo-demo"
    ),
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only what went wrong.")] = False,
) -> None:
    """Turn a free top with four methods and measure each against the exact motion.

    Example:  liegeo demo --folder /tmp/top
    """
    from rich.console import Console

    from liegeo import demo as job

    console = Console(quiet=quiet)
    console.print(job.INTRODUCTION)
    with console.status("compiling kernels: once, then they come from a cache"):
        seconds = job.compile_kernels()
    console.print(f"Kernels ready in {seconds:.1f} s.\n")
    with console.status("integrating"):
        study = job.run()
    console.print(job.table(study))
    for file in job.write(study, folder):
        console.print(f"wrote {file}", highlight=False, soft_wrap=True)
    console.print(job.WHAT_NEXT)


def main() -> None:
    """Entry point of the `liegeo` command: errors are explained without a traceback, unless --debug is given."""
    arguments = [a for a in sys.argv[1:] if a != "--debug"]
    debug = len(arguments) < len(sys.argv) - 1
    from liegeo.errors import LiegeoError

    try:
        app(args=arguments, prog_name="liegeo")
    except (LiegeoError, OSError) as error:
        if debug:
            raise
        typer.secho(f"Error: {error}", fg="red", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
