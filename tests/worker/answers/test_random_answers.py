"""Random answers of models that write what the test dictates, against plain rules."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from tests.driver import Event, StdioWorker
from tests.long import in_long_runs
from tests.models import CORPUS, byte_level_tokenizer, sentencepiece_tokenizer, write_scripted_model
from tests.tokenizers import bare_tokenizer, composing_tokenizer, unigram_tokenizer
from tests.worker.answers.said import eos_of
from tests.worker.text.text_oracle import expected, expected_kept, split
from worker.text.vocabulary import Vocabulary

NUM_PADDING = 6

TOKENIZERS = {
    "byte-level": byte_level_tokenizer,
    "sentencepiece": sentencepiece_tokenizer,
    "unigram": unigram_tokenizer,
    "composing": composing_tokenizer,
    "bare": lambda: bare_tokenizer(["a", "b", "ab", "bc", "abc", "cab", "-", "--", "---\n", "é", "€x", " ", " c"]),
}


@dataclass(frozen=True)
class Script:
    """A model that writes one token after another, each always followed by the same one."""

    vocabulary: Vocabulary
    successor: dict[int, int]
    eos: int

    def sampled(self, last: int, left: bytes, max_tokens: int) -> list[int]:
        """Return the tokens that follow `last`, the first of which must spell `left`; EOS only at the end."""
        ids: list[int] = []
        while len(ids) < max_tokens and last != self.eos:
            last = self._next(last, left)
            left = left[len(self.vocabulary.bytes[last]) :]
            ids.append(last)
        return ids

    def _next(self, last: int, left: bytes) -> int:
        follows = self.successor.get(last, self.eos)
        if not left:
            return follows
        allowed = [
            token_id
            for token_id in range(len(self.vocabulary))
            if token_id not in self.vocabulary.control_ids and self._leads_on(token_id, left)
        ]
        # All other tokens are equally likely, so greedy sampling takes the lowest.
        return follows if follows in allowed else allowed[0]

    def _leads_on(self, token_id: int, left: bytes) -> bool:
        data = self.vocabulary.bytes[token_id]
        if data.startswith(left):
            return True
        if not data or not left.startswith(data):
            return False
        left = left[len(data) :]
        others = set(range(len(self.vocabulary))) - self.vocabulary.control_ids
        return any(self._leads_on(other, left) for other in others)


class World:
    """A worker with one scripted model, and what it must do."""

    def __init__(self, worker: StdioWorker, script: Script) -> None:
        self.worker = worker
        self.script = script

    def check(
        self,
        prompt: list[int],
        *,
        stop: Sequence[str] = (),
        max_tokens: int = 100,
        given_ids: Sequence[int] = (),
        given_text: str | None = None,
    ) -> Event:
        """Request an answer and compare every event with the rules. Return the finished choice."""
        request: dict[str, Any] = {"token_ids": prompt, "stop": list(stop), "max_tokens": max_tokens}
        vocabulary = self.script.vocabulary
        left = b""
        kept_ids = list(given_ids)
        if given_text is not None:
            request["continuation"] = {"text": given_text}
            given_ids = vocabulary.encode(given_text)
            kept_ids, left = self._healed(given_ids)
        elif given_ids:
            request["continuation"] = {"token_ids": list(given_ids)}
        given = vocabulary.bytes_of(given_ids)
        sampled = self.script.sampled([*prompt, *kept_ids][-1], left, max_tokens)
        events = self.worker.ask("generate", **request)
        finished = events[-1]
        assert finished["type"] == "finished", finished
        (choice,) = finished["choices"]
        self._check_stream(events, choice, given, left, sampled, stop, max_tokens)
        self._check_ids(choice, given, given_ids, kept_ids, left, sampled)
        return choice

    def _healed(self, given_ids: Sequence[int]) -> tuple[list[int], bytes]:
        """Return the ids that stay, and the bytes that are spelled again."""
        vocabulary = self.script.vocabulary
        data = vocabulary.bytes_of(given_ids)
        tokens = [
            token for token_id, token in enumerate(vocabulary.bytes) if token_id not in vocabulary.control_ids and token
        ]
        longest = max(
            length
            for length in range(len(data) + 1)
            if not length or any(token.startswith(data[-length:]) and len(token) > length for token in tokens)
        )
        number = len(given_ids)
        while len(vocabulary.bytes_of(given_ids[number:])) < longest:
            number -= 1
        return list(given_ids[:number]), vocabulary.bytes_of(given_ids[number:])

    def _check_stream(
        self,
        events: list[Event],
        choice: Event,
        given: bytes,
        left: bytes,
        sampled: list[int],
        stop: Sequence[str],
        max_tokens: int,
    ) -> None:
        """Check that each chunk is what the rules release after its last token, with all tokens before it."""
        new = self._new_bytes(sampled, left)
        chunks: list[tuple[str, list[int]]] = []
        shown, unsent, reason = "", [], "eos"
        completed: list[int] = []
        for number, token_id in enumerate(sampled, 1):
            if token_id == self.script.eos:
                break
            unsent.append(token_id)
            want = expected(stop, given, new[:number])
            if want.stop is None:
                completed.append(len(want.shown + want.held) - sum(completed))
            text = want.shown[len(shown) :]
            if want.stop is not None:
                reason = "stop"
            elif number == max_tokens:
                reason, text = "length", text + want.held
            shown += text
            if text or (reason != "eos" and self._num_kept(given, new[:number], shown) > number - len(unsent)):
                chunks.append((text, unsent))
                unsent = []
            if reason != "eos":
                break
        if reason == "eos":
            told = [data for token_id, data in zip(sampled, new, strict=True) if token_id != self.script.eos]
            text = expected(stop, given, told).held
            shown += text
            if text or self._num_kept(given, told, shown) > len(told) - len(unsent):
                chunks.append((text, unsent))
        assert [
            (event["text"], [token["id"] for token in event["tokens"]]) for event in events if event["type"] == "chunk"
        ] == chunks
        told_of = [token["num_chars"] for event in events if event["type"] == "chunk" for token in event["tokens"]]
        assert told_of[: len(completed)] == completed[: len(told_of)]
        assert (choice["text"], choice["reason"]) == (shown, reason)
        ended_by = expected(stop, given, new[: len(sampled)]).stop if reason == "stop" else None
        assert choice["stop"] == ended_by

    def _new_bytes(self, sampled: list[int], left: bytes) -> list[bytes]:
        """Return each token's bytes without those that only repeat given text."""
        new: list[bytes] = []
        for token_id in sampled:
            data = self.script.vocabulary.bytes[token_id]
            new.append(data[len(left) :])
            left = left[len(data) :]
        return new

    def _num_kept(self, given: bytes, new: list[bytes], shown: str) -> int:
        """Return how many tokens are kept at least in part."""
        num_whole, rest = expected_kept(given, new, len(shown))
        return num_whole + bool(rest)

    def _check_ids(
        self,
        choice: Event,
        given: bytes,
        given_ids: Sequence[int],
        kept_ids: list[int],
        left: bytes,
        sampled: list[int],
    ) -> None:
        vocabulary = self.script.vocabulary
        text, ids, num_recut = choice["text"], choice["token_ids"], choice["num_recut"]
        sampled = list(itertools.takewhile(lambda token_id: token_id != self.script.eos, sampled))
        new = self._new_bytes(sampled, left)
        num_whole, rest = expected_kept(given, new, len(text))
        kept = b"".join(new[:num_whole]) + rest
        turn_ids = choice["turn_token_ids"]
        if not text:
            assert (ids, num_recut, turn_ids) == ([], 0, list(given_ids))
            return
        if not left:
            # Only the token inside which the text ends is tokenized again, and its neighbours if no tokens spell its
            # part.
            stands = next((n for n in range(num_whole, -1, -1) if self._spells(new[n:num_whole], rest)), None)
            if stands is None:
                assert (ids, num_recut) == (sampled[:num_whole], 0)
                return
            assert (ids[: len(ids) - num_recut], turn_ids[: len(given_ids) + stands]) == (
                sampled[:stands],
                [*given_ids, *sampled[:stands]],
            )
        elif not self._spells([], kept):
            return
        assert vocabulary.bytes_of(ids) == kept
        assert vocabulary.bytes_of(turn_ids) == given + kept
        assert turn_ids[: len(kept_ids)] == kept_ids
        if not _ends_inside_a_character(given):
            assert vocabulary.text_of(ids) == text

    def _spells(self, tokens: list[bytes], rest: bytes) -> bool:
        return not rest or self.script.vocabulary.spell(b"".join(tokens) + rest) is not None


