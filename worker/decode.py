"""The decode loop: a token of each branch a step; it knows ids and logits, no text and no reason to stop.

The step after a token is launched before the token is looked at, so that the model computes while Python decides
(mlx-lm's `generate_step` does the same). Where a mask depends on the token, its logits at least are under way. A CPU
computes next to nothing meanwhile: where its steps are long, a token is looked at as soon as it is drawn.

One branch alone is continued in the prompt cache's working layers, several side by side in a `Batch`: copies that are
entered into the cache as each branch leaves.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, cast

import mlx.core as mx
import numpy as np
import numpy.typing as npt

from worker.batch import Batch
from worker.language_model import LanguageModel
from worker.prompt_cache import MOST_MARKS, PromptCache, States
from worker.sampler import Sampler

_SHORT_STEP_S = 0.02
"""So long one may wait for a token that is there already; what launching ahead gains on a CPU is 0.2 ms a step."""

MOST_GUESSES = 7
"""With the token that is read anyway eight positions: that many cost little more than one."""

_MOST_BACK = 64
"""Tokens that are taken back in place. Where there are more, they are kept as a branch of their own."""

_CLEAR_CACHE_EVERY = 256  # steps; mlx keeps freed buffers, and a growing cache frees one after another
_COUNT_EVERY = 16  # steps; rows grow by many positions at once


class Mask(Protocol):
    """What may say which tokens can come next. It must have taken a token before it is asked about the next one."""

    @property
    def is_active(self) -> bool:
        """Whether the next token is masked at all."""
        ...

    def mask(self) -> npt.NDArray[np.bool_] | None:
        """Which tokens may come now, shape [vocabulary]; None if all may."""
        ...


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


class Drawn(NamedTuple):
    """A token that was drawn; `logprob` and `top` (ids, log-probabilities) only where they were asked for."""

    token_id: int
    logprob: float | None = None
    top: Sequence[tuple[int, float]] = ()
    is_draft: bool = False
    """Whether it was guessed before."""


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


class _Draw(NamedTuple):
    """A token under way."""

    token: mx.array  # shape [1]
    report: tuple[mx.array, ...]

    @property
    def arrays(self) -> tuple[mx.array, ...]:
        return (self.token, *self.report)


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
        may_be_cut: bool = False,
        steer: Steer | None = None,
        guesses: Guesses | None = None,
    ) -> None:
        """`sequence` is what was read; `num_top`: how many alternatives to report, 0 computes no log-probability.

        `may_be_cut`: whether one may want to go on from a few tokens before its end. `steer` is asked before each
        draw, besides `mask`; what it is told of a token is known for the last one that was drawn. `guesses` are read
        with the tokens that are known.
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
        self.may_be_cut = may_be_cut
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
        self._draw: _Draw | None = None
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

    def num_astray(self, sequence: Sequence[int]) -> int | None:
        """Return how many tokens its layers would have to forget before `go_to`.

        None: that is not all, as nobody knows what comes behind `sequence`.
        """
        common = _num_common(self.ids, sequence)
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
            mask = None if allowed is None else _array(allowed)
            token = self._sampler.draw(self._logits, self._recent, self._position, visit, mask, temperature)
            self._draw = _Draw(token, self._report(self._logits, token))
            self._recent = self._sampler.advance(self._recent, token)
            self._position += 1
            self._logits = None
        if self._draw is None:
            return []
        return [*self._draw.arrays, *([] if self._drawn_from is None else [self._drawn_from])]

    def _report(self, logits: mx.array, token: mx.array) -> tuple[mx.array, ...]:
        """The token's log-probability and the likeliest tokens with theirs, before any filter; not yet computed."""
        if self._num_top:
            return _report(logits, token, self._num_top)
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

    def under_way(self) -> _Draw | None:
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


