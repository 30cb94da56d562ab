"""The text stream against mlx-lm's server: cost per token, wrong answers, withheld text.

The peer is assembled as in its server: its BPE detokenizer, its matcher of stop sequences (over token ids) and
`TextStateMachine` (over text). Streams have a thousand tokens, like long answers. Each of our streams builds its
automaton lazily from nothing, while the peer's automaton is built beforehand. Times are processor times, so other
programs on the machine do not count.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from mlx_lm.generate import TextStateMachine, make_stop_sequences, make_text_state_machine
from mlx_lm.utils import load_tokenizer
from tokenizers import Tokenizer

from tests.benchmarks.measure import Row, alone, compared, in_turn
from tests.driver import ROOT
from tests.models import byte_level_tokenizer, write_tokenizer
from tests.worker.text.text_oracle import expected
from worker.models.folder import guide_path
from worker.text.stop_strings import StopStrings
from worker.text.text_stream import TextStream
from worker.text.token_bytes import token_bytes
from worker.text.vocabulary import Vocabulary

_AREA = "text stream"
_PEER = "mlx-lm server"
_ROUNDS = 7
_NUM_TOKENS = 1000
_NUM_DASHES = 100_000
_NUM_CASES = 20_000
_FEW_STOPS = ("\nUser:", "###", "<|im_end|>", "END")
_DASHES = "-----\n"


def rows() -> Iterator[Row]:
    yield from _costs()
    yield from _dashes()
    yield from _answers()


# --- cost per token ------------------------------------------------------------------------------------------


def _costs() -> Iterator[Row]:
    tokenizer: Any = load_tokenizer(guide_path())
    table = token_bytes(Tokenizer.from_file(str(guide_path() / "tokenizer.json")))
    streams = _streams(tokenizer)
    bytewise = [table.index(bytes([byte])) for byte in "木を見て森を見ず。🌳🌲".encode() * 40][:_NUM_TOKENS]
    many = _long_stops(1000)
    for name, stops, ids in (
        ("no stop", (), streams),
        ("four stops", _FEW_STOPS, streams),
        ("four stops, one token per byte of 木🌳", _FEW_STOPS, [bytewise] * len(streams)),
        ("1,000 stops of 100 characters", many, streams),
    ):
        tokens = [[table[token_id] for token_id in stream] for stream in ids]
        ours, theirs = in_turn(_ROUNDS, partial(_ours, tokens, stops), partial(_theirs, tokenizer, ids, stops))
        yield compared(_AREA, f"{name}: µs per token", ours, _PEER, theirs, "<= 1.0")
        yield alone(_AREA, f"{name}: µs per token, alone", ours, "<= 1.0")
    tokens = [[table[token_id] for token_id in stream] for stream in streams]
    known = StopStrings(many)
    ours = [_ours(tokens, many, known) for _ in range(_ROUNDS + 1)][1:]
    yield alone(_AREA, "1,000 stops, from their second answer on: µs per token", ours, "<= 1.0")
    ours, theirs = in_turn(3, lambda: _ms(StopStrings, many), lambda: _ms(partial(_peers_automata, tokenizer), many))
    yield compared(_AREA, "1,000 stops: ms to build", ours, _PEER, theirs, "<= 1.0")


def _streams(tokenizer: Any) -> list[list[int]]:
    """Return streams of equal length with English text and some code."""
    files = [ROOT / "README.md", ROOT / "LICENSE", *sorted((ROOT / "worker").glob("*.py"))]
    ids: list[int] = []
    for file in files:
        ids += tokenizer.encode(file.read_text(encoding="utf-8"), add_special_tokens=False)
    return [ids[start : start + _NUM_TOKENS] for start in range(0, 8 * _NUM_TOKENS, _NUM_TOKENS)]


def _long_stops(number: int) -> tuple[str, ...]:
    rng = random.Random(1)
    return tuple("".join(rng.choices("abcdefghijklmnopqrstuvwxyz ", k=100)) for _ in range(number))


def _ours(streams: Sequence[Sequence[bytes]], stops: Sequence[str], known: StopStrings | None = None) -> float:
    """Return microseconds per token, without building the automaton."""
    elapsed = 0.0
    for tokens in streams:
        push = TextStream(known or StopStrings(stops)).push
        begin = time.process_time()
        for data in tokens:
            push(data)
        elapsed += time.process_time() - begin
    return elapsed / sum(map(len, streams)) * 1e6


def _theirs(tokenizer: Any, streams: Sequence[Sequence[int]], stops: Sequence[str]) -> float:
    """Return microseconds per token, without building the automata."""
    sequences, machine = _peers_automata(tokenizer, stops)
    split = TextStateMachine.split
    elapsed = 0.0
    for ids in streams:
        detokenizer, advance, state = tokenizer.detokenizer, sequences.matcher().advance, machine.make_state()
        begin = time.process_time()
        for token_id in ids:
            advance(token_id)
            detokenizer.add_token(token_id)
            state, _ = split(state, detokenizer.last_segment)
        elapsed += time.process_time() - begin
    return elapsed / sum(map(len, streams)) * 1e6


def _peers_automata(tokenizer: Any, stops: Sequence[str]) -> tuple[Any, Any]:
    return make_stop_sequences(tokenizer, list(stops)), make_text_state_machine(tokenizer, list(stops))


def _ms(build: Callable[[Sequence[str]], object], stops: Sequence[str]) -> float:
    begin = time.process_time()
    build(stops)
    return (time.process_time() - begin) * 1e3


def _dashes() -> list[Row]:
    tokenizer: Any = load_tokenizer(guide_path())
    dash = tokenizer.encode("-", add_special_tokens=False)[0]
    short, long = [[b"-"] * _NUM_TOKENS] * 100, [[b"-"] * _NUM_DASHES]
    ours, theirs = in_turn(
        3, lambda: _ours(long, [_DASHES]), lambda: _theirs(tokenizer, [[dash] * _NUM_DASHES], [_DASHES])
    )
    growth = [_ours(long, [_DASHES]) / _ours(short, [_DASHES]) for _ in range(_ROUNDS)]
    sequences, machine = _peers_automata(tokenizer, [_DASHES])
    held = _Peer(tokenizer, sequences, machine)
    stream = TextStream(StopStrings([_DASHES]))
    shown = (len("".join(map(stream.push, [b"-"] * 4000))), len("".join(map(held.push, [dash] * 4000))))
    return [
        compared(_AREA, "100,000 dashes, stop '-----\\n': µs per token", ours, _PEER, theirs, "<= 1.0"),
        alone(_AREA, "100,000 dashes ÷ 1,000 dashes, per token", growth, "<= 1.5"),
        _count("4,000 dashes, stop '-----\\n': withheld although safe", *(3995 - number for number in shown)),
    ]


# --- wrong answers -------------------------------------------------------------------------------------------


class _Peer:
    """One answer, assembled as mlx-lm's server does in a batch."""

    def __init__(self, tokenizer: Any, sequences: Any, machine: Any) -> None:
        self._detokenizer = tokenizer.detokenizer
        self._matcher = sequences.matcher()
        self._state = machine.make_state()
        self.is_stopped = False

    def push(self, token_id: int, *, is_last: bool = False) -> str:
        if self._matcher.advance(token_id):
            self.is_stopped = True
            self._detokenizer.finalize()
            self._state, _ = TextStateMachine.discard(self._state)
            return ""
        self._detokenizer.add_token(token_id)
        if is_last:
            self._detokenizer.finalize()
        self._state, segments = TextStateMachine.split(self._state, self._detokenizer.last_segment)
        text = "".join(text for _, text in segments)
        if is_last:
            self._state, flushed, _ = TextStateMachine.flush(self._state)
            text += flushed
        return text


