"""Messages as prompt ids, by the model's own chat template; what is cached plays no part in it.

A turn that the model wrote keeps the ids it wrote wherever the rendering still says the same text; all other text
is tokenized afresh, between those turns, so that later turns never change earlier ids. What a person typed can't
forge a turn: a control token in a message is spelled as plain text.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import textwrap
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import TemplateError
from msgspec import UNSET
from tokenizers import Tokenizer

from worker.control_tokens import is_reasoning, pattern_of
from worker.errors import BadRequestError
from worker.protocol import Message
from worker.vocabulary import Vocabulary

# Characters for private use: three that no message contains mark places in the rendered text.
_MARKS = tuple(map(chr, range(0xF500, 0xF600)))

# Of transformers' `apply_chat_template`, what is no option of a template.
_RESERVED_OPTIONS = {
    "add_generation_prompt",
    "chat_template",
    "continue_final_message",
    "conversation",
    "max_length",
    "messages",
    "padding",
    "return_assistant_tokens_mask",
    "return_dict",
    "return_tensors",
    "sanitize_control_tokens",
    "tokenize",
    "tokenizer_kwargs",
    "truncation",
}

Render = Callable[[list[dict[str, Any]], Mapping[str, Any]], str]
"""Messages (`role`, `content`) and template options → the prompt's text, ready for an answer."""


@dataclass(frozen=True)
class _Marks:
    broken: str
    """Stands behind the first character of what would be a control token."""
    begin: str
    end: str
    """Stand around a turn whose ids are known."""


class ChatTemplate:
    """Renders messages and tokenizes the result."""

    def __init__(self, render: Render, tokenizer: Tokenizer, vocabulary: Vocabulary) -> None:
        self._render_text = render
        self._tokenizer = tokenizer
        self._vocabulary = vocabulary
        texts = vocabulary.control_texts
        # A lookahead finds those that overlap, too.
        self._controls = re.compile(f"(?={pattern_of(texts)})")
        # Templates drop the reasoning of earlier turns, so its marks must stay what they are in what the model wrote.
        no_reasoning = (text for text in texts if not is_reasoning(text))
        self._controls_but_reasoning = re.compile(f"(?={pattern_of(no_reasoning)})")
        self._control_token = re.compile(f"({pattern_of(texts)})")
        # What stands for text that the tokenizer has no token for; no text is written as it.
        self._unknown_ids = vocabulary.control_ids & set(self._plain_ids("\U0010fffd"))

    def prompt_ids(self, messages: Sequence[Message], options: Mapping[str, Any]) -> list[int]:
        """Return the ids of a prompt that asks for the next answer. Raises `BadRequestError`."""
        if not messages:
            raise BadRequestError("`messages` is empty. Send at least one message.")
        reserved = sorted(_RESERVED_OPTIONS & options.keys())
        if reserved:
            raise BadRequestError(f"`template_options` must not set `{reserved[0]}`. Leave it out.")
        marks = _marks(messages)
        text, turns = self._render_with_turns(messages, options, marks)
        return self._ids(text, [messages[turn] for turn in turns], marks)

    def _render_with_turns(
        self, messages: Sequence[Message], options: Mapping[str, Any], marks: _Marks
    ) -> tuple[str, list[int]]:
        """Render with marks around the model's turns; return the text and the turns that it says word for word."""
        plain = self._render(messages, options, marks, [])
        turns = [index for index, message in enumerate(messages) if message.role == "assistant" and message.content]
        if not turns:
            return plain, []
        marked = self._render(messages, options, marks, turns)
        if _says(marked, plain, messages, marks, turns):
            return marked, turns
        # The template changes some turns: it drops their reasoning, or trims all of them.
        unchanged = _said_turns(marked, messages, marks, turns)
        untrimmable = [turn for turn in unchanged if messages[turn].content == messages[turn].content.strip()]
        for turns in (unchanged, untrimmable):
            marked = self._render(messages, options, marks, turns)
            if _says(marked, plain, messages, marks, turns):
                return marked, turns
        return plain, []

    def _render(self, messages: Sequence[Message], options: Mapping[str, Any], marks: _Marks, turns: list[int]) -> str:
        rendered: list[dict[str, Any]] = []
        for index, message in enumerate(messages):
            content = self._broken(message, marks)
            if index in turns:
                content = f"{marks.begin}{content}{marks.end}"
            rendered.append({"role": message.role, "content": content})
        try:
            return _unicode(self._render_text(rendered, options))
        except TemplateError as error:
            folded = _fold_system(rendered)
            if folded is not None:
                with contextlib.suppress(Exception):
                    return _unicode(self._render_text(folded, options))
            raise BadRequestError(f"The model's chat template refuses these messages: {_short(error)}.") from error
        except Exception as error:
            # A template is a program that came with the model; whatever it raises is its own.
            raise BadRequestError(f"The model's chat template fails on these messages: {_short(error)}.") from error

    def _broken(self, message: Message, marks: _Marks) -> str:
        """The content with a mark in each control token that is written in it, so that none stays one."""
        # Templates look for reasoning in what the model wrote; in everything else its marks are just text.
        controls = self._controls_but_reasoning if message.role == "assistant" else self._controls
        places = [found.start() + 1 for found in controls.finditer(message.content)]
        edges = [0, *places, len(message.content)]
        return marks.broken.join(message.content[start:end] for start, end in itertools.pairwise(edges))

    def _ids(self, text: str, turns: Sequence[Message], marks: _Marks) -> list[int]:
        """Tokenize rendered text; the n-th marked stretch is the n-th of `turns`.

        Each turn is tokenized by itself, as it came to be: behind a prompt that ended before it.
        """
        pieces = re.split(f"[{marks.begin}{marks.end}]", text)
        # Some templates put a space before each turn that no prompt for an answer ends with: it is the turn's own.
        has_space = not text.endswith(" ")
        ids: list[int] = []
        for index, turn in enumerate(turns):
            before, said = pieces[2 * index : 2 * index + 2]
            own_ids = self._own_ids(turn)
            if own_ids is None and has_space and before.endswith(" "):
                before, said = before[:-1], f" {said}"
            ids += self._encode(before, marks, at_start=index == 0)
            ids += self._encode(said, marks, at_start=False) if own_ids is None else own_ids
        return ids + self._encode(pieces[-1], marks, at_start=not turns)

    def _own_ids(self, turn: Message) -> list[int] | None:
        """The ids that the model wrote, where they are this turn's text."""
        ids = turn.token_ids
        if ids is UNSET or max(ids, default=0) >= len(self._vocabulary):
            return None
        return ids if self._vocabulary.text_of(ids) == turn.content else None

    def _encode(self, text: str, marks: _Marks, *, at_start: bool) -> list[int]:
        """Tokenize as the model's tokenizer does it, but for what was typed as a control token.

        A stretch between control tokens in which one was typed is spelled as plain text, and so is one that goes
        on from a turn: nothing is prepended in the middle of a prompt.
        """
        ids: list[int] = []
        plain = ""
        for index, stretch in enumerate(self._control_token.split(text)):
            if marks.broken in stretch or (stretch and index == 0 and not at_start):
                ids += self._encode_freely(plain)
                ids += self._vocabulary.encode(stretch.replace(marks.broken, ""))
                plain = ""
            else:
                plain += stretch
        return ids + self._encode_freely(plain)

    def _encode_freely(self, text: str) -> list[int]:
        ids = self._plain_ids(text)
        stretches = self._control_token.split(text)
        controls = [self._vocabulary.control_texts[control] for control in stretches[1::2]]
        found = [token_id for token_id in ids if token_id in self._vocabulary.control_ids - self._unknown_ids]
        if found == controls and max(ids, default=0) < len(self._vocabulary):
            return ids
        # A normalizer made a control token of what is none as it was typed (wide letters, capitals), or the
        # tokenizer has tokens that the model has not.
        parts = [self._vocabulary.encode(stretch) for stretch in stretches[::2]]
        return parts[0] + [
            token_id for control, part in zip(controls, parts[1:], strict=True) for token_id in (control, *part)
        ]

    def _plain_ids(self, text: str) -> list[int]:
        # Other than `encode`, a batch lets other threads run meanwhile; megabytes take seconds.
        return self._tokenizer.encode_batch_fast([text], add_special_tokens=False)[0].ids if text else []


