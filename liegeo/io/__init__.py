"""Model files: reading, writing, and what other formats become.

    mechanism = liegeo.load("models/flexible_arm.yaml", set={"arm.length": 1.5})
    liegeo.save(mechanism, "longer_arm.yaml")

A format is a suffix in READERS and a function that makes a Mechanism or a Tree of a path.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liegeo._lazy import attach
from liegeo.errors import InputError

if TYPE_CHECKING:
    from liegeo.io.mechanism import Mechanism as Mechanism
    from liegeo.io.mjcf import read_mjcf as read_mjcf
    from liegeo.io.schemas import schema as schema
    from liegeo.io.urdf import joint_limits as joint_limits
    from liegeo.io.urdf import read_urdf as read_urdf
    from liegeo.io.writing import save as save
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            __name__: ("READERS", "load"),
            "liegeo.io.mechanism": ("Mechanism",),
            "liegeo.io.mjcf": ("read_mjcf",),
            "liegeo.io.schemas": ("schema",),
            "liegeo.io.urdf": ("joint_limits", "read_urdf"),
            "liegeo.io.writing": ("save",),
        },
    )

# By suffix: the module and the function that reads it; nothing is imported before it is needed.
READERS: dict[str, tuple[str, str]] = {
    ".yaml": ("liegeo.io.files", "read_model"),
    ".yml": ("liegeo.io.files", "read_model"),
    ".urdf": ("liegeo.io.urdf", "read_urdf"),
    ".xml": ("liegeo.io.mjcf", "read_mjcf"),
    ".mjcf": ("liegeo.io.mjcf", "read_mjcf"),
}


def load(path: str | os.PathLike[str], set: Mapping[str, Any] | None = None, **options: Any) -> Mechanism:  # noqa: A002
    """The system in a file.

    `set` gives other values to parameters of a model file, by name, or to other values in it, by path ("gravity",
    "bodies.hub.mass"): numbers in SI, or text with units.  `options` are those of the reader that the suffix belongs to
    (READERS).
    """
    from liegeo.io.mechanism import Mechanism

    file = Path(path)
    if file.suffix.lower() not in READERS:
        raise InputError(f"load: '{file}' ends in '{file.suffix}', expected one of {', '.join(READERS)}.")
    module, name = READERS[file.suffix.lower()]
    read = getattr(importlib.import_module(module), name)
    if module == "liegeo.io.files":
        found = read(file, dict(set or {}), **options)
    elif set:
        raise InputError(
            f"load: '{file.name}' has no parameters, but set gives {', '.join(set)}; only model files have them."
        )
    else:
        found = read(file, **options)
    return found if isinstance(found, Mechanism) else Mechanism(tree=found, path=file)
