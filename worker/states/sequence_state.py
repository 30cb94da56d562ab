"""Sequences of several prompts and samples as one value: sliced, added, printed; it knows no model that computes.

A state's shape is [batch, sample]: so many prompts, so many sequences of each. Every operation returns a new state,
and every sequence of it keeps the tokens that it was written in wherever its text is kept, so that whoever goes on
from it finds the cache of all that is kept from the beginning.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, SupportsIndex, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from worker.protocol import Usage
from worker.states.token_sequence import Ending, SlicingError, TokenSequence
from worker.text.vocabulary import Vocabulary

Row: TypeAlias = tuple[TokenSequence, ...]


class BatchMismatch(ValueError):  # noqa: N818 (the name that people know it by)
    """Two states whose numbers of prompts do not go together: neither equal nor one of them 1."""


class SampleMismatch(ValueError):  # noqa: N818 (the name that people know it by)
    """Two states, or a state and a generator, whose numbers of samples do not go together."""


@dataclass(frozen=True, repr=False)
class SequenceState:
    """What was read and written so far: of each prompt (batch) each sample, as text, tokens and weights.

    **Slicing.** `state[batch, sample, a:b]` takes prompts and samples by an index or a slice, and of each of them the
    characters from `a` to `b`, counted in its own text as in a string (negative ones from its end). Both dimensions
    stay: an index leaves one of them 1 long. Where a dimension is 1 it may be left out, so that there are three short
    forms:

    - `state[sample, a:b]` of one prompt,
    - `state[batch, a:b]` of one sample each,
    - `state[a:b]` of one sequence.

    What is kept of a text stays in the tokens it was written in, with their log-probabilities. Where a cut goes
    through a token, the characters that are left of it are text: at the end the seam is healed by whoever goes on, at
    the beginning they are spelled anew. A slice that does not begin at 0 begins anew: it is a text of its own, of
    which the model has read nothing. No characters at all are the empty state, which changes nothing that it is added
    to.

    **Adding.** `state + other`, where `other` is a state, a string, or a list of strings, one for each prompt; either
    may stand first. Shapes go together where they are equal or 1: what is 1 long goes with each of the others. The
    tokens of both stay what they are, and weights are summed.

    **SlicingError** is raised for what has no meaning:

    - fewer dimensions than the state has: `state[a:b]` of several prompts or samples, `state[i, a:b]` where there are
      several of both; and more than three;
    - an index instead of characters: `state[3]` (write `state[3:4]`, or `str(state)[3]` for the character);
    - characters with a step: `state[::2]`, `state[::-1]`. There is no text that was written so;
    - a prompt or a sample that there is not, and a slice of them that takes none;
    - what is neither an index nor a slice, such as `...`, None, True or a list, and bounds that are no whole numbers;
    - a cut through a control token (`<|im_end|>`): a part of it is no token, and no text either.
    """

    rows: tuple[Row, ...]
    """Of each prompt its samples; at least one of both."""
    usage: Usage = field(default=Usage(), compare=False)
    """What the generation that returned it has cost, of all its sequences together."""

    @classmethod
    def of(cls, vocabulary: Vocabulary, texts: str | Sequence[str]) -> SequenceState:
        """Return a text, or of several texts a batch with one sample each; nothing of it is read yet."""
        batch = [texts] if isinstance(texts, str) else texts
        if not batch:
            raise ValueError("There is no prompt in an empty list. Give at least one text.")
        return cls(tuple((TokenSequence(vocabulary, tail=_text(text)),) for text in batch))

    @property
    def shape(self) -> tuple[int, int]:
        """How many prompts, and how many samples of each."""
        return len(self.rows), len(self.rows[0])

    @cached_property
    def weights(self) -> npt.NDArray[np.float64]:
        """The sums of the log-probabilities of all tokens that were drawn and kept, shape [batch, sample]; read-only.

        A token's is the model's own, before temperature, filters and constraints. Tokens that nobody drew (prompts,
        strings, what a constraint left no choice about, what a cut has left of a token) weigh nothing. A beam's end
        (`Ending.logprob`) is weighed, too, until something is cut from it or follows it.
        """
        weights = np.array([[sequence.weight for sequence in row] for row in self.rows])
        weights.flags.writeable = False
        return weights

    @property
    def texts(self) -> list[list[str]]:
        """The text of each sequence, shape [batch, sample]."""
        return self._each(lambda sequence: sequence.text)

    @property
    def token_ids(self) -> list[list[tuple[int, ...]]]:
        """The tokens of each sequence that are certain, shape [batch, sample]; text to be healed is none of them."""
        return self._each(lambda sequence: sequence.token_ids)

    @property
    def endings(self) -> list[list[Ending | None]]:
        """How the generation that returned it ended each sequence; None for what was sliced or added since."""
        return self._each(lambda sequence: sequence.ending)

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of its model."""
        return self.rows[0][0].vocabulary

    def _each(self, take: Callable[[TokenSequence], Any]) -> list[list[Any]]:
        return [[take(sequence) for sequence in row] for row in self.rows]

    def __iter__(self) -> Iterator[str]:
        """The texts one after another: all samples of the first prompt, then those of the next one."""
        return (sequence.text for row in self.rows for sequence in row)

    def __str__(self) -> str:
        """The text of a single sequence; of several, how they lie."""
        return self.rows[0][0].text if self.shape == (1, 1) else repr(self)

    def __repr__(self) -> str:
        return f"SequenceState({self.texts!r})"

    # --- slicing -------------------------------------------------------------------------------------------

    def __getitem__(self, key: object) -> SequenceState:
        """Slice it, as described above. Raises `SlicingError`."""
        batch, samples, characters = self._parts(key)
        num_batch, num_samples = self.shape
        start, end = _bounds(characters)
        chosen = _chosen(samples, num_samples, "sample")
        return SequenceState(
            tuple(
                tuple(self.rows[at][sample].cut(start, end) for sample in chosen)
                for at in _chosen(batch, num_batch, "prompt")
            )
        )

    def _parts(self, key: object) -> tuple[object, object, object]:
        """The three parts of a key in any of its forms."""
        parts: tuple[object, ...] = cast("tuple[object, ...]", key) if isinstance(key, tuple) else (key,)
        num_batch, num_samples = self.shape
        if len(parts) == 3:
            return parts[0], parts[1], parts[2]
        if len(parts) == 2 and num_samples == 1:
            return parts[0], 0, parts[1]
        if len(parts) == 2 and num_batch == 1:
            return 0, parts[0], parts[1]
        if len(parts) == 1 and num_batch == num_samples == 1:
            return 0, 0, parts[0]
        if num_batch > 1 and num_samples > 1:
            form = "state[batch, sample, a:b]"
        else:
            form = "state[batch, a:b]" if num_batch > 1 else "state[sample, a:b]" if num_samples > 1 else "state[a:b]"
        raise SlicingError(
            f"This state has {_counted(num_batch, 'prompt')} with {_counted(num_samples, 'sample')} each. Use {form}."
        )

    # --- adding --------------------------------------------------------------------------------------------

    def __add__(self, other: object) -> SequenceState:
        return self._sum(other, lambda own, its: own.joined(its))

    def __radd__(self, other: object) -> SequenceState:
        return self._sum(other, lambda own, its: its.joined(own))

    def _sum(self, other: object, join: Callable[[TokenSequence, TokenSequence], TokenSequence]) -> SequenceState:
        if isinstance(other, str | list | tuple):
            other = SequenceState.of(self.vocabulary, cast("str | Sequence[str]", other))
        if not isinstance(other, SequenceState):
            return NotImplemented
        if other.vocabulary is not self.vocabulary:
            raise ValueError(
                "These states were written by two models, whose tokens differ. Add the text of one: str(…)."
            )
        (batch, samples), (other_batch, other_samples) = self.shape, other.shape
        if batch != other_batch and 1 not in {batch, other_batch}:
            raise BatchMismatch(_mismatch(batch, other_batch, "prompt"))
        if samples != other_samples and 1 not in {samples, other_samples}:
            raise SampleMismatch(_mismatch(samples, other_samples, "sample"))
        return SequenceState(
            tuple(
                tuple(
                    join(_at(self.rows, at, sample), _at(other.rows, at, sample))
                    for sample in range(max(samples, other_samples))
                )
                for at in range(max(batch, other_batch))
            )
        )