class Decoder:
    """All branches that are being continued."""

    def __init__(self, model: LanguageModel, cache: PromptCache, *, looks_ahead: bool | None = None) -> None:
        """`looks_ahead`: whether to launch a step before the last one's token is known; None: as fits the device."""
        self._model = model
        self._cache = cache
        self._looks_ahead = True if mx.default_device() == mx.Device(mx.gpu) else looks_ahead
        self._step_s = math.inf
        self._batch: Batch | None = None
        """None: the one branch there is lies in the cache's working layers."""
        self._num_steps = 0
        self._begun: list[Branch] = []
        """Branches whose first token nobody has looked at."""
        self.branches: list[Branch] = []

    def join(self, branches: Sequence[Branch], logits: mx.array) -> None:
        """Continue `branches`, which all begin with what the working layers hold, after which come `logits`."""
        for branch in branches:
            branch.begin(logits)
        if self.branches or len(branches) > 1:
            assert self._batch is not None or not self.branches
            self._batch = self._batch or Batch()
            self._batch.add(self._cache.layers, len(branches))
        self.branches += branches
        self._begun += branches
        # The first step makes room for many positions.
        self._num_steps = 0
        self._count_bytes()

    def _catch_up(self) -> None:
        """Take what was guessed rightly as read, and drop guesses that something else came of."""
        if self._batch is None and self.branches and (branch := self.branches[0]).is_ahead:
            self._cache.extend(branch.catch_up())
            if not branch.is_ahead:
                self._cache.drop_beyond()

    def _drop_guesses(self) -> None:
        """Let the working layers hold nothing but what is known."""
        self._catch_up()
        if self._batch is None and self.branches and (branch := self.branches[0]).is_ahead:
            branch.forget_ahead()
            self._cache.drop_beyond()

    def move_out(self) -> None:
        """Leave the working layers to others."""
        self._drop_guesses()
        if self.branches and self._batch is None:
            self._batch = Batch()
            self._batch.add(self._cache.layers, 1)
            self._count_bytes()

    def move_in(self) -> None:
        """Use the working layers where there is one branch alone: nothing is faster."""
        if self._batch is not None and len(self.branches) == 1:
            branch = self.branches[0]
            layers = self._batch.row(0, len(branch.ids))
            self._batch = None
            self._count_bytes()
            self._cache.take(branch.ids, layers, branch.marks())

    def step(self) -> list[tuple[Branch, Drawn]]:
        """Draw a token of each branch. Those that have no token left have to leave before the next step.

        Whatever is raised leaves every branch's `sequence` as it was before.
        """
        self._catch_up()
        looks_ahead = self._step_s < _SHORT_STEP_S if self._looks_ahead is None else self._looks_ahead
        # Guesses have to be looked at before it is known what follows.
        looks_ahead = looks_ahead and not (self.is_alone and self.branches[0].guesses_ahead)
        # A first token is waited for, and the last one is not read any more: no step of the model before them.
        at_once = self._begun or [
            branch for branch in self.branches if branch.is_ready and (branch.num_left == 1 or not looks_ahead)
        ]
        if at_once:
            mx.eval([branch.draw() for branch in at_once])
            self._begun = []
            return self._look(at_once)
        # One whose next token waits for a mask is drawn now: the mask has seen the last one.
        for branch in self.branches:
            branch.draw()
        began = time.perf_counter()
        looked_at = self._look_ahead() if looks_ahead else self._look_at_next()
        self._step_s = time.perf_counter() - began
        self._num_steps += 1
        if self._num_steps % _CLEAR_CACHE_EVERY == 0:
            mx.clear_cache()
        if self._num_steps % _COUNT_EVERY == 1:
            self._count_bytes()
        return looked_at

    def _forward(self) -> tuple[list[mx.array], list[int]]:
        """Read what is coming of each branch: all of it where one is alone, a token each of several.

        Returns the logits after each, shape [1, vocabulary], and how many tokens were read for it.
        """
        most = None if self._batch is None else 1
        coming = [branch.coming(most) for branch in self.branches]
        numbers = [tokens.size for tokens in coming]
        if self._batch is None:
            self._cache.make_room(numbers[0])
            return self._forward_alone(self.branches[0], coming[0]), numbers
        logits = self._model.forward(mx.stack(coming), self._batch.layers)
        return [logits[row : row + 1] for row in range(len(coming))], numbers

    def _forward_alone(self, branch: Branch, coming: mx.array) -> list[mx.array]:
        guesses = branch.guess() if self._cache.can_drop(coming.size + MOST_GUESSES) else []
        if not guesses:
            return [self._model.forward(coming[None], self._cache.layers)]
        tokens = mx.concatenate([coming, mx.array(guesses, dtype=coming.dtype)])
        logits = self._model.logits_of_all(tokens[None], self._cache.layers)[0, coming.size - 1 :]
        mx.eval(logits)
        rows = [logits[row : row + 1] for row in range(1 + len(guesses))]
        branch.note_ahead(guesses, rows[1:])
        return rows[:1]

    def _look_at_next(self) -> list[tuple[Branch, Drawn]]:
        logits, numbers = self._forward()
        for branch, after, number in zip(self.branches, logits, numbers, strict=True):
            branch.go_on(after, number)
        if any(branch.is_masked for branch in self.branches):
            # Masks are computed meanwhile.
            mx.async_eval(logits)
        mx.eval(logits, [branch.draw() for branch in self.branches])
        self._note_read(numbers)
        return self._look(self.branches)

    def _look_ahead(self) -> list[tuple[Branch, Drawn]]:
        logits, numbers = self._forward()
        draws = [branch.under_way() for branch in self.branches]
        computed: list[mx.array] = []
        for branch, after, number in zip(self.branches, logits, numbers, strict=True):
            branch.go_on(after, number)
            computed += [after] if branch.is_masked else branch.draw()
        mx.async_eval(computed)
        # All or nothing: where computing fails, no branch has moved. Not `mx.eval`: that would wait for what was just
        # launched, too.
        drawn = [None if draw is None else _drawn(draw) for draw in draws]
        looked_at = [
            (branch, branch.look(each)) for branch, each in zip(self.branches, drawn, strict=True) if each is not None
        ]
        self._note_read(numbers)
        return looked_at

    def _look(self, branches: Sequence[Branch]) -> list[tuple[Branch, Drawn]]:
        return [(branch, branch.look(_drawn(draw))) for branch in branches if (draw := branch.under_way()) is not None]

    def _note_read(self, numbers: list[int]) -> None:
        read = [branch.read(number) for branch, number in zip(self.branches, numbers, strict=True)]
        if self._batch is None:
            self._cache.extend(read[0])
            if self.branches[0].may_be_cut:
                self._cache.mark()
            return
        for row, branch in enumerate(self.branches):
            if branch.may_be_cut:
                length = len(branch.ids)
                branch.mark(self._cache.states_of(self._batch.row(row, length), length))

    def go_to(self, branch: Branch, sequence: Sequence[int], num_left: int) -> bool:
        """Have a branch go on from another sequence; return whether that needs nothing but the steps to come.

        Where it does not, the branch has to leave, and to be begun again from that sequence.
        """
        num_back = branch.num_astray(sequence)
        if num_back is None or num_back > _MOST_BACK:
            return False
        if num_back:
            self._drop_guesses()
            # Of the guesses some may have come true, which are read now.
            num_back = len(branch.ids) - _num_common(branch.ids, sequence)
            if self._batch is not None or not self._cache.take_back(num_back):
                return False
            branch.forget(num_back)
        branch.go_to(sequence, num_left)
        return True

    def leave(self, branch: Branch, num_tokens: int) -> None:
        """Continue a branch no more; all that it has read is kept. One will go on from its first `num_tokens`."""
        self._drop_guesses()
        row = self.branches.index(branch)
        if self._batch is None:
            self._cache.keep()
            self._cache.unmark(num_tokens)
        else:
            self._cache.enter(branch.ids, self._batch.row(row, len(branch.ids)), branch.marked(num_tokens))
            self._batch.remove(row, len(self.branches))
        del self.branches[row]
        self._begun = [each for each in self._begun if each is not branch]
        if not self.branches:
            self._batch = None
            mx.clear_cache()
        self._count_bytes()

    def dissolve(self) -> list[Branch]:
        """Give up all branches, as after a step that broke, and return them; their `sequence`s can be read again."""
        was_alone = self.is_alone
        branches, self.branches, self._begun, self._batch = self.branches, [], [], None
        self._cache.reserved_bytes = 0
        if was_alone:
            self._cache.give_up_path()
        return branches

    @property
    def is_alone(self) -> bool:
        """Whether there is one branch, which lies in the working layers."""
        return self._batch is None and bool(self.branches)

    @property
    def num_bytes(self) -> int:
        """Bytes of what is held besides the cache's working layers."""
        return 0 if self._batch is None else self._batch.num_bytes

    def _count_bytes(self) -> None:
        self._cache.reserve(self.num_bytes)


