"""Quantities that have a name and nothing that computes them are errors, never another quantity's numbers.

Each table of liegeo/model/names.py gets one entry too many, in turn, and is asked for it by a result and by an FMU.
"""

import numpy as np
import pytest

import liegeo as lg
from liegeo.errors import DynamicsError, InputError, ModelError
from liegeo.model import forces, joints, names
from liegeo.model.about import XYZ, Part
from liegeo.model.names import Names
from liegeo.observer import Observer
from liegeo.results.quantities import Quantities
from models import flexible_chain

WORDS = XYZ


@pytest.fixture(scope="module")
def run():
    model = flexible_chain(2)
    return lg.simulate(model, t_end=0.01, output=0.005, progress=False)


def _quantities(run):
    return Quantities(run.model, run.t, run.q, run.v, run.u, run.x)


def _asked(run, listed, column):
    """By a result, and by the outputs of an FMU."""
    found = listed.column(column)
    quantities = _quantities(run)
    fresh = lg.Result(run.model, run.t, run.q, run.v, run.u, run.info)

    def of_result():
        quantities.answer([found.source])
        return fresh._columns([column])

    def of_fmu():
        observer = Observer(run.model, [found.source], [(found.source, found.place)])
        point = 0.0, run.q[0].copy(), run.v[0].copy(), run.model.drives(run.u, run.x)[0]
        out = np.empty(1)
        assert observer.observe(*point, run.model.workspace(), observer.numbers(), out) == 0
        return out

    return of_result, of_fmu


@pytest.mark.parametrize(
    ("table", "part", "ending"),
    [
        ("FRAMES", Part("jerk", "acceleration", WORDS), "jerk.x"),
        ("FRAMES", Part("position", "position", (".x", ".y", ".z", ".u")), "position.u"),
        ("BENDING", Part("strain", "deflection", WORDS), "strain.y"),
        ("REACTION", Part("reaction.couple", "moment", WORDS), "reaction.couple.x"),
        ("BALANCE", Part("energy.lost", "energy"), "energy.lost"),
        ("BALANCE", Part("energy.elastic", "energy", ("", ".second")), "energy.elastic.second"),
    ],
)
def test_an_entry_that_nobody_computes_is_an_error(run, monkeypatch, table, part, ending):
    others = [entry for entry in getattr(names, table) if entry.name != part.name]
    monkeypatch.setattr(names, table, (*others, part))
    listed = Names(run.model)
    column = next(name for name in listed.more if name.endswith(ending))
    monkeypatch.setattr(lg.Result, "_names", property(lambda self: listed))
    for ask in _asked(run, listed, column):
        with pytest.raises(DynamicsError, match="nothing computes the quantity"):
            ask()


@pytest.mark.parametrize("table", ["FRAMES", "BENDING", "REACTION", "BALANCE"])
def test_every_entry_of_the_tables_is_computed(run, table):
    listed = Names(run.model)
    for part in getattr(names, table):
        columns = [name for name in listed.more if name.endswith(part.name + part.components[-1])]
        for ask in _asked(run, listed, columns[0]):
            ask()


def test_names_that_are_more_than_the_numbers(run, monkeypatch):
    """Otherwise they would be the numbers of whatever comes next in q, v or u."""
    kind = type(run.model.tree.joints[0])
    monkeypatch.setattr(kind, "coordinates", (Part("angle", "angle", ("", ".2")),))
    with pytest.raises(InputError, match="numbers, but 2 names: correct the columns of its class"):
        Names(run.model)
    monkeypatch.undo()
    load = forces.PointForce(name="load", at="b")
    tree = lg.Tree(
        [lg.Body("b", mass=1.0, inertia=np.eye(3))],
        [joints.Revolute(name="j", parent="world", child="b", axis=(0, 0, 1))],
        forces=[load],
    )
    monkeypatch.setattr(forces.PointForce, "inputs", (Part("input.force", "force", WORDS),))
    with pytest.raises(InputError, match="'load' has 6 numbers, but 3 names"):
        Names(tree.compile())
    monkeypatch.undo()
    model = tree.compile()
    monkeypatch.setattr(forces.PointForce, "exerts", (Part("force", "force", tuple("abcdefg")),))
    with pytest.raises(DynamicsError, match=r"nothing computes the quantity 'load\.force'"):
        Observer(model, [("force", "load", "force")])
    with pytest.raises(ModelError, match="`exerts` names 7 numbers, but the law of LOAD_WORLD in liegeo/kernels/elem"):
        tree.compile()


def test_an_unknown_source_is_an_error(run):
    with pytest.raises(DynamicsError, match="nothing computes the quantity 'w'"):
        _quantities(run).answer([("w",)])
    with pytest.raises(DynamicsError, match="nothing computes the quantity 'w'"):
        Observer(run.model, [("w",)])