def _at(rows: Sequence[Row], batch: int, sample: int) -> TokenSequence:
    """One of them; where there is but one, always that."""
    row = rows[min(batch, len(rows) - 1)]
    return row[min(sample, len(row) - 1)]


def _text(text: object) -> str:
    """A text that can be read. Raises `TypeError` and `ValueError`."""
    if not isinstance(text, str):
        raise TypeError(f"A prompt is a string; this one is {type(text).__name__}.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"The text holds a lone surrogate at {error.start}, which is no character. Remove it."
        ) from error
    return text


def _chosen(part: object, size: int, what: str) -> Sequence[int]:
    """The places in a dimension that a part of a key takes."""
    if isinstance(part, slice):
        try:
            places = range(size)[part]
        except (TypeError, ValueError) as error:
            raise SlicingError(f"{what.capitalize()}s can't be taken by {_said(part)}: {error}.") from error
        if not places:
            raise SlicingError(f"{_said(part)} takes no {what} of {size}; a state has at least one.")
        return places
    index = _index(part)
    if index is None:
        raise SlicingError(f"{part!r} takes no {what}: write an index or a slice.")
    if not -size <= index < size:
        raise SlicingError(f"There is no {what} {index}: this state has {_counted(size, what)}.")
    return [index % size]


def _bounds(part: object) -> tuple[int | None, int | None]:
    """Where the characters begin and end that a part of a key takes."""
    if not isinstance(part, slice):
        raise SlicingError(
            f"Characters are taken by a slice, not by {part!r}: write state[…, a:b], or state[…, :] for all. "
            "A single character is in str(state)."
        )
    start, end, step = (None if each is None else _index(each) for each in (part.start, part.stop, part.step))
    for each, found in ((part.start, start), (part.stop, end), (part.step, step)):
        if each is not None and found is None:
            raise SlicingError(f"Characters are counted in whole numbers, not in {each!r}.")
    if step not in {None, 1}:
        raise SlicingError(
            f"Characters are taken one after another, not with the step {step}: no model has written such a text. "
            "Go on from the string itself: str(state)[…]."
        )
    return start, end


def _index(part: object) -> int | None:
    """A whole number, also one of NumPy's; None for what is none."""
    if isinstance(part, bool | np.bool_) or not isinstance(part, SupportsIndex):
        return None
    try:
        return operator.index(part)
    except TypeError:
        return None


def _said(part: slice) -> str:
    bounds = [part.start, part.stop] if part.step is None else [part.start, part.stop, part.step]
    return ":".join("" if bound is None else repr(bound) for bound in bounds)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _mismatch(number: int, other: int, what: str) -> str:
    return (
        f"A state with {_counted(number, what)} and one with {_counted(other, what)} were added. "
        f"Both must have as many, or one of them 1."
    )
