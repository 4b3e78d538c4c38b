"""Standard input data of flexible bodies (SID): the text file between finite elements and multibody programs.

The file is Wallrapp's (O. Wallrapp, Standardization of flexible body modeling in multibody system codes, part I,
Mech. Struct. Mach. 22, 1994, 283–304; R. Schwertassek and O. Wallrapp, Dynamik flexibler Mehrkörpersysteme, 1999), as
FEMBS of SIMPACK writes it and [FLS13] reads it.  The layout was taken from files of FEMBS in the wild
(github.com/sevoigt/pymbs, examples/sid) and from three programs that read SID (pymbs; EMBSlib for Modelica;
github.com/jgeisler0303/FEMBeam), none of whose code is here:

    3   2    :No. nodes, No. modes: a title
    part
      new modal = name
        refmod              mass, nelastq, and a name `ielastq (i)` for each mode, with its frequency in Hz
        frame               `new node = name` ... `end node`, each with rframe, origin, phi, psi, AP and maybe sigma
        mdCM, J, Ct, Cr, Me, Gr, Ge, Oe, ksigma, Ke, De
      end modal
    end part

Every matrix is a Taylor series M(q) = M0 + Σ_k M1[:, k, :] q_k between its name and `end` name: order, nrow, ncol, nq,
nqn, structure (0 zero, 1 diagonal, 2 symmetric, 3 general, 4 unit), and the entries `m0(row, column)` and
`m1(row, mode, column)` that are not zero.  J is six rows, xx yy zz xy xz yz (or 3×3); the six columns of Oe belong to
Ω = (ω_x², ω_y², ω_z², ω_x ω_y, ω_y ω_z, ω_x ω_z): the orders of the last two differ.

**From SID to the record of kernels/inertia.py.**  With ω the angular velocity and a the acceleration of the frame less
gravity, both in the frame, the data stand in

    m a + mdCM~ᵀ ω̇ + Ctᵀ q̈ + 2 ω~ Ctᵀ q̇ + ω~ ω~ mdCM = f,                                                    (1)
    mdCM~ a + J ω̇ + Crᵀ q̈ + Gr(q̇) ω + ω~ J ω = n,                                                          (2)
    Ct a + Cr ω̇ + Me q̈ + Ge(q̇) ω + Oe Ω + ksigma + Ke q + De q̇ = h,                                        (3)

which are kernels/inertia.py (2) and (3) with a = v̇ + w×v.  Compare the terms.  The linear ones give

    moment = mdCM.M0,   C_t[a,k] = Ct.M0[k,a] = mdCM.M1[a,k],   C_t1[a,l,k] = Ct.M1[k,l,a],                  (4)
    C_r0[a,k] = Cr.M0[k,a],   C_r1[a,l,k] = Cr.M1[k,l,a],   inertia = J.M0,   J_1[k] = J.M1[:,k],            (5)

and M_e, K, D are Me, Ke, De.  What is quadratic in ω in (3) is −½ w·(∂J/∂η_k) w, ∂J/∂η_k = J_1[k] + 2 Σ_l J_2[k,l] η_l:

    Oe.M0[k] = −½ J_1[k] : Ω,   Oe.M1[k,l] = −J_2[k,l] : Ω,   S : Ω = (xx, yy, zz, 2xy, 2yz, 2xz) of S.      (6)

So the second order of J, which J of SID lacks, is not lost: it is Oe.M1, and `to_flexible_body` takes it from there
(J_2 = 0 if Oe has order 0).  A program that takes (1)–(3) literally still leaves J_2 out of J ω̇ and ω~ J ω, and so
does not conserve energy to second order in q; liegeo does.  Displacements of second order (of rotary inertia, masses
beside their nodes, geometric stiffening) add to Ct.M1, to the part of Cr.M1 that is symmetric in its modes, and to
Oe.M1, and land in C_t1, C_r1 and J_2.  They also add Σ Ct.M1 q̇ q̇ to (1) and Σ Cr.M1 q̇ q̇ to (2), which the
kernels have and a program that takes (1) and (2) literally has not.

What is bilinear in ω and q̇ is J̇ w + w×(C_r q̇) in (2), and Ċ_r,k·w − ∂(w·C_r q̇)/∂q_k in (3):

    Gr_l = J_1[l] − hat(C_r0[l]),   of first order in q_m:  2 J_2[l,m] − hat(C_r1[:,m,l]),                   (7)
    Ge[k,a,l] = C_r1[a,l,k] − C_r1[a,k,l].                                                                   (8)

For mass points (7) is −2 ∫ r~ φ~_l dm.  FEMBS writes 2 C_r1[a,l,k] for (8), the same where C_r1 is antisymmetric; what
is symmetric in it has no kinetic energy and is dropped.  Nothing of Gr and Ge is needed, then: they are checked.  Their
columns are Gr[a, n·b + l] and Ge[k, n·a + l] (axis by axis) in files of FEMBS, and Gr[a, 3·l + b], Ge[k, 3·l + a] (mode
by mode) in FEMBeam; both are read, the first is written.

A node has the pose (exp(Φ_r η + ½ηG_rη) R₀, p₀ + Φ_t η + ½ηG_tη), G from stiffening by loads at it.  Of first order

    origin = p₀ + Φ_t q,   phi = Φ_t + G_t q,   psi = Φ_r + G_r q,   AP = R₀ + Σ_k hat(Φ_r,k) R₀ q_k,          (9)

where psi leaves out ½ Φ_r,l × Φ_r,k, by which rotations do not commute, as the files do.

Lost on the way to a FlexibleBody: sigma (stresses), the title, and the names of the modes.  Refused, because the record
has no place for them: reference stresses ksigma, and Me, Ke or De that depend on q.  Lost on the way to SID: nothing
that moves the body, but frames come back as nodes that do not move, and J_2_second, which `flex.invariants` needs, is
not in a SID.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo.errors import ModelError
from liegeo.lie import SO3
from liegeo.model.body import FlexibleBody, Node

Array = NDArray[np.float64]

STRUCTURES = ("zero", "diagonal", "symmetric", "general", "unit")
_ZERO, _DIAGONAL, _SYMMETRIC, _GENERAL, _UNIT = range(5)
# The matrices of a body and of a node in the order of the file, with their sizes; "n" and "3n" for n modes.
Sizes = tuple[tuple[int | str, int | str], ...]
_BODY: dict[str, Sizes] = {
    "mdCM": ((3, 1),),
    "J": ((6, 1), (3, 3)),
    "Ct": (("n", 3),),
    "Cr": (("n", 3),),
    "Me": (("n", "n"),),
    "Gr": ((3, "3n"),),
    "Ge": (("n", "3n"),),
    "Oe": (("n", 6),),
    "ksigma": (("n", 1),),
    "Ke": (("n", "n"),),
    "De": (("n", "n"),),
}
_NODE: dict[str, Sizes] = {
    "origin": ((3, 1),),
    "phi": ((3, "n"),),
    "psi": ((3, "n"),),
    "AP": ((3, 3),),
    "sigma": ((6, 1),),
}
# Where xx yy zz xy xz yz (J) and xx yy zz xy yz xz (Oe) are in a symmetric matrix.
_J_ROWS, _J_COLUMNS = (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)
_O_ROWS, _O_COLUMNS = (0, 1, 2, 0, 1, 0), (0, 1, 2, 1, 2, 2)
_O_WEIGHTS = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
# How far Me, Ke, De and Oe.M1 may be from symmetric, relative to their largest entry: files have twelve digits.
_SYMMETRY = 1e-6


# ---------------------------------------------------------------- the data


@dataclass(frozen=True, eq=False)
class Taylor:
    """A matrix M(q) = M0 + Σ_k M1[:, k, :] q_k with its `order` (0 or 1) and `structure` (an index of STRUCTURES).

    M0 is nrow × ncol, M1 is nrow × nq × ncol.  Two are equal if they are to the bit.
    """

    M0: ArrayLike
    M1: ArrayLike
    order: int = 1
    structure: int = _GENERAL

    def __post_init__(self) -> None:
        M0, M1 = np.array(self.M0, dtype=np.float64), np.array(self.M1, dtype=np.float64)
        if M0.ndim != 2 or M1.ndim != 3 or M0.shape != (M1.shape[0], M1.shape[2]):
            raise ModelError(f"Taylor: M0 has shape {M0.shape} and M1 {M1.shape}, expected (r, c) and (r, nq, c).")
        if self.order not in (0, 1) or self.structure not in range(5):
            raise ModelError(
                f"Taylor: order is {self.order} and structure {self.structure}, "
                "expected order 0 or 1 and structure 0 to 4."
            )
        if not (np.isfinite(M0).all() and np.isfinite(M1).all()):
            raise ModelError("Taylor: M0 or M1 is not finite.")
        plain0, plain1 = _with_structure(M0, M1, self.order, self.structure)
        square = M0.shape[0] == M0.shape[1] or self.structure != _SYMMETRIC
        if not (square and np.array_equal(M0, plain0) and np.array_equal(M1, plain1)):
            raise ModelError(
                f"Taylor: order {self.order} and structure {self.structure} ({STRUCTURES[self.structure]}) "
                "do not fit what is in M0 and M1."
            )
        for name, array in (("M0", plain0), ("M1", plain1)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def nq(self) -> int:
        return int(np.shape(self.M1)[1])

    def at(self, q: ArrayLike) -> Array:
        """M(q)."""
        return np.asarray(
            np.asarray(self.M0) + np.einsum("rkc,k->rc", np.asarray(self.M1), np.asarray(q, dtype=np.float64))
        )

    def _key(self) -> tuple[Any, ...]:
        M0, M1 = np.asarray(self.M0), np.asarray(self.M1)
        return self.order, self.structure, M0.shape, M1.shape, M0.tobytes(), M1.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Taylor) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def _with_structure(M0: Array, M1: Array, order: int, structure: int) -> tuple[Array, Array]:
    """M0 and M1 with what order and structure imply: zeros, the unit matrix, the lower from the upper triangle."""
    if structure in (_ZERO, _UNIT):
        return np.eye(*M0.shape) if structure == _UNIT else np.zeros(M0.shape), np.zeros(M1.shape)
    M1 = M1.copy() if order else np.zeros(M1.shape)
    M0 = M0.copy()
    if structure == _DIAGONAL:
        off = np.eye(*M0.shape) == 0.0
        M0[off] = 0.0
        M1.transpose(0, 2, 1)[off] = 0.0
    if structure == _SYMMETRIC and M0.shape[0] == M0.shape[1]:
        i, j = np.triu_indices(len(M0), 1)
        M0[j, i], M1[j, :, i] = M0[i, j], M1[i, :, j]
    return M0, M1


@dataclass(frozen=True)
class SIDNode:
    """A node: its name, the frame it is given in, its place, modes of displacement and rotation, and orientation."""

    name: str
    origin: Taylor
    phi: Taylor
    psi: Taylor
    AP: Taylor
    sigma: Taylor | None = None
    rframe: str = "body ref"


@dataclass(frozen=True)
class SID:
    """What a SID file holds, with its own names.  `modes` are the texts of ielastq, e.g. "Eigen Mode 7 : 49.640 Hz"."""

    mass: float
    modes: Sequence[str]
    nodes: Sequence[SIDNode]
    mdCM: Taylor
    J: Taylor
    Ct: Taylor
    Cr: Taylor
    Me: Taylor
    Gr: Taylor
    Ge: Taylor
    Oe: Taylor
    ksigma: Taylor
    Ke: Taylor
    De: Taylor
    name: str = ""
    title: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", float(self.mass))
        object.__setattr__(self, "modes", tuple(self.modes))
        object.__setattr__(self, "nodes", tuple(self.nodes))
        who = f"SID '{self.name}'"
        if not np.isfinite(self.mass):
            raise ModelError(f"{who}: mass is {self.mass}, expected a finite number.")
        names = [node.name for node in self.nodes]
        for text in (self.name, self.title, *self.modes, *names, *(node.rframe for node in self.nodes)):
            if text != text.strip() or re.search(r"[\r\n\ud800-\udfff]", text):
                raise ModelError(f"{who}: the text {text!r} cannot be written, expected one line without outer blanks.")
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ModelError(f"{who}: two nodes have the name '{twice}', expected different ones.")
        for block in _BODY:
            _check_size(f"{who}: {block}", getattr(self, block), _BODY[block], len(self.modes))
        for node in self.nodes:
            for block in _NODE:
                if getattr(node, block) is not None:
                    where = f"{who}, node '{node.name}': {block}"
                    _check_size(where, getattr(node, block), _NODE[block], len(self.modes))

    @property
    def n_modes(self) -> int:
        return len(self.modes)

    @property
    def frequencies(self) -> Array:
        """Hz of each mode, as its text gives it; NaN where it gives none."""
        found = [re.search(r":\s*([^\s:]+)\s*hz\s*$", text, re.I) for text in self.modes]
        return np.array([np.nan if f is None or _real(f[1]) is None else _real(f[1]) for f in found], dtype=np.float64)


def _sizes(sizes: Sizes, n: int) -> list[tuple[int, ...]]:
    values = {"n": n, "3n": 3 * n}
    return [tuple(values[s] if isinstance(s, str) else s for s in size) for size in sizes]


def _check_size(who: str, taylor: Taylor, sizes: Sizes, n: int) -> None:
    shape, allowed = np.shape(taylor.M0), _sizes(sizes, n)
    if shape not in allowed:
        raise ModelError(f"{who} is {_by(shape)}, expected {' or '.join(map(_by, allowed))} for {n} modes.")
    if taylor.nq != n and not (taylor.nq == 0 and taylor.order == 0):
        raise ModelError(f"{who} has nq = {taylor.nq}, expected {n}, the number of modes.")


def _by(shape: Sequence[int]) -> str:
    return f"{shape[0]}×{shape[1]}"


# ---------------------------------------------------------------- reading

_COMMENTS = "!#%*"
_REAL = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[edED]([+-]?\d+)|([+-]\d+))?")
_ENTRY = re.compile(r"m([01n])\s*\(([^)]*)\)")
_COUNTS = re.compile(r"\s*(\d{1,9})\s+(\d{1,9})\b\s*(?::\s*no\. nodes, no\. modes\s*:?)?(.*)", re.I)
_COUNTS_IN_WORDS = re.compile(r"\s*(\d{1,9})\s+nodes?\s*,\s*(\d{1,9})\s+modes?\b.*", re.I)
_SETTINGS = ("order", "nrow", "ncol", "nq", "nqn", "structure")


def _real(text: str) -> float | None:
    """A number as C or Fortran write it: 1.5, 1.5e3, 1.5D+03, 1.5+103."""
    found = _REAL.fullmatch(text)
    if found is None:
        return None
    return float(f"{found[1]}e{found[2] or found[3] or '0'}")


class _Lines:
    """The lines of a file that say something, one at a time, and complaints that name file and line."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if self.lines[-1].strip() == "":
            self.lines.pop()
        self.number = 0
        self.inside: list[tuple[str, int]] = []

    def raw(self) -> str | None:
        if self.number >= len(self.lines):
            return None
        self.number += 1
        return self.lines[self.number - 1]

    def next(self, expected: str) -> tuple[str, str]:
        """Keyword in lower case with single blanks, and what stands after `=`; blank lines and comments are skipped."""
        while (line := self.raw()) is not None:
            if line.strip() and line.strip()[0] not in _COMMENTS:
                key, _, value = line.partition("=")
                return " ".join(key.lower().split()), value.strip()
        block, begun = self.inside[-1] if self.inside else ("the file", 1)
        raise self.error(
            f"the file ends inside {block} (begun at line {begun}), expected {expected}.\n"
            "  It is cut off: copy it again, or write it again."
        )

    def error(self, what: str, line: int | None = None) -> ModelError:
        return ModelError(f"{self.path}, line {line or max(self.number, 1)}: {what}")

    def integer(self, key: str, value: str) -> int:
        value = value.partition("!")[0].strip()
        if re.fullmatch(r"[+-]?\d{1,9}", value) is None:
            raise self.error(f"{key} is '{value}', expected an integer.")
        return int(value)

    def real(self, key: str, value: str) -> float:
        value = value.partition("!")[0].strip()
        number = _real(value)
        if number is None or not np.isfinite(number):
            raise self.error(f"{key} is '{value}', expected a finite number.")
        return number


