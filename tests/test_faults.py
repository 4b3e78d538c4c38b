"""Errors as data, and the numbers that kernels return."""

from __future__ import annotations

import ast
import pickle
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import liegeo
import liegeo as lg
from liegeo import status
from liegeo._jit import KERNEL_RAISED
from liegeo.errors import DynamicsError, Fault, Field, ModelError, Owner, shown
from liegeo.io import forms
from liegeo.model import Revolute
from liegeo.model.about import about, about_fields
from liegeo.motion import Drive

ARM = lg.Body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1))


def refused(**options):
    with pytest.raises(ModelError) as caught:
        lg.Tree([ARM], [Revolute(name="it's", parent="world", child="arm", **options)]).compile()
    return caught.value


def test_an_error_carries_owner_field_value_expected_and_advice():
    (fault,) = refused(damping=[-2.0]).faults
    assert (fault.owner.kind, fault.owner.name) == ("joint", "it's")
    assert (fault.field, fault.value, fault.expected) == (("damping", 0), -2.0, "must be ≥ 0")
    assert str(fault) == "joint 'it's' (world → arm): damping[0] is -2, must be ≥ 0."
    (fault,) = refused(at="tip").faults
    assert (fault.field, fault.value) == (("at",), "tip")
    with pytest.raises(ModelError) as caught:
        lg.Tree([ARM, lg.Body("rod")], [Revolute(name="j", parent="world", child="rad")])
    unknown, none, _ = caught.value.faults
    assert (unknown.field, unknown.value, unknown.advice) == (("child",), "rad", " Did you mean 'rod'?")
    assert (none.owner.name, none.field) == ("arm", ())
    assert none.advice_in_file == "Let it float: {kind: free, parent: world, child: arm}."
    assert str(caught.value) == "\n".join(map(str, caught.value.faults))


def test_faults_of_parts_lead_to_them():
    with pytest.raises(ModelError) as caught:
        lg.FlexibleBody.from_nodes("b", [lg.model.LumpedNode(np.ones((6, 1)), mass=-1.0, name="n.1")], [[1.0]])
    (fault,) = caught.value.faults
    assert fault.field == ("nodes", "n.1", "mass")
    assert str(fault) == "flexible body 'b', node 'n.1': mass is -1, must be ≥ 0."


def test_errors_with_faults_can_be_sent_to_other_processes():
    error = refused(axis=(0, 0, 0))
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert [str(fault) for fault in again.faults] == [str(fault) for fault in error.faults]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-1.0, "-1"),
        (np.float64(0.5), "0.5"),
        (np.int64(3), "3"),
        ("3 kg", "'3 kg'"),
        (np.eye(2), "[[1.0, 0.0], [0.0, 1.0]]"),
    ],
)
def test_values_are_shown_without_types(value, text):
    assert shown(value) == text


def test_long_values_are_cut():
    assert len(shown(np.zeros(10_000))) < 250


def test_a_fault_says_what_it_must_and_no_more():
    assert str(Owner("tree", "t").fault("has no bodies")) == "tree 't': has no bodies."
    assert str(Field(None, ("q", "elbow")).fault(3.0, "expected text")) == "q['elbow'] is 3, expected text."
    several = Fault(Owner("body", "b"), (), None, "is odd", advice="First.\nSecond.")
    assert str(several) == "body 'b': is odd.\n  First.\n  Second."


# ---- what a class says about its fields


@dataclass(frozen=True, eq=False, kw_only=True)
class Silent(Revolute):
    """A joint whose field says nothing."""

    lead: float = 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Strange(Revolute):
    """A joint with a field of an unknown kind."""

    lead: float = field(default=0.0, metadata=about("lenght", "of the thread"))


def test_a_class_that_forgets_to_describe_a_field_is_named():
    with pytest.raises(
        ModelError, match="class 'Silent': lead says nothing about itself, expected a physical dimension"
    ):
        about_fields(Silent)
    with pytest.raises(ModelError, match="class 'Silent': lead says nothing"):
        forms.form(Silent, "silent")
    with pytest.raises(
        ModelError, match=r"lead is of kind 'lenght', which is no kind of field\. Did you mean 'length'"
    ):
        forms.form(Strange, "strange")


