"""Where things stand in the flat arrays that every pass shares, as tables (layout_table.py): docs/layout.md shows them.

A model is two arrays, `I` (int64) and `F` (float64); scratch is one array `W` of the type of q (float64, or complex128
for derivatives by complex step).  All three are one-dimensional: a row is a slice, found from an offset.  I and F are
read-only and shared by everybody who uses the model.  What drives a model is one vector `u`.  What belongs to one
motion of a model, and not to the model itself, is in two arrays `S` (int64) and `D` (float64), one for each stepper.

Frames of body i, from its parent P to itself (docs/theory/trees.md):

    P --(node of P, deforms)--> N --X_NJ--> J --joint--> D --X_DB--> B

N is P itself where the parent is rigid there.  D is fixed to the body's own inboard node, which deforms against B when
the modes are free-free; otherwise X_DB is constant.

Who writes and reads each field is in access.py, apart, because an edit of layout.py compiles every kernel anew.

In sizes, n is the number of modes of a body (of the parent, for the node that carries a joint), s that of the speeds of
a joint, k six times the number of slots of a body; `full` is 1 in full models and 0 in ruthless ones; m is the number
of rows of all constraints, `rows` that of one, `terms` the number of terms of a coupling, `user` the length of what
functions of a user's own write, `dense` is 1 where they are solved all together and 0 where elimination.py does it,
`plan` and `sparse` are what that needs, `points` the number of points of a profile or of surfaces of a crowd, `lists`
that of the lists of its cubes, `materials` that of its materials, `line` that of the points of its profiles, h the
number of elements with exact friction or friction by load; nq, nv, nu and nx are the lengths of q, v, u and x, `work`
is that of W, `bodies` the number of bodies; `pieces` and `order` belong to the table of an input, `constants` to a
program.
"""

from __future__ import annotations

from liegeo._jit import index, kernel
from liegeo.kernels.layout_table import Kinds, Table

# ---- I: whole numbers of a model

HEADER_ROW = Table("Header", "I", "0")
N_BODIES = HEADER_ROW.add("N_BODIES", 1, "number of bodies")
N_Q = HEADER_ROW.add("N_Q", 1, "length of q")
N_V = HEADER_ROW.add("N_V", 1, "length of v")
N_U = HEADER_ROW.add("N_U", 1, "length of u")
N_WORK = HEADER_ROW.add("N_WORK", 1, "length of W, as far as the model itself needs it")
FULL = HEADER_ROW.add("FULL", 1, "1 if the model is full, 0 if it is ruthless")
N_ELEMENTS = HEADER_ROW.add("N_ELEMENTS", 1, "number of force elements")
ELEMENTS = HEADER_ROW.add("ELEMENTS", 1, "where their rows begin in I")
N_FRAMES = HEADER_ROW.add("N_FRAMES", 1, "number of frames that force elements or constraints use")
FRAMES = HEADER_ROW.add("FRAMES", 1, "where their rows begin in I")
N_ACTUATORS = HEADER_ROW.add("N_ACTUATORS", 1, "number of actuators")
ACTUATORS = HEADER_ROW.add("ACTUATORS", 1, "where their rows begin in I")
WORLD = HEADER_ROW.add("WORLD", 1, "where the poses X_WB begin in W; 0 if there are no frames")
N_X = HEADER_ROW.add("N_X", 1, "number of first-order states, which stand in u before gravity")
SHARED = HEADER_ROW.add("SHARED", 1, "where the scratch begins in W that bodies use one after another")
N_CONSTRAINTS = HEADER_ROW.add("N_CONSTRAINTS", 1, "number of constraints")
CONSTRAINTS = HEADER_ROW.add("CONSTRAINTS", 1, "where their rows begin in I")
N_ROWS = HEADER_ROW.add(
    "N_ROWS", 1, "m: how many speeds the constraints take away if none is redundant, one row for each"
)
ROWS_W = HEADER_ROW.add("ROWS_W", 1, "where the scratch of the constraints begins in W")
N_JOINT_ELEMENTS = HEADER_ROW.add("N_JOINT_ELEMENTS", 1, "number of elements that act on joints")
JOINT_ELEMENTS = HEADER_ROW.add("JOINT_ELEMENTS", 1, "where their rows begin in I")
N_STICKING = HEADER_ROW.add("N_STICKING", 1, "number of contacts with first-order states")
N_HELD = HEADER_ROW.add(
    "N_HELD", 1, "number of elements with exact friction or friction by load, each with a multiplier in u"
)
HELD_W = HEADER_ROW.add("HELD_W", 1, "where their scratch begins in W")
ELIMINATION = HEADER_ROW.add(
    "ELIMINATION",
    1,
    "where the plan of elimination.py begins in I; 0 if the rows of constraints are solved all together",
)
HEADER = HEADER_ROW.end

BODY_ROW = Table("Body", "I", "HEADER + i * BODY_I_SIZE")
PARENT = BODY_ROW.add("PARENT", 1, "index of the parent, -1 for the world; always smaller than the index of the body")
KIND = BODY_ROW.add("KIND", 1, "kind of the joint (JOINT_KINDS)")
JQ = BODY_ROW.add("JQ", 1, "where the coordinates of the joint begin in q")
JV = BODY_ROW.add("JV", 1, "where its speeds begin in v")
NV = BODY_ROW.add("NV", 1, "s: number of its speeds")
SCREWS = BODY_ROW.add("SCREWS", 1, "where its screws begin in F")
NM = BODY_ROW.add("NM", 1, "n: number of modes")
EQ = BODY_ROW.add("EQ", 1, "where the modal coordinates begin in q")
EV = BODY_ROW.add("EV", 1, "where the modal speeds begin in v")
PARENT_NODE = BODY_ROW.add(
    "PARENT_NODE", 1, "where the row of the node that carries the joint begins in I, -1 if it does not deform"
)
OWN_NODE = BODY_ROW.add("OWN_NODE", 1, "where the row of the body's inboard node begins in I, -1 if it does not deform")
MODAL = BODY_ROW.add("MODAL", 1, "where the modal data of the body begin in F")
FLEX = BODY_ROW.add("FLEX", 1, "where the modal scratch of the body begins in W")
CARRIER = BODY_ROW.add("CARRIER", 1, "where the scratch of the node that carries the joint begins in W")
OFFSET = BODY_ROW.add("OFFSET", 1, "what X_DB is (OFFSET_KINDS)")
LOCKED = BODY_ROW.add("LOCKED", 1, "bit j is set if speed j of the joint is locked")
AXIS = BODY_ROW.add(
    "AXIS", 1, "0, 1, 2: the joint is one rotation about this axis of B and X_DB is the identity; -1 otherwise"
)
PASSIVE = BODY_ROW.add("PASSIVE", 1, "what springs, dampers and friction the joint has (PASSIVE_KINDS)")
DIAGONAL = BODY_ROW.add("DIAGONAL", 1, "1 if modal stiffness and damping are diagonal")
SECOND_T = BODY_ROW.add("SECOND_T", 1, "where C_t1 begins in F, -1 if it is zero")
SECOND_R = BODY_ROW.add("SECOND_R", 1, "where the parts of C_r1 begin in F, -1 if the symmetric part is zero")
REDUCED = BODY_ROW.add(
    "REDUCED", 1, "where the constants of reduced.py begin in F, -1 if the modal block is factorised each time"
)
REDUCED_W = BODY_ROW.add("REDUCED_W", 1, "where the scratch of reduced.py begins in W")
N_SLOTS = BODY_ROW.add("N_SLOTS", 1, "k / 6: number of children that reduced.py sees")
SLOT = BODY_ROW.add("SLOT", 1, "which of them this body is for its parent")
CARRIER_F = BODY_ROW.add(
    "CARRIER_F", 1, "in ruthless models: where pose and Π_N of the undeformed node that carries the joint begin in F"
)
MASSES = BODY_ROW.add("MASSES", 1, "where C_r0 and M_e begin in F")
MATRICES = BODY_ROW.add("MATRICES", 1, "where K and D begin in F, behind all that every call reads")
BODY_I_SIZE = BODY_ROW.end

