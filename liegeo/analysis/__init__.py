"""Linear models, modes and operating points of models; and the laboratory for integrators.

The laboratory has problems with known answers, orders, work, precision and drift.

Names load when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from liegeo._lazy import attach

if TYPE_CHECKING:
    from liegeo.analysis import convergence as convergence
    from liegeo.analysis import exact as exact
    from liegeo.analysis import frequency as frequency
    from liegeo.analysis import linear as linear
    from liegeo.analysis import modes as modes
    from liegeo.analysis import problems as problems
    from liegeo.analysis import reduction as reduction
    from liegeo.analysis import results as results
    from liegeo.analysis import spectra as spectra
    from liegeo.analysis import synthesis as synthesis
    from liegeo.analysis.convergence import drift as drift
    from liegeo.analysis.convergence import order_study as order_study
    from liegeo.analysis.convergence import work_precision as work_precision
    from liegeo.analysis.excitation import BaseMotion as BaseMotion
    from liegeo.analysis.excitation import DrivenMotion as DrivenMotion
    from liegeo.analysis.excitation import Load as Load
    from liegeo.analysis.frequency import FrequencyResponse as FrequencyResponse
    from liegeo.analysis.frequency import driven_model as driven_model
    from liegeo.analysis.frequency import frequency_response as frequency_response
    from liegeo.analysis.linear import LinearModel as LinearModel
    from liegeo.analysis.linear import linearise as linearise
    from liegeo.analysis.loci import Locus as Locus
    from liegeo.analysis.loci import locus as locus
    from liegeo.analysis.modes import Modes as Modes
    from liegeo.analysis.modes import cross_orthogonality as cross_orthogonality
    from liegeo.analysis.modes import mac as mac
    from liegeo.analysis.problems import ALL_CASES as ALL_CASES
    from liegeo.analysis.problems import Case as Case
    from liegeo.analysis.reduction import ReducedModel as ReducedModel
    from liegeo.analysis.reduction import reduced as reduced
    from liegeo.analysis.spectra import SpectralDensity as SpectralDensity
    from liegeo.analysis.spectra import frequency_grid as frequency_grid
    from liegeo.analysis.spectra import noise_rms as noise_rms
    from liegeo.analysis.spectra import shock_response as shock_response
    from liegeo.statics import equilibrium as equilibrium
    from liegeo.statics import operating_point as operating_point
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "liegeo.analysis.convergence": ("drift", "order_study", "work_precision"),
            "liegeo.analysis.excitation": ("BaseMotion", "DrivenMotion", "Load"),
            "liegeo.analysis.frequency": ("FrequencyResponse", "driven_model", "frequency_response"),
            "liegeo.analysis.linear": ("LinearModel", "linearise"),
            "liegeo.analysis.loci": ("Locus", "locus"),
            "liegeo.analysis.modes": ("Modes", "cross_orthogonality", "mac"),
            "liegeo.analysis.problems": ("ALL_CASES", "Case"),
            "liegeo.analysis.reduction": ("ReducedModel", "reduced"),
            "liegeo.analysis.spectra": ("SpectralDensity", "frequency_grid", "noise_rms", "shock_response"),
            "liegeo.statics": ("equilibrium", "operating_point"),
        },
        (
            *("convergence", "exact", "frequency", "linear", "modes", "problems", "reduction", "results", "spectra"),
            "synthesis",
        ),
    )
