"""Dropping the oldest turns of a conversation that no longer fits: as little as possible, and rarely at a new place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.chat_families import family, write_family_model
from tests.driver import Event, StdioWorker
from worker.protocol import Message, Role
from worker.requests.prompts import beginnings, first_kept, num_system

# --- the choice ------------------------------------------------------------------------------------------------


def conversation(roles: str) -> list[Message]:
    names: dict[str, Role] = {"s": "system", "u": "user", "a": "assistant", "t": "tool"}
    return [Message(role=names[role], content="") for role in roles]


@pytest.mark.parametrize(
    ("roles", "weights", "expected"),
    [
        ("", [], [0]),
        ("s", [9], [1]),
        ("su", [9, 9], [1]),
        ("ua", [9, 9], [0]),
        ("uauau", [1, 1, 1, 1, 1], [0, 2, 4]),
        ("suauau", [9, 5, 5, 5, 5, 5], [1, 3, 5]),
        ("uauauau", [5, 5, 5, 5, 5, 5, 5], [0, 2, 4, 6]),
        ("uauauau", [1, 1, 8, 1, 1, 1, 1], [0, 4, 6]),
        ("uatatau", [5, 5, 5, 5, 5, 5, 5], [0, 6]),
        ("auau", [5, 5, 5, 5], [0, 3]),
        ("ssuau", [1, 1, 5, 5, 5], [2, 4]),
        ("usau", [5, 5, 5, 5], [0, 3]),
        ("aa", [50, 50], [0]),
    ],
)
def test_a_cut_conversation_begins_with_a_question(roles: str, weights: list[int], expected: list[int]):
    assert beginnings(conversation(roles), weights, 10) == expected


def random_conversation(dice: Random) -> tuple[list[Message], list[int]]:
    roles = "s" * dice.choice([0, 1, 1, 2]) + "".join(dice.choice(["ua", "ua", "uata", "u", "a"]) for _ in range(30))
    messages = conversation(roles + "u" * dice.randrange(2))
    return messages, [dice.randrange(1, 60) for _ in messages]


def _fits(lengths: Mapping[int, int], budget: int, first: int) -> bool:
    return lengths[first] <= budget


def test_the_first_beginning_that_fits_is_kept_with_system_prompt_and_last_question():
    dice = Random(7)
    for _ in range(3000):
        messages, weights = random_conversation(dice)
        start, block, budget = num_system(messages), dice.randrange(1, 200), dice.randrange(1, 2500)

        lengths = {at: sum(weights[:start]) + sum(weights[at:]) for at in range(start, len(messages) + 1)}
        first = first_kept(messages, weights, block, partial(_fits, lengths, budget))
        tried = beginnings(messages, weights, block)
        assert first == next((at for at in tried if lengths[at] <= budget), None)
        assert tried == sorted(set(tried))
        assert all(at == start or messages[at].role == "user" for at in tried)
        questions = [index for index, message in enumerate(messages) if message.role == "user"]
        assert tried[-1] == max([start, *questions])
        if first is not None and first > start:
            # At most a block and the turns at its edges are dropped without need.
            before = max([at for at in questions if at < first], default=start)
            widest = max(sum(weights[one:other]) for one, other in pairwise([start, *questions, len(messages)]))
            assert lengths[before] > budget or lengths[first] > budget - block - 2 * widest


def test_consecutive_prompts_begin_at_the_same_message():
    dice = Random(9)
    for _ in range(50):
        block, budget = 250, 1000
        messages, weights = conversation("s"), [50]
        first_messages: list[int] = []
        said = 0
        for _ in range(200):
            messages += conversation("u")
            weights.append(dice.randrange(5, 40))
            lengths = {at: weights[0] + sum(weights[at:]) for at in range(len(messages))}
            first = first_kept(messages, weights, block, partial(_fits, lengths, budget))
            assert first is not None
            first_messages.append(first)
            messages += conversation("a")
            weights.append(dice.randrange(5, 40))
            said += weights[-1] + weights[-2]
        assert first_messages == sorted(first_messages)
        # It moves once per block, give or take the turn across the block's edge.
        assert len(set(first_messages)) <= said / block + 1
        assert first_messages[-1] > 1


# --- the worker ------------------------------------------------------------------------------------------------

CONTEXT = 600
NUM_NEW = 8


def load(worker: StdioWorker, model: Path | str) -> Event:
    """Load a model without a disk cache."""
    loaded = worker.result("load_model", model=str(model), cache={"disk_limit_bytes": 0})
    assert loaded["type"] == "model_loaded", loaded
    return loaded


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StdioWorker]:
    folder, _ = write_family_model(tmp_path_factory.mktemp("models") / "m", family("chatml"), context_length=CONTEXT)
    with StdioWorker() as worker:
        assert load(worker, folder)["context_length"] == CONTEXT
        yield worker


Messages = list[dict[str, Any]]
SYSTEM = {"role": "system", "content": "Answer briefly, and only about trees."}


def user(content: str) -> dict[str, Any]:
    return {"role": "user", "content": content}


def length(worker: StdioWorker, messages: Messages) -> int:
    return len(worker.result("tokenize", messages=messages)["token_ids"])


def long_conversation(worker: StdioWorker, num_turns: int) -> Messages:
    messages: Messages = [SYSTEM]
    for number in range(num_turns):
        messages += [
            user(f"Question {number}: what is a branch?"),
            {"role": "assistant", "content": f"It is {number}."},
        ]
    messages.append(user("And the sky?"))
    assert length(worker, messages) > 2 * CONTEXT
    return messages


def test_no_message_is_dropped_unless_the_request_allows_it(worker: StdioWorker):
    messages = long_conversation(worker, 60)
    assert worker.result("generate", messages=messages)["kind"] == "context_overflow"
    assert worker.result("generate", messages=messages, overflow="fail")["kind"] == "context_overflow"
    short = worker.result("generate", messages=messages[-1:], max_tokens=NUM_NEW)
    assert short["usage"]["dropped_messages"] == 0


def test_a_conversation_that_fits_is_not_shortened(worker: StdioWorker):
    messages = long_conversation(worker, 60)[-10:]
    kept = worker.result("generate", messages=messages, max_tokens=NUM_NEW, overflow="drop_oldest")
    plain = worker.result("generate", messages=messages, max_tokens=NUM_NEW)
    assert kept["usage"]["dropped_messages"] == 0
    assert kept["choices"][0]["token_ids"] == plain["choices"][0]["token_ids"]


def test_dropping_the_oldest_turns_gives_the_answer_of_the_shorter_conversation(worker: StdioWorker):
    messages = long_conversation(worker, 60)
    for fields in ({"max_tokens": NUM_NEW}, {}, {"max_tokens": CONTEXT}, {"max_tokens": 250}):
        finished = worker.result("generate", messages=messages, overflow="drop_oldest", **fields)
        assert finished["type"] == "finished", finished
        num_dropped = finished["usage"]["dropped_messages"]
        assert num_dropped > 0
        assert num_dropped % 2 == 0
        kept = [SYSTEM, *messages[1 + num_dropped :]]
        assert kept[1]["role"] == "user"
        plain = worker.result("generate", messages=kept, **fields)
        assert plain["choices"][0]["token_ids"] == finished["choices"][0]["token_ids"]
        assert plain["usage"]["prompt_tokens"] == finished["usage"]["prompt_tokens"] == length(worker, kept)
        room = CONTEXT - finished["usage"]["prompt_tokens"]
        # The room is as large as requested, but at most half of the context; without a request it is a quarter.
        assert room >= min(fields.get("max_tokens", CONTEXT // 4), CONTEXT // 2)
        # It is at most a block and a turn larger than that.
        assert room <= fields.get("max_tokens", CONTEXT // 4) + CONTEXT // 4 + 60
        assert finished["choices"][0]["reason"] == "length"


def test_room_is_made_for_a_continuation_too(worker: StdioWorker):
    messages = long_conversation(worker, 60)
    continued_ids = worker.result("tokenize", text="The quick brown fox jumps over the lazy dog. " * 25)["token_ids"]
    assert len(continued_ids) > CONTEXT // 3
    alone = worker.result("generate", messages=messages, overflow="drop_oldest", max_tokens=NUM_NEW)
    for continuation in ({"token_ids": continued_ids}, {"text": "The quick brown fox jumps over the lazy dog. " * 25}):
        finished = worker.result(
            "generate", messages=messages, overflow="drop_oldest", max_tokens=NUM_NEW, continuation=continuation
        )
        assert finished["type"] == "finished", finished
        assert finished["usage"]["dropped_messages"] > alone["usage"]["dropped_messages"]
        assert len(finished["choices"][0]["token_ids"]) == NUM_NEW


def test_a_last_question_that_does_not_fit_alone_is_an_overflow(worker: StdioWorker):
    far_too_long = "The quick brown fox. " * 100_000
    for last in ("The quick brown fox. " * (CONTEXT // 4), far_too_long):
        messages = [*long_conversation(worker, 60)[:-1], user(last)]
        failed = worker.result("generate", messages=messages, overflow="drop_oldest")
        assert failed["kind"] == "context_overflow"
    # The system prompt is never dropped either.
    failed = worker.result(
        "generate", messages=[{"role": "system", "content": far_too_long}, user("Hi")], overflow="drop_oldest"
    )
    assert failed["kind"] == "context_overflow"


def test_a_last_question_that_just_fits_gets_an_answer_as_long_as_there_is_room(worker: StdioWorker):
    words: list[str] = []
    while length(worker, [SYSTEM, user("".join(words))]) < CONTEXT - 6:
        words.append(" the")
    last = user("".join(words))
    finished = worker.result("generate", messages=[*long_conversation(worker, 60)[:-1], last], overflow="drop_oldest")
    assert finished["usage"]["dropped_messages"] == 120
    assert finished["usage"]["generated_tokens"] == CONTEXT - length(worker, [SYSTEM, last])
    assert finished["choices"][0]["reason"] == "length"


def test_very_long_turns_that_are_dropped_do_no_harm(worker: StdioWorker):
    messages = [SYSTEM, user("The quick brown fox. " * 50_000), {"role": "assistant", "content": "Yes."}, user("Why?")]
    finished = worker.result("generate", messages=messages, overflow="drop_oldest", max_tokens=NUM_NEW)
    assert finished["usage"]["dropped_messages"] == 2
    many = [SYSTEM, *[user("Hi"), {"role": "assistant", "content": "Ho"}] * (2 * CONTEXT), user("Why?")]
    assert worker.result("generate", messages=many, overflow="drop_oldest", max_tokens=1)["type"] == "finished"


@pytest.mark.parametrize("prompt", [{"text": "Hello"}, {"token_ids": [5, 6]}])
def test_only_messages_can_be_dropped(worker: StdioWorker, prompt: dict[str, Any]):
    failed = worker.result("generate", **prompt, overflow="drop_oldest")
    assert failed["kind"] == "bad_request"
    assert "`overflow`" in failed["message"]
    assert worker.result("generate", **prompt, overflow="fail", max_tokens=1)["type"] == "finished"
    assert "overflow" in worker.result("generate", messages=[user("Hi")], overflow="drop")["message"]


def test_a_long_conversation_in_a_small_context_is_rarely_read_again(worker: StdioWorker):
    messages: Messages = [SYSTEM]
    dropped: list[int] = []
    num_held = num_new = num_read = 0
    for number in range(60):
        messages.append(user(f"And number {number}, what of the fox?"))
        finished = worker.result("generate", messages=messages, overflow="drop_oldest", max_tokens=NUM_NEW)
        usage, choice = finished["usage"], finished["choices"][0]
        if dropped and usage["dropped_messages"] == dropped[-1]:
            # Only the new part is read: the last answer was kept except its last token.
            assert usage["cached_tokens"] == num_held
        dropped.append(usage["dropped_messages"])
        num_new += usage["prompt_tokens"] - num_held if num_held <= usage["prompt_tokens"] else 0
        num_read += usage["prefilled_tokens"]
        num_held = usage["prompt_tokens"] + NUM_NEW - 1
        messages.append({"role": "assistant", "content": choice["text"], "token_ids": choice["turn_token_ids"]})
    assert dropped == sorted(dropped)
    assert dropped[0] == 0
    assert dropped[-1] > 40
    num_cuts = len(set(dropped)) - 1
    said = length(worker, messages)
    # At most once for each quarter of the context.
    assert num_cuts <= said / ((CONTEXT - NUM_NEW) // 4)
    assert num_read < num_new + num_cuts * CONTEXT
    assert num_read < 5 * said
    # A new worker drops the same messages: the choice does not depend on cached tokens.
    with StdioWorker() as other:
        load(other, next(event["model"] for event in worker.events if event["type"] == "model_loaded"))
        again = other.result("generate", messages=messages[:-1], overflow="drop_oldest", max_tokens=NUM_NEW)
    assert again["usage"]["dropped_messages"] == dropped[-1]
