"""Every command ends in exactly one terminal event, even when cancelled, overtaken, repeated or cut off by shutdown."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.driver import TERMINAL, Event, StdioWorker, shown_text

PROMPT: dict[str, Any] = {"text": "Hello"}


@pytest.fixture
def worker(shared_worker: StdioWorker) -> StdioWorker:
    """An idle worker without a model that has been busy before."""
    assert shared_worker.result("unload_model")["type"] == "done"
    return shared_worker


def drain(worker: StdioWorker) -> list[Event]:
    """Return all events until the output ends."""
    try:
        while True:
            worker.next_event()
    except EOFError:
        return worker.events


def ends(events: list[Event]) -> Counter[Any]:
    """Count the terminal events of each request."""
    return Counter(event["request_id"] for event in events if event["type"] in TERMINAL)


def end_of(events: list[Event], request_id: str) -> Event:
    return next(event for event in events if event["request_id"] == request_id and event["type"] in TERMINAL)


# --- cancel ----------------------------------------------------------------------------------------------------


def test_a_cancelled_running_answer_keeps_its_text(worker: StdioWorker, endless_model: Path):
    worker.load(endless_model)
    request_id = worker.send("generate", **PROMPT)
    worker.wait_for(request_id, "chunk")
    assert worker.result("cancel", target=request_id)["type"] == "done"
    events = worker.events_until_end(request_id)
    choice = events[-1]["choices"][0]
    assert choice["reason"] == "cancelled"
    assert choice["text"] == shown_text(events)
    assert choice["text"].startswith("a")


def test_a_cancelled_waiting_answer_ends_before_the_running_one(worker: StdioWorker, endless_model: Path):
    worker.load(endless_model)
    running = worker.send("generate", **PROMPT)
    worker.wait_for(running, "chunk")
    waiting = worker.send("generate", **PROMPT, continuation={"token_ids": [70, 71]})
    worker.send("cancel", target=waiting)
    finished = worker.events_until_end(waiting)[-1]
    assert finished["choices"][0]["reason"] == "cancelled"
    assert finished["choices"][0]["text"] == ""
    assert finished["choices"][0]["turn_token_ids"] == [70, 71]
    assert finished["usage"]["prefilled_tokens"] == 0
    assert finished["timing"]["queue_ms"] > 0
    assert running not in ends(worker.events)
    worker.send("cancel", target=running)
    worker.events_until_end(running)


def test_cancelling_a_choice_that_does_not_exist_is_ignored(worker: StdioWorker, endless_model: Path):
    worker.load(endless_model)
    request_id = worker.send("generate", **PROMPT)
    worker.wait_for(request_id, "chunk")
    assert worker.result("cancel", target=request_id, choice=1)["type"] == "done"
    worker.wait_for(request_id, "chunk")
    worker.result("cancel", target=request_id, choice=0)
    assert worker.events_until_end(request_id)[-1]["choices"][0]["reason"] == "cancelled"


def test_cancelling_an_ended_or_unknown_request_is_done_and_changes_nothing(worker: StdioWorker, random_llama: Path):
    worker.load(random_llama)
    request_id = worker.send("generate", max_tokens=3, **PROMPT)
    worker.events_until_end(request_id)
    assert worker.result("cancel", target=request_id)["type"] == "done"
    assert worker.result("cancel", target="nobody")["type"] == "done"
    assert worker.result("cancel", target=17)["type"] == "done"
    # The id is free again, and a new request with it is not cancelled.
    again = worker.send("generate", request_id=request_id, max_tokens=3, **PROMPT)
    finished = worker.wait_for(again, "finished")
    assert finished["choices"][0]["reason"] != "cancelled"
    assert ends(worker.events)[request_id] == 2


def test_a_cancelled_running_load_reports_what_is_loaded_now(worker: StdioWorker, random_llama: Path):
    worker.load(random_llama)
    for fraction in (0.0, 0.1):
        request_id = worker.send("load_model", model="guide")
        while worker.wait_for(request_id, "model_loading")["fraction"] < fraction:
            pass
        worker.send("cancel", target=request_id)
        end = worker.events_until_end(request_id)[-1]
        answer = worker.result("tokenize", **PROMPT)
        if end["type"] == "model_loaded":  # before the cancel was seen
            assert answer["type"] == "tokenized"
        elif "The previous model is still loaded." in end["message"]:
            assert end["kind"] == "cancelled"
            assert answer["type"] == "tokenized"
        else:
            assert end["kind"] == "cancelled"
            assert "No model is loaded now." in end["message"]
            assert answer["kind"] == "model_not_loaded"
    assert worker.load(random_llama)["type"] == "model_loaded"


def test_a_cancelled_waiting_load_does_not_change_the_model(worker: StdioWorker, endless_model: Path):
    worker.load(endless_model)
    running = worker.send("generate", **PROMPT)
    worker.wait_for(running, "chunk")
    load = worker.send("load_model", model="guide")
    worker.send("cancel", target=load)
    end = worker.events_until_end(load)[-1]
    assert (end["type"], end["kind"], end["still_loaded"]) == ("failed", "cancelled", True)
    worker.send("cancel", target=running)
    worker.events_until_end(running)
    assert worker.result("generate", max_tokens=4, **PROMPT)["choices"][0]["text"] == "abab"


# --- order -----------------------------------------------------------------------------------------------------


def test_answers_begin_in_the_order_of_their_requests(worker: StdioWorker, random_llama: Path):
    worker.load(random_llama)
    asked = [worker.send("generate", max_tokens=5, **PROMPT) for _ in range(6)]
    for request_id in asked:
        worker.events_until_end(request_id)
    began = [
        event["request_id"]
        for event in worker.events
        if event["type"] == "prefill_progress" and event["request_id"] in asked
    ]
    assert began == sorted(began, key=asked.index)
    assert all(ends(worker.events)[request_id] == 1 for request_id in asked)


def test_queries_overtake_answers(worker: StdioWorker, endless_model: Path):
    worker.load(endless_model)
    running = worker.send("generate", **PROMPT)
    worker.wait_for(running, "chunk")
    waiting = worker.send("generate", **PROMPT)
    assert worker.result("tokenize", **PROMPT)["type"] == "tokenized"
    assert worker.result("plan", prompts=[PROMPT, PROMPT])["type"] == "planned"
    assert worker.result("cache_stats")["type"] == "cache_stats"
    assert not ends(worker.events).keys() & {running, waiting}
    for request_id in (running, waiting):
        worker.result("cancel", target=request_id)
        worker.events_until_end(request_id)


@pytest.mark.parametrize(
    ("question", "fields"), [("tokenize", PROMPT), ("plan", {"prompts": [PROMPT]}), ("cache_stats", {})]
)
def test_queries_never_overtake_a_load(worker: StdioWorker, random_llama: Path, question: str, fields: dict[str, Any]):
    worker.load(random_llama)
    vocabulary = worker.result("tokenize", **PROMPT)["token_ids"]
    load = worker.send("load_model", model="guide")
    asked = worker.send(question, **fields)
    answer = worker.events_until_end(asked)[-1]
    assert ends(worker.events)[load] == 1
    if question == "tokenize":
        assert answer["token_ids"] != vocabulary
    unload = worker.send("unload_model")
    asked = worker.send(question, **fields)
    answer = worker.events_until_end(asked)[-1]
    assert (answer["type"], answer["kind"]) == ("failed", "model_not_loaded")
    assert ends(worker.events)[unload] == 1


def test_a_query_between_loads_is_answered_by_the_model_loaded_before_it(worker: StdioWorker, random_llama: Path):
    sent = [
        worker.send("load_model", model=str(random_llama)),
        worker.send("tokenize", **PROMPT),
        worker.send("load_model", model="guide"),
        worker.send("tokenize", **PROMPT),
    ]
    results = [worker.events_until_end(request_id)[-1] for request_id in sent]
    assert [result["type"] for result in results] == ["model_loaded", "tokenized", "model_loaded", "tokenized"]
    assert results[1]["token_ids"] != results[3]["token_ids"]


# --- consecutive loads ---------------------------------------------------------------------------------------


def test_the_first_of_two_consecutive_loads_is_superseded(worker: StdioWorker, random_llama: Path):
    first = worker.send("load_model", model="guide")
    second = worker.send("load_model", model=str(random_llama))
    assert worker.events_until_end(second)[-1]["type"] == "model_loaded"
    end = worker.events_until_end(first)[-1]
    assert (end["type"], end["kind"]) == ("failed", "superseded")
    worker.result("cache_stats")
    assert ends(worker.events)[first] == ends(worker.events)[second] == 1
    assert worker.result("generate", max_tokens=2, **PROMPT)["type"] == "finished"


def test_many_consecutive_loads_end_once_each_and_the_last_one_stays(worker: StdioWorker, random_llama: Path):
    loads = [worker.send("load_model", model=model) for model in ["guide", str(random_llama)] * 10]
    assert worker.events_until_end(loads[-1])[-1]["model"] == str(random_llama)
    for request_id in loads[:-1]:
        end = worker.events_until_end(request_id)[-1]
        # A load that finished before the next one was seen is loaded, not superseded.
        assert end["type"] == "model_loaded" or end["kind"] == "superseded"
    worker.result("cache_stats")
    assert all(ends(worker.events)[request_id] == 1 for request_id in loads)


def test_loads_sent_while_others_end_never_get_two_replies(worker: StdioWorker, random_llama: Path):
    # Each load is sent as soon as the last one has finished, when that one might still be superseded.
    loads: list[str] = []
    for _ in range(15):
        loads.append(worker.send("load_model", model=str(random_llama)))
        worker.wait_for(loads[-1], "model_loaded")
    worker.result("cache_stats")
    assert all(ends(worker.events)[request_id] == 1 for request_id in loads)


def test_an_impossible_load_does_not_supersede_a_possible_one(worker: StdioWorker, random_llama: Path, tmp_path: Path):
    good = worker.send("load_model", model=str(random_llama))
    bad = worker.send("load_model", model=str(tmp_path / "nothing"))
    later = worker.send("load_model", model="guide", draft_model=str(tmp_path / "nothing"))
    assert worker.events_until_end(bad)[-1]["kind"] == "model_not_found"
    assert worker.events_until_end(later)[-1]["kind"] == "model_not_found"
    assert worker.events_until_end(good)[-1]["type"] == "model_loaded"


# --- faulty commands -----------------------------------------------------------------------------------------


def test_an_id_in_use_is_refused_and_the_first_command_continues(worker: StdioWorker, endless_model: Path):
    worker.load(endless_model)
    running = worker.send("generate", request_id="twice", max_tokens=2000, **PROMPT)
    worker.wait_for(running, "chunk")
    worker.send("tokenize", request_id="twice", **PROMPT)
    failed = worker.next_event()
    while failed["type"] == "chunk":
        failed = worker.next_event()
    assert (failed["kind"], failed["request_id"]) == ("bad_request", "twice")
    assert "in use" in failed["message"]
    assert worker.wait_for("twice", "finished")["choices"][0]["reason"] == "length"


@pytest.mark.parametrize(
    ("command", "fields"),
    [("generate", PROMPT), ("tokenize", PROMPT), ("plan", {"prompts": [PROMPT]}), ("cache_stats", {})],
)
def test_without_a_model_requests_fail_with_model_not_loaded(worker: StdioWorker, command: str, fields: dict[str, Any]):
    failed = worker.result(command, **fields)
    assert (failed["type"], failed["kind"]) == ("failed", "model_not_loaded")
    assert failed["message"].startswith("No model is loaded. ")


def test_unloading_works_with_and_without_a_model(worker: StdioWorker, random_llama: Path):
    assert worker.result("unload_model")["type"] == "done"
    worker.load(random_llama)
    assert worker.result("unload_model")["type"] == "done"
    assert worker.result("generate", **PROMPT)["kind"] == "model_not_loaded"


# --- shutdown ------------------------------------------------------------------------------------------------


def test_shutdown_cancels_running_and_waiting_requests_and_is_done_last(stdio_worker: StdioWorker, endless_model: Path):
    loaded = stdio_worker.load(endless_model)["request_id"]
    running = stdio_worker.send("generate", **PROMPT)
    stdio_worker.wait_for(running, "chunk")
    waiting = [stdio_worker.send("generate", **PROMPT) for _ in range(3)]
    load = stdio_worker.send("load_model", model="guide")
    asked = stdio_worker.send("tokenize", **PROMPT)
    unload = stdio_worker.send("unload_model")
    shutdown = stdio_worker.send("shutdown")
    events = drain(stdio_worker)
    assert stdio_worker.process.wait() == 0
    assert ends(events) == dict.fromkeys([loaded, running, *waiting, load, asked, unload, shutdown], 1)
    assert events[-1] == {"type": "done", "request_id": shutdown}
    for request_id in (running, *waiting):
        assert end_of(events, request_id)["choices"][0]["reason"] == "cancelled"
    assert end_of(events, load)["kind"] == "cancelled"
    assert end_of(events, asked)["type"] == "tokenized"


def test_shutdown_abandons_a_running_load(stdio_worker: StdioWorker):
    load = stdio_worker.send("load_model", model="guide")
    stdio_worker.wait_for(load, "model_loading")
    shutdown = stdio_worker.send("shutdown")
    events = drain(stdio_worker)
    assert stdio_worker.process.wait() == 0
    assert ends(events) == {load: 1, shutdown: 1}
    assert end_of(events, load).get("kind") in {"cancelled", None}


def test_an_idle_worker_shuts_down(stdio_worker: StdioWorker):
    shutdown = stdio_worker.send("shutdown")
    assert drain(stdio_worker) == [{"type": "done", "request_id": shutdown}]
    assert stdio_worker.process.wait() == 0


def test_commands_during_shutdown_are_refused(stdio_worker: StdioWorker, endless_model: Path):
    stdio_worker.load(endless_model)
    # A single write, so that all commands are read before the answer's next step.
    commands = [
        {"type": "generate", "request_id": "running", **PROMPT},
        {"type": "shutdown", "request_id": "end"},
        {"type": "shutdown", "request_id": "again"},
        {"type": "tokenize", "request_id": "late", **PROMPT},
        {"type": "nonsense", "request_id": "broken"},
    ]
    stdio_worker.send_line(b"\n".join(json.dumps(command).encode() for command in commands))
    events = drain(stdio_worker)
    assert stdio_worker.process.wait() == 0
    counts = ends(events)
    assert counts["running"] == counts["end"] == 1
    assert all(counts[late] <= 1 for late in ("again", "late", "broken"))
    assert events[-1] == {"type": "done", "request_id": "end"}


def test_running_and_waiting_requests_are_finished_at_the_end_of_input(stdio_worker: StdioWorker, endless_model: Path):
    load = stdio_worker.send("load_model", model=str(endless_model))
    asked = [stdio_worker.send("generate", max_tokens=300, **PROMPT) for _ in range(3)]
    last = stdio_worker.send("tokenize", **PROMPT)
    assert stdio_worker.close_input() == 0
    events = drain(stdio_worker)
    assert ends(events) == dict.fromkeys([load, *asked, last], 1)
    for request_id in asked:
        finished = end_of(events, request_id)
        assert finished["choices"][0]["reason"] == "length"
        assert finished["choices"][0]["text"] == "ab" * 150


def test_a_last_line_without_a_line_break_is_read(stdio_worker: StdioWorker):
    assert stdio_worker.process.stdin is not None
    stdio_worker.process.stdin.write(b'{"type": "cache_stats", "request_id": "last"}')
    assert stdio_worker.close_input() == 0
    assert ends(drain(stdio_worker)) == {"last": 1}


def test_an_empty_input_ends_without_an_error(stdio_worker: StdioWorker):
    assert stdio_worker.close_input() == 0
    assert drain(stdio_worker) == []
    assert not [line for line in stdio_worker.errors if "Traceback" in line]
