"""An agent's session: a conversation that grows, is cut and changes in the middle, sent whole with each request."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from tests.app.serving.owned import Owned
from worker.protocol import Tokenize, Tokenized

_WORDS = [
    *("branch", "tree", "message", "answer", "edit", "fork", "window", "model"),
    *("token", "stop", "list", "key", "file", "folder", "search", "export"),
]


def random_text(rng: random.Random, num_words: int) -> str:
    return " ".join(rng.choice(_WORDS) for _ in range(num_words)) + "?"


class Agent:
    """The messages of a session. Call `ask`, send `messages`, and call `take` with the answer."""

    def __init__(self, seed: int = 7) -> None:
        self._rng = random.Random(seed)
        self._num_asked = 0
        self.messages: list[Any] = [{"role": "system", "content": random_text(self._rng, 30)}]

    def ask(self) -> None:
        """Change the messages as agents and their users do, and add a question."""
        rng, messages = self._rng, self.messages
        match self._num_asked % 10:
            case 4:
                # The user goes back, and asks something else.
                del messages[rng.randrange(1, len(messages)) | 1 :]
            case 7:
                # Something in the middle is another text now.
                position = rng.randrange(len(messages))
                messages[position] = {**messages[position], "content": random_text(rng, 10)}
            case 9:
                # Something is put in between.
                position = rng.randrange(len(messages)) | 1
                messages[position:position] = [
                    {"role": "user", "content": random_text(rng, 5)},
                    {"role": "assistant", "content": random_text(rng, 5)},
                ]
            case _:
                pass
        self._num_asked += 1
        messages.append({"role": "user", "content": random_text(rng, rng.randrange(3, 12))})

    def take(self, answer: str) -> None:
        # Clients cut the white space around an answer.
        self.messages.append({"role": "assistant", "content": answer.strip()})
        if len(self.messages) > 24:
            del self.messages[1:9]


class Oracle:
    """The least that a server must read: the ids of each prompt that no prompt or answer before it begins with."""

    def __init__(self) -> None:
        self._computed: list[list[int]] = []
        """All ids that the model has computed, a list for each answer."""

    def num_new(self, prompt: Sequence[int], answer: Sequence[int]) -> int:
        """Return how many of the prompt's ids must be computed. `answer`: those that are computed behind it."""
        common = max((_num_common(prompt, computed) for computed in self._computed), default=0)
        self._computed.append([*prompt, *answer])
        # The last token is computed to know what follows it.
        return max(1, len(prompt) - common)


def _num_common(one: Sequence[int], other: Sequence[int]) -> int:
    return next(
        (number for number, (mine, theirs) in enumerate(zip(one, other, strict=False)) if mine != theirs),
        min(len(one), len(other)),
    )


class Session:
    """An agent's requests to Bough, and the oracle of what must be read."""

    def __init__(self, owner: Owned) -> None:
        self._owner = owner
        self._client = owner.openai()
        self._oracle = Oracle()
        self.num_read = 0
        self.num_ideal = 0

    def ask(self, messages: Sequence[Any]) -> str:
        """Send a request; return the answer's text."""
        owner = self._owner
        reply = self._client.chat.completions.create(
            model=owner.status.model.id, messages=list(messages), max_tokens=12, temperature=0
        )
        exchange = owner.exchange()
        assert exchange.generate.messages is not UNSET
        owner.send(Tokenize(request_id="oracle", messages=exchange.generate.messages))
        prompt = owner.event(Tokenized).token_ids
        usage = exchange.finished.usage
        assert usage.prompt_tokens == len(prompt)
        self.num_read += usage.prompt_tokens - usage.cached_tokens
        choice = exchange.finished.choices[0]
        # After the last token of an answer that was cut by its length, nothing was computed.
        ids = choice.turn_token_ids if choice.reason == "eos" else choice.turn_token_ids[:-1]
        self.num_ideal += self._oracle.num_new(prompt, ids)
        return reply.choices[0].message.content or ""
