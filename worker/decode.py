"""The decode loop: a token of each branch a step; it knows ids and logits, no text and no reason to stop.

The step after a token is launched before the token is looked at, so that the model computes while Python decides
(mlx-lm's `generate_step` does the same). Where a mask depends on the token, its logits at least are under way.

One branch alone is continued in the prompt cache's working layers, several side by side in a `Batch`: copies that are
entered into the cache as each branch leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, cast

import mlx.core as mx
import numpy as np
import numpy.typing as npt

from worker.batch import Batch
from worker.language_model import LanguageModel
from worker.prompt_cache import PromptCache
from worker.sampler import Sampler

_CLEAR_CACHE_EVERY = 256  # steps; mlx keeps freed buffers, and a growing cache frees one after another


class Mask(Protocol):
    """What may say which tokens can come next. It must have taken a token before it is asked about the next one."""

    @property
    def is_active(self) -> bool:
        """Whether the next token is masked at all."""
        ...

    def mask(self) -> npt.NDArray[np.bool_] | None:
        """Which tokens may come now, shape [vocabulary]; None if all may."""
        ...


class Drawn(NamedTuple):
    """A token that was drawn; `logprob` and `top` (ids, log-probabilities) only where they were asked for."""

    token_id: int
    logprob: float | None
    top: list[tuple[int, float]]
    is_masked: bool


class _Draw(NamedTuple):
    """A token under way."""

    token: mx.array  # shape [1]
    report: tuple[mx.array, ...]
    is_masked: bool

    @property
    def arrays(self) -> tuple[mx.array, ...]:
        return (self.token, *self.report)


class Branch:
    """One sequence that is being continued."""

    def __init__(self, sequence: Sequence[int], sampler: Sampler, mask: Mask, max_tokens: int, num_top: int) -> None:
        """`sequence` is what was read; `num_top`: how many alternatives to report, 0 computes no log-probability."""
        self.ids = list(sequence)
        """What its layers hold: the last token that was drawn is among them, unless it is the last one allowed."""
        self.num_left = max_tokens
        self._sampler = sampler
        self._mask = mask
        self._num_top = num_top
        self._recent = sampler.recent(sequence)
        self._position = len(sequence)
        """Of the next token to be drawn."""
        self._logits: mx.array | None = None
        self._draw: _Draw | None = None
        """Drawn, but neither looked at nor read."""

    def begin(self, logits: mx.array) -> None:
        """Start from the logits after the sequence, shape [1, vocabulary]."""
        self._logits = logits

    def draw(self) -> list[mx.array]:
        """Draw the next token from the logits, unless it is under way; return what is to be computed."""
        if self._draw is None:
            assert self._logits is not None
            allowed = self._mask.mask()
            mask = None if allowed is None else _array(allowed)
            token = self._sampler.draw(self._logits, self._recent, self._position, mask=mask)
            self._draw = _Draw(token, _report(self._logits, token, self._num_top), allowed is not None)
            self._position += 1
            self._recent = self._sampler.advance(self._recent, token)
        return list(self._draw.arrays)

    @property
    def token(self) -> mx.array:
        """The token that is drawn and not looked at, shape [1], not yet computed."""
        assert self._draw is not None
        return self._draw.token

    def look(self, following: mx.array | None) -> tuple[_Draw, list[mx.array]]:
        """Hand out the token under way, and draw from the logits `following` it, if those may be drawn from already.

        Returns the token and what is to be computed next.
        """
        draw, self._draw, self._logits = self._draw, None, following
        assert draw is not None
        if following is None:
            return draw, []
        return draw, [following] if self._mask.is_active else self.draw()

    def take(self, draw: _Draw, *, is_read: bool) -> Drawn:
        """Look at a token that was handed out."""
        drawn = _drawn(draw)
        self.num_left -= 1
        if is_read:
            self.ids.append(drawn.token_id)
        return drawn


class Decoder:
    """All branches that are being continued."""

    def __init__(self, model: LanguageModel, cache: PromptCache) -> None:
        self._model = model
        self._cache = cache
        self._batch: Batch | None = None
        """None: the one branch there is lies in the cache's working layers."""
        self._num_steps = 0
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
        self._count_bytes()

    def move_out(self) -> None:
        """Leave the working layers to others."""
        if self.branches and self._batch is None:
            self._batch = Batch()
            self._batch.add(self._cache.layers, 1)
            self._count_bytes()

    def move_in(self) -> None:
        """Use the working layers where there is one branch alone: nothing is faster."""
        if self._batch is not None and len(self.branches) == 1:
            ids = self.branches[0].ids
            layers = self._batch.row(0, len(ids))
            self._batch = None
            self._count_bytes()
            self._cache.take(ids, layers)

    def step(self) -> list[tuple[Branch, Drawn]]:
        """Draw a token of each branch. Those that have no token left have to leave before the next step.

        Whatever is raised leaves every branch's `ids` as they were before.
        """
        mx.async_eval([branch.draw() for branch in self.branches])
        last = [branch for branch in self.branches if branch.num_left == 1]
        if last:
            # What is not read any more is not worth a step of the model.
            return self._looked_at(last, [branch.look(None)[0] for branch in last], is_read=False)
        if self._batch is None:
            self._cache.make_room(1)
        tokens = [branch.token for branch in self.branches]
        logits = self._forward(mx.concatenate(tokens)[:, None] if len(tokens) > 1 else tokens[0][None])
        draws: list[_Draw] = []
        computed: list[mx.array] = []
        for row, branch in enumerate(self.branches):
            draw, arrays = branch.look(logits[row : row + 1] if len(tokens) > 1 else logits)
            draws.append(draw)
            computed += arrays
        mx.async_eval(computed)
        looked_at = self._looked_at(self.branches, draws, is_read=True)
        if self._batch is None:
            self._cache.extend([looked_at[0][1].token_id])
        self._num_steps += 1
        if self._num_steps % _CLEAR_CACHE_EVERY == 0:
            mx.clear_cache()
            self._count_bytes()
        return looked_at

    def leave(self, branch: Branch) -> None:
        """Continue a branch no more; all that it has read is kept."""
        row = self.branches.index(branch)
        if self._batch is None:
            self._cache.keep()
        else:
            self._cache.enter(branch.ids, self._batch.row(row, len(branch.ids)))
            self._batch.remove(row, len(self.branches))
        del self.branches[row]
        if not self.branches:
            self._batch = None
            mx.clear_cache()
        self._count_bytes()

    def dissolve(self) -> list[Branch]:
        """Give up all branches, as after a step that broke, and return them; their `ids` can be read again."""
        if self._batch is None and self.branches:
            self._cache.give_up_path()
        branches, self.branches, self._batch = self.branches, [], None
        self._count_bytes()
        return branches

    @property
    def num_bytes(self) -> int:
        """Bytes of what is held besides the cache's working layers."""
        return 0 if self._batch is None else self._batch.num_bytes

    def _forward(self, tokens: mx.array) -> mx.array:
        return self._model.forward(tokens, self._cache.layers if self._batch is None else self._batch.layers)

    def _looked_at(
        self, branches: Sequence[Branch], draws: Sequence[_Draw], *, is_read: bool
    ) -> list[tuple[Branch, Drawn]]:
        # All or nothing: where computing fails, no branch has moved.
        mx.eval([draw.arrays for draw in draws])
        return [(branch, branch.take(draw, is_read=is_read)) for branch, draw in zip(branches, draws, strict=True)]

    def _count_bytes(self) -> None:
        self._cache.reserved_bytes = self.num_bytes


