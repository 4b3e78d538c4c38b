"""Every class of joints: its screws are those of its definition, and its pose moves along them."""

from __future__ import annotations

import numpy as np
import pytest
from examples import joint_example

import liegeo as lg
from liegeo import dynamics
from liegeo import model as lm
from liegeo.lie import SE3

pytestmark = pytest.mark.kernels


def made(cls):
    return cls(name="j", parent="world", child="b", **joint_example(cls).fields)


@pytest.mark.parametrize("cls", lm.ALL_JOINTS, ids=lambda cls: cls.__name__)
def test_screws_are_those_of_the_definition(cls):
    assert np.allclose(made(cls).screws(), joint_example(cls).screws, atol=1e-15)


@pytest.mark.parametrize("cls", lm.ALL_JOINTS, ids=lambda cls: cls.__name__)
def test_the_pose_moves_along_the_screws(cls):
    """Also where a kind of its own in kernels/layout.py has no pose in kernels/joints.py: then nothing moves."""
    model = lg.Tree([lg.Body("b", mass=1.0, inertia=(1, 1, 1))], [made(cls)]).compile()
    screws, step = np.array(joint_example(cls).screws), 1e-5
    for k in range(model.nv):
        there, back = (
            dynamics.body_poses(model, model.state(q=model.group.exp(sign * step * np.eye(model.nv)[k])))["b"]
            for sign in (1.0, -1.0)
        )
        assert np.allclose(SE3.log(SE3.inverse(back) @ there) / (2.0 * step), screws[k], atol=1e-9)
