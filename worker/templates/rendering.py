"""A model's chat template as a function of messages and options. Independent of tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from jinja2 import TemplateError
from transformers import PreTrainedTokenizerBase

from worker.errors import ModelInvalidError
from worker.sentence import Sentence
from worker.templates.environment import rendered
from worker.trial import (
    CrashedError,
    Limits,
    RaisedError,
    StoppedError,
    TooLargeError,
    TooMuchMemoryError,
    TooSlowError,
    TrialError,
    TrialProcess,
)

Render: TypeAlias = Callable[[list[dict[str, Any]], Mapping[str, Any]], str]
"""Renders messages (`role`, `content`) with template options as the text of a prompt, up to the answer."""

TimeTexts: TypeAlias = Callable[[], tuple[str, ...] | None]
"""Returns the current time in all formats that a template may write; None if the formats can't be known."""

# Templates ask for the time with `strftime_now`. Its format is usually a literal, so the text can be predicted.
_TIME = re.compile(r"\bstrftime_now\b(?!\s+is\b)")
_LITERAL_TIME = re.compile(r"""\bstrftime_now\(\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*\)""")


TRIAL_MODULES = ("worker.templates.environment",)
"""Modules that a trial process imports at its start, so that the first rendering is as fast as later ones."""


def chat_renderer(tokenizer: Any, trials: TrialProcess) -> Render:
    """Return a function that renders messages with the chat template of an mlx-lm tokenizer.

    A template is a program that comes with the model. It runs in a trial process, with limits. Besides the template's
    own errors, the function raises `ModelInvalidError` at a limit, and `StoppedError` if the caller stopped waiting.
    """
    if not tokenizer.has_chat_template:
        return plain_transcript
    if sources_of(tokenizer):
        # mlx-lm's wrapper adds an option and calls `apply_chat_template`.
        own: Any = tokenizer._tokenizer  # noqa: SLF001
        own.apply_chat_template = LimitedTemplate(own, trials).render

    def render(messages: list[dict[str, Any]], options: Mapping[str, Any]) -> str:
        return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, **options)

    return render


class LimitedTemplate:
    """Replaces `apply_chat_template` of transformers' tokenizers: renders in a trial process."""

    def __init__(self, tokenizer: Any, trials: TrialProcess) -> None:
        self._tokenizer = tokenizer
        self._trials = trials
        self._patience = 1.0
        """A factor of the time limit. It shrinks after a failure, so that repeated failures take less time."""

    def render(self, messages: list[dict[str, Any]], tools: Any = None, documents: Any = None, **options: Any) -> str:
        """Render messages as transformers does with `tokenize=False`."""
        for name in ("tokenize", "return_dict"):
            options.pop(name, None)
        for tool in [] if tools is None else tools:
            if not isinstance(tool, dict):
                raise TypeError("Tools should be a list of JSON schemas")
        for document in [] if documents is None else documents:
            if not isinstance(document, dict):
                raise TypeError("Documents should be a list of dicts with 'title' and 'text' keys")
        source = self._tokenizer.get_chat_template(None, tools)
        variables = {**self._tokenizer.special_tokens_map, **options}
        variables |= {"messages": messages, "tools": tools, "documents": documents}
        size = sum(_size_of(message) for message in messages) + len(str(options)) + len(str((tools, documents)))
        limits = _limits(len(messages), size, self._patience)
        try:
            text = self._trials.run(limits, rendered, source, variables)
        except RaisedError as error:
            if "TemplateError" in error.names:
                raise TemplateError(str(error)) from None
            raise
        except StoppedError:
            raise
        except TrialError as error:
            self._patience = max(_LEAST_PATIENCE, self._patience / 2)
            raise ModelInvalidError(_sentence(error, limits)) from None
        self._patience = 1.0
        return text


def _size_of(message: Mapping[str, Any]) -> int:
    """Return an estimate of how many characters a message has."""
    return len(message["content"]) + (len(str(message)) if len(message) > 2 else 0)


_LEAST_PATIENCE = 1 / 16
_MIB = 1 << 20


