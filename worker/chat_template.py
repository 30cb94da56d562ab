"""Messages as prompt ids, by the model's own chat template; what is cached plays no part in it.

A turn that the model wrote keeps the ids it wrote wherever the rendering still says the same text; all other text
is tokenized afresh, between those turns, so that later turns never change earlier ids. What a person typed can't
forge a turn: a control token in a message is spelled as plain text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import TemplateError
from msgspec import UNSET
from tokenizers import Tokenizer

from worker.errors import BadRequestError
from worker.protocol import Message
from worker.vocabulary import Vocabulary

# Characters for private use: three that no message contains mark places in the rendered text.
_MARKS = tuple(map(chr, range(0xF500, 0xF600)))

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
        texts = sorted(vocabulary.control_texts, key=len, reverse=True)
        special = [text for text in texts if _is_special(tokenizer, vocabulary.control_texts[text])]
        self._controls = _lookahead(texts)
        self._special_controls = _lookahead(special)
        self._control_token = re.compile("|".join(map(re.escape, texts)) or r"(?!)")

    def prompt_ids(self, messages: Sequence[Message], options: Mapping[str, Any]) -> list[int]:
        """Return the ids of a prompt that asks for the next answer. Raises `BadRequestError`."""
        if not messages:
            raise BadRequestError("`messages` is empty. Send at least one message.")
        marks = self._marks(messages)
        ids_of = {
            index: list(message.token_ids)
            for index, message in enumerate(messages)
            if message.role == "assistant"
            and message.token_ids is not UNSET
            and message.token_ids
            and self._spells(message.token_ids, message.content)
        }
        text, kept = self._render_with_turns(messages, options, marks, list(ids_of))
        return self._ids(text, [ids_of[index] for index in kept], marks)

    def _spells(self, token_ids: Sequence[int], content: str) -> bool:
        size = len(self._vocabulary)
        return all(token_id < size for token_id in token_ids) and self._vocabulary.text_of(token_ids) == content

    def _marks(self, messages: Sequence[Message]) -> _Marks:
        used = set().union(*(message.content for message in messages))
        free = [mark for mark in _MARKS if mark not in used]
        if len(free) < 3:
            raise BadRequestError("The messages use too many characters for private use (U+F500 to U+F5FF).")
        return _Marks(*free[:3])

    def _render_with_turns(
        self, messages: Sequence[Message], options: Mapping[str, Any], marks: _Marks, turns: list[int]
    ) -> tuple[str, list[int]]:
        """Render with marks around `turns`; return the text and the turns that it says word for word."""
        plain = self._render(messages, options, marks, [])
        if not turns:
            return plain, []
        together = self._render(messages, options, marks, turns)
        if self._says(together, plain, messages, marks, turns):
            return together, turns
        # The template changes some turn (trims it, drops its reasoning): find the ones that it leaves alone.
        turns = [
            turn
            for turn in turns
            if self._says(self._render(messages, options, marks, [turn]), plain, messages, marks, [turn])
        ]
        together = self._render(messages, options, marks, turns)
        if self._says(together, plain, messages, marks, turns):
            return together, turns
        return plain, []

    def _says(self, marked: str, plain: str, messages: Sequence[Message], marks: _Marks, turns: list[int]) -> bool:
        if marked.replace(marks.begin, "").replace(marks.end, "") != plain:
            return False
        said = re.findall(f"{marks.begin}([^{marks.begin}{marks.end}]*){marks.end}", marked)
        return [text.replace(marks.broken, "") for text in said] == [messages[turn].content for turn in turns]

    def _render(self, messages: Sequence[Message], options: Mapping[str, Any], marks: _Marks, turns: list[int]) -> str:
        rendered: list[dict[str, Any]] = []
        for index, message in enumerate(messages):
            # Templates look for reasoning marks in what the model wrote; in everything else they are just text.
            controls = self._special_controls if message.role == "assistant" else self._controls
            content = _break(message.content, controls, marks.broken)
            if index in turns:
                content = f"{marks.begin}{content}{marks.end}"
            rendered.append({"role": message.role, "content": content})
        try:
            return self._render_text(rendered, options)
        except TemplateError as error:
            folded = _fold_system(rendered)
            if folded is not None:
                try:
                    return self._render_text(folded, options)
                except TemplateError:
                    pass
            raise BadRequestError(f"The model's chat template refuses these messages: {error}.") from error
        except (TypeError, ValueError) as error:
            raise BadRequestError(f"The model's chat template fails on these messages: {error}.") from error

    def _ids(self, text: str, turns: list[list[int]], marks: _Marks) -> list[int]:
        """Tokenize rendered text; the n-th marked stretch is the n-th of `turns`."""
        ids: list[int] = []
        for index, piece in enumerate(re.split(f"[{marks.begin}{marks.end}]", text)):
            if index % 2:
                ids += turns[index // 2]
            elif piece:
                ids += self._encode(piece, marks, at_start=index == 0)
        return ids

    def _encode(self, text: str, marks: _Marks, *, at_start: bool) -> list[int]:
        if at_start and marks.broken not in text:
            ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
            return ids
        # Plain stretches between control tokens one by one: exact, with no space prepended in the middle of a
        # prompt, and what a person typed in them is no control token.
        ids = []
        start = 0
        for found in self._control_token.finditer(text):
            ids += self._vocabulary.encode(text[start : found.start()].replace(marks.broken, ""))
            ids.append(self._vocabulary.control_texts[found.group()])
            start = found.end()
        return ids + self._vocabulary.encode(text[start:].replace(marks.broken, ""))


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


def _lookahead(texts: list[str]) -> re.Pattern[str]:
    return re.compile(f"(?={'|'.join(map(re.escape, texts))})" if texts else r"(?!)")


def _break(text: str, controls: re.Pattern[str], mark: str) -> str:
    places = [found.start() + 1 for found in controls.finditer(text)]
    if not places:
        return text
    edges = [0, *places, len(text)]
    return mark.join(text[start:end] for start, end in itertools.pairwise(edges))


def _is_special(tokenizer: Tokenizer, token_id: int) -> bool:
    token = tokenizer.get_added_tokens_decoder().get(token_id)
    return token is not None and token.special
