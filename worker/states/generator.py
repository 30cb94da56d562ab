"""Generators: a state goes in, a state that goes on comes out; they know the engine by its requests and events alone.

Each sequence is read as the tokens that it is, so the engine finds in its cache all that was kept from the beginning.
Text at its end that is not cut into tokens yet is the request's continuation: its seam is healed.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TypeAlias

import msgspec

from worker.errors import BadRequestError
from worker.protocol import (
    Choice,
    Constraint,
    Continuation,
    Finished,
    Generate,
    Prompt,
    Sampling,
    Token,
    Usage,
)
from worker.requests.engine import Engine
from worker.sentence import verbatim
from worker.states.completion import answered, total
from worker.states.sequence_state import SampleMismatch, SequenceState
from worker.states.token_sequence import Ending, TokenSequence
from worker.text.constraint import with_given_text
from worker.text.healing import num_taken_back
from worker.text.vocabulary import Vocabulary

MOST_SAMPLES = 64
"""Of one prompt; a batch's seeds lie so far apart, too."""

_GREEDY = Sampling()

Answering: TypeAlias = Callable[[Engine, Sequence[Generate]], list[tuple[Finished, list[list[Token]]]]]
"""Has requests answered: of each its end, and of each of its choices the tokens drawn."""


@dataclass(frozen=True)
class Generator:
    """Goes on from texts and states in one way: a form that what is new has, how it is drawn, where it ends.

    `generator(given)` takes a string, a list of strings (a batch), or a state, and returns the state in which each
    sequence has gone on. Nothing of the state that was given changes, and no generator keeps anything: the same one
    may go on from any state, and any generator from what it returned.

    Text at the end of a sequence that is not in tokens yet (a string, what a cut has left of a token) is healed: the
    first new token may spell its end and the beginning of what is new. So may a stop string begin in it.
    """

    engine: Engine = field(repr=False)
    constraint: Constraint | None = None
    """The form of what is new."""
    sampling: Sampling = _GREEDY
    stop: tuple[str, ...] = ()
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        """Raises a `WorkerError` that says what can't be used."""
        if self.constraint is not None:
            # Before anybody waits for it.
            self.engine.model.constraints.new(self.constraint)
        _ = self.settings(None, None, None)

    def __call__(
        self,
        given: str | Sequence[str] | SequenceState,
        *,
        samples: int | None = None,
        seed: int | None = None,
        stop: str | Sequence[str] | None = None,
        max_tokens: int | None = None,
    ) -> SequenceState:
        """Return `given` with what comes next, shape [batch, samples].

        `samples`: how many ways to go on from each prompt, at most 64. By default each sequence goes on in one way; a
        state that has several samples goes on with as many.
        `seed`: of the first sequence; sample `s` of prompt `b` draws with `seed + 64 * b + s`, alone or in company.
        `stop`, `max_tokens`: in place of the generator's own, this time.

        Raises `SampleMismatch`, and a `WorkerError` where it can't be answered (the first one of several).
        """
        return self.go_on(given, samples, self.settings(stop, max_tokens, seed), answered)

    def go_on(
        self, given: str | Sequence[str] | SequenceState, samples: int | None, settings: Generate, answer: Answering
    ) -> SequenceState:
        """As a call, by requests with these `settings`, of which `answer` has all answered."""
        state = self._state(given)
        num_samples = _num_samples(state, samples)
        first_seed = secrets.randbits(32) if settings.sampling.seed is None else settings.sampling.seed
        starts = [[self._begun(sequence) for sequence in row] for row in state.rows]
        commands: list[Generate] = []
        for batch, row in enumerate(starts):
            for sample, start in enumerate(row):
                sampling = msgspec.structs.replace(settings.sampling, seed=first_seed + MOST_SAMPLES * batch + sample)
                n = num_samples if len(row) == 1 else 1
                commands.append(self._command(settings, start, len(commands), sampling, n))
        answers = iter(answer(self.engine, commands))
        rows: list[tuple[TokenSequence, ...]] = []
        usages: list[Usage] = []
        for given_row, row in zip(state.rows, starts, strict=True):
            grown: list[TokenSequence] = []
            for sequence, start in zip(given_row, row, strict=True):
                finished, tokens = next(answers)
                usages.append(finished.usage)
                num_kept = finished.usage.prompt_tokens - len(start.token_ids)
                grown += [
                    _grown(sequence, start, choice, drawn, num_kept)
                    for choice, drawn in zip(finished.choices, tokens, strict=True)
                ]
            rows.append(tuple(grown))
        return SequenceState(tuple(rows), total(usages))

    def _state(self, given: str | Sequence[str] | SequenceState) -> SequenceState:
        if not isinstance(given, SequenceState):
            if not isinstance(given, str | list | tuple):
                raise TypeError(f"A generator goes on from strings and states, not from {type(given).__name__}.")
            return SequenceState.of(self.engine.model.vocabulary, given)
        if given.vocabulary is not self.engine.model.vocabulary:
            raise ValueError("This state was written by another model, whose tokens differ. Hand on its text: str(…).")
        return given

    def settings(self, stop: str | Sequence[str] | None, max_tokens: int | None, seed: int | None) -> Generate:
        """A request with all but what it goes on from. Raises `BadRequestError`."""
        stops = self.stop if stop is None else stop
        sampling = msgspec.to_builtins(self.sampling)
        fields = {
            "request_id": 0,
            "text": "",
            "sampling": sampling if seed is None else {**sampling, "seed": seed},
            "stop": [stops] if isinstance(stops, str) else list(stops),
            "max_tokens": self.max_tokens if max_tokens is None else max_tokens,
            # What was drawn is told with its log-probability.
            "top_logprobs": 1,
        }
        try:
            return msgspec.convert(fields, Generate)
        except msgspec.ValidationError as error:
            raise BadRequestError(verbatim(f"{error}. Correct it and ask again.")) from error

    def _command(
        self, settings: Generate, start: TokenSequence, request_id: int, sampling: Sampling, n: int
    ) -> Generate:
        """The request that goes on from a sequence."""
        constraint = self.constraint
        if constraint is not None:
            constraint = msgspec.structs.replace(constraint, covers="new")
            if start.tail:
                constraint = with_given_text(constraint, start.tail)
        return msgspec.structs.replace(
            settings,
            request_id=request_id,
            text=msgspec.UNSET,
            token_ids=list(start.token_ids),
            continuation=Continuation(text=start.tail) if start.tail else None,
            sampling=sampling,
            constraint=constraint,
            n=n,
        )

    # --- where to go on from -------------------------------------------------------------------------------

    def _begun(self, sequence: TokenSequence) -> TokenSequence:
        """The same from where a model begins to read, with no more text behind its tokens than is to be healed."""
        if not sequence.text:
            raise BadRequestError(verbatim("There is no text to go on from. Give at least one character."))
        vocabulary = self.engine.model.vocabulary
        ids, behind, num_hidden = self._as_read(sequence)
        # There must be something that the model reads, and what it was given in tokens is what it is.
        num_again = _num_spelled_again(vocabulary, behind if ids else behind[1:])
        read = (*ids, *behind[: len(behind) - num_again])
        logprobs = (*[None] * (len(ids) - len(sequence.token_ids)), *sequence.logprobs)
        return TokenSequence(
            vocabulary,
            read,
            (*logprobs, *[None] * (len(read) - len(logprobs))),
            vocabulary.bytes_of(behind[len(behind) - num_again :]).decode(),
            num_hidden,
            is_begun=True,
        )

    def _as_read(self, sequence: TokenSequence) -> tuple[tuple[int, ...], list[int], int]:
        """The tokens that are certain, those of the text behind them, and how many bytes of all are no text."""
        vocabulary = self.engine.model.vocabulary
        tail = sequence.tail
        if sequence.is_begun:
            return sequence.token_ids, vocabulary.encode_turn(tail), sequence.num_hidden
        head = self._head()
        num_hidden = len(vocabulary.bytes_of(head))
        if sequence.token_ids:
            return (*head, *sequence.token_ids), vocabulary.encode_turn(tail), num_hidden
        # As the tokenizer cuts a prompt, which may put a space in front, unless it takes typed text for control tokens.
        cut = self.engine.prompt_ids(Prompt(text=tail))[len(head) :]
        data, wanted = vocabulary.bytes_of(cut), tail.encode()
        if vocabulary.control_ids.isdisjoint(cut) and data.endswith(wanted) and data.strip(b" ") == wanted.strip(b" "):
            return head, cut, num_hidden + len(data) - len(wanted)
        return head, vocabulary.encode_turn(tail), num_hidden

    def _head(self) -> tuple[int, ...]:
        """The control tokens that the tokenizer puts in front of a prompt."""
        controls = self.engine.model.vocabulary.control_ids
        return tuple(takewhile(controls.__contains__, self.engine.prompt_ids(Prompt(text="a"))))


