"""The rule of docs/decisions.md for what a search finds, held against a plain look at every message."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.model.message_table import UPDATE_TEXT
from app.model.search_filters import split_query
from app.model.search_index import MAX_CHARS_AT_ONCE, signs
from app.model.search_renewal import renew_slice
from app.model.store import Store
from tests.app.model.stores import INTEGRITY_CHECK, sql
from worker.sentence import verbatim

_LETTERS = (
    *("ast", "as", "Zweig", "zweige", "börse", "bor", "Ёлка", "ёл", "мой", "мои", "и\u0306", "Łódź", "lo", "Größe"),
    *("ss", "ΟΔΌΣ", "όδ", "木", "枝", "木の", "한글", "กิ่ง", "e\u0301t\u00e9", "c", "C", "17", "net", "أحمد", "ا"),
)
_SIGNS = (" ", " ", " ", " ", "-", "\n", "😀", "+", "++", "#", "_", ".", ".", ">", "=", ",")
_texts = st.lists(st.sampled_from((*_LETTERS, *_SIGNS)), min_size=1, max_size=12).map("".join)
_typed = st.lists(st.sampled_from((*_LETTERS, *_SIGNS)), min_size=1, max_size=4).map("".join)

_READ_AS = {"ё": "е", "ł": "l", "ß": "ss", "أ": "ا", "ς": "σ", "ό": "ο", "ö": "o", "ó": "o", "ź": "z", "é": "e"}


class _Part(NamedTuple):
    """A word, a row of one sign, or a gap."""

    kind: str
    text: str


def _parts(text: str) -> list[_Part]:
    """Return a text in parts. Each character of a script without spaces is a word with gaps around it."""
    parts: list[_Part] = []
    for character in unicodedata.normalize("NFC", text).lower():
        letter = _READ_AS.get(character, character)
        if "\u0e00" <= character < "\u1100" or "\u2e80" <= character < "\ue000":
            parts += [_Part("gap", " "), _Part("word", letter), _Part("gap", " ")]
        elif letter.isalnum():
            parts.append(_Part("letter", letter))
        else:
            parts.append(_Part("gap" if character.isspace() else "sign", letter))
    rows = itertools.groupby(parts, lambda part: (part.kind, part.text if part.kind == "sign" else ""))
    joined: list[_Part] = []
    for (kind, _), row in rows:
        if kind == "word":
            joined += row
        else:
            joined.append(_Part("word" if kind == "letter" else kind, "".join(part.text for part in row)))
    return joined


def _words(parts: Sequence[_Part]) -> list[str]:
    return [part.text for part in parts if part.kind == "word"]


def _signed(parts: Sequence[_Part]) -> list[tuple[str, str]]:
    """Return the pairs of a word and the sign that counts behind it, and of such a sign and the word behind it."""
    found: list[tuple[str, str]] = []
    for left, right in itertools.pairwise(parts):
        if left.kind == "word" and right.kind == "sign" and right.text[0] in "+#_@$":
            found.append((left.text, right.text))
        if left.kind == "sign" and right.kind == "word":
            if left.text[0] in "+#_@$":
                found.append((left.text, right.text))
            elif left.text[-1] == "." and right.text[0].isalpha():
                found.append((".", right.text))
    return found


def _has_phrase(words: Sequence[str], phrase: Sequence[str], *, is_open: bool) -> bool:
    for start in range(len(words) - len(phrase) + 1):
        *first, last = words[start : start + len(phrase)]
        if first == list(phrase[:-1]) and (last == phrase[-1] or (is_open and last.startswith(phrase[-1]))):
            return True
    return False


def _matches(text: str, term: str, *, is_open: bool) -> bool:
    """Return whether a text has a term: its words in a row, each with the signs at it; or signs alone, as typed."""
    parts, typed = _parts(text), _parts(term)
    if not _words(typed):
        return all(row in text for row in term.split())
    if not _has_phrase(_words(parts), _words(typed), is_open=is_open and typed[-1].kind == "word"):
        return False
    wanted = _signed(typed)
    there = _signed(parts)
    # The end of an unfinished term may go on.
    ends = wanted[-1:] if is_open and len(typed) > 1 and wanted[-1:] == _signed(typed[-2:]) else []
    return all(
        any(pair[0] == have[0] and have[1].startswith(pair[1]) for have in there) if [pair] == ends else pair in there
        for pair in wanted
    )


def _expected(texts: Sequence[str], typed: str, *, is_phrase: bool) -> list[str]:
    terms = [typed] if is_phrase else typed.split()
    if not any(part.kind != "gap" for part in _parts(typed)):
        return []
    is_open = not is_phrase and not typed[-1].isspace()
    return sorted(
        text for text in texts if all(_matches(text, term, is_open=is_open and term is terms[-1]) for term in terms)
    )


def _found(store: Store, typed: str) -> list[str]:
    query = split_query(typed)
    return sorted(hit.message.text for hit in store.search.find(query.words, query.filters, limit=1000))


def _part_of(texts: Sequence[str], at: int) -> str:
    """Return a part of one of the texts, which often finds something."""
    text = unicodedata.normalize("NFC", texts[at % len(texts)])
    return text[at % 5 : at % 5 + 2 + at % 7]


_KINDS = ("add", "stream", "edit", "delete", "renew", "renew beside", "reopen", "begin")
_changes = st.lists(st.tuples(st.sampled_from(_KINDS), _texts), max_size=8)
_MAX_CHARS = 6
"""Longer texts wait for the index here."""


class _Told:
    """A conversation that changes, and its texts by their ids."""

    def __init__(self, path: Path, texts: Sequence[str]) -> None:
        self._path = path
        self.store = Store(path)
        conversation, first = self.store.create_conversation("told", "", "")
        self._place = conversation.id, first.id
        self.now = {self.store.add(*self._place, "user", text).id: text for text in texts}

    def change(self, kind: str, text: str, patch: pytest.MonkeyPatch) -> None:
        chosen = sorted(self.now)[len(text) % len(self.now)] if self.now else None
        match kind:
            case "add":
                self.now[self.store.add(*self._place, "user", text).id] = text
            case "stream":
                answer = self.store.add(*self._place, "assistant", "", state="streaming")
                self.store.messages.append({answer.id: text})
                self.store.interrupt_streaming(verbatim("It ended."))
                self.now[answer.id] = text
            case "edit" if chosen:
                self.store.set_text(chosen, text)
                self.now[chosen] = text
            case "delete" if chosen:
                self.store.messages.prune([chosen])
                self.store.empty_trash()
                del self.now[chosen]
            case "begin":
                self.store.search.begin_again()
            case "renew":
                self.store.search.renew_slice()
            case "renew beside" if not self.store.search.is_complete:
                self._renew_beside("edit" if len(text) % 2 else "delete", text, patch)
            case _:
                self.store.close()
                self.store = Store(self._path)

    def _renew_beside(self, kind: str, text: str, patch: pytest.MonkeyPatch) -> None:
        """Change a message after the next slice of the index was read, and before it is written."""

        def slow(read: str) -> str | None:
            here.undo()
            self.change(kind, text, patch)
            return signs(read)

        with sqlite3.connect(self._path, isolation_level=None) as other, pytest.MonkeyPatch.context() as here:
            here.setattr("app.model.search_renewal.signs", slow)
            renew_slice(other)
        other.close()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(_texts, min_size=1, max_size=5),
    changes=_changes,
    drawn=st.lists(st.tuples(_typed, st.booleans(), st.integers(0, 99)), min_size=1, max_size=10),
)
def test_search_finds_the_same_messages_as_a_full_scan(
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[str],
    changes: list[tuple[str, str]],
    drawn: list[tuple[str, bool, int]],
) -> None:
    """Also after edits and deletions, and while the index is written again and the program ends in between."""
    path = tmp_path_factory.mktemp("store") / "store.sqlite3"
    with contextlib.ExitStack() as at_end, pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.model.search_renewal._SLICE", 1)
        patch.setattr("app.model.search_renewal._AT_ONCE", 1)
        patch.setattr("app.model.search_index._PIECE_CHARS", 2)
        patch.setattr("app.model.search_index.MAX_CHARS_AT_ONCE", _MAX_CHARS)
        short = UPDATE_TEXT.replace(str(MAX_CHARS_AT_ONCE), str(_MAX_CHARS))
        patch.setattr("app.model.message_table.UPDATE_TEXT", short)
        told = _Told(path, texts)
        at_end.callback(lambda: told.store.close())
        for kind, text in changes:
            told.change(kind, text, patch)
        now, store = told.now, told.store
        queries = [(_part_of(texts, at) if at % 4 else typed, is_phrase) for typed, is_phrase, at in drawn]
        with sql(path) as database:
            database.execute(INTEGRITY_CHECK)
            ((above_id,),) = database.execute("SELECT above_id FROM search_progress").fetchall()
            waiting = {row[0] for row in database.execute("SELECT id FROM search_waiting").fetchall()}
        assert store.search.is_complete == (above_id == 0 and not waiting)
        for typed, is_phrase in queries:
            there = [text for number, text in now.items() if number > above_id and number not in waiting]
            asked = f'"{typed}"' if is_phrase else typed
            assert _found(store, asked) == _expected(there, typed, is_phrase=is_phrase)
        while not store.search.renew_slice():
            pass
        with sql(path) as database:
            database.execute(INTEGRITY_CHECK)
        for typed, is_phrase in queries:
            asked = f'"{typed}"' if is_phrase else typed
            assert _found(store, asked) == _expected(list(now.values()), typed, is_phrase=is_phrase)
