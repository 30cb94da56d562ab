"""The text stream against a plain oracle in many random cases: vocabularies, texts, cuts, stops, ends, rewinds."""

from __future__ import annotations

import os
import random

import pytest

from tests.long import in_long_runs
from tests.worker.text.text_oracle import expected, expected_kept
from worker.text.stop_strings import StopStrings
from worker.text.text_stream import TextStream

NUM_CASES = int(os.environ.get("BOUGH_FUZZ_CASES", "200000"))
NUM_SHARES = 8

# Few different characters, so that stop strings overlap, repeat and nearly match; and every kind of invalid bytes.
ALPHABETS = [
    [b"a", b"b"],
    [b"a", b"b", b"c", b" "],
    [b"-", b"\n", b"-", b"-"],
    ["é".encode(), "è".encode(), b"e", "\u0301".encode()],
    ["€".encode(), "₭".encode(), "\ufffd".encode(), b"\xe2", b"\x82"],
    ["😀".encode(), "😁".encode(), "👩\u200d👧".encode(), b"x"],
    [b"\x00", b"a", b"\xff", b"\xc3", "ÿ".encode()],
    [b"\xed\xa0", b"\xed", b"\x80", b"\xf0", b"\x90", b"\xf4", b"\xe0", b"a"],
]


class Case:
    """One random case, generated from its seed alone."""

    def __init__(self, seed: int) -> None:
        self.random = rng = random.Random(seed)
        self.alphabet = rng.choice(ALPHABETS)
        text = self._bytes(rng.randint(4, 14))
        self.vocabulary = [self._piece(text) for _ in range(rng.randint(2, 6))]
        text = b"".join(self.tokens(rng.randint(2, 6))).decode("utf-8", "replace") or "a"
        self.stops = [self._stop(text) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 5)))]
        self.given = b"".join(self.tokens(rng.randint(1, 4))) if rng.random() < 0.4 else b""

    def tokens(self, number: int) -> list[bytes]:
        vocabulary, rng = self.vocabulary, self.random
        return [vocabulary[int(rng.random() * len(vocabulary))] for _ in range(number)]

    def _bytes(self, number: int) -> bytes:
        return b"".join(self.random.choices(self.alphabet, k=number))

    def _piece(self, text: bytes) -> bytes:
        """Return a token: some bytes, wherever they begin and end; sometimes none."""
        start = int(self.random.random() * len(text))
        return text[start : start + int(self.random.random() * 6)]

    def _stop(self, text: str) -> str:
        """Return text that is mostly plausible."""
        rng = self.random
        if rng.random() < 0.2:
            text = self._bytes(4).decode("utf-8", "replace")
        start = int(rng.random() * len(text))
        return text[start : start + 1 + int(rng.random() * 5)]


def push_all(
    stream: TextStream, case: Case, before: list[bytes], tokens: list[bytes], shown: str
) -> tuple[list[bytes], str]:
    """Push tokens until one ends the text, and compare after each. `before` are the tokens pushed earlier.

    Returns all tokens pushed and all text shown.
    """
    so_far = before.copy()
    for data in tokens:
        if stream.stop is not None:
            break
        shown += stream.push(data)
        so_far.append(data)
        want = expected(case.stops, case.given, so_far)
        assert (shown, stream.stop) == (want.shown, want.stop)
    return so_far, shown


def check(seed: int) -> None:
    case = Case(seed)
    rng = case.random
    stream = TextStream(StopStrings(case.stops), case.given)
    tokens, shown = push_all(stream, case, [], case.tokens(rng.randint(1, 7)), "")
    assert stream.num_shown == len(shown)
    if rng.random() < 0.5:
        # A branch from anywhere behaves like a stream of its own, and leaves the original unchanged.
        branch = stream.copy()
        back = rng.randint(0 if stream.stop is None else 1, len(tokens))
        trunk = tokens[: len(tokens) - back]
        text = expected(case.stops, case.given, trunk).shown
        assert branch.rewind(back) == len(shown) - len(text)
        end(branch, case, *push_all(branch, case, trunk, case.tokens(rng.randint(1, 4)), text))
    end(stream, case, tokens, shown)


def end(stream: TextStream, case: Case, tokens: list[bytes], shown: str) -> None:
    held = expected(case.stops, case.given, tokens).held
    assert stream.num_held == len(held)
    assert stream.finish() == held
    shown += held
    assert (stream.num_shown, stream.num_held, stream.finish()) == (len(shown), 0, "")
    assert stream.kept() == expected_kept(case.given, tokens, len(shown))


@pytest.mark.parametrize(
    ("share", "num_cases"), [(0, 100_000), *in_long_runs((share, NUM_CASES) for share in range(NUM_SHARES))]
)
def test_every_random_case_follows_the_rules(share: int, num_cases: int) -> None:
    for number in range(share, num_cases, NUM_SHARES):
        try:
            check(number)
        except Exception as error:
            error.add_note(f"Case {number}: {vars(Case(number))}")
            raise
