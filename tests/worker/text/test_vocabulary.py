"""Tokens as bytes and text as tokens, with every kind of tokenizer."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers

from tests.models import CORPUS, EOS, byte_level_tokenizer, sentencepiece_tokenizer
from tests.tokenizers import (
    bare_tokenizer,
    composing_tokenizer,
    lowercasing_tokenizer,
    unigram_tokenizer,
    wordpiece_tokenizer,
)
from worker.text.characters import split_characters
from worker.text.token_bytes import token_bytes
from worker.text.vocabulary import Vocabulary

EXACT: dict[str, Callable[[], Tokenizer]] = {
    "byte-level": byte_level_tokenizer,
    "sentencepiece": sentencepiece_tokenizer,
    "unigram": unigram_tokenizer,
    "composing": composing_tokenizer,
    "lowercasing": lowercasing_tokenizer,
}
TEXTS = [
    *CORPUS,
    "",
    " ",
    "   two  spaces   ",
    "\n\n\tx\r\n",
    "é e\u0301 Å A\u030a ﬁ",
    "👩\u200d👩\u200d👧🏳️\u200d🌈",
    "▁ literal ▁▁ <0x41> Ġ",
    "\x00\x01|)=\n\ufffd\ufeff",
    f"say {EOS} or <|im_start|> or <<|im_end|>> or <|im_",
]


@pytest.fixture(scope="module", params=list(EXACT))
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return EXACT[request.param]()


@pytest.fixture(scope="module")
def vocabulary(tokenizer: Tokenizer) -> Vocabulary:
    return Vocabulary(tokenizer)


# --- the bytes of tokens -------------------------------------------------------------------------------------


def test_ids_spell_what_the_tokenizer_decodes_except_for_a_leading_space(
    tokenizer: Tokenizer, vocabulary: Vocabulary
) -> None:
    rng = random.Random(3)
    num_compared = 0
    for _ in range(2000):
        ids = rng.choices(range(len(vocabulary)), k=rng.randint(1, 5))
        text = vocabulary.text_of(ids)
        if "\ufffd" not in text:  # In a broken character the tokenizer decodes each <0xNN> token to one U+FFFD.
            decoded = tokenizer.decode(ids, skip_special_tokens=False)
            assert text in {decoded, f" {decoded}"}
            num_compared += 1
    assert num_compared > 200


def test_characters_are_counted_where_they_end(vocabulary: Vocabulary) -> None:
    rng = random.Random(4)
    for _ in range(500):
        ids = rng.choices(range(len(vocabulary)), k=rng.randint(0, 6))
        counts = vocabulary.chars_of(ids)
        for number in range(len(ids)):
            # An unfinished character may still be completed.
            shown = split_characters(vocabulary.bytes_of(ids[:number]))[0]
            assert sum(counts[:number]) == len(shown)
        assert sum(counts) == len(vocabulary.text_of(ids))


def test_ids_are_used_as_far_as_they_spell_a_text(vocabulary: Vocabulary) -> None:
    rng = random.Random(5)
    for _ in range(500):
        ids = rng.choices(range(len(vocabulary)), k=rng.randint(0, 6))
        text = split_characters(vocabulary.bytes_of(ids))[0]
        text = text[: rng.randint(0, len(text))] + rng.choice(["", "é", "x"])
        num_ids, num_chars = vocabulary.common_prefix(ids, text)
        assert split_characters(vocabulary.bytes_of(ids[:num_ids])) == (text[:num_chars], b"")
        for more in range(num_ids + 1, len(ids) + 1):
            said, rest = split_characters(vocabulary.bytes_of(ids[:more]))
            assert rest or not text.startswith(said)


def test_every_byte_can_be_spelled(vocabulary: Vocabulary) -> None:
    for byte in range(256):
        ids = vocabulary.spell(bytes([byte]))
        assert ids is not None
        assert vocabulary.bytes_of(ids) == bytes([byte])


def test_a_byte_level_piece_that_stands_for_no_bytes_spells_itself() -> None:
    vocabulary = {"Ġa": 0, "Ã©": 1, "日Ġ": 2, "a b": 3, "\xa0": 4}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.decoder = decoders.ByteLevel()
    assert token_bytes(tokenizer) == [b" a", "é".encode(), "日Ġ".encode(), b"a b", "\xa0".encode()]
    assert [tokenizer.decode([token_id]) for token_id in range(5)] == [" a", "é", "日Ġ", "a b", "\xa0"]


def test_only_two_hexadecimal_digits_are_a_byte() -> None:
    pieces = ["<0x41>", "<0xe2>", "<0xZZ>", "<0x 1>", "<0x+1>", "<0x411>"]
    tokenizer = Tokenizer(models.BPE(vocab={piece: index for index, piece in enumerate(pieces)}, merges=[]))
    tokenizer.decoder = decoders.ByteFallback()
    assert token_bytes(tokenizer) == [b"A", b"\xe2", b"<0xZZ>", b"<0x 1>", b"<0x+1>", b"<0x411>"]


def test_without_byte_fallback_such_pieces_are_text() -> None:
    tokenizer = Tokenizer(models.BPE(vocab={"<0x41>": 0, "▁a": 1}, merges=[]))
    tokenizer.decoder = decoders.Metaspace()
    assert token_bytes(tokenizer) == [b"<0x41>", b" a"]


def test_nested_decoders_are_found() -> None:
    tokenizer = Tokenizer(models.BPE(vocab={"<0x41>": 0, "_a": 1}, merges=[]))
    inner = decoders.Sequence([decoders.Replace("_", " "), decoders.ByteFallback()])
    tokenizer.decoder = decoders.Sequence([inner, decoders.Fuse()])
    assert token_bytes(tokenizer) == [b"A", b" a"]


def test_special_tokens_spell_their_content_and_other_added_tokens_are_decoded() -> None:
    tokenizer = sentencepiece_tokenizer()
    tokenizer.add_special_tokens([AddedToken("<｜begin▁of▁turn｜>", special=True)])
    tokenizer.add_tokens([AddedToken("▁▁▁▁▁", special=False), AddedToken("ready", special=False)])
    vocabulary = Vocabulary(tokenizer)
    spelled = [vocabulary.text_of([vocabulary_id]) for vocabulary_id in range(len(vocabulary) - 3, len(vocabulary))]
    assert spelled == ["<｜begin▁of▁turn｜>", "     ", "ready"]


def test_added_tokens_of_a_byte_level_tokenizer_spell_their_content() -> None:
    tokenizer = byte_level_tokenizer()
    tokenizer.add_tokens([AddedToken("é Ġ", special=False)])
    assert token_bytes(tokenizer)[-1] == "é Ġ".encode()


def test_an_end_of_word_is_a_space() -> None:
    tokenizer = Tokenizer(models.BPE(vocab={"fox</w>": 0, "fo": 1}, merges=[], end_of_word_suffix="</w>"))
    tokenizer.decoder = decoders.BPEDecoder()
    assert token_bytes(tokenizer) == [b"fox ", b"fo"]


def test_wordpieces_bring_their_space_unless_they_continue_a_word() -> None:
    tokenizer = wordpiece_tokenizer()
    vocabulary = Vocabulary(tokenizer)
    ids = vocabulary.encode("The foxy dog.")
    assert vocabulary.text_of(ids) == " the foxy dog ."
    assert tokenizer.decode(ids) == "the foxy dog ."


def test_a_model_with_more_logits_than_tokens_has_empty_tokens() -> None:
    tokenizer = byte_level_tokenizer()
    size = tokenizer.get_vocab_size() + 7
    vocabulary = Vocabulary(tokenizer, size=size)
    assert len(vocabulary) == size
    assert vocabulary.bytes[-7:] == [b""] * 7
    assert vocabulary.text_of([size - 1, *vocabulary.encode("a"), size - 7]) == "a"


def test_ids_beyond_the_models_logits_are_never_used() -> None:
    tokenizer = byte_level_tokenizer()
    (fox,) = tokenizer.encode(" fox").ids
    vocabulary = Vocabulary(tokenizer, size=fox)
    assert len(vocabulary) == fox
    ids = vocabulary.encode("a fox")
    assert max(ids) < fox
    assert vocabulary.text_of(ids) == "a fox"


# --- text as ids ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_spelled_exactly_and_never_with_control_tokens(vocabulary: Vocabulary, text: str) -> None:
    ids = vocabulary.encode(text)
    assert vocabulary.text_of(ids) == text
    assert vocabulary.control_ids.isdisjoint(ids)


@settings(max_examples=300)
@given(st.text(st.one_of(st.characters(), st.sampled_from("▁ \n|)=<>im_endart")), max_size=40))
@pytest.mark.parametrize("kind", list(EXACT))
def test_random_text_is_spelled_exactly(kind: str, text: str) -> None:
    text = text.encode("utf-8", "ignore").decode()
    vocabulary = _vocabulary_of(kind)
    ids = vocabulary.encode(text)
    assert vocabulary.text_of(ids) == text
    assert vocabulary.control_ids.isdisjoint(ids)


@functools.cache
def _vocabulary_of(kind: str) -> Vocabulary:
    return Vocabulary(EXACT[kind]())


def test_added_tokens_that_are_special_or_look_like_markup_are_control_tokens() -> None:
    tokenizer = byte_level_tokenizer()
    others = ["<think>", "[INST]", "<>", "ready", "<a", "a>", "(b)"]
    tokenizer.add_tokens([AddedToken(text, special=False) for text in others])
    vocabulary = Vocabulary(tokenizer)
    assert set(vocabulary.control_texts) == {"<|im_start|>", EOS, "<|endoftext|>", "<think>", "[INST]"}
    assert vocabulary.control_ids == set(vocabulary.control_texts.values())
    assert vocabulary.text_of(vocabulary.encode("<think>ready</think>")) == "<think>ready</think>"
    assert vocabulary.control_ids.isdisjoint(vocabulary.encode("<think>ready</think>"))


def test_a_plain_token_that_ends_answers_is_never_used_for_text(byte_level: Tokenizer) -> None:
    (fox,) = byte_level.encode(" fox").ids
    vocabulary = Vocabulary(byte_level, [fox])
    for text in (" fox", "a fox", "a fo"):
        assert fox not in vocabulary.encode(text)
        assert vocabulary.text_of(vocabulary.encode(text)) == text
    assert fox not in vocabulary.extending(b" fo")


@pytest.mark.parametrize("text", CORPUS)
def test_text_is_split_as_the_tokenizer_splits_it(byte_level: Tokenizer, text: str) -> None:
    assert Vocabulary(byte_level).encode(text) == byte_level.encode(text).ids


@pytest.mark.parametrize("text", CORPUS)
def test_the_middle_of_a_text_is_split_as_the_tokenizer_splits_it_there(sentencepiece: Tokenizer, text: str) -> None:
    vocabulary = Vocabulary(sentencepiece)
    assert vocabulary.encode(f" {text}") == sentencepiece.encode(text).ids
    whole = sentencepiece.encode(f"|{text}").ids
    assert vocabulary.encode("|") + vocabulary.encode(text) == whole[1:]


def test_a_character_that_the_tokenizer_changes_affects_only_the_tokens_near_it() -> None:
    tokenizer = composing_tokenizer()
    vocabulary = Vocabulary(tokenizer)
    before, after = CORPUS[0] * 3, CORPUS[1] * 3
    ids = vocabulary.encode(f"{before} e\u0301 {after}")
    own_before, own_after = tokenizer.encode(before).ids, tokenizer.encode(f" {after}").ids
    num_before = _num_common(ids, own_before)
    num_after = _num_common(ids[::-1], own_after[::-1])
    assert num_before >= len(own_before) - 16
    assert num_after >= len(own_after) - 16


def _num_common(a: list[int], b: list[int]) -> int:
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def test_text_that_no_tokens_spell_becomes_the_tokenizers_own_ids() -> None:
    vocabulary = Vocabulary(bare_tokenizer(["a", "b", "c", "d", " "]))
    assert vocabulary.text_of(vocabulary.encode("ab ☂ cd")) == "ab  cd"
    assert vocabulary.spell("ab ☂ cd".encode()) is None
    vocabulary = Vocabulary(wordpiece_tokenizer())
    assert vocabulary.text_of(vocabulary.encode("The Dog")) == " the dog"


def test_no_space_is_prepended_to_text_that_no_tokens_spell() -> None:
    pieces = {piece: index for index, piece in enumerate(("<unk>", "▁", "a", "b", "▁b", "|"))}
    tokenizer = Tokenizer(models.BPE(vocab=pieces, merges=[("▁", "b")], unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Replace("▁", " ")
    tokenizer.add_special_tokens([AddedToken("<unk>", special=True)])
    vocabulary = Vocabulary(tokenizer)
    assert vocabulary.text_of(vocabulary.encode("b☂a b")) == "ba b"
    assert vocabulary.text_of(vocabulary.encode(" b☂a")) == " ba"
    assert vocabulary.text_of(vocabulary.encode("☂" * 40 + "a")) == "a"


# --- bytes as ids --------------------------------------------------------------------------------------------


def test_bytes_are_spelled_even_if_the_longest_tokens_lead_nowhere() -> None:
    vocabulary = Vocabulary(bare_tokenizer(["ab", "abc", "cd", "abcde", "e", "c", "d"]))
    assert vocabulary.spell(b"abcd") == [0, 2]
    assert vocabulary.spell(b"abcdeabc") == [3, 1]
    assert vocabulary.spell(b"abx") is None
    assert vocabulary.spell(b"") == []


def test_bytes_of_incomplete_characters_are_spelled(vocabulary: Vocabulary) -> None:
    for data in (b"\xff", b"\x82\xac", b"a\xe2\x82", "é".encode()[1:] + b" fox"):
        ids = vocabulary.spell(data)
        assert ids is not None
        assert vocabulary.bytes_of(ids) == data


@settings(max_examples=500)
@given(
    st.lists(st.text("abc", min_size=2, max_size=4), min_size=1, max_size=6, unique=True), st.text("abc", max_size=9)
)
def test_the_fewest_tokens_are_used(pieces: list[str], text: str) -> None:
    vocabulary = Vocabulary(bare_tokenizer(pieces))
    ids = vocabulary.spell(text.encode())
    fewest: dict[str, int] = {"": 0}
    for end in range(1, len(text) + 1):
        ways = [
            fewest[text[:start]] + 1 for start in range(end) if text[:start] in fewest and text[start:end] in pieces
        ]
        if ways:
            fewest[text[:end]] = min(ways)
    assert (None if ids is None else len(ids)) == fewest.get(text)
    if ids is not None:
        assert vocabulary.text_of(ids) == text


# --- tokens by their bytes -----------------------------------------------------------------------------------


def test_tokens_are_found_by_their_prefix(vocabulary: Vocabulary) -> None:
    plain = [
        (token_id, data)
        for token_id, data in enumerate(vocabulary.bytes)
        if data and token_id not in vocabulary.control_ids
    ]
    rng = random.Random(4)
    for _, token in rng.sample(plain, 60):
        for data in (token[: rng.randint(1, len(token))], token + b"\x00", token + rng.choice(plain)[1]):
            assert vocabulary.continues(data) == any(other.startswith(data) and other != data for _, other in plain)
            assert sorted(vocabulary.extending(data)) == [i for i, other in plain if other.startswith(data)]
            assert sorted(vocabulary.within(data)) == [i for i, other in plain if data.startswith(other)]