NODE_ROW = Table("Node that deforms", "I", "I[b + PARENT_NODE], I[b + OWN_NODE] or I[f + FRAME_NODE]")
NODE_F = NODE_ROW.add("NODE_F", 1, "where its data begin in F")
NODE_NM = NODE_ROW.add("NODE_NM", 1, "its number of modes")
NODE_SECOND = NODE_ROW.add("NODE_SECOND", 1, "where its terms of second order begin in F, -1 if there are none")

FRAME_ROW = Table("Frame that a force element or constraint uses", "I", "I[FRAMES] + i * FRAME_SIZE")
FRAME_BODY = FRAME_ROW.add("FRAME_BODY", 1, "its body, -1 for the world")
FRAME_NODE = FRAME_ROW.add("FRAME_NODE", 1, "where the row of its node begins in I, -1 if it does not deform")
FRAME_F = FRAME_ROW.add("FRAME_F", 1, "where its pose begins in F")
FRAME_W = FRAME_ROW.add("FRAME_W", 1, "where its scratch begins in W")
FRAME_SIZE = FRAME_ROW.end

ELEMENT_ROW = Table("Force element", "I", "I[ELEMENTS] + i * ELEMENT_SIZE")
ELEMENT_KIND = ELEMENT_ROW.add("ELEMENT_KIND", 1, "its kind (ELEMENT_KINDS)")
FRAME_A = ELEMENT_ROW.add("FRAME_A", 1, "where the row of its first frame begins in I")
FRAME_B = ELEMENT_ROW.add("FRAME_B", 1, "where that of its second frame begins")
ELEMENT_F = ELEMENT_ROW.add("ELEMENT_F", 1, "where its data begin in F")
ELEMENT_U = ELEMENT_ROW.add("ELEMENT_U", 1, "where its inputs begin in u")
ELEMENT_X = ELEMENT_ROW.add("ELEMENT_X", 1, "where its first-order states begin in u, 0 if it has none")
ELEMENT_N = ELEMENT_ROW.add(
    "ELEMENT_N",
    1,
    "of a contact how many points its profile has; of a crowd its number of surfaces; of a law its number of states; "
    "of a rope its number of frames",
)
ELEMENT_MORE = ELEMENT_ROW.add(
    "ELEMENT_MORE",
    1,
    "of a crowd: where the row of its surfaces begins in I; of a law: where the time stands in u, -1 if it takes none; "
    "of a rope: where the row of its points begins in I",
)
ELEMENT_W = ELEMENT_ROW.add(
    "ELEMENT_W",
    1,
    "of a crowd or a rope: where its scratch begins in W; of a law: how many numbers its programs have",
)
ELEMENT_SIZE = ELEMENT_ROW.end

CROWD_ROW = Table("Surfaces of a crowd", "I", "I[e + ELEMENT_MORE]")
CROWD_ROW.add("CROWD_FRAMES", "points", "for each surface where the row of its frame begins in I")
CROWD_ROW.add_behind("CROWD_COUNTS", 2, "number of materials, and of points of all profiles")

ROPE_ROW = Table("Points of a rope", "I", "I[e + ELEMENT_MORE]")
ROPE_ROW.add(
    "ROPE_FRAMES",
    "points",
    "for each point where the row of its frame begins in I; then of the drum and of its base",
)
ROPE_ROW.add_behind("ROPE_COORDINATE", 1, "with a drum: its coordinate in q")
ROPE_ROW.add_behind("ROPE_SPEED", 1, "its speed in v")
ROPE_ROW.add_behind("ROPE_SCREW", 1, "where its screw begins in F")

ACTUATOR_ROW = Table("Actuator", "I", "I[ACTUATORS] + i * ACTUATOR_SIZE")
ACTUATED = ACTUATOR_ROW.add("ACTUATED", 1, "the speed on which it acts")
ACTUATOR_U = ACTUATOR_ROW.add("ACTUATOR_U", 1, "where its input stands in u; its state, if it has a lag")
ACTUATOR_F = ACTUATOR_ROW.add("ACTUATOR_F", 1, "where its data begin in F")
ACTUATOR_SIZE = ACTUATOR_ROW.end

CONSTRAINT_ROW = Table("Constraint", "I", "I[CONSTRAINTS] + i * CONSTRAINT_SIZE")
C_KIND = CONSTRAINT_ROW.add("C_KIND", 1, "its kind (CONSTRAINT_KINDS)")
C_A = CONSTRAINT_ROW.add(
    "C_A", 1, "where the row of its first frame begins in I; of a motion or a hold, the row of the joint's body"
)
C_B = CONSTRAINT_ROW.add("C_B", 1, "where the row of its second frame begins in I")
C_F = CONSTRAINT_ROW.add(
    "C_F", 1, "where its data begin in F; of a user's, where its scratch begins behind that of cut joints"
)
C_ROW = CONSTRAINT_ROW.add("C_ROW", 1, "the first of its rows")
C_N = CONSTRAINT_ROW.add("C_N", 1, "how many rows it has")
C_U = CONSTRAINT_ROW.add("C_U", 1, "where its inputs begin in u; of a cut joint, its number of speeds")
C_MORE = CONSTRAINT_ROW.add(
    "C_MORE",
    1,
    "joint kind of a cut; where terms of a coupling begin in I; first speed of a motion or a hold; address of a user's",
)
CONSTRAINT_SIZE = CONSTRAINT_ROW.end

COUPLING_TERMS = Table("Terms of a coupling", "I", "I[c + C_MORE]")
COUPLING_TERMS.add("N_TERMS", 1, "number of terms")
COUPLING_TERMS.add("TERMS", "2*terms", "for each term its coordinate in q and its speed in v")

JOINT_ELEMENT_ROW = Table("Element that acts on joints", "I", "I[JOINT_ELEMENTS] + i * JE_SIZE")
JE_KIND = JOINT_ELEMENT_ROW.add("JE_KIND", 1, "its kind (JOINT_ELEMENT_KINDS)")
JE_TERMS = JOINT_ELEMENT_ROW.add("JE_TERMS", 1, "where the rows of its terms begin in I")
JE_N_TERMS = JOINT_ELEMENT_ROW.add("JE_N_TERMS", 1, "how many terms it has")
JE_FACTORS = JOINT_ELEMENT_ROW.add("JE_FACTORS", 1, "where their factors begin in F")
JE_X = JOINT_ELEMENT_ROW.add("JE_X", 1, "where its first-order states begin in u")
JE_N_X = JOINT_ELEMENT_ROW.add("JE_N_X", 1, "how many it has: 0, 1 or 2")
JE_INPUT = JOINT_ELEMENT_ROW.add("JE_INPUT", 1, "where its input stands in u, -1 if it has none")
JE_F = JOINT_ELEMENT_ROW.add("JE_F", 1, "where its data begin in F")
JE_BODY = JOINT_ELEMENT_ROW.add("JE_BODY", 1, "the body that its joint carries")
JE_N = JOINT_ELEMENT_ROW.add("JE_N", 1, "how many pieces its table has, or numbers its programs have, else 0")
JE_TIME = JOINT_ELEMENT_ROW.add("JE_TIME", 1, "where the time stands in u, -1 if it takes none")
JE_SIZE = JOINT_ELEMENT_ROW.end

TERM_ROW = Table("Term of an element that acts on joints", "I", "I[e + JE_TERMS] + k * TERM_SIZE")
TERM_SPEED = TERM_ROW.add("TERM_SPEED", 1, "its speed")
TERM_COORDINATE = TERM_ROW.add("TERM_COORDINATE", 1, "the coordinate of which this is the rate, -1 if there is none")
TERM_SIZE = TERM_ROW.end

ELIMINATION_ROW = Table("Plan of elimination.py", "I", "I[ELIMINATION]")
ELIMINATION_ROW.add("PLAN", "plan", "what is eliminated where and when, in tables of elimination.py")

