"""Token healing: which tokens are taken back, and which may replace them."""

from __future__ import annotations

import random

import pytest
from tokenizers import AddedToken, Tokenizer

from tests.models import CORPUS, EOS, byte_level_tokenizer, sentencepiece_tokenizer
from tests.tokenizers import bare_tokenizer, unigram_tokenizer, wordpiece_tokenizer
from worker.text.healing import Healing, num_taken_back
from worker.text.vocabulary import Vocabulary

KINDS = {
    "byte-level": byte_level_tokenizer,
    "sentencepiece": sentencepiece_tokenizer,
    "unigram": unigram_tokenizer,
}


@pytest.fixture(scope="module", params=list(KINDS))
def vocabulary(request: pytest.FixtureRequest) -> Vocabulary:
    return Vocabulary(KINDS[request.param]())


def plain_tokens(vocabulary: Vocabulary) -> dict[int, bytes]:
    return {
        token_id: data
        for token_id, data in enumerate(vocabulary.bytes)
        if data and token_id not in vocabulary.control_ids
    }


def taken_back(vocabulary: Vocabulary, token_ids: list[int]) -> int:
    """The rule, written plainly:

    the longest suffix that is a proper prefix of some token, and the tokens it overlaps.
    """
    data = vocabulary.bytes_of(token_ids)
    tokens = plain_tokens(vocabulary).values()
    longest = max(
        length
        for length in range(len(data) + 1)
        if not length or any(token.startswith(data[-length:]) and len(token) > length for token in tokens)
    )
    return min(number for number in range(len(token_ids) + 1) if _num_bytes(vocabulary, token_ids, number) >= longest)


def _num_bytes(vocabulary: Vocabulary, token_ids: list[int], number: int) -> int:
    return len(vocabulary.bytes_of(token_ids[len(token_ids) - number :]))


def test_the_tokens_of_the_longest_suffix_that_begins_a_token_are_taken_back(vocabulary: Vocabulary) -> None:
    for text in CORPUS:
        for end in range(len(text) + 1):
            ids = vocabulary.encode(text[:end])
            assert num_taken_back(vocabulary, ids) == taken_back(vocabulary, ids), text[:end]


def test_several_tokens_may_be_taken_back(byte_level: Tokenizer) -> None:
    vocabulary = Vocabulary(byte_level)
    ids = vocabulary.encode("x\n    retur")
    number = num_taken_back(vocabulary, ids)
    assert number >= 3
    assert vocabulary.text_of(ids[-number:]) == " retur"


def test_nothing_is_taken_back_if_no_token_can_continue_the_text() -> None:
    vocabulary = Vocabulary(bare_tokenizer(["a", "b", "ab"]))
    assert [num_taken_back(vocabulary, vocabulary.encode(text)) for text in ("", "a", "b", "ba")] == [0, 1, 0, 1]


def test_control_tokens_are_never_taken_back(byte_level: Tokenizer) -> None:
    vocabulary = Vocabulary(byte_level)
    start, eos = byte_level.token_to_id("<|im_start|>"), byte_level.token_to_id(EOS)
    assert start is not None
    assert eos is not None
    retur = vocabulary.encode(" retur")
    assert num_taken_back(vocabulary, [eos]) == 0
    assert num_taken_back(vocabulary, [*retur, start]) == 0
    assert num_taken_back(vocabulary, [start, *retur]) == num_taken_back(vocabulary, retur)


def test_the_start_of_a_mark_may_become_the_mark_but_never_a_special_token() -> None:
    tokenizer = byte_level_tokenizer()
    tokenizer.add_special_tokens([AddedToken("<|think|>", special=True)])
    tokenizer.add_tokens([AddedToken(text, special=False) for text in ("<|tool|>", "<|end|>")])
    controls = ("<|tool|>", "<|think|>", "<|im_start|>", "<|end|>")
    control_ids = [tokenizer.token_to_id(text) or 0 for text in controls]
    vocabulary = Vocabulary(tokenizer, [tokenizer.token_to_id("<|end|>") or 0])
    ids = vocabulary.encode("a <|t")
    number = num_taken_back(vocabulary, ids)
    assert vocabulary.text_of(ids[len(ids) - number :]).lstrip() == "<|t"
    for data, becomes in ((b"<|t", [1, 1, 0, 0]), (b"<", [1, 1, 0, 0]), (b"<|tool|>", [0] * 4), (b" <|t", [0] * 4)):
        mask = Healing(vocabulary, data).mask()
        assert mask is not None
        assert mask[control_ids].tolist() == [bool(may) for may in becomes]


