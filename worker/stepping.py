"""Answers for models that the caller runs. Independent of MLX models and of the prompt cache.

A program with its own model and its own KV cache passes the logits of each step to a `Stepping`. It returns how the
tokens and the text change, and whether the answer has ended. Sampler, constraint, hooks, stop strings and text work as
in every answer. Here is a model that only counts. Its vocabulary has eight tokens, and the last one ends the turn:

>>> import numpy as np
>>> from tokenizers import Tokenizer
>>> from tokenizers.models import BPE
>>> from worker.decision import Decision
>>> from worker.stepping import Stepping
>>> from worker.text.vocabulary import Vocabulary
>>> tokenizer = Tokenizer(BPE(vocab={letter: token_id for token_id, letter in enumerate("abcdefg.")}, merges=[]))
>>> vocabulary = Vocabulary(tokenizer, eos_ids=[7])
>>> def logits_after(token_ids):
...     return np.eye(8)[(token_ids[-1] + 1) % 8]

The caller writes the loop. After each step it removes the last `num_back` tokens from its sequence, and appends
`token_ids`, which its model processes next:

>>> def write(stepping, sequence):
...     while stepping.reason is None:
...         advance = stepping.take(logits_after(sequence))
...         del sequence[len(sequence) - advance.num_back :]
...         sequence += advance.token_ids
...     return stepping.text, stepping.reason
>>> write(Stepping(vocabulary, [0]), [0])
('bcdefg', 'eos')
>>> write(Stepping(vocabulary, [0], stop=["de"]), [0])
('bc', 'stop')

Tokens that a constraint forces come together with the token before them, so that the model can process them at once:

>>> from worker.text.constraint import Constraints
>>> from worker.protocol import Constraint
>>> constraint = Constraints(vocabulary).new(Constraint(kind="regex", value="[a-g](cab|fed)"))
>>> stepping = Stepping(vocabulary, [0], constraint=constraint)
>>> stepping.take(logits_after([0])).text
'b'
>>> stepping.take(logits_after([0, 1]))
Advance(num_back=0, token_ids=(2, 0, 1), num_chars_back=0, text='cab', reason='constraint', stop=None, forks=())

A hook can sample a token again from the same logits, take tokens back, or fork the answer:

>>> def hook(step):
...     if step.phase == "after" and step.token_text == "d":
...         return Decision(resample=True)
...     if step.phase == "before" and step.text == "bc":
...         return [Decision(), Decision(backtrack=2, token=5)]
>>> stepping = Stepping(vocabulary, [0], hooks=[hook], max_tokens=3)
>>> stepping.take(logits_after([0])).token_ids
(1,)
>>> advance = stepping.take(logits_after([0, 1]))
>>> advance.token_ids, advance.text
((2,), 'c')
>>> [fork] = advance.forks
>>> fork.advance.num_back, fork.advance.token_ids, fork.advance.num_chars_back, fork.advance.text
(1, (5,), 1, 'f')
>>> write(fork.stepping, [0, 5])
('fg', 'eos')
>>> write(stepping, [0, 1, 2])[0] != "bcd"
True
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import mlx.core as mx
import numpy as np
import numpy.typing as npt
from msgspec import structs

from worker.answers.hook_chain import SLOW_S, Hook, HookChain
from worker.answers.steering import Steering
from worker.answers.writing import SegmentPlan, Writing
from worker.cache.token_tree import num_common
from worker.decoding.sampled_token import SampledToken, check, checksum
from worker.decoding.sampler import Sampler
from worker.errors import HookFailedError, NotFiniteError
from worker.protocol import Choice, Chunk, Event, FinishReason, Forked, Retract, Sampling
from worker.sentence import Sentence
from worker.text.constraint import Constraint
from worker.text.masks import both
from worker.text.vocabulary import Vocabulary

_MAX_ANSWERS = 64
_MAX_RESAMPLES = 16


@dataclass(frozen=True)
class Advance:
    """How a call of `take` changed the tokens and the text of the answer."""

    num_back: int = 0
    """How many of the last tokens to remove..."""
    token_ids: tuple[int, ...] = ()
    """...and which tokens to append then. If there are none, compute the logits after the remaining tokens."""
    num_chars_back: int = 0
    """How many of the last characters shown to remove..."""
    text: str = ""
    """...and the text to append to the remaining ones."""
    reason: FinishReason | None = None
    """Why the answer has ended; None while it continues."""
    stop: str | None = None
    """The stop string that ended the answer; None without one."""
    forks: tuple[Fork, ...] = ()
    """The answers that hooks forked from this answer."""


class Fork(NamedTuple):
    """A new, independent answer that forked from another one."""

    stepping: Stepping
    advance: Advance
    """How the fork differs from the other answer as it was before the call."""


@dataclass(frozen=True)
class _Family:
    """The data that an answer shares with its forks."""

    vocabulary: Vocabulary
    prompt_ids: list[int]
    sampling: Sampling
    choices: list[int]
    """The numbers of all answers."""

    def new_choice(self, name: str) -> int:
        if len(self.choices) == _MAX_ANSWERS:
            raise HookFailedError(
                name, Sentence("It forked into more than {num_answers} answers.", num_answers=_MAX_ANSWERS)
            )
        self.choices.append(len(self.choices))
        return self.choices[-1]


class _CallersLogits:
    """The logits from the caller, and the mask for the token sampled from them. Implements `steering.Sampled`."""

    def __init__(self, logits: mx.array) -> None:
        self.logits = logits
        self.drawn_mask: npt.NDArray[np.bool_] | None = None

    def drawn_logits(self) -> npt.NDArray[np.float32]:
        return np.array(self.logits)[0]


@dataclass
class _TextChange:
    """How a call changes the text that is shown."""

    num_chars_back: int = 0
    text: str = ""

    def take_back(self, num_chars: int) -> None:
        num_new = min(num_chars, len(self.text))
        self.text = self.text[: len(self.text) - num_new]
        self.num_chars_back += num_chars - num_new


class Stepping:
    """One answer."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        prompt_ids: Sequence[int],
        *,
        sampling: Sampling = Sampling(),  # noqa: B008 (a frozen value)
        constraint: Constraint | None = None,
        hooks: Sequence[Hook] = (),
        stop: Sequence[str] = (),
        max_tokens: int = sys.maxsize,
        max_resamples: int = _MAX_RESAMPLES,
        slow_s: float = SLOW_S,
    ) -> None:
        """`prompt_ids` are the tokens before the answer. They matter for penalties and for the random numbers.

        `constraint` comes from `Constraints.new` and is copied. `max_resamples` limits how often hooks can resample at
        one position. A call of a hook is slow if it takes longer than `slow_s` seconds. If `sampling` has no seed, a
        random one is used. Raises `ValueError` if `max_tokens` is less than 1.
        """
        if max_tokens < 1:
            raise ValueError(f"`max_tokens` is {max_tokens}; 1 or more is meant.")
        seed = secrets.randbits(32) if sampling.seed is None else sampling.seed
        writing = Writing(vocabulary, [SegmentPlan(stop, constraint)], [], None, max_tokens)
        family = _Family(vocabulary, list(prompt_ids), sampling, [])
        choice = family.new_choice("")
        steering = None
        if hooks:
            named = [(getattr(hook, "__name__", type(hook).__name__), hook) for hook in hooks]
            chain = HookChain(named, slow_s=slow_s)
            steering = Steering(0, choice, seed, writing, chain, vocabulary, family.new_choice, max_resamples)
        self._begin(family, seed, writing, steering)

    def _begin(self, family: _Family, seed: int, writing: Writing, steering: Steering | None) -> None:
        self._family = family
        self._writing = writing
        self._steering = steering
        self._sampler = Sampler(family.sampling, seed, len(family.prompt_ids))
        self._has_begun = False

    @property
    def token_ids(self) -> list[int]:
        """All tokens so far, including those of a stop string."""
        return list(self._writing.new_ids)

    @property
    def text(self) -> str:
        """The text that can be shown; it can't become part of a stop string any more."""
        return self._writing.answer.text

    @property
    def reason(self) -> FinishReason | None:
        """Why the answer has ended; None while it continues."""
        return self._writing.reason

    def choice(self) -> Choice:
        """Return the finished answer. Its tokens spell exactly its text."""
        choice = self._writing.choice(self._sampler.seed)
        return choice if self._steering is None else structs.replace(choice, drawn_before=self._steering.seeds.before)

    def end(self, reason: FinishReason = "cancelled") -> str:
        """End the answer early. Returns the text that was held back."""
        return self._writing.end(reason)

    def take(self, logits: npt.NDArray[Any] | mx.array) -> Advance:
        """Take the logits after the prompt and all tokens so far, shape [vocabulary], and continue the answer.

        Afterwards the tokens have changed, or the answer has ended. If an answer starts with forced tokens, the first
        call returns only these. Raises `HookFailedError` if a hook fails, and `NotFiniteError` if a logit is NaN or
        infinity (minus infinity is allowed). Then the answer has ended with its text so far.
        """
        if self.reason is not None:
            raise ValueError(f"This answer has ended ({self.reason}): nothing follows.")
        size = len(self._family.vocabulary)
        if tuple(logits.shape) != (size,):
            raise ValueError(f"These logits have the shape {tuple(logits.shape)}; one a token is meant, ({size},).")
        array = logits if isinstance(logits, mx.array) else mx.array(cast("Any", np.asarray(logits, dtype=np.float32)))
        array = array.astype(mx.float32)[None]
        try:
            check(checksum(array))
        except NotFiniteError:
            self.end()
            raise
        return self._advance(array, self.token_ids, _TextChange())

    def _advance(self, logits: mx.array, before: list[int], change: _TextChange) -> Advance:
        """Continue until the tokens differ from `before`, as these are the logits after `before`."""
        given = _CallersLogits(logits)
        forks: list[tuple[Stepping, _TextChange]] = []
        if not self._has_begun:
            self._has_begun = True
            forks += self._take(None, given, change)
        while self.reason is None and self._writing.new_ids == before:
            forks += self._take(self._sample(given), given, change)
        after = self.token_ids
        num_same = num_common(before, after)
        return Advance(
            len(before) - num_same,
            tuple(after[num_same:]),
            change.num_chars_back,
            change.text,
            self.reason,
            self._writing.answer.stop,
            tuple(Fork(fork, Stepping._advance(fork, logits, before, fork_change)) for fork, fork_change in forks),
        )

    def _sample(self, given: _CallersLogits) -> SampledToken:
        allowed, visit, temperature = self._writing.answer.mask.mask(), 0, None
        if self._steering is not None:
            allowed = both(allowed, self._steering.mask())
            visit, temperature = self._steering.visit, self._steering.temperature
        given.drawn_mask = allowed
        sequence = [*self._family.prompt_ids, *self._writing.new_ids]
        mask = None if allowed is None else mx.array(cast("Any", allowed))
        recent = self._sampler.recent(sequence)
        token = self._sampler.draw(given.logits, recent, len(sequence), visit, mask, temperature)
        return SampledToken(int(cast("int", token.item())))

    def _take(
        self, sampled: SampledToken | None, given: _CallersLogits, change: _TextChange
    ) -> list[tuple[Stepping, _TextChange]]:
        """Take a sampled token, if there is one, and the tokens that must follow it. Returns the forks."""
        if self._steering is None:
            change.text += self._writing.take(sampled)[0]
            return []
        taken = self._steering.take(sampled, given)
        changes = {self._steering.choice: change}
        for event in taken.events:
            _apply(event, changes)
        return [(self._forked(fork), changes[fork.choice]) for fork in taken.forks]

    def _forked(self, steering: Steering) -> Stepping:
        fork = object.__new__(Stepping)
        fork._begin(self._family, steering.seeds.seed, steering.writing, steering)
        return fork


def _apply(event: Event, changes: dict[int, _TextChange]) -> None:
    match event:
        case Chunk():
            changes[event.choice].text += event.text
        case Retract():
            changes[event.choice].take_back(event.num_chars)
        case Forked():
            # A fork starts with the text of its parent; its own events come later.
            changes[event.choice] = replace(changes[event.parent])
        case _:
            pass
