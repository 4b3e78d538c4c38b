"""Make models/scissor_mast.yaml, a deployable mast of 100 scissors: python tools/models/scissor_mast.py

Scissors k are the bars a_k, from lower left to upper right, and b_k, from lower right to upper left.  The tree goes up
by turns, b_k on the middle of a_k and a_{k+1} on the end of b_k; the hinge between the end of a_k and the foot of
b_{k+1} closes a loop of four bars.  Equal bars and angles close all of them: with the angle θ of a bar to the ground,
the joints are at θ (the first), π − 2θ (the middles) and 2θ − π (the feet).
"""

from __future__ import annotations

from pathlib import Path

FILE = Path(__file__).parents[2] / "models" / "scissor_mast.yaml"
UNITS = 100

HEAD = f"""\
# yaml-language-server: $schema=../docs/model.schema.json
# Made by tools/models/scissor_mast.py: change that, not this.
liegeo: 1
name: scissor mast
description: |
  A deployable mast of {UNITS} scissors, two bars each: the hinge at its foot opens, and it grows from a stack of bars
  to a tower.  {UNITS - 1} loops close between neighbours and one on the rail at the ground: each of a few bodies.
  Source: our own design; bars of aluminium tube, 25 mm wide with walls of 2 mm.

parameters:
  length: {{value: 0.5 m, description: of each bar, min: 10 cm}}
  mass: {{value: 0.25 kg, description: of each bar, min: 1 g}}
  low: {{value: 10 deg, description: angle of the bars to the ground at the beginning}}
  high: {{value: 60 deg, description: the same at the end}}
  duration: {{value: 20 s, description: how long it takes to open, min: 1 s}}
  across: $(mass * length^2 / 12)
  axial: $(mass * (12 mm)^2)

gravity: [0, -9.81 m/s^2, 0]

bodies:
"""

BAR = """\
{{
    kind: rigid, mass: $(mass), com: [$(length / 2), 0, 0], inertia: [$(axial), $(across), $(across)],
    frames: {{middle: [$(length / 2), 0, 0], end: [$(length), 0, 0]}},
    shapes: [{{kind: box, size: [$(length), 25 mm, 25 mm], at: [$(length / 2), 0, {side}], color: {color}}}],
  }}
"""

TAIL = """
experiment:
  end: 25 s
  output: 50 ms
  rtol: 1e-6
  atol: 1e-6

fmu:
  inputs:
    deploy: {description: angle of the first bar}
  outputs:
    TOP.end.position:
    deploy.tau:
    rail.reaction.force:
  parameters:
    mass:
    duration:
"""


def text() -> str:
    """Return the model file."""
    out = [HEAD]
    for k in range(UNITS):
        for name, side, color in (("a", "-13 mm", "steelblue"), ("b", "13 mm", "goldenrod")):
            bar = f"*{name}" if k else f"&{name} " + BAR.format(side=side, color=color).rstrip()
            out.append(f"  {name}{k}: {bar}\n")
    out.append("\njoints:\n")
    for k in range(UNITS):
        below = "parent: world" if k == 0 else f"parent: b{k - 1}, at: end"
        out.append(f"  foot{k}: {{kind: revolute, {below}, child: a{k}}}\n")
        out.append(f"  cross{k}: {{kind: revolute, parent: a{k}, child: b{k}, at: middle, child_at: middle}}\n")
    out.append("\n# Hinges in space: three of the five constraints of each are redundant.\nloops:\n")
    out.append("  rail: {kind: point_on_line, a: world, b: b0, axis: [1, 0, 0]}\n")
    out += [f"  side{k}: {{kind: revolute, parent: a{k - 1}, child: b{k}, at: end}}\n" for k in range(1, UNITS)]
    out.append("""\
  deploy:
    kind: motion
    joint: foot0
    law:
      pieces:
        - until: $(duration)
          value: $(low + (high - low) * (t / duration - sin(2 * pi * t / duration) / (2 * pi)))
        - {value: $(high)}
""")
    out.append("\ninitial:\n  q:\n    foot0: $(low)\n")
    out += [f"    foot{k}: $(2 * low - pi)\n" for k in range(1, UNITS)]
    out += [f"    cross{k}: $(pi - 2 * low)\n" for k in range(UNITS)]
    out.append("  keep: [foot0]\n")
    out.append(TAIL.replace("TOP", f"a{UNITS - 1}"))
    return "".join(out)


def main() -> None:
    FILE.write_text(text(), "utf-8")


if __name__ == "__main__":
    main()
