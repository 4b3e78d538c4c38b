"""Where things stand in the flat arrays that every pass shares.

A model is two arrays, `I` (int64) and `F` (float64); scratch is one array `W` of the type of q (float64, or complex128
for derivatives by complex step).  All three are one-dimensional: a row is a slice, found from an offset.  I and F are
read-only and shared by everybody who uses the model.  What drives a model is one vector `u`: a generalised force for
each speed, the inputs of force elements and prescribed motions, the first-order states x of elements, and gravity.

Frames of body i, from its parent P to itself (docs/theory/trees.md):

    P --(node of P, deforms)--> N --X_NJ--> J --joint--> D --X_DB--> B

N is P itself where the parent is rigid there.  D is fixed to the body's own inboard node, which deforms against B when
the modes are free-free; otherwise X_DB is constant.
"""

from __future__ import annotations

from liegeo._jit import index, kernel

# ---- I: header.  N_U: length of u; N_X: number of first-order states, which stand in u before gravity.  ELEMENTS,
# ACTUATORS, FRAMES, STATES: where their rows begin in I.  WORLD: where poses X_WB begin in W.  SHARED: where scratch
# begins in W that inertia.py and reduced.py use for one body after another.  CONSTRAINTS: where their rows begin in I;
# N_ROWS: how many speeds they take away if none is redundant, one row each; ROWS_W: where their scratch begins in W.
(
    N_BODIES,
    N_Q,
    N_V,
    N_U,
    N_WORK,
    FULL,
    N_ELEMENTS,
    ELEMENTS,
    N_FRAMES,
    FRAMES,
    N_ACTUATORS,
    ACTUATORS,
    WORLD,
    N_X,
    SHARED,
    N_CONSTRAINTS,
    CONSTRAINTS,
    N_ROWS,
    ROWS_W,
    N_STATES,
    STATES,
) = range(21)
HEADER = 21

# ---- I: one row a body, behind the header
(
    PARENT,  # index of the parent, -1 for the world; always smaller than the body's own
    KIND,  # of the joint, below
    JQ,  # where the joint's coordinates begin in q
    JV,  # where its speeds begin in v
    NV,  # number of its speeds
    SCREWS,  # where its screws begin, in F: in D, then in B
    NM,  # number of modes
    EQ,  # where the modal coordinates begin in q
    EV,  # where the modal speeds begin in v
    PARENT_NODE,  # where the node that carries the joint begins in I, -1 if it does not deform
    OWN_NODE,  # where the body's inboard node begins in I, -1 if it does not deform
    MODAL,  # where the body's modal data begin in F
    FLEX,  # where the body's modal scratch begins in W
    CARRIER,  # where the scratch of the parent node begins in W
    OFFSET,  # what X_DB is: NONE, CONSTANT or DEFORMING
    LOCKED,  # bit k is set if speed k of the joint is locked
    AXIS,  # 0, 1, 2: the joint is one rotation about this axis of B and X_DB is the identity; -1 otherwise
    PASSIVE,  # 1 if the joint has a spring, a damper or friction; ON_GROUP if it has a spring and its q are not added
    DIAGONAL,  # 1 if modal stiffness and damping are diagonal
    SECOND_T,  # where C_t1 (3nn) begins in F, -1 if it is zero
    SECOND_R,  # where the antisymmetric part of C_r1 (3nn), then the symmetric one (3n(n + 1)/2), begin in F, -1 if the
    # symmetric one is zero
    REDUCED,  # where the constants of reduced.py begin in F, -1 if the modal block is factorised each time
    REDUCED_W,  # where the scratch of reduced.py begins in W
    N_SLOTS,  # number of children that reduced.py sees
    SLOT,  # which of them this body is for its parent
    CARRIER_F,  # in ruthless models: where pose and Π_N of the undeformed parent node begin in F, as at CARRIER in W
    MASSES,  # where C_r0 (3n), then M_e (n(n + 1)/2), begin in F
    MATRICES,  # where K (nn), then D (nn), begin in F, behind all that every call reads
) = range(28)
BODY_I_SIZE = 28
NONE, CONSTANT, DEFORMING = range(3)
ON_GROUP = 2

# ---- I: one row a deforming node: where its data begin in F, its number of modes, and where its terms of second order
# begin in F (rotation 3nn, displacement 3nn; -1 if there are none)
NODE_F, NODE_NM, NODE_SECOND = range(3)
# its data in F: rotation and position in the undeformed body, then rotational and translational modes, 3 × nm each
NODE_R, NODE_P, NODE_MODES = 0, 9, 12

