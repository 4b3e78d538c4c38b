"""The command line, as a shell sees it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from liegeo import __version__, demo


def liegeo(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "liegeo.cli", *arguments], capture_output=True, text=True, check=False)


def test_version_and_help():
    assert liegeo("--version").stdout == f"liegeo {__version__}\n"
    shown = liegeo("--help")
    assert shown.returncode == 0
    assert "demo" in shown.stdout


def test_help_loads_neither_numba_nor_scipy():
    code = "import sys, liegeo.cli; print('numba' in sys.modules, 'scipy' in sys.modules, 'matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False False\n"


def test_demo_writes_a_table_a_picture_and_the_data(tmp_path):
    done = liegeo("demo", "--folder", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "Munthe-Kaas 4" in done.stdout
    assert (tmp_path / "out" / "top.png").read_bytes()[:4] == b"\x89PNG"
    data = np.genfromtxt(tmp_path / "out" / "top.csv", delimiter=",", names=True)
    assert data.dtype.names[0] == "time"
    assert data["time"][-1] == demo.END
    assert 0.0 < data["error"].max() < 1e-8
    assert [file.suffix for file in sorted((tmp_path / "out").iterdir())] == [".csv", ".png"]


def test_demo_quiet_prints_nothing(tmp_path):
    done = liegeo("demo", "-q", "-o", str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_error_is_explained_without_a_traceback(tmp_path):
    file = tmp_path / "taken"
    file.write_text("precious")
    done = liegeo("demo", "-q", "-o", str(file))
    assert done.returncode == 1
    assert done.stderr.startswith("Error: --folder: ")
    assert "is a file, expected a folder" in done.stderr
    assert "Traceback" not in done.stderr
    assert file.read_text() == "precious"
    assert "Traceback" in liegeo("demo", "-q", "-o", str(file), "--debug").stderr


def test_unknown_command_is_a_usage_error():
    assert liegeo("simulat").returncode == 2


def test_demo_shows_what_it_says():
    """Orders 4, 1, 2, 4; the Lie methods stay on the group to round-off, the matrix method does not."""
    study = demo.run()
    last = {row.method: row for row in study.rows}
    assert [round(last[name].order) for name, _ in demo.METHODS] == [4, 1, 2, 4]
    on_group = [last[name].off_group < 1e-13 for name, _ in demo.METHODS]
    assert on_group == [False, True, True, True]


def test_demo_exact_motion_solves_its_equation():
    """Ṙ = R ω̂ by complex step of the closed form."""
    t = 1.3
    R = demo.exact(np.array(t))
    slope = demo.exact(np.array(t + 1e-30j)).imag / 1e-30
    w = demo.angular_velocity(R)
    assert R.T @ slope == pytest.approx(np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]), abs=1e-14)
