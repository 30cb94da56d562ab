"""Messages prepared for a chat template: visible text, control tokens typed in it, and known token ids.

A message that was seen before becomes the same `Turn` again, so conversations are compared cheaply.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

from msgspec import UNSET
from msgspec.structs import replace

from worker.protocol import Message
from worker.templates.memo import Memo
from worker.text.control_tokens import is_reasoning, pattern_of, reasoning_end
from worker.text.vocabulary import Vocabulary

PRIVATE = tuple(map(chr, range(0xF500, 0xF600)))
"""Private-use characters. Those that occur in no message are used as marks in rendered text."""

_MAX_KNOWN_BYTES = 32 << 20
_BYTES_PER_ID = 40
"""The memory of a Python integer in a list."""
_MAX_VARIANTS = 8
"""How many turns are kept that differ only in their ids."""

# gpt-oss writes several channels in one answer, but its template expects only the text of the last one.
_CHANNEL = "<|channel|>"
_CHANNELS = re.compile(r"<\|channel\|>(?:analysis|commentary|final)\b[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>")
_FINAL_CHANNEL = re.compile(r"<\|channel\|>final[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>")
_CHANNEL_END = re.compile(r"<\|(?:end|return|call|start|channel)\|>")


@dataclass(frozen=True)
class Marks:
    """Characters that mark positions in rendered text. No message contains them."""

    split: str
    """Inserted after the first character of a typed control token, so that it stays plain text."""
    begin: str
    """Inserted before a span whose ids are known..."""
    end: str
    """...and after it."""

    def removed_from(self, text: str) -> str:
        """Return text without these characters."""
        # Three calls of `replace` take a tenth of the time of one `translate`.
        return text.replace(self.split, "").replace(self.begin, "").replace(self.end, "")


@dataclass(frozen=True, eq=False)
class Span:
    """A range of a turn that the model generated: the whole turn, or the part after its reasoning."""

    start: int
    end: int
    text: str
    ids: array[int] | None
    """The ids that the model generated, if they spell this text."""
    spaced_ids: array[int] | None
    """The ids that the model generated, if they spell this text with a space before it."""


@dataclass(frozen=True, eq=False)
class Written:
    """A whole turn with reasoning or tool calls, as the model generated it."""

    text: str
    ids: array[int]


@dataclass(frozen=True, eq=False)
class Turn:
    """One message. Turns are compared by identity."""

    role: str
    text: str
    """The text for the template: the content, or its last channel."""
    splits: tuple[int, ...]
    """For each control token typed in the text, the position after its first character."""
    edges: tuple[int, ...]
    """The text's start and end, if they could form a control token together with the text around the message."""
    private: frozenset[str]
    """The private-use characters in the text."""
    whole: Span | None
    """The whole turn; None if the model did not generate it."""
    trimmed: Span | None
    """`whole` without the white space around it; None if there is no white space."""
    answer: Span | None
    """The part after the reasoning; None without reasoning."""
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The message's other fields in the shape that templates expect: reasoning, tool calls, the call of a result."""
    has_controls: bool = False
    """Whether the user or a tool wrote control tokens in `fields`."""
    written: Written | None = None
    """The whole turn as the model generated it; None if it has no reasoning and no calls, or its ids are unknown."""

    def rendered(
        self, marks: Marks, span: Span | None, controls: Controls | None = None, *, at_edges: bool = False
    ) -> dict[str, Any]:
        """Return the message for a template, with a mark in each typed control token, and marks around `span`.

        `controls` splits control tokens in `fields`. `at_edges`: also insert marks at `edges`.
        """
        splits = sorted({*self.splits, *self.edges}) if at_edges else self.splits
        inserted = [(0, ""), *((position, marks.split) for position in splits)]
        if span is not None:
            inserted += [(span.start, marks.begin), (span.end, marks.end)]
            inserted.sort(key=lambda each: each[0])
        inserted.append((len(self.text), ""))
        parts = [mark + self.text[start:end] for (start, mark), (end, _) in pairwise(inserted)]
        fields = self.fields if controls is None or not self.has_controls else controls.split(self.fields, marks)
        return {"role": self.role, "content": "".join(parts), **fields}


