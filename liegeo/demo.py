"""What `liegeo demo` does: a free symmetric top, whose exact motion is known, integrated in four ways.

With J = diag(J₁, J₁, J₃), spatial angular momentum H (constant), attitude R:

    Ṙ = R ω̂(R),    ω(R) = J⁻¹ Rᵀ H,                                     (1)
    R(t) = exp(t H/J₁) R₀ exp(t c e₃),    c = (1/J₃ − 1/J₁) e₃·R₀ᵀH.    (2)

(2) follows from (1): ω = RᵀH/J₁ + c e₃, where e₃·RᵀH does not change.
"""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import InputError
from liegeo.lie import SO3

Array = NDArray[np.float64]
Field = Callable[[Array], Array]

INERTIA = np.array([1.0, 1.0, 1.6])
MOMENTUM = np.array([0.9, 0.0, 2.2])
START = SO3.exp([0.5, 0.3, 0.0])
END = 4.0
STEPS = (25, 50, 100, 200, 400)

INTRODUCTION = """\
[bold]A free top, turned four ways[/bold]
A spinning disc without friction wobbles for ever; its exact attitude is a product of two exponentials.
Each method takes the same steps over 4 s. The error is the angle to the exact attitude at the end;
the last column says how far the result is from being a rotation at all.
"""

WHAT_NEXT = """
[bold]Next:[/bold] read the method's ten lines in liegeo/demo.py; try the groups from Python:
  >>> from liegeo.lie import SE3
  >>> SE3.exp([0, 0, 1.57, 1, 0, 0])
"""


@dataclass(frozen=True)
class Row:
    """One run: how it was made and how it ended."""

    method: str
    steps: int
    error: float
    order: float | None
    off_group: float


@dataclass(frozen=True)
class Study:
    rows: tuple[Row, ...]
    #: Times and attitudes of the last run of the best method, and the exact attitudes at those times.
    t: Array
    R: Array
    R_exact: Array


def angular_velocity(R: Array) -> Array:
    """ω(R) of (1)."""
    return (R.T @ MOMENTUM) / INERTIA


def exact(t: Array) -> Array:
    """R(t) of (2)."""
    c = (1.0 / INERTIA[2] - 1.0 / INERTIA[0]) * (START.T @ MOMENTUM)[2]
    spin = np.multiply.outer(t, [0.0, 0.0, c])
    precession = np.multiply.outer(t, MOMENTUM / INERTIA[0])
    return SO3.compose(SO3.exp(precession), SO3.compose(START, SO3.exp(spin)))


def matrix_rk4(field: Field, R: Array, h: float) -> Array:
    """Classical Runge–Kutta on the nine entries, as if they were independent numbers."""

    def slope(R: Array) -> Array:
        return R @ SO3.hat(field(R))

    k1 = slope(R)
    k2 = slope(R + 0.5 * h * k1)
    k3 = slope(R + 0.5 * h * k2)
    k4 = slope(R + h * k3)
    result: Array = R + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return result


def lie_euler(field: Field, R: Array, h: float) -> Array:
    """R ⊕ h ω(R)."""
    return SO3.retract(R, h * field(R))


def lie_midpoint(field: Field, R: Array, h: float) -> Array:
    """R ⊕ h ω(R ⊕ ½h ω(R))."""
    return SO3.retract(R, h * field(SO3.retract(R, 0.5 * h * field(R))))


def rkmk4(field: Field, R: Array, h: float) -> Array:
    """Munthe-Kaas: classical Runge–Kutta for V in R exp(V), with V̇ = dexpinv_right(V) ω."""

    def slope(V: Array) -> Array:
        return SO3.dexpinv_right_apply(V, field(SO3.retract(R, V)))

    k1 = field(R)
    k2 = slope(0.5 * h * k1)
    k3 = slope(0.5 * h * k2)
    k4 = slope(h * k3)
    return SO3.retract(R, h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4))


METHODS: tuple[tuple[str, Callable[[Field, Array, float], Array]], ...] = (
    ("Runge–Kutta 4 on the matrix", matrix_rk4),
    ("Lie–Euler", lie_euler),
    ("Lie midpoint", lie_midpoint),
    ("Munthe-Kaas 4", rkmk4),
)