def read_sid(path: str | Path, *, mode_index: Literal[2, 3] = 2) -> SID:
    """The data of a SID file.

    Upper and lower case, blanks, blank lines, exponents with D or E, comments (lines that begin with !, #, % or *, and
    after ! behind numbers) do not matter; zeros may be written or left out; of a symmetric matrix one triangle is
    enough.  What stands after `end part` is not read.  Everything else that is not as it should be is a ModelError with
    file and line.  `mode_index` says which index of m1 counts modes: 2 in the standard, 3 in files of FEMBeam.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}.") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    if mode_index not in (2, 3):
        raise ModelError(f"read_sid: mode_index is {mode_index!r}, expected 2 or 3.")
    lines = _Lines(path, text)
    counts, title = _read_title(lines)
    lines.inside.append(("'part'", lines.number))
    key, name = lines.next("'new modal'")
    if key != "new modal":
        raise lines.error(f"found '{key}', expected 'new modal'.")
    sid = _read_modal(lines, name, title, mode_index)
    key, _ = lines.next("'end part'")
    if key != "end part":
        raise lines.error(f"found '{key}', expected 'end part': one body a file is read.")
    if counts is not None and counts[1:] != (len(sid.nodes), sid.n_modes):
        line, n_nodes, n_modes = counts
        raise lines.error(
            f"{n_nodes} nodes and {n_modes} modes announced, but there are {len(sid.nodes)} and {sid.n_modes}.", line
        )
    return sid


def _read_title(lines: _Lines) -> tuple[tuple[int, int, int] | None, str]:
    """What stands above `part`: line, numbers of nodes and modes if given, and a title."""
    counts, title, first = None, "", True
    while (line := lines.raw()) is not None:
        if line.strip().lower() == "part":
            return counts, title
        if first and line.strip() and line.strip()[0] not in _COMMENTS:
            first, title = False, line.strip()
            if found := _COUNTS.fullmatch(line) or _COUNTS_IN_WORDS.fullmatch(line):
                counts = (lines.number, int(found[1]), int(found[2]))
                title = found[3].strip() if found.re is _COUNTS else title
    raise lines.error("the file ends and no line was 'part', expected a SID file.")


def _read_modal(lines: _Lines, name: str, title: str, mode_index: int) -> SID:
    lines.inside.append(("'new modal'", lines.number))
    known = {key.lower(): key for key in _BODY}
    mass, modes, nodes = 0.0, None, None
    blocks: dict[str, Taylor] = {}
    while True:
        key, _ = lines.next("'end modal'")
        if key == "end modal":
            break
        if key == "refmod" and modes is None:
            mass, modes = _read_refmod(lines)
        elif modes is None:
            raise lines.error(f"found '{key}', expected 'refmod' first, once.")
        elif key in ("frame", "new frame") and nodes is None:
            nodes = _read_frame(lines, len(modes), mode_index)
        elif key in known and known[key] not in blocks:
            block = known[key]
            blocks[block] = _read_taylor(lines, block, _BODY[block], len(modes), mode_index)
        else:
            again = key in known or key in ("frame", "new frame", "refmod")
            raise lines.error(f"found '{key}'{' again' if again else ''}, expected one of {_missing(blocks, nodes)}.")
    if modes is None or nodes is None or len(blocks) < len(_BODY):
        raise lines.error(f"found 'end modal', but {_missing(blocks, nodes)} did not come yet.")
    lines.inside.pop()
    return SID(mass=mass, modes=modes, nodes=nodes, name=name, title=title, **blocks)


def _missing(blocks: Mapping[str, Taylor], nodes: Sequence[SIDNode] | None) -> str:
    missing = [*(["frame"] if nodes is None else []), *(block for block in _BODY if block not in blocks)]
    return ", ".join(missing or ["end modal"])


def _read_refmod(lines: _Lines) -> tuple[float, list[str]]:
    lines.inside.append(("refmod", lines.number))
    mass, count, names = None, None, dict[int, str]()
    while True:
        key, value = lines.next("'end refmod'")
        if key == "end refmod":
            break
        mode = re.fullmatch(r"ielastq ?\(\s*(\d{1,9})\s*\)", key)
        if key == "mass" and mass is None:
            mass = lines.real(key, value)
        elif key == "nelastq" and count is None:
            count = lines.integer(key, value)
        elif mode is not None and count is not None:
            k = int(mode[1])
            if not 1 <= k <= count or k in names:
                raise lines.error(f"ielastq ({k}) is out of range or given twice, expected 1 to {count}, each once.")
            names[k] = value
        else:
            raise lines.error(f"found '{key}', expected mass, nelastq, then ielastq (1) and so on, each once.")
    if mass is None or count is None:
        raise lines.error(f"refmod ends without {'mass' if mass is None else 'nelastq'}.")
    if len(names) != count:
        k = next((k for k in range(1, len(names) + 2) if k not in names), 1)
        raise lines.error(f"refmod ends with {len(names)} modes, expected nelastq = {count}: ielastq ({k}) is missing.")
    lines.inside.pop()
    return mass, [names[k + 1] for k in range(count)]


def _read_frame(lines: _Lines, n: int, mode_index: int) -> list[SIDNode]:
    lines.inside.append(("frame", lines.number))
    nodes: list[SIDNode] = []
    while True:
        key, name = lines.next("'new node' or 'end frame'")
        if key == "end frame":
            lines.inside.pop()
            return nodes
        if key != "new node":
            raise lines.error(f"found '{key}', expected 'new node' or 'end frame'.")
        if name in (node.name for node in nodes):
            raise lines.error(f"there is a node '{name}' already, expected different names.")
        nodes.append(_read_node(lines, name, n, mode_index))


def _read_node(lines: _Lines, name: str, n: int, mode_index: int) -> SIDNode:
    lines.inside.append((f"node '{name}'", lines.number))
    known = {key.lower(): key for key in _NODE}
    rframe: str | None = None
    blocks: dict[str, Taylor] = {}
    while True:
        key, value = lines.next("'end node'")
        if key == "end node":
            break
        if key == "rframe" and rframe is None:
            rframe = value
        elif key in known and known[key] not in blocks:
            block = known[key]
            blocks[block] = _read_taylor(lines, block, _NODE[block], n, mode_index)
        else:
            again = " again" if key in known or key == "rframe" else ""
            raise lines.error(f"node '{name}': found '{key}'{again}, expected rframe, {', '.join(_NODE)} or end node.")
    missing = [block for block in _NODE if block not in blocks and block != "sigma"]
    if missing:
        raise lines.error(f"node '{name}' ends without {', '.join(missing)}.")
    lines.inside.pop()
    return SIDNode(name, rframe="body ref" if rframe is None else rframe, **blocks)


def _read_taylor(lines: _Lines, block: str, sizes: Sizes, n: int, mode_index: int) -> Taylor:
    lines.inside.append((block, lines.number))
    settings: dict[str, int] = {}
    M0, M1 = None, None
    given: dict[tuple[int, ...], int] = {}
    while True:
        key, value = lines.next(f"'end {block}'")
        if key == f"end {block.lower()}":
            break
        entry = _ENTRY.fullmatch(key)
        if key in _SETTINGS and key not in settings and M0 is None:
            settings[key] = lines.integer(f"{block}: {key}", value)
        elif entry is not None:
            if M0 is None or M1 is None:
                M0, M1 = _allocate(lines, block, settings, sizes, n)
            index = _index(lines, block, entry, M0.shape, M1.shape, settings["order"], mode_index)
            if index in given:
                raise lines.error(f"{block}: {key} is given twice, first at line {given[index]}.")
            given[index] = lines.number
            target = M0 if len(index) == 2 else M1
            target[index] = lines.real(f"{block}: {key}", value)
        else:
            again = " again" if key in settings else ""
            raise lines.error(
                f"{block}: found '{key}'{again}, expected {', '.join(_SETTINGS)}, "
                f"then m0(i, j), m1(i, k, j), then end {block}."
            )
    if M0 is None or M1 is None:
        M0, M1 = _allocate(lines, block, settings, sizes, n)
    order, structure = settings["order"], settings["structure"]
    if structure == _UNIT and not any(len(index) == 2 for index in given):
        M0[...] = np.eye(*M0.shape)
    if structure == _SYMMETRIC:
        _fill_symmetric(lines, block, M0, M1, given)
    plain0, plain1 = _with_structure(M0, M1, order, structure)
    for index, line in given.items():
        entry_is, expected = (M0[index], plain0[index]) if len(index) == 2 else (M1[index], plain1[index])
        if entry_is != expected:
            what = f"m{len(index) - 2}({', '.join(str(i + 1) for i in index)})"
            raise lines.error(
                f"{block}: {what} is {entry_is:g}, "
                f"but structure = {structure} ({STRUCTURES[structure]}) has {expected:g}.",
                line,
            )
    lines.inside.pop()
    return Taylor(plain0, plain1, order, structure)


def _allocate(lines: _Lines, block: str, settings: Mapping[str, int], sizes: Sizes, n: int) -> tuple[Array, Array]:
    """M0 and M1 of zeros, when order, nrow, ncol, nq and structure are as they must be."""
    for key in _SETTINGS:
        if key not in settings and key != "nqn":
            raise lines.error(f"{block}: {key} did not come yet, expected {', '.join(_SETTINGS)} first.")
    order, nq, shape = settings["order"], settings["nq"], (settings["nrow"], settings["ncol"])
    allowed = _sizes(sizes, n)
    if shape not in allowed:
        sides = " or ".join(map(_by, allowed))
        raise lines.error(f"{block}: nrow, ncol are {_by(shape)}, expected {sides} with nelastq = {n}.")
    if order not in (0, 1) or settings.get("nqn", 0) != 0:
        raise lines.error(
            f"{block}: order = {order}, nqn = {settings.get('nqn', 0)}, expected order 0 or 1 and nqn = 0.\n"
            "  Series of second order are not read: reduce the model with linear modes."
        )
    if nq != n and not (nq == 0 and order == 0):
        raise lines.error(f"{block}: nq = {nq}, expected nelastq = {n}.")
    if settings["structure"] not in range(5):
        raise lines.error(f"{block}: structure = {settings['structure']}, expected 0 to 4 ({', '.join(STRUCTURES)}).")
    return np.zeros(shape), np.zeros((shape[0], nq, shape[1]))


def _index(
    lines: _Lines,
    block: str,
    entry: re.Match[str],
    shape0: tuple[int, ...],
    shape1: tuple[int, ...],
    order: int,
    mode_index: int,
) -> tuple[int, ...]:
    """Of m0(i, j) or m1(i, k, j), from zero, in the order row, mode, column."""
    which, text = entry[1], f"{block}: {' '.join(entry[0].split())}"
    numbers = [part.strip() for part in entry[2].split(",")]
    wanted = 2 if which == "0" else 3
    if which == "n" or (which == "1" and order == 0):
        raise lines.error(f"{text}, but order = {order}, expected no such entry.")
    if len(numbers) != wanted or not all(re.fullmatch(r"\d{1,9}", part) for part in numbers):
        raise lines.error(f"{text}, expected {wanted} indices.")
    index = tuple(int(part) - 1 for part in numbers)
    shape = shape0 if wanted == 2 else shape1
    swapped = (index[0], index[2], index[1]) if wanted == 3 else index
    if mode_index == 3:
        index, swapped = swapped, index
    if not all(0 <= i < size for i, size in zip(index, shape, strict=True)):
        ranges = [f"1 to {size}" for size in shape]
        names = "row, column"
        if wanted == 3:
            names = "row, mode, column"
            if mode_index == 3:
                names, ranges = "row, column, mode", [ranges[0], ranges[2], ranges[1]]
        hint = ""
        if wanted == 3 and all(0 <= i < size for i, size in zip(swapped, shape, strict=True)):
            hint = (
                f"\n  The last two indices fit the other way round: try read_sid(..., mode_index={5 - mode_index}), "
                "3 if FEMBeam wrote the file."
            )
        raise lines.error(f"{text} is out of range, expected {names} in {', '.join(ranges)}.{hint}")
    return index


def _fill_symmetric(lines: _Lines, block: str, M0: Array, M1: Array, given: Mapping[tuple[int, ...], int]) -> None:
    """One triangle from the other where only that is given; both must agree if they are, and the upper one is kept."""
    if M0.shape[0] != M0.shape[1]:
        raise lines.error(f"{block}: structure = {_SYMMETRIC} (symmetric), but it is {_by(M0.shape)}.")
    scales = {2: np.abs(M0).max(initial=0.0), 3: np.abs(M1).max(initial=0.0)}
    for index, line in given.items():
        M = M0 if len(index) == 2 else M1
        mirror = (*index[::-1],) if len(index) == 2 else (index[2], index[1], index[0])
        if mirror not in given:
            M[mirror] = M[index]
        elif abs(M[index] - M[mirror]) > _SYMMETRY * scales[len(index)]:
            raise lines.error(
                f"{block}: entry ({', '.join(str(i + 1) for i in index)}) is {M[index]:g} "
                f"and its mirror {M[mirror]:g}, expected the same: structure = {_SYMMETRIC} (symmetric).",
                line,
            )
    for i, *k, j in given:
        if i > j:
            if k:
                M1[i, k[0], j] = M1[j, k[0], i]
            else:
                M0[i, j] = M0[j, i]


# ---------------------------------------------------------------- writing


def write_sid(sid: SID, path: str | Path) -> None:
    """Write a SID file as FEMBS does, numbers with as many digits as they need to come back to the bit.

    The file appears whole or not at all: it is written beside its place and renamed.
    """
    path = Path(path)
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        temporary.write_bytes(format_sid(sid).encode("utf-8"))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def format_sid(sid: SID) -> str:
    """The text of a SID file."""
    text = [f"{len(sid.nodes):5d}{sid.n_modes:4d}    :No. nodes, No. modes:{sid.title}", " part"]
    text.append(_setting(6, "new modal", sid.name))
    text.append(f"{'':11}refmod")
    text.append(_setting(16, "mass", _number(sid.mass)))
    text.append(_setting(16, "nelastq", f"{sid.n_modes:3d}"))
    text.extend(_setting(16, f"ielastq ({k + 1:4d})", mode) for k, mode in enumerate(sid.modes))
    text += [f"{'':11}end refmod", f"{'':11}frame"]
    for node in sid.nodes:
        text.append(_setting(16, "new node", node.name))
        text.append(_setting(21, "rframe", node.rframe))
        for block in _NODE:
            if getattr(node, block) is not None:
                text.extend(_format_taylor(block, getattr(node, block), 21))
        text.append(f"{'':16}end node")
    text.append(f"{'':11}end frame")
    for block in _BODY:
        text.extend(_format_taylor(block, getattr(sid, block), 11))
    text += [f"{'':6}end modal", " end part", ""]
    return "\n".join(text)


def _setting(indent: int, key: str, value: str) -> str:
    return f"{'':{indent}}{key}".ljust(48) + f"= {value}".rstrip()


def _number(x: float) -> str:
    """The shortest text that reads back as x, with Fortran's exponent."""
    return np.format_float_scientific(x, unique=True, trim="0", exp_digits=2).replace("e", "D")


