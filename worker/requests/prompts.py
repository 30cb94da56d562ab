"""Turns prompts in all their forms into token ids, and refuses invalid ones. Independent of the cache."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from msgspec import UNSET
from msgspec.structs import replace

from worker.errors import BadRequestError, ContextOverflowError
from worker.language_model import LanguageModel
from worker.protocol import Generate, Message, Plan, Prompt
from worker.sentence import Sentence, verbatim
from worker.templates.changes import changed
from worker.templates.memo import Memo
from worker.templates.turn import Turn, texts_of
from worker.text.tokenizing import ids_of_all, plain_ids

_MAX_CHARS_PER_TOKEN = 16
"""Almost all text has fewer characters per token."""

_MAX_TEXT_BYTES = 16 << 20
"""Limit of the text of raw prompts that are kept with their ids."""

_ROOM = 512
"""Tokens left free for an answer without `max_tokens`, but at most a quarter of the context."""
_MAX_WEIGHTS = 1 << 16
"""The number of messages whose length in tokens is kept."""


class Prompts:
    """Turns the prompts for one model into ids."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._texts: Memo[str, array[int]] = Memo(_MAX_TEXT_BYTES)
        self._weights: Memo[Turn, int] = Memo(_MAX_WEIGHTS)

    def ids(self, prompt: Prompt) -> list[int]:
        """Return the token ids of a prompt in any of its forms. Raises `BadRequestError`."""
        return self._known_ids(prompt).tolist()

    def count(self, prompt: Prompt) -> int:
        """Return how many tokens a prompt has. Raises `BadRequestError`."""
        return len(self._known_ids(prompt))

    def planned(self, command: Plan) -> Iterator[array[int]]:
        """Yield the ids of each prompt of a plan, which must not be changed. Raises `BadRequestError`."""
        patience = self._model.vocabulary.patience
        if command.prompts is not UNSET:
            for prompt in command.prompts:
                yield self._known_ids(prompt)
                if patience is not None:
                    patience.pause()
        if command.messages is not UNSET and command.paths is not UNSET:
            template = self._model.chat_template
            options = command.template_options if command.template_options is not UNSET else {}
            turns = template.turns(command.messages)
            for path in command.paths:
                yield self._not_empty(template.ids_of(tuple([turns[index] for index in path]), options, command.tools))
                if patience is not None:
                    patience.pause()

    def _known_ids(self, prompt: Prompt) -> array[int]:
        """Return the ids of a prompt, from the memo if it has them. They must not be changed."""
        template = self._model.chat_template
        if prompt.messages is not UNSET:
            options = prompt.template_options if prompt.template_options is not UNSET else {}
            # These ids come from the vocabulary, so they need no check.
            return self._not_empty(template.ids_of(template.turns(prompt.messages), options, prompt.tools))
        if prompt.text is not UNSET:
            ids = self._texts.get(prompt.text)
            if ids is None:
                found = plain_ids(
                    self._model.tokenizer,
                    prompt.text,
                    add_special_tokens=True,
                    patience=self._model.vocabulary.patience,
                )
                ids = array("I", found)
                self.check(ids, "text")
                self._texts.put(prompt.text, ids, len(prompt.text) + 4 * len(ids))
            return self._not_empty(ids)
        given = prompt.token_ids if prompt.token_ids is not UNSET else []
        self.check(given, "token_ids")
        return self._not_empty(array("I", given))

    def _not_empty(self, ids: array[int]) -> array[int]:
        if not ids:
            raise BadRequestError(Sentence("The prompt is empty. Enter some text."))
        return ids

    def changes(self, prompt: Prompt) -> list[Sentence]:
        """Return sentences about text that the model's files leave out or change; usually none."""
        if prompt.messages is not UNSET:
            template = self._model.chat_template
            options = prompt.template_options if prompt.template_options is not UNSET else {}
            return template.changes(template.turns(prompt.messages), options, prompt.tools)
        if prompt.text is not UNSET:
            vocabulary = self._model.vocabulary
            # Control tokens that the text does not contain are the tokenizer's own, at its beginning or end.
            texts = {token_id: text for text, token_id in vocabulary.control_texts.items()}
            added = {token_id for token_id in vocabulary.control_ids if texts.get(token_id, "\0") not in prompt.text}
            ids = [token_id for token_id in self._known_ids(prompt) if token_id not in added]
            sentence = changed(prompt.text, vocabulary.text_of(ids))
            return [] if sentence is None else [sentence]
        return []

    def opens_reasoning(self, prompt: Prompt) -> bool:
        """Return whether a prompt of messages ends inside the reasoning. Raises `BadRequestError`."""
        if prompt.messages is UNSET:
            return False
        template = self._model.chat_template
        options = prompt.template_options if prompt.template_options is not UNSET else {}
        return template.opens_reasoning(template.turns(prompt.messages), options, prompt.tools)

    def check(self, token_ids: Sequence[int], name: str) -> None:
        """Raise `BadRequestError` for ids without an embedding, which would read memory out of bounds."""
        highest = max(token_ids, default=0)
        if highest >= self._model.vocab_size:
            raise BadRequestError(
                verbatim(
                    f"`{name}` contains {highest}, but the vocabulary of the model ends at "
                    f"{self._model.vocab_size - 1}. Use token ids of the loaded model."
                )
            )

    def room(self, num_tokens: int) -> int:
        """Return how many tokens fit in the context after `num_tokens`. Raises `ContextOverflowError` if none do."""
        room = self._model.context_length - num_tokens
        if room <= 0:
            raise self._overflow(verbatim(f"{num_tokens:,}"))
        return room

    def fitted(self, request: Generate, num_given: int) -> tuple[Generate, int]:
        """Drop the request's oldest turns if the prompt does not fit and the request allows this.

        Returns the request and the number of dropped messages. `num_given` is the number of tokens that its answer
        begins with. Raises `ContextOverflowError` if not even the last question fits.
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
            estimate = sum(weights[:start]) + sum(weights[first:])
            # Don't render a conversation that is far too long.
            is_far = estimate > 2 * context
            return num_given + (
                estimate if is_far else len(template.ids_of((*turns[:start], *turns[first:]), options, request.tools))
            )

        room = min(_ROOM, context // 4) if request.max_tokens is None else min(request.max_tokens, context // 2)
        first = first_kept(messages, weights, max(1, (context - room) // 4), lambda at: length(at) + room <= context)
        if first is None:
            # Keep the last question, however little room there is for its answer.
            first = max((at for at, message in enumerate(messages) if message.role == "user"), default=start)
            first = max(first, start)
            self.room(length(first))
        return replace(request, messages=kept(first)), first - start

    def _weigh(self, turns: Sequence[Turn]) -> list[int]:
        """Estimate the number of tokens of each turn, independent of its neighbours."""
        known = [self._weights.get(turn) for turn in turns]
        max_chars = self._model.context_length * _MAX_CHARS_PER_TOKEN
        texts = [
            (turn.answer.text if turn.answer is not None else turn.text)[: 2 * max_chars]
            for turn, weight in zip(turns, known, strict=True)
            if weight is None
        ]
        encoded = iter(ids_of_all(self._model.tokenizer, texts, patience=self._model.vocabulary.patience))
        weights: list[int] = []
        for turn, weight in zip(turns, known, strict=True):
            if weight is None:
                weight = 1 + len(next(encoded))
                self._weights.put(turn, weight, 1)
            weights.append(weight)
        return weights

    def refuse_far_too_long(self, request: Generate) -> None:
        """Raise `ContextOverflowError` early for texts that are far too long.

        Tokenizing megabytes takes seconds, during which no command is read. So only the beginning is tokenized here.
        """
        texts: list[str] = []
        # With `overflow: "drop_oldest"`, messages are dropped until they fit.
        if request.messages is not UNSET and request.overflow == "fail":
            # The template may drop parts of the model's own turns.
            texts += [message.content for message in request.messages if message.role != "assistant"]
            # Each message, call and tool has at least one token.
            num_tokens = sum(1 + len(message.tool_calls) for message in request.messages) + len(request.tools)
            if num_tokens > self._model.context_length:
                raise self._overflow(Sentence("at least {num_tokens}", num_tokens=num_tokens))
            texts += ["".join(texts_of(tool.parameters)) + tool.description for tool in request.tools]
        if request.text is not UNSET:
            texts.append(request.text)
        if request.continuation is not None and request.continuation.text is not UNSET:
            texts.append(request.continuation.text)
        max_chars = self._model.context_length * _MAX_CHARS_PER_TOKEN
        if sum(map(len, texts)) > 2 * max_chars:
            texts = ["\n".join(texts)]
        for text in texts:
            if len(text) > 2 * max_chars:
                beginning = plain_ids(self._model.tokenizer, text[:max_chars], patience=self._model.vocabulary.patience)
                if len(beginning) > self._model.context_length:
                    num_tokens = len(beginning) * len(text) // max_chars
                    raise self._overflow(Sentence("about {num_tokens}", num_tokens=num_tokens))

    def _overflow(self, num_tokens: Sentence) -> ContextOverflowError:
        return ContextOverflowError(
            Sentence(
                "The prompt has {num_tokens} tokens, but the context of the model holds {context_length} tokens, "
                "the answer included. Shorten the message, or continue from an earlier one.",
                num_tokens=num_tokens,
                context_length=self._model.context_length,
            )
        )


# --- dropping the oldest turns -----------------------------------------------------------------------------
# The model must process everything after a dropped turn again. So turns are dropped in blocks, and the new beginning
# depends only on the messages before it. Then the next prompts begin at the same message.


def num_system(messages: Sequence[Message]) -> int:
    """Return how many system messages are at the beginning. They are never dropped."""
    return next((index for index, message in enumerate(messages) if message.role != "system"), len(messages))


def beginnings(messages: Sequence[Message], weights: Sequence[int], block: int) -> list[int]:
    """Return the indices of messages at which a conversation may continue after its system prompt, best first.

    At the first index, nothing is dropped. Then come the first questions after each `block` of the messages' weight,
    and then all questions after the last of these. So the last question is always kept.
    """
    start = num_system(messages)
    before = [0, *accumulate(weights)]
    questions = [index for index, message in enumerate(messages) if message.role == "user" and index > start]
    found = [start]
    reached = block
    for question in questions:
        weight = before[question] - before[start]
        if weight >= reached:
            found.append(question)
            reached = (weight // block + 1) * block
    return found + [question for question in questions if question > found[-1]]


def first_kept(
    messages: Sequence[Message], weights: Sequence[int], block: int, fits: Callable[[int], bool]
) -> int | None:
    """Return the index of the message that follows the system prompt after dropping; None if nothing fits.

    `weights`: estimated tokens of each message. `fits(first)` returns whether the system prompt and the messages from
    `first` on fit. If they do, shorter ones are assumed to fit as well.
    """
    tried = beginnings(messages, weights, block)
    # Nearly always, nothing must be dropped.
    if fits(tried[0]):
        return tried[0]
    index = bisect_left(tried, True, lo=1, key=fits)
    return tried[index] if index < len(tried) else None