def _answers() -> list[Row]:
    """Run the same random answers through both, and compare them with the plain oracle."""
    own = byte_level_tokenizer()
    with tempfile.TemporaryDirectory() as folder:
        write_tokenizer(Path(folder), own)
        tokenizer: Any = load_tokenizer(Path(folder))
    vocabulary = Vocabulary(own, tokenizer.eos_token_ids)
    (eos,) = vocabulary.eos_ids
    rng = random.Random(2)
    cases = {"stop": 0, "eos": 0, "length": 0}
    ours, theirs = dict(cases), dict(cases)
    num_withheld = 0
    for _ in range(_NUM_CASES):
        ids, stops, ends_with_eos = _case(rng, vocabulary)
        tokens = [vocabulary.bytes[token_id] for token_id in ids]
        right = expected(stops, b"", tokens)
        reason = "stop" if right.stop is not None else "eos" if ends_with_eos else "length"
        cases[reason] += 1
        text = right.shown + right.held
        text_shown, withheld = _our_text(tokens, stops)
        num_withheld += withheld
        ours[reason] += text_shown != text
        theirs[reason] += (
            _peer_text(_Peer(tokenizer, *_peers_automata(tokenizer, stops)), ids, eos if ends_with_eos else None)
            != text
        )
    names = {"stop": "a stop occurs", "eos": "the turn ends", "length": "max_tokens ends it"}
    return [
        *(
            _count(
                f"wrong answers when {name}, % of {cases[reason]:,}",
                100 * ours[reason] / cases[reason],
                100 * theirs[reason] / cases[reason],
            )
            for reason, name in names.items()
        ),
        _count(f"characters withheld although safe, {_NUM_CASES:,} answers", num_withheld),
    ]