def _format_taylor(block: str, taylor: Taylor, indent: int) -> list[str]:
    M0, M1 = np.asarray(taylor.M0), np.asarray(taylor.M1)
    values = (taylor.order, *M0.shape, taylor.nq, 0, taylor.structure)
    text = [f"{'':{indent}}{block}"]
    text += [_setting(26, key, f"{value:4d}") for key, value in zip(_SETTINGS, values, strict=True)]
    if taylor.structure != _UNIT:
        # −0.0 is written: it is not the zero that is left out
        for i, j in np.argwhere((M0 != 0.0) | np.signbit(M0)):
            text.append(_setting(26, f"m0({i + 1:2d},{j + 1:2d})", _number(M0[i, j])))
        for j, i, k in np.argwhere(((M1 != 0.0) | np.signbit(M1)).transpose(2, 0, 1)):
            text.append(_setting(26, f"m1({i + 1:2d},{k + 1:2d},{j + 1:2d})", _number(M1[i, k, j])))
    return [*text, f"{'':{indent}}end {block}"]


# ---------------------------------------------------------------- to and from a flexible body


def from_flexible_body(body: FlexibleBody) -> SID:
    """The SID of a flexible body, equations (4)–(9).  Frames become nodes that do not move."""
    n = body.n_modes
    J_0, J_1, J_2 = np.asarray(body.inertia), np.asarray(body.J_1), np.asarray(body.J_2)
    C_t, C_r0, C_r1 = np.asarray(body.C_t), np.asarray(body.C_r0), np.asarray(body.C_r1)
    M_e, K = np.asarray(body.M_e), np.asarray(body.K)
    Gr, Ge = _gyroscopic(J_1, C_r0, C_r1)
    with np.errstate(divide="ignore", invalid="ignore"):
        hertz = np.sqrt(np.diag(K) / np.diag(M_e)) / (2.0 * np.pi)
    nodes = dict(body.nodes) | {name: Node(pose, np.zeros((6, n))) for name, pose in body.frames.items()}
    return SID(
        mass=float(body.mass),
        modes=[f"Mode {k + 1:4d}" + (f" : {f:12.3f} Hz" if np.isfinite(f) else "") for k, f in enumerate(hertz)],
        nodes=[_to_node(name, node) for name, node in nodes.items()],
        mdCM=_series(np.asarray(body.moment)[:, None], C_t[:, :, None]),
        J=_series(J_0[_J_ROWS, _J_COLUMNS][:, None], J_1[:, _J_ROWS, _J_COLUMNS].T[:, :, None]),
        Ct=_series(C_t.T, np.asarray(body.C_t1).transpose(2, 1, 0)),
        Cr=_series(C_r0.T, C_r1.transpose(2, 1, 0)),
        Me=_square(M_e),
        Gr=_series(Gr.reshape(3, 3 * n), np.zeros((3, n, 3 * n))),
        Ge=_series(Ge.reshape(n, 3 * n), np.zeros((n, n, 3 * n))),
        Oe=_series(0.0 - 0.5 * _colon(J_1), 0.0 - _colon(J_2)),
        ksigma=_series(np.zeros((n, 1)), np.zeros((n, n, 1))),
        Ke=_square(K),
        De=_square(np.asarray(body.D)),
        name=body.name,
        title="written by liegeo",
    )


