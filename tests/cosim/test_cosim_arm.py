"""A flexible arm of ours under controllers of other tools: the loop of FMUs against the same loop in one process."""

from __future__ import annotations

import re

import numpy as np
import pytest
from arms import MODEL, TIP, arm_system, one_process
from cosim_fixtures import there_and_back

from fmu_export.cosim import Crossing, load_system, save_system
from fmu_export.cosim.master import Master

END = 0.2


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arm")
    return lambda *kinds: arm_system(folder, *kinds)


@pytest.fixture(scope="module")
def alone():
    """The tip in one process, 10 ms apart."""
    return one_process(END)[TIP]


def error(system, h, exact, **options):
    found = system.simulate(END, h, **options)
    return float(np.max(np.abs(found[f"arm.{TIP}"][:: round(0.01 / h)] - exact)))


@pytest.mark.parametrize(("options", "order"), [({}, 1), ({"extrapolation": "linear"}, 2), ({"iterations": 2}, 2)])
def test_arm_under_controllers_in_c_converges_to_one_process(shop, alone, options, order):
    coarse, fine = (error(shop("pd"), h, alone, **options) for h in (0.005, 0.0025))
    assert abs(np.log2(coarse / fine) - order) < 0.35
    assert fine < 2e-4


@pytest.mark.foreign
@pytest.mark.slow
def test_arm_under_controllers_of_three_tools(shop, alone):
    """One joint each: C, pythonfmu, unifmu.  The motion is that under C alone, and its error falls with h."""
    gaps = []
    for h in (0.005, 0.0025):
        tips = [system.simulate(END, h)[f"arm.{TIP}"] for system in (shop("pd", "script_pd", "unifmu_pd"), shop("pd"))]
        np.testing.assert_allclose(*tips, rtol=0, atol=1e-12)
        gaps.append(np.max(np.abs(tips[0][:: round(0.01 / h)] - alone)))
    assert abs(np.log2(gaps[0] / gaps[1]) - 1) < 0.35
    assert gaps[1] < 2e-4


def test_arm_under_a_script_is_the_arm_under_c(shop):
    one, other = (shop(kind).simulate(0.1, 0.005)[f"arm.{TIP}"] for kind in ("pd", "script_pd"))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_arm_with_error_control(shop, alone):
    found = shop("pd").simulate(0.1, 0.002, tolerance=1e-3, extrapolation="linear", instants=[0.05])
    here = np.interp(np.arange(11) * 0.01, found.t, found[f"arm.{TIP}"])
    assert found.info.error < 1e-3
    assert abs(here[-1] - alone[10]) < 1e-3
    assert 10 < found.info.steps < 400


def test_arm_goes_back_to_the_bit(shop):
    """A step of the whole loop, undone after a shorter one, and taken again."""
    system = shop("pd")
    with Master(system, system.planned(0.1, 0.005)).open() as master:
        for k in range(4):
            there_and_back(master, 0.005 * k + 0.002, 0.005 * (k + 1))


def test_arm_goes_through_ssp(shop, tmp_path):
    system = shop("pd")
    again = load_system(save_system(system, tmp_path / "arm.ssp"))
    assert again.starts == system.starts
    np.testing.assert_array_equal(again.simulate(0.05, 0.005).table, system.simulate(0.05, 0.005).table)


def test_file_in_the_docs_runs(shop):
    page = (MODEL.parents[1] / "docs" / "cosim.md").read_text(encoding="utf-8")
    folder = shop("pd").folder
    (folder / "docs.yaml").write_text(re.search(r"```yaml\n(.*?)```", page, re.S)[1], encoding="utf-8")
    system = load_system(folder / "docs.yaml")
    found = system.simulate(0.05, crossings=[Crossing("arm.shoulder.angle", "45.2 deg", "up")])
    assert system.starts["arm"]["payload.mass"] == 0.8
    assert [event.kind for event in found.info.events] == ["crossing"]
    assert abs(np.interp(found.info.events[0].time, found.t, found["arm.shoulder.angle"]) - np.radians(45.2)) < 1e-8
