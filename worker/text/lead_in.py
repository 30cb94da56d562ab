"""A form with given text in front of it, so that a token may spell some of both; it knows no tokens.

A form that stands behind text begins at a token's border: after "the answer is " no model would write "yes" so, it
would write " yes". Where the text is spelled again with the answer (healing), the form must allow for it.
"""

from __future__ import annotations

import json
from typing import Any, cast

from msgspec.structs import replace

from worker.protocol import Constraint
from worker.text.constraint import JSON_AS_WRITTEN


def with_lead_in(constraint: Constraint, text: str) -> Constraint:
    """Return the form of `text` and then what `constraint`, which is sound, describes; it covers a continuation."""
    kind, value = constraint.kind, constraint.value
    match kind:
        case "choice":
            value = [text + choice for choice in value]
        case "regex":
            # By their numbers: what is special in a regular expression is another question in each dialect.
            value = "".join(rf"\x{{{ord(character):X}}}" for character in text) + f"(?:{value})"
        case "json_schema":
            kind, value = "lark", _behind(text, f"%json {json.dumps(_schema(value))}")
        case "lark":
            kind, value = "lark", _behind(text, f"%lark {{\n{value}\n}}")
    return replace(constraint, kind=kind, value=value, covers="turn")


def _behind(text: str, rule: str) -> str:
    return f"start: lead_in form\nlead_in: {json.dumps(text)}\nform: {rule}\n"


def _schema(value: Any) -> dict[str, Any]:
    schema = json.loads(value) if isinstance(value, str) else value
    if isinstance(schema, bool):
        schema = {}
    return {"x-guidance": JSON_AS_WRITTEN, **cast("dict[str, Any]", schema)}
