"""What editors and type checkers see of a package is what is there when it runs."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import liegeo
from liegeo._lazy import late
from liegeo.model import ALL_JOINTS

ROOT = Path(__file__).parents[1]
LAZY = ("liegeo", "liegeo.analysis", "liegeo.io", "fmu_export", "fmu_export.cosim")


def written(module):
    """Return the names that the TYPE_CHECKING block of a package imports."""
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {alias.asname for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}


@pytest.mark.parametrize("name", LAZY)
def test_names_are_the_same_for_editors_and_at_run_time(name):
    module = importlib.import_module(name)
    defined_here = {"liegeo": {"__version__"}, "liegeo.io": {"READERS", "load"}}.get(name, set())
    assert set(module.__all__) == written(module) | defined_here
    assert set(dir(module)) == set(module.__all__)
    for each in module.__all__:
        assert getattr(module, each) is not None
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'simulat'"):
        _ = module.simulat


def test_every_joint_is_in_the_main_package():
    for joint in ALL_JOINTS:
        assert getattr(liegeo, joint.__name__) is joint


def test_type_checkers_find_wrong_names_and_arguments(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import fmu_export\n"
        "import liegeo as lg\n"
        "lg.simulat\n"
        "fmu_export.buidl\n"
        "lg.load('arm.yaml').simulate(t_end=1.0)\n"
        "lg.Revolute(name='hinge', parent='world', child='arm', axes=1)\n"
        "arm = lg.load('arm.yaml')\n"
        "run: lg.Result = lg.simulate(arm, t_end=1.0)\n"
        "lg.simulate('arm.yaml')\n"
        "lg.simulate(arm, t_ende=1.0)\n"
        "calc: lg.Calculator = arm.compile().calculator()\n"
        "calc.forward_dynamic\n"
        "lg.forward_dynamics(arm, calc)\n"
        "lg.forward_dynamics(arm, arm.state().replace({'hinge.angle': 0.3})).shape\n"
        "arm.compile().index('hinge').w\n",
        encoding="utf-8",
    )
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    call = [sys.executable, "-m", "mypy", "--follow-imports", "silent", "--cache-dir", str(ROOT / ".mypy_cache")]
    done = subprocess.run(
        [*call, "--config-file", str(ROOT / "pyproject.toml"), str(script)],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    lines = [line.split("script.py:")[1] for line in done.stdout.splitlines() if ": error:" in line]
    assert [line.split(":")[0] for line in lines] == ["3", "4", "6", "9", "10", "12", "13", "15"], done.stdout
    assert 'has no attribute "simulat"' in lines[0]
    assert 'has no attribute "buidl"' in lines[1]
    assert 'Unexpected keyword argument "axes"' in lines[2]
    assert 'incompatible type "str"; expected "Model | HasModel"' in lines[3]
    assert 'Unexpected keyword argument "t_ende"' in lines[4]
    assert '"Calculator" has no attribute "forward_dynamic"' in lines[5]
    assert 'incompatible type "Calculator"; expected "State"' in lines[6]
    assert '"Index" has no attribute "w"' in lines[7]


def test_names_are_found_without_a_search_once_they_were_used():
    """So that a function of the package costs no more than one of a module."""
    assert liegeo.forward_dynamics is vars(liegeo)["forward_dynamics"]


def test_a_late_module_is_imported_when_it_is_used():
    code = (
        "import sys\n"
        "from liegeo._lazy import late\n"
        "wave = late('wave')\n"
        "assert 'wave' not in sys.modules\n"
        "assert wave.Wave_read is sys.modules['wave'].Wave_read\n"
        "assert wave.Wave_read is vars(wave)['Wave_read']\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="module 'wave' has no attribute 'nothing'"):
        _ = late("wave").nothing
