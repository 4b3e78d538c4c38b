"""Lie-group simulation of rigid and flexible multibody systems.

    import liegeo as lg
    model = lg.Tree(bodies, joints).compile()
    a = lg.forward_dynamics(model, model.state(q={"shoulder": 0.3}), tau={"shoulder": 2.0})

Everything loads when it is first used, so that `import liegeo` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from liegeo._lazy import attach
from liegeo._version import __version__ as __version__

if TYPE_CHECKING:
    from liegeo import analysis as analysis
    from liegeo import dynamics as dynamics
    from liegeo import errors as errors
    from liegeo import flex as flex
    from liegeo import integrate as integrate
    from liegeo import io as io
    from liegeo import lie as lie
    from liegeo import model as model
    from liegeo import operators as operators
    from liegeo import results as results
    from liegeo import studies as studies
    from liegeo import view as view
    from liegeo.analysis.linear import linearise as linearise
    from liegeo.assembly import assemble as assemble
    from liegeo.calculator import Calculator as Calculator
    from liegeo.dynamics import forward_dynamics as forward_dynamics
    from liegeo.dynamics import inverse_dynamics as inverse_dynamics
    from liegeo.dynamics import mass_matrix as mass_matrix
    from liegeo.io import Mechanism as Mechanism
    from liegeo.io import load as load
    from liegeo.io import save as save
    from liegeo.model import Body as Body
    from liegeo.model import Controller as Controller
    from liegeo.model import Cylindrical as Cylindrical
    from liegeo.model import Fixed as Fixed
    from liegeo.model import FlexibleBody as FlexibleBody
    from liegeo.model import Free as Free
    from liegeo.model import Helical as Helical
    from liegeo.model import Lock as Lock
    from liegeo.model import Model as Model
    from liegeo.model import Planar as Planar
    from liegeo.model import Prismatic as Prismatic
    from liegeo.model import Revolute as Revolute
    from liegeo.model import RigidStop as RigidStop
    from liegeo.model import Sampled as Sampled
    from liegeo.model import Screws as Screws
    from liegeo.model import Spherical as Spherical
    from liegeo.model import State as State
    from liegeo.model import Tree as Tree
    from liegeo.model import Trigger as Trigger
    from liegeo.model import Universal as Universal
    from liegeo.model import Weld as Weld
    from liegeo.results import Result as Result
    from liegeo.results import plot_runs as plot_runs
    from liegeo.results import read_table as read_table
    from liegeo.simulation import simulate as simulate
    from liegeo.studies import StudyResult as StudyResult
    from liegeo.studies import study as study
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "liegeo._version": ("__version__",),
            "liegeo.analysis.linear": ("linearise",),
            "liegeo.assembly": ("assemble",),
            "liegeo.calculator": ("Calculator",),
            "liegeo.dynamics": ("forward_dynamics", "inverse_dynamics", "mass_matrix"),
            "liegeo.io": ("Mechanism", "load", "save"),
            "liegeo.model": (
                *("Body", "Controller", "FlexibleBody", "Model", "Sampled", "State", "Tree"),
                *("Lock", "RigidStop", "Trigger", "Weld"),
                *("Cylindrical", "Fixed", "Free", "Helical", "Planar", "Prismatic", "Revolute", "Screws", "Spherical"),
                "Universal",
            ),
            "liegeo.results": ("Result", "plot_runs", "read_table"),
            "liegeo.simulation": ("simulate",),
            "liegeo.studies": ("StudyResult", "study"),
        },
        (
            *("analysis", "dynamics", "errors", "flex", "integrate", "io", "lie", "model", "operators", "results"),
            *("studies", "view"),
        ),
    )
