"""FMUs that the tests of fmu_export drive: mechanisms of ours, and controllers from other tools.

    fmu = mechanism_fmu(folder)                   a pendulum with a motor, rigid
    pd = compiled_controller(folder)              a PD controller written in C, compiled by fmpy
    pd = script_controller(folder)                the same as a plain script for pythonfmu
    pd = unifmu_controller(folder)                the same for unifmu, which runs it in a process of its own

All controllers have the inputs reference, angle, speed, the output torque and the parameters kp, kd, bias, limit.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

CONTROLLERS = Path(__file__).parent / "controllers"

PENDULUM = """
liegeo: 1
name: pendulum
parameters:
  length: {value: 1 m, description: of the rod, min: 1 mm}
  mass: {value: 2 kg, description: of the bob, min: 1 g}
bodies:
  rod:
    kind: rigid
    mass: $(mass)
    com: [0, 0, $(-length)]
    inertia: [0.01, 0.01, 0.01]
    frames:
      bob: [0, 0, $(-length)]
joints:
  hinge: {kind: revolute, parent: world, child: rod, axis: [0, 1, 0], damping: 0.1 N*m*s/rad}
forces:
  motor: {kind: actuator, joint: hinge}
initial:
  q: {hinge: 30 deg}
experiment: {end: 2 s, output: 10 ms, method: rkmk-4, step: 1 ms}
"""

ARMS = """
liegeo: 1
name: two arms
parameters:
  mass: 2 kg
gravity: [0, 0, -9.81]
bodies:
  left: {kind: rigid, mass: $(mass), inertia: [0.1, 0.1, 0.1], com: [0, 0, -1]}
  "the tip": {kind: rigid, mass: 1 kg, inertia: [0.1, 0.1, 0.1], com: [0, 0, -1], frames: {"1": [0, 0, -2]}}
  right: {kind: rigid, mass: 300 g, inertia: [0.1, 0.1, 0.1], com: [0, 0.1, -1]}
joints:
  a: {kind: revolute, parent: world, child: left, axis: [0, 1, 0]}
  b: {kind: spherical, parent: left, child: the tip, at: [0, 0, -2]}
  c: {kind: revolute, parent: world, child: right, axis: [0, 1, 0]}
experiment: {end: 1 s, step: 1 ms, method: rkmk-4}
fmu:
  name: arms
  inputs: {a: {unit: kN*m, min: -5 N*m, max: 0.005, nominal: 0.002}, c: {description: a torque}}
  outputs:
    a.angle: {unit: deg, min: -90, max: 0.25 rev, nominal: 30}
    "a.acceleration":
    "c.acceleration":
    the tip.1.position:
    the tip.quaternion:
    b.reaction.force:
  parameters: {mass: , bodies.right.mass: , bodies.right.com: }
"""

PRESCRIBED = """
liegeo: 1
name: prescribed
bodies:
  hub: {kind: rigid, mass: 1, inertia: [1, 1, 1], com: [0.2, 0, 0], frames: {rim: [0.5, 0, 0]}}
  arm: {kind: rigid, mass: 1, inertia: [1, 1, 1], com: [0.3, 0, 0]}
joints:
  axle: {kind: revolute, parent: world, child: hub, axis: [0, 1, 0]}
  elbow: {kind: revolute, parent: hub, child: arm, at: rim, axis: [0, 1, 0]}
loops:
  turn: {kind: motion, joint: axle}
experiment: {end: 1 s, output: 10 ms, method: generalised-alpha-0.8, step: 1 ms}
fmu:
  inputs: {turn: }
  outputs: {axle.angle: , axle.speed: , elbow.angle: , turn.tau: , elbow.acceleration: }
