"""Shared by all tests: the same hypothesis examples in every run, so that a red build is red for everybody.

Because this file is here, pytest puts `tests` on the path, and tests import their oracles as `oracles.lie_mp`.
"""

from __future__ import annotations

from hypothesis import settings

# No deadline: the first call of a kernel may compile it.
settings.register_profile("liegeo", derandomize=True, deadline=None, max_examples=25)
settings.load_profile("liegeo")
