"""The `plan` command: the cost of answering at each message of a conversation, in one request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.driver import Event, StdioWorker


@pytest.fixture(scope="module")
def worker(random_llama: Path) -> Iterator[StdioWorker]:
    with StdioWorker() as worker:
        loaded = worker.result("load_model", model=str(random_llama), cache={"disk_limit_bytes": 0})
        assert loaded["type"] == "model_loaded", loaded
        yield worker


def tree(dice: Random) -> tuple[list[dict[str, Any]], list[list[int]]]:
    """Return random messages and the path to each of them."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
    paths = [[0]]
    while len(paths) < 25:
        above = dice.choice(paths)
        role = "user" if messages[above[-1]]["role"] != "user" else "assistant"
        paths.append([*above, len(messages)])
        messages.append({"role": role, "content": dice.choice(["Hello", "A tree?", "fox ", "\n\nsky", "東京"]) * 3})
    return messages, paths


def test_messages_with_paths_give_the_same_plan_as_complete_prompts(worker: StdioWorker):
    dice = Random(3)
    messages, paths = tree(dice)
    prompts = [{"messages": [messages[index] for index in path]} for path in paths]
    for asked in (None, 7, 20):
        if asked is not None:
            assert worker.result("generate", **prompts[asked], max_tokens=3)["type"] == "finished"
        planned = worker.result("plan", messages=messages, paths=paths)
        assert planned["type"] == "planned", planned
        assert planned["plans"] == worker.result("plan", prompts=prompts)["plans"]
        lengths = [len(worker.result("tokenize", **prompt)["token_ids"]) for prompt in prompts]
        assert [plan["prompt_tokens"] for plan in planned["plans"]] == lengths
        if asked is not None:
            assert planned["plans"][asked]["tier"] == "warm"


def test_template_options_apply_to_all_paths(worker: StdioWorker):
    fields = {"messages": [{"role": "user", "content": "Hello"}], "paths": [[0]]}
    with_options = worker.result("plan", **fields, template_options={"unknown_to_the_template": True})
    assert with_options["plans"] == worker.result("plan", **fields)["plans"]
    assert "`tokenize`" in worker.result("plan", **fields, template_options={"tokenize": True})["message"]


HELLO = {"role": "user", "content": "Hello"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "`prompts`, `paths`"),
        ({"prompts": [], "messages": [HELLO], "paths": []}, "`prompts`, `paths`"),
        ({"messages": [HELLO]}, "`prompts`, `paths`"),
        ({"paths": [[0]]}, "`messages` and `paths`"),
        ({"prompts": [], "messages": [HELLO]}, "`messages` and `paths`"),
        ({"prompts": [], "template_options": {}}, "`template_options`"),
        ({"messages": [HELLO], "paths": [[0]], "continuation": {"text": "Well"}}, "`continuation`"),
        ({"prompts": [{"text": "Hello"}], "continuation": {"token_ids": [2**30]}}, "`continuation.token_ids`"),
        ({"messages": [HELLO], "paths": [[0], [0, 1]]}, "`paths[1]` names message 1 of 1"),
        ({"messages": [HELLO], "paths": [[-1]]}, "paths"),
        ({"messages": [HELLO], "paths": [[]]}, "`messages` is empty"),
    ],
)
def test_a_malformed_plan_is_a_bad_request(worker: StdioWorker, fields: dict[str, Any], expected: str):
    failed: Event = worker.result("plan", **fields)
    assert (failed["type"], failed["kind"]) == ("failed", "bad_request")
    assert expected in failed["message"]


def test_a_raw_prompt_costs_the_same_when_planned_again(worker: StdioWorker):
    prompts = [{"text": "The quick brown fox"}, {"token_ids": [5, 6, 7]}]
    plans = worker.result("plan", prompts=prompts)["plans"]
    assert worker.result("plan", prompts=prompts)["plans"] == plans
    assert plans[1]["prompt_tokens"] == 3
    finished = worker.result("generate", **prompts[0], max_tokens=1)
    assert finished["usage"]["prompt_tokens"] == plans[0]["prompt_tokens"]
    assert worker.result("plan", prompts=prompts)["plans"][0]["tier"] == "warm"


def test_a_continued_answer_costs_what_its_plan_promises(worker: StdioWorker):
    prompt = {"messages": [HELLO, {"role": "assistant", "content": "Hi"}, {"role": "user", "content": "And now?"}]}
    for going_on in ({"text": "The quick brown fo"}, {"text": "x"}, {"token_ids": [5, 6, 7]}, {"text": "東京"}):
        for is_known in (False, True):
            plan = worker.result("plan", prompts=[prompt], continuation=going_on)["plans"][0]
            usage = worker.result("generate", **prompt, continuation=going_on, max_tokens=1)["usage"]
            assert plan["cached_tokens"] == usage["cached_tokens"]
            num_read = plan["prompt_tokens"] - plan["cached_tokens"]
            assert num_read == usage["prefilled_tokens"]
            assert not is_known or num_read == 1


def test_counts_only_returns_the_number_of_ids_and_nothing_else(worker: StdioWorker):
    for prompt in ({"text": "The quick brown fox"}, {"messages": [HELLO]}, {"token_ids": [5, 6, 7]}):
        whole = worker.result("tokenize", **prompt)
        counted = worker.result("tokenize", counts_only=True, **prompt)
        assert counted["num_tokens"] == whole["num_tokens"] == len(whole["token_ids"])
        assert (counted["type"], counted["token_ids"], counted["pieces"]) == ("tokenized", [], [])
    assert "empty" in worker.result("tokenize", text="", counts_only=True)["message"]


def test_the_prefill_rate_is_known_after_the_first_prompt(random_llama: Path):
    with StdioWorker() as worker:
        worker.load(random_llama, disk_limit_bytes=0)
        prompt = {"text": "The quick brown fox " * 20}
        assert worker.result("plan", prompts=[prompt])["prefill_tokens_per_s"] is None
        assert worker.result("cache_stats")["prefill_tokens_per_s"] is None
        assert worker.result("generate", **prompt, max_tokens=1)["type"] == "finished"
        rate = worker.result("plan", prompts=[prompt])["prefill_tokens_per_s"]
        assert rate > 0
        assert worker.result("cache_stats")["prefill_tokens_per_s"] == rate
        # Cached tokens do not change the rate of reading.
        assert worker.result("generate", **prompt, max_tokens=1)["usage"]["prefilled_tokens"] == 1
        assert worker.result("plan", prompts=[prompt])["prefill_tokens_per_s"] == rate
