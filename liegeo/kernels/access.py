"""Who writes and reads the fields of layout.py; tests/dynamics/test_layout.py compares it with every access it sees.

[TABLE]
FIELD: writers -> readers

Of W these are functions: readers read what another function, or an earlier call, left there; helpers that are told
where to read and write count as their callers.  Of the other arrays writers are functions above the kernels (mostly of
`Compiler` in model/compiler.py), and readers are modules of kernels.  Modules above the kernels read too.  The scratch
of a motion is passed to all other kernels as q, v, u or their results: its writers and readers are the functions of
motion.py that do so.  "module.one,another" are two functions of one module.
"""

from __future__ import annotations

from typing import NamedTuple

from liegeo.kernels import layout as at


class Access(NamedTuple):
    """Who writes a field, and who reads it."""

    writers: tuple[str, ...]
    readers: tuple[str, ...]


_TEXT = """
[HEADER_ROW]
N_BODIES: compiler.model -> articulated composite constraints dry_friction elements elimination inertia inverse
    kinematics loops motion observe sparse_loops
N_Q: compiler.model -> motion observe
N_V: compiler.model -> articulated constraints dry_friction elements elimination joint_elements loops motion observe
    sparse_loops
N_U: compiler._on_joints -> articulated contact dry_friction inverse joint_elements line_laws loops motion observe
    sparse_loops
N_WORK: compiler.model -> motion
FULL: compiler.model -> inertia kinematics
N_ELEMENTS: compiler._forces -> articulated contact elements inverse loops motion observe ropes sparse_loops
ELEMENTS: compiler._forces -> contact elements ropes
N_FRAMES: compiler._put_frames -> constraints elements
FRAMES: compiler._put_frames -> elements
N_ACTUATORS: compiler._forces -> elements inverse
ACTUATORS: compiler._forces -> elements inverse
WORLD: compiler._put_frames -> elements
N_X: compiler._on_joints -> contact joint_elements line_laws motion
SHARED: compiler.model -> inertia reduced
N_CONSTRAINTS: compiler._constraints -> constraints loops
CONSTRAINTS: compiler._constraints -> constraints loops
N_ROWS: compiler._constraints -> constraints elimination loops motion observe sparse_loops
ROWS_W: compiler._constraints -> constraints elimination loops motion observe sparse_loops
N_JOINT_ELEMENTS: compiler._on_joints -> dry_friction elements inverse joint_elements motion observe
JOINT_ELEMENTS: compiler._on_joints -> joint_elements
N_STICKING: compiler._sticking -> motion
ELIMINATION: compiler._plan_elimination -> constraints elimination elimination_table loops sparse_loops
N_HELD: compiler._on_joints -> dry_friction motion observe
HELD_W: compiler._on_joints -> dry_friction

[ELIMINATION_ROW]
PLAN: compiler._plan_elimination -> elimination sparse_loops

[BODY_ROW]
PARENT: compiler._body_ints -> articulated composite crowd elimination inverse kinematics loops observe
KIND: compiler._body_ints -> constraints crowd elements joint_elements kinematics motion
JQ: compiler._body_ints -> constraints elements kinematics motion observe
JV: compiler._body_ints -> articulated composite constraints dry_friction elements elimination inverse kinematics
    loops motion observe
NV: compiler._body_ints -> articulated composite elements elimination inverse kinematics loops motion observe
    sparse_loops
SCREWS: compiler._body_ints -> kinematics
NM: compiler._body_ints -> articulated composite constraints elements elimination inertia inverse kinematics loops
    motion observe reduced sparse_loops
EQ: compiler._body_ints -> constraints elements inertia kinematics motion observe
EV: compiler._body_ints -> articulated composite constraints elements elimination inertia inverse kinematics loops
    motion observe reduced
PARENT_NODE: compiler._body_ints,_put_rest -> articulated composite elimination inverse kinematics loops observe
OWN_NODE: compiler._body_ints -> kinematics
MODAL: compiler._body_ints -> articulated elements inertia motion observe
FLEX: compiler._body_ints -> articulated composite elements elimination inertia inverse kinematics loops observe
    reduced sparse_loops
CARRIER: compiler._body_ints -> articulated composite elimination kinematics loops observe
OFFSET: compiler._body_ints -> articulated composite elimination inverse joint_elements kinematics loops observe
    reduced
LOCKED: model.Model.lock -> articulated dry_friction elements motion
AXIS: compiler._body_ints -> articulated kinematics
PASSIVE: compiler._body_ints -> elements inverse observe
DIAGONAL: compiler._body_ints -> articulated elements inertia motion
SECOND_T: compiler._body_ints -> inertia
SECOND_R: compiler._body_ints -> inertia
REDUCED: compiler._reduce -> articulated inertia reduced
REDUCED_W: compiler._reduce -> reduced
N_SLOTS: compiler._reduce -> reduced
SLOT: compiler._reduce -> reduced
CARRIER_F: compiler._body_ints -> kinematics
MASSES: compiler._body_ints,_put_rest -> articulated elements inertia motion observe
MATRICES: compiler._put_rest -> articulated elements inertia motion observe

[NODE_ROW]
NODE_F: compiler._put_node -> nodes
NODE_NM: compiler._put_node -> nodes
NODE_SECOND: compiler._put_node -> nodes

[FRAME_ROW]
FRAME_BODY: compiler._frame_on -> constraints crowd elements loops
FRAME_NODE: compiler._frame_on -> constraints elements elimination loops
FRAME_F: compiler._frame_on -> elements
FRAME_W: compiler._frame_on -> constraints contact crowd elements elimination lines loops observe ropes

[ELEMENT_ROW]
ELEMENT_KIND: compiler._forces -> contact elements ropes
FRAME_A: compiler._forces -> contact elements lines
FRAME_B: compiler._forces -> contact elements lines
ELEMENT_F: compiler._forces -> contact crowd line_laws lines ropes
ELEMENT_U: compiler._forces -> elements line_laws
ELEMENT_X: compiler._sticking -> contact line_laws
ELEMENT_N: compiler._forces -> contact crowd elements line_laws observe ropes
ELEMENT_MORE: compiler._forces -> crowd elements line_laws observe ropes
ELEMENT_W: compiler._forces -> crowd elements observe ropes

[CROWD_ROW]
CROWD_FRAMES: compiler._put_frames -> crowd elements observe
CROWD_COUNTS: compiler._put_frames -> crowd

[ROPE_ROW]
ROPE_FRAMES: compiler._put_frames -> elements ropes
ROPE_COORDINATE: compiler._forces -> ropes
ROPE_SPEED: compiler._forces -> ropes
ROPE_SCREW: compiler._forces -> ropes

[ACTUATOR_ROW]
ACTUATED: compiler._forces -> elements inverse observe
ACTUATOR_U: compiler._forces,_on_joints -> elements
ACTUATOR_F: compiler._forces -> elements

[CONSTRAINT_ROW]
C_KIND: compiler._constraints -> constraints elimination loops observe
C_A: compiler._constraints -> constraints elimination loops
C_B: compiler._constraints -> constraints elimination loops
C_F: compiler._constraints -> constraints elimination loops
C_ROW: compiler._constraints -> constraints loops observe
C_N: compiler._constraints -> constraints loops observe
C_U: compiler._constraints -> constraints
C_MORE: compiler._constraints custom.connect -> constraints elimination loops

[COUPLING_TERMS]
N_TERMS: compiler._coupling -> constraints elimination loops
TERMS: compiler._coupling -> constraints elimination loops

[JOINT_ELEMENT_ROW]
JE_KIND: compiler._on_joints -> joint_elements
JE_TERMS: compiler._on_joints -> joint_elements
JE_N_TERMS: compiler._on_joints -> joint_elements
JE_FACTORS: compiler._on_joints -> joint_elements
JE_X: compiler._on_joints -> joint_elements
JE_N_X: compiler._on_joints -> joint_elements
JE_INPUT: compiler._on_joints -> joint_elements
JE_F: compiler._on_joints -> joint_elements
JE_BODY: compiler._on_joints -> joint_elements
JE_N: compiler._on_joints ->
JE_TIME: compiler._on_joints -> joint_elements

[TERM_ROW]
TERM_SPEED: compiler._terms -> joint_elements
TERM_COORDINATE: compiler._terms -> joint_elements

[FACTOR_DATA]
TERM_FACTORS: compiler._terms -> joint_elements

[BODY_DATA]
X_NJ_R: compiler._body_floats -> joints kinematics
X_NJ_P: compiler._body_floats -> joints kinematics
MASS: compiler._body_floats -> inertia
MOMENT: compiler._body_floats -> inertia
INERTIA: compiler._body_floats -> inertia
ARMATURE: compiler._body_floats -> articulated composite inverse observe
X_DB_R: compiler._body_floats -> kinematics
X_DB_P: compiler._body_floats -> kinematics
STIFFNESS: compiler._body_floats -> articulated elements motion observe
DAMPING: compiler._body_floats -> articulated elements motion observe
FRICTION: compiler._body_floats -> elements
FRICTION_SPEED: compiler._body_floats -> elements
REST: compiler._body_floats -> elements observe

[SCREW_DATA]
IN_D: compiler._body_ints -> joints kinematics
IN_B: compiler._body_ints -> kinematics

[DRUM_DATA]
DRUM_SCREW: compiler._drum -> ropes

[MODAL_DATA]
M_CT: compiler._modal_data -> inertia
M_J1: compiler._modal_data -> inertia
M_DIAGONAL_K: compiler._modal_data -> inertia
M_DIAGONAL_D: compiler._modal_data -> inertia
M_CR1: compiler._modal_data -> inertia
M_J2: compiler._modal_data -> inertia

[MODAL_MASSES]
CR0: compiler._masses -> inertia
ME: compiler._masses -> inertia

[MODAL_MATRICES]
K: compiler._put_rest -> articulated inertia motion observe
D: compiler._put_rest -> articulated elements inertia motion

[SECOND_T_DATA]
CT1: compiler._second_order -> inertia

[SECOND_R_DATA]
CR1_SKEW: compiler._second_order -> inertia
CR1_SYMMETRIC: compiler._second_order -> inertia

[NODE_DATA]
NODE_R: compiler._put_node -> nodes
NODE_P: compiler._put_node -> nodes
NODE_MODES: compiler._put_node -> nodes
NODE_TRANSLATIONS: compiler._put_node -> nodes

[NODE_SECOND_DATA]
G_R: compiler._put_node -> nodes
G_T: compiler._put_node -> nodes

[CARRIER_DATA]
POSE: compiler._body_ints -> kinematics
PI: compiler._body_ints -> kinematics

[REDUCED_DATA]
LAMBDA_F: compiler._reduce -> reduced
LAMBDA_MU: compiler._reduce -> reduced
UPSILON: compiler._reduce -> reduced
ROOT: compiler._reduce -> reduced
E: compiler._reduce -> reduced
SQUARE: compiler._reduce -> reduced

[FRAME_DATA]
X: compiler._frame_on -> elements

[ACTUATOR_DATA]
GEAR: compiler._forces -> elements
LIMIT: compiler._forces -> elements

[CUT_DATA]
CUT_SCREWS: compiler._cut -> constraints joints
HELD: compiler._cut -> constraints

[DISTANCE_DATA]
L0: compiler._constraints -> constraints

[POINT_DATA]
DIRECTIONS: compiler._constraints -> constraints

[ROLLING_DATA]
RADIUS: compiler._constraints -> constraints
DISC: compiler._constraints -> constraints
DISC_AXIS: compiler._constraints -> constraints
NORMAL: compiler._constraints -> constraints
TANGENTS: compiler._constraints -> constraints

[COUPLING_DATA]
C0: compiler._coupling -> constraints
FACTORS: compiler._coupling -> constraints elimination loops

[BODY_SCRATCH]
R_NB: kinematics.body_pose -> articulated.articulate,gather,give_inertia,scatter composite.mass_matrix
    elements.element_energy,element_powers elimination.eliminate,inward,outward
    inverse.body_acceleration,forces,inverse_dynamics,momentum kinematics.body_velocity,world_poses
    loops.correct,multipliers,operational_inertia observe.jacobian reduced.receive_inertia
P_NB: kinematics.body_pose -> articulated.articulate,gather,give_inertia,scatter composite.mass_matrix
    elimination.eliminate,inward,outward inverse.body_acceleration,forces,inverse_dynamics,momentum
    kinematics.body_velocity,world_poses loops.operational_inertia observe.jacobian reduced.receive_inertia
VEL: kinematics.body_velocity -> elements.place_frames inertia.body_bias kinematics.body_velocity
    observe.energies,show
BIAS: articulated.clear kinematics.body_velocity -> articulated.gather,scatter inverse.body_acceleration
SUB: kinematics.body_pose -> articulated.articulate,gather,scatter composite.mass_matrix
    elimination.eliminate,inward,outward inverse.body_acceleration,forces,inverse_dynamics,momentum
    joint_elements.load_of kinematics.body_velocity loops.operational_inertia observe.jacobian
INE: articulated.articulate,give_inertia composite.mass_matrix elimination.eliminate inertia.body_inertia
    reduced.reduce -> articulated.articulate,gather,give_inertia,modal_block composite.mass_matrix
    elimination.eliminate inertia.body_bias inverse.displacement,forces,inverse_dynamics,momentum observe.energies
    reduced.receive_inertia,reduce sparse_loops.forward_dynamics
ACC: articulated.scatter elimination.outward inverse.body_acceleration -> constraints.frame_rate
    inverse.body_acceleration,displacement,forces,inverse_dynamics,momentum observe.show
    sparse_loops.forward_dynamics
FOR: articulated.clear,gather,give_force elements.push elimination.inward inertia.body_bias,body_inertia
    inverse.forces,inverse_dynamics,momentum loops.operational_inertia sparse_loops.forward_dynamics ->
    articulated.gather,give_force elements.push elimination.inward inverse.forces,inverse_dynamics,momentum
    joint_elements.load_of observe.solved sparse_loops.forward_dynamics
PSU: articulated.articulate,give_inertia elimination.eliminate kinematics.body_pose,body_velocity ->
    articulated.gather,scatter elimination.inward,outward loops.operational_inertia
FAC: articulated.articulate elimination.eliminate -> articulated.gather,scatter elimination.inward,outward
    loops.correct,operational_inertia
RES: articulated.gather elimination.inward loops.correct,correction,forward_dynamics
    sparse_loops.smallest_multipliers -> articulated.scatter elimination.outward loops.correct,forward_dynamics
SIZE: articulated.articulate elimination.eliminate inertia.body_inertia -> articulated.articulate
    elimination.eliminate

[MODAL_SCRATCH]
PID: kinematics.body_pose -> articulated.gather,modal_block,scatter composite.mass_matrix
    elimination.eliminate,inward,outward inverse.body_acceleration,forces,inverse_dynamics,momentum
    kinematics.body_velocity loops.operational_inertia observe.jacobian reduced.gather_reduced
ZF: articulated.clear,give_force elements.push inertia.body_bias inverse.forces,inverse_dynamics,momentum
    reduced.gather_reduced sparse_loops.forward_dynamics -> articulated.gather,give_force elements.push
    elimination.inward inverse.forces,inverse_dynamics,momentum reduced.gather_reduced sparse_loops.forward_dynamics
EPS: articulated.gather elimination.inward loops.correct,correction,forward_dynamics reduced.gather_reduced
    sparse_loops.smallest_multipliers -> articulated.scatter elimination.outward loops.correct,forward_dynamics
    reduced.scatter_reduced
PRF: articulated.articulate,give_inertia,modal_block elimination.eliminate inertia.body_inertia ->
    articulated.articulate,gather,give_inertia,modal_block,scatter composite.mass_matrix
    elimination.eliminate,inward,outward inertia.body_bias inverse.displacement,forces,inverse_dynamics,momentum
    loops.operational_inertia observe.energies sparse_loops.forward_dynamics
PFF: articulated.articulate,give_inertia,modal_block elimination.eliminate inertia.body_inertia ->
    articulated.articulate,gather,give_inertia,modal_block composite.mass_matrix elimination.eliminate,inward
    inverse.displacement,forces,inverse_dynamics,momentum loops.operational_inertia observe.energies
    sparse_loops.forward_dynamics

[CARRIER_SCRATCH]
CARRIER_R: kinematics.body_pose -> articulated.give_force,give_inertia,scatter composite.mass_matrix
    elimination.eliminate,outward inverse.body_acceleration kinematics.body_velocity,world_poses
    loops.operational_inertia observe.jacobian
CARRIER_P: kinematics.body_pose -> articulated.give_force,give_inertia,scatter composite.mass_matrix
    elimination.eliminate,outward inverse.body_acceleration kinematics.body_velocity,world_poses
    loops.operational_inertia observe.jacobian
CARRIER_PI: kinematics.body_pose -> articulated.give_force,give_inertia,scatter composite.mass_matrix
    elimination.eliminate,outward inverse.body_acceleration kinematics.body_velocity loops.operational_inertia
    observe.jacobian
CARRIER_KEPT: kinematics.body_pose -> kinematics.body_velocity

[REDUCED_SCRATCH]
PSI: reduced.gather_reduced,receive_force -> reduced.gather_reduced,scatter_reduced
X_SERIES: reduced.receive_inertia,reduce -> reduced.gather_reduced,reduce,scatter_reduced

[SHARED_SCRATCH]
J2_ETA: inertia.body_inertia -> inertia.body_bias
CR1_ETA: inertia.body_bias,body_inertia ->

[REDUCED_SHARED]
SERIES: reduced.gather_reduced,receive_inertia,reduce,scatter_reduced ->

[FRAME_SCRATCH]
X_WF: elements.place_frames -> constraints.frame_rate contact.contact,contact_rates,touch,wrench_at crowd.crowd
    elements.apply_elements,element_energy,element_powers lines.relative,span,stretch observe.show ropes.rope
X_BF: elements.place_frames -> constraints.frame_rate elements.push elimination.eliminate loops.operational_inertia
V_F: elements.place_frames -> ball_stops.ball_stop constraints.accelerated,evaluate,frame_rate contact.touch
    elements.apply_elements,element_energy,element_powers lines.stretch observe.show
PI_F: elements.place_frames -> constraints.frame_rate elements.push elimination.eliminate loops.operational_inertia

[CROWD_SCRATCH]
CROWD_WRENCHES: crowd.crowd -> elements.apply_elements observe.show
CROWD_CUBES: crowd.crowd ->
CROWD_AFTER: crowd.crowd ->
CROWD_LISTS: crowd.crowd ->

[ROPE_SCRATCH]
ROPE_WOUND: ropes.wind_ropes -> ropes.rope
ROPE_WRENCHES: ropes.rope -> elements.apply_elements

[HELD_SCRATCH]
HELD_SPEED: dry_friction.stick ->
HELD_SLOT: dry_friction.stick ->
HELD_LIMIT: dry_friction.stick ->
HELD_FREE: dry_friction.stick ->
HELD_FORCE: dry_friction.stick ->
HELD_SIDE: dry_friction.stick ->
HELD_G: dry_friction.stick ->
HELD_PART: dry_friction.stick ->
HELD_LOADS: dry_friction.hold -> dry_friction.stick
HELD_U: dry_friction.hold -> inverse.body_acceleration,inverse_dynamics joint_elements.joint_element_law
HELD_A: articulated.scatter elements.add_resistance,load inverse.inverse_dynamics
    joint_elements.add_joint_element_forces -> articulated.gather dry_friction.hold,stick elements.add_resistance
    joint_elements.add_joint_element_forces

[WORLD_SCRATCH]
X_WB: kinematics.world_poses -> elements.place_frames
X_PB: kinematics.world_poses ->

[CUT_PARTS]
CUT_X: constraints.accelerated,evaluate loops.operational_inertia -> lines.relative
CUT_XJ: constraints.evaluate loops.operational_inertia -> lines.relative
CUT_S: constraints.evaluate loops.operational_inertia ->
CUT_DS: constraints.evaluate loops.operational_inertia ->
CUT_SUB: constraints.evaluate loops.operational_inertia ->
CUT_NORMAL: constraints.evaluate ->

[CONSTRAINT_SCRATCH]
ON_B: constraints.evaluate -> constraints.accelerated,push_rows elimination.eliminate,outward
    loops.operational_inertia observe.solved sparse_loops.smallest_multipliers
ON_A: constraints.evaluate -> constraints.push_rows elimination.eliminate loops.operational_inertia
PHI: constraints.evaluate -> loops.correct,correction sparse_loops.closing
RATE: constraints.evaluate -> loops.correct,correction sparse_loops.closing
CURVE: constraints.evaluate loops.jacobian -> constraints.accelerated
RIGHT: constraints.accelerated elimination.inward loops.correct,correction,forward_dynamics
    sparse_loops.closing,forward_dynamics,smallest_multipliers -> elimination.inward
    loops.forward_dynamics,jacobian,multipliers sparse_loops.forward_dynamics
LAMBDA: elimination.outward loops.correct,multipliers,release,smallest_multipliers
    sparse_loops.closing,forward_dynamics,smallest_multipliers,solve -> constraints.add_rows,push_rows
    elimination.outward loops.correct,correction,forward_dynamics,smallest_multipliers motion.along observe.solved
    sparse_loops.smallest_multipliers
PIVOT: elimination.inward loops.multipliers,operational_inertia,smallest_multipliers
    sparse_loops.smallest_multipliers -> elimination.outward sparse_loops.smallest_multipliers
ORDER: elimination.eliminate loops.operational_inertia -> elimination.inward,outward
    loops.multipliers,smallest_multipliers sparse_loops.smallest_multipliers
LOW: loops.operational_inertia -> loops.correct,correction,forward_dynamics
HIGH: loops.operational_inertia -> loops.correct,correction,forward_dynamics
ROWS_A: loops.operational_inertia,smallest_multipliers ->
L: loops.operational_inertia -> loops.multipliers,smallest_multipliers
ROWS_E: loops.operational_inertia -> loops.correct,correction,forward_dynamics
ROWS_G: loops.operational_inertia -> loops.correct,correction,forward_dynamics
MARKS: loops.operational_inertia ->
CUT_WORK: ->
USER_WORK: constraints.evaluate -> constraints.accelerated,add_rows elimination.eliminate loops.operational_inertia
SPARSE: elimination.eliminate,outward sparse_loops.smallest_multipliers -> elimination.inward,outward

[MOTION_SCRATCH]
U: motion.acceleration,drive,energy,powers,residual -> motion.acceleration,along,closing,powers,residual
A: motion.powers,residual ->
B: motion.powers,slope -> motion.residual
WORLD_POSES: motion.energy ->
NUMBERS: motion.energy ->
REGISTERS: motion.drive ->
EVEN: ->
COMPLEX_W: motion.along,slope ->
PLACE: motion.along,configuration_rate,slope -> motion.along,slope
SPEEDS: motion.along,slope ->
COMPLEX_U: motion.along,slope ->
RESULT: motion.along ->

[DRIVE_VECTOR]
FORCES: model.Model.drive motion.drive -> elements inverse joint_elements kinematics line_laws observe
INPUTS: model.Model.drive motion.drive -> constraints elements joint_elements line_laws observe
STATES_X: model.Model.drive motion.drive -> contact elements joint_elements line_laws observe
GRAVITY: model.Model.drive motion.drive -> articulated constraints loops observe

[DRIVE_INTS]
S_I: liegeo.motion.Drive._pack -> motion
S_NI: liegeo.motion.Drive._pack -> motion
S_F: liegeo.motion.Drive._pack -> motion
S_NF: liegeo.motion.Drive._pack -> motion
S_CALL: liegeo.motion.Drive._pack -> motion
S_TELL: liegeo.motion.Drive._pack -> motion
S_TABLES: liegeo.motion.Drive._pack -> motion programs
S_PROGRAMS: liegeo.motion.Drive._pack -> motion programs

[TABLE_ROW]
TABLE_U: liegeo.motion.Drive._pack -> motion
TABLE_D: liegeo.motion.Drive._pack -> motion
TABLE_PIECES: liegeo.motion.Drive._pack -> motion
TABLE_ORDER: liegeo.motion.Drive._pack -> motion

[PROGRAM_ROW]
PROGRAM_U: liegeo.motion.Drive._pack -> programs
PROGRAM_N: liegeo.motion.Drive._pack -> programs
PROGRAM_S: liegeo.motion.Drive._pack -> programs
PROGRAM_STEPS: liegeo.motion.Drive._pack -> programs
PROGRAM_D: liegeo.motion.Drive._pack -> programs
PROGRAM_CONSTANTS: liegeo.motion.Drive._pack ->

[STEP_ROW]
STEP_KIND: liegeo.motion.Drive._pack -> programs
STEP_OUT: liegeo.motion.Drive._pack -> programs
STEP_A: liegeo.motion.Drive._pack -> programs
STEP_B: liegeo.motion.Drive._pack -> programs

[DRIVE_FLOATS]
D_FIRST: liegeo.motion.Drive._pack -> motion
D_LAST: liegeo.motion.Drive._pack -> motion
D_U: liegeo.motion.Drive._pack -> motion

[PROGRAM_DATA]
CONSTANTS: liegeo.motion.Drive._pack -> programs

[TABLE_DATA]
TIMES: liegeo.motion.Drive._pack -> motion
COEFFICIENTS: liegeo.motion.Drive._pack -> motion
"""


