"""The tokenizer and the chat template of a GGUF file, as the files of a model folder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from worker.errors import ModelInvalidError
from worker.gguf.gguf_file import Metadata
from worker.gguf.pre_tokenizers import PRE_TOKENIZERS, PreTokenizer
from worker.models.tokenizer_file import IS_COMPLETE
from worker.sentence import Sentence

_UNKNOWN, _CONTROL, _USER_DEFINED, _BYTE = 2, 3, 4, 6
"""Types of special tokens in GGUF. Tokens of all other types are parts of words."""

_ENDS = frozenset(
    (
        "<|eot_id|>",
        "<|eom_id|>",
        "<|im_end|>",
        "<|end|>",
        "<|return|>",
        "<|call|>",
        "<end_of_turn>",
        "<|endoftext|>",
        "<|end_of_text|>",
        "<|END_OF_TURN_TOKEN|>",
        "<EOT>",
        "<end_of_utterance>",
        "<｜end▁of▁sentence｜>",
    )
)
"""Tokens that end an answer in every model. Some files give them a wrong type, and name only one of them as the end."""

_SPACE = "▁"
"""This character is a space in tokens of SentencePiece."""
_MAX_PIECE = 128
"""Merges to longer tokens are ignored. Real tokens have up to 64 characters."""
_MAX_MERGES = 2 << 20
_TEMPLATE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def word_files(metadata: Metadata) -> dict[str, str]:
    """Return the files that describe the tokenizer and the chat template, by name. Raises `ModelInvalidError`.

    Without a template in the file there is no `chat_template.jinja`.
    """
    tokens = _Tokens.of(metadata)
    match metadata.text("tokenizer.ggml.model"):
        case "gpt2":
            parts = _byte_level_parts(metadata, tokens)
        case "llama":
            parts = _sentence_piece_parts(metadata, tokens)
        case other:
            raise ModelInvalidError(
                Sentence(
                    "Bough can't convert the tokenizer in {path} (unsupported: {kind}). Choose a model in MLX "
                    "format, or another model.",
                    path=metadata.path,
                    kind=str(other)[:40],
                )
            )
    added = [
        _added_token(number, tokens.texts[number], is_special=kind != _USER_DEFINED, strips=tokens.strips(number))
        for number, kind in enumerate(tokens.kinds)
        if kind in (_UNKNOWN, _CONTROL, _USER_DEFINED)
    ]
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        **parts,
        "post_processor": tokens.ends(metadata),
    }
    return {
        "tokenizer.json": json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")),
        "tokenizer_config.json": json.dumps(_config(tokens), ensure_ascii=False, indent=2),
        **_templates(metadata),
    }


def token_ids(metadata: Metadata) -> dict[str, Any]:
    """Return the ids of the tokens that begin and end a text, as config.json names them."""
    tokens = _Tokens.of(metadata)
    ids = {"bos_token_id": tokens.bos, "eos_token_id": tokens.end_ids, "pad_token_id": tokens.padding}
    return {name: value for name, value in ids.items() if value not in (None, [])}


@dataclass(frozen=True)
class _Tokens:
    """The vocabulary."""

    texts: Sequence[str]
    kinds: Sequence[int]
    bos: int | None
    eos: int | None
    unknown: int | None
    padding: int | None
    turn_ends: frozenset[int]
    begins_with_bos: bool
    ends_with_eos: bool
    all_strip: bool
    """Whether white space after a control token is dropped, as the tokenizers of Phi-3 do."""

    @classmethod
    def of(cls, metadata: Metadata) -> _Tokens:
        found = metadata.texts("tokenizer.ggml.tokens")
        if not found:
            raise ModelInvalidError(
                Sentence("{path} contains no tokenizer. Choose a language model's file.", path=metadata.path)
            )
        texts = [_readable(number, text) for number, text in enumerate(found)]
        if len(set(texts)) != len(texts):
            raise _damaged(metadata, Sentence("its vocabulary has the same token twice"))
        is_sentence_piece = metadata.text("tokenizer.ggml.model") == "llama"
        pre_tokenizer = PRE_TOKENIZERS.get(metadata.text("tokenizer.ggml.pre") or "")

        def special(name: str, usual: int | None = None) -> int | None:
            number = metadata.integer(f"tokenizer.ggml.{name}_token_id", 2**32 - 1)
            number = usual if number is None and is_sentence_piece else number
            return None if number is None or number >= len(texts) else number

        begins = metadata.flag("tokenizer.ggml.add_bos_token")
        if begins is None:
            begins = is_sentence_piece or (pre_tokenizer is not None and pre_tokenizer.begins_with_bos)
        name = (metadata.text("general.name") or "").lower()
        is_phi3 = "phi3" in name or "phi-3" in name or metadata.text("general.architecture") == "phi3"
        return cls(
            texts=texts,
            kinds=_kinds(metadata, texts),
            bos=special("bos", 1),
            eos=special("eos", 2),
            unknown=special("unknown", 0),
            padding=special("padding"),
            turn_ends=frozenset(number for number in (special("eot"), special("eom")) if number is not None),
            begins_with_bos=begins,
            ends_with_eos=bool(metadata.flag("tokenizer.ggml.add_eos_token")),
            all_strip=is_phi3 and is_sentence_piece,
        )

    @property
    def end_ids(self) -> list[int]:
        """The tokens that end an answer."""
        ends = {number for number, text in enumerate(self.texts) if text in _ENDS} | self.turn_ends
        named = {text: number for number in ends if (text := self.texts[number])}
        if {"<|return|>", "<|call|>", "<|end|>"} <= named.keys():
            ends.discard(named["<|end|>"])  # In this format, the token ends a message, but the answer continues.
        return [*([] if self.eos is None else [self.eos]), *sorted(ends - {self.eos})]

    def strips(self, number: int) -> bool:
        return self.all_strip and self.texts[number] not in ("<unk>", "<s>", "<|endoftext|>")

    def ends(self, metadata: Metadata) -> dict[str, Any] | None:
        """Return the tokenizer's step that adds tokens before and after a text; None if there are none."""
        first = self.bos if self.begins_with_bos else None
        last = self.eos if self.ends_with_eos else None
        if self.begins_with_bos and first is None and metadata.flag("tokenizer.ggml.add_bos_token"):
            raise _damaged(metadata, Sentence("it lacks the token that begins a text"))
        if first is None and last is None:
            return None
        around = [number for number in (first, last) if number is not None]

        def token(number: int | None) -> list[dict[str, Any]]:
            return [] if number is None else [{"SpecialToken": {"id": self.texts[number], "type_id": 0}}]

        def sequence(name: str, type_id: int) -> dict[str, Any]:
            return {"Sequence": {"id": name, "type_id": type_id}}

        single = [*token(first), sequence("A", 0), *token(last)]
        return {
            "type": "TemplateProcessing",
            "single": single,
            "pair": [*single, *token(first), sequence("B", 1), *token(last)],
            "special_tokens": {
                self.texts[number]: {"id": self.texts[number], "ids": [number], "tokens": [self.texts[number]]}
                for number in around
            },
        }


