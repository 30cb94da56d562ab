"""JSON schemas of parameters: which types a value may have, and conversion of raw text to them. Pure functions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

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
    branches of `anyOf` or `oneOf` require are required. A branch that leads back to its own schema does not count.
    """
    found = _object(schema, cast("Mapping[str, Any]", schema) if root is None else root, {})
    assert found is not None
    return found


_Object: TypeAlias = "tuple[dict[str, Any], frozenset[str], bool]"


def _object(schema: Any, root: Mapping[str, Any], known: dict[int, _Object | None]) -> _Object | None:
    """Return the same as `object_of`; None for a schema whose branches are being read. `known`: results by `id`."""
    described = resolved(schema, root)
    if id(described) in known:
        return known[id(described)]
    known[id(described)] = None
    properties: dict[str, Any] = {}
    own = described.get("properties")
    if isinstance(own, dict):
        properties |= cast("dict[str, Any]", own)
    required = _texts(described.get("required"))
    takes_others = described.get("additionalProperties", True) is not False
    for found in _objects(described, "allOf", root, known):
        properties |= found[0]
        required |= found[1]
    for key in ("anyOf", "oneOf"):
        branches = _objects(described, key, root, known)
        for more, _, _ in branches:
            properties = {**more, **properties}
        required |= frozenset.intersection(*(needed for _, needed, _ in branches)) if branches else frozenset()
    known[id(described)] = properties, required.intersection(properties), takes_others
    return known[id(described)]


def _objects(described: dict[str, Any], key: str, root: Mapping[str, Any], known: dict[int, Any]) -> list[_Object]:
    found = (_object(branch, root, known) for branch in _list(described.get(key)))
    return [each for each in found if each is not None]


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _texts(value: Any) -> frozenset[str]:
    return frozenset(each for each in _list(value) if isinstance(each, str))


def types_of(schema: Any, root: Mapping[str, Any]) -> frozenset[str]:
    """Return the JSON types that a schema allows. A branch that leads back to its own schema allows all."""
    return _types(schema, root, {})


def _types(schema: Any, root: Mapping[str, Any], known: dict[int, frozenset[str]]) -> frozenset[str]:
    """`known` has the result of each schema by its `id`, so that branches that share others are read once."""
    described = resolved(schema, root)
    if id(described) in known:
        return known[id(described)]
    known[id(described)] = ALL_TYPES
    types = ALL_TYPES
    named = described.get("type")
    if isinstance(named, str):
        types &= {named}
    elif isinstance(named, list):
        types &= _texts(cast("Any", named))
    if isinstance(described.get("enum"), list):
        types &= {type_of(value) for value in _list(described["enum"])}
    if "const" in described:
        types &= {type_of(described["const"])}
    for key in ("anyOf", "oneOf"):
        if branches := _list(described.get(key)):
            types &= frozenset[str]().union(*(_types(branch, root, known) for branch in branches))
    for branch in _list(described.get("allOf")):
        types &= _types(branch, root, known)
    if "number" in types:
        types |= {"integer"}
    known[id(described)] = types or ALL_TYPES
    return known[id(described)]


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