# ---- Kinds

JOINT_KINDS = Kinds("Joints", "I[b + KIND]")
FIXED = JOINT_KINDS.add("FIXED", "no motion")
REVOLUTE = JOINT_KINDS.add("REVOLUTE", "one rotation")
PRISMATIC = JOINT_KINDS.add("PRISMATIC", "one translation")
SCREW_CHAIN = JOINT_KINDS.add("SCREW_CHAIN", "exponentials of screws, one after another")
SPHERICAL = JOINT_KINDS.add("SPHERICAL", "a unit quaternion")
PLANAR = JOINT_KINDS.add("PLANAR", "angle and two displacements")
FREE = JOINT_KINDS.add("FREE", "a unit quaternion and three displacements")
WHEEL = JOINT_KINDS.add("WHEEL", "a rotation that moves nothing")

PASSIVE_KINDS = Kinds("Springs, dampers and friction of a joint", "I[b + PASSIVE]")
WITHOUT = PASSIVE_KINDS.add("WITHOUT", "the joint has none")
ADDED = PASSIVE_KINDS.add("ADDED", "it has some, and its coordinates are added")
ON_GROUP = PASSIVE_KINDS.add("ON_GROUP", "it has a spring, and its coordinates are composed")

OFFSET_KINDS = Kinds("X_DB of a body", "I[b + OFFSET]")
NONE = OFFSET_KINDS.add("NONE", "the identity")
CONSTANT = OFFSET_KINDS.add("CONSTANT", "constant")
DEFORMING = OFFSET_KINDS.add("DEFORMING", "it follows the body's own node")

CONSTRAINT_KINDS = Kinds("Constraints", "I[c + C_KIND]")
CUT = CONSTRAINT_KINDS.add("CUT", "a joint that closes a loop")
DISTANCE = CONSTRAINT_KINDS.add("DISTANCE", "a constant distance of two points")
POINT = CONSTRAINT_KINDS.add("POINT", "a point on a line or in a plane")
ROLLING = CONSTRAINT_KINDS.add("ROLLING", "a disc or ball that rolls on a plane")
WELD = CONSTRAINT_KINDS.add("WELD", "two frames that may be held together: a switch and a pose, in u")
COUPLING = CONSTRAINT_KINDS.add("COUPLING", "a linear equation between coordinates of joints")
MOTION = CONSTRAINT_KINDS.add("MOTION", "coordinates of a joint follow inputs")
USER = CONSTRAINT_KINDS.add("USER", "a function of a user's own")
HOLD = CONSTRAINT_KINDS.add("HOLD", "speeds of a joint that may be held: a switch in u")

# ---- F: numbers of a model.  Poses are a rotation row by row, then a position; inertias are xx yy zz xy xz yz.

BODY_DATA = Table("Body", "F", "i * BODY_F_SIZE")
X_NJ_R = BODY_DATA.add("X_NJ_R", 9, "rotation of X_NJ")
X_NJ_P = BODY_DATA.add("X_NJ_P", 3, "position of X_NJ")
MASS = BODY_DATA.add("MASS", 1, "mass")
MOMENT = BODY_DATA.add("MOMENT", 3, "first moment of mass")
INERTIA = BODY_DATA.add("INERTIA", 6, "inertia about the origin of B")
ARMATURE = BODY_DATA.add("ARMATURE", 6, "armature of each speed of the joint")
X_DB_R = BODY_DATA.add("X_DB_R", 9, "rotation of X_DB, or of X_ND if the body's own node deforms")
X_DB_P = BODY_DATA.add("X_DB_P", 3, "position of the same")
STIFFNESS = BODY_DATA.add("STIFFNESS", 6, "spring of each speed of the joint")
DAMPING = BODY_DATA.add("DAMPING", 6, "damper of each speed")
FRICTION = BODY_DATA.add("FRICTION", 6, "Coulomb friction of each speed")
FRICTION_SPEED = BODY_DATA.add(
    "FRICTION_SPEED", 1, "the speed at which friction is about three quarters of its full value"
)
REST = BODY_DATA.add("REST", 7, "where springs are slack, as the joint's coordinates stand in q")
BODY_F_SIZE = BODY_DATA.end

DRUM_DATA = Table("Screw of the drum of a rope", "F", "I[I[e + ELEMENT_MORE] + I[e + ELEMENT_N] + 2]")
DRUM_DATA.add("DRUM_SCREW", 6, "in the frame that moves")

SCREW_DATA = Table("Screws of a joint", "F", "I[b + SCREWS]")
SCREW_DATA.add("IN_D", "6*s", "screws in D")
SCREW_DATA.add_behind("IN_B", "6*s", "screws in B, where X_DB is constant")

MODAL_DATA = Table("Modal data that every call reads", "F", "I[b + MODAL]", unit="n", shared=True)
MODAL_DATA.add("M_CT", 3, "C_t at η = 0, 3 × n")
M_J1 = MODAL_DATA.add("M_J1", 6, "J_1, six numbers for each mode")
M_DIAGONAL_K = MODAL_DATA.add("M_DIAGONAL_K", 1, "diagonal of K")
M_DIAGONAL_D = MODAL_DATA.add("M_DIAGONAL_D", 1, "diagonal of D")
M_CR1 = MODAL_DATA.add(
    "M_CR1",
    "3*n*n*full",
    "in full models C_r1[a, l, k] = ∂C_r[a, k]/∂η_l: for each l a row, in it three numbers for each k",
)
MODAL_DATA.add_behind("M_J2", "3*n*(n+1)*full", "in full models J_2[l, k], lower triangle, six numbers each")
M_END = MODAL_DATA.alias("M_END", "M_CR1", "what is in units of n ends here, and the matrices begin")

MODAL_MASSES = Table("Modal masses", "F", "I[b + MASSES]", shared=True)
MODAL_MASSES.add("CR0", "3*n", "C_r0, 3 × n")
MODAL_MASSES.add_behind("ME", "n*(n+1)//2", "M_e, lower triangle")

MODAL_MATRICES = Table("Modal stiffness and damping", "F", "I[b + MATRICES]", shared=True)
MODAL_MATRICES.add("K", "n*n", "stiffness")
MODAL_MATRICES.add_behind("D", "n*n", "damping")

SECOND_T_DATA = Table("Second-order translation", "F", "I[b + SECOND_T]", shared=True)
SECOND_T_DATA.add("CT1", "3*n*n", "C_t1[a, l, k]")

SECOND_R_DATA = Table("Second-order rotation", "F", "I[b + SECOND_R]", shared=True)
SECOND_R_DATA.add("CR1_SKEW", "3*n*n", "antisymmetric part of C_r1, as M_CR1")
SECOND_R_DATA.add_behind("CR1_SYMMETRIC", "3*n*(n+1)//2", "its symmetric part, lower triangle, three numbers each")

NODE_DATA = Table("Node that deforms", "F", "I[node + NODE_F]", shared=True)
NODE_R = NODE_DATA.add("NODE_R", 9, "rotation in the undeformed body")
NODE_P = NODE_DATA.add("NODE_P", 3, "position in it")
NODE_MODES = NODE_DATA.add("NODE_MODES", "3*n", "rotational modes, 3 × n")
NODE_DATA.add_behind("NODE_TRANSLATIONS", "3*n", "translational modes, 3 × n")

NODE_SECOND_DATA = Table("Terms of second order of a node", "F", "I[node + NODE_SECOND]", shared=True)
NODE_SECOND_DATA.add("G_R", "3*n*n", "of rotation")
NODE_SECOND_DATA.add_behind("G_T", "3*n*n", "of displacement")

CARRIER_DATA = Table("Undeformed node that carries a joint, in ruthless models", "F", "I[b + CARRIER_F]", shared=True)
CARRIER_DATA.add("POSE", 12, "X_PN")
CARRIER_DATA.add("PI", "6*n", "Π_N, column by column")
CARRIER_DATA.alias(
    "AS_IN_W",
    "POSE PI",
    "the numbers of CARRIER_R, CARRIER_P, CARRIER_PI in W, in that order: to be copied, or read in place",
)

