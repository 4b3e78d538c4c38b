"""The errors liegeo raises on purpose.  Each message says who, what value, what was expected and what to do."""

from __future__ import annotations


class LiegeoError(Exception):
    """Base class: `except LiegeoError` catches everything that liegeo raises on purpose."""


class InputError(LiegeoError, ValueError):
    """An argument has the wrong shape, type or value."""
