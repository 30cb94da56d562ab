"""JSON schemas of parameters: types, properties, and raw text as values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.worker.tools.spelled import FAMILIES
from worker.tools.forms import form_named
from worker.tools.grammar import CallGrammar
from worker.tools.schemas import ALL_TYPES, as_json, object_of, parameter, resolved, types_of

_DEFINITIONS = {
    "$defs": {
        "a/b": {"type": "integer"},
        "loop": {"anyOf": [{"$ref": "#/$defs/loop"}, {"$ref": "#/$defs/loop"}]},
        "to itself": {"$ref": "#/$defs/to itself"},
    }
}


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        ({}, ALL_TYPES),
        (True, ALL_TYPES),
        ({"type": "string"}, {"string"}),
        ({"type": "number"}, {"number", "integer"}),
        ({"type": ["null", "boolean"]}, {"null", "boolean"}),
        ({"type": ["null", {}]}, {"null"}),
        ({"type": "no type"}, ALL_TYPES),
        ({"enum": [None, True, 1, 1.5, "a", {}, []]}, ALL_TYPES),
        ({"enum": ["a", False]}, {"string", "boolean"}),
        ({"const": [1]}, {"array"}),
        ({"anyOf": [{"type": "string"}, {"const": 2}]}, {"string", "integer"}),
        ({"oneOf": [{"type": "object"}], "type": ["object", "array"]}, {"object"}),
        ({"allOf": [{"type": ["string", "null"]}, {"type": "string"}]}, {"string"}),
        ({"anyOf": 1, "allOf": 2, "enum": 3}, ALL_TYPES),
        ({"$ref": "#/$defs/a~1b"}, {"integer"}),
        ({"$ref": "#/$defs/nothing/there"}, ALL_TYPES),
        ({"$ref": "https://example.org/schema"}, ALL_TYPES),
        ({"$ref": "#/$defs/loop"}, ALL_TYPES),
        ({"$ref": "#/$defs/to itself"}, ALL_TYPES),
    ],
)
def test_the_types_of_a_schema(schema: Any, types: set[str]):
    assert types_of(schema, _DEFINITIONS) == types


_NAME, _AGE = {"name": {"type": "string"}}, {"age": {"type": "integer"}}


@pytest.mark.parametrize(
    ("schema", "properties", "required", "takes_others"),
    [
        ({}, {}, set[str](), True),
        (
            {"properties": _NAME, "required": ["name", "gone", {}], "additionalProperties": False},
            _NAME,
            {"name"},
            False,
        ),
        ({"properties": 1, "required": "name", "allOf": 3}, {}, set[str](), True),
        ({"allOf": [{"properties": _NAME, "required": ["name"]}], "properties": _AGE}, _NAME | _AGE, {"name"}, True),
        (
            {
                "anyOf": [
                    {"properties": _NAME | _AGE, "required": ["name", "age"]},
                    {"properties": _AGE, "required": ["age"]},
                ]
            },
            _NAME | _AGE,
            {"age"},
            True,
        ),
        ({"oneOf": [{"properties": _NAME, "required": ["name"]}]}, _NAME, {"name"}, True),
        ({"properties": _NAME, "required": ["name"], "anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, _NAME, {"name"}, True),
        ({"allOf": [{"$ref": "#/x"}], "x": {"allOf": [{"$ref": "#"}], "properties": _NAME}}, _NAME, set[str](), True),
    ],
)
def test_the_properties_of_an_object(schema: Any, properties: Any, required: set[str], takes_others: bool):
    assert object_of(schema) == (properties, required, takes_others)


def test_the_schema_of_a_parameter():
    assert parameter({"properties": _NAME}, "name") == {"type": "string"}
    assert parameter({"properties": _NAME, "additionalProperties": {"type": "null"}}, "other") == {"type": "null"}
    assert parameter({"properties": _NAME}, "other") == {}
    assert resolved({"$ref": "#/properties/name"}, {"properties": _NAME}) == {"type": "string"}


@pytest.mark.parametrize(
    ("text", "types", "value"),
    [
        (" 12 ", {"integer"}, 12),
        ("12", {"string", "integer"}, 12),
        ("12", {"string"}, "12"),
        ('"12"', {"string"}, '"12"'),
        ('"12"', {"integer"}, "12"),
        ("True", {"boolean"}, True),
        ("None", {"null", "string"}, None),
        ("NaN", {"number"}, "NaN"),
        ("[1, ", {"array"}, "[1, "),
        ("1.5", {"integer", "string"}, "1.5"),
        ("1.5", {"integer"}, 1.5),
    ],
)
def test_raw_text_as_json(text: str, types: set[str], value: Any):
    assert json.loads(as_json(text, frozenset(types))) == value


_TWICE = {"$ref": "#/$defs/twice"}
_ENDLESS: list[dict[str, Any]] = [
    {
        "type": "object",
        "properties": {"a": _TWICE, "b": {"$ref": "#"}, "c": {"$ref": "#"}, "d": {"type": "array", "items": _TWICE}},
        "$defs": {"twice": {"anyOf": [_TWICE, _TWICE, {"type": "string", "maxLength": 3}]}},
    },
    {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]},
    {"allOf": [{"$ref": "#/$defs/other"}], "$defs": {"other": {"allOf": [{"$ref": "#"}]}}},
    {"type": [{}], "required": [{}], "allOf": 3, "properties": {"a": {"type": [[]], "anyOf": 3, "allOf": 3}}},
]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_schema_that_contains_itself_has_a_short_grammar(name: str):
    form = form_named(name)
    assert form is not None
    for schema in _ENDLESS:
        assert len(CallGrammar(form, [("tool", schema)], json.dumps).after_begin(is_several=True)) < 10_000