REDUCED_DATA = Table("Constants of reduced.py", "F", "I[b + REDUCED]", shared=True)
REDUCED_DATA.add("LAMBDA_F", "n*(n+1)//2", "Λ, lower triangle")
REDUCED_DATA.add_behind("LAMBDA_MU", "6*n", "Λ μ₀ᵀ, six numbers for each mode")
REDUCED_DATA.add_behind("UPSILON", "n*k", "Υ")
REDUCED_DATA.add_behind("ROOT", "k*k", "C, the square root of Ω")
REDUCED_DATA.add_behind("E", "6*k", "E")
REDUCED_DATA.add_behind("SQUARE", 21, "μ₀ Λ μ₀ᵀ as an inertia")

FRAME_DATA = Table("Frame", "F", "I[f + FRAME_F]")
FRAME_DATA.add("X", 12, "pose in its body, of the undeformed node if there is one")

# Force elements: the numbers of each kind, then the kind itself; kernels/elements.py has its law.
ELEMENT_KINDS = Kinds("Force elements", "I[e + ELEMENT_KIND]")

LOAD_DATA = Table("Load", "F", "I[e + ELEMENT_F]")
LOAD_DATA.add("WRENCH", 6, "its constant part")
LOAD_WORLD = ELEMENT_KINDS.add("LOAD_WORLD", "a wrench in the axes of the world", LOAD_DATA)
LOAD_BODY = ELEMENT_KINDS.add("LOAD_BODY", "a wrench in the axes of its frame", LOAD_DATA)

SPRING_DATA = Table("Spring", "F", "I[e + ELEMENT_F]")
SPRING_DATA.add("SPRING_STIFFNESS", 1, "stiffness")
SPRING_DATA.add("SPRING_DAMPING", 1, "damping")
SPRING_DATA.add("LENGTH", 1, "free length")
SPRING = ELEMENT_KINDS.add("SPRING", "a spring with a damper between two points", SPRING_DATA)

BUSHING_DATA = Table("Bushing", "F", "I[e + ELEMENT_F]")
BUSHING_DATA.add("BUSHING_STIFFNESS", 6, "stiffness, rotations first")
BUSHING_DATA.add("BUSHING_DAMPING", 6, "damping")
BUSHING = ELEMENT_KINDS.add("BUSHING", "six springs with dampers between two frames", BUSHING_DATA)

CONTACT_DATA = Table("Contact", "F", "I[e + ELEMENT_F]")
CONTACT_DATA.add("CONTACT_MATERIAL", 12, "k, n, d, μ_S, μ_C, v_St, v_s, ρ, κ, w_s, z_b, T of contact.py")
CONTACT_POINTS = CONTACT_DATA.add("CONTACT_POINTS", 1, "number of points with which B touches")
CONTACT_SIGN = CONTACT_DATA.add("CONTACT_SIGN", 1, "1 if B is the second surface that was given, otherwise −1")
CONTACT_A = CONTACT_DATA.add("CONTACT_A", 4, "kind of surface A, and its three sizes")
CONTACT_B = CONTACT_DATA.add("CONTACT_B", 4, "the same of surface B")
CONTACT_PROFILE = CONTACT_DATA.add("CONTACT_PROFILE", "2*points", "x and z of each point of a profile")
CONTACT = ELEMENT_KINDS.add("CONTACT", "two surfaces that touch", CONTACT_DATA)

CROWD_DATA = Table("Crowd", "F", "I[e + ELEMENT_F]")
CROWD_CUBE = CROWD_DATA.add("CROWD_CUBE", 1, "length of the sides of cubes")
CROWD_SURFACES = CROWD_DATA.add(
    "CROWD_SURFACES",
    "6*points",
    "for each surface its kind, three sizes (of a profile where its points are behind CROWD_CUBE, and how many), the "
    "radius of its ball, -1 if there is none, and the number of what it is made of",
)
CROWD_DATA.add_behind("CROWD_MATERIALS", "12*materials*materials", "for each two of these kinds as CONTACT_MATERIAL")
CROWD_DATA.add_behind("CROWD_PROFILES", "2*line", "x and z of each point of all profiles")
# How many numbers a surface of a crowd has, and a material.
CROWD_SURFACE, MATERIAL = 6, 12
CROWD = ELEMENT_KINDS.add("CROWD", "many surfaces, any two of which may touch", CROWD_DATA)

# A law by formulas has its programs among its numbers, so that they are data of the element like all others.
LAW_DATA = Table("Law by formulas", "F", "I[e + JE_F] or I[e + ELEMENT_F]")
LAW_ACTIVE = LAW_DATA.add("LAW_ACTIVE", 1, "1 if what it does not store is work, 0 if that is dissipated")
LAW_PROGRAMS = LAW_DATA.add(
    "LAW_PROGRAMS",
    10,
    "force, two rates, potential, dissipated power: where the steps of each begin behind LAW_STEPS, and their number",
)
LAW_CONSTANTS = LAW_DATA.add("LAW_CONSTANTS", 1, "where constants begin behind LAW_STEPS")
LAW_STEPS = LAW_DATA.add("LAW_STEPS", "n", "steps of all programs, then their constants")
LINE_LAW = ELEMENT_KINDS.add("LINE_LAW", "a law by formulas along a line", LAW_DATA)

ROPE_DATA = Table("Rope", "F", "I[e + ELEMENT_F]")
ROPE_K = ROPE_DATA.add("ROPE_K", 1, "stiffness")
ROPE_D = ROPE_DATA.add("ROPE_D", 1, "damping")
ROPE_LENGTH = ROPE_DATA.add("ROPE_LENGTH", 1, "length where it is free and the drum is at zero")
ROPE_RADIUS = ROPE_DATA.add("ROPE_RADIUS", 1, "radius of the drum")
ROPE_DRUM = ROPE_DATA.add("ROPE_DRUM", 1, "1 if it has a drum, else 0")
ROPE = ELEMENT_KINDS.add("ROPE", "a rope over several points, with a drum or without one", ROPE_DATA)

BALL_STOP_DATA = Table("Stops of a ball joint", "F", "I[e + ELEMENT_F]")
BALL_AXIS = BALL_STOP_DATA.add("BALL_AXIS", 3, "axis of twist and cone, a unit vector in both frames")
BALL_TURN = BALL_STOP_DATA.add("BALL_TURN", 1, "largest angle of the whole rotation")
BALL_SWING = BALL_STOP_DATA.add("BALL_SWING", 1, "largest angle between the axes of both frames: half of the cone")
BALL_LOWER = BALL_STOP_DATA.add("BALL_LOWER", 1, "smallest twist")
BALL_UPPER = BALL_STOP_DATA.add("BALL_UPPER", 1, "largest twist")
BALL_K = BALL_STOP_DATA.add("BALL_K", 1, "stiffness")
BALL_CHI = BALL_STOP_DATA.add("BALL_CHI", 1, "dissipation, χ")
BALL_STOP = ELEMENT_KINDS.add("BALL_STOP", "stops of a ball joint", BALL_STOP_DATA)

ACTUATOR_DATA = Table("Actuator", "F", "I[a + ACTUATOR_F]")
ACTUATOR_DATA.add("GEAR", 1, "gear")
ACTUATOR_DATA.add("LIMIT", 1, "largest input")

# Elements that act on coordinates of joints: the same, with their laws in kernels/joint_elements.py.
JOINT_ELEMENT_KINDS = Kinds("Elements that act on joints", "I[e + JE_KIND]")

FACTOR_DATA = Table("Factors of an element that acts on joints", "F", "I[e + JE_FACTORS]")
FACTOR_DATA.add("TERM_FACTORS", "terms", "the factor of each term")

LAG_DATA = Table("Lag", "F", "I[e + JE_F]")
LAG_TIME = LAG_DATA.add("LAG_TIME", 1, "time constant")
LAG = JOINT_ELEMENT_KINDS.add("LAG", "the lag of an actuator", LAG_DATA)

