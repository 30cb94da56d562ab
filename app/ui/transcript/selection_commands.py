"""Selecting several messages and copying them, from the menus."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication

from app.ui.menus import Menus
from app.ui.transcript.message_selection import MessageSelection, copied
from app.ui.transcript.transcript import Transcript


class SelectionCommands(QObject):
    """Works on the transcript's selection; without one, copying takes the whole branch."""

    def __init__(self, transcript: Transcript, menus: Menus) -> None:
        super().__init__(transcript)
        self._transcript = transcript
        self._menus = menus
        self._selection.changed.connect(self._say_what_is_copied)
        menus.menu("Edit").aboutToShow.connect(self._say_what_is_copied)
        self._say_what_is_copied()

    @property
    def _selection(self) -> MessageSelection:
        return self._transcript.selection

    def slots(self) -> dict[str, Callable[[], object]]:
        """Return the slot of each action, by the action's name in the menus."""
        return {
            "select_above": partial(self._selection.extend, -1),
            "select_below": partial(self._selection.extend, 1),
            "select_messages": self._selection.select_all,
            "copy_messages": self._copy,
        }

    def _say_what_is_copied(self) -> None:
        self._menus.set_text("copy_messages", "" if self._selection.ids else self.tr("Copy all messages"))

    def _copy(self) -> None:
        ids = self._selection.ids or self._transcript.message_ids
        if ids:
            messages = [self._transcript.shown(message_id).message for message_id in ids]
            QGuiApplication.clipboard().setMimeData(copied(messages))
