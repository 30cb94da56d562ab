"""JSON schemas of parameters: which types a value may have, and conversion of raw text to them. Pure functions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

ALL_TYPES = frozenset({"string", "number", "integer", "boolean", "null", "object", "array"})
_MAX_DEPTH = 32


def parameter(schema: Mapping[str, Any], name: str) -> Any:
    """Return the schema of one parameter; {} if it is not described."""
    schema = resolved(schema, schema)
    properties = schema.get("properties")
    if isinstance(properties, dict) and name in properties:
        return cast("dict[str, Any]", properties)[name]
    other = schema.get("additionalProperties")
    return cast("dict[str, Any]", other) if isinstance(other, dict) else {}


def resolved(schema: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with its `$ref` followed, if it has one; {} for anything except an object."""
    for _ in range(_MAX_DEPTH):
        if not isinstance(schema, dict):
            return {}
        described = cast("dict[str, Any]", schema)
        reference = described.get("$ref")
        if not isinstance(reference, str):
            return described
        schema = _at(reference, root)
    return {}


def _at(reference: str, root: Mapping[str, Any]) -> Any:
    found: Any = root
    if not reference.startswith("#"):
        return {}
    for step in reference[1:].split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        found = cast("dict[str, Any]", found).get(name) if isinstance(found, dict) else None
    return found


def object_of(schema: Any, root: Mapping[str, Any] | None = None) -> tuple[dict[str, Any], frozenset[str], bool]:
    """Return an object's properties, the names of the required ones, and whether it may have others.

    References point into `root`; None means the schema itself. All branches of `allOf` count. Only properties that all
    branches of `anyOf` or `oneOf` require are required.
    """
    root = cast("Mapping[str, Any]", schema) if root is None else root
    described = resolved(schema, root)
    properties: dict[str, Any] = {}
    required: set[str] = set()
    own = described.get("properties")
    if isinstance(own, dict):
        properties |= cast("dict[str, Any]", own)
    if isinstance(described.get("required"), list):
        required |= set(cast("list[str]", described["required"]))
    takes_others = described.get("additionalProperties", True) is not False
    if isinstance(described.get("allOf"), list):
        for branch in cast("list[Any]", described["allOf"]):
            if branch is not schema:
                more, needed, _ = object_of(branch, root)
                properties |= more
                required |= needed
    for key in ("anyOf", "oneOf"):
        if isinstance(described.get(key), list) and described[key]:
            found = [object_of(branch, root) for branch in cast("list[Any]", described[key]) if branch is not schema]
            for more, _, _ in found:
                properties = {**more, **properties}
            required |= frozenset.intersection(*(needed for _, needed, _ in found)) if found else set()
    return properties, frozenset(required) & properties.keys(), takes_others


def types_of(schema: Any, root: Mapping[str, Any], depth: int = 0) -> frozenset[str]:
    """Return the JSON types that a schema allows."""
    described = resolved(schema, root)
    if depth > _MAX_DEPTH:
        return ALL_TYPES
    types = ALL_TYPES
    named = described.get("type")
    if isinstance(named, str):
        types &= {named}
    elif isinstance(named, list):
        types &= set(cast("list[str]", named))
    if "enum" in described and isinstance(described["enum"], list):
        types &= {type_of(value) for value in cast("list[Any]", described["enum"])}
    if "const" in described:
        types &= {type_of(described["const"])}
    for key in ("anyOf", "oneOf"):
        branches = described.get(key)
        if isinstance(branches, list) and branches:
            found = [types_of(branch, root, depth + 1) for branch in cast("list[Any]", branches)]
            types &= frozenset[str]().union(*found)
    for branch in cast("Sequence[Any]", described.get("allOf") or ()):
        types &= types_of(branch, root, depth + 1)
    if "number" in types:
        types |= {"integer"}
    return types or ALL_TYPES


def type_of(value: Any) -> str:
    """Return the JSON type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case dict():
            return "object"
        case _:
            return "array"


_WORDS = {"True": "true", "False": "false", "None": "null"}


def as_json(text: str, types: frozenset[str]) -> str:
    """Return raw text as JSON: as a value of one of `types` other than text if it can be parsed so, else as text."""
    stripped = text.strip()
    written = _WORDS.get(stripped, stripped)
    try:
        value = json.loads(written, strict=False, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return json.dumps(text, ensure_ascii=False)
    found = type_of(value)
    if found == "string" and "string" in types:
        # Quotes in a text are part of the text.
        return json.dumps(text, ensure_ascii=False)
    if found in types or "string" not in types:
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(text, ensure_ascii=False)


def _refuse(word: str) -> Any:
    raise ValueError(word)
