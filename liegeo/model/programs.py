"""Programs: functions of the time, or of variables, that kernels run (kernels/programs.py), made of smaller ones.

Expressions of model files become programs, so that a simulation needs no Python while it runs; those of the time drive
a model, those of variables are laws of forces (formulas.py).  A program is a list of
steps, each of which combines registers, and its constants.  Its result is in register 0, and every function here keeps
to that.  Of two operands the one that needs more registers is computed first: an expression of n operands then needs at
most 1 + log2 n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from liegeo.errors import InputError
from liegeo.kernels import layout as at
from liegeo.recorded import is_recorded_number

#: Operations by their names in expressions.
FUNCTIONS = {
    "sqrt": at.OP_SQRT,
    "abs": at.OP_ABS,
    "sin": at.OP_SIN,
    "cos": at.OP_COS,
    "tan": at.OP_TAN,
    "exp": at.OP_EXP,
    "log": at.OP_LOG,
    "min": at.OP_MIN,
    "max": at.OP_MAX,
    "tanh": at.OP_TANH,
    "if": at.OP_IF,
}
OPERATORS = {"+": at.OP_ADD, "-": at.OP_SUBTRACT, "*": at.OP_MULTIPLY, "/": at.OP_DIVIDE}
_OF_TWO = frozenset([*OPERATORS.values(), at.OP_MIN, at.OP_MAX, at.OP_IF])
# Steps that read a constant, and steps that compute nothing.
_WITH_CONSTANT, _MOVES = (at.OP_CONSTANT, at.OP_UNTIL), (at.OP_UNTIL, at.OP_SKIP)


class Step(NamedTuple):
    """An operation, the register that it writes, and its operands: layout.py, STEP_ROW."""

    kind: int
    out: int = 0
    a: int = 0
    b: int = 0

    def moved(self, registers: int, constants: int) -> Step:
        """Return the same step with other registers and constants: so many further on."""
        out = self.out if self.kind in _MOVES else self.out + registers
        a, b = self.a, self.b
        if self.kind in _WITH_CONSTANT:
            a += constants
        elif self.kind not in (at.OP_TIME, at.OP_VARIABLE, at.OP_SKIP):
            a += registers
        return Step(self.kind, out, a, b + registers if self.kind in _OF_TWO else b)


@dataclass(frozen=True)
class Program:
    """A function of the time, or of variables: its steps and its constants."""

    steps: tuple[Step, ...]
    constants: tuple[float, ...] = ()

    @property
    def is_constant(self) -> bool:
        """Whether it always has the same value."""
        return len(self.steps) == 1 and self.steps[0].kind == at.OP_CONSTANT

    @property
    def registers(self) -> int:
        """How many registers it needs."""
        return 1 + max(step.out for step in self.steps)

    def moved(self, registers: int, constants: int) -> tuple[Step, ...]:
        """Return its steps with other registers and constants: so many further on."""
        return tuple(step.moved(registers, constants) for step in self.steps)


TIME = Program((Step(at.OP_TIME),))


def constant(value: float) -> Program:
    """Return the program that always has the same value."""
    return Program((Step(at.OP_CONSTANT),), (value if is_recorded_number(value) else float(value),))


def changed(kind: int, operand: Program, b: int = 0) -> Program:
    """Return the program of a function of one operand; b is the exponent of a power."""
    return Program((*operand.steps, Step(kind, 0, 0, b)), operand.constants)


def combined(kind: int, left: Program, right: Program) -> Program:
    """Return the program of an operation on two operands."""
    swapped = right.registers > left.registers
    first, second = (right, left) if swapped else (left, right)
    last = Step(kind, 0, 1, 0) if swapped else Step(kind, 0, 0, 1)
    steps = (*first.steps, *second.moved(1, len(first.constants)), last)
    return _bounded(Program(steps, first.constants + second.constants))


def chosen(condition: Program, positive: Program, other: Program) -> Program:
    """Return the program of `positive` where the condition is positive, of `other` elsewhere."""
    steps, constants = condition.steps, condition.constants
    for k, part in enumerate((positive, other), start=1):
        steps += part.moved(k, len(constants))
        constants += part.constants
    # it reads its condition from the register that it writes
    return _bounded(Program((*steps, Step(at.OP_IF, 0, 1, 2)), constants))


def _bounded(made: Program) -> Program:
    """Return a program if it needs no more registers than there are."""
    if made.registers > at.N_REGISTERS:
        raise InputError(f"needs {made.registers} numbers at once, expected at most {at.N_REGISTERS}; make it shorter")
    return made


def switched(ends: Sequence[float], pieces: Sequence[Program]) -> Program:
    """Return the program of pieces one after another: each up to its end, where the next begins; the last has none."""
    steps, constants = pieces[-1].steps, pieces[-1].constants
    for end, piece in zip(reversed(ends), reversed(pieces[:-1]), strict=True):
        own = (*piece.moved(0, 1), Step(at.OP_SKIP, b=len(steps)))
        rest = Program(steps, constants).moved(0, 1 + len(piece.constants))
        steps = (Step(at.OP_UNTIL, b=len(own)), *own, *rest)
        constants = (float(end), *piece.constants, *constants)
    return Program(steps, constants)


def no_value(t: float) -> InputError:
    """Return the error of an expression that has no finite value at the time t."""
    return InputError(f"an expression of t in the model file has no finite value at t = {t:.6g} s.")
