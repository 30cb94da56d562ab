"""Example answer formats by kind. Their names are the window's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.model.generation_settings import AnswerFormat, FormatKind

_PERSON = """{
  "type": "object",
  "properties": {
    "name": {"type": "string"},
    "age": {"type": "integer", "minimum": 0},
    "languages": {"type": "array", "items": {"type": "string"}}
  },
  "required": ["name", "age"],
  "additionalProperties": false
}"""
_LIST = """{
  "type": "array",
  "items": {"type": "string", "maxLength": 80},
  "minItems": 3,
  "maxItems": 7
}"""
_VERDICT = """{
  "type": "object",
  "properties": {
    "reasons": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
    "verdict": {"enum": ["yes", "no", "unclear"]}
  },
  "required": ["reasons", "verdict"],
  "additionalProperties": false
}"""
_SUM = """start: term (" + " term)* " = " NUMBER
term: NUMBER
NUMBER: /[0-9]{1,6}/"""
_POEM = """start: line line line
line: /[A-Z][a-z ,']{10,60}/ "\\n\""""

EXAMPLES: Mapping[FormatKind, Sequence[AnswerFormat]] = {
    "json_schema": tuple(AnswerFormat(kind="json_schema", text=text) for text in (_PERSON, _LIST, _VERDICT)),
    "regex": tuple(AnswerFormat(kind="regex", text=text) for text in (r"\d{4}-\d{2}-\d{2}", "([1-9]|10)", "[A-Z]{3}")),
    "choice": tuple(AnswerFormat(kind="choice", text=text) for text in ("yes\nno", "positive\nneutral\nnegative")),
    "lark": tuple(AnswerFormat(kind="lark", text=text) for text in (_SUM, _POEM)),
}
