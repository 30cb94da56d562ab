"""The text stream, case by case, including everything that is known to go wrong in other programs."""

from __future__ import annotations

import itertools
import tracemalloc

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.worker.text.text_oracle import expected, expected_kept
from worker.text.stop_strings import StopStrings
from worker.text.text_stream import TextStream, TokenPrefix


def stream_of(*stops: str, given: bytes = b"") -> TextStream:
    return TextStream(StopStrings(stops), given)


def push_all(stream: TextStream, *tokens: bytes | str) -> list[str]:
    """Return the text shown after each token. Nothing is pushed after a stop string."""
    shown: list[str] = []
    for token in tokens:
        shown.append(stream.push(token.encode() if isinstance(token, str) else token))
        if stream.stop is not None:
            break
    return shown


# --- known faults of other programs --------------------------------------------------------------------------


def test_a_stop_spelled_with_other_tokens_than_the_tokenizers_ends_the_text() -> None:
    """mlx-lm compares token ids, so it misses this stop, deletes it from the text and continues."""
    stream = stream_of("STOP")
    assert push_all(stream, "a S", "TO", "P b") == ["a ", "", ""]
    assert stream.stop == "STOP"


def test_all_but_the_last_five_of_4000_dashes_are_shown_at_once() -> None:
    """mlx-lm and mlx-engine hold back all of them for this stop."""
    stream = stream_of("-----\n")
    assert push_all(stream, *["-"] * 4000) == [""] * 5 + ["-"] * 3995
    assert stream.push(b"\n") == ""
    assert (stream.stop, stream.num_shown) == ("-----\n", 3995)


def test_a_stop_completed_by_a_token_that_ends_inside_a_character_ends_the_text() -> None:
    """llama.cpp waits for the character's other bytes and continues: it is wrong in 40 of 40 cases."""
    stream = stream_of(". ")
    assert push_all(stream, "end", ".", b" \xe2", b"\x82\xac") == ["end", "", ""]
    assert stream.stop == ". "
    assert stream.kept() == TokenPrefix(1, b"")


def test_text_that_is_held_back_when_the_answer_ends_is_shown() -> None:
    """mlx-lm loses it at the end of a turn, mlx-engine and llama.cpp at max_tokens."""
    stream = stream_of("User:")
    assert push_all(stream, "Ask the", " Use") == ["Ask the", " "]
    assert stream.finish() == "Use"
    assert stream.kept() == TokenPrefix(2, b"")


def test_a_stop_completed_by_the_last_token_is_not_shown() -> None:
    """exllamav2 checks max_tokens first and shows it."""
    stream = stream_of("END")
    assert push_all(stream, "x", " END") == ["x", " "]
    assert (stream.stop, stream.finish()) == ("END", "")


@pytest.mark.parametrize("invalid", [b"\xff", b"\x80", b"\xc0", b"\xed\xa0", b"\xf5", b"\xf4\x90"])
def test_an_invalid_byte_never_delays_the_text_after_it(invalid: bytes) -> None:
    """One invalid byte stalls exllamav2; Python's own incremental decoder waits after ED A0."""
    stream = stream_of("stop")
    assert push_all(stream, invalid, "a", "é") == ["\ufffd" * len(invalid), "a", "é"]


def test_a_leading_and_a_trailing_space_are_kept() -> None:
    """mlx-lm's detokenizers drop the first and delay the last."""
    assert push_all(stream_of(), " a", " ", "b ") == [" a", " ", "b "]


def test_held_back_text_is_stored_once_and_not_for_each_token() -> None:
    """Otherwise a partial match of a thousand dashes would cost a thousand characters for each token."""
    stop = "-" * 1000 + "\n"
    stream = stream_of(stop)
    tracemalloc.start()
    for _ in range(20_000):
        stream.push(b"-")
    num_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert num_bytes < 20_000 * 200