def _series(M0: Array, M1: Array) -> Taylor:
    """General, or zero if it is; of order 0 if nothing in it, not even −0.0, depends on q."""
    order = int(M1.any() or np.signbit(M1).any())
    return Taylor(M0, M1, order, _GENERAL if order or M0.any() or np.signbit(M0).any() else _ZERO)


def _square(M: Array) -> Taylor:
    """Symmetric if it is, to the bit."""
    symmetric = M.tobytes() == np.ascontiguousarray(M.T).tobytes()
    return Taylor(M, np.zeros((len(M), len(M), len(M))), 0, _SYMMETRIC if symmetric else _GENERAL)


def _to_node(name: str, node: Node) -> SIDNode:
    """(9)."""
    pose, modes = np.asarray(node.pose), np.asarray(node.modes)
    n, R = modes.shape[1], pose[:3, :3]
    second = np.zeros((6, n, n)) if node.second is None else np.asarray(node.second)
    psi, phi = modes[:3], modes[3:]
    unit = not modes[:3].any() and R.tobytes() == np.eye(3).tobytes()
    return SIDNode(
        name,
        origin=Taylor(pose[:3, 3:], phi[:, :, None], 1, _GENERAL),
        phi=_series(phi, second[3:]),
        psi=_series(psi, second[:3]),
        AP=Taylor(R, np.zeros((3, n, 3)), 0, _UNIT) if unit else Taylor(R, _turned(psi, R), 1, _GENERAL),
    )


