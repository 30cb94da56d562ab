"""Turns text into token ids. A panic of the tokenizer library, such as in a regular expression, raises an error."""

from __future__ import annotations

from collections.abc import Sequence

from tokenizers import Tokenizer

from worker.errors import panics_explained
from worker.sentence import Sentence


def plain_ids(tokenizer: Tokenizer, text: str, *, add_special_tokens: bool = False) -> list[int]:
    """Return the ids of a text. Raises `LibraryPanicError`."""
    if len(text) < _SHORT_TEXT:
        with panics_explained(_TOKENIZER):
            return tokenizer.encode(text, add_special_tokens=add_special_tokens).ids
    return ids_of_all(tokenizer, [text], add_special_tokens=add_special_tokens)[0]


def ids_of_all(tokenizer: Tokenizer, texts: Sequence[str], *, add_special_tokens: bool = False) -> list[list[int]]:
    """Return the ids of each text, found in several threads. Raises `LibraryPanicError`."""
    with panics_explained(_TOKENIZER):
        # Unlike `encode`, a batch lets other threads run. Megabytes take seconds.
        encoded = tokenizer.encode_batch_fast(list(texts), add_special_tokens=add_special_tokens)
    return [each.ids for each in encoded]


_SHORT_TEXT = 1000
_TOKENIZER = Sentence("The tokenizer of this model")