def _limits(num_messages: int, num_chars: int, patience: float) -> Limits:
    """Return limits of time and memory that no ordinary template reaches, even on a slow machine.

    10,000 messages of 4 million characters take 0.1 to 0.5 s here, and about 100 MB.
    """
    return Limits(
        seconds=patience * (10 + num_messages / 100 + num_chars / 100_000),
        memory_bytes=512 * _MIB + 64 * num_chars,
        result_bytes=4 * _MIB + 4000 * num_messages + 32 * num_chars,
    )


def _sentence(error: TrialError, limits: Limits) -> Sentence:
    match error:
        case TooSlowError():
            return Sentence(
                "The model's chat template did not finish within {seconds} seconds, so it was stopped. {what_to_do}",
                seconds=f"{limits.seconds:.3g}",
                what_to_do=_WHAT_TO_DO,
            )
        case TooMuchMemoryError():
            return Sentence(
                "The model's chat template needs more than {limit_bytes} of memory, so it was stopped. {what_to_do}",
                limit_bytes=limits.memory_bytes,
                what_to_do=_WHAT_TO_DO,
            )
        case TooLargeError():
            return Sentence(
                "The model's chat template turns these messages into a prompt of more than {limit_bytes}. {what_to_do}",
                limit_bytes=limits.result_bytes,
                what_to_do=_WHAT_TO_DO,
            )
        case CrashedError():
            return Sentence(
                "The model's chat template ended the process that it ran in (exit code {exit_code}). {what_to_do}",
                exit_code=str(error.exit_code),
                what_to_do=_WHAT_TO_DO,
            )
        case _:
            return Sentence(
                "The process for the model's chat template could not be started: {reason}. "
                "Close other programs, then try again.",
                reason=error,
            )


_WHAT_TO_DO = Sentence("Choose another model, or download this one again.")


def plain_transcript(messages: list[dict[str, Any]], _options: Mapping[str, Any]) -> str:
    """Render messages for a model without a chat template."""
    turns = [f"{str(message['role']).capitalize()}: {message['content']}\n\n" for message in messages]
    return "".join(turns) + "Assistant:"


_THINKING_OPTIONS = ("enable_thinking", "thinking")
"""Template options that make the model think first."""


@dataclass(frozen=True)
class Thinking:
    """A template's switch that makes the model think first."""

    option: str
    """The name of a boolean template option."""
    is_default: bool
    """Whether the model thinks if the option is left out."""


def thinking_of(render: Render, sources: Sequence[str]) -> Thinking | None:
    """Return the thinking switch of a template; None if it has none. An option is a switch if it changes the prompt.

    `sources`: the templates. Options whose names they do not contain are not tried.
    """

    def prompt(**options: bool) -> str:
        try:
            return render([{"role": "user", "content": "Hello"}], options)
        except StoppedError:
            raise
        except Exception:  # noqa: BLE001 (the model's template may raise anything)
            return ""

    for option in _THINKING_OPTIONS:
        if sources and not any(option in source for source in sources):
            continue
        on = prompt(**{option: True})
        off = on and prompt(**{option: False})
        if off and on != off:
            return Thinking(option, is_default=prompt() == on)
    return None


def sources_of(tokenizer: Any) -> list[str]:
    """Return the chat templates of an mlx-lm tokenizer; several if they have names.

    The list is empty if mlx-lm or transformers render the model's prompts in Python.
    """
    wrapped: Any = tokenizer._tokenizer  # noqa: SLF001 (mlx-lm offers no other way)
    is_own = type(wrapped).apply_chat_template is PreTrainedTokenizerBase.apply_chat_template
    template: str | dict[str, str] | None = tokenizer.chat_template
    if template is None or not is_own or tokenizer._chat_template is not None:  # noqa: SLF001
        return []
    return list(template.values()) if isinstance(template, dict) else [template]


def no_time_texts() -> tuple[str, ...]:
    """Return no texts. For templates that do not write the time."""
    return ()


def time_texts_of(tokenizer: Any) -> TimeTexts:
    """Return a function that returns the time as the chat template of an mlx-lm tokenizer writes it."""
    formats: set[str] = set()
    for text in sources_of(tokenizer):
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
