"""The tokens of one model as bytes, both ways; it knows no model and no template.

The table of bytes is made once from the tokenizer's decoder: byte-level BPE (GPT-2's alphabet), SentencePiece's
conventions (▁, <0xNN>), and added tokens, whose text is what they say. Nothing is trimmed: a leading space that a
token carries is part of it.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from tokenizers import Tokenizer

# Characters that tokenizers commonly keep apart from what follows, for finding ids without a prepended space.
_SEPARATORS = ("\n", "|", ")", "=", "\x00")


class Vocabulary:
    """Ids, the bytes that each stands for, and plain text as ids.

    `eos_ids` end an answer. `control_ids` are the added tokens that structure a prompt (special ones, and others
    that look like markup): no plain text is ever encoded as one of them.
    """

    def __init__(self, tokenizer: Tokenizer, eos_ids: Iterable[int] = (), size: int = 0) -> None:
        """`size`: the model's number of logits, where it is larger than the tokenizer's vocabulary."""
        self._tokenizer = tokenizer
        added = tokenizer.get_added_tokens_decoder()
        self.bytes: list[bytes] = _token_bytes(tokenizer, set(added), size)
        for token_id, token in added.items():
            self.bytes[token_id] = token.content.encode()
        self.eos_ids = frozenset(eos_ids)
        self.control_ids = self.eos_ids | {
            token_id for token_id, token in added.items() if token.special or _looks_like_markup(token.content)
        }
        self.control_texts: dict[str, int] = {
            added[token_id].content: token_id for token_id in self.control_ids if token_id in added
        }

    def __len__(self) -> int:
        return len(self.bytes)

    def bytes_of(self, token_ids: Iterable[int]) -> bytes:
        """Return the bytes that these ids spell."""
        table = self.bytes
        return b"".join([table[token_id] for token_id in token_ids])

    def text_of(self, token_ids: Iterable[int]) -> str:
        """Return the text that these ids spell; what is no UTF-8 is U+FFFD."""
        return self.bytes_of(token_ids).decode("utf-8", "replace")

    def encode(self, text: str) -> list[int]:
        """Return ids that spell exactly `text`, none of them a control token, no space prepended.

        As the tokenizer cuts it where that is possible, else (a normalizer changes it, say) the longest tokens
        from the left.
        """
        return [token_id for part in self._without_controls(text) for token_id in self._encode_part(part)]

    def _without_controls(self, text: str) -> list[str]:
        """Cut `text` behind the first character of every control token that is written in it."""
        parts: list[str] = []
        start = 0
        for found in self._controls.finditer(text):
            parts.append(text[start : found.start() + 1])
            start = found.start() + 1
        parts.append(text[start:])
        return [part for part in parts if part]

    def _encode_part(self, text: str) -> list[int]:
        wanted = text.encode()
        for prefix in ("", *_SEPARATORS):
            ids = self._encode_after(prefix, text)
            if ids is not None and self.bytes_of(ids) == wanted and self.control_ids.isdisjoint(ids):
                return ids
        return self.spell(wanted)

    def spell(self, data: bytes) -> list[int]:
        """Return ids whose bytes are exactly `data`, the longest tokens from the left; `data` may be no UTF-8.

        Raises `ValueError` where the vocabulary has no token for some byte.
        """
        ids: list[int] = []
        start = 0
        while start < len(data):
            for end in range(min(len(data), start + self.max_length), start, -1):
                token_id = self._id_of.get(data[start:end])
                if token_id is not None:
                    ids.append(token_id)
                    start = end
                    break
            else:
                raise ValueError(f"The vocabulary has no token for byte 0x{data[start]:02X}")
        return ids

    def continues(self, data: bytes) -> bool:
        """Return whether `data` is a proper prefix of some plain token's bytes."""
        found = self._sorted
        index = bisect_left(found, (data + b"\x00",))
        return index < len(found) and found[index][0].startswith(data)

    def extending(self, data: bytes) -> list[int]:
        """Return the plain tokens whose bytes begin with `data`."""
        found = self._sorted
        index = bisect_left(found, (data,))
        ids: list[int] = []
        while index < len(found) and found[index][0].startswith(data):
            ids.append(found[index][1])
            index += 1
        return ids

    def within(self, data: bytes) -> list[int]:
        """Return the plain tokens whose bytes are a proper prefix of `data`."""
        ends = range(1, min(len(data), self.max_length + 1))
        return [token_id for end in ends for token_id in self._ids_of.get(data[:end], ())]

    def _encode_after(self, prefix: str, text: str) -> list[int] | None:
        ids: list[int] = self._tokenizer.encode(prefix + text, add_special_tokens=False).ids
        if not prefix:
            return ids
        num_bytes = 0
        expected = len(prefix.encode())
        for index, token_id in enumerate(ids):
            num_bytes += len(self.bytes[token_id])
            if self.bytes_of(ids[: index + 1]).lstrip(b" ") == prefix.encode():
                return ids[index + 1 :]
            if num_bytes > expected + 1:
                return None
        return None

    @cached_property
    def _controls(self) -> re.Pattern[str]:
        # A lookahead finds overlapping ones, too; with none the pattern matches nowhere.
        texts = sorted(self.control_texts, key=len, reverse=True)
        return re.compile(f"(?={'|'.join(map(re.escape, texts))})" if texts else r"(?!)")

    @cached_property
    def _plain(self) -> list[tuple[bytes, int]]:
        return [
            (data, token_id) for token_id, data in enumerate(self.bytes) if data and token_id not in self.control_ids
        ]

    @cached_property
    def _sorted(self) -> list[tuple[bytes, int]]:
        return sorted(self._plain)

    @cached_property
    def _ids_of(self) -> dict[bytes, list[int]]:
        ids_of: dict[bytes, list[int]] = {}
        for data, token_id in self._plain:
            ids_of.setdefault(data, []).append(token_id)
        return ids_of

    @cached_property
    def _id_of(self) -> dict[bytes, int]:
        return {data: ids[0] for data, ids in self._ids_of.items()}

    @cached_property
    def max_length(self) -> int:
        """Bytes of the longest plain token."""
        return max(map(len, self._ids_of), default=0)


