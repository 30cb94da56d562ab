"""How many tokens are read again and how many are reused, by the worker's figures, for layers of all kinds.

The expected numbers are computed from ids alone: the tokens that the model holds, and how many of them the next prompt
begins with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from tests.architectures import small_gemma3, small_lfm2, small_llama, small_mamba, write_endless_random_model
from tests.driver import Event, StdioWorker
from tests.long import in_long_runs

NUM_NEW = 9

CONFIGS = {
    "llama": small_llama(0),
    "gemma3": small_gemma3(window=24),
    "lfm2": small_lfm2(),
    "mamba": small_mamba(),
}

Messages = list[dict[str, Any]]


@dataclass
class Talk:
    """A worker with one model."""

    worker: StdioWorker
    folder: Path
    is_trimmable: bool
    start: int
    """The id of `<|im_start|>`."""

    def fresh(self) -> Talk:
        """Load the model again, so that nothing is cached."""
        self.worker.load(self.folder, disk_limit_bytes=0)
        return self

    def ids(self, messages: Messages) -> list[int]:
        return self.worker.result("tokenize", messages=messages)["token_ids"]

    def kept_before(self, ids: list[int], fork: int) -> int:
        """Return how much of `ids` is kept when another prompt forks from it at `fork`.

        Layers with a state go back to the first token of the last message, where one was kept.
        """
        if self.is_trimmable:
            return fork
        return max(position for position in range(1, fork + 1) if ids[position - 1] == self.start)

    def ask(self, messages: Messages, **fields: Any) -> Event:
        finished = self.worker.result("generate", messages=messages, **{"max_tokens": NUM_NEW, **fields})
        assert finished["type"] == "finished", finished
        assert finished["choices"][0]["reason"] == "length"
        return finished

    def cost(self, messages: Messages) -> tuple[int, int]:
        """Generate an answer; return how many of the prompt's tokens were kept and how many were read."""
        plan = self.worker.result("plan", prompts=[{"messages": messages}])["plans"][0]
        usage = self.ask(messages)["usage"]
        assert usage["prompt_tokens"] == usage["cached_tokens"] + usage["prefilled_tokens"] == len(self.ids(messages))
        assert plan["prompt_tokens"] == usage["prompt_tokens"]
        assert plan["cached_tokens"] == usage["cached_tokens"]
        return usage["cached_tokens"], usage["prefilled_tokens"]


@pytest.fixture(scope="module", params=["llama", "lfm2", *in_long_runs(["gemma3", "mamba"])])
def talk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    folder, tokenizer = write_endless_random_model(
        tmp_path_factory.mktemp("models") / request.param, CONFIGS[request.param]
    )
    with StdioWorker() as worker:
        kind = worker.load(folder)["cache_kind"]
        assert kind == ("trimmable" if request.param == "llama" else "snapshot")
        yield Talk(worker, folder, kind == "trimmable", tokenizer.encode("<|im_start|>").ids[0])


def user(content: str) -> dict[str, Any]:
    return {"role": "user", "content": content}


def turn(finished: Event) -> dict[str, Any]:
    choice = finished["choices"][0]
    return {"role": "assistant", "content": choice["text"], "token_ids": choice["turn_token_ids"]}


