"""The table of units in common use against pint, which it stands for."""

from __future__ import annotations

import pytest

from liegeo.errors import InputError
from liegeo.io import units
from liegeo.io.unit_table import UNITS


@pytest.mark.parametrize("name", UNITS)
def test_the_table_has_what_pint_has(name):
    """The same bits, so that a model does not depend on which of the two was asked."""
    value, powers, kind = units._unit(name)
    assert (value, powers, kind) == units.ask_pint(name)
    assert units._radians(name) == units.ask_pint_for_radians(name)


def test_what_may_stand_without_a_number_or_is_suggested_is_in_the_table():
    assert UNITS.keys() >= units.BARE
    assert set(units._COMMON) <= UNITS.keys()


def test_other_units_come_from_pint():
    assert units.unit("furlong")[0] == units.ask_pint("furlong")[0]
    assert "furlong" not in UNITS
    with pytest.raises(InputError, match="has the unknown unit 'metrr'"):
        units.unit("metrr")
