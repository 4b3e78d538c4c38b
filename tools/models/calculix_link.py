"""Make models/data/link.*, the matrices of models/calculix_link.yaml: python tools/models/calculix_link.py

Needs CalculiX on the path (`ccx`, Debian's calculix-ccx; made with 2.20).  A strip of steel along x, 1 m × 60 mm × 4 mm
in 10 × 1 × 1 elements C3D20, free; E = 210 GPa, nu = 0.3, 7850 kg/m³.  CalculiX runs twice: with
SOLVER=MATRIXSTORAGE, which writes stiffness, mass and the order of their rows, and clamped at x = 0 with its own
eigensolver, whose frequencies are kept in link.json for the test.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "models" / "data"
LENGTH, WIDTH, HEIGHT, COUNT = 1.0, 0.06, 0.004, 10
MATERIAL = "*MATERIAL, NAME=STEEL\n*ELASTIC\n2.1E11, 0.3\n*DENSITY\n7850.\n*SOLID SECTION, ELSET=ALL, MATERIAL=STEEL\n"
# corners, then middles of edges, by half elements, in the order of C3D20
CORNERS = ((0, 0, 0), (2, 0, 0), (2, 2, 0), (0, 2, 0), (0, 0, 2), (2, 0, 2), (2, 2, 2), (0, 2, 2))
EDGES = ((0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7))
MIDDLES = tuple(tuple((p + q) // 2 for p, q in zip(CORNERS[a], CORNERS[b], strict=True)) for a, b in EDGES)


def mesh() -> tuple[str, list[int]]:
    """*NODE and *ELEMENT, and the nodes at x = 0.  Nodes are numbered along x: those of one section stand together."""
    elements = [[(2 * i + a, b, c) for a, b, c in CORNERS + MIDDLES] for i in range(COUNT)]
    places = sorted({place for element in elements for place in element})
    number = {place: k + 1 for k, place in enumerate(places)}
    lines = ["*NODE, NSET=NALL"]
    for (i, j, k), n in number.items():
        x, y, z = LENGTH * i / (2 * COUNT), WIDTH * (j / 2 - 0.5), HEIGHT * (k / 2 - 0.5)
        lines.append(f"{n}, {x:.10g}, {y:.10g}, {z:.10g}")
    lines.append("*ELEMENT, TYPE=C3D20, ELSET=ALL")
    for k, element in enumerate(elements, 1):
        text = [str(k), *(str(number[place]) for place in element)]
        lines += [", ".join(text[:11]) + ",", ", ".join(text[11:])]
    return "\n".join(lines) + "\n", [n for (i, _, _), n in number.items() if i == 0]


def run(folder: Path, name: str, deck: str) -> None:
    (folder / f"{name}.inp").write_text(deck)
    subprocess.run(["ccx", name], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    text, root = mesh()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(folder, "link", text + MATERIAL + "*STEP\n*FREQUENCY, SOLVER=MATRIXSTORAGE\n6\n*END STEP\n")
        held = "*BOUNDARY\n" + "".join(f"{n}, 1, 3\n" for n in root)
        run(folder, "clamped", text + MATERIAL + held + "*STEP\n*FREQUENCY\n6\n*END STEP\n")
        FOLDER.mkdir(exist_ok=True)
        for suffix in (".inp", ".dof"):
            (FOLDER / f"link{suffix}").write_bytes((folder / f"link{suffix}").read_bytes())
        for suffix in (".sti", ".mas"):
            packed = gzip.compress((folder / f"link{suffix}").read_bytes(), 9, mtime=0)
            (FOLDER / f"link{suffix}.gz").write_bytes(packed)
        rows = re.findall(r"^ +\d+ +\S+ +\S+ +(\S+) +\S+$", (folder / "clamped.dat").read_text(), re.MULTILINE)
        found = {
            "about": "the strip of link.inp, clamped at x = 0: CalculiX's own frequencies in Hz",
            "made by": "tools/models/calculix_link.py",
            "frequencies": [float(row) for row in rows[:6]],
        }
        (FOLDER / "link.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
