"""Tokenizers of GGUF files give the ids that llama.cpp gives."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from tests.worker.gguf.judge import Judge, model_file, vocabulary_file
from tests.worker.gguf.texts import texts
from worker.gguf.gguf_file import read_files
from worker.gguf.pre_tokenizers import PRE_TOKENIZERS
from worker.gguf.words import word_files

NUM_TEXTS = int(os.environ.get("BOUGH_NUM_TEXTS", "10000"))

VOCABULARIES = ("llama-bpe", "qwen2", "qwen35", "llama-spm", "phi-3", "gpt-2", "starcoder", "command-r")
MODELS = ("SmolLM2-*.gguf", "gemma-3-*.gguf")


@pytest.mark.parametrize("name", VOCABULARIES)
def test_vocabularies_of_llama_cpp_give_the_same_ids(name: str, judge: Judge) -> None:
    check(vocabulary_file(name), judge)


@pytest.mark.parametrize("name", MODELS)
def test_vocabularies_of_models_give_the_same_ids(name: str, judge: Judge) -> None:
    check(model_file(name), judge)


def check(file: Path, judge: Judge) -> None:
    tokenizer, controls = tokenizer_and_controls(file)
    compared = texts(0, NUM_TEXTS, controls)
    if "phi-3" in file.name:
        # Like the model's own tokenizer, ours drops all white space after a control token; llama.cpp that of ASCII.
        compared = [text for text in compared if not _WIDE_SPACE_AFTER_CONTROL.search(text)]
    compare(tokenizer, compared, lambda each: judge.ids(file, each))


@pytest.mark.parametrize("name", sorted(PRE_TOKENIZERS))
def test_every_pre_tokenizer_splits_alike(name: str, judge: Judge) -> None:
    file = vocabulary_file("gpt-2")
    tokenizer, controls = tokenizer_and_controls(file, name)
    compared = texts(1, NUM_TEXTS // 10, controls)
    if name in _DIFFERING:
        compared = [text for text in compared if not _DIFFERING[name].search(text)]
    compare(tokenizer, compared, lambda each: judge.ids(file, each, {"tokenizer.ggml.pre": name}))


def test_llama_cpps_own_examples_are_met() -> None:
    for name in VOCABULARIES:
        file = vocabulary_file(name)
        tokenizer, _ = tokenizer_and_controls(file)
        examples = file.with_name(file.name + ".inp").read_text(encoding="utf-8").split("\n__ggml_vocab_test__\n")
        expected = file.with_name(file.name + ".out").read_text(encoding="utf-8").split("\n")
        for text, ids in zip(examples, expected, strict=False):
            assert tokenizer.encode(text, add_special_tokens=False).ids == list(map(int, ids.split())), (name, text)


_WIDE_SPACE = r"[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
_WIDE_SPACE_AFTER_CONTROL = re.compile(rf"[>\]][ \t\n\v\f\r]*{_WIDE_SPACE}")

_DIFFERING = {"deepseek-coder": re.compile(_WIDE_SPACE)}
"""Texts that llama.cpp splits in another way than the models' own regular expressions, which ours are.

These count wide spaces as Chinese, because they stand in the range between two characters.
"""


@cache
def tokenizer_and_controls(file: Path, pre: str | None = None) -> tuple[Tokenizer, tuple[str, ...]]:
    """Return the tokenizer of a file, with another pre-tokenizer if one is named, and its tokens with a meaning."""
    said = read_files(file).metadata
    if pre is not None:
        values: dict[str, Any] = {**said.values, "tokenizer.ggml.pre": pre}
        said = type(said)(said.path, values)
    tokenizer = Tokenizer.from_str(word_files(said)["tokenizer.json"])
    return tokenizer, tuple(token.content for token in tokenizer.get_added_tokens_decoder().values())


def compare(tokenizer: Tokenizer, compared: Sequence[str], judged: Callable[[Sequence[str]], list[list[int]]]) -> None:
    """Compare the ids of all texts. The failure lists the first that differ."""
    expected = judged(compared)
    found = [each.ids for each in tokenizer.encode_batch_fast(list(compared), add_special_tokens=False)]
    differing = [
        (text, ours, theirs) for text, ours, theirs in zip(compared, found, expected, strict=True) if ours != theirs
    ]
    shown = "\n".join(f"{text!r}\n  Bough     {ours}\n  llama.cpp {theirs}" for text, ours, theirs in differing[:5])
    assert not differing, f"{len(differing)} of {len(compared)} texts differ:\n{shown}"
