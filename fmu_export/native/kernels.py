"""Which kernels the library of a native FMU has, by name.

A library fits all models: kernels are generic, and models are data.  It holds every method but those for linear
equations, which those of mechanical systems are not, the dynamics of trees and of mechanisms with loops, and what the
machine calls (liegeo/machine).
"""

from __future__ import annotations

import functools
import re
from typing import Any

from numba import types

from liegeo import motion
from liegeo._jit_export import Wanted
from liegeo.integrate import METHODS, Method, calls, explicit, stepper
from liegeo.integrate.problems import Dynamics, no_grips, no_switches, no_tangents
from liegeo.kernels import assembly, observe, projection
from liegeo.lie import Product, R
from liegeo.machine import answers, blame, exchange, record, showing, slopes, steps, tuning

_RECORD = types.Array(types.int64, 1, "C", readonly=True)
_TIME, _NUMBER, _NUMBERS = types.float64, types.int64, types.Array(types.float64, 1, "C")

#: What C calls, with the arguments behind the record.
ENTRIES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "place": (steps.place, (_TIME,)),
    "start": (steps.start, (_TIME, _TIME)),
    "communicate": (steps.communicate, (_TIME, _TIME)),
    "begin": (steps.begin, (_TIME, _TIME)),
    "stride": (steps.stride, (_TIME,)),
    "finish": (steps.finish, (_TIME,)),
    "stop": (steps.stop, (_TIME,)),
    "take_back": (steps.take_back, ()),
    "restored": (steps.restored, ()),
    "restart": (steps.restart, (_TIME,)),
    "put_coefficients": (steps.put_coefficients, ()),
    "explain": (answers.explain, (_NUMBER, _TIME)),
    "show": (showing.show, (_NUMBER,)),
    "show_between": (showing.show_between, (_NUMBER,)),
    "along_inputs": (slopes.along_inputs, (_NUMBERS,)),
    "along_motion": (slopes.along_motion, ()),
    "read_states": (exchange.read_states, (_NUMBERS,)),
    "write_states": (exchange.write_states, (_NUMBERS,)),
    "rates": (exchange.rates, (_NUMBERS,)),
    "indicators": (exchange.indicators, (_NUMBERS,)),
    "show_exchanged": (exchange.show_exchanged, (_NUMBER,)),
    "completed": (exchange.completed, (_NUMBERS,)),
    "event": (exchange.event, (_NUMBERS,)),
    "next_event": (exchange.next_event, (_NUMBERS,)),
    "along": (exchange.along, (_NUMBERS,)),
    "compute": (tuning.compute, ()),
    "go_on": (tuning.go_on, ()),
}

#: What kinds of systems there are, for methods: trees, trees with forces that may be stiff and of which D and K know
#: nothing, and systems with constraints.
KINDS = ("tree", "coupled", "loops")


@functools.cache
def wanted() -> dict[str, Wanted]:
    """Return all kernels of a library, by name."""
    found = [
        *(Wanted(kernel, (_RECORD, *rest), f"entry_{name}") for name, (kernel, rest) in ENTRIES.items()),
        Wanted(explicit.motion(calls.STUBS.acceleration), record.FIELD_ARGUMENTS, "field"),
        Wanted(projection.project_samples, record.PROJECT_ARGUMENTS, "project"),
        Wanted(assembly.assemble, record.ASSEMBLE_ARGUMENTS, "assemble"),
        Wanted(blame.add_culprit, record.BLAME_ARGUMENTS, "blame"),
        Wanted(no_tangents, calls.ARGUMENTS["local_tangents"], "no_tangents"),
        Wanted(no_switches, calls.ARGUMENTS["switches"], "no_switches"),
        Wanted(no_grips, calls.ARGUMENTS["grips"], "no_grips"),
    ]
    shown = (showing.known, observe.solved, observe.solved_loops)
    for kind, arguments in (("", record.SHOW_ARGUMENTS), ("_complex", record.COMPLEX_SHOW_ARGUMENTS)):
        found += [Wanted(kernel, arguments, f"show_{shown_by(kernel)}{kind}") for kernel in shown]
    for kind, dynamics in (("tree", motion.DYNAMICS), ("loops", motion.CONSTRAINED)):
        for name, kernel in zip(Dynamics._fields, dynamics, strict=True):
            if kernel is not None and not (kind == "loops" and kernel is getattr(motion.DYNAMICS, name)):
                found.append(Wanted(kernel, calls.ARGUMENTS[name], f"{kind}_{name}"))
    for loop, method in _loops().items():
        coefficients = method.coefficients()
        arguments = calls.loop_arguments(_group().layout, coefficients, _group().element_shape)
        found.append(Wanted(loop, arguments, loop_name(loop)))
    return {one.name: one for one in found}


def shown_by(kernel: Any) -> str:
    """Return which of the kernels that show a plan this is."""
    return "known" if kernel in (observe.show, showing.known) else "loops" if kernel is observe.solved_loops else "tree"


def dynamics_names(dynamics: Dynamics) -> list[str]:
    """Return the names of the kernels of a system in the order of Dynamics; empty where there is none."""
    by_kernel = {id(one.kernel): name for name, one in wanted().items()}
    return [by_kernel.get(id(kernel), "") for kernel in dynamics]


def loop_name(loop: Any) -> str:
    """Return the name of a loop of steps."""
    return _names_of_loops()[id(loop)]


@functools.cache
def _group() -> Product:
    """Return a group of states; loops are the same for all."""
    return Product({"joint": R(1), "speeds ": R(1)})


@functools.cache
def _all_loops() -> dict[tuple[str, str], Any]:
    """Return the loop of each method and kind of system that it can be used on."""
    group, found = explicit.operations(_group()), {}
    field = explicit.motion(calls.STUBS.acceleration)
    for method in METHODS.values():
        if "linear" in method.properties:
            # the rate of a coordinate is a speed, so that no mechanical system is linear in the sense of these
            continue
        for kind in KINDS:
            make: Any = method.make
            if method.mechanical:
                others = {"loops": method.make_closed, "coupled": method.make_coupled or method.make}
                make = others.get(kind, method.make)
            if make is None:
                continue
            closed_by = calls.STUBS if kind == "loops" and not method.mechanical else None
            given = calls.STUBS if method.mechanical else field
            displacement = calls.STUBS.displacement if method.adaptive else None
            kind_of_steps = method.adaptive, method.crosses
            made = stepper._compile(group, make, given, True, closed_by, *kind_of_steps, displacement)
            found[method.name, kind] = made.loop
    return found


@functools.cache
def _loops() -> dict[Any, Method]:
    """Return every loop once, with a method that it belongs to."""
    out: dict[Any, Method] = {}
    for (name, _), loop in _all_loops().items():
        out.setdefault(loop, METHODS[name])
    return out


@functools.cache
def _names_of_loops() -> dict[int, str]:
    out: dict[int, str] = {}
    for (method, kind), loop in _all_loops().items():
        out.setdefault(id(loop), re.sub(r"\W", "_", f"loop_{method}_{kind}"))
    return out