# ---- I: one row a frame that a force element or constraint uses: body (-1 for the world), its node in I (-1 if it does
# not deform), its pose in F, its scratch in W (X_WF 12, X_BF 12, V_WF_F 6, Π_F 6 × nm, column by column)
FRAME_BODY, FRAME_NODE, FRAME_F, FRAME_W = range(4)
FRAME_SIZE = 4
X_WF, X_BF, V_F, PI_F = 0, 12, 24, 30

# ---- I: one row a force element: kind, frames (offsets in I), data in F, first input in u
ELEMENT_KIND, FRAME_A, FRAME_B, ELEMENT_F, ELEMENT_U = range(5)
ELEMENT_SIZE = 5
LOAD_WORLD, LOAD_BODY, SPRING, BUSHING = range(4)

# ---- I: one row an actuator: speed, input in u, where gear and limit stand in F
ACTUATED, ACTUATOR_U, ACTUATOR_F = range(3)
ACTUATOR_SIZE = 3

# ---- I: one row a constraint: kind; frames (offsets in I), or the row of the joint's body; data in F; first of its
# rows and how many; first input in u; what else it needs (constraints.py)
C_KIND, C_A, C_B, C_F, C_ROW, C_N, C_U, C_MORE = range(8)
CONSTRAINT_SIZE = 8
CUT, DISTANCE, POINT, ROLLING, COUPLING, MOTION, USER = range(7)

# ---- W: of the constraints, from ROWS_W, m = N_ROWS: wrenches on B and on A, six a row | then in units of m: residual
# φ, its rate, its acceleration without v̇, right-hand side, multipliers, pivots, order of elimination, first speed that
# a row touches and the one behind the last | A mm | L mm | then e and D⁻¹e, nv a row | a mark a body | scratch.
ON_B, ON_A, PHI, RATE, CURVE, RIGHT, LAMBDA, PIVOT, ORDER, LOW, HIGH, R_END = 0, 6, *range(12, 22)
# of the scratch: what a cut joint uses; behind it what functions of a user's own wrote, each from its C_F
CUT_SCRATCH = 120

# ---- I: one row per element with a first-order state: kind; the speed on which it acts; where its state stands in u;
# its input in u; where its data begin in F (states.py)
STATE_KIND, STATE_SPEED, STATE_U, STATE_INPUT, STATE_F = range(5)
STATE_SIZE = 5
LAG, LUGRE = range(2)

# ---- The drive: what belongs to one motion of a model and not to the model itself, in two arrays, S (int64) and D
# (float64); every stepper has its own.  S: where I and F of the model are in memory and how long they are, the address
# of a function that changes u or 0, the number of tables, then one row per table: which of u it fills, where it begins
# in D, its number of pieces, and of coefficients per piece.  D: the first and the last time at which inputs are asked
# for (the sides of jumps), then u as far as it is constant, then the tables.
S_I, S_NI, S_F, S_NF, S_CALL, S_TABLES, S_ROWS = range(7)
TABLE_U, TABLE_D, TABLE_PIECES, TABLE_ORDER = range(4)
TABLE_SIZE = 4
D_FIRST, D_LAST, D_U = range(3)

# ---- joint kinds
FIXED, REVOLUTE, PRISMATIC, SCREW_CHAIN, SPHERICAL, PLANAR, FREE, WHEEL = range(8)

# ---- F: one row a body, what every body needs first; rotations row by row, inertia about B's origin: xx yy zz xy xz yz
X_NJ_R, X_NJ_P, MASS, MOMENT, INERTIA, ARMATURE, X_DB_R, X_DB_P = 0, 9, 12, 13, 16, 22, 28, 37
# armature (above), springs, dampers and friction of the joint, six each; the speed at which friction is felt; where
# springs are slack, as the joint's coordinates stand in q, at most seven
STIFFNESS, DAMPING, FRICTION, FRICTION_SPEED, REST = 40, 46, 52, 58, 59
BODY_F_SIZE = 66

# ---- W: one row a body
R_NB = 0  # 9   rotation of B in N                                   kinematics
P_NB = 9  # 3   position of B in N                                   kinematics
VEL = 12  # 6   twist V_WB_B                                         kinematics
BIAS = 18  # 6  acceleration of B when nothing else accelerates       kinematics
SUB = 24  # 36  motion subspace in B, one column of six after another kinematics
INE = 60  # 21  inertia: own, then composite or articulated (J 6, H 9, M 6)
ACC = 81  # 6   acceleration of B, gravity included
FOR = 87  # 6   force across the joint, at B
PSU = 93  # 36  P S, column after column
FAC = 129  # 6  one over the pivot of each speed of the joint
RES = 135  # 6  its residual
SIZE = 141  # 2 traces of J and of M, the largest outboard: what round-off in INE is measured by
WORK_SIZE = 143

