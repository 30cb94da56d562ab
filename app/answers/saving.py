"""Writes the text of answers into the store, and says which messages are there and on the disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from app.answers.answer_stream import AnswerStream
from app.model.database import StoreError
from app.model.message import Message, MessageId
from app.model.own_files import RETRY_MS
from app.model.store import Store
from worker.sentence import Sentence

SAVE_INTERVAL_MS = 150
"""The interval of storing streamed text. With one step of the window and one write, the delay is at most 250 ms."""
_LATE_MS = 500
"""After this time, messages that are not on the disk are shown as not saved. A mark for less would only flash."""


class Saving(QObject):
    """Writes streamed text into the store in batches and ended answers at once. If that fails, it is tried again."""

    failed = Signal(object)
    """A `Sentence` that says why the store can't be written.

    Saving is tried again, so nothing is lost while the program runs.
    """
    saved_again = Signal()
    """The first success after `failed`."""
    changed = Signal(int)
    """The id of a message whose `is_saved` changed."""
    flushed = Signal()
    """More messages are on the disk."""
    _flush_ended = Signal()
    """Emitted in the flusher's thread after each attempt."""

    def __init__(
        self,
        store: Store,
        streams: Mapping[MessageId, AnswerStream],
        *,
        retry_ms: int = RETRY_MS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`streams` are the growing answers, which the caller adds and removes. `retry_ms` is the interval of saving
        while the store can't be written. `clock` returns seconds.
        """
        super().__init__()
        self.ended: dict[MessageId, Message] = {}
        """Messages that have ended but are not stored yet. Callers must not change them."""
        self._store = store
        self._streams = streams
        self._clock = clock
        self._retry_ms = retry_ms
        self._can_save = True
        self._unsaved_since_s: float | None = None
        """The time at which the first unsaved text or token arrived; None if everything is stored."""
        self._timer = QTimer(self, interval=SAVE_INTERVAL_MS, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self.save)
        self._flusher = store.flusher
        self._late: set[MessageId] = set()
        """Messages that are shown as not saved because they are not on the disk."""
        self._late_timer = QTimer(self, interval=_LATE_MS, singleShot=True)
        self._late_timer.timeout.connect(self._show_late)
        self._late_up_to = 0
        """The flush that was requested when the timer started."""
        if self._flusher is not None:
            self._flusher.on_asked = self._watch_disk
            self._flush_ended.connect(self._on_flush_ended)
            self._flusher.on_ended = self._flush_ended.emit

    @property
    def has_unsaved(self) -> bool:
        """Whether some text could not be written to the store."""
        return not self._can_save

    def is_saved(self, message_id: MessageId) -> bool:
        """Whether a message's text is in the store and on the disk, apart from what was written a moment ago."""
        is_stored = self._can_save or (message_id not in self.ended and message_id not in self._streams)
        return is_stored and message_id not in self._late

    def flush_of(self, message_ids: Iterable[MessageId]) -> int:
        """Return the number of the flush after which all these messages are on the disk."""
        return 0 if self._flusher is None else self._flusher.number_of(message_ids)

    def is_flushed(self, number: int) -> bool:
        """Return whether the flush with this number has put its messages on the disk."""
        return self._flusher is None or self._flusher.num_done >= number

    def save_soon(self) -> None:
        """Save the text that has just streamed in, within the interval; at once if the interval is over."""
        if not self._timer.isActive():
            self._timer.start()
        # While very many events arrive, the timer never fires.
        now = self._clock()
        if self._unsaved_since_s is None:
            self._unsaved_since_s = now
        elif self._can_save and 1000 * (now - self._unsaved_since_s) >= SAVE_INTERVAL_MS:
            self.save()

    def end(self, *messages: Message) -> None:
        """Save answers that have ended, and all streamed text."""
        self.ended |= {message.id: message for message in messages}
        self.save()

    def drop(self, message_id: MessageId) -> None:
        """Stop saving an ended answer, because it grows again."""
        self.ended.pop(message_id, None)

    def report(self, why: Sentence) -> None:
        """Report that something could not be written to the store. The next success of `save` ends this."""
        self._set_can_save(False, why)
        self._timer.start()

    def save(self) -> None:
        """Store the ended answers and the text streamed since the last call."""
        self._unsaved_since_s = None
        ended = list(self.ended)
        try:
            self._write()
        except StoreError as error:
            self._set_can_save(False, error.sentence)
        else:
            if self._flusher is None or self._flusher.problem is None:
                self._set_can_save(True, also_changed=ended)
            else:
                self._flusher.flush()
        if self._can_save:
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()

    def _write(self) -> None:
        if self.ended:
            self._store.update(*self.ended.values())
            self.ended.clear()
        cut = [stream for stream in self._streams.values() if stream.was_cut]
        if cut:
            self._store.update(*(stream.stored for stream in cut))
        grown = {id_: stream for id_, stream in self._streams.items() if stream.unsaved and not stream.was_cut}
        if grown:
            self._store.messages.append(
                {message_id: stream.unsaved for message_id, stream in grown.items()},
                {message_id: stream.unsaved_tokens for message_id, stream in grown.items()},
            )
        for stream in (*cut, *grown.values()):
            stream.mark_saved()

    def _set_can_save(
        self, can_save: bool, why_not: Sentence | None = None, also_changed: Iterable[MessageId] = ()
    ) -> None:
        if can_save == self._can_save:
            return
        self._can_save = can_save
        self._timer.setInterval(SAVE_INTERVAL_MS if can_save else self._retry_ms)
        if can_save:
            self.saved_again.emit()
        else:
            self.failed.emit(why_not)
        for message_id in dict.fromkeys((*also_changed, *self.ended, *self._streams)):
            self.changed.emit(message_id)

    # --- the disk ------------------------------------------------------------------------------------------

    def _watch_disk(self) -> None:
        if self._flusher is not None and not self._late_timer.isActive():
            self._late_up_to = self._flusher.num_asked
            self._late_timer.start()

    def _show_late(self) -> None:
        """Show which messages have waited for the disk for a while."""
        if self._flusher is not None:
            self._set_late(self._late | self._flusher.waiting(self._late_up_to))
            if self._flusher.waiting():
                self._watch_disk()

    def _on_flush_ended(self) -> None:
        assert self._flusher is not None
        waiting = self._flusher.waiting()
        if self._flusher.problem is not None:
            self._set_late(waiting)
            self._set_can_save(False, self._flusher.problem)
            if not self._timer.isActive():
                self._timer.start()
            return
        self._set_late(self._late & waiting)
        if not self._can_save:
            self.save()
        self.flushed.emit()

    def _set_late(self, late: set[MessageId]) -> None:
        changed, self._late = late ^ self._late, late
        for message_id in changed:
            self.changed.emit(message_id)
