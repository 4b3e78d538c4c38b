"""docs/extending.md is true: its blocks fit the source, its checks pass, and a forgotten place says what is missing."""

from __future__ import annotations

import pytest
from recipes import copy_source, recipes, run

RECIPES = recipes()
IN_SOURCE = [recipe for recipe in RECIPES if recipe.blocks]


def test_the_page_counts_its_places():
    assert [recipe.title.partition(".")[0] for recipe in RECIPES] == [str(k) for k in range(1, 12)]
    for recipe in RECIPES:
        tests = [block for block in recipe.blocks if block.file.startswith("tests/")]
        assert (len(recipe.blocks) - len(tests), len(tests)) == recipe.declared, recipe.title
        assert bool(recipe.blocks) == bool(recipe.check), recipe.title
        assert all(block.forgotten for block in recipe.blocks), recipe.title


def applied(recipe, folder, without=None):
    for block in recipe.blocks:
        if block is not without:
            block.apply(folder)


def test_all_recipes_together(tmp_path):
    """One process for all, because importing takes most of the time."""
    source, work = copy_source(tmp_path / "source"), tmp_path / "work"
    work.mkdir()
    for recipe in IN_SOURCE:
        applied(recipe, source)
    code, said = run(source, work, [recipe.check for recipe in IN_SOURCE])
    assert code == 0, said


@pytest.mark.slow
@pytest.mark.parametrize("recipe", IN_SOURCE, ids=lambda recipe: recipe.title)
def test_each_recipe_alone(recipe, tmp_path):
    source, work = copy_source(tmp_path / "source"), tmp_path / "work"
    work.mkdir()
    applied(recipe, source)
    code, said = run(source, work, [recipe.check])
    assert code == 0, said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "block"),
    [pytest.param(r, b, id=f"{r.title}: {b.file} {k}") for r in IN_SOURCE for k, b in enumerate(r.blocks)],
)
def test_a_forgotten_place_is_named(recipe, block, tmp_path):
    source, work = copy_source(tmp_path / "source"), tmp_path / "work"
    work.mkdir()
    applied(recipe, source, without=block)
    code, said = run(source, work, [recipe.check])
    assert code != 0
    assert block.forgotten in said, said