def _num_common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return with how many tokens both begin."""
    length = min(len(one), len(other))
    if one[:length] == other[:length]:
        return length
    # Mostly it is the last few that differ.
    start = max(0, length - _MOST_BACK)
    start = start if one[:start] == other[:start] else 0
    return next(place for place in range(start, length) if one[place] != other[place])


def _array(values: npt.NDArray[np.bool_]) -> mx.array:
    return mx.array(cast("Any", values))  # MLX takes numpy's arrays; its stubs do not say so


def both(one: npt.NDArray[np.bool_] | None, other: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.bool_] | None:
    """Return what two masks leave, shape [vocabulary]; None is a mask that leaves all."""
    if one is None or other is None:
        return other if one is None else one
    return np.logical_and(one, other)


def _logprobs(logits: mx.array) -> mx.array:
    logits = logits.astype(mx.float32)
    return logits - mx.logsumexp(logits, axis=-1, keepdims=True)


def _logprob_of(logprobs: mx.array, token: mx.array) -> mx.array:
    return mx.take_along_axis(logprobs, token[:, None].astype(mx.uint32), axis=-1)


def _report(logits: mx.array, token: mx.array, num_top: int) -> tuple[mx.array, ...]:
    logprobs = _logprobs(logits)
    num_top = min(num_top, logprobs.shape[-1])
    top = mx.argpartition(-logprobs, kth=num_top - 1, axis=-1)[:, :num_top]
    return (_logprob_of(logprobs, token), top, mx.take_along_axis(logprobs, top, axis=-1))


def _drawn(draw: _Draw) -> Drawn:
    token_id = int(cast("int", draw.token.item()))
    if not draw.report:
        return Drawn(token_id)
    logprob, top_ids, top_logprobs = draw.report
    top = zip(np.array(top_ids)[0].tolist(), np.array(top_logprobs)[0].tolist(), strict=True)
    return Drawn(
        token_id,
        float(cast("float", logprob.item())),
        sorted(top, key=lambda pair: (-pair[1], pair[0])),
    )
