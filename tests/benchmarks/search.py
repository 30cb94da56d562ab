"""Search in 100,000 messages, in one chain and in conversations of 100; with LONG=1, in a million, too.

Each row is the 95th percentile over many queries of one kind, with the spread over rounds.
"""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from app.model.message import Role
from app.model.search import NO_FILTERS, Filters
from app.model.search_index import signs
from app.model.store import Store
from tests.benchmarks.measure import Row, alone
from tests.benchmarks.store import language

_AREA = "search"
_ROUNDS = 5
_QUERIES = 20
"""The number of each kind in a round."""
_POOL = 1_000_000
"""Texts are parts of one text with this many words."""
_DAY_MS = 24 * 3600 * 1000
_LIMIT = 50
_TELL_S = 10
"""The interval between two reports of progress."""
_ROLES: tuple[Role, ...] = ("user", "assistant", "note", "file")
_SIGNS = ("C++ ", "C#", ".net", "a_b", "->", "??", "=")
"""Messages have some of these."""


def rows() -> Iterator[Row]:
    yield from _rows(100_000, "<= 50")
    if os.environ.get("BOUGH_BENCH_LONG"):
        yield from _rows(1_000_000, "<= 150")


def _rows(num_messages: int, goal: str) -> Iterator[Row]:
    for shape, length in (("one chain", num_messages), ("conversations of 100", 100)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "store.sqlite3"
            texts = _Texts(random.Random(1))
            _tell(f"writing {num_messages:,} messages, {shape}")
            _fill(path, num_messages, length, texts)
            with contextlib.closing(Store(path)) as store:
                yield alone(
                    _AREA,
                    f"{num_messages:,} messages, {shape}: writing the index, s",
                    [_renewed_s(store, num_messages)],
                )
            with contextlib.closing(Store(path)) as store:
                first_ms = _searched_ms(store, texts.frequent(), NO_FILTERS)
                yield alone(_AREA, f"{num_messages:,} messages, {shape}: the first search, ms", [first_ms])
                for kind, query in texts.kinds().items():
                    figures = [_p95(store, query) for _ in range(_ROUNDS)]
                    yield alone(_AREA, f"{num_messages:,} messages, {shape}: {kind}, p95, ms", figures, goal)


def _p95(store: Store, query: Callable[[], tuple[str, Filters]]) -> float:
    times = [_searched_ms(store, *query()) for _ in range(_QUERIES)]
    return statistics.quantiles(times, n=20)[-1]


class _Texts:
    """Draws messages and queries from one language."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._words, weights = language(draw)
        self._pool = draw.choices(self._words, cum_weights=weights, k=_POOL)

    def text(self, *, is_answer: bool) -> str:
        words = self._part(self._draw.randint(40, 200) if is_answer else self._draw.randint(5, 30))
        if self._draw.random() < 0.05:
            words.append(self._draw.choice(_SIGNS))
        return " ".join(words) + self._draw.choice(".?!")

    def frequent(self) -> str:
        return f"{self._draw.choice(self._words[:20])} "

    def kinds(self) -> dict[str, Callable[[], tuple[str, Filters]]]:
        draw, words = self._draw, self._words
        plain: dict[str, Callable[[], str]] = {
            "one letter": lambda: draw.choice("bcdfghklmnprstvw"),
            "two letters": lambda: draw.choice(words)[:2],
            "four letters": lambda: draw.choice([word for word in words[:2000] if len(word) > 3])[:4],
            "a frequent word": self.frequent,
            "a rare word": lambda: draw.choice(words[len(words) // 2 :]),
            "a phrase": lambda: f'"{" ".join(self._part(draw.randint(2, 3)))}"',
            "a phrase of frequent words": lambda: f'"{self.frequent()}{self.frequent()}"',
            "several words": lambda: " ".join(self._part(draw.randint(2, 5))),
            "signs": lambda: draw.choice(_SIGNS),
            "no hit": lambda: f"{self.frequent()}{draw.choice(words)}q",
        }
        return {kind: _unlimited(query) for kind, query in plain.items()} | {
            "a word with filters": lambda: (self.frequent(), self._filters()),
            "filters alone": lambda: ("", self._filters()),
        }

    def _part(self, num_words: int) -> list[str]:
        start = self._draw.randrange(len(self._pool) - num_words)
        return self._pool[start : start + num_words]

    def _filters(self) -> Filters:
        draw = self._draw
        day_ms = draw.randrange(500) * _DAY_MS
        return draw.choice(
            [
                Filters(role=draw.choice(_ROLES)),
                Filters(model=draw.choice(("guide", "rare"))),
                Filters(is_starred=True),
                Filters(is_pinned=True),
                Filters(since_ms=day_ms, until_ms=day_ms + draw.choice((1, 30)) * _DAY_MS),
                Filters(since_ms=day_ms, role="user", model="nobody"),
            ]
        )


def _unlimited(query: Callable[[], str]) -> Callable[[], tuple[str, Filters]]:
    return lambda: (query(), NO_FILTERS)


def _fill(path: Path, num_messages: int, length: int, texts: _Texts) -> None:
    """Write chains of `length` messages, over 500 days, without an index."""
    Store(path).close()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN")
        database.execute("UPDATE search_progress SET above_id = ?", (num_messages,))
        database.executemany(
            "INSERT INTO message (id, parent_id, role, text, signs, state, created_ms, model, starred_ms, pinned_ms) "
            "VALUES (?, ?, ?, ?, ?, 'complete', ?, ?, ?, ?)",
            (_message(number, length, num_messages, texts) for number in range(1, num_messages + 1)),
        )
        database.executemany(
            "INSERT INTO conversation (name, root_id, created_ms, updated_ms) VALUES (?, ?, 1, ?)",
            ((f"conversation {root}", root, root) for root in range(1, num_messages + 1, length)),
        )
        database.execute("COMMIT")


def _message(number: int, length: int, num_messages: int, texts: _Texts) -> tuple[object, ...]:
    created_ms = number * 500 * _DAY_MS // num_messages
    if number % length == 1:
        return number, None, "root", "", None, created_ms, None, None, None
    is_answer = number % 2 == 0
    role = "note" if number % 1001 == 0 else "assistant" if is_answer else "user"
    model = None if not is_answer else "rare" if number % 5000 == 0 else "guide"
    text = texts.text(is_answer=is_answer)
    marks = (1 if number % 3000 == 0 else None, 1 if number % 3500 == 0 else None)
    return number, number - 1, role, text, signs(text), created_ms, model, *marks


def _renewed_s(store: Store, num_messages: int) -> float:
    """Write the whole index, and say how far it is, because a million messages take minutes."""
    begun_s = told_s = time.perf_counter()
    with contextlib.closing(sqlite3.connect(store.path)) as other:
        while not store.search.renew_slice():
            now_s = time.perf_counter()
            if now_s - told_s >= _TELL_S:
                told_s = now_s
                (above_id,) = other.execute("SELECT above_id FROM search_progress").fetchone()
                _tell(f"{num_messages - above_id:,} of {num_messages:,} messages are in the index")
    return time.perf_counter() - begun_s


def _tell(words: str) -> None:
    print(f"  {words}", file=sys.stderr, flush=True)


def _searched_ms(store: Store, typed: str, filters: Filters) -> float:
    begun_s = time.perf_counter()
    store.search.find(typed, filters, limit=_LIMIT)
    return (time.perf_counter() - begun_s) * 1e3
