"""Real robots as MuJoCo reads them, and the maps between its vectors and ours.

MuJoCo's free joint has the velocity of the body's origin in the world's axes, then the angular velocity in the body's;
ours has the body-fixed twist (w, v).  With R the rotation of the body and T = [0 R; I 0],

    v_theirs = T v_ours,   a_theirs = T a_ours + (R (w×v), 0),   τ_ours = Tᵀ τ_theirs,   M_ours = Tᵀ M_theirs T.   (1)
"""

from __future__ import annotations

import xml.etree.ElementTree as ET

import mujoco
import numpy as np
import robots

from liegeo.lie import SO3Q


def load(file: str, floating: bool) -> mujoco.MjModel:
    """MuJoCo's own reading of the URDF, without shapes, friction and coupled joints, as Pinocchio's `load` has it."""
    urdf = ET.parse(robots.FOLDER / file).getroot()
    for parent in urdf.iter():
        for child in list(parent):
            if child.tag in ("visual", "collision", "dynamics", "mimic"):
                parent.remove(child)
    options = {"discardvisual": "true", "fusestatic": "false", "balanceinertia": "false"}
    ET.SubElement(ET.SubElement(urdf, "mujoco"), "compiler", options)
    spec = mujoco.MjSpec.from_string(ET.tostring(urdf, encoding="unicode"))
    if floating:
        spec.worldbody.first_body().add_freejoint()
    model = spec.compile()
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    return model


class Robot:
    """One robot in one state, on both sides, with the maps of (1) between them."""

    def __init__(self, theirs: mujoco.MjModel, ours, state) -> None:
        self.theirs, self.ours, self.state = theirs, ours, state
        self.data = mujoco.MjData(self.theirs)
        n = self.ours.nv
        # theirs = T @ ours, joint by joint and by name; `shift` is what accelerations have beside.
        self.T, self.shift = np.zeros((n, n)), np.zeros(n)
        for i in range(self.theirs.njnt):
            joint = self.theirs.joint(i)
            name = joint.name or "root_joint"
            q, v = self.ours.group.q[name], self.ours.group.v[name]
            to_q, to_v = self.theirs.jnt_qposadr[i], self.theirs.jnt_dofadr[i]
            if joint.type[0] == mujoco.mjtJoint.mjJNT_FREE:
                quaternion, position = np.split(self.state.q[q], [4])
                w, u = np.split(self.state.v[v], 2)
                R = SO3Q.matrix(quaternion)
                self.data.qpos[to_q : to_q + 7] = [*position, *quaternion]
                self.T[to_v : to_v + 3, v.start + 3 : v.stop] = R
                self.T[to_v + 3 : to_v + 6, v.start : v.start + 3] = np.eye(3)
                self.shift[to_v : to_v + 3] = R @ np.cross(w, u)
            else:
                self.data.qpos[to_q] = self.state.q[q].item()
                self.T[to_v, v] = 1.0
        self.data.qvel[:] = self.T @ self.state.v
