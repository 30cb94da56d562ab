"""The bytes of each token of a tokenizer. Independent of the model.

The bytes are derived from the tokenizer's own decoder: byte-level BPE (GPT-2's alphabet), SentencePiece (▁ for a space,
<0xNN> for a byte) or WordPiece. Added tokens spell their content. Nothing is trimmed: a leading space belongs to its
token.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from tokenizers import Tokenizer

_BYTE_PIECE = re.compile("<0x([0-9A-Fa-f]{2})>")


def token_bytes(tokenizer: Tokenizer, size: int = 0) -> list[bytes]:
    """Return the bytes of each id; empty for ids without a piece in the tokenizer.

    `size` is the model's number of logits; 0 means unknown. Ids beyond it are left out: they can't occur.
    """
    pieces: dict[str, int] = tokenizer.get_vocab(with_added_tokens=True)
    added = tokenizer.get_added_tokens_decoder()
    steps = list(_steps(tokenizer))
    is_byte_level = any(step["type"] == "ByteLevel" for step in steps)
    decode = _byte_level if is_byte_level else _decoder(tokenizer, steps)
    table = [b""] * (size or max(pieces.values(), default=-1) + 1)
    for piece, token_id in pieces.items():
        if token_id >= len(table):
            continue
        token = added.get(token_id)
        as_written = token is not None and (token.special or is_byte_level)
        table[token_id] = piece.encode() if as_written else decode(piece)
    return table


def _steps(tokenizer: Tokenizer) -> Iterator[dict[str, Any]]:
    """Yield the steps of the tokenizer's decoder, in order."""
    if tokenizer.decoder is None:
        return
    # Serialize the decoder alone: serializing the whole tokenizer takes a second with a large vocabulary.
    waiting: list[dict[str, Any]] = [json.loads(tokenizer.decoder.__getstate__())]
    while waiting:
        step = waiting.pop(0)
        if step["type"] == "Sequence":
            waiting = step["decoders"] + waiting
        else:
            yield step


def _decoder(tokenizer: Tokenizer, steps: list[dict[str, Any]]) -> Callable[[str], bytes]:
    """Return a function from a piece to its bytes, for all tokenizers except byte-level ones."""
    has_bytes = bool(getattr(tokenizer.model, "byte_fallback", False))
    replaced: list[tuple[str, str]] = []
    word_prefix: str | None = None
    for step in steps:
        match step["type"]:
            case "ByteFallback":
                has_bytes = True
            case "Metaspace":
                replaced.append((step["replacement"], " "))
            case "Replace" if "String" in step["pattern"]:
                replaced.append((step["pattern"]["String"], step["content"]))
            case "BPEDecoder":
                replaced.append((step["suffix"], " "))
            case "WordPiece":
                word_prefix = step["prefix"]
            case _:
                pass

    def decode(piece: str) -> bytes:
        byte = _BYTE_PIECE.fullmatch(piece) if has_bytes else None
        if byte is not None:
            return bytes.fromhex(byte[1])
        for old, new in replaced:
            piece = piece.replace(old, new)
        if word_prefix is not None:
            piece = piece[len(word_prefix) :] if piece.startswith(word_prefix) else f" {piece}"
        return piece.encode()

    return decode


def _byte_level(piece: str) -> bytes:
    try:
        return piece.translate(_BYTE_OF).encode("latin-1")
    except UnicodeEncodeError:
        return piece.encode()


def _byte_alphabet() -> dict[int, int]:
    """Map GPT-2's printable characters to bytes: printable Latin-1 to itself, U+0100 and up to the other bytes.

    Latin-1 characters without a byte map to U+FFFF, which has no encoding in Latin-1.
    """
    printable = [
        *range(ord("!"), ord("~") + 1),
        *range(ord("¡"), ord("¬") + 1),
        *range(ord("®"), ord("ÿ") + 1),
    ]
    others = [byte for byte in range(256) if byte not in printable]
    stand_ins = {256 + index: byte for index, byte in enumerate(others)}
    return stand_ins | {byte: byte for byte in printable} | dict.fromkeys(others, 0xFFFF)


_BYTE_OF = _byte_alphabet()
