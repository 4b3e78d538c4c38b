"""Modes of models; and the laboratory for integrators: problems with known answers, orders, work, precision, drift.

Names load when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from liegeo._lazy import attach

if TYPE_CHECKING:
    from liegeo.analysis import convergence as convergence
    from liegeo.analysis import exact as exact
    from liegeo.analysis import modes as modes
    from liegeo.analysis import problems as problems
    from liegeo.analysis import results as results
    from liegeo.analysis import statics as statics
    from liegeo.analysis.convergence import drift as drift
    from liegeo.analysis.convergence import order_study as order_study
    from liegeo.analysis.convergence import work_precision as work_precision
    from liegeo.analysis.modes import Modes as Modes
    from liegeo.analysis.problems import ALL_CASES as ALL_CASES
    from liegeo.analysis.problems import Case as Case
    from liegeo.analysis.statics import equilibrium as equilibrium
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "liegeo.analysis.convergence": ("drift", "order_study", "work_precision"),
            "liegeo.analysis.modes": ("Modes",),
            "liegeo.analysis.problems": ("ALL_CASES", "Case"),
            "liegeo.analysis.statics": ("equilibrium",),
        },
        ("convergence", "exact", "modes", "problems", "results", "statics"),
    )
