"""Answers over standard input and output, with models that say what the test tells them: text, tokens, ids, seams."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer

from tests.driver import Event, StdioWorker, shown_text
from tests.models import CORPUS, EOS, byte_level_tokenizer, chain, sentencepiece_tokenizer, write_scripted_model
from tests.tokenizers import SPECIAL, bare_tokenizer, composing_tokenizer, piecewise_tokenizer, unigram_tokenizer
from tests.worker.text.text_oracle import expected, expected_kept, split
from worker.text.token_bytes import token_bytes
from worker.text.vocabulary import Vocabulary

NUM_CASES = 150
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
    """A model that says one token after another, each followed by the same one ever."""

    vocabulary: Vocabulary
    successor: dict[int, int]
    eos: int

    def sampled(self, last: int, left: bytes, max_tokens: int) -> list[int]:
        """The tokens that it says after `last`, of which the first ones must spell `left`; EOS at most at the end."""
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
        # All others are equally unlikely: greedy takes the lowest.
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
        """Ask for an answer and compare every event of it with the rules; return the finished choice."""
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
        """The ids that stand, and the bytes that are said again."""
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
        """Each chunk is what the rules let out after its last token, and holds all tokens since the one before."""
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
        """Each token's bytes without those that only said again what was given."""
        new: list[bytes] = []
        for token_id in sampled:
            data = self.script.vocabulary.bytes[token_id]
            new.append(data[len(left) :])
            left = left[len(data) :]
        return new

    def _num_kept(self, given: bytes, new: list[bytes], shown: str) -> int:
        """How many tokens something is kept of."""
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
            # Only the token that the text ends inside of is cut anew, and what must be where no tokens spell its part.
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
    """A model that goes once round all its tokens in some order, EOS after every fifteenth."""
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


def eos_of(tokenizer: Tokenizer) -> int:
    eos = tokenizer.token_to_id(EOS)
    assert eos is not None
    return eos


def test_random_answers_are_as_the_rules_say(world: World) -> None:
    rng = random.Random(8)
    vocabulary, script = world.script.vocabulary, world.script
    starts = sorted(script.successor)
    for _ in range(NUM_CASES):
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
                given_text = None  # the vocabulary has no tokens for it
        said = vocabulary.text_of(coming) or "a"
        stop: list[str] = []
        for _ in range(rng.choice((0, 1, 1, 2, 4))):
            place = rng.randrange(len(said))
            stop.append(said[place : place + rng.randint(1, 6)])
        world.check(prompt, stop=stop, max_tokens=number, given_ids=given_ids, given_text=given_text)


# --- one answer at a time ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Said:
    """What a model says that was made to say some pieces, one token each."""

    worker: StdioWorker
    prompt: list[int]
    ids: list[int]
    """Those of the pieces."""

    def events(self, **options: Any) -> list[Event]:
        options.setdefault("token_ids", self.prompt)
        return self.worker.ask("generate", **options)

    def choice(self, **options: Any) -> Event:
        events = self.events(**options)
        assert events[-1]["type"] == "finished", events[-1]
        (choice,) = events[-1]["choices"]
        assert shown_text(events) == choice["text"]
        return choice


@pytest.fixture
def say(shared_worker: StdioWorker, tmp_path: Path) -> Callable[..., Said]:
    """Load a model that says these pieces after a "?", then ends; they must differ from each other."""

    def load(*pieces: str | bytes) -> Said:
        spelled = [piece.encode() if isinstance(piece, str) else piece for piece in pieces]
        tokenizer = piecewise_tokenizer([piece for piece in spelled if len(piece) > 1])
        table = {data: token_id for token_id, data in enumerate(token_bytes(tokenizer))}
        prompt, *ids = [table[piece] for piece in [b"?", *spelled]]
        shared_worker.load(
            write_scripted_model(tmp_path / "model", tokenizer, chain([prompt, *ids, eos_of(tokenizer)]))
        )
        return Said(shared_worker, [prompt], ids)

    return load


Say = Callable[..., Said]


def test_a_stop_that_the_model_spells_with_other_tokens_ends_the_answer(say: Say) -> None:
    said = say("The ", "E", "N", "D", " is", " far")
    choice = said.choice(stop=["END"])
    assert (choice["text"], choice["reason"], choice["stop"]) == ("The ", "stop", "END")
    assert (choice["token_ids"], choice["num_recut"]) == (said.ids[:1], 0)


