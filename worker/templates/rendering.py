"""A model's chat template as a function of messages and options. Independent of tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias, cast

Render: TypeAlias = Callable[[list[dict[str, Any]], Mapping[str, Any]], str]
"""Renders messages (`role`, `content`) with template options as the text of a prompt, up to the answer."""

TimeTexts: TypeAlias = Callable[[], tuple[str, ...] | None]
"""Returns the texts of the current time that a template may write; None if they can't be known."""

# Templates ask for the time with `strftime_now`. Its format is usually a literal, so the text can be predicted.
_TIME = re.compile(r"\bstrftime_now\b(?!\s+is\b)")
_LITERAL_TIME = re.compile(r"""\bstrftime_now\(\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*\)""")


def chat_renderer(tokenizer: Any) -> Render:
    """Return a function that renders messages with the chat template of an mlx-lm tokenizer."""
    if not tokenizer.has_chat_template:
        return plain_transcript

    def render(messages: list[dict[str, Any]], options: Mapping[str, Any]) -> str:
        return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, **options)

    return render


def plain_transcript(messages: list[dict[str, Any]], _options: Mapping[str, Any]) -> str:
    """Render messages for a model without a chat template."""
    turns = [f"{str(message['role']).capitalize()}: {message['content']}\n\n" for message in messages]
    return "".join(turns) + "Assistant:"


_THINKING_OPTIONS = ("enable_thinking", "thinking")
"""Options by which templates let the model think first."""


@dataclass(frozen=True)
class Thinking:
    """A template's switch that lets the model think first."""

    option: str
    """The name of a boolean template option."""
    is_default: bool
    """Whether the model thinks if the option is left out."""


def thinking_of(render: Render) -> Thinking | None:
    """Return the thinking switch of a template, or None. An option is a switch if it changes the prompt."""

    def prompt(**options: bool) -> str:
        try:
            return render([{"role": "user", "content": "Hello"}], options)
        except Exception:  # noqa: BLE001 (the model's template may raise anything)
            return ""

    for option in _THINKING_OPTIONS:
        on, off = prompt(**{option: True}), prompt(**{option: False})
        if on and off and on != off:
            return Thinking(option, is_default=prompt() == on)
    return None


def no_time_texts() -> tuple[str, ...]:
    """Return nothing, as most templates do not write the time."""
    return ()


def time_texts_of(tokenizer: Any) -> TimeTexts:
    """Return a function for the time as the chat template of an mlx-lm tokenizer writes it; some write the date."""
    template = tokenizer.chat_template
    # A model may have several named templates.
    texts = list(cast("dict[str, str]", template).values()) if isinstance(template, dict) else [template or ""]
    formats: set[str] = set()
    for text in texts:
        literals = {match.start(): match[1] or match[2] or "" for match in _LITERAL_TIME.finditer(text)}
        if any(match.start() not in literals for match in _TIME.finditer(text)):
            return lambda: None
        formats.update(literals.values())
    ordered = sorted(formats)
    return lambda: tuple(_now().strftime(time_format) for time_format in ordered)


def _now() -> datetime:
    return datetime.now()  # noqa: DTZ005 (templates mean the local time)


def fold_system(messages: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """Move the system message into the first question, for templates without system messages; None if impossible."""
    if len(messages) < 2 or messages[0]["role"] != "system" or messages[1]["role"] != "user":
        return None
    first = {"role": "user", "content": f"{messages[0]['content']}\n\n{messages[1]['content']}"}
    return [first, *messages[2:]]
