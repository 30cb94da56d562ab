"""Random forks, edits and returns: bit for bit where kept, and mlx-lm's fresh read within rounding elsewhere."""

from __future__ import annotations

from random import Random
from typing import Any, cast

import mlx.core as mx
import mlx.nn as nn
import pytest

from tests.driver import StdioWorker
from tests.real.conftest import Reference
from tests.real.questions import QUESTIONS

_ROUNDING = 2e-3
"""In log-probability. A wrong position or a missing token changes them a thousand times as much."""
_MAX_LENGTH = 110

Sequence = tuple[int, ...]
Likeliest = list[tuple[int, float]]
"""The twenty likeliest next tokens with their log-probabilities."""


class _Walk:
    """A tree of sequences, through which the test walks at random; `seen` holds the logits found on the way."""

    def __init__(self, worker: StdioWorker, root: Sequence, rng: Random) -> None:
        self._worker = worker
        self._rng = rng
        self.places = [root]
        self.seen: dict[Sequence, Likeliest] = {}
        self.num_returns = 0

    def step(self) -> None:
        """Fork, edit or return, and look at the logits there."""
        place = self._rng.choice(self.places)
        match self._rng.choice(["continue", "edit", "return", "return"]):
            case "continue" if len(place) < _MAX_LENGTH:
                self.places.append(self._continued(place))
            case "edit":
                self.places.append(self._edited(place))
            case _:
                self._look(place)

    def _continued(self, place: Sequence) -> Sequence:
        """Let the model write a few tokens, with another seed each time."""
        number = self._rng.randrange(1, 5)
        end = self._ask(place, max_tokens=number, sampling={"temperature": 1.5, "seed": self._rng.randrange(1 << 30)})
        return (*place, *end["choices"][0]["token_ids"])

    def _edited(self, place: Sequence) -> Sequence:
        """Cut the sequence anywhere and put other tokens there."""
        cut = self._rng.randrange(len(self.places[0]) // 2, len(place))
        edited = (*place[:cut], *(self._rng.randrange(300, 20_000) for _ in range(self._rng.randrange(1, 9))))
        self._look(edited)
        return edited

    def _look(self, place: Sequence) -> None:
        kept = self.seen.get(place)
        request_id = self._worker.send("generate", token_ids=list(place), max_tokens=1, top_logprobs=20, draft="off")
        *events, end = self._worker.events_until_end(request_id)
        tokens = [token for event in events if event["type"] == "chunk" for token in event["tokens"]]
        if not tokens:  # the end of the answer
            return
        found = [(each["id"], each["logprob"]) for each in tokens[0]["top"]]
        if kept is None:
            self.seen[place] = found
        else:
            self.num_returns += 1
            assert end["usage"]["prefilled_tokens"] == 1
            assert found == kept, "The logits of a kept branch changed."

    def _ask(self, place: Sequence, **fields: Any) -> Any:
        return self._worker.result("generate", token_ids=list(place), draft="off", **fields)


@pytest.mark.parametrize("num_steps", [80, pytest.param(300, marks=pytest.mark.long)])
def test_branches_give_the_logits_of_a_fresh_read(worker: StdioWorker, reference: Reference, num_steps: int):
    rng = Random(num_steps)
    walk = _Walk(worker, tuple(reference.prompt_ids(QUESTIONS[4])), rng)
    for _ in range(num_steps):
        walk.step()
    assert walk.num_returns > num_steps // 8
    largest = 0.0
    unread = set(walk.seen)
    while unread:
        # One reading of the longest sequence gives the logits after each of its beginnings.
        longest = max(unread, key=len)
        logits = reference.logits(list(longest), min(len(each) for each in unread) - 1)
        first = len(longest) - logits.shape[0]
        for place in [each for each in unread if longest[: len(each)] == each]:
            largest = max(largest, _difference(logits[len(place) - 1 - first], walk.seen[place]))
            unread.discard(place)
    print(f"{len(walk.seen)} places, {walk.num_returns} returns, log-probabilities differ by {largest:.1e} at most")
    assert largest <= _ROUNDING


def _difference(logits: mx.array, found: Likeliest) -> float:
    expected = nn.log_softmax(logits)[mx.array([token_id for token_id, _ in found])]
    differences = mx.abs(expected - mx.array([logprob for _, logprob in found]))
    return cast("float", differences.max().item())
