"""How bodies, joints, trees, models and states look in a notebook: small tables, with every name escaped."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from liegeo.model.body import FlexibleBody
    from liegeo.model.joints import Joint
    from liegeo.model.model import Model, State
    from liegeo.model.tree import Tree

# Longer tables end with how many rows are missing.
MAX_ROWS = 60
_LEFT = "style='text-align:left'"


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Rows of anything that prints, under a caption and the names of the columns."""
    lines = [[html.escape(str(cell)) for cell in row] for row in rows]
    more = len(lines) - MAX_ROWS
    body = "".join(f"<tr>{''.join(f'<td {_LEFT}>{cell}</td>' for cell in line)}</tr>" for line in lines[:MAX_ROWS])
    if more > 0:
        body += f"<tr><td {_LEFT} colspan='{len(head)}'>… and {more} more</td></tr>"
    titles = "".join(f"<th {_LEFT}>{html.escape(title)}</th>" for title in head)
    return f"<table><caption {_LEFT}>{html.escape(caption)}</caption><tr>{titles}</tr>{body}</table>"


def count(n: int, what: str, many: str | None = None) -> str:
    return f"{n} {what if n == 1 else many or what + 's'}"


def describe_tree(tree: Tree) -> str:
    """One line: what a tree is made of."""
    parts = [count(len(tree.bodies), "body", "bodies"), count(len(tree.joints), "joint")]
    for things, what in (
        (tree.wheels, "wheel"),
        (tree.forces, "force element"),
        (tree.loops, "loop"),
        (tree.sensors, "sensor"),
        (tree.controllers, "controller"),
    ):
        parts += [count(len(things), what)] if things else []
    return f"tree '{tree.name}': {', '.join(parts)}, {sum(body.mass for body in tree.all_bodies):.4g} kg"


def tree_html(tree: Tree) -> str:
    """Its joints with the bodies they move, then what else holds or drives them."""
    bodies = {body.name: body for body in tree.all_bodies}
    rows = [
        (
            joint.name,
            type(joint).__name__,
            joint.parent,
            joint.child,
            len(joint.screws()),
            bodies[joint.child].n_modes,
            f"{bodies[joint.child].mass:.4g}",
        )
        for joint in tree.all_joints
    ]
    head = ("joint", "kind", "parent", "body", "speeds", "modes", "mass (kg)")
    return table(describe_tree(tree), head, rows) + _others(tree)


def _others(tree: Tree) -> str:
    things = [("loop", thing) for thing in tree.loops] + [("force", thing) for thing in tree.forces]
    if not things:
        return ""
    rows = [(what, thing.name, type(thing).__name__) for what, thing in things]
    return table("loops and forces", ("", "name", "kind"), rows)


def model_html(model: Model) -> str:
    """Where everything stands in q, v and the inputs."""
    places_q = dict(model.group.q) if model.group is not None else {}
    places_v = dict(model.group.v) if model.group is not None else {}
    rows = []
    joints = {joint.name: joint for joint in model.tree.all_joints}
    for name, body in zip(model.joints, model.bodies, strict=True):
        joint = joints[name]
        rows.append((name, f"{type(joint).__name__}: {joint.parent} → {body}", *_spans(name, places_q, places_v)))
        if body in places_v:
            rows.append((body, "modes", *_spans(body, places_q, places_v)))
    shown = table(repr(model).strip("<>"), ("name", "what", "q", "v"), rows)
    if model.inputs:
        inputs = [(name, _span(place)) for name, place in model.inputs.items()]
        shown += table("inputs", ("name", "place"), inputs)
    if model.rows:
        shown += table("constraints", ("row", "loop", "holds"), [(i, *row) for i, row in enumerate(model.rows)])
    return shown


def _spans(name: str, places_q: dict[str, slice], places_v: dict[str, slice]) -> tuple[str, str]:
    return (_span(places_q[name]), _span(places_v[name])) if name in places_v else ("", "")


def _span(place: slice) -> str:
    last = place.stop - 1
    return str(place.start) if last == place.start else f"{place.start} to {last}"


def state_html(state: State) -> str:
    rows = [(name, len(vector), numbers(vector)) for name, vector in (("q", state.q), ("v", state.v))]
    return table(f"state at t = {state.t:g} s", ("", "length", "values"), rows)


def numbers(vector: NDArray[Any], most: int = 12) -> str:
    """The first of them, in a cell."""
    values = [f"{x:.5g}" for x in vector[:most]]
    return " ".join([*values, "…"] if len(vector) > most else values)


def frequencies(body: FlexibleBody) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Frequencies in Hz, and shares of critical damping, of a body whose frame is held: K φ = ω² M_e φ, ζ = φᵀDφ/2ω."""
    if not body.n_modes:
        return np.zeros(0), np.zeros(0)
    # Models without modes do not need it, and it takes its time.
    import scipy.linalg

    squares, shapes = scipy.linalg.eigh(np.asarray(body.K), np.asarray(body.M_e))
    omega = np.sqrt(np.maximum(squares, 0.0))
    work = np.einsum("ik,ij,jk->k", shapes, np.asarray(body.D), shapes)
    ratio = np.divide(work, 2.0 * omega, out=np.zeros_like(work), where=omega > 0.0)
    return omega / (2.0 * np.pi), ratio


def describe_flexible(body: FlexibleBody) -> str:
    """One line: mass, modes and their range."""
    hertz, _ = frequencies(body)
    span = f", {hertz[0]:.4g} to {hertz[-1]:.4g} Hz" if len(hertz) > 1 else f", {hertz[0]:.4g} Hz" if len(hertz) else ""
    return f"flexible body '{body.name}': {body.mass:.4g} kg, {count(body.n_modes, 'mode')}{span}"


def flexible_html(body: FlexibleBody) -> str:
    """Its modes with the frame held, and the nodes that joints can sit on."""
    rows = [(k, f"{f:.5g}", f"{100 * z:.3g}") for k, (f, z) in enumerate(zip(*frequencies(body), strict=True))]
    shown = table(describe_flexible(body), ("mode", "frequency (Hz)", "damping (%)"), rows)
    if body.nodes:
        nodes = [(name, numbers(np.asarray(node.pose)[:3, 3])) for name, node in body.nodes.items()]
        shown += table("nodes", ("name", "position (m)"), nodes)
    return shown


def joint_html(joint: Joint) -> str:
    """What is not as it would be if nothing were said."""
    rows = []
    for field in dataclasses.fields(joint):
        value = getattr(joint, field.name)
        if field.name in ("name", "parent", "child") or _same(value, field.default):
            continue
        array = np.asarray(value) if not isinstance(value, str) else None
        if array is not None and array.shape == (4, 4):
            rows.append((f"{field.name} (position)", numbers(array[:3, 3])))
        else:
            rows.append((field.name, value if array is None else numbers(np.ravel(array))))
    return table(f"{type(joint).__name__}, {joint.owner}", ("", ""), rows)


def _same(value: Any, default: Any) -> bool:
    if value is None or default is None or isinstance(value, str):
        return value is default
    return np.shape(value) == np.shape(default) and bool(np.all(np.asarray(value) == np.asarray(default)))
