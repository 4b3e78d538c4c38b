"""The command line, as a shell and as a person see it."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numba
import numpy as np
import pytest

import liegeo as lg
from liegeo import __version__, cli, demo, demo_controller
from liegeo.io import shipped

ROOT = Path(__file__).parents[1]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT)}
COMMANDS = (
    "demo",
    "new",
    "check",
    "info",
    "simulate",
    "plot",
    "view",
    "modes",
    "campbell",
    "frf",
    "convert",
    "schema",
    "bench",
    "cosim",
)
PENDULUM = """\
liegeo: 1
name: swing
description: A point mass on a rod; chosen.
parameters: {rod: {length: 1 m}, drag: 0 N*m*s/rad}
bodies:
  bob: {kind: rigid, mass: 1 kg, com: [0, 0, $(-rod.length)], frames: {tip: [0, 0, $(-rod.length)]}}
joints:
  hinge: {kind: revolute, parent: world, child: bob, axis: [0, 1, 0], damping: $(drag)}
forces:
  motor: {kind: actuator, joint: hinge}
initial: {q: {hinge: 10 deg}}
experiment: {end: 1 s, output: 10 ms}
"""
# A mass on two slides that turn, on springs.
ROTOR = """\
liegeo: 1
name: rotor
bodies:
  hub: {kind: rigid, mass: 0 kg, inertia: [1, 1, 1]}
  cart: {kind: rigid, mass: 0 kg}
  mass: {kind: rigid, mass: 2 kg, inertia: [1e-9, 1e-9, 1e-9]}
joints:
  spin: {kind: revolute, parent: world, child: hub}
  x: {kind: prismatic, parent: hub, child: cart, axis: [1, 0, 0], stiffness: 1800 N/m}
  y: {kind: prismatic, parent: cart, child: mass, axis: [0, 1, 0], stiffness: 1800 N/m}
gravity: [0, 0, 0]
initial: {v: {spin: 20 rad/s}}
experiment: {end: 1 s}
"""
# An arm with a finger that follows it and a tool that is fixed; one mesh is in another package.
ROBOT = """\
<robot name="robot">
  <link name="base"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
  <link name="arm">
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
    <visual><geometry><mesh filename="package://things/tip.stl"/></geometry></visual>
  </link>
  <link name="finger"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
  <link name="tool"/>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/></joint>
  <joint name="knuckle" type="continuous"><parent link="arm"/><child link="finger"/><mimic joint="hinge"/></joint>
  <joint name="mount" type="fixed"><parent link="finger"/><child link="tool"/></joint>
</robot>
"""


def shell(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "liegeo.cli", *arguments], capture_output=True, text=True, check=False, **options
    )


@pytest.fixture
def liegeo(monkeypatch, capsys, tmp_path):
    """Calls the command in this process, in a folder of its own: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["liegeo", *map(str, arguments)])
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = end.code
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call


@pytest.fixture
def swing(tmp_path):
    file = tmp_path / "swing.yaml"
    file.write_text(PENDULUM)
    return file


# ---- the shell's side


def test_version_and_help():
    assert shell("--version").stdout == f"liegeo {__version__}\n"
    shown = shell("--help")
    assert shown.returncode == 0
    for command in COMMANDS:
        assert command in shown.stdout


def test_help_loads_nothing_heavy():
    code = "import sys, liegeo.cli; print([m for m in ('numba', 'numpy', 'scipy', 'matplotlib') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# Each takes longer to load than a short run lasts, or is for others: pictures, FMUs, units that few use.
HEAVY = (
    *("scipy.interpolate", "scipy.linalg", "scipy.optimize", "scipy.sparse", "scipy.spatial", "scipy.special"),
    *("pint", "matplotlib", "lxml", "fmpy", "pythonfmu", "fmu_export", "pandas", "pyarrow", "liegeo.analysis"),
    # what Numba needs to compile, and not to run what comes from the cache
    *(("numba.np.linalg", "numba.cpython.unicode") if not numba.config.DISABLE_JIT else ()),
)


@pytest.mark.parametrize("command", ["check", "info", "simulate"])
def test_a_warm_start_loads_nothing_that_it_does_not_need(tmp_path, command):
    """The first run fills the cache, if it is empty."""
    code = (
        "import atexit, sys\n"
        f"atexit.register(lambda: print('loaded', [m for m in {HEAVY} if m in sys.modules], file=sys.stderr))\n"
        "from liegeo.cli import main\nmain()"
    )
    model = Path(__file__).parents[1] / "models" / "double_pendulum.yaml"
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code, command, str(model)], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "loaded []"


@pytest.mark.parametrize("command", [*COMMANDS, "fmu build", "fmu info", "fmu validate", "fmu run"])
def test_every_command_explains_itself_with_an_example(liegeo, command):
    code, out, _ = liegeo(*command.split(), "--help")
    assert code == 0
    assert "Example" in out
    assert f"liegeo {command}" in out


