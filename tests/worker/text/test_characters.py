"""Incremental decoding of UTF-8."""

from __future__ import annotations

import itertools

import pytest

from tests.worker.text.text_oracle import BEGINNINGS, ends_of_characters, split
from worker.text.characters import num_bytes_of, split_characters

# Every lead byte, and the bytes at which the rules for second, third and fourth bytes change.
LEADS = range(0x100)
FOLLOWING = (0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xE2, 0xED, 0xF4, 0xFF)


def test_the_prefixes_of_characters_are_complete() -> None:
    assert {len(beginning) for beginning in BEGINNINGS} == {1, 2, 3}
    for beginning in BEGINNINGS:
        with pytest.raises(UnicodeDecodeError):
            beginning.decode()
    for code in (0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF):
        data = chr(code).encode()
        assert {data[:length] for length in range(1, len(data))} <= BEGINNINGS


def test_all_sequences_of_two_bytes_follow_the_rules() -> None:
    for pair in itertools.product(range(0x100), repeat=2):
        data = bytes(pair)
        assert split_characters(data) == split(data), data


@pytest.mark.parametrize("length", [3, 4])
def test_longer_sequences_follow_the_rules(length: int) -> None:
    for lead in LEADS:
        for following in itertools.product(FOLLOWING, repeat=length - 1):
            data = bytes([lead, *following])
            assert split_characters(data) == split(data), data


def test_no_character_is_lost_however_the_bytes_are_split() -> None:
    data = "aé€😀\u0301ÿ".encode() + b"\xed\xa0\xffz"
    for places in itertools.combinations(range(1, len(data)), 3):
        text, pending = "", b""
        for start, end in itertools.pairwise((0, *places, len(data))):
            more, pending = split_characters(pending + data[start:end])
            text += more
        assert (text, pending) == (data.decode("utf-8", "replace"), b"")


@pytest.mark.parametrize(
    "data", [b"\xed\xa0", b"\xed\xbf", b"\xff", b"\xc0", b"\xf5", b"\x80", b"\xf4\x90", b"\xe0\x80"]
)
def test_bytes_that_nothing_can_follow_are_shown_at_once(data: bytes) -> None:
    assert split_characters(data) == ("\ufffd" * len(data), b"")


def test_the_bytes_of_characters_are_counted() -> None:
    for lead in LEADS:
        for following in itertools.product(FOLLOWING, repeat=2):
            data = bytes([lead, *following, 0x80])
            ends = [0, *ends_of_characters(data)]
            assert [num_bytes_of(data, number) for number in range(len(ends))] == ends, data