def _case(rng: random.Random, vocabulary: Vocabulary) -> tuple[list[int], list[str], bool]:
    """Return an answer's tokens, some unusual, and stop strings that the answer contains or nearly contains."""
    units = rng.choice((("ab", "bc", "a", "c"), ("-", "--", "\n", "- "), (" the", "END", " E", "ND", "é", "😀")))
    text = ("x" + "".join(rng.choices(units, k=rng.randint(2, 10)))).rstrip()
    middle = rng.randint(1, len(text))
    ids = vocabulary.encode(text[:middle]) + vocabulary.encode(text[middle:])
    stops: list[str] = []
    for _ in range(rng.randint(1, 3)):
        start = rng.randrange(len(text))
        stop = text[start : start + rng.randint(2, 5)]
        stops.append(stop if rng.random() < 0.3 else stop + rng.choice(("!", "?", "~")))
    return ids, stops, rng.random() < 0.5


def _our_text(tokens: Sequence[bytes], stops: Sequence[str]) -> tuple[str, int]:
    """Return the text, and the number of characters that were withheld although they were safe."""
    stream = TextStream(StopStrings(stops))
    text = ""
    num_withheld = 0
    for number, data in enumerate(tokens, 1):
        text += stream.push(data)
        num_withheld += len(expected(stops, b"", tokens[:number]).shown) - len(text)
        if stream.stop is not None:
            break
    return text + stream.finish(), num_withheld


def _peer_text(peer: _Peer, ids: Sequence[int], eos: int | None) -> str:
    text = ""
    for number, token_id in enumerate(ids, 1):
        text += peer.push(token_id, is_last=eos is None and number == len(ids))
        if peer.is_stopped:
            return text
    return text if eos is None else text + peer.push(eos)


def _count(name: str, bough: float, peer: float | None = None) -> Row:
    """Return a row for a count whose goal is zero."""
    return Row(
        area=_AREA,
        name=name,
        bough=bough,
        peer_name=None if peer is None else _PEER,
        peer=peer,
        ratio=None,
        spread=None,
        goal="<= 0",
        met=bough <= 0,
        failure=None,
    )