@pytest.mark.parametrize("wrong", [["simulat"], ["simulate"], ["simulate", "a.yaml", "--sett", "x=1"]])
def test_a_command_line_that_cannot_be_understood(liegeo, wrong):
    code, out, err = liegeo(*wrong)
    assert (code, out) == (2, "")
    assert "Traceback" not in err


def test_errors_have_no_traceback_unless_asked_for(liegeo, tmp_path):
    code, out, err = liegeo("info", "none.yaml")
    assert (code, out) == (1, "")
    assert err == "Error: none.yaml: cannot be read: No such file or directory.\n"
    with pytest.raises(lg.errors.LiegeoError):
        liegeo("info", "none.yaml", "--debug")


@pytest.mark.parametrize("command", ["info", "check", "simulate", "simulate --end soon"])
def test_colours_are_for_terminals(swing, tmp_path, command):
    name, *options = command.split()
    shown = shell(name, str(swing), *options, env=ENVIRONMENT | {"TERM": "xterm-256color"}, cwd=tmp_path)
    assert (shown.returncode == 0) == (not options)
    assert shown.stdout or shown.stderr
    assert "\x1b[" not in shown.stdout + shown.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_a_terminal_sees_colours(tmp_path):
    import pty

    master, terminal = pty.openpty()
    command = [sys.executable, "-m", "liegeo.cli", "info", "none.yaml"]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, stdout=terminal, stderr=terminal, check=False)
    os.close(terminal)
    assert done.returncode == 1
    assert os.read(master, 4096).startswith(b"\x1b[31mError: none.yaml")
    os.close(master)


@pytest.mark.parametrize("command", ["info", "modes", "bench", "simulate"])
def test_quiet_prints_nothing(liegeo, swing, command):
    assert liegeo(command, swing, "--quiet") == (0, "", "")


# ---- model files


def test_new_writes_a_file_to_change_and_no_other(liegeo, tmp_path):
    code, out, _ = liegeo("new", "crane", "--from", "double_pendulum")
    assert code == 0
    assert "wrote crane.yaml" in out
    assert lg.load(tmp_path / "crane.yaml").tree.name == lg.load(shipped.find("double_pendulum")).tree.name
    before = (tmp_path / "crane.yaml").read_bytes()
    code, _, err = liegeo("new", "crane")
    assert code == 1
    assert "crane.yaml is there already; give another name, or remove it first." in err
    assert (tmp_path / "crane.yaml").read_bytes() == before
    code, _, err = liegeo("new", "x", "--from", "double_pendulm")
    assert "is no model that comes with liegeo. Did you mean 'double_pendulum'?" in err
    assert liegeo("new", "link", "--from", "calculix_link")[0] == 0
    assert lg.load(tmp_path / "link.yaml").compile().nv > 1
    assert "is there already" in liegeo("new", "other", "--from", "calculix_link")[2]
    assert not (tmp_path / "other.yaml").exists()
    code, out, _ = liegeo("new", "--list")
    assert code == 0
    assert all(name in out for name in shipped.paths())
    assert liegeo("new")[0] == 2


def test_check_reports_everything_at_once(liegeo, swing, tmp_path):
    broken = tmp_path / "broken.yaml"
    broken.write_text(PENDULUM.replace("mass: 1 kg", "mass: -1 kg").replace("parent: world", "parent: wrld"))
    code, out, err = liegeo("check", swing, broken)
    assert code == 1
    assert "swing.yaml: fine:" in out
    assert "mass" in err
    assert "Did you mean 'world'" in err or "did you mean 'world'" in err
    code, out, _ = liegeo("check", "--json", swing, broken)
    data = json.loads(out)
    assert [entry["ok"] for entry in data] == [True, False]
    assert {problem["line"] for problem in data[1]["problems"]} == {6, 8}
    assert liegeo("check", "-q", swing) == (0, "", "")


def test_check_finds_what_moves_no_inertia(liegeo, tmp_path):
    file = tmp_path / "point.yaml"
    file.write_text(
        "liegeo: 1\nbodies:\n  bead: {kind: rigid, mass: 1}\n"
        "joints:\n  hinge: {kind: revolute, parent: world, child: bead, axis: [0, 0, 1]}\n"
    )
    code, _, err = liegeo("check", file)
    assert code == 1
    assert "'hinge'" in err


def test_info(liegeo, swing):
    code, out, _ = liegeo("info", swing)
    assert code == 0
    assert "swing: 1 kg, 1 degree of freedom" in out
    assert "Revolute" in out
    code, out, _ = liegeo("info", swing, "--json", "--set", "rod.length=2")
    data = json.loads(out)
    assert data["degrees_of_freedom"] == 1
    assert data["parameters"]["rod.length"]["value"] == 2.0
    assert data["joints"] == [
        {"name": "hinge", "kind": "Revolute", "parent": "world", "child": "bob", "degrees_of_freedom": 1}
    ]
    code, _, err = liegeo("info", swing, "--set", "rod.lenght=2")
    assert code == 1
    assert "rod.length" in err
    code, _, err = liegeo("info", swing, "--set", "rod.length")
    assert code == 2
    assert "is not NAME=VALUE" in err