LUGRE_DATA = Table("LuGre friction", "F", "I[e + JE_F]")
LUGRE_SIGMA_0 = LUGRE_DATA.add("LUGRE_SIGMA_0", 1, "stiffness of the bristles")
LUGRE_SIGMA_1 = LUGRE_DATA.add("LUGRE_SIGMA_1", 1, "their damping")
LUGRE_SIGMA_2 = LUGRE_DATA.add("LUGRE_SIGMA_2", 1, "viscous friction")
LUGRE_F_C = LUGRE_DATA.add("LUGRE_F_C", 1, "Coulomb force")
LUGRE_F_S = LUGRE_DATA.add("LUGRE_F_S", 1, "static force")
LUGRE_V_S = LUGRE_DATA.add("LUGRE_V_S", 1, "Stribeck speed")
LUGRE = JOINT_ELEMENT_KINDS.add("LUGRE", "LuGre friction", LUGRE_DATA)

FRICTION_DATA = Table("Friction", "F", "I[e + JE_F]")
FRICTION_F_C = FRICTION_DATA.add("FRICTION_F_C", 1, "Coulomb force")
FRICTION_F_S = FRICTION_DATA.add("FRICTION_F_S", 1, "static force")
FRICTION_V_S = FRICTION_DATA.add("FRICTION_V_S", 1, "Stribeck speed")
FRICTION_SIGMA = FRICTION_DATA.add("FRICTION_SIGMA", 1, "viscous friction")
FRICTION_V_0 = FRICTION_DATA.add("FRICTION_V_0", 1, "speed over which it changes sign; 0: the law is exact")
DRY_FRICTION = JOINT_ELEMENT_KINDS.add("DRY_FRICTION", "Coulomb, Stribeck and viscous friction", FRICTION_DATA)

LOADED_DATA = Table("Friction by load", "F", "I[e + JE_F]")
LOADED_MU_C = LOADED_DATA.add("LOADED_MU_C", 1, "coefficient when it slides")
LOADED_MU_S = LOADED_DATA.add("LOADED_MU_S", 1, "coefficient at which it breaks away")
LOADED_V_S = LOADED_DATA.add("LOADED_V_S", 1, "Stribeck speed")
LOADED_SIGMA = LOADED_DATA.add("LOADED_SIGMA", 1, "viscous friction")
LOADED_V_0 = LOADED_DATA.add("LOADED_V_0", 1, "speed over which it changes sign; 0: the law is exact")
LOADED_ACROSS = LOADED_DATA.add("LOADED_ACROSS", 1, "what the force across the axis counts")
LOADED_ALONG = LOADED_DATA.add("LOADED_ALONG", 1, "what the force along the axis counts")
LOADED_TILT = LOADED_DATA.add("LOADED_TILT", 1, "what the moment across the axis counts")
LOADED_TWIST = LOADED_DATA.add("LOADED_TWIST", 1, "what the moment about the axis counts")
LOADED_FRICTION = JOINT_ELEMENT_KINDS.add("LOADED_FRICTION", "friction by the load of the joint", LOADED_DATA)

STOP_DATA = Table("Stops", "F", "I[e + JE_F]")
STOP_LOWER = STOP_DATA.add("STOP_LOWER", 1, "where the lower one is, -inf if there is none")
STOP_UPPER = STOP_DATA.add("STOP_UPPER", 1, "where the upper one is, inf if there is none")
STOP_STIFFNESS = STOP_DATA.add("STOP_STIFFNESS", 1, "stiffness")
STOP_CHI = STOP_DATA.add("STOP_CHI", 1, "dissipation, χ")
STOP_HERTZIAN = STOP_DATA.add("STOP_HERTZIAN", 1, "1 if the force grows with the power 3/2, else 0")
STOP = JOINT_ELEMENT_KINDS.add("STOP", "stops below and above", STOP_DATA)

GEAR_DATA = Table("Gear train", "F", "I[e + JE_F]")
GEAR_K = GEAR_DATA.add("GEAR_K", 1, "stiffness")
GEAR_D = GEAR_DATA.add("GEAR_D", 1, "damping")
GEAR_HALF_GAP = GEAR_DATA.add("GEAR_HALF_GAP", 1, "half of the backlash")
GEAR_ONSET = GEAR_DATA.add("GEAR_ONSET", 1, "deflection over which damping sets in")
GEAR_EFFICIENCY = GEAR_DATA.add("GEAR_EFFICIENCY", 1, "efficiency, η")
GEAR_SLOW = GEAR_DATA.add("GEAR_SLOW", 1, "speed over which its losses change sign")
GEAR_TRAIN = JOINT_ELEMENT_KINDS.add("GEAR_TRAIN", "an elastic gear with backlash", GEAR_DATA)

MOTOR_DATA = Table("Electric motor", "F", "I[e + JE_F]")
MOTOR_R = MOTOR_DATA.add("MOTOR_R", 1, "resistance")
MOTOR_L = MOTOR_DATA.add("MOTOR_L", 1, "inductance; 0: the current is no state")
MOTOR_KAPPA = MOTOR_DATA.add("MOTOR_KAPPA", 1, "torque constant, gear included")
MOTOR_U_MAX = MOTOR_DATA.add("MOTOR_U_MAX", 1, "largest voltage")
ELECTRIC_MOTOR = JOINT_ELEMENT_KINDS.add("ELECTRIC_MOTOR", "an electric motor", MOTOR_DATA)

CYLINDER_DATA = Table("Hydraulic cylinder", "F", "I[e + JE_F]")
CYLINDER_A_A = CYLINDER_DATA.add("CYLINDER_A_A", 1, "area of the piston")
CYLINDER_A_B = CYLINDER_DATA.add("CYLINDER_A_B", 1, "area on the side of the rod")
CYLINDER_STROKE = CYLINDER_DATA.add("CYLINDER_STROKE", 1, "stroke")
CYLINDER_V_0 = CYLINDER_DATA.add("CYLINDER_V_0", 1, "dead volume on either side")
CYLINDER_BULK = CYLINDER_DATA.add("CYLINDER_BULK", 1, "bulk modulus of the oil")
CYLINDER_P_S = CYLINDER_DATA.add("CYLINDER_P_S", 1, "pressure of the supply")
CYLINDER_P_T = CYLINDER_DATA.add("CYLINDER_P_T", 1, "pressure of the tank")
CYLINDER_Q_N = CYLINDER_DATA.add("CYLINDER_Q_N", 1, "flow through an open edge of the valve")
CYLINDER_DP_N = CYLINDER_DATA.add("CYLINDER_DP_N", 1, "pressure drop at this flow")
CYLINDER_LEAK = CYLINDER_DATA.add("CYLINDER_LEAK", 1, "leakage past the piston, per pressure")
CYLINDER = JOINT_ELEMENT_KINDS.add("CYLINDER", "a hydraulic cylinder with its valve", CYLINDER_DATA)

BELT_DATA = Table("Belt", "F", "I[e + JE_F]")
BELT_K = BELT_DATA.add("BELT_K", 1, "stiffness of a strand")
BELT_D = BELT_DATA.add("BELT_D", 1, "its damping")
BELT_T_0 = BELT_DATA.add("BELT_T_0", 1, "pretension")
BELT = JOINT_ELEMENT_KINDS.add("BELT", "a belt over two pulleys", BELT_DATA)

CABLE_DATA = Table("Cable", "F", "I[e + JE_F]")
CABLE_K = CABLE_DATA.add("CABLE_K", 1, "stiffness")
CABLE_D = CABLE_DATA.add("CABLE_D", 1, "damping")
CABLE_S_0 = CABLE_DATA.add("CABLE_S_0", 1, "slack")
CABLE = JOINT_ELEMENT_KINDS.add("CABLE", "one strand that only pulls", CABLE_DATA)

