"""An answer as it grows: its text as parts, and its tokens, each with the text that ends with it."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeAlias

from worker.protocol import FinishReason, Token, Usage
from worker.tools.turn_parts import Content, Part, Reasoning, TurnReader

_CUTS: Collection[FinishReason] = ("length", "cancelled")
"""Reasons for which the model did not finish its text."""


class ShownToken(NamedTuple):
    """A token of the answer, with the text that ends with it."""

    text: str
    logprob: float | None
    top: Sequence[tuple[str, float | None]]
    """The most likely tokens at this position: their texts and log-probabilities."""


class Reading(NamedTuple):
    """The model processes the prompt. The first step, unless the answer fails before."""

    done: int
    total: int
    cached: int
    """How many of the prompt's tokens were cached from earlier requests."""


class Delta(NamedTuple):
    """The next parts of one answer."""

    choice: int
    parts: Sequence[Part]
    tokens: Sequence[ShownToken]
    """The tokens of these parts; empty unless log-probabilities were requested."""


class Ended(NamedTuple):
    """One of the answers has ended."""

    choice: int
    reason: FinishReason
    stop: str | None
    """The stop string that ended the answer; None without one."""
    num_calls: int
    """How many tool calls the answer contains."""


class Waiting(NamedTuple):
    """There was no event for a while."""


class AllEnded(NamedTuple):
    """All answers have ended. The last step."""

    usage: Usage
    num_reasoning: int
    """About how many of the new tokens are reasoning."""


Step: TypeAlias = Reading | Delta | Ended | Waiting | AllEnded


class Growing:
    """One of the answers of a request."""

    def __init__(self, number: int, reader: TurnReader, *, has_logprobs: bool) -> None:
        self._number = number
        self._reader = reader
        self._has_logprobs = has_logprobs
        self._tokens = _GrowingTokens()
        self._undecided: list[ShownToken] = []
        """Tokens of text that is held back, so it is not known whether they are content."""
        self.num_chars = 0
        """How many characters of the answer have come so far."""
        self.num_reasoning = 0
        """How many tokens so far belong to reasoning."""
        self.has_ended = False

    def grown(self, text: str, tokens: Sequence[Token]) -> list[Step]:
        self.num_chars += len(text)
        if self._has_logprobs:
            return self._delta(self._tokens.grown(text, tokens))
        parts = self._reader.feed(text)
        self._count(parts, len(tokens))
        return [Delta(self._number, parts, [])] if parts else []

    def ended(self, reason: FinishReason, stop: str | None) -> list[Step]:
        self.has_ended = True
        last = self._delta(self._tokens.ended()) if self._has_logprobs else []
        parts = [*self._reader.feed(self._tokens.rest), *end_of(self._reader, reason)]
        kept = [*self._decided(parts), *(token for token in self._undecided if not token.text)]
        steps: list[Step] = [*last, *([Delta(self._number, parts, kept)] if parts or kept else [])]
        return [*steps, Ended(self._number, reason, stop, self._reader.num_calls)]

    def _delta(self, shown: Sequence[ShownToken]) -> list[Step]:
        """Parse tokens one by one, to find out which of them are content."""
        parts: list[Part] = []
        kept: list[ShownToken] = []
        for token in shown:
            new = self._reader.feed(token.text)
            self._count(new, 1)
            self._undecided.append(token)
            kept += self._decided(new)
            parts += new
        return [Delta(self._number, parts, kept)] if parts or kept else []

    def _decided(self, parts: Sequence[Part]) -> list[ShownToken]:
        """Return the undecided tokens that spell the content of new parts, and drop those before them."""
        content = "".join(part.text for part in parts if isinstance(part, Content))
        if not content:
            self._undecided = [] if parts else self._undecided
            return []
        start = max("".join(token.text for token in self._undecided).rfind(content), 0)
        found: list[ShownToken] = []
        at = num_done = 0
        for token in self._undecided:
            if at >= start + len(content):
                break
            num_done += 1
            at += len(token.text)
            if at > start or (at == start and not token.text):
                found.append(token)
        self._undecided = self._undecided[num_done:]
        return found

    def _count(self, parts: Sequence[Part], num_tokens: int) -> None:
        if any(isinstance(part, Reasoning) for part in parts):
            self.num_reasoning += num_tokens


def end_of(reader: TurnReader, reason: FinishReason) -> list[Part]:
    """End the turn in `reader`, which ended for this reason. Return its last parts."""
    return reader.end(is_cut=reason in _CUTS)


class _GrowingTokens:
    """The tokens of an answer, each with the text that ends with it."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._num_chars = 0
        """How many characters of the answer have come so far."""
        self._tokens: deque[Token] = deque()
        """The tokens whose text has not come completely."""
        self._num_returned = 0
        """How many characters the returned tokens spell."""

    def grown(self, text: str, tokens: Sequence[Token]) -> list[ShownToken]:
        """Add text and tokens. Return the tokens whose text has come completely."""
        self._num_chars += len(text)
        self._text.append(text)
        self._tokens += tokens
        return self._shown(is_end=False)

    def ended(self) -> list[ShownToken]:
        """Return the remaining tokens when the answer has ended, including a token whose text was kept only in part."""
        return self._shown(is_end=True)

    @property
    def rest(self) -> str:
        """The text for which no token was returned so far."""
        return "".join(self._text)

    def _shown(self, *, is_end: bool) -> list[ShownToken]:
        # All text before the remaining tokens has been returned.
        self._text[:] = ["".join(self._text)]
        text, begin = self._text[0], self._num_returned
        shown: list[ShownToken] = []
        while self._tokens:
            token = self._tokens[0]
            end = self._num_returned + token.num_chars
            if end > self._num_chars and not (is_end and self._num_returned < self._num_chars):
                break
            piece = text[self._num_returned - begin : end - begin]
            shown.append(ShownToken(piece, token.logprob, [(other.text, other.logprob) for other in token.top]))
            self._num_returned = end
            self._tokens.popleft()
        self._text[:] = [text[self._num_returned - begin :]]
        return shown
