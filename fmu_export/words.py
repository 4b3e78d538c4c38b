"""Texts of an FMU that its machine in Python and the C of a native one share; {} is a value."""

from __future__ import annotations

from liegeo.integrate import METHODS

TEXTS = {
    "NO_METHOD": f"integrator.method is '{{}}', which is no method of liegeo.\n  There are: {', '.join(METHODS)}.",
    "NOT_POSITIVE": "integrator.{} is {}, must be > 0.",
    "NO_EXTRAPOLATION": "integrator.extrapolation is '{}', expected hold or linear.",
    "AT": "at t = {} s: {}",
    "NOT_INITIALISED": "the FMU is not initialised.",
    "INITIALISED": "initialised at t = {} s: method {}, step {} s, rtol {}, atol {}, extrapolation {}",
    "OTHER_FMU": "the state is of an FMU of another model.",
    "NO_STATE": "the bytes of a state cannot be read: {}",
    "NO_BEGINNING": "they are not the state of an FMU of liegeo",
    "OTHER_TYPE": "the state is of an instance of the other type: one is for co-simulation, one for model exchange.",
    "OTHER_SIZE": "their number is not that of a state",
    # native FMUs alone say these
    "FILE_PARAMETERS": "the state has other values of parameters of the model file, which are constants of this FMU.",
    "OTHER_BRANCH": "the model is made in another way with this value, which a native FMU cannot.\n"
    "  Give it where the FMU is built: liegeo fmu build --native --set NAME=VALUE.",
    "NO_NUMBER": "what follows from the parameters is not finite.",
    "NO_MEMORY": "there is no memory.",
}


def text(name: str, *values: object) -> str:
    """Return a text with these values in it; numbers have at most six digits."""
    shown = (f"{value:g}" if isinstance(value, float) else str(value) for value in values)
    return TEXTS[name].format(*shown)