def test_info_of_a_mechanism_that_bends_and_closes(liegeo):
    code, out, _ = liegeo("info", shipped.find("flexible_arm"))
    assert code == 0
    assert "16 of them modes" in out
    assert "shoulder_motor" in out


def test_modes(liegeo, swing):
    code, out, _ = liegeo("modes", swing, "--json")
    data = json.loads(out)
    assert code == 0
    assert data["modes"][0]["frequency"] == pytest.approx(np.sqrt(9.81 * np.cos(np.radians(10))) / (2 * np.pi))
    assert "The state is no equilibrium: the largest acceleration is 1.7" in liegeo("modes", swing)[1]
    settled = json.loads(liegeo("modes", swing, "--json", "--settle")[1])
    assert settled["modes"][0]["frequency"] == pytest.approx(np.sqrt(9.81) / (2 * np.pi))
    assert settled["acceleration"] < 1e-9
    assert json.loads(liegeo("modes", swing, "--json", "--lock", "h*")[1])["modes"] == []
    assert "--lock x: no joint is called so; there are hinge." in liegeo("modes", swing, "--lock", "x")[2]
    arm = json.loads(liegeo("modes", shipped.find("flexible_arm"), "--json", "--lock", "*", "--settle")[1])
    assert 2.0 < arm["modes"][0]["frequency"] < 5.0
    assert "… and 14 more: --number 16" in liegeo("modes", shipped.find("flexible_arm"), "--lock", "*", "-n", 2)[1]


def test_modes_about_a_steady_motion(liegeo, tmp_path):
    """A mass on springs that turn: both whirls, from both frames, with a free hub."""
    path = tmp_path / "rotor.yaml"
    path.write_text(ROTOR)
    code, out, _ = liegeo("modes", path, "--about", "steady", "--masses", "--view", "page.html")
    assert code == 0
    assert "wrote page.html" in out
    assert "effective masses" in out
    data = json.loads(liegeo("modes", path, "--about", "steady", "--json")[1])
    assert data["rigid"] == 1
    assert [mode["rigid"] for mode in data["modes"]] == [True, False, False]
    # m ẍ = −k x, seen from a frame that turns with the slides
    omega, speed = 30.0, 20.0
    assert [mode["frequency"] * 2 * np.pi for mode in data["modes"][1:]] == pytest.approx(
        [omega - speed, omega + speed]
    )
    assert [mode["fixed_frequency"] * 2 * np.pi for mode in data["modes"][1:]] == pytest.approx([omega, omega])
    assert [np.sign(mode["whirl"]) for mode in data["modes"][1:]] == [1.0, -1.0]
    assert "--about is steady; expected one of the two" in liegeo("modes", path, "--settle", "--about", "steady")[2]
    assert "about is 'now', expected one of 'initial', 'rest', 'steady'" in liegeo("modes", path, "--about", "now")[2]
    assert "kind is 'loud', expected one of" in liegeo("modes", path, "--kind", "loud")[2]


def test_campbell(liegeo, swing, tmp_path):
    (tmp_path / "rotor.yaml").write_text(ROTOR)
    range_ = ("--from", "0", "--to", "400 rpm", "--points", "5")
    code, out, err = liegeo("campbell", "rotor.yaml", "spin.speed", *range_, "--plot", "c.png", "--roots", "r.pdf")
    assert (code, err) == (0, "")
    assert "Critical speeds, where a frequency is that of the rotation: 30, 30 rad/s." in out
    assert "Frequencies are those of the fixed frame." in out
    assert out.endswith("wrote c.png\nwrote r.pdf\n")
    data = json.loads(liegeo("campbell", "rotor.yaml", "spin.speed", *range_, "--json", "--frame", "rotating")[1])
    speeds = np.linspace(0.0, 400.0 * 2.0 * np.pi / 60.0, 5)
    assert data["values"] == pytest.approx(speeds)
    found = np.sort(np.array([branch["frequencies"] for branch in data["branches"]]).T, axis=1)
    expected = np.sort(np.abs(np.stack([30.0 - speeds, 30.0 + speeds], axis=1)), axis=1) / (2.0 * np.pi)
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    code, out, _ = liegeo("campbell", swing, "rod.length", "--from", "50 cm", "--to", "2", "--points", "3")
    assert code == 0
    assert "Some states are no operating points" in out
    settled = liegeo("campbell", swing, "rod.length", "--from", "0.5", "--to", "2", "--points", "3", "--about", "rest")[
        1
    ]
    assert "no operating points" not in settled
    assert f"{np.sqrt(9.81 / 0.5) / (2 * np.pi):.5g}" in settled
    assert (
        "ends in '.txt', expected one of .png"
        in liegeo("campbell", swing, "drag", "--from", "0", "--to", "1", "--plot", "x.txt")[2]
    )


