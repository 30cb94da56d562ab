"""A sequence of tokens as an immutable value that can be cut and joined by characters. Independent of the model.

Tokens that a model processed or generated are never changed. After them there may be text that is not tokenized yet,
the tail: an added string, or the beginning of a token that was cut. A generator joins the two with token healing.
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

_MAX_RESPELLED = 8
"""How many tokens next to a cut may become text if the part of the cut token is not valid text."""


class SlicingError(IndexError):
    """An invalid slice. The message says what to write instead."""


@dataclass(frozen=True)
class Ending:
    """How the last generation of a sequence ended."""

    text: str
    """The generated text."""
    reason: FinishReason
    stop: str | None
    """The stop string that ended the text, which does not contain it; None without one."""
    seed: int
    """The seed of its sampler."""
    logprob: float = 0.0
    """For a beam: the log-probability of tokens that are not in its text (the end of turn, or a stop string)."""


@dataclass(frozen=True)
class TokenSequence:
    """Tokens, and text after them."""

    vocabulary: Vocabulary = field(repr=False)
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[float | None, ...] = field(default=(), compare=False)
    """The log-probability of each token; None if it was not sampled.

    Comparisons ignore them, because the same tokens, sampled again, have the same log-probabilities only within
    rounding.
    """
    tail: str = ""
    """Text after the tokens that is not tokenized yet."""
    num_hidden: int = 0
    """How many bytes at the beginning are not text: those of tokens, or of a space, that the tokenizer adds."""
    has_start: bool = False
    """Whether the tokens include those that the tokenizer puts before a prompt. If not, generators add them."""
    ending: Ending | None = field(default=None, compare=False)

    @cached_property
    def text(self) -> str:
        """The whole text. Bytes that are not valid UTF-8 are U+FFFD."""
        return self._token_text + self.tail

    @cached_property
    def weight(self) -> float:
        """The sum of the log-probabilities of the sampled tokens and of the ending."""
        ending_logprob = 0.0 if self.ending is None else self.ending.logprob
        return math.fsum([*(logprob for logprob in self.logprobs if logprob is not None), ending_logprob])

    @cached_property
    def _data(self) -> bytes:
        return self.vocabulary.bytes_of(self.token_ids)[self.num_hidden :]

    @cached_property
    def _token_text(self) -> str:
        return self._data.decode("utf-8", "replace")

    @cached_property
    def _ends(self) -> list[int]:
        """The byte position at which each token ends, counting hidden bytes."""
        return list(accumulate(len(self.vocabulary.bytes[token_id]) for token_id in self.token_ids))

    # --- cutting -------------------------------------------------------------------------------------------

    def cut(self, start: int | None, end: int | None) -> TokenSequence:
        """Return the characters from `start` to `end`, as for a string. Raises `SlicingError`."""
        first, last, _ = slice(start, end).indices(len(self.text))
        if first >= last:
            return TokenSequence(self.vocabulary)
        kept = self if last == len(self.text) else self._until(last)
        return kept if first == 0 else kept.since(first)

    def _until(self, num_chars: int) -> TokenSequence:
        """Return the first `num_chars` characters: at least one, but not all."""
        num_left = num_chars - len(self._token_text)
        if num_left >= 0:
            return replace(self, tail=self.tail[:num_left], ending=None)
        num_bytes = self.num_hidden + num_bytes_of(self._data, num_chars)
        index = bisect_left(self._ends, num_bytes)
        if self._ends[index] == num_bytes:
            return self._first(index + 1)
        rest = self._data[max(0, self._start_of(index) - self.num_hidden) : num_bytes - self.num_hidden]
        if not self._can_heal_control_token(index, rest):
            self._refuse_in_control_token(index)
        # The kept part of the cut token may begin inside a character. Then also turn earlier tokens into text.
        for first in range(index, max(-1, index - _MAX_RESPELLED), -1):
            start = self._start_of(first)
            if start <= self.num_hidden:
                return TokenSequence(self.vocabulary, tail=self.text[:num_chars])
            if first < index and self.token_ids[first] in self.vocabulary.control_ids:
                break
            tail = _decoded(self._data[start - self.num_hidden : num_bytes - self.num_hidden])
            if tail is not None:
                return replace(self._first(first), tail=tail)
        kept = self._first(index)
        spelled = self.vocabulary.spell(rest)
        if spelled is None:
            return replace(kept, tail=rest.decode("utf-8", "replace"))
        return replace(kept, token_ids=(*kept.token_ids, *spelled), logprobs=(*kept.logprobs, *[None for _ in spelled]))

    def since(self, num_chars: int) -> TokenSequence:
        """Return a new sequence without the first characters. Raises `SlicingError`."""
        num_left = num_chars - len(self._token_text)
        if num_left >= 0:
            return TokenSequence(self.vocabulary, tail=self.tail[num_left:])
        return self._since_byte(self.num_hidden + num_bytes_of(self._data, num_chars))

    def _since_byte(self, num_bytes: int) -> TokenSequence:
        """Return a new sequence without the first bytes, counting hidden ones."""
        index = bisect_left(self._ends, num_bytes)
        if self._ends[index] == num_bytes:
            return self._since_token(index + 1, [])
        self._refuse_in_control_token(index)
        rest = self.vocabulary.bytes[self.token_ids[index]][num_bytes - self._start_of(index) :]
        for after in range(index + 1, min(index + _MAX_RESPELLED, len(self.token_ids)) + 1):
            spelled = self.vocabulary.spell(rest + self.vocabulary.bytes_of(self.token_ids[index + 1 : after]))
            if spelled is not None:
                return self._since_token(after, spelled)
        text = self._data[num_bytes - self.num_hidden :].decode("utf-8", "replace")
        return TokenSequence(self.vocabulary, tail=text + self.tail)

    def _first(self, num_tokens: int) -> TokenSequence:
        return replace(
            self, token_ids=self.token_ids[:num_tokens], logprobs=self.logprobs[:num_tokens], tail="", ending=None
        )

    def _since_token(self, index: int, before: list[int]) -> TokenSequence:
        """Return a new sequence of the tokens `before`, which were not sampled, and those from `index` on."""
        ids, logprobs = self.token_ids[index:], self.logprobs[index:]
        return TokenSequence(self.vocabulary, (*before, *ids), (*[None for _ in before], *logprobs), self.tail)

    def _start_of(self, index: int) -> int:
        """Return the byte position at which a token starts, counting hidden bytes."""
        return self._ends[index - 1] if index else 0

    def _can_heal_control_token(self, index: int, data: bytes) -> bool:
        """Return whether this is a control token (of reasoning or tools) that healing can spell from `data`."""
        token_id = self.token_ids[index]
        return token_id in self.vocabulary.control_ids and token_id in self.vocabulary.extending(data)

    def _refuse_in_control_token(self, index: int) -> None:
        """Raise `SlicingError` if the cut token is a control token, as a part of it is neither a token nor text."""
        token_id = self.token_ids[index]
        if token_id in self.vocabulary.control_ids:
            written = self.vocabulary.text_of([token_id])
            start = len(self._data[: max(0, self._start_of(index) - self.num_hidden)].decode("utf-8", "replace"))
            raise SlicingError(
                f"The slice cuts {written!r}, a control token that can't be split. "
                f"Cut before it, at {start}, or after it, at {start + len(written)}."
            )

    # --- joining -------------------------------------------------------------------------------------------

    def joined(self, other: TokenSequence) -> TokenSequence:
        """Return this sequence followed by `other`."""
        if not (self.token_ids or self.tail):
            return replace(other, ending=None)
        if not other.token_ids:
            return replace(self, tail=self.tail + other.tail, ending=None)
        following = other._since_byte(other.num_hidden) if other.num_hidden else other
        between = self.vocabulary.encode_turn(self.tail)
        return replace(
            self,
            token_ids=(*self.token_ids, *between, *following.token_ids),
            logprobs=(*self.logprobs, *[None for _ in between], *following.logprobs),
            tail=following.tail,
            ending=None,
        )


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