"""

# A crank of length lc, a rod of 2 m, and a slide at 2.5 m whose place is prescribed.
CRANK = """
liegeo: 1
name: crank
parameters: {lc: 1 m}
bodies:
  crank: {kind: rigid, mass: 1 kg, com: [0.5, 0, 0], inertia: [0.1, 0.1, 0.1], frames: {end: [$(lc), 0, 0]}}
  rod: {kind: rigid, mass: 1 kg, com: [1, 0, 0], inertia: [0.1, 0.1, 0.1], frames: {end: [2, 0, 0]}}
  slide: {kind: rigid, mass: 1 kg, inertia: [0.1, 0.1, 0.1]}
joints:
  a: {kind: revolute, parent: world, child: crank, axis: [0, 1, 0]}
  b: {kind: revolute, parent: crank, child: rod, at: end, axis: [0, 1, 0]}
  s: {kind: prismatic, parent: world, child: slide, axis: [1, 0, 0]}
loops:
  c: {kind: revolute, parent: rod, child: slide, at: end, axis: [0, 1, 0]}
  drive: {kind: motion, joint: s}
initial: {q: {a: 30 deg, b: -45 deg, s: 2.5}}
experiment: {end: 1 s, output: 10 ms, inputs: {drive: 2.5}}
fmu: {parameters: {lc: {variability: tunable}}, inputs: {drive: }, outputs: {s.position: , a.angle: , a.speed: }}
"""


def pendulum_file(folder: Path, name: str = "pendulum", text: str = PENDULUM) -> Path:
    """The model file of a pendulum: input motor.input, outputs hinge.angle, hinge.speed, rod.bob.position, energies."""
    path = Path(folder) / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def mechanism_fmu(folder: Path, name: str = "pendulum", text: str = PENDULUM, **options: object) -> Path:
    """An FMU of a pendulum, or of the text of another model file."""
    import fmu_export

    return fmu_export.build(pendulum_file(folder, name, text), Path(folder) / f"{name}.fmu", **options)


def compiled_controller(folder: Path) -> Path:
    """The PD controller in C, as a source FMU that fmpy compiles."""
    path = Path(folder) / "pd.fmu"
    source = CONTROLLERS / "pd"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(source.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(source).as_posix())
    subprocess.run([sys.executable, "-m", "fmpy", "compile", str(path)], check=True, capture_output=True)
    return path


def script_controller(folder: Path) -> Path:
    """The same controller, built by pythonfmu from a script."""
    from pythonfmu.builder import FmuBuilder

    script = Path(folder) / "script_pd.py"
    shutil.copy(CONTROLLERS / "script_pd.py", script)
    return Path(FmuBuilder.build_FMU(script, dest=Path(folder) / "script_pd.fmu"))


def unifmu_controller(folder: Path) -> Path:
    """The same controller for unifmu.  Its state functions abort: the description says that it has none."""
    made = Path(folder) / "unifmu_pd"
    shutil.rmtree(made, ignore_errors=True)
    command = "import sys, unifmu.cli; sys.exit(unifmu.cli.main())"
    subprocess.run([sys.executable, "-c", command, "generate", "python", str(made)], check=True, capture_output=True)
    shutil.copy(CONTROLLERS / "unifmu_pd.py", made / "resources" / "model.py")
    launch = made / "resources" / "launch.toml"
    launch.write_text(launch.read_text("utf-8").replace('"python3"', json.dumps(sys.executable)), encoding="utf-8")
    # every call would write a line to standard error
    backend = made / "resources" / "backend_grpc.py"
    backend.write_text(backend.read_text("utf-8").replace("level=logging.DEBUG", "level=logging.WARNING"), "utf-8")
    text = (CONTROLLERS / "pd" / "modelDescription.xml").read_text("utf-8")
    begin, end = text.index("<CoSimulation"), text.index("</CoSimulation>") + len("</CoSimulation>")
    flags = 'modelIdentifier="unifmu" needsExecutionTool="true" canHandleVariableCommunicationStepSize="true"'
    text = f"{text[:begin]}<CoSimulation {flags}/>{text[end:]}"
    (made / "modelDescription.xml").write_text(text, encoding="utf-8")
    path = Path(folder) / "unifmu_pd.fmu"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(made.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(made).as_posix())
    return path