CURVE_DATA = Table("Curve", "F", "I[e + JE_F]")
CURVE_PIECES = CURVE_DATA.add("CURVE_PIECES", 1, "how many pieces there are, n")
CURVE_PLACES = CURVE_DATA.add("CURVE_PLACES", "n + 1", "where they begin and end")
CURVE_DATA.add_behind("CURVE_COEFFICIENTS", "4*n", "of each piece, highest power first")
CURVE_DATA.add_behind("CURVE_SUMS", "n + 1", "the integral up to each place")
CURVE_OF_POSITION = JOINT_ELEMENT_KINDS.add("CURVE_OF_POSITION", "a table of the position", CURVE_DATA)
CURVE_OF_SPEED = JOINT_ELEMENT_KINDS.add("CURVE_OF_SPEED", "a table of the speed", CURVE_DATA)

LAW = JOINT_ELEMENT_KINDS.add("LAW", "a law by formulas", LAW_DATA)

CUT_DATA = Table("Cut joint", "F", "I[c + C_F]")
CUT_DATA.add("CUT_SCREWS", "6*s", "its screws")
CUT_DATA.add_behind("HELD", "36 - 6*s", "rows perpendicular to them")

DISTANCE_DATA = Table("Distance", "F", "I[c + C_F]")
DISTANCE_DATA.add("L0", 1, "length")

POINT_DATA = Table("Point on a line or plane", "F", "I[c + C_F]")
POINT_DATA.add("DIRECTIONS", "3*rows", "directions in A in which it does not move")

ROLLING_DATA = Table("Rolling", "F", "I[c + C_F]")
ROLLING_DATA.add("RADIUS", 1, "radius")
ROLLING_DATA.add("DISC", 1, "1 for a disc, 0 for a ball")
ROLLING_DATA.add("DISC_AXIS", 3, "axis of the disc in B")
ROLLING_DATA.add("NORMAL", 3, "normal of the plane in A")
ROLLING_DATA.add("TANGENTS", 6, "two directions of the plane in A")

COUPLING_DATA = Table("Coupling", "F", "I[c + C_F]")
COUPLING_DATA.add("C0", 1, "offset")
COUPLING_DATA.add("FACTORS", "terms", "factors")

# ---- W: scratch.  Matrices 6 × n stand column by column: the six numbers of a mode together.

BODY_SCRATCH = Table("Body", "W", "i * WORK_SIZE")
R_NB = BODY_SCRATCH.add("R_NB", 9, "rotation of B in N")
P_NB = BODY_SCRATCH.add("P_NB", 3, "position of B in N")
VEL = BODY_SCRATCH.add("VEL", 6, "twist V_WB_B")
BIAS = BODY_SCRATCH.add("BIAS", 6, "acceleration of B when nothing else accelerates")
SUB = BODY_SCRATCH.add("SUB", 36, "motion subspace in B, one column of six numbers for each speed")
INE = BODY_SCRATCH.add("INE", 21, "inertia (J 6, H 9, M 6): of the body, then composite or articulated")
ACC = BODY_SCRATCH.add("ACC", 6, "acceleration of B, gravity included")
FOR = BODY_SCRATCH.add(
    "FOR", 6, "bias force of the body, then the force across the joint, at B; body_inertia has J here for a moment"
)
PSU = BODY_SCRATCH.add(
    "PSU", 36, "P S, column by column; scratch before: poses in body_pose, body_velocity, Γ of a child in give_inertia"
)
FAC = BODY_SCRATCH.add("FAC", 6, "one over the pivot of each speed of the joint")
RES = BODY_SCRATCH.add("RES", 6, "residual of each speed")
SIZE = BODY_SCRATCH.add("SIZE", 2, "largest traces of J and M outboard, with which round-off in INE is compared")
BODY_SCRATCH.alias("X_NB", "R_NB P_NB", "a pose is twelve numbers")
WORK_SIZE = BODY_SCRATCH.end

MODAL_SCRATCH = Table("Flexible body", "W", "I[b + FLEX]", unit="n")
PID = MODAL_SCRATCH.add("PID", 6, "Π_d, modes of the body's own node in B")
ZF = MODAL_SCRATCH.add("ZF", 1, "z_f, bias of the modes; ε₀ in reduced.py")
EPS = MODAL_SCRATCH.add("EPS", 1, "D_f⁻¹ε_f; λ in reduced.py")
PRF = MODAL_SCRATCH.add("PRF", 6, "P_rf")
PFF = MODAL_SCRATCH.add("PFF", "n*(n+1)//2", "P_ff, lower triangle; D_f in its place, then its factors")
MU = MODAL_SCRATCH.alias("MU", "PRF", "μ = P_rf − P_rr Π_d takes the place of P_rf, which nobody needs then")
GAIN = MODAL_SCRATCH.alias("GAIN", "PRF", "g = μ D_f⁻¹ takes the place of μ")

CARRIER_SCRATCH = Table("Node that carries a joint", "W", "I[b + CARRIER]")
CARRIER_R = CARRIER_SCRATCH.add("CARRIER_R", 9, "rotation of N in P")
CARRIER_P = CARRIER_SCRATCH.add("CARRIER_P", 3, "position of N in P")
CARRIER_PI = CARRIER_SCRATCH.add("CARRIER_PI", "6*n", "Π_N, with the modes of the parent")
CARRIER_SCRATCH.add_behind(
    "CARRIER_KEPT", 7, "θ and the coefficients of A and its derivative, which poses find and rates use"
)
CARRIER_SCRATCH.alias("X_PN", "CARRIER_R CARRIER_P", "a pose is twelve numbers")

REDUCED_SCRATCH = Table("Scratch of reduced.py", "W", "I[b + REDUCED_W]")
REDUCED_SCRATCH.add("PSI", "k", "f, forces of the children, then ψ")
REDUCED_SCRATCH.add_behind("X_SERIES", "k*k", "Γ of the children, then X")

SHARED_SCRATCH = Table("Scratch that bodies use one after another", "W", "I[SHARED]", unit="n")
J2_ETA = SHARED_SCRATCH.add("J2_ETA", 6, "Σ_l J_2 η_l")
CR1_ETA = SHARED_SCRATCH.add("CR1_ETA", 3, "Σ_l C_r1 η_l, then with η̇_l")

REDUCED_SHARED = Table("Scratch of reduced.py that bodies use one after another", "W", "I[SHARED]")
REDUCED_SHARED.add("SERIES", "max(21, 2*k*k)", "Γ of one child, the two factors of X, or rows of products")
REDUCED_SHARED.alias(
    "SUMS",
    "SERIES",
    "it stands where SHARED_SCRATCH does: a model is full or ruthless, so that it has only one of them",
)

FRAME_SCRATCH = Table("Frame", "W", "I[f + FRAME_W]")
X_WF = FRAME_SCRATCH.add("X_WF", 12, "pose in the world")
X_BF = FRAME_SCRATCH.add("X_BF", 12, "pose in its body")
V_F = FRAME_SCRATCH.add("V_F", 6, "twist V_WF_F")
PI_F = FRAME_SCRATCH.add("PI_F", "6*n", "modes in F, of a frame on a node")

CROWD_SCRATCH = Table("Crowd", "W", "I[e + ELEMENT_W]")
CROWD_SCRATCH.add("CROWD_WRENCHES", "6*points", "wrench on each surface, in its axes")
CROWD_SCRATCH.add_behind("CROWD_CUBES", "3*points", "the three numbers of the cube of each surface")
CROWD_SCRATCH.add_behind("CROWD_AFTER", "points", "which surface comes behind each one in its list, -1 for the last")
CROWD_SCRATCH.add_behind("CROWD_LISTS", "lists", "the first surface of each list, -1 if there is none")

ROPE_SCRATCH = Table("Rope", "W", "I[e + ELEMENT_W]")
ROPE_WOUND = ROPE_SCRATCH.add("ROPE_WOUND", 2, "coordinate and speed of the drum")
ROPE_WRENCHES = ROPE_SCRATCH.add("ROPE_WRENCHES", "6*points", "wrench on each frame of the rope, in its axes")

