"""Filter words in a search: understood, kept apart from the words to find, added and removed."""

from __future__ import annotations

from datetime import datetime

import pytest

from app.model.search import NO_FILTERS
from app.model.search_filters import (
    KEYS,
    MARKS,
    NoDayError,
    split_query,
    valid_filters,
    valid_marks,
    with_filter,
    with_mark,
)


def test_filter_words_are_not_searched_for() -> None:
    typed = split_query('heap from:you is:starred "two words" model:"my model" after:2026-01-31')
    assert typed.words == 'heap "two words"'
    assert (typed.filters.role, typed.filters.is_starred, typed.filters.model) == ("user", True, "my model")
    assert typed.filters.since_ms == datetime(2026, 1, 31).astimezone().timestamp() * 1000


def test_unknown_filters_are_searched_for() -> None:
    for typed in ("from:nobody", "is:it", "model:", "model:-", "https://from:you", "note:x"):
        assert split_query(typed) == (typed, NO_FILTERS)


@pytest.mark.parametrize(
    "typed", ["after:tomorrow", "heap before:2026-13-01", "after:", 'AFTER:"2026-02-30"', "before:1"]
)
def test_an_invalid_date_is_reported(typed: str) -> None:
    with pytest.raises(NoDayError, match=r"as in (after|before):2026-01-31"):
        split_query(typed)


def test_a_word_with_the_name_of_a_filter_is_found_in_quotation_marks() -> None:
    assert split_query('"after:tomorrow"') == ('"after:tomorrow"', NO_FILTERS)


def test_a_space_after_the_last_word_stays() -> None:
    assert split_query("from:you heap ").words == "heap "
    assert split_query("from:you ").words == ""


def test_a_word_is_added_once_and_removed() -> None:
    typed = "heap"
    for key, value in zip(KEYS, ("you", "a model", "starred", "2026-01-31", "2026-02-01"), strict=True):
        typed = with_filter(with_filter(typed, key, value), key, value)
    assert list(valid_filters(typed)) == list(KEYS)
    assert typed.count("from:") == 1
    for key in KEYS:
        typed = with_filter(typed, key, None)
    assert typed == "heap"


def test_a_message_must_have_every_mark_in_the_query() -> None:
    filters = split_query("IS:Pinned heap is:starred").filters
    assert (filters.is_starred, filters.is_pinned) == (True, True)
    filters = split_query("heap is:pinned").filters
    assert (filters.is_starred, filters.is_pinned) == (False, True)


def test_a_mark_is_added_once_and_removed_and_the_other_stays() -> None:
    typed = "heap"
    for mark in (*MARKS, *MARKS):
        typed = with_mark(typed, mark, is_wanted=True)
    assert (typed, valid_marks(typed)) == ("heap is:starred is:pinned", set(MARKS))
    assert with_mark(typed, "starred", is_wanted=False) == "heap is:pinned"
    assert with_mark("is:pinned", "pinned", is_wanted=False) == ""
