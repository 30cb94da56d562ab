"""A model's chat template as a function of messages and options; it knows no tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias, cast

Render: TypeAlias = Callable[[list[dict[str, Any]], Mapping[str, Any]], str]
"""Messages (`role`, `content`) and template options → the prompt's text, ready for an answer."""

Moment: TypeAlias = Callable[[], tuple[str, ...] | None]
"""→ all that a template may say of the time now; None where that can't be told."""

# How templates ask for the time: by a format that stands in them, or (to us) by one that nobody knows beforehand.
_TIME = re.compile(r"\bstrftime_now\b(?!\s+is\b)")
_WRITTEN_TIME = re.compile(r"""\bstrftime_now\(\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*\)""")


def chat_renderer(tokenizer: Any) -> Render:
    """Return what renders messages by the chat template of one of mlx-lm's tokenizers."""
    if not tokenizer.has_chat_template:
        return plain_transcript

    def render(messages: list[dict[str, Any]], options: Mapping[str, Any]) -> str:
        return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, **options)

    return render


def plain_transcript(messages: list[dict[str, Any]], _options: Mapping[str, Any]) -> str:
    """Render messages for a model that has no chat template of its own."""
    turns = [f"{str(message['role']).capitalize()}: {message['content']}\n\n" for message in messages]
    return "".join(turns) + "Assistant:"


_THINKING_OPTIONS = ("enable_thinking", "thinking")
"""Names by which templates are told whether the model shall think first."""


@dataclass(frozen=True)
class Thinking:
    """A template's switch for thinking first: an option that is true or false, and which holds without it."""

    option: str
    is_default: bool


def thinking_of(render: Render) -> Thinking | None:
    """Return the switch of a template, found out by trying: it is one where its two sides are different prompts."""

    def asked(**options: bool) -> str:
        try:
            return render([{"role": "user", "content": "Hello"}], options)
        except Exception:  # noqa: BLE001 (a template is a program that came with the model)
            return ""

    for option in _THINKING_OPTIONS:
        on, off = asked(**{option: True}), asked(**{option: False})
        if on and off and on != off:
            return Thinking(option, is_default=asked() == on)
    return None


def timeless() -> tuple[str, ...]:
    """Say of the time what most templates do: nothing."""
    return ()


def moment_of(tokenizer: Any) -> Moment:
    """Return what the chat template of one of mlx-lm's tokenizers says of the time: some write today's date."""
    template = tokenizer.chat_template
    # A model may have several, by name.
    texts = list(cast("dict[str, str]", template).values()) if isinstance(template, dict) else [template or ""]
    formats: set[str] = set()
    for text in texts:
        written = {match.start(): match[1] or match[2] or "" for match in _WRITTEN_TIME.finditer(text)}
        if any(match.start() not in written for match in _TIME.finditer(text)):
            return lambda: None
        formats.update(written.values())
    ordered = sorted(formats)
    return lambda: tuple(_now().strftime(asked) for asked in ordered)


def _now() -> datetime:
    return datetime.now()  # noqa: DTZ005 (the clock on the wall, as the template means it)


def fold_system(messages: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """Some templates know no system message: it becomes the beginning of the first question. None where it can't."""
    if len(messages) < 2 or messages[0]["role"] != "system" or messages[1]["role"] != "user":
        return None
    first = {"role": "user", "content": f"{messages[0]['content']}\n\n{messages[1]['content']}"}
    return [first, *messages[2:]]
