"""100,000 messages in 1,000 conversations: the list, opening a conversation, search while typing, streamed text."""

from __future__ import annotations

import contextlib
import itertools
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from app.model.message import Record
from app.model.queries import encoded
from app.model.search_index import indexed, signs
from app.model.store import Store
from tests.app.model.stores import write_index_again
from tests.benchmarks.measure import Row, alone

_AREA = "store"
_NUM_CONVERSATIONS = 1000
_NUM_MESSAGES = 100  # in each conversation
_NUM_WORDS = 40_000
_ROUNDS = 5
_QUESTIONS = 25
"""The number in each round; each is typed letter by letter."""
_PIECES = 200
_RECORD = Record(model="guide", token_ids=tuple(range(1000, 1120)), origins="s" * 120)


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite3"
        draw = random.Random(1)
        words, weights = language(draw)
        filled_s = _fill(path, draw, words, weights)
        with contextlib.closing(Store(path)) as store:
            lists = [_ms(store.conversations.all) for _ in range(_ROUNDS)]
            numbers = [conversation.id for conversation in store.conversations.all()]
            opened = [_ms(lambda: store.messages.shown_by(draw.choice(numbers))) for _ in range(_ROUNDS * 10)]
            typed = [_typed(store, _questions(draw, words, weights)) for _ in range(_ROUNDS)]
            filtered = [_ms(lambda: store.search.find("b", limit=20)) for _ in range(_ROUNDS)]
            signs = [_ms(lambda: store.search.find("->", limit=20)) for _ in range(_ROUNDS)]
            short, long = _appended(store, 0), _appended(store, 400_000)
            rebuilt = [_ms(lambda: write_index_again(store)) / 1e3]
            for number in numbers:
                store.conversations.trash(number)
            emptied = [_ms(store.empty_trash)]
        starts = [_ms(lambda: Store(path).close()) for _ in range(_ROUNDS)]
        size = path.stat().st_size / 1e6
    yield from (
        alone(_AREA, "opening the list of 1,000 conversations, ms", lists, "<= 200"),
        alone(_AREA, "opening a conversation of 100 messages, ms", opened),
        alone(_AREA, "search while typing, p95, ms", [_p95(times) for times in typed], "<= 50"),
        alone(_AREA, "search while typing, median, ms", [statistics.median(times) for times in typed]),
        alone(_AREA, "search for a letter, ms", filtered),
        alone(_AREA, "search for punctuation that does not occur, ms", signs),
        alone(_AREA, "streamed text to the store, p95, ms", [_p95(short)], "<= 1"),
        alone(_AREA, "the same into 400,000 characters, p95, ms", [_p95(long)], "<= 1"),
        alone(_AREA, "opening the store, ms", starts),
        alone(_AREA, "rebuilding the search index, s", rebuilt),
        alone(_AREA, "emptying the trash, time the window waits, ms", emptied),
        alone(_AREA, "writing all messages, s", [filled_s]),
        alone(_AREA, "the file, MB", [size]),
    )


def language(draw: random.Random) -> tuple[list[str], list[float]]:
    """Return words and their cumulative weights: as in real text, a few frequent words make up most of it."""

    def word() -> str:
        syllables = draw.choices((1, 2, 3, 4), (1, 4, 3, 1))[0]
        return "".join(
            draw.choice("bcdfghklmnprstvw") + draw.choice("aeiou") + draw.choice(("", "", "n", "r", "s"))
            for _ in range(syllables)
        )

    words = list(dict.fromkeys(word() for _ in range(_NUM_WORDS)))
    return words, list(itertools.accumulate(1 / (rank + 3) for rank in range(len(words))))


def _fill(path: Path, draw: random.Random, words: list[str], weights: list[float]) -> float:
    """Write the conversations in one transaction, which is much faster; return the seconds it took."""
    Store(path).close()
    started = time.perf_counter()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN")
        for number in range(_NUM_CONVERSATIONS):
            first = number * _NUM_MESSAGES + 1
            database.executemany(
                "INSERT INTO message (id, parent_id, role, text, indexed, signs, state, created_ms, record, model) "
                "VALUES (?, ?, ?, ?, ?, ?, 'complete', ?, ?, ?)",
                _messages(first, draw, words, weights),
            )
            database.execute(
                "INSERT INTO conversation (name, root_id, created_ms, updated_ms) VALUES (?, ?, ?, ?)",
                (f"conversation {number}", first, first, draw.randrange(10**9)),
            )
        database.execute("COMMIT")
    return time.perf_counter() - started


def _messages(first: int, draw: random.Random, words: list[str], weights: list[float]) -> Iterator[tuple[object, ...]]:
    yield first, None, "root", "", None, None, 1, None, None
    for position in range(1, _NUM_MESSAGES):
        is_answer = position % 2 == 0
        text = " ".join(
            draw.choices(words, cum_weights=weights, k=draw.randint(40, 200) if is_answer else draw.randint(5, 30))
        )
        # Every tenth message is a version of the one before.
        parent = first + position - (3 if position % 10 == 0 else 1)
        record = encoded(_RECORD) if is_answer else None
        role = "assistant" if is_answer else "user"
        yield (
            first + position,
            parent,
            role,
            text,
            indexed(text),
            signs(text),
            first + position,
            record,
            "guide" if is_answer else None,
        )


def _questions(draw: random.Random, words: list[str], weights: list[float]) -> list[str]:
    return [" ".join(draw.choices(words, cum_weights=weights, k=draw.randint(1, 3))) for _ in range(_QUESTIONS)]


def _typed(store: Store, questions: list[str]) -> list[float]:
    """Return the milliseconds of each search while questions are typed letter by letter."""
    return [
        _ms(lambda question=question, end=end: store.search.find(question[:end], limit=20))
        for question in questions
        for end in range(1, len(question) + 1)
    ]


def _appended(store: Store, num_chars: int) -> list[float]:
    """Return the milliseconds of each write of streamed text into a message that already has `num_chars` characters."""
    conversation, question = store.create_conversation("streamed", "", "u1")
    answer = store.add(conversation.id, question.id, "assistant", "word " * (num_chars // 5), state="streaming")
    return [_ms(lambda: store.messages.append({answer.id: "twelve more words " * 4})) for _ in range(_PIECES)]


def _ms(what: Callable[[], object]) -> float:
    started = time.perf_counter()
    what()
    return (time.perf_counter() - started) * 1e3


def _p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]
