"""The errors liegeo raises on purpose.  Each message says who, what value, what was expected and what to do."""

from __future__ import annotations

from typing import Any


class LiegeoError(Exception):
    """Base class: `except LiegeoError` catches everything that liegeo raises on purpose."""


class InputError(LiegeoError, ValueError):
    """An argument has the wrong shape, type or value."""


class ModelError(LiegeoError, ValueError):
    """A model cannot be what it says: names the body or joint and what to do."""


class DynamicsError(LiegeoError, ArithmeticError):
    """The equations of motion have no unique solution in this state."""


class AssemblyError(LiegeoError, ArithmeticError):
    """No state near the given one obeys all constraints: names the loop and by how much it stays open."""


class IntegrationError(LiegeoError, ArithmeticError):
    """A step could not be taken: the message says when and why, and `trajectory` is what there is so far."""

    def __init__(self, message: str, trajectory: Any = None) -> None:
        super().__init__(message)
        self.trajectory = trajectory


class SimulationError(LiegeoError, ArithmeticError):
    """A simulation ended early: the message says when and why, and `result` is what there is so far."""

    def __init__(self, message: str, result: Any) -> None:
        super().__init__(message)
        self.result = result
