"""One sequence that is being continued: what its layers hold, what was drawn, what is guessed; it computes no step."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, Protocol, cast

import mlx.core as mx
import numpy as np
import numpy.typing as npt

from worker.cache.prompt_cache import MOST_MARKS, States
from worker.cache.token_tree import num_common
from worker.decoding.drawn import Drawn, PendingToken, report
from worker.decoding.sampler import Sampler
from worker.text.masks import Mask, both


class Steer(Mask, Protocol):
    """What may say more of a draw, step by step."""

    @property
    def temperature(self) -> float | None:
        """Of the next draw; None: the request's."""
        ...

    @property
    def visit(self) -> int:
        """How often a token was drawn at this place before."""
        ...


class Guesses(Protocol):
    """What may guess tokens that follow."""

    def is_on(self, length: int) -> bool:
        """Whether to guess what follows so many tokens."""
        ...

    def guess(self, sequence: Sequence[int], most: int) -> list[int]:
        """Return guesses of what follows a sequence."""
        ...

    def note(self, num_right: int, length: int) -> None:
        """Say how many of the last ones came true, and how many tokens there are now."""
        ...


class Branch:
    """One sequence that is being continued."""

    def __init__(
        self,
        sequence: Sequence[int],
        sampler: Sampler,
        mask: Mask,
        max_tokens: int,
        *,
        num_top: int = 0,
        steer: Steer | None = None,
        guesses: Guesses | None = None,
    ) -> None:
        """`sequence` is what was read; `num_top`: how many alternatives to report, 0 computes no log-probability.

        `steer` is asked before each draw, besides `mask`; what it is told of a token is known for the last one that
        was drawn. `guesses` are read with the tokens that are known.
        """
        self._guesses = guesses
        self._ahead: deque[tuple[int, mx.array]] = deque()
        """Guesses that its layers hold behind `ids`, and the logits after each."""
        self._num_right = 0
        self._steer = steer
        self._drawn_from: mx.array | None = None
        """Of a steered branch: the logits of the last draw, and after how many tokens they are."""
        self._drawn_after = 0
        self.drawn_mask: npt.NDArray[np.bool_] | None = None
        """Of a steered branch: which tokens could be drawn the last time; None: all."""
        self._masked: tuple[npt.NDArray[np.bool_], mx.array] | None = None
        """The last mask, and the same for the model: mostly the next one is it, too."""
        self.ids = list(sequence)
        """What its layers hold."""
        self.num_left = max_tokens
        """Tokens that may still be looked at."""
        self._sampler = sampler
        self.mask = mask
        self._num_top = num_top
        self._recent = sampler.recent(sequence)
        self._position = len(sequence)
        """Of the next token to be drawn."""
        self._logits: mx.array | None = None
        self._draw: PendingToken | None = None
        self._unread: list[int] = []
        self._marks: deque[tuple[int, States]] = deque(maxlen=MOST_MARKS)
        """States after its latest tokens, while it is a row of several."""

    def mark(self, states: States | None) -> None:
        """Remember the states after all that its layers hold."""
        if states is not None:
            self._marks.append((len(self.ids), states))

    def marks(self) -> list[tuple[int, States]]:
        """Hand out all that is remembered."""
        marks = list(self._marks)
        self._marks.clear()
        return marks

    def marked(self, length: int) -> tuple[int, States] | None:
        """Return the last states that are remembered of its first `length` tokens, and after how many they are."""
        return max((mark for mark in self._marks if mark[0] <= length), key=lambda mark: mark[0], default=None)

    @property
    def sequence(self) -> list[int]:
        """All that is known of it: what its layers hold, and tokens that were looked at or appended, not read yet."""
        return self.ids + self._unread

    def append(self, token_ids: Sequence[int]) -> None:
        """Let these tokens follow, without a draw; they are read with the next step."""
        self._unread += token_ids
        self.num_left -= len(token_ids)
        self._position += len(token_ids)
        self._recent = self._sampler.advance(self._recent, mx.array(list(token_ids)))
        self._logits = self._draw = None

    def num_beyond(self, sequence: list[int]) -> int:
        """Return how many tokens its layers hold behind what they have in common with a sequence."""
        return len(self.ids) - num_common(self.ids, sequence)

    def num_astray(self, sequence: list[int]) -> int | None:
        """Return how many tokens its layers would have to forget before `go_to`.

        None: that is not all, as nobody knows what comes behind `sequence`.
        """
        common = num_common(self.ids, sequence)
        if common < len(sequence) or (self._drawn_from is not None and self._drawn_after == common):
            return len(self.ids) - common
        return None

    # --- guesses -------------------------------------------------------------------------------------------

    @property
    def guesses_ahead(self) -> bool:
        """Whether anything guesses what follows now."""
        return self._guesses is not None and self._guesses.is_on(len(self.ids) + len(self._unread))

    @property
    def is_ahead(self) -> bool:
        """Whether its layers hold guesses."""
        return bool(self._ahead)

    def guess(self) -> list[int]:
        """Return guesses of what follows all that is known."""
        # The last token is not read.
        if self._guesses is None or not self.guesses_ahead:
            return []
        return self._guesses.guess(self.sequence, self.num_left - 1)

    def note_ahead(self, guesses: Sequence[int], logits: Sequence[mx.array]) -> None:
        """Note that its layers hold these guesses, too, and the logits after each, shape [1, vocabulary]."""
        self._ahead = deque(zip(guesses, logits, strict=True))
        self._num_right = 0

    def catch_up(self) -> list[int]:
        """Return the tokens known by now that were guessed; guesses that something else came of are forgotten."""
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
            self.forget_ahead()
        return read

    def forget_ahead(self) -> None:
        """Note that its layers hold no guesses any more."""
        self._ahead.clear()
        if self._guesses is not None:
            self._guesses.note(self._num_right, len(self.ids) + len(self._unread))
        self._num_right = 0

    def forget(self, num_tokens: int) -> None:
        """Note that the layers do not hold the last tokens any more."""
        del self.ids[len(self.ids) - num_tokens :]

    def go_to(self, sequence: Sequence[int], num_left: int) -> None:
        """Let this be what was looked at and appended so far."""
        num_read = len(self.ids)
        self._unread = list(sequence[num_read:])
        self._position = len(sequence)
        self._recent = self._sampler.recent(sequence)
        self._draw = None
        self._logits = None if self._unread else self._drawn_from
        self.num_left = num_left

    def begin(self, logits: mx.array) -> None:
        """Go on from the logits after all that was read, shape [1, vocabulary]."""
        self._logits = logits
        self._draw = None

    def draw(self) -> list[mx.array]:
        """Draw the next token, if its logits are there; return what is to be computed."""
        if self._logits is not None:
            allowed = self.mask.mask()
            visit, temperature = 0, None
            if self._steer is not None:
                allowed = both(allowed, self._steer.mask())
                visit, temperature = self._steer.visit, self._steer.temperature
                # In 32 bits now: whoever looks at them later would wait for what was launched meanwhile.
                self._drawn_from, self.drawn_mask = self._logits.astype(mx.float32), allowed
                self._drawn_after = self._position
            mask = None if allowed is None else self._as_array(allowed)
            token = self._sampler.draw(self._logits, self._recent, self._position, visit, mask, temperature)
            self._draw = PendingToken(token, self._report(self._logits, token))
            self._recent = self._sampler.advance(self._recent, token)
            self._position += 1
            self._logits = None
        if self._draw is None:
            return []
        return [*self._draw.arrays, *([] if self._drawn_from is None else [self._drawn_from])]

    def _as_array(self, mask: npt.NDArray[np.bool_]) -> mx.array:
        """A mask, shape [1, vocabulary]."""
        if self._masked is None or self._masked[0] is not mask:
            self._masked = mask, mx.array(cast("Any", mask[None]))  # MLX takes numpy's; its stubs do not say so
        return self._masked[1]

    def _report(self, logits: mx.array, token: mx.array) -> tuple[mx.array, ...]:
        """The token's log-probability and the likeliest tokens with theirs, before any filter; not yet computed."""
        if self._num_top:
            return report(logits, token, self._num_top)
        return ()

    def drawn_logits(self) -> npt.NDArray[np.float32]:
        """Return of what the last token was drawn, shape [vocabulary]. Of a steered branch alone."""
        assert self._drawn_from is not None
        return np.array(self._drawn_from)[0]

    @property
    def is_ready(self) -> bool:
        """Whether a token is drawn and not looked at, or can be drawn."""
        return self._draw is not None or self._logits is not None

    @property
    def is_steered(self) -> bool:
        """Whether a token that was drawn may be taken away."""
        return self._steer is not None

    @property
    def has_logits(self) -> bool:
        """Whether a token can be drawn now."""
        return self._logits is not None

    @property
    def is_masked(self) -> bool:
        """Whether the next token can't be drawn before the one under way is looked at."""
        return self._steer is not None or self.mask.is_active

    def coming(self, most: int | None) -> mx.array:
        """The tokens that are read next, shape [n], at most so many."""
        if self._unread:
            return mx.array(self._unread[:most])
        assert self._draw is not None
        return self._draw.token

    def go_on(self, logits: mx.array, num_read: int) -> None:
        """Go on from the logits after so many tokens that are coming: if they were all, the next one can be drawn."""
        if num_read >= len(self._unread):
            self.begin(logits)

    def under_way(self) -> PendingToken | None:
        """Hand out what is drawn and not looked at."""
        draw, self._draw = self._draw, None
        return draw

    def look(self, drawn: Drawn) -> Drawn:
        """Take note of a token that was handed out; return it."""
        self.num_left -= 1
        if self._ahead and not self._unread and self._ahead[0][0] == drawn.token_id:
            drawn = drawn._replace(is_draft=True)
        self._unread.append(drawn.token_id)
        return drawn

    def read(self, num_tokens: int) -> list[int]:
        """Note that the layers hold so many more tokens that were looked at or appended; return them."""
        read = self._unread[:num_tokens]
        del self._unread[:num_tokens]
        self.ids += read
        return read
