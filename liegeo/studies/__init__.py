"""Many runs of one model with other values of its parameters: `lg.study`, and what its members are made of."""

from __future__ import annotations

from liegeo.studies.designs import Design as Design
from liegeo.studies.designs import LogNormal as LogNormal
from liegeo.studies.designs import Normal as Normal
from liegeo.studies.designs import Triangular as Triangular
from liegeo.studies.designs import Uniform as Uniform
from liegeo.studies.designs import make_design as make_design
from liegeo.studies.outputs import MEASURES as MEASURES
from liegeo.studies.runs import StudyResult as StudyResult
from liegeo.studies.runs import study as study