def test_frf(liegeo, swing):
    hung = ("--set", "drag=0.2 N*m*s/rad", "--settle")
    code, out, _ = liegeo(
        "frf", swing, *hung, "-i", "motor", "-o", "hinge.angle", "--from", "0.1", "--to", "1 kHz", "--json"
    )
    assert code == 0
    data = json.loads(out)
    (row,) = data["responses"]
    f = np.array(data["frequencies"])
    s = 2j * np.pi * f
    np.testing.assert_allclose(
        np.array(row["real"]) + 1j * np.array(row["imag"]), 1.0 / (s**2 + 0.2 * s + 9.81), rtol=1e-9
    )
    assert row["unit"] == "rad/(N·m)"
    assert row["peaks"][0] == pytest.approx([np.sqrt(9.81 - 0.02) / (2 * np.pi), 1.0 / (0.2 * np.sqrt(9.8))], rel=2e-3)
    options = ("--load", "bob.tip=1,0,0", "--torque", "bob.tip=0,1,0", "--base", "x", "-o", "bob.tip.position.x")
    code, out, err = liegeo(
        "frf", swing, *hung, *options, "--noise", "0.5", "--plot", "bode.png", "--nyquist", "n.svg", "--csv", "r.csv"
    )
    assert code == 0, err
    assert [f"wrote {name}" in out for name in ("bode.png", "n.svg", "r.csv")] == [True] * 3
    assert "  by torque at bob.tip [m]" in out
    assert "RMS under noise from 0.1 to 100 Hz" in out
    damping = ("--modal-damping", "2 %", "--structural-damping", "0.01", "--modes", "1")
    assert liegeo("frf", swing, *hung, *options, *damping, "-q") == (0, "", "")
    for wrong, message in (
        (("--load", "bob.tip=1,0"), "'bob.tip=1,0' has 2 numbers, expected three as in --load payload.tip=0,0,1"),
        (
            ("--structural-damping", "bob=0.1"),
            "structural_damping: 'bob' is no flexible body, no joint with a spring, no SpringDamper and no Bushing",
        ),
        (("--motion", "motor"), "DrivenMotion: 'motor' is no prescribed motion of the model"),
        (("--base", "w"), "support: axis is 'w', expected one of x, y, z, rx, ry, rz"),
        (("--points", "1"), "--points is 1, expected at least 2."),
        (("--plot", "bode.txt"), "--plot: bode.txt ends in '.txt', expected one of .png, .pdf, .svg"),
        (("--from", "0 Hz"), "frequency_grid: range is 0.0 to 100.0 Hz, expected 0 < first < last"),
    ):
        code, _, err = liegeo("frf", swing, *wrong)
        assert code in (1, 2)
        assert message in " ".join(err.replace("│", " ").split())


def test_libraries_that_are_compiled_are_told_of(capsys):
    """Where nobody sees a bar: begun, each quarter, done."""
    with cli._library_progress(False) as progress:
        for done in range(1, 9):
            progress("linux64", done, 8)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"compiling the library for linux64: {k} of 8 parts" for k in (1, 2, 4, 6, 8)]
    with cli._library_progress(True) as progress:
        assert progress is None


def test_schema(liegeo, tmp_path):
    code, out, _ = liegeo("schema")
    assert code == 0
    assert json.loads(out) == lg.io.schema()
    assert liegeo("schema", "-o", "s.json")[0] == 0
    assert json.loads((tmp_path / "s.json").read_text("utf-8")) == lg.io.schema()


# ---- runs


def test_simulate_writes_what_happened(liegeo, swing, tmp_path):
    code, out, err = liegeo("simulate", swing)
    assert (code, err) == (0, "")
    assert "0 to 1 s, 101 samples" in out
    assert "wrote swing.csv" in out
    table = lg.read_table(tmp_path / "swing.csv")
    expected = lg.load(swing).simulate()
    assert table["hinge.angle"].tobytes() == expected["hinge.angle"].tobytes()


def test_simulate_takes_what_python_takes(liegeo, swing, tmp_path):
    code, out, _ = liegeo(
        "simulate", swing, "-o", "r.npz", "-c", "hinge.*", "-c", "bob.tip.position", "--end", "500 ms",
        "--output", "steps", "--method", "rkmk-4", "--step", "5 ms", "--set", "rod.length=50 cm",
        "--input", "motor=1 N*m", "--json", "--plot", "r.png", "--html", "r.html",
    )  # fmt: skip
    data = json.loads(out)
    assert code == 0
    assert (data["steps"], data["end"], data["method"]) == (100, 0.5, "rkmk-4")
    assert data["files"] == ["r.npz", "r.png", "r.html"]
    assert lg.read_table(tmp_path / "r.npz").dtype.names[-1] == "bob.tip.position.z"
    assert (tmp_path / "r.png").read_bytes()[:4] == b"\x89PNG"
    assert b"three" in (tmp_path / "r.html").read_bytes()
    mechanism = lg.load(swing, set={"rod.length": 0.5})
    run = mechanism.simulate(t_end=0.5, output="steps", method="rkmk-4", step=0.005, inputs={"motor": 1.0})
    assert lg.read_table(tmp_path / "r.npz")["hinge.angle"].tobytes() == run["hinge.angle"].tobytes()
    # work of a constant torque, and nothing is lost
    assert data["energy"]["work_of_inputs"] == pytest.approx(run["hinge.angle"][-1] - run["hinge.angle"][0], rel=1e-6)
    assert data["energy"]["dissipated"] == pytest.approx(0.0, abs=1e-5)