def common(a: list[int], b: list[int]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


SYSTEM = {"role": "system", "content": "Answer briefly, and only about trees. The quick brown fox is no tree."}


def test_a_first_request_reads_all_tokens_and_a_repeated_one_reads_one(talk: Talk):
    talk.fresh()
    messages = [SYSTEM, user("What is a branch of the tree that grows into the sky?")]
    length = len(talk.ids(messages))
    assert talk.cost(messages) == (0, length)
    for _ in range(3):
        assert talk.cost(messages) == (length - 1, 1)


def test_another_question_reads_only_the_new_tokens(talk: Talk):
    talk.fresh()
    messages = [SYSTEM, user("What is a branch?")]
    held: list[int] = []
    for question in ("And a leaf?", "And the sky?", "Why?"):
        first = talk.ids(messages)
        assert talk.cost(messages)[0] == common(held, first)
        finished = talk.ask(messages)
        held = first + finished["choices"][0]["token_ids"][:-1]
        messages = [*messages, turn(finished), user(question)]
        # The whole answer except its last token, which nothing has followed yet.
        assert talk.ids(messages)[: len(held)] == held
        assert talk.worker.result("plan", prompts=[{"messages": messages}])["plans"][0]["cached_tokens"] == len(held)


def test_an_edited_question_reads_only_itself(talk: Talk):
    talk.fresh()
    first = [SYSTEM, user("What is a branch?")]
    answer = talk.ask(first)
    held = talk.ids(first) + answer["choices"][0]["token_ids"][:-1]
    original = [*first, turn(answer), user("And a leaf?")]
    edited = [*first, turn(answer), user("Or else the sky of Tokyo?")]
    fork = common(talk.ids(original), talk.ids(edited))
    talk.ask(original)
    assert 0 < fork - len(held) < 12
    assert len(held) <= talk.kept_before(talk.ids(original), fork) <= fork
    assert talk.cost(edited)[0] == talk.kept_before(talk.ids(original), fork)
    # The second fork at the same position does not even read the header again.
    again = [*first, turn(answer), user("Still another wording?")]
    assert common(talk.ids(again), talk.ids(edited)) == fork
    assert talk.cost(again)[0] == fork


def test_an_edited_first_question_keeps_the_system_prompt(talk: Talk):
    talk.fresh()
    one, other, third = ([SYSTEM, user(content)] for content in ("Is it green?", "Who was that?", "Tell me."))
    fork = common(talk.ids(one), talk.ids(other))
    assert fork > 20
    talk.ask(one)
    assert talk.cost(other)[0] == talk.kept_before(talk.ids(one), fork)
    assert talk.cost(third)[0] == fork


def test_a_fork_at_an_earlier_message_reads_from_there(talk: Talk):
    talk.fresh()
    first = [SYSTEM, user("What is a branch?")]
    one = talk.ask(first)
    second = [*first, turn(one), user("And a leaf?")]
    two = talk.ask(second)
    talk.ask([*second, turn(two), user("And the sky?")])
    forked = [*first, turn(one), user("Is it green?")]
    ids = talk.ids(second)
    assert talk.cost(forked)[0] == talk.kept_before(ids, common(ids, talk.ids(forked)))


def test_continuing_an_answer_reads_one_token(talk: Talk):
    talk.fresh()
    messages = [SYSTEM, user("What is a branch?")]
    ids = talk.ids(messages)
    first_part = talk.ask(messages)["choices"][0]
    finished = talk.ask(messages, continuation={"token_ids": first_part["token_ids"]})
    usage = finished["usage"]
    assert usage["prompt_tokens"] == len(ids) + NUM_NEW
    assert (usage["cached_tokens"], usage["prefilled_tokens"]) == (len(ids) + NUM_NEW - 1, 1)
    whole = talk.fresh().ask(messages, max_tokens=2 * NUM_NEW)["choices"][0]
    assert first_part["token_ids"] + finished["choices"][0]["token_ids"] == whole["token_ids"]
    assert finished["choices"][0]["turn_token_ids"] == whole["token_ids"]


def test_an_edit_in_a_long_prompt_goes_back_no_further_than_necessary(talk: Talk):
    talk.fresh()
    prompt = list(range(3, 103)) * 25
    talk.worker.result("generate", token_ids=prompt, max_tokens=1)
    edited = [*prompt[:2300], 7, *prompt[2301:2400]]
    usage = talk.worker.result("generate", token_ids=edited, max_tokens=1)["usage"]
    assert usage["cached_tokens"] == (2300 if talk.is_trimmable else 2048)


@pytest.mark.parametrize("at", [3, 6, 9])
def test_an_answer_cut_by_a_stop_string_is_not_read_again(talk: Talk, at: int):
    talk.fresh()
    messages = [SYSTEM, user("What is a branch?")]
    length = len(talk.ids(messages))
    whole = talk.worker.result("generate", messages=messages, max_tokens=16)["choices"][0]["token_ids"]
    pieces = [talk.worker.result("tokenize", token_ids=[token_id])["pieces"][0] for token_id in whole]
    # Three tokens and the beginning of a fourth.
    stop = "".join(pieces[at : at + 3]) + pieces[at + 3][:1]
    assert "".join(pieces).index(stop) == len("".join(pieces[:at]))
    finished = talk.fresh().worker.result("generate", messages=messages, stop=[stop], max_tokens=40)
    choice = finished["choices"][0]
    assert (choice["reason"], choice["text"]) == ("stop", "".join(pieces[:at]))
    following = [*messages, turn(finished), user("And a leaf?")]
    plan = talk.worker.result("plan", prompts=[{"messages": following}])["plans"][0]
    assert plan["cached_tokens"] == length + at


def test_several_answers_cut_by_a_stop_string_are_not_read_again(talk: Talk):
    talk.fresh()
    messages = [SYSTEM, user("What is a branch?")]
    length = len(talk.ids(messages))
    sampling = {"temperature": 1, "seed": 4}
    whole = talk.worker.result("generate", messages=messages, max_tokens=30, n=3, sampling=sampling)["choices"]
    # All answers contain this letter early, but not at the start.
    letters = [letter for letter in "aeinorst" if all(0 < answer["text"].find(letter) < 30 for answer in whole)]
    assert letters
    cut = talk.fresh().worker.result(
        "generate", messages=messages, max_tokens=30, n=3, sampling=sampling, stop=letters[:1]
    )["choices"]
    for choice in cut:
        assert choice["reason"] == "stop"
        said = {"role": "assistant", "content": choice["text"], "token_ids": choice["turn_token_ids"]}
        plan = talk.worker.result("plan", prompts=[{"messages": [*messages, said, user("And a leaf?")]}])["plans"][0]
        num_whole = len(choice["token_ids"]) - choice["num_recut"]
        assert plan["cached_tokens"] >= length + num_whole


def test_the_tokens_read_of_a_cancelled_prompt_are_kept(talk: Talk):
    talk.fresh()
    prompt = list(range(3, 103)) * 30
    request_id = talk.worker.send("generate", token_ids=prompt, max_tokens=1)
    event = talk.worker.next_event()
    while event["request_id"] != request_id or event.get("done") == 0:
        event = talk.worker.next_event()
    assert event["type"] == "prefill_progress", event
    talk.worker.result("cancel", target=request_id)
    events = talk.worker.events_until_end(request_id)
    read = max(event["done"] for event in events if event["type"] == "prefill_progress")
    finished = events[-1]
    assert finished["choices"][0]["reason"] == "cancelled"
    assert finished["choices"][0]["text"] == ""
    assert 0 < read < len(prompt) - 1
    assert finished["usage"]["prefilled_tokens"] == read
    assert finished["usage"]["cached_tokens"] == 0
    usage = talk.worker.result("generate", token_ids=prompt, max_tokens=1)["usage"]
    assert (usage["cached_tokens"], usage["prefilled_tokens"]) == (read, len(prompt) - read)


@pytest.mark.parametrize("sampling", [{}, {"temperature": 1.3, "seed": 5, "top_p": 0.95}])
def test_the_text_is_the_same_with_and_without_reuse(talk: Talk, sampling: dict[str, Any]):
    talk.fresh()
    first = [SYSTEM, user("What is a branch?")]
    one = talk.ask(first, sampling=sampling)
    second = [*first, turn(one), user("And a leaf?")]
    asked = [
        second,
        [*first, turn(one), user("Or else the sky?")],
        [SYSTEM, user("Another beginning, then?")],
        second,
        first,
        [*first, turn(one), user("Or else the sky?")],
        [user("No system prompt at all.")],
        second,
    ]
    reused = [talk.ask(messages, sampling=sampling)["choices"][0]["token_ids"] for messages in asked]
    afresh = [talk.fresh().ask(messages, sampling=sampling)["choices"][0]["token_ids"] for messages in asked]
    assert reused == afresh


def test_a_fork_and_a_return_do_not_change_sampled_text(talk: Talk):
    talk.fresh()
    messages = [SYSTEM, user("What is a branch?")]
    sampling = {"temperature": 1.0, "seed": 11}
    once = talk.ask(messages, sampling=sampling)
    talk.ask([SYSTEM, user("What is a fork, then?")], sampling={"temperature": 2.0})
    talk.ask([*messages, turn(once), user("And then?")], sampling={"temperature": 2.0})
    again = talk.ask(messages, sampling=sampling)
    assert again["choices"][0]["token_ids"] == once["choices"][0]["token_ids"]
    # The prompt's ids do not depend on cached tokens either.
    longer = [*messages, turn(once), user("And then?")]
    assert talk.ids(longer) == talk.fresh().ids(longer)
    assert again["choices"][0]["seed"] == 11


def test_cache_stats_count_the_held_tokens(talk: Talk):
    talk.fresh()
    empty = talk.worker.result("cache_stats")
    assert (empty["tokens"], empty["bytes"]) == (0, 0)
    messages = [SYSTEM, user("What is a branch?")]
    answer = talk.ask(messages)
    one = talk.ids(messages) + answer["choices"][0]["token_ids"][:-1]
    stats = talk.worker.result("cache_stats")
    assert stats["tokens"] == len(one)
    assert 0 < stats["bytes"] < stats["limit_bytes"]
    assert (stats["disk_tokens"], stats["disk_bytes"]) == (0, 0)
    other = [SYSTEM, user("Who was that?")]
    two = talk.ids(other) + talk.ask(other)["choices"][0]["token_ids"][:-1]
    assert talk.worker.result("cache_stats")["tokens"] == len(one) + len(two) - common(one, two)