def test_a_new_joint_needs_nothing_but_its_class():
    """Its own form, its dimensions and its columns."""

    @dataclass(frozen=True, eq=False, kw_only=True)
    class Geared(Revolute):
        """Rotation with a lead."""

        lead: float = field(default=0.0, metadata=about("length", "of the thread"))

    form = forms.form(Geared, "geared")
    given = form.model_validate(
        {"kind": "geared", "parent": "world", "child": "arm", "lead": "20 mm", "damping": "1 N*m*s/rad"}
    )
    assert (given.lead, given.damping) == (0.02, 1.0)
    assert form.model_fields["lead"].description == "of the thread; a number in m, or with a unit"
    model = lg.Tree([ARM], [Geared(name="j", parent="world", child="arm")]).compile()
    assert "j.angle" in model.names.table


# ---- statuses


def test_statuses_are_different_numbers():
    codes = [status.NO_CONVERGENCE, status.INPUT_FAILED, status.NOT_FINITE, KERNEL_RAISED, status.ABSENT, status.WANTED]
    codes += [status.BAD_ARGUMENT, status.BAD_RESULT]
    codes += [status.LOOPS_OPEN, status.SPEEDS_DISOBEY, status.LOOPS_TOO_LARGE]
    assert len(set(codes)) == len(codes)
    assert all(code < 0 for code in codes)
    for i in range(5):
        for modes in (False, True):
            block = status.MassBlock(i, modes)
            assert status.block(block.status) == block
    assert len({status.MassBlock(i, m).status for i in range(5) for m in (False, True)}) == 10


def test_every_status_of_a_step_has_words():
    for code, words in status.WORDS.items():
        assert status.explain(None, code) == words
    assert status.explain(None, 3) == "the field failed"
    grown = status.explain(None, 1, np.array([1e9]), [1.0])
    assert "the solution grows without bound (its largest number is 1e+09, at the start 1)" in grown


def test_a_tree_explains_its_statuses():
    model = lg.Tree([ARM], [Revolute(name="j", parent="world", child="arm")]).compile()
    assert "joint 'j' (world → arm): the inertia that it moves is not positive." in str(model.failure(1))
    assert "body 'arm': the mass of its modes is not positive" in str(model.failure(2))
    assert "not a finite number" in str(model.failure(status.NOT_FINITE))
    assert str(model.failure(status.INPUT_FAILED)) == f"{model!r}: the input function failed."
    assert model.failure(1).owner.name == "j"


def test_the_error_of_a_singular_state_carries_the_joint():
    model = lg.Tree([lg.Body("dust")], [Revolute(name="j", parent="world", child="dust")]).compile()
    with pytest.raises(DynamicsError) as caught:
        lg.forward_dynamics(model, model.state())
    (fault,) = caught.value.faults
    assert (fault.owner.kind, fault.owner.name) == ("joint", "j")


def test_an_input_function_that_fails_is_not_taken_for_missing_inertia():
    """Its own error comes out; without one its status is named."""
    model = lg.Tree([ARM], [Revolute(name="j", parent="world", child="arm")]).compile()

    def fails(t):
        raise ZeroDivisionError("as asked")

    with pytest.raises(ZeroDivisionError, match="as asked"):
        Drive(model, {"j": fails}).values(0.0, model.state().q, model.state().v)


def test_one_module_decodes_statuses():
    """No other file divides a status, or has a number of its own for one."""
    root = Path(liegeo.__file__).parents[1]
    names = {"NO_CONVERGENCE", "INPUT_FAILED", "NOT_FINITE", "ABSENT", "WANTED"}
    for file in [*(root / "liegeo").rglob("*.py"), *(root / "fmu_export").rglob("*.py")]:
        if file.name == "status.py":
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mod):
                assert "status" not in ast.unparse(node), f"{file}: {ast.unparse(node)}"
            if isinstance(node, ast.Assign):
                assert not names & {ast.unparse(target) for target in node.targets}, f"{file}: {ast.unparse(node)}"