def _readable(number: int, text: str) -> str:
    """Return a token's text. A token without text, or with a part of a character, gets a text that never occurs."""
    if not text:
        return f"[EMPTY_{number}]"
    return text if text.isprintable() or text == text.encode("utf-8", "replace").decode() else f"[BYTES_{number}]"


def _kinds(metadata: Metadata, texts: Sequence[str]) -> list[int]:
    found = metadata.numbers("tokenizer.ggml.token_type")
    if found is not None and (len(found) < len(texts) or not np.issubdtype(found.dtype, np.integer)):
        raise _damaged(metadata, Sentence("its vocabulary is incomplete"))
    kinds = [1] * len(texts) if found is None else found[: len(texts)].tolist()
    return [_CONTROL if text in _ENDS else kind for text, kind in zip(texts, kinds, strict=True)]


# --- byte-level BPE ----------------------------------------------------------------------------------------


def _byte_level_parts(metadata: Metadata, tokens: _Tokens) -> dict[str, Any]:
    name = metadata.text("tokenizer.ggml.pre") or "default"
    pre_tokenizer = PRE_TOKENIZERS.get(name)
    if pre_tokenizer is None:
        raise ModelInvalidError(
            Sentence(
                "{path} splits text into words in a way that Bough does not support yet ({name}). Choose a model in "
                "MLX format, or another model.",
                path=metadata.path,
                name=name[:40],
            )
        )
    merges = metadata.texts("tokenizer.ggml.merges")
    if merges is None:
        raise _damaged(metadata, Sentence("its tokenizer has no merges"))
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*_splits(pre_tokenizer), byte_level]},
        "decoder": byte_level,
        "model": _bpe(metadata, tokens, list(_listed_merges(merges, tokens.texts)))
        | {"ignore_merges": pre_tokenizer.keeps_known_words},
    }


