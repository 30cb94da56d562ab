"""Tokenizers and chat templates of GGUF files."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer
from typing_extensions import override

from tests.worker.gguf.random_models import byte_tokenizer
from worker.errors import ModelInvalidError
from worker.gguf.gguf_file import Metadata
from worker.gguf.pre_tokenizers import PRE_TOKENIZERS
from worker.gguf.words import token_ids, word_files
from worker.models.tokenizer_file import check_tokenizer
from worker.trial import TrialProcess


class _NoTrials(TrialProcess):
    @override
    def run(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("it was tried out")


def metadata(values: Mapping[str, Any], **others: Any) -> Metadata:
    """Return what a file with these values of the tokenizer says."""
    kept = {f"tokenizer.{key}": value for key, value in values.items()} | others
    return Metadata(
        Path("model.gguf"),
        {
            key: np.array(value) if isinstance(value, list) and not isinstance(value[0], str) else value
            for key, value in kept.items()
            if value is not None
        },
    )


def tokenizer_of(said: Metadata) -> Tokenizer:
    return Tokenizer.from_str(word_files(said)["tokenizer.json"])


def sentence_pieces(**others: Any) -> dict[str, Any]:
    """Return the metadata of a small vocabulary of SentencePiece."""
    pieces: Sequence[tuple[str, float, int]] = [
        ("<unk>", 0, 2),
        ("<s>", 0, 3),
        ("</s>", 0, 3),
        *((f"<0x{byte:02X}>", 0.0, 6) for byte in range(256)),
        ("▁a", -1, 1),
        ("ab", -2, 1),
        ("▁▁", -3, 1),
        ("▁ab", -4, 1),
        ("abc", -5, 1),
        *((character, -10.0 - number, 1) for number, character in enumerate("▁abc")),
        ("<end_of_turn>", -1000, 4),
        ("<mark>", -1000, 4),
    ]
    return {
        "ggml.model": "llama",
        "ggml.tokens": [text for text, _, _ in pieces],
        "ggml.scores": [score for _, score, _ in pieces],
        "ggml.token_type": [kind for _, _, kind in pieces],
        **others,
    }


def test_byte_level_tokens_are_those_of_the_merges() -> None:
    tokenizer = tokenizer_of(metadata(byte_tokenizer()))
    assert tokenizer.encode("the 12 an<|im_end|>é").tokens == [
        "the", "Ġ", "1", "2", "Ġa", "n", "<|im_end|>", "Ã", "©",
    ]  # fmt: skip
    assert tokenizer.decode(tokenizer.encode(" the é\n").ids) == " the é\n"


def test_sentence_piece_joins_the_best_neighbours_first() -> None:
    tokenizer = tokenizer_of(metadata(sentence_pieces()))
    assert tokenizer.encode("abc", add_special_tokens=False).tokens == ["▁ab", "c"]
    assert tokenizer.encode("  b", add_special_tokens=False).tokens == ["▁▁", "▁", "b"]
    assert tokenizer.encode("é<mark>a").tokens == ["<s>", "▁", "<0xC3>", "<0xA9>", "<mark>", "▁a"]
    without = tokenizer_of(metadata(sentence_pieces(**{"ggml.add_space_prefix": False, "ggml.add_bos_token": False})))
    assert without.encode("abc").tokens == ["abc"]
    assert without.decode(without.encode(" a bé").ids) == " a bé"


def test_special_tokens_keep_their_kind() -> None:
    added = tokenizer_of(metadata(sentence_pieces())).get_added_tokens_decoder().values()
    assert {token.content: token.special for token in added} == {
        "<unk>": True,
        "<s>": True,
        "</s>": True,
        "<end_of_turn>": True,  # it ends an answer, whatever the file calls it
        "<mark>": False,
    }


def test_the_tokenizers_of_phi_3_drop_the_space_after_a_control_token() -> None:
    said = metadata(sentence_pieces(), **{"general.architecture": "phi3"})
    tokenizer = tokenizer_of(said)
    found = [tokenizer.id_to_token(number) for number in tokenizer.encode("<mark>  a<s> a").ids]
    assert found == ["<s>", "<mark>", "▁a", "<s>", "▁", "▁a"]


def test_every_token_that_ends_an_answer_is_named() -> None:
    said = metadata(byte_tokenizer())
    tokens = said.texts("tokenizer.ggml.tokens")
    assert tokens is not None
    ids = token_ids(said)
    assert [tokens[number] for number in ids["eos_token_id"]] == ["<|im_end|>", "<|endoftext|>"]
    assert tokens[ids["bos_token_id"]] == "<|endoftext|>"
    assert token_ids(metadata(sentence_pieces()))["eos_token_id"] == [2, len(sentence_pieces()["ggml.tokens"]) - 2]


def test_a_number_outside_the_vocabulary_names_no_token() -> None:
    ids = token_ids(metadata(byte_tokenizer() | {"ggml.eos_token_id": 2**32 - 1, "ggml.bos_token_id": None}))
    assert "bos_token_id" not in ids
    assert len(ids["eos_token_id"]) == 2


def test_templates_keep_their_names() -> None:
    files = word_files(
        metadata(
            byte_tokenizer()
            | {
                "chat_templates": ["tool_use", "../../escape", "missing"],
                "chat_template.tool_use": "tools",
                "chat_template.../../escape": "no",
            }
        )
    )
    assert files["additional_chat_templates/tool_use.jinja"] == "tools"
    assert set(files) == {
        "tokenizer.json",
        "tokenizer_config.json",
        "chat_template.jinja",
        "additional_chat_templates/tool_use.jinja",
    }
    assert "chat_template.jinja" not in word_files(metadata(byte_tokenizer() | {"chat_template": None}))


@pytest.mark.parametrize("name", PRE_TOKENIZERS)
def test_no_text_is_lost_by_a_pre_tokenizer(name: str) -> None:
    tokenizer = tokenizer_of(metadata(byte_tokenizer(name) | {"ggml.add_bos_token": None}))
    text = "It's 12345 naïve\r\n\r\n  tabs\t\tand İstanbul, 東京はABCdef!? <|end 👍🏽 ...\n \n"
    assert tokenizer.decode(tokenizer.encode(text).ids, skip_special_tokens=True) == text


@pytest.mark.parametrize("name", ["llama-bpe", "qwen2", "qwen35", "smollm", "gpt-2", "gpt-4o", "tekken", "deepseek-v3"])
def test_usual_pre_tokenizers_are_known_to_be_harmless(name: str, tmp_path: Path) -> None:
    for file, text in word_files(metadata(byte_tokenizer(name))).items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    check_tokenizer(tmp_path, _NoTrials())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"ggml.pre": "kimi-k2"}, "in a way that Bough does not support yet (kimi-k2)"),
        ({"ggml.model": "t5"}, "(unsupported: t5)"),
        ({"ggml.model": None}, "(unsupported: None)"),
        ({"ggml.tokens": None}, "contains no tokenizer"),
        ({"ggml.merges": None}, "has no merges"),
        ({"ggml.tokens": ["a", "a"], "ggml.token_type": [1, 1]}, "the same token twice"),
        ({"ggml.token_type": [1, 1]}, "its vocabulary is incomplete"),
        ({"ggml.tokens": 3}, "tokenizer.ggml.tokens"),
        ({"ggml.merges": "a b"}, "tokenizer.ggml.merges"),
        ({"ggml.model": "llama"}, "has no scores"),
    ],
)
def test_a_tokenizer_that_cannot_be_converted_is_refused_by_name(changes: Mapping[str, Any], words: str) -> None:
    with pytest.raises(ModelInvalidError, match=re.escape(words)):
        word_files(metadata({**byte_tokenizer(), **changes}))


def test_odd_tokens_and_merges_do_no_harm() -> None:
    odd = byte_tokenizer()
    odd["ggml.tokens"] = ["\udcff\udcfe", "", *odd["ggml.tokens"][2:]]
    odd["ggml.merges"] = ["a b", "", " ", "x", "t h", "t h", "no such", *odd["ggml.merges"]]
    files = word_files(metadata(odd))
    assert json.loads(files["tokenizer.json"])["model"]["vocab"]["[EMPTY_1]"] == 1
    assert Tokenizer.from_str(files["tokenizer.json"]).encode("the").tokens == ["the"]


ODD_VALUES = (
    *(0, 1, 2**32 - 1, 10**9, 0.0, -1.5, 1e300, True, False, "", "x", "llama", "\udcff", "qwen2"),
    *(
        ["a"],
        ["a", "b"] * 300,
        ["▁", "▁▁", ""] * 100,
        ["x" * 300],
        np.zeros(400, np.int32),
        np.full(400, 9),
        np.ones(3),
    ),
    *(np.full(400, np.nan, np.float32), np.full(400, -np.inf, np.float32), np.zeros(0, np.int32), np.ones(400, bool)),
)


@pytest.mark.parametrize("seed", range(60))
def test_odd_metadata_is_read_or_refused(seed: int) -> None:
    draw = random.Random(seed)
    said = metadata(byte_tokenizer() if seed % 2 else sentence_pieces())
    values = dict(said.values)
    keys = [
        *values,
        "tokenizer.ggml.scores",
        "tokenizer.ggml.add_bos_token",
        "tokenizer.chat_templates",
        "general.name",
    ]
    for key in draw.sample(keys, draw.randint(1, 3)):
        values[key] = draw.choice(ODD_VALUES)
    odd = Metadata(said.path, values)
    try:
        files = word_files(odd)
        token_ids(odd)
    except ModelInvalidError:
        return
    Tokenizer.from_str(files["tokenizer.json"]).encode("the é<s> 12\n")