def _turned(psi: Array, R: Array) -> Array:
    """hat(psi_k) R as [row, mode, column]."""
    return np.asarray((SO3.hat(psi.T) @ R).transpose(1, 0, 2)) if psi.shape[1] else np.zeros((3, 0, 3))


def _gyroscopic(J_1: Array, C_r0: Array, C_r1: Array) -> tuple[Array, Array]:
    """(7) at q = 0 as [a, b, l] and (8) as [k, a, l]."""
    hat = SO3.hat(C_r0.T) if len(J_1) else np.zeros((0, 3, 3))
    return (J_1 - hat).transpose(1, 2, 0), C_r1.transpose(2, 0, 1) - C_r1.transpose(1, 0, 2)


def _colon(S: Array) -> Array:
    """S : Ω of (6) for symmetric matrices in the last two axes."""
    return np.asarray(S[..., _O_ROWS, _O_COLUMNS] * _O_WEIGHTS)


def to_flexible_body(sid: SID, name: str | None = None, *, tolerance: float = 1e-6) -> FlexibleBody:
    """The flexible body of a SID, equations (4)–(9), with J_2 from Oe.M1 and C_t1 from Ct.M1.

    What SID says twice must agree within `tolerance`, relative to the largest entry of its matrix: mdCM.M1 with Ct, Oe
    and Gr with J, Ge with Cr, origin with phi, AP with psi.  Of each pair the second is used and the first only
    checked.  A tolerance of `math.inf` takes files that contradict themselves.
    """
    name = sid.name if name is None else name
    who = f"flexible body '{name}' of SID '{sid.name}'"
    n = sid.n_modes
    problems: list[str] = []
    J_0, J_1 = _inertia(sid.J, n)
    C_t, C_r0 = np.asarray(sid.Ct.M0).T.copy(), np.asarray(sid.Cr.M0).T.copy()
    C_r1 = _first(sid.Cr, n).transpose(2, 1, 0).copy()
    C_t1 = _first(sid.Ct, n).transpose(2, 1, 0).copy()
    Oe_1 = _first(sid.Oe, n)
    _symmetric(problems, "Oe.M1 of two modes", Oe_1)
    Oe_1 = 0.5 * (Oe_1 + Oe_1.transpose(1, 0, 2))
    J_2 = np.zeros((n, n, 3, 3))
    J_2[..., _O_ROWS, _O_COLUMNS] = J_2[..., _O_COLUMNS, _O_ROWS] = 0.0 - Oe_1 / _O_WEIGHTS

    def agree(what: str, given: Array, expected: Array, why: str) -> None:
        problems.extend(_disagreement(what, given, expected, tolerance, why))

    Gr, Ge = _gyroscopic(J_1, C_r0, C_r1)
    agree("mdCM.M1", _first(sid.mdCM, n)[:, :, 0], C_t, "the transpose of Ct.M0, (4)")
    agree("Oe.M0", np.asarray(sid.Oe.M0), -0.5 * _colon(J_1), "−½ J.M1 : Ω, (6)")
    # Only what is symmetric: files of FEMBS have been seen whose Gr leaves out the part of Cr.
    given, expected = (0.5 * (G + G.transpose(1, 0, 2)) for G in _nearest(np.asarray(sid.Gr.M0), Gr, 0))
    agree("the symmetric part of Gr", given, expected, "J.M1, (7)")
    if np.any(_first(sid.Gr, n)):
        hat = SO3.hat(C_r1.transpose(1, 2, 0))  # [m, l]
        Gr_1 = (2.0 * J_2 - hat).transpose(2, 0, 3, 1)  # [a, m, b, l], J_2 being symmetric in m and l
        given, expected = (0.5 * (G + G.transpose(2, 1, 0, 3)) for G in _nearest(_first(sid.Gr, n), Gr_1, 1))
        agree("the symmetric part of Gr.M1", given, expected, "−2 Oe.M1, (7)")
    # FEMBS has twice all of Cr.M1; both have the same antisymmetric part
    choices = [_nearest(np.asarray(sid.Ge.M0), G, 0) for G in (Ge, 2.0 * C_r1.transpose(2, 0, 1))]
    agree("Ge", *min(choices, key=lambda pair: _misses(*pair)), "from Cr.M1, (8)")
    problems += [
        f"{block}.M1 is not zero, expected a {block} that does not depend on q."
        for block in ("Me", "Ke", "De", "ksigma")
        if np.any(getattr(sid, block).M1)
    ]
    if np.any(sid.ksigma.M0):
        problems.append("ksigma is not zero: forces of reference stresses have no place in the record.")
    squares = {}
    for block in ("Me", "Ke", "De"):
        M = np.asarray(getattr(sid, block).M0)
        _symmetric(problems, block, M)
        squares[block] = M if _asymmetry(M) <= 1e-10 else 0.5 * (M + M.T)
    nodes = {node.name: _from_node(problems, node, n, tolerance) for node in sid.nodes}
    _symmetric(problems, "Ct.M1 of two modes", C_t1.transpose(1, 2, 0))
    if problems:
        if any("tolerance is" in problem for problem in problems):
            problems.append("A larger tolerance takes the file, and goes by what is expected here.")
        raise ModelError(f"{who}: " + "\n  ".join(problems))
    return FlexibleBody(
        name=name,
        mass=sid.mass,
        moment=np.asarray(sid.mdCM.M0)[:, 0],
        inertia=J_0,
        C_t=C_t,
        C_r0=C_r0,
        C_r1=C_r1,
        J_1=J_1,
        J_2=J_2,
        M_e=squares["Me"],
        K=squares["Ke"],
        D=squares["De"],
        nodes=nodes,
        C_t1=C_t1,
    )