class Controls:
    """Finds control tokens typed in tools and tool calls."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._pattern = re.compile(f"(?={pattern_of(texts)})")

    def are_in(self, value: Any) -> bool:
        """Return whether a control token is typed in any text of a JSON value."""
        return any(self._pattern.search(text) is not None for text in texts_of(value))

    def split(self, value: Any, marks: Marks) -> Any:
        """Return a JSON value with a mark after the first character of each typed control token."""
        match value:
            case str():
                starts = [0, *(found.start() + 1 for found in self._pattern.finditer(value)), len(value)]
                return marks.split.join(value[start:end] for start, end in pairwise(starts))
            case list():
                return [self.split(item, marks) for item in cast("list[Any]", value)]
            case dict():
                items = cast("dict[str, Any]", value).items()
                return {self.split(key, marks): self.split(item, marks) for key, item in items}
            case _:
                return value


def texts_of(value: Any) -> Iterator[str]:
    """Yield all texts of a JSON value, keys included."""
    match value:
        case str():
            yield value
        case list():
            for item in cast("list[Any]", value):
                yield from texts_of(item)
        case dict():
            for key, item in cast("dict[str, Any]", value).items():
                yield key
                yield from texts_of(item)
        case _:
            pass


class Turns:
    """Converts messages to `Turn`s for one model."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        texts = vocabulary.control_texts
        # A lookahead also finds overlapping matches.
        self._controls = re.compile(f"(?={pattern_of(texts)})")
        # Templates look for the reasoning of earlier answers, so its control tokens must stay intact there.
        no_reasoning = (text for text in texts if not is_reasoning(text))
        self._controls_except_reasoning = re.compile(f"(?={pattern_of(no_reasoning)})")
        self.typed = Controls(texts)
        """Finds control tokens typed in tools and in the fields of messages."""
        self._longest = max(map(len, texts), default=0)
        self._heads = {text[:end] for text in texts for end in range(1, len(text))}
        self._tails = {text[start:] for text in texts for start in range(1, len(text))}
        self._private = re.compile(f"[{PRIVATE[0]}-{PRIVATE[-1]}]")
        self._has_channels = _CHANNEL in texts
        self._known: Memo[tuple[str, str], tuple[tuple[Message, Turn], ...]] = Memo(_MAX_KNOWN_BYTES)

    def of(self, messages: Sequence[Message]) -> tuple[Turn, ...]:
        """Return the messages as turns. A tool's result gets the name of the tool, which some templates need."""
        names: dict[str, str] = {}
        turns: list[Turn] = []
        for message in messages:
            names.update({call.id: call.name for call in message.tool_calls})
            name = names.get(message.tool_call_id, "") if message.role == "tool" and not message.name else ""
            turns.append(self._of(replace(message, name=name) if name else message))
        return tuple(turns)

    def _of(self, message: Message) -> Turn:
        key = (message.role, message.content)
        variants = self._known.get(key) or ()
        for known, turn in variants:
            if known == message:
                return turn
        turn = self._make(message)
        variants = ((message, turn), *variants[: _MAX_VARIANTS - 1])
        num_ids = sum(len(known.token_ids) for known, _ in variants if known.token_ids is not UNSET)
        num_chars = len(message.content) + sum(map(len, texts_of(turn.fields)))
        self._known.put(key, variants, 4 * num_chars + _BYTES_PER_ID * num_ids + 500)
        return turn

    def _make(self, message: Message) -> Turn:
        content, is_models = message.content, message.role == "assistant"
        start, end = self._visible(content) if is_models else (0, len(content))
        text = content[start:end]
        whole = trimmed = answer = None
        if is_models and text and message.written is UNSET:
            ids = self._own_ids(message, message.content)
            whole = self._span(ids, content, start, end, offset=start)
            if text != text.strip():
                trimmed = self._trimmed(ids, content, start, end, offset=start)
            after = reasoning_end(text)
            if after:
                answer = self._trimmed(ids, content, start + after, end, offset=start)
        fields = _fields(message)
        # Templates look for reasoning in answers only; in other messages its control tokens are just text.
        controls = self._controls_except_reasoning if is_models else self._controls
        return Turn(
            role=message.role,
            text=text,
            splits=tuple(found.start() + 1 for found in controls.finditer(text)),
            edges=self._edges(text),
            private=frozenset(self._private.findall(content)).union(*map(self._private.findall, texts_of(fields))),
            whole=whole,
            trimmed=trimmed,
            answer=answer,
            fields=fields,
            has_controls=self.typed.are_in(fields),
            written=self._written(message),
        )

    def _written(self, message: Message) -> Written | None:
        if message.written is UNSET:
            return None
        ids = self._own_ids(message, message.written)
        return None if ids is None else Written(message.written, array("I", ids))

    def _trimmed(self, ids: Sequence[int] | None, content: str, start: int, end: int, *, offset: int) -> Span | None:
        """Return the span without the white space around it; None if the span has only white space."""
        text = content[start:end]
        stripped = text.strip()
        start += len(text) - len(text.lstrip())
        return self._span(ids, content, start, start + len(stripped), offset=offset) if stripped else None

    def _span(self, ids: Sequence[int] | None, content: str, start: int, end: int, *, offset: int) -> Span:
        """Return the span of `content` from `start` to `end`, with the part of `ids` that spells the span."""
        own = spaced = None
        if ids is not None:
            own = ids_between(self._vocabulary, ids, content, start, end)
            if start and content[start - 1] == " ":
                spaced = ids_between(self._vocabulary, ids, content, start - 1, end)
        return Span(
            start=start - offset,
            end=end - offset,
            text=content[start:end],
            ids=None if own is None else array("I", own),
            spaced_ids=None if spaced is None else array("I", spaced),
        )

    def _edges(self, text: str) -> tuple[int, ...]:
        """Return the start or end of a text, without white space around it, if a part of a control token is there."""
        stripped = text.strip()
        lengths = range(1, min(len(stripped), self._longest) + 1)
        is_open = any(stripped[:length] in self._tails or stripped[-length:] in self._heads for length in lengths)
        if not is_open and 0 < len(stripped) < self._longest:
            is_open = any(stripped in control for control in self._vocabulary.control_texts)
        if not is_open:
            return ()
        start = text.index(stripped)
        return (start, start + len(stripped))

    def _visible(self, content: str) -> tuple[int, int]:
        """Return the range of an answer that the template expects: the last channel; without channels, the whole."""
        if not self._has_channels or _CHANNELS.match(content) is None:
            return 0, len(content)
        start = max((found.end() for found in _FINAL_CHANNEL.finditer(content)), default=len(content))
        end = _CHANNEL_END.search(content, start)
        return start, end.start() if end else len(content)

    def _own_ids(self, message: Message, text: str) -> Sequence[int] | None:
        """Return the ids that the model generated; None if they do not spell `text`."""
        ids = message.token_ids
        if ids is UNSET or max(ids, default=0) >= len(self._vocabulary):
            return None
        return ids if self._vocabulary.text_of(ids) == text else None


def _fields(message: Message) -> dict[str, Any]:
    """Return the fields of a message besides role and content, in the shape that templates expect."""
    fields: dict[str, Any] = {}
    if message.reasoning:
        fields["reasoning_content"] = message.reasoning
    if message.tool_calls:
        fields["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        fields["tool_call_id"] = message.tool_call_id
    if message.name:
        fields["name"] = message.name
    return fields


def ids_between(vocabulary: Vocabulary, ids: Sequence[int], content: str, start: int, end: int) -> Sequence[int] | None:
    """Return the ids that spell `content` from `start` to `end`; None if a token crosses one of these positions."""
    if start == 0 and end == len(content):
        return ids
    first, last = len(content[:start].encode()), len(content[:end].encode())
    num_bytes = 0
    index_at: dict[int, int] = {}
    for index, token_id in enumerate(ids):
        # Tokens without bytes belong to the span that starts at their position.
        index_at.setdefault(num_bytes, index)
        num_bytes += len(vocabulary.bytes[token_id])
    index_at.setdefault(num_bytes, len(ids))
    if first not in index_at or last not in index_at:
        return None
    own = ids[index_at[first] : index_at[last]]
    return own if vocabulary.text_of(own) == content[start:end] else None