WORLD_SCRATCH = Table("World poses", "W", "I[WORLD]")
WORLD_SCRATCH.add("X_WB", "12*bodies", "X_WB of each body")
WORLD_SCRATCH.add_behind("X_PB", 12, "X_PB of one body at a time")

CUT_PARTS = Table("Scratch of one constraint", "W", "constraint_parts(I)[5]")
CUT_X = CUT_PARTS.add("CUT_X", 12, "X_AB")
CUT_XJ = CUT_PARTS.add("CUT_XJ", 12, "X_J(s), the pose that the joint allows")
CUT_S = CUT_PARTS.add("CUT_S", 7, "coordinates s")
CUT_DS = CUT_PARTS.add("CUT_DS", 7, "their change, or their rate")
CUT_SUB = CUT_PARTS.add("CUT_SUB", 36, "S(s)")
CUT_NORMAL = CUT_PARTS.add("CUT_NORMAL", 36, "normal matrix, or scratch of S and of its complement")
CUT_PARTS.alias(
    "WRENCHES",
    "CUT_X CUT_XJ CUT_S CUT_DS CUT_SUB",
    "operational_inertia carries two times six wrenches from frames to the base here, after evaluate",
)
CUT_SCRATCH = CUT_PARTS.end

HELD_SCRATCH = Table("Exact dry friction", "W", "I[HELD_W]", unit="h")
HELD_SPEED = HELD_SCRATCH.add("HELD_SPEED", 1, "for each element that sticks its speed")
HELD_SLOT = HELD_SCRATCH.add("HELD_SLOT", 1, "where its multiplier stands in u")
HELD_LIMIT = HELD_SCRATCH.add("HELD_LIMIT", 1, "the largest force with which it sticks")
HELD_FREE = HELD_SCRATCH.add("HELD_FREE", 1, "the acceleration without the force")
HELD_FORCE = HELD_SCRATCH.add("HELD_FORCE", 1, "the force as a share of its limit")
HELD_SIDE = HELD_SCRATCH.add("HELD_SIDE", 1, "0 if it sticks, else the direction in which it breaks away")
HELD_G = HELD_SCRATCH.add("HELD_G", "h*h", "what the acceleration of each loses by the limit of each")
HELD_SCRATCH.add_behind("HELD_PART", "h*(h + 1)", "equations of those that stick, and their right-hand side")
HELD_SCRATCH.add_behind("HELD_LOADS", "h", "for each element the load of its joint")
HELD_SCRATCH.add_behind("HELD_A", "nv", "accelerations, and forces by them")
HELD_SCRATCH.add_behind("HELD_U", "nu", "u with accelerations in the place of forces")

CONSTRAINT_SCRATCH = Table("Constraints", "W", "I[ROWS_W]", unit="m")
ON_B = CONSTRAINT_SCRATCH.add("ON_B", 6, "wrench of each row on B, in B; of a hold, 1 where it is on")
ON_A = CONSTRAINT_SCRATCH.add("ON_A", 6, "wrench of each row on A, in A")
PHI = CONSTRAINT_SCRATCH.add("PHI", 1, "residual φ")
RATE = CONSTRAINT_SCRATCH.add("RATE", 1, "its rate")
CURVE = CONSTRAINT_SCRATCH.add("CURVE", 1, "its acceleration without v̇")
RIGHT = CONSTRAINT_SCRATCH.add("RIGHT", 1, "right-hand side")
LAMBDA = CONSTRAINT_SCRATCH.add("LAMBDA", 1, "multipliers")
PIVOT = CONSTRAINT_SCRATCH.add("PIVOT", 1, "what is left of each pivot, then the solution of the first triangle")
ORDER = CONSTRAINT_SCRATCH.add("ORDER", 1, "order of elimination, -1 behind the last")
LOW = CONSTRAINT_SCRATCH.add("LOW", 1, "first speed that a row touches")
HIGH = CONSTRAINT_SCRATCH.add("HIGH", 1, "the one behind the last")
ROWS_A = CONSTRAINT_SCRATCH.add("ROWS_A", "dense*m*m", "A = J M⁻¹ Jᵀ, used up by its factorisation")
CONSTRAINT_SCRATCH.add_behind("L", "dense*m*m", "L, by the order of elimination")
CONSTRAINT_SCRATCH.add_behind("ROWS_E", "dense*m*nv", "e, one row for each")
CONSTRAINT_SCRATCH.add_behind("ROWS_G", "dense*m*nv", "D⁻¹e")
CONSTRAINT_SCRATCH.add_behind("MARKS", "bodies", "1 for bodies that a row touches")
CONSTRAINT_SCRATCH.add_behind("CUT_WORK", str(CUT_SCRATCH), "scratch of one constraint after another: CUT_PARTS")
CONSTRAINT_SCRATCH.add_behind(
    "USER_WORK",
    "user",
    "what functions of a user's own wrote, each from its C_F: φ (rows), d (rows), ∂φ/∂q (rows × nv)",
)
CONSTRAINT_SCRATCH.add_behind("SPARSE", "sparse", "scratch of elimination.py, in tables of its own")
R_END = CONSTRAINT_SCRATCH.alias("R_END", "ROWS_A", "what is in units of m ends here, and the matrices begin")

# Registers of programs: enough for any expression of less than 2^8 operands (model/programs.py).
N_REGISTERS = 8

MOTION_SCRATCH = Table("A motion, behind the scratch of its model", "W", "I[N_WORK]")
MOTION_SCRATCH.add("U", "nu", "u")
MOTION_SCRATCH.add_behind("A", "nv", "a vector: forces, or accelerations")
MOTION_SCRATCH.add_behind("B", "nv", "another one")
MOTION_SCRATCH.add_behind("WORLD_POSES", "12*(bodies + 1)", "world poses, as at WORLD")
MOTION_SCRATCH.add_behind("NUMBERS", 13, "energies, momentum, mass and centre")
MOTION_SCRATCH.add_behind(
    "REGISTERS", str(3 * N_REGISTERS), "registers of programs: value, rate and acceleration of each"
)
MOTION_SCRATCH.add_behind(
    "EVEN",
    f"(work + nu + 2*nv + 12*(bodies + 1) + 13 + {3 * N_REGISTERS}) % 2",
    "nothing: what follows begins at an even place",
)
MOTION_SCRATCH.add_behind("COMPLEX_W", "2*work", "a complex workspace")
MOTION_SCRATCH.add_behind("PLACE", "2*nq", "complex q")
MOTION_SCRATCH.add_behind("SPEEDS", "2*nv", "complex v")
MOTION_SCRATCH.add_behind("COMPLEX_U", "2*nu", "complex u")
MOTION_SCRATCH.add_behind("RESULT", "2*(nv + nx)", "complex result")
MOTION_SCRATCH.alias("SLOPE", "COMPLEX_U RESULT", "`slope` has its complex result right behind the speeds")

# ---- u: what drives a model

DRIVE_VECTOR = Table("u", "u", "0")
DRIVE_VECTOR.add("FORCES", "nv", "a generalised force for each speed; inverse dynamics takes accelerations here")
DRIVE_VECTOR.add_behind("INPUTS", "nu - nv - nx - 3", "inputs of force elements and prescribed motions")
DRIVE_VECTOR.add_behind("STATES_X", "nx", "first-order states")
DRIVE_VECTOR.add_behind("GRAVITY", 3, "acceleration of gravity")

# ---- S and D: the drive of one motion

DRIVE_INTS = Table("Drive", "S", "0")
S_I = DRIVE_INTS.add("S_I", 1, "address of I")
S_NI = DRIVE_INTS.add("S_NI", 1, "length of I")
S_F = DRIVE_INTS.add("S_F", 1, "address of F")
S_NF = DRIVE_INTS.add("S_NF", 1, "length of F")
S_CALL = DRIVE_INTS.add("S_CALL", 1, "address of a function that changes u, or 0")
S_TELL = DRIVE_INTS.add(
    "S_TELL", 1, "address of a function that is called where a program has no finite value, or 0; it changes nothing"
)
S_TABLES = DRIVE_INTS.add("S_TABLES", 1, "number of tables")
S_PROGRAMS = DRIVE_INTS.add("S_PROGRAMS", 1, "number of programs")
S_ROWS = DRIVE_INTS.end

