"""The model of the library: makes states from texts and chats, and generators that continue them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from worker.errors import BadRequestError
from worker.protocol import Constraint, Message, Prompt, Sampling
from worker.requests.engine import Engine
from worker.sentence import verbatim
from worker.states.beams import Beams
from worker.states.generator import Generator
from worker.states.sequence_state import SequenceState
from worker.states.token_sequence import TokenSequence

_GREEDY = Sampling()


class LocalModel:
    """A loaded model with its prompt cache. MLX requires that it is used only in the thread that opened it."""

    def __init__(self, engine: Engine) -> None:
        """`engine` must not be used by anyone else."""
        self._engine = engine

    # --- states --------------------------------------------------------------------------------------------

    def state(self, texts: str | Sequence[str]) -> SequenceState:
        """Return a text, or a batch of texts, as a state. Control tokens in it are plain text."""
        return SequenceState.of(self._engine.model.vocabulary, texts)

    def chat(self, messages: str | Sequence[Message | Mapping[str, Any]], **template_options: Any) -> SequenceState:
        """Return a conversation, rendered by the model's chat template up to the next answer.

        `messages`: each has `role` and `content`, and the last one is a question. A string is a single question.
        """
        if isinstance(messages, str):
            messages = [Message(role="user", content=messages)]
        fields = {"messages": msgspec.to_builtins(list(messages)), "template_options": template_options}
        try:
            prompt = msgspec.convert(fields, Prompt)
        except msgspec.ValidationError as error:
            raise BadRequestError(verbatim(f"{error}. Correct it and ask again.")) from error
        ids = self._engine.prompt_ids(prompt)
        sequence = TokenSequence(self._engine.model.vocabulary, tuple(ids), (None,) * len(ids), has_start=True)
        return SequenceState(((sequence,),))

    # --- generators ----------------------------------------------------------------------------------------

    def text(
        self, *, sampling: Sampling = _GREEDY, stop: str | Sequence[str] = (), max_tokens: int | None = None
    ) -> Generator:
        """Return a generator of free text, up to the model's end of turn, a stop string, or `max_tokens`."""
        return self._generator(None, sampling, stop, max_tokens)

    def choice(self, choices: Sequence[str], *, sampling: Sampling = _GREEDY) -> Generator:
        """Return a generator of one of these texts."""
        # `list` would split a string into letters; the constraint refuses it instead.
        value = choices if isinstance(choices, str) else list(choices)
        return self._generator(Constraint(kind="choice", value=value), sampling)

    def regex(
        self,
        pattern: str,
        *,
        sampling: Sampling = _GREEDY,
        stop: str | Sequence[str] = (),
        max_tokens: int | None = None,
    ) -> Generator:
        """Return a generator of texts that match a whole regular expression."""
        return self._generator(Constraint(kind="regex", value=pattern), sampling, stop, max_tokens)

    def json(
        self, schema: Mapping[str, Any] | str, *, sampling: Sampling = _GREEDY, max_tokens: int | None = None
    ) -> Generator:
        """Return a generator of JSON that conforms to a JSON schema."""
        value = schema if isinstance(schema, str) else dict(schema)
        return self._generator(Constraint(kind="json_schema", value=value), sampling, (), max_tokens)

    def grammar(
        self,
        lark: str,
        *,
        sampling: Sampling = _GREEDY,
        stop: str | Sequence[str] = (),
        max_tokens: int | None = None,
    ) -> Generator:
        """Return a generator of texts that conform to a Lark grammar."""
        return self._generator(Constraint(kind="lark", value=lark), sampling, stop, max_tokens)

    def beams(
        self,
        *,
        width: int = 4,
        samples: int | None = None,
        constraint: Constraint | None = None,
        stop: str | Sequence[str] = (),
        max_tokens: int | None = None,
        length_penalty: float = 0.0,
    ) -> Beams:
        """Return a generator that uses beam search. It returns the best `samples` of `width` beams (see `Beams`)."""
        return Beams(self._generator(constraint, _GREEDY, stop, max_tokens), width, samples, length_penalty)

    def _generator(
        self,
        constraint: Constraint | None,
        sampling: Sampling,
        stop: str | Sequence[str] = (),
        max_tokens: int | None = None,
    ) -> Generator:
        stops = (stop,) if isinstance(stop, str) else tuple(stop)
        return Generator(self._engine, constraint, sampling, stops, max_tokens)