# ---- F: a body's modal data, from MODAL, n = NM, in units of n up to C_r1, what every call reads
# C_t 3n | J_1 6n | diagonals of K and D, n each | only in full models C_r1 3nn | J_2 3n(n + 1)
# J as xx yy zz xy xz yz.  C_r1[a, l, k] = ∂C_r[a, k]/∂η_l: a row for each l, in it three numbers for each k, so that
# sums over l run along rows; its parts at SECOND_R likewise.  J_2[l, k], six numbers each, M_e and the symmetric part
# of C_r1 stand as their lower triangles: [0, 0], [1, 0], [1, 1], [2, 0] …
M_J1, M_DIAGONAL_K, M_DIAGONAL_D, M_END = 3, 9, 10, 11

# ---- W: a flexible body's scratch, from FLEX, n = NM, in units of n, what every call uses first
# Π_d 6n | z_f n | ε_f n | P_rf 6n, whose place μ takes, then g | P_ff n(n + 1)/2, its lower triangle
# Matrices 6 × n stand column by column: the six numbers of a mode together.
PID, ZF, EPS, PRF, PFF = 0, 6, 7, 8, 14
MU = GAIN = PRF

# ---- W: what inertia.py finds of one body and needs until it is done with it, from SHARED, in units of n
# Σ_l J_2 η_l 6n | Σ_l C_r1 η_l, then with η̇_l, 3n
J2_ETA, CR1_ETA, SUMS_END = 0, 6, 9

# ---- W: scratch of a node that carries a joint, from CARRIER: R_PN 9 | p_PN 3 | Π_N 6 × n, column by column |
# θ and coefficients that nodes.py finds for poses and keeps for rates, 7
CARRIER_R, CARRIER_P, CARRIER_PI, CARRIER_KEPT = 0, 9, 12, 7


@kernel
def rows(i):
    """Where the rows of body i begin in I, F and W."""
    k = index(i)
    return HEADER + k * BODY_I_SIZE, k * BODY_F_SIZE, k * WORK_SIZE


# What passes that leave gravity out take in its place.
NO_GRAVITY = (0.0, 0.0, 0.0)


@kernel
def gravity(I, u):
    """Return the acceleration of gravity, the last three numbers of u."""
    g = index(I[N_U]) - 3
    return u[g], u[g + 1], u[g + 2]


@kernel
def first_state(I):
    """Return where the first-order states begin in u."""
    return index(I[N_U]) - 3 - index(I[N_X])


@kernel
def triangle(n):
    """How many numbers the lower triangle of an n × n matrix has: where row n of a larger one begins."""
    return n * (n + 1) // 2


@kernel
def modal_matrices(I, b):
    """Where C_r1, J_2, M_e, K and D of a flexible body begin in F."""
    n = I[b + NM]
    c = index(I[b + MODAL]) + M_END * n
    k = index(I[b + MATRICES])
    return index(c), index(c + 3 * n * n), index(I[b + MASSES]) + 3 * n, k, index(k + n * n)


# How many numbers one core keeps to itself, about: half a megabyte.
_NEAR = 1 << 16


@kernel
def to_next_modal(I, F, b):
    """How far behind the modal data of a body those of the next one begin; 0 if there is none, or all is near."""
    after = b + BODY_I_SIZE
    if F.size <= _NEAR or after >= HEADER + I[N_BODIES] * BODY_I_SIZE or I[after + NM] == 0:
        return 0
    return I[after + MODAL] - I[b + MODAL]


@kernel
def constraint_parts(I):
    """Where A, L, e, D⁻¹e, marks and scratch of the constraints begin in W."""
    m, nv = I[N_ROWS], I[N_V]
    a = index(I[ROWS_W]) + R_END * m
    l = a + m * m
    e = l + m * m
    g = e + m * nv
    marks = g + m * nv
    return index(a), index(l), index(e), index(g), index(marks), index(marks + I[N_BODIES])


def constraint_size(m: int, nv: int, n_bodies: int, user: int) -> int:
    """How much scratch m rows need; `user` is what functions of a user's own write."""
    return R_END * m + 2 * m * m + 2 * m * nv + n_bodies + CUT_SCRATCH + user if m else 0
