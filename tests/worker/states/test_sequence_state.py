"""States as values: slices and sums against plain strings, weights against the tokens that remain whole."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from tokenizers import AddedToken, Tokenizer

from tests.models import CORPUS, EOS, byte_level_tokenizer, sentencepiece_tokenizer
from tests.tokenizers import bare_tokenizer, unigram_tokenizer
from worker.library import BatchMismatch, SampleMismatch, SequenceState, SlicingError
from worker.states.token_sequence import TokenSequence
from worker.text.vocabulary import Vocabulary

KINDS: dict[str, Callable[[], Tokenizer]] = {
    "byte-level": byte_level_tokenizer,
    "sentencepiece": sentencepiece_tokenizer,
    "unigram": unigram_tokenizer,
}
LETTERS = "".join(sorted(set("".join(CORPUS)) - set("�")))
NUM_RANDOM = 1500


@pytest.fixture(scope="module", params=list(KINDS))
def vocabulary(request: pytest.FixtureRequest) -> Vocabulary:
    return Vocabulary(KINDS[request.param]())


@pytest.fixture(scope="module")
def plain() -> Vocabulary:
    tokenizer = byte_level_tokenizer()
    return Vocabulary(tokenizer, [tokenizer.token_to_id(EOS) or 0])


def read(vocabulary: Vocabulary, text: str, rng: Random | None = None) -> TokenSequence:
    """Return a sequence that a model has read or written.

    With `rng`, it sometimes follows tokens that a tokenizer prepends.
    """
    ids = vocabulary.encode(text)
    logprobs = [None if rng is None else rng.choice([None, -rng.random()]) for _ in ids]
    head = [] if rng is None or rng.random() < 0.5 else vocabulary.encode(rng.choice([" ", "<s>", "<s> "]))
    num_hidden = len(vocabulary.bytes_of(head))
    return TokenSequence(
        vocabulary, (*head, *ids), (*[None] * len(head), *logprobs), num_hidden=num_hidden, has_start=True
    )


def grid(vocabulary: Vocabulary, texts: list[list[str]]) -> SequenceState:
    return SequenceState(tuple(tuple(read(vocabulary, text) for text in row) for row in texts))


def random_text(rng: Random) -> str:
    line = rng.choice(CORPUS)
    start = rng.randrange(len(line))
    return rng.choice([line[start : start + rng.randrange(30)], "".join(rng.choices(LETTERS, k=rng.randrange(6)))])


def random_bound(rng: Random) -> int | None:
    return rng.choice([None, rng.randint(-40, 40), rng.randint(-8, 8)])


def random_part(rng: Random, size: int) -> int | slice:
    if rng.random() < 0.4:
        return rng.randrange(-size, size)
    part = slice(rng.choice([None, rng.randrange(-size, size)]), None, rng.choice([None, None, 1, 2, -1]))
    return part if range(size)[part] else slice(None)


def taken(texts: list[list[str]], key: tuple[int | slice, int | slice, slice]) -> list[list[str]]:
    """Apply a slice to lists."""
    batch, samples, characters = key
    rows = texts[batch] if isinstance(batch, slice) else [texts[batch]]
    return [
        [text[characters] for text in (row[samples] if isinstance(samples, slice) else [row[samples]])] for row in rows
    ]


def summed(first: list[list[str]], second: list[list[str]]) -> list[list[str]]:
    """Apply a sum to lists."""

    def at(texts: list[list[str]], batch: int, sample: int) -> str:
        row = texts[batch if len(texts) > 1 else 0]
        return row[sample if len(row) > 1 else 0]

    return [
        [at(first, batch, sample) + at(second, batch, sample) for sample in range(max(len(first[0]), len(second[0])))]
        for batch in range(max(len(first), len(second)))
    ]


def test_random_slices_and_sums_equal_those_of_strings(vocabulary: Vocabulary) -> None:
    rng = Random(11)
    for _ in range(NUM_RANDOM):
        batch, samples = rng.choice([(1, 1), (1, 3), (2, 1), (3, 2)])
        texts = [[random_text(rng) for _ in range(samples)] for _ in range(batch)]
        state = SequenceState(tuple(tuple(read(vocabulary, text, rng) for text in row) for row in texts))
        for _ in range(rng.randrange(1, 7)):
            batch, samples = state.shape
            match rng.randrange(5):
                case 0 | 1:
                    characters = slice(random_bound(rng), random_bound(rng), rng.choice([None, 1]))
                    key = (random_part(rng, batch), random_part(rng, samples), characters)
                    state, texts = state[key], taken(texts, key)
                case 2:
                    added = random_text(rng)
                    state, texts = state + added, summed(texts, [[added]])
                case 3:
                    column = [random_text(rng) for _ in range(rng.choice([1, batch]))]
                    state, texts = column + state, summed([[each] for each in column], texts)
                case _:
                    key = (random_part(rng, batch), random_part(rng, samples), slice(None))
                    part, part_texts = state[key], taken(texts, key)
                    if len(part_texts) in {1, batch} and len(part_texts[0]) in {1, samples}:
                        state, texts = part + state, summed(part_texts, texts)
            assert state.texts == texts
            assert state.shape == state.weights.shape == (len(texts), len(texts[0]))
            assert list(state) == [text for row in texts for text in row]


def test_indices_of_dimensions_of_size_one_may_be_left_out(plain: Vocabulary) -> None:
    texts = [["Hello there", "Hello you"], ["The tree", "A branch"]]
    state = grid(plain, texts)
    assert state[1, 0, 4:].texts == [["tree"]]
    assert state[:, 1, :5].texts == [["Hello"], ["A bra"]]
    assert state[0, :, :][1, 6:].texts == state[:1, :, :][-1, 6:].texts == [["you"]]
    assert state[0, :, :][:, :1].texts == [["H", "H"]]
    assert state[:, 0, :][1, 4:].texts == [["tree"]]
    assert state[:, 0, :][:, -3:].texts == [["ere"], ["ree"]]
    one = state[1, 0, :]
    assert one[4:].texts == one[0, 4:].texts == one[0, 0, 4:].texts == [["tree"]]
    assert str(one) == "The tree"
    assert str(one[:-100]) == ""
    assert state[np.int64(1), np.int64(-1), np.int64(2) :].texts == [["branch"]]


@pytest.mark.parametrize(
    ("shape", "key", "words"),
    [
        ((2, 2), slice(None), r"2 prompts with 2 samples each\. Use state\[batch, sample, a:b\]"),
        ((2, 2), (0, slice(None)), r"Use state\[batch, sample, a:b\]"),
        ((2, 1), slice(None), r"2 prompts with 1 sample each\. Use state\[batch, a:b\]"),
        ((1, 2), slice(None), r"1 prompt with 2 samples each\. Use state\[sample, a:b\]"),
        ((1, 1), (0, 0, 0, slice(None)), r"Use state\[a:b\]"),
        ((1, 1), (), r"Use state\[a:b\]"),
        ((1, 1), 3, r"need a slice, not 3"),
        ((1, 1), -1, r"need a slice, not -1"),
        ((2, 1), (0, 3), r"need a slice, not 3"),
        ((2, 2), (0, 0, 3), r"need a slice, not 3"),
        ((1, 1), "a", r"need a slice, not 'a'"),
        ((1, 1), None, r"need a slice, not None"),
        ((1, 1), ..., r"need a slice, not Ellipsis"),
        ((1, 1), slice(None, None, 2), r"the step is 2"),
        ((1, 1), slice(None, None, -1), r"the step is -1"),
        ((1, 1), slice(None, None, 0), r"the step is 0"),
        ((1, 1), slice(1.5, None), r"positions are integers, not 1\.5"),
        ((1, 1), slice(None, "b"), r"positions are integers, not 'b'"),
        ((1, 1), slice(None, True), r"positions are integers, not True"),
        ((2, 1), (2, slice(None)), r"There is no prompt 2: this state has 2 prompts"),
        ((2, 1), (-3, slice(None)), r"There is no prompt -3"),
        ((1, 3), (3, slice(None)), r"There is no sample 3: this state has 3 samples"),
        ((2, 1), (slice(2, None), slice(None)), r"2: selects none of 2 prompts"),
        ((2, 2), (0, slice(1, 1), slice(None)), r"1:1 selects none of 2 samples"),
        ((2, 2), (..., 0, slice(None)), r"Ellipsis is no index of a prompt"),
        ((2, 2), (None, 0, slice(None)), r"None is no index of a prompt"),
        ((2, 2), (0, [0, 1], slice(None)), r"\[0, 1\] is no index of a sample"),
        ((2, 2), (True, 0, slice(None)), r"True is no index of a prompt"),
        ((2, 2), (0, 1.0, slice(None)), r"1\.0 is no index of a sample"),
        ((2, 2), (slice("a", None), 0, slice(None)), r"'a': is no slice of prompts"),
        ((2, 2), (0, slice(None, None, 0), slice(None)), r"::0 is no slice of samples: .*zero"),
    ],
)
def test_a_meaningless_slice_raises_a_slicing_error_with_a_clear_message(
    plain: Vocabulary, shape: tuple[int, int], key: Any, words: str
) -> None:
    state = grid(plain, [["Hello there"] * shape[1]] * shape[0])
    with pytest.raises(SlicingError, match=words):
        _ = state[key]
    # A caller who does not know states can catch the usual error.
    with pytest.raises(IndexError):
        _ = state[key]


def test_the_error_for_a_cut_through_a_control_token_names_the_nearest_cuts(plain: Vocabulary) -> None:
    control = plain.control_texts[EOS]
    ids = (*plain.encode("né"), control, *plain.encode("b"))
    state = SequenceState(((TokenSequence(plain, ids, (None,) * len(ids), has_start=True),),))
    text = "né" + EOS + "b"
    assert str(state) == text
    for end in range(len(text) + 1):
        if 2 < end < 2 + len(EOS):
            with pytest.raises(SlicingError, match="Cut before it, at 2, or after it, at 12"):
                _ = state[:end]
            with pytest.raises(SlicingError, match="Cut before it, at 2, or after it, at 12"):
                _ = state[end:]
        else:
            assert (str(state[:end]), str(state[end:])) == (text[:end], text[end:])
            assert (control in state[:end].token_ids[0][0]) == (end > 2)


def test_a_reasoning_mark_can_be_cut_like_text() -> None:
    tokenizer = byte_level_tokenizer()
    tokenizer.add_tokens([AddedToken("<think>", special=False)])
    vocabulary = Vocabulary(tokenizer)
    ids = (*vocabulary.encode("a"), vocabulary.control_texts["<think>"])
    state = SequenceState(((TokenSequence(vocabulary, ids, (None,) * 2, has_start=True),),))
    assert [str(state[:end]) for end in range(1, 9)] == ["a<think>"[:end] for end in range(1, 9)]
    with pytest.raises(SlicingError, match="a control token"):
        _ = state[3:]


def test_states_add_up_when_their_sizes_are_equal_or_one(plain: Vocabulary) -> None:
    state = grid(plain, [["a", "b"], ["c", "d"]])
    assert (state + "!").texts == [["a!", "b!"], ["c!", "d!"]]
    assert ("!" + state).texts == [["!a", "!b"], ["!c", "!d"]]
    numbers = ["1", "2"]
    assert (state + numbers).texts == [["a1", "b1"], ["c2", "d2"]]
    assert (numbers + state).texts == [["1a", "1b"], ["2c", "2d"]]
    assert (state + state).texts == [["aa", "bb"], ["cc", "dd"]]
    assert (state[0, :, :] + state[:, 0, :]).texts == [["aa", "ba"], ["ac", "bc"]]
    assert (state[0, 0, :] + state).texts == [["aa", "ab"], ["ac", "ad"]]
    total = state
    total += "x"
    assert (total.texts[0], state.texts[0]) == (["ax", "bx"], ["a", "b"])


def test_a_mismatch_of_shapes_names_both(plain: Vocabulary) -> None:
    state = grid(plain, [["a"] * 3] * 2)
    three, unfit, none = ["a", "b", "c"], ["a", 5], list[str]()
    with pytest.raises(BatchMismatch, match="2 prompts and one with 3 prompts"):
        _ = state + three
    with pytest.raises(BatchMismatch, match="2 prompts and one with 3 prompts"):
        _ = three + state
    with pytest.raises(BatchMismatch):
        _ = state + grid(plain, [["a"] * 3] * 3)
    with pytest.raises(SampleMismatch, match="3 samples and one with 2 samples"):
        _ = state + state[:, :2, :]
    other = grid(Vocabulary(byte_level_tokenizer()), [["a"]])
    with pytest.raises(ValueError, match="two models"):
        _ = state + other
    with pytest.raises(TypeError):
        _ = state + 5  # pyright: ignore[reportOperatorIssue]
    with pytest.raises(TypeError):
        _ = None + state  # pyright: ignore[reportOperatorIssue]
    with pytest.raises(TypeError, match="this one is int"):
        _ = state + unfit  # pyright: ignore[reportOperatorIssue]
    with pytest.raises(ValueError, match="empty list"):
        _ = state + none
    with pytest.raises(ValueError, match="lone surrogate at 1"):
        _ = state + "a\ud800"


# --- tokens and weights ----------------------------------------------------------------------------------------


def weighed(vocabulary: Vocabulary, text: str, rng: Random) -> tuple[TokenSequence, list[tuple[int, int, float]]]:
    """Return a sequence sampled by a model, and the start, end and log-probability of each token."""
    ids = vocabulary.encode(text)
    logprobs = tuple(-rng.random() for _ in ids)
    spans: list[tuple[int, int, float]] = []
    start = 0
    for token_id, logprob in zip(ids, logprobs, strict=True):
        end = start + len(vocabulary.text_of([token_id]))
        spans.append((start, end, logprob))
        start = end
    return TokenSequence(vocabulary, tuple(ids), logprobs, has_start=True), spans


def test_weights_count_the_tokens_that_remain_whole(plain: Vocabulary) -> None:
    rng = Random(3)
    sequence, spans = weighed(plain, CORPUS[0], rng)
    state = SequenceState(((sequence,),))
    for _ in range(400):
        start, end = sorted(rng.choices(range(len(CORPUS[0]) + 1), k=2))
        part = state[start:end]
        expected = math.fsum(logprob for first, last, logprob in spans if start <= first and last <= end)
        assert part.weights[0, 0] == expected
        assert (part + "more" + part).weights[0, 0] == pytest.approx(2 * expected)
    assert state.weights[0, 0] == math.fsum(logprob for *_, logprob in spans)
    with pytest.raises(ValueError, match="read-only"):
        state.weights[0, 0] = 0


def test_a_prefix_keeps_its_tokens_and_the_rest_of_a_cut_token_is_text(plain: Vocabulary) -> None:
    for text in CORPUS:
        sequence = read(plain, text)
        boundaries: dict[int, int] = {}
        for number in range(len(sequence.token_ids) + 1):
            data = plain.bytes_of(sequence.token_ids[:number])
            if text.encode()[: len(data)].decode("utf-8", "ignore").encode() == data:
                boundaries[len(data.decode())] = number
        for end in range(1, len(text) + 1):
            part = sequence.cut(0, end)
            number = max(each for boundary, each in boundaries.items() if boundary <= end)
            assert part.token_ids == sequence.token_ids[:number]
            assert (part.tail == "") == (end in boundaries)
            assert part.has_start == bool(part.token_ids)


def test_a_suffix_keeps_the_tokens_after_the_cut_one(plain: Vocabulary) -> None:
    sequence = read(plain, CORPUS[1])
    for start in range(1, len(CORPUS[1])):
        part = sequence.cut(start, None)
        assert not part.has_start
        assert part.text == CORPUS[1][start:]
        num_whole = sum(1 for end in map(len, beginnings(plain, sequence)) if end >= start)
        assert part.token_ids[len(part.token_ids) - num_whole :] == sequence.token_ids[-num_whole:]


def beginnings(vocabulary: Vocabulary, sequence: TokenSequence) -> list[str]:
    """Return the text before each token."""
    return [vocabulary.text_of(sequence.token_ids[:number]) for number in range(len(sequence.token_ids))]


def test_sums_keep_the_tokens_of_both_states(plain: Vocabulary) -> None:
    first, second = read(plain, "The retur"), read(plain, "n of it")
    assert first.joined(second).token_ids == first.token_ids + second.token_ids
    assert (first.token_ids + second.token_ids) != tuple(plain.encode("The return of it"))
    cut = read(plain, "The return").cut(0, -1)
    assert cut.tail
    assert cut.joined(second).token_ids == cut.token_ids + tuple(plain.encode(cut.tail)) + second.token_ids
    strings = SequenceState.of(plain, "Hello ")
    assert (strings + "there").token_ids == [[()]]
    assert strings + "there" == SequenceState.of(plain, "Hello there")


def test_adding_an_empty_state_changes_nothing(plain: Vocabulary) -> None:
    state = grid(plain, [["Hello"]])
    empty = state[:0]
    assert str(empty) == ""
    assert empty + state == state + empty == "" + state == state
    assert empty + "a" == SequenceState.of(plain, "a")


def test_bytes_that_are_not_text_are_cut_at_replacement_characters(plain: Vocabulary) -> None:
    rng = Random(4)
    for _ in range(300):
        data = bytes(rng.choice(b"ab\x80\xe6\x9d\xb1\xf0\xff") for _ in range(rng.randrange(1, 9)))
        ids = tuple(plain.spell(data) or ())
        text = data.decode("utf-8", "replace")
        sequence = TokenSequence(plain, ids, (None,) * len(ids), has_start=True)
        start, end = sorted(rng.choices(range(len(text) + 1), k=2))
        assert sequence.cut(start, end).text == text[start:end]


def test_a_vocabulary_without_single_bytes_can_be_cut_anywhere() -> None:
    vocabulary = Vocabulary(bare_tokenizer(["ab", "c", "abc", "bcc"]))
    sequence = TokenSequence(vocabulary, (0, 3, 1), (-1.0, -2.0, -4.0), has_start=True)
    text = "abbccc"
    for start in range(len(text)):
        for end in range(start, len(text) + 1):
            assert sequence.cut(start, end).text == text[start:end]
    assert sequence.cut(3, None).weight == -4.0
    # No token begins with "bb".
    assert sequence.cut(1, None).weight == 0.0


def test_the_representation_shows_the_texts(plain: Vocabulary) -> None:
    state = grid(plain, [["a", "b"], ["c", "d"]])
    assert repr(state) == str(state) == "SequenceState([['a', 'b'], ['c', 'd']])"
    assert repr(state[0, 0, :]) == "SequenceState([['a']])"
    assert hash(state) == hash(grid(plain, [["a", "b"], ["c", "d"]]))