def test_new_tokens_must_first_spell_the_bytes_that_were_taken_back(vocabulary: Vocabulary) -> None:
    rng = random.Random(5)
    plain = plain_tokens(vocabulary)
    for _ in range(40):
        text = rng.choice(CORPUS)
        end = rng.randint(1, len(text))
        data = text[max(0, end - 6) : end].encode()
        healing = Healing(vocabulary, data)
        left = data
        while left:
            mask = healing.mask()
            assert mask is not None
            assert set(mask.nonzero()[0].tolist()) == {
                token_id for token_id, token in plain.items() if token.startswith(left) or left.startswith(token)
            }
            token_id = int(rng.choice(mask.nonzero()[0]))
            assert healing.num_given(token_id) == min(len(left), len(plain[token_id]))
            healing.consume(token_id)
            left = left[len(plain[token_id]) :]
        assert not healing.is_active
        assert healing.mask() is None
        assert healing.num_given(0) == 0


def test_no_token_is_allowed_that_leaves_a_rest_which_cannot_be_spelled() -> None:
    pieces = ["ab", "abc", "cd", "ef", "def", "efg"]
    vocabulary = Vocabulary(bare_tokenizer(pieces))
    healing = Healing(vocabulary, b"abcdef")
    mask = healing.mask()
    assert mask is not None
    assert [pieces[token_id] for token_id in mask.nonzero()[0]] == ["ab", "abc"]
    healing = Healing(vocabulary, b"abcde")
    assert _allowed(healing, pieces) == ["ab", "abc"]
    healing.consume(pieces.index("abc"))
    assert _allowed(healing, pieces) == ["def"]
    healing.rewind(1)
    healing.consume(pieces.index("ab"))
    assert _allowed(healing, pieces) == ["cd"]
    healing.consume(pieces.index("cd"))
    assert _allowed(healing, pieces) == ["ef", "efg"]
    healing.rewind(1)
    assert _allowed(healing, pieces) == ["cd"]


def test_healing_never_gets_stuck_in_a_vocabulary_without_single_bytes() -> None:
    rng = random.Random(6)
    for _ in range(500):
        pieces = list({"".join(rng.choices("abc", k=rng.randint(1, 4))) for _ in range(rng.randint(2, 7))})
        vocabulary = Vocabulary(bare_tokenizer(pieces))
        data = "".join(rng.choices(pieces, k=3)).encode()
        healing = Healing(vocabulary, data)
        said = b""
        while healing.is_active:
            token_id = pieces.index(rng.choice(_allowed(healing, pieces)))
            healing.consume(token_id)
            said += vocabulary.bytes[token_id]
        assert said.startswith(data)


def _allowed(healing: Healing, pieces: list[str]) -> list[str]:
    mask = healing.mask()
    assert mask is not None
    return [pieces[token_id] for token_id in mask.nonzero()[0]]


def test_a_token_that_spells_other_bytes_is_refused(byte_level: Tokenizer) -> None:
    vocabulary = Vocabulary(byte_level)
    healing = Healing(vocabulary, b"retur")
    with pytest.raises(ValueError, match="does not spell"):
        healing.consume(vocabulary.encode("x")[0])


def test_a_tokenizer_that_prepends_spaces_heals_within_its_words() -> None:
    vocabulary = Vocabulary(wordpiece_tokenizer())
    ids = vocabulary.encode("The qui")
    number = num_taken_back(vocabulary, ids)
    assert vocabulary.text_of(ids[-number:]) == " qui"
    mask = Healing(vocabulary, b" qui").mask()
    assert mask is not None
    assert vocabulary.text_of(mask.nonzero()[0].tolist()[-1:]) == " quick"
