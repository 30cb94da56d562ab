"""One sequence that is being continued: its processed and unprocessed tokens, its pending token, its guesses."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, Protocol, cast

import mlx.core as mx
import numpy as np
import numpy.typing as npt

from worker.cache.prompt_cache import MAX_MARKS, States
from worker.cache.token_tree import num_common
from worker.decoding.sampled_token import PendingToken, SampledToken, checksum, report
from worker.decoding.sampler import Sampler
from worker.text.masks import Mask, both


class Steer(Mask, Protocol):
    """Hooks' settings for the next token: a mask, a temperature, a visit count."""

    @property
    def temperature(self) -> float | None:
        """The temperature of the next token; None means the request's."""
        ...

    @property
    def visit(self) -> int:
        """How often this position was already sampled."""
        ...


class Guesses(Protocol):
    """A source of guessed tokens (a draft)."""

    def is_on(self, length: int) -> bool:
        """Return whether to guess after `length` tokens."""
        ...

    def guess(self, sequence: Sequence[int], most: int) -> list[int]:
        """Return at most `most` guessed tokens that follow the sequence."""
        ...

    def note(self, num_right: int, length: int) -> None:
        """Report how many of the last guesses were right, and the present length of the sequence, both in tokens."""
        ...


class Branch:
    """One sequence that is being continued."""

    def __init__(
        self,
        sequence: Sequence[int],
        num_read: int,
        sampler: Sampler,
        mask: Mask,
        max_tokens: int,
        *,
        num_top: int = 0,
        steer: Steer | None = None,
        guesses: Guesses | None = None,
    ) -> None:
        """The layers hold the first `num_read` tokens of `sequence`.

        `num_top` alternatives are reported; 0 means no log-probabilities.

        `steer` is consulted before each token, in addition to `mask`. `guesses` are processed together with known
        tokens.
        """
        self._guesses = guesses
        self._ahead: deque[tuple[int, mx.array]] = deque()
        """The guesses that the layers hold after `ids`, with the logits after each."""
        self._num_right = 0
        self._steer = steer
        self._drawn_from: mx.array | None = None
        """The logits from which the last token was sampled; only for a steered branch."""
        self._drawn_after = 0
        """The position of these logits."""
        self.drawn_mask: npt.NDArray[np.bool_] | None = None
        """Which tokens were allowed for the last token; None means all tokens. Only for a steered branch."""
        self._masked: tuple[npt.NDArray[np.bool_], mx.array] | None = None
        """The last mask and its MLX array, kept because the next mask is often the same."""
        self.ids = list(sequence[:num_read])
        """The tokens that the layers hold."""
        self.num_left = max_tokens
        """How many more tokens may be sampled or appended."""
        self._sampler = sampler
        self.mask = mask
        self._num_top = num_top
        self._recent = sampler.recent(sequence)
        self._position = len(sequence)
        """The position of the next token to be sampled."""
        self._logits: mx.array | None = None
        self._draw: PendingToken | None = None
        self._unread = list(sequence[num_read:])
        self._marks: deque[tuple[int, States]] = deque(maxlen=MAX_MARKS)
        """States of the layers at the branch's latest positions, while it is a row of a batch."""

    def mark(self, states: States | None) -> None:
        """Keep the layers' states after `ids`; None keeps nothing."""
        if states is not None:
            self._marks.append((len(self.ids), states))

    def take_marks(self) -> list[tuple[int, States]]:
        """Return all kept states with their positions, and clear them."""
        marks = list(self._marks)
        self._marks.clear()
        return marks

    def marked(self, length: int) -> tuple[int, States] | None:
        """Return the last kept states within the first `length` tokens, with their position; None if there are none."""
        return max((mark for mark in self._marks if mark[0] <= length), key=lambda mark: mark[0], default=None)

    @property
    def sequence(self) -> list[int]:
        """All known tokens: those that the layers hold, and those that the model has not processed yet."""
        return self.ids + self._unread

    def append(self, token_ids: Sequence[int]) -> None:
        """Append tokens that were not sampled; the next step processes them."""
        self._unread += token_ids
        self.num_left -= len(token_ids)
        self._position += len(token_ids)
        self._recent = self._sampler.advance(self._recent, mx.array(list(token_ids)))
        self._logits = self._draw = None

    def num_beyond(self, sequence: list[int]) -> int:
        """Return how many tokens the layers hold after the prefix that they share with `sequence`."""
        return len(self.ids) - num_common(self.ids, sequence)

    def num_astray(self, sequence: list[int]) -> int | None:
        """Return how many tokens the layers must drop before `go_to(sequence)`.

        None means that dropping is not enough, because the logits after `sequence` are not known.
        """
        common = num_common(self.ids, sequence)
        if common < len(sequence) or (self._drawn_from is not None and self._drawn_after == common):
            return len(self.ids) - common
        return None

    # --- guesses -------------------------------------------------------------------------------------------

    @property
    def guesses_ahead(self) -> bool:
        """Whether a draft guesses the next tokens."""
        return self._guesses is not None and self._guesses.is_on(len(self.ids) + len(self._unread))

    @property
    def is_ahead(self) -> bool:
        """Whether the layers hold guesses."""
        return bool(self._ahead)

    def guess(self) -> list[int]:
        """Return guesses that follow all known tokens."""
        # The model never processes the last token of an answer.
        if self._guesses is None or not self.guesses_ahead:
            return []
        return self._guesses.guess(self.sequence, self.num_left - 1)

    def note_ahead(self, guesses: Sequence[int], logits: Sequence[mx.array]) -> None:
        """Note that the layers now hold these guesses; `logits` are those after each, shape [1, vocabulary]."""
        self._ahead = deque(zip(guesses, logits, strict=True))
        self._num_right = 0

    def catch_up(self) -> list[int]:
        """Return the guesses that turned out right, now part of `ids`. After a wrong one, drop all guesses."""
        read: list[int] = []
        while self._ahead and self._unread and self._unread[0] == self._ahead[0][0]:
            token_id, logits = self._ahead.popleft()
            read.append(token_id)
            del self._unread[0]
            if not self._unread:
                self.begin(logits)
        self.ids += read
        self._num_right += len(read)
        if self._unread or (read and not self._ahead):
            self.note_guesses_dropped()
        return read

    def note_guesses_dropped(self) -> None:
        """Note that the layers no longer hold guesses."""
        self._ahead.clear()
        if self._guesses is not None:
            self._guesses.note(self._num_right, len(self.ids) + len(self._unread))
        self._num_right = 0

    def note_dropped(self, num_tokens: int) -> None:
        """Note that the layers no longer hold the last tokens."""
        del self.ids[len(self.ids) - num_tokens :]

    def go_to(self, sequence: Sequence[int], num_left: int) -> None:
        """Continue `sequence` instead. The layers must hold a prefix of `sequence` (see `num_astray`)."""
        num_read = len(self.ids)
        self._unread = list(sequence[num_read:])
        self._position = len(sequence)
        self._recent = self._sampler.recent(sequence)
        self._draw = None
        self._logits = None if self._unread else self._drawn_from
        self.num_left = num_left

    def begin(self, logits: mx.array) -> None:
        """Set the logits after all known tokens, shape [1, vocabulary]."""
        self._logits = logits
        self._draw = None

    def draw(self) -> list[mx.array]:
        """Sample the next token if its logits are known. Return the arrays to evaluate."""
        if self._logits is not None:
            allowed = self.mask.mask()
            visit, temperature = 0, None
            if self._steer is not None:
                allowed = both(allowed, self._steer.mask())
                visit, temperature = self._steer.visit, self._steer.temperature
                # Convert to 32 bits now: a later conversion would wait for the steps launched in between.
                self._drawn_from, self.drawn_mask = self._logits.astype(mx.float32), allowed
                self._drawn_after = self._position
            mask = None if allowed is None else self._as_array(allowed)
            token = self._sampler.draw(self._logits, self._recent, self._position, visit, mask, temperature)
            reported = report(self._logits, token, self._num_top) if self._num_top else ()
            self._draw = PendingToken(token, checksum(self._logits), reported)
            self._recent = self._sampler.advance(self._recent, token)
            self._position += 1
            self._logits = None
        if self._draw is None:
            return []
        return [*self._draw.arrays, *([] if self._drawn_from is None else [self._drawn_from])]

    def _as_array(self, mask: npt.NDArray[np.bool_]) -> mx.array:
        """Return the mask as an MLX array, shape [1, vocabulary]."""
        if self._masked is None or self._masked[0] is not mask:
            self._masked = mask, mx.array(cast("Any", mask[None]))  # MLX takes numpy's; its stubs do not say so
        return self._masked[1]

    def drawn_logits(self) -> npt.NDArray[np.float32]:
        """Return the logits from which the last token was sampled, shape [vocabulary]. Only for a steered branch."""
        assert self._drawn_from is not None
        return np.array(self._drawn_from)[0]

    @property
    def pending_token(self) -> mx.array | None:
        """The next token, shape [1], if it was sampled and all tokens before it were processed; else None."""
        return None if self._draw is None or self._unread else self._draw.token

    @property
    def is_ready(self) -> bool:
        """Whether a token is pending, or can be sampled."""
        return self._draw is not None or self._logits is not None

    @property
    def is_steered(self) -> bool:
        """Whether a hook may reject sampled tokens."""
        return self._steer is not None

    @property
    def has_logits(self) -> bool:
        """Whether the next token can be sampled now."""
        return self._logits is not None

    @property
    def is_masked(self) -> bool:
        """Whether the mask of the next token depends on the pending token."""
        return self._steer is not None or self.mask.is_active

    def coming(self, most: int | None) -> mx.array:
        """Return the tokens to process next, shape [n]. `most` limits n; None means no limit."""
        if self._unread:
            return mx.array(self._unread[:most])
        assert self._draw is not None
        return self._draw.token

    def advance(self, logits: mx.array, num_read: int) -> None:
        """Take the logits after the next `num_read` unprocessed tokens. If none are left, a token can be sampled."""
        if num_read >= len(self._unread):
            self.begin(logits)

    def take_pending(self) -> PendingToken | None:
        """Return and clear the pending token; None if there is none."""
        draw, self._draw = self._draw, None
        return draw

    def append_sampled(self, drawn: SampledToken) -> SampledToken:
        """Append a token that `take_pending` returned. Return it, marked as a draft's if it was guessed."""
        self.num_left -= 1
        if self._ahead and not self._unread and self._ahead[0][0] == drawn.token_id:
            drawn = drawn._replace(is_draft=True)
        self._unread.append(drawn.token_id)
        return drawn

    def read(self, num_tokens: int) -> list[int]:
        """Note that the layers now hold the next `num_tokens` unprocessed tokens. Return these tokens."""
        read = self._unread[:num_tokens]
        del self._unread[:num_tokens]
        self.ids += read
        return read