def _first(taylor: Taylor, n: int) -> Array:
    """M1, also where order 0 has left out nq."""
    M1 = np.asarray(taylor.M1)
    return M1 if M1.shape[1] == n else np.zeros((M1.shape[0], n, M1.shape[2]))


def _inertia(J: Taylor, n: int) -> tuple[Array, Array]:
    """J₀ and J_1 from six rows or 3×3, of which the upper triangle counts."""
    M0, M1 = np.asarray(J.M0), _first(J, n)
    if M0.shape == (3, 3):
        six_0, six_1 = M0[_J_ROWS, _J_COLUMNS], M1.transpose(1, 0, 2)[:, _J_ROWS, _J_COLUMNS]
    else:
        six_0, six_1 = M0[:, 0], M1[:, :, 0].T
    J_0, J_1 = np.zeros((3, 3)), np.zeros((len(six_1), 3, 3))
    for six, out in ((six_0, J_0), (six_1, J_1)):
        out[..., _J_ROWS, _J_COLUMNS] = out[..., _J_COLUMNS, _J_ROWS] = six
    return J_0, J_1


def _from_node(problems: list[str], node: SIDNode, n: int, tolerance: float) -> Node:
    """(9)."""
    where = f"node '{node.name}'"
    R = np.asarray(node.AP.M0)
    phi, psi = np.asarray(node.phi.M0), np.asarray(node.psi.M0)
    if node.rframe.lower() != "body ref":
        problems.append(f"{where}: rframe is '{node.rframe}', expected 'body ref'.")
    second = np.concatenate([_first(node.psi, n), _first(node.phi, n)])
    _symmetric(problems, f"{where}: psi.M1 or phi.M1 of two modes", second.transpose(1, 2, 0))
    origin_1, AP_1 = _first(node.origin, n)[:, :, 0], _first(node.AP, n)
    problems += _disagreement(f"{where}: origin.M1", origin_1, phi, tolerance, "phi.M0, (9)")
    problems += _disagreement(f"{where}: AP.M1", AP_1, _turned(psi, R), tolerance, "hat(psi.M0) AP.M0, (9)")
    defect = float(np.abs(R.T @ R - np.eye(3)).max())
    pose = np.eye(4)
    if defect > 1e-6 or np.linalg.det(R) <= 0.0:
        problems.append(f"{where}: AP.M0 is no rotation: it misses RᵀR = 1 by {defect:.3g}, expected at most 1e-6.")
    else:
        # twelve digits are not quite a rotation; what a double can be is left as it is
        pose[:3, :3] = R if defect < 1e-14 else SO3.project(R)
    pose[:3, 3] = np.asarray(node.origin.M0)[:, 0]
    return Node(pose, np.concatenate([psi, phi]), second if second.any() else None)


