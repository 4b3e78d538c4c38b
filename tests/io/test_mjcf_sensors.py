"""Sensors of MJCF files beside MuJoCo's own values, at random states of a mechanism in space."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import liegeo as lg
from liegeo import model as lm
from liegeo.lie import SO3, SO3Q

mujoco = pytest.importorskip("mujoco")

MJCF = """
<mujoco>
  <option gravity="0.5 -1 -9.81"/>
  <worldbody>
    <site name="origin" pos="0.1 0.2 0.3" quat="0.8 0.6 0 0"/>
    <body name="base" pos="0.2 0 0.1">
      <joint name="turn" type="hinge" axis="0.6 0 0.8" damping="0.3"/>
      <geom name="block" type="box" size="0.1 0.2 0.3" pos="0.1 0 -0.2" quat="0.8 0 0.6 0"/>
      <site name="imu" pos="0.1 0.2 -0.1" quat="0.6 0 0 0.8"/>
      <body name="arm" pos="0.2 0.1 0.5">
        <joint name="slide" type="slide" axis="0 0.8 0.6" stiffness="20"/>
        <geom type="box" size="0.2 0.1 0.1" pos="0.2 0.1 0.3"/>
        <site name="cell" pos="0 0.1 0.2" quat="0.8 0 0 0.6"/>
      </body>
    </body>
  </worldbody>
  <sensor>
    <accelerometer name="acc" site="imu" cutoff="50"/>
    <gyro name="gyro" site="imu" noise="0.01"/>
    <force name="force" site="cell"/>
    <torque name="torque" site="cell"/>
    <jointpos name="angle" joint="turn"/>
    <jointvel name="speed" joint="slide"/>
    <framepos name="where" objtype="site" objname="cell"/>
    <framequat name="turned" objtype="body" objname="arm"/>
    <framelinvel name="rate" objtype="xbody" objname="arm"/>
    <frameangvel name="spin" objtype="geom" objname="block"/>
    <framepos name="beside" objtype="xbody" objname="arm" reftype="site" refname="imu" cutoff="3"/>
    <framelinvel name="passing" objtype="site" objname="cell" reftype="site" refname="origin"/>
    <frameangvel name="rolling" objtype="site" objname="cell" reftype="xbody" refname="base"/>
    <touch name="touch" site="cell"/>
    <velocimeter name="velocity" site="imu"/>
    <subtreecom name="centre" body="base"/>
    <framexaxis name="axis" objtype="site" objname="cell"/>
  </sensor>
</mujoco>
"""


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Return our tree, MuJoCo's model, and the warning."""
    file = tmp_path_factory.mktemp("mjcf") / "sensors.xml"
    file.write_text(MJCF)
    with pytest.warns(UserWarning, match="not everything was taken over") as caught:
        tree = lg.io.read_mjcf(file)
    return tree, mujoco.MjModel.from_xml_path(str(file)), str(caught[0].message)


def test_what_is_read_and_what_is_not(both):
    tree, _, said = both
    kinds = {sensor.name: type(sensor) for sensor in tree.sensors}
    assert kinds == {
        "acc": lm.Accelerometer,
        "gyro": lm.Gyro,
        "force": lm.ForceTorque,
        "torque": lm.ForceTorque,
        "angle": lm.Encoder,
        "speed": lm.Tachometer,
        **dict.fromkeys(("where", "turned", "rate", "spin", "beside", "passing", "rolling"), lm.RelativeMotion),
    }
    by_name = {sensor.name: sensor for sensor in tree.sensors}
    assert by_name["acc"].range == 50.0
    unread = "'touch' (touch), 'velocity' (velocimeter), 'centre' (subtreecom), 'axis' (framexaxis)"
    assert f"sensors that have no equal here: {unread}." in said
    assert "noise of sensors, which needs a period: 'gyro' (0.01)." in said
    assert "cutoffs of sensors of frames, force and torque: 'beside'." in said


def test_values_are_those_of_mujoco(both):
    tree, theirs, _ = both
    model, data = tree.compile(), mujoco.MjData(theirs)
    calculator = model.calculator()
    wanted = {
        "acc": "acc.specific_force",
        "gyro": "gyro.angular_velocity",
        "force": "force.force",
        "torque": "torque.moment",
        "angle": "angle.angle",
        "speed": "speed.speed",
        "where": "where.position",
        "rate": "rate.velocity",
        "spin": "spin.angular_velocity",
        "beside": "beside.position",
        "passing": "passing.velocity",
        "rolling": "rolling.angular_velocity",
        "turned": "turned.rotation",
    }
    ours = {name: calculator.outputs(column) for name, column in wanted.items()}
    rng = np.random.default_rng(4)
    for _ in range(5):
        q, v = 0.7 * rng.normal(size=2), rng.normal(size=2)
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(theirs, data)
        for name, output in ours.items():
            found, expected = np.ravel(output(q, v)), np.array(data.sensor(name).data)
            if name == "turned":
                # ours is a rotation vector
                found, expected = SO3.exp(found), SO3Q.matrix(expected)
            assert np.allclose(found, np.ravel(expected).reshape(np.shape(found)), atol=1e-10), name


def test_files_without_sensors_say_nothing_of_them(tmp_path):
    file = tmp_path / "plain.xml"
    begin, end = MJCF.index("  <sensor>"), MJCF.index("</mujoco>")
    file.write_text(MJCF[:begin].replace('type="box"', 'type="box" contype="0" conaffinity="0"') + MJCF[end:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not lg.io.read_mjcf(file).sensors
