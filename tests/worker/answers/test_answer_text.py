"""Answers over standard input and output from models that write what the test dictates: text, tokens, stops."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer

from tests.driver import StdioWorker, shown_text
from tests.models import EOS, chain, write_scripted_model
from tests.tokenizers import bare_tokenizer, piecewise_tokenizer
from tests.worker.answers.said import Said, Say, eos_of


def test_a_stop_spelled_with_other_tokens_ends_the_answer(say: Say) -> None:
    said = say("The ", "E", "N", "D", " is", " far")
    choice = said.choice(stop=["END"])
    assert (choice["text"], choice["reason"], choice["stop"]) == ("The ", "stop", "END")
    assert (choice["token_ids"], choice["num_recut"]) == (said.ids[:1], 0)


def test_a_stop_completed_by_the_last_allowed_token_is_a_stop(say: Say) -> None:
    choice = say("a", " S", "TOP", "b").choice(stop=["STOP"], max_tokens=3)
    assert (choice["text"], choice["reason"], choice["stop"]) == ("a ", "stop", "STOP")


@pytest.mark.parametrize(("max_tokens", "reason"), [(3, "length"), (9, "eos")])
def test_a_partial_stop_at_the_end_is_shown(say: Say, max_tokens: int, reason: str) -> None:
    said = say("a", " S", "TO")
    events = said.events(stop=["STOP"], max_tokens=max_tokens)
    (choice,) = events[-1]["choices"]
    assert (choice["text"], choice["reason"], choice["stop"]) == ("a STO", reason, None)
    assert choice["token_ids"] == said.ids
    assert [event["text"] for event in events if event["type"] == "chunk"] == ["a", " ", "STO"]


@pytest.mark.parametrize(
    ("pieces", "stop", "reason"),
    [(("x", "ab", "!"), ["abc", "!"], "stop"), (("x", "ab", b"\xe2"), ["abc"], "length")],
)
def test_a_chunk_holds_every_token_since_the_last_one_even_those_without_kept_text(
    say: Say, pieces: tuple[str | bytes, ...], stop: list[str], reason: str
) -> None:
    said = say(*pieces, "c")
    events = said.events(stop=stop, max_tokens=3)
    chunks = [(event["text"], [token["id"] for token in event["tokens"]]) for event in events if "text" in event]
    assert chunks == [("x", said.ids[:1]), ("ab", said.ids[1:3])]
    (choice,) = events[-1]["choices"]
    assert (choice["token_ids"], choice["num_recut"], choice["reason"]) == (said.ids[:2], 0, reason)


def test_a_token_that_ends_inside_a_character_completes_a_stop(say: Say) -> None:
    said = say("end", ".", b" \xe2", b"\x82\xac")
    choice = said.choice(stop=[". "])
    assert (choice["text"], choice["reason"], choice["token_ids"]) == ("end", "stop", said.ids[:1])


def test_a_stop_that_begins_inside_a_partial_character_of_a_token_is_found(say: Say) -> None:
    said = say(b"a\xe2", b"\x82\xac", "!", "b")
    choice = said.choice(stop=["€!"])
    assert (choice["text"], choice["reason"], choice["num_recut"]) == ("a", "stop", 1)
    assert choice["token_ids"] != said.ids[:1]


@pytest.mark.parametrize("stop", ["\ufffd", "e\u0301", "\x00", "\u200d", "\ufffd\x00"])
def test_stops_of_every_kind_of_character_are_found(say: Say, stop: str) -> None:
    choice = say("a", b"\xff", "\x00", "e", "\u0301", "👩", "\u200d", "!").choice(stop=[stop])
    text = "a\ufffd\x00e\u0301👩\u200d!"
    assert (choice["text"], choice["stop"]) == (text[: text.index(stop)], stop)


def test_the_stop_that_completes_first_wins_and_among_those_the_longest(say: Say) -> None:
    said = say("x", "ab", "c")
    assert said.choice(stop=["bc", "ab"])["stop"] == "ab"
    assert said.choice(stop=["abc", "ab"])["stop"] == "ab"
    assert said.choice(stop=["b", "xab", "ab"])["stop"] == "xab"


def test_a_thousand_stops_of_a_hundred_characters_work_like_one(say: Say) -> None:
    stops = [f"{number:04}" * 25 for number in range(1000)]
    pieces = [stops[777][start : start + length] for start, length in ((0, 1), (1, 3), (4, 6), (10, 11), (21, 79))]
    choice = say("a", *pieces, "b").choice(stop=stops)
    assert (choice["text"], choice["stop"]) == ("a", stops[777])


def test_the_first_and_last_space_of_an_answer_are_kept(say: Say) -> None:
    said = say(" a", "b", " ")
    choice = said.choice()
    assert (choice["text"], choice["token_ids"]) == (" ab ", said.ids)


def test_a_control_token_within_an_answer_is_shown_as_written(shared_worker: StdioWorker, tmp_path: Path) -> None:
    tokenizer = piecewise_tokenizer([b"a ", b" b"])
    ids = [tokenizer.token_to_id(piece) for piece in ("?", "aĠ", "<|im_start|>", "Ġb", EOS)]
    shared_worker.load(write_scripted_model(tmp_path / "model", tokenizer, chain([i for i in ids if i is not None])))
    said = Said(shared_worker, [ids[0] or 0], [])
    choice = said.choice()
    assert (choice["text"], choice["token_ids"], choice["reason"]) == ("a <|im_start|> b", ids[1:4], "eos")
    choice = said.choice(stop=["start"])
    assert (choice["text"], choice["token_ids"][:1]) == ("a <|im_", ids[1:2])
    assert ids[2] not in choice["token_ids"]


@pytest.mark.parametrize(
    ("piece", "stop", "text", "reason", "num_recut"),
    [
        ("ab", [], "ab", "length", 0),
        ("ab", ["abc"], "ab", "length", 0),
        ("ab", ["b"], "a", "stop", 1),
        ("ab", ["ab"], "", "stop", 0),
        (b"\xe2\x82", [], "", "length", 0),
    ],
)
def test_max_tokens_may_be_one(
    say: Say, piece: str | bytes, stop: list[str], text: str, reason: str, num_recut: int
) -> None:
    said = say(piece, "c")
    events = said.events(stop=stop, max_tokens=1)
    (choice,) = events[-1]["choices"]
    assert (choice["text"], choice["reason"], choice["num_recut"]) == (text, reason, num_recut)
    # The only chunk has the token; without text there is no chunk.
    chunks = [(event["text"], [token["id"] for token in event["tokens"]]) for event in events if "text" in event]
    assert chunks == ([(text, said.ids[:1])] if text else [])
    assert (
        "".join(said.worker.result("tokenize", token_ids=[*said.prompt, *choice["token_ids"]])["pieces"]) == "?" + text
    )


def test_bytes_of_an_unfinished_character_at_the_end_are_left_out(say: Say) -> None:
    said = say("a", b"b\xf0\x9f", b"\x98")
    choice = said.choice()
    assert (choice["text"], choice["reason"], choice["num_recut"]) == ("ab", "eos", 1)
    assert choice["token_ids"][0] == said.ids[0]
    assert said.worker.result("tokenize", token_ids=choice["token_ids"])["pieces"] == ["a", "b"]


@pytest.mark.parametrize(
    ("pieces", "kept", "num_recut"),
    [
        (["?", "a", "bcd", "abc"], ["abc"], 1),  # There is no token for "bc" alone.
        (["?", "a", "bcd", "b", "c"], ["a", "b", "c"], 2),
        (
            ["?", "a", "bcd"],
            ["a"],
            0,
        ),  # No tokens spell this text, so the ids spell less than the text.
    ],
)
def test_a_part_that_no_tokens_spell_is_tokenized_together_with_the_text_before_it(
    shared_worker: StdioWorker, tmp_path: Path, pieces: list[str], kept: list[str], num_recut: int
) -> None:
    tokenizer = bare_tokenizer(pieces)
    said = [pieces.index(piece) for piece in ("?", "a", "bcd")]
    shared_worker.load(write_scripted_model(tmp_path / "model", tokenizer, chain([*said, eos_of(tokenizer)])))
    choice = Said(shared_worker, said[:1], said[1:]).choice(stop=["d"])
    assert choice["text"] == "abc"
    assert [pieces[token_id] for token_id in choice["token_ids"]] == kept
    assert (choice["turn_token_ids"], choice["num_recut"]) == (choice["token_ids"], num_recut)


def test_held_back_text_is_shown_when_the_answer_is_cancelled(shared_worker: StdioWorker, tmp_path: Path) -> None:
    tokenizer = piecewise_tokenizer([])
    dash = tokenizer.token_to_id("-")
    assert dash is not None
    shared_worker.load(write_scripted_model(tmp_path / "model", tokenizer, {dash: dash}))
    request_id = shared_worker.send("generate", token_ids=[dash], stop=["-" * 4095 + "!"])
    while shared_worker.next_event()["request_id"] != request_id:
        pass
    shared_worker.send("cancel", target=request_id)
    events = shared_worker.events_until_end(request_id)
    (choice,) = events[-1]["choices"]
    assert choice["reason"] == "cancelled"
    assert shown_text(events) == choice["text"] == "-" * len(choice["token_ids"])
    assert sum(len(event["tokens"]) for event in events if event["type"] == "chunk") == len(choice["token_ids"])


def test_a_request_cancelled_while_its_prompt_is_read_has_no_text(
    shared_worker: StdioWorker, endless_model: Path, byte_level: Tokenizer
) -> None:
    a, b = byte_level.encode("ab").ids
    shared_worker.load(endless_model)
    request_id = shared_worker.send("generate", token_ids=[a, b] * 100_000, continuation={"token_ids": [a, b]})
    while shared_worker.next_event()["request_id"] != request_id:
        pass
    shared_worker.send("cancel", target=request_id)
    *progress, finished = shared_worker.events_until_end(request_id)
    assert {event["type"] for event in progress} == {"prefill_progress"}
    (choice,) = finished["choices"]
    assert (choice["text"], choice["token_ids"], choice["turn_token_ids"]) == ("", [], [a, b])
    assert (choice["reason"], finished["usage"]["generated_tokens"]) == ("cancelled", 0)
