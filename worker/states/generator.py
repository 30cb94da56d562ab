"""Generators: functions that continue states, by requests to the engine.

A request contains the tokens of a sequence, so the engine finds them in its cache. Text at the end that is not
tokenized yet is the continuation of the request, so token healing joins it with the new text.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TypeAlias

import msgspec

from worker.errors import (
    BadRequestError,
    ConstraintInvalidError,
    ContextOverflowError,
    ModelInvalidError,
    WorkerError,
    WorkerOutOfMemoryError,
)
from worker.protocol import (
    Choice,
    Chunk,
    Constraint,
    Continuation,
    Failed,
    Finished,
    Generate,
    Prompt,
    RequestId,
    Retract,
    Sampling,
    Token,
    Usage,
)
from worker.requests.engine import Engine
from worker.requests.request import Ticket
from worker.sentence import verbatim
from worker.states.sequence_state import SampleMismatch, SequenceState
from worker.states.token_sequence import Ending, TokenSequence
from worker.text.constraint import with_given_text
from worker.text.healing import num_taken_back
from worker.text.vocabulary import Vocabulary

MAX_SAMPLES = 64
"""The most samples of a prompt, and the difference between the seeds of two prompts of a batch."""

_GREEDY = Sampling()

Completed: TypeAlias = tuple[Finished, list[list[Token]]]
"""How a request ended, and the sampled tokens of each of its choices."""
Complete: TypeAlias = Callable[[Engine, Sequence[Generate]], list[Completed]]
"""Runs requests to their ends."""

_ERRORS: dict[str, type[WorkerError]] = {
    error.kind: error
    for error in (
        BadRequestError,
        ContextOverflowError,
        ConstraintInvalidError,
        ModelInvalidError,
        WorkerOutOfMemoryError,
    )
}


@dataclass(frozen=True)
class Generator:
    """Continues texts and states with an answer format, a way of sampling, and conditions to end.

    `generator(given)` takes a string, a list of strings (a batch), or a state. It returns a new state in which each
    sequence is continued. Generators have no state of their own: each one can continue any state, including those that
    other generators returned.

    Text at the end of a sequence that is not tokenized yet (an added string, a part of a token that was cut) is healed:
    the first new token may spell its end and the beginning of the new text. A stop string may also begin in it.
    """

    engine: Engine = field(repr=False)
    constraint: Constraint | None = None
    """The answer format of the new text."""
    sampling: Sampling = _GREEDY
    stop: tuple[str, ...] = ()
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        """Raises a `WorkerError` if the constraint or another setting is invalid."""
        if self.constraint is not None:
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
        """Return `given` with its continuations, shape [batch, samples].

        `samples`: how many continuations of each prompt, at most 64. By default, each sequence has one; a state with
        several samples keeps their number.
        `seed`: for the first sequence. Sample `s` of prompt `b` uses the seed `seed + 64 * b + s`.
        `stop`, `max_tokens`: replace those of the generator for this call.

        Raises `SampleMismatch`, or the `WorkerError` of the first request that fails.
        """
        return self.continue_with(given, samples, self.settings(stop, max_tokens, seed), complete_requests)

    def continue_with(
        self, given: str | Sequence[str] | SequenceState, samples: int | None, settings: Generate, complete: Complete
    ) -> SequenceState:
        """Do the same as `__call__`, but with requests that have these `settings` and are run by `complete`."""
        state = self._state(given)
        num_samples = _num_samples(state, samples)
        first_seed = secrets.randbits(32) if settings.sampling.seed is None else settings.sampling.seed
        starts = [[self._prepared(sequence) for sequence in row] for row in state.rows]
        commands: list[Generate] = []
        for batch, row in enumerate(starts):
            for sample, start in enumerate(row):
                sampling = msgspec.structs.replace(settings.sampling, seed=first_seed + MAX_SAMPLES * batch + sample)
                n = num_samples if len(row) == 1 else 1
                commands.append(self._command(settings, start, len(commands), sampling, n))
        completed = iter(complete(self.engine, commands))
        rows: list[tuple[TokenSequence, ...]] = []
        usages: list[Usage] = []
        for given_row, row in zip(state.rows, starts, strict=True):
            continued: list[TokenSequence] = []
            for sequence, start in zip(given_row, row, strict=True):
                finished, tokens = next(completed)
                usages.append(finished.usage)
                num_kept = finished.usage.prompt_tokens - len(start.token_ids)
                continued += [
                    _continued(sequence, start, choice, sampled, num_kept)
                    for choice, sampled in zip(finished.choices, tokens, strict=True)
                ]
            rows.append(tuple(continued))
        return SequenceState(tuple(rows), _total(usages))

    def _state(self, given: str | Sequence[str] | SequenceState) -> SequenceState:
        if not isinstance(given, SequenceState):
            if not isinstance(given, str | list | tuple):
                raise TypeError(f"A generator goes on from strings and states, not from {type(given).__name__}.")
            return SequenceState.of(self.engine.model.vocabulary, given)
        if given.vocabulary is not self.engine.model.vocabulary:
            raise ValueError("This state was written by another model, whose tokens differ. Hand on its text: str(…).")
        return given

    def settings(self, stop: str | Sequence[str] | None, max_tokens: int | None, seed: int | None) -> Generate:
        """Return a request without its prompt. Raises `BadRequestError`."""
        stops = self.stop if stop is None else stop
        sampling = msgspec.to_builtins(self.sampling)
        fields = {
            "request_id": 0,
            "text": "",
            "sampling": sampling if seed is None else {**sampling, "seed": seed},
            "stop": [stops] if isinstance(stops, str) else list(stops),
            "max_tokens": self.max_tokens if max_tokens is None else max_tokens,
            # Makes the worker report log-probabilities.
            "top_logprobs": 1,
        }
        try:
            return msgspec.convert(fields, Generate)
        except msgspec.ValidationError as error:
            raise BadRequestError(verbatim(f"{error}. Correct it and ask again.")) from error

    def _command(
        self, settings: Generate, start: TokenSequence, request_id: int, sampling: Sampling, n: int
    ) -> Generate:
        """Return the request that continues a sequence."""
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

    # --- the tokens to continue ----------------------------------------------------------------------------

    def _prepared(self, sequence: TokenSequence) -> TokenSequence:
        """Return the sequence with the tokens before a prompt, and with only the text to heal after its tokens."""
        if not sequence.text:
            raise BadRequestError(verbatim("There is no text to go on from. Give at least one character."))
        vocabulary = self.engine.model.vocabulary
        ids, tail_ids, num_hidden = self._tokenized(sequence)
        # Only tokens of the tail are healed, and the model must process at least one token.
        num_healed = _num_healed(vocabulary, tail_ids if ids else tail_ids[1:])
        num_read = len(tail_ids) - num_healed
        read = (*ids, *tail_ids[:num_read])
        logprobs = (*[None] * (len(ids) - len(sequence.token_ids)), *sequence.logprobs)
        return TokenSequence(
            vocabulary,
            read,
            (*logprobs, *[None] * (len(read) - len(logprobs))),
            vocabulary.bytes_of(tail_ids[num_read:]).decode(),
            num_hidden,
            has_start=True,
        )

    def _tokenized(self, sequence: TokenSequence) -> tuple[tuple[int, ...], list[int], int]:
        """Return the tokens that are kept, those of the tail, and `num_hidden` of both together."""
        vocabulary = self.engine.model.vocabulary
        tail = sequence.tail
        if sequence.has_start:
            return sequence.token_ids, vocabulary.encode_turn(tail), sequence.num_hidden
        head = self._head()
        num_hidden = len(vocabulary.bytes_of(head))
        if sequence.token_ids:
            return (*head, *sequence.token_ids), vocabulary.encode_turn(tail), num_hidden
        # Use the tokenizer's own ids, which may begin with an added space, if it finds no control tokens in the text.
        ids = self.engine.prompt_ids(Prompt(text=tail))[len(head) :]
        data, wanted = vocabulary.bytes_of(ids), tail.encode()
        if vocabulary.control_ids.isdisjoint(ids) and data.endswith(wanted) and data.strip(b" ") == wanted.strip(b" "):
            return head, ids, num_hidden + len(data) - len(wanted)
        return head, vocabulary.encode_turn(tail), num_hidden

    def _head(self) -> tuple[int, ...]:
        """Return the control tokens that the tokenizer puts before a prompt."""
        controls = self.engine.model.vocabulary.control_ids
        return tuple(takewhile(controls.__contains__, self.engine.prompt_ids(Prompt(text="a"))))


def _num_healed(vocabulary: Vocabulary, token_ids: Sequence[int]) -> int:
    """Return how many tokens at the end of a text token healing replaces. Their bytes are whole characters."""
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
        return present
    if not 1 <= samples <= MAX_SAMPLES:
        raise BadRequestError(verbatim(f"There can be 1 to {MAX_SAMPLES} samples of a prompt, not {samples}."))
    if present not in {1, samples}:
        raise SampleMismatch(
            f"This state has {present} samples of each prompt; a generator goes on from it with as many, not with "
            f"{samples}. Take one of them, as in state[:, 0, :], to go on from it in several ways."
        )
    return samples


def _continued(
    given: TokenSequence, start: TokenSequence, choice: Choice, sampled: Sequence[Token], num_kept: int
) -> TokenSequence:
    """Return the given sequence with a finished answer. `num_kept` tokens of its tail were part of the prompt."""
    ending = Ending(choice.text, choice.reason, choice.stop, choice.seed)
    if not choice.text:
        return replace(given, ending=ending)
    new_ids = choice.turn_token_ids[num_kept:]
    # If a stop string begins inside a token, the last ids differ from the sampled ones.
    pairs = zip(new_ids, sampled, strict=False)
    logprobs = [_logprob(token) for _, token in takewhile(lambda pair: pair[0] == pair[1].id, pairs)]
    continued = replace(
        start,
        token_ids=(*start.token_ids, *choice.turn_token_ids),
        logprobs=(*start.logprobs, *[None] * num_kept, *logprobs, *[None] * (len(new_ids) - len(logprobs))),
        tail="",
        ending=ending,
    )
    text = given.text + choice.text
    # The vocabulary may have no tokens for the end of the text.
    return replace(continued, tail=text[len(continued.text) :]) if text.startswith(continued.text) else continued


def _logprob(token: Token) -> float | None:
    """Return the log-probability of a sampled token, or None if it was forced. The worker reports -inf as None."""
    if token.origin == "forced":
        return None
    return -math.inf if token.logprob is None else token.logprob


# --- requests ------------------------------------------------------------------------------------------------


def complete_requests(engine: Engine, commands: Sequence[Generate]) -> list[Completed]:
    """Run requests as one batch by stepping the engine. Raises the error of the first request that fails."""
    if engine.is_busy:
        raise RuntimeError("The engine is answering something else. Wait for it, or load the model a second time.")
    tickets = [Ticket(command.request_id) for command in commands]
    tokens: dict[RequestId | None, list[list[Token]]] = {
        command.request_id: [[] for _ in range(command.n)] for command in commands
    }
    ends: dict[RequestId | None, Finished | Failed] = {}
    try:
        for command, ticket in zip(commands, tickets, strict=True):
            engine.add(command, ticket)
        while engine.is_busy:
            for event in engine.step():
                match event:
                    case Chunk():
                        tokens[event.request_id][event.choice] += event.tokens
                    case Retract():
                        sampled = tokens[event.request_id][event.choice]
                        del sampled[len(sampled) - event.num_tokens :]
                    case Finished() | Failed():
                        ends[event.request_id] = event
                    case _:
                        pass
    except BaseException:
        # Leave the engine idle, so that the caller can continue after Ctrl+C.
        for ticket in tickets:
            ticket.cancel()
        while engine.is_busy:
            engine.step()
        raise
    completed: list[Completed] = []
    for command in commands:
        end = ends[command.request_id]
        if isinstance(end, Failed):
            raise _ERRORS.get(end.kind, WorkerError)(end.sentence)
        completed.append((end, tokens[command.request_id]))
    return completed


def _total(usages: Sequence[Usage]) -> Usage:
    """Add up the usage of several requests. Peak memory is the maximum."""
    names = [name for name in Usage.__struct_fields__ if name not in {"peak_memory_bytes", "is_cached_known"}]
    return Usage(
        **{name: sum(getattr(usage, name) for usage in usages) for name in names},
        peak_memory_bytes=max((usage.peak_memory_bytes for usage in usages), default=0),
        is_cached_known=all(usage.is_cached_known for usage in usages),
    )
