"""The formats that conversations are exported in, by their names; nothing is imported for that."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

Format: TypeAlias = Literal[
    "md", "html", "pdf", "txt", "odt", "openai-jsonl", "sharegpt-jsonl", "preference-jsonl", "bough"
]
FORMATS: tuple[Format, ...] = get_args(Format)

NEEDS_QT: frozenset[Format] = frozenset({"pdf", "odt"})
ONE_FILE: frozenset[Format] = frozenset({"openai-jsonl", "sharegpt-jsonl", "preference-jsonl", "bough"})
"""Formats whose files hold many conversations."""

_SUFFIXES: dict[Format, str] = {
    "openai-jsonl": ".openai.jsonl",
    "sharegpt-jsonl": ".sharegpt.jsonl",
    "preference-jsonl": ".preference.jsonl",
}


def suffix(format_: Format) -> str:
    return _SUFFIXES.get(format_, f".{format_}")