def _names(text: str) -> tuple[str, ...]:
    out = []
    for word in text.split():
        module, dot, functions = word.rpartition(".")
        out += [module + dot + function for function in functions.split(",")]
    return tuple(out)


def _parse(text: str) -> dict[str, dict[str, Access]]:
    out: dict[str, dict[str, Access]] = {}
    # continuation lines are indented
    for line in text.replace("\n    ", " ").split("\n"):
        if line.startswith("["):
            table = out.setdefault(line.strip("[]"), {})
        elif line:
            name, _, rest = line.partition(":")
            writers, _, readers = rest.partition("->")
            table[name] = Access(_names(writers), _names(readers))
    return out


#: By name of the table in layout.py and by name of the field.
ACCESS = _parse(_TEXT)
# The compiler writes the numbers of every kind of element alike, and the law of the kind reads them.
for _kinds, _access in (
    (at.ELEMENT_KINDS, Access(("compiler._forces",), ("elements",))),
    (at.JOINT_ELEMENT_KINDS, Access(("compiler._on_joints",), ("joint_elements",))),
):
    for _name, _table in at.TABLES.items():
        if _table in _kinds.data:
            ACCESS[_name] = {field.name: _access for field in _table.fields}
# Contacts have kernels of their own behind their laws.
ACCESS["CONTACT_DATA"] = {field.name: Access(("compiler._forces",), ("contact",)) for field in at.CONTACT_DATA.fields}
ACCESS["CROWD_DATA"] = {
    "CROWD_CUBE": Access(("compiler._forces",), ("crowd",)),
    "CROWD_SURFACES": Access(("compiler._forces",), ("contact", "crowd")),
    "CROWD_MATERIALS": Access(("compiler._forces",), ("contact",)),
    "CROWD_PROFILES": Access(("compiler._forces",), ("contact",)),
}
# So have laws by formulas, ropes and stops of ball joints.
for _name, _module in (("LAW_DATA", "laws_of_joints"), ("ROPE_DATA", "ropes"), ("BALL_STOP_DATA", "ball_stops")):
    _access = Access(("compiler._forces",), (_module,))
    ACCESS[_name] = {field.name: _access for field in at.TABLES[_name].fields}
ACCESS["LAW_DATA"]["LAW_STEPS"] = Access(("compiler._forces",), ("programs",))
