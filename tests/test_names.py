"""One name, one thing: names of public classes and of modules are unique."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path for package in ("liegeo", "fmu_export") for path in (ROOT / package).rglob("*.py"))

# Names of modules that occur more than once, and why a reader does not take one for the other.
SHARED_MODULES = {
    "assembly": "liegeo/assembly.py checks arguments and words errors for kernels/assembly.py",
    "ball_stops": "kernels/ computes what model/ declares",
    "checks": "each checks the arguments of its own package, and is imported by nobody else",
    "constraints": "kernels/ computes what model/ declares",
    "events": "kernels/ says when what model/ declares happens, machine/ ends steps there",
    "inertia": "kernels/ computes with what flex/ prepares",
    "joints": "kernels/ computes what model/ declares",
    "laws_of_joints": "kernels/ computes what model/ declares",
    "modes": "flex/ reduces a body to modes, analysis/ finds those of a mechanism",
    "motion": "liegeo/motion.py hands a model to the integrators by way of kernels/motion.py",
    "plots": "each draws what its own package has computed",
    "programs": "kernels/ runs what model/ makes",
    "problems": "of files in io/, initial value problems in integrate/, examples of these in analysis/",
    "ropes": "kernels/ computes what model/ declares",
}


def test_names_of_classes_are_unique():
    """A private class is met in its own module only, so its name may occur again."""
    places = defaultdict(list)
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert len(places) > 200
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_names_of_modules_are_unique():
    places = defaultdict(list)
    for path in SOURCES:
        if path.name != "__init__.py":
            places[path.stem].append(str(path.relative_to(ROOT)))
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert set(shared) == set(SHARED_MODULES), shared
