"""Sensors of MJCF files, as far as ours measure the same; tests/io/test_mjcf_sensors.py compares values.

| MJCF | here |
| --- | --- |
| accelerometer, gyro | `Accelerometer`, `Gyro` at the site |
| force, torque | `ForceTorque` of the joint into the body, at the site |
| jointpos, jointvel | `Encoder`, `Tachometer` |
| framepos, framequat, framelinvel, frameangvel | `RelativeMotion` from the reference, or the world, to the object |

A cutoff is their range.  Noise is only told there, as MuJoCo adds none, and ours needs a period; so it is named in the
warning of the reader, with all sensors that are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from liegeo import model as lm
from liegeo.io.foreign import UniqueNames, shorten
from liegeo.model.forces import Place

_AT_SITE: dict[str, type[lm.Sensor]] = {"ACCELEROMETER": lm.Accelerometer, "GYRO": lm.Gyro}
_OF_JOINT: dict[str, type[lm.Sensor]] = {"JOINTPOS": lm.Encoder, "JOINTVEL": lm.Tachometer}
_OF_FRAMES = ("FRAMEPOS", "FRAMEQUAT", "FRAMELINVEL", "FRAMEANGVEL")
_ACROSS = ("FORCE", "TORQUE")

Find = Callable[[int], Place]


class SensorReader:
    """From the arrays of an MjModel to sensors; `notes` is what was not taken over.

    `into` has, by body, the joint into it, and `joints` the names of all joints; `places` finds things by their kind.
    """

    def __init__(
        self,
        mujoco: Any,
        m: Any,
        names: UniqueNames,
        joints: list[str],
        into: Mapping[int, str],
        places: Mapping[str, Find],
    ) -> None:
        self.mj, self.m, self.names, self.joints, self.into, self.places = mujoco, m, names, joints, into, places
        self.unread: list[str] = []
        self.noisy: list[str] = []
        self.unlimited: list[str] = []

    def sensors(self) -> list[lm.Sensor]:
        return [sensor for i in range(self.m.nsensor) for sensor in self._sensor(i)]

    @property
    def notes(self) -> list[str]:
        """Return what was not taken over."""
        groups = (
            ("sensors that have no equal here", self.unread),
            ("noise of sensors, which needs a period", self.noisy),
            ("cutoffs of sensors of frames, force and torque", self.unlimited),
        )
        return [f"{what}: {shorten(items)}." for what, items in groups if items]

    def _sensor(self, i: int) -> Iterator[lm.Sensor]:
        m, mj = self.m, self.mj
        kind = mj.mjtSensor(int(m.sensor_type[i])).name.removeprefix("mjSENS_")
        given = m.sensor(i).name or f"sensor_{i}"
        made = self._made(i, kind)
        if made is None:
            self.unread.append(f"'{given}' ({kind.lower()})")
            return
        cls, fields = made
        cutoff = float(m.sensor_cutoff[i])
        if cutoff > 0.0 and cls in (*_AT_SITE.values(), *_OF_JOINT.values()):
            fields["range"] = cutoff
        elif cutoff > 0.0:
            self.unlimited.append(f"'{given}'")
        if float(m.sensor_noise[i]) > 0.0:
            self.noisy.append(f"'{given}' ({float(m.sensor_noise[i]):g})")
        yield cls(name=self.names.take(given, "sensor"), **fields)

    def _made(self, i: int, kind: str) -> tuple[type[lm.Sensor], dict[str, Any]] | None:
        """Return class and fields of a sensor; None if there is no such sensor here."""
        m, which = self.m, int(self.m.sensor_objid[i])
        place = self._place(int(m.sensor_objtype[i]), which)
        if kind in _AT_SITE:
            return (_AT_SITE[kind], {"at": place}) if place is not None else None
        if kind in _OF_JOINT:
            return _OF_JOINT[kind], {"joint": self.joints[which]}
        if kind in _ACROSS:
            body = int(m.site_bodyid[which])
            return (lm.ForceTorque, {"joint": self.into[body], "at": place}) if body in self.into else None
        if kind not in _OF_FRAMES or place is None:
            return None
        reference: Place | None = "world"
        if int(m.sensor_refid[i]) >= 0:
            reference = self._place(int(m.sensor_reftype[i]), int(m.sensor_refid[i]))
        return (lm.RelativeMotion, {"a": reference, "b": place}) if reference is not None else None

    def _place(self, kind: int, i: int) -> Place | None:
        """Return the place of a site, body or geom; None of other things."""
        find = self.places.get(self.mj.mjtObj(kind).name.removeprefix("mjOBJ_"))
        return None if find is None else find(i)


def places_of(m: Any, bodies: list[str], pose: Callable[[Any, Any], Any]) -> dict[str, Find]:
    """Return by kind of MuJoCo's objects how their frames are found."""

    def on(body: int, X: Any) -> Place:
        return bodies[body], np.asarray(X)

    return {
        "SITE": lambda s: on(int(m.site_bodyid[s]), pose(m.site_pos[s], m.site_quat[s])),
        "XBODY": lambda b: bodies[b],
        # the frame of the inertia
        "BODY": lambda b: on(b, pose(m.body_ipos[b], m.body_iquat[b])),
        "GEOM": lambda g: on(int(m.geom_bodyid[g]), pose(m.geom_pos[g], m.geom_quat[g])),
    }
