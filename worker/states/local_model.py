"""A model as a library sees it: texts and chats as states, and generators that go on from them.

It knows no window, no transport and no other thread: what it is asked for is done when it returns.
"""

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
    """One loaded model, with all that it has read. Use it from the thread that opened it, as MLX demands."""

    def __init__(self, engine: Engine) -> None:
        """`engine` is this one's alone: whoever steps it takes all of its events."""
        self._engine = engine

    # --- where to begin ------------------------------------------------------------------------------------

    def state(self, texts: str | Sequence[str]) -> SequenceState:
        """Return a text, or a batch of several, as a state. Control tokens that are written in it are plain text."""
        return SequenceState.of(self._engine.model.vocabulary, texts)

    def chat(self, messages: str | Sequence[Message | Mapping[str, Any]], **template_options: Any) -> SequenceState:
        """Return a conversation in the model's own form, up to where its answer begins.

        `messages`: each with `role` and `content`, the last one a question; a string is a question alone.
        """
        if isinstance(messages, str):
            messages = [Message(role="user", content=messages)]
        fields = {"messages": msgspec.to_builtins(list(messages)), "template_options": template_options}
        try:
            prompt = msgspec.convert(fields, Prompt)
        except msgspec.ValidationError as error:
            raise BadRequestError(verbatim(f"{error}. Correct it and ask again.")) from error
        ids = self._engine.prompt_ids(prompt)
        sequence = TokenSequence(self._engine.model.vocabulary, tuple(ids), (None,) * len(ids), is_begun=True)
        return SequenceState(((sequence,),))

    # --- how to go on --------------------------------------------------------------------------------------

    def text(
        self, *, sampling: Sampling = _GREEDY, stop: str | Sequence[str] = (), max_tokens: int | None = None
    ) -> Generator:
        """Return a generator of whatever comes next, until the model ends it, or a stop string or `max_tokens` do."""
        return self._generator(None, sampling, stop, max_tokens)

    def choice(self, choices: Sequence[str], *, sampling: Sampling = _GREEDY) -> Generator:
        """Return a generator of one of these texts."""
        # A string would be taken apart into letters.
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
        """Return a generator of texts that a regular expression matches whole."""
        return self._generator(Constraint(kind="regex", value=pattern), sampling, stop, max_tokens)

    def json(
        self, schema: Mapping[str, Any] | str, *, sampling: Sampling = _GREEDY, max_tokens: int | None = None
    ) -> Generator:
        """Return a generator of JSON that a schema describes."""
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
        """Return a generator of texts that a grammar in Lark's form describes."""
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
        """Return a generator of what is likeliest as a whole, by beam search: the best `samples` of `width` beams."""
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
