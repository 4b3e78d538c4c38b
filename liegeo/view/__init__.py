"""Models and runs to look at: a 3-D page in one HTML file, and the same page live while a run goes on."""

from __future__ import annotations

from liegeo.view.live import Live, serve
from liegeo.view.page import write_page

__all__ = ["Live", "serve", "write_page"]