def _splits(pre_tokenizer: PreTokenizer) -> Iterator[dict[str, Any]]:
    for pattern in pre_tokenizer.patterns:
        yield {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def _listed_merges(merges: Sequence[str], texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the merges that lead to a token, each once."""
    known = set(texts)
    seen: set[str] = set()
    for merge in merges:
        # The first part may be a space.
        at = merge.find(" ", 1)
        first, second = merge[:at], merge[at + 1 :]
        if at > 0 and merge not in seen and first in known and second in known and first + second in known:
            seen.add(merge)
            yield first, second


# --- SentencePiece -----------------------------------------------------------------------------------------


def _sentence_piece_parts(metadata: Metadata, tokens: _Tokens) -> dict[str, Any]:
    scores = metadata.numbers("tokenizer.ggml.scores")
    if scores is None or len(scores) < len(tokens.texts) or np.isnan(scores.astype(float)).any():
        raise _damaged(metadata, Sentence("its vocabulary has no scores"))
    has_prefix = metadata.flag("tokenizer.ggml.add_space_prefix") is not False
    steps: list[dict[str, Any]] = [{"type": "Prepend", "prepend": _SPACE}] if has_prefix else []
    steps.append({"type": "Replace", "pattern": {"String": " "}, "content": _SPACE})
    back: list[dict[str, Any]] = [
        {"type": "Replace", "pattern": {"String": _SPACE}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    if has_prefix:
        back.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    unknown = None if tokens.unknown is None else tokens.texts[tokens.unknown]
    return {
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": None,
        "decoder": {"type": "Sequence", "decoders": back},
        "model": _bpe(metadata, tokens, _merges_by_score(tokens, scores.astype(float).tolist()))
        | {"unk_token": unknown, "fuse_unk": True, "byte_fallback": True},
    }


def _merges_by_score(tokens: _Tokens, scores: Sequence[float]) -> list[tuple[str, str]]:
    """Return all pairs of tokens that form another token, those for the token with the best score first.

    SentencePiece joins the two neighbours that form the token with the best score; if several do, the leftmost ones.
    """
    ids = {
        text: number
        for number, text in enumerate(tokens.texts)
        if tokens.kinds[number] not in (_UNKNOWN, _CONTROL, _BYTE)
    }
    ranked: list[tuple[float, int, int, str]] = []
    for text, number in ids.items():
        if 1 < len(text) <= _MAX_PIECE:
            ranked += [
                (-scores[number], number, at, text)
                for at in range(1, len(text))
                if text[:at] in ids and text[at:] in ids
            ]
    ranked.sort()
    return [(text[:at], text[at:]) for _, _, at, text in ranked]


# --- common ------------------------------------------------------------------------------------------------


def _bpe(metadata: Metadata, tokens: _Tokens, merges: list[tuple[str, str]]) -> dict[str, Any]:
    if len(merges) > _MAX_MERGES:
        raise _damaged(metadata, Sentence("its tokenizer has {count} merges", count=len(merges)))
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": {text: number for number, text in enumerate(tokens.texts)},
        "merges": merges,
    }


def _added_token(number: int, text: str, *, is_special: bool, strips: bool) -> dict[str, Any]:
    return {
        "id": number,
        "content": text,
        "single_word": False,
        "lstrip": False,
        "rstrip": strips,
        "normalized": False,
        "special": is_special,
    }


def _config(tokens: _Tokens) -> dict[str, Any]:
    """Return the contents of tokenizer_config.json."""
    special = {
        "bos_token": tokens.bos,
        "eos_token": tokens.eos,
        "unk_token": tokens.unknown,
        "pad_token": tokens.padding,
    }
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        IS_COMPLETE: True,
        "clean_up_tokenization_spaces": False,
        "add_bos_token": tokens.begins_with_bos and tokens.bos is not None,
        "add_eos_token": tokens.ends_with_eos and tokens.eos is not None,
        **{name: None if number is None else tokens.texts[number] for name, number in special.items()},
    }


def _templates(metadata: Metadata) -> dict[str, str]:
    """Return the chat templates by name: the default one, and others such as `tool_use`."""
    found: Mapping[str, str | None] = {
        "chat_template.jinja": metadata.text("tokenizer.chat_template"),
        **{
            f"additional_chat_templates/{name}.jinja": metadata.text(f"tokenizer.chat_template.{name}")
            for name in metadata.texts("tokenizer.chat_templates") or ()
            if _TEMPLATE_NAME.fullmatch(name)
        },
    }
    return {name: text for name, text in found.items() if text}


def _damaged(metadata: Metadata, reason: Sentence) -> ModelInvalidError:
    return ModelInvalidError(
        Sentence(
            "{path} is damaged: {reason}. Download the file again, or choose another one.",
            path=metadata.path,
            reason=reason,
        )
    )
