"""Fixtures for all tests of FMUs: a folder, two FMUs in it, and an instance.

Controllers and slaves are scripts for other tools, which load them with modules of their own: nothing to collect.
"""

from __future__ import annotations

import pytest
from fmus import ARMS, mechanism_fmu

from fmu_export.host import Instance, Unpacked

collect_ignore_glob = ["controllers/*", "tiny.py"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fmus")


@pytest.fixture(scope="module")
def pendulum(folder):
    return mechanism_fmu(folder)


@pytest.fixture(scope="module")
def arms(folder):
    return mechanism_fmu(folder, "arms", ARMS)


@pytest.fixture
def instance(pendulum):
    with Unpacked(pendulum) as unpacked, Instance(unpacked) as fmu:
        yield fmu
