"""The JSON schema of model files, so that editors complete and check them."""

from __future__ import annotations

from typing import Any

from liegeo.io.document import DocumentForm
from liegeo.io.fields import SHARED

_NUMBER: dict[str, Any] = {"type": ["number", "string"]}
_PARAMETER = {
    "description": "a number, a number with a unit, an expression $(…); with value, description, min, max; or a group",
    "anyOf": [
        _NUMBER,
        {
            "type": "object",
            "properties": {
                "value": _NUMBER | {"description": "what $(name) stands for"},
                "description": {"type": "string", "description": "what it is"},
                "min": _NUMBER | {"description": "smallest value that may be set"},
                "max": _NUMBER | {"description": "largest value that may be set"},
            },
            "required": ["value"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "not": {"required": ["value"]},
            "additionalProperties": {"$ref": "#/$defs/parameter"},
            "description": "a group: its parameters are $(group.name)",
        },
    ],
}


def schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of a model file."""
    made = DocumentForm.model_json_schema(by_alias=True)
    made["properties"]["parameters"]["additionalProperties"] = {"$ref": "#/$defs/parameter"}
    definitions = {name: _tidy(value) for name, value in made["$defs"].items()}
    for name, value in SHARED.items():
        definitions[name] = _tidy(value, first=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "liegeo model",
        **{key: _tidy(made[key]) for key in ("description", "type", "required", "additionalProperties")},
        "properties": {key: _tidy(value) for key, value in made["properties"].items()},
        "$defs": {"parameter": _PARAMETER, **definitions},
    }


def _tidy(value: Any, first: bool = False) -> Any:
    """With references to what is shared, without titles, and without defaults that only mean that nothing is given."""
    if isinstance(value, list):
        return [_tidy(x) for x in value]
    if not isinstance(value, dict):
        return value
    if not first:
        for name, known in SHARED.items():
            if {**value, "description": ""} == {**known, "description": ""}:
                said = value.get("description", "")
                return {"$ref": f"#/$defs/{name}"} | ({"description": said} if said else {})
    out = {}
    if "description" in value and "anyOf" in value:
        # editors show what the branch that fits says
        said = value["description"]
        value = value | {"anyOf": [{"description": said} | branch for branch in value["anyOf"]]}
    for key, inner in value.items():
        if key in ("title", "discriminator") or (key == "default" and inner in (None, {}, [])):
            continue
        if key in ("properties", "$defs"):
            out[key] = {name: _tidy(x) for name, x in inner.items()}
        else:
            out[key] = _tidy(inner)
    return out