def _num_spelled_again(vocabulary: Vocabulary, token_ids: Sequence[int]) -> int:
    """How many tokens at the end of a text are to be spelled again with what follows; together they are text."""
    number = num_taken_back(vocabulary, token_ids)
    while number:
        try:
            vocabulary.bytes_of(token_ids[-number:]).decode()
        except UnicodeDecodeError:
            number += 1
            if number > len(token_ids) or token_ids[-number] in vocabulary.control_ids:
                return 0
        else:
            break
    return number


def _num_samples(state: SequenceState, samples: int | None) -> int:
    _, present = state.shape
    if samples is None:
        return 1 if present == 1 else present
    if not 1 <= samples <= MOST_SAMPLES:
        raise BadRequestError(verbatim(f"There can be 1 to {MOST_SAMPLES} samples of a prompt, not {samples}."))
    if present not in {1, samples}:
        raise SampleMismatch(
            f"This state has {present} samples of each prompt; a generator goes on from it with as many, not with "
            f"{samples}. Take one of them, as in state[:, 0, :], to go on from it in several ways."
        )
    return samples


def _grown(
    given: TokenSequence, start: TokenSequence, choice: Choice, drawn: Sequence[Token], num_kept: int
) -> TokenSequence:
    """What was given, and what was written behind it; of its tail the request kept `num_kept` tokens."""
    ending = Ending(choice.text, choice.reason, choice.stop, choice.seed)
    if not choice.text:
        return replace(given, ending=ending)
    new_ids = choice.turn_token_ids[num_kept:]
    # Where a stop string cut through a token, the last ones are others than those that were drawn.
    logprobs = [
        _logprob(token) for _, token in takewhile(lambda pair: pair[0] == pair[1].id, zip(new_ids, drawn, strict=False))
    ]
    grown = replace(
        start,
        token_ids=(*start.token_ids, *choice.turn_token_ids),
        logprobs=(*start.logprobs, *[None] * num_kept, *logprobs, *[None] * (len(new_ids) - len(logprobs))),
        tail="",
        ending=ending,
    )
    text = given.text + choice.text
    # A vocabulary may have no tokens for the end of it.
    return replace(grown, tail=text[len(grown.text) :]) if text.startswith(grown.text) else grown


def _logprob(token: Token) -> float | None:
    """What a token was drawn with; a choice that a constraint has left of the impossible is told as None, too."""
    if token.origin == "forced":
        return None
    return -math.inf if token.logprob is None else token.logprob
