"""The scripts that made the data need other programs, and are not tests."""

from __future__ import annotations

collect_ignore_glob = ["*/make.py"]
