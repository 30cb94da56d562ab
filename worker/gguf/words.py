"""The tokenizer and the chat template of a GGUF file, as the files of a model folder."""

from __future__ import annotations

import json
from typing import Any

from worker.errors import ModelInvalidError
from worker.gguf.gguf_file import Metadata
from worker.sentence import Sentence

_CONTROL, _USER_DEFINED = 3, 4
"""Types of tokens that stand for themselves in a text."""


def word_files(said: Metadata) -> dict[str, str]:
    """Return the files that describe the tokenizer and the chat template, by name. Raises `ModelInvalidError`."""
    tokens, merges = said.texts("tokenizer.ggml.tokens"), said.texts("tokenizer.ggml.merges")
    if not tokens or said.text("tokenizer.ggml.model") is None:
        raise ModelInvalidError(
            Sentence("{path} contains no tokenizer. Choose a language model's file.", path=said.path)
        )
    if said.text("tokenizer.ggml.model") != "gpt2" or said.text("tokenizer.ggml.pre") != "smollm" or not merges:
        raise ModelInvalidError(
            Sentence(
                "{path} has a tokenizer that Bough can't convert ({model}, {pre}). Choose a model in MLX format.",
                path=said.path,
                model=str(said.text("tokenizer.ggml.model"))[:40],
                pre=str(said.text("tokenizer.ggml.pre"))[:40],
            )
        )
    kinds = said.numbers("tokenizer.ggml.token_type")
    added = [
        _added_token(number, tokens[number], is_special=kind == _CONTROL)
        for number, kind in enumerate([] if kinds is None else kinds[: len(tokens)].tolist())
        if kind in (_CONTROL, _USER_DEFINED)
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level],
        },
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": [merge.split(" ", 1) for merge in merges],
        },
    }
    config: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    for name, key in (("bos_token", "bos"), ("eos_token", "eos"), ("unk_token", "unknown"), ("pad_token", "padding")):
        number = said.integer(f"tokenizer.ggml.{key}_token_id", len(tokens) - 1)
        config[name] = None if number is None else tokens[number]
    files = {
        "tokenizer.json": json.dumps(tokenizer, ensure_ascii=False),
        "tokenizer_config.json": json.dumps(config, ensure_ascii=False, indent=2),
    }
    template = said.text("tokenizer.chat_template")
    if template:
        files["chat_template.jinja"] = template
    return files


def _added_token(number: int, text: str, *, is_special: bool) -> dict[str, Any]:
    return {
        "id": number,
        "content": text,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": is_special,
    }