# --- stop strings anywhere -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stops", "tokens", "shown", "stop"),
    [
        (["ab", "bc"], ["xa", "bc"], ["x", ""], "ab"),
        (["abc", "b"], ["a", "b", "c"], ["", "a"], "b"),
        (["b", "ab"], ["a", "b"], ["", ""], "ab"),
        (["ab", "abc"], ["abc"], [""], "ab"),
        (["abcd", "bc"], ["ab", "cd"], ["", "a"], "bc"),
        (["aab"], ["aa", "ab"], ["", "a"], "aab"),
        (["abab!"], ["ab", "abab", "!"], ["", "ab", ""], "abab!"),
        (["\n\n"], ["a\n", "b\n\n"], ["a", "\nb"], "\n\n"),
        (["é"], ["x", b"\xc3", b"\xa9y"], ["x", "", ""], "é"),
        (["e\u0301"], ["re", "\u0301s"], ["r", ""], "e\u0301"),
        (["e"], ["r", "e\u0301"], ["r", ""], "e"),
        (["\u200d"], ["👩\u200d👧"], ["👩"], "\u200d"),
        (["\ufffd"], ["a", b"\xe2", b"b"], ["a", "", ""], "\ufffd"),
        (["\ufffd\ufffd"], ["a\ufffd", b"\xff"], ["a", ""], "\ufffd\ufffd"),
        (["a\x00b"], ["xa", "\x00", "b"], ["x", "", ""], "a\x00b"),
        (["😀!"], [b"\xf0\x9f", b"\x98", b"\x80", "!"], ["", "", "", ""], "😀!"),
    ],
)
def test_the_stop_that_completes_first_ends_the_text_and_among_those_the_longest(
    stops: list[str], tokens: list[str | bytes], shown: list[str], stop: str
) -> None:
    for order in itertools.permutations(stops):
        stream = stream_of(*order)
        assert push_all(stream, *tokens) == shown
        assert stream.stop == stop


def test_bytes_inside_a_character_do_not_begin_a_stop() -> None:
    """The bytes of "ä" do not contain "¤", though both end with the same byte."""
    stream = stream_of("¤")
    assert push_all(stream, b"\xc3", b"\xa4", "b") == ["", "ä", "b"]


def test_exactly_the_text_that_may_become_a_stop_is_held_back() -> None:
    stream = stream_of("abcab!", "cabx")
    assert push_all(stream, "abcab", "c") == ["", "abc"]
    assert stream.num_held == 3  # After "abc", "cab" no longer matches, but the suffix "abc" may.
    assert push_all(stream, "abx") == ["ab"]
    assert stream.stop == "cabx"


def test_bytes_of_an_unfinished_character_at_the_end_are_left_out_of_the_text() -> None:
    stream = stream_of()
    assert push_all(stream, "a", b"b\xf0\x9f", b"\x98") == ["a", "b", ""]
    assert stream.finish() == ""
    assert stream.kept() == TokenPrefix(1, b"b")


def test_tokens_without_bytes_keep_their_position() -> None:
    stream = stream_of("!")
    assert push_all(stream, b"", "a", b"", "b", b"", "!") == ["", "a", "", "b", "", ""]
    assert stream.kept() == TokenPrefix(5, b"")


def test_invalid_bytes_are_kept_as_they_came() -> None:
    stream = stream_of("!")
    assert push_all(stream, b"a\xe2\x82", b"!") == ["a", "\ufffd"]
    assert stream.kept() == TokenPrefix(1, b"")
    stream = stream_of("!")
    assert push_all(stream, b"a", b"\xff\xe2\x82!") == ["a", "\ufffd\ufffd"]
    assert stream.kept() == TokenPrefix(1, b"\xff\xe2\x82")


# --- continuations -------------------------------------------------------------------------------------------


def test_a_stop_may_begin_in_the_given_text_which_is_never_cut() -> None:
    stream = stream_of("STOP", given=b"some ST")
    assert push_all(stream, "O", "P now") == ["", ""]
    assert (stream.stop, stream.num_shown, stream.kept()) == ("STOP", 0, TokenPrefix(0, b""))


def test_a_match_that_began_in_the_given_text_and_fails_is_shown() -> None:
    stream = stream_of("STOP", given=b"some ST")
    assert push_all(stream, "O", "R", "M") == ["", "OR", "M"]


def test_a_stop_within_the_given_text_ends_nothing() -> None:
    stream = stream_of("STOP", "OPx", given=b"a STOP")
    assert push_all(stream, " b", "OP") == [" b", ""]
    assert stream.finish() == "OP"
    stream = stream_of("STOP", "OPx", given=b"a STOP")
    assert push_all(stream, "x") == [""]
    assert stream.stop == "OPx"


