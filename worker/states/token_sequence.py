"""One sequence of tokens as a value: cut and joined by the characters of its text; it knows no model that computes.

What a model read or wrote stays as the tokens it is. What lies behind them is text that nobody has cut into tokens:
strings that were added, and the beginning of a token that a cut went through. So whoever goes on from it can heal the
seam, and all before the seam is the same to the last token.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate

from worker.protocol import FinishReason
from worker.text.characters import num_bytes_of
from worker.text.vocabulary import Vocabulary

_MOST_SPELLED_ANEW = 8
"""Tokens beside a cut that are looked at where the cut one alone is no text, or the vocabulary can't spell it."""


class SlicingError(IndexError):
    """A cut that has no meaning; its text says why, and what to write instead."""


@dataclass(frozen=True)
class Ending:
    """How the generation that wrote the last part of a sequence ended."""

    text: str
    """What it wrote."""
    reason: FinishReason
    stop: str | None
    """The stop string that ended it, which is not in the text."""
    seed: int
    """What it sampled with."""
    logprob: float = 0.0
    """Of a beam: of what ended it and is no token of its text, the end of the turn or what a stop string cut off."""


@dataclass(frozen=True)
class TokenSequence:
    """Tokens, and text behind them."""

    vocabulary: Vocabulary = field(repr=False)
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[float | None, ...] = field(default=(), compare=False)
    """Of each token the log-probability that it was drawn with; None where nobody drew it.

    SampledToken again, it is the same within rounding; so what is equal is equal by its tokens and text.
    """
    tail: str = ""
    """Text behind the tokens that is not cut into tokens yet."""
    num_hidden: int = 0
    """Bytes at the beginning that are no text: of tokens that a tokenizer puts in front, and of a space with them."""
    is_begun: bool = False
    """Whether the tokens are all that a model reads from the beginning."""
    ending: Ending | None = field(default=None, compare=False)

    @cached_property
    def text(self) -> str:
        """What it says; bytes that are no UTF-8 are U+FFFD."""
        return self._spelled + self.tail

    @cached_property
    def weight(self) -> float:
        """The sum of the log-probabilities of the tokens that were drawn, and of its end where that is weighed."""
        of_its_end = 0.0 if self.ending is None else self.ending.logprob
        return math.fsum([*(logprob for logprob in self.logprobs if logprob is not None), of_its_end])

    @cached_property
    def _data(self) -> bytes:
        return self.vocabulary.bytes_of(self.token_ids)[self.num_hidden :]

    @cached_property
    def _spelled(self) -> str:
        """The text of the tokens."""
        return self._data.decode("utf-8", "replace")

    @cached_property
    def _ends(self) -> list[int]:
        """After how many bytes each token ends, hidden ones included."""
        return list(accumulate(len(self.vocabulary.bytes[token_id]) for token_id in self.token_ids))

    # --- cutting -------------------------------------------------------------------------------------------

    def cut(self, start: int | None, end: int | None) -> TokenSequence:
        """Return the characters from `start` to `end`, counted as in a string. Raises `SlicingError`."""
        first, last, _ = slice(start, end).indices(len(self.text))
        if first >= last:
            return TokenSequence(self.vocabulary)
        kept = self if last == len(self.text) else self._until(last)
        return kept if first == 0 else kept.since(first)

    def _until(self, num_chars: int) -> TokenSequence:
        """The first characters: at least one, and not all."""
        num_left = num_chars - len(self._spelled)
        if num_left >= 0:
            return replace(self, tail=self.tail[:num_left], ending=None)
        num_bytes = self.num_hidden + num_bytes_of(self._data, num_chars)
        index = bisect_left(self._ends, num_bytes)
        if self._ends[index] == num_bytes:
            return self._first(index + 1)
        rest = self._data[max(0, self._begin(index) - self.num_hidden) : num_bytes - self.num_hidden]
        if not self._is_begun_mark(index, rest):
            self._refuse_in_control_token(index)
        # The cut one's bytes alone may be no text: a character may have begun in the token before it.
        for first in range(index, max(-1, index - _MOST_SPELLED_ANEW), -1):
            begin = self._begin(first)
            if begin <= self.num_hidden:
                return TokenSequence(self.vocabulary, tail=self.text[:num_chars])
            if first < index and self.token_ids[first] in self.vocabulary.control_ids:
                break
            tail = _decoded(self._data[begin - self.num_hidden : num_bytes - self.num_hidden])
            if tail is not None:
                return replace(self._first(first), tail=tail)
        kept = self._first(index)
        spelled = self.vocabulary.spell(rest)
        if spelled is None:
            return replace(kept, tail=rest.decode("utf-8", "replace"))
        return replace(kept, token_ids=(*kept.token_ids, *spelled), logprobs=(*kept.logprobs, *[None for _ in spelled]))

    def since(self, num_chars: int) -> TokenSequence:
        """Return all but the first characters: what is left begins anew. Raises `SlicingError`."""
        num_left = num_chars - len(self._spelled)
        if num_left >= 0:
            return TokenSequence(self.vocabulary, tail=self.tail[num_left:])
        return self._since_byte(self.num_hidden + num_bytes_of(self._data, num_chars))

    def _since_byte(self, num_bytes: int) -> TokenSequence:
        """All but the first bytes, the hidden ones among them."""
        index = bisect_left(self._ends, num_bytes)
        if self._ends[index] == num_bytes:
            return self._anew([], index + 1)
        self._refuse_in_control_token(index)
        rest = self.vocabulary.bytes[self.token_ids[index]][num_bytes - self._begin(index) :]
        for after in range(index + 1, min(index + _MOST_SPELLED_ANEW, len(self.token_ids)) + 1):
            spelled = self.vocabulary.spell(rest + self.vocabulary.bytes_of(self.token_ids[index + 1 : after]))
            if spelled is not None:
                return self._anew(spelled, after)
        text = self._data[num_bytes - self.num_hidden :].decode("utf-8", "replace")
        return TokenSequence(self.vocabulary, tail=text + self.tail)

    def _first(self, num_tokens: int) -> TokenSequence:
        return replace(
            self, token_ids=self.token_ids[:num_tokens], logprobs=self.logprobs[:num_tokens], tail="", ending=None
        )

    def _anew(self, spelled: list[int], first: int) -> TokenSequence:
        """What begins with tokens that nobody drew, and goes on with those from `first` on."""
        ids, logprobs = self.token_ids[first:], self.logprobs[first:]
        return TokenSequence(self.vocabulary, (*spelled, *ids), (*[None for _ in spelled], *logprobs), self.tail)

    def _begin(self, index: int) -> int:
        return self._ends[index - 1] if index else 0

    def _is_begun_mark(self, index: int, data: bytes) -> bool:
        """Whether a token is a mark of reasoning or tools that healing can spell again from its beginning."""
        token_id = self.token_ids[index]
        return token_id in self.vocabulary.control_ids and token_id in self.vocabulary.extending(data)

    def _refuse_in_control_token(self, index: int) -> None:
        """Raise `SlicingError` where a cut goes through a control token: a part of it is no token, and no text."""
        token_id = self.token_ids[index]
        if token_id in self.vocabulary.control_ids:
            written = self.vocabulary.text_of([token_id])
            start = len(self._data[: max(0, self._begin(index) - self.num_hidden)].decode("utf-8", "replace"))
            raise SlicingError(
                f"The cut goes through {written!r}, which is one control token and no text. "
                f"Cut before it, at {start}, or behind it, at {start + len(written)}."
            )

    # --- joining -------------------------------------------------------------------------------------------

    def joined(self, other: TokenSequence) -> TokenSequence:
        """Return this one with another one behind it."""
        if not (self.token_ids or self.tail):
            return replace(other, ending=None)
        if not other.token_ids:
            return replace(self, tail=self.tail + other.tail, ending=None)
        behind = other._since_byte(other.num_hidden) if other.num_hidden else other
        between = self.vocabulary.encode_turn(self.tail)
        return replace(
            self,
            token_ids=(*self.token_ids, *between, *behind.token_ids),
            logprobs=(*self.logprobs, *[None for _ in between], *behind.logprobs),
            tail=behind.tail,
            ending=None,
        )


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
