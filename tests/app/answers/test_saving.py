"""Saving without requests: its reports and the store are compared with plain dictionaries."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication

from app.answers.answer_stream import AnswerStream
from app.answers.saving import Saving
from app.model.message import Message, MessageId
from app.model.store import Store
from tests.app.desk import Clock
from tests.app.model.stores import connection_of
from worker.sentence import Sentence, verbatim

pytestmark = pytest.mark.usefixtures("nothing_leaks", "qapp")


class _Walk:
    """Answers that grow, shrink and end, on a disk that can be written at times."""

    def __init__(self, store: Store, seed: int) -> None:
        self.store = store
        self.draw = Random(seed)
        self.clock = Clock()
        self.streams: dict[MessageId, AnswerStream] = {}
        self.saving = Saving(store, self.streams, clock=self.clock.read)
        self.texts: dict[MessageId, str] = {}
        """The whole text of each answer."""
        self.is_writable = True
        self.reported: list[Sentence | None] = []
        """Why the store can't be written, and None where that has ended."""
        self.saving.failed.connect(self.reported.append)
        self.saving.saved_again.connect(lambda: self.reported.append(None))
        self.conversation, self.question = store.create_conversation("name", "", "u1")

    def begin(self) -> None:
        if self.is_writable:
            self.follow(
                self.store.add(self.conversation.id, self.question.id, "assistant", "given ", state="streaming")
            )

    def follow(self, message: Message) -> None:
        self.streams[message.id] = AnswerStream(message, [self.question], self.conversation.id, 0)
        self.texts[message.id] = message.text

    def grow(self) -> None:
        for message_id in self._some():
            self.streams[message_id].append("words ", [])
            self.texts[message_id] += "words "
            self.saving.save_soon()
            assert self.timer_runs() or message_id not in self.unsaved()

    def shrink(self) -> None:
        for message_id in self._some():
            num_chars = self.draw.randint(0, len(self.streams[message_id].new_text))
            self.streams[message_id].take_back(num_chars, 0)
            self.texts[message_id] = self.texts[message_id][: len(self.texts[message_id]) - num_chars]
            self.saving.save_soon()

    def end(self) -> None:
        for message_id in self._some():
            self.saving.end(replace(self.streams.pop(message_id).stored, state="complete"))

    def let_time_pass(self) -> None:
        self.clock.seconds += 0.1
        if self.timer_runs():
            self.saving._timer.timeout.emit()  # pyright: ignore[reportPrivateUsage]

    def fail(self) -> None:
        self.saving.report(verbatim("Another write failed."))
        assert self.timer_runs()

    def change_disk(self) -> None:
        self.is_writable = not self.is_writable
        connection_of(self.store).execute(f"PRAGMA query_only = {not self.is_writable}")

    def timer_runs(self) -> bool:
        return self.saving._timer.isActive()  # pyright: ignore[reportPrivateUsage]

    def unsaved(self) -> set[MessageId]:
        """Return the answers of which the store lacks some text."""
        return {id_ for id_, text in self.stored().items() if id_ in self.texts and text != self.texts[id_]}

    def stored(self) -> dict[MessageId, str]:
        return {message.id: message.text for message in self.store.messages.shown_by(self.conversation.id)}

    def check(self) -> None:
        assert not self.unsaved() or self.timer_runs(), "something is not stored, and nothing will store it"
        assert self.saving.has_unsaved == bool(self.reported and self.reported[-1] is not None)
        # A failure is reported once, and so is its end.
        assert all((one is None) != (two is None) for one, two in zip(self.reported, self.reported[1:], strict=False))
        for message_id in self.texts:
            if message_id not in self.streams and self.saving.is_saved(message_id):
                assert message_id not in self.unsaved()
        assert self.saving.ended.keys() <= self.texts.keys() - self.streams.keys()

    def _some(self) -> list[MessageId]:
        return [message_id for message_id in list(self.streams) if self.draw.random() < 0.5]


@pytest.fixture
def store(tmp_path: Path, qapp: QApplication) -> Iterator[Store]:
    assert qapp is not None
    with contextlib.closing(Store(tmp_path / "store.sqlite3", patience_ms=20)) as store:
        yield store


@pytest.mark.parametrize(
    "seed", [1, 2, pytest.param(3, marks=pytest.mark.long), pytest.param(4, marks=pytest.mark.long)]
)
def test_all_text_reaches_the_store_whenever_it_can_be_written(store: Store, seed: int) -> None:
    walk = _Walk(store, seed)
    steps = [
        *[walk.begin] * 2,
        *[walk.grow] * 5,
        walk.shrink,
        walk.end,
        *[walk.let_time_pass] * 2,
        walk.change_disk,
        walk.fail,
    ]
    for _ in range(200):
        walk.draw.choice(steps)()
        walk.check()
    if not walk.is_writable:
        walk.change_disk()
    walk.let_time_pass()
    assert not walk.unsaved()
    assert not walk.saving.has_unsaved
    assert not walk.saving.ended
    assert len(walk.texts) > 5
    assert len(walk.reported) > 5


def test_an_ended_answer_that_grows_again_is_stored_as_it_has_grown(store: Store) -> None:
    walk = _Walk(store, 1)
    walk.begin()
    (message_id,) = walk.streams
    walk.change_disk()
    ended = replace(walk.streams.pop(message_id).stored, state="complete")
    walk.saving.end(ended)
    assert walk.saving.ended == {message_id: ended}
    assert not walk.saving.is_saved(message_id)
    walk.saving.drop(message_id)
    assert not walk.saving.ended
    walk.follow(replace(ended, state="streaming"))
    walk.change_disk()
    walk.streams[message_id].append("more ", [])
    walk.texts[message_id] += "more "
    walk.saving.save()
    assert walk.stored()[message_id] == "given more "
    assert walk.saving.is_saved(message_id)


def test_views_are_notified_of_messages_that_are_no_longer_saved(store: Store) -> None:
    walk = _Walk(store, 1)
    walk.begin()
    walk.begin()
    first, second = walk.streams
    changed: list[MessageId] = []
    walk.saving.changed.connect(changed.append)
    walk.change_disk()
    walk.saving.end(replace(walk.streams.pop(first).stored, state="complete"))
    assert changed == [first, second]
    assert not walk.saving.is_saved(first)
    assert not walk.saving.is_saved(second)
    assert walk.saving.is_saved(walk.question.id)
    changed.clear()
    walk.change_disk()
    walk.let_time_pass()
    assert changed == [first, second]
    assert walk.saving.is_saved(first)
