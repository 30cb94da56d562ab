"""The decode loop: one token of each branch a step. Independent of text and stop conditions.

The next step is launched before the last token is examined, so that the model computes while Python decides (as in
mlx-lm's `generate_step`). If a mask depends on that token, only the logits are computed ahead. A CPU gains little from
this, so with long steps on a CPU each token is examined as soon as it is sampled. The next step is then only prepared:
Python builds it while the model still computes the logits.

A single branch runs in the prompt cache's working layers. Several branches run side by side in a `Batch` of copies, and
when a branch leaves, its copy is entered into the cache.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

import mlx.core as mx

from worker.batch import SHORTEST_SHARED, Batch
from worker.cache.prompt_cache import PromptCache
from worker.decoding.branch import Branch
from worker.decoding.sampled_token import SampledToken
from worker.language_model import LanguageModel
from worker.layers import Layers, Undo, arrays_of, has_finite_end

_SHORT_STEP_S = 0.02
"""On a CPU, steps are launched ahead only if they are shorter.

Launching ahead saves 0.2 ms a step, but delays the token that is already known by a whole step.
"""

_SHORT_STEERED_STEP_S = 0.004
"""Like `_SHORT_STEP_S`, but for branches with hooks, because a step launched after a rejected token is lost."""

MAX_GUESSES = 7
"""The guesses and the known token are eight positions, which cost little more than one."""

_MAX_BACK = 64
"""At most this many tokens are removed in place. If more are taken back, they are kept as a branch of their own."""

_CLEAR_CACHE_EVERY = 256
"""MLX's cache of freed buffers is cleared after this many steps, because a growing cache frees many buffers."""

_COUNT_EVERY = 16
"""Bytes are counted after this many steps. Rows seldom grow, because they grow by many positions at once."""


class _Prepared(NamedTuple):
    """A step of a single branch that was built and not launched. The working layers already hold its token."""

    num_read: int
    """How many tokens the layers held before the step."""
    token: mx.array
    logits: mx.array
    undo: Undo