def test_energy_that_damping_takes(liegeo, swing):
    data = json.loads(liegeo("simulate", swing, "--json", "--set", "drag=0.5", "--end", "5")[1])
    # to the usual accuracy, 1e-6 of the mechanism's size
    assert data["energy"]["dissipated"] == pytest.approx(-data["energy"]["change"], rel=1e-5)
    assert data["energy"]["dissipated"] > 0.1


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--end", "3 kg", "--end is '3 kg'"),
        ("--end", "soon", "--end is 'soon', expected a time"),
        ("--output", "-1", "output"),
        ("--method", "rk9", "rk9"),
        ("--input", "motr=1", "motr"),
        ("--input", "motor=fast", "--input motor is 'fast', expected a torque in N*m"),
        ("--input", "motor=3 kg", "--input motor is '3 kg', which is a mass, expected a torque in N*m."),
        ("--column", "hinge.angel", "hinge.angle"),
        ("--to", "r.txt", "expected one of .csv, .npz, .parquet"),
    ],
)
def test_simulate_explains_bad_options(liegeo, swing, option, value, said):
    code, _, err = liegeo("simulate", swing, option, value)
    assert code == 1
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--to", "r.txt", "--to: r.txt ends in '.txt', expected one of .csv, .npz, .parquet."),
        ("--to", "none/r.csv", "there is no folder none. Create it first."),
        ("--plot", "r.bmp", "--plot: r.bmp ends in '.bmp'"),
        ("--html", "swing.yaml", "--html: swing.yaml ends in '.yaml', expected one of .html"),
        ("--column", "hinge.angel", "hinge.angle"),
    ],
)
def test_no_run_is_lost(liegeo, swing, monkeypatch, option, value, said):
    """What cannot be written is said before anything is computed."""
    monkeypatch.setattr(lg.io.Mechanism, "simulate", lambda *_, **__: pytest.fail("it ran"))
    code, _, err = liegeo("simulate", swing, option, value)
    assert code == 1
    assert said in err


def test_what_is_read_is_not_written_over(liegeo, swing):
    before = swing.read_bytes()
    assert "is what is read; it would be lost. Give another name." in liegeo("convert", swing, swing)[2]
    assert "ends in '.yaml', expected one of .html" in liegeo("view", swing, "--html", swing)[2]
    assert swing.read_bytes() == before


def test_a_closed_pipe_is_no_error(swing):
    command = f'"{sys.executable}" -m liegeo.cli info "{swing}" | true; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["heavy_top", "st21_spacecraft"])
@pytest.mark.parametrize("torque", ["0", "1"])
def test_modes_of_what_begins_in_motion(liegeo, name, torque):
    """Wheels that a torque drives have no steady speed."""
    given = ("--set", f"torque={torque}") if name == "st21_spacecraft" else ()
    code, out, err = liegeo("modes", shipped.find(name), *given)
    assert (code, err) == (0, "")
    said = "The motion is not steady: frequencies are those of the system frozen in this state."
    is_steady = name == "st21_spacecraft" and torque == "0"
    assert (said in out) == (not is_steady)
    assert ("Frequencies are those of the fixed frame." in out) == is_steady


def test_what_floats_at_rest_is_settled(liegeo):
    path = shipped.find("st21_spacecraft")
    assert liegeo("modes", path, "--settle", "--lock", "wheel_*", "-q") == (0, "", "")
    code, _, err = liegeo("modes", path, "--settle")
    assert code == 1
    assert "found none near this state; the largest force that is left is 1.1, at 'wheel_1'" in err


