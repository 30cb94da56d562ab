"""One answer as it grows: its tokens, the text that may be shown, why it ended; it knows no model.

An answer may go on from given text. Then the first tokens spell some of its bytes again (healing): those bytes are
neither shown nor counted as the answer's own.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from worker.decode import Drawn
from worker.healing import Healing, num_taken_back
from worker.protocol import Alternative, Choice, Chunk, FinishReason, RequestId, Token
from worker.stop_strings import StopStrings
from worker.text_stream import TextStream
from worker.vocabulary import Vocabulary


class Answer:
    """One choice of a request."""

    def __init__(
        self, vocabulary: Vocabulary, stops: Sequence[str], given_ids: Sequence[int], *, heal: bool = False
    ) -> None:
        """`given_ids`: what the answer goes on from; with `heal`, its seam may lie anywhere."""
        num_healed = num_taken_back(vocabulary, given_ids) if heal else 0
        num_kept = len(given_ids) - num_healed
        self._vocabulary = vocabulary
        self._given_ids = list(given_ids)
        self._stream = TextStream(StopStrings(stops), vocabulary.bytes_of(given_ids))
        self.kept_ids = self._given_ids[:num_kept]
        """What of the given ids the model reads; the rest is spelled again."""
        self.healing = Healing(vocabulary, vocabulary.bytes_of(given_ids[num_kept:]))
        self.token_ids: list[int] = []
        self.reason: FinishReason | None = None
        self._num_given: list[int] = []
        """Of each token, how many of its bytes only spell again what was given."""
        self._text: list[str] = []
        self._unsent: list[Token] = []
        self._sampled_ns = 0

    def take(self, drawn: Drawn) -> str:
        """Take the next token; return the text that is now safe. Sets `reason` where it ends the answer."""
        self._sampled_ns = time.monotonic_ns()
        token_id = drawn.token_id
        if token_id in self._vocabulary.eos_ids:
            return self.end("eos")
        num_given = self.healing.num_given(token_id)
        self.healing.consume(token_id)
        self.token_ids.append(token_id)
        self._num_given.append(num_given)
        self._unsent.append(self._reported(drawn))
        data = self._vocabulary.bytes[token_id]
        text = self._stream.push(data[num_given:] if num_given else data)
        self._text.append(text)
        if self._stream.stop is not None:
            self.reason = "stop"
            self._forget_unkept()
        return text

    def end(self, reason: FinishReason) -> str:
        """End the answer for another reason than a stop string; return the text that was held back."""
        self.reason = reason
        text = self._stream.finish()
        self._text.append(text)
        self._forget_unkept()
        return text

    def chunk(self, request_id: RequestId, choice: int, text: str) -> Chunk | None:
        """Return the event that shows `text`, with the tokens since the last one; None where nothing is to be told.

        A token whose text is held back rides with the next text, or with the end of the answer.
        """
        if not text and not (self.reason is not None and self._unsent):
            return None
        tokens, self._unsent = self._unsent, []
        return Chunk(request_id=request_id, choice=choice, text=text, tokens=tokens, sampled_ns=self._sampled_ns)

    def choice(self, seed: int) -> Choice:
        """Return the finished answer."""
        assert self.reason is not None
        text = "".join(self._text)
        num_whole, rest = self._stream.kept()
        new_ids = self._new_ids(num_whole)
        cut_ids = self._cut(rest)
        return Choice(
            text=text,
            token_ids=new_ids + cut_ids,
            num_recut=len(cut_ids),
            seed=seed,
            reason=self.reason,
            stop=self._stream.stop,
            turn_token_ids=self._turn_ids(num_whole, rest) if text else self._given_ids,
        )

    def _new_ids(self, num_whole: int) -> list[int]:
        """The first tokens, whose new bytes are all kept, without what only spells the given text again."""
        ids: list[int] = []
        for token_id, num_given in zip(self.token_ids[:num_whole], self._num_given, strict=False):
            if not num_given:
                ids.append(token_id)
            else:
                ids += self._cut(self._vocabulary.bytes[token_id][num_given:])
        return ids

    def _turn_ids(self, num_whole: int, rest: bytes) -> list[int]:
        """The whole turn: what was given and what is kept."""
        if rest:
            num_given = self._num_given[num_whole]
            rest = self._vocabulary.bytes[self.token_ids[num_whole]][:num_given] + rest
        return self.kept_ids + self.token_ids[:num_whole] + self._cut(rest)

    def _cut(self, data: bytes) -> list[int]:
        """A part of a token's bytes as ids of its own."""
        try:
            return self._vocabulary.encode(data.decode())
        except UnicodeDecodeError:
            return self._vocabulary.spell(data)

    def _forget_unkept(self) -> None:
        """Tokens of which nothing is kept (a stop string's, an unfinished character's) are never sent."""
        num_whole, rest = self._stream.kept()
        num_kept = num_whole + bool(rest)
        num_sent = len(self.token_ids) - len(self._unsent)
        del self._unsent[max(0, num_kept - num_sent) :]

    def _reported(self, drawn: Drawn) -> Token:
        return Token(
            id=drawn.token_id,
            logprob=_finite(drawn.logprob),
            top=[
                Alternative(id=token_id, text=self._vocabulary.text_of([token_id]), logprob=_finite(logprob))
                for token_id, logprob in drawn.top
            ],
            origin="healed" if drawn.is_masked else "sampled",
        )


def _finite(logprob: float | None) -> float | None:
    return logprob if logprob is not None and math.isfinite(logprob) else None