def _marks(messages: Sequence[Message]) -> _Marks:
    used = set().union(*(message.content for message in messages))
    free = [mark for mark in _MARKS if mark not in used]
    if len(free) < 3:
        raise BadRequestError("The messages use too many characters for private use (U+F500 to U+F5FF).")
    return _Marks(*free[:3])


def _said(marked: str, marks: _Marks) -> list[str]:
    """What stands between marks."""
    between = re.findall(f"{marks.begin}([^{marks.begin}{marks.end}]*){marks.end}", marked)
    return [text.replace(marks.broken, "") for text in between]


def _says(marked: str, plain: str, messages: Sequence[Message], marks: _Marks, turns: list[int]) -> bool:
    """Whether `marked` is `plain` but for its marks, and what stands between them are exactly these turns."""
    if marked.replace(marks.begin, "").replace(marks.end, "") != plain:
        return False
    return _said(marked, marks) == [messages[turn].content for turn in turns]


def _said_turns(marked: str, messages: Sequence[Message], marks: _Marks, turns: list[int]) -> list[int]:
    """Which turns stand whole between marks; others have lost one of theirs."""
    said = deque(_said(marked, marks))
    found: list[int] = []
    for turn in turns:
        if said and said[0] == messages[turn].content:
            said.popleft()
            found.append(turn)
    return found


def plain_transcript(messages: list[dict[str, Any]], _options: Mapping[str, Any]) -> str:
    """Render messages for a model that has no chat template of its own."""
    turns = [f"{str(message['role']).capitalize()}: {message['content']}\n\n" for message in messages]
    return "".join(turns) + "Assistant:"


def _fold_system(messages: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """Some templates know no system message: it becomes the beginning of the first question."""
    if len(messages) < 2 or messages[0]["role"] != "system" or messages[1]["role"] != "user":
        return None
    first = {"role": "user", "content": f"{messages[0]['content']}\n\n{messages[1]['content']}"}
    return [first, *messages[2:]]


def _unicode(text: str) -> str:
    """Raise `UnicodeEncodeError` where a template wrote lone surrogates, which no tokenizer takes."""
    text.encode()
    return text


def _short(error: Exception) -> str:
    return textwrap.shorten(str(error) or type(error).__name__, 300).rstrip(".")