def recut(vocabulary: Vocabulary, token_ids: Sequence[int], num_whole: int, rest: bytes) -> tuple[list[int], int]:
    """Return the ids of the kept text and how many at their end are cut anew.

    `num_whole` of `token_ids` stand whole, then `rest`, a part of the next one's bytes.
    """
    ids = list(token_ids[:num_whole])
    if not rest:
        return ids, 0
    try:
        again = vocabulary.encode(rest.decode())
    except UnicodeDecodeError:
        again = vocabulary.spell(rest)
    return ids + again, len(again)


def _looks_like_markup(content: str) -> bool:
    return len(content) > 2 and content[0] in "<[" and content[-1] in ">]" and not content.isspace()


def _token_bytes(tokenizer: Tokenizer, added: set[int], size: int) -> list[bytes]:
    vocabulary: dict[str, int] = tokenizer.get_vocab(with_added_tokens=True)
    table = [b""] * max(size, max(vocabulary.values(), default=-1) + 1)
    kinds, replaced = _decoder_of(tokenizer)
    for piece, token_id in vocabulary.items():
        if token_id in added:
            continue
        if "ByteLevel" in kinds:
            table[token_id] = _byte_level(piece)
        elif "ByteFallback" in kinds and len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
            table[token_id] = bytes([int(piece[3:5], 16)])
        elif "WordPiece" in kinds:
            table[token_id] = (piece[2:] if piece.startswith("##") else f" {piece}").encode()
        else:
            for old, new in replaced:
                piece = piece.replace(old, new)
            table[token_id] = piece.encode()
    return table


def _decoder_of(tokenizer: Tokenizer) -> tuple[set[str], list[tuple[str, str]]]:
    """The kinds of decoder in the tokenizer, and what they replace by what."""
    if tokenizer.decoder is None:
        return set(), []
    # The decoder's own serialized form: the whole tokenizer's would cost a second with a large vocabulary.
    described: dict[str, Any] = json.loads(tokenizer.decoder.__getstate__())
    steps: list[dict[str, Any]] = described.get("decoders", [described])
    kinds = {step["type"] for step in steps}
    replaced: list[tuple[str, str]] = []
    for step in steps:
        if step["type"] == "Metaspace":
            replaced.append((step.get("replacement", "▁"), " "))
        elif step["type"] == "Replace" and "String" in step["pattern"]:
            replaced.append((step["pattern"]["String"], step["content"]))
        elif step["type"] == "BPEDecoder":
            replaced.append((step.get("suffix", "</w>"), " "))
    return kinds, replaced


def _byte_level(piece: str) -> bytes:
    data = bytearray()
    for character in piece:
        byte = _BYTE_OF.get(character)
        if byte is None:
            data += character.encode()
        else:
            data.append(byte)
    return bytes(data)


def _byte_alphabet() -> dict[str, int]:
    """GPT-2's printable stand-ins for bytes: printable Latin-1 stands for itself, the rest for U+0100 and up."""
    printable = [
        *range(ord("!"), ord("~") + 1),
        *range(ord("¡"), ord("¬") + 1),
        *range(ord("®"), ord("ÿ") + 1),
    ]
    others = [byte for byte in range(256) if byte not in printable]
    alphabet = {chr(byte): byte for byte in printable}
    alphabet.update({chr(256 + index): byte for index, byte in enumerate(others)})
    return alphabet


_BYTE_OF = _byte_alphabet()