TABLE_ROW = Table("Table of an input", "S", "S_ROWS + i * TABLE_SIZE")
TABLE_U = TABLE_ROW.add("TABLE_U", 1, "which of u it fills")
TABLE_D = TABLE_ROW.add("TABLE_D", 1, "where it begins in D")
TABLE_PIECES = TABLE_ROW.add("TABLE_PIECES", 1, "number of pieces")
TABLE_ORDER = TABLE_ROW.add("TABLE_ORDER", 1, "number of coefficients of each piece")
TABLE_SIZE = TABLE_ROW.end

PROGRAM_ROW = Table("Program of an input", "S", "S_ROWS + S[S_TABLES] * TABLE_SIZE + i * PROGRAM_SIZE")
PROGRAM_U = PROGRAM_ROW.add("PROGRAM_U", 1, "which of u it fills")
PROGRAM_N = PROGRAM_ROW.add(
    "PROGRAM_N", 1, "of a law, how far behind its value the rate stands in u, and the acceleration behind that; or 0"
)
PROGRAM_S = PROGRAM_ROW.add("PROGRAM_S", 1, "where its steps begin in S")
PROGRAM_STEPS = PROGRAM_ROW.add("PROGRAM_STEPS", 1, "number of steps")
PROGRAM_D = PROGRAM_ROW.add("PROGRAM_D", 1, "where its constants begin in D")
PROGRAM_CONSTANTS = PROGRAM_ROW.add("PROGRAM_CONSTANTS", 1, "number of constants")
PROGRAM_SIZE = PROGRAM_ROW.end

STEP_ROW = Table("Step of a program", "S", "S[p + PROGRAM_S] + k * STEP_SIZE")
STEP_KIND = STEP_ROW.add("STEP_KIND", 1, "its operation (OPERATION_KINDS)")
STEP_OUT = STEP_ROW.add("STEP_OUT", 1, "the register that it writes; the program's result is register 0 at its end")
STEP_A = STEP_ROW.add("STEP_A", 1, "a: the register of its first operand, or a constant")
STEP_B = STEP_ROW.add("STEP_B", 1, "b: the register of its second operand, an exponent, or a number of steps")
STEP_SIZE = STEP_ROW.end

# kernels/programs.py has what each does.
OPERATION_KINDS = Kinds("Operations of a program", "S[s + STEP_KIND]")
OP_CONSTANT = OPERATION_KINDS.add("OP_CONSTANT", "constant a of the program")
OP_TIME = OPERATION_KINDS.add("OP_TIME", "the time")
OP_NEGATIVE = OPERATION_KINDS.add("OP_NEGATIVE", "−a")
OP_ADD = OPERATION_KINDS.add("OP_ADD", "a + b")
OP_SUBTRACT = OPERATION_KINDS.add("OP_SUBTRACT", "a − b")
OP_MULTIPLY = OPERATION_KINDS.add("OP_MULTIPLY", "a b")
OP_DIVIDE = OPERATION_KINDS.add("OP_DIVIDE", "a / b")
OP_POWER = OPERATION_KINDS.add("OP_POWER", "a to the power b, a whole number that stands in the step")
OP_SQRT = OPERATION_KINDS.add("OP_SQRT", "square root of a")
OP_ABS = OPERATION_KINDS.add("OP_ABS", "absolute value of a")
OP_SIN = OPERATION_KINDS.add("OP_SIN", "sine of a")
OP_COS = OPERATION_KINDS.add("OP_COS", "cosine of a")
OP_TAN = OPERATION_KINDS.add("OP_TAN", "tangent of a")
OP_EXP = OPERATION_KINDS.add("OP_EXP", "exponential of a")
OP_LOG = OPERATION_KINDS.add("OP_LOG", "natural logarithm of a")
OP_MIN = OPERATION_KINDS.add("OP_MIN", "the smaller of a and b; a if they are equal")
OP_MAX = OPERATION_KINDS.add("OP_MAX", "the larger of a and b; a if they are equal")
OP_UNTIL = OPERATION_KINDS.add("OP_UNTIL", "from the time in constant a on, go over the next b steps")
OP_SKIP = OPERATION_KINDS.add("OP_SKIP", "go over the next b steps")
OP_TANH = OPERATION_KINDS.add("OP_TANH", "hyperbolic tangent of a")
OP_IF = OPERATION_KINDS.add("OP_IF", "a if the register that it writes is positive, else b")
OP_VARIABLE = OPERATION_KINDS.add("OP_VARIABLE", "variable a of a law")

DRIVE_FLOATS = Table("Drive", "D", "0")
D_FIRST = DRIVE_FLOATS.add("D_FIRST", 1, "first time at which inputs are asked for: the side of a jump")
D_LAST = DRIVE_FLOATS.add("D_LAST", 1, "last time")
D_U = DRIVE_FLOATS.add("D_U", "nu", "u as far as it is constant")

PROGRAM_DATA = Table("Program of an input", "D", "S[p + PROGRAM_D]")
PROGRAM_DATA.add("CONSTANTS", "constants", "its constants, and the times at which its pieces end")

TABLE_DATA = Table("Table of an input", "D", "S[t + TABLE_D]")
TABLE_DATA.add("TIMES", "pieces + 1", "where pieces begin, and where the last one ends")
TABLE_DATA.add_behind("COEFFICIENTS", "pieces*order", "coefficients of each piece, highest power first")

# All of them, by name.
TABLES = {name: value for name, value in list(globals().items()) if isinstance(value, Table)}
KINDS = {name: value for name, value in list(globals().items()) if isinstance(value, Kinds)}

# What passes that leave gravity out take in its place.
NO_GRAVITY = (0.0, 0.0, 0.0)


@kernel
def rows(i):
    """Return where the rows of body i begin in I, F and W."""
    k = index(i)
    return HEADER + k * BODY_I_SIZE, k * BODY_F_SIZE, k * WORK_SIZE


@kernel
def gravity(I):
    """Return where the acceleration of gravity begins in u, its last three numbers."""
    return index(I[N_U]) - 3


@kernel
def first_state(I):
    """Return where the first-order states begin in u."""
    return index(I[N_U]) - 3 - index(I[N_X])


@kernel
def triangle(n):
    """Return how many numbers the lower triangle of an n × n matrix has: where row n of a larger one begins."""
    return n * (n + 1) // 2


@kernel
def modal_matrices(I, b):
    """Return where C_r1, J_2, M_e, K and D of a flexible body begin in F."""
    n = I[b + NM]
    c = index(I[b + MODAL]) + M_END * n
    k = index(I[b + MATRICES])
    return index(c), index(c + 3 * n * n), index(I[b + MASSES]) + 3 * n, k, index(k + n * n)


# How many numbers one core keeps to itself, about: half a megabyte.
_NEAR = 1 << 16


@kernel
def to_next_modal(I, F, b):
    """Return how far behind a body's modal data those of the next one begin; 0 if there is none, or all is near."""
    after = b + BODY_I_SIZE
    if F.size <= _NEAR or after >= HEADER + I[N_BODIES] * BODY_I_SIZE or I[after + NM] == 0:
        return 0
    return I[after + MODAL] - I[b + MODAL]


@kernel
def constraint_parts(I):
    """Return where A, L, e, D⁻¹e, marks and scratch of the constraints begin in W."""
    m, nv = I[N_ROWS], I[N_V]
    dense = m if I[ELIMINATION] == 0 else 0
    a = index(I[ROWS_W]) + R_END * m
    l = a + dense * m
    e = l + dense * m
    g = e + dense * nv
    marks = g + dense * nv
    return index(a), index(l), index(e), index(g), index(marks), index(marks + I[N_BODIES])
