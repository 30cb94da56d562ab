"""Tries a grammar with llguidance. It runs in a trial process: some grammars crash the library or keep it busy.

A vocabulary of single bytes is enough, because reading the grammar is the part that hangs or crashes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

from llguidance import LLMatcher, LLParserLimits, LLTokenizer

LIMITS = LLParserLimits(max_items_in_row=200_000, step_max_items=1_000_000, initial_lexer_fuel=20_000_000)
"""A choice may have thousands of texts, and an object as many properties; their first tokens take some milliseconds."""


def try_grammar(grammar: str) -> None:
    """Read a grammar and compute its first mask. Whether llguidance accepts the grammar is not reported."""
    matcher = LLMatcher(_byte_tokenizer(), grammar, log_level=0, limits=LIMITS)
    if not matcher.is_error():
        matcher.compute_bitmask()


class _Bytes:
    """A vocabulary of single bytes, in the shape that llguidance expects of a tokenizer."""

    is_tokenizer_wrapper = True
    bos_token_id = None
    eos_token_id = 256
    tokens = [*(bytes([byte]) for byte in range(256)), b"<end>"]  # noqa: RUF012 (llguidance reads them)
    special_token_ids = [256]  # noqa: RUF012

    def __call__(self, text: bytes | str) -> list[int]:
        return list(text if isinstance(text, bytes) else text.encode())


@lru_cache(maxsize=1)
def _byte_tokenizer() -> LLTokenizer:
    return LLTokenizer(cast("Any", _Bytes()), n_vocab=257, eos_token=[256])
