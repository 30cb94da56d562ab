"""Beams: a generator that returns the texts that are most likely as a whole, by beam search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from msgspec.structs import replace as with_fields

from worker.errors import BadRequestError
from worker.protocol import Finished, Generate, Timing, Token, Usage
from worker.requests.engine import Engine
from worker.requests.prompts import Prompts
from worker.requests.request import Request, Ticket
from worker.sentence import verbatim
from worker.states.beam_search import Beam, BeamSearch
from worker.states.generator import MAX_SAMPLES, Completed, Generator
from worker.states.sequence_state import SequenceState
from worker.states.token_sequence import TokenSequence

MAX_BEAMS = MAX_SAMPLES


@dataclass(frozen=True)
class Beams:
    """Continues texts and states by beam search. It is called like a `Generator`, but without a seed.

    The best `samples` beams of each prompt become its samples, best first. There are fewer if the answer format allows
    fewer texts. If the given state has several samples, each of them is continued separately.

    **Scores.** A beam's log-probability is the sum of those of all its tokens. It uses the model's probabilities,
    before constraints, and includes forced tokens, the end of the turn and the tokens of a stop string. It is added to
    the weight of the given sequence. Beams are ranked by it, so short beams usually come first. With a
    `length_penalty`, they are ranked by

        log-probability / (number of tokens, including the end) ** length_penalty

    A penalty of 1 ranks by the mean of the tokens. The weights do not depend on it.
    """

    generator: Generator
    """The answer format of the new text, and conditions to end."""
    width: int = 4
    """How many beams continue at each step."""
    samples: int | None = None
    """How many beams a call returns by default; None means one for each prompt or sample."""
    length_penalty: float = 0.0

    def __post_init__(self) -> None:
        """Raises a `WorkerError` if a setting is invalid."""
        if not 1 <= self.width <= MAX_BEAMS:
            raise BadRequestError(verbatim(f"There can be 1 to {MAX_BEAMS} beams, not {self.width}."))
        if not math.isfinite(self.length_penalty):
            raise BadRequestError(verbatim(f"The length penalty is a number, not {self.length_penalty}."))
        self._check(self.samples)

    def _check(self, samples: int | None) -> None:
        if samples is not None and not 1 <= samples <= self.width:
            raise BadRequestError(
                verbatim(
                    f"Of {self.width} beams 1 to {self.width} can be returned, not {samples}. Ask for fewer, or search "
                    "with a greater width."
                )
            )

    def __call__(
        self,
        given: str | Sequence[str] | SequenceState,
        *,
        samples: int | None = None,
        stop: str | Sequence[str] | None = None,
        max_tokens: int | None = None,
    ) -> SequenceState:
        """Return `given` with its best continuations, shape [batch, samples].

        `samples`, `stop`, `max_tokens` replace the defaults for this call. Raises `SampleMismatch`, or the
        `WorkerError` with which a search failed.
        """
        samples = self.samples if samples is None else samples
        self._check(samples)
        found: list[Beam] = []

        def search(engine: Engine, commands: Sequence[Generate]) -> list[Completed]:
            if engine.is_busy:
                raise RuntimeError(
                    "The engine is answering something else. Wait for it, or load the model a second time."
                )
            prompts = Prompts(engine.model)
            results = [self._search(engine, command, prompts) for command in commands]
            # All prompts must have the same number of samples.
            num = min(len(beams) for beams, _ in results)
            found.extend(beam for beams, _ in results for beam in beams[:num])
            return [
                _completed(command, beams[:num], usage)
                for command, (beams, usage) in zip(commands, results, strict=True)
            ]

        state = self.generator.continue_with(given, samples, self.generator.settings(stop, max_tokens, 0), search)
        beams = iter(found)
        return SequenceState(
            tuple(tuple(_with_weight(sequence, next(beams)) for sequence in row) for row in state.rows), state.usage
        )

    def _search(self, engine: Engine, command: Generate, prompts: Prompts) -> tuple[list[Beam], Usage]:
        request = Request(with_fields(command, n=1), Ticket(command.request_id), prompts, engine.model)
        search = BeamSearch(
            engine.model,
            engine.cache,
            request.sequence,
            request.writings[0].answer,
            request.num_left(0),
            width=self.width,
            num_best=command.n,
            length_penalty=self.length_penalty,
        )
        beams = search.run()
        return beams, Usage(
            prompt_tokens=len(request.sequence),
            cached_tokens=search.num_kept,
            prefilled_tokens=len(request.sequence) - search.num_kept,
            generated_tokens=sum(len(beam.answer.token_ids) for beam in beams),
        )


def _completed(command: Generate, beams: Sequence[Beam], usage: Usage) -> Completed:
    """Return a finished request whose choices are the beams."""
    choices = [beam.answer.choice(0) for beam in beams]
    end = Finished(request_id=command.request_id, choices=choices, usage=usage, timing=Timing())
    tokens = [
        [
            Token(id=token_id, logprob=logprob, origin=origin)
            for token_id, logprob, origin in zip(answer.token_ids, answer.logprobs, answer.origins, strict=True)
        ]
        for answer in (beam.answer for beam in beams)
    ]
    return end, tokens


def _with_weight(sequence: TokenSequence, beam: Beam) -> TokenSequence:
    """Return the sequence with an ending that has the rest of the beam's log-probability, beyond that of its tokens."""
    assert sequence.ending is not None
    answer = beam.answer
    pairs = zip(answer.turn_ids[len(answer.kept_ids) :], answer.token_ids, answer.logprobs, strict=False)
    kept = [each[2] or 0.0 for each in takewhile(lambda each: each[0] == each[1], pairs)]
    logprob = beam.logprob - math.fsum(kept if answer.text else [])
    return replace(sequence, ending=replace(sequence.ending, logprob=logprob))