def _nearest(given: Array, expected: Array, axis: int) -> tuple[Array, Array]:
    """Given columns as [..., axis, mode], in the layout that fits better what is expected."""
    head, n = given.shape[: axis + 1], expected.shape[-1]
    by_axis = given.reshape(*head, 3, n)
    by_mode = np.swapaxes(given.reshape(*head, n, 3), -1, -2)
    return (by_mode if _misses(by_mode, expected) < _misses(by_axis, expected) else by_axis), expected


def _misses(given: Array, expected: Array) -> int:
    """How many entries differ, so that one wrong entry does not decide which layout is meant."""
    return int((np.abs(given - expected) > 1e-6 * np.abs(expected).max(initial=0.0)).sum())


def _disagreement(what: str, given: Array, expected: Array, tolerance: float, why: str) -> list[str]:
    """Nothing, or which entry is wrong, and what it should be."""
    if given.size == 0:
        return []
    error = np.abs(given - expected)
    scale = max(float(np.abs(given).max()), float(np.abs(expected).max()))
    if float(error.max()) <= tolerance * scale or not error.any():
        return []
    at = np.unravel_index(int(np.argmax(error)), error.shape)
    place = ", ".join(str(int(i) + 1) for i in at)
    return [
        f"{what}[{place}] is {given[at]:.9g}, expected {expected[at]:.9g}, {why}; "
        f"they differ by {float(error.max()) / scale:.2g} of the largest entry, tolerance is {tolerance:g}."
    ]


def _asymmetry(M: Array) -> float:
    """Of the first two axes, relative to the largest entry."""
    scale = float(np.abs(M).max(initial=0.0))
    return float(np.abs(M - np.swapaxes(M, 0, 1)).max(initial=0.0)) / scale if scale else 0.0


def _symmetric(problems: list[str], what: str, M: Array) -> None:
    if _asymmetry(M) > _SYMMETRY:
        at = np.unravel_index(int(np.argmax(np.abs(M - np.swapaxes(M, 0, 1)))), M.shape)
        mirror = (at[1], at[0], *at[2:])
        place = ", ".join(str(int(i) + 1) for i in at)
        problems.append(f"{what} is not symmetric: [{place}] is {M[at]:.9g} and its mirror {M[mirror]:.9g}.")
