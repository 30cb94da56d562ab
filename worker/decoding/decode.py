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
from collections.abc import Sequence

import mlx.core as mx

from worker.batch import Batch
from worker.cache.prompt_cache import PromptCache
from worker.decoding.branch import Branch
from worker.decoding.drawn import Drawn
from worker.language_model import LanguageModel
from worker.layers import held_by

_SHORT_STEP_S = 0.02
"""So long one may wait for a token that is there already; what launching ahead gains on a CPU is 0.2 ms a step."""

_SHORT_STEERED_STEP_S = 0.004
"""The same where hooks may take a token away: then the step that was launched behind it is lost."""

MOST_GUESSES = 7
"""With the token that is read anyway eight positions: that many cost little more than one."""

_MOST_BACK = 64
"""Tokens that are taken back in place. Where there are more, they are kept as a branch of their own."""

_CLEAR_CACHE_EVERY = 256  # steps; mlx keeps freed buffers, and a growing cache frees one after another
_COUNT_EVERY = 16  # steps; rows grow by many positions at once


class Decoder:
    """All branches that are being continued."""

    def __init__(self, model: LanguageModel, cache: PromptCache, *, looks_ahead: bool | None = None) -> None:
        """`looks_ahead`: whether to launch a step before the last one's token is known; None: as fits the device."""
        self._model = model
        self._cache = cache
        on_gpu = mx.default_device() == mx.Device(mx.gpu)
        self._looks_ahead = True if on_gpu else looks_ahead
        self._launches_halves = not on_gpu
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
        is_steered = any(branch.is_steered for branch in self.branches)
        short_s = _SHORT_STEERED_STEP_S if is_steered else _SHORT_STEP_S
        looks_ahead = self._step_s < short_s if self._looks_ahead is None else self._looks_ahead
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
        began = time.perf_counter()
        # One whose next token waits for a mask is drawn now: the mask has seen the last one.
        waited_for = [branch.draw() for branch in self.branches if branch.has_logits]
        if looks_ahead and waited_for:
            # Apart from the step that reads them: an array is there when all that was launched with it is.
            mx.async_eval(waited_for)
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
        for branch, after, number in zip(self.branches, logits, numbers, strict=True):
            branch.go_on(after, number)
        mx.async_eval(self._launched(logits))
        # All or nothing: where computing fails, no branch has moved. Not `mx.eval`: that would wait for what was just
        # launched, too.
        drawn = [None if draw is None else draw.drawn() for draw in draws]
        looked_at = [
            (branch, branch.look(each)) for branch, each in zip(self.branches, drawn, strict=True) if each is not None
        ]
        self._note_read(numbers)
        return looked_at

    def _launched(self, logits: list[mx.array]) -> list[mx.array]:
        """What is to be computed before the last tokens are looked at."""
        if self._launches_halves and any(branch.is_masked for branch in self.branches):
            half = self._half_way()
            if half:
                return half
        return [
            array
            for branch, after in zip(self.branches, logits, strict=True)
            for array in ([after] if branch.is_masked else branch.draw())
        ]

    def _half_way(self) -> list[mx.array]:
        """What the step needs that comes half-way through the layers.

        A CPU's `async_eval` returns when nearly all of it is computed. So only half of the step is launched before the
        tokens are looked at, and the other half with the draws that wait for masks: those are made meanwhile.
        """
        layers = self._cache.layers if self._batch is None else self._batch.layers
        return held_by(layers[len(layers) // 2])

    def _look(self, branches: Sequence[Branch]) -> list[tuple[Branch, Drawn]]:
        return [(branch, branch.look(draw.drawn())) for branch in branches if (draw := branch.under_way()) is not None]

    def _note_read(self, numbers: list[int]) -> None:
        read = [branch.read(number) for branch, number in zip(self.branches, numbers, strict=True)]
        if self._batch is None:
            self._cache.extend(read[0])
            # One may want to go on from a few tokens before an answer's end.
            self._cache.mark()
            return
        for row, branch in enumerate(self.branches):
            length = len(branch.ids)
            if self._cache.needs_keeping(length):
                branch.mark(self._cache.states_of(self._batch.row(row, length), length))

    def go_to(self, branch: Branch, sequence: list[int], num_left: int) -> bool:
        """Have a branch go on from another sequence; return whether that needs nothing but the steps to come.

        Where it does not, the branch has to leave, and to be begun again from that sequence.
        """
        num_back = branch.num_astray(sequence)
        if num_back is None or num_back > _MOST_BACK:
            return False
        if num_back:
            self._drop_guesses()
            # Of the guesses some may have come true, which are read now.
            num_back = branch.num_astray(sequence)
            if num_back is None or self._batch is not None or not self._cache.take_back(num_back):
                return False
            branch.forget(num_back)
        branch.go_to(sequence, num_left)
        return True

    def forget_beyond(self, branch: Branch, sequence: list[int]) -> None:
        """Let a branch that has ended hold nothing but the beginning of a sequence, where that can be done at once."""
        self._drop_guesses()
        num_back = branch.num_beyond(sequence)
        if 0 < num_back <= _MOST_BACK and self._batch is None and self._cache.take_back(num_back):
            branch.forget(num_back)

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