class Decoder:
    """All branches that are being continued."""

    def __init__(self, model: LanguageModel, cache: PromptCache, *, looks_ahead: bool | None = None) -> None:
        """`looks_ahead`: whether to launch steps ahead; None decides by the device and the length of steps."""
        self._model = model
        self._cache = cache
        on_gpu = mx.default_device() == mx.Device(mx.gpu)
        self._looks_ahead = True if on_gpu else looks_ahead
        self._launches_halves = not on_gpu
        self._step_s = math.inf
        self._batch: Batch | None = None
        """The batch of all branches; None means that the only branch, if any, uses the cache's working layers."""
        self._holds_prefixes = False
        """Whether only branches hold their shared prefixes. At first, the working layers hold them, too."""
        self._num_steps = 0
        self._prepared: _Prepared | None = None
        self._new: list[Branch] = []
        """Branches whose first token was not examined yet."""
        self.branches: list[Branch] = []

    def join(self, branches: Sequence[Branch], logits: mx.array | None) -> None:
        """Continue `branches`, which all begin with the tokens of the working layers.

        `logits` are those after these tokens; None if the branches have unprocessed tokens.
        """
        if logits is not None:
            for branch in branches:
                branch.begin(logits)
            self._new += branches
        if self.branches or len(branches) > 1:
            assert self._batch is not None or not self.branches
            self._batch = self._batch or Batch()
            is_shared = self.can_share(len(branches), len(branches[0].ids))
            self._batch.add(self._cache.branch.layers, len(branches), is_shared=is_shared)
        self.branches += branches
        # The first step makes room for many positions.
        self._num_steps = 0
        self._count_bytes()

    def can_share(self, num_branches: int, num_tokens: int) -> bool:
        """Return whether branches that join the batch together share the memory of their first `num_tokens` tokens."""
        return num_branches > 1 and num_tokens >= SHORTEST_SHARED and self._model.can_share

    def _catch_up(self) -> None:
        """Count right guesses as processed tokens, and drop wrong ones."""
        if self._batch is None and self.branches and (branch := self.branches[0]).is_ahead:
            self._cache.branch.extend(branch.catch_up())
            if not branch.is_ahead:
                self._cache.branch.drop_beyond()

    def _drop_guesses(self) -> None:
        """Drop all guesses, and a step that was prepared, from the working layers."""
        self._drop_prepared()
        self._catch_up()
        if self._batch is None and self.branches and (branch := self.branches[0]).is_ahead:
            branch.note_guesses_dropped()
            self._cache.branch.drop_beyond()

    def _drop_prepared(self) -> None:
        prepared, self._prepared = self._prepared, None
        if prepared is not None:
            prepared.undo.restore()

    def move_out(self) -> None:
        """Free the working layers for others."""
        self._drop_guesses()
        if self.branches and self._batch is None:
            self._batch = Batch()
            self._batch.add(self._cache.branch.layers, 1)
        self._holds_prefixes = self._batch is not None
        self._count_bytes()

    def move_in(self) -> None:
        """Move a single branch back into the working layers, where it is fastest."""
        if self._batch is not None and len(self.branches) == 1:
            branch = self.branches[0]
            layers = self._batch.whole_row(0, len(branch.ids))
            self._batch = None
            self._count_bytes()
            self._cache.take(branch.ids, layers, branch.take_marks())

    def step(self) -> list[tuple[Branch, SampledToken]]:
        """Sample one token of each branch. Branches with `num_left` 0 must leave before the next step.

        If it raises, every branch's `sequence` is unchanged.
        """
        self._catch_up()
        is_steered = any(branch.is_steered for branch in self.branches)
        short_s = _SHORT_STEERED_STEP_S if is_steered else _SHORT_STEP_S
        looks_ahead = self._step_s < short_s if self._looks_ahead is None else self._looks_ahead
        # Guesses must be compared before the next step.
        looks_ahead = looks_ahead and not (self.is_alone and self.branches[0].guesses_ahead)
        # Return a first token at once, and a last one, too, as it is never processed: neither waits for a step of the
        # model.
        at_once = self._new or [
            branch for branch in self.branches if branch.is_ready and (branch.num_left == 1 or not looks_ahead)
        ]
        if at_once:
            mx.eval([branch.draw() for branch in at_once])
            self._new = []
            return self._look(at_once)
        began = time.perf_counter()
        # Sample the tokens that waited for a mask: the mask has consumed the last token by now.
        waited_for = [branch.draw() for branch in self.branches if branch.has_logits]
        if looks_ahead and waited_for:
            # Evaluate them apart from the step that processes them: an array is ready only when all of its launch is.
            mx.async_eval(waited_for)
        sampled = self._look_ahead() if looks_ahead else self._look_at_next()
        self._step_s = time.perf_counter() - began
        self._num_steps += 1
        if self._num_steps % _CLEAR_CACHE_EVERY == 0:
            mx.clear_cache()
        if self._num_steps % _COUNT_EVERY == 1:
            self._count_bytes()
        return sampled

    def _forward(self) -> tuple[list[mx.array], list[int]]:
        """Process the next tokens: all unprocessed ones of a single branch, or one of each branch in a batch.

        Returns for each branch the logits, shape [1, vocabulary], and the number of tokens processed.
        """
        most = None if self._batch is None else 1
        coming = [branch.coming(most) for branch in self.branches]
        numbers = [tokens.size for tokens in coming]
        if self._batch is None:
            logits = self._take_prepared(self.branches[0], coming[0])
            if logits is not None:
                return [logits], numbers
            self._cache.branch.make_room(numbers[0])
            return self._forward_alone(self.branches[0], coming[0]), numbers
        logits = self._model.forward(mx.stack(coming), self._batch.layers_of_step())
        return [logits[row : row + 1] for row in range(len(coming))], numbers

    def _forward_alone(self, branch: Branch, coming: mx.array) -> list[mx.array]:
        guesses = branch.guess() if self._cache.branch.can_drop(coming.size + MAX_GUESSES) else []
        if not guesses:
            return [self._model.forward(coming[None], self._cache.branch.layers)]
        tokens = mx.concatenate([coming, mx.array(guesses, dtype=coming.dtype)])
        logits = self._model.logits_of_all(tokens[None], self._cache.branch.layers)[0, coming.size - 1 :]
        mx.eval(logits)
        rows = [logits[row : row + 1] for row in range(1 + len(guesses))]
        branch.note_ahead(guesses, rows[1:])
        return rows[:1]

    def _take_prepared(self, branch: Branch, coming: mx.array) -> mx.array | None:
        """Return the logits of the prepared step if it processes the tokens `coming`; else drop it and return None."""
        prepared = self._prepared
        if prepared is None:
            return None
        if len(branch.ids) == prepared.num_read and coming.size == 1 and coming.item() == prepared.token.item():
            # Without the old arrays, MLX changes them in place.
            self._prepared = None
            return prepared.logits
        self._drop_prepared()
        return None

    def _prepare(self) -> None:
        """Build the step that processes the pending token of a single branch, if the step would be simple to drop."""
        if not self.is_alone:
            return
        branch, working = self.branches[0], self._cache.branch
        token = branch.pending_token
        if token is None or branch.num_left < 2 or branch.guesses_ahead or not working.can_drop(1):
            return
        undo = Undo(working.layers)
        self._prepared = _Prepared(len(branch.ids), token, self._model.forward(token[None], working.layers), undo)

    def _look_at_next(self) -> list[tuple[Branch, SampledToken]]:
        logits, numbers = self._forward()
        for branch, after, number in zip(self.branches, logits, numbers, strict=True):
            branch.advance(after, number)
        if any(branch.is_masked for branch in self.branches):
            # Masks are computed at the same time.
            mx.async_eval(logits)
        draws = [branch.draw() for branch in self.branches]
        # This returns when nearly all is computed.
        mx.async_eval(logits, draws)
        self._note_read(numbers)
        self._prepare()
        mx.eval(logits, draws)
        return self._look(self.branches)

    def _look_ahead(self) -> list[tuple[Branch, SampledToken]]:
        logits, numbers = self._forward()
        draws = [branch.take_pending() for branch in self.branches]
        for branch, after, number in zip(self.branches, logits, numbers, strict=True):
            branch.advance(after, number)
        mx.async_eval(self._launched(logits))
        # Wait for all tokens before any branch changes, so that a failure changes none. `mx.eval` would also wait for
        # the step that was just launched.
        drawn = [None if draw is None else draw.drawn() for draw in draws]
        sampled = [
            (branch, branch.append_sampled(each))
            for branch, each in zip(self.branches, drawn, strict=True)
            if each is not None
        ]
        self._note_read(numbers)
        return sampled

    def _launched(self, logits: list[mx.array]) -> list[mx.array]:
        """Return the arrays whose evaluation should start before the last tokens are examined."""
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
        """Return the arrays that the middle layer computes.

        On a CPU, `async_eval` returns only when nearly everything is computed. So half of the step is launched before
        the tokens are examined. The other half is launched with the tokens that wait for masks, which are computed
        meanwhile.
        """
        layers = self._cache.branch.layers if self._batch is None else self._batch.layers
        return arrays_of(layers[len(layers) // 2])

    def _look(self, branches: Sequence[Branch]) -> list[tuple[Branch, SampledToken]]:
        draws = [(branch, branch.take_pending()) for branch in branches]
        # Wait for all tokens before any branch changes, so that a failure changes none.
        drawn = [(branch, draw.drawn()) for branch, draw in draws if draw is not None]
        return [(branch, branch.append_sampled(each)) for branch, each in drawn]

    def _note_read(self, numbers: list[int]) -> None:
        read = [branch.read(number) for branch, number in zip(self.branches, numbers, strict=True)]
        if self._batch is None:
            self._cache.branch.extend(read[0])
            # The answer may later be continued from a few tokens before its end.
            self._cache.branch.mark()
            return
        for row, branch in enumerate(self.branches):
            length = len(branch.ids)
            if self._cache.branch.needs_keeping(length):
                branch.mark(self._cache.states_of(self._batch.row(row, length), length))

    def go_to(self, branch: Branch, sequence: list[int], num_left: int) -> bool:
        """Make a branch continue another sequence. Return whether this was possible in place.

        Otherwise the branch must be removed from the batch and added again with that sequence.
        """
        num_back = branch.num_astray(sequence)
        if num_back is None or num_back > _MAX_BACK:
            return False
        if num_back:
            self._drop_guesses()
            # Some guesses may have been right and count as processed now.
            num_back = branch.num_astray(sequence)
            if num_back is None or self._batch is not None or not self._cache.branch.take_back(num_back):
                return False
            branch.note_dropped(num_back)
        branch.go_to(sequence, num_left)
        return True

    def drop_beyond(self, branch: Branch, sequence: list[int]) -> None:
        """Drop the tokens that an ended branch holds beyond `sequence`, if this is possible in place."""
        self._drop_guesses()
        num_back = branch.num_beyond(sequence)
        if 0 < num_back <= _MAX_BACK and self._batch is None and self._cache.branch.take_back(num_back):
            branch.note_dropped(num_back)

    def leave(self, branch: Branch, num_tokens: int) -> None:
        """Stop continuing a branch; the cache keeps all tokens that it has processed.

        `num_tokens` is the position from which a later request will probably continue it.
        """
        self._drop_guesses()
        row = self.branches.index(branch)
        if self._batch is None:
            if self._ends_finite(self._cache.branch.layers):
                self._cache.keep()
                self._cache.branch.unmark(num_tokens)
            else:
                self._cache.drop_path()
        else:
            layers = self._batch.row(row, len(branch.ids))
            if self._ends_finite(layers):
                self._cache.enter(branch.ids, layers, branch.marked(num_tokens))
            self._batch.remove(row, len(self.branches))
        del self.branches[row]
        self._new = [each for each in self._new if each is not branch]
        if not self.branches:
            self._batch = None
            mx.clear_cache()
        self._count_bytes()

    @staticmethod
    def _ends_finite(layers: Layers) -> bool:
        """Return whether the layers are finite after the last token, whose logits may not have been checked."""
        return bool(has_finite_end(layers, 1).item())

    def dissolve(self) -> list[Branch]:
        """Drop all branches, for example after a failed step. Return them; their `sequence`s can be processed again."""
        self._drop_prepared()
        was_alone = self.is_alone
        branches, self.branches, self._new, self._batch = self.branches, [], [], None
        self._cache.reserved_bytes = 0
        if was_alone:
            self._cache.give_up_path()
        return branches

    @property
    def is_alone(self) -> bool:
        """Whether a single branch uses the working layers."""
        return self._batch is None and bool(self.branches)

    @property
    def num_bytes(self) -> int:
        """Bytes held in addition to the cache's working layers."""
        if self._batch is None:
            return 0
        return self._batch.num_bytes + (self._batch.prefix_bytes if self._holds_prefixes else 0)

    @property
    def saved_bytes(self) -> int:
        """How many more bytes the branches would take if they shared nothing."""
        return 0 if self._batch is None else self._batch.saved_bytes

    def _count_bytes(self) -> None:
        self._cache.reserve(self.num_bytes)
