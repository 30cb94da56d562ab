"""Beams: a generator that returns the likeliest texts as wholes; it knows the engine by its model and its cache."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
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
from worker.states.generator import MOST_SAMPLES, Generator
from worker.states.sequence_state import SequenceState
from worker.states.token_sequence import TokenSequence

MOST_BEAMS = MOST_SAMPLES


@dataclass(frozen=True)
class Beams:
    """Goes on from texts and states by beam search; it is called as any `Generator` is, but for the seed.

    What is returned has the best `samples` beams of each prompt as its samples, best first; fewer where a form leaves
    fewer ways to go on. Of a state that has several samples already each is gone on from by itself.

    **Scores.** A beam's log-probability is the sum of those of all tokens that were drawn for it, by the model alone,
    before any constraint: what a form forces counts, and so do the end of the turn and what a stop string cut off.
    That is its weight in the state that is returned (on top of what the given one weighed). Beams are ranked by it, so
    that long ones are as a rule behind short ones; with a `length_penalty` they are ranked by

        log-probability / (number of tokens drawn, the end included) ** length_penalty

    where 1 ranks by the mean a token, and the weights stay what they are.
    """

    generator: Generator
    """The form of what is new, and where it ends."""
    width: int = 4
    """How many beams go on at each step."""
    samples: int | None = None
    """How many are returned if a call does not say; None: one of each prompt or sample."""
    length_penalty: float = 0.0

    def __post_init__(self) -> None:
        """Raises a `WorkerError` that says what can't be used."""
        if not 1 <= self.width <= MOST_BEAMS:
            raise BadRequestError(verbatim(f"There can be 1 to {MOST_BEAMS} beams, not {self.width}."))
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
        """Return `given` with the best ways to go on, shape [batch, samples].

        `samples`, `stop`, `max_tokens`: in place of its own, this time. Raises `SampleMismatch`, and a `WorkerError`
        where it can't be answered.
        """
        samples = self.samples if samples is None else samples
        self._check(samples)
        found: list[Beam] = []

        def answer(engine: Engine, commands: Sequence[Generate]) -> list[tuple[Finished, list[list[Token]]]]:
            if engine.is_busy:
                raise RuntimeError(
                    "The engine is answering something else. Wait for it, or load the model a second time."
                )
            prompts = Prompts(engine.model)
            searched = [self._searched(engine, command, prompts) for command in commands]
            # All prompts have as many.
            num = min(len(beams) for beams, _ in searched)
            found.extend(beam for beams, _ in searched for beam in beams[:num])
            return [
                _answered(command, beams[:num], usage)
                for command, (beams, usage) in zip(commands, searched, strict=True)
            ]

        state = self.generator.go_on(given, samples, self.generator.settings(stop, max_tokens, 0), answer)
        beams = iter(found)
        return SequenceState(
            tuple(tuple(_weighed(sequence, next(beams)) for sequence in row) for row in state.rows), state.usage
        )

    def _searched(self, engine: Engine, command: Generate, prompts: Prompts) -> tuple[list[Beam], Usage]:
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


def _answered(command: Generate, beams: Sequence[Beam], usage: Usage) -> tuple[Finished, list[list[Token]]]:
    """As a request's end that has these choices, and the tokens that were drawn for each."""
    choices = [beam.answer.choice(0) for beam in beams]
    end = Finished(request_id=command.request_id, choices=choices, usage=usage, timing=Timing())
    return end, [list(_tokens(beam)) for beam in beams]


def _tokens(beam: Beam) -> Iterator[Token]:
    for token_id, logprob, origin in zip(beam.answer.token_ids, beam.answer.logprobs, beam.answer.origins, strict=True):
        yield Token(id=token_id, logprob=logprob, origin=origin)


def _weighed(sequence: TokenSequence, beam: Beam) -> TokenSequence:
    """The same, whose end weighs what of the beam's log-probability its tokens do not."""
    assert sequence.ending is not None
    answer = beam.answer
    stand = zip(answer.turn_ids[len(answer.kept_ids) :], answer.token_ids, answer.logprobs, strict=False)
    kept = [each[2] or 0.0 for each in takewhile(lambda each: each[0] == each[1], stand)]
    logprob = beam.logprob - math.fsum(kept if answer.text else [])
    return replace(sequence, ending=replace(sequence.ending, logprob=logprob))