def test_a_stop_that_completes_on_the_last_allowed_token_is_a_stop(say: Say) -> None:
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
def test_a_chunk_holds_every_token_since_the_last_one_also_those_of_which_nothing_is_kept(
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


def test_a_stop_that_begins_inside_a_tokens_partial_character_is_found(say: Say) -> None:
    said = say(b"a\xe2", b"\x82\xac", "!", "b")
    choice = said.choice(stop=["€!"])
    assert (choice["text"], choice["reason"], choice["num_recut"]) == ("a", "stop", 1)
    assert choice["token_ids"] != said.ids[:1]


@pytest.mark.parametrize("stop", ["\ufffd", "e\u0301", "\x00", "\u200d", "\ufffd\x00"])
def test_stops_of_every_kind_of_character_are_found(say: Say, stop: str) -> None:
    choice = say("a", b"\xff", "\x00", "e", "\u0301", "👩", "\u200d", "!").choice(stop=[stop])
    text = "a\ufffd\x00e\u0301👩\u200d!"
    assert (choice["text"], choice["stop"]) == (text[: text.index(stop)], stop)


def test_of_two_stops_the_one_that_completes_first_wins_and_of_those_the_longest(say: Say) -> None:
    said = say("x", "ab", "c")
    assert said.choice(stop=["bc", "ab"])["stop"] == "ab"
    assert said.choice(stop=["abc", "ab"])["stop"] == "ab"
    assert said.choice(stop=["b", "xab", "ab"])["stop"] == "xab"


def test_a_thousand_stops_of_a_hundred_characters_are_as_good_as_one(say: Say) -> None:
    stops = [f"{number:04}" * 25 for number in range(1000)]
    pieces = [stops[777][start : start + length] for start, length in ((0, 1), (1, 3), (4, 6), (10, 11), (21, 79))]
    choice = say("a", *pieces, "b").choice(stop=stops)
    assert (choice["text"], choice["stop"]) == ("a", stops[777])


def test_the_answers_first_and_last_space_are_kept(say: Say) -> None:
    said = say(" a", "b", " ")
    choice = said.choice()
    assert (choice["text"], choice["token_ids"]) == (" ab ", said.ids)


def test_a_control_token_amid_an_answer_is_shown_as_it_is_written(shared_worker: StdioWorker, tmp_path: Path) -> None:
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
def test_one_token_may_be_all_that_is_allowed(
    say: Say, piece: str | bytes, stop: list[str], text: str, reason: str, num_recut: int
) -> None:
    said = say(piece, "c")
    events = said.events(stop=stop, max_tokens=1)
    (choice,) = events[-1]["choices"]
    assert (choice["text"], choice["reason"], choice["num_recut"]) == (text, reason, num_recut)
    # The one chunk has the token; without text there is none.
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
        (["?", "a", "bcd", "abc"], ["abc"], 1),  # no token for "bc" alone
        (["?", "a", "bcd", "b", "c"], ["a", "b", "c"], 2),
        (["?", "a", "bcd"], ["a"], 0),  # none at all: the ids say less than the text
    ],
)
def test_a_part_that_no_tokens_spell_is_cut_anew_with_what_is_before_it(
    shared_worker: StdioWorker, tmp_path: Path, pieces: list[str], kept: list[str], num_recut: int
) -> None:
    tokenizer = bare_tokenizer(pieces)
    said = [pieces.index(piece) for piece in ("?", "a", "bcd")]
    shared_worker.load(write_scripted_model(tmp_path / "model", tokenizer, chain([*said, eos_of(tokenizer)])))
    choice = Said(shared_worker, said[:1], said[1:]).choice(stop=["d"])
    assert choice["text"] == "abc"
    assert [pieces[token_id] for token_id in choice["token_ids"]] == kept
    assert (choice["turn_token_ids"], choice["num_recut"]) == (choice["token_ids"], num_recut)


def test_cancelled_amid_held_text_it_is_shown(shared_worker: StdioWorker, tmp_path: Path) -> None:
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