def _array(values: npt.NDArray[np.bool_]) -> mx.array:
    return mx.array(cast("Any", values))  # MLX takes numpy's arrays; its stubs do not say so


def _report(logits: mx.array, token: mx.array, num_top: int) -> tuple[mx.array, ...]:
    """The token's log-probability and the likeliest tokens with theirs, before any filter; not yet computed."""
    if not num_top:
        return ()
    logprobs = logits.astype(mx.float32)
    logprobs = logprobs - mx.logsumexp(logprobs, axis=-1, keepdims=True)
    num_top = min(num_top, logprobs.shape[-1])
    top = mx.argpartition(-logprobs, kth=num_top - 1, axis=-1)[:, :num_top]
    return (
        mx.take_along_axis(logprobs, token[:, None].astype(mx.uint32), axis=-1),
        top,
        mx.take_along_axis(logprobs, top, axis=-1),
    )


def _drawn(draw: _Draw) -> Drawn:
    token_id = int(cast("int", draw.token.item()))
    if not draw.report:
        return Drawn(token_id, None, [], draw.is_masked)
    logprob, top_ids, top_logprobs = draw.report
    top = zip(np.array(top_ids[0]).tolist(), np.array(top_logprobs[0]).tolist(), strict=True)
    return Drawn(
        token_id,
        float(cast("float", logprob.item())),
        sorted(top, key=lambda pair: (-pair[1], pair[0])),
        draw.is_masked,
    )
