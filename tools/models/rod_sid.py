"""Make models/data/rod.SID_FEM, the flexible body of models/fls13_pendulum_sid.yaml: python tools/models/rod_sid.py

The rod of [FLS13, 5.1] as standard input data: 0.4 m, A = 0.0018 m², I = 1.215e-8 m⁴, E = 1 GPa, 5540 kg/m³, a thin
beam of 20 elements in the plane x, y, with the static shapes of its free end and four normal modes, all with geometric
terms.  Nodes 0, 10 and 20 are its root, middle and tip.
"""

from __future__ import annotations

from pathlib import Path

from liegeo import flex
from liegeo.flex import sid

FILE = Path(__file__).parents[2] / "models" / "data" / "rod.SID_FEM"
PLANE, HELD = (2, 3, 4), (0, 1, 5)


def main() -> None:
    section = flex.Section(A=0.0018, Iy=1.215e-8, Iz=1.215e-8, J=2.43e-8)
    fe = flex.beam(0.4, section, flex.Material(E=1e9, rho=5540.0, nu=0.0), 20, rotary=False, name="rod")
    held = {str(k): HELD for k in range(21)}
    reduction = flex.reduce(fe, {"0": PLANE, "20": PLANE}, n_modes=4, root="0", fixed=held)
    body = flex.flexible_body(reduction, "rod", ["0", "10", "20"], stiffening=True)
    FILE.parent.mkdir(exist_ok=True)
    sid.write_sid(sid.from_flexible_body(body), FILE)


if __name__ == "__main__":
    main()
