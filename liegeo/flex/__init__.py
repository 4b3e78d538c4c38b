"""Where flexible bodies come from: beams, finite elements, component modes, files."""

from __future__ import annotations

from liegeo.flex.fe import FEModel

__all__ = ["FEModel"]
