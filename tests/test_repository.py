"""What the repository promises about itself."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

import liegeo

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_citation_key_is_in_the_references():
    keys = set(re.findall(r"^\| ([A-Z]+\d\d) \|", (ROOT / "docs/references.md").read_text(encoding="utf-8"), re.M))
    files = [*PAGES, *(ROOT / "liegeo").rglob("*.py"), *(ROOT / "fmu_export").rglob("*.py")]
    for file in files:
        cited = set(re.findall(r"\[([A-Z]+\d\d)[,\]]", file.read_text(encoding="utf-8")))
        assert cited <= keys, f"{file.name} cites {cited - keys}"


def test_readme_has_the_command_that_ci_runs():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    command = re.search(r"<!-- test command -->\n```bash\n(.+)\n```\n<!-- end -->", text)
    assert command is not None
    assert "pytest" in command[1]


def test_version_is_in_the_changelog():
    assert f"## {liegeo.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_given_dependencies_are_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    everything = " ".join(
        [*project["dependencies"], *(r for e in project["optional-dependencies"].values() for r in e)]
    )
    for name in ("numpy", "scipy", "numba", "pythonfmu", "fmpy", "pytest"):
        assert re.search(rf"\b{name}\b", everything), name


# Modules whose distributions have other names.
_DISTRIBUTIONS = {"yaml": "pyyaml"}


def _imports(package):
    """By module of others: the files that import it, wherever in the file."""
    found = {}
    for file in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
            for name in (
                {name.split(".")[0] for name in names} - set(sys.stdlib_module_names) - {"liegeo", "fmu_export"}
            ):
                found.setdefault(name, set()).add(file.relative_to(ROOT).as_posix())
    return found


@pytest.mark.parametrize("package", ["liegeo", "fmu_export"])
def test_what_is_imported_is_declared(package):
    """As a dependency, or of an extra that is not for developers; not through somebody else's dependencies."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [
        r for name, e in project["optional-dependencies"].items() if name not in ("test", "bench", "docs") for r in e
    ]
    declared = {re.match(r"[\w.-]+", r)[0].lower() for r in [*project["dependencies"], *extras]}
    found = _imports(package)
    assert {"numpy", "lxml"} <= set(found)
    missing = {name: files for name, files in found.items() if _DISTRIBUTIONS.get(name, name).lower() not in declared}
    assert not missing


def test_unknown_attribute_of_the_package_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'liegeo' has no attribute 'simulat'"):
        _ = liegeo.simulat
