"""One answer while it grows: its tokens, the text that may be shown, why it ended. Independent of the model.

An answer may continue given text. Its first tokens may then spell the last bytes of that text again (token healing).
These bytes are neither shown nor counted as part of the answer.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from worker.cache.token_tree import num_common
from worker.decoding.sampled_token import SampledToken
from worker.errors import ConstraintInvalidError
from worker.protocol import Alternative, Choice, Chunk, FinishReason, Origin, RequestId, Token
from worker.sentence import Sentence
from worker.text.calls import CallConstraint
from worker.text.characters import split_characters
from worker.text.healing import Healing, num_taken_back
from worker.text.masks import Masks, Rule
from worker.text.stop_strings import StopStrings
from worker.text.text_stream import TextStream, TokenPrefix
from worker.text.vocabulary import Vocabulary

_MAX_RECUT = 32
"""If the vocabulary can't spell a part of the last token, at most this many tokens are tokenized again."""


class Answer:
    """One choice of a request."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        stops: Sequence[str],
        given_ids: Sequence[int],
        given_text: str | None = None,
        constraint: Rule | None = None,
        *,
        was_shown: bool = False,
        is_cut: bool = False,
    ) -> None:
        """`given_ids` are the tokens that the answer continues. With `given_text`, their text, token healing is used.

        `constraint` applies to everything after `kept_ids`, which it has already consumed. `was_shown`: whether all
        given text was shown, including an unfinished character at its end. `is_cut`: whether the given text was
        shortened, so that an unfinished character at its end is dropped.
        """
        num_healed = 0 if given_text is None else num_taken_back(vocabulary, given_ids)
        num_kept = len(given_ids) - num_healed
        # The vocabulary may lack tokens for some of the text.
        given = vocabulary.bytes_of(given_ids) if given_text is None else given_text.encode()
        self._vocabulary = vocabulary
        self._given_ids = list(given_ids)
        self._stream = TextStream(StopStrings(stops), given, was_shown=was_shown)
        self._was_given_shown = was_shown
        self._is_given_cut = is_cut
        self.kept_ids = self._given_ids[:num_kept]
        """The given ids that are kept; the answer spells the text of the others again."""
        self._healing = Healing(vocabulary, vocabulary.bytes_of(given_ids[num_kept:]))
        self._constraint = constraint
        self.mask = _mask(self._healing, constraint)
        self.token_ids: list[int] = []
        self.origins: list[Origin] = []
        self.logprobs: list[float | None] = []
        """Log-probability of each token by the model; None if it was not requested."""
        self.reason: FinishReason | None = None
        self._kept = TokenPrefix(0, b"")
        self._num_given: list[int] = []
        """For each token, how many of its bytes only repeat given text."""
        self._is_fed: list[bool] = []
        """For each token, whether the constraint consumed it."""
        self._text: list[str] = []
        self._unsent: list[Token] = []
        self._sampled_ns = 0

    @property
    def stop(self) -> str | None:
        """The stop string that ended the answer, or None."""
        return self._stream.stop

    @property
    def num_kept_tokens(self) -> int:
        """How many of the answer's tokens are completely in the final text; 0 before the answer has ended."""
        return self._kept.num_tokens

    @property
    def constraint(self) -> Rule | None:
        return self._constraint

    @property
    def num_spelled_again(self) -> int:
        """How many tokens at the start only repeat given text."""
        number = 0
        for token_id, num_given in zip(self.token_ids, self._num_given, strict=True):
            if num_given < max(1, len(self._vocabulary.bytes[token_id])):
                break
            number += 1
        return number

    @property
    def is_healing(self) -> bool:
        """Whether the next token must spell given text again."""
        return self._healing.is_active

    def spells_given_alone(self, token_id: int) -> bool:
        """Return whether `token_id`, as the next token, would only repeat given text."""
        return self._healing.is_active and self._healing.num_given(token_id) == len(self._vocabulary.bytes[token_id])

    def spelled_again(self, token_id: int) -> list[int]:
        """Return tokens that finish spelling the given text; empty if `token_id` is allowed next anyway."""
        allowed = self._healing.mask()
        return [] if allowed is None or allowed[token_id] else self._vocabulary.spell(self._healing.left) or []

    @property
    def text(self) -> str:
        """The text that can be shown, because it can't become part of a stop string any more."""
        return "".join(self._text)

    def raw_text(self) -> str:
        """Return the text of all tokens, including text that is held back."""
        return self._stream.raw_text()

    @property
    def was_shown(self) -> bool:
        """Whether all bytes of the turn so far were shown as text. Valid once the answer has ended."""
        return self._was_given_shown or any(self._text)

    @property
    def num_sent(self) -> int:
        """How many of the answer's tokens were sent in chunks."""
        return len(self.token_ids) - len(self._unsent)

    def forced(self) -> list[int]:
        """Return the next tokens if the constraint allows only these; often empty."""
        if self._constraint is None or self.reason is not None or self._healing.is_active:
            return []
        return self._constraint.forced()

    def take(self, drawn: SampledToken, *, is_forced: bool = False, feed_constraint: bool = True) -> str:
        """Add the next token. Return the text that can be shown now. Sets `reason` if the token ends the answer.

        `feed_constraint`: whether the constraint consumes the token. Raises `ConstraintInvalidError` if it forbids the
        token.
        """
        self._sampled_ns = time.monotonic_ns()
        token_id = drawn.token_id
        is_fed = self._constraint is not None and feed_constraint
        was_in_call = self._is_in_call
        if token_id in self._vocabulary.eos_ids:
            constraint = self._constraint
            checked = constraint if is_forced and is_fed else None
            if checked is not None and not checked.may_end:
                allowed = checked.mask()
                if allowed is not None and not allowed[token_id]:
                    raise ConstraintInvalidError(Sentence("The answer does not satisfy the format yet."))
            # The given text may have completed the constraint.
            return self.end("constraint" if constraint is not None and constraint.is_complete else "eos")
        origin = self._origin(drawn, is_forced=is_forced)
        if is_fed and self._constraint is not None and not self._constraint.consume([token_id]):
            raise self._constraint.failure()
        num_given = self._healing.num_given(token_id)
        self._healing.consume(token_id)
        self._is_fed.append(is_fed)
        self.token_ids.append(token_id)
        self.origins.append(origin)
        self.logprobs.append(drawn.logprob)
        self._num_given.append(num_given)
        # A stop string would leave an incomplete tool call, or a part of its marker.
        may_stop = not was_in_call and not self._is_in_call
        text = self._stream.push(self._vocabulary.bytes[token_id][num_given:], may_stop=may_stop)
        self._unsent.append(self._reported(drawn, origin))
        self._text.append(text)
        if self._stream.stop is not None:
            self._end("stop")
        elif self._constraint is not None and self._constraint.is_complete:
            text += self.end("constraint")
        return text

    @property
    def _is_in_call(self) -> bool:
        return isinstance(self._constraint, CallConstraint) and self._constraint.is_in_call

    def _origin(self, drawn: SampledToken, *, is_forced: bool) -> Origin:
        if is_forced:
            return "forced"
        if self._healing.is_active:
            return "healed"
        return "draft" if drawn.is_draft else "sampled"

    def rewind(self, num_tokens: int) -> tuple[int, int]:
        """Take back the last `num_tokens` tokens. An answer that had ended continues.

        Returns how many characters of `text`, and how many of the sent tokens, are taken back.
        """
        num_sent = self.num_sent
        left = len(self.token_ids) - num_tokens
        num_chars = self._stream.rewind(num_tokens)
        if self._constraint is not None:
            self._constraint.rewind(sum(self._is_fed[left:]))
        self._healing.rewind(num_tokens)
        del self._unsent[max(0, len(self._unsent) - num_tokens) :]
        for column in (self.token_ids, self.origins, self.logprobs, self._num_given, self._is_fed):
            del column[left:]
        text = self.text
        self._text = [text[: len(text) - num_chars]]
        self.reason, self._kept = None, TokenPrefix(0, b"")
        return num_chars, num_sent - self.num_sent

    def reopen(self, num_left: int) -> tuple[int, int, str]:
        """Continue an answer that has ended, after the first `num_left` of `turn_ids`.

        Returns what `rewind` returns, and the text that can be shown again.
        """
        start = len(self.kept_ids)
        read = self.turn_ids[start:num_left]
        num_whole = num_common(read, self.token_ids)
        again = read[num_whole:]
        is_fed = bool(again) and self._is_fed[num_whole]
        num_chars, num_unsent = self.rewind(len(self.token_ids) - num_whole)
        texts = [self.take(SampledToken(token_id), is_forced=True, feed_constraint=is_fed) for token_id in again]
        return num_chars, num_unsent, "".join(texts)

    def copy(self) -> Answer:
        """Return an independent answer in the same state."""
        other = object.__new__(Answer)
        other.__dict__.update(self.__dict__)
        other._stream = self._stream.copy()
        other._healing = self._healing.copy()
        other._constraint = None if self._constraint is None else self._constraint.copy()
        other.mask = _mask(other._healing, other._constraint)
        other.token_ids, other.origins, other.logprobs = list(self.token_ids), list(self.origins), list(self.logprobs)
        other._num_given, other._is_fed = list(self._num_given), list(self._is_fed)
        other._text, other._unsent = list(self._text), list(self._unsent)
        return other

    def end(self, reason: FinishReason) -> str:
        """End the answer for any reason except a stop string. Return the text that was held back."""
        text = self._stream.finish()
        self._text.append(text)
        self._end(reason)
        return text

    def _end(self, reason: FinishReason) -> None:
        self.reason = reason
        self._kept = self._stream.kept()

    def chunk(self, request_id: RequestId, choice: int, text: str) -> Chunk | None:
        """Return the event for `text`, with the tokens since the last event; None if there is nothing to send.

        A token whose text is held back goes with the next text. Without text, an event is sent only at the end, and
        only if some of the waiting tokens are part of the answer.
        """
        num_sent = len(self.token_ids) - len(self._unsent)
        if not text and self._kept.num_tokens + bool(self._kept.rest) <= num_sent:
            return None
        tokens, self._unsent = self._unsent, []
        return Chunk(request_id=request_id, choice=choice, text=text, tokens=tokens, sampled_ns=self._sampled_ns)

    def choice(self, seed: int) -> Choice:
        """Return the finished answer."""
        assert self.reason is not None
        text = "".join(self._text)
        token_ids, num_recut = self._new_ids()
        turn_ids = self.turn_ids
        return Choice(
            text=text,
            token_ids=token_ids,
            num_recut=num_recut,
            seed=seed,
            reason=self.reason,
            stop=self._stream.stop,
            turn_token_ids=turn_ids,
            turn_token_chars=self._vocabulary.chars_of(turn_ids),
        )

    @property
    def turn_ids(self) -> list[int]:
        """The ids of the whole turn, including the given ones, as the model processes them."""
        if any(self._text):
            return self._turn_ids()
        return self._given_whole() if self._is_given_cut else self._given_ids

    def _given_whole(self) -> list[int]:
        """Return the given ids without an unfinished character at their end."""
        token_bytes = self._vocabulary.bytes
        ids = list(self._given_ids)
        num_over = len(split_characters(self._vocabulary.bytes_of(ids))[1])
        rest = b""
        while num_over:
            last = token_bytes[ids.pop()]
            rest = last[: max(0, len(last) - num_over)]
            num_over -= len(last) - len(rest)
        num_whole, again = self._recut(ids, rest)
        return ids[:num_whole] + again

    def _new_ids(self) -> tuple[list[int], int]:
        """Return the ids of the new text alone, and how many at their end were tokenized again."""
        num_whole, rest = self._kept
        ids: list[int] = []
        num_recut = 0
        for token_id, num_given in zip(self.token_ids[:num_whole], self._num_given, strict=False):
            if num_given:
                # This token spells given and new text. Only its new part counts, tokenized again.
                again = self._vocabulary.spell(self._vocabulary.bytes[token_id][num_given:]) or []
                ids += again
                num_recut += len(again)
            else:
                ids.append(token_id)
                num_recut = 0
        num_whole, again = self._recut(ids, rest)
        return ids[:num_whole] + again, max(0, num_recut - len(ids) + num_whole) + len(again)

    def _turn_ids(self) -> list[int]:
        """Return the ids of the given and the new text; use only if there is new text."""
        num_whole, rest = self._kept
        if rest:
            num_given = self._num_given[num_whole]
            rest = self._vocabulary.bytes[self.token_ids[num_whole]][:num_given] + rest
        ids = self.kept_ids + self.token_ids[:num_whole]
        num_whole, again = self._recut(ids, rest)
        return ids[:num_whole] + again

    def _recut(self, ids: list[int], rest: bytes) -> tuple[int, list[int]]:
        """Return how many of `ids` are kept, and new ids for the bytes of the others and of `rest`.

        All are kept unless the vocabulary lacks single bytes, and so can't spell `rest` alone. If it can't spell `rest`
        even together with the last tokens' bytes, `rest` is left out of the ids.
        """
        vocabulary = self._vocabulary
        for num_whole in range(len(ids), max(-1, len(ids) - _MAX_RECUT), -1):
            again = vocabulary.spell(vocabulary.bytes_of(ids[num_whole:]) + rest)
            if again is not None:
                return num_whole, again
        return len(ids), []

    def _shown_text(self, token_id: int) -> str:
        """Return the text that a token would show; empty for an EOS token."""
        return "" if token_id in self._vocabulary.eos_ids else self._vocabulary.text_of([token_id])

    def _reported(self, drawn: SampledToken, origin: Origin) -> Token:
        return Token(
            id=drawn.token_id,
            logprob=_finite(drawn.logprob),
            top=[
                Alternative(id=token_id, text=self._shown_text(token_id), logprob=_finite(logprob))
                for token_id, logprob in drawn.top
            ],
            origin=origin,
            num_chars=self._stream.num_completed,
        )


def _mask(healing: Healing, constraint: Rule | None) -> Masks:
    return Masks([healing] if constraint is None else [healing, constraint])


def _finite(logprob: float | None) -> float | None:
    return logprob if logprob is not None and math.isfinite(logprob) else None
