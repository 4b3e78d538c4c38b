"""Make the CalculiX test data: python make.py, with `ccx` (CalculiX 2.20, Debian calculix-ccx) on the path.

A solid cantilever of C3D20 and, for the short one, C3D8 elements.  Each deck is run twice: with SOLVER=MATRIXSTORAGE,
which gives .sti, .mas and .dof, and with the usual eigensolver, whose .dat is kept as the reference.  What is exported
is free; the short one also as `held`, to see what is missing then.
"""

from __future__ import annotations

import gzip
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
LENGTH = 1.0
MATERIAL = "*MATERIAL, NAME=ALU\n*ELASTIC\n7.0E10, 0.33\n*DENSITY\n2700.\n*SOLID SECTION, ELSET=ALL, MATERIAL=ALU\n"
# corners of a hexahedron, then the middles of its edges, in the order of C3D20
CORNERS = ((0, 0, 0), (2, 0, 0), (2, 2, 0), (0, 2, 0), (0, 0, 2), (2, 0, 2), (2, 2, 2), (0, 2, 2))
MIDDLES = (
    *((1, 0, 0), (2, 1, 0), (1, 2, 0), (0, 1, 0), (1, 0, 2), (2, 1, 2)),
    *((1, 2, 2), (0, 1, 2), (0, 0, 1), (2, 0, 1), (2, 2, 1), (0, 2, 1)),
)


def mesh(kind: str, nx: int, ny: int, nz: int, width: float, height: float) -> tuple[str, list[int]]:
    """*NODE and *ELEMENT blocks, and the nodes at x = 0."""
    # not C3D8I: CalculiX gives its incompatible modes rows of their own, at nodes that the deck does not have
    local = CORNERS if kind == "C3D8" else CORNERS + MIDDLES
    numbers: dict[tuple[int, int, int], int] = {}
    elements = []
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                keys = [(2 * i + a, 2 * j + b, 2 * k + c) for a, b, c in local]
                # numbers with gaps, so that a reader cannot take a number for an index
                elements.append([numbers.setdefault(key, 10 + 3 * len(numbers)) for key in keys])
    lines = ["*NODE, NSET=NALL"]
    for (i, j, k), number in numbers.items():
        x, y, z = LENGTH * i / (2 * nx), width * (j / (2 * ny) - 0.5), height * (k / (2 * nz) - 0.5)
        lines.append(f"{number}, {x:.10g}, {y:.10g}, {z:.10g}")
    lines.append(f"*ELEMENT, TYPE={kind}, ELSET=ALL")
    for n, nodes in enumerate(elements, 1):
        text = [str(n), *map(str, nodes)]
        lines += [", ".join(text[:11]) + ("," if len(text) > 11 else "")] + (
            [", ".join(text[11:])] if text[11:] else []
        )
    return "\n".join(lines) + "\n", sorted(n for (i, _, _), n in numbers.items() if i == 0)


def run(folder: Path, name: str, deck: str) -> None:
    (folder / f"{name}.inp").write_text(deck)
    subprocess.run(["ccx", name], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def keep(file: Path, packed: bool) -> None:
    if packed:
        (HERE / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), 9, mtime=0))
    else:
        shutil.copy(file, HERE)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for beam, kind, size in (
            ("slender", "C3D20", (24, 1, 1, 0.04, 0.032)),
            ("beam", "C3D20", (8, 2, 1, 0.1, 0.08)),
            ("short", "C3D8", (4, 1, 1, 0.1, 0.08)),
        ):
            text, held = mesh(kind, *size)
            boundary = "*BOUNDARY\n" + "".join(f"{n}, 1, 3\n" for n in held)
            export = "*STEP\n*FREQUENCY, SOLVER=MATRIXSTORAGE\n12\n*END STEP\n"
            solve = "*STEP\n*FREQUENCY\n12\n*END STEP\n"
            # the nodes of the short one are in another file
            (folder / f"{beam}_mesh.inc").write_text(text)
            nodes = f"*INCLUDE, INPUT={beam}_mesh.inc\n" if beam == "short" else text
            run(folder, beam, nodes + MATERIAL + export)
            run(folder, f"{beam}_free", nodes + MATERIAL + solve)
            for suffix in (".inp", ".dof", ".sti", ".mas", "_free.dat"):
                keep(folder / f"{beam}{suffix}", beam != "short" and suffix in (".sti", ".mas"))
            if beam == "beam":
                # not of the short one: 12 of 48 eigenvalues are too many for ccx, which then prints zeros
                run(folder, "beam_held", nodes + MATERIAL + boundary + solve)
                keep(folder / "beam_held.dat", False)
        keep(folder / "short_mesh.inc", False)
        # what a held export looks like: rows are missing
        run(folder, "held", nodes + MATERIAL + boundary + export)
        for suffix in (".inp", ".dof", ".sti", ".mas"):
            keep(folder / f"held{suffix}", suffix in (".sti", ".mas"))


if __name__ == "__main__":
    main()
