"""One answer's decode side for logits that the caller computes, a call a token; it knows no model and no cache.

Whoever has a model of their own, with keys and values of their own, hands on the logits after the sequence so far, and
hears what came of them: which tokens stand now, what may be shown, whether it is over. Sampler, constraint, hooks, stop
strings and text are those of every answer. A model that only counts, over eight tokens of which the last one ends the
turn:

>>> import numpy as np
>>> from tokenizers import Tokenizer
>>> from tokenizers.models import BPE
>>> from worker.decision import Decision
>>> from worker.stepping import Stepping
>>> from worker.text.vocabulary import Vocabulary
>>> tokenizer = Tokenizer(BPE(vocab={letter: place for place, letter in enumerate("abcdefg.")}, merges=[]))
>>> vocabulary = Vocabulary(tokenizer, eos_ids=[7])
>>> def logits_after(token_ids):
...     return np.eye(8)[(token_ids[-1] + 1) % 8]

The loop is the caller's. It feeds its model what `token_ids` of an advance says, after it has taken back `num_back`:

>>> def written(stepping, sequence):
...     while stepping.reason is None:
...         advance = stepping.take(logits_after(sequence))
...         del sequence[len(sequence) - advance.num_back :]
...         sequence += advance.token_ids
...     return stepping.text, stepping.reason
>>> written(Stepping(vocabulary, [0]), [0])
('bcdefg', 'eos')
>>> written(Stepping(vocabulary, [0], stop=["de"]), [0])
('bc', 'stop')

What a form leaves no choice about comes with the token before it, so that the model reads it at once:

>>> from worker.text.constraint import Constraints
>>> from worker.protocol import Constraint
>>> constraint = Constraints(vocabulary).new(Constraint(kind="regex", value="[a-g](cab|fed)"))
>>> stepping = Stepping(vocabulary, [0], constraint=constraint)
>>> stepping.take(logits_after([0])).text
'b'
>>> stepping.take(logits_after([0, 1]))
Advance(num_back=0, token_ids=(2, 0, 1), num_chars_back=0, text='cab', reason='constraint', stop=None, forks=())

A hook may have a token drawn again, which costs no further logits, may take back what stands, or fork:

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
>>> written(fork.stepping, [0, 5])
('fg', 'eos')
>>> written(stepping, [0, 1, 2])[0] != "bcd"
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
from worker.decoding.sampled_token import SampledToken
from worker.decoding.sampler import Sampler
from worker.errors import HookFailedError
from worker.protocol import Choice, Chunk, Event, FinishReason, Forked, Retract, Sampling
from worker.sentence import Sentence
from worker.text.constraint import Constraint
from worker.text.masks import both
from worker.text.vocabulary import Vocabulary

_MOST_ANSWERS = 64
_MAX_RESAMPLES = 16


@dataclass(frozen=True)
class Advance:
    """What came of a call: how the tokens and the text that stand now differ from those before it."""

    num_back: int = 0
    """How many of the last tokens stand no more..."""
    token_ids: tuple[int, ...] = ()
    """...and which follow those that do. Where none do, the next logits are those after what is left."""
    num_chars_back: int = 0
    """How many of the last characters shown are taken back..."""
    text: str = ""
    """...and what is safe to show behind the others."""
    reason: FinishReason | None = None
    """Why it ended, if it has."""
    stop: str | None = None
    """The stop string that ended it."""
    forks: tuple[Fork, ...] = ()
    """What a hook has forked from it."""


class Fork(NamedTuple):
    """Another way to go on, independent of the one that it forked from."""

    stepping: Stepping
    advance: Advance
    """How it differs from the other one as that was before the call."""


@dataclass(frozen=True)
class _Family:
    """What an answer and its forks have in common."""

    vocabulary: Vocabulary
    prompt_ids: list[int]
    sampling: Sampling
    choices: list[int]
    """The numbers of all that there are."""

    def new_choice(self, name: str) -> int:
        if len(self.choices) == _MOST_ANSWERS:
            raise HookFailedError(
                name, Sentence("It forked into more than {num_answers} answers.", num_answers=_MOST_ANSWERS)
            )
        self.choices.append(len(self.choices))
        return self.choices[-1]


class _Given:
    """Logits that somebody gave, and how a token was drawn from them (`steering.Sampled`)."""

    def __init__(self, logits: mx.array) -> None:
        self.logits = logits
        self.drawn_mask: npt.NDArray[np.bool_] | None = None

    def drawn_logits(self) -> npt.NDArray[np.float32]:
        return np.array(self.logits)[0]


@dataclass
class _Shown:
    """What a call does to what is shown."""

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
        """`prompt_ids`: what was read before it; penalties look at them, and each draw depends on its position.

        `constraint`: at its beginning (`Constraints.new`); it is copied. `max_resamples`: how often hooks may have one
        place drawn anew, `slow_s` what is too long for a call of one. Without a seed in `sampling` one is drawn.
        Raises `ValueError` where not even one token is wanted.
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
        self._sampler = Sampler(family.sampling, seed)
        self._has_begun = False

    @property
    def token_ids(self) -> list[int]:
        """All its tokens so far, those behind a stop string's beginning included."""
        return list(self._writing.new_ids)

    @property
    def text(self) -> str:
        """All that is safe to show."""
        return self._writing.answer.text

    @property
    def reason(self) -> FinishReason | None:
        """Why it ended, if it has."""
        return self._writing.reason

    def choice(self) -> Choice:
        """Return all of it, once it has ended: its tokens are exactly its text."""
        choice = self._writing.choice(self._sampler.seed)
        return choice if self._steering is None else structs.replace(choice, drawn_before=self._steering.seeds.before)

    def end(self, reason: FinishReason = "cancelled") -> str:
        """End it for a reason of the caller's; return what was held back."""
        return self._writing.end(reason)

    def take(self, logits: npt.NDArray[Any] | mx.array) -> Advance:
        """Take the logits after prompt and tokens, shape [vocabulary]; they are not kept. Return what came of them.

        Either the tokens differ afterwards, or it has ended. What begins with forced tokens begins with those alone.
        Raises `HookFailedError`: it has ended then, and what was said until then is its text.
        """
        if self.reason is not None:
            raise ValueError(f"This answer has ended ({self.reason}): nothing follows.")
        size = len(self._family.vocabulary)
        if tuple(logits.shape) != (size,):
            raise ValueError(f"These logits have the shape {tuple(logits.shape)}; one a token is meant, ({size},).")
        given = logits if isinstance(logits, mx.array) else mx.array(cast("Any", np.asarray(logits, dtype=np.float32)))
        return self._advance(given.astype(mx.float32)[None], self.token_ids, _Shown())

    def _advance(self, logits: mx.array, before: list[int], shown: _Shown) -> Advance:
        """Go on as far as these logits, which come after `before`, are those after the tokens that stand."""
        given = _Given(logits)
        forks: list[tuple[Stepping, _Shown]] = []
        if not self._has_begun:
            self._has_begun = True
            forks += self._take(None, given, shown)
        while self.reason is None and self._writing.new_ids == before:
            forks += self._take(self._draw(given), given, shown)
        after = self.token_ids
        num_same = num_common(before, after)
        return Advance(
            len(before) - num_same,
            tuple(after[num_same:]),
            shown.num_chars_back,
            shown.text,
            self.reason,
            self._writing.answer.stop,
            tuple(Fork(fork, Stepping._advance(fork, logits, before, of_fork)) for fork, of_fork in forks),
        )

    def _draw(self, given: _Given) -> SampledToken:
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

    def _take(self, drawn: SampledToken | None, given: _Given, shown: _Shown) -> list[tuple[Stepping, _Shown]]:
        """Take a token, if one was drawn, and what must follow; return what has forked."""
        if self._steering is None:
            shown.text += self._writing.take(drawn)[0]
            return []
        taken = self._steering.take(drawn, given)
        shown_by = {self._steering.choice: shown}
        for event in taken.events:
            _play(event, shown_by)
        return [(self._forked(fork), shown_by[fork.choice]) for fork in taken.forks]

    def _forked(self, steering: Steering) -> Stepping:
        fork = object.__new__(Stepping)
        fork._begin(self._family, steering.seeds.seed, steering.writing, steering)
        return fork


def _play(event: Event, shown_by: dict[int, _Shown]) -> None:
    match event:
        case Chunk():
            shown_by[event.choice].text += event.text
        case Retract():
            shown_by[event.choice].take_back(event.num_chars)
        case Forked():
            # All that its parent was told of: a fork tells of it first.
            shown_by[event.choice] = replace(shown_by[event.parent])
        case _:
            pass