def compile_kernels() -> float:
    """Compile or load what `run` needs; the seconds it took."""
    start = time.perf_counter()
    for _, step in METHODS:
        step(angular_velocity, START, 0.1)
    SO3.distance(exact(np.zeros(1)), START)
    return time.perf_counter() - start


def run() -> Study:
    """Every method with every number of steps."""
    rows: list[Row] = []
    path = np.empty(0)
    for name, step in METHODS:
        previous: float | None = None
        for n in STEPS:
            path = np.empty((n + 1, 3, 3))
            path[0] = START
            for i in range(n):
                path[i + 1] = step(angular_velocity, path[i], END / n)
            end = path[-1]
            # A matrix off the group is judged by the rotation next to it.
            error = float(SO3.distance(SO3.project(end), exact(np.array(END))))
            order = None if previous is None else float(np.log2(previous / error))
            off_group = float(np.abs(end.T @ end - np.eye(3)).max())
            rows.append(Row(name, n, error, order, off_group))
            previous = error
    t = np.linspace(0.0, END, STEPS[-1] + 1)
    return Study(tuple(rows), t, path, exact(t))


def table(study: Study) -> Any:
    from rich.table import Table

    result = Table("method", "steps", "error [rad]", "order", "|RᵀR − I|", title="The same top after 4 s")
    last = None
    for row in study.rows:
        if last is not None and row.method != last:
            result.add_section()
        order = "" if row.order is None else f"{row.order:.2f}"
        shown = row.method if row.method != last else ""
        result.add_row(shown, str(row.steps), f"{row.error:.2e}", order, f"{row.off_group:.0e}")
        last = row.method
    for column in result.columns[1:]:
        column.justify = "right"
    return result


def write(study: Study, folder: Path) -> list[Path]:
    """Write the motion as CSV and the picture; each file appears whole or not at all."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--folder: {folder} is a file, expected a folder. Give another name.")
    folder.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["time", *(f"R{i + 1}{j + 1}" for i in range(3) for j in range(3)), "error"])
    errors = SO3.distance(study.R, study.R_exact)
    writer.writerows([t, *R.ravel(), e] for t, R, e in zip(study.t, study.R, errors, strict=True))
    return [
        _replace(folder / "top.csv", text.getvalue().encode()),
        _replace(folder / "top.png", _picture(study)),
    ]


def _replace(path: Path, content: bytes) -> Path:
    temporary = path.with_suffix(path.suffix + ".tmp")
    temporary.write_bytes(content)
    temporary.replace(path)
    return path


def _picture(study: Study) -> bytes:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.6), layout="constrained")
    left = figure.add_subplot(1, 2, 1, projection="3d")
    fine = exact(np.linspace(0.0, END, 1000))[:, :, 2]
    coarse = study.R[:: len(study.R) // 40, :, 2]
    left.plot(*fine.T, color="0.5", linewidth=1.5, label="exact")
    left.plot(*coarse.T, "o", color="C3", markersize=3, label=METHODS[-1][0])
    left.plot(*np.array([np.zeros(3), MOMENTUM / np.linalg.norm(MOMENTUM)]).T, color="C0", label="angular momentum")
    left.set_title("Path of the top's axis")
    left.set_box_aspect((1, 1, 1))
    left.set(xlim=(-0.6, 0.9), ylim=(-0.75, 0.75), zlim=(0.0, 1.1), xlabel="x", ylabel="y", zlabel="z")
    left.set(xticks=(-0.5, 0.0, 0.5), yticks=(-0.5, 0.0, 0.5), zticks=(0.0, 0.5, 1.0))
    left.legend(loc="upper left", fontsize="small")

    right = figure.add_subplot(1, 2, 2)
    for name, _ in METHODS:
        rows = [row for row in study.rows if row.method == name]
        right.loglog([END / row.steps for row in rows], [row.error for row in rows], "o-", markersize=4, label=name)
    right.set(xlabel="step [s]", ylabel="angle to the exact attitude after 4 s [rad]", title="Error against step")
    right.grid(True, which="both", alpha=0.25)
    right.legend(fontsize="small")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    return buffer.getvalue()
