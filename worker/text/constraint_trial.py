"""Tries a grammar with llguidance. It runs in a trial process: some grammars crash the library or keep it busy.

A vocabulary of single bytes is enough, because only parsing the grammar may hang or crash.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

from llguidance import LLMatcher, LLParserLimits, LLTokenizer

from worker.text.repetitions import longest_repetition

LIMITS = LLParserLimits(max_items_in_row=10_000, step_max_items=50_000, initial_lexer_fuel=20_000_000)
"""A choice may have 40,000 texts and an object 2,000 properties; their masks take some milliseconds.

With these limits the slowest mask found takes a second. The time grows with the square of the items in a row.
"""


def try_grammar(grammar: str, most: int) -> int:
    """Return how many characters the longest repetition in a grammar requires.

    If that is at most `most`, parse the grammar and compute its first mask. Does not report whether llguidance accepts
    the grammar.
    """
    num_chars = longest_repetition(grammar)
    if num_chars > most:
        return num_chars
    matcher = LLMatcher(_byte_tokenizer(), grammar, log_level=0, limits=LIMITS)
    if not matcher.is_error():
        matcher.compute_bitmask()
    return num_chars


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