def test_a_run_that_fails_keeps_what_there_is(liegeo, swing, tmp_path):
    """Explicit steps of a second on a motor that spins up: the state overflows."""
    swing.write_text(PENDULUM.replace("damping: $(drag)", "damping: 1e6 N*m*s/rad"))
    code, out, err = liegeo("simulate", swing, "--method", "rkmk-4", "--step", "1", "--end", "1000")
    assert code == cli.ENDED_EARLY
    assert "wrote swing.csv" in out
    assert err.startswith("Error: simulate: at t = ")
    assert len(lg.read_table(tmp_path / "swing.csv")) >= 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_writes_what_there_is(liegeo, swing, tmp_path):
    # kernels are there before the signal comes
    liegeo("simulate", swing, "-q")
    timer = threading.Timer(3.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        code, out, err = liegeo("simulate", swing, "--end", "1e7", "--output", "1")
    finally:
        timer.cancel()
    assert code == cli.ENDED_EARLY, err
    assert "wrote swing.csv" in out
    assert "stopped at" in err
    assert len(lg.read_table(tmp_path / "swing.csv")) > 1


def test_plot_tables(liegeo, swing, tmp_path):
    liegeo("simulate", swing, "-q")
    liegeo("simulate", swing, "-q", "--set", "rod.length=2", "-o", "long.csv")
    assert liegeo("plot", "swing.csv")[:2] == (0, "wrote swing.png\n")
    assert liegeo("plot", "swing.csv", "long.csv", "-c", "hinge.*", "-o", "both.svg", "--title", "two")[0] == 0
    text = (tmp_path / "both.svg").read_text("utf-8")
    assert text.startswith("<?xml")
    assert liegeo("plot", "swing.csv", "long.csv", "-c", "*.angle", "--spectrum", "-o", "s.pdf")[0] == 0
    assert liegeo("plot", "swing.csv", "-c", "*.angle", "--spectrum", "-o", "s.png")[0] == 0
    code, _, err = liegeo("plot", "swing.csv", "-c", "hinge.angel")
    assert code == 1
    assert "no column matches 'hinge.angel'. Did you mean 'hinge.angle'?" in err
    (tmp_path / "no_time.csv").write_text("a,b\n1,2\n")
    assert "there is no column 'time', which is what others are drawn over." in liegeo("plot", "no_time.csv")[2]


def test_convert(liegeo, swing, tmp_path):
    liegeo("simulate", swing, "-q")
    assert liegeo("convert", "swing.csv", "swing.npz")[0] == 0
    assert liegeo("convert", "swing.npz", "again.parquet")[0] == 0
    before, after = lg.read_table(tmp_path / "swing.csv"), lg.read_table(tmp_path / "again.parquet")
    assert before.tobytes() == after.tobytes()
    liegeo("simulate", swing, "-q", "-o", "units.npz")
    assert liegeo("convert", "units.npz", "units.parquet")[0] == 0
    assert liegeo("convert", swing, "copy.yaml")[0] == 0
    first, second = lg.load(swing).compile(), lg.load(tmp_path / "copy.yaml").compile()
    assert first.floats.tobytes() == second.floats.tobytes()
    urdf = Path(__file__).parent / "io" / "data_urdf" / "two_link.urdf"
    assert liegeo("convert", urdf, "robot.yaml")[0] == 0
    assert lg.load(tmp_path / "robot.yaml").compile().nv == lg.load(urdf).compile().nv
    assert "ends in '.txt'" in liegeo("convert", "swing.csv", "x.txt")[2]


def test_convert_asks_of_a_robot_what_python_can(liegeo, tmp_path):
    urdf = tmp_path / "robot.urdf"
    urdf.write_text(ROBOT)
    (tmp_path / "shapes").mkdir()
    corners = "vertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0"
    triangle = f"solid tip\nfacet normal 0 0 1\nouter loop\n{corners}\nendloop\nendfacet\nendsolid\n"
    (tmp_path / "shapes" / "tip.stl").write_text(triangle)
    given = ["--base", "free", "--package", f"things={tmp_path / 'shapes'}", "--actuators"]
    assert liegeo("convert", urdf, "robot.yaml", *given) == (0, "wrote robot.yaml\n", "")
    expected = lg.load(urdf, base="free", packages={"things": tmp_path / "shapes"}, actuators=True)
    found = lg.load(tmp_path / "robot.yaml")
    assert found.compile().floats.tobytes() == expected.compile().floats.tobytes()
    assert list(found.compile().inputs) == ["hinge_motor"]
    assert {body.name: len(body.shapes) for body in found.tree.bodies} == {"base": 0, "arm": 1, "finger": 0}
    plain = ["--no-mimic", "--no-merge-fixed", "--no-meshes"]
    assert liegeo("convert", urdf, "plain.yaml", *plain)[0] == 0
    tree = lg.load(tmp_path / "plain.yaml").tree
    assert [body.name for body in tree.bodies] == ["base", "arm", "finger", "tool"]
    assert (tree.loops, [body.shapes for body in tree.bodies]) == ((), [()] * 4)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--base", "loose"], 1, "base is 'loose', expected 'fixed' or 'free'."),
        (["--package", "things"], 2, "'things' is not NAME=VALUE, as in --package"),
        (["--package", "things=nowhere"], 1, "--package things: there is no folder nowhere."),
    ],
)
def test_convert_explains_bad_options(liegeo, tmp_path, options, code, said):
    (tmp_path / "robot.urdf").write_text(ROBOT)
    found, _, err = liegeo("convert", "robot.urdf", "robot.yaml", *options)
    assert found == code
    assert said in err
    assert not (tmp_path / "robot.yaml").exists()


