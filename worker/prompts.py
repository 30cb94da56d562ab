"""Prompts in any of their forms as ids, and which are refused; it knows what a model can read, not what it has read."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

from msgspec import UNSET

from worker.errors import BadRequestError, ContextOverflowError
from worker.language_model import LanguageModel
from worker.memo import Memo
from worker.protocol import Generate, Plan, Prompt

_MANY_CHARS_A_TOKEN = 16
"""More than nearly all text has."""

_MOST_TEXT_BYTES = 16 << 20
"""Of raw prompts that are remembered with their ids."""


class Prompts:
    """The prompts of one model."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._texts: Memo[str, array[int]] = Memo(_MOST_TEXT_BYTES)

    def ids(self, prompt: Prompt) -> list[int]:
        """Return the ids of a prompt in any of its forms. Raises `BadRequestError`."""
        return self._known_ids(prompt).tolist()

    def planned(self, command: Plan) -> Iterator[array[int]]:
        """Yield the ids of each prompt of a plan; nobody may change them. Raises `BadRequestError`."""
        if command.prompts is not UNSET:
            for prompt in command.prompts:
                yield self._known_ids(prompt)
        if command.messages is not UNSET and command.paths is not UNSET:
            template = self._model.chat_template
            options = command.template_options if command.template_options is not UNSET else {}
            turns = template.turns(command.messages)
            for path in command.paths:
                yield self._not_empty(template.ids_of(tuple([turns[place] for place in path]), options))

    def _known_ids(self, prompt: Prompt) -> array[int]:
        """The ids of a prompt as they are remembered."""
        template = self._model.chat_template
        if prompt.messages is not UNSET:
            options = prompt.template_options if prompt.template_options is not UNSET else {}
            # These are ids of the vocabulary, which is as large as the model's.
            return self._not_empty(template.ids_of(template.turns(prompt.messages), options))
        if prompt.text is not UNSET:
            ids = self._texts.get(prompt.text)
            if ids is None:
                # Other than `encode`, a batch lets other threads run meanwhile; megabytes take seconds.
                ids = array("I", self._model.tokenizer.encode_batch_fast([prompt.text])[0].ids)
                self.check(ids, "text")
                self._texts.put(prompt.text, ids, len(prompt.text) + 4 * len(ids))
            return self._not_empty(ids)
        given = prompt.token_ids if prompt.token_ids is not UNSET else []
        self.check(given, "token_ids")
        return self._not_empty(array("I", given))

    def _not_empty(self, ids: array[int]) -> array[int]:
        if not ids:
            raise BadRequestError("The prompt is empty. Send at least one token of text.")
        return ids

    def check(self, token_ids: Sequence[int], name: str) -> None:
        """Refuse ids that the model has no embedding of: they would read memory that is none of theirs."""
        highest = max(token_ids, default=0)
        if highest >= self._model.vocab_size:
            raise BadRequestError(
                f"`{name}` holds {highest}, but the model's vocabulary ends at {self._model.vocab_size - 1}. "
                "Use ids of the loaded model."
            )

    def room(self, num_tokens: int) -> int:
        """Return how many tokens fit behind so many. Raises `ContextOverflowError` where none do."""
        room = self._model.context_length - num_tokens
        if room <= 0:
            raise self._overflow(f"{num_tokens:,}")
        return room

    def refuse_far_too_long(self, request: Generate) -> None:
        """Megabytes take seconds to tokenize, in which nobody is heard: look at a beginning of them first."""
        texts: list[str] = []
        if request.messages is not UNSET:
            if len(request.messages) > self._model.context_length:
                # A message is a token at least.
                raise self._overflow(f"at least {len(request.messages):,}")
            # What the model wrote may be dropped by its template.
            texts += [message.content for message in request.messages if message.role != "assistant"]
        if request.text is not UNSET:
            texts.append(request.text)
        if request.continuation is not None and request.continuation.text is not UNSET:
            texts.append(request.continuation.text)
        most = self._model.context_length * _MANY_CHARS_A_TOKEN
        for text in texts:
            if len(text) > 2 * most:
                beginning = self._model.tokenizer.encode_batch_fast([text[:most]], add_special_tokens=False)[0]
                if len(beginning.ids) > self._model.context_length:
                    raise self._overflow(f"about {len(beginning.ids) * len(text) // most:,}")

    def _overflow(self, num_tokens: str) -> ContextOverflowError:
        return ContextOverflowError(
            f"The prompt has {num_tokens} tokens; the model's context holds {self._model.context_length:,} "
            "with the answer. Shorten the message, or go on from an earlier one."
        )