def test_given_text_may_end_inside_a_character() -> None:
    stream = stream_of("€!", given=b"5 \xe2\x82")
    assert push_all(stream, b"\xac", b"!") == ["", ""]
    assert stream.stop == "€!"
    stream = stream_of("!", given=b"5 \xe2\x82")
    assert push_all(stream, b"x!") == ["\ufffdx"]
    assert stream.kept() == TokenPrefix(0, b"x")


# --- branches ------------------------------------------------------------------------------------------------


def test_a_branch_taken_in_held_back_text_behaves_like_a_stream_of_its_own() -> None:
    trunk = stream_of("-----\n", "--x")
    assert push_all(trunk, "a", "--", "-", "--", "-") == ["a", "", "", "", "-"]
    branch = trunk.copy()
    assert branch.rewind(3) == 1
    assert push_all(branch, "x", "y") == [""]
    assert branch.stop == "--x"
    assert push_all(trunk, "-", "b") == ["-", "-----b"]


def test_a_text_ended_by_a_stop_can_continue_from_before_the_stop() -> None:
    stream = stream_of("ab")
    assert push_all(stream, "x", "a", "b") == ["x", "", ""]
    assert stream.rewind(1) == 0
    assert (stream.stop, stream.num_held) == (None, 1)
    assert push_all(stream, "c") == ["ac"]


def test_a_text_that_has_ended_can_continue_from_before_its_end() -> None:
    stream = stream_of("abc")
    assert push_all(stream, "xa", "b") == ["x", ""]
    assert stream.finish() == "ab"
    assert stream.rewind(1) == 2
    assert stream.num_held == 1
    assert push_all(stream, "d") == ["ad"]


def test_a_rewind_into_a_character_waits_for_its_bytes_again() -> None:
    stream = stream_of()
    assert push_all(stream, b"\xe2", b"\x82", b"\xac") == ["", "", "€"]
    assert stream.rewind(2) == 1
    assert push_all(stream, b"\x82", b"\xad") == ["", "₭"]


def test_no_more_tokens_are_taken_back_than_there_are() -> None:
    stream = stream_of("ab")
    push_all(stream, "x", "a")
    with pytest.raises(ValueError, match="there are 2"):
        stream.rewind(3)
    assert (stream.num_shown, stream.num_held) == (1, 1)


def test_a_copy_and_its_original_are_independent() -> None:
    stream = stream_of("abc")
    push_all(stream, "x", "a")
    copy = stream.copy()
    assert push_all(copy, "b", "c") == ["", ""]
    assert push_all(stream, "y") == ["ay"]
    assert (copy.stop, stream.stop) == ("abc", None)
    assert (copy.copy().stop, copy.copy().finish()) == ("abc", "")
    copy.rewind(4)
    assert (copy.num_shown, stream.num_shown) == (0, 3)
    assert stream.kept() == TokenPrefix(3, b"")


# --- random text ---------------------------------------------------------------------------------------------

_CHARACTERS = st.text(st.sampled_from("ab-\n é€😀\u0301\u200d\ufffd\x00"), min_size=1, max_size=5)
_TOKENS = st.lists(st.one_of(st.binary(max_size=4), _CHARACTERS.map(str.encode)), max_size=12)


@settings(max_examples=600)
@given(st.lists(_CHARACTERS, max_size=4), st.one_of(st.just(b""), st.binary(max_size=6)), _TOKENS, st.data())
@example(["a"], b"", [b"\xed\xa0", b"a"], None)
def test_random_bytes_are_shown_as_the_rules_say(
    stops: list[str], given_text: bytes, tokens: list[bytes], data: st.DataObject | None
) -> None:
    stream = TextStream(StopStrings(stops), given_text)
    shown = ""
    for number, token in enumerate(tokens, 1):
        shown += stream.push(token)
        want = expected(stops, given_text, tokens[:number])
        assert (shown, stream.stop, stream.num_held) == (want.shown, want.stop, len(want.held))
        if stream.stop is not None:
            tokens = tokens[:number]
            break
    if data is not None and tokens:
        back = data.draw(st.integers(1, len(tokens)))
        branch = stream.copy()
        branch.rewind(back)
        want = expected(stops, given_text, tokens[:-back])
        assert (branch.num_shown, branch.num_held, branch.stop) == (len(want.shown), len(want.held), None)
    shown += stream.finish()
    assert stream.kept() == expected_kept(given_text, tokens, len(shown))
