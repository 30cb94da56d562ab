"""Long texts: tokenized in a thread, with the same ids, while the caller works, stops, or tokenizes other texts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from tokenizers import Tokenizer

from tests.models import byte_level_tokenizer, sentencepiece_tokenizer
from tests.tokenizers import (
    composing_tokenizer,
    lowercasing_tokenizer,
    unigram_tokenizer,
    wordpiece_tokenizer,
)
from worker.text.tokenizing import LONG_TEXT, THREAD_NAME, Patience, ids_of_all, plain_ids
from worker.trial import StoppedError

_TEXT = "The quick brown fox, 12 lazy dogs. "
_LONG = _TEXT * (LONG_TEXT // len(_TEXT) + 1)


@pytest.mark.parametrize("num_chars", [10, 5000, len(_LONG)])
@pytest.mark.parametrize(
    "made",
    [
        byte_level_tokenizer,
        sentencepiece_tokenizer,
        unigram_tokenizer,
        composing_tokenizer,
        lowercasing_tokenizer,
        wordpiece_tokenizer,
    ],
)
@pytest.mark.parametrize("add_special_tokens", [False, True])
def test_patience_changes_no_ids(made: Callable[[], Tokenizer], num_chars: int, add_special_tokens: bool):
    tokenizer, text = made(), _LONG[:num_chars]
    found = plain_ids(tokenizer, text, add_special_tokens=add_special_tokens, patience=Patience(lambda: True))
    assert found == tokenizer.encode(text, add_special_tokens=add_special_tokens).ids


def test_a_wait_that_was_stopped_is_resumed_with_the_same_thread(byte_level: Tokenizer):
    wanted: Iterator[bool] = iter([False])
    patience = Patience(lambda: next(wanted, True))
    with pytest.raises(StoppedError):
        plain_ids(byte_level, _LONG, patience=patience)
    assert [thread.name for thread in threading.enumerate()].count(THREAD_NAME) == 1
    assert ids_of_all(byte_level, [_LONG], patience=patience)[0] == byte_level.encode(_LONG).ids


def test_only_one_text_is_tokenized_at_a_time_also_in_the_middle_of_a_wait(byte_level: Tokenizer):
    found: list[list[int]] = []
    most = 0

    def meanwhile() -> bool:
        nonlocal most
        most = max(most, [thread.name for thread in threading.enumerate()].count(THREAD_NAME))
        if not found:
            found.append([])
            found[0] = plain_ids(byte_level, f"{_LONG}other", patience=patience)
        return True

    patience = Patience(meanwhile)
    assert plain_ids(byte_level, _LONG, patience=patience) == byte_level.encode(_LONG).ids
    assert found == [byte_level.encode(f"{_LONG}other").ids]
    assert most == 1


def test_other_work_also_continues_while_many_short_texts_are_tokenized(byte_level: Tokenizer):
    calls: list[None] = []

    def meanwhile() -> bool:
        calls.append(None)
        return True

    patience = Patience(meanwhile)
    for _ in range(3 * LONG_TEXT // 500):
        plain_ids(byte_level, _LONG[:500], patience=patience)
    assert len(calls) == 3
    assert len(ids_of_all(byte_level, [_LONG[:1000]] * 10, patience=patience)) == 10