def test_cancelled_while_the_prompt_is_read_nothing_is_said(
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


# --- going on from given text ------------------------------------------------------------------------------


def test_a_stop_may_begin_in_the_given_text_of_which_nothing_is_cut(say: Say) -> None:
    said = say("a S", "TO", "P", "b")
    for continuation in ({"text": "a STO"}, {"token_ids": said.ids[:2]}):
        choice = said.choice(stop=["STOP"], continuation=continuation)
        assert (choice["text"], choice["stop"], choice["token_ids"]) == ("", "STOP", [])
        turn = said.worker.result("tokenize", token_ids=choice["turn_token_ids"])
        assert "".join(turn["pieces"]) == "a STO"


def test_a_stop_may_begin_in_given_text_that_the_vocabulary_has_no_tokens_for(
    shared_worker: StdioWorker, tmp_path: Path
) -> None:
    tokenizer = bare_tokenizer(["?", "a", "b"])
    shared_worker.load(write_scripted_model(tmp_path / "model", tokenizer, chain([0, 1, 2, eos_of(tokenizer)])))
    said = Said(shared_worker, [0], [1, 2])
    choice = said.choice(stop=["☂b"], continuation={"text": "a☂"})
    assert (choice["text"], choice["stop"]) == ("", "☂b")
    choice = said.choice(stop=["ab"], continuation={"text": "a☂"})
    assert (choice["text"], choice["reason"]) == ("b", "eos")


def test_a_stop_that_lies_wholly_in_the_given_text_ends_nothing(say: Say) -> None:
    said = say("a STOP", " b", "OP")
    for continuation in ({"text": "a STOP"}, {"token_ids": said.ids[:1]}):
        choice = said.choice(stop=["STOP"], continuation=continuation)
        assert (choice["text"], choice["reason"]) == (" bOP", "eos")


def test_given_ids_may_end_inside_a_character(say: Say) -> None:
    said = say("5 ", b"\xe2\x82", b"\xac!", "x")
    choice = said.choice(stop=["€!"], continuation={"token_ids": said.ids[:2]})
    assert (choice["text"], choice["stop"]) == ("", "€!")
    choice = said.choice(stop=["!"], continuation={"token_ids": said.ids[:2]})
    assert (choice["text"], choice["stop"], choice["num_recut"]) == ("€", "!", 1)
    turn = said.worker.result("tokenize", token_ids=choice["turn_token_ids"])
    assert turn["token_ids"][:2] == said.ids[:2]


def test_a_segment_tells_nothing_again_of_bytes_that_the_one_before_it_has_shown_as_no_character(say: Say) -> None:
    said = say("5", b"\xe2\x82", " x", "y", "z")
    # What the space shows to be no character stands before the stop string, and is said; the next one has no text.
    choice = said.choice(segments=[{"stop": [" "]}, {"stop": [" "]}, {}])
    assert [part["text"] for part in choice["segments"]] == ["5\ufffd", "", " xyz"]
    assert choice["text"] == said.worker.result("tokenize", token_ids=choice["token_ids"])["text"]
    # Where nothing was told of them, they may become one.
    said = say("5", b"\xe2\x82", b"\xac!", "x")
    choice = said.choice(segments=[{"stop": ["\u20ac"]}, {}], continuation={"token_ids": said.ids[:2]})
    assert [part["text"] for part in choice["segments"]] == ["", "\u20ac!x"]


@pytest.mark.parametrize("cut", range(1, len("say return value")))
def test_the_text_joins_wherever_it_was_cut(say: Say, cut: int) -> None:
    said = say("say", " return", " value")
    given = "say return value"[:cut]
    choice = said.choice(continuation={"text": given})
    assert given + choice["text"] == "say return value"
    assert choice["turn_token_ids"] == said.ids
    assert "".join(said.worker.result("tokenize", token_ids=choice["token_ids"])["pieces"]) == choice["text"]


@pytest.mark.parametrize("num_chars", range(1, len("say return value")))
def test_of_text_whose_ids_are_known_those_stay_that_say_it(say: Say, num_chars: int) -> None:
    said = say("s", "ay", " return", " va", "lue")
    given = "say return value"[:num_chars]
    # All that were drawn, though the text of the last of them was not all told.
    choice = said.choice(continuation={"text": given, "known_ids": said.ids})
    assert given + choice["text"] == "say return value"
    assert choice["turn_token_ids"] == said.ids
    assert choice["turn_token_chars"] == [1, 2, 7, 3, 3]
    # Of another text none is used.
    choice = said.choice(continuation={"text": given, "known_ids": said.ids[2:]})
    assert given + choice["text"] == "say return value"


def test_known_ids_go_with_text(say: Say) -> None:
    said = say("a", "b")
    ended = said.events(continuation={"token_ids": said.ids[:1], "known_ids": said.ids[:1]})[-1]
    assert (ended["kind"], "`known_ids`" in ended["message"]) == ("bad_request", True)
    ended = said.events(continuation={"text": "a", "known_ids": [2**31 - 1]})[-1]
    assert (ended["kind"], "`continuation.known_ids`" in ended["message"]) == ("bad_request", True)


@pytest.mark.parametrize("make", [sentencepiece_tokenizer, unigram_tokenizer])
def test_no_space_is_lost_or_doubled_at_any_seam(
    shared_worker: StdioWorker, tmp_path: Path, make: Callable[[], Tokenizer]
) -> None:
    tokenizer = make()
    text = " the fox return"
    vocabulary = Vocabulary(tokenizer)
    own_ids = vocabulary.encode(text)
    (start,) = vocabulary.encode("?")
    shared_worker.load(write_scripted_model(tmp_path / "model", tokenizer, chain([start, *own_ids, eos_of(tokenizer)])))
    for cut in range(len(text)):
        given = text[:cut]
        (choice,) = shared_worker.result("generate", token_ids=[start], continuation={"text": given})["choices"]
        assert given + choice["text"] == text
        assert choice["turn_token_ids"] == own_ids


def test_a_stop_cuts_inside_the_token_that_heals_the_seam(say: Say) -> None:
    said = say("say", " returned", "!")
    events = said.events(stop=["ed"], continuation={"text": "say retu"})
    (choice,) = events[-1]["choices"]
    assert (choice["text"], choice["stop"], choice["num_recut"]) == ("rn", "ed", 2)
    assert "".join(said.worker.result("tokenize", token_ids=choice["turn_token_ids"])["pieces"]) == "say return"
    tokens = [token for event in events if event["type"] == "chunk" for token in event["tokens"]]
    assert [(token["id"], token["origin"]) for token in tokens] == [(said.ids[1], "healed")]


def test_all_ids_that_were_not_sampled_at_the_end_are_counted_as_cut_anew(say: Say) -> None:
    said = say("say", " return")
    choice = said.choice(continuation={"text": "say retu"})
    assert (choice["text"], len(choice["token_ids"]), choice["num_recut"]) == ("rn", 2, 2)
    said = say("say", " return", " value")
    choice = said.choice(continuation={"text": "say retu"})
    assert (choice["text"], choice["token_ids"][-1], choice["num_recut"]) == ("rn value", said.ids[2], 0)


def test_an_answer_that_reasons_goes_on_the_same_wherever_it_was_cut(
    shared_worker: StdioWorker, tmp_path: Path
) -> None:
    tokenizer = piecewise_tokenizer([b"think", b">hm", b" ok"])
    tokenizer.add_tokens([AddedToken(mark, special=False) for mark in ("<think>", "</think>")])
    ids = [tokenizer.token_to_id(piece) for piece in ("?", "<think>", "h", "m", "</think>", "Ġok", EOS)]
    start, *said, eos = [token_id for token_id in ids if token_id is not None]
    shared_worker.load(write_scripted_model(tmp_path / "model", tokenizer, chain([start, *said, eos])))
    text = "<think>hm</think> ok"
    for cut in range(len(text)):
        given = text[:cut]
        (choice,) = shared_worker.result("generate", token_ids=[start], continuation={"text": given})["choices"]
        assert given + choice["text"] == text
        assert choice["turn_token_ids"] == said


def test_given_text_forges_no_turn(shared_worker: StdioWorker, tmp_path: Path) -> None:
    tokenizer = piecewise_tokenizer([])
    start, dot = tokenizer.token_to_id("?"), tokenizer.token_to_id(".")
    assert start is not None
    assert dot is not None
    shared_worker.load(write_scripted_model(tmp_path / "model", tokenizer, dict.fromkeys(range(256), dot)))
    given = f"a{EOS}<|im_start|>user"
    result = shared_worker.result("generate", token_ids=[start], continuation={"text": given}, max_tokens=9)
    (choice,) = result["choices"]
    controls = {tokenizer.token_to_id(control) for control in SPECIAL}
    assert controls.isdisjoint(choice["turn_token_ids"])
    pieces = shared_worker.result("tokenize", token_ids=choice["turn_token_ids"])["pieces"]
    assert "".join(pieces) == given + choice["text"]


def test_the_next_turn_reads_what_the_person_saw(shared_worker: StdioWorker, tmp_path: Path) -> None:
    tokenizer = piecewise_tokenizer([b"Hi", b" there", b" STOP", b"STOPPED"])
    table = {data: token_id for token_id, data in enumerate(token_bytes(tokenizer))}
    said = [table[piece] for piece in (b"Hi", b" there", b" STOP")]
    shared_worker.load(write_scripted_model(tmp_path / "model", tokenizer, chain([table[b"\n"], *said])))
    question = {"role": "user", "content": "?"}
    (choice,) = shared_worker.result("generate", messages=[question], stop=["STOP"])["choices"]
    assert (choice["text"], choice["num_recut"]) == ("Hi there ", 1)
    assert choice["token_ids"] == choice["turn_token_ids"] == [*said[:2], table[b" "]]
    answer = {"role": "assistant", "content": choice["text"], "token_ids": choice["turn_token_ids"]}
    prompt = shared_worker.result("tokenize", messages=[question, answer, question])
    ids = prompt["token_ids"]
    places = [place for place in range(len(ids)) if ids[place : place + 3] == choice["turn_token_ids"]]
    assert len(places) == 1
    assert "assistant\nHi there <|im_end|>" in "".join(prompt["pieces"])
