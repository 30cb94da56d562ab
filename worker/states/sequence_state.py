"""States: the sequences of several prompts and samples as one immutable value. Independent of the model.

The shape of a state is [batch, sample]. Slicing and adding return new states, in which text that is kept also keeps its
tokens. So a generator finds these tokens in the prompt cache.
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


class BatchMismatch(ValueError):  # noqa: N818 (a public name)
    """Two states have different numbers of prompts, and neither number is 1."""


class SampleMismatch(ValueError):  # noqa: N818 (a public name)
    """Two states, or a state and a generator, have different numbers of samples, and neither number is 1."""


@dataclass(frozen=True, repr=False)
class SequenceState:
    """The sequences of each prompt (batch) and each sample: their texts, tokens and weights.

    **Slicing.** `state[batch, sample, a:b]` selects prompts and samples by an index or a slice, and the characters from
    `a` to `b` of each, as for a string. The result keeps both dimensions: after an index, the dimension has length 1.
    Dimensions of length 1 may be left out:

    - `state[sample, a:b]` for one prompt,
    - `state[batch, a:b]` for one sample of each prompt,
    - `state[a:b]` for one sequence.

    The kept text keeps its tokens and their log-probabilities. If a cut goes through a token, the kept part of the
    token becomes text. At the end of a slice, this text is healed when a generator continues it. At its beginning, it
    is tokenized again. A slice that does not begin at 0 is a new text, which the model has not processed. A slice
    without characters is empty; adding it changes nothing.

    **Adding.** In `state + other` and `other + state`, `other` is a state, a string, or a list with a string for each
    prompt. In each dimension, the lengths must be equal, or one of them must be 1; it is then combined with each of the
    others. All tokens stay the same, and weights are added.

    **`SlicingError`** is raised for

    - the wrong number of dimensions: `state[a:b]` for several prompts or samples, `state[i, a:b]` for several of both,
      and more than three;
    - an index instead of characters: `state[3]` (write `state[3:4]`, or `str(state)[3]` for the character);
    - characters with a step: `state[::2]`, `state[::-1]`;
    - prompts or samples that do not exist, and slices without any;
    - other keys, such as `...`, None, True or a list, and bounds that are not whole numbers;
    - a cut through a control token such as `<|im_end|>`, as a part of it is neither a token nor text.
    """

    rows: tuple[Row, ...]
    """The samples of each prompt. There is at least one prompt, and at least one sample."""
    usage: Usage = field(default=Usage(), compare=False)
    """The total usage of the generation that returned the state."""

    @classmethod
    def of(cls, vocabulary: Vocabulary, texts: str | Sequence[str]) -> SequenceState:
        """Return a text, or a batch of texts with one sample each, as a state that no model has processed yet."""
        batch = [texts] if isinstance(texts, str) else texts
        if not batch:
            raise ValueError("There is no prompt in an empty list. Give at least one text.")
        return cls(tuple((TokenSequence(vocabulary, tail=_text(text)),) for text in batch))

    @property
    def shape(self) -> tuple[int, int]:
        """The number of prompts, and the number of samples of each."""
        return len(self.rows), len(self.rows[0])

    @cached_property
    def weights(self) -> npt.NDArray[np.float64]:
        """The sum of the log-probabilities of all sampled tokens, shape [batch, sample], read-only.

        These are the model's own, before temperature, filters and constraints. Tokens that were not sampled (of prompts
        and strings, forced tokens, parts of cut tokens) count 0. The end of a beam (`Ending.logprob`) is included,
        until text is cut off or appended.
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
        """The tokens of each sequence, shape [batch, sample], without text that is not tokenized yet."""
        return self._each(lambda sequence: sequence.token_ids)

    @property
    def endings(self) -> list[list[Ending | None]]:
        """How the last generation of each sequence ended, shape [batch, sample]; None after slicing or adding."""
        return self._each(lambda sequence: sequence.ending)

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the state's model."""
        return self.rows[0][0].vocabulary

    def _each(self, take: Callable[[TokenSequence], Any]) -> list[list[Any]]:
        return [[take(sequence) for sequence in row] for row in self.rows]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the texts: all samples of the first prompt, then all of the second, and so on."""
        return (sequence.text for row in self.rows for sequence in row)

    def __str__(self) -> str:
        """Return the text of a single sequence, or the `repr` of several."""
        return self.rows[0][0].text if self.shape == (1, 1) else repr(self)

    def __repr__(self) -> str:
        return f"SequenceState({self.texts!r})"

    # --- slicing -------------------------------------------------------------------------------------------

    def __getitem__(self, key: object) -> SequenceState:
        """Return a slice, as described above. Raises `SlicingError`."""
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
        """Return the parts of a key for prompts, samples and characters."""
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
        return self._sum(other, lambda mine, theirs: mine.joined(theirs))

    def __radd__(self, other: object) -> SequenceState:
        return self._sum(other, lambda mine, theirs: theirs.joined(mine))

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
    """Return a sequence. A dimension of length 1 stands for any length."""
    row = rows[min(batch, len(rows) - 1)]
    return row[min(sample, len(row) - 1)]


def _text(text: object) -> str:
    """Check a text. Raises `TypeError` or `ValueError`."""
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
    """Return the indices that a part of a key selects in a dimension of length `size`."""
    if isinstance(part, slice):
        try:
            indices = range(size)[part]
        except (TypeError, ValueError) as error:
            raise SlicingError(f"{_written(part)} is no slice of {what}s: {error}.") from error
        if not indices:
            raise SlicingError(
                f"{_written(part)} selects none of {_counted(size, what)}, but a state has at least one."
            )
        return indices
    index = _index(part)
    if index is None:
        raise SlicingError(f"{part!r} is no index of a {what}. Use an integer or a slice.")
    if not -size <= index < size:
        raise SlicingError(f"There is no {what} {index}: this state has {_counted(size, what)}.")
    return [index % size]


def _bounds(part: object) -> tuple[int | None, int | None]:
    """Return the start and end of the characters that a part of a key selects."""
    if not isinstance(part, slice):
        raise SlicingError(
            f"Characters need a slice, not {part!r}. Use state[…, a:b], or state[…, :] for all characters. "
            "For a single character, index str(state)."
        )
    start, end, step = (None if each is None else _index(each) for each in (part.start, part.stop, part.step))
    for each, found in ((part.start, start), (part.stop, end), (part.step, step)):
        if each is not None and found is None:
            raise SlicingError(f"Character positions are integers, not {each!r}.")
    if step not in {None, 1}:
        raise SlicingError(
            f"A state can't skip characters (the step is {step}), because the model has not written that text. "
            "Slice the string instead: str(state)[…]."
        )
    return start, end


def _index(part: object) -> int | None:
    """Return an integer, which may be one of NumPy's; None for other values."""
    if isinstance(part, bool | np.bool_) or not isinstance(part, SupportsIndex):
        return None
    try:
        return operator.index(part)
    except TypeError:
        return None


def _written(part: slice) -> str:
    bounds = [part.start, part.stop] if part.step is None else [part.start, part.stop, part.step]
    return ":".join("" if bound is None else repr(bound) for bound in bounds)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _mismatch(number: int, other: int, what: str) -> str:
    return (
        f"A state with {_counted(number, what)} and one with {_counted(other, what)} were added. "
        f"Both must have as many, or one of them 1."
    )
