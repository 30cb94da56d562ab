"""Prompts in any of their forms as ids, and which are refused; it knows what a model can read, not what it has read."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from worker.errors import BadRequestError, ContextOverflowError
from worker.language_model import LanguageModel
from worker.protocol import Generate, Prompt

_MANY_CHARS_A_TOKEN = 16
"""More than nearly all text has."""


class Prompts:
    """The prompts of one model."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    def ids(self, prompt: Prompt) -> list[int]:
        """Return the ids of a prompt in any of its forms. Raises `BadRequestError`."""
        model = self._model
        if prompt.messages is not UNSET:
            options = prompt.template_options if prompt.template_options is not UNSET else {}
            ids = model.chat_template.prompt_ids(prompt.messages, options)
        elif prompt.text is not UNSET:
            # Other than `encode`, a batch lets other threads run meanwhile; megabytes take seconds.
            ids = list(model.tokenizer.encode_batch_fast([prompt.text])[0].ids)
        else:
            ids = list(prompt.token_ids) if prompt.token_ids is not UNSET else []
        if not ids:
            raise BadRequestError("The prompt is empty. Send at least one token of text.")
        self.check(ids, "token_ids" if prompt.token_ids is not UNSET else "text")
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