def test_only_robots_have_a_base(liegeo, swing):
    code, _, err = liegeo("convert", swing, "copy.yaml", "--base", "free", "--no-meshes")
    assert (code, err) == (1, "Error: convert: swing.yaml is no URDF file, which alone takes --base, --no-meshes.\n")


def test_view_writes_a_page(liegeo, swing, tmp_path):
    code, out, _ = liegeo("view", swing, "--html", "s.html", "--end", "0.5", "--trace", "bob.tip", "--plot", "*.angle")
    assert (code, out) == (0, "wrote s.html\n")
    assert (tmp_path / "s.html").stat().st_size > 100_000


@pytest.mark.parametrize("value", ["1e308", "-1e308", "inf", "nan", "1e999"])
@pytest.mark.parametrize("option", ["--end", "--output", "--step", "--rtol", "--set", "--input"])
def test_a_number_out_of_range_is_an_error_of_one_line(liegeo, swing, option, value):
    name = {"--set": "gravity=", "--input": "hinge="}.get(option, "")
    given = f"{name}[0, 0, {value}]" if option == "--set" else f"{name}{value}"
    code, _, errors = liegeo("simulate", swing, f"{option}={given}", "--quiet", "-o", "run.csv")
    if (option, value) == ("--rtol", "1e308"):
        return
    assert code == 1
    assert errors.startswith("Error: ")
    assert "Traceback" not in errors


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_view_live(swing, tmp_path):
    import urllib.request

    command = [sys.executable, "-m", "liegeo.cli", "view", str(swing), "--no-browser"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # a shell that starts this in the background lets its children ignore the signal
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        line = process.stdout.readline()
        url = re.search(r"http://127\.0\.0\.1:\d+/[\w-]+/", line)[0]
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                assert b"liegeo" in answer.read()
            # while kernels are loaded the signal can be lost in a callback; a person would press again
            for _ in range(30):
                process.send_signal(signal.SIGINT)
                try:
                    process.communicate(timeout=2)
                    break
                except subprocess.TimeoutExpired:
                    continue
        finally:
            process.kill()
        # a second signal may come when Python has put its handler away already
        assert process.returncode in (0, cli.INTERRUPTED, -signal.SIGINT)


def test_bench(liegeo, swing):
    code, out, _ = liegeo("bench", swing, "--json")
    (row,) = json.loads(out)
    assert code == 0
    assert row["degrees_of_freedom"] == 1
    assert row["forward_dynamics"] > 0.0
    assert row["real_time_factor"] > 1.0
    assert "× real" in liegeo("bench", swing)[1]


# ---- the gallery


GALLERY = re.findall(r"^liegeo (.*)$", (ROOT / "docs" / "gallery.md").read_text("utf-8"), re.MULTILINE)


def test_the_gallery_shows_every_model():
    assert {Path(line.split()[1]).stem for line in GALLERY} == set(shipped.paths())


@pytest.mark.parametrize("line", GALLERY)
def test_commands_of_the_gallery(liegeo, tmp_path, line):
    """As they stand there, but for a hundredth of the time, and without a browser."""
    command, model, *options = shlex.split(line)
    path = ROOT / model
    if command != "modes":
        options += ["--end", str(lg.load(path).experiment.end / 100)]
    if command == "view":
        options += ["--html", "page.html"]
    code, out, err = liegeo(command, path, *options)
    assert (code, err) == (0, "")
    assert out
    made = {"view": ["page.html"], "simulate": [f"{path.stem}.csv"], "modes": []}[command]
    made += [options[options.index("--plot") + 1]] if command == "simulate" and "--plot" in options else []
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(made)


# ---- FMUs


def test_fmus_from_the_command_line(liegeo, swing, tmp_path):
    """Build, look, check, run, and run together; what comes out is what simulate gives."""
    assert liegeo("fmu", "build", swing, "-o", "swing.fmu", "--step", "1 ms", "--interval", "10 ms") == (
        0,
        "wrote swing.fmu\n",
        "",
    )
    code, out, _ = liegeo("fmu", "info", "swing.fmu")
    assert code == 0
    assert "motor.input" in out
    assert json.loads(liegeo("fmu", "info", "swing.fmu", "--json")[1])["interval"] == 0.01
    code, out, _ = liegeo("fmu", "validate", "swing.fmu")
    assert code == 0, out
    assert "no problems" in out
    code, out, _ = liegeo(
        "fmu", "run", "swing.fmu", "--end", "0.5", "--input", "motor.input=1", "--set", "rod.length=2", "-q"
    )
    assert (code, out) == (0, "")
    run = lg.load(swing, set={"rod.length": 2.0}).simulate(t_end=0.5, step=1e-3, inputs={"motor": 1.0})
    assert lg.read_table(tmp_path / "swing.csv")["hinge.angle"] == pytest.approx(run["hinge.angle"], abs=1e-12)
    (tmp_path / "loop.yaml").write_text(
        "cosim: 1\nfmus: {plant: {fmu: swing.fmu}}\nconnections: []\nexperiment: {end: 0.2 s, step: 10 ms}\n"
    )
    code, out, _ = liegeo("cosim", "loop.yaml", "--set", "plant.motor.input=1", "--plot", "loop.png", "-c", "*.angle")
    assert code == 0
    assert "wrote loop.csv" in out
    assert lg.read_table(tmp_path / "loop.csv")["time"][-1] == pytest.approx(0.2)
    code, out, err = liegeo("cosim", "loop.yaml", "--json", "-o", "again.npz")
    assert (code, err) == (0, "")
    assert (json.loads(out)["samples"], json.loads(out)["files"]) == (21, ["again.npz"])
    assert liegeo("cosim", "loop.yaml", "-q") == (0, "", "")
    code, _, err = liegeo("fmu", "run", "none.fmu")
    assert code == 1
    assert "none.fmu" in err


# ---- the demo


def test_demo_writes_data_a_picture_a_page_and_fmus(tmp_path):
    done = shell("demo", "--folder", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "× real time" in done.stdout
    assert "work of inputs" in done.stdout
    assert "As two FMUs that meet every 1 ms" in done.stdout
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        "arm.yaml", "arm.csv", "arm.png", "arm.html", "arm.fmu", "controller.fmu", "system.yaml", "cosim.csv"
    }  # fmt: skip
    table = lg.read_table(tmp_path / "out" / "arm.csv")
    assert table["time"][-1] == pytest.approx(demo.END)
    told = done.stdout.partition("\nNext\n")[2]
    assert f"open {tmp_path / 'out' / 'arm.html'} in a browser" in " ".join(told.split())
    for command in ("new arm", "simulate arm.yaml", "view arm.yaml", "modes arm.yaml", "fmu build arm.yaml"):
        assert f"liegeo {command} " in told


def test_demo_quiet_prints_nothing(liegeo, tmp_path):
    assert liegeo("demo", "-q", "-o", tmp_path / "out") == (0, "", "")


def test_demo_refuses_a_file_for_a_folder(liegeo, tmp_path):
    (tmp_path / "taken").write_text("precious")
    code, _, err = liegeo("demo", "-q", "-o", tmp_path / "taken")
    assert code == 1
    assert "taken is a file, expected a folder. Give another name." in err
    assert (tmp_path / "taken").read_text() == "precious"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return demo.run(tmp_path_factory.mktemp("demo"), progress=False)


def test_demo_for_programs(liegeo, monkeypatch, made):
    monkeypatch.setattr(demo, "run", lambda folder, progress: made)
    code, out, err = liegeo("demo", "--json")
    data = json.loads(out)
    assert (code, err) == (0, "")
    assert data["end"] == demo.END
    assert data["real_time_factor"] > 0.0
    assert data["files"] == [str(file) for file in made.files]


def test_demo_does_what_it_says(made):
    """The arm gets there and back, bends meanwhile, its energy is accounted for, and FMUs do the same."""
    run = made.run
    there = np.searchsorted(run.t, demo.END / 2) - 1
    for joint, swing in demo.SWING.items():
        angle = run[f"{joint}.angle"]
        assert angle[there] - angle[0] == pytest.approx(swing, abs=np.radians(0.5))
        assert angle[-1] == pytest.approx(angle[0], abs=np.radians(0.5))
    bending = demo.deflection(run)
    assert 0.03 < bending.max() < 0.1
    # at rest before and after, bent by its weight alone
    assert bending[-1] == pytest.approx(bending[0], rel=2e-2)
    balance = made.data["energy"]
    assert 3.0 < balance["work_of_inputs"] < 10.0
    hinges = [joint for joint in run.model.tree.joints if joint.name in demo.SWING]
    dissipated = sum(np.trapezoid(run[f"{j.name}.speed"] ** 2 * float(j.damping), run.t) for j in hinges)
    assert balance["dissipated"] == pytest.approx(dissipated, rel=2e-2)
    # a step of delay at 2.6 m/s, and what the loop makes of it
    assert demo.difference(run, made.fmus) < 1e-2


def test_the_path_of_the_demo_has_the_rates_that_it_says():
    h = 1e-6
    for t in (0.1, 0.4, 0.8, 1.5, 2.1, 2.5, 3.5):
        value, rate, acceleration = demo_controller.path(t)
        assert (demo_controller.path(t + h)[0] - demo_controller.path(t - h)[0]) / (2 * h) == pytest.approx(
            rate, abs=1e-6
        )
        assert (demo_controller.path(t + h)[1] - demo_controller.path(t - h)[1]) / (2 * h) == pytest.approx(
            acceleration, abs=1e-6
        )
        assert 0.0 <= value <= 1.0