def _ends_inside_a_character(data: bytes) -> bool:
    return bool(split(data)[1])


@pytest.fixture(scope="module", params=list(TOKENIZERS))
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A model that goes once through all its tokens in some order, with EOS after every fifteenth."""
    tokenizer = TOKENIZERS[request.param]()
    vocabulary = Vocabulary(tokenizer, [eos_of(tokenizer)], tokenizer.get_vocab_size() + NUM_PADDING)
    rng = random.Random(7)
    order = [token_id for token_id in range(len(vocabulary)) if token_id != eos_of(tokenizer)]
    rng.shuffle(order)
    successor = dict(itertools.pairwise([*order, order[0]]))
    successor |= dict.fromkeys(order[::15], eos_of(tokenizer))
    folder = tmp_path_factory.mktemp("scripted")
    write_scripted_model(folder, tokenizer, successor, num_padding=NUM_PADDING)
    with StdioWorker() as worker:
        worker.load(folder)
        yield World(worker, Script(vocabulary, successor, eos_of(tokenizer)))


@pytest.mark.parametrize("num_cases", [60, *in_long_runs([400])])
def test_random_answers_follow_the_rules(world: World, num_cases: int) -> None:
    rng = random.Random(8)
    vocabulary, script = world.script.vocabulary, world.script
    starts = sorted(script.successor)
    for _ in range(num_cases):
        prompt = [rng.choice(starts)]
        number = rng.randint(1, 12)
        coming = script.sampled(prompt[-1], b"", number + 4)
        given_ids: list[int] = []
        given_text: str | None = None
        if rng.random() < 0.35:
            given_ids = [token_id for token_id in coming[: rng.randint(1, 4)] if token_id != script.eos]
        elif rng.random() < 0.5:
            text = rng.choice([*CORPUS, vocabulary.text_of(coming).replace("\ufffd", ""), "ab--cab- c"])
            start = rng.randint(0, len(text))
            given_text = text[start : start + rng.randint(0, 12)]
            if vocabulary.text_of(vocabulary.encode(given_text)) != given_text:
                given_text = None  # The vocabulary has no tokens for it.
        said = vocabulary.text_of(coming) or "a"
        stop: list[str] = []
        for _ in range(rng.choice((0, 1, 1, 2, 4))):
            place = rng.randrange(len(said))
            stop.append(said[place : place + rng.randint(1, 6)])
        world.check(prompt, stop=stop, max_tokens=number, given_ids=given_ids, given_text=given_text)
