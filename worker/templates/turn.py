"""One message as a chat template gets it: what of it is said, where typed control tokens are, which ids it keeps.

It knows the vocabulary, no template. A message that was seen before is the same `Turn` again, so that what it costs
to look through a conversation is what it costs to compare it with itself.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from msgspec import UNSET

from worker.protocol import Message
from worker.templates.memo import Memo
from worker.text.control_tokens import is_reasoning, pattern_of, reasoning_end
from worker.text.vocabulary import Vocabulary

PRIVATE = tuple(map(chr, range(0xF500, 0xF600)))
"""Characters for private use: those that no message contains mark places in rendered text."""

_MOST_KNOWN_BYTES = 32 << 20
_BYTES_AN_ID = 40
"""A Python integer in a list."""
_MOST_ALIKE = 8
"""Turns that differ in nothing but their ids."""

# gpt-oss writes all channels of an answer one after another, and its templates take the last one alone.
_CHANNEL = "<|channel|>"
_CHANNELS = re.compile(r"<\|channel\|>(?:analysis|commentary|final)\b[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>")
_FINAL_CHANNEL = re.compile(r"<\|channel\|>final[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>")
_CHANNEL_END = re.compile(r"<\|(?:end|return|call|start|channel)\|>")


@dataclass(frozen=True)
class Marks:
    """Characters that no message contains."""

    broken: str
    """Stands behind the first character of what would be a control token."""
    begin: str
    end: str
    """Stand around a span whose ids are known."""


@dataclass(frozen=True, eq=False)
class Span:
    """A part of what the model said: of a turn, all, or what comes after its reasoning."""

    start: int
    end: int
    text: str
    ids: array[int] | None
    """Those that the model wrote, where they are this text."""
    spaced_ids: array[int] | None
    """Those that it wrote, where they are this text and a space before it."""


@dataclass(frozen=True, eq=False)
class Turn:
    """One message. Two are equal if they are the same one."""

    role: str
    text: str
    """What the template is told: the content; of several channels the last."""
    breaks: tuple[int, ...]
    """The places behind the first characters of control tokens that are written in it."""
    edges: tuple[int, ...]
    """Its beginning and its end, where what stands beside them might make a control token of them."""
    private: frozenset[str]
    """The characters for private use in it."""
    whole: Span | None
    """Of a turn that the model wrote, all of it."""
    trimmed: Span | None
    """The same without the white space around it, where there is some."""
    answer: Span | None
    """What comes after its reasoning, where there is some."""

    def rendered(self, marks: Marks, span: Span | None, *, at_edges: bool = False) -> dict[str, str]:
        """Return the message for a template, with a mark in each control token and marks around `span`.

        `at_edges`: with a mark at `edges`, too.
        """
        breaks = sorted({*self.breaks, *self.edges}) if at_edges else self.breaks
        places = [(0, ""), *((place, marks.broken) for place in breaks)]
        if span is not None:
            places += [(span.start, marks.begin), (span.end, marks.end)]
            places.sort(key=lambda place: place[0])
        edges = [*places, (len(self.text), "")]
        parts = [mark + self.text[start:end] for (start, mark), (end, _) in pairwise(edges)]
        return {"role": self.role, "content": "".join(parts)}


class Turns:
    """Makes turns of messages for one model."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        texts = vocabulary.control_texts
        # A lookahead finds those that overlap, too.
        self._controls = re.compile(f"(?={pattern_of(texts)})")
        # Templates drop the reasoning of earlier turns, so its marks must stay what they are in what the model wrote.
        no_reasoning = (text for text in texts if not is_reasoning(text))
        self._controls_but_reasoning = re.compile(f"(?={pattern_of(no_reasoning)})")
        self._longest = max(map(len, texts), default=0)
        self._heads = {text[:end] for text in texts for end in range(1, len(text))}
        self._tails = {text[start:] for text in texts for start in range(1, len(text))}
        self._private = re.compile(f"[{PRIVATE[0]}-{PRIVATE[-1]}]")
        self._has_channels = _CHANNEL in texts
        self._known: Memo[tuple[str, str], tuple[tuple[Message, Turn], ...]] = Memo(_MOST_KNOWN_BYTES)

    def of(self, messages: Sequence[Message]) -> tuple[Turn, ...]:
        """Return the messages as turns."""
        return tuple([self._of(message) for message in messages])

    def _of(self, message: Message) -> Turn:
        key = (message.role, message.content)
        alike = self._known.get(key) or ()
        for known, turn in alike:
            if known.token_ids == message.token_ids:
                return turn
        turn = self._made_of(message)
        alike = ((message, turn), *alike[: _MOST_ALIKE - 1])
        num_ids = sum(len(known.token_ids) for known, _ in alike if known.token_ids is not UNSET)
        self._known.put(key, alike, 4 * len(message.content) + _BYTES_AN_ID * num_ids + 500)
        return turn

    def _made_of(self, message: Message) -> Turn:
        content, is_models = message.content, message.role == "assistant"
        start, end = self._said(content) if is_models else (0, len(content))
        text = content[start:end]
        whole = trimmed = answer = None
        if is_models and text:
            ids = self._own_ids(message)
            whole = self._span(ids, content, start, end, offset=start)
            if text != text.strip():
                trimmed = self._trimmed(ids, content, start, end, offset=start)
            after = reasoning_end(text)
            if after:
                answer = self._trimmed(ids, content, start + after, end, offset=start)
        # Templates look for reasoning in what the model wrote; in everything else its marks are just text.
        controls = self._controls_but_reasoning if is_models else self._controls
        return Turn(
            role=message.role,
            text=text,
            breaks=tuple(found.start() + 1 for found in controls.finditer(text)),
            edges=self._edges(text),
            private=frozenset(self._private.findall(content)),
            whole=whole,
            trimmed=trimmed,
            answer=answer,
        )

    def _trimmed(self, ids: Sequence[int] | None, content: str, start: int, end: int, *, offset: int) -> Span | None:
        """The span without the white space around it, if anything is left."""
        text = content[start:end]
        said = text.strip()
        start += len(text) - len(text.lstrip())
        return self._span(ids, content, start, start + len(said), offset=offset) if said else None

    def _span(self, ids: Sequence[int] | None, content: str, start: int, end: int, *, offset: int) -> Span:
        """The span of `content` from `start` to `end`, with those of `ids` that are its text."""
        own = spaced = None
        if ids is not None:
            own = _ids_between(self._vocabulary, ids, content, start, end)
            if start and content[start - 1] == " ":
                spaced = _ids_between(self._vocabulary, ids, content, start - 1, end)
        return Span(
            start=start - offset,
            end=end - offset,
            text=content[start:end],
            ids=None if own is None else array("I", own),
            spaced_ids=None if spaced is None else array("I", spaced),
        )

    def _edges(self, text: str) -> tuple[int, ...]:
        """Where a text begins and ends, white space left out, if it has a part of a control token there."""
        said = text.strip()
        lengths = range(1, min(len(said), self._longest) + 1)
        is_open = any(said[:length] in self._tails or said[-length:] in self._heads for length in lengths)
        if not is_open and 0 < len(said) < self._longest:
            is_open = any(said in control for control in self._vocabulary.control_texts)
        if not is_open:
            return ()
        start = text.index(said)
        return (start, start + len(said))

    def _said(self, content: str) -> tuple[int, int]:
        """Where in a model's turn that stands which its template wants: all of it, if not one of several channels."""
        if not self._has_channels or _CHANNELS.match(content) is None:
            return 0, len(content)
        start = max((found.end() for found in _FINAL_CHANNEL.finditer(content)), default=len(content))
        end = _CHANNEL_END.search(content, start)
        return start, end.start() if end else len(content)

    def _own_ids(self, message: Message) -> Sequence[int] | None:
        """The ids that the model wrote, where they are the content."""
        ids = message.token_ids
        if ids is UNSET or max(ids, default=0) >= len(self._vocabulary):
            return None
        return ids if self._vocabulary.text_of(ids) == message.content else None


def _ids_between(
    vocabulary: Vocabulary, ids: Sequence[int], content: str, start: int, end: int
) -> Sequence[int] | None:
    """Those of a text's ids that spell it from `start` to `end`; None where a token lies across an edge."""
    if start == 0 and end == len(content):
        return ids
    first, last = len(content[:start].encode()), len(content[:end].encode())
    num_bytes = 0
    places: dict[int, int] = {}
    for index, token_id in enumerate(ids):
        # Where a token has no bytes, the first such place begins a span and the last one ends it.
        places.setdefault(num_bytes, index)
        num_bytes += len(vocabulary.bytes[token_id])
    places.setdefault(num_bytes, len(ids))
    if first not in places or last not in places:
        return None
    own = ids[places[first] : places[last]]
    return own if vocabulary.text_of(own) == content[start:end] else None
