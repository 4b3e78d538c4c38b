"""The texts of a model's messages: machine/blame.py says which of them, and which numbers, a message is made of."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo.kernels import layout as at
from liegeo.machine import blame
from liegeo.model.forces import JointForce
from liegeo.model.model import Model, once_per_model
from liegeo.status import NOT_FINITE, TOO_SHORT, WORDS

Array = NDArray[np.float64]

ENDLESS = "events follow from one another without end"
NOT_FINITE_OUTPUT = "controller '{}' gave an output that is not a finite number"


def texts(
    model: Model, keep: Collection[str] = (), quaternions: Sequence[str] = (), controllers: Sequence[str] = ()
) -> list[str]:
    """Return all texts in the order of blame.py; `keep` stays where it is while loops are closed.

    `quaternions` are what quaternions are called where somebody sets them, `controllers` the names of sampled ones.
    """
    kept = f" while {', '.join(keep)} stay{'s' if len(keep) == 1 else ''}" if len(keep) else ""
    fixed = [part for text in blame.FIXED.values() for part in text.split("{}")]
    fixed = [part.replace("{name}", model.tree.name).replace("{kept}", kept) for part in fixed]
    sampled = [*(NOT_FINITE_OUTPUT.format(name) for name in controllers), ENDLESS]
    return [*fixed, *_texts(model), *(f"{name} is " for name in quaternions), *sampled]


@once_per_model
def _texts(model: Model) -> list[str]:
    """Return the texts that follow from the model alone."""
    blocks = [str(model.failure(k)) for k in range(1, 2 * len(model.bodies) + 1)]
    below = range(blame.LOWEST, 0)
    by_step = [*(WORDS.get(k, "") for k in below), TOO_SHORT, *blocks]
    of_mechanics = [*(str(model.failure(k)) if k in WORDS or k == NOT_FINITE else "" for k in below), "", *blocks]
    forces = [force for force in model.tree.forces if not isinstance(force, JointForce)]
    kinds = [
        int(model.ints[int(model.ints[at.ELEMENTS]) + k * at.ELEMENT_SIZE + at.ELEMENT_KIND])
        for k in range(len(forces))
    ]
    named = dict.fromkeys(range(model.nv), "''")
    for name, part in (model.group.v if model.group is not None else {}).items():
        named |= dict.fromkeys(range(part.start, part.stop), f"'{name}'")
    return [
        *by_step,
        *of_mechanics,
        *(f"loop '{row.loop}' is off by " for row in model.rows),
        *(f"{_unit(row.what, '')} ({row.what})" for row in model.rows),
        *(f"{_unit(row.what, '/s')} ({row.what})" for row in model.rows),
        *(f"{row.what} of loop '{row.loop}'" for row in model.rows),
        *(f"'{row.loop}'" for row in model.rows),
        *(f"the {what} of joint '{joint}'" for joint in model.joints for what in ("spring", "damper", "friction")),
        *(
            f"{at.ELEMENT_KINDS.values[kind][0].lower()} '{force.name}'"
            for kind, force in zip(kinds, forces, strict=True)
        ),
        *(named[k] for k in range(model.nv)),
    ]


def _unit(what: str, per: str) -> str:
    """Return the unit of a row's residual, by its name; of screws, couplings and functions nobody knows."""
    if what.startswith("rotation"):
        return f" rad{per}"
    return f" m{per}" if what.startswith(("translation", "across", "distance", "normal", "slip")) else ""


@once_per_model
def loop_of_row(model: Model) -> NDArray[np.int64]:
    """Return by row of the constraints the number of its loop."""
    loops = list(dict.fromkeys(row.loop for row in model.rows))
    numbers = np.array([loops.index(row.loop) for row in model.rows], dtype=np.int64)
    numbers.setflags(write=False)
    return numbers


def put_together(pieces: Array, words: Sequence[str]) -> str:
    """Return the message of these pieces."""
    out = []
    for value, digits in pieces[1 : 1 + int(pieces[0])].reshape(-1, 2).tolist():
        if digits == blame.TEXT:
            out.append(words[int(value)])
        else:
            out.append(repr(value) if digits == blame.ALL else format(value, f".{int(digits)}g"))
    return "".join(out)


def message(model: Model, kernel: Any, *arguments: Any, keep: Collection[str] = ()) -> str:
    """Return the message whose pieces a kernel of blame.py adds."""
    pieces = np.zeros(blame.PIECES)
    kernel(*arguments, pieces)
    return put_together(pieces, texts(model, keep))
