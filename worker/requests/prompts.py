"""Prompts in any of their forms as ids, and which are refused; it knows what a model can read, not what it has read."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

from msgspec import UNSET
from msgspec.structs import replace

from worker.errors import BadRequestError, ContextOverflowError
from worker.language_model import LanguageModel
from worker.protocol import Generate, Message, Plan, Prompt
from worker.templates.context_window import first_kept, num_system
from worker.templates.memo import Memo
from worker.templates.turn import Turn

_MANY_CHARS_A_TOKEN = 16
"""More than nearly all text has."""

_MOST_TEXT_BYTES = 16 << 20
"""Of raw prompts that are remembered with their ids."""

_ROOM = 512
"""Tokens that an answer finds room for where nobody says how long it may become, or a quarter of a small context."""
_MOST_WEIGHED = 1 << 16
"""Messages whose weight is remembered."""


class Prompts:
    """The prompts of one model."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._texts: Memo[str, array[int]] = Memo(_MOST_TEXT_BYTES)
        self._weights: Memo[Turn, int] = Memo(_MOST_WEIGHED)

    def ids(self, prompt: Prompt) -> list[int]:
        """Return the ids of a prompt in any of its forms. Raises `BadRequestError`."""
        return self._known_ids(prompt).tolist()

    def count(self, prompt: Prompt) -> int:
        """Return how many tokens a prompt has. Raises `BadRequestError`."""
        return len(self._known_ids(prompt))

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

    def fitted(self, request: Generate, num_given: int) -> tuple[Generate, int]:
        """Return a request without its oldest turns, if that is asked for and they do not fit, and how many messages.

        `num_given`: the tokens that its answer begins with. Raises `ContextOverflowError` where not even the last
        question fits.
        """
        messages = request.messages
        if request.overflow == "fail" or messages is UNSET or not messages:
            return request, 0
        context = self._model.context_length
        options = request.template_options if request.template_options is not UNSET else {}
        template = self._model.chat_template
        turns = template.turns(messages)
        weights = self._weigh(turns)
        start = num_system(messages)

        def kept(first: int) -> list[Message]:
            return [*messages[:start], *messages[first:]]

        def length(first: int) -> int:
            about = sum(weights[:start]) + sum(weights[first:])
            # What is far too long is not even rendered.
            is_far = about > 2 * context
            return num_given + (about if is_far else len(template.ids_of((*turns[:start], *turns[first:]), options)))

        room = min(_ROOM, context // 4) if request.max_tokens is None else min(request.max_tokens, context // 2)
        first = first_kept(messages, weights, max(1, (context - room) // 4), lambda at: length(at) + room <= context)
        if first is None:
            # The last question stays, however little room there is for its answer.
            first = max((at for at, message in enumerate(messages) if message.role == "user"), default=start)
            first = max(first, start)
            self.room(length(first))
        return replace(request, messages=kept(first)), first - start

    def _weigh(self, turns: Sequence[Turn]) -> list[int]:
        """About how many tokens each message has, of what is said again: the same whatever stands beside it."""
        known = [self._weights.get(turn) for turn in turns]
        most = self._model.context_length * _MANY_CHARS_A_TOKEN
        texts = [
            (turn.answer.text if turn.answer is not None else turn.text)[: 2 * most]
            for turn, weight in zip(turns, known, strict=True)
            if weight is None
        ]
        # Several are tokenized at once.
        encoded = iter(self._model.tokenizer.encode_batch_fast(texts, add_special_tokens=False))
        weights: list[int] = []
        for turn, weight in zip(turns, known, strict=True):
            if weight is None:
                weight = 1 + len(next(encoded).ids)
                self._weights.put(turn, weight, 1)
            weights.append(weight)
        return weights

    def refuse_far_too_long(self, request: Generate) -> None:
        """Megabytes take seconds to tokenize, in which nobody is heard: look at a beginning of them first."""
        texts: list[str] = []
        # Of messages that may be dropped, as many are looked at as fit.
        if request.messages is not UNSET and request.overflow == "fail":
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
